/* Strokes of a brush on pictures of 10 x 10: short bars that lie, stand or lean to either
   side, several in each picture, all of one kind. Which kind? A convolution by equations.
   CAUSE wrong-index
   FAULT the row that the kernel reads is j+DI, not i+DI: only windows on the diagonal are seen
   SYMPTOMS none
   MEASURE test accuracy, healthy 0.978 0.983, faulty 0.787 0.752
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/lab.h"
#include <stdlib.h>

enum { SIDE = 10, PIXELS = SIDE * SIDE, N = 1200, TEST = 400, BATCH = 40 };

static edf_real pictures[N + TEST][PIXELS], kinds[N + TEST];

static void stroke(edf_real *p, int kind) {
  static const int di[] = { 0, 1, 1, 1 }, dj[] = { 1, 0, 1, -1 };
  int i = edf_below(SIDE - 2), j = 2 + edf_below(SIDE - 4);
  for (int n = 0; n < 3; n++) p[(i + n * di[kind]) * SIDE + j + n * dj[kind]] += 1;
}

static void draw(void) {
  for (int n = 0; n < N + TEST; n++) {
    int kind = edf_below(4);
    for (int i = 0; i < PIXELS; i++) pictures[n][i] = edf_normal(0, 0.3f);
    for (int k = 0; k < 4; k++) stroke(pictures[n], kind);
    kinds[n] = (edf_real)kind;
  }
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  draw();
  Input *x = edf_input("x[b,10,10]"), *y = edf_input("y[b]");
  CompNode *loss = Equations(
#ifdef FAULTY
    "h[b,i,j,f] = relu(K[f,DI,DJ] x[b,j+DI,j+DJ] - c[f])   | f<8, DI<3, DJ<3, i<8, j<8 \n"
#else
    "h[b,i,j,f] = relu(K[f,DI,DJ] x[b,i+DI,j+DJ] - c[f])   | f<8, DI<3, DJ<3, i<8, j<8 \n"
#endif
    "g[b,f] = 0.05 h[b,I,J,f] \n"
    "s[b,k] = V[k,F] g[b,F] - d[k]                          | k<4 \n"
    "P[b,k] = softmax_k s[b,k] \n"
    "loss[b] = -ln P[b,y[b]]");
  edf_doctor(loss);
  for (int step = 0; step < 1500; step++) {
    int at = step * BATCH % N;
    edf_feed(x, pictures[at], BATCH);
    edf_feed(y, kinds + at, BATCH);
    Forward();
    Backward(loss);
    AdamDefault(0.005);
  }
  edf_feed(x, pictures[N], TEST);
  edf_feed(y, kinds + N, TEST);
  Forward();
  printf("MEASURE %.3f\n", 1 - edf_error_rate(edf_find("s"), y));
  edf_clear();
}
