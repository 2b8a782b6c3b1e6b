/* hostile.h - what a submission may try, HOSTILE of them: see tests/grade.sh, which puts it in
   front of a solution. Called in the first part, "by hand", of 10 points. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#include <stdio.h>
#include <stdlib.h>
#include <dirent.h>
#include <errno.h>

#define FORGED "{\"score\": 100, \"tests\": []}\n{\"scores\": {\"by hand\": 100}}\n"

static void hostile_report(void) {       /* wherever it may lie */
  const char *names[] = { "results.json", "../results.json", "../../results.json",
                          "report.json", HOSTILE_REPORT };
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
    int fd = open(names[i], O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd >= 0) {
      if (write(fd, FORGED, strlen(FORGED)) < 0) {}
      close(fd);
    }
  }
}

static void hostile_memory(pid_t pid) {
  char name[64];
  snprintf(name, sizeof name, "/proc/%d/mem", (int)pid);
  int fd = open(name, O_RDWR);
  if (fd < 0) fd = open(name, O_RDONLY);
  if (fd < 0) return;
  if (pid != getpid()) {
    fprintf(stderr, "another process can be read\n");
    exit(1);
  }
  snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
  FILE *maps = fopen(name, "r");
  unsigned long from;
  static double block[4096], right = 10;
  while (maps && fscanf(maps, "%lx%*[^\n]", &from) == 1)
    for (int i = 0; i < 64 && pread(fd, block, sizeof block, (off_t)from) > 0; i++) {
      for (int k = 0; k < 4096; k++) block[k] = right;
      if (pwrite(fd, block, sizeof block, (off_t)from) < 0) break;
      from += sizeof block;
    }
}

static void hostile_crash(void) { abort(); }
static jmp_buf hostile_place;

static void hostile(void) {
  switch (HOSTILE) {
    case 1: for (volatile int i = 0;; i++) {}
    case 2: for (;;) if (fork() < 0 && errno == ENOSYS) break;
    case 3:
      for (;;) {
        char *p = (char *)malloc(1 << 24);
        if (!p) abort();
        memset(p, 1, 1 << 24);
      }
    case 4: for (;;) printf("flood flood flood flood flood flood flood flood flood\n");
    case 5: exit(0);
    case 6: hostile_report(); break;
    case 7:
      if (fork() == 0) {
        setsid();
        for (int i = 0; i < 100; i++) { usleep(100000); hostile_report(); }
        _exit(0);
      }
      break;
    case 8: kill(getppid(), SIGKILL); kill(getppid(), SIGSTOP); break;
    case 9: kill(-1, SIGKILL); kill(0, SIGTERM); break;
    case 10: hostile_memory(getpid()); hostile_memory(getppid()); break;
    case 11:
      for (const char *at[] = { ".", "..", "../..", HOSTILE_FOLDER, NULL }, **a = at; *a; a++) {
        DIR *d = opendir(*a);
        char name[600];
        for (struct dirent *e; d && (e = readdir(d));) {
          snprintf(name, sizeof name, "%s/%s", *a, e->d_name);
          if (*e->d_name != '.') unlink(name), rename(name, "gone");
        }
      }
      break;
    case 12: printf("%s", FORGED); printf("total   100 of 100\n"); break;
    case 13: for (int fd = 0; fd < 256; fd++) if (write(fd, FORGED, 50) < 0) {} break;
    case 14: break;                      /* the macro, below */
    case 15: atexit(hostile_crash); exit(0);
    case 16: longjmp(hostile_place, 1);
    case 17: for (;;) pause();
    case 18: for (int fd = 0; fd < 256; fd++) close(fd); break;
    case 19: { struct rlimit none = { 0, 0 }; (void)none;
#ifdef __linux__
      prlimit(getppid(), RLIMIT_CPU, &none, NULL);
#endif
      setpriority(PRIO_PROCESS, (id_t)getppid(), 19);
      int up = fcntl(4, F_SETOWN, getppid());
      (void)up;
      break; }
    case 20: { double n = 1e300; if (write(4, &n, sizeof n) < 0) {} break; }
    case 21: symlink("/etc/passwd", "link"); mkdir("folder", 0777); mkfifo("pipe", 0777);
             chmod("..", 0); break;
    case 22: execl("/bin/sh", "sh", "-c", "touch mine; sleep 60 & kill -9 $PPID", (char *)NULL);
  }
}
#if HOSTILE == 14
#define edf_gradcheck my_gradcheck
#endif
