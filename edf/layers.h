/* edf/layers.h - v4.0 - layers and recurrent cells, written as slides, for edf.h

   A companion of edf.h. It includes edf/slide.h. EDF_IMPLEMENTATION, defined in exactly one
   file, compiles its code too. A layer has a parameter struct and a short text. Weights start
   uniform with variance 1/n for sums of n products. Biases start at 0. MIT licence, like
   edf.h. */
#if !defined(EDF_SLIDE_4_H) || \
    (defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_SLIDE__IMPLEMENTED))
#include "slide.h"
#endif
#ifndef EDF_LAYERS_4_H
#define EDF_LAYERS_4_H
#if EDF_VERSION != 400
#error "edf/layers.h is version 4.0, and edf.h is another version: use one version of both"
#include "edf/layers.h: another version" /* This file does not exist: a compiler stops here.  */
#endif
#ifdef __cplusplus
extern "C" {
#endif
/* LayerNorm: y[b,t,j] = A[j] normalize_j x[b,t,j] + B[j], over the last index (Ba et al. 2016).
   A starts at 1, and B at 0.
   BatchNorm: the same, normalised over every index but the last (Ioffe and Szegedy 2015). In
   training it uses the mean and the variance (divisor n) of the batch, otherwise running
   values. These are Parameters, so edf_save saves them, but no optimiser moves them. In
   training each Forward moves them a tenth of the way to the values of the batch. There the
   divisor of the variance is n-1: n rows show a little less than the variance of all data.
   Errors: the parameters and the last index have different sizes; training on 1 row; a mean or
   a variance that is not a Parameter. */
typedef struct { edf_node *gain, *bias; } edf_layer_norm_package;
typedef struct { edf_node *gain, *bias, *mean, *variance; } edf_batch_norm_package;
#define edf_layer_norm_params(n) edf_layer_norm_params_at(EDF_SLIDE__HERE, n)
#define edf_layer_norm(...)      edf_layer_norm_at(EDF_SLIDE__HERE, __VA_ARGS__)
#define edf_batch_norm_params(n) edf_batch_norm_params_at(EDF_SLIDE__HERE, n)
#define edf_batch_norm(...)      edf_batch_norm_at(EDF_SLIDE__HERE, __VA_ARGS__)
edf_layer_norm_package edf_layer_norm_params_at(const char *file, int line, int n);
edf_node *edf_layer_norm_at(const char *file, int line, edf_layer_norm_package Phi,
                            edf_node *x);
edf_batch_norm_package edf_batch_norm_params_at(const char *file, int line, int n);
edf_node *edf_batch_norm_at(const char *file, int line, edf_batch_norm_package Phi,
                            edf_node *x);

/* Conv: y[b,i,j,n] = W[DI,DJ,C,n] x[b,s*i+DI-p,s*j+DJ-p,C] - B[n]. The size of y is
   (X + 2p - size)/s + 1, rounded down, if the size of x is X.
     stride  (s, default 1): the step between two windows
     padding (p, default 0): the number of zeros on each side of x
   MaxPool, AvgPool: y[b,i,j,c] = max or mean of x[b,s*i+DI,s*j+DJ,c], for 1 to 3 dimensions.
   Residual: y = x + Conv(second, Relu(Conv(first, x))), of the same shape (He et al. 2015).
   Errors: a wrong rank or number of channels; a window longer than the padded x; an even size
   in a Residual. */
typedef struct {
  edf_node *w, *b;
  int stride, padding;
} edf_conv_package;
typedef struct { edf_conv_package first, second; } edf_residual_package;
#define edf_conv_params(size, n_in, n_out) \
  edf_conv_params_at(EDF_SLIDE__HERE, size, n_in, n_out)
#define edf_conv(...)                  edf_conv_at(EDF_SLIDE__HERE, __VA_ARGS__)
#define edf_max_pool(x, size, stride)  edf_max_pool_at(EDF_SLIDE__HERE, x, size, stride)
#define edf_avg_pool(x, size, stride)  edf_avg_pool_at(EDF_SLIDE__HERE, x, size, stride)
#define edf_residual_params(size, n)   edf_residual_params_at(EDF_SLIDE__HERE, size, n)
#define edf_residual(...)              edf_residual_at(EDF_SLIDE__HERE, __VA_ARGS__)
edf_conv_package edf_conv_params_at(const char *file, int line, int size, int n_in, int n_out);
edf_node *edf_conv_at(const char *file, int line, edf_conv_package Phi, edf_node *x);
edf_node *edf_max_pool_at(const char *file, int line, edf_node *x, int size, int stride);
edf_node *edf_avg_pool_at(const char *file, int line, edf_node *x, int size, int stride);
edf_residual_package edf_residual_params_at(const char *file, int line, int size, int n);
edf_node *edf_residual_at(const char *file, int line, edf_residual_package Phi, edf_node *x);

/* Attention: x[b,t,i] attends to itself, with several heads h (Vaswani et al. 2017):
     q[b,t,h,d] = WQ[I,h,d] x[b,t,I], and k and v in the same way
     P[b,h,t,s] = softmax_s (1/sqrt D) q[b,t,h,D] k[b,s,h,D]
     o[b,t,h,d] = P[b,h,t,S] v[b,S,h,d]
     y[b,t,j]   = WO[H,D,j] o[b,t,H,D]
   CausalAttention: the same, but P has the bound | s<=t.
   Errors: n is not a multiple of heads; the last index of x does not have size n. */
typedef struct { edf_node *wq, *wk, *wv, *wo; } edf_attention_package;
#define edf_attention_params(n, heads) edf_attention_params_at(EDF_SLIDE__HERE, n, heads)
#define edf_attention(...)             edf_attention_at(EDF_SLIDE__HERE, __VA_ARGS__)
#define edf_causal_attention(...)      edf_causal_attention_at(EDF_SLIDE__HERE, __VA_ARGS__)
edf_attention_package edf_attention_params_at(const char *file, int line, int n, int heads);
edf_node *edf_attention_at(const char *file, int line, edf_attention_package Phi, edf_node *x);
edf_node *edf_causal_attention_at(const char *file, int line, edf_attention_package Phi,
                                  edf_node *x);

/* Recurrent cells. Gate k is z[b,k,j] + Wh[I,k,j] h[b,I], and z comes from the input:
   z[b,k,j] = Wx[I,k,j] x[b,I] - B[k,j]. The new state is h' and c'.
     RNN     h' = tanh(gate 0)
     GRU     G0, G1 = sigmoid(gates 0, 1), R = tanh(gate 2), h' = (1-G1) h + G1 R
             Gate 2 has G0 h in place of h.
     LSTM    F, I, O = sigmoid(gates 0, 1, 2), R = tanh(gate 3), c' = F c + I R, h' = O tanh(c')
             The bias of F starts at -1. Biases are subtracted, so F starts open.
   One step of x[b,i]:             s = LSTM(Phi, x, s); the first s is { NULL, NULL }: zeros
   All steps of x[b,t,i]:          h[b,t,j] = Unroll(Phi, x), for the parameters of any cell
   (Cho et al. 2014; Hochreiter, Schmidhuber 1997; Gers et al. 2000.)
   Errors: the parameters of another cell; a wrong size of x; only one of h and c is NULL. */
typedef struct edf_cell edf_cell;
typedef struct { edf_node *wx, *wh, *b; const edf_cell *cell; } edf_recurrent_package;
typedef struct { edf_node *h, *c; } edf_recurrent_state;
extern const edf_cell edf_rnn_cell, edf_gru_cell, edf_lstm_cell;
#define edf_rnn_params(n_in, n) \
  edf_recurrent_params_at(EDF_SLIDE__HERE, &edf_rnn_cell, n_in, n)
#define edf_gru_params(n_in, n) \
  edf_recurrent_params_at(EDF_SLIDE__HERE, &edf_gru_cell, n_in, n)
#define edf_lstm_params(n_in, n) \
  edf_recurrent_params_at(EDF_SLIDE__HERE, &edf_lstm_cell, n_in, n)
#define edf_rnn(...)              edf_cell_at(EDF_SLIDE__HERE, &edf_rnn_cell, __VA_ARGS__)
#define edf_gru(...)              edf_cell_at(EDF_SLIDE__HERE, &edf_gru_cell, __VA_ARGS__)
#define edf_lstm(...)             edf_cell_at(EDF_SLIDE__HERE, &edf_lstm_cell, __VA_ARGS__)
#define edf_unroll(...)           edf_unroll_at(EDF_SLIDE__HERE, __VA_ARGS__)
edf_recurrent_package edf_recurrent_params_at(const char *file, int line, const edf_cell *cell,
                                              int n_in, int n);
edf_recurrent_state edf_cell_at(const char *file, int line, const edf_cell *cell,
                                edf_recurrent_package Phi, edf_node *x, edf_recurrent_state s);
edf_node *edf_unroll_at(const char *file, int line, edf_recurrent_package Phi, edf_node *x);
#ifdef __cplusplus
}
#endif

/* ---- Short names */
#ifndef EDF_NO_SHORT_NAMES
typedef edf_layer_norm_package LayerNormParams;
typedef edf_batch_norm_package BatchNormParams;
typedef edf_conv_package ConvParams;
typedef edf_residual_package ResidualParams;
typedef edf_attention_package AttentionParams;
typedef edf_recurrent_package RNNParams, GRUParams, LSTMParams;
typedef edf_recurrent_state RecurrentState;
#define LayerNorm       edf_layer_norm
#define BatchNorm       edf_batch_norm
#define Conv            edf_conv
#define MaxPool         edf_max_pool
#define AvgPool         edf_avg_pool
#define Residual        edf_residual
#define Attention       edf_attention
#define CausalAttention edf_causal_attention
#define RNN             edf_rnn
#define GRU             edf_gru
#define LSTM            edf_lstm
#define Unroll          edf_unroll
#endif

#endif /* EDF_LAYERS_4_H */

#if defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_LAYERS__IMPLEMENTED)
#define EDF_LAYERS__IMPLEMENTED
#ifdef __cplusplus
extern "C" {
#endif
/* ==== >>layers  Layers, from normalisation to recurrences ================================ */

/* Returns the last `rank` indices as a text: [i,j]. */
static const char *edf_layers__last_letters(const edf_slide__letters *l, int rank) {
  const char *text = rank ? "[" : "";
  for (int d = l->n - rank; d < l->n; d++)
    text = edf__text("%s%s%s", text, l->name[d], d + 1 < l->n ? "," : "]");
  return text;
}

/* ---- BatchNormalize   y[r,c] = q[c] (x[r,c] - m[c]), q[c] = 1/sqrt(v[c] + eps)
     x.grad[r,c] += q[c] (y.grad[r,c] - mean_r y.grad[r,c] - y[r,c] mean_r y[r,c] y.grad[r,c])
   c is the last index, and r runs over all others. In training, m and v are the mean and the
   variance of column c, and the running ones move towards them (v with divisor n-1). Otherwise
   m and v are the running ones, and x.grad[r,c] += q[c] y.grad[r,c]. The state holds eps, and
   1 if Forward ran in training. From EDF_SLIDE__HEAD on it holds q and two more arrays. These
   are m and v in Forward, and the means of y.grad and of y y.grad in Backward. ---- */
static void edf_layers__batch_normalize_shape(edf_node *y) {
  const edf_node *x = y->in[0], *m = y->in[1], *v = y->in[2];
  if (x->rank < 2)
    edf_slide__operands_error(y, "x needs a batch, and channels as its last index");
  y->rank = x->rank;
  memcpy(y->dim, x->dim, sizeof y->dim);
  int n = x->dim[x->rank - 1];
  if (m->rank != 1 || v->rank != 1 || m->dim[0] != n || v->dim[0] != n)
    edf_slide__operands_error(y, "the last index of x must be as long as the parameters");
}

/* Computes sum[c] = sum_r x[r,c] y[r,c] / rows, or sum_r x[r,c] / rows if y is NULL. */
static void edf_layers__column_means(edf_real *sum, const edf_real *x, const edf_real *y,
                                     size_t rows, size_t C) {
  memset(sum, 0, C * sizeof *sum);
  for (size_t r = 0; r < rows; r++)
    for (size_t c = 0; c < C; c++) sum[c] += y ? x[r * C + c] * y[r * C + c] : x[r * C + c];
  for (size_t c = 0; c < C; c++) sum[c] /= (edf_real)rows;
}

static void edf_layers__batch_normalize_forward(edf_node *y) {
  edf_node *mean = y->in[1], *variance = y->in[2];
  const edf_real *x = y->in[0]->value;
  size_t C = edf_slide__columns(y), rows = y->size / C;
  edf_real *state = (edf_real *)edf_state(y, (EDF_SLIDE__HEAD + 3 * C) * sizeof *state);
  edf_real *q = state + EDF_SLIDE__HEAD, eps = state[0];
  int training = edf.training;
  edf_real *m = training ? q + C : mean->value, *v = training ? m + C : variance->value;
  state[1] = (edf_real)training;
  if (training && rows < 2)
    edf_slide__operands_error(y,
                              "one row has no variance: training needs a batch of 2 or more");
  if (training) edf_layers__column_means(m, x, NULL, rows, C);
  for (size_t r = 0; r < rows; r++)
    for (size_t c = 0; c < C; c++) y->value[r * C + c] = x[r * C + c] - m[c];
  if (training) edf_layers__column_means(v, y->value, y->value, rows, C);
  for (size_t c = 0; training && c < C; c++) {
    edf_real rate = (edf_real)0.1, sample = (edf_real)rows / (edf_real)(rows - 1);
    mean->value[c] += rate * (m[c] - mean->value[c]);
    variance->value[c] += rate * (sample * v[c] - variance->value[c]);
  }
  if (training) edf_push(mean);
  if (training) edf_push(variance);
  for (size_t c = 0; c < C; c++) q[c] = 1 / (edf_real)sqrt((double)(v[c] + eps));
  for (size_t r = 0; r < rows; r++)
    for (size_t c = 0; c < C; c++) y->value[r * C + c] *= q[c];
}
static void edf_layers__batch_normalize_backward(edf_node *y) {
  edf_node *x = y->in[0];
  size_t C = edf_slide__columns(y), rows = y->size / C;
  edf_real *state = (edf_real *)y->state, *q = state + EDF_SLIDE__HEAD;
  edf_real *mean = q + C, *cross = mean + C;
  memset(mean, 0, 2 * C * sizeof *mean);
  if (state[1] != 0) {
    edf_layers__column_means(mean, y->grad, NULL, rows, C);
    edf_layers__column_means(cross, y->grad, y->value, rows, C);
  }
  for (size_t r = 0; r < rows; r++)
    for (size_t c = 0; c < C; c++) {
      size_t i = r * C + c;
      edf_addgrad(x, i, q[c] * (y->grad[i] - mean[c] - y->value[i] * cross[c]));
    }
}
static const edf_op edf_layers__batch_norm_op = { "BatchNorm",
  edf_layers__batch_normalize_shape,
  edf_layers__batch_normalize_forward, edf_layers__batch_normalize_backward, "y x m v",
  "y[b,k] = (x[b,k] - mean_B x[B,k]) / sqrt(variance_B x[B,k] + p)\n\n"
  "y[b,k] = (x[b,k] - m[k]) / sqrt(v[k] + p)",
  "x.grad[b,k] += (y.grad[b,k] - mean_B y.grad[B,k] - y[b,k] mean_B y[B,k] y.grad[B,k]) "
  "/ sqrt(variance_B x[B,k] + p)\n\nx.grad[b,k] += y.grad[b,k] / sqrt(v[k] + p)",
  EDF_TESTED, NULL };

/* ---- Normalisation. The gain and the running variance start at 1, all others at 0. */
edf_layer_norm_package edf_layer_norm_params_at(const char *file, int line, int n) {
  edf_layer_norm_package Phi;
  int package = ++edf.n_packages;
  Phi.gain = edf_parameter_at(file, line, "gain%d[%d]", package, n);
  Phi.bias = edf_parameter_at(file, line, "bias%d[%d]", package, n);
  edf_slide__set(Phi.gain, 1);
  return Phi;
}
edf_batch_norm_package edf_batch_norm_params_at(const char *file, int line, int n) {
  edf_layer_norm_package moved = edf_layer_norm_params_at(file, line, n);
  edf_batch_norm_package Phi = { moved.gain, moved.bias, NULL, NULL };
  Phi.mean = edf_parameter_at(file, line, "mean%d[%d]", edf.n_packages, n);
  Phi.variance = edf_parameter_at(file, line, "variance%d[%d]", edf.n_packages, n);
  Phi.mean->update = Phi.variance->update = edf_frozen;
  edf_slide__set(Phi.variance, 1);
  return Phi;
}

/* Builds y[b,j] = A[j] x[b,j] + B[j]. If `normalize` is "normalize_", x is normalised first. */
static edf_node *edf_layers__gained(const edf__site *at, const char *normalize, edf_node *gain,
                                    edf_node *x, edf_node *bias) {
  edf_node *in[3] = { gain, x, bias };
  edf_slide__check(at, x, "x");
  edf_slide__letters l = edf_slide__letters_of(x);
  const char *all = edf_layers__last_letters(&l, x->rank), *j = x->rank ? l.name[l.n - 1] : "j";
  return edf_slide__lines(at, edf__text("y%s = A[%s] %s%s x%s + B[%s]", all, j, normalize,
                                        *normalize ? j : "", all, j), 3, 3, in);
}
edf_node *edf_layer_norm_at(const char *file, int line, edf_layer_norm_package Phi,
                            edf_node *x) {
  edf__site at = { "LayerNorm", file, line };
  return edf_layers__gained(&at, "normalize_", Phi.gain, x, Phi.bias);
}
/* Stops unless p is a Parameter, which Forward may move. */
static void edf_layers__check_moved(const edf__site *at, const edf_node *p, const char *name) {
  edf_slide__check(at, p, name);
  if (p->kind != EDF_PARAMETER)
    edf__fail(*at, "%s is %s, expected a Parameter\n  %s", name,
              p->kind == EDF_INPUT ? "an Input" : "a CompNode", edf__show(p));
}
edf_node *edf_batch_norm_at(const char *file, int line, edf_batch_norm_package Phi,
                            edf_node *x) {
  edf__site at = { "BatchNorm", file, line };
  edf_node *in[3] = { x, Phi.mean, Phi.variance };
  edf_real eps = (edf_real)1e-5;
  edf_layers__check_moved(&at, Phi.mean, "Phi.mean");
  edf_layers__check_moved(&at, Phi.variance, "Phi.variance");
  x = edf_node_at(&edf_layers__batch_norm_op, file, line, 3, in, &eps, sizeof eps);
  return edf_layers__gained(&at, "", Phi.gain, x, Phi.bias);
}

/* ---- Convolutions and pools. Returns the number of window positions in dimension d of x. */
static int edf_layers__positions(const edf__site *at, const edf_node *x, int d, int size,
                                 int stride, int padding) {
  if (size < 1 || stride < 1 || padding < 0 || size > 10000 || stride > 10000 ||
      padding > 10000)
    edf__fail(*at, "window %d, stride %d, padding %d: expected at least 1, 1 and 0, and at "
              "most 10000", size, stride, padding);
  if (x->dim[d] + 2 * padding < size)
    edf__fail(*at, "the window has %d entries, but dimension %d of x has %d, and the padding "
              "is %d\n  %s", size, d, x->dim[d], padding, edf__show(x));
  return (x->dim[d] + 2 * padding - size) / stride + 1;
}

edf_conv_package edf_conv_params_at(const char *file, int line, int size, int n_in, int n_out) {
  edf_conv_package Phi = { NULL, NULL, 1, 0 };     /* stride 1, padding 0                     */
  int package = ++edf.n_packages;
  Phi.w = edf_parameter_at(file, line, "w%d[%d,%d,%d,%d]", package, size, size, n_in, n_out);
  Phi.b = edf_parameter_at(file, line, "b%d[%d]", package, n_out);
  edf_slide__init_for(Phi.w, (double)size * size * n_in);
  return Phi;
}

static edf_node *edf_layers__conv(const edf__site *at, edf_conv_package Phi, edf_node *x) {
  edf_node *in[3] = { Phi.w, x, Phi.b };
  int n[2], s = Phi.stride, p = Phi.padding;
  edf_slide__check(at, Phi.w, "Phi.w");
  edf_slide__check(at, x, "x");
  if (x->rank != 4)
    edf__fail(*at, "x needs a batch, two dimensions and channels\n  %s", edf__show(x));
  for (int d = 0; d < 2; d++) n[d] = edf_layers__positions(at, x, 1 + d, Phi.w->dim[d], s, p);
  const char *bounds = p ? edf__text(" | i<%d, j<%d", n[0], n[1]) : "";
  return edf_slide__lines(
      at, edf__text("y[b,i,j,n] = W[DI,DJ,C,n] x[b,%d*i+DI-%d,%d*j+DJ-%d,C] - B[n]%s", s, p, s,
                    p, bounds), 3, 3, in);
}
edf_node *edf_conv_at(const char *file, int line, edf_conv_package Phi, edf_node *x) {
  edf__site at = { "Conv", file, line };
  return edf_layers__conv(&at, Phi, x);
}

/* Builds y[b,i,j,c] = max_{DI<2,DJ<2} x[b,2*i+DI,2*j+DJ,c], for 1 to 3 dimensions. `over` is
   max or mean. */
static edf_node *edf_layers__pool(const edf__site *at, const char *over, edf_node *x, int size,
                                  int stride) {
  const char *left = "", *window = "", *read = "";
  edf_slide__check(at, x, "x");
  if (x->rank < 3 || x->rank > 5)
    edf__fail(*at, "x needs a batch, 1 to 3 dimensions and channels\n  %s", edf__show(x));
  for (int d = 1; d + 1 < x->rank; d++) {
    char i = (char)('h' + d);
    edf_layers__positions(at, x, d, size, stride, 0);
    left = edf__text("%s,%c", left, i);
    window = edf__text("%s%sD%c<%d", window, d > 1 ? "," : "", 'H' + d, size);
    read = edf__text("%s,%d*%c+D%c", read, stride, i, 'H' + d);
  }
  return edf_slide__lines(
      at, edf__text("y[b%s,c] = %s_{%s} x[b%s,c]", left, over, window, read), 1, 1, &x);
}
edf_node *edf_max_pool_at(const char *file, int line, edf_node *x, int size, int stride) {
  edf__site at = { "MaxPool", file, line };
  return edf_layers__pool(&at, "max", x, size, stride);
}
edf_node *edf_avg_pool_at(const char *file, int line, edf_node *x, int size, int stride) {
  edf__site at = { "AvgPool", file, line };
  return edf_layers__pool(&at, "mean", x, size, stride);
}

edf_residual_package edf_residual_params_at(const char *file, int line, int size, int n) {
  edf_residual_package Phi;
  if (size % 2 == 0)
    edf_stop("%s:%d: edf_residual_params: size %d: the shape stays the same for an odd one",
             file, line, size);
  Phi.first = edf_conv_params_at(file, line, size, n, n);
  Phi.second = edf_conv_params_at(file, line, size, n, n);
  Phi.first.padding = Phi.second.padding = size / 2;
  return Phi;
}
edf_node *edf_residual_at(const char *file, int line, edf_residual_package Phi, edf_node *x) {
  edf__site at = { "Residual", file, line };
  edf_node *h = edf_node1(&edf_relu_op, file, line, edf_layers__conv(&at, Phi.first, x));
  return edf_node2(&edf_add_op, file, line, x, edf_layers__conv(&at, Phi.second, h));
}

/* ---- Attention */
edf_attention_package edf_attention_params_at(const char *file, int line, int n, int heads) {
  static const char *const name[] = { "wq", "wk", "wv", "wo" };
  edf_node *w[4];
  if (heads < 1 || n < 1 || n % heads)
    edf_stop("%s:%d: edf_attention_params: %d heads do not divide %d numbers", file, line,
             heads, n);
  int package = ++edf.n_packages, d = n / heads;
  for (int k = 0; k < 4; k++)
    w[k] = edf_slide__init_for(
        k < 3 ? edf_parameter_at(file, line, "%s%d[%d,%d,%d]", name[k], package, n, heads, d)
              : edf_parameter_at(file, line, "%s%d[%d,%d,%d]", name[k], package, heads, d, n),
        n);
  edf_attention_package Phi = { w[0], w[1], w[2], w[3] };
  return Phi;
}

/* Builds the attention of x to itself. `bound` is empty or " | s<=t". */
static edf_node *edf_layers__attention(const edf__site *at, edf_attention_package Phi,
                                       edf_node *x, const char *bound) {
  edf_node *in[5] = { Phi.wq, x, Phi.wk, Phi.wv, Phi.wo };
  const char *text = edf__text("q[b,t,h,d] = WQ[I,h,d] x[b,t,I]\n"
                               "k[b,t,h,d] = WK[I,h,d] x[b,t,I]\n"
                               "v[b,t,h,d] = WV[I,h,d] x[b,t,I]\n"
                               "a[b,h,t,s] = (1/sqrt D) q[b,t,h,D] k[b,s,h,D]\n"
                               "P[b,h,t,s] = softmax_s a[b,h,t,s]%s\n"
                               "o[b,t,h,d] = P[b,h,t,S] v[b,S,h,d]\n"
                               "y[b,t,j] = WO[H,D,j] o[b,t,H,D]", bound);
  return edf_slide__lines(at, text, 5, 5, in);
}
edf_node *edf_attention_at(const char *file, int line, edf_attention_package Phi, edf_node *x) {
  edf__site at = { "Attention", file, line };
  return edf_layers__attention(&at, Phi, x, "");
}
edf_node *edf_causal_attention_at(const char *file, int line, edf_attention_package Phi,
                                  edf_node *x) {
  edf__site at = { "CausalAttention", file, line };
  return edf_layers__attention(&at, Phi, x, " | s<=t");
}

/* ---- Recurrent cells. The text of a cell computes all steps t. h' and C' are the new state,
   h and C the state of step t-1. z is the input's part of the gates. z does not depend on h, so
   one equation computes z for all steps. t is its first index, so z[t] lies in one piece. */
struct edf_cell {
  const char *name;                      /* "LSTM"                                            */
  int gates;                             /* number of gates                                   */
  const char *text;                      /* equations of all steps                            */
};

#define EDF_LAYERS__INPUT "z[t,b,k,j] = Wx[I,k,j] x[b,t,I] - B[k,j]\n"
#define EDF_LAYERS__GATES(n) EDF_LAYERS__INPUT \
  "G[b,t,k,j] = sigmoid(z[t,b,k,j] + Wh[I,k,j] h[b,t-1,I]) | k<" n "\n"

const edf_cell edf_rnn_cell = { "RNN", 1, EDF_LAYERS__INPUT
  "h'[b,t,j] = tanh(z[t,b,0,j] + Wh[I,0,j] h[b,t-1,I])" };
const edf_cell edf_gru_cell = { "GRU", 3, EDF_LAYERS__GATES("2")
  "m[b,t,j] = G[b,t,0,j] h[b,t-1,j]\n"
  "R[b,t,j] = tanh(z[t,b,2,j] + Wh[I,2,j] m[b,t,I])\n"
  "h'[b,t,j] = h[b,t-1,j] - G[b,t,1,j] h[b,t-1,j] + G[b,t,1,j] R[b,t,j]" };
const edf_cell edf_lstm_cell = { "LSTM", 4, EDF_LAYERS__GATES("3")
  "R[b,t,j] = tanh(z[t,b,3,j] + Wh[I,3,j] h[b,t-1,I])\n"
  "C'[b,t,j] = G[b,t,0,j] C[b,t-1,j] + G[b,t,1,j] R[b,t,j]\n"
  "h'[b,t,j] = G[b,t,2,j] tanh(C'[b,t,j])" };

/* Makes the Parameters of a cell. The bias of the LSTM's forget gate starts at -1. Biases are
   subtracted, so this gate starts open (Jozefowicz et al. 2015). */
edf_recurrent_package edf_recurrent_params_at(const char *file, int line, const edf_cell *cell,
                                              int n_in, int n) {
  edf_recurrent_package Phi;
  int package = ++edf.n_packages;
  Phi.cell = cell;
  Phi.wx = edf_parameter_at(file, line, "wx%d[%d,%d,%d]", package, n_in, cell->gates, n);
  Phi.wh = edf_parameter_at(file, line, "wh%d[%d,%d,%d]", package, n, cell->gates, n);
  Phi.b = edf_parameter_at(file, line, "b%d[%d,%d]", package, cell->gates, n);
  edf_slide__init_for(Phi.wx, n_in + n);
  edf_slide__init_for(Phi.wh, n_in + n);
  for (int j = 0; j < n && cell == &edf_lstm_cell; j++) Phi.b->value[j] = -1;
  edf_push(Phi.b);
  return Phi;
}

/* Builds one step of a cell from state s, or all steps if s is NULL. The text of all steps has
   h in place of h', since both are one tensor. The text of one step has no index t. */
static edf_recurrent_state edf_layers__run_cell(const edf__site *at, edf_recurrent_package Phi,
                                                edf_node *x, const edf_recurrent_state *s) {
  edf_node *in[6] = { Phi.wx, x, Phi.b, Phi.wh, s ? s->h : NULL, s ? s->c : NULL };
  int both = s && Phi.cell == &edf_lstm_cell;
  edf_recurrent_state next = { NULL, NULL };
  char text[512], *end = text;
  int outermost = edf_slide__begin_trees();
  edf_slide__slide *all = (edf_slide__slide *)edf_slide__tree(sizeof *all);
  for (const char *c = Phi.cell->text; *c; c++) {
    *end++ = *c;
    if (!s && strchr("hC", *c) && c[1] == '\'') c++;
    if (s && *c == ',' && c[1] == 't') c += c[2] == '-' ? 4 : 2;
    if (s && *c == '[' && c[1] == 't') c += 2;
  }
  *end = 0;
  edf_slide__read_over_nodes(all, at, text, s ? 5 + both : 4, 4, in);
  next.h = edf_slide__run_slide(all);
  if (both) next.c = edf_slide__line_of(all, "C'")->y;
  edf_slide__end_trees(all, outermost);
  return next;
}

edf_recurrent_state edf_cell_at(const char *file, int line, const edf_cell *cell,
                                edf_recurrent_package Phi, edf_node *x, edf_recurrent_state s) {
  edf__site at = { cell->name, file, line };
  edf_slide__check(&at, Phi.wx, "Phi.wx");
  if (cell != Phi.cell)
    edf__fail(at, "Phi has the parameters of another cell: %s\n  %s",
              Phi.cell ? Phi.cell->name : "none", edf__show(Phi.wx));
  if (cell == &edf_lstm_cell && !s.h != !s.c)
    edf__fail(at, "the state has one of h and c: expected both, or none for zeros");
  return edf_layers__run_cell(&at, Phi, x, &s);
}

edf_node *edf_unroll_at(const char *file, int line, edf_recurrent_package Phi, edf_node *x) {
  edf__site at = { "Unroll", file, line };
  if (!Phi.cell) edf__fail(at, "Phi was not made by its constructor");
  return edf_layers__run_cell(&at, Phi, x, NULL).h;
}
#ifdef __cplusplus
}
#endif
#endif /* EDF_LAYERS__IMPLEMENTED */
