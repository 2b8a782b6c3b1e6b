/* Three models as texts of edf_equations, those that `make bench-lines` measures: from the same
   parameters they make the same steps as the header's layers, and are built quickly.

   Built as: float double none sanitized shim */

#define _POSIX_C_SOURCE 199309L                              /* clock_gettime */
#include "harness.h"
#include "edf.h"
#include <time.h>

typedef edf_real real;
enum { PIXELS = 784, CLASSES = 10, ROWS = 2 };

static real *reals(size_t n) { return (real *)calloc(n, sizeof(real)); }

static unsigned random_bits(void) {
  static unsigned long long state = 1;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 40);
}

#include "bench/products.h"
#include "bench/models.h"
#include "bench/lines.h"

/* Some steps of one model; the loss before the last of them. */
static double step_it(trained *m, const real *x, const real *y) {
  m->batch = ROWS;
  for (int i = 0; i < 3; i++) trained_step(m, x, y);
  return edf_mean_value(m->loss);
}

static void same_steps(const char *name, const real *x, const real *y) {
  edf_graph graph[2];
  double loss[2];
  trained m[2];
  for (int k = 0; k < 2; k++) {
    edf = edf_new_graph();
    m[k] = k ? build_as_lines(name) : build_as_layers(name);
    if (k) same_parameters(&edf, &graph[0]);
    graph[k] = edf;
  }
  for (int k = 0; k < 2; k++) {
    edf = graph[k];
    loss[k] = step_it(&m[k], x, y);
    graph[k] = edf;
  }
  CHECK(loss[0] > 0.1 && loss[0] < 10, "%s: its loss is %g", name, loss[0]);
  CLOSE(loss[0], loss[1], 1e-4, 1e-4);
  for (int k = 0; k < 2; k++) {
    edf = graph[k];
    edf_clear();
  }
}

static void lenet_learns_alike(void) {
  real *x = reals(ROWS * PIXELS), y[ROWS] = { 3, 7 };
  for (int i = 0; i < ROWS * PIXELS; i++) x[i] = (real)(random_bits() % 256) / 255;
  same_steps("lenet", x, y);
  free(x);
}

static void language_models_learn_alike(void) {
  sizes.times = 8;
  sizes.hidden = 12;
  sizes.wide = 16;
  sizes.layers = 2;
  real *text = letters(ROWS);
  same_steps("lstm", text, text + 1);
  same_steps("gpt", text, text + 1);
  free(text);
}

static double milliseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Of four layers, on a machine that is ours: 2 ms of its 5. The implementation is compiled for
   tests here, and other jobs run beside this one. */
static void quickly_built(void) {
  double least = 1e9;
  sizes.times = 64;
  sizes.wide = 128;
  sizes.layers = 4;
  for (int i = 0; i < 5; i++) {
    double start = milliseconds();
    build_as_lines("gpt");
    double took = milliseconds() - start;
    if (took < least) least = took;
  }
  edf_clear();
  CHECK(least < 50, "%g ms", least);
}

int main(void) {
  RUN(lenet_learns_alike);
  RUN(language_models_learn_alike);
  RUN(quickly_built);
  return harness_report();
}
