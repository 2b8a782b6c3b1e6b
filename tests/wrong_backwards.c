/* Wrong backwards as students write them, each with what the gradient check has to call it;
   their whole reports are tests/golden/gradcheck_causes.txt. And right nodes of many kinds,
   none of which it may accuse.

     cc -DEDF_REAL=double -I. tests/wrong_backwards.c tests/impl.c -o build/wrong -lm &&
       build/wrong --write

   Built as: float double none sanitized shim */
#define _POSIX_C_SOURCE 200809L                              /* capture.h */
#define HARNESS_CATCH
#include "harness.h"
#include "capture.h"
#include "edf.h"
#include "golden.h"
#include <signal.h>
#include <sys/wait.h>

static int wrong;                            /* 0: right; else which mistake is made */

static Parameter *numbers(const char *decl, double first, double step) {
  Parameter *p = edf_parameter("%s", decl);
  for (size_t i = 0; i < p->size; i++) p->value[i] = (edf_real)(first + step * (double)i);
  return p;
}

static CompNode *named(CompNode *y) { return edf_name(y, "y"); }

/* ---- Entry by entry, of one: y[i] = f(x[i]), and x.grad[i] += y.grad[i] f'(x[i]) */

typedef double function(double x);
static double relu(double x) { return x > 0 ? x : 0; }
static double relu_slope(double x) { return x > 0; }
static double square(double x) { return x * x; }
static double square_slope(double x) { return 2 * x; }
static double tanh_slope(double x) { return 1 - tanh(x) * tanh(x); }
static double gate(double x) { return x * tanh(x); }
static double gate_slope(double x) { return tanh(x) + x * tanh_slope(x); }
static double wave(double x) { return exp(x) * cos(x); }
static double wave_slope(double x) { return exp(x) * (cos(x) - sin(x)); }
static double leaky(double x) { return x > 0 ? x : x / 8; }
static double leaky_slope(double x) { return x > 0 ? 1 : 0.125; }
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double sigmoid_slope(double x) { return sigmoid(x) * (1 - sigmoid(x)); }
static double softplus(double x) { return log(1 + exp(x)); }
static double clamped(double x) { return x < -0.625 ? -0.625 : x > 0.625 ? 0.625 : x; }
static double clamped_slope(double x) { return fabs(x) < 0.625; }
static double sign_of(double x) { return x < 0 ? -1 : 1; }

static function *f, *slope;

static void f_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = (edf_real)f((double)y->in[0]->value[i]);
}

/* Under `wrong` something else stands where y.grad[i] or f'(x[i]) should. */
enum {
  RIGHT, SIGN, HALF, NO_MASK, EMPTY, ASSIGNS, BEGINS_AT_1, NO_CHAIN, X_FOR_Y, Y_FOR_X, NEXT,
  BEFORE, OTHER_SIGN, MASKED, CUT_AT_1, CUT_AT_5, SQUARED, PLUS_X, READS_DX, ADDS_DX, ONE_TERM,
  OTHER_TERM, EXP_TERM, SIGN_IN_PLACES, SHIFTED, NO_SIGN
};
static double cut(double dy, double at) { return dy > at ? at : dy < -at ? -at : dy; }

static double their_dy(const CompNode *y, size_t i) {
  double dy = (double)y->grad[i];
  switch (wrong) {
    case NO_CHAIN: return 1;
    case CUT_AT_1: return cut(dy, 1);
    case CUT_AT_5: return cut(dy, 5);
    case SQUARED:  return dy * dy;
    case READS_DX: return (double)y->in[0]->grad[i];
    case SHIFTED:  return (double)y->grad[(i + 1) % y->size];
    default:       return dy;
  }
}

static double their_slope(const CompNode *y, size_t i) {
  const edf_real *all = y->in[0]->value;
  double x = (double)all[i], at_y = (double)y->value[i];
  switch (wrong) {
    case SIGN:         return -slope(x);
    case HALF:         return slope(x) / 2;
    case NO_MASK: case NO_SIGN: return 1;
    case X_FOR_Y:      return 1 - x * x;
    case Y_FOR_X:      return 2 * at_y;
    case NEXT:         return slope((double)all[(i + 1) % y->size]);
    case BEFORE:       return slope((double)all[(i + y->size - 1) % y->size]);
    case OTHER_SIGN:   return x < 0;
    case MASKED:       return x > 0 ? slope(x) : 0;
    case ONE_TERM:     return tanh(x);
    case OTHER_TERM:   return x * tanh_slope(x);
    case EXP_TERM:     return -exp(x) * sin(x);
    case SIGN_IN_PLACES: return i == 3 || i == 7 ? -slope(x) : slope(x);
    default:           return slope(x);
  }
}

static void f_backward(CompNode *y) {
  Node *x = y->in[0];
  for (size_t i = wrong == BEGINS_AT_1; i < y->size && wrong != EMPTY; i++) {
    double dx = their_dy(y, i) * their_slope(y, i);
    if (wrong == PLUS_X) dx += 0.25 * (double)x->value[i];
    if (wrong == ADDS_DX) dx += (double)x->grad[i];
    if (wrong == ASSIGNS) x->grad[i] = (edf_real)dx;
    else edf_addgrad(x, i, (edf_real)dx);
  }
}

static Parameter *around_0(void) { return numbers("x[2,4]", -1.125, 0.375); }
static CompNode *single(function *is, function *has, Node *x) {
  f = is;
  slope = has;
  return named(edf_compnode("Mine", f_forward, f_backward, x));
}
static CompNode *relu_node(void) { return single(relu, relu_slope, around_0()); }
static CompNode *square_node(void) { return single(square, square_slope, around_0()); }
static CompNode *tanh_node(void) { return single(tanh, tanh_slope, around_0()); }
static CompNode *gate_node(void) { return single(gate, gate_slope, around_0()); }
static CompNode *wave_node(void) { return single(wave, wave_slope, around_0()); }
static CompNode *leaky_node(void) { return single(leaky, leaky_slope, around_0()); }
static CompNode *sigmoid_node(void) { return single(sigmoid, sigmoid_slope, around_0()); }
static CompNode *exp_node(void) { return single(exp, exp, around_0()); }
static CompNode *softplus_node(void) { return single(softplus, sigmoid, around_0()); }
static CompNode *clamp_node(void) { return single(clamped, clamped_slope, around_0()); }
static CompNode *abs_node(void) { return single(fabs, sign_of, around_0()); }
static CompNode *large_square(void) {
  return single(square, square_slope, numbers("x[2000]", -2, 0.0019));
}

/* ---- Of two: y[i] = a[i] b[i], a[i] / b[i], the larger of a[i] and b[i] */

enum { MUL, DIV, LARGER };
enum { EXCHANGED = 1, OTHER_OPERAND, NO_FACTOR, READS_OTHERS_GRAD };
static int of_two;

static void two_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) {
    edf_real a = y->in[0]->value[i], b = y->in[1]->value[i];
    y->value[i] = of_two == MUL ? a * b : of_two == DIV ? a / b : a > b ? a : b;
  }
}
static void two_backward(CompNode *y) {
  Node *a = y->in[0], *b = y->in[1];
  int other = wrong == EXCHANGED;
  for (size_t i = 0; i < y->size; i++) {
    edf_real dy = y->grad[i], at = a->value[i], bt = b->value[i];
    edf_real da = of_two == MUL ? bt : of_two == DIV ? 1 / bt : at > bt;
    edf_real db = of_two == MUL ? at : of_two == DIV ? -at / (bt * bt) : bt >= at;
    if (wrong == OTHER_OPERAND) da = at;
    if (wrong == NO_FACTOR) da = 1;
    edf_addgrad(a, i, (wrong == READS_OTHERS_GRAD ? b->grad[i] : dy) * (other ? db : da));
    edf_addgrad(b, i, dy * (other ? da : db));
  }
}
static CompNode *two(int which) {
  of_two = which;
  Parameter *a = numbers("a[6]", -1.25, 0.625), *b = numbers("b[6]", 1.75, -0.1875);
  return named(edf_compnode("Two", two_forward, two_backward, a, b));
}
static CompNode *mul_node(void) { return two(MUL); }
static CompNode *div_node(void) { return two(DIV); }
static CompNode *larger_node(void) { return two(LARGER); }

/* ---- A sum of each row, y[b] = sum_i x[b,i]^2, shaped so, or its shape forgotten; and the
   product of two vectors, y[i,j] = a[i] b[j]. */

static void row_shape(CompNode *y) { y->rank = 1; y->dim[0] = y->in[0]->dim[0]; }
static void row_forward(CompNode *y) {
  const Node *x = y->in[0];
  size_t n = (size_t)x->dim[1];
  for (size_t b = 0; b < (size_t)x->dim[0]; b++) {
    y->value[b] = 0;
    for (size_t i = b * n; i < b * n + n; i++) y->value[b] += x->value[i] * x->value[i];
  }
}
static void row_backward(CompNode *y) {
  size_t n = (size_t)y->in[0]->dim[1];
  for (size_t i = 0; i < y->in[0]->size; i++)
    edf_addgrad(y->in[0], i, y->grad[wrong ? i % n : i / n] * 2 * y->in[0]->value[i]);
}
static CompNode *rows_node(void) {
  return named(edf_compnode_shaped("Rows", row_shape, row_forward, row_backward,
                                   numbers("x[4,3]", -1, 0.25)));
}
static CompNode *unshaped_rows(void) {
  return named(edf_compnode("Rows", row_forward, row_backward, numbers("x[4,3]", -1, 0.25)));
}

static void outer_shape(CompNode *y) {
  y->rank = 2;
  for (int k = 0; k < 2; k++) y->dim[k] = y->in[k]->dim[0];
}
static void outer_forward(CompNode *y) {
  const Node *a = y->in[0], *b = y->in[1];
  for (size_t i = 0; i < a->size; i++)
    for (size_t j = 0; j < b->size; j++) y->value[i * b->size + j] = a->value[i] * b->value[j];
}
static void outer_backward(CompNode *y) {
  Node *a = y->in[0], *b = y->in[1];
  for (size_t i = 0; i < a->size; i++) for (size_t j = 0; j < b->size; j++) {
    edf_addgrad(a, i, y->grad[i * b->size + j] * b->value[j]);
    edf_addgrad(b, j, y->grad[i * b->size + j] * a->value[i]);
  }
}
static CompNode *outer_node(void) {
  return named(edf_compnode_shaped("Outer", outer_shape, outer_forward, outer_backward,
                                   numbers("a[3]", 0.5, 0.25), numbers("b[2]", -1, 0.75)));
}

/* ---- y[i,j] = W[j,i] x[i,j]: a transposed gradient, and one row of it not written */
static void weigh_forward(CompNode *y) {
  size_t n = (size_t)y->dim[1];
  for (size_t k = 0; k < y->size; k++)
    y->value[k] = y->in[0]->value[k] * y->in[1]->value[k % n * n + k / n];
}
enum { UNTURNED = 1, ROW_LOST };
static void weigh_backward(CompNode *y) {
  size_t n = (size_t)y->dim[1];
  for (size_t k = 0; k < y->size; k++) {
    size_t to = wrong == UNTURNED ? k : k % n * n + k / n;
    edf_addgrad(y->in[0], k, y->grad[k] * y->in[1]->value[k % n * n + k / n]);
    if (wrong != ROW_LOST || to >= n)
      edf_addgrad(y->in[1], to, y->grad[k] * y->in[0]->value[k]);
  }
}
static CompNode *weigh_node(void) {
  Parameter *x = numbers("x[3,3]", 0.5, 0.25), *W = numbers("W[3,3]", 2, -0.375);
  return named(edf_compnode("Weigh", weigh_forward, weigh_backward, x, W));
}

/* ---- Softmax of a row, from what forward keeps: in edf_state, or in a static variable */
enum { NO_CROSS = 1, STATIC, NOT_CLEARED, OF_BEFORE, COUNTED };
static edf_real kept_by_all[64], sums[64];

static edf_real *kept(CompNode *y) {
  if (wrong == STATIC) return kept_by_all;
  return (edf_real *)edf_state(y, (y->size + 1) * sizeof(edf_real));
}
static void soft_forward(CompNode *y) {
  edf_real *P = kept(y);
  size_t n = (size_t)y->dim[1];
  for (size_t k = 0; k < y->size; k += n) {
    double Z = 0;
    for (size_t i = k; i < k + n; i++) Z += exp((double)y->in[0]->value[i]);
    for (size_t i = k; i < k + n; i++)
      y->value[i] = (edf_real)(exp((double)y->in[0]->value[i]) / Z);
  }
  if (wrong != OF_BEFORE || P[0] == 0) memcpy(P, y->value, y->size * sizeof *P);
  P[y->size] += wrong == COUNTED;
}
static void soft_backward(CompNode *y) {
  const edf_real *P = kept(y);
  size_t n = (size_t)y->dim[1];
  if (wrong != NOT_CLEARED) memset(sums, 0, sizeof sums);
  for (size_t k = 0; k < y->size && wrong != NO_CROSS; k++) sums[k / n] += P[k] * y->grad[k];
  for (size_t k = 0; k < y->size; k++)
    edf_addgrad(y->in[0], k, (P[k] + P[y->size]) * (y->grad[k] - sums[k / n]));
}
static CompNode *soft_of(Node *x) {
  return edf_compnode("Soft", soft_forward, soft_backward, x);
}
static CompNode *soft_node(void) {
  Parameter *x = numbers("x[2,3]", -0.5, 0.3125);
  CompNode *y = named(soft_of(x));
  if (wrong != OF_BEFORE) return y;
  edf_forward();
  x->value[1] += (edf_real)0.75;
  return y;
}
static CompNode *two_softs(void) {
  CompNode *h = edf_name(soft_of(numbers("x[2,3]", -0.5, 0.3125)), "h");
  return Sum(Mul(h, named(soft_of(numbers("z[2,3]", 0.5, -0.25)))));
}

/* ---- The list: what is wrong, and what it must be called */

typedef struct {
  const char *title;
  CompNode *(*build)(void);
  int wrong;
  const char *says;
} mistake;

static const mistake mistakes[] = {
  { "the sign", relu_node, SIGN, "likely: the sign\n" },
  { "half of 2 x", square_node, HALF, "likely: a factor: yours is 0.5 times the derivative" },
  { "no mask", relu_node, NO_MASK, "likely: a mask is missing" },
  { "an empty backward", relu_node, EMPTY, "likely: the gradient is never written" },
  { "= for +=", tanh_node, ASSIGNS, "likely: '=' where '+=' is needed" },
  { "the loop begins at 1", tanh_node, BEGINS_AT_1, "likely: some entries are never written" },
  { "y.grad is forgotten", tanh_node, NO_CHAIN, "the gradient of the node is not used" },
  { "x for y", tanh_node, X_FOR_Y, "likely: x.value is read where y.value is meant" },
  { "y for x", square_node, Y_FOR_X, "likely: y.value is read where x.value is meant" },
  { "x[i+1]", square_node, NEXT, "likely: a neighbour: x.value is read one entry too late" },
  { "x[i-1]", tanh_node, BEFORE, "likely: a neighbour: x.value is read one entry too early" },
  { "y.grad[i+1]", tanh_node, SHIFTED, "likely: a wrong index" },
  { "two gradients exchanged", div_node, EXCHANGED, "b.grad is what this should be: are they" },
  { "exchanged", mul_node, EXCHANGED, "a.grad is what this should be: are they exch" },
  { "exchanged masks", larger_node, EXCHANGED, "b.grad is what this should be: are they" },
  { "the other operand", mul_node, OTHER_OPERAND, "a.value is read where b.value is meant" },
  { "a factor lost", mul_node, NO_FACTOR, "likely: a lost factor: b" },
  { "a mask on another sign", relu_node, OTHER_SIGN, "likely: a mask the wrong way round" },
  { "a mask too much", square_node, MASKED, "likely: a mask: yours is 0 where x < 0" },
  { "the sign lost", abs_node, NO_SIGN, "likely: the sign where x < 0" },
  { "the sign in 2 of 8", tanh_node, SIGN_IN_PLACES, "likely: the sign, in places" },
  { "y.grad cut at 1", tanh_node, CUT_AT_1, "likely: it is cut off or squared" },
  { "y.grad cut at 5", tanh_node, CUT_AT_5, "likely: it is cut off or squared" },
  { "y.grad squared", tanh_node, SQUARED, "likely: it is cut off or squared" },
  { "x/4 added", tanh_node, PLUS_X, "or something is added without it" },
  { "x.grad for y.grad", tanh_node, READS_DX, "likely: the grad of an input is read" },
  { "x.grad twice", tanh_node, ADDS_DX, "likely: the grad of an input is read" },
  { "b.grad for y.grad", mul_node, READS_OTHERS_GRAD, "likely: the grad of an input is read" },
  { "only one term", gate_node, ONE_TERM, "product: yours is its grad times y / x alone" },
  { "only the other", gate_node, OTHER_TERM, "lost term of a product: its grad times y / x\n" },
  { "one of exp(x) cos(x)", wave_node, EXP_TERM, "lost term of a product: its grad times y\n" },
  { "the wrong axis", rows_node, 1, "likely: a wrong index" },
  { "no shape function", unshaped_rows, RIGHT, "likely: a forgotten shape function" },
  { "transposed", weigh_node, UNTURNED, "likely: transposed" },
  { "a row lost", weigh_node, ROW_LOST, "likely: some entries are never written (a dropped" },
  { "no cross term", soft_node, NO_CROSS, "likely: a cross term" },
  { "values of before", soft_node, OF_BEFORE, "a buffer from an earlier forward" },
  { "sums not cleared", soft_node, NOT_CLEARED, "likely: a buffer is not cleared" },
  { "runs are counted", soft_node, COUNTED, "likely: a buffer is not cleared" },
  { "a static variable", soft_node, STATIC, "likely: a static or global variable" },
  { "a static variable of two", two_softs, STATIC,
    "FAIL  d h / d x: backward differs when another Soft has run forward" },
};
enum { N_MISTAKES = sizeof mistakes / sizeof *mistakes };

static double check(CompNode *(*build)(void), int mistake_made, unsigned seed) {
  static volatile double error;
  edf_clear();
  edf_seed(seed);
  memset(kept_by_all, 0, sizeof kept_by_all);
  memset(sums, 0, sizeof sums);
  wrong = mistake_made;
  capture_begin();
  TRY(error = edf_gradcheck(build()));
  capture_end();
  wrong = RIGHT;
  CHECK(!panicked, "%s", caught);
  return error;
}

/* An operand that was not given is NULL: who reads it first is named, at whatever it does. */
static void other_shape(CompNode *y) {
  y->rank = 1;
  y->dim[0] = y->in[1]->dim[0];
}
static void other_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(y->in[0], i, y->grad[i] * y->in[1]->value[i]);
}
static void other_grad(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) y->in[1]->grad[i] += y->grad[i];
}

#if defined __SANITIZE_ADDRESS__ || defined _WIN32       /* who tell it themselves */
#define CRASHES 0
#else
#define CRASHES 1
#endif

static void an_operand_is_forgotten(void) {
  static const struct {
    const char *what;
    void (*shape)(CompNode *), (*forward)(CompNode *), (*backward)(CompNode *);
  } reads[] = {
    { "shape function", other_shape, f_forward, f_backward },
    { "forward", NULL, two_forward, two_backward },
    { "backward", NULL, f_forward, other_backward },
    { "backward", NULL, f_forward, other_grad }
  };
  static CompNode *y;
  f = tanh;
  for (int k = 0; k < 8 * CRASHES; k++) {
    static char expected[200];
    int r = k / 2;
    Parameter *x = around_0();
    y = NULL;
    TRY(y = named(edf_compnode_shaped("Two", reads[r].shape, reads[r].forward,
                                      reads[r].backward, x)));
    CHECK(r == 0 || (y && y->in[1] == NULL), "something stands behind the last input");
    if (y) { TRY(if (k % 2) edf_gradcheck(y); else { Forward(); Backward(y); }); }
    snprintf(expected, sizeof expected, ": Two: its %s reads in[1], but it was built with 1 "
             "input: was an operand forgotten?\n  Two \"%s\" [", reads[r].what,
             y ? "y" : "Two0");
    CHECK(panicked && strstr(caught, expected), "%s", caught);
    CHECK(!y || strstr(caught, "[2, 4]   "), "%s", caught);
    CHECK(strstr(caught, "built at tests/wrong_backwards.c:"), "%s", caught);
    CHECK(!y || y->in[1] == NULL, "something stands behind the last input");
    edf_clear();
  }
}

/* What looks whether it is there may: in[n_in] is NULL. And what crashes for another reason
   does, also after a stop. */
static void any_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) {
    y->value[i] = 0;
    for (int k = 0; y->in[k]; k++) y->value[i] += y->in[k]->value[i];
  }
}
static void any_backward(CompNode *y) {
  for (int k = 0; y->in[k]; k++)
    for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[k], i, y->grad[i]);
}
static void any_shape(CompNode *y) {
  y->rank = 2;
  for (int d = 0; d < 2; d++) y->dim[d] = (y->in[1] ? y->in[1] : y->in[0])->dim[d];
}
static CompNode *any_node(void) {
  return edf_compnode_shaped("Any", any_shape, any_forward, any_backward, around_0());
}
static void stopping_forward(CompNode *y) { edf_stop("%s stops", y->name); }
static void astray_forward(CompNode *y) { y->value[(size_t)1 << 40] = 1; }

/* The program's own handler is there again, and later steps have no other. */
static void (*seen)(int);
static void of_the_program(int number) { (void)number; }
static void seeing_backward(CompNode *y) { (void)y; seen = signal(SIGSEGV, of_the_program); }

static void other_handlers(void) {
  CompNode *y = edf_compnode("Seeing", f_forward, seeing_backward, around_0());
  f = tanh;
  void (*before)(int) = signal(SIGSEGV, of_the_program);
  for (int k = 0; k < 3 * CRASHES; k++) {
    Forward();
    Backward(y);
    CHECK((seen == of_the_program) == (k > 0), "step %d", k);
  }
  CHECK(signal(SIGSEGV, before) == of_the_program, "it is another");
  edf_clear();
}

static void other_crashes(void) {
  for (int k = 0; k < 2 * CRASHES; k++) {
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
      CompNode *y = edf_compnode("Two", k ? stopping_forward : astray_forward, NULL,
                                 around_0());
      TRY(Forward());
      astray_forward(y);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "%d", status);
  }
  edf_clear();
}

/* A NaN that comes from elsewhere is none of these. */
static void a_value_is_not_a_number(void) {
  Parameter *x = around_0();
  x->value[2] = (edf_real)NAN;
  CompNode *y = single(tanh, tanh_slope, x);
  TRY(Forward());
  CHECK(!panicked && y->value[2] != y->value[2] && y->in[1] == NULL, "%s", caught);
  edf_clear();
}

/* With several seeds: what is called so is called so for a reason. */
static void mistakes_are_called_by_name(void) {
  for (const mistake *m = mistakes; m < mistakes + N_MISTAKES; m++)
    for (unsigned seed = 1; seed <= 5; seed++) {
      double error = check(m->build, m->wrong, seed);
      CHECK(error > 1e-3, "%s: only %g\n%s", m->title, error, captured);
      if (EDF_REAL_IS_DOUBLE && !strstr(captured, m->says)) {
        CHECK(0, "%s: expected %s, found\n%s", m->title, m->says, captured);
        break;
      }
    }
  edf_clear();
}

/* Of a large tensor a sample is tried: where it has the wrong entries, what is tried again to
   find the cause are the same ones. */
static void a_sign_in_a_sample(void) {
  int found = 0;
  for (unsigned seed = 1; seed <= 10; seed++) {
    check(large_square, SIGN_IN_PLACES, seed);
    if (!strstr(captured, "worst relative error 1 at x")) continue;
    found++;
    CHECK(strstr(captured, "likely: the sign, in places"), "seed %u\n%s", seed, captured);
  }
  CHECK(found > 3, "only %d of 10 samples have one of the two", found);
  edf_clear();
}

static void their_whole_reports(void) {
  static char all[1 << 16];
  size_t n = 0;
  for (const mistake *m = mistakes; m < mistakes + N_MISTAKES; m++) {
    double error = check(m->build, m->wrong, 3);
    n += (size_t)snprintf(all + n, sizeof all - n, "---- %s\n%s= %.2g\n", m->title, captured,
                          error);
  }
  golden("gradcheck_causes.txt", golden_plain(all));
  edf_clear();
}

/* ---- Right ones that one could take for wrong: what they keep, draw, look up or skip */

enum { DROPS, RUNNING, OWN_MEMORY, BY_NODE, TABLE, SCRATCH, POINTS, SUMS_UP, N_KINDS };
static int kind;
static double own_memory[3][8], of_node[8][8], scratch[8];
static const Node *whose[8];
typedef struct { double *at; } pointing;

/* What forward keeps for backward, of this node alone. */
static double *memory_of(CompNode *y) {
  if (kind == OWN_MEMORY) {
    if (!y->state) y->state = own_memory[y->position];
    return (double *)y->state;
  }
  if (kind == BY_NODE) {
    int k = 0;
    while (k < 7 && whose[k] && whose[k] != y) k++;
    whose[k] = y;
    return of_node[k];
  }
  if (kind == POINTS) {
    pointing *p = (pointing *)edf_state(y, sizeof *p);
    if (!p->at) p->at = own_memory[y->position];
    return p->at;
  }
  return (double *)edf_state(y, 8 * sizeof(double));
}

static double table_at(size_t i) {
  static double table[8];
  if (table[0] == 0) for (int k = 0; k < 8; k++) table[k] = 1.5 + k;
  return table[i];
}

/* y[i] = x[i] m[i] k, where m is a mask, a running number, or x itself. */
static void keeps_forward(CompNode *y) {
  double *m = kind == TABLE || kind == SCRATCH ? scratch : memory_of(y), before = m[0];
  for (size_t i = 0; i < y->size; i++) {
    double x = (double)y->in[0]->value[i];
    m[i] = kind == DROPS ? edf_uniform(0, 1) < (edf_real)0.5 : kind == TABLE ? table_at(i) : x;
    if (kind == RUNNING) m[i] = 2;
    y->value[i] = (edf_real)(x * m[i]);
    if (kind == SUMS_UP) y->value[i] = (edf_real)(x * x) + (i > 0 ? y->value[i - 1] : 0);
  }
  if (kind == RUNNING) m[7] = 0.9 * before + 0.1;            /* nobody reads it here */
}
static void keeps_backward(CompNode *y) {
  const double *m = kind == TABLE || kind == SCRATCH ? scratch : memory_of(y);
  double sum = 0;
  for (size_t i = 0; i < y->size && kind == SCRATCH; i++)
    scratch[i] = 2 * (double)y->in[0]->value[i];
  for (size_t i = y->size; i-- > 0;) {
    double dy = (double)y->grad[i], k = kind == TABLE ? table_at(i) : m[i];
    int is_square = kind != DROPS && kind != RUNNING && kind != TABLE && kind != SCRATCH;
    sum += dy;
    if (dy == 0) continue;
    if (kind == SUMS_UP) dy = sum;
    edf_addgrad(y->in[0], i, (edf_real)(dy * (is_square ? 2 : 1) * k));
  }
}
static CompNode *keeps_node(void) {
  memset(own_memory, 0, sizeof own_memory);
  memset(of_node, 0, sizeof of_node);
  memset(whose, 0, sizeof whose);
  Parameter *x = numbers("x[7]", 0.5, 0.25);
  CompNode *h = edf_compnode("Keeps", keeps_forward, keeps_backward, x);
  return edf_compnode("Keeps", keeps_forward, keeps_backward, h);
}

/* Rows of a table, which whole numbers choose; the largest of a row, and where it was. */
static void gather_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++)
    y->value[i] = y->in[0]->value[(size_t)y->in[1]->value[i]];
}
static void gather_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(y->in[0], (size_t)y->in[1]->value[i], y->grad[i]);
}
static CompNode *gather_node(void) {
  static const edf_real which[6] = { 5, 0, 2, 2, 0, 1 };
  Input *w = edf_input("w[6]");
  edf_feed(w, which, 1);
  return edf_compnode("Gather", gather_forward, gather_backward, numbers("x[6]", 0.25, 0.5), w);
}

static void top_forward(CompNode *y) {
  size_t *at = (size_t *)edf_state(y, y->size * sizeof *at), n = (size_t)y->in[0]->dim[1];
  for (size_t b = 0; b < y->size; b++) {
    at[b] = b * n;
    for (size_t i = b * n; i < b * n + n; i++)
      if (y->in[0]->value[i] > y->in[0]->value[at[b]]) at[b] = i;
    y->value[b] = y->in[0]->value[at[b]];
  }
}
static void top_backward(CompNode *y) {
  for (size_t b = 0; b < y->size; b++)
    edf_addgrad(y->in[0], ((const size_t *)y->state)[b], y->grad[b]);
}
static CompNode *top_node(void) {
  return edf_compnode_shaped("Top", row_shape, top_forward, top_backward, around_0());
}

/* A mask that is -infinity; a gradient that is turned round, or cut off, on purpose. */
static void hide_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++)
    y->value[i] = i % 3 == 1 ? -(edf_real)HUGE_VAL : y->in[0]->value[i];
}
static void hide_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) if (i % 3 != 1) edf_addgrad(y->in[0], i, y->grad[i]);
}
static CompNode *hide_node(void) {
  return Softmax(edf_compnode("Hide", hide_forward, hide_backward, around_0()));
}
static void same_forward(CompNode *y) {
  memcpy(y->value, y->in[0]->value, y->size * sizeof *y->value);
}
static void turned_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, -y->grad[i]);
}
static void cut_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(y->in[0], i, (edf_real)cut((double)y->grad[i], 0.75));
}
static CompNode *turned_node(void) {
  CompNode *y = edf_compnode("Turned", same_forward, turned_backward, around_0());
  return edf_expect_mismatch(y);
}
static CompNode *cut_node(void) {
  CompNode *y = edf_compnode("Cut", same_forward, cut_backward, around_0());
  return edf_expect_mismatch(y);
}
static CompNode *twice_node(void) {
  Parameter *x = around_0();
  of_two = MUL;
  return edf_compnode("Two", two_forward, two_backward, x, x);
}

static void not_accused(const char *name, CompNode *(*build)(void)) {
  for (unsigned seed = 1; seed <= 20; seed++) {
    double error = check(build, RIGHT, seed);
    CHECK(error < (EDF_REAL_IS_DOUBLE ? 1e-6 : 0.02) && !strstr(captured, "FAIL"), "%s: %g\n%s",
          name, error, captured);
  }
  edf_clear();
}
#define NOT_ACCUSED(build) not_accused(#build, build)

static void right_ones_are_not_accused(void) {
  NOT_ACCUSED(relu_node);
  NOT_ACCUSED(square_node);
  NOT_ACCUSED(tanh_node);
  NOT_ACCUSED(gate_node);
  NOT_ACCUSED(wave_node);
  NOT_ACCUSED(leaky_node);
  NOT_ACCUSED(sigmoid_node);
  NOT_ACCUSED(exp_node);
  NOT_ACCUSED(softplus_node);
  NOT_ACCUSED(clamp_node);
  NOT_ACCUSED(abs_node);
  NOT_ACCUSED(mul_node);
  NOT_ACCUSED(div_node);
  NOT_ACCUSED(larger_node);
  NOT_ACCUSED(rows_node);
  NOT_ACCUSED(outer_node);
  NOT_ACCUSED(weigh_node);
  NOT_ACCUSED(soft_node);
  NOT_ACCUSED(two_softs);
  NOT_ACCUSED(gather_node);
  NOT_ACCUSED(top_node);
  NOT_ACCUSED(hide_node);
  NOT_ACCUSED(turned_node);
  NOT_ACCUSED(cut_node);
  NOT_ACCUSED(twice_node);
  NOT_ACCUSED(any_node);
  if (EDF_REAL_IS_DOUBLE) NOT_ACCUSED(large_square);
  for (kind = 0; kind < N_KINDS; kind++) NOT_ACCUSED(keeps_node);
}

int main(int argc, char **argv) {
  golden_arguments(argc, argv);
  RUN(right_ones_are_not_accused);
  RUN(an_operand_is_forgotten);
  RUN(other_crashes);
  RUN(other_handlers);
  RUN(a_value_is_not_a_number);
  RUN(mistakes_are_called_by_name);
  if (EDF_REAL_IS_DOUBLE) RUN(a_sign_in_a_sample);
  if (EDF_REAL_IS_DOUBLE) RUN(their_whole_reports);
  return harness_report();
}
