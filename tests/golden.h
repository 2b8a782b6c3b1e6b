/* golden.h - a text that has to be as a file of tests/golden/ has it.

     capture_begin();
     edf_where();
     capture_end();
     golden("where.txt", captured);

   A program that begins with golden_arguments(argc, argv) writes them anew, called from the top
   with --write: then look at what has changed. Include it after harness.h. */

#ifndef GOLDEN_H
#define GOLDEN_H

static int golden_writes;

static inline void golden_arguments(int argc, char **argv) {
  golden_writes = argc > 1 && !strcmp(argv[1], "--write");
}

/* Text of the file, "" where there is none. */
static inline const char *golden_read(const char *path) {
  static char text[1 << 16];
  FILE *f = fopen(path, "r");
  text[f ? fread(text, 1, sizeof text - 1, f) : 0] = 0;
  if (f) fclose(f);
  return text;
}

static inline void golden_put(const char *path, const char *text) {
  FILE *f = fopen(path, "w");
  if (!f || fputs(text, f) < 0 || fclose(f)) abort();
}

/* The first line that differs. */
static inline void golden_compare(const char *name, const char *found, const char *expected) {
  int number = 1;
  while (*found && *found == *expected) { number += *found++ == '\n'; expected++; }
  if (!*found && !*expected) return;
  while (number > 1 && found[-1] != '\n') { found--; expected--; }
  CHECK(0, "%s: line %d\n     found: %.*s\n  expected: %.*s", name, number,
        (int)strcspn(found, "\n"), found, (int)strcspn(expected, "\n"), expected);
}

static inline void golden(const char *name, const char *text) {
  char path[100];
  snprintf(path, sizeof path, "tests/golden/%s", name);
  if (golden_writes) golden_put(path, text);
  else golden_compare(name, text, golden_read(path));
}

#endif
