/* The gradient check is tested by wrong backwards: each fails it, under the right name where
   the report names a cause; the right ones pass with 100 seeds. A backward has its mistakes
   beside the right line, and `mistake` says which of them is made. Their whole reports are
   tests/golden/gradcheck_wrong.txt.

   Built as: float double none sanitized shim */

#define _POSIX_C_SOURCE 200809L                              /* capture.h */
#define HARNESS_CATCH
#include "harness.h"
#include "capture.h"

#include "edf.h"
#include "golden.h"

enum {
  RIGHT, SIGN, FACTOR_2, FACTOR_HALF, NO_MASK, NOTHING, ASSIGNS, FIRST_DROPPED, NO_CHAIN,
  TRANSPOSED, BIAS_SIGN, ROW_DROPPED, TERM_DROPPED, EXTRA_1_B, MISSING_1_B, WRONG_AXIS,
  FIRST_ROW_ONLY, NO_CROSS_TERM, OWN_ENTRY_ONLY, CROSS_TERM_DIVISOR, STALE, NOT_CLEARED,
  WRONG_OPERAND, WRONG_VALUE, SHIFTED, COURSE_CROSS_TERM
};
static int mistake;

static edf_node *parameter(const char *decl, double lo, double hi) {
  edf_node *p = edf_parameter("%s", decl);
  edf_init_uniform(p, (edf_real)lo, (edf_real)hi);
  return p;
}

static edf_node *input(const char *decl, edf_real *data, size_t n, int batch) {
  edf_node *x = edf_want_grad(edf_input("%s", decl));
  for (size_t i = 0; i < n; i++) data[i] = edf_uniform(-1, 1);
  edf_feed(x, data, batch);
  return x;
}

/* ---- Relu: once; in a product with Tanh of the same node, whose backward comes before */

static void relu_forward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) y->value[i] = x->value[i] < 0 ? 0 : x->value[i];
}

static void relu_backward(edf_node *y) {
  edf_node *x = y->in[0];
  if (mistake == NOTHING) return;
  for (size_t i = mistake == FIRST_DROPPED; i < y->size; i++) {
    edf_real dy = mistake == NO_CHAIN ? 1 : y->grad[i];
    edf_real dx = x->value[i] > 0 || mistake == NO_MASK ? dy : 0;
    if (mistake == SIGN) dx = -dx;
    if (mistake == FACTOR_2) dx *= 2;
    if (mistake == ASSIGNS) x->grad[i] = dx;
    else edf_addgrad(x, i, dx);
  }
}

static edf_node *relu_of(edf_node *x) {
  return edf_compnode("MyRelu", relu_forward, relu_backward, x);
}

static edf_node *relu_input(void) {
  edf_node *x = parameter("x[4,5]", -1, 1);
  x->value[0] = (edf_real)0.7;                               /* else nobody misses entry 0 */
  return x;
}

static edf_node *relu(void) { return relu_of(relu_input()); }

static edf_node *relu_and_tanh(void) {
  edf_node *x = relu_input(), *y = relu_of(x);
  return edf_mul(y, edf_tanh(x));
}

/* ---- Tanh and Square */

static void tanh_forward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) y->value[i] = (edf_real)tanh((double)x->value[i]);
}

static void tanh_backward(edf_node *y) {
  const edf_node *from = mistake == WRONG_VALUE ? y->in[0] : y;
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(y->in[0], i, y->grad[i] * (1 - from->value[i] * from->value[i]));
}

static edf_node *tanh_node(void) {
  return edf_compnode("MyTanh", tanh_forward, tanh_backward, parameter("x[7]", -2, 2));
}

static void square_forward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) y->value[i] = x->value[i] * x->value[i];
}

static void square_backward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(x, i, y->grad[i] * (mistake == FACTOR_HALF ? 1 : 2) * x->value[i]);
}

static edf_node *square(void) {
  return edf_compnode("MySquare", square_forward, square_backward, parameter("x", 1, 2));
}

/* ---- Mul */

static void mul_forward(edf_node *y) {
  for (size_t i = 0; i < y->size; i++)
    y->value[i] = y->in[0]->value[i] * y->in[1]->value[i];
}

static void mul_backward(edf_node *y) {
  edf_node *a = y->in[0], *b = y->in[1];
  const edf_node *other = mistake == WRONG_OPERAND ? a : b;
  for (size_t i = 0; i < y->size; i++) {
    edf_addgrad(a, i, y->grad[i] * other->value[i]);
    edf_addgrad(b, i, y->grad[i] * a->value[i]);
  }
}

static edf_node *mul(void) {
  edf_node *a = parameter("a[5]", -1, 1), *b = parameter("c[5]", -1, 1);
  return edf_compnode("MyMul", mul_forward, mul_backward, a, b);
}

/* ---- Dense   y[b,j] = x[b,I] W[I,j] - B[j] */

static void dense_shape(edf_node *y) {
  y->rank = 2;
  y->dim[0] = y->in[0]->dim[0];
  y->dim[1] = y->in[1]->dim[1];
}

static void dense_forward(edf_node *y) {
  const edf_real *x = y->in[0]->value, *W = y->in[1]->value;
  int rows = y->dim[0], n = y->in[1]->dim[0], m = y->dim[1];
  for (int b = 0; b < rows; b++) for (int j = 0; j < m; j++) {
    edf_real sum = -y->in[2]->value[j];
    for (int i = 0; i < n; i++) sum += x[b * n + i] * W[i * m + j];
    y->value[b * m + j] = sum;
  }
}

static void dense_backward(edf_node *y) {
  edf_node *x = y->in[0], *W = y->in[1], *B = y->in[2];
  int rows = y->dim[0], n = W->dim[0], m = W->dim[1];
  for (int b = 0; b < rows; b++) for (int j = 0; j < m; j++) {
    edf_real dy = y->grad[b * m + j];
    edf_addgrad(B, (size_t)j, mistake == BIAS_SIGN ? dy : -dy);
    for (int i = 0; i < n; i++) {
      int last = b == rows - 1, to = mistake == TRANSPOSED ? j * n + i : i * m + j;
      edf_real dW = dy * x->value[b * n + i];
      if (mistake == EXTRA_1_B) dW /= (edf_real)rows;
      if (!(mistake == TERM_DROPPED && last)) edf_addgrad(W, (size_t)to, dW);
      if (!(mistake == ROW_DROPPED && last))
        edf_addgrad(x, (size_t)(b * n + i), dy * W->value[i * m + j]);
    }
  }
}

static edf_node *dense_of(const char *W) {
  static edf_real data[5 * 4];
  edf_node *x = input("x[b,4]", data, 20, 5);
  edf_node *w = parameter(W, -1, 1), *B = parameter(strchr(W, '3') ? "B[3]" : "B[4]", -1, 1);
  return edf_compnode_shaped("Dense", dense_shape, dense_forward, dense_backward, x, w, B);
}

static edf_node *dense(void) { return dense_of("W[4,3]"); }
static edf_node *square_dense(void) { return dense_of("W[4,4]"); }

/* ---- Mean square of a batch, a scalar: l = (1/B) sum_b x[b]^2 */

static void scalar_shape(edf_node *y) { y->rank = 0; }

static void mean_square_forward(edf_node *l) {
  edf_node *x = l->in[0];
  l->value[0] = 0;
  for (size_t b = 0; b < x->size; b++) l->value[0] += x->value[b] * x->value[b];
  l->value[0] /= (edf_real)x->size;
}

static void mean_square_backward(edf_node *l) {
  edf_node *x = l->in[0];
  edf_real n = mistake == MISSING_1_B ? 1 : (edf_real)x->size;
  if (mistake == EXTRA_1_B) n *= n;
  for (size_t b = 0; b < x->size; b++) edf_addgrad(x, b, l->grad[0] * 2 * x->value[b] / n);
}

static edf_node *mean_square(void) {
  static edf_real data[7];
  edf_node *x = input("x[b]", data, 7, 7);
  return edf_compnode_shaped("MeanSquare", scalar_shape, mean_square_forward,
                             mean_square_backward, x);
}

/* ---- Row sums   y[b] = sum_i x[b,i]^2 */

static void row_shape(edf_node *y) { y->rank = 1; y->dim[0] = y->in[0]->dim[0]; }

static void row_forward(edf_node *y) {
  edf_node *x = y->in[0];
  size_t n = x->size / y->size;
  for (size_t b = 0; b < y->size; b++) {
    y->value[b] = 0;
    for (size_t i = 0; i < n; i++) y->value[b] += x->value[b * n + i] * x->value[b * n + i];
  }
}

static void row_backward(edf_node *y) {
  edf_node *x = y->in[0];
  size_t n = x->size / y->size;
  for (size_t b = 0; b < y->size; b++) for (size_t i = 0; i < n; i++) {
    size_t row = mistake == WRONG_AXIS ? i : mistake == FIRST_ROW_ONLY ? 0 : b;
    edf_addgrad(x, b * n + i, y->grad[row] * 2 * x->value[b * n + i]);
  }
}

static edf_node *rows(void) {
  edf_node *x = parameter("x[5,4]", -1, 1);
  return edf_compnode_shaped("RowSum", row_shape, row_forward, row_backward, x);
}

/* ---- Softmax over the last index, with what backward needs in its state */

static void softmax_forward(edf_node *P) {
  size_t K = (size_t)P->dim[1];
  int first = P->state == NULL;
  edf_real *saved = (edf_real *)edf_state(P, 2 * P->size * sizeof *saved);
  for (size_t b = 0; b < P->size; b += K) {
    edf_real Z = 0;
    for (size_t k = b; k < b + K; k++)
      Z += P->value[k] = (edf_real)exp((double)P->in[0]->value[k]);
    for (size_t k = b; k < b + K; k++) P->value[k] /= Z;
  }
  for (size_t k = 0; k < P->size; k++)
    if (first || mistake != STALE) saved[k] = P->value[k];
}

static void softmax_backward(edf_node *P) {
  size_t K = (size_t)P->dim[1], n = P->size;
  const edf_real *p = (const edf_real *)P->state;
  edf_real *e = (edf_real *)P->state + n;                    /* one sum for each row */
  if (mistake != NOT_CLEARED) memset(e, 0, n * sizeof *e);
  for (size_t k = 0; k < n; k++)
    e[mistake == WRONG_AXIS ? k % K : k / K] += p[k] * P->grad[k];
  for (size_t k = 0; k < n; k++) {
    edf_real cross = e[mistake == WRONG_AXIS ? k % K : k / K];
    if (mistake == NO_CROSS_TERM) cross = 0;
    if (mistake == OWN_ENTRY_ONLY) cross = p[k] * P->grad[k];
    edf_addgrad(P->in[0], k, p[k] * (P->grad[k] - cross));
  }
}

/* Between the first forward and the check the scores change, as in training. */
static edf_node *softmax(void) {
  edf_node *s = parameter("s[3,4]", -1, 1);
  edf_node *P = edf_compnode("MySoftmax", softmax_forward, softmax_backward, s);
  edf_forward();
  edf_init_uniform(s, -1, 1);
  return P;
}

/* ---- LayerNorm of rows   y = (x - mean) / deviation
   x.grad = (y.grad - mean(y.grad) - y mean(y y.grad)) / deviation */

static void norm_forward(edf_node *y) {
  size_t n = (size_t)y->dim[1];
  edf_real *deviation = (edf_real *)edf_state(y, y->size * sizeof *deviation);
  for (size_t b = 0; b < y->size; b += n) {
    edf_real mean = 0, variance = 0, *x = y->in[0]->value;
    for (size_t i = b; i < b + n; i++) mean += x[i] / (edf_real)n;
    for (size_t i = b; i < b + n; i++) variance += (x[i] - mean) * (x[i] - mean) / (edf_real)n;
    deviation[b] = (edf_real)sqrt((double)variance);
    for (size_t i = b; i < b + n; i++) y->value[i] = (x[i] - mean) / deviation[b];
  }
}

static void norm_backward(edf_node *y) {
  size_t n = (size_t)y->dim[1];
  const edf_real *deviation = (const edf_real *)y->state;
  for (size_t b = 0; b < y->size; b += n) {
    edf_real mean = 0, cross = 0;
    for (size_t i = b; i < b + n; i++) mean += y->grad[i] / (edf_real)n;
    for (size_t i = b; i < b + n; i++) cross += y->value[i] * y->grad[i] / (edf_real)n;
    if (mistake == NO_CROSS_TERM) cross = 0;
    if (mistake == CROSS_TERM_DIVISOR) cross *= (edf_real)n / (edf_real)(n - 1);
    if (mistake == OWN_ENTRY_ONLY) mean = cross = 0;
    for (size_t i = b; i < b + n; i++)
      edf_addgrad(y->in[0], i, (y->grad[i] - mean - (mistake == COURSE_CROSS_TERM ? y->grad[i]
                                                     : y->value[i]) * cross) / deviation[b]);
  }
}

static edf_node *norm(void) {
  return edf_compnode("Norm", norm_forward, norm_backward, parameter("x[3,5]", -1, 1));
}

/* ---- Embed   y[t,i] = E[w[t],i], where words come more than once */

static void embed_shape(edf_node *y) {
  y->rank = 2;
  y->dim[0] = y->in[1]->dim[0];
  y->dim[1] = y->in[0]->dim[1];
}

static void embed_forward(edf_node *y) {
  size_t n = (size_t)y->dim[1];
  for (size_t k = 0; k < y->size; k++)
    y->value[k] = y->in[0]->value[(size_t)y->in[1]->value[k / n] * n + k % n];
}

static void embed_backward(edf_node *y) {
  size_t n = (size_t)y->dim[1];
  for (size_t k = 0; k < y->size; k++) {
    size_t to = (size_t)y->in[1]->value[k / n] * n + k % n;
    if (mistake == ASSIGNS) y->in[0]->grad[to] = y->grad[k];
    else edf_addgrad(y->in[0], to, y->grad[k]);
  }
}

static edf_node *embed(void) {
  static const edf_real words[6] = { 2, 0, 2, 3, 2, 0 };
  edf_node *E = parameter("E[5,3]", -1, 1), *w = edf_input("w[t]");
  edf_feed(w, words, 6);
  return edf_compnode_shaped("Embed", embed_shape, embed_forward, embed_backward, E, w);
}

/* ---- Pairs: the greater of two neighbours   y[i] = max(x[2i], x[2i+1]) */

static void pair_shape(edf_node *y) { y->rank = 1; y->dim[0] = y->in[0]->dim[0] / 2; }

static void pair_forward(edf_node *y) {
  const edf_real *x = y->in[0]->value;
  for (size_t i = 0; i < y->size; i++)
    y->value[i] = x[2 * i] > x[2 * i + 1] ? x[2 * i] : x[2 * i + 1];
}

static void pair_backward(edf_node *y) {
  edf_node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) for (size_t k = 2 * i; k < 2 * i + 2; k++)
    if (mistake == NO_MASK || x->value[k] == y->value[i]) edf_addgrad(x, k, y->grad[i]);
}

static edf_node *pairs(void) {
  edf_node *x = parameter("x[8]", -1, 1);
  return edf_compnode_shaped("MaxPool", pair_shape, pair_forward, pair_backward, x);
}

/* ---- Filter   y[i] = W[D] x[i+D] */

static void filter_shape(edf_node *y) {
  y->rank = 1;
  y->dim[0] = y->in[1]->dim[0] - y->in[0]->dim[0] + 1;
}

static void filter_forward(edf_node *y) {
  edf_node *W = y->in[0], *x = y->in[1];
  for (size_t i = 0; i < y->size; i++) {
    y->value[i] = 0;
    for (size_t d = 0; d < W->size; d++) y->value[i] += W->value[d] * x->value[i + d];
  }
}

static void filter_backward(edf_node *y) {
  edf_node *W = y->in[0], *x = y->in[1];
  for (size_t i = 0; i < y->size; i++) for (size_t d = 0; d < W->size; d++) {
    size_t to = mistake == SHIFTED ? (i + d + 1) % x->size : i + d;
    edf_addgrad(W, d, y->grad[i] * x->value[i + d]);
    edf_addgrad(x, to, y->grad[i] * W->value[d]);
  }
}

static edf_node *filter(void) {
  edf_node *W = parameter("W[3]", -1, 1), *x = parameter("x[9]", -1, 1);
  return edf_compnode_shaped("Filter", filter_shape, filter_forward, filter_backward, W, x);
}

/* ---- The check of one node: its worst error, and the report in captured[] */

static double check(edf_node *(*build)(void), unsigned seed) {
  static volatile double error;
  edf_clear();
  edf_seed(seed);
  capture_begin();
  TRY(error = edf_gradcheck(build()));
  capture_end();
  CHECK(!panicked, "%s", caught);
  return error;
}

/* What the report calls likely behind the first "FAIL  d NODE / d TENSOR:". */
static const char *cause_of(const char *tensor) {
  static char cause[512];
  char name[64];
  const char *line = strstr(captured, "  FAIL  d ");
  snprintf(name, sizeof name, " / d %s:", tensor);
  if (!line || (line = strstr(line, name)) == NULL) return "(no such FAIL)";
  if ((line = strstr(line, "likely: ")) == NULL) return "(no cause)";
  snprintf(cause, sizeof cause, "%.*s", (int)strcspn(line, "\n"), line);
  return cause;
}

static int causes(void) {
  int n = 0;
  for (const char *at = captured; (at = strstr(at, "likely: ")) != NULL; at++) n++;
  return n;
}

/* ---- The mistakes of each node, the tensor whose gradient is wrong, and the cause named */

typedef struct {
  const char *name;
  edf_node *(*build)(void);
  int mistake;
  const char *tensor, *cause;
} mutant;

static const mutant mutants[] = {
  { "the sign", relu, SIGN, "x", "the sign" },
  { "a factor 2", relu, FACTOR_2, "x", "a factor: yours is 2 times" },
  { "no mask", relu, NO_MASK, "x", "a mask is missing" },
  { "an empty backward", relu, NOTHING, "x", "never written" },
  { "= and used once", relu, ASSIGNS, "x", "'=' where '+='" },
  { "= and used twice", relu_and_tanh, ASSIGNS, "x", "'=' where '+='" },
  { "the loop begins at 1", relu, FIRST_DROPPED, "x", "some entries are never written" },
  { "y.grad is forgotten", relu, NO_CHAIN, "x", "is not used" },
  { "x for y in 1 - y^2", tanh_node, WRONG_VALUE, "x", "x.value is read where MyTanh0.value" },
  { "2 forgotten", square, FACTOR_HALF, "x", "a factor: yours is 0.5 times" },
  { "its own value", mul, WRONG_OPERAND, "a", "a.value is read where c.value" },
  { "transposed", dense, TRANSPOSED, "W", "transposed" },
  { "transposed, square", square_dense, TRANSPOSED, "W", "transposed" },
  { "the bias added", dense, BIAS_SIGN, "B", "the sign" },
  { "the last row of x", dense, ROW_DROPPED, "x", "some entries are never written" },
  { "the last row in W", dense, TERM_DROPPED, "W", "no simple pattern" },
  { "1/B at a parameter", dense, EXTRA_1_B, "W", "a factor: yours is 0.2 times" },
  { "1/B at a parameter", dense, EXTRA_1_B, "W", "dimension 0 of Dense0 is 5" },
  { "1/B missing", mean_square, MISSING_1_B, "x", "a factor: yours is 7 times" },
  { "1/B missing", mean_square, MISSING_1_B, "x", "dimension 0 of x is 7" },
  { "1/B twice", mean_square, EXTRA_1_B, "x", "dimension 0 of x is 7" },
  { "the wrong axis", rows, WRONG_AXIS, "x", "a wrong index" },
  { "the first row's", rows, FIRST_ROW_ONLY, "x", "a wrong index" },
  { "the wrong axis", softmax, WRONG_AXIS, "s", "a wrong index" },
  { "no cross term", softmax, NO_CROSS_TERM, "s", "cross term" },
  { "own entry only", softmax, OWN_ENTRY_ONLY, "s", "cross term" },
  { "values of before", softmax, STALE, "s", "an earlier forward" },
  { "sums not cleared", softmax, NOT_CLEARED, "s", "is not cleared" },
  { "no cross term", norm, NO_CROSS_TERM, "x", "cross term" },
  { "divisor n - 1", norm, CROSS_TERM_DIVISOR, "x", "cross term" },
  { "own entry only", norm, OWN_ENTRY_ONLY, "x", "cross term" },
  { "the course's cross term", norm, COURSE_CROSS_TERM, "x", "cross term" },
  { "= at an index that repeats", embed, ASSIGNS, "E", "repeated indices" },
  { "no mask", pairs, NO_MASK, "x", "a mask is missing" },
  { "one entry further", filter, SHIFTED, "x", "a wrong index" },
};

static void the_report_of_a_right_one(void) {
  mistake = RIGHT;
  edf_clear();
  edf_seed(1);
  edf_node *y = tanh_node();
  capture_begin();
  edf_gradcheck(y);
  capture_end();
  const char *line = strstr(captured, "  ok    d "), *rest = strstr(captured, ", 7 of 7 ");
  CHECK(line && rest && !strcmp(rest, ", 7 of 7 entries tried\n"), "%s", captured);
}

/* At all distances from a kink, down to nothing, no right node is called wrong. */
static void kinks_are_no_mistakes(void) {
  const double h = EDF_REAL_IS_DOUBLE ? 1e-5 : 1e-2;         /* the step of the check */
  mistake = RIGHT;
  for (unsigned seed = 1; seed <= 10; seed++) {
    edf_clear();
    edf_seed(seed);
    edf_node *x = parameter("x[80]", -1, 1), *y = relu_of(x);
    x->value[0] = 0;
    for (int i = 1; i < 76; i++)
      x->value[i] = (edf_real)((i % 2 ? 2 : -2) * h * pow(0.85, i));
    capture_begin();
    double error = edf_gradcheck(y);
    capture_end();
    CHECK(error < 0.02 && !strstr(captured, "FAIL"), "seed %u\n%s", seed, captured);
  }
  edf_clear();
}

/* A backward that is no derivative on purpose: the check wants it to differ, does not look
   through it, and still finds the mistake of another node. */
static void sign_forward(edf_node *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = y->in[0]->value[i] > 0 ? 1 : -1;
}
static void straight_backward(edf_node *y) {
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, y->grad[i]);
}
static void assigning_backward(edf_node *y) {
  for (size_t i = 0; i < y->size; i++) y->in[0]->grad[i] = y->grad[i];
}

static double check_of(edf_node *y) {
  static double error;
  error = HUGE_VAL;
  capture_begin();
  TRY(error = edf_gradcheck(y));
  capture_end();
  CHECK(!panicked, "%s", caught);
  return error;
}

static void mismatches_that_are_expected(void) {
  for (int k = 0; k < 4; k++) {
    edf_clear();
    edf_seed(9);
    mistake = k == 1 ? SIGN : RIGHT;
    edf_node *w = parameter("w[3,4]", -1, 1), *v = parameter("v[4]", -1, 1);
    edf_node *s = k == 2 ? edf_compnode("Same", relu_forward, relu_backward, w)
                : edf_compnode("Sign", sign_forward, k == 3 ? assigning_backward
                                                           : straight_backward, w);
    edf_expect_mismatch(s);
    double error = check_of(edf_mul(s, relu_of(edf_add(s, v))));
    int skipped = strstr(captured, "/ d w: through a node") != NULL;
    int expected = strstr(captured, "its backward is not the derivative, as expected") != NULL;
    CHECK(skipped, "%s", captured);
    if (k == 0) CHECK(error < 0.05 && expected && !strstr(captured, "FAIL"), "%s", captured);
    if (k == 1) CHECK(error > 0.5 && strstr(captured, "MyRelu"), "%s", captured);
    if (k == 2) CHECK(error == 1 && strstr(captured, "but a mismatch was"), "%s", captured);
    if (k == 3) CHECK(error == 1 && strstr(captured, "'=' where '+='"), "%s", captured);
  }
  mistake = RIGHT;
  edf_clear();
}

/* Each input of a node is looked at alone, also where those before it are right. */
static void second_backward(edf_node *y) {
  edf_node *a = y->in[0], *b = y->in[1];
  for (size_t i = 0; i < y->size; i++) {
    edf_real db = y->grad[i] * a->value[i];
    edf_addgrad(a, i, y->grad[i] * b->value[i]);
    if (mistake == ASSIGNS) b->grad[i] = db;
    else edf_addgrad(b, i, mistake == FACTOR_2 ? 2 * db : db);
  }
}

static void the_second_input(void) {
  for (int k = 0; k < 3; k++) {
    edf_clear();
    edf_seed(3);
    mistake = k == 0 ? RIGHT : k == 1 ? ASSIGNS : FACTOR_2;
    edf_node *a = edf_name(edf_tanh(parameter("p[3]", 1, 2)), "a");
    edf_node *b = edf_name(edf_tanh(parameter("q[3]", 1, 2)), "b");
    double error = check_of(edf_sum(edf_compnode("Two", mul_forward, second_backward, a, b)));
    CHECK((error > 0.1) == (k > 0), "%g\n%s", error, captured);
    CHECK(!k || (strstr(captured, "FAIL  d Two2 / d b") && strstr(captured, "in Two, built")),
          "%s", captured);
  }
  mistake = RIGHT;
  edf_clear();
}

static void wrong_ones_are_caught(void) {
  for (const mutant *m = mutants; m < mutants + sizeof mutants / sizeof *mutants; m++)
    for (unsigned seed = 1; seed <= 10; seed++) {
      mistake = m->mistake;
      double error = check(m->build, seed);
      const char *op = edf.compnodes[edf.n_compnodes - 1]->op;
      CHECK(error > 1e-3, "%s, %s, seed %u: only %g\n%s", op, m->name, seed, error, captured);
    }
  mistake = RIGHT;
}

/* The whole report of each, with one seed. */
static void reports_of_wrong_ones(void) {
  static char all[sizeof captured];
  size_t n = 0;
  for (const mutant *m = mutants; m < mutants + sizeof mutants / sizeof *mutants; m++) {
    if (m > mutants && m->build == m[-1].build && m->mistake == m[-1].mistake) continue;
    mistake = m->mistake;
    double error = check(m->build, 1);
    n += (size_t)snprintf(all + n, sizeof all - n, "---- %s\n%s= %.2g\n", m->name, captured,
                          error);
  }
  golden("gradcheck_wrong.txt", golden_plain(all));
  mistake = RIGHT;
  edf_clear();
}

static void causes_are_named(void) {
  for (const mutant *m = mutants; m < mutants + sizeof mutants / sizeof *mutants; m++) {
    unsigned seed = 1;
    int right = 1;
    for (; right && seed <= 10; seed++) {
      mistake = m->mistake;
      check(m->build, seed);
      right = strstr(cause_of(m->tensor), m->cause) != NULL && causes() == 1;
    }
    const char *op = edf.compnodes[edf.n_compnodes - 1]->op;
    CHECK(right, "%s, %s, seed %u: expected %s at %s\n%s", op, m->name, seed - 1, m->cause,
          m->tensor, captured);
    edf_clear();
  }
  mistake = RIGHT;
}

static void right_ones_pass(void) {
  const double bound = EDF_REAL_IS_DOUBLE ? 1e-6 : 0.02;
  mistake = RIGHT;
  for (const mutant *m = mutants; m < mutants + sizeof mutants / sizeof *mutants; m++) {
    if (m > mutants && m->build == m[-1].build) continue;
    for (unsigned seed = 1; seed <= 100; seed++) {
      double error = check(m->build, seed);
      CHECK(error < bound && !strstr(captured, "FAIL"), "%s, seed %u: %g\n%s",
            edf.compnodes[edf.n_compnodes - 1]->op, seed, error, captured);
    }
  }
  edf_clear();
}

int main(int argc, char **argv) {
  golden_arguments(argc, argv);
  RUN(right_ones_pass);
  RUN(mismatches_that_are_expected);
  RUN(the_second_input);
  RUN(the_report_of_a_right_one);
  RUN(kinks_are_no_mistakes);
  RUN(wrong_ones_are_caught);
  if (EDF_REAL_IS_DOUBLE) RUN(reports_of_wrong_ones);        /* in float it may only guess */
  if (EDF_REAL_IS_DOUBLE) RUN(causes_are_named);
  return harness_report();
}
