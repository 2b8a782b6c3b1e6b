/* golden.h - a text that has to be as a file of tests/golden/ has it.

     capture_begin();
     edf_where();
     capture_end();
     golden("where.txt", captured);

   A program that begins with golden_arguments(argc, argv) writes them anew, called from the top
   with --write: then look at what has changed. Include it after edf.h. */

#ifndef GOLDEN_H
#define GOLDEN_H

static int golden_writes;

static inline void golden_arguments(int argc, char **argv) {
  golden_writes = argc > 1 && !strcmp(argv[1], "--write");
}

/* Text of the file, "" where there is none. */
static inline const char *golden_read(const char *file_name) {
  static char text[1 << 16];
  FILE *f = fopen(file_name, "r");
  text[f ? fread(text, 1, sizeof text - 1, f) : 0] = 0;
  if (f) fclose(f);
  return text;
}

static inline void golden_put(const char *file_name, const char *text) {
  FILE *f = fopen(file_name, "w");
  if (!f || fputs(text, f) < 0 || fclose(f)) abort();
}

/* The files come from a build that rounds each product; where a variant fuses it with the sum,
   a number may be another by a thousandth: 1 where it is, and both are behind it. */
static inline int golden_near(const char *begin, const char **found, const char **expected) {
#ifdef GOLDEN_FUSED
  const char *f = *found, *e = *expected;
  char *f_end, *e_end;
  while (f > begin && strchr("0123456789.", f[-1])) { f--; e--; }
  double x = strtod(f, &f_end), y = strtod(e, &e_end);
  if (f_end < *found || e_end < *expected || fabs(x - y) > 1e-3 * fabs(y)) return 0;
  *found = f_end;
  *expected = e_end;
  return 1;
#else
  return (void)begin, (void)found, (void)expected, 0;
#endif
}

/* The first line that differs. */
static inline void golden_compare(const char *name, const char *found, const char *expected) {
  const char *begin = found;
  int number = 1;
  do
    while (*found && *found == *expected) { number += *found++ == '\n'; expected++; }
  while ((*found || *expected) && golden_near(begin, &found, &expected));
  if (!*found && !*expected) return;
  while (number > 1 && found[-1] != '\n') { found--; expected--; }
  CHECK(0, "%s: line %d\n     found: %.*s\n  expected: %.*s", name, number,
        (int)strcspn(found, "\n"), found, (int)strcspn(expected, "\n"), expected);
}

static inline void golden(const char *name, const char *text) {
  char file_name[100];
  snprintf(file_name, sizeof file_name, "tests/golden/%s", name);
  if (golden_writes) golden_put(file_name, text);
  else golden_compare(name, text, golden_read(file_name));
}

/* The length of tests/NAME.c:LINE at the begin of a text, else 0. */
static inline size_t golden_place(const char *text) {
  size_t n = strncmp(text, "tests/", 6) ? 0 : strcspn(text, ": \n");
  return n && text[n] == ':' ? n + 1 + strspn(text + n + 1, "0123456789") : 0;
}

static int golden_keeps_places;

/* The text without what changes: places become PLACE, unless they are kept, errors below a
   tolerance SMALL, a NaN has no sign; a device's note on a node of the user's is left out. */
static inline const char *golden_plain(const char *text) {
  static char plain[1 << 16];
  char *to = plain, *end;
  while (*text && to < plain + sizeof plain - 24) {
    size_t place = golden_keeps_places ? 0 : golden_place(text);
    int error = !strncmp(text, "relative error ", 15);
    text += !strncmp(text, "-nan", 4);
    if (!strncmp(text, "edf: note: node ", 16)) { text += strcspn(text, "\n") + 1; continue; }
    double small = error ? strtod(text + 15, &end) : 1;
    if (place || small < (sizeof(edf_real) == 8 ? 1e-6 : 2e-2)) {
      to += sprintf(to, place ? "PLACE" : "relative error SMALL");
      text = place ? text + place : end;
    } else *to++ = *text++;
  }
  *to = 0;
  return plain;
}

#endif
