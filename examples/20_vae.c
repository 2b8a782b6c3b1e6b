/* 20_vae.c - a variational autoencoder: a map of all digits

     make run EXAMPLE=20                            EDF_DATA=dir: reads the IDX files in dir
     build/20_vae --epochs 12 --seed 1

   The encoder computes mean and deviation of two numbers z for each image, z is drawn, and the
   decoder computes the image from z. The first sum of the loss is the cross entropy of the
   pixels. The second one keeps z near normal numbers (Kingma and Welling 2014), so that digits
   fill the plane without gaps. The picture shows what the decoder makes of 20 x 20 places,
   from -2 to 2. The program prints:

     epoch 1  loss 224.1
     ...
     see build/vae.png
     loss 193.3
*/
#define EDF_IMPLEMENTATION
#include "edf/slide.h"
#include "edf/data.h"
#include "digits.h"
#include "options.h"

enum { BATCH = 100, MAP = 20, CODE = 2 };

static const char *const encoder_and_decoder =
    "h[b,j]  = relu(A[j,I] x[b,I] - a[j])   | j<256 \n"
    "mu[b,k] = M[k,J] h[b,J] - m[k]         | k<2   \n"
    "w[b,k]  = N[k,J] h[b,J] - n[k]         | k<2   # the logarithm of the deviation \n"
    "z[b,k]  = mu[b,k] + exp(w[b,k]) e[b,k]         \n"
    "g[b,j]  = relu(C[j,K] z[b,K] - c[j])   | j<256 \n"
    "s[b,i]  = D[i,J] g[b,J] - d[i]         | i<784 \n"
    "loss[b] = sum_i (softplus(s[b,i]) - x[b,i] s[b,i])"
    "          + 1/2 sum_k (mu[b,k]^2 + exp(2 w[b,k]) - 1 - 2 w[b,k])";
/* The same decoder over the places of the map. */
static const char *const decoder =
    "input place[l=400,2] \n"
    "u[l,j] = relu(C[j,K] place[l,K] - c[j]) \n"
    "p[l,i] = sigmoid(D[i,J] u[l,J] - d[i])";

int main(int argc, char **argv) {
  static edf_real noise[BATCH * CODE], place[MAP * MAP * CODE];
  digits_set train, test;
  edf_all all;
  double sum = 0;
  options_begin("20_vae", argc, argv);
  int epochs = (int)option("--epochs", 12, 1, 1000), seed = (int)option("--seed", 1, 0, 1e9);
  const char *picture = option_output("build/vae.png");
  options_end();
  digits_find(&train, &test);
  edf_seed((unsigned)seed);
  Input *x = edf_input("x[b,%d]", DIGITS_PIXELS), *e = edf_input("e[b,%d]", CODE);
  CompNode *loss = edf_equations("%s", encoder_and_decoder);
  for (int epoch = 1; epoch <= epochs; epoch++) {
    sum = 0;
    for (edf_batches(&all, x, train.x, NULL, train.x, BATCH); edf_next(&all);) {
      for (int i = 0; i < all.rows * CODE; i++) noise[i] = edf_normal(0, 1);
      edf_feed(e, noise, all.rows);
      edf_forward_to(loss);
      sum += all.rows * edf_mean_value(loss);
      Backward(loss);
      edf_adam_default((edf_real)0.002);
    }
    printf("epoch %d  loss %.1f\n", epoch, sum / train.x.dim[0]);
    fflush(stdout);
  }
  for (int n = 0; n < MAP * MAP; n++) {
    place[2 * n] = (edf_real)(4.0 * (n % MAP) / (MAP - 1) - 2);
    place[2 * n + 1] = (edf_real)(2 - 4.0 * (n / MAP) / (MAP - 1));
  }
  CompNode *p = edf_equations("%s", decoder);
  edf_feed(edf_find("place"), place, MAP * MAP);
  edf_forward_to(p);
  edf_array images = { 3, { MAP * MAP, 28, 28 }, p->size, edf_value(p) };
  edf_array sheet = edf_contact_sheet(images, MAP, 1, 0, 1);
  edf_save_image(picture, sheet);
  printf("see %s\nloss %.1f\n", picture, sum / train.x.dim[0]);
  edf_free_array(&sheet);
  edf_clear();
  return 0;
}
