/* desk.c - the student's side: calls a function of the student's file with the numbers that the
   judge sends, and answers with numbers. Its process has nothing else: see grade.c. */
#define GRADE_DESK
#include "grade.h"
#include <stdlib.h>
#include <unistd.h>

enum { ASKED = 3, ANSWER = 4 };          /* descriptors */

static void desk_read(void *to, size_t n) {
  for (char *at = (char *)to; n;) {
    ssize_t got = read(ASKED, at, n);
    if (got <= 0) _exit(0);              /* the judge has heard enough */
    at += got;
    n -= (size_t)got;
  }
}

static void desk_write(const void *from, size_t n) {
  for (const char *at = (const char *)from; n;) {
    ssize_t put = write(ANSWER, at, n);
    if (put <= 0) _exit(1);
    at += put;
    n -= (size_t)put;
  }
}

#ifdef GRADE_PLAIN                       /* a set whose student writes the framework          */
static size_t desk_answer_node(const grade_part *p, const double *in, double *out) {
  (void)p, (void)in, (void)out;
  return 0;
}
#else
/* ---- A node, in a graph of its own:  L = sum r y + sum q x.  The second sum asks whether the
   student's backward adds to what is there. */
typedef struct {
  edf_node *x[GRADE_INPUTS], *y, *L;
  int n, is_label[GRADE_INPUTS], built;
  const double *q, *r;
} desk_node;
static desk_node desk;

static void probe_shape(edf_node *L) { L->rank = 0; }
static void probe_forward(edf_node *L) { L->value[0] = 0; }
static void probe_backward(edf_node *L) {
  const double *q = desk.q;
  for (size_t i = 0; i < L->in[0]->size; i++) edf_addgrad(L->in[0], i, desk.r[i]);
  for (int k = 0; k < desk.n; k++)
    if (!desk.is_label[k])
      for (size_t i = 0; i < desk.x[k]->size; i++) edf_addgrad(desk.x[k], i, *q++);
}

static edf_node *desk_call(const grade_part *p) {
  edf_node **x = desk.x;
  grade_function *f = p->student;
  switch (desk.n) {
    case 1: return ((edf_node *(*)(edf_node *))f)(x[0]);
    case 2: return ((edf_node *(*)(edf_node *, edf_node *))f)(x[0], x[1]);
    case 3: return ((edf_node *(*)(edf_node *, edf_node *, edf_node *))f)(x[0], x[1], x[2]);
    default: return ((edf_node *(*)(edf_node *, edf_node *, edf_node *, edf_node *))f)
                    (x[0], x[1], x[2], x[3]);
  }
}

static void desk_build(const grade_part *p) {
  grade_input input;
  const char *at = p->inputs;
  for (; grade_next_input(&at, &input); desk.n++) {
    desk.x[desk.n] = edf_input("%s", input.decl);
    if (!(desk.is_label[desk.n] = input.classes)) edf_want_grad(desk.x[desk.n]);
  }
  desk.y = desk_call(p);
  if (!desk.y) {
    fprintf(stderr, "%s: it returns NULL, not a node\n", p->name);
    _exit(1);
  }
  edf_node *x[GRADE_INPUTS + 1] = { NULL };
  for (int k = 0, n = 0; k < desk.n; k++) if (!desk.is_label[k]) x[n++] = desk.x[k];
  desk.L = edf_compnode_at("desk.c", 1, "Probe", probe_shape, probe_forward, probe_backward,
                           desk.y, x[0], x[1], x[2], x[3], (edf_node *)0);
  desk.built = 1;
}

/* Ends unless y is one node of the student's own, of the inputs that it got. */
static void desk_expect_own(const grade_part *p) {
  const edf_node *y = desk.y;
  int own = !y->about;
  for (int i = 0; i < y->n_in; i++) {
    int given = 0;
    for (int k = 0; k < desk.n; k++) given |= y->in[i] == desk.x[k];
    own &= given;
  }
  if (own) return;
  fprintf(stderr, "%s: expected one node of your own, edf_compnode, of the given tensors; found "
          "%s of %s\n", p->name, y->op, y->n_in ? y->in[0]->op : "nothing");
  _exit(1);
}

/* Asked: 1, 2 or 3, whether it trains, the batch, the inputs; with 2 then q and r; with 3 then
   q, the value of y by the formula of the handout, and r. Answered, to 1: the line of the node,
   its op, rank and sizes, value; to 2 and 3: value and inputs' gradients. */
static size_t desk_answer_node(const grade_part *p, const double *in, double *out) {
  size_t n = 0;
  const double *at = in + 3;
  if (!desk.built) desk_build(p);
  edf.training = in[1] != 0;
  for (int k = 0; k < desk.n; k++) {
    edf_node *x = desk.x[k];
    int batched = x->rank && (x->batched & 1);
    size_t entries = batched ? (size_t)in[2] : 1;
    edf_feed(x, at, batched ? (int)in[2] : 1);
    for (int d = batched; d < x->rank; d++) entries *= (size_t)x->dim[d];
    at += entries;
  }
  edf_forward();
  if (in[0] < 2) {
    size_t length = strlen(desk.y->op);
    out[n++] = desk.y->line;
    out[n++] = (double)length;
    for (size_t i = 0; i < length; i++) out[n++] = desk.y->op[i];
    out[n++] = desk.y->rank;
    for (int d = 0; d < desk.y->rank; d++) out[n++] = desk.y->dim[d];
    for (size_t i = 0; i < desk.y->size; i++) out[n++] = edf_value(desk.y)[i];
    return n;
  }
  desk.q = desk.r = at;
  for (int k = 0; k < desk.n; k++) if (!desk.is_label[k]) desk.r += desk.x[k]->size;
  if (in[0] > 2) {
    desk_expect_own(p);
    memcpy(desk.y->value, desk.r, desk.y->size * sizeof *desk.r);
    desk.r += desk.y->size;
  }
  edf_backward(desk.L);
  for (size_t i = 0; i < desk.y->size; i++) out[n++] = edf_value(desk.y)[i];
  for (int k = 0; k < desk.n; k++)
    if (!desk.is_label[k])
      for (size_t i = 0; i < desk.x[k]->size; i++) out[n++] = edf_grad(desk.x[k])[i];
  return n;
}

#endif

/* in[0] says how many numbers are expected; the student gets what follows. */
static size_t desk_answer(const grade_part *p, const double *in, double *out) {
  if (p->kind == GRADE_NODE) return desk_answer_node(p, in, out);
  if (p->kind == GRADE_NUMBERS) {
    ((void (*)(const double *, double *))p->student)(in + 1, out);
    return (size_t)in[0];
  }
  const char *text = ((const char *(*)(void))p->student)();
  size_t n = text ? strlen(text) : 0;
  for (size_t i = 0; i < n; i++) out[i] = text[i];
  return n;
}

int main(int argc, char **argv) {
  const grade_part *p = grade_parts + (argc > 1 ? atoi(argv[1]) : 0);
  double *in = (double *)malloc((GRADE_MOST + 1) * sizeof *in);
  double *out = (double *)calloc(GRADE_MOST + 1, sizeof *out);
  setvbuf(stdout, NULL, _IONBF, 0);
  for (double n; in && out;) {
    desk_read(&n, sizeof n);
    desk_read(in, (size_t)n * sizeof *in);
    n = (double)desk_answer(p, in, out);
    desk_write(&n, sizeof n);
    desk_write(out, (size_t)n * sizeof *out);
  }
  return 1;
}
