/* Fuzzes edf_load_npy: what is read can be written, and read again; see fuzz.sh. */

#include "fuzz.h"
#include "edf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  const char *path = fuzz_file(data, n);
  static edf_array a, b;
  memory.limit = 1 << 24;
  if (setjmp(panicked) == 0) {
    a = edf_load_npy(path);
    edf_save_npy(path, a);
    b = edf_load_npy(path);
    if (a.size != b.size || memcmp(a.value, b.value, a.size * sizeof *a.value)) abort();
    edf_free_array(&a);
    edf_free_array(&b);
  }
  edf_clear();
  if (memory.live != 0) abort();
  return 0;
}
