/* temporary.h - for tests of files: a directory of their own, files written into it, and the
   check that a broken file is refused with the right message, leaving nothing behind.

     make_directory("loaders");
     file("name"); write_bytes(BYTES("P5 1 1 255 x"));       path is now the file's
     REFUSED("%: byte 3: expected ...", a = edf_load_image(path));      % is the path
     rmdir(dir);

   It includes edf.h, and comes first. */

#ifndef TEMPORARY_H
#define TEMPORARY_H

#define _POSIX_C_SOURCE 200809L                              /* getpid, open, mkdir */
#define HARNESS_CATCH
#include "harness.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "edf.h"

static char dir[64], path[128];

static inline void make_directory(const char *name) {
  snprintf(dir, sizeof dir, "build/%s.%ld", name, (long)getpid());
  mkdir("build", 0777);
  if (mkdir(dir, 0777)) abort();
}

static inline const char *file(const char *name) {
  snprintf(path, sizeof path, "%s/%s", dir, name);
  return path;
}

#define BYTES(s) s, sizeof s - 1

static inline void write_bytes(const char *bytes, size_t n) {      /* to the file named last */
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(bytes, 1, n, f) != n || fclose(f)) abort();
}

static inline int lowest_free_fd(void) {
  int fd = open("/dev/null", O_RDONLY);
  close(fd);
  return fd;
}

static inline void check_message(const char *message) {
  char expected[1024], *to = expected;
  for (const char *from = message; *from && to < expected + 900; from++)
    if (*from == '%') to += sprintf(to, "%s", path);
    else *to++ = *from;
  *to = '\0';
  CHECK(panicked, "%s was not refused", path);
  CHECK(!panicked || !strcmp(caught, expected), "\n     found: %s\n  expected: %s", caught,
        expected);
}

static inline void nothing_is_left(int fd) {
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left after: %s", memory.live, caught);
  CHECK(lowest_free_fd() == fd, "a file is still open after: %s", caught);
  memory.live = 0;
}

#define REFUSED(message, ...)                     \
  do {                                            \
    int free_fd = lowest_free_fd();               \
    TRY(__VA_ARGS__);                             \
    check_message(message);                       \
    nothing_is_left(free_fd);                     \
  } while (0)

#endif
