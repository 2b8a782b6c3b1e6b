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

/* Loaders. A file may be a pipe. IDX (LeCun et al., the MNIST page) has six types of numbers.
   edf_load_images reads [n, rows, columns] and returns [n, pixels], bytes divided by 255.
   edf_load_labels reads [n]. An .npy file (NumPy enhancement proposal 1) has whole numbers,
   truth values or floats of 16, 32 or 64 bits.
   A CSV file becomes [rows, columns]. A cell is a number, also in quotes, or missing (empty,
   nan, NA), or text. A missing cell is NaN, and inf is infinity. The first row is a heading if
   it has texts and no number, and 1;2 is none. Any other text is an error that names its cell.
   The separator is a comma. If only one of ; tab and blank makes all rows equally long, it is
   that one.
   edf_load_csv_with sets the separator, and whether the first row is a heading. */
edf_array edf_load_idx(const char *path);
edf_array edf_load_images(const char *path);
edf_array edf_load_labels(const char *path);
edf_array edf_load_csv(const char *path);
edf_array edf_load_csv_with(const char *path, char separator, int heading);
edf_array edf_load_npy(const char *path);
void      edf_save_npy(const char *path, edf_array a);

/* A picture has the shape [rows, columns] or [rows, columns, 3] and numbers from 0 to 1.
   edf_load_image reads PGM and PPM files (netpbm: P2, P3, P5, P6), of one picture and of 8 or
   16 bits. If the program includes stb_image.h (Debian: libstb-dev) before this file where it
   defines EDF_IMPLEMENTATION, it reads the formats of stb_image.h, too, without transparency:
     #define STB_IMAGE_IMPLEMENTATION
     #include <stb/stb_image.h>
   Numbers are divided by the greatest one that the file permits, such as 255. Errors: another
   format, a file that is cut, numbers that the header does not permit.
   edf_save_image writes a PNG. It clamps other numbers. A contact sheet shows the pictures of
   [n, rows, columns], or with channels, side by side: `columns` of them in a row, each pixel
   zoom x zoom large. lo becomes 0, and hi becomes 1. */
edf_array edf_load_image(const char *path);
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

/* Saved models, as safetensors files: the Parameters by name, the memory of the optimiser
   (p.m and p.s), the steps, and the state of the random numbers. So training goes on bit for
   bit. The program first builds the same Parameters, then loads. Files of other programs can
   be read: F64, F32, F16 and BF16, also without the optimiser's memory. Tensors that are no
   Parameter are left out, and a note on stderr lists them. Default names, w1 b1 w2 ..., count
   the parameter structs. If two structs of one shape change places, they load each other's
   numbers, unless edf_name names them. To save the program too, use edf_print_equations. */
void edf_save(const char *path);
void edf_load(const char *path);

/* For fine-tuning. Loads each Parameter that the file has with its name and its shape, prints
   what it left, and returns the number of Parameters that it has loaded. It loads values only.
   The others keep their numbers, and so do the optimiser's memory and the random numbers. To
   load under another name, call edf_name first. Errors: a file that edf_load does not read. */
int edf_load_some(const char *path);


/* ---- Writing. A file is written whole or not at all. w.file is a temporary file beside it,
   which is renamed at the end. It has a new name for each writer, and the mode of the file
   that it replaces. On Unix links are followed, and a pipe or a device is written in place.
   Errors name `who` unless it is NULL, the file, and the system's reason. edf_write_quoted
   writes a JSON string that may stand in the script of an HTML page. */
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
#ifdef __cplusplus
#include <unistd.h>
#else                                    /* In C its names might be those of the program.     */
ssize_t readlink(const char *path, char *to, size_t room);   /* -std=c99 hides it             */
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
  edf_array a = { rank, { 0 }, 1, NULL };
  if (rank < 0 || rank > EDF_MAX_RANK)
    edf_stop("edf_new_array: rank %d, expected 0 to %d", rank, EDF_MAX_RANK);
  for (int d = 0; d < rank; d++) {
    size_t n = (size_t)dim[d];
    if (dim[d] < 0 || (n && a.size > SIZE_MAX / sizeof *a.value / n))
      edf_stop("edf_new_array: the shape [%s] is too large, or a dimension is below 0",
               edf_data__dims(dim, rank));
    a.dim[d] = dim[d];
    a.size *= n;
  }
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
  if (a->rank < 0 || a->rank > EDF_MAX_RANK)
    edf_stop("%s: the array has rank %d, expected 0 to %d", who, a->rank, EDF_MAX_RANK);
  for (int d = 0; d < a->rank; d++)
    if (a->dim[d] < 0)
      edf_stop("%s: the array has the shape [%s]: a dimension is below 0", who,
               edf_data__dims(a->dim, a->rank));
  if (a->size != edf_data__entries(a->dim, a->rank))
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

/* Returns the file to which links lead, there or not, or "" if it is to be written as it is: a
   device, a pipe, or a stream of a process, such as /dev/stdout. */
static char *edf_data__follow(const char *path) {
  edf_page at = { NULL, 0 };
  edf_write(&at, "%s", path);
#ifdef EDF_DATA__UNIX
  struct stat is;
  char to[4096];
  long n = 0;
  int links = 0;
  while (links < 40 && strncmp(at.at, "/proc/", 6) &&
         (n = (long)readlink(at.at, to, sizeof to)) >= 0) {
    const char *name = strrchr(at.at, '/');        /* A link is relative to its folder.       */
    edf_page next = { NULL, 0 };
    edf_write(&next, "%.*s%.*s", *to == '/' || !name ? 0 : (int)(name - at.at) + 1, at.at,
              (int)n, to);
    edf_release(at.at);
    at = next;
    links++;
  }
  int there = !stat(at.at, &is);
  if (links == 40 || !strncmp(at.at, "/proc/", 6) || (there && !S_ISREG(is.st_mode)))
    *at.at = 0;
#endif
  return at.at;
}

edf_writer edf_create_file(const char *who, const char *path) {
  edf_writer w = { who, path, NULL, NULL, NULL };
  if (!path) edf_stop("%s: the path of a file to write is NULL", who ? who : "edf");
  w.target = edf_data__follow(path);
  for (int turn = 0; !w.file && turn < 10000; turn++) {      /* "x": the file is new          */
    edf_page name = { NULL, 0 };
    edf_write(&name, *w.target ? "%s.%d.tmp" : "%s", w.target, turn);
    w.temporary = name.at;
    errno = 0;
    w.file = *w.target ? fopen(w.temporary, "wbx") : fopen(path, "wb");
    if (!w.file && errno != EEXIST)
      edf_data__cannot_write(&w, *w.target ? w.temporary : "", errno);
    if (!w.file) edf_release(w.temporary);
  }
  if (!w.file) edf_data__cannot_write(&w, "", EEXIST);
#ifdef EDF_DATA__UNIX
  struct stat is;
  if (*w.target && !stat(w.target, &is)) chmod(w.temporary, is.st_mode & 07777);
#endif
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

/* Reads what is left of a stream of unknown length, such as a pipe. Returns its memory, which
   is not the graph's, or NULL after an error. */
static char *edf_data__read_stream(FILE *in, size_t *n) {
  char *text = NULL;
  for (size_t room = 1 << 16; ; room *= 2) {
    char *more = (char *)EDF_MALLOC(room);
    if (more && text) memcpy(more, text, *n);
    if (text) EDF_FREE(text);
    text = more;
    if (!text) { errno = ENOMEM; return NULL; }
    *n += fread(text + *n, 1, room - *n, in);
    if (*n < room) return text;
  }
}
/* Reads a file. In a text a byte order mark is skipped. While memory of the graph is allocated,
   which can be an error, the file is closed. */
static edf_data__file edf_data__open(const char *path, int is_text) {
  edf_data__file f = { path, is_text, NULL, NULL, NULL };
  char *stream = NULL;
  size_t n = 0;
  if (!path) edf_stop("edf: the path of a file to read is NULL");
  for (int pass = 0; pass < 2; pass++) {           /* counts the bytes, then reads them */
    errno = 0;
    FILE *in = stream ? NULL : fopen(path, "rb");
    int bad = !stream && !in, first = in ? fgetc(in) : EOF;
    if (in && first != EOF) ungetc(first, in);
    bad |= in && first == EOF && ferror(in);
    long length = bad || stream ? 0 : fseek(in, 0, SEEK_END) ? -1 : ftell(in);
    if (!pass && !bad && first != EOF && length <= 0) {      /* a pipe, or a file of /proc    */
      if (length == 0 && fseek(in, 0, SEEK_SET)) length = -1;
      stream = edf_data__read_stream(in, &n);
      bad = !stream || ferror(in);
    } else if (!bad && !pass) n = (size_t)(length > 0 ? length : 0);
    if (pass && stream) memcpy(f.text, stream, n);
    else if (pass && !bad) n = fseek(in, 0, SEEK_SET) ? 0 : fread(f.text, 1, n, in);
    int why = errno;
    if (in) fclose(in);
    if (bad && stream) EDF_FREE(stream);
    if (bad) edf_stop("%s: cannot be read: %s", path, strerror(why));
    if (!pass) f.text = (char *)edf_keep(NULL, n + 1);
  }
  if (stream) EDF_FREE(stream);
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

/* Returns a float of 16 bits: 1 of sign, 5 of exponent, 10 of fraction (IEEE 754). */
static double edf_data__half(unsigned bits) {
  int exponent = bits >> 10 & 31;
  double fraction = bits & 1023;
  double size = exponent == 31 ? (fraction != 0 ? (double)NAN : HUGE_VAL)
              : exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
  return bits >> 15 ? -size : size;
}
/* Returns 0 if a number overflows edf_real. Infinity and NaN fit. */
static int edf_data__fits(double number) {
  return fabs((double)(edf_real)number) < HUGE_VAL || !(fabs(number) < HUGE_VAL);
}
/* Converts n numbers of kind 'f', 'i', 'u', 'b', or 'B' for a bfloat16, the first half of a
   float. If `to` is NULL, it only checks that each fits edf_real. */
static void edf_data__get_numbers(const edf_data__file *f, edf_real *to, size_t n,
                                  const char *from, char kind, size_t bytes, int big) {
  const unsigned char *at = (const unsigned char *)from;
  uint64_t sign = (uint64_t)1 << (8 * bytes - 1);
  for (size_t i = 0; i < n && to && bytes == 1 && kind == 'u'; i++) to[i] = at[i];
  if (bytes == 1 && kind == 'u') return;
  for (size_t i = 0; i < n && (to || bytes == 8); i++, at += bytes) {
    uint64_t bits = edf_data__get_number(at, bytes, big);
    uint32_t half = (uint32_t)(kind == 'B' ? bits << 16 : bits);
    float single;
    double number = kind == 'i' ? (double)(int64_t)((bits ^ sign) - sign) : (double)bits;
    memcpy(&single, &half, sizeof single);
    if (kind == 'f' && bytes == 8) memcpy(&number, &bits, sizeof number);
    if (kind == 'B' || (kind == 'f' && bytes == 4)) number = (double)single;
    if (kind == 'f' && bytes == 2) number = edf_data__half((unsigned)bits);
    edf_data__require(f, (const char *)at, edf_data__fits(number), "number %zu is too large "
                      "for a float: -DEDF_REAL=double reads it", i);
    if (to) to[i] = (edf_real)number;
  }
}

static void edf_data__add_dim(const edf_data__file *f, const char *at, edf_array *a,
                              unsigned long long n) {
  edf_data__require(f, at, a->rank < EDF_MAX_RANK, "expected at most %d dimensions",
                    EDF_MAX_RANK);
  edf_data__require(f, at, n <= INT_MAX, "dimension %d: expected at most %d entries, found "
                    "%llu", a->rank, INT_MAX, n);
  a->dim[a->rank++] = (int)n;
}
static edf_array edf_data__array_for(const char *path, int rank, const int *dim) {
  edf_array a = edf_new_array(rank, dim);
  if (!a.value) edf_stop("%s: out of memory for %zu entries", path, a.size);
  return a;
}
/* Returns the rest of the file as an array. It must have exactly these numbers. */
static edf_array edf_data__rest(edf_data__file *f, edf_array a, char kind, size_t bytes,
                                int big) {
  unsigned long long left = edf_data__left(f), size = bytes;
  int d = 0, empty = 0;
  for (int k = 0; k < a.rank; k++) empty |= a.dim[k] == 0;
  while (d < a.rank && size <= left && !empty) size *= (unsigned long long)a.dim[d++];
  if (empty) size = 0;
  edf_data__require(f, f->at, size == left, "the header promises %s%llu bytes of numbers, but "
                    "%llu follow", !empty && d < a.rank ? "at least " : "", size, left);
  edf_data__get_numbers(f, NULL, edf_data__entries(a.dim, a.rank), f->at, kind, bytes, big);
  a = edf_data__array_for(f->path, a.rank, a.dim);
  edf_data__get_numbers(f, a.value, a.size, f->at, kind, bytes, big);
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
static edf_array edf_data__load_idx(const char *path, int rank, const char *what,
                                    int *is_bytes) {
  edf_data__file f = edf_data__open(path, 0);
  edf_array a = { 0, { 0 }, 0, NULL };
  const unsigned char *h = edf_data__take(&f, 4);
  edf_data__require(&f, f.text, !h[0] && !h[1], "expected an IDX file, which begins with two "
                    "zeros; found %d %d%s", h[0], h[1],
                    h[0] == 31 && h[1] == 139 ? ": unpack it with gunzip" : "");
  static const char *const types[] = { "u1", "i1", NULL, "i2", "i4", "f4", "f8" };
  const char *type = h[2] >= 8 && h[2] <= 14 ? types[h[2] - 8] : NULL;
  edf_data__require(&f, f.text + 2, type, "expected type 8, 9 or 11 to 14, found type %d",
                    h[2]);
  *is_bytes = h[2] == 8;
  edf_data__require(&f, f.text + 3, rank ? h[3] == rank : h[3] >= 1 && h[3] <= EDF_MAX_RANK,
                    "expected %s%d dimensions%s, found %d", rank ? "" : "1 to ",
                    rank ? rank : EDF_MAX_RANK, what, h[3]);
  while (a.rank < h[3]) {
    uint64_t n = edf_data__get_number(edf_data__take(&f, 4), 4, 1);
    edf_data__add_dim(&f, f.at - 4, &a, n);
  }
  edf_data__require(&f, f.text + 8, rank != 3 || !a.dim[2] || a.dim[1] <= INT_MAX / a.dim[2],
                    "images of %d by %d pixels are too large", a.dim[1], a.dim[2]);
  return edf_data__rest(&f, a, type[0], (size_t)(type[1] - '0'), 1);
}
edf_array edf_load_idx(const char *path) {
  int is_bytes;
  return edf_data__load_idx(path, 0, "", &is_bytes);
}
edf_array edf_load_labels(const char *path) {
  int is_bytes;
  return edf_data__load_idx(path, 1, " for labels", &is_bytes);
}
edf_array edf_load_images(const char *path) {
  int is_bytes;
  edf_array a = edf_data__load_idx(path, 3, " for images", &is_bytes);
  edf_array rows = { 2, { a.dim[0], a.dim[1] * a.dim[2] }, a.size, a.value };
  for (size_t i = 0; i < a.size && is_bytes; i++) a.value[i] /= 255;
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

/* Returns the array in row-major order. Its numbers are in Fortran's order: the first index
   runs fastest. */
static edf_array edf_data__from_fortran(const char *path, edf_array a) {
  edf_array b = edf_data__array_for(path, a.rank, a.dim);
  for (size_t i = 0; i < a.size; i++) {
    size_t rest = i, from = 0;
    for (int d = a.rank - 1; d >= 0; d--) {
      size_t n = (size_t)a.dim[d], step = edf_data__entries(a.dim, d);
      from += rest % n * step;
      rest /= n;
    }
    b.value[i] = a.value[from];
  }
  edf_free_array(&a);
  return b;
}

edf_array edf_load_npy(const char *path) {
  char order = 0, type[3] = "";
  int end = 0;
  edf_data__file f = edf_data__open(path, 0);
  edf_array a = { 0, { 0 }, 0, NULL };
  const unsigned char *h = edf_data__take(&f, 8);
  edf_data__require(&f, f.text, !memcmp(h, "\x93NUMPY", 6), "expected an .npy file");
  edf_data__require(&f, f.text + 6, h[6] >= 1 && h[6] <= 3, "expected version 1 to 3, found %d",
                    h[6]);
  size_t length = h[6] == 1 ? 2 : 4;
  size_t n = (size_t)edf_data__get_number(edf_data__take(&f, length), length, 0);
  char *header = (char *)(uintptr_t)edf_data__take(&f, n);
  edf_data__require(&f, f.at, n > 0, "expected a header");
  header[n - 1] = 0;                     /* Its last byte is a new line.                      */
  const char *at = edf_data__npy_value(&f, header, "'descr':");
  if (sscanf(at, "'%c%2[fiub1248]'%n", &order, type, &end) != 2) end = 0;
  edf_data__require(&f, header, end == 5 && strchr("<>|=", order) &&
                    strstr("f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1", type),
                    "expected numbers of type f2, f4, f8, i1 to i8, u1 to u8 or b1, found %.*s",
                    (int)strcspn(at, ",}\n"), at);
  at = edf_data__npy_value(&f, header, "'fortran_order':");
  int fortran = !strncmp(at, "True", 4);
  at = edf_data__npy_value(&f, header, "'shape':");
  int opens = *at++ == '(';
  while (*at >= '0' && *at <= '9') {
    edf_data__add_dim(&f, header, &a, strtoull(at, NULL, 10));
    at += strspn(at, "0123456789");
    if (*at == ',') at += 1 + strspn(at + 1, " ");
  }
  edf_data__require(&f, header, opens && *at == ')', "expected a shape as in (3, 4)");
  a = edf_data__rest(&f, a, type[0], (size_t)(type[1] - '0'), order == '>');
  return fortran && a.rank > 1 ? edf_data__from_fortran(path, a) : a;
}

/* ==== >>csv  Rows of numbers ============================================================== */

typedef struct {
  const char *from;                      /* its text, without blanks and quotes around it     */
  size_t n;
  char kind;                             /* 'n' a number, 'm' missing, 't' text               */
  double number;                         /* NaN if it is missing                              */
} edf_data__cell;

/* Returns 1 if the n characters are this word, in any case. */
static int edf_data__is_word(const char *c, size_t n, const char *word) {
  size_t k = 0;
  while (k < n && word[k] && (c[k] | 32) == word[k]) k++;
  return k == n && !word[k];
}
/* Finds what a cell is. 0x1F, 2020-01-01, 1,000 and a number that overflows are text. */
static void edf_data__set_kind(edf_data__cell *c) {
  size_t sign = c->n && (*c->from == '-' || *c->from == '+'), n = c->n - sign;
  const char *word = c->from + sign;
  char *end;
  c->kind = 'n';
  c->number = *c->from == '-' ? -HUGE_VAL : HUGE_VAL;
  if (edf_data__is_word(word, n, "inf") || edf_data__is_word(word, n, "infinity")) return;
  c->kind = 'm';
  c->number = (double)NAN;
  if (!c->n || edf_data__is_word(word, n, "nan")) return;
  if (edf_data__is_word(c->from, c->n, "na")) return;
  c->kind = 't';
  if (strspn(c->from, "+-.0123456789eE") < c->n) return;
  c->number = edf_read_number(c->from, &end);
  if (end == c->from + c->n && fabs(c->number) < HUGE_VAL) c->kind = 'n';
}
/* Returns 1 if a cell is like 1;2, with another separator. It does not make a row a heading. */
static int edf_data__is_several(const edf_data__cell *c) {
  size_t first = strcspn(c->from, "; \t");
  return c->kind == 't' && first && first < c->n &&
         strspn(c->from, "+-.0123456789eE; \t") >= c->n;
}

/* Reads the next cell of a row, and moves *at to the separator, or to the end of the line. */
static edf_data__cell edf_data__next_cell(const char **at, char separator) {
  const char *c = *at, *blanks = separator == '\t' ? " \r" : " \t\r";
  char ends[] = { separator, '\r', '\n', 0 };
  edf_data__cell cell = { NULL, 0, 0, 0 };
  c += strspn(c, blanks);
  int quoted = *c == '"';
  cell.from = c += quoted;
  if (quoted)                            /* "" in quotes is a quote                           */
    while (*c && *c != '\n' && (*c != '"' || c[1] == '"')) c += *c == '"' ? 2 : 1;
  else c += strcspn(c, ends);
  cell.n = (size_t)(c - cell.from);
  c += quoted && *c == '"';
  while (cell.n && strchr(" \t\r", cell.from[cell.n - 1])) cell.n--;
  c += separator == ' ' ? strspn(c, "\r") : strspn(c, blanks);
  *at = c;
  edf_data__set_kind(&cell);
  return cell;
}
/* Moves *at to the next cell of the row. Returns 0 at the end of the row. */
static int edf_data__goes_on(const char **at, char separator) {
  if (**at != separator) return 0;
  const char *next = *at + (separator == ' ' ? strspn(*at, " \t\r") : 1);
  if (separator == ' ' && strchr("\n", *next)) { *at = next; return 0; }
  *at = next;
  return 1;
}
/* Moves *at over blank lines to the next row. A tab that separates begins a row with a missing
   cell. Returns 0 at the end of the text. */
static int edf_data__next_row(const char **at, char separator) {
  *at += strspn(*at, separator == '\t' ? " \r\n" : " \t\r\n");
  return **at != 0;
}
/* Returns the separator of a file. */
static char edf_data__separator(const char *text) {
  char found = ',';
  for (const char *s = ",;\t "; *s; s++) {
    int first = 0, equal = 1;
    for (const char *at = text; edf_data__next_row(&at, *s);) {
      int n = 0;
      do { edf_data__next_cell(&at, *s); n++; } while (edf_data__goes_on(&at, *s));
      at += strcspn(at, "\n");
      if (!first) first = n;
      equal &= n == first;
    }
    if (!equal || first < 2) continue;
    if (*s == ',') return ',';
    found = found == ',' ? *s : '\0';    /* several: none of them                             */
  }
  return found ? found : ',';
}

/* Checks a cell of a row, the one after `before` others. */
static void edf_data__check_cell(const edf_data__file *f, const edf_data__cell *c, int before,
                                 int numbers) {
  int n = c->n < 40 ? (int)c->n : 40;
  const char *hint = *c->from == '#' ? ": is it a comment? Remove the line"
                     : !numbers ? ": is it a second heading?" : "";
  edf_data__require(f, c->from, c->kind != 't', "cell %d is '%.*s', expected a number%s",
                    before + 1, n, c->from, hint);
  edf_data__require(f, c->from, edf_data__fits(c->number), "cell %d, %.*s, is too large for a "
                    "float: -DEDF_REAL=double reads it", before + 1, n, c->from);
}
static edf_array edf_data__load_csv(const char *path, char separator, int heading) {
  edf_data__file f = edf_data__open(path, 1);
  int dim[2] = { 0, 0 }, first = 1;
  edf_real *number = (edf_real *)edf_keep(NULL, (edf_data__left(&f) + 1) * sizeof *number);
  edf_real *to = number;                 /* Each cell has a byte of the file, or its end.     */
  if (!separator) separator = edf_data__separator(f.at);
  for (; edf_data__next_row(&f.at, separator); first = 0) {
    const char *begin = f.at;
    int n = 0, numbers = 0, texts = 0;
    do {                                 /* What kinds of cells has the row?                  */
      edf_data__cell c = edf_data__next_cell(&f.at, separator);
      numbers += c.kind == 'n' || edf_data__is_several(&c);
      texts += c.kind == 't';
    } while (++n < INT_MAX && edf_data__goes_on(&f.at, separator));
    edf_data__require(&f, f.at, strchr("\n", *f.at), "cell %d: expected a separator or the end "
                      "of the line after the quotes", n);
    if (first && (heading < 0 ? texts && !numbers : heading)) { dim[1] = n; continue; }
    if (!dim[1]) dim[1] = n;
    edf_data__require(&f, begin, n == dim[1], "expected %d cells as in the first row, found %d",
                      dim[1], n);
    f.at = begin;
    for (int k = 0; k < n; k++) {
      edf_data__cell c = edf_data__next_cell(&f.at, separator);
      edf_data__check_cell(&f, &c, k, numbers);
      *to++ = (edf_real)c.number;
      edf_data__goes_on(&f.at, separator);
    }
    dim[0]++;
  }
  edf_data__require(&f, f.at, f.at == f.end, "expected text, found a zero byte");
  edf_data__require(&f, f.at, dim[0], "expected at least one row of numbers");
  edf_array a = edf_data__array_for(path, 2, dim);
  memcpy(a.value, number, a.size * sizeof *number);
  edf_release(number);
  edf_release(f.text);
  return a;
}
edf_array edf_load_csv(const char *path) { return edf_data__load_csv(path, '\0', -1); }
edf_array edf_load_csv_with(const char *path, char separator, int heading) {
  if (!separator || strchr("\"\r\n+-.0123456789eE", separator))
    edf_stop("edf_load_csv_with: '%c' cannot separate cells", separator);
  return edf_data__load_csv(path, separator, heading != 0);
}

/* ==== >>pictures  PGM, PPM, PNG (ISO 15948) and contact sheets ============================ */
/* ---- PGM and PPM. The file has P5 or P6, the numbers of columns and rows, the greatest
   number, one blank, and the numbers, row by row. In P2 and P3 they are text. A # begins a
   comment. Returns the next number of a text. */
static unsigned edf_data__read_netpbm(edf_data__file *f, const char *what, unsigned long most) {
  unsigned long n = 0;
  while (f->at < f->end && strchr(" \t\n\r\v\f#", *f->at) && *f->at)
    f->at += *f->at == '#' ? strcspn(f->at, "\n\r") : 1;
  const char *begin = f->at;
  while (f->at < f->end && *f->at >= '0' && *f->at <= '9' && n <= most)
    n = n * 10 + (unsigned long)(*f->at++ - '0');
  edf_data__require(f, begin, f->at > begin && n <= most, "expected %s, a whole number up to "
                    "%lu", what, most);
  return (unsigned)n;
}
static edf_array edf_data__load_netpbm(edf_data__file *f) {
  char kind = f->text[1];
  edf_array a = { 0, { 0 }, 0, NULL };
  int binary = kind >= '5', color = kind == '3' || kind == '6';
  f->at += 2;
  unsigned columns = edf_data__read_netpbm(f, "the number of columns", 1000000);
  unsigned rows = edf_data__read_netpbm(f, "the number of rows", 1000000);
  unsigned most = edf_data__read_netpbm(f, "the greatest number", 65535);
  edf_data__require(f, f->at, columns && rows && most, "a picture of %u by %u pixels with "
                    "numbers up to %u", columns, rows, most);
  edf_data__add_dim(f, f->at, &a, rows);
  edf_data__add_dim(f, f->at, &a, columns);
  if (color) edf_data__add_dim(f, f->at, &a, 3);
  if (binary) edf_data__take(f, 1);
  const char *begin = f->at;
  size_t n = edf_data__entries(a.dim, a.rank), bytes = !binary || most < 256 ? 1 : 2;
  unsigned long long needed = (unsigned long long)columns * rows * (color ? 3 : 1) * bytes;
  edf_data__require(f, begin, needed <= edf_data__left(f), "the picture has %llu numbers, but "
                    "%zu bytes follow", needed / bytes, edf_data__left(f));
  edf_real *to = NULL;
  for (int pass = 0; pass < 2; pass++) { /* checks all, then reads                            */
    f->at = begin;
    for (size_t i = 0; i < n; i++) {
      unsigned number = binary ? (unsigned)edf_data__get_number(edf_data__take(f, bytes), bytes,
                                                                1)
                               : edf_data__read_netpbm(f, "a number of the picture", 65535);
      edf_data__require(f, f->at, number <= most, "number %zu is %u, expected at most %u", i,
                        number, most);
      if (to) to[i] = (edf_real)number / (edf_real)most;
    }
    f->at += binary ? 0 : strspn(f->at, " \t\n\r");
    edf_data__require(f, f->at, f->at == f->end, "the picture ends here, but %zu bytes follow",
                      edf_data__left(f));
    if (!pass) a = edf_data__array_for(f->path, a.rank, a.dim);
    to = a.value;
  }
  return a;
}

/* Other formats, by stb_image.h. */
#ifdef STBI_INCLUDE_STB_IMAGE_H
static edf_array edf_data__load_by_stb(edf_data__file *f) {
  int columns = 0, rows = 0, channels = 0, wide = 0;
  edf_array a = { 0, { 0 }, 0, NULL };
  const stbi_uc *bytes = (const stbi_uc *)f->text;
  size_t left = edf_data__left(f);
  int n = left > INT_MAX ? 0 : (int)left;
  int known = stbi_info_from_memory(bytes, n, &columns, &rows, &channels);
  edf_data__require(f, f->text, known, "stb_image.h: %s", stbi_failure_reason());
  int want = channels < 3 ? 1 : 3;       /* without transparency                              */
  wide = stbi_is_16_bit_from_memory(bytes, n);
  void *got = !wide ? (void *)stbi_load_from_memory(bytes, n, &columns, &rows, &channels, want)
                    : (void *)stbi_load_16_from_memory(bytes, n, &columns, &rows, &channels,
                                                       want);
  edf_data__require(f, f->text, got, "stb_image.h: %s", stbi_failure_reason());
  a.dim[a.rank++] = rows;
  a.dim[a.rank++] = columns;
  if (want == 3) a.dim[a.rank++] = 3;
  a = edf_new_array(a.rank, a.dim);
  for (size_t i = 0; i < a.size && a.value; i++)
    a.value[i] = wide ? (edf_real)((stbi_us *)got)[i] / 65535
                      : (edf_real)((stbi_uc *)got)[i] / 255;
  stbi_image_free(got);
  if (!a.value) edf_stop("%s: out of memory for %zu entries", f->path, a.size);
  return a;
}
#else
/* Stops, and names the format. */
static edf_array edf_data__load_by_stb(edf_data__file *f) {
  static const struct { const char *begin, *name; } formats[] = {
    { "\x89PNG", "a PNG" }, { "\xFF\xD8", "a JPEG" }, { "GIF8", "a GIF" }, { "BM", "a BMP" },
    { "P1", "a PBM" }, { "P4", "a PBM" }, { "P7", "a PAM" } };
  edf_array none = { 0, { 0 }, 0, NULL };
  const char *found = edf_data__left(f) ? "another file" : "an empty file";
  for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
    if (!strncmp(f->text, formats[k].begin, strlen(formats[k].begin))) found = formats[k].name;
  edf_data__require(f, f->text, 0, "expected a PGM or PPM file, found %s: #include "
                    "<stb/stb_image.h> before edf/data.h reads other formats", found);
  return none;
}
#endif
edf_array edf_load_image(const char *path) {
  edf_data__file f = edf_data__open(path, 0);
  int is = f.text[0] == 'P' && f.text[1] && strchr("2356", f.text[1]);
  edf_array a = is ? edf_data__load_netpbm(&f) : edf_data__load_by_stb(&f);
  edf_release(f.text);
  return a;
}


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
  if (a.rank < 2 || a.rank > 3 || (channels != 1 && channels != 3) || row > 65534 || !a.size)
    edf_stop("%s: %s: expected [rows, columns], or with 1 or 3 channels, 1 to 65534 bytes a "
             "row and at least one row, found %d dimensions: [%s]", who, path, a.rank,
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

/* Returns .m or .s, with more points if a Parameter has that name: W.m beside W. */
static const char *edf_data__suffix(const edf_node *p, const char *all) {
  size_t n = strlen(p->name);
  const char *suffix = all + strlen(all) - 2;
  for (int i = 0; i < edf.n_parameters && suffix > all; i++) {
    const char *other = edf.parameters[i]->name;
    if (strncmp(other, p->name, n) || strcmp(other + n, suffix)) continue;
    suffix--;
    i = -1;                              /* Look at all of them again.                        */
  }
  return suffix;
}
static edf_data__tensor edf_data__nth_tensor(int k) {
  edf_node *p = edf.parameters[k / 3];
  edf_data__tensor t = { p, &p->value, EDF_VALUE, "" };
  if (k % 3) t.value = k % 3 == 1 ? &p->m : &p->s;
  if (k % 3) t.which = k % 3 == 1 ? EDF_M : EDF_S;
  if (k % 3) t.suffix = edf_data__suffix(p, k % 3 == 1 ? "........m" : "........s");
  return t;
}

/* Writes a key of the header, with the name of a Parameter:  "w1.steps":  */
static void edf_data__write_key(edf_page *to, const char *name, const char *suffix) {
  edf_page key = { NULL, 0 };
  edf_write(&key, "%s%s", name, suffix);
  edf_write_quoted(to, key.at, key.n);
  edf_write(to, ":");
  edf_release(key.at);
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
    edf_page begin = { NULL, 0 };
    edf_data__write_key(&begin, t.p->name, t.suffix);
    edf_write(&begin, "{\"dtype\":\"");
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

/* ---- Reading JSON (RFC 8259). Strings are decoded in place: in UTF-8 they never have more
   bytes than their text. */
typedef struct { const char *at; size_t n; } edf_data__string;

static int edf_data__is(edf_data__string s, const char *text) {
  return s.n == strlen(text) && !memcmp(s.at, text, s.n);
}
/* Returns a string in quotes for a message. It is the graph's. */
static const char *edf_data__quoted(edf_data__string s) {
  edf_page page = { NULL, 0 };
  edf_write_quoted(&page, s.at, s.n < 60 ? s.n : 60);
  return page.at;
}

/* Returns the next character that is no blank, or 0 at the end. */
static char edf_data__peek(edf_data__file *f) {
  while (f->at < f->end && *f->at && strchr(" \t\r\n", *f->at)) f->at++;
  return (char)(f->at < f->end ? *f->at : 0);
}
static void edf_data__expect(edf_data__file *f, char c) {
  edf_data__require(f, f->at, edf_data__peek(f) == c, "expected %c in the header", c);
  f->at++;
}
/* Moves to the next entry of an object or list. Returns 0 after the last, behind `close`. */
static int edf_data__entry_follows(edf_data__file *f, int before, char close) {
  char c = edf_data__peek(f);
  edf_data__require(f, f->at, !before || c == close || c == ',', "expected , or %c in the "
                    "header", close);
  f->at += c == close || before;
  return c != close;
}

/* Returns the number of four hexadecimal digits. */
static unsigned long edf_data__hexadecimal(edf_data__file *f) {
  unsigned long code = 0;
  for (int k = 0; k < 4; k++, f->at++) {
    const char *digits = "0123456789abcdef0123456789ABCDEF";
    const char *found = f->at < f->end && *f->at ? strchr(digits, *f->at) : NULL;
    edf_data__require(f, f->at, found, "expected four hexadecimal digits after \\u");
    code = code * 16 + (unsigned long)(found - digits) % 16;
  }
  return code;
}
/* Returns the character of an escape, after its backslash. */
static unsigned long edf_data__escape(edf_data__file *f) {
  const char *letters = "\"\\/bfnrt", *found = *f->at ? strchr(letters, *f->at) : NULL;
  edf_data__require(f, f->at, found || *f->at == 'u', "no escape begins so");
  f->at++;
  if (found) return (unsigned long)"\"\\/\b\f\n\r\t"[found - letters];
  unsigned long code = edf_data__hexadecimal(f), low = 0;
  if (code >> 10 == 0xD800 >> 10 && f->end - f->at > 6 && !strncmp(f->at, "\\u", 2)) {
    f->at += 2;
    low = edf_data__hexadecimal(f);
    edf_data__require(f, f->at, low >> 10 == 0xDC00 >> 10, "half of a pair of \\u is missing");
    return 0x10000 + ((code & 1023) << 10) + (low & 1023);
  }
  edf_data__require(f, f->at, code >> 11 != 0xD800 >> 11, "half of a pair of \\u is missing");
  return code;
}
static edf_data__string edf_data__read_string(edf_data__file *f) {
  edf_data__expect(f, '"');
  char *begin = f->text + (f->at - f->text), *to = begin;
  while (f->at < f->end && *f->at != '"') {
    edf_data__require(f, f->at, (unsigned char)*f->at >= ' ', "a control character is in a "
                      "string of the header");
    if (*f->at != '\\') { *to++ = *f->at++; continue; }
    f->at++;
    unsigned long c = edf_data__escape(f);
    int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    *to++ = (char)(more ? (0xFF00 >> (more + 1) & 0xFF) | c >> 6 * more : c);
    while (more--) *to++ = (char)(0x80 | (c >> 6 * more & 63));
  }
  edf_data__string s = { begin, (size_t)(to - begin) };
  edf_data__expect(f, '"');
  return s;
}
static unsigned long long edf_data__whole(edf_data__file *f) {
  unsigned long long n = 0;
  edf_data__peek(f);
  const char *begin = f->at;
  for (; f->at < f->end && *f->at >= '0' && *f->at <= '9'; f->at++) {
    edf_data__require(f, begin, n < ULLONG_MAX / 10, "a number is too large");
    n = n * 10 + (unsigned long long)(*f->at - '0');
  }
  edf_data__require(f, begin, f->at > begin, "expected a whole number in the header");
  return n;
}
static void edf_data__skip_value(edf_data__file *f, int depth) {
  static const char *const words[] = { "true", "false", "null" };
  char c = edf_data__peek(f), close = (char)(c == '{' ? '}' : ']');
  size_t n = 0;
  edf_data__require(f, f->at, depth < 100, "the header is nested 100 deep");
  if (c == '"') { edf_data__read_string(f); return; }
  if (c == '{' || c == '[') {
    f->at++;
    for (int k = 0; edf_data__entry_follows(f, k, close); k = 1) {
      if (c == '{') { edf_data__read_string(f); edf_data__expect(f, ':'); }
      edf_data__skip_value(f, depth + 1);
    }
    return;
  }
  for (int k = 0; k < 3; k++)
    if (!strncmp(f->at, words[k], strlen(words[k]))) n = strlen(words[k]);
  if (!n) n = strspn(f->at, "+-.0123456789eE");
  edf_data__require(f, f->at, n && n <= edf_data__left(f), "expected a value in the header");
  f->at += n;
}

/* ---- Reading a model. The whole file is checked before anything is changed. */
typedef struct {                         /* a tensor of the file, or an entry of the metadata */
  edf_data__string name, text;           /* text: the type, or the entry's value              */
  int rank, used;
  unsigned long long dim[EDF_MAX_RANK], entries;
  unsigned long long begin, end;         /* the place of its numbers after the header         */
} edf_data__entry;
typedef struct { edf_data__entry *at; int n; } edf_data__list;
typedef struct { edf_data__list tensors, metadata; } edf_data__header;

static int edf_data__by_name(const void *one, const void *two) {
  const edf_data__entry *a = (const edf_data__entry *)one, *b = (const edf_data__entry *)two;
  int order = memcmp(a->name.at, b->name.at, a->name.n < b->name.n ? a->name.n : b->name.n);
  return order ? order : (a->name.n > b->name.n) - (a->name.n < b->name.n);
}
static int edf_data__by_place(const void *one, const void *two) {
  const edf_data__entry *a = (const edf_data__entry *)one, *b = (const edf_data__entry *)two;
  int order = (a->begin > b->begin) - (a->begin < b->begin);
  return order ? order : (a->end > b->end) - (a->end < b->end);
}

static edf_data__entry *edf_data__add_entry(edf_data__list *l, edf_data__string name) {
  edf_data__entry e = { name, { "", 0 }, 0, 0, { 0 }, 1, 0, 0 };
  if (!(l->n & (l->n - 1)))              /* full: make it twice as long                       */
    l->at = (edf_data__entry *)edf_keep(l->at, (size_t)(2 * l->n + 1) * sizeof e);
  l->at[l->n] = e;
  return &l->at[l->n++];
}
/* Sorts a list by its names, which must be different. */
static void edf_data__sort(const edf_data__file *f, edf_data__list *l, const char *what) {
  if (l->n) qsort(l->at, (size_t)l->n, sizeof *l->at, edf_data__by_name);
  for (int i = 1; i < l->n; i++)
    edf_data__require(f, f->at, edf_data__by_name(&l->at[i - 1], &l->at[i]), "the header has "
                      "%s %s twice", what, edf_data__quoted(l->at[i].name));
}
/* Returns the entry of a sorted list with this name, and marks it as used, or NULL. */
static edf_data__entry *edf_data__find(edf_data__list *l, const char *name,
                                       const char *suffix) {
  edf_page page = { NULL, 0 };
  edf_write(&page, "%s%s", name, suffix);
  edf_data__entry key = { { page.at, page.n }, { "", 0 }, 0, 0, { 0 }, 0, 0, 0 };
  edf_data__entry *found = !l->n ? NULL : (edf_data__entry *)bsearch(
      &key, l->at, (size_t)l->n, sizeof key, edf_data__by_name);
  if (found) found->used = 1;
  edf_release(page.at);
  return found;
}

/* Reads  {"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}  with its keys in any order. */
static void edf_data__read_tensor(edf_data__file *f, edf_data__entry *e) {
  static const char *const keys[] = { "dtype", "shape", "data_offsets" };
  int seen = 0;
  edf_data__expect(f, '{');
  for (int n = 0; edf_data__entry_follows(f, n, '}'); n = 1) {
    int which = 0;
    edf_data__string key = edf_data__read_string(f);
    edf_data__expect(f, ':');
    while (which < 3 && !edf_data__is(key, keys[which])) which++;
    edf_data__require(f, f->at, !(seen >> which & 1), "tensor %s has its %s twice",
                      edf_data__quoted(e->name), keys[which]);
    if (which < 3) seen |= 1 << which;
    else edf_data__skip_value(f, 0);
    if (which == 0) e->text = edf_data__read_string(f);
    if (which == 1) edf_data__expect(f, '[');
    for (int d = 0; which == 1 && edf_data__entry_follows(f, d, ']'); d++) {
      unsigned long long size = edf_data__whole(f);
      if (d < EDF_MAX_RANK) e->dim[d] = size;
      e->entries = size && e->entries > ULLONG_MAX / size ? ULLONG_MAX : e->entries * size;
      e->rank = d + 1;
    }
    if (which != 2) continue;
    edf_data__expect(f, '[');
    e->begin = edf_data__whole(f);
    edf_data__expect(f, ',');
    e->end = edf_data__whole(f);
    edf_data__expect(f, ']');
  }
  for (int k = 0; k < 3; k++)
    edf_data__require(f, f->at, seen >> k & 1, "tensor %s: expected its %s",
                      edf_data__quoted(e->name), keys[k]);
}
static edf_data__header edf_data__read_header(edf_data__file *f) {
  edf_data__header h = { { NULL, 0 }, { NULL, 0 } };
  int metadata = 0;
  edf_data__expect(f, '{');
  for (int n = 0; edf_data__entry_follows(f, n, '}'); n = 1) {
    edf_data__string name = edf_data__read_string(f);
    edf_data__expect(f, ':');
    if (!edf_data__is(name, "__metadata__")) {
      edf_data__read_tensor(f, edf_data__add_entry(&h.tensors, name));
      continue;
    }
    edf_data__require(f, f->at, !metadata++, "the header has __metadata__ twice");
    if (edf_data__peek(f) != '{') { edf_data__skip_value(f, 0); continue; }
    f->at++;
    for (int k = 0; edf_data__entry_follows(f, k, '}'); k = 1) {
      edf_data__entry *e = edf_data__add_entry(&h.metadata, edf_data__read_string(f));
      edf_data__expect(f, ':');
      if (edf_data__peek(f) == '"') e->text = edf_data__read_string(f);
      else edf_data__skip_value(f, 0);
    }
  }
  edf_data__require(f, f->at, !edf_data__peek(f) && f->at == f->end, "expected nothing after "
                    "the } of the header");
  return h;
}

/* Returns how many bits an entry has: the number in F32, BF16, U8 or F8_E5M2. */
static unsigned long long edf_data__bits(edf_data__string type) {
  unsigned long long bits = 0;
  size_t k = 0;
  while (k < type.n && (type.at[k] < '0' || type.at[k] > '9')) k++;
  for (; k < type.n && type.at[k] >= '0' && type.at[k] <= '9' && bits < 100; k++)
    bits = bits * 10 + (unsigned long long)(type.at[k] - '0');
  return edf_data__is(type, "BOOL") ? 8 : bits;
}
/* Checks that the tensors fill the rest of the file, one after the other. */
static void edf_data__check_places(const edf_data__file *f, edf_data__list *l) {
  unsigned long long at = 0, left = edf_data__left(f);
  if (l->n) qsort(l->at, (size_t)l->n, sizeof *l->at, edf_data__by_place);
  for (int i = 0; i < l->n; at = l->at[i++].end) {
    const edf_data__entry *e = &l->at[i];
    unsigned long long bits = edf_data__bits(e->text);
    edf_data__require(f, f->at, e->begin == at, "%s tensor %s: its numbers begin at %llu, "
                      "expected %llu", e->begin > at ? "a hole before" : "an overlap at",
                      edf_data__quoted(e->name), e->begin, at);
    edf_data__require(f, f->at, e->end >= at && e->end <= left && e->entries <= 8 * left &&
                      (!bits || e->entries * bits == 8 * (e->end - at)), "tensor %s has the "
                      "offsets %llu to %llu, which do not fit %s and its shape, or the %llu "
                      "bytes after the header", edf_data__quoted(e->name), e->begin, e->end,
                      edf_data__quoted(e->text), left);
  }
  edf_data__require(f, f->at, at == left, "the tensors have %llu bytes, but %llu follow the "
                    "header", at, left);
}

/* Returns the kind of number of a type, as edf_data__get_numbers wants it, or 0. */
static char edf_data__kind(edf_data__string type) {
  if (edf_data__is(type, "BF16")) return 'B';
  int is_float = edf_data__is(type, "F64") || edf_data__is(type, "F32") ||
                 edf_data__is(type, "F16");
  return (char)(is_float ? 'f' : 0);
}
/* Reads the numbers of a tensor of the file. With to = NULL it only checks them. */
static void edf_data__read_numbers(const edf_data__file *f, const edf_data__entry *e,
                                   edf_real *to, size_t n) {
  edf_data__get_numbers(f, to, n, f->at + e->begin, edf_data__kind(e->text),
                        (size_t)edf_data__bits(e->text) / 8, 0);
}
/* Returns 1 if a tensor of the file can be read into a tensor like p. Writes its shape. */
static int edf_data__is_like(const edf_data__entry *e, const edf_node *p, edf_page *shape) {
  int same = e->rank == p->rank && edf_data__kind(e->text);
  edf_write(shape, "[");
  for (int d = 0; d < e->rank && d < EDF_MAX_RANK; d++) {
    edf_write(shape, d ? ", %llu" : "%llu", e->dim[d]);
    same &= d < p->rank && e->dim[d] == (unsigned long long)p->dim[d];
  }
  edf_write(shape, e->rank > EDF_MAX_RANK ? ", ...]" : "]");
  return same;
}
/* Returns the tensor of the file for tensor t of the program, or NULL. In a file of edf.h a
   Parameter has steps, and the optimiser's memory has none. */
static const edf_data__entry *edf_data__tensor_for(const edf_data__file *f, edf_data__header *h,
                                                   edf_data__tensor t, int is_edf) {
  edf_page steps = { NULL, 0 };
  edf_write(&steps, "%s.steps", t.suffix);
  int has_steps = edf_data__find(&h->metadata, t.p->name, steps.at) != NULL;
  edf_data__entry *e = is_edf && has_steps != !*t.suffix ? NULL
                     : edf_data__find(&h->tensors, t.p->name, t.suffix);
  edf_release(steps.at);
  edf_data__require(f, f->at, e || *t.suffix, "there is no tensor for parameter \"%s\", "
                    "declared at %s:%d", t.p->name, t.p->file, t.p->line);
  if (!e) return NULL;
  edf_page shape = { NULL, 0 };
  int same = edf_data__is_like(e, t.p, &shape);
  edf_data__require(f, f->at, same, "tensor \"%s%s\" is %s %s, expected F64, F32, F16 or BF16 "
                    "[%s]; parameter \"%s\" is declared at %s:%d", t.p->name, t.suffix,
                    edf_data__quoted(e->text), shape.at, edf_data__dims(t.p->dim, t.p->rank),
                    t.p->name, t.p->file, t.p->line);
  edf_release(shape.at);
  edf_data__read_numbers(f, e, NULL, t.p->size);
  return e;
}
/* Returns a number of the metadata, or `otherwise` if it is not there. */
static unsigned long long edf_data__metadata(const edf_data__file *f, edf_data__header *h,
                                             const char *name, const char *suffix,
                                             unsigned long long otherwise) {
  const edf_data__entry *e = edf_data__find(&h->metadata, name, suffix);
  if (!e) return otherwise;
  edf_data__file number = *f;
  number.at = e->text.at;
  number.end = e->text.at + e->text.n;
  while (number.at < number.end && *number.at >= '0' && *number.at <= '9') number.at++;
  edf_data__require(f, f->at, e->text.n && number.at == number.end, "the metadata has %s for "
                    "%s%s, expected a whole number", edf_data__quoted(e->text), name, suffix);
  number.at = e->text.at;
  return edf_data__whole(&number);
}

/* Writes a note of what the file has and the program has not. Each Parameter has steps. */
static void edf_data__note(const char *path, const edf_data__header *h) {
  edf_page note = { NULL, 0 };
  int left = 0;
  for (int i = 0; i < h->tensors.n + h->metadata.n; i++) {
    int is_tensor = i < h->tensors.n;
    const edf_data__list *l = is_tensor ? &h->tensors : &h->metadata;
    const edf_data__entry *e = &l->at[is_tensor ? i : i - h->tensors.n];
    int is_steps = e->name.n > 6 && !memcmp(e->name.at + e->name.n - 6, ".steps", 6);
    if (e->used || (!is_tensor && (is_steps || edf_data__is(e->name, "format")))) continue;
    if (left++ < 20)
      edf_write(&note, "%s %s%s", left > 1 ? "," : "", is_tensor ? "" : "metadata ",
                edf_data__quoted(e->name));
  }
  if (!left) return;
  fflush(stdout);
  fprintf(stderr, "edf_load: %s: not of this program, and left out:%s%s\n", path, note.at,
          left > 20 ? ", and others" : "");
}

/* Reads the header of a model. f->at is then where the numbers begin. */
static edf_data__header edf_data__open_model(edf_data__file *f, const char *path) {
  *f = edf_data__open(path, 0);
  uint64_t n = edf_data__get_number(edf_data__take(f, 8), 8, 0);
  size_t left = edf_data__left(f);
  edf_data__require(f, f->text, n >= 2 && n <= left, "expected a safetensors file: its header "
                    "would have %llu bytes, but %zu follow", (unsigned long long)n, left);
  f->end = f->at + n;
  edf_data__header h = edf_data__read_header(f);
  f->end = f->at + (left - n);
  edf_data__check_places(f, &h.tensors);
  edf_data__sort(f, &h.tensors, "tensor");
  edf_data__sort(f, &h.metadata, "metadata");
  return h;
}
static void edf_data__close_model(edf_data__file *f, edf_data__header *h) {
  if (h->tensors.at) edf_release(h->tensors.at);
  if (h->metadata.at) edf_release(h->metadata.at);
  edf_release(f->text);
}
/* Returns 1 if the file was written by edf_save. */
static int edf_data__is_edf(edf_data__header *h) {
  const edf_data__entry *format = edf_data__find(&h->metadata, "format", "");
  return format && edf_data__is(format->text, "edf.h");
}
/* First everything is checked, and memory for the optimiser is allocated. Then nothing can
   fail. Memory of an optimiser that the file does not have becomes 0. */
void edf_load(const char *path) {
  edf_data__file f;
  edf_data__header h = edf_data__open_model(&f, path);
  int is_edf = edf_data__is_edf(&h), tensors = 3 * edf.n_parameters;
  const edf_data__entry **saved =
      (const edf_data__entry **)edf_keep(NULL, ((size_t)tensors + 1) * sizeof *saved);
  unsigned long long seed = edf_data__metadata(&f, &h, "seed", "", edf.seed);
  unsigned long long draws = edf_data__metadata(&f, &h, "draws", "", edf.draws);
  for (int k = 0; k < tensors; k++) {
    edf_data__tensor t = edf_data__nth_tensor(k);
    saved[k] = edf_data__tensor_for(&f, &h, t, is_edf);
    edf_data__metadata(&f, &h, t.p->name, ".steps", 0);
  }
  for (int k = 0; k < tensors; k++) {
    edf_data__tensor t = edf_data__nth_tensor(k);
    if (saved[k] && !*t.value)
      *t.value = (edf_real *)edf_keep(NULL, t.p->size * sizeof **t.value);
  }
  for (int k = 0; k < tensors; k++) {
    const edf_data__entry *s = saved[k];
    edf_data__tensor t = edf_data__nth_tensor(k);
    edf_real *to = *t.value;
    if (s) edf_data__read_numbers(&f, s, to, t.p->size);
    else if (to) memset(to, 0, t.p->size * sizeof *to);
    if (!*t.suffix) t.p->steps = (long)edf_data__metadata(&f, &h, t.p->name, ".steps", 0);
    if (t.which == EDF_VALUE) edf_push(t.p);
    else if (edf_device && to) edf_device->sync(t.p, t.which, EDF_WROTE);
  }
  edf.seed = seed;
  edf.draws = draws;
  edf_data__note(path, &h);
  edf_release(saved);
  edf_data__close_model(&f, &h);
}

/* Returns the tensor of the file for p, or NULL, and then writes why to `left`. */
static const edf_data__entry *edf_data__matching(edf_data__header *h, const edf_node *p,
                                                 edf_page *left) {
  const edf_data__entry *e = edf_data__find(&h->tensors, p->name, "");
  edf_page shape = { NULL, 0 };
  edf_write(&shape, "%s", "");
  if (e && edf_data__is_like(e, p, &shape)) left = NULL;
  if (left)
    edf_write(left, "  %s [%s] keeps its numbers: the file has %s %s\n", p->name,
              edf_data__dims(p->dim, p->rank), e ? edf_data__quoted(e->text) : "no",
              e ? shape.at : p->name);
  edf_release(shape.at);
  return left ? NULL : e;
}
int edf_load_some(const char *path) {
  edf_data__file f;
  edf_data__header h = edf_data__open_model(&f, path);
  int is_edf = edf_data__is_edf(&h), n = edf.n_parameters, loaded = 0;
  edf_page left = { NULL, 0 };
  const edf_data__entry **saved =
      (const edf_data__entry **)edf_keep(NULL, ((size_t)n + 1) * sizeof *saved);
  for (int k = 0; k < n; k++) {
    const edf_node *p = edf.parameters[k];
    saved[k] = edf_data__matching(&h, p, &left);
    if (saved[k]) edf_data__read_numbers(&f, saved[k], NULL, p->size);
  }
  for (int i = 0; i < h.tensors.n; i++) {
    edf_data__string name = h.tensors.at[i].name;
    const char *plain = edf_data__quoted(name);
    edf_page steps = { NULL, 0 };        /* Without steps it is the memory of an optimiser.   */
    edf_write(&steps, "%.*s.steps", (int)name.n, name.at);
    if (!h.tensors.at[i].used && (!is_edf || edf_data__find(&h.metadata, steps.at, "")))
      edf_write(&left, "  only the file has %s\n", plain);
    edf_release(steps.at);
  }
  for (int k = 0; k < n; k++) {
    if (!saved[k]) continue;
    edf_data__read_numbers(&f, saved[k], edf.parameters[k]->value, edf.parameters[k]->size);
    edf_push(edf.parameters[k]);
    loaded++;
  }
  printf("edf_load_some: %s: %d of %d parameters\n%s", path, loaded, n, left.at ? left.at : "");
  if (left.at) edf_release(left.at);
  edf_release(saved);
  edf_data__close_model(&f, &h);
  return loaded;
}

#ifdef __cplusplus
}
#endif
#endif
