/* Fuzzes edf_load; see fuzz.sh. A file that is refused changes nothing. */

#include "fuzz.h"
#include "edf.h"

static void build(void) {
  edf_init_uniform(edf_parameter("W[2,3]"), 1, 2);
  edf_init_uniform(edf_parameter("v[2]"), 1, 2);
  edf_init_uniform(edf_parameter("s"), 1, 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  const char *path = fuzz_file(data, n);
  static edf_real before[9], after[9];
  memory.limit = 1 << 24;
  edf_seed(1);
  build();
  for (int i = 0, k = 0; i < edf.n_parameters; k += (int)edf.parameters[i++]->size)
    memcpy(before + k, edf.parameters[i]->value, edf.parameters[i]->size * sizeof *before);
  unsigned long long draws = edf.draws;
  if (setjmp(panicked) == 0) edf_load(path);
  else {
    for (int i = 0, k = 0; i < edf.n_parameters; k += (int)edf.parameters[i++]->size)
      memcpy(after + k, edf.parameters[i]->value, edf.parameters[i]->size * sizeof *after);
    if (memcmp(before, after, sizeof before) || edf.draws != draws) abort();
    for (int i = 0; i < edf.n_parameters; i++)
      if (edf.parameters[i]->steps || edf.parameters[i]->m || edf.parameters[i]->s) abort();
  }
  edf_clear();
  if (memory.live != 0) abort();
  return 0;
}
