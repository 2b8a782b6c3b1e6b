/* hostile.h - what a submission may try. tests/grade.sh puts this file in front of a solution
   and defines HOSTILE. The first part, "by hand", calls hostile(). */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#define FORGED "{\"score\": 100, \"tests\": []}\n{\"scores\": {\"by hand\": 100}}\n"

/* It writes a report of its own, wherever the report may be. */
static void forge(void) {
  const char *names[] = { "results.json", "../results.json", HOSTILE_FOLDER "/results.json" };
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
    int fd = open(names[i], O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd >= 0 && write(fd, FORGED, strlen(FORGED)) < 0) {}
  }
}

static void delete_all(const char *folder) {
  DIR *d = opendir(folder);
  char name[600];
  for (struct dirent *e; d && (e = readdir(d));) {
    snprintf(name, sizeof name, "%s/%s", folder, e->d_name);
    if (*e->d_name != '.') unlink(name);
  }
}

static void fill_memory(void) {
  for (char *p; (p = (char *)malloc(1 << 24));) memset(p, 1, 1 << 24);
  abort();
}

static void write_outside(void) {
  const char *names[] = { "../outside", HOSTILE_FOLDER "/outside" };
  for (unsigned i = 0; i < 2; i++) {
    int fd = open(names[i], O_WRONLY | O_CREAT, 0666);
    if (fd >= 0 && write(fd, FORGED, strlen(FORGED)) < 0) {}
  }
}

/* Gives the grader no CPU time. The lower half of the new limit's address is 0. */
static void limit_the_grader(void) {
  struct rlimit *none = (struct rlimit *)mmap((void *)0x100000000, 4096, PROT_READ | PROT_WRITE,
                                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  none->rlim_cur = none->rlim_max = 0;
  prlimit(getppid(), RLIMIT_CPU, none, NULL);
  prlimit(getppid(), RLIMIT_FSIZE, none, NULL);
}

/* The judge says with this number that all is right. The program sends it instead. */
static void send_verdict(void) {
  double share = 1;
  for (int fd = 5; fd < 1024; fd++) if (write(fd, &share, sizeof share) < 0) {}
  exit(0);
}

static void print_report(void) {
  const char *report = "\ntotal                     100 of 100   (id ann, seed 1)\n";
  for (int fd = 0; fd < 3; fd++) if (write(fd, report, strlen(report)) < 0) {}
  exit(0);
}

static void read_secret(void) {
  char text[100];
  int fd = open(HOSTILE_FOLDER "/secret", O_RDONLY);
  ssize_t n = read(fd, text, sizeof text);
  if (n > 0 && write(1, text, (size_t)n) < 0) {}
  exit(0);
}

static void hostile(void) {
  switch (HOSTILE) {
    case 1: for (volatile int i = 0;; i++) {}
    case 2: for (;;) if (fork() < 0 && errno == ENOSYS) break;
    case 3: fill_memory();
    case 4: exit(0);
    case 5: forge(); break;
    case 6: kill(-1, SIGKILL); kill(0, SIGTERM); break;
    case 7: delete_all(".."); delete_all(HOSTILE_FOLDER); break;
    case 8: for (int fd = 0; fd < 256; fd++) if (write(fd, FORGED, 50) < 0) {} break;
    case 9: write_outside(); break;
    case 10: limit_the_grader(); break;
    case 11: send_verdict();
    case 12: print_report();
    case 13: kill(getppid(), SIGKILL); break;
    case 14: read_secret();
  }
}
