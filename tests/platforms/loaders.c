/* loaders.c - every kind of file is written and read in the current directory; prints what was
   read, a checksum of what was written, and what broken files are told. C99 alone. */
#include "edf.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BYTES(s) s, sizeof s - 1

static void write_bytes(const char *path, const char *bytes, size_t n) {
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(bytes, 1, n, f) != n || fclose(f)) { printf("no %s\n", path); exit(1); }
}

/* FNV-1a of the bytes of a file: a file opened as text would have others on Windows. */
static void tell_file(const char *path) {
  uint32_t hash = 2166136261u;
  long n = 0;
  FILE *f = fopen(path, "rb");
  if (!f) { printf("no %s\n", path); exit(1); }
  for (int c; (c = getc(f)) != EOF; n++) hash = (hash ^ (unsigned)c) * 16777619u;
  fclose(f);
  printf("%s: %ld bytes, checksum %08lx\n", path, n, (unsigned long)hash);
}

static void tell(const char *what, edf_array a) {
  printf("%s [", what);
  for (int d = 0; d < a.rank; d++) printf("%s%d", d ? "," : "", a.dim[d]);
  printf("]");
  for (size_t i = 0; i < a.size; i++) printf(" %.9g", (double)a.value[i]);
  printf("\n");
  edf_free_array(&a);
}

static void read_numbers(void) {
  write_bytes("x.idx", BYTES("\0\0\10\3\0\0\0\2\0\0\0\1\0\0\0\3\0\1\200\377\11\12"));
  tell("IDX", edf_load_idx("x.idx"));
  tell("images", edf_load_images("x.idx"));
  write_bytes("x.idx", BYTES("\0\0\10\1\0\0\0\4\7\0\32\15"));       /* 26: an end for Windows */
  tell("labels", edf_load_labels("x.idx"));
  write_bytes("x.csv", BYTES("size,weight\r\n1,-2.5\r\n3e2,0.1\r\n-7.25e-3,.0625"));
  tell("CSV", edf_load_csv("x.csv"));
}

static edf_array own_array(void) {
  static edf_real value[12] = { 0, 1, (edf_real)0.1, (edf_real)1e-30, (edf_real)-3.5, 65504,
                                (edf_real)0.5, (edf_real)0.25, (edf_real)0.04, (edf_real)1.5,
                                (edf_real)0.1020, (edf_real)0.0510 };  /* pixels 26 and 13 */
  edf_array a;
  memset(&a, 0, sizeof a);
  a.rank = 3;
  a.dim[0] = a.dim[1] = 2;
  a.dim[2] = 3;
  a.size = 12;
  a.value = value;
  return a;
}

static void write_and_read_arrays(void) {
  static const char *const path[] = { "x.npy", "x.ppm", "x.png" };
  edf_array a = own_array();
  edf_save_npy(path[0], a);
  edf_save_image(path[1], a);
  edf_save_image(path[2], a);
  edf_save_npy(path[0], a);                              /* over the file that is there */
  for (int k = 0; k < 3; k++) tell_file(path[k]);
  tell("npy", edf_load_npy("x.npy"));
  tell("PPM", edf_load_image("x.ppm"));
  a.rank = 2;
  a.size = 4;
  edf_save_image("x.pgm", a);
  tell_file("x.pgm");
  tell("PGM", edf_load_image("x.pgm"));
  write_bytes("x.pgm", BYTES("P2 # a comment\n3 2 7\n0 1 2\n3 4 7\n"));
  tell("PGM as text", edf_load_image("x.pgm"));
}

static void read_text(void) {
  char back[64];
  edf_real some[4];
  write_bytes("x.txt", BYTES("two words,\r\nand an end: \32 \344\n"));
  edf_text t = edf_load_text("x.txt");
  int n = t.classes.dim[0];
  printf("text: %d letters of %d kinds\n", n, t.symbols);
  edf_decode(&t, t.classes.value, (size_t)n, back);
  for (int i = 0; i < n; i++) printf("%d ", back[i] & 255);
  edf_encode(&t, "word", 4, some);
  for (int i = 0; i < 4; i++) printf(" %g", (double)some[i]);
  printf("\n");
  edf_free_text(&t);
}

static void save_and_load_a_model(void) {
  AffineParams Phi = edf_affine_params(3, 2);
  edf_seed(5);
  edf_init_normal(Phi.w, 0, 1);
  edf_save("x.safetensors");
  tell_file("x.safetensors");
  for (int i = 0; i < 6; i++) Phi.w->value[i] = 0;
  edf_push(Phi.w);
  edf_load("x.safetensors");
  const edf_real *value = edf_value(Phi.w);
  for (int i = 0; i < 6; i++) printf("%.9g ", (double)value[i]);
  printf(" next %.9g\n", (double)edf_normal(0, 1));
  edf_clear();
}

/* ---- Each broken file is told, and the next one is tried: on_mistake does not return. */
extern void (*on_mistake)(const char *message);

static void break_files(void) {
  static int k;
  int now = k++;
  edf_clear();
  if (now == 0) edf_load_idx("missing.idx");
  if (now == 1) {
    write_bytes("x.idx", BYTES("\0\0\10\2\0\0\0\2\0\0\0\3abcde"));
    edf_load_idx("x.idx");
  }
  if (now == 2) {
    write_bytes("x.idx", BYTES("\0\0\10\3\177\377\377\377\177\377\377\377\177\377\377\377x"));
    edf_load_idx("x.idx");
  }
  if (now == 3) {
    write_bytes("x.csv", BYTES("1,2,3\n4,5\n"));
    edf_load_csv("x.csv");
  }
  if (now == 4) {
    write_bytes("x.pgm", BYTES("P5 2500000000 1 255 x"));
    edf_load_image("x.pgm");
  }
  if (now == 5) {
    write_bytes("x.npy", BYTES("\223NUMPY\1\0\26\0{'descr': '<f4', 'shape'"));
    edf_load_npy("x.npy");
  }
  if (now == 6) {
    write_bytes("x.txt", "", 0);
    edf_load_text("x.txt");
  }
  if (now == 7) {
    edf_affine_params(4, 2);                             /* the file has 3 */
    edf_load("x.safetensors");
  }
  if (now == 8) edf_save_npy("no such directory/x.npy", own_array());
  if (now < 9) printf("break %d was not found\n", now);
  exit(now != 9);
}

static void tell_mistake(const char *message) {
  printf("%s\n", message);
  break_files();
}

int main(void) {
  read_numbers();
  write_and_read_arrays();
  read_text();
  save_and_load_a_model();
  on_mistake = tell_mistake;
  break_files();
  return 1;
}
