/* ps4.h - what the fourth problem set asks for; the formulas are on the handout. */
#ifndef EDF_REAL
#define EDF_REAL double                  /* a gradient check wants it */
#endif
#ifndef EDF_LINKED
#define EDF_IMPLEMENTATION
#endif
#include "edf/slide.h"
#include "hole.h"

const char *gru(void);
const char *lstm(void);
const char *attention(void);
void learn_text(const edf_real *text, int n, const edf_real *context, int m, edf_real *P);
