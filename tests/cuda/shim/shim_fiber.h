/* shim_fiber.h - fibers: stacks that take turns, and what the sanitizers must know of them. */

#ifndef CUDASHIM_FIBER_H
#define CUDASHIM_FIBER_H

#include <deque>

#include "shim_memory.h"

#ifdef CUDASHIM_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef CUDASHIM_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/* ---- The switch: x86-64 in assembly, which is 100 times faster than swapcontext's */

#if defined __x86_64__ && defined __linux__ && !defined CUDASHIM_UCONTEXT

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
struct Context { void *stack_pointer; };
inline void switch_context(Context *from, Context *to) {
  cudashim_switch(&from->stack_pointer, to->stack_pointer);
}
inline void make_context(Context *context, char *stack, size_t size, void (*start)()) {
  void **top = (void **)(stack + size) - 2;              /* aligned as after a call */
  *--top = NULL;                                         /* start never returns */
  *--top = (void *)start;
  for (int i = 0; i < 6; i++) *--top = NULL;
  context->stack_pointer = top;
}
} /* namespace cudashim */

#else

namespace cudashim {
struct Context { ucontext_t c; };
inline void switch_context(Context *from, Context *to) { swapcontext(&from->c, &to->c); }
inline void make_context(Context *context, char *stack, size_t size, void (*start)()) {
  getcontext(&context->c);
  context->c.uc_stack.ss_sp = stack;
  context->c.uc_stack.ss_size = size;
  context->c.uc_link = NULL;
  makecontext(&context->c, start, 0);
}
} /* namespace cudashim */

#endif

namespace cudashim {

#ifdef CUDASHIM_TSAN
enum { STACK = 64 * 1024, ONE_THREAD = 1 };              /* a CUDA thread, a fiber */
#else
enum { STACK = 128 * 1024, ONE_THREAD = 0 };
#endif

struct Fiber {
  char *stack;
  Context context;
  void *fake;                                /* AddressSanitizer's */
  bool idle;
  void *clock;                               /* ThreadSanitizer's */
  long grid;                                 /* the last one that it ran a thread of */
};

static Context outside;                      /* where fibers were entered from */
static Fiber *entered;

inline std::deque<Fiber *> &idle_fibers() {
  static auto *idle = new std::deque<Fiber *>;
  return *idle;
}

inline void fiber_body();                    /* in shim_block.h */

/* ---- What AddressSanitizer is told */

static const void *outside_stack;
static size_t outside_size;

#ifdef CUDASHIM_ASAN
inline void asan_leaves(void **fake, const void *stack, size_t size) {
  __sanitizer_start_switch_fiber(fake, stack, size);
}
inline void asan_arrives(void *fake, const void **stack, size_t *size) {
  __sanitizer_finish_switch_fiber(fake, stack, size);
}
#else
inline void asan_leaves(void **, const void *, size_t) {}
inline void asan_arrives(void *, const void **, size_t *) {}
#endif

/* ---- What ThreadSanitizer is told.

   It keeps a clock for each fiber, and a fiber runs one CUDA thread of a grid; race_switch says
   whose accesses follow. It may only be called where no function returns between the switch
   and the switch back, since ThreadSanitizer keeps a call stack for each, too: hence macros. A
   token synchronises those who release it with those who acquire it after them.

   A fiber that runs a second thread of a grid, beyond the first MOST_FIBERS, hides the races
   between the two. */

#ifdef CUDASHIM_TSAN

enum { MOST_FIBERS = 1024 };
struct Race {
  void *host;
  long grid, fibers;
  char *end, *block;                         /* tokens: of a grid's end, and of a block: */
};
enum { OF_START, OF_BARRIER, OF_WARPS, TOKENS = OF_WARPS + 32 };
static Race race;

extern "C" void __tsan_java_init(unsigned long begin, unsigned long size);
extern "C" void __tsan_java_alloc(unsigned long p, unsigned long size);
extern "C" void __tsan_java_free(unsigned long p, unsigned long size);

#define CUDASHIM_UNSEEN __attribute__((noinline, no_sanitize("thread")))
#define race_switch(who) __tsan_switch_to_fiber(who, __tsan_switch_to_fiber_no_sync)
#define race_leave() race_switch(race.host)
#define race_return(fiber) race_switch((fiber)->clock)
#define race_mark(fiber, mark, token) \
  do { \
    void *clock = (fiber)->clock, *host = race.host; \
    char *at = token; \
    race_switch(clock); \
    mark(at); \
    race_switch(host); \
  } while (0)
#define race_token(which) (race.block + 8 * (which))
#define race_barrier(t, warp) race_token((warp) ? OF_WARPS + (int)(t) / 32 : (int)OF_BARRIER)
#define race_release(fiber, t, warp) race_mark(fiber, __tsan_release, race_barrier(t, warp))
#define race_acquire(fiber, t, warp) race_mark(fiber, __tsan_acquire, race_barrier(t, warp))
#define race_begin_thread(fiber) \
  do { \
    (fiber)->grid = race.grid; \
    race_mark(fiber, __tsan_acquire, race_token(OF_START)); \
    race_return(fiber); \
  } while (0)
#define race_end_thread(fiber) \
  do { \
    race_leave(); \
    race_mark(fiber, __tsan_release, race.end); \
  } while (0)

/* What happened to shared memory before is forgotten, as if it were allocated anew: that is all
   that the entry points for Java are for. */
inline void race_forget_shared(const void *begin, const void *end) {
  static bool ready;
  unsigned long p = (unsigned long)begin & ~7ul, size = ((unsigned long)end - p + 7) & ~7ul;
  if (!ready) __tsan_java_init(p, size);
  ready = true;
  __tsan_java_alloc(p, size);
  __tsan_java_free(p, size);
}

inline void race_new_fiber(Fiber *fiber) {
  fiber->clock = __tsan_create_fiber(0);
  race.fibers++;
}
inline bool race_wants_another(const Fiber *fiber) {
  return fiber->grid == race.grid && race.fibers < MOST_FIBERS;
}
inline void race_begin_grid() {
  race.grid++;
  race.host = __tsan_get_current_fiber();
  race.end = new char[8];
}
inline void race_end_grid() {
  __tsan_acquire(race.end);
  delete[] race.end;
}
inline void race_begin_block() {
  race.block = new char[8 * TOKENS];
  __tsan_release(race_token(OF_START));
}
inline void race_end_block() { delete[] race.block; }

#else

#define CUDASHIM_UNSEEN
#define race_leave() ((void)0)
#define race_return(fiber) ((void)0)
#define race_release(fiber, t, warp) ((void)0)
#define race_acquire(fiber, t, warp) ((void)0)
#define race_begin_thread(fiber) ((void)0)
#define race_end_thread(fiber) ((void)0)
inline void race_forget_shared(const void *, const void *) {}
inline void race_new_fiber(Fiber *) {}
inline bool race_wants_another(const Fiber *) { return false; }
inline void race_begin_grid() {}
inline void race_end_grid() {}
inline void race_begin_block() {}
inline void race_end_block() {}

#endif

/* ---- Enter and leave */

inline void enter_fiber(Fiber *fiber) {
  void *fake = NULL;
  entered = fiber;
  fiber->idle = false;
  asan_leaves(&fake, fiber->stack, STACK);
  switch_context(&outside, &fiber->context);
  asan_arrives(fake, NULL, NULL);
}

inline void leave_fiber(Fiber *fiber) {
  asan_leaves(&fiber->fake, outside_stack, outside_size);
  switch_context(&fiber->context, &outside);
  asan_arrives(fiber->fake, &outside_stack, &outside_size);
}

inline void fiber_main() {
  Fiber *me = entered;
  asan_arrives(NULL, &outside_stack, &outside_size);
  for (;;) {
    fiber_body();
    me->idle = true;
    leave_fiber(me);
  }
}

/* A stack with a page below it that nobody may touch. */
inline Fiber *make_fiber() {
  Fiber *fiber = new Fiber();
  void *p = mmap(NULL, PAGE + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                 0);
  if (p == MAP_FAILED || mprotect(p, PAGE, PROT_NONE)) fatal(Here(), "no memory for a fiber");
  fiber->stack = (char *)p + PAGE;
  make_context(&fiber->context, fiber->stack, STACK, fiber_main);
  race_new_fiber(fiber);
  return fiber;
}

/* The last one, whose stack is in the cache; for ThreadSanitizer the first one. */
inline Fiber *take_fiber() {
  std::deque<Fiber *> &idle = idle_fibers();
  if (idle.empty() || race_wants_another(idle.front())) return make_fiber();
  Fiber *fiber = ONE_THREAD ? idle.front() : idle.back();
  if (ONE_THREAD) idle.pop_front();
  else idle.pop_back();
  return fiber;
}

} /* namespace cudashim */

#endif /* CUDASHIM_FIBER_H */
