/* A solution of problem set 2; @j@ and others are the letters of an id. */
#include "ps2.h"

const char *product(void) {
  return "for b,@j@,i: @M@.grad[@j@,i] += @y@.grad[b,@j@] x[b,i] \n"
         "x.grad[b,i] += @M@[J,i] @y@.grad[b,J]";
}
const char *convolution(void) {
  return "for b,t,@j@,d,i: @M@.grad[@j@,d,i] += @y@.grad[b,t,@j@] x[b,t+d,i] \n"
         "for b,t,@j@,d,i: x.grad[b,t+d,i] += @M@[@j@,d,i] @y@.grad[b,t,@j@]";
}
const char *weights(void) {
  return "g[t,s] = a[t,s] (a.grad[t,s] - a[t,S] a.grad[t,S]) \n"
         "q.grad[t,d] += g[t,S] k[S,d] \n"
         "k.grad[s,d] += g[T,s] q[T,d]";
}
const char *attention(void) {
  return "a.grad[t,s] += @y@.grad[t,J] v[s,J] \n"
         "v.grad[s,j] += a[T,s] @y@.grad[T,j]";
}
const char *normalisation(void) {
  return "r[b] = sqrt(1 + mean_l x[b,l]^2) \n"
         "d[b] = mean_l @y@.grad[b,l] x[b,l] \n"
         "x.grad[b,i] += @y@.grad[b,i] / r[b] - x[b,i] d[b] / r[b]^3";
}

const char *running_sum(void) { return "o[i] = @K@ a[S] | S<=i"; }
const char *difference(void) { return "o[i] = a[i] - @K@ sum_j 1[j = i-1] a[j]"; }
const char *count(void) { return "o[a[i]] += w[i] | a<5"; }
const char *mask(void) { return "o[i,j] = 1[j < l[i]] v[i,j] + @C@ 1[j >= l[i]]"; }

int main(void) { return 0; }
