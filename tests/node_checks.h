/* node_checks.h - what tests of nodes share: leaves with random numbers, and checks of values
   and of gradients. It includes edf.h, and comes first. */

#ifndef NODE_CHECKS_H
#define NODE_CHECKS_H

#include "harness.h"

#include "edf.h"

static const double gradient_bound = EDF_REAL_IS_DOUBLE ? 1e-6 : 0.05;
static const double value_bound = EDF_REAL_IS_DOUBLE ? 1e-13 : 4e-6;

/* ---- Leaves with random numbers, and the two checks of each test */

static edf_real pool[4096];                                  /* the data of all Inputs fed */
static size_t pool_used;

static inline void begin(unsigned seed) {
  edf_clear();
  edf_seed(seed);
  pool_used = 0;
}

static inline edf_node *parameter(const char *decl, double lo, double hi) {
  edf_node *p = edf_parameter("%s", decl);
  edf_init_uniform(p, (edf_real)lo, (edf_real)hi);
  return p;
}

static inline edf_node *feed(edf_node *x, const edf_real *data, int batch) {
  edf_feed(x, data, batch);
  return x;
}

static inline edf_node *input(const char *decl, int batch, double lo, double hi) {
  edf_node *x = edf_input("%s", decl);
  size_t n = (size_t)batch;
  edf_real *data = pool + pool_used;
  for (int d = x->batched ? 1 : 0; d < x->rank; d++) n *= (size_t)x->dim[d];
  pool_used += n;
  if (pool_used > sizeof pool / sizeof *pool) abort();
  for (size_t i = 0; i < n; i++) data[i] = edf_uniform((edf_real)lo, (edf_real)hi);
  return edf_want_grad(feed(x, data, batch));
}

/* Class numbers; an Input without a gradient. */
static inline edf_node *labels(const char *decl, int batch, int classes) {
  edf_node *y = input(decl, batch, 0, 1);
  for (size_t i = 0; i < pool_used; i++)
    if (pool + i >= y->value) pool[i] = (edf_real)edf_below(classes);
  y->wanted = 0;
  return y;
}

/* "b" in a declaration makes an Input of a batch that varies with the seed: 1, 2 or 3. */
static inline edf_node *leaf(const char *decl, unsigned seed, double lo, double hi) {
  return strchr(decl, 'b') ? input(decl, (int)(1 + seed % 3), lo, hi)
                           : parameter(decl, lo, hi);
}

static inline double at(const edf_node *x, int i) { return (double)x->value[i]; }

static inline void close_to(const edf_node *y, int i, double expected, double scale,
                            unsigned seed) {
  double bound = value_bound * (fabs(expected) + scale);
  CHECK((size_t)i < y->size && fabs(at(y, i) - expected) <= bound,
        "%s, seed %u, entry %d of %zu: %.9g, expected %.9g", y->op, seed, i, y->size,
        (size_t)i < y->size ? at(y, i) : NAN, expected);
}

/* Of y^2: Softmax has none where the gradient of its entries is the same. */
static inline double largest_gradient(edf_node *y) {
  double largest = 0;
  edf_node *square = edf_square(y);
  edf_forward();
  edf_backward(square);
  for (int i = 0; i < edf.n_inputs + edf.n_parameters; i++) {
    const edf_node *x = i < edf.n_inputs ? edf.inputs[i] : edf.parameters[i - edf.n_inputs];
    for (size_t k = 0; x->grad && k < x->size; k++)
      if (fabs((double)x->grad[k]) > largest) largest = fabs((double)x->grad[k]);
  }
  return largest;
}

static inline void gradients_right(edf_node *y, unsigned seed) {
  static volatile double error;
  error = HUGE_VAL;
  capture_begin();
  TRY(error = edf_gradcheck(y));
  capture_end();
  CHECK(!panicked, "%s, seed %u: %s", y->op, seed, caught);
  CHECK(error < gradient_bound, "%s, seed %u: %g\n%s", y->op, seed, error, captured);
  CHECK(!strstr(captured, "FAIL"), "%s, seed %u: a false alarm\n%s", y->op, seed, captured);
  CHECK(strstr(captured, "  ok  "), "%s, seed %u: nothing was checked", y->op, seed);
  CHECK(largest_gradient(y) > 1e-9, "%s, seed %u: the gradient is 0", y->op, seed);
}

#endif
