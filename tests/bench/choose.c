/* choose.c - is a CBLAS quicker here than the built-in kernel? blas.sh compiles it with the
   program's own flags, links the library and compares what this prints, in microseconds:

     71 79 1608 1610    a step of mlp_a: built-in, BLAS; a convolution: built-in, BLAS

   The convolution is LeNet's second, forward and backward, as a program runs it: a product
   whose operands cannot be read in place takes the built-in kernel with a BLAS too.

   One compilation serves both kernels, edf.kernel switches; and the edf.h that blas.sh gives
   it ends behind >>nest, which takes a third of the time. */

#define EDF_IMPLEMENTATION
#ifndef EDF_CBLAS
#define EDF_CBLAS
#endif
#include <edf.h>
#include <time.h>

enum { BATCH = 64, PIXELS = 784, HIDDEN = 64, CLASSES = 10, TURNS = 3 };
static const double ENOUGH = 0.05e6;             /* microseconds for each of the two models */

static edf_node *x, *y, *loss;

static void build_mlp_a(void) {
  x = edf_input("x[b,%d]", PIXELS);
  y = edf_input("y[b]");
  edf_node *h = edf_sigmoid(edf_affine(edf_affine_params(PIXELS, HIDDEN), x));
  loss = edf_log_loss(edf_softmax(edf_affine(edf_affine_params(HIDDEN, CLASSES), h)), y);
}

static void build_convolution(void) {
  edf_node *W = edf_parameter("W[5,5,16,32]");
  edf_init_normal(W, 0, (edf_real)0.05);
  x = edf_want_grad(edf_input("x[b,12,12,16]"));
  y = NULL;
  loss = edf_einsum("s[b,i,j,n] = W[DI,DJ,C,n] x[b,i+DI,j+DJ,C]", W, x);
}

static void feed(void) {
  static edf_real data[BATCH * 12 * 12 * 16], labels[BATCH];
  for (size_t i = 0; i < sizeof data / sizeof *data; i++) data[i] = edf_uniform(0, 1);
  for (int b = 0; b < BATCH; b++) labels[b] = (edf_real)edf_below(CLASSES);
  edf_feed(x, data, BATCH);
  if (y) edf_feed(y, labels, BATCH);
}

/* CPU time: other programs disturb less; and a BLAS with threads does not look quicker. */
static double step(int kernel) {
  clock_t start = clock();
  edf.kernel = kernel;
  edf_forward();
  edf_backward(loss);
  if (y) edf_sgd((edf_real)0.1);
  return (double)(clock() - start) * 1e6 / (double)CLOCKS_PER_SEC;
}

/* The least of steps in turns, since nothing makes a step quicker than it is. */
static void compare(void (*build)(void)) {
  static const int kernel[2] = { EDF_BUILTIN, EDF_FASTEST };
  double least[2] = { 0, 0 }, all = 0;
  edf_clear();
  build();
  feed();
  for (int turn = -1; turn < TURNS || all < ENOUGH; turn++)
    for (int k = 0; k < 2; k++) {
      double us = step(kernel[k]);
      if (turn < 0) continue;                    /* the first is slower, and counts for none */
      if (turn == 0 || us < least[k]) least[k] = us;
      all += us;
    }
  printf("%.0f %.0f%c", least[0], least[1], y ? ' ' : '\n');
}

int main(void) {
  compare(build_mlp_a);
  compare(build_convolution);
  edf_clear();
  return 0;
}
