/* made.h - what the files beside it hold: for made.c, which wrote them with version 1.3, and
   for tests/version.c, which loads them with today's. */

#ifndef MADE_H
#define MADE_H

#include "edf.h"
#include <math.h>

enum { PART_VALUE, PART_M, PART_S };

/* The i-th number of an array, of all magnitudes and with all bits of a double; some are at the
   ends of what a float can be. */
static inline double made_number(int array, size_t i) {
  static const double ends[] = { -0.0, 1e-40, -3.4028234e38, 1.1754944e-38, 1.0 / 3 };
  unsigned long long bits = ((unsigned long long)array << 32) + i + 1;
  bits *= 0x9E3779B97F4A7C15ull;
  bits ^= bits >> 29;
  bits *= 0xBF58476D1CE4E5B9ull;
  bits ^= bits >> 32;
  if (bits % 9 == 0) return bits % 2 ? (double)INFINITY : ends[bits / 9 % 5];
  return ldexp((double)(bits >> 11), (int)(bits % 41) - 73) * (bits & 64 ? -1 : 1);
}

/* A network with BatchNorm: parameters of rank 0 to 3, one with a name of other letters, and
   running statistics, which no optimiser moves. Of the others Adam remembers something. */
static inline edf_node *made_graph(void) {
  edf_clear();
  edf_seed(13);
  edf_node *x = edf_input("x[b,3]"), *t = edf_input("t[b]");
  edf_affine_package Phi = edf_affine_params(3, 4);
  edf_batch_norm_package norm = edf_batch_norm_params(4);
  edf_node *K = edf_parameter("K[2,4,5]"), *scale = edf_parameter("c");
  edf_node *h = edf_tanh(edf_batch_norm(norm, edf_affine(Phi, x)));
  edf_node *s = edf_einsum("s[b,k] = h[b,J] K[I,J,k]", h, K);
  edf_node *loss = edf_softmax_log_loss(edf_mul(s, scale), t);
  edf_name(scale, "scale \"\xC3\xA9\"");
  edf_name(Phi.w, "W");
  edf_name(Phi.b, "B");
  return loss;
}

/* The same in both types: a step of training, so that all arrays are there. */
static inline void made_step(edf_node *loss) {
  static const edf_real points[] = { 1, 2, 3, 4, 5, -6 }, classes[] = { 0, 4 };
  edf_feed(edf.inputs[0], points, 2);
  edf_feed(edf.inputs[1], classes, 2);
  edf_forward();
  edf_backward(loss);
  edf_adam((edf_real)0.01, (edf_real)0.9, (edf_real)0.999, (edf_real)1e-8);
}

static inline edf_real *made_part(edf_node *p, int part) {
  return part == PART_VALUE ? p->value : part == PART_M ? p->m : p->s;
}

enum { MADE_SEED = 1300, MADE_DRAWS = 77, NPY_ROWS = 5, NPY_COLUMNS = 7 };
static inline long made_steps(int parameter) { return 100 + parameter; }

#endif
