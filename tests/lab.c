/* lab.c - the trace, the picture of a graph, and curves: the numbers in the files are those of
   the program, odd names break nothing, and mistakes are errors. Another test opens the trace
   in a browser. */

#include "harness.h"
#include "edf/slide.h"
#include "edf/layers.h"
#include "edf/data.h"
#include "edf/onnx.h"
#include "edf/lab.h"

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

/* ---- The trace */

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

static void trace(void) {
  Forward();
  if (edf.n_parameters) Backward(loss);
  edf_write_trace(file("trace.json"));
  read_text();
  CHECK(n_text < 2000000, "%zu bytes", n_text);
}

/* Checks n numbers of a node: its value or its gradient. */
static void has_numbers(const char *name, const char *array, const edf_real *v, size_t n) {
  const char *node = strstr(text, edf_fmt("\"name\":\"%s\"", name));
  const char *end = node ? strstr(node, "\"row\":") : NULL;
  const char *at = node ? strstr(node, edf_fmt("\"%s\":[", array)) : NULL;
  CHECK(at && (!end || at < end), "%s has no %s", name, array);
  if (!at) return;
  at += strlen(array) + 3;
  for (size_t k = 0; k < n; k++) {
    char *next;
    CLOSE(strtod(at + 1, &next), v[k], 0, 1e-5);
    CHECK(*next == (k + 1 < n ? ',' : ']'), "%s: entry %zu: %.20s", name, k, next);
    at = next;
  }
}

TEST(a_trace_has_all_of_a_step) {
  build(30, 4, 3);
  trace();
  CHECK(!strncmp(text, "{\"most\":", 8), "it begins with %.20s", text);
  WORDS(text, "\"line\":[\"s[b,j] = w1[I,j] x[b,I] - b1[j]\"]|"
        "\"back\":[\"for b,i,j: w1.grad[i,j] += s.grad[b,j] x[b,i]\","
        "\"for b,j: b1.grad[j] -= s.grad[b,j]\"]");
  CHECK(count("\"kind\":2") == 5, "%d computed nodes", count("\"kind\":2"));
  has_numbers("x", "value", x->value, x->size);
  has_numbers("w1", "value", Phi1.w->value, Phi1.w->size);
  has_numbers("w1", "grad", Phi1.w->grad, Phi1.w->size);
  has_numbers("b2", "grad", Phi2.b->grad, Phi2.b->size);
  has_numbers("s", "value", s->value, s->size);
  has_numbers("s", "grad", s->grad, s->size);
  has_numbers("loss", "value", loss->value, loss->size);
}

/* trace() checks that the file of the network of example 03 is small. */
TEST(a_trace_of_mnist_is_whole) {
  build(784, 64, 64);
  trace();
  has_numbers("b1", "grad", Phi1.b->grad, Phi1.b->size);
}

TEST(a_trace_has_nan_and_infinity) {
  static const edf_real numbers[] = { (edf_real)NAN, (edf_real)INFINITY, -(edf_real)INFINITY,
                                      (edf_real)0.5 };
  Input *a = edf_input("a[4]");
  Sum(a);
  edf_feed(a, numbers, 1);
  trace();
  WORDS(text, "\"value\":[\"NaN\",\"Infinity\",\"-Infinity\",0.5]");
}

/* A node beside the loss has no backward lines, since its backward does not run. */
TEST(a_trace_has_the_backward_that_runs) {
  build(3, 2, 2);
  edf_name(Square(h), "beside");
  trace();
  Forward();
  edf_write_trace(file("trace.json"));
  read_text();
  CHECK(count("\"back\":") == 5, "%d nodes run backward", count("\"back\":"));
  CHECK(!strstr(text, "beside.grad"), "%s", text);
}

/* A node has the line of its slide, and a later step of a recurrence only its step. */
TEST(a_trace_has_the_lines_of_a_slide) {
  loss = Equations("input v[b,5] \n"
                   "u[b,t] = tanh(u[b,t-1]  +  v[b,t]) \n"
                   "loss[b] = sum_t u[b,t]^2");
  edf_feed(edf_find("v"), images, 3);
  trace();
  WORDS(text, "\"heading\":\"u[b,t] = tanh(u[b,t-1] + v[b,t])   [t=0]\"|\"heading\":\"[t=1]\"|"
        "\"heading\":\"[t=2]\",\"folded\":\"t=2\"|\"folded\":\"t=4\"|"
        "\"heading\":\"loss[b] = sum_t u[b,t]^2\"");
  CHECK(count("\"folded\":\"t=3\"") == 2 && count("\"folded\":\"t=1\"") == 0, "%s", text);
}

/* ---- The picture of a graph */

TEST(dot_has_nodes_and_edges) {
  Input *a = edf_name(edf_input("a[b,3]"), "quote \" back \\ line \n \xc3\xa9");
  Parameter *W = edf_parameter("W[3]");
  CompNode *u = edf_name(Einsum("u[b] = W[J] a[b,J]", W, a), "u");
  edf_name(Tanh(u), "u");
  edf_write_dot(file("graph.dot"));
  read_text();
  WORDS(text, "digraph|x0 [label=\"quote \\\" back \\\\ line \\n \xc3\xa9\\n"
        "Input [b, 3]\"|p0 -> c0;|x0 -> c0;|c0 -> c1;|u@");
  STOPS(edf_write_dot(NULL), "edf_write_dot|path|NULL");
  STOPS(edf_write_dot("no/such/place"), "edf_write_dot|no/such/place");
}

/* ---- Curves */

static void add(const char *name, double value) { edf_plot(name, value); }

/* Draws all curves. */
static void draw(void) {
  edf_plot_svg(file("curves.svg"));
  read_text();
  CHECK(!strncmp(text, "<svg xmlns=", 11) && strstr(text, "</svg>\n"), "%.40s", text);
  CHECK(count("<text") == count("</text>"), "a text is not closed: %s", text);
}

static int points_of_the_first_curve(void) {
  const char *at = strstr(text, "<path fill=\"none\" stroke=\"#0072b2\" d=\"");
  int n = 0;
  for (at = at ? at + 37 : ""; *at && *at != '/'; at++) n += *at == 'M' || *at == 'L';
  return n - 1;                          /* one is the line in the legend */
}

/* The name of the chart ends at the slash. The test loss has a value every ten steps. */
TEST(curves_share_a_chart) {
  for (int i = 1; i <= 30; i++) {
    add("loss/train", 3.0 / i);
    if (i % 10 == 0) add("loss/test", 4.0 / i);
    if (i % 10 == 0) add("error", 100.0 / i);
  }
  draw();
  CHECK(count("class=\"title\"") == 2, "%d charts", count("class=\"title\""));
  WORDS(text, ">loss</text>|>error</text>|>train  0.1</text>|>test  0.1333</text>");
  CHECK(points_of_the_first_curve() == 30, "%d points", points_of_the_first_curve());
  CHECK(count("L680.0 ") == 3, "%d curves end at the right", count("L680.0 "));
}

/* A picture formats many texts, and the path is one of edf_fmt, too. */
TEST(a_path_may_be_formatted) {
  for (int k = 0; k < 9; k++) add(edf_fmt("chart %d", k), k);
  edf_plot_svg(edf_fmt("%s", file("curves.svg")));
  read_text();
  CHECK(count("class=\"title\"") == 9, "%d charts", count("class=\"title\""));
}

TEST(wrong_curves_are_errors) {
  STOPS(add(NULL, 1), "name");
  STOPS(add("", 1), "name");
  STOPS(add(edf_fmt("%080d", 1), 1), "name");
  STOPS(for (int i = 0; i <= 100; i++) add(edf_fmt("x/%d", i), 1), "at most 100 curves");
  STOPS(add("x", 1); edf_plot_svg(file("no/such/file.svg")), "no/such/file.svg|cannot");
  STOPS(add("x", 1); edf_plot_svg(NULL), "path|NULL");
}

/* ---- The callback */

static int events[EDF_CLEARED + 1];
static edf_node *node_of[EDF_CLEARED + 1];
static void (*before)(edf_event event, edf_node *node);

static void tell(edf_event event, edf_node *node) {
  events[event]++;
  node_of[event] = node;
  if (before) before(event, node);
}

TEST(a_callback_is_told_what_runs) {
  memset(events, 0, sizeof events);
  build(3, 2, 2);
  add("x", 1);                                   /* a tool of edf/lab.h was there before */
  before = edf.told;
  edf.told = tell;
  edf_forward_to(h);
  CHECK(node_of[EDF_BEGIN_FORWARD] == h, "another target");
  Forward();
  CHECK(!node_of[EDF_BEGIN_FORWARD], "a target");
  Backward(loss);
  CHECK(node_of[EDF_BEGIN_BACKWARD] == loss && node_of[EDF_END_BACKWARD] == loss, "the loss");
  SGD((edf_real)0.5);
  CHECK(node_of[EDF_BEFORE_UPDATE] == Phi2.b, "the last parameter");
  CHECK(events[EDF_BEGIN_FORWARD] == 2 && events[EDF_END_FORWARD] == 2 &&
        events[EDF_BEGIN_BACKWARD] == 1 && events[EDF_END_BACKWARD] == 1 &&
        events[EDF_BEFORE_UPDATE] == 4, "%d %d %d %d %d", events[0], events[1], events[2],
        events[3], events[4]);
  edf_clear();
  CHECK(events[EDF_CLEARED] == 1 && !node_of[EDF_CLEARED] && !edf.told, "cleared");
}

/* Texts of edf_fmt last for 90 calls of the program. No other function makes such a text. */
TEST(texts_of_the_program_last) {
  const char *mine = edf_fmt("text %d", 1);
  edf_node *image = edf_input("image[b,6,6,2]"), *node = image;
  FILE *nowhere = fopen("/dev/null", "w");
  for (int i = 0; i < 40; i++)
    node = edf_residual(edf_residual_params(3, 2),
                        edf_layer_norm(edf_layer_norm_params(2), node));
  for (int i = 0; i < 60; i++) edf_plot(edf_fmt("chart %d", i), 1);
  for (int i = 0; i < 9; i++) edf_print_equations(nowhere);
  edf_print_program(nowhere);
  edf_plot_svg(file("curves.svg"));
  edf_save_onnx(file("model.onnx"), node);
  for (int i = 60; i < 90; i++) edf_fmt("%0511d", i);
  CHECK(!strcmp(mine, "text 1"), "%s", mine);
  fclose(nowhere);
}

int main(void) { return harness_main(); }
