/* cases.h - random texts, as run.c reads them: declarations, "---", the text, and END. */
#ifndef CASES_H
#define CASES_H
#include "harness.h"
#include "edf/slide.h"

enum { MOST_OF_A_CASE = 1 << 16 };
/* Declares "W[3,4]", or an Input "x[b,4] 2" with 2 rows, and gives it numbers as run.c does.
   Returns 0 if one is not in -20 ... 20. */
static inline int declare_case(char *line, int n) {
  static edf_real numbers[MOST_OF_A_CASE];
  char *given = strstr(line, " = "), *blank = strchr(line, ' ');
  if (blank) *blank = '\0';
  int rows = blank ? atoi(blank + 1) : 0, small = 1;
  edf_node *x = rows ? edf_want_grad(edf_input("%s", line)) : edf_parameter("%s", line);
  size_t size = rows ? (size_t)rows : 1;
  for (int d = rows ? 1 : 0; d < x->rank; d++) size *= (size_t)x->dim[d];
  if (given) given += 3;
  for (size_t i = 0; i < size; i++) {
    double drawn = sin(1 + 0.7 * n + 1.3 * (double)i);
    numbers[i] = (edf_real)(given && *given ? strtod(given, &given) : drawn);
    small &= fabs(numbers[i]) <= 20;
  }
  if (rows) edf_feed(x, numbers, rows);
  else memcpy(x->value, numbers, size * sizeof *numbers);
  return small;
}

/* "einsum x W: y[b,j] = ..." is built by edf_einsum, other texts by edf_equations. */
static inline edf_node *build_case(char *text) {
  edf_node *in[9] = { NULL };
  int n = 0;
  char *equation = strchr(text, ':');
  if (strncmp(text, "einsum ", 7)) return edf_equations("%s", text);
  *equation = '\0';
  for (char *name = strtok(text + 7, " "); name; name = strtok(NULL, " "))
    in[n++] = edf_find(name);
  equation[1 + strcspn(equation + 1, "\n")] = '\0';
  return edf_einsum(equation + 2, in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7],
                    in[8]);
}
#endif
