/* grade.c - runs a student's file and judges it, part by part; make grade calls it so:

     grade FILE --id ID [--gradescope FILE] [--json FILE] [--autolab] [--seed N] [--part NAME]
                        [--no-sandbox]       NAME: a part, or the number of a question
     grade --handout FILE --id ID         the handout with the numbers of this id
     grade --class DIR                    the named mistakes of all files DIR/ID/psN.c

   The score belongs to this process, which runs no code of the student's and tells it nothing.
   For each part it starts two others: the student's program (desk.c) in a sandbox, and a judge
   (judge.c) that sends it numbers, compares what comes back, and ends with the share of the
   points. The report is written anew after each part, when both are gone.

   If a limit of the sandbox cannot be set, the grader refuses: it does not run the student's
   program, says which limit it is, and exits with status 2. --no-sandbox grades all the same,
   and the report says so. */
#define _GNU_SOURCE
#include "grade.h"
#include "judge.h"
#include "mistakes.h"
#include "sandbox.h"
#include <dirent.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { PARTS = 64, SAID = 6000 };
typedef struct { double score; char text[2 * SAID]; } grade_result;

static struct {
  const char *gradescope, *json, *part, *handout;
  int autolab, part_now;
  int reported;                          /* 1: a report has been written                      */
  unsigned long long seed;
  char folder[1024], program[1100], here[1100], copy[1400];
  char note[400];                        /* with --no-sandbox: what is missing                */
} grade;
static grade_result results[PARTS];

static void grade_clean(void);
static void grade_fail(const char *message, const char *what) {
  fprintf(stderr, "grade: %s%s\n", message, what);
  if (*grade.folder) grade_clean();
  exit(2);
}

static double grade_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- Takes what was printed, from the beginning. Bytes that are no plain text become ?. A line
   about what a gradient check runs, or skips, says nothing here: each input has its own row. */
static void grade_take(grade_result *r, int from, const char *mark) {
  char text[SAID / 2];
  size_t n = strlen(r->text);
  ssize_t got = pread(from, text, sizeof text - 1, 0);
  text[got > 0 ? got : 0] = 0;
  int begins = 1;
  for (ssize_t i = 0; i < got && n + 8 < sizeof r->text; i++) {
    unsigned char c = (unsigned char)text[i];
    if (begins && (!strncmp(text + i, "  run   the backward of ", 24) ||
                   !strncmp(text + i, "  skip  ", 8))) {
      while (i < got && text[i] != '\n') i++;
      continue;
    }
    if (begins) n += (size_t)sprintf(r->text + n, "%s", mark);
    r->text[n++] = c == '\n' || c == '\t' || (c >= ' ' && c < 127) ? (char)c : '?';
    begins = c == '\n';
  }
  if (!begins) r->text[n++] = '\n';
  r->text[n] = 0;
}

/* A question, and the page of the notes, for the mistake that the report names first. Returns 0
   if it names none. */
static int grade_say_page(grade_result *r) {
  const grade_mistake *first = NULL;
  const char *at = NULL;
  size_t n = strlen(r->text);
  for (const grade_mistake *m = grade_mistakes; m->says; m++) {
    const char *here = strstr(r->text, m->says);
    if (here && (!at || here < at)) at = here, first = m;
  }
  if (first)
    snprintf(r->text + n, sizeof r->text - n, "see page %s of the notes: %s\n", first->page,
             first->question);
  return first != NULL;
}

static void grade_say(grade_result *r, const char *format, const char *a, double b) {
  size_t n = strlen(r->text);
  snprintf(r->text + n, sizeof r->text - n, format, a, b);
}

/* ---- Refusing */
static void grade_write_reports(void);
static int grade_count(void);
static int grade_is_chosen(int part);

/* The folder has the student's program, and what a compiler that was stopped has left. */
static void grade_clean(void) {
  char name[1400];
  DIR *all = opendir(grade.folder);
  rmdir(grade.here);
  for (struct dirent *each; all && (each = readdir(all));) {
    snprintf(name, sizeof name, "%s/%s", grade.folder, each->d_name);
    unlink(name);
  }
  if (all) closedir(all);
  rmdir(grade.folder);
}

/* A limit is missing. Parts without a result say so in a report that exists already. */
static void grade_refuse(const sandbox_report *r) {
  const sandbox_step *s = r->failed;
  const char *limit = s ? s->limit : "start";
  fprintf(stderr, "grade: refused: the student's program does not run without its sandbox\n"
          "  limit:     %s\n  expected:  %s\n  found:     %s\n  repair:    %s\n"
          "  or:        for a program that you trust, on a machine of your own:\n"
          "             make grade with ARGS=--no-sandbox\n", limit,
          s ? s->expected : "the process starts",
          r->error ? strerror(r->error) : "no error, but the limit is not in force",
          s ? s->remedy : SANDBOX_SHELL);
  for (int i = grade.part_now; i < grade_count(); i++)
    if (grade_is_chosen(i))
      snprintf(results[i].text, sizeof results[i].text,
               "not graded: the grader refused, because of the limit: %s\n", limit);
  if (grade.reported) grade_write_reports();
  grade_clean();
  exit(2);
}

/* ---- Processes */
enum { STUDENT_PROCESS, JUDGE_PROCESS, COMPILER_PROCESS, OWN_PROCESS, PROCESSES };
static sandbox_report *reports;          /* one of each, in shared memory                     */

static const sandbox_step
  grade_fork_step = { "start", "fork: a process for each part", SANDBOX_SHELL, NULL, 0, 0 },
  grade_descriptor_step = { "descriptors", "the process has its own descriptors and no others",
                            SANDBOX_SHELL " Is /dev/null there?", NULL, 0, 0 },
  grade_folder_step = { "folder", "chdir: the program has an empty folder of its own",
                        "TMPDIR names a folder for it.", NULL, 0, 0 },
  grade_program_step = { "program", "execve: the student's program starts",
                         "TMPDIR must allow programs. If root grades, umask 022 is needed.",
                         NULL, 0, 0 };

/* ---- What the compiler may open: its own files and the system's headers, the headers and
   objects of the problem set, in GRADE_READ, and the folder with a copy of the student's file. */
#ifdef __linux__
static int grade_allow_each(char *paths, unsigned long long rights) {
  int ok = 1;
  for (char *path = strtok(paths, " "); path && ok; path = strtok(NULL, " "))
    ok = sandbox_allow(path, rights);
  return ok;
}
/* A compiler in a folder bin has its files beside this folder. */
static int grade_allow_compiler(void) {
  char real[PATH_MAX], name[PATH_MAX];
  const char *compiler = getenv("GRADE_CC"), *at = getenv("PATH");
  size_t n = compiler ? strcspn(compiler, " ") : 0;
  while (n && at && *at) {
    size_t folder = strcspn(at, ":");
    int is_path = memchr(compiler, '/', n) != NULL;
    snprintf(name, sizeof name, "%.*s%s%.*s", is_path ? 0 : (int)folder, at, is_path ? "" : "/",
             (int)n, compiler);
    if (realpath(name, real)) {
      char *file = strrchr(real, '/'), *bin = file;
      if (!sandbox_allow(real, SANDBOX_READ_FILE)) return 0;
      while (bin > real && *--bin != '/') {}
      if (strncmp(bin, "/bin/", 5) || bin == real) return 1;
      *bin = 0;
      return sandbox_allow(real, SANDBOX_READ);
    }
    at += folder + (at[folder] == ':');
    if (is_path) break;
  }
  return 1;
}
static int grade_set_files(const sandbox_step *s) {
  char system[] = "/usr /bin /sbin /lib /lib32 /lib64 /libx32 /etc/alternatives",
       loader[] = "/etc/ld.so.cache /etc/ld.so.preload", null[] = "/dev/null";
  const char *ours = getenv("GRADE_READ");
  char *copy = strdup(ours ? ours : "");
  (void)s;
  int ok = sandbox_begin_files() && grade_allow_each(system, SANDBOX_READ) &&
           grade_allow_each(loader, SANDBOX_READ_FILE) && grade_allow_compiler() &&
           grade_allow_each(null, SANDBOX_WRITE_FILE) &&
           sandbox_allow(grade.folder, sandbox_handled);
  for (char *path = strtok(copy, ":"); path && ok; path = strtok(NULL, ":")) {
    struct stat is;
    int folder = !stat(path, &is) && S_ISDIR(is.st_mode);
    ok = sandbox_allow(path, folder ? SANDBOX_READ : SANDBOX_READ_FILE);
  }
  free(copy);
  return ok && sandbox_set_files();
}
#else
static int grade_set_files(const sandbox_step *s) {
  (void)s;
  errno = ENOSYS;
  return 0;
}
#endif

/* The judge reads a text of the student. The compiler reads the student's file. */
static const sandbox_step grade_judge_steps[] = {
  { "judge's memory", "RLIMIT_AS: 4 GB", SANDBOX_SHELL, sandbox_set_limit,
    RLIMIT_AS, (rlim_t)4 << 30 },
  { "judge's output", "RLIMIT_FSIZE: a megabyte", SANDBOX_SHELL, sandbox_set_limit,
    RLIMIT_FSIZE, 1 << 20 },
  { NULL, NULL, NULL, NULL, 0, 0 }
}, grade_compiler_steps[] = {
  { "compiler's time", "RLIMIT_CPU: 30 seconds", SANDBOX_SHELL, sandbox_set_limit,
    RLIMIT_CPU, 30 },
  { "compiler's memory", "RLIMIT_AS: 2 GB", SANDBOX_SHELL, sandbox_set_limit,
    RLIMIT_AS, (rlim_t)2 << 30 },
  { "compiler's output", "RLIMIT_FSIZE: 64 MB", SANDBOX_SHELL, sandbox_set_limit,
    RLIMIT_FSIZE, 64 << 20 },
  { "compiler's files", "Landlock: it reads the system's headers and those of the problem set",
    SANDBOX_FILES, grade_set_files, 0, 0 },
  { NULL, NULL, NULL, NULL, 0, 0 }
};

static int grade_file(void) {            /* that nobody else can open                         */
  char name[1100];
  snprintf(name, sizeof name, "%s/said-XXXXXX", grade.folder);
  int fd = mkstemp(name);
  if (fd < 0) grade_fail("cannot write in ", grade.folder);
  unlink(name);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  return fd;
}

/* Gives this process the descriptors of `keep`, numbered from 0, and no others. */
static int grade_descriptors(const int *keep, int n) {
  int moved[8];
  for (int i = 0; i < n; i++)
    if ((moved[i] = fcntl(keep[i], F_DUPFD, n)) < 0) return 0;
  for (int i = 0; i < n; i++)
    if (dup2(moved[i], i) != i) return 0;
  return sandbox_close_from(n);
}

/* Forks. The child's report is the one of `process`. */
static pid_t grade_fork(int process) {
  sandbox_report none = { NULL, 0, 0 }, *r = &reports[process];
  *r = none;
  pid_t pid = fork();
  if (!pid) sandbox.report = r;
  if (pid >= 0) return pid;
  sandbox.report->failed = NULL;
  sandbox_require(&grade_fork_step, 0);
  grade_refuse(sandbox.report);
  return -1;
}

static double grade_part_seconds(int part) {
  return grade_parts[part].seconds > 0 ? grade_parts[part].seconds : 5;
}

/* Waits until this process of a part has its limits. Refuses if it ends before. */
static void grade_wait_for(int process, pid_t pid) {
  for (int ended = 0; !reports[process].entered; usleep(100)) {
    siginfo_t info;
    info.si_pid = 0;
    if (ended) grade_refuse(&reports[process]);
    ended = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == pid;
  }
}

/* Ends the process if the student's program must not run in it. */
static void grade_enter(const int *keep, int n, double seconds) {
  if (!sandbox_require(&grade_descriptor_step, grade_descriptors(keep, n)) ||
      !sandbox_require(&grade_folder_step, chdir(grade.here) == 0) || !sandbox_enter(seconds))
    _exit(126);
  sandbox.report->entered = 1;
}

static pid_t grade_start_student(int part, int asked, int answer, int said) {
  char number[16];
  char *const arguments[] = { grade.program, number, NULL };
  char *const environment[] = { (char *)"PATH=/usr/bin:/bin", NULL };
  int keep[] = { open("/dev/null", O_RDONLY), said, said, asked, answer };
  pid_t pid = grade_fork(STUDENT_PROCESS);
  if (pid) {
    close(keep[0]);
    return pid;
  }
  snprintf(number, sizeof number, "%d", part);
  grade_enter(keep, 5, grade_part_seconds(part));
  execve(grade.program, arguments, environment);
  sandbox.report->entered = 0;
  sandbox.report->failed = NULL;         /* with --no-sandbox another step may have failed */
  sandbox_require(&grade_program_step, 0);
  _exit(127);
}

static pid_t grade_start_judge(int part, int ask, int answer, int said, int verdict) {
  int keep[] = { open("/dev/null", O_RDONLY), said, said, ask, answer, verdict };
  pid_t pid = grade_fork(JUDGE_PROCESS);
  if (pid) {
    close(keep[0]);
    return pid;
  }
  if (!sandbox_require(&grade_descriptor_step, grade_descriptors(keep, 6)) ||
      !sandbox_run(grade_judge_steps)) _exit(126);
  sandbox.report->entered = 1;
  setvbuf(stdout, NULL, _IOLBF, 0);
  signal(SIGPIPE, SIG_IGN);
  judge.ask = 3;
  judge.answer = 4;
  judge.drawn = grade.seed + 1000003ull * (unsigned)part;
  double share = grade_parts[part].judge(&grade_parts[part]);
  fflush(stdout);
  _exit(write(5, &share, sizeof share) == sizeof share ? 0 : 1);
}

/* Whoever has become our child: what a student's program has left behind comes to us, too. */
static void grade_kill_rest(void) {
#ifdef __linux__
  for (int turn = 0; turn < 200; turn++) {
    DIR *all = opendir("/proc");
    char name[64];
    for (struct dirent *each; all && (each = readdir(all));) {
      int pid = atoi(each->d_name), parent = 0;
      snprintf(name, sizeof name, "/proc/%d/stat", pid);
      FILE *stat = pid > 0 ? fopen(name, "r") : NULL;
      if (stat && fscanf(stat, "%*d (%*[^)]) %*c %d", &parent) == 1 && parent == getpid())
        kill(pid, SIGKILL);
      if (stat) fclose(stat);
    }
    if (all) closedir(all);
    while (waitpid(-1, NULL, WNOHANG) > 0) {}
    if (waitpid(-1, NULL, WNOHANG) < 0) return;
    usleep(5000);
  }
#endif
}

/* How the student's program ended without an answer. A hole has said it itself. */
static void grade_say_end(grade_result *r, int part, int status, int late) {
  int killed = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (late || killed == SIGXCPU || killed == SIGKILL)
    grade_say(r, "it was stopped%s: it has %g seconds\n", "", grade_part_seconds(part));
  else if (killed == SIGXFSZ) grade_say(r, "it prints more than a megabyte%s\n", "", 0);
  else if (killed == SIGABRT) grade_say(r, "it was stopped by what it says above%s\n", "", 0);
  else if (killed)
    grade_say(r, "it crashed: %s; run it in main, in gdb\n", strsignal(killed), 0);
  else if (!strstr(r->text, ": not implemented\n"))
    grade_say(r, "it ended%s with status %g before it had answered\n", "",
              WEXITSTATUS(status));
}

/* A signal ends the grader, and what it has started and written. */
static volatile sig_atomic_t grade_signal;
static void grade_note_signal(int number) { grade_signal = number; }
static void grade_look_for_signal(void) {
  if (!grade_signal) return;
  grade_kill_rest();
  grade_fail("stopped by a signal: ", strsignal(grade_signal));
}

/* 1: judged; 0: no verdict came; -1: the time is over. */
static int grade_wait(int verdict, double seconds, double *share) {
  double end = grade_seconds() + seconds;
  struct pollfd wait = { verdict, POLLIN, 0 };
  for (double left = seconds; left > 0; left = end - grade_seconds()) {
    if (poll(&wait, 1, (int)(1000 * left) + 1) > 0)
      return read(verdict, share, sizeof *share) == sizeof *share;
    grade_look_for_signal();
  }
  return -1;
}

/* A program that has given no answer may be about to end by itself: then we say how. */
static int grade_end(pid_t pid, int patience) {
  int status = 0;
  while (patience-- > 0) {
    if (waitpid(pid, &status, WNOHANG) == pid) return status;
    usleep(1000);
    grade_look_for_signal();
  }
  kill(-pid, SIGKILL);
  kill(pid, SIGKILL);
  waitpid(pid, &status, 0);
  return status;
}

static int grade_judge_part(int part, int said, int why, double *share, int *status) {
  int ask[2], answer[2], verdict[2];
  double seconds = grade_part_seconds(part);
  if (pipe(ask) || pipe(answer) || pipe(verdict)) grade_fail("no pipe: ", strerror(errno));
  pid_t student = grade_start_student(part, ask[0], answer[1], said);
  grade_wait_for(STUDENT_PROCESS, student);
  pid_t judging = grade_start_judge(part, ask[1], answer[0], why, verdict[1]);
  int shut[] = { ask[0], ask[1], answer[0], answer[1], verdict[1] };
  for (int i = 0; i < 5; i++) close(shut[i]);
  grade_wait_for(JUDGE_PROCESS, judging);
  int done = grade_wait(verdict[0], 3 * seconds, share);
  int judged = grade_end(judging, done < 0 ? 0 : 1000);
  *status = grade_end(student, done == 0 ? 100 : 0);
  grade_kill_rest();
  close(verdict[0]);
  if (!reports[STUDENT_PROCESS].entered) grade_refuse(&reports[STUDENT_PROCESS]);
  if (done == 0 && !(WIFEXITED(judged) && WEXITSTATUS(judged) == GRADE_NO_ANSWER)) return 2;
  return done;
}

/* "relu: backward" behind "relu: forward" */
static int grade_is_second(int part) {
  const char *name = grade_parts[part].name, *colon = strchr(name, ':');
  return part && colon &&
         !strncmp(name, grade_parts[part - 1].name, (size_t)(colon - name) + 1);
}

static void grade_one(int part) {
  const grade_part *p = &grade_parts[part];
  grade_result *r = &results[part];
  int said = grade_file(), why = grade_file(), status;
  double share = 0;
  grade.part_now = part;
  if (mkdir(grade.here, 0700)) grade_fail("cannot make ", grade.here);
  int done = grade_judge_part(part, said, why, &share, &status);
  r->score = done == 1 && share >= 0 && share <= 1 ? p->points * share : 0;
  if (r->score < p->points) {
    grade_take(r, why, "");
    int paged = grade_say_page(r);       /* before what the student's program prints         */
    grade_take(r, said, "| ");
    if (!paged) grade_say_page(r);
    if (done <= 0) grade_say_end(r, part, status, done < 0);
    else if (grade_is_second(part) && !p->define && results[part - 1].score < p[-1].points)
      grade_say(r, "the part before is wrong%s: repair that first\n", "", 0);
  }
  close(said);
  close(why);
  rmdir(grade.here);
}

/* ---- The report */
static int grade_count(void) {
  int n = 0;
  while (n < PARTS && grade_parts[n].name) n++;
  return n;
}

/* Returns the points of all results. If `most` is 1, returns those that the graded parts could
   have, and if it is 2, those of all parts. */
static double grade_total(int most) {
  double sum = 0;
  for (int i = 0; i < grade_count(); i++)
    if (!most) sum += results[i].score;
    else if (most > 1 || grade_is_chosen(i)) sum += grade_parts[i].points;
  return sum;
}

static void grade_write_tests(edf_page *to) {
  for (int i = 0; i < grade_count(); i++) {
    const grade_part *p = &grade_parts[i];
    edf_write(to, "%s\n    {\"name\": ", i ? "," : "");
    edf_write_quoted(to, p->name, strlen(p->name));
    edf_write(to, ", \"score\": %g, \"max_score\": %g, \"status\": \"%s\", \"output\": ",
              results[i].score, p->points, results[i].score < p->points ? "failed" : "passed");
    edf_write_quoted(to, results[i].text, strlen(results[i].text));
    edf_write(to, "}");
  }
}

/* Gradescope's results.json; with the id and the seed besides it is --json. */
static void grade_write_json(const char *path, int ours) {
  edf_page page = { NULL, 0 };
  edf_write(&page, "{\n");
  if (ours) {
    edf_write(&page, "  \"id\": ");
    edf_write_quoted(&page, judge.id, strlen(judge.id));
    edf_write(&page, ", \"seed\": \"%llu\", \"max_score\": %g,\n", grade.seed, grade_total(2));
  }
  edf_write(&page, "  \"score\": %g,\n", grade_total(0));
  if (*grade.note) {
    edf_write(&page, "  \"output\": ");
    edf_write_quoted(&page, grade.note, strlen(grade.note));
    edf_write(&page, ",\n");
  }
  edf_write(&page, "  \"tests\": [");
  grade_write_tests(&page);
  edf_write(&page, "\n  ]\n}\n");
  edf_writer w = edf_create_file("grade", path);
  fwrite(page.at, 1, page.n, w.file);
  edf_finish_file(&w);
  edf_release(page.at);
}

static void grade_write_reports(void) {
  if (grade.gradescope) grade_write_json(grade.gradescope, 0);
  if (grade.json) grade_write_json(grade.json, 1);
  grade.reported = 1;
}

static void grade_print_part(int i) {
  const char *text = results[i].text;
  printf("%-32s %5g of %g\n", grade_parts[i].name, results[i].score, grade_parts[i].points);
  while (*text) {
    int n = (int)strcspn(text, "\n");
    printf("    %.*s\n", n, text);
    text += n + (text[n] == '\n');
  }
  fflush(stdout);
}

static void grade_print_autolab(void) {
  printf("{\"scores\": {");
  for (int i = 0; i < grade_count(); i++)
    printf("%s\"%s\": %g", i ? ", " : "", grade_parts[i].name, results[i].score);
  printf("}}\n");
}

/* ---- The student's file, compiled by a command, GRADE_COMPILE, that reads $FILE, $PROGRAM. It
   is stopped after GRADE_COMPILER_SECONDS. r gets the reason if it does not compile. */
/* Copies the file into the grader's folder. A link, which may lead anywhere, is not followed. */
static int grade_copy(const char *file) {
  enum { MOST = 4 << 20 };
  struct stat is;
  int from = open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), ok = 0;
  int to = open(grade.copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  char *text = (char *)malloc(MOST);
  if (from >= 0 && to >= 0 && text && !fstat(from, &is) && S_ISREG(is.st_mode)) {
    ssize_t n = read(from, text, MOST);
    ok = n >= 0 && n < MOST && write(to, text, (size_t)n) == n;
  }
  free(text);
  if (from >= 0) close(from);
  if (to >= 0) close(to);
  return ok;
}
static int grade_compile(const char *file, grade_result *r) {
  const char *command = getenv("GRADE_COMPILE");
  int said = grade_file(), status;
  const char *set = getenv("GRADE_COMPILER_SECONDS");
  double seconds = set ? atof(set) : 40;
  char name[300];
  if (!command) grade_fail("no GRADE_COMPILE: ", "make grade sets it");
  if (!grade_copy(file)) {
    grade_say(r, "%s cannot be read, so nothing is graded: expected a file below 4 MB, and no "
              "link\n", judge.file, 0);
    close(said);
    return 0;
  }
  snprintf(name, sizeof name, "%s%s", *judge.file == '-' ? "./" : "",
           strrchr(grade.copy, '/') + 1);
  pid_t pid = grade_fork(COMPILER_PROCESS);
  if (!pid) {
    int keep[] = { open("/dev/null", O_RDONLY), said, said };
    setenv("LC_ALL", "C", 1);
    setenv("FILE", name, 1);
    setenv("PROGRAM", grade.program, 1);
    setenv("TMPDIR", grade.folder, 1);
    if (!sandbox_require(&grade_descriptor_step, grade_descriptors(keep, 3)) ||
        !sandbox_require(&grade_folder_step, chdir(grade.folder) == 0) ||
        !sandbox_run(grade_compiler_steps)) _exit(126);
    sandbox.report->entered = 1;
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
  }
  status = grade_end(pid, (int)(1000 * seconds));
  grade_kill_rest();
  if (!reports[COMPILER_PROCESS].entered) grade_refuse(&reports[COMPILER_PROCESS]);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
    grade_say(r, "the compiler was stopped%s: it has %g seconds\n", "", seconds);
  if (status) {
    grade_say(r, "%s does not compile, so nothing is graded\n", judge.file, 0);
    grade_take(r, said, "| ");
  }
  close(said);
  return status == 0;
}

static void grade_prepare(const char *file) {
  const char *root = getenv("TMPDIR");
  snprintf(grade.folder, sizeof grade.folder, "%.1000s/grade-XXXXXX", root ? root : "/tmp");
  if (!mkdtemp(grade.folder) || chmod(grade.folder, 0711))
    grade_fail("cannot make a folder in ", root ? root : "/tmp");
  snprintf(grade.program, sizeof grade.program, "%s/student", grade.folder);
  snprintf(grade.here, sizeof grade.here, "%s/here", grade.folder);
  char *name = strdup(strrchr(file, '/') ? strrchr(file, '/') + 1 : file);
  for (char *c = name; c && *c; c++)               /* It is no line of the report.            */
    if (*c < ' ' || *c == 127) *c = '?';
  judge.file = name && *name ? name : "file";
  const char *slash = strrchr(file, '/');
  int n = slash > file ? (int)(slash - file) : 1;
  snprintf(judge.folder, sizeof judge.folder, "%.*s", n, slash ? file : ".");
  snprintf(grade.copy, sizeof grade.copy, "%s/%.250s", grade.folder, judge.file);
  for (int k = 0; k < 3; k++) {
    struct sigaction act = { 0 };
    const int ends[] = { SIGINT, SIGTERM, SIGHUP };
    act.sa_handler = grade_note_signal;
    sigaction(ends[k], &act, NULL);
  }
}
/* A path is relative to the folder of the caller, in GRADE_FROM. */
static const char *grade_path(const char *path) {
  const char *from = getenv("GRADE_FROM");
  if (*path == '/' || !from) return path;
  size_t n = strlen(from) + strlen(path) + 2;
  char *all = (char *)malloc(n);
  if (all) snprintf(all, n, "%s/%s", from, path);
  return all ? all : path;
}

/* ---- The sandbox, before anything of the student's is compiled or run */
#ifdef __linux__
static int grade_set_private(const sandbox_step *s) {
  (void)s;
  return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 && prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0;
}

static int grade_set_subreaper(const sandbox_step *s) {
  int set = 0;
  (void)s;
  return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 &&
         prctl(PR_GET_CHILD_SUBREAPER, &set, 0, 0, 0) == 0 && set;
}
#endif

static const sandbox_step grade_own_steps[] = {
#ifdef __linux__
  { "grader's memory", "PR_SET_DUMPABLE: no process of the same user reads it", SANDBOX_KERNEL,
    grade_set_private, 0, 0 },
  { "orphans", "PR_SET_CHILD_SUBREAPER: the grader ends what a program leaves behind",
    SANDBOX_KERNEL, grade_set_subreaper, 0, 0 },
#endif
  { NULL, NULL, NULL, NULL, 0, 0 }
};

/* With --no-sandbox the report names the first limit that is missing. */
static void grade_note(const sandbox_report *r) {
  snprintf(grade.note, sizeof grade.note, "graded with --no-sandbox; %s%s%s%s",
           r->failed ? "a limit is missing: " : "no limit is missing",
           r->failed ? r->failed->limit : "", r->failed && r->error ? ": " : "",
           r->failed && r->error ? strerror(r->error) : "");
  printf("%s\n", grade.note);
  fflush(stdout);
}

/* A process enters the sandbox, runs nothing in it, and ends. */
static void grade_check_sandbox(void) {
  int null = open("/dev/null", O_RDWR), keep[] = { null, null, null, null, null }, status;
  if (mkdir(grade.here, 0700)) grade_fail("cannot make ", grade.here);
  pid_t pid = grade_fork(STUDENT_PROCESS);
  if (!pid) {
    grade_enter(keep, 5, 1);
    _exit(0);
  }
  waitpid(pid, &status, 0);
  sandbox_report *r = &reports[STUDENT_PROCESS];
  if (status) r->entered = 0;
  if (!r->entered) grade_refuse(r);
  rmdir(grade.here);
  close(null);
  if (sandbox.no_sandbox) grade_note(sandbox.report->failed ? sandbox.report : r);
}

static void grade_start_sandbox(void) {
  reports = (sandbox_report *)mmap(NULL, PROCESSES * sizeof *reports, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (reports == MAP_FAILED) grade_fail("no shared memory: ", strerror(errno));
  sandbox.report = &reports[OWN_PROCESS];
  sandbox.grader = getpid();
  if (!sandbox_run(grade_own_steps)) grade_refuse(sandbox.report);
  grade_check_sandbox();
}

/* A wrong id, or numbers of another's, look like mistakes. */
static void grade_print_numbers(void) {
  const char *comma = "";
  printf("the numbers of id %s:", judge.id);
  for (const grade_variant *v = grade_variants; v->name; v++, comma = ",") {
    printf("%s %s = ", comma, v->name);
    if (v->words) printf("%s", grade_word(v->name));
    else printf("%g", grade_number(v->name));
  }
  printf("\n");
}

/* Returns the number of a question. Its parts begin with the same word. */
static int grade_question(int part) {
  int n = 1;
  for (int i = 1; i <= part; i++) {
    size_t word = strcspn(grade_parts[i].name, " :");
    n += word != strcspn(grade_parts[i - 1].name, " :") ||
         strncmp(grade_parts[i].name, grade_parts[i - 1].name, word) != 0;
  }
  return n;
}
static int grade_is_chosen(int part) {
  if (!grade.part || !strcmp(grade.part, grade_parts[part].name)) return 1;
  return grade.part[strspn(grade.part, "0123456789")] == 0 &&
         grade_question(part) == atoi(grade.part);
}

static void grade_all(const char *file) {
  int first = 0;
  while (first < grade_count() && !grade_is_chosen(first)) first++;
  if (first == grade_count()) {
    fprintf(stderr, "the parts:");
    for (int i = 0; i < grade_count(); i++)
      fprintf(stderr, "%s %d %s", i ? "," : "", grade_question(i), grade_parts[i].name);
    fprintf(stderr, "\n");
    grade_fail("no part is called ", grade.part);
  }
  struct stat is;
  if (lstat(file, &is)) grade_fail("there is no file ", file);
  grade_prepare(file);
  grade_start_sandbox();
  int compiles = grade_compile(file, &results[first]);
  for (int i = first; i < grade_count(); i++) {
    if (compiles && grade_is_chosen(i)) grade_one(i);
    if (grade_is_chosen(i)) grade_print_part(i);
    grade_write_reports();
  }
  printf("%-32s %5g of %g   (id %s, seed %llu)\n", "total", grade_total(0), grade_total(1),
         judge.id, grade.seed);
  if (grade_total(0) < grade_total(1)) grade_print_numbers();
  if (*grade.note) printf("%s\n", grade.note);
  if (grade.autolab) grade_print_autolab();
  grade_clean();
}

/* ---- The handout of an id: @name@ is its number or word. */
static void grade_print_handout(const char *path) {
  FILE *in = fopen(path, "r");
  char name[32];
  int c;
  if (!in) grade_fail("cannot read ", path);
  while ((c = getc(in)) != EOF) {
    long here = ftell(in);
    if (c == '@' && fscanf(in, "%31[A-Za-z0-9_]", name) == 1 && getc(in) == '@') {
      const grade_variant *v = grade_variants;
      while (v->name && strcmp(v->name, name)) v++;
      if (v->words) printf("%s", grade_word(name));
      else printf("%g", grade_number(name));
    } else {
      if (c == '@') fseek(in, here, SEEK_SET);
      putchar(c);
    }
  }
  fclose(in);
}

/* The table of a class is made by a script, with the reports of this program. */
static void grade_class(const char *folder, const char *self) {
  if (!getenv("GRADE_CLASS")) grade_fail("no GRADE_CLASS: ", "make grade sets it");
  setenv("ARGS", sandbox.no_sandbox ? "--no-sandbox" : "", 1);
  execlp("sh", "sh", "-c", "exec sh $GRADE_CLASS \"$0\" \"$1\"", folder, self, (char *)NULL);
  grade_fail("no shell: ", strerror(errno));
}

static const char *grade_value(int argc, char **argv, int *i) {
  if (*i + 1 >= argc) grade_fail("a value is missing after ", argv[*i]);
  return argv[++*i];
}

/* Returns 1 if the seed is random. A student's program could guess the time. */
static int grade_draw_seed(void) {
  FILE *random = fopen("/dev/urandom", "rb");
  int drawn = random && fread(&grade.seed, 4, 1, random) == 1;
  if (random) fclose(random);
  return drawn;
}

int main(int argc, char **argv) {
  const char *file = NULL, *class = NULL, *example = "make grade ID=you";
  char *end = "";
  int has_seed = grade_draw_seed();
  judge.id = "";
  for (int i = 1; i < argc; i++) {
    const char *a = argv[i];
    if (!strcmp(a, "--id")) judge.id = grade_value(argc, argv, &i);
    else if (!strcmp(a, "--gradescope"))
      grade.gradescope = grade_path(grade_value(argc, argv, &i));
    else if (!strcmp(a, "--json")) grade.json = grade_path(grade_value(argc, argv, &i));
    else if (!strcmp(a, "--part")) grade.part = grade_value(argc, argv, &i);
    else if (!strcmp(a, "--class")) class = grade_path(grade_value(argc, argv, &i));
    else if (!strcmp(a, "--handout")) grade.handout = grade_value(argc, argv, &i);
    else if (!strcmp(a, "--seed")) {
      grade.seed = strtoull(grade_value(argc, argv, &i), &end, 10);
      has_seed = 1;
    }
    else if (!strcmp(a, "--autolab")) grade.autolab = 1;
    else if (!strcmp(a, "--help")) {
      printf("grade FILE --id ID [--part NAME] [--seed N] [--gradescope FILE] [--json FILE]\n"
             "           [--autolab] [--no-sandbox]\ngrade --handout FILE --id ID\n"
             "grade --class DIR\n");
      return 0;
    }
    else if (!strcmp(a, "--no-sandbox")) sandbox.no_sandbox = 1;
    else if (*a == '-' || file) grade_fail("what is this? ", a);
    else file = a;
  }
  if (*end) grade_fail("--seed is not a whole number: ", end);
  if (class) grade_class(class, argv[0]);
  if (!*judge.id) grade_fail("expected --id, the student's; ", example);
  for (const char *c = judge.id; *c; c++)
    if (*c <= ' ' || *c == 127) grade_fail("the id has a blank or a control character; ", example);
  if (grade.handout) grade_print_handout(grade.handout);
  else if (!has_seed) grade_fail("refused: no random numbers from ", "/dev/urandom");
  else if (file) grade_all(grade_path(file));
  else grade_fail("expected a student's file; ", example);
  return 0;
}
