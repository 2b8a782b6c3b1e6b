/* 05_lenet.c - a convolutional network on handwritten digits

     make run EXAMPLE=05_lenet                     EDF_DATA=dir: reads the IDX files in dir
     build/05_lenet --epochs 5 --seed 1

   The network has two convolutions with 5x5 windows and 16 and 32 channels. A 2x2 maximum after
   each convolution halves the image. Two affine layers with 128 and 10 units follow. Momentum
   trains the network. The step size falls to 0 along half a cosine. With the real images the
   program prints:

     data: data/mnist, 60000 training images, 10000 test images
     epoch 1  loss 0.1328  test error 1.15 %  11606 images/s
     epoch 2  loss 0.0406  test error 1.23 %  11569 images/s
     ...

     see build/lenet_filters.png, build/lenet.safetensors
     test error 0.67 %, a guess has 90 %
*/
#define _POSIX_C_SOURCE 200809L          /* declares clock_gettime in C99 */
#define EDF_IMPLEMENTATION
#include "edf/slide.h"
#include "edf/layers.h"
#include "edf/data.h"
#include "edf/lab.h"
#include "digits.h"
#include "options.h"
#include <time.h>

enum { BATCH = 64, EVALUATE = 250, CLASSES = 10 };

typedef struct { Input *x, *y; CompNode *scores, *ell; ConvParams first; } network;

static network build(void) {
  network net;
  net.x = edf_input("x[b,%d]", DIGITS_PIXELS);
  net.y = edf_input("y[b]");
  net.first = edf_conv_params(5, 1, 16);
  ConvParams second = edf_conv_params(5, 16, 32);
  AffineParams Phi3 = edf_affine_params(4 * 4 * 32, 128);
  AffineParams Phi4 = edf_affine_params(128, CLASSES);

  CompNode *L0 = Reshape(net.x, "L0[b,28,28,1]");
  /* Relu after MaxPool gives the same values as MaxPool after Relu, with fewer relus. */
  CompNode *L1 = Relu(MaxPool(Conv(net.first, L0), 2, 2));
  CompNode *L2 = Relu(MaxPool(Conv(second, L1), 2, 2));
  CompNode *L3 = Relu(Affine(Phi3, Reshape(L2, "flat[b,512]")));
  net.scores = Affine(Phi4, L3);
  net.ell    = SoftmaxLogLoss(net.scores, net.y);
  return net;
}

/* Runs Forward on rows i .. i+n-1. Returns their mean loss. */
static double forward(network net, digits_set set, int i, int n) {
  edf_feed(net.x, set.x.value + (size_t)i * DIGITS_PIXELS, n);
  edf_feed(net.y, set.y.value + i, n);
  Forward();
  return edf_mean_value(net.ell);
}

static double test_error(network net, digits_set set) {
  double wrong = 0;
  int rows = set.x.dim[0];
  for (int i = 0; i < rows; i += EVALUATE) {
    int n = rows - i < EVALUATE ? rows - i : EVALUATE;
    forward(net, set, i, n);
    wrong += n * edf_error_rate(net.scores, net.y);
  }
  return 100 * wrong / rows;
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
  digits_set train, test;
  double error = 100;
  options_begin("05_lenet", argc, argv);
  int epochs = (int)option("--epochs", 5, 1, 1000), seed = (int)option("--seed", 1, 0, 1e9);
  double eta = option_real("--eta", 0.05, 0, 10);
  const char *picture = option_output("build/lenet_filters.png");
  const char *model = option_output("build/lenet.safetensors");
  options_end();
  digits_find(&train, &test);
  edf_seed((unsigned)seed);
  network net = build();
  int steps = train.x.dim[0] / BATCH;
  for (int epoch = 0; epoch < epochs; epoch++) {
    double start = seconds(), loss = 0;
    edf_shuffle(&train.x, &train.y);
    for (int i = 0; i < steps; i++) {
      double done = (double)(epoch * steps + i) / (epochs * steps);
      loss += forward(net, train, i * BATCH, BATCH) / steps;
      Backward(net.ell);
      Momentum((edf_real)(eta * 0.5 * (1 + cos(3.14159265 * done))), (edf_real)0.9);
    }
    double rate = steps * BATCH / (seconds() - start);
    error = test_error(net, test);
    printf("epoch %d  loss %.4f  test error %.2f %%  %.0f images/s\n", epoch + 1, loss, error,
           rate);
    fflush(stdout);
  }
  /* Moves the channel n to the front, because a contact sheet shows images f[n,i,j]. */
  CompNode *filters = Einsum("f[n,i,j] = W[i,j,0,n]", net.first.w);
  edf_forward_to(filters);
  edf_array sheet = edf_contact_sheet(edf_view(filters), 8, 12, (edf_real)-0.5, (edf_real)0.5);
  edf_save_image(picture, sheet);
  edf_save(model);
  printf("\nsee %s, %s\ntest error %.2f %%, a guess has 90 %%\n", picture, model, error);
  edf_free_array(&sheet);
  digits_free(&train);
  digits_free(&test);
  edf_clear();
  return 0;
}
