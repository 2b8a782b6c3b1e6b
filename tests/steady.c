/* Memory and time around training: no allocation in a steady step, a quick start, and a graph
   that is rebuilt again and again in constant memory.

   Built as: float none cblas optimised */

#define _POSIX_C_SOURCE 199309L                              /* clock_gettime */
#define HARNESS_OWN_MEMORY
#include "harness.h"
#include <time.h>

/* Counted memory of its own: the size of a block stands before it. */
void *counted_malloc(size_t n);
void *counted_realloc(void *old, size_t n);
void counted_free(void *p);
enum { BLOCK_HEAD = 16 };
static long calls, live, blocks;

static size_t *block_head(void *p) {
  return p ? (size_t *)(void *)((char *)p - BLOCK_HEAD) : NULL;
}

void *counted_realloc(void *old, size_t n) {
  size_t *head = block_head(old), before = head ? *head : 0;
  calls++;
  head = (size_t *)realloc(head, n + BLOCK_HEAD);
  if (!head) return NULL;
  live += (long)n - (long)before;
  blocks += !old;
  *head = n;
  return (char *)head + BLOCK_HEAD;
}

void counted_free(void *p) {
  calls++;
  if (!p) return;
  size_t *head = block_head(p);
  live -= (long)*head;
  blocks--;
  free(head);
}

void *counted_malloc(size_t n) { return counted_realloc(NULL, n); }

#include "edf.h"

static edf_real images[64 * 784], labels[64];

typedef struct { edf_node *x, *y, *loss; edf_affine_package Phi[2]; } model;

/* Everything that is computed, over given inputs and parameters. */
static void build_nodes(model *m) {
  edf_node *h = edf_sigmoid(edf_affine(m->Phi[0], m->x));
  m->loss = edf_log_loss(edf_softmax(edf_affine(m->Phi[1], h)), m->y);
}

static model build(void) {
  model m;
  m.x = edf_input("x[b,784]");
  m.y = edf_input("y[b]");
  m.Phi[0] = edf_affine_params(784, 64);
  m.Phi[1] = edf_affine_params(64, 10);
  build_nodes(&m);
  return m;
}

static void step(const model *m, int rows) {
  edf_feed(m->x, images, rows);
  edf_feed(m->y, labels, rows);
  edf_forward();
  edf_backward(m->loss);
  edf_sgd((edf_real)0.5);
}

static void make_data(void) {
  for (int i = 0; i < 64 * 784; i++) images[i] = (edf_real)(i * 7919 % 1000) / 1000;
  for (int i = 0; i < 64; i++) labels[i] = (edf_real)(i % 10);
}

/* Calls to the allocator in steps 10 to 60, when the batch sizes take turns from the start. */
static long calls_when_steady(int even_rows, int odd_rows) {
  long before = 0;
  model m = build();
  double first = 0, last = 0;
  for (int i = 0; i < 60; i++) {
    if (i == 10) before = calls;
    step(&m, i % 2 ? odd_rows : even_rows);
    last = (double)m.loss->value[0];
    if (i == 0) first = last;
  }
  long during = calls - before;
  CHECK(before > 0, "the allocator is not ours");
  CHECK(last < first, "it does not train: %g, then %g", first, last);
  edf_clear();
  return during;
}

static void test_no_allocation_in_a_steady_step(void) {
  long during = calls_when_steady(64, 64);
  CHECK(during == 0, "%ld calls to the allocator in 50 steps", during);
}

static void test_no_allocation_when_two_batch_sizes_alternate(void) {
  long during = calls_when_steady(64, 32);
  CHECK(during == 0, "%ld calls to the allocator in 50 steps", during);
  during = calls_when_steady(1, 64);
  CHECK(during == 0, "%ld calls to the allocator in 50 steps of 1 and 64 rows", during);
}

/* Every kind of layer: pooling keeps winners, dropout a mask, normalisation its statistics. */
static edf_node *layers(edf_node *x, edf_node *y) {
  edf_node *h = edf_relu(edf_max_pool(edf_conv(edf_conv_params(2, 5, 1, 4),
                                               edf_reshape(x, "image[b,28,28,1]")), 2, 2));
  h = edf_batch_norm(edf_batch_norm_params(4), h);
  h = edf_reshape(edf_avg_pool(edf_dropout(h, 0.25), 3, 3), "rows[b,4,16]");
  h = edf_layer_norm(edf_layer_norm_params(16), h);
  h = edf_add(h, edf_causal_attention(edf_attention_params(16, 2), h));
  h = edf_unroll(edf_gru_params(16, 8), edf_softmax_over("h[b,T,j]", h));
  h = edf_concat("h[b,J]", edf_select("h[b,T,j]", h, 3), edf_max_over("h[b,T,j]", h));
  return edf_softmax_log_loss(edf_affine(edf_affine_params(16, 10), h), y);
}

static void test_no_allocation_in_a_steady_step_of_layers(void) {
  long before = 0;
  double first = 0;
  edf_node *x = edf_input("x[b,784]"), *y = edf_input("y[b]"), *loss = layers(x, y);
  for (int i = 0; i < 30; i++) {
    if (i == 6) before = calls;
    edf_feed(x, images, i % 2 ? 16 : 9);
    edf_feed(y, labels, i % 2 ? 16 : 9);
    edf_forward();
    edf_backward(loss);
    edf_clip(1);
    edf_adamw((edf_real)0.01, (edf_real)0.9, (edf_real)0.99, (edf_real)1e-8, (edf_real)0.1);
    if (i == 0) first = (double)loss->value[0];
  }
  CHECK(calls == before, "%ld calls to the allocator in 24 steps", calls - before);
  CHECK((double)loss->value[0] < first, "it does not train");
  edf_clear();
  CHECK(live == 0 && blocks == 0, "%ld bytes in %ld blocks after edf_clear", live, blocks);
}

#if !defined __OPTIMIZE__ || defined __SANITIZE_ADDRESS__ || defined UNDER_VALGRIND
enum { INSTRUMENTED = 1 };
#else
enum { INSTRUMENTED = 0 };
#endif

static double milliseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* The best of a few, since the machine may be busy; an instrumented build proves nothing. */
static void test_start_up_time(void) {
  if (INSTRUMENTED) SKIP("not an optimised build");
  double best = HUGE_VAL;
  for (int i = 0; i < 5; i++) {
    double start = milliseconds();
    model m = build();
    step(&m, 64);
    double took = milliseconds() - start;
    if (took < best) best = took;
    edf_clear();
  }
  CHECK(best < 50, "building the graph and one step took %.1f ms", best);
}

/* Each step builds its graph anew over the same parameters. */
static void rebuild(int times, model *m, long *most) {
  for (int i = 0; i < times; i++) {
    edf_clear_compnodes();
    build_nodes(m);
    step(m, i % 3 ? 8 : 4);
    if (live > *most) *most = live;
  }
}

static void test_rebuilding_the_graph_1000_times(void) {
  long most = 0;
  model m = build();
  rebuild(12, &m, &most);
  long few_live = live, few_blocks = blocks;
  double first = (double)m.loss->value[0];
  most = 0;
  rebuild(999, &m, &most);
  CHECK(edf.n_compnodes == 5, "%d nodes instead of 5", edf.n_compnodes);
  CHECK(live == few_live, "%ld bytes after 12 rebuilds, %ld after 1011", few_live, live);
  CHECK(blocks == few_blocks, "%ld blocks after 12 rebuilds, then %ld", few_blocks, blocks);
  CHECK(most <= few_live + few_live / 10, "%ld bytes at most, usually %ld", most, few_live);
  CHECK((double)m.loss->value[0] < first, "the rebuilt graph does not train");
  edf_clear();
  CHECK(live == 0 && blocks == 0, "%ld bytes in %ld blocks after edf_clear", live, blocks);
}

/* Sequences of different lengths: each step has a graph of its own length over the same
   parameters, with cells, joining, an embedding and dropout in it. */
static edf_node *sequence(edf_node *x, edf_node *y, edf_node *E, edf_recurrent_package cell,
                          edf_affine_package out, int T) {
  edf_node *h[12];
  edf_recurrent_state s = { NULL, NULL };
  for (int t = 0; t < T; t++) {
    s = edf_lstm(cell, edf_embed(E, edf_select("x[b,T]", x, t)), s);
    h[t] = s.h;
  }
  edf_node *all = edf_dropout(edf_concat_list("h[b,T,j]", T, h), 0.25);
  return edf_softmax_log_loss(edf_affine(out, edf_max_over("h[b,T,j]", all)), y);
}

static void test_10000_graphs_of_different_lengths(void) {
  enum { CYCLE = 36 };                                       /* lengths times batches */
  long bytes[CYCLE] = { 0 }, grown = 0;
  double first = 0, loss = 0;
  edf_seed(2);
  edf_node *x = edf_input("x[b,12]"), *y = edf_input("y[b]"), *E = edf_parameter("E[10,4]");
  edf_init_normal(E, 0, 1);
  edf_recurrent_package cell = edf_lstm_params(4, 5);
  edf_affine_package out = edf_affine_params(5, 10);
  for (int i = 0; i < 10000 + 2 * CYCLE; i++) {
    int rows = i % 3 ? 4 : 2;
    edf_clear_compnodes();
    edf_node *ell = sequence(x, y, E, cell, out, 1 + i * 7 % 12);
    edf_feed(x, labels, rows);
    edf_feed(y, labels, rows);
    edf_forward();
    edf_backward(ell);
    edf_adam((edf_real)0.01, (edf_real)0.9, (edf_real)0.999, (edf_real)1e-8);
    loss = (double)ell->value[0];
    if (i == 0) first = loss;
    if (i < 2 * CYCLE) bytes[i % CYCLE] = live;              /* at first buffers still grow */
    else if (live != bytes[i % CYCLE]) grown = live - bytes[i % CYCLE];
  }
  CHECK(bytes[0] > 0, "the allocator is not ours");
  CHECK(grown == 0, "the same graph takes %ld bytes more than at first", grown);
  CHECK(edf.n_parameters == 6 && loss < first, "it does not train: %g, then %g", first, loss);
  edf_clear();
  CHECK(live == 0 && blocks == 0, "%ld bytes in %ld blocks after edf_clear", live, blocks);
}

int main(void) {
  make_data();
  RUN(test_no_allocation_in_a_steady_step);
  RUN(test_no_allocation_when_two_batch_sizes_alternate);
  RUN(test_no_allocation_in_a_steady_step_of_layers);
  RUN(test_start_up_time);
  RUN(test_rebuilding_the_graph_1000_times);
  RUN(test_10000_graphs_of_different_lengths);
  return harness_report();
}
