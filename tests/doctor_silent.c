/* doctor_silent.c - unusual programs that are right: the doctor has nothing to say.

   Variants: float */

#include "harness.h"
#include "edf_slide.h"
#include "edf_lab.h"

enum { STEPS = 310, SEEDS = 2 };
static edf_real xs[1024], ys[256];

static edf_real coin(void) { return edf_uniform(0, 1) < (edf_real)0.5 ? 0 : 1; }

static void step(edf_node *loss, int rule) {
  Forward();
  Backward(loss);
  if (rule == 0) SGD((edf_real)0.02);
  else if (rule == 1) edf_momentum((edf_real)0.01, (edf_real)0.9);
  else edf_adam((edf_real)0.001, (edf_real)0.9, (edf_real)0.999, (edf_real)1e-8);
}

/* The batch is one row, and the first loss is about 0. */
static void regression_of_rows(void) {
  for (int rule = 0; rule < 3; rule++) {
    Input *x = edf_input("x[b,1]"), *y = edf_input("y[b,1]");
    AffineParams A = edf_affine_params(1, 16), B = edf_affine_params(16, 1);
    CompNode *loss = MSE(Affine(B, Tanh(Affine(A, x))), y);
    edf_doctor(loss);
    for (int i = 0; i < STEPS; i++) {
      xs[0] = i ? edf_uniform(-2, 2) : 0;
      ys[0] = (edf_real)sin((double)xs[0]);
      edf_feed(x, xs, 1);
      edf_feed(y, ys, 1);
      step(loss, rule);
    }
    edf_clear();
  }
}

/* Weights begin at 0. The features are 0 or 1. */
static void weights_from_zero(void) {
  for (int batch = 1; batch <= 8; batch *= 2) {
    Input *x = edf_input("x[b,6]"), *y = edf_input("y[b]");
    Parameter *W = edf_parameter("W[6,3]");
    CompNode *loss = SoftmaxLogLoss(Einsum("s[b,k] = W[I,k] x[b,I]", W, x), y);
    edf_doctor(loss);
    for (int i = 0; i < STEPS; i++) {
      for (int k = 0; k < 6 * batch; k++) xs[k] = coin();
      for (int b = 0; b < batch; b++) ys[b] = xs[6 * b] + xs[6 * b + 1];
      edf_feed(x, xs, batch);
      edf_feed(y, ys, batch);
      step(loss, 0);
    }
    edf_clear();
  }
}

/* The target comes from a node that lets no gradient through. */
static void same(CompNode *y) {
  memcpy(y->value, y->in[0]->value, y->size * sizeof *y->value);
}

static void stopped_target(void) {
  Input *x = edf_input("x[b,4]");
  Parameter *W = edf_parameter("W[4,3]"), *T = edf_parameter("T[4,3]");
  edf_init_normal(W, 0, (edf_real)0.5);
  edf_init_normal(T, 0, (edf_real)0.5);
  CompNode *goal = Tanh(Einsum("q[b,j] = T[I,j] x[b,I]", T, x));
  CompNode *loss = MSE(Tanh(Einsum("p[b,j] = W[I,j] x[b,I]", W, x)),
                       edf_compnode("Stop", same, NULL, goal));
  edf_doctor(loss);
  for (int i = 0; i < STEPS; i++) {
    for (int k = 0; k < 64; k++) xs[k] = edf_normal(0, 1);
    edf_feed(x, xs, 16);
    step(loss, 0);
  }
  edf_clear();
}

/* Noise is subtracted from a Relu. -infinity is added as a mask. */
static void noise_and_mask(void) {
  static edf_real noise[256], closed[256];
  Input *x = edf_input("x[b,8]"), *n = edf_input("n[b,8]"), *m = edf_input("m[b,4]");
  Input *y = edf_input("y[b]");
  CompNode *h = Sub(Relu(Affine(edf_affine_params(8, 8), x)), n);
  CompNode *loss = LogLoss(Softmax(Add(Affine(edf_affine_params(8, 4), h), m)), y);
  edf_doctor(loss);
  for (int i = 0; i < STEPS; i++) {
    for (int k = 0; k < 256; k++) {
      xs[k] = edf_normal(0, 1);
      noise[k] = edf_normal(0, (edf_real)0.1);
      closed[k] = k % 4 == 3 ? -(edf_real)HUGE_VAL : 0;
    }
    for (int b = 0; b < 32; b++) ys[b] = xs[8 * b] > 0;
    edf_feed(x, xs, 32);
    edf_feed(n, noise, 32);
    edf_feed(m, closed, 32);
    edf_feed(y, ys, 32);
    step(loss, 0);
  }
  edf_clear();
}

/* The targets are declared before the data, and are large. */
static void targets_first(void) {
  Input *y = edf_input("y[b]"), *x = edf_input("x[b]");
  Parameter *W = edf_parameter("W"), *B = edf_parameter("B");
  CompNode *loss = MSE(Einsum("p[b] = W x[b] + B", W, x, B), y);
  edf_doctor(loss);
  for (int i = 0; i < STEPS; i++) {
    for (int b = 0; b < 32; b++) { xs[b] = edf_normal(0, 1); ys[b] = 20 + 5 * xs[b]; }
    edf_feed(x, xs, 32);
    edf_feed(y, ys, 32);
    step(loss, 0);
  }
  edf_clear();
}

/* Two losses have parameters of their own, which move by hand, 15 steps each. */
static void two_losses_in_blocks(void) {
  Input *x = edf_input("x[b,4]"), *y = edf_input("y[b]");
  AffineParams A = edf_affine_params(4, 8), B = edf_affine_params(8, 2);
  AffineParams C = edf_affine_params(8, 2);
  CompNode *h = Tanh(Affine(A, x));
  CompNode *one = SoftmaxLogLoss(Affine(B, h), y), *two = SoftmaxLogLoss(Affine(C, h), y);
  edf_doctor(one);
  for (int i = 0; i < STEPS; i++) {
    AffineParams last = i / 15 % 2 ? C : B;
    Parameter *own[] = { A.w, A.b, last.w, last.b };
    for (int k = 0; k < 128; k++) xs[k] = edf_normal(0, 1);
    for (int b = 0; b < 32; b++) ys[b] = xs[4 * b] > 0;
    edf_feed(x, xs, 32);
    edf_feed(y, ys, 32);
    Forward();
    Backward(i / 15 % 2 ? two : one);
    for (int p = 0; p < 4; p++)
      for (size_t k = 0; k < own[p]->size; k++)
        own[p]->value[k] -= (edf_real)0.1 * own[p]->grad[k];
  }
  edf_clear();
}

/* One row in thirty has class 0. The two features are -1 or 1. */
static void rare_class_and_few_features(void) {
  Input *x = edf_input("x[b,2]"), *y = edf_input("y[b]");
  CompNode *loss = SoftmaxLogLoss(Affine(edf_affine_params(2, 3), x), y);
  edf_doctor(loss);
  for (int i = 0; i < STEPS; i++) {
    for (int k = 0; k < 16; k++) xs[k] = 2 * coin() - 1;
    for (int b = 0; b < 8; b++) ys[b] = edf_uniform(0, 1) < (edf_real)0.03 ? 0 : 1 + coin();
    edf_feed(x, xs, 8);
    edf_feed(y, ys, 8);
    step(loss, 0);
  }
  edf_clear();
}

/* Labels are fed once, and are right for each batch: the number of the row, whether the row was
   changed, or one of each class in turn. Only the last can be learnt. */
static void labels_fed_once(void) {
  for (int way = 0; way < 3; way++) {
    Input *x = edf_input("x[b,4]"), *y = edf_input("y[b]"), *z = edf_input("z[k=12,4]");
    Parameter *W = way ? NULL : edf_parameter("W[4,4]");
    CompNode *s = way ? Affine(edf_affine_params(4, way + 1), x)
                      : Einsum("s[b,k] = W[I,J] x[b,I] z[k,J]", W, x, z);
    if (W) edf_init_normal(W, 0, (edf_real)0.1);
    CompNode *loss = SoftmaxLogLoss(s, y);
    edf_doctor(loss);
    for (int b = 0; b < 12; b++) ys[b] = (edf_real)(way == 0 ? b : way == 1 ? b < 6 : b % 3);
    edf_feed(y, ys, 12);
    for (int i = 0; i < STEPS; i++) {
      for (int k = 0; k < 48; k++) xs[k] = edf_normal(0, 1);
      for (int b = 0; way == 2 && b < 12; b++) xs[b * 4 + b % 3] += 3;
      edf_feed(x, xs, 12);
      if (!way) edf_feed(z, xs, 1);
      step(loss, 0);
    }
    edf_clear();
  }
}

/* Two Backwards come before a step. The program adds up the gradients, or edf.accumulate does,
   or the first has moved its parameters by hand, or the second is of the sum of both. */
static void two_backwards(void) {
  for (int way = 0; way < 4; way++) {
    Input *x = edf_input("x[b,4]"), *y = edf_input("y[b]");
    AffineParams A = edf_affine_params(4, 8), B = edf_affine_params(8, 3);
    CompNode *h = Tanh(Affine(A, x)), *loss = SoftmaxLogLoss(Affine(B, h), y);
    CompNode *small = Mean(Square(h)), *both = Add(loss, small);
    Parameter *p[] = { A.w, A.b, B.w, B.b };
    edf_real sum[4][32];
    edf_doctor(loss);
    edf.accumulate = way == 1;
    for (int i = 0; i < STEPS; i++) {
      for (int k = 0; k < 128; k++) xs[k] = edf_normal(0, 1);
      for (int b = 0; b < 32; b++) ys[b] = (edf_real)((xs[4 * b] > 0) + (xs[4 * b + 1] > 0));
      edf_feed(x, xs, 32);
      edf_feed(y, ys, 32);
      Forward();
      Backward(loss);
      for (int k = 0; k < 4; k++) memcpy(sum[k], p[k]->grad, p[k]->size * sizeof **sum);
      for (int k = 2; way == 2 && k < 4; k++)
        for (size_t j = 0; j < p[k]->size; j++) p[k]->value[j] -= (edf_real)0.1 * sum[k][j];
      Backward(way == 3 ? both : small);
      for (int k = 0; way == 0 && k < 4; k++)
        for (size_t j = 0; j < p[k]->size; j++) p[k]->grad[j] += sum[k][j];
      SGD((edf_real)0.1);
      if (way == 1) edf_zero_grad();
    }
    edf.accumulate = 0;
    edf_clear();
  }
}

/* ---- Other shapes of programs, which learn the exclusive or */

static const edf_real points[8] = { 0, 0, 0, 1, 1, 0, 1, 1 }, truth[4] = { 0, 1, 1, 0 };

static void all_data_fed_once(void) {
  Input *x = edf_input("x[b,2]"), *y = edf_input("y[b]");
  AffineParams A = edf_affine_params(2, 8), B = edf_affine_params(8, 2);
  CompNode *loss = SoftmaxLogLoss(Affine(B, Tanh(Affine(A, x))), y);
  edf_doctor(loss);
  edf_feed(x, points, 4);
  edf_feed(y, truth, 4);
  for (int i = 0; i < STEPS; i++) {
    Forward();
    Backward(loss);
    SGD((edf_real)0.5);
  }
}

/* The graph is built for each step, with other nodes. The doctor is called once, or each time,
   or each time where nodes run as they are built. */
static void built_for_each_step(void) {
  for (int way = 0; way < 3; way++) {
    edf.eager = way == 2;
    Input *x = edf_input("x[b,2]"), *y = edf_input("y[b]");
    AffineParams A = edf_affine_params(2, 8), B = edf_affine_params(8, 2);
    for (int i = 0; i < STEPS; i++) {
      edf_feed(x, points, 4);
      edf_feed(y, truth, 4);
      CompNode *h = Affine(A, x);
      for (int k = 0; k <= i % 3; k++) h = Tanh(h);
      CompNode *loss = SoftmaxLogLoss(Affine(B, h), y);
      if (i == 0 || way) edf_doctor(loss);
      if (!edf.eager) Forward();
      Backward(loss);
      SGD((edf_real)0.5);
      edf_clear_compnodes();
    }
    edf.eager = 0;
    edf_clear();
  }
}

/* A batch reads a few rows of a table that begins at 0, and states that begin at 0. */
static void beginnings_at_zero(void) {
  static edf_real states[16 * 4];
  Input *x = edf_input("x[b]"), *y = edf_input("y[b]"), *state = edf_input("h[b,4]");
  Parameter *table = edf_parameter("table[30,5]"), *w = edf_parameter("w[4,5]");
  edf_init_normal(w, 0, (edf_real)0.5);
  CompNode *s = Add(Embed(table, x), Einsum("s[b,j] = h[b,I] w[I,j]", state, w));
  CompNode *loss = SoftmaxLogLoss(s, y);
  edf_doctor(loss);
  for (int i = 0; i < STEPS; i++) {
    for (int b = 0; b < 16; b++) {
      xs[b] = (edf_real)edf_below(30);
      ys[b] = (edf_real)((int)xs[b] % 5);
      for (int j = 0; j < 4; j++) states[b * 4 + j] = i ? edf_uniform(-1, 1) : 0;
    }
    edf_feed(x, xs, 16);
    edf_feed(y, ys, 16);
    edf_feed(state, states, 16);
    Forward();
    Backward(loss);
    SGD(1);
  }
}

/* Two losses take turns. The doctor watches one of them. */
static void two_losses_in_turn(void) {
  Input *x = edf_input("x[b,2]"), *y = edf_input("y[b]");
  AffineParams A = edf_affine_params(2, 8), B = edf_affine_params(8, 2);
  CompNode *a = SoftmaxLogLoss(Affine(B, Tanh(Affine(A, x))), y);
  CompNode *b = SoftmaxLogLoss(Affine(edf_affine_params(2, 2), x), y);
  edf_doctor(a);
  edf_feed(x, points, 4);
  edf_feed(y, truth, 4);
  for (int i = 0; i < STEPS; i++) {
    Forward();
    Backward(a);
    SGD((edf_real)0.1);
    Backward(b);
    SGD((edf_real)0.1);
  }
}

static void (*program)(void);
static void the_doctor_is_silent(void) {
  for (unsigned seed = 1; seed <= SEEDS; seed++) {
    edf_seed(seed);
    capture_begin();
    TRY(program());
    capture_end();
    CHECK(!panicked && !*captured, "seed %u: %s%s", seed, captured, panicked ? caught : "");
    edf_clear();
  }
}

#define RUN_SILENT(p) program = p, harness_run(#p, the_doctor_is_silent)

int main(void) {
  RUN_SILENT(regression_of_rows);
  RUN_SILENT(weights_from_zero);
  RUN_SILENT(stopped_target);
  RUN_SILENT(noise_and_mask);
  RUN_SILENT(targets_first);
  RUN_SILENT(two_losses_in_blocks);
  RUN_SILENT(rare_class_and_few_features);
  RUN_SILENT(labels_fed_once);
  RUN_SILENT(two_backwards);
  RUN_SILENT(all_data_fed_once);
  RUN_SILENT(built_for_each_step);
  RUN_SILENT(beginnings_at_zero);
  RUN_SILENT(two_losses_in_turn);
  return harness_report();
}
