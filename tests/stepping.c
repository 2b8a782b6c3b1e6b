/* stepping.c - one node at a time gives what Forward and Backward give, edf_where names the
   next node, and edf_find_nan names the node that made the first NaN. */

#include "harness.h"
#include "edf.h"

typedef struct { Input *x; Parameter *w; CompNode *s, *h, *q, *m, *loss; } net;

static edf_real data[6] = { 1, 2, (edf_real)-0.5, 4, (edf_real)0.25, -1 };

/* The gradient of h gets three contributions. */
static net build(void) {
  net n;
  n.x = edf_input_at("hw1.c", 1, "x[b,3]");
  n.w = edf_parameter_at("hw1.c", 2, "w[3,2]");
  for (int i = 0; i < 6; i++) n.w->value[i] = (edf_real)(0.3 * i - 0.7);
  n.s = edf_name(Einsum("s[b,j] = w[I,j] x[b,I]", n.w, n.x), "s");
  n.h = edf_name(edf_tanh_at("hw1.c", 4, n.s), "h");
  n.q = edf_name(edf_square_at("hw1.c", 5, n.h), "q");
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
  CompNode *P = edf_name(edf_softmax_at("hw1.c", 2, s), "P");
  CompNode *l = edf_name(edf_log_at("hw1.c", 3, P), "l");
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
  FINDS(n.w, "w[1,1]|nan|Parameter|after 1 steps");
}

int main(void) { return harness_main(); }
