/* stepping.c - one node at a time gives what Forward and Backward give, edf_where names the
   next node, and edf_find_nan names the node that made the first NaN. */

#include "harness.h"
#include "edf/slide.h"

typedef struct { Input *x; Parameter *w; CompNode *s, *h, *q, *m, *loss; } net;

static edf_real data[6] = { 1, 2, (edf_real)-0.5, 4, (edf_real)0.25, -1 };

/* The gradient of h gets three contributions. */
static net build(void) {
  net n;
  n.x = edf_input_at("hw1.c", 1, "x[b,3]");
  n.w = edf_parameter_at("hw1.c", 2, "w[3,2]");
  for (int i = 0; i < 6; i++) n.w->value[i] = (edf_real)(0.3 * i - 0.7);
  n.s = edf_name(Einsum("s[b,j] = w[I,j] x[b,I]", n.w, n.x), "s");
  n.h = edf_name(edf_node1(&edf_tanh_op, "hw1.c", 4, n.s), "h");
  n.q = edf_name(edf_node1(&edf_square_op, "hw1.c", 5, n.h), "q");
  n.m = edf_name(Einsum("m[b,j] = h[b,j] h[b,j] q[b,j]", n.h, n.q), "m");
  n.loss = edf_name(Sum(n.m), "loss");
  edf_feed(n.x, data, 2);
  return n;
}

/* ---- Steps */

TEST(steps_are_the_loops) {
  net n = build();
  edf_real expected[6];
  edf_node *order[] = { n.s, n.h, n.q, edf.compnodes[3], n.m, n.loss };  /* h q is a product. */
  Forward();
  Backward(n.loss);
  memcpy(expected, n.w->grad, sizeof expected);
  for (int again = 0; again < 2; again++) {
    for (int i = 0; i < 6; i++) {
      edf_node *c = edf_step_forward();
      CHECK(c == order[i], "step %d ran %s", i, c ? c->name : "nothing");
    }
    CHECK(!edf_step_forward(), "a seventh step");
    for (int i = 5; i >= 0; i--) {
      edf_node *c = edf_step_backward();
      CHECK(c == order[i], "step %d ran %s backward", i, c ? c->name : "nothing");
    }
    CHECK(!edf_step_backward(), "a seventh step back");
    CHECK(!memcmp(expected, n.w->grad, sizeof expected), "the gradients differ");
  }
}

/* A new node ends the stepping, and the next step begins again. With edf.eager a node that the
   loss does not need becomes active, but it has no gradient. */
/* A step that cannot run says why. An Input that no node uses needs no feed. A Backward by steps
   ends as edf_backward does. */
static int afterwards;
static void count_afterwards(void) { afterwards++; }
TEST(steps_begin_and_end_as_passes_do) {
  edf_node *x = edf_input("x[b]"), *z = edf_input("z[b]"), *unused = edf_input("unused[2]");
  edf_node *y = edf_mul(edf_add(x, z), edf_parameter("w"));
  edf_feed(x, data, 2);
  edf_feed(z, data, 3);
  CAPTURE(CHECK(!edf_step_forward(), "it runs"));
  WORDS(captured, "nothing runs|disagree on the batch|batch 3 was fed to|\"z\"|\"x\"");
  edf_feed(z, data, 2);
  CHECK(edf_step_forward() == y->in[0] && unused->fed < 0, "it does not run");
  while (edf_step_forward()) continue;
  afterwards = 0;
  edf.after_backward = count_afterwards;
  while (edf_step_backward()) continue;
  edf.after_backward = NULL;
  CHECK(afterwards == 1, "after_backward was called %d times", afterwards);
}

TEST(a_new_node_ends_the_stepping) {
  for (int kind = 0; kind < 4; kind++) {
    edf_node *aside = Tanh(edf_parameter("aside[2]")), *new_node;
    net n = build();
    Forward();
    Backward(n.loss);
    edf_step_backward();
    edf_step_backward();
    edf.eager = kind > 2;
    new_node = kind > 1 ? Square(aside) : kind ? edf_parameter("v[2]") : edf_input("z[3]");
    edf.eager = 0;
    CHECK(edf.at == -1 && new_node, "kind %d: edf.at is %d", kind, edf.at);
    CHECK(edf_step_backward() == n.loss, "kind %d: the Backward goes on", kind);
    while (edf_step_backward()) continue;
    CHECK(!aside->grad, "kind %d: a gradient that the loss does not need", kind);
    if (kind == 0) edf_feed(new_node, data, 1);
    edf_step_forward();
    Square(n.x);
    CHECK(edf_step_forward() == aside && edf.at == 0, "kind %d: the Forward goes on", kind);
    edf_feed(n.x, data, 2);
    CHECK(edf.at == -1, "kind %d: edf.at is %d after a feed", kind, edf.at);
    edf_clear();
  }
}

TEST(steps_say_that_a_parameter_has_moved) {
  net n = build();
  Forward();
  Backward(n.loss);
  SGD((edf_real)0.5);
  CAPTURE(CHECK(!edf_step_backward(), "a step"));
  WORDS(captured, "nothing runs|forward|\"w\"|hw1.c:2|\"s\"");
  while (edf_step_forward()) continue;
  CHECK(edf_step_backward() == n.loss, "no step");
  edf_push(n.w);                                 /* between two steps */
  CAPTURE(CHECK(!edf_step_backward(), "a step"));
  WORDS(captured, "nothing runs|\"w\"");
}

/* ---- What is printed */

static const char *where(void) {
  CAPTURE(edf_where());
  return captured;
}

TEST(where_names_the_next_node) {
  WORDS(where(), "nothing runs");
  net n = build();
  WORDS(where(), "nothing runs");
  edf_step_forward();
  WORDS(where(), "forward|h[b,j] = tanh(s[b,j])|Tanh|[b=2, 2]|hw1.c:4");
  while (edf_step_forward()) continue;
  edf_step_backward();
  WORDS(where(), "backward|m");
  edf_step_backward();
  edf_step_backward();                           /* the product h q */
  WORDS(where(), "backward|q[b,j]|for b,j: h.grad[b,j] += q.grad[b,j] 2 h[b,j]|hw1.c:5");
  while (edf_step_backward()) continue;
  WORDS(where(), "nothing runs");
}

/* ---- The first NaN */

static edf_node *find(void) {
  static edf_node *found;
  CAPTURE(found = edf_find_nan());
  return found;
}

/* Checks that x is found, and the words of the report. NULL: that there is no report. */
#define FINDS(x, words)                                                          \
  do {                                                                           \
    edf_node *node_ = find();                                                    \
    CHECK(node_ == (x), "it found %s: %s", node_ ? node_->name : "none", captured); \
    if (x) WORDS(captured, words);                                               \
    else CHECK(!*captured, "it printed %s", captured);                           \
  } while (0)

TEST(a_value_is_traced_to_its_row) {
  edf_real scores[4] = { 0, EDF_REAL_IS_DOUBLE ? -1000 : -200, 3, 4 };
  Input *s = edf_input_at("hw1.c", 1, "s[b,2]");
  CompNode *P = edf_name(edf_node1(&edf_softmax_op, "hw1.c", 2, s), "P");
  CompNode *l = edf_name(edf_node1(&edf_log_op, "hw1.c", 3, P), "l");
  Square(Sum(l));
  FINDS(NULL, "");                               /* nothing has run */
  edf_feed(s, scores, 2);
  Forward();
  FINDS(l, "l[0,1]|-inf|Log|hw1.c:3|l[b,i] = ln(P[b,i])|P[0,1] = 0");
  scores[1] = -1;
  Forward();
  FINDS(NULL, "");
  scores[3] = (edf_real)NAN;
  Forward();
  FINDS(s, "s[1,1]|nan|Input|hw1.c:1");
}

/* A NaN of a gradient is one of the node whose backward computed it. */
TEST(a_gradient_is_traced_to_its_backward) {
  Parameter *p = edf_parameter("p[3]");
  CompNode *q = edf_name(Square(p), "q"), *y = edf_name(Sqrt(q), "y");
  p->value[0] = p->value[2] = 1;
  Forward();
  Backward(y);
  FINDS(y, "q.grad[1]|inf|backward of y|y[1] = 0");
  CHECK(edf.at == -1 && p->grad[0] == (edf_real)1 / 3, "the Backward has not ended");
}

/* After a step Backward cannot run again. */
TEST(a_search_after_a_step_says_what_it_has_not_searched) {
  net n = build();
  Forward();
  Backward(n.loss);
  SGD((edf_real)0.5);
  CHECK(!find(), "it found something");
  WORDS(captured, "Gradients|\"w\"|Forward");
  n.w->value[3] = (edf_real)NAN;
  FINDS(n.w, "w[1,1]|nan|Parameter|after 1 step");
}

/* ---- Infinities on purpose */

static edf_real inf(void) { return (edf_real)INFINITY; }
static edf_real two[] = { 1, 2 }, mask[2];

/* P = softmax(x + M), where M is a mask. */
static CompNode *masked(Input **x, edf_node **M, int is_parameter) {
  *x = edf_input_at("hw1.c", 1, "x[b,2]");
  *M = is_parameter ? edf_parameter_at("hw1.c", 2, "M[2]") : edf_input_at("hw1.c", 2, "M[2]");
  mask[0] = 0;
  mask[1] = -inf();
  if (is_parameter) memcpy((*M)->value, mask, sizeof mask);
  else edf_feed(*M, mask, 1);
  edf_feed(*x, two, 1);
  return edf_name(Softmax(edf_name(Einsum("s[b,i] = x[b,i] + M[i]", *x, *M), "s")), "P");
}

TEST(a_mask_is_no_mistake) {
  Input *x;
  edf_node *M;
  for (int is_parameter = 0; is_parameter < 2; is_parameter++) {
    CompNode *P = masked(&x, &M, is_parameter);
    Parameter *w = edf_parameter("w[2]");
    w->value[0] = 1;
    CompNode *loss = edf_name(Einsum("l[b] = P[b,I] w[I]", P, w), "l");
    Forward();
    FINDS(NULL, "");
    Backward(loss);
    SGD((edf_real)0.1);
    Forward();
    FINDS(NULL, "");
    CHECK(M->value[1] == -inf() && P->value[1] == 0, "the mask");
    edf_clear();
  }
}

TEST(a_mask_does_not_hide_the_culprit) {
  Input *x;
  edf_node *M;
  for (int is_parameter = 0; is_parameter < 2; is_parameter++) {
    CompNode *P = masked(&x, &M, is_parameter);
    CompNode *d = Einsum("d[b,i] = x[b,i] - 3 M[0] - u[i]", x, M, edf_parameter("u[2]"));
    edf.parameters[is_parameter]->value[0] = 3;
    CompNode *r = edf_name(edf_node1(&edf_sqrt_op, "hw1.c", 7, d), "r");
    Sum(Mul(P, r));
    Forward();
    FINDS(r, "r[0,0]|nan|first NaN|Sqrt|hw1.c:7|d[0,0] = -2");
    edf_clear();
  }
}

/* The node that makes a NaN of a mask is named, and the mask. */
TEST(a_nan_of_an_infinity_names_both) {
  Input *x;
  edf_node *M;
  for (int is_parameter = 0; is_parameter < 2; is_parameter++) {
    CompNode *P = masked(&x, &M, is_parameter);
    CompNode *z = edf_name(Mul(P, M), "z");
    Sum(Tanh(z));
    Forward();
    FINDS(z, "z[0,1]|nan|\"z\"|infinity is from M[1] = -inf|\"M\" [2]|hw1.c:2");
    edf_clear();
  }
  CompNode *P = masked(&x, &M, 0);               /* a row in which all is masked */
  mask[0] = -inf();
  Forward();
  FINDS(P, "P[0,0]|nan|\"P\"|infinity is from M[0] = -inf|\"M\" [2]|hw1.c:2");
}

/* If the loss is infinite, the mask is the cause. */
TEST(an_infinite_loss_names_the_input) {
  Input *x;
  edf_node *M;
  CompNode *P = masked(&x, &M, 0);
  CompNode *z = Sum(P->in[0]);
  Forward();
  FINDS(M, "M[1]|-inf|first infinity|Input|hw1.c:2");
  edf_clear();
  masked(&x, &M, 0);
  z = Einsum("z = s[B,I] w", edf.compnodes[0], edf_parameter("w"));
  edf.parameters[0]->value[0] = 1;
  CompNode *last = Tanh(z);
  Forward();
  FINDS(NULL, "");
  Backward(z);                                   /* Now z is the loss. */
  FINDS(M, "M[1]|-inf|hw1.c:2");
  Backward(last);
}

/* Masks of slides have -infinity, too. */
TEST(masks_of_slides_are_no_mistake) {
  static const char *const texts[] = {
    "y[b,t] = max_s x[b,s] | s<=t, t<4", "y[b,t] = min_s x[b,s] | s<=t, t<4",
    "y[b,t] = argmin_s x[b,s] | s<=t, t<4", "y[b,i] = max_{D<3} x[b,i+D-1] | i<4",
    "N[t,s] = 1[s<=t] 1[t<=s+1] | t<4, s<4\ny[b,t] = max_s (x[b,s] + ln N[t,s])",
    "M[t,s] = ln 1[s<=t] | t<4, s<4\na[b,t,s] = softmax_s (x[b,s] + M[t,s])" };
  static edf_real rows[] = { 1, 2, 3, 4 };
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
    edf_feed(edf_input("x[b,4]"), rows, 1);
    edf_equations("%s", texts[k]);
    Forward();
    FINDS(NULL, "");
    edf_clear();
  }
  edf_feed(edf_input("x[b,4]"), rows, 1);
  CompNode *a = edf_equations("M[t,s] = ln 1[s<t] | t<4, s<4\n"
                              "a[b,t,s] = softmax_s (x[b,s] + M[t,s])");
  Forward();
  FINDS(a, "a[0,0,0]|nan|infinity is from M[0,0] = -inf");
}

/* An infinity that a node makes of finite numbers, beside one on purpose. */
TEST(an_infinity_of_a_node_is_found) {
  Input *x;
  edf_node *M;
  CompNode *P = masked(&x, &M, 0);
  edf_real large[] = { EDF_REAL_IS_DOUBLE ? 1000 : 100, 2 };
  CompNode *e = edf_name(edf_node1(&edf_exp_op, "hw1.c", 5, P->in[0]), "e");
  CompNode *q = edf_name(edf_pow_at("hw1.c", 6, e, -1), "q");
  Forward();
  FINDS(q, "q[0,1]|inf|Pow|hw1.c:6|e[0,1] = 0"); /* 1 / exp(-inf) */
  edf_feed(x, large, 1);
  Forward();
  FINDS(e, "e[0,0]|inf|Exp|hw1.c:5|s[0,0] =");
}

/* A step makes the infinity of a Parameter. */
TEST(an_infinity_of_a_step_is_found) {
  Parameter *p = edf_parameter_at("hw1.c", 1, "p[1]"), *q = edf_parameter("q[1]");
  q->value[0] = 1;
  q->update = edf_frozen;
  CompNode *loss = Einsum("l = p[I] p[I] + q[I] p[I]", p, q);
  Forward();
  Backward(loss);
  SGD(inf());
  Forward();
  FINDS(p, "p[0]|-inf|Parameter|hw1.c:1|after 1 step");
}

/* The backward of sqrt(0) is infinite, and the mask is not the cause. */
TEST(a_mask_does_not_hide_a_gradient) {
  Input *x;
  edf_node *M;
  CompNode *P = masked(&x, &M, 0);
  Parameter *p = edf_parameter("p[2]");
  CompNode *r = edf_name(Sqrt(edf_name(Square(p), "q")), "r"), *loss = Sum(Mul(P, r));
  Forward();
  Backward(loss);
  FINDS(r, "q.grad[0]|inf|backward of r");
  edf_clear();
  P = masked(&x, &M, 0);
  p = edf_parameter("p[2]");
  CompNode *u = edf_name(Min(Mul(edf_name(Square(p), "q"), M), edf_parameter("w[2]")), "u");
  p->value[0] = p->value[1] = 1;                 /* q M = -inf, and its minimum with 0 */
  loss = Sum(Tanh(u));
  Forward();
  Backward(loss);
  FINDS(u->in[0], "q.grad[1]|nan|infinity is from M[1] = -inf|hw1.c:2");
}

/* x.grad of a function at x, if y.grad is NaN or infinite. */
static double passed_on(edf_node *(*f)(edf_node *), double at, edf_real up) {
  static edf_real number[1], grad[1];
  Input *x = edf_want_grad(edf_input("x[1]")), *g = edf_input("g[1]");
  number[0] = (edf_real)at;
  grad[0] = up;
  edf_feed(x, number, 1);
  edf_feed(g, grad, 1);
  CompNode *loss = Mul(f(x), g);
  Forward();
  Backward(loss);
  double found = (double)x->grad[0];
  edf_clear();
  return found;
}

static edf_node *square(edf_node *x) { return Square(x); }
static edf_node *cube(edf_node *x) { return Pow(x, 3); }
static edf_node *size(edf_node *x) { return Abs(x); }
static edf_node *clamp(edf_node *x) { return Clamp(x, -1, 1); }
static edf_node *relu(edf_node *x) { return Relu(x); }
static edf_node *larger(edf_node *x) { return Max(x, edf_parameter("p[1]")); }
static edf_node *product(edf_node *x) { return Mul(x, x); }

TEST(a_slope_of_0_stops_a_nan) {
  static const struct { edf_node *(*f)(edf_node *); double at; } stops[] = {
    { square, 0 }, { cube, 0 }, { size, 0 }, { clamp, 2 }, { relu, -1 }, { relu, 0 },
    { larger, -1 } };
  for (size_t k = 0; k < sizeof stops / sizeof *stops; k++) {
    CLOSE(passed_on(stops[k].f, stops[k].at, inf()), 0, 0, 0);
    CLOSE(passed_on(stops[k].f, stops[k].at, (edf_real)NAN), 0, 0, 0);
  }
  double found = passed_on(product, 0, inf());
  CHECK(found != found, "a product passes on %g", found);
}

int main(void) { return harness_main(); }
