/* The height of the tide at a small port from the hour, the moon's age and the wind, by a net
   of two hidden layers; four small batches make a step, as the memory of the first machine
   wanted it.
   CAUSE gradients-accumulate
   FAULT the gradients are set to zero once an epoch, not once a step
   SYMPTOMS diverges nan-or-inf exploding-gradient
   MEASURE R2 on fresh hours, healthy 0.980 0.979, faulty nan nan
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/lab.h"
#include <math.h>
#include <stdlib.h>

enum { N = 1600, TEST = 400, SMALL = 20, PARTS = 4, EPOCHS = 50 };

static edf_real seen[N + TEST][5], height[N + TEST][1];
static int order[N];

static void draw(void) {
  for (int i = 0; i < N + TEST; i++) {
    double hour = edf_uniform(0, 6.2831853f), moon = edf_uniform(0, 6.2831853f);
    edf_real wind = edf_normal(0, 1);
    double springs = 1 + 0.6 * cos(2 * moon);
    seen[i][0] = (edf_real)(1.4 * cos(hour));
    seen[i][1] = (edf_real)(1.4 * sin(hour));
    seen[i][2] = (edf_real)(1.4 * cos(moon));
    seen[i][3] = (edf_real)(1.4 * sin(moon));
    seen[i][4] = wind;
    height[i][0] = (edf_real)(springs * cos(2 * hour - moon) + 0.3 * wind) +
                   edf_normal(0, 0.1f);
  }
  for (int i = 0; i < N; i++) order[i] = i;
}

static void shuffle(void) {
  for (int i = N - 1; i > 0; i--) {
    int j = edf_below(i + 1), keep = order[i];
    order[i] = order[j];
    order[j] = keep;
  }
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  draw();
  Input *x = edf_input("x[b,5]"), *t = edf_input("t[b,1]");
  CompNode *h = Tanh(Affine(edf_affine_params(5, 32), x));
  CompNode *g = Tanh(Affine(edf_affine_params(32, 32), h));
  CompNode *o = Affine(edf_affine_params(32, 1), g), *loss = MSE(o, t);
  edf_doctor(loss);
  edf.accumulate = 1;
  for (int epoch = 0; epoch < EPOCHS; epoch++) {
    shuffle();
#ifdef FAULTY
    edf_zero_grad();
#endif
    for (int at = 0; at < N; at += SMALL * PARTS) {
#ifndef FAULTY
      edf_zero_grad();
#endif
      for (int part = 0; part < PARTS; part++) {
        edf_real points[SMALL][5], heights[SMALL][1];
        for (int b = 0; b < SMALL; b++) {
          int i = order[at + part * SMALL + b];
          for (int k = 0; k < 5; k++) points[b][k] = seen[i][k];
          heights[b][0] = height[i][0];
        }
        edf_feed(x, points[0], SMALL);
        edf_feed(t, heights[0], SMALL);
        Forward();
        Backward(loss);
      }
      SGD(0.2 / PARTS);
    }
  }
  edf_feed(x, seen[N], TEST);
  edf_feed(t, height[N], TEST);
  Forward();
  double mean = 0, total = 0, left = 0;
  for (int i = N; i < N + TEST; i++) mean += height[i][0] / TEST;
  for (int i = 0; i < TEST; i++) {
    double d = height[N + i][0] - mean, e = height[N + i][0] - edf_value(o)[i];
    total += d * d;
    left += e * e;
  }
  printf("MEASURE %.3f\n", 1 - left / total);
  edf_clear();
}
