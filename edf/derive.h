/* edf/derive.h - v4.0 - a derivative is a tensor, for edf.h

   A companion of edf.h. It includes edf/slide.h. EDF_IMPLEMENTATION, defined in exactly one
   file, compiles its code too. MIT licence, like edf.h.

   The derived backward is a program in the notation of the slide, so it can be part of a slide:

     #define EDF_IMPLEMENTATION
     #include "edf/derive.h"

     Equations("input x[b,2] \n"
               "h[b,j] = tanh(W[j,I] x[b,I] - B[j])   | j<16 \n"
               "u[b] = V[J] h[b,J] \n"
               "g[b,i] = grad(u, x[b,i]) \n"
               "loss[b] = (norm_i(g[b,i]) - 1)^2");

   The nodes of the backward become nodes of the graph. */
#if !defined(EDF_SLIDE_4_H) || \
    (defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_SLIDE__IMPLEMENTED))
#include "slide.h"
#endif
#ifndef EDF_DERIVE_4_H
#define EDF_DERIVE_4_H
#if EDF_VERSION != 400
#error "edf/derive.h is version 4.0, and edf.h is another version: use one version of both"
#include "edf/derive.h: another version" /* This file does not exist: a compiler stops here.  */
#endif
#ifdef __cplusplus
extern "C" {
#endif
/* Builds the derivative of the sum of L by x, a tensor with the shape of x:
     g[b,i] = d/dx[b,i] sum L
   In a text it is grad(L, x[b,i]), with the name of L and any positions of x. L is a node
   above, of any shape, and x is an Input, a Parameter or a node. The result may be used in
   further lines, be differentiated again, be trained and be checked.

   The chain rule runs from L back to x. Each node on the way passes on its gradient by the
   lines that edf_print_program prints of it, W.grad[j,i] += s.grad[b,j] x[b,i], as equations.
   So every node whose gradient is printed has a derivative. The node of d/dh sum L is named
   L.h. Fused nodes, as SoftmaxLogLoss, are derived by their formula. The derivative of sign,
   floor, stop, argmax and of tests is 0, and so is the second one of relu, abs, min and max. A
   dropout has the mask of this Forward. If L does not depend on x, the result is 0.
   Errors: L is no CompNode; a node without a formula on the way, such as a node of your own;
   EDF_NO_DEBUG, which removes the formulas; a row of the batch that is a number, x[0,i]; a
   dropout on a device. */
#define edf_derivative(L, x) edf_derivative_at(EDF_SLIDE__HERE, L, x)
edf_node *edf_derivative_at(const char *file, int line, edf_node *L, edf_node *x);
#ifdef __cplusplus
}
#endif
#ifndef EDF_NO_SHORT_NAMES
#define Derivative edf_derivative
#endif
#endif /* EDF_DERIVE_4_H */

#if defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_DERIVE__IMPLEMENTED)
#define EDF_DERIVE__IMPLEMENTED
#ifdef __cplusplus
extern "C" {
#endif
#ifdef EDF_NO_DEBUG
edf_node *edf_derivative_at(const char *file, int line, edf_node *L, edf_node *x) {
  edf__site at = { "edf_derivative", file, line };
  (void)L;
  (void)x;
  edf__fail(at, "EDF_NO_DEBUG has removed the formulas of all nodes");
}
#else
EDF__BEGIN_COLD
/* ==== >>derive  The backward as nodes ===================================================== */

/* ---- Kept: y = m x / (1-rate), with the mask of the Dropout d. The state of d has the rate,
   the factor 1/(1-rate) and the mask. */
static void edf_derive__kept(const edf_node *y, edf_real *to, const edf_real *from) {
  const edf_real *state = (const edf_real *)y->in[1]->state;
  const unsigned char *m = (const unsigned char *)(state + EDF_SLIDE__HEAD);
  for (size_t i = 0; i < y->size; i++) to[i] += from[i] * (edf_real)m[i] * state[1];
}
static void edf_derive__kept_forward(edf_node *y) {
  memset(y->value, 0, y->size * sizeof *y->value);
  edf_derive__kept(y, y->value, y->in[0]->value);
}
static void edf_derive__kept_backward(edf_node *y) {
  if (y->in[0]->grad) edf_derive__kept(y, y->in[0]->grad, y->grad);
}
static const edf_op edf_derive__kept_op = { "Kept", NULL, edf_derive__kept_forward,
  edf_derive__kept_backward, NULL, NULL, NULL, 0, NULL };

/* ---- One derivation, at a node y on the way. */
typedef struct {
  edf__site at;
  edf_node *y, *dy;                      /* the node, and the derivative by it                */
  edf_node *x;                           /* the operand of y that receives                    */
} edf_derive__way;

/* ---- Ones   y[i] = 1 for each entry i of x */
static void edf_derive__ones_forward(edf_node *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = 1;
}
static const edf_op edf_derive__ones_op = { "Ones", NULL, edf_derive__ones_forward, NULL, "y x",
  "y[i] = 1 + 0 x[i]", "", 0, NULL };
static edf_node *edf_derive__ones(const edf_derive__way *d, edf_node *x) {
  return edf_node1(&edf_derive__ones_op, d->at.file, d->at.line, x);
}

/* Adds two derivatives. NULL is 0. */
static edf_node *edf_derive__sum(const edf_derive__way *d, edf_node *a, edf_node *b) {
  return !a ? b : !b ? a : edf_node2(&edf_add_op, d->at.file, d->at.line, a, b);
}

/* ---- Texts over y and its operands, which have names of their own in them: dv_y, dv_00, dv_01
   ..., with _grad for derivatives, and dv_1 for the ones of x. */
enum { EDF_DERIVE__NAMES = 2 * EDF_SLIDE__MAX_REF };
/* Returns the number of letters of such a name. */
static size_t edf_derive__length(const char *name) {
  size_t n = 0;
  while (edf__is_letter(name[n]) || edf__is_digit(name[n])) n++;
  return n;
}
/* Returns the node with this name of n letters, or NULL for a name of the text. */
static edf_node *edf_derive__named(const edf_derive__way *d, const char *name, size_t n) {
  if (n == 9 && !strncmp(name, "dv_y_grad", n)) return d->dy;
  if (n == 4 && name[3] == 'y') return d->y;
  if (n == 4 && name[3] == '1') return edf_derive__ones(d, d->x);
  return n == 5 && edf__is_digit(name[4]) ? d->y->in[atoi(name + 3)] : NULL;
}
/* Builds a text. Equal nodes of one derivation are one node. */
static edf_node *edf_derive__build(const edf_derive__way *d, const char *text) {
  edf_node *in[EDF_DERIVE__NAMES], *x;
  const char *name[EDF_DERIVE__NAMES];
  edf_slide__slide *around = edf_slide__building;
  edf_slide__slide *all = (edf_slide__slide *)edf_slide__tree(sizeof *all);
  int n = 0, k;
  for (const char *c = text; (c = strstr(c, "dv_")) != NULL; c += edf_derive__length(c)) {
    size_t length = edf_derive__length(c);
    for (k = 0; k < n; k++)
      if (edf_derive__length(name[k]) == length && !strncmp(name[k], c, length)) break;
    if (k < n || n == EDF_DERIVE__NAMES) continue;
    x = edf_derive__named(d, c, length);
    if (x) { name[n] = c; in[n++] = x; }
  }
  edf_slide__read_over_nodes(all, &d->at, text, n, n, in);
  all->layer = NULL;
  all->first = 0;                        /* A copy of dy is dy itself, with its name.         */
  const char *was = d->dy->name;
  int inner = edf_slide__is_inner(d->dy);
  all->built = around->built;
  all->n_built = around->n_built;
  all->built_room = around->built_room;
  edf_node *y = edf_slide__run_slide(all);
  around->built = all->built;
  around->n_built = all->n_built;
  around->built_room = all->built_room;
  edf_slide__building = around;
  edf__find_equal = edf_slide__find_equal;
  if (y != d->dy) return y;
  y->name = was;
  edf_slide__note(y)->inner = inner;
  edf_slide__note(y)->line = NULL;
  return y;
}

/* Returns the part of z that begins at `offset` of dimension `axis`, with the shape of x. If z
   has one dimension more, it is one entry of this dimension. With the axis -1 it is all of z.
   Entries that z does not have are 0. */
static edf_node *edf_derive__part(const edf_derive__way *d, edf_node *z, double number,
                                  int axis, int offset) {
  static const char *const letters[EDF_MAX_RANK] = { "i", "j", "k", "l", "m", "n", "o", "p" };
  const edf_node *x = d->x;
  edf_slide__making to;
  edf_term term = { number, 0, NULL, 1, 1, "", 0 };
  int lacks = z->rank > x->rank, fits = number == 1 && axis < 0;
  memset(&to, 0, sizeof to);
  to.m.runs = 1;
  to.m.e.n_index = x->rank;
  to.m.e.n_operand = 1;
  to.m.e.scan = &edf_slide__building->scan;
  *edf_slide__next_term(&to.m.e) = term;
  edf_slide__next_ref(&to.m.e);
  edf_ref *right = edf_slide__next_ref(&to.m.e), *left = right - 1;
  left->name = "d";
  left->operand = -1;
  left->rank = x->rank;
  right->name = edf_slide__copy(edf_label(z));
  right->rank = z->rank;
  for (int p = 0; p < z->rank; p++) {
    int k = p - (lacks && p > axis), n = z->dim[p];
    if (p == axis) right->place[p].constant = offset;
    if (p == axis && lacks) continue;
    int batch = x->batched >> k & 1, size = x->dim[k];
    if (batch && !(z->batched >> p & 1))
      edf__fail(d->at, "a position of the batch is a number, as in x[0,i]: such a read has no "
                "derivative\n  %s\n  %s", edf__show(d->y), edf__show(x));
    edf_index index = { letters[k], 1, batch ? 0 : n < size ? n : size };
    to.m.e.index[k] = index;
    right->place[p].factor[k] = left->place[k].factor[k] = 1;
    to.m.padded[k] = batch ? 0 : size;
    fits &= batch || n == size;
  }
  if (fits) return z;
  to.m.written = to.m.e;
  to.m.operand = (edf_node **)edf_slide__alloc(sizeof z);
  *to.m.operand = z;
  edf__site at = { "Einsum", d->at.file, d->at.line };
  return edf_slide__einsum_node(at, &edf_slide__einsum_op, &to.m, 1, &z);
}
/* What a Concat passes on is a part for each operand that is x. */
static edf_node *edf_derive__parts(const edf_derive__way *d) {
  const edf_node *y = d->y;
  int axis = y->rank - edf_row_dims(y), offset = 0;
  edf_node *sum = NULL;
  for (int k = 0; k < y->n_in; k++) {
    if (y->in[k] == d->x)
      sum = edf_derive__sum(d, sum, edf_derive__part(d, d->dy, 1, axis, offset));
    offset += y->in[k]->rank < y->rank ? 1 : y->in[k]->dim[axis];
  }
  return sum;
}

/* ---- Equations, by the swap rule. An equation as it runs has at most two factors a term, and
   reads nothing outside. Multiplies a coefficient by 1/n for a mean over n entries, and by
   1/(n-1) for kind 's'. The size of a batch is read in each Forward. */
static void edf_derive__divide(const edf_derive__way *d, edf_slide__making *to,
                               const edf_term *t) {
  const edf_contraction *m = edf_slide__einsum_of(d->y);
  const edf_equation *e = &m->e;
  int n = 0;
  if (!to->n_step) edf_slide__add_step(to, '#', 1);
  for (int i = 0; i < e->n_index; i++) {
    if (e->index[i].left || !(edf_slide__term_has(e, t) >> i & 1)) continue;
    edf_size_step *s = edf_slide__add_step(to, 's', (double)m->extent[i]);
    s->name = e->index[i].name;
    for (int f = t->first; f < t->first + t->n; f++)
      for (int k = 0; k < e->ref[f].rank && m->extent[i] <= 0; k++)
        if (edf_slide__alone(e, &e->ref[f].place[k]) == i) {
          s->of = d->y->in[e->ref[f].operand];
          s->dim = k;
        }
    if (n++) edf_slide__add_step(to, '*', 0);
  }
  if (!n) return;
  if (m->kind == 's') edf_slide__add_step(to, '#', -1);
  if (m->kind == 's') edf_slide__add_step(to, '+', 0);
  edf_slide__add_step(to, '/', 0);
}
/* Adds tensor x with the positions of r to an equation. */
static void edf_derive__add_ref(edf_slide__making *to, const edf_ref *r, edf_node *x) {
  edf_slide__value v = { x, 1, *r };
  double number = 1;
  v.at.name = edf_slide__copy(edf_label(x));
  edf_slide__add_factor(to, &v, &number);
}
/* Returns the name of index i in lower case if it is free, else with a capital. */
static const char *edf_derive__letter(const edf_equation *e, int i, int is_free) {
  const char *name = e->index[i].name;
  if (edf_slide__is_capital(name) != is_free) return name;
  char *other = edf_slide__copy(name);
  if (is_free) for (char *c = other; *c; c++) *c = edf_slide__lower(*c);
  else other = edf_slide__copy(edf_slide__capital(name));
  for (int k = 0; k < e->n_index; k++) if (!strcmp(e->index[k].name, other)) return name;
  return other;
}
/* Builds what term t of the equation of y passes on to its factor f, which is in the term that
   many `times`: the factor and the output change their places. */
static edf_node *edf_derive__swap(const edf_derive__way *d, const edf_term *t, int f,
                                  int times) {
  const edf_contraction *m = edf_slide__einsum_of(d->y);
  const edf_equation *e = &m->e;
  edf_slide__making to;
  edf_term term = *t;
  term.number *= times;
  memset(&to, 0, sizeof to);
  to.m.e = *e;
  to.m.e.ref = NULL;
  to.m.e.term = NULL;
  to.m.e.n_ref = to.m.e.n_term = to.m.e.n_operand = 0;
  *edf_slide__next_ref(&to.m.e) = e->ref[f];
  to.m.e.ref->operand = -1;
  to.m.e.ref->name = "d";
  edf_derive__add_ref(&to, e->ref, d->dy);
  for (int k = t->first; k < t->first + t->n; k++)
    if (k != f) edf_derive__add_ref(&to, &e->ref[k], d->y->in[e->ref[k].operand]);
  unsigned left = edf_slide__ref_has(&e->ref[f]);
  unsigned right = edf_slide__refs_have(&to.m.e, 1, to.m.e.n_ref);
  int lacks = 0;                         /* 1 if only x has the batch                         */
  for (int i = 0; i < e->n_index; i++) lacks |= left & ~right & 1u << i && m->extent[i] <= 0;
  if (lacks) edf_derive__add_ref(&to, &e->ref[f], edf_derive__ones(d, d->x));
  for (int i = 0; i < e->n_index; i++) {
    edf_index *to_i = &to.m.e.index[i];
    to_i->left = (int)(left >> i & 1);
    to_i->name = edf_derive__letter(e, i, to_i->left);
    int size = m->extent[i] > 0 ? (int)m->extent[i] : 0, given = 0, other = 0;
    for (int k = 1; k < to.m.e.n_ref; k++)         /* Dimensions may give the size.           */
      for (int n = 0; n < to.m.e.ref[k].rank; n++) {
        if (edf_slide__alone(&to.m.e, &to.m.e.ref[k].place[n]) != i) continue;
        given = 1;
        other |= to.in[to.m.e.ref[k].operand]->dim[n] != size;
      }
    to_i->bound = given && !other ? 0 : size;
  }
  for (int k = 0; k < t->n_step; k++) to.step[to.n_step++] = t->step[k];
  if (m->kind) edf_derive__divide(d, &to, t);
  size_t bytes = (size_t)to.n_step * sizeof *to.step;
  if (bytes)
    term.step = (const edf_size_step *)memcpy(edf_slide__alloc(bytes), to.step, bytes);
  term.n_step = to.n_step;
  term.first = 1;
  term.n = to.m.e.n_ref - 1;
  *edf_slide__next_term(&to.m.e) = term;
  if (!t->masks) to.m.e.n_mask = 0;      /* A mask may have an index that no tensor has.      */
  if (!t->masks) edf_slide__keep_letters(&to.m.e);
  edf__site at = { "Einsum", d->at.file, d->at.line };
  edf_node *z = edf_slide__equation_node(&at, NULL, 0, &to.m.e, to.m.e.n_operand, to.in);
  return edf_derive__part(d, z, 1, -1, 0);
}

/* ---- Other nodes, by the lines that are printed of them. */
/* Writes the printed backward of y that x receives, with the names of a text. */
static void edf_derive__print(const edf_derive__way *d, edf_page *to) {
  edf_node *y = d->y;
  const char *names[EDF_SLIDE__MAX_REF + 1], *was = y->name;
  char needs[EDF_SLIDE__MAX_REF + 1];
  int n = y->n_in;
  if (n > EDF_SLIDE__MAX_REF) edf__fail(d->at, "too many operands\n  %s", edf__show(y));
  y->name = "dv_y";
  for (int k = 0; k < n; k++) {
    names[k] = y->in[k]->name;
    needs[k] = y->in[k]->needs_grad;
  }
  for (int k = n - 1; k >= 0; k--) {
    y->in[k]->name = edf_slide__copy(edf__text("dv_%02d", k));
    y->in[k]->needs_grad = y->in[k] == d->x;
  }
  edf_slide__exact = 1;
  edf_slide__write_line(to, y, 1);
  edf_slide__exact = 0;
  for (int k = n - 1; k >= 0; k--) {
    y->in[k]->name = names[k];
    y->in[k]->needs_grad = needs[k];
  }
  y->name = was;
}
/* Adds the bound i<size to a list, once for each name of n letters. */
static void edf_derive__bound(edf_page *list, const char *name, size_t n, int size) {
  for (const char *c = list->at; c; c = strchr(c, ' '), c += c != NULL)
    if (!strncmp(c, name, n) && c[n] == '<' && edf__is_digit(c[n + 1])) return;
  edf_write(list, "%s%.*s<%d", list->n ? ", " : "", (int)n, name, size);
}
/* Returns 1 if a text has an index of n letters alone in a position. */
static int edf_derive__has_plain(const char *text, const char *index, size_t n) {
  for (const char *c = text; (c = strpbrk(c, "[,")) != NULL;)
    if (!strncmp(++c, index, n) && (c[n] == ',' || c[n] == ']')) return 1;
  return 0;
}
/* Builds one printed line, which ends at `end`:
     for b,t<5: dv_00.grad[b,t] += dv_y.grad[b,t-1] */
static edf_node *edf_derive__line(const edf_derive__way *d, const char *line, const char *end) {
  const char *colon = (const char *)memchr(line, ':', (size_t)(end - line));
  const char *begin = strncmp(line, "for ", 4) ? line : colon + 2;
  edf_page text = { NULL, 0 }, ones = text, bounds = text;
  for (const char *c = begin; c < end; c++) {
    int grad = !strncmp(c, ".grad", 5), bar = !strncmp(c, " | ", 3);
    if (bar) edf_write(&bounds, "%.*s", (int)(end - c - 3), c + 3);
    if (bar) break;
    edf_write(&text, grad ? "_grad" : "%c", *c);
    c += grad ? 4 : 0;
  }
  const char *right = strstr(text.at, "= "), *left = strchr(text.at, '[');
  int lacks = 0;                         /* 1 if the right side does not have an index        */
  for (int k = 0; k < d->x->rank && left && left < right; k++) {         /* the left side    */
    size_t n = strcspn(++left, ",[]");
    int looks_up = left[n] == '[';
    lacks |= !looks_up && !edf_derive__has_plain(right, left, n);
    if (edf__is_letter(*left) && (looks_up || !(d->x->batched >> k & 1)))
      edf_derive__bound(&bounds, left, n, d->x->dim[k]);
    if (looks_up) n += strcspn(left + n, "]") + 1;
    edf_write(&ones, "%s%.*s", k ? "," : " + 0 dv_1[", (int)n, left);
    left += n;
  }
  for (const char *c = line + 4; c < begin && c < colon; c += strcspn(c, ",:") + 1) {
    size_t n = strcspn(c, "<,:");
    if (c[n] == '<') edf_derive__bound(&bounds, c, n, atoi(c + n + 1));
  }
  if (lacks) edf_write(&text, "%s]", ones.at);
  if (bounds.n) edf_write(&text, " | %s", bounds.at);
  edf_node *z = edf_derive__part(d, edf_derive__build(d, text.at), 1, -1, 0);
  edf_release(ones.at);
  edf_release(bounds.at);
  edf_release(text.at);
  return z;
}
static edf_node *edf_derive__lines(const edf_derive__way *d) {
  edf_page lines = { NULL, 0 };
  edf_node *sum = NULL;
  edf_derive__print(d, &lines);
  for (const char *c = lines.at, *end; c && *c; c = end + (*end != '\0')) {
    end = c + strcspn(c, "\n");
    sum = edf_derive__sum(d, sum, edf_derive__line(d, c, end));
  }
  edf_release(lines.at);
  return sum;
}
/* A maximum over a window: the first greatest entry receives. */
static edf_node *edf_derive__max(const edf_derive__way *d) {
  const edf_contraction *m = edf_slide__einsum_of(d->y);
  const edf_equation *e = &m->e;
  edf_page left = { NULL, 0 }, x = left, over = left, number = left, bounds = left, text = left;
  edf_node *in = d->y->in[e->ref[1].operand];
  const char *was = in->name, *name = d->y->name;
  ptrdiff_t stride = 1;
  in->name = "dv_x";
  d->y->name = "dv_y";
  edf_slide__write_ref(&left, d->y, e->ref, "", 1);
  edf_slide__write_ref(&x, d->y, &e->ref[1], "", 1);
  edf_write(&number, "0");
  int batch = 0;                         /* 1 if the window has the batch, which counts last  */
  for (int k = 0; k < 2 * e->n_index; k++) {
    int i = k % e->n_index, is_batch = m->extent[i] <= 0;
    if (is_batch != (k >= e->n_index)) continue;
    edf_page letter = { NULL, 0 };
    edf_slide__write_letter(&letter, "", d->y, i, 1);
    if (!is_batch)
      edf_write(&bounds, "%s%s<%td", bounds.n ? ", " : " | ", letter.at, m->extent[i]);
    if (!e->index[i].left) {
      const char *rest = edf_slide__copy(over.n ? over.at : "");
      over.n = 0;
      edf_write(&over, "%s%s%s", letter.at, *rest ? "," : "", rest);
      edf_write(&number, " + %td %s", stride, letter.at);
      stride *= m->extent[i];
      batch |= is_batch;
    }
    edf_release(letter.at);
  }
  in->name = was;
  d->y->name = name;
  const char *at = left.at + 4, *of = x.at + 4, *more = bounds.n ? bounds.at : "";
  edf_write(&text, "dv_k%s = argmax_{%s} max(dv_00%s, -%s)%s\n", at, over.at, of,
            EDF_REAL_IS_DOUBLE ? "1e308" : "1e38", more);      /* also over no entry          */
  edf_write(&text, "dv_00_grad%s += dv_y_grad%s 1[dv_k%s = %s]", of, at, at, number.at);
  if (batch) edf_write(&text, " dv_1%s", of);
  edf_write(&text, "%s", more);
  edf_node *z = edf_derive__part(d, edf_derive__build(d, text.at), 1, -1, 0);
  edf_release(left.at);
  edf_release(x.at);
  edf_release(over.at);
  edf_release(number.at);
  edf_release(bounds.at);
  edf_release(text.at);
  return z;
}
/* The loss of a softmax: dl (P - 1[k = y]), where P is the softmax, which does not overflow. */
static edf_node *edf_derive__loss(const edf_derive__way *d) {
  const char *of = "", *row = "";
  int K = d->x->rank - 1;
  for (int k = 0; k < K; k++) of = edf__text("%si%d%s", of, k, k + 1 < K ? "," : "");
  row = K ? edf__text("[%s]", of) : "";
  of = edf__text("%s%si%d", of, K ? "," : "", K);
  return edf_derive__build(d, edf_slide__copy(edf__text(
      "dv_p[%s] = softmax_i%d dv_00[%s]\ndv_z[%s] = dv_y_grad%s (dv_p[%s] - 1[i%d = dv_01%s])",
      of, K, of, of, row, of, K, row)));
}
static edf_node *edf_derive__reshape(const edf_derive__way *d) {
  edf_page shape = { NULL, 0 };
  for (int k = 0; k < d->x->rank; k++) {
    if (d->x->batched >> k & 1) edf_write(&shape, "%s%s", k ? "," : "[", edf.batch_name);
    else edf_write(&shape, "%s%d", k ? "," : "[", d->x->dim[k]);
  }
  const char *decl = edf_slide__copy(edf__text("d%s%s", d->x->rank ? shape.at : "",
                                               d->x->rank ? "]" : ""));
  edf_node *z = edf_reshape_at(d->at.file, d->at.line, d->dy, "%s", decl);
  edf_release(shape.at);
  return z;
}
/* Builds what y passes on to its operand x, or returns NULL if that is 0. */
static edf_node *edf_derive__step(const edf_derive__way *d) {
  edf_node *y = d->y, *sum = NULL;
  const edf_contraction *m = edf_slide__einsum_of(y);
  edf_node *pair[2] = { d->dy, y };
  if (m && m->kind == EDF_SLIDE__MAX) return edf_derive__max(d);
  if (m && m->runs) {
    for (const edf_term *t = m->e.term; t < m->e.term + m->e.n_term; t++)
      for (int f = t->first; f < t->first + t->n; f++) {
        int times = edf_slide__times(&m->e, t, f, 0);
        if (times && y->in[m->e.ref[f].operand] == d->x)
          sum = edf_derive__sum(d, sum, edf_derive__swap(d, t, f, times));
      }
    return sum;
  }
  if (!y->backward) return NULL;
  if (y->about == &edf_reshape_op) return edf_derive__reshape(d);
  if (y->about == &edf_slide__concat_op) return edf_derive__parts(d);
  if (y->about == &edf_softmax_log_loss_op && d->x == y->in[0]) return edf_derive__loss(d);
  if (y->about == &edf_dropout_op || y->about == &edf_derive__kept_op) {
    if (edf_device) edf__fail(d->at, "a dropout has a derivative only on the CPU\n  %s",
                              edf__show(y));
    pair[1] = y->about == &edf_dropout_op ? y : y->in[1];
    return edf_node_at(&edf_derive__kept_op, d->at.file, d->at.line, 2, pair, NULL, 0);
  }
  if (!m && (!y->about || !y->about->gradient || !*y->about->gradient))
    edf__fail(d->at, "a derivative needs a formula, and this node has none\n  %s",
              edf__show(y));
  return edf_derive__lines(d);
}

/* ---- The chain rule, from L back to x. */
/* Names the nodes from number `from` on, which were built for the derivative of L by y, and z,
   which is a part of it. If z is `all` of it, it is called L.y. */
static void edf_derive__name(const edf_node *L, const edf_node *y, edf_node *z, int all,
                             int from) {
  const char *name = edf_slide__copy(edf__text("%s.%s", edf_label(L), edf_label(y)));
  for (int k = from; k < edf.n_compnodes; k++) {
    edf_slide__called(edf.compnodes[k], name, "_");
    edf_slide__note(edf.compnodes[k])->inner = 1;
    edf_slide__note(edf.compnodes[k])->line = NULL;
  }
  if (z && !strncmp(z->name, "dv_", 3)) edf_slide__called(z, name, "_");
  if (!all || !edf_slide__note_of(z)->inner || strncmp(z->name, name, strlen(name))) return;
  z->name = name;
  edf_slide__note(z)->inner = edf_slide__is_inner(y);
}
static edf_node *edf_derive__chain(edf_derive__way *d, edf_node *L, edf_node *x) {
  int last = L->position, before = edf.n_compnodes;
  size_t room = (size_t)last + 1;
  char *leads = (char *)edf_slide__alloc(room);      /* 1 for a node on a way back to x       */
  edf_node **dy = (edf_node **)edf_slide__alloc(room * sizeof *dy), *dx = NULL;
  for (int i = 0; i <= last; i++) {
    const edf_node *y = edf.compnodes[i];
    for (int k = 0; k < y->n_in && y->backward; k++) {
      const edf_node *in = y->in[k];
      leads[i] |= in == x || (in->kind == EDF_COMPNODE && leads[in->position]);
    }
  }
  if (L == x || leads[last]) dy[last] = edf_derive__ones(d, L);
  edf_derive__name(L, L, dy[last], dy[last] != NULL, before);
  for (int i = last; i >= 0; i--) {
    edf_node *y = d->y = edf.compnodes[i];
    if (!dy[i] || (y != x && !leads[i])) continue;
    d->dy = dy[i];
    edf_derive__name(L, y, dy[i], 1, edf.n_compnodes);
    if (y == x) dx = dy[i];
    for (int k = 0; k < y->n_in && y != x; k++) {
      edf_node *in = d->x = y->in[k];
      int first = 0, inside = in->kind == EDF_COMPNODE;
      while (y->in[first] != in) first++;
      if (first < k || (in != x && !(inside && leads[in->position]))) continue;
      edf_node **to = inside ? &dy[in->position] : &dx;
      int from = edf.n_compnodes;
      edf_node *part = edf_derive__step(d);
      *to = edf_derive__sum(d, *to, part);
      edf_derive__name(L, in, part, 0, from);
    }
  }
  if (dx) return dx;
  d->x = x;                              /* L does not depend on x                            */
  return edf_derive__part(d, edf_derive__ones(d, x), 0, -1, 0);
}
static edf_node *edf_derive__of(const edf__site *site, edf_node *L, edf_node *x) {
  edf_derive__way d = { *site, NULL, NULL, x };
  edf_slide__slide *around = edf_slide__building;
  edf_node *(*find)(edf_node *) = edf__find_equal;
  int before = edf.n_compnodes, frees = edf_slide__frees_trees;
  d.at.op = "edf_derivative";
  edf_slide__frees_trees = 0;
  if (!find) {                           /* a call in C                                       */
    edf_slide__building = (edf_slide__slide *)edf_slide__tree(sizeof *around);
    edf_slide__begin_text(edf_slide__building, &d.at, "derivative", "", 0);
  }
  edf__find_equal = edf_slide__find_equal;
  edf_node *z = edf_derive__chain(&d, L, x);
  edf_derive__name(L, x, z, 1, edf.n_compnodes);
  edf_slide__note(z)->inner = 0;
  const char *heading = edf_slide__copy(edf__text("%s.%s = grad(%s, %s)", edf_label(L),
                                                  edf_label(x), edf_label(L), edf_label(x)));
  for (int i = before; i < edf.n_compnodes; i++)
    edf_slide__note(edf.compnodes[i])->group = heading;
  edf_slide__building = around;
  edf__find_equal = find;
  edf_slide__frees_trees = frees;
  return z;
}
edf_node *edf_derivative_at(const char *file, int line, edf_node *L, edf_node *x) {
  edf__site at = { "edf_derivative", file, line };
  edf_slide__check(&at, L, "L");
  edf_slide__check(&at, x, "x");
  edf_expect_kind("edf_derivative", "L", L, EDF_COMPNODE);
  return edf_derive__of(&at, L, x);
}
#ifdef __cplusplus
static const int edf_derive__is_set EDF__USED = (edf_slide__derive = edf_derive__of, 1);
#else
static edf_node *(*edf_slide__derive)(const edf__site *, edf_node *,
                                      edf_node *) = edf_derive__of;
#endif
EDF__END_COLD
#endif
#ifdef __cplusplus
}
#endif
#endif /* EDF_DERIVE__IMPLEMENTED */
