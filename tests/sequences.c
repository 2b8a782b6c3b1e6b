/* sequences.c - random sequences of calls on two graphs. After each pass all values and
   gradients have the same bits as in a new graph that is built from the same parameters, data
   and settings, and runs one pass. At the end no block and no open file is left.

     sequences [FIRST_SEED [COUNT]]        the default is 1 300 */

#include "harness.h"
#include "edf/slide.h"

enum { X, Z, K, U, INPUTS };
enum { SLOTS = 8, ROWS = 9, PARAMETERS = 6, LARGEST = 16, ALL = -1, NOTHING = -2 };
typedef struct { edf_real v[PARAMETERS][LARGEST]; } numbers;
typedef struct { int kind, a, c; } recipe;           /* Operand 0 is x, 1 is z, 2 is slot 0. */
typedef struct {
  edf_graph graph;                                   /* of the world that is not current */
  edf_node *in[INPUTS];
  edf_real data[INPUTS][ROWS * 4];
  int rows;                                          /* rows of the last feed, or 0 */
  edf_affine_package affine, second;
  edf_node *w, *table;
  recipe slot[SLOTS];
  edf_node *made[SLOTS];
  int n;                                             /* slots in use */
  int ran;                                           /* target of the last pass: ALL, NOTHING */
  int learnt;                                        /* 1 after a Backward, until a step */
} world;

static world worlds[2], *w = worlds;
static long comparisons, errors;
static unsigned long long seed, state;
static char calls[8192];

static int below(int n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (unsigned)n);
}

static void HARNESS_PRINTF(1, 2) tell(const char *format, ...) {
  size_t n = strlen(calls);
  va_list args;
  va_start(args, format);
  vsnprintf(calls + n, sizeof calls - n, format, args);
  va_end(args);
}

/* Makes calls that must not stop. What they print to stdout is dropped. */
#define CALL(...)                                                                      \
  do {                                                                                 \
    CAPTURE(__VA_ARGS__);                                                              \
    CHECK(!panicked, "seed %llu: %s\nan unexpected error: %s", seed, calls, caught);   \
  } while (0)

/* ---- Building: each slot is a node [b,4] */

static void product_forward(edf_node *y) {           /* keeps a factor for backward */
  edf_real *kept = (edf_real *)edf_state(y, y->size * sizeof *kept);
  for (size_t i = 0; i < y->size; i++) kept[i] = y->in[1]->value[i];
  for (size_t i = 0; i < y->size; i++) y->value[i] = y->in[0]->value[i] * kept[i];
}
static void product_backward(edf_node *y) {
  const edf_real *kept = (const edf_real *)y->state;
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, y->grad[i] * kept[i]);
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(y->in[1], i, y->grad[i] * y->in[0]->value[i]);
}

static const char *const kinds[] = { "Affine", "Tanh", "Softmax", "Einsum", "Add", "Mul",
  "Loss", "Custom", "AddU", "Mean", "Reshape", "Window", "Three", "Scatter", "Transposed",
  "Dropout" };
enum { KINDS = sizeof kinds / sizeof *kinds, CUSTOM = 7, DROPOUT = KINDS - 1 };

static edf_node *build(const world *v, recipe r) {
  edf_node *a = r.a < 2 ? v->in[r.a] : v->made[r.a - 2];
  edf_node *c = r.c < 2 ? v->in[r.c] : v->made[r.c - 2];
  switch (r.kind) {
    case 0: return Affine(v->affine, Relu(Affine(v->second, a)));
    case 1: return Tanh(a);
    case 2: return Softmax(a);
    case 3: return Einsum("y[b,j] = W[I,j] a[b,I] + 0.5 a[b,j] c[b,j]", v->w, a, c);
    case 4: return Add(a, c);
    case 5: return Mul(Tanh(a), c);
    case 6: return Einsum("y[b,j] = l[b] c[b,j]", SoftmaxLogLoss(a, v->in[K]), c);
    case CUSTOM: return edf_compnode("Product", product_forward, product_backward, a, Tanh(c));
    case 8: return Add(a, v->in[U]);
    case 9: return Einsum("y[b,j] = a[b,j] s - c[b,j]", a, Mean(Square(c)), c);
    case 10: return Add(Reshape(Reshape(a, "s[b,2,2]"), "y[b,4]"), c);
    case 11: return Einsum("y[b,i] = a[b,i+DI-1] f[DI] | i<4, DI<3", a, v->table);
    case 12: return Tanh(Einsum("y[b,i] = W[i,J] a[b,J] c[b,J]", v->w, a, c));
    case 13: return Einsum("y[b,i+D] = a[b,i] f[D] | i<3, D<2", a, v->table);
    case 14: return Einsum("y[b,j] = t[j,b]", Einsum("t[j,b] = W[j,I] a[b,I]", v->w, a));
    case DROPOUT: return Dropout(a, 0.3);
    default: return NULL;
  }
}

static void declare(world *v) {
  v->in[X] = edf_want_grad(edf_input("x[b,4]"));
  v->in[Z] = edf_want_grad(edf_input("z[b,4]"));
  v->in[K] = edf_input("k[b]");
  v->in[U] = edf_input("u[4]");
  v->affine = edf_affine_params(4, 4);
  v->second = edf_affine_params(4, 4);
  v->w = edf_parameter("w[4,4]");
  v->table = edf_parameter("f[4]");
  edf_init_uniform(v->w, -1, 1);
  edf_init_uniform(v->table, -1, 1);
}

/* ---- Comparing with a new graph */

static void remember(numbers *to, int grads) {
  memset(to, 0, sizeof *to);
  for (int i = 0; i < edf.n_parameters; i++) {
    const edf_node *p = edf.parameters[i];
    const edf_real *from = grads ? p->grad : p->value;
    if (from) memcpy(to->v[i], from, p->size * sizeof *from);
  }
}

static void same(const char *what, const edf_node *x, const edf_real *a, const edf_real *b) {
  for (size_t i = 0; i < x->size; i++) {
    edf_real p = a ? a[i] : 0, q = b ? b[i] : 0;
    if (p == q || (p != p && q != q)) continue;
    CHECK(0, "seed %llu: %s\n%s of %s \"%s\" [%zu] is %.17g, in a new graph %.17g", seed, calls,
          what, x->op, x->name, i, (double)p, (double)q);
    return;
  }
}

static void run_again(world *again, const edf_graph *live, const numbers *values, int loss) {
  edf.training = live->training;
  edf.kernel = live->kernel;
  declare(again);
  for (int i = 0; i < edf.n_parameters; i++) {
    edf_node *p = edf.parameters[i];
    memcpy(p->value, values->v[i], p->size * sizeof *p->value);
    p->update = live->parameters[i]->update;
  }
  for (int k = 0; k < INPUTS; k++)
    edf_feed(again->in[k], again->data[k], k == U ? 1 : again->rows);
  for (int i = 0; i < again->n; i++) again->made[i] = build(again, again->slot[i]);
  edf_seed(seed);
  if (again->ran == ALL) edf_forward();
  else edf_forward_to(edf.compnodes[again->ran]);
  if (loss >= 0) edf_backward(edf.compnodes[loss]);
}

/* Compares after a pass to w->ran. `loss` is the position of the loss of a Backward, or -1.
   `before` is NULL, or the gradients that Backward has added to. */
static void compare(int loss, const numbers *before) {
  static edf_graph live;
  static world again;
  static numbers now;
  live = edf;
  remember(&now, 0);
  again = *w;
  edf = edf_new_graph();
  CALL(run_again(&again, &live, &now, loss));
  CHECK(edf.n_compnodes == live.n_compnodes, "seed %llu: %s\n%d nodes", seed, calls,
        live.n_compnodes);
  for (int i = 0; i < edf.n_compnodes && !harness.bad; i++) {
    const edf_node *x = live.compnodes[i], *y = edf.compnodes[i];
    if (y->ran != edf.feeds) continue;
    CHECK(x->size == y->size && !strcmp(x->op, y->op), "seed %llu: another %s", seed, x->name);
    same("value", x, x->value, y->value);
    if (loss >= 0) same("gradient", x, x->grad, y->grad);
  }
  for (int k = 0; k < U && loss >= 0; k++)
    same("gradient", w->in[k], w->in[k]->grad, again.in[k]->grad);
  for (int i = 0; i < edf.n_parameters && loss >= 0; i++) {
    const edf_node *p = live.parameters[i], *q = edf.parameters[i];
    if (!before) same("gradient", p, p->grad, q->grad);
    for (size_t k = 0; before && p->update != edf_frozen && k < p->size; k++)
      CLOSE(p->grad ? p->grad[k] : 0, before->v[i][k] + (q->grad ? q->grad[k] : 0),
            EDF_REAL_IS_DOUBLE ? 1e-10 : 1e-3, EDF_REAL_IS_DOUBLE ? 1e-10 : 1e-3);
  }
  edf_clear();
  edf = live;
  comparisons++;
}

/* ---- The calls */

static void begin_world(void) {
  edf_clear();
  edf_seed(seed);
  w->n = w->rows = w->learnt = 0;
  w->ran = NOTHING;
  declare(w);
}

static void op_clear(void) {
  tell("clear; ");
  CALL(begin_world());
}

static void op_feed(void) {
  int all = w->rows == 0 || below(4), one = below(INPUTS);
  if (all) w->rows = 1 + below(ROWS);
  tell("feed %d rows%s; ", w->rows, all ? "" : " to one");
  for (int k = 0; k < INPUTS; k++) {
    if (!all && k != one) continue;
    for (int i = 0; i < ROWS * 4; i++)
      w->data[k][i] = k == K ? (edf_real)below(4) : (edf_real)below(2001) / 1000 - 1;
    CALL(edf_feed(w->in[k], w->data[k], k == U ? 1 : w->rows));
  }
  w->ran = NOTHING;
}

static void op_forward(void) {
  if (!w->rows) op_feed();
  tell("forward; ");
  edf_seed(seed);
  CALL(edf_forward());
  w->ran = ALL;
  compare(-1, NULL);
}

static void op_build(void) {
  if (w->n == SLOTS) {
    tell("clear_compnodes; ");
    CALL(edf_clear_compnodes());
    w->n = 0;
    w->ran = NOTHING;
  }
  recipe *r = &w->slot[w->n];
  r->kind = below(KINDS);
  r->a = below(w->n + 2);
  r->c = below(w->n + 2);
  if (edf.eager && w->ran != ALL) op_forward();
  tell("%s%s(%d,%d); ", edf.eager ? "eager " : "", kinds[r->kind], r->a, r->c);
  CALL(w->made[w->n] = build(w, *r));
  w->n++;
  if (!edf.eager || r->kind == DROPOUT) w->ran = NOTHING;
  else compare(-1, NULL);
}

static void op_forward_to(void) {
  if (!edf.n_compnodes) op_build();
  if (!w->rows) op_feed();
  w->ran = below(edf.n_compnodes);
  tell("forward_to %s; ", edf.compnodes[w->ran]->name);
  edf_seed(seed);
  CALL(edf_forward_to(edf.compnodes[w->ran]));
  compare(-1, NULL);
}

static void op_backward(void) {
  static numbers before;
  static int loss;
  if (!edf.n_compnodes) op_build();
  if (w->ran == NOTHING) op_forward();
  loss = w->ran == ALL ? below(edf.n_compnodes) : w->ran;
  tell("backward %s; ", edf.compnodes[loss]->name);
  remember(&before, 1);
  CALL(edf_backward(edf.compnodes[loss]));
  CHECK(edf.loss == edf.compnodes[loss], "seed %llu: %s: edf.loss", seed, calls);
  compare(loss, edf.accumulate ? &before : NULL);
  w->learnt = 1;
}

static void zero_grad(void) {
  static numbers after, zeros;
  tell("zero_grad; ");
  edf_zero_grad();
  remember(&after, 1);
  CHECK(!memcmp(&after, &zeros, sizeof after), "seed %llu: %s: not 0", seed, calls);
}

static void op_setting(void) {
  switch (below(6)) {
    case 0: tell("eager %d; ", edf.eager = !edf.eager); return;
    case 1: tell("accumulate %d; ", edf.accumulate = !edf.accumulate); return;
    case 2: zero_grad(); return;
    case 3: tell("kernel %d; ", edf.kernel = below(3)); break;
    case 4: tell("training %d; ", edf.training = !edf.training); break;
    default: tell("freeze; "); w->w->update = w->w->update ? NULL : edf_frozen;
  }
  w->ran = NOTHING;
}

static void op_swap(void) {
  tell("swap; ");
  w->graph = edf;
  w = w == worlds ? worlds + 1 : worlds;
  edf = w->graph;
}

static void op_step(void) {
  static int rule;
  rule = below(6);
  if (rule < 4 && !w->learnt) op_backward();
  tell("optimiser %d; ", rule);
  CALL(switch (rule) {
    case 0: edf_adam_default((edf_real)0.01); break;
    case 1: edf_momentum((edf_real)0.01, (edf_real)0.9); break;
    case 2: edf_rmsprop((edf_real)0.01, (edf_real)0.9, (edf_real)1e-6); break;
    case 3: edf_sgd((edf_real)0.0625); break;
    case 4: edf_clip(1); break;
    default: edf_l2((edf_real)0.01);
  });
  if (rule >= 4) return;
  w->ran = NOTHING;
  w->learnt = 0;
}

/* A few steps of a debugger. Other calls may follow before the pass has ended. */
static void op_debug(void) {
  static int steps, forward;
  steps = 1 + below(6);
  forward = below(3) == 0;
  tell("%d steps %s; ", steps, forward ? "forward" : "backward");
  CALL(while (steps-- > 0 && (forward ? edf_step_forward() : edf_step_backward())) continue);
  if (forward) w->ran = NOTHING;                     /* Dropout has drawn other masks. */
  else w->learnt = 0;                                /* A Backward may have begun. */
}

/* After an error the program calls edf_clear and builds its graph again. */
static void op_mistake(void) {
  static edf_node *x, *other;
  int what = below(6);
  x = w->in[X];
  other = worlds[w == worlds].in[X];
  tell("mistake %d; ", what);
  if (!w->rows) op_feed();
  if (what == 5) memory.until_failure = 1 + below(40);
  TRY(switch (what) {
    case 0: Einsum("y[b,j] = x[b,j,j]", x); break;
    case 1: below(2) ? Tanh(other) : Einsum("y = a[B,I] b[B,I]", x, other); break;
    case 2: edf_backward(x); break;
    case 3: edf_feed(w->w, w->data[X], 4); break;
    case 4: edf_forward_to(other); break;
    default: build(w, w->slot[0]); edf_forward();
  });
  memory.until_failure = 0;
  CHECK(panicked || what == 5, "seed %llu: %s\nno error", seed, calls);
  if (panicked && what == 5) WORDS(caught, "memory");
  if (what == 1 || what == 4) WORDS(caught, "another graph");
  errors += panicked;
  edf.eager = 0;
  CALL(begin_world());
}

static const struct { void (*call)(void); int weight; } ops[] = {
  { op_build, 20 }, { op_feed, 10 }, { op_forward, 8 }, { op_forward_to, 6 },
  { op_backward, 14 }, { op_setting, 10 },
  { op_swap, 4 }, { op_step, 8 }, { op_debug, 6 }, { op_mistake, 3 }, { op_clear, 1 }
};

static void play(void) {
  int fd = lowest_free_fd();
  calls[0] = '\0';
  state = seed * 0x9E3779B97F4A7C15ull;
  for (int k = 1; k >= 0; k--) {
    w = &worlds[k];
    edf = edf_new_graph();
    begin_world();
    w->graph = edf;
  }
  for (int n = 10 + below(50); n > 0 && !harness.bad; n--) {
    size_t k = 0;
    for (int draw = below(90); draw >= ops[k].weight; k++) draw -= ops[k].weight;
    ops[k].call();
  }
  for (int k = 0; k < 2 && !harness.bad; k++) {
    op_forward();
    op_backward();
    op_swap();
  }
  for (int k = 0; k < 2; k++) {
    edf_clear();
    op_swap();
  }
  CHECK(memory.live == 0, "seed %llu: %s\n%ld blocks are left", seed, calls, memory.live);
  CHECK(lowest_free_fd() == fd, "seed %llu: %s\na file is open", seed, calls);
}

static unsigned long long first = 1;
static long count = 300;

TEST(all_sequences_end_like_a_new_graph) {
  CAPTURE(edf_clear());                              /* This opens its file. */
  for (seed = first; seed < first + (unsigned long long)count && !harness.bad; seed++) play();
  printf("# %ld comparisons, %ld errors\n", comparisons, errors);
  CHECK(count < 100 || (comparisons > 5 * count && errors > count / 4), "too few");
}

int main(int argc, char **argv) {
  if (argc > 1) first = strtoull(argv[1], NULL, 10);
  if (argc > 1) count = 1;
  if (argc > 2) count = atol(argv[2]);
  return harness_main();
}
