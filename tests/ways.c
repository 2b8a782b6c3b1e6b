/* Two ways: what edf_print_equations writes of models of every kind, read into an empty graph,
   gives the same nodes, and after 100 steps the same bits.

   Built as: float double none sanitized */
#define HARNESS_CATCH
#include "edf.h"
#include "harness.h"
#include "texts.h"

enum { MOST = 1 << 17, STEPS = 100 };
static char text[2][MOST];
static edf_real start[MOST], numbers[2][MOST];

static void print_to(char *to) {
  FILE *f = tmpfile();
  edf_print_equations(f);
  rewind(f);
  to[fread(to, 1, MOST - 1, f)] = 0;
  fclose(f);
}

/* All parameters, into or out of an array; how many numbers there are. */
static size_t parameters(edf_real *at, int into) {
  size_t n = 0;
  for (int i = 0; i < edf.n_parameters; n += edf.parameters[i++]->size) {
    Parameter *p = edf.parameters[i];
    if (into) memcpy(at + n, edf_value(p), p->size * sizeof *at);
    else memcpy(p->value, at + n, p->size * sizeof *at);
    edf_push(p);
  }
  return n;
}

static size_t train(edf_real *to) {
  CompNode *loss = edf.compnodes[edf.n_compnodes - 1];
  edf_seed(5);
  for (int step = 0; step < STEPS; step++) {
    Forward();
    if (!loss->needs_grad && step) continue;
    TRY(edf_backward(loss));
    if (!panicked) edf_adam((edf_real)0.003, (edf_real)0.9, (edf_real)0.99, (edf_real)1e-8);
  }
  size_t n = parameters(to, 1);
  memcpy(to + n, edf_value(loss), loss->size * sizeof *to);
  return n + loss->size;
}

/* The graph, printed, read, and trained both times. */
static void both_ways(const char *what) {
  const edf_real *data[16];
  int rows[16], n_data = edf.n_inputs;
  for (int i = 0; i < n_data; i++) {
    data[i] = edf.inputs[i]->value;
    rows[i] = edf.inputs[i]->fed;
  }
  parameters(start, 1);
  print_to(text[0]);
  size_t n = train(numbers[0]);
  edf_clear();
  TRY(edf_equations_at("text.c", 1, "%s", text[0]));
  CHECK(!panicked, "%s: %s\n%s", what, caught, text[0]);
  if (panicked) { edf_clear(); return; }
  print_to(text[1]);
  CHECK(!strcmp(text[0], text[1]), "%s:\n%s\nis read as\n%s", what, text[0], text[1]);
  parameters(start, 0);
  for (int i = 0; i < n_data; i++) {
    if (rows[i] >= 0) edf_feed(edf.inputs[i], data[i], rows[i]);
    edf_want_grad(edf.inputs[i]);
  }
  size_t again = train(numbers[1]);
  CHECK(n == again && !memcmp(numbers[0], numbers[1], n * sizeof **numbers),
        "%s: other numbers from\n%s", what, text[0]);
  edf_clear();
}

static void the_courses_lines(void) {
  for (size_t k = 0; k < sizeof slides / sizeof *slides; k++) {
    edf_seed(k);
    declare(slides[k].tensors, 3);
    edf_equations("%s", slides[k].text);
    both_ways(slides[k].text);
  }
}

/* ---- Models of every family, by constructors: what they feed, and what they build. */
static Input *x, *y;
static void feeds(const char *list, int batch) {
  edf_seed(3);
  declare(list, batch);
  x = edf_find("x");
  y = strstr(list, "y") ? edf_find("y") : NULL;
}

static void mlp(void) {
  feeds("x[b,6] y[b]=4", 5);
  CompNode *h = Tanh(Affine(edf_affine_params(6, 8), x));
  h = Relu(Affine(edf_affine_params(8, 8), Dropout(h, 0.3)));
  LogLoss(Softmax(Affine(edf_affine_params(8, 4), h)), y);
}
static void lenet(void) {
  feeds("x[b,8,8,2] y[b]=3", 4);
  ConvParams one = edf_conv_params(2, 3, 2, 4), two = edf_conv_params(2, 3, 4, 4);
  one.padding = 1;
  CompNode *h = MaxPool(Relu(Conv(one, x)), 2, 2);
  h = AvgPool(LeakyRelu(Conv(two, h), (edf_real)0.1), 2, 1);
  h = Reshape(h, "flat[b,4]");
  edf_name(SoftmaxLogLoss(Affine(edf_affine_params(4, 3), h), y), "loss");
}
static void autoencoder(void) {
  feeds("x[b,4,4,2]", 3);
  ConvParams one = edf_conv_params(2, 2, 2, 3), two = edf_conv_params(2, 2, 2, 3);
  one.stride = two.stride = 2;
  edf_batch_norm_package norm = edf_batch_norm_params(3);
  CompNode *h = edf_batch_norm(norm, Conv(one, x));
  ConvParams back = edf_conv_params(2, 2, 3, 2);
  back.stride = 2;
  MSE(TransposedConv(back, Gelu(h)), x);
  (void)two;
}
static void lstm(void) {
  feeds("x[b,4,3] y[b,4]=5", 3);
  CompNode *h = Unroll(edf_lstm_params(3, 6), x);
  h = Unroll(edf_gru_params(6, 6), h);
  h = Unroll(edf_ugrnn_params(6, 6), h);
  h = Unroll(edf_rnn_params(6, 6), h);
  Mean(SoftmaxLogLoss(Affine(edf_affine_params(6, 5), h), y));
}
static void long_lstm(void) {
  feeds("x[b,40,2] y[b]", 2);
  CompNode *h = Unroll(edf_lstm_params(2, 3), x);
  CompNode *s = Affine(edf_affine_params(3, 1), Select("h[b,T,j]", h, 39));
  Mean(BCELoss(Reshape(s, "s[b]"), Sigmoid(y)));
}
static void gpt(void) {
  feeds("x[b,5]=7 y[b,5]=7 m[b,5]=2", 3);
  Parameter *E = edf_parameter("E[7,6]"), *P = edf_parameter("P[5,6]");
  edf_init_normal(E, 0, (edf_real)0.3);
  CompNode *h = Add(Embed(E, x), P);
  for (int l = 0; l < 2; l++) {
    CompNode *a = CausalAttention(edf_attention_params(6, 2),
                                  LayerNorm(edf_layer_norm_params(6), h));
    h = Add(h, Dropout(a, 0.1));
    a = Gelu(Affine(edf_affine_params(6, 12), LayerNorm(edf_layer_norm_params(6), h)));
    h = Add(h, Affine(edf_affine_params(12, 6), a));
  }
  CompNode *s = edf_einsum("s[b,t,w] = E[w,J] h[b,t,J]", E, h);
  edf_name(MaskedMean(SoftmaxLogLoss(s, y), edf_find("m")), "mean_loss");
}
static void attention(void) {
  feeds("x[b,5,6]", 3);
  CompNode *h = Attention(edf_attention_params(6, 3), x);
  h = Highway(edf_highway_params(6), h);
  h = Residual(edf_residual_params(1, 3, 6), h);
  h = NormalizeOver("h[b,T,j]", h, (edf_real)1e-3);
  Sum(VarianceOver("h[b,T,j]", h));
}
static void functions(void) {
  feeds("x[b,4] y[b,4] k[b]=3 c", 3);
  Parameter *w = edf_parameter("w[4]"), *exp_ = edf_parameter("exp"), *b = edf_parameter("b");
  edf_init_uniform(w, (edf_real)0.5, 1);
  edf_init_uniform(exp_, (edf_real)0.5, 1);
  CompNode *h = Mul(x, w);
  h = Add(Sin(h), Cos(Mul(h, exp_)));
  h = Clamp(Pow(Add(Abs(h), w), (edf_real)1.7), (edf_real)-0.1, (edf_real)1.25);
  h = Div(Exp(h), Softplus(Sqrt(Square(Mul(h, b)))));
  h = Min(Max(h, w), Log(Add(h, Exp(w))));
  h = edf_name(Pow(h, 2), "my node!");
  h = edf_name(Sub(Log(Softmax(h)), LogSoftmax(h)), "h");
  h = edf_name(Add(h, MeanOver("q[B,j]", y)), "h");
  h = edf_name(Mul(h, SampleVarianceOver("q[B,j]", y)), "");
  CompNode *t = edf_name(Sum(MaxOver("q[b,J]", h)), "t");
  h = edf_name(edf_einsum("z[b,t] = t x[b,t] | t<3", t, h), "sum_b");
  t = edf_name(Sum(h), "sum_b");
  Mean(LogLoss(Softmax(Mul(SoftmaxOver("h[b,T]", h), t)), edf_find("k")));
}
static void moves(void) {
  feeds("x[b,3,4] y[b,4]", 3);
  Parameter *W = edf_parameter("W[3,4]"), *V = edf_parameter("W[3,4]");
  edf_init_uniform(W, -1, 1);
  edf_init_uniform(V, -1, 1);
  CompNode *a = Mul(x, W), *c = Select("a[b,T,j]", Mul(x, V), 1);
  CompNode *h = Concat("h[b,T,j]", a, c, x, c);
  h = Concat("h[b,t,J]", h, Slice("h[b,t,J]", h, 1, 2));
  h = SumOver("q[b,i] = h[b,2*i+DI,J] | DI<2, i<3", h);
  h = LogSoftmaxOver("h[B,i,k]", Reshape(h, "r[b,3,1]"));
  Sum(SoftmaxOver("s[i,j,K] | K<=j", edf_einsum("s[i,j,k] = W[i,A] W[j,A] V[k,A]", W, V)));
  Mean(h);
}

static void models(void) {
  static void (*const all[])(void) = { mlp, lenet, autoencoder, lstm, long_lstm, gpt, attention,
                                       functions, moves };
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    all[k]();
    both_ways("a model");
  }
}

int main(void) {
  RUN(the_courses_lines);
  RUN(models);
  return harness_report();
}
