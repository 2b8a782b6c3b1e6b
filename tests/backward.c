/* Backward as a reader expects it: a gradient is zero wherever nothing has arrived, seen from
   a node of the program's own, from a watcher and under EDF_REFERENCE; and the lines printed
   under `backward` are the assignments that run, in that order.

   Built as: float double none cblas sanitized shim */
#define HARNESS_CATCH
#include "harness.h"
#include "edf.h"

/* What has received something: the inputs of each node whose backward has run. */
static edf_node *arrived[100];
static int n_arrived, n_zeros, n_wrong;

static void arrives(edf_node *x) { arrived[n_arrived++] = x; }

static int has_arrived(const edf_node *x) {
  for (int i = 0; i < n_arrived; i++) if (arrived[i] == x) return 1;
  return 0;
}

/* Every gradient of the graph in which nothing has arrived is zero, in each entry. */
static void look_at(edf_node *x) {
  const edf_real *grad = has_arrived(x) ? NULL : edf_grad(x);
  for (size_t i = 0; grad && i < x->size; i++) {
    n_zeros++;
    n_wrong += grad[i] != 0;
  }
}

static void look_at_all(void) {
  for (int i = 0; i < edf.n_inputs; i++) look_at(edf.inputs[i]);
  for (int i = 0; i < edf.n_parameters; i++) look_at(edf.parameters[i]);
  for (int i = 0; i < edf.n_compnodes; i++) look_at(edf.compnodes[i]);
}

static void notes_arrivals(edf_watcher *w, edf_event event, edf_node *c) {
  (void)w;
  if (event == EDF_BEGIN_BACKWARD) { n_arrived = 0; arrives(c); }
  if (event == EDF_AFTER_BACKWARD) for (int k = 0; k < c->n_in; k++) arrives(c->in[k]);
}

static void looks(edf_watcher *w, edf_event event, edf_node *c) {
  notes_arrivals(w, event, c);
  if (event == EDF_BEFORE_BACKWARD || event == EDF_AFTER_BACKWARD) look_at_all();
}

static void twice_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = 2 * y->in[0]->value[i];
}
static void twice_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, 2 * y->grad[i]);
}

/* The loss is the last node, so what has arrived when this runs are the inputs of the later. */
static void looking_backward(CompNode *y) {
  n_arrived = 0;
  for (int i = edf.n_compnodes - 1; i >= 0 && edf.compnodes[i] != y; i--)
    for (int k = 0; k < edf.compnodes[i]->n_in; k++) arrives(edf.compnodes[i]->in[k]);
  arrives(edf.loss);
  look_at_all();
  twice_backward(y);
}

static const edf_real data[] = { 1, -2, 3, 4, -5, 6 };

/* Two layers, the second's scores through a node of the program's own. */
static CompNode *build(void (*backward)(CompNode *), int own) {
  Input *x = edf_want_grad(edf_input("x[b,3]"));
  CompNode *h = Tanh(Affine(edf_affine_params(3, 4), x));
  CompNode *s = Einsum("s[b,i] = U[i,J] h[b,J] - h[b,i]", edf_parameter("U[4,4]"), h);
  CompNode *t = own ? edf_compnode("Twice", twice_forward, backward, s) : s;
  CompNode *loss = Mean(Square(Add(t, Relu(Affine(edf_affine_params(3, 4), x)))));
  for (size_t i = 0; i < 16; i++) edf.parameters[2]->value[i] = (edf_real)i / 16;
  edf_feed(x, data, 2);
  return loss;
}

static void steps(CompNode *loss) {
  n_zeros = n_wrong = 0;
  for (int i = 0; i < 3; i++) {
    Forward();
    Backward(loss);
    SGD((edf_real)0.1);
  }
}

static void an_own_node_sees_zeros(void) {
  steps(build(looking_backward, 1));
  CHECK(n_zeros >= 3 * 20, "only %d entries were looked at", n_zeros);
  CHECK(n_wrong == 0, "%d of %d entries are not 0", n_wrong, n_zeros);
  edf_clear();
}

static void a_watcher_sees_zeros(void) {
  for (int own = 0; own <= 1; own++) {
    edf_watcher w = { looks, NULL, 0 };
    CompNode *loss = build(twice_backward, own);
    steps(loss);
    edf_watch(&w);
    steps(loss);
    CHECK(n_zeros >= 200, "only %d entries were looked at", n_zeros);
    CHECK(n_wrong == 0, "%d of %d entries are not 0", n_wrong, n_zeros);
    edf_unwatch(&w);
    edf_clear();
  }
}

/* What is added up over several Backwards is not zero, and stays. */
static void what_is_kept_is_seen(void) {
  edf.accumulate = 1;
  CompNode *loss = build(looking_backward, 1);
  steps(loss);
  CHECK(n_wrong > 0, "the parameters' gradients were lost");
  edf.accumulate = 0;
  steps(loss);
  CHECK(n_wrong == 0, "%d of %d entries are not 0", n_wrong, n_zeros);
  edf_clear();
}

/* ---- The printed lines, and what runs */
static edf_page ran;

static void notes_lines(edf_watcher *w, edf_event event, edf_node *c) {
  (void)w;
  if (event != EDF_BEFORE_BACKWARD) return;
  edf_write(&ran, "  %3d  %s\n", edf_position(c), c->name);
  edf_write_node(&ran, c, EDF_BACKWARD_LINES);
}

static char *printed_backward(void) {
  static char text[1 << 16];
  FILE *f = tmpfile();
  edf_print_program(f);
  rewind(f);
  text[fread(text, 1, sizeof text - 1, f)] = '\0';
  fclose(f);
  char *at = strstr(text, "\nbackward\n");
  return at ? at + 10 : text;
}

static void the_lines_that_run(CompNode *loss) {
  edf_watcher w = { notes_lines, NULL, 0 };
  edf_watch(&w);
  Forward();
  Backward(loss);
  edf_unwatch(&w);
  CHECK(ran.at && strlen(ran.at) > 100, "nothing has run");
  CHECK(ran.at && !strcmp(printed_backward(), ran.at), "printed:\n%sran:\n%s",
        printed_backward(), ran.at);
  edf_release(ran.at);
  memset(&ran, 0, sizeof ran);
}

static void printed_lines_run(void) {
  the_lines_that_run(build(twice_backward, 1));
  edf_clear();
}

/* Two losses, of which one is taken; a node without a backward; a frozen parameter. */
static void only_what_runs_is_printed(void) {
  CompNode *loss = build(twice_backward, 1);
  CompNode *stops = edf_compnode("Stop", twice_forward, NULL, edf.compnodes[1]);
  CompNode *other = Mean(Square(Add(stops, edf.compnodes[1])));
  edf.parameters[0]->update = edf_frozen;
  the_lines_that_run(loss);
  CHECK(!strstr(printed_backward(), other->name), "%s", printed_backward());
  the_lines_that_run(other);
  edf_clear();
}

int main(void) {
  RUN(an_own_node_sees_zeros);
  RUN(a_watcher_sees_zeros);
  RUN(what_is_kept_is_seen);
  edf.kernel = EDF_REFERENCE;
  RUN(a_watcher_sees_zeros);
  edf.kernel = EDF_FASTEST;
  RUN(printed_lines_run);
  RUN(only_what_runs_is_printed);
  return harness_report();
}
