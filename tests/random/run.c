/* run.c - for texts.py, hard.py, oracle.py and cuda.sh: reads cases, each of declarations,
   "---" and the text. Prints for each an error, or the numbers by the reference, ";" and the
   numbers by the kernels: the values of the last line, and after each "|" the gradients of a
   declared tensor. With the argument "train" it prints values, gradients and Parameters of
   four steps. With "again" it prints the program, and runs what an empty graph reads of it. With
   "derive" the gradients are the values of edf_derivative. */
#include <setjmp.h>
#include <stdio.h>
static jmp_buf run_stopped;
static char stop_message[4000];
static void stop(const char *message) {
  snprintf(stop_message, sizeof stop_message, "%s", message);
  longjmp(run_stopped, 1);
}
#define EDF_PANIC(message) stop(message)
#ifndef EDF_REAL
#define EDF_REAL double
#endif
#define EDF_SLIDE__LONG(x, z) 1          /* Small products of a Lookup run by class, too. */
#define EDF_IMPLEMENTATION
#include "edf/derive.h"

#ifndef edf_derivative                    /* oracle.py builds this file with version 3.0, too  */
#define edf_derivative(L, x) (x)
#endif
enum { LONGEST = 1 << 17, MOST = 64 };
static edf_real numbers[MOST][LONGEST];
static edf_node *declared[MOST], *derived[MOST];
static int n_declared, rows;             /* rows of the Inputs */

/* Declares "W[3,4]", or an Input "x[b,4] 2" with 2 rows. Entry i of tensor n is
   sin(1 + 0.7 n + 1.3 i), unless the line ends with "= " and all numbers. */
static void declare(char *lines) {
  n_declared = 0;
  for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n")) {
    int n = n_declared++;
    char *given = strstr(line, " = ");
    if (given) *given = '\0';
    char *blank = strchr(line, ' ');
    if (blank) *blank = '\0';
    edf_node *x = blank ? edf_want_grad(edf_input("%s", line)) : edf_parameter("%s", line);
    edf_real *to = blank ? numbers[n] : x->value;
    size_t size = blank ? 0 : x->size;
    if (blank) rows = atoi(blank + 1), size = (size_t)rows + 4;      /* train feeds 4 more */
    for (int d = 1; blank && d < x->rank; d++) size *= (size_t)x->dim[d];
    if (blank && size > LONGEST) stop("the Input is too large for run.c");
    for (size_t i = 0; i < size; i++) to[i] = (edf_real)sin(1 + 0.7 * n + 1.3 * (double)i);
    if (given) given += 3;
    for (size_t i = 0; given && i < size && *given; i++)
      to[i] = (edf_real)strtod(given, &given);
    if (blank) edf_feed(x, to, rows);
    else edf_push(x);
    declared[n] = x;
  }
}

/* Builds "einsum x W: y[b,j] = ..." by edf_einsum, and other texts by edf_equations. */
static edf_node *build(char *text) {
  edf_node *in[9] = { NULL };
  if (strncmp(text, "einsum ", 7)) return edf_equations("%s", text);
  char *equation = strchr(text, ':');
  *equation = '\0';
  text[strcspn(text, "\n")] = '\0';
  int n = 0;
  for (char *name = strtok(text + 7, " "); name; name = strtok(NULL, " "))
    in[n++] = edf_find(name);
  equation[1 + strcspn(equation + 1, "\n")] = '\0';
  return edf_einsum(equation + 2, in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7],
                    in[8]);
}

/* Returns 1 if a Parameter or an Input reaches x through nodes that have a backward. */
static int has_gradient(const edf_node *x) {
  int has = x->kind != EDF_COMPNODE && (x->kind == EDF_PARAMETER || x->batched);
  for (int k = 0; x->backward && k < x->n_in && !has; k++) has = has_gradient(x->in[k]);
  return has;
}

static void print_numbers(const edf_real *v, size_t n) {
  for (size_t i = 0; i < n; i++) printf(" %.17g", (double)v[i]);
}

/* Prints the values of y, and the gradients of all declared tensors that have one. */
static void print_pass(edf_node *y) {
  print_numbers(edf_value(y), y->size);
  if (!has_gradient(y)) return;
  for (int n = 0; n < n_declared && derived[0]; n++) {
    printf(" |");
    for (size_t i = 0; i < derived[n]->size; i++)
      printf(" %.17g", (double)edf_value(derived[n])[i] / (double)y->size);
  }
  if (derived[0]) return;
  edf_backward(y);
  for (int n = 0; n < n_declared; n++) {
    printf(" |");
    const edf_real *grad = edf_grad(declared[n]);
    if (grad) print_numbers(grad, declared[n]->size);
  }
}

/* Runs the program with one row, then with all rows, by the reference and by the kernels. */
static void run_passes(edf_node *y) {
  for (int pass = 0; pass < 3; pass++) {
    for (int i = 0; i < edf.n_inputs; i++)
      edf_feed(edf.inputs[i], edf.inputs[i]->value, pass ? rows : 1);
    edf.kernel = pass < 2 ? EDF_REFERENCE : EDF_FASTEST;
    edf_forward();
    if (pass) print_pass(y);
    if (pass == 1) printf(";");
  }
}

/* The last step has four rows more. On a GPU the others run plain, recorded and replayed. */
static void train(edf_node *y) {
  int learns = has_gradient(y);
  for (int step = 0; step < 4; step++) {
    for (int i = 0; i < edf.n_inputs; i++)
      edf_feed(edf.inputs[i], edf.inputs[i]->value, rows + 4 * (step == 3));
    edf_forward();
    print_numbers(edf_value(y), y->size);
    if (!learns) continue;
    edf_backward(y);
    for (int i = 0; i < edf.n_parameters; i++) {
      edf_node *p = edf.parameters[i];
      const edf_real *grad = edf_grad(p);
      if (grad) print_numbers(grad, p->size);
    }
    edf_sgd((edf_real)0.05);
  }
  for (int i = 0; i < edf.n_parameters; i++)
    print_numbers(edf_value(edf.parameters[i]), edf.parameters[i]->size);
}

/* Writes the program of the graph as a text. */
static void write_program(char *to, size_t room) {
  FILE *f = tmpfile();
  if (!f) stop("there is no file for the program");
  edf_print_equations(f);
  rewind(f);
  to[fread(to, 1, room - 1, f)] = '\0';
  fclose(f);
}
/* Returns the last node of the program that an empty graph reads. Its print is the same. */
static edf_node *build_again(char *tensors) {
  static char first[40000], second[40000];
  write_program(first, sizeof first);
  edf_clear();
  declare(tensors);
  edf_node *y = edf_equations("%s", first);
  write_program(second, sizeof second);
  if (strcmp(first, second)) stop("the second print differs");
  return y;
}

static void run(char *text, const char *how) {
  char *lines = strstr(text, "---\n"), tensors[4000];
  *lines = '\0';
  snprintf(tensors, sizeof tensors, "%s", text);
  declare(text);
  int is_einsum = !strncmp(lines + 4, "einsum ", 7);
  edf_node *y = build(lines + 4);
  if (!strcmp(how, "again") && !is_einsum) y = build_again(tensors);
  for (int n = 0; n < MOST; n++) derived[n] = NULL;
  for (int n = 0; n < n_declared && !strcmp(how, "derive"); n++)
    derived[n] = edf_derivative(y, declared[n]);
  if (!strcmp(how, "train")) train(y);
  else run_passes(y);
  printf("\n");
}

int main(int n, char **words) {
  static char line[20000], text[20000];
  while (fgets(line, sizeof line, stdin)) {
    if (strcmp(line, "END\n")) { strcat(text, line); continue; }
    if (!setjmp(run_stopped)) run(text, n > 1 ? words[1] : "");
    else {
      for (char *c = stop_message; *c; c++) if (*c == '\n') *c = '~';
      printf("error %s\n", stop_message);
    }
    fflush(stdout);
    edf_clear();
    *text = '\0';
  }
  return 0;
}
