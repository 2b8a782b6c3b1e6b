/* device.c - the seam: with edf_device set, every kernel is handed over, and what comes back is
   what the CPU computes.

   The device here is the CPU again, behind the table: each entry counts, takes the table away,
   calls the same kernel, and puts the table back.

   Built as: float double none */
#define _POSIX_C_SOURCE 200809L                              /* capture.h */
#define HARNESS_CATCH
#include "edf.h"
#include "edf_lab.h"
#include "harness.h"
#include "capture.h"
#include "told.h"

static struct { int contract, node, pass, fill, update, pull, push, forget, here, on,
                off; } calls;
static int runs_nodes;                       /* has the device kernels for built-in nodes? */

static void device_contract(const edf_route *r, int assign, edf_real *out, const edf_real *a,
                            const edf_real *b) {
  edf_device_table *device = edf_device;
  calls.contract++;
  edf_device = NULL;
  if (assign && !r->covers) memset(out, 0, r->apart * sizeof *out);
  edf_contract(r, assign && r->covers, out, a, b);
  edf_device = device;
}

static int device_node(edf_node *y, int backward) {
  calls.node++;
  if (!runs_nodes) return 0;
  edf_node *x = y->in[0];
  int own = backward && !strcmp(y->op, "Sigmoid");   /* a kernel of the device's own */
  if (backward && x->fresh && (own || !y->lazy)) {
    memset(x->grad, 0, x->size * sizeof *x->grad);
    x->fresh = 0;
  }
  for (size_t i = 0; own && i < y->size; i++)
    x->grad[i] += y->grad[i] * y->value[i] * (1 - y->value[i]);
  if (backward && !own) y->backward(y);
  else if (!backward) y->forward(y);
  if (backward) x->fresh = 0;                /* it is written, where it was not zero before */
  return 1;
}

static int device_pass(void (*nodes)(void), int whole) {
  calls.pass += whole;
  nodes();
  return 0;
}

static void device_fill(edf_real *x, size_t n, edf_real number) {
  calls.fill++;
  for (size_t i = 0; i < n; i++) x[i] = number;
}

static void device_update(edf_node *p, edf_rule rule, const edf_real *c, int n) {
  calls.update++;
  if (rule == EDF_SCALE_RULE) {
    for (size_t i = 0; i < p->size; i++) p->grad[i] *= c[0];
    return;
  }
  if (rule != EDF_SGD_RULE || n != 1) abort();
  for (size_t i = 0; i < p->size; i++) p->value[i] -= c[0] * p->grad[i];
}

static double device_norm(edf_node **p, int n) {
  double sum = 0;
  for (int k = 0; k < n; k++)
    for (size_t i = 0; i < p[k]->size; i++)
      sum += (double)p[k]->grad[i] * (double)p[k]->grad[i];
  return sum;
}

static void device_window(const edf_window *w, int backward) {
  (void)w;
  (void)backward;
  abort();                                   /* the programs here have none */
}

static void device_pull(edf_real *x, size_t n) { (void)x; (void)n; calls.pull++; }
static void device_push(edf_real *x, size_t n) { (void)x; (void)n; calls.push++; }
static void device_forget(const void *x) { (void)x; calls.forget++; }
static void device_here(const edf_node *y) { (void)y; calls.here++; }
static void device_sync(int on) { calls.on += on; calls.off += !on; }

static edf_device_table table = { device_contract, device_window, device_node, device_pass,
                                  device_fill, device_update, device_norm, device_pull,
                                  device_push, device_forget, device_here, device_sync };

/* Five steps of a small network; its first weights, or NaN where they are not there. */
static double train(edf_real *weights, size_t n) {
  static const edf_real x[] = { 0, 1, 1, 0, 1, 1 }, y[] = { 0, 2, 1 };
  Input *in = edf_input("x[b,2]"), *label = edf_input("y[b]");
  AffineParams a = edf_affine_params(2, 5), c = edf_affine_params(5, 3);
  CompNode *loss = LogLoss(Softmax(Affine(c, Sigmoid(Affine(a, in)))), label);
  edf_feed(in, x, 3);
  edf_feed(label, y, 3);
  for (int i = 0; i < 5; i++) {
    Forward();
    Backward(loss);
    SGD((edf_real)0.5);
  }
  double sum = 0;
  for (size_t i = 0; i < 3; i++) sum += (double)edf_value(loss)[i];
  memcpy(weights, edf_value(a.w), n * sizeof *weights);
  return sum;
}

static void everything_is_handed_over(void) {
  edf_real on_cpu[10], on_device[10];
  for (runs_nodes = 0; runs_nodes <= 1; runs_nodes++) {
    edf_seed(3);
    double expected = train(on_cpu, 10);
    edf_clear();
    edf_seed(3);
    memset(&calls, 0, sizeof calls);
    edf_device = &table;
    double found = train(on_device, 10);
    edf_device = NULL;
    edf_clear();
    CHECK(expected == found, "the loss is %g, on the device %g", expected, found);
    CHECK(!memcmp(on_cpu, on_device, sizeof on_cpu), "the weights differ");
    CHECK(calls.contract == 5 * (2 + 2 + 2 + 3), "%d contractions", calls.contract);
    CHECK(calls.node == 5 * 2 * 3, "%d built-in nodes", calls.node);
    CHECK(calls.update == 5 * 4, "%d updates", calls.update);
    CHECK(calls.pass == 5 * 2, "%d passes", calls.pass);
    CHECK(calls.fill > 0 && calls.push >= 2, "%d %d", calls.fill, calls.push);
    if (runs_nodes) CHECK(calls.pull == 4 && !calls.here, "%d %d", calls.pull, calls.here);
    else CHECK(calls.here == calls.node, "%d of %d nodes here", calls.here, calls.node);
  }
}

/* A node of the user's is plain C: the device is not asked, and its arrays come and go. */
static void twice_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = 2 * y->in[0]->value[i];
}
static void twice_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, 2 * y->grad[i]);
}

static void custom_nodes_stay(void) {
  Parameter *p = edf_parameter("p[3]");
  CompNode *y = edf_compnode("Twice", twice_forward, twice_backward, p);
  memset(&calls, 0, sizeof calls);
  edf_device = &table;
  Forward();
  Backward(y);
  edf_device = NULL;
  CHECK(calls.node == 0 && calls.here == 2, "%d calls, %d here", calls.node, calls.here);
  CHECK(calls.push == 2 && calls.pull == 1 + 4, "%d %d", calls.push, calls.pull);
  for (int i = 0; i < 3; i++)
    CHECK(fabs((double)p->grad[i] - 2.0 / 3) < 1e-6, "%g", (double)p->grad[i]);
  edf_clear();
}

/* Lengths of gradients are the device's, one parameter or all. */
static void gradients_are_clipped_there(void) {
  Parameter *p = edf_parameter("p[2]"), *q = edf_parameter("q[1]");
  CompNode *y = Add(Sum(Mul(edf_parameter("c[2]"), p)), q);
  y->in[0]->in[0]->in[0]->value[0] = 3;
  y->in[0]->in[0]->in[0]->value[1] = 4;
  edf_device = &table;
  Forward();
  Backward(y);
  edf_clip_each(1);
  CHECK(fabs((double)p->grad[1] - 0.8) < 1e-6, "%g", (double)p->grad[1]);
  CHECK(q->grad[0] == 1, "%g", (double)q->grad[0]);
  double norm = edf_clip(0.5);
  CHECK(fabs(norm - sqrt(2.0)) < 1e-6, "%g", norm);
  edf_device = NULL;
  edf_clear();
}

/* What is saved is what the device has. */
static void saving_pulls(void) {
  Parameter *p = edf_parameter("p[2]");
  edf_parameter("q[1]");
  edf_device = &table;
  memset(&calls, 0, sizeof calls);
  edf_save("build/tests/device.safetensors");
  edf_device = NULL;
  CHECK(calls.pull == 2, "%d arrays were pulled", calls.pull);
  p->value[1] = 7;
  edf_load("build/tests/device.safetensors");
  CHECK(p->value[1] == 0, "%g", (double)p->value[1]);
  remove("build/tests/device.safetensors");
  edf_clear();
}

/* A device with a memory of its own: constructors that set numbers give them to it. */
static struct { edf_real *here, there[64]; } copies[16];
static int n_copies;

static edf_real *copy_of(edf_real *here) {
  int k = 0;
  while (k < n_copies && copies[k].here != here) k++;
  if (k == n_copies) copies[n_copies++].here = here;
  return copies[k].there;
}
static void fill_there(edf_real *x, size_t n, edf_real number) {
  for (size_t i = 0; i < n; i++) copy_of(x)[i] = number;
}
static void pull_here(edf_real *x, size_t n) { memcpy(x, copy_of(x), n * sizeof *x); }
static void push_there(edf_real *x, size_t n) { memcpy(copy_of(x), x, n * sizeof *x); }

static void constructors_push(void) {
  static edf_device_table own = { NULL, NULL, NULL, NULL, fill_there, NULL, NULL, pull_here,
                                  push_there, device_forget, NULL, device_sync };
  edf_device = &own;
  LayerNormParams norm = edf_layer_norm_params(3);
  LSTMParams cell = edf_lstm_params(1, 2);
  const edf_real *gain = edf_value(norm.gain), *b = edf_value(cell.b);
  CHECK(gain[0] == 1 && gain[2] == 1, "the gain is %g", (double)gain[0]);
  CHECK(b[0] == -1 && b[1] == -1 && b[2] == 0, "the thresholds are %g, %g", (double)b[0],
        (double)b[2]);
  edf_device = NULL;
  edf_clear();
}

/* ---- All calls in their order, by the names of the arrays. */
static void tell_array(const char *what, const void *x, size_t n) {
  for (int i = 0; i < edf.n_inputs + edf.n_parameters + edf.n_compnodes; i++) {
    const edf_node *c = i < edf.n_inputs ? edf.inputs[i]
                      : i < edf.n_inputs + edf.n_parameters ? edf.parameters[i - edf.n_inputs]
                      : edf.compnodes[i - edf.n_inputs - edf.n_parameters];
    if (x != c->value && x != c->grad) continue;
    tell("%s %s%s %d, ", what, c->name, x == c->grad ? ".grad" : "", (int)n);
    return;
  }
  tell("%s ?, ", what);
}

static void telling_pull(edf_real *x, size_t n) { tell_array("pull", x, n); }
static void telling_push(edf_real *x, size_t n) { tell_array("push", x, n); }
static void telling_fill(edf_real *x, size_t n, edf_real number) {
  tell_array(number == 0 ? "zero" : "fill", x, n);
  device_fill(x, n, number);
}
static void telling_forget(const void *x) { tell_array("forget", x, 0); }
static void telling_here(const edf_node *y) { tell("here %s, ", y->name); }
static void telling_contract(const edf_route *r, int assign, edf_real *out, const edf_real *a,
                             const edf_real *b) {
  tell_array(assign ? "=" : "+=", out, 0);
  device_contract(r, assign, out, a, b);
}
static int telling_node(edf_node *y, int backward) {
  int ran = runs_nodes && !strcmp(y->op, "Sigmoid");
  tell("%s%s %s, ", ran ? "" : "no ", backward ? "backward" : "forward", y->name);
  return ran ? device_node(y, backward) : 0;
}
static void telling_sync(int on) { tell("sync %d, ", on); }
static int replays;                      /* the pass is the recorded one: no node's code runs */
static int telling_pass(void (*nodes)(void), int whole) {
  tell("pass %d: ", whole);
  if (!replays) nodes();
  else if (edf.direction < 0) edf.parameters[0]->grad[0] = 7;
  return replays;
}
static edf_device_table telling = {
  telling_contract, device_window, telling_node, telling_pass, telling_fill, device_update,
  device_norm, telling_pull, telling_push, telling_forget, telling_here, telling_sync };

static void told_is(const char *what, const char *expected) {
  CHECK(!strcmp(told, expected), "%s:\n     found: %s\n  expected: %s", what, told, expected);
  *told = 0;
}

static void calls_in_order(void) {
  static const edf_real x[] = { 1, 2, 3, 4 };
  Input *in = edf_input("x[b,2]");
  Parameter *p = edf_parameter("p[2]");
  CompNode *u = edf_name(Einsum("u[b,i] = x[b,i] p[i]", in, p), "u");
  CompNode *s = edf_name(Sigmoid(u), "s");
  CompNode *t = edf_name(edf_compnode("Twice", twice_forward, twice_backward, s), "t");
  CompNode *loss = edf_name(Mean(t), "l");
  edf_device = &telling;
  for (runs_nodes = 0; runs_nodes <= 1; runs_nodes++) {
    *told = 0;
    edf_feed(in, x, 2);
    told_is("feed", "push x 0, ");
    Forward();
    told_is("forward", runs_nodes
            ? "pass 1: = u 0, forward s, pull s 4, here t, push t 4, "
              "no forward l, pull t 4, here l, push l 1, "
            : "pass 1: = u 0, no forward s, pull u 4, here s, push s 4, pull s 4, here t, "
              "push t 4, no forward l, pull t 4, here l, push l 1, ");
    Backward(loss);
    told_is("backward", runs_nodes
            ? "fill l.grad 1, zero p.grad 2, zero u.grad 4, zero s.grad 4, zero t.grad 4, "
              "pass 1: no backward l, zero t.grad 4, pull t 4, pull t.grad 4, "
              "pull l 1, pull l.grad 1, here l, push t.grad 4, zero s.grad 4, pull s 4, "
              "pull s.grad 4, pull t 4, pull t.grad 4, here t, push s.grad 4, backward s, "
              "= p.grad 0, "
            : "fill l.grad 1, zero p.grad 2, zero u.grad 4, zero s.grad 4, zero t.grad 4, "
              "pass 1: no backward l, zero t.grad 4, pull t 4, pull t.grad 4, "
              "pull l 1, pull l.grad 1, here l, push t.grad 4, zero s.grad 4, pull s 4, "
              "pull s.grad 4, pull t 4, pull t.grad 4, here t, push s.grad 4, no backward s, "
              "zero u.grad 4, pull u 4, pull u.grad 4, pull s 4, pull s.grad 4, here s, "
              "push u.grad 4, = p.grad 0, ");
  }
  edf_value(u);
  edf_grad(u);
  edf_push(p);
  edf_push_grad(p);
  told_is("arrays", "pull u 4, pull u.grad 4, push p 2, push p.grad 2, ");
  edf_zero_grad();
  told_is("zero", "zero p.grad 2, ");
  edf_break("t");                        /* somebody looks at a single node */
  edf_forward_to(u);
  told_is("watched", "pass 0: = u 0, ");
  edf_break(NULL);
  told_is("break", "forget ?, ");
  edf_feed(in, x, 1);
  told_is("feed", "push x 0, ");
  edf_forward_to(u);
  told_is("another batch", "pass 1: = u 0, ");
  edf_device = NULL;
  edf_clear();
}

/* A recorded pass: no node's code has run, and yet all of it has. */
static void recorded_passes(void) {
  static const edf_real x[] = { 1, 2, 3, 4 };
  Input *in = edf_input("x[b,2]");
  Parameter *p = edf_parameter("p[2]"), *q = edf_parameter("q[2]");
  CompNode *u = Einsum("u[b,i] = x[b,i] p[i]", in, p), *loss = Mean(u);
  CompNode *other = Einsum("v[b,i] = x[b,i] q[i]", in, q);
  edf_feed(in, x, 2);
  edf_device = &telling;
  Forward();
  Backward(loss);
  edf_feed(in, x, 2);
  replays = 1;
  edf_forward_to(loss);
  CHECK(u->ran == edf.feeds && loss->ran == edf.feeds, "the marked nodes have run");
  CHECK(other->ran != edf.feeds, "the other has not");
  Backward(loss);
  CHECK(!p->fresh && !u->fresh && p->grad[0] == 7, "the gradient is %g", (double)p->grad[0]);
  replays = 0;
  edf_device = NULL;
  edf_clear();
}

/* The doctor tries a node alone with arrays that are right on both sides, and so does the
   second look at one that assigns; edf_clear ends what a panic has left. */
static void assigns_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) y->in[0]->grad[i] = 2 * y->grad[i];
}

static void syncs_are_paired(void) {
  edf_device_table only = table;
  only.sync = telling_sync;
  Parameter *p = edf_parameter("p[3]");
  CompNode *y = edf_compnode("Twice", twice_forward, assigns_backward, p);
  CompNode *loss = Sum(Add(Square(p), y));
  p->value[1] = 5;
  *told = 0;
  edf_device = &only;
  edf_doctor(loss);
  capture_begin();
  Forward();
  Backward(loss);
  capture_end();
  CHECK(strstr(captured, "'=' where '+=' is needed"), "%s", captured);
  told_is("syncs", "sync 1, sync 0, ");
  edf_clear();
  told_is("clear", "sync 0, ");
  edf_device = NULL;
}

/* A panic in a node in plain C leaves the device as it was. */
static void stopping_forward(CompNode *y) { edf_feed(y, y->value, 1); }

static void a_panic_here(void) {
  Parameter *p = edf_parameter("p[3]");
  edf_compnode("Stops", stopping_forward, NULL, p);
  edf_device = &table;
  TRY(Forward());
  CHECK(panicked && strstr(caught, "only an Input"), "%s", caught);
  CHECK(edf_device == &table, "the device is away");
  memset(&calls, 0, sizeof calls);
  edf_push(p);
  CHECK(calls.push == 1, "%d", calls.push);
  edf_device = NULL;
  edf_clear();
  TRY(edf_name(p, NULL));
  CHECK(!edf_device, "a device has come");
}

/* More than two factors: products of two whose sum of multiplications is least. */
static void counting_contract(const edf_route *r, int assign, edf_real *out, const edf_real *a,
                              const edf_real *b) {
  double volume = 1;
  for (int i = 0; i < r->nest.n; i++) volume *= (double)r->nest.loop[i].n;
  tell("%.0f ", volume);
  device_contract(r, assign, out, a, b);
}

static void order_of(const char *equation, const char *a, const char *b, const char *c,
                     const char *d, const char *expected) {
  edf_device_table counting = table;
  counting.contract = counting_contract;
  Parameter *A = edf_parameter("%s", a), *B = edf_parameter("%s", b);
  Parameter *C = edf_parameter("%s", c), *D = d ? edf_parameter("%s", d) : NULL;
  CompNode *y = d ? Einsum(equation, A, B, C, D) : Einsum(equation, A, B, C);
  for (int i = 0; i < edf.n_parameters; i++)
    for (size_t k = 0; k < edf.parameters[i]->size; k++) edf.parameters[i]->value[k] = 1;
  edf_device = &counting;
  *told = 0;
  Forward();
  edf_device = NULL;
  told_is(equation, expected);
  CHECK(y->value[0] > 0, "%g", (double)y->value[0]);
  edf_clear();
}

static void cheapest_orders(void) {
  const char *chain = "y[i,l] = A[i,J] B[J,K] C[K,l]";
  order_of(chain, "A[2,30]", "B[30,4]", "C[4,50]", NULL, "240 400 ");
  order_of(chain, "A[50,4]", "B[4,30]", "C[30,2]", NULL, "240 400 ");
  order_of("y[i] = A[i] B[i,J] C[J]", "A[9]", "B[9,5]", "C[5]", NULL, "45 9 ");
  order_of("y[i,j] = A[i,K] B[j] C[i,K]", "A[9,5]", "B[4]", "C[9,5]", NULL, "45 36 ");
  order_of("y = A[I] B[J] C[I,J]", "A[3]", "B[7]", "C[3,7]", NULL, "21 3 ");
  order_of("y[i,m] = A[i,J] B[J,K] C[K,L] D[L,m]", "A[2,9]", "B[9,3]", "C[3,8]", "D[8,2]",
           "54 48 12 ");
}

/* What looks at whole programs has everything brought. A check gives the values that it moves,
   and those of a frozen parameter, back; each run of the node here gives one array. */
static void debugging_brings_all(void) {
  Parameter *p = edf_parameter("p[2]"), *q = edf_parameter("q[2]");
  CompNode *y = edf_compnode("Twice", twice_forward, twice_backward, p);
  q->update = edf_frozen;
  edf_device = &table;
  Forward();
  memset(&calls, 0, sizeof calls);
  CHECK(!edf_find_nan(), "there is none");
  CHECK(calls.on == 1 && calls.off == 1, "%d on, %d off", calls.on, calls.off);
  memset(&calls, 0, sizeof calls);
  capture_begin();
  edf_gradcheck(y);
  capture_end();
  CHECK(calls.on == 1 && calls.off == 1, "%d on, %d off", calls.on, calls.off);
  CHECK(calls.push == 30 && calls.pull == 40, "%d %d", calls.push, calls.pull);
  p->value[1] = (edf_real)NAN;
  memset(&calls, 0, sizeof calls);
  capture_begin();
  CHECK(edf_find_nan() == p, "it was not found");
  capture_end();
  CHECK(calls.on == 1 && calls.off == 1, "%d on, %d off", calls.on, calls.off);
  edf_device = NULL;
  edf_clear();
}

int main(void) {
  RUN(calls_in_order);
  RUN(recorded_passes);
  RUN(syncs_are_paired);
  RUN(a_panic_here);
  RUN(cheapest_orders);
  RUN(constructors_push);
  RUN(everything_is_handed_over);
  RUN(custom_nodes_stay);
  RUN(gradients_are_clipped_there);
  RUN(saving_pulls);
  RUN(debugging_brings_all);
  return harness_report();
}
