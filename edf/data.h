/* edf/data.h - v4.0 - data sets, arrays, pictures, text and saved models for edf.h

   A companion of edf.h. It includes edf.h, and uses only public names of it.
   EDF_IMPLEMENTATION, defined in exactly one file, compiles its code too.

       #define EDF_IMPLEMENTATION
       #include "edf/data.h"

       edf_array images = edf_load_images("train-images-idx3-ubyte");
       edf_array labels = edf_load_labels("train-labels-idx1-ubyte");
       edf_all all;                       (x and y are Inputs)
       for (edf_batches(&all, x, images, y, labels, 64); edf_next(&all); ) { ... }

   Files are untrusted. A loader checks the whole file before it changes anything. Its error
   names the file, the byte or the line, what was expected and what was found. A file is written
   whole or not at all. MIT licence, like edf.h.

   Search for >>arrays, >>files, >>npy, >>csv, >>pictures, >>text, >>models. */
#if !defined(EDF_H) || \
    (defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_IMPLEMENTED))
#include "../edf.h"
#endif
#ifndef EDF_DATA_4_H
#define EDF_DATA_4_H
#ifdef EDF_DATA_H
#error "edf_data.h is version 3.0, and edf/data.h is version 4.0: include only edf/data.h"
#include "edf/data.h: two versions"
#elif EDF_VERSION != 400
#error "edf/data.h is version 4.0, and edf.h is another version: use one version of both"
#include "edf/data.h: another version"   /* This file does not exist: a compiler stops here.  */
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* ---- Arrays. An array belongs to the caller, who frees it with edf_free_array. A new array
   has no values yet. If there is no memory, its value is NULL. */
typedef struct {
  int rank, dim[EDF_MAX_RANK];
  size_t size;                           /* the product of dim                                */
  edf_real *value;                       /* row-major                                         */
} edf_array;
edf_array edf_new_array(int rank, const int *dim);
void      edf_free_array(edf_array *a);

/* Views. They are not copies: do not free them. edf_view is a node's value. edf_rows returns
   the rows `from` to `to`-1. Errors: the node has no value; a row is out of range. */
edf_array edf_view(edf_node *node);
edf_array edf_rows(edf_array a, int from, int to);

/* Loaders. IDX (LeCun et al., the MNIST page) has unsigned bytes. edf_load_images reads
   [n, rows, columns] and returns [n, pixels] / 255. edf_load_labels reads [n]. A CSV file
   becomes [rows, columns]. Its first line is skipped unless it begins with a number. An .npy
   file (NumPy enhancement proposal 1) has whole numbers or floats, little-endian. */
edf_array edf_load_idx(const char *path);
edf_array edf_load_images(const char *path);
edf_array edf_load_labels(const char *path);
edf_array edf_load_csv(const char *path);
edf_array edf_load_npy(const char *path);
void      edf_save_npy(const char *path, edf_array a);

/* A picture has the shape [rows, columns] or [rows, columns, 3] and numbers from 0 to 1.
   Other numbers are clamped. It is written as a PNG. A contact sheet shows the pictures of
   [n, rows, columns], or with channels, side by side: `columns` of them in a row, each pixel
   zoom x zoom large. lo becomes 0, and hi becomes 1. */
void      edf_save_image(const char *path, edf_array a);
edf_array edf_contact_sheet(edf_array a, int columns, int zoom, edf_real lo, edf_real hi);

/* Text as class numbers. The classes are the different bytes of the text in ascending order.
   edf_encode stops at a byte that the text does not have. edf_decode writes n bytes and a 0. */
typedef struct {
  int symbols;                           /* how many different bytes the text has             */
  int number[256];                       /* the class of a byte, or -1                        */
  char symbol[256];                      /* the byte of a class                               */
  edf_array classes;                     /* the text                                          */
} edf_vocabulary;
edf_vocabulary edf_load_text(const char *path);
edf_vocabulary edf_text_of(const char *text, size_t length);
void edf_free_text(edf_vocabulary *t);
void edf_encode(const edf_vocabulary *t, const char *text, size_t length, edf_real *classes);
void edf_decode(const edf_vocabulary *t, const edf_real *classes, size_t n, char *text);

/* Draws k with probability p[k] / sum p. Errors: a NaN; a sum that is not above 0. */
int  edf_sample(const edf_real *p, int n);

/* Puts the rows of x, and of y unless it is NULL, in the same random order (Fisher, Yates). */
void edf_shuffle(edf_array *x, edf_array *y);

/* x[i,j] = (x[i,j] - m[j]) / s[j], with the mean and standard deviation of column j of x. A
   constant column becomes 0. If test is not NULL, the same m and s are used for it. */
void edf_normalize_columns(edf_array *x, edf_array *test);

/* for (edf_batches(&all, x, points, y, classes, 64); edf_next(&all); ) feeds 64 rows at a time,
   and the rest at the end. all.rows is the number of rows fed. If edf.training is 1, both
   arrays are shuffled first. y may be NULL. Errors: an array does not have the shape of its
   Input, or the two arrays have different numbers of rows. */
typedef struct {
  edf_node *x, *y;
  edf_array data, labels;
  int n, at, rows;
} edf_all;
void edf_batches(edf_all *all, edf_node *x, edf_array data, edf_node *y, edf_array labels,
                 int n);
int  edf_next(edf_all *all);             /* Returns 0 at the end.                             */

/* p.value = a. Errors: p is not a Parameter, or a does not have its shape. */
void edf_set(edf_node *p, edf_array a);

/* (1/n) sum_i x.value[i]. Errors: x has no value of the last feed. */
double edf_mean_value(edf_node *x);

/* Returns, after a Forward, the share of rows b in which argmax_k scores[b,k] is not
   labels[b]. A row with a NaN counts as wrong. */
double edf_error_rate(edf_node *scores, edf_node *labels);

/* Saved models, as safetensors files: the Parameters by name, the memory of the optimiser (p.m
   and p.s), the steps, and the state of the random numbers. So training goes on bit for bit.
   The program first builds the same Parameters, then loads. F32 and F64 files can be read, also
   without the optimiser's memory. Default names, w1 b1 w2 ..., count the parameter structs. If
   two structs of one shape change places, they load each other's numbers, unless edf_name names
   them. To save the program too, use edf_print_equations. */
void edf_save(const char *path);
void edf_load(const char *path);


/* ---- Writing. A file is written whole or not at all. w.file is a temporary file beside it,
   which is renamed at the end. On Unix links are followed, and a pipe or a device is written in
   place. Errors name `who` unless it is NULL, the file, and the system's reason.
   edf_write_quoted writes a JSON string that may stand in the script of an HTML page. */
typedef struct {
  const char *who;
  const char *path;
  char *temporary;
  char *target;                          /* "" if the file is written in place                */
  FILE *file;
} edf_writer;
edf_writer edf_create_file(const char *who, const char *path);
void edf_finish_file(edf_writer *w);
void edf_write_quoted(edf_page *to, const char *text, size_t n);
#ifdef __cplusplus
}
#endif
#endif /* EDF_DATA_4_H */

#if defined(EDF_IMPLEMENTATION) && !defined(EDF_LINKED) && !defined(EDF_DATA__IMPLEMENTED)
#define EDF_DATA__IMPLEMENTED
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__unix__) || defined(__APPLE__)
#define EDF_DATA__UNIX                   /* has links and modes of files                      */
#include <sys/types.h>
#include <sys/stat.h>
#ifndef __cplusplus
char *realpath(const char *path, char *to);      /* -std=c99 hides it                         */
#endif
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* ==== >>arrays  Arrays and nodes ========================================================== */

static size_t edf_data__entries(const int *dim, int rank) {
  size_t n = 1;
  for (int d = 0; d < rank; d++) n *= (size_t)dim[d];
  return n;
}
static size_t edf_data__row_size(const edf_array *a) {
  return edf_data__entries(a->dim + 1, a->rank - 1);
}
/* Returns the dimensions as a text, until the fourth next call: 784, 64 */
static const char *edf_data__dims(const int *dim, int rank) {
  static char ring[4][512];
  static unsigned turn;
  char *text = ring[turn++ % 4];
  size_t n = 0;
  for (int d = *text = 0; d < rank && n < sizeof *ring; d++)
    n += (size_t)snprintf(text + n, sizeof *ring - n, d ? ", %d" : "%d", dim[d]);
  return text;
}

edf_array edf_new_array(int rank, const int *dim) {
  edf_array a = { rank, { 0 }, edf_data__entries(dim, rank), NULL };
  memcpy(a.dim, dim, (size_t)rank * sizeof *dim);
  if (a.size <= SIZE_MAX / sizeof *a.value)
    a.value = (edf_real *)EDF_MALLOC(a.size ? a.size * sizeof *a.value : 1);
  return a;
}
void edf_free_array(edf_array *a) {
  if (a->value) EDF_FREE(a->value);
  memset(a, 0, sizeof *a);
}

edf_array edf_view(edf_node *node) {
  edf_expect_node("edf_view", "the node", node);
  edf_array a = { node->rank, { 0 }, 1, edf_value(node) };
  memcpy(a.dim, node->dim, sizeof a.dim);
  if (node->kind == EDF_INPUT && node->batched) a.dim[0] = node->fed;
  a.size = edf_data__entries(a.dim, a.rank);
  return a;
}
edf_array edf_rows(edf_array a, int from, int to) {
  int n = a.rank ? a.dim[0] : 0;
  if (from < 0 || from >= to || to > n)
    edf_stop("edf_rows: rows %d to %d of an array of %d rows", from, to, n);
  a.value += (size_t)from * edf_data__row_size(&a);
  a.dim[0] = to - from;
  a.size = edf_data__entries(a.dim, a.rank);
  return a;
}

static void edf_data__check_array(const char *who, const edf_array *a) {
  if (!a->value) edf_stop("%s: the array has no numbers", who);
  if (a->rank < 0 || a->rank > EDF_MAX_RANK || a->size != edf_data__entries(a->dim, a->rank))
    edf_stop("%s: the array has a size that is not the product of its dimensions", who);
}
/* Checks that array and node have one shape. `rows` stands for the batch of the node. */
static void edf_data__expect_shape(const char *who, const edf_node *x, const edf_array *a,
                                   int rows) {
  int dim[EDF_MAX_RANK];
  edf_data__check_array(who, a);
  memcpy(dim, x->dim, sizeof dim);
  if (rows) dim[0] = rows;
  if (rows && !x->batched)
    edf_stop("%s: expected an Input with a batch\n  %s", who, edf_shown(x));
  if (a->rank != x->rank || memcmp(dim, a->dim, (size_t)a->rank * sizeof *dim))
    edf_stop("%s: the array has the shape [%s], expected [%s]\n  %s", who,
             edf_data__dims(a->dim, a->rank), edf_data__dims(dim, x->rank), edf_shown(x));
}

void edf_set(edf_node *p, edf_array a) {
  edf_expect_kind("edf_set", "the node", p, EDF_PARAMETER);
  edf_data__expect_shape("edf_set", p, &a, 0);
  memmove(p->value, a.value, p->size * sizeof *a.value);
  edf_push(p);
}

void edf_shuffle(edf_array *x, edf_array *y) {
  edf_array *both[2] = { x, x && y && y->value == x->value ? NULL : y };     /* not twice     */
  if (!x || x->rank < 1 || (y && (y->rank < 1 || y->dim[0] != x->dim[0])))
    edf_stop("edf_shuffle: expected as many rows in both arrays, found %d and %d",
             x && x->rank ? x->dim[0] : 0, y && y->rank ? y->dim[0] : 0);
  for (int i = x->dim[0] - 1; i > 0; i--) {
    size_t j = (size_t)edf_below(i + 1);
    for (int k = 0; k < 2 && both[k]; k++) {
      size_t J = edf_data__row_size(both[k]);
      edf_real *from = both[k]->value + (size_t)i * J, *to = both[k]->value + j * J;
      for (size_t n = 0; n < J; n++) {
        edf_real old = from[n];
        from[n] = to[n];
        to[n] = old;
      }
    }
  }
}

void edf_normalize_columns(edf_array *x, edf_array *test) {
  size_t J = edf_data__row_size(x), K = test ? edf_data__row_size(test) : J;
  if (!J || J != K)
    edf_stop("edf_normalize_columns: expected the same columns, found %zu and %zu", J, K);
  for (size_t j = 0; j < J; j++) {
    double n = x->dim[0], m = 0, s = 0;
    for (size_t i = j; i < x->size; i += J) m += (double)x->value[i] / n;
    for (size_t i = j; i < x->size; i += J) s += pow((double)x->value[i] - m, 2.0) / n;
    s = s > 1e-24 * m * m ? sqrt(s) : HUGE_VAL;            /* constant, but for rounding */
    for (edf_array *a = x; a; a = a == test ? NULL : test)
      for (size_t i = j; i < a->size; i += J)
        a->value[i] = (edf_real)(((double)a->value[i] - m) / s);
  }
}

void edf_batches(edf_all *all, edf_node *x, edf_array data, edf_node *y, edf_array labels,
                 int n) {
  edf_all begin = { x, y, data, labels, n, 0, 0 };
  edf_expect_kind("edf_batches", "x", x, EDF_INPUT);
  if (y) edf_expect_kind("edf_batches", "y", y, EDF_INPUT);
  edf_data__expect_shape("edf_batches", x, &data, data.dim[0]);
  if (y) edf_data__expect_shape("edf_batches", y, &labels, data.dim[0]);
  if (n < 1) edf_stop("edf_batches: %d rows at a time, expected 1 or more", n);
  *all = begin;
  if (edf.training) edf_shuffle(&all->data, y ? &all->labels : NULL);
}
int edf_next(edf_all *all) {
  int from = all->at, left = all->data.dim[0] - from;
  edf_expect_kind("edf_next", "x", all->x, EDF_INPUT);
  if (all->y) edf_expect_kind("edf_next", "y", all->y, EDF_INPUT);
  all->at += all->rows = left < all->n ? left : all->n;
  if (!left) return 0;
  (edf_feed)(all->x, edf_rows(all->data, from, all->at).value, all->rows);
  if (all->y) (edf_feed)(all->y, edf_rows(all->labels, from, all->at).value, all->rows);
  return 1;
}

/* Returns the values of x. They must be of the last feed. */
static edf_array edf_data__values(const char *who, const char *name, edf_node *x) {
  edf_expect_node(who, name, x);
  int stale = x->kind == EDF_COMPNODE ? x->ran != edf.feeds
              : x->kind == EDF_INPUT && x->fed < 0;
  if (stale || !x->value)
    edf_stop("%s: it has no value for the last feed: call edf_forward\n  %s", who,
             edf_shown(x));
  return edf_view(x);
}
double edf_mean_value(edf_node *x) {
  edf_array a = edf_data__values("edf_mean_value", "the node", x);
  return edf_statistics_of(a.value, a.size).mean;
}

double edf_error_rate(edf_node *scores, edf_node *labels) {
  edf_array s = edf_data__values("edf_error_rate", "the node of the scores", scores);
  edf_array y = edf_data__values("edf_error_rate", "the node of the labels", labels);
  size_t K = s.rank ? (size_t)s.dim[s.rank - 1] : 0, wrong = 0;
  if (!K || s.size != y.size * K)
    edf_stop("edf_error_rate: expected one label for each row of scores, whose last index is "
             "of the classes\n  %s\n  %s", edf_shown(scores), edf_shown(labels));
  for (size_t b = 0; b < y.size; b++) {
    const edf_real *row = s.value + b * K;
    size_t best = 0, nan = 0;
    for (size_t k = 0; k < K; k++) {
      if (row[k] > row[best]) best = k;
      nan += row[k] != row[k];
    }
    wrong += nan || (edf_real)best != y.value[b];
  }
  return (double)wrong / (double)y.size;
}

int edf_sample(const edf_real *p, int n) {
  double sum = 0;
  int last = 0;                          /* rounding may reach the end */
  for (int k = 0; k < n; k++) sum += (double)p[k];
  if (!(sum > 0)) edf_stop("edf_sample: the sum of the %d probabilities is %g", n, sum);
  double u = (double)edf_uniform(0, 1) * sum;
  for (int k = 0; k < n && !(u < 0); k++) {
    u -= (double)p[k];
    if (p[k] > 0) last = k;
  }
  return last;
}

/* ==== >>files  Files =======================================================================
   A file is read as a whole into memory of the graph. So an error needs to free nothing. */

void edf_write_quoted(edf_page *to, const char *text, size_t n) {
  edf_write(to, "\"");
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)text[i];
    edf_write(to, c < ' ' || c == 127 || strchr("\"\\<>&", c) ? "\\u%04x" : "%c", c);
  }
  edf_write(to, "\"");
}

static void edf_data__cannot_write(const edf_writer *w, const char *name, int why) {
  const char *colon = *name ? ": " : "";
  edf_stop("%s%s%s: cannot be written: %s%s%s", w->who ? w->who : "", w->who ? ": " : "",
           w->path, name, colon, strerror(why));
}

/* Returns the file to which links lead, or "" if it is no file that could be renamed. */
static char *edf_data__follow(const char *path) {
  edf_page at = { NULL, 0 };
#ifdef EDF_DATA__UNIX
  struct stat is;
  char to[4096], *real = realpath(path, to);       /* NULL if there is no such file yet       */
  int renames = !real || stat(real, &is) || (S_ISREG(is.st_mode) && strncmp(real, "/dev/", 5));
  edf_write(&at, "%s", !renames ? "" : real ? real : path);
#else
  edf_write(&at, "%s", path);
#endif
  return at.at;
}

edf_writer edf_create_file(const char *who, const char *path) {
  edf_writer w = { who, path, NULL, NULL, NULL };
  edf_page name = { NULL, 0 };
  if (!path) edf_stop("%s: the path of a file to write is NULL", who ? who : "edf");
  w.target = edf_data__follow(path);
  edf_write(&name, *w.target ? "%s.tmp" : "%s", w.target);
  w.temporary = name.at;
  w.file = fopen(*w.target ? w.temporary : path, "wb");
  if (!w.file) edf_data__cannot_write(&w, *w.target ? w.temporary : "", errno);
  return w;
}

/* Errors of writing show here, a full disk at the latest when the file is closed. */
void edf_finish_file(edf_writer *w) {
  int bad = ferror(w->file);
  bad |= fclose(w->file);
#ifdef _WIN32
  if (!bad) remove(w->target);           /* there rename does not replace                     */
#endif
  if (!bad && *w->target) bad = rename(w->temporary, w->target);
  int why = errno;
  if (bad) remove(w->temporary);
  if (bad) edf_data__cannot_write(w, "", why);
  edf_release(w->temporary);
  edf_release(w->target);
}

/* ---- Reading */
typedef struct {
  const char *path;
  int is_text;                           /* 1 if errors name the line, not the byte           */
  char *text;                            /* the bytes, with a 0 after them                    */
  const char *at, *end;                  /* the next byte; after the last byte                */
} edf_data__file;

/* Returns the place of a byte: its line, or its number. */
static size_t edf_data__place(const edf_data__file *f, const char *at) {
  size_t line = 1;
  for (const char *c = f->text; c < at; c++) line += *c == '\n';
  return f->is_text ? line : (size_t)(at - f->text);
}
/* Checks what the format requires at this byte. The rest is the message. */
#define edf_data__require(f, byte, ok, ...) do { \
    edf_page message = { NULL, 0 }; \
    if (ok) break; \
    edf_write(&message, __VA_ARGS__); \
    edf_stop("%s: %s %zu: %s", (f)->path, (f)->is_text ? "line" : "byte", \
             edf_data__place(f, byte), message.at); \
  } while (0)

/* Reads a file. In a text a byte order mark is skipped. While memory is allocated, which can be
   an error, the file is closed. */
static edf_data__file edf_data__open(const char *path, int is_text) {
  edf_data__file f = { path, is_text, NULL, NULL, NULL };
  size_t n = 0;
  if (!path) edf_stop("edf: the path of a file to read is NULL");
  for (int pass = 0; pass < 2; pass++) {           /* counts the bytes, then reads them */
    errno = 0;
    FILE *in = fopen(path, "rb");
    int bad = !in || (fgetc(in) == EOF && ferror(in)) ||
              fseek(in, 0, pass ? SEEK_SET : SEEK_END);
    if (!bad) n = pass ? fread(f.text, 1, n, in) : (size_t)ftell(in);
    int why = errno;
    if (in) fclose(in);
    if (bad) edf_stop("%s: cannot be read: %s", path, strerror(why));
    if (!pass) f.text = (char *)edf_keep(NULL, n + 1);
  }
  f.end = f.text + n;
  f.at = f.text + (is_text && !strncmp(f.text, "\xEF\xBB\xBF", 3) ? 3 : 0);
  return f;
}
static size_t edf_data__left(const edf_data__file *f) { return (size_t)(f->end - f->at); }

/* Returns the next n bytes, which must be there. */
static const unsigned char *edf_data__take(edf_data__file *f, size_t n) {
  edf_data__require(f, f->at, edf_data__left(f) >= n, "expected %zu more bytes, but the file "
                    "has %zu: it ended early", n, (size_t)(f->end - f->text));
  f->at += n;
  return (const unsigned char *)f->at - n;
}

static uint64_t edf_data__get_number(const unsigned char *from, size_t bytes, int big) {
  uint64_t bits = 0;
  for (size_t k = 0; k < bytes; k++) bits |= (uint64_t)from[big ? bytes - 1 - k : k] << 8 * k;
  return bits;
}
static void edf_data__put_number(unsigned char *to, uint64_t bits, size_t bytes, int big) {
  for (size_t k = 0; k < bytes; k++)
    to[big ? bytes - 1 - k : k] = (unsigned char)(bits >> 8 * k);
}

/* Converts n little-endian numbers of kind 'f', 'i', 'u' or 'b'. If `to` is NULL, it only
   checks that each fits edf_real. Infinity and NaN fit. */
static void edf_data__get_numbers(const edf_data__file *f, edf_real *to, size_t n,
                                  const char *from, char kind, size_t bytes) {
  const unsigned char *at = (const unsigned char *)from;
  uint64_t sign = (uint64_t)1 << (8 * bytes - 1);
  for (size_t i = 0; i < n && (to || bytes == 8); i++, at += bytes) {
    uint64_t bits = edf_data__get_number(at, bytes, 0);
    uint32_t half = (uint32_t)bits;
    float single;
    double number = kind == 'i' ? (double)(int64_t)((bits ^ sign) - sign) : (double)bits;
    memcpy(&single, &half, sizeof single);
    if (kind == 'f' && bytes == 8) memcpy(&number, &bits, sizeof number);
    if (kind == 'f' && bytes == 4) number = (double)single;
    edf_data__require(f, (const char *)at,
                      fabs((double)(edf_real)number) < HUGE_VAL || !(fabs(number) < HUGE_VAL),
                      "number %zu is too large for a float: -DEDF_REAL=double reads it", i);
    if (to) to[i] = (edf_real)number;
  }
}

static void edf_data__add_dim(const edf_data__file *f, const char *at, edf_array *a,
                              unsigned long long n) {
  edf_data__require(f, at, a->rank < EDF_MAX_RANK, "expected at most %d dimensions",
                    EDF_MAX_RANK);
  edf_data__require(f, at, n >= 1 && n <= INT_MAX, "dimension %d: expected 1 to %d entries, "
                    "found %llu", a->rank, INT_MAX, n);
  a->dim[a->rank++] = (int)n;
}
static edf_array edf_data__array_for(const char *path, int rank, const int *dim) {
  edf_array a = edf_new_array(rank, dim);
  if (!a.value) edf_stop("%s: out of memory for %zu entries", path, a.size);
  return a;
}
/* Returns the rest of the file as an array. It must have exactly these numbers. */
static edf_array edf_data__rest(edf_data__file *f, edf_array a, char kind, size_t bytes) {
  unsigned long long left = edf_data__left(f), size = bytes;
  int d = 0;
  while (d < a.rank && size <= left) size *= (unsigned long long)a.dim[d++];
  edf_data__require(f, f->at, size == left, "the header promises %s%llu bytes of numbers, but "
                    "%llu follow", d < a.rank ? "at least " : "", size, left);
  edf_data__get_numbers(f, NULL, edf_data__entries(a.dim, a.rank), f->at, kind, bytes);
  a = edf_data__array_for(f->path, a.rank, a.dim);
  edf_data__get_numbers(f, a.value, a.size, f->at, kind, bytes);
  edf_release(f->text);
  return a;
}

/* ---- Writing. A file is a page. Makes a page n bytes longer, and returns where they begin. */
static unsigned char *edf_data__room(edf_page *to, size_t n) {
  to->at = (char *)edf_keep(to->at, to->n + n + 1);
  to->n += n;
  return (unsigned char *)to->at + to->n - n;
}
/* Adds numbers to a page, little-endian, each of 4 or 8 bytes. */
static void edf_data__put_numbers(edf_page *to, const edf_real *x, size_t n, size_t bytes) {
  unsigned char *at = edf_data__room(to, n * bytes);
  for (size_t i = 0; i < n; i++, at += bytes) {
    double number = (double)x[i];
    float single = (float)x[i];
    uint64_t bits;
    uint32_t half;
    memcpy(&bits, &number, sizeof bits);
    memcpy(&half, &single, sizeof half);
    edf_data__put_number(at, bytes == 8 ? bits : half, bytes, 0);
  }
}
static void edf_data__write_file(const char *who, const char *path, edf_page *page) {
  edf_writer w = edf_create_file(who, path);
  fwrite(page->at, 1, page->n, w.file);
  edf_finish_file(&w);
  edf_release(page->at);
}

/* ---- IDX: 0 0 type rank, big-endian dimensions, the entries. Rank 0 stands for any rank. */
static edf_array edf_data__load_idx(const char *path, int rank, const char *what) {
  edf_data__file f = edf_data__open(path, 0);
  edf_array a = { 0, { 0 }, 0, NULL };
  const unsigned char *h = edf_data__take(&f, 4);
  edf_data__require(&f, f.text, !h[0] && !h[1], "expected an IDX file, which begins with two "
                    "zeros; found %d %d%s", h[0], h[1],
                    h[0] == 31 && h[1] == 139 ? ": unpack it with gunzip" : "");
  edf_data__require(&f, f.text + 2, h[2] == 8, "expected type 8, unsigned bytes; found type %d",
                    h[2]);
  edf_data__require(&f, f.text + 3, rank ? h[3] == rank : h[3] >= 1 && h[3] <= EDF_MAX_RANK,
                    "expected %s%d dimensions%s, found %d", rank ? "" : "1 to ",
                    rank ? rank : EDF_MAX_RANK, what, h[3]);
  while (a.rank < h[3]) {
    uint64_t n = edf_data__get_number(edf_data__take(&f, 4), 4, 1);
    edf_data__add_dim(&f, f.at - 4, &a, n);
  }
  edf_data__require(&f, f.text + 8, rank != 3 || a.dim[1] <= INT_MAX / a.dim[2],
                    "images of %d by %d pixels are too large", a.dim[1], a.dim[2]);
  return edf_data__rest(&f, a, 'u', 1);
}
edf_array edf_load_idx(const char *path) { return edf_data__load_idx(path, 0, ""); }
edf_array edf_load_labels(const char *path) {
  return edf_data__load_idx(path, 1, " for labels");
}
edf_array edf_load_images(const char *path) {
  edf_array a = edf_data__load_idx(path, 3, " for images");
  edf_array rows = { 2, { a.dim[0], a.dim[1] * a.dim[2] }, a.size, a.value };
  for (size_t i = 0; i < a.size; i++) a.value[i] /= 255;
  return rows;
}

/* ==== >>npy  Arrays of NumPy ===============================================================
   The file has a magic number, the length of a header, the header, which is a Python
   dictionary, and the numbers. */
void edf_save_npy(const char *path, edf_array a) {
  edf_page h = { NULL, 0 };
  edf_data__check_array("edf_save_npy", &a);
  const char *dims = edf_data__dims(a.dim, a.rank);
  edf_write(&h, "\x93NUMPY\1%c  {'descr': '<f%d', 'fortran_order': False, 'shape': (%s%s), }",
            0, (int)sizeof *a.value, dims, a.rank == 1 ? "," : "");
  edf_write(&h, "%*s\n", 63 - (int)(h.n % 64), "");
  edf_data__put_number((unsigned char *)h.at + 8, h.n - 10, 2, 0);
  edf_data__put_numbers(&h, a.value, a.size, sizeof *a.value);
  edf_data__write_file(NULL, path, &h);
}

/* Returns what follows a key of the header. */
static const char *edf_data__npy_value(const edf_data__file *f, const char *header,
                                       const char *key) {
  const char *at = strstr(header, key);
  edf_data__require(f, header, at, "expected a header with %s", key);
  at += strlen(key);
  return at + strspn(at, " ");
}

edf_array edf_load_npy(const char *path) {
  char type[3] = "";
  int end = 0;
  edf_data__file f = edf_data__open(path, 0);
  edf_array a = { 0, { 0 }, 0, NULL };
  const unsigned char *h = edf_data__take(&f, 10);
  edf_data__require(&f, f.text, !memcmp(h, "\x93NUMPY", 6), "expected an .npy file");
  edf_data__require(&f, f.text + 6, h[6] == 1, "expected version 1, found %d", h[6]);
  size_t n = (size_t)edf_data__get_number(h + 8, 2, 0);
  const char *header = (const char *)edf_data__take(&f, n);
  f.text[9 + n] = 0;                     /* Its last byte is a new line.                      */
  const char *at = edf_data__npy_value(&f, header, "'descr':");
  sscanf(at, "'%*1[<|=]%2[fiub1248]'%n", type, &end);
  edf_data__require(&f, header, end == 5 && strstr("f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1", type),
                    "expected little-endian numbers of type f4, f8, i1 to i8, u1 to u8 or b1, "
                    "found %.*s", (int)strcspn(at, ",}\n"), at);
  at = edf_data__npy_value(&f, header, "'fortran_order':");
  edf_data__require(&f, header, !strncmp(at, "False", 5),
                    "the array is in Fortran order: save np.ascontiguousarray(x)");
  at = edf_data__npy_value(&f, header, "'shape':");
  int opens = *at++ == '(';
  while (*at >= '0' && *at <= '9') {
    edf_data__add_dim(&f, header, &a, strtoull(at, NULL, 10));
    at += strspn(at, "0123456789");
    if (*at == ',') at += 1 + strspn(at + 1, " ");
  }
  edf_data__require(&f, header, opens && *at == ')', "expected a shape as in (3, 4)");
  return edf_data__rest(&f, a, type[0], (size_t)(type[1] - '0'));
}

/* ==== >>csv  Numbers between commas, the same count in each line ========================== */

/* Reads a decimal number: 12, -.5, 1e-3, but not 0x10. Returns 0 if there is none, or if it is
   too large. */
static int edf_data__csv_number(const char **at, double *number) {
  char *end;
  *at += strspn(*at, " \t\r");
  size_t n = strspn(*at, "+-.0123456789eE");
  *number = strtod(*at, &end);
  if (!n || end != *at + n || !(fabs((double)(edf_real)*number) < HUGE_VAL)) return 0;
  *at = end + strspn(end, " \t\r");
  return 1;
}
edf_array edf_load_csv(const char *path) {
  static const char blanks[] = " \t\r\n";
  edf_data__file f = edf_data__open(path, 1);
  int dim[2] = { 0, 0 };
  double x;
  edf_real *number = (edf_real *)edf_keep(NULL, (edf_data__left(&f) / 2 + 1) * sizeof *number);
  edf_real *to = number;                 /* Two bytes of the file have at most one number.    */
  f.at += strspn(f.at, blanks);
  const char *first = f.at;
  if (!edf_data__csv_number(&first, &x)) f.at += strcspn(f.at, "\n");
  for (; *(f.at += strspn(f.at, blanks)); dim[0]++) {
    int n = 0;
    do {
      const char *from = f.at;
      int fits = edf_data__csv_number(&f.at, &x) && (!*f.at || strchr(",\n", *f.at));
      int wrong = fits ? 0 : (int)strcspn(from, ",\r\n");
      edf_data__require(&f, from, fits, "expected a number, and then ',' or a new line, found "
                        "%s%.*s%s", wrong ? "'" : "nothing", wrong < 40 ? wrong : 40, from,
                        wrong ? "'" : "");
      *to++ = (edf_real)x;
    } while (++n < INT_MAX && *f.at == ',' && f.at++);
    if (!dim[0]) dim[1] = n;
    edf_data__require(&f, f.at, n == dim[1], "expected %d numbers as in the first row, found "
                      "%d", dim[1], n);
  }
  edf_data__require(&f, f.at, f.at == f.end, "expected text, found a zero byte");
  edf_data__require(&f, f.at, dim[0], "expected at least one row of numbers");
  edf_array a = edf_data__array_for(path, 2, dim);
  memcpy(a.value, number, a.size * sizeof *number);
  edf_release(number);
  edf_release(f.text);
  return a;
}

/* ==== >>pictures  PNG (ISO 15948) and contact sheets ====================================== */

/* Writes a chunk of a PNG: the length of its data, a type, the data, the CRC of these two. */
static void edf_data__png_chunk(edf_page *to, const char *type, const void *data, size_t n) {
  unsigned char *at = edf_data__room(to, n + 12);
  uint32_t crc = 0xffffffffu;
  edf_data__put_number(at, n, 4, 1);
  memcpy(at + 4, type, 4);
  memcpy(at + 8, data, n);
  for (size_t i = 4; i < 8 + n; i++) {
    crc ^= at[i];
    for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  edf_data__put_number(at + 8 + n, ~crc, 4, 1);
}

/* The pixels are one zlib stream of stored blocks. A block is a row: a flag for the last row,
   its length, the complement of its length, the filter type 0, the pixels. The stream ends with
   the Adler-32 of filter types and pixels. */
void edf_save_image(const char *path, edf_array a) {
  const char *who = "edf_save_image", *dot = path ? strrchr(path, '.') : NULL;
  if (!dot || strcmp(dot, ".png"))
    edf_stop("%s: %s: expected a path that ends in .png", who, path ? path : "NULL");
  edf_data__check_array(who, &a);
  int channels = a.rank == 3 ? a.dim[2] : 1;
  size_t row = a.rank > 1 ? (size_t)a.dim[1] * (size_t)channels : 0;
  if (a.rank < 2 || a.rank > 3 || (channels != 1 && channels != 3) || row > 65534)
    edf_stop("%s: %s: expected [rows, columns], or with 1 or 3 channels, and at most 65534 "
             "bytes a row, found %d dimensions: [%s]", who, path, a.rank,
             edf_data__dims(a.dim, a.rank));
  edf_page png = { NULL, 0 }, pixels = png;
  unsigned char head[13] = { 0 };
  unsigned char *to = edf_data__room(&pixels, 6 + (size_t)a.dim[0] * (6 + row));
  unsigned long sum = 1, sums = 0;
  edf_data__put_number(head, (uint64_t)a.dim[1], 4, 1);
  edf_data__put_number(head + 4, (uint64_t)a.dim[0], 4, 1);
  edf_data__put_number(head + 8, channels == 3 ? 0x208 : 8, 2, 0);     /* 8 bits a channel */
  memcpy(to, "\x78\x01", 2);
  to += 2;
  for (int y = 0; y < a.dim[0]; y++) {
    uint64_t length = row + 1;
    edf_data__put_number(to, ~length << 24 | length << 8 | (y == a.dim[0] - 1), 5, 0);
    to += 5;
    for (size_t k = 0; k <= row; k++, to++) {
      edf_real v = k ? a.value[(size_t)y * row + k - 1] : 0;       /* a NaN is black */
      *to = (unsigned char)(v >= 1 ? 255 : v > 0 ? (double)v * 255 + 0.5 : 0);
      sum = (sum + *to) % 65521;
      sums = (sums + sum) % 65521;
    }
  }
  edf_data__put_number(to, sums << 16 | sum, 4, 1);
  memcpy(edf_data__room(&png, 8), "\x89PNG\r\n\x1a\n", 8);
  edf_data__png_chunk(&png, "IHDR", head, 13);
  edf_data__png_chunk(&png, "IDAT", pixels.at, pixels.n);
  edf_data__png_chunk(&png, "IEND", head, 0);
  edf_data__write_file(NULL, path, &png);
  edf_release(pixels.at);
}

/* There is a white frame around each picture. */
edf_array edf_contact_sheet(edf_array a, int columns, int zoom, edf_real lo, edf_real hi) {
  edf_data__check_array("edf_contact_sheet", &a);
  int n = a.rank ? a.dim[0] : 0, gap = 2 + zoom / 3, c = a.rank == 4 ? a.dim[3] : 1;
  if (columns > n) columns = n;
  int right = (a.rank == 3 || a.rank == 4) && columns > 0 && zoom > 0 && lo < hi;
  double high = right ? (n + columns - 1) / columns * ((double)a.dim[1] * zoom + gap) + gap : 0;
  double wide = right ? columns * ((double)a.dim[2] * zoom + gap) + gap : 0;
  if (!right || high > 1e6 || wide > 1e6)
    edf_stop("edf_contact_sheet: [%s], %d in a row, enlarged %d times, from %g to %g: expected "
             "[pictures, rows, columns], or with channels, then 1 or more, 1 or more, and a "
             "range, and a sheet of at most a million rows and columns",
             edf_data__dims(a.dim, a.rank), columns, zoom, (double)lo, (double)hi);
  int dim[3] = { (int)high, (int)wide, c }, h = a.dim[1], w = a.dim[2];
  edf_array sheet = edf_data__array_for("edf_contact_sheet", a.rank - 1, dim);
  for (int y = 0; y < dim[0]; y++)
    for (int x = 0; x < dim[1]; x++) {
      int i = y % (h * zoom + gap) - gap, j = x % (w * zoom + gap) - gap;
      int k = y / (h * zoom + gap) * columns + x / (w * zoom + gap);
      int inside = i >= 0 && j >= 0 && x < dim[1] - gap && k < n;
      size_t from = ((size_t)k * (size_t)h + (size_t)(i / zoom)) * (size_t)w;
      from = (from + (size_t)(j / zoom)) * (size_t)c;
      edf_real *to = sheet.value + ((size_t)y * (size_t)dim[1] + (size_t)x) * (size_t)c;
      for (size_t l = 0; l < (size_t)c; l++)
        to[l] = inside ? (a.value[from + l] - lo) / (hi - lo) : 1;
    }
  return sheet;
}

/* ==== >>text  Text as class numbers ======================================================= */

void edf_encode(const edf_vocabulary *t, const char *text, size_t length, edf_real *classes) {
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)text[i];
    if (t->number[c] < 0) edf_stop("edf_encode: byte %zu, %d, is not in the text", i, c);
    classes[i] = (edf_real)t->number[c];
  }
}
edf_vocabulary edf_text_of(const char *text, size_t length) {
  edf_vocabulary t;
  int n = (int)length;
  memset(&t, 0, sizeof t);
  if (!text || length < 1 || length > INT_MAX)
    edf_stop("edf_text_of: a text has 1 to %d bytes, found %zu", INT_MAX, text ? length : 0);
  for (size_t i = 0; i < length; i++) t.number[(unsigned char)text[i]] = 1;
  for (int c = 0; c < 256; c++) {
    if (t.number[c]) t.symbol[t.symbols++] = (char)c;
    t.number[c] = t.number[c] ? t.symbols - 1 : -1;
  }
  t.classes = edf_data__array_for("edf_text_of", 1, &n);
  edf_encode(&t, text, length, t.classes.value);
  return t;
}
edf_vocabulary edf_load_text(const char *path) {
  edf_data__file f = edf_data__open(path, 1);
  edf_data__require(&f, f.at, f.at < f.end, "expected at least one byte");
  edf_vocabulary t = edf_text_of(f.at, edf_data__left(&f));
  edf_release(f.text);
  return t;
}

void edf_decode(const edf_vocabulary *t, const edf_real *classes, size_t n, char *text) {
  for (size_t i = 0; i < n; i++) {
    double k = (double)classes[i];
    if (!(k >= 0 && k < t->symbols && k == floor(k)))
      edf_stop("edf_decode: number %zu is %g, expected a class from 0 to %d", i, k,
               t->symbols - 1);
    text[i] = t->symbol[(int)k];
  }
  text[n] = 0;
}
void edf_free_text(edf_vocabulary *t) {
  edf_free_array(&t->classes);
  memset(t, 0, sizeof *t);
}

/* ==== >>models  Saved models ===============================================================
   The safetensors format: the length of a header, the header, which is JSON, with metadata, and
   the numbers. Tensor 3 i is the value of Parameter i, 3 i + 1 is its m, and 3 i + 2 its s. */

typedef struct {
  edf_node *p;
  edf_real **value;
  edf_which which;
  const char *suffix;                    /* of its name in the file                           */
} edf_data__tensor;
static edf_data__tensor edf_data__nth_tensor(int k) {
  edf_node *p = edf.parameters[k / 3];
  edf_data__tensor all[3] = {
    { p, &p->value, EDF_VALUE, "" }, { p, &p->m, EDF_M, ".m" }, { p, &p->s, EDF_S, ".s" }
  };
  return all[k % 3];
}

/* Writes a key of the header, with the name of a Parameter:  "w1.steps":  */
static void edf_data__write_key(edf_page *to, const char *name, const char *suffix) {
  edf_page key = { NULL, 0 };
  edf_write(&key, "%s%s", name, suffix);
  edf_write_quoted(to, key.at, key.n);
  edf_write(to, ":");
  edf_release(key.at);
}
/* Writes the beginning of a tensor, up to its type:  "w1.m":{"dtype":"F  */
static edf_page edf_data__begin_tensor(const edf_data__tensor *t) {
  edf_page text = { NULL, 0 };
  edf_data__write_key(&text, t->p->name, t->suffix);
  edf_write(&text, "{\"dtype\":\"");
  return text;
}
void edf_save(const char *path) {
  edf_page h = { NULL, 0 }, numbers = h;
  if (!edf.n_parameters) edf_stop("edf_save: there is no parameter");
  edf_write(&h, "%8s{\"__metadata__\":{\"format\":\"edf.h\",\"seed\":\"%llu\",", "", edf.seed);
  edf_write(&h, "\"draws\":\"%llu\"", edf.draws);
  for (int i = 0; i < edf.n_parameters; i++) {
    edf_write(&h, ",");
    edf_data__write_key(&h, edf.parameters[i]->name, ".steps");
    edf_write(&h, "\"%ld\"", edf.parameters[i]->steps);
  }
  edf_write(&h, "}");
  for (int k = 0; k < 3 * edf.n_parameters; k++) {
    edf_data__tensor t = edf_data__nth_tensor(k);
    edf_page begin = edf_data__begin_tensor(&t);
    if (strstr(h.at, begin.at) || !strcmp(t.p->name, "__metadata__"))
      edf_stop("edf_save: the file has two tensors \"%s%s\"; edf_name gives another name\n  %s",
               t.p->name, t.suffix, edf_shown(t.p));
    if (*t.value) {
      edf_write(&h, ",%sF%d\",\"shape\":[%s],\"data_offsets\":[%zu,", begin.at,
                (int)sizeof(edf_real) * 8, edf_data__dims(t.p->dim, t.p->rank), numbers.n);
      if (edf_device) edf_device->sync(t.p, t.which, EDF_READS);
      edf_data__put_numbers(&numbers, *t.value, t.p->size, sizeof(edf_real));
      edf_write(&h, "%zu]}", numbers.n);
    }
    edf_release(begin.at);
  }
  edf_write(&h, "}");
  while (h.n % 8) edf_write(&h, " ");
  edf_data__put_number((unsigned char *)h.at, h.n - 8, 8, 0);
  memcpy(edf_data__room(&h, numbers.n), numbers.at, numbers.n);
  edf_data__write_file(NULL, path, &h);
  edf_release(numbers.at);
}

/* ---- Reading. Every key that the header can have is known, so keys are looked up. The whole
   file is checked before anything is changed. */
typedef struct {                         /* a tensor of the file                              */
  size_t bytes;                          /* of each entry, or 0 if the file does not have it  */
  unsigned long long begin, end;         /* the place of its numbers                          */
  unsigned long long steps;              /* of a Parameter                                    */
} edf_data__saved;

/* Returns a copy of a header without blanks, but for one after each comma and in strings. */
static char *edf_data__tidy(const char *c, size_t n) {
  char *copy = (char *)edf_keep(NULL, 2 * n + 1), *to = copy;
  int in_string = 0;
  for (const char *end = c + n; c < end; c++) {
    if (*c == '"') in_string = !in_string;
    else if (in_string && *c == '\\') *to++ = *c++;
    if (in_string || !strchr(" \t\r\n", *c)) *to++ = *c;
    if (!in_string && *c == ',') *to++ = ' ';
  }
  return copy;
}

/* Finds tensor t in the header: "W":{"dtype":"F32", "shape":[2, 3], "data_offsets":[0, 24]}, in
   this order, as all writers have it. Its dtype is blanked, to show that it was found. */
static edf_data__saved edf_data__find_tensor(const edf_data__file *f, char *header,
                                             edf_data__tensor t) {
  edf_data__saved s = { 0, 0, 0, 0 };
  edf_page begin = edf_data__begin_tensor(&t), shape = { NULL, 0 };
  char *found = strstr(header, begin.at);
  char next[2];
  edf_data__require(f, f->at, found || *t.suffix, "there is no tensor for parameter \"%s\", "
                    "declared at %s:%d", t.p->name, t.p->file, t.p->line);
  if (!found) return s;
  const char *type = found + begin.n, *theirs = type + strcspn(type, "[");
  edf_write(&shape, "\", \"shape\":[%s], \"data_offsets\":[",
            edf_data__dims(t.p->dim, t.p->rank));
  s.bytes = !strncmp(type, "F32", 3) ? 4 : !strncmp(type, "F64", 3) ? 8 : 0;
  edf_data__require(f, f->at, s.bytes && !strncmp(type + 3, shape.at, shape.n), "tensor "
                    "\"%s%s\" is %.*s %.*s], expected F32 or F64 [%s] with data_offsets; "
                    "parameter \"%s\" is declared at %s:%d", t.p->name, t.suffix,
                    (int)strcspn(type, "\""), type, (int)strcspn(theirs, "]"), theirs,
                    edf_data__dims(t.p->dim, t.p->rank), t.p->name, t.p->file, t.p->line);
  int n = sscanf(type + 3 + shape.n, "%llu, %llu]}%1[,}]", &s.begin, &s.end, next);
  edf_data__require(f, f->at, n == 3 && s.end <= edf_data__left(f) && s.end >= s.begin &&
                    s.end - s.begin == t.p->size * s.bytes, "tensor \"%s%s\" has the offsets "
                    "%llu to %llu, expected %zu bytes, and %zu follow the header", t.p->name,
                    t.suffix, s.begin, s.end, t.p->size * s.bytes, edf_data__left(f));
  if (s.bytes == 8) edf_data__get_numbers(f, NULL, t.p->size, f->at + s.begin, 'f', 8);
  memset(strstr(found, "\"dtype\""), ' ', 7);
  edf_release(begin.at);
  edf_release(shape.at);
  return s;
}

/* Stops if the header has a tensor that is no Parameter of the program. */
static void edf_data__check_rest(const edf_data__file *f, const char *header) {
  const char *rest = strstr(header, "\"dtype\":"), *name = rest ? rest - 3 : NULL;
  while (name > header && name[-1] != '"') name--;
  edf_data__require(f, f->at, !rest, "tensor %.*s is not a parameter of this program, or is "
                    "there twice", (int)(rest - name), name);
}

/* Returns a number of the metadata, or `otherwise` if it is not there. */
static unsigned long long edf_data__metadata(const edf_data__file *f, const char *header,
                                             const char *name, const char *suffix,
                                             unsigned long long otherwise) {
  edf_page key = { NULL, 0 };
  char quote[2];
  edf_data__write_key(&key, name, suffix);
  const char *at = strstr(header, key.at);
  edf_data__require(f, f->at, !at || sscanf(at + key.n, "\"%llu%1[\"]", &otherwise, quote) == 2,
                    "%.*s: expected a whole number", (int)strcspn(at, ",}"), at);
  edf_release(key.at);
  return otherwise;
}

/* First everything is checked, and memory for the optimiser is allocated. Then nothing can
   fail. Memory of an optimiser that the file does not have becomes 0. */
void edf_load(const char *path) {
  edf_data__file f = edf_data__open(path, 0);
  uint64_t n = edf_data__get_number(edf_data__take(&f, 8), 8, 0), sum = 0;
  size_t left = edf_data__left(&f);
  edf_data__require(&f, f.text, n >= 2 && n <= left, "expected a safetensors file: its header "
                    "would have %llu bytes, but %zu follow", (unsigned long long)n, left);
  char *header = edf_data__tidy(f.at, (size_t)n);
  edf_data__require(&f, f.at, *header == '{' && header[strlen(header) - 1] == '}' &&
                    !memchr(f.at, 0, (size_t)n), "expected a header from { to }");
  int tensors = 3 * edf.n_parameters;
  edf_data__saved *saved =
      (edf_data__saved *)edf_keep(NULL, ((size_t)tensors + 1) * sizeof *saved);
  f.at += n;
  for (int k = 0; k < tensors; k++) {
    edf_data__tensor t = edf_data__nth_tensor(k);
    saved[k] = edf_data__find_tensor(&f, header, t);
    if (!*t.suffix) saved[k].steps = edf_data__metadata(&f, header, t.p->name, ".steps", 0);
    for (int i = 0; i < k; i++)
      edf_data__require(&f, f.at, saved[i].end <= saved[k].begin ||
                        saved[k].end <= saved[i].begin, "two tensors begin at %llu and %llu, "
                        "and overlap", saved[i].begin, saved[k].begin);
    sum += saved[k].end - saved[k].begin;
  }
  edf_data__check_rest(&f, header);
  edf_data__require(&f, f.at, sum == edf_data__left(&f), "the tensors have %llu bytes, but %zu "
                    "follow the header", (unsigned long long)sum, edf_data__left(&f));
  unsigned long long seed = edf_data__metadata(&f, header, "", "seed", edf.seed);
  unsigned long long draws = edf_data__metadata(&f, header, "", "draws", edf.draws);
  for (int k = 0; k < tensors; k++) {
    edf_data__tensor t = edf_data__nth_tensor(k);
    if (saved[k].bytes && !*t.value)
      *t.value = (edf_real *)edf_keep(NULL, t.p->size * sizeof **t.value);
  }
  for (int k = 0; k < tensors; k++) {
    const edf_data__saved *s = &saved[k];
    edf_data__tensor t = edf_data__nth_tensor(k);
    edf_real *to = *t.value;
    if (s->bytes) edf_data__get_numbers(&f, to, t.p->size, f.at + s->begin, 'f', s->bytes);
    else if (to) memset(to, 0, t.p->size * sizeof *to);
    if (!*t.suffix) t.p->steps = (long)s->steps;
    if (t.which == EDF_VALUE) edf_push(t.p);
    else if (edf_device && to) edf_device->sync(t.p, t.which, EDF_WROTE);
  }
  edf.seed = seed;
  edf.draws = draws;
  edf_release(header);
  edf_release(saved);
  edf_release(f.text);
}

#ifdef __cplusplus
}
#endif
#endif
