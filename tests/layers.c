/* layers.c - layers against the text that defines them, which course_lines.c and random/ check:
   values and all gradients, under a random cotangent, and the gradient check. Then what a text
   does not say: ties, NaN, training and evaluation, batches that change. */

#include "plain.h"

enum { MOST = 20 };
static const double bound = EDF_REAL_IS_DOUBLE ? 1e-9 : 3e-5;
static const double accepted = EDF_REAL_IS_DOUBLE ? 1e-6 : 5e-3;   /* by the gradient check */

static double at(const edf_node *x, int i) { return (double)x->value[i]; }

/* Begins with these tensors, as plain.h declares them, and returns the first. */
static edf_node *begin(const char *tensors) {
  edf_clear();
  edf_seed(1);
  declare_plain(tensors);
  return slide.leaf->node;
}

/* Gives a Parameter of a layer the name that the text has for it, and numbers. */
static void rename_as(edf_node *p, const char *name) {
  edf_init_uniform(p, -1, 1);
  edf_name(p, name);
}

/* ---- The comparison of a layer with its text */

static void same(const char *what, const edf_node *x, const edf_real *a, const edf_real *b) {
  double largest = 1e-3;
  for (size_t i = 0; i < x->size; i++) largest = fmax(largest, fabs((double)b[i]));
  for (size_t i = 0; i < x->size; i++) {
    if (fabs((double)a[i] - (double)b[i]) <= bound * largest) continue;
    CHECK(0, "%s of %s, entry %zu: %.9g, expected %.9g", what, x->name, i, (double)a[i],
          (double)b[i]);
    return;
  }
}

static void agrees(edf_node *y, const char *text) {
  static edf_real grad[MOST][1024];
  static double error;
  edf_node *t = edf_equations("%s", text), *mine = JUDGED(y), *theirs = JUDGED(t), *x[MOST];
  int n = 0;
  for (int i = 0; i < edf.n_inputs; i++) x[n++] = edf.inputs[i];
  for (int i = 0; i < edf.n_parameters; i++) x[n++] = edf.parameters[i];
  edf_forward();
  CHECK(y->size == t->size && y->rank == t->rank, "%s: %zu entries", text, y->size);
  if (harness.bad) return;
  same("the value", y, y->value, t->value);
  edf_backward(mine);
  for (int k = 0; k < n; k++)
    if (x[k]->grad) memcpy(grad[k], x[k]->grad, x[k]->size * sizeof **grad);
  edf_backward(theirs);
  for (int k = 0; k < n; k++)
    if (x[k]->grad) same("the gradient", x[k], grad[k], x[k]->grad);
  CAPTURE(error = edf_gradcheck(y));
  CHECK(error < accepted && strstr(captured, "  ok  "), "%s: %g\n%s", text, error, captured);
}

/* ---- Layers of pictures */

static void convolution(int side, int size, int stride, int padding) {
  edf_node *x = begin(say("x[b,%d,%d,2]", side, side));
  edf_conv_package Phi = edf_conv_params(size, 2, 3);
  int m = (side + 2 * padding - size) / stride + 1;
  rename_as(Phi.w, "W");
  rename_as(Phi.b, "D");
  Phi.stride = stride;
  Phi.padding = padding;
  edf_node *y = edf_conv(Phi, x);
  agrees(y, edf_fmt("z[b,i,j,n] = W[K,L,C,n] x[b,%d*i+K-%d,%d*j+L-%d,C] - D[n] | i<%d, j<%d",
                    stride, padding, stride, padding, m, m));
}

TEST(convolutions) {
  convolution(5, 3, 1, 0);
  convolution(6, 3, 2, 1);
  convolution(9, 3, 2, 2);
  convolution(3, 1, 1, 0);
}

TEST(pooling) {
  edf_node *x = begin("x[b,6,6,2]");
  agrees(edf_max_pool(x, 2, 2),
         "z[b,i,j,c] = max_{k,l} x[b,2*i+k,2*j+l,c] | k<2, l<2, i<3, j<3");
  agrees(edf_max_pool(x, 3, 2),
         "z[b,i,j,c] = max_{k,l} x[b,2*i+k,2*j+l,c] | k<3, l<3, i<2, j<2");
  agrees(edf_avg_pool(x, 3, 3),
         "z[b,i,j,c] = 1/9 sum_{k,l} x[b,3*i+k,3*j+l,c] | k<3, l<3, i<2, j<2");
}

TEST(residual_blocks) {
  edf_node *x = begin("x[b,4,4,2]");
  edf_residual_package R = edf_residual_params(3, 2);
  rename_as(R.first.w, "W");
  rename_as(R.first.b, "D");
  rename_as(R.second.w, "V");
  rename_as(R.second.b, "E");
  agrees(edf_residual(R, x),
         "h[b,i,j,n] = relu(W[K,L,C,n] x[b,i+K-1,j+L-1,C] - D[n]) | i<4, j<4\n"
         "z[b,i,j,n] = x[b,i,j,n] + V[K,L,C,n] h[b,i+K-1,j+L-1,C] - E[n] | i<4, j<4");
}

/* The first of equal entries receives the gradient, in each form of the maximum. NaN wins. */
TEST(ties_pay_one_and_nan_wins) {
  enum { C = 20 };
  static edf_real data[4 * C];
  edf_node *x = begin("x[b,2,2,20]"), *both[2];
  edf_feed(x, data, 1);
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
  for (int i = 0; i < 4 * C; i++) data[i] = i / C == 2 ? (edf_real)NAN : (edf_real)i;
  edf_forward();
  for (int c = 0; c < C; c++) CHECK(at(both[0], c) != at(both[0], c), "%g", at(both[0], c));
}

/* ---- Normalisation */

TEST(normalisation) {
  edf_node *x = begin("x[b,4,5]");
  edf_layer_norm_package L = edf_layer_norm_params(5);
  CHECK(L.gain->value[4] == 1 && L.bias->value[4] == 0, "it does not begin with 1 and 0");
  rename_as(L.gain, "g");
  rename_as(L.bias, "c");
  agrees(edf_layer_norm(L, x),
         "m[b,t] = mean_j x[b,t,j]\n"
         "v[b,t] = mean_j (x[b,t,j] - m[b,t])^2\n"
         "z[b,t,j] = g[j] (x[b,t,j] - m[b,t]) / sqrt(v[b,t] + 1e-5) + c[j]");
}

/* The running statistics move by a tenth of the way, in training alone. In evaluation they are
   used. The gradient check and the optimisers do not change them. */
TEST(batch_norm) {
  edf_node *x = begin("x[b,4,5]");
  edf_batch_norm_package N = edf_batch_norm_params(5);
  rename_as(N.gain, "g");
  rename_as(N.bias, "c");
  edf_name(N.mean, "mu");
  edf_name(N.variance, "s");
  edf_node *y = edf_batch_norm(N, x);
  edf_forward();
  for (int j = 0; j < 5; j++) {
    double m = 0, v = 0;
    for (int r = 0; r < BATCH * 4; r++) m += at(x, r * 5 + j) / (BATCH * 4);
    for (int r = 0; r < BATCH * 4; r++) v += pow(at(x, r * 5 + j) - m, 2) / (BATCH * 4 - 1);
    CLOSE(N.mean->value[j], 0.1 * m, 1e-6, 1e-5);
    CLOSE(N.variance->value[j], 0.9 + 0.1 * v, 1e-6, 1e-5);
  }
  agrees(y, "m[j] = mean_{b,t} x[b,t,j]\n"
            "v[j] = mean_{b,t} (x[b,t,j] - m[j])^2\n"
            "z[b,t,j] = g[j] (x[b,t,j] - m[j]) / sqrt(v[j] + 1e-5) + c[j]");
  edf_real before[5];
  memcpy(before, N.mean->value, sizeof before);
  edf_sgd(1);
  edf_l2(1);
  CHECK(!memcmp(before, N.mean->value, sizeof before) && !N.mean->grad, "SGD moved it");
  edf.training = 0;
  agrees(y, "z[b,t,j] = g[j] (x[b,t,j] - mu[j]) / sqrt(s[j] + 1e-5) + c[j]");
  CHECK(!memcmp(before, N.mean->value, sizeof before), "evaluation moved the running mean");
  edf.training = 1;
}

/* ---- Sequences */

TEST(attention) {
  static const char *const mask[] = { "", " | s<=t" };
  for (int causal = 0; causal < 2; causal++) {
    edf_node *x = begin("x[b,4,6]");
    edf_attention_package A = edf_attention_params(6, 2);
    edf_node *weights[] = { A.wq, A.wk, A.wv, A.wo };
    for (int k = 0; k < 4; k++) {
      CHECK(at(weights[k], 0) != at(weights[k], 1), "it begins equal");
      rename_as(weights[k], edf_fmt("W%c", "qkvo"[k]));
    }
    edf_node *y = causal ? edf_causal_attention(A, x) : edf_attention(A, x);
    agrees(y, edf_fmt("q[b,t,h,d] = Wq[I,h,d] x[b,t,I]\n"
                      "k[b,t,h,d] = Wk[I,h,d] x[b,t,I]\n"
                      "v[b,t,h,d] = Wv[I,h,d] x[b,t,I]\n"
                      "a[b,h,t,s] = softmax_s q[b,t,h,D] k[b,s,h,D] / sqrt(3)%s\n"
                      "o[b,t,h,d] = a[b,h,t,S] v[b,S,h,d]\n"
                      "z[b,t,j] = Wo[H,D,j] o[b,t,H,D]", mask[causal]));
  }
}

#define GATE(k) "(U[I," #k ",j] x[b,t,I] + V[K," #k ",j] h[b,t-1,K] - D[" #k ",j])"

TEST(cells) {
  static const edf_cell *const cell[] = { &edf_rnn_cell, &edf_gru_cell, &edf_lstm_cell };
  static const char *const text[] = {
    "h[b,t,j] = tanh" GATE(0),
    "f[b,t,j] = sig" GATE(0) "\n"
    "o[b,t,j] = sig" GATE(1) "\n"
    "r[b,t,j] = f[b,t,j] h[b,t-1,j]\n"
    "h[b,t,j] = (1 - o[b,t,j]) h[b,t-1,j]"
    " + o[b,t,j] tanh(U[I,2,j] x[b,t,I] + V[K,2,j] r[b,t,K] - D[2,j])",
    "c[b,t,j] = sig" GATE(0) " c[b,t-1,j] + sig" GATE(1) " tanh" GATE(3) "\n"
    "h[b,t,j] = sig" GATE(2) " tanh(c[b,t,j])",
  };
  for (int k = 0; k < 3; k++) {
    edf_node *x = begin("x[b,4,2]");
    edf_recurrent_package Phi = edf_recurrent_params_at(__FILE__, __LINE__, cell[k], 2, 3);
    edf_recurrent_state s = { NULL, NULL };
    for (int j = 0; j < 3; j++)
      CHECK(at(Phi.b, j) == (k == 2 ? -1 : 0), "a bias begins at %g", at(Phi.b, j));
    rename_as(Phi.wx, "U");
    rename_as(Phi.wh, "V");
    rename_as(Phi.b, "D");
    edf_node *all = edf_unroll(Phi, x);
    agrees(all, text[k]);
    for (int t = 0; t < 4; t++)                              /* step by step */
      s = edf_cell_at(__FILE__, __LINE__, cell[k], Phi,
                      edf_einsum(edf_fmt("y[b,i] = x[b,%d,i]", t), x), s);
    edf_forward();
    for (int i = 0; i < BATCH * 3; i++)
      CLOSE(s.h->value[i], all->value[(i / 3 * 4 + 3) * 3 + i % 3], 1e-6, 1e-5);
  }
}

/* The names of its line may be those of operands too. */
TEST(recurrences) {
  edf_node *x = begin("x[b,4,2] Whh[3,3] Wxh[3,2] D[3]");
  agrees(edf_recurrence("h[b,t,j] = tanh(h_in[j,I] h[b,t+1,I] + h_next[j,K] x[b,t,K]"
                        " - h__in[j])", edf_find("Whh"), edf_find("Wxh"), x, edf_find("D")),
         "u[b,t,j] = tanh(Whh[j,I] u[b,t+1,I] + Wxh[j,K] x[b,t,K] - D[j])");
}

TEST(embed) {
  edf_node *W = begin("W[5,3] k[b,4]=5 x[b,4,3]"), *k = edf_find("k");
  agrees(edf_embed(W, k), "z[b,t,j] = W[k[b,t],j]");
  agrees(edf_text("y[r[b,t],j] = u[b,t,j] | r<5", k, edf_find("x")),
         "z[k[b,t],j] = x[b,t,j] | k<5");
}

/* ---- Rows that were merged are split again. A shape without a batch does not get one. */
TEST(merged_and_split) {
  edf_node *x = begin("x[b,4,5] p[6,4]"), *p = edf_find("p");
  edf_node *rows = edf_reshape(x, "rows[n,5]"), *split = edf_reshape(rows, "again[b,4,5]");
  agrees(split, "z[b,t,j] = x[b,t,j]");
  CHECK(rows->dim[0] == BATCH * 4 && split->dim[0] == BATCH, "%d rows", split->dim[0]);
  edf_node *fixed = edf_reshape(p, "y[n,8]");
  CHECK(fixed->dim[0] == 3 && !fixed->batched, "%d rows of 24 numbers", fixed->dim[0]);
  edf_feed(x, x->value, 1);                                  /* another batch */
  edf_forward();
  CHECK(rows->dim[0] == 4, "%d rows of a batch of 1", rows->dim[0]);
}

/* A mean over the batch follows the batch, in each way to write it. So do nodes that depend on
   no Input and run once for each batch size: here b + 1, and B. */
TEST(a_mean_over_the_batch_follows_it) {
  static edf_real numbers[8] = { 3, 1, 2, 5, -1, 4, 0, 7 };
  static const char *const text[] = { "y = (1/B) x[B,J]", "s[j] = mean_b x[b,j]",
    "s[j] = sum_b x[b,j] / B", "y = 2 mean_{b,j} x[b,j]",
    "s[j] = mean_b (x[b,j] exp(0 x[b,j]) cos(0 x[b,j]))",
    "s[j] = sum_{b,c} x[b,j] exp(0 x[c,j]) / (B C)",
    "z[b,j] = (b + 1) x[b,j] + 10 B\ns[j] = mean_b (z[b,j] - 10 B) / (b + 1)" };
  static const int batch[] = { 3, 3, 4, 1, 2, 4, 3 };
  edf_clear();
  for (size_t k = 0; k < sizeof text / sizeof *text; k++) {
    edf_node *x = edf_input("x[b,2]"), *y = edf_equations("%s", text[k]);
    if (y->rank) y = edf_sum(y);
    for (size_t i = 0; i < sizeof batch / sizeof *batch; i++) {
      int n = batch[i];
      double sum = 0;
      for (int e = 0; e < 2 * n; e++) sum += (double)numbers[e];
      edf_feed(x, numbers, n);
      edf_forward();
      CLOSE(edf_value(y)[0], sum / n, 1e-6, 1e-6);
    }
    edf_clear();
  }
}

int main(void) { return harness_main(); }
