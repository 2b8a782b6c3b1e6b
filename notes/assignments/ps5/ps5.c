/* ps5.c - your fifth problem set: see the handout, which has your numbers.

     cc -g ps5.c -lm -o ps5 && ./ps5          your own tests, in main below
     make grade ID=you                        the grader's                                    */
#include "ps5.h"
#include <math.h>

/* 1. A sign whose gradient goes straight through. */
static void sign_forward(edf_node *y) {
  (void)y;
  NOT_IMPLEMENTED();
}
static void straight_backward(edf_node *y) {
  (void)y;
  NOT_IMPLEMENTED();
}
edf_node *straight(edf_node *x) {
  return edf_compnode("Straight", sign_forward, straight_backward, x);
}

/* 2. What changes nothing, and turns the gradient round. */
static void same_forward(edf_node *y) {
  (void)y;
  NOT_IMPLEMENTED();
}
static void reverse_backward(edf_node *y) {
  (void)y;
  NOT_IMPLEMENTED();
}
edf_node *reverse(edf_node *x) {
  return edf_compnode("Reverse", same_forward, reverse_backward, x);
}

/* 4. The four numbers that the handout asks for. Think first, then run it. */
void graph_and_eager(double *answer) {
  (void)answer;
  NOT_IMPLEMENTED();
}

/* Your own tests. */
int main(void) {
  edf_real data[6] = { -1, 2, -3, 0.4, -0.5, 6 };
  edf_node *x = edf_want_grad(edf_input("x[b,3]"));
  edf_node *y = straight(x);
  edf_feed(x, data, 2);
  edf_forward();
  edf_gradcheck(y);
}
