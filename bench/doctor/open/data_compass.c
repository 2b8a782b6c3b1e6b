/* A lighthouse in the mist, given as 12 noisy readings round a ship's hull. Asked: in which of
   eight sectors of the compass it is, where the ship's own course, one of eight, is known.
   CAUSE stale-feed
   FAULT the courses are fed once, before the loop: all batches get those of the first
   SYMPTOMS no-progress overfits
   MEASURE test accuracy, healthy 0.956 0.938, faulty 0.198 0.144
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/lab.h"
#include <math.h>
#include <stdlib.h>

enum { SENSORS = 12, ROWS = 100, BATCHES = 30 };

typedef struct { edf_real reading[ROWS][SENSORS], course[ROWS], sector[ROWS]; } watch;

static watch logbook[BATCHES], test[5];

static void keep(watch *w) {
  for (int i = 0; i < ROWS; i++) {
    double bearing = edf_uniform(0, 8), far = edf_uniform(1, 2);
    w->course[i] = (edf_real)edf_below(8);
    for (int j = 0; j < SENSORS; j++)
      w->reading[i][j] = (edf_real)(2 * cos(6.2831853 * (bearing / 8 - (double)j / SENSORS)) /
                                    far) + edf_normal(0, 0.1f);
    w->sector[i] = (edf_real)(((int)bearing + (int)w->course[i]) % 8);
  }
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  for (int i = 0; i < BATCHES; i++) keep(&logbook[i]);
  for (int i = 0; i < 5; i++) keep(&test[i]);
  Input *x = edf_input("x[b,12]"), *k = edf_input("k[b]"), *y = edf_input("y[b]");
  Parameter *E = edf_parameter("E[8,48]");
  edf_init_normal(E, 0, 0.5f);
  AffineParams one = edf_affine_params(SENSORS, 48), two = edf_affine_params(48, 48),
               three = edf_affine_params(48, 8);
  CompNode *h = LeakyRelu(Add(Affine(one, x), Embed(E, k)), 0.1f);
  h = LeakyRelu(Affine(two, h), 0.1f);
  CompNode *s = Affine(three, h), *loss = SoftmaxLogLoss(s, y);
  edf_doctor(loss);
  watch *w = logbook;
#ifdef FAULTY
  edf_feed(k, w->course, ROWS);
#endif
  for (int step = 0; step < 1500; step++) {
    w = logbook + edf_below(BATCHES);
    edf_feed(x, w->reading[0], ROWS);
#ifndef FAULTY
    edf_feed(k, w->course, ROWS);
#endif
    edf_feed(y, w->sector, ROWS);
    Forward();
    Backward(loss);
    AdamDefault(0.003f);
  }
  double right = 0;
  for (int i = 0; i < 5; i++) {
    edf_feed(x, test[i].reading[0], ROWS);
    edf_feed(k, test[i].course, ROWS);
    edf_feed(y, test[i].sector, ROWS);
    Forward();
    right += (1 - edf_error_rate(s, y)) / 5;
  }
  printf("MEASURE %.3f\n", right);
  edf_clear();
}
