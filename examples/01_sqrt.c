/* 01_sqrt.c - the slide's first graph: L = sqrt(x^2 + y^2), and the gradient of every node

     cc -std=c99 -I. examples/01_sqrt.c -o build/01_sqrt -lm && build/01_sqrt

   By hand: dL/dx = x/L = 3/5 and dL/dy = y/L = 4/5. The program prints its forward list, the
   backward list that follows from it, and every value and gradient:

     inputs
            x   Input scalar   examples/01_sqrt.c:45
            y   Input scalar   examples/01_sqrt.c:45
     forward
         0  u = x^2   Square scalar   examples/01_sqrt.c:46
         1  v = y^2   Square scalar   examples/01_sqrt.c:47
         2  r = u + v   Add scalar   examples/01_sqrt.c:48
         3  L = sqrt(r)   Sqrt scalar   examples/01_sqrt.c:49
     backward
         3  L
            r.grad += L.grad / (2 L)
         2  r
            u.grad += r.grad
            v.grad += r.grad
         1  v
            y.grad += v.grad 2 y
         0  u
            x.grad += u.grad 2 x

     x  value  3.0000   grad  0.6000
     y  value  4.0000   grad  0.8000
     u  value  9.0000   grad  0.1000
     v  value 16.0000   grad  0.1000
     r  value 25.0000   grad  0.1000
     L  value  5.0000   grad  1.0000
*/
#define EDF_IMPLEMENTATION
#include "edf/slide.h"

static void show(Node *node) {
  printf("%-2s value %7.4f   grad %7.4f\n", node->name, (double)*edf_value(node),
         (double)*edf_grad(node));
}

int main(void) {
  edf_real three = 3, four = 4;

  Input    *x = edf_want_grad(edf_input("x")), *y = edf_want_grad(edf_input("y"));
  CompNode *u = edf_name(Square(x), "u");
  CompNode *v = edf_name(Square(y), "v");
  CompNode *r = edf_name(Add(u, v), "r");
  CompNode *L = edf_name(Sqrt(r), "L");

  edf_print_program(stdout);
  edf_feed(x, &three, 1);
  edf_feed(y, &four, 1);
  Forward();
  Backward(L);

  printf("\n");
  show(x); show(y); show(u); show(v); show(r); show(L);
  edf_clear();
  return 0;
}
