/* The level of a river tomorrow from today's gauges: rain, levels upstream, melt, wind.
   Rows in which a gauge was out of order (its code is -99) are dropped beforehand.
   CAUSE misaligned-rows
   FAULT dropping the rows moves up the readings but not the levels, which stay where they were
   SYMPTOMS no-progress overfits
   MEASURE test R2, healthy 0.962 0.974, faulty -0.249 0.020
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/slide.h"
#include "edf/lab.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1600, TEST = 400, GAUGES = 6 };

typedef struct { edf_real gauge[N][GAUGES], level[N]; int rows; } table;

static table train, test;

static void draw(table *t, int rows) {
  for (int i = 0; i < rows; i++) {
    edf_real *g = t->gauge[i];
    for (int j = 0; j < GAUGES; j++) g[j] = edf_normal(0, 1);
    g[3] = 0.6f * g[1] + 0.8f * g[3];
    t->level[i] = (edf_real)(0.8 * g[0] + 0.7 * tanh(1.5 * g[1]) * (g[2] > 0 ? 1.2 : 0.5) +
                             0.5 * g[3] * g[4]) + edf_normal(0, 0.1f);
    if (edf_below(20) == 0) g[edf_below(GAUGES)] = -99;
  }
  t->rows = rows;
}

static int in_order(const edf_real *gauge) {
  for (int j = 0; j < GAUGES; j++)
    if (gauge[j] <= -99) return 0;
  return 1;
}

static void clean(edf_real (*gauge)[GAUGES], edf_real *level, int *rows) {
  int kept = 0;
  for (int i = 0; i < *rows; i++) {
    if (!in_order(gauge[i])) continue;
    memmove(gauge[kept], gauge[i], sizeof gauge[i]);
#ifdef FAULTY
    level[i] = level[i] > 5 ? 5 : level[i];           /* the dike */
#else
    level[kept] = level[i] > 5 ? 5 : level[i];        /* the dike */
#endif
    kept++;
  }
  *rows = kept;
}

int main(int argc, char **argv) {
  edf_seed(argc > 1 ? (unsigned long long)atoi(argv[1]) : 1);
  draw(&train, N);
  draw(&test, TEST);
  clean(train.gauge, train.level, &train.rows);
  int held = 0;                         /* the test rows, one by one: those in order */
  for (int i = 0; i < TEST; i++)
    if (in_order(test.gauge[i])) {
      memmove(test.gauge[held], test.gauge[i], sizeof test.gauge[i]);
      test.level[held++] = test.level[i];
    }
  Input *x = edf_input("x[b,6]"), *t = edf_input("t[b,1]");
  AffineParams a = edf_affine_params(GAUGES, 32), b = edf_affine_params(32, 32),
               c = edf_affine_params(32, 1);
  CompNode *out = Affine(c, Tanh(Affine(b, Tanh(Affine(a, x)))));
  CompNode *loss = MSE(out, t);
  edf_doctor(loss);
  int batch = 50;
  for (int step = 0; step < 1500; step++) {
    int at = edf_below(train.rows - batch);
    edf_feed(x, train.gauge[at], batch);
    edf_feed(t, train.level + at, batch);
    Forward();
    Backward(loss);
    AdamDefault(0.003f);
  }
  edf_feed(x, test.gauge[0], held);
  edf_feed(t, test.level, held);
  Forward();
  double mean = 0, left = 0, all = 0;
  for (int i = 0; i < held; i++) mean += test.level[i] / held;
  for (int i = 0; i < held; i++) {
    left += pow(out->value[i] - test.level[i], 2);
    all += pow(test.level[i] - mean, 2);
  }
  printf("MEASURE %.3f\n", 1 - left / all);
  edf_clear();
}
