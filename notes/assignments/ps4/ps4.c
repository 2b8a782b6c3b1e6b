/* ps4.c - your fourth problem set: see the handout, which has your numbers.

     cc -g ps4.c -lm -o ps4 && ./ps4          your own tests, in main below
     make grade ID=you                        the grader's                                    */
#include "ps4.h"

/* 1. h[b,t,j], of x[b,t,i] and the weights Vg[j,k], Wg[j,i], Vr, Wr, Vu, Wu. */
const char *gru(void) {
  NOT_IMPLEMENTED();
  return "";
}

/* 2. s[b,t,j], of x[b,t,i] and Vf[j,k], Wf[j,i], Vi, Wi, Vo, Wo, Vc, Wc. */
const char *lstm(void) {
  NOT_IMPLEMENTED();
  return "";
}

/* 3. o[t,e], of q[t,d], k[s,d], v[s,e]. */
const char *attention(void) {
  NOT_IMPLEMENTED();
  return "";
}

/* 4. Reads a text of n letters, 0 to 7, then says for m contexts of eight letters which letter
   comes next: P[m,8], probabilities. */
void learn_text(const edf_real *text, int n, const edf_real *context, int m, edf_real *P) {
  (void)text, (void)n, (void)context, (void)m, (void)P;
  NOT_IMPLEMENTED();
}

/* Your own tests. */
int main(void) {
  edf_input("q[4,3]"), edf_input("k[4,3]"), edf_input("v[4,2]");
  edf_print(edf_equations("%s", attention()));
}
