/* plain.c - one process without MPI, for tests/mpi.sh

     plain draw DIR N BAD              writes N drawn images as IDX files. If BAD is not
                                       negative, image BAD has the label 200.
     plain compare EPOCHS BATCH FILE   trains the model of examples/mpi_mnist.c on the images in
                                       EDF_DATA. It prints the greatest difference between its
                                       parameters and those in FILE, and how far they moved. */
#define EDF_IMPLEMENTATION
#include "edf.h"
#include "edf_data.h"
#include "digits.h"

/* An IDX file: its dimensions, then a byte for each number times `scale`. */
static void write_idx(const char *dir, const char *name, edf_array a, edf_real scale) {
  int image = scale > 1, dim[3] = { a.dim[0], DIGITS_SIDE, DIGITS_SIDE };
  FILE *file = fopen(digits_path(dir, name, ""), "wb");
  if (!file) { perror(dir); exit(1); }
  fwrite(image ? "\0\0\10\3" : "\0\0\10\1", 1, 4, file);
  for (int d = 0; d < (image ? 3 : 1); d++)
    for (int shift = 24; shift >= 0; shift -= 8) fputc(dim[d] >> shift & 255, file);
  for (size_t i = 0; i < a.size; i++) fputc((int)(a.value[i] * scale + (edf_real)0.5), file);
  if (fclose(file)) { perror(dir); exit(1); }
}

static void draw(const char *dir, int n, int bad) {
  digits_set set = digits_drawn(1, n);
  if (bad >= 0) set.y.value[bad] = 200;
  write_idx(dir, "train-images-idx3-ubyte", set.x, 255);
  write_idx(dir, "t10k-images-idx3-ubyte", set.x, 255);
  write_idx(dir, "train-labels-idx1-ubyte", set.y, 1);
  write_idx(dir, "t10k-labels-idx1-ubyte", set.y, 1);
  digits_free(&set);
}

static edf_node *x, *y, *loss;
static edf_graph build(void) {
  edf = edf_new_graph();
  edf_seed(1);
  x = edf_input("x[b,%d]", DIGITS_PIXELS);
  y = edf_input("y[b]");
  AffineParams Phi1 = edf_affine_params(DIGITS_PIXELS, 64), Phi2 = edf_affine_params(64, 10);
  loss = LogLoss(Softmax(Affine(Phi2, Sigmoid(Affine(Phi1, x)))), y);
  return edf;
}

static void train(int epochs, int batch) {
  digits_set set, test;
  digits_find(&set, &test);
  for (int k = 0, n = set.x.dim[0]; k < epochs; k++) {
    edf_shuffle(&set.x, &set.y);
    for (int i = 0; i < n; i += batch) {
      int rows = n - i < batch ? n - i : batch;
      edf_feed(x, set.x.value + (size_t)i * DIGITS_PIXELS, rows);
      edf_feed(y, set.y.value + i, rows);
      Forward();
      Backward(loss);
      SGD((edf_real)0.5);
    }
  }
  digits_free(&set);
  digits_free(&test);
}

/* The greatest |a - b| over all parameters of two graphs. A NaN counts as infinite. */
static double difference(edf_graph a, edf_graph b) {
  double most = 0;
  for (int i = 0; i < a.n_parameters; i++)
    for (size_t k = 0; k < a.parameters[i]->size; k++) {
      double d = fabs((double)a.parameters[i]->value[k] - (double)b.parameters[i]->value[k]);
      if (!(d <= most)) most = d < HUGE_VAL ? d : HUGE_VAL;
    }
  return most;
}

int main(int argc, char **argv) {
  if (argc == 5 && !strcmp(argv[1], "draw")) draw(argv[2], atoi(argv[3]), atoi(argv[4]));
  else if (argc == 5 && !strcmp(argv[1], "compare")) {
    edf_graph start = build(), saved = build(), mine;
    edf_load(argv[4]);
    saved = edf;
    mine = build();
    train(atoi(argv[2]), atoi(argv[3]));
    mine = edf;
    printf("%.3g %.3g\n", difference(mine, saved), difference(mine, start));
    edf_clear();
    edf = saved;
    edf_clear();
    edf = start;
    edf_clear();
  } else return 2;
  return 0;
}
