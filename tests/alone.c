/* alone.c - edf.h without a companion: loops in the code of a node and their errors, plans on
   arrays of nodes, ops and notes that print, and prints of formulas. It contains the
   implementation. */

#include "harness.h"
#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wshadow"        /* the harness has a global `path` */
#endif
#define EDF_IMPLEMENTATION
#include "edf.h"

/* ---- A product of matrices as a student writes it, y[b,j] = sum_I W[I,j] x[b,I] */
static const char *shape, *forward, *to_W, *to_x;
static void right(void) {
  shape = forward = "bj = Ij, bI";
  to_W = "Ij += bj, bI";
  to_x = "bI += Ij, bj";
}
static void matmul_shape(edf_node *y) { edf_shape_by(y, shape); }
static void matmul_forward(edf_node *y) {
  edf_loops(forward, edf_values(y), edf_values(y->in[0]), edf_values(y->in[1]));
}
static void matmul_backward(edf_node *y) {
  edf_node *W = y->in[0], *x = y->in[1];
  edf_loops(to_W, edf_grads(W), edf_grads(y), edf_values(x));
  edf_loops(to_x, edf_grads(x), edf_values(W), edf_grads(y));
}
static edf_node *W, *x;
static const edf_real data[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 0, 1 };
static edf_node *matmul(int line) {
  return edf_compnode_at("hw1.c", line, "MatMul", matmul_shape, matmul_forward, matmul_backward,
                         W, x, (edf_node *)0);
}
static edf_node *build(const char *of_W) {
  x = edf_want_grad(edf_input_at("hw1.c", 1, "x[b,3]"));
  W = edf_parameter_at("hw1.c", 2, "%s", of_W);
  for (size_t i = 0; i < W->size; i++) W->value[i] = (edf_real)i - 2;
  edf_feed(x, data, 4);
  return edf_name(matmul(3), "y");
}
static void run(edf_node *y) {
  edf_forward();
  edf_backward(y);
}

TEST(loops_are_products_and_their_gradients) {
  right();
  edf_node *y = build("W[3,2]");
  run(y);
  for (int b = 0; b < 4; b++)
    for (int j = 0; j < 2; j++) {
      edf_real sum = 0;
      for (int i = 0; i < 3; i++) sum += W->value[2 * i + j] * data[3 * b + i];
      CHECK(y->value[2 * b + j] == sum, "y[%d,%d] is %g", b, j, (double)y->value[2 * b + j]);
    }
  CHECK(W->grad[5] == (edf_real)19 / 8 && x->grad[0] == (edf_real)-3 / 8, "%g %g",
        (double)W->grad[5], (double)x->grad[0]);
  CAPTURE(CHECK(edf_gradcheck(y) < 1e-6, "the gradient is right"));
  edf_feed(x, data, 2);                  /* plans of another batch */
  run(y);
  CHECK(W->grad[5] == (edf_real)9 / 4 && y->size == 4, "%g", (double)W->grad[5]);
  edf.kernel = EDF_REFERENCE;            /* and of another kernel */
  run(y);
  CHECK(W->grad[5] == (edf_real)9 / 4 && y->value[3] == 19, "%g", (double)y->value[3]);
  edf.kernel = EDF_FASTEST;
}

/* A wrong spec stops with the spec, the index, both tensors with shapes, and the line. */
TEST(wrong_specs_stop) {
  static const struct { const char *shape, *forward, *to_W, *words; } wrong[] = {
    { "bj = Ij, Ib", NULL, NULL, "hw1.c:3: MatMul: \"bj = Ij, Ib\": index I has two|"
      "I is the batch in Input \"x\" [b=4, 3]|hw1.c:1|"
      "I is 3 in Parameter \"W\" [3, 2]|hw1.c:2" },
    { "bj = Ij", NULL, NULL, "hw1.c:3|\"bj = Ij\"|more inputs than operands" },
    { "bk = Ij, bI", NULL, NULL, "hw1.c:3|\"bk = Ij, bI\"|no input has the index k" },
    { "bj = Ijk, bI", NULL, NULL, "hw1.c:3|rank 3 is expected, W has 2|\"x\"" },
    { "bj : Ij, bI", NULL, NULL, "hw1.c:3|expected '='" },
    { NULL, "bj = Ij, b.I", NULL, "hw1.c:3|\"bj = Ij, b.I\"|rank 1 is expected, x has 2" },
    { NULL, "bj = Ij, bI, k", NULL, "hw1.c:3|cannot read \", k\"" },
    { NULL, "bj = Ij", NULL, "hw1.c:3|expected ',' and the last operand" },
    { NULL, "bj = Ik, bI", NULL, "hw1.c:3|index j is only on the left, and k|\"W\" [3, 2]" },
    { NULL, "jb = Ij, bI", NULL, "hw1.c:3|j is 2 in Parameter \"W\" [3, 2]|"
      "MatMul \"y\" [b=4, 2]" },
    { NULL, NULL, "Ij += bI, bj", "hw1.c:3: MatMul: \"Ij += bI, bj\": index I has two|"
      "I is 2 in MatMul \"y\" [b=4, 2]|built at hw1.c:3|I is 3 in Parameter \"W\" [3, 2]" },
    { NULL, NULL, "ij += bj, bj", "hw1.c:3|j is 3 in Input \"x\" [b=4, 3]|\"W\" [3, 2]" } };
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    right();
    if (wrong[k].shape) shape = wrong[k].shape;
    if (wrong[k].forward) forward = wrong[k].forward;
    if (wrong[k].to_W) to_W = wrong[k].to_W;
    STOPS(run(build("W[3,2]")), wrong[k].words);
  }
  right();
  STOPS(build("W[4,2]"), "hw1.c:3|I is 3 in Input \"x\"|I is 4 in Parameter \"W\" [4, 2]");
}

/* A node has at most 8 dimensions, also if its inputs have more indices together. */
static void sixteen(edf_node *y) { edf_shape_by(y, "abcdefghijklmnop = abcdefgh, ijklmnop"); }
TEST(a_spec_has_at_most_8_dimensions_on_the_left) {
  edf_node *a = edf_parameter("a[1,1,1,1,1,1,1,2]"), *b = edf_parameter("b[1,1,1,1,1,1,1,2]");
  STOPS(edf_compnode_shaped("Outer", sixteen, matmul_forward, NULL, a, b),
        "Outer|abcdefghijklmnop|rank 16, expected 0 to 8|\"a\"|\"b\"");
}

/* The gradient check names a backward by loops that has the wrong sign or the wrong factor. */
TEST(wrong_backwards_are_named) {
  static const struct { const char *to_x, *words; } wrong[] = {
    { "bI -= Ij, bj", "FAIL  d y / d x|likely: the sign|hw1.c:3" },
    { "bI = Ij, bj", "FAIL  d y / d x|does not add|hw1.c:3" } };
  for (size_t k = 0; k < 2; k++) {
    right();
    to_x = wrong[k].to_x;
    edf_node *y = build("W[3,2]");
    CAPTURE(CHECK(edf_gradcheck(y) > 0.1, "it is wrong"));
    WORDS(captured, wrong[k].words);
    edf_clear();
  }
}

/* ---- Plans */
TEST(a_plan_runs_on_arrays_of_nodes) {
  edf_node *y = edf_parameter("y[2,3]"), *a = edf_parameter("a[3]"), *of[3] = { y, a, NULL };
  for (int i = 0; i < 3; i++) a->value[i] = (edf_real)(i + 1);
  for (int i = 0; i < 6; i++) y->value[i] = 10;
  edf_nest nest = edf_nest_of("ij += j", of);
  edf_route route = edf_plan(&nest);
  edf_run(&route, EDF_ADD, edf_values(y), edf_values(a), edf_one);
  CHECK(y->value[0] == 11 && y->value[5] == 13, "%g", (double)y->value[5]);
  edf_run(&route, EDF_ASSIGN, edf_values(y), edf_values(a), edf_one);
  CHECK(y->value[0] == 1 && y->value[5] == 3, "%g", (double)y->value[5]);
  nest.loop[1].n = 1;                    /* only the first row: the loops are j, i         */
  y->value[5] = 7;
  route = edf_plan(&nest);
  edf_run(&route, EDF_PART, edf_values(y), edf_values(a), edf_one);
  CHECK(y->value[2] == 3 && y->value[5] == 7, "%g", (double)y->value[5]);
  edf_run(&route, EDF_ASSIGN, edf_values(y), edf_values(a), edf_one);
  CHECK(y->value[2] == 3 && y->value[5] == 0, "%g", (double)y->value[5]);
  edf_run(&route, EDF_ADD, edf_grads(y), edf_values(a), edf_one);        /* It has none.   */
}

/* A graph has its memory. Another one cannot free it. */
TEST(memory_of_another_graph_is_not_freed) {
  void *kept = edf_keep(NULL, 8);
  edf_graph first = edf;
  edf = edf_new_graph();
  void *other = edf_keep(NULL, 8);
  TRY(edf_release(kept));
  WORDS(caught, "another graph");
  CHECK(edf_array_bytes(other) == 8 && !edf_array_bytes(kept), "the lists are mixed");
  edf_clear();
  edf = first;
  edf_release(kept);
}

/* ---- Prints. Formulas have the labels of the tensors; a scalar has no brackets. */
TEST(nodes_print_their_formulas) {
  edf_node *v = edf_parameter_at("hw1.c", 1, "v[3]"), *s = edf_parameter_at("hw1.c", 2, "s");
  edf_node *h = edf_name(edf_node1(&edf_tanh_op, "hw1.c", 3, v), "h");
  edf_name(edf_node2(&edf_mul_op, "hw1.c", 4, h, s), "u");
  edf_name(edf_node1(&edf_square_op, "hw1.c", 5, s), "q");
  edf_name(edf_dropout_at("hw1.c", 6, v, 0.25), "d");
  CAPTURE(edf_print_program(stdout));
  WORDS(captured, "parameters, 4 numbers|v   Parameter [3]   hw1.c:1|"
        "0  h[i] = tanh(v[i])   Tanh [3]   hw1.c:3|1  u[i] = h[i] s   Mul [3]   hw1.c:4|"
        "q = s^2|d[i] = mask[i] v[i] / (1-0.25)   Dropout|backward\n  3  d\n"
        "       v.grad[i] += d.grad[i] mask[i] / (1-0.25)\n");
  edf.training = 0;
  CAPTURE(edf_print_node(stdout, edf.compnodes[3]));
  WORDS(captured, "d[i] = v[i]   Dropout");
  edf.training = 1;
  v->update = edf_frozen;
  edf_forward();
  edf_backward(edf.compnodes[1]);
  CAPTURE(edf_print_node(stdout, edf.compnodes[1]));
  CHECK(!strstr(captured, "h.grad") && strstr(captured, "s.grad += h[i] u.grad[i]"), "%s",
        captured);
}

/* An op may have a print of its own, and a companion a note with a heading and a print. */
static void print_op(edf_page *to, const edf_node *y, int backward) {
  edf_write(to, backward ? "%s gets it\nand keeps it\n" : "%s by its op", edf_label(y->in[0]));
}
static void copy_forward(edf_node *y) {
  memcpy(y->value, y->in[0]->value, y->size * sizeof *y->value);
}
static void copy_backward(edf_node *y) {
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, y->grad[i]);
}
static const edf_op printing = { "Prints", NULL, copy_forward, copy_backward, NULL, NULL, NULL,
                                 0, print_op };
static void print_note(edf_page *to, const edf_node *y, int backward) {
  if (y->line != 9) edf_write(to, backward ? "back %s\n" : "note of %s", edf_label(y));
}
typedef struct { edf_note note; int more; } companion;
static companion notes[] = { { { "a heading", print_note }, 1 }, { { "a heading", NULL }, 2 },
                             { { NULL, print_note }, 3 }, { { "folded", print_note }, 4 } };

TEST(ops_and_notes_print) {
  edf_node *p = edf_parameter("p[2]"), *y[5];
  for (int i = 0; i < 5; i++)
    y[i] = edf_name(edf_node1(&printing, "hw1.c", 5 + i, i ? y[i - 1] : p), "y");
  notes[1].note.heading = notes[0].note.heading;
  for (int i = 1; i < 5; i++) y[i]->note = &notes[i - 1].note;
  CAPTURE(edf_print_program(stdout));
  WORDS(captured, "forward\n  0  p by its op   Prints [2]   hw1.c:5\n  a heading\n"
        "    1  note of y@1   Prints [2]   hw1.c:6\n    2  y@1 by its op|  3  note of y@3|"
        "\n  folded\nbackward\n  folded\n  3  |\n       back y@3\n|  a heading\n    2  |"
        "\n       y@1 gets it\n       and keeps it\n");
  CAPTURE(edf_print_node(stdout, y[1]));
  WORDS(captured, "note of y@1   Prints|       back y@1");
}

/* ---- edf.stopped gets an error before EDF_PANIC, and may continue. */
static jmp_buf here;
static char message[200];
static void stopped(const char *text) {
  snprintf(message, sizeof message, "%s", text);
  longjmp(here, 1);
}
TEST(a_tool_continues_after_an_error) {
  edf.stopped = stopped;
  if (!setjmp(here)) edf_stop("the number is %d", 7);
  CHECK(!strcmp(message, "the number is 7"), "%s", message);
  if (!setjmp(here)) edf_parameter("w[");
  edf.stopped = NULL;
  WORDS(message, "edf_parameter|w[|expected");
  edf_node *p = edf_parameter_at("hw1.c", 7, "p[2]");
  WORDS(edf_shown(p), "Parameter \"p\" [2]|declared at hw1.c:7");
}

int main(void) { return harness_main(); }
