/* Sixty mistakes that students of the course make, beside those of forty.c and of the tests of
   messages (errors.c, layer_errors.c, notation.c, loaders.c, mistakes.c): shapes, the notation,
   feeding, files, lifetime, evaluation, nodes of their own, training, C. What each is told is
   tests/golden/sixty.txt, whole; the table at the end says what must stand there: see
   tests/programs.h.

   Built as: float none */
#include "programs.h"

/* ---- The network of the first exercise, for what is wrong elsewhere */

static Input *x, *y;
static AffineParams Phi1, Phi2;
static CompNode *h, *s, *Q, *ell;

static void scores(void) {
  x = edf_input("x[b,4]");
  y = edf_input("y[b]");
  Phi1 = edf_affine_params(4, 8);
  Phi2 = edf_affine_params(8, 3);
  h = Tanh(Affine(Phi1, x));
  s = Affine(Phi2, h);
  edf_feed(x, points, 8);
  edf_feed(y, classes, 8);
}

static void network(void) {
  scores();
  Q = Softmax(s);
  ell = LogLoss(Q, y);
}

static void train(int steps, edf_real eta) {
  for (int step = 0; step < steps; step++) {
    Forward();
    Backward(ell);
    SGD(eta);
  }
}

/* ---- Shapes */

/* From the pictures to the scores without a Reshape. */
static void flatten_forgotten(void) {
  Input *image = edf_input("image[b,28,28,1]");
  CompNode *maps = MaxPool(Relu(Conv(edf_conv_params(2, 5, 1, 6), image)), 2, 2);
  Affine(edf_affine_params(12 * 12 * 6, 10), maps);
}

/* The picture is thought to keep its size in a convolution. */
static void flatten_of_another_size(void) {
  Input *image = edf_input("image[b,28,28,1]");
  CompNode *maps = MaxPool(Relu(Conv(edf_conv_params(2, 5, 1, 6), image)), 2, 2);
  Reshape(maps, "f[b,%d]", 14 * 14 * 6);
}

/* The parameters of the second layer in the first. */
static void layers_exchanged(void) {
  AffineParams first = edf_affine_params(4, 8), second = edf_affine_params(8, 3);
  Affine(first, Tanh(Affine(second, edf_input("x[b,4]"))));
}

/* The batch is declared as a number: this Input has none. */
static void batch_is_a_number(void) {
  Input *u = edf_input("x[8,4]"), *v = edf_input("y[b]");
  SoftmaxLogLoss(Affine(edf_affine_params(4, 3), u), v);
}

/* The labels as a column. */
static void labels_in_a_column(void) {
  Input *u = edf_input("x[b,4]"), *v = edf_input("y[b,1]");
  SoftmaxLogLoss(Affine(edf_affine_params(4, 3), u), v);
}

/* What a residual layer adds is wider than what it has got. */
static void residual_of_another_width(void) {
  Input *u = edf_input("x[b,4]");
  Add(u, Relu(Affine(edf_affine_params(4, 8), u)));
}

/* The weights as other libraries have them, [outputs, inputs]. */
static void weights_turned(void) {
  Parameter *W = edf_parameter("W[3,4]");
  Einsum("s[b,j] = W[I,j] x[b,I]", W, edf_input("x[b,4]"));
}

/* A score for each letter, but a label for each text. */
static void one_label_for_a_text(void) {
  Input *u = edf_input("x[b,5,4]"), *v = edf_input("y[b]");
  SoftmaxLogLoss(Affine(edf_affine_params(4, 3), u), v);
}

/* The state comes from a cell with more units. */
static void state_of_another_size(void) {
  RecurrentState state = { NULL, NULL };
  Input *u = edf_input("x[b,4]");
  state = LSTM(edf_lstm_params(4, 8), u, state);
  LSTM(edf_lstm_params(4, 6), u, state);
}

/* ---- The notation */

static void pairs(const char *equation) {
  Einsum(equation, edf_input("u[b,4]"), edf_input("v[b,4]"));
}

/* As in other languages, entry by entry. */
static void point_and_star(void) { pairs("y[b,j] = u[b,j] .* v[b,j]"); }

/* The sign of the slides, copied from their PDF: as good as that of the keyboard. */
static void minus_of_the_slides(void) { pairs("y[b,j] = u[b,j] \342\210\222 v[b,j]"); }

/* A bracket around a sum. */
static void sum_in_brackets(void) { pairs("y[b,j] = 2 (u[b,j] + v[b,j])"); }

/* The round brackets of a function. */
static void round_brackets(void) { pairs("y(b,j) = u(b,j) v(b,j)"); }

/* A comma between the factors, as in a call. */
static void comma_between_factors(void) { pairs("y[b] = u[b,I], v[b,I]"); }

/* The slide's transposed matrix. */
static void transposed_by_a_quote(void) {
  Einsum("s[b,j] = W'[j,I] x[b,I]", edf_parameter("W[4,3]"), edf_input("x[b,4]"));
}

/* A sign for the sum, where the capital says it. */
static void sign_of_a_sum(void) {
  Einsum("y[b] = sum_I x[b,I]", edf_input("x[b,4]"));
}

/* The equation knows no variables of C. */
static void variable_of_c(void) {
  edf_real c = 0.5f;
  printed = c;
  Einsum("y[b,j] = c x[b,j]", edf_input("x[b,4]"));
}

/* Einsum prints no numbers into its equation: edf_fmt does. */
static void format_in_an_equation(void) {
  Einsum("y[b,j] = %g x[b,j]", edf_input("x[b,4]"));
}

/* The probability of the label. */
static void entry_by_a_label(void) {
  Einsum("p[b] = Q[b,y[b]]", edf_input("Q[b,3]"), edf_input("y[b]"));
}

/* The bound as a condition of C. */
static void bound_with_equals(void) {
  Einsum("y[b,t] = x[b,t+1] | t<=2", edf_input("x[b,4]"));
}

/* ---- Feeding */

/* The bytes of the pictures, with a cast. */
static void bytes_for_numbers(void) {
  static unsigned char pixels[8 * 4];
  network();
  edf_feed(x, (edf_real *)(void *)pixels, 8);
}

/* The size of the array where the number of rows belongs. */
static void bytes_for_rows(void) {
  network();
  edf_feed(x, points, sizeof points);
}

/* All the numbers that are fed, not the rows. */
static void numbers_for_rows(void) {
  edf_array a = table_of(8, 4);
  network();
  edf_feed(x, a.value, (int)a.size);
  Forward();
}

/* An array of double, with a cast. */
static void doubles_for_floats(void) {
  static double wide[8 * 4];
  for (int i = 0; i < 32; i++) wide[i] = points[i];
  network();
  edf_doctor(ell);
  edf_feed(x, (edf_real *)(void *)wide, 8);
  train(20, 0.1f);
}

/* The two calls of edf_feed with each other's data. */
static void points_for_labels(void) {
  network();
  edf_feed(x, classes, 8);
  edf_feed(y, points, 8);
  Forward();
}

/* The labels as they are read from a text: '0' is 48. */
static void characters_for_labels(void) {
  static edf_real labels[8];
  for (int b = 0; b < 8; b++) labels[b] = (edf_real)"01201201"[b];
  network();
  edf_feed(y, labels, 8);
  Forward();
}

static void feed_a_local_array(void) {
  edf_real local[8 * 4];
  memcpy(local, points, sizeof local);
  edf_feed(x, local, 8);
}

/* The rows stood in a function that has returned. */
static void array_of_a_function(void) {
  network();
  feed_a_local_array();
  Forward();
}

/* ---- Files */

static void csv(const char *text) {
  file("iris.csv");
  write_bytes(text, strlen(text));
  edf_load_csv(path);
}

/* As a spreadsheet writes it in Germany. */
static void semicolons(void) { csv("5,1;3,5;0\n4,9;3,0;0\n"); }

/* The layer has got more units since the model was saved. */
static void model_of_another_size(void) {
  network();
  edf_save(file("model.st"));
  edf_clear();
  edf_affine_params(4, 16);
  edf_affine_params(16, 3);
  edf_load(path);
}

/* A layer more than were saved. */
static void model_with_a_layer_more(void) {
  network();
  edf_save(file("model.st"));
  edf_affine_params(3, 3);
  edf_load(path);
}

/* A model that another library has saved. */
static void model_of_another_library(void) {
  file("model.pt");
  write_bytes(BYTES("PK\3\4\0\0\10\10\0\0\0\0\0\0\0\0archive/data.pkl"));
  network();
  edf_load(path);
}

/* edf_save makes no directories. */
static void directory_missing(void) {
  network();
  edf_save(file("runs/1.st"));
}

/* A photograph of one's own digit. */
static void picture_of_a_telephone(void) {
  file("seven.jpg");
  write_bytes(BYTES("\377\330\377\340\0\20JFIF\0\1\1\0\0\1"));
  edf_load_image(path);
}

/* ---- Lifetime */

/* Everything is cleared at the end of a step, and not the computed nodes alone. */
static void cleared_in_the_loop(void) {
  network();
  for (int step = 0; step < 2; step++) {
    ell = SoftmaxLogLoss(Affine(Phi2, Tanh(Affine(Phi1, x))), y);
    train(1, 0.1f);
    edf_clear();
  }
}

/* The loss is printed when the nodes of its step are gone. */
static void loss_of_a_cleared_step(void) {
  network();
  train(1, 0.1f);
  edf_clear_compnodes();
  printed = (edf_real)edf_mean_value(ell);
}

/* The state of the last part of the text, as a node. */
static void state_over_a_clear(void) {
  RecurrentState state = { NULL, NULL };
  GRUParams Phi = edf_gru_params(4, 6);
  Input *u = edf_input("x[b,4]");
  for (int part = 0; part < 2; part++) {
    edf_feed(u, points, 8);
    state = GRU(Phi, u, state);
    Forward();
    edf_clear_compnodes();
  }
}

/* ---- Evaluation */

/* Labels and scores exchanged. */
static void error_rate_exchanged(void) {
  network();
  Forward();
  printed = (edf_real)edf_error_rate(y, Q);
}

/* The error rate of the loss. */
static void error_rate_of_the_loss(void) {
  network();
  Forward();
  printed = (edf_real)edf_error_rate(ell, y);
}

/* After the first test edf.training stays 0: Dropout does nothing from then on. */
static void training_stays_off(void) {
  scores();
  ell = SoftmaxLogLoss(Affine(edf_affine_params(3, 3), Dropout(s, 0.5)), y);
  edf_doctor(ell);
  train(5, 0.1f);
  edf.training = 0;
  edf_feed(x, points + 32, 8);
  Forward();
  edf_feed(x, points, 8);
  train(20, 0.1f);
}

/* ---- Nodes of their own */

static void check(void (*forward)(CompNode *), void (*backward)(CompNode *)) {
  x = edf_want_grad(edf_input("x[b,4]"));
  edf_feed(x, points, 3);
  edf_gradcheck(edf_compnode("Mine", forward, backward, x));
}

static void twice(CompNode *v) {
  for (size_t i = 0; i < v->size; i++) v->value[i] = 2 * v->in[0]->value[i];
}
static void twice_back(CompNode *v) {
  for (size_t i = 0; i < v->size; i++) edf_addgrad(v->in[0], i, 2 * v->grad[i]);
}
static void twice_assigned(CompNode *v) {
  for (size_t i = 0; i < v->size; i++) v->in[0]->grad[i] = 2 * v->grad[i];
}

static void times(CompNode *v) {
  for (size_t i = 0; i < v->size; i++)
    v->value[i] = v->in[0]->value[i] * v->in[1]->value[i];
}
static void times_by_hand(CompNode *v) {
  for (size_t i = 0; i < v->size; i++) {
    v->in[0]->grad[i] += v->grad[i] * v->in[1]->value[i];
    v->in[1]->grad[i] += v->grad[i] * v->in[0]->value[i];
  }
}
/* += without edf_addgrad: x is an Input without a gradient, and there is no such memory. */
static void grad_by_hand(void) {
  scores();
  ell = Mean(edf_compnode("Mine", times, times_by_hand, x, Affine(edf_affine_params(4, 4), x)));
  Forward();
  Backward(ell);
}

/* = where += is needed. */
static void gradient_assigned(void) { check(twice, twice_assigned); }

/* Forward is called where backward belongs. */
static void forward_for_backward(void) { check(twice, twice); }

/* The check before anything was fed. */
static void check_before_feed(void) {
  x = edf_want_grad(edf_input("x[b,4]"));
  edf_gradcheck(edf_compnode("Mine", twice, twice_back, x));
}

static void first_row(CompNode *v) {
  for (int i = 0; i < v->dim[1]; i++) v->value[i] = 2 * v->in[0]->value[i];
}
/* A loop over the columns alone: the other rows have what was in the memory. */
static void only_the_first_row(void) { check(first_row, twice_back); }

static void scale_in_place(CompNode *v) {
  for (size_t i = 0; i < v->size; i++) v->value[i] = v->in[0]->value[i] *= 2;
}
/* The input is changed on the way. */
static void input_changed(void) {
  scores();
  ell = Mean(Square(edf_compnode("Mine", scale_in_place, twice_back, s)));
  edf_gradcheck(ell);
}

static void noise(CompNode *v) {
  for (size_t i = 0; i < v->size; i++)
    v->value[i] = 2 * v->in[0]->value[i] + (edf_real)rand() / (edf_real)RAND_MAX;
}
/* Random numbers of the C library: another value in each Forward. */
static void numbers_by_rand(void) { check(noise, twice_back); }

static void half(CompNode *v) {
  for (size_t i = 0; i < v->size; i++) v->value[i] = 1 / 2 * v->in[0]->value[i];
}
static void half_back(CompNode *v) {
  for (size_t i = 0; i < v->size; i++) edf_addgrad(v->in[0], i, v->grad[i] / 2);
}
/* 1 / 2 is 0 in C. */
static void integer_half(void) { check(half, half_back); }

static void absolute(CompNode *v) {
  for (size_t i = 0; i < v->size; i++) v->value[i] = (edf_real)abs((int)v->in[0]->value[i]);
}
static void absolute_back(CompNode *v) {
  for (size_t i = 0; i < v->size; i++)
    edf_addgrad(v->in[0], i, v->in[0]->value[i] < 0 ? -v->grad[i] : v->grad[i]);
}
/* abs is of int: fabs was meant. */
static void abs_of_int(void) { check(absolute, absolute_back); }

/* ---- Training */

/* p += eta * p.grad */
static void uphill(void) {
  network();
  edf_doctor(ell);
  train(20, -0.1f);
}

/* 1 / 10 is 0 in C. */
static void integer_rate(void) {
  network();
  edf_doctor(ell);
  train(60, 1 / 10);
}

/* The rate behind the two betas. */
static void adam_exchanged(void) {
  network();
  edf_doctor(ell);
  for (int step = 0; step < 20; step++) {
    Forward();
    Backward(ell);
    Adam(0.9f, 0.999f, 0.001f, 1e-8f);
  }
}

/* Parameters declared by hand are zero until they are initialised. */
static void weights_stay_zero(void) {
  x = edf_input("x[b,4]");
  y = edf_input("y[b]");
  Parameter *W = edf_parameter("W[4,8]"), *V = edf_parameter("V[8,3]");
  h = Tanh(Einsum("r[b,j] = W[I,j] x[b,I]", W, x));
  ell = SoftmaxLogLoss(Einsum("s[b,k] = V[J,k] h[b,J]", V, h), y);
  edf_doctor(ell);
  edf_feed(x, points, 8);
  edf_feed(y, classes, 8);
  train(20, 0.1f);
}

/* Gradients are to add up over two batches, and are never cleared again. */
static void gradients_never_cleared(void) {
  network();
  edf.accumulate = 1;
  edf_doctor(ell);
  train(20, 0.1f);
}

/* Forward before the loop, as if it ran by itself. */
static void forward_before_the_loop(void) {
  network();
  edf_doctor(ell);
  Forward();
  for (int step = 0; step < 60; step++) {
    Backward(ell);
    SGD(0.1f);
  }
}

/* SoftmaxLogLoss has a softmax in itself. */
static void softmax_twice(void) {
  scores();
  ell = SoftmaxLogLoss(Softmax(s), y);
  edf_doctor(ell);
  train(20, 0.1f);
}

/* BCELoss takes scores, as its declaration says. */
static void sigmoid_before_bce(void) {
  static edf_real answers[8] = { 0, 1, 0, 1, 1, 0, 0, 1 };
  Input *u = edf_input("x[b,4]"), *v = edf_input("y[b,1]");
  ell = BCELoss(Sigmoid(Affine(edf_affine_params(4, 1), u)), v);
  edf_doctor(ell);
  edf_feed(u, points, 8);
  edf_feed(v, answers, 8);
  train(60, 0.1f);
}

/* The logarithm of scores, of which some are negative. */
static void log_loss_of_scores(void) {
  scores();
  ell = LogLoss(s, y);
  edf_doctor(ell);
  train(20, 0.1f);
}

/* A layer is made and then left out: h where the second layer's output was meant. */
static void layer_left_out(void) {
  scores();
  ell = SoftmaxLogLoss(h, y);
  edf_doctor(ell);
  train(60, 0.1f);
}

/* ---- C */

/* A value is read before anything has run: there is no array yet. */
static void value_before_forward(void) {
  network();
  printed = ell->value[0];
}

/* The names are made in one buffer. */
static void names_in_one_buffer(void) {
  char name[16];
  network();
  Parameter *all[4] = { Phi1.w, Phi1.b, Phi2.w, Phi2.b };
  for (int i = 0; i < 4; i++) {
    snprintf(name, sizeof name, "layer%d", i);
    edf_name(all[i], name);
  }
  edf_save(file("model.st"));
}

/* ---- The table */

static const mistake mistakes[] = {
  { IS(flatten_forgotten), "shapes", STOP,
    { "sixty.c", "I is 6 in x = MaxPool", "I is 864 in W", "Reshape" },
    AS_GOOD, "I is 864 in W",
    "both shapes stand there, and 12 * 12 * 6 is 864" },
  { IS(flatten_of_another_size), "shapes", STOP,
    { "sixty.c", "Reshape", "MaxPool", "1176", "864|12, 12, 6" }, SAID },
  { IS(layers_exchanged), "shapes", STOP,
    { "sixty.c", "I is 4 in x = Input", "I is 8 in W = Parameter \"w2\"" }, SAID },
  { IS(batch_is_a_number), "shapes", STOP,
    { "sixty.c", "y is [b], not [8]", "[8, 3]" }, SAID },
  { IS(labels_in_a_column), "shapes", STOP,
    { "sixty.c", "y is [b, 1], not [b]" }, SAID },
  { IS(residual_of_another_width), "shapes", STOP,
    { "sixty.c", "8 in", "4 in", "Relu", "\"x\"" }, SAID },
  { IS(weights_turned), "shapes", STOP,
    { "sixty.c", "I is 4 in x", "I is 3 in W" }, SAID },
  { IS(one_label_for_a_text), "shapes", STOP,
    { "sixty.c", "y is [b], not [b, 5]" }, SAID },
  { IS(state_of_another_size), "shapes", STOP,
    { "sixty.c", "LSTM", "is 8 in h|is 8 in c", "is 6 in" }, SAID },

  { IS(point_and_star), "notation", STOP,
    { "sixty.c", "^", "'.'", "'*'|factor" }, SAID },
  { IS(minus_of_the_slides), "notation", 0, { "it is read as a minus" },
    WORKS, "silent", "no mistake" },
  { IS(sum_in_brackets), "notation", STOP,
    { "sixty.c", "^", "'('", "sum of products" }, SAID },
  { IS(round_brackets), "notation", STOP,
    { "sixty.c", "^", "'('", "'['|[ ]|y[" }, SAID },
  { IS(comma_between_factors), "notation", STOP,
    { "sixty.c", "^", "','", "'*'|factor" }, SAID },
  { IS(transposed_by_a_quote), "notation", STOP, { "sixty.c", "^", "transpose", "W" }, SAID },
  { IS(sign_of_a_sum), "notation", STOP,
    { "sixty.c", "sum_I", "capital|2 operands" }, SAID },
  { IS(variable_of_c), "notation", STOP,
    { "sixty.c", "(c, x)", "edf_fmt" },
    OPEN, "the equation has 2 operands (c, x), but 1 was given",
    "misleading: c is taken for x, and x said to be missing; edf_fmt is not named" },
  { IS(format_in_an_equation), "notation", STOP,
    { "sixty.c", "^", "'%'", "edf_fmt" }, SAID },
  { IS(entry_by_a_label), "notation", STOP, { "sixty.c", "^", "'['" }, SAID },
  { IS(bound_with_equals), "notation", STOP,
    { "sixty.c", "^", "'<'", "'='" },
    AS_GOOD, "expected a number after '<'",
    "and the caret stands below the =" },

  { IS(bytes_for_numbers), "feeding", STOP,
    { "sixty.c", "edf_feed", "8 numbers", "32", "\"x\"" }, SAID },
  { IS(bytes_for_rows), "feeding", STOP,
    { "sixty.c", "edf_feed", "256 numbers", "4096|1024 rows", "\"x\"" }, SAID },
  { IS(numbers_for_rows), "feeding", STOP,
    { "sixty.c", "edf_feed", "\"x\"", "32 numbers", "32 rows" }, SAID },
  { IS(doubles_for_floats), "feeding", STOP | REPORT,
    { "sixty.c", "\"x\"", "double|a cast" },
    OPEN, "hint: subtract each column's mean and divide by its deviation",
    "misleading: 1e19 is the half of a double" },
  { IS(points_for_labels), "feeding", STOP,
    { "sixty.c", "LogLoss", "row 1 of y", "not a whole number", "0 to 2" }, SAID },
  { IS(characters_for_labels), "feeding", STOP,
    { "sixty.c", "label 48", "row 0 of y", "0 to 2", "character|'0'" },
    AS_GOOD, "label 48 in row 0 of y is out of range: expected 0 to 2",
    "the value is said, if not that it is a character" },
  { IS(array_of_a_function), "feeding", 0,
    { "a stack that was left looks like any memory" }, SAID },

  { IS(semicolons), "files", STOP,
    { "iris.csv", "line 1", "';3'", "','" }, SAID },
  { IS(model_of_another_size), "files", STOP,
    { "model.st", "w1", "[4, 16]", "[4, 8]|[4,8]" }, SAID },
  { IS(model_with_a_layer_more), "files", STOP, { "model.st", "w3", "sixty.c" }, SAID },
  { IS(model_of_another_library), "files", STOP, { "model.pt", "safetensors" }, SAID },
  { IS(directory_missing), "files", STOP, { "runs/1.st", "No such file or directory" }, SAID },
  { IS(picture_of_a_telephone), "files", STOP,
    { "seven.jpg", "PGM", "JPEG|found" },
    AS_GOOD, "byte 0: expected a PGM or PPM file, which begins with P2, P3, P5 or P6",
    "the name says what it is" },

  { IS(cleared_in_the_loop), "lifetime", STOP,
    { "sixty.c", "\"x\"|\"w1\"", "cleared", "edf_clear_compnodes" },
    OPEN, "to use its value in the next graph, copy that before, and feed the copy",
    "misleading: edf_clear_compnodes keeps a parameter; what is said is for a state" },
  { IS(loss_of_a_cleared_step), "lifetime", STOP,
    { "edf_mean_value", "LogLoss", "cleared", "sixty.c" }, SAID },
  { IS(state_over_a_clear), "lifetime", STOP,
    { "sixty.c", "GRU", "cleared", "feed" }, SAID },

  { IS(error_rate_exchanged), "evaluation", STOP,
    { "edf_error_rate", "\"y\"", "Softmax", "swapped|first" },
    AS_GOOD, "expected one label for each row of scores",
    "both are shown; LogLoss asks whether they are swapped" },
  { IS(error_rate_of_the_loss), "evaluation", STOP,
    { "edf_error_rate", "LogLoss", "classes|last index" }, SAID },
  { IS(training_stays_off), "evaluation", REPORT,
    { "trained as in evaluation", "edf.training is 0" }, SAID },

  { IS(grad_by_hand), "own nodes", 0,
    { "the program writes through a NULL of its own" },
    AS_GOOD, "crash", "a debugger shows the line" },
  { IS(gradient_assigned), "own nodes", REPORT, { "FAIL", "Mine", "+=", "sixty.c" }, SAID },
  { IS(forward_for_backward), "own nodes", REPORT,
    { "FAIL", "Mine", "changes|writes", "value" },
    AS_GOOD, "likely: the gradient is never written",
    "so it is" },
  { IS(check_before_feed), "own nodes", STOP,
    { "edf_gradcheck", "never fed", "\"x\"", "sixty.c" },
    OPEN, "edf_forward_to: an input was never fed",
    "names a function that the program does not call" },
  { IS(only_the_first_row), "own nodes", REPORT,
    { "FAIL", "Mine", "does not write", "[1,0]", "8 of 12" }, SAID },
  { IS(input_changed), "own nodes", REPORT, { "FAIL", "Mine", "changes", "Affine" }, SAID },
  { IS(numbers_by_rand), "own nodes", REPORT,
    { "FAIL", "Mine", "again|twice|random", "rand" }, SAID },
  { IS(integer_half), "own nodes", REPORT,
    { "FAIL", "Mine", "numeric 0", "constant|does not depend" },
    OPEN, "likely: a mask is missing",
    "misleading: nothing moves at all, so it is the forward" },
  { IS(abs_of_int), "own nodes", REPORT,
    { "FAIL", "Mine", "numeric 0", "constant|does not depend" },
    OPEN, "likely: a mask is missing",
    "misleading: nothing moves at all, so it is the forward" },

  { IS(uphill), "training", REPORT, { "up", "sign|negative|-0.1" }, SAID },
  { IS(integer_rate), "training", REPORT,
    { "nothing moves", "no parameter", "learning rate" }, SAID },
  { IS(adam_exchanged), "training", STOP | REPORT, { "large|order|beta2" }, SAID },
  { IS(weights_stay_zero), "training", REPORT, { "W", "zero", "edf_init" }, SAID },
  { IS(gradients_never_cleared), "training", REPORT,
    { "edf.accumulate", "edf_zero_grad" }, SAID },
  { IS(forward_before_the_loop), "training", STOP | REPORT,
    { "Forward", "step|old|again" }, SAID },
  { IS(softmax_twice), "training", REPORT, { "sixty.c", "twice|softmax of a softmax" }, SAID },
  { IS(sigmoid_before_bce), "training", REPORT,
    { "sixty.c", "Sigmoid", "scores|twice" },
    OPEN, "silent",
    "a Sigmoid below BCELoss, which has one in itself: as a softmax twice" },
  { IS(log_loss_of_scores), "training", REPORT, { "LogLoss", "probabilit|Softmax" }, SAID },
  { IS(layer_left_out), "training", REPORT, { "w2", "never|not", "sixty.c" }, SAID },

  { IS(value_before_forward), "C", 0,
    { "the program reads through a NULL of its own" },
    AS_GOOD, "crash", "a debugger shows the line" },
  { IS(names_in_one_buffer), "C", STOP | REMARK, { "a name is copied" }, WORKS, "silent",
    "a name is copied" },
};

int main(int argc, char **argv) {
  return programs(argc, argv, "sixty", mistakes, sizeof mistakes / sizeof *mistakes);
}
