/* counted.h - memory for edf.h that is counted and can be made to fail. impl.c, which the tests
   link, calls these functions; a file with an implementation of its own includes it before. */

#ifndef COUNTED_H
#define COUNTED_H

#include <stdlib.h>

static struct {
  long live, mallocs, reallocs, frees;     /* blocks now; calls so far                      */
  long until_failure;                      /* n: the n-th call from now on fails; 0: none   */
  size_t limit, refused;                   /* larger requests fail, if not 0; the last such */
} memory;

void *counted_malloc(size_t n);
void *counted_realloc(void *old, size_t n);
void counted_free(void *p);

static inline int memory_refuses(size_t n) {
  int refuse = memory.limit && n > memory.limit;
  if (memory.until_failure && --memory.until_failure == 0) refuse = 1;
  if (refuse) memory.refused = n;
  return refuse;
}

void *counted_malloc(size_t n) {
  void *p = memory_refuses(n) ? NULL : malloc(n ? n : 1);
  memory.mallocs++;
  memory.live += p != NULL;
  return p;
}

void *counted_realloc(void *old, size_t n) {
  void *p = memory_refuses(n) ? NULL : realloc(old, n ? n : 1);
  memory.reallocs++;
  memory.live += p && !old;
  return p;
}

void counted_free(void *p) {
  memory.frees++;
  memory.live -= p != NULL;
  free(p);
}

#define EDF_MALLOC(n) counted_malloc(n)
#define EDF_REALLOC(p, n) counted_realloc(p, n)
#define EDF_FREE(p) counted_free(p)

#endif
