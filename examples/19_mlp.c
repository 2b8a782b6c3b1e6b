/* 19_mlp.c - the network of the slides as a recursive function, at four depths

     make run EXAMPLE=19                            build/19_mlp --steps 1500 --seed 1

   MLP(Phi, 0, x) = x   and   MLP(Phi, n, x) = tanh(Affine(Phi[n-1], MLP(Phi, n-1, x))).
   The points of two spirals are two classes. Without a hidden layer the network can only cut the
   plane along a straight line. The picture has the plane at the depths 0, 1, 2 and 3: black for
   one class, white for the other. The program prints:

     depth 0: 3 parameters in 2 tensors, error 44.5 %
     depth 1: 65 parameters in 4 tensors, error 0.0 %
     depth 2: 337 parameters in 6 tensors, error 0.0 %
     depth 3: 609 parameters in 8 tensors, error 0.0 %
     see build/mlp.png
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "options.h"
#include <math.h>

enum { UNITS = 16, POINTS = 200, SIDE = 96, DEPTHS = 4 };

static CompNode *MLP(AffineParams *Phi, int n, edf_node *x) {
  if (n == 0) return x;
  return Tanh(Affine(Phi[n - 1], MLP(Phi, n - 1, x)));
}

/* Point i of a spiral: the odd points are those of the even ones, turned by half a circle. */
static void spiral(edf_real *point, int i) {
  double t = 0.4 + 3.6 * (i / 2) / (POINTS / 2), turn = 3.14159265 * (t + i % 2);
  point[0] = (edf_real)(t / 4.2 * cos(turn) + 0.01 * edf_normal(0, 1));
  point[1] = (edf_real)(t / 4.2 * sin(turn) + 0.01 * edf_normal(0, 1));
}

int main(int argc, char **argv) {
  static edf_real points[2 * POINTS], classes[POINTS], plane[2 * SIDE * SIDE];
  static edf_real pixels[DEPTHS * SIDE * SIDE];
  edf_array all = { 3, { DEPTHS, SIDE, SIDE }, sizeof pixels / sizeof *pixels, pixels };
  options_begin("19_mlp", argc, argv);
  int steps = (int)option("--steps", 1500, 1, 1e6), seed = (int)option("--seed", 1, 0, 1e9);
  const char *picture = option_output("build/mlp.png");
  options_end();
  edf_seed((unsigned)seed);
  for (int i = 0; i < POINTS; i++) {
    spiral(points + 2 * i, i);
    classes[i] = (edf_real)(i % 2);
  }
  for (int i = 0; i < SIDE * SIDE; i++) {
    plane[2 * i] = (edf_real)(2.0 * (i % SIDE) / (SIDE - 1) - 1);
    plane[2 * i + 1] = (edf_real)(1 - 2.0 * (i / SIDE) / (SIDE - 1));
  }
  for (int depth = 0; depth < DEPTHS; depth++) {
    AffineParams Phi[DEPTHS], last = edf_affine_params(depth ? UNITS : 2, 1);
    for (int n = 0; n < depth; n++) Phi[n] = edf_affine_params(n ? UNITS : 2, UNITS);
    Input *x = edf_input("x[b,2]"), *y = edf_input("y[b]");
    CompNode *p = Sigmoid(Reshape(Affine(last, MLP(Phi, depth, x)), "s[b]"));
    CompNode *ell = Mean(BCELoss(p->in[0], y));
    size_t wrong = 0, numbers = 0;
    for (int step = 0; step <= steps; step++) {
      edf_feed(x, points, POINTS);
      edf_feed(y, classes, POINTS);
      Forward();
      Backward(ell);
      if (step < steps) edf_adam_default((edf_real)0.01);
    }
    for (int i = 0; i < POINTS; i++) wrong += (edf_value(p)[i] > 0.5) != (classes[i] > 0.5);
    for (int i = 0; i < edf.n_parameters; i++) numbers += edf.parameters[i]->size;
    printf("depth %d: %zu parameters in %d tensors, error %.1f %%\n", depth, numbers,
           edf.n_parameters, 100.0 * (double)wrong / POINTS);
    edf_feed(x, plane, SIDE * SIDE);
    edf_forward_to(p);
    memcpy(pixels + depth * SIDE * SIDE, edf_value(p), SIDE * SIDE * sizeof *pixels);
    edf_clear();
  }
  edf_array sheet = edf_contact_sheet(all, DEPTHS, 3, 0, 1);
  edf_save_image(picture, sheet);
  edf_free_array(&sheet);
  printf("see %s\n", picture);
  return 0;
}
