/* sandbox.h - what the student's program may do: compute, read files, and print a little.
   Everywhere: limits on time, memory, files, descriptors and processes; a session and a folder
   of its own. On Linux a filter of system calls besides: a list of what is allowed, all else
   fails with EPERM. Not on it are opening a file to write, another process, its memory, a
   signal to it, and the network. */
#ifndef SANDBOX_H
#define SANDBOX_H
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#if defined __x86_64__
#define SANDBOX_ARCH AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define SANDBOX_ARCH AUDIT_ARCH_AARCH64
#endif
#endif

#ifdef SANDBOX_ARCH
static const int sandbox_allowed[] = {
  SYS_read, SYS_readv, SYS_pread64, SYS_write, SYS_writev, SYS_lseek, SYS_close, SYS_fstat,
  SYS_newfstatat, SYS_statx, SYS_faccessat, SYS_faccessat2, SYS_readlinkat, SYS_getdents64,
  SYS_getcwd, SYS_dup, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise, SYS_brk,
  SYS_exit, SYS_exit_group, SYS_execve, SYS_futex, SYS_set_tid_address, SYS_set_robust_list,
  SYS_rseq, SYS_getrandom, SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep,
  SYS_nanosleep, SYS_gettimeofday, SYS_getpid, SYS_gettid, SYS_getppid, SYS_getuid, SYS_geteuid,
  SYS_getgid, SYS_getegid, SYS_getrusage, SYS_times, SYS_uname, SYS_sysinfo, SYS_sched_yield,
  SYS_sched_getaffinity, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn,
  SYS_sigaltstack, SYS_ppoll, SYS_pselect6,
#ifdef __x86_64__
  SYS_arch_prctl, SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_poll, SYS_select, SYS_time,
#endif
};
enum { SANDBOX_CALLS = sizeof sandbox_allowed / sizeof *sandbox_allowed };

#define SANDBOX_LOAD(field) \
  { BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, field) }
#define SANDBOX_IF(how, what, yes, no) { BPF_JMP | how | BPF_K, yes, no, (unsigned)(what) }
#define SANDBOX_END(verdict) { BPF_RET | BPF_K, 0, 0, verdict }
#define SANDBOX_NO SANDBOX_END(SECCOMP_RET_ERRNO | EPERM)
#define SANDBOX_YES SANDBOX_END(SECCOMP_RET_ALLOW)

/* The list; and tgkill of oneself, which abort() is, prlimit that only asks, open to read. */
static int sandbox_filter(void) {
  enum { WRITES = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC };
  const struct sock_filter head[] = {
    SANDBOX_LOAD(arch), SANDBOX_IF(BPF_JEQ, SANDBOX_ARCH, 1, 0), SANDBOX_END(SECCOMP_RET_KILL),
    SANDBOX_LOAD(nr),
    SANDBOX_IF(BPF_JEQ, SYS_tgkill, 0, 4),
    SANDBOX_LOAD(args[0]), SANDBOX_IF(BPF_JEQ, getpid(), 0, 1), SANDBOX_YES, SANDBOX_NO,
    SANDBOX_IF(BPF_JEQ, SYS_prlimit64, 0, 4),
    SANDBOX_LOAD(args[2]), SANDBOX_IF(BPF_JEQ, 0, 0, 1), SANDBOX_YES, SANDBOX_NO,
    SANDBOX_IF(BPF_JEQ, SYS_openat, 0, 4),
    SANDBOX_LOAD(args[2]), SANDBOX_IF(BPF_JSET, WRITES, 1, 0), SANDBOX_YES, SANDBOX_NO,
#ifdef __x86_64__
    SANDBOX_IF(BPF_JEQ, SYS_open, 0, 4),
    SANDBOX_LOAD(args[1]), SANDBOX_IF(BPF_JSET, WRITES, 1, 0), SANDBOX_YES, SANDBOX_NO,
#endif
  };
  enum { HEAD = sizeof head / sizeof *head };
  struct sock_filter all[HEAD + 2 * SANDBOX_CALLS + 1];
  struct sock_fprog program = { sizeof all / sizeof *all, all };
  int n = 0;
  for (int i = 0; i < HEAD; i++) all[n++] = head[i];
  for (int i = 0; i < SANDBOX_CALLS; i++) {
    const struct sock_filter allow[] = { SANDBOX_IF(BPF_JEQ, sandbox_allowed[i], 0, 1),
                                         SANDBOX_YES };
    all[n++] = allow[0];
    all[n++] = allow[1];
  }
  const struct sock_filter end[] = { SANDBOX_NO };
  all[n] = end[0];
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
#else
static int sandbox_filter(void) { return 0; }
#endif

static void sandbox_limits(int what, rlim_t soft, rlim_t hard) {
  struct rlimit limit = { soft, hard };
  setrlimit(what, &limit);
}
static void sandbox_limit(int what, rlim_t most) { sandbox_limits(what, most, most); }

/* Returns 0 where there is no filter. Its folder is the one that it is called in. Where root
   grades, the program is nobody's: root could read the memory of other processes. */
static int sandbox_enter(double seconds) {
  enum { NOBODY = 65534 };
  setsid();
  if (geteuid() == 0 && (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))) return 0;
  sandbox_limits(RLIMIT_CPU, (rlim_t)(seconds + 0.5), (rlim_t)(seconds + 2));
  sandbox_limit(RLIMIT_AS, (rlim_t)2 << 30);
  sandbox_limit(RLIMIT_FSIZE, 1 << 20);
  sandbox_limit(RLIMIT_NOFILE, 32);
  sandbox_limit(RLIMIT_CORE, 0);
#ifdef RLIMIT_NPROC
  sandbox_limit(RLIMIT_NPROC, 0);
#endif
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL);      /* it ends with the grader */
#endif
  return sandbox_filter();
}
#endif
