/* 09_own_gradients.c - two nodes with a backward that is deliberately not the derivative

     cc -g -std=c99 -I. examples/09_own_gradients.c -o build/09_own_gradients -lm
     build/09_own_gradients

   Straight through (Bengio et al. 2013): the derivative of Sign is 0, so no layer before Sign
   learns. The straight-through backward passes the gradient on if |x| <= 1. Then four hidden
   units with values -1 and 1 learn the parity of three bits, from five random beginnings. With
   the derivative the units do not learn the parity.

   Gradient reversal (Ganin and Lempitsky 2015): forward copies x, and backward changes the sign
   of the gradient. So the layers before the node learn to increase the loss of the layers after
   the node. Here they learn a feature that shows the label of a row, but not its source.

   edf_expect_mismatch tells the gradient check that the mismatch is intended. The program
   computes in double and prints:

     gradcheck of Affine2, ...
       ok    Sign1: its backward is not the derivative, as expected
       skip  d Affine2 / d w1: through a node whose backward is not the derivative
       skip  d Affine2 / d b1: through a node whose backward is not the derivative
     parity of three bits: straight through 40 of 40 right, by the derivative 29 of 40

     reversal 0.0: label 100 % right, source 100 % right
     reversal 1.0: label 100 % right, source 50 % right
*/
#define EDF_REAL double
#define EDF_IMPLEMENTATION
#include "edf/data.h"

/* y[i] = 1 if x[i] > 0, else -1         x.grad[i] += y.grad[i] if -1 <= x[i] <= 1 */
static void sign_forward(CompNode *y) {
  Node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) y->value[i] = x->value[i] > 0 ? 1 : -1;
}
static void straight_backward(CompNode *y) {
  Node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(x, i, fabs(x->value[i]) <= 1 ? y->grad[i] : 0);
}
static CompNode *StraightSign(Node *x) {
  return edf_expect_mismatch(edf_compnode("Sign", sign_forward, straight_backward, x));
}

/* Adds nothing, because the derivative of Sign is 0. */
static void zero_backward(CompNode *y) { (void)y; }
static CompNode *Sign(Node *x) {
  return edf_compnode("Sign", sign_forward, zero_backward, x);
}

/* y[i] = x[i]         x.grad[i] -= lambda y.grad[i] */
static double lambda;

static void same_forward(CompNode *y) {
  memcpy(y->value, y->in[0]->value, y->size * sizeof *y->value);
}
static void reverse_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, -lambda * y->grad[i]);
}
static CompNode *Reverse(Node *x) {
  return edf_expect_mismatch(edf_compnode("Reverse", same_forward, reverse_backward, x));
}

/* Trains a network on the parity of three bits. Returns how many of the 8 rows are right. */
static int learn_parity(int straight, unsigned seed) {
  edf_real bits[8][3], parity[8];
  for (int i = 0; i < 8; i++) {
    for (int k = 0; k < 3; k++) bits[i][k] = i >> k & 1 ? 1 : -1;
    parity[i] = (i ^ i >> 1 ^ i >> 2) & 1;
  }
  edf_seed(seed);
  Input *x = edf_input("x[b,3]"), *y = edf_input("y[b]");
  AffineParams Phi1 = edf_affine_params(3, 4), Phi2 = edf_affine_params(4, 2);
  edf_init_uniform(Phi1.b, -1, 1);
  CompNode *s = Affine(Phi1, x);
  CompNode *h = straight ? StraightSign(s) : Sign(s);
  CompNode *scores = Affine(Phi2, h), *ell = SoftmaxLogLoss(scores, y);
  edf_feed(x, bits[0], 8);
  edf_feed(y, parity, 8);
  if (straight && seed == 1) edf_gradcheck(scores);
  for (int i = 0; i < 2000; i++) {
    Forward();
    Backward(ell);
    SGD(0.1);
  }
  Forward();
  int right = 8 - (int)(8 * edf_error_rate(scores, y) + 0.5);
  edf_clear();
  return right;
}

/* Trains a feature f, one number, on rows that mix a label and a source. Two networks read f.
   Prints how often the first finds the right label, and the second the right source. */
static void hide_the_source(double strength) {
  enum { N = 400 };
  static edf_real rows[N][2], label[N], source[N];
  edf_seed(5);
  for (int i = 0; i < N; i++) {
    double a = i & 1 ? 1 : -1, c = i & 2 ? 1 : -1;
    rows[i][0] = a + 0.9 * c + edf_normal(0, 0.02);
    rows[i][1] = 0.9 * a - c + edf_normal(0, 0.02);
    label[i] = i & 1;
    source[i] = i >> 1 & 1;
  }
  lambda = strength;
  Input *x = edf_input("x[b,2]"), *y = edf_input("y[b]"), *d = edf_input("d[b]");
  AffineParams feature = edf_affine_params(2, 1);
  AffineParams up1 = edf_affine_params(1, 8), down1 = edf_affine_params(8, 2);
  AffineParams up2 = edf_affine_params(1, 8), down2 = edf_affine_params(8, 2);
  CompNode *f = Affine(feature, x);
  CompNode *labels  = Affine(down1, Tanh(Affine(up1, f)));
  CompNode *sources = Affine(down2, Tanh(Affine(up2, Reverse(f))));
  CompNode *loss = Add(SoftmaxLogLoss(labels, y), SoftmaxLogLoss(sources, d));
  edf_feed(x, rows[0], N);
  edf_feed(y, label, N);
  edf_feed(d, source, N);
  for (int i = 0; i < 3000; i++) {
    Forward();
    Backward(loss);
    SGD(0.1);
  }
  Forward();
  printf("reversal %.1f: label %.0f %% right, source %.0f %% right\n", strength,
         100 - 100 * edf_error_rate(labels, y), 100 - 100 * edf_error_rate(sources, d));
  edf_clear();
}

int main(void) {
  int straight = 0, derivative = 0;
  for (unsigned seed = 1; seed <= 5; seed++) {
    straight += learn_parity(1, seed);
    derivative += learn_parity(0, seed);
  }
  printf("parity of three bits: straight through %d of 40 right, by the derivative %d of 40\n"
         "\n", straight, derivative);
  hide_the_source(0);
  hide_the_source(1);
  return straight > derivative ? 0 : 1;
}
