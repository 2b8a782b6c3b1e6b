/* ps5.h - what the fifth problem set asks for; the questions are on the handout. */
#ifndef EDF_REAL
#define EDF_REAL double                  /* a gradient check wants it */
#endif
#ifndef EDF_LINKED
#define EDF_IMPLEMENTATION
#endif
#include "edf/slide.h"
#include "hole.h"

edf_node *straight(edf_node *x);
edf_node *reverse(edf_node *x);
void graph_and_eager(double *answer);
