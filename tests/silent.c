/* silent.c - programs that once gave a wrong number without a message. A case is

     { "x[2] = 1 2; y[b] = 3 4 5", "z = x[I]^2", "z = 5; x.grad = 2 4" },
     { "x[2] = 1 2",               "z = x[I] .", "stops: point" },

   The first text declares tensors and gives their numbers. A tensor with the index b is an
   Input with a gradient, any other a Parameter. The second text is a program, or an equation of
   Einsum: "einsum x y: z = x[I] y[I]". The third text has the right values, and the right
   gradients after a Backward of the last line, which gives 1/n to each of its n entries. Or it
   has the words of an error, separated by |. Each case runs by the fast kernel and by the
   reference. */

#include "given.h"

typedef struct { const char *tensors, *text, *right; } example;

/* Builds an equation of Einsum over the tensors named before the colon, or a program. */
static edf_node *build(const char *text) {
  char names[64], *name;
  edf_node *in[4] = { NULL };
  if (strncmp(text, "einsum ", 7)) return edf_equations("%s", text);
  snprintf(names, sizeof names, "%.*s", (int)strcspn(text + 7, ":"), text + 7);
  name = strtok(names, " ");
  for (int k = 0; name; name = strtok(NULL, " ")) in[k++] = edf_find(name);
  return edf_einsum(strchr(text, ':') + 2, in[0], in[1], in[2], in[3]);
}

static void run(const example *e) {
  edf_node *y = NULL;
  declare(e->tensors);
  y = build(e->text);
  edf_forward();
  if (strstr(e->right, ".grad")) edf_backward(y);
  compare(e->text, e->right, EDF_REAL_IS_DOUBLE ? 1e-9 : 1e-5);
}

static void check(const example *e, size_t n) {
  for (; n-- > 0; e++)
    for (int kernel = EDF_FASTEST; kernel <= EDF_REFERENCE; kernel += EDF_REFERENCE) {
      edf.kernel = kernel;
      if (!strncmp(e->right, "stops: ", 7)) STOPS(run(e), e->right + 7);
      else TRY(run(e));
      if (panicked && strncmp(e->right, "stops: ", 7))
        harness_fail(__FILE__, __LINE__, "%s stops:\n%s", e->text, caught);
      edf_clear();
      edf.kernel = EDF_FASTEST;
    }
}
#define CASES(name, ...)                              \
  TEST(name) {                                        \
    static const example cases[] = { __VA_ARGS__ };   \
    check(cases, sizeof cases / sizeof *cases);       \
  }

#define XY "x[3] = 1 2 3; y[3] = 1 2 3"
CASES(a_number_has_a_digit_and_at_most_one_point,
  { XY, "z = x[I] . y[I]", "stops: point|x[i] y[i]" },
  { XY, "einsum x y: z = x[I] . y[I]", "stops: point|x[i] y[i]" },
  { XY, "z = (x[I] + . y[I])", "stops: point" },
  { XY, "z[i] = . x[i]", "stops: point" },
  { XY, "z[i] = x[i]..", "stops: point" },
  { XY, "z[i] = 1.5.2 x[i]", "stops: at most one point" },
  { XY, "einsum x: z[i] = 1.5.2 x[i]", "stops: at most one point" },
  { XY, "z[i] = x[i]^1.5.2", "stops: at most one point" },
  { XY, "z[i] = dropout(x[i], 0.1.2)", "stops: at most one point" },
  { XY, "z[i] = normalize_i(x[i], 1e-5.)", "stops: at most one point" },
  { XY, "z[i] = 0x10 x[i]", "stops: x10" },
  { XY, "z[i] = x[i] y[i].", "z = 1 4 9" },
  { XY, "einsum x y: z[i] = x[i] y[i].", "z = 1 4 9" },
  { XY, "z[i] = 2. x[i] .", "z = 2 4 6" },
  { XY, "z[i] = .5 x[i] + 1.", "z = 1.5 2 2.5" },
  { XY, "u[i] = x[i].   # a copy.\nz[i] = 2 u[i].\n", "z = 2 4 6" },
  { XY, "z[i] = x[i] | i<2.", "z = 1 2" })

CASES(a_logarithm_of_a_sum_of_exponentials_is_stable,
  { "x[b,2] = -1e9 3", "z[b] = ln sum_j exp(x[b,j])", "z = 3; x.grad = 0 1" },
  { "x[b,2] = 3 -1e9", "z[b] = ln sum_j exp(x[b,j])", "z = 3; x.grad = 1 0" },
  { "x[b,2] = -inf 3", "z[b] = ln sum_j exp(x[b,j])", "z = 3; x.grad = 0 1" },
  { "x[b,2] = -inf -inf", "z[b] = ln sum_j exp(x[b,j])", "z = -inf" },
  { "x[b,2] = 1 inf", "z[b] = log(sum_j exp(x[b,j]))", "z = inf" },
  { "x[b,2] = nan 1", "z[b] = ln sum_j exp(x[b,j])", "z = nan" },
  { "x[b,2] = 1000 1000", "z[b] = ln(sum_j exp(x[b,j]))",
    "z = 1000.693147180559945; x.grad = 0.5 0.5" },
  { "x[b,2] = -1000 -1000", "z[b] = 2 ln mean_j exp(x[b,j])", "z = -2000; x.grad = 1 1" },
  { "x[b,2,2] = -1e5 0 -inf 1e5", "z[b] = ln sum_{i,j} exp(x[b,i,j])",
    "z = 1e5; x.grad = 0 0 0 1" },
  { "x[b,2,2] = 1 900 1 2", "z[j] = ln sum_{b,i} exp(x[b,i,j])",
    "z = 1.693147180559945 900; x.grad = 0.25 0.5 0.25 0" },
  { "w[2] = 2 1; x[b,2] = 1000 -5", "z[b] = ln sum_j w[j] exp(x[b,j])",
    "z = 1000.693147180559945; x.grad = 1 0; w.grad = 0.5 0" },
  { "w[2] = 2 1; x[b,2] = 1000 -5", "z[b] = ln (w[J] exp(x[b,J]))",
    "z = 1000.693147180559945; x.grad = 1 0" },
  { "w[2] = 0 1; x[b,2] = 1e9 3", "z[b] = ln sum_j w[j] exp(x[b,j])", "z = 3; x.grad = 0 1" },
  { "x[b,2] = 800 -800; c[2] = 100 900", "z[b] = ln sum_j exp(x[b,j]) exp(c[j])",
    "z = 900; c.grad = 1 0" },
  { "x[b,2] = 900 900", "z[b] = ln (0.5 sum_j exp(x[b,j]))", "z = 900" },
  { "x[b,2] = 900 900", "z[b] = ln sum_j exp(x[b,j]) / 2", "z = 900" },
  { "x[b,2,2] = 1 nan 2 2", "z[b,t] = ln sum_s exp(x[b,t,s]) | s<=t",
    "z = 1 2.693147180559945; x.grad = 0.5 0 0.25 0.25" },
  { "x[2,2] = 1 inf 2 2", "z[t] = ln sum_s exp(x[t,s]) | s<t",
    "z = -inf 2; x.grad = 0 0 0.5 0" },
  { "a[2,2] = 1 2 3 4; v[2] = 0 0", "z[u] += a[s,u] (ln sum_t 2 exp(v[t]) + 1) | s<=t, s<=u",
    "z = 2.386294361119891 11.54517744447956" },
  { "v[2,2] = 1 1 1 1; w[2,2] = 1 inf 1 1", "z[u] += sqrt(v[s,t] w[s,t]) | t<=u, u<=s",
    "z = 2 2; v.grad = 0.25 0 0.5 0.25" },
  { "v[2,2] = 1 -1 4 1", "z[u] += sqrt(v[s,t]) | t<=u, u<=s",
    "z = 3 3; v.grad = 0.25 0 0.25 0.25" },
  { "w[2] = 1 1; v[2] = 0 0", "z[u] += (ln(sum_k w[s] exp(v[k])))^2 w[s] | s<=u, u<2",
    "z = 0.480453013918201 0.960906027836403" },
  { "x[2,2] = 1 inf 2 2; w[2] = 3 inf", "z[t] = ln sum_s w[s] exp(x[t,s]) | s<t",
    "z = -inf 3.098612288668110; x.grad = 0 0 0.5 0" },
  { "x[2,2] = 1e5 2 3 4e5", "z = ln sum_i sum_j exp(x[i,j])", "z = 4e5; x.grad = 0 0 0 1" },
  { "x[2,2] = 1e5 1e5 1e5 1e5", "z = ln mean_i (mean_j exp(x[i,j]))",
    "z = 1e5; x.grad = 0.25 0.25 0.25 0.25" },
  { "x[2,2] = -inf 900 900 1; a[2] = 2 1; c[2] = 1 3",
    "z = ln(sum_i a[i] sum_j c[j] exp(x[i,j]))",
    "z = 901.945910149055313; x.grad = 0 0.857142857142857 0.142857142857143 0" },
  { "x[2] = 900 900; a[2] = 2 1", "z = ln((sum_i a[i]) (sum_j exp(x[j])))",
    "z = 901.791759469228055; a.grad = 0.333333333333333 0.333333333333333" },
  { "x[2] = 900 900; a[2] = 2 1", "z = ln((sum_i exp(x[i])) / sum_i a[i])",
    "z = 899.594534891891836; x.grad = 0.5 0.5" })

CASES(no_line_is_dropped,
  { "c = 7; v[3] = 1 1 1", "h[0] = c\nh[i+1] = v[i]", "stops: h|above|+=|;" },
  { "c = 7; v[3] = 1 1 1", "h[i] = v[i]\nh[0] = c", "stops: h|above|+=|;" },
  { "c = 7; v[3] = 1 1 1", "h[0] = c\nh[i] += v[i]", "stops: h|above|+=|;" },
  { "v[3] = 1 1 1", "h[i] = v[i]\nh[i] = 2 v[i]", "stops: h|above|+=|;" },
  { "v[2] = 1 1", "h[-1] = 3\nh[-1] = 4\nh[t] = h[t-1] + v[t]", "stops: two lines|h" },
  { "v[3] = 1 1 1", "h[0] = 7\nh[i+1] = h[i] + v[i]", "h = 7 8 9 10" },
  { "c = 7; v[3] = 1 2 4", "h[-1] = c\nh[t+1] = h[t] + v[t]", "stops: nothing reads|0 to 3" },
  { "c = 7; v[3] = 1 2 4", "h[3] = c\nh[t] = h[t-1] + v[t]", "stops: nothing reads|0 to 2" },
  { "c = 7; v[3] = 1 2 4", "h[-1] = c\nh[t] = h[t+1] + v[t]", "stops: nothing reads|0 to 2" },
  { "c = 7; v[3] = 1 2 4", "h[-1] = c\nh[0] = 1\nh[t] = h[t-1] + v[t]",
    "stops: nothing reads|h[-1] = c" },
  { "c = 7; v[3] = 1 2 4", "h[-1] = c\nh[t] = h[t-1] + v[t]", "h = 8 10 14; c.grad = 1" },
  { "c = 7; v[3] = 1 2 4", "h[3] = c\nh[t] = h[t+1] + v[t]", "h = 14 13 11; c.grad = 1" },
  { "c[2] = 7 8; v[2,2] = 1 2 4 1", "h[-1,j] = c[j]\nh[t,j] = h[t-1,j] + v[t,j]",
    "h = 8 10 12 11; c.grad = 0.5 0.5" },
  { "x[3] = 1 2 3", "h[t] += x[t]\nh[t] += h[t-1] + x[t]", "stops: several lines|one line" },
  { "x[3] = 1 2 3", "h[t] = x[t]\nh[t] += h[t-1] + x[t]", "stops: several lines|one line" },
  { "x[3] = 1 2 3", "F[0,t] = 1\nF[n,t] = x[t] F[n,t-1] + F[n-1,t-1] | n<3",
    "stops: number|t" },
  { "x[3] = 1 2 3", "F[0,0] = 1\nF[n,t] = x[t] F[n,t-1] + F[n-1,t-1] | n<3",
    "F = 1 2 6 0 1 5 0 0 1" },
  { "c = 7; v[3] = 1 2 3", "h[1+I] = c ; v[I]", "stops: sum of indices" },
  { "f[2] = 1 2; g[3] = 1 2 3", "h[J+K+1] = f[J] ; g[K]", "stops: sum of indices" },
  { "f[2] = 1 2; g[3] = 1 2 3", "h[J+K+L] = f[J] ; g[K] | L<2", "stops: fewer|3|2" },
  { "f[2] = 1 2; g[3] = 1 2 3", "h[2*J+K] = f[J] ; g[K]", "stops: fewer|3|2" },
  { "f[2] = 1 2; g[3] = 1 2 3", "h[J+K] = f[J] ; g[K] ; g[K]", "stops: more|2|3" },
  { "f[2] = 1 2; g[3] = 1 2 3", "h[J+K] = f[J] + g[K] ; g[K]", "stops: K|another part" },
  { "f[2] = 1 2; g[3] = 1 2 3", "h[2J+K] = f[J] ; 2 f[J] ; g[K]", "h = 1 2 2 4 1 2 3" },
  { "v[3] = 1 2 3", "h[i] = 0\nh[i] += v[i]\nh[i] += 1", "h = 2 3 4" })

/* The parts of a line are nodes with names such as T0. */
CASES(a_name_is_not_a_part_of_another_line,
  { XY, "T[i] = ln(x[i] + 1)\nz[i] = T0[i] + x[i]", "z = 1 2 3" },
  { XY, "T[i] = ln(x[i] + 1)\nz[i] = T0[i] x[i]", "z = 1 2 3; T0.grad = 0.3333333333333 "
        "0.6666666666667 1" })

#define QSZ "q[2] = 1 2; S[2] = 3 4; z[2] = 5 6"
CASES(an_outer_sum_does_not_reach_into_a_divisor_or_a_power,
  { QSZ, "o = q[D] S[D] / (q[D] z[D])", "stops: one sum over D, or two" },
  { QSZ, "o = q[D] (S[D] z[D])^2", "stops: one sum over D, or two" },
  { QSZ, "o = q[D] (S[D] z[D])^(1/2)", "stops: one sum over D, or two" },
  { QSZ, "o = q[D] / (1 + S[D] z[D])", "stops: one sum over D, or two" },
  { QSZ, "o = q[D] (2 + (S[D] z[D] + 1))^-1", "stops: one sum over D, or two" },
  { QSZ, "o = tanh(q[D] S[D] / (q[D] z[D]))", "stops: one sum over D, or two" },
  { QSZ, "o = q[D] S[D] / sqrt(q[D] z[D])", "stops: one sum over D, or two" },
  { QSZ, "o = (q[D] S[D]) / (q[D] z[D])", "o = 0.64705882352941; S.grad = 0.0588235294117647 "
                                          "0.117647058823529" },
  { QSZ, "o = (q[D] S[D]) / (q[E] z[E])^2", "o = 0.0380622837370242" },
  { QSZ, "o = q[D] (S[D] + z[D])^2", "o = 264" },
  { QSZ, "o = q[D] S[D] / z[D]", "o = 1.93333333333333" })

#define OFF "a[2,2] = 1 nan 3 4; v[2] = 1 2"
CASES(an_excluded_pair_has_no_influence,
  { OFF, "o[t] = sum_s a[t,s] v[s] | s<=t", "o = 1 11; a.grad = 0.5 0 0.5 1; v.grad = 2 2" },
  { OFF, "o[t] = a[t,S] v[S] | S<=t", "o = 1 11; a.grad = 0.5 0 0.5 1; v.grad = 2 2" },
  { OFF, "o[t] += a[t,s] v[s] | s<=t", "o = 1 11; a.grad = 0.5 0 0.5 1; v.grad = 2 2" },
  { OFF, "o[t] = sum_s 3 a[t,s] | s<=t", "o = 3 21; a.grad = 1.5 0 1.5 1.5" },
  { OFF, "o[t] = mean_s a[t,s] v[s] | s<=t", "o = 1 5.5; v.grad = 1.25 1" },
  { OFF, "o[t] = mean_s a[t,s] | s<t", "o = 0 3; a.grad = 0 0 0.5 0" },
  { "a[2,2] = 1 5 3 4; v[2] = 1 inf", "o[t] = sum_s a[t,s] v[s] | s<=t",
    "o = 1 inf; a.grad = 0.5 0 0.5 inf" },
  { "v[3] = 1 2 nan", "o[t] = sum_s v[s] | s<=t, t<3",
    "o = 1 3 nan; v.grad = 1 0.6666666666667 "
                                                       "0.3333333333333" },
  { "v[3] = 1 1 1", "o[t] = sum_s 1e30^(s-t) v[s] | s<=t, t<3", "o = 1 1 1" },
  { "a[2,2] = 1 2 1e38 4", "z = 8 a[S,T] | S<=T", "z = 56; a.grad = 8 8 0 8" },
  { "a[2,2] = 1 1 3e38 1; v[2] = 2 0", "y[u,s] = 4 a[s,u] / (v[u] + 1) | s<=u\nz = y[B,C]",
    "z = 9.333333333333333; v.grad = -0.444444444444444 -8" },
  { "M[4,2] = 1 1 1 1 1 1 1 1; w[2] = 1 1; d[2] = 1 1; a[2] = inf 1",
    "y[t,j] += (M[j,U] w[U] d[s] a[s]) d[t] | t<=U, s<t", "w.grad = 0 inf; a.grad = 0.5 0" },
  { "v[3] = 1 1 1", "o[t] = sum_s 1e-30^(t-s) v[s] | s<=t, t<3", "o = 1 1 1; v.grad = "
                    "0.3333333333333 0.3333333333333 0.3333333333333" },
  { "x[2,2] = 1 inf 2 3", "m[t] = max_s x[t,s] | s<=t", "m = 1 3; x.grad = 0.5 0 0 0.5" },
  { "x[2,2] = 1 -inf 2 3", "m[t] = min_s x[t,s] | s<=t", "m = 1 2; x.grad = 0.5 0 0.5 0" },
  { "x[2,2] = 1 nan 2 3", "m[t] = max_s x[t,s] | s<t", "m = -inf 2" },
  { "x[2,2] = nan nan 2 3", "m[t] = min_s x[t,s] | s<t", "m = inf 2; x.grad = 0 0 0.5 0" },
  { "x[2,2] = 1 inf 2 3", "m[t] = argmax_s x[t,s] | s<=t", "m = 0 1" },
  { "x[2,2] = 1 -inf 2 3", "m[t] = argmin_s x[t,s] | s<=t", "m = 0 0" },
  { "x[2,2] = 1 nan 2 2", "P[t,s] = softmax_s x[t,s] | s<=t",
    "P = 1 0 0.5 0.5; x.grad = 0 0 0 0" },
  { "x[2,2] = nan inf 2 nan", "P[t,s] = softmax_s x[t,s] | s<t",
    "P = 0 0 1 0; x.grad = 0 0 0 0" },
  { "x[2,2] = 1 1 nan -1e38", "P[t,s] = softmax_s x[t,s] | t<=s", "P = 0.5 0.5 0 1" },
  { "x[2,2] = 1 1 nan 2", "P[t,s] = 2 softmax_s x[t,s] | t<=s", "P = 1 1 0 2" },
  { "x[2] = 1 2; y[2] = 3 inf", "A[i,j] = x[i] y[j] | j<=i",
    "A = 3 0 6 inf; x.grad = 0.75 inf" },
  { "x[2,2] = 1 0 1 1", "A[i,j] = ln(x[i,j]) | j<=i",
    "A = 0 0 0 0; x.grad = 0.25 0 0.25 0.25" },
  { "x[2,2] = 4 -1 9 16", "A[i,j] = sqrt(x[i,j]) x[i,j] | j<=i",
    "A = 8 0 27 64; x.grad = 0.75 0 1.125 1.5" },
  { "a[2,2] = 1 0 0.5 0.5", "H[t] = -sum_s a[t,s] ln a[t,s] | s<=t",
    "H = 0 0.693147180559945; a.grad = -0.5 0 -0.153426409720027 -0.153426409720027" },
  { "x[2] = 2 inf; y[2] = 3 5; z[2] = 1 7", "o = sum_{t,s} x[s] y[s] z[t] | s<t",
    "o = 42; x.grad = 21 0; y.grad = 14 0; z.grad = 0 6" },
  { "v[2] = 4 -1", "o[t] = sum_s sqrt(v[s]) | s<t, t<2", "o = 0 2; v.grad = 0.125 0" },
  { "v[2] = 1 inf", "o[t] = sum_s exp(v[s]) | s<t, t<2", "o = 0 2.718281828459045; v.grad = "
                                                        "1.3591409142295 0" },
  { "v[2] = 1 2; w[2,2] = 1 0 2 4", "o[t] = sum_s v[s] / w[t,s] | s<=t",
    "o = 1 1; w.grad = -0.5 0 -0.125 -0.0625; v.grad = 0.75 0.125" },
  { "w[2,2] = 1 0 2 1", "o[t] = sum_s w[t,s]^-2 | s<=t",
    "o = 1 1.25; w.grad = -1 0 -0.125 -1" },
  { "w[2,2] = 1 inf 2 1", "o[t] = sum_s w[t,s]^2 | s<=t", "o = 1 5; w.grad = 1 0 2 1" },
  { "a[2,2] = 1 1 1 1; x[2] = 1 1; y[2,2] = 1 nan 1 1; z[2] = 1 1",
    "o[t] = sum_s a[t,s] (x[s] + y[t,s] z[s]) | s<=t",
    "o = 2 4; z.grad = 1 0.5; y.grad = 0.5 0 0.5 0.5; a.grad = 1 0 1 1" },
  { "x[2] = 1 2; y[2] = 3 nan", "o = sum_{t,s,u} x[s] y[u] | s<=t, u<t, t<2",
    "o = 9; x.grad = 3 3; y.grad = 3 0" },
  { "q[2,1] = 1 2; k[2,1] = 1 nan; v[2] = 5 6",
    "o[t] = sum_s exp(q[t,D] k[s,D]) v[s] | s<=t", "o = 13.59140914229523 nan; q.grad = "
    "6.79570457114761 nan" },
  { "x[3] = 1 2 3; T[2] = 1 2", "y[s] = min_u (T[u] + 2 min_t x[t]) | s<=t",
    "y = 3 5 7; T.grad = 1 0" },
  { "x[2] = 1 2; w[2,2] = 1 2 3 4", "y[t] = softmax_t x[t] + (w[t,S] x[S]) | t<=S",
    "stops: softmax_t" },
  { "x[2] = 0 0; w[2,2] = 1 2 3 4; v[2] = 1 1", "y[t] = w[t,S] v[S] + (softmax_t x[t]) | t<=S",
    "y = 3.5 4.5; x.grad = 0 0" },
  { "x[2,2] = 1 nan 3 4", "y[t] = sum_s x[t,s] | s<=t\nz[t] = y[t]^2",
    "z = 1 49; x.grad = 1 0 7 7" })

#define S3 "s[b,3] = -431 279 427"
CASES(a_logarithm_of_a_softmax_is_stable,
  { "x[3] = -800 5 900", "y[k] = ln(0.5 softmax_k x[k])",
    "y = -1700.693147180559945 -895.693147180559945 -0.693147180559945; "
    "x.grad = 0.333333333333333 0.333333333333333 -0.666666666666667" },
  { "x[3] = -800 5 900", "P[k] = softmax_k x[k]\ny = ln(P[0] / P[2])",
    "y = -1700; x.grad = 1 0 -1" },
  { "x[3] = -800 5 900", "P[k] = softmax_k x[k]\ny = ln P[0]^2", "y = -3400; x.grad = 2 0 -2" },
  { "x[3] = -800 5 900; w = 2", "P[k] = softmax_k x[k]\ny = ln(3 w P[0] P[1])",
    "y = -2593.208240530771945; x.grad = 1 1 -2; w.grad = 0.5" },
  { "x[2] = 0 0", "P[k] = softmax_k x[k]\ny = ln(-P[0])", "y = nan" },
  { S3 "; T[3] = 0 0 1", "c[b] = -sum_k T[k] ln softmax_k s[b,k]",
    "c = 0; T.grad = 858 148 0" },
  { S3 "; T[3] = 1 0 0", "c[b] = -sum_k T[k] ln(softmax_k s[b,k])",
    "c = 858; s.grad = -1 0 1" },
  { S3, "P[b,k] = softmax_k s[b,k]\nc[b] = -ln P[b,0]", "c = 858; s.grad = -1 0 1" },
  { S3, "P[k,b] = softmax_k s[b,k]\nc[b] = -ln P[0,b]", "c = 858; s.grad = -1 0 1" },
  { S3 "; y[b] = 1", "P[b,k] = softmax_k s[b,k]\nc[b] = -ln P[b,y[b]]", "c = 148" },
  { S3 "; y[b] = 1", "P[k,b] = softmax_k s[b,k]\nc[b] = -ln P[y[b],b]", "c = 148" },
  { "x[b,2,2] = 0 1 2 800", "P[b,i,j] = softmax_{i,j} x[b,i,j]\nc[b] = -ln P[b,0,0]",
    "c = 800; x.grad = -1 0 0 1" },
  { "x[b,2,2] = 0 1 2 800", "c[b] = -sum_{i,j} ln softmax_{i,j} x[b,i,j] / 4",
    "c = 599.25" },
  { "x[2,2] = 5 nan 800 0", "c[t] = -sum_s ln softmax_s x[t,s] | s<=t",
    "c = 0 800; x.grad = 0 0 0.5 -0.5" },
  { "x[2,2] = 5 nan 800 0", "P[t,s] = softmax_s x[t,s] | s<=t\nc[t] = -sum_s ln P[t,s] | s<=t",
    "c = 0 800; x.grad = 0 0 0.5 -0.5" },
  { "x[2,2] = 800 0 nan 5", "P[t,s] = softmax_s x[t,s] | t<=s\nc[t] = -sum_s ln P[t,s] | t<=s",
    "c = 800 0; x.grad = 0.5 -0.5 0 0" })

CASES(a_mistyped_index_is_not_summed_by_itself,
  { "W[2,3] = 1 2 3 4 5 6; x[3] = 1 1 1", "y[o] = W[o,In] x[Inn]", "stops: did you mean In?" },
  { "W[2,3] = 1 2 3 4 5 6; x[3] = 1 1 1", "y[o] = W[o,DI] x[DII]", "stops: did you mean DI?" },
  { "W[2,3] = 1 2 3 4 5 6; x[3] = 1 1 1", "y[o] = W[o,Din] x[Din] + W[o,Dn] x[Din]",
    "stops: did you mean Dn?" },
  { "W[2,3] = 1 2 3 4 5 6; x[3] = 1 1 1", "y[o] += W[o,in] x[inn]", "stops: did you mean in?" },
  { "W[2,3] = 1 2 3 4 5 6; x[3] = 1 1 1", "einsum W x: y[o] = W[o,In] x[Inn]",
    "stops: did you mean In?" },
  { "W[2,3] = 1 2 3 4 5 6; x[3] = 1 1 1", "y[o] = tanh(W[o,In] x[Inn])",
    "stops: did you mean In?" },
  { "W[2,3] = 1 2 3 4 5 6; x[3] = 1 1 1", "y = sum_o W[o,In] x[Inn]", "stops: did you mean In?" },
  { "W[2,3] = 1 2 3 4 5 6; x[3] = 1 1 1", "y[o] = sum_{in,inn} W[o,in] x[inn]", "y = 18 45" },
  { "W[2,3] = 1 2 3 4 5 6; x[3] = 1 1 1", "y[o] = W[o,I] x[K]", "y = 18 45" })

#define VH "V[2,2] = 1 0 0 1; h[b,2] = 0 0; d[2] = 1 2"
CASES(a_sum_with_two_readings_is_refused,
  { VH, "P[b,k] = softmax_k V[k,J] h[b,J] + d[k]", "stops: softmax_k (V[k,J] h[b,J] + d[k])|"
    "(softmax_k V[k,J] h[b,J]) + d[k]" },
  { VH, "P[b,k] = ln (softmax_k V[k,J] h[b,J] - d[k])",
    "stops: (softmax_k V[k,J] h[b,J]) - d[k]" },
  { VH, "P[b,k] = (softmax_k V[k,J] h[b,J]) + d[k]", "P = 1.5 2.5" },
  { VH, "P[b,k] = ln softmax_k V[k,J] h[b,J] + d[k]",
    "stops: Write ln softmax_k (V[k,J] h[b,J] + d[k]) or (ln softmax_k V[k,J] h[b,J]) + d[k]" },
  { VH, "P[b,k] = -2 softmax_k h[b,k] + d[k]",
    "stops: Write -2 softmax_k (h[b,k] + d[k]) or (-2 softmax_k h[b,k]) + d[k]" },
  { VH, "P[b,k] = (-2 softmax_k h[b,k]) + d[k]", "P = 0 1" },
  { VH, "c[b] = -2 sum_k d[k] ln softmax_k h[b,k] + d[0]", "c = 5.158883083359672" },
  { VH, "P[b,k] = softmax_k(h[b,k]) + d[k]", "P = 1.5 2.5" },
  { VH, "P[b,k] = 0.9 softmax_k h[b,k] + 0.1/2", "P = 0.5 0.5" },
  { VH, "s[b] = d[I] h[b,I] + B", "stops: size|bias|B[" },
  { VH, "s[b] = tanh(d[I] h[b,I] - I)", "stops: size|bias|I[" },
  { VH, "s[b] = d[I] h[b,I] + 1 B", "s = 1" },
  { VH, "s[i] = d[i] - I", "s = -1 0" },
  { VH "; n[b] = 1", "s[b] = d[n[b]] + B", "s = 3" },
  { VH "; n[b] = 1", "s[b] = d[n[b]] h[b,0] + B", "stops: size|bias|B[" })

#define X3 "x[b,2,3] = 1 2 3 4 5 6"
CASES(an_index_of_a_recurrence_has_one_size,
  { X3, "h[b,t,j] = W[j,I] x[b,t,I] + U[j,I] h[b,t-1,I] | j<5",
    "stops: I|two different sizes|5|3" },
  { X3, "h[b,t,j] = W[j,I] x[b,t,I] + U[j,K] h[b,t-1,K] | j<5, K<7", "stops: K<7|larger|5" },
  { X3, "g[b,t,i] = x[b,t,i] + h[b,t-1,i]\nh[b,t,j] = V[j,I] g[b,t,I] | j<2",
    "stops: i|two different sizes|2|3" },
  { X3, "h[b,t,j] = x[b,t,j] + h[b,t-1,j]", "h = 1 2 3 5 7 9" },
  { X3, "h[b,t,j] = x[b,t,j] + h[b,t-1,0] | j<2", "h = 1 2 5 6" })

CASES(a_class_number_outside_its_tensor_selects_nothing,
  { "w[b,3] = 2 3 1; E[4,1] = 5 15 25 35", "e[b,t,i] = E[w[b,t-1],i] | t<3",
    "e = 0 25 35; E.grad = 0 0 0.3333333333333 0.3333333333333" },
  { "w[b,3] = 2 3 1; E[4,1] = 5 15 25 35", "e[b,t,i] = E[w[b,t+1],i] | t<3", "e = 35 15 0" },
  { "w[b,3] = 2 3 1; E[4] = 5 15 25 35", "e[b] = sum_t E[w[b,t-1]] | t<3", "e = 60" },
  { "w[b,3] = 2 3 1; E[4] = 5 15 25 35", "h[b,t] = h[b,t-1] + E[w[b,t-1]] | t<3",
    "h = 0 25 60" },
  { "a[3] = 1 0 1; v[3] = 1 2 4", "o[a[i-1]] += v[i] | i<3, a<2", "o = 4 2" },
  { "w[b,3] = 2 3 1; E[4] = 5 15 25 35", "e[b,t] = E[w[b,t-1]]", "stops: out of range" },
  { "x[3,2] = 0 1 2 0 0 3; w[3] = 1 0 1",
    "P[t,k] = softmax_k x[t,k]\nL[t] = -ln P[t,w[t+1]] | t<3",
    "L = 1.313261687518223 2.126928011042973 inf; x.grad = -0.243686192876668 "
    "0.243686192876668 0.293599025979296 -0.293599025979296 0 0" },
  { "x[3,2] = 0 1 2 0 0 3", "P[t,k] = softmax_k x[t,k]\nL[t] = -ln P[t-1,0] | t<3",
    "L = inf 1.313261687518223 0.126928011042973; x.grad = -0.243686192876668 "
    "0.243686192876668 -0.039734307351961 0.039734307351961 0 0" },
  { "x[3,2] = 0 1 2 0 0 3; w[3] = 1 0 1",
    "P[t,k] = softmax_k x[t,k]\nL[t] = -ln P[t,floor(w[t+1])] | t<3",
    "stops: w is read outside|its own line" },
  { "m[3] = 1 0 2; v[3] = 1 10 100", "e[t] = v[m[m[t-1]]] | t<3", "stops: m is read outside" },
  { "m[3] = 1 0 2; v[3] = 1 10 100", "k[t] = m[m[t]]\ne[t] = v[k[t-1]] | t<3",
    "e = 0 1 10; v.grad = 0.333333333333333 0.333333333333333 0" },
  { "v[3] = 1 10 100", "e[t] = v[floor(v[t-1]/100)] | t<3", "stops: v is read outside" },
  { "u[3] = 2 3 4", "n[t] = min_{d<3} u[t+d-1] | t<3",
    "n = 2 2 3; u.grad = 0.666666666666667 0.333333333333333 0" },
  { "u[3] = -2 -3 -4", "n[t] = max_{d} u[t+d-1] | t<3, d<3", "n = -2 -2 -3" },
  { "u[3] = -2 -3 -4", "m[t] = max_s u[s-1] | s<=t, t<3, s<3", "m = -inf -2 -2" },
  { "u[3] = 2 3 4", "m[t] = 3 min_s u[s+1] | t<=s, t<3, s<3",
    "m = 9 12 inf; u.grad = 0 1 1" },
  { "w[b,2] = -1 3; E[4] = 5 15 25 35", "e[b,t] = E[w[b,t]]", "stops: -1|out of range" })

CASES(a_word_of_another_notation_is_named,
  { XY, "z = product_i x[i]", "stops: product_i|write prod_i" },
  { XY, "z = prod(x[I])", "stops: prod over which index|prod_i" },
  { XY, "z = \xCE\xA0_i x[i]", "stops: write prod_i" },
  { XY, "z = \xCE\xA3_i x[i]", "stops: write sum_i" },
  { XY, "z = sum_{i\xE2\x89\xA0j} x[i] y[j]", "stops: j is not an index|sum_{i,j}" },
  { XY, "z[i] = x[(y[i]-1)]", "stops: lookup|brackets" },
  { XY, "z[i] = clip(x[i], 0, 1) + 1", "stops: clip|clamp(" },
  { XY, "z[i] = if(x[i] > 0, x[i], 0)", "stops: if|where(" },
  { XY, "z = topk_i x[i]", "stops: topk_i|argmax_i|i!=k" },
  { XY, "z = cumsum_i x[i]", "stops: cumsum_i|sum_{s<=t}" },
  { XY, "z[i] = x[i]^T", "stops: transpose|other order" },
  { XY, "z[i] = x[i] / T", "stops: unknown name T|parameter T" },
  { XY, "z[i] = sg[x[i]]", "stops: sg|stop(" },
  { XY, "z[i] = swish x[i]", "stops: swish|silu" },
  { XY, "z[i] = sum(x[i])", "stops: sum_i" },
  { XY, "z[i] = x[y[i]/2]", "stops: lookups|floor(" },
  { XY, "z[i] = x[2*y[i]^2]", "stops: lookups|floor(" },
  { XY, "z = sum_{i=1} x[i]", "stops: braces|from 0" },
  { "A[2,2] = 1 2 3 4", "z = sum_{i<j} A[i,j]", "stops: sum_{i,j}|i<j" },
  { XY, "z[i] = x[i]\xC2\xB2", "stops: x[i]^2" },
  { XY, "z[i] = x[i] w[i] = 2 z[i]", "stops: newline" },
  { XY, "z[i] = x[i] | i<2w[i] = 2 z[i]", "stops: newline" },
  { XY, "z[i] += x[i] w[i] += z[i]", "stops: newline" })

/* Only the first step of v has no u, so the later ones read both terms in the exponent. */
CASES(a_logarithm_in_a_recurrence_keeps_its_terms,
  { "C[2] = 1 -1", "v[n] = ln sum_i exp(u[n-1] - C[i])\nu[n] = 1 + v[n] | n<3\nL = u[2]",
    "L = 6.38078403312892; C.grad = -0.357608766066353 -2.64239123393365" },
  { "C[2] = 1 -1; w[2] = 2 3",
    "u[n] = ln sum_i (u[n-1] + w[i] + C[i]) exp(u[n-1] - C[i]) | n<2\nL = u[1]",
    "L = 4.39048291350695; C.grad = -0.256290333724787 -1.15378176155654; "
    "w.grad = 0.100142952231295 0.739961891949568" })

/* What where() does not choose has no influence, on values and on gradients. */
CASES(a_selection_ignores_the_other_side,
  { "x[3] = 4 -1 nan", "y[i] = where(x[i] > 0, sqrt(x[i]), 7)",
    "y = 2 7 7; x.grad = 0.0833333333333333 0 0" },
  { "x[3] = 1 0 inf", "y[i] = where(x[i] < 2, x[i] / (1 + x[i]), x[i] 0)",
    "y = 0.5 0 nan; x.grad = 0.0833333333333333 0.333333333333333 0" },
  { "x[3] = 1 0 2", "y[i] = where(x[i] != 0, x[i] ln x[i], 0)",
    "y = 0 0 1.38629436111989; x.grad = 0.333333333333333 0 0.564382393519982" },
  { "x[2,2] = 1 nan 2 3; w[2] = 1 2; c[2] = 0 1",
    "y[b] = where(c[b] > 0, sum_i w[i] x[b,i], -1)",
    "y = -1 8; x.grad = 0 0 0.5 1; w.grad = 1 1.5" },
  { "x[2] = 800 -800", "y[i] = where(x[i] > 0, 1 / (1 + exp(-x[i])), exp(x[i]) / (1 + exp(x[i])))",
    "y = 1 0; x.grad = 0 0" },
  { "x[3] = 1 -2 3; c[3] = 1 1 0",
    "y[i] = where(c[i] > 0, where(x[i] > 0, ln x[i], 5), sqrt(1 - x[i]))",
    "y = 0 5 nan; x.grad = 0.333333333333333 0 nan" },
  { "s[b,3] = 1 2 3 4 5 6; y[b] = -1 2", "L[b] = where(y[b] >= 0, s[b,y[b]], 0)",
    "L = 0 6; s.grad = 0 0 0 0 0 0.5" },
  { "s[b,2] = 1 2 3 4; y[b] = -100 1",
    "P[b,k] = softmax_k s[b,k]\nL[b] = where(y[b] >= 0, -ln P[b,y[b]], 0)",
    "L = 0 0.313261687518223; s.grad = 0 0 0.134470710684998 -0.134470710684998" },
  { "x[3] = 1 2 3", "h[t] = where(h[t-1] < 2, exp(x[t]) + h[t-1], 1) | t<3",
    "h = 2.71828182845905 1 21.0855369231877" },
  { "s[2,2] = 1 2 3 4; c[2] = 1 0",
    "y[b,k] = where(c[k] > 0, softmax_k s[b,k], 0)",
    "y = 0.268941421369995 0 0.268941421369995 0; "
    "s.grad = 0.0491529832733704 -0.0491529832733704 0.0491529832733704 -0.0491529832733704" })

/* A mask may compare any positions: with lookups, offsets and !=. */
CASES(a_general_mask_selects,
  { "x[2,3] = 1 2 nan 4 5 6; n[2] = 2 0", "y[b] = sum_s x[b,s]^2 | s<n[b]",
    "y = 5 0; x.grad = 1 2 0 0 0 0" },
  { "x[2,3] = 1 2 nan 4 5 6; w[3] = 1 2 inf; n[2] = 2 1", "y[b] = x[b,S] w[S] | S<n[b]",
    "y = 5 4; x.grad = 0.5 1 0 0.5 0 0; w.grad = 2.5 1 0" },
  { "x[2,2] = 1 nan 4 5; n[2] = 1 2", "y[b] = mean_s exp(x[b,s] - 4) | s<n[b]",
    "y = 0.0497870683678639 1.85914091422952; "
    "x.grad = 0.024893534183932 0 0.25 0.679570457114761" },
  { "x[4] = 1 2 3 4", "y[t] = sum_s x[s] | t-2<s, s<=t", "y = 1 3 5 7; x.grad = 0.5 0.5 0.5 0.25" },
  { "x[4] = 1 2 3 nan", "y[t] = x[t] + sum_{s!=t, s!=3} x[s] | t<3",
    "y = 6 6 6; x.grad = 1 1 1 0" },
  { "x[4] = 3 9 7 2", "k = argmax_i x[i]\ny = max_i x[i] | i!=k", "y = 7; x.grad = 0 0 1 0" },
  { "x[3] = 1 2 4; y[3] = 0 1 0", "z[i] = mean_{j!=i, y[j]=y[i]} x[j] | i<3",
    "z = 4 0 1; x.grad = 0.333333333333333 0 0.333333333333333" },
  { "x[3] = 1 2 4; n = 2", "z = prod_{i<n} x[i]", "z = 2; x.grad = 2 1 0; n.grad = 0" },
  { "a[2,3] = 1 2 nan 4 5 6; n[2] = 2 0", "P[b,s] = softmax_s a[b,s] | s<n[b]\nz = P[B,S]^2",
    "z = 0.606776133517036; a.grad = -0.181715495345897 0.181715495345897 0 0 0 0" },
  { "x[4] = 1 2 3 4; n[2] = 3 4", "y[t,b] = sum_s x[s] | s<floor(t/2), s<floor(n[b]/2), t<6",
    "y = 0 0 0 0 1 1 1 1 1 3 1 3" },
  { "x[4] = 1 2 3 4", "y[t] = sum_{s<abs(t-2)} x[s] | t<4", "y = 3 1 0 1" },
  { "x[3] = 1 nan 3", "y[i] = 2 x[i] | i!=1", "y = 2 0 6; x.grad = 0.666666666666667 0 0.666666666666667" },
  { "x[3] = 1 2 3", "y[t] = x[t] + 2 y[t-1] | t!=1", "y = 1 0 3" },
  { "q[2] = 1 2; k[3] = 1 2 3; n[2] = 1 3", "y[b] = ln sum_s q[b] exp(k[s]) | s<n[b]",
    "y = 1 4.10075314507073; q.grad = 0.5 0.25; "
    "k.grad = 0.545015286675 0.122364235518983 0.332620478" })

/* A tensor that only a mask has is an operand, after those of the right side. */
TEST(a_mask_has_operands) {
  static const edf_real x[6] = { 1, 2, 3, 4, 5, 6 }, n[2] = { 2, 1 };
  Input *in = edf_input("x[b,3]"), *lengths = edf_input("n[b]");
  CompNode *y = edf_text("y[b] = sum_s p[b,s] | s<m[b]", in, lengths);
  edf_feed(in, x, 2);
  edf_feed(lengths, n, 2);
  edf_forward();
  CHECK(edf_value(y)[0] == 3 && edf_value(y)[1] == 4, "it is %g and %g",
        (double)edf_value(y)[0], (double)edf_value(y)[1]);
}

/* A position may have lookups, numbers and indices. */
CASES(a_position_is_a_sum_with_lookups,
  { "x[2,3] = 1 2 3 4 5 6; n[2] = 1 3", "y[b] = x[b,n[b]-1]",
    "y = 1 6; x.grad = 0.5 0 0 0 0 0.5; n.grad = 0 0" },
  { "x[2,3] = 1 2 3 4 5 6; p[2] = 0 2", "y[b] = x[b,p[b]+D] | D<2",
    "y = 3 6; x.grad = 0.5 0.5 0 0 0 0.5" },
  { "x[4] = 1 2 3 4; p[2] = 0 2", "y[b,d] = x[2*p[b]-d+1] | d<2", "y = 2 1 0 0" },
  { "x[4] = 1 2 3 4; p[2] = 0 2; q[2] = 1 1", "y[b] = x[p[b]+q[b]]", "y = 2 4; x.grad = 0 0.5 0 0.5" },
  { "x[3] = 1 2 3; n[2] = 1 0", "y[b] = x[n[b]-1]", "stops: -1|row 1|0 to 2" },
  { "x[3] = 1 2 3; n[2] = 1 3", "y[b] = x[n[b]]", "stops: 3|row 1|0 to 2" })

/* Products of zeros, norms of zero and the powers of a tensor. */
CASES(functions_of_papers,
  { "x[2,3] = 2 0 4 0 0 3", "y[b] = prod_i x[b,i]", "y = 0 0; x.grad = 0 4 0 0 0 0" },
  { "x[2,2] = 1e-200 1e-200 2 3", "y[b] = prod_i x[b,i]", "y = 0 6; x.grad = 5e-201 5e-201 1.5 1" },
  { "x[2,2] = 0 0 3 4", "y[b] = norm_i x[b,i]", "y = 0 5; x.grad = 0 0 0.3 0.4" },
  { "x[2,2] = 2 2 1 3", "y[b] = std_i x[b,i]", "y = 0 1; x.grad = 0 0 -0.25 0.25" },
  { "x[2] = 1e-12 -1e-12", "y[i] = log1p(x[i]) + expm1(x[i])", "y = 2e-12 -2e-12; x.grad = 1 1" },
  { "x[2] = 4 0; p[2] = 0.5 2", "y[i] = x[i]^p[i]",
    "y = 2 0; x.grad = 0.125 0; p.grad = 1.38629436111989 0" },
  { "x[3] = -2 0.5 3", "y[i] = clamp(x[i], 0, 1)", "y = 0 0.5 1; x.grad = 0 0.333333333333333 0" },
  { "x[2] = 1 2", "y[i] = clamp(x[i], 1, 0)", "stops: lo is 1, above hi, 0" },
  { "x[2,2] = 1000 1000 0 0", "y[b] = logsumexp_i x[b,i]",
    "y = 1000.69314718056 0.693147180559945; x.grad = 0.25 0.25 0.25 0.25" })

/* Two tensors may differ only in the case of a letter if both exist. */
CASES(cases_of_a_letter,
  { "e[2] = 1 2; E[2] = 3 4", "y = e[I] E[I]", "y = 11; e.grad = 3 4; E.grad = 1 2" },
  { "x[2] = 1 2", "parameter u[2], U[2]\ny[i] = x[i] + 0 u[i] + 0 U[i]", "y = 1 2" },
  { "e[2] = 1 2", "E[i] = 2 e[i]\ny = E[I] e[I]", "y = 10; e.grad = 4 8" },
  { "e[2] = 1 2", "y[i] = e[i] E[i]", "stops: Did you mean e|parameter E[" },
  { XY, "z[i] = x[i] / tau", "stops: unknown name tau|parameter tau" })

TEST(a_masked_mean_selects) {
  edf_real x[4] = { 1, (edf_real)NAN, 3, (edf_real)INFINITY }, m[4] = { 1, 0, 1, 0 };
  Input *in = edf_want_grad(edf_input("x[4]")), *mask = edf_input("m[4]");
  CompNode *y = MaskedMean(in, mask);
  edf_feed(in, x, 1);
  edf_feed(mask, m, 1);
  edf_forward();
  edf_backward(y);
  CHECK(edf_value(y)[0] == 2, "it is %g", (double)edf_value(y)[0]);
  for (int i = 0; i < 4; i++)
    CHECK(in->grad[i] == m[i] / 2, "x.grad[%d] is %g", i, (double)in->grad[i]);
}

/* A shorter mask is repeated, and each repetition counts. */
TEST(a_masked_mean_counts_repetitions) {
  edf_real x[6] = { 1, 2, 9, 3, 4, 9 }, m[3] = { 1, 1, 0 };
  Input *in = edf_want_grad(edf_input("x[b,3]")), *mask = edf_input("m[3]");
  CompNode *y = MaskedMean(in, mask);
  edf_feed(in, x, 2);
  edf_feed(mask, m, 1);
  edf_forward();
  edf_backward(y);
  CLOSE(edf_value(y)[0], 2.5, 1e-6, 1e-6);
  for (int i = 0; i < 6; i++) CLOSE(in->grad[i], m[i % 3] / 4, 1e-6, 1e-6);
}

TEST(a_float_has_class_numbers_up_to_2_to_the_24th) {
  edf_node *w = edf_input("w[b]");
  edf_real one = 1;
  edf_feed(w, &one, 1);
  TRY(edf_equations("e[b] = table[w[b]] | w<16777217"));
  CHECK(panicked == !EDF_REAL_IS_DOUBLE, "it %s", panicked ? "stops" : "does not stop");
  if (panicked) WORDS(caught, "16777217|16777216|-DEDF_REAL=double");
}

int main(void) { return harness_main(); }
