/* Stepping: one node at a time gives what Forward and Backward give; edf_where, the first NaN,
   and values that are not written. What a debugger does inside of a Backward: gdb.sh.

   Built as: float double none sanitized shim own */
#define _POSIX_C_SOURCE 200809L                              /* capture.h */
#define HARNESS_CATCH
#include "harness.h"
#define EDF_DEBUG
#define EDF_IMPLEMENTATION
#include "edf.h"
#include "capture.h"

static edf_real data[6] = { 1, 2, (edf_real)-0.5, 4, (edf_real)0.25, -1 };

typedef struct { Input *x; Parameter *w; CompNode *s, *h, *q, *m, *loss; } net;

/* h is used twice: its gradient gets three contributions. */
static net build(void) {
  net n;
  n.x = edf_input("x[b,3]");
  n.w = edf_parameter("w[3,2]");
  for (int i = 0; i < 6; i++) n.w->value[i] = (edf_real)(0.3 * i - 0.7);
  n.s = edf_name(Einsum("s[b,j] = w[I,j] x[b,I]", n.w, n.x), "s");
  n.h = edf_name(Tanh(n.s), "h");
  n.q = edf_name(Square(n.h), "q");
  n.m = edf_name(Einsum("m[b,j] = h[b,j] h[b,j] q[b,j]", n.h, n.q), "m");
  n.loss = edf_name(Sum(n.m), "loss");
  edf_feed(n.x, data, 2);
  return n;
}

static void steps_are_the_loops(void) {
  net n = build();
  edf_real expected[6];
  edf_node *order[] = { n.s, n.h, n.q, n.m, n.loss };
  Forward();
  Backward(n.loss);
  memcpy(expected, n.w->grad, sizeof expected);
  for (int again = 0; again < 2; again++) {
    for (int i = 0; i < 5; i++) {
      edf_node *c = edf_step_forward();
      CHECK(c == order[i], "step %d ran %s", i, c ? c->name : "nothing");
    }
    CHECK(!edf_step_forward(), "a sixth step");
    for (int i = 4; i >= 0; i--) {
      edf_node *c = edf_step_backward();
      CHECK(c == order[i], "step %d ran %s backward", i, c ? c->name : "nothing");
    }
    CHECK(!edf_step_backward(), "a sixth step back");
    CHECK(!memcmp(expected, n.w->grad, sizeof expected), "the gradients differ");
  }
  edf_clear();
}

/* A feed in the middle begins anew; the last node counts where no Backward ran yet. */
static void a_feed_begins_anew(void) {
  net n = build();
  edf_step_forward();
  edf_step_forward();
  edf_feed(n.x, data, 1);
  CHECK(edf_step_forward() == n.s && n.s->dim[0] == 1, "%d rows", n.s->dim[0]);
  while (edf_step_forward()) continue;
  CHECK(edf_step_backward() == n.loss, "not from the last node");
  edf_feed(n.x, data, 2);
  CHECK(!edf_step_backward(), "it went backward without a Forward");
  edf_clear();
  CHECK(!edf_step_forward() && !edf_step_backward(), "an empty program");
  n.s = Square(edf_input("x[b,3]"));
  CHECK(!edf_step_forward(), "an input was never fed");
  edf_feed(edf.inputs[0], data, 2);
  Forward();
  CHECK(!edf_step_backward(), "nothing needs a gradient");
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
}

/* ---- What edf_where prints */

static const char *where(void) {
  capture_begin();
  edf_where();
  capture_end();
  return captured;
}

static void shows(const char *text, const char *expected) {
  CHECK(!strcmp(text, expected), "\n--- expected\n%s--- found\n%s---", expected, text);
}

/* Without the places in this file, which change. */
static const char *without_places(const char *text) {
  static char plain[2000];
  char *to = plain;
  for (; *text && to < plain + sizeof plain - 1; text++) {
    if (strncmp(text, "   tests/stepping.c:", 20)) *to++ = *text;
    else text += strcspn(text, "\n") - 1;
  }
  *to = 0;
  return plain;
}

static void where_it_is(void) {
  net n = build();
  shows(where(), "nothing runs: the program has 5 assignments\n");
  edf_step_forward();
  shows(without_places(where()),
        "forward: next is\n    1  h[b,j] = tanh(s[b,j])   Tanh [b=2, 2]\n");
  while (edf_step_forward()) continue;
  edf_want_grad(n.x);
  edf_step_backward();
  edf_step_backward();
  shows(without_places(where()),
        "backward: next is\n"
        "    2  q   Square [b=2, 2]\n"
        "       for b,j: h.grad[b,j] += q.grad[b,j] 2 h[b,j]\n"
        "       q.grad: 1 of 1 contribution, now passed on\n"
        "       h.grad: 2 of 3 contributions\n");
  edf_step_backward();
  edf_step_backward();
  CHECK(!strncmp(where(), "backward: next is\n    0  s ", 25), "%s", captured);
  edf_clear();
}

/* ---- Breakpoints by name */
static void breakpoints(void) {
  net n = build();
  edf_break("h");
  edf_break("no such node");
  Forward();
  Backward(n.loss);
  CHECK(edf__stopped_at == n.h, "it did not stop");
  edf_break(NULL);
  edf__stopped_at = NULL;
  Forward();
  CHECK(!edf__stopped_at && !(edf.look & EDF__BREAKS), "it stopped again");
  edf_break("h");
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
}

/* ---- The first NaN */

static const char *report(edf_node *expected) {
  capture_begin();
  edf_node *found = edf_find_nan();
  capture_end();
  CHECK(found == expected, "found %s", found ? found->name : "nothing");
  return without_places(captured);
}

static void nan_of_a_value(void) {
  edf_real scores[4] = { 0, -200, 3, 4 };
  Input *s = edf_input("s[b,2]");
  if (EDF_REAL_IS_DOUBLE) scores[1] = -1000;
  CompNode *P = edf_name(Softmax(s), "P"), *l = edf_name(Log(P), "l");
  Square(Sum(l));
  edf_feed(s, scores, 2);
  edf.look = 0;                         /* it would be told by itself, and once              */
  Forward();
  shows(report(l), EDF_REAL_IS_DOUBLE
        ? "edf_find_nan: l[0,1] is -inf: of 4 entries 1 is NaN or infinite\n"
          "  l   Log [b=2, 2]\n  l[b,i] = ln(P[b,i])\n"
          "  from P[0,1] = 0, its row 0 to 1   Softmax [b=2, 2]\n"
          "  from s[0,1] = -1000, its row -1000 to 0   Input [b=2, 2]\n"
        : "edf_find_nan: l[0,1] is -inf: of 4 entries 1 is NaN or infinite\n"
          "  l   Log [b=2, 2]\n  l[b,i] = ln(P[b,i])\n"
          "  from P[0,1] = 0, its row 0 to 1   Softmax [b=2, 2]\n"
          "  from s[0,1] = -200, its row -200 to 0   Input [b=2, 2]\n");
  scores[1] = -1;
  Forward();
  report(NULL);
  scores[3] = (edf_real)NAN;
  Forward();
  shows(report(s), "edf_find_nan: s[1,1] is nan: of 4 entries 1 is NaN or infinite\n"
                   "  s   Input [b=2, 2]\n  it was fed so\n");
  edf_clear();
}

/* A sum that overflows: its greatest product, also behind an offset. */
static void nan_of_a_sum(void) {
  Parameter *a = edf_parameter("a[4]"), *c = edf_parameter("c[2]");
  edf_real large = (edf_real)(EDF_REAL_IS_DOUBLE ? 1e308 : 3e38);
  for (int i = 0; i < 4; i++) a->value[i] = (edf_real)i;
  c->value[0] = 1;
  c->value[1] = large;
  CompNode *y = edf_name(Einsum("y[i] = a[i+D] c[D]", a, c), "y");
  edf.look = 0;
  Forward();
  const char *text = report(y);
  CHECK(strstr(text, "y[1] is inf: of 3 entries 2 are"), "%s", text);
  CHECK(strstr(text, "the greatest of its products is "), "%s", text);
  CHECK(strstr(text, "\n  from a[2] = 2"), "%s", text);
  edf_clear();
}

static void nan_of_a_gradient(void) {
  Parameter *p = edf_parameter("p[3]");
  CompNode *q = Square(p), *y = edf_name(Sqrt(q), "y");
  p->value[0] = p->value[2] = 1;
  edf.look = 0;
  Forward();
  Backward(y);
  const char *text = report(y);
  CHECK(strstr(text, ".grad[1] is inf: of 3 entries 1 is NaN"), "%s", text);
  CHECK(strstr(text, "computed by the backward of y"), "%s", text);
  CHECK(strstr(text, "from y[1] = 0"), "%s", text);
  edf_clear();
}

/* ---- EDF_DEBUG: what forward or backward forgets is NaN, and told once by itself. */

static void forgetful_forward(CompNode *y) {
  for (size_t i = 1; i < y->size; i++) y->value[i] = y->in[0]->value[i];
}
static void no_backward(CompNode *y) { (void)y; }

static void what_is_forgotten(void) {
  Parameter *p = edf_parameter("p[3]");
  CompNode *y = edf_name(edf_compnode("Forgetful", forgetful_forward, no_backward, p), "y");
  CompNode *z = Square(y);
  capture_begin();
  Forward();
  Forward();
  capture_end();
  CHECK(y->value[0] != y->value[0] && y->value[1] == 0, "y[0] is %g", (double)y->value[0]);
  char *once = strstr(captured, "y[0] is nan");
  CHECK(once && !strstr(once + 9, "is nan"), "%s", captured);
  Backward(z);
  CHECK(p->grad[0] == 0, "a gradient that nobody writes is 0");
  edf_clear();
}

int main(void) {
  RUN(steps_are_the_loops);
  RUN(a_feed_begins_anew);
  RUN(where_it_is);
  RUN(breakpoints);
  RUN(nan_of_a_value);
  RUN(nan_of_a_sum);
  RUN(nan_of_a_gradient);
  RUN(what_is_forgotten);
  return harness_report();
}
