/* small.c - one small and broad program for edf_cuda.cu: models that train for a few steps, so
   that every pass runs plain, is recorded and is replayed. tests/cuda.sh builds and runs it.

     cc -std=c99 -I. tests/cuda/small.c edf_cuda.o -lstdc++ -lm -o small
     ./small small           without arguments: all models
     ./small conv mlp        these models

   It prints a line for each model: losses, and numbers that depend on every entry of its
   parameters and gradients. EDF_DEVICE=cpu prints the lines that are right. The exit status is
   1 if the program has not given back all that it took from the emulated GPU. A program for a
   real GPU is compiled with -DNO_SHIM. */
#define _POSIX_C_SOURCE 200809L              /* dup, dup2 */
#include <fcntl.h>
#include <unistd.h>
#define EDF_IMPLEMENTATION
#include "edf/slide.h"
#include "edf/layers.h"
#include "edf/judge.h"
#include "edf/data.h"

typedef edf_real real;

void edf_cuda_close(void);
edf_real *edf_cuda_grad(edf_node *p);
#ifdef NO_SHIM
static int cudashim_leaks(void) { return 0; }
static long long cudashim_count(const char *name) { return (void)name, 0; }
#else
int cudashim_leaks(void);
long long cudashim_count(const char *name);
#endif

/* ---- Data: the same numbers on every machine, between -1 and 1 */
static unsigned long long drawn;

static real number(void) {
  drawn = drawn * 6364136223846793005u + 1442695040888963407u;
  return (real)((double)(drawn >> 40) / 8388608.0 - 1);
}

static real *numbers(real *x, size_t n) {
  for (size_t i = 0; i < n; i++) x[i] = number();
  return x;
}

/* Feeds numbers to the Inputs x..., and classes below K to the others. Their arrays are written
   anew for every step. */
static void feed(int rows, int K) {
  static real data[3][4 * 14 * 14 * 12];
  for (int k = 0; k < edf.n_inputs; k++) {
    Input *in = edf.inputs[k];
    size_t n = (size_t)rows;
    for (int d = 1; d < in->rank; d++) n *= (size_t)in->dim[d];
    numbers(data[k], n);
    for (size_t i = 0; i < n && *in->name != 'x'; i++)
      data[k][i] = (real)floor((double)(data[k][i] + 1) / 2 * K);
    edf_feed(in, data[k], rows);
  }
}

static void step(CompNode *loss, int rows, int K) {
  feed(rows, K);
  Forward();
  Backward(loss);
}

static Parameter *start(Parameter *p, real lo, real hi) {
  for (size_t i = 0; i < p->size; i++) p->value[i] = lo + (hi - lo) * (number() + 1) / 2;
  edf_push(p);
  return p;
}

/* ---- What is printed */
static void say_number(double x) {
  const char *digits = getenv("DIGITS");     /* 17 show the last bit */
  if (x == x) printf(" %.*g", digits ? atoi(digits) : 9, x);
  else printf(" nan");                       /* of any sign */
}

/* The mean of a node's value. */
static void say(CompNode *l) {
  double sum = 0;
  const real *value = edf_value(l);
  for (size_t i = 0; i < l->size; i++) sum += (double)value[i];
  say_number(sum / (double)l->size);
}

/* A change of any entry, of its place or sign shows, and nothing cancels. */
static void say_array(const real *x, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += (1 + (double)(i * 37 % 101) / 100) * (fabs((double)x[i]) + (double)x[i] / 2);
  say_number(sum);
}

static void say_value(Node *x) { say_array(edf_value(x), x->size); }

static void say_grad(Node *x) {
  const real *grad = edf_grad(x);
  if (grad) say_array(grad, x->size);
}

static void say_parameters(void) {
  for (int i = 0; i < edf.n_parameters; i++) {
    say_value(edf.parameters[i]);
    say_grad(edf.parameters[i]);
  }
}

static void say_all(void) {
  for (int i = 0; i < edf.n_compnodes; i++) say_value(edf.compnodes[i]);
  for (int i = 0; i < edf.n_compnodes; i++) say_grad(edf.compnodes[i]);
  for (int i = 0; i < edf.n_inputs; i++) say_grad(edf.inputs[i]);
  say_parameters();
}

/* ---- An MLP. Most losses are not read, so that steps queue up behind each other; the batch
   changes on the way, and comes back. */
static void mlp(void) {
  Input *in = edf_input("x[b,5]"), *label = edf_input("y[b]");
  AffineParams a = edf_affine_params(5, 7), c = edf_affine_params(7, 3);
  CompNode *loss = LogLoss(Softmax(Affine(c, Sigmoid(Affine(a, in)))), label);
  for (int i = 0; i < 13; i++) {
    step(loss, i > 4 && i < 9 ? 6 : 4, 3);
    SGD((real)0.5 / (real)(1 + i % 3));
    if (i < 3 || i == 7) say(loss);
  }
  say(loss);
  say_all();
}

/* ---- A convolution with padding and stride, max pooling with windows that overlap, the two
   nodes that differ in evaluation, clipping. Its own threshold gets no gradient: BatchNorm
   takes the mean away, so that would be rounding alone. */
static void conv(void) {
  Input *in = edf_want_grad(edf_input("x[b,7,7,2]")), *label = edf_input("y[b]");
  ConvParams k = edf_conv_params(3, 2, 4);
  k.padding = 1;
  k.stride = 2;
  k.b->update = edf_frozen;
  BatchNormParams norm = edf_batch_norm_params(4);
  AffineParams a = edf_affine_params(16, 3);
  CompNode *u = MaxPool(Relu(BatchNorm(norm, Conv(k, in))), 3, 1);
  CompNode *loss = SoftmaxLogLoss(Affine(a, Dropout(Reshape(u, "f[b,16]"), 0.3)), label);
  for (int i = 0; i < 11; i++) {
    step(loss, i > 3 && i < 8 ? 2 : 3, 3);
    if (i == 2 || i == 10) say_number(edf_clip(0.5));
    Adam((real)0.02, (real)0.9, (real)0.99, (real)1e-3);
    if (i % 4 == 0) say(loss);
    edf.training = 0;
    Forward();
    if (i % 5 == 0) Backward(loss);
    edf.training = 1;
    if (i % 5 == 0) say_grad(in);
    if (i % 4 == 3) say(loss);
  }
  say(loss);
  say_parameters();
}

/* ---- BatchNorm of columns for three blocks, with many rows and few. The batch and the mode
   change between steps, and the mode also between Forward and Backward. */
static void batch_norm(void) {
  Input *in = edf_want_grad(edf_input("x[b,2,20]"));
  BatchNormParams norm = edf_batch_norm_params(20);
  CompNode *loss = Mean(Square(Sub(Sigmoid(BatchNorm(norm, in)), in)));
  for (int i = 0; i < 24; i++) {
    feed(i % 8 < 6 ? 200 : 2, 0);
    edf.training = i % 3 > 0;
    Forward();
    edf.training = i % 2;
    Backward(loss);
    edf.training = 1;
    SGD((real)0.5);
    say(loss);
    say_grad(in);
  }
  say_parameters();
}

/* ---- A transformer's layer */
static void attention(void) {
  Input *in = edf_input("k[b,5]"), *label = edf_input("y[b,5]");
  Parameter *W = start(edf_parameter("W[6,8]"), -1, 1);
  Parameter *T = start(edf_parameter("T[5,8]"), -1, 1);
  LayerNormParams first = edf_layer_norm_params(8), second = edf_layer_norm_params(8);
  AttentionParams heads = edf_attention_params(8, 2);
  AffineParams up = edf_affine_params(8, 12), down = edf_affine_params(12, 8);
  AffineParams out = edf_affine_params(8, 6);
  CompNode *h = Add(Embed(W, in), T);
  h = Add(h, CausalAttention(heads, LayerNorm(first, h)));
  h = Add(h, Affine(down, Gelu(Affine(up, LayerNorm(second, h)))));
  CompNode *loss = SoftmaxLogLoss(Affine(out, h), label);
  for (int i = 0; i < 6; i++) {
    step(loss, 2, 6);
    AdamW((real)0.02, (real)0.9, (real)0.99, (real)1e-3, (real)0.1);
    if (i < 2 || i == 5) say(loss);
  }
  say_parameters();
}

/* ---- Functions of single entries and of rows */
static void nodes(void) {
  Input *in = edf_want_grad(edf_input("x[b,6]"));
  Input *target = edf_want_grad(edf_input("x_target[b,6]"));
  Parameter *w = start(edf_parameter("w[6]"), (real)0.5, 2), *one = edf_parameter("one");
  Parameter *v = start(edf_parameter("v[2,6]"), -1, 1);
  start(one, 1, 2);
  CompNode *a = Add(Square(in), w), *r = Sqrt(a), *l = Log(a);
  CompNode *d = Div(Exp(in), a), *e = Div(Div(d, w), one), *f = Div(w, a);
  CompNode *p = Mul(Softplus(in), one), *q = LeakyRelu(Sub(in, w), (real)0.1);
  CompNode *s = LogSoftmax(Reshape(Add(Add(d, e), l), "c[b,3,2]"));
  CompNode *u = edf_name(LogSoftmax(Add(q, p)), "u"), *m = Softmax(v);
  CompNode *n = LayerNorm(edf_layer_norm_params(6), Tanh(Add(r, f)));
  edf_name(Mul(n, Sigmoid(in)), "n");
  CompNode *o = Equations("o[b] = variance_j n[b,j]");
  CompNode *big = Equations("big[b] = max_j u[b,j]");
  CompNode *loss = Add(Mean(BCELoss(q, target)), Add(Sum(o), Add(Mean(s), Mean(u))));
  loss = Add(loss, Add(Sum(Relu(Mul(m, m))), Sum(Mul(big, big))));
  for (int i = 0; i < 6; i++) {
    step(loss, 3, 0);
    if (i == 2) edf_clip(0.1);
    if (i == 3) edf_l2((real)0.1);
    if (i == 4) edf_l1((real)0.1);
    if (i % 3 == 0) edf_adam_slides((real)0.05, (real)0.9, (real)0.9, (real)0.1);
    else if (i % 3 == 1) RMSProp((real)0.05, (real)0.9, (real)0.1);
    else Momentum((real)0.1, (real)0.8);
    say(loss);
  }
  say_all();
}

/* ---- Nodes in plain C, between others and on a parameter, and a rule in plain C. */
static void twice_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = 2 * y->in[0]->value[i];
}
static void twice_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, 2 * y->grad[i]);
}
#define Twice(x) edf_compnode("Twice", twice_forward, twice_backward, x)

static void half_step(Parameter *p, const real *c) {
  for (size_t i = 0; i < p->size; i++) p->value[i] -= c[0] / 2 * p->grad[i];
}

static void custom(void) {
  static const edf_rule my_rule = { "Half", half_step, 0, 0 };
  real eta = (real)0.3;
  Input *in = edf_input("x[b,4]"), *label = edf_input("y[b]");
  AffineParams a = edf_affine_params(4, 5), c = edf_affine_params(5, 3);
  CompNode *h = Sigmoid(Add(Twice(Affine(a, in)), Twice(a.b)));
  CompNode *loss = SoftmaxLogLoss(Affine(c, Add(h, Twice(h))), label);
  for (int i = 0; i < 5; i++) {
    step(loss, 3, 3);
    if (i % 2) edf_step(&my_rule, &eta);
    else SGD((real)0.2);
    if (i != 3) say(loss);
  }
  say_all();
}

/* ---- Two graphs that take turns */
static CompNode *half(int classes_) {
  Input *in = edf_input("x[b,3]"), *label = edf_input("y[b]");
  AffineParams a = edf_affine_params(3, classes_);
  return SoftmaxLogLoss(Dropout(Affine(a, Dropout(in, 0.1)), 0.2), label);
}

static void graphs(void) {
  CompNode *loss[2];
  edf_graph graph[2];
  graph[0] = edf;
  for (int k = 0; k < 2; k++) {
    edf = k ? edf_new_graph() : graph[0];
    loss[k] = half(2 + k);
    graph[k] = edf;
  }
  for (int i = 0; i < 10; i++) {
    int k = i & 1;
    edf = graph[k];
    step(loss[k], 4 - k, 2 + k);
    SGD((real)0.3);
    if (i < 2 || i > 7) say(loss[k]);
    graph[k] = edf;
  }
  for (int k = 0; k < 2; k++) {
    edf = graph[k];
    say_all();
    if (k) edf_clear();
  }
  edf = graph[0];
}

/* ---- A parameter and a gradient that the program writes, gradients that add up, two losses,
   a part of the graph, an input that is fed again between Forward and Backward */
static void pushed(void) {
  Input *in = edf_input("x[b,3]"), *target = edf_input("x_target[b,3]");
  Parameter *W = start(edf_parameter("W[3,3]"), -1, 1);
  Parameter *c = start(edf_parameter("c[3]"), -1, 1);
  CompNode *h = Tanh(Einsum("h[b,j] = W[I,j] x[b,I] + c[j]", W, in, c));
  CompNode *loss = MSE(h, target), *other = Mean(Mul(Square(h), target));
  for (int i = 0; i < 13; i++) {
    feed(4, 0);
    if (i == 10) edf_feed(target, in->value, 4);
    edf.accumulate = i > 3 && i < 8;
    if (edf.accumulate && i % 2 == 0) edf_zero_grad();
    if (i % 3 == 2) { edf_forward_to(h); say(h); }
    Forward();
    Backward(i % 4 == 3 ? other : loss);
    if (i == 8) for (int k = 0; k < 4; k++) Backward(loss);
    if (edf_device && i == 9) edf_cuda_grad(W);
    if (i == 2 || i == 5 || i == 10) {
      real *grad = edf_grad(c);
      for (int k = 0; k < 3; k++) grad[k] = number() / 10;
      edf_push_grad(c);
    }
    if (!edf.accumulate || i % 2) SGD((real)0.2);
    if (i == 3 || i == 6 || i == 11) start(W, -1, 1);
    if (i < 9) { say(loss); say_parameters(); }
  }
  say(loss);
  say_all();
}

/* ---- Every parameter with a rate of its own, and more than fit into one launch */
static void my_rate(Parameter *p, real eta) {
  real *value = edf_value(p);
  const real *grad = edf_grad(p);
  for (size_t i = 0; i < p->size; i++) value[i] -= eta / (real)(1 + p->steps) * grad[i];
  edf_push(p);
}

static void rates(void) {
  CompNode *loss = NULL;
  for (int i = 0; i < 11; i++) {
    Parameter *p = start(edf_parameter("p%d[%d]", i, 1 + i % 3), (real)0.1, 1);
    CompNode *term = Sum(Square(Mul(p, p)));
    p->steps = i;
    p->update = i % 3 ? NULL : my_rate;
    loss = loss ? Add(loss, term) : term;
  }
  for (int i = 0; i < 4; i++) {
    Forward();
    Backward(loss);
    edf_value(edf.parameters[10]);
    SGD((real)0.1);
  }
  say(loss);
  say_parameters();
}

/* ---- A graph that is built anew for each step: other nodes get the same addresses. */
static void rebuilt(void) {
  Input *in = edf_input("x[b,3]"), *label = edf_input("y[b]");
  AffineParams a = edf_affine_params(3, 3);
  for (int i = 0; i < 12; i++) {
    edf_clear_compnodes();
    CompNode *h = Affine(a, in);
    CompNode *loss = SoftmaxLogLoss(i / 2 & 1 ? Tanh(h) : Relu(h), label);
    for (int k = 0; k < 3; k++) {
      step(loss, 2, 3);
      SGD((real)0.3);
    }
    say(loss);
  }
  say_parameters();
}

/* ---- NaN goes through. */
static void nan_through(void) {
  static real x[3 * 4];
  Input *in = edf_want_grad(edf_input("x[b,4]"));
  edf_feed(in, numbers(x, 12), 3);
  x[1] = x[4] = x[11] = (real)NAN;
  Node *y[] = { Relu(in), LeakyRelu(in, (real)0.1), Equations("m[b] = max_j x[b,j]"), MaxPool(
      Reshape(in, "x[b,4,1]"), 2, 1), Softmax(in), LogSoftmax(in), Softplus(in), Gelu(in) };
  enum { N = sizeof y / sizeof *y };
  for (int pass = 0; pass < 3; pass++) Forward();
  for (int k = 0; k < N; k++) {
    const real *value = edf_value(y[k]);
    double sum = 0;
    for (size_t i = 0; i < y[k]->size; i++)
      if (value[i] == value[i]) sum += (double)value[i];
      else sum += 100 * (double)(i + 1);
    say_number(sum);
  }
  for (int k = 1; k < N; k++) y[k] = Add(Sum(y[k - 1]), Sum(y[k]));
  Forward();
  Backward(y[N - 1]);
  say_value(y[N - 1]);
}

/* ---- The host's copy begins with NaN where the GPU's is newer. */
static void say_stale(const char *what, const real *x, int stale) {
  int right = !edf_device ? x[0] == x[0] : (x[0] != x[0]) == stale;
  printf(" %s %s", what, right ? "ok" : stale ? "NOT STALE" : "STALE");
}

static void stale(void) {
  Input *in = edf_input("x[b,3]");
  Parameter *W = start(edf_parameter("W[3,2]"), -1, 1);
  CompNode *loss = Sum(Square(Einsum("h[b,j] = W[I,j] x[b,I]", W, in)));
  for (int i = 0; i < 4; i++) {
    feed(2, 0);
    Forward();
    say_stale("value", loss->value, 1);
    Backward(loss);
    say_stale("fed", in->value, 0);
    if (i) say_stale("grad", W->grad, 1);
    edf_grad(W);
    say_stale("read", W->grad, 0);
    SGD((real)0.1);
    say_stale("parameter", W->value, 1);
    edf_value(W);
    edf_value(loss);
    say_stale("read", W->value, 0);
  }
  say(loss);
}

/* ---- Maxima and a sum over indices that run backwards */
static void reversed(void) {
  Input *in = edf_want_grad(edf_input("x[b,7]"));
  start(edf_parameter("c[3,2]"), -2, 2);
  CompNode *y = Equations(
      "m[b,i] = max_D x[b,2*i+2-D]  | D<3, i<3  \n"
      "n[b,j] = min_D x[b,6-3*j-D]  | D<3, j<2  \n"
      "y[b,i] = c[i,J] n[b,1-J] m[b,2-i]  | i<3, J<2");
  for (int i = 0; i < 4; i++) {
    step(y, 3, 0);
    SGD((real)0.3);
    say_grad(in);
  }
  say_all();
}

/* Masks in sums, products, softmaxes and their logarithms. The excluded quotients x/d are
   infinite. Inner nodes may have other numbers at excluded entries than on the CPU. */
static void masked(void) {
  Input *in = edf_want_grad(edf_input("x[b,5]"));
  Parameter *d = start(edf_parameter("d[5,5]"), 1, 2);
  start(edf_parameter("v[5]"), -1, 1);
  for (int t = 0; t < 5; t++)
    for (int s = t + 1; s < 5; s++) d->value[5 * t + s] = 0;
  edf_push(d);
  CompNode *y = Equations(
      "a[b,t,s] = x[b,t] x[b,s] v[s]                                 \n"
      "P[b,t,s] = softmax_s a[b,t,s]                   | s<=t        \n"
      "l[b,t] = -sum_s v[s] ln P[b,t,s]                | s<=t        \n"
      "o[b,t] = sum_s 9^(s-t) x[b,s] / d[t,s]          | s<=t        \n"
      "z[b,t] = ln sum_s d[t,s] exp(x[b,s])            | s<t         \n"
      "m[b,t] = max_s x[b,s] v[s]                      | s<=t        \n"
      "y[b] = sum_t (l[b,t] + o[b,t] + 0.1 m[b,t])^2 + 0.01 z[b,4]");
  for (int i = 0; i < 4; i++) {
    step(y, 3, 0);
    SGD((real)0.01);
    say_grad(in);
  }
  say_value(y);
  for (int i = 0; i < edf.n_parameters; i++) {
    say_value(edf.parameters[i]);
    say_grad(edf.parameters[i]);
  }
}

/* ---- Arrays that have the rows of an earlier batch, when they are read and when the GPU is
   closed */
static void grown(void) {
  Input *in = edf_want_grad(edf_input("x[b,3]"));
  Parameter *W = start(edf_parameter("W[3,3]"), -1, 1);
  CompNode *part = Square(in), *h = Tanh(Einsum("h[b,j] = W[I,j] x[b,I]", W, in));
  CompNode *loss = Mean(Square(h));
  for (int rows = 2; rows < 100; rows *= 3) {
    step(loss, rows, 0);
    feed(2 * rows, 0);
    edf_forward_to(part);                  /* h and the gradients keep their rows. */
    say_value(h);
    say_grad(h);
    say_grad(in);
  }
  step(loss, 3, 0);
  feed(200, 0);
  edf_forward_to(part);
  edf_cuda_close();
  say_all();
}

/* ---- Calls that only look, between the passes of the GPU, change nothing. */
static void look(CompNode *y) {
  if (!edf_device) return;
  fflush(stdout);
  int out = dup(STDOUT_FILENO), nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, STDOUT_FILENO);
  edf_gradcheck(y);
  edf_check_backward(y->in[0], "");
  edf_find_nan();
  edf_print_program(stdout);
  fflush(stdout);
  dup2(out, STDOUT_FILENO);
  close(out);
  close(nowhere);
}
static void looked(void) {
  Input *in = edf_want_grad(edf_input("x[b,4,4,1]")), *label = edf_input("y[b]");
  BatchNormParams norm = edf_batch_norm_params(1);
  AffineParams a = edf_affine_params(4, 3);
  CompNode *h = Reshape(MaxPool(BatchNorm(norm, Dropout(in, 0.3)), 2, 2), "h[b,4]");
  CompNode *s = Affine(a, Twice(h));
  CompNode *loss = Mean(SoftmaxLogLoss(s, label)), *other = Mean(Square(s));
  for (int i = 0; i < 5; i++) {
    feed(i == 2 ? 4 : 3, 3);
    if (i == 2) look(loss);
    Forward();
    if (i % 2) look(other);
    Backward(i % 2 ? other : loss);
    if (i == 3) look(loss);
    SGD((real)0.1);
    say(loss);
    say_grad(in);
  }
  say_all();
}

/* ---- Products for cuBLAS, with packed operands (im2col) and results (col2im). */
static void gemm_conv(void) {
  Input *in = edf_want_grad(edf_input("x[b,14,14,12]")), *label = edf_input("y[b]");
  ConvParams k = edf_conv_params(3, 12, 26), l = edf_conv_params(3, 26, 48);
  k.padding = 1;
  l.stride = 2;
  AffineParams a = edf_affine_params(48, 4);
  CompNode *h = Tanh(Conv(l, Tanh(Conv(k, in))));
  h = Reshape(AvgPool(h, 6, 1), "h[b,48]");
  CompNode *loss = SoftmaxLogLoss(Affine(a, h), label);
  for (int i = 0; i < 4; i++) {
    step(loss, i ? 3 : 4, 4);
    SGD((real)0.5);
    say(loss);
  }
  say_grad(in);
  say_parameters();
}

/* ---- Data that stay the same are not sent again. One number that changes is enough. */
static void same_data(void) {
  static real data[3 * 4];
  Input *in = edf_input("x[b,4]");
  Parameter *W = start(edf_parameter("W[2,4]"), -1, 1);
  CompNode *h = Einsum("h[b,j] = W[j,I] x[b,I]", W, in);
  for (int i = 0; i < 8; i++) {
    long long before = cudashim_count("copies_h2d");
    if (i % 4 == 0) edf_feed(in, numbers(data, 12), 3);
    if (i == 6) data[7] += 1;
    Forward();
    if (i % 4 && i != 6) say_number((double)(cudashim_count("copies_h2d") - before));
    say(h);
    Backward(h);
  }
  say_grad(W);
}

/* ---- Heads of 10 numbers: no matrix but the first ones begins at a multiple of 16 bytes. */
static void heads(void) {
  Input *in = edf_input("x[b,48,30]"), *label = edf_input("y[b]");
  AttentionParams a = edf_attention_params(30, 3);
  CompNode *h = Einsum("h[b,j] = 0.02 z[b,T,j]", Attention(a, in));
  CompNode *loss = SoftmaxLogLoss(Affine(edf_affine_params(30, 4), h), label);
  for (int i = 0; i < 4; i++) {
    step(loss, i ? 5 : 3, 4);
    SGD((real)0.5);
    say(loss);
  }
  say_parameters();
}

/* ---- A computed label that is no class gives NaN on the GPU. On the CPU it is an error. */
static void no_class(void) {
  static real x[2 * 3], y[2] = { 1, 2 };
  Input *in = edf_input("x[b,3]"), *label = edf_input("y[b]");
  AffineParams a = edf_affine_params(3, 3);
  CompNode *loss = SoftmaxLogLoss(Affine(a, in), Einsum("k[b] = 2 y[b]", label));
  edf_feed(in, numbers(x, 6), 2);
  edf_feed(label, y, 2);
  Forward();
  say(loss);
}

/* ---- A program that leaves the GPU, and comes back. */
static void again(void) {
  Input *in = edf_input("x[b,2]"), *label = edf_input("y[b]");
  AffineParams a = edf_affine_params(2, 2);
  CompNode *loss = SoftmaxLogLoss(Affine(a, in), label);
  for (int i = 0; i < 12; i++) {
    if (i == 4) edf_cuda_close();            /* from here on the CPU's */
    if (i == 8) edf_input("opens[b]");       /* from here on the GPU's */
    feed(3, 2);
    edf_forward_to(loss);
    Backward(loss);
    Adam((real)0.1, (real)0.9, (real)0.99, (real)1e-3);
  }
  say(loss);
  say_parameters();
}

/* ---- The models. Between two of them everything is forgotten. */
typedef struct { const char *name; void (*run)(void); int kind; } model;
enum { SMALL, LARGE, ASKED };
static const model models[] = {
  { "mlp", mlp, SMALL }, { "conv", conv, SMALL }, { "attention", attention, SMALL },
  { "batch_norm", batch_norm, SMALL }, { "nodes", nodes, SMALL }, { "custom", custom, SMALL },
  { "graphs", graphs, SMALL }, { "pushed", pushed, SMALL }, { "rates", rates, SMALL },
  { "rebuilt", rebuilt, SMALL }, { "nan", nan_through, SMALL }, { "stale", stale, SMALL },
  { "reversed", reversed, SMALL }, { "grown", grown, SMALL }, { "masked", masked, SMALL },
  { "again", again, SMALL }, { "looked", looked, SMALL }, { "same_data", same_data, SMALL },
  { "gemm_conv", gemm_conv, LARGE }, { "heads", heads, LARGE },
  { "no_class", no_class, ASKED }
};

static int is_wanted(const model *m, int n, char **names) {
  for (int i = 0; i < n; i++)
    if (!strcmp(names[i], m->name) || (m->kind == SMALL && !strcmp(names[i], "small")))
      return 1;
  return !n && m->kind != ASKED;
}

int main(int argc, char **argv) {
  int ran = 0;
  for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
    if (!is_wanted(&models[k], argc - 1, argv + 1)) continue;
    edf_seed(k + 1);
    drawn = k;
    printf("%s", models[k].name);
    models[k].run();
    printf("\n");
    edf_clear();
    ran = 1;
  }
  edf_cuda_close();
  return cudashim_leaks() > 0 || !ran;
}
