/* The limits of arguments: at the limit it works, one beyond it stops with its message.

   Built as: float double none sanitized */
#include "wrong_programs.h"

static const edf_real zeros[256];

#define TRIES(name, ...) static void name(void) { __VA_ARGS__; }

static edf_node *x(const char *decl) { return declared(1, decl); }

/* ---- Losses and rows */
TRIES(div_shapes, edf_div_at(HW1(3), x("a[b,3]"), parameter(2, "c[2]")))
TRIES(div_ranks, edf_div_at(HW1(3), parameter(2, "c[2,3]"), x("a[b,4,2,4]")))
TRIES(softmax_scalar, edf_softmax_at(HW1(2), x("s")))
TRIES(log_softmax_scalar, edf_log_softmax_at(HW1(2), x("s")))
TRIES(labels_rank, edf_log_loss_at(HW1(3), x("P[b,2,3]"), input(2, "y[b]")))
TRIES(labels_shape, edf_softmax_log_loss_at(HW1(3), x("s[b,2,3]"), input(2, "y[b,3]")))
TRIES(labels_scalar, edf_log_loss_at(HW1(3), x("P[5]"), input(2, "y[1]")))
TRIES(bce_last, edf_bce_loss_at(HW1(3), x("s[b,4]"), input(2, "y[b,3]")))
TRIES(bce_first, edf_bce_loss_at(HW1(3), x("s[2,4]"), parameter(2, "y[3,4]")))

/* ---- A spec of 200 characters, and of 201 */
static void spec_of(int n) {
  char spec[300] = "a[b,";
  memset(spec + 4, 'S', (size_t)n - 5);
  spec[n - 1] = ']';
  edf_softmax_over_at(HW1(2), spec, x("x[b,5]"));
}
TRIES(spec_200, spec_of(200))
TRIES(spec_201, spec_of(201))

TRIES(spec_first, edf_softmax_over_at(HW1(2), "a[b+1,T]", x("x[b,5]")))
TRIES(spec_missing, edf_sum_over_at(HW1(2), NULL, x("x[b,5]")))
static void row_of_three(void) {
  static const edf_real words[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0 };
  edf_node *k = x("k[b,2,3]");
  edf_embed_at(HW1(3), parameter(2, "E[5,8]"), k);
  edf_feed(k, words, 2);
  edf_forward();
}

TRIES(add_nulls, edf_add_at(HW1(2), NULL, NULL))
TRIES(sub_null, edf_sub_at(HW1(2), NULL, x("x[b,5]")))
TRIES(mul_null, edf_mul_at(HW1(2), x("x[b,5]"), NULL))
TRIES(normalize_until, edf_normalize_over_at(HW1(2), "a[b,T] | T<=b", x("x[b,5]"), 1))
TRIES(slice_until, edf_slice_at(HW1(2), "x[b,T] | T<=b", x("x[b,5]"), 0, 1))

/* ---- Packages */
TRIES(affine_no_in, edf_affine_params_at(HW1(2), 0, 3))
TRIES(affine_no_out, edf_affine_params_at(HW1(2), 3, 0))
TRIES(affine_1, edf_affine_params_at(HW1(2), 1, 1))
TRIES(affine_rank_0, edf_affine_at(HW1(3), edf_affine_params_at(HW1(2), 3, 2), x("x")))
TRIES(affine_rank_5, edf_affine_at(HW1(3), edf_affine_params_at(HW1(2), 3, 2),
                                   x("x[b,1,1,1,3]")))
TRIES(affine_null, edf_affine_at(HW1(3), edf_affine_params_at(HW1(2), 3, 2), NULL))
TRIES(batch_norm_0, edf_batch_norm_params_at(HW1(2), 0))
static void norms(const char *mean, const char *variance) {
  edf_batch_norm_package N = edf_batch_norm_params_at(HW1(2), 3);
  N.mean = parameter(3, mean);
  N.variance = parameter(3, variance);
  edf_batch_norm_at(HW1(4), N, x("x[b,3]"));
}
TRIES(norm_mean_rank, norms("m[1,3]", "v[3]"))
TRIES(norm_variance_rank, norms("m[3]", "v[3,1]"))
TRIES(norm_variance_size, norms("m[3]", "v[4]"))
TRIES(norm_right, norms("m[3]", "v[3]"))
TRIES(conv_no_dims, edf_conv_params_at(HW1(2), 0, 3, 4, 8, 1))
TRIES(conv_no_size, edf_conv_params_at(HW1(2), 2, 0, 4, 8, 1))
TRIES(conv_no_groups, edf_conv_params_at(HW1(2), 2, 3, 4, 8, 0))
TRIES(conv_groups_out, edf_conv_params_at(HW1(2), 2, 3, 4, 6, 4))
TRIES(conv_groups_in, edf_conv_params_at(HW1(2), 2, 3, 6, 4, 4))
TRIES(conv_no_channels, edf_conv_params_at(HW1(2), 2, 3, 0, 8, 1))
TRIES(conv_least, edf_conv_params_at(HW1(2), 1, 1, 1, 1, 1))
TRIES(conv_most, edf_conv_params_at(HW1(2), 3, 1, 4, 4, 4))
TRIES(no_heads, edf_attention_params_at(HW1(2), 4, 0))
TRIES(no_numbers, edf_attention_params_at(HW1(2), 0, 1))
TRIES(heads_of_one, edf_attention_params_at(HW1(2), 4, 4))
TRIES(no_gates_in, edf_recurrent_params_at(HW1(2), &edf_rnn_cell, 0, 3))
TRIES(no_gates_out, edf_recurrent_params_at(HW1(2), &edf_ugrnn_cell, 3, 0))
TRIES(residual_1, edf_residual_params_at(HW1(2), 1, 1, 1))

/* ---- Conv and what slides */
static void slides(int stride, int dilation, int padding) {
  edf_conv_package Phi = edf_conv_params_at(HW1(2), 1, 1, 3, 2, 1);
  Phi.stride = stride; Phi.dilation = dilation; Phi.padding = padding;
  edf_node *y = edf_conv_at(HW1(3), Phi, x("x[b,6,3]"));
  CHECK(y->dim[1] == (5 + 2 * padding) / stride + 1, "%d places", y->dim[1]);
}
TRIES(stride_10000, slides(10000, 1, 0))
TRIES(stride_10001, slides(10001, 1, 0))
TRIES(dilation_10000, slides(1, 10000, 0))
TRIES(dilation_10001, slides(1, 10001, 0))
TRIES(dilation_0, slides(1, 0, 0))
TRIES(padding_10000, slides(1, 1, 10000))
TRIES(padding_10001, slides(1, 1, 10001))
TRIES(padding_less, slides(1, 1, -1))
static void reaches(int size, int dilation, int padding) {
  edf_conv_package Phi = edf_conv_params_at(HW1(2), 1, size, 3, 2, 1);
  Phi.dilation = dilation; Phi.padding = padding;
  edf_node *y = edf_conv_at(HW1(3), Phi, x("x[b,6,3]"));
  CHECK(y->dim[1] == 1, "%d places", y->dim[1]);
}
TRIES(reach_6, reaches(6, 1, 0))
TRIES(reach_7, reaches(7, 1, 0))
TRIES(reach_8, reaches(8, 1, 1))
TRIES(reach_9, reaches(9, 1, 1))
TRIES(reach_11, reaches(6, 2, 2))
TRIES(reach_10, reaches(4, 3, 2))
TRIES(conv_one_dimension, edf_conv_at(HW1(3), edf_conv_params_at(HW1(2), 1, 3, 3, 2, 1),
                                      x("x[b,6]")))
static void groups_changed(void) {
  edf_conv_package Phi = edf_conv_params_at(HW1(2), 1, 3, 6, 6, 2);
  Phi.groups = 3;
  edf_conv_at(HW1(3), Phi, x("x[b,6,6]"));
}
static void groups_transposed(void) {
  edf_transposed_conv_at(HW1(3), edf_conv_params_at(HW1(2), 1, 3, 6, 6, 2), x("x[b,6,6]"));
}
static void transposed(int padding) {
  edf_conv_package Phi = edf_conv_params_at(HW1(2), 1, 3, 2, 2, 1);
  Phi.padding = padding;
  edf_node *y = edf_transposed_conv_at(HW1(3), Phi, x("x[b,5,2]"));
  CHECK(y->dim[1] == 7 - 2 * padding, "%d places", y->dim[1]);
}
TRIES(crop_3, transposed(3))
TRIES(crop_4, transposed(4))
TRIES(pool_no_stride, edf_max_pool_at(HW1(2), x("x[b,6,3]"), 2, 0))
TRIES(pool_6, edf_max_pool_at(HW1(2), x("x[b,6,3]"), 6, 1))
TRIES(pool_rank_6, edf_avg_pool_at(HW1(2), x("x[b,2,2,2,2,1]"), 2, 1))
TRIES(pool_rank_5, edf_avg_pool_at(HW1(2), x("x[b,2,2,2,1]"), 2, 1))
TRIES(pool_null, edf_avg_pool_at(HW1(2), NULL, 2, 1))

/* ---- Dropout, Embed, InputFrom */
TRIES(dropout_less, edf_dropout_at(HW1(2), x("x[3]"), -0.125))
TRIES(dropout_0, edf_dropout_at(HW1(2), x("x[3]"), 0))
TRIES(dropout_most, edf_dropout_at(HW1(2), x("x[3]"), 0.999))
TRIES(embed_8, edf_embed_at(HW1(3), parameter(2, "E[2,1,1,1,1]"), x("k[b,1,1,1]")))
TRIES(embed_9, edf_embed_at(HW1(3), parameter(2, "E[2,1,1,1,1,1]"), x("k[b,1,1,1]")))
static void from(int rank, size_t size, const edf_real *value, const char *rows) {
  edf_array data;
  memset(&data, 0, sizeof data);
  data.rank = rank;
  for (int d = 0; d < 8; d++) data.dim[d] = 1;
  data.size = size;
  data.value = (edf_real *)value;
  edf_node *y = edf_input_from_at(HW1(2), data, x(rows));
  CHECK(y->rank == (int)strlen(rows) / 2 + rank - 2, "the rank is %d", y->rank);
}
TRIES(from_no_rank, from(0, 1, zeros, "r[b]"))
TRIES(from_no_size, from(1, 0, zeros, "r[b]"))
TRIES(from_nothing, from(1, 1, NULL, "r[b]"))
TRIES(from_1, from(1, 1, zeros, "r[b]"))
TRIES(from_8, from(6, 1, zeros, "r[b,1,1]"))
TRIES(from_9, from(7, 1, zeros, "r[b,1,1]"))
TRIES(from_null, edf_array data = { 1, { 1 }, 1, NULL }; edf_input_from_at(HW1(2), data, NULL))

/* ---- Slice, Select, Concat, Reshape */
TRIES(slice_whole, edf_slice_at(HW1(2), "x[b,T]", x("x[b,4]"), 0, 4))
TRIES(slice_last, edf_slice_at(HW1(2), "x[b,T]", x("x[b,4]"), 3, 1))
TRIES(slice_none, edf_slice_at(HW1(2), "x[b,T]", x("x[b,4]"), 1, 0))
TRIES(slice_one_more, edf_slice_at(HW1(2), "x[b,T]", x("x[b,4]"), 4, 1))
TRIES(slice_null, edf_slice_at(HW1(2), "x[b,T]", NULL, 4, 1))
TRIES(select_first, edf_select_at(HW1(2), "x[b,T]", x("x[b,4]"), 0))
TRIES(select_last, edf_select_at(HW1(2), "x[b,T]", x("x[b,4]"), 3))
TRIES(select_less, edf_select_at(HW1(2), "x[b,T]", x("x[b,4]"), -1))
TRIES(concat_null, edf_concat_list_at(HW1(2), "y[b,J]", 0, NULL))
TRIES(concat_lacks_two, edf_concat_at(HW1(3), "y[b,T,j]", x("x[b,4,3]"), input(2, "z[3]"), END))
TRIES(concat_lacks, edf_concat_at(HW1(3), "y[b,T,j]", x("x[b,4,3]"), input(2, "z[b,5]"), END))
TRIES(reshape_batch_only, edf_reshape_at(HW1(2), x("x[b,4]"), "y[b,2,3]"))
TRIES(reshape_halves, edf_reshape_at(HW1(2), x("x[b,4]"), "y[b,8]"))
TRIES(reshape_scalar, edf_reshape_at(HW1(2), x("x[1]"), "y"))

TRIES(reshape_smaller, edf_reshape_at(HW1(2), x("x[4,5]"), "y[10]"))
TRIES(reshape_8, edf_reshape_at(HW1(2), x("x[1,1,1,1,1,1,1,2]"), "y[1,1,1,1,1,1,2,1]"))
static void conv_without_dims(void) {
  edf_conv_package Phi = edf_conv_params_at(HW1(2), 1, 3, 2, 2, 1);
  Phi.w = parameter(2, "w[2,2]");
  edf_conv_at(HW1(3), Phi, x("x[b,2]"));
}

/* ---- Cells */
static const edf_recurrent_state none = { NULL, NULL };
static void half_a_state(void) {
  edf_recurrent_state half = { NULL, input(1, "c[b,3]") };
  edf_cell_at(HW1(3), &edf_lstm_cell, edf_recurrent_params_at(HW1(2), &edf_lstm_cell, 5, 3),
              x("x[b,5]"), half);
}
static void cell_of_nothing(void) {
  edf_recurrent_package Phi;
  memset(&Phi, 0, sizeof Phi);
  edf_cell_at(HW1(3), &edf_rnn_cell, Phi, x("x[b,5]"), none);
}
static void cell_without_b(void) {
  edf_recurrent_package Phi = edf_recurrent_params_at(HW1(2), &edf_rnn_cell, 5, 3);
  Phi.b = NULL;
  edf_unroll_at(HW1(3), Phi, x("x[b,2,5]"));
}

TRIES(one_head, edf_attention_params_at(HW1(2), 4, 1))
static void attention_null(void) {
  edf_attention_package Phi = edf_attention_params_at(HW1(2), 4, 2);
  Phi.wo = NULL;
  edf_attention_at(HW1(3), Phi, x("x[b,3,4]"));
}
static void conv_null(void) {
  edf_conv_package Phi = edf_conv_params_at(HW1(2), 1, 3, 2, 2, 1);
  Phi.b = NULL;
  edf_conv_at(HW1(3), Phi, x("x[b,5,2]"));
}
TRIES(conv_of_null, edf_conv_at(HW1(3), edf_conv_params_at(HW1(2), 1, 3, 2, 2, 1), NULL))
TRIES(transposed_null, edf_transposed_conv_at(HW1(3), edf_conv_params_at(HW1(2), 1, 3, 2, 2, 1),
                                              NULL))
TRIES(highway_null, edf_highway_at(HW1(3), edf_highway_params_at(HW1(2), 4), NULL))
TRIES(batch_norm_null, edf_batch_norm_at(HW1(3), edf_batch_norm_params_at(HW1(2), 4), NULL))

/* An error in a recurrence shows the program's own line, whatever the names in it. */
static void shapes_of(const char *equation) {
  edf_recurrence_at(HW1(3), equation, parameter(1, "A[3,3]"), parameter(1, "B[3,5]"),
                    input(2, "x[b,4,5]"), END);
}
TRIES(names_plain, shapes_of("h[b,t,j] = A_[j,I] h[b,t-1,I] + B[j,K] y[b,K,t]"))
TRIES(names_longer, shapes_of("h[b,t,j] = A[j,I] h[b,t-1,I] + h_in[j,K] y[b,K,t]"))
TRIES(names_two, shapes_of("h[b,t,j] = h__x[j,I] h[b,t-1,I] + h_in[j,K] y[b,K,t]"))
TRIES(names_other, shapes_of("h[b,t,j] = hx_[j,I] h[b,t-1,I] + x__[j,K] y[b,K,t]"))
TRIES(not_recurrent, edf_recurrence_at(HW1(3), "hid[t] = a[t]", parameter(1, "a[4]"), END))
static void batch_is_second(void) {
  edf_node *one = parameter(1, "one[1]"), *in = input(2, "x[b]");
  edf_node *y = edf_einsum_at(HW1(3), "y[n,t] = one[n] x[t]", one, in, END);
  edf_recurrence_at(HW1(4), "h[n,t] = h[n,t-1] + y[n,t]", y, END);
}
static void times_both_ways(void) {
  edf_recurrence_at(HW1(3), "h[t] = h[t-1] + h[t+1] + a[t]", parameter(1, "a[4]"), END);
}

/* ---- Optimisers and initialisers */
static edf_node *w(void) {
  edf_node *p = parameter(1, "w[3]"), *y = edf_square_at(HW1(2), p);
  edf_forward();
  edf_backward(y);
  return p;
}
TRIES(update_null, edf_update_sgd(NULL, 1))
TRIES(update_input, edf_update_momentum(input(1, "x[b]"), 1, 0))
TRIES(update_average_bare, edf_update_average(parameter(1, "w[3]"), 1, 0))
TRIES(update_adagrad_bare, edf_update_adagrad(parameter(1, "w[3]"), 1, 0))
TRIES(update_rmsprop_bare, edf_update_rmsprop(parameter(1, "w[3]"), 1, 0, 0))
TRIES(update_adamw_bare, edf_update_adamw(parameter(1, "w[3]"), 1, 0, 0, 0, 0))
TRIES(update_slides_bare, edf_update_adam_slides(parameter(1, "w[3]"), 1, 0, 0, 0))
TRIES(momentum_less, edf_update_momentum(w(), 1, -1))
TRIES(average_1, edf_update_average(w(), 1, 1))
TRIES(rmsprop_1, edf_update_rmsprop(w(), 1, 1, 1))
TRIES(adam_beta1, edf_update_adamw(w(), 1, 1, 0, 1, 0))
TRIES(adam_beta2, edf_update_adamw(w(), 1, 0, -1, 1, 0))
TRIES(slides_beta1, edf_update_adam_slides(w(), 1, 1, 0, 1))
TRIES(slides_beta2, edf_update_adam_slides(w(), 1, 0, 1, 1))
TRIES(betas_0, edf_update_adamw(w(), 1, 0, 0, 1, 0))
TRIES(clip_0, w(); edf_clip(0))
TRIES(clip_each_0, w(); edf_clip_each(0))
TRIES(below_0, edf_below(0))
TRIES(below_1, edf_below(1))
TRIES(uniform_input, edf_init_uniform(input(1, "x[b]"), 0, 1))
TRIES(normal_input, edf_init_normal(input(1, "x[b]"), 0, 1))
TRIES(normal_null, edf_init_normal(NULL, 0, 1))

static const bad_program wrong[] = {
  { div_shapes,
    "hw1.c:3: Div: the shapes must be equal, or one the trailing part of the other\n"
    "  Input \"a\" [b, 3]                              declared at hw1.c:1\n"
    "  Parameter \"c\" [2]                             declared at hw1.c:2" },
  { div_ranks,
    "hw1.c:3: Div: the shapes must be equal, or one the trailing part of the other\n"
    "  Parameter \"c\" [2, 3]                          declared at hw1.c:2\n"
    "  Input \"a\" [b, 4, 2, 4]                        declared at hw1.c:1" },
  { softmax_scalar,
    "hw1.c:2: Softmax: a scalar has no last index\n"
    "  Parameter \"s\" scalar                          declared at hw1.c:1" },
  { log_softmax_scalar,
    "hw1.c:2: LogSoftmax: a scalar has no last index\n"
    "  Parameter \"s\" scalar                          declared at hw1.c:1" },
  { labels_rank,
    "hw1.c:3: LogLoss: expected one label for each row of P: y is [b], not [b, 2]\n"
    "  P = Input \"P\" [b, 2, 3]                       declared at hw1.c:1\n"
    "  y = Input \"y\" [b]                             declared at hw1.c:2" },
  { labels_shape,
    "hw1.c:3: SoftmaxLogLoss: expected one label for each row of s: y is [b, 3], not [b, "
    "2]\n"
    "  s = Input \"s\" [b, 2, 3]                       declared at hw1.c:1\n"
    "  y = Input \"y\" [b, 3]                          declared at hw1.c:2" },
  { labels_scalar,
    "hw1.c:3: LogLoss: expected one label for each row of P: y is [1], not scalar\n"
    "  P = Parameter \"P\" [5]                         declared at hw1.c:1\n"
    "  y = Input \"y\" [1]                             declared at hw1.c:2" },
  { bce_last,
    "hw1.c:3: BCELoss: the shapes must be equal\n"
    "  Input \"s\" [b, 4]                              declared at hw1.c:1\n"
    "  Input \"y\" [b, 3]                              declared at hw1.c:2" },
  { bce_first,
    "hw1.c:3: BCELoss: the shapes must be equal\n"
    "  Parameter \"s\" [2, 4]                          declared at hw1.c:1\n"
    "  Parameter \"y\" [3, 4]                          declared at hw1.c:2" },
  { spec_201,
    "hw1.c:2: SoftmaxOver: the equation is too long: 201 characters, at most 200" },
  { spec_first,
    "hw1.c:2: SoftmaxOver: a[b+1,T]\n"
    "                        ^\n"
    "  expected an index alone, and each once" },
  { spec_missing,
    "hw1.c:2: SumOver: the equation is NULL" },
  { row_of_three,
    "hw1.c:3: Embed: class 5 in row [1,1,1] of k is out of range: expected 0 to 4 (are "
    "the classes counted from 1?)\n"
    "  Input \"k\" [b=2, 2, 3]                         declared at hw1.c:1" },
  { add_nulls,
    "hw1.c:2: Add: operand 1 is NULL" },
  { sub_null,
    "hw1.c:2: Sub: operand 1 is NULL" },
  { mul_null,
    "hw1.c:2: Mul: operand 2 is NULL" },
  { normalize_until,
    "hw1.c:2: NormalizeOver: a[b,T] | T<=b\n"
    "                               ^\n"
    "  expected the end, found '|'" },
  { slice_until,
    "hw1.c:2: Slice: x[b,T] | T<=b\n"
    "                       ^\n"
    "  expected the end, found '|'" },
  { affine_no_in,
    "hw1.c:2: edf_affine_params: 0 inputs and 3 outputs: expected at least 1 of each" },
  { affine_no_out,
    "hw1.c:2: edf_affine_params: 3 inputs and 0 outputs: expected at least 1 of each" },
  { affine_rank_0,
    "hw1.c:3: Affine: x has 0 dimensions, expected 1 to 4\n"
    "  x = Parameter \"x\" scalar                      declared at hw1.c:1" },
  { affine_rank_5,
    "hw1.c:3: Affine: x has 5 dimensions, expected 1 to 4\n"
    "  x = Input \"x\" [b, 1, 1, 1, 3]                 declared at hw1.c:1" },
  { affine_null,
    "hw1.c:3: Affine: x is NULL" },
  { batch_norm_0,
    "hw1.c:2: edf_batch_norm_params: n is 0, expected at least 1" },
  { norm_mean_rank,
    "hw1.c:4: BatchNorm: the last index of x must be as long as the parameters\n"
    "  Input \"x\" [b, 3]                              declared at hw1.c:1\n"
    "  Parameter \"m\" [1, 3]                          declared at hw1.c:3\n"
    "  Parameter \"v\" [3]                             declared at hw1.c:3" },
  { norm_variance_rank,
    "hw1.c:4: BatchNorm: the last index of x must be as long as the parameters\n"
    "  Input \"x\" [b, 3]                              declared at hw1.c:1\n"
    "  Parameter \"m\" [3]                             declared at hw1.c:3\n"
    "  Parameter \"v\" [3, 1]                          declared at hw1.c:3" },
  { norm_variance_size,
    "hw1.c:4: BatchNorm: the last index of x must be as long as the parameters\n"
    "  Input \"x\" [b, 3]                              declared at hw1.c:1\n"
    "  Parameter \"m\" [3]                             declared at hw1.c:3\n"
    "  Parameter \"v\" [4]                             declared at hw1.c:3" },
  { conv_no_dims,
    "hw1.c:2: edf_conv_params: 0 dimensions of size 3: expected 1 to 3, of size 1 or more" },
  { conv_no_size,
    "hw1.c:2: edf_conv_params: 2 dimensions of size 0: expected 1 to 3, of size 1 or more" },
  { conv_no_groups,
    "hw1.c:2: edf_conv_params: 0 groups do not divide 4 and 8 channels" },
  { conv_groups_out,
    "hw1.c:2: edf_conv_params: 4 groups do not divide 4 and 6 channels" },
  { conv_groups_in,
    "hw1.c:2: edf_conv_params: 4 groups do not divide 6 and 4 channels" },
  { conv_no_channels,
    "hw1.c:2: edf_conv_params: 0 inputs and 8 outputs: expected at least 1 of each" },
  { no_heads,
    "hw1.c:2: edf_attention_params: 0 heads do not divide 4 numbers" },
  { no_numbers,
    "hw1.c:2: edf_attention_params: 1 heads do not divide 0 numbers" },
  { no_gates_in,
    "hw1.c:2: RNN: 0 inputs and 3 outputs: expected at least 1 of each" },
  { no_gates_out,
    "hw1.c:2: UGRNN: 3 inputs and 0 outputs: expected at least 1 of each" },
  { stride_10001,
    "hw1.c:3: Conv: stride 10001, dilation 1, padding 0: expected 1, 1 and 0 or more, at "
    "most 10000" },
  { dilation_10001,
    "hw1.c:3: Conv: stride 1, dilation 10001, padding 0: expected 1, 1 and 0 or more, at "
    "most 10000" },
  { dilation_0,
    "hw1.c:3: Conv: stride 1, dilation 0, padding 0: expected 1, 1 and 0 or more, at "
    "most 10000" },
  { padding_10001,
    "hw1.c:3: Conv: stride 1, dilation 1, padding 10001: expected 1, 1 and 0 or more, at "
    "most 10000" },
  { padding_less,
    "hw1.c:3: Conv: stride 1, dilation 1, padding -1: expected 1, 1 and 0 or more, at "
    "most 10000" },
  { reach_7,
    "hw1.c:3: Conv: the window reaches over 7 entries, but dimension 1 of x has 6, and "
    "the padding is 0\n"
    "  x = Input \"x\" [b, 6, 3]                       declared at hw1.c:1" },
  { reach_9,
    "hw1.c:3: Conv: the window reaches over 9 entries, but dimension 1 of x has 6, and "
    "the padding is 1\n"
    "  x = Input \"x\" [b, 6, 3]                       declared at hw1.c:1" },
  { reach_11,
    "hw1.c:3: Conv: the window reaches over 11 entries, but dimension 1 of x has 6, and "
    "the padding is 2\n"
    "  x = Input \"x\" [b, 6, 3]                       declared at hw1.c:1" },
  { conv_one_dimension,
    "hw1.c:3: Conv: x needs a batch, 1 dimension and channels\n"
    "  x = Input \"x\" [b, 6]                          declared at hw1.c:1" },
  { groups_changed,
    "hw1.c:3: Conv: Phi.groups is 3, but Phi.w was not made for that; see "
    "edf_grouped_conv_params\n"
    "  Phi.w = Parameter \"w1\" [3, 2, 3, 3]           declared at hw1.c:2" },
  { groups_transposed,
    "hw1.c:3: TransposedConv: 2 groups: expected 1" },
  { crop_4,
    "hw1.c:3: TransposedConv: padding 4 leaves nothing of dimension 1, which has 7" },
  { pool_no_stride,
    "hw1.c:2: MaxPool: window 2, stride 0: expected 1 or more" },
  { pool_rank_6,
    "hw1.c:2: AvgPool: x needs a batch, 1 to 3 dimensions and channels\n"
    "  x = Input \"x\" [b, 2, 2, 2, 2, 1]              declared at hw1.c:1" },
  { pool_null,
    "hw1.c:2: AvgPool: x is NULL" },
  { dropout_less,
    "hw1.c:2: Dropout: the rate is -0.125, expected 0 or more and less than 1" },
  { embed_9,
    "hw1.c:3: Embed: W has a row for each class; y has the indices of k and of a row\n"
    "  Parameter \"E\" [2, 1, 1, 1, 1, 1]              declared at hw1.c:2\n"
    "  Input \"k\" [b, 1, 1, 1]                        declared at hw1.c:1" },
  { from_no_rank,
    "hw1.c:2: InputFrom: the data has no rows" },
  { from_no_size,
    "hw1.c:2: InputFrom: the data has no rows" },
  { from_nothing,
    "hw1.c:2: InputFrom: the data has no rows" },
  { from_9,
    "hw1.c:2: InputFrom: the data has 7 dimensions, and a row number for each entry of "
    "rows makes more than 8\n"
    "  rows = Input \"r\" [b, 1, 1]                    declared at hw1.c:1" },
  { from_null,
    "hw1.c:2: InputFrom: rows is NULL" },
  { slice_none,
    "hw1.c:2: Slice: x[b,T]\n"
    "                    ^\n"
    "  asks for entries 1 to 0 of a dimension with entries 0 to 3\n"
    "  Input \"x\" [b, 4]                              declared at hw1.c:1" },
  { slice_one_more,
    "hw1.c:2: Slice: x[b,T]\n"
    "                    ^\n"
    "  asks for entry 4 of a dimension with entries 0 to 3\n"
    "  Input \"x\" [b, 4]                              declared at hw1.c:1" },
  { slice_null,
    "hw1.c:2: Slice: x is NULL" },
  { select_less,
    "hw1.c:2: Select: x[b,T]\n"
    "                     ^\n"
    "  asks for entry -1 of a dimension with entries 0 to 3\n"
    "  Input \"x\" [b, 4]                              declared at hw1.c:1" },
  { concat_null,
    "hw1.c:2: Concat: expected at least one operand" },
  { concat_lacks_two,
    "hw1.c:3: Concat: operands have the indices of the result, or lack the joined one\n"
    "  Input \"x\" [b, 4, 3]                           declared at hw1.c:1\n"
    "  Input \"z\" [3]                                 declared at hw1.c:2" },
  { concat_lacks,
    "hw1.c:3: Concat: operands may differ in the joined index alone\n"
    "  Input \"x\" [b, 4, 3]                           declared at hw1.c:1\n"
    "  Input \"z\" [b, 5]                              declared at hw1.c:2" },
  { reshape_batch_only,
    "hw1.c:2: Reshape: the entries of x do not fill the shape, which has 6 a row\n"
    "  Input \"x\" [b, 4]                              declared at hw1.c:1" },
  { reshape_smaller,
    "hw1.c:2: Reshape: the entries of x do not fill the shape, which has 10\n"
    "  Parameter \"x\" [4, 5]                          declared at hw1.c:1" },
  { conv_without_dims,
    "hw1.c:3: Conv: Phi.groups is 1, but Phi.w was not made for that; see "
    "edf_grouped_conv_params\n"
    "  Phi.w = Parameter \"w\" [2, 2]                  declared at hw1.c:2" },
  { half_a_state,
    "hw1.c:3: LSTM: the state has one of h and c: expected both, or none for zeros" },
  { cell_of_nothing,
    "hw1.c:3: RNN: Phi was not made by its constructor" },
  { cell_without_b,
    "hw1.c:3: Unroll: Phi.b is NULL" },
  { attention_null,
    "hw1.c:3: Attention: Phi.wo is NULL" },
  { conv_null,
    "hw1.c:3: Conv: Phi.b is NULL" },
  { conv_of_null,
    "hw1.c:3: Conv: x is NULL" },
  { transposed_null,
    "hw1.c:3: TransposedConv: x is NULL" },
  { highway_null,
    "hw1.c:3: Highway: x is NULL" },
  { batch_norm_null,
    "hw1.c:3: BatchNorm: x is NULL" },
  { names_plain,
    "hw1.c:3: Recurrence: h[b,t,j] = A_[j,I] h[b,t-1,I] + B[j,K] y[b,K,t]\n"
    "  K is 4 in y = Input \"x\" [b, 4, 5]             declared at hw1.c:2\n"
    "  K is 5 in B = Parameter \"B\" [3, 5]            declared at hw1.c:1" },
  { names_longer,
    "hw1.c:3: Recurrence: h[b,t,j] = A[j,I] h[b,t-1,I] + h_in[j,K] y[b,K,t]\n"
    "  K is 4 in y = Input \"x\" [b, 4, 5]             declared at hw1.c:2\n"
    "  K is 5 in h_in = Parameter \"B\" [3, 5]         declared at hw1.c:1" },
  { names_two,
    "hw1.c:3: Recurrence: h[b,t,j] = h__x[j,I] h[b,t-1,I] + h_in[j,K] y[b,K,t]\n"
    "  K is 4 in y = Input \"x\" [b, 4, 5]             declared at hw1.c:2\n"
    "  K is 5 in h_in = Parameter \"B\" [3, 5]         declared at hw1.c:1" },
  { names_other,
    "hw1.c:3: Recurrence: h[b,t,j] = hx_[j,I] h[b,t-1,I] + x__[j,K] y[b,K,t]\n"
    "  K is 4 in y = Input \"x\" [b, 4, 5]             declared at hw1.c:2\n"
    "  K is 5 in x__ = Parameter \"B\" [3, 5]          declared at hw1.c:1" },
  { not_recurrent,
    "hw1.c:3: Recurrence: hid[t] = a[t]\n"
    "                     ^\n"
    "  hid is not on the right: this is an equation for Einsum" },
  { batch_is_second,
    "hw1.c:4: Recurrence: h[n,t] = h[n,t-1] + y[n,t]\n"
    "                         ^\n"
    "  t is the batch, whose extent changes; the number of steps has to be known" },
  { times_both_ways,
    "hw1.c:3: Recurrence: h[t] = h[t-1] + h[t+1] + a[t]\n"
    "                                       ^\n"
    "  h is read before and after its own time: expected one of both" },
  { update_null,
    "edf_update_sgd: the node is NULL" },
  { update_input,
    "edf_update_momentum: only a Parameter that has a gradient can be updated\n"
    "  Input \"x\" [b]                                 declared at hw1.c:1" },
  { update_average_bare,
    "edf_update_average: only a Parameter that has a gradient can be updated\n"
    "  Parameter \"w\" [3]                             declared at hw1.c:1" },
  { update_adagrad_bare,
    "edf_update_adagrad: only a Parameter that has a gradient can be updated\n"
    "  Parameter \"w\" [3]                             declared at hw1.c:1" },
  { update_rmsprop_bare,
    "edf_update_rmsprop: only a Parameter that has a gradient can be updated\n"
    "  Parameter \"w\" [3]                             declared at hw1.c:1" },
  { update_adamw_bare,
    "edf_update_adamw: only a Parameter that has a gradient can be updated\n"
    "  Parameter \"w\" [3]                             declared at hw1.c:1" },
  { update_slides_bare,
    "edf_update_adam_slides: only a Parameter that has a gradient can be updated\n"
    "  Parameter \"w\" [3]                             declared at hw1.c:1" },
  { momentum_less,
    "edf_momentum: mu is -1, expected 0 or more and less than 1" },
  { average_1,
    "edf_average: beta is 1, expected 0 or more and less than 1" },
  { rmsprop_1,
    "edf_rmsprop: beta is 1, expected 0 or more and less than 1" },
  { adam_beta1,
    "edf_adam: beta1 is 1, expected 0 or more and less than 1" },
  { adam_beta2,
    "edf_adam: beta2 is -1, expected 0 or more and less than 1" },
  { slides_beta1,
    "edf_adam_slides: beta1 is 1, expected 0 or more and less than 1" },
  { slides_beta2,
    "edf_adam_slides: beta2 is 1, expected 0 or more and less than 1" },
  { clip_0,
    "edf_clip: the greatest norm is 0, expected more than 0" },
  { clip_each_0,
    "edf_clip_each: the greatest norm is 0, expected more than 0" },
  { below_0,
    "edf_below: n is 0, expected at least 1" },
  { uniform_input,
    "edf_init_uniform: only a Parameter can be initialised\n"
    "  Input \"x\" [b]                                 declared at hw1.c:1" },
  { normal_input,
    "edf_init_normal: only a Parameter can be initialised\n"
    "  Input \"x\" [b]                                 declared at hw1.c:1" },
  { normal_null,
    "edf_init_normal: the node is NULL" },
};

static void (*const right[])(void) = {
  spec_200, affine_1, norm_right, conv_least, conv_most, heads_of_one, residual_1,
  stride_10000, dilation_10000, padding_10000, reach_6, reach_8, reach_10, crop_3, pool_6,
  pool_rank_5, dropout_0, dropout_most, embed_8, from_1, from_8, slice_whole, slice_last,
  select_first, select_last, reshape_halves, reshape_scalar, reshape_8, one_head, betas_0,
  below_1,
};

static void beyond_the_limit(void) {
  expect_all(wrong, sizeof wrong / sizeof *wrong);
}

static void at_the_limit(void) {
  for (size_t k = 0; k < sizeof right / sizeof *right; k++) {
    TRY(right[k]());
    CHECK(!panicked, "program %zu: %s", k, caught);
    edf_clear();
  }
}

int main(void) {
  RUN(beyond_the_limit);
  RUN(at_the_limit);
  return harness_report();
}
