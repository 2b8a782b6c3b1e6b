/* examples.c - the losses of the first 20 steps of an example, one a line; tests/cuda/losses.sh
   compares those of the CPU and of the GPU: -DEXAMPLE='"examples/03_mnist.c"'.

   Built as: alone, by tests/cuda/losses.sh */
#define EDF_IMPLEMENTATION
#include "edf.h"
#include <stdlib.h>

/* A Backward's loss is a line; the 20th ends the program. */
static void told(edf_node *loss) {
  static int steps;
  const edf_real *v = edf_value(loss);
  double sum = 0;
  for (size_t i = 0; i < loss->size; i++) sum += (double)v[i] / (double)loss->size;
  edf_backward(loss);
  printf("loss %.9g\n", sum);
  if (++steps == 20) exit(0);
}

#undef Backward
#define Backward told
#include EXAMPLE
