/* A node that edf_clear or edf_clear_compnodes has freed is an error by name wherever it is
   used: it is not read, and a new node does not get its address.

   Built as: float double none sanitized valgrind */

#define HARNESS_CATCH
#include "harness.h"

#include "edf.h"

static edf_node *h, *grid, *image, *x, *labels;              /* the first three were cleared */
static AffineParams Phi;
static int uses, found;

/* Each call is a use of its own, since a caught error jumps out of it. */
#define DEAD(call) do { \
    uses++; \
    TRY(call); \
    if (panicked && strstr(caught, " was cleared, and its memory freed: \"") && \
        strstr(caught, "\", built at " __FILE__ ":")) found++; \
    else CHECK(0, "%s: %s", #call, panicked ? caught : "nothing was said"); \
  } while (0)

static void built_and_cleared(int all) {
  x = edf_input("x[b,4]");
  h = Square(x);
  grid = Tanh(edf_input("g[b,4,4]"));
  image = Relu(edf_input("im[b,8,8,2]"));
  if (all) edf_clear();
  else edf_clear_compnodes();
  if (all) x = edf_input("x[b,4]");
  labels = edf_input("y[b]");
  Phi = edf_affine_params(4, 4);
}

static void copy(CompNode *y) { y->value[0] = y->in[0]->value[0]; }

static void first_nodes(void) {
  DEAD(Tanh(h)); DEAD(Sum(h)); DEAD(Mean(h)); DEAD(Softmax(h)); DEAD(Affine(Phi, h));
  DEAD(Add(x, h)); DEAD(Add(h, x)); DEAD(Sub(h, x)); DEAD(Mul(h, h)); DEAD(Div(h, x));
  DEAD(Div(x, h)); DEAD(LogLoss(h, labels)); DEAD(LogLoss(x, h));
  DEAD(SoftmaxLogLoss(h, labels));
  DEAD(Einsum("y[b,i] = x[b,i]", h)); DEAD(Einsum("y[b,i] = x[b,i] z[b,i]", x, h));
  DEAD(edf_compnode("Copy", copy, NULL, h)); DEAD(edf_compnode("Copy", copy, NULL, x, h));
}

static void more_nodes(void) {
  DEAD(LeakyRelu(h, 1)); DEAD(Gelu(h)); DEAD(LogSoftmax(h)); DEAD(BCELoss(h, x));
  DEAD(BCELoss(x, h)); DEAD(MSE(h, x)); DEAD(MSE(x, h)); DEAD(MaskedMean(h, x));
  DEAD(MaskedMean(x, h)); DEAD(SoftmaxOver("x[b,J]", h)); DEAD(LogSoftmaxOver("x[b,J]", h));
  DEAD(NormalizeOver("x[b,J]", h, 1)); DEAD(SumOver("x[b,J]", h));
  DEAD(MeanOver("x[b,J]", h)); DEAD(VarianceOver("x[b,J]", h)); DEAD(MaxOver("x[b,J]", h));
  DEAD(SampleVarianceOver("x[b,J]", h));
}

static void layers(void) {
  DEAD(LayerNorm(edf_layer_norm_params(4), h)); DEAD(BatchNorm(edf_batch_norm_params(4), h));
  DEAD(Dropout(h, (edf_real)0.5)); DEAD(Embed(Phi.w, h)); DEAD(Embed(h, labels));
  DEAD(Concat("x[b,J]", h, x)); DEAD(Concat("x[b,J]", x, h)); DEAD(Slice("x[b,J]", h, 0, 2));
  DEAD(Select("x[b,J]", h, 0)); DEAD(Reshape(h, "[b,2,2]")); DEAD(MaxPool(image, 2, 2));
  DEAD(AvgPool(image, 2, 2)); DEAD(Conv(edf_conv_params(2, 3, 2, 4), image));
  DEAD(TransposedConv(edf_conv_params(2, 3, 2, 4), image));
  DEAD(Residual(edf_residual_params(2, 3, 2), image)); DEAD(Highway(edf_highway_params(4), h));
  DEAD(Attention(edf_attention_params(4, 2), grid));
  DEAD(CausalAttention(edf_attention_params(4, 2), grid));
  DEAD(Unroll(edf_rnn_params(4, 4), grid)); DEAD(ConcatList("x[b,J]", 1, &h));
  DEAD(Recurrence("h[b,t,j] = tanh(W[j,I] h[b,t-1,I] + x[b,t,j])", Phi.w, grid));
}

static void states(void) {
  edf_recurrent_state s = { x, NULL };
  DEAD(RNN(edf_rnn_params(4, 4), h, s));
  s.h = h;
  DEAD(RNN(edf_rnn_params(4, 4), x, s)); DEAD(GRU(edf_gru_params(4, 4), x, s));
  s.c = x;
  DEAD(LSTM(edf_lstm_params(4, 4), x, s));
}

static void calls(void) {
  DEAD(edf_value(h)); DEAD(edf_grad(h)); DEAD(edf_push(h)); DEAD(edf_push_grad(h));
  DEAD(edf_forward_to(h)); DEAD(Backward(h)); DEAD(edf_feed(h, edf_value(Phi.w), 1));
  DEAD(edf_name(h, "k")); DEAD(edf_want_grad(h)); DEAD(edf_state(h, 4)); DEAD(edf_view(h));
  DEAD(edf_init_uniform(h, 0, 1)); DEAD(edf_update_sgd(h, 1));
  DEAD(edf_update_adam(h, 1, 0, 0, 1));
  DEAD(edf_error_rate(h, labels)); DEAD(edf_error_rate(x, h)); DEAD(edf_mark(h));
  DEAD(edf_expect_node("mine", h));
#ifndef EDF_NO_DEBUG
  DEAD(edf_print(h)); DEAD(edf_print_node(stdout, h)); DEAD(edf_gradcheck(h));
  DEAD(edf_formula(h, "y = x", NULL)); DEAD(edf_expect_mismatch(h));
#endif
}

static void every_use(void) {
  for (int all = 0; all < 2; all++) {
    built_and_cleared(all);
    first_nodes();
    more_nodes();
    layers();
    states();
    calls();
    edf_clear();
  }
  CHECK(uses > 150 && found == uses, "%d of %d uses were found", found, uses);
}

/* It stays known when more is cleared, here or in another graph; what is built is never taken
   for it, though it may lie where that was. */
static void after_other_clears(void) {
  edf_graph first, second;
  uses = found = 0;
  h = Tanh(Square(edf_input("x[b,4]")));
  edf_clear();
  edf_clear();
  DEAD(Tanh(h)); DEAD(edf_value(h));
  Square(edf_input("x[b,4]"));
  first = edf;
  edf = edf_new_graph();
  x = edf_input("x[b,4]");
  h = Tanh(Square(x));
  second = edf;
  edf = first;
  edf_clear_compnodes();
  first = edf;
  edf = second;
  edf_clear_compnodes();
  second = edf;
  edf = first;
  edf_clear();
  edf = second;
  DEAD(Tanh(h)); DEAD(edf_forward_to(h));
  for (int step = 0; step < 3000; step++) {
    CompNode *y = Square(x), *again = Tanh(Tanh(y));
    CHECK(again->n_in == 1 && edf.n_compnodes == 3, "%d nodes", edf.n_compnodes);
    if (step > 0) DEAD(Tanh(h));
    h = step % 3 ? y : again;
    edf_clear_compnodes();
  }
  edf_clear();
  CHECK(uses == 4 + 2999 && found == uses, "%d of %d uses were found", found, uses);
}

int main(void) {
  RUN(every_use);
  RUN(after_other_clears);
  return harness_report();
}
