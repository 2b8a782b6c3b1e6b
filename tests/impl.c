/* impl.c - the implementation of edf.h that the tests link, compiled once a variant (float and
   double, with and without CBLAS, sanitized ...). That a student's file compiles alone is
   proven elsewhere, by hygiene and the examples.

   A mistake in use, every allocation and every EDF_ASSERT go to the program, which has them
   from harness.h and counted.h; what tests ask of the inside is declared in inside.h. */

#include <stddef.h>
#include <stdlib.h>

void harness_panic(const char *message);
void *counted_malloc(size_t n);
void *counted_realloc(void *old, size_t n);
void counted_free(void *p);
extern long harness_asserted;

#define EDF_PANIC(message) harness_panic(message)
#ifdef __SANITIZE_ADDRESS__
#include <stdint.h>
#include <string.h>
/* An array of edf.h's begins at an address of 64 in a block with 128 bytes more: what is left
   behind it must not be touched, so that one entry too many shows. */
void __asan_poison_memory_region(void const volatile *p, size_t n);
static void *guarded(void *p, size_t n, const char *by) {
  if (!p || strcmp(by, "edf__try_alloc")) return p;
  uintptr_t data = ((uintptr_t)p + 127) / 64 * 64, end = data + n - 128;
  __asan_poison_memory_region((void *)end, (uintptr_t)p + n - end);
  return p;
}
#define EDF_MALLOC(n) guarded(counted_malloc(n), n, __func__)
#else
#define EDF_MALLOC(n) counted_malloc(n)
#endif
#define EDF_REALLOC(p, n) counted_realloc(p, n)
#define EDF_FREE(p) counted_free(p)
#define EDF_ASSERT(c) ((void)(harness_asserted++, (c) ? 0 : (abort(), 0)))
#define EDF_IMPLEMENTATION
#include "edf.h"
#include "edf_lab.h"
#include "inside.h"

const int inside_mask_begins = EDF__HEAD, inside_slots = EDF_LAB__SLOTS;

unsigned long long inside_draw(unsigned long long n) { return edf__draw(n); }
edf_real inside_fast_root(edf_real v) { return edf__fast_root(v); }
void inside_fail(const char *message) { edf__fail("%s", message); }
int inside_knows_cleared(const edf_node *x) { return edf__was_cleared(x); }

#ifdef _OPENMP
void inside_cut_work_above(double nanoseconds) { edf__worth = nanoseconds; }
int inside_loop_to_cut(const edf_route *r, int threads) {
  return edf__loop_to_cut(r, threads, NULL);
}
#endif

inside_doctor_seen inside_doctor_has(void) {
  edf_lab__doctor *d = (edf_lab__doctor *)(void *)edf_find_watcher(edf_lab__doctor_told);
  inside_doctor_seen seen = { 0, 0, 0 };
  if (d) { seen.named = d->named; seen.looks = d->looks; seen.steps = d->step; }
  return seen;
}

int inside_traces(void) { return edf_lab__traces() != NULL; }

inside_rows inside_note_rows(edf_node *x, int trained) {
  static edf_lab__rows rows;
  if (!x) memset(&rows, 0, sizeof rows);
  else edf_lab__note_rows(&rows, x, trained);
  inside_rows seen = { 0, rows.hits, rows.tested };
  for (int i = 0; rows.slot && i < EDF_LAB__SLOTS; i++) seen.n += rows.slot[i] != 0;
  return seen;
}

/* The gradient check's last part alone, as if one entry of p had been tried, and was right. */
double inside_check_directions(edf_node *y, edf_node *p) {
  edf_aside *aside = edf_begin_aside();
  edf__check *c = edf__new_check(y, 1);
  edf__each(edf__find_needs);
  edf__borrow(c, p);
  c->n = 1;
  double error = edf__check_directions(c);
  edf__give_back(c);
  edf__free(c);
  edf_end_aside(aside);
  return error;
}
