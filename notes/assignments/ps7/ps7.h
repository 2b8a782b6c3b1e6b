/* ps7.h - what the seventh problem set asks for; the rules are on the handout. */
#ifndef EDF_REAL
#define EDF_REAL double
#endif
#ifndef EDF_LINKED
#define EDF_IMPLEMENTATION
#endif
#include "edf/slide.h"
#include "edf/data.h"
#include "digits.h"
#include "hole.h"

/* A row of the lookup data: 12 pairs of a key below 30 and a value below 10; a key that is
   asked for, q; and the answer y, a value below 10. The keys of a row differ. */
enum { PAIRS = 12, KEYS = 30, VALUES = 10 };
typedef struct { edf_real *k, *v, *q, *y; } lookups;   /* k[n,12], v[n,12], q[n], y[n]       */

/* Draws n rows into d. The answer stands `shift` pairs after the key that is asked for: 0, or
   1, or -1 for the pair before it. */
static inline void lookups_make(uint32_t seed, int n, int shift, lookups d) {
  uint32_t random = seed | 1;
  for (int b = 0; b < n; b++) {
    int key[KEYS], at = 1 + (int)digits_uniform(&random, 0, PAIRS - 2.001f);
    for (int i = 0; i < KEYS; i++) key[i] = i;
    for (int t = 0; t < PAIRS; t++) {
      int other = t + (int)digits_uniform(&random, 0, KEYS - t - 0.001f), was = key[t];
      key[t] = key[other];
      key[other] = was;
      d.k[b * PAIRS + t] = key[t];
      d.v[b * PAIRS + t] = (int)digits_uniform(&random, 0, VALUES - 0.001f);
    }
    d.q[b] = key[at];
    d.y[b] = d.v[b * PAIRS + at + shift];
  }
}

/* Adds a point to the curve: the steps so far, the mean loss of the last ones, and the error in
   percent on rows that are not trained on. There are at most 200 points. */
void curve_point(int step, double loss, double error);
/* Writes all points since the last call as a file of comma-separated values. */
void curve_write(const char *file);

void learn_images(const edf_real *x, const edf_real *y, int n, const edf_real *x_test, int m,
                  int *answer);
void learn_lookup(lookups train, int n, lookups test, int m, int *answer);

/* The grader has curve_point and curve_write of its own. */
enum { CURVE_MOST = 200 };
typedef struct { int n; double row[CURVE_MOST][3]; } curve_rows;
static inline void curve_add(curve_rows *c, int step, double loss, double error) {
  if (c->n == CURVE_MOST) return;
  double *row = c->row[c->n++];
  row[0] = step, row[1] = loss, row[2] = error;
}
#ifndef EDF_LINKED
static curve_rows curve;
void curve_point(int step, double loss, double error) {
  curve_add(&curve, step, loss, error);
}
void curve_write(const char *file) {
  edf_writer w = edf_create_file("curve_write", file);
  fprintf(w.file, "step,loss,error\n");
  for (int i = 0; i < curve.n; i++)
    fprintf(w.file, "%g,%.6g,%.4g\n", curve.row[i][0], curve.row[i][1], curve.row[i][2]);
  edf_finish_file(&w);
  curve.n = 0;
}
#endif
