/* graph.c - the promises of the graph: batches that change, values that become stale, which
   nodes run and receive gradients, custom nodes and names. Eager mode,
   gradients that accumulate and several graphs are in sequences.c. */

#include "harness.h"
#include "edf/slide.h"

static int all_zero(const edf_node *x) {
  for (size_t i = 0; x->grad && i < x->size; i++) if (x->grad[i] != 0) return 0;
  return 1;
}

static edf_node *parameter_with(const char *declaration, const edf_real *numbers) {
  edf_node *p = edf_parameter("%s", declaration);
  memcpy(p->value, numbers, p->size * sizeof *numbers);
  return p;
}

/* A node that copies its first input and writes down when it runs. It counts gradients that its
   backward does not find 0. */
static edf_node *log_of_runs[20];
static int runs, unclean;
static void copy_forward(edf_node *y) {
  log_of_runs[runs++ % 20] = y;
  for (size_t i = 0; i < y->size; i++) y->value[i] = y->in[0]->value[i];
}
static void copy_backward(edf_node *y) {
  log_of_runs[runs++ % 20] = y;
  unclean += !all_zero(y->in[0]);
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, y->grad[i]);
}
static edf_node *copy_of(edf_node *x) {
  return edf_compnode("Copy", copy_forward, copy_backward, x);
}

/* ---- Declarations and the batch */

TEST(a_shape_is_known_except_for_the_batch) {
  edf_real data[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
  edf_node *x = edf_input("x[b,3]"), *w = edf_parameter("W[3,2]");
  edf_node *y = Einsum("y[b,j] = W[I,j] x[b,I]", w, x), *p = Softmax(Tanh(y)), *sum = Sum(p);
  edf_node *t = Einsum("t[j,b] = y[b,j]", y);
  CHECK(y->rank == 2 && y->dim[0] == 0 && y->dim[1] == 2 && !y->size && !y->value, "y");
  CHECK(p->dim[0] == 0 && !p->size && !p->value, "p");
  CHECK(t->dim[0] == 2 && t->dim[1] == 0 && !t->size && t->batched == 2, "t");
  CHECK(sum->rank == 0 && sum->size == 1, "the sum has no batch: %zu", sum->size);
  for (int batch = 4; batch > 0; batch--) {
    edf_feed(x, data, batch);
    CHECK(x->value == data && x->fed == batch, "the data was copied, or fed is %d", x->fed);
    Forward();
    CHECK(x->dim[0] == batch && y->dim[0] == batch && t->dim[1] == batch, "not %d", batch);
    CHECK(y->size == 2 * (size_t)batch && y->value && t->size == y->size, "not %d", batch);
  }
}

/* ---- What runs, and when a call is an error */

static struct { edf_node *x, *label, *q, *after, *loss; } model;
static edf_real rows[15] = { 1, 2, 3, 4, 5, 6, 1, 0, 1, 0, 2, 1, 5, 3, 1 };
static edf_real labels[5] = { 0, 1, 1, 0, 1 };

static void new_model(void) {
  runs = 0;
  model.x = edf_input("x[b,3]");
  model.label = edf_input_at("hw1.c", 3, "label[b]");
  model.q = Softmax(Einsum("s[b,k] = W[I,k] x[b,I]", edf_parameter("W[3,2]"), model.x));
  model.after = copy_of(model.q);
  model.loss = LogLoss(model.q, model.label);
  edf_feed(model.x, rows, 2);
}

TEST(an_entry_by_its_indices) {
  edf_node *W = edf_parameter("W[2,3]"), *c = edf_parameter("c");
  for (int i = 0; i < 6; i++) W->value[i] = (edf_real)i;
  CHECK(edf_at(W, 1, 2) == W->value + 5 && edf_at(W, 0, 1) == W->value + 1, "another entry");
  *edf_at(c) = 7;
  CHECK(c->value[0] == 7, "the entry of a scalar");
}

TEST(forward_to_runs_only_what_is_needed) {
  new_model();
  edf_forward_to(model.q);
  CLOSE(model.q->value[3], 0.5, 1e-6, 0);
  CHECK(runs == 0 && model.q->ran == edf.feeds, "a node after it ran");
  CHECK(model.q->active && !model.after->active && !model.loss->active, "active");
  edf_feed(model.label, labels, 2);
  edf_forward_to(model.loss);
  CHECK(runs == 0, "a node ran that the loss does not need");
  Backward(model.loss);
  CLOSE(model.loss->value[0], log(2), 1e-6, 0);
  Forward();
  CHECK(runs == 1 && model.after->value[0] == model.q->value[0], "Forward runs everything");
  Sum(model.after);
  Backward(model.loss);                                /* A new node makes no value stale. */
  CHECK(edf.loss == model.loss, "edf.loss");
}

/* ---- Gradients */

TEST(inputs_have_gradients_if_wanted) {
  edf_real data[3] = { 1, 2, 3 }, two[3] = { 2, 2, 2 };
  edf_node *x = edf_input("x[3]"), *z = edf_input("z[3]"), *p = parameter_with("p[3]", two);
  edf_node *xz = Mul(x, z), *loss = Sum(Mul(xz, p)), *without_p = Sum(xz);
  edf_feed(x, data, 1);
  edf_feed(z, data, 1);
  Forward();
  Backward(loss);
  CHECK(!x->grad && !z->grad && !xz->grad && !edf_grad(x), "a gradient that nobody wanted");
  CLOSE(p->grad[2], 9, 0, 0);
  CHECK(edf_want_grad(x) == x, "edf_want_grad does not return its argument");
  Backward(loss);
  CLOSE(x->grad[2], 6, 0, 0);
  CLOSE(xz->grad[1], 2, 0, 0);
  CHECK(!z->grad && x->needs_grad && xz->needs_grad && !z->needs_grad, "z");
  Backward(without_p);
  CLOSE(x->grad[2], 3, 0, 0);
  CHECK(all_zero(p), "p has a gradient of a loss that does not depend on it");
}

TEST(a_loss_may_reach_only_some_parameters) {
  edf_real numbers[2] = { 3, 4 };
  edf_node *p = parameter_with("p[2]", numbers), *q = parameter_with("q[2]", numbers);
  edf_node *side = copy_of(Mul(p, q)), *square = Square(p), *loss = Mean(square);
  Forward();
  Backward(side);
  CLOSE(p->grad[1], 2, 0, 0);
  CLOSE(q->grad[0], 1.5, 0, 0);
  CHECK(all_zero(square) && p->reached && q->reached, "the first loss reaches p and q");
  runs = 0;
  Backward(loss);
  CHECK(runs == 0, "Backward ran a node that the loss does not depend on");
  CHECK(all_zero(side) && all_zero(q), "a gradient of the first Backward is left");
  CHECK(p->reached && !q->reached, "reached: %d %d", p->reached, q->reached);
  CLOSE(loss->grad[0], 1, 0, 0);
  CLOSE(p->grad[1], 4, 0, 0);
  SGD((edf_real)0.5);
  CHECK(p->value[1] == 2 && p->steps == 1, "p makes a step");
  CHECK(q->value[1] == 4 && q->steps == 0, "q makes none");
  p->update = edf_frozen;
  Forward();
  Backward(side);
  CHECK(!p->reached && all_zero(p), "a frozen Parameter has a gradient");
  SGD((edf_real)0.5);
  CHECK(p->value[1] == 2 && p->steps == 1, "a frozen Parameter makes a step");
  CLOSE(q->value[1], 3.5, 0, 0);
}

TEST(without_backward_no_gradient_flows) {
  edf_real numbers[2] = { 3, 5 };
  edf_node *p = parameter_with("p[2]", numbers);
  edf_node *stop = edf_compnode("Stop", copy_forward, NULL, p), *blocked = Sum(stop);
  edf_node *loss = Sum(Mul(p, stop));
  edf_compnode("Beside", copy_forward, NULL, p);      /* The message does not name it. */
  Forward();
  Backward(loss);
  CLOSE(p->grad[0], 3, 0, 0);                          /* With a backward it would be 6. */
  CHECK(!stop->grad, "a node without a backward has a gradient");
  STOPS(Backward(blocked), "Sum|Stop");
}

/* ---- Parameters that move between Forward and Backward */

static struct { edf_node *p, *q, *h, *D, *G, *aside; } two;

/* D = q h and G = h h with h = p p; `aside` depends on q alone. */
static void two_losses(void) {
  edf_real number = 3;
  edf_clear();
  two.p = edf_parameter_at("hw1.c", 1, "p");
  two.q = edf_parameter_at("hw1.c", 2, "q");
  two.p->value[0] = two.q->value[0] = number;
  two.h = edf_name(edf_node1(&edf_square_op, "hw1.c", 3, two.p), "h");
  two.D = edf_name(edf_node2(&edf_mul_op, "hw1.c", 4, two.q, two.h), "D");
  two.G = edf_name(edf_node1(&edf_square_op, "hw1.c", 5, two.h), "G");
  two.aside = edf_name(edf_node1(&edf_square_op, "hw1.c", 6, two.q), "aside");
  Forward();
  Backward(two.D);
}

static void by_sgd(void) { SGD((edf_real)0.5); }
static void by_own_update(edf_node *p, edf_real eta) { p->value[0] -= eta; }
static void by_update(void) { edf_update(two.p, &edf_sgd_rule, two.q->value); }
static void by_uniform(void) { edf_init_uniform(two.p, 0, 1); }
static void by_normal(void) { edf_init_normal(two.p, 0, 1); }
static void by_push(void) { two.p->value[0] = 1; edf_push(two.p); }
static void (*const moves[])(void) = { by_sgd, by_update, by_uniform, by_normal, by_push };

TEST(backward_stops_if_a_parameter_has_moved) {
  for (int k = 0; k < 5; k++) {
    two_losses();
    moves[k]();
    STOPS(Backward(two.G), "edf_backward|edf_forward|\"p\"|hw1.c:1|\"h\"|hw1.c:3|\"G\"");
    two_losses();
    two.p->update = k ? edf_frozen : by_own_update;      /* A frozen one moves by hand. */
    moves[k]();
    TRY(Backward(two.D));
    CHECK(panicked, "move %d: no error", k);
    two_losses();
    moves[k]();
    Forward();
    Backward(two.G);
    CLOSE(two.p->grad[0], 4 * pow((double)two.p->value[0], 3), 1e-6, 1e-6);
  }
}

/* Only the Parameters of the loss count, and only if their values have changed. */
TEST(backward_goes_on_if_its_parameters_have_not_moved) {
  two_losses();
  Backward(two.aside);
  SGD((edf_real)0.5);
  Backward(two.G);                                       /* q has moved, p has not. */
  CLOSE(two.p->grad[0], 4 * 27, 0, 0);
  two_losses();
  edf_clip(1);
  edf_l2(1);
  edf_l1(1);
  edf_push_grad(two.p);
  CAPTURE(edf_gradcheck(two.G));
  Backward(two.D);
  CLOSE(two.p->grad[0], 3 * 6, 0, 0);
  Backward(two.aside);
}

/* A node is old if one of its inputs has run again since the move. */
TEST(a_part_of_forward_is_not_enough) {
  two_losses();
  by_push();
  edf_forward_to(two.h);
  Backward(two.h);
  STOPS(Backward(two.G), "\"p\"|hw1.c:1|\"G\"|hw1.c:5");
}

TEST(eager_nodes_are_old_too) {
  two_losses();
  edf.eager = 1;
  edf_node *y = Square(two.p);
  by_push();
  edf_node *z = Mul(two.p, two.p);
  Backward(z);
  TRY(Backward(y));
  edf.eager = 0;
  CHECK(panicked, "no error");
}

/* A node that moves a Parameter while it runs, such as a running mean, makes no node old. */
static void counting_forward(edf_node *y) {
  copy_forward(y);
  y->in[1]->value[0]++;
  edf_push(y->in[1]);
}

TEST(running_statistics_are_no_move) {
  edf_node *p = edf_parameter("p[2]"), *mean = edf_parameter("mean"), *y = p;
  mean->update = edf_frozen;
  for (int k = 0; k < 3; k++)
    y = edf_compnode("Counts", counting_forward, copy_backward, y, mean);
  Forward();
  Backward(y);
  CHECK(mean->value[0] == 3, "%g", (double)mean->value[0]);
  edf_push(mean);
  TRY(Backward(y));
  CHECK(panicked, "no error");
}

/* A matrix product reads W again after a plain write. */
TEST(a_plain_write_to_a_parameter_counts) {
  static edf_real data[9 * 24], right[9 * 24];
  for (int i = 0; i < 9 * 24; i++) data[i] = (edf_real)(i * 37 % 41) / 41;
  edf_node *x = edf_input("x[b,24]"), *w = edf_parameter("W[24,24]");
  edf_node *y = Einsum("y[b,j] = W[I,j] x[b,I]", w, x);
  edf_feed(x, data, 9);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 24 * 24; i++) w->value[i] = (edf_real)(i * 7 % 29 - 14 * round) / 60;
    edf.kernel = EDF_FASTEST;
    Forward();
    memcpy(right, y->value, sizeof right);
    edf.kernel = EDF_REFERENCE;
    Forward();
    for (int i = 0; i < 9 * 24; i++) CLOSE(right[i], y->value[i], 1e-5, 1e-5);
  }
  edf.kernel = EDF_FASTEST;
}

/* ---- Custom nodes */

/* The custom nodes are the last to read w, h and x, so their backwards are the first to add. */
TEST(a_custom_backward_finds_zeros) {
  for (edf.kernel = EDF_FASTEST; edf.kernel <= EDF_REFERENCE; edf.kernel++) {
    edf_node *x = edf_want_grad(edf_input("x[b,3]")), *w = edf_parameter("W[3,3]");
    edf_node *h = Einsum("h[b,j] = W[I,j] x[b,I] + x[b,j]", w, x);
    edf_node *g = Einsum("g[b,j] = W[I,j] h[b,I] - h[b,j]", w, h);
    edf_node *loss = Add(Add(Add(g, copy_of(h)), copy_of(x)), Mean(copy_of(w)));
    for (int i = 0; i < 9; i++) w->value[i] = (edf_real)(i - 4) / 8;
    unclean = 0;
    for (int batch = 2; batch <= 4; batch++) {
      edf_feed(x, rows, batch);
      Forward();
      Backward(loss);
      CHECK(!all_zero(x) && !all_zero(w) && !all_zero(h), "no gradient");
      Backward(loss);
    }
    CHECK(unclean == 0, "kernel %d: %d gradients were not 0", edf.kernel, unclean);
    edf_clear();
  }
  edf.kernel = EDF_FASTEST;
}

static void look_at_the_end(void) { log_of_runs[runs++ % 20] = edf.loss; }

TEST(nodes_run_in_order_of_construction) {
  edf_node *p = edf_parameter("p[2]"), *c[4];
  for (int i = 0; i < 4; i++) c[i] = copy_of(i ? c[i / 2] : p);
  edf_node *loss = Add(Add(c[3], c[2]), c[1]);
  edf.after_backward = look_at_the_end;
  for (int pass = 0; pass < 2; pass++) {
    runs = 0;
    Forward();
    Backward(loss);
    CHECK(runs == 9 && log_of_runs[8] == loss, "%d runs, edf.after_backward is last", runs);
    for (int i = 0; i < 4; i++) {
      CHECK(log_of_runs[i] == c[i], "forward %d was %s", i, log_of_runs[i]->name);
      CHECK(log_of_runs[7 - i] == c[i], "backward %d was %s", 7 - i, log_of_runs[7 - i]->name);
      CHECK(edf.compnodes[i] == c[i] && c[i]->position == i, "position %d", c[i]->position);
    }
  }
  edf.after_backward = NULL;
}

/* A node may make its Parameter when it first runs. The pass goes on. */
static void making_forward(edf_node *y) {
  if (edf.n_parameters == 1) edf_parameter("late");
  copy_forward(y);
}

TEST(a_pass_goes_on_when_its_node_builds) {
  edf_node *y = edf_compnode("Makes", making_forward, copy_backward, edf_parameter("p[2]"));
  edf_node *loss = copy_of(y);
  runs = 0;
  Forward();
  CHECK(runs == 2 && edf.at == -1 && edf.n_parameters == 2, "%d nodes ran", runs);
  Backward(loss);
  CHECK(runs == 4, "%d nodes ran", runs);
}

/* ---- Names */

TEST(names_are_unique_copies) {
  char name[] = "h";
  edf_node *w = edf_parameter("w[3]"), *again = edf_parameter("w[3]"), *u = Tanh(w);
  edf_node *h = edf_name(Tanh(w), name), *twin = edf_name(Tanh(h), "h");
  AffineParams second = (edf_affine_params(3, 2), edf_affine_params(2, 4));
  name[0] = 'Z';
  CHECK(!strcmp(again->name, "w@1") && !strcmp(w->name, "w"), "%s", again->name);
  CHECK(!strcmp(u->name, "Tanh0") && !strcmp(edf_label(u), "Tanh0"), "%s", u->name);
  CHECK(!strcmp(h->name, "h") && !strcmp(edf_label(twin), "h@2"), "%s", edf_label(twin));
  CHECK(!strcmp(second.w->name, "w2") && !strcmp(second.b->name, "b2"), "%s", second.w->name);
}

/* A label lasts as long as its node. */
TEST(labels_last) {
  edf_node *a = edf_name(Tanh(edf_parameter("w[3]")), "h"), *b = edf_name(Tanh(a), "h");
  const char *first = edf_label(a), *second = edf_label(b), *name = a->name;
  for (int i = 0; i < 30000; i++) edf_label(i % 2 ? a : b);
  CHECK(!strcmp(first, "h@0") && !strcmp(second, "h@1"), "%s %s", first, second);
  CHECK(edf_label(b) == second, "the label was made again");
  edf_name(a, "k");
  CHECK(!strcmp(edf_label(a), "k") && !strcmp(edf_label(b), "h"), "the new labels");
  edf_name(b, "k");
  CHECK(!strcmp(edf_label(a), "k@0") && !strcmp(edf_label(b), "k@1"), "the newest labels");
  CHECK(!strcmp(first, "h@0") && !strcmp(second, "h@1") && !strcmp(name, "h"), "%s", first);
  edf_node *c = edf_name(Tanh(b), "k");
  edf_snapshot *taken = edf_take_snapshot();
  const char *inside = edf_label(c);
  edf_restore(taken);
  CHECK(!strcmp(inside, "k@2") && edf_label(c) == inside, "the label was made again");
}

int main(void) { return harness_main(); }
