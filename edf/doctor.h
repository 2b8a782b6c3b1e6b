/* edf/doctor.h - v4.0 - the doctor of edf.h: it watches a program learn, and experiments

   A companion of edf.h, which edf/lab.h includes. It includes edf/slide.h and uses only public
   names of edf.h. EDF_IMPLEMENTATION, defined in exactly one file, compiles its code too.
   edf_clear frees its memory. With EDF_NO_DEBUG all calls do nothing.
   MIT licence, like edf.h. Search for >>rules, >>steps, >>experiments. */
#if !defined(EDF_SLIDE_4_H) || \
    (defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_SLIDE__IMPLEMENTED))
#include "slide.h"
#endif
#ifndef EDF_DOCTOR_4_H
#define EDF_DOCTOR_4_H
#if EDF_VERSION != 400
#error "edf/doctor.h is version 4.0, and edf.h is another version: use one version of both"
#include "edf/doctor.h: another version" /* This file does not exist: a compiler stops here.  */
#endif

#ifdef __cplusplus
extern "C" {
#endif
/* Starts a doctor that watches a training. In the first 300 steps it applies its rules, and
   every 300 steps it looks at the loss. If something is wrong, it prints names, numbers and a
   hint. It does not know all mistakes, and now and then a healthy program breaks a rule:
   bench/doctor has the numbers. Each finding is printed once, and a cause hides its symptoms.
   There are rules about
     data        NaN, a code for missing values, bad scales, equal rows, the same rows in every
                 step, labels that stay, sorted labels, targets that cannot be reached,
                 tests with other numbers
     program     softmax twice, missing or over another index, a mask behind it, exchanged
                 arguments, an index summed alone, two batches, mixed rows, nothing nonlinear,
                 no gradient, a look at the future, unused nodes
     beginning   equal or zero weights, dead, saturated or faint units
     step        an old or missing gradient, steps uphill, too large or small, NaN, a large
                 decay, edf.training
   If the loss is at guessing after 300 steps, or has made no progress in the last 300, and no
   rule was broken, the doctor calls edf_try once. At guessing means: labels of other rows give
   the same loss. The parameters are the same bits as without a doctor. Call it again to watch
   another loss, or one that was built again. Errors: the loss is not computed.
   edf_check looks once, before training. It runs Forward and Backward, prints what it finds,
   and returns the number of findings. Then it restores the graph, so that it changes nothing.
   Errors: as edf_backward. */
void edf_doctor(edf_node *loss);
int edf_check(edf_node *loss);

/* Experiments with the last fed batch, prints a report, and returns the number of findings. It
   begins with the weights of the first step, if a doctor has seen it, else with the present
   ones. Then it restores the graph: values, memories of optimisers, random numbers.
     gradient   the derivative of the loss along each Parameter's gradient g is |g|
     rates      the batch alone, up to 100 steps of the program's optimiser, for rates from 1e-4
                to 1 and for the program's own. A batch of a right program can be learned.
     model      if no rate learns it: what moved, which rule is broken, where the gradient ends
     labels     the same with labels of other rows. If they are learned as fast, and help on
                another batch as much, labels and rows probably do not belong together.
   It takes at most 10 seconds of one processor, or as many as edf_try_within gets. Runs become
   shorter, at least 5 steps. The report names what is left out: an optimiser of your own,
   update functions, edf.after_backward, static variables of your nodes.
   Errors: as edf_backward. */
int edf_try(edf_node *loss);
int edf_try_within(edf_node *loss, double seconds);

#ifdef EDF_NO_DEBUG
#define edf_doctor(loss)              ((void)(loss))
#define edf_check(loss)               ((void)(loss), 0)
#define edf_try(loss)                 ((void)(loss), 0)
#define edf_try_within(loss, seconds) ((void)(loss), (void)(seconds), 0)
#endif
#ifdef __cplusplus
}
#endif
#endif /* EDF_DOCTOR_4_H */

#if defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_DOCTOR__IMPLEMENTED)
#define EDF_DOCTOR__IMPLEMENTED
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifndef EDF_NO_DEBUG
/* ---- Nodes by number: first Inputs, then Parameters, then CompNodes. */
static int edf_doctor__n_nodes(void) {
  return edf.n_inputs + edf.n_parameters + edf.n_compnodes;
}
static edf_node *edf_doctor__nth(int i) {
  int k = i - edf.n_inputs, c = k - edf.n_parameters;
  return k < 0 ? edf.inputs[i] : c < 0 ? edf.parameters[k] : edf.compnodes[c];
}

/* ==== >>rules  Rules about a program and its first steps ================================== */
/* The doctor is the table at the end of this chapter. A rule is a function and a row. The
   function gets a node, of the kind and at the moment that the row names. It returns 1 if the
   rule is broken, and leaves evidence for the row's sentence: a node, a text, numbers. A step
   is a Backward of the loss. The first EDF_DOCTOR__CLOSE steps are looked at, then every tenth.
   After EDF_DOCTOR__STEPS only the loss is looked at. */
enum { EDF_DOCTOR__TESTS = 2 };          /* that are looked at                                */
enum { EDF_DOCTOR__CLOSE = 20, EDF_DOCTOR__STEPS = 300, EDF_DOCTOR__WINDOW = 50 };
enum { EDF_DOCTOR__COPIED = 64 << 20 };  /* bytes of the largest Input that is copied         */
enum {                                   /* the moments                                       */
  EDF_DOCTOR__FED = 1,                   /* a Forward begins                                  */
  EDF_DOCTOR__MOVED = 2,                 /* a Backward of the loss begins, after a step       */
  EDF_DOCTOR__FIRST = 4,                 /* the first Backward of the loss has ended          */
  EDF_DOCTOR__LEARNT = 8,                /* a Backward of the loss has ended                  */
  EDF_DOCTOR__TESTED = 16                /* a Forward has ended that is not of a training     */
};
/* What a rule gets: each Input, each Parameter, each CompNode, or one of the parts. */
enum {
  EDF_DOCTOR__LOSS = 3,
  EDF_DOCTOR__DATA,                      /* the Input with the longest rows                   */
  EDF_DOCTOR__HEAD,                      /* the node that compares an output with an Input    */
  EDF_DOCTOR__LABELS,                    /* this Input, if it has class numbers               */
  EDF_DOCTOR__TARGETS,                   /* this Input, if it has no class numbers            */
  EDF_DOCTOR__OUTPUT,                    /* the output                                        */
  EDF_DOCTOR__SCORES,                    /* the argument of the softmax or of BCELoss         */
  EDF_DOCTOR__PARTS
};

typedef struct {                         /* notes about a node                                */
  edf_real *before;                      /* a Parameter's values before the step, or an       */
                                         /* Input's at the last look                          */
  size_t n;                              /* number of them                                    */
  edf_real *start;                       /* a Parameter's values before the first step        */
  double norm;                           /* of its gradient                                   */
  int idle;                              /* looks in a row without a move                     */
  int same;                              /* looks in a row with the same values of an Input   */
} edf_doctor__note;

typedef struct {
  void (*earlier)(edf_event event, edf_node *x); /* edf.told before the doctor                */
  edf_node *part[EDF_DOCTOR__PARTS];     /* the parts of the program, or NULL                 */
  int classes;                           /* 0 if there are no labels                          */
  edf_doctor__note *note[EDF_COMPNODE + 1]; /* by kind and position                           */
  char said[64];                         /* by rule: 1 if it has reported                     */
  int found;                             /* number of findings                                */
  /* the evidence of a rule */
  edf_node *x;                           /* the node that is printed                          */
  edf_node *y;                           /* another one                                       */
  edf_doctor__note *n;                   /* the notes about x                                 */
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
  double mean[EDF_DOCTOR__STEPS / EDF_DOCTOR__WINDOW]; /* of the losses in each window        */
  double sum[2]; /* of the losses at looks, in the last EDF_DOCTOR__STEPS                     */
                                         /* and in those before                               */
  double last;                           /* the loss of the last look                         */
  int tests;                             /* Forwards that are no training                     */
  int rows;                              /* in the last batch                                 */
  int feeds_in_a_row;                    /* steps in a row with a new feed                    */
  int tried;                             /* 1 if experiments have run, or are not needed      */
  int stands;                            /* 1 if the first EDF_DOCTOR__STEPS had no progress  */
  double along;                          /* cosine of the step and the gradient               */
  double change;                         /* |dp| / |p| of the step                            */
  double most_change;                    /* the largest so far                                */
  double slope;                          /* |g| of all Parameters                             */
  double most_slope;                     /* the largest so far                                */
  int faded;                             /* looks in a row at steps that are almost 0         */
  int clipped;                           /* looks in a row at a gradient that was cut         */
  int alike;                             /* batches in a row with equal rows                  */
  int n_pure;                            /* rows of batches with one class                    */
} edf_doctor__doctor;

/* ---- Numbers about a tensor */
static edf_statistics edf_doctor__stats(edf_node *x) {
  return edf_statistics_of(edf_value(x), x->size);
}
static double edf_doctor__norm(const edf_real *v, size_t n) {
  double squares = 0;
  for (size_t i = 0; i < n; i++) squares += (double)v[i] * (double)v[i];
  return sqrt(squares);
}
static int edf_doctor__last_dim(const edf_node *x) { return x->rank ? x->dim[x->rank - 1] : 1; }
/* Returns 1 if v, which has p's shape, is the same along index k. */
static int edf_doctor__is_same_along(const edf_node *p, const edf_real *v, int k) {
  size_t stride = 1, n = (size_t)p->dim[k];
  for (int j = k + 1; j < p->rank; j++) stride *= (size_t)p->dim[j];
  for (size_t i = 0; i + stride < p->size; i++) {
    double a = (double)v[i], b = (double)v[i + stride];
    if (i / stride % n + 1 < n && fabs(a - b) > 1e-6 * (fabs(a) + fabs(b))) return 0;
  }
  return n > 1;
}
/* Returns 1 if each row of x along its last index sums to 1, and no entry is below 0. */
static int edf_doctor__sums_to_one(edf_node *x) {
  size_t n = (size_t)edf_doctor__last_dim(x);
  const edf_real *v = edf_value(x);
  for (size_t i = 0; i < x->size; i += n) {
    double sum = 0;
    for (size_t k = i; k < i + n; k++) sum += v[k] < 0 ? 2 : (double)v[k];
    if (!(fabs(sum - 1) < 1e-3)) return 0;
  }
  return n > 1;
}

/* ---- The parts of the program. Backward makes the nodes active that the loss needs. */
static int edf_doctor__is(const edf_node *x, const char *op) { return !strcmp(x->op, op); }
static int edf_doctor__is_softmax(const edf_node *x) { return !strncmp(x->op, "Softmax", 7); }
static int edf_doctor__looks_up(const edf_node *x) {
  return edf_doctor__is(x, "Embed") || edf_doctor__is(x, "Lookup");
}
static int edf_doctor__bends(const edf_node *x) {
  return edf_doctor__is(x, "Relu") || edf_doctor__is(x, "Sigmoid") || edf_doctor__is(x, "Tanh");
}
static int edf_doctor__learns(const edf_node *p) {
  return p->active && p->grad && p->reached && p->update != edf_frozen;
}
/* Returns the n-th node that uses x, or NULL. */
static edf_node *edf_doctor__user_of(const edf_node *x, int n) {
  for (int i = 0; i < edf.n_compnodes; i++)
    for (int k = 0; k < edf.compnodes[i]->n_in; k++)
      if (edf.compnodes[i]->in[k] == x && n-- == 0) return edf.compnodes[i];
  return NULL;
}

/* Returns the notes about x. */
static edf_doctor__note *edf_doctor__note_of(edf_doctor__doctor *d, const edf_node *x) {
  edf_doctor__note **of = &d->note[x->kind];
  size_t n = 16;
  while (n <= (size_t)x->position) n *= 2;
  *of = (edf_doctor__note *)edf_keep(*of, n * sizeof **of);
  return *of + x->position;
}

/* If c compares an output with an Input, c is the head. Between c and the loss, each node has
   one input, unless the Input has labels. */
static void edf_doctor__find_head(edf_doctor__doctor *d, edf_node *c) {
  int k = c->n_in == 2 && c->in[1]->kind == EDF_INPUT;
  edf_node *t = c->n_in == 2 ? c->in[k] : c, *out = c->n_in == 2 ? c->in[1 - k] : c;
  int is_log_loss = edf_doctor__is(c, "LogLoss"), is_softmax = edf_doctor__is_softmax(c);
  int labels = out->rank == t->rank + 1 && (is_log_loss || is_softmax || !c->about);
  if (t->kind != EDF_INPUT || out->kind != EDF_COMPNODE) return;
  const edf_node *z = c, *loss = d->part[EDF_DOCTOR__LOSS];
  while (z && z != loss && (z == c || z->n_in == 1)) z = edf_doctor__user_of(z, 0);
  if (!labels && (out->rank != t->rank || z != loss || edf_doctor__is(c, "Mul") ||
                  (k == 0 && strstr(c->op, "Loss")))) return;
  d->part[EDF_DOCTOR__HEAD] = c;
  d->part[labels ? EDF_DOCTOR__LABELS : EDF_DOCTOR__TARGETS] = t;
  d->part[EDF_DOCTOR__OUTPUT] = out;
  if (is_softmax || edf_doctor__is(c, "BCELoss")) d->part[EDF_DOCTOR__SCORES] = out;
  if (is_log_loss && edf_doctor__is_softmax(out)) d->part[EDF_DOCTOR__SCORES] = out->in[0];
}

static void edf_doctor__find_parts(edf_doctor__doctor *d, edf_node *loss) {
  size_t longest = 0;
  memset(d->part, 0, sizeof d->part);
  d->part[EDF_DOCTOR__LOSS] = loss;
  for (int i = loss->position; i >= 0 && !d->part[EDF_DOCTOR__HEAD]; i--)
    if (edf.compnodes[i]->active) edf_doctor__find_head(d, edf.compnodes[i]);
  d->classes = d->part[EDF_DOCTOR__LABELS] ? edf_doctor__last_dim(d->part[EDF_DOCTOR__OUTPUT])
             : 0;
  for (int i = 0; i < edf.n_inputs; i++) {
    edf_node *x = edf.inputs[i];
    if (!x->active || !(x->batched & 1) || x == d->part[EDF_DOCTOR__LABELS]) continue;
    size_t row = x == d->part[EDF_DOCTOR__TARGETS] ? 1 : x->size / (size_t)x->dim[0] + 1;
    if (row > longest) d->part[EDF_DOCTOR__DATA] = x;
    if (row > longest) longest = row;
  }
}

/* ---- Rules about the data. The table has their sentences. */
static int edf_doctor__is_look(const edf_doctor__doctor *d) {
  return d->step < EDF_DOCTOR__CLOSE || d->step % 10 == 0;
}
/* Returns 1 if a Parameter multiplies x, or a node that is computed from x alone. */
static int edf_doctor__meets_parameter(const edf_node *x) {
  for (int i = 0; i < edf.n_compnodes; i++) {
    const edf_node *c = edf.compnodes[i];
    int uses = 0, parameters = 0;
    for (int k = 0; k < c->n_in; k++) {
      uses |= c->in[k] == x;
      parameters |= c->in[k]->kind == EDF_PARAMETER;
    }
    if (!uses || !c->active) continue;
    const edf_contraction *m = parameters && c->about ? edf_contraction_of(c) : NULL;
    for (int t = 0; m && t < m->e.n_term; t++) { /* W[I] x[b,I] - y[b] multiplies x alone.    */
      const edf_term *term = &m->e.term[t];
      int here = 0, with = 0;
      for (int r = term->first; r < term->first + term->n; r++) {
        here |= c->in[m->e.ref[r].operand] == x;
        with |= c->in[m->e.ref[r].operand]->kind == EDF_PARAMETER;
      }
      if (here && with) return 1;
    }
    if (parameters && !m) return 1;
    if (!c->needs_grad && edf_doctor__meets_parameter(c)) return 1;
  }
  return 0;
}
/* Returns 1 if an Input has labels or targets: what the model computes is compared with it. */
static int edf_doctor__is_target(const edf_doctor__doctor *d, const edf_node *x) {
  return x->active && (x->batched & 1) && x != d->part[EDF_DOCTOR__DATA] &&
         !edf_doctor__meets_parameter(x);
}
/* Returns 1 if most of the numbers are whole, as classes, symbols and counts are. */
static int edf_doctor__are_whole(const edf_real *v, size_t n) {
  size_t whole = 0;
  for (size_t i = 0; i < n; i++) whole += (double)v[i] == floor((double)v[i]);
  return 2 * whole > n;
}
/* A code such as -99 is far from all other numbers, and some entries have it. */
static int edf_doctor__has_code(edf_doctor__doctor *d, edf_node *x) {
  const edf_real *v = edf_value(x);
  if (d->step > 1) return 0;
  edf_statistics all = edf_doctor__stats(x);
  for (int k = 0; k < 2; k++) {
    double code = k ? all.greatest : all.least, least = HUGE_VAL, greatest = -HUGE_VAL;
    d->b = 0;
    for (size_t i = 0; i < x->size; i++) {
      double number = (double)v[i];
      d->b += number == code;
      if (number != code) least = fmin(least, number);
      if (number != code) greatest = fmax(greatest, number);
    }
    d->a = code;
    if (k && edf_doctor__are_whole(v, x->size)) return 0;    /* a large count                 */
    if (code == floor(code) && d->b >= 2 && 3 * d->b < (double)x->size && greatest > least &&
        fmax(least - code, code - greatest) > 3 * (greatest - least)) return 1;
  }
  return 0;
}
static int edf_doctor__is_sorted(const edf_real *v, size_t n) {
  size_t i = 1;
  while (i < n && v[i - 1] <= v[i]) i++;
  return i >= n;
}
/* The labels stay, and the data changes. Sorted ones may belong to halves of a batch. */
static int edf_doctor__is_left(edf_doctor__doctor *d, edf_node *y) {
  edf_node *x = d->part[EDF_DOCTOR__DATA];
  int is_label = y == d->part[EDF_DOCTOR__LABELS] || y == d->part[EDF_DOCTOR__TARGETS];
  if (d->step != EDF_DOCTOR__CLOSE || !x || !is_label) return 0;
  d->y = x;
  d->a = d->n->same + 1;
  return d->n->same >= EDF_DOCTOR__CLOSE - 1 && !edf_doctor__note_of(d, x)->same &&
         !edf_doctor__is_sorted(edf_value(y), y->size);
}
/* Returns 1 if all Inputs had the same values in all looks. */
static int edf_doctor__has_one_batch(edf_doctor__doctor *d) {
  for (int i = 0; i < edf.n_inputs; i++)
    if (edf.inputs[i]->active &&
        edf_doctor__note_of(d, edf.inputs[i])->same < EDF_DOCTOR__CLOSE - 1) return 0;
  return 1;
}
/* A program with all its rows in a batch often feeds them once. It seldom has 64 rows. If it is
   not certain, it is no finding. */
static int edf_doctor__is_same_batch(edf_doctor__doctor *d, edf_node *x) {
  int rows = x->dim[0], round = rows <= 256 && !(rows & (rows - 1));
  if (d->step != EDF_DOCTOR__CLOSE || rows < 16 || !edf_doctor__has_one_batch(d)) return 0;
  d->a = rows;
  d->b = (double)d->step;
  if (round && d->feeds_in_a_row >= EDF_DOCTOR__CLOSE - 1) return 1;
  printf("note: step %ld: the same %d rows came in each step\n", d->step, rows);
  return 0;
}
/* Every step had the same rows, and the loss of a test is far above theirs. */
static int edf_doctor__is_only_batch(edf_doctor__doctor *d, edf_node *x) {
  edf_node *loss = d->part[EDF_DOCTOR__LOSS];
  if (!edf_doctor__has_one_batch(d)) return 0;
  d->a = loss->ran == edf.feeds ? edf_doctor__stats(loss).mean : 0;
  d->b = d->last;
  return x && d->a > 3 * fabs(d->last) + 0.3 * fabs(d->first);
}
/* The numbers of a test are far from those of the last look, as a whole or in a column. */
static int edf_doctor__is_other_data(edf_doctor__doctor *d, edf_node *x) {
  const edf_doctor__note *n = d->n;
  size_t rows = (size_t)x->dim[0], row = x->size / rows, its_rows = n->n / row;
  if (d->step < EDF_DOCTOR__CLOSE || rows < 16 || its_rows < 16 || n->n % row) return 0;
  if (edf_doctor__looks_up(edf_doctor__user_of(x, 0))) return 0;
  edf_statistics all = edf_statistics_of(n->before, n->n);
  const edf_real *v = edf_value(x);
  if (rows > 256) rows = 256;
  d->s = edf_statistics_of(v, rows * row);
  d->a = all.mean;
  d->b = all.deviation;
  if (d->s.bad || !(d->s.deviation > 0)) return 0;
  for (size_t k = 0; k < row && !edf_doctor__are_whole(v, rows * row); k++) {
    double mean = 0, its_mean = 0, squares = 0;
    for (size_t b = 0; b < rows; b++) mean += (double)v[b * row + k] / (double)rows;
    for (size_t b = 0; b < its_rows; b++)
      its_mean += (double)n->before[b * row + k] / (double)its_rows;
    for (size_t b = 0; b < its_rows; b++)
      squares += pow((double)n->before[b * row + k] - its_mean, 2.0) / (double)its_rows;
    if (squares > 0 && fabs(mean - its_mean) > 1.5 * sqrt(squares)) return 1;
  }
  return fabs(d->s.mean - all.mean) > all.deviation || d->s.deviation > 3 * all.deviation ||
         d->s.deviation < all.deviation / 3;
}
/* A number of each row is the same in this batch and the one before. 0 may be a margin, and 1
   the factor of a bias. */
static int edf_doctor__has_constant(edf_doctor__doctor *d, edf_node *x) {
  const edf_real *v = edf_value(x), *old = d->n->before;
  size_t rows = (size_t)x->dim[0], row = x->size / rows;
  if (d->step != EDF_DOCTOR__CLOSE || rows < 16 || row < 2 || row > 32 || d->n->same ||
      d->n->n != x->size || edf_doctor__are_whole(v, x->size)) return 0;
  for (size_t k = 0; k < row; k++) {
    size_t b = 0;
    while (b < rows && v[b * row + k] == v[k] && old[b * row + k] == v[k]) b++;
    d->a = (double)k;
    d->b = (double)v[k];
    if (b == rows && d->b != 0 && d->b != 1) return 1;
  }
  return 0;
}
/* Above 20 a first layer saturates, or its steps are too large. */
static int edf_doctor__is_scaled_badly(edf_doctor__doctor *d, edf_node *x) {
  const edf_node *user = edf_doctor__user_of(x, 0);
  if ((d->step > 3 && d->step % 50) || edf_doctor__looks_up(user) || !user->about) return 0;
  edf_statistics s = d->s = edf_doctor__stats(x);
  int is_large = s.greatest > 20 || s.least < -20;
  int is_far = x->size >= 16 && fabs(s.mean) > 3 * s.deviation && fabs(s.mean) > 0.5;
  d->what = s.least >= 0 && s.greatest > 127 && s.greatest <= 255 ? "look like 0...255"
          : is_large ? "are not scaled" : "are far from centred";
  return !s.bad && (is_large || is_far);
}
static int edf_doctor__has_equal_rows(edf_doctor__doctor *d, edf_node *x) {
  const edf_real *v = edf_value(x);
  size_t row = x->size / (size_t)x->dim[0];
  int same = !memcmp(v, v + row, (x->size - row) * sizeof *v); /* each and the next one       */
  d->alike = same && edf_doctor__norm(v, row) > 0 ? d->alike + 1 : 0;
  d->a = x->dim[0];
  return d->alike >= 3 && d->a >= 8;
}
static int edf_doctor__is_unused_input(edf_doctor__doctor *d, edf_node *x) {
  (void)d;
  return x->fed >= 0 && !edf_doctor__user_of(x, 0);
}
/* Most batches have one class each. */
static int edf_doctor__is_not_shuffled(edf_doctor__doctor *d, edf_node *y) {
  if (y->rank == 1 && y->size >= 16 && d->s.least == d->s.greatest) d->n_pure += (int)y->size;
  d->a = d->n_pure;
  return d->n_pure >= 512 && 2 * d->n_pure > d->step * (long)y->size;
}
static int edf_doctor__is_target_far(edf_doctor__doctor *d, edf_node *t) {
  edf_node *out = d->part[EDF_DOCTOR__OUTPUT];
  int is_bounded = edf_doctor__bends(out) ||
                   edf_doctor__is(d->part[EDF_DOCTOR__HEAD], "BCELoss");
  double size = d->s.norm / sqrt((double)t->size);
  d->a = !is_bounded ? -3 : edf_doctor__is(out, "Tanh") ? -1 : 0;
  d->b = !is_bounded ? 3 : edf_doctor__is(out, "Relu") ? HUGE_VAL : 1;
  int is_out = is_bounded && (d->s.least < d->a || d->s.greatest > d->b);
  d->what = is_out ? "outside of what the output can reach" : "not scaled";
  return is_out || (size > 30 && d->s.norm > 20 * edf_doctor__stats(out).norm);
}

/* ---- Rules about the program */
static int edf_doctor__is_score_bent(edf_doctor__doctor *d, edf_node *s) {
  int twice = d->classes && edf_doctor__sums_to_one(s);
  d->what = twice ? "softmax twice: the loss" : edf_label(d->part[EDF_DOCTOR__HEAD]);
  return twice || edf_doctor__bends(s);
}
static int edf_doctor__is_no_probability(edf_doctor__doctor *d, edf_node *P) {
  return edf_doctor__is(d->part[EDF_DOCTOR__HEAD], "LogLoss") && !d->s.bad &&
         !edf_doctor__sums_to_one(P);
}
/* As in softmax_k s[b,k] - c[k], which subtracts c from the probabilities. */
static int edf_doctor__is_above_one(edf_doctor__doctor *d, edf_node *y) {
  if (!edf_doctor__is_look(d) || !edf_doctor__is(y, "Log") ||
      !edf_doctor__is(y->in[0], "Lookup")) return 0;
  d->a = edf_doctor__stats(y->in[0]).greatest;
  d->x = y->in[0]->in[0];
  return d->a > 1.01;
}
static int edf_doctor__is_exchanged(edf_doctor__doctor *d, edf_node *c) {
  (void)d;
  return c->n_in == 2 && strstr(c->op, "Loss") && c->in[0]->kind == EDF_INPUT &&
         c->in[1]->needs_grad;
}
/* e[b,c] = p[b] - y[c] */
static int edf_doctor__has_two_batches(edf_doctor__doctor *d, edf_node *e) {
  d->a = e->dim[0];
  return e->rank == 2 && e->n_in == 2 && e->batched == 3 && e->in[0]->rank == 1 &&
         e->in[1]->rank == 1 && e->in[0]->needs_grad != e->in[1]->needs_grad;
}
/* relu(...) inside an equation has no name. It was meant to have all indices of y. */
static int edf_doctor__is_repeated(edf_doctor__doctor *d, edf_node *y) {
  const edf_node *h = d->y = y->in[0];
  return y->n_in == 1 && edf_doctor__is(y, "Einsum") && y->rank == h->rank + 1 && h->rank > 1 &&
         edf_doctor__bends(h) && !strncmp(h->name, h->op, strlen(h->op));
}
static int edf_doctor__has_matrix(const edf_node *y) {
  int n = 0;
  for (int k = 0; k < y->n_in; k++) n += y->in[k]->kind == EDF_PARAMETER && y->in[k]->rank == 2;
  return n == 1 && !edf_doctor__looks_up(y);
}
static int edf_doctor__n_data(const edf_node *y) {
  int n = 0;
  for (int k = 0; k < y->n_in; k++) n += y->in[k]->kind != EDF_PARAMETER;
  return n;
}
/* A narrow layer between two wide ones may be meant. A residual path has two inputs with data:
   it is nonlinear if one of them is. */
static int edf_doctor__is_linear_twice(edf_doctor__doctor *d, edf_node *y) {
  for (int k = 0; k < y->n_in; k++)
    if (edf_doctor__has_matrix(y->in[k])) d->y = y->in[k];
  return d->y && edf_doctor__n_data(y) == 1 && edf_doctor__n_data(d->y) == 1 &&
         edf_doctor__has_matrix(y) && !edf_doctor__user_of(d->y, 1) &&
         edf_doctor__last_dim(d->y) > edf_doctor__last_dim(y);
}
/* c has no backward, and nothing beside it brings a gradient from the data. */
static int edf_doctor__cuts_gradient(edf_doctor__doctor *d, edf_node *c) {
  const edf_node *user = edf_doctor__user_of(c, 0);
  for (int k = 0; user && k < user->n_in; k++)
    if (user->in[k] != c && user->in[k]->kind != EDF_PARAMETER) return 0;
  d->y = c->in[0];
  return user && !c->backward && d->y && d->y->grad &&
         edf_doctor__norm(edf_grad(d->y), d->y->size) == 0;
}
/* After a while, so that a program with several losses has come to each of them. */
static int edf_doctor__is_unused(edf_doctor__doctor *d, edf_node *p) {
  return !p->grad && p->update != edf_frozen && (d->step == EDF_DOCTOR__WINDOW || !d->step);
}
/* Returns the dimension along which x sums to one, or -1. */
static int edf_doctor__one_along(edf_node *x) {
  const edf_real *v = edf_value(x);
  size_t stride = 1;
  for (int k = x->rank - 1; k >= 0; stride *= (size_t)x->dim[k--]) {
    double sum = 0;
    size_t from = 0;
    for (; from < x->size && fabs(sum - (from > 0)) < 1e-3; from++) {
      if (from / stride % (size_t)x->dim[k]) continue; /* not the first along k               */
      sum = 0;
      for (int i = 0; i < x->dim[k]; i++) sum += (double)v[from + (size_t)i * stride];
    }
    if (x->dim[k] > 1 && from == x->size && fabs(sum - 1) < 1e-3) return k;
  }
  return -1;
}
/* A softmax over another index than the last one ends with an exchange of indices. */
static int edf_doctor__has_weights(const edf_node *P) {
  return edf_doctor__is_softmax(P) || (P->n_in == 1 && P->size == P->in[0]->size &&
                                       edf_doctor__is_softmax(P->in[0]));
}
/* c sums with the weights of a softmax: over another index than its own, or over a part. */
static int edf_doctor__weighs_wrongly(edf_doctor__doctor *d, edf_node *c) {
  const edf_contraction *m = c->about ? edf_contraction_of(c) : NULL;
  for (int t = 0; m && t < m->e.n_term; t++) {
    const edf_term *term = &m->e.term[t];
    for (int r = term->first; r < term->first + term->n; r++) {
      edf_node *P = d->y = c->in[m->e.ref[r].operand];
      int k = edf_doctor__has_weights(P) && P->rank > 1 ? edf_doctor__one_along(P) : -1;
      int sums = 0, own = 0;
      if (k < 0 || m->e.ref[r].rank != P->rank) continue;
      for (int i = 0; i < m->e.n_index; i++)
        for (int q = 0; q < P->rank; q++)
          if (m->e.ref[r].place[q].factor[i] && !m->e.index[i].left) {
            sums = 1;
            own |= q == k;
          }
      if (sums && !own) return d->what = "a sum is over another index than", 1;
      if (own && term->masks && edf_value(P)[P->dim[P->rank - 1] - 1] > 0)
        return d->what = "a mask stands behind", 1;
    }
  }
  return 0;
}
/* ---- Rules about the beginning */
/* Returns an index along which p's gradient is the same, and its values, unless `same` is 0. In
   the first step the data of p may begin with equal units. */
static int edf_doctor__same_index(const edf_doctor__doctor *d, edf_node *p, int same) {
  int k = p->rank > 1 && edf_doctor__learns(p) && (d->step == 3 || !d->step) ? p->rank - 1 : -1;
  while (k >= 0 && (!edf_doctor__is_same_along(p, edf_grad(p), k) ||
                    edf_doctor__is_same_along(p, edf_value(p), k) != same)) k--;
  return k;
}
static int edf_doctor__is_summed_alone(edf_doctor__doctor *d, edf_node *p) {
  d->a = edf_doctor__same_index(d, p, 0);
  return d->a >= 0 && edf_doctor__norm(edf_grad(p), p->size) > 0;
}
/* Weights of one layer may begin at 0, since they soon differ. */
static int edf_doctor__is_symmetric(edf_doctor__doctor *d, edf_node *p) {
  d->a = edf_doctor__same_index(d, p, 1);
  if (d->a < 0) return 0;
  d->what = edf_doctor__norm(edf_value(p), p->size) > 0 ? "begins with equal units"
                                                     : "is all zero: its units are alike";
  return !edf_doctor__stats(p).bad;
}
/* Inputs of deviation 1 saturate 0.01 % of a Sigmoid and 0.8 % of a Tanh. */
static int edf_doctor__is_saturated(edf_doctor__doctor *d, edf_node *y) {
  double edge = edf_doctor__is(y, "Sigmoid") ? 3.87
              : edf_doctor__is(y, "Tanh") ? 2.65 : HUGE_VAL;
  d->a = 0;
  for (size_t i = 0; edge < HUGE_VAL && i < y->size; i++)
    d->a += fabs((double)edf_value(y->in[0])[i]) > edge ? 100 / (double)y->size : 0;
  return d->a > 50;
}
/* A unit, along the last index, is dead if it is 0 for every row. A few begin like this. */
static int edf_doctor__is_dead(edf_doctor__doctor *d, edf_node *y) {
  size_t n = (size_t)edf_doctor__last_dim(y), rows = y->size / n, row;
  if (!edf_doctor__is(y, "Relu") || rows < 16 || (d->step > 1 && d->step < 300)) return 0;
  d->a = 0;
  for (size_t j = 0; j < n; j++) {
    for (row = 0; row < rows && edf_value(y)[row * n + j] <= 0; row++) {}
    d->a += row == rows ? 100 / (double)n : 0;
  }
  return d->a > 60 && edf_doctor__stats(y->in[0]).norm > 0;
}
/* The rows of a nonlinear node hardly differ: what they have in common may be learned, not
   what tells them apart. */
static int edf_doctor__is_faint(edf_doctor__doctor *d, edf_node *h) {
  const edf_real *v = edf_value(h);
  size_t rows = h->rank ? (size_t)h->dim[0] : 1, row = h->size / rows;
  double apart = 0;
  if (!edf_doctor__bends(h) || rows < 8 || !(h->batched & 1)) return 0;
  if (!d->part[EDF_DOCTOR__DATA]) return 0;
  for (size_t i = row; i < h->size; i++)
    apart += pow((double)v[i] - (double)v[i - row], 2.0) / (double)h->size;
  edf_statistics x = edf_doctor__stats(d->part[EDF_DOCTOR__DATA]);
  d->a = sqrt(apart);
  d->b = x.deviation;
  return d->a > 0 && d->a < 1e-3 * fmin(1.0, x.deviation);
}
static int edf_doctor__has_shrunk(edf_doctor__doctor *d, edf_node *p) {
  if (d->step != EDF_DOCTOR__STEPS || p->rank < 2 || !edf_doctor__learns(p)) return 0;
  if (!d->n->start) return 0;
  d->a = edf_doctor__norm(edf_value(p), p->size) / edf_doctor__norm(d->n->start, p->size);
  return d->a < 0.25;
}

/* ---- Rules about the step */
static int edf_doctor__is_stale(edf_doctor__doctor *d, edf_node *p) {
  if (!edf.accumulate || !edf_doctor__is_look(d) || d->change <= 0 || d->several) return 0;
  d->a = edf_doctor__learns(p) ? edf_doctor__norm(edf_grad(p), p->size) : 0;
  return d->a > 0;
}
static int edf_doctor__is_idle(edf_doctor__doctor *d, edf_node *p) {
  d->a = d->n->norm;
  return d->n->idle >= 10 && edf_doctor__learns(p) && d->change > 1e-5 && !d->several;
}
/* The first step of any optimiser goes against the gradient. */
static int edf_doctor__goes_up(edf_doctor__doctor *d, edf_node *loss) {
  d->a = d->along;
  return loss && d->step == 1 && !d->several && d->along > 0.5;
}
/* Forwards of new data without Backward are an evaluation. To train with the running statistics
   of BatchNorm may be meant, to train without Dropout hardly. */
static int edf_doctor__is_wrong_mode(edf_doctor__doctor *d, edf_node *c) {
  int drops = edf_doctor__is(c, "Dropout"), evaluates = d->unlearnt >= 3 && d->step > 0;
  d->a = evaluates ? d->unlearnt : d->untrained;
  d->what = evaluates ? "evaluated as in training: edf.training is 1"
                      : "trained as in evaluation: edf.training is 0";
  return drops ? evaluates || d->untrained >= 5 : evaluates && edf_doctor__is(c, "BatchNorm");
}
/* The loss is high after a large step, or large steps lead nowhere. */
static int edf_doctor__is_too_large(edf_doctor__doctor *d, edf_node *loss) {
  double size = fmax(fabs(d->first), d->classes ? log((double)d->classes) : 0);
  int is_high = d->change > 0.1 && !(edf_doctor__stats(loss).mean <= 10 * size);
  int is_stuck = d->step == EDF_DOCTOR__STEPS && d->mean[5] > d->mean[1] && !d->several;
  d->a = d->most_change;
  return is_high || (is_stuck && d->most_change > 0.1);
}
static int edf_doctor__is_too_small(edf_doctor__doctor *d, edf_node *loss) {
  double least = d->step >= EDF_DOCTOR__WINDOW ? 1e-6 : 0;
  int is_still = d->step >= EDF_DOCTOR__CLOSE && d->most_change <= least && !edf.accumulate;
  int is_cut = d->clipped >= EDF_DOCTOR__CLOSE && d->change < 2e-3;
  d->a = d->change;
  d->what = is_still && d->most_change <= 0 ? "no parameter has ever moved"
          : is_still ? "the step is too small: nothing moves"
          : is_cut ? "each gradient is cut to less than a tenth" : "the steps fade to nothing";
  return loss && (is_still || is_cut || d->faded >= 5);
}

static int edf_doctor__has_nan(edf_node *x) {
  const edf_real *v = edf_value(x);
  size_t i = 0;
  while (i < x->size && v[i] == v[i]) i++;
  return i < x->size;
}
/* Returns an input of x that has a NaN, or an infinity if `nan` is 0, or NULL. A computed node
   goes before a mask. */
static edf_node *edf_doctor__bad_input(const edf_node *x, int nan) {
  edf_node *found = NULL;
  for (int k = 0; k < x->n_in; k++) {
    edf_node *from = x->in[k];
    if (found && from->kind != EDF_COMPNODE) continue;
    if (nan ? edf_doctor__has_nan(from) : edf_doctor__stats(from).bad > 0) found = from;
  }
  return found;
}
/* The first node with a NaN, or the first infinity that has led to it. An infinity in an Input
   or a Parameter is a cause only if the loss is infinite. A large step explains a node. */
static int edf_doctor__is_not_finite(edf_doctor__doctor *d, edf_node *loss) {
  edf_node *first = loss, *from;
  d->y = loss;
  if (!edf_doctor__stats(loss).bad) return 0;
  while ((from = edf_doctor__bad_input(first, 1)) != NULL) first = from;
  d->x = first;
  while ((from = edf_doctor__bad_input(d->x, 0)) != NULL) d->x = from;
  if (edf_doctor__has_nan(loss) && d->x->kind != EDF_COMPNODE) d->x = first;
  d->what = d->x->kind == EDF_INPUT ? "input" : "node";
  d->a = (double)edf_doctor__stats(d->x).bad;
  return d->x->kind == EDF_INPUT || !(d->change > 0.1);
}

/* ---- The table, in the order of cause. A symptom, 1, is held back once a fault was found. In
   a sentence, @x and @y are nodes, @w is a text, @a and @b are numbers. */
static const struct {
  int when;
  int of;
  int symptom;
  int (*broken)(edf_doctor__doctor *d, edf_node *x);
  const char *says;
  const char *hint;
} edf_doctor__rules[] = {
  { EDF_DOCTOR__LEARNT, EDF_DOCTOR__DATA, 0, edf_doctor__has_code,
    "the number @a in @b entries of the input is far from all others",
    "is it a code for a missing value? Leave these rows out, or put a mean in its place" },
  { EDF_DOCTOR__LEARNT, EDF_INPUT, 0, edf_doctor__is_left,
    "@x is the same in each of @a steps, while @y changes", "feed the labels of each batch" },
  { EDF_DOCTOR__LEARNT, EDF_DOCTOR__DATA, 0, edf_doctor__is_same_batch,
    "the same @a rows came in each of @b steps", "does the loop move on to the next rows?" },
  { EDF_DOCTOR__TESTED, EDF_DOCTOR__DATA, 0, edf_doctor__is_only_batch,
    "every step had the same rows: their loss is @b, and that of a test @a",
    "does the loop move on to the next rows?" },
  { EDF_DOCTOR__LEARNT, EDF_DOCTOR__DATA, 0, edf_doctor__has_constant,
    "number @a of each row of @x is @b in all rows", "is this column filled?" },
  { EDF_DOCTOR__TESTED, EDF_DOCTOR__DATA, 1, edf_doctor__is_other_data,
    "a test has other numbers: they are @l to @g\n  in training: mean @a, deviation @b, or "
    "another mean in a column",
    "the same mean and deviation for both, those of the training data" },
  { EDF_DOCTOR__LEARNT, EDF_DOCTOR__DATA, 1, edf_doctor__is_scaled_badly,
    "inputs @w\n  @l to @g; usual: mean 0, deviation 1",
    "divide pixels by 255; else subtract each column's mean and divide by its deviation" },
  { EDF_DOCTOR__LEARNT, EDF_DOCTOR__DATA, 0, edf_doctor__has_equal_rows,
    "all @a rows of the input are the same", "does the loader move on from row to row?" },
  { EDF_DOCTOR__FED, EDF_COMPNODE, 0, edf_doctor__is_wrong_mode,
    "@w\n  @a times in a row", "edf.training = 0 to evaluate, 1 to train" },
  { EDF_DOCTOR__LEARNT, EDF_DOCTOR__LABELS, 0, edf_doctor__is_not_shuffled,
    "not shuffled: @a rows were in batches of one label", "edf_shuffle(&x, &y) in each epoch" },
  { EDF_DOCTOR__FIRST, EDF_INPUT, 0, edf_doctor__is_unused_input,
    "the input @x is fed, but no node uses it", "is a line of the model missing?" },
  { EDF_DOCTOR__FIRST, EDF_DOCTOR__TARGETS, 0, edf_doctor__is_target_far,
    "targets are @w\n  @l to @g; expected: @a to @b",
    "subtract their mean and divide by their deviation; let the last layer be affine" },
  { EDF_DOCTOR__FIRST, EDF_DOCTOR__SCORES, 0, edf_doctor__is_score_bent,
    "@w takes scores, but @x is bounded",
    "the last layer is affine, and one Softmax before LogLoss, none before SoftmaxLogLoss" },
  { EDF_DOCTOR__FIRST, EDF_DOCTOR__OUTPUT, 0, edf_doctor__is_no_probability,
    "LogLoss of @x, which does not sum to 1 over the last index", "Softmax before LogLoss" },
  { EDF_DOCTOR__LEARNT, EDF_COMPNODE, 0, edf_doctor__is_above_one,
    "ln of an entry of @x, which is @a: it is no probability",
    "brackets around the argument of a softmax: softmax_k (s[b,k] - c[k])" },
  { EDF_DOCTOR__FIRST, EDF_COMPNODE, 0, edf_doctor__weighs_wrongly,
    "@w the softmax @y: the weights in the sum do not add up to 1",
    "the softmax is over the index that is summed, and a mask stands in its line" },
  { EDF_DOCTOR__FIRST, EDF_COMPNODE, 0, edf_doctor__is_exchanged,
    "the arguments of @x are exchanged", "first the output, then the targets" },
  { EDF_DOCTOR__FIRST, EDF_COMPNODE, 0, edf_doctor__has_two_batches,
    "two indices of @x are the batch: @a outputs meet @a targets", "the same index for both" },
  { EDF_DOCTOR__LEARNT, EDF_PARAMETER, 0, edf_doctor__is_summed_alone,
    "index @a of @x is summed in it alone", "the same summed index in both tensors" },
  { EDF_DOCTOR__FIRST, EDF_COMPNODE, 0, edf_doctor__is_repeated,
    "@x is the same along an index that @y lacks", "use this index on the right side too" },
  { EDF_DOCTOR__FIRST, EDF_COMPNODE, 0, edf_doctor__is_linear_twice,
    "nothing nonlinear is between the layers @y and @x", "Relu, Tanh or Sigmoid" },
  { EDF_DOCTOR__FIRST, EDF_COMPNODE, 0, edf_doctor__cuts_gradient,
    "no gradient comes to @y: @x has no backward", "write its backward" },
  { EDF_DOCTOR__LEARNT, EDF_PARAMETER, 0, edf_doctor__is_unused,
    "the parameter @x is never used by the loss", "is a line of the model missing?" },
  { EDF_DOCTOR__LEARNT, EDF_PARAMETER, 0, edf_doctor__is_symmetric,
    "@x @w, which stay equal\n  it is the same along index @a, in value and gradient",
    "random weights, edf_init_uniform or edf_init_normal; only biases may begin at 0" },
  { EDF_DOCTOR__FIRST, EDF_COMPNODE, 1, edf_doctor__is_saturated,
    "@a % of the entries of @x are saturated at the start; usual: below 1 %",
    "smaller weights: variance 1/n for sums of n products" },
  { EDF_DOCTOR__FIRST, EDF_COMPNODE, 1, edf_doctor__is_faint,
    "the rows of @x hardly differ: by @a, those of the data by @b",
    "larger weights: variance 1/n for sums of n products" },
  { EDF_DOCTOR__LEARNT, EDF_COMPNODE, 1, edf_doctor__is_dead,
    "@a % of the units of @x are dead, 0 for every row",
    "biases near 0 (they are subtracted), smaller steps, or LeakyRelu" },
  { EDF_DOCTOR__MOVED, EDF_PARAMETER, 0, edf_doctor__is_stale,
    "the gradient of @x still holds that of the last step\n  its norm is @a; expected: 0",
    "edf_zero_grad() after each step, or edf.accumulate = 0" },
  { EDF_DOCTOR__MOVED, EDF_PARAMETER, 0, edf_doctor__is_idle,
    "the parameter @x has a gradient, but never moves\n  its norm is @a; others move",
    "is it in your list of parameters? p->update = edf_frozen says that it must not move" },
  { EDF_DOCTOR__LEARNT, EDF_PARAMETER, 0, edf_doctor__has_shrunk,
    "@x has shrunk to @a of its first size", "a smaller decay, or a smaller edf_l2" },
  { EDF_DOCTOR__MOVED, EDF_DOCTOR__LOSS, 0, edf_doctor__goes_up,
    "the step goes along the gradient, up: the cosine is @a", "p -= eta g, with eta above 0" },
  { EDF_DOCTOR__MOVED, EDF_DOCTOR__LOSS, 1, edf_doctor__is_too_small,
    "@w\n  weights change by @a of their size; usual: 0.01",
    "an optimiser after each Backward, a larger learning rate, a slower schedule, no clip" },
  { EDF_DOCTOR__LEARNT, EDF_DOCTOR__LOSS, 1, edf_doctor__is_not_finite,
    "@a numbers of the @w @x are NaN or infinite, so @y has become NaN or infinite",
    "how is the data read? a logarithm or a division of 0?" },
  { EDF_DOCTOR__LEARNT, EDF_DOCTOR__LOSS, 1, edf_doctor__is_too_large,
    "the step is too large\n  weights change by @a of their size; usual: 0.01",
    "a tenth of the learning rate" }
};

/* Prints a finding about x, and counts it. */
static void edf_doctor__report(edf_doctor__doctor *d, const edf_node *x, const char *text,
                               const char *hint) {
  edf_page page = { NULL, 0 };
  edf_write(&page, "doctor: step %ld: %s\n", d->step, text);
  if (x) edf_write(&page, "  ");
  if (x) edf_write_node(&page, x, EDF_SITE);
  if (!x && edf.step_file)
    edf_write(&page, "  the step is at %s:%d", edf.step_file, edf.step_line);
  edf_write(&page, x || edf.step_file ? "\n  hint: %s\n" : "  hint: %s\n", hint);
  fputs(page.at, stdout);
  edf_release(page.at);
  fflush(stdout);
  d->found++;
}
/* Prints what a rule says. */
static void edf_doctor__say(edf_doctor__doctor *d, const char *says, const char *hint) {
  edf_page text = { NULL, 0 };
  for (const char *c = says; *c; c++) {
    char key = *c == '@' ? *++c : '\0';
    if (!key) edf_write(&text, "%c", *c);
    else if (key == 'w') edf_write(&text, "%s", d->what);
    else if (key > 'w') edf_write(&text, "%s", edf_label(key == 'x' ? d->x : d->y));
    else edf_write(&text, "%.4g", key == 'a' ? d->a : key == 'b' ? d->b :
                                  key == 'l' ? d->s.least : d->s.greatest);
  }
  edf_doctor__report(d, d->x, text.at, hint);
  edf_release(text.at);
}

/* Applies the rules of a moment to their nodes. */
static void edf_doctor__consult(edf_doctor__doctor *d, int when) {
  int n = edf_doctor__n_nodes();
  int n_rules = (int)(sizeof edf_doctor__rules / sizeof *edf_doctor__rules);
  for (int k = 0; k < n_rules; k++) {
    int of = edf_doctor__rules[k].of, symptom = edf_doctor__rules[k].symptom;
    if (!(edf_doctor__rules[k].when & when) || (symptom && d->found)) continue;
    for (int i = 0; i < n && !d->said[k]; i++) {
      edf_node *x = d->x = edf_doctor__nth(i);
      if (of < EDF_DOCTOR__LOSS ? (int)x->kind != of : x != d->part[of]) continue;
      if (x->kind == EDF_COMPNODE && !x->active) continue;
      d->y = NULL;
      d->n = edf_doctor__note_of(d, x);
      if (of > EDF_DOCTOR__DATA) d->s = edf_doctor__stats(x);
      if (!edf_doctor__rules[k].broken(d, x)) continue;
      edf_doctor__say(d, edf_doctor__rules[k].says, edf_doctor__rules[k].hint);
      d->said[k] = 1;
    }
  }
}

/* ==== >>steps  What happens in a step ===================================================== */
/* Notes the Parameters and their gradients, before the step. */
static void edf_doctor__look(edf_doctor__doctor *d) {
  double squares = 0;
  for (int i = 0; i < edf.n_parameters; i++) {
    edf_node *p = edf.parameters[i];
    edf_doctor__note *n = edf_doctor__note_of(d, p);
    size_t bytes = p->size * sizeof *n->before;
    n->norm = edf_doctor__learns(p) ? edf_doctor__norm(edf_grad(p), p->size) : 0;
    n->before = (edf_real *)memcpy(edf_keep(n->before, bytes), edf_value(p), bytes);
    n->n = p->size;
    if (!d->several && d->step == 1)
      n->start = (edf_real *)memcpy(edf_keep(n->start, bytes), edf_value(p), bytes);
    squares += n->norm * n->norm;
  }
  d->slope = sqrt(squares);
  d->most_slope = fmax(d->slope, d->most_slope);
}

/* Copies the Inputs, after they were compared with those of the last look. */
static void edf_doctor__look_at_inputs(edf_doctor__doctor *d) {
  edf_node *data = d->part[EDF_DOCTOR__DATA];
  for (int i = 0; i < edf.n_inputs; i++) {
    edf_node *x = edf.inputs[i];
    edf_doctor__note *n = edf_doctor__note_of(d, x);
    size_t bytes = x->size * sizeof *x->value;
    if (!x->active || bytes > EDF_DOCTOR__COPIED) continue;
    const edf_real *v = edf_value(x);
    n->same = n->n == x->size && !memcmp(n->before, v, bytes) ? n->same + 1 : 0;
    n->before = (edf_real *)memcpy(edf_keep(n->before, bytes), v, bytes);
    n->n = x->size;
  }
  if (data) d->rows = data->dim[0];
}
/* Returns 1 if a Parameter has moved since it was noted. */
static int edf_doctor__has_moved(edf_doctor__doctor *d) {
  for (int i = 0; i < edf.n_parameters; i++) {
    edf_node *p = edf.parameters[i];
    const edf_real *before = edf_doctor__note_of(d, p)->before;
    size_t bytes = p->size * sizeof *before;
    if (edf_array_bytes(before) >= bytes && memcmp(before, edf_value(p), bytes)) return 1;
  }
  return 0;
}
/* Compares the Parameters with those before the step. */
static void edf_doctor__look_at_moves(edf_doctor__doctor *d) {
  double rise = 0, squares = 0, left = 0, size = 0;
  for (int i = 0; i < edf.n_parameters; i++) {
    edf_node *p = edf.parameters[i];
    edf_doctor__note *n = edf_doctor__note_of(d, p);
    const edf_real *v = edf_value(p), *g = n->norm > 0 ? edf_grad(p) : NULL;
    double moved = 0;
    if (edf_array_bytes(n->before) < p->size * sizeof *v) continue; /* a new one              */
    for (size_t k = 0; k < p->size; k++) {
      double old = (double)n->before[k], dp = v[k] == n->before[k] ? 0 : (double)v[k] - old;
      size += edf_doctor__learns(p) && fabs(old) < HUGE_VAL ? old * old : 0;
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
  if (!(d->change <= d->most_change)) d->most_change = d->change; /* also if it is NaN        */
  d->faded = d->step > EDF_DOCTOR__CLOSE && d->change < 1e-4 * d->most_change &&
             d->slope > 0.01 * d->most_slope ? d->faded + 1 : 0;
}
static void edf_doctor__forward_begins(edf_doctor__doctor *d) {
  d->unlearnt += edf.training && edf.feeds != d->feeds;
  if (d->pending && edf_doctor__has_moved(d)) edf_doctor__look_at_moves(d);
  edf_doctor__consult(d, EDF_DOCTOR__FED);
}
/* The step before a Backward is looked at here, unless a Forward has run after it. */
static void edf_doctor__backward_begins(edf_doctor__doctor *d, edf_node *loss) {
  if (d->pending) edf_doctor__look_at_moves(d);
  edf_doctor__find_parts(d, loss);
  edf_doctor__consult(d, EDF_DOCTOR__MOVED);
}
/* A Forward of another number of rows, or without training, is a test. */
static void edf_doctor__forward_ended(edf_doctor__doctor *d) {
  const edf_node *x = d->part[EDF_DOCTOR__DATA];
  if (!x || edf.feeds == d->feeds || (edf.training && x->dim[0] == d->rows)) return;
  if (d->tests++ < EDF_DOCTOR__TESTS) edf_doctor__consult(d, EDF_DOCTOR__TESTED);
}
static void edf_doctor__look_at_rows(edf_doctor__doctor *d);
static void edf_doctor__judge(edf_doctor__doctor *d);
static void edf_doctor__loss_ended(edf_doctor__doctor *d, edf_node *loss) {
  d->feeds_in_a_row = edf.feeds != d->feeds ? d->feeds_in_a_row + 1 : 0;
  d->pending = ++d->step <= EDF_DOCTOR__STEPS && edf_doctor__is_look(d);
  if (d->step > EDF_DOCTOR__STEPS && d->step % 10) return;
  double now = edf_doctor__stats(loss).mean;
  if (d->step == 1) d->first = now;
  d->last = now;
  if (d->step % 10 == 0) d->sum[0] += now * 10 / (double)EDF_DOCTOR__STEPS;
  if (d->step <= EDF_DOCTOR__STEPS)
    d->mean[(d->step - 1) / EDF_DOCTOR__WINDOW] += now / (double)EDF_DOCTOR__WINDOW;
  if (d->pending) edf_doctor__look(d);
  if ((d->pending && d->step < EDF_DOCTOR__STEPS) ||
      d->step % EDF_DOCTOR__STEPS == EDF_DOCTOR__STEPS - 10) edf_doctor__look_at_inputs(d);
  if (d->step <= EDF_DOCTOR__STEPS)
    edf_doctor__consult(d, d->step == 1 ? EDF_DOCTOR__FIRST | EDF_DOCTOR__LEARNT
                        : EDF_DOCTOR__LEARNT);
  if (d->step == 1) edf_doctor__look_at_rows(d);
  if (d->step % EDF_DOCTOR__STEPS == 0) edf_doctor__judge(d);
}

static edf_doctor__doctor *edf_doctor__on_duty; /* the doctor that watches, or NULL           */
static void edf_doctor__doctor_told(edf_event event, edf_node *x) {
  edf_doctor__doctor *d = edf_doctor__on_duty;
  int begins = event == EDF_BEGIN_BACKWARD, ends = event == EDF_END_BACKWARD;
  if (!edf_array_bytes(d)) return;       /* It belongs to another graph.                      */
  if (d->earlier) d->earlier(event, x);
  if (event == EDF_CLEARED) edf_doctor__on_duty = NULL;
  if (event == EDF_END_FORWARD) edf_doctor__forward_ended(d);
  if (d->step < EDF_DOCTOR__STEPS && (event == EDF_BEGIN_FORWARD || (edf.eager && begins)))
    edf_doctor__forward_begins(d);
  if (begins && x == d->part[EDF_DOCTOR__LOSS] && d->step < EDF_DOCTOR__STEPS)
    edf_doctor__backward_begins(d, x);
  if (!ends) return;
  d->several |= x != d->part[EDF_DOCTOR__LOSS];
  if (x == d->part[EDF_DOCTOR__LOSS]) edf_doctor__loss_ended(d, x);
  d->unlearnt = 0;
  d->untrained = edf.training ? 0 : d->untrained + 1;
  d->feeds = edf.feeds;
}

void edf_doctor(edf_node *loss) {
  edf_doctor__doctor *d = edf_doctor__on_duty;
  edf_expect_kind("edf_doctor", "the loss", loss, EDF_COMPNODE);
  if (!edf.told || !edf_array_bytes(d)) { /* There is none for this graph.                    */
    d = edf_doctor__on_duty = (edf_doctor__doctor *)edf_keep(NULL, sizeof *d);
    d->earlier = edf.told;
    edf.told = edf_doctor__doctor_told;
  }
  d->part[EDF_DOCTOR__LOSS] = loss;
}

static void edf_doctor__free(edf_doctor__doctor *d) {
  for (int kind = 0; kind <= EDF_COMPNODE; kind++) {
    size_t n = edf_array_bytes(d->note[kind]) / sizeof **d->note;
    for (size_t i = 0; i < n; i++) {
      edf_release(d->note[kind][i].before);
      edf_release(d->note[kind][i].start);
    }
    edf_release(d->note[kind]);
  }
  edf_release(d);
}
int edf_check(edf_node *loss) {
  edf_expect_kind("edf_check", "the loss", loss, EDF_COMPNODE);
  edf_doctor__doctor *d = (edf_doctor__doctor *)edf_keep(NULL, sizeof *d);
  edf_snapshot *taken = edf_take_snapshot();
  (edf_forward)();
  (edf_backward)(loss);
  d->first = edf_doctor__stats(loss).mean;
  edf_doctor__find_parts(d, loss);
  edf_doctor__consult(d, EDF_DOCTOR__FIRST | EDF_DOCTOR__LEARNT);
  edf_restore(taken);
  edf_doctor__look_at_rows(d);
  int found = d->found;
  edf_doctor__free(d);
  return found;
}

/* ==== >>experiments  Experiments ========================================================== */
/* Each run begins with the weights of the first step, if the doctor has seen it, and with an
   optimiser that has no memory yet. A snapshot puts everything back. */
enum { EDF_DOCTOR__RUN = 100, EDF_DOCTOR__RATES = 5 };       /* steps of a run; 1e-4 to 1     */
typedef struct {
  double rate, first, last;              /* the loss before and after                         */
  double fall;                           /* mean of how far the loss was below the first      */
  double other;                          /* the least loss of another batch                   */
} edf_doctor__run;
typedef struct {
  edf_doctor__doctor *d;
  edf_node *loss;
  const edf_rule *its_rule;              /* of the program's last step, or NULL               */
  const edf_rule *rule;
  edf_real c[5];                         /* its numbers                                       */
  double own;                            /* the program's rate, or -1                         */
  int steps;                             /* of a run                                          */
  unsigned long long draws;              /* so that each run has the same random numbers      */
  edf_doctor__run run[EDF_DOCTOR__RATES + 1];      /* The last is of the program's rate.      */
  int n;
} edf_doctor__trial;
#define EDF_DOCTOR__REPORT(d, x, hint, ...) \
  do { \
    edf_page said = { NULL, 0 }; \
    edf_write(&said, __VA_ARGS__); \
    edf_doctor__report(d, x, said.at, hint); \
    edf_release(said.at); \
  } while (0)

/* ---- The loss of this batch, of the batch before, and with the labels of other rows */
/* The next loss has other random numbers. The loss of a look always has the same. */
static double edf_doctor__next_loss(const edf_doctor__trial *t) {
  (edf_forward_to)(t->loss);
  return edf_doctor__stats(t->loss).mean;
}
static double edf_doctor__loss(const edf_doctor__trial *t) {
  edf.draws = t->draws;
  return edf_doctor__next_loss(t);
}
/* Exchanges the values of x with others of the same size. */
static void edf_doctor__exchange(edf_node *x, edf_real **others) {
  edf_real *v = x->value;
  x->value = *others;
  *others = v;
  edf_push(x);
}
/* Exchanges the batch with the one before. Returns 0 if there is none of this size. */
static int edf_doctor__exchange_batches(edf_doctor__doctor *d) {
  int differ = 0;
  for (int pass = 0; pass < 1 + (differ > 0); pass++)
    for (int i = 0; i < edf.n_inputs; i++) {
      edf_node *x = edf.inputs[i];
      edf_doctor__note *n = edf_doctor__note_of(d, x);
      if (!x->active || !(x->batched & 1)) continue;
      if (n->n != x->size) return 0;
      if (pass) edf_doctor__exchange(x, &n->before);
      else differ += memcmp(n->before, x->value, x->size * sizeof *n->before) != 0;
    }
  return differ > 0;
}
/* Keeps the labels of other rows: row b gets those of row b + B/2. Returns how many differ. */
static int edf_doctor__prepare_labels(edf_doctor__doctor *d) {
  int differ = 0;
  for (int i = 0; i < edf.n_inputs; i++) {
    edf_node *x = edf.inputs[i];
    if (!edf_doctor__is_target(d, x)) continue;
    edf_doctor__note *n = edf_doctor__note_of(d, x);
    size_t rows = (size_t)x->dim[0], row = x->size / rows;
    n->start = (edf_real *)edf_keep(n->start, x->size * sizeof *n->start);
    for (size_t b = 0; b < rows; b++) {
      const edf_real *from = edf_value(x) + (b + rows / 2) % rows * row;
      memcpy(n->start + b * row, from, row * sizeof *from);
      differ += memcmp(from, x->value + b * row, row * sizeof *from) != 0;
    }
  }
  return differ;
}
static void edf_doctor__exchange_labels(edf_doctor__doctor *d) {
  for (int i = 0; i < edf.n_inputs; i++)
    if (edf_doctor__is_target(d, edf.inputs[i]))
      edf_doctor__exchange(edf.inputs[i], &edf_doctor__note_of(d, edf.inputs[i])->start);
}

/* ---- A run */
static void edf_doctor__zero(edf_node *p, edf_real *v, edf_which which) {
  if (v) memset(v, 0, p->size * sizeof *v);
  if (v && edf_device) edf_device->sync(p, which, EDF_WROTE);
}
static void edf_doctor__begin_again(const edf_doctor__trial *t) {
  for (int i = 0; i < edf.n_parameters; i++) {
    edf_node *p = edf.parameters[i];
    memcpy(edf_value(p), edf_doctor__note_of(t->d, p)->start, p->size * sizeof *p->value);
    edf_push(p);
    edf_doctor__zero(p, p->m, EDF_M);
    edf_doctor__zero(p, p->s, EDF_S);
    p->steps = 0;
  }
  edf.draws = t->draws;
}
/* Learns the batch alone. With `other` it looks at the batch before, too. */
static edf_doctor__run edf_doctor__learn(edf_doctor__trial *t, double rate, int other) {
  edf_doctor__run r = { rate, 0, 0, 0, HUGE_VAL };
  t->c[0] = (edf_real)rate;
  edf_doctor__begin_again(t);
  for (int k = 0; k <= t->steps; k++) {
    unsigned long long draws = edf.draws;
    if (other && k % 5 == 0 && edf_doctor__exchange_batches(t->d)) {
      r.other = fmin(r.other, edf_doctor__loss(t));
      edf_doctor__exchange_batches(t->d);
      edf.draws = draws;
    }
    r.last = edf_doctor__next_loss(t);
    if (k == 0) r.first = r.last;
    r.fall += (r.first - r.last) / fmax(fabs(r.first), 1e-12) / t->steps;
    if (k == t->steps || !(fabs(r.last) < HUGE_VAL)) break;
    (edf_backward)(t->loss);
    (edf_step)(t->rule, t->c);
  }
  return r;
}
/* Returns the part of the loss that a run has learned, below 0 if the loss has risen. */
static double edf_doctor__learned(const edf_doctor__run *r) {
  double part = (r->first - r->last) / fmax(fabs(r->first), 1e-12);
  return part > -1e9 ? part : -1e9;
}
/* Sets the program's optimiser, and the length of a run. */
static void edf_doctor__plan(edf_doctor__trial *t, double seconds) {
  const edf_rule *known[] = { &edf_sgd_rule, &edf_momentum_rule, &edf_rmsprop_rule,
                              &edf_adam_rule, &edf_adam_slides_rule };
  const edf_real adam[5] = { 0, (edf_real)0.9, (edf_real)0.999, (edf_real)1e-8, 0 };
  t->its_rule = edf.rule;
  t->rule = &edf_adam_rule;
  t->own = -1;
  memcpy(t->c, adam, sizeof adam);
  for (int k = 0; k < 5; k++) {
    if (edf.rule != known[k]) continue;
    t->rule = edf.rule;
    t->own = (double)edf.numbers[0];
    memcpy(t->c, edf.numbers, sizeof t->c);
  }
  for (int i = 0; i < edf.n_parameters; i++) {
    edf_node *p = edf.parameters[i];
    edf_doctor__note *n = edf_doctor__note_of(t->d, p);
    size_t bytes = p->size * sizeof *n->start;
    if (edf_array_bytes(n->start) < bytes)
      n->start = (edf_real *)memcpy(edf_keep(NULL, bytes), edf_value(p), bytes);
  }
  clock_t begin = clock();
  t->steps = 2;
  edf_doctor__learn(t, 1e-4, 0);
  double each = (double)(clock() - begin) / CLOCKS_PER_SEC / 3;
  double most = EDF_DOCTOR__RUN, n = seconds / fmax(each, 1e-9) / 10;     /* 10 runs */
  t->steps = (int)fmax(5.0, fmin(n, most));
}

/* ---- The gradient. Along the gradient of a Parameter the loss has the slope |g|. */
/* Returns the slope by central differences. At the end p has its values again. The gradient of
   p has the norm `norm`. */
static double edf_doctor__slope(const edf_doctor__trial *t, edf_node *p, double norm,
                                double step) {
  const edf_real *from = edf_doctor__note_of(t->d, p)->start, *g = edf_grad(p);
  double rise = 0;
  for (int side = -1; side <= 1; side += 2) {
    for (size_t i = 0; i < p->size; i++)
      p->value[i] = (edf_real)((double)from[i] + side * step * (double)g[i] / norm);
    edf_push(p);
    rise += side * edf_doctor__loss(t);
  }
  memcpy(p->value, from, p->size * sizeof *from);
  edf_push(p);
  return rise / (2 * step);
}
/* Checks the first 12 Parameters, and reports the worst. A kink shows as two slopes. */
static void edf_doctor__check_gradients(const edf_doctor__trial *t, edf_page *to) {
  edf_node *wrong = NULL;
  double worst = 0, ratio = 1;
  int checked = 0;
  edf_doctor__begin_again(t);
  double size = fabs(edf_doctor__loss(t));
  (edf_backward)(t->loss);
  for (int i = 0; i < edf.n_parameters && checked < 12; i++) {
    edf_node *p = edf.parameters[i];
    double g = edf_doctor__learns(p) ? edf_doctor__norm(edf_grad(p), p->size) : 0;
    double most = edf_doctor__norm(edf_value(p), p->size) + 0.1 * sqrt((double)p->size);
    double h = fmin(3e-3 * (size + 0.1) / g, 0.02 * most);
    if (!(g > 0) || h * g < 1e-4 * size) continue;           /* Rounding would hide it.       */
    double wide = edf_doctor__slope(t, p, g, h), slope = edf_doctor__slope(t, p, g, h / 2);
    if (!(fabs(wide - slope) < 0.03 * fabs(slope))) continue;
    checked++;
    if (fabs(slope - g) / g <= worst) continue;
    worst = fabs(slope - g) / g;
    wrong = p;
    ratio = g / slope;
  }
  edf_write(to, "  gradient      of %d Parameters, greatest error %.2g\n", checked, worst);
  if (worst > 0.1)
    EDF_DOCTOR__REPORT(t->d, wrong, "edf_gradcheck(loss) names the node whose backward it is",
                       "the gradient of %s is %.3g times the derivative of the loss",
                       edf_label(wrong), ratio);
}
/* Returns a node whose backward is no derivative on purpose, or NULL. */
static const edf_node *edf_doctor__held(void) {
  for (int i = 0; i < edf.n_compnodes; i++) {
    const edf_node *c = edf.compnodes[i];
    int held = c->mismatch_expected || (c->about && c->about->flags & EDF_HELD);
    if (c->active && held) return c;
  }
  return NULL;
}

/* ---- What the runs say */
static void edf_doctor__judge_rate(const edf_doctor__trial *t, const edf_doctor__run *best) {
  const edf_doctor__run *own = NULL, *with = best;
  for (int k = 0; k < t->n; k++)
    if (t->run[k].rate == t->own) own = &t->run[k];
  if (!own || edf_doctor__learned(own) >= 0.1) return;
  int is_slow = best->rate > 30 * own->rate && edf_doctor__learned(best) > 0.8;
  if (edf_doctor__learned(own) >= 0.02 && !is_slow) return;
  for (int k = 0; k < t->n; k++)         /* the next rate that learns                         */
    if (edf_doctor__learned(&t->run[k]) >= 0.3 && fabs(log(t->run[k].rate / own->rate)) <
                                                  fabs(log(with->rate / own->rate)))
      with = &t->run[k];
  int is_small = with->rate > own->rate;
  EDF_DOCTOR__REPORT(t->d, NULL, is_small ? "a larger learning rate" : "a smaller one",
                     "the rate %.3g is too %s\n  %d steps on one batch: the loss goes from "
                     "%.4g to %.4g, and with the rate %.3g to %.4g", own->rate,
                     is_small ? "small" : "large", t->steps, own->first, own->last, with->rate,
                     with->last);
}

/* No rate learns the batch. Which rule is broken, and where does the gradient end? */
static void edf_doctor__judge_model(edf_doctor__trial *t, const edf_doctor__run *best,
                                    edf_page *to) {
  edf_doctor__doctor *d = t->d;
  int before = d->found;
  long step = d->step;
  edf_doctor__learn(t, best->rate, 0);
  edf_write(to, "  moved        ");
  for (int i = 0; i < edf.n_parameters; i++) {
    edf_node *p = edf.parameters[i];
    const edf_real *from = edf_doctor__note_of(d, p)->start, *v = edf_value(p);
    double moved = 0, size = edf_doctor__norm(from, p->size);
    for (size_t k = 0; k < p->size; k++) moved += pow((double)v[k] - (double)from[k], 2.0);
    edf_write(to, " %s %.2g", edf_label(p), sqrt(moved) / (size > 0 ? size : 1));
  }
  edf_write(to, " of its size\n");
  edf_doctor__begin_again(t);
  edf_doctor__loss(t);
  (edf_backward)(t->loss);
  d->step = 0;
  edf_doctor__consult(d, EDF_DOCTOR__FIRST | EDF_DOCTOR__LEARNT);
  d->step = step;
  for (int i = t->loss->position; i >= 0 && d->found == before; i--) {
    edf_node *c = edf.compnodes[i];
    double in = 0;
    if (!c->active || !c->reached || !c->grad) continue;
    for (int k = 0; k < c->n_in; k++)
      in += c->in[k]->grad ? edf_doctor__norm(edf_grad(c->in[k]), c->in[k]->size) : 0;
    if (in == 0 && edf_doctor__norm(edf_grad(c), c->size) > 0)
      EDF_DOCTOR__REPORT(d, c, "is it constant, dead or saturated? edf_print shows its numbers",
                         "the gradient ends at %s: its inputs get 0", edf_label(c));
  }
  if (d->found == before && edf_doctor__learned(best) < 0.05)
    EDF_DOCTOR__REPORT(d, t->loss, "is it the slide? edf_print_program(stdout)",
                       "no rate learns one batch\n  the best, %.3g, takes the loss from %.4g "
                       "to %.4g", best->rate, best->first, best->last);
}

/* Do true labels help more than those of other rows? Another batch is a small sample: if the
   training has had no progress, less evidence is enough. If its cause was `found`, the numbers
   are written, but they are no finding. */
static void edf_doctor__judge_labels(edf_doctor__trial *t, const edf_doctor__run *best,
                                     edf_page *to, int found) {
  edf_doctor__doctor *d = t->d;
  edf_node *labels = d->part[EDF_DOCTOR__LABELS] ? d->part[EDF_DOCTOR__LABELS]
                   : d->part[EDF_DOCTOR__TARGETS];
  if (!edf_doctor__prepare_labels(d)) {
    edf_write(to, "  left out      labels of other rows: no Input has labels that differ\n");
    return;
  }
  for (int k = 0; k < t->n; k++)
    if (t->run[k].rate == t->own && edf_doctor__learned(&t->run[k]) >= 0.3) best = &t->run[k];
  edf_doctor__run mine = edf_doctor__learn(t, best->rate, 1);
  edf_doctor__exchange_labels(d);
  edf_doctor__run others = edf_doctor__learn(t, best->rate, 1);
  edf_doctor__exchange_labels(d);
  double speed = others.fall / mine.fall, margin = d->stands ? 0.15 : 0.02;
  edf_write(to, "  labels        of other rows, with rate %.3g: %.4g to %.4g, ", best->rate,
            others.first, others.last);
  if (speed > 0) edf_write(to, "learned %.3g times as fast\n", speed);
  else edf_write(to, "not learned\n");
  if (!(mine.other < HUGE_VAL)) return;
  edf_write(to, "  another batch %.4g at best with true labels, %.4g with those of other "
            "rows\n", mine.other, others.other);
  if (!found && speed >= 0.75 && mine.other > others.other - margin * fabs(others.other))
    EDF_DOCTOR__REPORT(d, labels ? labels : t->loss,
                       "shuffle both arrays at once, edf_shuffle(&x, &y); drop rows in both",
                       "labels and rows probably do not belong together\n  those of other rows "
                       "are learned %.3g times as fast, and help as much on another\n  batch: "
                       "its loss is %.4g with them, and %.4g with true labels", speed,
                       others.other, mine.other);
}

/* ---- The report */
/* Writes what is left out. The optimiser moves a Parameter that has a function of its own. */
static void edf_doctor__write_skipped(const edf_doctor__trial *t, edf_page *to) {
  const edf_node *held = edf_doctor__held();
  if (held) edf_write(to, "  left out      the gradient: that of %s is another on purpose\n",
                      edf_label(held));
  if (t->its_rule != t->rule)
    edf_write(to, "  left out      the optimiser of the program%s%s: Adam in its place\n",
              t->its_rule ? ", " : "", t->its_rule ? t->its_rule->name : "");
  if (edf.after_backward) edf_write(to, "  left out      edf.after_backward\n");
  for (int i = 0; i < edf.n_parameters; i++) {
    edf_node *p = edf.parameters[i];
    if (!p->update || p->update == edf_frozen) continue;
    edf_write(to, "  left out      the update function of %s\n", edf_label(p));
    p->update = NULL;
  }
  for (int i = 0; i < edf.n_compnodes; i++)
    if (edf.compnodes[i]->active && !edf.compnodes[i]->about)
      edf_write(to, "  not put back  static variables in the code of %s\n",
                edf_label(edf.compnodes[i]));
}
/* Writes what is equal in all rows, or in the last looks, or is not used. */
static void edf_doctor__write_inputs(edf_doctor__doctor *d, edf_page *to) {
  for (int i = 0; i < edf.n_inputs; i++) {
    edf_node *x = edf.inputs[i];
    const edf_real *v = x->fed >= 0 ? edf_value(x) : NULL;
    const char *name = edf_label(x);
    size_t rows = x->batched & 1 ? (size_t)x->dim[0] : 1, row = x->size / rows, n = 0;
    int same = edf_doctor__note_of(d, x)->same;
    if (v && !edf_doctor__user_of(x, 0)) edf_write(to, "  never used    %s, fed\n", name);
    if (!v || rows < 4 || !x->active) continue;
    for (size_t k = 0; k < row; k++) {
      size_t b = 1;
      while (b < rows && v[b * row + k] == v[k]) b++;
      n += b == rows;
    }
    if (n) edf_write(to, "  equal         %zu of %zu numbers of %s, in all %zu rows\n", n, row,
                     name, rows);
    if (same) edf_write(to, "  equal         %s, in the last %d looks\n", name, same + 1);
  }
}
/* Writes the runs, and returns the best one. */
static const edf_doctor__run *edf_doctor__write_runs(const edf_doctor__trial *t, edf_page *to) {
  const edf_doctor__run *best = t->run;
  double guess = t->d->classes ? log((double)t->d->classes) : HUGE_VAL;
  edf_write(to, "  rates         %s, %d steps on this batch alone\n", t->rule->name, t->steps);
  for (int k = 0; k < t->n; k++) {
    const edf_doctor__run *r = &t->run[k];
    double part = edf_doctor__learned(r);
    const char *verdict = part >= 0.3 ? "learns" : part >= 0.02 ? "learns little"
                        : part > -0.5 ? "stands still" : "diverges";
    edf_write(to, "    %-9.3g   the loss goes from %.4g to %-9.4g  %s%s\n", r->rate, r->first,
              r->last, verdict, r->rate == t->own ? ": the program's rate" : "");
    if (part > edf_doctor__learned(best)) best = r;
  }
  if (best->first > guess + 1.5)
    edf_write(to, "  first loss    %.3g; guessing has %.3g\n", best->first, guess);
  return best;
}

/* Experiments because of `why`. */
static void edf_doctor__experiment(edf_doctor__doctor *d, double seconds, const char *why) {
  const double rates[] = { 1e-4, 1e-3, 1e-2, 1e-1, 1 };
  edf_doctor__trial t;
  edf_page page = { NULL, 0 };
  int before = d->found, covered = 0;
  memset(&t, 0, sizeof t);
  t.d = d;
  t.loss = d->part[EDF_DOCTOR__LOSS];
  t.draws = edf.draws;
  d->tried = 1;
  edf_snapshot *taken = edf_take_snapshot();
  edf_doctor__loss(&t);
  edf_doctor__find_parts(d, t.loss);
  edf_doctor__plan(&t, seconds);
  edf_write(&page, "edf_try of %s: %s\n", edf_label(t.loss), why);
  fputs(page.at, stdout);
  edf_release(page.at);
  page.at = NULL;
  page.n = 0;
  edf_doctor__write_skipped(&t, &page);
  if (!edf_doctor__held()) edf_doctor__check_gradients(&t, &page);
  for (int k = 0; k < EDF_DOCTOR__RATES; k++) {
    int is_own = fabs(t.own / rates[k] - 1) < 0.01;
    covered |= is_own;
    t.run[t.n++] = edf_doctor__learn(&t, is_own ? t.own : rates[k], 0);
  }
  if (t.own >= 0 && !covered) t.run[t.n++] = edf_doctor__learn(&t, t.own, 0);
  const edf_doctor__run *best = edf_doctor__write_runs(&t, &page);
  if (d->found == before && edf_doctor__learned(best) < 0.3)
    edf_doctor__judge_model(&t, best, &page);
  if (d->found == before) edf_doctor__judge_rate(&t, best);
  edf_doctor__judge_labels(&t, best, &page, d->found > before);
  edf_doctor__write_inputs(d, &page);
  fputs(page.at, stdout);
  if (d->found == before) fputs("  no finding\n", stdout);
  fflush(stdout);
  edf_release(page.at);
  edf_restore(taken);
}

/* ---- New data in a part of the batch: what changes? */
/* Gives the entries from..from+n of each row in rows..end the data of another row, and returns
   how the output changes: the sum of the squares in each of its parts of `part` entries. */
static double *edf_doctor__changes(const edf_doctor__trial *t, size_t end, size_t from,
                                   size_t n, size_t part) {
  edf_node *x = t->d->part[EDF_DOCTOR__DATA], *out = t->d->part[EDF_DOCTOR__OUTPUT];
  size_t rows = (size_t)x->dim[0], row = x->size / rows, parts = out->size / part;
  edf_real *v = (edf_real *)edf_keep(NULL, x->size * sizeof *v);
  edf_real *before = (edf_real *)edf_keep(NULL, out->size * sizeof *before);
  double *change = (double *)edf_keep(NULL, parts * sizeof *change);
  edf_doctor__loss(t);
  memcpy(before, edf_value(out), out->size * sizeof *before);
  memcpy(v, edf_value(x), x->size * sizeof *v);
  for (size_t b = 0; b < end; b++)
    memcpy(v + b * row + from, x->value + (b + rows / 2) % rows * row + from, n * sizeof *v);
  edf_doctor__exchange(x, &v);
  edf_doctor__loss(t);
  for (size_t i = 0; i < out->size; i++)
    change[i / part] += pow((double)edf_value(out)[i] - (double)before[i], 2.0);
  edf_doctor__exchange(x, &v);
  edf_release(before);
  edf_release(v);
  return change;
}
/* New data in row 0 should change row 0 of the output. With batch norm other rows change a
   little, too. */
static void edf_doctor__look_for_mixing(const edf_doctor__trial *t) {
  edf_node *x = t->d->part[EDF_DOCTOR__DATA], *out = t->d->part[EDF_DOCTOR__OUTPUT];
  size_t rows = (size_t)x->dim[0];
  if (rows < 16 || out->dim[0] != x->dim[0]) return;
  double most = 0, *change = edf_doctor__changes(t, 1, 0, x->size / rows, out->size / rows);
  for (size_t b = 1; b < rows; b++) most = fmax(most, change[b]);
  double part = sqrt(most / fmax(change[0], 1e-30));
  edf_release(change);
  if (most > 0 && part > 0.3)
    EDF_DOCTOR__REPORT(t->d, out, "a Reshape keeps the order of the numbers; a sum over the "
                       "batch belongs to no row",
                       "rows of a batch are mixed\n  new data in row 0 changes another row of "
                       "%s %.2g times as much as row 0", edf_label(out), part);
}
/* Labels y[b,t] that are x[b,t+1], or its first number: then new data at the last t must not
   change the output before it. */
static void edf_doctor__look_for_future(const edf_doctor__trial *t) {
  edf_node *x = t->d->part[EDF_DOCTOR__DATA], *out = t->d->part[EDF_DOCTOR__OUTPUT];
  edf_node *y = t->d->part[EDF_DOCTOR__LABELS] ? t->d->part[EDF_DOCTOR__LABELS]
              : t->d->part[EDF_DOCTOR__TARGETS];
  if (!y || x->rank < 2 || y->rank < 2 || out->rank < 2) return;
  size_t rows = (size_t)x->dim[0], T = (size_t)x->dim[1], each = x->size / rows / T, i = 0;
  size_t of_y = y->size / rows / T;
  if (T < 3 || y->dim[0] != x->dim[0] || y->dim[1] != x->dim[1] || out->dim[1] != x->dim[1])
    return;
  while (i < rows * T && (i % T == T - 1 ||
                          edf_value(y)[i * of_y] == edf_value(x)[(i + 1) * each])) i++;
  if (i < rows * T) return;
  double before = 0, *change = edf_doctor__changes(t, rows, (T - 1) * each, each,
                                                   out->size / rows / T);
  for (i = 0; i < rows * T; i++) before += i % T < T - 1 ? change[i] : 0;
  edf_release(change);
  if (before > 0)
    EDF_DOCTOR__REPORT(t->d, out, "a mask in the line of the softmax, s <= t; a window that "
                       "ends at t",
                       "%s sees the future: labels are the next inputs\n  new data at the last "
                       "of %zu places changes it before, by %.2g", edf_label(out), T,
                       sqrt(before));
}
static void edf_doctor__look_at_rows(edf_doctor__doctor *d) {
  edf_doctor__trial t;
  edf_node *x = d->part[EDF_DOCTOR__DATA], *out = d->part[EDF_DOCTOR__OUTPUT];
  if (!x || !out || !(out->batched & 1)) return;
  memset(&t, 0, sizeof t);
  t.d = d;
  t.loss = d->part[EDF_DOCTOR__LOSS];
  t.draws = edf.draws;
  edf_snapshot *taken = edf_take_snapshot();
  edf_doctor__loss(&t);                  /* sets the shapes                                   */
  edf_doctor__look_for_mixing(&t);
  edf_doctor__look_for_future(&t);
  edf_restore(taken);
}

/* ---- Every EDF_DOCTOR__STEPS steps: is the loss at guessing, or does it stand still? */
/* Sets *mine to the mean loss of this batch and the one before, and *others to that with labels
   of other rows, or NaN if there are none. */
static void edf_doctor__compare(const edf_doctor__trial *t, double *mine, double *others) {
  int batches = 0;
  *mine = *others = 0;
  do {
    *mine += edf_doctor__loss(t);
    if (!edf_doctor__prepare_labels(t->d)) *others += (double)NAN;
    edf_doctor__exchange_labels(t->d);
    *others += edf_doctor__loss(t);
    edf_doctor__exchange_labels(t->d);
  } while (++batches < 2 && edf_doctor__exchange_batches(t->d));
  if (batches == 2) edf_doctor__exchange_batches(t->d);
  *mine /= batches;
  *others /= batches;
}
static void edf_doctor__judge(edf_doctor__doctor *d) {
  double now = d->sum[0], was = d->sum[1], begin = d->mean[0], end = d->mean[5], mine, others;
  int is_first = d->step == EDF_DOCTOR__STEPS, before = d->found;
  edf_doctor__trial t;
  d->sum[1] = now;
  d->sum[0] = 0;
  if (d->tried || before || d->several || !(fabs(now) < HUGE_VAL)) return;
  memset(&t, 0, sizeof t);
  t.d = d;
  t.loss = d->part[EDF_DOCTOR__LOSS];
  t.draws = edf.draws;
  edf_snapshot *taken = edf_take_snapshot();
  edf_doctor__compare(&t, &mine, &others);
  edf_restore(taken);
  double gap = (others - mine) / fmax(fabs(others), fabs(d->first));
  d->stands = is_first && end > 0.95 * begin;
  d->tried = gap > 0.3;                  /* It has learned from the labels.                   */
  int is_guess = gap < 0.02 || (d->stands && !(gap > 0.25));
  int is_still = !is_first && now > 0.99 * was && now > 0.5 * begin && !d->tried;
  edf_page text = { NULL, 0 };
  if (is_still || others != others)
    edf_write(&text, "no progress in %d steps: the loss was %.4g and is %.4g",
              EDF_DOCTOR__STEPS, is_first ? begin : was, is_first ? end : now);
  else edf_write(&text, "the loss is at guessing after %ld steps: it is %.4g, and %.4g with "
                 "labels of other rows", d->step, mine, others);
  if (gap < 0.02 && is_first && end < d->first - 0.5 * fabs(d->first))
    EDF_DOCTOR__REPORT(d, t.loss, "is a term of the loss missing, or a sign wrong?",
                       "the loss falls without the labels\n  from %.4g to %.4g, and to %.4g "
                       "with labels of other rows", d->first, mine, others);
  else if (is_guess || is_still) {
    edf_doctor__experiment(d, 10, text.at);
    if (d->found == before && gap < 0.02)
      edf_doctor__report(d, t.loss, text.at, "is it the slide? edf_print_program(stdout)");
  }
  edf_release(text.at);
}

int edf_try_within(edf_node *loss, double seconds) {
  edf_expect_kind("edf_try", "the loss", loss, EDF_COMPNODE);
  edf_doctor__doctor *d = edf_doctor__on_duty;
  int watches = edf.told && edf_array_bytes(d) && d->part[EDF_DOCTOR__LOSS] == loss;
  if (!watches) d = (edf_doctor__doctor *)edf_keep(NULL, sizeof *d);
  int before = d->found;
  d->part[EDF_DOCTOR__LOSS] = loss;
  edf_doctor__experiment(d, seconds, watches && d->step ? "from the weights of the first step"
                         : "from the present weights");
  int found = d->found - before;
  if (!watches) edf_doctor__free(d);
  return found;
}
int edf_try(edf_node *loss) { return edf_try_within(loss, 10); }
#endif /* EDF_NO_DEBUG */

#ifdef __cplusplus
}
#endif
#endif
