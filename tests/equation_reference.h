/* equation_reference.h - what an equation of the notation means, by brute force: every index
   runs over its whole extent, in double. Written from the rules of the notation alone; it knows
   neither loop nests nor plans nor edf.h.

     eq_equation e;
     const char *wrong = eq_parse(&e, "y[b,j] = W[I,j] x[b,I] - B[j]");
     if (!wrong) wrong = eq_bind(&e, 3, operands, &y);       finds the extents, and y's shape
     y.value = ...;  eq_forward(&e, operands, &y);           y.value = the right side
     y.grad  = ...;  eq_backward(&e, operands, &y);          adds to every operand's grad

   The functions return NULL, or what is wrong with the equation. */

#ifndef EQUATION_REFERENCE_H
#define EQUATION_REFERENCE_H

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { EQ_RANK = 8, EQ_LETTERS = 16, EQ_FACTORS = 8, EQ_TERMS = 8 };
enum { EQ_NAMES = 24, EQ_NAME = 32 };

typedef struct { int rank, dim[EQ_RANK]; double *value, *grad; } eq_tensor;

/* A place is constant + sum of factor[l] * letter l for the letters that it has; a use is a
   tensor with its places. */
typedef struct { long constant, factor[EQ_LETTERS]; int has[EQ_LETTERS]; } eq_place;
typedef struct { int name, rank; eq_place place[EQ_RANK]; } eq_use;
typedef struct { double number; int n; eq_use use[EQ_FACTORS]; } eq_term;
typedef struct {
  const char *at, *wrong;                                    /* the parser: where it stands */
  char letter[EQ_LETTERS][EQ_NAME], name[EQ_NAMES][EQ_NAME]; /* name 0 is the left one      */
  int letters, names, terms;
  long extent[EQ_LETTERS];                                   /* 0: not known yet            */
  int bounded[EQ_LETTERS];
  eq_use left;
  eq_term term[EQ_TERMS];
} eq_equation;

/* ---- Parsing: recursive descent; the first mistake is kept and stops it */

static inline char eq_peek(eq_equation *e) {
  while (isspace((unsigned char)*e->at)) e->at++;
  return *e->at;
}

static inline int eq_take(eq_equation *e, char c) {
  if (e->wrong || eq_peek(e) != c) return 0;
  e->at++;
  return 1;
}

static inline void eq_mistake(eq_equation *e, const char *wrong) {
  if (!e->wrong) e->wrong = wrong;
}

static inline void eq_expect(eq_equation *e, char c, const char *wrong) {
  if (!eq_take(e, c)) eq_mistake(e, wrong);
}

static inline int eq_is_name(char c) { return isalpha((unsigned char)c) || c == '_'; }
static inline int eq_is_digit(char c) { return isdigit((unsigned char)c) != 0; }

/* An identifier's number in a list to which it is added at its first appearance */
static inline int eq_identifier(eq_equation *e, char list[][EQ_NAME], int *n, int limit) {
  char s[EQ_NAME];
  size_t length = 0;
  if (!eq_is_name(eq_peek(e))) { eq_mistake(e, "a name is expected"); return 0; }
  while ((eq_is_name(*e->at) || eq_is_digit(*e->at)) && length < EQ_NAME - 1)
    s[length++] = *e->at++;
  s[length] = '\0';
  for (int i = 0; i < *n; i++) if (!strcmp(list[i], s)) return i;
  if (*n == limit) { eq_mistake(e, "too many names"); return 0; }
  memcpy(list[*n], s, length + 1);
  return (*n)++;
}

static inline int eq_letter(eq_equation *e) {
  return eq_identifier(e, e->letter, &e->letters, EQ_LETTERS);
}

static inline long eq_whole(eq_equation *e) {
  char *end;
  long n = strtol(e->at, &end, 10);
  e->at = end;
  return n;
}

/* place = ["-"] part { ("+"|"-") part };  part = whole ["*"] letter | whole | letter */
static inline void eq_read_place(eq_equation *e, eq_place *p) {
  long sign = eq_take(e, '-') ? -1 : 1;
  do {
    long n = 1;
    int digits = eq_is_digit(eq_peek(e)), star = 0;
    if (digits) { n = eq_whole(e); star = eq_take(e, '*'); }
    if (star || !digits || eq_is_name(eq_peek(e))) {
      int l = eq_letter(e);
      if (!e->wrong) { p->factor[l] += sign * n; p->has[l] = 1; }
    } else p->constant += sign * n;
    sign = eq_peek(e) == '-' ? -1 : 1;
  } while (eq_take(e, '+') || eq_take(e, '-'));
}

static inline void eq_read_use(eq_equation *e, eq_use *u) {
  u->name = eq_identifier(e, e->name, &e->names, EQ_NAMES);
  if (!eq_take(e, '[')) return;
  do {
    if (u->rank == EQ_RANK) { eq_mistake(e, "too many indices"); return; }
    eq_read_place(e, &u->place[u->rank++]);
  } while (eq_take(e, ','));
  eq_expect(e, ']', "] is missing");
}

static inline void eq_read_term(eq_equation *e, eq_term *t, double sign) {
  int more = 1;
  t->number = sign;
  if (eq_is_digit(eq_peek(e)) || *e->at == '.') {
    char *end;
    t->number *= strtod(e->at, &end);
    e->at = end;
    eq_take(e, '*');
  }
  while (more && !e->wrong) {
    if (t->n == EQ_FACTORS) { eq_mistake(e, "too many factors"); return; }
    eq_read_use(e, &t->use[t->n++]);
    if (!e->wrong && t->use[t->n - 1].name == 0) eq_mistake(e, "the left name on the right");
    more = eq_take(e, '*') || eq_is_name(eq_peek(e));
  }
}

static inline void eq_read_bounds(eq_equation *e) {
  do {
    int l = eq_letter(e);
    eq_expect(e, '<', "< is missing");
    if (e->wrong) return;
    if (!eq_is_digit(eq_peek(e))) eq_mistake(e, "a bound is a whole number");
    e->bounded[l] = 1;
    e->extent[l] = eq_whole(e);
    if (e->extent[l] < 1) eq_mistake(e, "a bound below 1");
  } while (eq_take(e, ','));
}

static inline const char *eq_parse(eq_equation *e, const char *text) {
  double sign;
  memset(e, 0, sizeof *e);
  e->at = text;
  eq_read_use(e, &e->left);
  eq_expect(e, '=', "= is missing");
  sign = eq_take(e, '-') ? -1 : 1;
  do {
    if (e->terms == EQ_TERMS) { eq_mistake(e, "too many terms"); break; }
    eq_read_term(e, &e->term[e->terms++], sign);
    sign = eq_peek(e) == '-' ? -1 : 1;
  } while (eq_take(e, '+') || eq_take(e, '-'));
  if (eq_take(e, '|')) eq_read_bounds(e);
  if (!e->wrong && eq_peek(e)) eq_mistake(e, "something after the end");
  return e->wrong;
}

/* ---- Extents */

/* The letter that stands alone in a place, or -1 */
static inline int eq_alone(const eq_place *p) {
  int found = -1;
  for (int l = 0; l < EQ_LETTERS; l++) {
    if (!p->has[l]) continue;
    if (found >= 0 || p->factor[l] != 1) return -1;
    found = l;
  }
  return p->constant ? -1 : found;
}

static inline int eq_uses(const eq_use *u, int l) {
  for (int d = 0; d < u->rank; d++) if (u->place[d].has[l]) return 1;
  return 0;
}

static inline int eq_term_uses(const eq_term *t, int l) {
  for (int i = 0; i < t->n; i++) if (eq_uses(&t->use[i], l)) return 1;
  return 0;
}

/* The smallest and the largest value of a place; letters of unknown extent count as 0 */
static inline void eq_range(const eq_equation *e, const eq_place *p, long *low, long *high) {
  *low = *high = p->constant;
  for (int l = 0; l < e->letters; l++) {
    long reach = e->extent[l] > 0 ? p->factor[l] * (e->extent[l] - 1) : 0;
    if (reach < 0) *low += reach; else *high += reach;
  }
}

static inline int eq_unknown(const eq_equation *e, const eq_place *p) {
  int n = 0;
  for (int l = 0; l < e->letters; l++) n += p->has[l] && e->extent[l] == 0;
  return n;
}

/* The next place on the right: a walk that needs no nest of three loops at every caller. */
typedef struct { int t, u, d; } eq_walk;

static inline const eq_place *eq_next(const eq_equation *e, eq_walk *w, const eq_use **use) {
  for (; w->t < e->terms; w->t++, w->u = 0)
    for (; w->u < e->term[w->t].n; w->u++, w->d = 0) {
      *use = &e->term[w->t].use[w->u];
      if (w->d < (*use)->rank) return &(*use)->place[w->d++];
    }
  return NULL;
}

#define EQ_PLACES(e, p, u, w) \
  for (eq_walk w = { 0, 0, 0 }; ((p) = eq_next(e, &w, &(u))) != NULL; )

/* Alone in a place an index has that dimension's extent; a bounded one may be shorter. */
static inline void eq_extents_alone(eq_equation *e, eq_tensor *const *operand) {
  const eq_place *p;
  const eq_use *u;
  EQ_PLACES(e, p, u, w) {
    int l = eq_alone(p), dim = operand[u->name - 1]->dim[w.d - 1];
    if (l < 0) continue;
    if (e->bounded[l]) { if (e->extent[l] > dim) eq_mistake(e, "a bound over a dimension"); }
    else if (e->extent[l] == 0) e->extent[l] = dim;
    else if (e->extent[l] != dim) eq_mistake(e, "an index with two extents");
  }
}

/* How long letter l, the only unknown one of place p, can be with every read inside dim */
static inline long eq_longest(const eq_equation *e, const eq_place *p, int l, long dim) {
  long low, high, f = p->factor[l];
  eq_range(e, p, &low, &high);
  if (low < 0 || high > dim - 1) return 0;
  return f > 0 ? (dim - 1 - high) / f + 1 : low / -f + 1;
}

/* What is unknown is as long as every offset place allows, round after round. */
static inline void eq_extents_at_offsets(eq_equation *e, eq_tensor *const *operand) {
  for (int round = 0; round < EQ_LETTERS; round++) {
    long found[EQ_LETTERS];
    for (int l = 0; l < e->letters; l++) {
      const eq_place *p;
      const eq_use *u;
      found[l] = -1;
      if (e->extent[l]) continue;
      EQ_PLACES(e, p, u, w) {
        if (!p->factor[l] || eq_unknown(e, p) != 1) continue;
        long n = eq_longest(e, p, l, operand[u->name - 1]->dim[w.d - 1]);
        if (found[l] < 0 || n < found[l]) found[l] = n;
      }
      if (found[l] == 0) eq_mistake(e, "no extent keeps the reads inside");
    }
    for (int l = 0; l < e->letters; l++) if (found[l] > 0) e->extent[l] = found[l];
  }
  for (int l = 0; l < e->letters; l++)
    if (e->extent[l] == 0) eq_mistake(e, "an extent is unknown");
}

/* ---- The other rules */

static inline int eq_same_but_case(const char *a, const char *b) {
  while (*a && toupper((unsigned char)*a) == toupper((unsigned char)*b)) { a++; b++; }
  return *a == *b;
}

static inline void eq_check_letters(eq_equation *e) {
  for (int l = 0; l < e->letters; l++) {
    int free = eq_uses(&e->left, l), used = free;
    for (int t = 0; t < e->terms; t++) used |= eq_term_uses(&e->term[t], l);
    if (!used) eq_mistake(e, "a bound for an index that does not occur");
    if (!free && !isupper((unsigned char)e->letter[l][0]))
      eq_mistake(e, "a summed index in lower case");
    for (int k = 0; free && k < e->letters; k++) {
      if (eq_uses(&e->left, k) || !eq_same_but_case(e->letter[l], e->letter[k])) continue;
      for (int t = 0; t < e->terms; t++)
        if (eq_term_uses(&e->term[t], k) && !eq_term_uses(&e->term[t], l))
          eq_mistake(e, "j is lacking and J is summed");
    }
    for (int d = 0; d < e->left.rank; d++) {
      if (!e->left.place[d].has[l] || eq_alone(&e->left.place[d]) >= 0) continue;
      for (int t = 0; t < e->terms; t++)
        if (!eq_term_uses(&e->term[t], l)) eq_mistake(e, "a term lacks an offset index");
    }
  }
}

static inline void eq_check_ranks(eq_equation *e, int n, eq_tensor *const *operand) {
  if (e->names - 1 != n) { eq_mistake(e, "the number of operands"); return; }
  for (int t = 0; t < e->terms; t++)
    for (int i = 0; i < e->term[t].n; i++)
      if (e->term[t].use[i].rank != operand[e->term[t].use[i].name - 1]->rank)
        eq_mistake(e, "the rank of an operand");
}

/* Only an offset place with a bounded index may read outside. */
static inline void eq_check_reads(eq_equation *e, eq_tensor *const *operand) {
  const eq_place *p;
  const eq_use *u;
  EQ_PLACES(e, p, u, w) {
    long low, high;
    int bounded = 0;
    for (int l = 0; l < e->letters; l++) bounded |= p->has[l] && e->bounded[l];
    eq_range(e, p, &low, &high);
    if (low >= 0 && high < operand[u->name - 1]->dim[w.d - 1]) continue;
    if (!bounded || eq_alone(p) >= 0) eq_mistake(e, "a read outside");
  }
}

static inline const char *eq_bind(eq_equation *e, int n, eq_tensor *const *operand,
                                  eq_tensor *out) {
  eq_check_letters(e);
  eq_check_ranks(e, n, operand);
  for (int l = 0; l < e->letters; l++) if (!e->bounded[l]) e->extent[l] = 0;
  if (!e->wrong) eq_extents_alone(e, operand);
  if (!e->wrong) eq_extents_at_offsets(e, operand);
  if (!e->wrong) eq_check_reads(e, operand);
  out->rank = e->left.rank;
  for (int d = 0; d < e->left.rank; d++) {
    long low, high;
    eq_range(e, &e->left.place[d], &low, &high);
    if (low < 0) eq_mistake(e, "an entry below 0");
    out->dim[d] = (int)(high + 1);
  }
  return e->wrong;
}

static inline size_t eq_size(const eq_tensor *x) {
  size_t n = 1;
  for (int d = 0; d < x->rank; d++) n *= (size_t)x->dim[d];
  return n;
}

/* ---- Evaluation: all letters of the left side and of the term run */

/* The entry of a tensor that a use means at this point, or -1 outside */
static inline long eq_entry(const eq_use *u, const eq_tensor *x, const long *at, int letters) {
  long entry = 0;
  for (int d = 0; d < u->rank; d++) {
    long i = u->place[d].constant;
    for (int l = 0; l < letters; l++) i += u->place[d].factor[l] * at[l];
    if (i < 0 || i >= x->dim[d]) return -1;
    entry = entry * x->dim[d] + i;
  }
  return entry;
}

/* One point: value += number * product, or for each factor
   its grad += out.grad * number * the product of the others. */
static inline void eq_point(const eq_equation *e, const eq_term *t, eq_tensor *const *operand,
                            eq_tensor *out, const long *at, int backward) {
  long o = eq_entry(&e->left, out, at, e->letters), entry[EQ_FACTORS];
  for (int i = 0; i < t->n; i++) {
    entry[i] = eq_entry(&t->use[i], operand[t->use[i].name - 1], at, e->letters);
    if (entry[i] < 0) return;                                /* a zero among the factors */
  }
  for (int k = backward ? 0 : -1; k < (backward ? t->n : 0); k++) {
    double product = t->number;
    eq_tensor *x = backward ? operand[t->use[k].name - 1] : out;
    for (int i = 0; i < t->n; i++)
      if (i != k) product *= operand[t->use[i].name - 1]->value[entry[i]];
    if (!backward) out->value[o] += product;
    else if (x->grad) x->grad[entry[k]] += out->grad[o] * product;
  }
}

static inline void eq_run(const eq_equation *e, eq_tensor *const *operand, eq_tensor *out,
                          int backward) {
  for (int t = 0; t < e->terms; t++) {
    long at[EQ_LETTERS] = { 0 };
    int l;
    do {
      eq_point(e, &e->term[t], operand, out, at, backward);
      for (l = 0; l < e->letters; l++) {                     /* an odometer */
        if (!eq_uses(&e->left, l) && !eq_term_uses(&e->term[t], l)) continue;
        if (++at[l] < e->extent[l]) break;
        at[l] = 0;
      }
    } while (l < e->letters);
  }
}

static inline void eq_forward(const eq_equation *e, eq_tensor *const *operand, eq_tensor *out) {
  memset(out->value, 0, eq_size(out) * sizeof *out->value);
  eq_run(e, operand, out, 0);
}

static inline void eq_backward(const eq_equation *e, eq_tensor *const *operand,
                               eq_tensor *out) {
  eq_run(e, operand, out, 1);
}

#endif /* EQUATION_REFERENCE_H */
