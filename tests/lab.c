/* lab.c - the trace page, the picture of a graph, and curves: the numbers in the files are the
   program's, odd names break nothing, and mistakes are refused. The page in a browser is the
   business of another test. */

#include "harness.h"
#include "edf.h"
#include "edf_lab.h"
#include <float.h>
#include <stdint.h>

static char text[2000001];                       /* the file that was read last */
static size_t n_text;

static void read_text(void) {
  FILE *f = fopen(path, "rb");
  n_text = f ? fread(text, 1, sizeof text - 1, f) : 0;
  text[n_text] = '\0';
  CHECK(f, "%s is not there", path);
  if (f) fclose(f);
  remove(path);
}

static int count(const char *what) {
  int n = 0;
  for (const char *at = text; (at = strstr(at, what)) != NULL; at++) n++;
  return n;
}

static void nothing_is_left(void) {
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
  CHECK(access(path, F_OK) && access(edf_fmt("%s.tmp", path), F_OK), "a file is left");
  memory.live = 0;
}

/* ---- The trace page */

static void begin_trace(void) { edf_trace_begin(file("trace.html")); }

static void end_trace(void) {
  edf_trace_end();
  read_text();
  const char *values = strstr(text, "\"nodes\":[");          /* no value may be left out */
  for (const char *at = values ? values : ""; *at && strncmp(at, "</script", 8); at++)
    if ((*at == '[' || *at == ',') && at[1] == ',') {
      CHECK(0, "a value is missing: %.60s", at);
      break;
    }
}

static edf_real images[64 * 784], labels[64];
static Input *x, *y;
static AffineParams Phi1, Phi2;
static CompNode *s, *h, *loss;

static void build(int n_in, int hidden, int batch) {
  for (int i = 0; i < batch * n_in; i++) images[i] = edf_normal(0, 1);
  for (int b = 0; b < batch; b++) labels[b] = (edf_real)(b % 10);
  x = edf_input("x[b,%d]", n_in);
  y = edf_input("y[b]");
  Phi1 = edf_affine_params(n_in, hidden);
  Phi2 = edf_affine_params(hidden, 10);
  s = edf_name(Affine(Phi1, x), "s");
  h = edf_name(Sigmoid(s), "h");
  loss = edf_name(LogLoss(Softmax(Affine(Phi2, h)), y), "loss");
  edf_feed(x, images, batch);
  edf_feed(y, labels, batch);
}

static void step(void) {
  Forward();
  Backward(loss);
  SGD((edf_real)0.5);
}

/* The page numbers the nodes, which stand one on a line. */
static int number_of(const char *name) {
  const char *nodes = strstr(text, "\"nodes\":[\n");
  const char *at = strstr(text, edf_fmt("\"name\":\"%s\"", name));
  int n = -1;
  for (const char *c = nodes; c && at && c < at; c++) n += *c == '\n';
  return n;
}

/* Returns how often the page has a value or gradient of the node, and the last of them. */
static int told(const char *name, int grad, const char **last) {
  char key[64];
  int n = 0;
  snprintf(key, sizeof key, "[%d,%d,", number_of(name), grad);
  *last = "";
  for (const char *at = strstr(text, "\"moments\":["); at; at = strstr(at + 1, key)) {
    const char *numbers = at + strlen(key);
    if (strncmp(at, key, strlen(key)) || (*numbers != '[' && *numbers != '"')) continue;
    *last = numbers;
    n++;
  }
  return n;
}

/* A double that no float can hold becomes the largest float. */
static uint32_t float_bits(edf_real v) {
  float f = v > FLT_MAX && v < (edf_real)INFINITY ? FLT_MAX
          : v < -FLT_MAX && v > -(edf_real)INFINITY ? -FLT_MAX : (float)v;
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

/* Many numbers are floats, little-endian, in base64: six bits at a time. */
static void has_base64(const char *name, const char *at, const edf_real *value, size_t n) {
  static const char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t letters = (32 * n + 5) / 6;
  for (size_t k = 0; k < letters; k++) {
    unsigned bits = 0;
    for (size_t j = 6 * k; j < 6 * k + 6; j++) {
      uint32_t number = j / 32 < n ? float_bits(value[j / 32]) : 0;
      bits = bits << 1 | (number >> (j % 32 / 8 * 8 + 7 - j % 8) & 1);
    }
    if (at[1 + k] == digits[bits]) continue;
    CHECK(0, "%s: letter %zu of %zu is %c, not %c", name, k, letters, at[1 + k], digits[bits]);
    return;
  }
  const char *end = letters % 4 == 2 ? "==\"]" : letters % 4 == 3 ? "=\"]" : "\"]";
  CHECK(!strncmp(at + 1 + letters, end, strlen(end)), "%s ends with %.5s", name,
        at + 1 + letters);
}

/* The last numbers of the node in the page are these. Up to 64 are written out. */
static void has_numbers(const char *name, int grad, const edf_real *value, size_t n) {
  const char *at;
  told(name, grad, &at);
  if (n > 64 && *at == '"') has_base64(name, at, value, n);
  else CHECK(n <= 64 && *at == '[', "%s %d: found %.20s", name, grad, at);
  for (size_t k = 0; n <= 64 && *at && k < n; k++) {
    char *end;
    CLOSE(strtod(at + 1, &end), value[k], 0, 1e-5);
    CHECK(*end == (k + 1 < n ? ',' : ']'), "%s: entry %zu: %.20s", name, k, end);
    at = end;
  }
}

static void a_page_has_all_of_a_step(void) {
  static edf_real before[30 * 4];
  build(30, 4, 3);
  memcpy(before, Phi1.w->value, sizeof before);
  begin_trace();
  step();
  end_trace();
  CHECK(!strncmp(text, "<!doctype html>", 15), "it begins with %.20s", text);
  CHECK(strstr(text, "default-src 'none'") && !strstr(text, "http:") && !strstr(text, "https:"),
        "it may reach for the network");
  WORDS(text, "\"line\":[\"s[b,j] = w1[I,j] x[b,I] - b1[j]\"]|"
        "\"back\":[\"for b,i,j: w1.grad[i,j] += s.grad[b,j] x[b,i]\","
        "\"for b,j: b1.grad[j] -= s.grad[b,j]\"]");
  CHECK(count("\"k\":2") == 5, "%d computed nodes", count("\"k\":2"));
  has_numbers("x", 0, x->value, x->size);
  has_numbers("s", 0, s->value, s->size);
  has_numbers("s", 1, s->grad, s->size);
  has_numbers("loss", 0, loss->value, loss->size);
  has_numbers("w1", 1, Phi1.w->grad, Phi1.w->size);
  has_numbers("b2", 1, Phi2.b->grad, Phi2.b->size);
  has_numbers("w1", 0, Phi1.w->value, Phi1.w->size);         /* after the step */
  CHECK(memcmp(before, Phi1.w->value, sizeof before), "the step moved nothing");
  nothing_is_left();
}

/* A gradient is there as it is at the end. What does not change is there once. */
static void a_page_repeats_only_what_changes(void) {
  const char *last;
  build(5, 4, 3);
  CompNode *sum = Add(Mean(Square(h)), Mean(loss));
  begin_trace();
  Forward();
  Backward(sum);
  end_trace();
  int n = told("h", 1, &last);
  CHECK(n == 1, "h.grad is there %d times", n);
  CHECK((n = told("s", 0, &last)) == 1, "s is there %d times", n);
  CHECK((n = told("w1", 0, &last)) == 1, "w1 is there %d times", n);
  has_numbers("h", 1, h->grad, h->size);
  nothing_is_left();
}

static void a_page_of_a_large_network_is_bounded(void) {
  build(784, 64, 64);
  begin_trace();
  step();
  end_trace();
  CHECK(n_text > 1000000 && n_text < 2000000, "%zu bytes", n_text);
  has_numbers("w1", 1, Phi1.w->grad, Phi1.w->size);
  nothing_is_left();
}

/* Of a large tensor the page has the first entries along each index, and says so. */
static void a_page_shows_a_part_of_large_tensors(void) {
  static edf_real part[600 * 500];
  Parameter *W = edf_parameter("W[600,500]");
  edf_init_normal(W, 0, 1);
  CompNode *L = Mean(Square(W));
  begin_trace();
  Forward();
  Backward(L);
  end_trace();
  const char *cap = strstr(text, "{\"cap\":");
  size_t shown = cap ? (size_t)atoi(cap + 7) : 0;
  CHECK(n_text < 2000000, "%zu bytes", n_text);
  CHECK(shown > 200 && shown < 500, "%zu entries along each index", shown);
  WORDS(text, edf_fmt("first %zu entries along each index", shown));
  for (size_t i = 0; i < shown * shown; i++) part[i] = W->value[i / shown * 500 + i % shown];
  has_numbers("W", 0, part, shown * shown);
  nothing_is_left();
}

/* Base64 goes in groups of three bytes, and one or two may be over at the end. */
static void a_page_has_tensors_of_all_lengths(void) {
  static const int length[] = { 63, 64, 65, 66, 67, 192, 193, 384 };
  for (size_t k = 0; k < sizeof length / sizeof *length; k++) {
    Parameter *p = edf_parameter("p[%d]", length[k]);
    for (int i = 0; i < length[k]; i++) p->value[i] = (edf_real)(i * 37 % 1001) / 8 - 40;
    p->value[3] = (edf_real)(length[k] > 64 ? INFINITY : 0);
    p->value[4] = -p->value[3];
    p->value[5] = (edf_real)(EDF_REAL_IS_DOUBLE ? 1e300 : 1e38);
    p->value[6] = -p->value[5];
    p->value[7] = FLT_MAX;
    Square(p);
    begin_trace();
    Forward();
    end_trace();
    has_numbers("p", 0, p->value, p->size);
    nothing_is_left();
  }
}

static void a_page_has_what_is_no_number(void) {
  static const edf_real numbers[] = { (edf_real)NAN, (edf_real)INFINITY, -(edf_real)INFINITY,
                                      (edf_real)0.5 };
  Input *a = edf_input("a[4]");
  Sum(a);
  edf_feed(a, numbers, 1);
  begin_trace();
  Forward();
  end_trace();
  WORDS(text, "[0,0,[\"NaN\",\"Infinity\",\"-Infinity\",0.5]]");
  nothing_is_left();
}

static void names_do_not_break_a_page(void) {
  edf_real one = 1;
  Input *a = edf_want_grad(edf_name(edf_input("a"), "</script><b>\"\\\n&\x7f\xc3\xa9"));
  CompNode *L = edf_name(Square(a), "a\tb");
  edf_feed(a, &one, 1);
  begin_trace();
  Forward();
  Backward(L);
  end_trace();
  CHECK(count("</script>") == 2, "%d scripts end", count("</script>"));
  WORDS(text, "\"\\u003c/script\\u003e\\u003cb\\u003e"
        "\\u0022\\u005c\\u000a\\u0026\\u007f\xc3\xa9\"|"
        "\"a\\u0009b\"");
  nothing_is_left();
}

static void a_page_that_cannot_be_written_is_refused(void) {
  STOPS(edf_trace_begin(NULL), "path|NULL");
  STOPS(edf_trace_begin("no/such/place/x.html"), "no/such/place/x.html|No such file");
  STOPS(begin_trace(); edf_trace_end(), "trace.html|nothing");
  build(5, 4, 1);
  edf_real wrong = 99;
  begin_trace();
  Forward();
  edf_feed(y, &wrong, 1);
  STOPS(Forward(), "99");
  CHECK(access(path, F_OK), "there is a file");
}

static void trace_a_step(void) {
  build(3, 2, 2);
  begin_trace();
  step();
  edf_trace_end();
}

/* Whichever request for memory fails, no block and no file stays open. */
static void no_memory_leaves_nothing(void) {
  int fd = lowest_free_fd(), done = 0;
  for (long n = 1; !done && n < 5000; n++) {
    memory.until_failure = n;
    TRY(trace_a_step());
    done = !panicked;
    memory.until_failure = 0;
    edf_clear();
    CHECK(memory.live == 0, "request %ld: %ld blocks are left", n, memory.live);
    CHECK(lowest_free_fd() == fd, "request %ld: a file is open", n);
  }
  CHECK(done, "it never ended");
  remove(path);
  nothing_is_left();
}

/* ---- The picture of a graph */

static void dot_has_nodes_and_edges(void) {
  Input *a = edf_name(edf_input("a[b,3]"), "quote \" back \\ line \n \xc3\xa9");
  Parameter *W = edf_parameter("W[3]");
  CompNode *u = edf_name(Einsum("u[b] = W[J] a[b,J]", W, a), "u");
  edf_name(Tanh(u), "u");
  edf_write_dot(file("graph.dot"));
  read_text();
  WORDS(text, "digraph|x0 [label=\"quote \\\" back \\\\ line \\n \xc3\xa9\\nInput [b, 3]\"|"
        "p0 -> c0;|x0 -> c0;|c0 -> c1;|u@");
  nothing_is_left();
  STOPS(edf_write_dot(NULL), "edf_write_dot|path|NULL");
  STOPS(edf_write_dot("no/such/place"), "edf_write_dot|no/such/place");
}

/* ---- Curves */

static void add(const char *name, double value) { edf_log(name, value); }

/* Draws all curves. The tags of the file close, and no coordinate is a NaN. */
static void draw(void) {
  edf_plot_svg(file("curves.svg"));
  read_text();
  CHECK(!strncmp(text, "<svg xmlns=", 11) && strstr(text, "</svg>\n"), "%.40s", text);
  CHECK(count("<g ") == count("</g>"), "a <g> is not closed: %s", text);
  CHECK(count("<text") == count("</text>"), "a text is not closed: %s", text);
  int inside = 0;
  for (const char *c = text; *c; c++) {
    inside = *c == '<' ? 1 : *c == '>' ? 0 : inside;
    if (!inside || (strncmp(c, "nan", 3) && strncmp(c, "inf", 3))) continue;
    CHECK(0, "no coordinate: %.60s", c);
    return;
  }
}

/* What stands before the slash is the chart. The third series has a value every ten steps. */
static void series_of_a_chart_share_it(void) {
  for (int i = 1; i <= 30; i++) {
    add("loss/train", 3.0 / i);
    if (i % 10 == 0) add("loss/test", 4.0 / i);
    if (i % 10 == 0) add("error", 100.0 / i);
  }
  draw();
  CHECK(count("class=\"title\"") == 2, "%d charts", count("class=\"title\""));
  WORDS(text, ">loss</text>|>error</text>|>train  0.1</text>|>test  0.1333</text>");
  CHECK(count("<circle") == 30 + 3 + 3, "%d points", count("<circle"));
  CHECK(count("<title>30: ") == 2 && count("<title>20: ") == 2, "a test loss lies elsewhere");
  CHECK(strstr(text, "cx=\"680.0\""), "the last point is not at the right end");
  nothing_is_left();
}

static void what_is_no_number_is_a_gap(void) {
  static const double value[] = { 1, HUGE_VAL, 10, 0, 100, 1000, (double)NAN };
  int begun = 0, lines = 0;
  for (int i = 0; i < 7; i++) add("a<&b/c", value[i]);
  draw();
  WORDS(text, ">a&lt;&amp;b</text>|(2 values not shown)");
  CHECK(count("<circle") == 5, "%d points", count("<circle"));
  const char *at = strstr(text, "<path d=\"M");
  for (; at && *at && *at != '>'; at++) {
    begun += *at == 'M';
    lines += *at == 'L';
  }
  CHECK(begun == 2 && lines == 3, "%d pieces, %d lines: %s", begun, lines, text);
  nothing_is_left();
}

static void names_do_not_break_a_curve(void) {
  add("<&>\"'/tab\tand\x01 \xc3\xa9\xc3 \xff \xed\xa0\x80 \xf0\x90\x80\x80", 2);
  draw();
  WORDS(text, ">&lt;&amp;&gt;\"'</text>|tab and  \xc3\xa9? ? ??? \xf0\x90\x80\x80  2</text>");
  nothing_is_left();
}

/* The marks of an axis are 1, 2 or 5 times a power of ten, also for constants. */
static void axes_have_round_marks(void) {
  static const struct { double from, to; const char *marks; } table[] = {
    { 4, 10, ">0<|>5<|>10<" }, { -2, 2, ">-2<|>-1<|>0<" }, { 1000000, 1000002, ">" },
    { 0, 96, ">0<|>20<|>80<" }, { 25, 25, ">" }, { 0, 0, ">0<" }, { 0, 0.0095, ">0.002<" },
    { 0.1 + 0.2, 0.3, ">" }, { 1e17, 1e17, ">" }, { 1e308, -1e308, ">" }, { 5e-324, 0, ">" }
  };
  for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
    add("x", table[k].from);
    add("x", table[k].to);
    draw();
    WORDS(text, table[k].marks);
    CHECK(n_text < 5000, "%g to %g: %zu bytes", table[k].from, table[k].to, n_text);
    nothing_is_left();
  }
}

/* Where a value lies on the page, of values from 0 to 10. */
static double on_page(double value) { return 44 + 200 * (10 + 0.04 * 10 - value) / 10.4; }

/* Points are drawn for at most 40 values, single values for at most 600. */
static void long_series_are_means_in_a_band(void) {
  static const struct { int n, each; } table[] = {
    { 40, 1 }, { 41, 1 }, { 600, 1 }, { 1200, 2 }, { 1800, 3 }
  };
  for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
    int n = table[k].n, each = table[k].each;
    double sum = 0;
    for (int i = 0; i < n; i++) {
      add("x", i < 2 ? 10 * i : i % 7);
      if (i < each) sum += i < 2 ? 10 * i : i % 7;
    }
    draw();
    CHECK(count("<circle") == (n <= 40 ? n : 0), "%d values: %d points", n, count("<circle"));
    CHECK((strstr(text, "fill-opacity") != NULL) == (each > 1), "%d values: the band", n);
    WORDS(text, edf_fmt("<path d=\"M%.1f %.1fL", 70 + 610 * (each - 1) / 2.0 / (n - 1),
                        on_page(sum / each)));
    const char *at = strstr(text, "<path d=\"M");
    int lines = 0;
    for (; at && *at && *at != '>'; at++) lines += *at == 'L';
    CHECK(lines == n / each - 1, "%d values: %d lines", n, lines);
    nothing_is_left();
  }
}

static void curves_without_values_are_drawn(void) {
  add("x", (double)NAN);
  draw();
  nothing_is_left();
  draw();                                        /* tells on stderr that there is none */
  WORDS(text, "nothing");
  nothing_is_left();
}

static void wrong_curves_are_refused(void) {
  STOPS(add(NULL, 1), "name");
  STOPS(add("", 1), "name");
  STOPS(add("x", 1); edf_plot_svg(file("no/such/file.svg")), "no/such/file.svg|cannot");
  STOPS(add("x", 1); edf_plot_svg(NULL), "path|NULL");
}

int main(void) {
  make_directory("lab");
  RUN(a_page_has_all_of_a_step);
  RUN(a_page_repeats_only_what_changes);
  RUN(a_page_of_a_large_network_is_bounded);
  RUN(a_page_shows_a_part_of_large_tensors);
  RUN(a_page_has_tensors_of_all_lengths);
  RUN(a_page_has_what_is_no_number);
  RUN(names_do_not_break_a_page);
  RUN(a_page_that_cannot_be_written_is_refused);
  RUN(no_memory_leaves_nothing);
  RUN(dot_has_nodes_and_edges);
  RUN(series_of_a_chart_share_it);
  RUN(what_is_no_number_is_a_gap);
  RUN(names_do_not_break_a_curve);
  RUN(axes_have_round_marks);
  RUN(long_series_are_means_in_a_band);
  RUN(curves_without_values_are_drawn);
  RUN(wrong_curves_are_refused);
  remove_directory();
  return harness_report();
}
