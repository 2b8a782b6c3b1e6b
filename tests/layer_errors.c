/* Wrong uses of layers, functions over named indices and recurrences, and the whole message of
   each.

   Built as: float double none sanitized shim */

#include "wrong_programs.h"

static const edf_real data[64];

/* The program in one expression; what it makes is not looked at. */
#define WRONG(name, ...) static void name(void) { __VA_ARGS__; }

/* Line 1 declares, line 2 builds. */
static edf_node *x3(void) { return input(1, "x[b,4,5]"); }

WRONG(over_null, edf_softmax_over_at(HW1(2), "a[b,T]", NULL))
WRONG(over_no_capital, edf_softmax_over_at(HW1(2), "a[b,t,s]", x3()))
WRONG(over_rank, edf_softmax_over_at(HW1(2), "a[b,T]", x3()))
WRONG(over_twice, edf_softmax_over_at(HW1(2), "a[b,T,T]", x3()))
WRONG(over_sum, edf_softmax_over_at(HW1(2), "a[b,t,S+1]", x3()))
WRONG(over_open, edf_softmax_over_at(HW1(2), "a[b,t,S", x3()))
WRONG(over_behind, edf_softmax_over_at(HW1(2), "a[b,t,S] = x", x3()))
WRONG(over_no_spec, edf_softmax_over_at(HW1(2), NULL, x3()))
WRONG(over_bound, edf_sum_over_at(HW1(2), "x[b,t,T] | T<=t", x3()))
WRONG(max_of_null, edf_max_over_at(HW1(2), "y[b] = x[b,T]", NULL))
WRONG(until_less, edf_softmax_over_at(HW1(2), "a[b,t,S] | S<t", x3()))
WRONG(until_small, edf_softmax_over_at(HW1(2), "a[b,t,S] | t<=S", x3()))
WRONG(until_unknown, edf_softmax_over_at(HW1(2), "a[b,t,S] | S<=u", x3()))
WRONG(until_two, edf_softmax_over_at(HW1(2), "a[b,T,S] | S<=b", x3()))
WRONG(until_elsewhere, edf_log_softmax_over_at(HW1(2), "a[b,t,S] | S<=t", x3()))
WRONG(normalize_rank, edf_normalize_over_at(HW1(2), "x[J]", x3(), 0))
WRONG(mean_equation, edf_mean_over_at(HW1(2), "m[b,i+j] = x[b,i,j]", x3()))
WRONG(mean_rank, edf_mean_over_at(HW1(2), "x[b,T]", x3()))
WRONG(max_two_terms, edf_max_over_at(HW1(2), "m[b] = x[b,I,J] + x[b,I,J]", x3()))
WRONG(max_number, edf_max_over_at(HW1(2), "m[b] = 2 x[b,I,J]", x3()))
WRONG(variance_null, edf_variance_over_at(HW1(2), "x[B]", NULL))

static edf_layer_norm_package norm3(void) { return edf_layer_norm_params_at(HW1(2), 3); }
WRONG(layer_norm_size, edf_layer_norm_at(HW1(3), norm3(), x3()))
WRONG(layer_norm_null, edf_layer_norm_at(HW1(3), norm3(), NULL))
WRONG(layer_norm_0, edf_layer_norm_params_at(HW1(2), 0))
WRONG(batch_norm_size, edf_batch_norm_at(HW1(3), edf_batch_norm_params_at(HW1(2), 3), x3()))
static void batch_norm_one(void) {
  edf_node *x = input(1, "x[b,3]");
  edf_batch_norm_at(HW1(3), edf_batch_norm_params_at(HW1(2), 3), x);
  edf_feed(x, data, 1);
  edf_forward();
}
WRONG(batch_norm_rank, edf_batch_norm_at(HW1(3), edf_batch_norm_params_at(HW1(2), 3),
                                         input(1, "x[b]")))
WRONG(dropout_1, edf_dropout_at(HW1(2), x3(), 1))
WRONG(dropout_nan, edf_dropout_at(HW1(2), x3(), NAN))
static void embed_65(void) {
  static const edf_real words[4] = { 0, 1, 65, 2 };
  edf_node *k = input(1, "k[b,2]");
  edf_embed_at(HW1(3), parameter(2, "E[65,8]"), k);
  edf_feed(k, words, 2);
  edf_forward();
}
WRONG(embed_scalar, edf_embed_at(HW1(2), parameter(1, "E"), input(1, "k[b]")))
WRONG(embed_swapped, edf_embed_at(HW1(3), input(1, "k[b]"), parameter(2, "E[65,8]")))
WRONG(concat_none, edf_concat_at(HW1(2), "y[b,J]", END))
WRONG(concat_no_capital, edf_concat_at(HW1(2), "y[b,j]", input(1, "x[b,3]"), END))
WRONG(concat_two, edf_concat_at(HW1(2), "y[B,J]", input(1, "x[b,3]"), END))
WRONG(concat_batch, edf_concat_at(HW1(2), "y[B,j]", input(1, "x[b,3]"), END))
WRONG(concat_shapes, edf_concat_at(HW1(3), "y[b,t,J]", input(1, "x[b,4,3]"),
                                   input(2, "z[b,5,3]"), END))
WRONG(concat_ranks, edf_concat_at(HW1(3), "y[b,t,J]", input(1, "x[b,4,3]"), input(2, "z[b]"),
                                  END))
WRONG(slice_outside, edf_slice_at(HW1(2), "x[b,T,j]", x3(), 3, 2))
WRONG(slice_negative, edf_slice_at(HW1(2), "x[b,T,j]", x3(), -1, 2))
WRONG(slice_batch, edf_slice_at(HW1(2), "x[B,t,j]", x3(), 0, 2))
WRONG(slice_two, edf_slice_at(HW1(2), "x[b,T,J]", x3(), 0, 2))
WRONG(select_outside, edf_select_at(HW1(2), "x[b,T,j]", x3(), 4))
WRONG(reshape_size, edf_reshape_at(HW1(2), x3(), "y[b,%d]", 21))
WRONG(reshape_no_batch, edf_reshape_at(HW1(2), x3(), "y[4,5]"))
WRONG(reshape_known, edf_reshape_at(HW1(2), parameter(1, "W[4,5]"), "y[3,7]"))
WRONG(reshape_two, edf_reshape_at(HW1(2), x3(), "y[b,t,5]"))
WRONG(bce_shapes, edf_bce_loss_at(HW1(3), input(1, "s[b,4]"), input(2, "y[b]")))
WRONG(masked_shapes, edf_masked_mean_at(HW1(3), input(1, "x[b,4]"), input(2, "m[b,3]")))

static edf_conv_package conv(int dims, int size, int n_in) {
  return edf_conv_params_at(HW1(2), dims, size, n_in, 8, 1);
}
WRONG(conv_dims, edf_conv_params_at(HW1(2), 4, 3, 1, 8, 1))
WRONG(conv_groups, edf_conv_params_at(HW1(2), 2, 3, 4, 6, 4))
WRONG(conv_rank, edf_conv_at(HW1(3), conv(2, 3, 5), x3()))
WRONG(conv_channels, edf_conv_at(HW1(3), conv(2, 3, 2), input(1, "x[b,6,6,3]")))
WRONG(conv_large, edf_conv_at(HW1(3), conv(2, 7, 3), input(1, "x[b,6,6,3]")))
static edf_conv_package padded(int padding) {
  edf_conv_package Phi = conv(1, 9, 3);
  Phi.padding = padding;
  return Phi;
}
WRONG(conv_padded_large, edf_conv_at(HW1(3), padded(1), input(1, "x[b,6,3]")))
static void conv_stride_0(void) {
  edf_conv_package Phi = conv(1, 3, 3);
  Phi.stride = 0;
  edf_conv_at(HW1(3), Phi, input(1, "x[b,6,3]"));
}
static void transposed_padding(void) {
  edf_conv_package Phi = conv(1, 3, 3);
  Phi.padding = 4;
  edf_transposed_conv_at(HW1(3), Phi, input(1, "x[b,6,3]"));
}
static void conv_groups_by_hand(void) {
  edf_conv_package Phi = conv(2, 3, 4);
  Phi.groups = 2;
  edf_conv_at(HW1(3), Phi, input(1, "x[b,6,6,4]"));
}
WRONG(conv_padding_huge, edf_conv_at(HW1(3), padded(20000), input(1, "x[b,6,3]")))
WRONG(pool_rank, edf_max_pool_at(HW1(2), input(1, "x[b,6]"), 2, 2))
WRONG(pool_size, edf_avg_pool_at(HW1(2), input(1, "x[b,6,3]"), 0, 2))
WRONG(pool_large, edf_max_pool_at(HW1(2), input(1, "x[b,6,3]"), 7, 1))
WRONG(residual_even, edf_residual_params_at(HW1(2), 2, 4, 8))
WRONG(residual_size, edf_residual_at(HW1(3), edf_residual_params_at(HW1(2), 1, 3, 4),
                                     input(1, "x[b,9,5]")))
WRONG(highway_size, edf_highway_at(HW1(3), edf_highway_params_at(HW1(2), 4),
                                   input(1, "x[b,5]")))
WRONG(heads, edf_attention_params_at(HW1(2), 10, 3))
WRONG(attention_rank, edf_attention_at(HW1(3), edf_attention_params_at(HW1(2), 6, 2),
                                       input(1, "x[b,6]")))
WRONG(attention_size, edf_causal_attention_at(HW1(3), edf_attention_params_at(HW1(2), 6, 2),
                                              x3()))

static edf_recurrent_package gru(void) {
  return edf_recurrent_params_at(HW1(2), &edf_gru_cell, 5, 3);
}
static const edf_recurrent_state none = { NULL, NULL };
WRONG(cell_of_another, edf_cell_at(HW1(3), &edf_lstm_cell, gru(), input(1, "x[b,5]"), none))
WRONG(cell_input, edf_cell_at(HW1(3), &edf_gru_cell, gru(), input(1, "x[b,4]"), none))
WRONG(cell_null, edf_cell_at(HW1(3), &edf_gru_cell, gru(), NULL, none))
static void half_a_state(void) {
  edf_node *x = input(1, "x[b,5]");
  edf_recurrent_state half = { input(1, "h[b,3]"), NULL };
  edf_cell_at(HW1(3), &edf_lstm_cell, edf_recurrent_params_at(HW1(2), &edf_lstm_cell, 5, 3), x,
              half);
}
WRONG(unroll_rank, edf_unroll_at(HW1(3), gru(), input(1, "x[b,5]")))
static void unroll_batch(void) {
  edf_node *one = edf_parameter_at(HW1(1), "one[1]"), *x = input(2, "x[b,5]");
  edf_node *y = edf_einsum_at(HW1(3), "y[n,t,i] = one[n] x[t,i]", one, x, END);
  edf_unroll_at(HW1(4), edf_recurrent_params_at(HW1(4), &edf_rnn_cell, 5, 3), y);
}
static void time_is_batch(void) {
  edf_node *w = edf_parameter_at(HW1(1), "W[5,5]");
  edf_recurrence_at(HW1(3), "h[t,j] = W[j,I] h[t-1,I] + x[t,j]", w, input(2, "x[b,5]"), END);
}
static void long_spec(void) {
  char spec[300] = "a[b,t,";
  memset(spec + strlen(spec), 'S', 196);
  edf_softmax_over_at(HW1(2), strcat(spec, "]"), x3());
}
static void scalar_scores(void) {
  edf_node *s = edf_parameter_at(HW1(1), "s"), *y = input(2, "y[1]");
  edf_softmax_log_loss_at(HW1(3), s, y);
}
static void unroll_nothing(void) {
  edf_recurrent_package Phi;
  memset(&Phi, 0, sizeof Phi);
  edf_unroll_at(HW1(3), Phi, input(1, "x[b,4,5]"));
}

static void recurrence(const char *equation) {
  edf_node *w = parameter(1, "W[3,3]"), *u = parameter(1, "U[3,5]"), *x = input(2, "x[b,4,5]");
  edf_recurrence_at(HW1(3), equation, w, u, x, END);
}
WRONG(no_self, recurrence("h[b,t,j] = tanh(W[j,I] g[b,t-1,I] + U[j,K] x[b,t,K])"))
WRONG(self_now, recurrence("h[b,t,j] = tanh(W[j,I] h[b,t,I] + U[j,K] x[b,t,K])"))
WRONG(self_rank, recurrence("h[b,t,j] = tanh(W[j,I] h[t-1,I] + U[j,K] x[b,t,K])"))
WRONG(times_two, recurrence("h[b,2*t,j] = tanh(W[j,I] h[b,2*t-1,I] + U[j,K] x[b,t,K])"))
WRONG(unknown_function, recurrence("h[b,t,j] = tan(W[j,I] h[b,t-1,I] + U[j,K] x[b,t,K])"))
WRONG(not_closed, recurrence("h[b,t,j] = tanh(W[j,I] h[b,t-1,I] + U[j,K] x[b,t,K]"))
WRONG(recurrent_shapes, recurrence("h[b,t,j] = tanh(W[j,I] h[b,t-1,I] + U[j,K] x[b,K,t])"))
WRONG(only_self, edf_recurrence_at(HW1(3), "h[t,j] = W[j,I] h[t-1,I] | t<4",
                                   parameter(1, "W[3,3]"), END))
WRONG(no_times, edf_recurrence_at(HW1(3), "h[t,j] = W[j,I] h[t-1,I] + W[j,J]",
                                  parameter(1, "W[3,3]"), END))
WRONG(mismatch_builtin, edf_expect_mismatch(edf_relu_at(HW1(2), x3())))

/* ---- Values and steps */

WRONG(value_before_forward, edf_value(edf_relu_at(HW1(2), x3())))
WRONG(value_before_feed, edf_value(x3()))
WRONG(view_before_forward, edf_view(edf_relu_at(HW1(2), x3())))
static void stale_scores(void) {
  edf_node *s = input(1, "s[b,3]"), *y = input(2, "y[b]"), *P = edf_softmax_at(HW1(3), s);
  edf_feed(s, data, 2);
  edf_feed(y, data, 2);
  edf_forward();
  edf_feed(s, data, 2);
  edf_error_rate(P, y);
}
static void all_frozen(void) {
  edf_node *w = parameter(1, "w[3]"), *y = edf_square_at(HW1(2), w);
  w->update = edf_frozen;
  edf_forward();
  edf_backward(y);
}
static void with_gradient(void) {
  edf_node *y = edf_square_at(HW1(2), parameter(1, "w[3]"));
  edf_forward();
  edf_backward(y);
}
static void clip_negative(void) { with_gradient(); edf_clip(-1); }
static void clip_nan(void) { with_gradient(); edf_clip_each(NAN); }
static void momentum_1(void) { with_gradient(); edf_momentum(1, 1); }
static void adam_beta(void) { with_gradient(); edf_adamw(1, 0, 1, 0, 0); }

static const bad_program programs[] = {
  { over_null,
    "hw1.c:2: SoftmaxOver: x is NULL" },
  { over_no_capital,
    "hw1.c:2: SoftmaxOver: a[b,t,s]\n"
    "                      ^\n"
    "  no index begins with a capital: a capital names what SoftmaxOver goes over" },
  { over_rank,
    "hw1.c:2: SoftmaxOver: a[b,T]\n"
    "                      ^\n"
    "  a has 2 indices here, but the tensor has 3\n"
    "  a = Input \"x\" [b, 4, 5]                       declared at hw1.c:1" },
  { over_twice,
    "hw1.c:2: SoftmaxOver: a[b,T,T]\n"
    "                            ^\n"
    "  expected an index alone, and each once" },
  { over_sum,
    "hw1.c:2: SoftmaxOver: a[b,t,S+1]\n"
    "                            ^\n"
    "  expected an index alone, and each once" },
  { over_open,
    "hw1.c:2: SoftmaxOver: a[b,t,S\n"
    "                             ^\n"
    "  expected ']' or ',', found the end" },
  { over_behind,
    "hw1.c:2: SoftmaxOver: a[b,t,S] = x\n"
    "                               ^\n"
    "  expected '|' or the end, found '='" },
  { over_no_spec,
    "hw1.c:2: SoftmaxOver: the equation is NULL" },
  { over_bound,
    "hw1.c:2: SumOver: x[b,t,T] | T<=t\n"
    "                           ^\n"
    "  expected the end, found '|'" },
  { max_of_null,
    "hw1.c:2: MaxOver: x is NULL" },
  { long_spec,
    "hw1.c:2: SoftmaxOver: the equation is too long: 203 characters, at most 200" },
  { scalar_scores,
    "hw1.c:3: SoftmaxLogLoss: the first operand needs an index of classes\n"
    "  Parameter \"s\" scalar                          declared at hw1.c:1\n"
    "  Input \"y\" [1]                                 declared at hw1.c:2" },
  { until_less,
    "hw1.c:2: SoftmaxOver: a[b,t,S] | S<t\n"
    "                                 ^\n"
    "  a bound is for the one index with a capital, as in | S<=t" },
  { until_small,
    "hw1.c:2: SoftmaxOver: a[b,t,S] | t<=S\n"
    "                                 ^\n"
    "  a bound is for the one index with a capital, as in | S<=t" },
  { until_unknown,
    "hw1.c:2: SoftmaxOver: a[b,t,S] | S<=u\n"
    "                                    ^\n"
    "  u is no index of this line" },
  { until_two,
    "hw1.c:2: SoftmaxOver: a[b,T,S] | S<=b\n"
    "                                 ^\n"
    "  a bound is for the one index with a capital, as in | S<=t" },
  { until_elsewhere,
    "hw1.c:2: LogSoftmaxOver: a[b,t,S] | S<=t\n"
    "                                  ^\n"
    "  expected the end, found '|'" },
  { normalize_rank,
    "hw1.c:2: NormalizeOver: x[J]\n"
    "                        ^\n"
    "  x has 1 index here, but the tensor has 3\n"
    "  x = Input \"x\" [b, 4, 5]                       declared at hw1.c:1" },
  { mean_equation,
    "hw1.c:2: MeanOver: m[b,i+j] = x[b,i,j]\n"
    "                       ^\n"
    "  MeanOver needs single indices on the left" },
  { mean_rank,
    "hw1.c:2: MeanOver: x[b,T]\n"
    "                   ^\n"
    "  x has 2 indices here, but the tensor has 3\n"
    "  x = Input \"x\" [b, 4, 5]                       declared at hw1.c:1" },
  { max_two_terms,
    "hw1.c:2: MaxOver: m[b] = x[b,I,J] + x[b,I,J]\n"
    "                         ^\n"
    "  MaxOver goes over one tensor, without a factor" },
  { max_number,
    "hw1.c:2: MaxOver: m[b] = 2 x[b,I,J]\n"
    "                         ^\n"
    "  MaxOver goes over one tensor, without a factor" },
  { variance_null,
    "hw1.c:2: VarianceOver: x is NULL" },
  { layer_norm_size,
    "hw1.c:3: LayerNorm: y[b,i,j] = A[j] n[b,i,j] + B[j]\n"
    "  j is 5 in n = LayerNorm \"LayerNorm0\" [b, 4, 5]  built at hw1.c:3\n"
    "  j is 3 in A = Parameter \"gain1\" [3]           declared at hw1.c:2" },
  { layer_norm_null,
    "hw1.c:3: LayerNorm: x is NULL" },
  { layer_norm_0,
    "hw1.c:2: edf_layer_norm_params: n is 0, expected at least 1" },
  { batch_norm_size,
    "hw1.c:3: BatchNorm: the last index of x must be as long as the parameters\n"
    "  Input \"x\" [b, 4, 5]                           declared at hw1.c:1\n"
    "  Parameter \"mean1\" [3]                         declared at hw1.c:2\n"
    "  Parameter \"variance1\" [3]                     declared at hw1.c:2" },
  { batch_norm_one,
    "hw1.c:3: BatchNorm: one row has no variance: training needs a batch of 2 or more\n"
    "  Input \"x\" [b=1, 3]                            declared at hw1.c:1\n"
    "  Parameter \"mean1\" [3]                         declared at hw1.c:2\n"
    "  Parameter \"variance1\" [3]                     declared at hw1.c:2" },
  { batch_norm_rank,
    "hw1.c:3: BatchNorm: x needs a batch, and channels as its last index\n"
    "  Input \"x\" [b]                                 declared at hw1.c:1\n"
    "  Parameter \"mean1\" [3]                         declared at hw1.c:2\n"
    "  Parameter \"variance1\" [3]                     declared at hw1.c:2" },
  { dropout_1,
    "hw1.c:2: Dropout: the rate is 1, expected 0 or more and less than 1" },
  { dropout_nan,
    "hw1.c:2: Dropout: the rate is nan, expected 0 or more and less than 1" },
  { embed_65,
    "hw1.c:3: Embed: class 65 in row [1,0] of k is out of range: expected 0 to 64 (are "
    "the classes counted from 1?)\n"
    "  Input \"k\" [b=2, 2]                            declared at hw1.c:1" },
  { embed_scalar,
    "hw1.c:2: Embed: W has a row for each class; y has the indices of k and of a row\n"
    "  Parameter \"E\" scalar                          declared at hw1.c:1\n"
    "  Input \"k\" [b]                                 declared at hw1.c:1" },
  { embed_swapped,
    "hw1.c:3: Embed: the second operand has the class numbers; a Parameter has none\n"
    "  Input \"k\" [b]                                 declared at hw1.c:1\n"
    "  Parameter \"E\" [65, 8]                         declared at hw1.c:2" },
  { concat_none,
    "hw1.c:2: Concat: expected at least one operand" },
  { concat_no_capital,
    "hw1.c:2: Concat: y[b,j]\n"
    "                 ^\n"
    "  no index begins with a capital: a capital names what Concat goes over" },
  { concat_two,
    "hw1.c:2: Concat: y[B,J]\n"
    "                 ^\n"
    "  expected one capital, the index of the Concat" },
  { concat_batch,
    "hw1.c:2: Concat: the batch cannot be joined\n"
    "  Input \"x\" [b, 3]                              declared at hw1.c:1" },
  { concat_shapes,
    "hw1.c:3: Concat: operands may differ in the joined index alone\n"
    "  Input \"x\" [b, 4, 3]                           declared at hw1.c:1\n"
    "  Input \"z\" [b, 5, 3]                           declared at hw1.c:2" },
  { concat_ranks,
    "hw1.c:3: Concat: operands have the indices of the result, or lack the joined one\n"
    "  Input \"x\" [b, 4, 3]                           declared at hw1.c:1\n"
    "  Input \"z\" [b]                                 declared at hw1.c:2" },
  { slice_outside,
    "hw1.c:2: Slice: x[b,T,j]\n"
    "                    ^\n"
    "  asks for entries 3 to 4 of a dimension with entries 0 to 3\n"
    "  Input \"x\" [b, 4, 5]                           declared at hw1.c:1" },
  { slice_negative,
    "hw1.c:2: Slice: x[b,T,j]\n"
    "                    ^\n"
    "  asks for entries -1 to 0 of a dimension with entries 0 to 3\n"
    "  Input \"x\" [b, 4, 5]                           declared at hw1.c:1" },
  { slice_batch,
    "hw1.c:2: Slice: x[B,t,j]\n"
    "                  ^\n"
    "  this is the batch, whose extent changes" },
  { slice_two,
    "hw1.c:2: Slice: x[b,T,J]\n"
    "                ^\n"
    "  expected one capital, the index of the Slice" },
  { select_outside,
    "hw1.c:2: Select: x[b,T,j]\n"
    "                     ^\n"
    "  asks for entry 4 of a dimension with entries 0 to 3\n"
    "  Input \"x\" [b, 4, 5]                           declared at hw1.c:1" },
  { reshape_size,
    "hw1.c:2: Reshape: the entries of x do not fill the shape, which has 21 a row\n"
    "  Input \"x\" [b, 4, 5]                           declared at hw1.c:1" },
  { reshape_no_batch,
    "hw1.c:2: Reshape: the entries of x do not fill the shape: x has a batch, so its "
    "first index has no number\n"
    "  Input \"x\" [b, 4, 5]                           declared at hw1.c:1" },
  { reshape_known,
    "hw1.c:2: Reshape: the entries of x do not fill the shape, which has 21\n"
    "  Parameter \"W\" [4, 5]                          declared at hw1.c:1" },
  { reshape_two,
    "hw1.c:2: Reshape: y[b,t,5]\n"
    "                      ^\n"
    "  t needs a number, as in t=10: only the batch has none, the first index of an Input" },
  { bce_shapes,
    "hw1.c:3: BCELoss: the shapes must be equal\n"
    "  Input \"s\" [b, 4]                              declared at hw1.c:1\n"
    "  Input \"y\" [b]                                 declared at hw1.c:2" },
  { masked_shapes,
    "hw1.c:3: MaskedMean: y[b,i] = u[b,i] v[b,i]\n"
    "  i is 3 in v = Input \"m\" [b, 3]                declared at hw1.c:2\n"
    "  i is 4 in u = Input \"x\" [b, 4]                declared at hw1.c:1" },
  { conv_dims,
    "hw1.c:2: edf_conv_params: 4 dimensions of size 3: expected 1 to 3, of size 1 or more" },
  { conv_groups,
    "hw1.c:2: edf_conv_params: 4 groups do not divide 4 and 6 channels" },
  { conv_rank,
    "hw1.c:3: Conv: x needs a batch, 2 dimensions and channels\n"
    "  x = Input \"x\" [b, 4, 5]                       declared at hw1.c:1" },
  { conv_channels,
    "hw1.c:3: Conv: y[b,i,j,n] = W[DI,DJ,C,n] x[b,i+DI,j+DJ,C] - B[n]\n"
    "  C is 3 in x = Input \"x\" [b, 6, 6, 3]          declared at hw1.c:1\n"
    "  C is 2 in W = Parameter \"w1\" [3, 3, 2, 8]     declared at hw1.c:2" },
  { conv_large,
    "hw1.c:3: Conv: the window reaches over 7 entries, but dimension 1 of x has 6, and "
    "the padding is 0\n"
    "  x = Input \"x\" [b, 6, 6, 3]                    declared at hw1.c:1" },
  { conv_padded_large,
    "hw1.c:3: Conv: the window reaches over 9 entries, but dimension 1 of x has 6, and "
    "the padding is 1\n"
    "  x = Input \"x\" [b, 6, 3]                       declared at hw1.c:1" },
  { conv_stride_0,
    "hw1.c:3: Conv: stride 0, dilation 1, padding 0: expected 1, 1 and 0 or more, at "
    "most 10000" },
  { transposed_padding,
    "hw1.c:3: TransposedConv: padding 4 leaves nothing of dimension 1, which has 8" },
  { conv_groups_by_hand,
    "hw1.c:3: Conv: Phi.groups is 2, but Phi.w was not made for that; see "
    "edf_grouped_conv_params\n"
    "  Phi.w = Parameter \"w1\" [3, 3, 4, 8]           declared at hw1.c:2" },
  { conv_padding_huge,
    "hw1.c:3: Conv: stride 1, dilation 1, padding 20000: expected 1, 1 and 0 or more, at "
    "most 10000" },
  { pool_rank,
    "hw1.c:2: MaxPool: x needs a batch, 1 to 3 dimensions and channels\n"
    "  x = Input \"x\" [b, 6]                          declared at hw1.c:1" },
  { pool_size,
    "hw1.c:2: AvgPool: window 0, stride 2: expected 1 or more" },
  { pool_large,
    "hw1.c:2: MaxPool: the window reaches over 7 entries, but dimension 1 of x has 6, "
    "and the padding is 0\n"
    "  x = Input \"x\" [b, 6, 3]                       declared at hw1.c:1" },
  { residual_even,
    "hw1.c:2: edf_residual_params: size 4: the shape stays the same for an odd one" },
  { residual_size,
    "hw1.c:3: Residual: y[b,i,n] = W[DI,C,n] x[b,i+DI-1,C] - B[n] | i<9\n"
    "  C is 5 in x = Input \"x\" [b, 9, 5]             declared at hw1.c:1\n"
    "  C is 4 in W = Parameter \"w1\" [3, 4, 4]        declared at hw1.c:2" },
  { highway_size,
    "hw1.c:3: Highway: s[b,j] = W[I,j] x[b,I] - B[j]\n"
    "  I is 5 in x = Input \"x\" [b, 5]                declared at hw1.c:1\n"
    "  I is 4 in W = Parameter \"w1\" [4, 4]           declared at hw1.c:2" },
  { heads,
    "hw1.c:2: edf_attention_params: 3 heads do not divide 10 numbers" },
  { attention_rank,
    "hw1.c:3: Attention: q[b,t,h,d] = WQ[I,h,d] x[b,t,I]\n"
    "                                           ^\n"
    "  x has 3 indices here, but the tensor has 2\n"
    "  x = Input \"x\" [b, 6]                          declared at hw1.c:1" },
  { attention_size,
    "hw1.c:3: CausalAttention: q[b,t,h,d] = WQ[I,h,d] x[b,t,I]\n"
    "  I is 5 in x = Input \"x\" [b, 4, 5]             declared at hw1.c:1\n"
    "  I is 6 in WQ = Parameter \"wq1\" [6, 2, 3]      declared at hw1.c:2" },
  { cell_of_another,
    "hw1.c:3: LSTM: Phi has the parameters of another cell: GRU\n"
    "  Phi.wx = Parameter \"wx1\" [5, 3, 3]            declared at hw1.c:2" },
  { cell_input,
    "hw1.c:3: GRU: z[b,k,j] = Wx[I,k,j] x[b,I] - B[k,j]\n"
    "  I is 4 in x = Input \"x\" [b, 4]                declared at hw1.c:1\n"
    "  I is 5 in Wx = Parameter \"wx1\" [5, 3, 3]      declared at hw1.c:2" },
  { cell_null,
    "hw1.c:3: GRU: x is NULL" },
  { half_a_state,
    "hw1.c:3: LSTM: the state has one of h and c: expected both, or none for zeros" },
  { unroll_rank,
    "hw1.c:3: Unroll: z[b,t,k,j] = Wx[I,k,j] x[b,t,I] - B[k,j]\n"
    "                                        ^\n"
    "  x has 3 indices here, but the tensor has 2\n"
    "  x = Input \"x\" [b, 5]                          declared at hw1.c:1" },
  { unroll_batch,
    "hw1.c:4: Unroll: the time, the second index of x, has to be a number\n"
    "  x = Einsum \"y\" [1, b, 5]                      built at hw1.c:3" },
  { unroll_nothing,
    "hw1.c:3: Unroll: Phi was not made by its constructor" },
  { no_self,
    "hw1.c:3: Recurrence: h[b,t,j] = tanh(W[j,I] g[b,t-1,I] + U[j,K] x[b,t,K])\n"
    "                     ^\n"
    "  the equation has 4 operands (W, g, U, x), but 3 were given\n"
    "  W = Parameter \"W\" [3, 3]                      declared at hw1.c:1\n"
    "  g = Parameter \"U\" [3, 5]                      declared at hw1.c:1\n"
    "  U = Input \"x\" [b, 4, 5]                       declared at hw1.c:2\n"
    "  x is missing, or NULL" },
  { self_now,
    "hw1.c:3: Recurrence: h[b,t,j] = tanh(W[j,I] h[b,t,I] + U[j,K] x[b,t,K])\n"
    "                                            ^\n"
    "  h is read on its own line at no other time: expected one, as in h[b,t-1,j]" },
  { self_rank,
    "hw1.c:3: Recurrence: h[b,t,j] = tanh(W[j,I] h[t-1,I] + U[j,K] x[b,t,K])\n"
    "                                            ^\n"
    "  expected 3 indices, as on its left" },
  { times_two,
    "hw1.c:3: Recurrence: h[b,2*t,j] = tanh(W[j,I] h[b,2*t-1,I] + U[j,K] x[b,t,K])\n"
    "                                              ^\n"
    "  h is read on its own line at no other time: expected one, as in h[b,t-1,j]" },
  { unknown_function,
    "hw1.c:3: Recurrence: h[b,t,j] = tan(W[j,I] h[b,t-1,I] + U[j,K] x[b,t,K])\n"
    "                                ^\n"
    "  tan is no function; a scalar stands behind the bracket" },
  { not_closed,
    "hw1.c:3: Recurrence: h[b,t,j] = tanh(W[j,I] h[b,t-1,I] + U[j,K] x[b,t,K]\n"
    "                                                                        ^\n"
    "  expected ')' or ',', found the end" },
  { recurrent_shapes,
    "hw1.c:3: Recurrence: h[b,t,j] = tanh(W[j,I] h[b,t-1,I] + U[j,K] x[b,K,t])\n"
    "  K is 4 in x = Input \"x\" [b, 4, 5]             declared at hw1.c:2\n"
    "  K is 5 in U = Parameter \"U\" [3, 5]            declared at hw1.c:1" },
  { only_self,
    "hw1.c:3: Recurrence: h[t,j] = W[j,I] h[t-1,I] | t<4\n"
    "                     ^\n"
    "  all of it stays 0" },
  { time_is_batch,
    "hw1.c:3: Recurrence: h[t,j] = W[j,I] h[t-1,I] + x[t,j]\n"
    "                       ^\n"
    "  t is the batch, whose extent changes; the number of steps has to be known" },
  { no_times,
    "hw1.c:3: Recurrence: h[t,j] = W[j,I] h[t-1,I] + W[j,J]\n"
    "                       ^\n"
    "  the number of steps has to be known: give it after a bar, | t<n" },
  { mismatch_builtin,
    "edf_expect_mismatch: the node is not one of your own\n"
    "  Relu \"Relu0\" [b, 4, 5]                        built at hw1.c:2" },
  { value_before_forward,
    "edf_value: the node has no value yet: call edf_forward first\n"
    "  Relu \"Relu0\" [b, 4, 5]                        built at hw1.c:2" },
  { value_before_feed,
    "edf_value: the node has no value yet: feed it first\n"
    "  Input \"x\" [b, 4, 5]                           declared at hw1.c:1" },
  { view_before_forward,
    "edf_view: the node has no value yet: call edf_forward first\n"
    "  Relu \"Relu0\" [b, 4, 5]                        built at hw1.c:2" },
  { stale_scores,
    "edf_error_rate: the scores have no value for the last feed: call edf_forward first\n"
    "  Softmax \"Softmax0\" [b=2, 3]                   built at hw1.c:3" },
  { all_frozen,
    "edf_backward: no parameter that is not frozen reaches the loss, and no input with "
    "edf_want_grad\n"
    "  Square \"Square0\" [3]                          built at hw1.c:2" },
  { clip_negative,
    "edf_clip: the greatest norm is -1, expected more than 0" },
  { clip_nan,
    "edf_clip_each: the greatest norm is nan, expected more than 0" },
  { momentum_1,
    "edf_momentum: mu is 1, expected 0 or more and less than 1" },
  { adam_beta,
    "edf_adam: beta2 is 1, expected 0 or more and less than 1" },
};

static void layers(void) {
  expect_all(programs, sizeof programs / sizeof *programs);
}

int main(void) {
  RUN(layers);
  return harness_report();
}
