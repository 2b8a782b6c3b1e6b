/* ps1/parts.c - the graded parts of the first problem set; handout.md has the same formulas. */
#include "ps1.h"
#include "grade.h"
#include "named.h"
#include <math.h>

const grade_variant grade_variants[] = {
  { "A", 2, 29, 1, NULL }, { "D", 2, 29, 1, NULL }, { "C", 0.05, 0.4, 0.01, NULL },
  { "T", 1.5, 4, 0.1, NULL }, { "E", 0.05, 0.3, 0.01, NULL },
  /* Another function, side or sign needs another program, and not only another number. */
  { "F", 0, 0, 0, "sqrt log atan" }, { "G", 0, 0, 0, "> <" }, { "Z", 0, 0, 0, "+ -" },
  { NULL, 0, 0, 0, NULL }
};

/* ---- L = F(A x^2 + D y^2), and its slopes: of the L that is asked for. */
#ifdef GRADE_DESK
static void call_by_hand(const double *in, double *out) {
  by_hand(in[0], in[1], &out[0], &out[1], &out[2]);
}
#else
#define call_by_hand NULL
#endif

static double curve(double A, double x, double D, double y) {
  const char *F = grade_word("F");
  double u = A * x * x + D * y * y;
  return *F == 's' ? sqrt(u) : *F == 'l' ? log(u) : atan(u);
}

static double judge_by_hand(const grade_part *p) {
  double A = grade_number("A"), D = grade_number("D");
  (void)p;
  for (int turn = 0; turn < 5; turn++) {
    double in[2] = { grade_uniform(-3, 3), grade_uniform(0.5, 3) };
    const double *out = grade_ask(in, 2, 3);
    double x = in[0], y = in[1], h = 1e-5;
    double dx = curve(A, x + h, D, y) - curve(A, x - h, D, y);
    double dy = curve(A, x, D, y + h) - curve(A, x, D, y - h);
    char where[64];
    snprintf(where, sizeof where, "at x = %.3g, y = %.3g", x, y);
    if (!grade_same(edf_fmt("%s: L", where), out[0], curve(A, x, D, y)) ||
        !grade_same(edf_fmt("%s: dL/dx", where), out[1], dx / (2 * h)) ||
        !grade_same(edf_fmt("%s: dL/dy", where), out[2], dy / (2 * h))) return 0;
  }
  return 1;
}

/* ---- The slope of a function of four numbers, c0 x0^3 + c1 x0 x1 + c2 x1 x2^2 + c3 x3. */
#ifdef GRADE_DESK
static const double *cubic;
static double cubic_at(const double *x) {
  const double *c = cubic;
  return c[0] * x[0] * x[0] * x[0] + c[1] * x[0] * x[1] + c[2] * x[1] * x[2] * x[2] +
         c[3] * x[3];
}
static void call_slope(const double *in, double *out) {
  cubic = in;
  for (int i = 0; i < 4; i++) out[i] = in[4 + i];
  for (int i = 0; i < 4; i++) out[4 + i] = slope(cubic_at, out, i);
}
#else
#define call_slope NULL
#endif

static double judge_slope(const grade_part *p) {
  double in[8], *c = in, *x = in + 4;
  (void)p;
  for (int i = 0; i < 8; i++) in[i] = grade_uniform(1, 2) * (i < 5 ? 1 : 0.01);
  const double *out = grade_ask(in, 8, 8);
  double right[4] = { 3 * c[0] * x[0] * x[0] + c[1] * x[1], c[1] * x[0] + c[2] * x[2] * x[2],
                      2 * c[2] * x[1] * x[2], c[3] };
  for (int i = 0; i < 4; i++) {
    if (out[i] != x[i]) {
      printf("slope leaves x[%d] at %.17g, and has found it at %.17g\n", i, out[i], x[i]);
      return 0;
    }
    if (fabs(out[4 + i] - right[i]) > 4e-9) {
      printf("the slope along x[%d] is %.12g, expected %.12g%s\n", i, out[4 + i], right[i],
             fabs(out[4 + i] - right[i]) < 1e-3 ? ": nearly; are both sides tried?" : "");
      return 0;
    }
  }
  return 1;
}

/* ---- Nodes */
static void define_relu(grade_tensor *y, const grade_tensor *x) {
  double C = grade_number("C"), side = *grade_word("G") == '>' ? 1 : -1;
  grade_like(y, x);
  for (size_t i = 0; i < x->size; i++)
    y->value[i] = side * x->value[i] > 0 ? x->value[i] : C * x->value[i];
}

static void define_softmax(grade_tensor *P, const grade_tensor *s) {
  double T = grade_number("T") * (*grade_word("Z") == '+' ? 1 : -1);
  int K = s->dim[1];
  grade_like(P, s);
  for (int b = 0; b < s->dim[0]; b++) {
    const double *row = s->value + b * K;
    double sum = 0, most = row[0] / T;
    for (int k = 0; k < K; k++) most = fmax(most, row[k] / T);
    for (int k = 0; k < K; k++) sum += exp(row[k] / T - most);
    for (int k = 0; k < K; k++) P->value[b * K + k] = exp(row[k] / T - most) / sum;
  }
}

static void define_logloss(grade_tensor *l, const grade_tensor *in) {
  const grade_tensor *P = &in[0], *y = &in[1];
  double E = grade_number("E");
  int K = P->dim[1];
  grade_shape(l, 1, P->dim[0], 0, 0);
  for (int b = 0; b < P->dim[0]; b++) {
    l->value[b] = -(1 - E) * log(P->value[b * K + (int)y->value[b]]);
    for (int k = 0; k < K; k++) l->value[b] -= E / K * log(P->value[b * K + k]);
  }
}

/* It is the same where 5000 is added to all scores. Where it is added to one, this one gets
   all, or nothing. exp must not overflow, whichever is the greatest. */
static double judge_large(const grade_part *p) {
  return grade_shifted(p, 5000) && grade_shifted(p, -5000) && grade_spread(p, 5000) &&
         grade_spread(p, -5000);
}

/* ---- Digits, drawn now: half of them come without their labels. */
enum { TRAIN = 3000, TEST = 1000, MOST_WRONG = 10 };
#ifdef GRADE_DESK
static void call_digits(const double *in, double *out) {
  static int answer[TEST];
  const double *x = in, *y = x + TRAIN * DIGITS_PIXELS, *x_test = y + TRAIN;
  learn_digits(x, y, TRAIN, x_test, TEST, answer);
  for (int i = 0; i < TEST; i++) out[i] = answer[i];
}
#else
#define call_digits NULL
#endif

static double judge_digits(const grade_part *p) {
  (void)p;
  return digits_named(TRAIN, TEST, MOST_WRONG);
}

const grade_part grade_parts[] = {
  { "by hand", 10, judge_by_hand, GRADE_NUMBERS, STUDENT(call_by_hand), NULL, NULL, 0 },
  { "slope", 10, judge_slope, GRADE_NUMBERS, STUDENT(call_slope), NULL, NULL, 0 },
  { "relu: forward", 5, grade_forward, GRADE_NODE, STUDENT(my_relu), "x[b,7]", define_relu, 0 },
  { "relu: backward", 10, grade_backward, GRADE_NODE, STUDENT(my_relu), "x[b,7]", define_relu,
    0 },
  { "softmax of large scores", 5, judge_large, GRADE_NODE, STUDENT(my_softmax), "s[b,5]",
    define_softmax, 0 },
  { "softmax: forward", 5, grade_forward, GRADE_NODE, STUDENT(my_softmax), "s[b,5]",
    define_softmax, 0 },
  { "softmax: backward", 15, grade_backward, GRADE_NODE, STUDENT(my_softmax), "s[b,5]",
    define_softmax, 0 },
  { "logloss: forward", 5, grade_forward, GRADE_NODE, STUDENT(my_logloss), "P[b,5]>0 y[b]<5",
    define_logloss, 0 },
  { "logloss: backward", 10, grade_backward, GRADE_NODE, STUDENT(my_logloss), "P[b,5]>0 y[b]<5",
    define_logloss, 0 },
  { "digits", 25, judge_digits, GRADE_NUMBERS, STUDENT(call_digits), NULL, NULL, 30 },
  { NULL, 0, NULL, GRADE_TEXT, NULL, NULL, NULL, 0 }
};
