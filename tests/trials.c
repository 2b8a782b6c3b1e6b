/* trials.c - programs whose mistake shows in an experiment, and what the doctor and edf_try say
   of them. Healthy programs hear no finding. An experiment changes nothing.

   Variants: float */

#include "harness.h"
#include "edf/slide.h"
#include "edf/layers.h"
#include "edf/data.h"
#include "edf/lab.h"
#include <time.h>

/* ---- A task: the class of x is where a fixed linear map of x is greatest. */
enum { ROWS = 2048, BATCH = 64, WIDE = 10, CLASSES = 4 };
static edf_real xs[ROWS][WIDE], ys[ROWS], ts[ROWS];

static void draw(void) {
  edf_real map[CLASSES][WIDE];
  for (int k = 0; k < CLASSES; k++)
    for (int i = 0; i < WIDE; i++) map[k][i] = edf_normal(0, 1);
  for (int b = 0; b < ROWS; b++) {
    double most = -HUGE_VAL;
    for (int i = 0; i < WIDE; i++) xs[b][i] = edf_normal(0, 1);
    for (int k = 0; k < CLASSES; k++) {
      double s = 0;
      for (int i = 0; i < WIDE; i++) s += (double)(map[k][i] * xs[b][i]);
      if (s > most) ys[b] = (edf_real)k;
      most = fmax(s, most);
    }
    ts[b] = ys[b] < 2;
  }
}

/* ---- Nodes of the programs' own */
static void copy_forward(CompNode *c) {
  memcpy(c->value, c->in[0]->value, c->size * sizeof *c->value);
}
static void wrong_backward(CompNode *c) {        /* 1.5 times the derivative */
  for (size_t i = 0; i < c->size; i++) edf_addgrad(c->in[0], i, c->grad[i] * (edf_real)1.5);
}
static size_t turned(const CompNode *c, size_t i) {
  size_t row = c->size / (size_t)c->dim[0];
  return ((size_t)c->dim[0] - 1 - i / row) * row + i % row;
}
static void turn_forward(CompNode *c) {          /* row b gets row B-1-b */
  for (size_t i = 0; i < c->size; i++) c->value[i] = c->in[0]->value[turned(c, i)];
}
static void turn_backward(CompNode *c) {
  for (size_t i = 0; i < c->size; i++) edf_addgrad(c->in[0], turned(c, i), c->grad[i]);
}
static void sign_step(Parameter *p, const edf_real *c) {
  for (size_t i = 0; i < p->size; i++) p->value[i] -= p->grad[i] > 0 ? c[0] : -c[0];
}
static const edf_rule sign_rule = { "Sign", sign_step, 0, 0 };
static void own_update(Parameter *p, edf_real eta) {
  for (size_t i = 0; i < p->size; i++) p->value[i] -= eta * p->grad[i];
}
static void nothing(void) {}

/* ---- The programs */
typedef enum {
  HEALTHY, SMALL_RATE, SHUFFLED_ROWS, RANDOM_LABELS, SAME_ROWS, LABELS_STAY, CODED, COLUMN,
  OTHER_TEST, FAINT, DECAY, MIXED, HALF_LOSS, WRONG_BACKWARD, DEAD,
  /* healthy */
  RESIDUAL, DROPOUT, NORM, FROZEN, ONE_ROW, ALL_ROWS, SIGN, UPDATE, ADAM
} program;
static Input *x, *y;
static CompNode *loss;
static AffineParams first, last;

static CompNode *hidden(program p) {
  first = edf_affine_params(WIDE, 32);
  CompNode *h = Tanh(Affine(first, x));
  if (p == DEAD) {
    for (int j = 0; j < 32; j++) first.b->value[j] = 50;
    return edf_name(Relu(Affine(first, x)), "h");
  }
  if (p == FAINT) {
    for (size_t i = 0; i < first.w->size; i++) first.w->value[i] *= (edf_real)1e-4;
    return edf_name(h, "h");
  }
  for (int k = 0; p == RESIDUAL && k < 4; k++)
    h = Equations("r%d[b,i] = %s[b,i] + V%d[i,J] relu(U%d[J,I] %s[b,I]) | J<16", k, h->name, k, k,
                  h->name);
  if (p == MIXED) h = edf_compnode("Turn", turn_forward, turn_backward, h);
  if (p == WRONG_BACKWARD) h = edf_compnode("Scale", copy_forward, wrong_backward, h);
  if (p == DROPOUT) h = Dropout(h, 0.3);
  if (p == NORM) h = edf_batch_norm(edf_batch_norm_params(32), h);
  if (p == FROZEN) first.w->update = edf_frozen;
  if (p == UPDATE) first.w->update = own_update;
  return h;
}
static void build(program p) {
  edf_seed(3);
  draw();
  if (p == SHUFFLED_ROWS) {
    edf_array a = { 2, { ROWS, WIDE }, sizeof xs / sizeof **xs, *xs };
    edf_shuffle(&a, NULL);
  }
  for (int b = 0; p == RANDOM_LABELS && b < ROWS; b++) ys[b] = (edf_real)edf_below(CLASSES);
  for (int b = 0; p == CODED && b < ROWS; b += 7) xs[b][b % WIDE] = -99;
  for (int b = 0; p == COLUMN && b < ROWS; b++) xs[b][7] = (edf_real)0.25;
  x = edf_input_at("hw1.c", 1, "x[b,%d]", WIDE);
  y = edf_input_at("hw1.c", 2, "y[b]");
  CompNode *h = hidden(p);
  last = edf_affine_params(p == FAINT ? 32 : h->dim[1], p == HALF_LOSS ? 1 : CLASSES);
  CompNode *s = edf_name(Affine(last, h), "s");
  loss = p == HALF_LOSS ? Equations("loss[b] = y[b] ln(1 + exp(-s[b,0]))")
       : SoftmaxLogLoss(s, y);
}
static void feed(program p, int step, int rows) {
  int at = p == SAME_ROWS ? 0 : step * BATCH % (ROWS - BATCH);
  if (p == ALL_ROWS && step) return;
  edf_feed(x, xs[at], rows);
  if (p != LABELS_STAY || step == 0) edf_feed(y, (p == HALF_LOSS ? ts : ys) + at, rows);
}
static int without_doctor;
static edf_real weights[20000];                   /* after the training */
static void train(program p, int steps) {
  build(p);
  if (!without_doctor) edf_doctor(loss);
  for (int i = 0; i < steps; i++) {
    feed(p, i, p == ONE_ROW ? 1 : p == ALL_ROWS ? 100 : BATCH);
    Forward();
    Backward(loss);
    if (p == DECAY) edf_l2(2);
    edf_real eta = (edf_real)(p == SMALL_RATE ? 1e-5 : p == ONE_ROW ? 0.02 : 0.2);
    if (p == SIGN) eta = (edf_real)0.002;
    if (p == SIGN) edf_step(&sign_rule, &eta);
    else if (p == ADAM || p == HALF_LOSS) AdamDefault((edf_real)0.01);
    else SGD(eta);
  }
  if (p == OTHER_TEST) {
    for (int b = 0; b < 200; b++)
      for (int i = 0; i < WIDE; i++) xs[b][i] = 5 * xs[b][i] + 9;
    edf.training = 0;
    edf_feed(x, *xs, 200);
    edf_feed(y, ys, 200);
    Forward();
    edf.training = 1;
  }
  size_t n = 0;
  for (int i = 0; i < edf.n_parameters; n += edf.parameters[i++]->size)
    memcpy(weights + n, edf.parameters[i]->value, edf.parameters[i]->size * sizeof *weights);
  edf_clear();
}

/* ---- What the doctor says */
static void hears(const char *name, program p, int steps, const char *words) {
  CAPTURE(train(p, steps));
  CHECK(!panicked, "%s: %s", name, caught);
  const char *at = strstr(captured, "doctor: step ");
  const char *line = at ? at : *words ? captured : "";
  if (*words) harness_words(__FILE__, __LINE__, line, words);
  CHECK(*words || !at, "%s: %s", name, captured);
  CHECK(!at || !strstr(at + 1, "doctor: step "), "%s: several findings: %s", name, captured);
}

TEST(a_mistake_is_found_by_an_experiment) {
  hears("rate", SMALL_RATE, 320, "step 300: the rate 1e-05 is too small|the rate|trials.c");
  hears("shuffled", SHUFFLED_ROWS, 320,
        "step 300: labels and rows probably do not belong together|\"y\"|hw1.c:2|edf_shuffle");
  hears("random", RANDOM_LABELS, 320,
        "step 300: labels and rows probably do not belong together");
  hears("same rows", SAME_ROWS, 320,
        "step 20: the same 64 rows came in each of 20 steps|hw1.c:1");
  hears("labels", LABELS_STAY, 320,
        "step 20: y is the same in each of 20 steps, while x changes");
  hears("mixed", MIXED, 320, "step 1: rows of a batch are mixed|\"s\"");
  hears("half", HALF_LOSS, 320, "step 300: the loss falls without the labels");
}
TEST(a_mistake_is_found_by_a_rule) {
  hears("coded", CODED, 320, "step 1: the number -99 in |\"x\"");
  hears("column", COLUMN, 30, "step 20: number 7 of each row of x is 0.25 in all rows");
  hears("other test", OTHER_TEST, 320, "a test has other numbers|in training: mean");
  hears("faint", FAINT, 20, "step 1: the rows of h hardly differ");
  hears("decay", DECAY, 320, "step 300: w1 has shrunk to");
}
TEST(healthy_programs_hear_no_finding) {
  static const struct { const char *name; program p; } all[] = {
    { "plain", HEALTHY }, { "residual", RESIDUAL }, { "dropout", DROPOUT }, { "norm", NORM },
    { "frozen", FROZEN }, { "one row", ONE_ROW }, { "all rows", ALL_ROWS }, { "sign", SIGN },
    { "update", UPDATE }, { "adam", ADAM }
  };
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) hears(all[k].name, all[k].p, 620, "");
}

/* A generator learns to draw numbers that a critic takes for those of a normal distribution. */
static void adversaries(void) {
  edf_real noise[BATCH], real[BATCH];
  Input *z = edf_input("z[b]"), *r = edf_input("r[b]");
  edf_parameter("a");
  edf_parameter("c");
  CompNode *fake = Equations("fake[b] = a z[b] + c");
  edf_find("a")->value[0] = 1;
  CompNode *critic = Equations("D[b] = v[J] tanh(u[J] r[b] - w[J])  | J<8 \n"
                               "F[b] = v[J] tanh(u[J] fake[b] - w[J]) \n"
                               "cost[b] = ln(1 + exp(-D[b])) + ln(1 + exp(F[b]))");
  CompNode *cheat = Equations("cheat[b] = ln(1 + exp(-F[b]))");
  Parameter *theirs[] = { edf_find("v"), edf_find("u"), edf_find("w") };
  for (int k = 0; k < 3; k++) edf_init_normal(theirs[k], 0, 1);
  edf_doctor(critic);
  for (int i = 0; i < 620; i++) {
    for (int b = 0; b < BATCH; b++) noise[b] = edf_normal(0, 1);
    for (int b = 0; b < BATCH; b++) real[b] = edf_normal(2, (edf_real)0.5);
    edf_feed(z, noise, BATCH);
    edf_feed(r, real, BATCH);
    edf_find("a")->update = edf_find("c")->update = i % 2 ? NULL : edf_frozen;
    for (int k = 0; k < 3; k++) theirs[k]->update = i % 2 ? edf_frozen : NULL;
    Forward();
    Backward(i % 2 ? cheat : critic);
    SGD((edf_real)0.05);
  }
  (void)fake;
  edf_clear();
}
TEST(adversaries_hear_nothing) {
  CAPTURE(adversaries());
  CHECK(!panicked && !strstr(captured, "doctor: "), "%s%s", caught, captured);
}

/* ---- Attention: a mask behind its softmax, and a sum over the wrong index */
static void attention(const char *softmax, const char *sum) {
  edf_real data[BATCH * 6 * 3];
  edf_seed(1);
  for (size_t i = 0; i < sizeof data / sizeof *data; i++) data[i] = edf_normal(0, 1);
  edf_input("x[b,t=6,3]");
  loss = Equations("q[b,t,d] = Wq[d,I] x[b,t,I] | d<4 \n k[b,t,d] = Wk[d,I] x[b,t,I] | d<4 \n"
                   "e[b,t,s] = q[b,t,D] k[b,s,D] \n %s \n %s \n"
                   "loss[b,t] = (w[I] z[b,t,I] - x[b,t,0])^2", softmax, sum);
  for (int i = 0; i < edf.n_parameters; i++) edf_init_normal(edf.parameters[i], 0, 1);
  edf_feed(edf_find("x"), data, BATCH);
  edf_check(loss);
  edf_clear();
}
TEST(weights_of_attention_sum_to_one) {
  const char *sum = "z[b,t,i] = a[b,t,S] x[b,S,i]";
  CAPTURE(attention("a[b,t,s] = softmax_s e[b,t,s] | s<=t", sum));
  CHECK(!panicked && !*captured, "%s%s", caught, captured);
  CAPTURE(attention("a[b,t,s] = softmax_s e[b,t,s]", "z[b,t,i] = a[b,t,S] x[b,S,i] | S<=t"));
  harness_words(__FILE__, __LINE__, captured, "a mask stands behind the softmax a|trials.c");
  CAPTURE(attention("a[b,t,s] = softmax_t e[b,t,s]", sum));
  harness_words(__FILE__, __LINE__, captured, "a sum is over another index than the softmax a");
}

/* ---- edf_try */
static int tried;
static void try_at(program p, int steps, double seconds) {
  build(p);
  for (int i = 0; i < steps; i++) {
    feed(p, i, BATCH);
    Forward();
    Backward(loss);
    AdamDefault((edf_real)0.01);
  }
  if (!steps) feed(p, 0, BATCH);
  tried = edf_try_within(loss, seconds);
}
TEST(a_report_has_numbers) {
  CAPTURE(try_at(ADAM, 5, 10));
  CHECK(tried == 0, "%d findings:\n%s", tried, captured);
  harness_words(__FILE__, __LINE__, captured, "edf_try of|present weights|gradient      of 4 Param"
                "eters, greatest error|Adam, 100 steps on this batch alone|0.01  |learns: the prog"
                "ram's rate|labels        of other rows|no finding");
  edf_clear();
}
TEST(what_no_rate_learns_has_a_cause) {
  CAPTURE(try_at(DEAD, 0, 10));
  CHECK(tried == 1, "%d findings:\n%s", tried, captured);
  harness_words(__FILE__, __LINE__, captured, "100 % of the units of h are dead|left out      the"
                " optimiser of the program: Adam|moved ");
  edf_clear();
  CAPTURE(try_at(WRONG_BACKWARD, 1, 10));
  CHECK(tried == 1, "%d findings:\n%s", tried, captured);
  harness_words(__FILE__, __LINE__, captured, "is 1.5 times the derivative of the loss|edf_gradchec"
                "k|not put back  static variables in the code of Scale2");
  edf_clear();
}
static void try_with_own_parts(void) {
  edf_real eta = (edf_real)0.001;
  build(UPDATE);
  feed(UPDATE, 0, BATCH);
  edf_input("spare[3]");
  edf_feed(edf_find("spare"), ys, 1);
  edf.after_backward = nothing;
  Forward();
  Backward(loss);
  edf_step(&sign_rule, &eta);
  tried = edf_try(loss);
  edf.after_backward = NULL;
  CHECK(first.w->update == own_update, "the update function is lost");
}
TEST(a_report_says_what_is_left_out) {
  CAPTURE(try_with_own_parts());
  harness_words(__FILE__, __LINE__, captured, "the optimiser of the program, Sign: Adam|edf.after_"
                "backward|update function of w1|never used    spare");
  edf_clear();
}
TEST(a_limit_of_time_is_kept) {
  clock_t begin = clock();
  CAPTURE(try_at(ADAM, 2, 0.001));
  harness_words(__FILE__, __LINE__, captured, "Adam, 5 steps on this batch alone");
  double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
  CHECK(seconds < 2, "%g s", seconds);
  edf_clear();
}

/* All that a program can see of its graph. */
static edf_real before[20000];
static size_t state(edf_real *to) {
  size_t n = 0;
  for (int i = 0; i < edf.n_parameters + edf.n_compnodes; i++) {
    int k = i - edf.n_parameters;
    edf_node *p = k < 0 ? edf.parameters[i] : edf.compnodes[k];
    edf_real *all[] = { p->value, p->grad, p->m, p->s };
    if (p->size > 2500) continue;
    for (int a = 0; a < 4; a++)
      for (size_t j = 0; all[a] && j < p->size; j++) to[n++] = all[a][j];
    to[n++] = (edf_real)p->steps;
  }
  to[n++] = (edf_real)edf.draws;
  to[n++] = (edf_real)edf.feeds;
  return n;
}
TEST(an_experiment_changes_nothing) {
  static const program all[] = { ADAM, DROPOUT, NORM, FROZEN, RANDOM_LABELS };
  static edf_real after[sizeof before / sizeof *before];
  for (int k = 0; k < 5; k++) {
    CAPTURE(try_at(all[k], 3, 1));
    feed(all[k], 3, BATCH);
    Forward();
    Backward(loss);
    size_t n = state(before), m;
    const edf_real *data = x->value, *labels = y->value;
    CAPTURE(tried = edf_try_within(loss, 1));
    m = state(after);
    CHECK(n == m && !memcmp(before, after, n * sizeof *after), "program %d: other numbers", k);
    CHECK(x->value == data && y->value == labels, "program %d: another batch", k);
    CHECK(edf.rule == &edf_adam_rule && edf.numbers[0] == (edf_real)0.01, "another rule");
    AdamDefault((edf_real)0.01);                 /* still possible */
    edf_clear();
  }
}

/* With an experiment after 300 steps, too. */
TEST(the_weights_are_the_same_bits_without_a_doctor) {
  static edf_real with[sizeof weights / sizeof *weights];
  static const program all[] = { DROPOUT, NORM, RANDOM_LABELS, SMALL_RATE };
  for (int k = 0; k < 4; k++) {
    CAPTURE(train(all[k], 330));
    memcpy(with, weights, sizeof weights);
    CHECK(k < 2 || strstr(captured, "edf_try"), "program %d: no experiment", k);
    without_doctor = 1;
    CAPTURE(train(all[k], 330));
    without_doctor = 0;
    CHECK(!memcmp(with, weights, sizeof weights), "program %d: other weights", k);
  }
}

int main(void) { return harness_main(); }
