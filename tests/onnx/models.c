/* models.c - exports the models of the README with a batch of 3, and gives them 5 rows too. */
#include "export.h"
#include "edf/slide.h"
#include "edf/layers.h"

enum { T = 10, D = 16, SYMBOLS = 7 };
static edf_real data[20000];

/* Feeds x with numbers, or with class numbers below `most`. */
static void feed(Input *x, int rows, int most) {
  size_t n = (size_t)rows;
  for (int d = 1; d < x->rank; d++) n *= (size_t)x->dim[d];
  for (size_t i = 0; i < n; i++)
    data[i] = most ? (edf_real)edf_below(most) : edf_uniform(-1, 1);
  edf_feed(x, data, rows);
}
static void export_model(const char *name, Input *x, int most, CompNode *y) {
  edf.training = 0;
  feed(x, 3, most);
  edf_forward_to(y);
  export_node(name, y);
  feed(x, 5, most);                              /* the file of 3 rows, with 5 */
  edf_forward_to(y);
  export_rows(".5", y);
  edf_clear();
}

static void mlp(void) {
  Input *x = edf_input("x[b,20]");
  AffineParams Phi1 = edf_affine_params(20, 8), Phi2 = edf_affine_params(8, 4);
  export_model("MLP", x, 0, Softmax(Affine(Phi2, Dropout(Tanh(Affine(Phi1, x)), 0.5))));
}
static void lenet(void) {
  Input *x = edf_input("x[b,784]");
  ConvParams first = edf_conv_params(5, 1, 4), second = edf_conv_params(5, 4, 6);
  AffineParams Phi = edf_affine_params(4 * 4 * 6, 10);
  CompNode *L1 = Relu(MaxPool(Conv(first, Reshape(x, "L0[b,28,28,1]")), 2, 2));
  CompNode *L2 = Relu(MaxPool(Conv(second, L1), 2, 2));
  export_model("LeNet", x, 0, Affine(Phi, Reshape(L2, "flat[b,96]")));
}
static void lstm(void) {
  Input *x = edf_input("x[b,%d]", T);
  Parameter *E = edf_parameter("E[%d,%d]", SYMBOLS, D);
  LSTMParams cell = edf_lstm_params(D, D);
  AffineParams out = edf_affine_params(D, SYMBOLS);
  edf_init_normal(E, 0, 1);
  export_model("LSTM", x, SYMBOLS, Affine(out, Unroll(cell, Embed(E, x))));
}
static void forms_of_papers(void) {
  Input *x = edf_input("x[b,3]");
  export_model("the forms of papers", x, 0, Equations(
      "w[b,i] = 1 + x[b,i]^2\n"
      "a[b,i] = silu(x[b,i]) + erf(x[b,i]) + log1p(w[b,i]) + expm1(x[b,i]) + w[b,i]^x[b,i]\n"
      "c[b,i] = where(x[b,i] > 0, a[b,i], sqrt(w[b,i]) + clamp(x[b,i], -0.5, 0.5))\n"
      "r[b] = prod_i(x[b,i]) + norm_i(x[b,i]) + std_i(x[b,i]) + logsumexp_i(x[b,i])\n"
      "k[b] = argmax_i x[b,i]\n"
      "y[b,t] = r[b] + sum_s (c[b,s] + w[b,k[b]+s-1]) | t-1<=s, s!=t, t<3, s<3, s!=k[b]"));
}
static void gpt(void) {
  Input *x = edf_input("x[b,%d]", T);
  Parameter *E = edf_parameter("E[%d,%d]", SYMBOLS, D);
  Parameter *places = edf_parameter("p[%d,%d]", T, D);
  edf_init_normal(E, 0, 1);
  edf_init_normal(places, 0, 1);
  CompNode *h = Add(Embed(E, x), places);
  for (int l = 0; l < 2; l++) {
    LayerNormParams norm1 = edf_layer_norm_params(D), norm2 = edf_layer_norm_params(D);
    AttentionParams heads = edf_attention_params(D, 4);
    AffineParams up = edf_affine_params(D, 4 * D), down = edf_affine_params(4 * D, D);
    h = Add(h, CausalAttention(heads, LayerNorm(norm1, h)));
    h = Add(h, Affine(down, Gelu(Affine(up, LayerNorm(norm2, h)))));
  }
  export_model("GPT", x, SYMBOLS, Affine(edf_affine_params(D, SYMBOLS), h));
}
static void losses(void) {
  Input *x = edf_input("x[b,5]"), *y = edf_input("y[b]");
  edf_real labels[] = { 4, 0, 1, 2, 3 };
  CompNode *s = Affine(edf_affine_params(5, 5), x);
  CompNode *h = edf_clamp(s, (edf_real)-0.5, (edf_real)0.5);
  CompNode *loss = Add(Add(LogLoss(Softmax(s), y), SoftmaxLogLoss(h, y)), MSE(s, h));
  edf_feed(y, labels, 3);
  feed(x, 3, 0);
  edf_forward_to(loss);
  export_node("losses", loss);
  loss = BCELoss(edf_text("n[b,i] = normalize_i(s[b,i], 0.01)", s), x);
  edf_forward_to(loss);
  export_node("normalize with an epsilon, and BCELoss", loss);
  edf_clear();
}

int main(void) {
  mlp();
  lenet();
  lstm();
  forms_of_papers();
  gpt();
  losses();
  return 0;
}
