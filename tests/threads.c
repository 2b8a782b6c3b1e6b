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

int main(void) {
  for (int i = 0; i < B * 196; i++) images[i] = (edf_real)(i * 7919 % 101) / 101;
  for (int i = 0; i < B * 16; i++) words[i] = (edf_real)(i * 31 % 9);
  for (int i = 0; i < B; i++) classes[i] = (edf_real)(i % 5);
  inside_cut_work_above(0);
  RUN(same_to_rounding);
  RUN(only_large_work_is_cut);
  edf_clear();
  return harness_report();
}
