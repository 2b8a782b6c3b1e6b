/* shim_core.h - what every part of the emulation needs: findings, the environment, counters,
   injected failures, live objects, and device memory. */
#ifndef CUDASHIM_CORE_H
#define CUDASHIM_CORE_H

#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <map>
#include <string>
#include <vector>

#define CUDASHIM_ERRORS(X) \
  X(Success, 0, "no error") \
  X(ErrorInvalidValue, 1, "invalid argument") \
  X(ErrorMemoryAllocation, 2, "out of memory") \
  X(ErrorInvalidConfiguration, 9, "invalid configuration argument") \
  X(ErrorNoDevice, 100, "no CUDA-capable device is detected") \
  X(ErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing") \
  X(ErrorStreamCaptureInvalidated, 901, \
    "operation failed due to a previous error during capture") \
  X(ErrorUnknown, 999, "unknown error")

typedef enum cudaError {
#define X(name, number, text) cuda##name = number,
  CUDASHIM_ERRORS(X)
#undef X
} cudaError_t;

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraph_st *cudaGraphExec_t;

namespace cudashim {

/* The line of the caller: a default argument of every function of CUDA. */
struct Here {
  const char *file;
  int line;
  Here(const char *f = __builtin_FILE(), int l = __builtin_LINE()) : file(f), line(l) {}
};

/* cudashim_count("NAME") reads one of these. */
#define CUDASHIM_COUNTERS(X) \
  X(api) X(ops) X(kernels) X(gemms) X(memsets) X(copies_h2d) X(bytes_h2d) X(copies_d2h) \
  X(bytes_d2h) X(mallocs) X(frees) X(syncs) X(graph_launches)

struct Counters {
#define X(name) long long name = 0;
  CUDASHIM_COUNTERS(X)
#undef X
};

struct Thing {                               /* something that must be given back             */
  std::string what;
  Here here;
};

struct State {
  Counters count;
  std::map<std::string, long long> kernels;  /* how often each ran                            */
  std::map<const void *, Thing> live;
  cudaError_t last = cudaSuccess;
  const char *unread = NULL;                 /* a launch that failed, and nobody looked       */
  const char *op = NULL;                     /* what the device runs now                      */
  Here op_here;
  cudaStream_t capture = NULL;               /* the stream that captures                      */
  int capture_is_broken = 0;
  int lazy;                                  /* The rest is from the environment.             */
  int reuse;
  int devices;
  long fail_at = 0;
  std::string fail_name;
  std::string order;
  size_t memory;
  inline State();
};

inline State &state() {
  static State *only = new State;            /* It lives longer than every destructor.        */
  return *only;
}

inline const char *setting(const char *name, const char *otherwise) {
  const char *text = getenv(name);
  return text && *text ? text : otherwise;
}

/* CUDASHIM_FAIL is NAME:N. */
inline State::State() {
  char name[100] = "";
  lazy = atoi(setting("CUDASHIM_LAZY", "1"));
  reuse = atoi(setting("CUDASHIM_REUSE", "0"));
  devices = atoi(setting("CUDASHIM_DEVICES", "1"));
  order = setting("CUDASHIM_ORDER", "fwd");
  memory = strtoull(setting("CUDASHIM_MEM", "8589934592"), NULL, 10);
  sscanf(setting("CUDASHIM_FAIL", ""), "%99[^:]:%ld", name, &fail_at);
  fail_name = name;
}

/* Says what mistake the program has made, and where, and stops. */
inline void __attribute__((format(printf, 2, 3), noreturn))
fatal(Here here, const char *format, ...) {
  va_list args;
  fflush(stdout);
  va_start(args, format);
  fprintf(stderr, "cudashim: ");
  vfprintf(stderr, format, args);
  va_end(args);
  fprintf(stderr, " (%s:%d)\n", here.file, here.line);
  _exit(98);
}

/* A macro sees a kernel in parentheses as "(map<Tanh>)". */
inline std::string tidy(const char *name) {
  std::string s = name;
  return s.size() > 2 && s[0] == '(' && s.back() == ')' ? s.substr(1, s.size() - 2) : s;
}

/* ---- Errors, injected and real */

/* Returns 1 if this call has to fail. */
inline int injected(const char *name) {
  State &s = state();
  return s.fail_at && s.fail_name == name && --s.fail_at == 0;
}

inline cudaError_t fail(cudaError_t error) { return state().last = error; }

enum Rule { ANYTIME, NOT_IN_CAPTURE };

/* The start of every function of CUDA. */
inline cudaError_t enter(const char *name, Rule rule) {
  State &s = state();
  s.count.api++;
  if (injected(name))
    return fail(strstr(name, "Malloc") ? cudaErrorMemoryAllocation : cudaErrorUnknown);
  if (!s.devices) return fail(cudaErrorNoDevice);
  if (rule == ANYTIME || !s.capture) return cudaSuccess;
  s.capture_is_broken = 1;
  return fail(cudaErrorStreamCaptureUnsupported);
}

/* Not inline: the compiler would warn that what a failing call leaves unset is used. */
#define CUDASHIM_API inline __attribute__((noinline))

#define CUDASHIM_ENTER(rule) \
  do { \
    cudaError_t entered = cudashim::enter(__func__, cudashim::rule); \
    if (entered != cudaSuccess) return entered; \
  } while (0)

/* ---- Objects that must be given back */

inline void born(const void *object, const std::string &what, Here here) {
  state().live[object] = Thing{ what, here };
}
inline void must_live(const void *object, const char *what, const char *call, Here here) {
  auto found = state().live.find(object);
  if (found != state().live.end() && found->second.what == what) return;
  fatal(here, "%s was given %p, which is not a live %s", call, object, what);
}
inline void died(const void *object, const char *what, const char *call, Here here) {
  must_live(object, what, call, here);
  state().live.erase(object);
}

/* ---- Device memory and pinned memory. Two ranges of addresses are reserved, equally long.
   Bytes are in the second. The address that cudaMalloc gives is the same place in the first,
   which nobody may touch. So the host cannot follow a device address by accident. An
   inaccessible page follows each block: reading past the end, and use after free, fault. Up to
   15 bytes lie between a block and this page. They are NaN, and are looked at in the end.
   Addresses are not used twice, unless CUDASHIM_REUSE is 1. Then freed ones come again at once,
   as from a pool. */
enum { PAGE = 4096, ALIGNED = 16 };         /* for loads of 16 bytes                         */

struct Block {
  char *page;                                /* The block ends near the end of its pages.     */
  char *bytes;
  size_t size;
  size_t pages;
  int pinned;
  int live;
  Here here;                                 /* allocated or freed here                       */
};

struct Memory {
  size_t range = (size_t)1 << 36;
  size_t reserved = PAGE;
  size_t used = 0;
  char *device;
  char *bytes;
  std::map<const char *, Block> blocks;      /* by their bytes; freed ones too                */
  std::map<size_t, std::vector<char *>> freed;       /* first pages, by the number of bytes   */
  Memory();
};

inline Memory &memory() {
  static Memory *only = new Memory;
  return *only;
}

inline int within(const void *p, const char *base) {
  return (const char *)p >= base && (const char *)p < base + memory().range;
}
inline int is_device_address(const void *p) { return within(p, memory().device); }
inline char *bytes_at(const void *p) {
  Memory &m = memory();
  return is_device_address(p) ? m.bytes + ((const char *)p - m.device) : (char *)p;
}

/* Returns the block that has this byte, or ends there, or is the last one before it. */
inline Block *block_before(const char *bytes) {
  auto after = memory().blocks.upper_bound(bytes);
  if (!within(bytes, memory().bytes) || after == memory().blocks.begin()) return NULL;
  return &(--after)->second;
}
inline Block *block_of(const char *bytes) {
  Block *b = block_before(bytes);
  return b && bytes <= b->bytes + b->size ? b : NULL;
}

/* Blocks of a GPU are aligned to 256 bytes. Returns 1 if p has these 16 there. */
inline int is_at_16(const void *p) {
  const Block *b = block_before(bytes_at(p));
  return b && (bytes_at(p) - b->bytes) % 16 == 0;
}

inline std::string describe(const void *p) {
  const Block *b = block_before(bytes_at(p));
  if (!b) return "host memory";
  long past = (long)(bytes_at(p) - b->bytes) - (long)b->size;
  return (past >= 0 ? std::to_string(past) + " bytes past the end of " : "") +
         std::to_string(b->size) + " bytes of " + (b->pinned ? "pinned host" : "device") +
         " memory" + (b->live ? " allocated at " : " freed at ") + b->here.file + ':' +
         std::to_string(b->here.line);
}

/* Returns where the n bytes at a device address are. Kernels may have stored what they were
   given, so the address of bytes is as good. */
inline char *device_bytes(const void *p, size_t n, const char *what, Here here) {
  char *bytes = bytes_at(p);
  Block *b = block_of(bytes);
  if (!b || b->pinned || !b->live || n > b->size - (size_t)(bytes - b->bytes))
    fatal(here, "%s of %zu bytes is %p, not device memory of that size: %s", what, n, p,
          describe(p).c_str());
  return bytes;
}

/* Only the size of pinned memory is known. */
inline char *host_bytes(const void *p, size_t n, const char *what, Here here, int *pinned) {
  Block *b = is_device_address(p) ? NULL : block_of((const char *)p);
  if (is_device_address(p) || (b && (!b->live || (const char *)p + n > b->bytes + b->size)))
    fatal(here, "%s of %zu bytes is %p, not host memory of that size: %s", what, n, p,
          describe(p).c_str());
  *pinned = b != NULL;
  return (char *)p;
}

/* Gives *p a block; the address is not written if there is no memory. New bytes are NaN. */
inline cudaError_t allocate(void **p, size_t size, int pinned, Here here) {
  Memory &m = memory();
  size_t rounded = (size + ALIGNED - 1) / ALIGNED * ALIGNED;
  size_t pages = (rounded + PAGE - 1) / PAGE * PAGE, slack = pages - rounded;
  state().count.mallocs++;
  if (!pinned && (size > state().memory || m.used > state().memory - size))
    return fail(cudaErrorMemoryAllocation);
  char *page = m.bytes + m.reserved;
  if (m.freed[pages].empty()) m.reserved += pages + PAGE;
  else {
    page = m.freed[pages].back();
    m.freed[pages].pop_back();
    m.blocks.erase(m.blocks.lower_bound(page), m.blocks.lower_bound(page + pages));
  }
  if (mprotect(page, pages, PROT_READ | PROT_WRITE)) return fail(cudaErrorMemoryAllocation);
  memset(page + slack, 0xff, rounded);
  if (!pinned) m.used += size;
  Block b = { page, page + slack, size, pages, pinned, 1, here };
  m.blocks[b.bytes] = b;
  born(b.bytes, std::to_string(size) + " bytes of memory", here);
  *p = pinned ? b.bytes : m.device + (b.bytes - m.bytes);
  return cudaSuccess;
}

inline void give_back(void *p, int pinned, const char *call, Here here) {
  Memory &m = memory();
  auto found = m.blocks.find(bytes_at(p));
  int right = found != m.blocks.end() && found->second.pinned == pinned && found->second.live;
  if (!right) fatal(here, "%s was given %p, no block of its own: %s", call, p,
                    describe(p).c_str());
  Block &b = found->second;
  for (char *c = b.bytes + b.size; c < b.page + b.pages; c++)
    if (*c != (char)0xff) fatal(here, "%s: there was a store %s", call, describe(c).c_str());
  b.live = 0;
  b.here = here;
  state().count.frees++;
  if (!pinned) m.used -= b.size;
  state().live.erase(b.bytes);
  madvise(b.page, b.pages, MADV_DONTNEED);
  mprotect(b.page, b.pages, PROT_NONE);
  if (state().reuse) m.freed[b.pages].push_back(b.page);
}

inline std::string running_thread();         /* in shim_block.h                               */

/* A fault outside of our memory comes again, with the default action. */
inline void on_fault(int number, siginfo_t *info, void *) {
  void *p = info->si_addr;
  State &s = state();
  int ours = is_device_address(p) || within(p, memory().bytes);
  if (!ours) signal(number, SIG_DFL);
  else if (s.op)
    fatal(s.op_here, "%s%s touches %p: %s", tidy(s.op).c_str(), running_thread().c_str(), p,
          describe(p).c_str());
  else fatal(Here("host code", 0), "host code touches %p: %s", p, describe(p).c_str());
}

inline char *reserve(size_t size) {
  void *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) fatal(Here(), "cannot reserve %zu bytes of addresses", size);
  return (char *)p;
}

inline Memory::Memory() : device(reserve(range)), bytes(reserve(range)) {
  static char stack[64 * 1024];              /* The stack of a fiber may be full.             */
  stack_t ours = {};
  ours.ss_sp = stack;
  ours.ss_size = sizeof stack;
  sigaltstack(&ours, NULL);
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
}

} /* namespace cudashim */

/* ---- For tests, callable from C */

#define CUDASHIM_FOR_TESTS extern "C" __attribute__((used))

CUDASHIM_FOR_TESTS long long cudashim_count(const char *name) {
  cudashim::State &s = cudashim::state();
#define X(counter) if (!strcmp(name, #counter)) return s.count.counter;
  CUDASHIM_COUNTERS(X)
#undef X
  cudashim::fatal(cudashim::Here("cudashim_count", 0), "no counter is called %s", name);
}

/* Prints what was not given back. Returns the number of these things. */
CUDASHIM_FOR_TESTS int cudashim_leaks(void) {
  for (auto &thing : cudashim::state().live)
    fprintf(stderr, "cudashim: leak: %s (%s:%d)\n", thing.second.what.c_str(),
            thing.second.here.file, thing.second.here.line);
  return (int)cudashim::state().live.size();
}

namespace cudashim {

inline void at_exit(int status, void *) {
  State &s = state();
  if (atoi(setting("CUDASHIM_STATS", "0"))) {
#define X(name) fprintf(stderr, "cudashim: %s %lld\n", #name, s.count.name);
    CUDASHIM_COUNTERS(X)
#undef X
    for (auto &k : s.kernels)
      fprintf(stderr, "cudashim: kernel %s %lld\n", k.first.c_str(), k.second);
  }
  if (status) return;
  if (s.unread)
    fatal(Here(), "nobody looked at the error of the launch of %s", tidy(s.unread).c_str());
  if (!atoi(setting("CUDASHIM_LEAKS", "0")) || !cudashim_leaks()) return;
  fflush(NULL);
  _exit(99);
}

/* This runs before main, so that at_exit runs after what the program registers. */
__attribute__((constructor)) static void at_start() { on_exit(at_exit, NULL); }

} /* namespace cudashim */

#endif /* CUDASHIM_CORE_H */
