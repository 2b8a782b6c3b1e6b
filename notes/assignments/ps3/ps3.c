/* ps3.c - your third problem set: see the handout, which has your numbers.

     cc -g ps3.c -lm -o ps3 && ./ps3          your own tests, in main below
     make grade ID=you                        the grader's                                    */
#include "ps3.h"
#include <math.h>

/* 1. By an equation: x[b,9,9] and W[3,3,2] to y[b,i,j,c]. */
edf_node *convolution(edf_node *x, edf_node *W) {
  (void)x, (void)W;
  NOT_IMPLEMENTED();
  return NULL;
}

/* 2. By an equation: x[b,12,12] to the maximum of each window. */
edf_node *pooling(edf_node *x) {
  (void)x;
  NOT_IMPLEMENTED();
  return NULL;
}

/* 3. By equations: x[b,6], W[4,6], V[6,4]. */
edf_node *residual(edf_node *x, edf_node *W, edf_node *V) {
  (void)x, (void)W, (void)V;
  NOT_IMPLEMENTED();
  return NULL;
}

/* 4. A node of your own. edf.training says whether it drops, edf_state keeps what. */
static void dropout_forward(edf_node *y) {
  (void)y;
  NOT_IMPLEMENTED();
}
static void dropout_backward(edf_node *y) {
  (void)y;
  NOT_IMPLEMENTED();
}
edf_node *my_dropout(edf_node *x) {
  return edf_compnode("MyDropout", dropout_forward, dropout_backward, x);
}

/* 5. One step of Adam: n parameters p, their gradients, and what it remembers, m and s, which
   are 0 before the first step, step = 1. */
void my_adam(double *p, const double *grad, double *m, double *s, int n, int step) {
  (void)p, (void)grad, (void)m, (void)s, (void)n, (void)step;
  NOT_IMPLEMENTED();
}

/* Your own tests. */
int main(void) {
  edf_real data[162] = { 0 }, weights[18] = { 0 };
  edf_node *x = edf_input("x[b,9,9]"), *W = edf_input("W[3,3,2]");
  edf_node *y = convolution(x, W);
  edf_feed(x, data, 2);
  edf_feed(W, weights, 1);
  edf_forward();
  edf_print(y);
}
