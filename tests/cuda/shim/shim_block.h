/* shim_block.h - how a kernel runs: blocks one after another, the threads of a block too.

   Threads are plain calls in a loop, on one fiber, as long as none meets a barrier. One that
   does keeps its fiber and sleeps; a fresh fiber goes on with the rest. When nothing is left to
   run, the warps and then the block whose threads all sleep at the same line wake up.

   To ThreadSanitizer every CUDA thread is a thread of its own, although all run on this one:
   blocks are not synchronised with each other, threads only by barriers. */

#ifndef CUDASHIM_BLOCK_H
#define CUDASHIM_BLOCK_H

#include <tuple>
#include <type_traits>

#include "shim_fiber.h"
#include "shim_stream.h"

/* ---- What a kernel sees */

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __shared__ static __attribute__((section("cudashim_shared")))

static uint3 threadIdx, blockIdx;
static dim3 blockDim, gridDim;
constexpr int warpSize = 32;

/* The linker collects what is __shared__ in one place. */
extern char shared_begin[] __asm__("__start_cudashim_shared") __attribute__((weak));
extern char shared_end[] __asm__("__stop_cudashim_shared") __attribute__((weak));

namespace cudashim {

enum { MAX_THREADS = 1024, WARP = 32 };
enum Sleep { AWAKE, AT_BLOCK, AT_WARP, RETURNED };

struct Thread {
  Sleep sleep;
  Here here;                                 /* of the barrier */
  const char *call;
  unsigned mask;                             /* of lanes, at a warp's barrier */
  int source;                                /* the lane whose `give` becomes `got` */
  unsigned long long give, got;
  Fiber *fiber;
};

/* All numbers below n, once each: i -> a i + b mod n. */
struct Order {
  unsigned long long n, a, b;
  unsigned at(unsigned long long i) const {
    return (unsigned)(a == 1 && b == 0 ? i : (a * i + b) % n);
  }
};

/* The block that runs. */
struct Running {
  unsigned n, started, current, asleep;
  Order order;
  Fiber *fiber;
  void (*threads)(const void *args);         /* runs threads until all have started */
  const void *args;
  Thread thread[MAX_THREADS];
};
static Running block;

/* ---- Order */

inline unsigned long long random_below(unsigned long long n) {
  static unsigned long long x = strtoull(state().order.c_str(), NULL, 10) + 1;
  x = x * 6364136223846793005u + 1442695040888963407u;
  return (x >> 33) % n;
}

inline Order order_of(unsigned long long n) {
  const std::string &name = state().order;
  if (name == "fwd") return { n, 1, 0 };
  if (name == "rev") return { n, n - 1, n - 1 };
  unsigned long long a = 1 + random_below(n), x = n, y = a;
  while (y) { unsigned long long rest = x % y; x = y; y = rest; }
  return { n, x == 1 ? a : 1, random_below(n) };
}

/* ---- Threads. What kernels read is written unseen by ThreadSanitizer. */

CUDASHIM_UNSEEN inline void set_thread(unsigned t) {
  block.current = t;
  unsigned row = blockDim.x, plane = blockDim.x * blockDim.y;
  if (t < row) { threadIdx = { t, 0, 0 }; return; }
  threadIdx = { t % row, t / row % blockDim.y, t / plane };
}

CUDASHIM_UNSEEN inline void set_block(unsigned b) {
  unsigned row = gridDim.x, plane = gridDim.x * gridDim.y;
  blockIdx = { b % row, b / row % gridDim.y, b / plane };
}

CUDASHIM_UNSEEN inline void set_launch(dim3 grid, dim3 threads) {
  gridDim = grid;
  blockDim = threads;
}

inline unsigned begin_thread() {
  unsigned t = block.order.at(block.started++);
  set_thread(t);
  return t;
}

/* The body of a fiber: calls the kernel for one thread after another. */
template <class... P> void threads_of(void (*kernel)(P...), const std::tuple<P...> &args) {
  while (block.started < block.n) {
    unsigned t = begin_thread();
    race_begin_thread(block.fiber);
    std::apply(kernel, args);
    race_end_thread(block.fiber);
    block.thread[t].sleep = RETURNED;
    if (ONE_THREAD) return;
  }
}

inline std::string name_of(unsigned t) {
  unsigned row = blockDim.x, plane = blockDim.x * blockDim.y;
  char text[100];
  snprintf(text, sizeof text, "thread (%u,%u,%u) of block (%u,%u,%u)", t % row,
           t / row % blockDim.y, t / plane, blockIdx.x, blockIdx.y, blockIdx.z);
  return text;
}

inline const char *running_thread() {
  static std::string text;
  if (!block.fiber) return "";
  text = ", " + name_of(block.current) + ",";
  return text.c_str();
}

/* ---- Barriers, seen from a thread */

inline unsigned long long wait_at(Sleep kind, const char *call, Here here, unsigned mask = 0,
                                  unsigned long long give = 0, int source = 0) {
  race_leave();
  unsigned t = block.current;
  if (!block.fiber) fatal(here, "%s outside of a kernel", call);
  Thread &me = block.thread[t];
  me = { kind, here, call, mask, source, give, 0, block.fiber };
  block.asleep++;
  race_release(block.fiber, t, kind == AT_WARP);
  leave_fiber(block.fiber);
  unsigned long long got = me.got;
  race_return(block.fiber);
  return got;
}

/* ---- Barriers, seen from outside */

inline void __attribute__((noreturn)) divergence(unsigned t, unsigned other) {
  Thread &me = block.thread[t], &its = block.thread[other];
  std::string where = its.sleep == RETURNED ? "has returned"
      : std::string("waits in ") + its.call + " at line " + std::to_string(its.here.line);
  fatal(me.here, "barrier divergence in %s: %s waits in %s, but %s %s",
        tidy(state().op).c_str(), name_of(t).c_str(), me.call, name_of(other).c_str(),
        where.c_str());
}

inline void wake(unsigned t) {
  Thread &thread = block.thread[t];
  race_acquire(thread.fiber, t, thread.sleep == AT_WARP);    /* before any of them goes on */
  thread.sleep = AWAKE;
  block.asleep--;
}

inline bool same_place(const Thread &a, const Thread &b) {
  return a.sleep == b.sleep && a.here.line == b.here.line && a.mask == b.mask &&
         (a.here.file == b.here.file || !strcmp(a.here.file, b.here.file));
}

/* The lanes that sleep with thread t, if all that its mask names do, or have returned. */
inline bool warp_is_there(unsigned t, unsigned *other) {
  unsigned first = t / WARP * WARP;
  for (unsigned lane = 0; lane < WARP && first + lane < block.n; lane++) {
    Thread &its = block.thread[first + lane];
    if (!(block.thread[t].mask >> lane & 1) || its.sleep == RETURNED) continue;
    *other = first + lane;
    if (!same_place(block.thread[t], its)) return false;
  }
  return true;
}

/* What a lane reads that is not there is undefined: all bits set. */
inline void wake_warp(unsigned t) {
  unsigned first = t / WARP * WARP, mask = block.thread[t].mask;
  unsigned end = first + WARP < block.n ? first + WARP : block.n;
  auto here = [&](unsigned i) {
    return i < end && (mask >> (i - first) & 1) && same_place(block.thread[t], block.thread[i]);
  };
  for (unsigned i = first; i < end; i++) if (here(i)) {
    unsigned from = first + (unsigned)block.thread[i].source;
    block.thread[i].got = here(from) ? block.thread[from].give : ~0ull;
  }
  Thread like = block.thread[t];
  for (unsigned i = first; i < end; i++)
    if ((mask >> (i - first) & 1) && same_place(like, block.thread[i])) wake(i);
}

/* Opens what can be opened; false if nobody sleeps. */
inline bool open_barriers() {
  if (!block.asleep) return false;
  unsigned before = block.asleep, other = 0, first = 0;
  for (unsigned t = 0; t < block.n; t++)
    if (block.thread[t].sleep == AT_WARP && warp_is_there(t, &other)) wake_warp(t);
  if (block.asleep < before) return true;
  while (block.thread[first].sleep == RETURNED) first++;
  if (block.thread[first].sleep == AT_WARP && !warp_is_there(first, &other))
    divergence(first, other);
  for (unsigned t = 0; t < block.n; t++)
    if (!same_place(block.thread[first], block.thread[t])) divergence(first, t);
  for (unsigned t = 0; t < block.n; t++) wake(t);
  return true;
}

/* ---- A block, a grid */

/* A fiber that ran to its end can be used again. */
inline void resume(Fiber *fiber) {
  block.fiber = fiber;
  enter_fiber(fiber);
  block.fiber = NULL;
  if (fiber->idle) idle_fibers().push_back(fiber);
}

inline void run_awake() {
  for (unsigned i = 0; i < block.n; i++) {
    unsigned t = block.order.at(i);
    if (block.thread[t].sleep != AWAKE) continue;
    set_thread(t);
    resume(block.thread[t].fiber);
  }
}

inline void run_block() {
  char *shared = shared_begin, *end = shared_end;        /* NULL, both, if there is none */
  block.started = block.asleep = 0;
  if (shared != end) race_forget_shared(shared, end);
  if (shared != end) memset(shared, 0xff, (size_t)(end - shared));
  race_begin_block();
  while (block.started < block.n) resume(take_fiber());
  while (open_barriers()) run_awake();
  race_end_block();
}

/* What a fiber does each time it is taken. */
inline void fiber_body() { block.threads(block.args); }

inline void run_grid(dim3 grid, dim3 threads, void (*body)(const void *), const void *args) {
  block.n = threads.x * threads.y * threads.z;
  block.threads = body;
  block.args = args;
  block.order = order_of(block.n);
  set_launch(grid, threads);
  Order blocks = order_of((unsigned long long)grid.x * grid.y * grid.z);
  race_begin_grid();
  for (unsigned long long i = 0; i < blocks.n; i++) {
    set_block(blocks.at(i));
    run_block();
  }
  race_end_grid();
}

/* ---- Launching */

inline bool launchable(dim3 grid, dim3 b) {
  return grid.x && grid.y && grid.z && b.x && b.y && b.z && grid.x <= 0x7fffffff &&
         grid.y <= 65535 && grid.z <= 65535 && b.x <= 1024 && b.y <= 1024 && b.z <= 64 &&
         (unsigned long long)b.x * b.y * b.z <= MAX_THREADS;
}

/* A struct is translated word by word: a device address becomes the address of its bytes. */
inline void translate_struct(void *value, size_t size, const char *what, Here here) {
  for (size_t at = 0; at + sizeof(void *) <= size; at += sizeof(void *)) {
    void *p;
    memcpy(&p, (char *)value + at, sizeof p);
    if (!is_device_address(p)) continue;
    p = device_bytes(p, 0, what, here);
    memcpy((char *)value + at, &p, sizeof p);
  }
}

template <class T> T argument(T value, const char *kernel, int number, Here here) {
  std::string what = tidy(kernel) + ": argument " + std::to_string(number);
  if constexpr (std::is_pointer<T>::value)
    return value ? (T)(void *)device_bytes((const void *)value, 0, what.c_str(), here) : value;
  else if constexpr (std::is_class<T>::value)
    translate_struct(&value, sizeof value, what.c_str(), here);
  return value;
}

template <class T> struct As { typedef T type; };        /* converts as a call does */

template <class... P>
void launch(const char *name, Here here, void (*kernel)(P...), dim3 grid, dim3 threads,
            cudaStream_t stream, typename As<P>::type... args) {
  State &s = state();
  cudaError_t e = enter("cudaLaunchKernel");
  if (!e && !launchable(grid, threads)) e = fail(cudaErrorInvalidConfiguration);
  if (!e) {
    typedef std::tuple<P...> Args;
    auto number = [n = 0]() mutable { return ++n; };
    cudaStream_t at = stream_of(stream, tidy(name).c_str(), here);
    auto call = std::make_pair(kernel, Args{ argument<P>(args, name, number(), here)... });
    if (!at->graph) s.count.launches++;
    (void)number;
    e = submit(at, Op{ name, here, KERNEL, 0, [=] {
      run_grid(grid, threads, [](const void *p) {
        auto *c = (const decltype(call) *)p;
        threads_of<P...>(c->first, c->second);
      }, &call);
    } });
  }
  if (e && !s.unread) { s.unread = name; s.unread_here = here; }
}

} /* namespace cudashim */

#define LAUNCH(kernel, grid, block, ...) \
  cudashim::launch(#kernel, cudashim::Here(), kernel, grid, block, __VA_ARGS__)

/* ---- Barriers, shuffles, atomics */

inline void __syncthreads(cudashim::Here here = {}) {
  cudashim::wait_at(cudashim::AT_BLOCK, "__syncthreads", here);
}
inline void __syncwarp(unsigned mask = 0xffffffff, cudashim::Here here = {}) {
  cudashim::wait_at(cudashim::AT_WARP, "__syncwarp", here, mask);
}

namespace cudashim {

template <class T>
T shuffle(const char *call, Here here, unsigned mask, T value, unsigned lane, int source) {
  static_assert(sizeof(T) <= 8, "a shuffle moves 4 or 8 bytes");
  if (!(mask >> lane & 1))
    fatal(here, "%s by lane %u, which its mask %x lacks", call, lane, mask);
  unsigned long long bits = 0;
  memcpy(&bits, &value, sizeof value);
  bits = wait_at(AT_WARP, call, here, mask, bits, source);
  memcpy(&value, &bits, sizeof value);
  return value;
}

inline int lane_here() {
  unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  return (int)(t % WARP);
}

} /* namespace cudashim */

template <class T> T __shfl_sync(unsigned mask, T value, int source, int width = 32,
                                 cudashim::Here here = {}) {
  int lane = cudashim::lane_here(), first = lane / width * width;
  return cudashim::shuffle("__shfl_sync", here, mask, value, (unsigned)lane,
                           first + (source & (width - 1)));
}
template <class T> T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32,
                                      cudashim::Here here = {}) {
  int lane = cudashim::lane_here(), from = lane + (int)by;
  if (from / width != lane / width) from = lane;
  return cudashim::shuffle("__shfl_down_sync", here, mask, value, (unsigned)lane, from);
}
template <class T> T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32,
                                    cudashim::Here here = {}) {
  int lane = cudashim::lane_here(), from = lane - (int)by;
  if (from < lane / width * width) from = lane;
  return cudashim::shuffle("__shfl_up_sync", here, mask, value, (unsigned)lane, from);
}
template <class T> T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32,
                                     cudashim::Here here = {}) {
  int lane = cudashim::lane_here(), from = lane ^ bits;
  if (from / width > lane / width) from = lane;
  return cudashim::shuffle("__shfl_xor_sync", here, mask, value, (unsigned)lane, from);
}

namespace cudashim {
template <class T> struct Integer {
  static_assert(std::is_integral<T>::value && sizeof(T) >= 4,
                "no atomics on floats: their order would change the result");
  typedef T type;
};
template <class T, class F> T atomic(T *p, F change) {
  T old = __atomic_load_n(p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(p, &old, change(old), false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {}
  return old;
}
} /* namespace cudashim */

#define CUDASHIM_ATOMIC(name, expression) \
  template <class T> T name(T *p, typename cudashim::Integer<T>::type x) { \
    return cudashim::atomic(p, [x](T old) { (void)old; return (T)(expression); }); \
  }
CUDASHIM_ATOMIC(atomicAdd, old + x)
CUDASHIM_ATOMIC(atomicMin, old < x ? old : x)
CUDASHIM_ATOMIC(atomicMax, old > x ? old : x)
CUDASHIM_ATOMIC(atomicExch, x)
template <class T> T atomicCAS(T *p, typename cudashim::Integer<T>::type is,
                               typename cudashim::Integer<T>::type becomes) {
  return cudashim::atomic(p, [=](T old) { return old == is ? becomes : old; });
}

/* ---- Small device functions */

namespace cudashim {
template <class To, class From> To bits_as(From from) {
  To to;
  static_assert(sizeof to == sizeof from, "");
  memcpy(&to, &from, sizeof to);
  return to;
}
} /* namespace cudashim */

inline int __float_as_int(float x) { return cudashim::bits_as<int>(x); }
inline float __int_as_float(int x) { return cudashim::bits_as<float>(x); }
inline unsigned __float_as_uint(float x) { return cudashim::bits_as<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return cudashim::bits_as<float>(x); }
inline long long __double_as_longlong(double x) { return cudashim::bits_as<long long>(x); }
inline double __longlong_as_double(long long x) { return cudashim::bits_as<double>(x); }
inline unsigned __umulhi(unsigned x, unsigned y) {
  return (unsigned)((unsigned long long)x * y >> 32);
}
template <class T> T __ldg(const T *p) { return *p; }

#endif /* CUDASHIM_BLOCK_H */
