/* gradcheck.c - edf_gradcheck finds wrong backwards, names the common mistakes, and does not
   accuse right nodes.

   Each custom node below has its mistakes beside the right line. The variable `wrong` selects
   one of them. A new mistake needs a line in a backward and a row in the table. The report must
   name the mistakes whose row has words. The others must only be caught.

   This program runs in double. nodes.c and layers.c run the check in float too. */

#include "harness.h"

#include <sys/wait.h>

#include "edf/slide.h"

#define FAIL "FAIL"                          /* marks what is wrong in a report */
static const double right_bound = 1e-6;      /* errors of right nodes are smaller */
static const double wrong_bound = 1e-3;      /* errors of wrong nodes are larger */

enum {
  RIGHT, SIGN, HALF, NO_MASK, EMPTY, ASSIGNS, BEGINS_AT_1, NO_DY, OTHER_MASK, NO_SIGN,
  SIGN_IN_PLACES, CUT_AT_1, PLUS_X, READS_DX, EXCHANGED, TWICE_IN_B, TRANSPOSED,
  DIVIDED, NO_CROSS, STATIC, OF_BEFORE, FORGETS_LAST, ADDS_TO_Y, GIVES_NAN, PAST_Y, BELOW_DX,
  CHANGES_X, CHANGES_DY, SIGN_BUT_ONE, FIRST_TERM_ALONE, SECOND_TERM_ALONE, SIGN_OF_TERM,
  Y_FOR_X, X_FOR_Y, ENDS_EARLY, WRONG_IN_B, NO_TEST, FORWARD_NAN
};
static int wrong;

static Parameter *numbers(const char *declaration, double first, double step) {
  Parameter *p = edf_parameter("%s", declaration);
  for (size_t i = 0; i < p->size; i++) p->value[i] = first + step * (double)i;
  return p;
}

static CompNode *named_y(CompNode *y) { return edf_name(y, "y"); }

/* ---- Functions of one entry: y[i] = f(x[i]), x.grad[i] += y.grad[i] slope(x[i]) */

static double relu(double x) { return x > 0 ? x : 0; }
static double relu_slope(double x) { return x > 0; }
static double square(double x) { return x * x; }
static double square_slope(double x) { return 2 * x; }
static double cube(double x) { return x * x * x; }
static double cube_slope(double x) { return 3 * x * x; }
static double tanh_slope(double x) { return 1 - tanh(x) * tanh(x); }
static double clamp(double x) { return x < -0.625 ? -0.625 : x > 0.625 ? 0.625 : x; }
static double clamp_slope(double x) { return fabs(x) < 0.625; }
static double sign_of(double x) { return x < 0 ? -1 : 1; }
static double hide(double x) { return x < -0.5 ? -HUGE_VAL : x; }
static double hide_slope(double x) { return x >= -0.5; }
static double swish(double x) { return x / (1 + exp(-x)); }
static double swish_slope(double x) {
  double s = 1 / (1 + exp(-x));
  return s + x * s * (1 - s);
}
static double leaky(double x) { return x > 0 ? x : 0.1 * x; }
static double leaky_slope(double x) { return x > 0 ? 1 : 0.1; }
static double cut(double dy, double at) { return dy > at ? at : dy < -at ? -at : dy; }

enum { RELU, SQUARE, TANH, ABS, EXP, CLAMP, HIDE, CUBE, SWISH, LEAKY, FUNCTIONS };
static const struct { double (*f)(double x), (*slope)(double x); } functions[FUNCTIONS] = {
  { relu, relu_slope }, { square, square_slope }, { tanh, tanh_slope }, { fabs, sign_of },
  { exp, exp }, { clamp, clamp_slope }, { hide, hide_slope }, { cube, cube_slope },
  { swish, swish_slope }, { leaky, leaky_slope }
};
static int of_one;                   /* RELU ... */
static const double *live;           /* y->value, except while the check uses other arrays */

static void f_forward(CompNode *y) {
  double *x = y->in[0]->value;
  size_t n = y->size - (wrong == FORGETS_LAST);
  if (!live) live = y->value;
  if (y->value != live && wrong == CHANGES_X) x[1] = 2;
  for (size_t i = 0; i < n; i++)
    y->value[i] = functions[of_one].f(x[i]) + (wrong == ADDS_TO_Y ? y->value[i] : 0);
  if (y->value != live && wrong == PAST_Y) y->value[y->size] = 1;
  if (wrong == FORWARD_NAN) y->value[6] = NAN;
}

static double f_gradient(const CompNode *y, size_t i) {
  const double *x = y->in[0]->value, *dx = y->in[0]->grad, *dy = y->grad;
  double slope = functions[of_one].slope(x[i]), right = dy[i] * slope;
  switch (wrong) {
    case SIGN:           return -right;
    case HALF:           return right / 2;
    case NO_MASK:        return dy[i];
    case NO_DY:          return slope;
    case OTHER_MASK:     return x[i] < 0 ? dy[i] : 0;
    case NO_SIGN:        return dy[i];
    case SIGN_IN_PLACES: return i == 3 || i == 7 ? -right : right;
    case CUT_AT_1:       return cut(dy[i], 1) * slope;
    case PLUS_X:         return right + 0.25 * x[i];
    case READS_DX:       return dx[i] * slope;
    case SIGN_BUT_ONE:   return i == 2 ? -3 * right : -right;
    case GIVES_NAN:      return i == 5 ? NAN : right;
    case FIRST_TERM_ALONE:  return dy[i] * y->value[i] / x[i];
    case SECOND_TERM_ALONE: return right - dy[i] * y->value[i] / x[i];
    case SIGN_OF_TERM:   return of_one == TANH ? dy[i] * (1 + y->value[i] * y->value[i])
                                               : 2 * dy[i] * y->value[i] / x[i] - right;
    case Y_FOR_X:        return dy[i] * functions[of_one].slope(y->value[i]);
    case X_FOR_Y:        return of_one == TANH ? dy[i] * (1 - x[i] * x[i]) : dy[i] * x[i];
    default:             return right;
  }
}

static void f_backward(CompNode *y) {
  size_t n = wrong == EMPTY ? 0 : y->size - (wrong == ENDS_EARLY);
  for (size_t i = wrong == BEGINS_AT_1; i < n; i++) {
    double dx = f_gradient(y, i);
    if (wrong == ASSIGNS) y->in[0]->grad[i] = dx;
    else edf_addgrad(y->in[0], i, dx);
  }
  if (y->value != live && wrong == BELOW_DX) y->in[0]->grad[-1] += 1;
  if (y->value != live && wrong == CHANGES_DY) y->grad[5] *= 2;
}

static Parameter *around_0(void) { return numbers("x[2,4]", -1.125, 0.3125); }

static CompNode *one_of(int which, Node *x) {
  of_one = which;
  live = NULL;
  return named_y(edf_compnode("Mine", f_forward, f_backward, x));
}

static CompNode *one(int which) {
  CompNode *y = one_of(which, around_0());
  Forward();
  return y;
}

static CompNode *vector(int which) { return one_of(which, numbers("x[8]", -1, 0.3)); }
static CompNode *at_kinks(int which) { return one_of(which, numbers("x[8]", 0, 0)); }

/* The check tries a part of the entries of a large tensor. */
static CompNode *large(int which) { return one_of(which, numbers("x[2000]", -2, 0.0019)); }

/* ---- Two operands: y[i] = a[i] b[i], a[i] / b[i], or the larger one */

enum { MUL, DIV, LARGER, SQUARED };      /* SQUARED: both operands are one */
static int of_two;

static void two_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) {
    double a = y->in[0]->value[i], b = y->in[1]->value[i];
    y->value[i] = of_two == MUL ? a * b : of_two == DIV ? a / b : a > b ? a : b;
  }
}

static void two_backward(CompNode *y) {
  Node *a = y->in[0], *b = y->in[1];
  for (size_t i = 0; i < y->size; i++) {
    double at = a->value[i], bt = b->value[i], dy = y->grad[i];
    double da = of_two == MUL ? bt : of_two == DIV ? 1 / bt : at > bt;
    double db = of_two == MUL ? at : of_two == DIV ? -at / (bt * bt) : bt >= at;
    int exchanged = wrong == EXCHANGED;
    if (wrong == TWICE_IN_B || wrong == WRONG_IN_B) db *= 2;
    if (wrong == WRONG_IN_B) da *= -1;
    if (wrong == NO_TEST) b->grad[i] += dy * db;
    if (wrong == NO_TEST) db = 0;
    edf_addgrad(a, i, dy * (exchanged ? db : da));
    edf_addgrad(b, i, dy * (exchanged ? da : db));
  }
}

static CompNode *two(int which) {
  of_two = which % SQUARED;
  Parameter *a = numbers("a[6]", -1.25, 0.625);
  Parameter *b = which == SQUARED ? a : numbers("b[6]", 1.75, -0.1875);
  return named_y(edf_compnode("Two", two_forward, two_backward, a, b));
}

/* ---- Dense: y[b,j] = x[b,I] W[I,j] - B[j] */

static void dense_shape(CompNode *y) {
  y->rank = 2;
  y->dim[0] = y->in[0]->dim[0];
  y->dim[1] = y->in[1]->dim[1];
}

static void dense_forward(CompNode *y) {
  const double *x = y->in[0]->value, *W = y->in[1]->value, *B = y->in[2]->value;
  int rows = y->in[0]->dim[0], n = y->in[1]->dim[0], m = y->in[1]->dim[1];
  for (int b = 0; b < rows; b++) for (int j = 0; j < m; j++) {
    y->value[b * m + j] = -B[j];
    for (int i = 0; i < n; i++) y->value[b * m + j] += x[b * n + i] * W[i * m + j];
  }
}

static void dense_backward(CompNode *y) {
  Node *x = y->in[0], *W = y->in[1], *B = y->in[2];
  int transposed = wrong == TRANSPOSED;
  int rows = x->dim[0], n = W->dim[0], m = W->dim[1];
  for (int b = 0; b < rows; b++) for (int j = 0; j < m; j++) {
    double dy = y->grad[b * m + j];
    edf_addgrad(B, (size_t)j, -dy);
    for (int i = 0; i < n; i++) {
      size_t at_x = (size_t)(b * n + i), at_W = (size_t)(i * m + j);
      size_t to = transposed ? (size_t)(j * n + i) : at_W;
      double dW = dy * x->value[at_x] / (wrong == DIVIDED ? rows : 1);
      edf_addgrad(W, to, dW);
      edf_addgrad(x, at_x, dy * W->value[at_W]);
    }
  }
}

enum { OF_PARAMETER, OF_INPUT, UNSHAPED };

static CompNode *dense(int which) {
  static double data[20];
  Node *x = which == OF_INPUT ? edf_input("x[b,4]") : edf_parameter("x[5,4]");
  Parameter *W = numbers("W[4,3]", -0.5, 0.1875), *B = numbers("B[3]", 1, 1);
  for (int i = 0; i < 20; i++) data[i] = edf_uniform(-2, 2);
  if (which == OF_INPUT) edf_feed(x, data, 5);
  else memcpy(x->value, data, sizeof data);
  return named_y(edf_compnode_shaped("Dense", which == UNSHAPED ? NULL : dense_shape,
                                     dense_forward, dense_backward, x, W, B));
}

/* ---- Softmax along the last axis, from what forward keeps */

static double kept_by_all[64];

static double *kept(CompNode *y) {
  if (wrong == STATIC) return kept_by_all;
  return (double *)edf_state(y, y->size * sizeof(double));
}

static void soft_forward(CompNode *y) {
  double *P = kept(y);
  size_t n = (size_t)y->dim[1];
  for (size_t k = 0; k < y->size; k += n) {
    double Z = 0;
    for (size_t i = k; i < k + n; i++) Z += exp(y->in[0]->value[i]);
    for (size_t i = k; i < k + n; i++) y->value[i] = exp(y->in[0]->value[i]) / Z;
  }
  if (wrong != OF_BEFORE || P[0] == 0) memcpy(P, y->value, y->size * sizeof *P);
}

static void soft_backward(CompNode *y) {
  const double *P = kept(y);
  size_t n = (size_t)y->dim[1];
  for (size_t k = 0; k < y->size; k++) {
    double sum = 0;
    size_t row = k - k % n, end = wrong == NO_CROSS ? row : row + n;
    for (size_t i = row; i < end; i++) sum += P[i] * y->grad[i];
    edf_addgrad(y->in[0], k, P[k] * (y->grad[k] - sum));
  }
}

/* x changes between a first Forward and the check, as in training. */
static CompNode *soft(int n) {
  Parameter *x = numbers("x[2,3]", -0.5, 0.3125), *z = numbers("z[2,3]", 0.5, -0.25);
  CompNode *y = named_y(edf_compnode("Soft", soft_forward, soft_backward, x));
  Forward();
  x->value[1] += 0.75;
  if (n == 1) return y;
  return Sum(Mul(y, edf_compnode("Soft", soft_forward, soft_backward, z)));
}

/* ---- The table */

typedef CompNode *builder(int which);

/* The report must contain the words. It may not contain the names "sign", "factor",
   "transposed" and "exchanged" unless they are in the words. With NULL it only must fail. */
static const struct { const char *title; builder *build; int which, wrong; const char *words; }
mistakes[] = {
  { "the sign", one, RELU, SIGN, "sign|gradcheck.c:|x[" },
  { "the sign in 2 of 8", one, TANH, SIGN_IN_PLACES, "sign|x[" },
  { "sign(x) is lost", one, ABS, NO_SIGN, "sign" },
  { "half of 2 x", one, SQUARE, HALF, "factor|0.5" },
  { "1/B too much", dense, 0, DIVIDED, "factor|0.2|W[" },
  { "twice in b", two, MUL, TWICE_IN_B, "factor|b[" },
  { "transposed", dense, 0, TRANSPOSED, "transposed|W[" },
  { "no mask", one, RELU, NO_MASK, "mask" },
  { "the mask of another sign", one, RELU, OTHER_MASK, "mask" },
  { "= for +=", one, TANH, ASSIGNS, "+=" },
  { "an empty backward", one, RELU, EMPTY, "written" },
  { "the loop begins at 1", one, TANH, BEGINS_AT_1, "written|x[0,0]" },
  { "exchanged factors", two, MUL, EXCHANGED, "exchanged" },
  { "no cross term in softmax", soft, 1, NO_CROSS, "changes several" },

  { "no second term of a product", one, SWISH, FIRST_TERM_ALONE, "term|product rule" },
  { "no first term of a product", one, SWISH, SECOND_TERM_ALONE, "term|product rule" },
  { "the sign of a term", one, SWISH, SIGN_OF_TERM, "sign|one of two terms" },
  { "1 + y^2", one, TANH, SIGN_OF_TERM, "sign|one of two terms" },
  { "1 for 1 - y^2", one, TANH, NO_MASK, "term" },
  { "y for x in 3 x^2", one, CUBE, Y_FOR_X, "y.value|x.value is meant" },
  { "y for x in a swish", one, SWISH, Y_FOR_X, "y.value|x.value is meant" },
  { "x for y in 1 - y^2", one, TANH, X_FOR_Y, "x.value|y.value is meant" },
  { "x for y in exp", one, EXP, X_FOR_Y, "x.value|y.value is meant" },
  { "1 for both slopes", one, LEAKY, NO_MASK, "mask or a case|10" },
  { "the loop ends early", one, TANH, ENDS_EARLY, "written|x[1,3]" },
  { "the loop over a vector ends early", vector, EXP, ENDS_EARLY, "written|x[7]" },
  { "forward gives NaN", one, TANH, FORWARD_NAN, "forward gives NaN|y[1,2]" },
  { "both operands", two, MUL, WRONG_IN_B, "d y / d a|sign|d y / d b|factor" },

  { "y.grad is forgotten", one, TANH, NO_DY, "" },
  { "y.grad cut at 1", one, TANH, CUT_AT_1, "" },
  { "x/4 added", one, TANH, PLUS_X, "" },
  { "x.grad for y.grad", one, TANH, READS_DX, "" },
  { "no shape function", dense, UNSHAPED, RIGHT, "Dense|not write" },
  { "values of before", soft, 1, OF_BEFORE, NULL },
  { "a static variable", soft, 1, STATIC, "static" },
  { "a static variable of two", soft, 2, STATIC, "static" },

  { "the last y is forgotten", one, TANH, FORGETS_LAST, "not write|y[1,3]|Mine" },
  { "forward adds to y", one, EXP, ADDS_TO_Y, "again" },
  { "a NaN", one, TANH, GIVES_NAN, "NaN" },
  { "a write beyond y", one, TANH, PAST_Y, "outside" },
  { "a write below x.grad", one, TANH, BELOW_DX, "outside|x" },
  { "x is changed", one, TANH, CHANGES_X, "changes|x" },
  { "y.grad is changed", one, TANH, CHANGES_DY, "" },
};

static double error;                 /* of the last check; its report is in captured */

static void check(CompNode *y) {
  error = HUGE_VAL;
  CAPTURE(error = edf_gradcheck(y));
  CHECK(!panicked, "%s", caught);
}

static void check_new(builder *build, int which, int mistake, unsigned seed) {
  edf_clear();
  edf_seed(seed);
  memset(kept_by_all, 0, sizeof kept_by_all);
  wrong = mistake;
  check(build(which));
  wrong = RIGHT;
}

TEST(wrong_backwards_are_caught_and_named) {
  static const char *const names[] = { "sign", "factor", "transposed", "exchanged" };
  for (size_t m = 0; m < sizeof mistakes / sizeof *mistakes; m++)
    for (unsigned seed = 1; seed <= 3; seed++) {
      const char *words = mistakes[m].words;
      check_new(mistakes[m].build, mistakes[m].which, mistakes[m].wrong, seed);
      CHECK(error > wrong_bound && strstr(captured, FAIL), "%s: %g\n%s", mistakes[m].title,
            error, captured);
      if (!words) continue;
      WORDS(captured, words);
      for (int n = 0; n < 4; n++)
        CHECK(strstr(words, names[n]) || !strstr(captured, names[n]), "%s: %s\n%s",
              mistakes[m].title, names[n], captured);
    }
  for (int which = 0; which < FUNCTIONS; which++) {
    check_new(which == CLAMP ? large : one, which, SIGN, 1);
    CHECK(error > wrong_bound, "function %d: %g\n%s", which, error, captured);
  }
}

/* ---- Right nodes that look suspicious: y[i] = x[i] m[i]. Forward keeps m for backward. */

enum { POINTER, RANDOM_MASK, READS_Y, KINDS };
static int kind;
static double masks[8][8];

static double *memory_of(CompNode *y) {
  if (kind != POINTER) return (double *)edf_state(y, sizeof *masks);
  return *(double **)edf_state(y, sizeof(double *)) = masks[y->position];
}

static void keeps_forward(CompNode *y) {
  double *m = memory_of(y);
  for (size_t i = 0; i < y->size; i++) {
    double x = y->in[0]->value[i];
    m[i] = kind == RANDOM_MASK ? edf_uniform(0, 1) < 0.5 : x;
    y->value[i] = x * m[i] + (kind == READS_Y && i > 0 ? y->value[i - 1] : 0);
  }
}

static void keeps_backward(CompNode *y) {
  double *m = memory_of(y), sum = 0;
  for (size_t i = y->size; i-- > 0;) {
    double slope = kind == RANDOM_MASK ? m[i] : 2 * m[i];
    sum += y->grad[i];
    edf_addgrad(y->in[0], i, (kind == READS_Y ? sum : y->grad[i]) * slope);
  }
}

static CompNode *keeps(int which) {
  kind = which;
  Parameter *x = numbers("x[7]", 0.5, 0.25);
  CompNode *h = edf_compnode("Keeps", keeps_forward, keeps_backward, x);
  return edf_compnode("Keeps", keeps_forward, keeps_backward, h);
}

static void not_accused(const char *name, builder *build, int first, int end) {
  for (int which = first; which < end; which++)
    for (unsigned seed = 1; seed <= 5; seed++) {
      check_new(build, which, RIGHT, seed);
      CHECK(error < right_bound && !strstr(captured, FAIL), "%s, %d: %g\n%s", name, which,
            error, captured);
    }
  edf_clear();
}

TEST(right_nodes_are_not_accused) {
  not_accused("one", one, 0, FUNCTIONS);
  not_accused("two", two, MUL, SQUARED + 1);
  not_accused("large", large, SQUARE, SQUARE + 1);
  not_accused("dense", dense, OF_PARAMETER, OF_INPUT + 1);
  not_accused("soft", soft, 1, 3);
  not_accused("keeps", keeps, 0, KINDS);
}

/* ---- y[i] = f(a[i], b[i]) with a wrong gradient: title, f, da, db, the words of the report.
   y->state has the sigmoid of a. */
#define PAIRS(OF) \
  OF("2 x f is missing", a * a * tanh(a), a * a * (1 - tanh(a) * tanh(a)), 0, "is missing") \
  OF("x^2 f' is missing", a * a * tanh(a), 2 * a * tanh(a), 0, "a term is missing") \
  OF("2 a is missing", a * b + a * a, b, a, "or a term is missing|ok    d y / d b") \
  OF("b (a+1)", a * b - b, b, a + 1, "ok    d y / d a|one of two terms|-2 y.grad\n") \
  OF("2 x - 3", a * a + 3 * a, 2 * a - 3, 0, "one of two terms|6 y.grad\n") \
  OF("y for s", a / (1 + exp(-a)), y + a * y * (1 - y), 0, "y.value is used|y.state") \
  OF("y for a in a b", a * b, b, y, "y.value is used where a.value is meant") \
  OF("y for a in a / b", a / b, 1 / b, -y / (b * b), "y.value is used where a.value is meant") \
  OF("elu for x > 0", a > 0 ? a : exp(a) - 1, 1, 0, "a case is missing|where x < ") \
  OF("elu for x < 0", a > 0 ? a : exp(a) - 1, exp(a), 0, "a case is missing|where x > ") \
  OF("huber", fabs(a) < 1 ? a * a / 2 : fabs(a) - 0.5, a, 0, "a case is missing|where |x| > ") \
  OF("a - b exchanged", a - b, -1, 1, "exchanged") \
  OF("2 a + 3 b exchanged", 2 * a + 3 * b, 3, 2, "exchanged")
#define FORWARD(title, f, da, db, words) f,
#define DA(title, f, da, db, words) da,
#define DB(title, f, da, db, words) db,
#define WORDS_OF(title, f, da, db, words) { title, words },
static const char *const pairs[][2] = { PAIRS(WORDS_OF) };
enum { N_PAIRS = sizeof pairs / sizeof *pairs };
static int of_pair, assigns;

static void pair_forward(CompNode *y) {
  double *s = (double *)edf_state(y, y->size * sizeof *s);
  for (size_t i = 0; i < y->size; i++) {
    double a = y->in[0]->value[i], b = y->in[1]->value[i], all[] = { PAIRS(FORWARD) };
    y->value[i] = all[of_pair];
    s[i] = 1 / (1 + exp(-a));
  }
}
static void pair_backward(CompNode *node) {
  Node *first = node->in[0], *second = node->in[1];
  for (size_t i = 0; i < node->size; i++) {
    double a = first->value[i], b = second->value[i], y = node->value[i];
    double to_a[] = { PAIRS(DA) }, to_b[] = { PAIRS(DB) };
    edf_addgrad(first, i, node->grad[i] * to_a[of_pair]);
    if (assigns) second->grad[i] = node->grad[i] * to_b[of_pair];
    else edf_addgrad(second, i, node->grad[i] * to_b[of_pair]);
  }
}
static CompNode *pair(int which) {
  Parameter *a = numbers("a[3,4]", -2, 0.35), *b = numbers("b[3,4]", 1.75, -0.13);
  of_pair = which;
  return named_y(edf_compnode("Pair", pair_forward, pair_backward, a, b));
}

TEST(wrong_terms_operands_and_cases_are_named) {
  for (int k = 0; k < N_PAIRS; k++) {
    check_new(pair, k, RIGHT, 1);
    CHECK(error > wrong_bound, "%s: %g", pairs[k][0], error);
    WORDS(captured, pairs[k][1]);
  }
  assigns = 1;
  check_new(pair, 4, RIGHT, 1);
  WORDS(captured, "FAIL  d y / d a|FAIL  d y / d b|+=");
  assigns = 0;
}

/* The rounding errors of a gradient of 0 are no mistakes. */
TEST(a_gradient_of_0_is_right) {
  static const char *const texts[] = {
    "y[b] = (W[I] x[b,I] - stop(W[I] x[b,I]))^2", "y = (W[I] W[I] - stop(W[I] W[I]))^2",
    "y = mean_b (W[I] x[b,I] - t[b])^2", "d[b] = W[I] x[b,I] - W[I] x[b,I]\n"
    "y[b] = d[b] W[I] x[b,I]", "h[b] = 0.1 W[I] x[b,I]\n"
    "q[b] = h[b] + stop(floor(h[b]) - h[b])\ny[b] = q[b]^2"
  };
  static const double x[2][3] = { { 0.5, 0.25, 1 }, { 2, 3, 1 } }, t[2] = { 4, 11 };
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
    numbers("W[3]", 1, 1);
    edf_feed(edf_want_grad(edf_input("x[b,3]")), *x, 2);
    edf_feed(edf_input("t[b]"), t, 2);
    check(edf_equations("%s", texts[k]));
    CHECK(error < right_bound && !strstr(captured, FAIL), "%s\n%s", texts[k], captured);
    edf_clear();
  }
}
TEST(a_graph_with_nan_is_named) {
  numbers("v[3]", 1, 1);
  check(edf_equations("y[i] = 2 ln(v[i] - 2) v[i]"));
  WORDS(captured, "forward gives NaN at|[0]|root or logarithm");
  edf_clear();
  numbers("v[3]", 1, 1);
  check(edf_equations("y[i] = v[i] / (v[i] - v[i])"));
  WORDS(captured, "backward gives NaN or Inf");
}

/* ---- Kinks: at every distance, and on them. There any slope between both sides is right. */

TEST(steps_over_kinks_are_not_accused) {
  for (unsigned seed = 1; seed <= 5; seed++) {
    edf_clear();
    edf_seed(seed);
    Parameter *x = numbers("x[80]", -1, 0.025);
    for (int i = 1; i < 76; i++) x->value[i] = (i % 2 ? 2e-5 : -2e-5) * pow(0.85, i);
    x->value[0] = 0;
    check(one_of(seed % 2 ? RELU : ABS, x));
    CHECK(error < right_bound && !strstr(captured, FAIL), "%g\n%s", error, captured);
  }
  check_new(at_kinks, ABS, HALF, 1);
  CHECK(error < right_bound && !strstr(captured, FAIL), "%g\n%s", error, captured);
  check_new(at_kinks, ABS, SIGN_BUT_ONE, 1);
  CHECK(error > wrong_bound, "%g\n%s", error, captured);
}

/* ---- Through a graph */

static void straight_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, y->grad[i]);
}

static int rounds = 1;               /* 0: Round copies */
static void round_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) {
    double x = y->in[0]->value[i];
    y->value[i] = rounds ? floor(x + 0.5) : x;
  }
}

TEST(a_mismatch_may_be_expected) {
  for (int k = 0; k < 3; k++) {
    Parameter *w = numbers("w[3,4]", -1.25, 0.33), *v = numbers("v[4]", 1, 0.25);
    CompNode *r = edf_compnode("Round", round_forward, straight_backward, w);
    CompNode *y = Mul(r, one_of(SQUARE, Add(r, v)));
    wrong = k == 1 ? SIGN : RIGHT;
    rounds = k < 2;
    edf_expect_mismatch(r);
    check(y);
    if (k == 0) CHECK(error < right_bound && !strstr(captured, FAIL), "%s", captured);
    if (k == 1) CHECK(error > wrong_bound && strstr(captured, "Mine"), "%s", captured);
    if (k == 2) WORDS(captured, FAIL "|Round|mismatch");
    wrong = RIGHT;
    rounds = 1;
    edf_clear();
  }
}

/* Only the gradient of b is wrong. It counts if b is a Parameter or a wanted Input. */
TEST(parameters_and_wanted_inputs_are_checked) {
  static const double data[6] = { 1, 2, 3, -1, -2, 0.5 };
  for (int k = 0; k < 4; k++) {
    int is_input = k < 2, counts = k % 2;
    Parameter *a = numbers("a[2,3]", 0.5, 0.25);
    Node *b = is_input ? edf_input("b[n,3]") : numbers("b[2,3]", 1, -0.375);
    if (is_input) edf_feed(b, data, 2);
    if (is_input && counts) edf_want_grad(b);
    if (!is_input && !counts) b->update = edf_frozen;
    CompNode *y = edf_name(edf_compnode("Two", two_forward, two_backward, a, b), "h");
    of_two = MUL;
    wrong = TWICE_IN_B;
    check(Sum(y));
    CHECK(counts ? error > wrong_bound : error < right_bound, "case %d: %g", k, error);
    if (counts) WORDS(captured, FAIL "|h|b[|gradcheck.c:");
    wrong = RIGHT;
    edf_clear();
  }
}

/* Some inputs are right and some wrong: each is reported. An Input without a gradient, and a
   frozen Parameter, are said not to be checked. */
TEST(each_input_is_reported) {
  static const double data[6] = { 1, 2, 3, -1, -2, 0.5 };
  check_new(two, MUL, TWICE_IN_B, 1);
  WORDS(captured, "ok    d y / d a|FAIL  d y / d b");
  edf_clear();
  Input *in = edf_input("in[2,3]");
  Parameter *W = numbers("W[2,3]", 1, -0.375), *f = numbers("f[2,3]", 0.5, 0.25);
  edf_feed(in, data, 2);
  f->update = edf_frozen;
  check(edf_name(Mul(Mul(W, f), in), "h"));
  CHECK(error < right_bound && !strstr(captured, FAIL), "%g\n%s", error, captured);
  WORDS(captured, "skip  d h / d in|edf_want_grad|ok    d h / d W|skip  d h / d f|frozen");
}

/* A backward that writes b->grad without a test is a crash for an Input. The last line before
   it says what runs. */
TEST(a_backward_runs_without_each_gradient) {
  check_new(two, MUL, RIGHT, 1);
  CHECK(error < right_bound, "%g\n%s", error, captured);
  WORDS(captured, "run   the backward of y without a.grad|"
                  "run   the backward of y without b.grad");
  edf_clear();
  const char *path_of_child = file("crash");
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    if (!freopen(path_of_child, "w", stdout)) _exit(0);
    edf_gradcheck((wrong = NO_TEST, two(MUL)));
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  char text[4000] = "";
  FILE *f = fopen(path_of_child, "r");
  size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
  if (f) fclose(f);
  text[n] = '\0';
  CHECK(status != 0, "it has not crashed:\n%s", text);
  const char *last = strrchr(text, '\n');
  while (last && last > text && last[-1] != '\n') last--;
  CHECK(last && strstr(last, "without b.grad"), "the last line is not about b:\n%s", text);
}

/* A Stop has no gradient on purpose: that of a stopped path, and straight through a floor. */
TEST(a_stop_is_held) {
  numbers("W[2]", 0.5, 1.5);
  numbers("x[2]", 2, -1.5);
  check(edf_equations("y = stop(W[I]) x[I]"));
  CHECK(error < right_bound && !strstr(captured, FAIL), "%g\n%s", error, captured);
  WORDS(captured, "stop|on purpose|ok    d y / d x");
  check(edf_equations("q[i] = x[i] + stop(floor(x[i]) - x[i])"));
  CHECK(error < right_bound && !strstr(captured, FAIL), "%g\n%s", error, captured);
  WORDS(captured, "stop|ok    d q / d x");
  CHECK(!strstr(captured, "every derivative is 0"), "%s", captured);
  of_one = TANH;
  live = NULL;
  wrong = SIGN;
  check(Mul(edf_find("q"), edf_compnode("Mine", f_forward, f_backward, edf_find("x"))));
  CHECK(error > wrong_bound && strstr(captured, "sign"), "%g\n%s", error, captured);
  wrong = RIGHT;
}

/* No gradient flows through it, and so none is compared with it. */
TEST(a_node_may_have_no_backward) {
  Parameter *w = numbers("w[4]", 0.5, 0.25), *v = numbers("v[4]", 1, 0.25);
  check(Mul(edf_compnode("Round", round_forward, NULL, w), Square(v)));
  CHECK(error < right_bound && !strstr(captured, FAIL), "%g\n%s", error, captured);
}

/* x^3 at 0: a difference there is h^2, and its limit 0. The report says that it saw nothing. */
TEST(derivatives_of_0_hide_mistakes) {
  for (int k = 0; k < 4; k++) {
    double at = k / 2, expected = k == 2 ? wrong_bound : 0;
    wrong = k % 2 ? RIGHT : HALF;
    check(one_of(CUBE, numbers("w[3]", at, at)));
    wrong = RIGHT;
    CHECK(expected ? error > expected : error < right_bound, "case %d: %g", k, error);
    CHECK(!strstr(captured, "every derivative is 0") == (at > 0), "case %d\n%s", k, captured);
    edf_clear();
  }
}

static double sum_of_values(void) {
  double sum = 0;
  for (int i = 0; i < edf.n_compnodes + edf.n_parameters; i++) {
    int k = i - edf.n_compnodes;
    const Node *x = k < 0 ? edf.compnodes[i] : edf.parameters[k];
    for (size_t n = 0; n < x->size; n++) sum += sin((double)(i + 1) * x->value[n]);
  }
  return sum;
}

TEST(a_check_changes_nothing) {
  static const double data[8] = { 1, 2, 3, -1, -2, 0.5, 0.25, 4 };
  Input *x = edf_want_grad(edf_input("x[b,4]"));
  edf_feed(x, data, 2);
  CompNode *h = one_of(TANH, Affine(edf_affine_params(4, 3), x)), *y = Sum(Dropout(h, 0.5));
  edf.accumulate = 1;
  edf_seed(7);
  Forward();
  edf_seed(7);                       /* so that Dropout draws the same mask again */
  double sum = sum_of_values();
  check(y);
  CHECK(error < right_bound, "%g\n%s", error, captured);
  CHECK(sum_of_values() == sum && x->value == data, "a value has changed");
  CHECK(edf.accumulate == 1 && edf.training == 1, "a setting has changed");
  CHECK(edf.draws == 0 && edf.seed == 7, "the next random numbers have changed");
  edf.accumulate = 0;
}

/* What a backward keeps when it first runs in a check is still there afterwards. */
static edf_real *seen_by_backward;
static void keep_backward(edf_node *y) {
  seen_by_backward = (edf_real *)edf_keep(seen_by_backward, y->size * sizeof *seen_by_backward);
  for (size_t i = 0; i < y->size; i++) {
    seen_by_backward[i] = y->grad[i];
    edf_addgrad(y->in[0], i, seen_by_backward[i]);
  }
}
static void same_forward(edf_node *y) {
  memcpy(y->value, y->in[0]->value, y->size * sizeof *y->value);
}
TEST(memory_of_a_backward_outlives_the_check) {
  edf_node *w = edf_parameter("w[3]");
  edf_node *y = edf_compnode("Keeps", same_forward, keep_backward, w);
  seen_by_backward = NULL;
  check(y);
  CHECK(error < right_bound, "%g\n%s", error, captured);
  CHECK(edf_array_bytes(seen_by_backward) == 3 * sizeof *seen_by_backward, "%zu bytes", edf_array_bytes(seen_by_backward));
  edf_forward();
  edf_backward(y);
  CHECK(seen_by_backward[2] == (edf_real)1 / 3, "%g", (double)seen_by_backward[2]);
}

int main(void) { return harness_main(); }
