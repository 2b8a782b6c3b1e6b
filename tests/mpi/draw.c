/* draw.c - for tests/mpi.sh:  draw DIR N BAD  writes N drawn images as IDX files. If BAD is not
   negative, image BAD has the label 200. */
#define EDF_IMPLEMENTATION
#include "edf.h"
#include "edf/data.h"
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

int main(int argc, char **argv) {
  digits_set set = digits_drawn(1, argc == 4 ? atoi(argv[2]) : 1);
  if (argc == 4 && atoi(argv[3]) >= 0) set.y.value[atoi(argv[3])] = 200;
  write_idx(argv[1], "train-images-idx3-ubyte", set.x, 255);
  write_idx(argv[1], "t10k-images-idx3-ubyte", set.x, 255);
  write_idx(argv[1], "train-labels-idx1-ubyte", set.y, 1);
  write_idx(argv[1], "t10k-labels-idx1-ubyte", set.y, 1);
  digits_free(&set);
  return 0;
}
