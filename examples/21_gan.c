/* 21_gan.c - two texts against each other: one draws digits, the other one tells them from real

     make run EXAMPLE=21                            build/21_gan --steps 5000 --seed 1

   The critic learns to give 0.9 to a digit of the data, and 0 to one that the generator has
   drawn from 32 random numbers. The generator learns to get 1 from the critic (Goodfellow et
   al. 2014; Mao et al. 2017). In each step one of the two is frozen: the gradient passes through
   it, and its Parameters stay. The picture shows 100 drawn digits. The program prints:

     step 1000  critic 0.112  generator 1.100
     ...
     generator loss 0.646
*/
#define EDF_IMPLEMENTATION
#include "edf/slide.h"
#include "edf/data.h"
#include "digits.h"
#include "options.h"

enum { BATCH = 64, NOISE = 32, SHOWN = 100 };
static const char *const generator =
    "g[b,j] = relu(A[j,I] z[b,I] - a[j])       | j<128 \n"
    "h[b,j] = relu(C[j,I] g[b,I] - c[j])       | j<256 \n"
    "drawn[b,i] = sigmoid(D[i,J] h[b,J] - d[i]) | i<784";
static const char *const critic =
    "u[b,j] = W1[j,I] x[b,I] - B1[j] | j<128 \n"
    "f[b,j] = dropout(max(u[b,j], 0.2 u[b,j]), 0.3) \n"
    "v[b,j] = W2[j,I] f[b,I] - B2[j] | j<64 \n"
    "r[b,j] = dropout(max(v[b,j], 0.2 v[b,j]), 0.3) \n"
    "s[b] = w3[J] r[b,J]";

/* A step of the Parameters first .. end-1. All others are frozen. */
static double learn(CompNode *loss, int first, int end, double eta) {
  for (int i = 0; i < edf.n_parameters; i++)
    edf.parameters[i]->update = i >= first && i < end ? NULL : edf_frozen;
  edf_forward_to(loss);
  Backward(loss);
  Adam((edf_real)eta, (edf_real)0.5, (edf_real)0.999, (edf_real)1e-8);
  return edf_mean_value(loss);
}

int main(int argc, char **argv) {
  static edf_real noise[SHOWN * NOISE];
  digits_set train, test;
  double judged = 0, drawing = 0;                   /* means of the last losses */
  options_begin("21_gan", argc, argv);
  int steps = (int)option("--steps", 5000, 1, 1e6), seed = (int)option("--seed", 1, 0, 1e9);
  const char *picture = option_output("build/gan.png");
  options_end();
  digits_find(&train, &test);
  edf_seed((unsigned)seed);
  Input *x = edf_input("x[b,%d]", DIGITS_PIXELS), *z = edf_input("z[b,%d]", NOISE);
  CompNode *drawn = edf_equations("%s", generator);
  int own = edf.n_parameters;                       /* those of the generator come first */
  CompNode *s = edf_equations("%s", critic);
  CompNode *t = edf_text(critic, edf_find("W1"), drawn, edf_find("B1"), edf_find("W2"),
                         edf_find("B2"), edf_find("w3"));
  CompNode *judge = edf_text("loss[b] = (s[b] - 0.9)^2 + t[b]^2", s, t);
  CompNode *draw = edf_text("loss[b] = (t[b] - 1)^2", t);
  for (int step = 1; step <= steps; step++) {
    double eta = 0.002 * (1 - (double)step / steps);
    for (int i = 0; i < BATCH * NOISE; i++) noise[i] = edf_normal(0, 1);
    edf_feed(x, train.x.value + edf_below(train.x.dim[0] - BATCH) * DIGITS_PIXELS, BATCH);
    edf_feed(z, noise, BATCH);
    judged += 0.01 * (learn(judge, own, edf.n_parameters, eta) - judged);
    drawing += 0.01 * (learn(draw, 0, own, eta) - drawing);
    if (step % 1000 == 0)
      printf("step %d  critic %.3f  generator %.3f\n", step, judged, drawing);
  }
  for (int i = 0; i < SHOWN * NOISE; i++) noise[i] = edf_normal(0, 1);
  edf_feed(z, noise, SHOWN);
  edf_forward_to(drawn);
  edf_array images = { 3, { SHOWN, 28, 28 }, drawn->size, edf_value(drawn) };
  edf_array sheet = edf_contact_sheet(images, 20, 2, 0, 1);
  edf_save_image(picture, sheet);
  printf("see %s\ngenerator loss %.3f\n", picture, drawing);
  edf_free_array(&sheet);
  edf_clear();
  return 0;
}
