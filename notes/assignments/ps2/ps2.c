/* ps2.c - your second problem set: answers in the notation; see the handout.

     cc -g ps2.c -lm -o ps2 && ./ps2          your own tests, in main below
     make grade ID=you                        the grader's                                    */
#include "ps2.h"

/* 1. The backward of each line of the handout. */
const char *product(void) {
  NOT_IMPLEMENTED();
  return "";
}
const char *convolution(void) {
  NOT_IMPLEMENTED();
  return "";
}
const char *weights(void) {
  NOT_IMPLEMENTED();
  return "";
}
const char *attention(void) {
  NOT_IMPLEMENTED();
  return "";
}
const char *normalisation(void) {
  NOT_IMPLEMENTED();
  return "";
}

/* 2. Equations for o, of the tensors that the handout names. */
const char *running_sum(void) {
  NOT_IMPLEMENTED();
  return "";
}
const char *difference(void) {
  NOT_IMPLEMENTED();
  return "";
}
const char *count(void) {
  NOT_IMPLEMENTED();
  return "";
}
const char *mask(void) {
  NOT_IMPLEMENTED();
  return "";
}

/* Your own tests: this is how the grader asks. */
int main(void) {
  edf_real data[6] = { 1, 2, 3, 4, 5, 6 };
  edf_node *x = edf_input("x[2,3]");
  edf_node *y = edf_equations("y[b,j] = W[j,I] x[b,I] | j<2");
  edf_feed(x, data, 2);
  edf_forward();
  edf_check_backward(y, "W.grad[j,i] += y.grad[B,j] x[B,i]  \n"
                        "x.grad[b,i] += W[J,i] y.grad[b,J]");
}
