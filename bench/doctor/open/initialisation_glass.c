/* Six kinds of glass from the spectrum of 120 wavelengths; two layers of sigmoids.
   CAUSE weights-too-large
   FAULT the weights are drawn from 0 to 1 as in a loop of rand(), not around zero with 1/n
   SYMPTOMS saturated-units no-progress
   MEASURE test accuracy, healthy 1.000 0.985, faulty 0.162 0.155
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/lab.h"
#include <math.h>
#include <stdlib.h>

enum { WAVES = 120, KINDS = 6, N = 1200, TEST = 600, BATCH = 40 };

static edf_real spectrum[N + TEST][WAVES], kind[N + TEST];

static void draw_glass(void) {
  double peak[KINDS][3];
  for (int k = 0; k < KINDS; k++)
    for (int p = 0; p < 3; p++) peak[k][p] = edf_uniform(10, WAVES - 10);
  for (int n = 0; n < N + TEST; n++) {
    int k = edf_below(KINDS);
    kind[n] = (edf_real)k;
    double wobble = edf_normal(0, 3), sum = 0, square = 0;
    for (int i = 0; i < WAVES; i++) {
      double v = edf_normal(0, 0.25f);
      for (int p = 0; p < 3; p++) {
        double d = (i - peak[k][p] - wobble) / 5;
        v += exp(-d * d / 2);
      }
      spectrum[n][i] = (edf_real)v;
      sum += v;
      square += v * v;
    }
    double mean = sum / WAVES, deviation = sqrt(square / WAVES - mean * mean);
    for (int i = 0; i < WAVES; i++)                  /* each spectrum: mean 0, deviation 1 */
      spectrum[n][i] = (edf_real)((spectrum[n][i] - mean) / deviation);
  }
}

static CompNode *layer(CompNode *x, int n_in, int n_out) {
  Parameter *W = edf_parameter("W[%d,%d]", n_in, n_out), *B = edf_parameter("B[%d]", n_out);
#ifdef FAULTY
  edf_init_uniform(W, 0, 1);
#else
  edf_init_uniform(W, (edf_real)-sqrt(3.0 / n_in), (edf_real)sqrt(3.0 / n_in));
#endif
  return Einsum("s[b,j] = W[I,j] x[b,I] - B[j]", W, x, B);
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  draw_glass();
  Input *x = edf_input("x[b,%d]", WAVES), *y = edf_input("y[b]");
  CompNode *h1 = Sigmoid(layer(x, WAVES, 50));
  CompNode *h2 = Sigmoid(layer(h1, 50, 50));
  CompNode *s = layer(h2, 50, KINDS);
  CompNode *loss = LogLoss(Softmax(s), y);
  edf_doctor(loss);
  for (int step = 0; step < 900; step++) {
    int at = step * BATCH % N;
    edf_feed(x, spectrum[at], BATCH);
    edf_feed(y, kind + at, BATCH);
    Forward();
    Backward(loss);
    Momentum(0.2, 0.9);
  }
  edf_feed(x, spectrum[N], TEST);
  edf_feed(y, kind + N, TEST);
  Forward();
  printf("MEASURE %.3f\n", 1 - edf_error_rate(s, y));
  edf_clear();
}
