/* What edf_print says of nodes above their numbers: the shape, where each was built, and its
   formula, with the names of its indices; as in tests/golden/formulas.txt. To write it anew,
   and then look at what has changed, run it with --write.

   Built as: double none */
#include "node_checks.h"
#include "golden.h"

#define HW1(line) "hw1.c", line

static edf_node *in_(const char *decl) { return edf_input_at(HW1(1), "%s", decl); }
static edf_node *par(const char *decl) { return edf_parameter_at(HW1(1), "%s", decl); }
static edf_node *x4(void) { return par("x[2,3,4]"); }

static edf_conv_package conv(int dims, int size, int stride, int dilation, int padding,
                             int groups) {
  edf_conv_package Phi = edf_conv_params_at(HW1(2), dims, size, 2 * groups, 3 * groups, groups);
  Phi.stride = stride; Phi.dilation = dilation; Phi.padding = padding;
  return Phi;
}
static const edf_recurrent_state none = { NULL, NULL };
static edf_node *cell(const edf_cell *c) {
  edf_recurrent_package Phi = edf_recurrent_params_at(HW1(2), c, 2, 3);
  return edf_cell_at(HW1(3), c, Phi, par("x[1,2]"), none).h;
}
static edf_node *next_cell(const edf_cell *c) {
  edf_recurrent_package Phi = edf_recurrent_params_at(HW1(2), c, 2, 3);
  edf_recurrent_state s = { par("h[1,3]"), NULL };
  if (c == &edf_lstm_cell) s.c = par("c[1,3]");
  return edf_cell_at(HW1(3), c, Phi, par("x[1,2]"), s).h;
}
static edf_node *labelled(int softmax) {
  edf_node *y = in_("y[2,3]");
  static const edf_real zeros[6];
  edf_feed(y, zeros, 1);
  return softmax ? edf_softmax_log_loss_at(HW1(3), x4(), y) : edf_log_loss_at(HW1(3), x4(), y);
}

static edf_node *embedded(void) {
  static const edf_real zeros[5];
  edf_node *k = in_("k[5]");
  edf_feed(k, zeros, 1);
  return edf_embed_at(HW1(3), par("W[3,4]"), k);
}

#define NODES                                                                    \
  ITEM(edf_sigmoid_at(HW1(3), x4()))                                             \
  ITEM(edf_tanh_at(HW1(3), x4()))                                                \
  ITEM(edf_relu_at(HW1(3), x4()))                                                \
  ITEM(edf_exp_at(HW1(3), par("x")))                                             \
  ITEM(edf_log_at(HW1(3), par("x[2]")))                                          \
  ITEM(edf_sqrt_at(HW1(3), x4()))                                                \
  ITEM(edf_square_at(HW1(3), x4()))                                              \
  ITEM(edf_leaky_relu_at(HW1(3), x4(), (edf_real)0.25))                          \
  ITEM(edf_gelu_at(HW1(3), x4()))                                                \
  ITEM(edf_softplus_at(HW1(3), x4()))                                            \
  ITEM(edf_abs_at(HW1(3), x4()))                                                 \
  ITEM(edf_sin_at(HW1(3), x4()))                                                 \
  ITEM(edf_cos_at(HW1(3), x4()))                                                 \
  ITEM(edf_pow_at(HW1(3), x4(), (edf_real)-1.5))                                 \
  ITEM(edf_clamp_at(HW1(3), x4(), (edf_real)-0.25, (edf_real)1e-3))              \
  ITEM(edf_min_at(HW1(3), x4(), par("y[4]")))                                    \
  ITEM(edf_max_at(HW1(3), par("c"), x4()))                                       \
  ITEM(edf_add_at(HW1(3), x4(), par("y[4]")))                                    \
  ITEM(edf_sub_at(HW1(3), par("y[4]"), x4()))                                    \
  ITEM(edf_mul_at(HW1(3), par("c"), x4()))                                       \
  ITEM(edf_div_at(HW1(3), x4(), par("y[3,4]")))                                  \
  ITEM(edf_div_at(HW1(3), par("c"), par("y[4]")))                                \
  ITEM(edf_sum_at(HW1(3), x4()))                                                 \
  ITEM(edf_mean_at(HW1(3), x4()))                                                \
  ITEM(edf_softmax_at(HW1(3), x4()))                                             \
  ITEM(edf_log_softmax_at(HW1(3), x4()))                                         \
  ITEM(labelled(0))                                                              \
  ITEM(labelled(1))                                                              \
  ITEM(edf_bce_loss_at(HW1(3), par("s[2]"), par("y[2]")))                        \
  ITEM(edf_mse_at(HW1(3), par("s[2]"), par("y[2]")))                             \
  ITEM(edf_masked_mean_at(HW1(3), par("s[2]"), par("m[2]")))                     \
  ITEM(edf_softmax_over_at(HW1(3), "a[b,time,S] | S<=time", x4()))               \
  ITEM(edf_softmax_over_at(HW1(3), "a[b,T,j]", x4()))                            \
  ITEM(edf_softmax_over_at(HW1(3), "a[B,t,J]", x4()))                            \
  ITEM(edf_log_softmax_over_at(HW1(3), "a[B,T,J]", x4()))                        \
  ITEM(edf_normalize_over_at(HW1(3), "a[b,Time,Jot]", x4(), (edf_real)0.5))      \
  ITEM(edf_sum_over_at(HW1(3), "a[b,T,j]", x4()))                                \
  ITEM(edf_mean_over_at(HW1(3), "a[b,T,J]", x4()))                               \
  ITEM(edf_variance_over_at(HW1(3), "a[b,t,J]", x4()))                           \
  ITEM(edf_sample_variance_over_at(HW1(3), "a[b,T,j]", x4()))                    \
  ITEM(edf_max_over_at(HW1(3), "a[b,T,j]", x4()))                                \
  ITEM(edf_max_over_at(HW1(3), "m[b,i,c] = a[b,2*i+D,c] | D<2", x4()))           \
  ITEM(edf_layer_norm_at(HW1(3), edf_layer_norm_params_at(HW1(2), 4), x4()))     \
  ITEM(edf_batch_norm_at(HW1(3), edf_batch_norm_params_at(HW1(2), 4), x4()))     \
  ITEM(edf_dropout_at(HW1(3), x4(), 0.25))                                       \
  ITEM(embedded())                                                               \
  ITEM(edf_concat_at(HW1(3), "y[b,Joined,j]", x4(), x4(), (edf_node *)0))        \
  ITEM(edf_slice_at(HW1(3), "x[b,T,j]", x4(), 1, 2))                             \
  ITEM(edf_slice_at(HW1(3), "x[b,T,j]", x4(), 0, 2))                             \
  ITEM(edf_select_at(HW1(3), "x[b,T,j]", x4(), 2))                               \
  ITEM(edf_reshape_at(HW1(3), x4(), "flat[b,12]"))                               \
  ITEM(edf_affine_at(HW1(3), edf_affine_params_at(HW1(2), 4, 5), x4()))          \
  ITEM(edf_affine_at(HW1(3), edf_affine_params_at(HW1(2), 4, 5), par("x[4]")))   \
  ITEM(edf_conv_at(HW1(3), conv(1, 3, 1, 1, 0, 1), par("x[1,5,2]")))             \
  ITEM(edf_conv_at(HW1(3), conv(1, 2, 2, 3, 1, 1), par("x[1,5,2]")))             \
  ITEM(edf_conv_at(HW1(3), conv(2, 3, 2, 1, 1, 2), par("x[1,5,5,4]")))           \
  ITEM(edf_conv_at(HW1(3), conv(3, 1, 1, 1, 0, 1), par("x[1,2,2,2,2]")))         \
  ITEM(edf_transposed_conv_at(HW1(3), conv(1, 3, 1, 1, 0, 1), par("x[1,5,2]")))  \
  ITEM(edf_transposed_conv_at(HW1(3), conv(2, 3, 2, 1, 1, 1), par("x[1,3,3,2]"))) \
  ITEM(edf_max_pool_at(HW1(3), par("x[1,4,2]"), 2, 1))                           \
  ITEM(edf_avg_pool_at(HW1(3), par("x[1,4,4,2]"), 2, 2))                         \
  ITEM(edf_max_pool_at(HW1(3), par("x[1,3,3,3,2]"), 3, 3))                       \
  ITEM(edf_residual_at(HW1(3), edf_residual_params_at(HW1(2), 1, 3, 2), par("x[1,5,2]"))) \
  ITEM(edf_highway_at(HW1(3), edf_highway_params_at(HW1(2), 4), x4()))           \
  ITEM(edf_attention_at(HW1(3), edf_attention_params_at(HW1(2), 4, 1), x4()))    \
  ITEM(edf_causal_attention_at(HW1(3), edf_attention_params_at(HW1(2), 4, 2), x4())) \
  ITEM(cell(&edf_rnn_cell))                                                      \
  ITEM(cell(&edf_ugrnn_cell))                                                    \
  ITEM(cell(&edf_gru_cell))                                                      \
  ITEM(cell(&edf_lstm_cell))                                                     \
  ITEM(next_cell(&edf_ugrnn_cell))                                               \
  ITEM(next_cell(&edf_gru_cell))                                                 \
  ITEM(next_cell(&edf_lstm_cell))                                                \
  ITEM(edf_unroll_at(HW1(3), edf_recurrent_params_at(HW1(2), &edf_gru_cell, 4, 2), x4())) \
  ITEM(edf_recurrence_at(HW1(3), "hid[b,time,j] = tanh(x[b,time,j] - hid[b,time-1,j])", \
                         x4(), (edf_node *)0))

/* Every node that the call made, in the order of its making, by number. */
static const char *text_of(int item) {
  static char text[1 << 14];
  int at_ = 0, k = 0;
  begin(1);
#define ITEM(call) if (item == k++) call;
  NODES
#undef ITEM
  if (item >= k) return NULL;
  edf_forward();
  for (int i = 0; i < edf.n_compnodes; i++) {
    capture_begin();
    edf_print(edf.compnodes[i]);
    capture_end();
    char *end = strstr(captured, "  value: ");
    if (end) *end = 0;
    at_ += snprintf(text + at_, sizeof text - (size_t)at_, "%s", captured);
  }
  edf_clear();
  return text;
}

static void formulas(void) {
  static char all[1 << 16];
  size_t n = 0;
  const char *one;
  for (int k = 0; (one = text_of(k)); k++)
    n += (size_t)snprintf(all + n, sizeof all - n, "%s\n", one);
  golden("formulas.txt", all);
}

int main(int argc, char **argv) {
  golden_arguments(argc, argv);
  RUN(formulas);
  return harness_report();
}
