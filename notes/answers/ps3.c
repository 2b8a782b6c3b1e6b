/* A solution of problem set 3; @S@ and others are the numbers of an id. */
#include "ps3.h"
#include <math.h>

edf_node *convolution(edf_node *x, edf_node *W) {
  (void)x, (void)W;
  return edf_equations("y[b,i,j,c] = W[K,L,c] x[b,@S@*i+@D@*K,@S@*j+@D@*L]");
}

edf_node *pooling(edf_node *x) {
  (void)x;
  return edf_equations("y[b,i,j] = max_{k,l} x[b,@P@*i+k,@P@*j+l] | k<@P@, l<@P@");
}

edf_node *residual(edf_node *x, edf_node *W, edf_node *V) {
  (void)x, (void)W, (void)V;
  return edf_equations("h[b,j] = relu(W[j,K] x[b,K]) \n"
                       "y[b,i] = x[b,i] + @A@ V[i,J] h[b,J]");
}

static void dropout_forward(edf_node *y) {
  double *factor = (double *)edf_state(y, y->size * sizeof *factor);
  for (size_t i = 0; i < y->size; i++) {
    factor[i] = !edf.training ? 1 : edf_uniform(0, 1) < @R@ ? 0 : 1 / (1 - @R@);
    y->value[i] = factor[i] * y->in[0]->value[i];
  }
}
static void dropout_backward(edf_node *y) {
  const double *factor = (const double *)y->state;
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, factor[i] * y->grad[i]);
}
edf_node *my_dropout(edf_node *x) {
  return edf_compnode("MyDropout", dropout_forward, dropout_backward, x);
}

void my_adam(double *p, const double *grad, double *m, double *s, int n, int step) {
  for (int i = 0; i < n; i++) {
    m[i] = @B@ * m[i] + (1 - @B@) * grad[i];
    s[i] = 0.99 * s[i] + 0.01 * grad[i] * grad[i];
    p[i] -= @E@ * (m[i] / (1 - pow(@B@, step))) / (sqrt(s[i] / (1 - pow(0.99, step))) + 1e-8);
  }
}

int main(void) { return 0; }
