/* Noisy pictures of 10 x 10 points: a cross, a bar, a square, a ring or two dots, anywhere in
   the picture. A small convolutional network, six epochs over 1500 pictures.
   CAUSE unshuffled-data
   FAULT the pictures come class by class, as they were drawn: the shuffling was left out
   SYMPTOMS noisy-loss
   MEASURE test accuracy, healthy 0.957 0.973, faulty 0.183 0.197
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/layers.h"
#include "edf/lab.h"
#include <stdlib.h>

enum { SIDE = 10, KINDS = 5, EACH = 300, N = KINDS * EACH, TEST = 300, BATCH = 20 };

static const char *kinds[KINDS] = {
  "..#.." "..#.." "#####" "..#.." "..#..",   "....." "....." "#####" "....." ".....",
  "#####" "#####" "#####" "#####" "#####",   ".###." "#...#" "#...#" "#...#" ".###.",
  "....." ".#..." "....." "...#." "....." };

static void picture(edf_real *p, int kind) {
  int up = edf_below(SIDE - 4), left = edf_below(SIDE - 4);
  for (int i = 0; i < SIDE * SIDE; i++) p[i] = edf_normal(0, 0.25f);
  for (int i = 0; i < 25; i++)
    if (kinds[kind][i] == '#') p[(up + i / 5) * SIDE + left + i % 5] += 1;
}

static edf_array pictures(int n) {
  int dim[] = { n, SIDE, SIDE, 1 };
  return edf_new_array(4, dim);
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  int n = N, m = TEST;
  edf_array X = pictures(N), Y = edf_new_array(1, &n), Xt = pictures(TEST),
            Yt = edf_new_array(1, &m);
  for (int k = 0, i = 0; k < KINDS; k++)
    for (int e = 0; e < EACH; e++, i++) {
      picture(X.value + (size_t)i * SIDE * SIDE, k);
      Y.value[i] = (edf_real)k;
    }
  for (int i = 0; i < TEST; i++) {
    Yt.value[i] = (edf_real)edf_below(KINDS);
    picture(Xt.value + (size_t)i * SIDE * SIDE, (int)Yt.value[i]);
  }
  Input *x = edf_input("x[b,10,10,1]"), *y = edf_input("y[b]");
  ConvParams C = edf_conv_params(3, 1, 8), D = edf_conv_params(3, 8, 12);
  C.padding = 1;
  CompNode *h = MaxPool(Relu(Conv(C, x)), 2, 2);
  h = Relu(Conv(D, h));
  CompNode *f = Reshape(h, "f[b,108]");
  CompNode *s = Affine(edf_affine_params(108, KINDS), f), *loss = SoftmaxLogLoss(s, y);
  edf_doctor(loss);
  for (int epoch = 0; epoch < 6; epoch++) {
#ifndef FAULTY
    edf_shuffle(&X, &Y);
#endif
    double seen = 0;
    for (int i = 0; i + BATCH <= N; i += BATCH) {
      edf_feed(x, X.value + (size_t)i * SIDE * SIDE, BATCH);
      edf_feed(y, Y.value + i, BATCH);
      Forward();
      Backward(loss);
      Momentum(0.02f, 0.9f);
      seen += edf_mean_value(loss) * BATCH / N;
    }
    printf("epoch %d: loss %.4f\n", epoch, seen);
  }
  edf_feed(x, Xt.value, TEST);
  edf_feed(y, Yt.value, TEST);
  Forward();
  printf("MEASURE %.3f\n", 1 - edf_error_rate(s, y));
  edf_clear();
  edf_free_array(&X), edf_free_array(&Y), edf_free_array(&Xt), edf_free_array(&Yt);
}
