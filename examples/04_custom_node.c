/* 04_custom_node.c - a node of your own, and the check that finds a wrong backward

     cc -g -std=c99 -I. examples/04_custom_node.c -o build/04_custom_node -lm
     build/04_custom_node

   The program computes in double, because differences of floats are too inexact for the check.
   It prints a report for each node. "yours" is the result of your backward, and "numeric" is a
   central difference. The report of the wrong node says:

     FAIL  d WrongRelu1 / d x: worst relative error 1, 15 of 15 entries tried, ...
           8 wrong, most at x[2,1] = -1.15202: yours 1.4815, numeric 0
           likely: a mask is missing: wrong where the derivative is 0

   The program returns 0 if the right node passes the check and the wrong node fails.
*/
#define EDF_REAL double
#define EDF_IMPLEMENTATION
#include "edf.h"

/* y[i] = max(0, x[i]) */
static void relu_forward(CompNode *y) {
  Node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) y->value[i] = x->value[i] < 0 ? 0 : x->value[i];
}

/* x.grad[i] += y.grad[i] if x[i] > 0 */
static void relu_backward(CompNode *y) {
  Node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) edf_addgrad(x, i, x->value[i] > 0 ? y->grad[i] : 0);
}

/* Makes the usual mistake: the condition x[i] > 0 is missing. */
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

  /* Each node reads the Input directly, so its report shows only its own mistakes. */
  Input *x = edf_want_grad(edf_input("x[b,3]"));
  CompNode *right = MyRelu(x), *wrong = WrongRelu(x);
  edf_feed(x, data, 5);

  double right_error = edf_gradcheck(right);
  printf("\n");
  double wrong_error = edf_gradcheck(wrong);
  edf_clear();
  return right_error < 1e-6 && wrong_error > 1e-2 ? 0 : 1;
}
