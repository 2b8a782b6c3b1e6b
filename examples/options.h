/* options.h - the numbers of a command line, for the examples

     options_begin("05_lenet", argc, argv);
     int epochs = (int)option("--epochs", 5, 1, 1000);      its number, else 5; whole, 1 to 1000
     double eta = option_real("--eta", 0.1, 0, 10);
     int shuffle = !option_flag("--no-shuffle");
     const char *model = option_output("build/lenet.safetensors");   will be written at the end
     options_end();                                        stops at what nobody asked for

   A mistake prints the names and their ranges, and ends the program with status 2. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
  const char *program, *wrong, *with;          /* the first mistake, and at which word */
  char **word, usage[512];
  int n, taken[64];
} options;

static inline void options_begin(const char *program, int argc, char **argv) {
  options.program = program;
  options.word = argv;
  options.n = argc < 64 ? argc : 64;
}

static inline void options_wrong(const char *what, const char *with) {
  if (options.wrong) return;
  options.wrong = what;
  options.with = with;
}

static inline void options_describe(const char *format, const char *name, double lo,
                                    double hi) {
  size_t n = strlen(options.usage);
  snprintf(options.usage + n, sizeof options.usage - n, format, name, lo, hi);
}

static inline int options_find(const char *name) {
  for (int i = 1; i < options.n; i++)
    if (!options.taken[i] && !strcmp(options.word[i], name)) return options.taken[i] = i;
  return 0;
}

static inline int option_flag(const char *name) {
  options_describe(" [%s]", name, 0, 0);
  return options_find(name) != 0;
}

static inline double option_real(const char *name, double otherwise, double lo, double hi) {
  int i = options_find(name);
  char *end = NULL;
  options_describe(" [%s %g..%g]", name, lo, hi);
  if (!i) return otherwise;
  if (i + 1 == options.n) { options_wrong("a number must follow", name); return otherwise; }
  options.taken[i + 1] = 1;
  double x = strtod(options.word[i + 1], &end);
  if (end == options.word[i + 1] || *end || !(x >= lo && x <= hi))
    options_wrong("cannot be this number:", name);
  return x;
}

static inline double option(const char *name, double otherwise, double lo, double hi) {
  double x = option_real(name, otherwise, lo, hi);
  if (x != floor(x)) options_wrong("takes whole numbers:", name);
  return x;
}

/* That it cannot be written is known now, not after the training. */
static inline const char *option_output(const char *path) {
  FILE *out = fopen(path, "ab");
  if (out) fclose(out);
  else options_wrong("cannot write", path);
  return path;
}

static inline void options_end(void) {
  for (int i = 1; i < options.n; i++)
    if (!options.taken[i]) options_wrong("unknown option:", options.word[i]);
  if (!options.wrong) return;
  fprintf(stderr, "%s: %s %s\nusage: %s%s\n", options.program, options.wrong, options.with,
          options.program, options.usage);
  exit(2);
}

#endif /* OPTIONS_H */
