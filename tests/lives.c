/* lives.c - edf_print_memory tells when a value is read last. Here each value becomes NaN at
   that moment, and the gradients and the loss stay the same. Just before it, they do not. */

#include "models.h"

enum { NODES = 600, NUMBERS = 4096 };
/* The last reader of node i: a Forward, a Backward, or neither. */
static struct { int forward, backward; } last[NODES];

/* Reads the lines "bytes   i  name: Forward of k  name" of what was printed. */
static int read_lives(void) {
  int n = 0;
  for (int i = 0; i < NODES; i++) last[i].forward = last[i].backward = -1;
  for (const char *c = captured; *c; c += *c == '\n') {
    char kind;
    int i, by;
    if (sscanf(c, "%*d %d %*[^:]: %c%*[a-z] of %d", &i, &kind, &by) == 3 && i >= 0 && i < NODES) {
      *(kind == 'F' ? &last[i].forward : &last[i].backward) = by;
      n++;
    }
    c += strcspn(c, "\n");
  }
  return n;
}
static void poison(edf_node *x) {
  if (x == edf.loss) return;
  for (size_t i = 0; i < x->size; i++) x->value[i] = (edf_real)NAN;
}
/* Runs a step node by node. The value of a node is lost after its last reader. That of node
   `early` is lost just before it. Copies the gradients of the Parameters, and the loss. */
static size_t step(int early, edf_real *to) {
  size_t n = 0;
  edf_node *y;
  edf_seed(1);                                     /* the same dropout */
  for (int backward = 0; backward < 2; backward++)
    for (int i = 0; i < edf.n_compnodes; i++) {
      int at = backward ? edf.n_compnodes - 1 - i : i;
      for (int k = 0; k < edf.n_compnodes; k++)
        if (k == early && at == (backward ? last[k].backward : last[k].forward))
          poison(edf.compnodes[k]);
      y = edf.compnodes[at];
      if (y->active && !backward) y->forward(y);
      if (y->active && backward && y->needs_grad && y->backward) {
        for (int k = 0; k < y->n_in; k++)
          if (y->in[k]->grad && y->in[k]->grad_is_zero) {
            memset(y->in[k]->grad, 0, y->in[k]->size * sizeof *y->in[k]->grad);
            y->in[k]->grad_is_zero = 0;
          }
        y->backward(y);
      }
      for (int k = 0; k < edf.n_compnodes; k++)
        if (at == (backward ? last[k].backward : last[k].forward)) poison(edf.compnodes[k]);
    }
  for (int p = 0; p < edf.n_parameters; p++) {
    const edf_node *w = edf.parameters[p];
    if (w->grad) memcpy(to + n, w->grad, w->size * sizeof *to);
    n += w->grad ? w->size : 0;
  }
  to[n++] = *edf.loss->value;
  return n;
}
static void ready(edf_node *loss) {
  edf_forward_to(loss);
  edf_backward(loss);
  for (int i = 0; i < edf.n_compnodes; i++)
    edf.compnodes[i]->grad_is_zero = edf.compnodes[i] != loss;
  for (int p = 0; p < edf.n_parameters; p++) edf.parameters[p]->grad_is_zero = 1;
}
TEST(a_value_is_not_read_after_its_life) {
  static edf_real right[NUMBERS], found[NUMBERS];
  int tight = 0, all = 0;
  for (int k = 0; k < MODELS; k++) {
    edf_clear();
    declare_plain(models[k].tensors);
    models[k].build();
    edf_node *loss = edf.compnodes[edf.n_compnodes - 1];
    CHECK(edf.n_compnodes <= NODES, "%d nodes", edf.n_compnodes);
    ready(loss);
    for (int i = 0; i < NODES; i++) last[i].forward = last[i].backward = -1;
    size_t n = step(-1, right);
    CHECK(n && n <= NUMBERS, "%zu numbers", n);
    CAPTURE(edf_print_memory(stdout));
    CHECK(read_lives() > 0, "nothing in\n%s", captured);
    ready(loss);
    step(-1, found);
    CHECK(!memcmp(right, found, n * sizeof *found), "%s: a value was read after\n%s",
          models[k].tensors, captured);
    for (int i = 0; i < edf.n_compnodes; i++) {
      if (last[i].forward < 0 && last[i].backward < 0) continue;
      ready(loss);
      step(i, found);
      tight += memcmp(right, found, n * sizeof *found) != 0;
      all++;
    }
  }
  CHECK(tight > 0.9 * all, "%d of %d values are read at the end of their life", tight, all);
}

/* ---- The plan: its arrays do not overlap, and it has the size of a chain by hand. */
static const edf_real rows[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
TEST(a_chain_needs_two_arrays) {
  edf_node *x = edf_input("x[b,4]"), *y = x;
  for (int k = 0; k < 5; k++) y = edf_tanh(y);
  edf_feed(x, rows, 2);
  edf_forward();
  CAPTURE(edf_print_memory(stdout));
  size_t one = 8 * sizeof(edf_real);
  WORDS(captured, edf_fmt("%12zu   0  Tanh0: Forward of 1  Tanh1\n|4  Tanh4: a result\n|"
                          "%12zu  parameters\n|%12zu  values of Forward alone, each in its own"
                          " array\n%12zu  the same in arrays that are used again, at least %zu\n",
                          one, (size_t)0, 5 * one, 2 * one, 2 * one));
}
/* tanh reads y in Backward, so all values stay. Two gradients live at a time. */
TEST(backward_keeps_the_values) {
  edf_node *x = edf_want_grad(edf_input("x[b,4]")), *y = x;
  for (int k = 0; k < 5; k++) y = edf_tanh(y);
  edf_feed(x, rows, 2);
  edf_forward();
  edf_backward(y);
  CAPTURE(edf_print_memory(stdout));
  size_t one = 8 * sizeof(edf_real);
  WORDS(captured, edf_fmt("  0  Tanh0: Backward of 0  Tanh0\n|  4  Tanh4: Backward of 4  Tanh4\n|"
                          "%12zu  values and gradients, each in its own array\n%12zu  the same in"
                          " arrays that are used again, at least %zu\n",
                          10 * one, 7 * one, 7 * one));
}
/* A node of edf_compnode has no formula. So its backward may read all. */
static void twice(edf_node *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = 2 * y->in[0]->value[i];
}
static void twice_back(edf_node *y) {
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, 2 * y->grad[i]);
}
TEST(an_own_node_reads_all) {
  edf_node *x = edf_want_grad(edf_input("x[b,4]"));
  edf_node *y = edf_sum(edf_compnode("Twice", twice, twice_back, edf_add(x, x)));
  edf_feed(x, rows, 2);
  edf_forward();
  edf_backward(y);
  CAPTURE(edf_print_memory(stdout));
  WORDS(captured, "0  Add0: Backward of 1  Twice1\n|1  Twice1: Backward of 1  Twice1\n|"
                  "2  Sum2: a result\n");
}
TEST(an_unknown_batch_is_an_error) {
  edf_tanh(edf_input("x[b,4]"));
  STOPS(edf_print_memory(stdout), "edf_print_memory|the batch has no size yet|edf_forward");
}

int main(void) { return harness_main(); }
