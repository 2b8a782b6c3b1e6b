/* A ledger of 12 entries, each of one of 4 accounts: after each entry, what is the mean amount
   so far on its account? One head of attention by equations, which looks back alone.
   CAUSE wrong-mask
   FAULT the mask stands behind the softmax: the weights that are left do not sum to 1
   SYMPTOMS none
   MEASURE test R2, healthy 1.000 1.000, faulty 0.808 0.817
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/lab.h"
#include <stdlib.h>

enum { N = 1500, TEST = 300, LENGTH = 12, ACCOUNTS = 4, IN = ACCOUNTS + 1, BATCH = 50 };

static edf_real ledgers[N + TEST][LENGTH][IN], means[N + TEST][LENGTH];

static void draw(void) {
  for (int n = 0; n < N + TEST; n++) {
    double sum[ACCOUNTS] = { 0 };
    int entries[ACCOUNTS] = { 0 };
    for (int t = 0; t < LENGTH; t++) {
      int k = edf_below(ACCOUNTS);
      edf_real amount = edf_normal(0, 1);
      ledgers[n][t][k] = 1;
      ledgers[n][t][ACCOUNTS] = amount;
      sum[k] += amount;
      means[n][t] = (edf_real)(sum[k] / ++entries[k]);
    }
  }
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  draw();
  Input *x = edf_input("x[b,t=12,5]"), *y = edf_input("y[b,t=12]");
  CompNode *loss = Equations(
    "Q[b,t,d] = Wq[d,I] x[b,t,I]    | d<16 \n"
    "K[b,t,d] = Wk[d,I] x[b,t,I]    | d<16 \n"
    "V[b,t,d] = Wv[d,I] x[b,t,I]    | d<16 \n"
    "e[b,t,s] = 0.25 Q[b,t,D] K[b,s,D] \n"
#ifdef FAULTY
    "a[b,t,s] = softmax_s e[b,t,s] \n"
    "z[b,t,d] = a[b,t,S] V[b,S,d]   | S<=t \n"
#else
    "a[b,t,s] = softmax_s e[b,t,s]  | s<=t \n"
    "z[b,t,d] = a[b,t,S] V[b,S,d] \n"
#endif
    "r[b,t] = w[D] z[b,t,D] - c[t] \n"
    "loss[b,t] = (r[b,t] - y[b,t])^2");
  edf_doctor(loss);
  for (int step = 0; step < 900; step++) {
    int at = step * BATCH % N;
    edf_feed(x, ledgers[at][0], BATCH);
    edf_feed(y, means[at], BATCH);
    Forward();
    Backward(loss);
    AdamDefault(0.005);
  }
  edf_feed(x, ledgers[N][0], TEST);
  edf_feed(y, means[N], TEST);
  Forward();
  double left = 0, all = 0;
  const edf_real *r = edf_value(edf_find("r")), *truth = edf_value(y);
  for (int i = 0; i < TEST * LENGTH; i++) {
    double d = r[i] - truth[i];
    left += d * d;
    all += truth[i] * truth[i];
  }
  printf("MEASURE %.3f\n", 1 - left / all);
  edf_clear();
}
