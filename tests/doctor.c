/* doctor.c - programs with one mistake each: the doctor names that mistake first. Healthy
   programs hear nothing, and train to the same bits with the doctor and without.

   Variants: float */

#include "harness.h"
#include "edf/slide.h"
#include "edf/layers.h"
#include "edf/lab.h"

enum { BATCH = 64, PIXELS = 81, IMAGES = 4000, STEPS = 310, HIDDEN = 40 };

/* ---- Images of ten classes: a pattern of ink for each, of which an image has some wrong. */

static unsigned noise(unsigned long long n) {
  n = (n + 1) * 0x9E3779B97F4A7C15ull;
  n = (n ^ n >> 30) * 0xBF58476D1CE4E5B9ull;
  n = (n ^ n >> 27) * 0x94D049BB133111EBull;
  return (unsigned)(n >> 33);
}

static int label_of(int image, int sorted) {
  return sorted ? image * 10 / IMAGES : (int)(noise((unsigned)image) % 10);
}

static void draw(edf_real *to, int image, int label) {
  for (int i = 0; i < PIXELS; i++) {
    unsigned n = noise(100000ull + (unsigned long long)(image * PIXELS + i));
    int ink = noise(90000ull + (unsigned long long)(label * PIXELS + i)) % 4 == 0;
    ink ^= n % 6 == 0;
    to[i] = (edf_real)(ink ? 0.5 + n % 1000 / 2000.0 : 0);
  }
}

/* ---- A program with a switch for each mistake. A number that is 0 has its usual value. */

enum { RELU, SIGMOID, TANH };
enum { LOG_LOSS, SCORES_LOSS };
enum { SOFTMAX, OVER_BATCH, TWICE };
enum { SGD_STEP, MOMENTUM, ADAM, NO_STEP };

typedef struct {
  int bend, loss, softmax, optimiser, depth;
  double init, threshold, eta, scale;
  int zero, equal, log, norm, dropout, spare, w1_idle, w1_frozen;
  int sorted, alike, nan;
  int accumulate, tested;
} program;

static program now;
static double usual(double number, double standard) { return number != 0 ? number : standard; }

static void does_nothing(Parameter *p, edf_real eta) { (void)p, (void)eta; }

static edf_node *bent(edf_node *x) {
  if (now.bend == SIGMOID) return edf_sigmoid(x);
  if (now.bend == TANH) return edf_tanh(x);
  return edf_relu(x);
}

static edf_node *loss_of(edf_node *s, edf_node *y) {
  if (now.loss == SCORES_LOSS) return edf_softmax_log_loss(s, y);
  edf_name(s, "s");
  edf_node *P = now.softmax == OVER_BATCH ? edf_equations("P[b,k] = softmax_b s[b,k]")
              : edf_softmax(s);
  if (now.softmax == TWICE) P = edf_softmax(P);
  return edf_log_loss(P, y);
}

typedef struct { edf_node *x, *y, *loss; edf_affine_package first, last; } network;

static network build(void) {
  network net;
  int hidden = HIDDEN, classes = 10;
  net.x = edf_input_at("hw1.c", 1, "x[b,%d]", PIXELS);
  net.y = edf_input_at("hw1.c", 2, "y[b]");
  net.first = edf_affine_params(PIXELS, hidden);
  net.last = edf_affine_params(hidden, classes);
  edf_real *w = net.first.w->value, *v = net.last.w->value, *b = net.first.b->value;
  edf_real factor = (edf_real)(now.zero ? 0 : usual(now.init, 1));
  for (size_t i = 0; i < net.first.w->size; i++) w[i] *= factor;
  for (size_t i = 0; i < net.last.w->size; i++) v[i] *= factor;
  for (int j = 0; j < hidden; j++) b[j] = (edf_real)now.threshold;
  for (int i = 0; now.equal && i < PIXELS * hidden; i++) w[i] = w[i - i % hidden];
  for (int j = 0; now.equal && j < hidden * classes; j++) v[j] = (edf_real)(j % classes) / 100;
  if (now.w1_idle) net.first.w->update = does_nothing;
  if (now.w1_frozen) net.first.w->update = edf_frozen;
  edf_node *h = bent(edf_affine(net.first, net.x));
  for (int k = 0; k < now.depth; k++)
    h = bent(edf_affine(edf_affine_params(hidden, hidden), h));
  if (now.log) h = Log(h);
  if (now.norm) h = edf_batch_norm(edf_batch_norm_params(hidden), h);
  if (now.dropout) h = edf_dropout(h, 0.3);
  net.loss = loss_of(edf_affine(net.last, h), net.y);
  if (now.spare) edf_relu(edf_affine(edf_affine_params(hidden, 3), h));
  edf.accumulate = now.accumulate != 0;
  return net;
}

static void feed_batch(const network *net, int first, int step) {
  static edf_real xs[BATCH * PIXELS], ys[BATCH];
  for (int b = 0; b < BATCH; b++) {
    int image = (first + step * BATCH + b) % IMAGES;
    int from = now.alike ? first : image;
    draw(xs + b * PIXELS, from, label_of(from, now.sorted));
    for (int i = b * PIXELS; i < (b + 1) * PIXELS; i++)
      xs[i] = (edf_real)((double)xs[i] * usual(now.scale, 1));
    if (!edf.training && now.tested == 2) xs[b * PIXELS] = (edf_real)0.25;     /* other rows */
    ys[b] = (edf_real)label_of(image, now.sorted);
  }
  if (now.nan && step == 2) xs[77] = (edf_real)NAN;
  edf_feed(net->x, xs, BATCH);
  edf_feed(net->y, ys, BATCH);
}

static void make_step(void) {
  edf_real eta = (edf_real)usual(now.eta, 0.5);
  if (now.optimiser == SGD_STEP) edf_sgd(eta);
  if (now.optimiser == MOMENTUM) edf_momentum(eta, (edf_real)0.9);
  if (now.optimiser == ADAM) edf_adam(eta, (edf_real)0.9, (edf_real)0.99, (edf_real)1e-8);
}

static void one_step(const network *net, int first, int i) {
  feed_batch(net, first, i);
  edf_forward();
  edf_backward(net->loss);
  if (now.accumulate == 2 && i % 4 != 3) return;
  make_step();
  if (now.accumulate == 2) edf_zero_grad();
  if (!now.tested || i % 100 != 99) return;
  edf.training = now.tested == 3;
  for (int k = 0; k < 4; k++) {
    feed_batch(net, first, k);
    edf_forward();
  }
  edf.training = 1;
}

static edf_real kept[20000];                     /* the parameters after training */
static unsigned long long draws;

/* Trains, and stops at a finding if `once`. What the doctor says is in said[]. */
static char said[8000];
static void train(program p, int seed, int steps, int with_doctor, int once) {
  size_t n = 0, length = 0;
  now = p;
  said[0] = '\0';
  edf_seed((unsigned)seed);
  network net = build();
  if (with_doctor) edf_doctor(net.loss);
  for (int i = 0; i < steps && !(once && said[0]); i++) {
    CAPTURE(one_step(&net, seed * 977, i));
    length += (size_t)snprintf(said + length, sizeof said - length, "%s", captured);
    if (panicked) break;
  }
  memset(kept, 0, sizeof kept);
  for (int i = 0; i < edf.n_parameters; n += edf.parameters[i++]->size)
    memcpy(kept + n, edf.parameters[i]->value, edf.parameters[i]->size * sizeof *kept);
  draws = edf.draws;
  edf_clear();
  edf.accumulate = 0;
  edf.training = 1;
}

/* ---- The mistakes, and the first finding */

static const struct { const char *name, *words; program p; } faults[] = {
  { "stale gradients", "still holds that of the last step", { .accumulate = 1 } },
  { "w1 is not moved", "parameter w1 has a gradient, but never moves", { .w1_idle = 1 } },
  { "softmax over the batch", "does not sum to 1 over the last index",
    { .softmax = OVER_BATCH } },
  { "two softmaxes", "softmax twice", { .softmax = TWICE } },
  { "sorted data", "not shuffled", { .sorted = 1 } },
  { "the same row", "rows of the input are the same", { .alike = 1 } },
  { "eta of 20", "the step is too large", { .eta = 20 } },
  { "eta below 0", "along the gradient, up", { .eta = -0.5 } },
  { "thresholds of 10", "are dead, 0 for every row", { .threshold = 10 } },
  { "sigmoids of 100 x", "are saturated at the start", { .bend = SIGMOID, .init = 100 } },
  { "weights of 0", "is all zero", { .zero = 1 } },
  { "equal units", "begins with equal units", { .equal = 1 } },
  { "raw images", "inputs look like 0...255", { .scale = 255 } },
  { "NaN in the data", "are NaN or infinite", { .nan = 1 } },
  { "logarithm of 0", "has become NaN or infinite", { .log = 1 } },
  { "no optimiser", "no parameter has ever moved", { .optimiser = NO_STEP } },
  { "an unused parameter", "is never used by the loss", { .spare = 1 } },
  { "dropout in tests", "evaluated as in training", { .tested = 3, .dropout = 1 } }
};
enum { FAULTS = sizeof faults / sizeof *faults };

/* The first finding, or "". */
static const char *headline(void) {
  static char line[200];
  const char *at = strstr(said, "doctor: step ");
  snprintf(line, sizeof line, "%.*s", at ? (int)strcspn(at, "\n") : 0, at ? at : "");
  return line;
}

TEST(each_mistake_is_named_first) {
  for (int k = 0; k < FAULTS; k++) {
    train(faults[k].p, 1, STEPS, 1, 1);
    CHECK(strstr(headline(), faults[k].words), "%s: %s", faults[k].name,
          *said ? said : "nothing was found");
  }
}

/* ---- Healthy programs */

static const program healthy[] = {
  { .bend = RELU }, { .bend = SIGMOID }, { .bend = TANH, .loss = SCORES_LOSS },
  { .eta = 0.01 }, { .w1_frozen = 1 },
  { .bend = TANH, .dropout = 1 }, { .depth = 2, .eta = 0.1 }, { .norm = 1 },
  { .optimiser = MOMENTUM, .eta = 0.05 }, { .optimiser = ADAM, .eta = 0.003 },
  { .accumulate = 2, .eta = 0.1 }, { .tested = 2, .dropout = 1, .eta = 0.2 }
};
enum { HEALTHY = sizeof healthy / sizeof *healthy };

TEST(healthy_programs_hear_nothing) {
  for (int k = 0; k < HEALTHY; k++) {
    train(healthy[k], 3, STEPS, 1, 0);
    CHECK(!*said, "program %d: %s", k, said);
  }
}

TEST(the_doctor_changes_no_bit) {
  static edf_real without[sizeof kept / sizeof *kept];
  for (int k = 0; k < HEALTHY + FAULTS; k++) {
    program p = k < HEALTHY ? healthy[k] : faults[k - HEALTHY].p;
    train(p, 4, 12, 0, 0);
    unsigned long long before = draws;
    memcpy(without, kept, sizeof kept);
    train(p, 4, 12, 1, 0);
    CHECK(!memcmp(without, kept, sizeof kept), "program %d: other parameters", k);
    CHECK(draws == before, "program %d: %llu draws, not %llu", k, draws, before);
  }
}

/* The doctor begins in a Backward that runs step by step, and nodes are added between steps. */
static void add_nodes(void) {
  edf_real data[2] = { 1, 2 };
  edf_node *x = edf_input("x[b]"), *w = edf_parameter("w");
  edf_node *y = Mean(Square(Sub(Mul(x, w), edf_input("y"))));
  edf_feed(x, data, 2);
  edf_feed(edf.inputs[1], data, 1);
  Forward();
  edf_step_backward();
  edf_doctor(y);
  while (edf_step_backward()) continue;
  for (int k = 0; k < 60; k++) {
    edf_feed(edf_input("more%d", k), data, 1);
    edf_parameter("w%d[2]", k);
    edf_real before = *w->value;
    SGD((edf_real)0.01);
    CHECK(*w->value != before, "step %d moves nothing", k);
    Forward();
    Backward(y);
  }
}
TEST(nodes_are_added_while_the_doctor_watches) {
  CAPTURE(add_nodes());
  CHECK(!panicked && strstr(captured, "the parameter w0 is never used"), "%s %s", caught,
        captured);
}

TEST(a_wrong_loss_is_refused) {
  STOPS(edf_doctor(NULL), "edf_doctor|NULL");
  STOPS(edf_doctor(edf_input_at("hw1.c", 1, "x[b,2]")), "Input|\"x\"|hw1.c:1|CompNode");
}

int main(void) { return harness_main(); }
