/* Layers and functions over named indices: values against plain loops in double, gradients
   against central differences of those loops, and in double the gradient check too. Then what
   numbers alone do not show: ties, NaN, training and evaluation, masks, duplicates. */

#include "node_checks.h"
#include "edf_slide.h"

static edf_real cotangent_of(size_t i) { return (edf_real)((double)(i * 7919 % 13) - 5.5) / 4; }

#include "cotangent.h"

static const double bound = EDF_REAL_IS_DOUBLE ? 1e-9 : 3e-5;

/* ---- The check of all: y against f(leaves), both sides with the same random cotangent */

typedef void plain(const double *const *in, double *y);

static double largest_of(const double *x, size_t n) {
  double largest = 0;
  for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(x[i]));
  return largest;
}

static double *doubles(size_t n) {
  double *x = (double *)calloc(n ? n : 1, sizeof *x);
  if (!x) abort();
  return x;
}

static double paired(plain *f, double *const *in, double *y, size_t n) {
  double sum = 0;
  memset(y, 0, n * sizeof *y);
  f((const double *const *)in, y);
  for (size_t i = 0; i < n; i++) sum += (double)cotangent_of(i) * y[i];
  return sum;
}

static void values_agree(const edf_node *y, const double *expected) {
  double scale = fmax(largest_of(expected, y->size), 0.1);
  for (size_t i = 0; i < y->size; i++) {
    if (fabs((double)y->value[i] - expected[i]) <= bound * scale) continue;
    CHECK(0, "%s, entry %zu of %zu: %.9g, expected %.9g", y->op, i, y->size,
          (double)y->value[i], expected[i]);
    return;
  }
  CHECK(largest_of(expected, y->size) > 1e-3, "%s: the values are all about 0", y->op);
}

static void gradient_agrees(const edf_node *y, const edf_node *x, const double *expected) {
  double scale = fmax(largest_of(expected, x->size), 1e-3);
  for (size_t i = 0; i < x->size; i++) {
    if (fabs((double)x->grad[i] - expected[i]) <= 10 * bound * scale) continue;
    CHECK(0, "%s: d %s[%zu] is %.9g, expected %.9g", y->op, x->name, i, (double)x->grad[i],
          expected[i]);
    return;
  }
}

enum { MOST_LEAVES = 8 };

static void agrees(edf_node *y, plain *f, int n, edf_node **leaf) {
  double *in[MOST_LEAVES], *out, *d, largest = 0;
  edf_node *z = edf_compnode_shaped("Cotangent", scalar_shape, cotangent_forward,
                                    cotangent_backward, y);
  edf_forward();
  out = doubles(y->size);
  for (int k = 0; k < n; k++) {
    in[k] = doubles(leaf[k]->size);
    for (size_t i = 0; i < leaf[k]->size; i++) in[k][i] = (double)leaf[k]->value[i];
  }
  paired(f, in, out, y->size);
  values_agree(y, out);
  edf_backward(z);
  for (int k = 0; k < n; k++) {
    if (!leaf[k]->grad) continue;
    d = doubles(leaf[k]->size);
    for (size_t i = 0; i < leaf[k]->size; i++) {
      double x = in[k][i], h = 1e-5;
      in[k][i] = x + h;
      double up = paired(f, in, out, y->size);
      in[k][i] = x - h;
      d[i] = (up - paired(f, in, out, y->size)) / (2 * h);
      in[k][i] = x;
    }
    gradient_agrees(y, leaf[k], d);
    largest = fmax(largest, largest_of(d, leaf[k]->size));
    free(d);
  }
  CHECK(largest > 1e-3, "%s: the gradients are all about 0", y->op);
  for (int k = 0; k < n; k++) free(in[k]);
  free(out);
  if (EDF_REAL_IS_DOUBLE) gradients_right(y, 0);
}

#define AGREES(y, f, ...)                                                       \
  do {                                                                          \
    edf_node *leaves[] = { __VA_ARGS__ };                                       \
    agrees(y, f, (int)(sizeof leaves / sizeof *leaves), leaves);                \
  } while (0)

/* Leaves for a batch of B rows */
enum { B = 3 };
static edf_node *in(const char *decl) { return input(decl, B, -1, 1); }
static edf_node *par(const char *decl) { return parameter(decl, -1, 1); }

static double sig(double x) { return 1 / (1 + exp(-x)); }

/* ---- Element-wise */

static void plain_leaky(const double *const *x, double *y) {
  for (int i = 0; i < B * 5; i++) y[i] = x[0][i] > 0 ? x[0][i] : 0.125 * x[0][i];
}
static void plain_gelu(const double *const *x, double *y) {
  for (int i = 0; i < B * 5; i++) {
    double v = 3 * x[0][i];
    y[i] = v / 2 * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (v + 0.044715 * v * v * v)));
  }
}
static void plain_softplus(const double *const *x, double *y) {
  for (int i = 0; i < B * 5; i++) y[i] = log(1 + exp(4 * x[0][i]));
}

static void element_wise(void) {
  begin(1);
  edf_node *x = in("x[b,5]");
  AGREES(edf_leaky_relu(x, (edf_real)0.125), plain_leaky, x);
  AGREES(edf_gelu(edf_einsum("y[b,i] = 3 x[b,i]", x)), plain_gelu, x);
  AGREES(edf_softplus(edf_einsum("y[b,i] = 4 x[b,i]", x)), plain_softplus, x);
}

static void extremes(void) {                                 /* nothing is clamped */
  static const edf_real data[6] = { -1000, -50, 0, 50, 1000, (edf_real)NAN };
  begin(1);
  edf_node *x = edf_want_grad(feed(edf_input("x[6]"), data, 1));
  edf_node *g = edf_gelu(x), *s = edf_softplus(x), *l = edf_leaky_relu(x, (edf_real)0.01);
  edf_forward();
  edf_backward(g);
  CHECK(at(g, 0) == 0 && at(g, 2) == 0 && at(g, 3) == 50 && at(g, 4) == 1000, "Gelu");
  CHECK(x->grad[0] == 0 && (double)x->grad[4] * 6 > 0.999, "Gelu's slope is %g and %g",
        (double)x->grad[0], (double)x->grad[4]);
  CHECK(at(s, 0) == 0 && at(s, 4) == 1000, "Softplus");
  CLOSE(s->value[1], exp(-50), 0, 1e-5);
  CLOSE(s->value[2], log(2), 0, 1e-6);
  CLOSE(l->value[0], -10, 0, 1e-6);
  CHECK(at(g, 5) != at(g, 5) && at(s, 5) != at(s, 5) && at(l, 5) != at(l, 5), "NaN is lost");
}

/* ---- Losses */

static void plain_bce(const double *const *x, double *l) {
  for (int i = 0; i < B * 4; i++) {
    double p = sig(3 * x[0][i]), y = x[1][i];
    l[i] = -y * log(p) - (1 - y) * log(1 - p);
  }
}
static void plain_mse(const double *const *x, double *y) {
  for (int i = 0; i < B * 4; i++) *y += (x[0][i] - x[1][i]) * (x[0][i] - x[1][i]) / (B * 4);
}
static void plain_masked(const double *const *x, double *y) {
  double sum = 0, n = 0;
  for (int i = 0; i < B * 4; i++) { sum += x[0][i] * x[1][i]; n += x[1][i]; }
  *y = sum / n;
}

static void losses(void) {
  begin(2);
  edf_node *s = in("s[b,4]"), *y = input("y[b,4]", B, 0, 1), *m = input("m[b,4]", B, 0.2, 1);
  AGREES(edf_bce_loss(edf_einsum("t[b,i] = 3 s[b,i]", s), y), plain_bce, s, y);
  AGREES(edf_mse(s, y), plain_mse, s, y);
  AGREES(edf_masked_mean(s, m), plain_masked, s, m);
}

static void bce_extremes(void) {
  static const edf_real scores[4] = { 1000, -1000, 1000, -1000 }, truth[4] = { 1, 0, 0, 1 };
  begin(1);
  edf_node *s = edf_want_grad(feed(edf_input("s[4]"), scores, 1));
  edf_node *l = edf_bce_loss(s, feed(edf_input("y[4]"), truth, 1));
  edf_forward();
  edf_backward(l);
  CHECK(at(l, 0) == 0 && at(l, 1) == 0 && at(l, 2) == 1000 && at(l, 3) == 1000, "%g %g %g %g",
        at(l, 0), at(l, 1), at(l, 2), at(l, 3));
  for (int i = 0; i < 4; i++) CLOSE(s->grad[i], i < 2 ? 0 : i == 2 ? 0.25 : -0.25, 1e-7, 0);
}

/* ---- Over named indices. x is [B][T][J], with T = 4 and J = 5. */

enum { T = 4, J = 5 };
#define X(b, t, j) x[0][((b) * T + (t)) * J + (j)]

static void softmax_of(const double *x, size_t stride, int n, double *y) {
  double Z = 0;
  for (int k = 0; k < n; k++) Z += exp(x[(size_t)k * stride]);
  for (int k = 0; k < n; k++) y[(size_t)k * stride] = exp(x[(size_t)k * stride]) / Z;
}
static void plain_softmax_j(const double *const *x, double *y) {
  for (int r = 0; r < B * T; r++) softmax_of(x[0] + r * J, 1, J, y + r * J);
}
static void plain_softmax_t(const double *const *x, double *y) {
  for (int b = 0; b < B; b++)
    for (int j = 0; j < J; j++) softmax_of(&X(b, 0, j), J, T, y + b * T * J + j);
}
static void plain_softmax_tj(const double *const *x, double *y) {
  for (int b = 0; b < B; b++) softmax_of(&X(b, 0, 0), 1, T * J, y + b * T * J);
}
static void plain_log_softmax_t(const double *const *x, double *y) {
  plain_softmax_t(x, y);
  for (int i = 0; i < B * T * J; i++) y[i] = log(y[i]);
}
static void plain_log_softmax_j(const double *const *x, double *y) {
  plain_softmax_j(x, y);
  for (int i = 0; i < B * T * J; i++) y[i] = log(y[i]);
}
static void plain_causal(const double *const *x, double *y) {              /* j <= t */
  for (int b = 0; b < B; b++)
    for (int t = 0; t < T; t++)
      softmax_of(&X(b, t, 0), 1, t + 1 < J ? t + 1 : J, y + (b * T + t) * J);
}
static void plain_causal_t(const double *const *x, double *y) {            /* t <= j */
  for (int b = 0; b < B; b++)
    for (int j = 0; j < J; j++)
      softmax_of(&X(b, 0, j), J, j + 1 < T ? j + 1 : T, y + b * T * J + j);
}

static void softmax_over(void) {
  begin(3);
  edf_node *x = in("x[b,4,5]");
  AGREES(edf_text("P[b,t,j] = softmax_j x[b,t,j]", x), plain_softmax_j, x);
  AGREES(edf_text("P[b,t,j] = softmax_t x[b,t,j]", x), plain_softmax_t, x);
  AGREES(edf_text("P[b,t,j] = softmax_{t,j} x[b,t,j]", x), plain_softmax_tj, x);
  AGREES(edf_text("P[b,t,j] = logsoftmax_t x[b,t,j]", x), plain_log_softmax_t, x);
  AGREES(edf_log_softmax(x), plain_log_softmax_j, x);
  AGREES(edf_text("P[b,t,s] = softmax_s x[b,t,s] | s<=t", x), plain_causal, x);
  AGREES(edf_text("P[b,s,t] = softmax_s x[b,s,t] | s<=t", x), plain_causal_t, x);
  AGREES(edf_softmax(x), plain_softmax_j, x);
}

static void causal_entries_are_zero(void) {
  begin(4);
  edf_node *x = in("x[b,4,4]"), *P = edf_text("P[b,t,s] = softmax_s x[b,t,s] | s<=t", x);
  edf_node *loss = edf_square(P);
  edf_forward();
  edf_backward(loss);
  for (int i = 0; i < B * 16; i++) {
    int masked = i % 4 > i / 4 % 4;
    CHECK((P->value[i] == 0) == masked, "P[%d] is %g", i, at(P, i));
    CHECK(!masked || x->grad[i] == 0, "the gradient of a masked entry is %g",
          (double)x->grad[i]);
  }
  CHECK(P->value[0] == 1, "the first row has one entry: %g", at(P, 0));
}

/* | s<=t bounds the same entries wherever t stands. */
static void causal_along_another_index(void) {
  begin(4);
  edf_node *x = in("x[b,4,2,4]"), *P = edf_text("P[b,t,j,s] = softmax_s x[b,t,j,s] | s<=t", x);
  edf_node *Q = edf_text("u[b,j,t,s] = x[b,t,j,s]\nQ[b,j,t,s] = softmax_s u[b,j,t,s] | s<=t", x);
  edf_forward();
  for (int i = 0; i < B * 32; i++) {
    int s = i % 4, j = i / 4 % 2, t = i / 8 % 4, b = i / 32;
    CLOSE(P->value[i], Q->value[((b * 2 + j) * 4 + t) * 4 + s], 1e-6, 0);
  }
}

static void plain_mean_t(const double *const *x, double *y) {
  for (int i = 0; i < B * T * J; i++) y[i / (T * J) * J + i % J] += x[0][i] / T;
}
static void plain_sum_tj(const double *const *x, double *y) {
  for (int i = 0; i < B * T * J; i++) y[i / (T * J)] += x[0][i];
}
static void plain_variance_t(const double *const *x, double *y) {
  double m[B * J] = { 0 };
  plain_mean_t(x, m);
  for (int i = 0; i < B * T * J; i++) {
    int k = i / (T * J) * J + i % J;
    y[k] += (x[0][i] - m[k]) * (x[0][i] - m[k]) / T;
  }
}
static void plain_sample_variance_t(const double *const *x, double *y) {
  plain_variance_t(x, y);
  for (int k = 0; k < B * J; k++) y[k] *= T / (T - 1.0);
}
static void plain_mean_b(const double *const *x, double *y) {
  for (int i = 0; i < B * T * J; i++) y[i % (T * J)] += x[0][i] / B;
}
static void plain_max_t(const double *const *x, double *y) {
  for (int b = 0; b < B; b++)
    for (int j = 0; j < J; j++) {
      y[b * J + j] = X(b, 0, j);
      for (int t = 1; t < T; t++) y[b * J + j] = fmax(y[b * J + j], X(b, t, j));
    }
}
static void plain_max_tj(const double *const *x, double *y) {
  for (int b = 0; b < B; b++) {
    y[b] = X(b, 0, 0);
    for (int i = 1; i < T * J; i++) y[b] = fmax(y[b], x[0][b * T * J + i]);
  }
}

static void reductions(void) {
  begin(5);
  edf_node *x = in("x[b,4,5]");
  AGREES(edf_text("m[b,j] = mean_t x[b,t,j]", x), plain_mean_t, x);
  AGREES(edf_text("y[b] = sum_{t,j} x[b,t,j]", x), plain_sum_tj, x);
  AGREES(edf_text("m[t,j] = mean_b x[b,t,j]", x), plain_mean_b, x);
  AGREES(edf_text("v[b,j] = variance_t x[b,t,j]", x), plain_variance_t, x);
  AGREES(edf_text("m[b,j] = mean_t x[b,t,j]\nv[b,j] = (1/(T-1)) sum_t (x[b,t,j] - m[b,j])^2", x), plain_sample_variance_t, x);
  AGREES(edf_text("y[b,j] = max_t x[b,t,j]", x), plain_max_t, x);
  AGREES(edf_text("y[b] = max_{t,j} x[b,t,j]", x), plain_max_tj, x);
}

static void plain_normalize(const double *x, size_t stride, int n, double eps, double *y) {
  double m = 0, v = 0;
  for (int k = 0; k < n; k++) m += x[(size_t)k * stride] / n;
  for (int k = 0; k < n; k++) v += pow(x[(size_t)k * stride] - m, 2) / n;
  for (int k = 0; k < n; k++)
    y[(size_t)k * stride] = (x[(size_t)k * stride] - m) / sqrt(v + eps);
}
static void plain_normalize_j(const double *const *x, double *y) {
  for (int r = 0; r < B * T; r++) plain_normalize(x[0] + r * J, 1, J, 0.01, y + r * J);
}
static void plain_normalize_t(const double *const *x, double *y) {
  for (int b = 0; b < B; b++)
    for (int j = 0; j < J; j++) plain_normalize(&X(b, 0, j), J, T, 0.01, y + b * T * J + j);
}
static void plain_normalize_tj(const double *const *x, double *y) {
  for (int b = 0; b < B; b++) plain_normalize(&X(b, 0, 0), 1, T * J, 0.01, y + b * T * J);
}
static void plain_layer_norm(const double *const *x, double *y) {
  for (int r = 0; r < B * T; r++) plain_normalize(x[0] + r * J, 1, J, 1e-5, y + r * J);
  for (int i = 0; i < B * T * J; i++) y[i] = y[i] * x[1][i % J] + x[2][i % J];
}
static void plain_batch_norm(const double *const *x, double *y) {
  for (int j = 0; j < J; j++) plain_normalize(x[0] + j, J, B * T, 1e-5, y + j);
  for (int i = 0; i < B * T * J; i++) y[i] = y[i] * x[1][i % J] + x[2][i % J];
}

static void normalisation(void) {
  begin(6);
  edf_node *x = in("x[b,4,5]");
  AGREES(edf_text("y[b,t,j] = normalize_j(x[b,t,j], 0.01)", x), plain_normalize_j, x);
  AGREES(edf_text("y[b,t,j] = normalize_t(x[b,t,j], 0.01)", x), plain_normalize_t, x);
  AGREES(edf_text("y[b,t,j] = normalize_{t,j}(x[b,t,j], 0.01)", x), plain_normalize_tj, x);
  edf_layer_norm_package L = edf_layer_norm_params(5);
  edf_batch_norm_package N = edf_batch_norm_params(5);
  for (int j = 0; j < J; j++) CHECK(L.gain->value[j] == 1 && L.bias->value[j] == 0, "start");
  edf_init_uniform(L.gain, -1, 1); edf_init_uniform(L.bias, -1, 1);
  edf_init_uniform(N.gain, -1, 1); edf_init_uniform(N.bias, -1, 1);
  AGREES(edf_layer_norm(L, x), plain_layer_norm, x, L.gain, L.bias);
  AGREES(edf_batch_norm(N, x), plain_batch_norm, x, N.gain, N.bias);
}

/* The running statistics move by a tenth of the way, in training alone; outside of it they
   are used, and the node is a straight line in x. The gradient check changes nothing. */
static void plain_batch_norm_running(const double *const *x, double *y) {
  for (int i = 0; i < B * T * J; i++) {
    int j = i % J;
    y[i] = (x[0][i] - x[3][j]) / sqrt(x[4][j] + 1e-5) * x[1][j] + x[2][j];
  }
}

static void batch_norm_running(void) {
  begin(7);
  edf_node *x = in("x[b,4,5]");
  edf_batch_norm_package N = edf_batch_norm_params(5);
  edf_node *y = edf_batch_norm(N, x);
  edf_forward();
  for (int j = 0; j < J; j++) {
    double m = 0, v = 0;
    for (int r = 0; r < B * T; r++) m += (double)x->value[r * J + j] / (B * T);
    for (int r = 0; r < B * T; r++) v += pow((double)x->value[r * J + j] - m, 2) / (B * T - 1);
    CLOSE(N.mean->value[j], 0.1 * m, 1e-6, 1e-5);
    CLOSE(N.variance->value[j], 0.9 + 0.1 * v, 1e-6, 1e-5);
  }
  edf_real before[J];
  memcpy(before, N.mean->value, sizeof before);
  capture_begin();
  edf_gradcheck(y);
  capture_end();
  CHECK(!memcmp(before, N.mean->value, sizeof before), "edf_gradcheck moved the running mean");
  edf_sgd(1);
  edf_l2(1);
  CHECK(!memcmp(before, N.mean->value, sizeof before) && !N.mean->grad, "SGD moved it");
  edf.training = 0;
  AGREES(y, plain_batch_norm_running, x, N.gain, N.bias, N.mean, N.variance);
  CHECK(!memcmp(before, N.mean->value, sizeof before), "evaluation moved the running mean");
  edf.training = 1;
}

/* ---- Maxima: padding, overlap, ties, NaN */

static void plain_pool(const double *x, int n, int size, int stride, int pad, int C,
                       double *y) {
  int m = (n + 2 * pad - size) / stride + 1;
  for (int b = 0; b < B; b++)
    for (int i = 0; i < m; i++) for (int j = 0; j < m; j++) for (int c = 0; c < C; c++) {
      double most = -HUGE_VAL;
      for (int k = 0; k < size * size; k++) {
        int u = stride * i + k / size - pad, v = stride * j + k % size - pad;
        if (u >= 0 && u < n && v >= 0 && v < n)
          most = fmax(most, x[((b * n + u) * n + v) * C + c]);
      }
      y[((b * m + i) * m + j) * C + c] = most;
    }
}
static void plain_pool_2(const double *const *x, double *y) {
  plain_pool(x[0], 6, 2, 2, 0, 2, y);
}
static void plain_pool_3(const double *const *x, double *y) {
  plain_pool(x[0], 6, 3, 2, 0, 2, y);
}
static void plain_pool_pad(const double *const *x, double *y) {
  plain_pool(x[0], 6, 3, 2, 1, 2, y);
}
static void plain_pool_wide(const double *const *x, double *y) {
  plain_pool(x[0], 4, 2, 2, 0, 19, y);
}
static void plain_avg_pool(const double *const *x, double *y) {
  for (int b = 0; b < B; b++)
    for (int i = 0; i < 2; i++) for (int j = 0; j < 2; j++) for (int c = 0; c < 2; c++)
      for (int k = 0; k < 9; k++)
        y[((b * 2 + i) * 2 + j) * 2 + c] +=
            x[0][((b * 6 + 3 * i + k / 3) * 6 + 3 * j + k % 3) * 2 + c] / 9;
}

static void pooling(void) {
  begin(8);
  edf_node *x = in("x[b,6,6,2]"), *wide = in("x[b,4,4,19]");
  AGREES(edf_max_pool(x, 2, 2), plain_pool_2, x);
  AGREES(edf_max_pool(x, 3, 2), plain_pool_3, x);
  AGREES(edf_text("y[b,i,j,c] = max_{k<3,l<3} x[b,2*i+k-1,2*j+l-1,c] | i<3, j<3", x),
         plain_pool_pad, x);
  AGREES(edf_max_pool(wide, 2, 2), plain_pool_wide, wide);
  AGREES(edf_avg_pool(x, 3, 3), plain_avg_pool, x);
}

/* Of equal entries the first is paid, whatever road the maximum takes. */
static void ties_pay_one(void) {
  enum { C = 20 };
  static edf_real zeros[4 * C];
  begin(9);
  edf_node *x = edf_want_grad(feed(edf_input("x[b,2,2,20]"), zeros, 1));
  edf_node *both[2];
  both[0] = edf_max_pool(x, 2, 2);                           /* windows apart: written */
  both[1] = edf_einsum("y = p[B,I,J,C] + m[B,C]", edf_max_pool(x, 2, 2),
                       edf_text("y[b,c] = max_{i,j} x[b,i,j,c]", x));       /* added */
  for (int k = 0; k < 2; k++) {
    edf_node *loss = edf_sum(both[k]);
    edf_forward();
    edf_backward(loss);
    for (int i = 0; i < 4 * C; i++)
      CHECK((double)x->grad[i] == (i < C ? 1 + k : 0), "entry %d is paid %g", i,
            (double)x->grad[i]);
  }
}

static void nan_wins(void) {
  enum { C = 20 };
  edf_real data[4 * C];
  begin(10);
  for (int i = 0; i < 4 * C; i++) data[i] = i / C == 2 ? (edf_real)NAN : (edf_real)i;
  edf_node *x = feed(edf_input("x[b,2,2,20]"), data, 1), *y = edf_max_pool(x, 2, 2);
  edf_node *s = edf_text("y[b,j,k] = max_i x[b,i,j,k]", x);
  edf_forward();
  for (int c = 0; c < C; c++) CHECK(at(y, c) != at(y, c), "NaN becomes %g", at(y, c));
  CHECK(at(s, 0) != at(s, 0) && at(s, C) == 3 * C, "%g %g", at(s, 0), at(s, C));
}

/* ---- Dropout */

static void plain_dropout(const double *const *x, double *y) {             /* x[1]: the mask */
  for (int i = 0; i < B * 40; i++) y[i] = x[0][i] * x[1][i] / 0.75;
}

static void dropout(void) {
  static edf_real mask[B * 40];
  begin(11);
  edf_node *x = in("x[b,40]"), *y = edf_dropout(x, 0.25);
  edf_node *m = edf_input("m[b,40]");
  unsigned long long draws = edf.draws;
  edf_feed(m, mask, B);
  edf_forward();
  int kept = 0;
  for (int i = 0; i < B * 40; i++) { mask[i] = y->value[i] != 0; kept += mask[i] != 0; }
  CHECK(kept > 70 && kept < 110, "%d of 120 were kept", kept);
  CHECK(edf.draws == draws + B * 40, "%llu numbers were drawn", edf.draws - draws);
  edf.draws = draws;                                         /* the same numbers again */
  AGREES(y, plain_dropout, x, m);
  edf_forward();
  int moved = 0;
  for (int i = 0; i < B * 40; i++) moved += (y->value[i] != 0) != (mask[i] != 0);
  CHECK(moved > 20, "the next mask differs in %d places", moved);
  edf.training = 0;
  draws = edf.draws;
  edf_node *loss = edf_sum(y);
  edf_forward();
  edf_backward(loss);
  for (int i = 0; i < B * 40; i++)
    CHECK(y->value[i] == x->value[i] && x->grad[i] == 1, "evaluation drops entry %d", i);
  CHECK(edf.draws == draws, "evaluation draws");
  edf.training = 1;
}

static void dropout_rate(void) {
  static edf_real ones[40000];
  for (int i = 0; i < 40000; i++) ones[i] = 1;
  begin(12);
  edf_node *x = feed(edf_input("x[b,400]"), ones, 100);
  for (int k = 0; k < 3; k++) {
    double rate = k == 0 ? 0.1 : k == 1 ? 0.5 : 0.9, sum = 0;
    edf_node *y = edf_dropout(x, rate);
    edf_forward();
    for (int i = 0; i < 40000; i++) sum += at(y, i) / 40000;
    CLOSE(sum, 1, 5 * sqrt(rate / (1 - rate) / 40000), 0);   /* inverted: the mean stays */
  }
}

/* ---- Embed, parts that are joined or taken, Reshape */

static void plain_embed(const double *const *x, double *y) {
  for (int i = 0; i < B * 4 * 3; i++) y[i] = x[0][(int)x[1][i / 3] * 3 + i % 3];
}

static void embed(void) {
  begin(13);
  edf_node *W = par("W[5,3]"), *k = labels("k[b,4]", B, 5);
  AGREES(edf_embed(W, k), plain_embed, W, k);
  edf_forward();
  int seen[5] = { 0 }, most = 0;
  for (int i = 0; i < B * 4; i++) if (++seen[(int)k->value[i]] > most) most++;
  CHECK(most > 1, "no class occurs twice");
}

static void plain_concat(const double *const *x, double *y) {              /* 2 + 3 + 1 */
  for (int b = 0; b < B; b++)
    for (int j = 0; j < 2; j++) {
      for (int t = 0; t < 2; t++) y[(b * 6 + t) * 2 + j] = x[0][(b * 2 + t) * 2 + j];
      for (int t = 0; t < 3; t++) y[(b * 6 + 2 + t) * 2 + j] = x[1][(b * 3 + t) * 2 + j];
      y[(b * 6 + 5) * 2 + j] = x[2][b * 2 + j];
    }
}
static void plain_twice(const double *const *x, double *y) {
  for (int i = 0; i < B * 4; i++) y[i] = x[0][i / 4 * 2 + i % 2];
}
static void plain_slice(const double *const *x, double *y) {               /* t: 1, 2 of 4 */
  for (int b = 0; b < B; b++)
    for (int i = 0; i < 2 * J; i++) y[b * 2 * J + i] = x[0][b * T * J + J + i];
}
static void plain_first(const double *const *x, double *y) {
  for (int b = 0; b < B; b++)
    for (int i = 0; i < 2; i++) y[b * 2 + i] = x[0][b * 2 + i];
}
static void plain_select(const double *const *x, double *y) {
  for (int b = 0; b < B; b++) for (int t = 0; t < T; t++) y[b * T + t] = X(b, t, 3);
}
static void plain_same(const double *const *x, double *y) {
  memcpy(y, x[0], B * T * J * sizeof *y);
}

static void moving(void) {
  begin(14);
  edf_node *x = in("x[b,4,5]"), *a = in("a[b,2,2]"), *c = in("c[b,3,2]"), *d = in("d[b,2]");
  AGREES(edf_text("h[b,T+S+R,j] = a[b,T,j] ; c[b,S,j] ; d[b,j] | R<1", a, c, d), plain_concat, a, c, d);
  AGREES(edf_text("h[b,2J] = d[b,J] ; d[b,J]", d), plain_twice, d);
  AGREES(edf_einsum("y[b,t,j] = x[b,t+1,j] | t<2", x), plain_slice, x);
  AGREES(edf_einsum("y[b,t] = d[b,t] | t<2", d), plain_first, d);
  AGREES(edf_einsum("y[b,t] = x[b,t,3]", x), plain_select, x);
  edf_node *flat = edf_reshape(x, "flat[b,%d]", T * J), *rows = edf_reshape(x, "rows[n,5]");
  CHECK(!strcmp(flat->name, "flat") && flat->rank == 2 && flat->dim[1] == T * J, "the shape");
  AGREES(flat, plain_same, x);
  AGREES(rows, plain_same, x);
  CHECK(rows->dim[0] == B * T && rows->dim[1] == J, "%d rows", rows->dim[0]);
  edf_feed(x, x->value, 1);                                  /* another batch */
  edf_feed(a, a->value, 1); edf_feed(c, c->value, 1); edf_feed(d, d->value, 1);
  edf_forward();
  CHECK(rows->dim[0] == T && flat->dim[0] == 1, "%d rows of a batch of 1", rows->dim[0]);
}

/* Rows that were merged are split again; a shape without a batch in it does not get one. */
static void merged_and_split(void) {
  begin(15);
  edf_node *x = in("x[b,4,5]"), *p = par("p[6,4]");
  edf_node *split = edf_reshape(edf_reshape(x, "rows[n,5]"), "x[b,4,5]");
  AGREES(split, plain_same, x);
  CHECK(split->dim[0] == B && split->batched == 1, "%d rows", split->dim[0]);
  edf_node *fixed = edf_reshape(p, "y[n,8]");
  CHECK(fixed->dim[0] == 3 && !fixed->batched, "%d rows of 24 numbers", fixed->dim[0]);
  edf_node *row = edf_einsum("y[j] = f[2,j]", fixed);
  edf_forward();
  CHECK(row->value[7] == p->value[23], "%g", (double)row->value[7]);
}

/* What a maximum does not write is 0, also where another batch wrote before. */
static void maximum_on_the_diagonal(void) {
  begin(16);
  edf_real rows[9] = { 5, 1, 0, 2, 7, 3, -1, -2, -3 };
  edf_node *x = edf_input("x[b,3]"), *y = edf_text("y[b,b] = max_j x[b,j]", x);
  for (int n = 2; n <= 3; n++) {
    edf_feed(x, rows, n);
    edf_forward();
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        double expected = i != j ? 0 : i == 0 ? 5 : i == 1 ? 7 : -1;
        CHECK((double)y->value[i * n + j] == expected, "y[%d,%d] of %d is %g", i, j, n,
              (double)y->value[i * n + j]);
      }
  }
}

/* ---- Convolutions */

static struct { int X, size, n_in, n_out, stride, padding; } cv;

static void plain_conv(const double *const *in_, double *y) {              /* W, x, B */
  int m = (cv.X + 2 * cv.padding - cv.size) / cv.stride + 1, taps = cv.size * cv.size;
  for (int b = 0; b < B; b++)
    for (int o = 0; o < m * m; o++)
      for (int n = 0; n < cv.n_out; n++) {
        double s = -in_[2][n];
        for (int k = 0; k < taps; k++) {
          int i = cv.stride * (o / m) + k / cv.size - cv.padding;
          int j = cv.stride * (o % m) + k % cv.size - cv.padding;
          int inside = i >= 0 && i < cv.X && j >= 0 && j < cv.X;
          for (int c = 0; c < cv.n_in && inside; c++)
            s += in_[0][(k * cv.n_in + c) * cv.n_out + n]
               * in_[1][((b * cv.X + i) * cv.X + j) * cv.n_in + c];
        }
        y[(b * m * m + o) * cv.n_out + n] = s;
      }
}

static void conv_case(int size_x, int size, int stride, int padding) {
  begin((unsigned)(3 * size + 7 * stride + padding));
  cv.X = size_x; cv.size = size; cv.stride = stride; cv.padding = padding;
  cv.n_in = 2; cv.n_out = 3;
  edf_node *x = in(edf_fmt("x[b,%d,%d,%d]", size_x, size_x, cv.n_in));
  edf_conv_package Phi = edf_conv_params(size, cv.n_in, cv.n_out);
  edf_init_uniform(Phi.b, -1, 1);
  Phi.stride = stride; Phi.padding = padding;
  AGREES(edf_conv(Phi, x), plain_conv, Phi.w, x, Phi.b);
}

static void convolutions(void) {
  conv_case(5, 3, 1, 0);
  conv_case(5, 3, 1, 1);
  conv_case(6, 3, 2, 1);
  conv_case(6, 2, 1, 0);
  conv_case(9, 3, 2, 2);
  conv_case(3, 1, 1, 0);
  conv_case(3, 3, 2, 1);
}

/* ---- Residual blocks */

static void plain_residual(const double *const *x, double *y) {  /* x, W1, B1, W2, B2 */
  const double *first[3], *second[3];
  double h[B * 16 * 2] = { 0 };
  first[0] = x[1]; first[1] = x[0]; first[2] = x[2];
  second[0] = x[3]; second[1] = h; second[2] = x[4];
  plain_conv(first, h);
  for (int i = 0; i < B * 16 * 2; i++) h[i] = h[i] > 0 ? h[i] : 0;
  plain_conv(second, y);
  for (int i = 0; i < B * 16 * 2; i++) y[i] += x[0][i];
}

static void blocks(void) {
  begin(20);
  cv.X = 4; cv.size = 3; cv.n_in = cv.n_out = 2; cv.stride = cv.padding = 1;
  edf_node *x = in("x[b,4,4,2]");
  edf_residual_package R = edf_residual_params(3, 2);
  edf_init_uniform(R.first.b, -1, 1); edf_init_uniform(R.second.b, -1, 1);
  AGREES(edf_residual(R, x), plain_residual, x, R.first.w, R.first.b, R.second.w, R.second.b);
}

/* ---- Attention: 2 heads of 3 numbers, 4 positions */

static int causal;
enum { N = 6, HEADS = 2, D = 3 };

static double project(const double *w, const double *x, int h, int d) {
  double s = 0;
  for (int i = 0; i < N; i++) s += w[(i * HEADS + h) * D + d] * x[i];
  return s;
}

static void plain_attention(const double *const *x, double *y) {           /* x, Q, K, V, O */
  for (int b = 0; b < B; b++)
    for (int t = 0; t < T; t++)
      for (int h = 0; h < HEADS; h++) {
        double a[T] = { 0 }, P[T] = { 0 };
        for (int s = 0; s < T; s++)
          for (int d = 0; d < D; d++)
            a[s] += project(x[1], x[0] + (b * T + t) * N, h, d)
                  * project(x[2], x[0] + (b * T + s) * N, h, d) / sqrt((double)D);
        softmax_of(a, 1, causal ? t + 1 : T, P);
        for (int d = 0; d < D; d++) {
          double o = 0;
          for (int s = 0; s < T; s++) o += P[s] * project(x[3], x[0] + (b * T + s) * N, h, d);
          for (int j = 0; j < N; j++) y[(b * T + t) * N + j] += x[4][(h * D + d) * N + j] * o;
        }
      }
}

static void attention(void) {
  begin(21);
  edf_node *x = in("x[b,4,6]");
  edf_attention_package A = edf_attention_params(6, 2);
  edf_node *drawn[] = { A.wq, A.wk, A.wv, A.wo };
  for (int k = 0; k < 4; k++)
    CHECK(drawn[k]->value[0] != 0 && drawn[k]->value[0] != drawn[k]->value[1],
          "%s begins with %g", drawn[k]->name, at(drawn[k], 0));
  causal = 0;
  AGREES(edf_attention(A, x), plain_attention, x, A.wq, A.wk, A.wv, A.wo);
  causal = 1;
  AGREES(edf_causal_attention(A, x), plain_attention, x, A.wq, A.wk, A.wv, A.wo);
}

/* ---- Recurrent cells: 2 inputs, 3 hidden, 4 steps */

enum { IN = 2, H = 3 };
static int gates, step_only;

static double gate(const double *const *x, int k, int j, const double *in_, const double *h) {
  double s = -x[3][k * H + j];
  for (int i = 0; i < IN; i++) s += x[1][(i * gates + k) * H + j] * in_[i];
  for (int i = 0; i < H; i++) s += x[2][(i * gates + k) * H + j] * h[i];
  return s;
}

static void plain_cell(const double *const *x, const double *in_, double *h, double *c) {
  double old[H], m[H];
  memcpy(old, h, sizeof old);
  for (int j = 0; j < H; j++) {
    if (gates == 1) h[j] = tanh(gate(x, 0, j, in_, old));
    if (gates == 3) {
      double G = sig(gate(x, 1, j, in_, old));
      for (int i = 0; i < H; i++) m[i] = sig(gate(x, 0, i, in_, old)) * old[i];
      h[j] = (1 - G) * old[j] + G * tanh(gate(x, 2, j, in_, m));
    }
    if (gates == 4) {
      double F = sig(gate(x, 0, j, in_, old)), G = sig(gate(x, 1, j, in_, old));
      c[j] = F * c[j] + G * tanh(gate(x, 3, j, in_, old));
      h[j] = sig(gate(x, 2, j, in_, old)) * tanh(c[j]);
    }
  }
}

static void plain_unroll(const double *const *x, double *y) {              /* x, Wx, Wh, B */
  for (int b = 0; b < B; b++) {
    double h[H] = { 0 }, c[H] = { 0 };
    for (int t = 0; t < (step_only ? 1 : T); t++) {
      plain_cell(x, x[0] + (b * (step_only ? 1 : T) + t) * IN, h, c);
      memcpy(y + (b * (step_only ? 1 : T) + t) * H, h, sizeof h);
    }
  }
}

/* x, Wx, Wh, B, then h and, for the LSTM, c of the step before */
static void plain_step(const double *const *x, double *y) {
  for (int b = 0; b < B; b++) {
    double h[H], c[H] = { 0 };
    memcpy(h, x[4] + b * H, sizeof h);
    if (gates == 4) memcpy(c, x[5] + b * H, sizeof c);
    plain_cell(x, x[0] + b * IN, h, c);
    memcpy(y + b * H, h, sizeof h);
  }
}

static void cells(void) {
  static const edf_cell *const cell[] = { &edf_rnn_cell, &edf_gru_cell, &edf_lstm_cell };
  for (int k = 0; k < 3; k++) {
    begin((unsigned)(30 + k));
    gates = k == 0 ? 1 : k + 2;
    edf_node *x = in("x[b,4,2]"), *now = in("now[b,2]"), *h = in("h[b,3]"), *c = in("c[b,3]");
    edf_recurrent_package Phi = edf_recurrent_params_at(__FILE__, __LINE__, cell[k], IN, H);
    for (int j = 0; j < H; j++)
      CHECK((double)Phi.b->value[j] == (k == 2 ? -1 : 0), "a threshold starts at %g",
            (double)Phi.b->value[j]);
    edf_init_uniform(Phi.b, -1, 1);
    step_only = 0;
    AGREES(edf_unroll(Phi, x), plain_unroll, x, Phi.wx, Phi.wh, Phi.b);
    edf_recurrent_state none = { NULL, NULL }, before = { h, k == 2 ? c : NULL };
    step_only = 1;
    edf_node *one = edf_cell_at(__FILE__, __LINE__, cell[k], Phi, now, none).h;
    AGREES(one, plain_unroll, now, Phi.wx, Phi.wh, Phi.b);
    one = edf_cell_at(__FILE__, __LINE__, cell[k], Phi, now, before).h;
    AGREES(one, plain_step, now, Phi.wx, Phi.wh, Phi.b, h, c);
  }
}

/* The same steps, called one by one by the user, as one call that unrolls itself */
static void steps_are_the_unrolled(void) {
  begin(40);
  edf_node *x = in("x[b,4,2]");
  edf_recurrent_package L = edf_lstm_params(IN, H);
  edf_recurrent_state s = { NULL, NULL };
  edf_node *all = edf_unroll(L, x);
  for (int t = 0; t < T; t++) s = edf_lstm(L, edf_einsum(edf_fmt("y[b,i] = x[b,%d,i]", t), x), s);
  edf_forward();
  for (int b = 0; b < B; b++)
    for (int j = 0; j < H; j++)
      CLOSE(s.h->value[b * H + j], all->value[(b * T + T - 1) * H + j], 1e-6, 1e-5);
}

/* ---- The recurrence of the slide */

static int backwards;

static void plain_recurrence(const double *const *x, double *y) {          /* Wh, Wx, x, B */
  for (int b = 0; b < B; b++) {
    double h[H] = { 0 };
    for (int k = 0; k < T; k++) {
      int t = backwards ? T - 1 - k : k;
      double *out = y + (b * T + t) * H;
      for (int j = 0; j < H; j++) {
        double s = -x[3][j];
        for (int i = 0; i < H; i++) s += x[0][j * H + i] * h[i];
        for (int i = 0; i < IN; i++) s += x[1][j * IN + i] * x[2][(b * T + t) * IN + i];
        out[j] = tanh(s);
      }
      memcpy(h, out, sizeof h);
    }
  }
}

static void plain_chain(const double *const *x, double *y) {
  for (int t = 0; t < T; t++) y[t] = x[0][t] + (t ? 0.5 * y[t - 1] * x[0][t] : 0);
}

static void recurrence(void) {
  begin(41);
  edf_node *w = par("Whh[3,3]"), *u = par("Wxh[3,2]"), *x = in("x[b,4,2]"), *bias = par("B[3]");
  edf_node *a = par("a[4]");
  backwards = 0;
  AGREES(edf_recurrence("h[b,t,j] = tanh(Whh[j,I] h[b,t-1,I] + Wxh[j,K] x[b,t,K] - B[j])", w, u,
                        x, bias), plain_recurrence, w, u, x, bias);
  backwards = 1;
  AGREES(edf_recurrence("h[b,t,j] = tanh(Whh[j,I] h[b,t+1,I] + Wxh[j,K] x[b,t,K] - B[j])", w, u,
                        x, bias), plain_recurrence, w, u, x, bias);
  AGREES(edf_recurrence("y[t] = a[t] + 0.5 y[t-1] a[t]", a), plain_chain, a);
}

/* Names of our lines that an operand has too; a read behind the last time; a shifted place. */
static void plain_ahead(const double *const *x, double *y) {     /* x: in its 0.3 x + h x' */
  for (int b = 0; b < B; b++)
    for (int t = 0; t < T; t++)
      for (int j = 0; j < IN; j++) {
        const double *in_ = x[0] + b * T * IN + j;
        double h = t ? y[(b * T + t - 1) * IN + j] : 0;
        double ahead = t + 1 < T ? in_[(t + 1) * IN] : 0;
        y[(b * T + t) * IN + j] = 0.3 * in_[t * IN] + h * ahead;
      }
}
static void plain_shifted(const double *const *x, double *y) {   /* neighbours of h */
  for (int t = 0; t < T; t++)
    for (int j = 0; j < 5; j++) {
      double h = 0;
      for (int d = 0; d < 3; d++)
        if (t && j + d - 1 >= 0 && j + d - 1 < 5) h += y[(t - 1) * 5 + j + d - 1] * x[1][d];
      y[t * 5 + j] = h + x[0][t * 5 + j];
    }
}

static void recurrences_of_all_kinds(void) {
  begin(42);
  edf_node *x = in("x[b,4,2]"), *s = par("s[4,5]"), *w = par("w[3]");
  edf_node *wh = par("Whh[3,3]"), *wx = par("Wxh[3,2]"), *bias = par("B[3]");
  AGREES(edf_recurrence("h[b,t,j] = h[b,t-1,j] x[b,t+1,j] + 0.3 x[b,t,j] | t<4", x),
         plain_ahead, x);
  AGREES(edf_recurrence("h[t,j] = h[t-1,j+D-1] w[D] + s[t,j] | j<5", w, s), plain_shifted, s,
         w);
  backwards = 0;
  AGREES(edf_recurrence("h[b,t,j] = tanh(h_in[j,I] h[b,t-1,I] + h_next[j,K] x[b,t,K]"
                        " - h__in[j])", wh, wx, x, bias), plain_recurrence, wh, wx, x, bias);
}

int main(void) {
  RUN(element_wise);
  RUN(extremes);
  RUN(losses);
  RUN(bce_extremes);
  RUN(softmax_over);
  RUN(causal_entries_are_zero);
  RUN(causal_along_another_index);
  RUN(reductions);
  RUN(normalisation);
  RUN(batch_norm_running);
  RUN(pooling);
  RUN(ties_pay_one);
  RUN(nan_wins);
  RUN(dropout);
  RUN(dropout_rate);
  RUN(embed);
  RUN(moving);
  RUN(merged_and_split);
  RUN(maximum_on_the_diagonal);
  RUN(convolutions);
  RUN(blocks);
  RUN(attention);
  RUN(cells);
  RUN(steps_are_the_unrolled);
  RUN(recurrence);
  RUN(recurrences_of_all_kinds);
  edf_clear();
  return harness_report();
}
