/* ps7/parts.c - the graded parts of problem set 7: two models are trained, now. */
#include "ps7.h"
#include "grade.h"
#include "named.h"

/* The answer is the value of the pair with the key, of the pair before it, or of the pair after
   it. A point of the curve follows each EVERY steps. */
const grade_variant grade_variants[] = {
  { "SHIFT", -1, 1, 1, NULL }, { "EVERY", 20, 40, 10, NULL }, { NULL, 0, 0, 0, NULL }
};

enum { TRAIN = 4000, TEST = 1000, ROWS = 2000, ASKED = 1000, CURVE = 1 + 3 * CURVE_MOST };

/* ---- The student's side. Answered: a class of each row; the number of points; the points. */
#ifdef GRADE_DESK
static curve_rows rows;
void curve_point(int step, double loss, double error) { curve_add(&rows, step, loss, error); }
void curve_write(const char *file) { (void)file; }

static void answer_with_curve(const int *answer, int n, double *out) {
  for (int i = 0; i < n; i++) *out++ = answer[i];
  *out++ = rows.n;
  memcpy(out, rows.row, sizeof rows.row);
}
static void call_images(const double *in, double *out) {
  static int answer[TEST];
  const double *x = in, *y = x + TRAIN * DIGITS_PIXELS, *x_test = y + TRAIN;
  learn_images(x, y, TRAIN, x_test, TEST, answer);
  answer_with_curve(answer, TEST, out);
}
static void call_lookup(const double *in, double *out) {
  static int answer[ASKED];
  enum { ALL = ROWS + ASKED };
  edf_real *copy = (edf_real *)malloc((2 * PAIRS + 2) * ALL * sizeof *copy);
  memcpy(copy, in, ((2 * PAIRS + 1) * ALL + ROWS) * sizeof *copy);
  lookups train = { copy, copy + PAIRS * ALL, copy + 2 * PAIRS * ALL, NULL }, test = train;
  train.y = train.q + ALL;
  test.k += PAIRS * ROWS;
  test.v += PAIRS * ROWS;
  test.q += ROWS;
  learn_lookup(train, ROWS, test, ASKED, answer);
  answer_with_curve(answer, ASKED, out);
}

/* ---- The judge */
#else

/* Reads a curve as curve_write writes it. Returns how many points, or -1 after a message. */
static int read_curve(const char *name, curve_rows *c) {
  const char *text = grade_handed_in(name);
  int n = 0;
  c->n = 0;
  if (!text) {
    printf("  %s is not handed in: it belongs beside ps7.c, and the program writes it\n", name);
    return -1;
  }
  if (strncmp(text, "step,loss,error\n", 16)) {
    printf("  %s: expected the line step,loss,error first\n", name);
    return -1;
  }
  for (text += 16; *text && c->n < CURVE_MOST; text += n) {
    double *row = c->row[c->n];
    n = 0;
    if (sscanf(text, "%lf,%lf,%lf%n", &row[0], &row[1], &row[2], &n) < 3 || text[n] != '\n') {
      printf("  %s:%d: expected three numbers with commas\n", name, c->n + 2);
      return -1;
    }
    n++;
    c->n++;
  }
  return c->n;
}

/* The curve that is handed in, against the one of the run that was graded: the same steps, and
   nearly the same way down. The data are others. */
static int judge_curve(const char *name, const double *answer) {
  const double *run = answer + 1;
  curve_rows c;
  int n = (int)answer[0], S = (int)grade_number("EVERY");
  if (read_curve(name, &c) < 0) return 0;
  if (n < 10) {
    printf("  the run has %d points of a curve, expected 10 or more\n", n);
    return 0;
  }
  for (int i = 0; i < n && i < c.n; i++)
    if (c.row[i][0] != (i + 1) * S || run[3 * i] != (i + 1) * S) {
      printf("  point %d: at step %g of %s and at step %g of the run, expected %d\n", i + 1,
             c.row[i][0], name, run[3 * i], (i + 1) * S);
      return 0;
    }
  const double *last = c.row[c.n - 1], *first = c.row[0];
  const double *run_last = run + 3 * (n - 1);
  int same = c.n == n && fabs(last[2] - run_last[2]) <= 6 &&
             fabs(first[1] - run[1]) <= 0.5 * run[1];
  if (!same)
    printf("  %s has %d points, a first loss of %.3g and a last error of %.3g %%; the run has "
           "%d, %.3g and %.3g %%\n", name, c.n, first[1], last[2], n, run[1], run_last[2]);
  return same;
}

/* 0.7 of the points are for the error, 0.4 if it is not too large; 0.3 for the curve. */
static double share(double error, double good, double fair, int curve) {
  int learned = error <= good, nearly = !learned && error <= fair;
  printf("  error: %s (%g %% or less has all points, %g %% a part)\n",
         learned ? "good" : nearly ? "fair" : "too large", good, fair);
  printf("  curve: %s\n", curve ? "good" : "see above");
  return (learned ? 0.7 : nearly ? 0.4 : 0) + (curve ? 0.3 : 0);
}

static double judge_images(const grade_part *p) {
  const double *rest;
  double error = digits_named_and(TRAIN, TEST, CURVE, &rest);
  (void)p;
  return share(error, 4, 7, judge_curve("images.csv", rest));
}

static double judge_lookup(const grade_part *p) {
  enum { ALL = ROWS + ASKED };
  double *in = (double *)malloc((2 * PAIRS + 2) * ALL * sizeof *in);
  lookups d = { in, in + PAIRS * ALL, in + 2 * PAIRS * ALL, in + (2 * PAIRS + 1) * ALL };
  int wrong = 0;
  (void)p;
  lookups_make((unsigned)grade_below(1 << 30), ALL, (int)grade_number("SHIFT"), d);
  const double *answer = grade_ask(in, (2 * PAIRS + 1) * ALL + ROWS, ASKED + CURVE);
  for (int i = 0; i < ASKED; i++) wrong += answer[i] != d.y[ROWS + i];
  double error = 100.0 * wrong / ASKED;
  printf("of %d rows that it has not seen %d are answered wrongly (%.1f %%)\n", ASKED, wrong,
         error);
  if (error > 60) printf("that is another pair's value, or a guess: where is the answer?\n");
  return share(error, 2, 10, judge_curve("lookup.csv", answer + ASKED));
}
#endif

const grade_part grade_parts[] = {
  { "images", 50, JUDGE(judge_images), GRADE_NUMBERS, STUDENT(call_images), NULL, NULL, 60 },
  { "lookup", 50, JUDGE(judge_lookup), GRADE_NUMBERS, STUDENT(call_lookup), NULL, NULL, 60 },
  { NULL, 0, NULL, GRADE_TEXT, NULL, NULL, NULL, 0 }
};
