/* ps5/parts.c - the graded parts of the fifth problem set; handout.md has the same formulas. */
#include "ps5.h"
#include "grade.h"
#include <math.h>

const grade_variant grade_variants[] = {
  { "T", 0.5, 1.5, 0.01, NULL }, { "L", 0.1, 3, 0.1, NULL }, { "W", 2, 5, 0.5, NULL },
  { "C", 1, 3, 0.5, NULL }, { "N", 5, 12, 1, NULL }, { "E", 0.1, 0.3, 0.05, NULL },
  { NULL, 0, 0, 0, NULL }
};

static void define_straight(grade_tensor *y, const grade_tensor *x) {
  grade_like(y, x);
  for (size_t i = 0; i < x->size; i++) y->value[i] = x->value[i] > 0 ? 1 : -1;
}
static void straight_gradient(double *g, const double *r, const grade_tensor *x) {
  for (size_t i = 0; i < x->size; i++)
    g[i] = fabs(x->value[i]) <= grade_number("T") ? r[i] : 0;
}
static double judge_straight(const grade_part *p) {
  return grade_gradient(p, "x.grad", straight_gradient);
}

static void define_reverse(grade_tensor *y, const grade_tensor *x) {
  grade_like(y, x);
  memcpy(y->value, x->value, x->size * sizeof *x->value);
}
static void reverse_gradient(double *g, const double *r, const grade_tensor *x) {
  for (size_t i = 0; i < x->size; i++) g[i] = -grade_number("L") * r[i];
}
static double judge_reverse(const grade_part *p) {
  return grade_gradient(p, "x.grad", reverse_gradient);
}

/* Are both declared? And is neither where it is asked of a Tanh. */
#ifdef GRADE_DESK
static void call_declared(const double *in, double *out) {
  edf_node *x = edf_want_grad(edf_input("x[b,3]"));
  (void)in;
  out[0] = straight(x)->mismatch_expected;
  out[1] = reverse(x)->mismatch_expected;
}
static void call_questions(const double *in, double *out) {
  (void)in;
  graph_and_eager(out);
}
#else
#define call_declared NULL
#define call_questions NULL
#endif

static double judge_declared(const grade_part *p) {
  const double *out = grade_ask(NULL, 0, 2);
  (void)p;
  for (int i = 0; i < 2; i++)
    if (!out[i])
      printf("%s does not say that its backward is not the derivative, on purpose: a gradient "
             "check\nof a model with it would fail. See edf_expect_mismatch.\n",
             i ? "reverse" : "straight");
  return out[0] && out[1];
}

/* ---- The program of the handout, run here: nobody has written its answers down. */
static void run_graph(double *answer) {
  edf_node *w = edf_parameter("w"), *L;
  w->value[0] = grade_number("W");
  L = edf_equations("L = w^2");
  if (w->value[0] > 1) L = edf_equations("L = %g w", grade_number("C"));
  for (int step = 0; step < (int)grade_number("N"); step++) {
    edf_forward();
    edf_backward(L);
    edf_sgd(grade_number("E"));
  }
  answer[0] = w->value[0];
  answer[1] = edf.n_compnodes;
  edf_clear();
}

static void run_eager(double *answer) {
  edf_node *w = edf_parameter("w"), *L;
  w->value[0] = grade_number("W");
  edf.eager = 1;
  answer[1] = 0;
  for (int step = 0; step < (int)grade_number("N"); step++) {
    L = edf_equations("L = w^2");
    if (L->value[0] > 1) {
      L = edf_equations("L = %g w", grade_number("C"));
      answer[1]++;
    }
    edf_backward(L);
    edf_sgd(grade_number("E"));
    edf_clear_compnodes();
  }
  answer[0] = w->value[0];
  edf_clear();
}

static double question(int k) {
  static const char *const what[] = { "question a", "question b", "question c", "question d" };
  double right[4];
  const double *out = grade_ask(NULL, 0, 4);
  run_graph(right);
  run_eager(right + 2);
  if (fabs(out[k] - right[k]) <= 1e-3) return 1;
  printf("%s: %g is not what the program does\n", what[k], out[k]);
  return 0;
}
static double judge_a(const grade_part *p) { return (void)p, question(0); }
static double judge_b(const grade_part *p) { return (void)p, question(1); }
static double judge_c(const grade_part *p) { return (void)p, question(2); }
static double judge_d(const grade_part *p) { return (void)p, question(3); }

#define QUESTION(k) \
  { "question " #k, 10, judge_##k, GRADE_NUMBERS, STUDENT(call_questions), NULL, NULL, 0 }
const grade_part grade_parts[] = {
  { "straight: forward", 10, grade_forward, GRADE_NODE, STUDENT(straight), "x[b,30]",
    define_straight, 0 },
  { "straight: backward", 15, judge_straight, GRADE_NODE, STUDENT(straight), "x[b,30]", NULL,
    0 },
  { "reverse: forward", 5, grade_forward, GRADE_NODE, STUDENT(reverse), "x[b,4]",
    define_reverse, 0 },
  { "reverse: backward", 15, judge_reverse, GRADE_NODE, STUDENT(reverse), "x[b,4]", NULL, 0 },
  { "declared", 15, judge_declared, GRADE_NUMBERS, STUDENT(call_declared), NULL, NULL, 0 },
  QUESTION(a), QUESTION(b), QUESTION(c), QUESTION(d),
  { NULL, 0, NULL, GRADE_TEXT, NULL, NULL, NULL, 0 }
};
