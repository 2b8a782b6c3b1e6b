/* golden.c - printed programs, whole, as in tests/golden/. A person reads them, so they show
   what a student sees. `golden --write`, called from the top directory, writes them anew. */

#include "harness.h"
#include "edf_slide.h"

#define HW1(line) "hw1.c", line

static int golden_writes;

static void golden_arguments(int argc, char **argv) {
  golden_writes = argc > 1 && !strcmp(argv[1], "--write");
}

static void golden(const char *name, const char *text) {
  static char expected[1 << 15];
  char at[100];
  int line = 1, begin = 0, k = 0;
  snprintf(at, sizeof at, "tests/golden/%s", name);
  FILE *f = fopen(at, golden_writes ? "w" : "r");
  CHECK(f, "%s cannot be opened", at);
  if (!f) return;
  if (golden_writes) fputs(text, f);
  else expected[fread(expected, 1, sizeof expected - 1, f)] = '\0';
  fclose(f);
  if (golden_writes || !strcmp(text, expected)) return;
  for (; text[k] == expected[k]; k++)
    if (text[k] == '\n') {
      line++;
      begin = k + 1;
    }
  CHECK(0, "%s: line %d\n     found: %.*s\n  expected: %.*s", at, line,
        (int)strcspn(text + begin, "\n"), text + begin,
        (int)strcspn(expected + begin, "\n"), expected + begin);
}

static void golden_program(const char *name) {
  capture_begin();
  edf_print_program(stdout);
  capture_end();
  golden(name, captured);
  edf_clear();
}

static void an_mlp(void) {
  Input *x = edf_input_at(HW1(1), "x[b,784]"), *y = edf_input_at(HW1(2), "y[b]");
  AffineParams Phi1 = edf_affine_params_at(HW1(3), 784, 64);
  AffineParams Phi2 = edf_affine_params_at(HW1(4), 64, 10);
  CompNode *h = edf_name(edf_relu_at(HW1(5), edf_affine_at(HW1(5), Phi1, x)), "h");
  CompNode *P = edf_name(edf_softmax_at(HW1(6), edf_affine_at(HW1(6), Phi2, h)), "P");
  edf_name(edf_mean_at(HW1(7), edf_log_loss_at(HW1(7), P, y)), "loss");
  golden_program("mlp.txt");
}

static void an_lstm_step(void) {
  Input *x = edf_input_at(HW1(1), "x[b,5]");
  RecurrentState s = { edf_want_grad(edf_input_at(HW1(2), "h[b,4]")),
                       edf_want_grad(edf_input_at(HW1(2), "c[b,4]")) };
  edf_recurrent_package Phi = edf_recurrent_params_at(HW1(3), &edf_lstm_cell, 5, 4);
  s = edf_cell_at(HW1(4), &edf_lstm_cell, Phi, x, s);
  edf_name(s.c, "c1");
  edf_name(s.h, "h1");
  golden_program("lstm_step.txt");
}

int main(int argc, char **argv) {
  golden_arguments(argc, argv);
  RUN(an_mlp);
  RUN(an_lstm_step);
  return harness_report();
}
