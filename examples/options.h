/* options.h - reads numbers from a command line, for the examples

     options_begin("05_lenet", argc, argv);
     int epochs = (int)option("--epochs", 5, 1, 1000);     default 5, a whole number 1 to 1000
     double eta = option_real("--eta", 0.1, 0, 10);        default 0.1, any number 0 to 10
     int shuffle = !option_flag("--no-shuffle");
     const char *model = option_output("build/lenet.safetensors");
     options_end();

   After a mistake options_end prints all options and their ranges, and exits with status 2. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
  const char *program;
  const char *mistake;                         /* message about the first mistake, or NULL */
  const char *mistake_at;                      /* the word with the first mistake */
  char **word;                                 /* argv */
  int n;                                       /* number of words, at most 64 */
  int used[64];                                /* 1 if an option has used the word */
  char usage[512];                             /* all options with their ranges */
} options;

static inline void options_begin(const char *program, int argc, char **argv) {
  options.program = program;
  options.word = argv;
  options.n = argc < 64 ? argc : 64;
}

static inline void options_mistake(const char *message, const char *word) {
  if (options.mistake) return;
  options.mistake = message;
  options.mistake_at = word;
}

static inline void options_describe(const char *format, const char *name, double lo,
                                    double hi) {
  size_t n = strlen(options.usage);
  snprintf(options.usage + n, sizeof options.usage - n, format, name, lo, hi);
}

/* Returns the position of an option on the command line, or 0. */
static inline int options_find(const char *name) {
  for (int i = 1; i < options.n; i++)
    if (!options.used[i] && !strcmp(options.word[i], name)) {
      options.used[i] = 1;
      return i;
    }
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
  if (i + 1 == options.n) {
    options_mistake("expected a number after", name);
    return otherwise;
  }
  options.used[i + 1] = 1;
  double x = strtod(options.word[i + 1], &end);
  if (end == options.word[i + 1] || *end || !(x >= lo && x <= hi))
    options_mistake("expected a number in the range of", name);
  return x;
}

static inline double option(const char *name, double otherwise, double lo, double hi) {
  double x = option_real(name, otherwise, lo, hi);
  if (x != floor(x)) options_mistake("expected a whole number after", name);
  return x;
}

/* Checks that a file can be written, before the training. Returns its path. */
static inline const char *option_output(const char *path) {
  FILE *out = fopen(path, "ab");
  if (out) fclose(out);
  else options_mistake("cannot write", path);
  return path;
}

static inline void options_end(void) {
  for (int i = 1; i < options.n; i++)
    if (!options.used[i]) options_mistake("unknown option:", options.word[i]);
  if (!options.mistake) return;
  fprintf(stderr, "%s: %s %s\n", options.program, options.mistake, options.mistake_at);
  fprintf(stderr, "usage: %s%s\n", options.program, options.usage);
  exit(2);
}

#endif /* OPTIONS_H */
