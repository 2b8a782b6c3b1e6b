/* edf/onnx.h - v4.0 - writes a computed node as an ONNX model, for edf.h

   A companion of edf.h. It includes edf/slide.h and edf/data.h, and uses only public names of
   edf.h. EDF_IMPLEMENTATION, defined in exactly one file, compiles its code too. MIT licence,
   like edf.h. */
#if !defined(EDF_DATA_4_H) || \
    (defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_DATA__IMPLEMENTED))
#include "data.h"
#endif
#if !defined(EDF_SLIDE_4_H) || \
    (defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_SLIDE__IMPLEMENTED))
#include "slide.h"
#endif
#ifndef EDF_ONNX_4_H
#define EDF_ONNX_4_H
#if EDF_VERSION != 400
#error "edf/onnx.h is version 4.0, and edf.h is another version: use one version of both"
#include "edf/onnx.h: another version"   /* This file does not exist: a compiler stops here.  */
#endif
#ifdef __cplusplus
extern "C" {
#endif
/* Saves `output` and all that it depends on as an ONNX model (IR 8, opset 17). The model is in
   single precision and computes what edf.training = 0 computes. Parameters and Inputs keep
   their names, the first dimension of an Input is "batch", and an operator's doc_string is the
   equation of its node. Errors: a node of your own, a batch in a sum of indices, a name that is
   empty, is not UTF-8, or is another value's: h/1 is a part of h. Then no file is written. */
void edf_save_onnx(const char *path, edf_node *output);
#ifdef __cplusplus
}
#endif
#endif /* EDF_ONNX_4_H */

#if defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_ONNX__IMPLEMENTED)
#define EDF_ONNX__IMPLEMENTED
#ifdef __cplusplus
extern "C" {
#endif
/* ==== >>onnx  ONNX =========================================================================
   A file is one protobuf message (onnx.proto3, IR 8, opset 17). A field of a message is a key,
   8 number + type, and then a whole number (type 0), a length and as many bytes (2), or 4 bytes
   (5).
     Model      ir_version 1, producer 2, graph 7, opset 8 { version 2 }
     Graph      node 1, name 2, constant 5, input 11, output 12
     Node       input 1, output 2, operator 4, attribute 5, doc_string 6
     Attribute  name 1, float 2, int 3, text 4, ints 8, type 20 (float 1, int 2, text 3, ints 7)
     Tensor     dims 1, type 2 (float 1, int64 7), int64s 7, name 8, bytes 9
     ValueInfo  name 1, type 2 { tensor 1 { type 1, shape 2 { dim 1 { size 1, name 2 } } } } */

static void edf_onnx__whole(edf_page *to, uint64_t n) {  /* 7 bits a byte, the lowest first */
  for (; n > 127; n >>= 7) edf_write(to, "%c", (int)(n & 127) | 128);
  edf_write(to, "%c", (int)n);
}
static void edf_onnx__int(edf_page *to, int field, int n) {
  edf_onnx__whole(to, (uint64_t)field << 3);
  edf_onnx__whole(to, (uint64_t)(int64_t)n);
}
static void edf_onnx__bytes(edf_page *to, int field, const char *data, size_t n) {
  edf_onnx__whole(to, (uint64_t)field << 3 | 2);
  edf_onnx__whole(to, n);
  if (n) memcpy(edf_data__room(to, n), data, n);
}
static void edf_onnx__text(edf_page *to, int field, const char *text) {
  edf_onnx__bytes(to, field, text, strlen(text));
}
/* Writes a message as a field of another, and empties it. */
static void edf_onnx__message(edf_page *to, int field, edf_page *message) {
  edf_page empty = { NULL, 0 };
  edf_onnx__bytes(to, field, message->at, message->n);
  edf_release(message->at);
  *message = empty;
}

/* ---- Constants and operators. A value is a number: that of a node, or below 0 a part of the
   node that is being written, as h/1. */
enum { EDF_ONNX__MOST = EDF_MAX_INDEX * EDF_MAX_RANK + 1 };   /* of the indices of a tensor   */
typedef struct {
  edf_page graph;
  edf_page op;                           /* the last operator, without the name of its result */
  edf_page text;                         /* the expression that is being written              */
  int result;                            /* of the last operator                              */
  int parts;                             /* so many parts of y have been named                */
  edf_node *y;                           /* the node that is being written                    */
} edf_onnx__file;

static void edf_onnx__refuse(const edf_onnx__file *o, const char *why) {
  edf_stop("edf_save_onnx: %s cannot be exported: %s\n  %s", o->y->op, why,
           edf_shown(o->y));
}
static int edf_onnx__of(const edf_node *x) { return 3 * x->position + (int)x->kind; }
static edf_node *edf_onnx__node(int v) {
  edf_node **all[3] = { edf.inputs, edf.parameters, edf.compnodes };
  return all[v % 3][v / 3];
}
static void edf_onnx__name(const edf_onnx__file *o, edf_page *to, int field, int v) {
  edf_page name = { NULL, 0 };
  edf_write(&name, v < 0 ? "%s/%d" : "%s", edf_label(v < 0 ? o->y : edf_onnx__node(v)), -v);
  edf_onnx__message(to, field, &name);
}

/* Writes value v, a constant tensor of whole or of real numbers. Returns v. */
static int edf_onnx__constant(edf_onnx__file *o, int v, int rank, const int *dim,
                              const int *whole, const edf_real *real) {
  edf_page t = { NULL, 0 }, data = t;
  size_t n = edf_data__entries(dim, rank);
  for (int d = 0; d < rank; d++) edf_onnx__int(&t, 1, dim[d]);
  edf_onnx__int(&t, 2, whole ? 7 : 1);
  for (size_t i = 0; whole && i < n; i++) edf_onnx__int(&t, 7, whole[i]);
  edf_onnx__name(o, &t, 8, v);
  if (real) edf_data__put_numbers(&data, real, n, 4);
  if (real) edf_onnx__message(&t, 9, &data);
  edf_onnx__message(&o->graph, 5, &t);
  return v;
}

/* Completes the last operator, whose result is value v. It has the equation of y. */
static void edf_onnx__end_op(edf_onnx__file *o, int v) {
  edf_page doc = { NULL, 0 };
  if (!o->op.n) return;
  edf_onnx__name(o, &o->op, 2, v);
  edf_write_node(&doc, o->y, EDF_FORWARD_LINE);
  edf_onnx__message(&o->op, 6, &doc);
  edf_onnx__message(&o->graph, 1, &o->op);
}
/* Reads a list of whole numbers: [2, 0, 1]. Returns how many it has. */
static int edf_onnx__list(const char *at, int *number) {
  int n = 0;
  for (char *end; *at != ']'; at = end) number[n++] = (int)strtol(at + 1, &end, 10);
  return n;
}
/* Gives the last operator an attribute: axis=-1, perm=[1, 0], epsilon=#0, equation=ab->ba */
static void edf_onnx__attribute(edf_onnx__file *o, const char *at) {
  enum { A_FLOAT = 1, AN_INT = 2, A_TEXT = 3, INTS = 7 };
  const char *value = strchr(at, '=') + 1;
  int type = *value == '[' ? INTS : *value == '#' ? A_FLOAT
             : strncmp(at, "equation", 8) ? AN_INT : A_TEXT;
  int number[EDF_ONNX__MOST], n = type == INTS ? edf_onnx__list(value, number) : 0;
  edf_page a = { NULL, 0 };
  edf_onnx__bytes(&a, 1, at, (size_t)(value - 1 - at));
  edf_onnx__int(&a, 20, type);
  if (type == AN_INT) edf_onnx__int(&a, 3, (int)strtol(value, NULL, 10));
  for (int k = 0; k < n; k++) edf_onnx__int(&a, 8, number[k]);
  if (type == A_TEXT) edf_onnx__bytes(&a, 4, value, strcspn(value, " "));
  if (type == A_FLOAT) edf_onnx__whole(&a, 2 << 3 | 5);
  if (type == A_FLOAT) edf_data__put_numbers(&a, (const edf_real *)o->y->state, 1, 4);
  edf_onnx__message(&o->op, 5, &a);
}

/* Returns the value of an expression in postfix notation, and empties o->text, where it is. Its
   words are separated by blanks:
     a b c     the operands of y                    $-5     the value -5
     0.5 #1    a number, number 1 of y's state      [0, 1]  a list of whole numbers
     Add/2     an operator on the last 2 values     axis=0  its attribute                     */
static int edf_onnx__evaluate(edf_onnx__file *o) {
  const edf_real *state = (const edf_real *)o->y->state;
  int *stack = (int *)edf_keep(NULL, o->text.n * sizeof *stack);
  int list[EDF_ONNX__MOST], n = 0;
  size_t length;
  for (const char *at = o->text.at; *(at += strspn(at, " ")); at += length) {
    length = strcspn(at, " [");
    if (at[length] == '[') length += strcspn(at + length, "]") + 1;
    if (memchr(at, '=', length)) edf_onnx__attribute(o, at);
    else if (*at == '$') stack[n++] = (int)strtol(at + 1, NULL, 10);
    else if (*at >= 'a') stack[n++] = edf_onnx__of(o->y->in[*at - 'a']);
    else if (*at == '[') {
      int many = edf_onnx__list(at, list);
      stack[n++] = edf_onnx__constant(o, -++o->parts, 1, &many, list, NULL);
    } else if (*at >= 'A') {
      size_t name = strcspn(at, "/");
      int many = (int)strtol(at + name + 1, NULL, 10);
      edf_onnx__end_op(o, o->result);
      n -= many;
      for (int k = n; k < n + many; k++) edf_onnx__name(o, &o->op, 1, stack[k]);
      edf_onnx__bytes(&o->op, 4, at, name);
      stack[n++] = o->result = -++o->parts;
    } else {
      edf_real number = *at == '#' ? state[at[1] - '0'] : (edf_real)edf_read_number(at, NULL);
      stack[n++] = edf_onnx__constant(o, -++o->parts, 0, NULL, NULL, &number);
    }
  }
  int v = stack[0];
  edf_release(stack);
  o->text.n = 0;
  return v;
}
#define edf_onnx__run(o, ...) (edf_write(&(o)->text, __VA_ARGS__), edf_onnx__evaluate(o))

/* ---- An equation. Its indices are the letters a, b, c ...; a
   text of letters is a list of them, or a set. */
typedef struct {                         /* a position in a tensor                            */
  int constant;
  int by;                                /* the ref of a lookup, or 0                         */
  int factor[EDF_MAX_INDEX];
  char at[EDF_MAX_INDEX + 1];            /* the letters with a factor                         */
} edf_onnx__place;
typedef struct {
  const edf_node *x;
  char at[EDF_MAX_RANK + 1];             /* the letter along all of a dimension, or ?         */
  edf_onnx__place place[EDF_MAX_RANK];
} edf_onnx__ref;
typedef struct {
  char kind;                             /* 'm' mean, 's' divided by n - 1, 'x' max, '-' a
                                            copy that is padded with -infinity, else a sum    */
  int size[EDF_MAX_INDEX];               /* of each letter, -1 for a batch                    */
  char left[EDF_MAX_INDEX + 1];          /* the letters of the left side                      */
  edf_onnx__ref ref[32];                 /* ref[0] is the left side                           */
  const edf_contraction *m;
} edf_onnx__equation;
typedef struct {
  int v;
  char at[EDF_ONNX__MOST];               /* the letter of each dimension                      */
} edf_onnx__tensor;

static int edf_onnx__has(const char *set, char letter) {
  return letter && strchr(set, letter) != NULL;
}
/* Appends the letters of `from` that are in `in`, but neither in `out` nor in `to`. */
static void edf_onnx__take(char *to, const char *from, const char *in, const char *out) {
  char letter[2] = "";
  for (; (*letter = *from) != 0; from++)
    if (edf_onnx__has(in, *from) && !edf_onnx__has(out, *from) && !edf_onnx__has(to, *from))
      strcat(to, letter);
}
/* Returns 1 if a has each letter of b once, and no other. */
static int edf_onnx__same(const char *a, const char *b) {
  return strlen(a) == strlen(b) && strspn(b, a) == strlen(b);
}
/* Returns the letter that is alone in a position, but for a constant, or 0. */
static char edf_onnx__alone(const edf_onnx__place *p) {
  return p->by || !*p->at || p->at[1] || p->factor[*p->at - 'a'] != 1 ? 0 : *p->at;
}
/* Returns the size of an index, which must not be a batch. */
static int edf_onnx__size(const edf_onnx__file *o, const edf_onnx__equation *e, char letter) {
  if (e->size[letter - 'a'] < 0)
    edf_onnx__refuse(o, "it needs the size of the batch, which the model does not know");
  return e->size[letter - 'a'];
}

/* Takes the indices and tensors of a contraction. */
static void edf_onnx__take_equation(edf_onnx__equation *e, const edf_node *y) {
  const edf_contraction *m = edf_contraction_of(y);
  memset(e, 0, sizeof *e);
  e->m = m;
  e->kind = m->outside != 0 ? '-' : m->kind ? (char)m->kind : '0';
  for (int i = 0; i < m->e.n_index; i++) e->size[i] = (int)m->extent[i];
  for (int f = 0; f < m->e.n_ref; f++) {
    const edf_ref *from = &m->e.ref[f];
    edf_onnx__ref *r = &e->ref[f];
    r->x = f ? y->in[from->operand] : y;
    for (int d = 0; d < from->rank; d++) {
      edf_onnx__place *p = &r->place[d];
      p->constant = from->place[d].constant;
      p->by = from->place[d].by;
      for (int i = 0, n = 0; i < m->e.n_index; i++)
        if ((p->factor[i] = from->place[d].factor[i]) != 0) p->at[n++] = (char)('a' + i);
      if (!f) edf_onnx__take(e->left, p->at, p->at, "");
      int batched = f && r->x->batched >> d & 1, own = edf_onnx__alone(p);
      for (const char *c = p->at; batched && *c; c++) e->size[*c - 'a'] = -1;
      own = own && !p->constant && (batched || e->size[own - 'a'] == r->x->dim[d]);
      r->at[d] = own ? *p->at : '?';
    }
  }
}

/* Returns the product of n tensors, summed over the letters that `out` lacks. */
static int edf_onnx__product(edf_onnx__file *o, const edf_onnx__tensor *t, int n,
                             const char *out) {
  size_t m = strlen(out);
  int order[EDF_ONNX__MOST];
  if (n == 1 && !strcmp(t->at, out)) return t->v;
  if (n == 1 && edf_onnx__same(t->at, out)) {
    for (size_t d = 0; d < m; d++) order[d] = (int)(strchr(t->at, out[d]) - t->at);
    return edf_onnx__run(o, "$%d Transpose/1 perm=[%s]", t->v, edf_data__dims(order, (int)m));
  }
  if (n == 2 && !strcmp(t->at, out) && !strcmp(t[1].at, out))
    return edf_onnx__run(o, "$%d $%d Mul/2", t->v, t[1].v);
  for (int k = 0; n == 2 && m && k < 2; k++) {     /* a MatMul has the letters MK, KN and MN */
    const edf_onnx__tensor *x = t + k, *w = t + 1 - k;
    char K[EDF_ONNX__MOST] = "", MK[EDF_ONNX__MOST] = "", KN[EDF_ONNX__MOST];
    edf_onnx__take(K, x->at, w->at, out);
    edf_onnx__take(MK, out, x->at, "");
    strcat(strcpy(KN, K), out + m - 1);
    strcat(MK, K);
    if (!*K || strlen(MK) != m || !edf_onnx__same(x->at, MK) || !edf_onnx__same(w->at, KN))
      continue;
    int a = edf_onnx__product(o, x, 1, MK), b = edf_onnx__product(o, w, 1, KN);
    return edf_onnx__run(o, "$%d $%d MatMul/2", a, b);
  }
  for (int f = 0; f < n; f++) edf_write(&o->text, "$%d ", t[f].v);
  edf_write(&o->text, "Einsum/%d equation=", n);
  for (int f = 0; f < n; f++) edf_write(&o->text, "%s%s", f ? "," : "", t[f].at);
  return edf_onnx__run(o, "->%s", out);
}

/* ---- Reading. Returns which entries a position reads, for each value of its indices: a table,
   or the tensor of a lookup. */
static edf_onnx__tensor edf_onnx__read(edf_onnx__file *o, const edf_onnx__equation *e,
                                       const edf_onnx__ref *r);
static edf_onnx__tensor edf_onnx__positions(edf_onnx__file *o, const edf_onnx__equation *e,
                                            const edf_onnx__place *p) {
  edf_onnx__tensor t = { 0, "" };
  int dim[EDF_MAX_INDEX], rank = 0;
  if (p->by) {
    t = edf_onnx__read(o, e, &e->ref[p->by]);
    t.v = edf_onnx__run(o, "$%d Cast/1 to=7", t.v);
    return t;
  }
  for (strcpy(t.at, p->at); t.at[rank]; rank++) dim[rank] = edf_onnx__size(o, e, t.at[rank]);
  size_t size = edf_data__entries(dim, rank);
  int *place = (int *)edf_keep(NULL, size * sizeof *place);
  for (size_t k = 0; k < size; k++) {
    size_t rest = k;
    place[k] = p->constant;
    for (int d = rank - 1; d >= 0; rest /= (size_t)dim[d--])
      place[k] += p->factor[t.at[d] - 'a'] * (int)(rest % (size_t)dim[d]);
  }
  t.v = edf_onnx__constant(o, -++o->parts, rank, dim, place, NULL);
  edf_release(place);
  return t;
}
/* Returns a tensor of an equation. A position that is a sum or a lookup becomes a Gather. */
static edf_onnx__tensor edf_onnx__read(edf_onnx__file *o, const edf_onnx__equation *e,
                                       const edf_onnx__ref *r) {
  edf_onnx__tensor x = { edf_onnx__of(r->x), "" };
  for (int d = 0; r->at[d]; d++) {
    int axis = (int)strlen(x.at);
    x.at[axis] = r->at[d];
    if (r->at[d] != '?') continue;
    edf_onnx__tensor at = edf_onnx__positions(o, e, &r->place[d]);
    x.at[axis] = 0;
    x.v = edf_onnx__run(o, "$%d $%d Gather/2 axis=%d", x.v, at.v, axis);
    strcat(x.at, at.at);
  }
  return x;
}

/* ---- Windows. Positions s*i+DI, with i on the left and DI summed, make a Conv, or of one
   tensor a pool. The Conv's tensor is [batch, channels, windows], and its filter [channels of
   the result, channels, windows]. Returns value 0 if the n factors from r are neither. */
static edf_onnx__tensor edf_onnx__windows(edf_onnx__file *o, const edf_onnx__equation *e,
                                          const edf_onnx__ref *r, int n_factors) {
  const edf_onnx__ref *f = n_factors == 2 ? r + 1 : NULL;
  edf_onnx__tensor no = { 0, "" }, x = no, w = no, to = no, filter = no;
  if (!n_factors) return no;
  if (f && strchr(f->at, '?')) f = r++;
  char windows[EDF_MAX_RANK + 1] = "", sums[EDF_MAX_RANK + 1] = "";
  int stride[EDF_MAX_RANK], kernel[EDF_MAX_RANK], n = 0;
  for (int d = 0; r->at[d]; d++) {
    const edf_onnx__place *p = &r->place[d];
    int second = edf_onnx__has(e->left, p->at[1]);
    char i = p->at[second], DI = p->at[!second];
    x.at[d] = r->at[d];
    if (r->at[d] != '?') continue;
    if (p->constant || strlen(p->at) != 2 || !edf_onnx__has(e->left, i) ||
        edf_onnx__has(e->left, DI))
      return no;
    stride[n] = p->factor[i - 'a'];
    kernel[n] = e->size[DI - 'a'];
    if (stride[n] < 1 || p->factor[DI - 'a'] != 1 ||
        (r->x->dim[d] - kernel[n]) / stride[n] + 1 != e->size[i - 'a'])
      return no;
    windows[n] = x.at[d] = i;
    sums[n++] = DI;
  }
  if (f) strcpy(w.at, f->at);
  edf_onnx__take(to.at, r->at, e->left, w.at);
  edf_onnx__take(to.at, r->at, w.at, e->left);
  edf_onnx__take(to.at, windows, windows, "");
  edf_onnx__take(filter.at, w.at, e->left, r->at);
  edf_onnx__take(filter.at, w.at, r->at, e->left);
  edf_onnx__take(filter.at, sums, sums, "");
  int fits = n && strlen(to.at) == (size_t)n + 2 && edf_onnx__same(x.at, to.at);
  if (f) fits &= !strchr("msx", e->kind) && edf_onnx__same(w.at, filter.at) &&
                 strlen(w.at) == (size_t)n + 2 && filter.at[1] == to.at[1];
  else fits &= (e->kind == 'x' || e->kind == 'm') && strlen(filter.at) == (size_t)n;
  if (!fits) return no;
  x.v = edf_onnx__of(r->x);
  to.v = edf_onnx__product(o, &x, 1, to.at);
  if (f) {
    w.v = edf_onnx__of(f->x);
    w.v = edf_onnx__product(o, &w, 1, filter.at);
    edf_write(&o->text, "$%d $%d Conv/2", to.v, w.v);
    to.at[1] = *filter.at;
  } else edf_write(&o->text, "$%d %sPool/1", to.v, e->kind == 'x' ? "Max" : "Average");
  to.v = edf_onnx__run(o, " kernel_shape=[%s] strides=[%s]", edf_data__dims(kernel, n),
                       edf_data__dims(stride, n));
  return to;
}

/* ---- Writing. Stores a number and the n factors from r in t, and returns how many they have
   become there. A Conv, a maximum or a mean is one factor. */
static int edf_onnx__factors(edf_onnx__file *o, const edf_onnx__equation *e, double number,
                             const edf_onnx__ref *r, int n, edf_onnx__tensor *t) {
  char has[EDF_ONNX__MOST] = "";
  int axis[EDF_ONNX__MOST], sums = 0;
  double entries = 1;
  *t = edf_onnx__windows(o, e, r, n);
  if (t->v) n = 1;
  else for (int f = 0; f < n; f++) t[f] = edf_onnx__read(o, e, r + f);
  if (strchr("msx", e->kind)) {
    for (int f = 0; f < n; f++) edf_onnx__take(has, t[f].at, t[f].at, "");
    t->v = edf_onnx__product(o, t, n, has);
    *t->at = 0;
    edf_onnx__take(t->at, has, e->left, "");
    for (int d = 0; has[d]; d++) {
      if (edf_onnx__has(e->left, has[d])) continue;
      if (e->kind == 's') entries *= edf_onnx__size(o, e, has[d]);
      axis[sums++] = d;
    }
    if (sums)
      t->v = edf_onnx__run(o, "$%d Reduce%s/1 axes=[%s] keepdims=0", t->v,
                           e->kind == 'x' ? "Max" : "Mean", edf_data__dims(axis, sums));
    if (e->kind == 's') number *= entries / (entries - 1);
    n = 1;
  }
  if (number == 1 && n) return n;
  edf_real factor = (edf_real)number;
  t[n].v = edf_onnx__constant(o, -++o->parts, 0, NULL, NULL, &factor);
  *t[n].at = 0;
  return n + 1;
}

/* Returns the value of the steps of a coefficient with a size that is not known, else 0. */
static int edf_onnx__coefficient(edf_onnx__file *o, const edf_term *t) {
  int unknown = 0;
  for (int k = 0; k < t->n_step; k++)
    unknown |= t->step[k].op == 's' && !(t->step[k].number > 0);
  if (!unknown) return 0;
  for (const edf_size_step *s = t->step; s < t->step + t->n_step; s++)
    switch (s->op) {
      case '#': edf_write(&o->text, " %.9g", s->number); break;
      case '+': edf_write(&o->text, " Add/2"); break;
      case '*': edf_write(&o->text, " Mul/2"); break;
      case '/': edf_write(&o->text, " Div/2"); break;
      case '^': edf_write(&o->text, " Pow/2"); break;
      case 's':
        if (s->number > 0) edf_write(&o->text, " %.9g", s->number);
        else
          edf_write(&o->text, " $%d Shape/1 %d Cast/1 to=7 Gather/2 Cast/1 to=1",
                    edf_onnx__of(s->of), s->dim);
        break;
      default:
        edf_write(&o->text, !strcmp(s->name, "ln") ? " Log/1" : " %c%s/1", *s->name - 'a' + 'A',
                  s->name + 1);
    }
  return edf_onnx__evaluate(o);
}

/* Returns the sum of the terms, put in its place on the left side. An index alone in its
   position is a dimension of the sum, which i+2 pads. Another position is a factor of zeros and
   ones. */
static int edf_onnx__write_equation(edf_onnx__file *o, edf_onnx__equation *e) {
  edf_onnx__tensor t[4 * EDF_MAX_RANK];  /* first the factors of positions, which stay        */
  char out[EDF_MAX_RANK + 1] = "", all[EDF_ONNX__MOST] = "";
  int rank = o->y->rank, pads[2 * EDF_MAX_RANK] = { 0 }, padded = 0, places = 0, sum = 0;
  for (int d = 0; d < rank; d++) {
    const edf_onnx__place *p = &e->ref->place[d];
    int room = o->y->dim[d];
    char letter = edf_onnx__alone(p);
    if (letter && !edf_onnx__has(out, letter)) {
      int size = e->size[letter - 'a'];
      pads[d] = p->constant;
      pads[rank + d] = size < 0 ? 0 : room - p->constant - size;
      padded |= pads[d] | pads[rank + d];
      out[d] = letter;
    } else {
      edf_onnx__tensor *x = &t[places++];
      *x = edf_onnx__positions(o, e, p);
      x->v = edf_onnx__run(o, "$%d [-1] Unsqueeze/2 0 %d 1 Range/3 Cast/1 to=7 Equal/2 Cast/1 "
                           "to=1", x->v, room);
      x->at[strlen(x->at)] = out[d] = (char)('a' + EDF_MAX_INDEX + d);
    }
  }
  for (int k = 0; k < e->m->e.n_term; k++) {
    char has[EDF_ONNX__MOST] = "";
    const edf_term *term = &e->m->e.term[k];
    int first = term->first, n = term->n, steps = edf_onnx__coefficient(o, term);
    double number = steps ? term->number : edf_coefficient(term);
    int minus = k && number < 0;
    n = edf_onnx__factors(o, e, minus ? -number : number, &e->ref[first], n, t + places);
    n += places;
    if (steps) {
      edf_onnx__tensor scalar = { steps, "" };
      t[n++] = scalar;
    }
    for (int f = 0; f < n; f++) edf_onnx__take(has, t[f].at, t[f].at, "");
    edf_onnx__take(all, has, has, "");
    const char *to = out;
    while (k && *to && !edf_onnx__has(has, *to)) to++;     /* Add repeats along the front     */
    for (const char *c = to; *c; c++) {
      edf_onnx__tensor ones = { 0, { *c } };
      if (edf_onnx__has(has, *c)) continue;
      int size = e->size[*c - 'a'];
      ones.v = edf_onnx__run(o, "1 [%d] Expand/2", size < 0 ? 1 : size);
      t[n++] = ones;
    }
    int v = edf_onnx__product(o, t, n, to);
    sum = !k ? v : edf_onnx__run(o, minus ? "$%d $%d Sub/2" : "$%d $%d Add/2", sum, v);
  }
  for (const char *c = out; *c; c++) if (!edf_onnx__has(all, *c)) edf_onnx__size(o, e, *c);
  return !padded ? sum : edf_onnx__run(o, "$%d [%s] %s Pad/3", sum,
                                       edf_data__dims(pads, 2 * rank),
                                       e->kind == '-' ? "-inf" : "0");
}

/* ---- Other nodes */

/* Returns an operator on the rows of x, which are its last dimensions, all of them as one. A
   causal one reads -infinity where s > t. A second operand, the mask of a MaskedSoftmax or the
   weights of a WeightedLogSumExp, has rows like x. */
static int edf_onnx__rows(edf_onnx__file *o, const char *op) {
  const edf_node *y = o->y, *x = y->in[0];
  int n_row = edf_row_dims(y), n = x->rank - n_row, v = edf_onnx__of(x), w = v;
  int K = (int)edf_data__entries(x->dim + n, n_row), shape[EDF_MAX_RANK] = { 0 };
  const char *name = y->about->name;
  int softmax = !strncmp(name, "Masked", 6);
  shape[n] = -1;
  if (y->n_in > 1) w = edf_onnx__of(y->in[1]);
  if (n_row != 1) v = edf_onnx__run(o, "a [%s] Reshape/2", edf_data__dims(shape, n + 1));
  if (n_row != 1 && y->n_in > 1)
    w = edf_onnx__run(o, "b [%s] Reshape/2", edf_data__dims(shape, n + 1));
  if (edf_row_is_causal(y))
    v = edf_onnx__run(o, "1 [%d, %d] Expand/2 Trilu/1 upper=0 Cast/1 to=9 $%d -inf Where/3",
                      x->dim[n - 1], K, v);
  if (softmax) v = edf_onnx__run(o, "$%d Cast/1 to=9 $%d -inf Where/3", w, v);
  if (y->n_in > 1 && !softmax) {
    int most = edf_onnx__run(o, "$%d ReduceMax/1 axes=[-1] keepdims=1 -1e30 Max/2", v);
    v = edf_onnx__run(o, "$%d $%d Sub/2 Exp/1 $%d Mul/2", v, most, w);
    return edf_onnx__run(o, "$%d [-1] ReduceSum/2 keepdims=1 Log/1 $%d Add/2 [-1] Squeeze/2", v,
                         most);
  }
  v = edf_onnx__run(o, op, v, K);
  if (softmax)                           /* A row without entries is 0.                       */
    v = edf_onnx__run(o, strstr(name, "Log") ? "$%d Cast/1 to=9 $%d -inf Where/3"
                      : "$%d Cast/1 to=9 $%d 0 Where/3", w, v);
  return n_row == 1 || y->rank < x->rank ? v : edf_onnx__run(o, "$%d a Shape/1 Reshape/2", v);
}
/* Returns its operand in another shape. */
static int edf_onnx__reshape(edf_onnx__file *o) {
  int dim[EDF_MAX_RANK];
  memcpy(dim, o->y->dim, sizeof dim);
  if (o->y->batched) dim[0] = -1;
  return edf_onnx__run(o, "a [%s] Reshape/2", edf_data__dims(dim, o->y->rank));
}
/* Returns its operands, joined. */
static int edf_onnx__concat(edf_onnx__file *o) {
  const edf_node *y = o->y;
  int axis = y->rank - edf_row_dims(y);
  for (int k = 0; k < y->n_in; k++)
    edf_write(&o->text, y->in[k]->rank < y->rank ? "$%d [%d] Unsqueeze/2 " : "$%d ",
              edf_onnx__of(y->in[k]), axis);
  return edf_onnx__run(o, "Concat/%d axis=%d", y->n_in, axis);
}

/* Our name of a node, for a Test with its state, and its expression. One with $%d is about
   rows: x, and the length of a row. */
static const char *const edf_onnx__operators[][2] = {
  { "Sigmoid", "a Sigmoid/1" }, { "Tanh", "a Tanh/1" }, { "Relu", "a Relu/1" },
  { "Exp", "a Exp/1" }, { "Log", "a Log/1" }, { "Sqrt", "a Sqrt/1" }, { "Abs", "a Abs/1" },
  { "Sin", "a Sin/1" }, { "Cos", "a Cos/1" }, { "Softplus", "a Softplus/1" },
  { "Silu", "a a Sigmoid/1 Mul/2" }, { "Root", "a Sqrt/1" }, { "Erf", "a Erf/1" },
  { "Log1p", "a 1 Add/2 Log/1" },
  { "Expm1", "a Exp/1 1 Sub/2" }, { "Power", "a b Pow/2" },
  { "Where", "a Cast/1 to=9 b c Where/3" },
  { "Add", "a b Add/2" }, { "Sub", "a b Sub/2" }, { "Mul", "a b Mul/2" },
  { "Affine", "b a MatMul/2 c Sub/2" },
  { "Sign", "a Sign/1" }, { "Floor", "a Floor/1" }, { "Div", "a b Div/2" },
  { "Masked", "b Cast/1 to=9 a b Mul/2 0 Where/3" },
  { "Max", "a b Max/2" }, { "Min", "a b Min/2" }, { "Square", "a a Mul/2" },
  { "LeakyRelu", "a #0 PRelu/2" }, { "Pow", "a #0 Pow/2" }, { "Clamp", "a #0 #1 Clip/3" },
  { "Gelu", "a a a Mul/2 0.0713548163 Mul/2 1.59576912 Add/2 a Mul/2 Sigmoid/1 Mul/2" },
  { "Ones", "a a Sub/2 1 Add/2" },
  { "Dropout", "a" }, { "Stop", "a" },   /* outside of training, as BatchNorm                 */
  { "BatchNorm", "a b Sub/2 c #0 Add/2 Sqrt/1 Div/2" },
  { "Sum", "a ReduceSum/1 keepdims=0" }, { "Mean", "a ReduceMean/1 keepdims=0" },
  { "Softmax", "$%d Softmax/1" }, { "LogSoftmax", "$%d LogSoftmax/1" },
  { "MaskedSoftmax", "$%d Softmax/1" }, { "MaskedLogSoftmax", "$%d LogSoftmax/1" },
  { "LogSumExp", "$%d ReduceLogSumExp/1 axes=[-1] keepdims=0" },
  { "WeightedLogSumExp", "$%d" }, { "Prod", "$%d ReduceProd/1 axes=[-1] keepdims=0" },
  { "NormalizeOver", "$%d 1 [%d] Expand/2 LayerNormalization/2 epsilon=#0" },
  { "ArgMax", "$%d #0 Mul/2 ArgMax/1 axis=-1 keepdims=0 Cast/1 to=1" },
  { "LogLoss", "a Log/1 b Cast/1 to=7 [-1] Unsqueeze/2 GatherElements/2 axis=-1 [-1] "
               "Squeeze/2 Neg/1" },
  { "SoftmaxLogLoss", "a LogSoftmax/1 b Cast/1 to=7 [-1] Unsqueeze/2 GatherElements/2 axis=-1 "
                      "[-1] Squeeze/2 Neg/1" },
  { "BCELoss", "a Softplus/1 a b Mul/2 Sub/2" },
  { "Number", "#0" },
  { "Index", "0 a Shape/1 #0 Cast/1 to=7 Gather/2 Cast/1 to=1 1 Range/3" },
  { "Test1", "a 0 Less/2 Cast/1 to=1" }, { "Test2", "a 0 Equal/2 Cast/1 to=1" },
  { "Test3", "a 0 LessOrEqual/2 Cast/1 to=1" }, { "Test4", "a 0 Greater/2 Cast/1 to=1" },
  { "Test5", "a Abs/1 0 Greater/2 Cast/1 to=1" },
  { "Test6", "a 0 GreaterOrEqual/2 Cast/1 to=1" }, { "Test7", "a a Equal/2 Cast/1 to=1" } };

/* Returns the value of y. */
static int edf_onnx__write_node(edf_onnx__file *o) {
  const char *name = o->y->about ? o->y->about->name : "";
  char test[32];
  edf_onnx__equation e;
  if (edf_contraction_of(o->y)) {
    edf_onnx__take_equation(&e, o->y);
    return edf_onnx__write_equation(o, &e);
  }
  if (!strcmp(name, "Concat")) return edf_onnx__concat(o);
  if (!strcmp(name, "Reshape")) return edf_onnx__reshape(o);
  if (!strcmp(name, "Test")) {
    edf_format(test, sizeof test, "Test%g", (double)*(edf_real *)o->y->state);
    name = test;
  }
  if (!strcmp(name, "Index") && !o->y->n_in) return edf_onnx__run(o, "0 #0 1 Range/3");
  for (size_t i = 0; i < sizeof edf_onnx__operators / sizeof *edf_onnx__operators; i++) {
    const char *const *is = edf_onnx__operators[i];
    if (strcmp(is[0], name)) continue;
    return *is[1] == '$' ? edf_onnx__rows(o, is[1]) : edf_onnx__run(o, "%s", is[1]);
  }
  edf_onnx__refuse(o, "it is a node of your own, or EDF_NO_DEBUG has removed its equation");
  return 0;
}

/* Writes the name and shape of an Input or of the output. */
static void edf_onnx__declare(edf_onnx__file *o, int field, const edf_node *x) {
  edf_page shape = { NULL, 0 }, tensor = shape, type = shape, value = shape, dim = shape;
  for (int d = 0; d < x->rank; d++) {
    if (!(x->batched >> d & 1)) edf_onnx__int(&dim, 1, x->dim[d]);
    else edf_onnx__text(&dim, 2, d ? "" : "batch");
    edf_onnx__message(&shape, 1, &dim);
  }
  edf_onnx__int(&tensor, 1, 1);
  edf_onnx__message(&tensor, 2, &shape);
  edf_onnx__message(&type, 1, &tensor);
  edf_onnx__name(o, &value, 1, edf_onnx__of(x));
  edf_onnx__message(&value, 2, &type);
  edf_onnx__message(&o->graph, field, &value);
}

static int edf_onnx__is_utf8(const char *text) {
  const unsigned char *c = (const unsigned char *)text;
  while (*c) {
    int more = *c < 0x80 ? 0 : *c < 0xE0 ? 1 : *c < 0xF0 ? 2 : 3;
    if ((*c >= 0x80 && *c < 0xC2) || *c > 0xF4 ||
        (*c == 0xE0 && c[1] < 0xA0) || (*c == 0xED && c[1] > 0x9F) ||
        (*c == 0xF0 && c[1] < 0x90) || (*c == 0xF4 && c[1] > 0x8F)) return 0;
    for (c++; more; more--, c++)
      if ((*c & 0xC0) != 0x80) return 0;
  }
  return 1;
}
/* Checks the name of value v. used[k] is 1 more than the parts of node k, or 0. */
static void edf_onnx__check_name(edf_onnx__file *o, const int *used, int most, int v) {
  const char *name = edf_label(o->y = edf_onnx__node(v));
  if (!*name) edf_onnx__refuse(o, "its name is empty; edf_name gives it another");
  if (!edf_onnx__is_utf8(name))
    edf_onnx__refuse(o, "its name is not UTF-8; edf_name gives it another");
  for (int k = 0; k < most; k++) {
    const char *other = used[k] && k != v ? edf_label(edf_onnx__node(k)) : NULL;
    size_t n = other ? strlen(other) : 0;
    if (!other || strncmp(name, other, n)) continue;
    const char *part = name + n + 1;               /* the digits of h/12 */
    int is_part = name[n] == '/' && *part >= '1' && *part <= '9' &&
                  !part[strspn(part, "0123456789")] && strtol(part, NULL, 10) < used[k];
    if (!name[n] || is_part)
      edf_onnx__refuse(o, "another value of the file has its name; edf_name gives it another");
  }
}

void edf_save_onnx(const char *path, edf_node *output) {
  edf_page model = { NULL, 0 }, opset = model;
  edf_onnx__file o = { model, model, model, 0, 0, output };
  int most = 3 * (edf.n_inputs + edf.n_parameters + edf.n_compnodes);
  edf_expect_node("edf_save_onnx", "the output", output);
  int *used = (int *)edf_keep(NULL, ((size_t)most + 1) * sizeof *used);
  used[edf_onnx__of(output)] = 1;
  for (int i = edf.n_compnodes - 1; i >= 0; i--) {
    const edf_contraction *m = edf_contraction_of(edf.compnodes[i]);
    if (!used[3 * i + EDF_COMPNODE]) continue;
    for (edf_node **in = edf.compnodes[i]->in; *in; in++) used[edf_onnx__of(*in)] = 1;
    for (int t = 0; m && t < m->e.n_term; t++)
      for (int k = 0; k < m->e.term[t].n_step; k++)
        if (m->e.term[t].step[k].of) used[edf_onnx__of(m->e.term[t].step[k].of)] = 1;
  }
  edf_onnx__text(&o.graph, 2, edf_label(output));
  for (int v = 0; v < most; v++) {
    if (!used[v]) continue;
    edf_node *x = o.y = edf_onnx__node(v);
    o.parts = 0;
    if (x->kind == EDF_INPUT) edf_onnx__declare(&o, 11, x);
    if (x->kind == EDF_PARAMETER)
      edf_onnx__constant(&o, v, x->rank, x->dim, NULL, edf_value(x));
    if (x->kind != EDF_COMPNODE) continue;
    int is = edf_onnx__write_node(&o);
    if (!o.op.n || is != o.result) edf_onnx__run(&o, "$%d Identity/1", is);
    edf_onnx__end_op(&o, v);
    used[v] = 1 + o.parts;
  }
  for (int v = 0; v < most; v++)
    if (used[v]) edf_onnx__check_name(&o, used, most, v);
  edf_onnx__declare(&o, 12, output);
  edf_onnx__int(&opset, 2, 17);
  edf_onnx__int(&model, 1, 8);
  edf_onnx__text(&model, 2, "edf.h");
  edf_onnx__message(&model, 7, &o.graph);
  edf_onnx__message(&model, 8, &opset);
  edf_data__write_file("edf_save_onnx", path, &model);
  edf_release(used);
}
#ifdef __cplusplus
}
#endif
#endif /* EDF_ONNX__IMPLEMENTED */
