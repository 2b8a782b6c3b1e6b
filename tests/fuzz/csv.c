/* Fuzzes edf_load_csv; see fuzz.sh. */

#include "fuzz.h"
#include "edf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static edf_array a;
  const char *path = fuzz_file(data, n);
  memory.limit = 1 << 24;
  if (setjmp(panicked) == 0) {
    a = edf_load_csv(path);
    if (a.rank != 2 || a.size != (size_t)a.dim[0] * (size_t)a.dim[1] || !a.size) abort();
    for (size_t i = 0; i < a.size; i++)
      if (!(a.value[i] - a.value[i] == 0)) abort();          /* finite */
    edf_shuffle(&a, NULL);
    edf_free_array(&a);
  }
  edf_clear();
  if (memory.live != 0) abort();
  return 0;
}
