/* broken.c - makes one call of the grader fail. tests/grade.sh loads it with LD_PRELOAD, so it
   tests the grader that teachers use. BROKEN="CALL WHAT ERROR" breaks the calls whose first
   argument is WHAT, or all if WHAT is -1. They set errno to ERROR. If ERROR is 0, they return 0
   and do nothing. "fork 3 11" breaks the third fork, and "fopen 0 2" opening /dev/urandom.
   "open 300 0" breaks no call, but the grader starts with 300 open descriptors. The name of the
   grader ends in -grade. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static char broken_call[32];
static long broken_what;
static int broken_error;

__attribute__((constructor)) static void broken_start(void) {
  const char *text = getenv("BROKEN"), *name = strrchr(program_invocation_name, '-');
  if (!text || !name || strcmp(name, "-grade")) return;
  sscanf(text, "%31s %ld %d", broken_call, &broken_what, &broken_error);
  if (!strcmp(broken_call, "open"))
    for (int fd = 0; fd >= 0 && fd < broken_what;) fd = open("/dev/null", O_RDONLY);
}

/* Returns 1 if the call goes on, else what it returns: 0 or -1. */
static int broken_check(const char *call, long what) {
  if (strcmp(call, broken_call) || (broken_what != -1 && broken_what != what)) return 1;
  errno = broken_error;
  return broken_error ? -1 : 0;
}

#define BREAK(call, what) \
  do { int go_on = broken_check(call, (long)(what)); if (go_on < 1) return go_on; } while (0)
#define NEXT(type, name) (__extension__(type)dlsym(RTLD_NEXT, name))

pid_t setsid(void) {
  BREAK("setsid", 0);
  return NEXT(pid_t (*)(void), "setsid")();
}
int setgroups(size_t n, const gid_t *list) {
  BREAK("setgroups", n);
  return NEXT(int (*)(size_t, const gid_t *), "setgroups")(n, list);
}
int setgid(gid_t id) {
  BREAK("setgid", id);
  return NEXT(int (*)(gid_t), "setgid")(id);
}
int setresgid(gid_t a, gid_t b, gid_t c) {
  BREAK("setgid", a);
  return NEXT(int (*)(gid_t, gid_t, gid_t), "setresgid")(a, b, c);
}
int setuid(uid_t id) {
  BREAK("setuid", id);
  return NEXT(int (*)(uid_t), "setuid")(id);
}
int setresuid(uid_t a, uid_t b, uid_t c) {
  BREAK("setuid", a);
  return NEXT(int (*)(uid_t, uid_t, uid_t), "setresuid")(a, b, c);
}
int setrlimit(__rlimit_resource_t what, const struct rlimit *limit) {
  BREAK("setrlimit", what);
  return NEXT(int (*)(__rlimit_resource_t, const struct rlimit *), "setrlimit")(what, limit);
}
int chdir(const char *path) {
  BREAK("chdir", 0);
  return NEXT(int (*)(const char *), "chdir")(path);
}
int dup2(int from, int to) {
  BREAK("dup2", to);
  return NEXT(int (*)(int, int), "dup2")(from, to);
}
int execve(const char *path, char *const *arguments, char *const *environment) {
  BREAK("execve", 0);
  return NEXT(int (*)(const char *, char *const *, char *const *), "execve")
         (path, arguments, environment);
}
FILE *fopen(const char *path, const char *mode) {
  if (!strcmp(broken_call, "fopen") && strstr(path, "random")) return NULL;
  return NEXT(FILE *(*)(const char *, const char *), "fopen")(path, mode);
}
pid_t fork(void) {
  static int calls;
  BREAK("fork", ++calls);
  return NEXT(pid_t (*)(void), "fork")();
}

/* The grader must never signal all processes, or process 1. */
int kill(pid_t pid, int signal) {
  if ((pid == -1 || pid == 1) && write(2, "SIGNALS ALL\n", 12)) return -1;
  return NEXT(int (*)(pid_t, int), "kill")(pid, signal);
}

int prctl(int what, ...) {
  unsigned long a[4];
  va_list rest;
  va_start(rest, what);
  for (int i = 0; i < 4; i++) a[i] = va_arg(rest, unsigned long);
  va_end(rest);
  BREAK("prctl", what);
  return NEXT(int (*)(int, ...), "prctl")(what, a[0], a[1], a[2], a[3]);
}

long syscall(long number, ...) {
  long a[6];
  va_list rest;
  va_start(rest, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(rest, long);
  va_end(rest);
  if (number == SYS_capset) BREAK("capset", 0);
  if (number == 444) BREAK("landlock", 0);
  if (number == SYS_close_range) BREAK("close_range", 0);
  return NEXT(long (*)(long, ...), "syscall")(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
