/* What a device is told, number by number: class numbers are looked at before its pass, each
   optimiser hands over its rule with these numbers, and what is written here is brought there.

   The device here computes nothing; it takes down what it is asked for.

   Built as: float double none sanitized */
#define HARNESS_CATCH
#include "harness.h"
#include "edf.h"
#include "told.h"

#define HW1(line) "hw1.c", line
#define END (edf_node *)0

static int tells_gradients;
static void contract(const edf_route *r, int assign, edf_real *out, const edf_real *a,
                     const edf_real *b) {
  (void)r; (void)assign; (void)a; (void)b;
  for (int i = 0; tells_gradients && i < edf.n_parameters; i++)
    if (out == edf.parameters[i]->grad) tell("%s.grad ", edf.parameters[i]->name);
}
static void window(const edf_window *w, int backward) {
  tell("window %d of %d by %d; ", backward, w->n_kept, (int)w->n);
}
static int has_kernels = 1;
static int node(edf_node *y, int backward) { (void)y; (void)backward; return has_kernels; }
static int pass(void (*nodes)(void), int whole) { (void)whole; nodes(); return 0; }
static void fill(edf_real *x, size_t n, edf_real number) { (void)x; (void)n; (void)number; }
static void update(edf_node *p, edf_rule rule, const edf_real *c, int n) {
  tell("%s%s%s %d:", p->name, p->m ? " m" : "", p->s ? " s" : "", (int)rule);
  for (int k = 0; k < n; k++) tell(" %.6g", (double)c[k]);
  tell("; ");
}
static double norm(edf_node **p, int n) {
  tell("norm");
  for (int k = 0; k < n; k++) tell(" %s", p[k]->name);
  tell("; ");
  return 16;
}
static void pull(edf_real *x, size_t n) { (void)x; (void)n; }
static void push(edf_real *x, size_t n) { (void)x; tell("push %zu; ", n); }
static void forget(const void *x) { (void)x; }
static void here(const edf_node *y) { (void)y; }
static void on_both_sides(int on) { (void)on; }

static edf_device_table device = { contract, window, node, pass, fill, update, norm, pull, push,
                                   forget, here, on_both_sides };

static void expect(const char *what, const char *expected) {
  CHECK(!strcmp(told, expected), "%s: %s\n  expected: %s", what, told, expected);
  told[0] = 0;
}

/* ---- Class numbers: 0 to 2, in each node that takes them */

static edf_node *classes_in(int kind, edf_node *k) {
  static edf_real numbers[6];
  edf_array data = { 2, { 3, 2 }, 6, numbers };
  edf_node *s = edf_parameter_at(HW1(2), "s[2,3]"), *W = edf_parameter_at(HW1(2), "W[3,5]");
  return kind == 0 ? edf_log_loss_at(HW1(3), s, k)
       : kind == 1 ? edf_softmax_log_loss_at(HW1(3), s, k)
       : kind == 2 ? edf_embed_at(HW1(3), W, k) : edf_input_from_at(HW1(3), data, k);
}

/* With the device, in a pass or eagerly, and without: the same message, or none. */
static void class_numbers(void) {
  static const char *const op[] = { "LogLoss: label", "SoftmaxLogLoss: label", "Embed: class",
                                    "InputFrom: row number" };
  static const struct { edf_real number; const char *say; } some[] = {
    { -1, "is out of range: expected 0 to 2" }, { 0, NULL }, { 1, NULL }, { 2, NULL },
    { (edf_real)0.5, "is not a whole number: expected 0 to 2" },
    { (edf_real)-0.5, "is not a whole number: expected 0 to 2" },
    { 3, "is out of range: expected 0 to 2 (are the classes counted from 1?)" },
    { 4, "is out of range: expected 0 to 2" },
    { (edf_real)2.5, "is not a whole number: expected 0 to 2" } };
  for (int i = 0; i < 4 * 9 * 2 * 3; i++) {
    static char expected[300];
    int way = i % 3, row = i / 3 % 2, which = i / 6 % 9, kind = i / 54;
    edf_real k[2] = { 1, 1 };
    k[row] = some[which].number;
    edf_clear();
    edf_node *in = edf_input_at(HW1(1), "k[2]");
    edf_feed(in, k, 1);
    edf_device = way ? &device : NULL;
    edf.eager = way == 2;
    TRY(classes_in(kind, in); edf_forward());
    edf_device = NULL;
    edf.eager = 0;
    if (!some[which].say) { CHECK(!panicked, "way %d: %s", way, caught); continue; }
    snprintf(expected, sizeof expected, "hw1.c:3: %s %g in row %d of k %s\n"
             "  Input \"k\" [2]                                 declared at hw1.c:1",
             op[kind], (double)some[which].number, row, some[which].say);
    CHECK(panicked && !strcmp(caught, expected), "way %d:\n%s\nexpected\n%s", way, caught,
          expected);
  }
  edf_clear();
  told[0] = 0;
}

/* What a device computes itself it looks at itself; and nodes that are not asked for are not
   looked at. */
static void classes_of_others(void) {
  static const edf_real wrong[2] = { 7, 1 };
  edf_clear();
  edf_node *k = edf_input_at(HW1(1), "k[2]"), *s = edf_parameter_at(HW1(2), "s[2,3]");
  edf_node *twice = edf_embed_at(HW1(3), s, edf_square_at(HW1(3), k));
  edf_node *sum = edf_bce_loss_at(HW1(4), k, k), *p3 = edf_parameter("p[2]");
  p3->value[0] = p3->value[1] = 3;
  edf_div_at(HW1(5), k, p3);
  edf_feed(k, wrong, 1);
  edf_device = &device;
  TRY(edf_forward());
  edf_device = NULL;
  CHECK(!panicked && twice && sum, "%s", caught);
  edf_clear();
  told[0] = 0;
}

/* ---- The rules of the optimisers: 0 SGD, 1 momentum, 2 square, 3 Adam, 4 scale, 5 L2, 6 L1 */

static edf_node *p;

static void begin(void) {
  edf_device = NULL;
  edf_clear();
  p = edf_parameter("p[2]");
  edf_node *q = edf_parameter("q[3]"), *f = edf_parameter("f[2]"), *y;
  edf_parameter("unused[2]");
  f->update = edf_frozen;
  y = edf_einsum("y = p[I] f[I] + q[J] q[J]", p, f, q);
  edf_forward();
  edf_backward(y);
  edf_device = &device;
  told[0] = 0;
}

static edf_real r(double x) { return (edf_real)x; }

static void numbers_of_rules(void) {
  begin();
  edf_sgd(r(.5));
  expect("sgd", "p 0: 0.5; q 0: 0.5; ");
  edf_momentum(r(.5), r(.25));
  expect("momentum", "p m 1: 0.5 0.25 1; q m 1: 0.5 0.25 1; ");
  begin();
  edf_average(r(.5), r(.75));
  expect("average", "p m 1: 0.25 0.75 0.5; q m 1: 0.25 0.75 0.5; ");
  begin();
  edf_adagrad(r(.5), r(.125));
  expect("adagrad", "p s 2: 0.5 1 1 0.125; q s 2: 0.5 1 1 0.125; ");
  begin();
  edf_rmsprop(r(.5), r(.75), r(.125));
  expect("rmsprop", "p s 2: 0.5 0.75 0.25 0.125; q s 2: 0.5 0.75 0.25 0.125; ");
  edf_l2(r(.5));
  expect("l2", "p s 5: 0.5; q s 5: 0.5; ");
  edf_l1(r(.25));
  expect("l1", "p s 6: 0.25; q s 6: 0.25; ");
}

/* 1 / (1 - 0.5^t) and 1 / sqrt(1 - 0.75^t); and a parameter that takes steps of its own. */
static void numbers_of_adam(void) {
  begin();
  edf.parameters[1]->update = edf_frozen;
  edf_adam(r(.5), r(.5), r(.75), r(.125));
  expect("step 1", "p m s 3: 0.5 0.75 1 2 0.125 1; ");
  edf_adamw(r(.5), r(.5), r(.75), r(.125), r(.25));
  expect("step 2", "p m s 3: 0.5 0.75 0.666667 1.51186 0.125 0.875; ");
  edf_adamw(r(.5), r(.5), r(.75), r(.125), r(.5));
  expect("step 3", "p m s 3: 0.5 0.75 0.571429 1.31519 0.125 0.75; ");
  p->steps = 0;
  edf_update_adam(p, r(.5), r(.5), r(.75), r(.125));
  expect("alone", "p m s 3: 0.5 0.75 1 2 0.125 1; ");
  edf_update_adam_slides(p, r(.25), r(.5), r(.75), r(.125));
  expect("the slides' alone", "p m s 3: 0 0 0.25 1 0.125 1; ");
  static const char *const step[] = { "0 0", "0.5 0.5", "0.5 0.666667", "0.5 0.75",
                                      "0.5 0.75" };
  for (int t = 0; t < 5; t++) {
    edf_adam_slides(r(.25), r(.5), r(.75), r(.125));
    expect("the slides'", edf_fmt("p m s 3: %s 0.25 1 0.125 1; ", step[t]));
  }
}

/* The norm of all is 4: the square is 16. */
static void clipping(void) {
  begin();
  long live = memory.live;
  double length = edf_clip(2);
  CHECK(memory.live == live, "%ld blocks more", memory.live - live);
  CHECK(length == 4, "the norm is %g", length);
  expect("clip", "norm p q; p 4: 0.5; q 4: 0.5; ");
  edf_clip(4);
  expect("exactly as long", "norm p q; ");
  edf_clip_each(3);
  expect("clip_each", "norm p; p 4: 0.75; norm q; q 4: 0.75; ");
  edf_clip_each(4);
  expect("each exactly as long", "norm p; norm q; ");
  edf_clip_each(0.5);
  expect("to less than 1", "norm p; p 4: 0.125; norm q; q 4: 0.125; ");
  for (int i = 0; i < edf.n_parameters; i++)
    CHECK(edf_position(edf.parameters[i]) == i, "%d: %d", i, edf_position(edf.parameters[i]));
  edf_device = NULL;
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
}

static void own(edf_node *q, edf_real eta) {
  tell("%s's own at %g, step %ld; ", q->name, (double)eta, q->steps);
}

/* Each hands the rate to an update of one's own, and counts its steps. */
static void own_updates(void) {
  for (int k = 0; k < 8; k++) {
    begin();
    p->update = own;
    if (k == 0) edf_sgd(r(.5));
    if (k == 1) edf_momentum(r(.5), 0);
    if (k == 2) edf_average(r(.5), 0);
    if (k == 3) edf_adagrad(r(.5), 1);
    if (k == 4) edf_rmsprop(r(.5), 0, 1);
    if (k == 5) edf_adam(r(.5), 0, 0, 1);
    if (k == 6) edf_adamw(r(.5), 0, 0, 1, 0);
    if (k == 7) edf_adam_slides(r(.5), 0, 0, 1);
    CHECK(strstr(told, "p's own at 0.5, step 1; q") == told, "rule %d: %s", k, told);
    CHECK(edf.parameters[1]->steps == 1 && edf.parameters[2]->steps == 0
          && edf.parameters[3]->steps == 0, "rule %d counts other steps", k);
  }
}

/* ---- A node's products run in the order in which its lines are printed. */

static void products_of(const char *equation) {
  static edf_real data[6];
  char printed[4096], expected[256] = "";
  FILE *f = tmpfile();
  begin();
  edf_node *x = edf_input("x[b,3]"), *u = edf_parameter("u[3]"), *v = edf_parameter("v[3]");
  edf_node *w = edf_parameter("w[3]"), *s = edf_affine(edf_affine_params(3, 2), x);
  edf_node *c = edf_einsum(equation, u, v, w, x);
  edf_node *y = edf_add(edf_mean(s), edf_mean(c));
  edf_feed(x, data, 2);
  edf_forward();
  told[0] = 0;
  tells_gradients = 1;
  edf_backward(y);
  tells_gradients = 0;
  if (!f) abort();
  edf_print_program(f);
  rewind(f);
  printed[fread(printed, 1, sizeof printed - 1, f)] = '\0';
  fclose(f);
  const char *at = strstr(printed, "\nbackward\n");
  for (; at && (at = strstr(at, ": ")) != NULL; at++) {
    size_t n = strcspn(at + 2, " [.");
    for (int i = 0; i < edf.n_parameters; i++)
      if (!strncmp(edf.parameters[i]->name, at + 2, n) && !edf.parameters[i]->name[n])
        strcat(strncat(expected, at + 2, n), ".grad ");
  }
  CHECK(strlen(told) > 30, "%s", told);
  expect(equation, expected);
}
static void products_as_printed(void) {
  products_of("c[b,i] = u[i] v[i] + w[i] - v[i] x[b,i]");
  products_of("c[b] = u[I] v[I] w[I] - w[I] x[b,I]");
  products_of("c[b] = u[I] v[I] w[I] x[b,I] - w[I] x[b,I] + u[I] v[I] w[I]");
}

/* ---- What is written here goes there; a maximum is one call each way */

static void writing(void) {
  begin();
  edf_init_uniform(p, 0, 1);
  expect("uniform", "push 2; ");
  edf_init_normal(edf.parameters[1], 0, 1);
  expect("normal", "push 3; ");
  edf_layer_norm_params(4);
  expect("gain", "push 4; ");
  edf_batch_norm_params(5);
  expect("gain and variance", "push 5; push 5; ");
  edf_affine_params(2, 3);
  expect("weights", "push 6; ");
  edf_recurrent_params_at(HW1(1), &edf_gru_cell, 2, 3);
  expect("wx, wh, b", "push 18; push 27; push 9; ");
}

/* The running means are written here, and brought there: 5 numbers each, behind y's 10. */
static void running_means_are_pushed(void) {
  static edf_real data[10];
  begin();
  edf_batch_norm_package N = edf_batch_norm_params(5);
  edf_node *x = edf_input("x[b,5]");
  edf_batch_norm(N, x);
  edf_feed(x, data, 2);
  has_kernels = 0;
  told[0] = 0;
  edf_forward();
  CHECK(strstr(told, "push 5; push 5; push 10; "), "%s", told);
  edf.training = 0;
  told[0] = 0;
  edf_forward();
  CHECK(!strstr(told, "push 5; ") && strstr(told, "push 10; "), "%s", told);
  edf.training = 1;
  has_kernels = 1;
}

/* What writes a gradient that is fresh says so: it is not filled with zeros before. */
static edf_node *written(int kind, edf_node *x) {
  static const edf_real zeros[6];
  if (kind == 9) {
    edf_node *y = edf_input("y[2,3]");
    edf_feed(y, zeros, 1);
    return edf_softmax_log_loss(x, y);
  }
  return kind == 0 ? edf_sigmoid(x) : kind == 1 ? edf_leaky_relu(x, r(.5))
       : kind == 2 ? edf_softmax_over("x[b,T,J]", x) : kind == 3 ? edf_dropout(x, .5)
       : kind == 4 ? edf_reshape(x, "y[24]")
       : kind == 5 ? edf_concat_at(HW1(1), "y[b,J,k]", x, END)
       : kind == 6 ? edf_normalize_over("x[b,t,J]", x, 1) : kind == 7 ? edf_gelu(x)
       : kind == 8 ? edf_log_softmax(x) : kind == 10 ? edf_square(x) : edf_exp(x);
}

static void who_writes_gradients(void) {
  edf_device = NULL;
  edf_clear();
  for (int kind = 0; kind < 12; kind++) {
    edf_node *x = edf_parameter("x%d[2,3,4]", kind), *y = written(kind, x);
    CHECK(y->lazy == 1, "%s: %d", y->op, y->lazy);
  }
  edf_node *x = edf_parameter("x[2,3,4]"), *y = edf_layer_norm(edf_layer_norm_params(4), x);
  CHECK(y->in[1]->lazy == 1, "%s: %d", y->in[1]->op, y->in[1]->lazy);
  edf_node *sum = edf_add(x, x), *ratio = edf_div(x, x);
  CHECK(sum->lazy == 2 && ratio->lazy == 0, "%d %d", sum->lazy, ratio->lazy);
  edf_clear();
}

static void maxima(void) {
  begin();
  static edf_real data[2 * 4 * 3];
  edf_node *x = edf_want_grad(edf_input("x[b,4,3]")), *y = edf_max_pool(x, 2, 2);
  edf_feed(x, data, 2);
  told[0] = 0;
  edf_forward();
  expect("forward", "window 0 of 2 by 2; ");
  edf_backward(y);
  expect("backward", "window 1 of 2 by 2; ");
}

int main(void) {
  RUN(class_numbers);
  RUN(classes_of_others);
  RUN(numbers_of_rules);
  RUN(numbers_of_adam);
  RUN(clipping);
  RUN(own_updates);
  RUN(products_as_printed);
  RUN(writing);
  RUN(running_means_are_pushed);
  RUN(who_writes_gradients);
  RUN(maxima);
  edf_device = NULL;
  edf_clear();
  return harness_report();
}
