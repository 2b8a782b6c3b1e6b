/* Demand of a power grid from the hour, the temperature and the kind of day. It scatters more
   on some days than on others, so the network says a mean and a log variance (Nix, Weigend).
   CAUSE wrong-sign
   FAULT the log variance is subtracted in the negative log likelihood, so it grows for ever
   SYMPTOMS diverges no-progress
   MEASURE test R2, healthy 0.912 0.901, faulty -0.851 -0.082
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/lab.h"
#include <math.h>
#include <stdlib.h>

enum { N = 1600, TEST = 500, BATCH = 40, EPOCHS = 30 };

static void measure(edf_array *X, edf_array *T, int n) {
  for (int i = 0; i < n; i++) {
    double hour = edf_uniform(0, 24), warm = edf_normal(0, 1);
    int holiday = edf_below(7) >= 5;
    double load = 0.9 * sin((hour - 8) * 0.2618) + 0.4 * sin(hour * 0.5236) * (1 - holiday)
                - 0.5 * holiday + 0.45 * warm * warm - 0.5;
    double spread = 0.08 + 0.25 * (warm > 1) + 0.15 * (hour > 16 && hour < 20);
    X->value[i * 4 + 0] = (edf_real)sin(hour * 0.2618);
    X->value[i * 4 + 1] = (edf_real)cos(hour * 0.2618);
    X->value[i * 4 + 2] = (edf_real)warm;
    X->value[i * 4 + 3] = (edf_real)holiday;
    T->value[i] = (edf_real)load + edf_normal(0, (edf_real)spread);
  }
}

static double r2(CompNode *guess, edf_array T) {
  double mean = 0, rest = 0, all = 0;
  for (size_t i = 0; i < T.size; i++) mean += T.value[i] / T.size;
  for (size_t i = 0; i < T.size; i++) {
    double t = T.value[i], d = t - edf_value(guess)[i];
    rest += d * d;
    all += (t - mean) * (t - mean);
  }
  return 1 - rest / all;
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  int train[] = { N, 4 }, test[] = { TEST, 4 };
  edf_array X = edf_new_array(2, train), T = edf_new_array(1, train);
  edf_array X2 = edf_new_array(2, test), T2 = edf_new_array(1, test);
  measure(&X, &T, N);
  measure(&X2, &T2, TEST);

  Input *x = edf_input("x[b,4]"), *t = edf_input("t[b]");
  edf_parameter("c"), edf_parameter("d");
  CompNode *loss = Equations("h[b,j] = tanh(W[j,I] x[b,I] - B[j])        | j<32 \n"
                             "g[b,j] = tanh(U[j,I] h[b,I] - A[j])        | j<32 \n"
                             "m[b] = V[J] g[b,J] - c                     \n"
                             "r[b] = Z[J] g[b,J] - d                     \n"
                             "e[b] = t[b] - m[b]                         \n"
                             "q[b] = e[b] e[b] exp(-r[b])               \n"
#ifdef FAULTY
                             "loss[b] = 0.5 q[b] - 0.5 r[b]");
#else
                             "loss[b] = 0.5 q[b] + 0.5 r[b]");
#endif
  CompNode *m = edf_find("m");
  edf_doctor(loss);

  for (int epoch = 1; epoch <= EPOCHS; epoch++) {
    edf_all batch;
    for (edf_batches(&batch, x, X, t, T, BATCH); edf_next(&batch);) {
      Forward();
      Backward(loss);
      AdamDefault(0.003f);
    }
    if (epoch % 10 == 0) printf("epoch %d, last batch %.3f\n", epoch, edf_mean_value(loss));
  }

  edf_feed(x, X2.value, TEST);
  edf_feed(t, T2.value, TEST);
  Forward();
  printf("MEASURE %.3f\n", r2(m, T2));
  edf_free_array(&X), edf_free_array(&T), edf_free_array(&X2), edf_free_array(&T2);
  edf_clear();
}
