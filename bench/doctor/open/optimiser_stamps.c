/* Stamps of 8 x 8 points, four emblems (frame, disc, stripes, corner) at different places and
   of different ink; two convolutions and one affine layer.
   CAUSE bad-schedule
   FAULT the factor of the rate, meant once an epoch, is applied after every batch
   SYMPTOMS no-progress
   MEASURE test accuracy, healthy 1.000 1.000, faulty 0.573 0.260
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/layers.h"
#include "edf/lab.h"
#include <math.h>
#include <stdlib.h>

enum { N = 800, TEST = 300, SIDE = 8, KINDS = 4, BATCH = 20, EPOCHS = 15 };

static const char *const emblem[KINDS][4] = {
  { "####", "#..#", "#..#", "####" }, { ".##.", "####", "####", ".##." },
  { "####", "....", "####", "...." }, { "#...", "##..", "###.", "####" },
};

static void print(edf_array stamp, edf_array kind) {
  for (int n = 0; n < stamp.dim[0]; n++) {
    int k = edf_below(KINDS), down = edf_below(SIDE - 3), right = edf_below(SIDE - 3);
    edf_real ink = edf_uniform(0.6f, 1.4f), *at = stamp.value + n * SIDE * SIDE;
    for (int i = 0; i < SIDE; i++)
      for (int j = 0; j < SIDE; j++) {
        int r = i - down, c = j - right;
        int black = r >= 0 && r < 4 && c >= 0 && c < 4 && emblem[k][r][c] == '#';
        at[i * SIDE + j] = (black ? 2 * ink : -0.4f) + edf_normal(0, 0.4f);
      }
    kind.value[n] = (edf_real)k;
  }
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  int shape[4] = { N, SIDE, SIDE, 1 }, test_shape[4] = { TEST, SIDE, SIDE, 1 };
  edf_array stamp = edf_new_array(4, shape), kind = edf_new_array(1, shape);
  edf_array test_stamp = edf_new_array(4, test_shape);
  edf_array test_kind = edf_new_array(1, test_shape);
  print(stamp, kind);
  print(test_stamp, test_kind);

  Input *x = edf_input("x[b,8,8,1]"), *y = edf_input("y[b]");
  ConvParams first = edf_conv_params(3, 1, 8), second = edf_conv_params(3, 8, 12);
  first.padding = second.padding = 1;
  CompNode *p = MaxPool(Relu(Conv(first, x)), 2, 2);
  CompNode *q = MaxPool(Relu(Conv(second, p)), 2, 2);
  CompNode *f = Reshape(q, "f[b,48]");
  CompNode *s = Affine(edf_affine_params(48, KINDS), f), *loss = SoftmaxLogLoss(s, y);
  edf_doctor(loss);

  double rate = 0.05;
  for (int epoch = 0; epoch < EPOCHS; epoch++) {
    edf_all batch;
    for (edf_batches(&batch, x, stamp, y, kind, BATCH); edf_next(&batch);) {
      Forward();
      Backward(loss);
      Momentum(rate, 0.9);
#ifdef FAULTY
      rate *= 0.8;
    }
#else
    }
    rate *= 0.8;
#endif
  }
  edf_feed(x, test_stamp.value, TEST);
  edf_feed(y, test_kind.value, TEST);
  Forward();
  printf("MEASURE %.3f\n", 1 - edf_error_rate(s, y));
  edf_clear();
  edf_free_array(&stamp);
  edf_free_array(&kind);
  edf_free_array(&test_stamp);
  edf_free_array(&test_kind);
}
