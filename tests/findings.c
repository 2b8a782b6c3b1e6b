/* Each rule of the doctor at its limits, on programs so small that their numbers are exact:
   what it says, whole, and a step inside the limit nothing, as in tests/golden/findings.txt.
   Some programs move their parameters by hand, so that every loss is the test's own. To write
   the file anew, and then look at what has changed:

     cc -DEDF_REAL=double -I. tests/findings.c tests/impl.c -o build/findings -lm
     build/findings --write

   Built as: double none sanitized */
#define _POSIX_C_SOURCE 200809L                              /* capture.h */
#define HARNESS_CATCH
#include "harness.h"
#include "capture.h"
#include "edf.h"
#include "edf_lab.h"
#include "inside.h"

static const char *const path = "tests/golden/findings.txt";
static int writes;
static edf_real xs[1 << 16], ys[1024];
static const edf_real rate = (edf_real)(1.0 / 1024);
static Input *x, *y;
static Parameter *p;
static CompNode *loss;
static int rows, steps;

/* ---- The golden texts: a section for each test, a line for each program */

static void cut(char *from, const char *what) {
  for (char *at = from; (at = strstr(at, what)) != NULL;)
    memmove(at, at + strlen(what), strlen(at + strlen(what)) + 1);
}

/* Without this file's lines, and the sign of what is no number. */
static void normalise(char *text) {
  for (char *at = text; (at = strstr(at, "findings.c:")) != NULL; at++) {
    at += strlen("findings.c");
    char *end = at + 1 + strspn(at + 1, "0123456789");
    memmove(at, end, strlen(end) + 1);
  }
  cut(text, "tests/");
  for (char *at = text; (at = strstr(at, "-nan")) != NULL;) memmove(at, at + 1, strlen(at));
}

static const char *section_of(const char *name) {
  static char text[1 << 18];
  char head[64];
  FILE *f = fopen(path, "r");
  text[f ? fread(text, 1, sizeof text - 1, f) : 0] = 0;
  if (f) fclose(f);
  snprintf(head, sizeof head, "######## %s\n", name);
  char *at = strstr(text, head);
  if (!at) return "";
  at += strlen(head);
  char *end = strstr(at, "######## ");
  if (end) *end = 0;
  return at;
}

/* The first line that differs, and of which program. */
static void same_lines(const char *found, const char *expected) {
  const char *of = found, *line = found;
  while (*found && *found == *expected) {
    if (*found == '\n') line = found + 1;
    if (*line == '-' && line == found) of = line;
    found++, expected++;
  }
  if (!*found && !*expected) return;
  expected -= found - line;
  CHECK(0, "%.*s\n     found: %.*s\n  expected: %.*s", (int)strcspn(of, "\n"), of,
        (int)strcspn(line, "\n"), line, (int)strcspn(expected, "\n"), expected);
}

/* Was a cause named? Then symptoms are held back. */
static void end_program(void) {
  if (inside_doctor_has().named) printf("   named\n");
  edf_clear();
}

static int capturing;                    /* a panic outside of step() has jumped out */
static void end_capture(void) {
  if (!capturing) return;
  capturing = 0;
  capture_end();
}

static void section(const char *name, void (*programs)(void)) {
  end_capture();
  capturing = 1;
  capture_begin();
  programs();
  end_program();
  end_capture();
  edf.accumulate = 0;
  edf.training = 1;
  normalise(captured);
  CHECK(strlen(captured) < sizeof captured - 1, "too long");
  if (!writes) { same_lines(captured, section_of(name)); return; }
  FILE *f = fopen(path, "a");
  if (!f || fprintf(f, "######## %s\n%s", name, captured) < 0 || fclose(f)) abort();
}

/* ---- Programs */

static void HARNESS_PRINTF(1, 2) about(const char *format, ...) {
  va_list args;
  end_program();
  edf_seed(1);
  edf.accumulate = edf.eager = 0;
  edf.training = 1;
  x = y = p = loss = NULL;
  rows = steps = 0;
  memset(xs, 0, sizeof xs);
  memset(ys, 0, sizeof ys);
  va_start(args, format);
  printf("-- ");
  vprintf(format, args);
  printf("\n");
  va_end(args);
}

static void put(edf_real *to, const double *from, int n) {
  for (int i = 0; i < n; i++) to[i] = (edf_real)from[i];
}
#define NUMBERS(...) (const double[]){ __VA_ARGS__ }, \
  (int)(sizeof (const double[]){ __VA_ARGS__ } / sizeof(double))
#define PUT(to, ...) put(to, NUMBERS(__VA_ARGS__))

static void fill(edf_real *to, int n, double number) {
  for (int i = 0; i < n; i++) to[i] = (edf_real)number;
}

static void feed(void) {
  if (x) edf_feed(x, xs, x->batched ? rows : 1);
  if (y) edf_feed(y, ys, y->batched ? rows : 1);
}

/* 0: it has stopped with a mistake in use. */
static int step(void) {
  feed();
  TRY(edf_forward_to(loss));
  if (panicked) { printf("stops: %.*s\n", (int)strcspn(caught, "\n"), caught); return 0; }
  edf_backward(loss);
  steps++;
  return 1;
}

static void run(int n) { while (n-- > 0 && step()) {} }

/* The data is the scores: s = x + p, with p = 0. */
static void scores(int classes, int batch) {
  rows = batch;
  x = edf_input("x[b,%d]", classes);
  y = edf_input("y[b]");
  p = edf_parameter("p[%d]", classes);
  CompNode *s = edf_name(Einsum("s[b,k] = x[b,k] + p[k]", x, p), "s");
  loss = SoftmaxLogLoss(s, y);
  edf_doctor(loss);
}

/* So many rows of x, and of y unless it is NULL; a parameter. */
static void given(int n, const char *of_x, const char *of_y, const char *of_p) {
  rows = n;
  x = edf_input("%s", of_x);
  if (of_y) y = edf_input("%s", of_y);
  p = edf_parameter("%s", of_p);
}

/* loss = W c, the sum of the products; W moves by hand. */
static void linear(int n) {
  x = edf_input("c[%d,1]", n);
  p = edf_parameter("W[%d,1]", n);
  loss = Einsum("l = W[I,J] c[I,J]", p, x);
  edf_doctor(loss);
  fill(xs, n, 1);
  for (int i = 0; i < n; i++) p->value[i] = (edf_real)(i + 1);
}

/* ---- The data */

static void some_nan(double first, double last) {
  about("NaN: %g and %g", first, last);
  scores(2, 2);
  PUT(xs, first, 0, 0, last);
  PUT(ys, 0, 1);
  run(2);
}

static void second_input(int used, double number) {
  static edf_real zs[4];
  about("the second input has %g, used %d", number, used);
  rows = 2;
  x = edf_input("x[b,2]");
  y = edf_input("y[b]");
  Input *z = edf_input("z[b,2]");
  p = edf_parameter("p[2]");
  CompNode *s = used ? Einsum("s[b,k] = x[b,k] + z[b,k] + p[k]", x, z, p)
                     : Einsum("s[b,k] = x[b,k] + p[k]", x, p);
  loss = SoftmaxLogLoss(edf_name(s, "s"), y);
  edf_doctor(loss);
  PUT(zs, 0, 0, number, 0);
  PUT(ys, 0, 1);
  edf_feed(z, zs, 2);
  run(1);
}

static void data_nan(void) {
  some_nan(NAN, 0);
  some_nan(0, NAN);
  some_nan(HUGE_VAL, NAN);
  some_nan(0, 1);
  about("-infinity is a mask");
  scores(2, 2);
  PUT(xs, 0, -HUGE_VAL, 0, 0);
  PUT(ys, 0, 1);
  run(2);
  second_input(1, HUGE_VAL);
  second_input(1, 0);
  second_input(0, NAN);
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

static void classes_as_data(void) {
  about("scale: labels, declared first");
  rows = 2;
  y = edf_input("y[b]");
  x = edf_input("x[b]");
  p = edf_parameter("T[40,40]");
  loss = SoftmaxLogLoss(Embed(p, x), y);
  edf_doctor(loss);
  PUT(xs, 30, 1);
  PUT(ys, 39, 2);
  run(1);
  for (int nodes = 0; nodes < 3; nodes++) {
    about("scale: numbers that are classes, behind %d nodes", nodes);
    rows = 2;
    x = edf_input("x[b]");
    p = edf_parameter("T[200,1]");
    CompNode *c = x;
    for (int k = 0; k < nodes; k++) c = edf_compnode("Same", same, NULL, c);
    loss = Mean(Embed(p, c));
    edf_doctor(loss);
    PUT(xs, 199, 3);
    run(4);
  }
  about("scale: an input without a batch");
  linear(2);
  fill(xs, 2, 1000);
  run(2);
}

/* Where nodes run when they are built, the data is looked at with Backward. */
static void eager_data(void) {
  about("scale: eager");
  edf.eager = 1;
  given(2, "x[b]", NULL, "w");
  PUT(xs, 100, -100);
  feed();
  loss = Mean(Einsum("m[b] = x[b] w", x, p));
  edf_doctor(loss);
  edf_backward(loss);
}

/* A finding is told once, whatever else is found. */
static void once_each(void) {
  about("scale: in each of 22 steps, without an optimiser");
  given(2, "x[b]", NULL, "w");
  loss = Mean(Einsum("m[b] = x[b] w", x, p));
  edf_doctor(loss);
  PUT(xs, 100, -100);
  run(22);
}

/* The second operand of an equation, of a product, of a difference: which is the data? Beside
   it there is noise, with rows of the same length. */
static void data_as_second(int how) {
  about("scale: data is the second operand of %s", !how ? "an equation" : how == 1 ? "a Mul" :
        how == 2 ? "a difference" : "an equation that subtracts");
  given(2, "x[b,2]", NULL, "W[2]");
  Input *noise = edf_input("noise[b,2]");
  CompNode *u = how == 1 ? Mul(Relu(noise), x) : how == 2 ? Sub(Relu(noise), x)
              : how == 3 ? Einsum("u[b,i] = 2 n[b,i] - x[b,i]", Relu(noise), x)
              : Einsum("u[b,i] = W[i] x[b,i]", p, x);
  loss = Mean(Einsum("l[b] = u[b,I] W[I] + noise[b,I] W[I]", u, p, noise));
  edf_doctor(loss);
  PUT(xs, 200, 3, 100, 0);
  PUT(ys, 0, 1, 1, 0);
  edf_feed(noise, ys, 2);
  run(1);
}

static void scale(void) {
  for (int how = 0; how < 4; how++) data_as_second(how);
  once_each();
  eager_data();
  of_scale(20, 0, -20, 0);
  of_scale(20.5, 0, 0, 0);
  of_scale(0, 0, -20.5, 0);
  of_scale(-2, 31, 1, 0);
  of_scale(0, 127, 5, 0);
  of_scale(0, 127.5, 2, 0);
  of_scale(0, 128, 1, 0);
  of_scale(255, 0, 0, 0);
  of_scale(-1, 255, 0, 0);
  of_scale(256, 0, 2, 0);
  of_scale(1, 30, 2, 1);
  of_scale(1, 30.5, 2, 1);
  of_scale(0, 255, 0, 1);
  of_scale(60, HUGE_VAL, 0, 0);
  classes_as_data();
}

/* Half of n rows are mean - deviation, half mean + deviation; of 15 the last is the mean. */
static void of_centre(int n, double mean, double deviation) {
  about("centre: %d rows, mean %g, deviation %g", n, mean, deviation);
  given(n, "x[b]", NULL, "w");
  loss = Mean(Einsum("m[b] = w x[b]", p, x));
  edf_doctor(loss);
  for (int i = 0; i < n; i++)
    xs[i] = (edf_real)(mean + (i == 14 && n == 15 ? 0 : i % 2 ? deviation : -deviation));
  run(1);
}

static void centre(void) {
  of_centre(16, 3, 1);
  of_centre(16, 3.25, 1);
  of_centre(16, -3.25, 1);
  of_centre(16, 2.75, 1);
  of_centre(16, 0.5, 0);
  of_centre(16, 0.75, 0);
  of_centre(16, -0.75, 0.125);
  of_centre(15, 8, 1);
  of_centre(18, 8, 1);
}

/* Rows that are alike, but for one entry of one of them. */
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

static void alike(void) {
  of_rows(8, -1, 0, 0.25);
  of_rows(7, -1, 0, 0.25);
  of_rows(9, -1, 0, 0);
  of_rows(8, 7, 1, 0.25);
  of_rows(8, 1, 0, 0.25);
  of_rows(8, 0, 1, 0.25);
  of_rows(8, -2, 0, 0.25);               /* the third batch has another row */
}

/* Which input is the data: the one that is not scaled is named. */
static void of_data(const char *first, const char *second, int way, int batch) {
  static edf_real a[12], b[12];
  static const char *const ways[] = { "a - b", "b - a", "both", "a alone" };
  about("data: %s, %s, %s", first, second, ways[way]);
  Input *A = edf_input("%s", first), *B = edf_input("%s", second);
  fill(a, 12, 30.5);
  fill(b, 12, 40.5);
  p = edf_parameter("w");
  const char *of_a = A->rank > 1 ? "f[b] = a[b,I] w" : "f[b] = a[b] w";
  const char *of_b = !B->batched ? "g = b[I] w"
                   : B->rank > 1 ? "g[b] = b[b,I] w" : "g[b] = b[b] w";
  if (way == 0) loss = Mean(Sub(Einsum(of_a, A, p), B));
  if (way == 1) loss = Mean(Sub(Einsum(of_b, B, p), A));
  if (way == 2) loss = Mean(Add(Mean(Einsum(of_a, A, p)), Mean(Einsum(of_b, B, p))));
  if (way == 3) loss = Mean(Einsum(of_a, A, p));
  edf_doctor(loss);
  edf_feed(A, a, batch);
  edf_feed(B, b, B->batched ? batch : 1);
  run(1);
}

static void data(void) {
  of_data("a[b]", "b[b]", 0, 2);
  of_data("a[b]", "b[b]", 1, 2);
  of_data("a[b]", "b[b]", 2, 2);
  of_data("a[b]", "b[b,3]", 2, 2);
  of_data("a[b,3]", "b[b]", 2, 4);
  of_data("a[b,3]", "b[b,3]", 2, 1);
  of_data("a[b]", "b[9]", 2, 2);
  of_data("a[b]", "b[b,3]", 3, 2);
}

/* ---- The labels */

static void of_labels(int classes, double a, double b, double c) {
  about("labels: %g, %g, %g of %d classes", a, b, c, classes);
  scores(classes, 3);
  PUT(ys, a, b, c);
  run(1);
}

static void label_range(void) {
  of_labels(3, 0, 1, 2);
  of_labels(3, 1, 2, 3);
  of_labels(3, 3, 0, 1);
  of_labels(3, 2, 4, 2);
  of_labels(3, 3, 3, 2);
  of_labels(3, 0, 1.5, 1);
  of_labels(3, 1.5, 0, 1);
  of_labels(3, -1, 1, 1);
  of_labels(3, 1, 2, 3.5);
}

/* A loss of the user's own that compares scores with classes, or does something else. */
static void first_score(edf_node *l) {
  l->value[0] = l->in[0]->value[0];
}
static void first_grad(edf_node *l) { edf_addgrad(l->in[0], 0, l->grad[0]); }
static void scalar(edf_node *l) { l->rank = 0; }
static void vector(edf_node *l) { l->rank = 1; l->dim[0] = 1; }

static void of_own_head(const char *about_it, int width, int more, double label) {
  about("a head of the user's own: %s", about_it);
  rows = 2;
  x = edf_input("x[b,%d]", width);
  y = more == 3 ? edf_input("y[b,1]") : edf_input("y[b]");
  p = edf_parameter("p[%d]", width);
  CompNode *s = edf_name(Einsum("s[b,k] = x[b,k] + p[k]", x, p), "s");
  loss = edf_compnode_shaped("Own", more ? vector : scalar, first_score, first_grad, s, y);
  if (more) loss = Mean(loss);
  if (more == 2) loss = Einsum("q = w l", edf_parameter("w"), loss);
  edf_doctor(loss);
  PUT(ys, 0, label);
  run(1);
}

/* Scores of 3 places and labels of 4; scores that are data, and labels that are computed. */
static void no_head(const char *what, int way) {
  about("no head: %s", what);
  rows = 2;
  x = edf_input(way ? "x[b,3]" : "x[b,3,3]");
  y = edf_input(way == 4 ? "y[b,3]" : way == 3 ? "y[3]" : way ? "y[b]" : "y[b,4]");
  p = edf_parameter("w");
  CompNode *s = way ? Einsum("s[b,k] = x[b,k] w", x, p) : Einsum("s[b,t,k] = x[b,t,k] w", x, p);
  CompNode *c = way == 2 ? edf_compnode("Same", same, NULL, y) : y;
  loss = edf_compnode_shaped("Own", scalar, first_score, first_grad, way == 1 ? x : s, c);
  if (way == 1) loss = Einsum("l = o w", loss, p);
  edf_doctor(loss);
  ys[1] = 3;
  run(1);
}

static void own_head(void) {
  of_own_head("the last class is one too many", 3, 0, 3);
  of_own_head("two too many: it is none", 3, 0, 4);
  of_own_head("below 0: it is none", 3, 0, -1);
  of_own_head("not whole: it is none", 3, 0, 1.5);
  of_own_head("two classes", 2, 0, 2);
  of_own_head("one class: it is none", 1, 0, 1);
  of_own_head("the loss is its mean", 3, 1, 3);
  of_own_head("the loss is further away", 3, 2, 3);
  of_own_head("labels of another shape", 3, 3, 3);
  no_head("another number of labels", 0);
  no_head("the scores are data", 1);
  no_head("the labels are computed", 2);
  no_head("another batch", 3);
  no_head("as many labels as scores", 4);
}

static void of_base(int classes, int from, int to, int batch, int n) {
  about("base: %d classes, %d to %d, %d steps of %d", classes, from, to, n, batch);
  scores(classes, batch);
  for (int b = 0; b < batch; b++) ys[b] = (edf_real)(from + b % (to - from + 1));
  run(n);
}

static void label_base(void) {
  of_base(3, 1, 2, 300, 3);
  of_base(3, 1, 2, 299, 2);
  of_base(4, 1, 3, 400, 2);
  of_base(4, 0, 3, 400, 3);
  of_base(4, 1, 2, 400, 3);
  of_base(2, 1, 1, 400, 1);
  about("base: 4 classes, 1 and 2, and a single 3");
  scores(4, 800);
  for (int b = 0; b < 800; b++) ys[b] = (edf_real)(b ? 1 + b % 2 : 3);
  run(1);
}

/* The rows of a batch with class 1 are so many, by step, for ever the last. */
static void of_order(const char *what, int classes, int batch, int n, const int *ones) {
  about("order: %s, %d classes, rows of %d", what, classes, batch);
  scores(classes, batch);
  for (int i = 0; i < n; i++) {
    for (int b = 0; b < batch; b++) ys[b] = b < ones[i];
    step();
  }
}

static void order(void) {
  enum { N = 18 };
  int ones[N];
  for (int i = 0; i < N; i++) ones[i] = 0;
  of_order("one class", 2, 64, 5, ones);
  of_order("one class", 32, 64, 6, ones);
  of_order("one class", 30, 64, 6, ones);
  of_order("one class", 2, 15, 18, ones);
  ones[3] = 20;
  of_order("twenty of another class", 2, 20, 12, ones);
  of_order("nineteen of another class", 2, 19, 12, ones);
  for (int i = 0; i < N; i++) ones[i] = i % 2 ? 16 : 0;
  of_order("alternating", 2, 16, 12, ones);
  of_order("alternating batches of half a window", 2, 8, 18, ones);
  for (int i = 0; i < N; i++) ones[i] = i % 2 ? 12 : 4;
  of_order("three of four are alike", 2, 16, 12, ones);
  for (int i = 0; i < N; i++) ones[i] = i % 2 ? 13 : 3;
  of_order("thirteen of sixteen are alike", 2, 16, 12, ones);
  for (int i = 0; i < N; i++) ones[i] = i % 2 ? (i < 12 ? 12 : 13) : (i < 12 ? 4 : 3);
  of_order("a quarter of the way exactly", 2, 16, 18, ones);
}

/* Labels of rank 2: their order tells nothing. */
static void label_planes(void) {
  about("labels of rank 2: all of one class");
  given(64, "x[b,4,2]", "y[b,4]", "p[2]");
  loss = SoftmaxLogLoss(Einsum("s[b,t,k] = x[b,t,k] + p[k]", x, p), y);
  edf_doctor(loss);
  run(10);
}

static void labels(void) {
  label_range();
  own_head();
  label_base();
  order();
  label_planes();
}

/* ---- Targets that a node cannot reach */

typedef CompNode *(*bend)(CompNode *);
static CompNode *by_sigmoid(CompNode *u) { return Sigmoid(u); }
static CompNode *by_tanh(CompNode *u) { return Tanh(u); }
static CompNode *by_relu(CompNode *u) { return Relu(u); }
static CompNode *by_nothing(CompNode *u) {
  return edf_compnode("Same", same, same_backward, u);
}
static double bent_by;                   /* in the last entry; of many, in the first */
static void almost(edf_node *c) {
  size_t at = c->size > 100 ? 0 : c->size - 1;
  for (size_t i = 0; i < c->size; i++)
    c->value[i] = (edf_real)(tanh((double)c->in[0]->value[i]) * (i == at ? bent_by : 1));
}
static CompNode *by_almost(CompNode *u) {
  return edf_compnode("Almost", almost, same_backward, u);
}

static void of_target(const char *what, bend by, double low, double high, double first) {
  about("targets of %s: %g to %g, the first entry is %g", what, low, high, first);
  given(2, "x[b,2]", "y[b,2]", "p[2]");
  CompNode *u = Einsum("u[b,i] = x[b,i] + p[i]", x, p), *h = edf_name(by(u), "h");
  loss = Mean(Add(Square(Sub(h, y)), Square(u)));
  edf_doctor(loss);
  PUT(xs, first, 0.5, 1, 0.25);
  PUT(ys, low, high, low, high);
  run(1);
}

static void direct_target(const char *what, bend by, double low, double high, double first) {
  about("targets of %s: %g to %g, the first entry is %g", what, low, high, first);
  given(2, "x[b,2]", "y[b,2]", "p[2]");
  CompNode *h = by(Einsum("u[b,i] = x[b,i] + p[i]", x, p));
  loss = MSE(edf_name(h, "h"), y);
  if (edf_is(h, EDF_IS_OWN)) edf_expect_mismatch(h);
  edf_doctor(loss);
  PUT(xs, first, 0.5, 1, 0.25);
  PUT(ys, low, high, low, high);
  run(1);
}

static void wide_target(void) {
  about("targets of no Tanh in the first of 128 entries");
  given(64, "x[b,2]", "y[b,2]", "p[2]");
  loss = MSE(edf_expect_mismatch(by_almost(Einsum("u[b,i] = x[b,i] + p[i]", x, p))), y);
  edf_doctor(loss);
  for (int i = 0; i < 128; i++) xs[i] = (edf_real)(i % 2 ? 0.5 : -0.5);
  fill(ys, 128, 2);
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

static void targets(void) {
  direct_target("Sigmoid", by_sigmoid, 0, 1, -1);
  direct_target("Sigmoid", by_sigmoid, 0, 1.25, -1);
  direct_target("Sigmoid", by_sigmoid, -0.25, 1, -1);
  direct_target("Tanh", by_tanh, -1, 1, -1);
  direct_target("Tanh", by_tanh, -1.25, 0, -1);
  direct_target("Tanh", by_tanh, 0, 1.25, -1);
  direct_target("Relu", by_relu, 0, 16, -1);
  direct_target("Relu", by_relu, -0.25, 16, -1);
  direct_target("Relu without a bend", by_relu, -0.25, 16, 1);
  direct_target("Relu without a bend", by_relu, -0.25, 16, 0);
  direct_target("nothing", by_nothing, -16, 16, -1);
  bent_by = 1.0005;
  direct_target("almost Tanh", by_almost, 0, 2, -1);
  bent_by = 1.002;
  direct_target("no Tanh in the last entry", by_almost, 0, 2, -1);
  wide_target();
  of_target("a sum, not alone", by_tanh, 0, 2, -1);
  bce_target(0, 1);
  bce_target(0, 1.25);
  bce_target(-0.25, 1);
}

/* ---- The program: two softmaxes, a softmax over another index */

/* Scores a, 1 - a + more in each row, of the classes 0, 1, 0, 1. */
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

static void after_softmax(void) {
  about("twice: Softmax before SoftmaxLogLoss, and before LogLoss");
  for (int k = 0; k < 2; k++) {
    if (k) edf_clear();
    rows = 2;
    x = edf_input("x[b,3]");
    y = edf_input("y[b]");
    p = edf_parameter("p[3]");
    CompNode *s = Softmax(Einsum("s[b,k] = x[b,k] + p[k]", x, p));
    loss = k ? LogLoss(Softmax(s), y) : SoftmaxLogLoss(s, y);
    edf_doctor(loss);
    PUT(xs, 1, 2, 4, 3, 1, 2);
    run(1);
  }
}

/* The probabilities are the data. */
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

static void softmaxes(void) {
  of_twice(0.25, 0, 2);
  of_twice(0, 0, 2);
  of_twice(1, 0, 2);
  of_twice(0.25, 0.00075, 2);
  of_twice(0.25, 0.0015, 2);
  of_twice(0.25, -0.0015, 2);
  of_twice(-0.25, 0, 2);
  of_twice(1.25, 0, 2);
  of_twice(1, 0, 1);
  after_softmax();
  AXIS("right", "2", 2, 0.25, 0.75, 0.5, 0.5);
  AXIS("the batch", "2", 2, 0.25, 0.375, 0.75, 0.625);
  AXIS("the batch of three", "2", 3, 0.25, 0.375, 0.25, 0.5, 0.5, 0.125);
  AXIS("none", "2", 2, 0.25, 0.375, 0.25, 0.625);
  AXIS("none, the last column", "2", 2, 0.25, 0.375, 0.75, 0.5);
  AXIS("below 0", "2", 2, 1.25, 0.375, -0.25, 0.625);
  AXIS("no number", "2", 2, NAN, 0.375, 0.75, 0.625);
  AXIS("the second of three", "2,2", 1, 0.25, 0.375, 0.75, 0.625);
  AXIS("the second of three", "2,2", 2, 0.25, 0.375, 0.75, 0.625, 0.125, 0.5, 0.875, 0.5);
  AXIS("the first of three", "2,2", 2, 0.25, 0.375, 0.125, 0.625, 0.75, 0.625, 0.875, 0.375);
}

/* ---- The start: a large first loss, dead and saturated units, equal weights */

/* Scores are `margin` for the wrong class of two. */
static void of_first_loss(int batch, double margin, int one_class) {
  about("first loss: %d rows, wrong by %g%s", batch, margin, one_class ? ", one class" : "");
  scores(2, batch);
  for (int b = 0; b < batch; b++) {
    ys[b] = (edf_real)(one_class ? 1 : b % 2);
    xs[2 * b + (ys[b] == 0)] = (edf_real)margin;
  }
  run(1);
}

/* ... from weights. */
static void first_weights(double margin, double other) {
  about("first loss: weights of 0 and %g, others of %g", margin, other);
  given(16, "x[b,2]", "y[b]", "W[2,2]");
  Parameter *V = edf_parameter("V[2,2]"), *v = edf_parameter("v[2]");
  CompNode *s = Einsum("s[b,k] = x[b,I] W[I,k] + x[b,I] V[I,k] + v[k]", x, p, V, v);
  loss = SoftmaxLogLoss(edf_name(s, "s"), y);
  edf_doctor(loss);
  PUT(p->value, 0, margin, margin, 0);
  PUT(V->value, other, other, -other, -other);
  fill(v->value, 2, 100);
  PUT(edf_parameter("U[2,2]")->value, 0, 900, 0, 900);       /* not in the loss */
  for (int b = 0; b < 16; b++) {
    ys[b] = (edf_real)(b % 2);
    xs[2 * b + b % 2] = 1;
  }
  run(1);
}

/* Weights of deviation 1 into sums of four: exactly twice too large. */
static void twice_as_large(double w) {
  about("first loss: weights of -1 and %g", w);
  given(16, "x[b,4]", "y[b]", "W[4,2]");
  loss = SoftmaxLogLoss(edf_name(Einsum("s[b,k] = x[b,I] W[I,k]", x, p), "s"), y);
  edf_doctor(loss);
  PUT(p->value, -1, w, -1, w, w, -1, w, -1);
  for (int b = 0; b < 16; b++) {
    ys[b] = (edf_real)(b % 2);
    xs[4 * b + 2 * (b % 2) + b / 2 % 2] = 4;
  }
  for (int b = 0; b < 16; b++) ys[b] = 1 - ys[b];
  for (int i = 0; i < 64; i++) xs[i] = -xs[i];
  run(1);
}

static void nan_scores(void) {
  about("first loss: scores that are no numbers");
  scores(2, 16);
  for (int b = 0; b < 16; b++) ys[b] = (edf_real)(b % 2);
  PUT(p->value, NAN, 0);
  run(1);
}

static void first_losses(void) {
  nan_scores();
  twice_as_large(1);
  twice_as_large(1.0625);
  of_first_loss(16, 2, 0);               /* ln(1 + exp(m)) against ln 2 + 1.5 = 2.193 */
  of_first_loss(16, 2.25, 0);
  of_first_loss(16, 2.25, 1);
  of_first_loss(4, 2.703125, 0);         /* four times as much as guessing */
  of_first_loss(15, 3.625, 0);           /* and 6 / sqrt(15) = 1.549 more */
  of_first_loss(15, 3.75, 0);
  of_first_loss(4, 5.125, 0);            /* and 3 more */
  of_first_loss(4, 5.25, 0);
  first_weights(2.75, 0);                /* times the root of 2 / 2: 1.94 */
  first_weights(3, 0);
  first_weights(3, 4);
}

/* Of five units so many are dead, from thresholds; one is alive in a single row. */
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

/* Weights are not asked whether they are meant, and only parameters are named. */
static void dead_weights(void) {
  about("dead: by weights");
  given(16, "x[b,1]", NULL, "W[1,3]");
  loss = Mean(edf_name(Relu(edf_name(Einsum("u[b,j] = W[I,j] x[b,I]", p, x), "u")), "h"));
  edf_doctor(loss);
  PUT(p->value, 4, 8, 6);
  for (int b = 0; b < 16; b++) xs[b] = (edf_real)(b % 2 ? -4 : 0);
  run(1);
}

/* What looks like a dead Relu, and a dead Relu that the loss does not see; it is the loss. */
static void no_relu(int way) {
  static const char *const ways[] = { "a product with 0", "beside the loss", "the loss",
                                      "a difference" };
  about("dead: %s", ways[way]);
  given(16, "x[b,2]", NULL, "p");
  CompNode *u = Einsum("u[b,j] = x[b,j] + p", x, p);
  CompNode *h = way == 3 ? Sub(u, u) : way ? Relu(u) : Einsum("h[b,j] = 0 u[b,j]", u);
  edf_name(h, "h");
  loss = way == 2 ? h : Mean(way == 1 ? u : h);
  edf_doctor(loss);
  for (int i = 0; i < 32; i++) xs[i] = (edf_real)(i % 5 / -8.0);
  feed();
  edf_forward();
  edf_backward(loss);
}

static void of_saturated(int tanh_too, double a, double b, double c) {
  about("saturated: %s of %g, %g, %g and 0", tanh_too ? "Tanh" : "Sigmoid", a, b, c);
  given(2, "x[b,2]", NULL, "p[2]");
  CompNode *u = edf_name(Einsum("u[b,j] = x[b,j] + p[j]", x, p), "u");
  loss = edf_name(tanh_too ? Tanh(u) : Sigmoid(u), "h");
  if (c != -4) loss = Mean(loss);        /* else it is the last node */
  edf_doctor(loss);
  PUT(xs, a, b, 0, c);
  run(1);
}

static void bends(void) {
  of_dead(16, 3, -4, -1);
  of_dead(16, 4, -3.75, -1);             /* a mean of -3 */
  of_dead(16, 4, -4.375, -1);
  of_dead(16, 5, -4, -1);
  of_dead(15, 5, -4, -1);
  of_dead(16, 4, -4, 0);
  of_dead(16, 4, -4, 15);
  of_dead(16, 5, -4, 15);
  dead_weights();
  for (int way = 0; way < 4; way++) no_relu(way);
  of_saturated(0, 4, 4, 3.75);
  of_saturated(0, 4, 4, 3.875);
  of_saturated(0, -4, -4, -4);
  of_saturated(1, 3, -3, 2.625);
  of_saturated(1, 3, -3, 2.6875);
  of_saturated(0, 3, 3, 3);
}

/* The loss sees every slice of W's axes with a weight of its own, or with the same. */
static void of_equal(const char *what, const double *w, const double *c, int by) {
  about("equal: %s", what);
  x = edf_input("c[2,3]");
  p = edf_parameter("W[2,3]");
  loss = Einsum("l = W[I,J] W[I,J] c[I,J] + v", p, x, edf_parameter("v"));
  edf_doctor(loss);
  put(p->value, w, 6);
  put(xs, c, 6);
  for (int i = 0; i < 4 && step(); i++)
    if (by == 1) edf_sgd((edf_real)0.0625);
    else if (by == 3) fill(p->value, 6, 1);
    else if (by == 2) p->update = edf_frozen;
}
#define SIX(...) (const double[]){ __VA_ARGS__ }

static void equal_units(void) {
  of_equal("none", SIX(1, 2, 3, 4, 5, 6), SIX(1, 1, 1, 1, 1, 1), 1);
  of_equal("two columns", SIX(1, 1, 3, 4, 4, 6), SIX(1, 1, 1, 1, 1, 1), 1);
  of_equal("the last two columns", SIX(1, 3, 3, 4, 6, 6), SIX(1, 1, 1, 1, 1, 1), 1);
  of_equal("but for one entry", SIX(1, 3, 3, 4, 6, 7), SIX(1, 1, 1, 1, 1, 1), 1);
  of_equal("two rows", SIX(1, 2, 3, 1, 2, 3), SIX(1, 1, 1, 1, 1, 1), 1);
  of_equal("all", SIX(1, 1, 1, 1, 1, 1), SIX(1, 1, 1, 1, 1, 1), 1);
  of_equal("but not in the gradient", SIX(1, 1, 3, 4, 4, 6), SIX(1, 2, 1, 1, 1, 1), 0);
  of_equal("all zero", SIX(0, 0, 0, 0, 0, 0), SIX(1, 1, 1, 1, 1, 1), 1);
  of_equal("all zero, and then 1", SIX(0, 0, 0, 0, 0, 0), SIX(1, 1, 1, 1, 1, 1), 3);
  of_equal("with no gradient in two", SIX(1, 1, 2, 4, 4, 5), SIX(0, 0, 1, 0, 0, 1), 1);
  of_equal("with no gradient at all", SIX(1, 1, 2, 4, 4, 5), SIX(0, 0, 0, 0, 0, 0), 0);
  of_equal("nearly", SIX(1, 1.0000015, 3, 4, 4, 6), SIX(0, 0, 0, 0, 0, 0), 0);
  of_equal("not quite", SIX(1, 1.000004, 3, 4, 4, 6), SIX(0, 0, 0, 0, 0, 0), 0);
  of_equal("frozen", SIX(1, 1, 3, 4, 4, 6), SIX(1, 1, 1, 1, 1, 1), 2);
}

/* ---- A parameter that is not used */

static void of_unused(const char *what, int used, int frozen, int two) {
  about("unused: %s", what);
  Parameter *U = two < 2 ? NULL : edf_parameter("U[2]");
  linear(2);
  if (!U) U = edf_parameter("U[2]");
  CompNode *other = used ? Einsum("m = U[I] U[I]", U) : NULL;
  if (other) edf_name(other, "other");
  if (frozen) U->update = edf_frozen;
  for (int i = 0; i < 51; i++) {
    feed();
    edf_forward();
    edf_backward((two == 1 || two == 2) && i == 30 ? other : loss);
    edf_sgd((edf_real)0.0009765625);
  }
}

static void unused(void) {
  of_unused("by no node", 0, 0, 0);
  of_unused("by another node", 1, 0, 0);
  of_unused("frozen", 0, 1, 0);
  of_unused("by another loss", 1, 0, 1);
  of_unused("the first, by another loss", 1, 0, 2);
  of_unused("the first, by none", 0, 0, 3);
}

/* ---- The gradient */

static double own_factor, own_hidden, own_cubic, own_cubic_at;
static int own_first, own_end, own_assigns;
static void own_forward(edf_node *c) {
  double w = (double)p->value[0] - own_cubic_at;
  double more = p->size == 1 ? own_hidden * (double)p->value[0] + own_cubic * w * w * w : 0;
  for (size_t i = (size_t)own_first; i < c->size - (size_t)own_end; i++)
    c->value[i] = c->in[0]->value[i] + (edf_real)more;
}
static void own_backward(edf_node *c) {
  edf_node *u = c->in[0];
  for (size_t i = 0; i < c->size && u->grad; i++) {
    if (own_assigns) u->grad[i] = c->grad[i];
    else u->grad[i] += (edf_real)own_factor * c->grad[i];
  }
}
static CompNode *own(CompNode *u) {
  own_factor = 1;
  own_hidden = own_cubic = own_first = own_end = own_assigns = 0;
  return edf_name(edf_compnode("Own", own_forward, own_backward, u), "h");
}

/* A node of the user's between weights and a mean of squares; 4 rows, 3 columns. */
static void own_program(void) {
  given(4, "x[b,5]", NULL, "W[5,3]");
  CompNode *u = Einsum("u[b,j] = W[I,j] x[b,I]", p, x);
  loss = edf_name(Mean(Square(own(u))), "loss");
  edf_doctor(loss);
  for (int i = 0; i < 20; i++) xs[i] = (edf_real)((i * 7 % 16 - 7.5) / 8);
  for (int i = 0; i < 15; i++) p->value[i] = (edf_real)((i * 5 % 16 - 7.5) / 16);
}

static void of_factor(double factor) {
  about("factor: %g", factor);
  own_program();
  own_factor = factor;
  run(1);
}

/* What the node's backward does not know of: the slope of the only weight is 1 + hidden. */
static void of_hidden(double w, double c, double hidden) {
  about("hidden: a loss of %g %g, whose slope is %g times the gradient", w, c, 1 + hidden / c);
  x = edf_input("c");
  p = edf_parameter("W");
  loss = edf_name(own(Einsum("l = W c", p, x)), "loss");
  edf_doctor(loss);
  PUT(xs, c);
  PUT(p->value, w);
  own_hidden = hidden;
  run(1);
}

/* ... and depends on the step: it is that of half of it, h: 1 + hidden / c + cubic hh / c. */
static void of_cubic(double w, double c, double hidden, double cubic) {
  about("cubic: a loss of %g %g, %g and %g", w, c, hidden, cubic);
  x = edf_input("c");
  p = edf_parameter("W");
  loss = edf_name(own(Einsum("l = W c", p, x)), "loss");
  edf_doctor(loss);
  PUT(xs, c);
  PUT(p->value, w);
  own_hidden = hidden;
  own_cubic = cubic;
  own_cubic_at = w;
  run(1);
}

/* V is behind a node that is not asked, F frozen: nothing is said of them. */
static void others(void) {
  about("others that are not measured");
  x = edf_input("c");
  p = edf_parameter("W");
  Parameter *V = edf_parameter("V"), *F = edf_parameter("F");
  CompNode *h = own(Einsum("l = W c F", p, x, F));
  CompNode *not_asked = edf_compnode("Same", same, same_backward, V);
  edf_expect_mismatch(not_asked);
  loss = edf_name(Add(h, not_asked), "loss");
  F->update = edf_frozen;
  edf_doctor(loss);
  own_factor = -1;
  PUT(xs, 1);
  fill(p->value, 1, 1);
  fill(F->value, 1, 1);
  fill(V->value, 1, 1);
  run(1);
}

/* A loss that jumps where it stands: its slope depends on the step. */
static double at_start;
static void jump(edf_node *c) {
  c->value[0] = c->in[0]->value[0] - ((double)p->value[0] > at_start);
}
static void jumping(void) {
  about("a jump");
  x = edf_input("c");
  p = edf_parameter("W");
  loss = edf_compnode("Jump", jump, same_backward, Einsum("l = W c", p, x));
  edf_doctor(loss);
  PUT(xs, 1);
  PUT(p->value, 1);
  at_start = 1;
  run(1);
}

static void assigned(int twice) {
  about("'=' in a node that is used %s", twice ? "beside another" : "alone");
  given(4, "x[b,3]", NULL, "W[3,3]");
  CompNode *u = Einsum("u[b,j] = W[I,j] x[b,I]", p, x), *h = own(u);
  CompNode *s = twice ? Square(u) : NULL;                    /* its backward comes first */
  loss = edf_name(Mean(Square(twice ? Add(h, s) : h)), "loss");
  edf_doctor(loss);
  own_assigns = 1;
  for (int i = 0; i < 12; i++) xs[i] = (edf_real)((i * 7 % 16 - 7.5) / 8);
  for (int i = 0; i < 9; i++) p->value[i] = (edf_real)((i * 5 % 16 - 7.5) / 4);
  run(1);
}

static void forgotten(int first, int end, int mismatch) {
  about("the forward leaves %d entries, and %d%s", first, end, mismatch ? ", a mismatch" : "");
  own_program();
  own_first = first;
  own_end = end;
  if (mismatch) edf_expect_mismatch(edf.compnodes[1]);
  run(1);
}

static void not_measured(const char *what, int eager, int mismatch) {
  about("a wrong sign, %s", what);
  edf.eager = eager;
  given(1, "c", NULL, "W");
  PUT(xs, 1);
  if (eager) feed();
  loss = own(Einsum("l = W c", p, x));
  own_factor = -1;
  if (mismatch) edf_expect_mismatch(loss);
  edf_doctor(loss);
  run(1);
}

static void slopes(void) {
  const double hidden[][3] = { { 1, 1, 0.0625 }, { 1, 1, 0.13 }, { 1, 1, -0.0625 },
    { 1, 1, -0.125 }, { 1, 1, 1 }, { 0, 1, -2 }, { 1, 1, -1.44 }, { 1, 1, -1.56 },
    { 1, 1e-11, -2e-11 }, { 1, 1.5e-11, -3e-11 } };     /* below rounding, and above */
  for (int k = 0; k < 10; k++) of_hidden(hidden[k][0], hidden[k][1], hidden[k][2]);
  of_cubic(1, 1, 2, 1e5);                /* half a step of 0.002: 3 + 0.1 */
  of_cubic(-1, 1, 2, 1e5);
  of_cubic(0, 1, 2, 1e5);                /* of 0.0005: 3 + 0.00625 */
  of_cubic(0, 0.015625, 0.03125, 8);     /* 0.02 at most: 3 + 0.05 */
  of_cubic(1, 1, 0.1167, -23838);        /* 1.09 and 1.11 */
  of_cubic(1, 1, 0.5, 1e5);              /* whole and half differ by too much, or not */
  of_cubic(1, 1, 0.5, 9e4);
  jumping();
}

static void gradients(void) {
  const double factors[] = { 1, 1.04, -1, 4, 0.25, 3, 5, 2, 0.5, 1.5, -2, 4.09, 3.85, 0 };
  for (size_t k = 0; k < sizeof factors / sizeof *factors; k++) of_factor(factors[k]);
  slopes();
  others();
  for (int k = 0; k < 2; k++) assigned(k);
  forgotten(0, 0, 0);
  forgotten(1, 0, 0);
  forgotten(5, 0, 0);
  forgotten(0, 2, 0);
  forgotten(5, 0, 1);
  not_measured("found", 0, 0);
  not_measured("eager", 1, 0);
  not_measured("expected", 0, 1);
}

/* ---- A sum over the batch */

static void of_sum(int batch, double factor, int squares) {
  about("sum: %d rows, times %g%s", batch, factor, squares ? "" : ", no squares");
  given(batch, "x[b]", NULL, "w");
  Parameter *f = edf_parameter("f");
  CompNode *u = Einsum("u[b] = x[b] w", x, p);
  f->update = edf_frozen;
  PUT(f->value, factor);
  PUT(p->value, 1);
  loss = edf_name(Einsum("l = q[B] f", squares ? Square(u) : Exp(u), f), "loss");
  edf_doctor(loss);
  for (int b = 0; b < batch; b++) xs[b] = b % 2 ? 1 : -1;
  run(1);
}

/* Of a head; K = 2, so a row that is guessed costs ln 2; and a user's own. */
static double own_number;
static void number_forward(edf_node *l) { l->value[0] = (edf_real)own_number; }
static void number_backward(edf_node *l) { edf_addgrad(l->in[0], 0, l->grad[0]); }
static void of_head_sum(int batch, double number) {
  about("sum: a head's %d rows, own %g", batch, number);
  given(batch, "x[b,2]", "y[b]", "p[2]");
  CompNode *s = Einsum("s[b,k] = x[b,k] + p[k]", x, p);
  own_number = number;
  loss = number != 0 ? edf_compnode_shaped("Own", scalar, number_forward, number_backward, s, y)
                : Sum(SoftmaxLogLoss(s, y));
  edf_name(number != 0 ? edf_expect_mismatch(loss) : loss, "loss");
  edf_doctor(loss);
  for (int b = 0; b < batch; b++) ys[b] = (edf_real)(b % 2);
  run(1);
}

static void sums(void) {
  of_sum(4, 1, 1);
  of_sum(3, 1, 1);
  of_sum(8, 1.1875, 1);
  of_sum(8, 1.25, 1);
  of_sum(8, 0.8125, 1);
  of_sum(8, 0.75, 1);
  of_sum(8, 1, 0);
  of_sum(4, 0, 1);
  of_sum(4, -1, 1);
  about("sum: 4 squares of a half");
  given(4, "x[b]", NULL, "w");
  PUT(p->value, 1);
  loss = edf_name(Sum(Square(Einsum("u[b] = x[b] w", x, p))), "loss");
  edf_doctor(loss);
  fill(xs, 4, 0.5);
  run(1);
  of_head_sum(4, 0);
  of_head_sum(3, 0);
  of_head_sum(4, 2.75);                  /* 4 ln 2 = 2.77 */
  of_head_sum(4, 3.5);
}

/* ---- Steps. The loss is the weight, which moves by hand to the next number. */

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

/* Down by `down` each, and each third step up by `up`: those that leave `rest`. */
static void saw(double down, double up, int rest, int fed_once) {
  double w[24] = { 16 };
  for (int i = 1; i < 24; i++) w[i] = w[i - 1] + (i % 3 == rest ? up : -down);
  const char *what = edf_fmt("down by %g, each third up by %g, from %d on", down, up, rest);
  moves(what, fed_once, w, 24);
}

/* The loss of a step's own batch is that of its own random numbers. */
static void of_dropout(unsigned seed) {
  about("moves: down by a thousandth each, through Dropout, seed %u", seed);
  edf_seed(seed);
  x = edf_input("x");
  p = edf_parameter("W[1,4]");
  feed();
  loss = Mean(Dropout(p, 0.5));
  edf_doctor(loss);
  PUT(p->value, 1, 1.25, 1.5, 1.75);
  for (int i = 0; i < 24; i++) {
    edf_forward();
    edf_backward(loss);
    for (int k = 0; k < 4; k++) p->value[k] -= rate;
    feed();
  }
}

static void too_large(void) {
  for (unsigned seed = 1; seed < 5; seed++) of_dropout(seed);
  for (int once = 0; once < 2; once++) {
    MOVES("nine times as much", once, 1, 0.5, 9.5, 9);
    MOVES("more than that", once, 1, 0.5, 10, 9);
    MOVES("more, but of the largest so far", once, 1, 0.5, 9, 90, 91);
    MOVES("more than nine of those", once, 1, 0.5, 9, 91, 92);
    MOVES("from below 0", once, -1, -2, 8, 26, 27);
    MOVES("up in three of five, by a tenth", once, 8, 6, 9, 7, 10, 12, 11);
    MOVES("up in three of five, by more", once, 8, 6, 9, 7, 10, 12.25, 11);
    MOVES("up in three of five, below 0", once, -8, -10, -7, -9, -6, -3.75, -5);
    MOVES("up in three of five, level in one", once, 8, 6, 9, 9, 10, 13, 12);
    MOVES("up in two of five", once, 8, 6, 9, 7, 6.5, 14, 13);
    MOVES("up in five of nine", once, 2, 1, 2, 1, 2, 1, 2, 1, 2, 6, 5);
    MOVES("from 0", once, 1, 0.5, 0, 10, 9);
    MOVES("up in three of four", once, 8, 6, 9, 10, 14, 11.5, 11);
    MOVES("NaN", once, 16, 15.5, 15, 14.5, NAN, 0);
    MOVES("infinite", once, 16, 15, HUGE_VAL, 0);
    saw(0.5, 1.25, 0, once);             /* 6 of 20 are not too many, 7 are; more is 2.25 */
    saw(0.5, 1.25, 2, once);
    saw(0.875, 1.625, 2, once);          /* no more */
    saw(0.015625, 0.0390625, 2, once);   /* as little that three digits do not show it */
  }
}

/* A logarithm of weights that move, and of data that is negative in a step. */
static void logs(const char *what, int bad, const double *w, int n) {
  about("logarithm: %s, of -1 in step %d", what, bad);
  x = edf_input("x[2]");
  p = edf_parameter("W[1,1]");
  loss = edf_name(Mean(Log(edf_name(Einsum("u[i] = x[i] W[I,J]", x, p), "u"))), "loss");
  edf_doctor(loss);
  for (int i = 0; i < n; i++) {
    PUT(xs, 1, i + 1 == bad ? -1 : 1);
    PUT(p->value, w[i]);
    step();
  }
}
#define LOGS(what, bad, ...) logs(what, bad, NUMBERS(__VA_ARGS__))

/* A small step over a narrow valley: the only look so far was a rise. */
static void narrow_valley(void) {
  about("logarithm: up in one of one");
  x = edf_input("c[3]");
  p = edf_parameter("W[1,1]");
  CompNode *u = Einsum("u = W[I,J] c[0] - c[1]", p, x);
  loss = edf_name(Add(Square(u), Log(Einsum("v = c[2]", x))), "loss");
  edf_doctor(loss);
  PUT(p->value, 1);
  PUT(xs, 128, 126, 1);
  step();
  PUT(p->value, 0.9609375);
  PUT(xs, 128, 126, -1);
  step();
}

static void no_number(void) {
  narrow_valley();
  LOGS("small steps down", 4, 1, 0.9375, 0.875, 0.8125, 0.75);
  LOGS("a larger one", 4, 1, 0.9375, 0.875, 0.75, 0.75);
  LOGS("the larger one before", 4, 1, 0.75, 0.6875, 0.65625, 0.625);
  LOGS("up in one of two", 3, 1, 0.9375, 1, 1);
  LOGS("up in one of three", 4, 1, 0.9375, 1, 0.9375, 1);
  LOGS("a tenth", 3, 11, 10, 9);
  LOGS("at once", 1, 1, 0.9375);
  LOGS("the weight below 0", 0, 1, 0.5, -1, -1);
}

/* Two looks a row of which are high, and three: five times the first loss, or ln 2. */
static void of_high(const char *what, const double *margin, int n) {
  about("high: %s", what);
  scores(2, 16);
  for (int i = 0; i < n; i++) {
    for (int b = 0; b < 16; b++) {
      ys[b] = (edf_real)(b % 2);
      xs[2 * b + b % 2] = 0;
      xs[2 * b + 1 - b % 2] = (edf_real)margin[i];
    }
    step();
  }
}

/* A loss of the user's own that is these numbers. */
static void own_high(const char *what, double first, double later, int batch) {
  about("high: %s", what);
  given(batch, "x[b,2]", "y[b]", "p[2]");
  CompNode *s = edf_name(Einsum("s[b,k] = x[b,k] + p[k]", x, p), "s");
  loss = edf_compnode_shaped("Own", scalar, number_forward, number_backward, s, y);
  edf_name(edf_expect_mismatch(loss), "loss");
  edf_doctor(loss);
  for (int b = 0; b < batch; b++) ys[b] = (edf_real)(b % 2);
  for (int i = 0; i < 6; i++) {
    own_number = i ? later : first;
    step();
  }
}

static void high(void) {
  own_high("five times exactly", 1, 5, 2);
  own_high("a little more", 1, 5.0625, 2);
  own_high("below 0", -1, 5, 2);
  own_high("below 0, a little more", -1, 5.0625, 2);
  own_high("the first exactly too high", log(2.0) + 1.5, 0, 16);
  of_high("three times 3.43", SIX(-2, 3.375, 3.375, 3.375, 3.375, 0), 6);
  of_high("three times 3.53", SIX(-2, 3.5, 3.5, 3.5, 3.5, 0), 6);
  of_high("two times two", SIX(-2, 4, 4, 0, 4, 4), 6);
  of_high("five times the first", SIX(0.75, 5.75, 5.75, 5.75, 5.75, 0), 6);
  of_high("not five times the first", SIX(0.75, 5.5, 5.5, 5.5, 5.5, 0), 6);
}

/* Weights from w on, that become smaller by a part of their size. */
static void of_small(double w, double part, int n) {
  about("small: weights of %g, by %g each step", w, part);
  linear(1);
  PUT(p->value, w);
  for (int i = 0; i < n; i++) {
    step();
    if (i != 24) p->value[0] -= (edf_real)(fabs(w) * part);
  }
}

/* A weight that moves more at first; a small one that does, which counts for nothing. */
static void small_but(int once, int tiny) {
  about("small: %s", tiny ? "but for a tiny weight" : "but for the first step");
  linear(2);
  PUT(p->value, 1, 2);
  Parameter *V = edf_parameter("V[1,1]");
  edf_clear_compnodes();
  loss = Einsum("l = W[I,J] c[I,J] + V[0,J] c[0,J]", p, x, V);
  edf_doctor(loss);
  PUT(V->value, 1.0 / 2048);
  if (!tiny) V->update = edf_frozen;
  for (int i = 0; i < 51; i++) {
    step();
    p->value[0] -= (edf_real)((once && !i ? 8.0 : 1.0) / (1 << 20));
    if (tiny) V->value[0] -= (edf_real)(1.0 / (1 << 20));
  }
}

/* Four weights of 0.0007 are none, of 0.0011 they are. */
static void small_entries(double w) {
  about("small: four weights of %g", w);
  linear(4);
  for (int i = 0; i < 4; i++) p->value[i] = (edf_real)(w + i / 65536.0);
  for (int i = 0; i < 51; i++) {
    step();
    for (int k = 0; k < 4; k++) p->value[k] -= (edf_real)(1.0 / (1 << 30));
  }
}

static void too_small(void) {
  small_entries(0.0007);
  small_entries(0.0011);
  small_but(0, 1);
  small_but(1, 0);
  of_small(1, 1.0 / (1 << 20), 56);
  of_small(1, 1.0 / (1 << 19), 56);
  of_small(1.0 / 1024, 1.0 / (1 << 20), 56);
  of_small(1.0 / 512, 1.0 / (1 << 20), 56);
  of_small(-1, 1.0 / (1 << 21), 50);
  of_small(-1, 1.0 / (1 << 21), 51);
}

/* W goes down along its gradient, V is forgotten. */
static void of_idle(const char *what, double v, double c, int moved, int how) {
  about("idle: %s, V of %g, its gradient %g", what, v, c);
  x = edf_input("c[2,1]");
  Parameter *V = how == 4 ? edf_parameter("V[1,1]") : NULL;
  p = edf_parameter("W[1,1]");
  if (!V) V = edf_parameter("V[1,1]");
  loss = Einsum("l = W[I,J] c[0,J] + V[I,J] c[1,J]", p, x, V);
  CompNode *other = Einsum("m = W[I,J] c[0,J]", p, x);
  edf_doctor(loss);
  PUT(xs, 1, c);
  PUT(p->value, 64);
  PUT(V->value, v);
  if (how == 1) V->update = edf_frozen;
  if (how == 2) V->update = edf_update_sgd;
  for (int i = 1; i < 17; i++) {
    feed();
    edf_forward();
    edf_backward(how == 3 && i == 2 ? other : loss);
    p->value[0] -= (edf_real)(1.0 / 1024);
    if (i == moved) V->value[0] -= (edf_real)(1.0 / 1024);
  }
}

static void idle(void) {
  of_idle("from the start", 64, 1, 0, 0);
  of_idle("not for its size", 128, 1, 0, 0);
  of_idle("not in a row", 64, 1, 7, 0);
  of_idle("from step 4", 64, 1, 4, 0);
  of_idle("no gradient", 64, 0, 0, 0);
  of_idle("frozen", 64, 1, 0, 1);
  of_idle("with a rule of its own", 64, 1, 0, 2);
  of_idle("one of two losses", 64, 1, 0, 3);
  of_idle("the first", 64, 1, 0, 4);
}

/* The first step: W by (a, b) of which a is along the gradient, V by (c, d). */
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

/* Cosines of exactly 1/2 and -1/10. */
static void exactly_up(double a, double b, double c, double d, int down) {
  about("uphill: by (%g, %g, %g, %g)%s", a, b, c, d, down ? ", and up" : "");
  x = edf_input("c[4,1]");
  p = edf_parameter("W[4,1]");
  Parameter *V = edf_parameter("V[1,1]");
  loss = Einsum("l = W[I,J] c[I,J] + V[0,J] c[0,J] v", p, x, V, edf_parameter("v"));
  edf_doctor(loss);
  PUT(xs, 1, 0, 0, 0);
  PUT(p->value, 16, 8, 32, 64);
  edf.parameters[2]->value[0] = 1;
  edf.parameters[2]->update = edf_frozen;
  step();
  PUT(p->value, 16 + a, 8 + b, 32 + c, 64 + d);
  if (down) V->value[0] += 1;
  step();
}

static void uphill(void) {
  exactly_up(0.5, 0.5, 0.5, 0.5, 0);
  exactly_up(-0.25, 1.75, 1.75, 0.25, 1);
  of_uphill(0.5, 0, 0.25, 0, 1);
  of_uphill(0.5, 0, 0, 0, 1);
  of_uphill(0.5, 0, 0, 0, 2);
  of_uphill(0.5, 0.8125, 0, 0, 1);       /* cosines of 0.52, 0.45 */
  of_uphill(0.4375, 0.875, 0, 0, 1);
  of_uphill(0.5, 0, -0.125, 1, 1);       /* -0.12, -0.06 */
  of_uphill(0.5, 0, -0.0625, 1, 1);
  of_uphill(-0.5, 0, -0.5, 0, 1);
}

/* ---- The program's steps: none, early ones, two, old gradients */

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
static void sum_stays(int i) {           /* it moves, and the sum of all is what it was       */
  if (i < 0) return;
  p->value[0] -= rate;
  p->value[1] += rate;
}
static void moves_at_20(int i) { if (i == -20) p->value[1] -= rate; }
static void moves_at_21(int i) { if (i == -21) p->value[1] -= rate; }
static void of_no_size(int i) { if (i > 0) edf_sgd(0); }
static void early(int i) { if (i == -1) edf_sgd(rate); }
static void twice(int i) { for (int k = i == 3; i > 0 && k >= 0; k--) edf_sgd(rate); }
static void late(int i) { if (i > 2 || i == -4) edf_sgd(rate); }
static void first_at_25(int i) { if (i >= 25) edf_sgd(rate); }
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
static void never(int i) { (void)i; edf.accumulate = 1; }

/* Two optimisers, where the first parameter is frozen, and old gradients. */
static void frozen_first(const char *what, int twice_in, int keep) {
  about("steps: %s, the first parameter is frozen", what);
  x = edf_input("c[2]");
  p = edf_parameter("W[2]");
  Parameter *V = edf_parameter("V[2]");
  loss = Einsum("l = W[I] c[I] + V[I] c[I]", p, x, V);
  edf_doctor(loss);
  p->update = edf_frozen;
  edf.accumulate = keep;
  PUT(xs, 1, 2);
  for (int i = 1; i < 5; i++) {
    step();
    edf_sgd(rate);
    if (i == twice_in) edf_sgd(rate);
  }
}

/* Two Backwards after one Forward, and a step between them. */
static void one_forward(void) {
  about("steps: two after one Forward, gradients are kept");
  linear(2);
  edf.accumulate = 1;
  feed();
  edf_forward();
  for (int i = 0; i < 2; i++) {
    edf_backward(loss);
    edf_sgd(rate);
  }
}

/* Predictions that leave the loss out are not looked at. */
static void left_out(void) {
  about("steps: a Forward that leaves the loss out");
  given(2, "x[b,2]", NULL, "w");
  CompNode *u = Einsum("u[b] = x[b,I] w", x, p);
  loss = edf_name(Mean(u), "loss");
  edf_doctor(loss);
  fill(xs, 4, 1000);
  feed();
  edf_forward_to(u);
  fill(xs, 4, 1);
  run(1);
}

/* Scores and labels in the first step, in the second neither, at the same line. */
static void head_goes(void) {
  about("rebuilt: with a head, then without");
  given(4, "x[b,2]", "y[b]", "p[2]");
  for (int i = 0; i < 3; i++) {
    edf_clear_compnodes();
    CompNode *s = Einsum("s[b,k] = x[b,k] + p[k]", x, p);
    s = i ? Square(s) : SoftmaxLogLoss(s, y);
    for (int b = 0; b < 4; b++) ys[b] = (edf_real)(i ? 7 : b % 2);
    loss = Mean(s);
    if (!i) edf_doctor(loss);
    step();
    p->value[0] -= rate;
  }
}

/* The model is built in the loop, where nothing is cleared, or all; but not in each `of`-th
   step. 1: the doctor is asked in the loop; 2: a second loss is built behind the first. */
static void built_beside(const char *what, int stays, int of, int more) {
  about("built beside the old ones: %s", what);
  x = edf_input("c[2]");
  p = edf_parameter("W[2]");
  fill(xs, 2, 1);
  PUT(p->value, 4, 4);
  for (int i = 0; i < 9; i++) {
    int new_one = !i || of == 1 || i % of;
    if (!stays) edf_clear_compnodes();
    if (new_one) loss = edf_name(Square(Einsum("l = W[I] c[I]", p, x)), "loss");
    CompNode *one = loss, *two = new_one && more == 2 ? Sum(one) : NULL;
    if (!i || more == 1) edf_doctor(loss);
    p->value[0] -= rate;
    feed();
    edf_forward();
    edf_backward(one);
    if (two) edf_backward(two);
  }
}

/* Losses at one line that were all built before, in turn: nothing grows. */
static void heads_in_turn(void) {
  CompNode *head[3];
  about("three losses at one line, in turn");
  x = edf_input("c[2]");
  p = edf_parameter("W[2]");
  fill(xs, 2, 1);
  PUT(p->value, 4, 4);
  for (int k = 0; k < 3; k++) head[k] = Square(Einsum("l = W[I] c[I]", p, x));
  edf_doctor(head[0]);
  for (int i = 0; i < 9; i++) {
    p->value[0] -= rate;
    feed();
    edf_forward();
    edf_backward(head[i % 3]);
  }
}

/* So many Backwards of the probabilities, or of a node beside them, and then of the loss. */
static void of_another(int n, int beside) {
  about("%d Backwards of %s", n, beside ? "a node beside" : "probabilities");
  given(2, "x[b,2]", "y[b]", "W[2,3]");
  CompNode *Q = edf_name(Softmax(Einsum("s[b,k] = W[I,k] x[b,I]", p, x)), "Q");
  CompNode *u = Einsum("u[b] = x[b,I] W[I,0]", x, p);
  loss = edf_name(LogLoss(Q, y), "ell");
  edf_doctor(loss);
  PUT(xs, 1, 0, 0, 1);
  PUT(ys, 0, 1);
  for (int i = 0; i < 6; i++) {
    p->value[i] += rate * (edf_real)(i + 1);
    feed();
    edf_forward();
    edf_backward(i >= n ? loss : beside ? u : Q);
  }
}

/* The graph is built anew for each step, at one line, or at two in turn; the weight grows. */
static void rebuilt(const char *what, int anew, int lines) {
  about("rebuilt: %s", what);
  linear(1);
  p->value[0] = 4;
  for (int i = 0; i < 24; i++) {
    if (anew == 1 || (anew && i == 2) || !i) {
      edf_clear_compnodes();
      feed();
      Relu(Relu(Relu(p)));
      edf_forward();                     /* without the loss */
      edf_clear_compnodes();
      loss = Einsum("l = W[I,J] c[I,J]", p, x);
      if (lines == 2) loss = Einsum("l = W[I,J] c[I,J]", p, x);
      if (!i) edf_doctor(loss);
    }
    step();
    p->value[0] += (edf_real)(i ? 0.5 : -0.5);
  }
}

/* The doctor is asked about a loss, and then about another. */
static void of_two(const char *what, int again, int other) {
  about("two losses: %s", what);
  given(4, "x[b]", NULL, "w");
  PUT(p->value, 1);
  CompNode *one = edf_name(Sum(Square(Einsum("u[b] = x[b] w", x, p))), "one");
  CompNode *two = edf_name(Sum(Square(Einsum("u[b] = x[b] w", x, p))), "two");
  edf_doctor(one);
  if (again) edf_doctor(two);
  for (int b = 0; b < 4; b++) xs[b] = b % 2 ? 1 : -1;
  for (int i = 0; i < 21; i++) {
    loss = other || i % 2 ? two : one;
    step();
  }
}

static void program_steps(void) {
  of_steps("none", 21, none);
  of_steps("none until the 20th", 22, moves_at_20);
  of_steps("none until the 21st", 22, moves_at_21);
  of_steps("of size 0", 22, of_no_size);
  of_steps("the first before Backward", 3, early);
  of_steps("two after the third", 5, twice);
  of_steps("before Backward too", 5, late);
  of_steps("none until the 25th", 26, first_at_25);
  of_steps("by hand, and the sum stays", 22, sum_stays);
  of_steps("gradients are kept", 4, keeps);
  of_steps("gradients are kept, and set to 0", 22, keeps_none);
  of_steps("gradients are kept for four", 22, keeps_four);
  of_steps("gradients are kept, no step", 22, never);
  frozen_first("two", 2, 0);
  frozen_first("gradients are kept", 0, 1);
  one_forward();
  left_out();
  head_goes();
  built_beside("each step", 1, 1, 0);
  built_beside("each step, and the doctor is asked again", 1, 1, 1);
  built_beside("each step, and cleared", 0, 1, 0);
  built_beside("in two steps of three", 1, 3, 0);
  built_beside("of two losses, each step", 1, 1, 2);
  heads_in_turn();
  of_another(2, 0);
  of_another(3, 0);
  of_another(6, 0);
  of_another(6, 1);
  rebuilt("never", 0, 1);
  rebuilt("once", 2, 1);
  rebuilt("each step", 1, 1);
  rebuilt("each step, with another", 1, 2);
  of_two("the first", 0, 0);
  of_two("the second", 1, 0);
  of_two("the second alone", 1, 1);
  of_two("the first, which is not run", 0, 1);
}

/* ---- The gradients of layers: of A it is a, of B, the last one, b */

static void of_flow(const char *what, double a, double b, int other, int how) {
  about("flow: %s: %g and %g", what, a, b);
  x = edf_input("c[3]");
  p = how == 1 ? edf_parameter("A[1]") : edf_parameter("A[1,1]");
  Parameter *B = edf_parameter("B[1,1]"), *v = edf_parameter("v[1]");
  CompNode *from = how == 1 ? Einsum("f = A[I] c[0]", p, x) : Einsum("f = A[I,J] c[0]", p, x);
  if (how == 2) from = edf_compnode("Stop", same, NULL, from);
  loss = Einsum("l = B[I,J] c[1] + f + v[I] c[2]", B, x, from, v);
  edf_doctor(loss);
  PUT(p->value, 4);
  PUT(B->value, 2);
  if (how == 3) p->update = edf_frozen;
  for (int i = 1; i < 16; i++) {
    PUT(xs, i == other ? b : a, b, 1 << 24);
    step();
  }
}

static void flow(void) {
  const double millionth = 1.0 / (1 << 20);
  of_flow("much alike", 0.5, 2, 0, 0);
  of_flow("a millionth", millionth, 1, 0, 0);
  of_flow("a millionth of 4", 4 * millionth, 4, 0, 0);
  of_flow("two millionths", 2 * millionth, 1, 0, 0);
  of_flow("but once, after nine", millionth, 1, 10, 0);
  of_flow("but once, after three", millionth, 1, 4, 0);
  of_flow("a thousand", 1000, 1, 0, 0);
  of_flow("more than that", 1024, 1, 0, 0);
  of_flow("a millionth, but once, after five", millionth, 1, 6, 0);
  of_flow("more, but once, after five", 1024, 1, 6, 0);
  of_flow("256 times as much", 1024, 4, 0, 0);
  of_flow("0", 0, 1, 0, 0);
  of_flow("0 in the last", 1, 0, 0, 0);
  of_flow("0 in both", 0, 0, 0, 0);
  of_flow("of a vector", 0, 1, 0, 1);
  of_flow("behind a node without backward", 0, 1, 0, 2);
  of_flow("frozen", 0, 1, 0, 3);
}

/* ---- Units that are dead for 300 steps; in step `alive` one of them is not */

static void of_dead_later(int dead, int alive, int last) {
  about("dead later: %d of 5 units, one alive in step %d, %d steps", dead, alive, last);
  given(16, "x[b,5]", NULL, "p[5]");
  loss = Mean(edf_name(Relu(Einsum("u[b,j] = x[b,j] + p[j]", x, p)), "h"));
  edf_doctor(loss);
  for (int i = 0; i < 80; i++) xs[i] = (edf_real)((i % 5 + i / 5) % 2 ? 0.5 : -0.5);
  for (int j = 0; j < dead; j++) p->value[j] = -4;
  for (int i = 1; i <= last; i++) {
    xs[0] = (edf_real)(i == alive ? 4.5 : 0.5);
    step();
    edf_sgd(rate);
  }
}

/* Weights into the first node of the program, which is the last one too. */
static void dead_first(void) {
  about("dead later: the first node");
  p = edf_parameter("P[16,5]");
  loss = edf_name(Relu(p), "h");
  edf_doctor(loss);
  for (int i = 0; i < 80; i++) p->value[i] = (edf_real)(i % 5 > 1 ? -1 : 1 + i / 128.0);
  for (int i = 1; i <= 301; i++) {
    edf_forward();
    edf_backward(loss);
    edf_sgd(rate);
  }
}

static void dead_later(void) {
  dead_first();
  of_dead_later(3, 0, 299);
  of_dead_later(3, 0, 301);
  of_dead_later(2, 0, 301);
  of_dead_later(3, 200, 301);
  of_dead_later(3, 205, 301);
  of_dead_later(3, 20, 301);
  of_dead_later(3, 19, 301);
  of_dead_later(3, 300, 301);
}

/* ---- Evaluated as in training, and the other way round */

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

static void mode(void) {
  of_mode("Dropout", 1, 0, 2, 0, 1);
  of_mode("Dropout", 1, 0, 3, 0, 1);
  of_mode("Dropout", 1, 5, 2, 0, 1);
  of_mode("Dropout, not fed", 1, 0, 4, 0, 0);
  of_mode("BatchNorm", 2, 0, 3, 0, 1);
  of_mode("neither", 0, 0, 4, 0, 1);
  of_mode("Dropout, the first node", 3, 0, 3, 0, 1);
  of_mode("Dropout, the last node", 4, 0, 3, 0, 1);
  of_mode("Dropout", 1, 0, 0, 5, 1);
  of_mode("Dropout", 1, 0, 0, 6, 1);
  of_mode("Dropout", 1, 0, 2, 5, 1);
  of_mode("Dropout", 1, 0, 2, 6, 1);
  of_mode("BatchNorm", 2, 0, 0, 6, 1);
}

/* ---- Rows that were trained on */

static void put_rows(int n, int width, int first) {
  for (int b = 0; b < n; b++)
    for (int k = 0; k < width; k++)
      xs[b * width + k] = (edf_real)(((first + b) * (k + 3) % 257 - 128) / 256.0);
}

/* Of `tested` rows `known` were trained on. */
static void of_leak(int width, int trained, int tested, int known, int training) {
  about("leak: %d rows of %d, %d of %d known%s", trained, width, known, tested,
        training == 1 ? ", in training" : training ? ", before the loss" : "");
  rows = trained;
  x = edf_input("x[b,%d]", width);
  p = edf_parameter("w");
  CompNode *l = Einsum("l[b] = x[b,I] w", x, p);
  loss = Mean(l);
  edf_doctor(loss);
  put_rows(trained, width, 0);
  run(2);
  put_rows(tested, width, trained - known);
  rows = tested;
  edf.training = training == 1;
  feed();
  if (training < 2) edf_forward();
  else edf_forward_to(l);
}

/* Rows that are known but for one entry, each another one. */
static void one_entry(int width) {
  about("leak: rows of %d, of which one entry is another", width);
  rows = width;
  x = edf_input("x[b,%d]", width);
  p = edf_parameter("w");
  loss = Mean(Einsum("l[b] = x[b,I] w", x, p));
  edf_doctor(loss);
  put_rows(width, width, 0);
  run(1);
  for (int b = 0; b < width; b++) xs[b * width + b] += 2;
  edf.training = 0;
  feed();
  edf_forward();
}

static void leak(void) {
  one_entry(37);
  one_entry(40);
  of_leak(4, 40, 20, 4, 0);
  of_leak(4, 40, 20, 3, 0);
  of_leak(4, 40, 19, 19, 0);
  of_leak(4, 40, 20, 20, 0);
  of_leak(4, 40, 100, 4, 0);
  of_leak(4, 40, 100, 5, 0);
  of_leak(3, 40, 20, 20, 0);
  of_leak(37, 40, 20, 20, 0);
  of_leak(4, 40, 20, 20, 1);
  of_leak(4, 40, 20, 20, 2);
}

/* ---- Labels unrelated to the inputs: batches of 9 and 7 in turn, and steps that fit each:
   scores of `size` more for its class, which lower that batch's loss by size / 8; there are 14
   such looks. The true class has `known` more, after step 200 `later`. */

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

static void unrelated(void) {
  of_unrelated(16, 0.0625, 0, 0, 301);
  of_unrelated(16, 0.0625, 0, 0, 299);
  of_unrelated(32, 0.125, 0, 0, 301);
  of_unrelated(16, 0.055, 0, 0, 301);
  of_unrelated(15, 0.0625, 0, 0, 301);
  of_unrelated(16, 0.125, 0.1875, 0.1875, 301);
  of_unrelated(16, 0.125, 0.25, 0.25, 301);
  of_unrelated(16, 0.0625, -0.1875, 0, 301);
  of_unrelated(16, 0.0625, -0.25, 0, 301);
}

/* ---- After step 300: what was kept is given back, and of many rows a sample. */

static void new_rows(int step_number) {
  for (int b = 0; b < 8; b++)
    for (int k = 0; k < 4; k++)
      xs[4 * b + k] = (edf_real)(!k ? 0.25 : (k % 2 ? 1 : -1) *
                                               (8 * step_number + b + 1) / 4096.0);
}

/* Steps, then the same rows in evaluation; how many blocks are given back after step 300. */
static long after_looks(void) {
  long blocks = 0;
  about("after step 300");
  given(8, "x[b,4]", NULL, "w[4]");
  loss = Mean(Einsum("l[b] = x[b,I] w[I] + v", x, p, edf_parameter("v")));
  edf_doctor(loss);
  for (int i = 0; i < 302; i++) {
    if (i == 300) blocks = memory.live;
    new_rows(i);
    step();
    edf_sgd(rate);
  }
  blocks -= memory.live;
  edf.training = 0;
  for (int i = 0; i < 300; i++) {
    new_rows(i);
    feed();
    edf_forward();
  }
  return blocks;
}

static void test_end(void) {
  int hits = 0, tested = 0, n = 0;
  capture_begin();
  long blocks = after_looks();
  capture_end();
  CHECK(blocks == 4, "%ld blocks are given back, not x, w, v and their list", blocks);
  char *at = strstr(captured, "100 % of the evaluation rows");
  for (int k = 0; at && k < 2; k++) at = strstr(at + 1, "\n  ");
  int found = at ? sscanf(at, " %d of %d rows, a sample of those%n", &hits, &tested, &n) : 0;
  CHECK(found == 2 && n && hits == tested, "%s", captured);
  edf_clear();
  edf.training = 1;
}

static void test_data_nan(void) { section("data_nan", data_nan); }
static void test_scale(void) { section("scale", scale); }
static void test_centre(void) { section("centre", centre); }
static void test_alike(void) { section("alike", alike); }
static void test_data(void) { section("data", data); }
static void test_labels(void) { section("labels", labels); }
static void test_targets(void) { section("targets", targets); }
static void test_softmaxes(void) { section("softmaxes", softmaxes); }
static void test_first_losses(void) { section("first_losses", first_losses); }
static void test_bends(void) { section("bends", bends); }
static void test_equal_units(void) { section("equal_units", equal_units); }
static void test_unused(void) { section("unused", unused); }
static void test_gradients(void) { section("gradients", gradients); }
static void test_sums(void) { section("sums", sums); }
static void test_too_large(void) { section("too_large", too_large); }
static void test_high(void) { section("high", high); }
static void test_too_small(void) { section("too_small", too_small); }
static void test_idle(void) { section("idle", idle); }
static void test_uphill(void) { section("uphill", uphill); }
static void test_program_steps(void) { section("program_steps", program_steps); }

static void test_no_number(void) { section("no_number", no_number); }
static void test_flow(void) { section("flow", flow); }
static void test_dead_later(void) { section("dead_later", dead_later); }
static void test_mode(void) { section("mode", mode); }
static void test_leak(void) { section("leak", leak); }
static void test_unrelated(void) { section("unrelated", unrelated); }

/* The doctor's measuring puts back what it finds: gradients, values, memory, random numbers. */
typedef struct { double p[10]; long live; unsigned long long draws; } left_over;

static void two_forward(edf_node *c) {
  for (size_t i = 0; i < c->size; i++)
    c->value[i] = c->in[0]->value[i] * c->in[1]->value[i];
}
static void two_backward(edf_node *c) {
  for (size_t i = 0; i < c->size; i++) {
    if (own_assigns) c->in[0]->grad[i] = c->grad[i] * c->in[1]->value[i];
    else edf_addgrad(c->in[0], i, c->grad[i] * c->in[1]->value[i]);
    edf_addgrad(c->in[1], i, (edf_real)own_factor * c->grad[i] * c->in[0]->value[i]);
  }
}

static left_over measured(int watch, int mismatch, double factor) {
  left_over r;
  about("put back");
  p = edf_parameter("p[2]");
  Parameter *q = edf_parameter("q[2]");
  CompNode *h = edf_compnode("Two", two_forward, two_backward, p, q);
  loss = Mean(Add(Dropout(Square(h), 0.5), Square(p)));
  if (mismatch) edf_expect_mismatch(h);
  if (watch) edf_doctor(loss);
  own_assigns = factor == 2;
  own_factor = own_assigns ? 1 : factor;
  PUT(p->value, 2, 3);
  PUT(q->value, 5, 7);
  edf_forward();
  edf_backward(loss);
  r.live = memory.live;
  r.draws = edf.draws;
  for (int k = 0; k < 2; k++) {
    r.p[k] = (double)p->value[k];
    r.p[k + 2] = (double)p->grad[k];
    r.p[k + 4] = (double)q->value[k];
    r.p[k + 6] = (double)q->grad[k];
    r.p[k + 8] = (double)h->grad[k];
  }
  return r;
}

static void test_put_back(void) {
  const double factors[] = { 1, -1, 1.5, 2 };               /* 2: '=' */
  for (int k = 0; k < 4; k++) {
    capture_begin();
    left_over without = measured(0, 0, factors[k]), with = measured(1, 0, factors[k]);
    left_over blind = measured(1, 1, factors[k]);
    capture_end();
    for (int i = 0; i < 10; i++)
      CHECK(with.p[i] == without.p[i], "number %d is %g, was %g", i, with.p[i], without.p[i]);
    CHECK(with.draws == without.draws, "%llu draws, not %llu", with.draws, without.draws);
    CHECK(with.live == blind.live, "%ld blocks, not %ld", with.live, blind.live);
  }
  edf_clear();
}

/* Batches of other sizes from step to step: the same weights as without the doctor. */
static void of_batches(int watch, edf_real *w) {
  about("batches");
  x = edf_input("x[b,3]");
  p = edf_parameter("W[3,2]");
  CompNode *h = Tanh(Einsum("h[b,j] = W[I,j] x[b,I]", p, x));
  loss = Mean(Square(h));
  if (watch) edf_doctor(loss);
  for (int i = 0; i < 6; i++) p->value[i] = (edf_real)((i - 2.25) / 8);
  for (int i = 0; i < 12; i++) {
    rows = 2 + i % 3;
    for (int k = 0; k < 3 * rows; k++) xs[k] = (edf_real)((k * 5 + i * 3) % 16 / 8.0 - 1);
    step();
    CHECK(h->dim[0] == rows, "step %d: %d rows, not %d", i, h->dim[0], rows);
    edf_sgd((edf_real)0.125);
  }
  memcpy(w, p->value, 6 * sizeof *w);
}

static void test_batches(void) {
  edf_real with[6], without[6];
  capture_begin();
  of_batches(0, without);
  of_batches(1, with);
  capture_end();
  CHECK(!memcmp(with, without, sizeof with), "%g is not %g", (double)with[0],
        (double)without[0]);
  edf_clear();
}

/* Who else watches still does. */
static void test_others_watch(void) {
  linear(1);
  edf_break(NULL);
  edf.look = 0;
  capture_begin();
  edf_break("l");
  capture_end();
  unsigned before = edf.look;
  edf_doctor(loss);
  CHECK(before && edf.look == before, "%u, then %u", before, edf.look);
  CHECK(edf.watchers, "the doctor does not");
  long blocks = 0;
  for (int i = 0; i < 2; i++) {
    loss = Relu(Einsum("l = W[I,J] c[I,J]", p, x));
    edf_doctor(loss);
    edf_doctor(loss->in[0]);
    edf_clear_compnodes();
    if (!i) blocks = memory.live;
  }
  CHECK(memory.live == blocks, "%ld blocks, then %ld", blocks, memory.live);
  edf_clear();
}

int main(int argc, char **argv) {
  writes = argc > 1 && !strcmp(argv[1], "--write");
  if (writes) remove(path);
  RUN(test_data_nan);
  RUN(test_scale);
  RUN(test_centre);
  RUN(test_alike);
  RUN(test_data);
  RUN(test_labels);
  RUN(test_targets);
  RUN(test_softmaxes);
  RUN(test_first_losses);
  RUN(test_bends);
  RUN(test_equal_units);
  RUN(test_unused);
  RUN(test_gradients);
  RUN(test_sums);
  RUN(test_too_large);
  RUN(test_high);
  RUN(test_too_small);
  RUN(test_idle);
  RUN(test_uphill);
  RUN(test_program_steps);
  RUN(test_no_number);
  RUN(test_flow);
  RUN(test_dead_later);
  RUN(test_mode);
  RUN(test_leak);
  RUN(test_unrelated);
  RUN(test_end);
  RUN(test_put_back);
  RUN(test_batches);
  RUN(test_others_watch);
  end_capture();
  if (*caught) fprintf(stderr, "the last panic: %s\n", caught);
  return harness_report();
}
