/* The light that a leaf throws back in 16 bands of colour; asked: chlorophyll per area of the
   leaf and water in it, two numbers. The lamp's strength and the camera do not change.
   CAUSE wrong-normalisation
   FAULT each spectrum is standardised by itself, instead of each band over all leaves
   SYMPTOMS no-progress
   MEASURE test R2, healthy 0.997 0.997, faulty 0.841 0.766
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/lab.h"
#include <math.h>
#include <stdlib.h>

enum { BANDS = 16, N = 1200, TEST = 400 };

static edf_real spectrum[N + TEST][BANDS], amount[N + TEST][2];

/* Beer's law: what is absorbed in each band grows with what there is of each substance. */
static void measure(int i) {
  double green = edf_uniform(0.2f, 2), water = edf_uniform(0.2f, 2);
  for (int j = 0; j < BANDS; j++) {
    double absorbed = green * (0.3 + 0.7 * exp(-pow((j - 5) / 4.0, 2))) +
                      water * (0.3 + 0.5 * exp(-pow((j - 10) / 6.0, 2)));
    spectrum[i][j] = (edf_real)(200 * exp(-absorbed)) * (1 + edf_normal(0, 0.03f));
  }
  amount[i][0] = (edf_real)green - 1.1f;
  amount[i][1] = (edf_real)water - 1.1f;
}

/* n numbers, `step` apart, to mean 0 and deviation 1, and `all` of them by the same. */
static void standardise(edf_real *v, int n, int all, int step) {
  double mean = 0, variance = 0;
  for (int i = 0; i < n; i++) mean += v[i * step] / n;
  for (int i = 0; i < n; i++) variance += pow(v[i * step] - mean, 2) / n;
  for (int i = 0; i < all; i++)
    v[i * step] = (edf_real)((v[i * step] - mean) / (sqrt(variance) + 1e-6));
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  for (int i = 0; i < N + TEST; i++) measure(i);
#ifdef FAULTY
  for (int i = 0; i < N + TEST; i++) standardise(spectrum[i], BANDS, BANDS, 1);
#else
  for (int j = 0; j < BANDS; j++) standardise(&spectrum[0][j], N, N + TEST, BANDS);
#endif
  Input *x = edf_input("x[b,16]"), *t = edf_input("t[b,2]");
  AffineParams one = edf_affine_params(BANDS, 40), two = edf_affine_params(40, 20),
               three = edf_affine_params(20, 2);
  CompNode *h = Gelu(Affine(one, x));
  h = Gelu(Affine(two, h));
  CompNode *out = Affine(three, h), *loss = MSE(out, t);
  edf_doctor(loss);
  for (int step = 0; step < 1500; step++) {
    int at = edf_below(N / 30) * 30;
    edf_feed(x, spectrum[at], 30);
    edf_feed(t, amount[at], 30);
    Forward();
    Backward(loss);
    Adam(step < 1000 ? 0.002f : 0.0005f, 0.9f, 0.999f, 1e-8f);
  }
  edf_feed(x, spectrum[N], TEST);
  edf_feed(t, amount[N], TEST);
  Forward();
  double left = 0, all = 0;
  for (int i = 0; i < 2 * TEST; i++) {
    double t_i = amount[N + i / 2][i % 2];
    left += pow(out->value[i] - t_i, 2);
    all += pow(t_i, 2);
  }
  printf("MEASURE %.3f\n", 1 - left / all);
  edf_clear();
}
