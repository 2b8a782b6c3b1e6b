/* edf/lab.h - v4.0 - the laboratory of edf.h: tools that look at a program while it learns

   A companion of edf.h. It includes edf/slide.h and edf/data.h, and uses only public names of
   edf.h. EDF_IMPLEMENTATION, defined in exactly one file, compiles its code too.
   edf_clear frees its memory. With EDF_NO_DEBUG all calls do nothing.
   MIT licence, like edf.h. Search for >>doctor, >>plot, >>trace, >>dot. */
#if !defined(EDF_SLIDE_4_H) || \
    (defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_SLIDE__IMPLEMENTED))
#include "slide.h"
#endif
#if !defined(EDF_DATA_4_H) || \
    (defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_DATA__IMPLEMENTED))
#include "data.h"
#endif
#ifndef EDF_LAB_4_H
#define EDF_LAB_4_H
#ifdef EDF_LAB_H
#error "edf_lab.h is version 3.0, and edf/lab.h is version 4.0: include only edf/lab.h"
#include "edf/lab.h: two versions"
#elif EDF_VERSION != 400
#error "edf/lab.h is version 4.0, and edf.h is another version: use one version of both"
#include "edf/lab.h: another version"    /* This file does not exist: a compiler stops here.  */
#endif

#ifdef __cplusplus
extern "C" {
#endif
/* Starts a doctor that watches the first 300 steps of a training. If one of its rules finds a
   mistake, it prints names, numbers and a hint. It does not know all mistakes, and now and then
   a healthy program breaks a rule: bench/doctor has the numbers. Each finding is printed once,
   and a cause hides its symptoms. There are rules about
     data        NaN, bad scales, equal rows, sorted labels, targets that cannot be reached
     program     softmax twice or missing, exchanged arguments, an index summed alone, two
                 batches, nothing nonlinear, no gradient, a look at the future, unused nodes
     beginning   equal or zero weights, dead or saturated units, a high first loss
     step        an old or missing gradient, steps uphill, too large or small, NaN,
                 edf.training
   Nothing is run again, and the parameters are the same bits as without a doctor. Call it
   again to watch another loss, or one that was built again. Errors: the loss is not computed.
   edf_check looks once, before training. It runs Forward and Backward, prints what it finds,
   and returns the number of findings. Then it restores the graph, so that it changes nothing.
   Errors: as edf_backward. */
void edf_doctor(edf_node *loss);
int edf_check(edf_node *loss);

/* Adds a value to a curve. The curves loss/train and loss/test share the chart loss. A value is
   drawn at the x of the newest value in its chart, so a test loss once an epoch is at the step
   of its training loss. For a logarithmic axis plot log10(value). edf_plot_svg draws all
   charts. The y axis includes 0. A value that is not finite leaves a gap. edf_clear forgets the
   curves. Errors: no name, a name of more than 79 characters, more than 100 curves, a file that
   cannot be written. */
void edf_plot(const char *name, double value);
void edf_plot_svg(const char *path);

/* Writes all values and gradients of a step as JSON, or as a script if the path ends with .js.
   Call it after Backward. The playground shows the file: make playground, open
   build/playground.html in a browser, and drop the file on it. The file has at most 2 MB.
   A large tensor is cut to its first entries along each index.
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
#endif /* EDF_LAB_4_H */

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
  EDF_LAB__MOVED = 2,                    /* a Backward of the loss begins, after a step       */
  EDF_LAB__FIRST = 4,                    /* the first Backward of the loss has ended          */
  EDF_LAB__LEARNT = 8                    /* a Backward of the loss has ended                  */
};
/* What a rule gets: each Input, each Parameter, each CompNode, or one of the parts. */
enum {
  EDF_LAB__LOSS = 3,
  EDF_LAB__DATA,                         /* the Input with the longest rows                   */
  EDF_LAB__HEAD,                         /* the node that compares an output with an Input    */
  EDF_LAB__LABELS,                       /* this Input, if it has class numbers               */
  EDF_LAB__TARGETS,                      /* this Input, if it has no class numbers            */
  EDF_LAB__OUTPUT,                       /* the output                                        */
  EDF_LAB__SCORES,                       /* the argument of the softmax or of BCELoss         */
  EDF_LAB__PARTS
};

typedef struct {                         /* notes about a node                                */
  edf_real *before;                      /* a Parameter's values before the step              */
  double norm;                           /* of its gradient                                   */
  int idle;                              /* looks in a row without a move                     */
  int one_way;                           /* looks in a row with gradients of one sign         */
} edf_lab__note;

typedef struct {
  void (*earlier)(edf_event event, edf_node *x);     /* edf.told before the doctor            */
  edf_node *part[EDF_LAB__PARTS];        /* the parts of the program, or NULL                 */
  int classes;                           /* 0 if there are no labels                          */
  edf_lab__note *note[EDF_COMPNODE + 1]; /* by kind and position                              */
  char said[64];                         /* by rule: 1 if it has reported                     */
  int found;                             /* number of findings                                */
  /* the evidence of a rule */
  edf_node *x;                           /* the node that is printed                          */
  edf_node *y;                           /* another one                                       */
  edf_lab__note *n;                      /* the notes about x                                 */
  edf_statistics s;                      /* of the values of x, if it is a part               */
  const char *what;
  double a;
  double b;
  /* notes on the steps */
  long step;                             /* Backwards of the loss                             */
  unsigned long feeds;                   /* edf.feeds at the last Backward                    */
  int pending;                           /* 1 if its step was not looked at yet               */
  int several;                           /* 1 if there are Backwards of other nodes           */
  int unlearnt;                          /* Forwards of new data since the last Backward      */
  int untrained;                         /* Backwards in a row with edf.training = 0          */
  double first;                          /* the first loss                                    */
  double mean[EDF_LAB__STEPS / EDF_LAB__WINDOW];     /* of the losses in each window          */
  double along;                          /* cosine of the step and the gradient               */
  double change;                         /* |dp| / |p| of the step                            */
  double most_change;                    /* the largest so far                                */
  double slope;                          /* |g| of all Parameters                             */
  double most_slope;                     /* the largest so far                                */
  int faded;                             /* looks in a row at steps that are almost 0         */
  int clipped;                           /* looks in a row at a gradient that was cut         */
  int alike;                             /* batches in a row with equal rows                  */
  int n_pure;                            /* rows of batches with one class                    */
} edf_lab__doctor;

/* ---- Numbers about a tensor */
static edf_statistics edf_lab__stats(edf_node *x) {
  return edf_statistics_of(edf_value(x), x->size);
}
static double edf_lab__norm(const edf_real *v, size_t n) {
  return edf_statistics_of(v, n).norm;
}
static int edf_lab__last_dim(const edf_node *x) { return x->rank ? x->dim[x->rank - 1] : 1; }
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

/* ---- The parts of the program. Backward makes the nodes active that the loss needs. */
static int edf_lab__is(const edf_node *x, const char *op) { return !strcmp(x->op, op); }
static int edf_lab__is_softmax(const edf_node *x) { return !strncmp(x->op, "Softmax", 7); }
static int edf_lab__looks_up(const edf_node *x) {
  return edf_lab__is(x, "Embed") || edf_lab__is(x, "Lookup");
}
static int edf_lab__bends(const edf_node *x) {
  return edf_lab__is(x, "Relu") || edf_lab__is(x, "Sigmoid") || edf_lab__is(x, "Tanh");
}
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

/* If c compares an output with an Input, c is the head. Between c and the loss, each node has
   one input, unless the Input has labels. */
static void edf_lab__find_head(edf_lab__doctor *d, edf_node *c) {
  int k = c->n_in == 2 && c->in[1]->kind == EDF_INPUT;
  edf_node *t = c->n_in == 2 ? c->in[k] : c, *out = c->n_in == 2 ? c->in[1 - k] : c;
  int is_log_loss = edf_lab__is(c, "LogLoss"), is_softmax = edf_lab__is_softmax(c);
  int labels = out->rank == t->rank + 1 && (is_log_loss || is_softmax || !c->about);
  if (t->kind != EDF_INPUT || out->kind != EDF_COMPNODE) return;
  const edf_node *z = c, *loss = d->part[EDF_LAB__LOSS];
  while (z && z != loss && (z == c || z->n_in == 1)) z = edf_lab__user_of(z, 0);
  if (!labels && (out->rank != t->rank || z != loss || edf_lab__is(c, "Mul") ||
                  (k == 0 && strstr(c->op, "Loss")))) return;
  d->part[EDF_LAB__HEAD] = c;
  d->part[labels ? EDF_LAB__LABELS : EDF_LAB__TARGETS] = t;
  d->part[EDF_LAB__OUTPUT] = out;
  if (is_softmax || edf_lab__is(c, "BCELoss")) d->part[EDF_LAB__SCORES] = out;
  if (is_log_loss && edf_lab__is_softmax(out)) d->part[EDF_LAB__SCORES] = out->in[0];
}

static void edf_lab__find_parts(edf_lab__doctor *d, edf_node *loss) {
  size_t longest = 0;
  memset(d->part, 0, sizeof d->part);
  d->part[EDF_LAB__LOSS] = loss;
  for (int i = loss->position; i >= 0 && !d->part[EDF_LAB__HEAD]; i--)
    if (edf.compnodes[i]->active) edf_lab__find_head(d, edf.compnodes[i]);
  d->classes = d->part[EDF_LAB__LABELS] ? edf_lab__last_dim(d->part[EDF_LAB__OUTPUT]) : 0;
  for (int i = 0; i < edf.n_inputs; i++) {
    edf_node *x = edf.inputs[i];
    if (!x->active || !(x->batched & 1) || x == d->part[EDF_LAB__LABELS]) continue;
    size_t row = x == d->part[EDF_LAB__TARGETS] ? 1 : x->size / (size_t)x->dim[0] + 1;
    if (row > longest) d->part[EDF_LAB__DATA] = x;
    if (row > longest) longest = row;
  }
}

/* ---- Rules about the data. The table has their sentences. */
static int edf_lab__is_look(const edf_lab__doctor *d) {
  return d->step < EDF_LAB__CLOSE || d->step % 10 == 0;
}
/* Above 20 a first layer saturates, or its steps are too large. */
static int edf_lab__is_scaled_badly(edf_lab__doctor *d, edf_node *x) {
  const edf_node *user = edf_lab__user_of(x, 0);
  if (!edf_lab__is_look(d) || edf_lab__looks_up(user) || !user->about) return 0;
  edf_statistics s = d->s = edf_lab__stats(x);
  int is_large = s.greatest > 20 || s.least < -20;
  int is_far = x->size >= 16 && fabs(s.mean) > 3 * s.deviation && fabs(s.mean) > 0.5;
  d->what = s.least >= 0 && s.greatest > 127 && s.greatest <= 255 ? "look like 0...255"
          : is_large ? "are not scaled" : "are far from centred";
  return !s.bad && (is_large || is_far);
}
static int edf_lab__has_equal_rows(edf_lab__doctor *d, edf_node *x) {
  const edf_real *v = edf_value(x);
  size_t row = x->size / (size_t)x->dim[0];
  int same = !memcmp(v, v + row, (x->size - row) * sizeof *v);       /* each and the next one */
  d->alike = same && edf_lab__norm(v, row) > 0 ? d->alike + 1 : 0;
  d->a = x->dim[0];
  return d->alike >= 3 && d->a >= 8;
}
static int edf_lab__is_unused_input(edf_lab__doctor *d, edf_node *x) {
  (void)d;
  return x->fed >= 0 && !edf_lab__user_of(x, 0);
}
/* Most batches have one class each. */
static int edf_lab__is_not_shuffled(edf_lab__doctor *d, edf_node *y) {
  if (y->rank == 1 && y->size >= 16 && d->s.least == d->s.greatest) d->n_pure += (int)y->size;
  d->a = d->n_pure;
  return d->n_pure >= 512 && 2 * d->n_pure > d->step * (long)y->size;
}
static int edf_lab__is_target_far(edf_lab__doctor *d, edf_node *t) {
  edf_node *out = d->part[EDF_LAB__OUTPUT];
  int is_bounded = edf_lab__bends(out) || edf_lab__is(d->part[EDF_LAB__HEAD], "BCELoss");
  double size = d->s.norm / sqrt((double)t->size);
  d->a = !is_bounded ? -3 : edf_lab__is(out, "Tanh") ? -1 : 0;
  d->b = !is_bounded ? 3 : edf_lab__is(out, "Relu") ? HUGE_VAL : 1;
  int is_out = is_bounded && (d->s.least < d->a || d->s.greatest > d->b);
  d->what = is_out ? "outside of what the output can reach" : "not scaled";
  return is_out || (size > 30 && d->s.norm > 20 * edf_lab__stats(out).norm);
}

/* ---- Rules about the program */
static int edf_lab__is_score_bent(edf_lab__doctor *d, edf_node *s) {
  int twice = d->classes && edf_lab__sums_to_one(s);
  d->what = twice ? "softmax twice: the loss" : edf_label(d->part[EDF_LAB__HEAD]);
  return twice || edf_lab__bends(s);
}
static int edf_lab__is_no_probability(edf_lab__doctor *d, edf_node *P) {
  return edf_lab__is(d->part[EDF_LAB__HEAD], "LogLoss") && !d->s.bad &&
         !edf_lab__sums_to_one(P);
}
/* As in softmax_k s[b,k] - c[k], which subtracts c from the probabilities. */
static int edf_lab__is_above_one(edf_lab__doctor *d, edf_node *y) {
  if (!edf_lab__is_look(d) || !edf_lab__is(y, "Log") || !edf_lab__is(y->in[0], "Lookup"))
    return 0;
  d->a = edf_lab__stats(y->in[0]).greatest;
  d->x = y->in[0]->in[0];
  return d->a > 1.01;
}
static int edf_lab__is_exchanged(edf_lab__doctor *d, edf_node *c) {
  (void)d;
  return c->n_in == 2 && strstr(c->op, "Loss") && c->in[0]->kind == EDF_INPUT &&
         c->in[1]->needs_grad;
}
/* e[b,c] = p[b] - y[c] */
static int edf_lab__has_two_batches(edf_lab__doctor *d, edf_node *e) {
  d->a = e->dim[0];
  return e->rank == 2 && e->n_in == 2 && e->batched == 3 && e->in[0]->rank == 1 &&
         e->in[1]->rank == 1 && e->in[0]->needs_grad != e->in[1]->needs_grad;
}
/* relu(...) inside an equation has no name. It was meant to have all indices of y. */
static int edf_lab__is_repeated(edf_lab__doctor *d, edf_node *y) {
  const edf_node *h = d->y = y->in[0];
  return y->n_in == 1 && edf_lab__is(y, "Einsum") && y->rank == h->rank + 1 && h->rank > 1 &&
         edf_lab__bends(h) && !strncmp(h->name, h->op, strlen(h->op));
}
static int edf_lab__has_matrix(const edf_node *y) {
  int n = 0;
  for (int k = 0; k < y->n_in; k++) n += y->in[k]->kind == EDF_PARAMETER && y->in[k]->rank == 2;
  return n == 1 && !edf_lab__looks_up(y);
}
/* A narrow layer between two wide ones may be meant. */
static int edf_lab__is_linear_twice(edf_lab__doctor *d, edf_node *y) {
  int n_data = 0;
  for (int k = 0; k < y->n_in; k++) {
    n_data += y->in[k]->kind != EDF_PARAMETER;
    if (edf_lab__has_matrix(y->in[k])) d->y = y->in[k];
  }
  return n_data == 1 && d->y && edf_lab__has_matrix(y) && !edf_lab__user_of(d->y, 1) &&
         edf_lab__last_dim(d->y) > edf_lab__last_dim(y);
}
/* c has no backward, and nothing beside it brings a gradient from the data. */
static int edf_lab__cuts_gradient(edf_lab__doctor *d, edf_node *c) {
  const edf_node *user = edf_lab__user_of(c, 0);
  for (int k = 0; user && k < user->n_in; k++)
    if (user->in[k] != c && user->in[k]->kind != EDF_PARAMETER) return 0;
  d->y = c->in[0];
  return user && !c->backward && d->y && d->y->grad &&
         edf_lab__norm(edf_grad(d->y), d->y->size) == 0;
}
/* After a while, so that a program with several losses has come to each of them. */
static int edf_lab__is_unused(edf_lab__doctor *d, edf_node *p) {
  return !p->grad && p->update != edf_frozen && (d->step == EDF_LAB__WINDOW || !d->step);
}
/* The label of t is the symbol of t + 1, and a softmax at t looks at t + 1. */
static int edf_lab__sees_the_future(edf_lab__doctor *d, edf_node *P) {
  edf_node *x = d->part[EDF_LAB__DATA], *y = d->part[EDF_LAB__LABELS];
  int T = edf_lab__last_dim(P), r = P->rank, i = 0;
  if (!x || !y || x->rank != 2 || y->rank != 2 || r < 3 || !edf_lab__is_softmax(P)) return 0;
  if (T != x->dim[1] || T != y->dim[1] || T != P->dim[r - 2]) return 0;
  while (i + 1 < T && edf_value(y)[i] == edf_value(x)[i + 1]) i++;
  d->a = (double)edf_value(P)[T - 1];
  return i + 1 == T && d->a > 0;
}

/* ---- Rules about the beginning */
/* Returns an index along which p's gradient is the same, and its values, unless `same` is 0. In
   the first step the data of p may begin with equal units. */
static int edf_lab__same_index(const edf_lab__doctor *d, edf_node *p, int same) {
  int k = p->rank > 1 && edf_lab__learns(p) && (d->step == 3 || !d->step) ? p->rank - 1 : -1;
  while (k >= 0 && (!edf_lab__is_same_along(p, edf_grad(p), k) ||
                    edf_lab__is_same_along(p, edf_value(p), k) != same)) k--;
  return k;
}
static int edf_lab__is_summed_alone(edf_lab__doctor *d, edf_node *p) {
  d->a = edf_lab__same_index(d, p, 0);
  return d->a >= 0 && edf_lab__norm(edf_grad(p), p->size) > 0;
}
/* Weights of one layer may begin at 0, since they soon differ. */
static int edf_lab__is_symmetric(edf_lab__doctor *d, edf_node *p) {
  d->a = edf_lab__same_index(d, p, 1);
  d->what = edf_lab__norm(edf_value(p), p->size) > 0 ? "begins with equal units"
                                                     : "is all zero: its units are alike";
  return d->a >= 0 && !edf_lab__stats(p).bad;
}
/* Inputs of deviation 1 saturate 0.01 % of a Sigmoid and 0.8 % of a Tanh. */
static int edf_lab__is_saturated(edf_lab__doctor *d, edf_node *y) {
  double edge = edf_lab__is(y, "Sigmoid") ? 3.87 : edf_lab__is(y, "Tanh") ? 2.65 : HUGE_VAL;
  d->a = 0;
  for (size_t i = 0; edge < HUGE_VAL && i < y->size; i++)
    d->a += fabs((double)edf_value(y->in[0])[i]) > edge ? 100 / (double)y->size : 0;
  return d->a > 50;
}
/* A unit, along the last index, is dead if it is 0 for every row. A few begin like this. */
static int edf_lab__is_dead(edf_lab__doctor *d, edf_node *y) {
  size_t n = (size_t)edf_lab__last_dim(y), rows = y->size / n, row;
  if (!edf_lab__is(y, "Relu") || rows < 16 || (d->step > 1 && d->step < 300)) return 0;
  d->a = 0;
  for (size_t j = 0; j < n; j++) {
    for (row = 0; row < rows && edf_value(y)[row * n + j] <= 0; row++) {}
    d->a += row == rows ? 100 / (double)n : 0;
  }
  return d->a > 60 && edf_lab__stats(y->in[0]).norm > 0;
}
/* Scores of deviation 1 cost ln K + 1/2. Few rows, or a batch of one class, may cost more. */
static int edf_lab__is_first_loss_high(edf_lab__doctor *d, edf_node *y) {
  d->a = d->first;
  d->b = log((double)d->classes);
  return d->a >= d->b + 1.5 && d->a < HUGE_VAL && y->size >= 16 && d->s.least < d->s.greatest;
}

/* ---- Rules about the step */
static int edf_lab__is_stale(edf_lab__doctor *d, edf_node *p) {
  if (!edf.accumulate || !edf_lab__is_look(d) || d->change <= 0 || d->several) return 0;
  d->a = edf_lab__learns(p) ? edf_lab__norm(edf_grad(p), p->size) : 0;
  return d->a > 0;
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
  d->a = evaluates ? d->unlearnt : d->untrained;
  d->what = evaluates ? "evaluated as in training: edf.training is 1"
                      : "trained as in evaluation: edf.training is 0";
  return drops ? evaluates || d->untrained >= 5 : evaluates && edf_lab__is(c, "BatchNorm");
}
/* The loss is high after a large step, or large steps lead nowhere. */
static int edf_lab__is_too_large(edf_lab__doctor *d, edf_node *loss) {
  double size = fmax(fabs(d->first), d->classes ? log((double)d->classes) : 0);
  int is_high = d->change > 0.1 && !(edf_lab__stats(loss).mean <= 10 * size);
  int is_stuck = d->step == EDF_LAB__STEPS && d->mean[5] > d->mean[1] && !d->several;
  d->a = d->most_change;
  return is_high || (is_stuck && d->most_change > 0.1);
}
static int edf_lab__is_too_small(edf_lab__doctor *d, edf_node *loss) {
  double least = d->step >= EDF_LAB__WINDOW ? 1e-6 : 0;
  int is_still = d->step >= EDF_LAB__CLOSE && d->most_change <= least && !edf.accumulate;
  int is_cut = d->clipped >= EDF_LAB__CLOSE && d->change < 2e-3;
  d->a = d->change;
  d->what = is_still && d->most_change <= 0 ? "no parameter has ever moved"
          : is_still ? "the step is too small: nothing moves"
          : is_cut ? "each gradient is cut to less than a tenth" : "the steps fade to nothing";
  return loss && (is_still || is_cut || d->faded >= 5);
}

static int edf_lab__is_one_way(edf_lab__doctor *d, edf_node *y) {
  int is_layer = 0;
  for (int k = 0; k < y->n_in; k++)
    is_layer |= y->in[k]->kind == EDF_PARAMETER && edf_lab__learns(y->in[k]);
  if (!edf_lab__is_look(d) || !is_layer || !y->grad) return 0;
  edf_statistics g = edf_statistics_of(edf_grad(y), y->size);
  d->a = d->n->one_way = g.norm > 0 && g.least * g.greatest >= 0 ? d->n->one_way + 1 : 0;
  return d->step == EDF_LAB__STEPS && y->size >= 16 && d->n->one_way >= EDF_LAB__CLOSE &&
         fabs(d->mean[5]) > 1e-4 * fabs(d->mean[0]);
}
static int edf_lab__has_nan(edf_node *x) {
  const edf_real *v = edf_value(x);
  size_t i = 0;
  while (i < x->size && v[i] == v[i]) i++;
  return i < x->size;
}
/* Returns an input of x that has a NaN, or an infinity if `nan` is 0, or NULL. A computed node
   goes before a mask. */
static edf_node *edf_lab__bad_input(const edf_node *x, int nan) {
  edf_node *found = NULL;
  for (int k = 0; k < x->n_in; k++) {
    edf_node *from = x->in[k];
    if (found && from->kind != EDF_COMPNODE) continue;
    if (nan ? edf_lab__has_nan(from) : edf_lab__stats(from).bad > 0) found = from;
  }
  return found;
}
/* The first node with a NaN, or the first infinity that has led to it. An infinity in an Input
   or a Parameter is a cause only if the loss is infinite. A large step explains a node. */
static int edf_lab__is_not_finite(edf_lab__doctor *d, edf_node *loss) {
  edf_node *first = loss, *from;
  d->y = loss;
  if (!edf_lab__stats(loss).bad) return 0;
  while ((from = edf_lab__bad_input(first, 1)) != NULL) first = from;
  d->x = first;
  while ((from = edf_lab__bad_input(d->x, 0)) != NULL) d->x = from;
  if (edf_lab__has_nan(loss) && d->x->kind != EDF_COMPNODE) d->x = first;
  d->what = d->x->kind == EDF_INPUT ? "input" : "node";
  d->a = (double)edf_lab__stats(d->x).bad;
  return d->x->kind == EDF_INPUT || !(d->change > 0.1);
}

/* ---- The table, in the order of cause. A symptom, 1, is held back once a fault was found. In
   a sentence, @x and @y are nodes, @w is a text, @a and @b are numbers. */
static const struct {
  int when;
  int of;
  int symptom;
  int (*broken)(edf_lab__doctor *d, edf_node *x);
  const char *says;
  const char *hint;
} edf_lab__rules[] = {
  { EDF_LAB__LEARNT, EDF_LAB__DATA, 0, edf_lab__is_scaled_badly,
    "inputs @w\n  @l to @g; usual: mean 0, deviation 1",
    "divide pixels by 255; else subtract each column's mean and divide by its deviation" },
  { EDF_LAB__LEARNT, EDF_LAB__DATA, 0, edf_lab__has_equal_rows,
    "all @a rows of the input are the same", "does the loader move on from row to row?" },
  { EDF_LAB__FED, EDF_COMPNODE, 0, edf_lab__is_wrong_mode,
    "@w\n  @a times in a row", "edf.training = 0 to evaluate, 1 to train" },
  { EDF_LAB__LEARNT, EDF_LAB__LABELS, 0, edf_lab__is_not_shuffled,
    "not shuffled: @a rows were in batches of one label", "edf_shuffle(&x, &y) in each epoch" },
  { EDF_LAB__FIRST, EDF_INPUT, 0, edf_lab__is_unused_input,
    "the input @x is fed, but no node uses it", "is a line of the model missing?" },
  { EDF_LAB__FIRST, EDF_LAB__TARGETS, 0, edf_lab__is_target_far,
    "targets are @w\n  @l to @g; expected: @a to @b",
    "subtract their mean and divide by their deviation; let the last layer be affine" },
  { EDF_LAB__FIRST, EDF_LAB__SCORES, 0, edf_lab__is_score_bent,
    "@w takes scores, but @x is bounded",
    "the last layer is affine, and one Softmax before LogLoss, none before SoftmaxLogLoss" },
  { EDF_LAB__FIRST, EDF_LAB__OUTPUT, 0, edf_lab__is_no_probability,
    "LogLoss of @x, which does not sum to 1 over the last index", "Softmax before LogLoss" },
  { EDF_LAB__LEARNT, EDF_COMPNODE, 0, edf_lab__is_above_one,
    "ln of an entry of @x, which is @a: it is no probability",
    "brackets around the argument of a softmax: softmax_k (s[b,k] - c[k])" },
  { EDF_LAB__FIRST, EDF_COMPNODE, 0, edf_lab__is_exchanged,
    "the arguments of @x are exchanged", "first the output, then the targets" },
  { EDF_LAB__FIRST, EDF_COMPNODE, 0, edf_lab__has_two_batches,
    "two indices of @x are the batch: @a outputs meet @a targets", "the same index for both" },
  { EDF_LAB__LEARNT, EDF_PARAMETER, 0, edf_lab__is_summed_alone,
    "index @a of @x is summed in it alone", "the same summed index in both tensors" },
  { EDF_LAB__FIRST, EDF_COMPNODE, 0, edf_lab__is_repeated,
    "@x is the same along an index that @y lacks", "use this index on the right side too" },
  { EDF_LAB__FIRST, EDF_COMPNODE, 0, edf_lab__is_linear_twice,
    "nothing nonlinear is between the layers @y and @x", "Relu, Tanh or Sigmoid" },
  { EDF_LAB__FIRST, EDF_COMPNODE, 0, edf_lab__cuts_gradient,
    "no gradient comes to @y: @x has no backward", "write its backward" },
  { EDF_LAB__FIRST, EDF_COMPNODE, 0, edf_lab__sees_the_future,
    "@x sees the future: labels are the next symbols; weight @a, not 0", "a mask: s <= t" },
  { EDF_LAB__LEARNT, EDF_PARAMETER, 0, edf_lab__is_unused,
    "the parameter @x is never used by the loss", "is a line of the model missing?" },
  { EDF_LAB__LEARNT, EDF_PARAMETER, 0, edf_lab__is_symmetric,
    "@x @w, which stay equal\n  it is the same along index @a, in value and gradient",
    "random weights, edf_init_uniform or edf_init_normal; only biases may begin at 0" },
  { EDF_LAB__FIRST, EDF_COMPNODE, 1, edf_lab__is_saturated,
    "@a % of the entries of @x are saturated at the start; usual: below 1 %",
    "smaller weights: variance 1/n for sums of n products" },
  { EDF_LAB__LEARNT, EDF_COMPNODE, 1, edf_lab__is_dead,
    "@a % of the units of @x are dead, 0 for every row",
    "biases near 0 (they are subtracted), smaller steps, or LeakyRelu" },
  { EDF_LAB__FIRST, EDF_LAB__LABELS, 1, edf_lab__is_first_loss_high,
    "the first loss is @a; guessing costs @b", "smaller weights at the start" },
  { EDF_LAB__MOVED, EDF_PARAMETER, 0, edf_lab__is_stale,
    "the gradient of @x still holds that of the last step\n  its norm is @a; expected: 0",
    "edf_zero_grad() after each step, or edf.accumulate = 0" },
  { EDF_LAB__MOVED, EDF_PARAMETER, 0, edf_lab__is_idle,
    "the parameter @x has a gradient, but never moves\n  its norm is @a; others move",
    "is it in your list of parameters? p->update = edf_frozen says that it must not move" },
  { EDF_LAB__MOVED, EDF_LAB__LOSS, 0, edf_lab__goes_up,
    "the step goes along the gradient, up: the cosine is @a", "p -= eta g, with eta above 0" },
  { EDF_LAB__MOVED, EDF_LAB__LOSS, 1, edf_lab__is_too_small,
    "@w\n  weights change by @a of their size; usual: 0.01",
    "an optimiser after each Backward, a larger learning rate, a slower schedule, no clip" },
  { EDF_LAB__LEARNT, EDF_COMPNODE, 1, edf_lab__is_one_way,
    "all rows push @x the same way, @a times in a row", "is a term or a sign missing?" },
  { EDF_LAB__LEARNT, EDF_LAB__LOSS, 1, edf_lab__is_not_finite,
    "@a numbers of the @w @x are NaN or infinite, so @y has become NaN or infinite",
    "how is the data read? a logarithm or a division of 0?" },
  { EDF_LAB__LEARNT, EDF_LAB__LOSS, 1, edf_lab__is_too_large,
    "the step is too large\n  weights change by @a of their size; usual: 0.01",
    "a tenth of the learning rate" }
};

/* Prints a finding. */
static void edf_lab__report(const edf_lab__doctor *d, const char *says, const char *hint) {
  edf_page text = { NULL, 0 };
  edf_write(&text, "doctor: step %ld: ", d->step);
  for (const char *c = says; *c; c++) {
    char key = *c == '@' ? *++c : '\0';
    if (!key) edf_write(&text, "%c", *c);
    else if (key == 'w') edf_write(&text, "%s", d->what);
    else if (key > 'w') edf_write(&text, "%s", edf_label(key == 'x' ? d->x : d->y));
    else edf_write(&text, "%.4g", key == 'a' ? d->a : key == 'b' ? d->b :
                                  key == 'l' ? d->s.least : d->s.greatest);
  }
  edf_write(&text, "\n  ");
  edf_write_node(&text, d->x, EDF_SITE);
  edf_write(&text, "\n  hint: %s\n", hint);
  fputs(text.at, stdout);
  edf_release(text.at);
  fflush(stdout);
}

/* Returns the notes about x. */
static edf_lab__note *edf_lab__note_of(edf_lab__doctor *d, const edf_node *x) {
  edf_lab__note **of = &d->note[x->kind];
  size_t n = 16;
  while (n <= (size_t)x->position) n *= 2;
  *of = (edf_lab__note *)edf_keep(*of, n * sizeof **of);
  return *of + x->position;
}

/* Applies the rules of a moment to their nodes. */
static void edf_lab__consult(edf_lab__doctor *d, int when) {
  int n = edf_lab__n_nodes(), n_rules = (int)(sizeof edf_lab__rules / sizeof *edf_lab__rules);
  for (int k = 0; k < n_rules; k++) {
    int of = edf_lab__rules[k].of, symptom = edf_lab__rules[k].symptom;
    if (!(edf_lab__rules[k].when & when) || (symptom && d->found)) continue;
    for (int i = 0; i < n && !d->said[k]; i++) {
      edf_node *x = d->x = edf_lab__nth(i);
      if (of < EDF_LAB__LOSS ? (int)x->kind != of : x != d->part[of]) continue;
      if (x->kind == EDF_COMPNODE && !x->active) continue;
      d->y = NULL;
      d->n = edf_lab__note_of(d, x);
      if (of > EDF_LAB__DATA) d->s = edf_lab__stats(x);
      if (!edf_lab__rules[k].broken(d, x)) continue;
      edf_lab__report(d, edf_lab__rules[k].says, edf_lab__rules[k].hint);
      d->said[k] = 1;
      d->found++;
    }
  }
}

/* ---- What happens in a step */
/* Notes the Parameters and their gradients, before the step. */
static void edf_lab__look(edf_lab__doctor *d) {
  double squares = 0;
  for (int i = 0; i < edf.n_parameters; i++) {
    edf_node *p = edf.parameters[i];
    edf_lab__note *n = edf_lab__note_of(d, p);
    size_t bytes = p->size * sizeof *n->before;
    n->norm = edf_lab__learns(p) ? edf_lab__norm(edf_grad(p), p->size) : 0;
    n->before = (edf_real *)memcpy(edf_keep(n->before, bytes), edf_value(p), bytes);
    squares += n->norm * n->norm;
  }
  d->slope = sqrt(squares);
  d->most_slope = fmax(d->slope, d->most_slope);
}

/* Returns 1 if a Parameter has moved since it was noted. */
static int edf_lab__has_moved(edf_lab__doctor *d) {
  for (int i = 0; i < edf.n_parameters; i++) {
    edf_node *p = edf.parameters[i];
    const edf_real *before = edf_lab__note_of(d, p)->before;
    size_t bytes = p->size * sizeof *before;
    if (edf_array_bytes(before) >= bytes && memcmp(before, edf_value(p), bytes)) return 1;
  }
  return 0;
}
/* Compares the Parameters with those before the step. */
static void edf_lab__look_at_moves(edf_lab__doctor *d) {
  double rise = 0, squares = 0, left = 0, size = 0;
  for (int i = 0; i < edf.n_parameters; i++) {
    edf_node *p = edf.parameters[i];
    edf_lab__note *n = edf_lab__note_of(d, p);
    const edf_real *v = edf_value(p), *g = n->norm > 0 ? edf_grad(p) : NULL;
    double moved = 0;
    if (edf_array_bytes(n->before) < p->size * sizeof *v) continue;  /* a new one             */
    for (size_t k = 0; k < p->size; k++) {
      double old = (double)n->before[k], dp = v[k] == n->before[k] ? 0 : (double)v[k] - old;
      size += edf_lab__learns(p) && fabs(old) < HUGE_VAL ? old * old : 0;
      moved += dp * dp;
      rise += g && dp != 0 ? dp * (double)g[k] : 0;
      left += g ? (double)g[k] * (double)g[k] : 0;
    }
    squares += moved;
    n->idle = moved > 0 || n->norm <= 1e-3 * d->slope ? 0 : n->idle + 1;
  }
  d->pending = 0;
  d->change = size > 0 ? sqrt(squares / size) : squares > 0;
  d->along = squares > 0 && d->slope > 0 ? rise / sqrt(squares) / d->slope : 0;
  d->clipped = left > 0 && sqrt(left) < 0.1 * d->slope && !d->several ? d->clipped + 1 : 0;
  if (!(d->change <= d->most_change)) d->most_change = d->change;    /* also if it is NaN     */
  d->faded = d->step > EDF_LAB__CLOSE && d->change < 1e-4 * d->most_change &&
             d->slope > 0.01 * d->most_slope ? d->faded + 1 : 0;
}
static void edf_lab__forward_begins(edf_lab__doctor *d) {
  d->unlearnt += edf.training && edf.feeds != d->feeds;
  if (d->pending && edf_lab__has_moved(d)) edf_lab__look_at_moves(d);
  edf_lab__consult(d, EDF_LAB__FED);
}
/* The step before a Backward is looked at here, unless a Forward has run after it. */
static void edf_lab__backward_begins(edf_lab__doctor *d, edf_node *loss) {
  if (d->pending) edf_lab__look_at_moves(d);
  edf_lab__find_parts(d, loss);
  edf_lab__consult(d, EDF_LAB__MOVED);
}
static void edf_lab__loss_ended(edf_lab__doctor *d, edf_node *loss) {
  double now = edf_lab__stats(loss).mean;
  if (d->step++ == 0) d->first = now;
  d->mean[(d->step - 1) / EDF_LAB__WINDOW] += now / (double)EDF_LAB__WINDOW;
  d->pending = edf_lab__is_look(d);
  if (d->pending) edf_lab__look(d);
  edf_lab__consult(d, d->step == 1 ? EDF_LAB__FIRST | EDF_LAB__LEARNT : EDF_LAB__LEARNT);
}

static edf_lab__doctor *edf_lab__on_duty;          /* the doctor that watches, or NULL        */
static void edf_lab__doctor_told(edf_event event, edf_node *x) {
  edf_lab__doctor *d = edf_lab__on_duty;
  int begins = event == EDF_BEGIN_BACKWARD, ends = event == EDF_END_BACKWARD;
  if (!edf_array_bytes(d)) return;                   /* It belongs to another graph.          */
  if (d->earlier) d->earlier(event, x);
  if (event == EDF_CLEARED) edf_lab__on_duty = NULL;
  if (d->step == EDF_LAB__STEPS) return;
  if (event == EDF_BEGIN_FORWARD || (edf.eager && begins)) edf_lab__forward_begins(d);
  if (begins && x == d->part[EDF_LAB__LOSS]) edf_lab__backward_begins(d, x);
  if (!ends) return;
  d->unlearnt = 0;
  d->untrained = edf.training ? 0 : d->untrained + 1;
  d->feeds = edf.feeds;
  d->several |= x != d->part[EDF_LAB__LOSS];
  if (x == d->part[EDF_LAB__LOSS]) edf_lab__loss_ended(d, x);
}

void edf_doctor(edf_node *loss) {
  edf_lab__doctor *d = edf_lab__on_duty;
  edf_expect_kind("edf_doctor", "the loss", loss, EDF_COMPNODE);
  if (!edf.told || !edf_array_bytes(d)) {            /* There is none for this graph.         */
    d = edf_lab__on_duty = (edf_lab__doctor *)edf_keep(NULL, sizeof *d);
    d->earlier = edf.told;
    edf.told = edf_lab__doctor_told;
  }
  d->part[EDF_LAB__LOSS] = loss;
}

int edf_check(edf_node *loss) {
  edf_expect_kind("edf_check", "the loss", loss, EDF_COMPNODE);
  edf_lab__doctor *d = (edf_lab__doctor *)edf_keep(NULL, sizeof *d);
  edf_snapshot *taken = edf_take_snapshot();
  (edf_forward)();
  (edf_backward)(loss);
  d->first = edf_lab__stats(loss).mean;
  edf_lab__find_parts(d, loss);
  edf_lab__consult(d, EDF_LAB__FIRST | EDF_LAB__LEARNT);
  edf_restore(taken);
  int found = d->found;
  for (int kind = 0; kind <= EDF_COMPNODE; kind++) edf_release(d->note[kind]);
  edf_release(d);
  return found;
}

/* ==== >>plot  Curves ====================================================================== */
/* A program may switch graphs. The edf_clear of the one that plotted first frees the values. */
enum { EDF_LAB__CURVES = 100 };
typedef struct edf_lab__curve {
  char name[80];                         /* "chart/curve", or only "chart"                    */
  double *point;                         /* x and y of each value                             */
  size_t n;                              /* number of values; 0 if the curve is unused        */
  struct edf_lab__curve *chart;          /* the first curve of its chart, which has           */
  double newest;                         /* the x of the last value of the chart              */
  double least;                          /* the least y of the chart, or 0                    */
  double greatest;                       /* the greatest y of the chart, or 0                 */
} edf_lab__curve;

static edf_lab__curve edf_lab__curves[EDF_LAB__CURVES + 1];          /* The last is unused.   */
static void (*edf_lab__before_curves)(edf_event event, edf_node *x);

static void edf_lab__curves_told(edf_event event, edf_node *x) {
  if (edf_lab__before_curves) edf_lab__before_curves(event, x);
  if (event != EDF_CLEARED) return;
  for (edf_lab__curve *c = edf_lab__curves; c->n; c++) EDF_FREE(c->point);
  memset(edf_lab__curves, 0, sizeof edf_lab__curves);
}

void edf_plot(const char *name, double y) {
  edf_lab__curve *c = edf_lab__curves, *chart = c;
  size_t length = name ? strlen(name) : 0, n = length ? strcspn(name, "/") : 0;
  while (length && c->n && strcmp(c->name, name)) c++;
  if (!length || length >= sizeof c->name || c == edf_lab__curves + EDF_LAB__CURVES)
    edf_stop("edf_plot: at most 100 curves, each with a name of 1 to 79 characters");
  if (!(c->n & (c->n - 1))) {            /* The memory is full: 0, 1, 2, 4 ... values.        */
    double *point = (double *)EDF_MALLOC(4 * (c->n + 1) * sizeof *point);
    if (!point) edf_stop("edf_plot: out of memory");
    if (c->n) memcpy(point, c->point, 2 * c->n * sizeof *point);
    if (c->n) EDF_FREE(c->point);
    c->point = point;
  }
  if (!edf_lab__curves->n) {             /* It is the first value.                            */
    edf_lab__before_curves = edf.told;
    edf.told = edf_lab__curves_told;
  }
  memcpy(c->name, name, length + 1);
  while (strcspn(chart->name, "/") != n || memcmp(chart->name, name, n)) chart++;
  c->chart = chart;
  chart->newest = fmax(chart->newest, (double)c->n + 1);
  if (fabs(y) < 1e300) chart->least = fmin(chart->least, y);
  if (fabs(y) < 1e300) chart->greatest = fmax(chart->greatest, y);
  c->point[2 * c->n] = chart->newest;
  c->point[2 * c->n++ + 1] = y;
}

/* Writes a text with the escapes of XML. */
static void edf_lab__write_text(edf_page *out, const char *style, double x, double y,
                                const char *text) {
  edf_write(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", style, x, y);
  for (; *text; text++)
    if (strchr("&<>", *text)) edf_write(out, "&#%d;", *text);
    else edf_write(out, "%c", *text > 0 && *text < ' ' ? ' ' : *text);
  edf_write(out, "</text>\n");
}

/* Returns the distance of ticks: 1, 2 or 5 times a power of ten, at most 6 in a range. */
static double edf_lab__tick(double range) {
  double power = pow(10.0, floor(log10(range / 5)));
  double n = range / power;
  return power * (n <= 5 ? 1 : n <= 10 ? 2 : n <= 25 ? 5 : 10);
}

/* Writes a chart of 610 by 200 pixels. At most 600 means of a curve are drawn. A value that is
   not finite leaves a gap, and h0 is a dot. */
static void edf_lab__write_chart(edf_page *out, const edf_lab__curve *chart, double top) {
  static const char *const colour[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00" };
  double range = chart->greatest - chart->least;
  double tick = edf_lab__tick(range > 1e-300 ? range : 1);
  double least = floor(chart->least / tick + 1e-9) * tick;
  double most = ceil(chart->greatest / tick - 1e-9) * tick;
  if (!(most > least)) most = least + tick;
  double wide = 610 / fmax(chart->newest - 1, 1.0), high = 200 / (most - least);
  double step = fmax(1.0, edf_lab__tick(fmax(chart->newest - 1, 1.0)));
  int n = (int)strcspn(chart->name, "/"), k = 0;
  char text[sizeof chart->name + 32];
  snprintf(text, sizeof text, "%.*s", n, chart->name);
  edf_lab__write_text(out, "title", 70, top - 12, text);
  for (double y = least; y <= most + tick / 2; y += tick) {
    edf_write(out, "<path class=\"grid\" d=\"M70 %.1fh610\"/>\n", top + high * (most - y));
    edf_format(text, sizeof text, "%.4g", fabs(y) < tick / 2 ? 0 : y);
    edf_lab__write_text(out, "y", 62, top + high * (most - y) + 4, text);
  }
  for (double x = 1, next; x <= chart->newest; x = next) {     /* 1, round ones, the last     */
    edf_format(text, sizeof text, "%.4g", x);
    edf_lab__write_text(out, "x", 70 + wide * (x - 1), top + 218, text);
    next = (floor(x / step) + 1) * step;
    if (x < 2 && next < 1 + step / 2) next += step;
    if (next > chart->newest - step / 2 && x < chart->newest) next = chart->newest;
  }
  edf_lab__write_text(out, "x", 375, top + 236, "number of the value, such as the epoch");
  for (const edf_lab__curve *c = chart; c->n; c++) {
    size_t each = (c->n + 599) / 600;
    int is_gap = 1;
    if (c->chart != chart) continue;
    edf_write(out, "<path fill=\"none\" stroke=\"%s\" d=\"", colour[k % 5]);
    for (size_t from = 0, i; from < c->n; from = i) {
      double y = 0, x = 70 + wide * (c->point[2 * from] - 1);
      for (i = from; i < c->n && i < from + each; i++) y += c->point[2 * i + 1];
      y /= (double)(i - from);
      if (fabs(y) < 1e300)
        edf_write(out, "%c%.1f %.1f%s", is_gap ? 'M' : 'L', x, top + high * (most - y),
                  is_gap ? "h0" : "");
      is_gap = !(fabs(y) < 1e300);
    }
    edf_write(out, "M520 %.1fh22\"/>\n", top + 10 + 18 * k);
    const char *name = c->name[n] ? c->name + n + 1 : c->name;
    edf_format(text, sizeof text, "%.79s  %.4g", name, c->point[2 * c->n - 1]);
    edf_lab__write_text(out, "curve", 550, top + 14 + 18 * k++, text);
  }
}

void edf_plot_svg(const char *path) {
  edf_page page = { NULL, 0 }, charts = { NULL, 0 };
  int n = 0;
  for (const edf_lab__curve *c = edf_lab__curves; c->n; c++)
    if (c->chart == c) edf_lab__write_chart(&charts, c, 40 + 280 * n++);
  edf_write(&page, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 %d\" "
            "width=\"720\" height=\"%d\">\n<style>svg{font:13px sans-serif;background:#fff;"
            "fill:#222}.y{text-anchor:end}.x{text-anchor:middle}"
            ".title{font-size:16px;font-weight:bold}.grid{stroke:#8884}path{stroke-width:2;"
            "stroke-linecap:round}@media(prefers-color-scheme:dark){svg{background:#181818;"
            "fill:#ddd}}</style>\n%s</svg>\n", 60 + 280 * n, 60 + 280 * n,
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

/* Writes an equation as JSON. An index is its name, its size, and 1 if it is on the left. A
   position is its constant, and pairs of index and factor, or of -1 and a lookup's tensor. */
static void edf_lab__write_equation(edf_page *to, const edf_node *y) {
  const edf_contraction *m = edf_contraction_of(y);
  const edf_equation *e = &m->e;
  int kind = m->outside != 0 ? '-' : m->kind ? m->kind : '0';
  edf_write(to, "{\"kind\":\"%c\",\"index\":[", kind);
  for (int i = 0; i < e->n_index; i++) {
    edf_write(to, i ? ",[" : "[");
    edf_write_quoted(to, e->index[i].name, strlen(e->index[i].name));
    edf_write(to, ",%ld,%d]", (long)m->extent[i], e->index[i].left);
  }
  edf_write(to, "],\"ref\":[");
  for (const edf_ref *r = e->ref; r < e->ref + e->n_ref; r++) {
    edf_write(to, r > e->ref ? ",[%d,[" : "[%d,[", r->operand);
    for (int d = 0; d < r->rank; d++) {
      edf_write(to, d ? ",[%d" : "[%d", r->place[d].constant);
      if (r->place[d].by) edf_write(to, ",-1,%d", r->place[d].by);
      for (int i = 0; i < e->n_index; i++)
        if (r->place[d].factor[i]) edf_write(to, ",%d,%d", i, r->place[d].factor[i]);
      edf_write(to, "]");
    }
    edf_write(to, "]]");
  }
  edf_write(to, "],\"term\":[");
  for (const edf_term *t = e->term; t < e->term + e->n_term; t++)
    edf_write(to, t > e->term ? ",[%.9g,%d,%d]" : "[%.9g,%d,%d]", edf_coefficient(t),
              t->first, t->n);
  edf_write(to, "]}");
}

/* Writes the number that prints show, and the heading. Nodes with the same `group` have the
   same heading. */
static void edf_lab__write_heading(edf_page *to, const edf_node *x, int group) {
  edf_write(to, ",\"number\":%d,\"group\":%d", x->position, group);
  edf_page text = { NULL, 0 };
  const char *step = edf_folded_step(x);
  edf_write_heading(&text, x);
  if (text.n) edf_write(to, ",\"heading\":");
  if (text.n) edf_write_quoted(to, text.at, text.n);
  edf_release(text.at);
  if (step) edf_write(to, ",\"folded\":");
  if (step) edf_write_quoted(to, step, strlen(step));
}

static void edf_lab__trace_node(edf_page *to, edf_node *x, int group, int most) {
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
    int is_lookup = x->about && !strcmp(x->about->name, "Lookup");   /* unknown to the page */
    int equation = !is_lookup && edf_contraction_of(x);
    edf_lab__write_heading(to, x, group);
    edf_lab__write_lines(to, "line", x, EDF_FORWARD_LINE);
    if (x->backward && x->reached)
      edf_lab__write_lines(to, "back", x, EDF_BACKWARD_LINES);
    edf_write(to, equation ? ",\"eq\":" : x->about ? ",\"f\":1" : "");
    if (equation) edf_lab__write_equation(to, x);
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
  int group = 0;
  edf_write(&page, "{\"most\":%d,\"loss\":%d,\"nodes\":[\n", most,
            edf.loss ? edf_lab__number_of(edf.loss) : -1);
  for (int i = 0, n = edf_lab__n_nodes(); i < n; i++) {
    group += i && !edf_same_heading(edf_lab__nth(i), edf_lab__nth(i - 1));
    edf_lab__trace_node(&page, edf_lab__nth(i), group, most);
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
