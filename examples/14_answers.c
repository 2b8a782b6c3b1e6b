/* 14_answers.c - homework: a backward in the lecture's notation, run and checked

     cc -g -std=c99 -I. examples/14_answers.c -o build/14_answers -lm && build/14_answers

   An answer has the gradients of a line as the lecture writes them: with loops, or with summed
   indices in capitals. edf_check_backward runs the answer with the values of Forward and a
   random h.grad. The other gradients begin with random numbers, so an answer with = instead of
   += fails. For a wrong gradient the report shows how to correct the text. This program checks
   four answers to one line, and prints:

     answer to h, ...
       ok    W.grad: relative error ...
       ok    x.grad: relative error ...
       ok    B.grad: relative error ...
     right
     answer to h, ...
       FAIL  W.grad: relative error ...
             answer: line 1: a[b,j] = h.grad[b,j] (1 - h[b,j])
                                      ^
               a factor is missing: h[b,j]
       FAIL  B.grad: relative error ...
             answer: line 1: a[b,j] = h.grad[b,j] (1 - h[b,j])
                                      ^
               a factor is missing: h[b,j]
     wrong
     answer to h, ...
       FAIL  a line that cannot be run:
             answer: line 4: x.grad[b,i] += W[i,J] a[b,J]
                                              ^
               i is 3 in x.grad and 4 in W: are indices transposed?
       ok    W.grad: relative error ...
       FAIL  B.grad: relative error ...
             answer: line 3: B.grad[j] += a[B,j]
                                          ^
               wrong sign: insert (-1) here
       FAIL  x.grad: relative error ...
             answer: line 4: x.grad[b,i] += W[i,J] a[b,J]
                                              ^
               transposed: write J,i here
     wrong
     answer to h, ...
       FAIL  a line that cannot be run:
             answer: line 2: W.grad[j,i] = a[b,j] x[b,i]
                                           ^
               index b is neither on the left nor summed: write B, or sum_b
       FAIL  W.grad: relative error ...
             answer: line 2: W.grad[j,i] = a[b,j] x[b,i]
                                         ^
               '=' where a gradient needs +=
       FAIL  B.grad: missing: no line that can be read adds to it
     wrong
*/
#define EDF_REAL double
#define EDF_IMPLEMENTATION
#include "edf/slide.h"
#include "edf/judge.h"

/* Answers to h[b,j] = σ(W[j,I] x[b,I] − B[j]). a is the gradient of σ's argument. A student can
   choose any name without .grad for such a helper. */
static const char *const right =
  "a[b,j] = h.grad[b,j] h[b,j] (1 - h[b,j])\n"
  "for b,i,j: W.grad[j,i] += a[b,j] x[b,i]\n"
  "for b,j:   B.grad[j]   -= a[b,j]\n"
  "for b,i,j: x.grad[b,i] += W[j,i] a[b,j]";

/* Three wrong answers with capitals. x is an Input, so an answer may leave out x.grad. */
static const char *const wrong[] = {
  "a[b,j] = h.grad[b,j] (1 - h[b,j])\n"
  "W.grad[j,i] += a[B,j] x[B,i]\n"
  "B.grad[j] -= a[B,j]",

  "a[b,j] = h.grad[b,j] h[b,j] (1 - h[b,j])\n"
  "W.grad[j,i] += a[B,j] x[B,i]\n"
  "B.grad[j] += a[B,j]\n"
  "x.grad[b,i] += W[i,J] a[b,J]",

  ("a[b,j] = h.grad[b,j] h[b,j] (1 - h[b,j])\n"
   "W.grad[j,i] = a[b,j] x[b,i]")
};

int main(void) {
  static edf_real data[5 * 3];
  Input *x = edf_input("x[b,3]");
  CompNode *h = Equations("h[b,j] = σ(W[j,I] x[b,I] − B[j]) | j<4");
  for (int i = 0; i < 15; i++) data[i] = edf_normal(0, 1);
  edf_feed(x, data, 5);
  Forward();

  double error = edf_check_backward(h, right);
  printf("%s\n", error < 1e-6 ? "right" : "wrong");
  for (int k = 0; k < 3; k++) {
    error = edf_check_backward(h, wrong[k]);
    printf("%s\n", error < 1e-6 ? "right" : "wrong");
  }
  edf_clear();
  return 0;
}
