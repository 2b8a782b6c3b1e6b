/* harness.h - the small test harness that all tests share.

     static void test_relu(void) {
       CHECK(y->size == 3, "size is %zu", y->size);     goes on after a failure
       CLOSE(y->value[0], 0.5, 1e-12, 1e-6);            |a-b| <= absolute + relative * larger
       if (!clang) SKIP("no clang");                    leaves the test
     }
     int main(void) {
       RUN(test_relu);
       return harness_report();
     }

   prints `ok test_relu`, or `not ok test_relu: size is 4 (nodes.c:12)`, or
   `skip test_relu: no clang`, and a summary. The exit status is the verdict.

   A test links the implementation of edf.h, tests/impl.c, which calls harness_panic for a
   mistake in use and counted.h's functions for memory. With HARNESS_CATCH defined before this
   file a mistake does not stop the program:

     TRY(edf_forward());                                panicked is 1, caught[] has the message
     CHECK(panicked && strstr(caught, "never fed"), "%s", caught);
     edf_clear();

   A local variable that is changed inside TRY has no certain value after a panic, unless it is
   volatile or static. A panic outside TRY fails the test that runs. */

#ifndef HARNESS_H
#define HARNESS_H

#ifndef QUICK                                  /* 10: a tenth of the random cases, where the */
#define QUICK 1                                /* machine is slow, as the emulated GPU is    */
#endif

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef HARNESS_OWN_MEMORY
#include "counted.h"
#endif

#ifdef __GNUC__
#define HARNESS_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define HARNESS_PRINTF(f, a)
#endif

static struct { const char *name; int bad, skipped, passed, failed, skips; } harness;

/* The first failure of a test counts; a few more are shown. */
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

/* False for NaN, and for an infinity beside anything else. */
static inline void harness_close(const char *file, int line, const char *what, double a,
                                 double b, double absolute, double relative) {
  double scale = fabs(a) > fabs(b) ? fabs(a) : fabs(b);
  if (a == b || (scale < HUGE_VAL && fabs(a - b) <= absolute + relative * scale)) return;
  harness_fail(file, line, "%s: %.17g is not close to %.17g (absolute %g, relative %g)", what,
               a, b, absolute, relative);
}

static inline void harness_end(void) {
  if (harness.bad) harness.failed++;
  else if (harness.skipped) harness.skips++;
  else { harness.passed++; printf("ok %s\n", harness.name); }
  fflush(stdout);
}

static inline int harness_report(void) {
  printf("%d passed, %d failed, %d skipped\n", harness.passed, harness.failed, harness.skips);
  fflush(stdout);
  return harness.failed > 0 || harness.passed + harness.skips == 0;
}

/* `if (c) ; else f()` and not `if (!c) f()`: a NaN in a comparison fails, and CHECK is one
   statement wherever it stands. */
#define CHECK(condition, ...) \
  do { if (condition) ; else harness_fail(__FILE__, __LINE__, __VA_ARGS__); } while (0)
#define CLOSE(a, b, absolute, relative) \
  harness_close(__FILE__, __LINE__, #a, (double)(a), (double)(b), absolute, relative)
#define SKIP(reason) \
  do { printf("skip %s: %s\n", harness.name, reason); harness.skipped = 1; return; } while (0)
#define RUN(test) harness_run(#test, test)

long harness_asserted;                         /* how often EDF_ASSERT looked */

/* What impl.c calls, and a file with an implementation of its own (`Built as: own`). */
#define EDF_PANIC(message) harness_panic(message)
void harness_panic(const char *message);

#ifndef HARNESS_CATCH

void harness_panic(const char *message) {
  fflush(stdout);
  fprintf(stderr, "%s\n", message);
  abort();
}

static inline void harness_run(const char *name, void (*test)(void)) {
  harness.name = name;
  harness.bad = harness.skipped = 0;
  test();
  harness_end();
}

#else /* HARNESS_CATCH */

#if defined __GNUC__ && !defined __clang__
#pragma GCC diagnostic ignored "-Wclobbered"   /* it warns of every local beside a setjmp */
#endif

#ifdef __cplusplus
extern "C"
#endif
void edf_clear(void);

static char caught[8192];
static int panicked;
static volatile int harness_trying;
static jmp_buf harness_inner, harness_outer;   /* out of TRY, out of the test */

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

static inline void harness_run(const char *name, void (*test)(void)) {
  harness.name = name;
  harness.bad = harness.skipped = harness_trying = 0;
  if (setjmp(harness_outer) == 0) test();
  else {
    harness_fail(__FILE__, __LINE__, "an unexpected panic: %s", caught);
    edf_clear();
  }
  harness_end();
}

#endif /* HARNESS_CATCH */
#endif /* HARNESS_H */
