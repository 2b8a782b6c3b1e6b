/* A row's values do not depend on the batch it is in: with the built-in kernel a batch that is
   run whole and one that is cut in two have the same bits. (A batch of one row is a matrix
   times a vector, which runs as plain loops and adds in another order.)

   With OpenMP everything that can be cut is cut, into three slices: the bits stay the same.

   Built as: float double none openmp sanitized */
#include "harness.h"
#include "edf.h"
#include "inside.h"
#ifdef _OPENMP
#include <omp.h>
#endif

enum { ROWS = 70, WIDE = 48 };
static edf_real data[ROWS * WIDE];

typedef struct { const char *name; edf_node *(*model)(edf_node *x); } program;

static edf_node *mlp(edf_node *x) {
  edf_affine_package a = edf_affine_params(WIDE, 40), b = edf_affine_params(40, 10);
  return edf_sigmoid(edf_affine(b, edf_relu(edf_affine(a, x))));
}
static edf_node *wide_mlp(edf_node *x) {                     /* several blocks of each kind */
  edf_affine_package a = edf_affine_params(WIDE, 530), b = edf_affine_params(530, 300);
  return edf_affine(b, edf_tanh(edf_affine(a, x)));
}
static edf_node *convolution(edf_node *x) {
  edf_conv_package c = edf_conv_params(2, 3, 3, 8);
  return edf_relu(edf_conv(c, edf_reshape(x, "image[b,4,4,3]")));
}
static edf_node *attention(edf_node *x) {
  edf_attention_package p = edf_attention_params(8, 2);
  return edf_causal_attention(p, edf_reshape(x, "text[b,6,8]"));
}
static edf_node *lstm(edf_node *x) {
  edf_recurrent_package p = edf_lstm_params(8, 16);
  return edf_unroll(p, edf_reshape(x, "text[b,6,8]"));
}
static edf_node *layer_norm(edf_node *x) {
  edf_layer_norm_package p = edf_layer_norm_params(WIDE);
  return edf_layer_norm(p, x);
}
static edf_node *functions(edf_node *x) {
  edf_affine_package p = edf_affine_params(WIDE, 37);
  edf_node *h = edf_gelu(edf_tanh(edf_affine(p, x)));
  return edf_log_softmax(edf_softplus(edf_exp(edf_softmax(edf_sigmoid(h)))));
}
static const program programs[] = {
  { "mlp", mlp }, { "wide mlp", wide_mlp }, { "convolution", convolution },
  { "attention", attention }, { "lstm", lstm }, { "layer norm", layer_norm },
  { "functions", functions }
};

static edf_node *run(edf_node *x, edf_node *y, int first, int n) {
  edf_feed(x, data + first * WIDE, n);
  edf_forward();
  return y;
}

static void cut_in_two(void) {
  for (size_t k = 0; k < sizeof programs / sizeof *programs; k++) {
    edf_clear();
    edf_seed(1);
    edf_node *x = edf_input("x[b,%d]", WIDE), *y = programs[k].model(x);
    edf.kernel = EDF_BUILTIN;
    for (int all = 4; all <= ROWS; all += all < 14 ? 1 : 14) {
      run(x, y, 0, all);
      size_t bytes = y->size / (size_t)all * sizeof *y->value;
      char *whole = (char *)malloc(bytes * (size_t)all);
      memcpy(whole, y->value, bytes * (size_t)all);
      for (int cut = 2; cut <= all - 2; cut += all < 14 ? 1 : 9)
        for (int part = 0; part < 2; part++) {
          int first = part ? cut : 0, n = part ? all - cut : cut;
          run(x, y, first, n);
          CHECK(!memcmp(y->value, whole + (size_t)first * bytes, bytes * (size_t)n),
                "%s: rows %d to %d of %d differ", programs[k].name, first, first + n - 1, all);
        }
      free(whole);
    }
  }
  edf.kernel = EDF_FASTEST;
}

#ifdef _OPENMP
/* One thread, two and three. */
static void in_threads(void) {
  for (size_t k = 0; k < sizeof programs / sizeof *programs; k++) {
    static edf_real alone[ROWS * 600], grad[600 * 600];
    edf_clear();
    edf_seed(1);
    edf_node *x = edf_input("x[b,%d]", WIDE), *y = programs[k].model(x);
    edf.kernel = EDF_BUILTIN;
    for (int threads = 1; threads <= 3; threads++) {
      omp_set_num_threads(threads);
      run(x, y, 0, ROWS);
      edf_backward(y);
      const edf_node *p = edf.parameters[0];
      size_t value_bytes = y->size * sizeof *alone, grad_bytes = p->size * sizeof *grad;
      CHECK(value_bytes <= sizeof alone && grad_bytes <= sizeof grad, "too long");
      if (threads == 1) {
        memcpy(alone, y->value, value_bytes);
        memcpy(grad, p->grad, grad_bytes);
      }
      CHECK(!memcmp(alone, y->value, value_bytes), "%s: values in %d threads differ",
            programs[k].name, threads);
      CHECK(!memcmp(grad, p->grad, grad_bytes), "%s: gradients in %d threads differ",
            programs[k].name, threads);
    }
  }
  edf.kernel = EDF_FASTEST;
}
#endif

int main(void) {
  for (int i = 0; i < ROWS * WIDE; i++)
    data[i] = (edf_real)(i * 7919 % 1009) / 1009 - (edf_real)0.5;
#ifdef _OPENMP
  inside_cut_work_above(0);
  omp_set_num_threads(3);
  RUN(in_threads);
  omp_set_num_threads(3);
#endif
  RUN(cut_in_two);
  return harness_report();
}
