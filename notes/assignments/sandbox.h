/* sandbox.h - the limits of the student's program, which may compute, read files and print.

   Everywhere: a session and a folder of its own; limits on time, memory, output, descriptors
   and processes. If root grades, the program runs as nobody. On Linux it has no capability,
   and a filter allows a list of system calls. The other calls fail with EPERM: opening a file
   to write, starting a process, sending a signal, the network.

   Each limit is a row of sandbox_steps. The rows are set in order, and some rows try what must
   fail. If a row fails, sandbox_run returns 0, and the student's program must not run. With
   --no-sandbox the other rows are still set, and the report names the first that failed. */
#ifndef SANDBOX_H
#define SANDBOX_H
#ifdef _WIN32
#error "The grader needs Linux, or another Unix with --no-sandbox. On Windows use WSL."
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/audit.h>
#include <linux/capability.h>
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

/* ---- What a process reports to the grader. Both share this memory until execve. */
typedef struct sandbox_step {
  const char *limit;                     /* its name in the message                           */
  const char *expected;
  const char *remedy;
  int (*set)(const struct sandbox_step *s);          /* returns 1 if the limit is in force    */
  int what;                              /* which resource, or which probe                    */
  rlim_t most;                           /* of the resource                                   */
} sandbox_step;

typedef struct {
  const sandbox_step *failed;            /* the first step that failed, or did not return     */
  int error;                             /* its errno                                         */
  int entered;                           /* 1 just before execve                              */
} sandbox_report;

static struct {
  int no_sandbox;                        /* 1: steps may fail, as the teacher asked           */
  int was_root;                          /* 1: the program becomes nobody's                   */
  uid_t user;
  gid_t group;
  double seconds;                        /* CPU time                                          */
  pid_t grader;
  sandbox_report *report;                /* of this process                                   */
} sandbox;

/* Returns ok, and reports s if it is the first that failed. */
static int sandbox_require(const sandbox_step *s, int ok) {
  if (ok || sandbox.report->failed) return ok;
  sandbox.report->error = errno;
  sandbox.report->failed = s;
  return 0;
}

/* Takes all steps. Returns 1 if none failed, or if --no-sandbox was given. While a step runs,
   it counts as failed, so that the grader can name a step that killed this process. */
static int sandbox_run(const sandbox_step *s) {
  for (; s->limit; s++) {
    sandbox_report *r = sandbox.report;
    int first = !r->failed;
    errno = 0;
    if (first) r->failed = s;
    int ok = s->set(s);
    if (first) r->error = errno;
    if (first && ok) r->failed = NULL;
    if (!ok && !sandbox.no_sandbox) return 0;
  }
  return 1;
}

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

#define SANDBOX_LOAD_AT(offset) { BPF_LD | BPF_W | BPF_ABS, 0, 0, offset }
#define SANDBOX_LOAD(field) SANDBOX_LOAD_AT(offsetof(struct seccomp_data, field))
#define SANDBOX_LOAD_HIGH(field) SANDBOX_LOAD_AT(offsetof(struct seccomp_data, field) + 4)
#define SANDBOX_IF(how, what, yes, no) { BPF_JMP | how | BPF_K, yes, no, (unsigned)(what) }
#define SANDBOX_END(verdict) { BPF_RET | BPF_K, 0, 0, verdict }
#define SANDBOX_NO SANDBOX_END(SECCOMP_RET_ERRNO | EPERM)
#define SANDBOX_YES SANDBOX_END(SECCOMP_RET_ALLOW)

/* Allows the list, and three calls by their arguments: tgkill to this process (abort calls it),
   prlimit that reads the limits of this process, and open to read. A load has 32 bits, and an
   argument has 64: both halves are compared, the lower one first in memory. */
static int sandbox_set_filter(const struct sandbox_step *s) {
  (void)s;
  enum { WRITES = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC };
  const struct sock_filter head[] = {
    SANDBOX_LOAD(arch), SANDBOX_IF(BPF_JEQ, SANDBOX_ARCH, 1, 0), SANDBOX_END(SECCOMP_RET_KILL),
    SANDBOX_LOAD(nr),
    SANDBOX_IF(BPF_JEQ, SYS_tgkill, 0, 6), SANDBOX_LOAD(args[0]),
    SANDBOX_IF(BPF_JEQ, getpid(), 0, 3), SANDBOX_LOAD_HIGH(args[0]),
    SANDBOX_IF(BPF_JEQ, 0, 0, 1), SANDBOX_YES, SANDBOX_NO,
    SANDBOX_IF(BPF_JEQ, SYS_prlimit64, 0, 11), SANDBOX_LOAD(args[0]),
    SANDBOX_IF(BPF_JEQ, 0, 1, 0), SANDBOX_IF(BPF_JEQ, getpid(), 0, 7),
    SANDBOX_LOAD_HIGH(args[0]), SANDBOX_IF(BPF_JEQ, 0, 0, 5),
    SANDBOX_LOAD(args[2]), SANDBOX_IF(BPF_JEQ, 0, 0, 3),
    SANDBOX_LOAD_HIGH(args[2]), SANDBOX_IF(BPF_JEQ, 0, 0, 1), SANDBOX_YES, SANDBOX_NO,
    SANDBOX_IF(BPF_JEQ, SYS_openat, 0, 6), SANDBOX_LOAD(args[2]),
    SANDBOX_IF(BPF_JSET, WRITES, 3, 0), SANDBOX_LOAD_HIGH(args[2]),
    SANDBOX_IF(BPF_JEQ, 0, 0, 1), SANDBOX_YES, SANDBOX_NO,
#ifdef __x86_64__
    SANDBOX_IF(BPF_JEQ, SYS_open, 0, 6), SANDBOX_LOAD(args[1]),
    SANDBOX_IF(BPF_JSET, WRITES, 3, 0), SANDBOX_LOAD_HIGH(args[1]),
    SANDBOX_IF(BPF_JEQ, 0, 0, 1), SANDBOX_YES, SANDBOX_NO,
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
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
#endif


/* ---- Descriptors. Closes all from `first` on. Returns 1 if none of them is open. */
static int sandbox_close_from(int first) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, (unsigned)first, ~0u, 0u) == 0) return 1;
#endif
#ifdef __linux__
  DIR *all = opendir("/proc/self/fd");
  if (!all) return 0;
  for (struct dirent *each; (each = readdir(all));) {
    int fd = atoi(each->d_name);
    if (fd >= first && fd != dirfd(all)) close(fd);
  }
  return closedir(all) == 0;
#else
  for (int fd = first; fd < 65536; fd++) close(fd);
  return 1;
#endif
}

/* ---- The user, the group and the capabilities. If root grades, the program is nobody's. */
static int sandbox_set_session(const sandbox_step *s) {
  (void)s;
  return setsid() == getpid();
}

static int sandbox_set_groups(const sandbox_step *s) {
  (void)s;
  return !sandbox.was_root || (setgroups(0, NULL) == 0 && getgroups(0, NULL) == 0);
}

/* A user without an id in this namespace cannot set its own id, and is refused. */
static int sandbox_set_group(const sandbox_step *s) {
  gid_t id = sandbox.group, real = getgid(), effective = getegid(), saved = id;
  (void)s;
#ifdef __linux__
  if (setresgid(id, id, id) || getresgid(&real, &effective, &saved)) return 0;
#else
  if (setgid(id)) return 0;
  real = getgid();
  effective = getegid();
#endif
  return real == id && effective == id && saved == id;
}

static int sandbox_set_user(const sandbox_step *s) {
  uid_t id = sandbox.user, real = getuid(), effective = geteuid(), saved = id;
  (void)s;
#ifdef __linux__
  if (setresuid(id, id, id) || getresuid(&real, &effective, &saved)) return 0;
#else
  if (setuid(id)) return 0;
  real = getuid();
  effective = geteuid();
#endif
  return real == id && effective == id && saved == id;
}

static int sandbox_probe_root(const sandbox_step *s) {
  (void)s;
  return setuid(0) != 0 && (!sandbox.was_root || setgid(0) != 0);
}

#ifdef __linux__
static int sandbox_set_capabilities(const sandbox_step *s) {
  struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
  struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
  (void)s;
  if (syscall(SYS_capset, &head, none) || syscall(SYS_capget, &head, none)) return 0;
  return !(none[0].permitted | none[0].effective | none[0].inheritable |
           none[1].permitted | none[1].effective | none[1].inheritable);
}

/* The grader may have ended before prctl, so its id is compared afterwards. */
static int sandbox_set_end(const sandbox_step *s) {
  int signal_set = 0;
  (void)s;
  return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && prctl(PR_GET_PDEATHSIG, &signal_set) == 0 &&
         signal_set == SIGKILL && getppid() == sandbox.grader;
}

static int sandbox_set_privileges(const sandbox_step *s) {
  (void)s;
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
}
#endif

/* ---- Resources. If a limit is lower already, and cannot be raised, a right program would lose
   points. So this is a limit that cannot be set. */
#if defined __GLIBC__ && defined _GNU_SOURCE
typedef __rlimit_resource_t sandbox_resource;
#else
typedef int sandbox_resource;
#endif

static int sandbox_limit(sandbox_resource what, rlim_t soft, rlim_t hard) {
  struct rlimit limit;
  if (getrlimit(what, &limit)) return 0;
  if (limit.rlim_max > hard) limit.rlim_max = hard;
  limit.rlim_cur = soft;
  if (setrlimit(what, &limit) || getrlimit(what, &limit)) return 0;
  return limit.rlim_cur == soft && limit.rlim_max <= hard;
}

static int sandbox_set_limit(const sandbox_step *s) {
  return sandbox_limit((sandbox_resource)s->what, s->most, s->most);
}

/* After the soft limit comes a signal, and after the hard limit the end. */
static int sandbox_set_time(const sandbox_step *s) {
  rlim_t soft = (rlim_t)(sandbox.seconds + 0.5);
  return sandbox_limit((sandbox_resource)s->what, soft, soft + 2);
}

static int sandbox_probe_limit(const sandbox_step *s) {
  sandbox_resource what = (sandbox_resource)s->what;
  struct rlimit limit;
  if (getrlimit(what, &limit)) return 0;
  limit.rlim_max++;
  return setrlimit(what, &limit) != 0;
}

/* ---- The filter. Each of these calls succeeds without it, also as nobody. */
static int sandbox_set_system(const sandbox_step *s) {
  (void)s;
#ifdef SANDBOX_ARCH
  return 1;
#else
  errno = ENOSYS;
  return 0;
#endif
}

#ifdef SANDBOX_ARCH
enum {
  SANDBOX_WRITES, SANDBOX_FORKS, SANDBOX_SIGNALS, SANDBOX_CONNECTS, SANDBOX_SETS, SANDBOX_LOOKS
};

static int sandbox_probe_filter(const sandbox_step *s) {
  struct rlimit limit;
  long got = -1;
  switch (s->what) {
    case SANDBOX_WRITES: got = open("/dev/null", O_WRONLY); break;
    case SANDBOX_SIGNALS: got = kill(getpid(), 0); break;
    case SANDBOX_CONNECTS: got = socket(AF_UNIX, SOCK_STREAM, 0); break;
    case SANDBOX_SETS:
      got = getrlimit(RLIMIT_CORE, &limit) ? 0 : setrlimit(RLIMIT_CORE, &limit);
      break;
    case SANDBOX_LOOKS:
      got = syscall(SYS_prlimit64, sandbox.grader, RLIMIT_CORE, NULL, &limit);
      break;
    case SANDBOX_FORKS:
      got = fork();
      if (!got) _exit(0);
      if (got > 0) waitpid((pid_t)got, NULL, 0);
  }
  return got == -1 && errno == EPERM;
}
#endif

/* ---- Which files a process and its children may open: Landlock (Linux 5.13), without a
   privilege. The numbers are those of <linux/landlock.h>, which is younger than some systems. */
#define SANDBOX_FILES "Grade on Linux 5.13 or newer, with Landlock: lsm=landlock at boot."
#ifdef __linux__
enum {
  SANDBOX_READ = 1 << 0 | 1 << 2 | 1 << 3,         /* execute, read a file, read a folder     */
  SANDBOX_READ_FILE = 1 << 0 | 1 << 2,
  SANDBOX_WRITE_FILE = 1 << 1 | 1 << 2,
  SANDBOX_ALL = (1 << 13) - 1,
  SANDBOX_TRUNCATE = 1 << 14                       /* since Linux 6.2                         */
};
static int sandbox_ruleset = -1;
static unsigned long long sandbox_handled;         /* all rights that the ruleset is about    */

/* Nothing may be opened. Then sandbox_allow permits paths, and sandbox_set_files begins. */
static int sandbox_begin_files(void) {
  long version = syscall(444, NULL, 0, 1);         /* landlock_create_ruleset                 */
  if (version < 1) return 0;
  sandbox_handled = version < 3 ? SANDBOX_ALL : SANDBOX_ALL | SANDBOX_TRUNCATE;
  sandbox_ruleset = (int)syscall(444, &sandbox_handled, sizeof sandbox_handled, 0);
  return sandbox_ruleset >= 0;
}
/* What is not there is not permitted, which is no error. */
static int sandbox_allow(const char *path, unsigned long long rights) {
  struct { unsigned long long rights; int fd; } __attribute__((packed)) rule = { rights, -1 };
  rule.fd = open(path, O_PATH | O_CLOEXEC);
  if (rule.fd < 0) return errno == ENOENT;
  int ok = syscall(445, sandbox_ruleset, 1, &rule, 0) == 0;  /* landlock_add_rule             */
  close(rule.fd);
  return ok;
}
static int sandbox_set_files(void) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(446, sandbox_ruleset, 0)) return 0;
  close(sandbox_ruleset);
  int fd = open("/etc/passwd", O_RDONLY);          /* which every user may read               */
  if (fd >= 0) close(fd);
  return fd < 0;
}
#endif

/* ---- The rows: what is limited, what is expected, what to do; the function, its numbers */
#define SANDBOX_USER "Grade as a user that is not root, or where root may become nobody."
#define SANDBOX_KERNEL "Grade on a kernel, and in a container, that allow seccomp filters."
#define SANDBOX_LINUX "Grade on Linux, on x86-64 or 64-bit ARM."
#define SANDBOX_SHELL "See ulimit -a in the shell that grades."

static const sandbox_step sandbox_steps[] = {
  { "system", "Linux on x86-64 or ARM; this system has no sandbox for the program",
    SANDBOX_LINUX, sandbox_set_system, 0, 0 },
  { "session", "setsid: the program has no terminal", SANDBOX_SHELL, sandbox_set_session,
    0, 0 },
  { "supplementary groups", "setgroups: if root grades, the program has none",
    SANDBOX_USER, sandbox_set_groups, 0, 0 },
  { "group", "setresgid: if root grades, the program's group is 65534, nobody",
    SANDBOX_USER, sandbox_set_group, 0, 0 },
  { "user", "setresuid: if root grades, the program's user is 65534, nobody",
    SANDBOX_USER, sandbox_set_user, 0, 0 },
#ifdef __linux__
  { "capabilities", "capset: the program has none", SANDBOX_USER, sandbox_set_capabilities,
    0, 0 },
#endif
  { "root", "setuid(0) and, if root grades, setgid(0) fail", SANDBOX_USER, sandbox_probe_root,
    0, 0 },
#ifdef __linux__
  { "end", "PR_SET_PDEATHSIG: the program ends with the grader", SANDBOX_KERNEL,
    sandbox_set_end, 0, 0 },
#endif
  { "time", "RLIMIT_CPU: the seconds of the part", SANDBOX_SHELL, sandbox_set_time,
    RLIMIT_CPU, 0 },
  { "memory", "RLIMIT_AS: 2 GB", SANDBOX_SHELL, sandbox_set_limit,
    RLIMIT_AS, (rlim_t)2 << 30 },
  { "output", "RLIMIT_FSIZE: a megabyte", SANDBOX_SHELL, sandbox_set_limit,
    RLIMIT_FSIZE, 1 << 20 },
  { "open files", "RLIMIT_NOFILE: 32", SANDBOX_SHELL, sandbox_set_limit,
    RLIMIT_NOFILE, 32 },
  { "core file", "RLIMIT_CORE: none", SANDBOX_SHELL, sandbox_set_limit, RLIMIT_CORE, 0 },
#ifdef RLIMIT_NPROC
  { "processes", "RLIMIT_NPROC: the program starts none", SANDBOX_SHELL, sandbox_set_limit,
    RLIMIT_NPROC, 0 },
#endif
  { "raised limits", "setrlimit cannot raise a limit again", SANDBOX_USER,
    sandbox_probe_limit, RLIMIT_CORE, 0 },
#ifdef __linux__
  { "privileges", "PR_SET_NO_NEW_PRIVS: execve gives none", SANDBOX_KERNEL,
    sandbox_set_privileges, 0, 0 },
#endif
#ifdef SANDBOX_ARCH
  { "system calls", "PR_SET_SECCOMP: a filter allows a list of calls", SANDBOX_KERNEL,
    sandbox_set_filter, 0, 0 },
  { "system calls", "opening a file to write fails with EPERM", SANDBOX_KERNEL,
    sandbox_probe_filter, SANDBOX_WRITES, 0 },
  { "system calls", "starting a process fails with EPERM", SANDBOX_KERNEL,
    sandbox_probe_filter, SANDBOX_FORKS, 0 },
  { "system calls", "sending a signal fails with EPERM", SANDBOX_KERNEL,
    sandbox_probe_filter, SANDBOX_SIGNALS, 0 },
  { "system calls", "creating a socket fails with EPERM", SANDBOX_KERNEL,
    sandbox_probe_filter, SANDBOX_CONNECTS, 0 },
  { "system calls", "setting a limit fails with EPERM", SANDBOX_KERNEL,
    sandbox_probe_filter, SANDBOX_SETS, 0 },
  { "system calls", "reading the limits of another process fails with EPERM", SANDBOX_KERNEL,
    sandbox_probe_filter, SANDBOX_LOOKS, 0 },
#endif
  { NULL, NULL, NULL, NULL, 0, 0 }
};

/* ---- Entering. Returns 1 if the student's program may run in this process. */
static int sandbox_enter(double seconds) {
  enum { NOBODY = 65534 };
  uid_t real = getuid(), effective = geteuid(), saved = effective;
#ifdef __linux__
  if (getresuid(&real, &effective, &saved)) return 0;
#endif
  sandbox.was_root = real == 0 || effective == 0 || saved == 0;
  sandbox.user = sandbox.was_root ? NOBODY : effective;
  sandbox.group = sandbox.was_root ? NOBODY : getegid();
  sandbox.seconds = seconds;
  return sandbox_run(sandbox_steps);
}
#endif
