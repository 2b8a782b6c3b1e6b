/* students.c - programs that make a student's mistake, and what the student must be told.

   Each row of the table at the end has a program and words. The words must stand in the error
   that stops the program, or in what it prints to stdout and stderr. Each program runs in a
   process of its own, because it may crash. A crash fails the test.

   A new row needs a function that makes the mistake. Programs that differ in one text share a
   function, which reads `text`. */

#include "harness.h"

#include "edf.h"
#include "edf_data.h"
#include "edf_lab.h"

#include <sys/wait.h>

static edf_real points[256], classes[64];        /* numbers from -1 to 1, and 0 1 2 0 1 2 ... */
static const char *text;                         /* the text of this row of the table */
static volatile edf_real printed;                /* what a program would print */

/* ---- Two layers for three classes. Each program breaks a part of it. */

static Input *x, *y;
static AffineParams Phi1, Phi2;
static CompNode *h, *s, *P, *loss;

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
  P = Softmax(s);
  loss = LogLoss(P, y);
}

static void train(int steps, edf_real eta) {
  for (int step = 0; step < steps; step++) {
    Forward();
    Backward(loss);
    SGD(eta);
  }
}

/* ---- Shapes */

static void layers_exchanged(void) {
  AffineParams first = edf_affine_params(4, 8), second = edf_affine_params(8, 3);
  Affine(first, Tanh(Affine(second, edf_input("x[b,4]"))));
}

static void image_is_not_flattened(void) {
  Affine(edf_affine_params(784, 10), edf_input("image[b,28,28,1]"));
}

static void flattened_to_another_size(void) {
  Reshape(edf_input("image[b,12,12,6]"), "f[b,%d]", 14 * 14 * 6);
}

static void residual_of_another_width(void) {
  Input *u = edf_input("x[b,4]");
  Add(u, Relu(Affine(edf_affine_params(4, 8), u)));
}

static void weights_are_transposed(void) {
  Einsum("s[b,j] = W[I,j] x[b,I]", edf_parameter("W[3,4]"), edf_input("x[b,4]"));
}

/* The text declares x and the labels. */
static void scores_and_labels(void) {
  char scores_of[32], labels[32];
  sscanf(text, "%31s %31s", scores_of, labels);
  x = edf_input("%s", scores_of);
  y = edf_input("%s", labels);
  SoftmaxLogLoss(Affine(edf_affine_params(4, 3), x), y);
}

/* ---- The notation */

static void equation_of_two(void) {
  Einsum(text, edf_input("u[b,4]"), edf_input("v[b,4]"));
}

static void equation_of_one(void) { Einsum(text, edf_input("x[b,4]")); }

static void operands_exchanged(void) {
  Input *u = edf_input("x[b,3]");
  Einsum("s[b,j] = W[I,j] x[b,I]", u, edf_parameter("W[3,5]"));
}

/* ---- Feeding */

static void labels_are_not_fed(void) {
  Input *u = edf_input("x[b,4]"), *labels = edf_input("y[b]");
  SoftmaxLogLoss(Affine(edf_affine_params(4, 3), u), labels);
  edf_feed(u, points, 8);
  Forward();
}

static void batches_disagree(void) {
  network();
  edf_feed(x, points, 8);
  edf_feed(y, classes, 4);
  Forward();
}

static void points_for_labels(void) {
  network();
  edf_feed(y, points, 8);
  Forward();
}

static void labels_begin_at_1(void) {
  static const edf_real labels[3] = { 1, 2, 3 };
  network();
  edf_feed(x, points, 3);
  edf_feed(y, labels, 3);
  Forward();
}

static void characters_for_labels(void) {
  static edf_real labels[8];
  for (int b = 0; b < 8; b++) labels[b] = (edf_real)"01201201"[b];
  network();
  edf_feed(y, labels, 8);
  Forward();
}

/* ---- The three loops */

static void backward_before_forward(void) {
  network();
  Backward(loss);
}

static void loss_did_not_run(void) {
  network();
  edf_forward_to(P);
  Backward(loss);
}

static void everything_is_frozen(void) {
  network();
  for (int i = 0; i < edf.n_parameters; i++) edf.parameters[i]->update = edf_frozen;
  train(1, 0.1f);
}

static void node_of_another_graph(void) {
  scores();
  edf = edf_new_graph();
  Tanh(s);
}

static void error_rate_exchanged(void) {
  network();
  Forward();
  printed = (edf_real)edf_error_rate(y, P);
}

/* ---- Custom nodes */

static void check(void (*forward)(CompNode *), void (*backward)(CompNode *)) {
  Input *u = edf_want_grad(edf_input("x[b,4]"));
  edf_feed(u, points, 3);
  edf_gradcheck(edf_compnode("Mine", forward, backward, u));
}

static void twice(CompNode *v) {
  for (size_t i = 0; i < v->size; i++) v->value[i] = 2 * v->in[0]->value[i];
}

static void twice_backward(CompNode *v) {
  for (size_t i = 0; i < v->size; i++) edf_addgrad(v->in[0], i, 2 * v->grad[i]);
}

static void twice_assigned(CompNode *v) {
  for (size_t i = 0; i < v->size; i++) v->in[0]->grad[i] = 2 * v->grad[i];
}

static void twice_the_first_row(CompNode *v) {
  for (int i = 0; i < v->dim[1]; i++) v->value[i] = 2 * v->in[0]->value[i];
}

static void half_of_integers(CompNode *v) {
  for (size_t i = 0; i < v->size; i++) v->value[i] = 1 / 2 * v->in[0]->value[i];
}

static void twice_clamped(CompNode *v) {
  for (size_t i = 0; i < v->size; i++)
    v->value[i] = v->in[0]->value[i] > 0.5f ? 1 : 2 * v->in[0]->value[i];
}

static void gradient_is_assigned(void) { check(twice, twice_assigned); }
static void rows_are_not_written(void) { check(twice_the_first_row, twice_backward); }
static void half_is_an_integer(void) { check(half_of_integers, twice_backward); }
static void clamped_only_in_forward(void) { check(twice_clamped, twice_backward); }

static void checked_before_feed(void) {
  Input *u = edf_want_grad(edf_input("x[b,4]"));
  edf_gradcheck(edf_compnode("Mine", twice, twice_backward, u));
}

static void backward_is_not_written_yet(void) {
  scores();
  loss = SoftmaxLogLoss(edf_compnode("Mine", twice, NULL, s), y);
  train(1, 0.1f);
}

/* ---- Files */

static void load_csv(void) {
  write_bytes(file("iris.csv"), text, strlen(text));
  edf_load_csv(path);
}

static void file_is_packed(void) {
  write_bytes(file("t10k.idx"), BYTES("\x1f\x8b\x08\0\0\0\0\0\0\3\x63\x60\xe0\x60\x64\0\0"));
  edf_load_labels(path);
}

static void model_of_another_size(void) {
  network();
  edf_save(file("model.st"));
  edf_clear();
  edf_affine_params(4, 16);
  edf_affine_params(16, 3);
  edf_load(path);
}

static void model_has_a_layer_more(void) {
  network();
  edf_save(file("model.st"));
  edf_affine_params(3, 3);
  edf_load(path);
}

/* ---- Training: only the doctor sees these mistakes. */

static void examine(CompNode *l, edf_real eta) {
  loss = l;
  edf_doctor(loss);
  train(60, eta);
}

static void uphill(void) {
  network();
  examine(loss, -0.1f);
}

static void rate_is_an_integer(void) {
  network();
  examine(loss, 1 / 10);
}

static void weights_stay_zero(void) {
  network();
  edf_init_uniform(Phi1.w, 0, 0);
  edf_init_uniform(Phi2.w, 0, 0);
  examine(loss, 0.1f);
}

static void softmax_twice(void) {
  scores();
  examine(SoftmaxLogLoss(Softmax(s), y), 0.1f);
}

static void log_loss_of_scores(void) {
  scores();
  examine(LogLoss(s, y), 0.1f);
}

static void layer_is_left_out(void) {
  scores();
  examine(SoftmaxLogLoss(h, y), 0.1f);
}

/* ---- The table */

enum { STOP, SAY };                  /* Is the student told by an error, or by a report? */

typedef struct {
  const char *name;
  void (*program)(void);
  const char *text;
  int by;
  const char *words;
} mistake;

#define IS(program) #program, program, NULL
#define HERE "students.c:"

static const mistake mistakes[] = {
  { IS(layers_exchanged), STOP, HERE "|Affine|w2|[8, 3]|\"x\" [b, 4]" },
  { IS(image_is_not_flattened), STOP, HERE "|Affine|[b, 28, 28, 1]|[784, 10]" },
  { IS(flattened_to_another_size), STOP, HERE "|Reshape|[b, 12, 12, 6]|1176" },
  { IS(residual_of_another_width), STOP, HERE "|Add|\"x\" [b, 4]|Relu|[b, 8]" },
  { IS(weights_are_transposed), STOP, HERE "|\"W\" [3, 4]|\"x\" [b, 4]" },
  { "labels_are_one_hot", scores_and_labels, "x[b,4] y[b,3]", STOP, HERE "|\"y\" [b, 3]" },
  { "labels_are_a_column", scores_and_labels, "x[b,4] y[b,1]", STOP, HERE "|\"y\" [b, 1]" },
  { "batch_is_a_number", scores_and_labels, "x[8,4] y[b]", STOP, HERE "|\"y\" [b]|[8, 3]" },
  { "one_label_for_a_text", scores_and_labels, "x[b,5,4] y[b]", STOP,
    HERE "|\"y\" [b]|[b, 5, 3]" },

  { "letters_of_numpy", equation_of_two, "bi,ij->bj", STOP, HERE "|bi,ij->bj|^|[b,j]" },
  { "brackets_of_c", equation_of_two, "y[b][j] = u[b][j] v[b][j]", STOP, HERE "|y[b][j]|^" },
  { "function_in_it", equation_of_one, "h[b,j] = tanh(x[b,j])", STOP, HERE "|tanh(x|^" },
  { "point_and_star", equation_of_two, "y[b,j] = u[b,j] .* v[b,j]", STOP, HERE "|.*|^" },
  { "sum_in_brackets", equation_of_two, "y[b,j] = 2 (u[b,j] + v[b,j])", STOP, HERE "|2 (u|^" },
  { "round_brackets", equation_of_two, "y(b,j) = u(b,j) v(b,j)", STOP, HERE "|y(b,j)|^" },
  { "comma_for_times", equation_of_two, "y[b] = u[b,I], v[b,I]", STOP, HERE "|], v|^" },
  { "variable_of_c", equation_of_one, "y[b,j] = c x[b,j]", STOP, HERE "|c x[b,j]|operand" },
  { "format", equation_of_one, "y[b,j] = %g x[b,j]", STOP, HERE "|%g x|^" },
  { "lookup", equation_of_two, "p[b] = u[b,v[b]]", STOP, HERE "|u[b,v[b]]|^" },
  { "sum_over_a_free_index", equation_of_two, "y[j] = u[b,j] v[b,j]", STOP, HERE "|index b|B" },
  { "j_for_J", equation_of_two, "y[b,j] = u[b,J] v[b,J]", STOP, HERE "|j and J|^" },
  { "outside", equation_of_one, "y[b,t] = x[b,t+1] - x[b,t]", STOP,
    HERE "|\"x\" [b, 4]|bound" },
  { IS(operands_exchanged), STOP, HERE "|W[I,j] x[b,I]|\"x\" [b, 3]|\"W\" [3, 5]" },

  { IS(labels_are_not_fed), STOP, HERE "|\"y\" [b|never fed" },
  { IS(batches_disagree), STOP, HERE "|\"x\" [b=8, 4]|\"y\" [b=4]" },
  { IS(points_for_labels), STOP, HERE "|LogLoss|label 0.99|row 1|\"y\"|0 to 2" },
  { IS(labels_begin_at_1), STOP, HERE "|LogLoss|label 3|row 2|\"y\"|0 to 2" },
  { IS(characters_for_labels), STOP, HERE "|LogLoss|label 48|row 0|\"y\"|0 to 2" },

  { IS(backward_before_forward), STOP, HERE "|LogLoss|orward" },
  { IS(loss_did_not_run), STOP, HERE "|LogLoss|orward" },
  { IS(everything_is_frozen), STOP, HERE "|LogLoss|arameter" },
  { IS(node_of_another_graph), STOP, HERE "|Tanh|another graph" },
  { IS(error_rate_exchanged), STOP, HERE "|edf_error_rate|\"y\" [b=8]|Softmax|[b=8, 3]" },

  { IS(gradient_is_assigned), SAY, HERE "|FAIL|Mine|+=" },
  { IS(rows_are_not_written), SAY, HERE "|FAIL|Mine|not write|[1,0]" },
  { IS(half_is_an_integer), SAY, HERE "|FAIL|Mine|x[|numeric 0" },
  { IS(clamped_only_in_forward), SAY, HERE "|FAIL|Mine|x[" },
  { IS(checked_before_feed), STOP, HERE "|\"x\" [b, 4]|never fed" },
  { IS(backward_is_not_written_yet), STOP, HERE "|SoftmaxLogLoss|Mine|backward" },

  { "decimal_commas", load_csv, "5,1;3,5;0\n4,9;3,0;0\n", STOP, "iris.csv|line 1|;" },
  { "missing_value", load_csv, "1,2\n3,NA\n", STOP, "iris.csv|line 2|NA" },
  { IS(file_is_packed), STOP, "t10k.idx|byte 0" },
  { IS(model_of_another_size), STOP, "model.st|w1|[4, 8]|[4, 16]" },
  { IS(model_has_a_layer_more), STOP, "model.st|w3" },

  { IS(uphill), SAY, "doctor|gradient" },
  { IS(rate_is_an_integer), SAY, "doctor|learning rate" },
  { IS(weights_stay_zero), SAY, "doctor|w1|zero" },
  { IS(softmax_twice), SAY, "doctor|Softmax|SoftmaxLogLoss" },
  { IS(log_loss_of_scores), SAY, "doctor|LogLoss|Affine" },
  { IS(layer_is_left_out), SAY, "doctor|w2" },
};

/* ---- A program in a process of its own */

static const mistake *now;
static char said[1 << 14];           /* what the program printed, then its error */

/* Runs now->program. Returns its exit status: 0 if it ended, 2 if an error stopped it. */
static int run_now(void) {
  FILE *out = tmpfile();
  int status = 0;
  if (!out) abort();
  fflush(stdout);
  pid_t child = fork();
  if (child < 0) abort();
  if (child == 0) {
    alarm(30);
    text = now->text;
    if (dup2(fileno(out), STDOUT_FILENO) < 0 || dup2(fileno(out), STDERR_FILENO) < 0) _exit(3);
    TRY(now->program());
    printf("%s", caught);
    fflush(stdout);
    _exit(panicked ? 2 : 0);
  }
  if (waitpid(child, &status, 0) != child) abort();
  rewind(out);
  said[fread(said, 1, sizeof said - 1, out)] = '\0';
  fclose(out);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void the_student_is_told(void) {
  int expected = now->by == STOP ? 2 : 0, status = run_now();
  CHECK(status == expected, "status %d, expected %d:\n%s", status, expected, said);
  WORDS(said, now->words);
}

/* The network without a mistake says nothing. */
static void right_program(void) {
  network();
  examine(loss, 0.1f);
  edf_save(file("right.st"));
  edf_load(path);
}

static void a_right_program_is_told_nothing(void) {
  static const mistake right = { IS(right_program), SAY, "" };
  now = &right;
  CHECK(run_now() == 0 && !*said, "%s", said);
}

int main(void) {
  for (int i = 0; i < 256; i++) points[i] = (edf_real)sin(i * 1.7);
  for (int i = 0; i < 64; i++) classes[i] = (edf_real)(i % 3);
  make_directory("students");
  RUN(a_right_program_is_told_nothing);
  for (now = mistakes; now < mistakes + sizeof mistakes / sizeof *mistakes; now++)
    harness_run(now->name, the_student_is_told);
  remove_directory();
  return harness_report();
}
