/* edf.c - the header's implementation, compiled once for all programs of a platform. A mistake
   is told to on_mistake, where a program has set it: no setjmp, which WASI has not. */
extern void (*on_mistake)(const char *message);
void (*on_mistake)(const char *message) = 0;

#define EDF_PANIC(message) \
  (on_mistake ? on_mistake(message) : (void)fprintf(stderr, "%s\n", message), abort())
#define EDF_IMPLEMENTATION
#include "edf.h"
