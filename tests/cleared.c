/* cleared.c - nodes that were freed. Every public call that gets a node stops with a message if
   the node was cleared, is of another graph, or is NULL. The address sanitizer shows that no
   call reads a freed node.

   compile.sh finds the public functions in the headers. Each function that gets a node must
   occur here. These functions have no row:
     edf_addgrad     reads x->grad in the innermost loop of a backward, and checks nothing
     edf_frozen      does nothing
     edf_ran         does nothing: it is for breakpoints */

#include "harness.h"
#include "edf/slide.h"
#include "edf/layers.h"
#include "edf/judge.h"
#include "edf/derive.h"
#include "edf/data.h"
#include "edf/onnx.h"
#include "edf/c.h"
#include "edf/lab.h"

#define HW1(line) "hw1.c", line
#define AT HW1(9)
#define END (edf_node *)0

static edf_real zeros[64];
static FILE *nowhere;

/* ---- Addresses. No node of the next 40 graphs is at an address that a node of this graph had.
   This test is the first, so that it begins when nothing was cleared yet. */
static void build_graphs(int n, int skipped, int clear_all) {
  edf_node *old[41][20] = { { NULL } };
  for (int k = 0; k < 41; k++) {
    edf_node *p = edf.n_parameters ? edf.parameters[0] : edf_parameter("p[3]");
    for (int i = 0; i < n && k != skipped; i++) p = old[k][i] = edf_tanh(p);
    for (int i = 0; i < n * n * k && k != skipped; i++)
      CHECK(old[k][i % n] != old[i / n / n][i / n % n], "graphs %d, %d", k, i / n / n);
    if (k % 2 && clear_all) edf_clear();
    else edf_clear_compnodes();
  }
}
TEST(addresses_are_not_used_again) {
  build_graphs(16, 20, 0);
  build_graphs(20, 41, 1);
}

/* ---- The calls. x is the node that was freed. */

static void nothing(edf_node *y) { (void)y; }
static const edf_op op = { "Op", NULL, nothing, nothing, "y x", "y@ = x@", "", 0,
  NULL };

/* Returns another node, which is alive. */
static edf_node *live(void) {
  edf_node *l = edf_input_at(HW1(8), "live[b,4]");
  edf_feed(l, zeros, 2);
  return l;
}
static edf_array array(int rows) {
  edf_array a = { 2, { rows, 4 }, (size_t)rows * 4, zeros };
  return a;
}
static edf_affine_package affine(edf_node *w, edf_node *b) {
  edf_affine_package Phi = { w, b };
  return Phi;
}
static edf_layer_norm_package layer_norm(edf_node *gain, edf_node *bias) {
  edf_layer_norm_package Phi = { gain, bias };
  return Phi;
}
/* Replaces tensor k of the parameter struct. */
static edf_batch_norm_package batch_norm(int k, edf_node *x) {
  edf_batch_norm_package Phi = edf_batch_norm_params_at(HW1(7), 4);
  edf_node **tensor[4] = { &Phi.gain, &Phi.bias, &Phi.mean, &Phi.variance };
  *tensor[k] = x;
  return Phi;
}
static edf_conv_package conv(int k, edf_node *x) {
  edf_conv_package Phi = edf_conv_params_at(HW1(7), 3, 2, 2);
  if (k == 0) Phi.w = x;
  else Phi.b = x;
  return Phi;
}
static edf_residual_package residual(int k, edf_node *x) {
  edf_residual_package Phi = { conv(0, edf_parameter("w[3,3,2,2]")), conv(k, x) };
  return Phi;
}
static edf_attention_package attention(int k, edf_node *x) {
  edf_attention_package Phi = edf_attention_params_at(HW1(7), 4, 2);
  edf_node **tensor[4] = { &Phi.wq, &Phi.wk, &Phi.wv, &Phi.wo };
  *tensor[k] = x;
  return Phi;
}
static edf_recurrent_package lstm(int k, edf_node *x) {
  edf_recurrent_package Phi = edf_recurrent_params_at(HW1(7), &edf_lstm_cell, 4, 4);
  if (k == 0) Phi.wx = x;
  if (k == 1) Phi.wh = x;
  if (k == 2) Phi.b = x;
  return Phi;
}
static edf_recurrent_state state(edf_node *h, edf_node *c) {
  edf_recurrent_state s = { h, c };
  return s;
}
static edf_node *picture(void) { return edf_input("picture[b,6,6,2]"); }
static edf_node *sequence(void) { return edf_input("sequence[b,3,4]"); }
static void next(edf_node *x, edf_node *y) {
  edf_all all = { x, y, array(4), array(4), 2, 0, 0 };
  edf_next(&all);
}
static void batches(edf_node *x, edf_node *y) {
  edf_all all;
  edf_batches(&all, x, array(4), y, array(4), 2);
}
static void write_node(const edf_node *x, edf_part part) {
  edf_page page = { NULL, 0 };
  edf_write_node(&page, x, part);
}

static void write_heading(const edf_node *x) {
  edf_page page = { NULL, 0 };
  edf_write_heading(&page, x);
}

static void write_c_text(edf_node *x) {
  edf_page page = { NULL, 0 };
  edf_write_c_text(&page, x);
}

static void nest_of(edf_node *a, edf_node *b) {
  edf_node *of[3] = { live(), a, b };
  edf_nest_of(b ? "ij = ij, ij" : "ij = ij", of);
}

#define ONE(OF, name) OF(edf_node1(&edf_##name##_op, AT, x))
#define UNARY(OF) \
  ONE(OF, sigmoid) ONE(OF, tanh) ONE(OF, relu) ONE(OF, softmax) ONE(OF, sum) ONE(OF, mean) \
  ONE(OF, exp) ONE(OF, log) ONE(OF, square) ONE(OF, sqrt) ONE(OF, gelu) ONE(OF, softplus) \
  ONE(OF, abs) ONE(OF, sin) ONE(OF, cos) ONE(OF, log_softmax) \
  OF(edf_leaky_relu_at(AT, x, 1)) OF(edf_pow_at(AT, x, 2)) OF(edf_clamp_at(AT, x, 0, 1)) \
  OF(edf_dropout_at(AT, x, 0.5)) OF(edf_reshape_at(AT, x, "r[b,2,2]"))
#define TWO(OF, name) \
  OF(edf_node2(&edf_##name##_op, AT, x, live())) OF(edf_node2(&edf_##name##_op, AT, live(), x))
#define BINARY(OF, name) OF(name(AT, x, live())) OF(name(AT, live(), x))
#define BINARIES(OF) \
  TWO(OF, add) TWO(OF, sub) TWO(OF, mul) TWO(OF, log_loss) TWO(OF, div) TWO(OF, min) \
  TWO(OF, max) TWO(OF, softmax_log_loss) TWO(OF, bce_loss) \
  BINARY(OF, edf_mse_at) BINARY(OF, edf_masked_mean_at) BINARY(OF, edf_embed_at)
#define NODES(OF) \
  OF(edf_compnode_at(AT, "Mine", NULL, nothing, NULL, x, END)) \
  OF(edf_node_at(&op, AT, 1, &x, NULL, 0)) \
  OF(edf_einsum_at(AT, "y[i,j] = u[i,j] v[i,j]", live(), x, END)) \
  OF(edf_affine_at(AT, affine(x, edf_parameter("b[4]")), live())) \
  OF(edf_affine_at(AT, affine(edf_parameter("w[4,4]"), x), live())) \
  OF(edf_affine_at(AT, affine(edf_parameter("w[4,4]"), edf_parameter("b[4]")), x)) \
  OF(edf_text_at(AT, "y[i,j] = u[i,j] + exp(v[i,j])", live(), x, END)) \
  OF(edf_recurrence_at(AT, "h[b,t] = h[b,t-1] + u[b,t]", x, END))
#define LAYERS(OF) \
  OF(edf_layer_norm_at(AT, layer_norm(x, edf_parameter("b[4]")), live())) \
  OF(edf_layer_norm_at(AT, layer_norm(edf_parameter("g[4]"), x), live())) \
  OF(edf_layer_norm_at(AT, edf_layer_norm_params(4), x)) \
  OF(edf_batch_norm_at(AT, batch_norm(0, x), live())) \
  OF(edf_batch_norm_at(AT, batch_norm(1, x), live())) \
  OF(edf_batch_norm_at(AT, batch_norm(2, x), live())) \
  OF(edf_batch_norm_at(AT, batch_norm(3, x), live())) \
  OF(edf_batch_norm_at(AT, edf_batch_norm_params(4), x)) \
  OF(edf_conv_at(AT, conv(0, x), picture())) OF(edf_conv_at(AT, conv(1, x), picture())) \
  OF(edf_conv_at(AT, edf_conv_params(3, 2, 2), x)) \
  OF(edf_max_pool_at(AT, x, 2, 2)) OF(edf_avg_pool_at(AT, x, 2, 2)) \
  OF(edf_residual_at(AT, residual(0, x), picture())) \
  OF(edf_residual_at(AT, residual(1, x), picture())) \
  OF(edf_residual_at(AT, edf_residual_params(3, 2), x)) \
  OF(edf_attention_at(AT, attention(0, x), sequence())) \
  OF(edf_attention_at(AT, attention(1, x), sequence())) \
  OF(edf_attention_at(AT, attention(2, x), sequence())) \
  OF(edf_causal_attention_at(AT, attention(3, x), sequence())) \
  OF(edf_causal_attention_at(AT, edf_attention_params(4, 2), x)) \
  OF(edf_cell_at(AT, &edf_lstm_cell, lstm(0, x), live(), state(NULL, NULL))) \
  OF(edf_cell_at(AT, &edf_rnn_cell, lstm(0, x), live(), state(NULL, NULL))) \
  OF(edf_cell_at(AT, &edf_lstm_cell, lstm(1, x), live(), state(NULL, NULL))) \
  OF(edf_cell_at(AT, &edf_lstm_cell, lstm(2, x), live(), state(NULL, NULL))) \
  OF(edf_cell_at(AT, &edf_lstm_cell, lstm(3, x), x, state(NULL, NULL))) \
  OF(edf_unroll_at(AT, lstm(1, x), sequence())) OF(edf_unroll_at(AT, lstm(3, x), x))
#define USES(OF) \
  OF(edf_state(x, 8)) OF(edf_name(x, "a")) OF(edf_label(x)) OF(edf_want_grad(x)) \
  OF(edf_feed(x, zeros, 2)) OF(edf_forward_to(x)) OF(edf_backward(x)) \
  OF(edf_update(x, &edf_sgd_rule, zeros)) OF(edf_value(x)) OF(edf_at(x, 0, 0, 0, 0)) OF(edf_grad(x)) \
  OF(edf_push(x)) OF(edf_push_grad(x)) OF(edf_init_uniform(x, 0, 1)) \
  OF(edf_init_normal(x, 0, 1)) OF(edf_print_node(nowhere, x)) OF(edf_print(x)) \
  OF(edf_formula(x, "y = x", "")) OF(edf_gradcheck(x)) OF(edf_expect_mismatch(x)) \
  OF(edf_shown(x)) OF(edf_expect_node("call", "x", x)) \
  OF(edf_expect_kind("call", "x", x, EDF_INPUT)) \
  OF(write_node(x, EDF_SITE)) OF(write_node(x, EDF_FORWARD_LINE)) \
  OF(edf_same_heading(x, live())) OF(edf_same_heading(live(), x)) \
  OF(edf_row_dims(x)) OF(edf_row_is_causal(x)) OF(edf_folded_step(x)) OF(write_heading(x)) \
  OF(edf_derivative_at(AT, x, live())) OF(edf_derivative_at(AT, edf_tanh(live()), x)) \
  OF(edf_check_backward(x, "")) OF(edf_view(x)) OF(edf_set(x, array(4))) \
  OF(edf_mean_value(x)) OF(edf_error_rate(x, live())) OF(edf_error_rate(live(), x)) \
  OF(edf_save_onnx(file("model.onnx"), x)) OF(edf_write_c(file("model.c"), x)) \
  OF(edf_write_c_loading(file("model.c"), x)) OF(write_c_text(x)) OF(edf_index_name(x, 0)) OF(edf_doctor(x)) OF(edf_check(x)) OF(edf_try(x)) \
  OF(edf_try_within(x, 1)) \
  OF(batches(x, NULL)) OF(next(x, NULL)) OF(edf_contraction_of(x)) \
  OF(edf_window_of(x)) OF(edf_run_code(x, 0)) \
  OF(edf_shape_by(x, "ij = ij")) \
  OF(edf_loops("ij = ij", edf_values(live()), edf_values(x), edf_one)) \
  OF(edf_loops("ij = ij", edf_values(x), edf_values(live()), edf_one)) \
  OF(edf_loops("ij = ij", edf_grads(x), edf_values(live()), edf_one)) \
  OF(edf_loops("ij += ij", edf_values(live()), edf_grads(x), edf_one))
#define OPTIONAL(OF)                        /* In these calls, x may be NULL. */ \
  OF(edf_compnode_at(AT, "Mine", NULL, nothing, NULL, live(), x, END)) \
  OF(edf_text_at(AT, "y[i,j] = u[i,j]", live(), x, END)) \
  OF(batches(live(), x)) OF(next(live(), x)) OF(nest_of(live(), x)) \
  OF(edf_cell_at(AT, &edf_lstm_cell, lstm(3, x), live(), state(x, live()))) \
  OF(edf_cell_at(AT, &edf_lstm_cell, lstm(3, x), live(), state(live(), x)))
#define CALLS(OF) UNARY(OF) BINARIES(OF) NODES(OF) LAYERS(OF) USES(OF) OPTIONAL(OF)

static int calls, optional;
static void call(int k, edf_node *x) {
  int n = 0;
#define RUN(...) if (n++ == k) { (void)(__VA_ARGS__); return; }
  CALLS(RUN)
}
#define TEXT(...) #__VA_ARGS__,
static const char *const text[] = { CALLS(TEXT) };
#define COUNT(...) +1

/* ---- The nodes that were freed */

static edf_node *x, *w, *h;

static void build(void) {
  if (!edf.n_inputs) {
    x = edf_input_at(HW1(1), "x[b,4]");
    w = edf_parameter_at(HW1(2), "W[4,4]");
  }
  edf_feed(x, zeros, 2);
  h = edf_einsum_at(HW1(3), "h[b,j] = W[I,j] x[b,I]", w, x, END);
  edf_node1(&edf_mean_op, HW1(4), edf_node1(&edf_square_op, HW1(4), h));
}

/* Each function builds a graph. Then x, w and h are nodes that no call may get. */
static void after_clear_compnodes(void) {
  build();
  edf_clear_compnodes();
}
static void after_a_new_graph(void) {
  after_clear_compnodes();
  edf_node *old = h;
  build();
  h = old;
}
static void after_many_graphs(void) {
  after_clear_compnodes();
  edf_node *old = h;
  for (int k = 0; k < 30; k++) {
    build();
    if (k % 3 == 0) edf_tanh(h);
    edf_clear_compnodes();
  }
  build();
  h = old;
}
static void after_clear(void) {
  build();
  edf_clear();
}
static void after_clear_and_a_new_program(void) {
  build();
  edf_node *old[] = { x, w, h };
  edf_clear();
  build();
  x = old[0];
  w = old[1];
  h = old[2];
}
static edf_graph other;
static void in_another_graph(void) {
  build();
  edf_node *old[] = { x, w, h };
  other = edf;
  edf = edf_new_graph();
  build();
  x = old[0];
  w = old[1];
  h = old[2];
}
static void null(void) { x = w = h = NULL; }

static const struct { const char *name; void (*make)(void); int kinds; const char *words; }
fates[] = {
  { "cleared", after_clear_compnodes, 1, "cleared by edf_clear_compnodes|\"h\"|hw1.c:3" },
  { "cleared, and built again", after_a_new_graph, 1, "cleared by edf_clear_compnodes|\"h\"" },
  { "cleared long ago", after_many_graphs, 1, "was it cleared" },
  { "cleared with all", after_clear, 3, "was it cleared" },
  { "cleared with all, and built again", after_clear_and_a_new_program, 3, "was it cleared" },
  { "of another graph", in_another_graph, 3, "another graph" },
  { "NULL", null, 1, "NULL" },
};

static void check_call(int k, int fate, int kind) {
  fates[fate].make();
  edf_node *dead[] = { h, w, x };
  int bad = harness.bad;
  CAPTURE(call(k, dead[kind]));
  CHECK(panicked, "there was no error");
  WORDS(caught, fates[fate].words);
  if (other.n_inputs) {
    edf_clear();
    edf = other;
    other = edf_new_graph();
  }
  harness_clear(__FILE__, __LINE__, text[k]);
  if (harness.bad > bad) harness_fail(__FILE__, __LINE__, "%s, %s", text[k], fates[fate].name);
}

TEST(calls_stop_for_nodes_that_were_freed) {
  enum { FATES = sizeof fates / sizeof *fates };
  calls = CALLS(COUNT);
  optional = OPTIONAL(COUNT);
  nowhere = fopen("/dev/null", "w");
  for (int k = 0; k < calls; k++)
    for (int fate = 0; fate < FATES; fate++)
      for (int kind = 0; kind < fates[fate].kinds; kind++)
        if (fates[fate].make != null || k < calls - optional) check_call(k, fate, kind);
  fclose(nowhere);
}

/* ---- What is left of a cleared node */

TEST(a_cleared_node_has_no_values) {
  build();
  edf_forward();
  edf_clear_compnodes();
  CHECK(!h->value && !h->grad && !h->n_in && !h->in[0], "a pointer is left");
  CHECK(!strcmp(h->name, "h") && h->line == 3, "%s", h->name);
  STOPS(h->forward(h), "cleared by edf_clear_compnodes|\"h\"|hw1.c:3");
}

/* Nodes are built 39 clears after the first one of their kind, which still lives. Two clears
   later no node has their addresses. */
static edf_node *built_late(edf_node *(*make)(void), void (*clear)(void)) {
  make();
  edf_graph first = edf;
  edf = edf_new_graph();
  for (int k = 0; k < 39; k++) edf_clear();
  edf = first;
  edf_node *late = make();
  clear();
  clear();
  return late;
}
static edf_node *make_parameter(void) { return edf_parameter("p[2]"); }
static edf_node *make_tanh(void) {
  return edf_tanh(edf.n_parameters ? edf.parameters[0] : edf_parameter("p[2]"));
}
TEST(addresses_of_late_nodes_are_not_used_again) {
  edf_node *late = built_late(make_parameter, edf_clear);
  for (int k = 0; k < 40; k++) CHECK(edf_parameter("p[2]") != late, "Parameter %d", k);
  STOPS(edf_value(late), "was it cleared");
  edf_clear();
  late = built_late(make_tanh, edf_clear_compnodes);
  for (int k = 0; k < 40; k++) CHECK(make_tanh() != late, "CompNode %d", k);
  STOPS(edf_value(late), "was it cleared");
}

/* ---- Inputs and Parameters stay, and nothing that they have is cleared. */

static void look_at_all(void) {
  for (int i = 0; i < edf.n_inputs; i++) edf_print(edf.inputs[i]);
  for (int i = 0; i < edf.n_parameters; i++) edf_print(edf.parameters[i]);
  edf_print_program(nowhere);
  edf_print_equations(nowhere);
  edf_write_dot(file("graph.dot"));
  edf_where();
  edf_find_nan();
  edf_step_forward();
  edf_step_backward();
}

static void programs_of_a_loop(void) {
  nowhere = fopen("/dev/null", "w");
  x = edf_input_at(HW1(1), "x[b,4]");
  edf_real data[8] = { 1, 2, 3, 4, 5, 6, 7, 9 };
  edf_feed(x, data, 2);
  edf_recurrent_package cell = edf_rnn_params(4, 2);
  for (int k = 0; k < 3; k++) {
    edf_node *y = edf_equations("a[b,j] = tanh(U[j,I] x[b,I] - B[j]) | j<3 \n"
                                "h[b,t] = tanh(V[t] h[b,t-1] + a[b,t]) \n"
                                "L[b] = h[b,J] h[b,J]");
    y = edf_mean(edf_add(y, edf_sum(edf_rnn(cell, x, state(NULL, NULL)).h)));
    edf_doctor(y);
    edf_forward();
    edf_backward(y);
    edf_sgd((edf_real)0.1);
    look_at_all();
    edf_gradcheck(y);
    edf_clear_compnodes();
    look_at_all();
  }
  fclose(nowhere);
}
TEST(what_is_kept_reads_nothing_that_is_cleared) {
  CAPTURE(programs_of_a_loop());
  CHECK(!panicked, "%s", caught);
}

/* A snapshot belongs to the nodes that it copied. */
static edf_snapshot *taken(void) {
  edf_clear();
  build();
  edf_forward();
  return edf_take_snapshot();
}
TEST(a_snapshot_of_cleared_nodes_is_refused) {
  edf_snapshot *s = taken();
  edf_clear_compnodes();
  build();
  STOPS(edf_restore(s), "built or cleared");
  s = taken();
  edf_clear();
  STOPS(edf_restore(s), "built or cleared");
  s = taken();
  edf_tanh(h);
  STOPS(edf_restore(s), "built or cleared");
  s = taken();
  edf_graph first = edf;
  edf = edf_new_graph();
  build();
  CAPTURE(edf_restore(s));
  CHECK(panicked, "there was no error");
  WORDS(caught, "another graph");
  edf_clear();
  edf = first;
}

/* A name of a cleared node means no node. */
TEST(names_of_cleared_nodes_are_unknown) {
  after_clear_compnodes();
  STOPS(edf_find("h"), "h");
  after_clear_compnodes();
  STOPS(edf_equations_at(AT, "y[b] = h[b,J]"), "h|batch");
}

int main(void) { return harness_main(); }
