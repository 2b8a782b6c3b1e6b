/* examples.c - the first steps of an example. It prints the loss of each step, and what the
   last step cost: operations of the GPU, waits inside of passes, graphs, and allocations.
     cc -DEXAMPLE='"../../examples/07_gpt.c"' -I. tests/cuda/examples.c edf_cuda.o ...
   A program for a real GPU is compiled with -DNO_SHIM. It counts nothing. */
#include <stdlib.h>
#define main example
#include EXAMPLE
#undef main

#ifdef NO_SHIM
static long long cudashim_count(const char *name) { return (void)name, 0; }
#else
long long cudashim_count(const char *name);
#endif

enum { MEASURED = 6 };
static long long operations, waits, in_pass, graphs, allocations;

static void count(edf_event event, edf_node *x) {
  static int step;
  (void)x;
  if (event == EDF_BEGIN_FORWARD || event == EDF_BEGIN_BACKWARD)
    in_pass = cudashim_count("syncs");
  if (event == EDF_END_FORWARD || event == EDF_END_BACKWARD)
    waits += cudashim_count("syncs") - in_pass;
  if (event == EDF_BEGIN_FORWARD) {
    if (step == MEASURED) {
      operations = cudashim_count("ops") - operations;
      graphs = cudashim_count("graph_launches") - graphs;
      allocations = cudashim_count("mallocs") - allocations;
      printf("\ncost %lld %lld %lld %lld\n", operations, waits, graphs, allocations);
      exit(0);
    }
    operations = cudashim_count("ops");
    graphs = cudashim_count("graph_launches");
    allocations = cudashim_count("mallocs");
    waits = 0;
  }
  if (event != EDF_END_BACKWARD) return;
  double sum = 0;
  long long before = cudashim_count("ops");
  const edf_real *loss = edf_value(edf.loss);
  operations += cudashim_count("ops") - before;          /* This test's own.                  */
  for (size_t i = 0; i < edf.loss->size; i++) sum += (double)loss[i];
  printf("%s%.9g", step++ ? " " : "\nlosses ", sum / (double)edf.loss->size);
}

int main(void) {
  char *words[] = { (char *)"example", NULL };
  int (*run)() = (int (*)())example;     /* Some of them take no arguments.                   */
  edf.told = count;
  return run(1, words);
}
