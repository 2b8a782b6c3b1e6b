/* 12_slide.c - the slide is the program: 784-64-10 as the lecture writes it

     make run EXAMPLE=12_slide                     EDF_DATA=dir: reads the IDX files in dir

   The text in this program is the slide, with Greek letters and minus signs. ŷ is the index of
   the classes. A name that is not yet defined becomes a new Parameter: W0, b0, W1, b1. The
   equations give the sizes. The sizes 64 and 10 are the bounds after the bars. The last line is
   the loss. P is a softmax, so the framework computes ln P from s, which is numerically stable.
   With the real images the program prints:

     data: data/mnist, 60000 training images, 10000 test images
     inputs
            x   Input [b, 784] ...
            y   Input [b] ...
     parameters, 50890 numbers
            W0   Parameter [64, 784] ...
            b0   Parameter [64] ...
            W1   Parameter [10, 64] ...
            b1   Parameter [10] ...
     ...
     epoch 1  loss 0.4257
     epoch 2  loss 0.2221
     ...
     test error 2.84 %, a guess has 90 %
*/
#define EDF_IMPLEMENTATION
#include "edf/slide.h"
#include "edf/data.h"
#include "digits.h"
#include "options.h"

enum { BATCH = 64 };

int main(int argc, char **argv) {
  digits_set train, test;
  edf_all all;
  options_begin("12_slide", argc, argv);
  int epochs = (int)option("--epochs", 10, 1, 1000), seed = (int)option("--seed", 1, 0, 1e9);
  options_end();
  digits_find(&train, &test);
  edf_seed((unsigned)seed);

  Input *x = edf_input("x[b,784]"), *y = edf_input("y[b]");
  CompNode *loss = Equations(
    "h[b,j] = σ(W0[j,I] x[b,I] − b0[j])    | j<64  \n"
    "s[b,ŷ] = W1[ŷ,J] h[b,J] − b1[ŷ]       | ŷ<10  \n"
    "P[b,ŷ] = softmax_ŷ s[b,ŷ]                     \n"
    "loss[b] = -ln P[b,y[b]]                         ");
  edf_print_program(stdout);

  for (int epoch = 1; epoch <= epochs; epoch++) {
    double sum = 0;
    edf.training = 1;
    for (edf_batches(&all, x, train.x, y, train.y, BATCH); edf_next(&all); ) {
      Forward();
      sum += all.rows * edf_mean_value(loss);
      Backward(loss);
      SGD((edf_real)0.5);
    }
    printf("epoch %d  loss %.4f\n", epoch, sum / train.x.dim[0]);
    fflush(stdout);
  }

  edf.training = 0;
  edf_feed(x, test.x.value, test.x.dim[0]);
  edf_feed(y, test.y.value, test.y.dim[0]);
  Forward();
  printf("test error %.2f %%, a guess has 90 %%\n", 100 * edf_error_rate(edf_find("P"), y));
  digits_free(&train);
  digits_free(&test);
  edf_clear();
  return 0;
}
