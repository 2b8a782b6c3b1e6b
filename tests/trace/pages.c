/* Trace pages for tests/trace.sh: pages DIRECTORY writes sqrt.html (example 01), mlp.html (a
   small example 03), mnist.html (the whole one), steps.html (three of its steps: a part of each
   tensor), attention.html, lstm.html with a NaN in its input, and zoo.html, all sorts of
   equations and names. */
#define EDF_IMPLEMENTATION
#include "edf.h"
#include "edf_lab.h"

static const char *directory;

static const char *in(const char *name) {
  static char path[512];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return path;
}

/* Example 01: L = sqrt(x^2 + y^2). */
static void sqrt_page(void) {
  edf_real three = 3, four = 4;
  Input *x = edf_want_grad(edf_input("x")), *y = edf_want_grad(edf_input("y"));
  CompNode *u = edf_name(Square(x), "u"), *v = edf_name(Square(y), "v");
  CompNode *r = edf_name(Add(u, v), "r"), *L = edf_name(Sqrt(r), "L");
  edf_feed(x, &three, 1);
  edf_feed(y, &four, 1);
  edf_trace_begin(in("sqrt.html"));
  Forward();
  Backward(L);
  edf_trace_end();
  edf_clear();
}

/* Something like a digit: a bright ring in the middle of 28 x 28 dark pixels. */
static void draw_digits(edf_real *x, edf_real *y, int n) {
  for (int b = 0; b < n; b++) {
    double radius = 3 + b % 7;
    y[b] = (edf_real)(b % 10);
    for (int i = 0; i < 784; i++) {
      double far = sqrt(pow(i / 28 - 14, 2) + pow(i % 28 - 13.5, 2)) - radius;
      x[b * 784 + i] = (edf_real)(far * far < 4 ? 1 - far * far / 4 : 0);
    }
  }
}

/* Example 03: 784-64-10, a batch of 64; `hidden` less for a small one. */
static void mlp_page(const char *name, int hidden, int batch, int steps) {
  static edf_real images[64 * 784], labels[64];
  draw_digits(images, labels, batch);
  Input *x = edf_input("x[b,784]"), *y = edf_input("y[b]");
  AffineParams Phi1 = edf_affine_params(784, hidden), Phi2 = edf_affine_params(hidden, 10);
  CompNode *h = edf_name(Sigmoid(edf_name(Affine(Phi1, x), "s")), "h");
  CompNode *Q = edf_name(Softmax(edf_name(Affine(Phi2, h), "t")), "Q");
  CompNode *ell = edf_name(LogLoss(Q, y), "ell");
  edf_feed(x, images, batch);
  edf_feed(y, labels, batch);
  edf_trace_begin(in(name));
  for (int i = 0; i < steps; i++) {
    Forward();
    Backward(ell);
    SGD((edf_real)0.5);
  }
  edf_trace_end();
  edf_clear();
}

/* Two heads of causal attention over four times, with a residual sum. */
static void attention_page(void) {
  static edf_real numbers[2 * 4 * 6];
  for (int i = 0; i < 48; i++) numbers[i] = edf_normal(0, 1);
  Input *x = edf_input("x[b,4,6]");
  AttentionParams Phi = edf_attention_params(6, 2);
  CompNode *a = CausalAttention(Phi, x);
  CompNode *r = edf_name(Add(x, a), "r");
  CompNode *L = edf_name(Mean(Square(r)), "L");
  edf_feed(x, numbers, 2);
  edf_trace_begin(in("attention.html"));
  Forward();
  Backward(L);
  SGD((edf_real)0.1);
  edf_trace_end();
  edf_clear();
}

/* Five times; row 1 is not a number at the third. */
static void lstm_page(void) {
  static edf_real numbers[2 * 5 * 3];
  for (int i = 0; i < 30; i++) numbers[i] = edf_normal(0, 1);
  numbers[15 + 2 * 3] = (edf_real)NAN;
  Input *x = edf_input("x[b,5,3]");
  CompNode *L = edf_name(Mean(Square(Unroll(edf_lstm_params(3, 4), x))), "L");
  edf_feed(x, numbers, 2);
  edf_trace_begin(in("lstm.html"));
  Forward();
  Backward(L);
  SGD((edf_real)0.1);
  edf_trace_end();
  edf_clear();
}

static void half_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = y->in[0]->value[i] / 2;
}
static void half_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, y->grad[i] / 2);
}

/* Offsets, bounds, strides, a maximum, a mean, a diagonal, a constant place, a transposed
   convolution, a node used twice, a custom node, and names that must be escaped. */
static void zoo_page(void) {
  static edf_real numbers[2 * 6 * 6];
  for (int i = 0; i < 72; i++) numbers[i] = edf_normal(0, 1);
  Input *x = edf_name(edf_input("x[b,6,6]"), "</script><b>\"x\" & \xc3\xa9");
  Parameter *W = edf_parameter("W[3,3]"), *V = edf_parameter("V[2]");
  Parameter *D = edf_parameter("D[6]");
  edf_init_normal(W, 0, 1);
  edf_init_normal(V, 0, 1);
  edf_init_normal(D, 0, 1);
  CompNode *c = edf_name(
      Einsum("y[b,i,j] = 0.5 W[DI,DJ] x[b,i+DI-1,j+DJ-1] - D[j] | i<6, j<6", W, x, D), "c");
  CompNode *p = edf_name(MaxOver("y[b,i,j] = x[b,2*i+DI,2*j+DJ] | DI<2, DJ<2", c), "p");
  CompNode *u = edf_name(Einsum("y[b,2*i+DI,j] = V[DI] p[b,i,j]", V, p), "u");
  CompNode *d = Einsum("d[b] = x[b,0,0] p[b,I,I]", c, p);        /* d@3, beside another d */
  d = Add(Tanh(d), Sigmoid(Einsum("d[b] = 0.5 e[b] e[b]", d)));
  d = Min(Max(Clamp(Pow(d, 2), (edf_real)-0.5, 1), Sin(d)), Cos(Abs(d)));
  CompNode *m = edf_name(MeanOver("x[b,I,J]", Mul(u, u)), "m");
  CompNode *h = edf_name(edf_compnode("Half", half_forward, half_backward, m), "h");
  CompNode *L = edf_name(Sum(Add(d, h)), "L");
  edf_feed(x, numbers, 2);
  edf_trace_begin(in("zoo.html"));
  for (int i = 0; i < 2; i++) {
    Forward();
    Backward(L);
    Adam((edf_real)0.01, (edf_real)0.9, (edf_real)0.999, (edf_real)1e-8);
  }
  edf_trace_end();
  edf_write_dot(in("zoo.dot"));
  edf_clear();
}

/* Tensors that share a name, images with one channel, a loss of scores, and momentum. */
static void twins_page(void) {
  static edf_real numbers[2 * 5 * 4], others[2 * 3], classes[] = { 1, 0 };
  for (int i = 0; i < 40; i++) numbers[i] = edf_normal(0, 1);
  for (int i = 0; i < 6; i++) others[i] = edf_normal(0, 1);
  Input *image = edf_input("image[b,5,4,1]"), *y = edf_input("y[b]");
  Input *x = edf_input("x[b,3]"), *other = edf_name(edf_input("z[b,3]"), "x");
  Parameter *W = edf_parameter("W[2,2,1,3]"), *h = edf_parameter("h[3]");
  edf_init_normal(W, 0, 1);
  edf_init_normal(h, 0, 1);
  CompNode *c = Relu(Einsum("y[b,i,j,k] = W[DI,DJ,C,k] x[b,i+DI,j+DJ,C]", W, image));
  CompNode *p = edf_name(MeanOver("m[b,k] = c[b,I,J,k]", c), "h");
  CompNode *s = edf_name(Add(edf_name(Tanh(Mul(p, h)), "h"), Div(x, other)), "h");
  CompNode *ell = SoftmaxLogLoss(edf_name(Tanh(s), "h"), y);
  edf_feed(image, numbers, 2);
  edf_feed(x, others, 2);
  edf_feed(other, numbers, 2);
  edf_feed(y, classes, 2);
  edf_trace_begin(in("twins.html"));
  for (int i = 0; i < 2; i++) {
    Forward();
    Backward(ell);
    edf_momentum((edf_real)0.1, (edf_real)0.9);
  }
  edf_trace_end();
  edf_clear();
}

int main(int argc, char **argv) {
  directory = argc > 1 ? argv[1] : ".";
  sqrt_page();
  mlp_page("mlp.html", 16, 8, 1);
  mlp_page("mnist.html", 64, 64, 1);
  mlp_page("steps.html", 64, 64, 3);
  attention_page();
  lstm_page();
  zoo_page();
  twins_page();
  return 0;
}
