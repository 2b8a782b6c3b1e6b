/* memory.c - compares the peak memory of an example with the size of its arrays. Allowed are
   20 MB, the data set, and 1.25 times the Parameters, values, gradients and optimiser state.

     cc -DEXAMPLE='"../examples/05_lenet.c"' -DNAME='"05_lenet"' memory.c ... && ./a.out ARGS

   This program includes the example, and renames its main. */

#define _POSIX_C_SOURCE 200809L
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "../examples/digits.h"
#include <sys/resource.h>

#ifndef EXAMPLE                                              /* The file also compiles alone. */
#define EXAMPLE "../examples/05_lenet.c"
#define NAME "05_lenet"
#define TAKES_ARGUMENTS
#endif

enum { PARAMETERS, VALUES, GRADIENTS, OPTIMISER, KINDS };
static double takes[KINDS], data_takes;

/* Measures the graph, and keeps the sizes of the largest graph so far. */
static void look(void) {
  double now[KINDS] = { 0 }, sum = 0, before = 0;
  for (int i = 0; i < edf.n_parameters; i++) {
    const edf_node *p = edf.parameters[i];
    double size = (double)(p->size * sizeof(edf_real));
    now[PARAMETERS] += size;
    now[GRADIENTS] += p->grad ? size : 0;
    now[OPTIMISER] += (p->m ? size : 0) + (p->s ? size : 0);
  }
  for (int i = 0; i < edf.n_compnodes; i++) {
    const edf_node *c = edf.compnodes[i];
    now[VALUES] += c->value ? (double)edf__header(c->value)->bytes : 0;
    now[GRADIENTS] += c->grad ? (double)edf__header(c->grad)->bytes : 0;
  }
  for (int k = 0; k < KINDS; k++) { sum += now[k]; before += takes[k]; }
  if (sum > before) memcpy(takes, now, sizeof takes);
}

static void count_digits(const digits_set *train, const digits_set *test) {
  size_t n = train->x.size + train->y.size + test->x.size + test->y.size;
  data_takes += (double)(n * sizeof(edf_real));
}

static edf_vocabulary count_text(edf_vocabulary t) {
  data_takes += (double)(t.classes.size * sizeof(edf_real));
  return t;
}

#define edf_clear() (look(), edf_clear())
#define edf_clear_compnodes() (look(), edf_clear_compnodes())
#define digits_find(train, test) (digits_find(train, test), count_digits(train, test))
#define edf_load_text(path) count_text(edf_load_text(path))
#define edf_text_of(text, n) count_text(edf_text_of(text, n))
#define main example_main
#include EXAMPLE
#undef main

int main(int argc, char **argv) {
  struct rusage use;
  (void)count_text;                                          /* Some examples have no text. */
  (void)count_digits;
  double arrays = 0, mb = 1 << 20;
#ifdef TAKES_ARGUMENTS
  int status = example_main(argc, argv);
#else
  int status = example_main();
  (void)argc; (void)argv;
#endif
  getrusage(RUSAGE_SELF, &use);
  for (int k = 0; k < KINDS; k++) arrays += takes[k];
  double peak = (double)use.ru_maxrss / 1024;
  double allowed = (1.25 * arrays + data_takes) / mb + 20;
  fprintf(stderr, "bench memory %s peak_mb=%.1f allowed_mb=%.1f parameters_mb=%.2f "
          "values_mb=%.2f gradients_mb=%.2f optimiser_mb=%.2f data_mb=%.1f\n", NAME, peak,
          allowed, takes[PARAMETERS] / mb, takes[VALUES] / mb, takes[GRADIENTS] / mb,
          takes[OPTIMISER] / mb, data_takes / mb);
  return status || peak > allowed;
}
