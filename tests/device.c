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

/* Tells an array by the name of its node. */
static void tell_array(const char *what, const edf_real *array) {
  edf_node **list[] = { edf.inputs, edf.parameters, edf.compnodes };
  int n[] = { edf.n_inputs, edf.n_parameters, edf.n_compnodes };
  for (int l = 0; l < 3; l++)
    for (int i = 0; i < n[l]; i++) {
      const edf_node *x = list[l][i];
      if (array == x->value) tell("%s %s, ", what, x->name);
      else if (array && array == x->grad) tell("%s %s.grad, ", what, x->name);
    }
}

/* ---- The table. The only node that the device knows is Sigmoid. */

static int replays;                    /* passes are recorded ones: no node's code runs */

static void contract(const edf_route *r, int assign, edf_real *out, const edf_real *a,
                     const edf_real *b) {
  edf_device_table *device = edf_device;
  tell_array(assign ? "=" : "+=", out);
  edf_device = NULL;
  edf_contract(r, assign, out, a, b);
  edf_device = device;
}

static void window(const edf_window *w, int backward) {
  (void)w;
  tell("window %s, ", backward ? "backward" : "forward");
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

static void fill(edf_real *x, size_t n, edf_real number) {
  tell_array(number == 0 ? "zero" : "fill", x);
  for (size_t i = 0; i < n; i++) x[i] = number;
}

static void update(edf_node *p, edf_rule rule, const edf_real *c, int n) {
  tell("%s %d:", p->name, (int)rule);
  for (int k = 0; k < n; k++) tell(" %g", (double)c[k]);
  tell(", ");
}

static double norm(edf_node **p, int n) {
  tell("norm");
  for (int k = 0; k < n; k++) tell(" %s", p[k]->name);
  tell(", ");
  return 16;
}

static void pull(edf_real *x, size_t n) { (void)n, tell_array("pull", x); }
static void push(edf_real *x, size_t n) { (void)n, tell_array("push", x); }
static void forget(const void *x) { (void)x; }
static void here(const edf_node *y) { tell("here %s, ", y->name); }
static void sync_arrays(int on) { (void)on; }

static edf_device_table table = { contract, window, node, pass, fill, update, norm, pull, push,
                                  forget, here, sync_arrays };

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
  expect("forward", "pass 1: = u, forward s, pull s, here t, push t, pull t, here l, push l, ");
  Backward(loss);
  WORDS(told, "pass 1: |here l, push t.grad|pull t.grad|here t, push s.grad|"
        "backward s, = p.grad");
  told[0] = '\0';
  edf_value(u);
  edf_grad(p);
  edf_push(p);
  edf_push_grad(p);
  expect("arrays", "pull u, pull p.grad, push p, push p.grad, ");
  CHECK(edf_clip(2) == 4, "the norm is 4");
  WORDS(told, "norm p, p |: 0.5");
  told[0] = '\0';
  edf_sgd((edf_real)0.5);
  expect("a step", "p 0: 0.5, ");
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

static void numbers_that_c_writes_are_pushed(void) {
  edf_device = &table;
  Parameter *p = edf_parameter("p[2]");
  told[0] = '\0';
  edf_init_uniform(p, 0, 1);
  edf_init_normal(p, 0, 1);
  expect("numbers", "push p, push p, ");
  edf_layer_norm_params(4);
  WORDS(told, "push ");
  told[0] = '\0';
  edf_lstm_params(1, 2);
  WORDS(told, "push ");
  leave();
}

/* BatchNorm runs here, and writes its running means. */
static void running_means_are_pushed(void) {
  BatchNormParams Phi = edf_batch_norm_params(2);
  Input *x = edf_input("x[b,2]");
  BatchNorm(Phi, x);
  edf_name(Phi.mean, "mean");
  edf_feed(x, data, 2);
  edf_device = &table;
  Forward();
  WORDS(told, "push mean, ");
  edf.training = 0;
  told[0] = '\0';
  Forward();
  CHECK(!strstr(told, "push mean"), "%s", told);
  edf.training = 1;
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
    if (panicked) WORDS(caught, "hw1.c:3|k |0 to 2");
    CHECK(!panicked || !strstr(told, "pass"), "case %d: %s", kind, told);
    leave();
  }
}

int main(void) {
  RUN(calls_come_in_order);
  RUN(a_replay_leaves_gradients_that_count);
  RUN(numbers_that_c_writes_are_pushed);
  RUN(running_means_are_pushed);
  RUN(wrong_classes_stop_before_the_pass);
  return harness_report();
}
