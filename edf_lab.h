/* edf_lab.h - v3.0 - the laboratory of edf.h: tools that look at a program while it learns

   A companion of edf.h, in the same folder. It includes edf.h by itself, and uses only public
   names of edf.h. edf.told tells it what runs. EDF_IMPLEMENTATION, defined in exactly one C or
   C++ file before the include, compiles its code too.

   What is allocated belongs to the graph, through EDF_MALLOC, and edf_clear frees it. With
   EDF_NO_DEBUG all calls do nothing. MIT licence, as edf.h.

   Contents (search for the anchor): first what each declares, then the code
     >>doctor   rules that name mistakes    >>plot     training curves
     >>trace    a page to step through      >>paper    the graph in the language of dot
*/
#if !defined(EDF_H) || \
    (defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_IMPLEMENTED))
#include "edf.h"
#endif
#ifndef EDF_LAB_H
#define EDF_LAB_H
#if EDF_VERSION != 300
#error "edf_lab.h is of version 3.0, and edf.h is of another version: take both of one version"
#endif
#undef edf_log

#ifdef __cplusplus
extern "C" {
#endif
/* The doctor. edf_doctor(loss), before the training, watches its first 300 steps and
   prints what goes wrong, with names, numbers and a hint, each finding once, causes before what
   follows from them. A healthy run prints nothing. It has rules for
     data        NaN, not scaled (0...255) or centred, rows all alike, rows that were trained on
                 among those fed while edf.training is 0
     labels      outside of the classes, counted from 1, not shuffled, unrelated to the inputs,
                 targets that the output cannot reach
     program     softmax twice or over the wrong index, a parameter that the loss never uses,
                 Backward of another node, a model built again beside the old ones
     beginning   equal or zero weights, dead or saturated units, a first loss far above ln C
     gradient    in programs with nodes of your own: wrong sign, a factor (batch, 2), another
                 mistake, with the first wrong node; a sum over the batch
     step        a gradient that was not cleared, a step without a new one, a parameter that
                 never moves, steps up the slope, too large or too small, edf.training
     symptoms    NaN, vanishing and exploding gradients, dead units: only if no cause was found
   It changes nothing: the parameters are bit for bit the same, as long as nodes of your own
   give the same values when they run again. The first 20 steps cost another Forward, then every
   tenth to step 300, the first one two for each parameter if there are nodes of your own; after
   that it takes a few microseconds a step, for the rows. The loss may be built again for each
   step, at the same line; calling edf_doctor again is allowed, and edf_clear forgets all.
   Errors: a node that is not computed or that no parameter reaches. */
void edf_doctor(edf_node *loss);

/* Curves that people look at. edf_log(name, value) adds a value to the series of this name
   (with one argument, edf_log(x) is the logarithm, a node). Series with a common first part,
   loss/train and loss/test, share a chart, loss. A value stands where the longest series of its
   chart is at that time: so a test loss once an epoch lies under the training loss of its step.
   edf_log_scale gives a chart a logarithmic axis. edf_plot_svg draws all: long series as means
   with a band from least to greatest; values that are not finite, or not above 0 on such an
   axis, are left out and counted. Where nothing was logged, the file and stderr say so.
   edf_clear forgets them. Errors: no name, a file that cannot be written. */
#define EDF_LAB__LOG_OF(a, b, which, ...) which
#define edf_log(...) \
  EDF_LAB__LOG_OF(__VA_ARGS__, EDF_LAB__LOG_VALUE, EDF_LAB__LOG_NODE, 0)(__VA_ARGS__)
#define EDF_LAB__LOG_VALUE(name, value) edf_log_value(name, value)
#define EDF_LAB__LOG_NODE(x) edf_log_at(__FILE__, __LINE__, x)
void edf_log_value(const char *name, double value);          /* edf_log(name, value)          */
void edf_log_scale(const char *chart);
void edf_plot_svg(const char *path);

/* A page to step through. What runs between edf_trace_begin("trace.html") and
   edf_trace_end(), best one training step or a few, is written as one HTML file that any
   browser shows, without a server or a network: the program forward and backward, the graph
   with the gradients that have arrived, the tensors as they are at each moment, and for every
   entry the sum of products that made it. The file stays below 2 MB: of large tensors it has a
   part, the same along each index, and when it is full it leaves out what runs later; the page
   says so. What changes is copied, so a step that is traced is slow; others cost nothing.
   Errors: a path that cannot be written, two begins, an end without a begin, nothing that ran.
   edf_clear ends a trace without a page. */
void edf_trace_begin(const char *path);
void edf_trace_end(void);

/* Writes the graph for Graphviz: dot -Tsvg graph.dot. */
void edf_write_dot(const char *path);

#ifdef EDF_NO_DEBUG
#define edf_doctor(loss)              ((void)(loss))
#define edf_log_value(name, value)    ((void)(name), (void)(value))
#define edf_log_scale(chart)          ((void)(chart))
#define edf_plot_svg(path)            ((void)(path))
#define edf_trace_begin(path)         ((void)(path))
#define edf_trace_end()               ((void)0)
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

/* Room for one more in an array of n, which doubles. */
static void *edf_lab__grow(void *array, size_t n, size_t size) {
  return n & (n - 1) ? array : edf_keep(array, 2 * (n + 1) * size);
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
  double norm, change, along, slope;     /* |g|, |dp|/|p|, cos(dp, g), measured / claimed     */
  int idle, faint, fierce, met;          /* looks in a row; Backwards that have reached it    */
  int zero;                              /* it began as all 0                                 */
} edf_lab__patient;

typedef struct {                         /* hashes of rows that were trained on               */
  uint64_t *slot;
  size_t tested, hits;
  int sampled;                           /* not all that were tested count                    */
} edf_lab__rows;

/* ---- Tools. edf.told calls all tools of the graph. A graph is known by its first leaf. */
typedef struct edf_lab__tool {
  void (*told)(struct edf_lab__tool *t, edf_event event, edf_node *x);
  struct edf_lab__tool *next;
  const edf_node *leaf;                  /* the first Input of its graph, else its first      */
} edf_lab__tool;                         /* Parameter                                         */
static edf_lab__tool *edf_lab__tools;
static void (*edf_lab__told_before)(edf_event event, edf_node *x);

static const edf_node *edf_lab__first_leaf(void) {
  return edf.n_inputs ? edf.inputs[0] : edf.n_parameters ? edf.parameters[0] : NULL;
}

/* Makes what `target` depends on active, or all nodes for NULL. A tool that is told of a pass
   puts the flags of the pass back: edf_lab__restore. */
static void edf_lab__mark(edf_node *target) {
  for (int i = 0; i < edf.n_inputs; i++) edf.inputs[i]->active = !target;
  for (int i = 0; i < edf.n_parameters; i++) edf.parameters[i]->active = !target;
  for (int i = 0; i < edf.n_compnodes; i++) edf.compnodes[i]->active = !target;
  if (target) target->active = 1;
  for (int i = target ? edf.n_compnodes - 1 : -1; i >= 0; i--)
    for (int k = 0; edf.compnodes[i]->active && k < edf.compnodes[i]->n_in; k++)
      edf.compnodes[i]->in[k]->active = 1;
}
static edf_node *edf_lab__nth(int i) {
  if (i < edf.n_inputs) return edf.inputs[i];
  i -= edf.n_inputs;
  return i < edf.n_parameters ? edf.parameters[i] : edf.compnodes[i - edf.n_parameters];
}
static char *edf_lab__save(void) {
  int n = edf.n_inputs + edf.n_parameters + edf.n_compnodes;
  char *active = (char *)edf_keep(NULL, (size_t)n + 1);
  for (int i = 0; i < n; i++) active[i] = edf_lab__nth(i)->active;
  return active;
}
static void edf_lab__restore(char *active) {
  int n = edf.n_inputs + edf.n_parameters + edf.n_compnodes;
  for (int i = 0; i < n; i++) edf_lab__nth(i)->active = active[i];
  edf_release(active);
}

/* A node needs a gradient if a Parameter or a wanted node reaches it. */
static int edf_lab__needs_grad(const edf_node *x) {
  int needs = x->needs_grad || (x->kind == EDF_PARAMETER && x->update != edf_frozen);
  for (int k = 0; x->backward && k < x->n_in && !needs; k++)
    needs = edf_lab__needs_grad(x->in[k]);
  return needs;
}

static void edf_lab__told(edf_event event, edf_node *x) {
  const edf_node *leaf = edf_lab__first_leaf();
  if (edf_lab__told_before) edf_lab__told_before(event, x);
  for (edf_lab__tool **at = &edf_lab__tools; *at;) {
    edf_lab__tool *t = *at;
    if (t->leaf != leaf) { at = &t->next; continue; }
    char *active = event == EDF_CLEARED ? NULL : edf_lab__save();
    if (event == EDF_CLEARED) *at = t->next;         /* Its memory is freed.                  */
    else at = &t->next;
    t->told(t, event, x);
    if (active) edf_lab__restore(active);
  }
}

/* Returns the graph's tool of this function, or NULL. */
static edf_lab__tool *edf_lab__find_tool(void (*told)(edf_lab__tool *, edf_event, edf_node *)) {
  edf_lab__tool *t = edf_lab__tools;
  while (t && (t->told != told || t->leaf != edf_lab__first_leaf())) t = t->next;
  return t;
}
static void edf_lab__add_tool(edf_lab__tool *t,
                              void (*told)(edf_lab__tool *, edf_event, edf_node *)) {
  t->told = told;
  t->leaf = edf_lab__first_leaf();
  t->next = edf_lab__tools;
  edf_lab__tools = t;
  if (edf.told == edf_lab__told) return;
  edf_lab__told_before = edf.told;
  edf.told = edf_lab__told;
}

/* Returns 1 if nothing is in the gradient of x. */
static int edf_lab__grad_is_zero(edf_node *x) {
  const edf_real *g = edf_grad(x);
  for (size_t i = 0; g && i < x->size; i++) if (g[i] != 0) return 0;
  return 1;
}

/* ---- Kinds of nodes. */
typedef enum {
  EDF_LAB__IS_OWN, EDF_LAB__IS_EQUATION, EDF_LAB__IS_SOFTMAX, EDF_LAB__IS_CLASS_LOSS,
  EDF_LAB__IS_BINARY_LOSS, EDF_LAB__IS_LOOKUP, EDF_LAB__IS_DROPOUT, EDF_LAB__IS_BATCH_NORM,
  EDF_LAB__IS_SQUARE, EDF_LAB__IS_DIFFERENCE, EDF_LAB__MAY_STEP
} edf_lab__trait;
static int edf_lab__is_named(const edf_node *x, const char *op) {
  return x->about && x->about->name && !strcmp(x->about->name, op);
}
static int edf_lab__is(const edf_node *x, edf_lab__trait trait) {
  switch (trait) {
    case EDF_LAB__IS_OWN:        return x->kind == EDF_COMPNODE && (!x->about || !x->about->name);
    case EDF_LAB__IS_EQUATION:   return x->about && x->about->name && !x->about->formula &&
                                        strcmp(x->about->name, "Lookup");
    case EDF_LAB__IS_SOFTMAX:    return edf_lab__is_named(x, "Softmax") ||
                                        edf_lab__is_named(x, "SoftmaxLogLoss");
    case EDF_LAB__IS_CLASS_LOSS: return edf_lab__is_named(x, "LogLoss") ||
                                        edf_lab__is_named(x, "SoftmaxLogLoss");
    case EDF_LAB__IS_BINARY_LOSS: return edf_lab__is_named(x, "BCELoss");
    case EDF_LAB__IS_LOOKUP:     return edf_lab__is_named(x, "Lookup") ||
                                        edf_lab__is_named(x, "Embed");
    case EDF_LAB__IS_DROPOUT:    return edf_lab__is_named(x, "Dropout");
    case EDF_LAB__IS_BATCH_NORM: return edf_lab__is_named(x, "BatchNorm");
    case EDF_LAB__IS_SQUARE:     return edf_lab__is_named(x, "Square");
    case EDF_LAB__IS_DIFFERENCE: return !strcmp(x->op, "Sub") ||
                                        (!strcmp(x->op, "MSE") && x->n_in == 2);
    default: return x->kind == EDF_PARAMETER && x->grad && x->reached && x->update != edf_frozen;
  }
}

typedef struct { edf_real *value; int rows; } edf_lab__held;   /* rows < 0: was not fed       */

typedef struct edf_lab__doctor {
  edf_lab__tool tool;
  char *op, *file; int line;             /* where the program builds the loss                 */
  edf_node *loss, *head, *x, *y;         /* head compares scores with labels y; x is the data */
  int classes, coded;                    /* of the head; x holds class numbers                */
  double guess;                          /* what guessing costs, ln classes; 0 without a head */
  long step, now;                        /* Backwards of the loss so far; the step it is      */
  uint64_t said;                         /* rules that have reported                          */
  int named;                             /* some rule has                                     */
  /* where the program is */
  unsigned long backwards, feeds;        /* Backwards of any loss; edf.feeds of the last      */
  unsigned long long draws, drawn;       /* edf.draws before this Forward, before that look's */
  int fed, stepping, pending;            /* since the last Backward: a Forward, an optimiser, */
                                         /* a look at the step is due                         */
  int carried, rebuilt, several;         /* gradients kept; new graphs; more losses than one  */
  int forward;                           /* a Forward runs                                    */
  int unlearnt;                          /* Forwards without a Backward; < 0: Backwards of    */
                                         /* evaluation                                        */
  /* the step, and what it did */
  edf_lab__patient *patient;             /* by parameter                                      */
  edf_lab__held *held; int n_held;       /* the inputs of the last look                       */
  double first, last, middle, late;      /* losses: the first, this one, means of windows     */
  double largest;                        /* of them so far                                    */
  double moved_most;                     /* the largest |dp|/|p|                              */
  double change, last_norm;              /* of weights: the largest |dp|/|p|; |g| of the last */
  int high, still, off;                  /* high: losses in a row; still: looks at moves      */
  edf_real *dead; int n_dead;            /* least share of dead units seen, by node           */
  /* labels by class: in all, in this window; the windows' sums of squared and largest shares */
  size_t *count, *in_window, labels, window, alike;
  double purity; int windows;
  edf_lab__rows rows;
  int stepped, moved;                    /* an optimiser ever has; a parameter                */
  char *marked;                          /* by node                                           */
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
  return p->active && edf_lab__is(p, EDF_LAB__MAY_STEP);
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

/* Scores with one index more than an Input of classes; also in a loss of the user's own. */
static int edf_lab__is_head(const edf_lab__doctor *d, const edf_node *c) {
  if (c->n_in != 2 || c->in[0]->kind != EDF_COMPNODE || c->in[1]->kind != EDF_INPUT) return 0;
  const edf_node *s = c->in[0], *y = c->in[1];
  if (s->rank != y->rank + 1 || y->fed < 0) return 0;
  for (int k = 0; k < y->rank; k++) if (s->dim[k] != y->dim[k]) return 0;
  if (edf_lab__is(c, EDF_LAB__IS_CLASS_LOSS)) return 1;
  if (!edf_lab__is(c, EDF_LAB__IS_OWN) || edf_lab__last_dim(s) < 2) return 0;
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

static void edf_lab__unmark_all(edf_lab__doctor *d) {
  size_t n = (size_t)(edf.n_compnodes + edf.n_inputs + edf.n_parameters);
  d->marked = (char *)edf_keep(d->marked, n);
  memset(d->marked, 0, n);
}

static void edf_lab__mark_inputs(const edf_lab__doctor *d, const edf_node *c) {
  for (int k = 0; k < c->n_in; k++) *edf_lab__mark_of(d, c->in[k]) = 1;
}

static size_t edf_lab__row_size(const edf_node *x) {
  return (x->batched >> 0 & 1) && x->dim[0] > 0 ? x->size / (size_t)x->dim[0] : x->size;
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
  return minus || edf_lab__is(c, EDF_LAB__IS_OWN) || edf_lab__is(c, EDF_LAB__IS_BINARY_LOSS);
}

/* The data: of the batched inputs but the labels the one with the longest rows; of equal ones
   rather not what is subtracted from an output. */
static edf_node *edf_lab__find_data(const edf_lab__doctor *d) {
  edf_node *best = NULL;
  for (int i = 0; i < edf.n_inputs; i++) {
    edf_node *x = edf.inputs[i];
    int is_fed = x->active && x->fed >= 0;
    if (!is_fed || !(x->batched >> 0 & 1) || x == d->y) continue;
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
  edf_lab__mark(d->loss);
  edf_lab__unmark_all(d);
  d->head = NULL;
  for (int i = edf.n_compnodes - 1; i >= 0; i--) {
    edf_node *c = edf.compnodes[i];
    int active = c->active, is_head = active && edf_lab__is_head(d, c);
    if (is_head && !d->head) d->head = c;
    if (is_head || (active && edf_lab__is(c, EDF_LAB__IS_LOOKUP))) *edf_lab__mark_of(d, c->in[1]) = 1;
    if (d->marked[i]) edf_lab__mark_inputs(d, c);
  }
  d->y = d->head ? d->head->in[1] : NULL;
  d->classes = d->head ? edf_lab__last_dim(d->head->in[0]) : 0;
  d->guess = d->classes ? log((double)d->classes) : 0;
  d->x = edf_lab__find_data(d);
  d->coded = d->x && *edf_lab__mark_of(d, d->x);
  return 1;
}

/* ---- Sigmoid, Tanh and Relu are known by what they do, so that those of the user's own are
   looked at too. */
enum { EDF_LAB__NO_BEND, EDF_LAB__RELU, EDF_LAB__SIGMOID, EDF_LAB__TANH };

static int edf_lab__bend_of(const edf_node *y) {
  enum { TRIES = 100 };
  if (!y->active || y->n_in != 1 || y->in[0]->size != y->size ||
      edf_lab__is(y, EDF_LAB__IS_EQUATION))
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
    if (!x->active || x->fed < 0) continue;
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
  if (!is_bytes && user && edf_lab__is(user, EDF_LAB__IS_OWN) && edf_lab__all_whole(d->x)) large = 0;
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
    int bce = edf_lab__is(c, EDF_LAB__IS_BINARY_LOSS);
    int bend = bce ? EDF_LAB__SIGMOID : edf_lab__bend_of(a);
    if (y->kind != EDF_INPUT || y->fed < 0 || !bend || y->rank != a->rank) continue;
    if (!bce && (!edf_lab__is(c, EDF_LAB__IS_DIFFERENCE) || !edf_lab__leads_to_loss(d, c))) continue;
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

/* After 100 steps in which only the inputs were fed, the loss is no better than the shares of the
   classes. */
static int edf_lab__rule_unrelated(edf_lab__doctor *d) {
  int once = d->step == 2 * EDF_LAB__WINDOW && d->fed_once >= EDF_LAB__EVERY;
  double entropy = 0;
  if (!d->count || !once) return 0;
  for (int k = 0; k < d->classes; k++) {
    double share = (double)d->count[k] / (double)d->labels;
    if (share > 0) entropy -= share * log(share);
  }
  if (d->late < entropy - 0.1) return 0;
  edf_lab__find(d, d->y, "the labels were fed once, but other inputs for each step");
  edf_lab__say("loss %.3f; the classes' shares alone would give %.3f", d->late, entropy);
  return edf_lab__say("hint: edf_feed(%s, ...) with each batch", edf_label(d->y));
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

/* The scores that go into a softmax are probabilities already. */
static int edf_lab__rule_twice(edf_lab__doctor *d) {
  edf_node *c = d->head;
  if (c && !edf_lab__is(c, EDF_LAB__IS_SOFTMAX)) c = c->in[0];     /* LogLoss takes probabilities    */
  if (!c || !edf_lab__is(c, EDF_LAB__IS_SOFTMAX) || !edf_lab__sums_to_one(c->in[0], c->in[0]->rank - 1))
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
  if (!d->head || edf_lab__is(d->head, EDF_LAB__IS_SOFTMAX)) return 0;
  edf_node *P = d->head->in[0];
  int last = P->rank - 1, other = 0;
  if (edf_lab__sums_to_one(P, last) || edf_lab__summarise(P).bad) return 0;
  while (other < last && !edf_lab__sums_to_one(P, other)) other++;
  if (other == last && !edf_lab__is(d->head, EDF_LAB__IS_CLASS_LOSS)) return 0;
  if (other < last)
    edf_lab__find(d, P, "softmax over the wrong index: %s sums to 1 over index %d (%d%s), not "
                  "over the %d classes", edf_label(P), other, P->dim[other],
                  (P->batched >> other & 1) ? ", the batch" : "", d->classes);
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
  int known = x != l && (x->batched >> 0 & 1) && (d->head || edf_lab__is(x, EDF_LAB__IS_SQUARE));
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

/* The loss is NaN, which it was not at first, after a large change of the weights. Or it is five
   times as high as at first, three times in a row. */
static int edf_lab__rule_too_large(edf_lab__doctor *d) {
  int ran = d->loss && d->step && (d->loss->ran == edf.feeds);
  double loss = ran ? edf_lab__mean_of(d->loss) : 0;
  int lost = loss - loss != 0 && d->first - d->first == 0 && d->change > 0.1;
  if (!lost && d->high < 3) return 0;
  edf_lab__find(d, NULL, "the step is too large");
  edf_lab__say("the loss has gone from %.3g to %.3g", d->first, edf_lab__mean_of(d->loss));
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

/* Is there a way from the loss without a node that lets no gradient through? */
static int edf_lab__gradient_comes(edf_lab__doctor *d, const edf_node *p) {
  edf_lab__unmark_all(d);
  *edf_lab__mark_of(d, d->loss) = 1;
  for (int i = edf.n_compnodes - 1; i >= 0; i--)
    if (d->marked[i] && edf.compnodes[i]->backward) edf_lab__mark_inputs(d, edf.compnodes[i]);
  return *edf_lab__mark_of(d, p);
}

/* Ten looks in a row at weights whose gradient is a millionth of the last ones', or a thousand
   times as large. */
static int edf_lab__rule_gradients(edf_lab__doctor *d) {
  for (int i = 0; i < edf.n_parameters; i++) {
    const edf_lab__patient *a = &d->patient[i];
    if (a->faint < EDF_LAB__FIRM && a->fierce < EDF_LAB__FIRM) continue;
    if (!edf_lab__gradient_comes(d, edf.parameters[i])) continue;
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

static int edf_lab__has(edf_lab__trait trait) {
  for (int i = 0; i < edf.n_compnodes; i++) if (edf_lab__is(edf.compnodes[i], trait)) return 1;
  return 0;
}

/* Forwards of new data without a Backward look like an evaluation, and the other way round. To
   train with the running statistics of BatchNorm may be meant, without Dropout hardly. */
static int edf_lab__rule_mode(edf_lab__doctor *d) {
  int drops = edf_lab__has(EDF_LAB__IS_DROPOUT), learns = d->unlearnt <= -5 && drops;
  int evaluates = d->unlearnt >= 3 && d->step && (drops || edf_lab__has(EDF_LAB__IS_BATCH_NORM));
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
  { EDF_LAB__MOVED | EDF_LAB__LEARNT | EDF_LAB__RAN, 1, edf_lab__rule_too_large },
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
  return moved;
}

/* After the step, when the next Forward has begun. */
static void edf_lab__after_step(edf_lab__doctor *d) {
  d->pending = 0;
  int moved = edf_lab__look_at_moves(d);
  if (!moved && !d->stepping) return;
  edf_lab__consult(d, EDF_LAB__MOVED);
}

/* A Forward has begun, of everything or of a target; or, where nodes run when they are built, a
   Backward. */
static void edf_lab__doctor_fed(edf_lab__doctor *d, edf_node *target) {
  d->fed = 1;
  d->rebuilt |= !edf.loss && d->step > 0;
  if (edf.training && edf.feeds != d->feeds)
    d->unlearnt = d->unlearnt < 0 ? 1 : d->unlearnt + 1;
  if (d->step > EDF_LAB__STEPS) return;
  int included = edf_lab__find_loss(d) != NULL;
  if (target && included) {
    edf_lab__mark(target);
    included = d->loss->active;
  }
  if (included && edf_lab__find_parts(d)) {
    if (d->pending) edf_lab__after_step(d);
    d->now = d->step + 1;
    edf_lab__consult(d, EDF_LAB__FED);
  }
  d->draws = edf.draws;
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
  d->drawn = d->draws;
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
    edf_lab__mark(mine);
    d->astray += l->active;
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
    d->patient[i].met |= (edf.parameters[i]->reached != 0);
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
  d->carried = 0;
  for (int i = 0; i < edf.n_parameters; i++)
    d->carried |= edf.accumulate && edf.parameters[i]->reached &&
                  !edf_lab__grad_is_zero(edf.parameters[i]);
  d->now = d->step + 1;
  if (d->carried) edf_lab__consult(d, EDF_LAB__ASKED);
  edf_lab__mark(edf.loss);                    /* what is computed from the loss is no other one    */
  d->clears = d->latest_is_mine && !d->stepping && !d->fed && !edf.accumulate &&
              d->step <= EDF_LAB__EVERY && edf_lab__find_loss(d) &&
              !d->loss->active;
  if (!d->fed) edf_lab__doctor_fed(d, edf.loss);
}

static void edf_lab__doctor_moving(edf_lab__doctor *d, edf_node *p) {
  int i = p->position;
  edf_lab__patient *a = &d->patient[i];
  d->cleared += d->clears && edf_lab__all_gradients(d) == d->gradients;
  d->clears = 0;
  d->stepping = d->stepped = 1;
  if (d->backwards && !edf_lab__is(p, EDF_LAB__MAY_STEP)) return;
  d->off = a->by == d->backwards ? i + 1 : 0;
  d->now = d->step;
  edf_lab__consult(d, EDF_LAB__MOVING);
  a->by = d->backwards;
}

static void edf_lab__doctor_told(edf_lab__tool *w, edf_event event, edf_node *x) {
  edf_lab__doctor *d = (edf_lab__doctor *)(void *)w;       /* its first member                */
  size_t n = (size_t)edf.n_parameters + 1;
  if (event == EDF_CLEARED) return;
  d->patient = (edf_lab__patient *)edf_keep(d->patient, n * sizeof *d->patient);
  d->forward = event == EDF_BEGIN_FORWARD;
  if (event == EDF_BEGIN_FORWARD) edf_lab__doctor_fed(d, x);
  if (event == EDF_END_FORWARD) edf_lab__doctor_ran(d);
  if (event == EDF_BEGIN_BACKWARD) edf_lab__doctor_asked(d);
  if (event == EDF_END_BACKWARD) edf_lab__doctor_learnt(d);
  if (event == EDF_BEFORE_UPDATE) edf_lab__doctor_moving(d, x);
}

/* Returns the graph's tool of this function, and makes one at the first call. */
static void *edf_lab__watching(void (*told)(edf_lab__tool *, edf_event, edf_node *), size_t n) {
  edf_lab__tool *t = edf_lab__find_tool(told);
  if (t) return t;
  t = (edf_lab__tool *)edf_keep(NULL, n);
  edf_lab__add_tool(t, told);
  return t;
}

void edf_doctor(edf_node *loss) {
  if (!loss) edf_stop("edf_doctor: the loss is NULL");
  int there = loss->kind != EDF_COMPNODE ||
              (loss->position < edf.n_compnodes && edf.compnodes[loss->position] == loss);
  if (!there) edf_stop("edf_doctor: the loss is not a node of this graph: was it cleared?");
  int reached = edf_lab__needs_grad(loss);
  const char *why = loss->kind != EDF_COMPNODE ? "the loss is not a computed node"
                  : !reached ? "no parameter reaches the loss" : NULL;
  edf_page site = { NULL, 0 };
  if (why) edf_write_node(&site, loss, EDF_SITE);
  if (why) edf_stop("edf_doctor: %s\n  %s", why, site.at);
  char *op = edf_lab__copy(NULL, loss->op), *file = edf_lab__copy(NULL, loss->file);
  edf_lab__doctor *d = (edf_lab__doctor *)edf_lab__watching(edf_lab__doctor_told, sizeof *d);
  if (d->line && edf_lab__find_loss(d) != loss) d->pending = 0;
  edf_release(d->op);                    /* all memory is there: no stop comes in between     */
  edf_release(d->file);
  d->op = op;
  d->file = file;
  d->line = loss->line;
  d->loss = loss;
}

/* ==== >>plot  Training curves ============================================================= */
typedef struct edf_lab__series {
  struct edf_lab__series *next, *chart;  /* the first series of a chart stands for it         */
  char *name;
  double *x, *y;
  size_t n;
  int log_scale, n_series;               /* of a chart                                        */
  double last, least, greatest, top;     /* its x axis; its y axis, scaled; on the page       */
} edf_lab__series;

/* The series of a graph are a tool that does nothing. */
typedef struct {
  edf_lab__tool tool;
  edf_lab__series *first;
} edf_lab__log;

static void edf_lab__log_told(edf_lab__tool *w, edf_event event, edf_node *node) {
  (void)w, (void)event, (void)node;
}

static edf_lab__series *edf_lab__logged(void) {
  edf_lab__log *log = (edf_lab__log *)(void *)edf_lab__find_tool(edf_lab__log_told);
  return log ? log->first : NULL;
}

/* The part before a slash names the chart; a name without one is a chart of its own. */
static int edf_lab__same_chart(const char *a, const char *b) {
  size_t n = strcspn(a, "/");
  return n == strcspn(b, "/") && !memcmp(a, b, n);
}

void edf_log_value(const char *name, double value) {
  if (!name || !*name) edf_stop("edf_log: the series has no name");
  edf_lab__log *log = (edf_lab__log *)edf_lab__watching(edf_lab__log_told, sizeof *log);
  edf_lab__series **at = &log->first, *chart = NULL, *s;
  for (; *at && strcmp((*at)->name, name); at = &(*at)->next)
    if (edf_lab__same_chart((*at)->name, name)) chart = (*at)->chart;
  if ((s = *at) == NULL) {
    s = (edf_lab__series *)edf_keep(NULL, sizeof *s);
    s->name = edf_lab__copy(NULL, name);
    s->chart = chart ? chart : s;
  }
  s->x = (double *)edf_lab__grow(s->x, s->n, sizeof *s->x);
  s->y = (double *)edf_lab__grow(s->y, s->n, sizeof *s->y);
  *at = s;                               /* there, once it has room for a value               */
  if (s->chart->last < (double)(s->n + 1)) s->chart->last = (double)(s->n + 1);
  s->x[s->n] = s->chart->last;
  s->y[s->n++] = value;
}

void edf_log_scale(const char *chart) {
  edf_lab__series *s = chart ? edf_lab__logged() : NULL;
  while (s && !edf_lab__same_chart(s->name, chart)) s = s->next;
  if (!s)
    edf_stop("edf_log_scale: nothing was logged for %s so far", chart ? chart : "(no name)");
  s->chart->log_scale = 1;
}

/* ---- One chart: where it lies, and what its axes show. */
static const double edf_lab__left = 70, edf_lab__width = 610, edf_lab__height = 200;
enum { EDF_LAB__POINTS = 600 };          /* more than these are shown by means                */
static const char *const edf_lab__colour[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                               "#e69f00", "#56b4e9" };

static double edf_lab__page_x(const edf_lab__series *c, double x) {
  return edf_lab__left + edf_lab__width * (c->last > 1 ? (x - 1) / (c->last - 1) : 0.5);
}
static double edf_lab__page_y(const edf_lab__series *c, double scaled) {
  return c->top + edf_lab__height * (c->greatest - scaled) / (c->greatest - c->least);
}

/* Values from..to-1 as one point: the means of the n that are shown, in a band. */
typedef struct { size_t n; double x, mean, least, greatest; } edf_lab__point;

static edf_lab__point edf_lab__point_of(const edf_lab__series *c, const edf_lab__series *s,
                                        size_t from, size_t to) {
  edf_lab__point p = { 0, 0, 0, HUGE_VAL, -HUGE_VAL };
  for (size_t i = from; i < to; i++) {
    if (!(fabs(s->y[i]) < 1e300) || (c->log_scale && s->y[i] <= 0)) continue;
    double y = c->log_scale ? log10(s->y[i]) : s->y[i];
    p.n++;
    p.x += s->x[i];
    p.mean += y;
    if (y < p.least) p.least = y;
    if (y > p.greatest) p.greatest = y;
  }
  if (p.n) p.x /= (double)p.n;
  if (p.n) p.mean /= (double)p.n;
  return p;
}

/* The axes hold every value that is shown; 0 too, where it is not far. */
static void edf_lab__set_axes(edf_lab__series *c) {
  double least = HUGE_VAL, greatest = -HUGE_VAL;
  c->n_series = 0;
  for (const edf_lab__series *s = c; s; s = s->next) {
    if (s->chart != c) continue;
    c->n_series++;
    edf_lab__point all = edf_lab__point_of(c, s, 0, s->n);
    if (all.least < least) least = all.least;
    if (all.greatest > greatest) greatest = all.greatest;
  }
  if (least > greatest) least = greatest = 0;
  if (!c->log_scale && least > 0 && least < 0.5 * greatest) least = 0;
  double size = fabs(least) > fabs(greatest) ? fabs(least) : fabs(greatest);
  double margin = size > 0 ? 0.1 * size : 1;
  if (greatest - least > 1e-6 * size) margin = 0.04 * (greatest - least);
  c->least = least != 0 || greatest == 0 ? least - margin : least;
  c->greatest = greatest + margin;
}

/* How many bytes are a character beyond ASCII that XML knows; 0: none begins here. */
static size_t edf_lab__wide(const char *text, size_t n) {
  static const unsigned long least[] = { 0, 0, 0x80, 0x800, 0x10000 };
  unsigned char c = (unsigned char)*text;
  size_t wide = c < 0xC2 ? 0 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : c < 0xF5 ? 4 : 0;
  unsigned long code = wide ? c & (0xFFu >> (wide + 1)) : 0;
  if (wide > n) return 0;
  for (size_t k = 1; k < wide; k++) {
    if (((unsigned char)text[k] & 0xC0) != 0x80) return 0;
    code = code << 6 | ((unsigned char)text[k] & 0x3F);
  }
  int is_surrogate = code >> 11 == 0xD800 >> 11, is_none = code == 0xFFFE || code == 0xFFFF;
  return code < least[wide] || code > 0x10FFFF || is_surrogate || is_none ? 0 : wide;
}

/* What is no character is shown as a question mark. */
static void edf_lab__write_xml(edf_page *out, const char *text, size_t n) {
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)text[i];
    size_t wide = edf_lab__wide(text + i, n - i);
    if (wide) edf_write(out, "%.*s", (int)wide, text + i);
    else if (c == '&') edf_write(out, "&amp;");
    else if (c == '<') edf_write(out, "&lt;");
    else if (c == '>') edf_write(out, "&gt;");
    else edf_write(out, "%c", c >= 128 ? '?' : c < 32 ? ' ' : c);
    i += wide ? wide - 1 : 0;
  }
}

/* 1, 2 or 5 times a power of ten, at most n of them in the range. */
static double edf_lab__tick(double range, int n) {
  double power = pow(10.0, floor(log10(range / n))), step = range / n / power;
  return power * (step <= 1 ? 1 : step <= 2 ? 2 : step <= 5 ? 5 : 10);
}

static void edf_lab__plot_axes(edf_page *out, const edf_lab__series *c) {
  double range = c->greatest - c->least, step = edf_lab__tick(range, 5);
  double x_step = c->last > 8 ? edf_lab__tick(c->last, 8) : 1;
  if (c->log_scale && step < 1 && range > 1) step = 1;
  for (double k = ceil(c->least / step), n = 0; k * step <= c->greatest && n < 50; k++, n++) {
    double at = edf_lab__page_y(c, k * step), y = c->log_scale ? pow(10.0, k * step) : k * step;
    edf_write(out, "<path class=\"grid\" d=\"M%g %.1fh%g\"/>\n<text class=\"y\" x=\"%g\" "
              "y=\"%.1f\">%.3g</text>\n", edf_lab__left, at, edf_lab__width,
              edf_lab__left - 8, at + 4, !c->log_scale && fabs(y) < 1e-9 * range ? 0 : y);
  }
  for (double x = x_step; x <= c->last; x += x_step)
    edf_write(out, "<text class=\"x\" x=\"%.1f\" y=\"%.1f\">%g</text>\n", edf_lab__page_x(c, x),
              c->top + edf_lab__height + 18, x);
  edf_write(out, "<path class=\"axis\" d=\"M%g %.1fv%gh%g\"/>\n", edf_lab__left, c->top,
            edf_lab__height, edf_lab__width);
}

/* part 0: the line of means; 1 and -1: the band's upper edge, and its lower one backwards. A
   line has a gap where nothing is shown. Returns how many values are. */
static size_t edf_lab__plot_line(edf_page *out, const edf_lab__series *c,
                                 const edf_lab__series *s, int part) {
  size_t each = (s->n + EDF_LAB__POINTS - 1) / EDF_LAB__POINTS;
  size_t points = (s->n + each - 1) / each, shown = 0;
  int gap = part >= 0;
  for (size_t k = 0; k < points; k++) {
    size_t from = (part < 0 ? points - 1 - k : k) * each, left = s->n - from;
    edf_lab__point p = edf_lab__point_of(c, s, from, from + (left < each ? left : each));
    double y = part == 0 ? p.mean : part > 0 ? p.greatest : p.least;
    shown += p.n;
    if (p.n)
      edf_write(out, "%c%.1f %.1f", gap ? 'M' : 'L', edf_lab__page_x(c, p.x),
                edf_lab__page_y(c, y));
    gap = p.n ? 0 : gap || part == 0;
  }
  return shown;
}

/* The line, its points where they are few, and its name with the last value. */
static void edf_lab__plot_series(edf_page *out, const edf_lab__series *c,
                                 const edf_lab__series *s, int k) {
  size_t n_colours = sizeof edf_lab__colour / sizeof *edf_lab__colour;
  const char *colour = edf_lab__colour[(size_t)k % n_colours], *slash = strchr(s->name, '/');
  const char *name = slash && slash[1] ? slash + 1 : s->name;
  double y = c->top - 12 - 18 * (c->n_series - 1 - k);
  edf_write(out, "<g fill=\"none\" stroke=\"%s\">\n", colour);
  if (s->n > EDF_LAB__POINTS) {
    edf_write(out, "<path stroke=\"none\" fill=\"%s\" fill-opacity=\"0.25\" d=\"", colour);
    edf_lab__plot_line(out, c, s, 1);
    edf_lab__plot_line(out, c, s, -1);
    edf_write(out, "\"/>\n");
  }
  edf_write(out, "<path d=\"");
  size_t hidden = s->n - edf_lab__plot_line(out, c, s, 0);
  edf_write(out, "\"/><path d=\"M%g %.1fh22\"/></g>\n<g fill=\"%s\">", edf_lab__left + 330,
            y - 4, colour);
  for (size_t i = 0; s->n <= 40 && i < s->n; i++) {
    edf_lab__point p = edf_lab__point_of(c, s, i, i + 1);
    if (p.n)
      edf_write(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>%g: %.6g</title></circle>",
                edf_lab__page_x(c, p.x), edf_lab__page_y(c, p.mean), p.x, s->y[i]);
  }
  edf_write(out, "</g>\n<text x=\"%g\" y=\"%.1f\">", edf_lab__left + 360, y);
  edf_lab__write_xml(out, name, strlen(name));
  edf_write(out, "  %.4g", s->n ? s->y[s->n - 1] : 0.0);
  if (hidden) edf_write(out, " (%zu value%s not shown)", hidden, hidden == 1 ? "" : "s");
  edf_write(out, "</text>\n");
}

static void edf_lab__plot_chart(edf_page *out, const edf_lab__series *c) {
  int k = 0;
  edf_write(out, "<text class=\"title\" x=\"%g\" y=\"%.1f\">", edf_lab__left, c->top - 12);
  edf_lab__write_xml(out, c->name, strcspn(c->name, "/"));
  edf_write(out, "%s</text>\n", c->log_scale ? ", logarithmic" : "");
  edf_lab__plot_axes(out, c);
  for (const edf_lab__series *s = c; s; s = s->next)
    if (s->chart == c) edf_lab__plot_series(out, c, s, k++);
  edf_write(out, "<text class=\"x\" x=\"%g\" y=\"%.1f\">values logged</text>\n",
            edf_lab__left + edf_lab__width / 2, c->top + edf_lab__height + 38);
}

void edf_plot_svg(const char *path) {
  edf_page page = { NULL, 0 };
  double end = 0;
  const char *none = "nothing was logged: call edf_log(name, value) first";
  if (edf_lab__logged()) none = NULL;    /* it is no reason to stop, after a training         */
  else fprintf(stderr, "edf_plot_svg: %s\n", none);
  for (edf_lab__series *s = edf_lab__logged(); s; s = s->next) {
    if (s->chart != s) continue;
    edf_lab__set_axes(s);
    s->top = end + 26 + 18 * s->n_series;
    end = s->top + edf_lab__height + 60;
  }
  edf_write(&page, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 %.0f\" "
            "width=\"720\" height=\"%.0f\">\n<style>"
            "svg{font:13px sans-serif;background:#fff;fill:#222}"
            ".title{font-size:16px;font-weight:bold}.x{text-anchor:middle}.y{text-anchor:end}"
            ".grid{stroke:#8884}.axis{stroke:#888;fill:none}g{stroke-width:2}"
            "@media(prefers-color-scheme:dark){svg{background:#181818;fill:#ddd}}</style>\n",
            none ? 40 : end, none ? 40 : end);
  if (none) edf_write(&page, "<text x=\"%g\" y=\"24\">%s</text>\n", edf_lab__left, none);
  for (const edf_lab__series *s = edf_lab__logged(); s; s = s->next)
    if (s->chart == s) edf_lab__plot_chart(&page, s);
  edf_write(&page, "</svg>\n");
  edf_writer w = edf_create_file(NULL, path);
  fputs(page.at, w.file);
  edf_finish_file(&w);
  edf_release(page.at);
}

/* ==== >>trace  The trace page ============================================================= */
/* ---- What is recorded: the nodes, and moments. A moment has the tensors that are not what
   they were before it, of large ones the first `cut` entries along each index. */
typedef struct { int node, grad; edf_real *number; } edf_lab__shot;

typedef struct {
  char what;                             /* F, B: a pass begins; f, b: a node ran; s: a step  */
  int node, first;                       /* the first of its shots                            */
  edf_page need;                         /* of B: who has a gradient                          */
} edf_lab__moment;

typedef struct {
  edf_node *node;                        /* NULL: gone, with edf_clear_compnodes              */
  edf_node like;                         /* what it was                                       */
  edf_page text, back;                   /* JSON: all about it; its backward lines            */
  size_t fixed;                          /* so much of the text stays, whatever others' names */
  int last[2];                           /* its last shots, of value and gradient; 0: none    */
} edf_lab__traced;

typedef struct {
  edf_lab__tool tool;
  char *path;
  int n_node, n_moment, n_shot, full;
  int cut, shown;                        /* entries along an index: recorded, written         */
  edf_lab__traced *node;
  edf_lab__moment *moment;
  edf_lab__shot *shot;                   /* number 0 is none                                  */
  edf_node *moving;                      /* the parameter that makes its step now             */
  int forward;                           /* a Forward runs                                    */
  size_t numbers;
  edf_page number;                       /* as text                                           */
} edf_lab__trace;

enum { EDF_LAB__MOST_MOMENTS = 4000, EDF_LAB__MOST_NODES = 2000 };
enum { EDF_LAB__MOST_NUMBERS = 1 << 24, EDF_LAB__FEW = 64 };
static const double edf_lab__page_room = 1.9e6, edf_lab__number_room = 5.34;       /* bytes   */

static void edf_lab__each(edf_lab__trace *t, void (*action)(edf_lab__trace *, edf_node *)) {
  for (int i = 0; i < edf.n_inputs; i++) action(t, edf.inputs[i]);
  for (int i = 0; i < edf.n_parameters; i++) action(t, edf.parameters[i]);
  for (int i = 0; i < edf.n_compnodes; i++) action(t, edf.compnodes[i]);
}

/* ---- A part of a tensor: its first `cut` entries along each index. */
static size_t edf_lab__part_size(const edf_node *x, int cut) {
  size_t n = 1;
  for (int d = 0; d < x->rank; d++) n *= (size_t)(x->dim[d] < cut ? x->dim[d] : cut);
  return n;
}

/* Where entry k of the part lies in a tensor of which the first `of` entries are there. */
static size_t edf_lab__part_entry(const edf_node *x, int of, int cut, size_t k) {
  size_t at = 0, step = 1;
  for (int d = x->rank - 1; d >= 0; d--) {
    int there = x->dim[d] < of ? x->dim[d] : of;
    size_t n = (size_t)(there < cut ? there : cut);
    at += k % n * step;
    k /= n;
    step *= (size_t)there;
  }
  return at;
}

/* What one step would take: every value, gradient and new value of a parameter once, and a
   gradient again with each contribution. */
static double edf_lab__step_size(int cut) {
  size_t n = 0;
  for (int i = 0; i < edf.n_inputs; i++) n += edf_lab__part_size(edf.inputs[i], cut);
  for (int i = 0; i < edf.n_parameters; i++)
    n += 2 * edf_lab__part_size(edf.parameters[i], cut);
  for (int i = 0; i < edf.n_compnodes; i++) {
    const edf_node *c = edf.compnodes[i];
    n += edf_lab__part_size(c, cut);
    for (int k = 0; k < c->n_in; k++)
      if (c->in[k]->kind != EDF_INPUT) n += edf_lab__part_size(c->in[k], cut);
  }
  return (double)n;
}

static int edf_lab__longest(const edf_node *x, int least) {
  for (int d = 0; d < x->rank; d++) if (x->dim[d] > least) least = x->dim[d];
  return least;
}

static int edf_lab__first_cut(void) {
  int cut = 1;
  for (int i = 0; i < edf.n_inputs; i++) cut = edf_lab__longest(edf.inputs[i], cut);
  for (int i = 0; i < edf.n_parameters; i++) cut = edf_lab__longest(edf.parameters[i], cut);
  for (int i = 0; i < edf.n_compnodes; i++) cut = edf_lab__longest(edf.compnodes[i], cut);
  while (cut > 1 && edf_lab__step_size(cut) * edf_lab__number_room > edf_lab__page_room)
    cut -= cut / 8 + 1;
  return cut;
}

/* ---- Nodes as JSON. Lines as strings, without the blanks before them. */
static void edf_lab__add_key(edf_page *to, const char *key, const char *text) {
  edf_write(to, ",\"%s\":", key);
  edf_write_quoted(to, text, strlen(text));
}

static void edf_lab__add_printed(edf_page *to, edf_part part, const edf_node *y) {
  edf_page text = { NULL, 0 };
  edf_write_node(&text, y, part);
  for (const char *c = text.at, *end; c && *c; c = end + (*end == '\n')) {
    c += strspn(c, " ");
    end = c + strcspn(c, "\n");
    if (to->n && to->at[to->n - 1] != '[') edf_write(to, ",");
    edf_write_quoted(to, c, (size_t)(end - c));
  }
  edf_release(text.at);
}

/* The last with this address: where a graph is built anew, others had it before. -1: it is not
   described, or with another shape. */
static int edf_lab__traced_of(const edf_lab__trace *t, const edf_node *x) {
  int id = t->n_node;
  while (id-- > 0 && t->node[id].node != x) {}
  return id < 0 || memcmp(t->node[id].like.dim, x->dim, sizeof x->dim) ? -1 : id;
}

static edf_page edf_lab__node_text(const edf_lab__trace *t, const edf_node *x,
                                   size_t *fixed) {
  edf_page to = { NULL, 0 };
  edf_write(&to, "{\"k\":%d,\"place\":%d,\"row\":%d", (int)x->kind, x->position, x->line);
  edf_lab__add_key(&to, "op", x->op);
  edf_lab__add_key(&to, "file", x->file);
  edf_write(&to, ",\"dim\":[");
  for (int d = 0; d < x->rank; d++) edf_write(&to, d ? ",%d" : "%d", x->dim[d]);
  edf_write(&to, "],\"in\":[");
  for (int k = 0; k < x->n_in; k++)
    edf_write(&to, k ? ",%d" : "%d", edf_lab__traced_of(t, x->in[k]));
  *fixed = to.n;
  edf_write(&to, "]");
  edf_lab__add_key(&to, "name", edf_label(x));
  if (x->kind != EDF_COMPNODE) return to;
  edf_write(&to, ",\"line\":[");
  edf_lab__add_printed(&to, EDF_FORWARD_LINE, x);
  int is_equation = edf_lab__is(x, EDF_LAB__IS_EQUATION), has_formula = (x->about && x->about->formula);
  edf_write(&to, is_equation ? "],\"eq\":" : has_formula ? "],\"f\":1" : "]");
  if (is_equation) edf_write_node(&to, x, EDF_EQUATION_DATA);
  return to;
}

/* A node that says the same of itself as one before is that one: a graph may be built anew for
   each step. So is one of which only names have changed, its own or an operand's: h becomes h@0
   as soon as there is another h. */
static void edf_lab__describe(edf_lab__trace *t, edf_node *x) {
  size_t fixed;
  if (!x->active || t->full) return;
  edf_page text = edf_lab__node_text(t, x, &fixed);
  int id = edf_lab__traced_of(t, x), renamed = id >= 0 && fixed == t->node[id].fixed &&
                                               !memcmp(text.at, t->node[id].text.at, fixed);
  for (int k = 0; k < t->n_node; k++) if (t->node[k].node == x) t->node[k].node = NULL;
  if (!renamed)
    for (id = 0; id < t->n_node && strcmp(t->node[id].text.at, text.at); id++) {}
  if (id == t->n_node) {
    t->node = (edf_lab__traced *)edf_lab__grow(t->node, (size_t)id, sizeof *t->node);
    t->node[id].like = *x;
    t->n_node++;
  } else edf_release(t->node[id].text.at);
  t->node[id].text = text;
  t->node[id].fixed = fixed;
  t->node[id].node = x;
}

/* By the name that it has in the end. */
static void edf_lab__rename(edf_lab__trace *t, edf_node *x) {
  if (edf_lab__traced_of(t, x) >= 0) edf_lab__describe(t, x);
}

/* ---- Moments */
static void edf_lab__add_moment(edf_lab__trace *t, char what, const edf_node *x) {
  size_t n = (size_t)t->n_moment;
  t->moment = (edf_lab__moment *)edf_lab__grow(t->moment, n, sizeof *t->moment);
  t->moment[n].what = what;
  t->moment[n].node = x ? edf_lab__traced_of(t, x) : -1;
  t->moment[n].first = t->n_shot;
  t->n_moment++;
}

/* Puts a tensor that has changed into the last moment; 0: it has not. A gradient that nothing
   has come to is 0. */
static int edf_lab__shoot(edf_lab__trace *t, edf_node *x, int grad) {
  int id = edf_lab__traced_of(t, x);
  int partly_fed = (x->batched >> 0 & 1) && x->fed != x->dim[0];
  if (id < 0 || !t->n_moment || !x->size || !(grad ? x->grad : x->value)) return 0;
  if (x->kind == EDF_INPUT && partly_fed) return 0;
  const edf_real *v = grad ? edf_grad(x) : edf_value(x);
  size_t n = edf_lab__part_size(x, t->cut), bytes = n * sizeof *v;
  edf_real *number = (edf_real *)edf_keep(NULL, bytes);
  for (size_t k = 0; v && k < n; k++)
    number[k] = v[edf_lab__part_entry(x, INT_MAX, t->cut, k)];
  int *last = &t->node[id].last[grad];
  if (*last && !memcmp(t->shot[*last].number, number, bytes)) {
    edf_release(number);
    return 0;
  }
  edf_lab__shot shot = { id, grad, number };
  t->shot = (edf_lab__shot *)edf_lab__grow(t->shot, (size_t)t->n_shot, sizeof shot);
  t->shot[t->n_shot] = shot;
  *last = t->n_shot++;
  t->numbers += n;
  return 1;
}

static void edf_lab__shoot_value(edf_lab__trace *t, edf_node *x) {
  if (x->active) edf_lab__shoot(t, x, 0);
}
static void edf_lab__shoot_leaf(edf_lab__trace *t, edf_node *x) {
  if (x->kind != EDF_COMPNODE) edf_lab__shoot_value(t, x);
}
static void edf_lab__add_need(edf_lab__trace *t, edf_node *x) {
  edf_page *need = &t->moment[t->n_moment - 1].need;
  if (x->active && x->grad)
    edf_write(need, need->n ? ",%d" : "%d", edf_lab__traced_of(t, x));
}

/* ---- What is told, recorded. */
static void edf_lab__begin_tracing(edf_lab__trace *t) {
  int nodes = edf.n_inputs + edf.n_parameters + edf.n_compnodes;
  t->full |= t->n_moment + 2 * nodes > EDF_LAB__MOST_MOMENTS || nodes > EDF_LAB__MOST_NODES ||
             t->n_node + nodes > 2 * EDF_LAB__MOST_NODES || t->numbers > EDF_LAB__MOST_NUMBERS;
  if (!t->full && !t->cut) t->cut = edf_lab__first_cut();
  edf_lab__each(t, edf_lab__describe);
}

static void edf_lab__trace_forward(edf_lab__trace *t) {
  edf_lab__begin_tracing(t);
  if (t->full) return;
  edf_lab__add_moment(t, 'F', NULL);
  edf_lab__each(t, edf_lab__shoot_leaf);
}

/* An eager node runs as soon as it is built, without a Forward around it. */
static void edf_lab__trace_ran(edf_lab__trace *t, edf_node *y) {
  char last = t->n_moment ? t->moment[t->n_moment - 1].what : 0;
  if (edf.eager && !t->full) edf_lab__mark(y);
  int unknown = !edf.eager && edf_lab__traced_of(t, y) < 0;  /* its Forward began with a stop */
  if (unknown || (!t->forward && last != 'F' && last != 'f')) edf_lab__trace_forward(t);
  for (int k = 0; edf.eager && k < y->n_in; k++) edf_lab__describe(t, y->in[k]);
  if (edf.eager) edf_lab__describe(t, y);
  if (t->full) return;
  edf_lab__add_moment(t, 'f', y);
  edf_lab__shoot(t, y, 0);
  for (int k = 0; k < y->n_in; k++) edf_lab__shoot_leaf(t, y->in[k]);
}

static void edf_lab__trace_loss(edf_lab__trace *t, edf_node *loss) {
  int late = !t->n_moment;               /* begun between Forward and Backward                */
  if (late) edf_lab__trace_forward(t);
  else edf_lab__begin_tracing(t);
  if (t->full) return;
  if (late) edf_lab__each(t, edf_lab__shoot_value);
  edf_lab__add_moment(t, 'B', loss);
  edf_lab__each(t, edf_lab__add_need);
  for (int id = 0; id < t->n_node; id++) t->node[id].last[1] = 0;
  for (int i = 0; i < edf.n_parameters; i++)
    if (edf.accumulate) edf_lab__shoot(t, edf.parameters[i], 1);
  edf_lab__shoot(t, loss, 1);
}

static void edf_lab__trace_came_back(edf_lab__trace *t, edf_node *y) {
  int id = edf_lab__traced_of(t, y);
  if (id < 0) return;
  edf_lab__add_moment(t, 'b', y);
  for (int k = 0; k < y->n_in; k++) edf_lab__shoot(t, y->in[k], 1);
  if (!t->node[id].back.at) edf_lab__add_printed(&t->node[id].back, EDF_BACKWARD_LINES, y);
}

/* Runs at the end of a pass. A parameter is told of before its step: its new value is seen at the
   next event. */
static void edf_lab__trace_moved(edf_lab__trace *t) {
  edf_node *p = t->moving;
  t->moving = NULL;
  int id = p ? edf_lab__traced_of(t, p) : -1;
  if (id < 0 || t->full || !t->node[id].last[0]) return;
  edf_lab__add_moment(t, 's', p);
  if (edf_lab__shoot(t, p, 0)) edf_lab__shoot(t, p, 1);
  else t->n_moment--;
}
static void edf_lab__trace_forward_nodes(edf_lab__trace *t) {
  for (int i = 0; i < edf.n_compnodes; i++)
    if (edf.compnodes[i]->active) edf_lab__trace_ran(t, edf.compnodes[i]);
}
static void edf_lab__trace_backward_nodes(edf_lab__trace *t) {
  for (int i = edf.n_compnodes - 1; i >= 0; i--) {
    edf_node *c = edf.compnodes[i];
    if (c->active && c->needs_grad && c->backward) edf_lab__trace_came_back(t, c);
  }
}

static void edf_lab__trace_told(edf_lab__tool *w, edf_event event, edf_node *x) {
  edf_lab__trace *t = (edf_lab__trace *)(void *)w;         /* its first member                */
  if (event == EDF_CLEARED) return;
  t->full |= t->n_moment >= EDF_LAB__MOST_MOMENTS || t->numbers > EDF_LAB__MOST_NUMBERS ||
             t->n_node > 2 * EDF_LAB__MOST_NODES;
  edf_lab__trace_moved(t);
  t->forward = event == EDF_BEGIN_FORWARD || event == EDF_END_FORWARD;
  if (event == EDF_BEGIN_FORWARD) edf_lab__trace_forward(t);
  if (event == EDF_BEGIN_BACKWARD) edf_lab__trace_loss(t, x);
  if (t->full) return;
  if (event == EDF_END_FORWARD) edf_lab__trace_forward_nodes(t);
  if (event == EDF_END_BACKWARD) edf_lab__trace_backward_nodes(t);
  if (event == EDF_BEFORE_UPDATE) t->moving = x;
}

/* The trace of this graph, or NULL. */
static edf_lab__trace *edf_lab__traces(void) {
  return (edf_lab__trace *)(void *)edf_lab__find_tool(edf_lab__trace_told);
}

/* ---- The page: a template, and the data as JSON. Few numbers are written out; many are floats
   in base64, little-endian. */
static void edf_lab__write_base64(FILE *out, const unsigned char *byte, size_t n) {
  static const char digit[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t k = 0; k < n; k += 3) {
    uint32_t bits = 0;
    for (size_t i = k; i < k + 3; i++) bits = bits << 8 | (i < n ? byte[i] : 0u);
    for (size_t i = 0; i < 4; i++)
      fputc(k + i <= n ? digit[bits >> (18 - 6 * i) & 63] : '=', out);
  }
}

static void edf_lab__write_number(FILE *out, edf_page *text, double v) {
  text->n = 0;
  if (v != v) edf_write(text, "\"NaN\"");
  else if (v - v != 0) edf_write(text, v < 0 ? "\"-Infinity\"" : "\"Infinity\"");
  else edf_write(text, "%.6g", v);
  fputs(text->at, out);
}

static void edf_lab__write_shot(FILE *out, edf_lab__trace *t, const edf_lab__shot *s) {
  const edf_node *x = &t->node[s->node].like;
  size_t n = edf_lab__part_size(x, t->shown), filled = 0;
  unsigned char byte[4 * 192];           /* a multiple of 3 bytes: only the end is padded     */
  int many = n > EDF_LAB__FEW;
  fprintf(out, many ? "[%d,%d,\"" : "[%d,%d,[", s->node, s->grad);
  for (size_t k = 0; k < n; k++) {
    edf_real v = s->number[edf_lab__part_entry(x, t->cut, t->shown, k)];
    uint32_t bits;
    if (!many && k) fputc(',', out);
    if (!many) edf_lab__write_number(out, &t->number, (double)v);
    edf_real most = (edf_real)FLT_MAX;   /* a double that no float can hold is the largest    */
    if (v - v == 0 && v > most) v = most;            /* float: it is not infinite             */
    if (v - v == 0 && v < -most) v = -most;
    float f = (float)v;
    memcpy(&bits, &f, sizeof bits);
    for (int i = 0; i < 4; i++) byte[filled++] = (unsigned char)(bits >> 8 * i);
    if (filled < sizeof byte && k + 1 < n) continue;
    if (many) edf_lab__write_base64(out, byte, filled);
    filled = 0;
  }
  fputs(many ? "\"]" : "]]", out);
}

/* What is left out, said at the foot of the page. */
static void edf_lab__write_note(FILE *out, const edf_lab__trace *t) {
  int longest = 0;
  for (int id = 0; id < t->n_node; id++) longest = edf_lab__longest(&t->node[id].like, longest);
  fputs("\"note\":\"", out);
  if (longest > t->shown)
    fprintf(out, "Of large tensors the page has the first %d entries along each index. ",
            t->shown);
  if (t->full) fputs("The page is full: what ran later is not in it.", out);
  fputs("\"}\n", out);
}

static void edf_lab__write_data(FILE *out, edf_lab__trace *t) {
  fprintf(out, "{\"cap\":%d,\n\"nodes\":[\n", t->shown);
  for (int id = 0; id < t->n_node; id++) {
    const edf_lab__traced *x = &t->node[id];
    fprintf(out, "%s,\"back\":[%s]}%s", x->text.at, x->back.n ? x->back.at : "",
            id + 1 < t->n_node ? ",\n" : "],\n\"moments\":[\n");
  }
  for (int i = 0; i < t->n_moment; i++) {
    const edf_lab__moment *m = &t->moment[i];
    int is_last = i + 1 == t->n_moment, end = is_last ? t->n_shot : m[1].first;
    fprintf(out, "{\"w\":\"%c\",\"n\":%d,\"need\":[%s],\"set\":[", m->what, m->node,
            m->need.n ? m->need.at : "");
    for (int k = m->first; k < end; k++) {
      if (k > m->first) fputs(",\n", out);
      edf_lab__write_shot(out, t, &t->shot[k]);
    }
    fputs(is_last ? "]}],\n" : "]},\n", out);
  }
  edf_lab__write_note(out, t);
}

/* The page's length where `cut` entries along each index are shown. */
static double edf_lab__page_size(const edf_lab__trace *t, int cut) {
  double bytes = 50000;
  for (int id = 0; id < t->n_node; id++)
    bytes += 20 + (double)(t->node[id].text.n + t->node[id].back.n);
  for (int m = 0; m < t->n_moment; m++) bytes += 40 + (double)t->moment[m].need.n;
  for (int k = 1; k < t->n_shot; k++) {
    size_t n = edf_lab__part_size(&t->node[t->shot[k].node].like, cut);
    bytes += 20 + (double)n * (n > EDF_LAB__FEW ? edf_lab__number_room : 13);
  }
  return bytes;
}

static void edf_lab__write_rows(FILE *out, const char *const *row) {
  for (; *row; row++) fputs(*row, out);
  fputc('\n', out);
}

/* The page: what stands before the data, and behind it the script that shows it. Its source is
   notes/trace.html; notes/embed.awk writes these lines. */
/* >>page begin */
static const char *const edf_lab__page_head[] = {
  "<!doctype html> <html lang=\"en\"> <head> <meta charset=\"utf-8\"> <meta http-equiv=\"Conte",
  "nt-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'u",
  "nsafe-inline'\"> <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"> <",
  "title>edf trace</title> <style> :root{color-scheme:light dark;--back:#f6f6f3;--card:#fff;--",
  "ink:#1c1e22;--soft:#5c6068;--line:#d5d6d2;--mark:#fff1c2;--way:#2a6fb8;--here:#b85c00;--pos",
  ":226 116 32;--neg:52 122 214;--most:.9;--mono:ui-monospace,'DejaVu Sans Mono',Menlo,Consola",
  "s,monospace;}@media (prefers-color-scheme:dark){:root{--back:#15171b;--card:#1e2126;--ink:#",
  "e6e6e2;--soft:#a0a5ae;--line:#383c44;--mark:#47391a;--way:#74b0f0;--here:#f0a050;--pos:200 ",
  "95 20;--neg:50 110 215;--most:.75;}}*{box-sizing:border-box;}body{margin:0;background:var(-",
  "-back);color:var(--ink);font:15px/1.45 system-ui,sans-serif;}header{position:sticky;top:0;z",
  "-index:2;background:var(--card);display:flex;flex-wrap:wrap;gap:.3em .7em;align-items:cente",
  "r;padding:.45em 1em;border-bottom:1px solid var(--line);}h1,h2,h3{font-size:1em;margin:0;}h",
  "2{color:var(--soft);font-size:.8em;font-weight:600;letter-spacing:.04em;}header input{flex:",
  "1 1 9em;min-width:7em;accent-color:var(--here);}button,select{font:inherit;color:inherit;ba",
  "ckground:var(--card);border:1px solid var(--line);border-radius:5px;padding:.15em .6em;curs",
  "or:pointer;}button:hover{border-color:var(--here);}:focus-visible{outline:2px solid var(--h",
  "ere);outline-offset:1px;}#where{min-width:9em;color:var(--soft);font-size:.9em;}main{displa",
  "y:grid;grid-template-columns:minmax(17em,27em) minmax(0,1fr);gap:1em;padding:.8em 1em;align",
  "-items:start;max-width:1700px;margin:auto;}#program{position:sticky;top:3.4em;max-height:ca",
  "lc(100vh - 4.4em);overflow:auto;background:var(--card);border:1px solid var(--line);border-",
  "radius:8px;}#program h2{padding:.7em .8em .2em;}#program ol{list-style:none;margin:0;paddin",
  "g:0 0 .4em;}#program button{display:block;width:100%;text-align:left;border:0;border-radius",
  ":0;border-left:4px solid transparent;padding:.22em .6em;font:12.5px/1.45 var(--mono);white-",
  "space:pre-wrap;overflow-wrap:anywhere;}#program button:hover{background:var(--back);}#progr",
  "am [aria-current]{background:var(--mark);border-left-color:var(--here);}#program small{colo",
  "r:var(--soft);float:right;padding-left:1em;}.side{display:grid;grid-template-columns:minmax",
  "(0,1fr);gap:.8em;}#what{font:600 15px/1.5 var(--mono);white-space:pre-wrap;overflow-wrap:an",
  "ywhere;}#about,.soft,#note{color:var(--soft);font-size:.85em;}#cards{display:flex;flex-wrap",
  ":wrap;gap:.7em;align-items:flex-start;}.card{background:var(--card);border:1px solid var(--",
  "line);border-radius:8px;padding:.5em .7em;max-width:100%;min-width:0;}.card.main{border-col",
  "or:var(--here);box-shadow:inset 0 3px 0 var(--here);}.card h3{font:600 13px/1.5 var(--mono)",
  ";overflow-wrap:anywhere;}.maps{display:flex;flex-wrap:wrap;gap:.4em 1em;}.map{min-width:0;m",
  "ax-width:100%;overflow-x:auto;padding:2px;}table{border-collapse:separate;border-spacing:1p",
  "x;font:11px/1 var(--mono);}th{font-weight:400;color:var(--soft);padding:0 .25em;text-align:",
  "right;}thead th{text-align:center;font-size:9.5px;padding:1px 0;}td{min-width:15px;height:1",
  "7px;padding:0 1px;text-align:right;cursor:crosshair;background:rgb(var(--c,128 128 128) / c",
  "alc(var(--a,.06) * var(--most)));}td.wide{min-width:3.6em;height:22px;padding:0 .3em;font-s",
  "ize:12px;}td.p{--c:var(--pos);}td.n{--c:var(--neg);}td.hot{box-shadow:inset 0 0 0 2px var(-",
  "-ink);}td.pick{box-shadow:inset 0 0 0 3px var(--here);}td.bad{background:repeating-linear-g",
  "radient(45deg,#c0188a 0 4px,#7a0f58 4px 8px);color:#fff;text-align:center;font-weight:700;}",
  ".scale{display:flex;align-items:center;gap:.4em;font:11px var(--mono);color:var(--soft);mar",
  "gin-top:.25em;}.scale td{min-width:11px;height:9px;cursor:default;}.move{font-size:.8em;col",
  "or:var(--soft);margin-top:.25em;}.move button{padding:0 .5em;margin:0 .15em;line-height:1.3",
  "5;}#graph{background:var(--card);border:1px solid var(--line);border-radius:8px;overflow:au",
  "to;max-height:14em;}#graph svg{display:block;}#graph text{font:12px var(--mono);fill:var(--",
  "ink);text-anchor:middle;}#graph .op{font-size:9.5px;fill:var(--soft);}#graph g{cursor:point",
  "er;}#graph rect{fill:var(--card);stroke:var(--line);stroke-width:1.3;}#graph .leaf rect{fil",
  "l:var(--back);stroke-dasharray:4 3;}#graph .done rect{stroke:var(--way);}#graph .here rect{",
  "fill:var(--mark);stroke:var(--here);stroke-width:2.5;}#graph path{fill:none;stroke:var(--li",
  "ne);stroke-width:1.4;}#graph .fw{stroke:var(--way);}#graph .bw{stroke:var(--here);stroke-wi",
  "dth:2.2;}#graph .wait{stroke:var(--here);stroke-dasharray:3 4;opacity:.6;}#graph marker pat",
  "h{stroke:none;fill:var(--line);}#graph #to-fw path{fill:var(--way);}#graph #to-bw path{fill",
  ":var(--here);}#how{position:sticky;bottom:0;z-index:1;background:var(--card);max-height:42v",
  "h;overflow:auto;border:1px solid var(--line);border-top:3px solid var(--here);border-radius",
  ":8px;padding:.5em .8em;min-height:6.6em;box-shadow:0 -3px 12px #0002;}#how p{margin:.15em 0",
  ";}#how b,#how code{font-family:var(--mono);}.sum{display:flex;flex-wrap:wrap;gap:.25em .35e",
  "m;font:12.5px/1.45 var(--mono);margin:.2em 0;align-items:center;}.sum .t{background:var(--b",
  "ack);border-radius:5px;padding:.1em .45em;}.sum .t > span{display:block;white-space:nowrap;",
  "}.sum .t > span + span{color:var(--soft);}.keys{color:var(--soft);font-size:.8em;}@media (m",
  "ax-width:760px){main{grid-template-columns:minmax(0,1fr);padding:.6em;}#program{position:st",
  "atic;max-height:30vh;}header{padding:.4em .6em;}h1{display:none;}.keys{display:none;}#where",
  "{min-width:0;}#how{max-height:36vh;}#graph{max-height:9em;}}</style> </head> <body> <header",
  "> <h1>edf trace</h1> <button id=\"first\" aria-label=\"first moment\">|&lt;</button> <butto",
  "n id=\"back\" aria-label=\"back\">&lt;</button> <button id=\"next\" aria-label=\"next\">&gt",
  ";</button> <button id=\"last\" aria-label=\"last moment\">&gt;|</button> <input id=\"slider",
  "\" type=\"range\" min=\"0\" value=\"0\" aria-label=\"moment\"> <span id=\"where\" role=\"st",
  "atus\"></span> <span class=\"keys\">arrow keys step; in a heat map (Tab) they move, Esc lea",
  "ves it</span> </header> <main> <nav id=\"program\" aria-label=\"the program\"></nav> <div c",
  "lass=\"side\"> <div><div id=\"what\" aria-live=\"polite\"></div><div id=\"about\"></div></d",
  "iv> <section aria-label=\"the graph\"><div id=\"graph\"><svg></svg></div></section> <div id",
  "=\"cards\"></div> <section id=\"how\" aria-live=\"polite\" aria-label=\"how a number was ma",
  "de\"></section> <div id=\"note\"></div> </div> </main> <script type=\"application/json\" id",
  "=\"data\"> ",
  NULL
};
static const char *const edf_lab__page_script[] = {
  "</script> <script> 'use strict';const $=id=>document.getElementById(id);const data=JSON.par",
  "se($('data').textContent);const{nodes,moments,cap}=data,VIEW=16,MOST=200000;const TIMES=' ",
  "\\u00d7 ',MINUS='\\u2212',DOTS='\\u2026',DOT=' \\u00b7 ';const SVG=$('graph').firstChild.na",
  "mespaceURI;let now=0,picked=null;const pos={};function el(tag,attributes,...inside){const e",
  "=document.createElement(tag);for(const[k,v]of Object.entries(attributes||{}))e.setAttribute",
  "(k,v);e.append(...inside);return e;}function drawn(tag,attributes,text){const e=document.cr",
  "eateElementNS(SVG,tag);for(const[k,v]of Object.entries(attributes))e.setAttribute(k,v);if(t",
  "ext)e.textContent=text;return e;}function show(x,digits){if(x===undefined)return '?';if(x!=",
  "=x)return 'NaN';const a=Math.abs(x),n=digits||4;let s=a===Infinity?'\\u221e' :a&&(a<1e-3||a",
  ">=1e6)?a.toExponential(n-1).replace(/\\.?0+e/,'e'):String(+a.toPrecision(a>=1000?6:n));retu",
  "rn(x<0?MINUS:'')+s;}const bracketed=(x,digits)=>x<0?'('+show(x,digits)+')':show(x,digits);c",
  "onst label=(id,kind,index)=>nodes[id].title+(kind?'.grad':'')+(index.length?'['+index+']':'",
  "');const key=(id,kind,index)=>[id,kind,...index].join();const same=(a,b)=>a.length===b.leng",
  "th&&a.every((n,d)=>n===b[d]);const size=x=>x.dim.reduce((a,n)=>a*n,1);function unpack(x){if",
  "(typeof x!=='string')return x.map(Number);return new Float32Array(Uint8Array.from(atob(x),c",
  "=>c.charCodeAt(0)).buffer);}const began=[];const fresh=[];nodes.forEach((x,id)=>{x.id=id;x.",
  "at=x.file+':'+x.row;const twin=y=>y.name===x.name&&y.k<2&&(y.k!==x.k||y.place!==x.place);x.",
  "title=x.k<2&&nodes.some(twin)?x.name+' ('+x.op.toLowerCase()+' '+x.place+')':x.name;x.line=",
  "(x.line||[]).join('\\n');x.shown=x.dim.map(n=>Math.min(n,cap));x.past=[[],[]];x.most=[0,0];",
  "if(x.op==='Sum'||x.op==='Mean')x.eq=x.eq||over(x);});moments.forEach((t,m)=>{began.push(t.w",
  "==='B'?m:m?began[m-1]:-1);for(const[id,kind,packed]of t.set){const x=nodes[id],at=unpack(pa",
  "cked);for(const v of at)if(Math.abs(v)>x.most[kind]&&v-v===0)x.most[kind]=Math.abs(v);x.pas",
  "t[kind].push({m,at});}});function over(x){const dim=nodes[x.in[0]].dim;return x.f&&{kind:x.",
  "op==='Mean'?1:0,name:dim.map((n,d)=>'I'+d),ext:dim,left:dim.map(()=>0),ref:[[-1,[]],[0,dim.",
  "map((n,d)=>[0,d,1])]],term:[[1,1,1]]};}function numbers(id,kind,m){const from=kind?began[m]",
  ":0;if(kind&&(from<0||!moments[from].need.includes(id)))return null;const past=nodes[id].pas",
  "t[kind].filter(p=>p.m>=from&&p.m<=m);return past.length?past[past.length-1].at:kind?fresh:n",
  "ull;}function number(id,kind,index,m){const x=nodes[id],a=numbers(id,kind,m);let o=0;for(le",
  "t d=0;d<x.dim.length;d++){if(index[d]<0||index[d]>=x.shown[d])return undefined;o=o*x.shown[",
  "d]+index[d];}return a===fresh?0:a?a[o]:undefined;}function letter(e,place,d,x){const alone=",
  "place[0]===0&&place.length===3&&place[2]===1;return alone?e.name[place[1]].toLowerCase()+'/",
  "'+x.dim[d]:x.id+'.'+d;}nodes.forEach(x=>{const first=nodes[x.in[0]],e=x.eq;if(e)for(const r",
  " of e.ref){const y=r[0]<0?x:nodes[x.in[r[0]]];y.keys=y.keys||y.dim.map((n,d)=>letter(e,r[1]",
  "[d],d,y));}else if(first)x.keys=x.dim.map((n,d)=>first.keys&&first.dim[d]===n?first.keys[d]",
  ":x.id+'.'+d);});nodes.forEach(x=>{x.keys=x.keys||x.dim.map((n,d)=>x.id+'.'+d);});nodes.filt",
  "er(x=>x.k===0&&x.past[0].length).forEach(x=>x.shown.forEach((n,d)=>{const step=x.shown.slic",
  "e(d+1).reduce((a,k)=>a*k,1),sum=[];x.past[0][0].at.forEach((v,o)=>{const block=Math.floor(M",
  "ath.floor(o/step)% n/VIEW);sum[block]=(sum[block]||0)+Math.abs(v);});if(n>VIEW&&!sum[0])pos",
  "[x.keys[d]]=VIEW*sum.indexOf(Math.max(...sum));}));const place=(x,d)=>Math.min(pos[x.keys[d",
  "]]||0,x.shown[d]-1);const chosenAxes={};function axes(x){const all=x.dim.map((n,d)=>d),long",
  "=all.filter(d=>x.dim[d]>1);const last=all.filter(d=>all.length>2&&x.dim[d]<2).concat(all.le",
  "ngth>2?long :all).slice(-2).sort();return chosenAxes[x.keys]||last;}function range(x,d){con",
  "st at=place(x,d),wide=axes(x).includes(d),from=wide?at-at % VIEW:at;const end=wide?Math.min",
  "(from+VIEW,x.shown[d]):at+1;return Array.from({length:end-from},(_,k)=>from+k);}function pa",
  "int(td,v,most){td.className=v>0?'p':v<0?'n':'';if(v-v!==0)td.className='bad';else if(v)td.s",
  "tyle.setProperty('--a',.08+.92*Math.pow(Math.abs(v)/most,.7));return td;}function heat(x,ki",
  "nd,m){const r=x.dim.length,two=axes(x),down=two[r>1?0:1],right=two[r>1?1:0];const rows=r>1?",
  "range(x,down):[0],cols=r?range(x,right):[0];const wide=cols.length<=6;const table=el('table",
  "',{role:'grid','aria-label':label(x.id,kind,[])});const body=el('tbody');if(r)table.append(",
  "el('thead',{},el('tr',{},...(r>1?[el('th')]:[]),...cols.map(j=>el('th',{scope:'col'},String",
  "(j))))));rows.forEach(i=>{const tr=el('tr',{},...(r>1?[el('th',{scope:'row'},String(i))]:[]",
  "));cols.forEach(j=>{const index=x.dim.map((n,d)=>d===right?j:d===down?i:place(x,d));const v",
  "=number(x.id,kind,index,m);const td=paint(el('td',{tabindex:-1}),v,x.most[kind]);const bad=",
  "td.className==='bad'&&v!==undefined;td.entry={id:x.id,kind,index};td.name=label(x.id,kind,i",
  "ndex);td.key=key(x.id,kind,index);td.setAttribute('aria-label',td.name+' = '+show(v));if(wi",
  "de||bad)td.append(wide?show(v,3):v!==v?'N':'\\u221e');if(wide)td.classList.add('wide');tr.a",
  "ppend(td);});body.append(tr);});table.append(body);table.querySelector('td').tabIndex=0;ret",
  "urn table;}function scale(most){const row=el('tr');for(let k=-4;k<=4;k++)row.append(paint(e",
  "l('td'),k/4,1));return el('div',{class:'scale','aria-hidden':'true'},show(-most,3),el('tabl",
  "e',{},row),show(most,3));}const indexName=(x,d)=>x.keys[d].includes('/')?x.keys[d].split('/",
  "')[0]:'index '+(d+1);function chooser(x){const two=[...axes(x)],pick=k=>{const box=el('sele",
  "ct',{'aria-label':['rows','columns'][k]},...x.dim.map((n,d)=>el('option',d===two[k]?{value:",
  "d,selected:''}:{value:d},indexName(x,d))));box.onchange=()=>{if(+box.value===two[1-k])two[1",
  "-k]=two[k];two[k]=+box.value;chosenAxes[x.keys]=two;draw();};return box;};return x.dim.leng",
  "th<3?'':el('div',{class:'move'},'rows ',pick(0),' columns ',pick(1));}function mover(x,d){c",
  "onst on=range(x,d),n=x.dim[d],key=x.keys[d],step=on.length>1?VIEW:1;if(on.length===n)return",
  " '';const name=indexName(x,d)+' ';const go=(text,to)=>{const b=el('button',{'aria-label':na",
  "me+' from '+to},text);b.disabled=to<0||to>=x.shown[d];b.onclick=()=>{pos[key]=to;draw();};r",
  "eturn b;};const part=on.length>1?on[0]+' to '+on[on.length-1]:String(on[0]);const least=x.s",
  "hown[d]<n?' (the page has the first '+x.shown[d]+')':'';return el('div',{class:'move'},name",
  ",go('<',on[0]-step),part+' of '+n,go('>',on[0]+step),least);}function card(id,m,role,main){",
  "const x=nodes[id],maps=el('div',{class:'maps'}),count=arrived(id,m);const views=moments[m].",
  "w==='s'?[[0,m-1,'before'],[1,m,''],[0,m,'after']]:'Bb'.includes(moments[m].w)?[[1,m,''],[0,",
  "m,'']]:[[0,m,''],[1,m,'']];for(const[kind,when,word]of views){if(!numbers(id,kind,when))con",
  "tinue;const title=kind?'gradient'+(count&&DOT+count+' arrived'):'value '+word;maps.append(e",
  "l('div',{class:'map'},el('div',{class:'soft'},title),heat(x,kind,when),scale(x.most[kind]))",
  ");}if(!maps.children.length)maps.append(el('span',{class:'soft'},'no value yet'));const sha",
  "pe=x.dim.length?' ['+x.dim.join(', ')+']':'';return el('section',{class:main?'card main':'c",
  "ard','aria-label':x.name},el('h3',{},x.title+shape,el('span',{class:'soft'},' '+role)),maps",
  ",chooser(x),...x.dim.map((n,d)=>mover(x,d)));}const passes=[];function pass(m){const from=b",
  "egan[m];if(passes[from])return passes[from];const list=passes[from]=[];for(let k=from+1;fro",
  "m>=0&&k<moments.length;k++){if('FB'.includes(moments[k].w))break;if(moments[k].w==='b')list",
  ".push({m:k,x:nodes[moments[k].n]});}return list;}function arrived(id,m){let here=0,all=0;if",
  "(!numbers(id,1,m))return '';for(const c of pass(m)){const from=c.x.eq?c.x.eq.ref.slice(1).m",
  "ap(r=>c.x.in[r[0]]):c.x.in;const n=from.filter(k=>k===id).length;all+=n;if(c.m<=m)here+=n;}",
  "return all?here+' of '+all:'';}const value=(place,v)=>{let at=place[0];for(let k=1;k<place.",
  "length;k+=2)at+=v[place[k]]*place[k+1];return at;};function choices(e,ref,entry,list,visit)",
  "{const alone=i=>ref[1].some(p=>p.length===3&&p[1]===i);const order=[...list].sort((a,b)=>al",
  "one(b)-alone(a)),v=e.ext.map(()=>0);const rank=p=>Math.max(-1,...p.filter((n,k)=>k % 2).map",
  "(i=>order.indexOf(i)));const closes=order.map((_,k)=>ref[1].findIndex(p=>rank(p)===k));cons",
  "t fits=()=>ref[1].every((p,d)=>value(p,v)===entry[d]);(function go(k){if(k===order.length)r",
  "eturn fits()?visit(v):undefined;const i=order[k],d=closes[k];if(d<0){for(v[i]=0;v[i]<e.ext[",
  "i];v[i]++)go(k+1);v[i]=0;return;}v[i]=0;const p=ref[1][d],factor=p.find((n,k)=>k&&k % 2===0",
  "&&p[k-1]===i);const at=(entry[d]-value(p,v))/factor;if(at>=0&&at<e.ext[i]&&at===Math.floor(",
  "at)){v[i]=at;go(k+1);}v[i]=0;})(0);}const lettersOf=(e,term)=>e.ext.map((_,i)=>i).filter(i=",
  ">e.left[i]||e.ref.slice(term[1],term[1]+term[2]).some(r=>r[1].some(p=>uses(p,i))));const us",
  "es=(p,i)=>p.some((n,k)=>k % 2&&n===i);function divisor(e,term){const n=lettersOf(e,term).fi",
  "lter(i=>!e.left[i]).reduce((a,i)=>a*e.ext[i],1);return e.kind===1?n:e.kind===2?n-1:1;}const",
  " volume=(e,ref,list)=>list.filter(i=>!ref[1].some(p=>uses(p,i))).reduce((a,i)=>a*e.ext[i],1",
  ");function factorOf(c,ref,v,kind,m){const id=ref[0]<0?c.id:c.in[ref[0]],index=ref[1].map(p=",
  ">value(p,v));const outside=index.some((n,d)=>n<0||n>=nodes[id].dim[d]);return{id,kind,index",
  ",x:outside?0:number(id,kind,index,m),outside};}function product(c,e,term,swapped,v,m){const",
  " factors=swapped>=0?[factorOf(c,e.ref[0],v,1,m)]:[];for(let f=term[1];f<term[1]+term[2];f++",
  ")if(f!==swapped)factors.push(factorOf(c,e.ref[f],v,0,m));const weight=term[0]/divisor(e,ter",
  "m);return{weight,factors,x:factors.reduce((a,f)=>a*f.x,weight)};}function winner(c,e,v,m){c",
  "onst term=e.term[0],left=[];let best=null;const window=e.ref[0][1].map(p=>value(p,v));choic",
  "es(e,e.ref[0],window,lettersOf(e,term),w=>{const f=factorOf(c,e.ref[1],w,0,m);if(!f.outside",
  ")left.push(f);if(!f.outside&&(!best||f.x>best.x))best=f;});return{best,left};}function term",
  "sForward(c,index,m){const e=c.eq,list=[];if(e.kind===3){const v=e.ext.map(()=>0);e.ref[0][1",
  "].forEach((p,d)=>{v[p[1]]=index[d];});const w=winner(c,e,v,m);return w.left.map(f=>({weight",
  ":1,factors:[f],x:f.x,best:f===w.best}));}for(const t of e.term)choices(e,e.ref[0],index,let",
  "tersOf(e,t),v=>list.push(product(c,e,t,-1,v,m)));return list;}function termsBackward(c,id,i",
  "ndex,m){const e=c.eq,list=[];for(const t of e.term)for(let f=t[1];f<t[1]+t[2];f++)if(c.in[e",
  ".ref[f][0]]===id)choices(e,e.ref[f],index,lettersOf(e,t),v=>{const w=e.kind===3?winner(c,e,",
  "v,m).best:null;if(!w||same(w.index,index))list.push(product(c,e,t,f,v,m));});return list;}f",
  "unction count(c,ref){const of=t=>volume(c.eq,ref,lettersOf(c.eq,t));return c.eq.term.reduce",
  "((a,t)=>a+of(t),0);}function termBox(t,sign){const w=Math.abs(t.weight),names=t.factors.map",
  "(f=>label(f.id,f.kind,f.index));const figures=t.factors.map(f=>f.outside?'0 (outside)' :t.f",
  "actors.length>1?bracketed(f.x):show(f.x));if(w!==1){names.unshift(show(w));figures.unshift(",
  "show(w));}return[sign,el('span',{class:'t'},el('span',{},names.join(' ')),el('span',{},figu",
  "res.join(TIMES)))];}function chosen(terms){if(terms.length<=12)return terms;const far=t=>Ma",
  "th.abs(t.x||0);const large=[...terms].sort((a,b)=>far(b)-far(a)).slice(0,5);return terms.fi",
  "lter((t,k)=>k<3||large.includes(t));}function sumLine(terms,before){const line=el('div',{cl",
  "ass:'sum'},'='),some=chosen(terms);if(before!==0)line.append(show(before)+' (was there)');s",
  "ome.forEach((t,k)=>{const sign=t.weight<0?MINUS:k||before!==0?'+':'';const skipped=k&&terms",
  ".indexOf(some[k-1])!==terms.indexOf(t)-1;if(skipped)line.append('+ '+DOTS+' ');line.append(",
  "...termBox(t,sign));});if(!terms.length)line.append(before!==0?'+ 0':'0');if(terms.length&&",
  "some[some.length-1]!==terms[terms.length-1])line.append('+ '+DOTS);return line;}function re",
  "mark(terms,some,before,x){const known=terms.filter(t=>t.factors.every(f=>f.x!==undefined));",
  "const n=terms.length;const sum=known.reduce((a,t)=>a+t.x,before);if(known.length<n)return n",
  "+' terms, '+known.length+' of them in the page, ' +'which add up to '+show(sum)+'; with tho",
  "se that are not in the page '+show(x);if(some.length<n)return n+' terms: the first three an",
  "d the five largest are ' +'written out, the others add up to ' +show(sum-before-some.reduce",
  "((a,t)=>a+t.x,0));return '';}const soft=text=>el('p',{class:'soft'},text);const result=x=>e",
  "l('p',{},'= ',el('b',{class:'result'},show(x)));function explainSum(terms,before,x){if(term",
  "s.length&&terms[0].best!==undefined)return[el('div',{class:'sum'},'= max of',...terms.slice",
  "(0,VIEW).flatMap(t=>termBox(t,t.best?'\\u2192':''))),result(x),...(terms.some(t=>t.x===unde",
  "fined)?[soft('some are not in the page')]:[])];const note=remark(terms,chosen(terms),before",
  ",x);return[sumLine(terms,before),result(x),...(note?[soft(note)]:[])];}function related(id,",
  "index,other){const x=nodes[id],y=nodes[other],n=Math.min(x.dim.length,y.dim.length);const r",
  "ow=from=>Array.from({length:Math.min(VIEW,y.shown[from.length])},(_,k)=>[...from,k]);if(sam",
  "e(x.dim,y.dim))return[index];if(!y.dim.length)return[[]];if(same(x.dim.slice(0,n),y.dim.sli",
  "ce(0,n))&&n){if(y.dim.length<=x.dim.length)return[index.slice(0,n)];if(y.dim.length===n+1)r",
  "eturn row(index);}if(size(x)!==size(y))return[];let at=index.reduce((a,i,d)=>a*x.dim[d]+i,0",
  ");return[y.dim.map((_,d)=>{const step=y.dim.slice(d+1).reduce((a,k)=>a*k,1),i=Math.floor(at",
  "/step);at-=i*step;return i;})];}const sides=line=>/^(?:for [^:]*: )?(.*?) [-+]?= (.*)$/s.ex",
  "ec(line).slice(1);const NAME=\"([\\\\p{L}_][\\\\p{L}\\\\p{M}\\\\w']*(?:@\\\\d+)?)(\\\\.grad",
  ")?\",AT='\\\\[([^[\\\\]]*)\\\\]';const TENSOR=new RegExp(NAME+'(?![\\\\w@(])(?:'+AT+')?','g",
  "u');const WITHIN=new RegExp('(?<=[,[])'+NAME+AT,'gu');const OVER=new RegExp('(sum|mean|vari",
  "ance)_([A-Z]\\\\w*(?:,[A-Z]\\\\w*)*) '+'(exp\\\\([^()]*\\\\)|\\\\([^()]*\\\\)|[^ ()]+(?: [^",
  " ()+*/-][^ ()]*)*)','g');function filled(c,line,id,index,m){const places=text=>text.split(/",
  ",(?![^[]*\\])/),[left,right]=sides(line),at={};const list=[],own=(/\\[(.*)\\]$/.exec(left)|",
  "|['',''])[1];let lost=/[|;]|flat\\[| by the code of | if /.test(line),elsewhere=false;const",
  " called=name=>[...new Set([c.id,...c.in])].filter(k=>nodes[k].name===name);function read(al",
  "l,name,grad,text){const who=called(name),f={id:who[0],kind:grad?1:0};if(!who.length)return ",
  "all;f.index=text?text.split(',').map(p=>p in at?at[p]:+p):[];f.x=f.index.every(Number.isInt",
  "eger)?number(f.id,f.kind,f.index,m):undefined;lost=lost||who.length>1||f.x===undefined;if(!",
  "list.some(g=>label(g.id,g.kind,g.index)===label(f.id,f.kind,f.index)))list.push(f);return f",
  ".x;}function over(all,how,letters,body){const values=[],exp=body.startsWith('exp(');const i",
  "nner=body.replace(/^(exp)?\\(|\\)$/g,''),scalar={dim:[]};const extent=letter=>Math.max(0,..",
  ".[...inner.matchAll(TENSOR)].map(found=>(nodes[called(found[1])[0]]||scalar).dim[(found[3]|",
  "|'').split(',').indexOf(letter)]||0));(function go([letter,...others]){if(!letter){let x=1;",
  "inner.replace(TENSOR,(...found)=>{x*=read(...found);});return values.push(exp?Math.exp(x):x",
  ");}const n=extent(letter);for(at[letter]=0;at[letter]<n&&values.length<4096;at[letter]++)go",
  "(others);delete at[letter];})(letters.split(','));const sum=values.reduce((a,x)=>a+x,0),mea",
  "n=sum/values.length;lost=lost||values.length>4095||/[-+*/^]/.test(inner.replace(/\\[[^\\]]*",
  "\\]/g,''));return bracketed(how==='sum'?sum:how==='mean'?mean :values.reduce((a,x)=>a+(x-me",
  "an)*(x-mean),0)/values.length,6);}if(own)places(own).forEach((p,d)=>{if(/^[^\\W\\d]\\w*$/.t",
  "est(p))at[p]=index[d];});if(own)places(own).forEach((p,d)=>{const k=p in at?index[d]:+(','+",
  "p).replace(WITHIN,read).slice(1);elsewhere=elsewhere||k!==index[d];});const loops=(/^for ([",
  "^:]*):/.exec(line)||['',''])[1];if(loops&&loops.split(',').some(letter=>!(letter in at)))re",
  "turn null;const text=right.replace(OVER,over).replace(WITHIN,read).replace(/([\\w)\\]]) (?=",
  "[\\w([])/g,'$1'+TIMES).replace(/\\b(ln|exp|sqrt|tanh)( \\u00d7)(?= )/g,'$1').replace(TENSOR",
  ",(...found)=>{const x=read(...found);return x===found[0]?x:bracketed(x,6);}).replace(/\\[(",
  "\\w+) = (\\d+)\\]/g,(all,a,b)=>at[a]===+b?1:0);return lost||/_[A-Z]/.test(text)?null:{text:",
  "elsewhere?'0':text,list};}function neighbours(c,id,index,m,kinds){const list=[],seen=new Se",
  "t([id]);for(const other of[c.id,...c.in])for(const kind of kinds(other)){if(seen.has(other+",
  "'/'+kind)||!numbers(other,kind,m))continue;seen.add(other+'/'+kind);related(id,index,other)",
  ".forEach(at=>list.push({id:other,kind,index:at,x:number(other,kind,at,m)}));}return list;}c",
  "onst shorter=text=>text.replace(/exp\\(\\(?([^()]*)\\)?\\) \\/ ([\\d.e]+)/g,(all,a,b)=>show",
  "(Math.exp(+a.replace(MINUS,'-'))/+b));function listOf(list){return el('div',{class:'sum'},.",
  "..list.slice(0,VIEW).map(f=>el('span',{class:'t'},label(f.id,f.kind,f.index)+' = '+show(f.x",
  "))));}const tooMany=(n,x)=>[result(x),soft('a sum of '+n+' products: too many to be added h",
  "ere')];function forwardWords(c,index,m){const x=number(c.id,0,index,m),n=c.eq?count(c,c.eq.",
  "ref[0]):0;if(n>MOST)return tooMany(n,x);if(c.eq){const terms=termsForward(c,index,m);heatUp",
  "(terms.flatMap(t=>t.factors));return explainSum(terms,0,x);}const all=c.f&&filled(c,c.line,",
  "c.id,index,m);const near=all?all.list:neighbours(c,c.id,index,m,id=>id===c.id?[]:[0]);heatU",
  "p(near);if(all)return[el('div',{class:'sum'},'= '+all.text),result(x),listOf(near)];return[",
  "result(x),soft(c.f?c.line :c.op+' computes it by code of the program, '+c.at),listOf(near)]",
  ";}function backwardWords(c,id,index,m){const x=number(id,1,index,m),before=number(id,1,inde",
  "x,m-1),e=c.eq;const refs=e?e.ref.filter(r=>r[0]>=0&&c.in[r[0]]===id):[];const n=refs.reduce",
  "((a,r)=>a+count(c,r),0);if(n>MOST)return tooMany(n,x);if(e){const terms=termsBackward(c,id,",
  "index,m);heatUp(terms.flatMap(t=>t.factors));return explainSum(terms,before,x);}const rules",
  "=c.f?c.back.filter(g=>sides(g)[0].startsWith(nodes[id].name+'.grad')):[];const[rule]=rules,",
  "simple=rules.length===1&&filled(c,rule,id,index,m);const near=simple?simple.list :neighbour",
  "s(c,id,index,m,k=>k===c.id?[1,0]:[0]);heatUp(near);const was=before!==0?show(before)+' (was",
  " there) + ':'';const comes=simple?(rule.includes('-=')&&simple.text!=='0'?MINUS:'')+shorter",
  "(simple.text):show(x-before)+' (arrives)';const how=c.f?c.back.join('; '):c.op+' adds it by",
  " code of the program, '+c.at;return[el('div',{class:'sum'},'= '+was+comes),result(x),...(si",
  "mple?[]:[soft(how)]),listOf(near)];}function stepWords(id,index,m){const a=numbers(id,0,m-1",
  "),b=numbers(id,0,m),g=numbers(id,1,m);const x=number(id,0,index,m),old=number(id,0,index,m-",
  "1);let top=0,eta=0,plain=!!g&&g!==fresh;for(let k=0;plain&&k<g.length;k++)if(Math.abs(g[k])",
  ">top){top=Math.abs(g[k]);eta=(a[k]-b[k])/g[k];}for(let k=0;plain&&k<g.length;k++)plain=Math",
  ".abs(a[k]-eta*g[k]-b[k])<=1e-3*Math.abs(eta*top)+1e-6*Math.abs(a[k]);const by=plain?MINUS+'",
  " '+show(eta)+TIMES+bracketed(number(id,1,index,m)):'+ '+bracketed(x-old);const rule=plain?'",
  "value '+MINUS+' '+show(eta)+TIMES+'gradient' :'moved by its optimiser';return[el('div',{cla",
  "ss:'sum'},'= '+show(old)+' '+by),result(x),soft(rule)];}const cells=()=>[...document.queryS",
  "electorAll('#cards [role=grid] td')];function heatUp(list){const hot=new Set(list.map(f=>ke",
  "y(f.id,f.kind,f.index)));cells().forEach(td=>td.classList.toggle('hot',hot.has(td.key)));}f",
  "unction explain(entry){const t=moments[now],c=nodes[t.n],how=$('how');picked=entry;heatUp([",
  "]);if(!entry){how.replaceChildren(soft('Point at an entry, tap it, or go to it with Tab and",
  " the ' +'arrow keys: here stands how it was made.'));return;}const{id,kind,index}=entry,x=n",
  "umber(id,kind,index,now);const words=t.w==='f'&&id===c.id&&!kind?forwardWords(c,index,now):",
  "t.w==='b'&&kind&&c.in.includes(id)?backwardWords(c,id,index,now):t.w==='s'&&id===c.id&&!kin",
  "d?stepWords(id,index,now):null;const other=number(id,1-kind,index,now);how.replaceChildren(",
  "el('p',{},el('b',{},label(id,kind,index)),...(words?[]:[' = ',el('b',{class:'result'},show(",
  "x,5))]),el('span',{class:'soft'},other===undefined?'':'   ('+label(id,1-kind,index)+' = '+s",
  "how(other)+')')),...(words||[]));cells().forEach(td=>td.classList.toggle('pick',td.key===ke",
  "y(id,kind,index)));}const steps=[];function members(m){let from=m,to=m+1;while(from>0&&mome",
  "nts[from].w!=='F')from--;while(to<moments.length&&moments[to].w!=='F')to++;if(steps[from])r",
  "eturn steps[from];const ids=new Set();for(let k=from;k<to;k++)if('fb'.includes(moments[k].w",
  "))[moments[k].n,...nodes[moments[k].n].in].forEach(id=>ids.add(id));const list=[...ids].sor",
  "t((a,b)=>a-b);return steps[from]={from,list,plan:arrange(list)};}function layers(list){cons",
  "t column={},inside=new Set(list);for(let again=list.length;again-->0;){let changed=false;fo",
  "r(const id of list){const c=Math.max(0,...nodes[id].in.filter(k=>inside.has(k)).map(k=>1+(c",
  "olumn[k]||0)));if(nodes[id].in.length&&c!==column[id]){column[id]=c;changed=true;}}if(!chan",
  "ged)break;}for(const id of list)if(!nodes[id].in.length)column[id]=Math.min(...list.filter(",
  "k=>nodes[k].in.includes(id)).map(k=>column[k]-1),list.length)% list.length;return column;}f",
  "unction arrange(list){const column=layers(list),columns=[],cell={},edges=[];const add=(c,it",
  "em)=>{(columns[c]=columns[c]||[]).push(item);item.c=c;return item;};for(const id of list)ce",
  "ll[id]=add(column[id],{id,near:[]});for(const id of list)for(const k of new Set(nodes[id].i",
  "n))if(cell[k]){const way=[cell[k]];const far=cell[id].c-cell[k].c>8;for(let c=cell[k].c+1;!",
  "far&&c<cell[id].c;c++)way.push(add(c,{near:[]}));way.push(cell[id]);way.slice(1).forEach((p",
  ",n)=>{p.near.push(way[n]);way[n].near.push(p);});edges.push({from:k,to:id,way});}const tall",
  "est=Math.max(...columns.map(c=>c.length));columns.forEach(c=>c.forEach((p,k)=>{p.y=k+(talle",
  "st-c.length)/2;}));for(let sweep=0;sweep<8;sweep++)columns.forEach(c=>{c.forEach(p=>{p.w=p.",
  "near.reduce((a,q)=>a+q.y,0)/(p.near.length||1);});c.sort((p,q)=>p.w-q.w);c.forEach((p,k)=>{",
  "p.y=k+(tallest-c.length)/2;});});return{cell,edges,width:columns.length,height:tallest};}co",
  "nst STEP_X=132,STEP_Y=56,WIDE=92,HIGH=34;const middle=p=>[p.c*STEP_X+62,p.y*STEP_Y+32];func",
  "tion curve(way){let d='',last=null;way.forEach((p,k)=>{let[x,y]=middle(p);if(k===0)x+=WIDE/",
  "2;if(k===way.length-1)x-=WIDE/2+4;const half=last&&(last[0]+x)/2;d+=last?`C${half} ${last[1",
  "]} ${half} ${y} ${x} ${y}`:`M${x} ${y}`;last=[x,y];});return d;}function edgeState(edge,t){",
  "if(!'Bbs'.includes(t.w))return ran(edge.to)?'fw':'';const done=pass(now).find(c=>c.x.id===e",
  "dge.to);if(!done||!numbers(edge.from,1,now))return '';return done.m<=now?'bw':'wait';}funct",
  "ion ran(id){const from=members(now).from;return moments.slice(from,now+1).some(t=>t.w==='f'",
  "&&t.n===id);}function drawGraph(){const{list,plan}=members(now),t=moments[now];const w=plan",
  ".width*STEP_X,h=plan.height*STEP_Y+24;const svg=drawn('svg',{width:w,height:h,viewBox:`0 0 ",
  "${w} ${h}`,role:'img','aria-label':'the graph; '+$('where').textContent});const defs=drawn(",
  "'defs',{});for(const name of['','fw','bw']){const tip=drawn('marker',{id:'to-'+name,viewBox",
  ":'0 0 8 8',refX:4,refY:4,markerWidth:9,markerHeight:9,orient:'auto-start-reverse',markerUni",
  "ts:'userSpaceOnUse'});tip.append(drawn('path',{d:'M0 0L8 4L0 8z'}));defs.append(tip);}svg.a",
  "ppend(defs);for(const edge of plan.edges){const state=edgeState(edge,t),back=state==='bw'||",
  "state==='wait';const path=drawn('path',{d:curve(edge.way),class:state});path.setAttribute(b",
  "ack?'marker-start':'marker-end',`url(#to-${state === 'wait' ? 'bw' : state})`);svg.append(p",
  "ath);}for(const id of list)svg.append(box(id,plan.cell[id],t));$('graph').replaceChildren(s",
  "vg);const p=plan.cell[t.n],g=$('graph');if(p){g.scrollLeft=middle(p)[0]-g.clientWidth/2;g.s",
  "crollTop=middle(p)[1]-g.clientHeight/2;}}function box(id,p,t){const x=nodes[id],[cx,cy]=mid",
  "dle(p),back='Bbs'.includes(t.w);const count=back?arrived(id,now):'';const state=id===t.n?' ",
  "here':ran(id)?' done':'';const g=drawn('g',{class:(x.in.length?'node':'leaf')+state});const",
  " cut=x.title.length>11?x.title.slice(0,10)+DOTS:x.title;g.append(drawn('title',{},x.title+'",
  " ['+x.dim.join(', ')+'] '+x.op+' '+x.at),drawn('rect',{x:cx-WIDE/2,y:cy-HIGH/2,width:WIDE,h",
  "eight:HIGH,rx:6}),drawn('text',{x:cx,y:cy-1},cut),drawn('text',{x:cx,y:cy+12,class:'op'},x.",
  "op));if(count)g.append(drawn('text',{x:cx,y:cy+HIGH/2+11,class:'op'},count+' arrived'));g.a",
  "ddEventListener('click',()=>{const its=moments.map((k,m)=>m).filter(m=>moments[m].n===id&&'",
  "fbs'.includes(moments[m].w));its.sort((a,b)=>Math.abs(a-now)-Math.abs(b-now));if(its.length",
  ")go(its[0]);});return g;}function textOf(t){const x=nodes[t.n],n=x?size(x):1;if(t.w==='F')r",
  "eturn 'inputs and parameters';if(t.w==='B')return x.name+'.grad = 1'+(n>1?'/'+n:'')+', all ",
  "others 0';if(t.w==='s')return x.name+' makes its step';return t.w==='f'?x.line:x.back.join(",
  "'\\n');}function writeProgram(){let list=null,passes={},last='';const titles={F:'FORWARD',B",
  ":'BACKWARD',s:'STEP'};moments.forEach((t,m)=>{const kind=t.w==='s'?'s':t.w.toUpperCase();if",
  "(!list||'FB'.includes(t.w)||kind!==last){passes[kind]=(passes[kind]||0)+1;list=el('ol',{'ar",
  "ia-label':titles[kind]});$('program').append(el('h2',{},titles[kind]+' '+passes[kind]),list",
  ");}last=kind;t.title=titles[kind].toLowerCase();const at=t.n>=0&&t.w!=='B'?nodes[t.n].at.sp",
  "lit('/').pop():'';const b=el('button',{},el('small',{},at),textOf(t));b.onclick=()=>go(m);l",
  "ist.append(el('li',{},b));t.button=b;});}function involved(t){const c=nodes[t.n];if(t.w==='",
  "F')return members(now).list.filter(id=>nodes[id].k<2).map(id=>[id,['input','parameter'][nod",
  "es[id].k]]);if(t.w==='B')return[[t.n,'the loss']];if(t.w==='s')return[[t.n,'parameter']];co",
  "nst ins=[...new Set(c.in)].map(id=>[id,'read']);if(t.w==='f')return[[c.id,'written'],...ins",
  "];const to=ins.filter(p=>numbers(p[0],1,now));const rest=ins.filter(p=>!to.includes(p));ret",
  "urn[...to.map(p=>[p[0],'gradient written']),[c.id,'gradient read'],...rest];}function draw(",
  "){const t=moments[now],c=nodes[t.n],seen=involved(t).slice(0,12);$('what').textContent=text",
  "Of(t);$('about').textContent=c?c.op+DOT+c.at:'what the program was given';$('where').textCo",
  "ntent=now+1+' of '+moments.length+DOT+t.title;$('cards').replaceChildren(...seen.map(([id,r",
  "ole])=>card(id,now,role,role.includes('written')||t.w==='s')));drawGraph();const first=docu",
  "ment.querySelector('.main td');explain(picked||('fbs'.includes(t.w)&&first&&first.entry));}",
  "function lookAtConstants(c){for(const r of c&&c.eq?c.eq.ref:[])r[1].forEach((p,d)=>{if(p.le",
  "ngth===1)pos[nodes[r[0]<0?c.id:c.in[r[0]]].keys[d]]=p[0];});}function go(m){const before=mo",
  "ments[now].button;now=Math.max(0,Math.min(moments.length-1,m));picked=null;lookAtConstants(",
  "nodes[moments[now].n]);const b=moments[now].button,list=$('program');before.removeAttribute",
  "('aria-current');b.setAttribute('aria-current','step');const top=b.offsetTop-list.offsetTop",
  ";if(top<list.scrollTop||top+b.offsetHeight>list.scrollTop+list.clientHeight)list.scrollTop=",
  "top-list.clientHeight/3;$('slider').value=now;$('slider').setAttribute('aria-valuetext',tex",
  "tOf(moments[now]));draw();}function moveInMap(td,key){const rows=[...td.closest('tbody').ch",
  "ildren];const y=rows.indexOf(td.parentNode),x=[...td.parentNode.children].indexOf(td);const",
  " row=rows[y+(key==='ArrowDown')-(key==='ArrowUp')];const to=row&&row.children[x+(key==='Arr",
  "owRight')-(key==='ArrowLeft')];if(to&&to.tagName==='TD')to.focus();}document.addEventListen",
  "er('keydown',e=>{const steps={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1};const end=e",
  ".key==='Home'?0:e.key==='End'?moments.length-1:-1;const td=e.target.closest&&e.target.close",
  "st('#cards td');if(e.altKey||e.ctrlKey||e.metaKey||e.target.tagName==='SELECT')return;if(td",
  "&&e.key==='Escape')$('slider').focus();if(!steps[e.key]&&end<0)return;e.preventDefault();if",
  "(td&&steps[e.key])moveInMap(td,e.key);else go(end<0?now+steps[e.key]:end);});for(const even",
  "t of['mouseover','focusin','click'])$('cards').addEventListener(event,e=>{const td=e.target",
  ".closest('td');if(td&&td.entry&&td.entry!==picked)explain(td.entry);});$('first').onclick=(",
  ")=>go(0);$('back').onclick=()=>go(now-1);$('next').onclick=()=>go(now+1);$('last').onclick=",
  "()=>go(moments.length-1);$('slider').max=moments.length-1;$('slider').oninput=e=>go(+e.targ",
  "et.value);$('note').textContent=data.note;writeProgram();go(+location.hash.slice(1)||0);</s",
  "cript></body> </html> ",
  NULL
};
/* >>page end */

/* ---- The calls */
void edf_trace_begin(const char *path) {
  if (!path) edf_stop("edf_trace_begin: the path is NULL");
  if (edf_lab__traces())
    edf_stop("edf_trace_begin: %s is being recorded: call edf_trace_end first",
             edf_lab__traces()->path);
  edf_writer w = edf_create_file("edf_trace_begin", path);
  fclose(w.file);
  remove(w.temporary);
  edf_release(w.temporary);
  edf_release(w.target);
  edf_lab__trace *t = (edf_lab__trace *)edf_keep(NULL, sizeof *t);
  t->path = edf_lab__copy(NULL, path);
  t->n_shot = 1;
  edf_write(&t->number, "%40s", "");     /* room, before a file is open                       */
  edf_lab__add_tool(&t->tool, edf_lab__trace_told);
}

static void edf_lab__forget_trace(edf_lab__trace *t) {
  for (int k = 1; k < t->n_shot; k++) edf_release(t->shot[k].number);
  for (int m = 0; m < t->n_moment; m++) edf_release(t->moment[m].need.at);
  for (int id = 0; id < t->n_node; id++) {
    edf_release(t->node[id].text.at);
    edf_release(t->node[id].back.at);
  }
  edf_release(t->shot);
  edf_release(t->moment);
  edf_release(t->node);
  edf_release(t->path);
  edf_release(t->number.at);
  edf_lab__tool **at = &edf_lab__tools;
  while (*at && *at != &t->tool) at = &(*at)->next;
  if (*at) *at = t->tool.next;
  edf_release(t);
}

void edf_trace_end(void) {
  edf_lab__trace *t = edf_lab__traces();
  if (!t) edf_stop("edf_trace_end: there was no edf_trace_begin");
  edf_lab__trace_moved(t);
  char *active = edf_lab__save();
  edf_lab__mark(NULL);                   /* All nodes get the names that they have now.       */
  edf_lab__each(t, edf_lab__rename);
  edf_lab__restore(active);
  if (!t->n_moment) {
    edf_page why = { NULL, 0 };
    edf_write(&why, "edf_trace_end: nothing was recorded for %s: %s", t->path,
              t->full ? "the graph is too large" : "no Forward ran since edf_trace_begin");
    edf_lab__forget_trace(t);
    edf_stop("%s", why.at);
  }
  t->shown = t->cut;
  while (t->shown > 1 && edf_lab__page_size(t, t->shown) > edf_lab__page_room)
    t->shown -= t->shown / 8 + 1;
  edf_writer w = edf_create_file("edf_trace_end", t->path);
  edf_lab__write_rows(w.file, edf_lab__page_head);
  edf_lab__write_data(w.file, t);
  edf_lab__write_rows(w.file, edf_lab__page_script);
  edf_finish_file(&w);
  edf_lab__forget_trace(t);
}

/* ==== >>paper  The graph in the language of Graphviz ====================================== */
/* ---- The graph in Graphviz's language. */
static void edf_lab__write_dot_text(edf_page *out, const char *text) {
  for (; *text; text++)
    if (*text == '\n') edf_write(out, "\\n");
    else edf_write(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}

static void edf_lab__write_dot_name(edf_page *out, const edf_node *x) {
  edf_write(out, "%c%d", "xpc"[x->kind], x->position);
}

static int edf_lab__by_name(const void *a, const void *b) {
  return strcmp((*(edf_node *const *)a)->name, (*(edf_node *const *)b)->name);
}

/* Names that are sorted: whoever shares one lies beside it, and nobody looks through all. */
static const char *edf_lab__label_in(edf_node *const *sorted, size_t n, const edf_node *x) {
  edf_node *const *at = (edf_node *const *)bsearch(&x, sorted, n, sizeof x, edf_lab__by_name);
  int shared = (at > sorted && !edf_lab__by_name(at - 1, at)) ||
               (at + 1 < sorted + n && !edf_lab__by_name(at + 1, at));
  return shared ? edf_label(x) : x->name;
}

static void edf_lab__write_dot_node(edf_page *out, const edf_node *x, const char *label) {
  static const char *const style[] = { "style=dashed", "style=\"rounded,dashed\"",
                                       "style=rounded" };
  edf_write(out, "  ");
  edf_lab__write_dot_name(out, x);
  edf_write(out, " [label=\"");
  edf_lab__write_dot_text(out, label);
  edf_write(out, "\\n");
  edf_lab__write_dot_text(out, x->op);
  edf_write(out, " ");
  edf_write_node(out, x, EDF_SHAPE);
  edf_write(out, "\", %s];\n", style[x->kind]);
  for (int k = 0; k < x->n_in; k++) {
    edf_write(out, "  ");
    edf_lab__write_dot_name(out, x->in[k]);
    edf_write(out, " -> ");
    edf_lab__write_dot_name(out, x);
    edf_write(out, ";\n");
  }
}

void edf_write_dot(const char *path) {
  edf_page page = { NULL, 0 };
  size_t n = 0, most = (size_t)(edf.n_inputs + edf.n_parameters + edf.n_compnodes);
  if (!path) edf_stop("edf_write_dot: the path is NULL");
  edf_node **all = (edf_node **)edf_keep(NULL, 2 * most * sizeof *all), **sorted = all + most;
  for (int i = 0; i < edf.n_inputs; i++) all[n++] = edf.inputs[i];
  for (int i = 0; i < edf.n_parameters; i++) all[n++] = edf.parameters[i];
  for (int i = 0; i < edf.n_compnodes; i++) all[n++] = edf.compnodes[i];
  memcpy(sorted, all, n * sizeof *all);
  qsort(sorted, n, sizeof *all, edf_lab__by_name);
  edf_write(&page, "digraph edf {\n  rankdir=LR;\n  node [shape=box, fontname=monospace];\n");
  for (size_t i = 0; i < n; i++)
    edf_lab__write_dot_node(&page, all[i], edf_lab__label_in(sorted, n, all[i]));
  edf_release(all);
  edf_writer w = edf_create_file("edf_write_dot", path);
  fputs(page.at, w.file);
  fputs("}\n", w.file);
  edf_finish_file(&w);
  edf_release(page.at);
}
#endif /* EDF_NO_DEBUG */

#ifdef __cplusplus
}
#endif
#endif
