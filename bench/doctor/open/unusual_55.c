/* Are two signatures by the same hand? A siamese network with a contrastive loss: pairs of one
   hand come near, others are pushed apart as far as a margin. Unusual: shared weights, a loss
   with a square root and a hinge whose entries are mostly zero at the end, no output layer.
   CAUSE healthy
   FAULT none
   SYMPTOMS none
   MEASURE accuracy on fresh pairs, healthy 1.000 1.000
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/lab.h"
#include <math.h>
#include <stdlib.h>

enum { D = 24, TRAITS = 4, N = 4000, TEST = 800, BATCH = 64 };

static edf_real left[N + TEST][D], right[N + TEST][D], same[N + TEST], mix[TRAITS + 4][D];

static void sign(const edf_real *hand, edf_real *to) {
  edf_real mood[4];
  for (int m = 0; m < 4; m++) mood[m] = edf_normal(0, 1);
  for (int i = 0; i < D; i++) {
    double s = 0;
    for (int r = 0; r < TRAITS; r++) s += hand[r] * mix[r][i];
    for (int m = 0; m < 4; m++) s += mood[m] * mix[TRAITS + m][i];
    to[i] = (edf_real)(0.7 * s) + edf_normal(0, 0.2f);
  }
}

static void draw_pairs(void) {
  for (int r = 0; r < TRAITS + 4; r++)
    for (int i = 0; i < D; i++) mix[r][i] = edf_normal(0, 0.5f);
  for (int n = 0; n < N + TEST; n++) {
    edf_real hand[2][TRAITS];
    for (int k = 0; k < 2; k++)
      for (int r = 0; r < TRAITS; r++) hand[k][r] = edf_below(2) ? 1.2f : -1.2f;
    int changed = edf_below(TRAITS);
    if (hand[0][changed] == hand[1][changed]) hand[1][changed] *= -1;
    same[n] = (edf_real)edf_below(2);
    sign(hand[0], left[n]);
    sign(hand[same[n] > 0 ? 0 : 1], right[n]);
  }
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  draw_pairs();
  Input *a = edf_input("a[b,%d]", D), *z = edf_input("z[b,%d]", D), *t = edf_input("t[b]");
  AffineParams one = edf_affine_params(D, 48), two = edf_affine_params(48, 8);
  CompNode *u = Affine(two, Relu(Affine(one, a)));
  CompNode *v = Affine(two, Relu(Affine(one, z)));
  Parameter *tiny = edf_parameter("tiny"), *margin = edf_parameter("margin");
  tiny->value[0] = 1e-4f;
  margin->value[0] = 2;
  tiny->update = margin->update = edf_frozen;
  CompNode *far2 = Einsum("d[b] = q[b,J] + tiny", Square(Sub(u, v)), tiny);
  CompNode *gap = Relu(Einsum("g[b] = m - d[b]", margin, Sqrt(far2)));
  CompNode *push = Square(gap);
  CompNode *loss = Einsum("l[b] = t[b] d[b] + p[b] - t[b] p[b]", t, far2, push);
  edf_doctor(loss);
  for (int step = 0; step < 1200; step++) {
    int at = step * BATCH % (N - BATCH);
    edf_feed(a, left[at], BATCH);
    edf_feed(z, right[at], BATCH);
    edf_feed(t, same + at, BATCH);
    Forward();
    Backward(loss);
    AdamDefault(0.002);
  }
  edf_feed(a, left[N], TEST);
  edf_feed(z, right[N], TEST);
  edf_feed(t, same + N, TEST);
  Forward();
  int correct = 0;
  for (int n = 0; n < TEST; n++) correct += (edf_value(far2)[n] < 1) == (same[N + n] > 0);
  printf("MEASURE %.3f\n", (double)correct / TEST);
  edf_clear();
}
