/* recovery.c - what once went wrong after a caught panic, after the batch changed between two
   uses of a graph, and in gradient checks of nodes that draw random numbers or keep a state.

   Built as: float double none sanitized shim */
#define _POSIX_C_SOURCE 200112L             /* capture.h: fileno, ftruncate */
#define HARNESS_CATCH
#include "harness.h"
#include "edf.h"
#include "edf_lab.h"
#include "inside.h"
#include "capture.h"

static edf_real zeros[40000], ones[40000];

/* No memory for the new batch; then a second Forward must not use the old buffers. */
static void no_memory_for_a_larger_batch(void) {
  Input *x = edf_input("x[b,4]");
  CompNode *y = Relu(x);
  edf_feed(x, ones, 2);
  Forward();
  edf_feed(x, ones, 10000);
  memory.limit = 100000;
  TRY(Forward());
  CHECK(panicked && strstr(caught, "Relu: out of memory"), "%s", caught);
  memory.limit = 0;
  Forward();
  CHECK(y->size == 40000 && y->value[39999] == 1, "size %zu", y->size);
  edf_clear();
}

/* A constructor that fails has looked at its operands without a batch; it changes nothing. */
static void backward_after_a_failed_constructor(void) {
  Input *x = edf_input("x[b,3]");
  Parameter *w = edf_parameter("w[3]");
  CompNode *y = Einsum("y[b] = w[I] x[b,I]", w, x), *loss = Mean(Square(y));
  edf_feed(x, ones, 2);
  for (int i = 0; i < 3; i++) w->value[i] = 1;
  Forward();
  TRY(Concat("y[B]", y, y));
  CHECK(panicked && strstr(caught, "the batch cannot be joined"), "%s", caught);
  CHECK(y->dim[0] == 2 && x->dim[0] == 2 && x->size == 6, "%d and %d", y->dim[0], x->dim[0]);
  Backward(loss);
  CHECK(w->grad[2] == 6, "%g", (double)w->grad[2]);
  Forward();
  Backward(loss);
  CHECK(y->dim[0] == 2 && w->grad[2] == 6, "%g", (double)w->grad[2]);
  edf_clear();
}

/* The same in the padded copy of an equation. */
static void no_memory_for_a_padded_copy(void) {
  Input *x = edf_input("x[b,4]");
  CompNode *y = Einsum("y[b] = x[b,I-1] | I<6", x);
  edf_feed(x, ones, 2);
  Forward();
  edf_feed(x, ones, 10000);
  memory.limit = 200000;
  TRY(Forward());
  CHECK(panicked && strstr(caught, "out of memory"), "%s", caught);
  memory.limit = 0;
  Forward();
  CHECK(y->value[9999] == 4, "%g", (double)y->value[9999]);
  edf_clear();
}

/* Another forward_to with another batch has resized what the first one computed. */
static void backward_of_a_resized_node(void) {
  Input *x = edf_input("x[b,2]"), *z = edf_input("z[b,2]");
  AffineParams Phi = edf_affine_params(2, 2);
  CompNode *a = Affine(Phi, x), *c = Affine(Phi, z);
  edf_feed(x, ones, 5);
  edf_feed(z, ones, 100);
  edf_forward_to(a);
  edf_forward_to(c);
  TRY(Backward(a));
  CHECK(panicked && strstr(caught, "call edf_forward first"), "%s", caught);
  Backward(c);
  edf_clear();
}

static void labels_of_another_batch(void) {
  Input *x = edf_input("x[b,3]"), *y = edf_input("y[b]");
  CompNode *scores = Relu(x), *loss = SoftmaxLogLoss(scores, y);
  edf_feed(x, ones, 4);
  edf_feed(y, zeros, 4);
  Forward();
  CHECK(edf_error_rate(scores, y) == 0, "%g", (double)loss->value[0]);
  edf_feed(x, ones, 100);
  edf_forward_to(scores);
  TRY(edf_error_rate(scores, y));
  CHECK(panicked && strstr(caught, "4 labels were fed for 100 rows"), "%s", caught);
  edf_clear();
}

/* Eager: what was computed from the last feed is computed again for a larger one. */
static void eager_with_a_new_batch(void) {
  static const edf_real fives[] = { 5, 5, 5, 5, 5, 5, 5, 5 };
  edf.eager = 1;
  Input *x = edf_input("x[b,2]");
  Parameter *p = edf_parameter("p[2]");
  p->value[0] = p->value[1] = 1;
  edf_feed(x, ones, 2);
  CompNode *h = Mul(x, p);
  edf_feed(x, fives, 4);
  CompNode *s = Sum(h);
  Backward(s);
  CHECK(s->value[0] == 40 && p->grad[0] == 20, "%g %g", (double)s->value[0],
        (double)p->grad[0]);
  edf.eager = 0;
  edf_clear();
}

static void no_op(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = y->in[0]->value[i];
}

static void wanted_without_a_backward(void) {
  Parameter *p = edf_parameter("p[3]");
  CompNode *stop = edf_want_grad(edf_compnode("Stop", no_op, NULL, Square(p)));
  CompNode *loss = Sum(stop);
  Forward();
  Backward(loss);
  CHECK(stop->grad && stop->grad[2] == 1, "no gradient");
  CHECK(!p->grad || p->grad[0] == 0, "it flowed through");
  edf_clear();
}

/* Dropout: the mask, kept in the state, with the number of forwards behind it. */
static void drop_forward(CompNode *y) {
  edf_real *mask = (edf_real *)edf_state(y, (y->size + 1) * sizeof *mask);
  mask[y->size] += 1;
  for (size_t i = 0; i < y->size; i++) {
    mask[i] = edf_uniform(0, 1) < (edf_real)0.5 ? 0 : 2;
    y->value[i] = mask[i] * y->in[0]->value[i] * y->in[0]->value[i];
  }
}
static void drop_backward(CompNode *y) {
  const edf_real *mask = (const edf_real *)y->state, *x = y->in[0]->value;
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(y->in[0], i, y->grad[i] * mask[i] * 2 * x[i]);
}
static void unmasked_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(y->in[0], i, y->grad[i] * 2 * y->in[0]->value[i]);
}

static double check_drop(void (*backward)(CompNode *), double *forwards) {
  Parameter *p = edf_parameter("p[50]");
  edf_init_normal(p, 0, 1);
  CompNode *y = edf_compnode("Drop", drop_forward, backward, Tanh(p));
  Forward();
  capture_begin();
  double error = edf_gradcheck(y);
  capture_end();
  *forwards = (double)((edf_real *)y->state)[y->size];
  edf_clear();
  return error;
}

static void random_nodes_are_checked(void) {
  double forwards;
  CHECK(check_drop(drop_backward, &forwards) < (EDF_REAL_IS_DOUBLE ? 1e-6 : 0.05),
        "the right one\n%s", captured);
  CHECK(forwards == 1, "the state was not put back: %g forwards", forwards);
  CHECK(check_drop(unmasked_backward, &forwards) > 0.1, "the wrong one\n%s", captured);
}

/* Forward adds to what is there; backward writes the value where the gradient is meant. */
static void adding_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] += y->in[0]->value[i];
}
static void adding_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, y->grad[i]);
}
static void value_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) y->in[0]->value[i] += y->grad[i];
}

static void check_says(void (*forward)(CompNode *), void (*backward)(CompNode *),
                       const char *cause) {
  Parameter *p = edf_parameter("p[5]");
  edf_init_normal(p, 0, 1);
  CompNode *y = edf_compnode("Mine", forward, backward, p);
  Forward();
  capture_begin();
  double error = edf_gradcheck(y);
  capture_end();
  CHECK(error > 1e-3 && strstr(captured, cause), "%g\n%s", error, captured);
  edf_clear();
}

#ifdef __SANITIZE_ADDRESS__              /* it stops a program that writes too far: impl.c */
enum { GUARDED = 1 };
#else
enum { GUARDED = 0 };
#endif

/* The contract of a forward and a backward: everything is written, nothing else is. */
static void short_forward(CompNode *y) {
  for (size_t i = 0; i + 1 < y->size; i++) y->value[i] = y->in[0]->value[i];
}
static void good_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = y->in[0]->value[i];
}
static void good_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, y->grad[i]);
}
static void long_forward(CompNode *y) {
  for (size_t i = 0; i <= y->size; i++) y->value[i] = i < 5 ? y->in[0]->value[i] : 0;
}
static void before_backward(CompNode *y) {
  good_backward(y);
  y->in[0]->grad[-1] += 1;
}
static void scaling_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) y->grad[i] *= 1;
  good_backward(y);
  for (size_t i = 0; i < y->size; i++) y->grad[i] *= 2;
}
static void in_place_backward(CompNode *y) {
  good_backward(y);
  y->value[2] = 0;
}
static void counting_backward(CompNode *y) {
  int *runs = (int *)edf_state(y, sizeof *runs);
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(y->in[0], i, y->grad[i] * (edf_real)(++*runs % 2));
}

static void the_contract(void) {
  check_says(short_forward, good_backward, "forward does not write Mine0[4], and 1 of 5");
  if (!GUARDED) check_says(long_forward, good_backward, "its code writes outside of Mine0");
  check_says(good_forward, before_backward, "its code writes outside of p.grad");
  check_says(good_forward, scaling_backward, "its backward changes Mine0.grad");
  check_says(good_forward, in_place_backward, "its backward changes its own values");
  check_says(good_forward, counting_backward, "d p: backward differs when it runs again");
}

/* A large tensor, of which no sample sees the mistake: in the entries that are not tried. */
static int silent;                           /* entries before this one get no gradient */
static void part_backward(CompNode *y) {
  for (size_t i = (size_t)silent; i < y->size; i++) edf_addgrad(y->in[0], i, y->grad[i]);
}

static void along_directions(void) {
  for (silent = 0; silent <= 20000; silent += 20000) {
    Parameter *p = edf_parameter("p[40000]");
    CompNode *y = edf_compnode("Mine", good_forward, part_backward, p);
    edf_seed(1);
    edf_init_normal(p, 0, 1);
    Forward();
    Backward(y);
    capture_begin();
    double error = inside_check_directions(y, p);
    capture_end();
    if (!silent) CHECK(error < 1e-3 && !*captured, "%g: %s", error, captured);
    else CHECK(error == 1 && strstr(captured, "along random directions"), "%s", captured);
    edf_clear();
  }
}

/* A mask that writes -infinity is right; a state that a check has made is put back to 0. */
static void mask_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++)
    y->value[i] = i % 3 == 1 ? -(edf_real)HUGE_VAL : y->in[0]->value[i];
  ++*(int *)edf_state(y, sizeof(int));
}
static void mask_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, i % 3 == 1 ? 0 : y->grad[i]);
}

static void an_infinite_mask(void) {
  Parameter *p = edf_parameter("p[6]");
  edf_init_normal(p, 0, 1);
  CompNode *y = edf_compnode("Mask", mask_forward, mask_backward, p), *P = Softmax(y);
  capture_begin();
  double error = edf_gradcheck(P);
  capture_end();
  CHECK(error < (EDF_REAL_IS_DOUBLE ? 1e-6 : 0.02), "%g\n%s", error, captured);
  CHECK(*(int *)y->state == 0, "the state is %d", *(int *)y->state);
  edf_clear();
}

static void what_no_derivative_shows(void) {
  check_says(adding_forward, adding_backward, "values that are not cleared");
  check_says(no_op, value_backward, "changes the values of p");
}

/* At a kink yours has to lie between the slopes on both sides. */
static void abs_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++)
    y->value[i] = y->in[0]->value[i] < 0 ? -y->in[0]->value[i] : y->in[0]->value[i];
}
static void far_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, 77 * y->grad[i]);
}

static void a_wrong_slope_at_a_kink(void) {
  CompNode *y = edf_compnode("Abs", abs_forward, far_backward, edf_parameter("p[3]"));
  Forward();
  capture_begin();
  double error = edf_gradcheck(y);
  capture_end();
  CHECK(error > 1e-3, "%g\n%s", error, captured);
  edf_clear();
}

/* No memory for the doctor's second call: it watches what it has watched, whole. */
static void doctor_without_memory(void) {
  int failed = 0;
  for (int n = 1; n < 8; n++) {
    Input *x = edf_input("x[b,4]");
    Parameter *p = edf_parameter("p[4]");
    edf_real large[8] = { 200, 3 };
    CompNode *loss = Mean(Einsum("l[b] = x[b,I] p[I]", x, p));
    CompNode *other = edf_tanh_at("an_other_place_with_a_name_that_is_much_longer_than_that_of_"
                                  "this_file_so_that_it_needs_more_room_than_there_was_until_"
                                  "now.c", 1, loss);
    edf_doctor(loss);
    memory.until_failure = n;
    TRY(edf_doctor(other));
    memory.until_failure = 0;
    failed += panicked;
    capture_begin();
    edf_feed(x, large, 2);
    edf_forward_to(panicked ? loss : other);
    Backward(panicked ? loss : other);
    capture_end();
    CHECK(strstr(captured, "inputs look like 0...255"), "request %d: %s", n, captured);
    edf_clear();
    CHECK(memory.live == 0, "request %d: %ld blocks are left", n, memory.live);
  }
  CHECK(failed > 0, "%d requests failed", failed);
}

/* An optimiser before any Backward, in a program whose parameters a cell package made. */
static void lstm_steps_too_early(void) {
  Input *x = edf_input("x[n,5,3]");
  CompNode *loss = Mean(Square(Unroll(edf_lstm_params(3, 4), x)));
  for (int i = 0; i < 30; i++) ones[i] = 1;
  edf_doctor(loss);
  edf_feed(x, ones, 2);
  capture_begin();
  Forward();
  SGD((edf_real)0.1);
  Backward(loss);
  capture_end();
  CHECK(strstr(captured, "an optimiser step of ") && strstr(captured, "without a gradient\n") &&
        strstr(captured, "there was no Backward so far"), "%s", captured);
  edf_clear();
}

int main(void) {
  for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) ones[i] = 1;
  RUN(no_memory_for_a_larger_batch);
  RUN(backward_after_a_failed_constructor);
  RUN(no_memory_for_a_padded_copy);
  RUN(backward_of_a_resized_node);
  RUN(labels_of_another_batch);
  RUN(eager_with_a_new_batch);
  RUN(wanted_without_a_backward);
  RUN(random_nodes_are_checked);
  RUN(the_contract);
  RUN(an_infinite_mask);
  RUN(along_directions);
  RUN(what_no_derivative_shows);
  RUN(a_wrong_slope_at_a_kink);
  RUN(doctor_without_memory);
  RUN(lstm_steps_too_early);
  return harness_report();
}
