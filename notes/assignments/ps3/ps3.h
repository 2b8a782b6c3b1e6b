/* ps3.h - what the third problem set asks for; the formulas are on the handout. */
#ifndef EDF_REAL
#define EDF_REAL double                  /* a gradient check wants it */
#endif
#ifndef EDF_LINKED
#define EDF_IMPLEMENTATION
#endif
#include "edf/slide.h"
#include "hole.h"

edf_node *convolution(edf_node *x, edf_node *W);
edf_node *pooling(edf_node *x);
edf_node *residual(edf_node *x, edf_node *W, edf_node *V);
edf_node *my_dropout(edf_node *x);
void my_adam(double *p, const double *grad, double *m, double *s, int n, int step);
