/* programs.h - programs that make a student's mistake, each in a process of its own: it may
   crash. A table of them says by which way each should be told, STOP: it is stopped with a
   message; REMARK: a line on stderr; REPORT: what the check or the doctor, which the program
   calls, prints; and the words that must stand there: the thing, the place, what was expected
   and found. "a|b": one of them. In the place of words: why a library cannot see it.

     static const mistake mistakes[] = {
       { IS(its_function), "feeding", STOP, { "x.c", "edf_feed" }, SAID }, ... };
     int main(int argc, char **argv) {
       return programs(argc, argv, "x", mistakes, sizeof mistakes / sizeof *mistakes);
     }

   All that each says is compared with tests/golden/x.txt, to be read as a student reads it;
   build/tests/x-float-none --write writes it anew. It includes edf.h, and comes first. */

#ifndef PROGRAMS_H
#define PROGRAMS_H

#include "temporary.h"
#include "told.h"
#include <dirent.h>
#include <sys/wait.h>

#include "edf_lab.h"
#include "golden.h"

enum { STOP = 1, REMARK = 2, REPORT = 4 };

static edf_real points[256], classes[64];        /* classes: 0, 1, 2, 0 ... */
static volatile edf_real printed;                /* what a program prints   */

static edf_array table_of(int rows, int columns) {
  const int dim[2] = { rows, columns };
  edf_array a = edf_new_array(2, dim);
  for (size_t i = 0; i < a.size; i++) a.value[i] = points[i % 256];
  return a;
}

typedef struct {
  const char *name;
  void (*program)(void);
  const char *category;
  int by;                                /* any of STOP, REMARK, REPORT; 0: none          */
  const char *words[5];                  /* all of them, or why it cannot be seen         */
  enum { AS_SAID, AS_GOOD, OPEN, WORKS } verdict;
  const char *found;                     /* "silent", "crash", or a part of what was said */
  const char *why;                       /* is it as good, or open                        */
} mistake;

#define IS(program) #program, program
#define SAID AS_SAID, NULL, NULL

/* ---- A program in a process of its own, and what it said */

static struct { char stop[8192], out[8192], err[8192]; int signal; } is;

/* The directory has another name in every run: here it is called build/x. */
static void read_back(FILE *f, char *to, size_t room) {
  const char *end = strrchr(dir, '.');
  rewind(f);
  to[fread(to, 1, room - 1, f)] = '\0';
  fclose(f);
  for (char *at = to; (at = strstr(at, dir)) != NULL;) {
    at += end - dir;
    memmove(at, at + strlen(end), strlen(at + strlen(end)) + 1);
  }
}

static void run(const mistake *m) {
  FILE *stop = tmpfile(), *out = tmpfile(), *err = tmpfile();
  int status = 0;
  if (!stop || !out || !err) abort();
  fflush(stdout);
  pid_t child = fork();
  if (child < 0) abort();
  if (child == 0) {
    alarm(30);
    if (dup2(fileno(out), 1) < 0 || dup2(fileno(err), 2) < 0) _exit(3);
    TRY(m->program());
    if (panicked) fputs(caught, stop);
    fflush(stop);
    fflush(stdout);
    _exit(0);
  }
  if (waitpid(child, &status, 0) != child) abort();
  is.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  read_back(stop, is.stop, sizeof is.stop);
  read_back(out, is.out, sizeof is.out);
  read_back(err, is.err, sizeof is.err);
}

/* Does one of the words a|b|c stand in what was said by the ways that count? */
static int stands(const char *words, int by) {
  char word[64];
  while (*words) {
    size_t n = strcspn(words, "|");
    snprintf(word, sizeof word, "%.*s", (int)n, words);
    if (((by & STOP) && strstr(is.stop, word)) || (by & REPORT && strstr(is.out, word)) ||
        ((by & (REMARK | REPORT)) && strstr(is.err, word))) return 1;
    words += n + (words[n] == '|');
  }
  return 0;
}

/* ---- Is it as expected? */

static const mistake *now;
static int count[4], silent, crashed;            /* of each verdict; of those OPEN */

static int as_found(void) {
  if (!strcmp(now->found, "crash")) return is.signal != 0;
  if (!strcmp(now->found, "silent")) return !is.signal && !*is.stop && !*is.out && !*is.err;
  return strstr(is.stop, now->found) || strstr(is.out, now->found) ||
         strstr(is.err, now->found);
}

/* What a crash says is the C library's, and not the same on all machines. */
static void tell_all(void) {
  tell("%s-------- %s: %s\n", *told ? "\n" : "", now->category, now->name);
  if (is.signal) tell("(crash)\n");
  else if (!*is.stop && !*is.out && !*is.err) tell("(silent)\n");
  else tell("%s%s%s%s", is.out, is.err, is.stop, *is.stop ? "\n" : "");
}

static void as_expected(void) {
  int missing = 0, open = now->verdict == OPEN;
  run(now);
  tell_all();
  count[now->verdict]++;
  CHECK(open || !is.signal || now->found, "%s: crashed by signal %d", now->category, is.signal);
  for (int i = 0; now->by && i < 5 && now->words[i]; i++)
    if (!stands(now->words[i], now->by)) {
      missing++;
      CHECK(now->verdict != AS_SAID, "%s: no \"%s\" in\n--- stop\n%s\n--- out\n%s\n"
            "--- err\n%s\n---", now->category, now->words[i], is.stop, is.out, is.err);
    }
  CHECK(now->by || !(*is.stop || *is.out || *is.err), "said: %s%s%s", is.stop, is.out, is.err);
  CHECK(!open || missing, "it is said now: take OPEN off");
  CHECK(now->verdict == AS_SAID || open || as_found(), "not as found, %s:\n%s%s%s", now->found,
        is.stop, is.out, is.err);
  if (!open) return;
  silent += !strcmp(now->found, "silent");
  crashed += !strcmp(now->found, "crash");
  printf("  OPEN, %s: %s\n    found: %s\n", now->category, now->why, now->found);
  if (!as_found()) printf("    but now: signal %d\n%s%s%s\n", is.signal, is.stop, is.out,
                          is.err);
}

static char text_name[32];

static void whole_messages(void) { golden(text_name, golden_plain(told)); }

static void remove_directory(void) {
  DIR *d = opendir(dir);
  if (!d) abort();
  for (struct dirent *e; (e = readdir(d)) != NULL;)
    if (*e->d_name != '.') remove(file(e->d_name));
  closedir(d);
  rmdir(dir);
}

static int programs(int argc, char **argv, const char *name, const mistake *m, size_t n) {
  golden_arguments(argc, argv);
  golden_keeps_places = 1;
  make_directory(name);
  snprintf(text_name, sizeof text_name, "%s.txt", name);
  for (int i = 0; i < 256; i++) points[i] = sinf((float)i * 1.7f);
  for (int i = 0; i < 64; i++) classes[i] = (edf_real)(i % 3);
  for (now = m; now < m + n; now++) harness_run(now->name, as_expected);
  RUN(whole_messages);
  remove_directory();
  printf("%d said as expected, %d as good in other words, %d no mistake, %d OPEN: "
         "%d silent, %d crash, %d say too little\n", count[AS_SAID], count[AS_GOOD],
         count[WORKS], count[OPEN], silent, crashed, count[OPEN] - silent - crashed);
  return harness_report();
}

#endif
