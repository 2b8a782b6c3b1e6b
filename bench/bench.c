/* bench.c - compares the time of a training step with the time of its matrix products.

     bench [MODEL ...]            times all models, or some of them
     bench profile [MODEL ...]    times each node of a step
     bench step MODEL             times our step, a turn for each line of input: see against.sh
     bench wall MODEL             the same by the wall clock, with all threads: see peers.py

   mlp_a, mlp_b    our step (feed, Forward, Backward, SGD), the gemm calls of the step on our
                   arrays, and the same step written by hand
   lenet, lstm, gpt    the models of examples 05, 06 and 07, and the products of a step on
                   operands of their own (products.h)
   mlp_wide, gpt_wide, gpt_long    larger models, for profile, step and wall: 784-2048-2048-10
                   with batch 512; a GPT of 6 layers of 256, with 128 letters and batch 16, and
                   with 512 letters and batch 4
   mlp_a_row, lenet_row    Forward of one row, for step and wall
   lines           these three models as texts of edf_equations (lines.h) over their layers. The
                   median ratio should be at most 1.03. Also the time to build the GPT's text
   threads         mlp_b, lenet, lstm and gpt with two threads over one thread, by the wall
                   clock. It needs OpenMP
   shapes          products of many shapes: the built-in kernel and the BLAS
   scale           the cost of a step by the batch and the width of mlp_b, and by the length of
                   the text of the LSTM and the GPT, over the peak of the core
   mlp_a_builtin   our step without a BLAS, and with a BLAS
   gemm512         the built-in kernel and the BLAS at 512 x 512 x 512

   The contestants take turns of about 10 ms, and use the same rows of one data set in memory. A
   ratio is the median over the turns, and q1 and q3 are its quartiles. Time is the CPU time of
   the thread, because other programs disturb it less. So the BLAS must run in one thread too:
   OPENBLAS_NUM_THREADS=1. */

#define _POSIX_C_SOURCE 199309L                              /* declares clock_gettime */
#define EDF_IMPLEMENTATION
#include "../edf/slide.h"
#include "../edf/layers.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef edf_real real;

enum { ROWS = 60000, PIXELS = 784, CLASSES = 10, MAX_LAYERS = 3 };
enum { MAX_TURNS = 301, MAX_SAMPLES = 1000 };

static double microseconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Returns the CPU time of the thread. */
static double thread_time(void) { return microseconds(CLOCK_THREAD_CPUTIME_ID); }
/* Returns the wall clock. It is faster to read, so it times short pieces. */
static double now(void) { return microseconds(CLOCK_MONOTONIC); }

static real *reals(size_t n) {
  real *p = (real *)calloc(n, sizeof *p);
  if (!p) { fprintf(stderr, "bench: no memory for %zu numbers\n", n); exit(1); }
  return p;
}

/* ---- Data: images as sparse as written digits, with classes that a network can learn. One
   label in ten is random. So the loss stays above 0, and no number becomes denormal. */
static real *images, *labels;

static unsigned random_bits(void) {
  static unsigned long long state = 1;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 40);                            /* 24 bits */
}

static void make_data(void) {
  images = reals((size_t)ROWS * PIXELS);
  labels = reals(ROWS);
  for (size_t r = 0; r < ROWS; r++) {
    unsigned k = random_bits() % CLASSES;
    labels[r] = (real)(random_bits() % 10 ? k : random_bits() % CLASSES);
    for (unsigned i = 0; i < PIXELS; i++) {
      unsigned u = random_bits(), often = i * 5 / 7 % CLASSES == k ? 2 : 6;
      images[r * PIXELS + i] = (u >> 8) % often ? 0 : (real)(u & 255) / 255;
    }
  }
}

/* ---- Contestants take turns. */
typedef struct {
  void (*step)(void *self, const real *x, const real *y);
  void *self;
  size_t at;                                                 /* the next row to train on */
  double us[MAX_TURNS];                                      /* time of a step, turn by turn */
} contestant;

static void run_steps(contestant *c, int steps, int batch) {
  for (int i = 0; i < steps; i++) {
    if (c->at + (size_t)batch > ROWS) c->at = 0;
    c->step(c->self, images + c->at * PIXELS, labels + c->at);
    c->at += (size_t)batch;
  }
}

static int steps_per_turn(contestant *c, int batch, double (*clock)(void)) {
  run_steps(c, 2, batch);
  double start = clock();
  run_steps(c, 3, batch);
  double steps = 10e3 / ((clock() - start) / 3);
  return steps < 1 ? 1 : (int)steps;
}

/* Times the steps of n contestants, in turns. Each turn begins with one untimed step, which
   brings its operands into the caches. */
static double longest = 7e6;                                 /* microseconds of all turns */
static int fewest = 31;                                      /* the least number of turns */
static int take_turns_by(double (*clock)(void), contestant *c, int n, int batch) {
  int steps = steps_per_turn(&c[0], batch, clock), turns;
  double begin = now();
  for (turns = 0; turns < MAX_TURNS && (turns < fewest || now() - begin < longest); turns++)
    for (int k = 0; k < n; k++) {
      contestant *me = &c[(turns + k) % n];
      run_steps(me, 1, batch);
      double start = clock();
      run_steps(me, steps, batch);
      me->us[turns] = (clock() - start) / steps;
    }
  return turns;
}

static int take_turns(contestant *c, int n, int batch) {
  return take_turns_by(thread_time, c, n, batch);
}

/* ---- Medians */
typedef struct { double q1, median, q3; } summary;

static int compare_doubles(const void *a, const void *b) {
  double d = *(const double *)a - *(const double *)b;
  return (d > 0) - (d < 0);
}

static summary summarise(const double *x, int n) {
  static double sorted[MAX_SAMPLES];
  memcpy(sorted, x, (size_t)n * sizeof *x);
  qsort(sorted, (size_t)n, sizeof *sorted, compare_doubles);
  summary s = { sorted[n / 4], sorted[n / 2], sorted[(3 * n) / 4] };
  return s;
}

static summary ratios(const contestant *a, const contestant *b, int n) {
  double x[MAX_TURNS];
  for (int i = 0; i < n; i++) x[i] = a->us[i] / b->us[i];
  return summarise(x, n);
}

static double median_us(const contestant *c, int n) { return summarise(c->us, n).median; }

#ifdef EDF_CBLAS
enum { WITH_BLAS = 1 };
#else
enum { WITH_BLAS = 0 };
#endif

/* Prints the time of the first contestant. With a BLAS it adds the second and the ratio. */
static void report(const char *model, const char *first, const char *second,
                   const contestant *c, int n) {
  printf("bench %s %s_us=%.1f", model, first, median_us(&c[0], n));
  if (!WITH_BLAS) return;
  summary r = ratios(&c[0], &c[1], n);
  printf(" %s_us=%.1f ratio=%.3f q1=%.3f q3=%.3f turns=%d", second, median_us(&c[1], n),
         r.median, r.q1, r.q3, n);
}

#include "peak.h"
static real peak_number = (real)1e-3;
#define PEAK { peak_step, &peak_number, 0, { 0 } }

/* Prints the peak of the core, and the share of it that the first contestant reaches. */
static void report_share(const contestant *first, const contestant *peak, int n,
                         double multiply_adds) {
  double at_peak = peak_gflops(median_us(peak, n));
  printf(" peak_gflops=%.0f share=%.2f", at_peak,
         2e-3 * multiply_adds / median_us(first, n) / at_peak);
}

/* ---- Models */
typedef struct {
  const char *name;
  int relu, batch, layers, width[MAX_LAYERS + 1];
  real eta;
} spec;

static const spec mlp_a = { "mlp_a", 0, 64, 2, { PIXELS, 64, CLASSES, 0 }, (real)0.5 };
static const spec mlp_b = { "mlp_b", 1, 128, 3, { PIXELS, 512, 512, CLASSES }, (real)0.05 };

static const spec mlp_wide = { "mlp_wide", 1, 512, 3, { PIXELS, 2048, 2048, CLASSES },
                               (real)0.05 };

/* ---- Ours */
typedef struct {
  const spec *is;
  int kernel;
  edf_node *x, *y, *loss, *score[MAX_LAYERS], *output[MAX_LAYERS];
  edf_affine_package layer[MAX_LAYERS];
} net;

static net build(const spec *is) {
  net m;
  edf_clear();
  edf_seed(1);
  m.is = is;
  m.kernel = EDF_FASTEST;
  m.x = edf_input("x[b,%d]", is->width[0]);
  m.y = edf_input("y[b]");
  for (int l = 0; l < is->layers; l++) {
    m.layer[l] = edf_affine_params(is->width[l], is->width[l + 1]);
    m.score[l] = edf_affine(m.layer[l], l ? m.output[l - 1] : m.x);
    m.output[l] = l + 1 == is->layers ? edf_softmax(m.score[l])
                  : is->relu ? edf_relu(m.score[l]) : edf_sigmoid(m.score[l]);
  }
  m.loss = edf_log_loss(m.output[is->layers - 1], m.y);
  return m;
}

static void our_step(void *self, const real *x, const real *y) {
  net *m = (net *)self;
  edf.kernel = m->kernel;
  edf_feed(m->x, x, m->is->batch);
  edf_feed(m->y, y, m->is->batch);
  edf_forward();
  edf_backward(m->loss);
  edf_sgd(m->is->eta);
}

static double epoch_seconds(const net *m, double us) {
  return us * ((ROWS + m->is->batch - 1) / m->is->batch) / 1e6;
}

/* Returns the multiply-adds of a step's products: s, dW and, after the first layer, dx. */
static double multiply_adds(const spec *is) {
  double n = 0;
  for (int l = 0; l < is->layers; l++)
    n += (double)is->batch * is->width[l] * is->width[l + 1] * (l ? 3 : 2);
  return n;
}

#ifdef EDF_CBLAS
/* ---- The gemm calls of the step, on the arrays of our nodes: for each layer  s = x W,
   dW = x' ds  and, after the first layer,  dx = ds W'. */
static void gemm_into(int ta, int tb, int m, int n, int k, const real *a, const real *b,
                      real *out, int add) {
  enum CBLAS_TRANSPOSE opa = ta ? CblasTrans : CblasNoTrans;
  enum CBLAS_TRANSPOSE opb = tb ? CblasTrans : CblasNoTrans;
  int lda = ta ? m : k, ldb = tb ? k : n;
#if EDF_REAL_IS_DOUBLE
  cblas_dgemm(CblasRowMajor, opa, opb, m, n, k, 1, a, lda, b, ldb, (real)add, out, n);
#else
  cblas_sgemm(CblasRowMajor, opa, opb, m, n, k, 1, a, lda, b, ldb, (real)add, out, n);
#endif
}

static void gemm(int ta, int tb, int m, int n, int k, const real *a, const real *b,
                 real *out) {
  gemm_into(ta, tb, m, n, k, a, b, out, 0);
}

enum { FORWARD, WEIGHTS, INPUTS };

static void gemm_call(const net *m, int l, int which, const real *x) {
  int rows = m->is->batch, in = m->is->width[l], out = m->is->width[l + 1];
  const edf_node *s = m->score[l], *w = m->layer[l].w, *h = l ? m->output[l - 1] : m->x;
  if (l) x = h->value;
  if (which == FORWARD) gemm(0, 0, rows, out, in, x, w->value, s->value);
  if (which == WEIGHTS) gemm(1, 0, in, out, rows, x, s->grad, w->grad);
  if (which == INPUTS && l) gemm(0, 1, rows, in, out, s->grad, w->value, h->grad);
}

static void gemm_step(void *self, const real *x, const real *y) {
  const net *m = (const net *)self;
  (void)y;
  for (int l = 0; l < m->is->layers; l++) gemm_call(m, l, FORWARD, x);
  for (int l = m->is->layers - 1; l >= 0; l--) {
    gemm_call(m, l, WEIGHTS, x);
    gemm_call(m, l, INPUTS, x);
  }
}

/* ---- The same step by hand: gemm calls, with loops between them. The gradients stay until the
   update, as in our step. (A gemm with beta = 1 into W is faster, but leaves no gradient.) */
typedef struct {
  const spec *is;
  real *w[MAX_LAYERS], *b[MAX_LAYERS], *dw[MAX_LAYERS], *db[MAX_LAYERS];
  real *h[MAX_LAYERS], *d[MAX_LAYERS];       /* output of layer l, gradient of its score */
  real loss;
} hand;

static hand hand_build(const net *m) {
  hand t;
  t.is = m->is;
  for (int l = 0; l < t.is->layers; l++) {
    size_t in = (size_t)t.is->width[l], out = (size_t)t.is->width[l + 1];
    size_t batch = (size_t)t.is->batch;
    t.w[l] = reals(in * out); t.dw[l] = reals(in * out);
    t.b[l] = reals(out);      t.db[l] = reals(out);
    t.h[l] = reals(batch * out); t.d[l] = reals(batch * out);
    memcpy(t.w[l], m->layer[l].w->value, in * out * sizeof(real));
    memcpy(t.b[l], m->layer[l].b->value, out * sizeof(real));
  }
  return t;
}

static void hand_free(hand *t) {
  for (int l = 0; l < t->is->layers; l++) {
    free(t->w[l]); free(t->dw[l]); free(t->b[l]); free(t->db[l]); free(t->h[l]); free(t->d[l]);
  }
}

/* Returns exp(x) without a call, so that the compiler can use vectors. x = n ln 2 + r, so
   exp(x) = 2^n exp(r). A polynomial gives exp(r) for |r| <= ln 2 / 2. */
static inline real exp_inline(real v) {
#if EDF_REAL_IS_DOUBLE
  return exp(v);
#else
  float x = v < -87 ? -87 : v > 88 ? 88 : v, scale;
  float n = (x * 1.44269504f + 12582912.0f) - 12582912.0f;   /* rounds to a whole number */
  float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  int bits = ((int)n + 127) * (1 << 23);
  memcpy(&scale, &bits, sizeof scale);
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return scale * (p * r * r + r + 1);
#endif
}

static void hand_activate(const hand *t, int l) {
  int n = t->is->width[l + 1];
  for (int b = 0; b < t->is->batch; b++) {
    real *s = t->h[l] + b * n;
    const real *bias = t->b[l];
    if (t->is->relu)
      for (int j = 0; j < n; j++) s[j] = s[j] - bias[j] < 0 ? 0 : s[j] - bias[j];
    else
      for (int j = 0; j < n; j++) s[j] = 1 / (1 + exp_inline(bias[j] - s[j]));
  }
}

/* Computes bias, softmax, loss and the gradient (P - [k = y]) / B of each row. */
static void hand_loss(hand *t, const real *y) {
  int l = t->is->layers - 1, n = t->is->width[l + 1];
  t->loss = 0;
  for (int b = 0; b < t->is->batch; b++) {
    real *p = t->h[l] + b * n, *d = t->d[l] + b * n, max = p[0] - t->b[l][0], sum = 0;
    int label = (int)y[b];
    for (int k = 0; k < n; k++) { p[k] -= t->b[l][k]; max = p[k] > max ? p[k] : max; }
    for (int k = 0; k < n; k++) p[k] = exp_inline(p[k] - max);
    for (int k = 0; k < n; k++) sum += p[k];
    for (int k = 0; k < n; k++) p[k] /= sum;
    for (int k = 0; k < n; k++) d[k] = p[k] / (real)t->is->batch;
    d[label] -= 1 / (real)t->is->batch;
    t->loss -= (real)log((double)p[label]) / (real)t->is->batch;
  }
}

/* Changes d from the gradient of the layer's output to the gradient of its score. */
static void hand_derive(const hand *t, int l) {
  int n = t->is->width[l + 1];
  for (int b = 0; b < t->is->batch; b++) {
    real *d = t->d[l] + b * n;
    const real *h = t->h[l] + b * n;
    if (t->is->relu) for (int j = 0; j < n; j++) d[j] = h[j] > 0 ? d[j] : 0;
    else for (int j = 0; j < n; j++) d[j] *= h[j] * (1 - h[j]);
  }
}

static void hand_bias(const hand *t, int l) {
  int n = t->is->width[l + 1];
  real *restrict db = t->db[l];
  memset(db, 0, (size_t)n * sizeof(real));
  for (int b = 0; b < t->is->batch; b++) {
    const real *restrict d = t->d[l] + b * n;
    for (int j = 0; j < n; j++) db[j] -= d[j];
  }
}

static void hand_update(const hand *t, int l) {
  int out = t->is->width[l + 1], n = t->is->width[l] * out;
  real *restrict w = t->w[l], *restrict b = t->b[l], eta = t->is->eta;
  const real *restrict dw = t->dw[l], *restrict db = t->db[l];
  for (int i = 0; i < n; i++) w[i] -= eta * dw[i];
  for (int j = 0; j < out; j++) b[j] -= eta * db[j];
}

static void hand_step(void *self, const real *x, const real *y) {
  hand *t = (hand *)self;
  const spec *is = t->is;
  for (int l = 0; l < is->layers; l++) {
    const real *in = l ? t->h[l - 1] : x;
    gemm(0, 0, is->batch, is->width[l + 1], is->width[l], in, t->w[l], t->h[l]);
    if (l + 1 < is->layers) hand_activate(t, l);
  }
  hand_loss(t, y);
  for (int l = is->layers - 1; l >= 0; l--) {
    const real *in = l ? t->h[l - 1] : x;
    gemm(1, 0, is->width[l], is->width[l + 1], is->batch, in, t->d[l], t->dw[l]);
    hand_bias(t, l);
    if (l) {
      gemm(0, 1, is->batch, is->width[l], is->width[l + 1], t->d[l], t->w[l], t->d[l - 1]);
      hand_derive(t, l - 1);
    }
    hand_update(t, l);
  }
}

/* Stops if the Parameters of the two programs differ after some steps over the same rows. */
static void agree(const net *m, const hand *t) {
  for (int l = 0; l < m->is->layers; l++) {
    double off = 0, size = 0;
    for (size_t i = 0; i < m->layer[l].w->size; i++) {
      double p = (double)m->layer[l].w->value[i], q = (double)t->w[l][i];
      if (!(fabs(p - q) <= off)) off = fabs(p - q);
      if (fabs(q) > size) size = fabs(q);
    }
    if (off <= 1e-2 * size) continue;
    printf("bench: %s w%d: ours and by hand differ by %g of %g\n", m->is->name, l + 1, off,
           size);
    exit(1);
  }
}

static void bench_model(const spec *is) {
  net m = build(is);
  hand t = hand_build(&m);
  contestant c[4] = { { our_step, &m, 0, { 0 } }, { gemm_step, &m, 0, { 0 } },
                      { hand_step, &t, 0, { 0 } }, PEAK };
  run_steps(&c[0], 10, is->batch);
  run_steps(&c[2], 10, is->batch);
  agree(&m, &t);
  int n = take_turns(c, 4, is->batch);
  report(is->name, "ours", "gemm", c, n);
  report_share(&c[0], &c[3], n, multiply_adds(is));
  printf(" hand_us=%.1f hand_ratio=%.3f epoch_s=%.3f loss=%.3f\n", median_us(&c[2], n),
         ratios(&c[0], &c[2], n).median, epoch_seconds(&m, median_us(&c[0], n)),
         (double)t.loss);
  hand_free(&t);
}
#else
static void bench_model(const spec *is) {
  net m = build(is);
  contestant c[2] = { { our_step, &m, 0, { 0 } }, PEAK };
  int n = take_turns(c, 2, is->batch);
  report(is->name, "ours", "", c, n);
  report_share(&c[0], &c[1], n, multiply_adds(is));
  printf(" epoch_s=%.3f\n", epoch_seconds(&m, median_us(&c[0], n)));
}
#endif

static void bench_mlp_a(void) { bench_model(&mlp_a); }
static void bench_mlp_b(void) { bench_model(&mlp_b); }

/* ---- The models of the examples */
#include "products.h"
#include "models.h"

#ifdef EDF_CBLAS
static void products_step(void *self, const real *x, const real *y) {
  const products *p = (const products *)self;
  (void)x; (void)y;
  for (const product_call *c = p->call; c < p->call + p->n; c++) {
    size_t a = c->share & SHARE_A ? 0 : (size_t)c->m * (size_t)c->k;
    size_t b = c->share & SHARE_B ? 0 : (size_t)c->k * (size_t)c->n;
    size_t out = c->share & SHARE_C ? 0 : (size_t)c->m * (size_t)c->n;
    for (size_t i = 0; i < (size_t)c->calls; i++)
      gemm_into(c->ta, c->tb, c->m, c->n, c->k, c->a + i * a, c->b + i * b, c->c + i * out,
                out == 0 && i > 0);
  }
}
#endif

static double products_of(const products *p) {          /* multiply-adds of all products */
  double all = 0;
  for (const product_call *o = p->call; o < p->call + p->n; o++)
    all += (double)o->calls * o->m * o->n * o->k;
  return all;
}

static void bench_trained(trained (*build_model)(void), products (*of_a_step)(int batch),
                          const char *unit, double per_step) {
  trained m = build_model();
  products p = of_a_step(m.batch);
  size_t T = (size_t)sizes.times;
  real *text = letters(m.batch), *next = reals((size_t)m.batch * T);
  for (size_t b = 0; b < (size_t)m.batch; b++)
    memcpy(next + b * T, text + b * T + 1, T * sizeof *next);
  if (m.width == sizes.times) { m.data = text; m.classes = next; }
  make_operands(&p);
#ifdef EDF_CBLAS
  contestant c[3] = { { trained_step, &m, 0, { 0 } }, { products_step, &p, 0, { 0 } }, PEAK };
#else
  contestant c[2] = { { trained_step, &m, 0, { 0 } }, PEAK };
#endif
  run_steps(&c[0], 3, m.batch);
  double first = (double)m.loss->value[0];
  int n = take_turns(c, 2 + WITH_BLAS, m.batch);
  report(m.name, "ours", "gemm", c, n);
  report_share(&c[0], &c[1 + WITH_BLAS], n, products_of(&p));
  printf(" %s=%.3f loss=%.3f then %.3f\n", unit, median_us(&c[0], n) * per_step / 1e6, first,
         (double)m.loss->value[0]);
  free_products(&p);
  free(text);
  free(next);
}

static void bench_lenet(void) {
  bench_trained(build_lenet, lenet_products, "images10000_s", 10000 / 64.0);
}
static void bench_lstm(void) { bench_trained(build_lstm, lstm_products, "steps1000_s", 1000); }
static void bench_gpt(void) { bench_trained(build_gpt, gpt_products, "steps1000_s", 1000); }

/* ---- scale: one size of a model grows by factors of four. Only multiply-adds of products are
   counted. The GPT has a small batch, because each head has length x length numbers. */
static void scale_point(const char *model, const char *what, int n, contestant step, int batch,
                        double all) {
  contestant c[2] = { step, PEAK };
  run_steps(&c[0], 1, batch);
  int turns = take_turns(c, 2, batch);
  double us = median_us(&c[0], turns), peak = peak_gflops(median_us(&c[1], turns));
  double gflops = 2e-3 * all / us;
  printf("bench scale %s %s=%d ours_us=%.1f gflops=%.1f peak_gflops=%.0f share=%.2f\n", model,
         what, n, us, gflops, peak, gflops / peak);
  fflush(stdout);
}

static void scale_mlp(const char *what, int n, int batch, int width) {
  spec is = { "mlp_b", 1, batch, 3, { PIXELS, width, width, CLASSES }, (real)0.01 };
  net m = build(&is);
  contestant c = { our_step, &m, 0, { 0 } };
  scale_point(is.name, what, n, c, batch, multiply_adds(&is));
}

static void scale_text(const char *name, int batch, int length) {
  int lstm = !strcmp(name, "lstm"), before = sizes.times;
  sizes.times = length;
  trained m = lstm ? text_model(name, batch, update_adam, lstm_loss)
                   : text_model(name, batch, update_adamw, gpt_loss);
  products p = lstm ? lstm_products(batch) : gpt_products(batch);
  real *text = letters(batch);
  m.data = m.classes = text;
  contestant c = { trained_step, &m, 0, { 0 } };
  scale_point(name, "length", length, c, batch, products_of(&p));
  free(text);
  sizes.times = before;
}

static void bench_scale(void) {
  double before = longest;
  longest = 5e5;
  fewest = 5;
  for (int n = 1; n <= 4096; n *= 4) scale_mlp("batch", n, n, 512);
  for (int n = 32; n <= 2048; n *= 4) scale_mlp("width", n, mlp_b.batch, n);
  scale_mlp("width", 4096, mlp_b.batch, 4096);
  for (int n = 16; n <= 1024; n *= 4) scale_text("lstm", LSTM_BATCH, n);
  for (int n = 16; n <= 1024; n *= 4) scale_text("gpt", 2, n);
  longest = before;
  fewest = 31;
}

#ifdef STEPS_ALONE                     /* Another edf.h may have no edf_equations. */
static void bench_lines(void) {}
#else
#include "lines.h"

/* ---- Lines over layers: two graphs of one model, with the same Parameters at first. */
typedef struct { trained m; edf_graph graph; } graphed;

static void graphed_step(void *self, const real *x, const real *y) {
  graphed *g = (graphed *)self;
  edf = g->graph;
  trained_step(&g->m, x, y);
  g->graph = edf;
}

static graphed graphed_model(const char *name, int as_lines) {
  graphed g;
  edf = edf_new_graph();
  g.m = as_lines ? build_as_lines(name) : build_as_layers(name);
  g.graph = edf;
  edf = edf_new_graph();
  return g;
}

static void compare_lines(const char *name) {
  graphed g[2] = { graphed_model(name, 1), graphed_model(name, 0) };
  contestant c[2] = { { graphed_step, &g[0], 0, { 0 } }, { graphed_step, &g[1], 0, { 0 } } };
  real *text = letters(g[0].m.batch);
  same_parameters(&g[0].graph, &g[1].graph);
  for (int k = 0; k < 2; k++) {
    if (g[k].m.width == sizes.times) g[k].m.data = g[k].m.classes = text;
    run_steps(&c[k], 3, g[k].m.batch);
  }
  double loss = (double)g[0].m.loss->value[0], other = (double)g[1].m.loss->value[0];
  if (!(fabs(loss - other) < 1e-3 * fabs(other))) {
    printf("bench: %s: as lines its loss is %g, of layers %g\n", name, loss, other);
    exit(1);
  }
  int n = take_turns(c, 2, g[0].m.batch);
  summary r = ratios(&c[0], &c[1], n);
  printf("bench lines %s lines_us=%.1f layers_us=%.1f ratio=%.3f q1=%.3f q3=%.3f turns=%d\n",
         name, median_us(&c[0], n), median_us(&c[1], n), r.median, r.q1, r.q3, n);
  for (int k = 0; k < 2; k++) {
    edf = g[k].graph;
    edf_clear();
  }
  free(text);
}

static void time_building(void) {
  double us[31];
  for (int i = 0; i < 31; i++) {
    double start = now();
    build_as_lines("gpt");
    us[i] = now() - start;
  }
  printf("bench lines gpt build_ms=%.2f\n", summarise(us, 31).median / 1e3);
}

static void bench_lines(void) {
  compare_lines("lenet");
  compare_lines("lstm");
  compare_lines("gpt");
  time_building();
}
#endif

/* ---- Two threads against one */
#ifdef _OPENMP
#include <omp.h>

typedef struct { void (*step)(void *self, const real *x, const real *y); void *self; } threaded;

static void on_one(void *self, const real *x, const real *y) {
  const threaded *t = (const threaded *)self;
  omp_set_num_threads(1);
  t->step(t->self, x, y);
}

static void on_two(void *self, const real *x, const real *y) {
  const threaded *t = (const threaded *)self;
  omp_set_num_threads(2);
  t->step(t->self, x, y);
}

static void compare_threads(const char *model, threaded *t, int batch) {
  contestant c[2] = { { on_two, t, 0, { 0 } }, { on_one, t, 0, { 0 } } };
  run_steps(&c[0], 3, batch);
  int n = take_turns_by(now, c, 2, batch);
  summary r = ratios(&c[0], &c[1], n);
  printf("bench threads %s two_us=%.1f one_us=%.1f ratio=%.3f q1=%.3f q3=%.3f turns=%d\n",
         model, median_us(&c[0], n), median_us(&c[1], n), r.median, r.q1, r.q3, n);
}

static void bench_threads(void) {
  trained (*const build_model[])(void) = { build_lenet, build_lstm, build_gpt };
  net mlp = build(&mlp_b);
  threaded t = { our_step, &mlp };
  compare_threads("mlp_b", &t, mlp_b.batch);
  for (int k = 0; k < 3; k++) {
    trained m = build_model[k]();
    real *text = letters(m.batch);
    if (m.width == sizes.times) m.data = m.classes = text;
    t.step = trained_step;
    t.self = &m;
    compare_threads(m.name, &t, m.batch);
    free(text);
  }
}
#else
static void bench_threads(void) {}
#endif

/* ---- Our step without a BLAS and with it */
static void bench_builtin(void) {
  net m = build(&mlp_a), fastest = m;
  m.kernel = EDF_BUILTIN;
  contestant c[2] = { { our_step, &m, 0, { 0 } }, { our_step, &fastest, 0, { 0 } } };
  int n = take_turns(c, 1 + WITH_BLAS, mlp_a.batch);
  report("mlp_a_builtin", "ours", "blas", c, n);
  printf("\n");
}

#ifdef STEPS_ALONE          /* Another edf.h may have another interface of the kernels. */
static void bench_gemm512(void) {}
static void bench_shapes(void) {}
#else
/* ---- out[i,j] = a[i,K] b[K,j], also with a or b transposed: built-in product over BLAS */
typedef struct { const char *name; int m, n, k, ta, tb; } shape;
typedef struct { int kernel; edf_route route; real *a, *b, *out; } product;

static void product_step(void *self, const real *x, const real *y) {
  product *p = (product *)self;
  (void)x; (void)y;
  edf.kernel = p->kernel;
  edf_contract(&p->route, p->route.covers > 0, p->out, p->a, p->b);
}

static product product_of(const shape *s) {
  edf_nest nest = { 0 };
  edf_loop i = { s->m, { s->n, s->ta ? 1 : s->k, 0 }, NULL };
  edf_loop j = { s->n, { 1, 0, s->tb ? s->k : 1 }, NULL };
  edf_loop k = { s->k, { 0, s->ta ? s->m : 1, s->tb ? 1 : s->n }, NULL };
  nest.n = 3;
  nest.loop[0] = i; nest.loop[1] = j; nest.loop[2] = k;
  nest.alpha = 1;
  product p = { EDF_BUILTIN, edf_plan(&nest), operand(1, s->m, s->k, 0),
                operand(1, s->k, s->n, 0), reals((size_t)s->m * (size_t)s->n) };
  return p;
}

/* Returns the time of the BLAS divided by the time of the built-in product. */
static double compare_product(const char *what, const shape *s) {
  edf_clear();
  product builtin = product_of(s), blas = builtin;
  blas.kernel = EDF_FASTEST;
  contestant c[3] = { { product_step, &builtin, 0, { 0 } },
                      { product_step, &blas, 0, { 0 } }, PEAK };
  if (!WITH_BLAS) memcpy(&c[1], &c[2], sizeof c[2]);
  int n = take_turns(c, 2 + WITH_BLAS, 1);
  report(what, "builtin", "blas", c, n);
  report_share(&c[0], &c[1 + WITH_BLAS], n, (double)s->m * s->n * s->k);
  printf(" %s %d x %d x %d%s%s\n", s->name, s->m, s->n, s->k, s->ta ? ", a transposed" : "",
         s->tb ? ", b transposed" : "");
  free(builtin.a);
  free(builtin.b);
  free(builtin.out);
  return WITH_BLAS ? 1 / ratios(&c[0], &c[1], n).median : 1;
}

static void bench_gemm512(void) {
  static const shape cube = { "cube", 512, 512, 512, 0, 0 };
  compare_product("gemm512", &cube);
}

/* The products in the steps of the models, and others. */
static const shape shapes[] = {
  { "lstm h Wh", 32, 512, 128, 0, 0 }, { "lstm dh", 32, 128, 512, 0, 1 },
  { "lstm x Wx", 2048, 512, 128, 0, 0 }, { "lstm dW", 128, 512, 2016, 1, 0 },
  { "mlp_a layer 1", 64, 64, 784, 0, 0 }, { "mlp_a layer 2", 64, 10, 64, 0, 0 },
  { "mlp_a dW1", 784, 64, 64, 1, 0 }, { "mlp_a dW2", 64, 10, 64, 1, 0 },
  { "mlp_a dx", 64, 64, 10, 0, 1 }, { "mlp_b layer 1", 128, 512, 784, 0, 0 },
  { "mlp_b layer 2", 128, 512, 512, 0, 0 }, { "mlp_b dW1", 784, 512, 128, 1, 0 },
  { "mlp_b dW2", 512, 512, 128, 1, 0 }, { "mlp_b dx", 128, 512, 512, 0, 1 },
  { "gpt q", 1024, 128, 128, 0, 0 }, { "gpt up", 1024, 512, 128, 0, 0 },
  { "gpt down", 1024, 128, 512, 0, 0 }, { "gpt dx up", 1024, 128, 512, 0, 1 },
  { "gpt dx down", 1024, 512, 128, 0, 1 }, { "gpt dW", 128, 512, 1024, 1, 0 },
  { "gpt scores", 64, 64, 32, 0, 1 }, { "gpt context", 64, 32, 64, 0, 0 },
  { "gpt dv", 64, 32, 64, 1, 0 }, { "lenet 1", 36864, 16, 25, 0, 0 },
  { "lenet 2", 4096, 32, 400, 0, 0 }, { "lenet dW2", 400, 32, 4096, 1, 0 },
  { "lenet dW1", 25, 16, 36864, 1, 0 }, { "lenet dx", 4096, 400, 32, 0, 1 },
  { "letters", 1024, 65, 128, 0, 0 }, { "letters dW", 128, 65, 1024, 1, 0 },
  { "letters dx", 1024, 128, 65, 0, 1 }, { "cube", 32, 32, 32, 0, 0 },
  { "cube", 64, 64, 64, 0, 0 }, { "cube", 100, 100, 100, 0, 0 },
  { "cube", 256, 256, 256, 0, 0 }, { "cube", 512, 512, 512, 0, 0 },
  { "cube", 1024, 1024, 1024, 0, 0 }, { "cube, b transposed", 256, 256, 256, 0, 1 },
  { "cube, a transposed", 256, 256, 256, 1, 0 }, { "both transposed", 256, 256, 256, 1, 1 },
  { "odd", 127, 129, 131, 0, 0 }, { "odd", 33, 17, 65, 1, 1 },
  { "few rows", 4, 512, 512, 0, 0 }, { "few columns", 512, 4, 512, 0, 0 },
  { "a short sum", 512, 512, 8, 0, 0 },
};

static void bench_shapes(void) {
  longest = 5e5;
  int behind = 0, ahead = 0, n = sizeof shapes / sizeof *shapes;
  for (int s = 0; s < n; s++) {
    double speed = compare_product("shapes", &shapes[s]);
    behind += speed < 0.95;
    ahead += speed > 1;
  }
  if (WITH_BLAS)
    printf("bench shapes %d products, %d ahead of the BLAS, %d more than 5 %% behind\n", n,
           ahead, behind);
}
#endif

/* ---- profile: timed functions replace the functions of each node. So the Forward and Backward
   of the framework run. The profile prints the median of many steps. */
enum { MAX_NODES = 16, MAX_GRAPH = 1024 };
typedef struct { int n; double us[MAX_SAMPLES]; } series;

static struct {
  void (*forward)(edf_node *), (*backward)(edf_node *);
  series time[2];
} timed[MAX_NODES];

static struct {
  double nodes;                                              /* time in nodes so far */
  series forward, backward, around[2], update, feed, gemm[MAX_LAYERS][3];
} whole;

static void add_time(series *s, double us) {
  if (s->n < MAX_SAMPLES) s->us[s->n++] = us;
}

static double median_of(const series *s) { return s->n ? summarise(s->us, s->n).median : 0; }

static int position(const edf_node *c) {
  int i = 0;
  while (edf.compnodes[i] != c) i++;
  return i;
}

static void timed_forward(edf_node *c) {
  int i = position(c);
  double start = now();
  timed[i].forward(c);
  double us = now() - start;
  add_time(&timed[i].time[0], us);
  whole.nodes += us;
}

static void timed_backward(edf_node *c) {
  int i = position(c);
  double start = now();
  timed[i].backward(c);
  double us = now() - start;
  add_time(&timed[i].time[1], us);
  whole.nodes += us;
}

static void time_nodes(void) {
  memset(timed, 0, sizeof timed);
  memset(&whole, 0, sizeof whole);
  for (int i = 0; i < edf.n_compnodes && i < MAX_NODES; i++) {
    edf_node *c = edf.compnodes[i];
    timed[i].forward = c->forward;
    timed[i].backward = c->backward;
    c->forward = timed_forward;
    c->backward = timed_backward;
  }
}

static void profiled_step(void *self, const real *x, const real *y) {
  const net *m = (const net *)self;
  double start = now(), before = whole.nodes;
  edf_feed(m->x, x, m->is->batch);
  edf_feed(m->y, y, m->is->batch);
  double fed = now();
  edf_forward();
  double forward = now(), middle = whole.nodes;
  edf_backward(m->loss);
  double backward = now();
  edf_sgd(m->is->eta);
  add_time(&whole.update, now() - backward);
  add_time(&whole.backward, backward - forward);
  add_time(&whole.around[1], backward - forward - (whole.nodes - middle));
  add_time(&whole.forward, forward - fed);
  add_time(&whole.around[0], forward - fed - (middle - before));
  add_time(&whole.feed, fed - start);
}

/* Times the gemm calls in the order of a step. They use other rows than our step, so the caches
   are as in a real step. */
#ifdef EDF_CBLAS
static void time_gemm(const net *m, int l, int which, const real *x) {
  double start = now();
  gemm_call(m, l, which, x);
  add_time(&whole.gemm[l][which], now() - start);
}

static void gemm_profiled(void *self, const real *x, const real *y) {
  const net *m = (const net *)self;
  (void)y;
  for (int l = 0; l < m->is->layers; l++) time_gemm(m, l, FORWARD, x);
  for (int l = m->is->layers - 1; l >= 0; l--) {
    time_gemm(m, l, WEIGHTS, x);
    if (l) time_gemm(m, l, INPUTS, x);
  }
}
#else
static void gemm_profiled(void *self, const real *x, const real *y) {
  (void)self; (void)x; (void)y;
}
#endif

static void print_line(const char *what, const series *forward, const series *backward) {
  printf("  %-24s %10.2f %10.2f", what, median_of(forward), median_of(backward));
}

static void print_nodes(const net *m) {
  for (int i = 0; i < edf.n_compnodes && i < MAX_NODES; i++) {
    print_line(edf.compnodes[i]->name, &timed[i].time[0], &timed[i].time[1]);
    for (int l = 0; WITH_BLAS && l < m->is->layers; l++)
      if (edf.compnodes[i] == m->score[l])
        printf("   gemm alone %10.2f  %10.2f dW %10.2f dx", median_of(&whole.gemm[l][0]),
               median_of(&whole.gemm[l][1]), median_of(&whole.gemm[l][2]));
    printf("\n");
  }
  print_line("around the nodes", &whole.around[0], &whole.around[1]);
}

static void profile_model(const spec *is) {
  net m = build(is);
  contestant ours = { profiled_step, &m, 0, { 0 } };
  contestant alone = { gemm_profiled, &m, ROWS / 2, { 0 } };
  run_steps(&ours, 10, is->batch);
  time_nodes();
  double begin = now();
  while (whole.update.n < MAX_SAMPLES && now() - begin < 6e6) {
    run_steps(&ours, 1, is->batch);
    run_steps(&alone, 1, is->batch);
  }
  printf("profile %s: microseconds, forward and backward; medians of %d steps\n", is->name,
         whole.update.n);
  print_nodes(&m);
  printf("\n  feed %.2f  Forward %.2f  Backward %.2f  SGD %.2f\n", median_of(&whole.feed),
         median_of(&whole.forward), median_of(&whole.backward), median_of(&whole.update));
}

/* In a larger graph, the times of all nodes with the same op are added. */
enum { MAX_OPS = 32 };
static struct { const char *op; int n; double sum[2]; series time[2]; } ops[MAX_OPS];
static int n_ops, op_of[MAX_GRAPH];
static struct { void (*forward)(edf_node *), (*backward)(edf_node *); } saved[MAX_GRAPH];

/* Returns the position of a node. Nodes run in order, so it is usually next to the last one. */
static int beside(const edf_node *c) {
  static int i;
  int n = edf.n_compnodes;
  if (edf.compnodes[(i + 1) % n] == c) i = (i + 1) % n;
  else if (edf.compnodes[(i + n - 1) % n] == c) i = (i + n - 1) % n;
  else i = position(c);
  return i;
}

static void op_forward(edf_node *c) {
  int i = beside(c);
  double start = now();
  saved[i].forward(c);
  ops[op_of[i]].sum[0] += now() - start;
}

static void op_backward(edf_node *c) {
  int i = beside(c);
  double start = now();
  saved[i].backward(c);
  ops[op_of[i]].sum[1] += now() - start;
}

static void time_ops(void) {
  memset(ops, 0, sizeof ops);
  n_ops = 0;
  for (int i = 0; i < edf.n_compnodes && i < MAX_GRAPH; i++) {
    edf_node *c = edf.compnodes[i];
    int k = 0;
    while (k < n_ops && strcmp(ops[k].op, c->op)) k++;
    if (k == MAX_OPS) { fprintf(stderr, "bench: too many kinds of node\n"); exit(1); }
    if (k == n_ops) ops[n_ops++].op = c->op;
    ops[k].n++;
    op_of[i] = k;
    saved[i].forward = c->forward;
    saved[i].backward = c->backward;
    c->forward = op_forward;
    c->backward = op_backward;
  }
}

static void profiled_trained(trained *m, const real *x, const real *y) {
  double start = now(), nodes = 0;
  edf_feed(m->x, m->data ? m->data : x, m->batch);
  edf_feed(m->y, m->data ? m->classes : y, m->batch);
  edf_forward();
  edf_backward(m->loss);
  double done = now();
  m->update();
  add_time(&whole.update, now() - done);
  for (int k = 0; k < n_ops; k++)
    for (int pass = 0; pass < 2; pass++) {
      add_time(&ops[k].time[pass], ops[k].sum[pass]);
      nodes += ops[k].sum[pass];
      ops[k].sum[pass] = 0;
    }
  add_time(&whole.around[0], done - start - nodes);
}

static void profile_trained(trained (*build_model)(void)) {
  trained m = build_model();
  real *text = letters(m.batch);
  if (m.width == sizes.times) m.data = m.classes = text;
  memset(&whole, 0, sizeof whole);
  for (int i = 0; i < 3; i++) trained_step(&m, images, labels);
  time_ops();
  double begin = now();
  while (whole.update.n < MAX_SAMPLES && now() - begin < 4e6)
    profiled_trained(&m, images, labels);
  printf("profile %s: microseconds, forward and backward; medians of %d steps\n", m.name,
         whole.update.n);
  for (int k = 0; k < n_ops; k++) {
    char what[64];
    snprintf(what, sizeof what, "%d %s", ops[k].n, ops[k].op);
    print_line(what, &ops[k].time[0], &ops[k].time[1]);
    printf("\n");
  }
  printf("  around the nodes %.2f  update %.2f\n", median_of(&whole.around[0]),
         median_of(&whole.update));
  free(text);
}

static void profile_lenet(void) { profile_trained(build_lenet); }
static void profile_lstm(void) { profile_trained(build_lstm); }
static void profile_gpt(void) { profile_trained(build_gpt); }

static trained build_gpt_of(const char *name, int times, int batch) {
  sizes.times = times;
  sizes.wide = 256;
  sizes.layers = 6;
  return text_model(name, batch, update_adamw, gpt_loss);
}
static trained build_gpt_wide(void) { return build_gpt_of("gpt_wide", 128, 16); }
static trained build_gpt_long(void) { return build_gpt_of("gpt_long", 512, 4); }
static void profile_gpt_wide(void) { profile_trained(build_gpt_wide); }
static void profile_gpt_long(void) { profile_trained(build_gpt_long); }
static void profile_mlp_wide(void) { profile_model(&mlp_wide); }

static void profile_mlp_a(void) { profile_model(&mlp_a); }
static void profile_mlp_b(void) { profile_model(&mlp_b); }

/* ---- step: prints the loss after the first steps, so that a script can compare two programs.
   Then each line of input starts a turn. The line gives the length of the turn in seconds, and
   an empty line means 10 ms. A turn begins with untimed steps for a fifth of its length. The
   program prints the time of a timed step. */
static double (*step_clock)(void) = thread_time;

/* Takes steps for some microseconds. Returns the time of a step. */
static double us_of_step(contestant *c, int batch, double us) {
  double start = step_clock(), time;
  int steps = 0;
  do {
    run_steps(c, 1, batch);
    steps++;
    time = step_clock() - start;
  } while (time < us);
  return time / steps;
}

static void time_steps(contestant *c, int batch, const edf_node *loss) {
  char line[32];
  run_steps(c, 3, batch);
  printf("%.9g\n", (double)loss->value[0]);
  while (fflush(stdout) == 0 && fgets(line, sizeof line, stdin)) {
    double us = *line == '\n' ? 10e3 : 1e6 * atof(line);
    us_of_step(c, batch, us / 5);
    printf("%.2f\n", us_of_step(c, batch, us));
  }
}

static void step_of_net(const spec *is) {
  net m = build(is);
  contestant c = { our_step, &m, 0, { 0 } };
  time_steps(&c, is->batch, m.loss);
}

static void step_of_trained(trained (*build_model)(void)) {
  trained m = build_model();
  real *text = letters(m.batch);
  if (m.width == sizes.times) m.data = m.classes = text;
  contestant c = { trained_step, &m, 0, { 0 } };
  time_steps(&c, m.batch, m.loss);
  free(text);
}

static void step_mlp_a(void) { step_of_net(&mlp_a); }
static void step_mlp_b(void) { step_of_net(&mlp_b); }
static void step_lenet(void) { step_of_trained(build_lenet); }
static void step_lstm(void) { step_of_trained(build_lstm); }
static void step_gpt(void) { step_of_trained(build_gpt); }

/* Forward of one row, up to the scores. */
typedef struct { edf_node *x, *scores; } one_row;
static void row_step(void *self, const real *x, const real *y) {
  one_row *m = (one_row *)self;
  (void)y;
  edf_feed(m->x, x, 1);
  edf_forward_to(m->scores);
}
static void step_of_row(edf_node *x, edf_node *scores) {
  one_row m = { x, scores };
  contestant c = { row_step, &m, 0, { 0 } };
  edf.training = 0;
  time_steps(&c, 1, scores);
}
static void step_mlp_a_row(void) {
  net m = build(&mlp_a);
  step_of_row(m.x, m.score[1]);
}
static void step_lenet_row(void) {
  trained m = build_lenet();
  step_of_row(m.x, m.loss->in[0]);
}
static void step_mlp_wide(void) { step_of_net(&mlp_wide); }
static void step_gpt_wide(void) { step_of_trained(build_gpt_wide); }
static void step_gpt_long(void) { step_of_trained(build_gpt_long); }

/* ---- The program */
static const struct { const char *name; void (*run[3])(void); } models[] = {
  { "mlp_a", { bench_mlp_a, profile_mlp_a, step_mlp_a } },
  { "mlp_b", { bench_mlp_b, profile_mlp_b, step_mlp_b } },
  { "lenet", { bench_lenet, profile_lenet, step_lenet } },
  { "lstm", { bench_lstm, profile_lstm, step_lstm } },
  { "gpt", { bench_gpt, profile_gpt, step_gpt } },
  { "mlp_a_row", { NULL, NULL, step_mlp_a_row } },
  { "lenet_row", { NULL, NULL, step_lenet_row } },
  { "mlp_wide", { NULL, profile_mlp_wide, step_mlp_wide } },
  { "gpt_wide", { NULL, profile_gpt_wide, step_gpt_wide } },
  { "gpt_long", { NULL, profile_gpt_long, step_gpt_long } },
  { "lines", { bench_lines, NULL, NULL } },
  { "threads", { bench_threads, NULL, NULL } },
  { "gemm512", { bench_gemm512, NULL, NULL } },
  { "shapes", { bench_shapes, NULL, NULL } },
  { "scale", { bench_scale, NULL, NULL } },
  { "mlp_a_builtin", { bench_builtin, NULL, NULL } },
};
enum { MODELS = sizeof models / sizeof *models };

/* Functions of OpenBLAS. With another BLAS they are NULL. */
#if defined EDF_CBLAS && defined __GNUC__ && defined __ELF__
extern char *openblas_get_config(void) __attribute__((weak));
extern int openblas_get_num_threads(void) __attribute__((weak));

static void print_blas(void) {
  if (!openblas_get_config || !openblas_get_num_threads) {
    printf("BLAS: not OpenBLAS; see to it that it runs one thread\n");
    return;
  }
  int threads = openblas_get_num_threads();
  printf("BLAS: %s, %d thread%s\n", openblas_get_config(), threads,
         threads == 1 ? "" : "s: NOT COMPARABLE, set OPENBLAS_NUM_THREADS=1");
}
#elif defined EDF_CBLAS
static void print_blas(void) { printf("BLAS: see to it that it runs one thread\n"); }
#else
static void print_blas(void) { printf("BLAS: none, compiled without EDF_CBLAS: ours only\n"); }
#endif

static int find_model(const char *name) {
  for (int i = 0; i < MODELS; i++)
    if (strcmp(models[i].name, name) == 0) return i;
  fprintf(stderr, "bench: no model \"%s\"; there are", name);
  for (int i = 0; i < MODELS; i++) fprintf(stderr, " %s", models[i].name);
  fprintf(stderr, "\n");
  exit(2);
}

int main(int argc, char **argv) {
  int wall = argc > 1 && !strcmp(argv[1], "wall");
  int what = argc < 2 ? 0 : !strcmp(argv[1], "profile") ? 1
             : wall || !strcmp(argv[1], "step") ? 2 : 0;
  if (wall) step_clock = now;
  int chosen[MODELS] = { 0 }, first = 1 + (what > 0);
  for (int i = first; i < argc; i++) chosen[find_model(argv[i])] = 1;
  if (what < 2) print_blas();
  make_data();
  for (int i = 0; i < MODELS; i++) {
    void (*run)(void) = models[i].run[what];
    if (run && (chosen[i] || argc == first)) run();
    fflush(stdout);
  }
  edf_clear();
  free(images);
  free(labels);
  return 0;
}
