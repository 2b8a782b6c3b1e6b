/* program.c - what the page runs: it reads a command and answers with one line of JSON.

   The page runs it as WebAssembly in a worker: room(n) gives the place of the next command, and
   run() runs it. Compiled by cc it reads commands from standard input, each after a line with
   its length, so that a test needs no browser. A command is a line, and for some a text:

     text SEED      the slide that follows
     data NAME      a data set of data.h; it is fed to the Inputs x and y
     look MOST      the state of a step, as edf_write_trace writes it: of the last batch, and the
                    present Parameters, at most MOST numbers along each index. `lines` has the
                    line of the slide for each node
     step N RATE BATCH RULE      trains N steps: sgd, momentum or adam. Answers with the losses.
                    The doctor watches, and prints what it finds
     view           the boundary, the curve, the confusion of classes or samples: what fits
     find           searches the first NaN, and prints it
     check          the gradient check of the last node, as text
     c              the slide as a C file without a framework, as text
     answer K       judges the lines that follow, as a backward of the line of node K

   An error is {"error":"..."}. After it only `text` works; WebAssembly needs a new instance. */
#ifndef EDF_REAL
#define EDF_REAL double
#endif
static void stop(const char *message);
#define EDF_PANIC(message) stop(message)
#ifdef __wasm__                            /* The page catches a trap, as setjmp would. */
__attribute__((import_module("page"), import_name("attempt"))) int attempt(void (*run)(void *), void *with);
#define EDF_JUDGE_ATTEMPT(run, with) attempt(run, with)
#endif
#define EDF_IMPLEMENTATION
#include "edf/slide.h"
#include "edf/derive.h"
#include "edf/judge.h"
#include "edf/data.h"
#include "edf/lab.h"
#include "edf/c.h"
#include "../../examples/names.h"
#include "data.h"

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

/* ---- Data */
typedef struct {
  const char *name;
  void (*make)(void);
  int classes;                             /* 0: y is no class number */
} data_set;
static const data_set data_sets[] = { { "xor", make_xor, 2 }, { "spirals", make_spirals, 2 },
  { "curve", make_curve, 0 }, { "digits", make_digits, 10 }, { "names", make_names, LETTERS },
  { "random", make_random, 0 } };
static const data_set *data;
static long steps;
static int changed;                        /* 1 if values and gradients are of older Parameters */

/* Stops unless a row of the Input has n numbers. Returns the Input, or NULL. */
static edf_node *check_input(const char *name, int n) {
  const edf_node *x = input_named(name);
  int size = 1;
  for (int d = 1; x && d < x->rank; d++) size *= x->dim[d];
  if (x && (!x->batched || size != n))
    edf_stop("the data set %s has %d number%s a row for %s, but a row of %s has %d", data->name,
             n, n > 1 ? "s" : "", name, name, size);
  return input_named(name);
}
static void choose_data(const char *name) {
  data = NULL;
  for (size_t k = 0; k < sizeof data_sets / sizeof *data_sets; k++)
    if (!strcmp(name, data_sets[k].name)) data = &data_sets[k];
  if (!data) edf_stop("no data set is called %s", name);
  begin_data(data->make);
  steps = changed = 0;
  if (!n_x) return;
  edf_node *x = check_input("x", n_x), *y = check_input("y", n_y);
  if (!x && !y)
    edf_stop("the slide has no Input x or y: begin it with  input x[b,%d], y[b]", n_x);
  for (int k = 0; k < edf.n_inputs; k++)
    if (edf.inputs[k] != x && edf.inputs[k] != y)
      edf_stop("the data sets have only x and y: choose random numbers for the Input %s",
               edf_label(edf.inputs[k]));
}
static void feed(int n) {
  if (!data) edf_stop("there is no data: choose some first");
  feed_batch(n);
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

static void read_slide(const char *argument, const char *slide) {
  edf_clear();
  answer.at = NULL;                        /* edf_clear has freed it. */
  answer.n = 0;
  data = NULL;
  edf_seed(strtoull(argument, NULL, 10));
  edf_equations_at("slide", 1, "%s", slide);
  edf_write(&answer, "{\"nodes\":%d}", edf__n_nodes());
}

static edf_node *last_node(void) {
  if (!edf.n_compnodes) edf_stop("the slide has no equation");
  return edf.compnodes[edf.n_compnodes - 1];
}

/* Returns 1 if a Backward of the last node can run. */
static int can_learn(void) {
  edf__find_needs();
  return last_node()->needs_grad;
}
static void train(const char *argument) {
  char rule[16] = "sgd";
  double rate = 0.1;
  int n = 1, batch = 32;
  edf_node *loss = last_node();
  sscanf(argument, "%d %lf %d %15s", &n, &rate, &batch, rule);
  if (batch < 1) edf_stop("the batch is %d, expected 1 or more", batch);
  if (!can_learn()) edf_stop("the last line depends on no Parameter: there is nothing to train");
  if (!steps) edf_doctor(loss);
  edf_write(&answer, "{\"loss\":[");
  for (int i = 0; i < n; i++) {
    feed(batch);
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

/* ---- Views. The scores are the last node that has an index more than y: one for the class. A
   curve is the last node that the author named and that has a number for each row. */
static edf_node *scores_node(void) {
  for (int k = edf.n_compnodes - 1; k >= 0 && data; k--) {
    edf_node *c = edf.compnodes[k];
    int rank = !data->classes ? 1 : n_y > 1 ? 3 : 2, last = rank > 1 ? c->dim[rank - 1] : 0;
    int is_curve = c != last_node() && !edf_slide__note_of(c)->inner && c->op[0];
    if (c->rank == rank && last == data->classes && (c->batched & 1) &&
        (data->classes || is_curve)) return c;
  }
  return NULL;
}
static const edf_real *run_rows(edf_node *P, const edf_real *x, int n) {
  edf_node *to = check_input("x", n_x);
  edf.training = 0;
  changed = 1;
  edf_feed(to, x, n);
  edf_forward_to(P);
  edf.training = 1;
  return edf_value(P);
}

static void view_boundary(edf_node *P) {   /* P of class 1 at 32 by 32 points */
  static edf_real grid[32 * 32 * 2], of_class_1[32 * 32];
  double from = rows == 4 ? -0.25 : -1.15, to = rows == 4 ? 1.25 : 1.15;
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
static void view_curve(edf_node *f) {      /* f at 101 points */
  static edf_real at[101];
  for (int i = 0; i < 101; i++) at[i] = (edf_real)(-2.2 + 4.4 * i / 100);
  edf_write(&answer, "{");
  write_numbers("curve", run_rows(f, at, 101), 101);
  edf_write(&answer, ",");
  write_numbers("at", at, 101);
  edf_write(&answer, ",");
  write_numbers("x", data_x, (size_t)rows);
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
  if (!P || !n_x || !input_named("x")) edf_write(&answer, "{\"nothing\":1}");
  else if (!data->classes) view_curve(P);
  else if (n_x == 2) view_boundary(P);
  else if (n_y > 1) view_samples(P);
  else view_confusion(P);
}

/* ---- The state of a step, of the last batch and the present Parameters. */
static void compute_again(void) {
  unsigned long long draws = edf.draws;
  int is_first = !n_fed;                   /* Before the first step: rows that are not used up. */
  if (steps && !changed) return;
  if (!data) edf_stop("there is no data: choose some first");
  changed = 0;
  if (is_first) { first_row = 0; n_fed = rows < 8 ? rows : 8; }
  feed_again();
  edf_forward();
  if (can_learn()) edf_backward(last_node());
  if (is_first) { first_row = rows; n_fed = 0; }
  edf.draws = draws;
}
/* Returns the numbers of all nodes, of long tensors the first `most` entries along each index. */
static double numbers_of(int most) {
  double all = 0;
  for (int k = 0; k < edf__n_nodes(); k++) {
    double n = 2;
    for (int d = 0; d < edf__nth(k)->rank; d++) n *= fmin(most, edf__nth(k)->dim[d]);
    all += n;
  }
  return all;
}
static void look(int most) {
  size_t numbers = 0;
  compute_again();
  while (most > 8 && numbers_of(most) > 16000) most /= 2;
  edf_page trace = edf_lab__trace_page(most);
  for (int i = 0; i < edf.n_parameters; i++) numbers += edf.parameters[i]->size;
  edf_write(&answer, "{\"numbers\":%zu,\"lines\":[", numbers);
  for (int k = 0; k < edf__n_nodes(); k++)
    edf_write(&answer, k ? ",%d" : "%d", line_of(edf__nth(k)));
  edf_write(&answer, "],\"trace\":%s}", trace.at);
  edf_release(trace.at);
}

/* ---- Judging a line of the backward. The printed line of a node is a slide, too: its tensors
   are Parameters with the values of this step, but an Input stays one. */
static void replace_signs(char *text) {    /* h@119 is no name of the notation */
  for (; *text; text++) if (*text == '@') *text = '_';
}
static double judge(edf_node *y, char *lines) {
  edf_page line = { NULL, 0 };
  edf_write_node(&line, y, EDF_FORWARD_LINE);
  char *slide = strcpy((char *)malloc(line.n + 1), line.at);
  replace_signs(slide);
  replace_signs(lines);
  char (*label)[100] = (char (*)[100])malloc((size_t)(y->n_in + 1) * sizeof *label);
  for (int k = 0; k < y->n_in; k++) {
    snprintf(label[k], sizeof *label, "%s", edf_label(y->in[k]));
    replace_signs(label[k]);
  }
  edf_graph was = edf;
  edf = edf_new_graph();
  for (int k = 0; k < y->n_in; k++) {
    const edf_node *from = y->in[k];
    char shape[200] = "", *name = label[k];
    size_t n = 0;
    for (int i = 0; i < k; i++) if (y->in[i] == from) *name = 0;     /* the second time */
    if (!*name) continue;
    for (int d = 0; d < from->rank; d++)
      n += (size_t)snprintf(shape + n, sizeof shape - n, "%c%d", d ? ',' : '[', from->dim[d]);
    edf_node *to = from->kind == EDF_INPUT ? edf_input(n ? "%s%s]" : "%s%s", name, shape)
                                           : edf_parameter(n ? "%s%s]" : "%s%s", name, shape);
    if (to->kind == EDF_INPUT) edf_feed(to, from->value, 1);
    else memcpy(to->value, from->value, from->size * sizeof *to->value);
  }
  double error = edf_check_backward(edf_equations_at("slide", 1, "%s", slide), lines);
  edf_clear();
  edf = was;
  edf_release(line.at);
  free(label);
  free(slide);
  return error;
}

/* ---- Commands */
static char *command;

EXPORT("room") char *room(size_t n) {
  command = (char *)realloc(command, n + 1);
  command[n] = 0;
  return command;
}

EXPORT("call") void call(void (*run_this)(void *), void *with) { run_this(with); }

EXPORT("run") void run(void) {
  char line[200];
  size_t n = strcspn(command, "\n");
  char *text = command + n + (command[n] == '\n');
  const char *argument;
  snprintf(line, sizeof line, "%.*s", (int)n, command);
  argument = line + strcspn(line, " ");
  argument += *argument == ' ';
  answer.n = 0;
#define IS(name) (!strncmp(line, name, sizeof name - 1) && strchr(" ", line[sizeof name - 1]))
  if (IS("text")) read_slide(argument, text);
  else if (IS("data")) { choose_data(argument); edf_write(&answer, "{\"rows\":%d}", rows); }
  else if (IS("step")) train(argument);
  else if (IS("view")) view();
  else if (IS("look")) look(*argument ? atoi(argument) : 1024);
  else if (IS("find")) edf_write(&answer, "{\"found\":%d}", edf_find_nan() != NULL);
  else if (IS("check") || IS("answer")) {
    edf_node *y = IS("check") ? last_node() : node_number(argument);
    feed(8);
    edf_forward();
    edf_write(&answer, "{\"error_of\":");
    write_number(IS("check") ? edf_gradcheck(y) : judge(y, text));
    edf_write(&answer, "}");
  } else if (IS("c")) {
    edf_page c = { NULL, 0 };
    feed(8);
    edf_forward();
    edf_write_c_text(&c, last_node());
    edf_write(&answer, "{\"c\":");
    edf_write_quoted(&answer, c.at, c.n);
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
