/* Memory: the overrides are used, an allocation that fails anywhere stops with a message and
   leaks nothing, graphs come and go in any order.

   Built as: float double none cblas sanitized valgrind shim */

#define _POSIX_C_SOURCE 200809L                              /* dup2, to be quiet for a while */
#define HARNESS_CATCH
#include "harness.h"
#include <unistd.h>

#include "edf.h"

#ifdef __SANITIZE_ADDRESS__
int __asan_address_is_poisoned(void const volatile *p);
#endif

static char idx_file[64], csv_file[64], model_file[64];
static edf_array loaded[3];
static FILE *nowhere;

/* The checks print; a thousand of them need not be seen. */
static void with_stdout_closed(void (*f)(void)) {
  int keep;
  fflush(stdout);
  keep = dup(1);
  if (keep < 0 || dup2(fileno(nowhere), 1) < 0) abort();
  TRY(f());
  fflush(stdout);
  dup2(keep, 1);
  close(keep);
}

static void copy_forward(CompNode *y) {
  memcpy(edf_state(y, y->size * sizeof(edf_real)), y->in[0]->value, y->size * sizeof(edf_real));
  memcpy(y->value, y->state, y->size * sizeof(edf_real));
}

static void copy_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, y->grad[i]);
}

/* ---- One program with every kind of node, every print and every loader */

static edf_node *small_net(Input *x) {
  AffineParams Phi = edf_affine_params(6, 4);
  Parameter *w = edf_parameter("w[3]"), *u = edf_parameter("u[%d]", 3);
  edf_init_uniform(w, (edf_real)0.5, 1);
  edf_init_normal(u, (edf_real)0.5, 1);
  CompNode *h = edf_name(Tanh(Affine(Phi, x)), "h");
  CompNode *p = Sigmoid(Einsum("p[b,j] = 0.5 h[b,j] + h[b,j] h[b,j] h[b,j] - V[j]", h, Phi.b));
  CompNode *c = Einsum("c[b,j] = w[D] p[b,j+D-1] | j<4", w, p);
  CompNode *s = Einsum("s[b,i+D] = w[D] c[b,i]", u, c);
  CompNode *e = Exp(Sub(Relu(s), Square(s)));
  CompNode *r = Sqrt(Add(Mul(e, e), Einsum("o[b,j] = e[b,j] e[b,J]", e)));
  return Softmax(Log(Div(r, Sum(r))));
}

static void feed(Input *x, Input *y, int batch) {
  static edf_real points[5 * 6], classes[5];
  for (int i = 0; i < 30; i++) points[i] = (edf_real)((i * 7 % 11) / 11.0 - 0.4);
  for (int i = 0; i < 5; i++) classes[i] = (edf_real)(i % 3);
  edf_feed(x, points, batch);
  edf_feed(y, classes, batch);
}

static void train(void) {
  Input *x = edf_want_grad(edf_input("x[b,i=%d]", 6)), *y = edf_input("y[b]");
  CompNode *P = small_net(x), *copy = edf_compnode("Copy", copy_forward, copy_backward, P);
  CompNode *loss = Add(Mean(LogLoss(copy, y)), Mean(SoftmaxLogLoss(P, y)));
  for (int step = 0; step < 3; step++) {
    feed(x, y, step == 1 ? 5 : 3);                           /* buffers grow */
    Forward();
    Backward(loss);
    SGD((edf_real)0.1);
  }
  edf_gradcheck(loss);
  edf_print(P);
  edf_print_program(nowhere);
  edf_clear_compnodes();
  edf.eager = 1;
  edf_einsum(edf_fmt("d = %g x[B,I] x[B,I]", 0.5), x);
  edf.eager = 0;
}

static void load(void) {
  loaded[0] = edf_load_images(idx_file);
  loaded[1] = edf_load_csv(csv_file);
  loaded[2] = edf_load_idx(idx_file);
  edf_shuffle(&loaded[0], NULL);
}

static void models(void) {
  edf_adam((edf_real)0.1, (edf_real)0.9, (edf_real)0.99, (edf_real)1e-8);
  edf_save(model_file);
  edf_load(model_file);
}

static void everything(void) {
  train();
  models();
  load();
}

static void let_go(void) {
  edf.eager = 0;
  edf_clear();
  for (int i = 0; i < 3; i++) edf_free_array(&loaded[i]);
}

/* ---- Tests */

static void write_files(void) {
  FILE *f;
  snprintf(idx_file, sizeof idx_file, "build/memory.%ld.idx", (long)getpid());
  snprintf(csv_file, sizeof csv_file, "build/memory.%ld.csv", (long)getpid());
  snprintf(model_file, sizeof model_file, "build/memory.%ld.safetensors", (long)getpid());
  f = fopen(idx_file, "wb");
  if (!f) abort();
  fwrite("\0\0\10\3\0\0\0\2\0\0\0\2\0\0\0\3""123456abcdef", 1, 28, f);
  fclose(f);
  f = fopen(csv_file, "w");
  if (!f) abort();
  fprintf(f, "height,weight\n");
  for (int i = 0; i < 500; i++) fprintf(f, "%d,%d\n", i, i + 1);   /* long enough to grow */
  fclose(f);
}

static void overrides_are_used(void) {
  harness_asserted = 0;
  with_stdout_closed(everything);
  CHECK(!panicked, "%s", caught);
  CHECK(memory.live > 0, "no block is held by a graph");
  let_go();
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
  CHECK(memory.mallocs > 0, "EDF_MALLOC was never called");
  CHECK(memory.reallocs > 0, "EDF_REALLOC was never called");
  CHECK(memory.frees > 0, "EDF_FREE was never called");
  CHECK(harness_asserted > 0, "EDF_ASSERT was never used");
}

/* In sanitized builds one entry behind an array may not be touched: impl.c guards it. */
static void arrays_are_guarded(void) {
#ifdef __SANITIZE_ADDRESS__
  edf_node *p = edf_parameter("p[5]");
  CHECK(!__asan_address_is_poisoned(p->value + 4), "the last entry is guarded");
  CHECK(__asan_address_is_poisoned(p->value + 5), "the entry behind the last is not guarded");
#endif
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
}

static void every_allocation_fails_once(void) {
  long failed = 0;
  int free_descriptor = dup(0);
  close(free_descriptor);
  for (long n = 1;; n++) {
    memory.until_failure = n;
    memory.refused = 0;
    with_stdout_closed(everything);
    int over = memory.until_failure != 0, next = dup(0);     /* there were fewer than n */
    close(next);
    CHECK(next == free_descriptor, "a file is open after failure %ld", n);
    memory.until_failure = 0;
    let_go();
    CHECK(memory.live == 0, "%ld blocks are left after failure %ld", memory.live, n);
    if (over) { CHECK(!panicked, "%s", caught); break; }
    failed++;
    CHECK(panicked, "failure %ld of an allocation of %zu went unnoticed", n, memory.refused);
    CHECK(strstr(caught, "memory") && strpbrk(caught, "123456789"), "the message: %s", caught);
    if (memory.live) break;
  }
  CHECK(failed > 10, "only %ld allocations failed", failed);
  with_stdout_closed(everything);
  CHECK(!panicked, "afterwards: %s", caught);
  let_go();
}

static void too_large(void) {
  static edf_real one[1];
  TRY(edf_parameter("W[1000000000,1000000000,1000000000]"));
  CHECK(panicked && strstr(caught, "the tensor is too large"), "1e27 entries: %s", caught);
  CHECK(strstr(caught, "W"), "the message does not name W: %s", caught);
  edf_clear();
  TRY(edf_parameter("W[1000000000,1000000000,2]"));          /* 64 times that do not fit */
  CHECK(panicked && strstr(caught, "the tensor is too large"), "2e18 entries: %s", caught);
  edf_clear();
  static edf_node *x;
  TRY(x = edf_input("x[b,1000000000,100000000]"); Relu(x); edf_feed(x, one, 100); Forward());
  CHECK(panicked && strstr(caught, "the tensor is too large"), "1e19 entries: %s", caught);
  edf_clear();
  memory.limit = 1000000;
  TRY(edf_parameter("W[1000,1000]"));
  memory.limit = 0;
  CHECK(panicked && strstr(caught, "000000 bytes"), "the message has no size: %s", caught);
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
}

/* A gradient that nobody needs any more is given back. */
static void gradients_are_given_back(void) {
  Parameter *p = edf_parameter("p[3]"), *q = edf_parameter("q[3]");
  CompNode *loss = Sum(Add(Square(p), Square(q)));
  Forward();
  Backward(loss);
  long blocks = memory.live;
  q->update = edf_frozen;
  Backward(loss);
  CHECK(!q->grad && !q->reached && p->grad, "q still has a gradient");
  CHECK(memory.live == blocks - 2, "%ld blocks, then %ld", blocks, memory.live);
  q->update = NULL;
  Backward(loss);
  CHECK(memory.live == blocks, "%ld blocks, then %ld", blocks, memory.live);
  edf_clear();
}

/* A padded copy of 1e15 x 1e15 entries, for which 2^64 is too little. */
static void a_copy_overflows(void) {
  static edf_real data[9];
  edf_node *x = edf_input("x[b,3,3]");
  Einsum("y[b] = x[b,1000000*I,1000000*J] | I<1000000000, J<1000000000", x);
  edf_feed(x, data, 1);
  TRY(Forward());
  CHECK(panicked && strstr(caught, "edf: a size of 999999999000001 times 999999999000001 bytes "
                           "overflows"), "%s", caught);
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
}

/* What is known of an array is its size where it begins, of nothing else. */
static void sizes_of_arrays(void) {
  static edf_real data[6];
  Input *x = edf_input("x[b,3]");
  Parameter *p = edf_parameter("p[3]"), *q = edf_parameter("q[5]");
  CompNode *y = Einsum("y[b,i] = x[b,i] p[i]", x, p);
  edf_feed(x, data, 2);
  Forward();
  CHECK(edf_array_bytes(p->value) == 3 * sizeof *data, "%zu", edf_array_bytes(p->value));
  CHECK(edf_array_bytes(q->value) == 5 * sizeof *data, "%zu", edf_array_bytes(q->value));
  CHECK(edf_array_bytes(y->value) == 6 * sizeof *data, "%zu", edf_array_bytes(y->value));
  CHECK(!edf_array_bytes(p->value + 1), "the middle of an array");
  CHECK(!edf_array_bytes(data) && !edf_array_bytes(NULL), "an array of the program's");
  edf_clear();
}

static void clear_twice(void) {
  edf_clear();
  edf_clear();
  edf_clear_compnodes();
  train();
  edf_clear_compnodes();
  edf_clear_compnodes();
  CHECK(edf.n_compnodes == 0 && edf.n_inputs == 2 && edf.n_parameters == 4, "%d %d %d nodes",
        edf.n_compnodes, edf.n_inputs, edf.n_parameters);
  edf_clear();
  CHECK(edf.n_inputs == 0 && edf.n_parameters == 0, "nodes are left");
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
}

static double loss_of_square(double number) {                /* in the current graph */
  edf_real x = (edf_real)number;
  edf_feed(edf.inputs[0], &x, 1);
  Forward();
  return (double)edf_value(edf.compnodes[0])[0];
}

static void several_graphs(void) {
  static edf_graph a, b;
  b = edf_new_graph();
  a = edf;
  Square(edf_input("x"));
  a = edf;
  edf = b;
  Exp(edf_input("x"));
  b = edf;
  for (int i = 0; i < 3; i++) {
    edf = a; CLOSE(loss_of_square(i), i * i, 1e-6, 1e-6); a = edf;
    edf = b; CLOSE(loss_of_square(i), exp(i), 1e-6, 1e-6); b = edf;
  }
  TRY(Add(a.compnodes[0], b.compnodes[0]));                  /* one is of another graph */
  CHECK(panicked, "an operand of another graph was taken");
  edf_clear();
  b = edf;
  CHECK(memory.live > 0, "clearing one graph cleared the other");
  edf = a;
  CLOSE(loss_of_square(5), 25, 1e-6, 1e-6);
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
}

static void a_panic_in_forward(void) {
  static edf_real points[5 * 6], classes[5] = { 0, 1, 2, 3, 9 };
  static Input *x, *y;
  for (int round = 0; round < 3; round++) {
    x = edf_input("x[b,6]"); y = edf_input("y[b]");
    SoftmaxLogLoss(small_net(x), y);
    edf_feed(x, points, 5);
    edf_feed(y, classes, 5);
    TRY(Forward());                                          /* no class 9 */
    CHECK(panicked, "label 9 of 6 was taken");
    edf_clear();
    CHECK(memory.live == 0, "%ld blocks are left", memory.live);
  }
}

static void a_panic_while_building(void) {
  for (int round = 0; round < 3; round++) {
    TRY(Einsum("y[b,j] = W[I,j] x[b,I] - B[", edf_parameter("W[3,4]"), edf_input("x[b,3]")));
    CHECK(panicked, "a broken equation was taken");
    TRY(Affine(edf_affine_params(3, 4), edf_input("z[b,5]")));
    CHECK(panicked, "5 is not 3");
    TRY(edf_load_csv("build/no such file"));
    CHECK(panicked, "a file that is not there was read");
  }
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
}

static void many_steps_in_constant_memory(void) {            /* a new graph each step */
  static edf_real number[1] = { 3 };
  Input *x = edf_input("x[b]");
  Parameter *w = edf_parameter("w");
  long blocks = 0;
  edf_feed(x, number, 1);
  edf.eager = 1;
  for (int step = 0; step < 200; step++) {
    CompNode *loss = Square(Einsum("y[b] = w x[b]", w, x));
    Backward(loss);
    edf_clear_compnodes();
    if (step == 100) blocks = memory.live;
  }
  CHECK(memory.live <= blocks, "%ld blocks after 100 steps, %ld after 200", blocks,
        memory.live);
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
  edf.eager = 0;
}

int main(void) {
  nowhere = fopen("/dev/null", "w");
  if (!nowhere) abort();
  write_files();
  RUN(clear_twice);
  RUN(sizes_of_arrays);
  RUN(a_copy_overflows);
  RUN(gradients_are_given_back);
  RUN(overrides_are_used);
  RUN(arrays_are_guarded);
  RUN(several_graphs);
  RUN(a_panic_in_forward);
  RUN(a_panic_while_building);
  RUN(many_steps_in_constant_memory);
  RUN(too_large);
  RUN(every_allocation_fails_once);
  remove(idx_file);
  remove(csv_file);
  remove(model_file);
  fclose(nowhere);
  return harness_report();
}
