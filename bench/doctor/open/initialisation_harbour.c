/* The water level of a harbour from tide, wind and six other instruments: a relu network.
   The layers are made by a function; "a positive bias keeps the relus alive at the start".
   CAUSE bad-bias
   FAULT B is subtracted in this framework: a start at +2 makes nearly every relu dead
   SYMPTOMS dead-units no-progress
   MEASURE 1-R2 on fresh rows, healthy 0.043 0.053, faulty 1.000 1.001
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/lab.h"
#include <math.h>
#include <stdlib.h>

enum { N = 1500, TEST = 500, D = 8, BATCH = 50 };

static edf_real gauges[N + TEST][D], level[N + TEST][1];

static void draw_harbour(void) {
  for (int n = 0; n < N + TEST; n++) {
    for (int i = 0; i < D; i++) gauges[n][i] = edf_normal(0, 1);
    double tide = sin(1.5 * gauges[n][0]), wind = gauges[n][1] > 0 ? gauges[n][1] : 0;
    double rain = gauges[n][3] > 0 ? gauges[n][2] : 0;
    level[n][0] = (edf_real)(tide + 0.8 * wind * wind - 0.5 * rain)
                + edf_normal(0, 0.1f);
  }
}

static CompNode *hidden(CompNode *x, int n_in, int n_out) {
  AffineParams Phi = edf_affine_params(n_in, n_out);
#ifdef FAULTY
  for (int j = 0; j < n_out; j++) Phi.b->value[j] = 2;
#else
  for (int j = 0; j < n_out; j++) Phi.b->value[j] = -0.1f;
#endif
  return Relu(Affine(Phi, x));
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  draw_harbour();
  Input *x = edf_input("x[b,%d]", D), *y = edf_input("y[b,1]");
  CompNode *h = hidden(hidden(x, D, 48), 48, 48);
  CompNode *p = Affine(edf_affine_params(48, 1), h), *loss = MSE(p, y);
  edf_doctor(loss);
  for (int step = 0; step < 1500; step++) {
    int at = step * BATCH % N;
    edf_feed(x, gauges[at], BATCH);
    edf_feed(y, level[at], BATCH);
    Forward();
    Backward(loss);
    Momentum(0.01, 0.9);
  }
  edf_feed(x, gauges[N], TEST);
  edf_feed(y, level[N], TEST);
  Forward();
  double mean = 0, variance = 0;
  for (int n = N; n < N + TEST; n++) mean += level[n][0] / TEST;
  for (int n = N; n < N + TEST; n++) variance += pow(level[n][0] - mean, 2) / TEST;
  printf("MEASURE %.3f\n", (double)edf_value(loss)[0] / variance);
  edf_clear();
}
