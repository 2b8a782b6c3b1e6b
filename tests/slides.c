/* Whole slides: what each line of the course computes, with its gradients; the layers' numbers
   from the same equations as text; and what is said of a mistake in one.

   Built as: float double none sanitized shim */
#include "wrong_programs.h"
#include "texts.h"
#include <unistd.h>

/* ---- Gradients of what the course writes. */
static void gradients_of_lines(void) {
  for (size_t k = 0; k < sizeof slides / sizeof *slides; k++) {
    edf_seed(k);
    declare(slides[k].tensors, 3);
    CompNode *y = edf_equations("%s", slides[k].text);
    Forward();
    FILE *out = stdout;
    fflush(out);
    int keep = dup(1);
    if (!freopen("/dev/null", "w", stdout)) abort();
    double error = edf_gradcheck(y);
    fflush(stdout);
    dup2(keep, 1);
    close(keep);
    CHECK(error < (sizeof(edf_real) == 8 ? 1e-5 : 0.1), "%g in\n%s", error, slides[k].text);
    edf_clear();
  }
}

/* ---- The layers' numbers and gradients, from the same parameters and the same lines. */
static void same(const char *what, CompNode *a, CompNode *b) {
  Forward();
  CHECK(a->rank == b->rank && a->size == b->size, "%s: %zu and %zu numbers",
        what, a->size, b->size);
  for (size_t i = 0; i < a->size && i < b->size; i++)
    CLOSE(a->value[i], b->value[i], 1e-5, 1e-5);
  static edf_real grad[2][4096];
  for (int turn = 0; turn < 2; turn++) {
    size_t n = 0;
    Backward(turn ? b : a);
    for (int p = 0; p < edf.n_parameters; p++) {
      const edf_real *g = edf_grad(edf.parameters[p]);
      for (size_t i = 0; i < edf.parameters[p]->size && n < 4096; i++) grad[turn][n++] = g[i];
    }
  }
  for (size_t i = 0; i < 4096; i++) CLOSE(grad[0][i], grad[1][i], 1e-5, 1e-4);
  edf_clear();
}

static void attention_as_lines(void) {
  declare("x[b,5,6]", 2);
  AttentionParams Phi = edf_attention_params(6, 2);
  edf_name(Phi.wq, "WQ"); edf_name(Phi.wk, "WK"); edf_name(Phi.wv, "WV");
  edf_name(Phi.wo, "WO");
  CompNode *y = CausalAttention(Phi, edf_find("x"));
  same("attention", y, edf_equations(
    "q[b,t,h,d] = WQ[I,h,d] x[b,t,I]\n"
    "k[b,t,h,d] = WK[I,h,d] x[b,t,I]\n"
    "v[b,t,h,d] = WV[I,h,d] x[b,t,I]\n"
    "P[b,h,t,s] = softmax_s (1/sqrt D) q[b,t,h,D] k[b,s,h,D] | s<=t\n"
    "o[b,t,h,d] = P[b,h,t,S] v[b,S,h,d]\n"
    "y[b,t,j] = WO[H,D,j] o[b,t,H,D]"));
}

static void lstm_as_lines(void) {
  declare("x[b,5,3]", 2);
  LSTMParams Phi = edf_lstm_params(3, 4);
  edf_name(Phi.wx, "Wx"); edf_name(Phi.wh, "Wh"); edf_name(Phi.b, "B");
  CompNode *y = Unroll(Phi, edf_find("x"));
  same("lstm", y, edf_equations(
    "G[b,t,k,j] = σ(Wh[I,k,j] h[b,t-1,I] + Wx[K,k,j] x[b,t,K] - B[k,j]) | k<3\n"
    "R[b,t,j] = tanh(Wh[I,3,j] h[b,t-1,I] + Wx[K,3,j] x[b,t,K] - B[3,j])\n"
    "c[b,t,j] = G[b,t,0,j] c[b,t-1,j] + G[b,t,1,j] R[b,t,j]\n"
    "h[b,t,j] = G[b,t,2,j] tanh c[b,t,j]"));
}

static void losses_as_lines(void) {
  declare("x[b,3] y[b]=5", 4);
  AffineParams Phi = edf_affine_params(3, 5);
  edf_name(Phi.w, "W"); edf_name(Phi.b, "B");
  CompNode *ell = SoftmaxLogLoss(Affine(Phi, edf_find("x")), edf_find("y"));
  same("loss", ell, edf_equations("P[b,k] = softmax_k (W[I,k] x[b,I] - B[k])\n"
                                  "loss[b] = -ln P[b,y[b]]"));
}

static void recurrence_as_lines(void) {
  declare("x[b,5,3] V[4,4] W[4,3] B[4]", 2);
  Parameter *V = edf_find("V"), *W = edf_find("W"), *B = edf_find("B");
  const char *text = "h[b,t,j] = tanh(V[j,I] h[b,t-1,I] + W[j,K] x[b,t,K] - B[j])";
  CompNode *y = Recurrence(text, V, W, edf_find("x"), B);
  same("recurrence", y, edf_equations("%s", text));
}

/* ---- Numbers that a few lines of C give. */
static void numbers_of_lines(void) {
  declare("x[b,4] P[6,5] y[3]=5", 3);
  const edf_real *x = edf_find("x")->value, *p = edf_find("P")->value;
  CompNode *c = edf_equations("c[b,t] = sum_s s x[b,s] | s<=t, t<4");
  CompNode *n = edf_equations("n[b,i] = B x[b,i] / I - i");
  CompNode *G = edf_equations("G[b,t] = x[b,t] + 0.9 G[b,t+1]");
  CompNode *H = edf_equations("H[b,t] = sum_u 0.9^(u-t) x[b,u] | t<=u");
  CompNode *F = edf_equations("F[0,0] = 1\n"
                              "F[m,t] = P[t,0] F[m,t-1] + P[t,y[m]] F[m-1,t-1] | m<3");
  Forward();
  x = edf_find("x")->value;
  for (int b = 0; b < 3; b++)
    for (int t = 0; t < 4; t++) {
      double sum = 0;
      for (int s = 0; s <= t; s++) sum += s * (double)x[b * 4 + s];
      CLOSE(c->value[b * 4 + t], sum, 1e-6, 1e-5);
      CLOSE(n->value[b * 4 + t], 3 * (double)x[b * 4 + t] / 4 - t, 1e-6, 1e-5);
    }
  for (int i = 0; i < 12; i++) CLOSE(G->value[i], H->value[i], 1e-6, 1e-5);
  double f[3][6] = { { 1 } };
  for (int t = 1; t < 6; t++)
    for (int m = 0; m < 3; m++) {
      int k = (int)edf_find("y")->value[m];
      f[m][t] = (double)p[t * 5] * f[m][t - 1];
      if (m) f[m][t] += (double)p[t * 5 + k] * f[m - 1][t - 1];
    }
  for (int i = 0; i < 18; i++) CLOSE(F->value[i], f[i / 6][i % 6], 1e-6, 1e-5);
  edf_clear();
}

/* s<=t keeps its pairs in every term of a += and of a mean, and for the greatest and the least,
   and where they are. */
static void bounds_keep_pairs(void) {
  declare("x[b,4] y[b,4]", 3);
  CompNode *z = edf_equations("z[b,t] += x[b,s] + y[b,t] + 2 | s<=t");
  CompNode *o = edf_equations("o[b,t] -= x[b,s] | s<=t");
  CompNode *k = edf_equations("k[b,s,t] += x[b,s] y[b,u] - y[b,t] | s<=t");
  CompNode *own = edf_equations("own[b] += x[b,t] mean_s y[b,s]");
  CompNode *mean = edf_equations("mean[b,t] = mean_s x[b,s] | t<=s");
  CompNode *least = edf_equations("least[b,t] = min_s x[b,s] | t<=s");
  CompNode *at = edf_equations("at[b,t] = argmin_s x[b,s] | s<=t");
  Forward();
  const edf_real *x = edf_find("x")->value, *y = edf_find("y")->value;
  for (int i = 0; i < 12; i++) {
    double before = 0, behind = 0, all = 0;
    int t = i % 4, row = i - t, first = 0, lowest = t;
    for (int s = 0; s < 4; s++) {
      all += (double)y[row + s];
      if (s <= t) before += (double)x[row + s];
      if (s >= t) behind += (double)x[row + s];
      if (s <= t && x[row + s] < x[row + first]) first = s;
      if (s >= t && x[row + s] < x[row + lowest]) lowest = s;
    }
    CLOSE(z->value[i], before + (t + 1) * ((double)y[i] + 2), 1e-5, 1e-5);
    CLOSE(o->value[i], -before, 1e-5, 1e-5);
    if (t == 3) CLOSE(own->value[i / 4], before * all / 4, 1e-5, 1e-5);
    CLOSE(mean->value[i], behind / (4 - t), 1e-5, 1e-5);
    CLOSE(least->value[i], x[row + lowest], 0, 0);
    CLOSE(at->value[i], first, 0, 0);
    for (int s = 0; s < 4; s++)
      CLOSE(k->value[(row + s) * 4 + t],
            s <= t ? (double)x[row + s] * all - 4 * (double)y[i] : 0, 1e-5, 1e-5);
  }
  edf_clear();
}

/* A recurrence's line that nobody reads is joined when it is asked for, also after Forward. */
static void all_times_when_asked(void) {
  declare("x[b,4]", 3);
  CompNode *y = edf_equations("s[b,t] = s[b,t-1] + x[b,t]\nq[b,t] = 2 s[b,t]");
  CompNode *h = edf_equations("c[b,t] = c[b,t-1] + h[b,t-1]\nh[b,t] = c[b,t] + x[b,t]");
  int n = edf.n_compnodes;
  Forward();
  CompNode *c = edf_find("c"), *s = edf_find("s");
  CHECK(edf.n_compnodes > n && c->rank == 2, "%d nodes more", edf.n_compnodes - n);
  CHECK(edf_find("c") == c && edf_find("h") == h, "found again");
  for (size_t i = 0; i < 12; i++) {
    CLOSE(y->value[i], 2 * s->value[i], 1e-6, 1e-5);
    double before = i % 4 ? (double)c->value[i - 1] + (double)h->value[i - 1] : 0;
    CLOSE(c->value[i], before, 1e-6, 1e-5);
  }
  edf_clear();
}

/* By value beside a place that reads outside: 0 there, as in all equations. */
static void lookups_outside(void) {
  declare("P[4,5] y[b]=5", 3);
  CompNode *L = edf_equations("L[b,t] = P[t-1,y[b]] | t<6");
  Forward();
  Backward(L);
  const edf_node *P = edf_find("P"), *y = edf_find("y");
  for (int b = 0; b < 3; b++)
    for (int t = 0; t < 6; t++)
      CLOSE(L->value[b * 6 + t],
            t && t < 5 ? P->value[(t - 1) * 5 + (int)y->value[b]] : 0, 0, 0);
  double sum = 0;
  for (int i = 0; i < 20; i++) sum += (double)P->grad[i];
  CLOSE(sum, 12.0 / 18, 1e-6, 0);
  edf_clear();
}

/* The seed slide, Greek letters and all: made once, trained, made again, of other batches. */
static void the_seed_slide(void) {
  static edf_real x[12 * 16], y[12];
  double first = 0, last = 0;
  fill(x, sizeof x / sizeof *x, 0.5);
  for (int b = 0; b < 12; b++) y[b] = (edf_real)(b % 10);
  Input *in = edf_input("x[b,16]"), *label = edf_input("y[b]");
  const char *text = "h[b,j] = σ(W0[j,I] x[b,I] − b0[j])    | j<8  \n"
                     "s[b,ŷ] = W1[ŷ,J] h[b,J] − b1[ŷ]       | ŷ<10 \n"
                     "P[b,ŷ] = softmax_ŷ s[b,ŷ]                    \n"
                     "loss[b] = -ln P[b,y[b]]                        ";
  CompNode *loss = edf_equations("%s", text);
  CHECK(edf.n_parameters == 4, "%d parameters", edf.n_parameters);
  CHECK(edf_find("W0")->dim[0] == 8 && edf_find("W0")->dim[1] == 16, "W0");
  double deviation = 0;
  for (int i = 0; i < 128; i++) deviation += pow((double)edf_find("W0")->value[i], 2);
  CLOSE(deviation / 128, 1.0 / 16, 0.02, 0);
  for (int j = 0; j < 8; j++) CHECK(edf_find("b0")->value[j] == 0, "a threshold");
  for (int step = 0; step < 300; step++) {
    int batch = step % 3 == 2 ? 12 : 5;
    edf_feed(in, x, batch);
    edf_feed(label, y, batch);
    Forward();
    last = edf_mean_value(loss);
    if (!step) first = last;
    Backward(loss);
    SGD((edf_real)0.5);
    if (step != 150) continue;
    edf_clear_compnodes();
    loss = edf_equations("%s", text);
    CHECK(edf.n_parameters == 4, "%d parameters, made again", edf.n_parameters);
  }
  CHECK(last < 0.5 * first, "the loss goes from %g to %g", first, last);
  edf_clear();
}

/* input and parameter lines, and the parameters that a line Phi lists. */
static void declared_in_the_text(void) {
  edf_equations("input x[b,3], k[b]\nparameter V[3,4]\nΦ = (W, B)\n"
                "h[b,i] = W[i,J] V[K,J] x[b,K] - B[i] | i<2");
  CHECK(edf.n_inputs == 2 && edf.n_parameters == 3, "%d inputs, %d parameters", edf.n_inputs,
        edf.n_parameters);
  edf_equations("input x[b,3]\nh[b,i] = W[i,J] V[K,J] x[b,K] - B[i]");
  CHECK(edf.n_inputs == 2 && edf.n_parameters == 3, "made again");
  edf_equations("t[b,i] = tanh(x[b,0] A[i,0]) A[i,J] x[b,J] | i<2");
  CHECK(edf.n_parameters == 4 && edf_find("A")->dim[1] == 3, "a new one twice in a line");
  edf_clear();
}

/* ---- Mistakes: what is said, and that the graph stays as it was. */
#define AT "hw1.c:9: Equations: "
static const struct { const char *tensors, *text, *message; } wrong[] = {
  { "s[b,4]", "y[b] = exp(s[b,J])",
    AT "y[b] = exp(s[b,J])\n"
    "                               ^\n"
    "  J is summed nowhere: here no two factors have it; write sum_J, or (1/J) for its mean" },
  { "W[3,4] x[4] V[3,4]", "y[j] = W[j,I] x[I] σ(V[j,I] x[I])", "one sum over I, or two?" },
  { "h[b,5]", "s[b,j] = W[I,J] h[b,I] - B[j] | j<3, J<3", "j and J are two indices" },
  { "s[b,4]", "y[b,j] = s[b,j] +\n\n  2 q[b,j]\nz = y[B,J]",
    AT "line 3:   2 q[b,j]\n"
    "                                  ^\n"
    "  q is no tensor so far, and a new Parameter cannot have the batch, b" },
  { "s[b,4]", "y[b,j] = s[b,j] / s[b,J]", "J is summed nowhere: here no two factors have it" },
  { "s[b,4]", "y[b,j] = s[b,i]", "index i is not on the left, and nothing goes over it" },
  { "s[b,4]", "y[b] = s[b", "expected ']' or ',', found the end" },
  { "s[b,4]", "y[b] = s[b,J] 2 / 3 s[b,J]", "is this above or below the line?" },
  { "s[b,4]", "y[b] = ln s[b,J] s[b,J]", "ln has no bracket" },
  { "s[b,4]", "y[b,j] = c s[b,j]", "c is no index of this line and no scalar tensor" },
  { "s[b,4] c j", "y[b,j] = j s[b,j]", "j is a scalar and an index here" },
  { "s[b,4]", "y[b,j] = s s[b,j]", "s needs its indices" },
  { "s[b,4]", "y[b,j] = W[j,I] s[b,I]", "W is new, and the extent of j unknown" },
  { "s[b,4]", "y[b,j] = s[b,j,j]", "s has 3 indices here, but the tensor has 2" },
  { "s[b,4] W[5,3]", "y[b,j] = W[I,j] s[b,I]", "I is 4 in s = Input \"s\"" },
  { "s[b,4]", "y[b] = z[b]\nz[b] = s[b,0]", "z is computed below" },
  { "s[b,4]", "y[b,j] = y[b,j] + s[b,j]", "at no other time" },
  { "s[b,4]", "h[b,t] = h[b,t-1]", "the number of steps has to be known" },
  { "s[b,4]", "h[b,t] = s[b,t] h[b,t-1]\n", "all of it stays 0" },
  { "s[b,4]", "Φ = (V)\ny[b,j] = U[j,I] s[b,I] | j<3",
    "U is new, and not among the parameters" },
  { "s[b,4]", "for b: y[b] += s[b,i]", "the for names all indices, but not i" },
  { "s[b,4]", "input s[b,5]\ny[b] = s[b,J]", "there is another tensor of that name" },
  { "s[b,4]", "y[b] = max(s[b,0])", "max is a function of 2, found 1" },
  { "s[b,4]", "y[b,(j,k)] = s[b,j] s[b,K]", "more" },
  { "s[b,4] k[b]=5", "y[b] = e[k[b]]", "how many classes has k?" },
  { "s[b,4]", "y[b] = s[b,0] $ 2",
    "expected an operator, '|' or the end of the line, found '$'" },
  { "s[b,4]", "", "the text has no equation" },
  { "s[b,4]", "y[b] = s[b,0]^s[b,1]", "expected a number or '('" },
};

static void mistakes_in_lines(void) {
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    if (!strcmp(wrong[k].message, "more")) continue;
    declare(wrong[k].tensors, 2);
    int n[3] = { edf.n_inputs, edf.n_parameters, edf.n_compnodes };
    TRY(edf_equations_at(HW1(9), "%s", wrong[k].text));
    CHECK(panicked && strstr(caught, wrong[k].message), "%s\n%s\nnot\n%s", wrong[k].text,
          panicked ? caught : "(no error)", wrong[k].message);
    CHECK(n[0] == edf.n_inputs && n[1] == edf.n_parameters && n[2] == edf.n_compnodes,
          "the graph has changed by\n%s", wrong[k].text);
    edf_clear();
    CHECK(memory.live == 0, "%ld blocks are left after\n%s", memory.live, wrong[k].text);
  }
  TRY(edf_find("x"));
  CHECK(panicked && strstr(caught, "no tensor is called x: the graph is empty"), "%s", caught);
  edf_clear();
}

int main(void) {
  RUN(gradients_of_lines);
  RUN(attention_as_lines);
  RUN(lstm_as_lines);
  RUN(losses_as_lines);
  RUN(recurrence_as_lines);
  RUN(numbers_of_lines);
  RUN(bounds_keep_pairs);
  RUN(all_times_when_asked);
  RUN(lookups_outside);
  RUN(the_seed_slide);
  RUN(declared_in_the_text);
  RUN(mistakes_in_lines);
  return harness_report();
}
