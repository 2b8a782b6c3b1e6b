/* Two and three threads give what one gives, to rounding; the same count of threads gives the
   same bits again; and nothing is allocated in a steady step.

   Built as: openmp alone */

#include "harness.h"
#include "edf.h"
#include "inside.h"
#include <omp.h>
#ifndef _OPENMP
#error "compile this one with -fopenmp"
#endif

enum { B = 12, STEPS = 4, MODELS = 4 };
static edf_real images[B * 14 * 14], classes[B], words[B * 16];

/* A perceptron, a convolution, a recurrent network, attention: each with a loss for y. */
static edf_node *build(int model, edf_node **x) {
  edf_node *h;
  edf_clear();
  edf_seed(7);
  if (model < 2) h = *x = edf_input("x[b,14,14,1]");
  else {
    edf_node *E = edf_parameter("E[9,24]");
    edf_init_normal(E, 0, 1);
    h = edf_embed(E, *x = edf_input("x[b,16]"));
  }
  if (model == 0)
    h = edf_relu(edf_affine(edf_affine_params(196, 300), edf_reshape(h, "flat[b,196]")));
  if (model == 1) {
    h = edf_relu(edf_max_pool(edf_conv(edf_conv_params(2, 3, 1, 16), h), 2, 2));
    h = edf_conv(edf_conv_params(2, 3, 16, 32), h);
    h = edf_relu(edf_reshape(h, "flat[b,%d]", 4 * 4 * 32));
  }
  if (model == 2) h = edf_select("h[b,T,j]", edf_unroll(edf_lstm_params(24, 64), h), 15);
  if (model == 3) {
    h = edf_causal_attention(edf_attention_params(24, 4), edf_layer_norm(
                                 edf_layer_norm_params(24), h));
    h = edf_mean_over("h[b,T,j]", edf_gelu(edf_affine(edf_affine_params(24, 96), h)));
  }
  return edf_affine(edf_affine_params(h->dim[1], 5), h);
}

static double train(int model, int threads, edf_real *weights, size_t n) {
  edf_node *x, *s = build(model, &x), *y = edf_input("y[b]");
  edf_node *loss = edf_softmax_log_loss(s, y);
  long calls = 0;
  omp_set_num_threads(threads);
  for (int i = 0; i < STEPS; i++) {
    if (i == 2) calls = memory.mallocs;
    edf_feed(x, model < 2 ? images : words, B);
    edf_feed(y, classes, B);
    edf_forward();
    edf_backward(loss);
    edf_adam((edf_real)0.01, (edf_real)0.9, (edf_real)0.99, (edf_real)1e-8);
  }
  CHECK(memory.mallocs == calls, "model %d, %d threads: %ld allocations", model, threads,
        memory.mallocs - calls);
  double sum = 0;
  for (int b = 0; b < B; b++) sum += (double)loss->value[b];
  memset(weights, 0, n * sizeof *weights);
  for (int i = 0; i < edf.n_parameters; i++)
    for (size_t k = 0; k < edf.parameters[i]->size; k++)
      weights[(k * 7 + (size_t)i) % n] += edf.parameters[i]->value[k];
  return sum;
}

enum { SUMS = 500 };
static edf_real one[SUMS], more[SUMS], again[SUMS];

static void same_to_rounding(void) {
  double tolerance = EDF_REAL_IS_DOUBLE ? 1e-11 : 2e-3;
  for (int model = 0; model < MODELS; model++) {
    double loss = train(model, 1, one, SUMS);
    for (int threads = 2; threads <= 3; threads++) {
      CLOSE(train(model, threads, more, SUMS), loss, tolerance, tolerance);
      for (int i = 0; i < SUMS; i++) CLOSE(more[i], one[i], tolerance, tolerance);
      train(model, threads, again, SUMS);
      CHECK(!memcmp(more, again, sizeof more), "model %d, %d threads: other bits", model,
            threads);
    }
    CHECK(loss > 1e-3, "model %d: the loss is %g", model, loss);
  }
}

/* The default lets small work alone, and cuts large work. */
static void only_large_work_is_cut(void) {
  edf_nest small = { 3, { { 8, { 8, 8, 0 } }, { 8, { 1, 0, 8 } }, { 8, { 0, 1, 1 } } },
                     { 0, 0, 0 }, 1 }, large = small;
  for (int i = 0; i < 3; i++) large.loop[i].n = 256;
  large.loop[0].s[0] = large.loop[0].s[1] = large.loop[1].s[2] = 256;
  edf_route s = edf_plan(&small), l = edf_plan(&large);
  inside_cut_work_above(40000);
  CHECK(inside_loop_to_cut(&s, 2) < 0, "a product of 8 x 8 is cut");
  CHECK(inside_loop_to_cut(&l, 2) >= 0, "a product of 256 x 256 is not cut");
  CHECK(inside_loop_to_cut(&l, 1) < 0, "it is cut for one thread");
  inside_cut_work_above(0);
}

/* ---- Which loop is cut: its place in the plan, -1 for none. Worked out from the costs of
   plain loops, 0.15 ns a round (0.8 for steps of 2 to 8) and 4 ns a row, and of products. */

typedef struct { const char *what; int n; edf_loop loop[4]; int cut; } cutting;

static edf_route plan_of(const cutting *c) {
  edf_nest q;
  memset(&q, 0, sizeof q);
  q.n = c->n;
  q.alpha = 1;
  memcpy(q.loop, c->loop, sizeof c->loop);
  return edf_plan(&q);
}

static const cutting free_of_charge[] = {
  { "a sum", 1, { { 1000, { 0, 1, 1 } } }, -1 },
  { "one entry each", 1, { { 1000, { 1, 1, 1 } } }, 0 },
  { "an outer product", 2, { { 30, { 40, 1, 0 } }, { 40, { 1, 0, 1 } } }, 0 },
  { "sums of rows", 2, { { 30, { 1, 40, 0 } }, { 40, { 0, 1, 0 } } }, 0 },
  { "sums of columns", 2, { { 30, { 0, 41, 0 } }, { 40, { 1, 1, 0 } } }, 1 },
  { "windows", 2, { { 9, { 1, 5, 0 } }, { 5, { 1, 1, 0 } } }, -1 },
  { "windows that touch", 2, { { 9, { 4, 5, 0 } }, { 5, { 1, 1, 0 } } }, -1 },
  { "windows apart", 2, { { 9, { 5, 6, 0 } }, { 5, { 1, 1, 0 } } }, 0 },
  { "apart but for the inner ones", 3,
    { { 4, { 14, 1, 7 } }, { 3, { 4, 2, 1 } }, { 6, { 1, 3, 5 } } }, 0 },
  { "the outermost too near", 3,
    { { 4, { 13, 1, 7 } }, { 3, { 4, 2, 1 } }, { 6, { 1, 3, 5 } } }, -1 },
  { "an outer loop of the same step", 2, { { 7, { 3, 100, 1 } }, { 5, { 3, 1, 90 } } }, -1 },
  { "one place, and apart", 3,
    { { 50, { 0, 700, 1 } }, { 20, { 30, 30, 0 } }, { 30, { 1, 0, 3 } } }, 1 },
  { "a product's rows", 3,
    { { 256, { 32, 64, 0 } }, { 32, { 1, 0, 1 } }, { 64, { 0, 1, 32 } } }, 0 },
  { "a product's columns", 3,
    { { 32, { 256, 64, 0 } }, { 256, { 1, 0, 1 } }, { 64, { 0, 1, 256 } } }, 1 },
  { "the innermost overlaps", 2, { { 20, { 3, 1, 0 } }, { 6, { 1, 60, 0 } } }, -1 },
  { "a square product", 3,
    { { 64, { 64, 64, 0 } }, { 64, { 1, 0, 1 } }, { 64, { 0, 1, 64 } } }, 0 },
  { "a square product into every other place", 3,
    { { 64, { 128, 64, 0 } }, { 64, { 2, 0, 1 } }, { 64, { 0, 1, 64 } } }, 0 },
  { "a wide product into every other place", 3,
    { { 32, { 512, 64, 0 } }, { 256, { 2, 0, 1 } }, { 64, { 0, 1, 256 } } }, 1 },
  { "products", 4, { { 12, { 4096, 4096, 4096 } }, { 64, { 64, 64, 0 } }, { 64, { 1, 0, 1 } },
                     { 64, { 0, 1, 64 } } }, 0 },
  { "products into one place", 4, { { 12, { 0, 9000, 9000 } }, { 64, { 65, 64, 0 } },
                                    { 32, { 1, 0, 1 } }, { 64, { 0, 1, 32 } } }, 1 },
};

static void which_loop_is_cut(void) {
  inside_cut_work_above(0);
  for (size_t k = 0; k < sizeof free_of_charge / sizeof *free_of_charge; k++) {
    const cutting *c = &free_of_charge[k];
    edf_route r = plan_of(c);
    CHECK(inside_loop_to_cut(&r, 1) == -1, "%s is cut for one thread", c->what);
    for (int threads = 2; threads <= 4; threads++) {
      int cut = inside_loop_to_cut(&r, threads);
      CHECK(cut == c->cut, "%s: loop %d is cut for %d threads, not %d", c->what, cut, threads,
            c->cut);
    }
  }
}

/* A quarter has to be gained, and no line of the cache, 64 bytes, be shared. */
static void what_is_worth_it(void) {
  static const cutting some[] = {
    { "6.4 of 8.8, 16 floats", 1, { { 32, { 1, 1, 1 } } }, 0 },
    { "6.25 of 8.5, 15 floats", 1, { { 30, { 1, 1, 1 } } }, -1 },
    { "5.6 of 7.2", 1, { { 4, { 8, 8, 8 } } }, -1 },
    { "6.4 of 8", 1, { { 5, { 8, 8, 8 } } }, -1 },
    { "6.4 of 8.8", 1, { { 6, { 8, 8, 8 } } }, 0 },
    { "6.4 of 8.8, backwards", 1, { { 6, { -8, 8, 8 } } }, 0 },
  };
  for (size_t k = 0; !EDF_REAL_IS_DOUBLE && k < sizeof some / sizeof *some; k++) {
    edf_route r = plan_of(&some[k]);
    inside_cut_work_above(1e-9);
    CHECK(inside_loop_to_cut(&r, 2) == some[k].cut, "%s: %d", some[k].what,
          inside_loop_to_cut(&r, 2));
    inside_cut_work_above(r.cost);
    CHECK(inside_loop_to_cut(&r, 2) == some[k].cut, "%s, just enough work", some[k].what);
    inside_cut_work_above(r.cost * 1.001);
    CHECK(inside_loop_to_cut(&r, 2) == -1, "%s, too little work", some[k].what);
  }
  inside_cut_work_above(0);
}

/* A workspace for each thread, but none where threads call us; and each entry is right. */
static void threads_take_slices(void) {
  enum { N = 11 };
  static const cutting square = { "a square", 1, { { N, { 1, 1, 1 } } }, 0 };
  edf_route r = plan_of(&square);
  edf_real x[N], y[3][N] = { { 0 } };
  for (int i = 0; i < N; i++) x[i] = (edf_real)(i + 1);
  edf_clear();
  omp_set_num_threads(3);
#pragma omp parallel num_threads(2)
  edf_contract(&r, 0, y[omp_get_thread_num()], x, x);
  CHECK(edf.n_workspaces == 0, "threads cut for %d more", edf.n_workspaces);
  edf_contract(&r, 0, y[2], x, x);
  CHECK(edf.n_workspaces == 3, "%d slices", edf.n_workspaces);
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < N; i++)
      CHECK((double)y[k][i] == (i + 1) * (i + 1), "%d: y[%d] is %g", k, i, (double)y[k][i]);
  edf_clear();
}

int main(void) {
  for (int i = 0; i < B * 196; i++) images[i] = (edf_real)(i * 7919 % 101) / 101;
  for (int i = 0; i < B * 16; i++) words[i] = (edf_real)(i * 31 % 9);
  for (int i = 0; i < B; i++) classes[i] = (edf_real)(i % 5);
  inside_cut_work_above(0);
  RUN(same_to_rounding);
  RUN(only_large_work_is_cut);
  RUN(which_loop_is_cut);
  RUN(what_is_worth_it);
  RUN(threads_take_slices);
  edf_clear();
  return harness_report();
}
