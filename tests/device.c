/* device.c - what a device relies on: nodes run in passes, wrong class numbers stop a program
   before the pass, and the gradients of a recorded pass count. The device here is the CPU.
   Which arrays are copied, and when, is checked by cuda.sh on a GPU that is emulated. */

#include "harness.h"
#include "edf_slide.h"

static int passes;
static int replays;                    /* passes are recorded ones: no node's code runs */

static int node(edf_node *y, int backward) {
  (void)y, (void)backward;
  return 0;                            /* It knows no node. */
}

static void contract(const edf_route *r, int assign, edf_node *const of[3], unsigned grads) {
  static const edf_real one = 1;
  const edf_real *v[3];
  for (int k = 0; k < 3; k++)
    v[k] = !of[k] ? &one : grads >> k & 1 ? of[k]->grad : of[k]->value;
  edf_contract(r, assign, (edf_real *)v[EDF_OUT], v[EDF_A], v[EDF_B]);
}

static int pass(void (*nodes)(void), int whole) {
  (void)whole;
  passes++;
  if (!replays) nodes();
  else if (edf.parameters[0]->grad) edf.parameters[0]->grad[0] = 7;
  return replays;
}

static void fill(edf_node *x, edf_which array, edf_real number) {
  edf_real *to = array == EDF_VALUE ? x->value : x->grad;
  for (size_t i = 0; i < x->size; i++) to[i] = number;
}

static void no_copy(edf_node *x, edf_which array) { (void)x, (void)array; }
static void clear(int all) { (void)all; }

static edf_device_table table = {
  node, contract, NULL, pass, fill, NULL, no_copy, no_copy, clear, NULL
};

static void leave(void) {
  edf_device = NULL;
  edf_clear();
  replays = passes = 0;
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

/* The labels are looked at before the pass, since a device cannot stop. */
TEST(wrong_classes_stop_before_the_pass) {
  static const edf_real labels[][2] = { { 1, 3 }, { -1, 0 }, { 1, (edf_real)1.5 }, { 2, 0 } };
  for (int kind = 0; kind < 12; kind++) {
    edf_node *k = edf_input_at("hw1.c", 1, "k[2]"), *s = edf_parameter("s[2,3]");
    if (kind / 4 == 0) edf_log_loss_at("hw1.c", 3, s, k);
    if (kind / 4 == 1) edf_softmax_log_loss_at("hw1.c", 3, s, k);
    if (kind / 4 == 2) edf_embed_at("hw1.c", 3, edf_parameter("W[3,5]"), k);
    edf_feed(k, labels[kind % 4], 1);
    edf_device = &table;
    TRY(edf_forward());
    edf_device = NULL;
    CHECK(panicked == (kind % 4 < 3), "case %d: %s", kind, caught);
    if (panicked) WORDS(caught, "hw1.c:3|\"k\"|0 to 2");
    CHECK(!panicked || !passes, "case %d: %s", kind, caught);
    leave();
  }
}

int main(void) { return harness_main(); }
