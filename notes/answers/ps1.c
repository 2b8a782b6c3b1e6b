/* A solution of problem set 1; @A@ and others are the numbers of an id. */
#include "ps1.h"
#include <math.h>

enum { A = @A@, D = @D@ };
static const double C = @C@, T = @T@, E = @E@;

void by_hand(double x, double y, double *L, double *dx, double *dy) {
  double u = A * x * x + D * y * y;
  *L = @F@(u);
  double sqrt_slope = 0.5 / sqrt(u), log_slope = 1 / u, atan_slope = 1 / (1 + u * u);
  *dx = 2 * A * x * @F@_slope;
  *dy = 2 * D * y * @F@_slope;
  (void)sqrt_slope, (void)log_slope, (void)atan_slope;
}

double slope(double (*f)(const double *x), double *x, int i) {
  double was = x[i], h = 1e-5, above, below;
  x[i] = was + h;
  above = f(x);
  x[i] = was - h;
  below = f(x);
  x[i] = was;
  return (above - below) / (2 * h);
}

static void relu_forward(edf_node *y) {
  const edf_real *x = y->in[0]->value;
  for (size_t i = 0; i < y->size; i++) y->value[i] = x[i] @G@ 0 ? x[i] : C * x[i];
}
static void relu_backward(edf_node *y) {
  const edf_real *x = y->in[0]->value;
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(y->in[0], i, x[i] @G@ 0 ? y->grad[i] : C * y->grad[i]);
}
edf_node *my_relu(edf_node *x) {
  return edf_compnode("MyRelu", relu_forward, relu_backward, x);
}

static void softmax_forward(edf_node *P) {
  int K = P->dim[1];
  for (int b = 0; b < P->dim[0]; b++) {
    const edf_real *s = P->in[0]->value + b * K;
    edf_real *p = P->value + b * K, sum = 0, most = @Z@s[0];
    for (int k = 1; k < K; k++) if (@Z@s[k] > most) most = @Z@s[k];
    for (int k = 0; k < K; k++) sum += p[k] = exp((@Z@s[k] - most) / T);
    for (int k = 0; k < K; k++) p[k] /= sum;
  }
}
static void softmax_backward(edf_node *P) {
  int K = P->dim[1];
  for (int b = 0; b < P->dim[0]; b++) {
    const edf_real *p = P->value + b * K, *g = P->grad + b * K;
    edf_real dot = 0;
    for (int k = 0; k < K; k++) dot += p[k] * g[k];
    for (int k = 0; k < K; k++)
      edf_addgrad(P->in[0], (size_t)(b * K + k), @Z@p[k] * (g[k] - dot) / T);
  }
}
edf_node *my_softmax(edf_node *s) {
  return edf_compnode("MySoftmax", softmax_forward, softmax_backward, s);
}

static void logloss_shape(edf_node *l) {
  l->rank = 1;
  l->dim[0] = l->in[0]->dim[0];
}
static void logloss_forward(edf_node *l) {
  int K = l->in[0]->dim[1];
  for (int b = 0; b < l->dim[0]; b++) {
    const edf_real *p = l->in[0]->value + b * K;
    l->value[b] = -(1 - E) * log(p[(int)l->in[1]->value[b]]);
    for (int k = 0; k < K; k++) l->value[b] -= E / K * log(p[k]);
  }
}
static void logloss_backward(edf_node *l) {
  int K = l->in[0]->dim[1];
  for (int b = 0; b < l->dim[0]; b++)
    for (int k = 0; k < K; k++) {
      edf_real share = (k == (int)l->in[1]->value[b] ? 1 - E : 0) + E / K;
      size_t i = (size_t)(b * K + k);
      edf_addgrad(l->in[0], i, -share / l->in[0]->value[i] * l->grad[b]);
    }
}
edf_node *my_logloss(edf_node *P, edf_node *y) {
  return edf_compnode_shaped("MyLogLoss", logloss_shape, logloss_forward, logloss_backward, P,
                             y);
}

void learn_digits(const edf_real *x, const edf_real *y, int n, const edf_real *x_test, int m,
                  int *answer) {
  edf_node *image = edf_input("x[b,784]"), *label = edf_input("y[b]");
  edf_node *loss = edf_equations("h[b,j] = relu(W0[j,I] x[b,I] - B0[j]) | j<64 \n"
                                 "P[b,k] = softmax_k (W1[k,J] h[b,J] - B1[k]) | k<10 \n"
                                 "loss[b] = -ln P[b,y[b]]");
  for (int step = 0; step < 1200; step++) {
    int at = step * 50 % n;
    edf_feed(image, x + at * 784, 50);
    edf_feed(label, y + at, 50);
    edf_forward();
    edf_backward(loss);
    edf_sgd(0.2);
  }
  edf_node *P = edf_find("P");
  edf_feed(image, x_test, m);
  edf_forward_to(P);
  for (int i = 0; i < m; i++) {
    answer[i] = 0;
    for (int k = 1; k < 10; k++)
      if (P->value[10 * i + k] > P->value[10 * i + answer[i]]) answer[i] = k;
  }
}

int main(void) { return 0; }
