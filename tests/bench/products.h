/* products.h - the matrix products of a training step alone: what no step can be faster than.

   A list of products c = a b in the order of the step, each of one or several equal gemm calls,
   on operands of their own that are ready and packed. For a convolution there is one call an
   image, which is the fastest way; what is summed over images, or over time, is one call where
   that is faster. */

#ifndef PRODUCTS_H
#define PRODUCTS_H

enum { MAX_PRODUCTS = 128 };

/* Operands that all calls share: a or b; or c, to which they add. */
enum { SHARE_A = 1, SHARE_B = 2, SHARE_C = 4 };

typedef struct { int calls, ta, tb, m, n, k, share; real *a, *b, *c; } product_call;
typedef struct { int n; product_call call[MAX_PRODUCTS]; } products;

static real *operand(int calls, int rows, int columns, int shared) {
  size_t n = (size_t)rows * (size_t)columns * (size_t)(shared ? 1 : calls);
  real *p = reals(n);
  for (size_t i = 0; i < n; i++) p[i] = (real)(i * 37 % 101) / 101 - (real)0.5;
  return p;
}

static void add_product(products *p, int calls, int ta, int tb, int m, int n, int k,
                        int share) {
  product_call c = { calls, ta, tb, m, n, k, share, NULL, NULL, NULL };
  c.a = operand(calls, m, k, share & SHARE_A);
  c.b = operand(calls, k, n, share & SHARE_B);
  c.c = operand(calls, m, n, share & SHARE_C);
  if (p->n == MAX_PRODUCTS) { fprintf(stderr, "bench: too many products\n"); exit(1); }
  p->call[p->n++] = c;
}

/* y[m,n] = x[m,k] W[k,n]; then dW = x' dy, and dx = dy W' where something below learns. */
static void add_forward(products *p, int m, int n, int k) {
  add_product(p, 1, 0, 0, m, n, k, 0);
}
static void add_backward(products *p, int m, int n, int k, int below) {
  add_product(p, 1, 1, 0, k, n, m, 0);
  if (below) add_product(p, 1, 0, 1, m, k, n, 0);
}

static void free_products(products *p) {
  for (int i = 0; i < p->n; i++) {
    free(p->call[i].a);
    free(p->call[i].b);
    free(p->call[i].c);
  }
}

#ifdef EDF_CBLAS
static void products_step(void *self, const real *x, const real *y) {
  const products *p = (const products *)self;
  (void)x; (void)y;
  for (const product_call *c = p->call; c < p->call + p->n; c++) {
    size_t a = c->share & SHARE_A ? 0 : (size_t)c->m * (size_t)c->k;
    size_t b = c->share & SHARE_B ? 0 : (size_t)c->k * (size_t)c->n;
    size_t out = c->share & SHARE_C ? 0 : (size_t)c->m * (size_t)c->n;
    for (size_t i = 0; i < (size_t)c->calls; i++)
      gemm_into(c->ta, c->tb, c->m, c->n, c->k, c->a + i * a, c->b + i * b, c->c + i * out,
                out == 0 && i > 0);
  }
}
#endif

#endif
