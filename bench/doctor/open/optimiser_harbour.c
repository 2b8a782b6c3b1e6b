/* Which ship is it? Three kinds of ships and their sounds under water, 20 samples each, heard
   by a GRU; its last state says the kind.
   CAUSE clip-too-small
   FAULT the gradient is cut to a norm of 0.005, with plain SGD: each step is next to nothing
   SYMPTOMS no-progress
   MEASURE test accuracy, healthy 1.000 1.000, faulty 0.467 0.453
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/layers.h"
#include "edf/lab.h"
#include <math.h>
#include <stdlib.h>

enum { N = 900, TEST = 300, TIME = 20, BATCH = 30, EPOCHS = 24, UNITS = 16 };
#ifdef FAULTY
#define MOST 0.005
#else
#define MOST 5
#endif

/* A ship: how fast its screw turns, and how often it knocks. */
static const double turn[3] = { 0.5, 0.8, 0.8 };
static const int knock[3] = { 7, 7, 4 };

static void listen(edf_array sound, edf_array ship) {
  for (int n = 0; n < sound.dim[0]; n++) {
    int kind = edf_below(3), first = edf_below(knock[kind]);
    double phase = edf_uniform(0, 6.2831853f);
    for (int t = 0; t < TIME; t++) {
      edf_real *at = sound.value + (n * TIME + t) * 2;
      at[0] = (edf_real)(1.3 * sin(turn[kind] * t + phase)) + edf_normal(0, 0.2f);
      at[1] = (t % knock[kind] == first ? 2.0f : -0.3f) + edf_normal(0, 0.3f);
    }
    ship.value[n] = (edf_real)kind;
  }
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  int shape[3] = { N, TIME, 2 }, test_shape[3] = { TEST, TIME, 2 };
  edf_array sound = edf_new_array(3, shape), ship = edf_new_array(1, shape);
  edf_array test_sound = edf_new_array(3, test_shape);
  edf_array test_ship = edf_new_array(1, test_shape);
  listen(sound, ship);
  listen(test_sound, test_ship);

  Input *x = edf_input("x[b,20,2]"), *y = edf_input("y[b]");
  CompNode *h = Unroll(edf_gru_params(2, UNITS), x);
  CompNode *last = Einsum("l[b,j] = h[b,19,j]", h);
  CompNode *s = Affine(edf_affine_params(UNITS, 3), last), *loss = SoftmaxLogLoss(s, y);
  edf_doctor(loss);
  for (int epoch = 0; epoch < EPOCHS; epoch++) {
    edf_all batch;
    for (edf_batches(&batch, x, sound, y, ship, BATCH); edf_next(&batch);) {
      Forward();
      Backward(loss);
      edf_clip(MOST);
      SGD(0.7);
    }
  }
  edf_feed(x, test_sound.value, TEST);
  edf_feed(y, test_ship.value, TEST);
  Forward();
  printf("MEASURE %.3f\n", 1 - edf_error_rate(s, y));
  edf_clear();
  edf_free_array(&sound);
  edf_free_array(&ship);
  edf_free_array(&test_sound);
  edf_free_array(&test_ship);
}
