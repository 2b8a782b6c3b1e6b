/* tools.c - what tests/mpi.sh needs besides examples/mpi_mnist.c; no MPI in here

     tools draw DIR N BAD             N images as IDX files; image BAD has the label 200
     tools train EPOCHS BATCH SEED    the same model and training by one plain process, of the
                                      images in EDF_DATA, to build/plain.safetensors
     tools compare HIDDEN A B         the greatest difference between the parameters of two
                                      saved models, and how far B is from the start, seed 1
   A file that is not whole stops edf_load. */
#define EDF_IMPLEMENTATION
#include "edf.h"
#include "examples/digits.h"

static void put_number(FILE *file, int n) {
  for (int shift = 24; shift >= 0; shift -= 8) fputc(n >> shift & 255, file);
}

/* An IDX file: bytes, their dimensions, and the numbers times `scale`. */
static void write_idx(const char *dir, const char *name, const edf_real *x, int n, int side,
                      edf_real scale) {
  FILE *file = fopen(digits_path(dir, name, ""), "wb");
  if (!file) { perror(dir); exit(1); }
  put_number(file, 0x800 + (side > 1 ? 3 : 1));
  put_number(file, n);
  for (int d = 0; side > 1 && d < 2; d++) put_number(file, side);
  for (int i = 0; i < n * side * side; i++) fputc((int)(x[i] * scale + (edf_real)0.5), file);
  if (fclose(file)) { perror(dir); exit(1); }
}

static void draw(const char *dir, int n, int bad) {
  digits_set set = digits_drawn(1, n);
  if (bad >= 0) set.y.value[bad] = 200;
  write_idx(dir, "train-images-idx3-ubyte", set.x.value, n, DIGITS_SIDE, 255);
  write_idx(dir, "t10k-images-idx3-ubyte", set.x.value, n, DIGITS_SIDE, 255);
  write_idx(dir, "train-labels-idx1-ubyte", set.y.value, n, 1, 1);
  write_idx(dir, "t10k-labels-idx1-ubyte", set.y.value, n, 1, 1);
  digits_free(&set);
}

static CompNode *build(Input *x, Input *y, int hidden) {
  AffineParams Phi1 = edf_affine_params(DIGITS_PIXELS, hidden);
  AffineParams Phi2 = edf_affine_params(hidden, 10);
  return LogLoss(Softmax(Affine(Phi2, Sigmoid(Affine(Phi1, x)))), y);
}

static void train(int epochs, int batch, unsigned seed) {
  digits_set set, test;
  digits_find(&set, &test);
  edf_seed(seed);
  Input *x = edf_input("x[b,%d]", DIGITS_PIXELS), *y = edf_input("y[b]");
  CompNode *ell = build(x, y, 64);
  for (int k = 0, n = set.x.dim[0]; k < epochs; k++) {
    edf_shuffle(&set.x, &set.y);
    for (int i = 0; i < n; i += batch) {
      edf_feed(x, set.x.value + (size_t)i * DIGITS_PIXELS, n - i < batch ? n - i : batch);
      edf_feed(y, set.y.value + i, n - i < batch ? n - i : batch);
      Forward();
      Backward(ell);
      SGD((edf_real)0.5);
    }
  }
  edf_save("build/plain.safetensors");
  digits_free(&set);
  digits_free(&test);
}

/* The greatest |a - b| over all parameters of two graphs; infinite where one is NaN. */
static double difference(edf_graph a, edf_graph b) {
  double most = 0;
  for (int i = 0; i < a.n_parameters; i++)
    for (size_t k = 0; k < a.parameters[i]->size; k++) {
      double d = fabs((double)a.parameters[i]->value[k] - (double)b.parameters[i]->value[k]);
      if (!(d < HUGE_VAL)) return HUGE_VAL;
      if (d > most) most = d;
    }
  return most;
}

static edf_graph load(int hidden, const char *path) {
  edf = edf_new_graph();
  edf_seed(1);
  build(edf_input("x[b,%d]", DIGITS_PIXELS), edf_input("y[b]"), hidden);
  if (path) edf_load(path);
  return edf;
}

int main(int argc, char **argv) {
  int n = argc > 2 ? atoi(argv[2]) : 0;
  if (argc == 5 && !strcmp(argv[1], "draw")) draw(argv[2], atoi(argv[3]), atoi(argv[4]));
  else if (argc == 5 && !strcmp(argv[1], "train"))
    train(n, atoi(argv[3]), (unsigned)atoi(argv[4]));
  else if (argc == 5 && !strcmp(argv[1], "compare")) {
    edf_graph a = load(n, argv[3]), b = load(n, argv[4]), start = load(n, NULL);
    printf("%.3g %.3g\n", difference(a, b), difference(b, start));
    edf = a; edf_clear();
    edf = b; edf_clear();
    edf = start;
  } else return 2;
  edf_clear();
  return 0;
}
