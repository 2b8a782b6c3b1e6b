/* texts.h - a text for a language model: the file named by EDF_TEXT, or sentences made here

     text_set text = text_find();                 makes or reads the text, and describes it
     text_batch(&text, B, T, x, y);               copies B random windows of the training part
     text_window(&text, n, B, T, x, y);           copies windows n .. n+B-1 of the test part
     text_report(&text, loss);                    says what a test loss means
     text_free(&text);

   The training part is the first 90 % of the text. A window has T characters. x and y have room
   for B times T numbers. y is x one character later. */
#ifndef TEXTS_H
#define TEXTS_H

#include "edf/data.h"
#include "edf/slide.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  edf_vocabulary text;
  int train;                               /* characters in the training part */
  double guess;                            /* loss of a guess by the frequency of the letters */
  double best;                             /* the least possible loss, or -1 if nobody knows it */
} text_set;

/* Makes about n characters of sentences such as

     a weight adds to the bias twice, and a weight rests.

   Four parts are drawn. All other letters follow from them, but the last part repeats the first,
   so a model has to remember it for about 40 letters. Sets *best to the entropy of a letter: the
   logarithm of the number of sentences, divided by their mean length. */
static inline char *text_made(size_t n, double *best) {
  static const char *const part[4][8] = {
    { "a node", "the input", "a weight", "the loss", "each row", "the mask", "a sum", "the graph" },
    { " reads", " adds to", " scales", " shifts", " copies", " checks", " meets", " follows" },
    { " the gradient", " its value", " the next layer", " every column", " one entry", " a batch",
      " the bias", " the slope" },
    { "", " once", " twice", " at each step", " in order", " at the end", " again", " by hand" }
  };
  char *text = (char *)malloc(n + 200), *to = text;
  int sentences = 0;
  if (!text) exit(1);
  for (; to < text + n; sentences++) {
    int first = 0;
    for (int k = 0; k < 4; k++) {
      int choice = edf_below(8);
      if (k == 0) first = choice;
      to += sprintf(to, "%s", part[k][choice]);
    }
    to += sprintf(to, ", and %s rests.\n", part[0][first]);
  }
  *best = sentences * log(8 * 8 * 8 * 8) / (double)(to - text);
  return text;
}

static inline text_set text_find(void) {
  const char *path = getenv("EDF_TEXT");
  text_set set;
  int own = !path || !*path, count[256] = { 0 };
  set.best = -1;
  set.guess = 0;
  if (own) {
    char *made = text_made(100000, &set.best);
    set.text = edf_text_of(made, strlen(made));
    free(made);
  } else set.text = edf_load_text(path);
  int n = set.text.classes.dim[0];
  set.train = n / 10 * 9;
  printf("text: %s, %d characters, %d different ones\n",
         own ? "sentences made by this program (EDF_TEXT=file reads a file)" : path, n,
         set.text.symbols);
  if (n < 1000) {
    fprintf(stderr, "a text of 1000 characters or more is needed\n");
    exit(1);
  }
  for (int i = 0; i < n; i++) count[(int)set.text.classes.value[i]]++;
  for (int k = 0; k < set.text.symbols; k++)
    set.guess -= (double)count[k] / n * log((double)count[k] / n);
  return set;
}

static inline void text_report(const text_set *set, double loss) {
  printf("test loss %.4f per character; a guess by the frequency of the letters has %.4f", loss,
         set->guess);
  if (set->best >= 0) printf(", the best possible is %.4f", set->best);
  printf("\n");
}

static inline void text_free(text_set *set) { edf_free_text(&set->text); }

static inline void text_copy(const text_set *set, int from, int T, edf_real *x, edf_real *y) {
  const edf_real *at = set->text.classes.value + from;
  memcpy(x, at, (size_t)T * sizeof *x);
  memcpy(y, at + 1, (size_t)T * sizeof *y);
}

static inline void text_batch(const text_set *set, int B, int T, edf_real *x, edf_real *y) {
  for (int b = 0; b < B; b++)
    text_copy(set, edf_below(set->train - T), T, x + b * T, y + b * T);
}

/* Returns how many windows of T characters the test part has. */
static inline int text_windows(const text_set *set, int T) {
  return (set->text.classes.dim[0] - set->train - 1) / T;
}

static inline void text_window(const text_set *set, int n, int B, int T, edf_real *x,
                               edf_real *y) {
  for (int b = 0; b < B; b++)
    text_copy(set, set->train + (n + b) * T, T, x + b * T, y + b * T);
}

#endif /* TEXTS_H */
