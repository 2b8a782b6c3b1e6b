/* edf/judge.h - v4.0 - checks a backward that a student writes as lines, for edf.h

   A companion of edf.h. It includes edf/slide.h. EDF_IMPLEMENTATION, defined in exactly one
   file, compiles its code too. With EDF_NO_DEBUG it does nothing. MIT licence, like edf.h. */
#if !defined(EDF_SLIDE_4_H) || \
    (defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_SLIDE__IMPLEMENTED))
#include "slide.h"
#endif
#ifndef EDF_JUDGE_4_H
#define EDF_JUDGE_4_H
#if EDF_VERSION != 400
#error "edf/judge.h is version 4.0, and edf.h is another version: use one version of both"
#include "edf/judge.h: another version"  /* This file does not exist: a compiler stops here.  */
#endif
#ifdef __cplusplus
extern "C" {
#endif
/* Runs a submitted backward of y's line and compares it with the framework's:
     edf_check_backward(s, "for b,i,j: W.grad[i,j] += s.grad[b,j] x[b,i]  \n"
                           "x.grad[b,i] += W[i,J] s.grad[b,J]");
   s.grad and the first values of the other gradients are random. Each tensor on the right of
   y's line is an input. If a submitted line reads Z.grad, the backward includes the line of Z.
   A name on the left without .grad is a helper. Either all gradients of Parameters have the
   factor (1/B), or none has it: B is the size of y's first index. Lines without a division, a
   mean and a decimal number do not have it. Inputs may be left out. The call prints a line for
   each tensor and shows a mistake with a caret. It returns the worst relative error, or 1 if a
   gradient is missing or a line is unreadable. At its end it restores the graph, so that it
   changes nothing. */
double edf_check_backward(edf_node *y, const char *lines);
#ifdef EDF_NO_DEBUG                      /* The check returns 0.                              */
static inline double edf_judge__no_answer(const edf_node *y) { (void)y; return 0; }
#define edf_check_backward(y, lines)  ((void)(lines), edf_judge__no_answer(y))
#endif
#ifdef __cplusplus
}
#endif
#endif /* EDF_JUDGE_4_H */

#if defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_JUDGE__IMPLEMENTED)
#define EDF_JUDGE__IMPLEMENTED
#ifndef __wasi__
#include <setjmp.h>
#endif
#ifdef __cplusplus
extern "C" {
#endif
#ifndef EDF_NO_DEBUG
/* ==== >>judge  A submitted backward, run and compared ===================================== */

/* Makes W.grad one name in a text that has been begun. */
static void edf_judge__join_grads(edf__scan *s) {
  for (char *c = (char *)(uintptr_t)s->at; *c; c++)
    if (!strncmp(c, ".grad", 5) && c[s->size - 1])
      memcpy(c + s->size, c, 5);
}

/* A gradient is right if its relative error is at most this. */
static const double edf_judge__right_below = EDF_REAL_IS_DOUBLE ? 1e-6 : 2e-3;
enum { EDF_JUDGE__ANSWERED = 64 };       /* the most tensors of a submitted backward          */

/* A tensor of a submitted backward, W or W.grad. It is the state of its node. */
typedef struct {
  edf_node *node;
  const edf_node *of;                    /* W of W.grad, else NULL                            */
  edf_real *first, *right;               /* start values, and what lines must add, or NULL    */
  double scale;                          /* factor of `right`: 1, or 1/B for Parameters       */
  double most;                           /* the greatest entry of all right gradients, or 1   */
  /* 1 for a helper, the number of lines that write it, and the number of reads of `of` */
  int helper, lines, reads;
} edf_judge__answered;

/* A correction: `with` replaces n characters at `at`. `slip` says what the mistake is. */
typedef struct { const char *slip; size_t at, n; char with[160]; } edf_judge__edit;

typedef struct {
  edf_node *y;
  const char *called;                    /* the name of y in the text: it may have several    */
  const char *text;
  edf_slide__slide all;                  /* its lines that were read                          */
  int n_given;                           /* number of tensors that are not helpers            */
  int quiet, unreadable;                 /* 1 to print nothing; number of unreadable lines    */
  double work;                           /* number of steps of all loops so far               */
  edf_judge__edit *edit; int n_edit;     /* corrections to try, and their number              */
  edf_node *node[EDF_JUDGE__ANSWERED];   /* y, what the text names, and what y's line reads   */
  const char *name[EDF_JUDGE__ANSWERED];
  const edf_slide__statement *line[EDF_JUDGE__ANSWERED];         /* the line of each, or NULL */
  char through[EDF_JUDGE__ANSWERED];     /* 1 if the gradient passes through its line         */
  int reads[EDF_JUDGE__ANSWERED];        /* number of reads of it in these lines              */
  char itself[EDF_JUDGE__ANSWERED];      /* 1 if its own line reads it                        */
  const edf_real *value[EDF_JUDGE__ANSWERED];        /* what the text reads                   */
  int n;
} edf_judge__answer;

/* ---- Running a submitted backward. Finds the size of each index: from its bound, else from a
   tensor, else from y's line. */
static void edf_judge__find_loops_of(edf_judge__answer *a, edf_slide__statement *l) {
  edf_equation *e = &l->m.e;
  const edf_slide__statement *own = edf_slide__line_named(a->y, a->called);
  int from[EDF_MAX_INDEX], extent[EDF_MAX_INDEX] = { 0 };
  double work = 1;
  for (int f = !l->of[0]; f < e->n_ref; f++)
    for (int d = 0; d < e->ref[f].rank; d++) {
      const edf_place *p = &e->ref[f].place[d];
      int i = edf_slide__alone(e, p), n = l->of[f]->dim[d];
      if (i < 0 || e->index[i].bound) continue;      /* A bound gives the size.               */
      if (extent[i] && extent[i] != n)
        edf__syntax(e->scan, p->at, "%s is %d in %s and %d in %s: are indices transposed?",
                    e->index[i].name, extent[i], e->ref[from[i]].name, n, e->ref[f].name);
      extent[i] = n;
      from[i] = f;
    }
  for (int i = 0; i < e->n_index; i++) {
    const char *name = e->index[i].name;
    int *bound = &e->index[i].bound;
    if (!*bound) *bound = extent[i];
    for (int o = 0; own && !*bound && o < own->m.e.n_index; o++)
      if (!edf_slide__compare_names(own->m.e.index[o].name, name))
        *bound = (int)own->m.extent[o];
    if (*bound <= 0)
      edf__syntax(e->scan, name, "unknown size of %s: add '| %s<n'", name, name);
    work *= *bound;
  }
  a->work += work;
}

static edf_judge__answered *edf_judge__answered_of(const edf_node *x) {
  return (edf_judge__answered *)x->state;
}

/* Makes a tensor of this shape. A helper is freed with the computed nodes. */
static edf_judge__answered *edf_judge__new_answered(int helper, const char *name, int rank,
                                                    const int *dim) {
  edf_node *x = edf__new_node(helper ? EDF_COMPNODE : EDF_INPUT, "Input", "answer", 0, 0);
  edf_judge__answered *t = (edf_judge__answered *)edf_state(x, sizeof *t);
  t->node = x;
  t->helper = helper;
  x->name = name;
  x->rank = rank;
  x->size = 1;
  for (int d = 0; d < rank; d++) x->size *= (size_t)(x->dim[d] = dim[d]);
  size_t bytes = x->size * sizeof *x->value;
  x->value = (edf_real *)(helper ? edf_slide__alloc(bytes) : edf_keep(NULL, bytes));
  x->kind = EDF_INPUT;
  x->fed = 1;
  edf__append_leaf(x);
  return t;
}

/* Returns tensor f of line l. On the right it is the newest of this name. On the left it is one
   that lines may write to, or NULL for a new helper. If y's line reads y, two tensors are
   called y.grad. One is given, and the other is the gradient of the y that the line reads. */
static edf_judge__answered *edf_judge__answered_at(const edf_slide__statement *l, int f) {
  const edf_ref *r = &l->m.e.ref[f];
  edf_judge__answered *t = NULL;
  for (int i = 0; i < edf.n_inputs; i++) {
    edf_judge__answered *o = edf_judge__answered_of(edf.inputs[i]);
    if (!strcmp(o->node->name, r->name) && (f || o->right || o->helper || o->of)) t = o;
    if (!f && t && t->right) break;
  }
  if (!t && (f || strchr(r->name, '.')))
    edf__syntax(l->m.e.scan, r->name, "no tensor is called %s", r->name);
  if (!f && t && t->of && !t->right)
    edf__syntax(l->m.e.scan, r->name, "y's line does not read this tensor. A line that reads "
                "its own tensor at another step needs an answer to itself");
  if (t && t->node->rank != r->rank)
    edf__syntax(l->m.e.scan, r->name, "%s has %d indices", r->name, t->node->rank);
  return t;
}

/* Makes the helper on the left of l, with the shape of an equation's left side. */
static edf_node *edf_judge__new_helper(edf_slide__statement *l) {
  const edf_ref *left = l->m.e.ref;
  int dim[EDF_MAX_RANK];
  for (int d = 0; d < left->rank; d++) {
    ptrdiff_t least, greatest;
    edf_slide__reach(&l->m, &left->place[d], &least, &greatest);
    if (least < 0 || greatest >= INT_MAX)
      edf__syntax(l->m.e.scan, left->place[d].at, "this position writes entries %ld to %ld",
                  (long)least, (long)greatest);
    dim[d] = (int)greatest + 1;
  }
  return edf_judge__new_answered(1, left->name, left->rank, dim)->node;
}

/* Returns the entry that the left side of l has at these indices, or NULL if it is outside. */
static edf_real *edf_judge__entry_at(const edf_slide__statement *l, const int *at,
                                     edf_node *const *by, size_t n) {
  const edf_node *t = l->of[0];
  size_t where = 0;
  for (int d = 0; d < t->rank; d++) {
    const edf_place *p = &l->m.e.ref->place[d];
    double i = by[d] ? (double)by[d]->value[n] : p->constant;
    for (int k = 0; k < l->m.e.n_index && !by[d]; k++) i += p->factor[k] * at[k];
    if (!(i >= 0 && i < t->dim[d])) return NULL;
    where = where * (size_t)t->dim[d] + (size_t)i;
  }
  return &t->value[where];
}

/* Reads and runs the next line. Its right side and each lookup on the left become nodes with
   the indices of the left side. Then the entries are added one by one. */
static void edf_judge__run_line(edf_judge__answer *a, edf_slide__statement *l) {
  edf_slide__read_statement(&a->all, &a->all.scan);
  edf_slide__slide single = a->all;
  edf_node *by[EDF_MAX_RANK] = { NULL };
  int at[EDF_MAX_INDEX] = { 0 };
  edf_equation *e = &l->m.e;
  single.n = edf.n_compnodes = 0;        /* the line reads only nodes of the graph            */
  l->slide = &single;
  if (l->right->next)
    edf__syntax(e->scan, l->where->at, "expected one sum of products");
  edf_slide__bind_line(l);
  for (int f = 0; f < e->n_ref; f++) {
    const edf_judge__answered *t = edf_judge__answered_at(l, f);
    l->of[f] = t ? t->node : NULL;
  }
  edf_judge__find_loops_of(a, l);
  edf_slide__solve_extents(l);
  edf_slide__set_groups(l);
  if (!l->of[0]) l->of[0] = edf_judge__new_helper(l);
  edf_slide__value left = edf_slide__new_value(l, NULL, l->left);
  edf_node *y = edf_slide__line_node(l, l->right, left.at, 0);
  if (y) (edf_forward_to)(y);
  for (edf_slide__expr *x = l->where->in; x; x = x->next) {
    if (x->sort == EDF_SLIDE__A_GROUP) continue;
    edf_slide__value k = edf_slide__value_of(l, x);
    by[x->place] = edf_slide__with_indices(l, &k, l->left).node;
    (edf_forward_to)(by[x->place]);
    edf_value(by[x->place]);
  }
  edf_judge__answered *t = edf_judge__answered_of(l->of[0]);
  t->lines++;
  if (!l->adds) memset(t->node->value, 0, t->node->size * sizeof *t->node->value);
  const edf_real *v = y ? edf_value(y) : NULL;
  for (size_t n = 0; y && n < y->size; n++) {
    size_t rest = n;
    for (int i = e->n_index - 1; i >= 0; i--) {
      if (!(l->left >> i & 1)) continue;
      at[i] = (int)(rest % (size_t)e->index[i].bound);
      rest /= (size_t)e->index[i].bound;
    }
    edf_real *to = edf_judge__entry_at(l, at, by, n);
    if (to) *to += v[n];
  }
  edf_push(t->node);
}

/* Prints a message, indented, unless `quiet` is 1. */
static void edf_judge__print_said(const char *message, int quiet) {
  for (const char *c = message, *end; *c && !quiet; c = end + (*end == '\n')) {
    size_t n = strcspn(c, "\n");
    end = c + n;
    while (n && c[n - 1] == ' ') n--;
    printf("        %.*s\n", (int)n, c);
  }
}

/* Runs the next line. Returns 1, or prints the error of the reader and returns 0. WebAssembly
   has no setjmp. There a page may define EDF_JUDGE_ATTEMPT(run, with). It calls run(with), and
   is 0 if that has trapped. Without it the program stops. */
typedef struct { edf_judge__answer *a; edf_slide__statement *l; } edf_judge__attempted;
static void edf_judge__run_attempted(void *with) {
  edf_judge__attempted *at = (edf_judge__attempted *)with;
  edf_judge__run_line(at->a, at->l);
}
static const char *edf_judge__message;
#ifdef __wasi__
#ifndef EDF_JUDGE_ATTEMPT
#define EDF_JUDGE_ATTEMPT(run, with) (edf.stopped = NULL, run(with), 1)
#endif
static void edf_judge__continue(const char *message) {
  edf_judge__message = message;
  __builtin_trap();
}
#else
static jmp_buf edf_judge__here;
static void edf_judge__continue(const char *message) {
  edf_judge__message = message;
  longjmp(edf_judge__here, 1);
}
#define EDF_JUDGE_ATTEMPT(run, with) (!setjmp(edf_judge__here) && (run(with), 1))
#endif
static int edf_judge__survives(edf_judge__answer *a, edf_slide__statement *l) {
  edf_judge__attempted at = { a, l };
  edf.stopped = edf_judge__continue;
  int is_right = EDF_JUDGE_ATTEMPT(edf_judge__run_attempted, &at);
  edf.stopped = NULL;
  if (is_right) return 1;
  a->unreadable++;
  if (!a->quiet) printf("  FAIL  a line that cannot be run:\n");
  edf_judge__print_said(edf_judge__message, a->quiet);
  return 0;
}

/* Runs all lines of a text, from the start values. */
static void edf_judge__run_answer(edf_judge__answer *a, const char *text) {
  static const edf__site site = { "answer", NULL, 0 };
  edf.n_inputs = a->n_given;
  edf.n_compnodes = 0;
  edf_clear_compnodes();
  memset(&a->all, 0, sizeof a->all);
  a->unreadable = 0;
  for (int i = 0; i < edf.n_inputs; i++) {
    edf_judge__answered *t = edf_judge__answered_of(edf.inputs[i]);
    if (t->right) memcpy(t->node->value, t->first, t->node->size * sizeof *t->first);
    edf_push(t->node);
    t->lines = 0;
  }
  edf__scan *s = edf_slide__begin_text(&a->all, &site, "answer", text, (int)strlen(text));
  edf_judge__join_grads(s);
  for (;;) {
    while (edf__peek(s) == '\n') s->at++;
    const char *begin = s->at;
    if (!*begin) break;
    edf_slide__statement *l = &a->all.line[a->all.n];
    if (edf_judge__survives(a, l) || l->whole) continue;
    s->at = begin;
    memset(&a->all.line[--a->all.n], 0, sizeof *a->all.line);
    s->at += strcspn(begin, "\n");
  }
}

/* ---- The right gradients. They come from a graph that has y's line and all lines that the
   gradient passes through. Every other tensor is a Parameter there. */
/* Returns 1 if x, which line l computes, is computed above y of line m. In a recurrence, its
   line stands above that of y. */
static int edf_judge__is_above(const edf_node *x, const edf_slide__statement *l,
                               const edf_node *y, const edf_slide__statement *m) {
  return x->kind != EDF_COMPNODE ||
         (l && m && l->slide == m->slide ? l < m : x->position < y->position);
}
static int edf_judge__is_number_above(const edf_judge__answer *a, int k, int o) {
  return edf_judge__is_above(a->node[k], a->line[k], a->node[o], a->line[o]);
}
/* Adds the tensor `name` to a->node unless a->node has it. Returns its number, or -1. */
static int edf_judge__know(edf_judge__answer *a, const char *name, edf_node *x) {
  int read = x != NULL;                  /* else the text names it: it must be above y        */
  if (!x) x = !strcmp(name, a->called) ? a->y : edf_slide__newest(name);
  for (int k = 0; k < a->n; k++) if (!strcmp(a->name[k], name)) return k;
  const edf_slide__statement *line = x ? edf_slide__line_named(x, name) : NULL;
  if (!x || a->n == EDF_JUDGE__ANSWERED
      || (!read && x != a->y && !edf_judge__is_above(x, line, a->y, *a->line))) return -1;
  a->line[a->n] = line;
  a->name[a->n] = x == a->y && !a->n ? a->called : edf_slide__copy(name);
  a->node[a->n++] = x;
  return a->n - 1;
}

/* Returns 1 if the text reads the gradient of this tensor, and no line of it adds to it. */
static int edf_judge__is_given(const char *text, const char *name) {
  size_t n = strlen(name);
  int reads = 0, right = 0, inside = 0;
  for (; *text; text++) {
    right = *text != '\n' && (right || *text == '=');
    int is = !inside && !strncmp(text, name, n) && !strncmp(text + n, ".grad", 5);
    if (is && !right) return 0;
    reads |= is;
    inside = edf__is_letter(*text) || edf__is_digit(*text);
  }
  return reads;
}
/* Finds the name by which the text calls y, whose line may have several. */
static void edf_judge__find_called(edf_judge__answer *a) {
  const edf_slide__alias *also = edf_slide__note_of(a->y)->also;
  a->called = a->y->name;
  for (; also && !edf_judge__is_given(a->text, a->called); also = also->next)
    if (edf_judge__is_given(a->text, also->name)) a->called = also->name;
}
/* Finds the tensors in the text. If it reads Z.grad, the gradient passes through Z's line. */
static void edf_judge__know_names(edf_judge__answer *a) {
  static const edf__site site = { "answer", NULL, 0 };
  int n = (int)strlen(a->text), right = 0;
  edf__scan s = edf__scan_of(&site, "answer", a->text, n, n, "\t\r", edf_slide__type_signs);
  a->through[edf_judge__know(a, a->called, a->y)] = 1;
  for (; *s.at; s.at++) {
    right = *s.at != '\n' && (right || *s.at == '=');
    if (!edf__is_letter(*s.at)) continue;
    int k = edf_judge__know(a, edf__identifier(&s, ""), NULL);
    if (k >= 0 && right && !strncmp(s.at, ".grad", 5))
      a->through[k] |= a->node[k]->kind == EDF_COMPNODE && a->line[k] != NULL;
    s.at--;
  }
  edf_release((void *)(uintptr_t)s.text);
}

/* Counts one read of tensor `name` in the line of tensor number `by`. */
static void edf_judge__know_read(edf_judge__answer *a, int by, const char *name, edf_node *x) {
  int k = edf_judge__know(a, name, x ? x : edf_slide__newest(name));
  if (k < 0) return;
  a->reads[k]++;
  a->itself[k] |= a->node[k]->kind == EDF_COMPNODE &&      /* It is of another step.         */
                  (k == by || !edf_judge__is_number_above(a, k, by));
}

/* Counts the reads in the lines of tensor number k, or the inputs of a node without a line. */
static void edf_judge__know_operands(edf_judge__answer *a, int k) {
  const edf_node *x = a->node[k];
  const edf_slide__statement *own = a->line[k], *l = own;
  for (int i = 0; !own && i < x->n_in; i++)
    edf_judge__know_read(a, k, x->in[i]->name, x->in[i]);
  if (!own) return;
  while (l->older) l = l->older;
  for (; l; l = l->newer)
    for (int f = 1; !l->entry && f < l->m.e.n_ref; f++)
      edf_judge__know_read(a, k, l->m.e.ref[f].name, l->of[f]);
}

/* Makes a Parameter that has the shape of x. */
static edf_node *edf_judge__twin(const char *name, const edf_node *x) {
  edf__site at = { "answer", x->file, x->line };
  return edf_slide__parameter(&at, name, x->rank, x->dim);
}
/* Fills v with random numbers from 0.5 to 1.5 times `size`, of both signs. */
static void edf_judge__randomize(edf_real *v, size_t n, double size) {
  for (size_t i = 0; i < n; i++) {
    edf_real r = edf_uniform((edf_real)(0.5 * size), (edf_real)(1.5 * size));
    v[i] = edf_below(2) ? r : -r;
  }
}

/* Builds line l of a program again, over the tensors x of the answer's graph. */
static edf_node *edf_judge__line_again(const edf_judge__answer *a,
                                       const edf_slide__statement *l, edf_node **x) {
  edf_slide__slide alone = *l->slide;
  edf_slide__statement copy = *l;
  edf_equation *e = &copy.m.e;
  alone.n = 0;                           /* Steps of a recurrence are not built.              */
  alone.one = NULL;
  alone.first = edf.n_compnodes;
  copy.slide = &alone;
  copy.to = copy.n_loop = 0;
  for (int f = 1; f < e->n_ref; f++)
    for (int k = 0; k < a->n; k++)
      if (!strcmp(a->name[k], e->ref[f].name)) copy.of[f] = x[k];
  for (int i = 0; i < e->n_index; i++)
    if (l->to && l->m.extent[i] > 0) e->index[i].bound = (int)l->m.extent[i];
  edf_slide__solve_extents(&copy);
  for (int i = 0; i < e->n_index; i++)
    if (copy.m.extent[i] < 0) copy.m.extent[i] = l->m.extent[i];
  return l->right->next ? edf_slide__joined_line(&copy, *e->ref)
                        : edf_slide__line_node(&copy, l->right, *e->ref, 0);
}
/* Makes a copy of node y that reads the tensors x. */
static edf_node *edf_judge__node_again(const edf_judge__answer *a, const edf_node *y,
                                       edf_node **x) {
  const edf_contraction *m = edf_slide__has_equation(y) ? edf_slide__einsum_of(y) : NULL;
  edf__site at = { m ? "Einsum" : y->op, y->file, y->line };
  edf_node *in[EDF_SLIDE__MAX_REF] = { NULL };
  int n = m ? m->written.n_operand : y->n_in;
  for (int i = 0; i < n && i < EDF_SLIDE__MAX_REF; i++)
    for (int k = 0; k < a->n; k++)
      if (a->node[k] == (m ? m->operand[i] : y->in[i])) in[i] = x[k];
  if (m) return edf_slide__equation_node(&at, y->about, m->kind, &m->written, n, in);
  at.op = y->about->name;
  edf_node *copy = edf__computed(y->about, at, n, in);
  copy->rank = y->rank;
  if (edf_slide__note_of(y) != &edf_slide__no_note)
    *edf_slide__note(copy) = *edf_slide__note_of(y);
  size_t bytes = y->state ? edf__header(y->state)->bytes : 0;
  if (bytes) memcpy(edf_state(copy, bytes), y->state, bytes);
  return edf__add_compnode(copy);
}
/* Builds node k again: the sum of its lines, or a copy if no text has made it. */
static edf_node *edf_judge__build_again(const edf_judge__answer *a, int k, edf_node **x) {
  const edf_node *y = a->node[k];
  const edf_slide__statement *own = a->line[k], *l;
  edf_node *sum = NULL;
  if (!own) return edf_judge__node_again(a, y, x);
  for (l = own->slide->line; l < own->slide->line + own->slide->n; l++) {
    if (!!strcmp(l->m.e.ref->name, own->m.e.ref->name) || l->entry) continue;
    edf_node *line = edf_judge__line_again(a, l, x);
    sum = sum ? edf_node2(&edf_add_op, y->file, y->line, sum, line) : line;
  }
  return sum;
}

/* Adds sum_i x[i] of[i] to the loss, for random numbers `of`, and returns these numbers. */
static const edf_real *edf_judge__add_random(edf_node **loss, edf_node *x) {
  edf_node *of = edf_judge__twin("given_", x);
  edf_node *product = edf_node2(&edf_mul_op, x->file, x->line, x, of);
  edf_node *sum = edf_node1(&edf_sum_op, x->file, x->line, product);
  edf_judge__randomize(of->value, of->size, 1);
  edf_push(of);
  *loss = *loss ? edf_node2(&edf_add_op, x->file, x->line, *loss, sum) : sum;
  return of->value;
}

/* Makes the tensor x.grad for x = node[k]. It begins with `first`, or with random values. The
   lines must add right - first, or without `first` all of `right`. */
static edf_judge__answered *edf_judge__add_grad(const edf_judge__answer *a, int k,
                                                const edf_real *right, const edf_real *first) {
  const edf_node *x = a->node[k];
  edf_page name = { NULL, 0 };
  edf_write(&name, "%s.grad", a->name[k]);
  edf_judge__answered *t = edf_judge__new_answered(0, name.at, x->rank, x->dim);
  size_t bytes = t->node->size * sizeof *right;
  t->of = x;
  t->reads = a->reads[k];
  if (!right) return t;
  t->right = (edf_real *)memcpy(edf_keep(NULL, bytes), right, bytes);
  t->first = (edf_real *)edf_keep(NULL, bytes);
  double norm = edf_statistics_of(right, x->size).norm / sqrt((double)x->size);
  if (!first) edf_judge__randomize(t->first, x->size, norm > 0 && norm < HUGE_VAL ? norm : 1);
  else memcpy(t->first, first, bytes);
  for (size_t i = 0; first && i < x->size; i++) t->right[i] -= first[i];
  return t;
}

/* Returns x, or x + 0 for a softmax x. So the logarithm in a later line reads the tensor x, and
   not the argument of the softmax. */
static edf_node *edf_judge__apart(edf_node *x) {
  if (!edf_slide__softmax_of(x)) return x;
  return edf_node2(&edf_add_op, x->file, x->line, x, edf_judge__twin("zero_", x));
}
/* Returns the tensor whose line has n others above it, or -1. Only those count that the
   gradient passes through. */
static int edf_judge__next_line(const edf_judge__answer *a, int n) {
  for (int k = 0; k < a->n; k++) {
    int above = 0;
    for (int o = 0; o < a->n; o++)
      above += a->through[o] && o != k && edf_judge__is_number_above(a, o, k);
    if (a->through[k] && above == n) return k;
  }
  return -1;
}
/* Makes all gradients, with their right values. y.grad itself is given. */
static void edf_judge__right_of_lines(edf_judge__answer *a) {
  edf_node *x[EDF_JUDGE__ANSWERED] = { NULL }, *loss = NULL, *y = NULL;
  const edf_real *first[EDF_JUDGE__ANSWERED] = { NULL }, *given = NULL;
  for (int k = 0; k < a->n; k++) {
    if (a->through[k] && !a->itself[k]) continue;
    x[k] = edf_judge__twin(a->name[k], a->node[k]);
    memcpy(x[k]->value, a->node[k]->value, x[k]->size * sizeof *x[k]->value);
    edf_push(x[k]);
  }
  for (int n = 0, k; (k = edf_judge__next_line(a, n)) >= 0; n++) {
    y = edf_judge__build_again(a, k, x);
    if (!a->itself[k]) x[k] = k ? edf_judge__apart(y) : y;
  }
  given = edf_judge__add_random(&loss, y);
  for (int k = 1; k < a->n; k++)
    if (a->through[k] && !a->itself[k]) first[k] = edf_judge__add_random(&loss, x[k]);
  (edf_forward_to)(loss);
  (edf_backward)(loss);
  double most = 1;
  for (int k = !a->itself[0]; k < a->n; k++) {
    const edf_real *right = a->reads[k] ? edf_grad(x[k]) : NULL;
    for (size_t i = 0; right && i < x[k]->size; i++)
      if (fabs((double)right[i]) < HUGE_VAL) most = fmax(most, fabs((double)right[i]));
    edf_judge__add_grad(a, k, right, first[k]);
  }
  for (int i = 0; i < edf.n_inputs; i++) edf_judge__answered_of(edf.inputs[i])->most = most;
  for (int k = 0; k < a->n; k++) a->value[k] = x[k]->value;
  edf_judge__answered *t = edf_judge__add_grad(a, 0, NULL, NULL);
  memcpy(t->node->value, given, y->size * sizeof *given);
}

/* ---- Naming a mistake. Corrections of the text are tried until the gradient is right. */
/* Returns the worst relative error of an entry of t, or 1 if it is NaN. */
static double edf_judge__answer_error(const edf_judge__answered *t) {
  double most = 0, worst = 0, noise = EDF_REAL_IS_DOUBLE ? 1e-9 : 1e-3, scale = t->scale;
  for (size_t i = 0; i < t->node->size; i++)
    most = fmax(most, fabs(scale * (double)t->right[i]));
  for (size_t i = 0; i < t->node->size; i++) {
    double first = (double)t->first[i], right = scale * (double)t->right[i];
    double yours = (double)t->node->value[i] - first;
    double size = fabs(yours) + fabs(right) + (EDF_REAL_IS_DOUBLE ? 1e-3 : 5e-2) * most
                  + noise * (fabs(first) + t->most);       /* Terms may cancel.               */
    double error = fabs(yours - right) / size;
    worst = error <= worst ? worst : error == error ? error : 1;
  }
  return worst;
}

/* Remembers that `with` may replace n characters. The first % in `slip` stands for `with`. Long
   names are not proposed. */
static void edf_judge__propose(edf_judge__answer *a, const edf_slide__statement *l,
                               const char *slip, const char *at, size_t n, const char *with) {
  const edf__scan *s = l->m.e.scan;
  if (strlen(with) >= sizeof a->edit->with) return;
  size_t all = (size_t)++a->n_edit * sizeof *a->edit;
  a->edit = (edf_judge__edit *)edf__grow(&edf.kept, a->edit, all);
  edf_judge__edit *e = &a->edit[a->n_edit - 1];
  e->slip = slip;
  e->at = (size_t)(at - s->text) % s->size;
  e->n = n;
  snprintf(e->with, sizeof e->with, "%s", with);
}

/* Returns the number of characters before one of `end` that is outside brackets. */
static size_t edf_judge__until(const char *c, const char *end) {
  size_t n = 0;
  for (int depth = 0; c[n] && (depth || !strchr(end, c[n])); n++)
    depth += (strchr("[(", c[n]) != NULL) - (strchr("])", c[n]) != NULL);
  return n;
}
/* Proposes two exchanged positions of tensor r, and other indices. If `twins` is 1, it proposes
   only names that differ in case alone from an index of the line. */
static void edf_judge__propose_places(edf_judge__answer *a, const edf_slide__statement *l,
                                      const edf_ref *r, int twins) {
  for (int d = 0; d < r->rank; d++) {
    const char *p = r->place[d].at;
    size_t n = edf_judge__until(p, ",]");
    for (int o = d + 1; !twins && o < r->rank; o++) {
      const char *q = r->place[o].at;
      size_t m = edf_judge__until(q, ",]");
      if ((size_t)(q - p) + m >= sizeof a->edit->with) continue;
      edf_judge__propose(a, l, "transposed: write % here", p, (size_t)(q - p) + m,
                         edf__text("%.*s%.*s%.*s", (int)m, q, (int)(q - p) - (int)n, p + n,
                                   (int)n, p));
    }
    for (int i = 0; i < 2 * l->m.e.n_index; i++) {
      const char *c = l->m.e.index[i / 2].name;
      char first = edf_slide__is_capital(c) ? (char)tolower(*c) : (char)toupper(*c);
      int twin = i % 2;
      for (int k = 0; k < l->m.e.n_index; k++)
        twin |= k != i / 2 && !edf_slide__compare_names(c, l->m.e.index[k].name);
      if (twin == twins)
        edf_judge__propose(a, l, "another index: write % here", p, n,
                           edf__text("%c%.400s", i % 2 ? first : *c, c + 1));
    }
  }
}

/* Proposes other tensors of the same shape in place of tensor f, and 1 in its place. */
static void edf_judge__propose_tensors(edf_judge__answer *a, const edf_slide__statement *l,
                                       int f) {
  const edf_ref *r = &l->m.e.ref[f];
  const edf_node *t = l->of[f];
  const char *at = r->name - l->m.e.scan->size;
  size_t name = strlen(r->name), n = name;
  if (r->rank) n += strcspn(at + n, "[") + 1;
  if (r->rank) n += edf_judge__until(at + n, "]") + 1;
  for (int i = 0; i < a->n_given && t; i++) {        /* t is NULL if the line failed          */
    const edf_node *o = edf.inputs[i];
    if (o->rank == t->rank && !memcmp(o->dim, t->dim, sizeof o->dim))
      edf_judge__propose(a, l, "another tensor's value: write % here", at, name, o->name);
  }
  edf_judge__propose(a, l, "a factor too much: write % in its place", at, n, "1");
}

/* Proposes tensor f of line `own` as a missing factor at `at`, with the indices of line l. */
static void edf_judge__propose_beside(edf_judge__answer *a, const edf_slide__statement *l,
                                      const char *at, const edf_slide__statement *own, int f) {
  static const char *const form[] = { "%.200s%s ", "(1-%.200s%s) ", "(1-%.200s%s^2) ",
                                      "%.200s.grad%s " };
  const edf_ref *r = &own->m.e.ref[f];
  const char *indices = r->rank ? "[" : "";
  for (int d = 0; d < r->rank; d++) {
    int i = edf_slide__alone(&own->m.e, &r->place[d]), k = 0;
    const char *name = i < 0 ? "0" : own->m.e.index[i].name;
    while (k < l->m.e.n_index && edf_slide__compare_names(l->m.e.index[k].name, name)) k++;
    indices = edf__text("%s%.30s%s", indices, k < l->m.e.n_index ? l->m.e.index[k].name : name,
                        d + 1 < r->rank ? "," : "]");
  }
  for (int k = 0; k < 4; k++)
    edf_judge__propose(a, l, "a factor is missing: %", at, 0,
                       edf__text(form[k], r->name, indices));
}

/* Proposes all corrections of line l. An edit without a name gets its number later. */
static void edf_judge__propose_line(edf_judge__answer *a, edf_slide__statement *l) {
  const char *eq = l->m.e.ref->name - l->m.e.scan->size;
  if (!l->adds)
    edf_judge__propose(a, l, "'=' where a gradient needs %", strchr(eq, '='), 1, "+=");
  for (const edf_slide__expr *p = l->right->in; p; p = p->next)
    edf_judge__propose(a, l, "", p->at, 0, "2 ");
  for (int twins = 0; twins < 2; twins++)
    for (int f = 0; f < l->m.e.n_ref; f++)
      edf_judge__propose_places(a, l, &l->m.e.ref[f], twins);
  for (int f = 1; f < l->m.e.n_ref; f++) edf_judge__propose_tensors(a, l, f);
  for (const edf_slide__expr *p = l->right->in; p; p = p->next)
    for (int k = 0; k < a->n; k++) {
      const edf_slide__statement *own = a->through[k] ? a->line[k] : NULL;
      for (int f = 0; own && f < own->m.e.n_ref; f++)
        edf_judge__propose_beside(a, l, p->at, own, f);
    }
}

/* Returns how many tensors with lines are wrong. A scale above 0 becomes that of Parameters. */
static int edf_judge__count_wrong(double scale) {
  int n = 0;
  for (int i = 0; i < edf.n_inputs; i++) {
    edf_judge__answered *t = edf_judge__answered_of(edf.inputs[i]);
    if (!t->right) continue;
    if (scale > 0) t->scale = t->of->kind == EDF_PARAMETER ? scale : 1;
    n += t->lines && edf_judge__answer_error(t) > edf_judge__right_below;
  }
  return n;
}

static void edf_judge__run_edited(edf_judge__answer *a, const edf_judge__edit *e) {
  edf_page text = { NULL, 0 };
  edf_write(&text, "%.*s%s%s", (int)e->at, a->text, e->with, a->text + e->at + e->n);
  edf_judge__run_answer(a, text.at);
  edf_release(text.at);
}

/* Finds the factor that corrects a term. Edit e doubles the term, so the change of t is the
   contribution of the term. The factor is fitted to what is missing. */
static void edf_judge__fit_number(edf_judge__answer *a, edf_judge__edit *e,
                                  const edf_judge__answered *t) {
  size_t bytes = t->node->size * sizeof *t->right;
  edf_real *once = (edf_real *)edf_keep(NULL, bytes);
  double dd = 0, dr = 0, d;
  edf_judge__run_answer(a, a->text);
  memcpy(once, t->node->value, bytes);
  edf_judge__run_edited(a, e);
  for (size_t i = 0; i < t->node->size; i++) {
    d = (double)t->node->value[i] - (double)once[i];
    dd += d * d;
    dr += d * (t->scale * (double)t->right[i] + (double)t->first[i] - (double)once[i]);
  }
  double number = dd > 0 ? 1 + dr / dd : 1;
  int sign = fabs(number + 1) < 1e-3;
  e->slip = sign ? "wrong sign: insert % here" : fabs(number) < 1e-3
            ? "a term too much: it is %" : "wrong factor: insert % here";
  edf_format(e->with, sizeof e->with, sign ? "(-1) " : "(%.6g) ", number);
  edf_release(once);
}

/* Tries corrections of the lines of t until t is right. Prints that correction and returns 1.
   If `own` is 0, it corrects only other lines, and every tensor must become right. */
static int edf_judge__name_slip(edf_judge__answer *a, const edf_judge__answered *t, int own) {
  a->n_edit = 0;
  a->quiet = 1;
  for (int k = 0; k < a->all.n; k++)
    if (own == !strcmp(a->all.line[k].m.e.ref->name, t->node->name))
      edf_judge__propose_line(a, &a->all.line[k]);
  for (edf_judge__edit *e = a->edit; e < a->edit + a->n_edit && a->work < 3e7; e++) {
    if (!*e->slip) edf_judge__fit_number(a, e, t);
    edf_judge__run_edited(a, e);
    int all = !own && (a->unreadable || edf_judge__count_wrong(0));
    if (all || !t->lines || edf_judge__answer_error(t) > edf_judge__right_below) continue;
    edf_judge__run_answer(a, a->text);
    edf_page said = { NULL, 0 };
    size_t before = strcspn(e->slip, "%"), n = strlen(e->with);
    while (n && e->with[n - 1] == ' ') n--;
    edf_write(&said, "answer: %s%.*s%.*s%s", edf__caret(&a->all.scan, a->all.scan.text + e->at),
              (int)before, e->slip, (int)n, e->with, e->slip + before + 1);
    a->quiet = 0;
    edf_judge__print_said(said.at, 0);
    return 1;
  }
  edf_judge__run_answer(a, a->text);
  return 0;
}

/* ---- The report. Returns the number of terms that lines add to x. */
static int edf_judge__adds_to(const edf_judge__answer *a, const char *x) {
  int n = 0;
  for (int k = 0; k < a->all.n; k++)
    for (const edf_slide__expr *p = a->all.line[k].right->in; p; p = p->next)
      n += !strcmp(a->all.line[k].m.e.ref->name, x);
  return n;
}

/* Reports on t, and returns its error. The scale `either` is tried if no correction helps. */
static double edf_judge__report_answer(edf_judge__answer *a, edf_judge__answered *t,
                                       double either) {
  double error = t->lines ? edf_judge__answer_error(t) : 1;
  edf_statistics s = edf_statistics_of(t->right, t->node->size);
  const char *x = t->node->name;
  int adds = edf_judge__adds_to(a, x), reads = t->reads, named = 0;
  if (!adds && (t->of->kind == EDF_INPUT || s.norm == 0)) return 0;
  printf("  %s  %s: ", error <= edf_judge__right_below ? "ok  " : "FAIL", x);
  if (!adds) printf("missing: no line that can be read adds to it\n");
  else edf__say("relative error %.2g%s\n", error, s.norm > 0 ? "" : "; all of it is 0 here");
  if (!adds || error <= edf_judge__right_below) return error;
  int several = edf_judge__count_wrong(0) > 1;
  for (int k = 0; k < 2 && !named; k++) named = edf_judge__name_slip(a, t, several ? k : !k);
  if (named) return error;
  if (t->of->kind == EDF_PARAMETER) t->scale = either;
  if (t->of->kind == EDF_PARAMETER && edf_judge__name_slip(a, t, 1)) return error;
  if (adds < reads) printf("        a contribution is missing: %s is read %d times, and %d "
                           "term%s to its gradient\n", t->of->name, reads, adds,
                           adds == 1 ? " adds" : "s add");
  else printf("        no simple correction makes it right; work out one entry by hand\n");
  return error;
}

/* Returns 1 if the text could have the factor 1/B: it has a division, a mean or a decimal
   number. Else a missing 2 would be right if B is 2. */
static int edf_judge__divides(const char *text) {
  for (const char *c = text; *c; c++)
    if (*c == '/' || (*c == '.' && c[1] >= '0' && c[1] <= '9')) return 1;
  return strstr(text, "mean") != NULL;
}
/* Gives all Parameters the better of the scales 1 and 1/B. Then reports on all tensors. */
static double edf_judge__judge_answer(edf_judge__answer *a) {
  double worst = a->unreadable > 0;
  double B = a->y->rank && edf_judge__divides(a->text) ? a->y->dim[0] : 1;
  int with_B = edf_judge__count_wrong(1 / B), without = edf_judge__count_wrong(1);
  if (with_B < without) edf_judge__count_wrong(1 / B);
  double either = with_B > without ? 1 : 1 / B;
  for (int i = 0; i < a->n_given; i++) {
    edf_judge__answered *t = edf_judge__answered_of(edf.inputs[i]);
    if (t->right) worst = fmax(worst, edf_judge__report_answer(a, t, either));
  }
  return worst;
}

/* Removes the nodes that the answer has added: joined steps of recurrences that it names. */
static void edf_judge__drop_joined(const edf_graph *before) {
  for (int i = before->n_compnodes; i < edf.n_compnodes; i++) {
    edf_slide__statement *l =
      (edf_slide__statement *)(uintptr_t)edf_slide__line_of_node(edf.compnodes[i]);
    if (l && l->y == edf.compnodes[i]) l->y = NULL;
  }
  edf.n_compnodes = before->n_compnodes;
  edf.at = before->at;
  edf.direction = before->direction;
}
double edf_check_backward(edf_node *y, const char *lines) {
  edf_graph before = edf;
  edf_judge__answer a;
  edf_expect_kind("edf_check_backward", "the node", y, EDF_COMPNODE);
  memset(&a, 0, sizeof a);
  a.y = y;
  a.text = lines ? lines : "";
  edf_judge__find_called(&a);
  printf("answer to %s, built at %s:%d\n",
         strcmp(a.called, y->name) ? a.called : edf_label(y), y->file, y->line);
  if (!edf_slide__line_of_node(y) && !edf_slide__has_equation(y) &&
      (!y->about || !y->about->name || !y->about->formula)) {
    printf("  FAIL  it has no equation to compare with: edf_gradcheck checks a node of your "
           "own\n");
    return 1;
  }
  edf_judge__know_names(&a);
  for (int k = 0; k < a.n; k++) if (a.through[k]) edf_judge__know_operands(&a, k);
  edf_snapshot *taken = edf_take_snapshot();
  for (int k = 0; k < a.n; k++) if (a.node[k]->forward) (edf_forward_to)(a.node[k]);
  for (int k = 0; k < a.n; k++) edf_value(a.node[k]);
  edf_graph was = edf;
  edf_device_table *device = edf_device;
  edf_device = NULL;                     /* The small graph of the answer runs here.          */
  edf = edf_new_graph();
  edf.training = was.training;
  edf_judge__right_of_lines(&a);
  edf.n_compnodes = edf.n_parameters = 0;
  for (int k = 0; k < a.n; k++) {
    const edf_node *x = a.node[k];
    edf_judge__answered *t = edf_judge__new_answered(0, a.name[k], x->rank, x->dim);
    memcpy(t->node->value, a.value[k], x->size * sizeof *x->value);
  }
  a.n_given = edf.n_inputs;
  edf_judge__run_answer(&a, a.text);
  double worst = edf_judge__judge_answer(&a);
  edf.n_inputs = a.n_given;              /* helpers are freed with the computed nodes         */
  edf_clear();
  edf = was;
  edf_device = device;
  edf_restore(taken);
  edf_judge__drop_joined(&before);
  return worst;
}
#endif
#ifdef __cplusplus
}
#endif
#endif /* EDF_JUDGE__IMPLEMENTED */
