/* misconceptions.h - what the programs of misconceptions.md have in common: x has 2 rows of 3
   numbers, and each checks one backward of a y. */
#ifndef EDF_REAL
#define EDF_REAL double
#endif
#define EDF_IMPLEMENTATION
#include "edf/slide.h"
#include "edf/judge.h"

static const edf_real numbers[6] = { 0.3, -0.5, 0.9, 0.4, 0.7, -0.2 };

/* Forwards: y = tanh x, y = x^2, y = x tanh x, y = relu x; y[b,i] = x[b,i] / sum_k x[b,k]^2 */
static inline void tanh_forward(Node *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = tanh(y->in[0]->value[i]);
}
static inline void square_forward(Node *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = y->in[0]->value[i] * y->in[0]->value[i];
}
static inline void product_forward(Node *y) {
  tanh_forward(y);
  for (size_t i = 0; i < y->size; i++) y->value[i] *= y->in[0]->value[i];
}
static inline void relu_forward(Node *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = fmax(0.0, y->in[0]->value[i]);
}
static inline edf_real row_sum(const Node *x, size_t i) {
  const edf_real *v = x->value + i / 3 * 3;
  return v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
}
static inline void normal_forward(Node *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = y->in[0]->value[i] / row_sum(y->in[0], i);
}

/* Checks a node of x[2,3] with these two functions. */
static inline void check(void (*forward)(Node *y), void (*backward)(Node *y)) {
  Node *x = edf_parameter("x[2,3]");
  for (int i = 0; i < 6; i++) x->value[i] = numbers[i];
  Node *y = edf_compnode("y", forward, backward, x);
  edf_name(y, "y");
  edf_forward();
  edf_gradcheck(y);
}

/* Checks a node of a and b, y = a b, with this backward. */
static inline void pair_forward(Node *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = y->in[0]->value[i] * y->in[1]->value[i];
}
static inline void check_pair(void (*backward)(Node *y)) {
  Node *a = edf_parameter("a[2,3]"), *b = edf_parameter("b[2,3]");
  for (int i = 0; i < 6; i++) a->value[i] = numbers[i], b->value[i] = 1 + numbers[5 - i];
  Node *y = edf_compnode("y", pair_forward, backward, a, b);
  edf_name(y, "y");
  edf_forward();
  edf_gradcheck(y);
}

/* Checks lines of a backward for a program in which x[2,3] is a Parameter. */
static inline void check_lines(const char *program, const char *backward) {
  Node *x = edf_parameter("x[2,3]");
  for (int i = 0; i < 6; i++) x->value[i] = numbers[i];
  edf_seed(1);
  Node *y = edf_equations("%s", program);
  for (int i = 0; i < edf.n_parameters; i++)
    if (edf.parameters[i] != x) edf_init_uniform(edf.parameters[i], -1, 1);
  edf_forward();
  edf_check_backward(y, backward);
}
