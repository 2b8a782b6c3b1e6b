/* edf_lab.h - v3.0 - the laboratory of edf.h: tools that look at a program while it learns

   A companion of edf.h, in the same folder. It includes edf.h by itself, and uses its public
   names only. EDF_IMPLEMENTATION, defined in exactly one file before the include, compiles its
   code too. edf_clear frees its memory. With EDF_NO_DEBUG all calls do nothing.
   MIT licence, as edf.h.
 Contents: >>doctor >>plot >>trace >>dot. */
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
/* Starts a doctor that watches the first 300 steps of a training. It prints what is wrong, with
   names, numbers and a hint. Each finding is printed once, and a cause hides its symptoms. A
   healthy program prints nothing. There are rules about
     data        NaN, bad scales, equal rows, labels or targets out of range, sorted labels
     program     softmax twice or missing, exchanged arguments, an index summed alone, two
                 batches, nothing nonlinear, no gradient, a look at the future, unused nodes
     beginning   equal or zero weights, dead or saturated units, a high first loss
     step        an old gradient, none, steps up, too large or too small, NaN, edf.training
   Nothing is run again, and the parameters are the same bits as without a doctor. The loss may
   be built again for each step, at the same line. A second call names another loss.
   Errors: a node that is not computed, or that no parameter reaches.
   edf_check looks once, before training. It runs Forward and Backward, prints what is wrong,
   and returns the number of findings. */
void edf_doctor(edf_node *loss);
int edf_check(edf_node *loss);

/* Adds a value to a curve. The curves loss/train and loss/test share the chart loss. A value of
   a shorter curve is drawn under the newest value of its chart: a test loss once an epoch is
   under the training loss of its step. For a logarithmic axis plot log10(value). edf_plot_svg
   draws all charts. A value that is not finite leaves a gap. edf_clear forgets the curves.
   Errors: no name, a file that cannot be written. */
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
#define edf_check(loss)               ((void)(loss), 0)
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
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifndef EDF_NO_DEBUG
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

/* Writes the page to a file, and frees the page. */
static void edf_lab__write_file(const char *who, const char *path, edf_page *page) {
  edf_writer w = edf_create_file(who, path);
  fputs(page->at, w.file);
  edf_finish_file(&w);
  edf_release(page->at);
}

/* ==== >>doctor  Rules about a program and its first steps ================================= */
/* The doctor is the table at the end of this chapter. A rule is a function and a row. The
   function gets a node, of the kind and at the moment that the row names. It returns 1 if the
   rule is broken, and leaves evidence for the row's sentence: a node, a text, numbers. A step
   is a Backward of the loss. The first EDF_LAB__CLOSE steps are looked at, then every tenth. */
enum { EDF_LAB__CLOSE = 20, EDF_LAB__STEPS = 300, EDF_LAB__WINDOW = 50 };
enum {                                   /* the moments                                       */
  EDF_LAB__FED = 1,                      /* a Forward begins                                  */
  EDF_LAB__FIRST = 2,                    /* the first Backward of the loss has ended          */
  EDF_LAB__LEARNT = 4,                   /* a Backward of the loss has ended                  */
  EDF_LAB__MOVED = 8                     /* the next one begins, after a step                 */
};
/* What a rule gets: each Input, each Parameter, each CompNode, or one of the parts. */
enum {
  EDF_LAB__LOSS = 3,
  EDF_LAB__DATA,                         /* the Input with the longest rows                   */
  EDF_LAB__CODES,                        /* the same, if it has class numbers                 */
  EDF_LAB__HEAD,                         /* the node that compares an output with an Input    */
  EDF_LAB__LABELS,                       /* this Input, if it has class numbers               */
  EDF_LAB__TARGETS,                      /* this Input, if it has no class numbers            */
  EDF_LAB__OUTPUT,                       /* the output                                        */
  EDF_LAB__SCORES,                       /* what goes into the softmax or BCELoss             */
  EDF_LAB__PARTS
};

typedef struct {                         /* notes about a node                                */
  edf_real *before;                      /* a Parameter's values before the step              */
  long steps;                            /* the steps that it had made at the last Backward   */
  double norm;                           /* of its gradient                                   */
  int met;                               /* 1 if a Backward has reached it                    */
  int idle;                              /* looks in a row without a move                     */
  int one_way;                           /* looks in a row with gradients of one sign         */
} edf_lab__note;

typedef struct edf_lab__doctor {
  void (*earlier)(edf_event event, edf_node *x);     /* edf.told before edf_doctor            */
  edf_node *owner;                       /* the first Parameter, which identifies the graph   */
  const char *file;                      /* where the loss is built                           */
  int line;
  edf_node *part[EDF_LAB__PARTS];        /* the parts of the program, or NULL                 */
  int classes;                           /* 0 if there are no labels                          */
  char *needed;                          /* by node: 1 if the loss needs it                   */
  edf_lab__note *note;                   /* by node                                           */
  /* the evidence of a rule */
  edf_node *x;                           /* the node that is printed                          */
  edf_node *y;                           /* another one                                       */
  edf_lab__note *n;                      /* the notes about x                                 */
  edf_statistics s;                      /* of the values of x, if it is a part               */
  const char *what;
  double a;
  double b;
  double c;
  char said[64];                         /* by rule: 1 if it has reported                     */
  int named;                             /* 1 if a cause was reported                         */
  int found;                             /* number of findings                                */
  /* notes on the steps */
  long step;                             /* Backwards of the loss                             */
  unsigned long feeds;                   /* edf.feeds at the last one                         */
  int pending;                           /* 1 if its step was not looked at yet               */
  int several;                           /* 1 if there are Backwards of other nodes           */
  int unlearnt;                          /* Forwards without Backward; < 0: the reverse       */
  double first;                          /* the first loss                                    */
  double last;                           /* the last loss                                     */
  double mean[EDF_LAB__STEPS / EDF_LAB__WINDOW];     /* of the losses in each window          */
  double drops;                          /* late: how much steps lower the loss, -g dp        */
  double along;                          /* cosine of the step and the gradient               */
  double change;                         /* |dp| / |p| of the step                            */
  double most_change;                    /* the largest so far                                */
  double most_slope;                     /* the largest |g|^2                                 */
  double norm;                           /* of the last weights' gradient                     */
  int faded;                             /* looks in a row at steps that are almost 0         */
  int clipped;                           /* looks in a row at a gradient that was cut         */
  int high;                              /* losses in a row above 5 times the first           */
  int alike;                             /* batches in a row with equal rows                  */
  int n_pure;                            /* rows of batches with one class                    */
  double label;                          /* of the last of these batches                      */
  int differ;                            /* 1 if they have different labels                   */
} edf_lab__doctor;

/* ---- Numbers about a tensor */
static edf_statistics edf_lab__stats(edf_node *x) {
  return edf_statistics_of(edf_value(x), x->size);
}
static double edf_lab__norm(const edf_real *v, size_t n) {
  return edf_statistics_of(v, n).norm;
}
static int edf_lab__is(const edf_node *x, const char *op) { return !strcmp(x->op, op); }
static int edf_lab__is_softmax(const edf_node *x) { return !strncmp(x->op, "Softmax", 7); }
static int edf_lab__bends(const edf_node *x) {
  return edf_lab__is(x, "Relu") || edf_lab__is(x, "Sigmoid") || edf_lab__is(x, "Tanh");
}
static int edf_lab__last_dim(const edf_node *x) { return x->rank ? x->dim[x->rank - 1] : 1; }
static size_t edf_lab__row_size(const edf_node *x) {
  return x->batched & 1 && x->dim[0] > 0 ? x->size / (size_t)x->dim[0] : x->size;
}
/* Returns 1 if v, which has p's shape, is the same along index k. */
static int edf_lab__is_same_along(const edf_node *p, const edf_real *v, int k) {
  size_t stride = 1, n = (size_t)p->dim[k];
  for (int j = k + 1; j < p->rank; j++) stride *= (size_t)p->dim[j];
  for (size_t i = 0; i + stride < p->size; i++) {
    double a = (double)v[i], b = (double)v[i + stride];
    if (i / stride % n + 1 < n && fabs(a - b) > 1e-6 * (fabs(a) + fabs(b))) return 0;
  }
  return n > 1;
}

/* Returns 1 if each row of x along its last index sums to 1, and no entry is below 0. */
static int edf_lab__sums_to_one(edf_node *x) {
  size_t n = (size_t)edf_lab__last_dim(x);
  const edf_real *v = edf_value(x);
  for (size_t i = 0; i < x->size; i += n) {
    double sum = 0;
    for (size_t k = i; k < i + n; k++) sum += v[k] < 0 ? 2 : (double)v[k];
    if (!(fabs(sum - 1) < 1e-3)) return 0;
  }
  return n > 1;
}

/* ---- The parts of the program */
static int edf_lab__learns(const edf_node *p) {
  return p->active && p->grad && p->reached && p->update != edf_frozen;
}

/* Returns the n-th node that uses x, or NULL. */
static edf_node *edf_lab__user_of(const edf_node *x, int n) {
  for (int i = 0; i < edf.n_compnodes; i++)
    for (int k = 0; k < edf.compnodes[i]->n_in; k++)
      if (edf.compnodes[i]->in[k] == x && n-- == 0) return edf.compnodes[i];
  return NULL;
}

/* Returns the loss. If the program has built it again, this is the last node at its line. */
static edf_node *edf_lab__find_loss(edf_lab__doctor *d) {
  edf_node *found = NULL;
  for (int i = 0; i < edf.n_compnodes; i++) {
    edf_node *c = edf.compnodes[i];
    if (c == d->part[EDF_LAB__LOSS]) return c;
    if (c->line == d->line && !strcmp(c->file, d->file)) found = c;
  }
  return d->part[EDF_LAB__LOSS] = found;
}

/* If c compares an output with an Input, c is the head. Only functions of one input are between
   c and the loss. */
static void edf_lab__find_head(edf_lab__doctor *d, edf_node *c) {
  int k = c->n_in == 2 && c->in[1]->kind == EDF_INPUT;
  edf_node *t = c->n_in == 2 ? c->in[k] : c, *out = c->n_in == 2 ? c->in[1 - k] : c;
  int is_log_loss = edf_lab__is(c, "LogLoss"), is_softmax = edf_lab__is_softmax(c);
  int labels = out->rank == t->rank + 1 && (is_log_loss || is_softmax || !c->about);
  if (t->kind != EDF_INPUT || t->fed < 0 || out->kind != EDF_COMPNODE) return;
  const edf_node *z = c, *loss = d->part[EDF_LAB__LOSS];
  while (z && z != loss && (z == c || z->n_in == 1)) z = edf_lab__user_of(z, 0);
  if (!labels && (out->rank != t->rank || z != loss || edf_lab__is(c, "Mul") ||
                  (k == 0 && strstr(c->op, "Loss")))) return;
  if (labels) d->classes = edf_lab__last_dim(out);
  d->part[EDF_LAB__HEAD] = c;
  d->part[labels ? EDF_LAB__LABELS : EDF_LAB__TARGETS] = t;
  d->part[EDF_LAB__OUTPUT] = out;
  if (is_softmax || edf_lab__is(c, "BCELoss")) d->part[EDF_LAB__SCORES] = out;
  if (is_log_loss && edf_lab__is_softmax(out)) d->part[EDF_LAB__SCORES] = out->in[0];
}

/* Finds the parts, and what the loss needs. Returns 0 if there is no loss. */
static int edf_lab__find_parts(edf_lab__doctor *d) {
  size_t n = (size_t)edf_lab__n_nodes(), longest = 0;
  edf_node *loss = edf_lab__find_loss(d), *data = NULL;
  memset(d->part, 0, sizeof d->part);
  d->part[EDF_LAB__LOSS] = loss;
  d->classes = 0;
  if (!loss) return 0;
  d->note = (edf_lab__note *)edf_keep(d->note, n * sizeof *d->note);
  d->needed = (char *)memset(edf_keep(d->needed, n), 0, n);
  d->needed[edf_lab__number_of(loss)] = 1;
  for (int i = edf.n_compnodes - 1; i >= 0; i--) {
    edf_node *c = edf.compnodes[i];
    if (!d->needed[edf_lab__number_of(c)]) continue;
    for (int k = 0; k < c->n_in; k++) d->needed[edf_lab__number_of(c->in[k])] = 1;
    if (!d->part[EDF_LAB__HEAD]) edf_lab__find_head(d, c);
  }
  for (int i = 0; i < edf.n_inputs; i++) {
    edf_node *x = edf.inputs[i];
    size_t rows = x == d->part[EDF_LAB__TARGETS] ? 1 : edf_lab__row_size(x) + 1;
    if (!d->needed[i] || x->fed < 0 || !(x->batched & 1) || rows <= longest ||
        x == d->part[EDF_LAB__LABELS]) continue;
    longest = rows;
    data = x;
  }
  const edf_node *user = data ? edf_lab__user_of(data, 0) : loss;
  int is_coded = edf_lab__is(user, "Embed") || edf_lab__is(user, "Lookup") || !user->about;
  d->part[is_coded ? EDF_LAB__CODES : EDF_LAB__DATA] = data;
  return 1;
}

/* ---- Rules about the data. The table has their sentences. */
static int edf_lab__is_look(long step) { return step < EDF_LAB__CLOSE || step % 10 == 0; }
static int edf_lab__has_nan(edf_lab__doctor *d, edf_node *x) {
  if (!edf_lab__is_look(d->step)) return 0;
  edf_statistics s = edf_lab__stats(x);
  d->a = (double)s.bad;
  d->b = (double)x->size;
  return s.bad && s.least > -HUGE_VAL;               /* -infinity may be a mask               */
}
/* Above 20 a first layer saturates, or its steps are too large. */
static int edf_lab__is_scaled_badly(edf_lab__doctor *d, edf_node *x) {
  if (!edf_lab__is_look(d->step)) return 0;
  edf_statistics s = d->s = edf_lab__stats(x);
  int is_far = x->size >= 16 && fabs(s.mean) > 3 * s.deviation && fabs(s.mean) > 0.5;
  int is_large = s.greatest > 20 || s.least < -20;
  d->what = s.greatest > 127 && s.greatest <= 255 && s.least >= 0 ? "look like 0...255"
          : is_large ? "are not scaled" : "are far from centred";
  return !s.bad && (is_large || is_far);
}
static int edf_lab__has_equal_rows(edf_lab__doctor *d, edf_node *x) {
  const edf_real *v = edf_value(x);
  size_t row = edf_lab__row_size(x);
  int same = !memcmp(v, v + row, (x->size - row) * sizeof *v);       /* each and the next one */
  if (!same || edf_lab__norm(v, row) > 0) d->alike = same ? d->alike + 1 : 0;
  d->a = x->dim[0];
  return d->alike >= 3 && x->dim[0] >= 8;
}
static int edf_lab__is_unused_input(edf_lab__doctor *d, edf_node *x) {
  d->a = x->fed;
  return !edf_lab__user_of(x, 0);
}
static int edf_lab__is_no_class(edf_lab__doctor *d, edf_node *y) {
  d->a = d->classes;
  return y && (d->s.least < 0 || d->s.greatest >= d->a);
}
/* Most batches have one class each. If it is always the same one, it may just be frequent. */
static int edf_lab__is_not_shuffled(edf_lab__doctor *d, edf_node *y) {
  int is_pure = y->rank == 1 && y->size >= 16 && d->s.least == d->s.greatest;
  d->differ |= is_pure && d->n_pure && d->label != d->s.least;
  if (is_pure) d->label = d->s.least;
  d->n_pure += is_pure ? (int)y->size : 0;
  d->a = d->n_pure;
  return d->n_pure >= (d->differ ? 128 : 512) && 2 * d->n_pure > d->step * (long)y->size;
}
static int edf_lab__is_out_of_reach(edf_lab__doctor *d, edf_node *t) {
  int bce = edf_lab__is(d->part[EDF_LAB__HEAD], "BCELoss");
  d->y = d->part[bce ? EDF_LAB__HEAD : EDF_LAB__OUTPUT];
  d->a = edf_lab__is(d->y, "Tanh") ? -1 : 0;
  d->b = edf_lab__is(d->y, "Relu") ? HUGE_VAL : 1;
  return (bce || edf_lab__bends(d->y)) && t && (d->s.least < d->a || d->s.greatest > d->b);
}
static int edf_lab__is_target_large(edf_lab__doctor *d, edf_node *t) {
  d->y = d->part[EDF_LAB__OUTPUT];
  d->a = d->s.norm / sqrt((double)t->size);
  d->b = edf_lab__stats(d->y).norm / sqrt((double)d->y->size);
  return d->a > 30 && d->a > 20 * d->b;
}
/* The loss is that of guessing, though by its gradient each step lowers that of its batch. */
static int edf_lab__is_unrelated(edf_lab__doctor *d, edf_node *y) {
  d->a = d->mean[5];
  d->b = log((double)d->classes);
  d->c = d->drops;
  return d->step == EDF_LAB__STEPS && y && d->a > d->b - 0.1 && d->c >= 1 &&
         d->mean[2] - d->a <= 0.1;
}

/* ---- Rules about the program */
static int edf_lab__is_softmax_twice(edf_lab__doctor *d, edf_node *s) {
  d->a = log(1 + (d->classes - 1) / exp(1.0));
  return d->classes && edf_lab__sums_to_one(s);
}
static int edf_lab__is_score_bent(edf_lab__doctor *d, edf_node *s) {
  d->y = d->part[EDF_LAB__HEAD];
  return edf_lab__bends(s);
}
static int edf_lab__is_no_probability(edf_lab__doctor *d, edf_node *P) {
  return edf_lab__is(d->part[EDF_LAB__HEAD], "LogLoss") && !d->s.bad &&
         !edf_lab__sums_to_one(P);
}
static int edf_lab__is_exchanged(edf_lab__doctor *d, edf_node *c) {
  d->y = c->n_in == 2 ? c->in[1] : c;
  return c->n_in == 2 && strstr(c->op, "Loss") && c->in[0]->kind == EDF_INPUT &&
         d->y->needs_grad;
}
/* e[b,c] = p[b] - y[c] */
static int edf_lab__has_two_batches(edf_lab__doctor *d, edf_node *e) {
  d->a = e->rank == 2 && e->n_in == 2 && e->batched == 3 ? e->dim[0] : 0;
  return d->a > 0 && e->in[0]->rank == 1 && e->in[1]->rank == 1 &&
         e->in[0]->needs_grad != e->in[1]->needs_grad;
}
/* relu(...) inside an equation has no name. It was meant to have all indices of y. */
static int edf_lab__is_repeated(edf_lab__doctor *d, edf_node *y) {
  d->y = y->n_in == 1 ? y->in[0] : y;
  return y->rank == d->y->rank + 1 && edf_lab__is(y, "Einsum") && d->y->rank > 1 &&
         edf_lab__bends(d->y) && !strncmp(d->y->name, d->y->op, strlen(d->y->op));
}
static int edf_lab__has_matrix(const edf_node *y) {
  int n = 0;
  for (int k = 0; k < y->n_in; k++) n += y->in[k]->kind == EDF_PARAMETER && y->in[k]->rank == 2;
  return n == 1 && !edf_lab__is(y, "Embed") && !edf_lab__is(y, "Lookup");
}
/* A narrow layer between two wide ones may be meant. */
static int edf_lab__is_linear_twice(edf_lab__doctor *d, edf_node *y) {
  int last = edf_lab__last_dim(y), n_data = 0;
  for (int k = 0; k < y->n_in; k++) {
    n_data += y->in[k]->kind != EDF_PARAMETER;
    if (edf_lab__has_matrix(y->in[k])) d->y = y->in[k];
  }
  return n_data == 1 && d->y && edf_lab__has_matrix(y) && !edf_lab__user_of(d->y, 1) &&
         edf_lab__last_dim(d->y) > last;
}
/* c has no backward, and nothing beside it brings a gradient from the data. */
static int edf_lab__cuts_gradient(edf_lab__doctor *d, edf_node *c) {
  const edf_node *user = edf_lab__user_of(c, 0);
  for (int k = 0; user && k < user->n_in; k++)
    if (user->in[k] != c && user->in[k]->kind != EDF_PARAMETER) return 0;
  d->y = c->n_in ? c->in[0] : c;
  return user && !c->backward && d->y->grad && edf_lab__norm(edf_grad(d->y), d->y->size) == 0;
}
/* After a while, so that a program with several losses has come to each of them. */
static int edf_lab__is_unused(edf_lab__doctor *d, edf_node *p) {
  return (d->step == EDF_LAB__WINDOW || !d->step) && p->update != edf_frozen &&
         !d->needed[edf_lab__number_of(p)] && !d->n->met;
}
/* The label of t is the symbol of t + 1, and a softmax at t looks at t + 1. */
static int edf_lab__sees_the_future(edf_lab__doctor *d, edf_node *P) {
  edf_node *x = d->part[EDF_LAB__CODES], *y = d->part[EDF_LAB__LABELS];
  int T = edf_lab__last_dim(P), r = P->rank, i = 0;
  if (!x || !y || x->rank != 2 || y->rank != 2 || r < 3 || !edf_lab__is_softmax(P)) return 0;
  while (i + 1 < T && edf_value(y)[i] == edf_value(x)[i + 1]) i++;
  d->a = (double)edf_value(P)[T - 1];
  return T == x->dim[1] && T == y->dim[1] && T == P->dim[r - 2] && i + 1 == T && d->a > 0;
}

/* ---- Rules about the beginning */
/* Returns an index along which p's gradient is the same, and its values, unless `same` is 0. */
static int edf_lab__same_index(edf_node *p, int same) {
  int k = p->rank > 1 && edf_lab__learns(p) ? p->rank - 1 : -1;
  while (k >= 0 && (!edf_lab__is_same_along(p, edf_grad(p), k) ||
                    edf_lab__is_same_along(p, edf_value(p), k) != same)) k--;
  return k;
}
/* Not at once, since the inputs of p may begin with equal units. */
static int edf_lab__is_summed_alone(edf_lab__doctor *d, edf_node *p) {
  if (d->step && d->step != 3) return 0;
  d->a = edf_lab__same_index(p, 0);
  return d->a >= 0 && edf_lab__norm(edf_grad(p), p->size) > 0;
}
/* Weights of one layer may begin at 0, since they soon differ. */
static int edf_lab__is_symmetric(edf_lab__doctor *d, edf_node *p) {
  if (d->step && d->step != 3) return 0;
  d->a = edf_lab__same_index(p, 1);
  d->what = edf_lab__stats(p).norm > 0 ? "begins with equal units, which stay equal"
                                       : "is all zero: its units are alike and stay so";
  return d->a >= 0 && !edf_lab__stats(p).bad;
}
/* Inputs of deviation 1 saturate 0.01 % of a Sigmoid and 0.8 % of a Tanh. */
static int edf_lab__is_saturated(edf_lab__doctor *d, edf_node *y) {
  double edge = edf_lab__is(y, "Sigmoid") ? 3.87 : 2.65;
  if (!edf_lab__is(y, "Sigmoid") && !edf_lab__is(y, "Tanh")) return 0;
  d->a = 0;
  d->y = y->in[0];
  d->s = edf_lab__stats(d->y);
  for (size_t i = 0; i < y->size; i++)
    d->a += fabs((double)edf_value(d->y)[i]) > edge ? 100 / (double)y->size : 0;
  return d->a > 50;
}
/* A unit, along the last index, is dead if it is 0 for every row. A few begin like this. */
static int edf_lab__is_dead(edf_lab__doctor *d, edf_node *y) {
  size_t n = (size_t)edf_lab__last_dim(y), rows = y->size / n;
  if (!edf_lab__is(y, "Relu") || rows < 16 || (d->step > 1 && d->step < 300)) return 0;
  d->a = 0;
  d->y = y->in[0];
  d->s = edf_lab__stats(d->y);
  for (size_t j = 0, b; j < n; j++) {
    for (b = 0; b < rows && edf_value(y)[b * n + j] <= 0; b++) {}
    d->a += b == rows ? 100 / (double)n : 0;
  }
  return d->a > 60 && d->s.norm > 0;
}
/* Scores of deviation 1 cost ln K + 1/2. A batch of one class may cost more. */
static int edf_lab__is_first_loss_high(edf_lab__doctor *d, edf_node *y) {
  double n = (double)y->size, chance = n < 16 ? 6 / sqrt(n) : 0;
  d->a = d->first;
  d->b = log((double)d->classes);
  d->c = edf_lab__stats(d->part[EDF_LAB__OUTPUT]).deviation;
  return d->a >= d->b + 1.5 + chance && d->s.least < d->s.greatest;
}

/* ---- Rules about the step */
static int edf_lab__is_stale(edf_lab__doctor *d, edf_node *p) {
  if (!edf.accumulate || p->steps <= d->n->steps || !edf_lab__learns(p)) return 0;
  d->a = edf_lab__norm(edf_grad(p), p->size);
  return d->a > 0;
}
static int edf_lab__steps_twice(edf_lab__doctor *d, edf_node *p) {
  d->a = (double)(p->steps - d->n->steps);
  return d->step && d->a > 1 && edf_lab__learns(p);
}
static int edf_lab__never_moves(edf_lab__doctor *d, edf_node *loss) {
  return loss && d->most_change <= 0 && !edf.accumulate && d->step == EDF_LAB__CLOSE;
}
static int edf_lab__is_idle(edf_lab__doctor *d, edf_node *p) {
  d->a = d->n->norm;
  return d->n->idle >= 10 && edf_lab__learns(p) && d->change > 1e-5 && !d->several;
}
/* The first step of any optimiser goes against the gradient. */
static int edf_lab__goes_up(edf_lab__doctor *d, edf_node *loss) {
  d->a = d->along;
  return loss && d->step == 1 && !d->several && d->along > 0.5;
}
/* Forwards of new data without Backward are an evaluation. To train with the running statistics
   of BatchNorm may be meant, to train without Dropout hardly. */
static int edf_lab__is_wrong_mode(edf_lab__doctor *d, edf_node *c) {
  int drops = edf_lab__is(c, "Dropout"), evaluates = d->unlearnt >= 3 && d->step > 0;
  d->a = abs(d->unlearnt);
  d->what = evaluates ? "evaluated as in training: edf.training is 1"
                      : "trained as in evaluation: edf.training is 0";
  return drops ? evaluates || d->unlearnt <= -5 : evaluates && edf_lab__is(c, "BatchNorm");
}
/* The loss is NaN or jumps after a large step, or stays high, or large steps lead nowhere. */
static int edf_lab__is_too_large(edf_lab__doctor *d, edf_node *loss) {
  double size = fmax(fabs(d->first), d->classes ? log((double)d->classes) : 0);
  int has_jumped = d->step > 1 && d->s.mean - d->last > 9 * size;
  int is_lost = d->s.bad && d->first - d->first == 0;
  int is_stuck = d->step == EDF_LAB__STEPS && d->most_change > 0.1 && d->mean[5] > d->mean[1];
  d->a = d->first;
  d->b = d->most_change;
  return loss && (((has_jumped || is_lost) && d->change > 0.1) || d->high >= 3 || is_stuck);
}
static int edf_lab__is_too_small(edf_lab__doctor *d, edf_node *loss) {
  int is_tiny = d->step >= EDF_LAB__WINDOW && d->most_change <= 1e-6 && !edf.accumulate;
  int is_cut = d->clipped >= EDF_LAB__CLOSE && d->change < 2e-3;
  d->a = d->change;
  d->b = d->most_change;
  d->what = is_tiny ? "the step is too small: nothing moves"
          : is_cut ? "each gradient is cut to less than a tenth" : "the steps fade to nothing";
  return loss && (is_tiny || is_cut || d->faded >= 5);
}

/* ---- Symptoms */
static int edf_lab__is_one_way(edf_lab__doctor *d, edf_node *y) {
  d->a = d->n->one_way;
  return d->step == EDF_LAB__STEPS && y->size >= 16 && d->n->one_way >= EDF_LAB__CLOSE &&
         fabs(d->mean[5]) > 1e-4 * fabs(d->mean[0]);
}
/* The first node with finite inputs and a value that is not. */
static int edf_lab__is_not_finite(edf_lab__doctor *d, edf_node *c) {
  d->y = d->part[EDF_LAB__LOSS];
  if (!d->step || !edf_lab__stats(d->y).bad || !edf_lab__stats(c).bad) return 0;
  for (int k = 0; k < c->n_in; k++)
    if (edf_lab__stats(c->in[k]).bad) d->x = c->in[k];
  return 1;
}

/* ---- The table, in the order of cause. A symptom, 1, is held back once a cause was named; -1
   explains no symptom. {x} and {y} are nodes, {a}, {b}, {c} the numbers, {least}, {greatest},
   {mean} and {deviation} those of a part. */
static const struct {
  int when;
  int of;
  int symptom;
  int (*broken)(edf_lab__doctor *d, edf_node *x);
  const char *says;
  const char *hint;
} edf_lab__rules[] = {
  { EDF_LAB__FED, EDF_INPUT, 0, edf_lab__has_nan,
    "{a} of {b} numbers of the input {x} are NaN or infinite",
    "look at how the data is read, or divided by a deviation of 0" },
  { EDF_LAB__FED, EDF_LAB__DATA, 0, edf_lab__is_scaled_badly,
    "inputs {what}\n  {least} to {greatest}, mean {mean}, deviation {deviation}; usual: 0, 1",
    "divide pixels by 255; else subtract each column's mean and divide by its deviation" },
  { EDF_LAB__FED, EDF_LAB__DATA, 0, edf_lab__has_equal_rows,
    "all {a} rows of the input are the same", "does the loader move on from row to row?" },
  { EDF_LAB__FED, EDF_LAB__LABELS, 0, edf_lab__is_no_class,
    "labels are {least} to {greatest}, but there are {a} classes, which count from 0",
    "subtract 1 if they count from 1; else are there too few scores?" },
  { EDF_LAB__FED, EDF_COMPNODE, -1, edf_lab__is_wrong_mode,
    "{what}\n  {a} times in a row", "edf.training = 0 to evaluate, 1 to train" },
  { EDF_LAB__LEARNT, EDF_LAB__LABELS, 0, edf_lab__is_not_shuffled,
    "not shuffled: {a} rows were in batches of one label; the last label was {least}",
    "edf_shuffle(&x, &y) before each epoch" },
  { EDF_LAB__FIRST, EDF_INPUT, -1, edf_lab__is_unused_input,
    "the input {x} is fed, but no node uses it", "is a line of the model missing?" },
  { EDF_LAB__FIRST, EDF_LAB__TARGETS, 0, edf_lab__is_out_of_reach,
    "targets are outside of what {y} can reach\n  {least} to {greatest}; possible: {a} to {b}",
    "scale the targets, or let the last layer be affine" },
  { EDF_LAB__FIRST, EDF_LAB__TARGETS, 0, edf_lab__is_target_large,
    "targets are not scaled: of size {a}, but the output {y} begins with {b}",
    "subtract the targets' mean and divide by their deviation" },
  { EDF_LAB__FIRST, EDF_LAB__SCORES, 0, edf_lab__is_softmax_twice,
    "softmax twice: the scores {x} are probabilities already\n  the loss cannot go below {a}",
    "one Softmax before LogLoss, none before SoftmaxLogLoss" },
  { EDF_LAB__FIRST, EDF_LAB__SCORES, 0, edf_lab__is_score_bent,
    "{y} takes scores, but {x} cannot reach all numbers", "let the last layer be affine" },
  { EDF_LAB__FIRST, EDF_LAB__OUTPUT, 0, edf_lab__is_no_probability,
    "LogLoss of {x}, which does not sum to 1 over the last index, the classes",
    "Softmax over the last index, or SoftmaxLogLoss of the scores" },
  { EDF_LAB__FIRST, EDF_COMPNODE, 0, edf_lab__is_exchanged,
    "the arguments of {x} are exchanged", "first the output, then the targets" },
  { EDF_LAB__FIRST, EDF_COMPNODE, 0, edf_lab__has_two_batches,
    "two indices of {x} are the batch: each of {a} outputs meets {a} targets",
    "the same index for both" },
  { EDF_LAB__LEARNT, EDF_PARAMETER, 0, edf_lab__is_summed_alone,
    "index {a} of {x} is summed in it alone: its gradient is the same along it",
    "the same summed index in both tensors" },
  { EDF_LAB__FIRST, EDF_COMPNODE, 0, edf_lab__is_repeated,
    "{x} is the same along an index that {y} lacks", "use this index on the right side too" },
  { EDF_LAB__FIRST, EDF_COMPNODE, 0, edf_lab__is_linear_twice,
    "nothing nonlinear is between the layers {y} and {x}", "Relu, Tanh or Sigmoid" },
  { EDF_LAB__FIRST, EDF_COMPNODE, 0, edf_lab__cuts_gradient,
    "no gradient comes to {y}: {x} has no backward", "write its backward" },
  { EDF_LAB__FIRST, EDF_COMPNODE, 0, edf_lab__sees_the_future,
    "{x} sees the future: labels are the next symbols; weight {a}, not 0", "a mask: s <= t" },
  { EDF_LAB__LEARNT, EDF_PARAMETER, -1, edf_lab__is_unused,
    "the parameter {x} is never used by the loss",
    "is a line of the model missing, or was a name taken twice?" },
  { EDF_LAB__LEARNT, EDF_PARAMETER, 0, edf_lab__is_symmetric,
    "{x} {what}\n  it is the same along index {a}, in value and gradient",
    "random weights, edf_init_uniform or edf_init_normal; only biases may begin at 0" },
  { EDF_LAB__FIRST, EDF_COMPNODE, 1, edf_lab__is_saturated,
    "{a} % of the entries of {x} are saturated at the start\n  in {y}: deviation {deviation}",
    "smaller weights: variance 1/n for sums of n products" },
  { EDF_LAB__LEARNT, EDF_COMPNODE, 1, edf_lab__is_dead,
    "{a} % of the units of {x} are dead, 0 for every row\n  {y}: mean {mean}; usual: 0",
    "biases near 0 (they are subtracted), smaller steps, or LeakyRelu" },
  { EDF_LAB__FIRST, EDF_LAB__LABELS, 1, edf_lab__is_first_loss_high,
    "the first loss is {a}; guessing costs {b}\n  the output has deviation {c}; usual: 1",
    "smaller weights at the start" },
  { EDF_LAB__MOVED, EDF_PARAMETER, 0, edf_lab__is_stale,
    "the gradient of {x} still holds that of the last step\n  its norm is {a}; expected: 0",
    "edf_zero_grad() after each step, or edf.accumulate = 0" },
  { EDF_LAB__MOVED, EDF_PARAMETER, 0, edf_lab__steps_twice,
    "an optimiser step of {x} without a new gradient\n  {a} steps since the last Backward",
    "Forward and Backward before each step, and one step of one optimiser" },
  { EDF_LAB__MOVED, EDF_LAB__LOSS, 0, edf_lab__never_moves,
    "no parameter has ever moved",
    "SGD(eta), or another optimiser, after each Backward; is the learning rate 0?" },
  { EDF_LAB__MOVED, EDF_PARAMETER, 0, edf_lab__is_idle,
    "the parameter {x} has a gradient, but never moves\n  its norm is {a}; others move",
    "is it in your list of parameters? p->update = edf_frozen says that it must not move" },
  { EDF_LAB__MOVED, EDF_LAB__LOSS, 0, edf_lab__goes_up,
    "the step goes along the gradient, up: wrong sign\n  the cosine is {a}; expected: below 0",
    "p -= eta g, with eta above 0" },
  { EDF_LAB__MOVED, EDF_LAB__LOSS, 1, edf_lab__is_too_large,
    "the step is too large\n  the loss was {a}, is {mean}; weights change by {b}, usual: 0.01",
    "a tenth of the learning rate" },
  { EDF_LAB__MOVED, EDF_LAB__LOSS, 1, edf_lab__is_too_small,
    "{what}\n  weights change by {a} of their size, at most by {b}; usual: 0.01",
    "a larger learning rate, a slower schedule, a wider clip" },
  { EDF_LAB__LEARNT, EDF_LAB__LABELS, 1, edf_lab__is_unrelated,
    "labels seem unrelated to the inputs\n  loss {a}, of guessing {b}; the steps' share {c}",
    "were only labels shuffled, or shifted by a row?" },
  { EDF_LAB__LEARNT, EDF_COMPNODE, 1, edf_lab__is_one_way,
    "all rows push {x} the same way, in {a} looks in a row",
    "does the loss lack a term, or a sign?" },
  { EDF_LAB__MOVED, EDF_COMPNODE, 1, edf_lab__is_not_finite,
    "{y} has become NaN or infinite; it begins here:",
    "a logarithm or a division of 0, or steps that are too large" }
};

/* Prints a finding. */
static void edf_lab__report(const edf_lab__doctor *d, long step, const char *says,
                            const char *hint) {
  edf_page site = { NULL, 0 };
  printf("doctor: step %ld: ", step);
  for (const char *c = says; *c; c++) {
    char key = c[1];
    if (*c != '{') printf("%c", *c);
    else if (key == 'w') printf("%s", d->what);
    else if (key > 'w') printf("%s", edf_label(key == 'x' ? d->x : d->y));
    else printf("%.4g", key == 'a' ? d->a : key == 'b' ? d->b : key == 'c' ? d->c
                      : key == 'l' ? d->s.least : key == 'g' ? d->s.greatest
                      : key == 'm' ? d->s.mean : d->s.deviation);
    if (*c == '{') c = strchr(c, '}');
  }
  edf_write_node(&site, d->x, EDF_SITE);
  printf("\n  %s\n  hint: %s\n", site.at, hint);
  edf_release(site.at);
  fflush(stdout);
}

/* Returns 1 if a rule is broken. */
static int edf_lab__examine(edf_lab__doctor *d, int rule) {
  int of = edf_lab__rules[rule].of, is_part = of >= EDF_LAB__LOSS;
  for (int i = 0; i < (is_part ? 1 : edf_lab__n_nodes()); i++) {
    edf_node *x = is_part ? d->part[of] : edf_lab__nth(i);
    if (!x || (!is_part && (int)x->kind != of)) continue;
    if (x->kind == EDF_INPUT ? x->fed < 0 : x->kind == EDF_COMPNODE && !x->active) continue;
    d->x = x;
    d->y = NULL;
    d->n = &d->note[edf_lab__number_of(x)];
    if (is_part && of != EDF_LAB__DATA) d->s = edf_lab__stats(x);
    if (edf_lab__rules[rule].broken(d, x)) return 1;
  }
  return 0;
}
static void edf_lab__consult(edf_lab__doctor *d, int when) {
  int n = (int)(sizeof edf_lab__rules / sizeof *edf_lab__rules);
  if (!edf_lab__find_parts(d)) return;
  for (int k = 0; k < n; k++) {
    int symptom = edf_lab__rules[k].symptom;
    if (d->said[k] || (symptom > 0 && d->named) || !(edf_lab__rules[k].when & when)) continue;
    if (!edf_lab__examine(d, k)) continue;
    edf_lab__report(d, d->step + (when == EDF_LAB__FED), edf_lab__rules[k].says,
                    edf_lab__rules[k].hint);
    d->said[k] = 1;
    d->named |= symptom >= 0;
    d->found++;
  }
}

/* ---- What happens in a step */
/* Notes the gradients, before the step. */
static void edf_lab__look(edf_lab__doctor *d) {
  edf_lab__note *n = d->note + edf.n_inputs;         /* of the first Parameter                */
  for (int i = 0; i < edf.n_parameters; i++, n++) {
    edf_node *p = edf.parameters[i];
    const edf_real *v = edf_value(p);
    n->norm = edf_lab__learns(p) ? edf_lab__norm(edf_grad(p), p->size) : 0;
    if (n->norm > 0 && p->rank >= 2) d->norm = n->norm;
    n->before = (edf_real *)memcpy(edf_keep(n->before, p->size * sizeof *v), v,
                                   p->size * sizeof *v);
  }
  for (int i = 0; i < edf.n_compnodes; i++, n++) {
    edf_node *y = edf.compnodes[i];
    int is_layer = 0;
    for (int k = 0; k < y->n_in; k++)
      is_layer |= y->in[k]->kind == EDF_PARAMETER && edf_lab__learns(y->in[k]);
    if (!is_layer || !y->active || !y->grad || !y->reached) continue;
    edf_statistics g = edf_statistics_of(edf_grad(y), y->size);
    n->one_way = g.norm > 0 && g.least * g.greatest >= 0 ? n->one_way + 1 : 0;
  }
}

/* Compares the Parameters with those before the step. */
static void edf_lab__look_at_moves(edf_lab__doctor *d) {
  edf_lab__note *n = d->note + edf.n_inputs;
  double drop = 0, squares = 0, slope = 0, left = 0, size = 0;
  d->pending = 0;
  for (int i = 0; i < edf.n_parameters; i++, n++) {
    edf_node *p = edf.parameters[i];
    const edf_real *v = edf_value(p), *g = n->norm > 0 ? edf_grad(p) : NULL;
    double far = 0;
    if (edf_array_bytes(n->before) < p->size * sizeof *v) continue;  /* a new one             */
    for (size_t k = 0; k < p->size; k++) {
      double old = (double)n->before[k], dp = (double)v[k] - old;
      size += edf_lab__learns(p) ? old * old : 0;
      far += dp * dp;
      drop -= g ? dp * (double)g[k] : 0;
      left += g ? (double)g[k] * (double)g[k] : 0;
    }
    squares += far;
    slope += n->norm * n->norm;
    n->idle = far > 0 || n->norm <= 1e-3 * d->norm ? 0 : n->idle + 1;
  }
  d->change = size <= 0 ? squares > 0 : sqrt(squares / size);
  d->along = squares > 0 && slope > 0 ? -drop / sqrt(squares * slope) : 0;
  d->clipped = left > 0 && left < 0.01 * slope && !d->several ? d->clipped + 1 : 0;
  if (!(d->change <= d->most_change)) d->most_change = d->change;    /* also if it is NaN */
  d->most_slope = fmax(slope, d->most_slope);
  d->faded = d->step > EDF_LAB__CLOSE && d->change < 1e-4 * d->most_change &&
             slope > 1e-4 * d->most_slope ? d->faded + 1 : 0;
  if (d->step > EDF_LAB__STEPS / 2) d->drops += 10 * drop;
}
static void edf_lab__forward_begins(edf_lab__doctor *d) {
  if (edf.training && edf.feeds != d->feeds)
    d->unlearnt = d->unlearnt < 0 ? 1 : d->unlearnt + 1;
  if (d->step > EDF_LAB__STEPS || !edf_lab__find_parts(d)) return;
  if (d->pending) edf_lab__look_at_moves(d);
  if (d->part[EDF_LAB__LOSS]->active) edf_lab__consult(d, EDF_LAB__FED);
}
static void edf_lab__backward_begins(edf_lab__doctor *d, const edf_node *x) {
  if (edf.eager) edf_lab__forward_begins(d);
  if (d->step <= EDF_LAB__STEPS && edf_lab__find_loss(d) == x)
    edf_lab__consult(d, EDF_LAB__MOVED);
}
static void edf_lab__backward_ended(edf_lab__doctor *d) {
  d->unlearnt = edf.training ? 0 : d->unlearnt > 0 ? -1 : d->unlearnt - 1;
  d->feeds = edf.feeds;
  if (d->step >= EDF_LAB__STEPS) d->step = EDF_LAB__STEPS + 1;
  if (d->step > EDF_LAB__STEPS || !edf_lab__find_parts(d)) return;
  edf_node *loss = d->part[EDF_LAB__LOSS];
  for (int i = 0; i < edf.n_parameters; i++) {
    edf_lab__note *n = &d->note[edf.n_inputs + i];
    n->met |= edf.parameters[i]->reached;
    n->steps = edf.parameters[i]->steps;
  }
  d->several |= edf.loss != loss;
  if (edf.loss != loss) return;
  d->step++;
  d->last = edf_lab__stats(loss).mean;
  if (d->step == 1) d->first = d->last;
  double usual = fmax(fabs(d->first), d->classes ? log((double)d->classes) : 0);
  d->high = d->classes && d->last > 5 * usual ? d->high + 1 : 0;
  d->mean[(d->step - 1) / EDF_LAB__WINDOW] += d->last / (double)EDF_LAB__WINDOW;
  d->pending = edf_lab__is_look(d->step);
  if (d->pending) edf_lab__look(d);
  edf_lab__consult(d, d->step == 1 ? EDF_LAB__FIRST | EDF_LAB__LEARNT : EDF_LAB__LEARNT);
}
static edf_lab__doctor *edf_lab__on_duty;          /* the doctor that watches, or NULL        */

static void edf_lab__doctor_told(edf_event event, edf_node *x) {
  edf_lab__doctor *d = edf_lab__on_duty;
  if (!d || !edf.n_parameters || edf.parameters[0] != d->owner) return;
  if (d->earlier) d->earlier(event, x);
  if (event == EDF_CLEARED) edf_lab__on_duty = NULL;
  if (event == EDF_BEGIN_FORWARD) edf_lab__forward_begins(d);
  if (event == EDF_BEGIN_BACKWARD) edf_lab__backward_begins(d, x);
  if (event == EDF_END_BACKWARD) edf_lab__backward_ended(d);
}

/* Gives the loss to a doctor. Creates the doctor if d is NULL. */
static edf_lab__doctor *edf_lab__ask(edf_lab__doctor *d, const char *who, edf_node *loss) {
  edf_page site = { NULL, 0 };
  int k = edf.n_inputs, end = k + edf.n_parameters;
  if (!loss) edf_stop("%s: the loss is NULL", who);
  edf_write_node(&site, loss, EDF_SITE);
  if (loss->kind != EDF_COMPNODE)
    edf_stop("%s: the loss is not a computed node\n  %s", who, site.at);
  if (!d) d = (edf_lab__doctor *)edf_keep(NULL, sizeof *d);
  d->file = loss->file;
  d->line = loss->line;
  d->part[EDF_LAB__LOSS] = loss;
  edf_lab__find_parts(d);
  while (k < end && !d->needed[k]) k++;
  if (k == end) edf_stop("%s: no parameter reaches the loss\n  %s", who, site.at);
  edf_release(site.at);
  return d;
}
void edf_doctor(edf_node *loss) {
  edf_lab__doctor *d = edf_lab__on_duty;
  if (d && (!edf.n_parameters || d->owner != edf.parameters[0])) d = NULL;
  edf_lab__doctor *asked = edf_lab__ask(d, "edf_doctor", loss);
  if (d) return;
  asked->owner = edf.parameters[0];
  asked->earlier = edf.told;
  edf.told = edf_lab__doctor_told;
  edf_lab__on_duty = asked;
}

/* The doctor of edf_check. In its place, no other tool is notified. */
static edf_lab__doctor *edf_lab__checking;
static void edf_lab__check_told(edf_event event, edf_node *x) {
  if (event == EDF_BEGIN_FORWARD) edf_lab__consult(edf_lab__checking, EDF_LAB__FED);
  if (event == EDF_CLEARED && edf_lab__checking->earlier) edf_lab__checking->earlier(event, x);
}
int edf_check(edf_node *loss) {
  edf_lab__doctor *d = edf_lab__checking = edf_lab__ask(NULL, "edf_check", loss);
  d->earlier = edf.told;
  edf.told = edf_lab__check_told;
  (edf_forward)();
  (edf_backward)(loss);
  edf.told = d->earlier;
  d->first = d->last = edf_lab__stats(loss).mean;
  edf_lab__look(d);
  edf_lab__consult(d, EDF_LAB__FIRST | EDF_LAB__LEARNT);
  return d->found;
}

/* ==== >>plot  Curves ====================================================================== */
/* The memory does not belong to a graph, because a program may switch graphs. The edf_clear of
   the graph that plotted first frees it. */
typedef struct edf_lab__curve {
  struct edf_lab__curve *next;
  char *name;                            /* "chart/curve", or only "chart"                    */
  double *point;                         /* x and y of each value                             */
  size_t n;                              /* number of values                                  */
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
  if (!memory) edf_stop("edf_plot: out of memory");
  return memory;
}
static int edf_lab__share_chart(const edf_lab__curve *c, const char *name) {
  size_t n = strcspn(name, "/");
  return n == strcspn(c->name, "/") && !memcmp(c->name, name, n);
}

void edf_plot(const char *name, double y) {
  edf_lab__curve **at = &edf_lab__curves, *c;
  size_t length = name ? strlen(name) + 1 : 0;
  if (length < 2) edf_stop("edf_plot: the curve has no name");
  while (*at && strcmp((*at)->name, name)) at = &(*at)->next;
  if (!*at) {
    int is_first = !edf_lab__curves;
    *at = (edf_lab__curve *)memset(edf_lab__memory(sizeof *c + length), 0, sizeof *c);
    (*at)->name = (char *)memcpy(*at + 1, name, length);
    if (is_first) edf_lab__before_curves = edf.told;
    if (is_first) edf.told = edf_lab__curves_told;
  }
  c = *at;
  if (!(c->n & (c->n - 1))) {            /* The memory is full: 0, 1, 2, 4 ... values.        */
    double *point = (double *)edf_lab__memory(4 * (c->n + 1) * sizeof *point);
    if (c->n) memcpy(point, c->point, 2 * c->n * sizeof *point);
    if (c->n) EDF_FREE(c->point);
    c->point = point;
  }
  double x = (double)(c->n + 1);         /* A value is under the newest one of its chart.     */
  for (const edf_lab__curve *o = edf_lab__curves; o; o = o->next)
    if (o->n && edf_lab__share_chart(o, name)) x = fmax(x, o->point[2 * o->n - 2]);
  c->point[2 * c->n] = x;
  c->point[2 * c->n++ + 1] = y;
}

/* Writes the first n characters of a text, with the escapes of XML, and a number. */
static void edf_lab__write_text(edf_page *out, const char *style, double x, double y,
                                const char *text, size_t n, double number) {
  edf_write(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", style, x, y);
  for (size_t i = 0; i < n; i++)
    if (strchr("&<>", text[i])) edf_write(out, "&#%d;", text[i]);
    else edf_write(out, "%c", text[i] >= 0 && text[i] < ' ' ? ' ' : text[i]);
  edf_write(out, strcmp(style, "title") ? "%.4g</text>\n" : "</text>\n", number);
}

/* Writes the chart of c and of the curves after it. It is 610 by 200 pixels. At most 600 means
   of a curve are drawn. A value that is not finite leaves a gap, and h0 is a dot. */
static void edf_lab__write_chart(edf_page *out, const edf_lab__curve *c, double top) {
  static const char *const colour[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00" };
  const char *chart = c->name;
  double end = 1, least = HUGE_VAL, greatest = -HUGE_VAL, legend = top + 14;
  for (const edf_lab__curve *o = c; o; o = o->next)
    for (size_t i = 0; i < o->n && edf_lab__share_chart(o, chart); i++) {
      double y = o->point[2 * i + 1];
      end = fmax(end, o->point[2 * i]);
      if (fabs(y) < 1e300) least = fmin(least, y);
      if (fabs(y) < 1e300) greatest = fmax(greatest, y);
    }
  if (least > greatest) least = greatest = 0;
  if (least > 0 && least < 0.5 * greatest) least = 0;
  double size = fabs(least) + fabs(greatest);
  if (greatest - least <= 1e-6 * size + 1e-300) greatest += size > 1e-300 ? 0.1 * size : 1;
  double x_scale = end > 1 ? 610 / (end - 1) : 0, y_scale = 200 / (greatest - least);
  edf_lab__write_text(out, "title", 70, top - 12, chart, strcspn(chart, "/"), 0);
  for (int k = 0; k <= 4; k++) {         /* four parts of the range of y                      */
    edf_write(out, "<path class=\"grid\" d=\"M70 %.1fh610\"/>\n", top + 50 * k);
    edf_lab__write_text(out, "y", 62, top + 50 * k + 4, "", 0, greatest - 50 * k / y_scale);
  }
  edf_lab__write_text(out, "y", 680, top + 218, "", 0, end);
  for (int k = 0; c; c = c->next) {
    size_t each = (c->n + 599) / 600;
    int is_gap = 1;
    if (!edf_lab__share_chart(c, chart)) continue;
    edf_write(out, "<path fill=\"none\" stroke=\"%s\" d=\"", colour[k++ % 5]);
    for (size_t from = 0, to; from < c->n; from = to) {
      double y = 0, x = 70 + x_scale * (c->point[2 * from] - 1);
      to = from + each < c->n ? from + each : c->n;
      for (size_t i = from; i < to; i++) y += c->point[2 * i + 1] / (double)(to - from);
      if (fabs(y) < 1e300)
        edf_write(out, "%c%.1f %.1f%s", is_gap ? 'M' : 'L', x, top + y_scale * (greatest - y),
                  is_gap ? "h0" : "");
      is_gap = !(fabs(y) < 1e300);
    }
    edf_write(out, "M520 %.1fh22\"/>\n", legend - 4);
    const char *name = strchr(c->name, '/') ? strchr(c->name, '/') + 1 : c->name;
    name = edf_fmt("%s  ", name);
    edf_lab__write_text(out, "curve", 550, legend, name, strlen(name), c->point[2 * c->n - 1]);
    legend += 18;
  }
}

void edf_plot_svg(const char *path) {
  edf_page page = { NULL, 0 }, charts = { NULL, 0 };
  double top = 40;
  for (const edf_lab__curve *c = edf_lab__curves; c; c = c->next) {
    const edf_lab__curve *first = edf_lab__curves;
    while (!edf_lab__share_chart(first, c->name)) first = first->next;
    if (first != c) continue;
    edf_lab__write_chart(&charts, c, top);
    top += 270;
  }
  edf_write(&page, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 %g\" "
            "width=\"720\" height=\"%g\">\n<style>svg{font:13px sans-serif;background:#fff;"
            "fill:#222}.y{text-anchor:end}.title{font-size:16px;font-weight:bold}"
            ".grid{stroke:#8884}path{stroke-width:2;"
            "stroke-linecap:round}@media(prefers-color-scheme:dark){svg{background:#181818;"
            "fill:#ddd}}</style>\n%s</svg>\n", top + 20, top + 20,
            charts.at ? charts.at : "<text y=\"40\">nothing was plotted: edf_plot</text>\n");
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

/* Writes printed lines of a node as strings. */
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

static void edf_lab__trace_node(edf_page *to, edf_node *x, int most) {
  const char *text[] = { x->op, edf_label(x), x->file };
  edf_write(to, "{\"kind\":%d,\"row\":%d", (int)x->kind, x->line);
  for (int k = 0; k < 3; k++) {
    edf_write(to, ",\"%s\":", k == 0 ? "op" : k == 1 ? "name" : "file");
    edf_write_quoted(to, text[k], strlen(text[k]));
  }
  edf_write(to, ",\"dim\":[");
  for (int d = 0; d < x->rank; d++) edf_write(to, d ? ",%d" : "%d", x->dim[d]);
  edf_write(to, "],\"in\":[");
  for (int k = 0; k < x->n_in; k++)
    edf_write(to, k ? ",%d" : "%d", edf_lab__number_of(x->in[k]));
  edf_write(to, "]");
  if (x->kind == EDF_COMPNODE) {
    edf_page equation = { NULL, 0 };
    if (!x->about || strcmp(x->about->name, "Lookup"))       /* The page knows no lookups. */
      edf_write_node(&equation, x, EDF_EQUATION_DATA);
    edf_lab__write_lines(to, "line", x, EDF_FORWARD_LINE);
    if (x->backward && x->needs_grad)
      edf_lab__write_lines(to, "back", x, EDF_BACKWARD_LINES);
    if (equation.n) edf_write(to, ",\"eq\":%s", equation.at);
    else if (x->about) edf_write(to, ",\"f\":1");
    edf_release(equation.at);
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

/* The file has at most 2 MB. */
void edf_write_trace(const char *path) {
  size_t n = path ? strlen(path) : 0;
  int is_script = n > 3 && !strcmp(path + n - 3, ".js"), most = 1024;
  if (!edf.n_compnodes || !edf.compnodes[0]->value)
    edf_stop("edf_write_trace: there are no values: call Forward and Backward first");
  edf_page page = edf_lab__trace_page(most);
  while (page.n > 1990000 && most > 1) {
    most -= most / 8 + 1;
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
