/* impl.c - the implementation that the test programs link, compiled once for each variant.
   Errors and allocations call the functions of harness.h. */

#include <stddef.h>
#include <stdlib.h>

void harness_panic(const char *message);
void *counted_malloc(size_t n);
void counted_free(void *p);

#define EDF_PANIC(message) harness_panic(message)
#ifdef __SANITIZE_ADDRESS__
#include <stdint.h>
#include <string.h>
/* An array of edf.h begins at a multiple of 64 in a block that is 128 bytes larger. The rest of
   the block is poisoned, so that a write of one entry too many is found. */
void __asan_poison_memory_region(void const volatile *p, size_t n);
static void *guarded(void *p, size_t n, const char *by) {
  if (!p || strcmp(by, "edf__alloc_at")) return p;
  uintptr_t data = ((uintptr_t)p + 127) / 64 * 64, end = data + n - 128;
  __asan_poison_memory_region((void *)end, (uintptr_t)p + n - end);
  return p;
}
#define EDF_MALLOC(n) guarded(counted_malloc(n), n, __func__)
#else
#define EDF_MALLOC(n) counted_malloc(n)
#endif
#define EDF_FREE(p) counted_free(p)
#define EDF_SLIDE__LONG(x, z) 1          /* Small products of a Lookup run by class, too. */
#define EDF_IMPLEMENTATION
#include "edf.h"
#include "edf/slide.h"
#include "edf/layers.h"
#include "edf/judge.h"
#include "edf/derive.h"
#include "edf/data.h"
#include "edf/onnx.h"
#include "edf/c.h"
#include "edf/lab.h"
