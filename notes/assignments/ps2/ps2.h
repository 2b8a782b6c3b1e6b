/* ps2.h - what the second problem set asks for: texts; the questions are on the handout. */
#ifndef EDF_REAL
#define EDF_REAL double                  /* a gradient check wants it */
#endif
#ifndef EDF_LINKED
#define EDF_IMPLEMENTATION
#endif
#include "edf/slide.h"
#include "edf/judge.h"
#include "hole.h"

const char *product(void);
const char *convolution(void);
const char *weights(void);
const char *attention(void);
const char *normalisation(void);
const char *running_sum(void);
const char *difference(void);
const char *count(void);
const char *mask(void);
