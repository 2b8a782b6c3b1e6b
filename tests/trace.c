/* The trace page: its file, the numbers in it, what is left out and says so, names that could
   break it, errors, and that nothing is left behind. What the page does in a browser is in
   trace.sh.

   Built as: float double none sanitized valgrind shim */

#include "temporary.h"
#include "inside.h"
#include <stdint.h>

static char *page;                                           /* the file, as a string */
static size_t page_size;

static void read_page(void) {
  FILE *f = fopen(path, "rb");
  if (!f) abort();
  fseek(f, 0, SEEK_END);
  page_size = (size_t)ftell(f);
  rewind(f);
  page = (char *)calloc(page_size + 1, 1);
  if (!page || fread(page, 1, page_size, f) != page_size) abort();
  fclose(f);
  const char *numbers = strstr(page, "\"nodes\":[");          /* no value is left out */
  for (const char *at = numbers ? numbers : ""; *at; at++)
    if ((*at == '[' || *at == ',') && at[1] == ',') { CHECK(0, "%.60s", at); break; }
}

static void forget_page(void) {
  free(page);
  remove(path);
  char temporary[160];
  snprintf(temporary, sizeof temporary, "%s.tmp", path);
  CHECK(access(temporary, F_OK) != 0, "%s is left", temporary);
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
}

static int count(const char *what) {
  int n = 0;
  for (const char *at = page; (at = strstr(at, what)) != NULL; at++) n++;
  return n;
}

/* ---- A small network */

static edf_real images[64 * 784], labels[64];
static Input *x, *y;
static AffineParams Phi1, Phi2;
static CompNode *s, *h, *Q, *ell;

static void build(int n_in, int hidden, int batch) {
  for (int i = 0; i < batch * n_in; i++) images[i] = edf_normal(0, 1);
  for (int b = 0; b < batch; b++) labels[b] = (edf_real)(b % 10);
  x = edf_name(edf_input("x[b,%d]", n_in), "x");
  y = edf_input("y[b]");
  Phi1 = edf_affine_params(n_in, hidden);
  Phi2 = edf_affine_params(hidden, 10);
  s = edf_name(Affine(Phi1, x), "s");
  h = edf_name(Sigmoid(s), "h");
  Q = edf_name(Softmax(edf_name(Affine(Phi2, h), "t")), "Q");
  ell = edf_name(LogLoss(Q, y), "ell");
  edf_feed(x, images, batch);
  edf_feed(y, labels, batch);
}

static void step(void) {
  Forward();
  Backward(ell);
  SGD((edf_real)0.5);
}

/* The number of a node in the page: nodes stand there one a line. */
static int number_of(const char *name) {
  char key[64];
  int n = 0;
  snprintf(key, sizeof key, "\"name\":\"%s\"", name);
  const char *nodes = strstr(page, "\"nodes\":[\n"), *at = strstr(page, key);
  for (const char *c = nodes; c && at && c < at; c++) n += *c == '\n';
  return at ? n - 1 : -1;
}

/* How often the page tells of a tensor, and what it has the last time: [7,1,[ or [7,1,". */
static int told(const char *name, int grad, const char **last) {
  char key[64];
  int n = 0;
  snprintf(key, sizeof key, "[%d,%d,", number_of(name), grad);
  *last = "";
  for (const char *at = strstr(page, "\"moments\":["); at; at = strstr(at + 1, key)) {
    const char *numbers = at + strlen(key);
    if (strncmp(at, key, strlen(key)) || (*numbers != '[' && *numbers != '"')) continue;
    *last = numbers;
    n++;
  }
  return n;
}

static int digit(char c) {
  static const char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const char *at = strchr(digits, c);
  return c && at ? (int)(at - digits) : 0;
}

static void has_few(const char *name, const char *at, const edf_real *value, size_t n) {
  for (size_t k = 0; k < n; k++) {
    char *end;
    CLOSE(strtod(at + 1, &end), value[k], 0, 1e-5);
    CHECK(*end == (k + 1 < n ? ',' : ']'), "%s: entry %zu: %.20s", name, k, end);
    at = end;
  }
}

static float float_of(const unsigned char *byte) {
  float v;
  uint32_t bits = byte[0] | (uint32_t)byte[1] << 8 | (uint32_t)byte[2] << 16 |
                  (uint32_t)byte[3] << 24;
  memcpy(&v, &bits, sizeof v);
  return v;
}

static void has_many(const char *at, const edf_real *value, size_t n) {
  unsigned char byte[4];
  for (size_t k = 0; k < 4 * n; k++) {                       /* byte k is in group k/3 */
    const char *group = at + 1 + k / 3 * 4;
    int bits = digit(group[0]) << 18 | digit(group[1]) << 12 | digit(group[2]) << 6 |
               digit(group[3]);
    byte[k % 4] = (unsigned char)(bits >> (16 - 8 * (int)(k % 3)));
    if (k % 4 == 3) CLOSE(float_of(byte), value[k / 4], 0, 1e-6);
  }
}

/* The n numbers are those, written out or as floats in base64. */
static void has_numbers(const char *name, int grad, const edf_real *value, size_t n) {
  const char *at;
  told(name, grad, &at);
  CHECK(*at == (n > 64 ? '"' : '['), "%s %d: found %.20s", name, grad, at);
  if (*at == '[') has_few(name, at, value, n);
  if (*at == '"') has_many(at, value, n);
}

static void page_of_a_step(void) {
  static edf_real before[30 * 4];
  build(30, 4, 3);
  memcpy(before, Phi1.w->value, sizeof before);
  edf_trace_begin(file("step.html"));
  step();
  edf_trace_end();
  CHECK(!edf.watchers && !edf.trace, "it is still recording");
  read_page();
  CHECK(!strncmp(page, "<!doctype html>", 15), "it begins with %.20s", page);
  CHECK(strstr(page, "default-src 'none'") && !strstr(page, "http:") && !strstr(page, "https:"),
        "it may reach for the network");
  CHECK(count("\"w\":\"f\"") == 5 && count("\"w\":\"b\"") == 5, "%d forward, %d backward",
        count("\"w\":\"f\""), count("\"w\":\"b\""));
  CHECK(count("\"w\":\"s\"") == 4, "%d steps", count("\"w\":\"s\""));
  CHECK(strstr(page, "\"line\":[\"s[b,j] = w1[I,j] x[b,I] - b1[j]\"]"), "the forward line");
  CHECK(strstr(page, "\"back\":[\"for b,i,j: w1.grad[i,j] += s.grad[b,j] x[b,i]\","
               "\"for b,j: b1.grad[j] -= s.grad[b,j]\"]"), "the backward lines");
  has_numbers("x", 0, x->value, x->size);
  has_numbers("s", 0, s->value, s->size);
  has_numbers("s", 1, s->grad, s->size);
  has_numbers("ell", 0, ell->value, ell->size);
  has_numbers("w1", 1, Phi1.w->grad, Phi1.w->size);
  has_numbers("b2", 1, Phi2.b->grad, Phi2.b->size);
  has_numbers("w1", 0, Phi1.w->value, Phi1.w->size);         /* after the step */
  CHECK(memcmp(before, Phi1.w->value, sizeof before), "the step moved nothing");
  forget_page();
}

/* A gradient is told of once for each contribution; what does not change is not told again. */
static void only_what_changes(void) {
  build(5, 4, 3);
  CompNode *twice = edf_name(Mean(Add(Mean(Square(h)), Mean(ell))), "twice");
  edf_trace_begin(file("twice.html"));
  for (int i = 0; i < 2; i++) {
    Forward();
    Backward(twice);
  }
  edf_trace_end();
  read_page();
  const char *last;
  int n = told("h", 1, &last);
  CHECK(n == 4, "h.grad is there %d times, expected 2 contributions, twice", n);
  CHECK((n = told("s", 0, &last)) == 1, "s is there %d times", n);
  CHECK((n = told("w1", 0, &last)) == 1, "w1 is there %d times", n);
  has_numbers("h", 1, h->grad, h->size);
  forget_page();
}

/* Example 03's network: all of a step is in the page, and it is below 2 MB; of three steps
   there is a part. */
static void bounded(void) {
  for (int steps = 1; steps <= 3; steps += 2) {
    build(784, 64, 64);
    edf_trace_begin(file("mnist.html"));
    for (int i = 0; i < steps; i++) step();
    edf_trace_end();
    read_page();
    CHECK(page_size < 2000000, "%zu bytes", page_size);
    CHECK(page_size > 1000000, "%zu bytes: there was room for more", page_size);
    CHECK((strstr(page, "\"note\":\"Of large tensors") != NULL) == (steps > 1), "the note");
    if (steps == 1) has_numbers("w1", 1, Phi1.w->grad, Phi1.w->size);
    forget_page();
  }
}

static void too_much(void) {
  build(3, 2, 1);
  edf_trace_begin(file("much.html"));
  for (int i = 0; i < 500; i++) step();
  edf_trace_end();
  read_page();
  CHECK(page_size < 2000000 && strstr(page, "The page is full"), "%zu bytes", page_size);
  forget_page();
}

static void a_large_parameter(void) {
  Parameter *W = edf_parameter("W[3000,700]");
  edf_init_normal(W, 0, 1);
  CompNode *L = Mean(Square(W));
  edf_trace_begin(file("large.html"));
  Forward();
  Backward(L);
  edf_trace_end();
  read_page();
  CHECK(page_size < 2000000, "%zu bytes", page_size);
  int cut = atoi(strstr(page, "{\"cap\":") + 7);
  CHECK(cut > 16 && cut < 700, "%d entries along each index", cut);
  edf_real *part = (edf_real *)calloc((size_t)(cut * cut), sizeof *part);
  for (int i = 0; part && i < cut * cut; i++) part[i] = W->value[i / cut * 700 + i % cut];
  if (part) has_numbers("W", 0, part, (size_t)(cut * cut));
  free(part);
  forget_page();
}

static void names_that_could_break_it(void) {
  edf_real one = 1;
  Input *a = edf_want_grad(edf_name(edf_input("a"), "</script><b>\"\\\n&\xc3\xa9"));
  CompNode *L = edf_name(Square(a), "a\tb");
  edf_feed(a, &one, 1);
  edf_trace_begin(file("names.html"));
  Forward();
  Backward(L);
  edf_trace_end();
  read_page();
  CHECK(count("</script>") == 2, "%d scripts end", count("</script>"));
  CHECK(strstr(page, "\"\\u003c/script\\u003e\\u003cb\\u003e\\u0022\\u005c\\u000a\\u0026"
               "\xc3\xa9\""), "the name is not there");
  CHECK(strstr(page, "\"a\\u0009b\""), "a tab in a name");
  forget_page();
}

static void not_numbers(void) {
  const edf_real inf = (edf_real)INFINITY;
  edf_real numbers[] = { (edf_real)NAN, inf, -inf, (edf_real)0.1 };
  Input *a = edf_input("a[4]");
  Sum(a);
  edf_feed(a, numbers, 1);
  edf_trace_begin(file("nan.html"));
  Forward();
  edf_trace_end();
  read_page();
  CHECK(strstr(page, "[0,0,[\"NaN\",\"Infinity\",\"-Infinity\",0.1]]"), "the numbers");
  forget_page();
}

/* A graph that is built anew for each step is the same program; so is one that runs as it is
   built. */
static void built_anew(void) {
  for (int eager = 0; eager < 2; eager++) {
    edf.eager = eager;
    edf_real points[] = { 1, 2, 3 };
    Input *a = edf_input("a[3]");
    Parameter *W = edf_parameter("W[3]");
    edf_init_normal(W, 0, 1);
    edf_feed(a, points, 1);
    edf_trace_begin(file("anew.html"));
    for (int i = 0; i < 3; i++) {
      CompNode *L = Square(Einsum("y = W[J] a[J]", W, a));
      if (!eager) Forward();
      Backward(L);
      SGD((edf_real)0.01);
      edf_clear_compnodes();
    }
    edf_trace_end();
    read_page();
    CHECK(count("\"k\":2") == 2, "%d computed nodes", count("\"k\":2"));
    CHECK(count("\"w\":\"F\"") == 3 && count("\"w\":\"s\"") == 3 && count("\"w\":\"f\"") == 6,
          "%d Forwards, %d steps, %d nodes ran", count("\"w\":\"F\""), count("\"w\":\"s\""),
          count("\"w\":\"f\""));
    has_numbers("W", 0, W->value, W->size);
    forget_page();
    edf.eager = 0;
  }
}

static void another_batch(void) {
  build(5, 4, 3);
  edf_trace_begin(file("batch.html"));
  step();
  edf_feed(x, images, 2);
  edf_feed(y, labels, 2);
  step();
  edf_trace_end();
  read_page();
  CHECK(strstr(page, "\"dim\":[3,5]") && strstr(page, "\"dim\":[2,5]"), "two batches");
  forget_page();
}

/* Its memory goes with its end, not with the graph's. */
static void ends_without_a_trace(void) {
  build(5, 4, 1);
  step();
  Forward();
  long before = memory.live;
  edf_trace_begin(file("twice.html"));
  step();
  edf_trace_end();
  CHECK(memory.live == before, "%ld blocks more", memory.live - before);
  read_page();
  forget_page();
}

static void errors(void) {
  static edf_real wrong = 99;
  TRY(edf_trace_begin(NULL));
  CHECK(panicked && !strcmp(caught, "edf_trace_begin: the path is NULL"), "%s", caught);
  TRY(edf_trace_begin("no/such/place/x.html"));
  CHECK(panicked && strstr(caught, "No such file") &&
        strstr(caught, "edf_trace_begin: no/such/place/x.html: cannot be written"), "%s",
        caught);
  TRY(edf_trace_end());
  CHECK(panicked && strstr(caught, "there was no edf_trace_begin"), "%s", caught);
  edf_trace_begin(file("errors.html"));
  TRY(edf_trace_begin("other.html"));
  CHECK(panicked && strstr(caught, "is being recorded: call edf_trace_end first"), "%s",
        caught);
  TRY(edf_trace_end());
  CHECK(panicked && strstr(caught, "nothing was recorded for ") && strstr(caught, path),
        "%s", caught);
  CHECK(access(path, F_OK) != 0, "there is a file");
  TRY(edf_write_dot(NULL));
  CHECK(panicked && strstr(caught, "edf_write_dot: the path is NULL"), "%s", caught);
  TRY(edf_write_dot("no/such/place"));
  CHECK(panicked && strstr(caught, "edf_write_dot: no/such/place: cannot"), "%s", caught);
  build(5, 4, 1);
  edf_trace_begin(file("errors.html"));
  Forward();
  edf_feed(y, &wrong, 1);
  TRY(Forward());                                            /* a panic in the middle */
  CHECK(panicked && strstr(caught, "99"), "%s", caught);
  edf_clear();
  CHECK(!edf.trace && !edf.watchers, "edf_clear leaves the trace");
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
  CHECK(access(path, F_OK) != 0, "there is a file");
}

static void whole_trace(void) {
  build(3, 2, 2);
  edf_trace_begin(path);
  step();
  edf_trace_end();
}

/* Whichever request for memory fails: no block and no file stays open. */
static void out_of_memory(void) {
  int fd = lowest_free_fd(), done = 0;
  file("memory.html");
  for (long n = 1; !done && n < 5000; n++) {
    memory.until_failure = n;
    TRY(whole_trace());
    done = !panicked;
    memory.until_failure = 0;
    edf_clear();
    CHECK(memory.live == 0, "request %ld: %ld blocks are left", n, memory.live);
    CHECK(lowest_free_fd() == fd, "request %ld: a file is open", n);
  }
  CHECK(done, "it never ended");
  remove(path);
  char temporary[160];
  snprintf(temporary, sizeof temporary, "%s.tmp", path);
  CHECK(access(temporary, F_OK) != 0, "%s is left", temporary);
}

static void dot(void) {
  Input *a = edf_name(edf_input("a[b,3]"), "quote \" back \\ line \n \xc3\xa9");
  Parameter *W = edf_parameter("W[3]");
  Einsum("y[b] = W[J] a[b,J]", W, a);
  edf_write_dot(file("graph.dot"));
  read_page();
  CHECK(!strncmp(page, "digraph edf {", 13) && strstr(page, "}\n"), "%s", page);
  CHECK(strstr(page, "x0 [label=\"quote \\\" back \\\\ line \\n \xc3\xa9\\nInput [b, 3]\""),
        "%s", page);
  CHECK(strstr(page, "p0 -> c0;") && strstr(page, "x0 -> c0;"), "%s", page);
  forget_page();
}

int main(void) {
  make_directory("trace");
  RUN(page_of_a_step);
  RUN(only_what_changes);
  RUN(bounded);
  RUN(too_much);
  RUN(a_large_parameter);
  RUN(names_that_could_break_it);
  RUN(not_numbers);
  RUN(built_anew);
  RUN(another_batch);
  RUN(ends_without_a_trace);
  RUN(errors);
  RUN(out_of_memory);
  RUN(dot);
  rmdir(dir);
  return harness_report();
}
