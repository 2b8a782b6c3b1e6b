/* device.c - what a device is asked for, and in which order: nodes and contractions run in a
   pass, and arrays are pulled before plain C reads them and pushed after it has written them.

   The device here is the CPU, which writes down what it is asked for. */

#include "harness.h"
#include "edf_slide.h"

static char told[4096];

static void HARNESS_PRINTF(1, 2) tell(const char *format, ...) {
  size_t n = strlen(told);
  va_list args;
  va_start(args, format);
  vsnprintf(told + n, sizeof told - n, format, args);
  va_end(args);
}

static void expect(const char *what, const char *expected) {
  CHECK(!strcmp(told, expected), "%s:\n     told: %s\n expected: %s", what, told, expected);
  told[0] = '\0';
}

/* Tells an array of a node: p, p.grad, p.m or p.s. */
static void tell_array(const char *what, const edf_node *x, edf_which array) {
  static const char *const arrays[] = { "", ".grad", ".m", ".s" };
  tell("%s %s%s, ", what, x->name, arrays[array]);
}

/* ---- The table. The only node that the device knows is Sigmoid. */

static int replays;                    /* passes are recorded ones: no node's code runs */

static void contract(const edf_route *r, int assign, edf_node *const of[3], unsigned grads) {
  static const edf_real one = 1;
  const edf_real *v[3];
  for (int k = 0; k < 3; k++) v[k] = !of[k] ? &one : grads >> k & 1 ? of[k]->grad : of[k]->value;
  tell_array(assign ? "=" : "+=", of[EDF_OUT], grads & 1 ? EDF_GRAD : EDF_VALUE);
  edf_contract(r, assign, (edf_real *)v[EDF_OUT], v[EDF_A], v[EDF_B]);
}

static void window(const edf_window *w, edf_node *y, edf_node *x, int backward) {
  (void)w;
  tell("window %s %s %s, ", y->name, x->name, backward ? "backward" : "forward");
}

static int node(edf_node *y, int backward) {
  if (strcmp(y->op, "Sigmoid")) return 0;
  tell("%s %s, ", backward ? "backward" : "forward", y->name);
  if (backward) y->backward(y);
  else y->forward(y);
  return 1;
}

static int pass(void (*nodes)(void), int whole) {
  tell("pass %d: ", whole);
  if (!replays) nodes();
  else if (edf.parameters[0]->grad) edf.parameters[0]->grad[0] = 7;
  return replays;
}

static void fill(edf_node *x, edf_which array, edf_real number) {
  edf_real *to = array == EDF_VALUE ? x->value : x->grad;
  tell_array(number == 0 ? "zero" : "fill", x, array);
  for (size_t i = 0; i < x->size; i++) to[i] = number;
}

/* It has the kernel of SGD only. */
static double update(edf_node **p, int n, const edf_rule *rule, const edf_real *c) {
  tell("%s", rule ? rule->name : "norm");
  for (int k = 0; k < n; k++) tell(" %s", p[k]->name);
  tell(rule ? " %g, " : ", ", rule ? (double)c[0] : 0);
  return !rule ? 16 : rule == &edf_sgd_rule ? 0 : -1;
}

static void pull(edf_node *x, edf_which array) { tell_array("pull", x, array); }
static void push(edf_node *x, edf_which array) { tell_array("push", x, array); }
static void clear(int all) { tell("clear %d, ", all); }

static edf_device_table table = { node, contract, window, pass, fill, update, pull, push, clear };

/* ---- Tests */

static const edf_real data[] = { 1, 2, 3, 4 };

static void twice(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = 2 * y->in[0]->value[i];
}

static void twice_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, 2 * y->grad[i]);
}

static void leave(void) {
  edf_device = NULL;
  edf_clear();
  told[0] = '\0';
  replays = 0;
}

static void calls_come_in_order(void) {
  Input *x = edf_input("x[b,2]");
  Parameter *p = edf_parameter("p[2]");
  CompNode *u = edf_name(Einsum("u[b,i] = x[b,i] p[i]", x, p), "u");
  CompNode *s = edf_name(Sigmoid(u), "s");
  CompNode *t = edf_name(edf_compnode("Twice", twice, twice_backward, s), "t");
  CompNode *loss = edf_name(Mean(t), "l");
  p->value[0] = p->value[1] = 1;
  edf_device = &table;
  edf_feed(x, data, 2);
  expect("feed", "push x, ");
  Forward();
  expect("forward", "pass 1: = u, forward s, pull s, push t, pull t, push l, ");
  Backward(loss);
  WORDS(told, "fill l.grad, |pass 1: |zero t.grad, |pull l.grad, push t.grad|pull t.grad, "
        "push s.grad|backward s, |p.grad");
  told[0] = '\0';
  edf_value(u);
  edf_grad(p);
  edf_push(p);
  edf_push_grad(p);
  expect("arrays", "pull u, pull p.grad, push p, push p.grad, ");
  CHECK(edf_clip(2) == 4, "the norm is 4");
  WORDS(told, "norm p, edf_clip p 0.5, |pull p.grad, |push p.grad, ");
  told[0] = '\0';
  edf_sgd((edf_real)0.5);
  expect("a step", "SGD p 0.5, ");
  edf_clear();
  WORDS(told, "clear 1, ");
  leave();
}

/* In a recorded pass no node's code runs, and yet its gradients have arrived. */
static void a_replay_leaves_gradients_that_count(void) {
  Input *x = edf_input("x[b,2]");
  Parameter *p = edf_parameter("p[2]");
  CompNode *u = Einsum("u[b,i] = x[b,i] p[i]", x, p), *loss = Mean(u), *other = Square(p);
  edf_feed(x, data, 2);
  edf_device = &table;
  Forward();
  Backward(loss);
  edf_feed(x, data, 2);
  replays = 1;
  edf_forward_to(loss);
  CHECK(u->ran == edf.feeds && other->ran != edf.feeds, "other nodes have run");
  Backward(loss);
  CHECK(edf_grad(p)[0] == 7, "the gradient is %g", (double)p->grad[0]);
  leave();
}

/* The labels are looked at before the pass, since a device cannot stop. */
static void wrong_classes_stop_before_the_pass(void) {
  static const edf_real labels[][2] = { { 1, 3 }, { -1, 0 }, { 1, (edf_real)1.5 }, { 2, 0 } };
  for (int kind = 0; kind < 12; kind++) {
    edf_node *k = edf_input_at("hw1.c", 1, "k[2]"), *s = edf_parameter("s[2,3]");
    if (kind / 4 == 0) edf_log_loss_at("hw1.c", 3, s, k);
    if (kind / 4 == 1) edf_softmax_log_loss_at("hw1.c", 3, s, k);
    if (kind / 4 == 2) edf_embed_at("hw1.c", 3, edf_parameter("W[3,5]"), k);
    edf_feed(k, labels[kind % 4], 1);
    edf_device = &table;
    told[0] = '\0';
    TRY(edf_forward());
    edf_device = NULL;
    CHECK(panicked == (kind % 4 < 3), "case %d: %s", kind, caught);
    if (panicked) WORDS(caught, "hw1.c:3|\"k\"|0 to 2");
    CHECK(!panicked || !strstr(told, "pass"), "case %d: %s", kind, told);
    leave();
  }
}

int main(void) {
  RUN(calls_come_in_order);
  RUN(a_replay_leaves_gradients_that_count);
  RUN(wrong_classes_stop_before_the_pass);
  return harness_report();
}
