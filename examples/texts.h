/* texts.h - a text for a language model: the file named by EDF_TEXT, or the poem below

     text_set text = text_find();                 reads the text and prints its length
     text_batch(&text, B, T, x, y);               copies B random windows of the training part
     text_window(&text, n, B, T, x, y);           copies windows n .. n+B-1 of the test part
     text_free(&text);

   The training part is the first 90 % of the text. A window has T characters. x and y have room
   for B times T numbers. y is x one character later. */
#ifndef TEXTS_H
#define TEXTS_H

#include "edf/data.h"
#include "edf/slide.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The poem is so short that a model learns it by heart. This shows that the model learns. */
static const char text_own[] =
  "There is a graph, and every node in it\n"
  "Was written on a slide before it ran:\n"
  "An input, which the caller has to feed,\n"
  "A parameter, which only learning moves,\n"
  "A value that is made from those above.\n"
  "\n"
  "The forward pass goes down the list in order.\n"
  "It asks each node for nothing but its value.\n"
  "A sum of products fills the output slowly,\n"
  "An index at a time, an entry each,\n"
  "And what was zero is a score at last.\n"
  "\n"
  "The backward pass comes up the list again.\n"
  "The loss is told that its own slope is one,\n"
  "And every node then pays the ones it read:\n"
  "It takes the gradient that has come to it\n"
  "And adds to theirs, and never writes it over.\n"
  "\n"
  "For what is used in two or seven places\n"
  "Receives from each of them a contribution,\n"
  "And only when the last of them has come\n"
  "The sum is what the chain rule says it is.\n"
  "So plus and equals is the whole of it.\n"
  "\n"
  "The step is small. It goes against the slope.\n"
  "A weight that made the loss a little larger\n"
  "Is made a little smaller than it was,\n"
  "And one that helped is helped along in turn.\n"
  "Then comes the next of many thousand batches.\n"
  "\n"
  "At first the loss is what a guess would cost,\n"
  "The logarithm of how many classes.\n"
  "It falls, and falls more slowly, and then rests.\n"
  "Who looks at it may think that it is done;\n"
  "The one who tests it on new rows will know.\n"
  "\n"
  "If it does not fall, look at the data first,\n"
  "The labels next, and then how you began.\n"
  "A gradient may have lost its sign, or half,\n"
  "Or all of it behind a mask of zeros.\n"
  "A check of differences will name the place.\n"
  "\n"
  "Do not believe a number that you like.\n"
  "Do not believe a loss that is too small.\n"
  "The rows that you have trained on know the answer.\n"
  "Keep some of them apart, and look at those,\n"
  "And write down what you saw and with which seed.\n"
  "\n"
  "A network is a list of small assignments.\n"
  "Each of them can be read, and stepped, and doubted.\n"
  "There is no magic hidden in the middle:\n"
  "A matrix, and a bias, and a bend,\n"
  "And then the same again, until the end.\n";

typedef struct {
  edf_vocabulary text;
  int train;                               /* characters in the training part */
} text_set;

static inline text_set text_find(void) {
  const char *path = getenv("EDF_TEXT");
  text_set set;
  int own = !path || !*path;
  set.text = own ? edf_text_of(text_own, sizeof text_own - 1) : edf_load_text(path);
  int n = set.text.classes.dim[0];
  set.train = n / 10 * 9;
  printf("text: %s, %d characters, %d different ones\n",
         own ? "the poem in this program (EDF_TEXT=file reads a file)" : path, n,
         set.text.symbols);
  if (n < 1000) {
    fprintf(stderr, "a text of 1000 characters or more is needed\n");
    exit(1);
  }
  return set;
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
