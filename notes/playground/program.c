/* program.c - what the playground runs: it reads a command and answers with one line of JSON.

   The page runs it as WebAssembly in a worker: room(n) gives the place of the next command, and
   run() runs it. Compiled by cc it reads commands from standard input, each after a line with
   its length, so that a test needs no browser. A command is a line, and for some a text:

     text SEED      the slide that follows. Answers with its nodes, as prints show them
     data NAME      xor, spirals, digits or names; they are fed to the Inputs x and y
     step N RATE BATCH RULE      trains N steps: sgd, momentum or adam. Answers with the losses
     view           the boundary, the confusion of classes or samples: what fits the data
     value K        the numbers of node K, and its gradient
     entry K I      the products that make entry I of node K
     check          the gradient check of the last node, as text
     answer K       judges the backward of node K that follows, as text

   An error is {"error":"..."}. After it only `text` works; WebAssembly needs a new instance. */
#ifndef EDF_REAL
#define EDF_REAL double
#endif
static void stop(const char *message);
#define EDF_PANIC(message) stop(message)
#define EDF_IMPLEMENTATION
#include "edf/slide.h"
#include "edf/judge.h"
#include "edf/data.h"
#include "../../examples/names.h"

#ifdef __wasm__
#define EXPORT(name) __attribute__((export_name(name)))
#else
#include <setjmp.h>
#define EXPORT(name)
static jmp_buf next_command;
#endif

/* ---- Answers */
static edf_page answer;                    /* the JSON of the command that runs */

static void stop(const char *message) {
  printf("{\"error\":\"");
  for (const char *c = message; *c; c++)
    printf((unsigned char)*c < ' ' || *c == '"' || *c == '\\' ? "\\u%04x" : "%c", (unsigned char)*c);
  printf("\"}\n");
  fflush(stdout);
#ifdef __wasm__
  __builtin_trap();
#else
  longjmp(next_command, 1);
#endif
}

static void write_string(const char *key, const char *text) {
  edf_write(&answer, "\"%s\":", key);
  edf_write_quoted(&answer, text, strlen(text));
}
static void write_number(double x) {
  if (x - x == 0) edf_write(&answer, "%.7g", x);
  else edf_write(&answer, "\"%s\"", x != x ? "NaN" : x > 0 ? "Infinity" : "-Infinity");
}
static void write_numbers(const char *key, const edf_real *x, size_t n) {
  edf_write(&answer, "\"%s\":[", key);
  for (size_t i = 0; i < n; i++) {
    if (i) edf_write(&answer, ",");
    write_number((double)x[i]);
  }
  edf_write(&answer, "]");
}

static edf_node *node_number(const char *argument) {
  int k = atoi(argument);
  if (k < 0 || k >= edf__n_nodes()) edf_stop("there is no node %d", k);
  return edf__nth(k);
}

/* ---- Data. A row has n_x numbers for x and n_y class numbers for y. */
enum { ROWS = 600, LETTERS = 27, LONGEST = 8, SIDE = 8 };
typedef struct {
  const char *name;
  void (*make)(void);
  int n_x, n_y, classes;
} data_set;
static edf_real data_x[ROWS * SIDE * SIDE], data_y[ROWS * LONGEST];
static int rows, first_row, n_fed;         /* of all, and of the last feed */
static const data_set *data;
static long steps;
static int changed;                        /* 1 if values and gradients are of older parameters */

static void make_xor(void) {
  rows = 4;
  for (int i = 0; i < 4; i++) {
    data_x[2 * i] = i / 2;
    data_x[2 * i + 1] = i % 2;
    data_y[i] = i / 2 != i % 2;
  }
}
static void make_spirals(void) {           /* two arms of one and a half turns */
  rows = 200;
  for (int i = 0; i < rows; i++) {
    double t = (i / 2 + 5) / 105.0, angle = 9.42 * t + (i % 2 ? 3.14159 : 0);
    data_x[2 * i] = (edf_real)(t * cos(angle)) + edf_normal(0, (edf_real)0.02);
    data_x[2 * i + 1] = (edf_real)(t * sin(angle)) + edf_normal(0, (edf_real)0.02);
    data_y[i] = i % 2;
  }
}
/* A digit is 5 rows of 3 points, each widened to 2 by 1, somewhere in 8 by 8. */
static void make_digits(void) {
  static const char *const shape[] = { "###" "#.#" "#.#" "#.#" "###", ".#." "##." ".#." ".#." "###",
    "###" "..#" "###" "#.." "###", "###" "..#" ".##" "..#" "###", "#.#" "#.#" "###" "..#" "..#",
    "###" "#.." "###" "..#" "###", "#.." "#.." "###" "#.#" "###", "###" "..#" ".#." ".#." ".#.",
    "###" "#.#" "###" "#.#" "###", "###" "#.#" "###" "..#" "..#" };
  rows = ROWS;
  for (int b = 0; b < rows; b++) {
    int digit = b % 10, down = edf_below(4), right = edf_below(3);
    edf_real *image = data_x + b * SIDE * SIDE;
    for (int i = 0; i < SIDE * SIDE; i++) image[i] = edf_normal(0, (edf_real)0.15);
    for (int i = 0; i < 5; i++)
      for (int j = 0; j < 6; j++)
        if (shape[digit][3 * i + j / 2] == '#')
          image[(i + down) * SIDE + j + right] += edf_uniform((edf_real)0.6, 1);
    data_y[b] = digit;
  }
}
/* x is a 0 and the letters of a name, y the letters and then 0. Long names are left out. */
static void make_names(void) {
  rows = 0;
  memset(data_x, 0, sizeof data_x);
  memset(data_y, 0, sizeof data_y);
  for (const char *c = names + 1; *c; c += strcspn(c, "\n") + 1) {
    int n = (int)strcspn(c, "\n");
    if (n >= LONGEST || rows == ROWS) continue;
    for (int t = 0; t < n; t++)
      data_y[rows * LONGEST + t] = data_x[rows * LONGEST + t + 1] = c[t] - 'a' + 1;
    rows++;
  }
}
static const data_set data_sets[] = { { "xor", make_xor, 2, 1, 2 },
  { "spirals", make_spirals, 2, 1, 2 }, { "digits", make_digits, SIDE * SIDE, 1, 10 },
  { "names", make_names, LONGEST, LONGEST, LETTERS } };

/* Returns the Input of this name. Its rows must have n numbers. */
static edf_node *input_named(const char *name, int n) {
  for (int i = 0; i < edf.n_inputs; i++) {
    edf_node *x = edf.inputs[i];
    int size = 1;
    if (strcmp(x->name, name)) continue;
    for (int d = 1; d < x->rank; d++) size *= x->dim[d];
    if (!x->batched || size != n)
      edf_stop("the data set %s has %d number%s a row for %s, but a row of %s has %d", data->name,
               n, n > 1 ? "s" : "", name, name, size);
    return x;
  }
  return NULL;
}

static void choose_data(const char *name) {
  unsigned long long draws = edf.draws;
  data = NULL;
  for (size_t k = 0; k < sizeof data_sets / sizeof *data_sets; k++)
    if (!strcmp(name, data_sets[k].name)) data = &data_sets[k];
  if (!data) edf_stop("no data set is called %s", name);
  data->make();
  edf.draws = draws;                       /* Parameters do not depend on the data. */
  first_row = rows;                        /* The first feed begins a pass. */
  n_fed = 0;
  steps = changed = 0;
  if (!input_named("x", data->n_x) && !input_named("y", data->n_y))
    edf_stop("the slide has no Input x or y: begin it with  input x[b,%d], y[b]", data->n_x);
}

static void feed_again(void) {
  edf_node *x = input_named("x", data->n_x), *y = input_named("y", data->n_y);
  if (x) edf_feed(x, data_x + first_row * data->n_x, n_fed);
  if (y) edf_feed(y, data_y + first_row * data->n_y, n_fed);
}
/* Feeds the next n rows, or those that are left. Each pass over the data has a new order. */
static void feed_batch(int n) {
  if (!data) edf_stop("there is no data: choose some first");
  first_row += n_fed;
  if (first_row == rows) {
    edf_array x = { 2, { rows, data->n_x }, (size_t)(rows * data->n_x), data_x };
    edf_array y = { 2, { rows, data->n_y }, (size_t)(rows * data->n_y), data_y };
    edf_shuffle(&x, &y);
    first_row = 0;
  }
  n_fed = n < rows - first_row ? n : rows - first_row;
  feed_again();
}

/* ---- The program */

/* Returns the line of the slide that a node comes from, or 0. A node that no line names belongs
   to the next one that a line names. */
static int line_of(const edf_node *x) {
  for (int k = x->position; x->kind == EDF_COMPNODE && k < edf.n_compnodes; k++) {
    const edf_slide__statement *l = edf_slide__line_of_node(edf.compnodes[k]);
    if (!l || !l->m.e.n_ref) continue;
    const edf__scan *s = l->m.e.scan;
    size_t at = (size_t)(l->m.e.ref->name - s->text) % s->size;
    int line = 1;
    for (size_t i = 0; i < at; i++) line += s->text[i] == '\n';
    return line;
  }
  return 0;
}

static void write_part(const char *key, const edf_node *x, edf_part part) {
  edf_page text = { NULL, 0 };
  edf_write_node(&text, x, part);
  edf_write(&answer, ",");
  write_string(key, text.at ? text.at : "");
  edf_release(text.at);
}
/* Nodes with the same `group` have the same heading. */
static void write_node(const edf_node *x, int group) {
  edf_write(&answer, "{\"kind\":%d,\"line\":%d,\"number\":%d,\"group\":%d,", (int)x->kind,
            line_of(x), x->position, group);
  write_string("name", edf_label(x));
  edf_write(&answer, ",");
  write_string("op", x->op);
  write_part("shape", x, EDF_SHAPE);
  if (x->kind == EDF_COMPNODE) {
    const char *step = edf_folded_step(x);
    edf_page heading = { NULL, 0 };
    edf_write_heading(&heading, x);
    edf_write(&answer, ",");
    write_string("heading", heading.at ? heading.at : "");
    edf_write(&answer, ",");
    write_string("folded", step ? step : "");
    edf_release(heading.at);
    write_part("forward", x, EDF_FORWARD_LINE);
  }
  if (edf__runs_backward(x)) write_part("backward", x, EDF_BACKWARD_LINES);
  edf_write(&answer, ",\"helper\":%d}", edf_slide__is_helper(x));
}

static void read_slide(const char *argument, const char *slide) {
  size_t numbers = 0;
  int group = 0;
  edf_clear();
  answer.at = NULL;                        /* edf_clear has freed it. */
  answer.n = 0;
  data = NULL;
  edf_seed(strtoull(argument, NULL, 10));
  edf_equations_at("slide", 1, "%s", slide);
  edf__node_marks *marks = edf__mark_backward();
  for (int i = 0; i < edf.n_parameters; i++) numbers += edf.parameters[i]->size;
  edf_write(&answer, "{\"numbers\":%zu,\"nodes\":[", numbers);
  for (int k = 0; k < edf__n_nodes(); k++) {
    if (k) edf_write(&answer, ",\n");
    group += k && !edf_same_heading(edf__nth(k), edf__nth(k - 1));
    write_node(edf__nth(k), group);
  }
  edf__restore_marks(marks);
  edf_write(&answer, "]}");
}

static edf_node *last_node(void) {
  if (!edf.n_compnodes) edf_stop("the slide has no equation");
  return edf.compnodes[edf.n_compnodes - 1];
}

static void train(const char *argument) {
  char rule[16] = "sgd";
  double rate = 0.1;
  int n = 1, batch = 32;
  edf_node *loss = last_node();
  sscanf(argument, "%d %lf %d %15s", &n, &rate, &batch, rule);
  if (batch < 1) edf_stop("the batch is %d, expected 1 or more", batch);
  edf_write(&answer, "{\"loss\":[");
  for (int i = 0; i < n; i++) {
    feed_batch(batch);
    edf_forward();
    if (i) edf_write(&answer, ",");
    write_number(edf_mean_value(loss));
    edf_backward(loss);
    if (!strcmp(rule, "adam")) edf_adam_default((edf_real)rate);
    else if (!strcmp(rule, "momentum")) edf_momentum((edf_real)rate, (edf_real)0.9);
    else edf_sgd((edf_real)rate);
    steps++;
  }
  changed = 1;
  edf_write(&answer, "],\"steps\":%ld}", steps);
}

/* ---- Views. The scores are the last node that has an index more than y: one for the class. */
static edf_node *scores_node(void) {
  for (int k = edf.n_compnodes - 1; k >= 0 && data; k--) {
    edf_node *c = edf.compnodes[k];
    int rank = data->n_y > 1 ? 3 : 2;
    if (c->rank == rank && c->dim[rank - 1] == data->classes && (c->batched & 1)) return c;
  }
  return NULL;
}
static const edf_real *run_rows(edf_node *P, const edf_real *x, int n) {
  edf_node *to = input_named("x", data->n_x);
  edf.training = 0;
  changed = steps > 0;
  edf_feed(to, x, n);
  edf_forward_to(P);
  edf.training = 1;
  return edf_value(P);
}

static void view_boundary(edf_node *P) {   /* P of class 1 at 32 by 32 points */
  static edf_real grid[32 * 32 * 2], of_class_1[32 * 32];
  double from = data->make == make_xor ? -0.25 : -1.15, to = data->make == make_xor ? 1.25 : 1.15;
  for (int i = 0; i < 32 * 32; i++) {
    grid[2 * i] = (edf_real)(from + (to - from) * (i % 32 + 0.5) / 32);
    grid[2 * i + 1] = (edf_real)(to - (to - from) * (i / 32 + 0.5) / 32);
  }
  const edf_real *p = run_rows(P, grid, 32 * 32);
  for (int i = 0; i < 32 * 32; i++) of_class_1[i] = p[2 * i + 1];
  edf_write(&answer, "{\"boundary\":32,\"from\":%g,\"to\":%g,", from, to);
  write_numbers("p", of_class_1, 32 * 32);
  edf_write(&answer, ",");
  write_numbers("x", data_x, 2 * (size_t)rows);
  edf_write(&answer, ",");
  write_numbers("y", data_y, (size_t)rows);
  edf_write(&answer, "}");
}
static void view_confusion(edf_node *P) {  /* how often class k was taken for class j */
  static edf_real count[10 * 10];
  memset(count, 0, sizeof count);
  const edf_real *p = run_rows(P, data_x, rows);
  for (int b = 0; b < rows; b++, p += 10) {
    int best = 0;
    for (int k = 1; k < 10; k++) if (p[k] > p[best]) best = k;
    count[10 * (int)data_y[b] + best]++;
  }
  edf_write(&answer, "{");
  write_numbers("confusion", count, 100);
  edf_write(&answer, "}");
}
static void view_samples(edf_node *P) {    /* each letter is drawn from P of those before it */
  enum { N = 10 };
  static edf_real x[N * LONGEST];
  char name[N][LONGEST + 1];
  unsigned long long draws = edf.draws;
  memset(x, 0, sizeof x);
  memset(name, 0, sizeof name);
  for (int t = 0; t < LONGEST; t++) {
    const edf_real *p = run_rows(P, x, N);
    for (int b = 0; b < N; b++) {
      const edf_real *row = p + (b * LONGEST + t) * LETTERS;
      int ended = (t && !name[b][t - 1]) || edf_statistics_of(row, LETTERS).bad;
      int k = ended ? 0 : edf_sample(row, LETTERS);
      if (k) name[b][t] = (char)('a' + k - 1);
      if (t + 1 < LONGEST) x[b * LONGEST + t + 1] = k;
    }
  }
  edf.draws = draws;                       /* Looking does not change the training. */
  edf_write(&answer, "{\"samples\":[");
  for (int b = 0; b < N; b++) {
    if (b) edf_write(&answer, ",");
    edf_write_quoted(&answer, name[b], strlen(name[b]));
  }
  edf_write(&answer, "]}");
}
static void view(void) {
  edf_node *P = scores_node();
  if (!P || !input_named("x", data->n_x)) edf_write(&answer, "{}");
  else if (data->n_x == 2) view_boundary(P);
  else if (data->n_y > 1) view_samples(P);
  else view_confusion(P);
}

/* ---- Numbers, of the last batch and the present parameters. */
static void compute_again(void) {
  unsigned long long draws = edf.draws;
  if (!changed) return;
  changed = 0;
  feed_again();
  edf_forward();
  edf_backward(last_node());
  edf.draws = draws;
}

static void write_values(const char *argument) {
  edf_node *x = node_number(argument);
  compute_again();
  size_t n = x->size < 4096 ? x->size : 4096;
  edf_write(&answer, "{\"dim\":[");
  for (int d = 0; d < x->rank; d++) edf_write(&answer, d ? ",%d" : "%d", x->dim[d]);
  edf_write(&answer, "],");
  write_numbers("value", x->value ? edf_value(x) : NULL, x->value ? n : 0);
  edf_write(&answer, ",");
  write_numbers("grad", x->grad, x->grad && x->reached ? n : 0);
  edf_write(&answer, "}");
}

/* Writes the products of loops k to the end of a nest that go to the entry. `left` is what is
   left of the way to it. */
static int n_products;
static void write_products(const edf_nest *t, int k, ptrdiff_t left, ptrdiff_t a, ptrdiff_t b,
                           edf_node *x, edf_node *y) {
  ptrdiff_t most = 0;
  for (int l = k; l < t->n; l++) most += (t->loop[l].n - 1) * t->loop[l].s[EDF_OUT];
  if (left < 0 || left > most) return;
  for (ptrdiff_t i = 0; k < t->n && i < t->loop[k].n; i++)
    write_products(t, k + 1, left - i * t->loop[k].s[EDF_OUT], a + i * t->loop[k].s[EDF_A],
                   b + i * t->loop[k].s[EDF_B], x, y);
  if (k < t->n || n_products++ >= 12) return;
  double product = (double)t->alpha * (double)x->value[a] * (y ? (double)y->value[b] : 1);
  edf_write(&answer, n_products > 1 ? ",{" : "{");
  write_string("of", edf__text(y ? "%s%s %s%s" : "%s%s", edf_label(x), edf__indices(x, (size_t)a),
                               y ? edf_label(y) : "", y ? edf__indices(y, (size_t)b) : ""));
  edf_write(&answer, ",\"is\":");
  write_number(product);
  edf_write(&answer, "}");
}
static void write_entry(const char *argument) {
  edf_node *y = node_number(argument);
  compute_again();
  size_t i = strtoull(strchr(argument, ' ') ? strchr(argument, ' ') : "0", NULL, 10);
  if (i >= y->size || !y->value) edf_stop("there is no entry %zu", i);
  edf_write(&answer, "{");
  write_string("entry", edf__text("%s%s", edf_label(y), edf__indices(y, i)));
  edf_write(&answer, ",\"value\":");
  write_number((double)y->value[i]);
  edf_write(&answer, ",\"products\":[");
  n_products = 0;
  for (int t = 0; edf_slide__is_equation(y) && t < edf_slide__einsum_of(y)->e.n_term; t++) {
    const edf_contraction *m = edf_slide__einsum_of(y);
    const edf_nest *nest = &m->run[3 * t].nest;
    write_products(nest, 0, (ptrdiff_t)i - nest->start[EDF_OUT], nest->start[EDF_A],
                   nest->start[EDF_B], edf_slide__factor(y, &m->e.term[t], 0).of,
                   edf_slide__factor(y, &m->e.term[t], 1).of);
  }
  edf_write(&answer, "],\"all\":%d", n_products);
  if (y->grad && y->reached) {
    edf_write(&answer, ",\"grad\":");
    write_number((double)y->grad[i]);
  }
  edf_write(&answer, "}");
}

/* ---- Commands */
static char *command;

EXPORT("room") char *room(size_t n) {
  command = (char *)realloc(command, n + 1);
  command[n] = 0;
  return command;
}

EXPORT("run") void run(void) {
  char line[200];
  size_t n = strcspn(command, "\n");
  const char *text = command + n + (command[n] == '\n'), *argument;
  snprintf(line, sizeof line, "%.*s", (int)n, command);
  argument = line + strcspn(line, " ");
  argument += *argument == ' ';
  answer.n = 0;
#define IS(name) (!strncmp(line, name, sizeof name - 1) && strchr(" ", line[sizeof name - 1]))
  if (IS("text")) read_slide(argument, text);
  else if (IS("data")) { choose_data(argument); edf_write(&answer, "{\"rows\":%d}", rows); }
  else if (IS("step")) train(argument);
  else if (IS("view")) view();
  else if (IS("value")) write_values(argument);
  else if (IS("entry")) write_entry(argument);
  else if (IS("check") || IS("answer")) {
    edf_node *y = IS("check") ? last_node() : node_number(argument);
    feed_batch(8);
    edf_forward();
    edf_write(&answer, "{\"error_of\":");
    write_number(IS("check") ? edf_gradcheck(y) : edf_check_backward(y, text));
    edf_write(&answer, "}");
  } else edf_stop("no command is called %s", line);
  printf("%s\n", answer.at);
  fflush(stdout);
}

#ifdef __wasm__
/* The one function that wasi-libc needs of clang's runtime, which is a package of its own. */
__int128 __multi3(__int128 a, __int128 b) {
  typedef unsigned long long word;
  word a0 = (unsigned)a, a1 = (word)a >> 32, b0 = (unsigned)b, b1 = (word)b >> 32;
  word low = a0 * b0, middle = a1 * b0 + (low >> 32), next = a0 * b1 + (unsigned)middle;
  word high = a1 * b1 + (middle >> 32) + (next >> 32);
  high += (word)(a >> 64) * (word)b + (word)a * (word)(b >> 64);
  return (__int128)((unsigned __int128)high << 64 | (next << 32 | (unsigned)low));
}
#else
int main(void) {
  size_t n;
  while (scanf("%zu", &n) == 1 && getchar() == '\n') {
    if (fread(room(n), 1, n, stdin) != n) return 1;
    if (!setjmp(next_command)) run();
  }
  return 0;
}
#endif
