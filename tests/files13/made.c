/* made.c - wrote the files of this folder, with edf.h of version 1.3 (commit 63a8487), where
   that edf.h stands in OLD:

     for real in float double; do
       cc -std=c99 -O1 -DEDF_REAL=$real -DTYPE="\"$real\"" -IOLD tests/files13/made.c \
         -o made -lm
       ./made tests/files13
     done

   They stay as they are: tests/version.c says that each later version loads them. */
#define EDF_IMPLEMENTATION
#include "made.h"

#ifndef TYPE
#define TYPE "some"
#endif

static const char *in_folder(const char *folder, const char *end) {
  static char path[256];
  snprintf(path, sizeof path, "%s/" TYPE "%s", folder, end);
  return path;
}

static void write_model(const char *path) {
  made_step(made_graph());
  for (int k = 0; k < edf.n_parameters; k++) {
    edf_node *p = edf.parameters[k];
    for (int part = PART_VALUE; part <= PART_S; part++)
      for (size_t i = 0; made_part(p, part) && i < p->size; i++)
        made_part(p, part)[i] = (edf_real)made_number(3 * k + part, i);
    if (p->steps) p->steps = made_steps(k);
  }
  edf.seed = MADE_SEED;
  edf.draws = MADE_DRAWS;
  edf_save(path);
  edf_clear();
}

static void write_array(const char *path) {
  static edf_real numbers[NPY_ROWS * NPY_COLUMNS];
  edf_array a = { 2, { NPY_ROWS, NPY_COLUMNS }, NPY_ROWS * NPY_COLUMNS, numbers };
  for (size_t i = 0; i < a.size; i++) numbers[i] = (edf_real)made_number(-1, i);
  edf_save_npy(path, a);
}

int main(int argc, char **argv) {
  const char *folder = argc > 1 ? argv[1] : ".";
  write_model(in_folder(folder, ".safetensors"));
  write_array(in_folder(folder, ".npy"));
  return 0;
}
