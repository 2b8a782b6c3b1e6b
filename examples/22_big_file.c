/* 22_big_file.c - trains on a file that is larger than the memory, block by block

     make run EXAMPLE=22
     build/22_big_file --rows 500000 --seed 1 --keep          another size; the file stays

   The program first writes build/big.f32: rows of 33 numbers, 32 inputs and a class. Then it
   reads blocks of 256 rows with fread, and feeds each of them with edf_feed, which copies
   nothing. So one block is in memory, however long the file is: with `ulimit -v 65536` before it,
   the program has 64 MiB. The file is not shuffled, so its rows have to be in a random order.
   The last 16 blocks are not trained on. The program prints:

     build/big.f32 has 66 MB, one block has 34 kB
     pass 1: loss 0.217, error 6.4 %
     pass 2: loss 0.133, error 6.5 %
*/
#define EDF_IMPLEMENTATION
#include "edf/slide.h"
#include "edf/data.h"
#include "options.h"

enum { INPUTS = 32, NUMBERS = INPUTS + 1, BLOCK = 256, TESTED = 16 };

/* Writes a row: normal numbers, and 1 if the first 16 have a longer sum of squares. */
static void make_row(float *row) {
  float sum = 0;
  for (int i = 0; i < INPUTS; i++) {
    row[i] = (float)edf_normal(0, 1);
    sum += i < INPUTS / 2 ? row[i] * row[i] : -row[i] * row[i];
  }
  row[INPUTS] = sum > 0 ? 1 : 0;
}

int main(int argc, char **argv) {
  static float block[BLOCK][NUMBERS];
  static edf_real inputs[BLOCK][INPUTS], classes[BLOCK];
  options_begin("22_big_file", argc, argv);
  long blocks = (long)option("--rows", 500000, 10000, 1e12) / BLOCK;
  int seed = (int)option("--seed", 1, 0, 1e9), keep = option_flag("--keep");
  const char *path = option_output("build/big.f32");
  options_end();
  edf_seed((unsigned)seed);
  edf_writer to = edf_create_file("22_big_file", path);
  for (long b = 0; b < blocks; b++) {
    for (int i = 0; i < BLOCK; i++) make_row(block[i]);
    fwrite(block, sizeof block, 1, to.file);
  }
  edf_finish_file(&to);                          /* It stops if the disk was full. */
  printf("%s has %.0f MB, one block has %.0f kB\n", path,
         1e-6 * (double)blocks * sizeof block, 1e-3 * sizeof block);
  edf_clear();

  Input *x = edf_input("x[b,%d]", INPUTS), *y = edf_input("y[b]");
  CompNode *loss = Equations("h[b,j] = relu(W[j,I] x[b,I] - B[j]) | j<128 \n"
                             "P[b,k] = softmax_k (V[k,J] h[b,J] - C[k]) | k<2 \n"
                             "loss[b] = -ln P[b,y[b]]");
  CompNode *P = edf_find("P");
  for (int pass = 1; pass <= 2; pass++) {
    double sum = 0, wrong = 0;
    long trained = blocks - TESTED;
    FILE *file = fopen(path, "rb");
    for (long b = 0; b < blocks; b++) {
      if (!file || fread(block, sizeof block, 1, file) != 1) {
        fprintf(stderr, "%s: block %ld cannot be read\n", path, b);
        return 1;
      }
      for (int i = 0; i < BLOCK; i++) {
        for (int k = 0; k < INPUTS; k++) inputs[i][k] = (edf_real)block[i][k];
        classes[i] = (edf_real)block[i][INPUTS];
      }
      edf_feed(x, inputs[0], BLOCK);
      edf_feed(y, classes, BLOCK);
      edf_forward_to(b < trained ? loss : P);
      if (b >= trained) wrong += edf_error_rate(P, y);
      if (b >= trained) continue;
      sum += edf_mean_value(loss);
      Backward(loss);
      edf_adam_default((edf_real)0.002);
    }
    fclose(file);
    printf("pass %d: loss %.3f, error %.1f %%\n", pass, sum / (double)trained,
           100 * wrong / TESTED);
  }
  if (!keep) remove(path);
  edf_clear();
  return 0;
}
