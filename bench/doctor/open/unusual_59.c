/* Say it again: a GRU hears four symbols, then four blanks, during which it must repeat them.
   Unusual: half of the inputs of each row are a fixed blank, only the second half of the times
   has a loss, every batch is drawn anew so that no row is ever seen twice, gradients clipped.
   CAUSE healthy
   FAULT none
   SYMPTOMS none
   MEASURE share of right symbols in fresh sequences, healthy 1.000 1.000
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/layers.h"
#include "edf/lab.h"
#include <stdlib.h>
#include <string.h>

enum { SYMBOLS = 5, LONG = 4, H = 48, BATCH = 48, TEST = 400 };

static edf_real said[TEST][2 * LONG][SYMBOLS + 1], wanted[TEST][LONG];

static void draw_sequences(int rows) {
  memset(said, 0, sizeof said);
  for (int n = 0; n < rows; n++)
    for (int t = 0; t < LONG; t++) {
      int symbol = edf_below(SYMBOLS);
      said[n][t][symbol] = 1;
      said[n][LONG + t][SYMBOLS] = 1;
      wanted[n][t] = (edf_real)symbol;
    }
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  Input *x = edf_input("x[b,%d,%d]", 2 * LONG, SYMBOLS + 1);
  Input *y = edf_input("y[b,%d]", LONG);
  GRUParams cell = edf_gru_params(SYMBOLS + 1, H);
  CompNode *h = Unroll(cell, x);
  CompNode *late = Einsum("l[b,t,j] = h[b,t+4,j] | t<4", h);
  CompNode *s = Affine(edf_affine_params(H, SYMBOLS), late);
  CompNode *loss = SoftmaxLogLoss(s, y);
  edf_doctor(loss);
  for (int step = 0; step < 1500; step++) {
    draw_sequences(BATCH);
    edf_feed(x, said[0][0], BATCH);
    edf_feed(y, wanted[0], BATCH);
    Forward();
    Backward(loss);
    edf_clip(1);
    AdamDefault(0.005);
  }
  draw_sequences(TEST);
  edf_feed(x, said[0][0], TEST);
  edf_feed(y, wanted[0], TEST);
  Forward();
  int right = 0;
  for (int n = 0; n < TEST * LONG; n++) {
    const edf_real *row = edf_value(s) + n * SYMBOLS;
    int best = 0;
    for (int k = 1; k < SYMBOLS; k++)
      if (row[k] > row[best]) best = k;
    right += best == (int)wanted[n / LONG][n % LONG];
  }
  printf("MEASURE %.3f\n", (double)right / (TEST * LONG));
  edf_clear();
}
