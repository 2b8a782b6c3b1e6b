/* plain.h - a text for edf_equations against plain loops that know nothing of edf.h: values
   of what it computes, and gradients of what it reads, which the loops give by central
   differences, at a cotangent that is the same for both.

     LOOPS(sums, run_slide) {
       SLIDE("x[4]",                                the tensors that are there
             "s[k] = W[k,J] x[J] + b[k] | k<3")     the text that runs
       IN1(x, 4); IN2(W, 3, 4); IN1(b, 3); OUT1(s, 3);
       FOR(k, 3) { s[k] = b[k]; FOR(j, 4) s[k] += W[k][j] * x[j]; }
     }

   Of the tensors x[b,5] is an Input, W[3,5] a Parameter, of random numbers; x[5]+ has positive
   ones, x@2 some near 2, y[b]=4 class numbers, y[5]~2 whole numbers from -2 to 2. What the text
   makes is random too. L_ is L'. Sizes may be variables, which say() puts into both texts. */

#ifndef PLAIN_H
#define PLAIN_H

#include "harness.h"
#include "edf/slide.h"
#include "edf/layers.h"
#include "edf/judge.h"

enum { LEAVES = 24, OUTPUTS = 8, ENTRIES = 1024, BATCH = 3 };
typedef struct {
  char name[24];
  edf_node *node;
  size_t n;
  int whole;                                     /* numbers, without a gradient               */
  double low, high, x[ENTRIES];
  edf_real given[ENTRIES];
} array;
static struct {
  char text[2048], tensors[256];
  int building;                                  /* else the loops run                        */
  int version, versions;                         /* of the text; a blank line parts them      */
  array leaf[LEAVES], out[OUTPUTS];
  int leaves, outputs;
} slide;

/* ---- What the loops read and write. */
static inline int is_named(const array *a, const char *name, size_t n) {
  return !strcmp(a->name, name) && a->n == n;
}
static inline const char *primed(const char *name) {
  static char text[24];
  snprintf(text, sizeof text, "%s", name);
  for (size_t k = strlen(text); k > 0 && text[k - 1] == '_'; k--) text[k - 1] = '\'';
  return text;
}
static inline const double *read_plain(const char *name, size_t n) {
  static const double zeros[ENTRIES];
  for (int k = 0; k < slide.leaves; k++)
    if (is_named(&slide.leaf[k], primed(name), n)) return slide.leaf[k].x;
  CHECK(0, "the text has no tensor %s of %zu entries\n%s", name, n, slide.text);
  return zeros;
}
static inline double *write_plain(const char *name, size_t n) {
  array *a = slide.out;
  while (a < slide.out + slide.outputs && !is_named(a, primed(name), n)) a++;
  if (a == slide.out + slide.outputs) {
    if (slide.outputs++ == OUTPUTS || n > ENTRIES) abort();
    snprintf(a->name, sizeof a->name, "%s", primed(name));
    a->n = n;
  }
  memset(a->x, 0, n * sizeof *a->x);
  return a->x;
}

#define IN_(x, n) read_plain(#x, (size_t)(n))
#define IN0(x) const double x = *IN_(x, 1)
#define IN1(x, a) const double *const x = IN_(x, a)
#define IN2(x, a, b) const double (*const x)[b] = (const double (*)[b])IN_(x, (a) * (b))
#define IN3(x, a, b, c) \
  const double (*const x)[b][c] = (const double (*)[b][c])IN_(x, (a) * (b) * (c))
#define IN4(x, a, b, c, d) \
  const double (*const x)[b][c][d] = (const double (*)[b][c][d])IN_(x, (a) * (b) * (c) * (d))
#define IN5(x, a, b, c, d, e)                                     \
  const double (*const x)[b][c][d][e] = (const double (*)[b][c][d][e]) \
    IN_(x, (a) * (b) * (c) * (d) * (e))
#define OUT_(x, n) write_plain(#x, (size_t)(n))
#define OUT0(x) double *const x = OUT_(x, 1)
#define OUT1(x, a) double *const x = OUT_(x, a)
#define OUT2(x, a, b) double (*const x)[b] = (double (*)[b])OUT_(x, (a) * (b))
#define OUT3(x, a, b, c) double (*const x)[b][c] = (double (*)[b][c])OUT_(x, (a) * (b) * (c))
#define OUT4(x, a, b, c, d) \
  double (*const x)[b][c][d] = (double (*)[b][c][d])OUT_(x, (a) * (b) * (c) * (d))
#define OUT5(x, a, b, c, d, e)                                    \
  double (*const x)[b][c][d][e] = (double (*)[b][c][d][e])        \
    OUT_(x, (a) * (b) * (c) * (d) * (e))
#define OUT6(x, a, b, c, d, e, f)                                     \
  double (*const x)[b][c][d][e][f] = (double (*)[b][c][d][e][f])      \
    OUT_(x, (a) * (b) * (c) * (d) * (e) * (f))
#define FOR(i, n) for (int i = 0; i < (n); i++)

static inline double plain_sig(double x) { return 1 / (1 + exp(-x)); }
static inline double plain_relu(double x) { return x > 0 ? x : 0; }
static inline double dot(const double *a, const double *b, int n) {
  double sum = 0;
  FOR(i, n) sum += a[i] * b[i];
  return sum;
}
static inline void plain_softmax(double *x, int n, int apart) {
  double most = x[0], sum = 0;
  FOR(i, n) most = fmax(most, x[i * apart]);
  FOR(i, n) sum += x[i * apart] = exp(x[i * apart] - most);
  FOR(i, n) x[i * apart] /= sum;
}

/* ---- The text's side. */
static inline const char *say(const char *format, ...) {
  static char text[4][1024];
  static int turn;
  va_list args;
  va_start(args, format);
  vsnprintf(text[turn = (turn + 1) % 4], sizeof *text, format, args);
  va_end(args);
  return text[turn];
}

static unsigned long long plain_state = 31230;
static inline double plain_random(double low, double high) {
  plain_state = plain_state * 6364136223846793005u + 1442695040888963407u;
  return low + (high - low) * (double)(plain_state >> 40) / 16777216.0;
}

static inline array *add_leaf(const char *name, double low, double high, int whole) {
  array *a = &slide.leaf[slide.leaves];
  if (slide.leaves++ == LEAVES) abort();
  snprintf(a->name, sizeof a->name, "%s", name);
  a->low = low;
  a->high = high;
  a->whole = whole;
  return a;
}

static inline void fill_leaf(array *a, edf_node *x) {
  int batched = x->rank > 0 && x->batched & 1;
  size_t n = batched ? BATCH : 1;
  for (int d = batched; d < x->rank; d++) n *= (size_t)x->dim[d];
  if (n > ENTRIES) abort();
  a->node = x;
  a->n = n;
  for (size_t i = 0; i < n; i++) {
    double r = plain_random(a->low, a->high);
    a->given[i] = (edf_real)(a->whole ? floor(r) : r);
    a->x[i] = (double)a->given[i];
  }
  if (x->kind == EDF_PARAMETER) {
    memcpy(x->value, a->given, n * sizeof *a->given);
    edf_push(x);
  } else edf_feed(x, a->given, batched ? BATCH : x->rank ? x->dim[0] : 1);
}

/* "x[b,5] W[3,5]+ y[b]=4" */
static inline void declare_plain(const char *list) {
  slide.leaves = 0;
  while (*list) {
    size_t n = strcspn(list, " +@=~");
    const char *decl = edf_fmt("%.*s", (int)n, list);
    char kind = list[n], name[24];
    double low = -1, high = 1;
    list += n;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(decl, "["), decl);
    if (kind == '+') { low = 0.5; high = 1.5; list++; }
    if (kind == '@') { low = strtod(list + 1, (char **)&list); high = low + 0.03; }
    if (kind == '~') { high = strtod(list + 1, (char **)&list) + 1; low = 1 - high; }
    if (kind == '=') { low = 0; high = strtod(list + 1, (char **)&list); }
    list += strspn(list, " ");
    int whole = kind == '=' || kind == '~', input = strstr(decl, "[b") || whole;
    array *a = add_leaf(name, low, high, whole);
    edf_node *x = input ? edf_input("%s", decl) : edf_parameter("%s", decl);
    if (input && !whole) edf_want_grad(x);
    fill_leaf(a, x);
  }
}

static inline void build_slide(const char *tensors, const char *text) {
  const char *whole = text, *next = strstr(text, "\n\n");
  for (int k = 0; k < slide.version; k++, next = strstr(text, "\n\n")) text = next + 2;
  slide.versions = 1;
  for (const char *c = whole; (c = strstr(c, "\n\n")) != NULL; c += 2) slide.versions++;
  snprintf(slide.text, sizeof slide.text, "%.*s", next ? (int)(next - text) : 2000, text);
  snprintf(slide.tensors, sizeof slide.tensors, "%s", tensors);
  declare_plain(slide.tensors);
  int had = edf.n_parameters;
  edf_equations("%s", slide.text);
  for (int k = had; k < edf.n_parameters; k++)
    fill_leaf(add_leaf(edf.parameters[k]->name, -1, 1, 0), edf.parameters[k]);
}
#define SLIDE(tensors, text) \
  if (slide.building) { build_slide(tensors, text); return; }

/* ---- Compared. The loss is the sum of what is computed, each times a number of its own. */
static inline edf_real cotangent_of(size_t i) {
  return (edf_real)((double)(i * 7919 % 13) - 5.5) / 4;
}
#include "cotangent.h"

static inline void compare_plain(const array *a, const char *what, const edf_real *found,
                                 const double *expected, double tolerance) {
  double largest = 1e-2;
  for (size_t i = 0; i < a->n; i++) largest = fmax(largest, fabs(expected[i]));
  for (size_t i = 0; i < a->n; i++) {
    if (fabs((double)found[i] - expected[i]) <= tolerance * largest) continue;
    CHECK(0, "%s%s[%zu] is %.17g and should be %.17g\n%s", a->name, what, i, (double)found[i],
          expected[i], slide.text);
    return;
  }
}

static inline double plain_loss(void (*loops)(void)) {
  double sum = 0;
  loops();
  for (const array *a = slide.out; a < slide.out + slide.outputs; a++)
    for (size_t i = 0; i < a->n; i++) sum += (double)cotangent_of(i) * a->x[i];
  return sum;
}

static inline void compare_gradient(array *a, void (*loops)(void)) {
  static double slope[ENTRIES];
  const double h = 1e-4;
  for (size_t i = 0; i < a->n; i++) {
    double x = a->x[i], at[4];
    FOR(k, 4) { a->x[i] = x + h * (k < 2 ? k - 2 : k - 1); at[k] = plain_loss(loops); }
    a->x[i] = x;
    slope[i] = (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * h);
  }
  const edf_real *grad = edf_grad(a->node);
  CHECK(grad, "%s has no gradient", a->name);
  if (grad) compare_plain(a, ".grad", grad, slope, sizeof(edf_real) == 8 ? 1e-8 : 1e-3);
}

static inline void run_version(void (*loops)(void)) {
  edf_node *loss = NULL;
  int slopes = 0;
  slide.outputs = 0;
  slide.building = 1;
  loops();
  slide.building = 0;
  loops();
  for (int k = 0; k < slide.outputs; k++) {
    edf_node *y = slide.out[k].node = edf_find(slide.out[k].name);
    loss = loss ? edf_add(loss, JUDGED(y)) : JUDGED(y);
  }
  edf_forward();
#ifdef PLAIN_EXPORT
  for (int k = 0; k < slide.outputs; k++) PLAIN_EXPORT(slide.text, slide.out[k].node);
#endif
  for (array *a = slide.out; a < slide.out + slide.outputs; a++) {
    CHECK(a->node->size == a->n, "%s has %zu entries, not %zu", a->name, a->node->size, a->n);
    if (a->node->size == a->n)
      compare_plain(a, "", edf_value(a->node), a->x, sizeof(edf_real) == 8 ? 1e-12 : 1e-4);
  }
  for (int k = 0; k < slide.leaves; k++) slopes += !slide.leaf[k].whole;
  if (!harness.bad && slopes) edf_backward(loss);
  for (int k = 0; k < slide.leaves && !harness.bad; k++)
    if (!slide.leaf[k].whole) compare_gradient(&slide.leaf[k], loops);
  edf_clear();
}

#ifdef INTERPRETER_H
/* The program that is printed gives the same values and gradients. (On a device not: there,
   pairs that the next line leaves out are 0.) */
static inline void run_printed(void (*loops)(void)) {
  edf_node *loss = NULL;
  unsigned long long state = plain_state;
  slide.building = 1;
  loops();
  slide.building = 0;
  for (int k = 0; k < slide.outputs; k++) {
    edf_node *y = edf_mean(edf_find(slide.out[k].name));
    loss = loss ? edf_add(loss, y) : y;
  }
  CHECK(evaluate(slide.text, loss), "a NaN from\n%s", slide.text);
  plain_state = state;
}
#endif

static inline void run_slide(void (*loops)(void)) {
  slide.versions = 1;
  for (slide.version = 0; slide.version < slide.versions && !harness.bad; slide.version++) {
    run_version(loops);
#ifdef INTERPRETER_H
    if (EDF_REAL_IS_DOUBLE && !edf_device) run_printed(loops);
#endif
  }
}

/* A test that runs these loops. */
#define LOOPS(name, run)              \
  static void name##_loops(void);     \
  TEST(name) { run(name##_loops); }   \
  static void name##_loops(void)

#endif
