/* Every node: its value against plain loops in double, its gradient against differences, with
   100 seeds each; the accuracy of exp, tanh and sigmoid; extreme scores; random numbers.

   Built as: float double none cblas sanitized shim */

#include "node_checks.h"
#include <float.h>
#include <stdint.h>

enum { SEEDS = 100 / QUICK };

/* ---- Element-wise nodes of one operand */

typedef struct {
  edf_node *(*node)(const char *file, int line, edf_node *x);
  double (*value)(double x);
  double lo, hi;
} function;

static double plain_sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double plain_relu(double x) { return x > 0 ? x : 0; }
static double plain_square(double x) { return x * x; }

static void element_wise(const function *f) {
  static const char *const shape[] = { "x", "x[1]", "x[7]", "x[1,5]", "x[3,5]", "x[2,3,5]",
    "x[3,1,2,3]", "x[b]", "x[b,1]", "x[b,5]", "x[b,3,5]" };
  for (unsigned seed = 1; seed <= SEEDS; seed++) {
    begin(seed);
    edf_node *x = leaf(shape[seed % (sizeof shape / sizeof *shape)], seed, f->lo, f->hi);
    edf_node *y = f->node(__FILE__, __LINE__, x);
    edf_forward();
    CHECK(y->size == x->size && y->rank == x->rank, "%s: the shape", y->op);
    for (int i = 0; i < (int)x->size; i++) close_to(y, i, f->value(at(x, i)), 0, seed);
    if (f->value == plain_relu)                              /* else it may be 0 everywhere */
      y = edf_add(y, edf_square(x));
    gradients_right(y, seed);
  }
}

#define ELEMENT_WISE(name, node, value, lo, hi) \
  static void name(void) { function f = { node, value, lo, hi }; element_wise(&f); }
ELEMENT_WISE(sigmoid, edf_sigmoid_at, plain_sigmoid, -4, 4)
ELEMENT_WISE(tanh_node, edf_tanh_at, tanh, -2, 2)
ELEMENT_WISE(relu, edf_relu_at, plain_relu, -1, 1)
ELEMENT_WISE(exp_node, edf_exp_at, exp, -3, 3)
ELEMENT_WISE(log_node, edf_log_at, log, 0.3, 3)
ELEMENT_WISE(sqrt_node, edf_sqrt_at, sqrt, 0.3, 3)
ELEMENT_WISE(square, edf_square_at, plain_square, -2, 2)

/* Nothing is clamped: what is not a number stays visible. */
/* ---- Abs, Sin, Cos, Pow, Clamp, Min, Max: values by the C library, gradients, and what they
   make of kinks, of zeros and of NaN. */
static void functions_of_an_entry(void) {
  for (unsigned seed = 1; seed <= 6; seed++) {
    begin(seed);
    edf_node *x = leaf("x[b,5]", seed, -3, 3), *q = leaf("q[7]", seed, 0.1, 3);
    edf_node *y[] = { Abs(x), Sin(x), Cos(x), Clamp(x, (edf_real)-0.75, (edf_real)1.5),
                      Pow(x, 3), Pow(q, (edf_real)-1.5), Pow(q, (edf_real)0.5) };
    edf_forward();
    for (int i = 0; i < 7; i++) {
      double v = at(x, i % (int)x->size), u = at(q, i);
      int k = i % (int)x->size;
      close_to(y[0], k, fabs(v), 0, seed);
      close_to(y[1], k, sin(v), 1, seed);
      close_to(y[2], k, cos(v), 1, seed);
      close_to(y[3], k, v < -0.75 ? -0.75 : v > 1.5 ? 1.5 : v, 0, seed);
      close_to(y[4], k, v * v * v, 0, seed);
      close_to(y[5], i, 1 / (u * sqrt(u)), 0, seed);
      close_to(y[6], i, sqrt(u), 0, seed);
    }
    for (int k = 0; k < 7; k++) gradients_right(y[k], seed);
  }
}

static void the_lesser_and_the_greater(void) {
  static const struct { const char *a, *b; } shapes[] = { { "a[b,4]", "v[b,4]" },
    { "a[b,3,4]", "v[3,4]" }, { "a[4]", "v[b,4]" }, { "a[b,4]", "v" }, { "c", "v[3]" } };
  for (unsigned seed = 1; seed <= 15; seed++) {
    begin(seed);
    edf_node *a = leaf(shapes[seed % 5].a, seed, -1, 1);
    edf_node *b = leaf(shapes[seed % 5].b, seed, -1, 1);
    edf_node *least = Min(a, b), *most = Max(a, b), *both = Min(Max(a, b), a);
    edf_forward();
    for (size_t i = 0; i < most->size; i++) {
      double u = at(a, (int)(i % a->size)), v = at(b, (int)(i % b->size));
      close_to(least, (int)i, u < v ? u : v, 0, seed);
      close_to(most, (int)i, u < v ? v : u, 0, seed);
      close_to(both, (int)i, u, 0, seed);
    }
    gradients_right(least, seed);
    gradients_right(most, seed);
  }
}

/* The gradient of the sum of y's entries at these numbers. */
static void slopes(edf_node *y, edf_node *x, const double *wanted) {
  edf_node *sum = edf_sum(y);
  edf_forward();
  edf_backward(sum);
  for (size_t i = 0; i < x->size; i++)
    CHECK((double)x->grad[i] == wanted[i], "%s: x.grad[%zu] is %g, expected %g", y->op, i,
          (double)x->grad[i], wanted[i]);
}

static void kinks(void) {
  static const edf_real numbers[] = { -2, -1, 0, 1, 2 };
  static const double sign[] = { -1, -1, 0, 1, 1 }, inside[] = { 0, 1, 1, 1, 0 },
    once[] = { 1, 1, 1, 1, 1 }, zero[] = { 0, 0, 0, 0, 0 }, line[] = { -4, -2, 0, 2, 4 },
    first[] = { 0, 0, 1, 1, 1 }, last[] = { 1, 1, 0, 0, 0 };
  begin(1);
  edf_node *x = edf_parameter("x[5]"), *o = edf_parameter("o[5]");
  memcpy(x->value, numbers, sizeof numbers);
  slopes(Abs(x), x, sign);
  slopes(Clamp(x, -1, 1), x, inside);
  slopes(Pow(x, 0), x, zero);
  slopes(Pow(x, 2), x, line);
  slopes(Max(x, o), x, first);
  slopes(Max(x, o), o, last);
  slopes(Min(o, x), o, first);
  slopes(Max(x, x), x, once);
  edf_clear();
}

static void functions_of_nan(void) {
  static const edf_real numbers[] = { (edf_real)NAN, (edf_real)HUGE_VAL, -(edf_real)HUGE_VAL };
  begin(1);
  edf_node *x = edf_parameter("x[3]"), *o = edf_parameter("o[3]");
  memcpy(x->value, numbers, sizeof numbers);
  edf_node *y[] = { Abs(x), Clamp(x, -1, 2), Min(x, o), Max(o, x), Pow(x, 2), Max(x, o),
                    Min(o, x) };
  static const double wanted[][2] = { { HUGE_VAL, HUGE_VAL }, { 2, -1 }, { 0, -HUGE_VAL },
    { HUGE_VAL, 0 }, { HUGE_VAL, HUGE_VAL }, { HUGE_VAL, 0 }, { 0, -HUGE_VAL } };
  edf_forward();
  for (int k = 0; k < 7; k++) {
    CHECK(at(y[k], 0) != at(y[k], 0), "%s of NaN is %g", y[k]->name, at(y[k], 0));
    CHECK(at(y[k], 1) == wanted[k][0] && at(y[k], 2) == wanted[k][1],
          "%s of infinity: %g %g", y[k]->name, at(y[k], 1), at(y[k], 2));
  }
  x->value[0] = (edf_real)-0.0;
  edf_forward();
  CHECK(1 / at(y[0], 0) > 0, "Abs of -0 is -0");
  edf_clear();
}

static void special_values(void) {
  static const edf_real data[6] = { 0, -1, (edf_real)NAN, (edf_real)INFINITY,
                                    -(edf_real)INFINITY, 1 };
  begin(1);
  edf_node *x = edf_want_grad(feed(edf_input("x[6]"), data, 1));
  edf_node *r = edf_relu(x), *l = edf_log(x), *s = edf_sqrt(x), *e = edf_exp(x);
  edf_node *t = edf_tanh(x), *g = edf_sigmoid(x), *q = edf_div(x, x);
  edf_forward();
  CHECK(r->value[2] != r->value[2], "Relu turns NaN into %g", at(r, 2));
  CHECK(r->value[0] == 0 && r->value[1] == 0 && r->value[4] == 0, "Relu below 0");
  CHECK(r->value[3] > 1e30 && r->value[5] == 1, "Relu above 0");
  CHECK(at(l, 0) == -HUGE_VAL && at(l, 1) != at(l, 1) && at(l, 2) != at(l, 2), "Log");
  CHECK(at(s, 0) == 0 && at(s, 1) != at(s, 1) && at(s, 3) == HUGE_VAL, "Sqrt");
  CHECK(at(e, 2) != at(e, 2) && at(e, 3) == HUGE_VAL && at(e, 4) == 0, "Exp");
  CHECK(at(t, 2) != at(t, 2) && at(t, 3) == 1 && at(t, 4) == -1, "Tanh");
  CHECK(at(g, 2) != at(g, 2) && at(g, 3) == 1 && at(g, 4) == 0, "Sigmoid");
  CHECK(at(q, 0) != at(q, 0) && at(q, 5) == 1, "Div");
  edf_backward(r);
  CHECK(x->grad[0] == 0 && x->grad[1] == 0, "the derivative of Relu at 0 and below is 0");
  CLOSE(x->grad[5], 1.0 / 6, 0, 1e-6);
  edf_clear();
}

/* ---- Element-wise nodes of two operands: the shorter one repeats */

typedef edf_node *(*binary)(const char *file, int line, edf_node *a, edf_node *b);

static double plain_binary(binary node, double a, double b) {
  return node == edf_add_at ? a + b : node == edf_sub_at ? a - b
       : node == edf_mul_at ? a * b : a / b;
}

static void two_operands(binary node) {
  static const char *const pair[][2] = {
    { "a", "c" }, { "a[5]", "c[5]" }, { "a[3,5]", "c[3,5]" }, { "a[b,5]", "c[b,5]" },
    { "a[3,5]", "c[5]" }, { "a[b,3,5]", "c[3,5]" }, { "a[b,3,5]", "c[5]" },
    { "a[b,5]", "c" }, { "a[b]", "c" }, { "a[2,3,1,5]", "c[3,1,5]" },
    { "a[2,1,3,1,2]", "c[1,2]" }, { "a[1,2,1,2,1,2,1,2]", "c[2,1,2,1,2]" } };
  unsigned n = sizeof pair / sizeof *pair;
  for (unsigned seed = 0; seed < SEEDS; seed++) {
    const char *const *p = pair[seed % n];
    int swapped = seed / n % 2;                              /* the shorter one first */
    begin(seed);
    edf_node *a = leaf(p[swapped], seed, 0.5, 2), *c = leaf(p[!swapped], seed, 0.5, 2);
    edf_node *y = node(__FILE__, __LINE__, a, c);
    edf_forward();
    CHECK(y->size == (swapped ? c : a)->size, "%s: %zu entries", y->op, y->size);
    for (int i = 0; i < (int)y->size; i++) {
      double ai = at(a, i % (int)a->size), ci = at(c, i % (int)c->size);
      close_to(y, i, plain_binary(node, ai, ci), ai, seed);
    }
    gradients_right(y, seed);
  }
}

static void add(void) { two_operands(edf_add_at); }
static void sub(void) { two_operands(edf_sub_at); }
static void mul(void) { two_operands(edf_mul_at); }
static void divide(void) { two_operands(edf_div_at); }

/* ---- Softmax and the losses */

static double plain_log_sum(const edf_node *s, int row, int K) {
  double max = at(s, row * K), Z = 0;
  for (int k = 1; k < K; k++) max = at(s, row * K + k) > max ? at(s, row * K + k) : max;
  for (int k = 0; k < K; k++) Z += exp(at(s, row * K + k) - max);
  return max + log(Z);
}

static void softmax(void) {
  static const char *const shape[] = { "s[7]", "s[2]", "s[3,5]", "s[1,4]", "s[b,5]", "s[b,2]",
    "s[2,3,5]", "s[b,3,4]", "s[1,1,3]" };
  for (unsigned seed = 1; seed <= SEEDS; seed++) {
    begin(seed);
    edf_node *s = leaf(shape[seed % (sizeof shape / sizeof *shape)], seed, -2, 2);
    edf_node *P = edf_softmax(s);
    edf_forward();
    int K = P->dim[P->rank - 1];
    for (int i = 0; i < (int)P->size; i++)
      close_to(P, i, exp(at(s, i) - plain_log_sum(s, i / K, K)), 0, seed);
    gradients_right(P, seed);
  }
}

static void softmax_of_one(void) {                           /* P = 1 whatever s is */
  begin(1);
  edf_node *s = parameter("s[3,1]", -2, 2), *P = edf_softmax(s);
  edf_forward();
  edf_backward(P);
  for (int b = 0; b < 3; b++) {
    CHECK(P->value[b] == 1, "P[%d] is %g", b, at(P, b));
    CHECK(s->grad[b] == 0, "the gradient at %d is %g", b, (double)s->grad[b]);
  }
  capture_begin();
  double error = edf_gradcheck(P);
  capture_end();
  CHECK(error < gradient_bound, "%g\n%s", error, captured);
}

static void softmax_extremes(void) {
  static const edf_real data[4][3] = { { 1e4f, -1e4f, 0 }, { -1e4f, -1e4f, -1e4f },
    { 1e4f, 1e4f, -1e4f }, { 0, -(edf_real)INFINITY, 0 } };
  static const double expected[4][3] = { { 1, 0, 0 }, { 1 / 3.0, 1 / 3.0, 1 / 3.0 },
    { .5, .5, 0 }, { .5, 0, .5 } };
  begin(1);
  edf_node *s = edf_want_grad(feed(edf_input("s[b,3]"), data[0], 4));
  edf_node *P = edf_softmax(s);
  edf_forward();
  edf_backward(P);
  for (int i = 0; i < 12; i++) {
    CLOSE(P->value[i], expected[i / 3][i % 3], 1e-7, 0);
    CLOSE(s->grad[i], 0, 1e-7, 0);                           /* the sum of a row is fixed */
  }
}

/* Scores or probabilities of some rank, and labels of one rank less. */
static const char *const scored[][2] = { { "s[5]", "y" }, { "s[b,5]", "y[b]" },
  { "s[3,4]", "y[3]" }, { "s[b,2,3]", "y[b,2]" }, { "s[1,2]", "y[1]" }, { "s[b,7]", "y[b]" } };

static void log_loss(void) {
  for (unsigned seed = 1; seed <= SEEDS; seed++) {
    const char *const *d = scored[seed % 6];
    begin(seed);
    edf_node *P = leaf(d[0], seed, 0.1, 1);
    edf_node *y = labels(d[1], (int)(strchr(d[1], 'b') ? 1 + seed % 3 : 1),
                         P->dim[P->rank - 1]);
    edf_node *l = edf_log_loss(P, y);
    edf_forward();
    int K = P->dim[P->rank - 1];
    for (int b = 0; b < (int)y->size; b++)
      close_to(l, b, -log(at(P, b * K + (int)y->value[b])), 0.1, seed);
    gradients_right(seed % 2 ? l : edf_log_loss(edf_softmax(P), y), seed);
  }
}

static void softmax_log_loss(void) {
  for (unsigned seed = 1; seed <= SEEDS; seed++) {
    const char *const *d = scored[seed % 6];
    begin(seed);
    edf_node *s = leaf(d[0], seed, -2, 2);
    edf_node *y = labels(d[1], (int)(strchr(d[1], 'b') ? 1 + seed % 3 : 1),
                         s->dim[s->rank - 1]);
    edf_node *l = edf_softmax_log_loss(s, y);
    edf_forward();
    int K = s->dim[s->rank - 1];
    for (int b = 0; b < (int)y->size; b++)
      close_to(l, b, plain_log_sum(s, b, K) - at(s, b * K + (int)y->value[b]), 1, seed);
    gradients_right(l, seed);
  }
}

/* Where P[b,y] underflows to 0, LogLoss of Softmax is infinite, as it must be: nothing is
   clamped. SoftmaxLogLoss is right, and so are the gradients. */
static void losses_extremes(void) {
  static const edf_real data[4][3] = { { 1e4f, -1e4f, 0 }, { 0, 1e3f, 0 }, { -800, 0, 0 },
                                       { 1e4f, 1e4f, 1e4f } }, classes[4] = { 1, 0, 0, 2 };
  static const double loss[4] = { 2e4, 1e3, 800.69314718055994, 1.0986122886681098 };
  static const double grad[4][3] = { { 1, -1, 0 }, { -1, 1, 0 }, { -1, .5, .5 },
                                     { 1 / 3.0, 1 / 3.0, -2 / 3.0 } };
  begin(1);
  edf_node *s = edf_want_grad(feed(edf_input("s[b,3]"), data[0], 4));
  edf_node *y = feed(edf_input("y[b]"), classes, 4);
  edf_node *l = edf_softmax_log_loss(s, y), *infinite = edf_log_loss(edf_softmax(s), y);
  edf_forward();
  edf_backward(l);
  for (int b = 0; b < 4; b++) CLOSE(l->value[b], loss[b], 0, value_bound);
  for (int i = 0; i < 12; i++) CLOSE(s->grad[i], grad[i / 3][i % 3] / 4, 1e-7, value_bound);
  CHECK(at(infinite, 0) == HUGE_VAL, "-ln 0 is %g", at(infinite, 0));
}

/* ---- Mean and Sum */

static void mean_and_sum(void) {
  static const char *const shape[] = { "x", "x[1]", "x[9]", "x[37]", "x[3,5]", "x[b,5]",
    "x[b,1]", "x[2,3,5]" };
  for (unsigned seed = 1; seed <= SEEDS; seed++) {
    begin(seed);
    edf_node *x = leaf(shape[seed % (sizeof shape / sizeof *shape)], seed, -1, 2);
    edf_node *sum = edf_sum(x), *mean = edf_mean(x);
    double total = 0;
    edf_forward();
    for (int i = 0; i < (int)x->size; i++) total += at(x, i);
    CHECK(sum->rank == 0 && mean->rank == 0 && mean->size == 1, "not a scalar");
    close_to(sum, 0, total, (double)x->size, seed);
    close_to(mean, 0, total / (double)x->size, 1, seed);
    gradients_right(seed % 2 ? sum : mean, seed);
  }
}

/* ---- Affine and Einsum */

static void affine(void) {
  static const char *const shape[] = { "x[5]", "x[b,5]", "x[3,5]", "x[b,2,5]", "x[2,1,5]",
    "x[b,2,3,5]", "x[2,1,3,5]" };
  for (unsigned seed = 1; seed <= SEEDS; seed++) {
    begin(seed);
    edf_node *x = leaf(shape[seed % (sizeof shape / sizeof *shape)], seed, -1, 1);
    edf_affine_package Phi = edf_affine_params(5, 3);
    edf_init_uniform(Phi.b, -1, 1);
    edf_node *s = edf_affine(Phi, x);
    edf_forward();
    CHECK(s->rank == x->rank && s->dim[s->rank - 1] == 3, "the shape of Affine");
    for (int i = 0; i < (int)s->size; i++) {
      double sum = -at(Phi.b, i % 3);
      for (int k = 0; k < 5; k++) sum += at(Phi.w, k * 3 + i % 3) * at(x, i / 3 * 5 + k);
      close_to(s, i, sum, 2, seed);
    }
    gradients_right(s, seed);
  }
}

/* y[b,i,j,k] = W[DI,DJ,C,k] x[b,2*i+DI,2*j+DJ,C]; W [3,2,2,3], x [b,7,6,2], y [b,3,3,3] */
static void convolution(void) {
  for (unsigned seed = 1; seed <= SEEDS / 4; seed++) {
    begin(seed);
    edf_node *W = parameter("W[3,2,2,3]", -1, 1), *x = leaf("x[b,7,6,2]", seed, -1, 1);
    edf_node *y = edf_einsum("y[b,i,j,k] = W[DI,DJ,C,k] x[b,2*i+DI,2*j+DJ,C]", W, x);
    edf_forward();
    CHECK(y->dim[1] == 3 && y->dim[2] == 3 && y->dim[3] == 3, "the shape");
    for (int n = 0; n < (int)y->size; n++) {
      int b = n / 27, i = n / 9 % 3, j = n / 3 % 3, k = n % 3;
      double sum = 0;
      for (int di = 0; di < 3; di++) for (int dj = 0; dj < 2; dj++) for (int c = 0; c < 2; c++)
        sum += at(W, ((di * 2 + dj) * 2 + c) * 3 + k)
             * at(x, ((b * 7 + 2 * i + di) * 6 + 2 * j + dj) * 2 + c);
      close_to(y, n, sum, 2, seed);
    }
    gradients_right(y, seed);
  }
}

/* y[b,i] = 0.5 W[D] x[b,i+D-1] - x[b,i] | i<5; W [3], x [b,5], zeros outside */
static void padded(void) {
  for (unsigned seed = 1; seed <= SEEDS; seed++) {
    begin(seed);
    edf_node *W = parameter("W[3]", -1, 1), *x = leaf("x[b,5]", seed, -1, 1);
    edf_node *y = edf_einsum("y[b,i] = 0.5 W[D] x[b,i+D-1] - x[b,i] | i<5", W, x);
    edf_forward();
    for (int n = 0; n < (int)y->size; n++) {
      double sum = -at(x, n);
      for (int d = 0; d < 3; d++) {
        int i = n % 5 + d - 1;
        if (i >= 0 && i < 5) sum += 0.5 * at(W, d) * at(x, n - n % 5 + i);
      }
      close_to(y, n, sum, 2, seed);
    }
    gradients_right(y, seed);
  }
}

/* y[b,2*i+D] = W[D] x[b,i]; W [3], x [b,4], y [b,9]: entries written once and twice */
static void scattered(void) {
  for (unsigned seed = 1; seed <= SEEDS; seed++) {
    double sum[27] = { 0 };
    begin(seed);
    edf_node *W = parameter("W[3]", -1, 1), *x = leaf("x[b,4]", seed, -1, 1);
    edf_node *y = edf_einsum("y[b,2*i+D] = W[D] x[b,i]", W, x);
    edf_forward();
    for (int n = 0; n < (int)x->size; n++) for (int d = 0; d < 3; d++)
      sum[n / 4 * 9 + 2 * (n % 4) + d] += at(W, d) * at(x, n);
    CHECK(y->dim[1] == 9, "the shape");
    for (int n = 0; n < (int)y->size; n++) close_to(y, n, sum[n], 1, seed);
    gradients_right(y, seed);
  }
}

/* A tensor twice, a diagonal, three factors, coefficients, signs and a scalar in one:
   y[i] = -2 A[i,i] v[i] + 0.5 v[J] A[J,K] v[K] - c A[i,J] v[J]; A [3,3], v [3] */
static void mixed_terms(void) {
  for (unsigned seed = 1; seed <= SEEDS; seed++) {
    begin(seed);
    edf_node *A = parameter("A[3,3]", -1, 1), *v = parameter("v[3]", -1, 1);
    edf_node *c = parameter("c", -1, 1);
    edf_node *y = edf_einsum("y[i] = -2 A[i,i] v[i] + 0.5 v[J] A[J,K] v[K] - c A[i,J] v[J]",
                             A, v, c);
    edf_forward();
    for (int i = 0; i < 3; i++) {
      double sum = -2 * at(A, 4 * i) * at(v, i);
      for (int j = 0; j < 3; j++) {
        sum -= at(c, 0) * at(A, 3 * i + j) * at(v, j);
        for (int k = 0; k < 3; k++) sum += 0.5 * at(v, j) * at(A, 3 * j + k) * at(v, k);
      }
      close_to(y, i, sum, 3, seed);
    }
    gradients_right(y, seed);
  }
}

/* ---- Sharing: a node used twice, a shared parameter, diamonds */

static void used_twice(void) {                               /* y = x x + x/x - (x - x) */
  begin(1);
  edf_node *x = parameter("x[5]", 1, 2);
  edf_node *y = edf_sub(edf_add(edf_mul(x, x), edf_div(x, x)), edf_sub(x, x));
  edf_node *sum = edf_sum(y);
  edf_forward();
  edf_backward(sum);
  for (int i = 0; i < 5; i++) {
    close_to(y, i, at(x, i) * at(x, i) + 1, 1, 1);
    CLOSE(x->grad[i], 2 * at(x, i), 1e-6, 1e-6);
  }
  gradients_right(y, 1);
}

static void shared_parameter(void) {                         /* the same layer three times */
  for (unsigned seed = 1; seed <= SEEDS; seed++) {
    begin(seed);
    edf_node *x = leaf("x[b,3]", seed, -1, 1), *h = x;
    edf_affine_package Phi = edf_affine_params(3, 3);
    edf_init_uniform(Phi.b, -1, 1);
    double value[3][3];
    for (int t = 0; t < 3; t++) h = edf_tanh(edf_affine(Phi, h));
    edf_forward();
    int B = x->dim[0];
    for (int b = 0; b < B; b++) for (int j = 0; j < 3; j++) value[b][j] = at(x, b * 3 + j);
    for (int t = 0; t < 3; t++) for (int b = 0; b < B; b++) {
      double old[3] = { value[b][0], value[b][1], value[b][2] };
      for (int j = 0; j < 3; j++) {
        double sum = -at(Phi.b, j);
        for (int i = 0; i < 3; i++) sum += at(Phi.w, i * 3 + j) * old[i];
        value[b][j] = tanh(sum);
      }
    }
    for (int n = 0; n < 3 * B; n++) close_to(h, n, value[n / 3][n % 3], 1, seed);
    gradients_right(h, seed);
  }
}

/* A graph of random nodes over two leaves, in which most nodes are used several times; beside
   it the same in plain numbers. */
enum { LEAVES = 2, NODES = 10, WIDTH = 3 };

static double random_value(int op, double a, double c) {
  return op == 0 ? tanh(a) : op == 1 ? plain_sigmoid(a) : op == 2 ? a + c : op == 3 ? a - c
       : op == 4 ? a * c : exp(-a * a);
}

static edf_node *random_node(int op, edf_node *a, edf_node *c) {
  return op == 0 ? edf_tanh(a) : op == 1 ? edf_sigmoid(a) : op == 2 ? edf_add(a, c)
       : op == 3 ? edf_sub(a, c) : op == 4 ? edf_mul(a, c)
       : edf_exp(edf_einsum("y[i] = -a[i] a[i]", a));
}

static void random_graphs(void) {
  for (unsigned seed = 1; seed <= SEEDS; seed++) {
    edf_node *node[NODES];
    double value[NODES][WIDTH];
    begin(seed);
    node[0] = parameter("p[3]", -1, 1);
    node[1] = input("x[3]", 1, -1, 1);
    for (int n = 0; n < LEAVES; n++)
      for (int i = 0; i < WIDTH; i++) value[n][i] = at(node[n], i);
    for (int n = LEAVES; n < NODES; n++) {
      int op = edf_below(6), a = edf_below(n), c = n - 1 - edf_below(2);
      node[n] = random_node(op, node[a], node[c]);
      for (int i = 0; i < WIDTH; i++) value[n][i] = random_value(op, value[a][i], value[c][i]);
    }
    edf_node *y = edf_add(node[NODES - 1], edf_add(node[0], edf_square(node[1])));
    edf_forward();
    for (int n = 0; n < NODES; n++)
      for (int i = 0; i < WIDTH; i++) close_to(node[n], i, value[n][i], 10, seed);
    gradients_right(y, seed);
  }
}

/* The slide's L = sqrt(x^2 + y^2): rank 0 throughout. */
static void scalars(void) {
  begin(1);
  edf_node *x = parameter("x", 3, 3.0001), *y = parameter("y", 4, 4.0001);
  x->value[0] = 3;
  y->value[0] = 4;
  edf_node *L = edf_sqrt(edf_add(edf_square(x), edf_square(y)));
  edf_forward();
  edf_backward(L);
  CHECK(L->rank == 0 && L->size == 1, "not a scalar");
  CLOSE(L->value[0], 5, 0, 1e-6);
  CLOSE(x->grad[0], 0.6, 0, 1e-6);
  CLOSE(y->grad[0], 0.8, 0, 1e-6);
  gradients_right(L, 1);
}

/* ---- A custom node that is one row shorter than its batch: d[t] = x[t+1] - x[t] */

static void step_shape(edf_node *d) { d->rank = 1; d->dim[0] = d->in[0]->dim[0] - 1; }

static void step_forward(edf_node *d) {
  const edf_real *x = d->in[0]->value;
  for (size_t t = 0; t < d->size; t++) d->value[t] = x[t + 1] - x[t];
}

static void step_backward(edf_node *d) {
  for (size_t t = 0; t < d->size; t++) {
    edf_addgrad(d->in[0], t, -d->grad[t]);
    edf_addgrad(d->in[0], t + 1, d->grad[t]);
  }
}

static void shorter_than_the_batch(void) {
  static const edf_real data[7] = { 1, 2, 4, 8, 16, 32, 64 };
  begin(1);
  edf_node *x = edf_want_grad(edf_input("x[t]"));
  edf_node *d = edf_compnode_shaped("Step", step_shape, step_forward, step_backward, x);
  edf_node *y = edf_square(d);
  for (int n = 2; n <= 7; n++) {
    edf_feed(x, data, n);
    edf_forward();
    CHECK(y->size == (size_t)n - 1, "%zu entries of %d rows", y->size, n);
    CHECK(at(y, n - 2) == ldexp(1, 2 * n - 4), "the last is %g", at(y, n - 2));
    gradients_right(d, (unsigned)n);
  }
}

/* ---- The slide's recursive MLP over an array of packages */

static edf_node *MLP(const edf_affine_package *Phi, int layers, edf_node *x) {
  edf_node *s = edf_affine(Phi[0], x);
  return layers == 1 ? edf_softmax(s) : MLP(Phi + 1, layers - 1, edf_sigmoid(s));
}

static void plain_mlp(const edf_affine_package *Phi, int layers, double *h) {
  for (int l = 0; l < layers; l++) {
    double s[8], Z = 0;
    int n_in = Phi[l].w->dim[0], n_out = Phi[l].w->dim[1];
    for (int j = 0; j < n_out; j++) {
      s[j] = -at(Phi[l].b, j);
      for (int i = 0; i < n_in; i++) s[j] += at(Phi[l].w, i * n_out + j) * h[i];
      Z += exp(s[j]);
    }
    for (int j = 0; j < n_out; j++)
      h[j] = l + 1 < layers ? plain_sigmoid(s[j]) : exp(s[j]) / Z;
  }
}

static void recursive_mlp(void) {
  static const int width[] = { 3, 8, 5, 7, 2 };
  static const edf_real classes[4] = { 0, 1, 1, 0 };
  edf_affine_package Phi[4];
  begin(5);
  edf_node *x = input("x[b,3]", 4, -1, 1), *y = feed(edf_input("y[b]"), classes, 4);
  for (int l = 0; l < 4; l++) {
    Phi[l] = edf_affine_params(width[l], width[l + 1]);
    edf_init_uniform(Phi[l].w, -2, 2);
    edf_init_uniform(Phi[l].b, -1, 1);
  }
  edf_node *Q = MLP(Phi, 4, x), *loss = edf_log_loss(Q, y), *mean = edf_mean(loss);
  edf_forward();
  for (int b = 0; b < 4; b++) {
    double h[8] = { at(x, b * 3), at(x, b * 3 + 1), at(x, b * 3 + 2) };
    plain_mlp(Phi, 4, h);
    for (int k = 0; k < 2; k++) close_to(Q, b * 2 + k, h[k], 1, 5);
  }
  gradients_right(loss, 5);
  for (int i = 0; i < 3000; i++) { edf_forward(); edf_backward(loss); edf_sgd(0.5f); }
  edf_forward();
  CHECK(at(mean, 0) < 0.05, "four points are not learnt: the loss is %g", at(mean, 0));
}

/* ---- Accuracy of exp, tanh and sigmoid over the whole range, in units in the last place */

static const int digits = EDF_REAL_IS_DOUBLE ? DBL_MANT_DIG : FLT_MANT_DIG;
static const int least_exponent = EDF_REAL_IS_DOUBLE ? DBL_MIN_EXP : FLT_MIN_EXP;

static double ulps(edf_real found, long double exact) {
  int exponent;
  if (exact != exact || found != found) return exact != exact && found != found ? 0 : HUGE_VAL;
  if ((double)found - (double)found != 0)                    /* infinite */
    return (double)(edf_real)(exact * 1.000001L) == (double)found ? 0 : HUGE_VAL;
  if ((double)(edf_real)exact - (double)(edf_real)exact != 0)
    return (double)(edf_real)(exact * 0.999999L) == HUGE_VAL ? HUGE_VAL : 0;
  frexpl(fabsl(exact), &exponent);
  if (exponent < least_exponent) exponent = least_exponent;
  return (double)(fabsl((long double)found - exact) / ldexpl(1, exponent - digits));
}

/* Numbers spread over all bit patterns: every exponent, both signs, NaN and Inf too. */
static edf_real number_of(uint64_t i) {
  edf_real x;
#if EDF_REAL_IS_DOUBLE
  uint64_t bits = i * UINT64_C(0x9E3779B97F4A7C15);
#else
  uint32_t bits = (uint32_t)(i * 2654435761u);
#endif
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Half of the numbers are in the range where the function is not constant. */
static edf_real sample(uint64_t i) {
  double range = EDF_REAL_IS_DOUBLE ? 750 : 110;
  if (i % 2) return number_of(i);
  return (edf_real)(range * ((double)(i * 2654435761u % 4294967296u) / 2147483648.0 - 1));
}

static long double exact_exp(long double x) { return expl(x); }
static long double exact_tanh(long double x) { return tanhl(x); }
static long double exact_sigmoid(long double x) { return 1 / (1 + expl(-x)); }

/* `flushed`: results below the smallest normal number may be 0. */
static void accuracy(edf_node *(*node)(const char *, int, edf_node *),
                     long double (*exact)(long double), double bound, int flushed) {
  enum { CHUNK = 1 << 14, CHUNKS = EDF_REAL_IS_DOUBLE ? 20 : 100 };
  static edf_real data[CHUNK];
  double worst = 0, smallest = ldexp(1, least_exponent - 1);
  edf_real where = 0, found = 0;
  begin(1);
  edf_node *x = edf_input("x[%d]", CHUNK), *y = node(__FILE__, __LINE__, x);
  for (uint64_t c = 0; c < CHUNKS; c++) {
    for (uint64_t i = 0; i < CHUNK; i++) data[i] = sample(c * CHUNK + i);
    edf_feed(x, data, 1);
    edf_forward();
    for (int i = 0; i < CHUNK; i++) {
      long double right = exact((long double)data[i]);
      if (flushed && y->value[i] == 0 && right < smallest) continue;
      double error = ulps(y->value[i], right);
      if (error > worst) { worst = error; where = data[i]; found = y->value[i]; }
    }
  }
  CHECK(worst <= bound, "%s(%.9g) = %.9g is %g ulp from %.9Lg", y->op, (double)where,
        (double)found, worst, exact((long double)where));
  CHECK(worst > 0.4, "%s: only %g ulp: was anything compared?", y->op, worst);
  edf_clear();
}

static void accuracy_of_exp(void) { accuracy(edf_exp_at, exact_exp, 1.5, 0); }
static void accuracy_of_tanh(void) { accuracy(edf_tanh_at, exact_tanh, 3, 0); }
static void accuracy_of_sigmoid(void) { accuracy(edf_sigmoid_at, exact_sigmoid, 4, 1); }

/* ---- Random numbers */

/* The same on every platform: these were computed outside of C. */
static void golden_draws(void) {
  static const int below[8] = { 955703818, 748682889, 828688764, 814911972, 285137826,
                                211490850, 39354196, 836507572 };
  static const double unit[8] = { 8608214721007251, 6743535963903627, 7464164820379181,
    7340074512421877, 2568293217278753, 1904940233633336, 354471092685224, 7534590382303002 };
  edf_seed(1);
  for (int i = 0; i < 8; i++) {
    int k = edf_below(1000000000);
    CHECK(k == below[i], "draw %d of seed 1 is %d, not %d", i, k, below[i]);
  }
  edf_seed(1);
  for (int i = 0; i < 8; i++) {
    double u = (double)edf_uniform(0, 1), right = unit[i] / 9007199254740992.0;
    CHECK(u == (double)(edf_real)right, "draw %d of seed 1 is %.17g, not %.17g", i, u, right);
  }
  CHECK(edf.draws == 8 && edf.seed == 1, "%llu draws of seed %llu", edf.draws, edf.seed);
  edf_seed(1);
  for (int i = 0; i < 8; i += 2) {                           /* two draws each: Box, Muller */
    double radius = sqrt(-2 * log(1 - unit[i] / 9007199254740992.0));
    double angle = 2 * 3.14159265358979323846 * unit[i + 1] / 9007199254740992.0;
    CLOSE(edf_normal(3, 2), 3 + 2 * radius * cos(angle), 0, 1e-6);
  }
}

static void draws_are_numbered(void) {                       /* the n-th needs no other */
  edf_real first[20];
  int same = 0;
  edf_seed(42);
  for (int i = 0; i < 20; i++) first[i] = edf_uniform(0, 1);
  for (int i = 19; i >= 0; i--) {
    edf.draws = (unsigned long long)i;
    CHECK(edf_uniform(0, 1) == first[i], "draw %d is another one", i);
  }
  edf_seed(43);
  for (int i = 0; i < 20; i++) same += edf_uniform(0, 1) == first[i];
  CHECK(same == 0, "seeds 42 and 43 have %d draws in common", same);
}

typedef struct { double mean, variance, skew, kurtosis, step; } moments;

static moments moments_of(const edf_real *x, int n) {
  moments m = { 0, 0, 0, 0, 0 };
  for (int i = 0; i < n; i++) m.mean += (double)x[i] / n;
  for (int i = 0; i < n; i++) {
    double d = (double)x[i] - m.mean;
    m.variance += d * d / n;
    m.skew += d * d * d / n;
    m.kurtosis += d * d * d * d / n;
    if (i) m.step += d * ((double)x[i - 1] - m.mean) / n;    /* neighbours are independent */
  }
  return m;
}

enum { DRAWS = 200000 };
static edf_real draw[DRAWS];

static void uniform_numbers(void) {
  edf_real least = 10, greatest = -10;
  int bucket[10] = { 0 };
  edf_seed(2024);
  for (int i = 0; i < DRAWS; i++) {
    edf_real x = draw[i] = edf_uniform(-1, 3);
    least = x < least ? x : least;
    greatest = x > greatest ? x : greatest;
    bucket[(int)(((double)x + 1) / 4 * 10)]++;
  }
  moments m = moments_of(draw, DRAWS);
  CHECK(least >= -1 && least < -0.999f && greatest < 3 && greatest > 2.999f,
        "from %g to %g", (double)least, (double)greatest);
  CLOSE(m.mean, 1, 0.013, 0);                                /* 5 standard deviations */
  CLOSE(m.variance, 16 / 12.0, 0.014, 0);
  CLOSE(m.skew, 0, 0.03, 0);
  CLOSE(m.step, 0, 0.015, 0);
  for (int i = 0; i < 10; i++) CLOSE(bucket[i], DRAWS / 10, 700, 0);
}

static void uniform_stays_below(void) {                      /* rounding must not reach hi */
  edf_real one = 1, next = 1 + (EDF_REAL_IS_DOUBLE ? (edf_real)DBL_EPSILON : FLT_EPSILON);
  edf_seed(7);
  for (int i = 0; i < 1000; i++) {
    CHECK(edf_uniform(one, next) == one, "not in [1, next)");
    CHECK(edf_uniform(one, one) == one, "not 1");
  }
}

static void normal_numbers(void) {
  int outside = 0;
  edf_seed(2025);
  for (int i = 0; i < DRAWS; i++) {
    draw[i] = edf_normal(2, 3);
    outside += fabs((double)draw[i] - 2) > 6;
  }
  moments m = moments_of(draw, DRAWS);
  CLOSE(m.mean, 2, 0.034, 0);
  CLOSE(m.variance, 9, 0.15, 0);
  CLOSE(m.skew / 27, 0, 0.03, 0);
  CLOSE(m.kurtosis / 81, 3, 0.06, 0);
  CLOSE(m.step / 9, 0, 0.012, 0);
  CLOSE(outside / (double)DRAWS, 0.0455, 0.0025, 0);
}

static void whole_numbers(void) {
  int count[7] = { 0 };
  edf_seed(3);
  for (int i = 0; i < 70000; i++) {
    int k = edf_below(7);
    if (k < 0 || k > 6) { CHECK(0, "edf_below(7) is %d", k); return; }
    count[k]++;
  }
  for (int k = 0; k < 7; k++) CLOSE(count[k], 10000, 500, 0);
  CHECK(edf_below(1) == 0, "edf_below(1)");
}

static void affine_parameters(void) {
  begin(1);
  edf_affine_package Phi = edf_affine_params(300, 200), second = edf_affine_params(1, 3);
  double bound = sqrt(3.0 / 300), greatest = 0;
  moments m = moments_of(Phi.w->value, 60000);
  for (size_t i = 0; i < Phi.w->size; i++) {
    double size = fabs(at(Phi.w, (int)i));
    if (size > greatest) greatest = size;
  }
  CHECK(greatest <= bound * (1 + 1e-6) && greatest > 0.999 * bound, "%g of %g", greatest,
        bound);
  CLOSE(m.mean, 0, 5 * bound / sqrt(3 * 60000.0), 0);
  CLOSE(m.variance, 1 / 300.0, 0, 0.02);
  for (int j = 0; j < 200; j++) CHECK(Phi.b->value[j] == 0, "a bias is not 0");
  CHECK(!strcmp(Phi.w->name, "w1") && !strcmp(Phi.b->name, "b1"), "the first names");
  CHECK(!strcmp(second.w->name, "w2") && !strcmp(second.b->name, "b2"), "the second names");
  CHECK(edf.n_parameters == 4 && edf.parameters[1] == Phi.b, "the list of parameters");
  edf_clear();
}

/* ---- y[b,i,j] = data[rows[b],i,j]: rows of an array that is held, of any batch */
static void input_from(void) {
  enum { ROWS = 3, EACH = 4 };
  static edf_real held[ROWS * EACH];
  static const edf_real which[] = { 2, 0, 2, 1, 3, 0.5f };
  for (int i = 0; i < ROWS * EACH; i++) held[i] = (edf_real)(i + 1);
  edf_array data = { 3, { ROWS, 2, 2 }, ROWS * EACH, held };
  edf_clear();
  edf_node *rows = edf_input("rows[b]"), *y = edf_input_from(data, rows);
  for (int batch = 1; batch <= 4; batch++) {
    edf_feed(rows, which, batch);
    edf_forward();
    CHECK(y->rank == 3 && y->dim[0] == batch && y->dim[1] == 2 && y->dim[2] == 2,
          "batch %d: rank %d, %d %d", batch, y->rank, y->dim[0], y->dim[1]);
    for (int b = 0; b < batch; b++)
      for (int i = 0; i < EACH; i++)
        CHECK(at(y, b * EACH + i) == (double)which[b] * EACH + i + 1, "batch %d, row %d: %g",
              batch, b, at(y, b * EACH + i));
  }
  for (int wrong = 4; wrong <= 5; wrong++) {
    edf_feed(rows, which + wrong, 1);
    TRY(edf_forward());
    CHECK(panicked && strstr(caught, "row number") && strstr(caught, "expected 0 to 2"),
          "row %g: %s", (double)which[wrong], panicked ? caught : "no error");
  }
  edf_clear();
}

/* ---- edf_print counts what is no number */
static void printed_nan(void) {
  static const edf_real odd[] = { 1, (edf_real)NAN, 2, (edf_real)HUGE_VAL };
  edf_clear();
  edf_node *x = edf_input("x[b]");
  edf_feed(x, odd, 4);
  edf_forward();
  capture_begin();
  edf_print(x);
  capture_end();
  CHECK(strstr(captured, "(2 of 4 are NaN or Inf)"), "%s", captured);
  edf_feed(x, odd, 1);
  edf_forward();
  capture_begin();
  edf_print(x);
  capture_end();
  CHECK(*captured && !strstr(captured, "NaN or Inf"), "%s", captured);
  edf_clear();
}

int main(void) {
  RUN(input_from);
  RUN(printed_nan);
  RUN(sigmoid);
  RUN(tanh_node);
  RUN(relu);
  RUN(exp_node);
  RUN(log_node);
  RUN(sqrt_node);
  RUN(square);
  RUN(functions_of_an_entry);
  RUN(the_lesser_and_the_greater);
  RUN(kinks);
  RUN(functions_of_nan);
  RUN(special_values);
  RUN(add);
  RUN(sub);
  RUN(mul);
  RUN(divide);
  RUN(softmax);
  RUN(softmax_of_one);
  RUN(softmax_extremes);
  RUN(log_loss);
  RUN(softmax_log_loss);
  RUN(losses_extremes);
  RUN(mean_and_sum);
  RUN(affine);
  RUN(convolution);
  RUN(padded);
  RUN(scattered);
  RUN(mixed_terms);
  RUN(used_twice);
  RUN(shared_parameter);
  RUN(random_graphs);
  RUN(scalars);
  RUN(shorter_than_the_batch);
  RUN(recursive_mlp);
  RUN(accuracy_of_exp);
  RUN(accuracy_of_tanh);
  RUN(accuracy_of_sigmoid);
  RUN(golden_draws);
  RUN(draws_are_numbered);
  RUN(uniform_numbers);
  RUN(uniform_stays_below);
  RUN(normal_numbers);
  RUN(whole_numbers);
  RUN(affine_parameters);
  edf_clear();
  return harness_report();
}
