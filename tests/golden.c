/* The printed programs of an MLP, a convolution, an LSTM step and attention, line by line as in
   tests/golden/NAME.txt; they are the loops of the course. Then every kind of node that has a
   formula, everything that an equation can say, nodes of the user's, and edf_print. To write
   them anew, and then look at what has changed:

     cc -I. tests/golden.c tests/impl.c -o build/golden -lm && build/golden --write

   Each is a LaTeX article too, golden/NAME.tex: latex.sh lets LaTeX read build/golden_NAME.tex.

   Built as: float none sanitized shim */
#define _POSIX_C_SOURCE 200809L                              /* capture.h */
#include "harness.h"
#include "capture.h"
#include "edf.h"
#include "edf_lab.h"
#include "golden.h"

/* The program, and the article for LaTeX. */
static void print_program(const char *name) {
  char file[100];
  snprintf(file, sizeof file, "%s.txt", name);
  capture_begin();
  edf_print_program(stdout);
  capture_end();
  golden(file, captured);
}

static void print(const char *name) {
  char file[100];
  long live = memory.live;
  capture_begin();
  edf_print_latex(stdout);
  capture_end();
  snprintf(file, sizeof file, "%s.tex", name);
  golden(file, captured);
  snprintf(file, sizeof file, "build/golden_%s.tex", name);
  golden_put(file, captured);
  print_program(name);
  CHECK(memory.live == live, "%ld blocks more than before", memory.live - live);
}

static void mlp(void);
static void convolution(void);
static void lstm_step(void);
static void attention(void);
static void elements(void);
static void rows(void);
static void evaluation(void);
static void equations(void);
static void joined(void);
static void own(void);
static void numbers(void);
static void numbers_of_a_batch(void);
static void odd_names(void);

int main(int argc, char **argv) {
  golden_arguments(argc, argv);
  RUN(mlp);
  RUN(convolution);
  RUN(lstm_step);
  RUN(attention);
  RUN(elements);
  RUN(rows);
  RUN(evaluation);
  RUN(equations);
  RUN(joined);
  RUN(own);
  RUN(numbers);
  RUN(numbers_of_a_batch);
  RUN(odd_names);
  return harness_report();
}

/* Each is a program of its own, with lines of its own. */
static void mlp(void) {
#line 1 "mlp.c"
  Input *x = edf_input("x[b,784]"), *y = edf_input("y[b]");
  Parameter *W0 = edf_parameter("W0[784,64]"), *C0 = edf_parameter("C0[64]");
  Parameter *W1 = edf_parameter("W1[64,10]"), *C1 = edf_parameter("C1[10]");
  CompNode *u = edf_name(Einsum("u[b,j] = W0[I,j] x[b,I] - C0[j]", W0, x, C0), "u");
  CompNode *h = edf_name(Sigmoid(u), "h");
  CompNode *s = edf_name(Einsum("s[b,k] = W1[J,k] h[b,J] - C1[k]", W1, h, C1), "s");
  CompNode *P = edf_name(Softmax(s), "P");
  edf_name(LogLoss(P, y), "loss");
  print("mlp");
  edf_clear();
}

static void convolution(void) {
#line 1 "convolution.c"
  Input *L = edf_want_grad(edf_input("L[b,28,28,3]"));
  Parameter *W = edf_parameter("W[5,5,3,16]"), *B = edf_parameter("B[16]");
  CompNode *u = edf_name(Einsum("u[b,x,y,j] = W[DX,DY,I,j] L[b,x+DX-2,y+DY-2,I] - B[j]"
                                " | x<28, y<28", W, L, B), "u");
  CompNode *h = edf_name(Relu(u), "h");
  edf_name(MaxPool(h, 2, 2), "p");
  print("convolution");
  edf_clear();
}

static void lstm_step(void) {
#line 1 "lstm_step.c"
  Input *x = edf_input("x[b,5]"), *h = edf_want_grad(edf_input("h[b,4]"));
  Input *c = edf_want_grad(edf_input("c[b,4]"));
  LSTMParams Phi = edf_lstm_params(5, 4);
  RecurrentState s = { h, c };
  s = LSTM(Phi, x, s);
  edf_name(s.c, "c1");
  edf_name(s.h, "h1");
  print("lstm_step");
  edf_clear();
}

static void attention(void) {
#line 1 "attention.c"
  Input *x = edf_want_grad(edf_input("x[b,6,8]"));
  edf_name(CausalAttention(edf_attention_params(8, 2), x), "y");
  print("attention");
  edf_clear();
}

static void no(edf_node *y) { (void)y; }

static void elements(void) {
#line 1 "elements.c"
  Input *x = edf_want_grad(edf_input("x[b,3]")), *t = edf_input("t[b,3]");
  Parameter *p = edf_parameter("p[3]"), *c = edf_parameter("c");
  edf_name(Exp(Tanh(x)), "e");
  edf_name(Log(Sqrt(x)), "l");
  LeakyRelu(x, (edf_real)0.25);
  Gelu(p);
  Softplus(c);
  Tanh(edf_parameter("r[1,1,1,1,1,1,1,2]"));
  Sub(x, p);
  Mul(c, x);
  Div(x, p);
  Div(x, c);
  Div(c, c);
  edf_name(Dropout(x, 0.5), "dropped");
  edf_name(Mean(x), "mean");
  Mean(p);
  Square(c);
  BCELoss(x, t);
  BCELoss(p, edf_parameter("q[3]"));
  MSE(x, t);
  MaskedMean(x, t);
  print_program("elements");                   /* what needs a gradient is found by both */
  print("elements");
  edf_clear();
}

static void rows(void) {
#line 1 "rows.c"
  Input *x = edf_want_grad(edf_input("x[b,t=3,4]")), *k = edf_input("k[b,t=3]");
  Parameter *a = edf_parameter("a[2,3,4]"), *W = edf_parameter("W[5,4]");
  BatchNormParams Phi = edf_batch_norm_params(4);
  edf_name(LogLoss(Softmax(x), k), "loss");
  LogLoss(Softmax(edf_parameter("s[3]")), edf_input("one"));
  SoftmaxLogLoss(x, k);
  LogSoftmax(a);
  Softmax(edf_parameter("long[row=2,col2=3]"));
  SoftmaxOver("a[i,J,k]", a);
  SoftmaxOver("a[i,J,K]", a);
  SoftmaxOver("a[i,s,T] | T<=s", a);
  LogSoftmaxOver("a[I,j,k]", a);
  NormalizeOver("a[i,J,k]", a, (edf_real)0.5);
  SumOver("x[b,T,i]", x);
  MeanOver("a[i,J,K]", a);
  MaxOver("a[I,j,k]", a);
  VarianceOver("x[b,t,I]", x);
  SampleVarianceOver("x[b,T,i]", x);
  SampleVarianceOver("a[i,J,k]", a);
  SampleVarianceOver("x[B,t,i]", x);
  MaxOver("y[i,j] = a[i,2*j+DJ,K] | j<2, DJ<2", a);
  LayerNorm(edf_layer_norm_params(4), x);
  BatchNorm(Phi, x);
  Embed(W, k);
  MaxPool(edf_reshape(a, "image[1,2,3,4]"), 2, 1);
  print("rows");
  edf_clear();
}

/* Outside of training Dropout does nothing, and BatchNorm goes by its running statistics. */
static void evaluation(void) {
#line 1 "evaluation.c"
  Input *x = edf_want_grad(edf_input("x[b,4]"));
  BatchNorm(edf_batch_norm_params(4), Dropout(x, 0.5));
  edf_compnode("Copy", no, no, Relu(x));
  edf.training = 0;
  print("evaluation");
  edf.training = 1;
  edf_clear();
}

/* What an equation can say; in a loop every index is small, unless two would be the same. */
static void equations(void) {
#line 1 "equations.c"
  Input *x = edf_want_grad(edf_input("x[b,6]")), *t = edf_input("t[b]");
  Parameter *a = edf_parameter("a[4,4]"), *d = edf_parameter("d[4]"), *c = edf_parameter("c");
  Parameter *f = edf_parameter("f[3]");
  edf_name(Einsum("y = c", c), "u");
  Einsum("y = -c", c);
  Einsum("y = 2 c c - 0.5 c + c", c);
  Einsum("y = -1.5 d[I] d[I] - 3 c", d, c);
  Einsum("y[i,j] = -a[j,i] + 2 d[i] c", a, d, c);
  Einsum("y = 0 c - 0 c", c);
  Einsum("y[i] = a[i,i] - a[i,0]", a);
  Einsum("y[i] = a[i,I] d[I]", a, d);
  Einsum("y[row,col] = a[row,Row] a[Row,col] a[ROW,ROW]", a);
  Einsum("y[i] = d[i+D-1] f[D] | i<4", d, f);
  Einsum("y[i] = d[2*i-D+1] f[D] | i<2, D<3", d, f);
  Einsum("y[i] = d[-i+3]", d);
  Einsum("y[2*i+1] = d[i]", d);
  Einsum("y[i] = d[i-J] | i<5, J<2", d);
  Einsum("y[b,x,10] = x[b,x] t[b] | x<6", x, t);
  Einsum("y[b] = x[b,I] x[b,J] d[J] - t[b] | J<4", x, d, t);
  Einsum("y[i,j2] = d[i] f[j2]", d, f);
  Einsum("y = d[I+1] d[J+3]", d);
  Einsum("y[j2,j] = a[j,K] a[j,K2] f[j2]", a, f);
  Parameter *u = edf_parameter("u[1,2,1,1,1,1,1,1]"), *v = edf_parameter("v[1,2,1,1,1,1,1,1]");
  Einsum("y[a,b,c,d,e,f,g,h] = u[a,b,c,d,e,f,g,h] v[I,J,K,L,M,N,O,P]", u, v);
  print("equations");
  edf_clear();
}

/* Concat, Slice and Select; of more than eight operands the first eight are printed. */
static void joined(void) {
#line 1 "joined.c"
  Input *x = edf_want_grad(edf_input("x[b,t=3,2]")), *y = edf_input("y[b,2]");
  Parameter *p = edf_parameter("p[3]"), *q = edf_parameter("q[2]"), *c = edf_parameter("c");
  Parameter *ten[10], *fixed = edf_parameter("fixed[2]");
  edf_node *nine[9];
  for (int k = 0; k < 10; k++) ten[k] = edf_parameter("p%d[2]", k);
  for (int k = 0; k < 9; k++) nine[k] = k % 3 ? ten[k] : fixed;
  fixed->update = edf_frozen;
  Concat("h[b,t,J]", x, x);
  Concat("h[b,T,j]", y, Select("x[b,T,j]", edf_reshape(x, "z[b,3,2]"), 2), y);
  Concat("h[I]", p, q, p);
  Concat("h[I]", c, q, c);
  Concat("h[I]", q);
  Concat("h[I]", c);
  ConcatList("h[T,j]", 8, ten);
  ConcatList("h[T,j]", 9, ten);
  ConcatList("h[I]", 10, ten);
  ConcatList("h[T,j]", 9, nine);
  Slice("p[I]", p, 1, 2);
  Select("p[I]", p, 0);
  print("joined");
  edf_clear();
}

static void first(edf_node *y) { y->rank = 1; y->dim[0] = y->in[0]->dim[0]; }

/* Nodes of the user's, with formulas and without, and names that LaTeX has other plans for. */
static void own(void) {
#line 1 "own.c"
  Input *x = edf_want_grad(edf_input("x[b,3]")), *t = edf_input("t[b,3]");
  Parameter *W_1 = edf_parameter("W_1[3]"), *s = edf_parameter("s");
  CompNode *y = edf_compnode("Mine", no, no, x, t, W_1);
  edf_name(edf_compnode("No", no, NULL, x), "stop");
  edf_want_grad(edf_name(edf_compnode("No", no, NULL, x), "wanted"));
  CompNode *many = edf_compnode_shaped("Many", first, no, no, W_1, x, t, s, s, s, s, s, s);
  edf_compnode_shaped("Eight", first, no, no, W_1, s, s, s, s, s, s, s);
  edf_formula(edf_name(edf_compnode("F", no, no, x, W_1, s), "y_2"),
              "out[b,i] = exp(-in[b,i]^2) * sqrt(w[i] + (1e-05)) / scale 2.5e+3 ln pi",
              "in.grad[b,i] += sum_B,I2 (out.grad[B,I2] <= 0) w[i]\n"
              "w.grad[i] -= max_J in[b,J] mean_B,T in[B,T] + tanh(min(scale, 2))\n"
              "scale.grad += out[b,i].grad - 50 % #in[w[i],i] & $ | 2");
  edf_formula(edf_compnode("G", no, no, s),
              "r = max(mean_I, s) variance_B,T[1] s.flat[i] if s < 1",
              "s.grad += r.grad; else s.grad.flat[i] += 1");
  edf_formula(edf_compnode("H", no, no, x), "y[b,i] = 3 x[b,i]", "");
  edf_formula(edf_compnode("I", no, no, x, W_1), "y[b,i] = floor(x[b,i]) sum_B,Row x[B,Row]",
              "x.grad[b,i] += y.grad[b,i]\nw.grad[i] -= y.grad[b,i]");
  edf_formula(edf_compnode("J", no, no, x), "y = x",
              "x.grad[a,b,c,d,e,f,g,h,i] += y.grad[b,i]");
  edf_name(y, "h&1%$#");
  edf_name(many, "[the first] ~^{}\\");
  print("own");
  capture_begin();
  edf_print_node(stdout, x);
  edf_print_node(stdout, W_1);
  edf_print_node(stdout, t);
  for (int i = 0; i < edf.n_compnodes; i++) edf_print_node(stdout, edf.compnodes[i]);
  capture_end();
  golden("own_nodes.txt", captured);
  edf_clear();
}

/* ---- edf_print: numbers of a node, six rows of eight columns at most */

static void filled(edf_node *x) {
  for (size_t i = 0; i < x->size; i++) x->value[i] = (edf_real)i / 4 - 1;
}

static void printed(int n, edf_node *x, edf_node *y, edf_node *z) {
  edf_node *list[] = { x, y, z };
  for (int k = 0; k < n; k++) {
    fflush(stdout);
    long before = (long)lseek(STDOUT_FILENO, 0, SEEK_CUR);
    edf_print(list[k]);
    if (lseek(STDOUT_FILENO, 0, SEEK_CUR) == before)
      printf("it waits for more, in a debugger\n");
  }
}

static void print_first(edf_node *y) { (void)y; edf_print(edf.inputs[0]); }

/* Rows and columns as many as are shown, and more; what is not a number. */
static void numbers(void) {
#line 1 "numbers.c"
  Parameter *c = edf_parameter("c"), *v = edf_parameter("v[9]"), *m = edf_parameter("m[6,8]");
  Parameter *large = edf_parameter("large[7,9]"), *a = edf_parameter("a[2,2,3]");
  for (int i = 0; i < edf.n_parameters; i++) filled(edf.parameters[i]);
  capture_begin();
  printed(3, c, v, m);
  printed(2, large, a, NULL);
  large->value[0] = (edf_real)fabs(NAN);
  large->value[5] = -(edf_real)INFINITY;
  for (int i = 1; i < 9; i++) v->value[i] = (edf_real)INFINITY;
  printed(2, large, v, NULL);
  capture_end();
  golden("numbers.txt", captured);
  edf_clear();
}

/* As many rows as were fed; gradients, and where none has arrived. */
static void numbers_of_a_batch(void) {
#line 1 "numbers.c"
  static edf_real data[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
  Input *x = edf_want_grad(edf_input("x[b,2]")), *f = edf_input("f[3]");
  CompNode *y = edf_name(Square(x), "y"), *l = edf_name(Sum(y), "l");
  CompNode *look = edf_compnode("Look", no, print_first, l);
  capture_begin();
  printed(3, x, f, y);
  edf_feed(x, data, 4);
  edf_feed(f, data, 1);
  Forward();
  printed(2, x, f, NULL);
  edf_feed(x, data, 2);
  printed(1, x, NULL, NULL);
  edf_feed(x, data + 2, 1);
  printed(1, x, NULL, NULL);
  edf_feed(x, data, 4);
  Forward();
  Backward(l);
  printed(3, x, y, l);
  Forward();
  Backward(look);
  capture_end();
  golden("numbers_of_a_batch.txt", captured);
  edf_clear();
}

/* What TeX keeps for itself, in names: latex.sh lets it read them. */
static void odd_names(void) {
#line 1 "odd_names.c"
  Parameter *a = edf_name(edf_parameter("a[3]"), "back\\slash"), *b = edf_parameter("b[3]");
  CompNode *c = edf_name(Einsum("c[i] = a[i] b[i]", a, edf_name(b, "o{pen")), "close}");
  c = edf_name(Tanh(c), "\\end{document}");
  c = edf_name(Square(c), "tilde~ hat^ a_b 50% & #1 $");
  edf_name(Softmax(c), "{");
  print("odd_names");
  edf_clear();
}
