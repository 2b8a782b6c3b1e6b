/* given.h - tensors with given numbers, and the right values of what a program computes. They
   are texts:

     "x[b,2] = 1 2 3 4; W[2] = 1 2"      a tensor with the index b is an Input, else a Parameter
     "z = 5; x.grad = 2 4; W is [3, 2]"  values, gradients and shapes */

#ifndef GIVEN_H
#define GIVEN_H

#include "harness.h"
#include "edf/slide.h"

static edf_real numbers[16][64];

/* Reads numbers up to a ';'. Returns how many there are. */
static inline int read_numbers(const char **at, edf_real *to) {
  int n = 0;
  for (char *end; **at && **at != ';'; *at = end) {
    double v = strtod(*at, &end);
    if (end == *at) break;
    to[n++] = (edf_real)v;
  }
  while (**at == ';' || **at == ' ') ++*at;
  return n;
}

/* Declares "x[b,2] = 1 2 3 4; W[2] = 1 2". */
static inline void declare(const char *at) {
  char declaration[64];
  for (int k = 0; *at; k++) {
    size_t n = strcspn(at, "=");
    int size = 1;
    snprintf(declaration, sizeof declaration, "%.*s", (int)n, at);
    while (n && declaration[n - 1] == ' ') declaration[--n] = '\0';
    at += strcspn(at, "=") + 1;
    int count = read_numbers(&at, numbers[k]);
    if (!strstr(declaration, "[b")) {
      edf_node *p = edf_parameter("%s", declaration);
      memcpy(p->value, numbers[k], p->size * sizeof *p->value);
      continue;
    }
    edf_node *x = edf_want_grad(edf_input("%s", declaration));
    for (int d = 1; d < x->rank; d++) size *= x->dim[d];
    edf_feed(x, numbers[k], count / size);
  }
}

/* Checks the shape of "W is [3, 2]". */
static inline void compare_shape(const char *text, const edf_node *x, const char *shape) {
  char is[64] = "";
  size_t n = 0;
  for (int d = 0; d < x->rank; d++)
    n += (size_t)snprintf(is + n, sizeof is - n, d ? ", %d" : "%d", x->dim[d]);
  size_t length = strcspn(shape, "]");
  CHECK(length == n && !strncmp(is, shape, n), "%s is [%s], not [%.*s]: %s", x->name, is,
        (int)length, shape, text);
}

/* Compares values, gradients and shapes: "z = 5; x.grad = 2 4; W is [3, 2]". NaN is equal to
   NaN. The relative error of a number is at most `near`. */
static inline void compare(const char *text, const char *at, double near) {
  edf_real right[64];
  while (*at) {
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, " ."), at);
    edf_node *x = edf_find(name);
    int grad = at[strcspn(at, " .")] == '.';
    if (!strncmp(at + strlen(name), " is [", 5)) {
      compare_shape(text, x, at + strlen(name) + 5);
      at += strcspn(at, ";");
      at += strspn(at, "; ");
      continue;
    }
    at += strcspn(at, "=") + 1;
    int n = read_numbers(&at, right);
    const edf_real *v = grad ? edf_grad(x) : edf_value(x);
    CHECK((size_t)n == x->size, "%s has %zu entries, not %d: %s", name, x->size, n, text);
    for (int i = 0; v && i < n; i++) {
      double is = (double)v[i], want = (double)right[i];
      int same = is == want || (is != is && want != want) ||
                 fabs(is - want) <= near * (1 + fabs(want));
      CHECK(same, "%s%s[%d] is %.10g, expected %.10g: %s", name, grad ? ".grad" : "", i, is,
            want, text);
    }
    CHECK(v, "%s has no gradient: %s", name, text);
  }
}

#endif
