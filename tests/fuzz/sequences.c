/* sequences.c - random sequences of calls on two graphs. Whatever was called before, a value
   or gradient that should be defined is the same, bit for bit, as in a new graph that is built
   with the same parameters and feeds and runs one Forward and one Backward; a call that should
   stop does, another does not; when all is cleared no memory and no file is left.

   It is a target of libFuzzer: the bytes are the calls. With -DSTANDALONE it is a program:
     sequences [FIRST_SEED [COUNT]]      1000 sequences, or that one, or COUNT of them
   The header's remarks on stderr go nowhere; a sanitizer's report does not (fuzz.sh, start).

   Bit for bit, since both sides do the same arithmetic in the same order. Two are not: with
   edf.accumulate gradients are summed in another order (1e-4 in float, 1e-12 in double), and
   an SGD step is checked by its formula. What a new graph gets wrong too is not seen here. */

#define _POSIX_C_SOURCE 200809L                              /* dup, fdopen, getpid */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../counted.h"
#include "../told.h"

#include "../../edf_lab.h"
#include "../inside.h"

static jmp_buf home;
static char said[8192];
static FILE *report;

long harness_asserted;                                       /* impl.c counts in it */
void harness_panic(const char *message);
void harness_panic(const char *message) {
  snprintf(said, sizeof said, "%s", message);
  longjmp(home, 1);
}

/* ---- A world: a graph, how it was built, and what must be true of it now. */
enum { X, Z, K, U, INPUTS };
enum { SLOTS = 8, NODES = 160, LARGEST = 64, PARAMETERS = 24, UNKNOWN = 2 };
enum { NOWHERE, FORTH, BACK, SOMEWHERE };
typedef struct { int kind, a, c; } recipe;                   /* operands: x, z, then slots */
typedef struct { edf_node *node; edf_real *data; int rows; } input;
typedef struct { edf_real value[PARAMETERS][LARGEST]; } numbers;
typedef struct {
  edf_graph graph;                 /* while it is not the current one                       */
  input in[INPUTS];
  int bad_labels;
  edf_affine_package affine;
  edf_conv_package conv;
  edf_attention_package attention;
  edf_recurrent_package lstm;
  edf_layer_norm_package layer;
  edf_batch_norm_package batch;
  edf_node *w, *r, *table;
  int n;
  recipe slot[SLOTS];
  edf_node *made[SLOTS];
  int first[SLOTS], end[SLOTS];    /* a slot's nodes in edf.compnodes                       */
  char ok[NODES];                  /* the value is the last feed's and these parameters'    */
  char mixed[NODES];               /* it was, before parameters or settings changed         */
  int rows;                        /* the batch of what ran last                            */
  int loss;                        /* of the last Backward; -1 none, -2 unknown             */
  int going, back;                 /* what is stepped, and the loss if nothing disturbed it */
  int known, added, tracing;       /* gradients; by adding to `before`; or UNKNOWN          */
  int watched;                     /* by a doctor                                           */
  int idle;                        /* nothing has run since the feed                        */
  int sure;                        /* which parameters the last Backward has reached        */
  char reached[PARAMETERS];
  numbers before;
  edf_node *dead;
} world;

static world worlds[2], fresh, *w = worlds;
static char file[64], page[64], dot[64];
static unsigned long long seed;
static long sequences, comparisons, tensors, stops, deaths;
static const uint8_t *byte, *last;

static void say_calls(void) {
  fprintf(report, "not ok sequences: seed %llu: %s\n", seed, told);
  fflush(report);
}

static void remove_files(void) {
  remove(file);
  remove(page);
  remove(dot);
}

static void wrong(const char *format, ...) {
  va_list args;
  remove_files();
  say_calls();
  va_start(args, format);
  vfprintf(report, format, args);
  va_end(args);
  fprintf(report, "\n");
  fflush(report);
#ifdef STANDALONE
  _exit(1);
#else
  abort();
#endif
}

static int next(int n) { return byte < last ? *byte++ % n : 0; }

/* ---- Building. Every slot is [b,4], so that all fit together. */
static void copy_forward(edf_node *y) {                      /* a product, kept in the state */
  edf_real *kept = (edf_real *)edf_state(y, y->size * sizeof *kept);
  for (size_t i = 0; i < y->size; i++) kept[i] = y->in[1]->value[i];
  for (size_t i = 0; i < y->size; i++) y->value[i] = y->in[0]->value[i] * kept[i];
}
static void copy_backward(edf_node *y) {
  const edf_real *kept = (const edf_real *)y->state;
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, y->grad[i] * kept[i]);
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(y->in[1], i, y->grad[i] * y->in[0]->value[i]);
}

/* Dropout whose mask depends on nothing but the node: its draws begin at its line. */
static void (*drop)(edf_node *);
static void drop_forward(edf_node *y) {
  unsigned long long draws = edf.draws;
  edf.draws = (unsigned long long)y->line;
  drop(y);
  edf.draws = draws;
}
static edf_node *dropout(edf_node *x, int slot) {
  unsigned long long draws = edf.draws;
  edf.draws = 1000 * (unsigned long long)slot;
  edf_node *y = edf_dropout_at("dropout", 1000 * slot, x, 0.3);
  edf.draws = draws;
  drop = y->forward;
  y->forward = drop_forward;
  return y;
}

/* As [b,2,2] or [b,2,2,1], and back. */
static edf_node *of_square(const world *v, int kind, edf_node *x) {
  edf_recurrent_state none = { NULL, NULL };
  if (kind == 0) return LSTM(v->lstm, x, none).h;
  if (kind == 1) {
    x = Einsum("s[b,i,j,k] = x[b,2*i+j] | i<2, j<2, k<1", x);
    return Einsum("y[b,2*i+j] = s[b,i,j,0]", Conv(v->conv, x));
  }
  x = Einsum("s[b,i,j] = x[b,2*i+j] | i<2, j<2", x);
  if (kind == 2) x = CausalAttention(v->attention, x);
  else x = Recurrence("h[b,t,j] = tanh(r[j,I] h[b,t-1,I] + s[b,t,j])", v->r, x);
  return Einsum("y[b,2*i+j] = s[b,i,j]", x);
}

static edf_node *fmt_kept(edf_node *x) {
  const char *equation = edf_fmt("y[b,i] = %d x[b,i]", 2);
  edf_node *p = Einsum("p[b,i,k] = x[b,i] | k<1", x);
  for (int i = 0; i < 8; i++) p = MaxPool(p, 1, 1);
  return Add(Einsum(equation, x), Einsum("y[b,i] = p[b,i,0]", p));
}

static edf_node *operand(const world *v, int i) {
  return i < 2 ? v->in[i].node : v->made[i - 2];
}

enum { KINDS = 22, EMBED = 15, LOSS = 16, ADD_U = 17, FMT = 20, RESHAPE };
static const char *const kinds[KINDS] = { "Affine", "Tanh", "Softmax", "Einsum", "Add", "Mul",
  "LSTM", "Conv", "Attention", "Recurrence", "Dropout", "Custom", "LayerNorm", "BatchNorm",
  "Concat", "Embed", "Loss", "AddU", "Mean", "Relu", "Fmt", "Reshape" };

static edf_node *make(const world *v, recipe r, int slot) {
  edf_node *a = operand(v, r.a), *c = operand(v, r.c), *labels = v->in[K].node;
  switch (r.kind) {
    case 0: return Affine(v->affine, a);
    case 1: return Tanh(a);
    case 2: return Softmax(a);
    case 3: return Einsum("y[b,j] = W[I,j] a[b,I] + 0.5 a[b,j] c[b,j]", v->w, a, c);
    case 4: return Add(a, c);
    case 5: return Mul(Tanh(a), c);
    case 6: case 7: case 8: case 9: return of_square(v, r.kind - 6, a);
    case 10: return dropout(a, slot);
    case 11: return edf_compnode("Copy", copy_forward, copy_backward, a, c);
    case 12: return LayerNorm(v->layer, a);
    case 13: return BatchNorm(v->batch, a);
    case 14: return Concat("y[b,J]", Slice("a[b,J]", a, 1, 3), Slice("c[b,J]", c, 0, 1));
    case EMBED: return Add(Embed(v->table, labels), a);
    case LOSS:
      return Einsum("y[b,j] = l[b] c[b,j]", SoftmaxLogLoss(a, labels), c);
    case ADD_U: return Add(a, v->in[U].node);
    case 18: return Einsum("y[b,j] = a[b,j] s - c[b,j]", a, Mean(Square(c)), c);
    case FMT: return fmt_kept(a);
    case RESHAPE: return Add(Reshape(Reshape(a, "s[b,2,2]"), "y[b,4]"), c);
    default: return Relu(a);
  }
}

static void declare(world *v) {
  v->in[X].node = edf_want_grad(edf_input("x[b,4]"));
  v->in[Z].node = edf_want_grad(edf_input("z[b,4]"));
  v->in[K].node = edf_input("k[b]");
  v->in[U].node = edf_input("u[4]");
  v->affine = edf_affine_params(4, 4);
  v->conv = edf_conv_params(2, 3, 1, 1);
  v->conv.padding = 1;
  v->attention = edf_attention_params(2, 2);
  v->lstm = edf_lstm_params(4, 4);
  v->layer = edf_layer_norm_params(4);
  v->batch = edf_batch_norm_params(4);
  v->w = edf_parameter("w[4,4]");
  v->r = edf_parameter("r[2,2]");
  v->table = edf_parameter("table[4,4]");
  edf_init_uniform(v->w, -1, 1);
  edf_init_uniform(v->r, -1, 1);
  edf_init_uniform(v->table, -1, 1);
}

/* ---- What must be true: what a call visits, whether it must stop, what it computes. */
static char visited[NODES], used[INPUTS];
static int its_rows;

static int index_of(const edf_node *x) {
  for (int i = 0; i < edf.n_compnodes; i++) if (edf.compnodes[i] == x) return i;
  return -1;
}

static void visit(const edf_node *x) {
  int i = x->kind == EDF_COMPNODE ? index_of(x) : -1;
  if (i >= 0) visited[i] = 1;
  for (int k = 0; k < INPUTS; k++) if (x == w->in[k].node) used[k] = 1;
}

static void mark(const edf_node *target) {                   /* NULL: everything */
  memset(visited, 0, sizeof visited);
  memset(used, 0, sizeof used);
  if (target) visit(target);
  for (int i = edf.n_compnodes - 1; i >= 0; i--) {
    edf_node *c = edf.compnodes[i];
    if (!target) visited[i] = 1;
    for (int k = 0; visited[i] && k < c->n_in; k++) visit(c->in[k]);
  }
}

/* Feeds that are missing or disagree, or the own complaint of a node that runs: before an eager
   one that is current does not. */
static int marked_stops(int everything, int eager) {
  int stop = used[U] && !w->in[U].rows;
  its_rows = 0;
  for (int k = 0; k < U; k++) {
    int rows = w->in[k].rows;
    stop |= used[k] && !rows;
    if (!rows || (!everything && !used[k])) continue;
    stop |= its_rows && rows != its_rows;
    its_rows = rows;
  }
  stop |= used[K] && w->bad_labels;
  for (int i = 0; i < edf.n_compnodes; i++)
    stop |= visited[i] && !strcmp(edf.compnodes[i]->op, "BatchNorm") && edf.training &&
            its_rows == 1 && !(eager && edf_is(edf.compnodes[i], EDF_IS_CURRENT));
  return stop;
}

static int will_stop(const edf_node *target) {
  mark(target);
  return marked_stops(!target, 0);
}

static void disturb(void) {                                  /* gradients and a stepped pass */
  w->back = -1;
  w->known = 0;
}

static void forget_values(void) {
  memset(w->ok, 0, sizeof w->ok);
  disturb();
}

static void changed(void) {                                  /* parameters or settings */
  memset(w->mixed, 1, sizeof w->mixed);
  forget_values();
}

static int operands_are(const char *of, int is, const edf_node *c) {
  for (int k = 0; k < c->n_in; k++)
    if (c->in[k]->kind == EDF_COMPNODE && of[index_of(c->in[k])] != is) return 0;
  return 1;
}

static void has_run(int i) {
  if (its_rows && its_rows != w->rows) {
    forget_values();
    w->rows = its_rows;
  }
  w->idle = 0;
  w->ok[i] = (char)operands_are(w->ok, 1, edf.compnodes[i]);
  w->mixed[i] |= (char)!operands_are(w->mixed, 0, edf.compnodes[i]);
  w->mixed[i] &= (char)!w->ok[i];
}

static void marked_have_run(void) {
  for (int i = 0; i < edf.n_compnodes; i++) if (visited[i]) has_run(i);
}

/* ---- A call that may stop. `must`: 1, 0 or UNKNOWN. */
static long fail_at;                                         /* the next call's n-th malloc */

static int runs(void (*call)(void), int must) {
  static int stopped;
  int armed = fail_at != 0, starved, training = edf.training, eager = edf.eager;
  int accumulate = edf.accumulate;
  stopped = 1;
  memory.until_failure = fail_at;
  fail_at = 0;
  if (setjmp(home) == 0) { call(); stopped = 0; }
  starved = memory.until_failure == 0 && armed;
  memory.until_failure = 0;
  if (!stopped && must == 1) wrong("the last call should stop");
  if (stopped && !must && !(starved && strstr(said, "out of memory")))
    wrong("an unexpected stop: %s", said);
  if (edf.training != training || edf.eager != eager || edf.accumulate != accumulate)
    wrong("the last call changes a setting");
  stops += stopped;
  if (stopped) {
    tell("(stops) ");
    w->idle = w->sure = 0;
    forget_values();
    w->going = SOMEWHERE;
  }
  return !stopped;
}

/* ---- The new graph, and how the two compare. */
static int add_slot(world *v, recipe r) {
  int first = edf.n_compnodes;
  edf_node *y = make(v, r, v->n);
  v->slot[v->n] = r;
  v->made[v->n] = y;
  v->first[v->n] = first;
  v->end[v->n] = edf.n_compnodes;
  return v->n++;
}

static void remember(numbers *to) {
  for (int i = 0; i < edf.n_parameters; i++)
    memcpy(to->value[i], edf.parameters[i]->value, edf.parameters[i]->size * sizeof(edf_real));
}

static void remember_grads(numbers *to) {
  memset(to, 0, sizeof *to);
  for (int i = 0; i < edf.n_parameters; i++)
    if (edf.parameters[i]->grad)
      memcpy(to->value[i], edf.parameters[i]->grad,
             edf.parameters[i]->size * sizeof(edf_real));
}

static void build_again(const world *v, const numbers *parameters) {
  world *again = &fresh;
  again->n = 0;
  declare(again);
  for (int i = 0; i < edf.n_parameters; i++)
    memcpy(edf.parameters[i]->value, parameters->value[i],
           edf.parameters[i]->size * sizeof(edf_real));
  for (int k = 0; k < INPUTS; k++) {
    again->in[k].data = v->in[k].data;
    again->in[k].rows = v->in[k].rows;
    if (v->in[k].rows) edf_feed(again->in[k].node, v->in[k].data, v->in[k].rows);
  }
  again->bad_labels = v->bad_labels;
  for (int i = 0; i < v->n; i++) add_slot(again, v->slot[i]);
}

static int slot_of(const world *v, int i) {                  /* -1: of a stopped constructor */
  int k = v->n - 1;
  while (k >= 0 && (i < v->first[k] || i >= v->end[k])) k--;
  return k;
}

static int all_are_known(void) {
  int n = edf.n_compnodes;
  for (int k = 0; k < w->n; k++) n -= w->end[k] - w->first[k];
  return n == 0;
}

static edf_node *same_node(const world *v, int i) {
  int k = slot_of(v, i);
  if (k < 0) return NULL;
  if (v->end[k] - v->first[k] != fresh.end[k] - fresh.first[k]) wrong("another count");
  return edf.compnodes[fresh.first[k] + i - v->first[k]];
}

/* One Forward; where that would stop, what can be computed. */
static void run_again(const world *v, int n, int loss) {
  world *live = w;
  w = &fresh;
  if (!will_stop(NULL)) edf_forward();
  else
    for (int i = n - 1; i >= 0; i--)
      if (v->ok[i] && same_node(v, i)) edf_forward_to(same_node(v, i));
  if (loss >= 0) edf_backward(same_node(v, loss));
  w = live;
}

static void same(const char *what, const edf_node *x, const edf_real *a, const edf_real *b) {
  tensors++;
  for (size_t i = 0; i < x->size; i++) {
    edf_real p = a ? a[i] : 0, q = b ? b[i] : 0;
    if (p == q || (p != p && q != q)) continue;
    wrong("%s %s \"%s\"[%zu] is %.17g, in a new graph %.17g", what, x->op, x->name, i,
          (double)p, (double)q);
  }
}

static void same_sum(const edf_node *x, const edf_real *a, const edf_real *add,
                     const edf_real *to) {
  double rounding = sizeof *a == sizeof(float) ? 1e-4 : 1e-12, p, q, scale;
  tensors++;
  for (size_t i = 0; i < x->size; i++) {
    p = a ? (double)a[i] : 0;
    q = (double)to[i] + (add ? (double)add[i] : 0);
    scale = 1 + fabs((double)to[i]) + fabs(q);
    if (p != p || q != q || fabs(p) > 1e30 || fabs(p - q) <= rounding * scale) continue;
    wrong("grad \"%s\"[%zu] is %.17g, expected %.17g", x->name, i, p, q);
  }
}

static void compare_grads(const world *v, const edf_graph *g) {
  for (int k = 0; k < U; k++)
    same("grad", v->in[k].node, v->in[k].node->grad, fresh.in[k].node->grad);
  for (int i = 0; i < g->n_parameters; i++) {
    const edf_node *p = g->parameters[i];
    w->reached[i] = edf.parameters[i]->grad != NULL;
    if (v->added) same_sum(p, p->grad, edf.parameters[i]->grad, v->before.value[i]);
    else same("grad", p, p->grad, edf.parameters[i]->grad);
  }
  w->sure = !v->added;
  for (int i = 0; i < g->n_compnodes; i++)
    if (same_node(v, i) && g->compnodes[i]->size == same_node(v, i)->size)
      same("grad", g->compnodes[i], g->compnodes[i]->grad, same_node(v, i)->grad);
}

static void compare_values(const world *v, const edf_graph *g) {
  for (int i = 0; i < g->n_compnodes; i++) {
    const edf_node *x = g->compnodes[i], *y = same_node(v, i);
    if (!y || !v->ok[i]) continue;
    if (x->size != y->size || strcmp(x->op, y->op)) wrong("another %s", x->name);
    same("value", x, x->value, y->value);
  }
}

/* `loss`: -1 for values alone. `start`: parameters before a Forward, which may move them. */
static void compare(int loss, const numbers *start) {
  static edf_graph live;
  static long blocks;
  static numbers now;
  static const numbers *from;
  live = edf;
  blocks = memory.live;
  if (!start) remember(&now);
  from = start ? start : &now;
  edf = edf_new_graph();
  edf.training = live.training;
  edf.kernel = live.kernel;
  edf.seed = live.seed;
  if (setjmp(home)) wrong("the new graph stops: %s", said);
  build_again(w, from);
  run_again(w, live.n_compnodes, loss);
  compare_values(w, &live);
  if (loss >= 0) compare_grads(w, &live);
  for (int i = 0; from != &now && i < edf.n_parameters; i++)
    same("value", live.parameters[i], live.parameters[i]->value, edf.parameters[i]->value);
  edf_clear();
  if (memory.live != blocks) wrong("the new graph leaves %ld blocks", memory.live - blocks);
  edf = live;
  comparisons++;
}

/* ---- The calls. What they take stands here, since one that stops jumps. */
static int a, c, count;
static edf_node *chosen;
static recipe r;

static edf_node *any_node(void) {
  int n = edf.n_compnodes;
  return n ? edf.compnodes[a < 128 ? n - 1 : a % n] : w->in[X].node;
}

static void do_clear_compnodes(void) {
  w->dead = edf.n_compnodes ? any_node() : NULL;
  edf_clear_compnodes();
  w->n = 0;
  w->loss = -1;
  w->going = NOWHERE;
  forget_values();
}

static void do_declare(void) { declare(w); }

static void begin_world(void) {
  edf_clear();
  for (int k = 0; k < INPUTS; k++) w->in[k].rows = 0;
  w->n = w->bad_labels = w->tracing = w->rows = w->added = 0;
  w->watched = w->sure = 0;
  w->loss = -1;
  w->going = NOWHERE;
  memset(w->mixed, 0, sizeof w->mixed);
  forget_values();
  while (!runs(do_declare, 0)) edf_clear();
  w->going = NOWHERE;
}

static void op_clear(void) {
  tell("clear; ");
  w->dead = any_node();
  begin_world();
}

static void op_clear_compnodes(void) {
  tell("clear_compnodes; ");
  do_clear_compnodes();
}

static void do_make(void) { add_slot(w, r); }

/* Eager: the new node's ancestors have run with it. */
static void eager_has_run(int first) {
  int stale = 0;
  its_rows = w->rows;
  if (edf.n_compnodes > first) will_stop(edf.compnodes[edf.n_compnodes - 1]);
  for (int i = 0; i < first; i++) stale |= visited[i] && w->mixed[i];
  for (int i = stale ? first : 0; i < edf.n_compnodes; i++) if (visited[i]) has_run(i);
}

/* Must building this now stop, with edf.eager? */
static int eager_stops(void) {
  char seen[NODES];
  int use[INPUTS];
  mark(operand(w, r.a));
  memcpy(seen, visited, sizeof seen);
  for (int k = 0; k < INPUTS; k++) use[k] = used[k];
  mark(operand(w, r.c));
  int both = r.kind >= 3 && r.kind <= 5;
  both |= r.kind == 11 || r.kind == 14 || r.kind == LOSS || r.kind == 18 || r.kind == RESHAPE;
  for (int i = 0; i < NODES; i++) visited[i] = (char)((both && visited[i]) || seen[i]);
  for (int k = 0; k < INPUTS; k++) used[k] = (char)((both && used[k]) || use[k]);
  used[K] |= r.kind == LOSS || r.kind == EMBED;
  used[U] |= r.kind == ADD_U;
  int stop = marked_stops(0, 1);
  return stop || (r.kind == 13 && edf.training && its_rows == 1);
}

static void op_build(void) {
  int first = edf.n_compnodes, stop, single;
  r.kind = a % KINDS;
  r.a = c % (w->n + 2);
  r.c = count % (w->n + 2);
  if (w->n == SLOTS || first > NODES - 40) { op_clear_compnodes(); return; }
  stop = eager_stops();
  single = r.kind < 5 || r.kind == 13;
  tell("%s%s(%d,%d); ", edf.eager ? "eager " : "", kinds[r.kind], r.a, r.c);
  for (int i = first; i < NODES; i++) w->ok[i] = w->mixed[i] = 0;
  if (runs(do_make, edf.eager && stop)) {
    if (edf.eager) eager_has_run(first);
    if (edf.eager) compare(-1, NULL);
  } else if (edf.eager && stop && single && edf.n_compnodes > first)
    wrong("a node that could not be made is in the graph");
}

/* New data in a block of its own, so that a read of old or of other rows is seen. */
static void feed(int k, int rows, int bad) {
  static unsigned noise = 1;
  static const int width[] = { 4, 4, 1, 4 };
  size_t n = (size_t)(k == U ? 4 : rows * width[k]);
  edf_real *data = (edf_real *)malloc(n * sizeof *data);
  for (size_t i = 0; i < n; i++) {
    noise = noise * 1664525u + 1013904223u;
    data[i] = k == K ? (edf_real)(noise >> 30) : (edf_real)(noise >> 16) / 32768 - 1;
  }
  if (k == K) w->bad_labels = bad;
  if (k == K && bad) data[n - 1] = 7;
  edf_feed(w->in[k].node, data, k == U ? 1 : rows);
  free(w->in[k].data);
  w->in[k].data = data;
  w->in[k].rows = k == U ? 1 : rows;
}

static void do_feed(void) {
  int rows = 1 + count % 9, one = c % 8 == 0, bad = c % 32 == 1;
  for (int k = 0; k < INPUTS; k++) if (!one || k == a % INPUTS) feed(k, rows, bad);
}

static void op_feed(void) {
  tell("feed %s x %d%s; ", c % 8 ? "all" : w->in[a % INPUTS].node->name, 1 + count % 9,
       c % 32 == 1 ? ", a bad label" : "");
  runs(do_feed, 0);
  w->idle = 1;
  forget_values();
  memset(w->mixed, 0, sizeof w->mixed);
  w->going = NOWHERE;
}

static void op_forward(void) {
  static numbers start;
  tell("forward; ");
  remember(&start);
  w->going = NOWHERE;
  if (!runs(edf_forward, will_stop(NULL))) return;
  will_stop(NULL);
  marked_have_run();
  disturb();
  compare(-1, all_are_known() ? &start : NULL);
}

static void do_forward_to(void) { edf_forward_to(chosen); }

static void op_forward_to(void) {
  chosen = any_node();
  tell("forward_to %s; ", chosen->name);
  w->going = NOWHERE;
  if (!runs(do_forward_to, chosen->kind == EDF_COMPNODE && will_stop(chosen))) return;
  will_stop(chosen);
  marked_have_run();
  disturb();
  compare(-1, NULL);
}

static void do_backward(void) { edf_backward(chosen); }

static void begin_gradients(int loss) {
  w->loss = loss;
  w->added = edf.accumulate;
  w->sure = 0;
  remember_grads(&w->before);
}

static void op_backward(void) {
  int i, ok;
  chosen = any_node();
  if (count % 4 && !will_stop(NULL)) op_forward();
  i = index_of(chosen);
  ok = i >= 0 && w->ok[i];
  tell("backward %s; ", chosen->name);
  w->going = NOWHERE;
  w->back = -1;
  begin_gradients(-2);
  if (!runs(do_backward, i < 0 || w->idle ? 1 : ok ? 0 : UNKNOWN)) return;
  w->loss = i;
  w->known = 1;
  if (ok && slot_of(w, i) >= 0) compare(i, NULL);
}

/* ---- Settings and steps */
static void op_eager(void) { tell("eager %d; ", edf.eager = !edf.eager); }
static void op_accumulate(void) { tell("accumulate %d; ", edf.accumulate = !edf.accumulate); }

static void op_training(void) {
  if (a % 2) tell("training %d; ", edf.training = !edf.training);
  else tell("kernel %d; ", edf.kernel = c % 3);
  changed();
}

static void op_swap(void) {
  tell("swap; ");
  w->graph = edf;
  w = w == worlds ? worlds + 1 : worlds;
  edf = w->graph;
}

static void do_sgd(void) { edf_sgd((edf_real)0.0625); }
static void do_adam(void) { edf_adam((edf_real)0.01, (edf_real)0.9, (edf_real)0.99, 1); }

/* Those that the last Backward has reached make one step, others none. */
static void step(void (*call)(void)) {
  long made[PARAMETERS];
  for (int i = 0; i < edf.n_parameters; i++) made[i] = edf.parameters[i]->steps;
  if (!runs(call, 0) || !w->sure) return;
  for (int i = 0; i < edf.n_parameters; i++) {
    const edf_node *p = edf.parameters[i];
    if (p->steps - made[i] != (w->reached[i] && p->update != edf_frozen))
      wrong("%s makes %ld steps", p->name, p->steps - made[i]);
  }
}

static void op_sgd(void) {
  static numbers p, g;
  tell("sgd; ");
  remember(&p);
  remember_grads(&g);
  step(do_sgd);
  for (int i = 0; w->known && i < edf.n_parameters; i++) {
    for (int k = 0; k < LARGEST; k++)
      g.value[i][k] *= edf.parameters[i]->update == edf_frozen ? 0 : -(edf_real)0.0625;
    same_sum(edf.parameters[i], edf.parameters[i]->value, g.value[i], p.value[i]);
  }
  changed();
}

static void op_adam(void) {
  tell("adam; ");
  step(do_adam);
  changed();
}

static void op_zero_grad(void) {
  tell("zero_grad; ");
  edf_zero_grad();
  w->back = -1;
}

/* ---- Saved models: what was saved comes back, and a call that stops changes nothing. */
static struct { numbers part[3]; long steps[PARAMETERS]; int there; } saved, state;

static void remember_all(void) {
  memset(&state, 0, sizeof state);
  remember(&state.part[0]);
  for (int i = 0; i < edf.n_parameters; i++) {
    const edf_node *p = edf.parameters[i];
    size_t bytes = p->size * sizeof(edf_real);
    if (p->m) memcpy(state.part[1].value[i], p->m, bytes);
    if (p->s) memcpy(state.part[2].value[i], p->s, bytes);
    state.steps[i] = p->steps;
  }
  state.there = 1;
}

static void do_save(void) { edf_save(file); }
static void do_load(void) { edf_load(file); }

static void op_save(void) {
  tell("save; ");
  remember_all();
  if (runs(do_save, 0)) saved = state;
}

static void op_load(void) {
  tell("load; ");
  remember_all();
  if (runs(do_load, !saved.there)) state = saved;
  for (int i = 0; i < edf.n_parameters; i++) {
    const edf_node *p = edf.parameters[i];
    same("loaded value", p, p->value, state.part[0].value[i]);
    same("loaded m", p, p->m, state.part[1].value[i]);
    same("loaded s", p, p->s, state.part[2].value[i]);
    if (p->steps != state.steps[i]) wrong("%s has made %ld steps", p->name, p->steps);
  }
  changed();
}

/* ---- Who watches */
static double error;
static void do_doctor(void) { edf_doctor(chosen); }
static void do_gradcheck(void) { error = edf_gradcheck(chosen); }
static void do_break(void) { edf_break(a % 3 ? chosen->name : NULL); }
static void do_trace_begin(void) { edf_trace_begin(page); }
static void do_trace_end(void) { edf_trace_end(); }

static void op_doctor(void) {
  chosen = any_node();
  tell("doctor %s; ", chosen->name);
  if (w->watched && c % 2) fail_at = 1 + c / 2 % 3;
  w->watched = 1;
  for (int n = 0; n < 2; n++)
    if (runs(do_doctor, chosen->kind != EDF_COMPNODE)) break;
}

static void op_break(void) {
  chosen = any_node();
  tell("break %s; ", a % 3 ? chosen->name : "NULL");
  runs(do_break, 0);
}

static void op_trace(void) {
  int ends = w->tracing == 1 ? c % 4 : c % 8 == 1;
  tell("trace_%s; ", ends ? "end" : "begin");
  if (ends) {
    if (runs(do_trace_end, w->tracing ? UNKNOWN : 1)) w->tracing = 0;
    else w->tracing = inside_traces();
  } else if (runs(do_trace_begin, w->tracing)) w->tracing = 1;
  else if (!w->tracing) w->tracing = UNKNOWN;
}

/* States of the program's own nodes are put back: those of earlier values belong to none. */
static void has_to_run_again(void) {
  int own = 0;
  for (int i = 0; i < edf.n_compnodes; i++)
    own |= visited[i] && !strcmp(edf.compnodes[i]->op, "Copy");
  if (!own) wrong("a check leaves no value");
  forget_values();
  memset(w->mixed, 0, sizeof w->mixed);
  w->idle = 1;
}

static void op_gradcheck(void) {
  double most = EDF_REAL_IS_DOUBLE ? 1e-4 : 0.1;
  chosen = any_node();
  int i = index_of(chosen), stop = will_stop(chosen) || i < 0;
  if (edf.n_compnodes > 16) return;
  tell("gradcheck %s; ", chosen->name);
  w->going = NOWHERE;
  w->loss = -2;
  if (!runs(do_gradcheck, stop)) return;
  will_stop(chosen);
  marked_have_run();
  disturb();
  if (error > most) wrong("gradcheck: %g", error);
  w->loss = i;
  w->added = w->sure = 0;
  if (w->ok[i] && slot_of(w, i) >= 0) compare(i, NULL);
  will_stop(chosen);                   /* to compare has visited others */
  if (!edf_is(chosen, EDF_IS_CURRENT)) has_to_run_again();
  w->known = 1;
}

static void do_print(void) {
  switch (c % 8) {
    case 0: edf_print_program(stdout); break;
    case 1: edf_print_latex(stdout); break;
    case 2: edf_where(); break;
    case 3: edf_write_dot(dot); break;
    case 4: edf_find_nan(); break;
    case 5: edf_print_node(stdout, chosen); break;
    case 6: edf_print(w->in[a % INPUTS].node); break;
    default: edf_print(chosen);
  }
}

static void op_print(void) {
  chosen = any_node();
  tell("print %d %s; ", c % 8, chosen->name);
  runs(do_print, 0);
}

/* ---- Mistakes, each of which must stop and leave what was there; but what is eager has run */
static void stops_unchanged(void (*call)(void)) {
  static world before;
  int first = edf.n_compnodes;
  before = *w;
  runs(call, 1);
  if (edf.eager) return;
  *w = before;
  for (int i = first; i < edf.n_compnodes; i++) w->ok[i] = w->mixed[i] = 0;
}

static void do_mistake(void) {
  edf_node *x = w->in[X].node, *other = worlds[w == worlds].in[X].node;
  switch (a % 12) {
    case 0: Add(x, NULL); break;
    case 1: Einsum("y[b,j] = x[b,j,j]", x); break;
    case 2: Concat("y[B,j]", x, x); break;
    case 3: Tanh(other); break;
    case 4: edf_backward(x); break;
    case 5: edf_feed(x, NULL, 3); break;
    case 6: edf_feed(w->w, w->w->value, 4); break;
    case 7: edf_forward_to(other); break;
    case 8: edf_dropout(x, 2); break;
    case 9: edf_load("build/there is no such file"); break;
    case 10: Reshape(x, "y[b,5]"); break;
    default: Attention(w->attention, x);
  }
}

static void op_mistake(void) {
  tell("mistake %d; ", a % 12);
  stops_unchanged(do_mistake);
  if (count % 2) op_print();
}

/* ---- Steps */
static edf_node *stepped;
static void do_step_forward(void) { stepped = edf_step_forward(); }
static void do_step_backward(void) { stepped = edf_step_backward(); }

/* What may be done between two steps. */
static void meanwhile(void) {
  static void (*const between[])(void) = { op_build, op_print, op_save, op_break, op_trace,
    op_doctor, op_eager, op_mistake };
  int k = next(8);
  a = next(256);
  c = next(256);
  between[k]();
}

static void op_step_forward(void) {
  int steps = 1 + count % 40, between = count / 40;
  tell("step_forward x %d; ", steps);
  disturb();
  for (int n = 0; n < steps; n++) {
    if (n && n == between) meanwhile();
    if (!runs(do_step_forward, will_stop(NULL) ? UNKNOWN : 0)) return;
    w->going = stepped ? FORTH : NOWHERE;
    if (!stepped) break;
    will_stop(NULL);
    has_run(index_of(stepped));
  }
  compare(-1, NULL);
}

/* It begins at the last loss, or at the last node. */
static void op_step_backward(void) {
  int loss = w->loss == -1 ? edf.n_compnodes - 1 : w->loss, begins = w->going < BACK;
  int ok = loss >= 0 && w->ok[loss];
  int steps = 1 + count % 40, between = count / 40;
  tell("step_backward x %d; ", steps);
  if (begins) {
    begin_gradients(w->loss);
    w->known = 0;
    w->back = ok && slot_of(w, loss) >= 0 ? loss : -1;
  }
  for (int n = 0; n < steps; n++) {
    if (n && n == between) meanwhile();
    if (w->going == SOMEWHERE) return;
    if (!runs(do_step_backward, begins && !n && !ok ? UNKNOWN : 0)) { w->loss = -2; return; }
    if (begins && ok && !n && !stepped) wrong("the Backward does not begin");
    if (begins && stepped) w->loss = loss;
    if (!stepped && (w->going == BACK || n) && w->back >= 0) compare(w->back, NULL);
    w->going = stepped ? BACK : NOWHERE;
    if (!stepped) return;
  }
}

/* ---- Cleared nodes, no memory */
static void do_dead(void) {
  switch (a % 5) {
    case 0: Tanh(w->dead); break;
    case 1: edf_backward(w->dead); break;
    case 2: edf_value(w->dead); break;
    case 3: edf_forward_to(w->dead); break;
    default: edf_doctor(w->dead);
  }
}

static void op_dead(void) {
  if (!w->dead || !inside_knows_cleared(w->dead)) return;    /* other clears came after it   */
  deaths++;
  tell("cleared node %d; ", a % 5);
  stops_unchanged(do_dead);
}

static void op_fail(void) {
  fail_at = 1 + a % 16 * (1 + c % 16);
  tell("malloc %ld fails: ", fail_at);
}

/* ---- A sequence */
static const struct { void (*call)(void); int often; } ops[] = { { op_build, 20 },
  { op_feed, 10 }, { op_forward, 12 }, { op_forward_to, 6 }, { op_backward, 12 },
  { op_step_forward, 4 }, { op_step_backward, 5 }, { op_eager, 4 }, { op_accumulate, 3 },
  { op_training, 3 }, { op_swap, 4 }, { op_sgd, 3 }, { op_adam, 3 }, { op_zero_grad, 1 },
  { op_save, 2 }, { op_load, 2 }, { op_doctor, 2 }, { op_break, 2 }, { op_trace, 2 },
  { op_gradcheck, 2 }, { op_print, 3 }, { op_mistake, 4 }, { op_dead, 2 }, { op_fail, 6 },
  { op_clear_compnodes, 2 }, { op_clear, 1 } };

static void turn(void) {
  size_t k = 0;
  int draw = next(256) % 120;
  while (k + 1 < sizeof ops / sizeof *ops && draw >= ops[k].often) draw -= ops[k++].often;
  a = next(256);
  c = next(256);
  count = next(256);
  ops[k].call();
}

static int lowest_free_fd(void) {
  int fd = dup(0);
  close(fd);
  return fd;
}

/* The first world is the default graph, which is there before any call. */
static void begin(int k) {
  w = worlds + k;
  edf = k ? edf_new_graph() : w->graph;
  edf.training = 1;
  edf.eager = edf.accumulate = 0;
  edf.kernel = EDF_FASTEST;
  w->dead = NULL;
  edf_seed(1);
  begin_world();
  w->graph = edf;
}

static void end(void) {
  edf_clear();
  for (int k = 0; k < INPUTS; k++) {
    free(w->in[k].data);
    w->in[k].data = NULL;
  }
  w->graph = edf;
}

static void play(const uint8_t *data, size_t n) {
  int fd = lowest_free_fd();
  byte = data;
  last = data + n;
  *told = '\0';
  fail_at = saved.there = 0;
  remove(file);
  begin(1);
  begin(0);
  a = c = count = 2;
  op_feed();
  while (byte < last) turn();
  end();
  op_swap();
  end();
  if (memory.live) wrong("%ld blocks are left", memory.live);
  if (lowest_free_fd() != fd) wrong("a file is left open");
  edf = worlds[0].graph;
  sequences++;
}

#if defined STANDALONE && defined __SANITIZE_ADDRESS__       /* libFuzzer does both itself */
void __sanitizer_set_death_callback(void (*call)(void));
void __sanitizer_set_report_fd(void *fd);
void __ubsan_on_report(void);
void __ubsan_on_report(void) { say_calls(); }         /* its own report goes nowhere */
static void watch_death(void) {
  __sanitizer_set_report_fd((void *)(intptr_t)dup(2));
  __sanitizer_set_death_callback(say_calls);
  if (!freopen("/dev/null", "w", stderr)) abort();
}
#else
static void watch_death(void) { }
#endif

/* The verdict goes to the descriptor `to`; what the header prints goes nowhere. */
static void start(int to) {
  report = fdopen(dup(to), "w");
  mkdir("build", 0777);
  snprintf(file, sizeof file, "build/sequences.%ld.safetensors", (long)getpid());
  snprintf(page, sizeof page, "build/sequences.%ld.html", (long)getpid());
  snprintf(dot, sizeof dot, "build/sequences.%ld.dot", (long)getpid());
  if (!report || !freopen("/dev/null", "w", stdout)) abort();
  watch_death();
  worlds[0].graph = edf;
}

#ifdef STANDALONE
static void draw(void) {
  static uint8_t bytes[320];
  unsigned long long x = seed * 0x9E3779B97F4A7C15ull + 1;
  size_t n = 40;
  for (size_t i = 0; i < sizeof bytes; i++) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    bytes[i] = (uint8_t)(x >> 32);
  }
  while (n < sizeof bytes && bytes[n]) n++;              /* some short, many long */
  play(bytes, n);
}

int main(int argc, char **argv) {
  unsigned long long first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  long number = argc > 2 ? atol(argv[2]) : argc > 1 ? 1 : 1000;
  start(1);
  for (seed = first; seed < first + (unsigned long long)number; seed++) draw();
  remove_files();
  fprintf(report, "ok sequences: %ld sequences, %ld comparisons, %ld tensors, "
          "%ld caught stops, %ld uses of cleared nodes\n", sequences, comparisons, tensors,
          stops, deaths);
  if (number >= 100 && (comparisons < number || stops < number || deaths < number / 10)) {
    fprintf(report, "not ok sequences: too little was compared, or stopped\n");
    return 1;
  }
  return sequences == 0 || fclose(report) != 0;
}
#else
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {          /* before -close_fd_mask */
  (void)argc, (void)argv;
  start(2);
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  play(data, n);
  remove_files();
  return 0;
}
#endif
