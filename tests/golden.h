/* golden.h - compares a text with a file of tests/golden/.

     golden("mlp.txt", captured);

   A program that begins with golden_arguments(argc, argv) writes its files anew if it is called
   from the top directory with --write. A person then reads what has changed. */

#ifndef GOLDEN_H
#define GOLDEN_H

static int golden_writes;

static inline void golden_arguments(int argc, char **argv) {
  golden_writes = argc > 1 && !strcmp(argv[1], "--write");
}

static inline void golden(const char *name, const char *text) {
  static char expected[1 << 15];
  char at[100];
  int line = 1, begin = 0, k = 0;
  snprintf(at, sizeof at, "tests/golden/%s", name);
  FILE *f = fopen(at, golden_writes ? "w" : "r");
  CHECK(f, "%s cannot be opened", at);
  if (!f) return;
  if (golden_writes) fputs(text, f);
  else expected[fread(expected, 1, sizeof expected - 1, f)] = '\0';
  fclose(f);
  if (golden_writes || !strcmp(text, expected)) return;
  for (; text[k] == expected[k]; k++)
    if (text[k] == '\n') {
      line++;
      begin = k + 1;
    }
  CHECK(0, "%s: line %d\n     found: %.*s\n  expected: %.*s", at, line,
        (int)strcspn(text + begin, "\n"), text + begin,
        (int)strcspn(expected + begin, "\n"), expected + begin);
}

#endif
