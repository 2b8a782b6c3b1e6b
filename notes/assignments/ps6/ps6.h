/* ps6.h - what the sixth problem set asks for; the questions are on the handout. */
#ifndef EDF_REAL
#define EDF_REAL double                  /* a gradient check wants it */
#endif
#ifndef EDF_LINKED
#define EDF_IMPLEMENTATION
#endif
#include "edf/slide.h"
#include "hole.h"

edf_node *swish(edf_node *x);
void train_1(const edf_real *x, const edf_real *y, int n, const edf_real *x_test, int m,
             int *answer);
void train_2(const edf_real *x, const edf_real *y, int n, const edf_real *x_test, int m,
             int *answer);
void train_3(const edf_real *x, const edf_real *y, int n, const edf_real *x_test, int m,
             int *answer);
void train_4(const edf_real *x, const edf_real *y, int n, const edf_real *x_test, int m,
             int *answer);
void train_5(const edf_real *x, const edf_real *y, int n, const edf_real *x_test, int m,
             int *answer);
void train_6(const edf_real *x, const edf_real *y, int n, const edf_real *x_test, int m,
             int *answer);
void diagnosis(int code[6]);
