/* ps0.c - a framework for deep learning, and two networks that it trains: see the handout.

     cc -g ps0.c -lm -o ps0 && ./ps0          your own tests, in main below
     make grade ID=you                        the grader's                                    */
#include "ps0.h"
#include <math.h>
#include <string.h>

/* ---- 1. Nodes, and the lists of all nodes */
Node *inputs[MOST], *parameters[MOST], *compnodes[MOST];
int n_inputs, n_parameters, n_compnodes;

/* Returns a new node of rows x columns numbers, all 0, with gradients, all 0. */
static Node *new_node(int rows, int columns) {
  Node *x = calloc(1, sizeof *x);
  (void)x, (void)rows, (void)columns;
  NOT_IMPLEMENTED();
}

/* A new node at the end of the list of Inputs, of Parameters, of CompNodes. */
Node *Input(int rows, int columns) {
  return inputs[n_inputs++] = new_node(rows, columns);
}
Node *Parameter(int rows, int columns) {
  (void)rows, (void)columns;
  NOT_IMPLEMENTED();
}
Node *CompNode(int rows, int columns, void (*forward)(Node *y), void (*backward)(Node *y),
               Node *a, Node *b) {
  (void)rows, (void)columns, (void)forward, (void)backward, (void)a, (void)b;
  NOT_IMPLEMENTED();
}

/* ---- 2. Forward: each CompNode's forward, in the order of the list */
void Forward(void) {
  NOT_IMPLEMENTED();
}

/* ---- 3. Backward: all gradients are 0; those of the loss, of n entries, are 1/n; then each
   CompNode's backward, from the last one to the first */
void Backward(Node *loss) {
  (void)loss;
  NOT_IMPLEMENTED();
}

/* ---- 4. SGD: p -= eta p.grad, of each Parameter */
void SGD(double eta) {
  (void)eta;
  NOT_IMPLEMENTED();
}

/* ---- 5. The sum of products: y[...] += a[...] b[...], for all values of the n indices. With
   no index it is  y[0] += a[0] b[0].  The first loop is loop[0]; what is inside of it is a sum
   of products with n - 1 loops. */
void sum_of_products(const Loop *loop, int n, double *y, const double *a, const double *b) {
  (void)loop, (void)n, (void)y, (void)a, (void)b;
  NOT_IMPLEMENTED();
}

/* y is 0 at first. The gradient of a factor is a sum of products, too: of y.grad and the other
   factor. Which loops does it have? */
static void product_forward(Node *y) {
  (void)y;
  NOT_IMPLEMENTED();
}
static void product_backward(Node *y) {
  (void)y;
  NOT_IMPLEMENTED();
}
Node *Product(int rows, int columns, const Loop *loop, int n, Node *a, Node *b) {
  Node *y = CompNode(rows, columns, product_forward, product_backward, a, b);
  memcpy(y->loop, loop, (size_t)n * sizeof *loop);
  y->n_loops = n;
  return y;
}

/* y[b,j] = W[j,I] x[b,I], of a Parameter W: its three loops, over b, j and i */
static Node *Layer(Node *W, Node *x) {
  (void)W, (void)x;
  NOT_IMPLEMENTED();
}

/* ---- 6. y[b,j] = x[b,j] - B[0,j], or with + */
static void bias_forward(Node *y) {
  (void)y;
  NOT_IMPLEMENTED();
}
static void bias_backward(Node *y) {
  (void)y;
  NOT_IMPLEMENTED();
}
Node *Bias(Node *x, Node *B) {
  return CompNode(x->rows, x->columns, bias_forward, bias_backward, x, B);
}

/* ---- 7. y = F(x), of each entry */
static void activation_forward(Node *y) {
  (void)y;
  NOT_IMPLEMENTED();
}
static void activation_backward(Node *y) {
  (void)y;
  NOT_IMPLEMENTED();
}
Node *Activation(Node *x) {
  return CompNode(x->rows, x->columns, activation_forward, activation_backward, x, NULL);
}

/* ---- 8. l[b,0] = -ln softmax_k(s[b,k]) at k = y[b,0], which is a class: 0, 1, ... */
static void loss_forward(Node *l) {
  (void)l;
  NOT_IMPLEMENTED();
}
static void loss_backward(Node *l) {
  (void)l;
  NOT_IMPLEMENTED();
}
Node *LogLoss(Node *s, Node *y) {
  return CompNode(s->rows, 1, loss_forward, loss_backward, s, y);
}

/* ---- 9. XOR: the Parameters are W0[4,2], B0[1,4], W1[2,4] and B1[1,2]. `start` has their 22
   numbers at first. `end` gets them after all steps. */
void learn_xor(const double *start, int steps, double eta, double *end) {
  (void)start, (void)steps, (void)eta, (void)end, (void)Layer;
  NOT_IMPLEMENTED();
}

/* ---- 10. Learns from n images x[n,784] with labels y[n], then names m others: answer[m]. Both
   n and m are multiples of 50. */
void learn_digits(const double *x, const double *y, int n, const double *x_test, int m,
                  int *answer) {
  (void)x, (void)y, (void)n, (void)x_test, (void)m, (void)answer;
  NOT_IMPLEMENTED();
}

/* Your own tests, for example of the first gradient of all: L = w x with x = 3. */
int main(void) {
  Node *x = Input(1, 1), *w = Parameter(1, 1), *L = Product(1, 1, NULL, 0, w, x);
  x->value[0] = 3;
  w->value[0] = 2;
  Forward();
  Backward(L);
  SGD(0.1);
  printf("L = %g, w.grad = %g, and w is now %g\n", L->value[0], w->grad[0], w->value[0]);
}
