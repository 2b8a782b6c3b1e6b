/* shim_memory.h - device and pinned memory.

   Two ranges of addresses are reserved, equally long. Bytes live in the second; the address
   that cudaMalloc gives is the same place in the first, which nobody may touch. So the host
   cannot follow a device address by accident. No address is ever used twice, and after every
   block there is a page that nobody may touch either: use after free and reading past the end
   fault, and the signal handler says what it was.

     device   | . . . . | b0 . . . . | b1 .          inaccessible
     bytes    | slack b0 tail | guard | slack b1 tail | guard */

#ifndef CUDASHIM_MEMORY_H
#define CUDASHIM_MEMORY_H

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "shim_core.h"

namespace cudashim {

enum { PAGE = 4096, ALIGNED = 256, CANARY = 0xA5 };

struct Block {
  char *bytes;
  size_t size, slack, pages;                 /* slack bytes lie before it in its first page */
  bool pinned, live;
  Here here, freed_here;
  const char *kind() const { return pinned ? "pinned host memory" : "device memory"; }
};

struct Memory {
  size_t range = (size_t)1 << (sizeof(void *) == 8 ? 36 : 28), reserved = PAGE, used = 0;
  char *device, *bytes;
  std::map<const char *, Block> blocks;      /* by their bytes, freed ones too */
  std::map<const char *, Block *> live;
  std::map<size_t, std::vector<char *>> freed;         /* first pages, by their number */
  char canaries[PAGE];                       /* what the margins of a block hold */
  struct sigaction old_segv, old_bus;
  Memory();
};

inline Memory &memory() {
  static Memory *only = new Memory;
  return *only;
}

/* Not by mmap: ThreadSanitizer would note a write to all of it. */
inline char *reserve(size_t size) {
  void *p = (void *)syscall(SYS_mmap, NULL, size, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, (off_t)0);
  if (p == MAP_FAILED) fatal(Here(), "cannot reserve %zu bytes of addresses", size);
  return (char *)p;
}

inline bool within(const void *p, const char *base) {
  return (const char *)p >= base && (const char *)p < base + memory().range;
}
inline bool is_device_address(const void *p) { return within(p, memory().device); }

/* The last block that begins at this byte or before it, or NULL. */
inline Block *block_before(const char *bytes) {
  auto after = memory().blocks.upper_bound(bytes);
  return after == memory().blocks.begin() ? NULL : &(--after)->second;
}

/* The block that holds this byte, or ends there, or NULL. */
inline Block *block_of(const char *bytes) {
  Block *b = block_before(bytes);
  return b && bytes <= b->bytes + b->size ? b : NULL;
}

/* The block of which this byte lies a little before the start, or NULL. */
inline Block *block_soon(const char *bytes) {
  auto after = memory().blocks.upper_bound(bytes);
  if (block_of(bytes) || after == memory().blocks.end()) return NULL;
  return after->second.bytes - bytes <= ALIGNED ? &after->second : NULL;
}

inline std::string describe(const void *p) {
  Memory &m = memory();
  bool device = is_device_address(p);
  if (!device && !within(p, m.bytes)) return "host memory";
  const char *bytes = device ? m.bytes + ((const char *)p - m.device) : (const char *)p;
  Block *soon = block_soon(bytes), *b = soon ? soon : block_before(bytes);
  if (!b) return "memory that nobody allocated";
  Here at = b->live ? b->here : b->freed_here;
  long past = soon ? 0 : (long)(bytes - b->bytes) - (long)b->size;
  return (soon ? std::to_string(b->bytes - bytes) + " bytes before " : "") +
         (past > 0 ? std::to_string(past) + " bytes past the end of " : "") +
         std::to_string(b->size) + " bytes of " + b->kind() +
         (b->live ? " allocated at " : " freed at ") + at.file + ':' + std::to_string(at.line);
}

/* Where the bytes at this device address are; all n of them must be there. Kernels may have
   stored what they were given, so an address of bytes is as good. */
inline char *device_bytes(const void *p, size_t n, const char *what, Here here) {
  Memory &m = memory();
  char *bytes = is_device_address(p) ? m.bytes + ((const char *)p - m.device) : (char *)p;
  Block *b = within(bytes, m.bytes) ? block_of(bytes) : NULL;
  if (!b || b->pinned || !b->live)
    fatal(here, "%s is %p, not an address of device memory: %s", what, p, describe(p).c_str());
  if (n > b->size - (size_t)(bytes - b->bytes))
    fatal(here, "%s needs %zu bytes at %p, which is %zu into %s", what, n, p,
          (size_t)(bytes - b->bytes), describe(p).c_str());
  return bytes;
}

/* Host memory: only of pinned memory is its extent known. */
inline char *host_bytes(const void *p, size_t n, const char *what, Here here, bool *pinned) {
  if (is_device_address(p))
    fatal(here, "%s is %p, not an address of host memory: %s", what, p, describe(p).c_str());
  Block *b = within(p, memory().bytes) ? block_of((const char *)p) : NULL;
  if (b && (!b->live || n > b->size - (size_t)((const char *)p - b->bytes)))
    fatal(here, "%s needs %zu bytes at %p: %s", what, n, p, describe(p).c_str());
  *pinned = b != NULL;
  return (char *)p;
}

/* ---- Allocate and free */

inline Block *allocate(size_t size, bool pinned, Here here) {
  Memory &m = memory();
  size_t rounded = (size + ALIGNED - 1) / ALIGNED * ALIGNED;
  size_t pages = (rounded + PAGE - 1) / PAGE * PAGE;
  if (rounded < size || pages + 2 * PAGE > m.range - m.reserved) return NULL;
  if (!pinned && (size > state().memory || m.used > state().memory - size)) return NULL;
  char *page = m.bytes + m.reserved;
  if (m.freed[pages].empty()) m.reserved += pages + PAGE;
  else {
    page = m.freed[pages].back();
    m.freed[pages].pop_back();
    m.blocks.erase(m.blocks.lower_bound(page), m.blocks.lower_bound(page + pages));
  }
  if (mprotect(page, pages, PROT_READ | PROT_WRITE)) return NULL;
  memset(page, CANARY, pages);
  size_t slack = pages - rounded;                        /* so that its end is the guard */
  memset(page + slack, 0xff, size);                      /* NaN */
  if (!pinned) m.used += size;
  Block b = { page + slack, size, slack, pages, pinned, true, here, here };
  born(b.bytes, std::to_string(size) + " bytes of " + b.kind(), here);
  return m.live[b.bytes] = &(m.blocks[b.bytes] = b);
}

/* cudaMalloc and its sisters. The address is not written if there is no memory. */
inline cudaError_t allocate_for(void **p, size_t size, bool pinned, Here here) {
  Memory &m = memory();
  state().count.mallocs++;
  Block *b = size ? allocate(size, pinned, here) : NULL;
  if (size && !b) return fail(cudaErrorMemoryAllocation);
  *p = !b ? NULL : pinned ? b->bytes : m.device + (b->bytes - m.bytes);
  return cudaSuccess;
}

/* Has anything written beside a block? */
inline void check_margins(const Block &b, const char *when, Here here) {
  const char *tail = b.bytes + b.size, *end = b.bytes - b.slack + b.pages;
  const char *canaries = memory().canaries;
  const char *p = b.slack ? b.bytes - b.slack : tail;
  if (!memcmp(b.bytes - b.slack, canaries, b.slack) &&
      !memcmp(tail, canaries, (size_t)(end - tail))) return;
  while (p < end && *p == *canaries) p = p + 1 == b.bytes ? tail : p + 1;
  fatal(here, "%s wrote beside %s, %ld bytes from its start", when, describe(b.bytes).c_str(),
        (long)(p - b.bytes));
}

inline void check_all_margins(const char *when, Here here) {
  for (auto &each : memory().live) check_margins(*each.second, when, here);
}

inline void give_back(void *p, bool pinned, const char *call, Here here) {
  Memory &m = memory();
  char *bytes = (char *)p;
  if (!pinned && is_device_address(p)) bytes = m.bytes + (bytes - m.device);
  auto found = m.blocks.find(bytes);
  bool right = found != m.blocks.end() && found->second.pinned == pinned;
  if (!right || !found->second.live || (!pinned && !is_device_address(p)))
    fatal(here, "%s was given %p, no block of its own: %s", call, p, describe(p).c_str());
  Block &b = found->second;
  check_margins(b, call, here);
  b.live = false;
  b.freed_here = here;
  if (!pinned) m.used -= b.size;
  state().live.erase(b.bytes);
  m.live.erase(b.bytes);
  madvise(b.bytes - b.slack, b.pages, MADV_DONTNEED);
  mprotect(b.bytes - b.slack, b.pages, PROT_NONE);
  if (state().reuse) m.freed[b.pages].push_back(b.bytes - b.slack);
}

/* ---- What a fault was */

inline const char *running_thread();                     /* in shim_block.h */

inline const char *access_of(void *context) {
#ifdef __x86_64__
  return ((ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2 ? "writes" : "reads";
#else
  (void)context;
  return "touches";
#endif
}

inline void on_fault(int number, siginfo_t *info, void *context) {
  char *p = (char *)info->si_addr;
  Memory &m = memory();
  State &s = state();
  bool device = is_device_address(p);
  if (!device && !within(p, m.bytes)) {                  /* not ours: it comes again */
    sigaction(number, number == SIGSEGV ? &m.old_segv : &m.old_bus, NULL);
    return;
  }
  if (s.op)
    fatal(s.op_here, "%s%s %s %s %p: %s", tidy(s.op).c_str(), running_thread(),
          access_of(context), device ? "an address that was no argument of it," : "at", p,
          describe(p).c_str());
  Block *b = block_before(device ? m.bytes + (p - m.device) : p);
  fatal(b ? b->here : Here("host code", 0), "host code %s %s %p: %s", access_of(context),
        device ? "at a device address" : "at", p, describe(p).c_str());
}

inline void catch_faults(Memory *m) {
  static char stack[64 * 1024];                          /* a fiber's own may be full */
  stack_t old, ours = {};
  ours.ss_sp = stack;
  ours.ss_size = sizeof stack;
  if (!sigaltstack(NULL, &old) && (old.ss_flags & SS_DISABLE)) sigaltstack(&ours, NULL);
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &m->old_segv);
  sigaction(SIGBUS, &action, &m->old_bus);
}

inline Memory::Memory() : device(reserve(range)), bytes(reserve(range)) {
  memset(canaries, CANARY, sizeof canaries);
  catch_faults(this);
}

} /* namespace cudashim */

#endif /* CUDASHIM_MEMORY_H */
