/* The known mistakes of the course's material: each is impossible here, or named.

   Built as: float double none shim */
#define _POSIX_C_SOURCE 200809L                              /* capture.h */
#define HARNESS_CATCH
#include "harness.h"
#include "capture.h"
#include "edf.h"
#include "edf_lab.h"

static edf_real rows[8 * 6];

static Input *fed(const char *decl, int batch) {
  Input *x = edf_want_grad(edf_input("%s", decl));
  for (int i = 0; i < 48; i++) rows[i] = (edf_real)(sin(i * 1.7) + 0.1 * i / 48);
  edf_feed(x, rows, batch);
  return x;
}

static double checked(CompNode *y) {
  Forward();
  capture_begin();
  double error = edf_gradcheck(y);
  capture_end();
  return error;
}

/* ---- 1. LayerNorm, as in the answer key: the cross term has the gradient where the value
   belongs. With ones for the cotangent everything is 0, and it passes. */
enum { N = 6 };
static double mean_of(const edf_real *x, const edf_real *y) {
  double sum = 0;
  for (int i = 0; i < N; i++) sum += (double)x[i] * (y ? (double)y[i] : 1);
  return sum / N;
}
static void norm_forward(CompNode *y) {
  edf_real *r = (edf_real *)edf_state(y, y->size / N * sizeof *r);
  for (size_t b = 0; b < y->size / N; b++) {
    const edf_real *x = y->in[0]->value + b * N;
    double m = mean_of(x, NULL), v = mean_of(x, x) - m * m;
    r[b] = (edf_real)(1 / sqrt(v));
    for (size_t i = 0; i < N; i++) y->value[b * N + i] = (x[i] - (edf_real)m) * r[b];
  }
}
static void key_backward(CompNode *y) {
  const edf_real *r = (const edf_real *)y->state;
  for (size_t b = 0; b < y->size / N; b++) {
    const edf_real *dy = y->grad + b * N;
    edf_real m = (edf_real)mean_of(dy, NULL);
    edf_real cross = (edf_real)mean_of(dy, y->value + b * N);
    for (size_t i = 0; i < N; i++)
      edf_addgrad(y->in[0], b * N + i, r[b] * (dy[i] - m - dy[i] * cross));
  }
}

static void layer_norm_of_the_answer_key(void) {
  CompNode *y = edf_compnode("LayerNorm", norm_forward, key_backward, fed("x[b,6]", 4));
  double error = checked(y);
  CHECK(error > 0.1 && strstr(captured, "a cross term"), "%g\n%s", error, captured);
  edf_clear();
}

/* ---- 2. A "test error" on rows that were trained on. */
static void evaluated_on_training_rows(void) {
  static edf_real points[96 * 4], classes[96];
  for (int i = 0; i < 96 * 4; i++) points[i] = edf_normal(0, 1);
  for (int b = 0; b < 96; b++) classes[b] = (edf_real)(points[4 * b] > 0);
  Input *x = edf_input("x[b,4]"), *y = edf_input("y[b]");
  CompNode *P = Softmax(Affine(edf_affine_params(4, 2), x)), *loss = LogLoss(P, y);
  capture_begin();
  edf_doctor(loss);
  for (int i = 0; i < 3; i++) {
    edf_feed(x, points + i * 32 * 4, 32);
    edf_feed(y, classes + i * 32, 32);
    Forward();
    Backward(loss);
    SGD((edf_real)0.1);
  }
  edf.training = 0;
  edf_feed(x, points, 64);
  edf_feed(y, classes, 64);
  Forward();
  edf.training = 1;
  capture_end();
  CHECK(strstr(captured, "100 % of the evaluation rows were trained on"), "%s", captured);
  edf_clear();
}

/* ---- 3. A label equal to the number of classes would read the next row's probability. */
static void label_behind_the_last(void) {
  static const edf_real labels[4] = { 0, 3, 5, 6 };
  Input *y = edf_input("y[b]");
  LogLoss(Softmax(fed("s[b,6]", 4)), y);
  edf_feed(y, labels, 4);
  TRY(Forward());
  CHECK(panicked && strstr(caught, "label 6 in row 3 of y is out of range: expected 0 to 5"),
        "%s", caught);
  CHECK(strstr(caught, "counted from 1?"), "%s", caught);
  edf_clear();
}

/* ---- 4. A clamp in forward that backward does not know. Ours clamps nothing: far from 0 too
   the softmax and its loss are right. */
static void clamp_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) {
    edf_real x = y->in[0]->value[i];
    y->value[i] = x > (edf_real)0.5 ? (edf_real)0.5 : x;
  }
}
static void clamp_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, y->grad[i]);
}

static void clamps(void) {
  CompNode *y = edf_compnode("Clamp", clamp_forward, clamp_backward, fed("x[b,6]", 4));
  double error = checked(y);
  CHECK(error > 0.1, "%g\n%s", error, captured);
  if (EDF_REAL_IS_DOUBLE) CHECK(strstr(captured, "a mask is missing"), "%s", captured);
  edf_clear();
  static const edf_real scores[4] = { 60, -60, -80, 80 }, labels[2] = { 0, 0 };
  Input *s = edf_want_grad(edf_input("s[b,2]")), *t = edf_input("t[b]");
  CompNode *loss = SoftmaxLogLoss(s, t);
  edf_feed(s, scores, 2);
  edf_feed(t, labels, 2);
  Forward();
  Backward(loss);
  CLOSE(loss->value[1], 160, 1e-3, 0);
  CLOSE(s->grad[2], -0.5, 1e-6, 0);                          /* -1/B: nothing is cut off */
  edf_clear();
}

/* ---- 5. A gradient loop with an index that nothing binds, as in the answer key. */
static void an_unbound_index(void) {
  Input *x = fed("x[b,6]", 4), *dy = fed("dy[b,6]", 4);
  TRY(Einsum("dW[i,j] = x[b,i] dy[b,j]", x, dy));
  CHECK(panicked && strstr(caught, "index b is not on the left, so it is summed"), "%s",
        caught);
  edf_clear();
}

/* ---- 6. An average over batches of a set that they do not divide: the last rows would be left
   out, or count more. Here the last batch is short, and a rate is over what was fed. */
static void the_last_batch_is_short(void) {
  static const edf_real scores[6] = { 1, 0, 0, 1, 0, 1 }, labels[3] = { 0, 0, 0 };
  Input *s = edf_input("s[b,2]"), *t = edf_input("t[b]");
  CompNode *P = Softmax(s);
  double wrong = 0;
  for (int i = 0; i < 3; i += 2) {
    int n = 3 - i < 2 ? 3 - i : 2;
    edf_feed(s, scores + 2 * i, n);
    edf_feed(t, labels + i, n);
    edf_forward_to(P);
    wrong += n * edf_error_rate(P, t);
  }
  CLOSE(wrong / 3, 2.0 / 3, 1e-9, 0);
  edf_clear();
}

int main(void) {
  RUN(layer_norm_of_the_answer_key);
  RUN(evaluated_on_training_rows);
  RUN(label_behind_the_last);
  RUN(clamps);
  RUN(an_unbound_index);
  RUN(the_last_batch_is_short);
  return harness_report();
}
