/* run.c - for texts.py: reads cases, each of declarations, "---" and the text, and prints for
   each the values of the last line, and, with an argument, the worst error of its gradients. */
#include <setjmp.h>
#include <stdio.h>
static jmp_buf run_stopped;
static char stop_message[4000];
static void stop(const char *message) {
  snprintf(stop_message, sizeof stop_message, "%s", message);
  longjmp(run_stopped, 1);
}
#define EDF_PANIC(message) stop(message)
#define EDF_REAL double
#define EDF_IMPLEMENTATION
#include "edf_slide.h"

/* Parameter n's entry i is sin(1 + 0.7 n + 1.3 i). */
static void declare(char *lines) {
  for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n")) {
    int n = edf.n_parameters;
    edf_node *p = edf_parameter("%s", line);
    for (size_t i = 0; i < p->size; i++) p->value[i] = sin(1 + 0.7 * n + 1.3 * (double)i);
    edf_push(p);
  }
}

/* Returns 1 if a Parameter reaches x through nodes that have a backward. */
static int has_gradient(const edf_node *x) {
  int has = x->kind == EDF_PARAMETER;
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

static void run(char *text, int check) {
  char *lines = strstr(text, "---\n");
  *lines = '\0';
  declare(text);
  edf_node *y = edf_equations("%s", lines + 4);
  edf_forward();
  printf("%g", check ? gradient_error(y) : 0);
  for (size_t i = 0; i < y->size; i++) printf(" %.17g", y->value[i]);
  printf("\n");
}

int main(int n, char **words) {
  static char line[20000], text[20000];
  (void)words;
  while (fgets(line, sizeof line, stdin)) {
    if (strcmp(line, "END\n")) { strcat(text, line); continue; }
    if (!setjmp(run_stopped)) run(text, n > 1);
    else {
      for (char *c = stop_message; *c; c++) if (*c == '\n') *c = '~';
      printf("error %s\n", stop_message);
    }
    edf_clear();
    *text = '\0';
  }
  return 0;
}
