/* guards.c - guards of the graph that no other test holds. Each test was missing when
   `make mutants` put a mistake in its place, and nothing failed. */

#include "harness.h"
#include "edf/slide.h"
#include <stdint.h>

static const edf_real rows[] = { 1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12 };
static void copy_forward(edf_node *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = y->n_in ? y->in[0]->value[i] : 7;
}
static void nothing(edf_node *y) { (void)y; }

/* ---- Sizes */

/* 2^61 numbers have 2^64 bytes or more, which a size_t does not have. */
TEST(bytes_do_not_overflow) {
  STOPS(edf_parameter("W[2097152,2097152,524288]"), "too large|\"W\"");
  STOPS(edf_keep(NULL, (size_t)-2), "out of memory");
}

/* A dimension may be the batch less a window. It is 0 until the batch is known. */
static void windows(edf_node *y) {
  y->rank = 1;
  y->dim[0] = y->in[0]->dim[0] + 1 - 3;
}
TEST(a_dimension_may_be_shorter_than_the_batch) {
  edf_node *x = edf_input("x[b]");
  edf_node *y = edf_compnode_shaped("Windows", windows, copy_forward, nothing, x);
  CHECK(y->dim[0] == 0 && y->size == 0, "%d windows of no rows", y->dim[0]);
  edf_feed(x, rows, 5);
  edf_forward();
  CHECK(y->dim[0] == 3 && edf_value(y)[2] == 3, "%d windows of 5 rows", y->dim[0]);
}

static void only_a_dimension(edf_node *y) { y->dim[0] = 3; }
static void label_of_input(edf_node *y) {
  y->rank = 1;
  y->dim[0] = (int)strlen(edf_label(y->in[0]));
}

TEST(a_shape_function_sets_the_rank) {
  edf_node *x = edf_parameter("w[4]");
  edf_node *y = edf_compnode_shaped("Scalar", nothing, copy_forward, nothing, x);
  CHECK(y->rank == 0 && y->size == 1, "rank %d, size %zu", y->rank, y->size);
  edf_node *z = edf_compnode_shaped("Label", label_of_input, nothing, nothing, x);
  CHECK(z->rank == 1 && z->dim[0] == 1, "%d entries", z->dim[0]);
  STOPS(edf_compnode_shaped("Bad", only_a_dimension, copy_forward, nothing, x),
        "Bad|y->dim|y->rank");
}

TEST(a_node_may_have_no_inputs) {
  char op[] = "Seven";
  edf_node *y = edf_compnode_shaped(op, nothing, copy_forward, nothing, (edf_node *)0);
  op[0] = 'E';
  edf_forward();
  CHECK(y->n_in == 0 && edf_value(y)[0] == 7, "%d inputs, %g", y->n_in, (double)y->value[0]);
  CHECK(!strcmp(y->op, "Seven"), "the op is %s", y->op);
}

/* The inputs of a node stay what they are when other nodes are built. */
TEST(a_node_may_have_many_inputs) {
  static const edf_op many = { "Many", NULL, copy_forward, nothing, "", "", "", 0, NULL };
  edf_node *p[99], *y;
  for (int i = 0; i < 99; i++) p[i] = edf_parameter("p%d[2]", i);
  y = edf_node_at(&many, __FILE__, __LINE__, 99, p, NULL, 0);
  for (int i = 0; i < 9; i++) edf_tanh(p[i]);
  for (int i = 0; i < 99; i++) CHECK(y->in[i] == p[i], "input %d is another node", i);
  CHECK(y->n_in == 99, "%d inputs", y->n_in);
}

/* ---- Values that are not there yet, and the batch */

TEST(a_value_needs_a_feed_or_a_forward) {
  STOPS(edf_value(edf_input("x[b]")), "edf_value|no value|feed it");
  STOPS(edf_value(edf_tanh(edf_parameter("w[2]"))), "edf_value|no value|edf_forward");
}

TEST(eager_nodes_have_the_batch_of_the_feed) {
  edf_node *x = edf_input("x[b,2]"), *z = edf_input("z[b,2]"), *u = edf_input("u[2]");
  edf_feed(x, rows, 1);
  edf.eager = 1;                         /* after the feed */
  edf_node *y = edf_square(x);
  CHECK(y->dim[0] == 1 && y->value[1] == 4, "%d rows", y->dim[0]);
  edf_feed(x, rows, 3);
  CHECK(x->dim[0] == 3 && x->size == 6, "%d rows", x->dim[0]);
  y = edf_square(x);
  CHECK(y->dim[0] == 3 && y->value[5] == 36, "%d rows", y->dim[0]);
  TRY(edf_square(u));
  CHECK(panicked, "u was not fed");
  edf_feed(z, rows, 5);
  edf_feed(u, rows, 1);
  TRY(edf_add(z, x));
  CHECK(panicked, "x has 3 rows, and z has 5");
  edf.eager = 0;
}

TEST(a_feed_of_another_batch_makes_an_operand_old) {
  edf_node *x = edf_input("x[b,2]");
  edf.eager = 1;
  edf_feed(x, rows, 2);
  edf_node *y = edf_square(x);
  edf_feed(x, rows, 3);
  TRY(edf_tanh(y));
  CHECK(panicked, "y is of the feed before");
  edf.eager = 0;
}

TEST(another_batch_makes_values_old) {
  edf_node *x = edf_input("x[b,2]"), *z = edf_input("z[b,2]"), *w = edf_parameter("w[2]");
  edf_node *of_x = edf_einsum("p[b] = w[I] x[b,I]", w, x);
  edf_node *of_z = edf_einsum("q[b] = w[I] z[b,I]", w, z);
  edf_feed(x, rows, 3);
  edf_feed(z, rows, 5);
  edf_forward_to(of_x);
  edf_backward(of_x);
  edf_forward_to(of_z);
  edf_backward(of_z);
  CHECK(edf_value(of_z) == of_z->value, "q has run");
  STOPS(edf_backward(of_x), "no value|edf_forward|\"p\"");
}

/* ---- Gradients and steps */

/* The message names a node that cuts the path of this loss, and no other one. */
TEST(only_a_node_below_the_loss_cuts_its_path) {
  edf_node *w = edf_parameter("w[2]"), *x = edf_input("x[2]");
  edf_node *loss = edf_square(x), *other = edf_compnode("Other", copy_forward, NULL, w);
  edf_feed(x, rows, 1);
  edf_forward();
  CAPTURE(edf_backward(loss));
  CHECK(panicked && !strstr(caught, other->name), "%s", caught);
}

TEST(a_backward_by_steps_has_no_gradients_until_it_ends) {
  edf_node *loss = edf_square(edf_square(edf_parameter("w[2]")));
  edf_forward();
  edf_backward(loss);
  edf_step_backward();
  STOPS(edf_sgd(1), "edf_step|no gradients|edf_backward");
}

static void calls_sgd(edf_node *p, edf_real eta) { (void)p; edf_sgd(eta); }
TEST(an_update_function_makes_no_step) {
  edf_node *w = edf_parameter("w[2]"), *loss = edf_square(w);
  w->update = calls_sgd;
  edf_forward();
  edf_backward(loss);
  STOPS(edf_sgd(1), "edf_step|update function|edf_update");
}

/* Rules run on groups of up to 256 Parameters. Each makes one step. */
TEST(each_of_600_parameters_makes_one_step) {
  edf_node *p[600], *loss = NULL;
  for (int i = 0; i < 600; i++) {
    p[i] = edf_parameter("p%d", i);
    loss = loss ? edf_add(loss, p[i]) : p[i];
    p[i]->value[0] = (edf_real)i;
  }
  edf_forward();
  edf_backward(loss);
  edf_sgd((edf_real)0.5);
  for (int i = 0; i < 600; i++)
    CLOSE(p[i]->value[0], i - 0.5, 0, 0);
}

/* ---- The code of a node */

static void nearly_copies(edf_node *y) {
  for (size_t i = 1; i < y->size; i++) y->value[i] = y->in[0]->value[i];
}
/* Without EDF_DEBUG an entry that a forward does not write stays. */
TEST(an_entry_that_is_not_written_stays) {
  edf_node *y = edf_compnode("Nearly", nearly_copies, nothing, edf_parameter("w[3]"));
  y->value[0] = 5;
  edf_forward();
  edf_forward();
  CHECK(y->value[0] == 5 && y->value[1] == 0, "%g, %g", (double)y->value[0],
        (double)y->value[1]);
}

static edf_node *moved;
static void moves_forward(edf_node *y) {
  if (moved->value[0] < 100)
    for (size_t i = 0; i < moved->size; i++) moved->value[i] *= 2;
  edf_push(moved);
  copy_forward(y);
}
static void moves_backward(edf_node *y) {
  edf_push(moved);
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, y->grad[i]);
}
/* A node may move a Parameter while it runs, such as a running mean. Its backward, too. */
TEST(a_backward_may_move_a_parameter) {
  edf_node *x = edf_parameter("x[2]");
  moved = edf_parameter("mean");
  edf_node *y = edf_compnode("Moves", moves_forward, moves_backward, x, moved);
  edf_forward();
  edf_backward(y);
  edf_backward(y);                       /* The values of Forward still count.                */
  CHECK(x->grad[1] == 0.5, "x.grad is %g", (double)x->grad[1]);
}

static int adds;
static edf_real seen;
static void looks_backward(edf_node *y) {
  seen = moved->grad[1];
  for (int k = 0; k < 2 && adds; k++)
    for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[k], i, y->grad[i]);
}
/* A gradient begins with zeros, not with that of the Backward before. Without optimisation, as
   here in double, a debugger shows the zeros early. */
TEST(gradients_begin_with_zeros) {
  edf_node *w = edf_parameter("w[2]");
  moved = edf_parameter("p[2]");
  edf_node *square = edf_square(moved);
  edf_node *y = edf_compnode("Looks", copy_forward, looks_backward, w, square);
  moved->value[1] = 5;
  for (int pass = 0; pass < 4; pass++) {
    adds = pass != 2;                    /* else no node adds to the gradients               */
    seen = 9;
    edf_forward();
    edf_backward(y);
    edf_real expected = (edf_real)(adds ? 5 : 0);
    CHECK(moved->grad[1] == expected && w->grad[1] == expected / 10, "pass %d: %g, %g", pass,
          (double)moved->grad[1], (double)w->grad[1]);
    CHECK(seen == 0 || !EDF_REAL_IS_DOUBLE, "a debugger shows %g", (double)seen);
  }
}

TEST(gradients_that_another_loss_has_left_are_zeros) {
  edf_node *p = edf_parameter("p[2]"), *q = edf_parameter("q[2]"), *h = edf_square(q);
  edf_node *of_p = edf_square(p), *of_q = edf_square(h);
  p->value[1] = q->value[1] = 3;
  edf_forward();
  edf_backward(of_q);
  CHECK(q->grad[1] == 54 && h->grad[1] == 9, "%g, %g", (double)q->grad[1], (double)h->grad[1]);
  edf_backward(of_p);
  CHECK(p->grad[1] == 3 && q->grad[1] == 0 && h->grad[1] == 0, "%g, %g, %g",
        (double)p->grad[1], (double)q->grad[1], (double)h->grad[1]);
}

/* Steps that a debugger makes inside of a Forward end it. It is told once. */
static int ends;
static void steps_inside(edf_event event, edf_node *x) {
  (void)x;
  if (event == EDF_BEGIN_FORWARD) while (edf_step_forward()) {}
  ends += event == EDF_END_FORWARD;
}
TEST(a_forward_that_steps_have_ended_ends_once) {
  edf_node *y = edf_square(edf_square(edf_parameter("w[2]")));
  edf.told = steps_inside;
  ends = 0;
  edf_forward();
  edf.told = NULL;
  CHECK(ends == 1 && y->ran, "%d ends", ends);
}

/* ---- Cleared nodes */

TEST(a_new_graph_has_the_first_name_of_the_batch) {
  edf_input("x[n,2]");
  edf_clear();
  CHECK(!strcmp(edf.batch_name, "b"), "%s", edf.batch_name);
}

/* A cleared node keeps the first 31 characters of its name, and nothing else. */
TEST(all_nodes_are_cleared) {
  static char name[61];
  edf_node *w = edf_parameter("w[2]"), *y[5];
  for (int i = 0; i < 5; i++) {
    y[i] = edf_tanh(w);
    snprintf(name, sizeof name, "%.*s", i ? 29 + i : 60,
             "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefgh");
    edf_name(y[i], name);
  }
  edf_step_forward();
  edf_clear_compnodes();
  CAPTURE(edf_where());
  CHECK(edf.at == -1 && !strcmp(captured, "nothing runs\n"), "at %d: %s", edf.at, captured);
  for (int i = 0; i < 5; i++) {
    size_t n = !i || i > 2 ? 31 : (size_t)(29 + i);
    CHECK(!y[i]->value && !y[i]->n_in, "node %d has a pointer", i);
    CHECK(y[i]->kind == EDF_COMPNODE && y[i]->position == -1 && y[i]->fed == -1, "node %d", i);
    CHECK(!strcmp(y[i]->op, "a cleared node"), "its op is %s", y[i]->op);
    CHECK(strlen(y[i]->name) == n, "%zu characters of node %d", strlen(y[i]->name), i);
  }
}

/* Nodes of a graph lie at multiples of their distance. After a clear they lie elsewhere. What
   lies behind the last one is no node. */
TEST(nodes_lie_where_no_node_lay) {
  edf_node *w = edf_parameter("w[2]"), *y[3000];
  size_t distance = 0, first = 0, before = 0;
  for (int k = 0; k < 41; k++) {
    for (int i = 0; i < 3000; i++) y[i] = edf_tanh(w);
    if (!k) distance = (size_t)((char *)y[1] - (char *)y[0]);
    first = (size_t)(uintptr_t)y[0] % distance;
    CHECK(first != before, "the %d-th graph begins like the one before", k);
    before = first;
    for (int i = 0; i < 3000; i++)
      CHECK((size_t)(uintptr_t)y[i] % distance == first, "graph %d, node %d", k, i);
    edf_clear_compnodes();
  }
  edf_node *last = edf_tanh(w), *behind = (edf_node *)(void *)((char *)last + distance);
  TRY(edf_label(behind));
  WORDS(caught, "edf_label|not a node");
  STOPS(edf_value(behind), "not a node");
}

/* ---- Memory: blocks that are alive. A node of one input has a name and a value. */

static long blocks_of(edf_node *(*build)(edf_node *), edf_node *x) {
  build(x);
  long before = memory.live;
  build(x);
  return memory.live - before;
}
static edf_node *own(edf_node *x) { return edf_compnode("Own", copy_forward, nothing, x); }
static edf_node *built_in(edf_node *x) { return edf_tanh(x); }

TEST(a_node_keeps_only_what_it_needs) {
  edf_node *w = edf_parameter("w[2]"), *x = edf_want_grad(edf_input("x[b,2]"));
  long n = blocks_of(built_in, w), more = blocks_of(own, w);
  CHECK(n == 2, "a Tanh has %ld blocks", n);
  CHECK(more == 3, "a node of the program's own has %ld blocks", more);  /* and its op's name */
  edf_node *loss = edf_square(edf_add(x, w));
  for (int batch = 1; batch <= 6; batch++) {
    edf_feed(x, rows, batch);
    w->update = batch % 2 ? NULL : edf_frozen;
    edf_forward();
    edf_backward(loss);
    if (batch == 2) n = memory.live;
    CHECK(batch % 2 || memory.live == n, "%ld blocks, then %ld", n, memory.live);
  }
}

/* ---- After an error */

/* A batch for which a shape is wrong is not known afterwards. */
TEST(a_batch_that_failed_fails_again) {
  edf_node *x = edf_input("x[b,3]"), *y = edf_reshape(x, "y[b,6]");
  edf_feed(x, rows, 2);
  edf_forward();
  edf_feed(x, rows, 3);
  for (int k = 0; k < 2; k++) {
    TRY(edf_forward());
    CHECK(panicked, "it does not stop");
  }
  edf_feed(x, rows, 4);
  edf_forward();
  CHECK(y->dim[0] == 2 && edf_value(y)[11] == -12, "%d rows", y->dim[0]);
}
static void stops(edf_node *y, edf_real eta) {
  (void)eta;
  edf_stop("%s is not updated", y->name);
}
TEST(an_error_ends_the_look_and_the_step) {
  edf_node *x = edf_want_grad(edf_input("x[2]")), *w = edf_parameter("w[2]");
  edf_node *y = edf_mul(x, w);
  TRY(edf_gradcheck(y));
  CHECK(panicked, "it does not stop");
  CHECK(!edf.looking && !edf.running, "the look goes on");
  edf_feed(x, rows, 1);
  edf_forward();
  edf_backward(y);
  w->update = stops;
  TRY(edf_sgd(1));
  CHECK(panicked, "it does not stop");
  w->update = NULL;
  edf_forward();
  edf_backward(y);
  edf_sgd(1);
  CHECK(edf_value(w)[0] == -(edf_real)0.5, "%g", (double)w->value[0]);
}

int main(void) { return harness_main(); }
