/* nodes.c - every node of edf.h: values against their definition in double, gradients against
   differences of the definition under a random cotangent; edf_gradcheck, which accepts them;
   extreme numbers; random numbers.
   A new node needs a definition and a row in the table. */

#include "harness.h"
#include "edf.h"
#include "edf/slide.h"
#include <float.h>

enum { BATCH = 3, MOST = 128, WIDEST = 70 };
static const double epsilon = EDF_REAL_IS_DOUBLE ? DBL_EPSILON : FLT_EPSILON;
static const double close_gradient = EDF_REAL_IS_DOUBLE ? 1e-7 : 1e-4;
static const double accepted = EDF_REAL_IS_DOUBLE ? 1e-6 : 5e-3;   /* by the gradient check */
static const double pi = 3.14159265358979323846, range = EDF_REAL_IS_DOUBLE ? 700 : 87;

static double at(const edf_node *x, size_t i) { return (double)x->value[i]; }

/* ---- The definitions: entry i of a node with the operands a and b. Both have n entries, in
   rows of K entries. A short operand repeats. */

static struct { size_t n, K; double at[MOST]; } operand[2];

static double a(size_t i) { return operand[0].at[i % operand[0].n]; }
static double b(size_t i) { return operand[1].at[i % operand[1].n]; }

static double relu(size_t i) { return a(i) > 0 ? a(i) : 0; }
static double exp_(size_t i) { return exp(a(i)); }
static double log_(size_t i) { return log(a(i)); }
static double sqrt_(size_t i) { return sqrt(a(i)); }
static double tanh_(size_t i) { return tanh(a(i)); }
static double sin_(size_t i) { return sin(a(i)); }
static double cos_(size_t i) { return cos(a(i)); }
static double abs_(size_t i) { return fabs(a(i)); }
static double same(size_t i) { return a(i); }
static double square(size_t i) { return a(i) * a(i); }
static double cube(size_t i) { return a(i) * a(i) * a(i); }
static double power(size_t i) { return 1 / (a(i) * sqrt(a(i))); }
static double softplus(size_t i) { return log1p(exp(a(i))); }
static double leaky_relu(size_t i) { return a(i) > 0 ? a(i) : 0.25 * a(i); }
static double clamp(size_t i) { return fmin(fmax(a(i), -0.75), 1.5); }
static double logistic(double x) { return 1 / (1 + exp(-x)); }
static double sigmoid(size_t i) { return logistic(a(i)); }
static double gelu(size_t i) {           /* (1 + tanh(z)) / 2 is logistic(2 z) */
  return a(i) * logistic(2 * sqrt(2 / pi) * (a(i) + 0.044715 * cube(i)));
}

static double add(size_t i) { return a(i) + b(i); }
static double sub(size_t i) { return a(i) - b(i); }
static double mul(size_t i) { return a(i) * b(i); }
static double quotient(size_t i) { return a(i) / b(i); }
static double least(size_t i) { return fmin(a(i), b(i)); }
static double greatest(size_t i) { return fmax(a(i), b(i)); }
static double bce(size_t i) {
  return -b(i) * log(logistic(a(i))) - (1 - b(i)) * log(logistic(-a(i)));
}

static double log_sum(size_t row) {
  double total = 0;
  for (size_t k = 0; k < operand[0].K; k++) total += exp(a(row * operand[0].K + k));
  return log(total);
}
static double log_softmax(size_t i) { return a(i) - log_sum(i / operand[0].K); }
static double softmax(size_t i) { return exp(log_softmax(i)); }
static double log_loss(size_t i) { return -log(a(i * operand[0].K + (size_t)b(i))); }
static double softmax_log_loss(size_t i) {
  return -log_softmax(i * operand[0].K + (size_t)b(i));
}

static size_t larger(void) {
  return operand[0].n > operand[1].n ? operand[0].n : operand[1].n;
}
static double square_of_sub(size_t i) { return sub(i) * sub(i); }
static double share(size_t i) {
  double all = 0;
  for (size_t k = 0; k < operand[1].n; k++) all += b(k);
  return a(i) * b(i) / all;
}

/* ---- Nodes with numbers, as functions with the arguments of all other nodes */

#define NODE(name, ...) \
  static edf_node *name(const char *from, int line, edf_node *x) { return __VA_ARGS__; }
NODE(leaky_relu_at, edf_leaky_relu_at(from, line, x, (edf_real)0.25))
NODE(cube_at, edf_pow_at(from, line, x, 3))
NODE(power_at, edf_pow_at(from, line, x, (edf_real)-1.5))
NODE(clamp_at, edf_clamp_at(from, line, x, (edf_real)-0.75, (edf_real)1.5))
NODE(no_dropout_at, edf_dropout_at(from, line, x, 0))
NODE(reshape_at, edf_reshape_at(from, line, x, "y[1,1,%d]", (int)x->size))
#define ONE(name) NODE(name##_at, edf_node1(&edf_##name##_op, from, line, x))
ONE(sigmoid) ONE(tanh) ONE(relu) ONE(exp) ONE(log) ONE(sqrt) ONE(square) ONE(sum) ONE(mean)
ONE(softmax) ONE(gelu) ONE(softplus) ONE(abs) ONE(sin) ONE(cos) ONE(log_softmax)
#define TWO(name) \
  static edf_node *name##_at(const char *from, int line, edf_node *a, edf_node *b) { \
    return edf_node2(&edf_##name##_op, from, line, a, b); \
  }
TWO(add) TWO(sub) TWO(mul) TWO(log_loss) TWO(softmax_log_loss) TWO(bce_loss) TWO(div) TWO(min)
TWO(max)

/* ---- The table. Shapes are declarations. An index b makes an Input of BATCH rows. */

typedef const char *const shapes[2];
static shapes one[] = { { "a" }, { "a[7]" }, { "a[3,5]" }, { "a[2,1,3,5]" }, { "a[b]" },
  { "a[b,5]" }, { "a[b,3,5]" }, { NULL } };
static shapes numbered[] = { { "a[1]" }, { "a[3,5]" }, { "a[2,1,3,5]" }, { NULL } };
static shapes row[] = { { "a[7]" }, { "a[3,1]" }, { "a[3,5]" }, { "a[b,5]" }, { "a[b,3,4]" },
  { NULL } };
static shapes equal[] = { { "a", "c" }, { "a[7]", "c[7]" }, { "a[b,5]", "c[b,5]" }, { NULL } };
static shapes pair[] = { { "a", "c" }, { "a[3,5]", "c[3,5]" }, { "a[b,5]", "c[b,5]" },
  { "a[3,5]", "c[5]" }, { "a[b,3,5]", "c[3,5]" }, { "a[b,3,5]", "c[5]" }, { "a[b,5]", "c" },
  { "a[b]", "c" }, { "a[2,3,1,5]", "c[3,1,5]" }, { "a[1,2,1,2,1,2,1,2]", "c[2,1,2,1,2]" },
  { "c[5]", "a[3,5]" }, { "c", "a[b,5]" }, { "c[3,1,5]", "a[2,3,1,5]" }, { NULL } };
static shapes classes[] = { { "a[5]", "y" }, { "a[b,5]", "y[b]" }, { "a[3,4]", "y[3]" },
  { "a[b,2,3]", "y[b,2]" }, { "a[1,2]", "y[1]" }, { NULL } };

typedef edf_node *unary(const char *from, int line, edf_node *x);
typedef edf_node *binary(const char *from, int line, edf_node *x, edf_node *y);
typedef struct {
  const char *op;
  unary *one;                            /* the constructor, */
  binary *two;                           /* or this */
  double (*entry)(size_t i);             /* the definition of an entry */
  enum { EACH, ROW, SUM, MEAN } kind;    /* for each entry or row of a, or reduced */
  shapes *shape;                         /* to be tried */
  double lo, hi;                         /* the range of a */
  double lo2, hi2;                       /* the range of b, or a wide range of a */
  double accuracy, scale;                /* in epsilons of the value plus the scale */
} definition;

static const definition table[] = {
  { "Sigmoid", sigmoid_at, NULL, sigmoid, EACH, one, -4, 4, -87, 87, 4, 0 },
  { "Tanh", tanh_at, NULL, tanh_, EACH, one, -2, 2, -12, 12, 3, 0 },
  { "Relu", relu_at, NULL, relu, EACH, one, -1, 1, -9, 9, 0, 0 },
  { "Exp", exp_at, NULL, exp_, EACH, one, -3, 3, -range, range, 2, 0 },
  { "Log", log_at, NULL, log_, EACH, one, 0.3, 3, 0.001, 50, 2, 0 },
  { "Sqrt", sqrt_at, NULL, sqrt_, EACH, one, 0.3, 3, 0.001, 1e6, 1, 0 },
  { "Square", square_at, NULL, square, EACH, one, -2, 2, -9, 9, 1, 0 },
  { "LeakyRelu", leaky_relu_at, NULL, leaky_relu, EACH, one, -1, 1, -9, 9, 1, 0 },
  { "Gelu", gelu_at, NULL, gelu, EACH, one, -2, 2, -5, 5, 16, 1 },
  { "Softplus", softplus_at, NULL, softplus, EACH, one, -3, 3, -80, 80, 4, 0 },
  { "Abs", abs_at, NULL, abs_, EACH, one, -3, 3, -9, 9, 0, 0 },
  { "Sin", sin_at, NULL, sin_, EACH, one, -3, 3, -90, 90, 2, 0 },
  { "Cos", cos_at, NULL, cos_, EACH, one, -3, 3, -90, 90, 2, 0 },
  { "Pow", cube_at, NULL, cube, EACH, one, -2, 2, -9, 9, 4, 0 },
  { "Pow", power_at, NULL, power, EACH, one, 0.3, 3, 0.01, 90, 4, 0 },
  { "Clamp", clamp_at, NULL, clamp, EACH, one, -3, 3, -9, 9, 0, 0 },
  { "Dropout", no_dropout_at, NULL, same, EACH, one, -3, 3, -9, 9, 0, 0 },
  { "Reshape", reshape_at, NULL, same, EACH, numbered, -3, 3, -9, 9, 0, 0 },
  { "Add", NULL, add_at, add, EACH, pair, -2, 2, -2, 2, 2, 0 },
  { "Sub", NULL, sub_at, sub, EACH, pair, -2, 2, -2, 2, 2, 0 },
  { "Mul", NULL, mul_at, mul, EACH, pair, -2, 2, -2, 2, 2, 0 },
  { "Div", NULL, div_at, quotient, EACH, pair, -2, 2, 0.5, 2, 2, 0 },
  { "Min", NULL, min_at, least, EACH, pair, -1, 1, -1, 1, 0, 0 },
  { "Max", NULL, max_at, greatest, EACH, pair, -1, 1, -1, 1, 0, 0 },
  { "BCELoss", NULL, bce_loss_at, bce, EACH, equal, -3, 3, 0, 1, 8, 1 },
  { "Softmax", softmax_at, NULL, softmax, EACH, row, -2, 2, -9, 9, 32, 0 },
  { "LogSoftmax", log_softmax_at, NULL, log_softmax, EACH, row, -2, 2, -9, 9, 8, 9 },
  { "Sum", sum_at, NULL, same, SUM, one, -1, 2, -9, 9, 16, 99 },
  { "Mean", mean_at, NULL, same, MEAN, one, -1, 2, -9, 9, 16, 1 },
  { "LogLoss", NULL, log_loss_at, log_loss, ROW, classes, 0.1, 1, 0, 0, 4, 0.1 },
  { "SoftmaxLogLoss", NULL, softmax_log_loss_at, softmax_log_loss, ROW, classes, -2, 2,
    0, 0, 8, 4 },
  { "MSE", NULL, edf_mse_at, square_of_sub, MEAN, pair, -2, 2, -2, 2, 16, 1 },
  { "MaskedMean", NULL, edf_masked_mean_at, share, SUM, equal, -2, 2, 0.1, 1, 32, 1 },
};

/* ---- A loss with a random cotangent: z = sum over k and i of cotangent[k][i] in[k][i] */

static double cotangent[3][MOST];
static edf_real cotangent_of(size_t i) { return (edf_real)cotangent[i / MOST][i % MOST]; }

#define COTANGENTS_APART MOST
#include "cotangent.h"

/* ---- One row of the table, with operands of one shape. In variant SHARED the loss also
   depends on the operands directly, so that their gradients are not 0 when the backward of the
   node runs. In FIRST_ONLY and SECOND_ONLY the other operand has no gradient. WIDE takes the
   wide range of numbers, and looks at values only. */

enum { PLAIN, SHARED, FIRST_ONLY, SECOND_ONLY, WIDE };
static const definition *tested;
static edf_real data[2][MOST];
static edf_node *in[2];

static int is_wanted(int k, int variant) {
  if (k == 0) return variant != SECOND_ONLY;
  return variant != FIRST_ONLY && tested->shape != classes;
}

static edf_node *leaf(const char *declaration, const edf_real *numbers, int wanted) {
  int batched = strchr(declaration, 'b') != NULL;
  if (wanted && !batched) {
    edf_node *p = edf_parameter("%s", declaration);
    memcpy(p->value, numbers, p->size * sizeof *numbers);
    return p;
  }
  edf_node *x = edf_input("%s", declaration);
  edf_feed(x, numbers, batched ? BATCH : x->rank ? x->dim[0] : 1);
  return wanted ? edf_want_grad(x) : x;
}

static edf_node *build(const char *const *shape, int variant) {
  const definition *d = tested;
  edf_clear();
  for (int i = 0; i < MOST; i++) {
    data[0][i] = variant == WIDE ? edf_uniform((edf_real)d->lo2, (edf_real)d->hi2)
                                 : edf_uniform((edf_real)d->lo, (edf_real)d->hi);
    data[1][i] = edf_uniform((edf_real)d->lo2, (edf_real)d->hi2);
    for (int k = 0; k < 3; k++) cotangent[k][i] = (double)edf_uniform(-1, 1);
  }
  in[0] = leaf(shape[0], data[0], is_wanted(0, variant));
  int K = in[0]->rank ? in[0]->dim[in[0]->rank - 1] : 1;
  for (int i = 0; d->shape == classes && i < MOST; i++) data[1][i] = (edf_real)edf_below(K);
  in[1] = d->two ? leaf(shape[1], data[1], is_wanted(1, variant)) : NULL;
  return d->two ? d->two("nodes.c", 1, in[0], in[1]) : d->one("nodes.c", 1, in[0]);
}

static double defined(size_t i) {
  double total = 0;
  if (tested->kind <= ROW) return tested->entry(i);
  for (size_t k = 0; k < larger(); k++) total += tested->entry(k);
  return tested->kind == MEAN ? total / (double)larger() : total;
}

static void values_are_right(const edf_node *y, const char *shape) {
  memset(operand, 0, sizeof operand);
  for (int k = 0; k < 2 && in[k]; k++) {
    operand[k].n = in[k]->size;
    operand[k].K = in[k]->rank ? (size_t)in[k]->dim[in[k]->rank - 1] : 1;
    for (size_t i = 0; i < in[k]->size; i++) operand[k].at[i] = at(in[k], i);
  }
  size_t n = tested->kind == EACH ? larger() : tested->kind == ROW ? operand[0].n / operand[0].K
           : 1;
  CHECK(!strcmp(y->op, tested->op), "the op is %s", y->op);
  CHECK(y->size == n, "%s: %zu entries, not %zu", shape, y->size, n);
  for (size_t i = 0; i < n && i < y->size; i++) {
    double right = defined(i), bound = fabs(right) + tested->scale;
    CHECK(fabs(at(y, i) - right) <= tested->accuracy * epsilon * bound,
          "%s: the value for %.9g is %.17g, not %.17g", shape, a(i), at(y, i), right);
  }
}

/* Returns the derivative of the loss with respect to *x, a number of an operand. */
static double slope_at(double *x, size_t n) {
  const double h = 1e-5, old = *x;
  double slope = 0;
  for (int sign = -1; sign <= 1; sign += 2) {
    *x = old + sign * h;
    for (size_t j = 0; j < n; j++) slope += sign * cotangent[0][j] * defined(j) / (2 * h);
  }
  *x = old;
  return slope;
}

static void check(const char *const *shape, int variant) {
  edf_node *y = build(shape, variant), *z;
  if (variant != SHARED) z = JUDGED(y);
  else z = in[1] ? JUDGED(y, in[0], in[1]) : JUDGED(y, in[0]);
  edf_forward();
  values_are_right(y, shape[0]);
  if (variant == WIDE) return;
  edf_backward(z);
  for (int k = 0; k < 2 && in[k]; k++) {
    CHECK(!in[k]->grad == !is_wanted(k, variant), "%s: operand %d: a gradient?", shape[0], k);
    for (size_t i = 0; in[k]->grad && i < in[k]->size; i++) {
      double slope = slope_at(&operand[k].at[i], y->size), found = (double)in[k]->grad[i];
      if (variant == SHARED) slope += cotangent[1 + k][i];
      CHECK(fabs(found - slope) <= close_gradient * (1 + fabs(slope)),
            "%s, variant %d: the gradient of operand %d at %zu is %.9g, not %.9g", shape[0],
            variant, k, i, found, slope);
    }
  }
}

static void is_accepted(const char *const *shape) {
  static double error;
  for (int draw = 0; draw < 3; draw++) {
    CAPTURE(error = edf_gradcheck(build(shape, PLAIN)));
    CHECK(error < accepted, "%s: %g\n%s", shape[0], error, captured);
  }
}

/* Vectors of 1 to WIDEST entries are tried too, because loops are made of the vectors of a
   machine and of what is left. */
static void node_is_its_definition(void) {
  char first[16], second[16];
  const char *const of_length[2] = { first, second };
  int variants = !tested->two ? FIRST_ONLY : tested->shape == classes ? SECOND_ONLY : WIDE;
  for (shapes *s = tested->shape; (*s)[0]; s++) {
    for (int variant = PLAIN; variant < variants; variant++) check(*s, variant);
    is_accepted(*s);
  }
  for (int n = 1; n <= WIDEST; n++) {
    snprintf(first, sizeof first, "a[%d]", n);
    snprintf(second, sizeof second, tested->shape == classes ? "y" : "c[%d]", n);
    check(of_length, SHARED);
    if (tested->one) check(of_length, WIDE);
  }
  edf_clear();
}

/* ---- What the gradient check sees: this backward of tanh is wrong by 3 percent. */

static void curve_forward(edf_node *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = (edf_real)tanh(at(y->in[0], i));
}
static double too_much;
static void curve_backward(edf_node *y) {
  for (size_t i = 0; i < y->size; i++) {
    double slope = (1 + too_much) * (1 - at(y, i) * at(y, i));
    edf_addgrad(y->in[0], i, y->grad[i] * (edf_real)slope);
  }
}

TEST(three_percent_are_seen) {
  static double error;
  for (int n = 1; n <= 1000; n *= 10)
    for (unsigned seed = 1; seed <= 5; seed++) {
      edf_clear();
      edf_seed(seed);
      edf_node *x = edf_parameter("x[%d]", n);
      edf_init_uniform(x, -2, 2);
      edf_node *y = edf_compnode("Curve", curve_forward, curve_backward, x);
      for (int wrong = 0; wrong < 2; wrong++) {
        too_much = 0.03 * wrong;
        CAPTURE(error = edf_gradcheck(y));
        CHECK((error > accepted) == wrong && !strstr(captured, "FAIL") == !wrong,
              "%d entries: %g\n%s", n, error, captured);
      }
    }
}

/* ---- Extreme numbers, kinks, NaN */

static edf_node *numbers(const char *declaration, const edf_real *values) {
  return leaf(declaration, values, 1);
}

TEST(scores_may_be_extreme) {
  static const edf_real scores[6] = { 10000, -10000, 0, 0, -10000, -10000 };
  static const edf_real label[2] = { 1, 0 };
  static const double P[6] = { 1, 0, 0, 1, 0, 0 }, l[2] = { 20000, 0 };
  edf_node *s = numbers("s[2,3]", scores), *y = leaf("y[2]", label, 0);
  edf_node *soft = edf_softmax(s), *ln = edf_log_softmax(s);
  edf_node *loss = edf_softmax_log_loss(s, y), *infinite = edf_log_loss(soft, y);
  edf_forward();
  edf_backward(loss);
  for (size_t i = 0; i < 6; i++) {
    size_t best = i / 3 * 3 + (size_t)label[i / 3];
    CLOSE(soft->value[i], P[i], 4 * epsilon, 0);
    CLOSE(loss->value[i / 3], l[i / 3], 0, 4 * epsilon);
    CLOSE(-at(ln, best), l[i / 3], 0, 4 * epsilon);
    CLOSE(s->grad[i], (P[i] - (i == best)) / 2, 4 * epsilon, 0);
  }
  CHECK(at(infinite, 0) == HUGE_VAL, "-ln 0 is %g: nothing may be clamped", at(infinite, 0));
}

/* The derivatives at these points are a choice: sign(0) is 0, Relu has 0 at 0, Clamp has 1 at
   its bounds, and of equal operands Min and Max take the first. */
static void slopes_are(edf_node *y, const edf_node *x, double p, double q, double r, double s,
                       double t) {
  const double right[5] = { p, q, r, s, t };
  edf_node *z = edf_sum(y);
  edf_forward();
  edf_backward(z);
  for (size_t i = 0; i < 5; i++)
    CHECK((double)x->grad[i] == right[i], "%s: x.grad[%zu] is %g, not %g", y->op, i,
          (double)x->grad[i], right[i]);
}

TEST(kinks_have_a_slope) {
  static const edf_real points[5] = { -2, -1, 0, 1, 2 }, zeros[5] = { 0 };
  edf_node *x = numbers("x[5]", points), *o = numbers("o[5]", zeros);
  slopes_are(edf_abs(x), x, -1, -1, 0, 1, 1);
  slopes_are(edf_relu(x), x, 0, 0, 0, 1, 1);
  slopes_are(edf_leaky_relu(x, (edf_real)0.25), x, 0.25, 0.25, 0.25, 1, 1);
  slopes_are(edf_clamp(x, -1, 1), x, 0, 1, 1, 1, 0);
  slopes_are(edf_pow(x, 0), x, 0, 0, 0, 0, 0);
  slopes_are(edf_pow(x, 2), x, -4, -2, 0, 2, 4);
  slopes_are(edf_max(x, o), x, 0, 0, 1, 1, 1);
  slopes_are(edf_max(x, o), o, 1, 1, 0, 0, 0);
  slopes_are(edf_min(o, x), o, 0, 0, 1, 1, 1);
  slopes_are(edf_max(x, x), x, 1, 1, 1, 1, 1);
  slopes_are(edf_sub(edf_mul(x, x), x), x, -5, -3, -1, 1, 3);
}

/* Nothing is clamped. The points are -Inf, -1, 0, 1, Inf and NaN. */
static void values_are(edf_node *y, double p, double q, double r, double s, double t) {
  const double right[6] = { p, q, r, s, t, NAN };
  edf_forward_to(y);
  for (size_t i = 0; i < 6; i++) {
    int equal_nan = isnan(at(y, i)) && isnan(right[i]);
    CHECK(equal_nan || fabs(at(y, i) - right[i]) < 1e-6 || at(y, i) == right[i],
          "%s: entry %zu is %g, not %g", y->op, i, at(y, i), right[i]);
  }
}

TEST(nan_and_infinity_stay) {
  static const edf_real points[6] = { -(edf_real)INFINITY, -1, 0, 1, (edf_real)INFINITY,
                                      (edf_real)NAN }, zeros[6] = { 0 };
  const double inf = HUGE_VAL, nan = NAN;
  edf_node *x = numbers("x[6]", points), *o = numbers("o[6]", zeros);
  values_are(edf_relu(x), 0, 0, 0, 1, inf);
  values_are(edf_log(x), nan, nan, -inf, 0, inf);
  values_are(edf_exp(x), 0, exp(-1), 1, exp(1), inf);
  values_are(edf_tanh(x), -1, tanh(-1), 0, tanh(1), 1);
  values_are(edf_sigmoid(x), 0, logistic(-1), 0.5, logistic(1), 1);
  values_are(edf_softplus(x), 0, log1p(exp(-1)), log(2), log1p(exp(1)), inf);
  values_are(edf_clamp(x, -1, 2), -1, -1, 0, 1, 2);
  values_are(edf_div(x, x), nan, 1, nan, 1, nan);
  values_are(edf_min(o, x), -inf, -1, 0, 0, 0);
  values_are(edf_max(x, o), 0, 0, 0, 1, inf);
}

/* ---- Dropout */

TEST(dropout_keeps_the_mean) {
  enum { N = 10000 };
  static edf_real first[N];
  const double rate = 0.25;
  double dropped = 0, changed = 0;
  edf_seed(3);
  edf_node *x = edf_parameter("x[%d]", N), *y = edf_dropout(x, rate), *z = edf_sum(y);
  edf_init_uniform(x, 1, 2);
  unsigned long long draws = edf.draws;
  edf_forward();
  edf_backward(z);
  for (size_t i = 0; i < N; i++) {
    double factor = at(y, i) == 0 ? 0 : 1 / (1 - rate);
    first[i] = y->value[i];
    dropped += factor == 0;
    CLOSE(y->value[i], at(x, i) * factor, 0, 2 * epsilon);
    CLOSE(x->grad[i], factor, 0, 2 * epsilon);
  }
  CLOSE(dropped / N, rate, 5 * sqrt(rate * (1 - rate) / N), 0);
  edf_forward();
  for (size_t i = 0; i < N; i++) changed += y->value[i] != first[i];
  CLOSE(changed / N, 2 * rate * (1 - rate), 0.025, 0);       /* another mask */
  edf.draws = draws;
  edf_forward();
  CHECK(!memcmp(first, y->value, sizeof first), "the same draws make another mask");
  edf.training = 0;
  edf_forward();
  edf_backward(z);
  edf.training = 1;
  for (size_t i = 0; i < N; i++)
    CHECK(at(y, i) == at(x, i) && x->grad[i] == 1, "entry %zu in evaluation", i);
}

/* ---- Random numbers */

/* These numbers were computed outside of C. They are the same on every platform. */
TEST(a_seed_has_these_numbers) {
  static const int drawn[8] = { 955703818, 748682889, 828688764, 814911972, 285137826,
                                211490850, 39354196, 836507572 };
  for (int i = 0; i < 8; i++) {
    edf_seed(1);
    edf.draws = (unsigned long long)i;             /* a number depends on its place only */
    CHECK(edf_below(1000000000) == drawn[i], "draw %d of seed 1 is not %d", i, drawn[i]);
  }
  edf_seed(1);
  for (int i = 0; i < 8; i++) CLOSE(edf_uniform(-1, 3), drawn[i] / 2.5e8 - 1, 8e-9, epsilon);
  edf_seed(1);                                     /* the method of Box and Muller */
  CLOSE(edf_normal(2, 3),
        2 + 3 * sqrt(-2 * log(1 - drawn[0] / 1e9)) * cos(2 * pi * drawn[1] / 1e9), 1e-5, 0);
  edf_real next = 1 + (edf_real)epsilon;           /* rounding must not reach the upper bound */
  for (int i = 0; i < 100; i++) CHECK(edf_uniform(1, next) == 1, "not in [1, 1 + epsilon)");
}

/* Each entry has its own draw, and no draw is for an entry after the last. */
TEST(initialisers_write_each_entry_once) {
  for (int n = 1; n <= 20; n++) {
    edf_clear();
    edf_seed(9);
    edf_node *p = edf_parameter("p[%d]", n), *q = edf_parameter("q[%d,2]", n);
    edf_init_uniform(p, -2, 3);
    edf_init_normal(q, 1, 4);
    edf_real after = edf_uniform(0, 1);
    edf_seed(9);
    for (size_t i = 0; i < p->size; i++) CHECK(p->value[i] == edf_uniform(-2, 3), "p[%zu]", i);
    for (size_t i = 0; i < q->size; i++) CHECK(q->value[i] == edf_normal(1, 4), "q[%zu]", i);
    CHECK(after == edf_uniform(0, 1), "%d entries have another number of draws", n);
  }
}

int main(void) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    tested = &table[i];
    harness_run(table[i].op, node_is_its_definition);
  }
  return harness_main();
}
