/* written.h - checks what edf_write_c writes. written(y, "name") writes the file of a node of a
   graph that has been fed, and beside it a program that compares values, gradients and ten
   steps of SGD with those of edf.h. c.sh compiles and runs it.   WRITTEN=folder */
#ifndef WRITTEN_H
#define WRITTEN_H
#include "harness.h"
#include "edf/slide.h"
#include "edf/c.h"

enum { WRITTEN_STEPS = 10 };
static int written_files;
static double written_eta = 0.05;

/* The name of x in the file: behind its declaration stands its name, if it is another one. */
static const char *written_name(const char *file, const edf_node *x) {
  static char name[200];
  char wanted[300];
  snprintf(wanted, sizeof wanted, ";   /* %s */\n", edf_label(x));
  const char *at = strstr(file, wanted);         /* Before the numbers stand declarations.    */
  if (!at) return x->name;
  while (at > file && at[-1] != '\n') at--;
  at += strlen(EDF_REAL_IS_DOUBLE ? "static double " : "static float ");
  snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "[ ;=,"), at);
  if (strlen(name) > 5 && !strcmp(name + strlen(name) - 5, "_grad")) name[strlen(name) - 5] = 0;
  return name;
}
/* Returns 1 if the file declares this array, alone or behind another one. */
static int written_has(const char *file, const char *array) {
  char wanted[2][400];
  snprintf(wanted[0], sizeof *wanted, "\nstatic %s %s", EDF_REAL_IS_DOUBLE ? "double" : "float",
           array);
  snprintf(wanted[1], sizeof *wanted, ", %s", array);
  for (int k = 0; k < 2; k++)
    for (const char *at = file; (at = strstr(at, wanted[k])) != NULL; at++)
      if (strchr("[; ,", at[strlen(wanted[k])])) return 1;
  return 0;
}
/* Writes a block that copies numbers to an array of the file, or compares them with it. */
static void written_block(FILE *out, const char *how, const char *array, const char *what,
                          const edf_real *v, size_t n) {
  fprintf(out, "  { static const double _v[] = {");
  for (size_t i = 0; i < n; i++) {
    fprintf(out, i % 8 ? " " : "\n    ");
    if (v[i] != v[i]) fprintf(out, "NAN,");
    else if (v[i] - v[i] != 0) fprintf(out, v[i] < 0 ? "-INFINITY," : "INFINITY,");
    else fprintf(out, "%.17g,", (double)v[i]);
  }
  fprintf(out, " 0 };\n    %s(\"%s\", (real *)&%s, _v, %zu); }\n", how, what, array, n);
}
static void written_gradients(FILE *out, const char *file, const char *when) {
  char array[300], what[300];
  for (int i = 0; i < edf.n_inputs + edf.n_parameters; i++) {
    edf_node *x = i < edf.n_inputs ? edf.inputs[i] : edf.parameters[i - edf.n_inputs];
    const edf_real *grad = edf_grad(x);
    snprintf(array, sizeof array, "%s_grad", written_name(file, x));
    if (!grad || !x->reached || !written_has(file, array)) continue;
    snprintf(what, sizeof what, "%s.grad %s", x->name, when);
    written_block(out, "compare", array, what, grad, x->size);
  }
}
static void written_values(FILE *out, const char *file, edf_node *target, const char *when) {
  char what[300], array[300];
  for (int i = 0; i < edf.n_parameters; i++) {
    edf_node *p = edf.parameters[i];
    snprintf(array, sizeof array, "%s_grad", written_name(file, p));
    snprintf(what, sizeof what, "%s %s", p->name, when);
    if (written_has(file, array))
      written_block(out, "compare", written_name(file, p), what, edf_value(p), p->size);
  }
  const char *at = strstr(file, "computes ") + 9;
  snprintf(array, sizeof array, "%.*s", (int)(strstr(at, " for ") - at), at);
  snprintf(what, sizeof what, "%s %s", edf_label(target), when);
  written_block(out, "compare", array, what, edf_value(target), target->size);
}

/* Writes the file of `target`, and a program that compares. */
static void written(edf_node *target, const char *name) {
  static char file[1 << 23];
  char path[400];
  const char *folder = getenv("WRITTEN");
  int rows = 1, first = 1;               /* whether the batch is first                        */
  if (!folder) return;
  edf_forward();
  snprintf(path, sizeof path, "%s/%s-%d.model.c", folder, name, ++written_files);
  edf_write_c(path, target);
  edf_forward();                         /* A Dropout draws the same mask as the file.        */
  FILE *in = fopen(path, "r");
  if (!in) return;
  file[fread(file, 1, sizeof file - 1, in)] = 0;
  fclose(in);
  int loss = strstr(file, "\nvoid backward(") != NULL;
  snprintf(path + strlen(path) - 8, 9, ".check.c");      /* in place of .model.c               */
  FILE *out = fopen(path, "w");
  for (int i = 0; i < edf.n_inputs; i++) first &= !(edf.inputs[i]->batched >> 1);
  if (first && !(target->batched >> 1)) fprintf(out, "/* any MOST */\n");
  fprintf(out, "#define NO_MAIN\n#include \"%s-%d.model.c\"\ntypedef %s real;\n"
          "#include \"compare.h\"\nint main(void) {\n", name, written_files,
          EDF_REAL_IS_DOUBLE ? "double" : "float");
  for (int i = 0; i < edf.n_inputs; i++) {
    edf_node *x = edf.inputs[i];
    if (x->batched & 1) rows = x->dim[0];
    if (written_has(file, written_name(file, x)))
      written_block(out, "fill", written_name(file, x), x->name, x->value, x->size);
  }
  fprintf(out, "  forward(%d);\n", rows);
  written_values(out, file, target, "at first");
  if (loss) {
    edf_backward(target);
    fprintf(out, "  backward(%d);\n", rows);
    written_gradients(out, file, "at first");
    for (int step = 0; step < WRITTEN_STEPS; step++) {
      edf_sgd((edf_real)written_eta);
      edf_forward();
      edf_backward(target);
    }
    fprintf(out, "  for (int i = 0; i < %d; i++) {\n    step((real)%g);\n    "
            "forward(%d);\n    backward(%d);\n  }\n", WRITTEN_STEPS, written_eta, rows, rows);
    written_values(out, file, target, "after 10 steps");
  }
  fprintf(out, "  return bad;\n}\n");
  fclose(out);
}

/* For plain.h: the mean of the squares of a tensor is the loss. */
static inline void written_slide(const char *text, edf_node *y) {
  static edf_real kept[1 << 16];
  static const char *last;
  static int times;
  size_t n = 0;
  (void)text;
  times = last == harness.name ? times + 1 : 0;
  last = harness.name;
  if (times > 2) return;                 /* A puzzle runs 50 times.                           */
  for (int i = 0; i < edf.n_parameters; n += edf.parameters[i++]->size)
    memcpy(kept + n, edf_value(edf.parameters[i]), edf.parameters[i]->size * sizeof *kept);
  written(edf_mean(edf_square(y)), harness.name);
  n = 0;
  for (int i = 0; i < edf.n_parameters; n += edf.parameters[i++]->size) {
    memcpy(edf.parameters[i]->value, kept + n, edf.parameters[i]->size * sizeof *kept);
    edf_push(edf.parameters[i]);
  }
  edf_forward();
}
#endif
