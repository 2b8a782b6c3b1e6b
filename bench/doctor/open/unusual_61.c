/* Three circles of friends in one network of 90 people, of whom 12 have told their circle: a
   graph network of two layers. Unusual: one single graph is fed once and for all, no batch, an
   adjacency matrix is an operand of the equations, most rows of the loss are masked out.
   CAUSE healthy
   FAULT none
   SYMPTOMS none
   MEASURE accuracy on the 78 people who told nothing, healthy 1.000 1.000
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/lab.h"
#include <math.h>
#include <stdlib.h>

enum { PEOPLE = 90, CIRCLES = 3, TRAITS = 8, TOLD = 12 };

static edf_real friends[PEOPLE][PEOPLE], trait[PEOPLE][TRAITS], circle[PEOPLE], told[PEOPLE];

static void draw_people(void) {
  double degree[PEOPLE], typical[CIRCLES][TRAITS];
  for (int c = 0; c < CIRCLES; c++)
    for (int i = 0; i < TRAITS; i++) typical[c][i] = edf_normal(0, 0.6f);
  for (int p = 0; p < PEOPLE; p++) {
    circle[p] = (edf_real)(p % CIRCLES);
    told[p] = p < TOLD ? (edf_real)PEOPLE / TOLD : 0;  /* so that the mean is that of 12 */
    for (int i = 0; i < TRAITS; i++)
      trait[p][i] = (edf_real)typical[p % CIRCLES][i] + edf_normal(0, 1);
  }
  for (int p = 0; p < PEOPLE; p++)
    for (int q = 0; q <= p; q++) {
      double chance = p == q ? 1 : circle[p] == circle[q] ? 0.3 : 0.04;
      friends[p][q] = friends[q][p] = edf_uniform(0, 1) < chance;
    }
  for (int p = 0; p < PEOPLE; p++) {
    degree[p] = 0;
    for (int q = 0; q < PEOPLE; q++) degree[p] += friends[p][q];
  }
  for (int p = 0; p < PEOPLE; p++)
    for (int q = 0; q < PEOPLE; q++)
      friends[p][q] /= (edf_real)sqrt(degree[p] * degree[q]);
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  draw_people();
  Input *A = edf_input("A[90,90]"), *x = edf_input("x[90,%d]", TRAITS);
  Input *y = edf_input("y[90]"), *m = edf_input("m[90]");
  Parameter *W = edf_parameter("W[%d,16]", TRAITS), *V = edf_parameter("V[16,%d]", CIRCLES);
  edf_init_normal(W, 0, 0.35f);
  edf_init_normal(V, 0, 0.25f);
  CompNode *near = Einsum("n[p,i] = A[p,Q] x[Q,i]", A, x);
  CompNode *h = Relu(Einsum("a[p,j] = W[I,j] n[p,I]", W, near));
  CompNode *wide = Einsum("w[p,j] = A[p,Q] h[Q,j]", A, h);
  CompNode *s = Einsum("s[p,k] = V[J,k] w[p,J]", V, wide);
  CompNode *loss = Mul(m, SoftmaxLogLoss(s, y));
  edf_doctor(loss);
  edf_feed(A, friends[0], PEOPLE);
  edf_feed(x, trait[0], PEOPLE);
  edf_feed(y, circle, PEOPLE);
  edf_feed(m, told, PEOPLE);
  for (int step = 0; step < 400; step++) {
    Forward();
    Backward(loss);
    AdamW(0.01, 0.9, 0.999, 1e-8, 0.05);
  }
  Forward();
  int right = 0;
  for (int p = TOLD; p < PEOPLE; p++) {
    const edf_real *row = edf_value(s) + p * CIRCLES;
    int best = row[1] > row[0];
    if (row[2] > row[best]) best = 2;
    right += best == (int)circle[p];
  }
  printf("MEASURE %.3f\n", (double)right / (PEOPLE - TOLD));
  edf_clear();
}
