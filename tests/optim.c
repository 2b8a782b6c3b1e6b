/* optim.c - each optimiser against its formula in plain loops in double, over several steps;
   which Parameters a step moves; shrinkage and clipping of gradients. */

#include "harness.h"
#include "edf/slide.h"

enum { STEPS = 6, LONGEST = 70 };
static const double eta = 0.1, mu = 0.75, b1 = 0.8, b2 = 0.95, eps = 1e-3, decay = 0.25;
static const double bound = EDF_REAL_IS_DOUBLE ? 1e-12 : 5e-6;

static edf_real r(double x) { return (edf_real)x; }

/* ---- The rules. g is the gradient of one number and t counts the steps from 1. The number has
   the memory m and s. */

typedef struct { double p, m, s; } slot;

static void sgd(slot *a, double g, int t) {
  (void)t;
  a->p -= eta * g;
}
static void momentum(slot *a, double g, int t) {
  (void)t;
  a->m = mu * a->m + eta * g;
  a->p -= a->m;
}
static void rmsprop(slot *a, double g, int t) {
  (void)t;
  a->s = b2 * a->s + (1 - b2) * g * g;
  a->p -= eta * g / (sqrt(a->s) + eps);
}
static void adam_with(slot *a, double g, int t, double beta1, double beta2, double epsilon) {
  a->m = beta1 * a->m + (1 - beta1) * g;
  a->s = beta2 * a->s + (1 - beta2) * g * g;
  a->p -= eta * (a->m / (1 - pow(beta1, t))) / (sqrt(a->s / (1 - pow(beta2, t))) + epsilon);
}
static void adam(slot *a, double g, int t) { adam_with(a, g, t, b1, b2, eps); }
static void adam_default(slot *a, double g, int t) { adam_with(a, g, t, 0.9, 0.999, 1e-8); }
static void adamw(slot *a, double g, int t) {
  a->p *= 1 - eta * decay;
  adam(a, g, t);
}
/* The rule of the slides, with N = 1/(1-beta): a plain average of the first N gradients. */
static void adam_slides(slot *a, double g, int t) {
  double n1 = fmin(t, 1 / (1 - b1)), n2 = fmin(t, 1 / (1 - b2));
  a->m = (1 - 1 / n1) * a->m + 1 / n1 * g;
  a->s = (1 - 1 / n2) * a->s + 1 / n2 * g * g;
  a->p -= eta * a->m / (sqrt(a->s) + eps);
}

static void step_sgd(void) { edf_sgd(r(eta)); }
static void step_momentum(void) { edf_momentum(r(eta), r(mu)); }
static void step_rmsprop(void) { edf_rmsprop(r(eta), r(b2), r(eps)); }
static void step_adam(void) { edf_adam(r(eta), r(b1), r(b2), r(eps)); }
static void step_adam_default(void) { edf_adam_default(r(eta)); }
static void step_adamw(void) { edf_adamw(r(eta), r(b1), r(b2), r(eps), r(decay)); }
static void step_adam_slides(void) { edf_adam_slides(r(eta), r(b1), r(b2), r(eps)); }

static const struct optimiser {
  const char *name;
  void (*step)(void);
  void (*formula)(slot *a, double g, int t);
  int has_m, has_s;
} table[] = {
  { "sgd", step_sgd, sgd, 0, 0 },
  { "momentum", step_momentum, momentum, 1, 0 },
  { "rmsprop", step_rmsprop, rmsprop, 0, 1 },
  { "adam", step_adam, adam, 1, 1 },
  { "adam_default", step_adam_default, adam_default, 1, 1 },
  { "adamw", step_adamw, adamw, 1, 1 },
  { "adam_slides", step_adam_slides, adam_slides, 1, 1 },
};

/* ---- The loss x[I] p[I]. The gradient of p is x, which is fed. */

static edf_real gradient[STEPS][LONGEST];
static edf_node *x, *p, *loss;

static void build(int n) {
  edf_clear();
  edf_seed(5);
  x = edf_input("x[%d]", n);
  p = edf_parameter("p[%d]", n);
  edf_init_uniform(p, -1, 1);
  loss = edf_einsum("l = x[I] p[I]", x, p);
  for (int t = 0; t < STEPS; t++)
    for (int i = 0; i < n; i++) gradient[t][i] = edf_uniform(-2, 2);
  gradient[0][0] = gradient[1][0] = 0;
}

static void backward(int t) {
  edf_feed(x, gradient[t], x->dim[0]);
  edf_forward();
  edf_backward(loss);
}

static const struct optimiser *tested;

static void steps_follow_the_formula(void) {
  for (int n = 1; n <= LONGEST; n++) {
    slot a[LONGEST] = { { 0, 0, 0 } };
    build(n);
    for (int i = 0; i < n; i++) a[i].p = (double)p->value[i];
    for (int t = 1; t <= STEPS; t++) {
      backward(t - 1);
      tested->step();
      for (int i = 0; i < n; i++) {
        tested->formula(&a[i], (double)gradient[t - 1][i], t);
        CLOSE(p->value[i], a[i].p, bound * t, bound * t);
        if (p->m) CLOSE(p->m[i], a[i].m, bound, bound);
        if (p->s) CLOSE(p->s[i], a[i].s, bound, bound);
      }
    }
    CHECK(p->steps == STEPS, "%ld steps were counted", p->steps);
    CHECK(!p->m == !tested->has_m, "p->m is %s", p->m ? "not NULL" : "NULL");
    CHECK(!p->s == !tested->has_s, "p->s is %s", p->s ? "not NULL" : "NULL");
  }
}

/* ---- Which Parameters are moved */

static double own_eta;

static void own_update(edf_node *q, edf_real rate) {
  own_eta = (double)rate;
  for (size_t i = 0; i < q->size; i++) q->value[i] += 2 * rate * q->grad[i];
}

TEST(a_parameter_may_have_its_own_update) {
  for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
    build(3);
    double before = (double)p->value[2];
    p->update = own_update;
    backward(2);
    table[k].step();
    CLOSE(own_eta, eta, 0, 1e-6);
    CHECK(p->steps == 1, "%s: %ld steps", table[k].name, p->steps);
    CLOSE(p->value[2], before + 2 * eta * (double)gradient[2][2], bound, bound);
  }
}

/* ---- When a step is an error */

TEST(a_step_needs_a_new_backward) {
  for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
    build(3);
    edf_feed(x, gradient[0], 3);
    edf_forward();
    STOPS(table[k].step(), "edf_step|edf_backward");
    build(3);
    backward(0);
    table[k].step();
    STOPS(table[k].step(), "edf_step|edf_backward|reuse_gradients");
    build(3);
    backward(0);
    table[k].step();
    edf_forward();
    edf_zero_grad();
    CAPTURE(edf_gradcheck(loss));
    STOPS(table[k].step(), "edf_step|edf_backward|reuse_gradients");
  }
}

TEST(gradients_may_be_used_again) {
  build(3);
  edf.reuse_gradients = 1;
  edf_feed(x, gradient[2], 3);
  edf_forward();
  STOPS(edf_sgd(1), "edf_step|edf_backward");
  CHECK(edf.reuse_gradients == 1, "edf_clear changes a setting");
  build(3);
  double before = (double)p->value[1];
  backward(2);
  for (int t = 0; t < 3; t++) edf_sgd(r(eta));
  CLOSE(p->value[1], before - 3 * eta * (double)gradient[2][1], bound, bound);
  CHECK(p->steps == 3, "%ld steps", p->steps);
  edf.reuse_gradients = 0;
}

/* What counts as a new gradient: a whole Backward, also in steps, and edf_push_grad. A graph of
   its own has gradients of its own. */
TEST(new_gradients_permit_a_step) {
  build(3);
  backward(0);
  CAPTURE(edf_gradcheck(loss));
  edf_sgd(1);
  edf_push_grad(p);
  edf_sgd(1);
  edf_forward();
  while (edf_step_backward()) continue;
  edf_sgd(1);
  edf_graph first = edf;
  edf = edf_new_graph();
  edf_node *q = edf_parameter("q"), *square = edf_square(q);
  edf_forward();
  edf_backward(square);
  edf_graph second = edf;
  edf = first;
  TRY(edf_sgd(1));
  CHECK(panicked, "the Backward of another graph permits a step");
  edf_clear();
  edf = second;
  edf_sgd(1);
  edf_forward();
  edf_step_backward();
  STOPS(edf_sgd(1), "edf_step|edf_backward");            /* The Backward has not ended. */
}

/* Gradients of several Backwards may add up for one step, and each of several losses may have a
   step of its own. */
TEST(a_step_may_follow_several_backwards) {
  build(3);
  edf_node *q = edf_parameter("q"), *other = edf_einsum("o = x[I] q", x, q);
  edf.accumulate = 1;
  double before = (double)p->value[1];
  backward(0);
  backward(1);
  edf_sgd(r(eta));
  double sum = (double)gradient[0][1] + (double)gradient[1][1];
  CLOSE(p->value[1], before - eta * sum, bound, bound);
  edf.accumulate = 0;
  backward(2);
  edf_sgd(1);
  edf_backward(other);
  edf_adam_default(1);
  CHECK(p->steps == 2 && q->steps == 1, "%ld and %ld steps", p->steps, q->steps);
}

/* edf_update is no step. So rules may run before and after the step. */
TEST(single_updates_need_no_new_gradient) {
  edf_real one = 1;
  build(3);
  double before = (double)p->value[1];
  backward(0);
  for (int t = 0; t < 2; t++) edf_update(p, &edf_sgd_rule, &one);
  edf_sgd(1);
  edf_update(p, &edf_sgd_rule, &one);
  CLOSE(p->value[1], before - 4 * (double)gradient[0][1], bound, bound);
}

/* Updates by a rule with averages count, so that Adam's corrections end. */
TEST(single_updates_by_adam_are_steps) {
  const edf_real c[] = { r(0.1), r(0.9), r(0.999), r(1e-8), 0 };
  build(3);
  backward(0);
  for (int t = 0; t < 3; t++) edf_update(p, &edf_adam_rule, c);
  CHECK(p->steps == 3, "%ld steps", p->steps);
}

/* With edf.accumulate a gradient that was set to 0 has not arrived. */
TEST(a_zeroed_gradient_makes_no_step) {
  edf_node *v = edf_parameter("v[1]"), *w = edf_parameter("w[1]");
  edf_node *first = edf_exp(v), *second = edf_exp(w);
  edf.accumulate = 1;
  edf_forward();
  edf_backward(first);
  edf_momentum(1, r(0.9));
  edf_zero_grad();
  edf_forward();
  edf_backward(second);
  edf_momentum(1, r(0.9));
  edf.accumulate = 0;
  CHECK(v->value[0] == -1 && w->value[0] == -1, "%g and %g", (double)v->value[0], (double)w->value[0]);
}

/* ---- Shrinkage and clipping, between Backward and the step */

TEST(shrinkage_adds_to_gradients) {
  for (int n = 1; n <= LONGEST; n++)
    for (int power = 1; power <= 2; power++) {
      build(n);
      if (n > 3) p->value[3] = 0;
      backward(0);
      if (power == 1) edf_l1(r(0.5));
      else edf_l2(r(0.5));
      for (int i = 0; i < n; i++) {
        double v = (double)p->value[i], sign = v > 0 ? 1 : v < 0 ? -1 : 0;
        CLOSE(p->grad[i], (double)gradient[0][i] + 0.5 * (power == 1 ? sign : v), bound, bound);
      }
    }
}

static double norm_of(const edf_node *q) {
  double sum = 0;
  for (size_t i = 0; i < q->size; i++) sum += (double)q->grad[i] * (double)q->grad[i];
  return sqrt(sum);
}

TEST(clipping_bounds_the_joint_norm) {
  for (int n = 1; n <= 5000; n += n < LONGEST ? 1 : 4900) {
    build(3);
    edf_node *q = edf_parameter("q[%d]", n), *unreached = edf_parameter("u[2]");
    edf_init_uniform(q, 1, 2);
    edf_node *both = edf_einsum("y = l + q[I] q[I]", loss, q);
    edf_feed(x, gradient[2], 3);
    edf_forward();
    edf_backward(both);
    double norm = hypot(norm_of(p), norm_of(q)), gp = (double)p->grad[2];
    double gq = (double)q->grad[n - 1];
    CLOSE(edf_clip(2 * norm), norm, 0, 1e-6);
    CHECK((double)p->grad[2] == gp && (double)q->grad[n - 1] == gq, "clipped below the bound");
    CLOSE(edf_clip(norm / 4), norm, 0, 1e-6);
    CLOSE(p->grad[2], gp / 4, 0, 1e-6);
    CLOSE(q->grad[n - 1], gq / 4, 0, 1e-6);
    CLOSE(hypot(norm_of(p), norm_of(q)), norm / 4, 0, 1e-6);
    CHECK(!unreached->grad || unreached->grad[0] == 0, "an unreached Parameter");
  }
}

int main(void) {
  for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
    tested = &table[k];
    harness_run(table[k].name, steps_follow_the_formula);
  }
  return harness_main();
}
