/* answers.c - edf_check_backward accepts right backwards, in loops and with capitals, and
   refuses wrong ones with the words of the mistake. */

#include "plain.h"

static const double right = EDF_REAL_IS_DOUBLE ? 1e-6 : 2e-3;

static edf_node *build(const char *tensors, const char *text) {
  declare_plain(tensors);
  edf_node *y = edf_equations("%s", text);
  Forward();
  return y;
}

/* Returns the error; what is printed is in captured[]. */
static double check(edf_node *y, const char *lines) {
  static double error;
  CAPTURE(error = edf_check_backward(y, lines));
  CHECK(!panicked, "%s", caught);
  return error;
}

/* ---- Right answers */

static const struct { const char *tensors, *text, *answer; } good[] = {
  { "W[3,5] x[5]", "y[i] = W[i,J] x[J]",
    "W.grad[i,j] += y.grad[i] x[j]\nx.grad[j] += W[I,j] y.grad[I]" },
  { "W[3,5] x[5]", "y[i] = W[i,J] x[J]",
    "for i,j: W.grad[i,j] += y.grad[i] x[j]\nfor i,j: x.grad[j] += W[i,j] y.grad[i]" },
  { "x[b,5]", "h[b,j] = sig( W0[j,I] x[b,I] - C0[j] ) | j<4",
    "a[b,j] = h.grad[b,j] h[b,j] (1-h[b,j])\nW0.grad[j,i] += a[B,j] x[B,i]\n"
    "C0.grad[j] -= a[B,j]\nx.grad[b,i] += W0[J,i] a[b,J]" },
  { "x[b,3] W[3,4] C[4]", "y[b,j] = W[I,j] x[b,I] - C[j]",
    "x.grad[b,i] += y.grad[b,J] W[i,J]\nW.grad[i,j] += (1/B) y.grad[B,j] x[B,i]\n"
    "C.grad[j] -= (1/B) y.grad[B,j]" },
  { "s[b,4]", "P[b,k] = softmax_k s[b,k]",
    "for b,k: e[b] -= P[b,k] P.grad[b,k]\n"
    "for b,k: s.grad[b,k] += P[b,k] (P.grad[b,k] + e[b])" },
  { "s[b,4]", "Z[b] += exp(s[b,j])\np[b,j] = exp(s[b,j])/Z[b]",
    "s.grad[b,j] += p.grad[b,j] exp(s[b,j])/Z[b]\nZ.grad[b] -= p.grad[b,J] exp(s[b,J])/Z[b]^2\n"
    "s.grad[b,j] += Z.grad[b] exp(s[b,j])" },
  { "Phi[4] x[4] y", "L = (Phi[J] x[J] - y)^2",
    "r = Phi[J] x[J] - y\nPhi.grad[j] += 2 L.grad r x[j]\nx.grad[j] += 2 L.grad r Phi[j]\n"
    "y.grad -= 2 L.grad r" },
  { "P[b,4]+ y[b]=4", "l[b] = -ln P[b,y[b]]", "P.grad[b,y[b]] -= l.grad[b] / P[b,y[b]]" },
  { "e[7,3] w[b,5]=7", "h[b,t,i] = e[w[b,t],i]",
    "for b,t,i: e.grad[w[b,t],i] += h.grad[b,t,i]" },
  { "L[b,6,6,2] W[2,2,2,3]", "M[b,x,y,j] = W[DX,DY,I,j] L[b,2*x+DX,2*y+DY,I]",
    "W.grad[dx,dy,i,j] += M.grad[b,x,y,j] L[b,2*x+dx,2*y+dy,i]\n"
    "L.grad[b,2*x+dx,2*y+dy,i] += W[dx,dy,i,j] M.grad[b,x,y,j]" },
  { "x[b,6,2]", "M[b,x,i] = max_dx x[b,2*x+dx,i] | dx<2",
    "x.grad[b,2*x+dx,i] += M.grad[b,x,i] 1[x[b,2*x+dx,i] = M[b,x,i]]" },
  { "x[b,4,2] W[3,3] V[3,2]", "h[b,t,j] = tanh( W[j,I] h[b,t-1,I] + V[j,K] x[b,t,K] )",
    "a[b,t,j] = h.grad[b,t,j] (1-h[b,t,j]^2)\n"
    "W.grad[j,i] += (1/B) a[B,T,j] h[B,T-1,i]\nh.grad[b,t-1,i] += W[J,i] a[b,t,J]\n"
    "V.grad[j,k] += (1/B) a[B,T,j] x[B,T,k]\nx.grad[b,t,k] += V[J,k] a[b,t,J]" },
  { "x[b,3] mu[3]", "s[j] = (1/(B-1)) sum_b (x[b,j]-mu[j])^2",
    "x.grad[b,j] += (2/(B-1)) s.grad[j] (x[b,j]-mu[j])\n"
    "for b,j: mu.grad[j] -= (2/(B-1)) s.grad[j] (x[b,j]-mu[j])" },
  { "h[4] W[4,4] C[4]", "u[i] = sig( W[i,J] h[J] - C[i] )\nv[i] = h[i] + u[i]",
    "h.grad[i] += v.grad[i]\nu.grad[i] += v.grad[i]\n"
    "W.grad[i,j] += u.grad[i] u[i] (1-u[i]) h[j]\nC.grad[i] -= u.grad[i] u[i] (1-u[i])\n"
    "h.grad[j] += W[I,j] u.grad[I] u[I] (1-u[I])" },
  /* A softmax and its logarithm in two lines are two lines of the answer, too. */
  { "s[b,3]", "P[b,k] = softmax_k s[b,k]\nH[b] = -sum_k P[b,k] ln P[b,k]",
    "P.grad[b,k] -= H.grad[b] (1 + ln P[b,k])\n"
    "s.grad[b,j] += P[b,j] (P.grad[b,j] - P[b,K] P.grad[b,K])" },
  { "s[b,4] y[b]=4", "P[b,k] = softmax_k s[b,k]\nl[b] = -ln P[b,y[b]]",
    "P.grad[b,y[b]] -= l.grad[b] / P[b,y[b]]\n"
    "s.grad[b,j] += P[b,j] (P.grad[b,j] - P[b,K] P.grad[b,K])" },
  /* The sum over the batch is 0, up to rounding. */
  { "x[b,3]", "m[j] = (1/B) sum_b x[b,j]\ns[j] = (1/(B-1)) sum_b (x[b,j]-m[j])^2",
    "x.grad[b,j] += (2/(B-1)) s.grad[j] (x[b,j]-m[j])\n"
    "m.grad[j] -= (2/(B-1)) s.grad[j] sum_b (x[b,j]-m[j])" },
  /* A bound gives a size. */
  { "f[b,2] g[b,3]", "h[b,J+K] = f[b,J] ; g[b,K]",
    "f.grad[b,j] += h.grad[b,j] | j<2\ng.grad[b,k] += h.grad[b,k+2]" },
  { "W[4,3,3] z[3]", "x[0,i] = z[i]\nx[t+1,i] = W[t,i,J] x[t,J] | t<4",
    "W.grad[t,i,j] += x.grad[t+1,i] x[t,j] | t<4\n"
    "x.grad[t,j] += W[t,I,j] x.grad[t+1,I] | t<4" },
  { "x[b,4]", "y[b,j] = dropout(x[b,j], 0.5)", "x.grad[b,j] += y.grad[b,j] y[b,j] / x[b,j]" },
  /* Lines of a recurrence above the line of y */
  { "x[b,3]", "c[b,t] = 0.5 h[b,t-1] + x[b,t]\nh[b,t] = tanh(c[b,t])",
    "c.grad[b,t] += h.grad[b,t] (1-h[b,t]^2)\nx.grad[b,t] += c.grad[b,t]\n"
    "h.grad[b,t-1] += 0.5 c.grad[b,t]" },
  { "x[3] f[3]", "g[t] = f[t] + 0.1 h[t-1]\nc[t] = g[t] x[t]\nh[t] = c[t] g[t]",
    "c.grad[t] += h.grad[t] g[t]\ng.grad[t] += h.grad[t] c[t]\ng.grad[t] += c.grad[t] x[t]\n"
    "x.grad[t] += c.grad[t] g[t]\nf.grad[t] += g.grad[t]\nh.grad[t-1] += 0.1 g.grad[t]" }
};
enum { GOOD = sizeof good / sizeof *good };

static int nodes(void) { return edf.n_inputs + edf.n_parameters + edf.n_compnodes; }

TEST(right_answers_are_accepted) {
  for (int k = 0; k < GOOD; k++) {
    edf_node *y = build(good[k].tensors, good[k].text);
    int before = nodes();
    double error = check(y, good[k].answer);
    CHECK(error <= right, "%g\n%s\n%s\n%s", error, good[k].text, good[k].answer, captured);
    CHECK(nodes() == before, "nodes are left in the graph");
    edf_clear();
  }
}

/* ---- Wrong answers, to one of two equations. X, W and C are the right lines of the first. */

static const char *const affine[] = { "x[b,3] W[3,3] C[3] V[3,3]",
                                      "y[b,j] = W[I,j] x[b,I] - C[j]" };
static const char *const three[] = { "a[b,3] c[b,3] d[3]", "y[b,j] = a[b,j] c[b,j] d[j]" };
#define X "\nx.grad[b,i] += y.grad[b,J] W[i,J]"
#define W "\nW.grad[i,j] += y.grad[B,j] x[B,i]"
#define C "\nC.grad[j] -= y.grad[B,j]"

static const char *const entropy[] = { "s[b,3]", "P[b,k] = softmax_k s[b,k]\n"
                                                 "H[b] = -sum_k P[b,k] ln P[b,k]" };
static const char *const losses[] = { "s[b,4] y[b]=4", "P[b,k] = softmax_k s[b,k]\n"
                                                      "l[b] = -ln P[b,y[b]]" };
static const char *const steps[] = { "x[3]", "c[t] = 0.5 h[t-1] + x[t]\nh[t] = tanh(c[t])" };
static const char *const cell[] = { "x[3]", "c[t] = 0.5 c[t-1] + 0.1 h[t-1] + x[t]\n"
                                            "h[t] = tanh(c[t])" };

static const struct { const char *const *to, *answer, *words; } bad[] = {
  { affine, W C "\nx.grad[b,i] -= y.grad[b,J] W[i,J]", "FAIL|x.grad|sign" },
  { affine, X W "\nC.grad[j] += y.grad[B,j]", "FAIL|C.grad|sign" },
  { affine, X C "\nW.grad[i,j] += 2 y.grad[B,j] x[B,i]", "FAIL|W.grad|factor|0.5" },
  { affine, X C "\nW.grad[i,j] = y.grad[B,j] x[B,i]", "FAIL|W.grad|'='" },
  { affine, W C "\nx.grad[b,i] += y.grad[b,J] W[J,i]", "FAIL|x.grad|transposed|W" },
  { affine, X C "\nW.grad[i,j] += y.grad[B,j] x[B,q]", "FAIL|W.grad|another index|q" },
  { affine, X C "\nfor b,i: W.grad[i,j] += y.grad[b,j] x[b,i]", "FAIL|all indices|not j" },
  { affine, W C "\nx.grad[b,i] += y.grad[b,j] W[i,J]", "FAIL|x.grad|another index|J" },
  { affine, W C "\nx.grad[b,i] += y.grad[b,J] V[i,J]", "FAIL|x.grad|another tensor" },
  { affine, X C "\nW.grad[i,j] += y.grad[B,j]", "FAIL|W.grad|factor is missing: x[B,i]" },
  { affine, X W, "FAIL|C.grad: missing" },
  { affine, X W C "\nV.grad[i,j] += W[i,j]", "FAIL|V.grad|does not read" },
  { affine, X C W "\nW.grad[i,j] += gelu(W[i,j])", "FAIL|W.grad|a term too much" },
  { three, "a.grad[b,j] += y.grad[b,j] c[b,j]\nc.grad[b,j] += y.grad[b,j] a[b,j] d[j]\n"
    "d.grad[j] += y.grad[B,j] a[B,j] c[B,j]", "FAIL|a.grad|factor is missing|d" },
  { entropy, "P.grad[b,k] -= H.grad[b] ln P[b,k]\n"
    "s.grad[b,j] += P[b,j] (P.grad[b,j] - P[b,K] P.grad[b,K])",
    "FAIL|P.grad|a contribution is missing" },
  { losses, "P.grad[b,k] += 0 l.grad[b] P[b,k]\n"
    "s.grad[b,j] += P[b,j] (P.grad[b,j] - P[b,K] P.grad[b,K])", "FAIL|P.grad" },
  { steps, "c.grad[t] += h.grad[t] (1-h[t]^2)\nx.grad[t] += c.grad[t]\n"
    "h.grad[t-1] += 0.25 c.grad[t]", "FAIL|h.grad|factor|2" },
  { cell, "c.grad[t] += h.grad[t] (1-h[t]^2)\nx.grad[t] += c.grad[t]",
    "FAIL|x.grad|needs an answer to itself" },
};
enum { BAD = sizeof bad / sizeof *bad };

TEST(wrong_answers_are_refused_by_name) {
  for (int k = 0; k < BAD; k++) {
    edf_node *y = build(bad[k].to[0], bad[k].to[1]);
    double error = check(y, bad[k].answer);
    CHECK(error > right, "%g\n%s\n%s", error, bad[k].answer, captured);
    WORDS(captured, bad[k].words);
    edf_clear();
  }
}

/* ---- Answers that cannot be read, each behind the right lines of the affine node */

static const struct { const char *line, *words; } unreadable[] = {
  { "W.grad[i,j] += ", "expected a tensor|found the end" },
  { "W.grad", "'+='|found the end" }, { "= 3", "found '='" },
  { "for b,i W.grad[i,j] += y.grad[b,j]", "':'|found 'W'" },
  { "W.grad[i] += y.grad[B,i]", "W.grad has 2 indices" },
  { "W.grad[i,j] += y.grad[b,j", "']'|found the end" },
  { "W.grad[i,j] += v[B,i]", "no tensor|v" },
  { "y.grad[b,j] = 1 y[b,j]", "does not read" }, { "input x[b]", "found 'x'" },
  { "W.grad[i,j] += W[9,9] ; 2", "one sum of products" }
};

TEST(what_cannot_be_read_is_said_with_its_line) {
  for (size_t k = 0; k < sizeof unreadable / sizeof *unreadable; k++) {
    edf_node *y = build(affine[0], affine[1]);
    edf_real before = y->value[3];
    double error = check(y, edf_fmt("%s%s", (X W C) + 1, edf_fmt("\n%s", unreadable[k].line)));
    CHECK(error > right, "%g: %s\n%s", error, unreadable[k].line, captured);
    WORDS(captured, "FAIL|line 4");
    WORDS(captured, unreadable[k].words);
    CHECK(y->value[3] == before, "%s: a value has changed", unreadable[k].line);
    Backward(y);
    harness_clear(__FILE__, __LINE__, unreadable[k].line);
  }
}

/* ---- What is checked */

/* Nodes that C calls have built can be asked for too. What Backward has left stays. */
TEST(nodes_of_c_calls_are_checked) {
  declare_plain("x[b,3] k[b]=4 W[3,4] B[4]");
  Parameter *w = edf_find("W");
  edf_node *x = edf_find("x"), *k = edf_find("k");
  CompNode *s = edf_einsum("s[b,j] = W[I,j] x[b,I] - B[j]", w, x, edf_find("B"));
  CompNode *g = edf_name(Sigmoid(s), "g"), *P = edf_name(Softmax(g), "P");
  CompNode *l = edf_name(LogLoss(P, k), "l"), *loss = Mean(l);
  Forward();
  Backward(loss);
  edf_real before = w->grad[3];
  CHECK(check(s, "for b,i,j: W.grad[i,j] += s.grad[b,j] x[b,i]\nB.grad[j] -= s.grad[B,j]\n"
                 "x.grad[b,i] += W[i,J] s.grad[b,J]") <= right, "%s", captured);
  CHECK(check(g, "s.grad[b,j] += g.grad[b,j] g[b,j] (1-g[b,j])") <= right, "%s", captured);
  CHECK(check(P, "e[b] = -P[b,J] P.grad[b,J]\ng.grad[b,j] += P[b,j] (P.grad[b,j] + e[b])")
        <= right, "%s", captured);
  CHECK(check(l, "P.grad[b,k[b]] -= l.grad[b] / P[b,k[b]]") <= right, "%s", captured);
  CHECK(check(l, "P.grad[b,k[b]] += l.grad[b] / P[b,k[b]]") > right, "%s", captured);
  CHECK(w->grad[3] == before, "%g was %g", (double)w->grad[3], (double)before);
}

/* The gradient of an Input may be left out, that of a Parameter may not. */
TEST(gradients_of_inputs_may_be_missing) {
  declare_plain("x[b,3] W[3,3] C[3]");
  edf_node *y = edf_equations("%s", affine[1]);
  CHECK(check(y, (W C) + 1) <= right, "%s", captured);
  CHECK(check(y, (X C) + 1) == 1, "%s", captured);
  WORDS(captured, "FAIL|W.grad: missing");
}

/* A missing 2 is no 1/B, also if B is 2. */
static void halved(const char *answer, int accepted) {
  edf_real data[6] = { 1, -2, 3, 4, 5, -6 };
  Parameter *x = edf_parameter("x[2,3]");
  memcpy(x->value, data, sizeof data);
  CompNode *y = Equations("y[b,i] = x[b,i]^2");
  Forward();
  double error = 1;
  CAPTURE(error = edf_check_backward(y, answer));
  CHECK((error < right) == accepted, "%s: %g", answer, error);
  if (!accepted) harness_words(__FILE__, __LINE__, captured, "wrong factor: insert (2) here");
  edf_clear();
}
TEST(a_missing_factor_is_no_batch) {
  halved("x.grad[b,i] += 2 y.grad[b,i] x[b,i]", 1);
  halved("x.grad[b,i] += (2/B) y.grad[b,i] x[b,i]", 1);
  halved("x.grad[b,i] += y.grad[b,i] x[b,i]", 0);
}

int main(void) { return harness_main(); }
