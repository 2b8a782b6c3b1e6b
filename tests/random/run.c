/* run.c - for texts.py, oracle.py and cuda.sh: reads cases, each of declarations, "---" and the
   text. Prints for each an error, and the values of the last line. The error is that of the
   kernel or, with the argument "gradients", that of the gradients. With the argument "train" it
   prints values, gradients and Parameters of four steps. */
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
#define EDF_IMPLEMENTATION
#include "edf_slide.h"

enum { LONGEST = 1 << 14 };
static edf_real numbers[32][LONGEST];
static int rows;                         /* of the Inputs */

/* Declares "W[3,4]", or an Input "x[b,4] 2" with 2 rows. Entry i of tensor n is
   sin(1 + 0.7 n + 1.3 i). */
static void declare(char *lines) {
  int n = 0;
  for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n"), n++) {
    char *blank = strchr(line, ' ');
    if (blank) *blank = '\0';
    edf_node *x = blank ? edf_want_grad(edf_input("%s", line)) : edf_parameter("%s", line);
    edf_real *to = blank ? numbers[n] : x->value;
    size_t size = blank ? LONGEST : x->size;
    for (size_t i = 0; i < size; i++) to[i] = (edf_real)sin(1 + 0.7 * n + 1.3 * (double)i);
    if (blank) {
      rows = atoi(blank + 1);
      edf_feed(x, to, rows);
    } else edf_push(x);
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

/* Runs the program with one row, then with all rows, by the reference and by the kernel. */
static double forward(edf_node *y) {
  static double right[LONGEST];
  double worst = 0;
  for (int pass = 0; pass < 3; pass++) {
    for (int i = 0; i < edf.n_inputs; i++)
      edf_feed(edf.inputs[i], edf.inputs[i]->value, pass ? rows : 1);
    edf.kernel = pass < 2 ? EDF_REFERENCE : EDF_FASTEST;
    edf_forward();
    for (size_t i = 0; i < y->size && i < LONGEST; i++) {
      if (pass == 1) right[i] = y->value[i];
      if (pass == 2) worst = fmax(worst, fabs(y->value[i] - right[i]));
    }
  }
  return worst;
}

/* Returns 1 if a Parameter or an Input reaches x through nodes that have a backward. */
static int has_gradient(const edf_node *x) {
  int has = x->kind != EDF_COMPNODE && (x->kind == EDF_PARAMETER || x->batched);
  for (int k = 0; x->backward && k < x->n_in && !has; k++) has = has_gradient(x->in[k]);
  return has;
}

static double gradient_error(edf_node *y) {
  FILE *out = stdout, *nowhere = fopen("/dev/null", "w");
  if (!has_gradient(y) || !nowhere) return 0;
  fflush(out);
  stdout = nowhere;
  double error = edf_gradcheck(y);
  fclose(nowhere);
  stdout = out;
  return error;
}

static void print_numbers(const edf_real *v, size_t n) {
  for (size_t i = 0; i < n; i++) printf(" %.17g", (double)v[i]);
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

static void run(char *text, const char *how) {
  char *lines = strstr(text, "---\n");
  *lines = '\0';
  declare(text);
  edf_node *y = build(lines + 4);
  if (!strcmp(how, "train")) train(y);
  else {
    double error = forward(y);
    printf("%g", *how ? gradient_error(y) : error);
    print_numbers(y->value, y->size);
  }
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
    edf_clear();
    *text = '\0';
  }
  return 0;
}
