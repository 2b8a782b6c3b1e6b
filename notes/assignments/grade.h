/* grade.h - what a problem set is written with: see README.md, "A problem of one's own"

   psN/parts.c is a table of graded parts, compiled twice. With the student's file and desk.c it
   becomes a program that calls the student's functions and answers with numbers; with grade.c
   one that asks, and judges. They are two processes: the student's never sees a verdict, and
   nothing that it does can change the score but the numbers that it gives. */
#ifndef GRADE_H
#define GRADE_H
#ifdef GRADE_PLAIN                       /* at the desk of a set that has no edf.h            */
enum { EDF_MAX_RANK = 8 };
#else
#include "edf/slide.h"
#include "edf/judge.h"
#include "edf/data.h"
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRADE_INPUTS = 12, GRADE_MOST = 1 << 23 };         /* of a text, of a node 4; a message*/

typedef struct { int rank, dim[EDF_MAX_RANK]; size_t size; double *value; } grade_tensor;

/* How the student's function is called, and what it answers:
     NODE     edf_node *f(edf_node *a, ...)           the value, and the inputs' gradients
     NUMBERS  void f(const double *in, double *out)   out, as long as the judge asks
     TEXT     const char *f(void)                     its characters                          */
typedef enum { GRADE_NODE, GRADE_NUMBERS, GRADE_TEXT } grade_kind;
typedef void grade_function(void);
#ifdef GRADE_DESK
#define STUDENT(function) (grade_function *)(function)
#define JUDGE(function)   NULL
#else
#define STUDENT(function) NULL
#define JUDGE(function)   function
#endif

typedef struct grade_part {
  const char *name;
  double points;
  double (*judge)(const struct grade_part *p);     /* share of the points, 0 to 1; prints why */
  grade_kind kind;
  grade_function *student;               /* STUDENT(function)                                 */
  const char *inputs;                    /* of a node: see grade_next_input                   */
  void (*define)(grade_tensor *y, const grade_tensor *in);          /* in plain loops         */
  double seconds;                        /* of the student's program; 0: 5                    */
} grade_part;
extern const grade_part grade_parts[];   /* the last has no name                              */

/* What differs from student to student: by its name a number, least, least + step ... most, or
   one of the words "i j k". A handout writes @name@. */
typedef struct { const char *name; double least, most, step; const char *words; } grade_variant;
extern const grade_variant grade_variants[];       /* the last has no name                    */
double grade_number(const char *name);
const char *grade_word(const char *name);

/* ---- For judges. All numbers are drawn after the student's program has started. */
double grade_uniform(double least, double most);
int grade_below(int n);

/* Sends n numbers to the student's program and returns the `expected` ones that it answers, to
   be freed by nobody; does not return where it gives no answer, or another number of them. */
const double *grade_ask(const double *in, size_t n, size_t expected);
const char *grade_ask_text(void);

/* The text of a file that is handed in beside the program, or NULL: below a megabyte, no link. */
const char *grade_handed_in(const char *name);

/* 1, or 0 after a line that says what was found and expected. */
int grade_same(const char *what, double found, double expected);

/* A node's value against `define`; its backward against its own forward; its backward against a
   gradient that is not the derivative, in plain loops; a text's node against `define`. */
double grade_forward(const grade_part *p);
double grade_shifted(const grade_part *p, double shift);   /* the same, where x[0] is shifted */
double grade_spread(const grade_part *p, double by);       /* where an entry a row is larger  */
double grade_backward(const grade_part *p);
double grade_gradient(const grade_part *p, const char *what,
                      void (*define)(double *grad, const double *r, const grade_tensor *x));
double grade_equation(const grade_part *p);

/* One run of a node: inputs, value, a random r, and the inputs' gradients of sum r y. */
typedef struct {
  grade_tensor x[GRADE_INPUTS], y;
  double *r;
  const double *grad;
} grade_run;
grade_run grade_node(const grade_part *p, int batch, int training);

/* A written backward of the last line of `text`, whose inputs are drawn: edf_check_backward. */
double grade_answer(const char *text);

static inline void grade_like(grade_tensor *y, const grade_tensor *x) {
  y->rank = x->rank;
  memcpy(y->dim, x->dim, sizeof y->dim);
  y->size = x->size;
}
static inline void grade_shape(grade_tensor *y, int rank, int a, int b, int c) {
  int dim[3] = { a, b, c };
  y->rank = rank;
  y->size = 1;
  for (int d = 0; d < rank; d++) y->size *= (size_t)(y->dim[d] = dim[d]);
}

/* The next input of "x[b,7] y[b]<7 P[b,5]>0": its declaration, and behind it what its values
   are: below 7, class labels; above 0; else of both signs. 0 at the end. */
typedef struct { char decl[64]; int classes, positive; } grade_input;
static inline int grade_next_input(const char **at, grade_input *input) {
  size_t n;
  while (**at == ' ') ++*at;
  n = strcspn(*at, " <>");
  if (!n || n >= sizeof input->decl) return 0;
  memcpy(input->decl, *at, n);
  input->decl[n] = 0;
  input->positive = (*at)[n] == '>';
  input->classes = (*at)[n] == '<' ? atoi(*at + n + 1) : 0;
  *at += n + strcspn(*at + n, " ");
  return 1;
}
#endif
