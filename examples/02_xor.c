/* 02_xor.c - a network with one hidden layer learns XOR

     cc -std=c99 -I. examples/02_xor.c -o build/02_xor -lm && build/02_xor

   Every layer is one line of the slide. The program prints:

     step   0   loss 0.2899
     step 100   loss 0.0397
     step 200   loss 0.0075
     step 300   loss 0.0037
     step 400   loss 0.0024
     step 500   loss 0.0018
     step 600   loss 0.0014
     step 700   loss 0.0011
     step 800   loss 0.0010

     x y   xor   network
     0 0    0    0.020
     0 1    1    0.967
     1 0    1    0.967
     1 1    0    0.035
*/
#define EDF_IMPLEMENTATION
#include "edf/slide.h"
#include "edf/doctor.h"

int main(void) {
  edf_real points[] = { 0,0,  0,1,  1,0,  1,1 }, xors[] = { 0, 1, 1, 0 };

  Input     *x = edf_input("x[b,2]"), *t = edf_input("t[b]");
  Parameter *W = edf_parameter("W[2,4]"), *B = edf_parameter("B[4]");
  Parameter *V = edf_parameter("V[4]"), *c = edf_parameter("c");
  CompNode *h   = Tanh(Einsum("a[b,j] = W[I,j] x[b,I] - B[j]", W, x, B));
  CompNode *p   = Sigmoid(Einsum("s[b] = V[J] h[b,J] - c", V, h, c));
  CompNode *ell = Mean(Square(Sub(p, t)));

  /* If all weights began at 0, the hidden units would stay equal. So W and V are random. */
  edf_init_uniform(W, -1, 1);
  edf_init_uniform(V, -1, 1);

  edf_feed(x, points, 4);
  edf_feed(t, xors, 4);
  edf_check(ell);                        /* It would print what is wrong before the first step. */
  for (int step = 0; step <= 800; step++) {
    Forward();
    if (step % 100 == 0) printf("step %3d   loss %.4f\n", step, (double)*edf_value(ell));
    Backward(ell);
    SGD(1);
  }

  Forward();
  printf("\nx y   xor   network\n");
  for (int b = 0; b < 4; b++)
    printf("%g %g    %g    %.3f\n", (double)points[2 * b], (double)points[2 * b + 1],
           (double)xors[b], (double)edf_value(p)[b]);
  edf_clear();
  return 0;
}
