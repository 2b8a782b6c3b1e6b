/* A solution of problem set 5; @T@ and others are the numbers of an id. */
#include "ps5.h"
#include <math.h>

static void sign_forward(edf_node *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = y->in[0]->value[i] > 0 ? 1 : -1;
}
static void straight_backward(edf_node *y) {
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(y->in[0], i, fabs(y->in[0]->value[i]) <= @T@ ? y->grad[i] : 0);
}
edf_node *straight(edf_node *x) {
  return edf_expect_mismatch(edf_compnode("Straight", sign_forward, straight_backward, x));
}

static void same_forward(edf_node *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = y->in[0]->value[i];
}
static void reverse_backward(edf_node *y) {
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, -@L@ * y->grad[i]);
}
edf_node *reverse(edf_node *x) {
  return edf_expect_mismatch(edf_compnode("Reverse", same_forward, reverse_backward, x));
}

void graph_and_eager(double *answer) {
  double w = @W@;
  answer[0] = @W@ - @N@ * @E@ * @C@;       /* always down the branch it was built with */
  answer[1] = 2;
  answer[3] = 0;
  for (int step = 0; step < @N@; step++) {
    int branch = w * w > 1;
    w -= @E@ * (branch ? @C@ : 2 * w);
    answer[3] += branch;
  }
  answer[2] = w;
}

int main(void) { return 0; }
