/* told.h - a text that a program adds to, piece by piece: told. */

#ifndef TOLD_H
#define TOLD_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static char told[1 << 16];

#ifdef __GNUC__
__attribute__((format(printf, 1, 2)))
#endif
static inline void tell(const char *format, ...) {
  size_t n = strlen(told);
  va_list args;
  va_start(args, format);
  vsnprintf(told + n, sizeof told - n, format, args);
  va_end(args);
}

#endif
