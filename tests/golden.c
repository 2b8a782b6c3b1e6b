/* The printed programs of an MLP, a convolution, an LSTM step and attention, line by line as in
   tests/golden/NAME.txt; they are the loops of the course. To write them anew, and then look at
   what has changed:

     cc -I. tests/golden.c tests/impl.c -o build/golden -lm && build/golden --write

   Each is a LaTeX article too: latex.sh lets LaTeX read build/golden_NAME.tex.

   Built as: float none sanitized shim */
#define _POSIX_C_SOURCE 200809L                              /* capture.h */
#include "harness.h"
#include "capture.h"
#include "edf.h"
#include "golden.h"

static void print(const char *name) {
  char file[100];
  snprintf(file, sizeof file, "%s.txt", name);
  capture_begin();
  edf_print_program(stdout);
  capture_end();
  golden(file, captured);
  snprintf(file, sizeof file, "build/golden_%s.tex", name);
  capture_begin();
  edf_print_latex(stdout);
  capture_end();
  golden_put(file, captured);
  edf_clear();
}

static void mlp(void);
static void convolution(void);
static void lstm_step(void);
static void attention(void);

int main(int argc, char **argv) {
  golden_arguments(argc, argv);
  RUN(mlp);
  RUN(convolution);
  RUN(lstm_step);
  RUN(attention);
  return harness_report();
}

/* Each is a program of its own, with lines of its own. */
static void mlp(void) {
#line 1 "mlp.c"
  Input *x = edf_input("x[b,784]"), *y = edf_input("y[b]");
  Parameter *W0 = edf_parameter("W0[784,64]"), *C0 = edf_parameter("C0[64]");
  Parameter *W1 = edf_parameter("W1[64,10]"), *C1 = edf_parameter("C1[10]");
  CompNode *u = edf_name(Einsum("u[b,j] = W0[I,j] x[b,I] - C0[j]", W0, x, C0), "u");
  CompNode *h = edf_name(Sigmoid(u), "h");
  CompNode *s = edf_name(Einsum("s[b,k] = W1[J,k] h[b,J] - C1[k]", W1, h, C1), "s");
  CompNode *P = edf_name(Softmax(s), "P");
  edf_name(LogLoss(P, y), "loss");
  print("mlp");
}

static void convolution(void) {
#line 1 "convolution.c"
  Input *L = edf_want_grad(edf_input("L[b,28,28,3]"));
  Parameter *W = edf_parameter("W[5,5,3,16]"), *B = edf_parameter("B[16]");
  CompNode *u = edf_name(Einsum("u[b,x,y,j] = W[DX,DY,I,j] L[b,x+DX-2,y+DY-2,I] - B[j]"
                                " | x<28, y<28", W, L, B), "u");
  CompNode *h = edf_name(Relu(u), "h");
  edf_name(MaxPool(h, 2, 2), "p");
  print("convolution");
}

static void lstm_step(void) {
#line 1 "lstm_step.c"
  Input *x = edf_input("x[b,5]"), *h = edf_want_grad(edf_input("h[b,4]"));
  Input *c = edf_want_grad(edf_input("c[b,4]"));
  LSTMParams Phi = edf_lstm_params(5, 4);
  RecurrentState s = { h, c };
  s = LSTM(Phi, x, s);
  edf_name(s.c, "c1");
  edf_name(s.h, "h1");
  print("lstm_step");
}

static void attention(void) {
#line 1 "attention.c"
  Input *x = edf_want_grad(edf_input("x[b,6,8]"));
  edf_name(CausalAttention(edf_attention_params(8, 2), x), "y");
  print("attention");
}
