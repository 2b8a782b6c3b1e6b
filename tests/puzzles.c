/* The 21 Tensor Puzzles (Sasha Rush's, by their names), each at most four lines of text,
   against plain loops: 50 random inputs each, of sizes from 1 to 6. */

#include "interpreter.h"
#include "plain.h"

static int n, m;                         /* the sizes of a round                              */

static void fifty(void (*loops)(void)) {
  for (int round = 0; round < 50 && !harness.bad; round++) {
    n = round ? 1 + (int)plain_random(0, 6) : 1;
    m = round ? 1 + (int)plain_random(0, 6) : 1;
    run_slide(loops);
  }
}

LOOPS(ones, fifty) {
  SLIDE("", say("o[i] = 1 | i<%d", n))
  OUT1(o, n);
  FOR(i, n) o[i] = 1;
}
LOOPS(sum, fifty) {
  SLIDE(say("a[%d]", n), "o = sum_i a[i]")
  IN1(a, n); OUT0(o);
  FOR(i, n) *o += a[i];
}
LOOPS(outer, fifty) {
  SLIDE(say("a[%d] b[%d]", n, m), "o[i,j] = a[i] b[j]")
  IN1(a, n); IN1(b, m); OUT2(o, n, m);
  FOR(i, n) FOR(j, m) o[i][j] = a[i] * b[j];
}
LOOPS(diag, fifty) {
  SLIDE(say("a[%d,%d]", n, n), "o[i] = a[i,i]")
  IN2(a, n, n); OUT1(o, n);
  FOR(i, n) o[i] = a[i][i];
}
LOOPS(eye, fifty) {
  SLIDE("", say("o[i,j] = 1[i = j] | i<%d, j<%d", n, n))
  OUT2(o, n, n);
  FOR(i, n) o[i][i] = 1;
}
LOOPS(triu, fifty) {
  SLIDE("", say("o[i,j] = 1[i <= j] | i<%d, j<%d", n, n))
  OUT2(o, n, n);
  FOR(i, n) FOR(j, n) o[i][j] = i <= j;
}
LOOPS(cumsum, fifty) {
  SLIDE(say("a[%d]", n), "o[i] = sum_j a[j] | j<=i")
  IN1(a, n); OUT1(o, n);
  FOR(i, n) FOR(j, i + 1) o[i] += a[j];
}
LOOPS(diff, fifty) {
  SLIDE(say("a[%d]", n), say("o[i] = a[i] - a[i-1] | i<%d", n))
  IN1(a, n); OUT1(o, n);
  FOR(i, n) o[i] = i ? a[i] - a[i - 1] : a[i];
}
LOOPS(vstack, fifty) {
  SLIDE(say("a[%d] b[%d]", n, n), "o[k,i] = 1[k=0] a[i] + 1[k=1] b[i] | k<2")
  IN1(a, n); IN1(b, n); OUT2(o, 2, n);
  FOR(i, n) { o[0][i] = a[i]; o[1][i] = b[i]; }
}
LOOPS(roll, fifty) {
  SLIDE(say("a[%d]", n), say("o[i] = a[i+1] + 1[i = %d] a[0] | i<%d", n - 1, n))
  IN1(a, n); OUT1(o, n);
  FOR(i, n) o[i] = a[(i + 1) % n];
}
LOOPS(flip, fifty) {
  SLIDE(say("a[%d]", n), say("o[i] = a[%d-i] | i<%d", n - 1, n))
  IN1(a, n); OUT1(o, n);
  FOR(i, n) o[i] = a[n - 1 - i];
}
LOOPS(compress, fifty) {
  SLIDE(say("g[%d]=2 v[%d]", n, n), say("k[i] = sum_j g[j] | j<i\n"
                                         "o[k[i]] += g[i] v[i] | k<%d", n))
  IN1(g, n); IN1(v, n); OUT1(o, n);
  int k = 0;
  FOR(i, n) if (g[i] != 0) o[k++] = v[i];
}
LOOPS(pad_to, fifty) {
  SLIDE(say("a[%d]", n), say("o[j] = sum_i 1[i = j] a[i] | j<%d", m))
  IN1(a, n); OUT1(o, m);
  FOR(i, n) if (i < m) o[i] = a[i];
}
LOOPS(sequence_mask, fifty) {
  SLIDE(say("v[%d,%d] l[%d]=%d", n, m, n, m + 1), "o[i,j] = 1[j < l[i]] v[i,j]")
  IN2(v, n, m); IN1(l, n); OUT2(o, n, m);
  FOR(i, n) FOR(j, m) o[i][j] = j < l[i] ? v[i][j] : 0;
}
LOOPS(bincount, fifty) {
  SLIDE(say("a[%d]=%d", n, m), say("o[a[i]] += 1 | a<%d", m))
  IN1(a, n); OUT1(o, m);
  FOR(i, n) o[(int)a[i]]++;
}
LOOPS(scatter_add, fifty) {
  SLIDE(say("v[%d] a[%d]=%d", n, n, m), say("o[a[i]] += v[i] | a<%d", m))
  IN1(v, n); IN1(a, n); OUT1(o, m);
  FOR(i, n) o[(int)a[i]] += v[i];
}
LOOPS(flatten, fifty) {
  SLIDE(say("a[%d,%d]", n, m), "o[(i,j)] = a[i,j]")
  IN2(a, n, m); OUT1(o, n * m);
  FOR(i, n) FOR(j, m) o[i * m + j] = a[i][j];
}
LOOPS(linspace, fifty) {
  SLIDE("lo hi", say("o[k] = lo + (hi - lo) k / max(1, K-1) | k<%d", n))
  IN0(lo); IN0(hi); OUT1(o, n);
  FOR(k, n) o[k] = lo + (hi - lo) * k / (n > 1 ? n - 1 : 1);
}
LOOPS(heaviside, fifty) {
  SLIDE(say("a[%d]~1 b[%d]", n, n), "o[i] = 1[a[i] = 0] b[i] + 1[a[i] > 0]")
  IN1(a, n); IN1(b, n); OUT1(o, n);
  FOR(i, n) o[i] = a[i] == 0 ? b[i] : a[i] > 0;
}
LOOPS(repeat, fifty) {
  SLIDE(say("a[%d]", n), say("o[k,i] = a[i] | k<%d", m))
  IN1(a, n); OUT2(o, m, n);
  FOR(k, m) FOR(i, n) o[k][i] = a[i];
}
LOOPS(bucketize, fifty) {
  SLIDE(say("v[%d]~4 c[%d]~4", n, m), "o[i] = sum_j 1[v[i] >= c[j]]")
  IN1(v, n); IN1(c, m); OUT1(o, n);
  FOR(i, n) FOR(j, m) o[i] += v[i] >= c[j];
}

int main(void) { return harness_main(); }
