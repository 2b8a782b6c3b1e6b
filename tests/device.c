/* device.c - what a device relies on: nodes run in passes, wrong class numbers stop a program
   before the pass, and the gradients of a recorded pass count. The device here is the CPU.
   Which arrays are copied, and when, is checked by cuda.sh on a GPU that is emulated. */

#include "harness.h"
#include "edf/slide.h"

static int passes;
static int replays;                    /* passes are recorded ones: no node's code runs */

static int knows;                      /* It has a kernel for each node, which does nothing. */
static void nothing(edf_node *y) { (void)y; }
static void built(edf_node *y) {
  if (knows) y->forward = nothing;
  if (knows && y->backward) y->backward = nothing;
}

static edf_real *numbers(edf_operand a) {
  static edf_real one = 1;
  return !a.of ? &one : a.which == EDF_GRAD ? a.of->grad : a.of->value;
}
static int run(const edf_route *r, int assign, edf_operand out, edf_operand a, edf_operand b) {
  edf_contract(r, assign, numbers(out), numbers(a), numbers(b));
  return 1;
}

static int pass(void (*nodes)(void), int whole) {
  (void)whole;
  passes++;
  if (!replays) nodes();
  else if (edf.parameters[0]->grad) edf.parameters[0]->grad[0] = 7;
  return replays;
}

static void no_copy(edf_node *x, edf_which array, edf_access by) {
  (void)x, (void)array, (void)by;
}
static void clear(int all) { (void)all; }

static edf_device_table table = { built, pass, run, NULL, no_copy, clear };

static void leave(void) {
  edf_device = NULL;
  edf_clear();
  replays = passes = knows = 0;
}

/* In a recorded pass no node's code runs, and yet its gradients have arrived. */
TEST(a_replay_leaves_gradients_that_count) {
  static const edf_real data[] = { 1, 2, 3, 4 };
  Input *x = edf_input("x[b,2]");
  Parameter *p = edf_parameter("p[2]");
  CompNode *u = Einsum("u[b,i] = x[b,i] p[i]", x, p), *loss = Mean(u), *other = Square(p);
  edf_feed(x, data, 2);
  edf_device = &table;
  Forward();
  Backward(loss);
  CHECK(passes == 2 && u->value[3] == 0, "%d passes", passes);
  edf_feed(x, data, 2);
  replays = 1;
  edf_forward_to(loss);
  CHECK(u->ran == edf.feeds && other->ran != edf.feeds, "other nodes have run");
  Backward(loss);
  CHECK(edf_grad(p)[0] == 7, "the gradient is %g", (double)p->grad[0]);
  edf_push(p);
  TRY(Backward(loss));
  CHECK(panicked, "p has moved");
  edf_forward_to(loss);
  Backward(loss);
  leave();
}

/* The labels are looked at before the pass, since a device cannot stop. An eager node has no
   pass: it stops when it is built. */
static void reads_classes(int kind, edf_node *k) {
  edf_node *s = edf_parameter("s[2,3]");
  if (kind == 0) edf_node2(&edf_log_loss_op, "hw1.c", 3, s, k);
  if (kind == 1) edf_node2(&edf_softmax_log_loss_op, "hw1.c", 3, s, k);
  if (kind == 2) edf_embed_at("hw1.c", 3, edf_parameter("W[3,5]"), k);
}
TEST(wrong_classes_stop_before_the_pass) {
  static const edf_real labels[][2] = { { 1, 3 }, { -1, 0 }, { 1, (edf_real)1.5 }, { 2, 0 } };
  for (int kind = 0; kind < 24; kind++) {
    edf_node *k = edf_input_at("hw1.c", 1, "k[2]");
    edf.eager = kind >= 12;
    edf_feed(k, labels[kind % 4], 1);
    if (!edf.eager) reads_classes(kind / 4, k);
    edf_device = &table;
    knows = 1;
    if (edf.eager) TRY(reads_classes(kind / 4 - 3, k));
    else TRY(edf_forward());
    edf_device = NULL;
    edf.eager = 0;
    CHECK(panicked == (kind % 4 < 3), "case %d: %s", kind, caught);
    if (panicked) WORDS(caught, "hw1.c:3|\"k\"|0 to 2");
    CHECK(!panicked || !passes, "case %d: %s", kind, caught);
    leave();
  }
}

/* ---- A node's own code runs once in each pass, between pull and push. */
static int forwards, backwards;
static void counts_forward(edf_node *y) {
  forwards++;
  for (size_t i = 0; i < y->size; i++) y->value[i] = 2 * y->in[0]->value[i];
}
static void counts_backward(edf_node *y) {
  backwards++;
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, 2 * y->grad[i]);
}
TEST(the_code_of_a_node_runs_once_in_a_pass) {
  edf_device = &table;
  edf_node *w = edf_parameter("w[2]");
  edf_node *y = edf_compnode("Counts", counts_forward, counts_backward, w);
  for (int pass = 1; pass <= 3; pass++) {
    passes = 0;
    edf_forward();
    CHECK(forwards == pass && passes == 1, "%d forwards, %d passes", forwards, passes);
    edf_backward(y);
    CHECK(backwards == pass && passes == 2, "%d backwards, %d passes", backwards, passes);
    CHECK(w->grad[1] == 1, "w.grad is %g", (double)w->grad[1]);
  }
  CHECK(forwards == 3, "%d forwards", forwards);
  leave();
}

/* ---- What a device is told. It writes down each call as a word: v, g, m or s for an array. */
static char told[4000];
static void note(const char *call, edf_node *x, int array) {
  size_t n = strlen(told);
  snprintf(told + n, sizeof told - n, "%s%s%s%c ", call, x ? " " : "", x ? x->name : "",
           array < 0 ? '.' : "vgms"[array]);
}
static int whole_passes;
static int note_pass(void (*nodes)(void), int whole) {
  whole_passes += whole;
  return pass(nodes, whole);
}
static void note_copy(edf_node *x, edf_which a, edf_access by) {
  note(by == EDF_READS ? "pull" : "push", x, (int)a);
}
static void note_clear(int all) { note(all ? "clear-all" : "clear", NULL, -1); }
static double steps;                     /* what update returns */
static double note_update(edf_node **p, int n, const edf_rule *rule, const edf_real *c) {
  (void)p, (void)c;
  note(rule->name, NULL, -1);
  return steps < 0 ? steps : n * 0;
}
static edf_device_table noting = { built, note_pass, run, note_update, note_copy, note_clear };
static edf_device_table *opened(void) { return &noting; }

#define TOLD(call, words) do { *told = 0; call; WORDS(told, words); } while (0)

static void broken_forward(edf_node *y) { edf_stop("%s is broken", y->name); }

TEST(a_device_is_told_what_the_host_has_written_and_reads) {
  static const edf_real data[] = { 1, 2 };
  edf_open_device = opened;
  edf_node *x = edf_input("x[2]"), *w = edf_parameter("w[2]"), *y = edf_name(Mul(x, w), "y");
  CHECK(edf_device == &noting && !edf_open_device, "the first node opens the device");
  TOLD(edf_feed(x, data, 1), "push xv");
  whole_passes = 0;
  Forward();
  CHECK(whole_passes == 1, "Forward is a whole pass");
  Backward(y);
  CHECK(whole_passes == 2, "Backward is one, too");
  TOLD(edf_value(y), "pull yv");
  TOLD(edf_grad(w), "pull wg");
  TOLD(edf_push_grad(w), "push wg");
  steps = -1;                            /* no kernel for the rule */
  TOLD(SGD(1), "SGD|pull wv|pull wg|pull wm|pull ws|push wv|push wg|push wm|push ws");
  CHECK(w->value[1] == -1, "w is %g", (double)w->value[1]);          /* 0 - 2/2 */
  TOLD(edf_push(w), "push wv");
  Forward();
  Backward(y);
  steps = 0;
  TOLD(SGD(1), "SGD");
  CHECK(w->value[1] == -1 && !strstr(told, "pull"), "the rule runs on the device: %s", told);
  edf_compnode("Broken", broken_forward, NULL, w);
  TRY(Forward());
  TOLD(edf_clear_compnodes(), "clear.");
  CHECK(!strstr(told, "all") && edf_device == &noting, "after an error it is back: %s", told);
  TOLD(edf_clear(), "clear-all.");
  edf_device = NULL;                     /* It was paused by the error, and is not any more.  */
  edf_clear();
  CHECK(!edf_device, "a clear brings a device back");
  leave();
}

int main(void) { return harness_main(); }
