/* A bird's call: its species and its distance, from one trunk with two heads. Unusual: two
   Backwards of two losses in turns, so that at each step the other head has no gradient and
   makes no step; both batches are drawn at random from the rows.
   CAUSE healthy
   FAULT none
   SYMPTOMS none
   MEASURE test accuracy of the species (R2 of the distance 0.86 0.82), healthy 1.000 0.998
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/lab.h"
#include <math.h>
#include <stdlib.h>

enum { BANDS = 30, SPECIES = 5, N = 2000, TEST = 600, BATCH = 50 };

static edf_real call[N + TEST][BANDS], species[N + TEST], distance[N + TEST][1];

static void draw_calls(void) {
  double voice[SPECIES][BANDS];
  for (int k = 0; k < SPECIES; k++)
    for (int i = 0; i < BANDS; i++) voice[k][i] = edf_normal(0, 1);
  for (int n = 0; n < N + TEST; n++) {
    int k = edf_below(SPECIES);
    double d = edf_uniform(-1.7f, 1.7f);
    species[n] = (edf_real)k;
    distance[n][0] = (edf_real)d;
    for (int i = 0; i < BANDS; i++) {                  /* far calls lose their high bands */
      double heard = voice[k][i] * (1 - 0.25 * (d + 1.7) * i / BANDS) - 0.02 * i * d;
      call[n][i] = (edf_real)heard + edf_normal(0, 0.6f);
    }
  }
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  draw_calls();
  Input *x = edf_input("x[b,%d]", BANDS), *y = edf_input("y[b]"), *d = edf_input("d[b,1]");
  CompNode *h = Relu(Affine(edf_affine_params(BANDS, 40), x));
  CompNode *g = Relu(Affine(edf_affine_params(40, 24), h));
  CompNode *s = Affine(edf_affine_params(24, SPECIES), g);
  CompNode *far = Affine(edf_affine_params(24, 1), g);
  CompNode *loss = SoftmaxLogLoss(s, y), *miss = MSE(far, d);
  edf_doctor(loss);
  for (int step = 0; step < 1600; step++) {
    int at = edf_below(N - BATCH);
    edf_feed(x, call[at], BATCH);
    edf_feed(y, species + at, BATCH);
    edf_feed(d, distance[at], BATCH);
    Forward();
    if (step % 2 == 0) Backward(loss);
    else Backward(miss);
    SGD(0.05);
  }
  edf_feed(x, call[N], TEST);
  edf_feed(y, species + N, TEST);
  edf_feed(d, distance[N], TEST);
  Forward();
  double variance = 0;
  for (int n = N; n < N + TEST; n++) variance += distance[n][0] * distance[n][0] / TEST;
  printf("R2 of the distance: %.3f\n", 1 - (double)edf_value(miss)[0] / variance);
  printf("MEASURE %.3f\n", 1 - edf_error_rate(s, y));
  edf_clear();
}
