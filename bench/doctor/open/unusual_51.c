/* How long a journey takes: the 10%, 50% and 90% quantiles at once, by the pinball loss.
   Unusual: no square in the loss, the levels sit in a frozen parameter, lopsided noise.
   CAUSE healthy
   FAULT none
   SYMPTOMS none
   MEASURE test pinball loss (the true quantiles have 0.112 0.116), healthy 0.114 0.117
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/lab.h"
#include <math.h>
#include <stdlib.h>

enum { N = 4000, TEST = 2000, BATCH = 64 };

static edf_real trip[N + TEST][3], minutes[N + TEST];

static void draw_trips(void) {
  for (int n = 0; n < N + TEST; n++) {
    for (int i = 0; i < 3; i++) trip[n][i] = edf_uniform(-1, 1);
    double typical = sin(2 * trip[n][0]) + trip[n][1] * trip[n][1];
    double spread = 0.2 + 0.3 * (1 + trip[n][2]);
    minutes[n] = (edf_real)(typical - spread * log(1 - edf_uniform(0, 0.9999f)));
  }
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  draw_trips();
  Input *x = edf_input("x[b,3]"), *y = edf_input("y[b]");
  Parameter *tilt = edf_parameter("tilt[3]");
  edf_real level[3] = { 0.1f, 0.5f, 0.9f };
  for (int k = 0; k < 3; k++) tilt->value[k] = level[k] - 0.5f;
  tilt->update = edf_frozen;
  CompNode *h1 = Tanh(Affine(edf_affine_params(3, 32), x));
  CompNode *h2 = Tanh(Affine(edf_affine_params(32, 32), h1));
  CompNode *q = Affine(edf_affine_params(32, 3), h2);
  CompNode *off = Einsum("u[b,k] = y[b] - q[b,k]", y, q);
  CompNode *loss = Einsum("l[b,k] = 0.5 a[b,k] + tilt[k] u[b,k]", Abs(off), tilt, off);
  edf_doctor(loss);
  for (int step = 0; step < 2000; step++) {
    int at = edf_below(N - BATCH);
    edf_feed(x, trip[at], BATCH);
    edf_feed(y, minutes + at, BATCH);
    Forward();
    Backward(loss);
    AdamDefault(step < 1500 ? 0.003 : 0.0005);
  }
  edf_feed(x, trip[N], TEST);
  edf_feed(y, minutes + N, TEST);
  Forward();
  for (int k = 0; k < 3; k++) {
    int below = 0;
    for (int n = 0; n < TEST; n++) below += minutes[N + n] < edf_value(q)[3 * n + k];
    printf("below quantile %.1f: %.3f\n", (double)level[k], (double)below / TEST);
  }
  double best = 0;
  for (int n = N; n < N + TEST; n++)
    for (int k = 0; k < 3; k++) {
      double typical = sin(2 * trip[n][0]) + trip[n][1] * trip[n][1];
      double u = minutes[n] - typical + (0.5 + 0.3 * trip[n][2]) * log(1 - level[k]);
      best += (u > 0 ? level[k] * u : (level[k] - 1) * u) / (3 * TEST);
    }
  printf("with the true quantiles: %.3f\n", best);
  printf("MEASURE %.3f\n", edf_mean_value(loss));
  edf_clear();
}
