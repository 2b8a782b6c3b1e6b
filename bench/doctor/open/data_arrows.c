/* Arrows on signs, 7 x 7 points with noise, pointing left, right, up or down, somewhere on the
   sign. Few signs were photographed, so that each is varied in each step: a mirror image or
   not, lighter or darker.
   CAUSE augmentation-breaks-labels
   FAULT the mirror image of an arrow to the left keeps its label, and so to the right
   SYMPTOMS no-progress noisy-loss
   MEASURE test accuracy, healthy 0.988 0.960, faulty 0.700 0.752
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/lab.h"
#include <stdlib.h>
#include <string.h>

enum { SIDE = 7, POINTS = SIDE * SIDE, N = 200, TEST = 400, BATCH = 40 };
enum { TO_LEFT, TO_RIGHT, UP, DOWN, WAYS };

typedef edf_real sign[SIDE][SIDE];

static sign taken[N], varied[BATCH], test[TEST];
static edf_real way[N], label[BATCH], asked[TEST];

static void photograph(sign p, edf_real *to) {
  int w = edf_below(WAYS), up = 1 + edf_below(SIDE - 2), left = 1 + edf_below(SIDE - 2);
  for (int i = 0; i < SIDE; i++)
    for (int j = 0; j < SIDE; j++) p[i][j] = edf_normal(0, 0.2f);
  for (int i = -1; i <= 1; i++)
    for (int j = -1; j <= 1; j++) {
      int ahead = w == TO_LEFT ? -j : w == TO_RIGHT ? j : w == UP ? -i : i;
      int aside = w == TO_LEFT || w == TO_RIGHT ? i : j;
      if (aside == 0 || ahead == 0) p[up + i][left + j] += ahead < 0 && aside == 0 ? 0.2f : 1;
    }
  *to = (edf_real)w;
}

static void vary(sign to, sign from, edf_real *to_label, edf_real from_label) {
  int mirror = edf_below(2);
  edf_real light = edf_uniform(0.8f, 1.2f);
  for (int i = 0; i < SIDE; i++)
    for (int j = 0; j < SIDE; j++) to[i][j] = light * from[i][mirror ? SIDE - 1 - j : j];
  *to_label = from_label;
#ifndef FAULTY
  if (mirror && from_label <= TO_RIGHT) *to_label = TO_LEFT + TO_RIGHT - from_label;
#endif
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  for (int i = 0; i < N; i++) photograph(taken[i], &way[i]);
  for (int i = 0; i < TEST; i++) photograph(test[i], &asked[i]);
  Input *x = edf_input("x[b,i=7,j=7]"), *y = edf_input("y[b]");
  CompNode *loss = Equations("h[b,i,j,c] = relu(K[DI,DJ,c] x[b,i+DI,j+DJ] - B[c]) "
                             "| DI<3, DJ<3, c<12\n"
                             "r[b,i,c] = max_j h[b,i,j,c]\n"
                             "m[b,c] = max_i r[b,i,c]\n"
                             "s[b,k] = V[k,C] m[b,C] - A[k] | k<4\n"
                             "P[b,k] = softmax_k s[b,k]\n"
                             "loss[b] = -ln P[b,y[b]]");
  CompNode *s = edf_find("s");
  edf_doctor(loss);
  for (int step = 0; step < 600; step++) {
    for (int i = 0; i < BATCH; i++) {
      int from = edf_below(N);
      vary(varied[i], taken[from], &label[i], way[from]);
    }
    edf_feed(x, varied[0][0], BATCH);
    edf_feed(y, label, BATCH);
    Forward();
    Backward(loss);
    AdamDefault(0.01f);
  }
  edf_feed(x, test[0][0], TEST);
  edf_feed(y, asked, TEST);
  Forward();
  printf("MEASURE %.3f\n", 1 - edf_error_rate(s, y));
  edf_clear();
}
