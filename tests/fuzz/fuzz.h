/* fuzz.h - what the libFuzzer targets share. A panic jumps back; what must hold afterwards is
   that no memory is left. Requests for much memory are refused, as on a small machine. */

#ifndef FUZZ_H
#define FUZZ_H

#define _POSIX_C_SOURCE 200809L                              /* getpid */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../counted.h"

long harness_asserted;                                       /* what tests/impl.c calls */
void harness_panic(const char *message);
static jmp_buf panicked;

/* A message is a line of text that ends. */
void harness_panic(const char *message) {
  size_t n = strlen(message);
  if (n == 0 || n > 100000) abort();
  longjmp(panicked, 1);
}

static inline const char *fuzz_file(const uint8_t *data, size_t n) {
  static char path[64];
  FILE *f;
  if (!*path) snprintf(path, sizeof path, "build/fuzz/input.%ld", (long)getpid());
  f = fopen(path, "wb");
  if (!f || fwrite(data, 1, n, f) != n || fclose(f)) abort();
  return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#endif
