/* ps6/parts.c - the graded parts of the sixth problem set. What is wrong with the programs is
   written nowhere: the starter's are run here, and looked at. */
#include "ps6.h"
#include "grade.h"
#include <math.h>

const grade_variant grade_variants[] = {
  { "backward", 10, 19, 1, NULL }, { "rows", 20, 29, 1, NULL }, { "labels", 30, 39, 1, NULL },
  { "softmax", 40, 49, 1, NULL }, { "units", 50, 59, 1, NULL },
  { "gradients", 60, 69, 1, NULL }, { NULL, 0, 0, 0, NULL }
};

enum { POINTS = 600, TESTED = 300, MOST_WRONG = 9 };
typedef void trainer(const edf_real *, const edf_real *, int, const edf_real *, int, int *);

/* Three arms of a spiral. */
static void draw_points(double *x, double *y, int n) {
  for (int i = 0; i < n; i++) {
    int arm = grade_below(3);
    double r = grade_uniform(0.1, 1);
    double angle = 3 * r + arm * 2.0944 + grade_uniform(-0.25, 0.25);
    x[2 * i] = 3 * r * cos(angle);
    x[2 * i + 1] = 3 * r * sin(angle);
    y[i] = arm;
  }
}

#ifdef GRADE_DESK
static void train(trainer *f, const double *in, double *out) {
  static int answer[TESTED];
  edf_clear();
  f(in, in + 2 * POINTS, POINTS, in + 3 * POINTS, TESTED, answer);
  for (int i = 0; i < TESTED; i++) out[i] = answer[i];
}
static void call_1(const double *in, double *out) { train(train_1, in, out); }
static void call_2(const double *in, double *out) { train(train_2, in, out); }
static void call_3(const double *in, double *out) { train(train_3, in, out); }
static void call_4(const double *in, double *out) { train(train_4, in, out); }
static void call_5(const double *in, double *out) { train(train_5, in, out); }
static void call_6(const double *in, double *out) { train(train_6, in, out); }
static void call_diagnosis(const double *in, double *out) {
  int code[6] = { 0 };
  (void)in;
  diagnosis(code);
  for (int i = 0; i < 6; i++) out[i] = code[i];
}
static double judge_name(const grade_part *p) { return (void)p, 0; }
#else
#define call_1 NULL
#define call_2 NULL
#define call_3 NULL
#define call_4 NULL
#define call_5 NULL
#define call_6 NULL
#define call_diagnosis NULL

/* ---- The starter's programs, watched. */
#define main starter_main
#define NO_TESTS
#include "ps6.c"
#undef main
#include <unistd.h>

static double points[2 * POINTS], classes[POINTS];
static struct { int seen[POINTS], foreign, sums, kept; } watched;

static void told(edf_event event, edf_node *node) {
  if (event != EDF_END_BACKWARD) return;
  const edf_node *x = edf_find("x"), *y = edf_find("y"), *P = edf_find("P");
  long at = (long)((x->value - points) / 2);
  (void)node;
  watched.kept |= edf.accumulate;
  for (int b = 0; b < x->dim[0]; b++) watched.seen[at + b] = 1;
  watched.foreign |= y->value - classes != at;
  for (int b = 0; b < P->dim[0]; b++) {
    double sum = 0;
    for (int k = 0; k < 3; k++) sum += P->value[3 * b + k];
    watched.sums |= fabs(sum - 1) > 1e-6;
  }
}

/* Is every unit of h the same? */
static int are_same(const edf_node *W) {
  for (size_t i = (size_t)W->dim[1]; i < W->size; i++)
    if (fabs(W->value[i] - W->value[i % (size_t)W->dim[1]]) > 1e-9) return 0;
  return 1;
}

static double code_of(trainer *f) {
  int answer[1], seen = 0;
  memset(&watched, 0, sizeof watched);
  edf.told = told;
  f(points, classes, POINTS, points, 1, answer);
  edf.told = NULL;
  for (int i = 0; i < POINTS; i++) seen += watched.seen[i];
  edf_feed(edf_find("x"), points, 20);
  edf_feed(edf_find("y"), classes, 20);
  edf_forward();
  return grade_number(watched.sums ? "softmax" : seen < POINTS ? "rows"
                    : watched.foreign ? "labels" : are_same(edf_find("W0")) ? "units"
                    : watched.kept ? "gradients"
                    : edf_gradcheck(edf_find("loss")) > 1e-6 ? "backward" : "none");
}

/* What is printed meanwhile would tell. */
static double judge_name(const grade_part *p) {
  static trainer *const programs[] = { train_1, train_2, train_3, train_4, train_5,
                                              train_6 };
  int k = p->name[strlen(p->name) - 1] - '1', out = dup(1), nothing;
  const double *code = grade_ask(NULL, 0, 6);
  FILE *sink = fopen("/dev/null", "w");
  nothing = sink ? fileno(sink) : -1;
  fflush(stdout);
  dup2(nothing, 1);
  draw_points(points, classes, POINTS);
  double right = code_of(programs[k]);
  fflush(stdout);
  dup2(out, 1);
  if (code[k] == right) return 1;
  printf("program %d has another mistake than %g\n", k + 1, code[k]);
  return 0;
}
#endif

/* Twice: by luck one set of points may be learned in spite of the mistake. */
static double judge_repair(const grade_part *p) {
  static double in[3 * POINTS + 2 * TESTED], right[TESTED];
  (void)p;
  for (int turn = 0; turn < 2; turn++) {
    int wrong = 0;
    draw_points(in, in + 2 * POINTS, POINTS);
    draw_points(in + 3 * POINTS, right, TESTED);
    const double *answer = grade_ask(in, 3 * POINTS + 2 * TESTED, TESTED);
    for (int i = 0; i < TESTED; i++) wrong += answer[i] != right[i];
    if (wrong <= MOST_WRONG) continue;
    printf("of %d new points %d are named wrongly, at most %d expected\n", TESTED, wrong,
           MOST_WRONG);
    return 0;
  }
  return 1;
}

#define REPAIR(k) \
  { "repair " #k, 10, judge_repair, GRADE_NUMBERS, STUDENT(call_##k), NULL, NULL, 20 }
#define NAME(k) \
  { "name " #k, 6, judge_name, GRADE_NUMBERS, STUDENT(call_diagnosis), NULL, NULL, 0 }
const grade_part grade_parts[] = {
  NAME(1), NAME(2), NAME(3), NAME(4), NAME(5), NAME(6),
  { "repair 1", 14, grade_backward, GRADE_NODE, STUDENT(swish), "x[b,5]", NULL, 0 },
  REPAIR(2), REPAIR(3), REPAIR(4), REPAIR(5), REPAIR(6),
  { NULL, 0, NULL, GRADE_TEXT, NULL, NULL, NULL, 0 }
};
