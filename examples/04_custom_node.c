/* 04_custom_node.c - a node of your own, and the check that finds a wrong backward

     cc -g -std=c99 -I. examples/04_custom_node.c -o build/04_custom_node -lm
     build/04_custom_node

   It computes in double, because differences of floats are too coarse for the check. It prints
   a report for each node. The report of the wrong node says (yours: by backward, numeric: by
   central differences)

     FAIL  d WrongRelu1 / d x: worst relative error 1, 15 of 15 entries tried, 0 at kinks skipped
           8 wrong, most at x[2,1] = -1.15202: yours 1.4815, numeric 0
           likely: a mask is missing: wrong where the derivative is 0

   and the program ends with status 0 when the right node passes and the wrong one is found.
*/
#define EDF_REAL double
#define EDF_IMPLEMENTATION
#include "edf.h"

/* y[i] = max(0, x[i]) */
static void relu_forward(CompNode *y) {
  Node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) y->value[i] = x->value[i] < 0 ? 0 : x->value[i];
}

/* x.grad[i] += y.grad[i] where x[i] > 0 */
static void relu_backward(CompNode *y) {
  Node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) edf_addgrad(x, i, x->value[i] > 0 ? y->grad[i] : 0);
}

/* The usual mistake: the mask is missing. */
static void wrong_backward(CompNode *y) {
  Node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) edf_addgrad(x, i, y->grad[i]);
}

static CompNode *MyRelu(Node *x) {
  return edf_compnode("MyRelu", relu_forward, relu_backward, x);
}

static CompNode *WrongRelu(Node *x) {
  return edf_compnode("WrongRelu", relu_forward, wrong_backward, x);
}

int main(void) {
  edf_real data[5 * 3];
  for (int i = 0; i < 5 * 3; i++) data[i] = edf_normal(0, 1);

  /* Alone behind an Input, so that the check sees this node's mistakes and no other's. */
  Input *x = edf_want_grad(edf_input("x[b,3]"));
  CompNode *right = MyRelu(x), *wrong = WrongRelu(x);
  edf_feed(x, data, 5);

  double right_error = edf_gradcheck(right);
  printf("\n");
  double wrong_error = edf_gradcheck(wrong);
  edf_clear();
  return right_error < 1e-6 && wrong_error > 1e-2 ? 0 : 1;
}
