/* doctor_silent.c - unusual programs that are right: the doctor has nothing to say.

   Variants: float */

#include "harness.h"
#include "edf_slide.h"
#include "edf_lab.h"

enum { STEPS = 310, SEEDS = 2 };
static edf_real xs[1024], ys[256];

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
  RUN_SILENT(noise_and_mask);
  RUN_SILENT(labels_fed_once);
  RUN_SILENT(two_backwards);
  RUN_SILENT(built_for_each_step);
  RUN_SILENT(two_losses_in_turn);
  return harness_report();
}
