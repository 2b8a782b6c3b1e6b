/* looks.c - calls that look change nothing. A random sequence of feeds, passes, steps of a
   debugger and updates runs twice: without looks, and with looks between all calls. The values,
   the gradients, the Parameters, the memory of the optimiser, the marks, the random numbers and
   the nodes of the steps have the same bits.

     looks [FIRST_SEED [COUNT]]              the default is 1 12 */

#include "harness.h"
#include "edf/slide.h"
#include "edf/layers.h"
#include "edf/judge.h"
#include "edf/data.h"
#include "edf/onnx.h"
#include "edf/c.h"
#include "edf/lab.h"

static unsigned long long seed, state, look_state;

static int draw(unsigned long long *from, int n) {
  *from = *from * 6364136223846793005u + 1442695040888963407u;
  return (int)((*from >> 33) % (unsigned)n);
}
static int below(int n) { return draw(&state, n); }

/* ---- The model has all that a look could change: running statistics, masks, the winners of a
   maximum, memory of a custom node, a frozen Parameter, a wanted Input, and two losses and a
   metric, none of which needs the other. */
enum { ROWS = 4, WIDTH = 4 };
static edf_real data[3][ROWS * WIDTH];
static edf_node *x, *k, *u, *h, *f, *s, *loss, *other, *metric;
static edf_batch_norm_package norm;
static edf_recurrent_package cell;
static edf_affine_package affine;
static void gap(void);

static void product_forward(edf_node *y) {             /* keeps a factor for backward */
  edf_real *kept = (edf_real *)edf_state(y, y->size * sizeof *kept);
  for (size_t i = 0; i < y->size; i++) kept[i] = y->in[0]->value[i];
  for (size_t i = 0; i < y->size; i++) y->value[i] = 2 * kept[i] * kept[i];
}
static void product_backward(edf_node *y) {
  const edf_real *kept = (const edf_real *)y->state;
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, 4 * y->grad[i] * kept[i]);
}

static void declare(void) {
  x = edf_want_grad(edf_input("x[b,4]"));
  k = edf_input("k[b]");
  u = edf_input("u[4]");
  norm = edf_batch_norm_params(WIDTH);
  cell = edf_lstm_params(2, 2);
  affine = edf_affine_params(WIDTH, WIDTH);
  edf_parameter("v[4]")->update = edf_frozen;
}

/* With edf.eager there are looks between the constructors. */
static void build(void) {
  h = Equations("h[b,j] = tanh(W[j,I] x[b,I] + v[j] u[j])");
  if (edf.eager) gap();
  edf_node *r = Dropout(BatchNorm(norm, h), 0.3);
  if (edf.eager) gap();
  f = edf_name(Reshape(Unroll(cell, Reshape(r, "r[b,2,2]")), "f[b,4]"), "f");
  if (edf.eager) gap();
  metric = Mean(edf_name(Dropout(h, 0.5), "aside"));
  if (edf.eager) gap();
  s = Affine(affine, edf_compnode("Product", product_forward, product_backward, f));
  loss = edf_name(Mean(SoftmaxLogLoss(s, k)), "loss");
  if (edf.eager) gap();
  other = Mean(Add(Equations("m[b] = max_j f[b,j]"), Equations("q[b] = ln sum_j exp(f[b,j])")));
}

/* ---- A picture of all that a program can read */
enum { ITEMS = 2000, CALLS = 40 };
typedef struct { const char *what; int node; unsigned long long hash; } item;
typedef struct { int n; item at[ITEMS]; } picture;
static picture expected[CALLS], now;
static int told, calls_after_backward;

static edf_node *nth(int i) {
  int n = i - edf.n_inputs - edf.n_parameters;
  return i < edf.n_inputs ? edf.inputs[i] : n < 0 ? edf.parameters[i - edf.n_inputs]
                                                  : edf.compnodes[n];
}
static int n_nodes(void) { return edf.n_inputs + edf.n_parameters + edf.n_compnodes; }

static void add(const char *what, int node, const void *bytes, size_t n) {
  unsigned long long hash = bytes ? 14695981039346656037u : 0;
  for (size_t i = 0; bytes && i < n; i++)
    hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
  if (now.n == ITEMS) abort();
  now.at[now.n].what = what;
  now.at[now.n].node = node;
  now.at[now.n++].hash = hash;
}
#define ADD(what, node, of) add(what, node, &(of), sizeof(of))

static void add_node(int i) {
  const edf_node *y = nth(i);
  size_t n = y->size * sizeof *y->value;
  size_t rows = y->kind == EDF_INPUT && y->batched ? (size_t)(y->fed > 0 ? y->fed : 0) : 1;
  if (y->kind == EDF_INPUT)
    n = rows * (y->rank > 1 || !y->batched ? WIDTH : 1) * sizeof *y->value;
  add("dim", i, y->dim, (size_t)y->rank * sizeof *y->dim);
  ADD("size", i, y->size);
  add("value", i, y->value, n);
  add("grad", i, y->grad, y->size * sizeof *y->grad);
  add("m", i, y->m, y->size * sizeof *y->m);
  add("s", i, y->s, y->size * sizeof *y->s);
  ADD("steps", i, y->steps);
  ADD("fed", i, y->fed);
  ADD("ran", i, y->ran);
  ADD("active", i, y->active);
  ADD("needs_grad", i, y->needs_grad);
  ADD("reached", i, y->reached);
}

static void take_picture(void) {
  int at_loss = edf.loss ? edf.loss->position : -1;
  now.n = 0;
  ADD("edf.loss", -1, at_loss);
  ADD("edf.draws", -1, edf.draws);
  ADD("edf.seed", -1, edf.seed);
  ADD("edf.feeds", -1, edf.feeds);
  ADD("edf.at", -1, edf.at);
  ADD("edf.training", -1, edf.training);
  ADD("edf.accumulate", -1, edf.accumulate);
  ADD("edf.eager", -1, edf.eager);
  ADD("edf.kernel", -1, edf.kernel);
  ADD("edf.after_backward", -1, edf.after_backward);
  ADD("calls of edf.told", -1, told);
  ADD("calls of edf.after_backward", -1, calls_after_backward);
  for (int i = 0; i < n_nodes(); i++) add_node(i);
}

/* Returns the first difference as text, or NULL. */
static const char *difference(const picture *a) {
  if (a->n != now.n) return "the number of nodes";
  for (int i = 0; i < now.n; i++) {
    int node = now.at[i].node;
    if (a->at[i].hash != now.at[i].hash)
      return edf_fmt("%s of %s", now.at[i].what, node < 0 ? "the graph" : edf_label(nth(node)));
  }
  return NULL;
}

/* ---- The looks */
static FILE *nowhere;

static edf_node *any(void) { return nth(draw(&look_state, n_nodes())); }
static edf_node *any_of(edf_node *a, edf_node *b) { return draw(&look_state, 2) ? a : b; }

static int is_built(void) { return n_nodes() > 0 && edf.n_compnodes > 0; }
static int is_complete(void) {                         /* An eager program builds more. */
  return is_built() && edf.compnodes[edf.n_compnodes - 1] == other;
}
static int is_fed(void) { return is_complete() && x->fed > 0; }
static int has_h(void) { return is_built() && x->fed > 0 && edf.compnodes[0]->value; }
static int has_run(void) { return is_complete() && loss->ran == edf.feeds; }
static int has_values(void) { return is_built() && edf.compnodes[0]->value; }

static void print(void) { edf_print(any()); }
static void print_node(void) { edf_print_node(nowhere, any()); }
static void print_program(void) { edf_print_program(nowhere); }
static void print_equations(void) { edf_print_equations(nowhere); }
static void print_memory(void) { edf_print_memory(nowhere); }
static void where(void) { edf_where(); }
static void write_node(void) {
  edf_page page = { NULL, 0 };
  for (int part = EDF_SITE; part <= EDF_BACKWARD_LINES; part++)
    edf_write_node(&page, any(), (edf_part)part);
  edf_release(page.at);
  edf_same_heading(any(), any());
}
static void read_node(void) {
  edf_node *y = any();
  edf_find("x");
  edf_label(y);
  edf_grad(y);
  if (y->value && (y->kind != EDF_COMPNODE || y->ran)) edf_value(y);
}
static void mean_value(void) {
  edf_mean_value(loss);
  edf_error_rate(s, k);
}
static void gradcheck(void) { edf_gradcheck(draw(&look_state, 4) ? h : any_of(loss, other)); }
static void gradcheck_metric(void) { edf_gradcheck(metric); }
static void check_backward(void) {
  edf_check_backward(h, "W.grad[j,i] += h.grad[b,j] (1 - h[b,j]^2) x[b,i]");
}
static void find_nan(void) { edf_find_nan(); }
static void write_trace(void) { edf_write_trace("/dev/null"); }
static void write_dot(void) { edf_write_dot("/dev/null"); }
static void plot(void) { edf_plot("loss/train", 1); }
static void plot_svg(void) { edf_plot_svg("/dev/null"); }
static void doctor(void) { edf_doctor(any_of(loss, other)); }
static void check(void) { edf_check(any_of(loss, other)); }
static void save(void) { edf_save("/dev/null"); }
static void write_c(void) { edf_write_c("/dev/null", loss); }
static void save_onnx(void) { edf_save_onnx("/dev/null", any_of(other, metric)); }

static const struct { const char *name; void (*call)(void); int (*may)(void); } looks[] = {
  { "edf_print", print, is_built }, { "edf_print_node", print_node, is_built },
  { "edf_print_program", print_program, NULL }, { "edf_where", where, NULL },
  { "edf_print_equations", print_equations, NULL },
  { "edf_print_memory", print_memory, has_run }, { "edf_write_node", write_node, is_built },
  { "edf_value", read_node, is_built }, { "edf_mean_value", mean_value, has_run },
  { "edf_gradcheck", gradcheck, is_fed }, { "edf_gradcheck aside", gradcheck_metric, is_fed },
  { "edf_check_backward", check_backward, has_h },
  { "edf_find_nan", find_nan, NULL }, { "edf_write_trace", write_trace, has_values },
  { "edf_write_dot", write_dot, NULL }, { "edf_plot", plot, NULL },
  { "edf_plot_svg", plot_svg, NULL }, { "edf_doctor", doctor, is_complete },
  { "edf_check", check, is_fed }, { "edf_save", save, is_built },
  { "edf_save_onnx", save_onnx, is_complete }, { "edf_write_c", write_c, has_run }
};
enum { LOOKS = sizeof looks / sizeof *looks };
static int looks_made[LOOKS], looking;                 /* 1 in the run with looks */
static const char *last_look;

/* Makes a look, or two. After each look the picture is the same. */
static void gap(void) {
  static picture before;
  static int which, n;
  for (n = looking ? 1 + draw(&look_state, 2) : 0; n > 0 && !harness.bad; n--) {
    which = draw(&look_state, LOOKS);
    if (looks[which].may && !looks[which].may()) continue;
    take_picture();
    before = now;
    last_look = looks[which].name;
    looks_made[which]++;
    CAPTURE(looks[which].call());
    CHECK(!panicked, "seed %llu: %s: %s", seed, last_look, caught);
    take_picture();
    const char *what = difference(&before);
    CHECK(!what, "seed %llu: %s has changed %s", seed, last_look, what);
  }
}

/* ---- The calls of the program. What a doctor prints is dropped. Each number of `played` is a
   picture. */
static int played, moved, learnt;
#define CALL(...)                                                \
  do {                                                           \
    CAPTURE(__VA_ARGS__);                                        \
    CHECK(!panicked, "seed %llu: an error: %s", seed, caught);   \
  } while (0)

static void play(const char *call, const edf_node *returned) {
  int position = returned ? returned->position : -1;
  take_picture();
  ADD("the returned node", -1, position);
  if (!looking) expected[played] = now;
  const char *what = looking ? difference(&expected[played]) : NULL;
  CHECK(!what, "seed %llu: after %s, call %d, %s differs. The last look was %s", seed, call,
        played, what, last_look);
  played++;
  gap();
}

static void feed(void) {
  int rows = below(2) ? 2 : ROWS;
  for (int i = 0; i < 3 * ROWS * WIDTH; i++)
    data[i / (ROWS * WIDTH)][i % (ROWS * WIDTH)] = (edf_real)(below(2001) / 1000.0 - 1);
  for (int i = 0; i < ROWS; i++) data[1][i] = (edf_real)below(WIDTH);
  edf_feed(x, data[0], rows);
  edf_feed(k, data[1], rows);
  edf_feed(u, data[2], 1);
  play("edf_feed", NULL);
}
static void forward(void) {
  CALL(edf_forward());
  moved = 0;
  play("edf_forward", NULL);
}
static void forward_to(void) {
  static edf_node *to;
  to = below(3) ? metric : below(2) ? other : loss;
  CALL(edf_forward_to(to));
  play("edf_forward_to", NULL);
}
static void steps(int backward) {
  for (int n = below(3) ? 1 + below(4) : 60; n > 0 && played < CALLS && !harness.bad; n--) {
    static edf_node *y;
    CALL(y = backward ? edf_step_backward() : edf_step_forward());
    if (backward && y) learnt = 0;
    play(backward ? "edf_step_backward" : "edf_step_forward", y);
  }
}
static void backward(void) {
  static edf_node *of;
  of = below(3) ? loss : other;
  if (moved || of->ran != edf.feeds) forward();
  if (played == CALLS) return;
  CALL(edf_backward(of));
  learnt = 1;
  play("edf_backward", NULL);
}
static void update(void) {
  if (!learnt) backward();
  if (!learnt || played == CALLS) return;
  if (below(2)) edf_adam_default((edf_real)0.01);
  else SGD((edf_real)0.1);
  moved = 1;
  play("a step of an optimiser", NULL);
}
static void set(void) {
  switch (below(4)) {
    case 0: edf.training = !edf.training; break;
    case 1: edf.accumulate = !edf.accumulate; break;
    case 2: edf_zero_grad(); break;
    default: affine.b->update = affine.b->update ? NULL : edf_frozen;
  }
  play("a setting", NULL);
}

static void count_event(edf_event event, edf_node *y) {
  (void)y;
  told += event != EDF_CLEARED;
}
static void count_after_backward(void) { calls_after_backward++; }

static void begin(void) {
  state = seed * 0x9E3779B97F4A7C15ull;
  look_state = ~state;
  edf = edf_new_graph();
  edf_seed(seed);
  edf.reuse_gradients = 1;
  edf.told = count_event;
  edf.after_backward = count_after_backward;
  played = moved = learnt = told = calls_after_backward = 0;
  last_look = "none";
  gap();
  declare();
  gap();
}

/* One graph, and calls in any order. */
static void run(void) {
  begin();
  build();
  gap();
  feed();
  while (played < CALLS && !harness.bad)
    switch (below(11)) {
      case 0: feed(); if (below(2) && played < CALLS) feed(); break;
      case 1: forward(); break;
      case 2: forward_to(); break;
      case 3: case 4: steps(0); break;
      case 5: case 6: steps(1); break;
      case 7: case 8: backward(); break;
      case 9: update(); break;
      default: set();
    }
  edf_clear();
}

/* A new graph for each step. Each constructor runs its node. */
static void run_eager(void) {
  static int t;
  begin();
  edf.eager = 1;
  for (t = 0; t < 3 && !harness.bad; t++) {
    edf_clear_compnodes();
    feed();
    build();
    play("the constructors", NULL);
    CALL(edf_backward(t % 2 ? other : loss));
    play("edf_backward", NULL);
    SGD((edf_real)0.1);
    play("SGD", NULL);
  }
  edf_clear();
}

static unsigned long long first = 1, count = 12;

static void compare(void (*program)(void), unsigned long long n) {
  for (seed = first; seed < first + n && !harness.bad; seed++)
    for (looking = 0; looking < 2; looking++) {
      program();
      CHECK(memory.live == 0, "seed %llu: %ld blocks are left", seed, memory.live);
    }
  edf = edf_new_graph();
}

TEST(looks_change_nothing) {
  CAPTURE(edf_clear());                                /* This opens its file. */
  nowhere = fopen("/dev/null", "w");
  compare(run, count);
}

TEST(looks_change_nothing_with_eager) {
  compare(run_eager, count / 2);
  for (int i = 0; i < LOOKS && count > 9; i++)
    CHECK(looks_made[i] > 3, "only %d times %s", looks_made[i], looks[i].name);
}

/* ---- An error inside of a look: other tools free their memory, and the settings stay. */
static int runs_left;
static void fail_later(edf_node *y) {
  if (runs_left-- == 0) edf_stop("it fails");
  for (size_t i = 0; i < y->size; i++) y->value[i] = y->in[0]->value[i];
}
static void pass_on(edf_node *y) {
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, y->grad[i]);
}

static void fail_in(void (*look)(edf_node *y), int runs) {
  edf_node *w = edf_parameter("w[2]"), *y = Mean(edf_compnode("Fails", fail_later, pass_on, w));
  edf.accumulate = 1;
  edf.after_backward = count_after_backward;
  edf_plot("loss", 1);
  runs_left = runs;
  CAPTURE(look(y));
  CHECK(panicked && strstr(caught, "it fails"), "no error");
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
  CHECK(edf.accumulate && edf.after_backward && !edf.told, "a setting has changed");
  calls_after_backward = 0;
  edf_node *z = Mean(Square(edf_parameter("w[2]")));
  Forward();
  Backward(z);
  CHECK(calls_after_backward == 1, "edf.after_backward is not called");
  edf_clear();
  edf.accumulate = 0;
  edf.after_backward = NULL;
}
static void gradcheck_of(edf_node *y) { edf_gradcheck(y); }
static void check_of(edf_node *y) { edf_check(y); }

TEST(an_error_in_a_look_changes_no_setting) {
  fail_in(gradcheck_of, 0);
  fail_in(gradcheck_of, 1);
  fail_in(check_of, 0);
}

/* A tool that has built a node cannot go back. */
static void build_and_restore(void) {
  edf_snapshot *taken = edf_take_snapshot();
  edf_parameter("w[2]");
  edf_restore(taken);
}
TEST(a_snapshot_is_of_one_graph) { STOPS(build_and_restore(), "edf_restore|edf_take_snapshot"); }

/* The gradient of another node does not replace the one that SGD uses. */
TEST(sgd_uses_the_gradient_of_its_loss) {
  edf_node *w = edf_parameter("w[2]"), *v = edf_parameter("v[2]");
  edf_node *l = Sum(w), *aside = Sum(Mul(w, v));
  Forward();
  Backward(l);
  CAPTURE(edf_gradcheck(aside); edf_check(aside); edf_find_nan());
  CHECK(edf.loss == l && w->grad[0] == 1 && !v->grad, "the gradients are of another loss");
  SGD(1);
  CHECK(w->value[0] == -1 && w->steps == 1 && v->steps == 0, "w is %g", (double)w->value[0]);
}

/* The loops have the size of the batch again, and not that of the last look. */
TEST(a_look_at_another_batch) {
  static const edf_real ones[] = { 1, 1, 1, 1 };
  edf_node *in = edf_want_grad(edf_input("x[b]")), *y = Einsum("y = x[B] x[B]", in);
  edf_feed(in, ones, 2);
  Forward();
  edf_feed(in, ones, 4);
  CAPTURE(edf_gradcheck(y));
  CHECK(!panicked && in->dim[0] == 2 && in->size == 2, "the size is %d", in->dim[0]);
  edf_feed(in, ones, 2);
  Forward();
  CHECK(y->value[0] == 2, "the sum over the batch is %g", (double)y->value[0]);
}

/* A Backward that cannot begin does not change which nodes a Forward runs. */
TEST(a_step_that_cannot_run_changes_nothing) {
  edf_node *w = edf_parameter("w[2]"), *l = Sum(Square(w)), *aside = Sum(Exp(w));
  Forward();
  Backward(l);
  SGD(1);
  edf_step_forward();
  CAPTURE(CHECK(!edf_step_backward(), "w has moved"));
  while (edf_step_forward()) continue;
  edf_backward(aside);                                 /* All nodes have run after the step. */
}

int main(int argc, char **argv) {
  if (argc > 1) first = strtoull(argv[1], NULL, 10);
  if (argc > 1) count = 1;
  if (argc > 2) count = strtoull(argv[2], NULL, 10);
  return harness_main();
}
