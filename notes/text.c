/* text.c - runs the lines of an `edf` block of a page, for handout.sh: builds them, checks the
   gradients in double, and prints the program.
     text NAME FILE [INPUT=CLASSES ...]

   Inputs are fed three rows of numbers between -1 and 1; y=10: of class numbers below 10. */
#define EDF_REAL double
#define EDF_IMPLEMENTATION
#include "edf/slide.h"

static int classes_of(const char *name, int n, char **words) {
  size_t length = strlen(name);
  for (int i = 0; i < n; i++)
    if (!strncmp(words[i], name, length) && words[i][length] == '=')
      return atoi(words[i] + length + 1);
  return 0;
}

static void feed(edf_node *x, int classes) {
  static double numbers[100000];
  int rows = !x->rank ? 1 : x->dim[0] ? x->dim[0] : 3;           /* 0 is the batch           */
  size_t n = (size_t)rows;
  for (int d = 1; d < x->rank; d++) n *= (size_t)x->dim[d];
  for (size_t i = 0; i < n && i < 100000; i++)
    numbers[i] = classes ? (double)(i * 7 % (size_t)classes) : edf_uniform(-1, 1);
  edf_feed(x, numbers, rows);
}

int main(int n, char **words) {
  static char text[20000];
  FILE *in = fopen(words[2], "r");
  if (!in) return 1;
  text[fread(text, 1, sizeof text - 1, in)] = 0;
  fclose(in);
  edf_node *y = edf_equations_at(words[1], 1, "%s", text);
  for (int i = 0; i < edf.n_inputs; i++) {
    int classes = classes_of(edf.inputs[i]->name, n - 3, words + 3);
    if (!classes) edf_want_grad(edf.inputs[i]);
    feed(edf.inputs[i], classes);
  }
  edf_print_program(stdout);
  fflush(stdout);
  if (!freopen("/dev/null", "w", stdout)) return 1;
  Forward();
  if (!y->needs_grad) return 0;                        /* a test, an index: no gradient        */
  double error = edf_gradcheck(y);
  if (error > 1e-4) fprintf(stderr, "its gradients are wrong: relative error %g\n", error);
  return error > 1e-4;
}
