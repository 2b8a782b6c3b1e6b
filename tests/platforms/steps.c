/* steps.c - ten steps of the models of examples/05_lenet.c and 06_char_lstm.c, on few rows, so
   that it takes seconds on an emulated machine:

     steps lenet
     steps lstm

   Every loss has all its digits, and the end is a checksum of the bits of all parameters: two
   machines print the same when they have computed the same. */
#include "edf.h"
#include "../../examples/digits.h"
#include "../../examples/texts.h"
#include <stdint.h>
#include <string.h>

enum { STEPS = 10, IMAGES = 32, ROWS = 8, LETTERS = 32, HIDDEN = 128 };

static CompNode *lenet(Input *x, Input *y) {
  ConvParams first = edf_conv_params(2, 5, 1, 16), second = edf_conv_params(2, 5, 16, 32);
  AffineParams Phi3 = edf_affine_params(4 * 4 * 32, 128), Phi4 = edf_affine_params(128, 10);
  CompNode *L0 = Reshape(x, "L0[b,28,28,1]");
  CompNode *L1 = Relu(MaxPool(Conv(first, L0), 2, 2));
  CompNode *L2 = Relu(MaxPool(Conv(second, L1), 2, 2));
  CompNode *L3 = Relu(Affine(Phi3, Reshape(L2, "flat[b,512]")));
  return SoftmaxLogLoss(Affine(Phi4, L3), y);
}

static CompNode *lstm(Input *x, Input *y, int symbols) {
  Parameter *E = edf_parameter("E[%d,%d]", symbols, HIDDEN);
  LSTMParams cell = edf_lstm_params(HIDDEN, HIDDEN);
  AffineParams out = edf_affine_params(HIDDEN, symbols);
  edf_init_normal(E, 0, (edf_real)0.1);
  return SoftmaxLogLoss(Affine(out, Unroll(cell, Embed(E, x))), y);
}

static void tell(int step, CompNode *ell) {
  const edf_real *value = edf_value(ell);
  double sum = 0;
  for (size_t i = 0; i < ell->size; i++) sum += (double)value[i];
  printf("step %2d   loss %.9g\n", step, sum / (double)ell->size);
}

/* FNV-1a of the bits of every float, the lowest byte first whatever the machine's order is. */
static void tell_parameters(void) {
  uint32_t hash = 2166136261u, bits;
  size_t n = 0;
  for (int k = 0; k < edf.n_parameters; k++) {
    Parameter *p = edf.parameters[k];
    const edf_real *value = edf_value(p);
    for (size_t i = 0; i < p->size; i++, n++) {
      memcpy(&bits, &value[i], sizeof bits);
      for (int shift = 0; shift < 32; shift += 8)
        hash = (hash ^ (bits >> shift & 255)) * 16777619u;
    }
  }
  printf("%lu parameters, checksum %08lx\n", (unsigned long)n, (unsigned long)hash);
}

static void learn_lenet(void) {
  static edf_real images[STEPS * IMAGES * DIGITS_PIXELS], labels[STEPS * IMAGES];
  Input *x = edf_input("x[b,%d]", DIGITS_PIXELS), *y = edf_input("y[b]");
  CompNode *ell = lenet(x, y);
  digits_make(7, STEPS * IMAGES, images, labels);
  for (int step = 0; step < STEPS; step++) {
    edf_feed(x, images + step * IMAGES * DIGITS_PIXELS, IMAGES);
    edf_feed(y, labels + step * IMAGES, IMAGES);
    Forward();
    tell(step, ell);
    Backward(ell);
    Momentum((edf_real)0.05, (edf_real)0.9);
  }
}

static void learn_lstm(void) {
  static edf_real in[ROWS * LETTERS], out[ROWS * LETTERS];
  text_set text;
  text.text = edf_text_of(text_own, sizeof text_own - 1);
  text.train = text.text.classes.dim[0];
  Input *x = edf_input("x[b,%d]", LETTERS), *y = edf_input("y[b,%d]", LETTERS);
  CompNode *ell = lstm(x, y, text.text.symbols);
  for (int step = 0; step < STEPS; step++) {
    text_batch(&text, ROWS, LETTERS, in, out);
    edf_feed(x, in, ROWS);
    edf_feed(y, out, ROWS);
    Forward();
    tell(step, ell);
    Backward(ell);
    edf_clip(1);
    Adam((edf_real)0.005, (edf_real)0.9, (edf_real)0.99, (edf_real)1e-8);
  }
  text_free(&text);
}

int main(int argc, char **argv) {
  edf_seed(1);
  if (argc == 2 && !strcmp(argv[1], "lenet")) learn_lenet();
  else if (argc == 2 && !strcmp(argv[1], "lstm")) learn_lstm();
  else { fprintf(stderr, "steps lenet, or steps lstm\n"); return 2; }
  tell_parameters();
  edf_clear();
  return 0;
}
