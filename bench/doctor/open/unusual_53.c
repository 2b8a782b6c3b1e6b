/* Claims of insured drivers in a year: Poisson counts, of which four in five are zero, with
   the time insured as an offset. Unusual: an exponential as the output, no square and no
   softmax, targets constant for most rows, one input goes around the network.
   CAUSE healthy
   FAULT none
   SYMPTOMS none
   MEASURE R2 of the learned ln(rate) against the true one, fresh drivers, healthy 0.966 0.972
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/lab.h"
#include <math.h>
#include <stdlib.h>

enum { N = 20000, TEST = 2000, BATCH = 200 };

static edf_real driver[N + TEST][4], log_years[N + TEST][1], claims[N + TEST][1];
static edf_real truth[N + TEST];

static int poisson(double rate) {
  double product = edf_uniform(0, 1), end = exp(-rate);
  int n = 0;
  for (; product > end; n++) product *= edf_uniform(0, 1);
  return n;
}

static void draw_drivers(void) {
  for (int n = 0; n < N + TEST; n++) {
    for (int i = 0; i < 4; i++) driver[n][i] = edf_uniform(-1.7f, 1.7f);
    double years = edf_uniform(0.1f, 1), age = driver[n][0];
    truth[n] = (edf_real)(-1.8 + 0.5 * age * age + 0.6 * driver[n][1]
                          + 0.4 * (driver[n][2] > 0));
    log_years[n][0] = (edf_real)log(years);
    claims[n][0] = (edf_real)poisson(years * exp(truth[n]));
  }
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  draw_drivers();
  Input *x = edf_input("x[b,4]"), *e = edf_input("e[b,1]"), *n = edf_input("n[b,1]");
  AffineParams a = edf_affine_params(4, 20), z = edf_affine_params(20, 1);
  z.b->value[0] = 1;                                   /* ln(rate) starts near -1 */
  CompNode *r = Affine(z, Softplus(Affine(a, x)));
  CompNode *s = Add(r, e);
  CompNode *loss = Sub(Exp(s), Mul(n, s));
  edf_doctor(loss);
  for (int step = 0; step < 1500; step++) {
    int at = step * BATCH % N;
    edf_feed(x, driver[at], BATCH);
    edf_feed(e, log_years[at], BATCH);
    edf_feed(n, claims[at], BATCH);
    Forward();
    Backward(loss);
    Momentum(step < 1000 ? 0.05 : 0.01, 0.9);
  }
  edf_feed(x, driver[N], TEST);
  edf_forward_to(r);
  double mean = 0, variance = 0, error = 0;
  for (int i = N; i < N + TEST; i++) mean += truth[i] / TEST;
  for (int i = N; i < N + TEST; i++) {
    variance += pow(truth[i] - mean, 2);
    error += pow(truth[i] - edf_value(r)[i - N], 2);
  }
  printf("MEASURE %.3f\n", 1 - error / variance);
  edf_clear();
}
