/* texts.c - runs the slides that tests/random/texts.py makes, on the CPU and on the GPU. A case
   is declarations, "---", the text and "END". It runs plain, recorded and replayed.
   Prints each case that differs by more than 1e-9, and then how many ran.
     texts < CASES */
#include <setjmp.h>
#include <stdio.h>
static jmp_buf stopped;
static void stop(void) { longjmp(stopped, 1); }
#define EDF_PANIC(message) ((void)(message), stop())
#define EDF_REAL double
#define EDF_IMPLEMENTATION
#include "edf_slide.h"

enum { MOST = 100000 };
static struct { int n; double x[MOST]; } on_cpu, on_gpu, *to = &on_cpu;

static void put(const edf_real *x, size_t n) {
  for (size_t i = 0; x && i < n && to->n < MOST; i++) to->x[to->n++] = x[i];
}

static void declare(char *lines) {
  for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n")) {
    int n = edf.n_parameters;
    edf_node *p = edf_parameter("%s", line);
    for (size_t i = 0; i < p->size; i++) p->value[i] = sin(1 + 0.7 * n + 1.3 * (double)i);
    edf_push(p);
  }
}

/* Returns 0 if the text is an error. */
static int run(const char *text) {
  static char copy[20000];
  strcpy(copy, text);
  char *lines = strstr(copy, "---\n");
  *lines = '\0';
  to->n = 0;
  if (setjmp(stopped)) return 0;
  declare(copy);
  edf_node *y = edf_equations("%s", lines + 4);
  for (int i = 0; i < 3; i++) {
    edf_forward();
    put(edf_value(y), y->size);
    if (setjmp(stopped)) continue;       /* No gradient reaches it.                           */
    edf_backward(y);
    for (int k = 0; k < edf.n_parameters; k++)
      put(edf_grad(edf.parameters[k]), edf.parameters[k]->size);
  }
  return 1;
}

static int differs(void) {
  if (on_cpu.n != on_gpu.n) return 1;
  for (int i = 0; i < on_cpu.n; i++) {
    double a = on_cpu.x[i], b = on_gpu.x[i];
    if (a != b && !(a != a && b != b) && !(fabs(a - b) <= 1e-9 * (fabs(a) + 1))) return 1;
  }
  return 0;
}

int main(void) {
  static char line[20000], text[20000];
  int ran = 0, bad = 0;
  edf_input("opens");
  edf_device_table *gpu = edf_device;
  while (gpu && fgets(line, sizeof line, stdin)) {
    if (strcmp(line, "END\n")) { strcat(text, line); continue; }
    for (int there = 0; there < 2; there++) {
      edf_clear();
      edf_device = there ? gpu : NULL;
      to = there ? &on_gpu : &on_cpu;
      if (!run(text)) to->n = 0;
    }
    ran += on_cpu.n > 0;
    if (differs()) printf("differs:\n%s", text);
    bad += differs();
    *text = '\0';
  }
  printf("%d texts, %d differ\n", ran, bad);
  return bad || !ran;
}
