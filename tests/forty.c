/* Forty mistakes that students make, written down by a reader of README.md and of the
   declarations alone, with what a good library should say of each.

   The table at the end has how each should be told, and whether it is: tests/programs.h.

   Built as: float none */
#include "programs.h"

/* ---- Lifetime of nodes, graphs and buffers */

/* The model is built again in every step, and nothing is cleared: step n runs n models. */
static void model_in_the_loop(void) {
  Input *x = edf_input("x[b,4]"), *y = edf_input("y[b]");
  AffineParams Phi = edf_affine_params(4, 3);
  edf_feed(x, points, 8);
  edf_feed(y, classes, 8);
  for (int step = 0; step < 200; step++) {
    CompNode *ell = SoftmaxLogLoss(Affine(Phi, x), y);
    Forward();
    Backward(ell);
    SGD(0.1f);
  }
}

/* The computed nodes are cleared for each step, but the parameters are made anew as well. */
static void parameters_in_the_loop(void) {
  Input *x = edf_input("x[b,4]"), *y = edf_input("y[b]");
  edf_feed(x, points, 8);
  edf_feed(y, classes, 8);
  for (int step = 0; step < 200; step++) {
    AffineParams Phi = edf_affine_params(4, 3);
    CompNode *ell = SoftmaxLogLoss(Affine(Phi, x), y);
    Forward();
    Backward(ell);
    SGD(0.1f);
    edf_clear_compnodes();
  }
}

/* The data set is freed when it has been fed, but nothing was copied. */
static void array_freed_before_forward(void) {
  edf_array a = table_of(8, 4);
  Input *x = edf_input("x[b,4]");
  CompNode *h = Tanh(x);
  edf_feed(x, a.value, 8);
  edf_free_array(&a);
  edf_forward_to(h);
  printed = h->value[0];
}

/* A view for edf_save_npy is freed like an array that was loaded. */
static void view_freed(void) {
  Input *x = edf_input("x[b,4]");
  AffineParams Phi = edf_affine_params(4, 3);
  CompNode *Q = Softmax(Affine(Phi, x));
  edf_feed(x, points, 8);
  Forward();
  edf_array v = edf_view(Q);
  edf_save_npy(file("Q.npy"), v);
  edf_free_array(&v);
  Forward();
}

/* Two graphs: the copy of the first was taken before its nodes were made. */
static void stale_copy_of_the_graph(void) {
  edf_graph teacher = edf;
  Input *x = edf_input("x[b,4]");
  CompNode *h = Tanh(Affine(edf_affine_params(4, 4), x));
  edf = edf_new_graph();
  Input *u = edf_input("u[b,4]");
  CompNode *k = Tanh(u);
  edf_feed(u, points, 8);
  edf_forward_to(k);
  edf = teacher;
  edf_feed(x, points, 8);
  edf_forward_to(h);
  printed = h->value[0];
}

/* ---- Feeding */

/* 20 rows in batches of 8: the last one reads 4 rows behind the data set. */
static void last_batch_over_the_end(void) {
  edf_array a = table_of(20, 4);
  Input *x = edf_input("x[b,4]");
  CompNode *h = Tanh(x);
  for (int i = 0; i < a.dim[0]; i += 8) {
    edf_feed(x, a.value + i * 4, 8);
    edf_forward_to(h);
  }
  edf_free_array(&a);
}

/* Labels are int, and a cast makes the compiler silent. */
static void labels_of_int(void) {
  int labels[4] = { 0, 1, 2, 1 };
  Input *x = edf_input("x[b,4]"), *y = edf_input("y[b]");
  CompNode *Q = Softmax(Affine(edf_affine_params(4, 3), x));
  CompNode *ell = LogLoss(Q, y);
  edf_feed(x, points, 4);
  edf_feed(y, (edf_real *)(void *)labels, 4);
  Forward();
  Backward(ell);
}

/* Labels as one-hot rows, as elsewhere, where a class number is wanted. */
static void one_hot_labels(void) {
  edf_real rows[2 * 3] = { 0, 1, 0, 1, 0, 0 };
  Input *x = edf_input("x[b,4]"), *y = edf_input("y[b,3]");
  CompNode *Q = Softmax(Affine(edf_affine_params(4, 3), x));
  CompNode *ell = LogLoss(Q, y);
  edf_feed(x, points, 2);
  edf_feed(y, rows, 2);
  Forward();
  Backward(ell);
}

/* The batch begins at entry i of the data set, and not at row i: * 4 is missing. */
static void offset_without_row_length(void) {
  edf_array a = table_of(33, 4);
  Input *x = edf_input("x[b,4]");
  CompNode *h = Tanh(x);
  for (int i = 1; i + 8 <= a.dim[0]; i += 8) {
    edf_feed(x, a.value + i, 8);
    edf_forward_to(h);
  }
  edf_free_array(&a);
}

/* New points are fed in every step; the labels once, before the loop. */
static void labels_fed_once(void) {
  Input *x = edf_input("x[b,4]"), *y = edf_input("y[b]");
  AffineParams Phi = edf_affine_params(4, 3);
  CompNode *ell = SoftmaxLogLoss(Affine(Phi, x), y);
  edf_doctor(ell);
  edf_feed(y, classes, 8);
  for (int step = 0; step < 100; step++) {
    edf_feed(x, points + step % 7 * 32, 8);
    Forward();
    Backward(ell);
    SGD(0.1f);
  }
}

/* ---- The index notation */

/* The letters of numpy and torch: einsum("bi,ij->bj", x, W). */
static void numpy_letters(void) {
  Input *x = edf_input("x[b,4]");
  Parameter *W = edf_parameter("W[4,3]");
  edf_init_normal(W, 0, 1);
  edf_feed(x, points, 8);
  CompNode *s = Einsum("bi,ij->bj", x, W);
  Forward();
  printed = s->value[0];
}

/* A pair of brackets for each index, as in C. */
static void brackets_of_c(void) {
  Input *x = edf_input("x[b,4]");
  Parameter *W = edf_parameter("W[4,3]");
  edf_init_normal(W, 0, 1);
  edf_feed(x, points, 8);
  CompNode *s = Einsum("s[b,j] = W[I][j] x[b][I]", W, x);
  Forward();
  printed = s->value[0];
}

/* A function inside the equation. */
static void function_in_an_equation(void) {
  Input *x = edf_input("x[b,4]");
  Parameter *W = edf_parameter("W[4,3]");
  edf_init_normal(W, 0, 1);
  edf_feed(x, points, 8);
  CompNode *h = Einsum("h[b,j] = tanh(W[I,j] x[b,I])", W, x);
  Forward();
  printed = h->value[0];
}

/* The operands in another order than that of their first appearance. */
static void operands_swapped(void) {
  Input *x = edf_input("x[b,3]");
  Parameter *W = edf_parameter("W[3,5]");
  edf_init_normal(W, 0, 1);
  edf_feed(x, points, 8);
  CompNode *s = Einsum("s[b,j] = W[I,j] x[b,I]", x, W);
  Forward();
  printed = s->value[0];
}

/* Two equations are made by edf_fmt, and then two nodes: the second text is in both. */
static void two_formats_at_once(void) {
  Input *x = edf_input("x[b,4]");
  Parameter *W = edf_parameter("W[4,3]"), *V = edf_parameter("V[3,2]");
  const char *first = edf_fmt("s[b,j] = %g W[I,j] x[b,I]", 0.5);
  const char *second = edf_fmt("z[b,k] = %g V[J,k] s[b,J]", 0.25);
  CompNode *s = Einsum(first, W, x);
  CompNode *z = Einsum(second, V, s);
  edf_feed(x, points, 8);
  Forward();
  printed = z->value[0];
}

/* ---- Custom nodes */

static edf_real kept[64];
static void kept_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) kept[i] = y->value[i] = tanhf(y->in[0]->value[i]);
}
static void kept_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(y->in[0], i, y->grad[i] * (1 - kept[i] * kept[i]));
}

/* What forward keeps for backward is one static array, and the program has two such nodes. */
static void state_in_a_static_array(void) {
  Input *x = edf_input("x[b,4]"), *y = edf_input("y[b]");
  CompNode *g = Affine(edf_affine_params(4, 4), x);
  CompNode *h = edf_compnode("MyTanh", kept_forward, kept_backward, g);
  CompNode *a = Affine(edf_affine_params(4, 4), h);
  CompNode *k = edf_compnode("MyTanh", kept_forward, kept_backward, a);
  CompNode *ell = SoftmaxLogLoss(k, y);
  edf_feed(x, points, 8);
  edf_feed(y, classes, 8);
  edf_gradcheck(ell);
}

static void double_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = 2 * y->in[0]->value[i];
}

/* "I write the backward later": all parameters lie before the node without one. */
static void no_backward_yet(void) {
  Input *x = edf_input("x[b,4]"), *y = edf_input("y[b]");
  CompNode *s = Affine(edf_affine_params(4, 3), x);
  CompNode *twice = edf_compnode("MyDouble", double_forward, NULL, s);
  CompNode *ell = SoftmaxLogLoss(twice, y);
  edf_feed(x, points, 8);
  edf_feed(y, classes, 8);
  Forward();
  Backward(ell);
  SGD(0.1f);
}

static void row_sum_shape(CompNode *y) { y->dim[0] = y->in[0]->dim[0]; }
static void row_sum_forward(CompNode *y) {
  Node *x = y->in[0];
  for (int b = 0; b < x->dim[0]; b++) {
    y->value[b] = 0;
    for (int i = 0; i < x->dim[1]; i++) y->value[b] += x->value[b * x->dim[1] + i];
  }
}

/* The shape function sets y->dim and forgets y->rank. */
static void shape_without_rank(void) {
  Input *x = edf_input("x[b,4]"), *t = edf_input("t[b]");
  CompNode *h = Affine(edf_affine_params(4, 4), x);
  CompNode *r = edf_compnode_shaped("RowSum", row_sum_shape, row_sum_forward, NULL, h);
  CompNode *ell = MSE(r, t);
  edf_feed(x, points, 8);
  edf_feed(t, points, 8);
  Forward();
  printed = ell->value[0];
}

enum { BATCH = 8 };
static void batch_forward(CompNode *y) {
  for (int i = 0; i < BATCH * 4; i++) y->value[i] = 3 * y->in[0]->value[i];
}
static void batch_backward(CompNode *y) {
  for (size_t i = 0; i < BATCH * 4; i++) edf_addgrad(y->in[0], i, 3 * y->grad[i]);
}

/* A loop to the constant BATCH, where the last batch of the epoch has 5 rows. */
static void batch_is_a_constant(void) {
  Input *x = edf_input("x[b,4]"), *y = edf_input("y[b]");
  CompNode *s = Affine(edf_affine_params(4, 4), x);
  CompNode *ell = SoftmaxLogLoss(edf_compnode("Triple", batch_forward, batch_backward, s), y);
  edf_feed(x, points, 5);
  edf_feed(y, classes, 5);
  edf_gradcheck(ell);
  Forward();
  Backward(ell);
  SGD(0.1f);
}

static void tanh_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = tanhf(y->in[0]->value[i]);
}
static void scaling_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) {
    y->grad[i] *= 1 - y->value[i] * y->value[i];
    edf_addgrad(y->in[0], i, y->grad[i]);
  }
}

/* Backward works in y->grad, as if it were its own; y->grad is then not the gradient of y. */
static void own_grad_overwritten(void) {
  Input *x = edf_input("x[b,4]"), *y = edf_input("y[b]");
  CompNode *s = Affine(edf_affine_params(4, 3), x);
  CompNode *h = edf_compnode("MyTanh", tanh_forward, scaling_backward, s);
  CompNode *ell = SoftmaxLogLoss(h, y);
  edf_feed(x, points, 8);
  edf_feed(y, classes, 8);
  edf_gradcheck(ell);
}

/* ---- Files */

/* The labels' file is given where the images' belongs. */
static void labels_as_images(void) {
  static const char idx[] = "\0\0\x08\x01\0\0\0\x04\0\1\2\1";
  file("train.idx");
  write_bytes(idx, 12);
  edf_array images = edf_load_images(path);
  Input *x = edf_input("x[b,4]");
  CompNode *h = Tanh(x);
  edf_feed(x, images.value, 1);
  edf_forward_to(h);
  edf_free_array(&images);
}

/* The file is as it was downloaded: packed. */
static void packed_file(void) {
  static const char packed[] = "\x1f\x8b\x08\0\0\0\0\0\0\3\x63\x60\xe0\x60\x64\x60\x60\0\0";
  file("t10k.idx");
  write_bytes(packed, sizeof packed - 1);
  edf_array labels = edf_load_labels(path);
  Input *y = edf_input("y[b]");
  CompNode *h = Tanh(y);
  edf_feed(y, labels.value, labels.dim[0]);
  edf_forward_to(h);
  edf_free_array(&labels);
}

/* The model is loaded first, and the network that it is for is built after that. */
static void loaded_before_it_is_built(void) {
  edf_affine_params(4, 3);
  edf_save(file("model.st"));
  edf_clear();
  edf_load(path);
  Input *x = edf_input("x[b,4]");
  CompNode *Q = Softmax(Affine(edf_affine_params(4, 3), x));
  edf_feed(x, points, 8);
  Forward();
  printed = Q->value[0];
}

/* Two parameters have the same name, and the model is saved by names. */
static void one_name_for_two(void) {
  AffineParams Phi1 = edf_affine_params(4, 4), Phi2 = edf_affine_params(4, 4);
  Input *x = edf_input("x[b,4]");
  edf_name(Phi1.w, "W");
  edf_name(Phi2.w, "W");
  CompNode *Q = Softmax(Affine(Phi2, Tanh(Affine(Phi1, x))));
  edf_feed(x, points, 8);
  edf_save(file("model.st"));
  edf_load(path);
  Forward();
  printed = Q->value[0];
}

/* A table without a heading, whose first row lacks a number: it is taken for a heading. */
static void first_row_lacks_a_number(void) {
  static const char text[] = "NA,1,2\n3,4,5\n6,7,8\n";
  file("iris.csv");
  write_bytes(text, sizeof text - 1);
  edf_array a = edf_load_csv(path);
  Input *x = edf_input("x[b,3]");
  CompNode *h = Tanh(x);
  edf_feed(x, a.value, a.dim[0]);
  edf_forward_to(h);
  edf_free_array(&a);
}

/* ---- Evaluation */

/* The error rate of a yes-or-no network with one output: argmax of one number is always 0. */
static void error_rate_of_one_output(void) {
  edf_real answers[8] = { 0, 1, 0, 1, 1, 0, 0, 1 };
  Input *x = edf_input("x[b,4]"), *y = edf_input("y[b,1]"), *label = edf_input("label[b]");
  CompNode *s = Affine(edf_affine_params(4, 1), x);
  CompNode *p = Sigmoid(s), *ell = BCELoss(s, y);
  edf_feed(x, points, 8);
  edf_feed(y, answers, 8);
  edf_feed(label, answers, 8);
  Forward();
  Backward(ell);
  printed = (edf_real)edf_error_rate(p, label);
}

/* The test error is measured with Dropout at work: edf.training was not set to 0. */
static void dropout_while_testing(void) {
  Input *x = edf_input("x[b,4]"), *y = edf_input("y[b]");
  CompNode *h = Dropout(Tanh(Affine(edf_affine_params(4, 8), x)), 0.5);
  CompNode *Q = Softmax(Affine(edf_affine_params(8, 3), h));
  CompNode *ell = LogLoss(Q, y);
  edf_feed(x, points, 8);
  edf_feed(y, classes, 8);
  Forward();
  Backward(ell);
  SGD(0.1f);
  Forward();
  printed = (edf_real)edf_error_rate(Q, y);
}

/* Backward begins at the probabilities and not at the loss. */
static void backward_of_the_probabilities(void) {
  Input *x = edf_input("x[b,4]"), *y = edf_input("y[b]");
  CompNode *Q = Softmax(Affine(edf_affine_params(4, 3), x));
  CompNode *ell = LogLoss(Q, y);
  edf_feed(x, points, 8);
  edf_feed(y, classes, 8);
  for (int step = 0; step < 20; step++) {
    Forward();
    Backward(Q);
    SGD(0.1f);
  }
  printed = ell->value[0];
}

/* ell is ell[b]; its first entry is printed as the loss of the batch. */
static void loss_of_one_row(void) {
  Input *x = edf_input("x[b,4]"), *y = edf_input("y[b]");
  CompNode *Q = Softmax(Affine(edf_affine_params(4, 3), x));
  CompNode *ell = LogLoss(Q, y);
  edf_feed(x, points, 8);
  edf_feed(y, classes, 8);
  Forward();
  Backward(ell);
  SGD(0.1f);
  printed = ell->value[0];
}

/* Only the prediction was run, and then Backward is asked of the loss. */
static void loss_that_did_not_run(void) {
  Input *x = edf_input("x[b,4]"), *y = edf_input("y[b]");
  CompNode *Q = Softmax(Affine(edf_affine_params(4, 3), x));
  CompNode *ell = LogLoss(Q, y);
  edf_feed(x, points, 8);
  edf_feed(y, classes, 8);
  edf_forward_to(Q);
  Backward(ell);
  SGD(0.1f);
}

/* ---- Optimisers, layers, recurrent networks, debugging */

/* Clipped after the step: it changes nothing that is used. */
static void clipped_after_the_step(void) {
  Input *x = edf_input("x[b,4]"), *y = edf_input("y[b]");
  CompNode *ell = SoftmaxLogLoss(Affine(edf_affine_params(4, 3), x), y);
  edf_feed(x, points, 8);
  edf_feed(y, classes, 8);
  for (int step = 0; step < 20; step++) {
    Forward();
    Backward(ell);
    edf_adam(0.001f, 0.9f, 0.999f, 1e-8f);
    edf_clip(0.01);
  }
}

/* Shrinkage before Backward, which clears what it has added. */
static void shrinkage_before_backward(void) {
  Input *x = edf_input("x[b,4]"), *y = edf_input("y[b]");
  CompNode *ell = SoftmaxLogLoss(Affine(edf_affine_params(4, 3), x), y);
  edf_feed(x, points, 8);
  edf_feed(y, classes, 8);
  for (int step = 0; step < 20; step++) {
    Forward();
    edf_l2(0.01f);
    Backward(ell);
    SGD(0.1f);
  }
}

static void half_the_step(Parameter *p, edf_real eta) {
  if (p->update) SGD(eta / 2);
}

/* A rule of a parameter's own calls SGD, of all parameters, and not edf_update_sgd. */
static void rule_that_calls_sgd(void) {
  Input *x = edf_input("x[b,4]"), *y = edf_input("y[b]");
  AffineParams Phi = edf_affine_params(4, 3);
  CompNode *ell = SoftmaxLogLoss(Affine(Phi, x), y);
  Phi.w->update = half_the_step;
  edf_feed(x, points, 8);
  edf_feed(y, classes, 8);
  Forward();
  Backward(ell);
  SGD(0.1f);
}

/* Everything is frozen, the last layer too. */
static void all_frozen(void) {
  Input *x = edf_input("x[b,4]"), *y = edf_input("y[b]");
  AffineParams Phi = edf_affine_params(4, 3);
  CompNode *ell = SoftmaxLogLoss(Affine(Phi, x), y);
  for (int i = 0; i < edf.n_parameters; i++) edf.parameters[i]->update = edf_frozen;
  edf_feed(x, points, 8);
  edf_feed(y, classes, 8);
  Forward();
  Backward(ell);
  SGD(0.1f);
}

/* RecurrentState s; without = { NULL, NULL }: whatever the stack has. */
static void state_without_a_beginning(void) {
  static edf_real other[64];
  Input *x = edf_input("x[b,4]");
  LSTMParams Phi = edf_lstm_params(4, 3);
  RecurrentState s;
  s.h = s.c = (edf_node *)(void *)other;
  for (int t = 0; t < 3; t++) s = LSTM(Phi, x, s);
  edf_feed(x, points, 8);
  edf_forward_to(s.h);
  printed = s.h->value[0];
}

/* Pictures without a channel: [b,28,28] and not [b,28,28,1]. */
static void conv_without_channels(void) {
  static edf_real pictures[2 * 28 * 28];
  Input *x = edf_input("x[b,28,28]");
  ConvParams Phi = edf_conv_params(2, 5, 1, 6);
  CompNode *h = Relu(Conv(Phi, x));
  edf_feed(x, pictures, 2);
  Forward();
  printed = h->value[0];
}

/* MSE of scores [b,3] and class numbers [b]: with a batch of 3 the one repeats in the other. */
static void labels_repeat_along_the_batch(void) {
  Input *x = edf_input("x[b,4]"), *y = edf_input("y[b]");
  CompNode *Q = Affine(edf_affine_params(4, 3), x);
  CompNode *ell = MSE(Q, y);
  edf_feed(x, points, 3);
  edf_feed(y, classes, 3);
  Forward();
  Backward(ell);
  SGD(0.1f);
}

/* The capital is the batch: the probabilities of a class sum to 1 over the examples. */
static void softmax_over_the_batch(void) {
  Input *x = edf_input("x[b,4]"), *y = edf_input("y[b]");
  CompNode *s = Affine(edf_affine_params(4, 3), x);
  CompNode *Q = SoftmaxOver("s[B,k]", s);
  CompNode *ell = LogLoss(Q, y);
  edf_feed(x, points, 8);
  edf_feed(y, classes, 8);
  Forward();
  Backward(ell);
  SGD(0.1f);
}

/* A breakpoint at a name that no node has: it never stops. */
static void break_at_no_node(void) {
  Input *x = edf_input("x[b,4]"), *y = edf_input("y[b]");
  CompNode *h = edf_name(Tanh(Affine(edf_affine_params(4, 8), x)), "h");
  CompNode *ell = SoftmaxLogLoss(Affine(edf_affine_params(8, 3), h), y);
  edf_break("hidden");
  edf_feed(x, points, 8);
  edf_feed(y, classes, 8);
  Forward();
  Backward(ell);
  SGD(0.1f);
}

/* Two losses, a Backward each, one step: the second has cleared the gradients of the first. */
static void a_backward_for_each_loss(void) {
  Input *x = edf_input("x[b,4]"), *y = edf_input("y[b]");
  CompNode *h = Tanh(Affine(edf_affine_params(4, 8), x));
  CompNode *ell = SoftmaxLogLoss(Affine(edf_affine_params(8, 3), h), y);
  CompNode *small = Mean(Square(h));
  edf_doctor(ell);
  edf_feed(x, points, 8);
  edf_feed(y, classes, 8);
  for (int step = 0; step < 50; step++) {
    Forward();
    Backward(ell);
    Backward(small);
    SGD(0.1f);
  }
}

/* ---- The table */

static const mistake mistakes[] = {
  { IS(model_in_the_loop), "lifetime", STOP | REMARK,
    { "forty.c", "edf_clear_compnodes" }, SAID },
  { IS(parameters_in_the_loop), "lifetime", STOP | REMARK,
    { "forty.c", "edf_affine_params|arameter", "loop|again|each step" }, SAID },
  { IS(array_freed_before_forward), "lifetime", STOP | REMARK,
    { "forty.c", "\"x\"|Input x|of x", "edf_free_array|freed" }, SAID },
  { IS(view_freed), "lifetime", STOP,
    { "forty.c", "edf_free_array", "view|Softmax" }, SAID },
  { IS(stale_copy_of_the_graph), "lifetime", STOP,
    { "forty.c", "\"x\"|Tanh1|Input x", "graph" }, SAID },

  { IS(last_batch_over_the_end), "feeding", STOP,
    { "forty.c", "edf_feed", "x", "8", "4 rows|20|16 numbers|16 entries" }, SAID },
  { IS(labels_of_int), "feeding", STOP,
    { "forty.c", "\"y\"", "1.4e-45|1.4013e-45", " int" }, SAID },
  { IS(one_hot_labels), "feeding", STOP,
    { "forty.c", "LogLoss", "\"y\"", "[b, 3]|[b,3]", "class number|y[b]" },
    AS_GOOD, "expected one label for each row of P: y is [b, 3], not [b]",
    "label and shape are named" },
  { IS(offset_without_row_length), "feeding", STOP | REMARK,
    { "forty.c", "edf_feed", "\"x\"", "row", "4" }, SAID },
  { IS(labels_fed_once), "feeding", REPORT,
    { "forty.c", "\"y\"", " fed", "once|never again|not since|old" },
    SAID },

  { IS(numpy_letters), "notation", STOP,
    { "forty.c", "bi,ij->bj", "^", "[b,j]|y[|x[" }, SAID },
  { IS(brackets_of_c), "notation", STOP,
    { "forty.c", "W[I][j]", "^", "comma|W[I,j]" }, SAID },
  { IS(function_in_an_equation), "notation", STOP,
    { "forty.c", "tanh(", "^", "Tanh|Recurrence" },
    AS_GOOD, "an equation is a sum of products, functions are nodes of their own",
    "Tanh follows from it" },
  { IS(operands_swapped), "notation", STOP,
    { "forty.c", "W = Input \"x\"", "x = Parameter \"W\"", "order" },
    AS_GOOD, "I is the batch in W = Input \"x\" [b=8, 3]",
    "W = x and x = W are seen, if not why" },
  { IS(two_formats_at_once), "notation", STOP | REMARK,
    { "forty.c", "edf_fmt" },
    WORKS, "silent",
    "no mistake: both texts live, up to eight; the declaration says \"for one call\"" },

  { IS(state_in_a_static_array), "own nodes", REPORT,
    { "forty.c", "FAIL", "MyTanh", "edf_state|static|state" }, SAID },
  { IS(no_backward_yet), "own nodes", STOP,
    { "forty.c", "MyDouble", "no backward|backward is NULL|without a backward" }, SAID },
  { IS(shape_without_rank), "own nodes", STOP,
    { "forty.c", "RowSum", "rank", "shape" }, SAID },
  { IS(batch_is_a_constant), "own nodes", STOP | REPORT,
    { "forty.c", "Triple", "outside|behind|beyond|past" }, SAID },
  { IS(own_grad_overwritten), "own nodes", REPORT,
    { "forty.c", "FAIL", "MyTanh", "writes|changes", "its own grad|y.grad|y->grad" },
    AS_GOOD, "its backward changes MyTanh1.grad, which it may only read",
    "the gradient is named by its node; \"the same memory for both\" below is not the cause" },

  { IS(labels_as_images), "files", STOP,
    { "train.idx", "3", "1", "edf_load_labels|labels" },
    AS_GOOD, "byte 3: expected 3 dimensions for images, found 1",
    "a file without images: the student sees which" },
  { IS(packed_file), "files", STOP,
    { "t10k.idx", "edf_load_labels|IDX", "gzip|gunzip|packed|compressed" },
    AS_GOOD, "the file is compressed with gzip: unpack it first, with gunzip",
    "file, cause and cure" },
  { IS(loaded_before_it_is_built), "files", STOP,
    { "model.st", "w1", "no parameter|first|before" }, SAID },
  { IS(one_name_for_two), "files", STOP,
    { "forty.c", "\"W\"", "two|twice|both|several" }, SAID },
  { IS(first_row_lacks_a_number), "files", STOP | REMARK,
    { "iris.csv", "line 1", "NA" }, SAID },

  { IS(error_rate_of_one_output), "evaluation", STOP | REMARK,
    { "forty.c", "edf_error_rate", "Sigmoid", "one|1 class|1]" }, SAID },
  { IS(dropout_while_testing), "evaluation", 0,
    { "so is the error of a training batch asked for, and Backward may follow" }, SAID },
  { IS(backward_of_the_probabilities), "evaluation", STOP | REMARK,
    { "forty.c", "Softmax", "loss|constant|sum to 1" }, SAID },
  { IS(loss_of_one_row), "evaluation", 0,
    { "the program reads an array of C, and printing one row is allowed" }, SAID },
  { IS(loss_that_did_not_run), "evaluation", STOP,
    { "forty.c", "LogLoss", "Forward|forward" }, SAID },

  { IS(clipped_after_the_step), "optimisers", STOP | REMARK,
    { "edf_clip", "edf_adam|step", "before|after|Backward" }, SAID },
  { IS(shrinkage_before_backward), "optimisers", STOP | REMARK,
    { "edf_l2", "Backward" }, SAID },
  { IS(rule_that_calls_sgd), "optimisers", STOP,
    { "forty.c", "w1", "update", "edf_update_sgd|edf_sgd" }, SAID },
  { IS(all_frozen), "optimisers", STOP,
    { "forty.c", "SoftmaxLogLoss", "frozen" }, SAID },
  { IS(state_without_a_beginning), "recurrent", STOP,
    { "forty.c", "LSTM", "state|NULL" }, SAID },
  { IS(conv_without_channels), "layers", STOP,
    { "forty.c", "Conv", "\"x\"", "28, 28]", "channel|Reshape" }, SAID },
  { IS(labels_repeat_along_the_batch), "layers", STOP,
    { "forty.c", "MSE", "\"y\" [b", "Affine" }, SAID },
  { IS(softmax_over_the_batch), "layers", STOP | REMARK,
    { "forty.c", "SoftmaxOver", "batch" }, SAID },
  { IS(break_at_no_node), "debugging", STOP | REMARK,
    { "hidden", "no node" },
    AS_GOOD, "no computed node is called hidden so far",
    "the same in other words" },
  { IS(a_backward_for_each_loss), "optimisers", REPORT,
    { "forty.c", "Backward", "accumulate|Add|add" },
    SAID },
};

int main(int argc, char **argv) {
  return programs(argc, argv, "forty", mistakes, sizeof mistakes / sizeof *mistakes);
}
