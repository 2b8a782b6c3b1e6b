/* pages.c - writes two traces for tests/browser.sh into the directory that it is given: a
   network of the course, and a convolution with names that a page has to escape. */
#define EDF_IMPLEMENTATION
#include "edf.h"
#include "edf_lab.h"

static const char *directory;

/* Writes the values and gradients of random numbers. */
static void learn(const char *name, CompNode *loss) {
  static edf_real numbers[2][4 * 36], classes[] = { 1, 0, 2, 1 };
  char path[500];
  for (int i = 0; i < edf.n_inputs; i++) {
    Input *x = edf.inputs[i];
    for (int k = 0; k < 4 * 36; k++) numbers[i % 2][k] = edf_normal(0, 1);
    edf_feed(x, x->rank == 1 ? classes : numbers[i % 2], 4);
  }
  snprintf(path, sizeof path, "%s/%s", directory, name);
  Forward();
  Backward(loss);
  edf_write_trace(path);
  edf_clear();
}

int main(int argc, char **argv) {
  directory = argc > 1 ? argv[1] : ".";
  {
    Input *x = edf_input("x[b,6]"), *y = edf_input("y[b]");
    AffineParams Phi1 = edf_affine_params(6, 5), Phi2 = edf_affine_params(5, 3);
    CompNode *h = edf_name(Sigmoid(edf_name(Affine(Phi1, x), "s")), "h");
    learn("mlp.js", LogLoss(Softmax(Affine(Phi2, h)), y));
  }
  {
    Input *x = edf_name(edf_input("x[b,6,6]"), "</script><b>\"x\" & \xc3\xa9");
    Parameter *W = edf_parameter("W[3,3]"), *D = edf_parameter("D[6]");
    edf_init_normal(W, 0, 1);
    edf_init_normal(D, 0, 1);
    CompNode *c = Einsum("y[b,i,j] = 0.5 W[DI,DJ] x[b,i+DI-1,j+DJ-1] - D[j] | i<6, j<6",
                         W, x, D);
    learn("conv.js", Sum(Mul(Relu(c), c)));
  }
  return 0;
}
