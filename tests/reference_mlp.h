/* reference_mlp.h - a multilayer perceptron and its training in double precision, in plain
   loops after the slides, without edf.h: a second opinion for the tests.

   Layer l computes s[b,j] = W[i,j] x[b,i] - B[j] and x' = sigmoid(s), or max(0, s) if relu is
   set; the last layer ends in softmax and log loss. Weights are stored [inputs, outputs]. */

#ifndef REFERENCE_MLP_H
#define REFERENCE_MLP_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REF_MAX_LAYERS = 4 };

typedef struct {
  int layers, width[REF_MAX_LAYERS + 1];     /* width[0] is the number of inputs */
  int relu, rows;                            /* rows: the largest batch */
  double *w[REF_MAX_LAYERS], *b[REF_MAX_LAYERS];
  double *x[REF_MAX_LAYERS + 1];             /* x[0] the input; x[layers] the probabilities */
  double *dx[REF_MAX_LAYERS + 1];            /* gradient of the score s that x came from */
  double kink;                               /* smallest |s| that a relu has seen */
} ref_mlp;

static double *ref_alloc(size_t n) {
  double *p = (double *)calloc(n ? n : 1, sizeof *p);
  if (!p) abort();
  return p;
}

static ref_mlp ref_new(int layers, const int *width, int relu, int rows) {
  ref_mlp m;
  m.layers = layers;
  m.relu = relu;
  m.rows = rows;
  m.kink = HUGE_VAL;
  for (int l = 0; l <= layers; l++) {
    m.width[l] = width[l];
    m.x[l] = ref_alloc((size_t)rows * (size_t)width[l]);
    m.dx[l] = ref_alloc((size_t)rows * (size_t)width[l]);
  }
  for (int l = 0; l < layers; l++) {
    m.w[l] = ref_alloc((size_t)width[l] * (size_t)width[l + 1]);
    m.b[l] = ref_alloc((size_t)width[l + 1]);
  }
  return m;
}

static void ref_free(ref_mlp *m) {
  for (int l = 0; l <= m->layers; l++) { free(m->x[l]); free(m->dx[l]); }
  for (int l = 0; l < m->layers; l++) { free(m->w[l]); free(m->b[l]); }
}

/* One row of one layer, before the activation: s[j] = W[i,j] x[i] - B[j]. */
static void ref_affine(const ref_mlp *m, int l, const double *x, double *s) {
  int in = m->width[l], out = m->width[l + 1];
  for (int j = 0; j < out; j++) s[j] = -m->b[l][j];
  for (int i = 0; i < in; i++)
    for (int j = 0; j < out; j++) s[j] += m->w[l][i * out + j] * x[i];
}

static void ref_activate(ref_mlp *m, int n, double *s) {
  for (int j = 0; j < n; j++) {
    if (m->relu && fabs(s[j]) < m->kink) m->kink = fabs(s[j]);
    if (m->relu) s[j] = s[j] > 0 ? s[j] : 0;
    else s[j] = 1 / (1 + exp(-s[j]));
  }
}

static void ref_softmax(int n, double *s) {
  double max = s[0], sum = 0;
  for (int k = 1; k < n; k++) if (s[k] > max) max = s[k];
  for (int k = 0; k < n; k++) sum += s[k] = exp(s[k] - max);
  for (int k = 0; k < n; k++) s[k] /= sum;
}

/* The mean log loss of a batch; fills x. */
static double ref_forward(ref_mlp *m, const double *data, const int *label, int rows) {
  double loss = 0;
  for (int r = 0; r < rows; r++) {
    memcpy(m->x[0] + r * m->width[0], data + r * m->width[0],
           (size_t)m->width[0] * sizeof(double));
    for (int l = 0; l < m->layers; l++) {
      int n = m->width[l + 1];
      double *s = m->x[l + 1] + r * n;
      ref_affine(m, l, m->x[l] + r * m->width[l], s);
      if (l + 1 < m->layers) ref_activate(m, n, s);
      else ref_softmax(n, s);
    }
    loss -= log(m->x[m->layers][r * m->width[m->layers] + label[r]]);
  }
  return loss / rows;
}

/* dx[l] from dx[l+1]: through the weights, then through the activation that made x[l]. */
static void ref_back(ref_mlp *m, int l, int rows) {
  int in = m->width[l], out = m->width[l + 1];
  for (int r = 0; r < rows; r++)
    for (int i = 0; i < in; i++) {
      double d = 0, y = m->x[l][r * in + i];
      for (int j = 0; j < out; j++) d += m->w[l][i * out + j] * m->dx[l + 1][r * out + j];
      m->dx[l][r * in + i] = m->relu ? (y > 0 ? d : 0) : d * y * (1 - y);
    }
}

/* W -= eta dW, B -= eta dB; B is subtracted in s, so its gradient is -ds. */
static void ref_update(ref_mlp *m, int l, int rows, double eta) {
  int in = m->width[l], out = m->width[l + 1];
  for (int r = 0; r < rows; r++)
    for (int j = 0; j < out; j++) m->b[l][j] += eta * m->dx[l + 1][r * out + j];
  for (int r = 0; r < rows; r++)
    for (int i = 0; i < in; i++) {
      double step = eta * m->x[l][r * in + i];
      for (int j = 0; j < out; j++) m->w[l][i * out + j] -= step * m->dx[l + 1][r * out + j];
    }
}

/* One step of SGD on the mean loss of a batch; returns that loss. */
static double ref_step(ref_mlp *m, const double *data, const int *label, int rows,
                       double eta) {
  int classes = m->width[m->layers];
  double loss = ref_forward(m, data, label, rows);
  for (int r = 0; r < rows; r++)
    for (int k = 0; k < classes; k++)
      m->dx[m->layers][r * classes + k] =
          (m->x[m->layers][r * classes + k] - (k == label[r])) / rows;
  for (int l = m->layers - 1; l > 0; l--) ref_back(m, l, rows);
  for (int l = 0; l < m->layers; l++) ref_update(m, l, rows, eta);
  return loss;
}

#endif /* REFERENCE_MLP_H */
