/* 08_autoencoder.c - a network that encodes a digit in 16 numbers, and decodes the numbers

     make run EXAMPLE=08_autoencoder                EDF_DATA=dir: reads the IDX files in dir
     build/08_autoencoder --epochs 5 --code 16 --seed 1

   The layers are 784-128-16-128-784. The output is a score for every pixel. The loss is the
   cross entropy of pixels between 0 and 1. The picture shows 40 test images, and below each
   image its reconstruction. With the real images the program prints:

     data: data/mnist, 60000 training images, 10000 test images
     epoch 1  loss 0.1560  test 0.1195
     epoch 2  loss 0.1170  test 0.1123
     ...

     see build/autoencoder.png: rows of images above rows of reconstructions
     test loss 0.1047 per pixel
*/
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/lab.h"
#include "digits.h"
#include "options.h"

enum { BATCH = 64, HIDDEN = 128, SHOWN = 40, COLUMNS = 10 };

typedef struct { Input *x; CompNode *output, *ell; } network;

static network build(int code) {
  network net;
  AffineParams in = edf_affine_params(DIGITS_PIXELS, HIDDEN);
  AffineParams narrow = edf_affine_params(HIDDEN, code), wide = edf_affine_params(code, HIDDEN);
  AffineParams out = edf_affine_params(HIDDEN, DIGITS_PIXELS);
  net.x = edf_input("x[b,%d]", DIGITS_PIXELS);
  CompNode *z = edf_name(Affine(narrow, Relu(Affine(in, net.x))), "code");
  CompNode *s = Affine(out, Relu(Affine(wide, z)));
  net.output = Sigmoid(s);
  net.ell    = Mean(BCELoss(s, net.x));
  return net;
}

/* Runs one epoch and returns its mean loss. If training is 1, each batch is a training step. */
static double run_epoch(network net, digits_set set, int training) {
  edf_all all;
  double sum = 0;
  edf.training = training;
  for (edf_batches(&all, net.x, set.x, NULL, set.x, BATCH); edf_next(&all); ) {
    edf_forward_to(net.ell);
    sum += all.rows * edf_mean_value(net.ell);
    if (!training) continue;
    Backward(net.ell);
    Adam((edf_real)0.001, (edf_real)0.9, (edf_real)0.999, (edf_real)1e-8);
  }
  return sum / set.x.dim[0];
}

/* Writes rows of ten images. Below each row is the row of their reconstructions. */
static void write_sheet(const char *path, network net, digits_set set) {
  enum { ROW = COLUMNS * DIGITS_PIXELS };
  static edf_real pixels[2 * SHOWN * DIGITS_PIXELS];
  edf_array all = { 3, { 2 * SHOWN, 28, 28 }, sizeof pixels / sizeof *pixels, pixels };
  edf_feed(net.x, set.x.value, SHOWN);
  edf_forward_to(net.output);
  for (int row = 0; row < SHOWN / COLUMNS; row++) {
    memcpy(pixels + 2 * row * ROW, set.x.value + row * ROW, ROW * sizeof *pixels);
    memcpy(pixels + (2 * row + 1) * ROW, edf_value(net.output) + row * ROW,
           ROW * sizeof *pixels);
  }
  edf_array sheet = edf_contact_sheet(all, COLUMNS, 2, 0, 1);
  edf_save_image(path, sheet);
  edf_free_array(&sheet);
}

int main(int argc, char **argv) {
  digits_set train, test;
  double test_loss = 0;
  options_begin("08_autoencoder", argc, argv);
  int epochs = (int)option("--epochs", 5, 1, 1000), code = (int)option("--code", 16, 1, 1000);
  int seed = (int)option("--seed", 1, 0, 1e9);
  const char *sheet = option_output("build/autoencoder.png");
  options_end();
  digits_find(&train, &test);
  edf_seed((unsigned)seed);
  network net = build(code);
  for (int i = 1; i <= epochs; i++) {
    double train_loss = run_epoch(net, train, 1);
    test_loss = run_epoch(net, test, 0);
    printf("epoch %d  loss %.4f  test %.4f\n", i, train_loss, test_loss);
    fflush(stdout);
  }
  write_sheet(sheet, net, test);
  printf("\nsee %s: rows of images above rows of reconstructions\n", sheet);
  printf("test loss %.4f per pixel\n", test_loss);
  digits_free(&train);
  digits_free(&test);
  edf_clear();
  return 0;
}
