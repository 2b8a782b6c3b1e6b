/* traces.c - writes two traces for tests/playground.sh into the directory that it is given. The first
   is of a network by C calls, and the page has to escape the name of its input. The second is of
   a slide with a recurrence. The array `printed` in its file has the lines of its program. */
#define EDF_IMPLEMENTATION
#include "edf/slide.h"
#include "edf/lab.h"

static void slide(const char *path) {
  static edf_real numbers[4 * 9 * 3];
  char line[500];
  edf_page text = { NULL, 0 };
  Equations("input x[b,9,3]\n"
            "h[b,t,j] = tanh(V[j,I]  h[b,t-1,I] + W[j,K] x[b,t,K]) | j<4\n"
            "s[b,t] = A[J] h[b,t,J]");
  edf_name(Equations("g[b,t] = tanh(2 s[b,t])"), "f");
  Equations("g[b,t] = tanh(2 s[b,t])");
  CompNode *loss = Equations("loss[b] = mean_t (f[b,t] - g[b,t])^2");
  for (int k = 0; k < 4 * 9 * 3; k++) numbers[k] = edf_normal(0, 1);
  edf_feed(edf_find("x"), numbers, 4);
  Forward();
  Backward(loss);
  edf_write_trace(path);
  FILE *program = tmpfile(), *trace = fopen(path, "a");
  if (!program || !trace) edf_stop("no file for the program");
  edf_print_program(program);
  rewind(program);
  while (fgets(line, sizeof line, program)) {
    edf_write(&text, text.n ? ",\n" : "const printed = [");
    edf_write_quoted(&text, line, strcspn(line, "\n"));
  }
  fprintf(trace, "%s];\n", text.at);
  fclose(trace);
  fclose(program);
  edf_clear();
}

int main(int argc, char **argv) {
  static edf_real numbers[4 * 36], classes[] = { 1, 0, 2, 1 };
  char path[500];
  Input *x = edf_name(edf_input("x[b,6,6]"), "</script><b>\"x\" & \xc3\xa9");
  Input *y = edf_input("y[b]");
  Parameter *W = edf_parameter("W[3,3]"), *D = edf_parameter("D[6]");
  edf_init_normal(W, 0, 1);
  edf_init_normal(D, 0, 1);
  CompNode *c = Einsum("y[b,i,j] = 0.5 W[DI,DJ] x[b,i+DI-1,j+DJ-1] - D[j] | i<6, j<6", W, x, D);
  CompNode *h = edf_name(Sigmoid(edf_name(Reshape(c, "s[b,36]"), "s")), "h");
  CompNode *a = Affine(edf_affine_params(36, 3), h);
  CompNode *loss = Add(LogLoss(Softmax(a), y), edf_softmax_log_loss(a, y));
  for (int k = 0; k < 4 * 36; k++) numbers[k] = edf_normal(0, 1);
  edf_feed(x, numbers, 4);
  edf_feed(y, classes, 4);
  Forward();
  Backward(loss);
  snprintf(path, sizeof path, "%s/trace.js", argc > 1 ? argv[1] : ".");
  edf_write_trace(path);
  edf_clear();
  snprintf(path, sizeof path, "%s/slide.js", argc > 1 ? argv[1] : ".");
  slide(path);
  return 0;
}
