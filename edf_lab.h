/* edf_lab.h - v3.0 - the laboratory of edf.h: tools that look at a program while it learns

   A companion of edf.h, in the same folder. It includes edf.h by itself, and uses only public
   names of edf.h. EDF_IMPLEMENTATION, defined in exactly one C or C++ file before the include,
   compiles its code too. edf_clear frees its memory. With EDF_NO_DEBUG all calls do nothing.
   MIT licence, as edf.h.

   Contents: search for >>doctor, >>plot, >>trace, >>dot. */
#if !defined(EDF_H) || \
    (defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_IMPLEMENTED))
#include "edf.h"
#endif
#ifndef EDF_LAB_H
#define EDF_LAB_H
#if EDF_VERSION != 300
#error "edf_lab.h is of version 3.0, and edf.h is of another version: take both of one version"
#endif

#ifdef __cplusplus
extern "C" {
#endif
/* Starts a doctor that watches the first 300 steps of a training. It prints what goes wrong,
   with names, numbers and a hint. Each finding is printed once, and a cause hides its symptoms.
   A healthy program prints nothing. There are rules for
     data        NaN, not scaled (0...255) or centred, equal rows, evaluation rows that were
                 trained on
     labels      outside of the classes, counted from 1, not shuffled, unrelated to the inputs,
                 targets that the output cannot reach
     program     softmax twice or over the wrong index, a parameter that the loss never uses,
                 Backward of another node, a model built again beside the old ones
     beginning   equal or zero weights, dead or saturated units, a first loss far above ln C,
                 a sum over the batch
     step        a gradient that was not cleared, a step without a new one, a parameter that
                 never moves, steps up the slope, too large or too small, edf.training
     symptoms    NaN, vanishing and exploding gradients, dead units
   Nothing is run again, and the parameters are the same bits as without a doctor. The loss may
   be built again for each step, at the same line. A second call names another loss.
   Errors: a node that is not computed, or that no parameter reaches. */
void edf_doctor(edf_node *loss);

/* Adds a value to a curve. The curves loss/train and loss/test share the chart loss. A value of
   a shorter curve lies under the newest value of its chart: so a test loss once an epoch lies
   under the training loss of its step. For a logarithmic axis plot log10(value).
   edf_plot_svg draws all charts. A value that is not finite leaves a gap. edf_clear forgets the
   curves. Errors: no name, a file that cannot be written. */
void edf_plot(const char *name, double value);
void edf_plot_svg(const char *path);

/* Writes all values and gradients of a step as JSON, or as a script if the path ends with .js.
   Call it after Backward. notes/trace.html is the page that shows the file: in a browser, open
   notes/trace.html?../build/step.js, or choose the file on the page. The file has at most 2 MB:
   of large tensors it has the first entries along each index.
   Errors: no Forward so far, a file that cannot be written. */
void edf_write_trace(const char *path);

/* Writes the graph for Graphviz: dot -Tsvg graph.dot > graph.svg */
void edf_write_dot(const char *path);

#ifdef EDF_NO_DEBUG
#define edf_doctor(loss)              ((void)(loss))
#define edf_plot(name, value)         ((void)(name), (void)(value))
#define edf_plot_svg(path)            ((void)(path))
#define edf_write_trace(path)         ((void)(path))
#define edf_write_dot(path)           ((void)(path))
#endif
#ifdef __cplusplus
}
#endif
#endif /* EDF_LAB_H */

#if defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_LAB__IMPLEMENTED)
#define EDF_LAB__IMPLEMENTED
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) && defined(__MINGW_PRINTF_FORMAT)    /* Windows: which printf it has    */
#define EDF_LAB__PRINTF(f, a) __attribute__((format(__MINGW_PRINTF_FORMAT, f, a)))
#elif defined(__GNUC__)
#define EDF_LAB__PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define EDF_LAB__PRINTF(f, a)
#endif
#ifdef __cplusplus
extern "C" {
#endif
#ifndef EDF_NO_DEBUG
/* Into `to`, which grows, or is NULL. */
static char *edf_lab__copy(char *to, const char *text) {
  size_t n = strlen(text) + 1;
  return (char *)memcpy(edf_keep(to, n), text, n);
}

/* ==== >>doctor  Rules that watch the first steps of training ============================== */
/* A step is a Backward of the loss. The first EDF_LAB__EVERY steps are looked at closely, then
   every tenth up to EDF_LAB__STEPS. What is looked at after that costs next to nothing. */
enum { EDF_LAB__EVERY = 20, EDF_LAB__STEPS = 300, EDF_LAB__WINDOW = 50, EDF_LAB__FIRM = 10 };

/* When a rule looks: inputs are fed; a Backward begins; it was the first; a Backward has ended;
   the parameters have moved; one is about to move; a Forward has ended; a Backward of another
   node has ended. */
enum {
  EDF_LAB__FED = 1, EDF_LAB__ASKED = 2, EDF_LAB__FIRST = 4, EDF_LAB__LEARNT = 8,
  EDF_LAB__MOVED = 16, EDF_LAB__MOVING = 32, EDF_LAB__RAN = 64, EDF_LAB__OTHER = 128
};

typedef struct {                         /* what is known of a parameter                      */
  edf_real *before;                      /* its values before the step                        */
  unsigned long by;                      /* the Backward that it has moved by last            */
  double norm, change, along;            /* |g|, |dp|/|p|, cos(dp, g)                         */
  int idle, faint, fierce, met;          /* looks in a row; Backwards that have reached it    */
  int zero;                              /* it began as all 0                                 */
} edf_lab__patient;

typedef struct {                         /* hashes of rows that were trained on               */
  uint64_t *slot;
  size_t tested, hits;
  int sampled;                           /* not all that were tested count                    */
} edf_lab__rows;

typedef struct { edf_real *value; int rows; } edf_lab__held;   /* rows < 0: was not fed       */

typedef struct edf_lab__doctor {
  void (*earlier)(edf_event event, edf_node *x);     /* edf.told before edf_doctor            */
  edf_node *owner;                       /* The first Parameter: it identifies the graph.     */
  char *op, *file; int line;             /* where the program builds the loss                 */
  edf_node *loss, *head, *x, *y;         /* head compares scores with labels y; x is the data */
  int classes, coded;                    /* of the head; x holds class numbers                */
  double guess;                          /* what guessing costs, ln classes; 0 without a head */
  long step, now;                        /* Backwards of the loss so far; the step it is      */
  uint64_t said;                         /* rules that have reported                          */
  int named;                             /* some rule has                                     */
  /* where the program is */
  unsigned long backwards, feeds;        /* Backwards of any loss; edf.feeds of the last      */
  int fed, stepping, pending;            /* since the last Backward: a Forward, an optimiser, */
                                         /* a look at the step is due                         */
  int rebuilt, several;                  /* new graphs; more losses than one                  */
  int unlearnt;                          /* Forwards without a Backward; < 0: Backwards of    */
                                         /* evaluation                                        */
  /* the step, and what it did */
  edf_lab__patient *patient;             /* by parameter                                      */
  edf_lab__held *held; int n_held;       /* the inputs of the last look                       */
  double first, last, middle, late;      /* losses: the first, this one, means of windows     */
  double largest;                        /* of them so far                                    */
  double drops, moved_most;              /* -g dp of the steps, summed; largest |dp|/|p|      */
  double change, last_norm;              /* of weights: the largest |dp|/|p|; |g| of the last */
  int high, still, off;                  /* high: losses in a row; still: looks at moves      */
  edf_real *dead; int n_dead;            /* least share of dead units seen, by node           */
  /* labels by class: in all, in this window; the windows' sums of squared and largest shares */
  size_t *count, *in_window, labels, window, alike;
  double purity; int windows;
  edf_lab__rows rows;
  int stepped, moved;                    /* an optimiser ever has; a parameter                */
  char *marked;                          /* by node: 1, the loss needs it; 2, class numbers   */
  int same_rows;                         /* batches in a row whose rows are all alike         */
  int fed_once;                          /* looks in a row: other inputs, the same labels     */
  int latest_is_mine, clears, cleared;   /* the last Backward; it clears the one before; so   */
  double gradients;                      /* many steps; what the gradients were behind it     */
  edf_node *latest; int at, n_nodes;     /* the last Backward's loss, where; nodes then       */
  int again, astray;                     /* Backwards in a row of a loss that was built again */
                                         /* beside the old one; of what the loss comes from   */
} edf_lab__doctor;

/* ---- The report: a finding, the nodes and numbers, a hint. */
static void edf_lab__point_at(const edf_node *x) {
  edf_page site = { NULL, 0 };
  edf_write_node(&site, x, EDF_SITE);
  printf("  %s\n", site.at);
  edf_release(site.at);
}

/* What is wrong, and the node where it shows, or NULL. */
EDF_LAB__PRINTF(3, 4)
static void edf_lab__find(const edf_lab__doctor *d, const edf_node *x, const char *format,
                          ...) {
  va_list args;
  va_start(args, format);
  printf("doctor: step %ld: ", d->now);
  vprintf(format, args);
  printf("\n");
  va_end(args);
  if (x) edf_lab__point_at(x);
}

/* One more line. The hint, what to do, is the last: 1, since a rule has reported. */
EDF_LAB__PRINTF(1, 2)
static int edf_lab__say(const char *format, ...) {
  va_list args;
  va_start(args, format);
  printf("  ");
  vprintf(format, args);
  printf("\n");
  va_end(args);
  return 1;
}

/* ---- Numbers about a tensor */
static edf_statistics edf_lab__summarise(edf_node *x) {
  return edf_statistics_of(edf_value(x), x->size);
}

static double edf_lab__mean_of(edf_node *x) { return edf_lab__summarise(x).mean; }
static double edf_lab__norm(const edf_real *v, size_t n) {
  return edf_statistics_of(v, n).norm;
}
static int edf_lab__last_dim(const edf_node *x) { return x->rank ? x->dim[x->rank - 1] : 1; }

/* Into `to`, which grows, or is NULL. */
static edf_real *edf_lab__copy_numbers(edf_real *to, const edf_real *v, size_t n) {
  to = (edf_real *)edf_keep(to, n * sizeof *v);
  return (edf_real *)memcpy(to, v, n * sizeof *v);
}

/* ---- Who is who in the program */
static int edf_lab__learns(const edf_node *p) {
  return p->active && p->grad && p->reached && p->update != edf_frozen;
}

static int edf_lab__is_built_there(const edf_lab__doctor *d, const edf_node *c) {
  return c->line == d->line && !strcmp(c->file, d->file) && !strcmp(c->op, d->op);
}

/* The loss may have been built again, at the same line: then the last one there. */
static edf_node *edf_lab__find_loss(edf_lab__doctor *d) {
  edf_node *found = NULL;
  for (int i = 0; i < edf.n_compnodes; i++) {
    edf_node *c = edf.compnodes[i];
    if (!edf_lab__is_built_there(d, c)) continue;
    if (c == d->loss) return c;
    found = c;
  }
  return d->loss = found;
}

static int edf_lab__all_whole(edf_node *x) {
  const edf_real *v = edf_value(x);
  for (size_t i = 0; i < x->size; i++)
    if ((double)v[i] != floor((double)v[i])) return 0;
  return 1;
}

static int edf_lab__is_class_loss(const edf_node *y) {
  return !strcmp(y->op, "LogLoss") || !strcmp(y->op, "SoftmaxLogLoss");
}

static int edf_lab__is_equation(const edf_node *y) {
  edf_page data = { NULL, 0 };
  edf_write_node(&data, y, EDF_EQUATION_DATA);
  edf_release(data.at);
  return data.n > 0;
}

/* Returns 1 if y is a node of the program's own, without formulas, else 0. */
static int edf_lab__is_own(const edf_node *y) { return y->kind == EDF_COMPNODE && !y->about; }

/* Scores with one index more than an Input of classes; also in a loss of the user's own. */
static int edf_lab__is_head(const edf_lab__doctor *d, const edf_node *c) {
  if (c->n_in != 2 || c->in[0]->kind != EDF_COMPNODE || c->in[1]->kind != EDF_INPUT) return 0;
  const edf_node *s = c->in[0], *y = c->in[1];
  if (s->rank != y->rank + 1 || y->fed < 0) return 0;
  for (int k = 0; k < y->rank; k++) if (s->dim[k] != y->dim[k]) return 0;
  if (edf_lab__is_class_loss(c)) return 1;
  if (!edf_lab__is_own(c) || edf_lab__last_dim(s) < 2) return 0;
  if ((c != d->loss && c != d->loss->in[0]) || !edf_lab__all_whole(c->in[1])) return 0;
  edf_statistics labels = edf_lab__summarise(c->in[1]);
  return labels.least >= 0 && labels.greatest <= edf_lab__last_dim(s);
}

/* A mark for each node: first the computed ones, then inputs, then parameters. */
static char *edf_lab__mark_of(const edf_lab__doctor *d, const edf_node *x) {
  int before = x->kind == EDF_COMPNODE ? 0
             : edf.n_compnodes + (x->kind == EDF_PARAMETER ? edf.n_inputs : 0);
  return &d->marked[before + x->position];
}

static void edf_lab__mark_inputs(const edf_lab__doctor *d, const edf_node *c, char mark) {
  for (int k = 0; k < c->n_in; k++) *edf_lab__mark_of(d, c->in[k]) |= mark;
}

/* Marks y and the nodes that y is computed from. With `by_gradient` a node without backward
   ends the way. */
static void edf_lab__mark_ancestors(edf_lab__doctor *d, const edf_node *y, int by_gradient) {
  size_t n = (size_t)(edf.n_compnodes + edf.n_inputs + edf.n_parameters);
  d->marked = (char *)edf_keep(d->marked, n);
  memset(d->marked, 0, n);
  *edf_lab__mark_of(d, y) = 1;
  for (int i = edf.n_compnodes - 1; i >= 0; i--)
    if (d->marked[i] && (edf.compnodes[i]->backward || !by_gradient))
      edf_lab__mark_inputs(d, edf.compnodes[i], 1);
}

static size_t edf_lab__row_size(const edf_node *x) {
  return x->batched & 1 && x->dim[0] > 0 ? x->size / (size_t)x->dim[0] : x->size;
}

static edf_node *edf_lab__user_of(const edf_node *x) {
  for (int i = 0; i < edf.n_compnodes; i++)
    for (int k = 0; k < edf.compnodes[i]->n_in; k++)
      if (edf.compnodes[i]->in[k] == x) return edf.compnodes[i];
  return NULL;
}

/* Is it an output less its targets? Of a loss of the program's own nobody knows. */
static int edf_lab__subtracts(const edf_node *c) {
  edf_page line = { NULL, 0 };
  if (c->in[0]->kind != EDF_COMPNODE) return 0;
  edf_write_node(&line, c, EDF_FORWARD_LINE);
  int minus = strstr(line.at, " - ") != NULL;
  edf_release(line.at);
  return minus || edf_lab__is_own(c) || !strcmp(c->op, "BCELoss");
}

/* The data: of the batched inputs but the labels the one with the longest rows; of equal ones
   rather not what is subtracted from an output. */
static edf_node *edf_lab__find_data(const edf_lab__doctor *d) {
  edf_node *best = NULL;
  for (int i = 0; i < edf.n_inputs; i++) {
    edf_node *x = edf.inputs[i];
    int is_fed = *edf_lab__mark_of(d, x) && x->fed >= 0;
    if (!is_fed || !(x->batched & 1) || x == d->y) continue;
    const edf_node *user = best ? edf_lab__user_of(best) : NULL;
    int targets = user && user->n_in == 2 && user->in[1] == best && edf_lab__subtracts(user);
    if (!best || edf_lab__row_size(x) + (size_t)targets > edf_lab__row_size(best)) best = x;
  }
  return best;
}

/* Marks what the loss is computed from, and finds the parts; 0: it is not there (yet). The
   doctor's own marks are of class numbers: whatever an Embed or a head takes them from. */
static int edf_lab__find_parts(edf_lab__doctor *d) {
  if (!edf_lab__find_loss(d)) return 0;
  edf_lab__mark_ancestors(d, d->loss, 0);
  d->head = NULL;
  for (int i = edf.n_compnodes - 1; i >= 0; i--) {
    edf_node *c = edf.compnodes[i];
    int is_head = d->marked[i] && edf_lab__is_head(d, c);
    int is_lookup = d->marked[i] && (!strcmp(c->op, "Embed") || !strcmp(c->op, "Lookup"));
    if (is_head && !d->head) d->head = c;
    if (is_head || is_lookup) *edf_lab__mark_of(d, c->in[1]) |= 2;
    if (d->marked[i] & 2) edf_lab__mark_inputs(d, c, 2);
  }
  d->y = d->head ? d->head->in[1] : NULL;
  d->classes = d->head ? edf_lab__last_dim(d->head->in[0]) : 0;
  d->guess = d->classes ? log((double)d->classes) : 0;
  d->x = edf_lab__find_data(d);
  d->coded = d->x && *edf_lab__mark_of(d, d->x) & 2;
  return 1;
}

/* ---- Sigmoid, Tanh and Relu are known by what they do, so that those of the user's own are
   looked at too. */
enum { EDF_LAB__NO_BEND, EDF_LAB__RELU, EDF_LAB__SIGMOID, EDF_LAB__TANH };

static int edf_lab__bend_of(const edf_node *y) {
  enum { TRIES = 100 };
  if (!y->active || y->n_in != 1 || y->in[0]->size != y->size || edf_lab__is_equation(y))
    return 0;
  const edf_real *in = edf_value(y->in[0]), *out = edf_value((edf_node *)y);
  for (int kind = EDF_LAB__RELU; kind <= EDF_LAB__TANH; kind++) {
    int same = 1, bent = 0;
    for (size_t t = 0; same && t < TRIES; t++) {
      size_t i = t * (y->size - 1) / (TRIES - 1);
      double x = (double)in[i], relu = x > 0 ? x : 0;
      double expected = kind == EDF_LAB__TANH ? tanh(x)
                      : kind == EDF_LAB__SIGMOID ? 1 / (1 + exp(-x)) : relu;
      same = fabs((double)out[i] - expected) <= 1e-3 * fabs(expected) + 1e-30;
      bent |= kind != EDF_LAB__RELU || x < 0;
    }
    if (same && bent) return kind;
  }
  return EDF_LAB__NO_BEND;
}

/* The share of units, the last index, of a Relu that no row of the batch switches on. */
static double edf_lab__dead_share(edf_node *y) {
  if (edf_lab__bend_of(y) != EDF_LAB__RELU) return 0;
  size_t n = (size_t)edf_lab__last_dim(y), rows = y->size / n, dead = 0;
  const edf_real *v = edf_value(y);
  if (rows < 16) return 0;
  for (size_t j = 0; j < n; j++) {
    size_t b = 0;
    while (b < rows && v[b * n + j] <= 0) b++;
    dead += b == rows;
  }
  return (double)dead / (double)n;
}

/* ---- Rules of the data */
/* Anything that is not a number spoils all that follows. -infinity may be an added mask. */
static int edf_lab__rule_data_nan(edf_lab__doctor *d) {
  for (int i = 0; i < edf.n_inputs; i++) {
    edf_node *x = edf.inputs[i];
    if (!*edf_lab__mark_of(d, x) || x->fed < 0) continue;
    edf_statistics s = edf_lab__summarise(x);
    if (!s.bad || s.least == -HUGE_VAL) continue;
    edf_lab__find(d, x, "%zu of %zu numbers of the input %s are NaN or infinite", s.bad,
                  x->size, edf_label(x));
    return edf_lab__say("hint: look at how the data is read, or divided by a deviation of 0");
  }
  return 0;
}

/* Above 20 a first layer with weights for deviation 1 saturates, or its steps are too large. A
   mean of three deviations is most of what it sees. */
static int edf_lab__rule_scale(edf_lab__doctor *d) {
  if (!d->x || d->coded) return 0;
  edf_statistics s = edf_lab__summarise(d->x);
  const edf_node *user = edf_lab__user_of(d->x);
  double most = s.greatest > -s.least ? s.greatest : -s.least, mean = fabs(s.mean);
  int large = most > 20 && !s.bad, far = mean > 3 * s.deviation && mean > 0.5;
  int is_bytes = large && s.least >= 0 && s.greatest <= 255 && s.greatest > 127;
  if (!is_bytes && user && edf_lab__is_own(user) && edf_lab__all_whole(d->x)) large = 0;
  if (!large && (!far || d->x->size < 16)) return 0;
  edf_lab__find(d, d->x, is_bytes ? "inputs look like 0...255"
                       : large ? "inputs are not scaled" : "inputs are far from centred");
  const char *range = large ? edf_fmt("%.6g to %.6g, ", s.least, s.greatest) : "";
  edf_lab__say("%smean %.3g, deviation %.3g", range, s.mean, s.deviation);
  return edf_lab__say(is_bytes ? "hint: divide by 255" : !large ? "hint: subtract the mean"
                      : "hint: subtract each column's mean and divide by its deviation");
}

/* All rows alike in three batches: the loader stands still. (All 0 may be a first state.) */
static int edf_lab__rule_alike(edf_lab__doctor *d) {
  if (!d->x || d->coded || d->x->dim[0] < 8) return 0;
  const edf_real *v = edf_value(d->x);
  size_t row = edf_lab__row_size(d->x);
  int same = !memcmp(v, v + row, (d->x->size - row) * sizeof *v);    /* each and the next one */
  if (!same || edf_lab__norm(v, row) > 0) d->same_rows = same ? d->same_rows + 1 : 0;
  if (d->same_rows < 3) return 0;
  edf_lab__find(d, d->x, "all %d rows of the input are the same", d->x->dim[0]);
  return edf_lab__say("hint: does the loader move on from row to row?");
}

/* ---- Rows that were trained on. A row is a hash of its bytes, and each slot keeps the least
   of those that fall into it. Whether another one, no less, was trained on is not known then,
   and it does not count: of many rows a sample remains. The slot and the upper half of a hash
   are those of a few entries, so that of most rows no more is read. */
enum { EDF_LAB__SLOTS = 1 << 13, EDF_LAB__FEW_OF_ROW = 16 };

static uint64_t edf_lab__mix(uint64_t h, uint64_t k) {
  h = (h ^ k) * UINT64_C(0x9E3779B97F4A7C15);
  return h ^ (h >> 29);
}

/* Of `many` of a row's n entries, from its first on, equally far apart. */
static uint64_t edf_lab__hash(const edf_real *row, size_t n, size_t many) {
  uint64_t h = many;
  for (size_t t = 0; t < many; t++) {
    uint64_t bits = 0;
    memcpy(&bits, &row[t * n / many], sizeof *row);
    h = edf_lab__mix(h, bits);
  }
  return h;
}

static uint64_t edf_lab__hash_of_row(const edf_real *row, size_t n, uint64_t few) {
  return few >> 32 << 32 | edf_lab__hash(row, n, n) >> 32 | 1;
}

/* Records the rows of x, or looks them up. */
static void edf_lab__note_rows(edf_lab__rows *r, edf_node *x, int record) {
  const edf_real *v = edf_value(x);
  size_t n = edf_lab__row_size(x);
  if (!r->slot) r->slot = (uint64_t *)edf_keep(NULL, EDF_LAB__SLOTS * sizeof *r->slot);
  for (size_t i = 0; i < x->size; i += n) {
    uint64_t few = edf_lab__hash(v + i, n, EDF_LAB__FEW_OF_ROW);
    uint64_t *slot = &r->slot[few % EDF_LAB__SLOTS];
    int is_less = !*slot || few >> 32 < *slot >> 32;
    if (record && is_less) *slot = edf_lab__hash_of_row(v + i, n, few);
    if (record) continue;
    int is_hit = few >> 32 == *slot >> 32 && *slot == edf_lab__hash_of_row(v + i, n, few);
    r->hits += (size_t)is_hit;
    r->tested += (size_t)(is_hit || is_less);
    r->sampled |= !is_hit && !is_less;
  }
}

/* Short rows are alike by nature. */
static int edf_lab__tells_rows(const edf_lab__doctor *d) {
  return d->x && edf_lab__row_size(d->x) >= (d->coded ? 16 : 4);
}

/* One row in a hundred may be a true duplicate in the data, and three more by chance. */
static int edf_lab__rule_leak(edf_lab__doctor *d) {
  const edf_lab__rows *r = &d->rows;
  if (r->tested < 20 || r->hits <= 3 + r->tested / 100) return 0;
  edf_lab__find(d, d->x, "%.3g %% of the evaluation rows were trained on",
                100 * (double)r->hits / (double)r->tested);
  edf_lab__say("%zu of %zu rows%s that were fed while edf.training is 0", r->hits, r->tested,
               r->sampled ? ", a sample of those" : "");
  return edf_lab__say("hint: keep rows apart that no step sees (unless the error on those it "
                      "has seen is what you want)");
}

/* ---- Rules of the labels */
/* A label outside of 0..K-1 reads another row's score, or stops the program. */
static int edf_lab__rule_label_range(edf_lab__doctor *d) {
  if (!d->y) return 0;
  edf_statistics s = edf_lab__summarise(d->y);
  int K = d->classes, whole = edf_lab__all_whole(d->y);
  if (whole && s.least >= 0 && s.greatest < K) return 0;
  edf_lab__find(d, d->y, "labels are %g to %g%s, but there are %d classes, 0 to %d", s.least,
                s.greatest, whole ? "" : ", not all whole", K, K - 1);
  return edf_lab__say(s.least >= 1 && s.greatest == K ? "hint: they count from 1: subtract 1"
                      : whole ? "hint: are there more classes than scores?"
                      : "hint: are these really the labels?");
}

/* Every class but 0, so often that chance would have brought a rare one too: 200 rows for each
   class. */
static int edf_lab__rule_label_base(edf_lab__doctor *d) {
  size_t K = (size_t)d->classes;
  if (!d->count || K < 3 || d->labels < 200 * K || d->count[0]) return 0;
  for (size_t k = 1; k < K; k++) if (!d->count[k]) return 0;
  edf_lab__find(d, d->y, "labels count from 1: of %zu labels none is 0", d->labels);
  edf_lab__say("labels are 1 to %zu, and there are scores for %zu classes", K - 1, K);
  return edf_lab__say("hint: subtract 1, and have one class less");
}

/* Labels are counted in all, and in windows of whole batches, 16 rows at least. */
static void edf_lab__count_labels(edf_lab__doctor *d) {
  enum { MOST = 1 << 16 };
  if (!d->y || d->classes > MOST) return;
  size_t bytes = (size_t)d->classes * sizeof *d->count;
  d->count = (size_t *)edf_keep(d->count, bytes);
  d->in_window = (size_t *)edf_keep(d->in_window, bytes);
  const edf_real *v = edf_value(d->y);
  for (size_t b = 0; b < d->y->size; b++) {
    if (!(v[b] >= 0 && v[b] < (edf_real)d->classes)) continue;
    d->count[(size_t)v[b]]++;
    d->in_window[(size_t)v[b]]++;
    d->labels++;
    d->window++;
  }
  if (d->window < 16) return;
  size_t most = 0;
  for (int k = 0; k < d->classes; k++) {
    size_t n = d->in_window[k];
    if (n > most) most = n;
    d->purity += (double)n * (double)n / ((double)d->window * (double)d->window);
    d->in_window[k] = 0;
  }
  d->alike += most;
  d->window = 0;
  d->windows++;
}

/* Shuffled, two rows of a batch have one class as often as two rows of the data have: the sum
   of squared shares S. Batches of one class each lie the whole way from there to 1, shuffled
   ones not at all; a quarter of the way is far outside of chance. */
static int edf_lab__rule_order(edf_lab__doctor *d) {
  if (!d->y || !d->count || d->y->rank != 1 || !d->windows) return 0;
  double S = 0, n = (double)d->labels, size = n / d->windows, most = 0;
  for (int k = 0; k < d->classes; k++) {
    double p = (double)d->count[k] / n;
    S += p * p;
    if (p > most) most = p;
  }
  int one = most == 1 && n >= 256 && n >= 10.0 * d->classes;
  double chance = S + (1 - S) / size, found = d->purity / d->windows;
  int sorted = d->windows >= 8 && (1 - most) * n >= 20 && found > chance + 0.25 * (1 - chance);
  if (!one && !sorted) return 0;
  edf_lab__find(d, d->y, one ? "not shuffled? All %.0f labels so far are of one class"
                          : "not shuffled: the rows of a batch have like labels", n);
  if (sorted)
    edf_lab__say("on average %.0f %% of a batch are of one class; in the data so far, %.0f %%",
                 100 * (double)d->alike / n, 100 * most);
  return edf_lab__say("hint: edf_shuffle(&x, &y) before each epoch");
}

/* By functions of one input: Sub, Square, Mean. */
static int edf_lab__leads_to_loss(const edf_lab__doctor *d, const edf_node *c) {
  do if (c == d->loss) return 1; while ((c = edf_lab__user_of(c)) != NULL && c->n_in == 1);
  return 0;
}

/* What a node's formula can reach: Sigmoid 0..1, Tanh -1..1, Relu 0 and more. */
static int edf_lab__rule_target(edf_lab__doctor *d) {
  for (int i = 0; i < edf.n_compnodes; i++) {
    edf_node *c = edf.compnodes[i];
    if (!c->active || c->n_in != 2 || c->in[0]->kind != EDF_COMPNODE) continue;
    edf_node *a = c->in[0], *y = c->in[1];
    int bce = !strcmp(c->op, "BCELoss");
    int subtracts = !strcmp(c->op, "Sub") || !strcmp(c->op, "MSE");
    int bend = bce ? EDF_LAB__SIGMOID : edf_lab__bend_of(a);
    if (y->kind != EDF_INPUT || y->fed < 0 || !bend || y->rank != a->rank) continue;
    if (!bce && (!subtracts || !edf_lab__leads_to_loss(d, c))) continue;
    edf_statistics s = edf_lab__summarise(y);
    double lo = bend == EDF_LAB__TANH ? -1 : 0, hi = bend == EDF_LAB__RELU ? HUGE_VAL : 1;
    if (s.least >= lo && s.greatest <= hi) continue;
    edf_lab__find(d, y, "targets are outside of what %s can reach", bce ? c->op : edf_label(a));
    edf_lab__point_at(bce ? c : a);
    edf_lab__say("targets %g to %g, outputs %g to %g", s.least, s.greatest, lo, hi);
    return edf_lab__say("hint: scale the targets, or have no %s before the loss", a->op);
  }
  return 0;
}

/* After 300 steps no better than the classes' shares, though each step does lower the loss of
   its own batch: 1 nat in the last half. So the gradients are right, and what one batch
   teaches does not hold for the next. Or after 100 steps, where only the inputs were fed. */
static int edf_lab__rule_unrelated(edf_lab__doctor *d) {
  int once = d->step == 2 * EDF_LAB__WINDOW && d->fed_once >= EDF_LAB__EVERY;
  int late = d->step == EDF_LAB__STEPS && !d->rebuilt && d->labels >= 16 * EDF_LAB__STEPS &&
             d->middle - d->late <= 0.1 && d->drops >= 1;
  double entropy = 0;
  if (!d->count || (!once && !late)) return 0;
  for (int k = 0; k < d->classes; k++) {
    double share = (double)d->count[k] / (double)d->labels;
    if (share > 0) entropy -= share * log(share);
  }
  if (d->late < entropy - 0.1) return 0;
  edf_lab__find(d, d->y, once ? "the labels were fed once, but other inputs for each step"
                              : "labels seem unrelated to the inputs");
  edf_lab__say("loss %.3f; the classes' shares alone would give %.3f", d->late, entropy);
  if (once) return edf_lab__say("hint: edf_feed(%s, ...) with each batch", edf_label(d->y));
  edf_lab__say("by its gradient each step lowers the loss of its own batch, by %.2g on "
               "average, but not the loss of the next batch", 2 * d->drops / (double)EDF_LAB__STEPS);
  return edf_lab__say("hint: are labels and inputs shifted against each other, or only one of "
                      "them shuffled? (An IDX header has 8 bytes for labels, 16 for images.)");
}

/* ---- Rules of the program */
/* Does x sum to 1 over index d everywhere, with no entry below 0? */
static int edf_lab__sums_to_one(edf_node *x, int d) {
  const edf_real *v = edf_value(x);
  size_t n = (size_t)x->dim[d], stride = 1;
  for (int k = d + 1; k < x->rank; k++) stride *= (size_t)x->dim[k];
  for (size_t i = 0; i < x->size; i++) {
    double sum = 0;
    if (i / stride % n) continue;
    for (size_t k = 0; k < n; k++) {
      double p = (double)v[i + k * stride];
      if (!(p >= 0)) return 0;
      sum += p;
    }
    if (!(fabs(sum - 1) < 1e-3)) return 0;
  }
  return n > 1;
}

static int edf_lab__is_softmax(const edf_node *y) { return !strncmp(y->op, "Softmax", 7); }

/* The scores that go into a softmax are probabilities already. */
static int edf_lab__rule_twice(edf_lab__doctor *d) {
  edf_node *c = d->head;
  if (c && !edf_lab__is_softmax(c)) c = c->in[0];        /* LogLoss takes probabilities    */
  if (!c || !edf_lab__is_softmax(c) || !edf_lab__sums_to_one(c->in[0], c->in[0]->rank - 1))
    return 0;
  double K = (double)d->classes;
  edf_lab__find(d, c->in[0], "softmax twice: the scores of %s are probabilities already",
                edf_label(c));
  edf_lab__point_at(c);
  edf_lab__say("so the loss cannot go below %.3f for %g classes", log(1 + (K - 1) / exp(1.0)),
               K);
  return edf_lab__say("hint: one Softmax before LogLoss, none before SoftmaxLogLoss");
}

/* Probabilities of classes have to sum to 1 over the last index. */
static int edf_lab__rule_axis(edf_lab__doctor *d) {
  if (!d->head || edf_lab__is_softmax(d->head)) return 0;
  edf_node *P = d->head->in[0];
  int last = P->rank - 1, other = 0;
  if (edf_lab__sums_to_one(P, last) || edf_lab__summarise(P).bad) return 0;
  while (other < last && !edf_lab__sums_to_one(P, other)) other++;
  if (other == last && !edf_lab__is_class_loss(d->head)) return 0;
  if (other < last)
    edf_lab__find(d, P, "softmax over the wrong index: %s sums to 1 over index %d (%d%s), not "
                  "over the %d classes", edf_label(P), other, P->dim[other],
                  P->batched >> other & 1 ? ", the batch" : "", d->classes);
  else edf_lab__find(d, P, "LogLoss of %s, which does not sum to 1 over the classes",
                     edf_label(P));
  return edf_lab__say("hint: Softmax(s) goes over the last index; LogLoss takes probabilities, "
                      "SoftmaxLogLoss scores");
}

/* Three Backwards in a row. Each Forward runs all that was built so far. */
static int edf_lab__rule_rebuilt(edf_lab__doctor *d) {
  if (d->again < 3) return 0;
  edf_lab__find(d, edf.loss, "the model is built again for each step, and the old ones stay");
  edf_lab__say("%d computed nodes so far, all of which run in each Forward", edf.n_compnodes);
  return edf_lab__say("hint: build it once, before the loop; or edf_clear_compnodes() before "
                      "it is built again");
}

/* Three Backwards, of which none was of the loss, but all of a node that it comes from. */
static int edf_lab__rule_astray(edf_lab__doctor *d) {
  if (d->step || d->astray < 3) return 0;
  edf_lab__find(d, edf.loss, "Backward of %s, not of the loss %s", edf_label(edf.loss),
                edf_label(d->loss));
  edf_lab__point_at(d->loss);
  edf_lab__say("the gradients are those of the mean of %s", edf_label(edf.loss));
  return edf_lab__say("hint: Backward(%s)", edf_label(d->loss));
}

/* Three steps of the first ones, each by another loss's gradients alone. */
static int edf_lab__rule_cleared(edf_lab__doctor *d) {
  if (d->cleared < 3) return 0;
  edf_lab__find(d, edf.loss, "Backward of %s has cleared the gradients of the loss %s",
                edf_label(edf.loss), edf_label(d->loss));
  edf_lab__point_at(d->loss);
  edf_lab__say("each Backward begins with gradients of 0: the steps lower %s alone",
               edf_label(edf.loss));
  return edf_lab__say("hint: one Backward of Add(%s, %s); or edf.accumulate = 1, and "
                      "edf_zero_grad() after each step", edf_label(d->loss),
                      edf_label(edf.loss));
}

/* Fifty steps, so that a program with several losses has come to each of them. */
static int edf_lab__rule_unused(edf_lab__doctor *d) {
  for (int i = 0; d->step == EDF_LAB__WINDOW && i < edf.n_parameters; i++) {
    edf_node *p = edf.parameters[i], *user = edf_lab__user_of(p);
    if (d->patient[i].met || p->update == edf_frozen || p->active) continue;
    edf_lab__find(d, p, "the parameter %s is never used by the loss", p->name);
    edf_lab__say("%s", user ? edf_fmt("its nearest use is here, but %s does not depend on it:",
                                      edf_label(d->loss)) : "no node uses it");
    if (user) edf_lab__point_at(user);
    return edf_lab__say("hint: is a line of the model missing, or was a name taken twice?");
  }
  return 0;
}

/* ---- Rules of the initialisation */
/* Is slice a along index d the same as the next; 2: and not all 0? Two with one value and one
   gradient stay the same for ever. A slice without a gradient may get its own later, unless
   there is none at all. */
static int edf_lab__equal_slices(edf_node *p, int d, const edf_real *v, size_t a) {
  size_t stride = 1, n = (size_t)p->dim[d];
  int zero = 1;
  for (int k = d + 1; k < p->rank; k++) stride *= (size_t)p->dim[k];
  for (size_t i = a * stride; i < p->size; i += n * stride)
    for (size_t k = i; k < i + stride; k++) {
      double x = (double)v[k], y = (double)v[k + stride];
      if (fabs(x - y) > 1e-6 * (fabs(x) + fabs(y))) return 0;
      zero &= x == 0;
    }
  return zero ? 1 : 2;
}

/* Looked at after two steps: weights of one layer may begin at 0, since they soon differ. */
static int edf_lab__rule_symmetric(edf_lab__doctor *d) {
  for (int i = 0; d->step == 3 && i < edf.n_parameters; i++) {
    edf_node *p = edf.parameters[i];
    int axis = p->rank, equal = 0, began_zero = d->patient[i].zero;
    if (!edf_lab__learns(p) || p->rank < 2) continue;
    edf_statistics s = edf_lab__summarise(p);
    const edf_real *v = edf_value(p), *g = edf_grad(p);
    double norm = edf_lab__norm(g, p->size);
    if (s.bad || (began_zero && s.norm > 0) || !(norm < HUGE_VAL)) continue;
    while (!equal && axis-- > 0)
      for (size_t k = 0; k + 1 < (size_t)p->dim[axis]; k++)
        equal += edf_lab__equal_slices(p, axis, v, k) &&
                 edf_lab__equal_slices(p, axis, g, k) > (norm > 0);
    if (!equal) continue;
    edf_lab__find(d, p, began_zero ? "%s is all zero: its units are alike and stay so"
                                   : "%s begins with equal units, which stay equal", p->name);
    edf_lab__say("%d of %d slices along index %d equal the one before, in value and gradient",
                 equal, p->dim[axis], axis);
    return edf_lab__say("hint: random weights, edf_init_uniform or edf_init_normal; only "
                        "thresholds may begin at 0");
  }
  return 0;
}

/* Entries where the slope of a Sigmoid is below 0.02, or |tanh| above 0.99. Inputs of deviation
   1 saturate 0.01 % of a Sigmoid and 0.8 % of a Tanh. */
static double edf_lab__saturated_share(edf_node *y, int kind) {
  const edf_real *x = edf_value(y->in[0]);
  double edge = kind == EDF_LAB__SIGMOID ? 3.87 : 2.65, n = 0;
  for (size_t k = 0; k < y->size; k++) n += fabs((double)x[k]) > edge;
  return n / (double)y->size;
}

/* An activation without a slope, its input, and the parameters that may have made it so. A
   random Relu unit is silent for a whole batch now and then: 60 % of them are a mistake. */
static int edf_lab__rule_bent(edf_lab__doctor *d) {
  double dead = 0, flat = 0;
  edf_node *y = NULL;
  for (int i = 0; i < edf.n_compnodes && dead <= 0.6 && flat <= 0.5; i++) {
    y = edf.compnodes[i];
    int kind = edf_lab__bend_of(y);
    dead = edf_lab__dead_share(y);
    flat = kind > EDF_LAB__RELU ? edf_lab__saturated_share(y, kind) : 0;
  }
  if (dead <= 0.6 && flat <= 0.5) return 0;
  const edf_node *x = y->in[0];
  edf_statistics s = edf_lab__summarise(y->in[0]);
  edf_lab__find(d, y, "%.0f %% of the %s of %s at the start", 100 * (dead + flat),
                dead > 0 ? "units are dead (0 for every row)"
                         : "entries are saturated (no slope)", edf_label(y));
  edf_lab__say("its input %s: %.3g to %.3g, mean %.3g, deviation %.3g; wanted: about 1",
               edf_label(x), s.least, s.greatest, s.mean, s.deviation);
  for (int k = 0; k < x->n_in; k++) {
    edf_node *p = x->in[k];
    if (p->kind != EDF_PARAMETER) continue;
    s = edf_lab__summarise(p);
    edf_lab__point_at(p);
    edf_lab__say("  mean %.3g, deviation %.3g%s", s.mean, s.deviation,
                 p->rank == 1 && fabs(s.mean) > 3 ? ": is this meant?" : "");
  }
  return edf_lab__say(dead > 0 ? "hint: thresholds near 0 (they are subtracted), weights with "
                                 "variance 1/n"
                      : "hint: smaller weights: variance 1/n for sums of n products");
}

/* Scores of deviation 1 cost ln K + 1/2, those of a healthy GPT ln K + 0.9. A batch of one
   class may cost more. */
static int edf_lab__rule_first_loss(edf_lab__doctor *d) {
  if (!d->head) return 0;
  edf_node *y = d->y, *scores = d->head->in[0];
  double chance = y->size < 16 ? 6 / sqrt((double)y->size) : 0, most = 0;
  const edf_node *largest = NULL;        /* for how many products its weights sum up          */
  edf_statistics labels = edf_lab__summarise(y), s = edf_lab__summarise(scores);
  if (d->first < d->guess + 1.5 + chance || labels.least == labels.greatest || s.bad) return 0;
  for (int i = 0; i < edf.n_parameters; i++) {
    edf_node *p = edf.parameters[i];
    double n = (double)p->size / edf_lab__last_dim(p);
    double ratio = edf_lab__summarise(p).deviation * sqrt(n);
    if (!p->active || p->rank < 2 || ratio <= most) continue;
    most = ratio;
    largest = p;
  }
  edf_lab__find(d, scores, "the first loss is %.3g; guessing costs ln %d = %.3g", d->first,
                d->classes, d->guess);
  edf_lab__say("%.3g to %.3g, deviation %.3g", s.least, s.greatest, s.deviation);
  if (most > 2) {
    edf_lab__point_at(largest);
    edf_lab__say("  weights %.2g times as large as 1/sqrt(n) for sums of n products", most);
  }
  return edf_lab__say("hint: smaller weights at the start");
}

/* ---- Rules of the gradient */
/* The sum over the batch instead of the mean: gradients grow with the batch. Known is what the
   head's losses or squares add up to; of a loss of the program's own, what guessing costs. */
static int edf_lab__rule_sum(edf_lab__doctor *d) {
  edf_node *l = d->loss;
  if (!l->n_in || l->size != 1) return 0;
  edf_node *x = d->head ? d->head : l->in[0];
  int known = x != l && x->batched & 1 && (d->head || !strcmp(x->op, "Square"));
  double n = known ? (double)x->size : x == l ? (double)d->y->size : 0;
  double sum = n * (known ? edf_lab__mean_of(x) : d->guess);
  if (n < 4 || sum == 0 || fabs(d->last / sum - 1) > 0.2) return 0;
  edf_lab__find(d, l, "the loss %s is a sum over the batch, not a mean", edf_label(l));
  edf_lab__say("%.4g = %g times %.3g: gradients are as much larger, and change with the batch",
               d->last, n, d->last / n);
  return edf_lab__say("hint: Mean(...), or Backward of the losses of all rows: it takes the "
                      "mean");
}

/* ---- Rules of the step */
/* edf.accumulate, a step, and the old gradient is still there. */
static int edf_lab__rule_stale(edf_lab__doctor *d) {
  for (int i = 0; d->stepping && i < edf.n_parameters; i++) {
    edf_node *p = edf.parameters[i];
    if (!edf_lab__learns(p) || edf_lab__norm(edf_grad(p), p->size) == 0) continue;
    edf_lab__find(d, p, "the gradient of %s still holds that of the last step", p->name);
    edf_lab__say("edf.accumulate is 1, and Backward adds to it");
    return edf_lab__say("hint: edf_zero_grad() after each step, or edf.accumulate = 0");
  }
  return 0;
}

/* `off` is the parameter that is about to move a second time by one Backward, and 1. */
static int edf_lab__rule_not_fresh(edf_lab__doctor *d) {
  if (!d->off) return 0;
  const edf_node *p = edf.parameters[d->off - 1];
  edf_lab__find(d, p, "an optimiser step of %s without a %sgradient", p->name,
                d->backwards ? "new " : "");
  if (!d->backwards) edf_lab__say("there was no Backward so far");
  else edf_lab__say("it has made a step by the gradient of the last Backward already");
  return edf_lab__say("hint: Forward and Backward before each step, and one step of one "
                      "optimiser");
}

/* Twenty Backwards, and neither an optimiser nor the program has moved anything. */
static int edf_lab__rule_no_step(edf_lab__doctor *d) {
  if (d->stepped || d->moved || edf.accumulate || d->step != EDF_LAB__EVERY) return 0;
  edf_lab__find(d, NULL, "after %ld Backwards no parameter has ever moved", d->step);
  return edf_lab__say("hint: SGD(eta), or another optimiser, after each Backward");
}

/* Ten looks in a row where it has a gradient and others move. */
static int edf_lab__rule_idle(edf_lab__doctor *d) {
  for (int i = 0; i < edf.n_parameters; i++) {
    edf_node *p = edf.parameters[i];
    if (d->patient[i].idle < EDF_LAB__FIRM || p->update == edf_frozen || d->several) continue;
    edf_lab__find(d, p, "the parameter %s has a gradient, but never moves", p->name);
    edf_lab__say("norm of its gradient %.3g; other parameters move", d->patient[i].norm);
    return edf_lab__say(!p->update ? "hint: does your own update go over all parameters?"
                        : "hint: it has an update function of its own; does that step? "
                          "(p->update = edf_frozen says that it shall not)");
  }
  return 0;
}

/* A first step of any optimiser goes against the gradient. */
static int edf_lab__rule_uphill(edf_lab__doctor *d) {
  int up = 0;
  for (int i = 0; i < edf.n_parameters; i++) {
    if (d->patient[i].along < -0.1) return 0;
    up += d->patient[i].along > 0.5;
  }
  if (!up || d->step > 1 || d->several) return 0;
  edf_lab__find(d, NULL, "the step goes along the gradient, up: wrong sign");
  edf_lab__say("%d parameters moved by +g, none by -g", up);
  return edf_lab__say("hint: p -= eta g, with eta above 0");
}

/* After a large step the loss is NaN, or ten times the largest so far; or it stays high. */
static int edf_lab__rule_too_large(edf_lab__doctor *d) {
  if (!d->loss || !d->step || !edf.training || d->loss->ran != edf.feeds) return 0;
  double loss = edf_lab__mean_of(d->loss);
  double size = d->largest > d->guess ? d->largest : d->guess;
  int jumped = d->step > 1 && loss - d->last > 9 * size;
  int lost = loss - loss != 0 && d->first - d->first == 0;
  if (!((jumped || lost) && d->change > 0.1) && d->high < 3) return 0;
  d->now = d->step;
  edf_lab__find(d, NULL, "the step is too large");
  edf_lab__say("the loss has gone from %.3g to %.3g", d->first, loss);
  edf_lab__say("a step changes weights by up to %.2g times their size; 0.001 to 0.01 is usual",
               d->change);
  return edf_lab__say("hint: a tenth of the learning rate");
}

/* Fifty steps, of which the largest did not move any parameter by a millionth. */
static int edf_lab__rule_too_small(edf_lab__doctor *d) {
  if (d->still < EDF_LAB__EVERY + 3 || d->moved_most > 1e-6) return 0;
  edf_lab__find(d, NULL, "the step is too small: nothing moves");
  edf_lab__say("in %ld steps no parameter has changed by more than %.1g of its size", d->step,
               d->moved_most);
  return edf_lab__say("hint: a larger learning rate; 0.001 to 0.01 of the size is usual");
}

/* ---- Symptoms */
static int edf_lab__finite(edf_node *x) { return !x->value || !edf_lab__summarise(x).bad; }

/* The first node with finite inputs and a value that is not. */
static int edf_lab__rule_not_finite(edf_lab__doctor *d) {
  if (!d->step || !d->loss || d->loss->ran != edf.feeds || edf_lab__finite(d->loss))
    return 0;
  for (int i = 0; i < edf.n_compnodes; i++) {
    edf_node *c = edf.compnodes[i];
    int from = 1;
    if (c->ran != edf.feeds || edf_lab__finite(c)) continue;
    for (int k = 0; k < c->n_in; k++)
      if (!edf_lab__finite(c->in[k])) { from = 0; c = c->in[k]; break; }
    edf_lab__find(d, NULL, "%s has become NaN or infinite", edf_label(d->loss));
    edf_lab__say(from ? "this node is the first, from finite inputs:" : "it begins here:");
    edf_lab__point_at(c);
    return edf_lab__say("hint: a logarithm or a division of 0, or steps that are too large");
  }
  return 0;
}

/* In every look after the first steps. */
static int edf_lab__rule_dead(edf_lab__doctor *d) {
  for (int i = 0; d->step == EDF_LAB__STEPS && i < d->n_dead; i++) {
    edf_node *y = edf.compnodes[i];
    if (d->dead[i] <= (edf_real)0.4) continue;
    edf_lab__find(d, y, "%.0f %% of the units of %s are dead: 0 for every row of each batch",
                  100 * (double)d->dead[i], edf_label(y));
    return edf_lab__say("hint: a smaller step, or LeakyRelu");
  }
  return 0;
}

/* Ten looks in a row at weights whose gradient is a millionth of the last ones', or a thousand
   times as large. */
static int edf_lab__rule_gradients(edf_lab__doctor *d) {
  for (int i = 0; i < edf.n_parameters; i++) {
    const edf_lab__patient *a = &d->patient[i];
    if (a->faint < EDF_LAB__FIRM && a->fierce < EDF_LAB__FIRM) continue;
    edf_lab__mark_ancestors(d, d->loss, 1);
    if (!*edf_lab__mark_of(d, edf.parameters[i])) continue;
    edf_lab__find(d, edf.parameters[i], "the gradient %s on its way to %s",
                  a->norm == 0 ? "is lost" : a->faint ? "vanishes" : "explodes",
                  edf_label(edf.parameters[i]));
    edf_lab__say("norm %.2g, of the last layer's weights' %.2g", a->norm,
                 d->last_norm);
    return edf_lab__say(a->norm == 0 ? "hint: dead units, or a node without a derivative "
                                       "between?"
                        : a->faint ? "hint: Relu for Sigmoid, normalisation, a residual around "
                                     "layers"
                        : "hint: smaller weights, normalisation, or edf_clip");
  }
  return 0;
}

static int edf_lab__has(const char *op) {
  for (int i = 0; i < edf.n_compnodes; i++)
    if (!strcmp(edf.compnodes[i]->op, op)) return 1;
  return 0;
}

/* Forwards of new data without a Backward look like an evaluation, and the other way round. To
   train with the running statistics of BatchNorm may be meant, without Dropout hardly. */
static int edf_lab__rule_mode(edf_lab__doctor *d) {
  int drops = edf_lab__has("Dropout"), learns = d->unlearnt <= -5 && drops;
  int evaluates = d->unlearnt >= 3 && d->step && (drops || edf_lab__has("BatchNorm"));
  if (!evaluates && !learns) return 0;
  edf_lab__find(d, NULL, evaluates ? "evaluated as in training: edf.training is 1"
                                   : "trained as in evaluation: edf.training is 0");
  edf_lab__say(evaluates ? "%d Forwards of new data without Backward; Dropout drops, BatchNorm "
               "takes the batch's statistics and moves its own" : "%d Backwards so far",
               evaluates ? d->unlearnt : -d->unlearnt);
  return edf_lab__say("hint: edf.training = 0 to evaluate, 1 to train");
}

/* ---- All rules, in the order of cause. A symptom, 1, is held back once a cause was named; -1
   explains none. A rule returns 1 where it has reported. */
static const struct { int when, symptom; int (*look)(edf_lab__doctor *); } edf_lab__rules[] = {
  { EDF_LAB__FED, 0, edf_lab__rule_data_nan },
  { EDF_LAB__FED, 0, edf_lab__rule_scale },
  { EDF_LAB__FED, 0, edf_lab__rule_alike },
  { EDF_LAB__RAN, -1, edf_lab__rule_leak },
  { EDF_LAB__FED, 0, edf_lab__rule_label_range },
  { EDF_LAB__LEARNT, 0, edf_lab__rule_label_base },
  { EDF_LAB__LEARNT, 0, edf_lab__rule_order },
  { EDF_LAB__FIRST, 0, edf_lab__rule_target },
  { EDF_LAB__FIRST, 0, edf_lab__rule_twice },
  { EDF_LAB__FIRST, 0, edf_lab__rule_axis },
  { EDF_LAB__LEARNT, 0, edf_lab__rule_rebuilt },
  { EDF_LAB__OTHER, 0, edf_lab__rule_astray },
  { EDF_LAB__MOVING, 0, edf_lab__rule_cleared },
  { EDF_LAB__LEARNT, -1, edf_lab__rule_unused },
  { EDF_LAB__LEARNT, 0, edf_lab__rule_symmetric },
  { EDF_LAB__FIRST, 1, edf_lab__rule_bent },
  { EDF_LAB__FIRST, 0, edf_lab__rule_sum },
  { EDF_LAB__FIRST, 1, edf_lab__rule_first_loss },
  { EDF_LAB__ASKED, 0, edf_lab__rule_stale },
  { EDF_LAB__MOVING, 0, edf_lab__rule_not_fresh },
  { EDF_LAB__LEARNT, 0, edf_lab__rule_no_step },
  { EDF_LAB__MOVED, 0, edf_lab__rule_idle },
  { EDF_LAB__MOVED, 0, edf_lab__rule_uphill },
  { EDF_LAB__FED | EDF_LAB__RAN, -1, edf_lab__rule_mode },
  { EDF_LAB__LEARNT | EDF_LAB__RAN, 1, edf_lab__rule_too_large },
  { EDF_LAB__MOVED, 1, edf_lab__rule_too_small },
  { EDF_LAB__LEARNT, 1, edf_lab__rule_unrelated },
  { EDF_LAB__RAN | EDF_LAB__LEARNT, 1, edf_lab__rule_not_finite },
  { EDF_LAB__LEARNT, 1, edf_lab__rule_gradients },
  { EDF_LAB__LEARNT, 1, edf_lab__rule_dead }
};

static void edf_lab__consult(edf_lab__doctor *d, int when) {
  for (size_t k = 0; k < sizeof edf_lab__rules / sizeof *edf_lab__rules; k++) {
    int symptom = edf_lab__rules[k].symptom;
    if ((d->said >> k & 1) || (symptom > 0 && d->named)) continue;
    if (!(edf_lab__rules[k].when & when) || !edf_lab__rules[k].look(d)) continue;
    d->said |= UINT64_C(1) << k;
    d->named |= symptom >= 0;
    fflush(stdout);
  }
}

/* ---- What happens in a step: inputs are fed, Forward, Backward, the parameters move. */
/* How the parameters have moved since the Backward; 0: not at all. With the least |dp|/|g| of
   those that moved, one that is idle would have shown it too. */
static int edf_lab__look_at_moves(edf_lab__doctor *d) {
  double rate = HUGE_VAL;
  int moved = 0, sized = 0;              /* one that is about 0 changes by more than its size */
  double drop = 0;                       /* what the gradients say: -g dp                     */
  d->change = 0;
  for (int i = 0; i < edf.n_parameters; i++) {
    edf_node *p = edf.parameters[i];
    edf_lab__patient *a = &d->patient[i];
    const edf_real *v = edf_value(p), *g = edf_grad(p);
    double size = 0, far = 0, along = 0;
    for (size_t k = 0; a->before && k < p->size; k++) {
      double old = (double)a->before[k], dp = (double)v[k] - old;
      size += old * old;
      far += dp * dp;
      if (g) along += dp * (double)g[k];
    }
    drop -= along;
    double norm = g ? edf_lab__norm(g, p->size) : 0, weight = sqrt(size / (double)p->size);
    moved |= far > 0;
    a->change = size > 0 ? sqrt(far / size) : far > 0;
    a->along = far > 0 && norm > 0 ? along / (sqrt(far) * norm) : 0;
    if (far > 0 && a->norm > 0 && sqrt(far) / a->norm < rate) rate = sqrt(far) / a->norm;
    if (weight > 1e-3 && a->change > d->moved_most) d->moved_most = a->change;
    if (p->rank >= 2 && a->change > d->change) d->change = a->change;
    sized |= weight > 1e-3;
  }
  for (int i = 0; moved && i < edf.n_parameters; i++) {
    edf_lab__patient *a = &d->patient[i];
    double size = edf_lab__summarise(edf.parameters[i]).norm;
    int idle = a->change <= 0 && rate * a->norm > 1e-5 * size;
    a->idle = idle ? a->idle + 1 : 0;
  }
  d->still += (moved || d->stepping) && sized;
  if (d->step > EDF_LAB__STEPS / 2) d->drops += 10 * drop;
  return moved;
}

/* After the step, when the next Forward has begun. */
static void edf_lab__after_step(edf_lab__doctor *d) {
  d->pending = 0;
  int moved = edf_lab__look_at_moves(d);
  if (!moved && !d->stepping) return;
  d->now = d->step;
  edf_lab__consult(d, EDF_LAB__MOVED);
}

/* A Forward has begun, of everything or of a target; or, where nodes run when they are built, a
   Backward. */
static void edf_lab__doctor_fed(edf_lab__doctor *d) {
  d->fed = 1;
  d->rebuilt |= !edf.loss && d->step > 0;
  if (edf.training && edf.feeds != d->feeds)
    d->unlearnt = d->unlearnt < 0 ? 1 : d->unlearnt + 1;
  if (d->step > EDF_LAB__STEPS) return;
  if (edf_lab__find_loss(d) && d->loss->active && edf_lab__find_parts(d)) {
    if (d->pending) edf_lab__after_step(d);
    d->now = d->step + 1;
    edf_lab__consult(d, EDF_LAB__FED);
  }
}

static void edf_lab__doctor_ran(edf_lab__doctor *d) {
  edf_node *loss = edf_lab__find_loss(d);
  if (!loss || loss->ran != edf.feeds) return;
  if (d->rows.slot && !edf.training && edf_lab__tells_rows(d) &&
      d->x->fed == d->x->dim[0])
    edf_lab__note_rows(&d->rows, d->x, 0);
  edf_lab__consult(d, EDF_LAB__RAN);
}

static void edf_lab__note_gradients(edf_lab__doctor *d) {
  d->last_norm = 0;
  for (int i = 0; i < edf.n_parameters; i++) {
    edf_node *p = edf.parameters[i];
    edf_lab__patient *a = &d->patient[i];
    const edf_real *now = edf_value(p);
    a->norm = edf_lab__learns(p) ? edf_lab__norm(edf_grad(p), p->size) : 0;
    if (a->norm > 0 && p->rank >= 2) d->last_norm = a->norm;
    d->moved |= a->before && memcmp(a->before, now, p->size * sizeof *now);
    a->before = edf_lab__copy_numbers(a->before, now, p->size);
    if (d->step == 1) a->zero = edf_lab__norm(a->before, p->size) == 0;
  }
  for (int i = 0; i < edf.n_parameters; i++) {
    edf_lab__patient *a = &d->patient[i];
    int has = edf_lab__learns(edf.parameters[i]) && edf.parameters[i]->rank >= 2;
    a->faint = has && a->norm <= 1e-6 * d->last_norm ? a->faint + 1 : 0;
    a->fierce = has && d->last_norm > 0 && a->norm > 1e3 * d->last_norm ? a->fierce + 1 : 0;
  }
}

static void edf_lab__note_dead(edf_lab__doctor *d) {
  size_t n = (size_t)edf.n_compnodes;
  int fresh = d->n_dead != edf.n_compnodes;
  d->dead = (edf_real *)edf_keep(d->dead, n * sizeof *d->dead);
  d->n_dead = edf.n_compnodes;
  for (size_t i = 0; i < n; i++) {
    edf_real share = (edf_real)edf_lab__dead_share(edf.compnodes[i]);
    if (fresh || share < d->dead[i]) d->dead[i] = share;
  }
}

/* Is each feed since the last Backward one of other inputs than at the last look, and none of
   the labels? Those in order, as of rows that are real, then rows that are made, fit any. */
static int edf_lab__keeps_labels(const edf_lab__doctor *d) {
  unsigned long n_fed = 0;
  int up = 0, down = 0;
  const edf_real *v = d->y ? edf_value(d->y) : NULL;
  for (size_t b = 1; v && b < d->y->size; b++) {
    up |= v[b] > v[b - 1];
    down |= v[b] < v[b - 1];
  }
  for (int i = 0; i < d->n_held && i < edf.n_inputs; i++) {
    edf_node *x = edf.inputs[i];
    int same = !x->active || (d->held[i].rows == x->fed &&
               !memcmp(d->held[i].value, edf_value(x), x->size * sizeof *v));
    n_fed += !same;
    if (x == d->y && !same) return 0;
  }
  return up && down && n_fed && n_fed == edf.feeds - d->feeds;
}

/* A step that is looked at. Its inputs are held until the parameters have moved. */
static void edf_lab__look(edf_lab__doctor *d) {
  edf_lab__note_gradients(d);
  if (d->step >= EDF_LAB__EVERY) edf_lab__note_dead(d);
  d->pending = 1;
  d->fed_once = edf_lab__keeps_labels(d) ? d->fed_once + 1 : 0;
  d->held = (edf_lab__held *)edf_keep(d->held, (size_t)edf.n_inputs * sizeof *d->held);
  d->n_held = edf.n_inputs;
  for (int i = 0; i < edf.n_inputs; i++) {
    const edf_node *x = edf.inputs[i];
    d->held[i].rows = -1;                /* until there is memory for the values              */
    if (!x->active) continue;
    d->held[i].value = edf_lab__copy_numbers(d->held[i].value, x->value, x->size);
    d->held[i].rows = x->fed;
  }
}

static void edf_lab__note_loss(edf_lab__doctor *d) {
  d->last = edf_lab__mean_of(d->loss);
  if (d->step == 1) d->first = d->last;
  if (fabs(d->last) > d->largest) d->largest = fabs(d->last);
  double usual = fabs(d->first) > d->guess ? fabs(d->first) : d->guess;
  d->high = d->head && d->last > 5 * usual ? d->high + 1 : 0;
  if (d->step % EDF_LAB__WINDOW == 1) d->late = 0;
  d->late += d->last / (double)EDF_LAB__WINDOW;
  if (d->step == 3 * EDF_LAB__WINDOW) d->middle = d->late;
}

/* After the last look: memory is given back. */
static void edf_lab__end_of_looks(edf_lab__doctor *d) {
  while (d->n_held > 0) edf_release(d->held[--d->n_held].value);
  edf_release(d->held);
  d->held = NULL;
  for (int i = 0; i < edf.n_parameters; i++) {
    edf_release(d->patient[i].before);
    d->patient[i].before = NULL;
  }
}

/* Was the loss built again, while that of its last Backward is still there? Or does the loss
   come from this node? */
static void edf_lab__note_which(edf_lab__doctor *d) {
  edf_node *l = edf.loss, *mine = edf_lab__find_loss(d);
  if (edf_lab__is_built_there(d, l)) {
    int stays = d->latest && d->at < edf.n_compnodes && edf.compnodes[d->at] == d->latest;
    d->again = stays && l->position >= d->n_nodes ? d->again + 1 : 0;
    if (d->again) d->loss = l;
    d->latest = l;
    d->at = l->position;
    d->n_nodes = edf.n_compnodes;
  } else if (mine && !d->step) {
    edf_lab__mark_ancestors(d, mine, 0);
    d->astray += *edf_lab__mark_of(d, l);
  }
}

/* The sizes of all gradients; NaN where a parameter has moved since the last look. */
static double edf_lab__all_gradients(const edf_lab__doctor *d) {
  double sum = 0;
  for (int i = 0; i < edf.n_parameters; i++) {
    edf_node *p = edf.parameters[i];
    const edf_real *before = d->patient[i].before, *g = edf_grad(p);
    if (!before || memcmp(before, edf_value(p), p->size * sizeof *g)) return NAN;
    if (g) sum += edf_lab__norm(g, p->size);
  }
  return sum;
}

static void edf_lab__doctor_learnt(edf_lab__doctor *d) {
  edf_lab__note_which(d);
  d->latest_is_mine = edf.loss == d->loss;
  d->backwards++;
  d->stepping = d->fed = 0;
  d->unlearnt = edf.training ? 0 : d->unlearnt > 0 ? -1 : d->unlearnt - 1;
  for (int i = 0; i < edf.n_parameters; i++)
    d->patient[i].met |= edf.parameters[i]->reached != 0;
  d->several |= edf.loss != d->loss;
  d->now = (long)d->backwards;
  if (d->clears) d->gradients = edf_lab__all_gradients(d);
  if (edf.loss != d->loss) { edf_lab__consult(d, EDF_LAB__OTHER); return; }
  d->now = ++d->step;
  if (d->step <= EDF_LAB__STEPS) {
    edf_lab__find_parts(d);
    edf_lab__note_loss(d);
    edf_lab__count_labels(d);
    if (d->step <= EDF_LAB__EVERY || d->step % 10 == 0) edf_lab__look(d);
    edf_lab__consult(d, d->step == 1 ? EDF_LAB__FIRST | EDF_LAB__LEARNT : EDF_LAB__LEARNT);
  } else edf_lab__end_of_looks(d);
  d->feeds = edf.feeds;
  if (edf.training && edf_lab__tells_rows(d)) edf_lab__note_rows(&d->rows, d->x, 1);
}

static void edf_lab__doctor_asked(edf_lab__doctor *d) {
  d->now = d->step + 1;
  if (edf.accumulate) edf_lab__consult(d, EDF_LAB__ASKED);
  d->clears = d->latest_is_mine && !d->stepping && !d->fed && !edf.accumulate &&
              d->step <= EDF_LAB__EVERY && edf_lab__find_loss(d) && !d->loss->active;
  if (!d->fed) edf_lab__doctor_fed(d);
}

static void edf_lab__doctor_moving(edf_lab__doctor *d, edf_node *p) {
  int i = p->position;
  edf_lab__patient *a = &d->patient[i];
  d->cleared += d->clears && edf_lab__all_gradients(d) == d->gradients;
  d->clears = 0;
  d->stepping = d->stepped = 1;
  int may_step = p->grad && p->reached && p->update != edf_frozen;
  if (d->backwards && !may_step) return;
  d->off = a->by == d->backwards ? i + 1 : 0;
  d->now = d->step;
  edf_lab__consult(d, EDF_LAB__MOVING);
  a->by = d->backwards;
}

static edf_lab__doctor *edf_lab__on_duty;          /* the doctor that watches, or NULL        */

static void edf_lab__doctor_told(edf_event event, edf_node *x) {
  edf_lab__doctor *d = edf_lab__on_duty;
  size_t n = (size_t)edf.n_parameters + 1;
  if (!d || !edf.n_parameters || edf.parameters[0] != d->owner) return;
  if (d->earlier) d->earlier(event, x);
  if (event == EDF_CLEARED) {
    edf_lab__on_duty = NULL;
    return;
  }
  d->patient = (edf_lab__patient *)edf_keep(d->patient, n * sizeof *d->patient);
  if (event == EDF_BEGIN_FORWARD) edf_lab__doctor_fed(d);
  if (event == EDF_END_FORWARD) edf_lab__doctor_ran(d);
  if (event == EDF_BEGIN_BACKWARD) edf_lab__doctor_asked(d);
  if (event == EDF_END_BACKWARD) edf_lab__doctor_learnt(d);
  if (event == EDF_BEFORE_UPDATE) edf_lab__doctor_moving(d, x);
}

/* Returns the doctor of this graph. Creates the doctor at the first call. */
static edf_lab__doctor *edf_lab__call_doctor(void) {
  edf_lab__doctor *d = edf_lab__on_duty;
  if (d && d->owner == edf.parameters[0]) return d;
  d = (edf_lab__doctor *)edf_keep(NULL, sizeof *d);
  d->owner = edf.parameters[0];
  d->earlier = edf.told;
  edf.told = edf_lab__doctor_told;
  return edf_lab__on_duty = d;
}

void edf_doctor(edf_node *loss) {
  edf_lab__doctor probe;
  const char *why = !loss ? "the loss is NULL"
                  : loss->kind != EDF_COMPNODE ? "the loss is not a computed node" : NULL;
  memset(&probe, 0, sizeof probe);
  if (!why) {
    int reached = 0;
    edf_lab__mark_ancestors(&probe, loss, 0);
    for (int i = 0; i < edf.n_parameters; i++)
      reached |= *edf_lab__mark_of(&probe, edf.parameters[i]);
    edf_release(probe.marked);
    if (!reached) why = "no parameter reaches the loss";
  }
  edf_page site = { NULL, 0 };
  if (why && loss) edf_write_node(&site, loss, EDF_SITE);
  if (why) edf_stop("edf_doctor: %s%s%s", why, loss ? "\n  " : "", loss ? site.at : "");
  edf_lab__doctor *d = edf_lab__call_doctor();
  if (d->line && edf_lab__find_loss(d) != loss) d->pending = 0;
  d->op = edf_lab__copy(d->op, loss->op);
  d->file = edf_lab__copy(d->file, loss->file);
  d->line = loss->line;
  d->loss = loss;
}

/* ==== >>plot  Curves ====================================================================== */
/* A name is "chart/curve", or only "chart". The memory does not belong to a graph, because a
   program may switch graphs. The edf_clear of the graph that plotted first frees it. */
typedef struct edf_lab__curve {
  struct edf_lab__curve *next;
  char *name;
  double *point;                         /* x and y of each value */
  size_t n;
} edf_lab__curve;

static edf_lab__curve *edf_lab__curves;
static void (*edf_lab__before_curves)(edf_event event, edf_node *x);

static void edf_lab__curves_told(edf_event event, edf_node *x) {
  if (edf_lab__before_curves) edf_lab__before_curves(event, x);
  while (event == EDF_CLEARED && edf_lab__curves) {
    edf_lab__curve *c = edf_lab__curves;
    edf_lab__curves = c->next;
    if (c->point) EDF_FREE(c->point);
    EDF_FREE(c);
  }
}

static void *edf_lab__memory(size_t bytes) {
  void *memory = EDF_MALLOC(bytes);
  if (!memory) edf_stop("edf_plot: out of memory, %zu bytes", bytes);
  return memory;
}

static edf_lab__curve *edf_lab__new_curve(const char *name) {
  size_t length = strlen(name) + 1;
  edf_lab__curve *c = (edf_lab__curve *)edf_lab__memory(sizeof *c + length);
  memset(c, 0, sizeof *c);
  c->name = (char *)memcpy(c + 1, name, length);
  if (!edf_lab__curves) {
    edf_lab__before_curves = edf.told;
    edf.told = edf_lab__curves_told;
  }
  edf_lab__curve **end = &edf_lab__curves;
  while (*end) end = &(*end)->next;
  return *end = c;
}

static int edf_lab__share_chart(const edf_lab__curve *c, const char *name) {
  size_t n = strcspn(name, "/");
  return n == strcspn(c->name, "/") && !memcmp(c->name, name, n);
}

/* A curve with few values lies under the longest curve of its chart: x continues from there. */
void edf_plot(const char *name, double value) {
  if (!name || !*name) edf_stop("edf_plot: the curve has no name");
  edf_lab__curve *c = edf_lab__curves;
  double x = 0;
  while (c && strcmp(c->name, name)) c = c->next;
  if (!c) c = edf_lab__new_curve(name);
  if (!(c->n & (c->n - 1))) {
    double *point = (double *)edf_lab__memory(4 * (c->n + 1) * sizeof *point);
    if (c->n) {
      memcpy(point, c->point, 2 * c->n * sizeof *point);
      EDF_FREE(c->point);
    }
    c->point = point;
  }
  for (const edf_lab__curve *other = edf_lab__curves; other; other = other->next)
    if (other->n && edf_lab__share_chart(other, name) && other->point[2 * other->n - 2] > x)
      x = other->point[2 * other->n - 2];
  c->point[2 * c->n] = x > (double)(c->n + 1) ? x : (double)(c->n + 1);
  c->point[2 * c->n++ + 1] = value;
}

/* ---- A chart is 610 by 200 pixels and begins at x = 70. */
typedef struct { double end, least, greatest, top; } edf_lab__axes;

static int edf_lab__is_finite(double y) { return fabs(y) < 1e300; }

static edf_lab__axes edf_lab__axes_of(const edf_lab__curve *first, double top) {
  edf_lab__axes a = { 1, HUGE_VAL, -HUGE_VAL, top };
  for (const edf_lab__curve *c = first; c; c = c->next)
    for (size_t i = 0; edf_lab__share_chart(c, first->name) && i < c->n; i++) {
      double x = c->point[2 * i], y = c->point[2 * i + 1];
      if (x > a.end) a.end = x;
      if (edf_lab__is_finite(y) && y < a.least) a.least = y;
      if (edf_lab__is_finite(y) && y > a.greatest) a.greatest = y;
    }
  if (a.least > a.greatest) a.least = a.greatest = 0;
  if (a.least > 0 && a.least < 0.5 * a.greatest) a.least = 0;
  double size = fabs(a.least) + fabs(a.greatest);
  if (a.greatest - a.least <= 1e-6 * size) a.greatest += size > 0 ? 0.1 * size : 1;
  return a;
}

static double edf_lab__page_x(const edf_lab__axes *a, double x) {
  return 70 + 610 * (a->end > 1 ? (x - 1) / (a->end - 1) : 0.5);
}

static double edf_lab__page_y(const edf_lab__axes *a, double y) {
  return a->top + 200 * (a->greatest - y) / (a->greatest - a->least);
}

/* Writes the first n characters, with the escapes of XML. */
static void edf_lab__write_xml(edf_page *out, const char *text, size_t n) {
  for (size_t i = 0; i < n; i++) {
    char c = text[i];
    if (strchr("&<>", c)) edf_write(out, "&#%d;", c);
    else edf_write(out, "%c", c >= 0 && c < ' ' ? ' ' : c);
  }
}

/* Returns 1, 2 or 5 times a power of ten, so that at most n steps fit into the range. */
static double edf_lab__round_step(double range, int n) {
  double power = pow(10.0, floor(log10(range / n))), step = range / n / power;
  return power * (step <= 1 ? 1 : step <= 2 ? 2 : step <= 5 ? 5 : 10);
}

static void edf_lab__write_axes(edf_page *out, const edf_lab__axes *a) {
  double range = a->greatest - a->least, step = edf_lab__round_step(range, 5);
  double x_step = a->end > 8 ? edf_lab__round_step(a->end, 8) : 1;
  for (double k = ceil(a->least / step), n = 0; k * step <= a->greatest && n < 9; k++, n++)
    edf_write(out, "<path class=\"grid\" d=\"M70 %.1fh610\"/>\n"
              "<text class=\"y\" x=\"62\" y=\"%.1f\">%.3g</text>\n",
              edf_lab__page_y(a, k * step), edf_lab__page_y(a, k * step) + 4, k * step);
  for (double x = x_step; x <= a->end; x += x_step)
    edf_write(out, "<text class=\"x\" x=\"%.1f\" y=\"%.1f\">%g</text>\n",
              edf_lab__page_x(a, x), a->top + 218, x);
  edf_write(out, "<path class=\"axis\" d=\"M70 %.1fv200h610\"/>\n", a->top);
}

/* Writes curve number k and its legend. Many values are drawn as at most 600 means. A value
   that is not finite leaves a gap. A single value between gaps is a plus sign. */
static void edf_lab__write_curve(edf_page *out, const edf_lab__axes *a,
                                 const edf_lab__curve *c, int k) {
  static const char *const colour[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00",
                                        "#56b4e9" };
  size_t each = (c->n + 599) / 600, run = 0;         /* run: the values since the last gap    */
  edf_write(out, "<path fill=\"none\" stroke=\"%s\" d=\"", colour[k % 6]);
  for (size_t from = 0, end; from < c->n; from = end) {
    double y = 0, next = 0;
    end = from + each < c->n ? from + each : c->n;
    for (size_t i = from; i < end; i++) y += c->point[2 * i + 1] / (double)(end - from);
    for (size_t i = end; i < end + each && i < c->n; i++) next += c->point[2 * i + 1];
    if (edf_lab__is_finite(y))
      edf_write(out, "%c%.1f %.1f", run ? 'L' : 'M',
                edf_lab__page_x(a, c->point[2 * ((from + end - 1) / 2)]),
                edf_lab__page_y(a, y));
    run = edf_lab__is_finite(y) ? run + 1 : 0;
    if (run == 1 && (end == c->n || !edf_lab__is_finite(next)))
      edf_write(out, "m-3 0h6m-3-3v6");
  }
  const char *slash = strchr(c->name, '/'), *name = slash && slash[1] ? slash + 1 : c->name;
  double y = a->top + 14 + 18 * k;
  edf_write(out, "\"/>\n<path stroke=\"%s\" d=\"M520 %.1fh22\"/>\n<text x=\"550\" y=\"%.1f\">",
            colour[k % 6], y - 4, y);
  edf_lab__write_xml(out, name, strlen(name));
  edf_write(out, "  %.4g</text>\n", c->point[2 * c->n - 1]);
}

static void edf_lab__write_chart(edf_page *out, const edf_lab__curve *first, double top) {
  edf_lab__axes a = edf_lab__axes_of(first, top);
  int k = 0;
  edf_write(out, "<text class=\"title\" x=\"70\" y=\"%.1f\">", top - 12);
  edf_lab__write_xml(out, first->name, strcspn(first->name, "/"));
  edf_write(out, "</text>\n");
  edf_lab__write_axes(out, &a);
  for (const edf_lab__curve *c = first; c; c = c->next)
    if (edf_lab__share_chart(c, first->name)) edf_lab__write_curve(out, &a, c, k++);
}

static void edf_lab__write_file(const char *who, const char *path, edf_page *page) {
  edf_writer w = edf_create_file(who, path);
  fputs(page->at, w.file);
  edf_finish_file(&w);
  edf_release(page->at);
}

void edf_plot_svg(const char *path) {
  edf_page page = { NULL, 0 }, charts = { NULL, 0 };
  int n = 0;
  for (const edf_lab__curve *c = edf_lab__curves; c; c = c->next) {
    const edf_lab__curve *first = edf_lab__curves;
    while (!edf_lab__share_chart(first, c->name)) first = first->next;
    if (first == c) edf_lab__write_chart(&charts, c, 40 + 270 * n++);
  }
  if (!n)
    edf_write(&charts, "<text x=\"70\" y=\"40\">nothing was plotted: call edf_plot</text>\n");
  edf_write(&page, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 %d\" "
            "width=\"720\" height=\"%d\">\n<style>"
            "svg{font:13px sans-serif;background:#fff;fill:#222}"
            ".title{font-size:16px;font-weight:bold}.x{text-anchor:middle}.y{text-anchor:end}"
            ".grid{stroke:#8884}.axis{stroke:#888;fill:none}path{stroke-width:2}"
            "@media(prefers-color-scheme:dark){svg{background:#181818;fill:#ddd}}</style>\n"
            "%s</svg>\n", 270 * n + 60, 270 * n + 60, charts.at);
  edf_release(charts.at);
  edf_lab__write_file("edf_plot_svg", path, &page);
}

/* ==== >>trace  The state at the end of a step ============================================= */
/* Writes the first `most` entries of v along each index of x. */
static void edf_lab__write_numbers(edf_page *to, const char *key, const edf_node *x,
                                   const edf_real *v, int most) {
  edf_write(to, ",\n\"%s\":[", key);
  for (size_t i = 0, n = 0; i < x->size; i++) {
    size_t rest = i;
    int shown = 1;
    for (int d = x->rank - 1; d >= 0; d--) {
      shown &= (int)(rest % (size_t)x->dim[d]) < most;
      rest /= (size_t)x->dim[d];
    }
    if (!shown) continue;
    double number = (double)v[i];
    const char *comma = n++ ? "," : "";
    if (number - number == 0) edf_write(to, "%s%.6g", comma, number);
    else edf_write(to, "%s\"%s\"", comma, number != number ? "NaN" : number < 0 ? "-Infinity"
                   : "Infinity");
  }
  edf_write(to, "]");
}

static void edf_lab__write_string(edf_page *to, const char *key, const char *text) {
  edf_write(to, ",\"%s\":", key);
  edf_write_quoted(to, text, strlen(text));
}

/* Writes the printed lines of a node as a list of strings. */
static void edf_lab__write_lines(edf_page *to, const char *key, const edf_node *y,
                                 edf_part part) {
  edf_page text = { NULL, 0 };
  edf_write_node(&text, y, part);
  edf_write(to, ",\"%s\":[", key);
  for (const char *c = text.at, *end; c && *c; c = end + (*end == '\n')) {
    c += strspn(c, " ");
    end = c + strcspn(c, "\n");
    if (to->at[to->n - 1] != '[') edf_write(to, ",");
    edf_write_quoted(to, c, (size_t)(end - c));
  }
  edf_write(to, "]");
  edf_release(text.at);
}

/* ---- Nodes by number: first Inputs, then Parameters, then CompNodes. */
static int edf_lab__n_nodes(void) { return edf.n_inputs + edf.n_parameters + edf.n_compnodes; }
static edf_node *edf_lab__nth(int i) {
  int k = i - edf.n_inputs, c = k - edf.n_parameters;
  return k < 0 ? edf.inputs[i] : c < 0 ? edf.parameters[k] : edf.compnodes[c];
}
static int edf_lab__number_of(const edf_node *x) {
  int before = x->kind == EDF_INPUT ? 0 : edf.n_inputs;
  return x->position + before + (x->kind == EDF_COMPNODE ? edf.n_parameters : 0);
}

static void edf_lab__trace_node(edf_page *to, edf_node *x, int most) {
  edf_write(to, "{\"kind\":%d,\"row\":%d", (int)x->kind, x->line);
  edf_lab__write_string(to, "op", x->op);
  edf_lab__write_string(to, "name", edf_label(x));
  edf_lab__write_string(to, "file", x->file);
  edf_write(to, ",\"dim\":[");
  for (int d = 0; d < x->rank; d++) edf_write(to, d ? ",%d" : "%d", x->dim[d]);
  edf_write(to, "],\"in\":[");
  for (int k = 0; k < x->n_in; k++)
    edf_write(to, k ? ",%d" : "%d", edf_lab__number_of(x->in[k]));
  edf_write(to, "]");
  if (x->kind == EDF_COMPNODE) {
    int is_equation = edf_lab__is_equation(x);
    edf_lab__write_lines(to, "line", x, EDF_FORWARD_LINE);
    if (x->backward && x->needs_grad)
      edf_lab__write_lines(to, "back", x, EDF_BACKWARD_LINES);
    if (x->about && !is_equation) edf_write(to, ",\"f\":1");
    if (is_equation) edf_write(to, ",\"eq\":");
    if (is_equation) edf_write_node(to, x, EDF_EQUATION_DATA);
  }
  int has_value = x->kind == EDF_INPUT ? x->fed >= 0
                : x->kind == EDF_PARAMETER || x->ran == edf.feeds;
  if (has_value && x->active) edf_lab__write_numbers(to, "value", x, edf_value(x), most);
  if (has_value && x->active && x->grad && x->reached)
    edf_lab__write_numbers(to, "grad", x, edf_grad(x), most);
  edf_write(to, "}");
}

static edf_page edf_lab__trace_page(int most) {
  edf_page page = { NULL, 0 };
  edf_write(&page, "{\"most\":%d,\"loss\":%d,\"nodes\":[\n", most,
            edf.loss ? edf_lab__number_of(edf.loss) : -1);
  for (int i = 0, n = edf_lab__n_nodes(); i < n; i++) {
    edf_lab__trace_node(&page, edf_lab__nth(i), most);
    edf_write(&page, i + 1 < n ? ",\n" : "]}");
  }
  return page;
}

/* Returns how many numbers there are, of at most so many along each index. */
static double edf_lab__count_numbers(int most) {
  double all = 0;
  for (int i = 0; i < edf_lab__n_nodes(); i++) {
    const edf_node *x = edf_lab__nth(i);
    double n = x->grad ? 2 : 1;
    for (int d = 0; d < x->rank; d++) n *= x->dim[d] < most ? x->dim[d] : most;
    all += n;
  }
  return all;
}

/* The file has at most 2 MB. */
void edf_write_trace(const char *path) {
  size_t n = path ? strlen(path) : 0;
  int is_script = n > 3 && !strcmp(path + n - 3, ".js"), most = 1 << 20;
  if (!edf.n_compnodes || !edf.compnodes[0]->value)
    edf_stop("edf_write_trace: there are no values: call Forward and Backward first");
  while (most > 1 && edf_lab__count_numbers(most) > 1e6) most -= most / 8 + 1;
  edf_page page = edf_lab__trace_page(most);
  while (page.n > 1990000 && most > 1) {
    most = most > 4096 ? 4096 : most - most / 8 - 1;
    edf_release(page.at);
    page = edf_lab__trace_page(most);
  }
  edf_page all = { NULL, 0 };
  edf_write(&all, is_script ? "edf_trace(%s);\n" : "%s\n", page.at);
  edf_release(page.at);
  edf_lab__write_file("edf_write_trace", path, &all);
}

/* ==== >>dot  The graph in Graphviz's language ============================================= */
static void edf_lab__write_dot_node(edf_page *out, const edf_node *x) {
  static const char *const style[] = { "dashed", "\"rounded,dashed\"", "rounded" };
  edf_write(out, "  %c%d [label=\"", "xpc"[x->kind], x->position);
  for (const char *c = edf_label(x); *c; c++)
    if (*c == '\n') edf_write(out, "\\n");
    else edf_write(out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
  edf_write(out, "\\n%s ", x->op);
  edf_write_node(out, x, EDF_SHAPE);
  edf_write(out, "\", style=%s];\n", style[x->kind]);
  for (int k = 0; k < x->n_in; k++)
    edf_write(out, "  %c%d -> %c%d;\n", "xpc"[x->in[k]->kind], x->in[k]->position,
              "xpc"[x->kind], x->position);
}

void edf_write_dot(const char *path) {
  edf_page page = { NULL, 0 };
  edf_write(&page, "digraph edf {\n  rankdir=LR;\n  node [shape=box, fontname=monospace];\n");
  for (int i = 0; i < edf_lab__n_nodes(); i++) edf_lab__write_dot_node(&page, edf_lab__nth(i));
  edf_write(&page, "}\n");
  edf_lab__write_file("edf_write_dot", path, &page);
}
#endif /* EDF_NO_DEBUG */

#ifdef __cplusplus
}
#endif
#endif
