/* A variational autoencoder for scan lines of 48 samples: three bumps whose places and heights
   vary. Six latent numbers. Measured: the squared error of what comes back of new lines, by
   their mean code.
   CAUSE wrong-reduction
   FAULT the squared error is a mean over samples, the KL beside it a sum: the code collapses
   SYMPTOMS no-progress
   MEASURE squared error per sample of test lines, healthy 0.0140 0.0140, faulty 0.3244 0.3082
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/lab.h"
#include <math.h>
#include <stdlib.h>

enum { SAMPLES = 48, LATENT = 6, HIDDEN = 64, BATCH = 50, STEPS = 1500, TEST = 400 };

static edf_real lines[TEST][SAMPLES], noise[TEST][LATENT];

static void scan(int n) {
  for (int i = 0; i < n; i++) {
    for (int p = 0; p < SAMPLES; p++) lines[i][p] = edf_normal(0, 0.1f);
    for (int bump = 0; bump < 3; bump++) {
      double at = 8 + 16 * bump + edf_uniform(-5, 5), height = edf_uniform(-1.5f, 1.5f);
      for (int p = 0; p < SAMPLES; p++) {
        double d = (p - at) / 4;
        lines[i][p] += (edf_real)(height * exp(-d * d / 2));
      }
    }
  }
}

static void show(Input *x, Input *eps, int n, edf_real width) {
  for (int i = 0; i < n; i++)
    for (int z = 0; z < LATENT; z++) noise[i][z] = edf_normal(0, 1) * width;
  edf_feed(x, lines[0], n);
  edf_feed(eps, noise[0], n);
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  Input *x = edf_input("x[b,%d]", SAMPLES), *eps = edf_input("eps[b,%d]", LATENT);

  CompNode *h = Tanh(Affine(edf_affine_params(SAMPLES, HIDDEN), x));
  CompNode *mu = Affine(edf_affine_params(HIDDEN, LATENT), h);
  CompNode *logvar = Affine(edf_affine_params(HIDDEN, LATENT), h);
  CompNode *half = edf_einsum("half[b,z] = 0.5 v[b,z]", logvar);
  CompNode *z = Add(mu, Mul(Exp(half), eps));
  CompNode *g = Tanh(Affine(edf_affine_params(LATENT, HIDDEN), z));
  CompNode *out = Affine(edf_affine_params(HIDDEN, SAMPLES), g);

  /* the evidence bound: a normal likelihood of width 0.3, a standard normal prior */
  CompNode *miss = Square(Sub(out, x));
#ifdef FAULTY
  CompNode *rec = edf_text("r[b] = (1/I) miss[b,I]", miss);
#else
  CompNode *rec = edf_text("r[b] = miss[b,I]", miss);
#endif
  CompNode *apart = Sub(Add(Square(mu), Exp(logvar)), logvar);
  CompNode *kl = edf_text("k[b] = apart[b,Z]", apart);
  CompNode *loss = edf_einsum("loss[b] = 5.5 rec[b] + 0.5 kl[b]", rec, kl);
  edf_doctor(loss);

  for (int step = 0; step < STEPS; step++) {
    scan(BATCH);
    show(x, eps, BATCH, 1);
    Forward();
    Backward(loss);
    AdamDefault(0.003f);
    if (step % 250 == 249)
      printf("%4d  bound %.3f  rec %.3f\n", step + 1, edf_mean_value(loss),
             edf_mean_value(rec));
  }

  scan(TEST);
  show(x, eps, TEST, 0);
  Forward();
  printf("MEASURE %.4f\n", edf_mean_value(miss));
  edf_clear();
}
