/* products.h - the matrix products of a training step. No step can be faster than these.

   A list has the products c = a b in the order of the step. A product is one or several equal
   gemm calls on operands of their own. A convolution has one call for each image, which is the
   fastest way on a CPU. A sum over images or times is one call if that is faster. cuda.c uses
   only the list, for calls of cuBLAS. */

#ifndef PRODUCTS_H
#define PRODUCTS_H

enum { MAX_PRODUCTS = 128 };

/* All calls can share the operand a or b. If they share c, they add to it. IN_TURN: each call
   needs the result of the call before, so the calls cannot become one. */
enum { SHARE_A = 1, SHARE_B = 2, SHARE_C = 4, IN_TURN = 8 };

typedef struct { int calls, ta, tb, m, n, k, share; real *a, *b, *c; } product_call;
typedef struct { int n; product_call call[MAX_PRODUCTS]; } products;

static void add_product(products *p, int calls, int ta, int tb, int m, int n, int k,
                        int share) {
  product_call c = { calls, ta, tb, m, n, k, share, NULL, NULL, NULL };
  if (p->n == MAX_PRODUCTS) { fprintf(stderr, "bench: too many products\n"); exit(1); }
  p->call[p->n++] = c;
}

/* Adds y[m,n] = x[m,k] W[k,n]. Backward adds dW = x' dy, and if needed dx = dy W'. */
static void add_forward(products *p, int m, int n, int k) {
  add_product(p, 1, 0, 0, m, n, k, 0);
}
static void add_backward(products *p, int m, int n, int k, int below) {
  add_product(p, 1, 1, 0, k, n, m, 0);
  if (below) add_product(p, 1, 0, 1, m, k, n, 0);
}

static inline real *operand(int calls, int rows, int columns, int shared) {
  size_t n = (size_t)rows * (size_t)columns * (size_t)(shared ? 1 : calls);
  real *p = reals(n);
  for (size_t i = 0; i < n; i++) p[i] = (real)(i * 37 % 101) / 101 - (real)0.5;
  return p;
}

static inline void make_operands(products *p) {
  for (product_call *c = p->call; c < p->call + p->n; c++) {
    c->a = operand(c->calls, c->m, c->k, c->share & SHARE_A);
    c->b = operand(c->calls, c->k, c->n, c->share & SHARE_B);
    c->c = operand(c->calls, c->m, c->n, c->share & SHARE_C);
  }
}

static inline void free_products(products *p) {
  for (int i = 0; i < p->n; i++) {
    free(p->call[i].a);
    free(p->call[i].b);
    free(p->call[i].c);
  }
}

#endif
