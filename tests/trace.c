/* The trace page: its file, the numbers in it, what is left out and says so, names that could
   break it, errors, and that nothing is left behind. What the page does in a browser is in
   trace.sh.

   Built as: float double none sanitized valgrind shim */

#include "temporary.h"
#include "edf_lab.h"
#include "inside.h"
#include <float.h>
#include <stdint.h>
#include <time.h>

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
  for (const char *at = numbers ? numbers : ""; *at && strncmp(at, "</script", 8); at++)
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

static void has_few(const char *name, const char *at, const edf_real *value, size_t n) {
  for (size_t k = 0; k < n; k++) {
    char *end;
    CLOSE(strtod(at + 1, &end), value[k], 0, 1e-5);
    CHECK(*end == (k + 1 < n ? ',' : ']'), "%s: entry %zu: %.20s", name, k, end);
    at = end;
  }
}

/* A double that no float can hold is the largest float. */
static uint32_t float_bits(edf_real v) {
  float f = v > FLT_MAX && v < (edf_real)INFINITY ? FLT_MAX
          : v < -FLT_MAX && v > -(edf_real)INFINITY ? -FLT_MAX : (float)v;
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

/* Six bits at a time of the floats' bytes, little-endian, to the last letter and to the =. */
static void has_many(const char *name, const char *at, const edf_real *value, size_t n) {
  static const char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t bytes = 4 * n, letters = (8 * bytes + 5) / 6, k;
  for (k = 0; k < letters; k++) {
    unsigned bits = 0;
    for (size_t j = 6 * k; j < 6 * k + 6; j++) {
      uint32_t word = j / 32 < n ? float_bits(value[j / 32]) : 0;
      bits = bits << 1 | (word >> (j % 32 / 8 * 8 + 7 - j % 8) & 1);
    }
    if (at[1 + k] == digits[bits]) continue;
    CHECK(0, "%s: letter %zu of %zu is %c, not %c", name, k, letters, at[1 + k], digits[bits]);
    return;
  }
  const char *end = letters % 4 == 2 ? "==\"]" : letters % 4 == 3 ? "=\"]" : "\"]";
  CHECK(!strncmp(at + 1 + letters, end, strlen(end)), "%s ends with %.5s", name,
        at + 1 + letters);
}

/* The n numbers are those, written out or as floats in base64. */
static void has_numbers(const char *name, int grad, const edf_real *value, size_t n) {
  const char *at;
  told(name, grad, &at);
  CHECK(*at == (n > 64 ? '"' : '['), "%s %d: found %.20s", name, grad, at);
  if (*at == '[') has_few(name, at, value, n);
  if (*at == '"') has_many(name, at, value, n);
}

static void page_of_a_step(void) {
  static edf_real before[30 * 4];
  build(30, 4, 3);
  memcpy(before, Phi1.w->value, sizeof before);
  edf_trace_begin(file("step.html"));
  step();
  edf_trace_end();
  CHECK(!edf.watchers && !inside_traces(), "it is still recording");
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

/* ---- What is left out: a page has 1.9e6 bytes, of which a number takes 5.34 where they are
   many. The first so many entries along each index are shown. */

static int cap(void) {
  const char *at = strstr(page, "{\"cap\":");
  return at ? atoi(at + 7) : -1;
}

/* A step has each value, each parameter's once more, and a gradient with each contribution:
   of n + 327686 numbers, 355805 are the most. */
static void a_step_of(int n) {
  edf_input("v[%d]", n);
  Input *u = edf_input("u");
  Parameter *p = edf_parameter("p[81920]"), *q = edf_parameter("q");
  CompNode *Y = Square(p), *Z = Mul(q, q);
  for (int i = 0; i < 81920; i++) p->value[i] = (edf_real)i;
  edf_push(p);
  (void)u;
  (void)Z;
  edf_trace_begin(file("most.html"));
  edf_forward_to(Y);
  edf_trace_end();
  read_page();
}

static void the_most_numbers(void) {
  a_step_of(28119);
  CHECK(cap() == 81920 && !strstr(page, "Of large"), "%d entries are shown", cap());
  forget_page();
  a_step_of(28120);
  CHECK(cap() == 71679, "%d entries are shown", cap());
  CHECK(strstr(page, "\"note\":\"Of large tensors the page has the first 71679 entries along "
                     "each index. \"}\n"), "the note");
  has_numbers("p", 0, edf.parameters[0]->value, 71679);
  forget_page();
}

/* The longest index may be that of a parameter that nobody reads, or of a node alone. */
static void the_longest_index(void) {
  static const char *const all[] = { "W[50,2]", "W[2,50]", "W[7]" };
  for (int k = 0; k < 6; k++) {
    if (k % 2) edf_parameter("%s", all[k / 2]);
    Parameter *p = edf_parameter("p[3]");
    if (k % 2 == 0) edf_parameter("%s", all[k / 2]);
    Einsum("z[i] = Y[i-4] | i<9", edf_name(Square(p), "Y"));
    edf_trace_begin(file("longest.html"));
    Forward();
    edf_trace_end();
    read_page();
    CHECK(cap() == (k < 4 ? 50 : 9), "case %d: %d entries", k, cap());
    forget_page();
  }
}

/* Of a tensor of eight indices, the first node or the last: 4^8 numbers fit, 5^8 do not. */
static void the_long_one(void) {
  static edf_real part[65536];
  for (int last = 0; last < 2; last++) {
    Parameter *p = last ? edf_parameter("q") : edf_parameter("p[5,5,5,5,5,5,5,6]");
    for (size_t i = 0; i < p->size; i++) p->value[i] = (edf_real)(i % 1000 + 1);
    edf_push(p);
    CompNode *Y = last ? Einsum("Y[a,c,d,e,f,g,h,i] = q | a<5, c<5, d<5, e<5, f<5, g<5, h<5, "
                                "i<6", p) : Einsum("Y = p[0,0,0,0,0,0,0,0]", p);
    edf_name(Y, "Y");
    edf_trace_begin(file("eight.html"));
    Forward();
    edf_trace_end();
    read_page();
    CHECK(cap() == 4 && strstr(page, "has the first 4 entries along"), "%d entries", cap());
    for (size_t k = 0; k < 65536; k++) {
      size_t at = 0;
      for (int d = 0; d < 8; d++) at = at * (d < 7 ? 5 : 6) + (k >> (14 - 2 * d) & 3);
      part[k] = last ? 1 : (edf_real)(at % 1000 + 1);
    }
    has_numbers(last ? "Y" : "p", 0, part, 65536);
    forget_page();
  }
}

/* The page's length, as it is estimated before it is written: nodes and moments but for their
   numbers. */
static double length_of_texts(void) {
  double bytes = 50000;
  for (const char *at = page; (at = strchr(at, '\n')) != NULL;) {
    const char *end = strchr(++at, '\n'), *back = strstr(at, ",\"back\":[");
    const char *need = strstr(at, "\"need\":[");
    if (!strncmp(at, "{\"k\":", 5))
      bytes += 20 + (double)(back - at) + (double)(end - back - 12 - (end[-2] == ']'));
    if (!strncmp(at, "{\"w\":", 5)) bytes += 40 + (double)(strchr(need, ']') - need - 8);
  }
  return bytes;
}

/* Seven tensors: four of n numbers, two of 64, which are written out, and one of one. */
static void a_page_of(int n, int pad) {
  static char place[4000];
  edf_real one = 1;
  memset(place, 'f', (size_t)pad);
  place[pad] = 0;
  Input *u = edf_input("u");
  Parameter *p = edf_parameter("p[%d]", n), *q = edf_parameter_at(place, 1, "q[64]");
  CompNode *Y = edf_name(Square(p), "Y");
  edf_name(Einsum("Z[i] = q[i] u", q, u), "Z");
  edf_feed(u, &one, 1);
  for (int i = 0; i < n; i++) p->value[i] = (edf_real)(i + 1);
  edf_push(p);
  edf_trace_begin(file("length.html"));
  Forward();
  Backward(Y);
  edf_trace_end();
  read_page();
}

static void the_longest_page(void) {
  a_page_of(10001, 0);
  double bytes = length_of_texts() + 4 * (20 + 86401 * 5.34) + 3 * 20 + 129 * 13;
  int pad = (int)(1.9e6 - bytes);
  CHECK(pad > 0 && pad < 3999, "%d bytes are left", pad);
  forget_page();
  for (int more = 0; more < 2; more++) {
    a_page_of(86401, pad + more);
    CHECK(cap() == (more ? 75600 : 86401), "%d bytes more: %d entries", more, cap());
    forget_page();
  }
}

/* 4000 moments: a pass begins where there is room for two of each of 1950 nodes, of which p, a
   and b run: a Forward is three moments, a Backward too, a step one. */
static void full_of_moments(void) {
  for (int steps = 1; steps <= 2; steps++) {
    Parameter *p = edf_parameter("p");
    p->value[0] = 1;
    edf_push(p);
    CompNode *b = Square(edf_name(Square(p), "a"));
    for (int i = 0; i < 1947; i++) Square(p);
    edf_trace_begin(file("moments.html"));
    for (int i = 0; i < 40; i++) {
      edf_forward_to(b);
      if (i < steps) { Backward(b); SGD((edf_real)0.125); }
    }
    Backward(b);
    edf_trace_end();
    read_page();
    CHECK(count("{\"w\":") == (steps == 1 ? 103 : 101), "%d moments", count("{\"w\":"));
    CHECK(strstr(page, "\n\"note\":\"The page is full: what ran later is not in it.\"}\n"),
          "the note");
    forget_page();
  }
}

/* 2000 nodes, also where each runs as it is built; and what is full stays so. */
static void full_of_nodes(void) {
  for (int n = 1999; n <= 2001; n++) {
    Parameter *p = edf_parameter("p");
    for (int i = 0; i < n; i++) Square(p);
    edf_trace_begin(file("nodes.html"));
    edf.eager = n == 2001;
    if (n == 2001) Square(p);
    else Forward();
    edf.eager = 0;
    edf_clear_compnodes();
    Square(p);
    if (n == 2000) Forward();
    TRY(edf_trace_end());
    CHECK(panicked == (n >= 2000), "%d nodes: %s", n + 1, caught);
    CHECK(!panicked || strstr(caught, "html: the graph is too large"), "%s", caught);
    if (!panicked) read_page();
    CHECK(panicked || count("{\"w\":") == 2000, "%d moments", count("{\"w\":"));
    if (!panicked) forget_page();
    edf_clear();
  }
}

static void a_large_parameter(void) {
  Parameter *W = edf_parameter("W[600,500]");
  edf_init_normal(W, 0, 1);
  CompNode *L = Mean(Square(W));
  edf_trace_begin(file("large.html"));
  Forward();
  Backward(L);
  edf_trace_end();
  read_page();
  CHECK(page_size < 2000000, "%zu bytes", page_size);
  int cut = atoi(strstr(page, "{\"cap\":") + 7);
  CHECK(cut == 266, "%d entries along each index", cut);
  edf_real *part = (edf_real *)calloc((size_t)(cut * cut), sizeof *part);
  for (int i = 0; part && i < cut * cut; i++) part[i] = W->value[i / cut * 500 + i % cut];
  if (part) has_numbers("W", 0, part, (size_t)(cut * cut));
  free(part);
  forget_page();
}

static void names_that_could_break_it(void) {
  edf_real one = 1;
  Input *a = edf_want_grad(edf_name(edf_input("a"), "</script><b>\"\\\n&\x7f\xc3\xa9"));
  CompNode *L = edf_name(Square(a), "a\tb");
  edf_feed(a, &one, 1);
  edf_trace_begin(file("names.html"));
  Forward();
  Backward(L);
  edf_trace_end();
  read_page();
  CHECK(count("</script>") == 2, "%d scripts end", count("</script>"));
  CHECK(strstr(page, "\"\\u003c/script\\u003e\\u003cb\\u003e\\u0022\\u005c\\u000a\\u0026\\u007f"
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

/* Written out up to 64 numbers; more in groups of 3 bytes, of which one or two may be over at
   the end; in pieces of 192 numbers. */
static void numbers_of_all_lengths(void) {
  static const int length[] = { 63, 64, 65, 66, 67, 192, 193, 384 };
  for (size_t k = 0; k < sizeof length / sizeof *length; k++) {
    Parameter *p = edf_parameter("p[%d]", length[k]);
    for (int i = 0; i < length[k]; i++) p->value[i] = (edf_real)(i * 37 % 1001) / 8 - 40;
    p->value[3] = (edf_real)INFINITY;
    p->value[4] = -(edf_real)INFINITY;
    p->value[5] = (edf_real)(sizeof(edf_real) > 4 ? 1e300 : 1e38);
    p->value[6] = -p->value[5];
    p->value[7] = FLT_MAX;
    if (length[k] <= 64) p->value[3] = p->value[4] = 0;
    edf_push(p);
    edf_name(Square(p), "y");
    edf_trace_begin(file("lengths.html"));
    Forward();
    edf_trace_end();
    read_page();
    has_numbers("p", 0, p->value, p->size);
    forget_page();
  }
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
  CHECK(access(edf_fmt("%s.tmp", path), F_OK) != 0, "a file is left by the beginning");
  step();
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
  CHECK(panicked && !strcmp(caught, "edf_trace_end: there was no edf_trace_begin"), "%s",
        caught);
  edf_trace_begin(file("errors.html"));
  TRY(edf_trace_begin("other.html"));
  CHECK(panicked && !strcmp(caught, edf_fmt("edf_trace_begin: %s is being recorded: call "
                                            "edf_trace_end first", path)), "%s", caught);
  TRY(edf_trace_end());
  CHECK(panicked && !strcmp(caught, edf_fmt("edf_trace_end: nothing was recorded for %s: no "
                                            "Forward ran since edf_trace_begin", path)), "%s",
        caught);
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
  CHECK(!inside_traces() && !edf.watchers, "edf_clear leaves the trace");
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
  CHECK(access(path, F_OK) != 0, "there is a file");
}

/* A page that cannot be written in the end. */
static void no_room_in_the_end(void) {
  char temporary[160];
  Square(edf_parameter("p"));
  edf_trace_begin(file("room.html"));
  Forward();
  snprintf(temporary, sizeof temporary, "%s.tmp", path);
  mkdir(temporary, 0777);
  TRY(edf_trace_end());
  rmdir(temporary);
  CHECK(panicked && !strcmp(caught, edf_fmt("edf_trace_end: %s: cannot be written: %s.tmp: %s",
                                            path, path, strerror(EISDIR))), "%s", caught);
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
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

/* ... and what is recorded after that is whole: a page with all of it. */
static void goes_on_without_memory(void) {
  file("memory.html");
  for (long n = 1, done = 0; !done && n < 5000; n++) {
    build(3, 2, 2);
    edf_trace_begin(path);
    memory.until_failure = n;
    TRY(step());
    done = !panicked;
    memory.until_failure = 0;
    step();
    edf_trace_end();
    read_page();
    CHECK(count("{\"w\":\"F\"") >= 1 && count("{\"w\":\"b\"") >= 5, "request %ld: %d, %d", n,
          count("{\"w\":\"F\""), count("{\"w\":\"b\""));
    CHECK(count("\"k\":") == 11, "request %ld: %d nodes", n, count("\"k\":"));
    has_numbers("w1", 0, Phi1.w->value, Phi1.w->size);
    has_numbers("b2", 1, Phi2.b->grad, Phi2.b->size);
    forget_page();
  }
}

/* Each node is there once, by the name that it has in the end, and nothing without a moment;
   what runs as it is built takes its time, and has an end. */
static void eager_names(void) {
  Parameter *p = edf_parameter("p[2]");
  CompNode *a = NULL;
  edf.eager = 1;
  edf_trace_begin(file("eager.html"));
  for (int i = 0; i < 3; i++) a = edf_name(Tanh(i ? a : p), "h");
  Backward(Sum(a));
  a = edf_name(Tanh(a), "h");
  edf.eager = 0;
  edf_name(Square(a), "later");
  edf_trace_end();
  read_page();
  CHECK(count("\"k\":2") == 5, "%d computed nodes", count("\"k\":2"));
  CHECK(count("\"name\":\"h@") == 4 && count("\"name\":\"h\"") == 0, "%d are numbered",
        count("\"name\":\"h@"));
  CHECK(strstr(page, "\"line\":[\"h@2[i] = tanh(h@1[i])\"]"), "the line of the third");
  CHECK(strstr(page, "for i: h@0.grad[i] += h@1.grad[i] (1-h@1[i]^2)"), "its backward");
  CHECK(!strstr(page, "later"), "a node that did not run");
  forget_page();
}

static void eager_has_an_end(void) {
  Parameter *p = edf_parameter("p[2]");
  edf.eager = 1;
  edf_trace_begin(file("eager.html"));
  for (int i = 0; i < 30; i++) {
    for (int k = 0; k < 300; k++) Square(p);
    edf_clear_compnodes();
  }
  edf.eager = 0;
  for (int i = 0; i < 3000; i++) { p->value[0]++; edf_push(p); SGD(1); }
  edf_trace_end();
  read_page();
  CHECK(count("{\"w\":") <= 4000, "%d moments", count("{\"w\":"));
  CHECK(strstr(page, "The page is full"), "the note");
  forget_page();
}

/* The least of three: a graph of n nodes, where each has a name of its own or all have one. */
static double seconds_of_dot(int n, int one_name) {
  double least = HUGE_VAL;
  Node *u = edf_parameter("p");
  for (int i = 0; i < n; i++) u = edf_name(Tanh(u), one_name ? "u" : edf_fmt("u%d", i));
  for (int k = 0; k < 3; k++) {
    clock_t begin = clock();
    edf_write_dot(file("many.dot"));
    least = fmin(least, (double)(clock() - begin));
  }
  read_page();
  CHECK(count(one_name ? "[label=\"u@" : "[label=\"u") == n, "%d names", count("[label=\"u"));
  forget_page();
  return least / CLOCKS_PER_SEC;
}

/* Four times as many nodes take four times as long, not 16 times. */
static void dot_of_many(void) {
  for (int one_name = 0; one_name < 2; one_name++) {
    double few = seconds_of_dot(3000, one_name), many = seconds_of_dot(12000, one_name);
    CHECK(many < 9 * few, "%g seconds, then %g", few, many);
  }
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
  RUN(the_most_numbers);
  RUN(the_longest_index);
  RUN(the_long_one);
  RUN(the_longest_page);
  RUN(full_of_moments);
  RUN(full_of_nodes);
  RUN(a_large_parameter);
  RUN(names_that_could_break_it);
  RUN(not_numbers);
  RUN(numbers_of_all_lengths);
  RUN(built_anew);
  RUN(another_batch);
  RUN(ends_without_a_trace);
  RUN(errors);
  RUN(no_room_in_the_end);
  RUN(out_of_memory);
  RUN(goes_on_without_memory);
  RUN(eager_names);
  RUN(eager_has_an_end);
  RUN(dot);
  RUN(dot_of_many);
  rmdir(dir);
  return harness_report();
}
