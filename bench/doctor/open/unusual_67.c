/* Five kinds of wine from nine measures: softmax regression, as in the first lecture. Unusual:
   all weights begin at zero (the loss is convex), targets are one-hot rows with -sum t ln P,
   momentum 0.99 with a very small rate, and each batch is drawn at random with repetitions.
   CAUSE healthy
   FAULT none
   SYMPTOMS none
   MEASURE test accuracy (the best possible is 0.968 0.905), healthy 0.966 0.897
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/lab.h"
#include <math.h>
#include <stdlib.h>

enum { D = 9, K = 5, N = 2000, TEST = 1500, BATCH = 64 };

static edf_real wine[N + TEST][D], one_hot[N + TEST][K], typical[K][D];
static edf_real X[BATCH][D], T[BATCH][K];

static void draw_wines(void) {
  for (int k = 0; k < K; k++)
    for (int i = 0; i < D; i++) typical[k][i] = edf_normal(0, 1);
  for (int n = 0; n < N + TEST; n++) {
    int k = edf_below(K);
    for (int i = 0; i < D; i++) wine[n][i] = typical[k][i] + edf_normal(0, 0.8f);
    one_hot[n][k] = 1;
  }
}

static int nearest(const edf_real *x) {                 /* the best that can be done */
  int best = 0;
  double least = 1e9;
  for (int k = 0; k < K; k++) {
    double d = 0;
    for (int i = 0; i < D; i++) d += (x[i] - typical[k][i]) * (x[i] - typical[k][i]);
    if (d < least) least = d, best = k;
  }
  return best;
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  draw_wines();
  Input *x = edf_input("x[b,%d]", D), *t = edf_input("t[b,%d]", K);
  Parameter *W = edf_parameter("W[%d,%d]", K, D), *B = edf_parameter("B[%d]", K);
  CompNode *s = Einsum("s[b,k] = W[k,I] x[b,I] - B[k]", W, x, B);
  CompNode *P = Softmax(s);
  CompNode *loss = Einsum("l[b] = - t[b,K] q[b,K]", t, Log(P));
  edf_doctor(loss);
  for (int step = 0; step < 1500; step++) {
    for (int b = 0; b < BATCH; b++) {
      int n = edf_below(N);
      for (int i = 0; i < D; i++) X[b][i] = wine[n][i];
      for (int k = 0; k < K; k++) T[b][k] = one_hot[n][k];
    }
    edf_feed(x, X[0], BATCH);
    edf_feed(t, T[0], BATCH);
    Forward();
    Backward(loss);
    Momentum(0.001, 0.99);
  }
  edf_feed(x, wine[N], TEST);
  edf_feed(t, one_hot[N], TEST);
  Forward();
  int right = 0, possible = 0;
  for (int n = 0; n < TEST; n++) {
    const edf_real *row = edf_value(P) + n * K;
    int best = 0;
    for (int k = 1; k < K; k++)
      if (row[k] > row[best]) best = k;
    right += one_hot[N + n][best] > 0;
    possible += one_hot[N + n][nearest(wine[N + n])] > 0;
  }
  printf("possible: %.3f\n", (double)possible / TEST);
  printf("MEASURE %.3f\n", (double)right / TEST);
  edf_clear();
}
