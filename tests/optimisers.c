/* Optimisers against their formulas in plain loops in double, step by step, each parameter with
   gradients that change; what an update of one's own replaces; clipping and shrinkage.

   Built as: float double none sanitized shim */

#include "node_checks.h"
#include "inside.h"
#include <float.h>

enum { N = 37, STEPS = 12 };
static const double bound = EDF_REAL_IS_DOUBLE ? 1e-12 : 2e-5;

/* The loss sum_i x[i] p[i], so that p.grad is x, which is fed: new in each step. */
static edf_real rows[STEPS][N];
static edf_node *x, *p, *loss;

static void build(void) {
  begin(5);
  x = edf_input("x[%d]", N);
  p = parameter(edf_fmt("p[%d]", N), -1, 1);
  loss = edf_einsum("l = x[I] p[I]", x, p);
  for (int t = 0; t < STEPS; t++)
    for (int i = 0; i < N; i++) rows[t][i] = edf_uniform(-2, 2);
  rows[0][0] = rows[1][0] = 0;                               /* a gradient of 0 to begin with */
}

static void gradient(int t) {
  edf_feed(x, rows[t], 1);
  edf_forward();
  edf_backward(loss);
}

typedef struct { double p, m, s; } slot;                     /* of one number */
typedef void rule(slot *a, double g, int t);

static const double eta = 0.1, mu = 0.75, b1 = 0.8, b2 = 0.95, eps = 1e-3, decay = 0.25;

static void sgd(slot *a, double g, int t) { (void)t; a->p -= eta * g; }
static void momentum(slot *a, double g, int t) {
  (void)t;
  a->m = mu * a->m + eta * g;
  a->p -= a->m;
}
static void average(slot *a, double g, int t) {
  (void)t;
  a->m = b1 * a->m + (1 - b1) * g;
  a->p -= eta * a->m;
}
static void adagrad(slot *a, double g, int t) {
  (void)t;
  a->s += g * g;
  a->p -= eta * g / (sqrt(a->s) + eps);
}
static void rmsprop(slot *a, double g, int t) {
  (void)t;
  a->s = b2 * a->s + (1 - b2) * g * g;
  a->p -= eta * g / (sqrt(a->s) + eps);
}
static void adam(slot *a, double g, int t) {
  a->m = b1 * a->m + (1 - b1) * g;
  a->s = b2 * a->s + (1 - b2) * g * g;
  a->p -= eta * (a->m / (1 - pow(b1, t))) / (sqrt(a->s / (1 - pow(b2, t))) + eps);
}
static void adamw(slot *a, double g, int t) {
  a->p *= 1 - eta * decay;
  adam(a, g, t);
}
static void slides(slot *a, double g, int t) {               /* N' = min(t, N): equation 85 */
  double n1 = fmin(t, 1 / (1 - b1)), n2 = fmin(t, 1 / (1 - b2));
  a->m = (1 - 1 / n1) * a->m + 1 / n1 * g;
  a->s = (1 - 1 / n2) * a->s + 1 / n2 * g * g;
  a->p -= eta * a->m / (sqrt(a->s) + eps);
}

static edf_real r(double x_) { return (edf_real)x_; }
static void our_sgd(void) { edf_sgd(r(eta)); }
static void our_momentum(void) { edf_momentum(r(eta), r(mu)); }
static void our_average(void) { edf_average(r(eta), r(b1)); }
static void our_adagrad(void) { edf_adagrad(r(eta), r(eps)); }
static void our_rmsprop(void) { edf_rmsprop(r(eta), r(b2), r(eps)); }
static void our_adam(void) { edf_adam(r(eta), r(b1), r(b2), r(eps)); }
static void our_adamw(void) { edf_adamw(r(eta), r(b1), r(b2), r(eps), r(decay)); }
static void our_slides(void) { edf_adam_slides(r(eta), r(b1), r(b2), r(eps)); }

static void same_steps(rule *plain, void (*ours)(void)) {
  slot a[N];
  build();
  memset(a, 0, sizeof a);
  for (int i = 0; i < N; i++) a[i].p = (double)p->value[i];
  for (int t = 1; t <= STEPS; t++) {
    gradient(t - 1);
    ours();
    for (int i = 0; i < N; i++) {
      plain(&a[i], (double)rows[t - 1][i], t);
      CLOSE(p->value[i], a[i].p, bound * t, bound);
    }
  }
  CHECK(p->steps == STEPS, "%ld steps were counted", p->steps);
}

/* By their numbers in the course, with the usual forms of 85 beside the slides' */
#define RULE(test, name) static void test(void) { same_steps(name, our_##name); }
RULE(course_81_sgd, sgd)
RULE(course_82_heavy_ball, momentum)
RULE(course_83_average, average)
RULE(course_84_rmsprop, rmsprop)
RULE(course_85_adam_of_the_slides, slides)
RULE(course_85_adam, adam)
RULE(adamw_rule, adamw)
RULE(course_86_adagrad, adagrad)

/* ---- An update of one's own, and a frozen parameter */

static int own_calls;

static void own(edf_node *q, edf_real rate) {
  own_calls++;
  for (size_t i = 0; i < q->size; i++) q->value[i] -= 2 * rate * q->grad[i];
}

static void without_decay(edf_node *q, edf_real rate) {
  edf_update_adam(q, rate, r(b1), r(b2), r(eps));
}

static void override(void) {
  build();
  double before[N];
  for (int i = 0; i < N; i++) before[i] = (double)p->value[i];
  own_calls = 0;
  p->update = own;
  gradient(0);
  our_sgd();
  gradient(1);
  our_adamw();
  CHECK(own_calls == 2, "it was called %d times", own_calls);
  for (int i = 0; i < N; i++)
    CLOSE(p->value[i], before[i] - 2 * eta * ((double)rows[0][i] + (double)rows[1][i]), bound,
          bound);
  build();
  slot a[N];
  memset(a, 0, sizeof a);
  p->update = without_decay;
  for (int i = 0; i < N; i++) a[i].p = (double)p->value[i];
  for (int t = 1; t <= STEPS; t++) {
    gradient(t - 1);
    our_adamw();
    for (int i = 0; i < N; i++) adam(&a[i], (double)rows[t - 1][i], t);
  }
  for (int i = 0; i < N; i++) CLOSE(p->value[i], a[i].p, bound * STEPS, bound);
}

static void frozen(void) {
  build();
  edf_node *q = parameter(edf_fmt("q[%d]", N), -1, 1), *both = edf_mul(edf_add(p, q), q);
  edf_real old[N];
  memcpy(old, q->value, sizeof old);
  q->update = edf_frozen;
  edf_feed(x, rows[0], 1);
  edf_forward();
  edf_backward(both);
  CHECK(!q->grad, "a frozen parameter got a gradient");
  our_sgd(); our_momentum(); our_adamw();
  edf_clip(1e-3);
  edf_l2(1);
  CHECK(!memcmp(old, q->value, sizeof old) && !q->m && q->steps == 0, "it moved");
  q->update = NULL;
  edf_forward();
  edf_backward(both);
  our_sgd();
  CHECK(q->grad && memcmp(old, q->value, sizeof old), "it does not move when thawed");
}

/* ---- Clipping and shrinkage */

static double norm_of(const edf_node *q) {
  double sum = 0;
  for (size_t i = 0; i < q->size; i++) sum += (double)q->grad[i] * (double)q->grad[i];
  return sqrt(sum);
}

static void course_88_clipping(void) {
  build();
  edf_node *q = parameter("q[20000]", -1, 1), *y = edf_einsum("y = l + q[I] q[I]", loss, q);
  edf_feed(x, rows[3], 1);
  edf_forward();
  edf_backward(y);
  double norm = hypot(norm_of(p), norm_of(q)), gp = (double)p->grad[5], gq = (double)q->grad[7];
  CLOSE(edf_clip(2 * norm), norm, 0, 1e-5);
  CHECK((double)p->grad[5] == gp, "clipped below the limit");
  CLOSE(edf_clip(norm / 4), norm, 0, 1e-5);
  CLOSE(p->grad[5], gp / 4, 0, 1e-5);
  CLOSE(q->grad[7], gq / 4, 0, 1e-5);
  CLOSE(hypot(norm_of(p), norm_of(q)), norm / 4, 0, 1e-5);
  edf_backward(y);
  double np = norm_of(p);
  CHECK(norm_of(q) > 2 * np, "the test wants one long gradient and a short one");
  edf_clip_each(2 * np);
  CLOSE(norm_of(p), np, 0, 1e-6);
  CLOSE(norm_of(q), 2 * np, 0, 1e-5);
}

/* w = w - eta dL + eta e1 + sqrt(eta) e2, in the user's own code */
static void langevin(edf_node *q, edf_real rate) {
  for (size_t i = 0; i < q->size; i++) {
    edf_real e1 = edf_normal(0, r(0.5)), e2 = edf_normal(0, 1);
    q->value[i] += rate * (e1 - q->grad[i]) + (edf_real)sqrt((double)rate) * e2;
  }
}

static void course_88_sgld(void) {
  build();
  double before[N];
  for (int i = 0; i < N; i++) before[i] = (double)p->value[i];
  p->update = langevin;
  gradient(0);
  unsigned long long draws = edf.draws;
  our_sgd();
  edf.draws = draws;
  for (int i = 0; i < N; i++) {
    double e1 = (double)edf_normal(0, r(0.5)), e2 = (double)edf_normal(0, 1);
    CLOSE(p->value[i], before[i] + eta * (e1 - (double)rows[0][i]) + sqrt(eta) * e2, bound,
          bound);
  }
}

static void course_87_shrinkage(void) {
  build();
  p->value[3] = 0;
  gradient(0);
  edf_l2(r(0.5));
  for (int i = 0; i < N; i++)
    CLOSE(p->grad[i], (double)rows[0][i] + 0.5 * (double)p->value[i], bound, bound);
  gradient(0);
  edf_l1(r(0.5));
  for (int i = 0; i < N; i++) {
    double v = (double)p->value[i], sign = v > 0 ? 1 : v < 0 ? -1 : 0;
    CLOSE(p->grad[i], (double)rows[0][i] + 0.5 * sign, bound, bound);
  }
}

/* ---- The root that compilers vectorise */

static void accuracy_of_the_root(void) {
  double worst = 0, relative = EDF_REAL_IS_DOUBLE ? DBL_EPSILON : FLT_EPSILON;
  for (double v = 1.2e-38; v < 3e38; v *= 1.00037) {
    double rounded = (double)(edf_real)v;
    double error = fabs((double)inside_fast_root((edf_real)v) / sqrt(rounded) - 1);
    if (!(error <= worst)) worst = error;
  }
  CHECK(worst < 2 * relative, "off by %g of itself", worst);
  CLOSE(inside_fast_root((edf_real)FLT_MAX), sqrt((double)FLT_MAX), 0, 3 * relative);
  CHECK(inside_fast_root(0) == 0, "of 0");
  CHECK(inside_fast_root(1) == 1 && inside_fast_root(4) == 2, "of 1 and 4");
  CHECK(inside_fast_root((edf_real)HUGE_VAL) == (edf_real)HUGE_VAL, "infinity");
  edf_real nan = inside_fast_root((edf_real)NAN);
  CHECK(nan != nan, "NaN becomes %g", (double)nan);
}

/* A rule for one step alone, which hands over to the common one. */
static void once(edf_node *q, edf_real rate) {
  (void)rate;
  q->update = NULL;
}

static void a_rule_that_ends_itself(void) {
  build();
  gradient(0);
  p->update = once;
  edf_real before = p->value[3];
  edf_sgd(r(eta));
  CHECK(p->value[3] == before && p->steps == 1, "it moved");
  edf_sgd(r(eta));
  CHECK(p->value[3] != before && p->steps == 2, "it does not move");
  edf_clear();
}

/* Squares beyond the range of a float. */
static void clipping_of_large_numbers(void) {
  build();
  gradient(0);
  double sum = 0, large = EDF_REAL_IS_DOUBLE ? 1e100 : 1e25;
  for (size_t i = 0; i < p->size; i++) {
    p->grad[i] = r(i % 2 ? large : -large);
    sum += large * large;
  }
  double norm = edf_clip(1);
  CLOSE(norm, sqrt(sum), 0, 1e-6);
  CLOSE(p->grad[1], large / sqrt(sum), 0, 1e-6);
  edf_clear();
}

/* Kingma and Ba's own numbers, bit for bit. */
static void adam_default(void) {
  edf_real first[N];
  for (int named = 0; named < 2; named++) {
    build();
    for (int t = 0; t < STEPS; t++) {
      gradient(t);
      if (named) AdamDefault(r(eta));
      else edf_adam(r(eta), r(0.9), r(0.999), r(1e-8));
    }
    if (!named) memcpy(first, p->value, sizeof first);
    CHECK(!memcmp(first, p->value, sizeof first), "AdamDefault steps otherwise");
    CHECK(fabs((double)p->value[3]) > 1e-6 && p->steps == STEPS, "nothing has moved");
    edf_clear();
  }
}

/* What a piece of the program says to stderr. */
static char said[400];
static FILE *said_to;
static int stderr_kept;
static void begin_said(void) {
  fflush(stderr);
  said_to = tmpfile();
  stderr_kept = dup(2);
  dup2(fileno(said_to), 2);
}
static void end_said(void) {
  fflush(stderr);
  dup2(stderr_kept, 2);
  close(stderr_kept);
  rewind(said_to);
  said[fread(said, 1, sizeof said - 1, said_to)] = 0;
  fclose(said_to);
}
static void check_said(int line, const char *what) {
  char expected[400];
  snprintf(expected, sizeof expected, "%s:%d: %s\n", __FILE__, line, what);
  CHECK(!strcmp(said, expected), "%s\nnot\n%s", said, expected);
}

/* A step before any Backward moves nothing, which is said, once; the first test of all. */
static void a_step_before_backward(void) {
  int line = 0;
  begin(1);
  edf_sgd(1);                                                /* a graph without parameters */
  edf_node *q = parameter("q[3]", -1, 1);
  begin_said();
  for (int k = 0; k < 2; k++) { line = k ? line : __LINE__; edf_sgd(1); }
  end_said();
  check_said(line, "a step before any Backward? Nothing has a gradient");
  CHECK(q->steps == 0, "it moved");
  edf_clear();
}

static void twice(edf_node *q, edf_real rate) {
  edf_update_sgd(q, rate);
  edf_update_momentum(q, rate, r(0.5));
}
static void alone(edf_node *q, edf_real rate) {
  q->update = NULL;                                          /* ends itself, and goes on */
  edf_sgd(rate);
  q->update = alone;
}

/* Programs that are right, and look like those of which something is said. */
static void nothing_is_said_of_gradients(void) {
  build();
  begin_said();
  gradient(0);
  edf_l2(1);                                                 /* this batch is left out */
  edf_clip(1e-3);
  gradient(1);
  edf_clip(1);
  edf_clip_each(1e-3);
  edf_sgd(r(eta));
  CHECK(edf_clip(1e9) > 0, "the norm alone is asked for");
  gradient(2);
  edf_sgd(r(eta));
  edf_zero_grad();
  edf_l2(1);                                                 /* a step of its own */
  edf_sgd(r(eta));
  edf.accumulate = 1;                                        /* it stays: it is added to */
  edf_clip(1e-3);
  gradient(3);
  edf.accumulate = 0;
  gradient(4);
  edf_sgd(r(eta));
  edf_l1(1);                                                 /* the same gradient once more */
  edf_adam(r(eta), r(b1), r(b2), r(eps));
  edf_node *q = parameter(edf_fmt("q[%d]", N), -1, 1), *both = edf_mul(edf_add(p, q), q);
  edf_forward();
  edf_backward(both);
  for (int k = 0; k < 2; k++) {                              /* two optimisers in turn */
    p->update = k ? edf_frozen : NULL;
    q->update = k ? NULL : edf_frozen;
    edf_clip(1e-3);
    if (k) edf_sgd(r(eta));
    else edf_momentum(r(eta), r(b1));
  }
  p->update = twice;
  q->update = alone;
  edf_backward(both);
  edf_sgd(r(eta));
  end_said();
  CHECK(!*said, "said: %s", said);
  edf_clear();
}

/* Softmax over the batch, and as the node that is checked. */
static void nothing_is_said_of_softmax(void) {
  static const edf_real scores[6] = { 1, 2, -1, 0, 1, 3 }, diagonal[2] = { 0, 1 };
  begin(1);
  edf_node *s = edf_input("s[b,3]"), *w = parameter("w[3]", -1, 1), *y = edf_input("y[b]");
  edf_feed(s, scores, 2);
  edf_feed(y, diagonal, 2);
  begin_said();
  edf_node *u = edf_mul(s, w), *a = edf_einsum("a[b,c] = u[b,I] s[c,I]", u, s);
  edf_node *c = edf_log_loss(edf_softmax_over("a[B,c]", a), y);        /* both ways */
  edf_node *d = edf_log_loss(edf_softmax_over("a[b,C]", a), y);
  edf_node *pooled = edf_mean(edf_mul(edf_softmax_over("u[B,k]", u), s));
  edf_node *P = edf_softmax(u), *l = edf_softmax_log_loss(u, y), *both = edf_add(c, d);
  edf_forward();
  edf_backward(both);
  edf_backward(pooled);
  edf_backward(l);
  end_said();
  CHECK(!*said, "said: %s", said);
  capture_begin();
  edf_gradcheck(P);
  capture_end();
  edf_clear();
}

static void what_is_done_for_nothing_is_said(void) {
  int line = 0;
  build();
  begin_said();
  for (int t = 0; t < 4; t++) {
    edf_feed(x, rows[t], 1);
    edf_forward();
    if (t == 1) line = __LINE__ + 1;
    edf_backward(loss);
    edf_sgd(r(eta));
    edf_clip(1e-3);
  }
  end_said();
  check_said(line, "Backward clears gradients that edf_clip has changed after the step: call "
             "it between Backward and the step");
  edf_node *P = edf_softmax(p);
  edf_forward();
  begin_said();
  line = __LINE__ + 1;
  edf_backward(P);
  end_said();
  check_said(line, "Backward of a Softmax: its rows sum to 1, so its mean is constant and "
             "every gradient is 0: is a loss of it meant?");
  edf_clear();
}

static void all_of_them(edf_node *q, edf_real rate) {
  if (q->update) edf_sgd(rate / 2);
}
static void a_step_inside_of_a_step(void) {
  build();
  gradient(0);
  edf_real before = p->value[3];
  p->update = all_of_them;
  TRY(edf_sgd(1));
  CHECK(panicked && strstr(caught, "\"p\"") && strstr(caught, "edf_update_sgd"), "%s", caught);
  CHECK(p->value[3] == before, "it moved");
  p->update = NULL;
  edf_sgd(1);
  CHECK(p->value[3] != before, "it cannot be moved any more");
  edf_clear();
}

/* ---- A graph that grows before each step, on purpose: nothing is said. */
static edf_node *fed, *weight;

static void train_on(edf_node *y) {
  if (!edf.eager) edf_forward();
  edf_backward(y);
  edf_sgd(r(0.01));
}
static void new_graph(void) {
  begin(1);
  fed = edf_input("x[b]");
  weight = parameter("w", -1, 1);
  edf_feed(fed, rows[0], 4);
}
static edf_node *model(void) { return edf_mean(edf_einsum("y[b] = w x[b]", weight, fed)); }

static void cleared_each_time(void) {                        /* and larger each time */
  edf_node *y = model();
  for (int k = 0; k < edf.n_compnodes / 2; k++) y = edf_tanh(y);
  train_on(y);
  edf_clear_compnodes();
}
static void built_on_what_was(void) {
  int n = edf.n_compnodes;
  edf_node *y = n ? edf.compnodes[n - 1] : model();
  train_on(edf_einsum("y = w v", weight, y));
}
static void one_more_parameter(void) {
  int n = edf.n_parameters;
  edf_node *w = n == 1 ? weight : edf.parameters[n - 1];
  edf_node *v = edf_parameter("v%d", n);
  train_on(edf_einsum("y = w v x[B]", w, v, fed));
  edf_clear_compnodes();
}
static void a_graph_for_each(void) {
  new_graph();
  train_on(model());
  edf_clear();
}
static void another_graph_in_turn(void) {
  edf_node *old = fed, *w = weight;
  train_on(edf.n_compnodes ? edf.compnodes[0] : model());
  edf_graph first = edf;
  edf = edf_new_graph();
  new_graph();
  train_on(edf_tanh(edf_tanh(model())));
  edf_clear();
  edf = first;
  fed = old;
  weight = w;
}
static void some_steps_for_each(void) {
  edf_node *y = model();
  for (int k = 0; k < 3; k++) train_on(y);
}
static void a_forward_for_each(void) {
  edf_tanh(model());
  edf_forward();
}
static void on_a_frozen_stage(void) {
  int n = edf.n_parameters;
  edf.parameters[n - 1]->update = edf_frozen;
  edf_node *y = edf.n_compnodes ? edf.compnodes[edf.n_compnodes - 1] : fed;
  train_on(edf_einsum("y[b] = w v[b]", edf_parameter("u%d", n), y));
}

static void growing_graphs(void) {
  static void (*const legal[])(void) = { cleared_each_time, built_on_what_was,
    one_more_parameter, a_graph_for_each, another_graph_in_turn, some_steps_for_each,
    a_forward_for_each, on_a_frozen_stage };
  for (int k = 0; k < 16; k++) {
    new_graph();
    edf.eager = k % 2;
    begin_said();
    for (int step = 0; step < 70; step++) legal[k / 2]();
    end_said();
    CHECK(!*said, "program %d: %s", k, said);
    edf.eager = 0;
    edf_clear();
  }
  new_graph();
  begin_said();
  for (int step = 0; step < 70; step++) train_on(model());
  end_said();
  CHECK(strstr(said, "each of the last 32 steps had new nodes") &&
        strstr(said, "\n  the newest of 66: Mean \"Mean65\", built at "), "%s", said);
  edf_clear();
}
static void no_gradient_yet(void) {
  begin(1);
  edf_node *q = parameter("q[3]", -1, 1);
  edf_adam(r(eta), r(b1), r(b2), r(eps));
  CHECK(q->steps == 0 && !q->m, "a parameter without a gradient moved");
  TRY(edf_update_adam(q, r(eta), r(b1), r(b2), r(eps)));
  CHECK(panicked && strstr(caught, "edf_update_adam") && strstr(caught, "\"q\""), "%s", caught);
  edf_clear();
}

static void bad_betas(void) {
  static const edf_real wrong[] = { 1, (edf_real)-0.5, 2, (edf_real)NAN };
  for (int k = 0; k < 16; k++) {
    edf_real beta = wrong[k % 4];
    build();
    gradient(0);
    edf_real before = p->value[3];
    TRY(k < 4 ? edf_average(r(eta), beta) : k < 8 ? edf_rmsprop(r(eta), beta, r(eps))
        : k < 12 ? edf_adam(r(eta), r(b1), beta, r(eps))
                 : edf_adam_slides(r(eta), beta, r(b2), r(eps)));
    CHECK(panicked && strstr(caught, "expected 0 or more and less than 1"), "%s", caught);
    CHECK(p->value[3] == before, "it moved");
  }
}

int main(void) {
  RUN(a_step_before_backward);
  RUN(nothing_is_said_of_gradients);
  RUN(nothing_is_said_of_softmax);
  RUN(what_is_done_for_nothing_is_said);
  RUN(a_step_inside_of_a_step);
  RUN(course_81_sgd);
  RUN(course_82_heavy_ball);
  RUN(course_83_average);
  RUN(course_84_rmsprop);
  RUN(course_85_adam_of_the_slides);
  RUN(course_85_adam);
  RUN(adam_default);
  RUN(adamw_rule);
  RUN(course_86_adagrad);
  RUN(override);
  RUN(frozen);
  RUN(course_88_clipping);
  RUN(course_88_sgld);
  RUN(course_87_shrinkage);
  RUN(accuracy_of_the_root);
  RUN(a_rule_that_ends_itself);
  RUN(clipping_of_large_numbers);
  RUN(no_gradient_yet);
  RUN(growing_graphs);
  RUN(bad_betas);
  edf_clear();
  return harness_report();
}
