/* What is drawn and recorded, whole: curves as SVG, the data of trace pages, a graph in
   Graphviz's language, as in tests/golden. To write them anew, and then look at what has
   changed:

     cc -I. tests/pages.c tests/impl.c -o build/pages -lm && build/pages --write

   Their numbers are such that no rounding shows.

   Built as: float double none sanitized shim */
#include "temporary.h"
#include "edf_lab.h"
#include "golden.h"

static char found[1 << 16];

/* found[] is what golden/NAME has. */
static void as_golden(const char *name) {
  golden(name, found);
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left", memory.live);
}

static void read_found(void) {
  snprintf(found, sizeof found, "%s", golden_read(path));
  remove(path);
}

/* ---- Curves */

static void golden_curves(const char *name) {
  long before = memory.live;
  edf_plot_svg(file("curves.svg"));
  CHECK(memory.live == before, "%ld blocks more", memory.live - before);
  read_found();
  as_golden(name);
}

static void log_all(const char *name, int n, const double *y) {
  for (int i = 0; i < n; i++) edf_log(name, y[i]);
}

/* Where an axis begins and ends: with 0 where that is near, with a margin, of a constant, of
   none that can be shown. Its marks are 1, 2 or 5 times a power of ten. */
static void axes(void) {
  static const double all[][2] = {
    { 4, 10 }, { 5, 10 }, { 10, 4.75 }, { -8, -2 }, { -2, 2 }, { -0.125, 10 }, { -3, 0 },
    { 0, 0 }, { -7, -7 }, { 25, 25 }, { 50, 50 }, { 125, 125 }, { 137.5, 137.5 },
    { 1000000, 1000001.0000005 }, { 1000000, 1000002 }, { 0, 4.75 }, { 0, 0.0095 },
    { 0, 96 }, { 0, 97 }, { 1e300, -16 },
    { 9e299, -1e300 }
  };
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    log_all(edf_fmt("chart %d", (int)k), 2, all[k]);
  edf_log("none", -HUGE_VAL);
  edf_log("one", 3);
  golden_curves("axes.svg");
}

/* Decades alone are marked where there are two; where there is less, numbers between them. */
static void logarithmic_axes(void) {
  static const double all[][2] = {
    { 1, 100 }, { 0.01, 0.1 }, { 20, 80 }, { 1e-7, 1 }, { 1, 1 }, { 1e8, 1e-8 }, { 0, 5 },
    { -2, -1 }, { 100, 1000 }, { 1e5, 1e5 }, { 5e-9, 6e-9 }
  };
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    log_all(edf_fmt("chart %d", (int)k), 2, all[k]);
    edf_log_scale(edf_fmt("chart %d", (int)k));
  }
  golden_curves("logarithmic.svg");
}

/* Series of a chart, each begins where the longest of them is; its colour, its line and its
   points, with gaps; its name and its last value. */
static void series(void) {
  static const double y[] = { 1, 2, HUGE_VAL, 4, 5, 6, 5, 4 };
  log_all("loss/train", 5, y + 3);
  log_all("lost/train", 3, y);
  log_all("loss/test", 1, y);
  log_all("loss", 2, y);
  log_all("loss/train", 2, y + 1);
  edf_log_scale("lost/anything");
  log_all("lost/later", 2, y + 6);
  log_all("loss/", 1, y + 4);
  for (int k = 0; k < 7; k++) edf_log(edf_fmt("many/%d", k), k);
  log_all("gaps", 7, y);
  edf_log("gaps", (double)NAN);
  edf_log("gaps", -1.5);
  golden_curves("series.svg");
}

/* What XML keeps for itself, what is no character, what is beyond ASCII: of two to four bytes,
   at the ends of what is allowed, and cut off; surrogates, U+FFFE and U+FFFF are none in XML. A
   chart's name ends at the slash. */
static void names(void) {
  static const char *const all[] = {
    "<&>\"'", "tab\tand\x01\x1f !~\x7f", "\xc2\x80\xdf\xbf", "\xe0\xa0\x80\xef\xbf\xbd",
    "\xf0\x90\x80\x80\xf4\x8f\xbf\xbd", "\xc1\x80\xf5\x80\x80\x80\xff", "\xc2\x7f\xc3\xc0",
    "\xe2\x82", "\xe2\x82\x41", "\xa9", "a/b/c", "\x80\xbf",
    "\xed\x9f\xbf\xee\x80\x80 \xed\xa0\x80 \xed\xbf\xbf", "\xef\xbf\xbe \xef\xbf\xbf",
    "\xe0\x9f\xbf \xf0\x8f\xbf\xbf \xf4\x90\x80\x80"
  };
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    edf_log(edf_fmt("\xc3/%s", all[k]), 0);
  golden_curves("names.svg");
}

/* ---- Trace pages: the data, a node a line, a moment a line, a tensor a line */

static void end_trace(void) {
  edf_trace_end();
  const char *page = golden_read(path), *begin = strstr(page, "{\"cap\":");
  const char *end = begin ? strstr(begin, "</script>") : NULL;
  size_t n = begin && end ? (size_t)(end - begin) : 0;
  size_t k = 0;
  for (size_t i = 0; i < n; i++) {               /* -0 is 0: a kernel may leave either        */
    int negative = begin[i] == '-' && begin[i + 1] == '0' && strchr(",]", begin[i + 2]);
    if (!negative) found[k++] = begin[i];
  }
  found[k] = 0;
  remove(path);
}

static edf_real six[6] = { 1, -1, 0, 0, 1, 2 };

static Parameter *set(Parameter *p, edf_real first, edf_real step) {
  for (size_t i = 0; i < p->size; i++) p->value[i] = first + step * (edf_real)i;
  edf_push(p);
  return p;
}

/* Two steps: constants and factors in equations, a window, formulas of a node, one that nobody
   reads, numbers that stay as they were. */
static void a_step(void) {
#line 1 "notes/step.c"
  Input *x = edf_input("x[b,3]"), *never = edf_input("never[2]");
  Parameter *W = set(edf_parameter("W[2,3]"), 1, -1), *c = set(edf_parameter("c[2]"), 2, -4);
  Parameter *g = set(edf_parameter("g"), 3, 0), *f = set(edf_parameter("f[3]"), 1, 1);
  CompNode *u = Einsum("u[b,i] = 2 W[i,J] x[b,J] - 0.5 c[i] + g x[b,0]", W, x, c, g);
  CompNode *h = edf_name(Relu(u), "h");
  CompNode *v = edf_name(Einsum("v[b,t] = f[D] x[b,2t+D-1] | t<2", f, x), "v");
  CompNode *L = edf_name(Einsum("L = 0.25 h[B,1] v[B,I]", h, v), "L");
  edf_name(u, "u");
  edf_name(Square(u), "unread");
  edf_parameter("unused[2]");
  (void)never;
  edf_feed(x, six, 2);
  edf_trace_begin(file("trace.html"));
  for (int i = 0; i < 2; i++) {
    edf_forward_to(L);
    Backward(L);
    SGD(1);
  }
  end_trace();
  as_golden("trace_step.txt");
}

/* Each node runs as it is built; the graph is built anew for the second step, with another node
   in it. */
static void eager(void) {
  edf_real three[] = { 1, 2, 1 };
#line 1 "eager.c"
  Input *x = edf_input("x[3]");
  Parameter *W = set(edf_parameter("W[3]"), 2, 1), *V = set(edf_parameter("V"), 4, 0);
  Parameter *U = set(edf_parameter("U"), 0.5, 0);
  edf_feed(x, three, 1);
  edf.eager = 1;
  edf_trace_begin(file("trace.html"));
  for (int i = 0; i < 2; i++) {
    CompNode *y = Einsum("y = W[J] x[J]", W, x);
    CompNode *L = Einsum("L = V y U", V, y, U);
    Backward(i ? Einsum("K = L + y", L, y) : L);
    SGD((edf_real)0.5);
    edf_clear_compnodes();
  }
  end_trace();
  edf.eager = 0;
  as_golden("trace_eager.txt");
}

/* Begun between Forward and Backward, with gradients that are kept and a parameter that stays
   as it is; of two losses, one after the other, and one twice; a step that moves nothing, and a
   parameter that is moved by hand. */
static void begun_late(void) {
#line 1 "late.c"
  Parameter *p = set(edf_parameter("p[2]"), 1, 2), *q = set(edf_parameter("q"), 5, 0);
  Input *x = edf_want_grad(edf_input("x[2]"));
  Parameter *r = set(edf_parameter("r"), 2, 0);
  CompNode *a = edf_name(Einsum("a[i] = p[i] x[i]", p, x), "a");
  CompNode *L = edf_name(Einsum("L = a[I] r", a, r), "L");
  CompNode *M = edf_name(Einsum("M = q L a[1]", q, L, a), "M");
  q->update = edf_frozen;
  edf_feed(x, six + 4, 1);
  edf.accumulate = 1;
  Forward();
  Backward(L);
  edf_trace_begin(file("trace.html"));
  Backward(M);
  SGD(0);
  edf.accumulate = 0;
  edf_forward_to(L);
  Backward(L);
  Backward(L);
  SGD((edf_real)0.5);
  edf_forward_to(L);
  r->value[0] = p->value[1] = 4;
  edf_push(r);
  edf_push(p);
  edf_forward_to(L);
  end_trace();
  as_golden("trace_late.txt");
}

/* Begun before a step whose gradients it does not know; there are no inputs, and no tensor is
   longer than one. */
static void only_a_step(void) {
#line 1 "scalar.c"
  Parameter *p = set(edf_parameter("p"), 3, 0);
  CompNode *L = edf_name(Einsum("L = p p", p), "L");
  Forward();
  Backward(L);
  edf_trace_begin(file("trace.html"));
  Forward();
  SGD((edf_real)0.25);
  Forward();
  end_trace();
  as_golden("trace_scalar.txt");
}

/* Other numbers, and fewer rows: these are other nodes. Then as many as before. */
static void fed_anew(void) {
#line 1 "fed.c"
  Input *x = edf_input("x[b,2]"), *y = edf_input("y[b]");
  edf_name(Einsum("u[b] = 0.5 x[b,I] + y[b]", x, y), "u");
  edf_name(Einsum("v[b] = x[b,1]", x), "v");
  edf_feed(x, six, 2);
  edf_feed(y, six, 2);
  edf_trace_begin(file("trace.html"));
  Forward();
  edf_feed(x, six + 2, 2);
  Forward();
  edf_feed(x, six + 4, 1);
  edf_feed(y, six + 1, 1);
  edf_step_forward();
  edf_step_forward();
  edf_feed(x, six, 2);
  edf_feed(y, six + 2, 2);
  Forward();
  end_trace();
  as_golden("trace_fed.txt");
}

/* ---- A graph as a picture */

static void a_picture(void) {
  Input *x = edf_name(edf_input("x[b,3]"), "a \"b\" \\ c\n\xc3\xa9");
  Parameter *W = edf_parameter("W[2,3]"), *c = edf_parameter("c");
  CompNode *u = edf_name(Einsum("u[b,i] = W[i,J] x[b,J] + c", W, x, c), "u");
  edf_name(Mul(u, u), "v");
  edf_write_dot(file("graph.dot"));
  TRY(edf_trace_end());                        /* nothing of the picture is in a message */
  CHECK(!strcmp(caught, "edf_trace_end: there was no edf_trace_begin"), "%s", caught);
  read_found();
  as_golden("graph.dot");
  edf_write_dot(file("empty.dot"));
  TRY(edf_trace_end());
  CHECK(!strcmp(caught, "edf_trace_end: there was no edf_trace_begin"), "%s", caught);
  read_found();
  as_golden("empty.dot");
}

int main(int argc, char **argv) {
  golden_arguments(argc, argv);
  make_directory("pages");
  RUN(axes);
  RUN(logarithmic_axes);
  RUN(series);
  RUN(names);
  RUN(a_step);
  RUN(eager);
  RUN(begun_late);
  RUN(only_a_step);
  RUN(fed_anew);
  RUN(a_picture);
  rmdir(dir);
  return harness_report();
}
