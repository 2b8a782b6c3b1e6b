/* findings.c - rules of the doctor that the network of doctor.c does not show, on programs so
   small that their numbers are exact: what each rule says and when, and a healthy twin. */

#include "harness.h"
#include "edf/slide.h"
#include "edf/lab.h"

static edf_real xs[1 << 14], ys[1024];
static Input *x, *y;
static Parameter *p;
static CompNode *loss;
static int rows;

/* ---- Programs start with begin(), and are run by SAYS */

static void begin(void) {
  edf_seed(1);
  edf.accumulate = edf.eager = 0;
  edf.training = 1;
  x = y = p = loss = NULL;
  rows = 0;
  memset(xs, 0, sizeof xs);
  memset(ys, 0, sizeof ys);
}

/* The words of each finding begin with its step. */
static void said(int line, const char *words) {
  if (panicked) harness_fail(__FILE__, line, "it stops: %s", caught);
  if (!*words && *captured) harness_fail(__FILE__, line, "expected nothing:\n%s", captured);
  harness_words(__FILE__, line, captured, words);
  edf_clear();
}

#define SAYS(words, ...)     \
  do {                       \
    CAPTURE(__VA_ARGS__);    \
    said(__LINE__, words);   \
  } while (0)
#define SILENT(...) SAYS("", __VA_ARGS__)

static void feed(void) {
  if (x) edf_feed(x, xs, x->batched ? rows : 1);
  if (y) edf_feed(y, ys, y->batched ? rows : 1);
}

static void step(void) {
  feed();
  edf_forward_to(loss);
  edf_backward(loss);
}

static void run(int n) {
  while (n-- > 0) step();
}

/* Declares x and y, unless it is NULL, for n rows, and a parameter. */
static void given(int n, const char *of_x, const char *of_y, const char *of_p) {
  rows = n;
  x = edf_input("%s", of_x);
  if (of_y) y = edf_input("%s", of_y);
  p = edf_parameter("%s", of_p);
}

static void same(edf_node *c) {
  memcpy(c->value, c->in[0]->value, c->size * sizeof *c->value);
}

static void same_backward(edf_node *c) {
  for (size_t i = 0; i < c->size; i++) edf_addgrad(c->in[0], i, c->grad[i]);
}

/* ---- In training */

static CompNode *by_tanh(CompNode *u) { return Tanh(u); }

static void of_target(double low, double high) {
  begin();
  given(2, "x[b,2]", "y[b,2]", "p[2]");
  CompNode *h = Tanh(Einsum("u[b,i] = x[b,i] + p[i]", x, p));
  loss = MSE(edf_name(h, "h"), y);
  edf_doctor(loss);
  for (int i = 0; i < 4; i++) xs[i] = (edf_real)(i - 1) / 2;
  for (int i = 0; i < 4; i++) ys[i] = (edf_real)(i % 2 ? high : low);
  run(1);
}

TEST(targets_can_be_reached) {
  SILENT(of_target(-1, 1));
  SAYS("step 1: targets are outside of what the output", of_target(-1.25, 0));
}

static void of_mode(int drops, int before, int after, int learn) {
  begin();
  given(2, "x[b,4]", NULL, "p[4]");
  CompNode *h = Einsum("h[b,j] = x[b,j] + p[j]", x, p);
  loss = Mean(Square(drops ? Dropout(h, 0.5) : h));
  edf_doctor(loss);
  for (int i = 0; i < 8; i++) xs[i] = (edf_real)(i - 3) / 4;
  for (int i = 0; i < before; i++) { feed(); edf_forward(); }
  step();
  for (int i = 0; i < after; i++) { feed(); edf_forward(); }
  if (learn) edf.training = 0;
  run(learn);
}

TEST(training_is_switched) {
  SILENT(of_mode(1, 5, 2, 0));
  SAYS("step 1: evaluated as in training", of_mode(1, 0, 3, 0));
  SILENT(of_mode(0, 0, 4, 0));
  SILENT(of_mode(1, 0, 0, 5));
  SAYS("step 6: trained as in evaluation", of_mode(1, 0, 0, 6));
}

/* ---- What the program and one batch show: edf_check */

/* Random weights and data, y in 0, 1, 2. Then edf_check returns how many findings there are. */
static void check(const char *what, CompNode *l, int findings) {
  begin();
  for (int i = 0; i < edf.n_parameters; i++)
    edf_init_normal(edf.parameters[i], 0, (edf_real)0.25);
  for (int i = 0; i < 400; i++) xs[i] = edf_normal(0, 1);
  for (int i = 0; i < 16; i++) ys[i] = (edf_real)(i % 3);
  for (int i = 0; i < edf.n_inputs; i++) {
    Input *in = edf.inputs[i];
    edf_feed(in, *in->name == 'y' ? ys : xs, in->batched ? 16 : 1);
  }
  int n = edf_check(l);
  CHECK(n == findings, "%s: edf_check returns %d", what, n);
}

static void slide(const char *what, const char *shape, const char *text, int findings) {
  edf_input("x[b,%s]", shape);
  edf_input("y[b]");
  check(what, Equations("%s", text), findings);
}

static void two_layers(const char *what, CompNode *(*between)(CompNode *), int wide,
                       int findings) {
  x = edf_input("x[b,6]");
  CompNode *h = edf_name(Affine(edf_affine_params(6, wide), x), "h");
  CompNode *s = edf_name(Affine(edf_affine_params(wide, 3), between ? between(h) : h), "s");
  check(what, SoftmaxLogLoss(s, edf_input("y[b]")), findings);
}

static CompNode *cut_off(CompNode *u) { return edf_compnode("Cut", same, NULL, u); }
static CompNode *kept(CompNode *u) { return edf_compnode("Kept", same, same_backward, u); }

/* Labels are the next symbols, or not. A mask makes softmax look at s <= t alone. */
static void symbols(int next, int masked) {
  x = edf_input("c[b,t=5]");
  y = edf_input("y[b,t=5]");
  edf_parameter("E[3,3]");
  CompNode *l = Equations("h[b,t,i] = E[c[b,t],i] \n"
                          "e[b,t,s] = h[b,t,I] h[b,s,I] \n"
                          "a[b,t,s] = softmax_s e[b,t,s] %s \n"
                          "z[b,t,i] = a[b,t,S] h[b,S,i] \n"
                          "P[b,t,k] = softmax_k z[b,t,k] \n"
                          "l[b,t] = -ln P[b,t,y[b,t]]", masked ? "| s<=t" : "");
  begin();
  edf_init_normal(edf_find("E"), 0, 1);
  for (int i = 0; i < 80; i++) xs[i] = (edf_real)(i * i % 3);
  for (int i = 0; i < 80; i++) ys[i] = next ? xs[i + 1] : (edf_real)(i % 2);
  edf_feed(edf_find("c"), xs, 16);
  edf_feed(edf_find("y"), ys, 16);
  int n = edf_check(l);
  CHECK(n == (next && !masked), "edf_check returns %d", n);
}

TEST(indices_are_right) {
  SAYS("step 0: index 1 of W is summed in it alone|\"W\"",
       slide("alone", "6", "p[b] = W[0,I] x[b,J] | I<4 \n l[b] = (p[b] - y[b])^2", 1));
  SAYS("step 0: two indices of e are the batch|16 outputs",
       slide("b and c", "6", "p[b] = w[I] x[b,I] \n e[b,c] = p[b] - y[c] \n"
             "l[b] = e[b,C] e[b,C]", 1));
  SAYS("step 0: h is the same along an index that Relu1 lacks",
       slide("j for i", "6,6", "h[b,i,j] = relu(W[DI] x[b,j+DI,j]) | i<4, j<4, DI<3 \n"
             "s[b] = 0.1 h[b,I,J] \n l[b] = (s[b] - y[b])^2", 1));
  SAYS("step 0: z sees the future|the last of 5 places", symbols(1, 0));
  SILENT(symbols(1, 1));
}

TEST(layers_are_right) {
  SAYS("step 0: nothing nonlinear is between the layers h and s",
       two_layers("wide", NULL, 8, 1));
  SILENT(two_layers("with tanh", by_tanh, 8, 0));
  SAYS("step 0: no gradient comes to h|\"Cut1\"", two_layers("cut", cut_off, 3, 1));
  SILENT(two_layers("not cut", kept, 3, 0));
}

TEST(losses_are_right) {
  SAYS("step 0: |takes scores, but", slide("relu", "6", "P[b,k] = softmax_k relu(W[k,I] "
       "x[b,I]) | k<3 \n l[b] = -ln P[b,y[b]]", 1));
  SAYS("step 0: |no probability", slide("no brackets", "6", "P[b,k] = softmax_k W[k,I] x[b,I] + 1 "
       "| k<3 \n l[b] = -ln P[b,y[b]]", 1));
  x = edf_input("x[b]");
  CompNode *u = Einsum("u[b] = w x[b]", edf_parameter("w"), x);
  SAYS("step 0: the arguments of|BCELoss", check("exchanged", BCELoss(x, u), 1));
  x = edf_input("x[b]");
  edf_input("z[b]");
  u = Einsum("u[b] = w x[b]", edf_parameter("w"), x);
  SAYS("step 0: the input z is fed, but no node", check("unused", Mean(Square(u)), 1));
  SILENT(slide("right", "6", "P[b,k] = softmax_k W[k,I] x[b,I] | k<3 \n"
               "l[b] = -ln P[b,y[b]]", 0));
}

/* Targets of size `size`. */
static void of_size(double size) {
  begin();
  given(16, "x[b,2]", "y[b]", "W[2]");
  loss = MSE(Einsum("o[b] = W[I] x[b,I] + c", p, x, edf_parameter("c")), y);
  edf_init_normal(p, 0, 1);
  for (int i = 0; i < 32; i++) xs[i] = edf_normal(0, 1);
  for (int b = 0; b < 16; b++) ys[b] = (edf_real)(b % 2 ? size : -size);
  edf_doctor(loss);
  run(1);
}

TEST(steps_and_targets_have_a_size) {
  SAYS("step 1: targets are not scaled|\"y\"", of_size(100));
  SILENT(of_size(20));
}

/* Forward stands before the loop and, with `again`, also after each step. */
static void of_loop(int again, double eta) {
  begin();
  given(8, "x[b,2]", "y[b]", "W[2]");
  for (int i = 0; i < 16; i++) xs[i] = edf_normal(0, 1);
  for (int i = 0; i < 8; i++) ys[i] = xs[2 * i] - xs[2 * i + 1];
  loss = MSE(Einsum("o[b] = W[I] x[b,I]", p, x), y);
  edf_doctor(loss);
  feed();
  edf_forward();
  for (int i = 0; i < 60; i++) {
    edf_backward(loss);
    if (eta > 0) edf_sgd((edf_real)eta);
    if (again) feed();
    if (again) edf_forward();
  }
}

TEST(forward_may_stand_before_the_loop) {
  SILENT(of_loop(1, 0.05));
  SAYS("step 20: no parameter has ever moved", of_loop(0, 0));
  SAYS("step 20: no parameter has ever moved", of_loop(1, 0));
}

/* A mask, which may be a Parameter, has an infinity. In step 1 each row makes a NaN of it, or in
   step 2 a root makes a NaN beside it. */
static void of_mask(int is_parameter, int empty_row, int root) {
  begin();
  given(8, "x[b,3]", NULL, "W[3]");
  edf_real mask[] = { 0, 0, -(edf_real)INFINITY };
  Input *M = is_parameter ? edf_parameter("M[3]") : edf_input("M[3]");
  if (is_parameter) memcpy(M->value, mask, sizeof mask);
  else edf_feed(M, mask, 1);
  CompNode *P = edf_name(Softmax(Einsum("s[b,i] = W[i] x[b,i] + M[i]", p, x, M)), "P");
  Parameter *k = edf_parameter("k[3]");
  for (int i = 0; i < 3; i++) k->value[i] = 9;
  CompNode *r = edf_name(Sqrt(Einsum("d[b,i] = x[b,i] + k[i]", x, k)), "r");
  loss = edf_name(Mean(Square(Mul(P, r))), "loss");
  for (int i = 0; i < 24; i++) xs[i] = edf_normal(0, 1);
  edf_init_normal(p, 0, 1);
  edf_doctor(loss);
  for (int i = 0; i < 60; i++) {
    if (i == 0 && empty_row) edf_value(M)[0] = edf_value(M)[1] = mask[2];
    if (i == 1 && root) xs[4] = -10;
    step();
    edf_sgd((edf_real)0.01);
  }
}

TEST(a_mask_is_healthy) {
  for (int is_parameter = 0; is_parameter < 2; is_parameter++) {
    SILENT(of_mask(is_parameter, 0, 0));
    SAYS("step 1: 24 numbers of the node P are NaN|loss has become|\"P\"",
         of_mask(is_parameter, 1, 0));
    SAYS("step 2: 1 numbers of the node r are NaN|loss has become|\"r\"",
         of_mask(is_parameter, 0, 1));
  }
}

/* The loss is infinite because of an Input, or because of exp. */
static void of_overflow(double number) {
  begin();
  given(2, "x[b,2]", NULL, "W[2]");
  loss = Sum(Exp(Einsum("s[b,i] = x[b,i] + W[i]", x, p)));
  edf_doctor(loss);
  if (number < HUGE_VAL) p->value[1] = (edf_real)number;
  else xs[1] = (edf_real)number;
  run(2);
}

/* A class has probability 0, so the first loss is infinite. */
static void of_zero(void) {
  begin();
  given(16, "x[b,2]", "y[b]", "W[2]");
  loss = LogLoss(Softmax(Einsum("s[b,i] = x[b,i] + W[i]", x, p)), y);
  edf_doctor(loss);
  p->value[0] = 5000;
  for (int i = 0; i < 32; i++) xs[i] = edf_normal(0, 1);
  for (int b = 0; b < 16; b++) ys[b] = (edf_real)(b % 2);
  run(1);
}

TEST(an_infinite_loss_has_a_cause) {
  SAYS("step 1: 8 numbers of the node LogLoss2 are NaN", of_zero());
  SAYS("step 1: 1 numbers of the input x are NaN", of_overflow((double)INFINITY));
  SAYS("step 1: 2 numbers of the node Exp1 are NaN", of_overflow(2000));
}

int main(void) { return harness_main(); }
