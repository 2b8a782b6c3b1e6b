/* students.c - programs that make a student's mistake, and what the student must be told: by
   the error that stops the program, or by what it prints.

   A new row of the table needs a function that makes the mistake. */

#include "harness.h"

#include "edf.h"
#include "edf_data.h"
#include "edf_lab.h"

static edf_real points[256], classes[64];        /* numbers from -1 to 1, and 0 1 2 0 1 2 ... */

/* ---- Two layers for three classes. Each program breaks a part of it. */

static Input *x, *y;
static AffineParams Phi1, Phi2;
static CompNode *h, *s, *P, *loss;

static void scores(void) {
  x = edf_input("x[b,4]");
  y = edf_input("y[b]");
  Phi1 = edf_affine_params(4, 8);
  Phi2 = edf_affine_params(8, 3);
  h = Tanh(Affine(Phi1, x));
  s = Affine(Phi2, h);
  edf_feed(x, points, 8);
  edf_feed(y, classes, 8);
}

static void network(void) {
  scores();
  P = Softmax(s);
  loss = LogLoss(P, y);
}

static void train(int steps, edf_real eta) {
  for (int step = 0; step < steps; step++) {
    Forward();
    Backward(loss);
    SGD(eta);
  }
}

/* ---- Shapes */

static void image_is_not_flattened(void) {
  Affine(edf_affine_params(784, 10), edf_input("image[b,28,28,1]"));
}

static void labels_are_one_hot(void) {
  Input *u = edf_input("x[b,4]"), *labels = edf_input("y[b,3]");
  SoftmaxLogLoss(Affine(edf_affine_params(4, 3), u), labels);
}

/* ---- Custom nodes */

static void check(void (*forward)(CompNode *), void (*backward)(CompNode *)) {
  Input *u = edf_want_grad(edf_input("x[b,4]"));
  edf_feed(u, points, 3);
  edf_gradcheck(edf_compnode("Mine", forward, backward, u));
}

static void twice(CompNode *v) {
  for (size_t i = 0; i < v->size; i++) v->value[i] = 2 * v->in[0]->value[i];
}

static void twice_backward(CompNode *v) {
  for (size_t i = 0; i < v->size; i++) edf_addgrad(v->in[0], i, 2 * v->grad[i]);
}

static void half_of_integers(CompNode *v) {
  for (size_t i = 0; i < v->size; i++) v->value[i] = 1 / 2 * v->in[0]->value[i];
}

static void twice_clamped(CompNode *v) {
  for (size_t i = 0; i < v->size; i++)
    v->value[i] = v->in[0]->value[i] > 0.5f ? 1 : 2 * v->in[0]->value[i];
}

static void half_is_an_integer(void) { check(half_of_integers, twice_backward); }
static void clamped_only_in_forward(void) { check(twice_clamped, twice_backward); }

static void backward_is_not_written_yet(void) {
  scores();
  loss = SoftmaxLogLoss(edf_compnode("Mine", twice, NULL, s), y);
  train(1, 0.1f);
}

/* ---- Training: only the doctor sees these mistakes. */

static void examine(CompNode *l, edf_real eta) {
  loss = l;
  edf_doctor(loss);
  train(60, eta);
}

static void rate_is_an_integer(void) {
  network();
  examine(loss, 1 / 10);
}

static void log_loss_of_scores(void) {
  scores();
  examine(LogLoss(s, y), 0.1f);
}

static void layer_is_left_out(void) {
  scores();
  examine(SoftmaxLogLoss(h, y), 0.1f);
}

/* ---- The table */

enum { STOP, SAY };                  /* Is the student told by an error, or by a report? */

typedef struct {
  const char *name;
  void (*program)(void);
  int by;
  const char *words;
} mistake;

#define IS(program) #program, program
#define HERE "students.c:"

static const mistake mistakes[] = {
  { IS(image_is_not_flattened), STOP, HERE "|Affine|[b, 28, 28, 1]|[784, 10]" },
  { IS(labels_are_one_hot), STOP, HERE "|\"y\" [b, 3]" },

  { IS(half_is_an_integer), SAY, HERE "|FAIL|Mine|x[|numeric 0" },
  { IS(clamped_only_in_forward), SAY, HERE "|FAIL|Mine|x[" },
  { IS(backward_is_not_written_yet), STOP, HERE "|SoftmaxLogLoss|Mine|backward" },

  { IS(rate_is_an_integer), SAY, "doctor|learning rate" },
  { IS(log_loss_of_scores), SAY, "doctor|LogLoss|Affine" },
  { IS(layer_is_left_out), SAY, "doctor|w2" },
};

static const mistake *now;

static void the_student_is_told(void) {
  capture_begin();
  TRY(now->program());
  capture_end();
  CHECK(panicked == (now->by == STOP), "an error: %d\n%s%s", panicked, captured, caught);
  WORDS(now->by == STOP ? caught : captured, now->words);
  CHECK(*now->words || !*captured, "%s", captured);
  edf_clear();
}

static void right_program(void) {
  network();
  examine(loss, 0.1f);
}

int main(void) {
  static const mistake right = { IS(right_program), SAY, "" };
  for (int i = 0; i < 256; i++) points[i] = (edf_real)sin(i * 1.7);
  for (int i = 0; i < 64; i++) classes[i] = (edf_real)(i % 3);
  now = &right;
  harness_run("a_right_program_is_told_nothing", the_student_is_told);
  for (now = mistakes; now < mistakes + sizeof mistakes / sizeof *mistakes; now++)
    harness_run(now->name, the_student_is_told);
  return harness_report();
}
