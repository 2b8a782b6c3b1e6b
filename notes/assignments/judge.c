/* judge.c - the judge's side: draws numbers, asks the student's program, compares. Each part is
   judged in a process of its own: what that prints is said of the part, and a stop loses this
   part alone. It never runs the student's code. */
#include "grade.h"
#include "judge.h"
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

grade_judge judge;

static void *judge_memory(size_t bytes) {
  void *p = calloc(bytes + 1, 1);
  if (!p) edf_stop("grade: out of memory");
  return p;
}

/* ---- Numbers: splitmix64 (Steele, Lea and Flood 2014), and those of an id by its name. */
static unsigned long long judge_mix(unsigned long long *state) {
  unsigned long long z = *state += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

double grade_uniform(double least, double most) {
  return least + (most - least) * (double)(judge_mix(&judge.drawn) >> 11) / 9007199254740992.0;
}

int grade_below(int n) { return (int)(judge_mix(&judge.drawn) % (unsigned)n); }

/* FNV-1a, a hash of one text after the other. */
static unsigned long long judge_hash(unsigned long long h, const char *text) {
  while (*text) h = (h ^ (unsigned char)*text++) * 0x100000001b3ull;
  return h;
}

static const grade_variant *judge_variant(const char *name, int *choice) {
  const grade_variant *v = grade_variants;
  unsigned long long drawn = judge_hash(judge_hash(0xcbf29ce484222325ull, judge.id), name);
  int n = 1;
  while (v->name && strcmp(v->name, name)) v++;
  if (!v->name) edf_stop("grade: no @%s@ in the table of variants", name);
  if (v->words) for (const char *c = v->words; *c; c++) n += *c == ' ';
  else n = (int)((v->most - v->least) / v->step + 1.5);
  *choice = (int)(judge_mix(&drawn) % (unsigned)n);
  return v;
}

double grade_number(const char *name) {
  int choice;
  const grade_variant *v = judge_variant(name, &choice);
  return v->least + v->step * choice;
}

const char *grade_word(const char *name) {
  int choice;
  const grade_variant *v = judge_variant(name, &choice);
  const char *at = v->words;
  while (choice-- > 0) at = strchr(at, ' ') + 1;
  size_t n = strcspn(at, " ");
  return (const char *)memcpy(judge_memory(n), at, n);
}

/* ---- Asking. A message is a count, then so many numbers, all doubles. */
static void judge_no_answer(void) {
  fflush(stdout);
  _exit(GRADE_NO_ANSWER);
}

static void judge_read(void *to, size_t n) {
  for (char *at = (char *)to; n;) {
    ssize_t got = read(judge.answer, at, n);
    if (got <= 0) judge_no_answer();
    at += got;
    n -= (size_t)got;
  }
}

static void judge_write(const void *from, size_t n) {
  for (const char *at = (const char *)from; n;) {
    ssize_t put = write(judge.ask, at, n);
    if (put <= 0) judge_no_answer();
    at += put;
    n -= (size_t)put;
  }
}

static double *judge_get(const double *in, size_t n, size_t most, size_t *got) {
  double count = (double)n;
  judge_write(&count, sizeof count);
  judge_write(in, n * sizeof *in);
  judge_read(&count, sizeof count);
  if (!(count >= 0 && count <= (double)most)) {
    printf("what it answers is no answer: of %g numbers, at most %zu expected\n", count, most);
    judge_no_answer();
  }
  *got = (size_t)count;
  double *reply = (double *)judge_memory(*got * sizeof *reply);
  judge_read(reply, *got * sizeof *reply);
  return reply;
}

const double *grade_ask(const double *in, size_t n, size_t expected) {
  double *all = (double *)judge_memory((n + 1) * sizeof *all);
  size_t got;
  all[0] = (double)expected;
  if (n) memcpy(all + 1, in, n * sizeof *in);
  double *reply = judge_get(all, n + 1, expected, &got);
  free(all);
  if (got < expected) {
    printf("it answers %zu numbers, expected %zu\n", got, expected);
    judge_no_answer();
  }
  return reply;
}

const char *grade_ask_text(void) {
  double nothing = 0;
  size_t n;
  double *reply = judge_get(&nothing, 1, 16000, &n);
  char *text = (char *)judge_memory(n);
  for (size_t i = 0; i < n; i++)
    text[i] = reply[i] > 0 && reply[i] < 256 ? (char)(int)reply[i] : '?';
  return text;
}

/* ---- A file that is handed in with the program */
const char *grade_handed_in(const char *name) {
  enum { MOST = 1 << 20 };
  struct stat is;
  char path[1200];
  snprintf(path, sizeof path, "%.1000s/%.100s", judge.folder, name);
  int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  char *text = (char *)judge_memory(MOST);
  ssize_t n = fd < 0 || fstat(fd, &is) || !S_ISREG(is.st_mode) ? -1 : read(fd, text, MOST);
  if (fd >= 0) close(fd);
  if (n < MOST && n >= 0) return text;
  free(text);
  return NULL;
}

/* ---- Comparing */
static int judge_near(double found, double expected) {
  return fabs(found - expected) <= 1e-9 + 1e-6 * fabs(expected);
}

int grade_same(const char *what, double found, double expected) {
  if (judge_near(found, expected)) return 1;
  printf("%s is %.6g, expected %.6g\n", what, found, expected);
  return 0;
}

static void judge_print_shape(const grade_tensor *t) {
  printf("[");
  for (int d = 0; d < t->rank; d++) printf("%s%d", d ? "," : "", t->dim[d]);
  printf("]");
}

static void judge_print_entry(const char *name, const grade_tensor *t, size_t i) {
  size_t below = t->size;
  printf("%s", name);
  for (int d = 0; d < t->rank; d++, i %= below) {
    below /= (size_t)t->dim[d];
    printf("%c%zu", d ? ',' : '[', i / below);
  }
  printf("%s", t->rank ? "]" : "");
}

static int judge_compare(const char *name, const grade_tensor *t, const double *found,
                         const double *expected) {
  size_t wrong = 0, first = 0;
  for (size_t i = t->size; i-- > 0;)
    if (!judge_near(found[i], expected[i])) wrong++, first = i;
  if (!wrong) return 1;
  judge_print_entry(name, t, first);
  printf(" is %.6g, expected %.6g", found[first], expected[first]);
  printf("; so are %zu of %zu entries\n", wrong, t->size);
  return 0;
}

/* ---- A node: its inputs, drawn; its value; its gradients. */
typedef struct {
  int n, batch, training, classes[GRADE_INPUTS];
  char decl[GRADE_INPUTS][80];
  grade_tensor x[GRADE_INPUTS];
  size_t n_values, n_grads;              /* entries of all inputs; of those with a gradient   */
  int line;                              /* the student's node: where, and what               */
  char op[32];
} judge_node;

/* "x[b,7]" with a batch of 3 is declared as x[3,7]. */
static void judge_declare(const char *decl, int batch, char *fixed, grade_tensor *x) {
  const char *place = strchr(decl, '[');
  int n = sprintf(fixed, "%.*s", (int)strcspn(decl, "["), decl);
  x->rank = 0;
  x->size = 1;
  while (place && *place != ']' && x->rank < EDF_MAX_RANK) {
    int extent = place[1] == 'b' ? batch : atoi(place + 1);
    n += sprintf(fixed + n, "%c%d", *place, extent);
    x->size *= (size_t)(x->dim[x->rank++] = extent);
    place += 1 + strcspn(place + 1, ",]");
  }
  if (x->rank) strcat(fixed, "]");
}

static judge_node judge_draw(const grade_part *p, int batch) {
  judge_node y;
  grade_input input;
  memset(&y, 0, sizeof y);
  y.batch = batch;
  y.training = 1;
  for (const char *at = p->inputs; grade_next_input(&at, &input); y.n++) {
    grade_tensor *x = &y.x[y.n];
    judge_declare(input.decl, batch, y.decl[y.n], x);
    x->value = (double *)judge_memory(x->size * sizeof *x->value);
    for (size_t i = 0; i < x->size; i++)
      x->value[i] = input.classes ? grade_below(input.classes)
                  : input.positive ? grade_uniform(0.05, 1) : grade_uniform(-2, 2);
    y.classes[y.n] = input.classes;
    y.n_values += x->size;
    y.n_grads += input.classes ? 0 : x->size;
  }
  return y;
}

/* Of desk.c: what, whether it trains, the batch, the inputs; room for `more` behind. */
static double *judge_request(const judge_node *y, int what, size_t more) {
  double *all = (double *)judge_memory((3 + y->n_values + more) * sizeof *all), *to = all + 3;
  all[0] = what;
  all[1] = y->training;
  all[2] = y->batch;
  for (int k = 0; k < y->n; to += y->x[k++].size)
    memcpy(to, y->x[k].value, y->x[k].size * sizeof *to);
  return all;
}

static double judge_next(const double **at, size_t *left) {
  if (!*left) judge_no_answer();
  --*left;
  return *(*at)++;
}

static grade_tensor judge_value(judge_node *y) {
  grade_tensor v = { 0, { 0 }, 1, NULL };
  size_t left, op;
  double *request = judge_request(y, 1, 0);
  const double *at = judge_get(request, 3 + y->n_values, GRADE_MOST, &left);
  free(request);
  y->line = (int)judge_next(&at, &left);
  op = (size_t)judge_next(&at, &left);
  for (size_t i = 0; i < op; i++) {
    double c = judge_next(&at, &left);             /* no line of a report: see grade.c        */
    if (i < sizeof y->op - 1) y->op[i] = c > ' ' && c < 127 ? (char)(int)c : '?';
  }
  v.rank = (int)judge_next(&at, &left);
  if (v.rank < 0 || v.rank > EDF_MAX_RANK) judge_no_answer();
  for (int d = 0; d < v.rank; d++) v.size *= (size_t)(v.dim[d] = (int)judge_next(&at, &left));
  if (left != v.size) judge_no_answer();
  v.value = (double *)judge_memory(v.size * sizeof *v.value);
  memcpy(v.value, at, v.size * sizeof *v.value);
  return v;
}

/* With q there before, and r behind: the value, then the gradients. If value is not NULL, the
   student's backward runs with it in y->value. */
static const double *judge_gradients_at(const judge_node *y, const double *value,
                                        const double *q, const double *r, size_t size) {
  size_t n = 3 + y->n_values, got, given = value ? size : 0;
  double *request = judge_request(y, value ? 3 : 2, y->n_grads + given + size);
  if (q) memcpy(request + n, q, y->n_grads * sizeof *q);
  n += y->n_grads;
  if (value) memcpy(request + n, value, size * sizeof *value);
  n += given;
  memcpy(request + n, r, size * sizeof *r);
  double *reply = judge_get(request, n + size, size + y->n_grads, &got);
  free(request);
  if (got != size + y->n_grads) judge_no_answer();
  return reply;
}
static const double *judge_gradients(const judge_node *y, const double *q, const double *r,
                                     size_t size) {
  return judge_gradients_at(y, NULL, q, r, size);
}

static void judge_print_node(const judge_node *y) {
  if (y->line) printf("  of the node %s, built at %s:%d\n", y->op, judge.file, y->line);
  for (int k = 0; k < y->n; k++) {
    printf("  with %s =", y->decl[k]);
    for (size_t i = 0; i < y->x[k].size && i < 8; i++) printf(" %.4g", y->x[k].value[i]);
    printf(y->x[k].size > 8 ? " ...\n" : "\n");
  }
}

static int judge_against(const grade_part *p, const judge_node *y, const grade_tensor *found) {
  grade_tensor e = { 0, { 0 }, 1, (double *)judge_memory((1 << 16) * sizeof(double)) };
  int same = 0;
  p->define(&e, y->x);
  if (found->rank == e.rank && !memcmp(found->dim, e.dim, (size_t)e.rank * sizeof *e.dim))
    same = judge_compare("the value", &e, found->value, e.value);
  else {
    printf("the shape is ");
    judge_print_shape(found);
    printf(", expected ");
    judge_print_shape(&e);
    printf("\n");
  }
  if (!same) judge_print_node(y);
  free(e.value);
  return same;
}

double grade_forward(const grade_part *p) {
  int same = 1;
  for (int batch = 3; batch > 0 && same; batch--) {
    judge_node y = judge_draw(p, batch);
    grade_tensor found = judge_value(&y);
    same = judge_against(p, &y, &found);
  }
  return same;
}

double grade_shifted(const grade_part *p, double shift) {
  judge_node y = judge_draw(p, 2);
  grade_tensor *x = &y.x[0];
  for (size_t i = 0; i < x->size; i++) x->value[i] += shift;
  grade_tensor found = judge_value(&y);
  for (size_t i = 0; i < x->size; i++) x->value[i] -= shift;
  int same = judge_against(p, &y, &found);
  if (!same) printf("  where %g is added to each\n", shift);
  return same;
}

double grade_spread(const grade_part *p, double by) {
  judge_node y = judge_draw(p, 3);
  grade_tensor *x = &y.x[0];
  int K = x->dim[x->rank - 1];
  for (int b = 0; b < (int)x->size / K; b++) x->value[b * K + (b + K - 1) % K] += by;
  grade_tensor found = judge_value(&y);
  int same = judge_against(p, &y, &found);
  if (!same) printf("  where %g is added to one entry of each row\n", by);
  return same;
}

/* ---- The student's backward against the formula of the handout, or if there is none against
   the student's own forward: a node here, whose functions ask the student's. So the check is
   edf_gradcheck, and so are its words. With a formula, the student's backward gets y->value by
   it, so that a wrong forward costs nothing here. */
static judge_node far;
static grade_tensor far_value;
static void (*far_define)(grade_tensor *y, const grade_tensor *in);   /* the formula, or NULL */
static const double *far_by_formula(void) { return far_define ? far_value.value : NULL; }

static void far_shape(edf_node *y) {
  y->rank = far_value.rank;
  memcpy(y->dim, far_value.dim, sizeof y->dim);
}

static void far_read(edf_node *y) {
  for (int k = 0; k < far.n; k++)
    memcpy(far.x[k].value, y->in[k]->value, far.x[k].size * sizeof(double));
}

static void far_forward(edf_node *y) {
  far_read(y);
  if (far_define) {
    memset(far_value.value, 0, (1 << 16) * sizeof *far_value.value);
    far_define(&far_value, far.x);
    memcpy(y->value, far_value.value, y->size * sizeof *y->value);
    return;
  }
  grade_tensor v = judge_value(&far);
  if (v.size != y->size) judge_no_answer();
  memcpy(y->value, v.value, v.size * sizeof *v.value);
  free(v.value);
}

static void far_backward(edf_node *y) {
  far_read(y);
  const double *g = judge_gradients_at(&far, far_define ? y->value : NULL, NULL, y->grad,
                                       y->size) + y->size;
  for (int k = 0; k < far.n; k++)
    if (!far.classes[k])
      for (size_t i = 0; i < far.x[k].size; i++) edf_addgrad(y->in[k], i, *g++);
}

/* Of all tensors with a gradient, only `row` gets one, or all if it is -1. */
static edf_node *far_input(int k, int row) {
  grade_tensor *x = &far.x[k];
  int is_input = far.classes[k] || (row >= 0 && k != row);
  edf_node *here = is_input ? edf_input("%s", far.decl[k]) : edf_parameter("%s", far.decl[k]);
  if (is_input) edf_feed(here, x->value, x->rank ? x->dim[0] : 1);
  else memcpy(here->value, x->value, x->size * sizeof *x->value);
  /* The node gets copies: what is fed, or moved, are these. */
  x->value = (double *)judge_memory(x->size * sizeof *x->value);
  return here;
}

/* Is what another node has given to x.grad still there? And is any gradient not zero? */
static int far_adds(int *gives) {
  size_t n = far.n_grads, size = far_value.size;
  double *q = (double *)judge_memory(n * sizeof *q);
  double *r = (double *)judge_memory(size * sizeof *r);
  for (size_t i = 0; i < n; i++) q[i] = grade_uniform(1, 2);
  for (size_t i = 0; i < size; i++) r[i] = grade_uniform(-1, 1);
  const double *value = far_by_formula();
  const double *without = judge_gradients_at(&far, value, NULL, r, size) + size;
  const double *with = judge_gradients_at(&far, value, q, r, size) + size;
  for (size_t i = 0; i < n; i++) {
    *gives |= without[i] != 0;
    if (without[i] - without[i] != 0) {
      printf("backward of %s, built at %s:%d, gives %g\n", far.op, judge.file, far.line,
             without[i]);
      return 0;
    }
    if (judge_near(with[i] - without[i], q[i])) continue;
    printf("backward of %s, built at %s:%d, overwrites: it must add to the gradients (+=,\n"
           "edf_addgrad), since another node may have given something before\n", far.op,
           judge.file, far.line);
    return 0;
  }
  return 1;
}

/* Each tensor with a gradient is a row: a share of the points. */
static double judge_rows(void) {
  int rows = 0, right = 0;
  double *kept[GRADE_INPUTS];
  for (int k = 0; k < far.n; k++) kept[k] = far.x[k].value;
  for (int row = 0; row < far.n; row++) {
    edf_node *x[GRADE_INPUTS + 1] = { NULL };
    if (far.classes[row]) continue;
    edf_clear();
    for (int k = 0; k < far.n; k++) far.x[k].value = kept[k];
    for (int k = 0; k < far.n; k++) x[k] = far_input(k, row);
    edf_node *y = edf_compnode_at(judge.file, far.line, far.op, far_shape, far_forward,
                                  far_backward, x[0], x[1], x[2], x[3], (edf_node *)0);
    edf_forward();
    rows++;
    right += edf_gradcheck(y) < 1e-6;
  }
  return (double)right / rows;
}
double grade_backward(const grade_part *p) {
  int gives = 0;
  far = judge_draw(p, 3);
  far_define = p->define;
  far_value = judge_value(&far);                   /* where it was built, and what            */
  if (far_define) {
    far_value.value = (double *)judge_memory((1 << 16) * sizeof *far_value.value);
    far_define(&far_value, far.x);
  }
  if (!far_adds(&gives)) return 0;
  double share = judge_rows();
  if (share > 0 && !gives)
    printf("forward gives the same for all inputs: there is nothing to differentiate\n");
  return gives ? share : 0;
}

grade_run grade_node(const grade_part *p, int batch, int training) {
  grade_run run;
  memset(&run, 0, sizeof run);
  far = judge_draw(p, batch);
  far.training = training;
  run.y = judge_value(&far);
  run.r = (double *)judge_memory(run.y.size * sizeof *run.r);
  for (size_t i = 0; i < run.y.size; i++) run.r[i] = grade_uniform(-1, 1);
  const double *reply = judge_gradients(&far, NULL, run.r, run.y.size);
  memcpy(run.y.value, reply, run.y.size * sizeof *reply);
  run.grad = reply + run.y.size;
  memcpy(run.x, far.x, sizeof run.x);
  return run;
}

double grade_gradient(const grade_part *p, const char *what,
                      void (*define)(double *grad, const double *r, const grade_tensor *x)) {
  int gives = 0;
  far = judge_draw(p, 3);
  far_value = judge_value(&far);
  size_t size = far_value.size;
  double *r = (double *)judge_memory(size * sizeof *r);
  double *expected = (double *)judge_memory(far.n_grads * sizeof *expected);
  for (size_t i = 0; i < size; i++) r[i] = grade_uniform(-1, 1);
  if (!far_adds(&gives)) return 0;
  define(expected, r, far.x);
  const double *g = judge_gradients(&far, NULL, r, size) + size;
  if (judge_compare(what, &far.x[0], g, expected)) return 1;
  judge_print_node(&far);
  return 0;
}

/* ---- Texts: read here, where they are no program. */
double grade_equation(const grade_part *p) {
  const char *text = grade_ask_text();
  int same = 1;
  for (int batch = 3; batch > 0 && same; batch--) {
    judge_node y = judge_draw(p, batch);
    edf_node *last;
    for (int k = 0; k < y.n; k++) {
      edf_node *x = edf_input("%s", y.decl[k]);
      edf_feed(x, y.x[k].value, y.x[k].rank ? y.x[k].dim[0] : 1);
    }
    last = edf_equations_at(judge.file, 0, "%s", text);
    if (edf.n_parameters) {
      printf("%s is none of the question's tensors\n", edf.parameters[0]->name);
      return 0;
    }
    edf_forward();
    grade_tensor found = { last->rank, { 0 }, last->size, edf_value(last) };
    memcpy(found.dim, last->dim, sizeof found.dim);
    same = judge_against(p, &y, &found);
    edf_clear();
  }
  return same;
}

/* Writes a program, with number `row` of its inputs as a parameter. Returns how many it has. */
static int judge_with_parameter(edf_page *to, const char *text, int row) {
  const char *at = text + strspn(text, " ");
  int n = 0, depth = 0;
  if (!strncmp(at, "input ", 6))
    for (at += 5; *at && *at != '\n'; n++) {
      const char *from = at + strspn(at, " ,");
      for (at = from; *at && *at != '\n' && (depth || *at != ','); at++)
        depth += (*at == '[') - (*at == ']');
      edf_write(to, "%s %.*s\n", n == row ? "parameter" : "input", (int)(at - from), from);
    }
  edf_write(to, "%s", at);
  return n;
}
static int judge_is_leaf(const char *name, size_t n) {
  for (int k = 0; k < edf.n_inputs + edf.n_parameters; k++) {
    const edf_node *x = k < edf.n_inputs ? edf.inputs[k] : edf.parameters[k - edf.n_inputs];
    if (strlen(x->name) == n && !strncmp(x->name, name, n)) return 1;
  }
  return 0;
}
/* Writes the lines of an answer without those for gradients of other tensors than `name`. */
static void judge_write_row(edf_page *to, const char *answer, const char *name) {
  while (*answer) {
    const char *from = answer + strspn(answer, " ");
    if (!strncmp(from, "for ", 4)) from += strcspn(from, ":\n");      /* for b,i: x.grad ...  */
    from += strspn(from, ": ");
    size_t all = strcspn(answer, "\n"), n = strcspn(from, ".[ =\n");
    int other = strlen(name) != n || strncmp(from, name, n);
    if (strncmp(from + n, ".grad", 5) || !other || !judge_is_leaf(from, n))
      edf_write(to, "%.*s\n", (int)all, answer);
    answer += all + (answer[all] == '\n');
  }
}
/* Writes the declarations of the weights of a text, which are not among its inputs. Number
   `row` is a parameter, and the others are inputs. */
static void judge_declare_weights(edf_page *to, const edf_page *weights, int row) {
  int n = 0;
  for (const char *at = weights->at; at && *at; n++) {
    size_t all = strcspn(at, "\n");
    edf_write(to, "%s %.*s\n", n == row ? "parameter" : "input", (int)all, at);
    at += all + (at[all] == '\n');
  }
}
/* Each tensor, an input or a weight of the text, is a row: a share of the points. */
double grade_answer(const char *text) {
  const char *answer = grade_ask_text();
  edf_page own = { NULL, 0 };
  int right = 0, inputs = judge_with_parameter(&own, text, -1);
  edf_equations_at("the handout", 1, "%s", own.at);
  int rows = inputs + edf.n_parameters;
  char *names = (char *)judge_memory(100 * (size_t)edf.n_parameters);
  for (int k = 0; k < edf.n_parameters; k++) {
    const edf_node *w = edf.parameters[k];
    sprintf(names + strlen(names), "%.20s", w->name);
    for (int d = 0; d < w->rank; d++)
      sprintf(names + strlen(names), "%c%d", d ? ',' : '[', w->dim[d]);
    strcat(names, w->rank ? "]\n" : "\n");
  }
  edf_page weights = { names, strlen(names) };
  edf_clear();
  for (int row = 0; row < rows; row++) {
    edf_page all = { NULL, 0 }, lines = { NULL, 0 };
    judge_declare_weights(&all, &weights, row - inputs);
    judge_with_parameter(&all, text, row);
    edf_node *y = edf_equations_at("the handout", 1, "%s", all.at);
    judge_write_row(&lines, answer, edf.parameters[0]->name);
    for (int k = 0; k <= edf.n_inputs; k++) {
      edf_node *x = k < edf.n_inputs ? edf.inputs[k] : edf.parameters[0];
      double *v = k < edf.n_inputs ? (double *)judge_memory(x->size * sizeof *v) : x->value;
      for (size_t i = 0; i < x->size; i++) v[i] = grade_uniform(-1, 1);
      if (k < edf.n_inputs) edf_feed(x, v, x->rank ? x->dim[0] : 1);
    }
    edf_forward();
    right += edf_check_backward(y, lines.at ? lines.at : "") < 1e-6;
    edf_clear();
  }
  return (double)right / rows;
}
