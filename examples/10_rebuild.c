/* 10_rebuild.c - a graph that differs from step to step

     cc -g -std=c99 -I. examples/10_rebuild.c -o build/10_rebuild -lm && build/10_rebuild

   With edf.eager = 1 a constructor runs its node at once. So the program can read a value and
   branch on it. edf_clear_compnodes frees the CompNodes and keeps Inputs and Parameters.

   The first part computes sqrt(x) by Newton's step y <- (y + x/y)/2 until y converges. Backward
   goes through all these steps. By hand the derivative is 1/(2 sqrt x).

   The second part is a recurrent network. It reads 1, 3, ... or 11 bits and says whether most
   bits are ones. Every training step builds a graph for its number of bits. The program prints:

     sqrt     2.00 = 1.41421356 after 4 steps, derivative 0.35355339
     sqrt   100.00 = 10.00000000 after 7 steps, derivative 0.05000000
     sqrt     0.01 = 0.10000000 after 6 steps, derivative 5.00000000

     loss 0.7 at first, 0.0 after 600 steps
     1000 new strings of 15 bits, longer than all before: 100.0 % right
*/
#define EDF_REAL double
#define EDF_IMPLEMENTATION
#include "edf/slide.h"
#include "edf/layers.h"
#include "edf/data.h"

/* Prints the square root of a number, and its derivative. */
static void newton(double number) {
  edf_real value = number, one = 1, half = 0.5;
  int steps = 0;
  edf.eager = 1;
  Input *x = edf_want_grad(edf_input("x")), *start = edf_input("start"), *c = edf_input("c");
  edf_feed(x, &value, 1);
  edf_feed(start, &one, 1);
  edf_feed(c, &half, 1);
  Node *y = start, *before;
  do {
    before = y;
    y = Mul(c, Add(y, Div(x, y)));
    steps++;
  } while (fabs(*y->value - *before->value) > 1e-6);
  Backward(y);
  /* The last step is not counted. It only shows that y has converged. */
  printf("sqrt %8.2f = %.8f after %d steps, derivative %.8f\n", number, *y->value, steps - 1,
         *x->grad);
  edf.eager = 0;
  edf_clear();
}

enum { MAX_BITS = 15, BATCH = 32 };

typedef struct { Input *bit[MAX_BITS], *y; LSTMParams cell; AffineParams out; } counter;

static counter build(void) {
  counter m;
  for (int t = 0; t < MAX_BITS; t++) m.bit[t] = edf_input("bit%d[b,1]", t);
  m.y = edf_input("y[b]");
  m.cell = edf_lstm_params(1, 8);
  m.out = edf_affine_params(8, 2);
  return m;
}

/* Builds T steps of the cell, which read the first T Inputs. The other Inputs need no data. */
static CompNode *scores(counter m, int T) {
  RecurrentState s = { NULL, NULL };
  for (int t = 0; t < T; t++) s = LSTM(m.cell, m.bit[t], s);
  return Affine(m.out, s.h);
}

/* Feeds n random strings of T bits. A bit is -1 or 1. y is 1 if most bits are ones. */
static void feed(counter m, int T, int n) {
  static edf_real bit[MAX_BITS][1000], y[1000];
  for (int b = 0; b < n; b++) {
    int ones = 0;
    for (int t = 0; t < T; t++) {
      int one = edf_below(2);
      ones += one;
      bit[t][b] = one ? 1 : -1;
    }
    y[b] = 2 * ones > T;
  }
  for (int t = 0; t < T; t++) edf_feed(m.bit[t], bit[t], n);
  edf_feed(m.y, y, n);
}

int main(void) {
  double loss = 0, first = 0;
  newton(2);
  newton(100);
  newton(0.01);

  edf_seed(1);
  counter m = build();
  for (int i = 0; i < 600; i++) {
    int T = 1 + 2 * edf_below(6);                            /* 1, 3, ... 11 */
    edf_clear_compnodes();
    feed(m, T, BATCH);
    CompNode *ell = Mean(SoftmaxLogLoss(scores(m, T), m.y));
    Forward();
    Backward(ell);
    Adam(0.02, 0.9, 0.999, 1e-8);
    loss += (*ell->value - loss) / (i < 50 ? i + 1 : 50);    /* a running mean */
    if (i == 0) first = loss;
  }
  edf_clear_compnodes();
  CompNode *s = scores(m, MAX_BITS);
  feed(m, MAX_BITS, 1000);
  Forward();
  printf("\nloss %.1f at first, %.1f after 600 steps\n", first, loss);
  printf("1000 new strings of %d bits, longer than all before: %.1f %% right\n", MAX_BITS,
         100 - 100 * edf_error_rate(s, m.y));
  edf_clear();
  return 0;
}
