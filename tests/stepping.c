/* Stepping: one node at a time gives what Forward and Backward give; edf_where, the first NaN,
   and values that are not written. Whole sessions are compared with tests/golden/: what is
   called, what that prints, and the node that it gives. What a debugger itself does: gdb.sh.

     cc -I. tests/stepping.c -o build/stepping -lm && build/stepping --write

   Built as: float double none sanitized shim own */
#define _POSIX_C_SOURCE 200809L                              /* capture.h */
#define HARNESS_CATCH
#include "harness.h"

/* In a breakpoint a debugger's user types; here that is a call, where edf_breakpoint notes the
   node. */
#define edf__stopped_at (*typed_at())
#define EDF_DEBUG
#define EDF_IMPLEMENTATION
#include "edf.h"
#include "capture.h"
#include "golden.h"

static edf_node *volatile stop;
static void (*typed)(void);
static edf_node *volatile *typed_at(void) {
  if (typed && edf.held) typed();
  return &stop;
}

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
  static char plain[sizeof captured];
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
  long live = memory.live;
  edf_break("h");
  edf_break("q");
  edf_break(NULL);
  CHECK(memory.live == live, "%ld blocks more", memory.live - live);
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

/* ---- Sessions */

static int own_stderr;

static void session_begin(void) {
  capture_begin();
  own_stderr = dup(STDERR_FILENO);
  dup2(STDOUT_FILENO, STDERR_FILENO);
}

static void session_end(const char *name) {
  dup2(own_stderr, STDERR_FILENO);
  close(own_stderr);
  capture_end();
  golden(name, golden_plain(captured));
}

static long flushed;

static void note(const char *text) {
  printf("%s\n", text);
  fflush(stdout);                        /* messages come unbuffered                          */
  flushed = (long)lseek(STDOUT_FILENO, 0, SEEK_CUR);
}

/* In a debugger what is printed must show at once. */
static void shows_at_once(void) {
  if (lseek(STDOUT_FILENO, 0, SEEK_CUR) == flushed) printf("it waits for more\n");
}

static void given(const edf_node *x) {
  printf("= %s\n", x ? x->name : "NULL");
  fflush(stdout);
  flushed = (long)lseek(STDOUT_FILENO, 0, SEEK_CUR);
}

#define DO(call)    do { note("> " #call); call; } while (0)
#define GIVES(call) do { note("> " #call); given(call); } while (0)

static void numbers(const char *what, const edf_real *v, size_t n) {
  printf("%s", what);
  for (size_t i = 0; i < n; i++) printf(" %g", (double)v[i]);
  note("");
}

/* A gradient with two contributions of an equation, one of a node, two of a node that reads it
   twice; u is no use to backward, and d and the last one lie behind the loss. */
static net build_all(void) {
  static const edf_real x[6] = { 1, 2, 0, 3, 0, 1 }, t[4] = { 1, 2, 3, 4 };
  net n;
  n.x = edf_want_grad(edf_input("x[b,3]"));
  n.w = edf_parameter("w[3,2]");
  for (int i = 0; i < 6; i++) n.w->value[i] = (edf_real)(i % 3 + 1);
  Input *in = edf_input("t[b,2]");
  n.s = edf_name(Einsum("s[b,j] = w[I,j] x[b,I]", n.w, n.x), "s");
  n.h = edf_name(Relu(n.s), "h");
  n.q = edf_name(Square(n.h), "q");
  CompNode *u = edf_name(Square(in), "u"), *d = edf_name(Div(n.h, n.h), "d");
  n.m = edf_name(Einsum("m[b,j] = 2 h[b,j] h[b,j] q[b,j] - u[b,j]", n.h, n.q, u), "m");
  n.loss = edf_name(Sum(n.m), "loss");
  edf_name(Mul(d, n.m), "last");
  edf_feed(n.x, x, 2);
  edf_feed(in, t, 2);
  return n;
}

static void a_step(edf_node *(*step)(void)) {
  given(step());
  edf_where();
  shows_at_once();
}

static void a_session(void) {
  session_begin();
  DO(edf_where());
  net n = build_all();
  DO(edf_where());
  for (int i = 0; i < 9; i++) DO(a_step(edf_step_forward));
  numbers("m", n.m->value, 4);
  note("---- from the last node");
  GIVES(edf_step_backward());
  numbers("q.grad, of which nothing has arrived,", n.q->grad, 4);
  for (int i = 0; i < 6; i++) DO(a_step(edf_step_backward));
  numbers("w.grad", n.w->grad, 6);
  note("---- from the loss of the last Backward");
  Forward();
  Backward(n.loss);
  for (int i = 0; i < 6; i++) DO(a_step(edf_step_backward));
  numbers("w.grad", n.w->grad, 6);
  numbers("x.grad", n.x->grad, 6);
  session_end("stepping.txt");
  edf_clear();
}

/* Where nothing can run, it is said, and nothing runs. */
static void sessions_that_cannot_begin(void) {
  session_begin();
  GIVES(edf_step_forward());
  GIVES(edf_step_backward());
  Input *x = edf_input("x[b]"), *y = edf_input("y[b]");
  CompNode *s = edf_name(Add(x, y), "s");
  edf_feed(x, data, 2);
  GIVES(edf_step_forward());
  GIVES(edf_step_backward());
  edf_feed(y, data, 2);
  GIVES(edf_step_backward());
  GIVES(edf_step_forward());
  GIVES(edf_step_backward());
  edf_want_grad(y);
  GIVES(edf_step_backward());
  numbers("y.grad", y->grad, 2);
  edf_feed(y, data, 2);
  GIVES(edf_step_backward());
  GIVES(edf_step_forward());
  numbers("s", s->value, 2);
  session_end("stepping_refused.txt");
  edf_clear();
}

/* ---- Nodes that say when they run, and what edf_where says from inside */

static int asks;

static void copy_forward(CompNode *y) {
  memcpy(y->value, y->in[0]->value, y->size * sizeof *y->value);
  printf("forward of %s\n", y->name);
  if (asks) edf_where();
}

static void copy_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, y->grad[i]);
  printf("backward of %s\n", y->name);
  if (asks) edf_where();
}

static CompNode *copy_of(CompNode *x, const char *name) {
  return edf_name(edf_compnode("Copy", copy_forward, copy_backward, x), name);
}

typedef struct { Parameter *p; CompNode *a, *b, *c, *side, *loss; } chain;

static chain build_chain(void) {
  chain n;
  n.p = edf_parameter("p[2]");
  n.p->value[0] = 3;
  n.p->value[1] = 5;
  n.a = copy_of(n.p, "a");
  n.b = copy_of(n.a, "b");
  n.side = copy_of(n.a, "side");
  n.c = copy_of(n.b, "c");
  n.loss = edf_name(Sum(n.c), "loss");
  return n;
}

static void where_from_inside(void) {
  session_begin();
  chain n = build_chain();
  asks = 1;
  DO(Forward());
  DO(edf_forward_to(n.loss));
  DO(Backward(n.loss));
  asks = 0;
  session_end("stepping_inside.txt");
  edf_clear();
}

/* ---- Breakpoints, and what is typed in them: so many steps, at most so many times */

static int steps, stops;

static void type_steps(void) {
  int way = edf.direction;
  if (stops-- <= 0) return;
  printf("stopped at %s\n", edf.compnodes[edf.at]->name);
  edf_where();
  fflush(stdout);
  given(way > 0 ? edf_step_backward() : edf_step_forward());
  for (int i = 0; i < steps && edf.direction; i++)
    given(way > 0 ? edf_step_forward() : edf_step_backward());
  if (steps) edf_where();
}

static void runs(CompNode *loss, int n, int times) {
  printf("---- %d steps in a breakpoint\n", n);
  fflush(stdout);
  steps = n;
  stops = 2 * times;
  DO(Forward());
  DO(Backward(loss));
  note("over");
  edf_where();
  numbers("p.grad", edf.parameters[0]->grad, 2);
}

static void steps_in_breakpoints(void) {
  session_begin();
  typed = type_steps;
  DO(edf_break(NULL));
  DO(edf_break("b"));
  chain n = build_chain();
  for (int i = 0; i < 6; i += i < 2 ? 1 : 3) runs(n.loss, i, 1);
  DO(edf_break("p"));
  DO(edf_break("a"));
  DO(edf_break("loss"));
  DO(edf_break(NULL));
  DO(edf_break("b"));
  DO(edf_break("c"));
  runs(n.loss, 0, 2);
  runs(n.loss, 1, 2);
  note("---- steps do not stop at b and c");
  for (int i = 0; i < 6; i++) GIVES(edf_step_forward());
  GIVES(edf_step_backward());
  note("---- but what runs then does");
  DO(edf_break(NULL));
  DO(edf_break("loss"));
  runs(n.loss, 1, 2);
  DO(edf_break(NULL));
  runs(n.loss, 0, 2);
  typed = NULL;
  session_end("stepping_breaks.txt");
  edf_clear();
}

/* edf_breakpoint gets the node, its name and the way, and notes the node if none is empty. */
static void what_a_breakpoint_gets(void) {
  chain n = build_chain();
  edf_breakpoint(n.a, "a", "forward");
  CHECK(stop == n.a, "it is not noted");
  edf_breakpoint(n.b, "", "forward");
  CHECK(!stop, "it is noted without a name");
  edf_breakpoint(n.c, "c", "backward");
  CHECK(stop == n.c, "it is not noted");
  edf_breakpoint(n.b, "b", "");
  CHECK(!stop, "it is noted without a way");
  edf_clear();
}

/* ---- Where a NaN began, entry by entry */

static const double six[] = { 3, 1, 2, 5, 4, 0 }, three[] = { 1, 0, 4 };

static Parameter *parameter_of(const char *decl, const double *is) {
  Parameter *p = edf_parameter("%s", decl);
  for (size_t i = 0; i < p->size; i++) p->value[i] = (edf_real)is[i];
  return p;
}

static edf_node *found(void) {
  edf_node *x = edf_find_nan();
  if (x) shows_at_once();
  return x;
}

static edf_node *found_after(void (*run)(void)) {
  edf.look = 0;                         /* it would be told by itself, and once              */
  if (run) run();
  return found();
}

#define FIND(call) \
  do { note("> edf_find_nan() after " #call); given(found_after(call)); } while (0)

/* Element by element one step back, or two; rows are shown from the second index on. */
static void nan_of_elements(void) {
  Parameter *p = parameter_of("p[2,3]", six), *v = parameter_of("v[3]", three);
  FIND(NULL);
  edf_name(Log(p), "y");
  FIND(NULL);
  FIND(edf_forward);
  edf_clear_compnodes();
  edf_name(Log(edf_name(Relu(edf_name(Sub(v, edf_parameter("o")), "s")), "r")), "y");
  FIND(edf_forward);
  edf_clear_compnodes();
  edf_name(Log(edf_name(Sum(edf_name(Sub(p, p), "o")), "s")), "y");
  edf_name(Square(edf.compnodes[2]), "z");
  FIND(edf_forward);
  edf_clear();
  edf_name(Log(parameter_of("p[3,1]", three)), "y");
  FIND(edf_forward);
  edf_clear();
}

/* A shorter operand repeats; of a longer one the row's least entry is shown. */
static void nan_of_rows(void) {
  static const edf_real labels[4] = { 0, 2, 1, 0 };
  static const double flat[] = { 2, 1, 4, 2, 3, -5, 1, 9, 3, 0, -7, 0, 3, -6, 5, 1 };
  Parameter *p = parameter_of("p[2,3]", six), *v = parameter_of("v[3]", six + 3);
  edf_name(Div(p, v), "y");
  FIND(edf_forward);
  edf_clear_compnodes();
  Input *t = edf_input("t[2]");
  edf_feed(t, labels, 1);
  edf_name(LogLoss(p, t), "y");
  FIND(edf_forward);
  edf_clear();
  p = parameter_of("p[2,2,4]", flat);
  t = edf_input("t[2,2]");
  edf_feed(t, labels, 1);
  edf_name(LogLoss(p, t), "y");
  FIND(edf_forward);
  edf_clear();
}

/* A node of the user's: nothing is known of what an entry is computed from, but that as many
   entries often are in the same order. */
static int first_is_inf;
static void bad_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = y->in[0]->value[0];
  y->value[1] = first_is_inf ? (edf_real)INFINITY : (edf_real)NAN;
}
static void two_shape(CompNode *y) { y->rank = 1; y->dim[0] = 2; }

static void nan_of_own_nodes(void) {
  Parameter *p = parameter_of("p[3]", three), *q = parameter_of("q[2,2]", six);
  edf_name(edf_compnode_shaped("Bad", two_shape, bad_forward, NULL, p, q), "y");
  FIND(edf_forward);
  edf_clear_compnodes();
  edf_name(edf_compnode("Bad", bad_forward, NULL, Tanh(Square(p))), "y");
  for (first_is_inf = 0; first_is_inf < 2; first_is_inf++) {
    edf.look = EDF__POISON;
    edf_forward();
    note("> edf_find_nan(), with EDF_DEBUG");
    given(found());
  }
  edf_clear();
}

static void nan_of_leaves(void) {
  static edf_real x[8] = { 1, (edf_real)NAN, 0, (edf_real)INFINITY, 2, 3, 0, 1 };
  Input *in = edf_input("x[b,3]"), *t = edf_input("t[2]");
  Parameter *p = parameter_of("p[2]", six);
  edf_name(Mul(p, t), "y");
  edf_name(Log(in), "z");
  FIND(NULL);                                  /* what was never fed does not count */
  edf_feed(t, x + 4, 1);
  edf_feed(in, x, 1);
  FIND(NULL);                                  /* nor what another batch has been   */
  FIND(edf_forward);
  edf_feed(in, x, 2);
  FIND(NULL);
  FIND(edf_forward);
  edf_feed(in, x + 4, 1);
  FIND(edf_forward);
  edf_feed(t, x + 3, 1);
  FIND(NULL);
  p->value[1] = -(edf_real)INFINITY;
  p->steps = 7;
  edf_feed(t, x + 4, 1);
  FIND(NULL);
  edf_clear();
}

static void nan_of_values(void) {
  session_begin();
  nan_of_elements();
  nan_of_rows();
  nan_of_own_nodes();
  nan_of_leaves();
  session_end("stepping_nan.txt");
}

/* What lies outside of a row, or behind a bound, is no product, though it would be greater. */
static void products_outside(void) {
  static const double below[] = { 0, 1.1e308, 1e308, 1e308 }, f[] = { 1.5, 1, 1 };
  static const double above[] = { 0, 1e308, 1.1e308, 0 }, g[] = { 1, 1.5 };
  static const double first[] = { 1e308, 1e308, 0 }, h[] = { 1.7e308, 1, 1 };
  static const double bound[] = { -1.6e308, 1e308, 1e308, 0 };
  edf_name(Einsum("y[i,j] = a[i,j+D-1] f[D] | j<3", parameter_of("a[2,2]", below),
                  parameter_of("f[3]", f)), "y");
  FIND(edf_forward);
  edf_clear();
  edf_name(Einsum("y[i,j] = a[i,j+D] g[D] + a[i,j] | j<2", parameter_of("a[2,2]", above),
                  parameter_of("g[2]", g)), "y");
  FIND(edf_forward);
  edf_clear();
  edf_name(Einsum("y[i] = d[i+D-1] h[D] | i<3", parameter_of("d[3]", first),
                  parameter_of("h[3]", h)), "y");
  FIND(edf_forward);
  edf_clear();
  edf_name(Einsum("y[i] = d[i-J] | i<5, J<2", parameter_of("d[4]", bound)), "y");
  FIND(edf_forward);
  edf_clear();
}

/* A sum of products that overflows: its greatest product, also of the second term, behind an
   offset, with a number before it, and the first of two that are alike. */
static void sixteen_letters(void) {
  static const double x = 1e308, z = 10;
  Parameter *p = parameter_of("x[1,1,1,1,1,1,1,1]", &x);
  Parameter *q = parameter_of("z[1,1,1,1,1,1,1,1]", &z);
  edf_name(Einsum("y[a,b,c,d,e,f,g,h] = x[a,b,c,d,e,f,g,h] z[I,J,K,L,M,N,O,P]", p, q), "y");
  FIND(edf_forward);
  edf_clear();
}

static void nan_of_products(void) {
  static const double a[] = { 1e308, 5e307, 3e307, 1.5e308 }, c[] = { 1, 1, 0.5, 1.125 };
  static const double d[] = { 1e308, 1e308, 7 }, e[] = { 8, 1, 1 }, g[] = { 1, 3 };
  static const double large[] = { 1e300, 1e308 };
  session_begin();
  Parameter *p = parameter_of("a[2,2]", a), *q = parameter_of("c[2,2]", c);
  Parameter *r = parameter_of("d[3]", d), *s = parameter_of("e[3]", e);
  Parameter *f = parameter_of("f", d), *t = parameter_of("g[2]", g);
  edf_name(Einsum("y[i,j] = a[i,K] c[K,j]", p, q), "y");
  FIND(edf_forward);
  edf_clear_compnodes();
  edf_name(Einsum("y[i] = d[i+D-1] e[D] | i<5", r, s), "y");
  FIND(edf_forward);
  edf_clear_compnodes();
  f->value[0] = (edf_real)large[0];
  edf_name(Einsum("y[i] = e[i+1] - 0.5 d[i+1] g[K] + f e[S]", s, r, t, f), "y");
  FIND(edf_forward);
  edf_clear_compnodes();
  f->value[0] = (edf_real)large[1];
  s->value[1] = s->value[2] = 5;
  edf_name(Einsum("y = 3 e[S] + 0.125 e[S] f", s, f), "y");
  FIND(edf_forward);
  edf_clear_compnodes();
  edf_name(Einsum("y[i,j] = e[j] - d[i] e[j] e[j]", s, r), "y");
  FIND(edf_forward);
  edf_clear();
  products_outside();
  sixteen_letters();
  session_end("stepping_products.txt");
}

/* ---- Of a gradient: the node whose own gradient is good, and that of an input no more. */

static void spoil_backward(CompNode *y) {
  y->in[0]->grad[1] = (edf_real)INFINITY;
  if (y->n_in > 1) y->in[1]->grad[0] = (edf_real)INFINITY;
}

static void sum_shape(CompNode *y) { y->rank = 0; }

static void sum_forward(CompNode *y) {
  y->value[0] = 0;
  for (size_t i = 0; i < y->in[0]->size; i++) y->value[0] += y->in[0]->value[i];
}

static void nan_of_gradients(void) {
  session_begin();
  edf.look = 0;
  Parameter *p = parameter_of("p[2,2]", six), *z = edf_parameter("z[3]");
  CompNode *q = edf_name(Square(p), "q"), *r = edf_name(Square(q), "r");
  CompNode *y = edf_name(edf_compnode("Spoil", copy_forward, spoil_backward, r), "y");
  CompNode *l = edf_name(Add(Sum(y), Sum(Square(z))), "loss");
  CompNode *aside = Sum(edf_name(Tanh(r), "aside"));         /* it has an older gradient */
  Forward();
  Backward(aside);
  given(found());
  DO(Backward(l));
  given(found());
  edf_clear_compnodes();
  CompNode *s = edf_compnode_shaped("SumOf", sum_shape, sum_forward, spoil_backward, p, z);
  Forward();
  DO(Backward(edf_name(s, "s")));
  given(found());
  edf_clear_compnodes();
  edf_name(Sqrt(z), "root");
  Forward();
  DO(Backward(edf.compnodes[0]));
  given(found());
  edf_clear_compnodes();
  p->value[3] = 1;
  q = edf_name(Square(p), "q");
  l = edf_name(Sum(q), "loss");
  Forward();
  Backward(l);
  q->grad[0] = l->grad[0] = (edf_real)NAN;                   /* by hand: no node has begun it */
  given(found());
  session_end("stepping_nan_grad.txt");
  edf_clear();
}

/* ---- EDF_DEBUG tells the first one by itself: of a value, of a gradient, and not twice. */
static void told_by_itself(void) {
  static const edf_real bad[1] = { (edf_real)NAN };
  session_begin();
  Parameter *p = parameter_of("p[2,2]", six);
  CompNode *y = edf_compnode("Forgetful", forgetful_forward, no_backward, p);
  CompNode *l = edf_name(Sum(Square(edf_name(y, "y"))), "loss");
  DO(Forward());
  DO(Forward());
  DO(Backward(l));
  edf_clear();
  p = parameter_of("p[2,2]", six);
  y = edf_name(edf_compnode("Spoil", copy_forward, spoil_backward, Square(p)), "y");
  l = edf_name(Sum(Square(y)), "loss");
  DO(Forward());
  DO(Backward(l));
  DO(Backward(l));
  edf_clear();
  p = parameter_of("p[2]", three);
  edf_name(Log(edf_name(Square(p), "q")), "y");
  DO(Forward());
  DO(Forward());
  edf_clear();
  note("---- what is fed is told, and not blamed on a gradient");
  Input *x = edf_input("x[b]");
  p = parameter_of("p", three);
  edf_name(Div(Relu(x), p), "y");
  edf_name(Mul(p, x), "z");
  edf_feed(x, bad, 1);
  DO(Forward());
  DO(Backward(edf.compnodes[1]));
  edf_clear();
  note("---- a parameter too");
  static const double not_a_number[1] = { (double)NAN };
  static const edf_real one[1] = { 1 };
  p = parameter_of("p", not_a_number);
  x = edf_input("x[b]");
  CompNode *z = edf_name(Mul(p, x), "z");
  edf_feed(x, one, 1);
  DO(Forward());
  DO(Backward(z));
  session_end("stepping_debug.txt");
  edf_clear();
}

/* With EDF_DEBUG what is about to be computed is NaN; without, it is as it was. */
static void look(CompNode *y) {
  numbers(y->name, y->value, y->size);
  copy_forward(y);
}

static void look_at_inputs(CompNode *y) {
  numbers(y->name, y->in[0]->grad, y->in[0]->size);
  numbers("p.grad", edf.parameters[0]->grad, 2);
  copy_backward(y);
}

static void what_is_not_written(void) {
  session_begin();
  for (int debug = 1; debug >= 0; debug--) {
    chain n = build_chain();
    edf.look = debug ? (unsigned)EDF__POISON : 0;
    n.b->forward = look;
    n.b->backward = look_at_inputs;
    DO(edf_break("loss"));
    DO(Forward());
    n.b->value[0] = 7;
    DO(Forward());
    DO(Backward(n.loss));
    DO(Backward(n.loss));
    edf_clear();
  }
  session_end("stepping_poison.txt");
}

int main(int argc, char **argv) {
  golden_arguments(argc, argv);
  RUN(steps_are_the_loops);
  RUN(a_feed_begins_anew);
  RUN(where_it_is);
  RUN(breakpoints);
  RUN(nan_of_a_value);
  RUN(nan_of_a_sum);
  RUN(nan_of_a_gradient);
  RUN(what_is_forgotten);
  RUN(a_session);
  RUN(sessions_that_cannot_begin);
  RUN(where_from_inside);
  RUN(steps_in_breakpoints);
  RUN(what_a_breakpoint_gets);
  RUN(nan_of_values);
  RUN(nan_of_gradients);
  RUN(told_by_itself);
  RUN(what_is_not_written);
  if (EDF_REAL_IS_DOUBLE) RUN(nan_of_products);
  return harness_report();
}
