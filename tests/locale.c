/* locale.c - a program that writes numbers with a decimal comma: equations, the numbers that we
   write into them, and files stay as they are.

   Built as: double none shim */
#include "temporary.h"
#include <locale.h>

static const char *const comma = "de_DE.UTF-8";

/* The locale, made here where the machine has its source alone. */
static int with_comma(void) {
  char command[300];
  if (!setlocale(LC_ALL, comma)) {
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s 2>/dev/null",
             file(comma));
    if (system(command) < 0 || setenv("LOCPATH", dir, 1) || !setlocale(LC_ALL, comma))
      return 0;
  }
  return *localeconv()->decimal_point == ',';
}

static void equations(void) {
  edf_real rows[4] = { 1, 2, 3, 4 };
  if (!with_comma()) SKIP("no locale de_DE.UTF-8, and no source to make it");
  CHECK(!strcmp(edf_fmt("%g|%.2f", 0.5, 1.25), "0.5|1.25"), "%s", edf_fmt("%g", 0.5));
  CHECK(*localeconv()->decimal_point == ',', "the program's locale was changed");
  Input *x = edf_input("x[b,2,2]");
  CompNode *half = Einsum(edf_fmt("y[b,t,j] = %g x[b,t,j]", 0.5), x);
  CompNode *h = Recurrence("h[b,t,j] = 0.25 h[b,t-1,j] + x[b,t,j]", x);
  CompNode *P = Attention(edf_attention_params(2, 1), x);
  edf_feed(x, rows, 1);
  Forward();
  CHECK(half->value[1] == 1 && h->value[2] == 3.25, "%g, %g", half->value[1], h->value[2]);
  CHECK(P->value[0] == P->value[0], "attention is NaN");
  edf_clear();
}

static void files(void) {
  if (!with_comma()) SKIP("no locale de_DE.UTF-8, and no source to make it");
  FILE *f = fopen(file("numbers.csv"), "w");
  if (!f) abort();
  fputs("0.5,1.5\n2.5,3.5\n", f);
  fclose(f);
  edf_array a = edf_load_csv(file("numbers.csv"));
  CHECK(a.dim[1] == 2 && a.value[3] == 3.5, "%d columns", a.dim[1]);
  edf_free_array(&a);
}

static void leaves_no_directory(void) {
  char command[100];
  snprintf(command, sizeof command, "rm -r %s", dir);
  CHECK(system(command) == 0, "%s", command);
}

int main(void) {
  make_directory("locale");
  RUN(equations);
  RUN(files);
  RUN(leaves_no_directory);
  return harness_report();
}
