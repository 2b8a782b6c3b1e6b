/* capture.h - what a piece of the program prints to stdout, as text.

     capture_begin();
     edf_gradcheck(y);
     capture_end();                                         now it is in captured[]

   Define _POSIX_C_SOURCE as 200809L before any include. A panic must not jump over
   capture_end. */

#ifndef CAPTURE_H
#define CAPTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char captured[1 << 16];
static FILE *capture_file;
static int capture_stdout;

static inline void capture_begin(void) {
  fflush(stdout);
  if (!capture_file && !(capture_file = tmpfile())) abort();
  if (ftruncate(fileno(capture_file), 0)) abort();
  lseek(fileno(capture_file), 0, SEEK_SET);
  capture_stdout = dup(STDOUT_FILENO);
  if (capture_stdout < 0 || dup2(fileno(capture_file), STDOUT_FILENO) < 0) abort();
}

static inline void capture_end(void) {
  fflush(stdout);
  dup2(capture_stdout, STDOUT_FILENO);
  close(capture_stdout);
  lseek(fileno(capture_file), 0, SEEK_SET);
  ssize_t n = read(fileno(capture_file), captured, sizeof captured - 1);
  captured[n > 0 ? n : 0] = '\0';
}

#endif
