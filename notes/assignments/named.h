/* named.h - for judges: digits are drawn, and a network of the student names them */
#ifndef NAMED_H
#define NAMED_H
#include "digits.h"

/* Draws `train` images with labels, and `test` others, of which only the images are sent. The
   student's side answers with a class of each, and then with `more` numbers, in *rest. Returns
   how many percent are named wrongly, and prints it. */
static double digits_named_and(int train, int test, size_t more, const double **rest) {
  size_t n = (size_t)(train + test), sent = n * DIGITS_PIXELS + (size_t)train;
  edf_real *x = (edf_real *)malloc(n * DIGITS_PIXELS * sizeof *x);
  edf_real *y = (edf_real *)malloc(n * sizeof *y);
  double *in = (double *)malloc(sent * sizeof *in);
  int wrong = 0;
  if (!x || !y || !in) edf_stop("grade: out of memory");
  digits_make((unsigned)grade_below(1 << 30) + 1, (int)n, x, y);
  memcpy(in, x, (size_t)train * DIGITS_PIXELS * sizeof *in);
  memcpy(in + train * DIGITS_PIXELS, y, (size_t)train * sizeof *in);
  memcpy(in + train * (DIGITS_PIXELS + 1), x + train * DIGITS_PIXELS,
         (size_t)test * DIGITS_PIXELS * sizeof *in);
  const double *answer = grade_ask(in, sent, (size_t)test + more);
  for (int i = 0; i < test; i++) wrong += answer[i] != y[train + i];
  printf("of %d digits that it has not seen %d are named wrongly (%.1f %%)\n%s", test, wrong,
         100.0 * wrong / test, 100 * wrong < 85 * test ? ""
         : "that is guessing: were these images fed, and run?\n");
  free(x);
  free(y);
  free(in);
  if (rest) *rest = answer + test;
  return 100.0 * wrong / test;
}
/* Returns 1 if at most `most` percent are named wrongly. */
static inline int digits_named(int train, int test, double most) {
  if (digits_named_and(train, test, 0, NULL) <= most) return 1;
  printf("at most %g %% expected\n", most);
  return 0;
}
#endif
