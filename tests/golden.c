/* golden.c - six printed programs and a drawn graph, whole, as in tests/golden/. A person reads
   them, so they show what a student sees. `golden --write` writes them anew. */

#include "harness.h"
#include "edf_slide.h"
#include "edf_lab.h"
#include "golden.h"

#define HW1(line) "hw1.c", line
#define END (edf_node *)0

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

static void a_convolution(void) {
  Input *L = edf_want_grad(edf_input_at(HW1(1), "L[b,28,28,3]"));
  Parameter *W = edf_parameter_at(HW1(2), "W[5,5,3,16]");
  Parameter *B = edf_parameter_at(HW1(2), "B[16]");
  CompNode *u = edf_einsum_at(HW1(3), "u[b,x,y,j] = W[DX,DY,I,j] L[b,x+DX-2,y+DY-2,I] - B[j]"
                              " | x<28, y<28", W, L, B, END);
  edf_name(edf_max_pool_at(HW1(4), edf_name(edf_tanh_at(HW1(4), u), "h"), 2, 2), "p");
  golden_program("convolution.txt");
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

static void causal_attention(void) {
  Input *x = edf_want_grad(edf_input_at(HW1(1), "x[b,6,8]"));
  edf_attention_package Phi = edf_attention_params_at(HW1(2), 8, 2);
  edf_name(edf_causal_attention_at(HW1(3), Phi, x), "y");
  golden_program("attention.txt");
}

static void nothing(CompNode *y) { (void)y; }

/* Nodes of the user's own: with a formula, without one, and without a backward. */
static void own_nodes(void) {
  Input *x = edf_want_grad(edf_input_at(HW1(1), "x[b,3]"));
  Parameter *w = edf_parameter_at(HW1(2), "w[3]");
  CompNode *y = edf_compnode_at(HW1(3), "Gauss", NULL, nothing, nothing, x, w, END);
  edf_formula(y, "y[b,i] = exp(-x[b,i]^2) w[i]",
              "for b,i: x.grad[b,i] -= 2 y.grad[b,i] x[b,i] y[b,i]\n"
              "for b,i: w.grad[i] += y.grad[b,i] exp(-x[b,i]^2)");
  edf_name(edf_compnode_at(HW1(4), "Mine", NULL, nothing, nothing, y, w, END), "h&1%$#");
  edf_want_grad(edf_compnode_at(HW1(5), "Stop", NULL, nothing, NULL, y, END));
  golden_program("own.txt");
}

/* edf_print shows at most six rows of eight numbers, also of a NaN. */
static void numbers(void) {
  Parameter *p[] = { edf_parameter_at(HW1(1), "c"), edf_parameter_at(HW1(2), "a[2,2,3]"),
                     edf_parameter_at(HW1(3), "large[7,9]") };
  for (int k = 0; k < 3; k++)
    for (size_t i = 0; i < p[k]->size; i++) p[k]->value[i] = (edf_real)i / 4 - 1;
  p[2]->value[0] = (edf_real)fabs(NAN);
  p[2]->value[5] = -(edf_real)INFINITY;
  capture_begin();
  for (int k = 0; k < 3; k++) edf_print(p[k]);
  capture_end();
  golden("numbers.txt", captured);
  edf_clear();
}

static void a_graph(void) {
  static char text[4096];
  Input *x = edf_name(edf_input_at(HW1(1), "x[b,3]"), "a \"b\" \\ c\n\xc3\xa9");
  Parameter *W = edf_parameter_at(HW1(2), "W[2,3]");
  CompNode *u = edf_einsum_at(HW1(3), "u[b,i] = W[i,J] x[b,J]", W, x, END);
  edf_name(edf_mul_at(HW1(4), u, u), "v");
  make_directory("golden");
  edf_write_dot(file("graph.dot"));
  FILE *f = fopen(path, "r");
  if (f) text[fread(text, 1, sizeof text - 1, f)] = '\0';
  if (f) fclose(f);
  remove_directory();
  golden("graph.dot", text);
  edf_clear();
}

int main(int argc, char **argv) {
  golden_arguments(argc, argv);
  RUN(an_mlp);
  RUN(a_convolution);
  RUN(an_lstm_step);
  RUN(causal_attention);
  RUN(own_nodes);
  RUN(numbers);
  RUN(a_graph);
  return harness_report();
}
