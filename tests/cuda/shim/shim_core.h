/* shim_core.h - what every part of the shim needs: places, fatal findings, the environment,
   counters, injected failures, live objects, and what happens at exit. */

#ifndef CUDASHIM_CORE_H
#define CUDASHIM_CORE_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <map>
#include <string>
#include <vector>

#include "shim_types.h"

#if defined __SANITIZE_ADDRESS__
#define CUDASHIM_ASAN 1
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define CUDASHIM_ASAN 1
#endif
#endif
#if defined __SANITIZE_THREAD__
#define CUDASHIM_TSAN 1
#elif defined __has_feature
#if __has_feature(thread_sanitizer)
#define CUDASHIM_TSAN 1
#endif
#endif

namespace cudashim {

/* The line of the caller: a default argument of every API function. */
struct Here {
  const char *file;
  int line;
  Here(const char *f = __builtin_FILE(), int l = __builtin_LINE()) : file(f), line(l) {}
};

/* Every API call and operation that is counted; cudashim_count("NAME") reads one. */
#define CUDASHIM_COUNTERS(X) \
  X(api) X(ops) X(kernels) X(gemms) X(memsets) X(launches) \
  X(copies_h2d) X(bytes_h2d) X(copies_d2h) X(bytes_d2h) X(copies_d2d) X(mallocs) X(frees) \
  X(syncs) X(event_syncs) X(captures) X(instantiations) X(graph_launches)

struct Counters {
#define X(name) long long name = 0;
  CUDASHIM_COUNTERS(X)
#undef X
};

struct Thing { std::string what; Here here; };         /* something that must be given back */

struct State {
  Counters count;
  std::map<std::string, long long> kernels;              /* how often each ran */
  std::map<const void *, Thing> live;
  cudaError_t last = cudaSuccess, sticky = cudaSuccess;
  const char *unread = NULL;                             /* a launch that failed, ... */
  Here unread_here;                                      /* ... which nobody looked at */
  const char *op = NULL;                                 /* what the device runs now */
  Here op_here;
  cudaStream_t capture = NULL;                           /* the stream that captures */

  bool lazy = true, reuse = false;                       /* from the environment: */
  std::string order, fail_name;
  long fail_at = 0;
  int fail_code = 0, devices = 1;
  size_t memory = (size_t)8 << 30;
  State() { read_environment(); }
  inline void read_environment();
  inline void read_failure(const char *text);
};

inline State &state() {
  static State *only = new State;                        /* outlives every destructor */
  return *only;
}

inline const char *setting(const char *name) {
  const char *text = getenv(name);
  return text && *text ? text : NULL;
}

inline void State::read_environment() {
  const char *text = setting("CUDASHIM_LAZY");
  lazy = !text || atoi(text);
  reuse = setting("CUDASHIM_REUSE") != NULL;
  order = (text = setting("CUDASHIM_ORDER")) ? text : "fwd";
  devices = (text = setting("CUDASHIM_DEVICES")) ? atoi(text) : 1;
  if ((text = setting("CUDASHIM_MEM"))) memory = (size_t)strtoull(text, NULL, 10);
  fail_at = 0;
  fail_name.clear();
  if ((text = setting("CUDASHIM_FAIL"))) read_failure(text);
}

/* CUDASHIM_FAIL=N or NAME:N or NAME:N:CODE */
inline void State::read_failure(const char *text) {
  const char *colon = strchr(text, ':');
  if (colon) fail_name.assign(text, colon);
  char *end;
  fail_at = strtol(colon ? colon + 1 : text, &end, 10);
  fail_code = *end == ':' ? atoi(end + 1) : 0;
}

/* A mistake of the program's: say what and where, and stop. */
inline void __attribute__((format(printf, 2, 3), noreturn))
fatal(Here here, const char *format, ...) {
  char text[2048];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  fflush(stdout);
  fprintf(stderr, "cudashim: %s (%s:%d)\n", text, here.file, here.line);
  _exit(98);
}

/* "(map<Tanh>)" is what a macro sees of a kernel in parentheses. */
inline std::string tidy(const char *name) {
  std::string s = name;
  return s.size() > 2 && s[0] == '(' && s.back() == ')' ? s.substr(1, s.size() - 2) : s;
}

/* ---- Errors, injected and real */

/* The code with which this call has to fail, or 0. */
inline int injected(const char *name, int usual) {
  State &s = state();
  if (!s.fail_at || (!s.fail_name.empty() && s.fail_name != name)) return 0;
  if (--s.fail_at > 0) return 0;
  return s.fail_code ? s.fail_code : usual;
}

inline cudaError_t fail(int code) {
  State &s = state();
  s.last = (cudaError_t)code;
  if (code >= 700 && code <= 719) s.sticky = s.last;     /* the context is lost */
  return s.last;
}

inline cudaError_t no_device() {
  int devices = state().devices;
  if (devices > 0) return cudaSuccess;
  return fail(devices ? -devices : cudaErrorNoDevice);
}

inline void invalidate_capture();

enum Rule { ANYTIME, NOT_IN_CAPTURE };

/* The start of every API function. */
inline cudaError_t enter(const char *name, Rule rule = ANYTIME) {
  State &s = state();
  s.count.api++;
  if (s.sticky) return s.last = s.sticky;
  bool allocates = strstr(name, "Malloc") || strstr(name, "HostAlloc");
  if (int code = injected(name, allocates ? cudaErrorMemoryAllocation : cudaErrorUnknown))
    return fail(code);
  if (no_device()) return s.last;
  if (rule == ANYTIME || !s.capture) return cudaSuccess;
  invalidate_capture();
  return fail(cudaErrorStreamCaptureUnsupported);
}

/* Not inline: the compiler would warn that what a failing call leaves unset is used. */
#define CUDASHIM_API inline __attribute__((noinline))

#define CUDASHIM_ENTER(rule) \
  do { \
    cudaError_t entered = cudashim::enter(__func__, rule); \
    if (entered != cudaSuccess) return entered; \
  } while (0)

/* ---- Objects that must be given back */

inline void born(const void *object, const std::string &what, Here here) {
  state().live[object] = Thing{what, here};
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

/* ---- At exit */

inline void print_counts() {
  State &s = state();
#define X(name) fprintf(stderr, "cudashim: %s %lld\n", #name, s.count.name);
  CUDASHIM_COUNTERS(X)
#undef X
  for (auto &k : s.kernels)
    fprintf(stderr, "cudashim: kernel %s %lld\n", k.first.c_str(), k.second);
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

/* Counts from 0 again, forgets errors, and reads the environment again. */
CUDASHIM_FOR_TESTS void cudashim_reset(void) {
  cudashim::State &s = cudashim::state();
  s.count = cudashim::Counters();
  s.kernels.clear();
  s.last = s.sticky = cudaSuccess;
  s.unread = NULL;
  s.read_environment();
}

/* "NAME COUNT" of each kernel that ran, a line each. */
CUDASHIM_FOR_TESTS const char *cudashim_kernels(void) {
  static std::string text;
  text.clear();
  for (auto &k : cudashim::state().kernels)
    text += k.first + ' ' + std::to_string(k.second) + '\n';
  return text.c_str();
}

/* Prints what was not given back; how many things. */
CUDASHIM_FOR_TESTS int cudashim_leaks(void) {
  for (auto &thing : cudashim::state().live)
    fprintf(stderr, "cudashim: leak: %s (%s:%d)\n", thing.second.what.c_str(),
            thing.second.here.file, thing.second.here.line);
  return (int)cudashim::state().live.size();
}

namespace cudashim {

inline void at_exit(int status) {
  State &s = state();
  if (setting("CUDASHIM_STATS")) print_counts();
  if (status) return;
  if (s.unread)
    fatal(s.unread_here, "nobody looked at the error of the launch of %s: %s",
          tidy(s.unread).c_str(), "see cudaGetLastError");
  const char *leaks = setting("CUDASHIM_LEAKS");
  if (!leaks || !atoi(leaks) || !cudashim_leaks()) return;
  fflush(NULL);
  _exit(99);
}

/* Registered before main, so that it runs after what the program registers. */
__attribute__((constructor)) static void at_start() {
#ifdef __GLIBC__
  on_exit([](int status, void *) { at_exit(status); }, NULL);
#else
  atexit([] { at_exit(0); });
#endif
}

} /* namespace cudashim */

#endif /* CUDASHIM_CORE_H */
