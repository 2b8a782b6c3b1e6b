/* ps0.h - the names of a small framework that you write: see the handout. It has nothing of
   edf.h; but the names are the same. */
#ifndef PS0_H
#define PS0_H
#define EDF_NO_SHORT_NAMES
#include "hole.h"

/* One loop of a sum of products: its index has `extent` values. If the index grows by 1, y
   moves on by `y` numbers, a by `a`, and b by `b`. */
typedef struct { int extent, y, a, b; } Loop;

/* A node has rows x columns numbers. Entry [i,j] is value[i * columns + j]. */
typedef struct Node Node;
struct Node {
  int rows, columns;
  double *value, *grad;
  Node *in[2];                           /* of a CompNode; in[1] may be NULL                  */
  void (*forward)(Node *y);              /* computes y->value from y->in[...]->value          */
  void (*backward)(Node *y);             /* y->in[...]->grad += ..., from y->grad             */
  Loop loop[4];                          /* of a Product                                      */
  int n_loops;
};

/* All nodes, in the order in which they were made. */
enum { MOST = 100 };
extern Node *inputs[MOST], *parameters[MOST], *compnodes[MOST];
extern int n_inputs, n_parameters, n_compnodes;

Node *Input(int rows, int columns);
Node *Parameter(int rows, int columns);
Node *CompNode(int rows, int columns, void (*forward)(Node *y), void (*backward)(Node *y),
               Node *a, Node *b);

void Forward(void);
void Backward(Node *loss);
void SGD(double eta);

void sum_of_products(const Loop *loop, int n, double *y, const double *a, const double *b);
Node *Product(int rows, int columns, const Loop *loop, int n, Node *a, Node *b);
Node *Bias(Node *x, Node *B);
Node *Activation(Node *x);
Node *LogLoss(Node *s, Node *y);

void learn_xor(const double *start, int steps, double eta, double *end);
void learn_digits(const double *x, const double *y, int n, const double *x_test, int m,
                  int *answer);

/* cc -DDIGITS gives digits_make(seed, n, x, y) of digits.h to your own tests. It draws n images
   x[n,784] with labels y[n]. */
#ifdef DIGITS
#define EDF_REAL double
#define EDF_IMPLEMENTATION
#include "digits.h"
#endif
#endif
