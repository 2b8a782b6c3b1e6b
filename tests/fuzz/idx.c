/* Fuzzes edf_load_idx, edf_load_images and edf_load_labels; see fuzz.sh. */

#include "fuzz.h"
#include "edf.h"

static void load_and_read(edf_array (*load)(const char *), const char *path) {
  static edf_array a;
  if (setjmp(panicked) == 0) {
    a = load(path);
    for (size_t i = 0; i < a.size; i++)
      if (!(a.value[i] >= 0 && a.value[i] <= 255)) abort();
    edf_shuffle(&a, NULL);
    edf_free_array(&a);
  }
  edf_clear();
  if (memory.live != 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  const char *path = fuzz_file(data, n);
  memory.limit = 1 << 24;
  load_and_read(edf_load_idx, path);
  load_and_read(edf_load_images, path);
  load_and_read(edf_load_labels, path);
  return 0;
}
