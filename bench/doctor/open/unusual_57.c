/* A denoising autoencoder for the 20 gauges of a plant, of which a random two fifths are
   silent. Unusual: what is fed is drawn anew at each step, many entries and now and then a
   whole row of it are exactly zero, and the target is another Input than x on purpose.
   CAUSE healthy
   FAULT none
   SYMPTOMS none
   MEASURE 1-R2 of all gauges of fresh states, two fifths silent, healthy 0.146 0.182
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/lab.h"
#include <math.h>
#include <stdlib.h>

enum { D = 20, N = 3000, TEST = 1000, BATCH = 100 };

static edf_real state[N + TEST][D], heard[TEST][D], mix[3][D], phase[D];

static void draw_states(void) {
  for (int i = 0; i < D; i++) {
    phase[i] = edf_uniform(0, 6);
    for (int r = 0; r < 3; r++) mix[r][i] = edf_normal(0, 0.8f);
  }
  for (int n = 0; n < N + TEST; n++) {
    edf_real hidden[3] = { edf_normal(0, 1), edf_normal(0, 1), edf_normal(0, 1) };
    for (int i = 0; i < D; i++) {
      double s = phase[i];
      for (int r = 0; r < 3; r++) s += mix[r][i] * hidden[r];
      state[n][i] = (edf_real)(1.4 * sin(s)) + edf_normal(0, 0.05f);
    }
  }
}

static void silence(edf_real from[][D], int rows) {
  for (int n = 0; n < rows; n++) {
    int cut = edf_below(200) == 0;                     /* the whole line is down */
    for (int i = 0; i < D; i++)
      heard[n][i] = cut || edf_uniform(0, 1) < 0.4f ? 0 : from[n][i];
  }
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  draw_states();
  edf_input("x[b,%d]", D);
  edf_input("clean[b,%d]", D);
  CompNode *loss = Equations("a[b,j] = relu(W[j,I] x[b,I] - B[j])  | j<96 \n"
                             "c[b,k] = relu(V[k,J] a[b,J] - C[k])  | k<96 \n"
                             "r[b,i] = U[i,K] c[b,K] - D[i]        | i<20 \n"
                             "e[b,i] = clean[b,i] - r[b,i] \n"
                             "loss[b] = 0.05 e[b,I] e[b,I]");
  edf_doctor(loss);
  for (int step = 0; step < 2000; step++) {
    int at = step * BATCH % N;
    silence(state + at, BATCH);
    edf_feed(edf_find("x"), heard[0], BATCH);
    edf_feed(edf_find("clean"), state[at], BATCH);
    Forward();
    Backward(loss);
    AdamDefault(step < 1400 ? 0.003 : 0.0005);
  }
  silence(state + N, TEST);
  edf_feed(edf_find("x"), heard[0], TEST);
  edf_feed(edf_find("clean"), state[N], TEST);
  Forward();
  double variance = 0;
  for (int i = 0; i < D; i++) {
    double sum = 0, square = 0;
    for (int n = N; n < N + TEST; n++) sum += state[n][i], square += state[n][i] * state[n][i];
    variance += (square / TEST - sum / TEST * sum / TEST) / D;
  }
  printf("MEASURE %.3f\n", edf_mean_value(loss) / variance);
  edf_clear();
}
