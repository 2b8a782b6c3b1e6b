/* ps3/parts.c - the graded parts of the third problem set; handout.md has the same formulas. */
#include "ps3.h"
#include "grade.h"
#include <math.h>

const grade_variant grade_variants[] = {
  { "S", 2, 3, 1, NULL }, { "D", 1, 2, 1, NULL }, { "P", 0, 0, 0, "2 3 4 6" },
  { "A", 1.5, 5, 0.1, NULL }, { "R", 0.15, 0.6, 0.01, NULL }, { "E", 0.01, 0.09, 0.01, NULL },
  { "B", 0.8, 0.95, 0.01, NULL }, { NULL, 0, 0, 0, NULL }
};

static void define_convolution(grade_tensor *y, const grade_tensor *in) {
  const double *x = in[0].value, *W = in[1].value;
  int S = (int)grade_number("S"), D = (int)grade_number("D"), n = (9 - 1 - 2 * D) / S + 1;
  int B = in[0].dim[0];
  grade_shape(y, 3, B, n, n);
  y->rank = 4;
  y->dim[3] = 2;
  y->size *= 2;
  for (int b = 0; b < B; b++) for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)
    for (int k = 0; k < 3; k++) for (int l = 0; l < 3; l++) for (int c = 0; c < 2; c++)
      y->value[((b * n + i) * n + j) * 2 + c] +=
        W[(k * 3 + l) * 2 + c] * x[(b * 9 + S * i + D * k) * 9 + S * j + D * l];
}

static void define_pooling(grade_tensor *y, const grade_tensor *x) {
  int P = atoi(grade_word("P")), n = 12 / P;
  grade_shape(y, 3, x->dim[0], n, n);
  for (int b = 0; b < x->dim[0]; b++) for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {
    double most = -INFINITY;
    for (int k = 0; k < P; k++)
      for (int l = 0; l < P; l++)
        most = fmax(most, x->value[(b * 12 + P * i + k) * 12 + P * j + l]);
    y->value[(b * n + i) * n + j] = most;
  }
}

static void define_residual(grade_tensor *y, const grade_tensor *in) {
  const double *x = in[0].value, *W = in[1].value, *V = in[2].value, A = grade_number("A");
  grade_like(y, &in[0]);
  for (int b = 0; b < in[0].dim[0]; b++) {
    memcpy(y->value + 6 * b, x + 6 * b, 6 * sizeof *x);
    for (int j = 0; j < 4; j++) {
      double h = 0;
      for (int i = 0; i < 6; i++) h += W[6 * j + i] * x[6 * b + i];
      for (int i = 0; i < 6 && h > 0; i++) y->value[6 * b + i] += A * V[4 * i + j] * h;
    }
  }
}

/* ---- Dropout: what is there is x/(1-R), a share R is not, others at the next run. */
static int dropout_value(const grade_run *run, double R) {
  for (size_t i = 0; i < run->y.size; i++) {
    double y = run->y.value[i], kept = run->x[0].value[i] / (1 - R);
    if (y == 0 || fabs(y - kept) < 1e-9) continue;
    printf("an entry of x, %.4g, has become %.4g; in training it is 0 or x / (1 - %g), %.4g\n",
           run->x[0].value[i], y, R, kept);
    return 0;
  }
  return 1;
}

static double judge_dropout(const grade_part *p) {
  double R = grade_number("R"), zeros = 0, changed = 0, n;
  grade_run run = grade_node(p, 50, 1), again = grade_node(p, 50, 1);
  grade_run off = grade_node(p, 50, 0);
  if (!dropout_value(&run, R)) return 0;
  n = (double)run.y.size;
  for (size_t i = 0; i < run.y.size; i++) {
    zeros += run.y.value[i] == 0;
    changed += (run.y.value[i] == 0) != (again.y.value[i] == 0);
    if (off.y.value[i] == off.x[0].value[i]) continue;
    printf("with edf.training = 0 it is not x: %.4g has become %.4g\n", off.x[0].value[i],
           off.y.value[i]);
    return 0;
  }
  if (fabs(zeros / n - R) > 5 * sqrt(R * (1 - R) / n))
    printf("of %g entries %g are 0, a share of %.3f, expected %g\n", n, zeros, zeros / n, R);
  else if (!changed) printf("two runs drop the same entries\n");
  else return 1;
  return 0;
}

static double judge_dropout_backward(const grade_part *p) {
  grade_run run = grade_node(p, 50, 1);
  for (size_t i = 0; i < run.y.size; i++) {
    double factor = run.y.value[i] / run.x[0].value[i], right = factor * run.r[i];
    if (fabs(run.grad[i] - right) < 1e-9) continue;
    printf("where y is %.4g x, and y.grad %.4g, x.grad is %.4g, expected %.4g\n", factor,
           run.r[i], run.grad[i], right);
    return 0;
  }
  return 1;
}

/* ---- Adam: five steps on three parameters. */
enum { N = 3, STEPS = 5 };
#ifdef GRADE_DESK
static void call_adam(const double *in, double *out) {
  static double m[N], s[N];
  for (int i = 0; i < N; i++) out[i] = in[i];
  for (int step = 1; step <= STEPS; step++) my_adam(out, in + N * step, m, s, N, step);
}
#else
#define call_adam NULL
#endif

static double judge_adam(const grade_part *p) {
  double in[N * (STEPS + 1)], E = grade_number("E"), B = grade_number("B");
  (void)p;
  for (int i = 0; i < N * (STEPS + 1); i++) in[i] = grade_uniform(-1, 1);
  const double *out = grade_ask(in, N * (STEPS + 1), N);
  for (int i = 0; i < N; i++) {
    double q = in[i], m = 0, s = 0;
    for (int k = 1; k <= STEPS; k++) {
      double g = in[N * k + i];
      m = B * m + (1 - B) * g;
      s = 0.99 * s + 0.01 * g * g;
      q -= E * (m / (1 - pow(B, k))) / (sqrt(s / (1 - pow(0.99, k))) + 1e-8);
    }
    if (!grade_same(edf_fmt("after %d steps p[%d]", STEPS, i), out[i], q)) return 0;
  }
  return 1;
}

const grade_part grade_parts[] = {
  { "convolution", 20, grade_forward, GRADE_NODE, STUDENT(convolution), "x[b,9,9] W[3,3,2]",
    define_convolution, 0 },
  { "pooling", 15, grade_forward, GRADE_NODE, STUDENT(pooling), "x[b,12,12]", define_pooling,
    0 },
  { "residual", 20, grade_forward, GRADE_NODE, STUDENT(residual), "x[b,6] W[4,6] V[6,4]",
    define_residual, 0 },
  { "dropout: forward", 15, judge_dropout, GRADE_NODE, STUDENT(my_dropout), "x[b,40]", NULL,
    0 },
  { "dropout: backward", 15, judge_dropout_backward, GRADE_NODE, STUDENT(my_dropout), "x[b,40]",
    NULL, 0 },
  { "adam", 15, judge_adam, GRADE_NUMBERS, STUDENT(call_adam), NULL, NULL, 0 },
  { NULL, 0, NULL, GRADE_TEXT, NULL, NULL, NULL, 0 }
};
