/* Short notices, ten words of a vocabulary of 120: on which of four boards do they belong? The
   words' vectors are averaged; a layer behind them, and one that gives the scores. The step is
   Lion's: the sign of a mixture of the mean gradient and the newest.
   CAUSE part-not-trained
   FAULT the list of parameters that are stepped has the number 4, two of the six are missing
   SYMPTOMS no-progress
   MEASURE test accuracy, healthy 0.945 0.922, faulty 0.402 0.455
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/lab.h"
#include <stdlib.h>

enum { N = 2000, TEST = 400, WORDS = 10, VOCABULARY = 120, WIDTH = 6, BOARDS = 4, BATCH = 40,
       STEPS = 900 };

static edf_real words[N + TEST][WORDS], board[N + TEST];
static int topic_of[VOCABULARY];

static void draw(void) {
  for (int w = 0; w < VOCABULARY; w++) topic_of[w] = edf_below(BOARDS + 1);
  for (int n = 0; n < N + TEST; n++) {
    int k = edf_below(BOARDS);
    for (int t = 0; t < WORDS; t++) {
      int w = edf_below(VOCABULARY);
      while (topic_of[w] < BOARDS && topic_of[w] != k && edf_uniform(0, 1) < 0.9f)
        w = edf_below(VOCABULARY);
      words[n][t] = (edf_real)w;
    }
    board[n] = (edf_real)k;
  }
}

static edf_real *mean_of[8];

static void lion(Parameter **p, int n, edf_real rate) {
  for (int k = 0; k < n; k++) {
    if (!mean_of[k]) mean_of[k] = calloc(p[k]->size, sizeof(edf_real));
    edf_real *m = mean_of[k], *g = edf_grad(p[k]), *value = edf_value(p[k]);
    for (size_t i = 0; i < p[k]->size; i++) {
      edf_real d = 0.9f * m[i] + 0.1f * g[i];
      value[i] -= rate * (edf_real)((d > 0) - (d < 0));
      m[i] = 0.98f * m[i] + 0.02f * g[i];
    }
    edf_push(p[k]);
  }
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  draw();
  Input *w = edf_input("w[b,10]"), *y = edf_input("y[b]");
  Parameter *E = edf_parameter("E[120,6]");
  edf_init_normal(E, 0, 0.5f);
  AffineParams in = edf_affine_params(WIDTH, 24), out = edf_affine_params(24, BOARDS);
  Parameter *shift = edf_parameter("shift[6]");
  CompNode *a = Einsum("a[b,i] = 0.1 e[b,T,i]", Embed(E, w));
  CompNode *h = Relu(Affine(in, Add(a, shift)));
  CompNode *s = Affine(out, h), *loss = SoftmaxLogLoss(s, y);
  edf_doctor(loss);

  Parameter *all[] = { out.w, out.b, in.w, in.b, shift, E };
#ifdef FAULTY
  int n = 4;
#else
  int n = (int)(sizeof all / sizeof all[0]);
#endif
  for (int step = 0; step < STEPS; step++) {
    edf_real some[BATCH][WORDS], boards[BATCH];
    for (int b = 0; b < BATCH; b++) {
      int i = edf_below(N);
      for (int t = 0; t < WORDS; t++) some[b][t] = words[i][t];
      boards[b] = board[i];
    }
    edf_feed(w, some[0], BATCH);
    edf_feed(y, boards, BATCH);
    Forward();
    Backward(loss);
    lion(all, n, 0.006f * (edf_real)(STEPS - step) / STEPS);
  }
  edf_feed(w, words[N], TEST);
  edf_feed(y, board + N, TEST);
  Forward();
  printf("MEASURE %.3f\n", 1 - edf_error_rate(s, y));
  for (int k = 0; k < 8; k++) free(mean_of[k]);
  edf_clear();
}
