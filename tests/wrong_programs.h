/* wrong_programs.h - what tests of error messages share: programs that are wrong, in a file
   hw1.c at given lines, and the check that each stops with its message and leaves nothing
   behind. It includes edf.h, and comes first. */

#ifndef WRONG_PROGRAMS_H
#define WRONG_PROGRAMS_H

#define HARNESS_CATCH
#include "harness.h"

#include "edf.h"

#define HW1(line) "hw1.c", line
#define END (edf_node *)0

static inline edf_node *input(int line, const char *decl) {
  return edf_input_at(HW1(line), "%s", decl);
}

static inline edf_node *parameter(int line, const char *decl) {
  return edf_parameter_at(HW1(line), "%s", decl);
}

/* A batch makes it an Input. */
static inline edf_node *declared(int line, const char *decl) {
  return strstr(decl, "[b") ? input(line, decl) : parameter(line, decl);
}

/* After TRY: the message was this one, and everything can be cleared. A line of the test
   itself, tests/x.c:12: edf_feed: ..., is asked for in the_line_of_a_run of errors.c. */
static inline void expect(const char *message) {
  static char found[sizeof caught];
  int stopped = panicked;
  const char *own = strncmp(message, "edf_", 4) ? NULL : strstr(caught, ": edf_");
  if (strncmp(caught, "tests/", 6)) own = NULL;
  snprintf(found, sizeof found, "%s", !stopped ? "(no error)" : own ? own + 2 : caught);
  CHECK(stopped && !strcmp(found, message), "\n--- expected\n%s\n--- found\n%s\n---", message,
        found);
  edf.eager = 0;
  TRY(edf_clear());
  CHECK(!panicked && memory.live == 0, "%ld blocks are left after\n%s", memory.live, found);
  memory.live = 0;
}

typedef struct { void (*program)(void); const char *message; } bad_program;

static inline void expect_all(const bad_program *p, size_t n) {
  for (; n-- > 0; p++) {
    TRY(p->program());
    expect(p->message);
  }
}

#endif
