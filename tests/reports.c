/* What edf_gradcheck prints, whole: for code that breaks the contract of a forward or backward,
   for what is not compared, for large tensors, through a graph; as in tests/golden/. Wrong
   derivatives and the causes that are named: mutants.c.

     cc -DEDF_REAL=double -I. tests/reports.c tests/impl.c -o build/reports -lm &&
       build/reports --write

   Built as: double none sanitized */
#define _POSIX_C_SOURCE 200809L                              /* capture.h */
#define HARNESS_CATCH
#include "harness.h"
#include "capture.h"
#include "edf.h"
#include "golden.h"

/* ---- Reports, one behind the other */

static char all[1 << 16];
static size_t length;

static void check(const char *title, CompNode *y) {
  static double error;
  capture_begin();
  TRY(error = edf_gradcheck(y));
  capture_end();
  CHECK(!panicked, "%s: %s", title, caught);
  length += (size_t)snprintf(all + length, sizeof all - length, "---- %s\n%s= ", title,
                             captured);
  length += (size_t)snprintf(all + length, sizeof all - length,
                             error < 1e-6 ? "SMALL\n" : "%.2g\n", error);
}

static void compare(const char *name) {
  golden(name, golden_plain(all));
  length = 0;
  edf_clear();
}

static Parameter *numbers(const char *decl, double first, double step) {
  Parameter *p = edf_parameter("%s", decl);
  for (size_t i = 0; i < p->size; i++) p->value[i] = (edf_real)(first + step * (double)i);
  return p;
}

/* ---- y[i] = 3 a[i] - b[i], where one thing is wrong. While the check looks for what is
   written, the arrays are not the node's own. */

enum {
  RIGHT,
  PAST_Y, BELOW_Y, FAR_PAST_Y, FAR_BELOW_Y, PAST_DY, BELOW_DY, PAST_A, PAST_DA, BELOW_DA,
  FAR_PAST_B, BELOW_DB, FAR_BELOW_DB, PAST_C, CHANGES_C, CHANGES_C_PAST_C,
  FORGETS_FIRST, FORGETS_LAST, FORGETS_TWO, FORGETS_ALL, COUNTS, ADDS, ADDS_LAST, DRAWS,
  CHANGES_DY, CHANGES_Y, USED_UP, USED_UP_B, GIVES_NAN, GIVES_INF, ASSIGNS, ASSIGNS_B,
  ASSIGNS_LAST, DOUBLES, SCALES, NOTHING, LAST_STRAYS, WORST_STRAYS, STRAYS, SLOPE,
  SLOPE_OF_SQUARE, LATER
};
static int mistake, runs;
static double slope;
static edf_real *own;

static void bad_writes(CompNode *y) {
  edf_node *c = y->in[2];
  if (mistake == PAST_Y) y->value[6] = 1;
  if (mistake == BELOW_Y) y->value[-1] = 1;
  if (mistake == FAR_PAST_Y) y->value[6 + 63] = 1;
  if (mistake == FAR_BELOW_Y) y->value[-64] = 1;
  if (mistake == PAST_A) y->in[0]->value[6] = 1;
  if (mistake == FAR_PAST_B) y->in[1]->value[6 + 63] = 1;
  if (mistake == PAST_C || mistake == CHANGES_C_PAST_C) c->value[2] = 1;
  if (mistake == CHANGES_C || mistake == CHANGES_C_PAST_C) c->value[1] += 1;
}

static int is_left_out(size_t i) {
  return (mistake == FORGETS_FIRST && i == 0) || (mistake == FORGETS_LAST && i == 5) ||
         (mistake == FORGETS_TWO && i % 3 == 1) || mistake == FORGETS_ALL;
}

static void forward(CompNode *y) {
  const edf_real *a = y->in[0]->value, *b = y->in[1]->value;
  int adds = mistake == ADDS ? 0 : mistake == ADDS_LAST ? 5 : 6;
  edf_real before = y->value[5];
  for (size_t i = 0; i < y->size; i++)
    if (!is_left_out(i)) y->value[i] = 3 * a[i] - b[i] + ((int)i < adds ? 0 : before);
  if (mistake == COUNTS) y->value[5] += (edf_real)++runs;
  if (mistake == LATER) y->value[5] += runs++ == 3;          /* the last of four runs */
  if (mistake == DRAWS) y->value[0] += edf_uniform(0, 1);
  if (y->value != own) bad_writes(y);
}

static void bad_gradients(CompNode *y) {
  edf_node *a = y->in[0], *b = y->in[1];
  if (mistake == PAST_DY) y->grad[6] = 1;
  if (mistake == BELOW_DY) y->grad[-1] = 1;
  if (mistake == PAST_DA) a->grad[6] += 1;
  if (mistake == BELOW_DA) a->grad[-1] += 1;
  if (mistake == BELOW_DB) b->grad[-1] += 1;
  if (mistake == FAR_BELOW_DB) b->grad[-64] += 1;
  if (mistake == CHANGES_DY) y->grad[5] *= 2;
  if (mistake == CHANGES_Y) y->value[5] = 0;
}

static void strays(CompNode *y) {
  edf_node *a = y->in[0];
  if (mistake == LAST_STRAYS) a->grad[1] += y->grad[5];
  if (mistake == WORST_STRAYS) { a->grad[4] += 100 * y->grad[4]; a->grad[2] += y->grad[4]; }
  if (mistake == STRAYS) a->grad[4] += y->grad[2];
}

static void backward(CompNode *y) {
  edf_node *a = y->in[0], *b = y->in[1];
  for (size_t i = 0; i < y->size; i++) {
    edf_real da = 3 * y->grad[i], db = -y->grad[i];
    if (mistake == USED_UP && i == 5) da *= (edf_real)(++runs % 2);
    if (mistake == USED_UP_B) db *= (edf_real)(++runs % 4);
    if (mistake == GIVES_NAN && i == 5) da = (edf_real)NAN;
    if (mistake == GIVES_INF && i == 0) da = (edf_real)HUGE_VAL;
    if (mistake == SCALES) da *= slope;
    if (mistake == NOTHING) da = 0;
    if (mistake == DOUBLES) da += a->grad[i];
    int assigns = mistake == ASSIGNS || (mistake == ASSIGNS_LAST && i == 5);
    a->grad[i] = da + (assigns ? 0 : a->grad[i]);
    b->grad[i] = db + (mistake == ASSIGNS_B ? 0 : b->grad[i]);
  }
  strays(y);
  if (y->value != own) bad_gradients(y);
}

/* a and b are used; c only lies there. */
static CompNode *mine(int wrong) {
  edf_clear();
  edf_seed(5);
  mistake = RIGHT;
  runs = 0;
  Parameter *a = numbers("a[2,3]", 1, 0.5), *b = numbers("b[2,3]", -2, 0.25);
  CompNode *y = edf_compnode("Mine", forward, backward, a, b, numbers("c[2]", 1, 1));
  edf_forward();
  own = y->value;
  mistake = wrong;
  return edf_name(y, "y");
}

#define REPORT(wrong) check(#wrong, mine(wrong))

static void writes(void) {
  REPORT(RIGHT);
  REPORT(PAST_Y);
  REPORT(BELOW_Y);
  REPORT(FAR_PAST_Y);
  REPORT(FAR_BELOW_Y);
  REPORT(PAST_DY);
  REPORT(BELOW_DY);
  REPORT(PAST_A);
  REPORT(PAST_DA);
  REPORT(BELOW_DA);
  REPORT(FAR_PAST_B);
  REPORT(BELOW_DB);
  REPORT(FAR_BELOW_DB);
  REPORT(PAST_C);
  REPORT(CHANGES_C);
  REPORT(CHANGES_C_PAST_C);
  REPORT(CHANGES_DY);
  REPORT(CHANGES_Y);
  check("PAST_Y where a mismatch is expected", edf_expect_mismatch(mine(PAST_Y)));
  compare("gradcheck_writes.txt");
}

static void runs_again(void) {
  REPORT(FORGETS_FIRST);
  REPORT(FORGETS_LAST);
  REPORT(FORGETS_TWO);
  REPORT(FORGETS_ALL);
  REPORT(COUNTS);
  REPORT(LATER);
  REPORT(ADDS);
  REPORT(ADDS_LAST);
  REPORT(DRAWS);
  REPORT(USED_UP);
  REPORT(USED_UP_B);
  REPORT(GIVES_NAN);
  REPORT(GIVES_INF);
  REPORT(ASSIGNS);
  REPORT(ASSIGNS_B);
  REPORT(ASSIGNS_LAST);
  REPORT(DOUBLES);
  compare("gradcheck_again.txt");
}

/* A factor that is a dimension, or one over it, is named; one near 1 is none. */
static void hidden_forward(CompNode *y) {
  for (size_t i = 0; i < 3; i++) y->value[i] = i < 2 ? y->in[0]->value[i] : 1;
}
static void hidden_backward(CompNode *y) {
  for (size_t i = 0; i < 2; i++) edf_addgrad(y->in[0], i, y->grad[i]);
  edf_addgrad(y->in[0], 2, y->grad[1] - y->grad[0]);
}

static void likely_causes(void) {
  static const double factors[] = { 2, 3, 6, 0.5, 2.014, 0.5035, 2.03, 0.507, 1 / 3.0,
                                    -1, -2, 1.02, 1.005, 2e-6, 8e-7 };
  for (size_t k = 0; k < sizeof factors / sizeof *factors; k++) {
    char title[40];
    slope = factors[k];
    snprintf(title, sizeof title, "SCALES by %g", slope);
    check(title, mine(SCALES));
  }
  REPORT(NOTHING);
  REPORT(LAST_STRAYS);
  REPORT(WORST_STRAYS);
  REPORT(STRAYS);
  edf_clear();
  edf_seed(5);
  check("0 and hidden from ones", edf_compnode("Hidden", hidden_forward, hidden_backward,
                                               numbers("x[3]", 1, 1)));
  compare("gradcheck_likely.txt");
}

/* ---- Through a graph: what is frozen, not wanted, not reached, or used twice */

static void twice_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = y->in[0]->value[i] * y->in[1]->value[i];
}
static void twice_backward(CompNode *y) {
  int square = y->in[0] == y->in[1];
  double wrong = mistake == SLOPE || (mistake == SLOPE_OF_SQUARE && square) ? 2 : 1;
  for (size_t i = 0; i < y->size; i++) {
    edf_addgrad(y->in[0], i, wrong * y->grad[i] * y->in[1]->value[i]);
    edf_addgrad(y->in[1], i, y->grad[i] * y->in[0]->value[i]);
  }
  if (mistake == PAST_DA && y->in[0] == y->in[1] && y->value != own)
    y->in[1]->grad[y->size] += 1;
}

static CompNode *graph(int wrong) {
  static const edf_real x[6] = { 1, 2, 3, -1, -2, 0.5 }, t[6] = { 1, 1, 2, 2, 3, 3 };
  edf_clear();
  edf_seed(6);
  mistake = wrong;
  Input *in = edf_want_grad(edf_input("x[b,3]")), *target = edf_input("t[b,3]");
  Parameter *w = numbers("w[3]", 0.5, 0.25), *f = numbers("f[3]", 1, 1);
  numbers("unused[3]", 1, 1);
  f->update = edf_frozen;
  edf_feed(in, x, 2);
  edf_feed(target, t, 2);
  CompNode *h = edf_name(Mul(Add(in, w), f), "h");
  CompNode *y = edf_name(edf_compnode("Twice", twice_forward, twice_backward, h, h), "y");
  CompNode *z = edf_compnode("Twice", twice_forward, twice_backward, y, target);
  edf_name(Square(h), "aside");
  edf_forward();
  own = y->value;
  return edf_name(Sum(edf_name(z, "z")), "loss");
}

static void through_a_graph(void) {
  check("right", graph(RIGHT));
  check("twice as much to the first", graph(SLOPE));
  check("twice as much to the first of a square", graph(SLOPE_OF_SQUARE));
  check("beyond the end of what is used twice", graph(PAST_DA));
  CompNode *loss = graph(SLOPE);
  edf_expect_mismatch(edf.compnodes[2]);
  check("y is expected to differ, z not", loss);
  edf_expect_mismatch(edf.compnodes[3]);
  check("both are", loss);
  loss = graph(RIGHT);
  edf_expect_mismatch(edf.compnodes[3]);
  check("z is expected to differ and does not", loss);
  check("an equation alone", edf.compnodes[1]);
  loss = graph(SLOPE);
  check("y alone, of a node", edf.compnodes[2]);
  compare("gradcheck_graph.txt");
}

/* ---- What is not compared: at kinks, in noise; nothing at all */

static void abs_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = fabs(y->in[0]->value[i]);
}
static void abs_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(y->in[0], i, slope * y->grad[i] * (y->in[0]->value[i] < 0 ? -1 : 1));
}

/* The sum loses most digits of x. */
static void rounded_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) {
    volatile double sum = y->in[0]->value[i] + (i < 4 ? 1e6 : 0);
    y->value[i] = sum - (i < 4 ? 1e6 : 0);
  }
}
static void rounded_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, slope * y->grad[i]);
}

static void what_is_skipped(void) {
  edf_seed(3);
  for (slope = 0.5; slope <= 2; slope *= 2) {
    char title[40];
    snprintf(title, sizeof title, "a slope of %g", slope);
    check(title, edf_compnode("Abs", abs_forward, abs_backward, numbers("x[2,3]", -1, 0.5)));
    edf_clear();
    check(title, edf_compnode("Abs", abs_forward, abs_backward, numbers("x[2]", 0, 0)));
    edf_clear();
    check(title, edf_compnode("Round", rounded_forward, rounded_backward,
                              numbers("x[6]", 0.1, 0.3)));
    edf_clear();
  }
  static const double at_kink[] = { -1.0025, -1.0015, -1, 0, 1, 1.0015, 1.0025 };
  for (int i = 0; i < 7; i++) {
    char title[40];
    slope = at_kink[i];
    snprintf(title, sizeof title, "%g at a kink", slope);
    check(title, edf_compnode("Abs", abs_forward, abs_backward, numbers("x[8]", 0, 0)));
    edf_clear();
  }
  static const double from_kink[] = { 5e-6, 1e-6, 5e-7, 4e-7, 2e-7, 1e-7, 3e-8, -2e-6, -1e-7 };
  for (int i = 0; i < 9; i++) {
    char title[40];
    snprintf(title, sizeof title, "%g from a kink", from_kink[i]);
    slope = 1;
    check(title, edf_compnode("Abs", abs_forward, abs_backward, numbers("x[2]", from_kink[i],
                                                                        1)));
    edf_clear();
  }
  compare("gradcheck_skipped.txt");
}

/* Where 20 entries are wrong for sure, no more are looked at for noise. */
static int sure;

static void noisy_forward(CompNode *y) {
  for (int i = 0; i < 60; i++) {
    volatile double sum = y->in[0]->value[i] + (i < sure ? 0 : 1e7);
    y->value[i] = sum - (i < sure ? 0 : 1e7);
  }
}
static void noisy_backward(CompNode *y) {
  for (int i = 0; i < 60; i++)
    edf_addgrad(y->in[0], (size_t)i, y->grad[i] * (i < sure ? 2 : 1));
}

static void enough_is_sure(void) {
  for (sure = 18; sure <= 21; sure++) {
    char title[40];
    edf_clear();
    edf_seed(8);
    snprintf(title, sizeof title, "%d wrong ones", sure);
    check(title, edf_compnode("Noisy", noisy_forward, noisy_backward,
                              numbers("x[60]", 0.1, 0.3)));
  }
  compare("gradcheck_sure.txt");
}

#ifdef __SANITIZE_ADDRESS__              /* what is large takes long there */
enum { GUARDED = 1 };
#else
enum { GUARDED = 0 };
#endif

/* ---- A large tensor: a sample is tried, and directions show what it missed */

static size_t first_wrong, last_wrong;
static double right_slope;

static void large_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++)
    y->value[i] = y->in[0]->value[i] * (i >= first_wrong && i < last_wrong ? right_slope : 1);
}
static void large_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(y->in[0], i, y->grad[i] * (i < first_wrong || i >= last_wrong ? 1 : slope));
}

static void large(const char *title, const char *decl, size_t from, size_t to, double right,
                  double is) {
  edf_clear();
  edf_seed(4);
  first_wrong = from;
  last_wrong = to;
  right_slope = right;
  slope = is;
  check(title, edf_compnode("Large", large_forward, large_backward, numbers(decl, 1, 0.001)));
}

static void large_tensors(void) {
  large("1000 entries", "x[1000]", 0, 0, 1, 1);
  large("1001 entries", "x[1001]", 0, 0, 1, 1);
  large("entry 999 of 1000", "x[1000]", 999, 1000, 100, 1);
  large("entry 1100 of 1200", "x[1200]", 1100, 1101, 100, 300);
  large("entry 1101 of 1200", "x[1200]", 1101, 1102, 100, 300);
  large("the last of 2000, twice", "x[2000]", 1999, 2000, 1e4, 2e4);
  large("the last of 2000, not at all", "x[2000]", 1999, 2000, 1e4, 0);
  large("the last of 2000 is right", "x[2000]", 1999, 2000, 100, 100);
  large("the last of 2000, twice, less sure", "x[2000]", 1999, 2000, 1000, 2000);
  large("the last of 2000, twice, unsure", "x[2000]", 1999, 2000, 200, 400);
  large("half of [34,30]", "x[34,30]", 0, 510, 2, 3);
  compare("gradcheck_large.txt");
}

/* What is wrong by 3 % of what random signs would give, and by what rounding may make, is seen
   if most of eight directions say so: of one entry all do, of four these four do, or more. */
static void shifted_forward(CompNode *y) {
  large_forward(y);
  for (size_t i = 0; i < y->size; i++) y->value[i] += 100;
}

static void seen(const char *title, unsigned seed, size_t n, double by, int expected) {
  edf_clear();
  edf_seed(seed);
  last_wrong = (first_wrong = 1994 - n) + n;
  right_slope = 1;
  slope = 1 + by;
  check(title, edf_compnode("Large", n == 1 ? shifted_forward : large_forward, large_backward,
                            numbers("x[2000]", n == 1 ? 0 : 1, n == 1 ? 0 : 0.001)));
  CHECK(strstr(all, "1000 of 2000 entries tried\n"), "%s", all);
  CHECK((strstr(all, "along random") != NULL) == expected, "%s, %g\n%s", title, by, all);
  length = 0;
}

static void large_enough_to_be_seen(void) {
  large("just not", "x[2000]", 1999, 2000, 1, 1.985);
  CHECK(!strstr(all, "FAIL"), "%s", all);
  length = 0;
  large("just", "x[2000]", 1999, 2000, 1, 2.005);
  CHECK(strstr(all, "wrong along random directions"), "%s", all);
  length = 0;
  seen("just not, where rounding is seen", 1, 1, 3.28, 0);
  seen("just, where rounding is seen", 1, 1, 3.35, 1);
  seen("four of eight", 12, 4, 1.6, 0);
  seen("more than four of eight", 6, 4, 1.6, 1);
  edf_clear();
}

/* Steps of h and of h/4 go unseen by this function, whose slope at 0 is 2 and between others:
   h is a thousandth of what x is as a root mean square, and a millionth. */
static double wave_step, wave_height;

static void wave_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) {
    double t = (y->in[0]->value[i] - (i % 2 ? 1400 : -200)) / wave_step;
    double t6 = t * t * t * t * t * t;
    y->value[i] = y->in[0]->value[i] + 4096 * wave_step * t * (t6 - 1) * (t6 - 1 / 4096.0);
    y->value[i] *= wave_height;
  }
}
static void wave_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, 2 * wave_height * y->grad[i]);
}

static void steps_along_directions(void) {
  for (int k = 0; k < 4; k++) {
    char title[60];
    edf_clear();
    edf_seed(2);
    Parameter *x = edf_parameter(k == 3 ? "x[1000]" : "x[1100]");
    wave_height = k == 2 ? 0.001 : 1;
    for (size_t i = 0; i < x->size; i++) x->value[i] = i % 2 ? 1400 : -200;
    wave_step = (1e-6 + 1) * (k == 1 || k == 2 ? 0.5 : 1);
    snprintf(title, sizeof title, "waves of %.2g, %g high, %zu", wave_step, wave_height,
             x->size);
    check(title, edf_compnode("Wave", wave_forward, wave_backward, x));
  }
  compare("gradcheck_steps.txt");
}

/* A backward that has a value of before for one entry alone, the first or the last. */
static size_t stale;

static void stale_forward(CompNode *y) {
  const edf_real *x = y->in[0]->value;
  for (size_t i = 0; i < y->size; i++) y->value[i] = i == stale ? x[i] * x[i] : x[i];
}
static void stale_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(y->in[0], i, y->grad[i] * (i == stale ? 7 : 1));
}

static void one_stale_entry(void) {
  for (stale = 0; stale < 4; stale += 3) {
    edf_clear();
    edf_seed(2);
    check(stale ? "stale at 3" : "stale at 0",
          edf_compnode("Stale", stale_forward, stale_backward, numbers("x[4]", 1, 1)));
  }
  compare("gradcheck_stale.txt");
}

/* Only what is transposed in every entry is called that. */
static size_t spoilt;

static void weighted_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = (double)(i + 1) * y->in[0]->value[i];
}
static void transposed_backward(CompNode *y) {
  for (size_t i = 0; i < 3; i++) for (size_t j = 0; j < 2; j++) {
    size_t from = i * 2 + j, to = j * 3 + i;
    double slack = to == spoilt ? 0.5 : 0;
    edf_addgrad(y->in[0], to, ((double)(from + 1) + slack) * y->grad[from]);
  }
}

static void transposed_everywhere(void) {
  for (spoilt = 0; spoilt <= 6; spoilt++) {
    edf_clear();
    edf_seed(2);
    check("transposed", edf_compnode("Weighted", weighted_forward, transposed_backward,
                                     numbers("x[3,2]", 1, 1)));
    CHECK((strstr(all, "transposed: ") != NULL) == (spoilt == 6), "%zu\n%s", spoilt, all);
    length = 0;
  }
  edf_clear();
}

/* One row transposed is itself: so a small mistake is not called that. */
static void rows_are_not_transposed(void) {
  large("a row", "x[1,6]", 0, 6, 1, 1.0005);
  CHECK(strstr(all, "FAIL") && !strstr(all, "transposed"), "%s", all);
  length = 0;
  large("a column", "x[6,1]", 0, 6, 1, 1.0005);
  CHECK(strstr(all, "FAIL") && !strstr(all, "transposed"), "%s", all);
  length = 0;
  edf_clear();
}

/* ---- What a check leaves: all as it was, and the gradients those of a Backward */

static int after;
static void count_after(void) { after++; }

static void what_a_check_leaves(void) {
  CompNode *loss = graph(RIGHT);
  edf_real before[40];
  size_t n = 0;
  edf.accumulate = 1;
  edf.after_backward = count_after;
  edf_forward();
  unsigned long long draws = edf.draws, seed = edf.seed;
  for (int i = 0; i < edf.n_compnodes; i++) {
    const edf_node *y = edf.compnodes[i];
    for (size_t k = 0; k < y->size; k++) before[n++] = y->value[k];
  }
  CHECK(!edf_find_nan(), "there is none");
  capture_begin();
  edf_gradcheck(loss);
  capture_end();
  CHECK(edf.accumulate == 1 && edf.after_backward == count_after && !after, "%d", after);
  CHECK(edf.draws == draws && edf.seed == seed, "it has drawn %llu", edf.draws - draws);
  n = 0;
  for (int i = 0; i < edf.n_compnodes; i++)
    for (size_t k = 0; k < edf.compnodes[i]->size; k++, n++)
      CHECK(edf.compnodes[i]->value[k] == before[n], "entry %zu of node %d", k, i);
  edf.accumulate = 0;
  edf.after_backward = NULL;
  edf_clear();
}

/* A state that is not edf_state's is left alone; one that is, is put back. */
static void counting_forward(CompNode *y) {
  ++*(int *)y->state;
  abs_forward(y);
}

static void states_of_the_user(void) {
  static int count;
  slope = 1;
  CompNode *y = edf_compnode("Own", counting_forward, abs_backward, numbers("x[3]", 1, 1));
  CompNode *z = edf_compnode("Kept", counting_forward, abs_backward, y);
  y->state = &count;
  *(int *)edf_state(z, sizeof(int)) = 7;
  capture_begin();
  edf_gradcheck(z);
  capture_end();
  CHECK(count > 10 && *(int *)z->state == 7, "%d and %d", count, *(int *)z->state);
  edf_clear();
}

int main(int argc, char **argv) {
  golden_arguments(argc, argv);
  RUN(writes);
  RUN(runs_again);
  RUN(likely_causes);
  RUN(through_a_graph);
  RUN(what_is_skipped);
  RUN(enough_is_sure);
  if (!GUARDED) {
    RUN(large_tensors);
    RUN(large_enough_to_be_seen);
    RUN(steps_along_directions);
  }
  RUN(one_stale_entry);
  RUN(transposed_everywhere);
  RUN(rows_are_not_transposed);
  RUN(what_a_check_leaves);
  RUN(states_of_the_user);
  return harness_report();
}
