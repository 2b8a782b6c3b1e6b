/* ps0/parts.c - the graded parts of problem set 0: a framework, against edf.h and plain loops.
   The student's process has nothing of edf.h: with it are our side's nodes and calls, which
   come first. Behind them are the judges, which know the answers. */
#include "ps0.h"
#include "grade.h"
#include <math.h>

/* Which function is F, and which sign has B? */
const grade_variant grade_variants[] = {
  { "F", 0, 0, 0, "sigmoid tanh atan" }, { "Z", 0, 0, 0, "- +" }, { NULL, 0, 0, 0, NULL }
};

enum {
  ROWS = 2, COLUMNS = 3, SIZE = ROWS * COLUMNS,          /* of a node                         */
  NODES = 4, RAN = 24, GRADS = (NODES + 2) * SIZE,       /* of the graph that is run          */
  GRAPH_ANSWER = 2 + RAN + SIZE + 2 * GRADS,
  XOR_NUMBERS = 22, XOR_STEPS = 200,
  TRAIN = 8000, TEST = 1000, MOST_WRONG = 6              /* digits; the last one in percent   */
};

/* The nodes that are tried, with shapes and loops */
enum { PRODUCT, BIAS, ACTIVATION, LOSS };
typedef struct {
  int kind, n_loops, rows, columns, a_rows, a_columns, b_rows, b_columns;
  Loop loop[4];
  const char *formula, *names[2];
} spec;
static const spec specs[] = {
  { PRODUCT, 3, 2, 3, 3, 4, 2, 4, { { 2, 3, 0, 4 }, { 3, 1, 4, 0 }, { 4, 0, 1, 1 } },
    "y[b,j] = W[j,I] x[b,I]", { "W", "x" } },
  { PRODUCT, 3, 2, 4, 1, 3, 2, 6, { { 2, 4, 0, 6 }, { 4, 1, 0, 1 }, { 3, 0, 1, 1 } },
    "y[b,t] = K[0,D] x[b,t+D]", { "K", "x" } },
  { PRODUCT, 2, 3, 4, 1, 3, 1, 4, { { 3, 4, 1, 0 }, { 4, 1, 0, 1 }, { 0, 0, 0, 0 } },
    "y[i,j] = a[0,i] b[0,j]", { "a", "b" } },
  { PRODUCT, 4, 2, 3, 4, 3, 2, 5,
    { { 2, 3, 0, 5 }, { 3, 1, 1, 0 }, { 4, 0, 3, 0 }, { 5, 0, 0, 1 } },
    "y[b,j] = W[K,j] x[b,I]", { "W", "x" } },
  { PRODUCT, 0, 1, 1, 1, 1, 1, 1, { { 0, 0, 0, 0 } }, "y[0,0] = a[0,0] b[0,0]", { "a", "b" } },
  { BIAS, 0, 3, 4, 3, 4, 1, 4, { { 0, 0, 0, 0 } }, "the bias", { "x", "B" } },
  { ACTIVATION, 0, 3, 4, 3, 4, 0, 0, { { 0, 0, 0, 0 } }, "the activation", { "x", "" } },
  { LOSS, 0, 4, 1, 4, 5, 4, 1, { { 0, 0, 0, 0 } }, "the loss", { "s", "y" } }
};
enum { FIRST_BIAS = 5, FIRST_ACTIVATION, FIRST_LOSS };

#ifdef GRADE_DESK
/* ---- Nodes of ours in the student's lists: a b and a + b of each entry. They note which one
   runs: its number in the list, negative for a backward. */
static double ran[64];
static int n_ran;
static void note(const Node *y, int sign) {
  for (int i = 0; i < n_compnodes && n_ran < 64; i++)
    if (compnodes[i] == y) ran[n_ran++] = sign * (i + 1);
}
static void multiply(Node *y) {
  note(y, 1);
  for (int i = 0; i < SIZE; i++) y->value[i] = y->in[0]->value[i] * y->in[1]->value[i];
}
static void multiply_backward(Node *y) {
  note(y, -1);
  for (int i = 0; i < SIZE; i++) {
    double a = y->in[0]->value[i], b = y->in[1]->value[i];
    y->in[0]->grad[i] += y->grad[i] * b;
    y->in[1]->grad[i] += y->grad[i] * a;
  }
}
static void add(Node *y) {
  note(y, 1);
  for (int i = 0; i < SIZE; i++) y->value[i] = y->in[0]->value[i] + y->in[1]->value[i];
}
static void add_backward(Node *y) {
  note(y, -1);
  for (int i = 0; i < SIZE; i++) {
    y->in[0]->grad[i] += y->grad[i];
    y->in[1]->grad[i] += y->grad[i];
  }
}
static Node *times(Node *a, Node *b) {
  return CompNode(ROWS, COLUMNS, multiply, multiply_backward, a, b);
}
static Node *plus(Node *a, Node *b) {
  return CompNode(ROWS, COLUMNS, add, add_backward, a, b);
}

/* ---- 1 */
static int is_new(const Node *x, int rows, int columns) {
  int zero = x->value && x->grad && x->value != x->grad && x->rows == rows &&
             x->columns == columns;
  for (int i = 0; zero && i < rows * columns; i++) zero = x->value[i] == 0 && x->grad[i] == 0;
  return zero;
}
static void call_lists(const double *in, double *out) {
  Node *x = Input((int)in[0], (int)in[1]), *p = Parameter((int)in[1], 1);
  Node *q = Parameter(1, 1), *y = CompNode(ROWS, COLUMNS, add, add_backward, x, p);
  Node *z = CompNode(1, (int)in[0], multiply, multiply_backward, q, NULL);
  out[0] = is_new(x, (int)in[0], (int)in[1]) && is_new(p, (int)in[1], 1) &&
           is_new(z, 1, (int)in[0]);
  out[1] = n_inputs == 1 && inputs[0] == x;
  out[2] = n_parameters == 2 && parameters[0] == p && parameters[1] == q;
  out[3] = n_compnodes == 2 && compnodes[0] == y && compnodes[1] == z;
  out[4] = y->in[0] == x && y->in[1] == p && z->in[0] == q && !z->in[1];
  out[5] = y->forward == add && y->backward == add_backward && z->forward == multiply &&
           z->backward == multiply_backward;
}

/* ---- 2 and 3. u = x x, v = u + z, w = v u and L = w + v, of a Parameter x and an Input z.
   Asked: x, z, and whether the student's Forward runs, or else each forward here, so that it
   costs Backward nothing. Answered: how many have run in Forward, and then in Backward; which;
   L; the gradients of x, z, u, v, w and L, once and again. */
static void run_forward(Node **all, int students) {
  if (students) Forward();
  else for (int k = 2; k < NODES + 2; k++) all[k]->forward(all[k]);
}
static void call_graph(const double *in, double *out) {
  Node *x = Parameter(ROWS, COLUMNS), *z = Input(ROWS, COLUMNS), *u = times(x, x);
  Node *v = plus(u, z), *w = times(v, u), *L = plus(w, v), *all[] = { x, z, u, v, w, L };
  memcpy(x->value, in, SIZE * sizeof *in);
  memcpy(z->value, in + SIZE, SIZE * sizeof *in);
  run_forward(all, in[2 * SIZE] != 0);
  out[0] = n_ran;
  Backward(L);
  out[1] = n_ran;
  for (int i = 0; i < RAN; i++) out[2 + i] = ran[i];
  memcpy(out + 2 + RAN, L->value, SIZE * sizeof *out);
  for (int again = 0; again < 2; again++) {
    double *to = out + 2 + RAN + SIZE + again * GRADS;
    for (int k = 0; k < NODES + 2; k++) memcpy(to + k * SIZE, all[k]->grad, SIZE * sizeof *to);
    if (again) break;
    run_forward(all, in[2 * SIZE] != 0);
    Backward(L);
  }
}

/* ---- 4. Two Parameters and an Input, whose gradients are given */
static void call_sgd(const double *in, double *out) {
  Node *all[3] = { Parameter(ROWS, COLUMNS), Parameter(1, SIZE), Input(ROWS, COLUMNS) };
  for (int k = 0; k < 3; k++) {
    memcpy(all[k]->value, in + 1 + 2 * k * SIZE, SIZE * sizeof *in);
    memcpy(all[k]->grad, in + 1 + (2 * k + 1) * SIZE, SIZE * sizeof *in);
  }
  SGD(in[0]);
  for (int k = 0; k < 3; k++) memcpy(out + k * SIZE, all[k]->value, SIZE * sizeof *out);
}

/* ---- 5 to 8. Asked: which spec, whether backward runs, the values of a and b; for backward the
   value and the gradient of y, and the gradients that a and b have before. */
static const double *take(double *to, int n, const double *from) {
  memcpy(to, from, (size_t)n * sizeof *to);
  return from + n;
}
static void call_node(const double *in, double *out) {
  const spec *s = &specs[(int)in[0]];
  int a_size = s->a_rows * s->a_columns, b_size = s->b_rows * s->b_columns, size;
  const double *at = in + 2;
  Node *a, *b = NULL, *y;
  n_inputs = n_parameters = n_compnodes = 0;
  a = Input(s->a_rows, s->a_columns);
  if (b_size) b = Input(s->b_rows, s->b_columns);
  y = s->kind == PRODUCT ? Product(s->rows, s->columns, s->loop, s->n_loops, a, b)
      : s->kind == BIAS ? Bias(a, b) : s->kind == ACTIVATION ? Activation(a) : LogLoss(a, b);
  size = y->rows * y->columns;
  if (y->rows != s->rows || y->columns != s->columns) {
    fprintf(stderr, "%s: a node of %d rows and %d columns, expected %d and %d\n", s->formula,
            y->rows, y->columns, s->rows, s->columns);
    exit(1);
  }
  at = take(a->value, a_size, at);
  if (b) at = take(b->value, b_size, at);
  if (in[1]) {
    at = take(y->value, size, at);
    at = take(y->grad, size, at);
    at = take(a->grad, a_size, at);
    if (b) take(b->grad, b_size, at);
    y->backward(y);
    memcpy(out, a->grad, (size_t)a_size * sizeof *out);
    if (b) memcpy(out + a_size, b->grad, (size_t)b_size * sizeof *out);
    return;
  }
  for (int i = 0; i < size; i++) y->value[i] = 7;          /* of another pass                 */
  y->forward(y);
  memcpy(out, y->value, (size_t)size * sizeof *out);
}

static void call_sum(const double *in, double *out) {
  Loop loop[4] = { { 0, 0, 0, 0 } };
  int n = (int)in[0];
  for (int i = 0; i < 4; i++) {
    const double *l = in + 1 + 4 * i;
    loop[i] = (Loop){ (int)l[0], (int)l[1], (int)l[2], (int)l[3] };
  }
  memcpy(out, in + 17, 100 * sizeof *out);
  sum_of_products(loop, n, out, in + 117, in + 217);
}

/* ---- 9 and 10 */
static void call_xor(const double *in, double *out) {
  n_inputs = n_parameters = n_compnodes = 0;
  learn_xor(in + 2, (int)in[1], in[0], out);
}
static void call_digits(const double *in, double *out) {
  static int answer[TEST];
  const double *x = in, *y = x + TRAIN * 784, *x_test = y + TRAIN;
  learn_digits(x, y, TRAIN, x_test, TEST, answer);
  for (int i = 0; i < TEST; i++) out[i] = answer[i];
}

#else
#include "named.h"

/* ---- 1 */

static double judge_lists(const grade_part *p) {
  static const char *const what[] = {
    "a new node does not have its rows and columns, and value and grad that are 0",
    "inputs[0] is not the first Input",
    "the list of Parameters does not have both, in the order of the calls",
    "the list of CompNodes does not have both, in the order of the calls",
    "in[0] and in[1] are not a and b", "forward and backward are not those of the call"
  };
  double in[2] = { 2 + grade_below(5), 2 + grade_below(5) };
  const double *out = grade_ask(in, 2, 6);
  (void)p;
  for (int i = 0; i < 6; i++)
    if (!out[i]) {
      printf("%s\n", what[i]);
      return 0;
    }
  return 1;
}

/* ---- 2 and 3 */
static const double *ask_graph(double *x, int forward) {
  for (int i = 0; i < 2 * SIZE; i++) x[i] = grade_uniform(-1, 1);
  x[2 * SIZE] = forward;
  return grade_ask(x, 2 * SIZE + 1, GRAPH_ANSWER);
}
/* Compares which nodes have run, from a to b: 1 to 4, or -4 to -1. */
static int ran_in_order(const double *out, int a, int b, int first, const char *what) {
  int right = b - a == NODES;
  for (int i = 0; right && i < NODES; i++) right = out[2 + a + i] == first + i;
  if (right) return 1;
  printf("%s runs:", what);
  for (int i = a; i < b && i < RAN; i++)
    printf(" %s of %d,", out[2 + i] < 0 ? "backward" : "forward", (int)fabs(out[2 + i]));
  printf("%s expected %s of compnodes %s\n", a == b ? " nothing," : "",
         first < 0 ? "backward" : "forward", first < 0 ? "4, 3, 2, 1" : "1, 2, 3, 4");
  return 0;
}
/* The same graph in edf.h. Returns how many gradients differ, of nodes k0 to k1. */
static int grads_differ(const double *x_value, const double *found, int k0, int k1,
                        const char *what) {
  static const char *const names[] = { "x", "z", "u", "v", "w", "L" };
  edf_clear();
  edf_node *x = edf_parameter("x[%d,%d]", ROWS, COLUMNS), *u = edf_mul(x, x);
  edf_node *z = edf_want_grad(edf_input("z[%d,%d]", ROWS, COLUMNS)), *v = edf_add(u, z);
  edf_node *w = edf_mul(v, u), *L = edf_add(w, v), *all[] = { x, z, u, v, w, L };
  memcpy(x->value, x_value, SIZE * sizeof *x_value);
  edf_feed(z, x_value + SIZE, ROWS);
  edf_forward();
  edf_backward(L);
  for (int k = k0; k <= k1; k++)
    for (int i = 0; i < SIZE; i++)
      if (!grade_same(edf_fmt("%s%s.grad[%d,%d]", what, names[k], i / COLUMNS, i % COLUMNS),
                      found[k * SIZE + i], edf_grad(all[k])[i])) return 1;
  return 0;
}

static double judge_forward(const grade_part *p) {
  (void)p;
  double x[2 * SIZE + 1];
  const double *out = ask_graph(x, 1);
  if (!ran_in_order(out, 0, (int)out[0], 1, "Forward")) return 0;
  for (int i = 0; i < SIZE; i++) {
    double u = x[i] * x[i], v = u + x[SIZE + i];
    if (!grade_same("an entry of v u + v, with u = x x and v = u + z,", out[2 + RAN + i],
                    v * u + v)) return 0;
  }
  return 1;
}
static double judge_order(const grade_part *p) {
  (void)p;
  double x[2 * SIZE + 1];
  const double *out = ask_graph(x, 0);
  return ran_in_order(out, (int)out[0], (int)out[1], -NODES, "Backward");
}
static double judge_grads(const grade_part *p) {
  double x[2 * SIZE + 1];
  const double *first = ask_graph(x, 0) + 2 + RAN + SIZE;
  const char *name = p->name + 10;                 /* behind "backward: "                      */
  if (!strcmp(name, "the loss"))
    return !grads_differ(x, first, NODES + 1, NODES + 1, "after Backward, ");
  if (!strcmp(name, "shared nodes"))
    return !grads_differ(x, first, 0, NODES, "u = x x, v = u + z, w = v u, L = w + v: ");
  return !grads_differ(x, first + GRADS, 0, NODES + 1, "when Backward runs again, ");
}

/* ---- 4 */
static double judge_sgd(const grade_part *p) {
  double in[1 + 6 * SIZE];
  in[0] = grade_uniform(0.1, 0.9);
  for (int i = 1; i <= 6 * SIZE; i++) in[i] = grade_uniform(-1, 1);
  const double *out = grade_ask(in, 1 + 6 * SIZE, 3 * SIZE);
  (void)p;
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < SIZE; i++) {
      const double *v = in + 1 + 2 * k * SIZE + i;
      if (!grade_same(k < 2 ? "after a step, an entry of a Parameter"
                            : "after a step, an entry of an Input", out[k * SIZE + i],
                      k < 2 ? v[0] - in[0] * v[SIZE] : v[0])) return 0;
    }
  return 1;
}

/* ---- 5 to 8 */
static double activation(double x) {
  const char *F = grade_word("F");
  return *F == 's' ? 1 / (1 + exp(-x)) : *F == 't' ? tanh(x) : atan(x);
}
static void sum_loops(const Loop *loop, int n, double *y, const double *a, const double *b) {
  if (!n) *y += *a * *b;
  for (int i = 0; n && i < loop->extent; i++)
    sum_loops(loop + 1, n - 1, y + i * loop->y, a + i * loop->a, b + i * loop->b);
}
/* The value of a node, in plain loops. */
static void define(const spec *s, double *y, const double *a, const double *b) {
  int size = s->rows * s->columns, K = s->a_columns;
  memset(y, 0, (size_t)size * sizeof *y);
  if (s->kind == PRODUCT) sum_loops(s->loop, s->n_loops, y, a, b);
  for (int i = 0; i < size; i++) {
    if (s->kind == BIAS) y[i] = a[i] + (*grade_word("Z") == '+' ? 1 : -1) * b[i % s->columns];
    if (s->kind == ACTIVATION) y[i] = activation(a[i]);
    if (s->kind == LOSS) {
      double most = a[i * K], sum = 0;
      for (int k = 0; k < K; k++) most = fmax(most, a[i * K + k]);
      for (int k = 0; k < K; k++) sum += exp(a[i * K + k] - most);
      y[i] = most + log(sum) - a[i * K + (int)b[i]];
    }
  }
}

static const spec *asked;                /* by the functions of the node below                */
static void asked_shape(edf_node *y) {
  y->rank = 2;
  y->dim[0] = asked->rows;
  y->dim[1] = asked->columns;
}
static void asked_forward(edf_node *y) {
  define(asked, y->value, y->in[0]->value, y->n_in > 1 ? y->in[1]->value : NULL);
}
static double *put(double *to, const double *from, size_t n) {
  if (from) memcpy(to, from, n * sizeof *to);
  else memset(to, 0, n * sizeof *to);
  return to + n;
}
static void asked_backward(edf_node *y) {
  double in[200] = { (double)(asked - specs), 1 }, *at = in + 2;
  size_t n = 0;
  for (int k = 0; k < y->n_in; k++) at = put(at, y->in[k]->value, y->in[k]->size);
  at = put(at, y->value, y->size);
  at = put(at, y->grad, y->size);
  for (int k = 0; k < y->n_in; k++) {
    at = put(at, y->in[k]->grad, y->in[k]->size);
    n += y->in[k]->size;
  }
  const double *out = grade_ask(in, (size_t)(at - in), n);
  for (int k = 0; k < y->n_in; out += y->in[k++]->size)
    if (y->in[k]->grad) memcpy(y->in[k]->grad, out, y->in[k]->size * sizeof *out);
}

/* The inputs of a node. Only `row` gets a gradient. */
static edf_node *leaf(int k, int row, int rows, int columns, const double *v) {
  const char *name = asked->names[k];
  edf_node *x = k == row ? edf_parameter("%s[%d,%d]", name, rows, columns)
                         : edf_input("%s[%d,%d]", name, rows, columns);
  if (k == row) memcpy(x->value, v, x->size * sizeof *v);
  else edf_feed(x, v, rows);
  return x;
}
/* Draws the inputs, one behind the other, and returns their number. A large number is added to
   one of them. */
static int draw(const spec *s, double *a, double large) {
  int n = s->a_rows * s->a_columns, all = n + s->b_rows * s->b_columns;
  for (int i = 0; i < all; i++)
    a[i] = s->kind == LOSS && i >= n ? grade_below(s->a_columns) : grade_uniform(-2, 2);
  a[1] += large;
  return all;
}
/* Compares what the student's backward adds with slopes of the formula. If it is wrong,
   edf_gradcheck finds the likely mistake. */
static int check_backward(const spec *s, int row, double large) {
  static const char *const names[] = { "Product", "Bias", "Activation", "LogLoss" };
  double in[200], *a = in + 2, up[20], down[20];
  int n = draw(s, a, large), n_a = s->a_rows * s->a_columns, size = s->rows * s->columns;
  double *b = a + n_a, *y = a + n, *r = y + size, *before = r + size;
  int wrong = -1, first = row ? n_a : 0, end = row ? n : n_a;
  in[0] = (double)(s - specs);
  in[1] = 1;
  define(s, y, a, b);
  for (int i = 0; i < size; i++) r[i] = grade_uniform(-1, 1);
  for (int i = 0; i < n; i++) before[i] = grade_uniform(1, 2);
  const double *out = grade_ask(in, (size_t)(before + n - in), (size_t)n);
  for (int i = first; i < end && wrong < 0; i++) {
    double was = a[i], slope = 0;
    a[i] = was + 1e-5;
    define(s, up, a, b);
    a[i] = was - 1e-5;
    define(s, down, a, b);
    a[i] = was;
    for (int k = 0; k < size; k++) slope += r[k] * (up[k] - down[k]) / 2e-5;
    if (!(fabs(out[i] - before[i] - slope) <= 1e-6 + (large ? 1e-3 : 1e-6) * fabs(slope)))
      wrong = i;
  }
  if (wrong < 0) return 1;
  printf("the gradient of %s in %s:\n", s->names[row], s->formula);
  if (large) {
    printf("%g was added to one score: the gradient of it is %g\n", large,
           out[wrong] - before[wrong]);
    return 0;
  }
  edf_clear();
  asked = s;
  edf_node *x0 = leaf(0, row, s->a_rows, s->a_columns, a);
  edf_node *x1 = s->b_rows ? leaf(1, row, s->b_rows, s->b_columns, b) : NULL;
  edf_gradcheck(edf_compnode_at("ps0.c", 1, names[s->kind], asked_shape, asked_forward,
                                asked_backward, x0, x1, (edf_node *)0));
  return 0;
}
static int check_forward(const spec *s, double large) {
  double in[80], y[20], *a = in + 2, *b = a + s->a_rows * s->a_columns;
  int n = draw(s, a, large);
  in[0] = (double)(s - specs);
  in[1] = 0;
  const double *out = grade_ask(in, 2 + (size_t)n, (size_t)(s->rows * s->columns));
  define(s, y, a, b);
  for (int i = 0; i < s->rows * s->columns; i++)
    if (!grade_same(edf_fmt("%s: y[%d,%d]", s->formula, i / s->columns, i % s->columns), out[i],
                    y[i])) {
      if (fabs(out[i] - y[i] - 7) < 1e-6) printf("each entry of y was 7 before\n");
      return 0;
    }
  return 1;
}
/* From the name of a part to its specs, and what is asked. */
static double judge_node(const grade_part *p) {
  int first = *p->name == 'p' ? 0 : *p->name == 'b' ? FIRST_BIAS
              : *p->name == 'a' ? FIRST_ACTIVATION : FIRST_LOSS;
  int end = first ? first + 1 : FIRST_BIAS, rows = 0, right = 0;
  for (int k = first; k < end; k++) {
    const spec *s = &specs[k];
    if (strstr(p->name, "forward")) {
      int large = s->kind == LOSS;
      rows++;
      right += check_forward(s, 0) && (!large || (check_forward(s, 5000) &&
                                                  check_forward(s, -5000)));
    } else
      for (int row = 0; row < 1 + (s->b_rows && s->kind != LOSS); row++) {
        rows++;
        right += check_backward(s, row, 0) &&
                 (s->kind != LOSS || (check_backward(s, row, 5000) &&
                                      check_backward(s, row, -5000)));
      }
  }
  return (double)right / rows;
}

static double judge_sum(const grade_part *p) {
  (void)p;
  for (int n = 0; n <= 4; n++) {
    double in[317], y[100];
    Loop loop[4];
    in[0] = n;
    for (int i = 0; i < 4; i++) {
      loop[i] = (Loop){ 2 + grade_below(3), grade_below(6), grade_below(6), grade_below(6) };
      double *l = in + 1 + 4 * i;
      l[0] = loop[i].extent, l[1] = loop[i].y, l[2] = loop[i].a, l[3] = loop[i].b;
    }
    for (int i = 17; i < 317; i++) in[i] = grade_uniform(-1, 1);
    memcpy(y, in + 17, sizeof y);
    const double *out = grade_ask(in, 317, 100);
    sum_loops(loop, n, y, in + 117, in + 217);
    for (int i = 0; i < 100; i++)
      if (!grade_same(edf_fmt("with %d loops, y[%d]", n, i), out[i], y[i])) {
        printf("y[%d] was %.6g before\n", i, in[17 + i]);
        return 0;
      }
  }
  return 1;
}

/* ---- 9. XOR: the Parameters after some steps, against the same network in edf.h */
static void edf_activation_forward(edf_node *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = activation(y->in[0]->value[i]);
}
static void edf_activation_backward(edf_node *y) {
  const char *F = grade_word("F");
  for (size_t i = 0; i < y->size; i++) {
    double x = y->in[0]->value[i], v = y->value[i];
    edf_addgrad(y->in[0], i, y->grad[i] * (*F == 's' ? v * (1 - v) : *F == 't' ? 1 - v * v
                                                                   : 1 / (1 + x * x)));
  }
}
static int check_xor(int steps) {
  static const double points[8] = { 0, 0, 0, 1, 1, 0, 1, 1 }, classes[4] = { 0, 1, 1, 0 };
  double in[2 + XOR_NUMBERS];
  const char *Z = grade_word("Z");
  in[0] = grade_uniform(0.3, 0.6);
  in[1] = steps;
  for (int i = 0; i < XOR_NUMBERS; i++) in[2 + i] = grade_uniform(-1, 1);
  const double *out = grade_ask(in, 2 + XOR_NUMBERS, XOR_NUMBERS), *start = in + 2;
  edf_clear();
  edf_node *x = edf_input("x[b,2]"), *y = edf_input("y[b]");
  edf_node *of[] = { edf_parameter("W0[4,2]"), edf_parameter("B0[4]"), edf_parameter("W1[2,4]"),
                     edf_parameter("B1[2]") };
  edf_equations("u[b,j] = W0[j,I] x[b,I] %s B0[j]", Z);
  edf_compnode("h", edf_activation_forward, edf_activation_backward, edf_find("u"))->name = "h";
  edf_node *loss = edf_equations("s[b,k] = W1[k,J] h[b,J] %s B1[k]\nP[b,k] = softmax_k s[b,k]\n"
                                 "l[b] = -ln P[b,y[b]]", Z);
  for (int k = 0; k < 4; start += of[k++]->size)
    memcpy(of[k]->value, start, of[k]->size * sizeof *start);
  edf_feed(x, points, 4);
  edf_feed(y, classes, 4);
  for (int step = 0; step < steps; step++) {
    edf_forward();
    edf_backward(loss);
    edf_sgd(in[0]);
  }
  for (int k = 0; k < 4; out += of[k++]->size)
    for (size_t i = 0; i < of[k]->size; i++)
      if (!grade_same(edf_fmt("after %d steps with eta = %.3g, number %zu of %s", steps,
                              in[0], i, of[k]->name), out[i], of[k]->value[i])) return 0;
  return 1;
}
static double judge_xor(const grade_part *p) {
  (void)p;
  return check_xor(1) && check_xor(XOR_STEPS);
}

/* ---- 10 */
static double judge_digits(const grade_part *p) {
  (void)p;
  return digits_named(TRAIN, TEST, MOST_WRONG);
}
#endif

#define PART(name, points, judge, call, seconds) \
  { name, points, JUDGE(judge), GRADE_NUMBERS, STUDENT(call), NULL, NULL, seconds }
const grade_part grade_parts[] = {
  PART("lists", 5, judge_lists, call_lists, 0),
  PART("forward", 5, judge_forward, call_graph, 0),
  PART("backward: order", 5, judge_order, call_graph, 0),
  PART("backward: the loss", 5, judge_grads, call_graph, 0),
  PART("backward: shared nodes", 5, judge_grads, call_graph, 0),
  PART("backward: again", 5, judge_grads, call_graph, 0),
  PART("sgd", 5, judge_sgd, call_sgd, 0),
  PART("product: sum of products", 10, judge_sum, call_sum, 0),
  PART("product: forward", 5, judge_node, call_node, 0),
  PART("product: backward", 10, judge_node, call_node, 0),
  PART("bias: forward", 2, judge_node, call_node, 0),
  PART("bias: backward", 4, judge_node, call_node, 0),
  PART("activation: forward", 2, judge_node, call_node, 0),
  PART("activation: backward", 4, judge_node, call_node, 0),
  PART("loss: forward", 4, judge_node, call_node, 0),
  PART("loss: backward", 4, judge_node, call_node, 0),
  PART("xor", 10, judge_xor, call_xor, 0),
  PART("digits", 10, judge_digits, call_digits, 60),
  { NULL, 0, NULL, GRADE_TEXT, NULL, NULL, NULL, 0 }
};
