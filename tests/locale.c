/* locale.c - a program for locale.sh: it calls setlocale, as programs with windows do, and then
   reads and writes numbers in every way. What it prints does not depend on the locale. */
#include "edf/slide.h"
#include "edf/layers.h"
#include "edf/judge.h"
#include "edf/data.h"
#include "edf/onnx.h"
#include "edf/lab.h"
#include <locale.h>
#include <string.h>

int main(void) {
  static edf_real data[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
  char number[20];
  setlocale(LC_ALL, "");
  snprintf(number, sizeof number, "%g", 0.5);
  if (strchr(number, ',')) fprintf(stderr, "comma\n");
  Input *x = edf_want_grad(edf_input("x[b,%d]", 2));
  CompNode *y = edf_equations("y[b] = sum_i 0.25 x[b,i]^2 + %g * 1.5e-1", 0.125);
  CompNode *g = edf_gelu(edf_einsum("s[b,i] = 0.75 x[b,I] x[b,i]", x));
  CompNode *loss = edf_equations("loss[b] = (y[b] - 1.5)^2");
  edf_feed(x, data, 4);
  edf_forward();
  edf_backward(loss);
  edf_print_program(stdout);
  edf_print_equations(stdout);
  edf_print(y);
  edf_gradcheck(loss);
  edf_check_backward(y, "x.grad[b,i] += 0.25 y.grad[b] x[b,i]");
  edf_save_onnx("gelu.onnx", g);
  edf_write_trace("step.js");
  for (int i = 1; i <= 5; i++) edf_plot("loss", 0.5 / i);
  edf_plot_svg("curve.svg");
  edf_save_npy("x.npy", edf_view(y));
  FILE *f = fopen("x.csv", "w");
  if (!f) return 1;
  fprintf(f, "a,b\n0.5,-1.25e-1\n3,4\n");
  fclose(f);
  edf_array a = edf_load_csv("x.csv");
  edf_page text = { NULL, 0 };
  for (size_t i = 0; i < a.size; i++) edf_write(&text, "%g ", (double)a.value[i]);
  puts(text.at);
  edf_free_array(&a);
  edf_init_normal(edf_parameter("P[3]"), 0, 1);
  edf_save("model.safetensors");
  fflush(stdout);
  edf_equations(number[1] == ',' ? "z[b] = 0,5 x[b,0]" : "z[b] = 0.5 x[b,0]");
  edf_clear();
  return 0;
}
