/* pages.c - writes the trace of a network for tests/browser.sh into the directory that it is
   given. The page has to escape the name of its input. */
#define EDF_IMPLEMENTATION
#include "edf_slide.h"
#include "edf_lab.h"

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
  return 0;
}
