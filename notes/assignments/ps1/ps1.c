/* ps1.c - your first problem set: see the handout, which has your numbers.

     cc -g ps1.c -lm -o ps1 && ./ps1          your own tests, in main below
     make grade ID=you                        the grader's                                    */
#include "ps1.h"
#include <math.h>

/* The numbers of your handout. */
enum { A = 0, D = 0 };
static const double C = 0, T = 0, E = 0;

/* 1. L = F(A x^2 + D y^2), dL/dx and dL/dy. F is on your handout. */
void by_hand(double x, double y, double *L, double *dx, double *dy) {
  (void)x, (void)y, (void)L, (void)dx, (void)dy, (void)A, (void)D;
  NOT_IMPLEMENTED();
}

/* 2. The slope of f at x along x[i], a central difference with h = 1e-5; x stays as it was. */
double slope(double (*f)(const double *x), double *x, int i) {
  (void)f, (void)x, (void)i;
  NOT_IMPLEMENTED();
}

/* 3. y = x on one side of 0, else C x. */
static void relu_forward(edf_node *y) {
  (void)y, (void)C;
  NOT_IMPLEMENTED();
}
static void relu_backward(edf_node *y) {
  (void)y;
  NOT_IMPLEMENTED();
}
edf_node *my_relu(edf_node *x) {
  return edf_compnode("MyRelu", relu_forward, relu_backward, x);
}

/* 4. P[b,k] = exp(s[b,k]/T) / sum_J exp(s[b,J]/T), or with -s; P->in[0] is s. */
static void softmax_forward(edf_node *P) {
  (void)P, (void)T;
  NOT_IMPLEMENTED();
}
static void softmax_backward(edf_node *P) {
  (void)P;
  NOT_IMPLEMENTED();
}
edf_node *my_softmax(edf_node *s) {
  return edf_compnode("MySoftmax", softmax_forward, softmax_backward, s);
}

/* 5. l[b] = -(1-E) ln P[b,y[b]] - E/K sum_k ln P[b,k], of K classes; l->in[0] is P, in[1] is y,
   to which no gradient goes. */
static void logloss_shape(edf_node *l) {
  l->rank = 1;
  l->dim[0] = l->in[0]->dim[0];
}
static void logloss_forward(edf_node *l) {
  (void)l, (void)E;
  NOT_IMPLEMENTED();
}
static void logloss_backward(edf_node *l) {
  (void)l;
  NOT_IMPLEMENTED();
}
edf_node *my_logloss(edf_node *P, edf_node *y) {
  return edf_compnode_shaped("MyLogLoss", logloss_shape, logloss_forward, logloss_backward, P,
                             y);
}

/* 6. Learns from n images x[n,784] with labels y[n], then names m others: answer[m]. */
void learn_digits(const edf_real *x, const edf_real *y, int n, const edf_real *x_test, int m,
                  int *answer) {
  (void)x, (void)y, (void)n, (void)x_test, (void)m, (void)answer;
  NOT_IMPLEMENTED();
}

/* Your own tests. A node is checked so; those that are not written yet stand in comments. */
int main(void) {
  double L, dx, dy;
  edf_real data[6] = { -1, 2, -3, 4, -5, 6 }, some[6] = { 0.1, 0.7, 0.2, 0.5, 0.3, 0.2 };
  edf_real classes[2] = { 1, 0 };
  by_hand(3, 4, &L, &dx, &dy);
  printf("L = %g, dL/dx = %g, dL/dy = %g\n", L, dx, dy);

  edf_node *x = edf_want_grad(edf_input("x[b,3]"));
  edf_node *y = my_relu(x);                  /* and my_softmax(x) */
  edf_feed(x, data, 2);
  edf_forward();
  edf_gradcheck(y);
  edf_clear();

  edf_node *P = edf_want_grad(edf_input("P[b,3]")), *k = edf_input("k[b]");
  edf_feed(P, some, 2);
  edf_feed(k, classes, 2);
  /* edf_node *l = my_logloss(P, k); edf_forward(); edf_gradcheck(l); */
}
