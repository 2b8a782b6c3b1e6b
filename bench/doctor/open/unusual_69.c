/* Heartbeats of three kinds: a filter bank of Mexican hats, set by hand and frozen, slides
   over a signal of 48 samples; only the layers behind it learn. Unusual: a frozen first layer
   and a step only at each third Backward, the gradients are summed until then.
   CAUSE healthy
   FAULT none
   SYMPTOMS none
   MEASURE test accuracy, healthy 0.993 0.990
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/lab.h"
#include <math.h>
#include <stdlib.h>

enum { LONG = 48, WIDTH = 13, FILTERS = 5, N = 20000, TEST = 600, BATCH = 20 };

static edf_real beat[N + TEST][LONG], kind[N + TEST];

static void draw_beats(void) {
  const double width[3] = { 1.2, 2.5, 2.5 };
  for (int n = 0; n < N + TEST; n++) {
    int k = edf_below(3);
    double at = edf_uniform(12, 34);
    kind[n] = (edf_real)k;
    for (int t = 0; t < LONG; t++) {
      double z = (t - at) / width[k], after = (t - at - 6) / 1.2;
      double v = 2 * exp(-z * z / 2) + (k == 2 ? exp(-after * after / 2) : 0);
      beat[n][t] = (edf_real)(v - 0.25) + edf_normal(0, 0.2f);
    }
  }
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  draw_beats();
  Input *x = edf_input("x[b,%d]", LONG), *y = edf_input("y[b]");
  Parameter *hat = edf_parameter("hat[%d,%d]", FILTERS, WIDTH);
  for (int f = 0; f < FILTERS; f++)
    for (int d = 0; d < WIDTH; d++) {
      double z = (d - WIDTH / 2) / (0.8 + 0.5 * f);
      hat->value[f * WIDTH + d] = (edf_real)((1 - z * z) * exp(-z * z / 2));
    }
  hat->update = edf_frozen;
  CompNode *bank = Einsum("c[b,t,f] = hat[f,D] x[b,t+D]", hat, x);
  CompNode *flat = Reshape(Relu(bank), "r[b,180]");
  CompNode *h = Relu(Affine(edf_affine_params(180, 24), flat));
  CompNode *s = Affine(edf_affine_params(24, 3), h);
  CompNode *loss = SoftmaxLogLoss(s, y);
  edf_doctor(loss);
  edf.accumulate = 1;
  for (int step = 0; step < 3000; step++) {
    int at = step * BATCH % N;
    edf_feed(x, beat[at], BATCH);
    edf_feed(y, kind + at, BATCH);
    Forward();
    Backward(loss);
    if (step % 3 == 2) {
      Momentum(0.03 / 3, 0.9);
      edf_zero_grad();
    }
  }
  edf_feed(x, beat[N], TEST);
  edf_feed(y, kind + N, TEST);
  Forward();
  printf("MEASURE %.3f\n", 1 - edf_error_rate(s, y));
  edf_clear();
}
