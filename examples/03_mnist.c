/* 03_mnist.c - the course's model problem: 784-64-10, sigmoid, softmax, log loss

     make run                        builds the program for this machine and runs it
     EDF_DATA=dir build/03_mnist     reads the four IDX files in a directory
     build/03_mnist --trace          saves the first step for the playground
     build/03_mnist --c              writes the network as a C file, and runs it on one image

   Without EDF_DATA the program reads data/mnist. `sh examples/mnist.sh` downloads these files.
   If there are no files, the program draws digits. With the real images it prints:

     data: data/mnist, 60000 training images, 10000 test images
     epoch   1  loss 0.4246  160712 images/s  test error 7.07 %
     ...

     epoch | training loss | training error | test error
         1 |        0.4246 |        11.95 % |     7.07 %
         2 |        0.2200 |         6.40 % |     5.28 %
     ...

     see build/mnist_curves.svg and build/mnist_mistakes.png
     test error 2.84 %, a guess has 90 %
*/
#define _POSIX_C_SOURCE 200809L          /* declares isatty and clock_gettime in C99 */
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "edf/lab.h"
#include "edf/c.h"
#include "digits.h"
#include "options.h"
#include "pictures.h"
#include <time.h>
#include <unistd.h>

enum { BATCH = 64, CLASSES = 10 };

static struct { int shuffle, trace, c, epochs, hidden, seed; double eta; } chosen;

static void read_options(int argc, char **argv) {
  options_begin("03_mnist", argc, argv);
  chosen.shuffle = !option_flag("--no-shuffle");
  chosen.trace   = option_flag("--trace");
  chosen.c       = option_flag("--c");
  chosen.epochs  = (int)option("--epochs", 10, 1, 1000);
  chosen.hidden  = (int)option("--hidden", 64, 1, 1e5);
  chosen.seed    = (int)option("--seed", 1, 0, 1e9);
  chosen.eta     = option_real("--eta", 0.5, 0, 1e3);
  options_end();
}

/* ---- The model: images x, labels y, class probabilities Q, loss ell ---- */

typedef struct { Input *x, *y; CompNode *Q, *ell; } network;

static network build(void) {
  network net;
  net.x = edf_input("x[b,%d]", DIGITS_PIXELS);
  net.y = edf_input("y[b]");
  AffineParams Phi1 = edf_affine_params(DIGITS_PIXELS, chosen.hidden);
  AffineParams Phi2 = edf_affine_params(chosen.hidden, CLASSES);
  CompNode *h = Sigmoid(Affine(Phi1, net.x));
  net.Q   = Softmax(Affine(Phi2, h));
  net.ell = LogLoss(net.Q, net.y);
  return net;
}

/* Runs Forward on rows i .. i+n-1. Returns the sum of their losses. */
static double forward(network net, digits_set set, int i, int n) {
  edf_feed(net.x, set.x.value + (size_t)i * DIGITS_PIXELS, n);
  edf_feed(net.y, set.y.value + i, n);
  Forward();
  return n * edf_mean_value(net.ell);
}

/* ---- Training ---- */

typedef struct { double loss, train_error, test_error; } result;

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void print_progress(int epoch, int done, int n, double loss, double time) {
  static const char full[] = "##############################";
  static const char empty[] = "..............................";
  int k = (int)(30.0 * done / n);
  printf("\repoch %3d [%.*s%.*s] loss %.3f  %.0f images/s ", epoch, k, full, 30 - k, empty,
         loss, done / time);
  fflush(stdout);
}

/* Trains one epoch. The loss and the error of a batch are measured before its step. */
static result train_epoch(network net, digits_set set, int epoch) {
  int n = set.x.dim[0], terminal = isatty(1);
  double start = seconds(), shown = start, loss = 0, wrong = 0;
  if (chosen.shuffle) edf_shuffle(&set.x, &set.y);
  for (int i = 0; i < n; i += BATCH) {
    int rows = n - i < BATCH ? n - i : BATCH;            /* The last batch may be short. */
    loss += forward(net, set, i, rows);
    wrong += rows * edf_error_rate(net.Q, net.y);
    Backward(net.ell);
    if (chosen.trace && epoch == 1 && i == 0) {
      edf_write_trace("build/mnist_trace.js");
      printf("make playground, open build/playground.html, and drop build/mnist_trace.js on it\n");
    }
    SGD((edf_real)chosen.eta);
    if (!terminal || seconds() - shown < 0.1) continue;
    shown = seconds();
    print_progress(epoch, i + rows, n, loss / (i + rows), shown - start);
  }
  printf("%sepoch %3d  loss %.4f  %.0f images/s", terminal ? "\r\033[K" : "", epoch, loss / n,
         n / (seconds() - start));
  result r = { loss / n, 100 * wrong / n, 0 };
  return r;
}

static double test_error(network net, digits_set set) {
  forward(net, set, 0, set.x.dim[0]);
  return 100 * edf_error_rate(net.Q, net.y);
}

/* ---- Results ---- */

/* Writes a picture of the test images that the last Forward got wrong, largest loss first. */
static void write_mistakes(const char *path, network net, digits_set set) {
  int n = 0, rows = set.x.dim[0];
  sheet_tile *tile = (sheet_tile *)calloc((size_t)rows, sizeof *tile);
  if (!tile) { fprintf(stderr, "no memory for %d images\n", rows); exit(1); }
  const edf_real *Q = edf_value(net.Q), *ell = edf_value(net.ell);
  for (int b = 0; b < rows; b++) {
    const edf_real *q = Q + (size_t)b * CLASSES;
    int predicted = 0, truth = (int)set.y.value[b];
    for (int k = 1; k < CLASSES; k++) if (q[k] > q[predicted]) predicted = k;
    if (predicted == truth) continue;
    tile[n].pixels = set.x.value + (size_t)b * DIGITS_PIXELS;
    tile[n].weight = (double)ell[b];
    snprintf(tile[n].text, sizeof tile[n].text, "%d > %d", truth, predicted);
    n++;
  }
  sheet_write_png(path, "WORST MISTAKES ON TEST IMAGES - TRUE > PREDICTED", tile, n);
  free(tile);
}

/* Writes the network as build/digits.c, compiles this file, and gives it a test image. */
static void run_as_c(network net, digits_set set) {
  edf_feed(net.x, set.x.value, 1);
  edf_forward_to(net.Q);
  edf_write_c("build/digits.c", net.Q);
  FILE *row = fopen("build/digits.txt", "w");
  if (!row) { perror("build/digits.txt"); exit(1); }
  for (int i = 0; i < DIGITS_PIXELS; i++) fprintf(row, "%g\n", (double)set.x.value[i]);
  fclose(row);
  printf("\nbuild/digits.c on a test image, a %d: the probabilities of 0 to 9\n",
         (int)set.y.value[0]);
  fflush(stdout);
  if (system("${CC:-cc} -O2 build/digits.c -lm -o build/digits && "
             "build/digits < build/digits.txt"))
    fprintf(stderr, "build/digits.c was not compiled and run: see above\n");
}

static void add_to_curves(result r) {
  edf_plot("error in %/training", r.train_error);
  edf_plot("error in %/test", r.test_error);
  edf_plot("loss/training", r.loss);
}

static void print_table(const result *r, int n) {
  printf("\nepoch | training loss | training error | test error\n");
  for (int i = 0; i < n; i++)
    printf("%5d | %13.4f | %12.2f %% | %8.2f %%\n", i + 1, r[i].loss, r[i].train_error,
           r[i].test_error);
}

int main(int argc, char **argv) {
  digits_set train, test;
  read_options(argc, argv);
  const char *curves = option_output("build/mnist_curves.svg");
  const char *mistakes = option_output("build/mnist_mistakes.png");
  digits_find(&train, &test);
  edf_seed((unsigned)chosen.seed);
  network net = build();
  edf_doctor(net.ell);
  result *r = (result *)calloc((size_t)chosen.epochs, sizeof *r);
  if (!r) return 1;
  for (int i = 0; i < chosen.epochs; i++) {
    r[i] = train_epoch(net, train, i + 1);
    r[i].test_error = test_error(net, test);
    printf("  test error %.2f %%\n", r[i].test_error);
    fflush(stdout);
    add_to_curves(r[i]);
  }
  print_table(r, chosen.epochs);
  edf_plot_svg(curves);
  write_mistakes(mistakes, net, test);
  if (chosen.c) run_as_c(net, test);
  printf("\nsee %s and %s\n", curves, mistakes);
  printf("test error %.2f %%, a guess has 90 %%\n", r[chosen.epochs - 1].test_error);
  free(r);
  digits_free(&train);
  digits_free(&test);
  edf_clear();
  return 0;
}
