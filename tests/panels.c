/* What the kernels keep of a Parameter, its panels, lasts for a pass and no longer: wherever a
   program writes p->value in plain C, between any two of Forward, Backward, SGD and steps, and
   with edf_push inside of a pass, results are those of EDF_REFERENCE, which keeps nothing. With
   OpenMP everything that can be cut is cut, into three slices.

   Built as: float double none cblas openmp sanitized */
#define HARNESS_CATCH
#include "harness.h"
#include "edf.h"
#include "inside.h"
#ifdef _OPENMP
#include <omp.h>
#endif

enum { BATCH = 9, TIMES = 5, WIDE = 24, ROUNDS = 3, MOST = 20000 };

typedef enum {
  NOWHERE, BEFORE_FORWARD, BEFORE_BACKWARD, BEFORE_SGD, BETWEEN_STEPS, BETWEEN_STEPS_BACK,
  IN_A_FORWARD, IN_A_BACKWARD, PLACES
} place;
static const char *const name_of[] = {
  "nowhere", "before Forward", "before Backward", "before SGD", "between steps forward",
  "between steps backward", "in a node's forward", "in its backward"
};

static place where;
static edf_node *W;
static double seen[2][MOST];
static int n_seen;

static void write_if(place now) {
  if (now != where) return;
  for (size_t i = 0; i < W->size; i++)
    W->value[i] = W->value[i] * (edf_real)0.9 + (edf_real)((int)(i % 7) - 3) / 100;
}

/* A node of the program's own in the middle of a pass. */
static void copy_forward(edf_node *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = y->in[0]->value[i];
  if (where != IN_A_FORWARD) return;
  write_if(IN_A_FORWARD);
  edf_push(W);
}
static void copy_backward(edf_node *y) {
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, y->grad[i]);
  if (where != IN_A_BACKWARD) return;
  write_if(IN_A_BACKWARD);
  edf_push(W);
}

static void note(const edf_real *v, size_t n, int run) {
  for (size_t i = 0; i < n; i++, n_seen++) {
    CHECK(n_seen < MOST, "too many");
    seen[run][n_seen] = (double)v[i];
  }
}

static void forward_and_backward(edf_node *loss) {
  write_if(BEFORE_FORWARD);
  if (where == BETWEEN_STEPS) while (edf_step_forward()) write_if(BETWEEN_STEPS);
  else edf_forward();
  write_if(BEFORE_BACKWARD);
  if (where == BETWEEN_STEPS_BACK) while (edf_step_backward()) write_if(BETWEEN_STEPS_BACK);
  else edf_backward(loss);
  write_if(BEFORE_SGD);
}

/* W stands on both sides of products, at each time: its panels serve them all. */
static edf_node *model(edf_node *x) {
  edf_node *h = x;
  for (int t = 0; t < TIMES; t++) {
    if (t == TIMES / 2) h = edf_compnode("Copy", copy_forward, copy_backward, h);
    h = edf_tanh(edf_einsum("h[b,j] = W[I,j] x[b,I]", W, h));
    h = edf_tanh(edf_einsum("h[b,i] = W[i,J] x[b,J]", W, h));
  }
  return edf_einsum("s[b] = x[b,I] x[b,I]", h);
}

static void run_with(int kernel, int run) {
  edf_real x[BATCH * WIDE];
  for (int i = 0; i < BATCH * WIDE; i++) x[i] = (edf_real)(i * 37 % 41) / 41 - (edf_real)0.5;
  edf_clear();
  edf_seed(3);
  n_seen = 0;
  edf_node *in = edf_input("x[b,%d]", WIDE);
  W = edf_parameter("W[%d,%d]", WIDE, WIDE);
  edf_init_normal(W, 0, (edf_real)0.3);
  edf_node *loss = model(in);
  edf.kernel = kernel;
  edf_feed(in, x, BATCH);
  for (int round = 0; round < ROUNDS; round++) {
    forward_and_backward(loss);
    note(loss->value, loss->size, run);
    note(W->grad, W->size, run);
    edf_sgd((edf_real)0.01);
    note(W->value, W->size, run);
  }
  edf.kernel = EDF_FASTEST;
}

static void written_in_plain_c(void) {
  double most = sizeof(edf_real) == sizeof(double) ? 1e-9 : 2e-3;
  for (int p = NOWHERE; p < PLACES; p++)
    for (int kernel = EDF_FASTEST; kernel <= EDF_BUILTIN; kernel++) {
      where = (place)p;
      run_with(EDF_REFERENCE, 0);
      run_with(kernel, 1);
      double worst = 0;
      for (int i = 0; i < n_seen; i++) {
        double off = fabs(seen[0][i] - seen[1][i]) / (1 + fabs(seen[0][i]));
        worst = off > worst ? off : worst;
      }
      CHECK(worst < most, "written %s: off by %g", name_of[p], worst);
    }
}

/* The same, with the model built anew each time, so that new products meet old panels. */
static void graphs_in_turn(void) {
  edf_real x[BATCH * WIDE];
  for (int i = 0; i < BATCH * WIDE; i++) x[i] = (edf_real)(i * 37 % 41) / 41 - (edf_real)0.5;
  edf_clear();
  edf_seed(3);
  where = NOWHERE;
  edf_node *in = edf_input("x[b,%d]", WIDE);
  W = edf_parameter("W[%d,%d]", WIDE, WIDE);
  edf_init_normal(W, 0, (edf_real)0.3);
  for (int round = 0; round < ROUNDS; round++) {
    edf_real found[2][BATCH];
    for (int k = 0; k < 2; k++) {
      edf_clear_compnodes();
      edf_node *loss = model(in);
      edf.kernel = k ? EDF_REFERENCE : EDF_FASTEST;
      edf_feed(in, x, BATCH);
      edf_forward();
      memcpy(found[k], loss->value, sizeof found[k]);
      edf_backward(loss);
    }
    for (int b = 0; b < BATCH; b++)
      CHECK(fabs((double)(found[0][b] - found[1][b])) < 1e-3, "round %d, row %d: %g and %g",
            round, b, (double)found[0][b], (double)found[1][b]);
    edf_sgd((edf_real)0.01);
  }
  edf.kernel = EDF_FASTEST;
}


int main(void) {
#ifdef _OPENMP
  inside_cut_work_above(0);
  omp_set_num_threads(3);
#endif
  RUN(written_in_plain_c);
  RUN(graphs_in_turn);
  return harness_report();
}
