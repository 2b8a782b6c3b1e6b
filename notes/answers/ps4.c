/* A solution of problem set 4; @A@ and others are the numbers of an id. */
#include "ps4.h"

const char *gru(void) {
  return "g[b,t,j] = sig(Vg[j,K] h[b,t-1,K] + Wg[j,I] x[b,t,I]) \n"
         "r[b,t,j] = sig(Vr[j,K] h[b,t-1,K] + Wr[j,I] x[b,t,I]) \n"
         "u[b,t,j] = tanh(@A@ (Vu[j,K] r[b,t,K] h[b,t-1,K] + Wu[j,I] x[b,t,I])) \n"
         "h[b,t,j] = (1 - g[b,t,j]) h[b,t-1,j] + g[b,t,j] u[b,t,j]";
}

const char *lstm(void) {
  return "f[b,t,j] = sig(@C@ + Vf[j,K] s[b,t-1,K] + Wf[j,I] x[b,t,I]) \n"
         "i[b,t,j] = sig(Vi[j,K] s[b,t-1,K] + Wi[j,I] x[b,t,I]) \n"
         "o[b,t,j] = sig(Vo[j,K] s[b,t-1,K] + Wo[j,I] x[b,t,I]) \n"
         "u[b,t,j] = tanh(Vc[j,K] s[b,t-1,K] + Wc[j,I] x[b,t,I]) \n"
         "c[b,t,j] = f[b,t,j] c[b,t-1,j] + i[b,t,j] u[b,t,j] \n"
         "s[b,t,j] = o[b,t,j] tanh c[b,t,j]";
}

const char *attention(void) {
  return "a[t,s] = softmax_s (q[t,D] k[s,D] / @D@) | s<=t \n"
         "o[t,e] = a[t,S] v[S,e]";
}

void learn_text(const edf_real *text, int n, const edf_real *context, int m, edf_real *P) {
  enum { BATCH = 100, PAIRS = 64 };
  edf_real last[BATCH], next[BATCH];
  edf_node *x = edf_input("x[b]"), *y = edf_input("y[b]");
  edf_node *loss = edf_equations("P[b,k] = softmax_k W[x[b],k] | x<64, k<8 \n"
                                 "loss[b] = -ln P[b,y[b]]");
  for (int step = 0; step < 3000; step++) {
    for (int b = 0; b < BATCH; b++) {
      int at = 2 + edf_below(n - 2);
      last[b] = 8 * text[at - 2] + text[at - 1];
      next[b] = text[at];
    }
    edf_feed(x, last, BATCH);
    edf_feed(y, next, BATCH);
    edf_forward();
    edf_backward(loss);
    edf_adam_default(0.01);
  }
  for (int i = 0; i < m; i++) {
    edf_real pair[1] = { 8 * context[8 * i + 6] + context[8 * i + 7] };
    edf_feed(x, pair, 1);
    edf_forward_to(edf_find("P"));
    for (int k = 0; k < 8; k++) P[8 * i + k] = edf_find("P")->value[k];
  }
}

int main(void) { return 0; }
