/* Fruit on a conveyor belt: twelve sorts, to be told apart by colour, weight, roundness and
   other measurements. Two hidden layers, minibatches, accuracy on fruit of another day.
   CAUSE softmax-twice
   FAULT the loss that takes scores is given the probabilities
   SYMPTOMS none
   MEASURE test accuracy, healthy 0.962 0.967, faulty 0.870 0.830
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/lab.h"
#include <math.h>
#include <stdlib.h>

enum { SORTS = 12, MEASURED = 8, N = 1920, TEST = 600, BATCH = 64, EPOCHS = 20 };

static edf_real centre[SORTS][2][MEASURED];          /* each sort has two varieties        */

static void pick(edf_array *fruit, edf_array *sort, int n) {
  for (int i = 0; i < n; i++) {
    int k = edf_below(SORTS), variety = edf_below(2);
    sort->value[i] = (edf_real)k;
    for (int j = 0; j < MEASURED; j++)
      fruit->value[i * MEASURED + j] = centre[k][variety][j] + edf_normal(0, 0.45f);
  }
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  for (int k = 0; k < SORTS; k++)
    for (int v = 0; v < 2; v++)
      for (int j = 0; j < MEASURED; j++) centre[k][v][j] = edf_normal(0, 1);
  int dx[] = { N, MEASURED }, dt[] = { TEST, MEASURED };
  edf_array X = edf_new_array(2, dx), Y = edf_new_array(1, dx);
  edf_array testX = edf_new_array(2, dt), testY = edf_new_array(1, dt);
  pick(&X, &Y, N);
  pick(&testX, &testY, TEST);

  Input *x = edf_input("x[b,%d]", MEASURED), *y = edf_input("y[b]");
  CompNode *h = Relu(Affine(edf_affine_params(MEASURED, 48), x));
  CompNode *g = Relu(Affine(edf_affine_params(48, 32), h));
  CompNode *s = Affine(edf_affine_params(32, SORTS), g);
  CompNode *P = Softmax(s);
#ifdef FAULTY
  CompNode *loss = SoftmaxLogLoss(P, y);
#else
  CompNode *loss = LogLoss(P, y);
#endif
  edf_doctor(loss);

  for (int epoch = 0; epoch < EPOCHS; epoch++) {
    edf_all batch;
    double total = 0;
    int steps = 0;
    for (edf_batches(&batch, x, X, y, Y, BATCH); edf_next(&batch); steps++) {
      Forward();
      Backward(loss);
      Momentum(0.03f, 0.9f);
      total += edf_mean_value(loss);
    }
    if (epoch % 5 == 4) printf("epoch %2d  loss %.3f\n", epoch + 1, total / steps);
  }

  edf_feed(x, testX.value, TEST);
  edf_feed(y, testY.value, TEST);
  Forward();
  printf("MEASURE %.3f\n", 1 - edf_error_rate(P, y));
  edf_free_array(&X), edf_free_array(&Y), edf_free_array(&testX), edf_free_array(&testY);
  edf_clear();
}
