/* How many days does a parcel take? From its weight, distance, hour and so on, and from who
   sends it: each of 2000 shops is described by the mean time of its other parcels so far.
   CAUSE leak
   FAULT the shop's mean is taken with the parcel itself, so that its time is in the input
   SYMPTOMS overfits evaluation-differs
   MEASURE test R2, healthy 0.758 0.729, faulty 0.543 0.566
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/lab.h"
#include <math.h>
#include <stdlib.h>

enum { SHOPS = 2000, N = 1400, TEST = 500, FEATURES = 6 };

typedef struct { edf_real x[FEATURES], days; int shop; } parcel;

static parcel sent[N + TEST];
static edf_real row[N + TEST][FEATURES], days[N + TEST];
static double total[SHOPS];
static int count[SHOPS];

static void draw(void) {
  static double slow[SHOPS];
  for (int i = 0; i < SHOPS; i++) slow[i] = edf_normal(0, 0.3f);
  for (int i = 0; i < N + TEST; i++) {
    parcel *p = &sent[i];
    p->shop = edf_below(SHOPS);
    for (int j = 0; j < FEATURES - 1; j++) p->x[j] = edf_normal(0, 1);
    p->days = (edf_real)(0.8 * p->x[0] + 0.6 * fabs(p->x[1]) + 0.5 * p->x[2] * (p->x[3] > 0) +
                         slow[p->shop]) + edf_normal(0, 0.4f);
  }
}

/* The mean time of the shop of parcel i, drawn to that of all shops where it has sent few. */
static double shop_mean(int i) {
  int n = count[sent[i].shop];
  double sum = total[sent[i].shop];
#ifndef FAULTY
  if (i < N) n--, sum -= sent[i].days;
#endif
  return (sum + 0.2 * 0.5) / (n + 0.2);
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  draw();
  for (int i = 0; i < N; i++) {
    total[sent[i].shop] += sent[i].days;
    count[sent[i].shop]++;
  }
  for (int i = 0; i < N + TEST; i++) {
    for (int j = 0; j < FEATURES - 1; j++) row[i][j] = sent[i].x[j];
    row[i][FEATURES - 1] = (edf_real)(2 * (shop_mean(i) - 0.5));
    days[i] = sent[i].days;
  }
  Input *x = edf_input("x[b,6]"), *t = edf_input("t[b,1]");
  AffineParams one = edf_affine_params(FEATURES, 20), two = edf_affine_params(20, 1);
  CompNode *out = Affine(two, Softplus(Affine(one, x))), *loss = MSE(out, t);
  edf_doctor(loss);
  for (int step = 0; step < 1200; step++) {
    int at = edf_below(N / 50) * 50;
    edf_feed(x, row[at], 50);
    edf_feed(t, days + at, 50);
    Forward();
    Backward(loss);
    RMSProp(0.003f, 0.9f, 1e-8f);
  }
  edf.training = 0;
  edf_feed(x, row[N], TEST);
  edf_feed(t, days + N, TEST);
  Forward();
  double mean = 0, variance = 0;
  for (int i = N; i < N + TEST; i++) mean += days[i] / TEST;
  for (int i = N; i < N + TEST; i++) variance += pow(days[i] - mean, 2) / TEST;
  printf("MEASURE %.3f\n", 1 - edf_mean_value(loss) / variance);
  edf_clear();
}
