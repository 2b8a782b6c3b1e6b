/* judge.h - what grade.c tells judge.c: whom it asks, and on whose behalf. */
#ifndef JUDGE_H
#define JUDGE_H

enum { GRADE_NO_ANSWER = 77 };           /* exit status: the student's program gave none      */

typedef struct {
  const char *id, *file;                 /* the student's; its name in messages               */
  char folder[1100];                     /* in which the student's file is                    */
  unsigned long long drawn;              /* state of the random numbers                       */
  int ask, answer;                       /* descriptors of the student's program              */
} grade_judge;
extern grade_judge judge;
#endif
