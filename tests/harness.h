/* harness.h - everything that the test programs share. Include it first, then "edf.h".

     TEST(relu_is_max) {
       CHECK(y->size == 3, "size is %zu", y->size);     goes on after a failure
       CLOSE(y->value[0], 0.5, 1e-12, 1e-6);            |a-b| <= absolute + relative * larger
       STOPS(edf_forward(), "x|never fed|hw1.c:3");     stops with these words, leaks nothing
     }
     int main(void) { return harness_main(); }

   The tests of a program run in the order in which they stand. Each begins without a graph, and
   has to leave no memory when its graph is cleared. The program prints `ok relu_is_max`, or
   `not ok relu_is_max: size is 4 (nodes.c:12)`, and a summary. Its exit status is the verdict.

   A test program links the implementation of edf.h, which impl.c compiles once for each
   variant. Errors call harness_panic, and every allocation is counted. A test program may also
   contain the implementation: define EDF_IMPLEMENTATION after this file.

   A local variable that changes inside TRY or STOPS has no certain value after the error,
   unless it is volatile or static. An error outside TRY fails the test that runs. */

#ifndef HARNESS_H
#define HARNESS_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L                /* fileno, dup2, getpid, mkdir */
#endif

#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HARNESS_PRINTF(f, a) __attribute__((format(printf, f, a)))
#pragma GCC diagnostic ignored "-Wunused-variable"       /* a program uses a part of this */
#if defined __GNUC__ && !defined __clang__
#pragma GCC diagnostic ignored "-Wclobbered"   /* gcc warns of every local beside a setjmp */
#endif

/* ---- Memory: counted, and able to fail */

static struct {
  long live, mallocs, frees;               /* live blocks; calls so far                     */
  long until_failure;                      /* n: the n-th call from now on fails; 0: none   */
  size_t limit;                            /* larger requests fail, if not 0                */
  size_t bytes;                            /* in live blocks, with glibc; else 0            */
} memory;

void *counted_malloc(size_t n);
void counted_free(void *p);

#ifdef __GLIBC__
#include <malloc.h>
static inline size_t usable_size(void *p) { return malloc_usable_size(p); }
#else
static inline size_t usable_size(void *p) { return 0 * (p != NULL); }
#endif

static inline int memory_refuses(size_t n) {
  int refuse = memory.limit && n > memory.limit;
  if (memory.until_failure && --memory.until_failure == 0) refuse = 1;
  return refuse;
}

void *counted_malloc(size_t n) {
  void *p = memory_refuses(n) ? NULL : malloc(n ? n : 1);
  memory.mallocs++;
  memory.live += p != NULL;
  memory.bytes += usable_size(p);
  return p;
}

void counted_free(void *p) {
  memory.frees++;
  memory.live -= p != NULL;
  memory.bytes -= usable_size(p);
  free(p);
}

#define EDF_MALLOC(n) counted_malloc(n)
#define EDF_FREE(p) counted_free(p)

/* ---- Checks */

static struct { const char *name; int bad, passed, failed; } harness;

/* The first failure of a test counts. A few more are shown. */
static inline void HARNESS_PRINTF(3, 4)
harness_fail(const char *file, int line, const char *format, ...) {
  va_list args;
  if (++harness.bad > 5) return;
  if (harness.bad == 1) printf("not ok %s: ", harness.name);
  else printf("  also: ");
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  printf(" (%s:%d)\n", file, line);
  fflush(stdout);
}

/* Fails for NaN, and for an infinity beside anything else. */
static inline void harness_close(const char *file, int line, const char *what, double a,
                                 double b, double absolute, double relative) {
  double scale = fabs(a) > fabs(b) ? fabs(a) : fabs(b);
  if (a == b || (scale < HUGE_VAL && fabs(a - b) <= absolute + relative * scale)) return;
  harness_fail(file, line, "%s: %.17g is not close to %.17g (absolute %g, relative %g)", what,
               a, b, absolute, relative);
}

static inline int harness_in_name(char character) {
  unsigned char u = (unsigned char)character;
  return isalnum(u) || u == '_' || u >= 0x80;
}

/* Returns 1 if the word stands in the text and is not a part of a longer name or number. */
static inline int harness_has(const char *text, const char *word) {
  size_t n = strlen(word);
  for (const char *at = text; n && (at = strstr(at, word)) != NULL; at++) {
    int joined_before = at > text && harness_in_name(at[-1]) && harness_in_name(word[0]);
    int joined_after = harness_in_name(at[n]) && harness_in_name(word[n - 1]);
    if (!joined_before && !joined_after) return 1;
  }
  return n == 0;
}

/* Checks that all of the words stand in the text. They are separated by '|'. */
static inline void harness_words(const char *file, int line, const char *text,
                                 const char *words) {
  char word[256];
  while (*words) {
    size_t n = strcspn(words, "|");
    snprintf(word, sizeof word, "%.*s", (int)n, words);
    if (!harness_has(text, word))
      harness_fail(file, line, "'%s' is missing in:\n%s\n", word, text);
    words += n + (words[n] == '|');
  }
}

/* `if (c) ; else f()` and not `if (!c) f()`: a NaN in a comparison fails, and CHECK is one
   statement. */
#define CHECK(condition, ...) \
  do { if (condition) ; else harness_fail(__FILE__, __LINE__, __VA_ARGS__); } while (0)
#define CLOSE(a, b, absolute, relative) \
  harness_close(__FILE__, __LINE__, #a, (double)(a), (double)(b), absolute, relative)
#define WORDS(text, words) harness_words(__FILE__, __LINE__, text, words)

/* ---- Errors */

void edf_clear(void);
void harness_panic(const char *message);
#define EDF_PANIC(message) harness_panic(message)

static char caught[8192];                      /* the message of the last error in TRY */
static int panicked;                           /* 1 if the last TRY ended with an error */
static volatile int harness_trying;
static jmp_buf harness_inner, harness_outer;   /* they leave TRY, and the test */

void harness_panic(const char *message) {
  snprintf(caught, sizeof caught, "%s", message);
  panicked = 1;
  if (harness_trying) longjmp(harness_inner, 1);
  longjmp(harness_outer, 1);
}

#define TRY(...)                                                     \
  do {                                                               \
    caught[0] = '\0';                                                \
    panicked = 0;                                                    \
    harness_trying = 1;                                              \
    if (setjmp(harness_inner) == 0) { __VA_ARGS__; }                 \
    harness_trying = 0;                                              \
  } while (0)

/* Checks that edf_clear leaves no block. */
static inline void harness_clear(const char *file, int line, const char *after) {
  TRY(edf_clear());
  if (panicked || memory.live)
    harness_fail(file, line, "%ld blocks are left after: %s", memory.live, after);
  memory.live = 0;
}

/* Checks the error of the last TRY: its words, and that edf_clear then leaves no block. */
static inline void harness_stopped(const char *file, int line, const char *words) {
  char message[sizeof caught];
  snprintf(message, sizeof message, "%s", caught);
  if (!panicked) harness_fail(file, line, "there was no error, expected: %s", words);
  else harness_words(file, line, message, words);
  harness_clear(file, line, message);
}

/* The statement stops with an error that contains the words. Nothing else may be alive. */
#define STOPS(statement, words) \
  do { TRY(statement); harness_stopped(__FILE__, __LINE__, words); } while (0)

static inline void harness_run(const char *name, void (*test)(void)) {
  harness.name = name;
  harness.bad = harness_trying = 0;
  if (setjmp(harness_outer) == 0) test();
  else harness_fail(__FILE__, __LINE__, "an unexpected error: %s", caught);
  harness_clear(__FILE__, __LINE__, name);
  harness.failed += harness.bad > 0;
  harness.passed += !harness.bad;
  if (!harness.bad) printf("ok %s\n", name);
  fflush(stdout);
}

/* ---- What a piece of the program prints to stdout, as text

     CAPTURE(edf_gradcheck(y));            as TRY; now captured[] has what was printed */

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

#define CAPTURE(...)  \
  do {                \
    capture_begin();  \
    TRY(__VA_ARGS__); \
    capture_end();    \
  } while (0)

/* ---- Files in a directory of the program's own

     write_bytes(file("a.npy"), BYTES("..."));         path is now the name of that file */

static char dir[64], path[128];

static inline const char *file(const char *name) {
  if (!*dir) {
    snprintf(dir, sizeof dir, "build/files.%ld", (long)getpid());
    mkdir("build", 0777);
    if (mkdir(dir, 0777)) abort();
  }
  snprintf(path, sizeof path, "%s/%s", dir, name);
  return path;
}

#define BYTES(s) s, sizeof s - 1

static inline void write_bytes(const char *to, const char *bytes, size_t n) {
  FILE *f = fopen(to, "wb");
  if (!f || fwrite(bytes, 1, n, f) != n || fclose(f)) abort();
}

static inline int lowest_free_fd(void) {
  int fd = open("/dev/null", O_RDONLY);
  close(fd);
  return fd;
}

/* ---- The tests of the program. Each is in the list before main begins. */

enum { MOST_TESTS = 100 };
static struct { const char *name; void (*run)(void); } tests[MOST_TESTS];
static int n_tests;

static inline void harness_add(const char *name, void (*run)(void)) {
  if (n_tests == MOST_TESTS) abort();
  tests[n_tests].name = name;
  tests[n_tests++].run = run;
}

#define TEST(name)                                                                        \
  static void name(void);                                                                 \
  static void __attribute__((constructor)) add_##name(void) { harness_add(#name, name); } \
  static void name(void)

static inline int harness_main(void) {
  char command[100];
  for (int k = 0; k < n_tests; k++) harness_run(tests[k].name, tests[k].run);
  snprintf(command, sizeof command, "rm -r '%s'", dir);
  if (*dir && system(command)) abort();
  printf("%d passed, %d failed\n", harness.passed, harness.failed);
  return harness.failed > 0 || harness.passed == 0;
}

#endif
