/* program.c - prints what must be the same bytes on every platform: tests/platforms.sh

   A network learns for a few steps. A program is printed and its gradient checked. Files are
   written and read in the current directory. */
#define EDF_IMPLEMENTATION
#include "edf/slide.h"
#include "edf/layers.h"
#include "edf/data.h"
#include <stdint.h>

/* Prints the size of a file and a hash (FNV-1a) of its bytes. */
static void show_file(const char *path) {
  long n = 0;
  uint32_t hash = 2166136261u;
  FILE *f = fopen(path, "rb");
  if (!f) exit(4);
  for (int c; (c = getc(f)) != EOF; n++) hash = (hash ^ (unsigned)c) * 16777619u;
  fclose(f);
  printf("%s: %ld bytes, %08lx\n", path, n, (unsigned long)hash);
}

/* ---- Learning */

enum { ROWS = 8, STEPS = 6, SIDE = 12, KINDS = 5 };

static void learn(void) {
  static edf_real in[ROWS * SIDE * SIDE], out[ROWS];
  edf_seed(1);
  Input *x = edf_input("x[b,%d,%d]", SIDE, SIDE), *y = edf_input("y[b]");
  CompNode *map = Equations("h[b,i,j,c] = relu(W[DI,DJ,c] x[b,i+DI,j+DJ] - B[c]) "
                            "| DI<3, DJ<3, c<6");
  AffineParams Phi1 = edf_affine_params(5 * 5 * 6, 20), Phi2 = edf_affine_params(20, KINDS);
  CompNode *flat = Reshape(MaxPool(map, 2, 2), "flat[b,%d]", 5 * 5 * 6);
  CompNode *s = Affine(Phi2, Dropout(Tanh(Affine(Phi1, flat)), 0.25));
  CompNode *loss = SoftmaxLogLoss(s, y);
  for (int step = 0; step < STEPS; step++) {
    for (int i = 0; i < ROWS * SIDE * SIDE; i++) in[i] = edf_normal(0, 1);
    for (int i = 0; i < ROWS; i++) out[i] = (edf_real)edf_below(KINDS);
    edf_feed(x, in, ROWS);
    edf_feed(y, out, ROWS);
    Forward();
    printf("step %d  loss %.6g\n", step, edf_mean_value(loss));
    Backward(loss);
    edf_clip(1);
    if (step % 2) AdamDefault((edf_real)0.01);
    else Momentum((edf_real)0.1, (edf_real)0.9);
  }
  edf_save("learnt.safetensors");
  show_file("learnt.safetensors");
  edf_clear();
}

static void print_a_program(void) {
  static const edf_real numbers[] = { 1, 2, 3, (edf_real)0.1, (edf_real)1e-30, -7 };
  Input *x = edf_input("x[b,3]");
  CompNode *h = Equations("h[b,j] = tanh(W[j,I] x[b,I] - B[j]) | j<2");
  edf_feed(x, numbers, 2);
  Forward();
  edf_print_program(stdout);
  edf_print(h);
  edf_gradcheck(h);
  edf_clear();
}

/* ---- Files */

static void write_bytes(const char *path, const char *bytes, size_t n) {
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(bytes, 1, n, f) != n || fclose(f)) exit(3);
}
#define WRITE(path, bytes) write_bytes(path, bytes, sizeof bytes - 1)

static void show_array(const char *what, edf_array a) {
  printf("%s: rank %d, %d, %d:", what, a.rank, a.dim[0], a.rank > 1 ? a.dim[1] : 0);
  for (size_t i = 0; i < a.size; i++) printf(" %.9g", (double)a.value[i]);
  printf("\n");
  edf_free_array(&a);
}

/* 26 ends a text on Windows, and \r\n becomes \n there. */
static void read_and_write_files(void) {
  int dim[] = { 2, 2, 3 };
  AffineParams Phi = edf_affine_params(3, 2);
  edf_array a = edf_new_array(3, dim);
  for (int i = 0; i < 12; i++) a.value[i] = (edf_real)(i * 26) / 255;
  WRITE("x.idx", "\0\0\10\3\0\0\0\2\0\0\0\1\0\0\0\3\0\1\200\377\32\15");
  show_array("idx", edf_load_idx("x.idx"));
  WRITE("x.csv", "size,weight\r\n1,-2.5\r\n3e2,0.1\r\n-7.25e-3,.0625");
  show_array("csv", edf_load_csv("x.csv"));
  edf_save_npy("x.npy", a);
  edf_save_npy("x.npy", a);                /* over the file that is there */
  show_file("x.npy");
  show_array("npy", edf_load_npy("x.npy"));
  edf_save_image("x.png", a);
  show_file("x.png");
  edf_save("x.safetensors");
  edf_init_normal(Phi.w, 5, 1);
  edf_load("x.safetensors");
  printf("loaded: %.9g\n", (double)Phi.w->value[5]);
  edf_free_array(&a);
  edf_clear();
}

int main(void) {
  learn();
  print_a_program();
  read_and_write_files();
  return 0;
}
