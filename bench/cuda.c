/* cuda.c - times a training step on the GPU, and its matrix products. cuda.sh runs it.

     cuda [--quick] [MODEL ...]             EDF_PRECISION=tf32 cuda gpt

   A step is feed, Forward, Backward and the optimiser. The batches rotate through a random data
   set. A step is measured in two ways:
     fed        The data is in host memory. Every step copies a batch to the GPU.
     resident   The data is a Parameter on the GPU. A step chooses rows by number.
   The floor is the time of the step's matrix products: cuBLAS calls of the same shapes in one
   CUDA graph (cuda_floor.cu). A step would take this time if all else took none.

   After 10 steps to warm up, the program measures 15 repetitions by the wall clock. It prints
   their median. A repetition takes 50 ms and ends with one wait, edf_value(loss). Each model is
   one line:

     bench cuda mlp_a precision=fp32 batch=64 parameters=50890 fed_us=- resident_us=- ...

   With the stand-in of tests/cuda/shim the program prints counts of a step instead of times:
   operations, copies to the device and their bytes, and waits of the host. On a GPU the counts
   are "-". --quick tests the program with small batches and layers and few steps. */

#define _POSIX_C_SOURCE 199309L                              /* declares clock_gettime */
#define EDF_IMPLEMENTATION
#include "../edf/data.h"
#include "../edf/slide.h"
#include "../edf/layers.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef edf_real real;

enum { PIXELS = 784, CLASSES = 10, MAX_LAYERS = 3 };
enum { ROTATE = 8, WARM = 10, REPEATS = 15, MOST_STEPS = 1 << 20 };
static const double ENOUGH = 50e3;                           /* microseconds */
static int quick, brief;                                     /* brief: only a few steps */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static real *reals(size_t n) {
  real *p = (real *)calloc(n, sizeof *p);
  if (!p) { fprintf(stderr, "bench: no memory for %zu numbers\n", n); exit(1); }
  return p;
}

static unsigned random_bits(void) {
  static unsigned long long state = 1;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 40);                            /* 24 bits */
}

/* A function of the stand-in. On a GPU it is NULL. */
#if defined __GNUC__ && defined __ELF__
extern long long cudashim_count(const char *name) __attribute__((weak));
#else
static long long (*const cudashim_count)(const char *name) = NULL;
#endif

#include "products.h"
#include "models.h"

/* ---- Models */
typedef struct {
  const char *name;
  int batch, small;                                          /* small: the batch with --quick */
  edf_node *(*loss)(edf_node *x, edf_node *y);
  products (*of_a_step)(int batch);
  void (*update)(void);
  int layers, width[MAX_LAYERS + 1];                         /* only for an MLP */
} model;

static const model *mlp;                                     /* the model that is built */

static void be_quick(void) {
  quick = 1;
  sizes.times = 6;
  sizes.hidden = sizes.wide = 16;
  sizes.layers = 1;
}

static int width(int l) { return quick && l && l < mlp->layers ? 32 : mlp->width[l]; }

static edf_node *mlp_loss(edf_node *x, edf_node *y) {
  for (int l = 0; l < mlp->layers; l++) {
    x = edf_affine(edf_affine_params(width(l), width(l + 1)), x);
    if (l + 1 < mlp->layers) x = edf_relu(x);
  }
  return edf_softmax_log_loss(x, y);
}

static products mlp_products(int batch) {
  products p = { 0 };
  for (int l = 0; l < mlp->layers; l++) add_forward(&p, batch, width(l + 1), width(l));
  for (int l = mlp->layers; l-- > 0;) add_backward(&p, batch, width(l + 1), width(l), l > 0);
  return p;
}

static void update_sgd(void) { edf_sgd((real)0.01); }

/* Updates a bias or a gain by Adam, which has no weight decay, as in example 07. */
static void adam(edf_node *p, real eta) {
  edf_real c[] = { eta, (real)0.9, (real)0.99, (real)1e-8, 0 };
  edf_update(p, &edf_adam_rule, c);
}

static edf_node *gpt07_loss(edf_node *x, edf_node *y) {
  edf_node *loss = gpt_loss(x, y);
  for (int i = 0; i < edf.n_parameters; i++)
    if (edf.parameters[i]->rank == 1) edf.parameters[i]->update = adam;
  return loss;
}

static const model models[] = {
  { "mlp_a", 64, 4, mlp_loss, mlp_products, update_sgd, 2, { PIXELS, 64, CLASSES, 0 } },
  { "mlp_b", 128, 4, mlp_loss, mlp_products, update_sgd, 3, { PIXELS, 512, 512, CLASSES } },
  { "wide_1024", 1024, 4, mlp_loss, mlp_products, update_sgd, 3,
    { PIXELS, 4096, 4096, CLASSES } },
  { "wide_8192", 8192, 8, mlp_loss, mlp_products, update_sgd, 3,
    { PIXELS, 4096, 4096, CLASSES } },
  { "lenet", 64, 2, lenet_loss, lenet_products, update_momentum, 0, { 0 } },
  { "lstm", LSTM_BATCH, 1, lstm_loss, lstm_products, update_adam, 0, { 0 } },
  { "gpt", GPT_BATCH, 1, gpt07_loss, gpt_products, update_adamw, 0, { 0 } },
};
enum { MODELS = sizeof models / sizeof *models };

static int batch_of(const model *m) { return quick ? m->small : m->batch; }
static int is_text(const model *m) { return m->loss == lstm_loss || m->loss == gpt07_loss; }

/* ---- Data: ROTATE batches, and the numbers of their rows in random order. */
static struct { edf_array x, y; real *rows; } data;

static edf_array array(int rows, int columns) {              /* [rows] if columns is 0 */
  edf_array a = { columns ? 2 : 1, { rows, columns }, (size_t)rows, NULL };
  if (columns) a.size *= (size_t)columns;
  a.value = reals(a.size);
  return a;
}

static void make_data(const model *m) {
  int text = is_text(m), rows = ROTATE * batch_of(m);
  data.x = array(rows, text ? sizes.times : PIXELS);
  data.y = array(rows, text ? sizes.times : 0);
  data.rows = reals((size_t)rows);
  for (size_t i = 0; i < data.x.size; i++)
    data.x.value[i] = text ? (real)(random_bits() % LETTERS)
                           : (real)random_bits() / (1 << 24) - (real)0.5;
  for (size_t i = 0; i < data.y.size; i++)
    data.y.value[i] = (real)(random_bits() % (text ? LETTERS : CLASSES));
  for (int i = 0, k; i < rows; i++) {                        /* row number i goes to k */
    k = (int)(random_bits() % (unsigned)(i + 1));
    data.rows[i] = data.rows[k];
    data.rows[k] = (real)i;
  }
}

static void free_data(void) {
  edf_free_array(&data.x);
  edf_free_array(&data.y);
  free(data.rows);
}

/* ---- Training */
typedef struct {
  const model *is;
  edf_node *x, *y, *rows, *loss;                             /* Inputs are x and y, or rows. */
  int batch, at;
} training;

/* Returns a frozen Parameter with the rows of an array. */
static edf_node *kept(edf_array a) {
  edf_node *p = edf_parameter("data[%d,%d]", a.dim[0], a.rank > 1 ? a.dim[1] : 1);
  memcpy(p->value, a.value, p->size * sizeof *p->value);
  edf_push(p);
  p->update = edf_frozen;
  return p;
}

static training begin(const model *m, int resident) {
  training t = { m, NULL, NULL, NULL, NULL, batch_of(m), 0 };
  edf_clear();
  edf_seed(1);
  mlp = m;
  if (resident) {
    t.rows = edf_input("rows[b]");
    t.x = edf_embed(kept(data.x), t.rows);
    t.y = edf_embed(kept(data.y), t.rows);
    if (!is_text(m)) t.y = edf_einsum("y[b] = Y[b,0]", t.y);
  } else {
    t.x = edf_input("x[b,%d]", data.x.dim[1]);
    t.y = is_text(m) ? edf_input("y[b,%d]", sizes.times) : edf_input("y[b]");
  }
  t.loss = m->loss(t.x, t.y);
  return t;
}

static void one_step(training *t) {
  size_t row = (size_t)(t->at++ % ROTATE) * (size_t)t->batch;
  if (t->rows) edf_feed(t->rows, data.rows + row, t->batch);
  else {
    edf_feed(t->x, data.x.value + row * (size_t)data.x.dim[1], t->batch);
    edf_feed(t->y, data.y.value + row * (data.y.size / (size_t)data.y.dim[0]), t->batch);
  }
  edf_forward();
  edf_backward(t->loss);
  t->is->update();
}

static void train(void *self, int steps) {
  training *t = (training *)self;
  for (int i = 0; i < steps; i++) one_step(t);
  if (isfinite(edf_value(t->loss)[0])) return;
  fprintf(stderr, "bench: the loss of %s is not a number\n", t->is->name);
  exit(1);
}

/* ---- The floor. Independent calls become one large product if their operands are adjacent.
   So all images of a batch are one product, and a sum over images is one product. */
void floor_add(int turns, int batch, int ta, int tb, int m, int n, int k, int shared);
void floor_record(void);
void floor_run(int steps);
void floor_free(void);

static void add_to_floor(product_call c) {
  int in_turn = c.share & IN_TURN, shared = c.share & ~IN_TURN;
  if (!in_turn && shared == SHARE_B && !c.ta) { c.m *= c.calls; c.calls = 1; }
  if (!in_turn && shared == SHARE_C && c.ta && !c.tb) { c.k *= c.calls; c.calls = 1; }
  floor_add(in_turn ? c.calls : 1, in_turn ? 1 : c.calls, c.ta, c.tb, c.m, c.n, c.k, shared);
}

static void begin_floor(const model *m) {
  mlp = m;
  products p = m->of_a_step(batch_of(m));
  for (int i = 0; i < p.n; i++) add_to_floor(p.call[i]);
  floor_record();
}

static void floor_steps(void *self, int steps) { (void)self; floor_run(steps); }

/* ---- Times */
typedef struct { double q1, median, q3; int steps; } summary;
typedef void (*runner)(void *self, int steps);               /* runs steps and waits */

static int compare_doubles(const void *a, const void *b) {
  double d = *(const double *)a - *(const double *)b;
  return (d > 0) - (d < 0);
}

static double microseconds(runner run, void *self, int steps) {
  double start = now();
  run(self, steps);
  return now() - start;
}

static int steps_for(runner run, void *self) {
  int steps = 1;
  double us = 0;
  if (brief) return 1;
  while (steps < MOST_STEPS && (us = microseconds(run, self, steps)) < ENOUGH / 2) steps *= 2;
  double enough = ceil(ENOUGH / us * steps);
  return enough < 1 ? 1 : (int)enough;
}

static summary measure(runner run, void *self) {
  double us[REPEATS];
  int repeats = brief ? 1 : REPEATS;
  run(self, brief ? 3 : WARM);
  summary s = { 0, 0, 0, steps_for(run, self) };
  for (int i = 0; i < repeats; i++) us[i] = microseconds(run, self, s.steps) / s.steps;
  qsort(us, (size_t)repeats, sizeof *us, compare_doubles);
  s.q1 = us[repeats / 4];
  s.median = us[repeats / 2];
  s.q3 = us[3 * repeats / 4];
  return s;
}

/* ---- The counts of the stand-in */
enum { OPERATIONS, COPIES, BYTES, WAITS, COUNTS };
typedef struct { long long n[COUNTS]; } counted;

static counted count(training *t, int steps) {
  static const char *const what[COUNTS] = { "ops", "copies_h2d", "bytes_h2d", "syncs" };
  counted c = { { 0 } };
  for (int k = 0; k < COUNTS; k++) c.n[k] = -cudashim_count(what[k]);
  train(t, steps);
  for (int k = 0; k < COUNTS; k++) c.n[k] += cudashim_count(what[k]);
  return c;
}

/* Counts one step: two steps minus one step, so that the wait at the end is not counted. */
static counted count_step(training *t) {
  counted c = { { -1, -1, -1, -1 } };
  if (!cudashim_count) return c;
  counted one = count(t, 1), two = count(t, 2);
  for (int k = 0; k < COUNTS; k++) c.n[k] = two.n[k] - one.n[k];
  return c;
}

/* ---- The program */
static void print_time(const char *what, summary s) {
  if (cudashim_count) printf(" %s_us=- %s_q1=- %s_q3=-", what, what, what);
  else printf(" %s_us=%.2f %s_q1=%.2f %s_q3=%.2f", what, s.median, what, s.q1, what, s.q3);
}

static void print_counts(const char *what, counted c) {
  static const char *const names[COUNTS] = { "ops", "copies", "bytes", "waits" };
  for (int k = 0; k < COUNTS; k++)
    if (c.n[k] < 0) printf(" %s_%s=-", what, names[k]);
    else printf(" %s_%s=%lld", what, names[k], c.n[k]);
}

static void print_line(const model *m, const summary *time, const counted *counts) {
  static const char *const what[3] = { "fed", "resident", "floor" };
  const char *precision = getenv("EDF_PRECISION");
  size_t parameters = 0;
  for (int i = 0; i < edf.n_parameters; i++)     /* A frozen Parameter is the data set. */
    if (edf.parameters[i]->update != edf_frozen) parameters += edf.parameters[i]->size;
  printf("bench cuda %s precision=%s batch=%d parameters=%zu", m->name,
         precision && *precision ? precision : "fp32", batch_of(m), parameters);
  for (int k = 0; k < 3; k++) print_time(what[k], time[k]);
  for (int k = 0; k < 2; k++) print_counts(what[k], counts[k]);
  printf(" steps=%d\n", time[0].steps);
  fflush(stdout);
}

static void bench(const model *m) {
  summary time[3];
  counted counts[2];
  make_data(m);
  for (int resident = 0; resident < 2; resident++) {
    training t = begin(m, resident);
    time[resident] = measure(train, &t);
    counts[resident] = count_step(&t);
  }
  begin_floor(m);
  time[2] = measure(floor_steps, NULL);
  floor_free();
  print_line(m, time, counts);
  edf_clear();
  free_data();
}

static int find_model(const char *name) {
  for (int i = 0; i < MODELS; i++)
    if (strcmp(models[i].name, name) == 0) return i;
  fprintf(stderr, "bench: no model \"%s\"; there are", name);
  for (int i = 0; i < MODELS; i++) fprintf(stderr, " %s", models[i].name);
  fprintf(stderr, "\n");
  exit(2);
}

void edf_cuda_close(void);

int main(int argc, char **argv) {
  int chosen[MODELS] = { 0 }, all = 1;
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], "--quick") == 0) be_quick();
    else { chosen[find_model(argv[i])] = 1; all = 0; }
  brief = quick || cudashim_count;
  edf_input("x");                                            /* opens the GPU */
  if (!edf_device) printf("skip bench cuda: there is no GPU here\n");
  for (int i = 0; edf_device && i < MODELS; i++)
    if (all || chosen[i]) bench(&models[i]);
  edf_clear();
  edf_cuda_close();
  return 0;
}
