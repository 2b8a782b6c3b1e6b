/* shim_block.h - how a kernel runs: its blocks one after another, and their threads too.

   A fiber is a stack of its own. Threads are plain calls in a loop, on one fiber, until one
   meets a barrier. That thread keeps its fiber and sleeps, and a fresh fiber runs the other
   threads. When nothing is left to run, the threads wake up that all sleep at the same line. */
#ifndef CUDASHIM_BLOCK_H
#define CUDASHIM_BLOCK_H

#include <algorithm>
#include <tuple>
#include <type_traits>

#if !defined __x86_64__ || !defined __linux__
#error "the emulation is for Linux on x86-64"
#endif

/* ---- The names that a kernel reads. Grids have two dimensions, and blocks have one. */

#define __global__
#define __device__
#define __launch_bounds__(...)
#define __shared__ static __attribute__((section("cudashim_shared")))

struct dim3 {
  unsigned x;
  unsigned y;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1) : x(x_), y(y_) {}
};
static dim3 threadIdx, blockIdx, blockDim, gridDim;

/* The linker collects all that is __shared__ in one section. */
extern char shared_begin[] __asm__("__start_cudashim_shared") __attribute__((weak));
extern char shared_end[] __asm__("__stop_cudashim_shared") __attribute__((weak));

/* ---- Fibers. The switch saves the registers that a call keeps. */

extern "C" void cudashim_switch(void **save, void *to);
__asm__(".pushsection .text\n"
        ".type cudashim_switch, @function\n"
        "cudashim_switch:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
        "  ret\n"
        ".size cudashim_switch, . - cudashim_switch\n"
        ".popsection\n");

namespace cudashim {

enum { STACK = 128 * 1024, MAX_THREADS = 1024, WARP = 32 };

struct Fiber {
  void *top;                                 /* the saved stack pointer                       */
  int idle;
};
static void *outside;                        /* the stack that fibers are entered from        */
static std::vector<Fiber *> idle_fibers;

inline void run_threads();                   /* what a fiber does each time it is taken       */
static Fiber *entered;

inline void fiber_main() {
  for (;;) {
    run_threads();
    entered->idle = 1;
    cudashim_switch(&entered->top, outside);
  }
}

/* An inaccessible page is below the stack. */
inline Fiber *take_fiber() {
  if (!idle_fibers.empty()) {
    Fiber *fiber = idle_fibers.back();
    idle_fibers.pop_back();
    return fiber;
  }
  char *stack = reserve(PAGE + STACK);
  if (mprotect(stack + PAGE, STACK, PROT_READ | PROT_WRITE)) fatal(Here(), "no memory");
  void **top = (void **)(stack + PAGE + STACK) - 2;  /* aligned as after a call               */
  *--top = NULL;
  *--top = (void *)fiber_main;
  for (int i = 0; i < 6; i++) *--top = NULL;
  return new Fiber{ top, 0 };
}

inline void enter_fiber(Fiber *fiber) {
  fiber->idle = 0;
  entered = fiber;
  cudashim_switch(&outside, fiber->top);
  entered = NULL;
  if (fiber->idle) idle_fibers.push_back(fiber);
}

/* ---- The block that runs */

enum Sleep { AWAKE, AT_BLOCK, AT_WARP, RETURNED };
struct Thread {
  Sleep sleep;
  Here here;                                 /* of the barrier                                */
  int source;                                /* the lane whose `give` becomes `got`           */
  unsigned long long give;
  unsigned long long got;
  Fiber *fiber;
};

/* All numbers below n, once each: i -> a i + b mod n. */
struct Order {
  unsigned long long n;
  unsigned long long a;
  unsigned long long b;
  unsigned at(unsigned long long i) const { return (unsigned)((a * i + b) % n); }
};

static struct {
  unsigned n;
  unsigned started;
  unsigned current;
  unsigned asleep;
  Order order;
  const std::function<void()> *kernel;       /* calls the kernel for one thread               */
  Thread thread[MAX_THREADS];
} block;

inline unsigned long long random_below(unsigned long long n) {
  static unsigned long long x = strtoull(state().order.c_str(), NULL, 10) + 1;
  x = x * 6364136223846793005u + 1442695040888963407u;
  return (x >> 33) % n;
}

inline Order order_of(unsigned long long n) {
  if (state().order == "fwd") return { n, 1, 0 };
  if (state().order == "rev") return { n, n - 1, n - 1 };
  unsigned long long a = 1 + random_below(n), x = n, y = a;
  while (y) {
    unsigned long long rest = x % y;
    x = y;
    y = rest;
  }
  return { n, x == 1 ? a : 1, random_below(n) };
}

inline void set_thread(unsigned t) {
  block.current = t;
  threadIdx = dim3(t);
}

inline void run_threads() {
  while (block.started < block.n) {
    set_thread(block.order.at(block.started++));
    (*block.kernel)();
    block.thread[block.current].sleep = RETURNED;
  }
}

inline std::string name_of(unsigned t) {
  char text[100];
  snprintf(text, sizeof text, "thread %u of block (%u,%u)", t, blockIdx.x, blockIdx.y);
  return text;
}
inline std::string running_thread() {
  return entered ? ", " + name_of(block.current) + "," : "";
}

/* A thread sleeps here until its barrier opens. */
inline unsigned long long wait_at(Sleep kind, Here here, unsigned long long give, int source) {
  Thread &me = block.thread[block.current];
  if (!entered) fatal(here, "a barrier outside of a kernel");
  me = { kind, here, source, give, 0, entered };
  block.asleep++;
  cudashim_switch(&entered->top, outside);
  return me.got;
}

inline void __attribute__((noreturn)) divergence(unsigned t, unsigned other) {
  Thread &me = block.thread[t], &its = block.thread[other];
  std::string where = its.sleep == RETURNED ? "has returned"
                      : "waits at line " + std::to_string(its.here.line);
  fatal(me.here, "barrier divergence in %s: %s waits at line %d, but %s %s",
        tidy(state().op).c_str(), name_of(t).c_str(), me.here.line, name_of(other).c_str(),
        where.c_str());
}

/* Opens the barrier of the threads first .. end-1, if they all sleep at the same line. */
inline int open_barrier(unsigned first, unsigned end, unsigned *other) {
  for (unsigned t = first; t < end; t++) {
    Thread &me = block.thread[first], &its = block.thread[t];
    *other = t;
    if (its.sleep != me.sleep || its.here.line != me.here.line) return 0;
  }
  for (unsigned t = first; t < end; t++)
    if (block.thread[t].sleep == AT_WARP)
      block.thread[t].got = block.thread[first + (unsigned)block.thread[t].source].give;
  for (unsigned t = first; t < end; t++) block.thread[t].sleep = AWAKE;
  block.asleep -= end - first;
  return 1;
}

/* Opens what can be opened. Returns 0 if nobody sleeps. */
inline int open_barriers() {
  unsigned before = block.asleep, other = 0, first = 0;
  if (!block.asleep) return 0;
  for (unsigned t = 0; t < block.n; t += WARP)
    if (block.thread[t].sleep == AT_WARP)
      if (!open_barrier(t, std::min(t + WARP, block.n), &other)) divergence(t, other);
  if (block.asleep < before) return 1;
  while (block.thread[first].sleep == RETURNED) first++;
  if (first || !open_barrier(0, block.n, &other)) divergence(first, first ? 0 : other);
  return 1;
}

inline void run_block() {
  char *shared = shared_begin, *end = shared_end;        /* Both are NULL if there is none.   */
  block.started = block.asleep = 0;
  if (shared != end) memset(shared, 0xff, (size_t)(end - shared));
  while (block.started < block.n) enter_fiber(take_fiber());
  while (open_barriers())
    for (unsigned i = 0; i < block.n; i++) {
      unsigned t = block.order.at(i);
      if (block.thread[t].sleep != AWAKE) continue;
      set_thread(t);
      enter_fiber(block.thread[t].fiber);
    }
}

inline void run_grid(dim3 grid, unsigned threads, const std::function<void()> &kernel) {
  Order blocks = order_of((unsigned long long)grid.x * grid.y);
  block.n = threads;
  block.kernel = &kernel;
  block.order = order_of(threads);
  gridDim = grid;
  blockDim = dim3(threads);
  for (unsigned long long i = 0; i < blocks.n; i++) {
    unsigned b = blocks.at(i);
    blockIdx = dim3(b % grid.x, b / grid.x);
    run_block();
  }
}

/* ---- Launching. Arguments are translated: an address becomes the address of its bytes. A
   struct is translated word by word. */
template <class T> T argument(T value, const char *kernel, int number, Here here) {
  std::string what = tidy(kernel) + ": argument " + std::to_string(number);
  if constexpr (std::is_pointer<T>::value)
    return value ? (T)(void *)device_bytes((const void *)value, 0, what.c_str(), here) : value;
  if constexpr (std::is_class<T>::value)
    for (size_t at = 0; at + sizeof(void *) <= sizeof value; at += sizeof(void *)) {
      void *p;
      memcpy(&p, (char *)&value + at, sizeof p);
      if (!is_device_address(p)) continue;
      p = device_bytes(p, 0, what.c_str(), here);
      memcpy((char *)&value + at, &p, sizeof p);
    }
  return value;
}

template <class T> struct As { typedef T type; };        /* It converts as a call does.       */

template <class... P>
void launch(const char *name, Here here, void (*kernel)(P...), dim3 grid, unsigned threads,
            cudaStream_t stream, typename As<P>::type... args) {
  static_assert((sizeof(P) + ... + 0) <= 4096, "the arguments of a kernel have at most 4 KB");
  State &s = state();
  auto number = [n = 0]() mutable { return ++n; };
  cudaError_t e = enter("cudaLaunchKernel", ANYTIME);
  int fits = grid.x && grid.y && threads && grid.y <= 65535 && threads <= MAX_THREADS;
  if (!e && !fits) e = fail(cudaErrorInvalidConfiguration);
  if (!e) {
    std::tuple<P...> all{ argument<P>(args, name, number(), here)... };
    std::function<void()> call = [=] { std::apply(kernel, all); };
    (void)number;                        /* A kernel may have no arguments.                   */
    e = submit(live_stream(stream, name, here), Op{ name, here, KERNEL, 0, [=] {
      run_grid(grid, threads, call);
    } });
  }
  if (e && !s.unread) s.unread = name;
}

} /* namespace cudashim */

#define LAUNCH(kernel, grid, block, ...) \
  cudashim::launch(#kernel, cudashim::Here(), kernel, grid, block, __VA_ARGS__)

inline unsigned __umulhi(unsigned x, unsigned y) {
  return (unsigned)((unsigned long long)x * y >> 32);
}

/* ---- Barriers and the shuffle. All lanes of a warp take part in a shuffle. */

inline void __syncthreads(cudashim::Here here = {}) {
  cudashim::wait_at(cudashim::AT_BLOCK, here, 0, 0);
}

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, cudashim::Here here = {}) {
  unsigned long long word = 0;
  if (mask != 0xffffffffu) cudashim::fatal(here, "a shuffle of a part of a warp");
  memcpy(&word, &value, sizeof value);
  word = cudashim::wait_at(cudashim::AT_WARP, here, word, (int)(threadIdx.x % 32) ^ bits);
  memcpy(&value, &word, sizeof value);
  return value;
}

/* Bit k is 1 if lane k has a number that is not 0. */
inline unsigned __ballot_sync(unsigned mask, int number, cudashim::Here here = {}) {
  unsigned bits = (unsigned)(number != 0) << threadIdx.x % 32;
  for (int k = 16; k > 0; k /= 2) bits |= __shfl_xor_sync(mask, bits, k, here);
  return bits;
}
inline int __ffs(int x) { return __builtin_ffs(x); }

#endif /* CUDASHIM_BLOCK_H */
