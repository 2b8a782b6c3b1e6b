/* Fuzzes edf_load_image: pixels from 0 to 1, which can be put on a sheet; see fuzz.sh. */

#include "fuzz.h"
#include "edf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  const char *path = fuzz_file(data, n);
  static edf_array a;
  memory.limit = 1 << 24;
  if (setjmp(panicked) == 0) {
    a = edf_load_image(path);
    for (size_t i = 0; i < a.size; i++)
      if (!(a.value[i] >= 0 && a.value[i] <= 1)) abort();
    edf_free_array(&a);
  }
  edf_clear();
  if (memory.live != 0) abort();
  return 0;
}
