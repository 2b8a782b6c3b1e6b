/* Text of 8 signs; 6 opens a remark, 7 closes it. For each sign of a line of 20: does it stand
   within a remark? Embedding, GRU, and a logistic unit at each place.
   CAUSE skips-a-layer
   FAULT the last layer reads the embedding, not the states of the GRU
   SYMPTOMS none
   MEASURE test accuracy, healthy 1.000 1.000, faulty 0.699 0.724
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/layers.h"
#include "edf/lab.h"
#include <stdlib.h>

enum { N = 960, TEST = 200, LENGTH = 20, BATCH = 32, WIDTH = 16 };
enum { SIGNS = 8, OPEN = 6, CLOSE = 7 };

static edf_real text[N + TEST][LENGTH], within[N + TEST][LENGTH];

static void draw(void) {
  for (int n = 0; n < N + TEST; n++) {
    int inside = 0;
    for (int t = 0; t < LENGTH; t++) {
      int sign = edf_below(SIGNS);
      if (sign == OPEN) inside = 1;
      if (sign == CLOSE) inside = 0;
      text[n][t] = (edf_real)sign;
      within[n][t] = (edf_real)inside;
    }
  }
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  draw();
  Input *c = edf_input("c[b,t=20]"), *y = edf_input("y[b,t=20,1]");
  Parameter *E = edf_parameter("E[8,16]");
  edf_init_normal(E, 0, 0.5f);
  GRUParams memory = edf_gru_params(WIDTH, WIDTH);
  AffineParams last = edf_affine_params(WIDTH, 1);
  CompNode *e = Embed(E, c), *h = Unroll(memory, e);
#ifdef FAULTY
  CompNode *s = Affine(last, e);
#else
  CompNode *s = Affine(last, h);
#endif
  CompNode *loss = BCELoss(s, y);
  edf_name(e, "e");
  edf_name(h, "h");
  edf_doctor(loss);
  for (int step = 0; step < 450; step++) {
    int at = step * BATCH % N;
    edf_feed(c, text[at], BATCH);
    edf_feed(y, within[at], BATCH);
    Forward();
    Backward(loss);
    edf_clip(1);
    AdamDefault(0.01);
  }
  edf_feed(c, text[N], TEST);
  edf_feed(y, within[N], TEST);
  Forward();
  const edf_real *score = edf_value(s), *truth = edf_value(y);
  int right = 0;
  for (int i = 0; i < TEST * LENGTH; i++) right += (score[i] > 0) == (truth[i] > 0.5f);
  printf("MEASURE %.3f\n", right / (double)(TEST * LENGTH));
  edf_clear();
}
