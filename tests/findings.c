/* findings.c - each rule of the doctor at its limit, on programs so small that their numbers
   are exact: which finding it tells in which step, and that it is silent inside of the limit.
   Some programs move their parameters by hand. */

#include "harness.h"
#include "edf_slide.h"
#include "edf_lab.h"

static edf_real xs[1 << 14], ys[1024];
static const edf_real rate = (edf_real)(1.0 / 1024);
static Input *x, *y;
static Parameter *p;
static CompNode *loss;
static int rows;

/* ---- Programs begin with about(...), and are run by SAYS */

static char program[200];

static void HARNESS_PRINTF(1, 2) about(const char *format, ...) {
  va_list args;
  edf_seed(1);
  edf.accumulate = edf.eager = 0;
  edf.training = 1;
  x = y = p = loss = NULL;
  rows = 0;
  memset(xs, 0, sizeof xs);
  memset(ys, 0, sizeof ys);
  va_start(args, format);
  vsnprintf(program, sizeof program, format, args);
  va_end(args);
}

/* Counts "step 1:" and the like. */
static int steps_in(const char *text) {
  int n = 0;
  for (; (text = strstr(text, "step ")) != NULL; text++)
    n += text[5 + strspn(text + 5, "0123456789")] == ':';
  return n;
}

/* The words of each finding begin with its step. "stops|" says that an error ends it. */
static void said(int line, const char *words) {
  int stops = strstr(words, "stops") != NULL;
  CHECK(panicked == stops, "%s (line %d): it stops: %d, %s", program, line, panicked, caught);
  words += stops ? 6 : 0;
  int found = steps_in(captured), expected = steps_in(words);
  CHECK(found == expected, "%s (line %d): %d findings, expected %d:\n%s", program, line, found,
        expected, captured);
  harness_words(__FILE__, line, captured, words);
  edf_clear();
}

#define SAYS(words, ...)     \
  do {                       \
    capture_begin();         \
    TRY(__VA_ARGS__);        \
    capture_end();           \
    said(__LINE__, words);   \
  } while (0)
#define SILENT(...) SAYS("", __VA_ARGS__)

static void put(edf_real *to, const double *from, int n) {
  for (int i = 0; i < n; i++) to[i] = (edf_real)from[i];
}
#define NUMBERS(...) (const double[]){ __VA_ARGS__ }, \
  (int)(sizeof (const double[]){ __VA_ARGS__ } / sizeof(double))
#define PUT(to, ...) put(to, NUMBERS(__VA_ARGS__))

static void feed(void) {
  if (x) edf_feed(x, xs, x->batched ? rows : 1);
  if (y) edf_feed(y, ys, y->batched ? rows : 1);
}

static void step(void) {
  feed();
  edf_forward_to(loss);
  edf_backward(loss);
}


static void run(int n) {
  while (n-- > 0) step();
}

/* The scores are the data: s = x + p, and p is 0. */
static void scores(int classes, int batch) {
  rows = batch;
  x = edf_input("x[b,%d]", classes);
  y = edf_input("y[b]");
  p = edf_parameter("p[%d]", classes);
  CompNode *s = edf_name(Einsum("s[b,k] = x[b,k] + p[k]", x, p), "s");
  loss = SoftmaxLogLoss(s, y);
  edf_doctor(loss);
}

/* Declares x and y, unless it is NULL, for n rows, and a parameter. */
static void given(int n, const char *of_x, const char *of_y, const char *of_p) {
  rows = n;
  x = edf_input("%s", of_x);
  if (of_y) y = edf_input("%s", of_y);
  p = edf_parameter("%s", of_p);
}

/* The loss is the sum of W c. W moves by hand. */
static void linear(int n) {
  x = edf_input("c[%d,1]", n);
  p = edf_parameter("W[%d,1]", n);
  loss = Einsum("l = W[I,J] c[I,J]", p, x);
  edf_doctor(loss);
  for (int i = 0; i < n; i++) xs[i] = p->value[i] = (edf_real)(i + 1);
}
/* ---- The data */

static void some_nan(double first, double last) {
  about("NaN: %g and %g", first, last);
  scores(2, 2);
  PUT(xs, first, 0, 0, last);
  PUT(ys, 0, 1);
  run(2);
}

static void data_has_no_nan(void) {
  SAYS("step 1: |numbers of the input x are NaN or infinite", some_nan(NAN, 0));
  SAYS("step 1: |numbers of the input x are NaN or infinite", some_nan(0, NAN));
  SAYS("step 1: 2 of 4 numbers of the input x are NaN or infinite", some_nan(HUGE_VAL, NAN));
  SILENT(some_nan(0, 1));
}

static void same(edf_node *c) {
  memcpy(c->value, c->in[0]->value, c->size * sizeof *c->value);
}

static void same_backward(edf_node *c) {
  for (size_t i = 0; i < c->size; i++) edf_addgrad(c->in[0], i, c->grad[i]);
}

static void of_scale(double a, double b, double c, int own) {
  about("scale: %g, %g, %g%s", a, b, c, own ? ", through a node of the user's" : "");
  given(3, "x[b]", NULL, "w");
  CompNode *h = own ? edf_compnode("Same", same, same_backward, x) : NULL;
  loss = Mean(Einsum("m[b] = w x[b]", p, own ? h : x));
  if (!own) edf_clear_compnodes(), loss = Mean(Einsum("m[b] = w x[b]", p, x));
  edf_doctor(loss);
  PUT(xs, a, b, c);
  run(2);
}

static void data_is_scaled(void) {
  SILENT(of_scale(20, 0, -20, 0));
  SAYS("step 1: inputs are not scaled|\"x\"", of_scale(20.5, 0, 0, 0));
  SAYS("step 1: inputs are not scaled|\"x\"", of_scale(0, 0, -20.5, 0));
  SAYS("step 1: inputs are not scaled|\"x\"", of_scale(-2, 31, 1, 0));
  SAYS("step 1: inputs are not scaled|\"x\"", of_scale(0, 127, 5, 0));
  SAYS("step 1: inputs look like 0...255|\"x\"", of_scale(0, 127.5, 2, 0));
  SAYS("step 1: inputs look like 0...255|\"x\"", of_scale(255, 0, 0, 0));
  SAYS("step 1: inputs are not scaled|\"x\"", of_scale(-1, 255, 0, 0));
  SAYS("step 1: inputs are not scaled|\"x\"", of_scale(256, 0, 2, 0));
  SILENT(of_scale(1, 30, 2, 1));
  SAYS("step 1: |numbers of the input x are NaN or infinite", of_scale(60, HUGE_VAL, 0, 0));
}

/* Half of the rows are mean - deviation, half mean + deviation. */
static void of_centre(int n, double mean, double deviation) {
  about("centre: %d rows, mean %g, deviation %g", n, mean, deviation);
  given(n, "x[b]", NULL, "w");
  loss = Mean(Einsum("m[b] = w x[b]", p, x));
  edf_doctor(loss);
  for (int i = 0; i < n; i++)
    xs[i] = (edf_real)(mean + (i == 14 && n == 15 ? 0 : i % 2 ? deviation : -deviation));
  run(1);
}

static void data_is_centred(void) {
  SILENT(of_centre(16, 3, 1));
  SAYS("step 1: inputs are far from centred|\"x\"", of_centre(16, 3.25, 1));
  SAYS("step 1: inputs are far from centred|\"x\"", of_centre(16, -3.25, 1));
  SILENT(of_centre(16, 0.5, 0));
  SAYS("step 1: inputs are far from centred|\"x\"", of_centre(16, 0.75, 0));
  SAYS("step 1: inputs are far from centred|\"x\"", of_centre(16, -0.75, 0.125));
  SILENT(of_centre(15, 8, 1));
}

/* All rows are alike, but for one entry of one row. */
static void of_rows(int batch, int row, int entry, double number) {
  about("alike: %d rows of %g, but row %d in %d", batch, number, row, entry);
  scores(2, batch);
  for (int i = 0; i < 5; i++) {
    for (int k = 0; k < 2 * batch; k++) xs[k] = (edf_real)(k % 2 ? number : -number);
    if (row >= 0) xs[2 * row + entry] = (edf_real)0.125;
    for (int b = 0; b < batch; b++) ys[b] = (edf_real)(b % 2);
    if (row == -2 && i == 2) xs[2] = 0;
    step();
  }
}

static void rows_are_different(void) {
  SAYS("step 3: all 8 rows of the input are the same|\"x\"", of_rows(8, -1, 0, 0.25));
  SILENT(of_rows(7, -1, 0, 0.25));
  SILENT(of_rows(8, 7, 1, 0.25));
  SILENT(of_rows(8, 0, 1, 0.25));
  SILENT(of_rows(8, -2, 0, 0.25));
}

/* ---- The labels */

static void of_labels(int classes, double a, double b, double c) {
  about("labels: %g, %g, %g of %d classes", a, b, c, classes);
  scores(classes, 3);
  PUT(ys, a, b, c);
  run(1);
}

static void labels_are_in_range(void) {
  SILENT(of_labels(3, 0, 1, 2));
  SAYS("stops|step 1: labels are 1 to 3|there are 3 classes|\"y\"", of_labels(3, 1, 2, 3));
  SAYS("stops|step 1: labels are 0 to 3|there are 3 classes|\"y\"", of_labels(3, 3, 0, 1));
  SAYS("stops|step 1: labels are 2 to 4|there are 3 classes|\"y\"", of_labels(3, 2, 4, 2));
  SAYS("stops|step 1: labels are -1 to 1|there are 3 classes|\"y\"", of_labels(3, -1, 1, 1));
}

/* The first ones[i] rows of batch i have class 1, the others class 0. */
static void of_order(const char *what, int classes, int batch, int n, const int *ones) {
  about("order: %s, %d classes, rows of %d", what, classes, batch);
  scores(classes, batch);
  for (int i = 0; i < n; i++) {
    for (int b = 0; b < batch; b++) ys[b] = b < ones[i];
    step();
    edf_sgd((edf_real)0.01);
  }
}

static void labels_are_shuffled(void) {
  enum { N = 40 };
  int ones[N] = { 0 };
  SAYS("step 8: not shuffled: 512 rows|\"y\"", of_order("one class", 2, 64, 9, ones));
  SAYS("step 32: not shuffled: 512 rows|\"y\"", of_order("one class", 2, 16, 34, ones));
  SILENT(of_order("one class, small batches", 2, 15, 40, ones));
  ones[2] = 16;
  SAYS("step 8: not shuffled: 128 rows|\"y\"", of_order("two classes", 2, 16, 12, ones));
  for (int i = 0; i < N; i++) ones[i] = i % 2 ? 16 : 1;
  SILENT(of_order("half of the batches are mixed", 2, 16, 40, ones));
  for (int i = 0; i < N; i++) ones[i] = i % 3 ? 16 * (i % 3 - 1) : 1;
  SAYS("step 12: not shuffled: 128 rows|\"y\"", of_order("a third are mixed", 2, 16, 14, ones));
}

typedef CompNode *(*bend)(CompNode *);
static CompNode *by_sigmoid(CompNode *u) { return Sigmoid(u); }
static CompNode *by_tanh(CompNode *u) { return Tanh(u); }
static CompNode *by_relu(CompNode *u) { return Relu(u); }

static void of_target(const char *what, bend by, double low, double high, double first) {
  about("targets of %s: %g to %g, the first entry is %g", what, low, high, first);
  given(2, "x[b,2]", "y[b,2]", "p[2]");
  CompNode *h = by(Einsum("u[b,i] = x[b,i] + p[i]", x, p));
  loss = MSE(edf_name(h, "h"), y);
  edf_doctor(loss);
  PUT(xs, first, 0.5, 1, 0.25);
  PUT(ys, low, high, low, high);
  run(1);
}

static void bce_target(double low, double high) {
  about("targets of BCELoss: %g to %g", low, high);
  given(2, "x[b,2]", "y[b,2]", "p[2]");
  loss = BCELoss(Einsum("u[b,i] = x[b,i] + p[i]", x, p), y);
  edf_doctor(loss);
  PUT(ys, low, high, low, high);
  run(1);
}

static void targets_can_be_reached(void) {
  SILENT(of_target("Sigmoid", by_sigmoid, 0, 1, -1));
  SAYS("step 1: targets are outside of what h", of_target("Sigmoid", by_sigmoid, 0, 1.25, -1));
  SAYS("step 1: targets are outside of what h", of_target("Sigmoid", by_sigmoid, -0.25, 1, -1));
  SILENT(of_target("Tanh", by_tanh, -1, 1, -1));
  SAYS("step 1: targets are outside of what h", of_target("Tanh", by_tanh, -1.25, 0, -1));
  SAYS("step 1: targets are outside of what h", of_target("Tanh", by_tanh, 0, 1.25, -1));
  SILENT(of_target("Relu", by_relu, 0, 16, -1));
  SAYS("step 1: targets are outside of what h", of_target("Relu", by_relu, -0.25, 16, -1));
  SILENT(bce_target(0, 1));
  SAYS("step 1: targets are outside of what BCELoss", bce_target(0, 1.25));
  SAYS("step 1: targets are outside of what BCELoss", bce_target(-0.25, 1));
}

/* Each row has the scores a and 1 - a. The last has `more` of the second. */
static void of_twice(double a, double more, int classes) {
  about("twice: %g, and %g more than 1", a, more);
  scores(classes, 4);
  for (int b = 0; b < 4; b++) {
    xs[classes * b] = (edf_real)(classes == 1 ? 1 : a);
    if (classes > 1) xs[classes * b + 1] = (edf_real)(1 - a + (b == 3 ? more : 0));
    ys[b] = (edf_real)(classes == 1 ? 0 : b % 2);
  }
  run(1);
}

/* The data are probabilities. */
static void of_axis(const char *what, const char *shape, int batch, const double *from, int n) {
  about("axis: %s", what);
  rows = batch;
  x = edf_input("x[b,%s]", shape);
  y = x->rank > 2 ? edf_input("y[b,2]") : edf_input("y[b]");
  p = edf_parameter("p");
  CompNode *P = x->rank > 2 ? Einsum("P[b,t,k] = x[b,t,k] + p", x, p)
                            : Einsum("P[b,k] = x[b,k] + p", x, p);
  loss = LogLoss(edf_name(P, "P"), y);
  edf_doctor(loss);
  put(xs, from, n);
  ys[1] = 1;
  run(1);
}

#define AXIS(what, shape, batch, ...) of_axis(what, shape, batch, NUMBERS(__VA_ARGS__))

static void one_softmax_over_the_classes(void) {
  SAYS("step 1: softmax twice: the scores s are|\"s\"", of_twice(0.25, 0, 2));
  SAYS("step 1: softmax twice: the scores s are|\"s\"", of_twice(0, 0, 2));
  SAYS("step 1: softmax twice: the scores s are|\"s\"",
       of_twice(0.25, 0.00075, 2));
  SILENT(of_twice(0.25, 0.0015, 2));
  SILENT(of_twice(0.25, -0.0015, 2));
  SILENT(of_twice(-0.25, 0, 2));
  SILENT(of_twice(1, 0, 1));
  SILENT(AXIS("right", "2", 2, 0.25, 0.75, 0.5, 0.5));
  SAYS("step 1: LogLoss of P", AXIS("the batch", "2", 2, 0.25, 0.375, 0.75, 0.625));
  SAYS("step 1: LogLoss of P", AXIS("none", "2", 2, 0.25, 0.375, 0.25, 0.625));
  SAYS("step 1: LogLoss of P", AXIS("below 0", "2", 2, 1.25, 0.375, -0.25, 0.625));
  SAYS("step 1: |numbers of the input x are NaN or infinite",
       AXIS("no number", "2", 2, NAN, 0.375, 0.75, 0.625));
  SAYS("step 1: LogLoss of P",
       AXIS("the second of three", "2,2", 1, 0.25, 0.375, 0.75, 0.625));
}

/* ---- The first loss */

/* The score of the wrong class of two is `margin`. */
static void of_first_loss(int batch, double margin, int one_class) {
  about("first loss: %d rows, wrong by %g%s", batch, margin, one_class ? ", one class" : "");
  scores(2, batch);
  for (int b = 0; b < batch; b++) {
    ys[b] = (edf_real)(one_class ? 1 : b % 2);
    xs[2 * b + (ys[b] == 0)] = (edf_real)margin;
  }
  run(1);
}

static void the_first_loss_is_that_of_guessing(void) {
  SILENT(of_first_loss(16, 2, 0));
  SAYS("step 1: the first loss is 2.35|\"y\"", of_first_loss(16, 2.25, 0));
  SILENT(of_first_loss(16, 2.25, 1));
  SILENT(of_first_loss(4, 2.703125, 0));
  SILENT(of_first_loss(15, 3.625, 0));
  SAYS("step 1: the first loss is 3.773|\"y\"", of_first_loss(15, 3.75, 0));
  SILENT(of_first_loss(4, 5.125, 0));
  SAYS("step 1: the first loss is 5.255|\"y\"", of_first_loss(4, 5.25, 0));
}

/* A threshold makes some of five units dead. In one row a dead unit may be alive. */
static void of_dead(int batch, int dead, double threshold, int row) {
  about("dead: %d of 5 units in %d rows, by %g", dead, batch, threshold);
  given(batch, "x[b,5]", NULL, "p[5]");
  loss = Mean(edf_name(Relu(edf_name(Einsum("u[b,j] = x[b,j] + p[j]", x, p), "u")), "h"));
  edf_doctor(loss);
  for (int i = 0; i < 5 * batch; i++) xs[i] = (edf_real)((i % 5 + i / 5) % 2 ? 0.5 : -0.5);
  for (int j = 0; j < dead; j++) p->value[j] = (edf_real)threshold;
  if (row >= 0) xs[5 * row] = (edf_real)(0.5 - threshold);
  run(1);
}

static void of_saturated(int tanh_too, double a, double b, double c) {
  about("saturated: %s of %g, %g, %g and 0", tanh_too ? "Tanh" : "Sigmoid", a, b, c);
  given(2, "x[b,2]", NULL, "p[2]");
  CompNode *u = edf_name(Einsum("u[b,j] = x[b,j] + p[j]", x, p), "u");
  loss = edf_name(tanh_too ? Tanh(u) : Sigmoid(u), "h");
  if (c != -4) loss = Mean(loss);        /* else the loss is the last node */
  edf_doctor(loss);
  PUT(xs, a, b, 0, c);
  run(1);
}

static void units_are_neither_dead_nor_saturated(void) {
  SILENT(of_dead(16, 3, -4, -1));
  SAYS("step 1: 80 % of the units of h are dead|\"h\"", of_dead(16, 4, -3.75, -1));
  SAYS("step 1: 80 % of the units of h are dead|\"h\"", of_dead(16, 4, -4.375, -1));
  SAYS("step 1: 100 % of the units of h are dead|\"h\"", of_dead(16, 5, -4, -1));
  SILENT(of_dead(15, 5, -4, -1));
  SILENT(of_dead(16, 4, -4, 0));
  SAYS("step 1: 80 % of the units of h are dead|\"h\"", of_dead(16, 5, -4, 15));
  SILENT(of_saturated(0, 4, 4, 3.75));
  SAYS("step 1: 75 % of the entries of h are saturated|\"h\"", of_saturated(0, 4, 4, 3.875));
  SILENT(of_saturated(1, 3, -3, 2.625));
  SAYS("step 1: 75 % of the entries of h are saturated|\"h\"", of_saturated(1, 3, -3, 2.6875));
}

/* Slices of W are equal, and so are their factors in the loss, or not. */
static void of_equal(const char *what, const double *w, const double *c, int by) {
  about("equal: %s", what);
  x = edf_input("c[2,3]");
  p = edf_parameter("W[2,3]");
  loss = Einsum("l = W[I,J] W[I,J] c[I,J] + v", p, x, edf_parameter("v"));
  edf_doctor(loss);
  put(p->value, w, 6);
  put(xs, c, 6);
  for (int i = 0; i < 4; i++) {
    step();
    if (by == 1) edf_sgd((edf_real)0.0625);
    if (by == 2) p->update = edf_frozen;
  }
}

#define SIX(...) (const double[]){ __VA_ARGS__ }
#define ALIKE SIX(1, 1, 1, 1, 1, 1)

static void units_are_not_equal(void) {
  SILENT(of_equal("none", SIX(1, 2, 3, 4, 5, 6), ALIKE, 1));
  SAYS("step 3: W begins with equal units",
       of_equal("all columns", SIX(1, 1, 1, 4, 4, 4), ALIKE, 1));
  SILENT(of_equal("but for one entry", SIX(1, 1, 1, 4, 4, 5), ALIKE, 1));
  SAYS("step 3: W begins with equal units",
       of_equal("two rows", SIX(1, 2, 3, 1, 2, 3), ALIKE, 1));
  SILENT(of_equal("but not in the gradient", SIX(1, 1, 1, 4, 4, 4), SIX(1, 2, 1, 1, 1, 1), 0));
  SAYS("step 3: W is all zero", of_equal("all zero", SIX(0, 0, 0, 0, 0, 0), ALIKE, 1));
  SILENT(of_equal("frozen", SIX(1, 1, 1, 4, 4, 4), ALIKE, 2));
}

/* ---- Steps that are too large. The loss is the weight, which moves by hand. */

static void moves(const char *what, int fed_once, const double *w, int n) {
  about("moves: %s%s", what, fed_once ? ", fed once" : "");
  linear(1);
  PUT(p->value, w[0]);
  feed();
  for (int i = 0; i < n - 1; i++) {
    if (!fed_once) feed();
    edf_forward();
    edf_backward(loss);
    PUT(p->value, w[i + 1]);
  }
  edf_forward();
}

#define MOVES(what, fed_once, ...) moves(what, fed_once, NUMBERS(__VA_ARGS__))

static void steps_are_not_too_large(void) {
  SILENT(MOVES("nine times as much", 0, 1, 0.5, 9.5, 9));
  SAYS("step 2: the step is too large", MOVES("more than that", 0, 1, 0.5, 10, 9));
  SAYS("step 2: the step is too large", MOVES("more, fed once", 1, 1, 0.5, 10, 9));
  SILENT(MOVES("from below 0", 0, -1, -2, 7, 8));
  SAYS("step 3: the step is too large", MOVES("from 0", 0, 1, 0.5, 0, 10, 9));
  SAYS("step 4: l has become NaN or infinite", MOVES("NaN", 0, 16, 15.5, 15, 14.5, NAN, 0));
  SAYS("step 2: the step is too large", MOVES("infinite", 0, 16, 15, HUGE_VAL, 0));
}

/* The weight w goes down by a part of its size in each step. */
static void of_small(double w, double part, int n) {
  about("small: weights of %g, by %g each step", w, part);
  linear(1);
  PUT(p->value, w);
  for (int i = 0; i < n; i++) {
    step();
    if (i != 24) p->value[0] -= (edf_real)(fabs(w) * part);
  }
}

static void steps_are_not_too_small(void) {
  SAYS("step 50: the step is too small", of_small(1, 1.0 / (1 << 20), 56));
  SILENT(of_small(1, 1.0 / (1 << 19), 56));
  SAYS("step 50: the step is too small", of_small(1.0 / 512, 1.0 / (1 << 20), 56));
  SILENT(of_small(-1, 1.0 / (1 << 21), 50));
  SAYS("step 50: the step is too small", of_small(-1, 1.0 / (1 << 21), 51));
}

/* Step `first` moves W by (a, b) and V by (c, d). The gradient is (1, 0). */
static void of_uphill(double a, double b, double c, double d, int first) {
  about("uphill: by (%g, %g) and (%g, %g) in step %d", a, b, c, d, first);
  x = edf_input("c[2,1]");
  p = edf_parameter("W[2,1]");
  Parameter *V = edf_parameter("V[2,1]");
  loss = Einsum("l = W[I,J] c[I,J] + V[I,J] c[I,J]", p, x, V);
  edf_doctor(loss);
  PUT(xs, 1, 0);
  PUT(p->value, 16, 8);
  PUT(V->value, 16, 4);
  for (int i = 1; i < 4; i++) {
    step();
    if (i < first) continue;
    PUT(p->value, 16 + a, 8 + b);
    PUT(V->value, 16 + c, 4 + d);
  }
}

static void steps_go_downhill(void) {
  SAYS("step 1: the step goes along the gradient", of_uphill(0.5, 0, 0.25, 0, 1));
  SILENT(of_uphill(0.5, 0, 0, 0, 2));
  SAYS("step 1: the step goes along the gradient", of_uphill(0.5, 0.25, 0.5, 0.25, 1));
  SILENT(of_uphill(0.25, 1, 0.25, 1, 1));
  SILENT(of_uphill(-0.5, 0, -0.5, 0, 1));
}

static void of_steps(const char *what, int n, void (*act)(int i)) {
  about("steps: %s", what);
  linear(2);
  for (int i = 1; i <= n; i++) {
    feed();
    edf_forward();
    act(-i);
    edf_backward(loss);
    act(i);
  }
}

static void none(int i) { (void)i; }
static void moves_at_20(int i) { if (i == 20) p->value[1] -= rate; }
static void moves_at_21(int i) { if (i == 21) p->value[1] -= rate; }
static void of_no_size(int i) { if (i > 0) edf_sgd(0); }
static void twice(int i) { for (int k = i == 3; i > 0 && k >= 0; k--) edf_sgd(rate); }
static void late(int i) { if (i > 2 || i == -4) edf_sgd(rate); }
static void keeps(int i) { edf.accumulate = 1; if (i > 0) edf_sgd(rate); }

static void keeps_none(int i) {
  edf.accumulate = 1;
  if (i > 0) edf_sgd(rate);
  if (i > 0) edf_zero_grad();
}

static void keeps_four(int i) {
  edf.accumulate = 1;
  if (i > 0 && i % 4 == 0) { edf_sgd(rate); edf_zero_grad(); }
}

static void each_backward_has_a_step(void) {
  SAYS("step 20: no parameter has ever moved", of_steps("none", 21, none));
  SILENT(of_steps("none until the 20th", 22, moves_at_20));
  SAYS("step 20: no parameter has ever moved",
       of_steps("none until the 21st", 22, moves_at_21));
  SAYS("step 20: no parameter has ever moved", of_steps("of size 0", 22, of_no_size));
  SAYS("step 3: an optimiser step of W without a new gradient",
       of_steps("two after the third", 5, twice));
  SAYS("step 3: an optimiser step of W without a new gradient",
       of_steps("before the next Backward too", 5, late));
  SAYS("step 1: the gradient of W still holds that of the last step",
       of_steps("gradients are kept", 4, keeps));
  SILENT(of_steps("gradients are kept, and set to 0", 22, keeps_none));
  SILENT(of_steps("gradients are kept for four", 22, keeps_four));
}

/* ---- Units that are dead for 300 steps */

static void of_dead_later(int dead, int last) {
  about("dead later: %d of 5 units, %d steps", dead, last);
  given(16, "x[b,5]", "y[b]", "p[5]");
  CompNode *h = edf_name(Relu(Einsum("u[b,j] = x[b,j] + p[j]", x, p)), "h");
  loss = MSE(Einsum("s[b] = h[b,J]", h), y);
  edf_doctor(loss);
  for (int i = 1; i <= last; i++) {
    for (int k = 0; k < 80; k++) xs[k] = edf_normal(0, 1);
    for (int b = 0; b < 16; b++) ys[b] = edf_normal(1, 1);
    if (i == 40) for (int j = 0; j < dead; j++) p->value[j] = -8;
    step();
    edf_sgd((edf_real)0.05);
  }
}

static void units_do_not_die_later(void) {
  SILENT(of_dead_later(4, 299));
  SAYS("step 300: 80 % of the units of h are dead", of_dead_later(4, 301));
  SILENT(of_dead_later(3, 301));
}

static void of_mode(const char *what, int drops, int before, int after, int learn, int fed) {
  about("mode: %s: %d Forwards, a step, %d Forwards, %d steps", what, before, after, learn);
  given(2, "x[b,4]", NULL, "p[4]");
  CompNode *h = drops == 3 ? NULL : Einsum("h[b,j] = x[b,j] + p[j]", x, p);
  if (drops == 1) h = Dropout(h, 0.5);
  if (drops == 3) h = Einsum("h[b,j] = x[b,j] + p[j]", Dropout(x, 0.5), p);
  if (drops == 2) h = BatchNorm(edf_batch_norm_params(4), h);
  loss = Mean(Square(h));
  if (drops == 4) loss = Dropout(h, 0.5);
  edf_doctor(loss);
  PUT(xs, 0.5, 1, -0.5, 0, 0.25, -1, 0.75, 0.5);
  for (int i = 0; i < before; i++) { feed(); edf_forward(); }
  step();
  for (int i = 0; i < after; i++) { if (fed) feed(); edf_forward(); }
  if (learn) edf.training = 0;
  run(learn);
}

static void training_is_switched(void) {
  SILENT(of_mode("Dropout", 1, 0, 2, 0, 1));
  SAYS("step 2: evaluated as in training", of_mode("Dropout", 1, 0, 3, 0, 1));
  SILENT(of_mode("Dropout", 1, 5, 2, 0, 1));
  SILENT(of_mode("Dropout, not fed", 1, 0, 4, 0, 0));
  SAYS("step 2: evaluated as in training", of_mode("BatchNorm", 2, 0, 3, 0, 1));
  SILENT(of_mode("neither", 0, 0, 4, 0, 1));
  SILENT(of_mode("Dropout", 1, 0, 0, 5, 1));
  SAYS("step 7: trained as in evaluation", of_mode("Dropout", 1, 0, 0, 6, 1));
  SILENT(of_mode("BatchNorm", 2, 0, 0, 6, 1));
}

/* ---- Labels unrelated to the inputs. Two kinds of batches come in turn, and a step fits each:
   it adds `size` to the scores of its class. The true class has `known` more, `later` after
   step 200. */
static void of_unrelated(int batch, double size, double known, double later, int last) {
  about("unrelated: rows of %d, steps of %g, %g to %g for the true class, %d steps", batch,
        size, known, later, last);
  scores(2, batch);
  for (int i = 1; i <= last; i++) {
    for (int b = 0; b < batch; b++) {
      int label = b < batch / 2 + 1 ? i % 2 : (i + 1) % 2;
      double more = i <= 200 ? known : later;
      ys[b] = (edf_real)label;
      xs[2 * b + label] = (edf_real)(more / 2);
      xs[2 * b + 1 - label] = (edf_real)(-more / 2);
    }
    step();
    p->value[i % 2] = (edf_real)size;
    p->value[1 - i % 2] = 0;
  }
}

static void labels_depend_on_the_inputs(void) {
  SAYS("step 300: labels seem unrelated to the inputs|\"y\"",
       of_unrelated(16, 0.0625, 0, 0, 301));
  SILENT(of_unrelated(16, 0.0625, 0, 0, 299));
  SILENT(of_unrelated(16, 0.045, 0, 0, 301));
  SILENT(of_unrelated(15, 0.0625, 0, 0, 301));
  SAYS("step 300: labels seem unrelated to the inputs|\"y\"",
       of_unrelated(16, 0.125, 0.1875, 0.1875, 301));
  SILENT(of_unrelated(16, 0.125, 0.25, 0.25, 301));
  SAYS("step 300: labels seem unrelated to the inputs|\"y\"",
       of_unrelated(16, 0.0625, -0.1875, 0, 301));
}

/* ---- What the program and one batch show: edf_check */

/* Random weights and data, y in 0, 1, 2. Then edf_check returns how many findings there are. */
static void check(const char *what, CompNode *l, int findings) {
  about("check: %s", what);
  for (int i = 0; i < edf.n_parameters; i++) edf_init_normal(edf.parameters[i], 0, (edf_real)0.25);
  for (int i = 0; i < 400; i++) xs[i] = edf_normal(0, 1);
  for (int i = 0; i < 16; i++) ys[i] = (edf_real)(i % 3);
  for (int i = 0; i < edf.n_inputs; i++) {
    Input *in = edf.inputs[i];
    edf_feed(in, *in->name == 'y' ? ys : xs, in->batched ? 16 : 1);
  }
  int n = edf_check(l);
  CHECK(n == findings, "%s: edf_check returns %d", what, n);
}

static void slide(const char *what, const char *shape, const char *text, int findings) {
  edf_input("x[b,%s]", shape);
  edf_input("y[b]");
  check(what, Equations("%s", text), findings);
}

static void two_layers(const char *what, CompNode *(*between)(CompNode *), int wide,
                       int findings) {
  x = edf_input("x[b,6]");
  CompNode *h = edf_name(Affine(edf_affine_params(6, wide), x), "h");
  CompNode *s = edf_name(Affine(edf_affine_params(wide, 3), between ? between(h) : h), "s");
  check(what, SoftmaxLogLoss(s, edf_input("y[b]")), findings);
}

static CompNode *cut_off(CompNode *u) { return edf_compnode("Cut", same, NULL, u); }
static CompNode *kept(CompNode *u) { return edf_compnode("Kept", same, same_backward, u); }

/* Labels are the next symbols, or not. A mask makes softmax look at s <= t alone. */
static void symbols(int next, int masked) {
  x = edf_input("c[b,t=5]");
  y = edf_input("y[b,t=5]");
  edf_parameter("E[3,3]");
  CompNode *l = Equations("h[b,t,i] = E[c[b,t],i] \n"
                          "e[b,t,s] = h[b,t,I] h[b,s,I] \n"
                          "a[b,t,s] = softmax_s e[b,t,s] %s \n"
                          "z[b,t,i] = a[b,t,S] h[b,S,i] \n"
                          "P[b,t,k] = softmax_k z[b,t,k] \n"
                          "l[b,t] = -ln P[b,t,y[b,t]]", masked ? "| s<=t" : "");
  about("symbols: %s%s", next ? "next" : "others", masked ? ", masked" : "");
  edf_init_normal(edf_find("E"), 0, 1);
  for (int i = 0; i < 80; i++) xs[i] = (edf_real)(i * i % 3);
  for (int i = 0; i < 80; i++) ys[i] = next ? xs[i + 1] : (edf_real)(i % 2);
  edf_feed(edf_find("c"), xs, 16);
  edf_feed(edf_find("y"), ys, 16);
  int n = edf_check(l);
  CHECK(n == (next && !masked), "edf_check returns %d", n);
}

static void indices_are_right(void) {
  SAYS("step 0: index 1 of W is summed in it alone|\"W\"",
       slide("alone", "6", "p[b] = W[0,I] x[b,J] | I<4 \n l[b] = (p[b] - y[b])^2", 1));
  SILENT(slide("together", "6", "p[b] = W[0,I] x[b,I] \n l[b] = (p[b] - y[b])^2", 0));
  SAYS("step 0: two indices of e are the batch|16 outputs",
       slide("b and c", "6", "p[b] = w[I] x[b,I] \n e[b,c] = p[b] - y[c] \n"
             "l[b] = e[b,C] e[b,C]", 1));
  SAYS("step 0: h is the same along an index that Relu1 lacks",
       slide("j for i", "6,6", "h[b,i,j] = relu(W[DI] x[b,j+DI,j]) | i<4, j<4, DI<3 \n"
             "s[b] = 0.1 h[b,I,J] \n l[b] = (s[b] - y[b])^2", 1));
  SAYS("step 0: |sees the future|\"a\"", symbols(1, 0));
  SILENT(symbols(1, 1));
  SILENT(symbols(0, 0));
}

static void layers_are_right(void) {
  SAYS("step 0: nothing nonlinear is between the layers h and s", two_layers("wide", NULL, 8, 1));
  SILENT(two_layers("narrow", NULL, 2, 0));
  SILENT(two_layers("with tanh", by_tanh, 8, 0));
  SAYS("step 0: no gradient comes to h|\"Cut1\"", two_layers("cut", cut_off, 3, 1));
  SILENT(two_layers("not cut", kept, 3, 0));
}

/* A doctor does not count the step of edf_check. Labels can be too large in it. */
static void checked_beside_a_doctor(int label) {
  about("check beside a doctor: label %d", label);
  scores(3, 2);
  ys[0] = (edf_real)label;
  feed();
  edf_check(loss);
  xs[0] = (edf_real)NAN;
  step();
}

static void losses_are_right(void) {
  SAYS("step 1: |numbers of the input x are NaN", checked_beside_a_doctor(1));
  SAYS("stops|step 1: labels are 0 to 3, but there are 3", checked_beside_a_doctor(3));
  SAYS("step 0: |takes scores, but Relu", slide("relu", "6", "P[b,k] = softmax_k relu(W[k,I] "
       "x[b,I]) | k<3 \n l[b] = -ln P[b,y[b]]", 1));
  x = edf_input("x[b]");
  CompNode *u = Einsum("u[b] = w x[b]", edf_parameter("w"), x);
  SAYS("step 0: the arguments of BCELoss|BCELoss", check("exchanged", BCELoss(x, u), 1));
  x = edf_input("x[b]");
  edf_input("z[b]");
  u = Einsum("u[b] = w x[b]", edf_parameter("w"), x);
  SAYS("step 0: the input z is fed, but no node", check("unused", Mean(Square(u)), 1));
  x = edf_input("x[b]");
  u = Einsum("u[b] = w x[b] + c", edf_parameter("w"), x, edf_parameter("c"));
  edf_parameter("v");
  SAYS("step 0: the parameter v is never used", check("v", Mean(Square(u)), 1));
  SILENT(slide("right", "6", "P[b,k] = softmax_k W[k,I] x[b,I] | k<3 \n l[b] = -ln P[b,y[b]]", 0));
}

/* Targets of size `size`. */
static void of_size(double size) {
  about("targets of size %g", size);
  given(16, "x[b,2]", "y[b]", "W[2]");
  loss = MSE(Einsum("o[b] = W[I] x[b,I] + c", p, x, edf_parameter("c")), y);
  edf_init_normal(p, 0, 1);
  for (int i = 0; i < 32; i++) xs[i] = edf_normal(0, 1);
  for (int b = 0; b < 16; b++) ys[b] = (edf_real)(b % 2 ? size : -size);
  edf_doctor(loss);
  run(1);
}

/* The gradient is cut after each Backward, or steps become smaller and smaller. */
static void of_faint(const char *what, double most, double factor, double shrinks) {
  about("faint: %s", what);
  linear(2);
  for (int i = 0; i < 120; i++, factor *= shrinks) {
    step();
    for (int k = 0; k < 2; k++) p->grad[k] *= (edf_real)most;
    edf_sgd((edf_real)factor);
  }
}

static void steps_and_targets_have_a_size(void) {
  SAYS("step 1: targets are not scaled|\"y\"", of_size(100));
  SILENT(of_size(20));
  SAYS("step 20: each gradient is cut", of_faint("cut", 0.05, 0.01, 1));
  SILENT(of_faint("half", 0.5, 0.001, 1));
  SAYS("step 100: the steps fade to nothing", of_faint("fade", 1, 0.001, 0.85));
  SILENT(of_faint("slowly", 1, 0.001, 0.99));
}

/* The rows push p up, and some of them down if `both`. */
static void of_one_way(int both) {
  about("one way: both %d", both);
  given(16, "x[b]", NULL, "p");
  CompNode *q = Einsum("q[b] = x[b] p", x, p);
  loss = both ? Square(q) : Exp(q);
  PUT(p->value, 1);
  edf_doctor(loss);
  for (int i = 0; i < 301; i++) {
    for (int b = 0; b < 16; b++) xs[b] = b % 4 ? edf_uniform(both ? -1 : 0, 1) : 0;
    step();
    edf_sgd((edf_real)0.001);
  }
}

static void rows_push_both_ways(void) {
  SAYS("step 300: all rows push q the same way", of_one_way(0));
  SILENT(of_one_way(1));
}

int main(void) {
  RUN(data_has_no_nan);
  RUN(data_is_scaled);
  RUN(data_is_centred);
  RUN(rows_are_different);
  RUN(labels_are_in_range);
  RUN(labels_are_shuffled);
  RUN(targets_can_be_reached);
  RUN(one_softmax_over_the_classes);
  RUN(the_first_loss_is_that_of_guessing);
  RUN(units_are_neither_dead_nor_saturated);
  RUN(units_are_not_equal);
  RUN(steps_are_not_too_large);
  RUN(steps_are_not_too_small);
  RUN(steps_go_downhill);
  RUN(each_backward_has_a_step);
  RUN(units_do_not_die_later);
  RUN(training_is_switched);
  RUN(labels_depend_on_the_inputs);
  RUN(indices_are_right);
  RUN(layers_are_right);
  RUN(losses_are_right);
  RUN(steps_and_targets_have_a_size);
  RUN(rows_push_both_ways);
  return harness_report();
}
