/* Answers in the notation: right ones of many lines are accepted, in loops and with capitals;
   wrong ones, each made from a right one by a slip that is drawn, are refused, and the slip is
   named. SEED=2 draws others.

   Built as: float double none sanitized shim */
#define _POSIX_C_SOURCE 200809L          /* fileno */
#include "wrong_programs.h"
#include "texts.h"
#include <unistd.h>

/* The tensors; the lines; the node, or the last; its backward. */
static const struct { const char *tensors, *text, *node, *answer; } answers[] = {
  { "W[3,5] x[5]", "y[i] = W[i,J] x[J]", "",
    "W.grad[i,j] += y.grad[i] x[j]\nx.grad[j] += W[I,j] y.grad[I]" },
  { "W[3,5] x[5]", "y[i] = W[i,J] x[J]", "",
    "for i,j: W.grad[i,j] += y.grad[i] x[j]\nfor i,j: x.grad[j] += W[i,j] y.grad[i]" },
  { "x[5] y[5]", "z = x[I] y[I]", "", "x.grad[i] += z.grad y[i]\ny.grad[i] += z.grad x[i]" },
  { "A[2,3,4] B[2,5,4]", "Y[h,i,j] = A[h,i,K] B[h,j,K]", "",
    "A.grad[h,i,k] += Y.grad[h,i,J] B[h,J,k]\nB.grad[h,j,k] += Y.grad[h,I,j] A[h,I,k]" },
  { "A[2,3,4] B[2,5,4]", "Y[h,i,j] = A[h,i,K] B[h,j,K]", "",
    "for h,i,j,k: A.grad[h,i,k] += Y.grad[h,i,j] B[h,j,k]\n"
    "for h,i,j,k: B.grad[h,j,k] += Y.grad[h,i,j] A[h,i,k]" },
  { "x[4] y[3]", "z[i,j] = x[i] y[j]", "",
    "x.grad[i] += z.grad[i,J] y[J]\ny.grad[j] += z.grad[I,j] x[I]" },
  { "x[b,5] W[3,5]", "y[b,i] = tanh( W[i,J] x[b,J] )", "",
    "W.grad[i,j] += y.grad[B,i] (1-y[B,i]^2) x[B,j]\n"
    "x.grad[b,j] += y.grad[b,I] (1-y[b,I]^2) W[I,j]" },
  { "x[b,5] W[3,5]", "y[b,i] = tanh( W[i,J] x[b,J] )", "",
    "for b,i,j: W.grad[i,j] += y.grad[b,i] (1-y[b,i]^2) x[b,j]\n"
    "for b,i,j: x.grad[b,j] += y.grad[b,i] (1-y[b,i]^2) W[i,j]" },
  { "x[b,5]", "h[b,j] = sig( W0[j,I] x[b,I] - C0[j] ) | j<4", "",
    "a[b,j] = h.grad[b,j] h[b,j] (1-h[b,j])\nW0.grad[j,i] += a[B,j] x[B,i]\n"
    "C0.grad[j] -= a[B,j]\nx.grad[b,i] += W0[J,i] a[b,J]" },
  { "x[b,5]", "h[b,j] = sig( W0[j,I] x[b,I] - C0[j] ) | j<4", "",
    "for b,i,j: W0.grad[j,i] += h.grad[b,j] h[b,j] (1-h[b,j]) x[b,i]\n"
    "for b,j: C0.grad[j] -= h.grad[b,j] h[b,j] (1-h[b,j])\n"
    "for b,i,j: x.grad[b,i] += W0[j,i] h.grad[b,j] h[b,j] (1-h[b,j])" },
  { "x[b,3] W[3,4] C[4]", "y[b,j] = W[I,j] x[b,I] - C[j]", "",
    "x.grad[b,i] += y.grad[b,J] W[i,J]\nW.grad[i,j] += (1/B) y.grad[B,j] x[B,i]\n"
    "C.grad[j] -= (1/B) y.grad[B,j]" },
  { "x[b,3] W[3,4] C[4]", "y[b,j] = W[I,j] x[b,I] - C[j]", "",
    "for b,i,j: x.grad[b,i] += y.grad[b,j] W[i,j]\n"
    "for b,i,j: W.grad[i,j] += y.grad[b,j] x[b,i]\nfor b,j: C.grad[j] -= y.grad[b,j]" },
  { "s[b,4]", "P[b,k] = softmax_k s[b,k]", "",
    "e[b] = -P[b,K] P.grad[b,K]\ns.grad[b,k] += P[b,k] (P.grad[b,k] + e[b])" },
  { "s[b,4]", "P[b,k] = softmax_k s[b,k]", "",
    "for b,k: e[b] -= P[b,k] P.grad[b,k]\n"
    "for b,k: s.grad[b,k] += P[b,k] (P.grad[b,k] + e[b])" },
  { "s[b,4]", "Z[b] += exp(s[b,j])\np[b,j] = exp(s[b,j])/Z[b]", "",
    "s.grad[b,j] += p.grad[b,j] exp(s[b,j])/Z[b]\nZ.grad[b] -= p.grad[b,J] exp(s[b,J])/Z[b]^2\n"
    "s.grad[b,j] += Z.grad[b] exp(s[b,j])" },
  { "s[b,4]", "Z[b] += exp(s[b,j])\np[b,j] = exp(s[b,j])/Z[b]", "",
    "for b,j: s.grad[b,j] += p.grad[b,j] exp(s[b,j])/Z[b]\n"
    "for b,j: Z.grad[b] -= p.grad[b,j] exp(s[b,j])/Z[b]^2\n"
    "for b,j: s.grad[b,j] += Z.grad[b] exp(s[b,j])" },
  { "s[b,4]", "Z[b] += exp(s[b,j])", "", "s.grad[b,j] += Z.grad[b] exp(s[b,j])" },
  { "s[b,4]", "r[b,j] = relu(s[b,j])", "", "s.grad[b,j] += r.grad[b,j] 1[s[b,j] > 0]" },
  { "Phi[4] x[4] y", "L = (Phi[J] x[J] - y)^2", "",
    "r = Phi[J] x[J] - y\nPhi.grad[j] += 2 L.grad r x[j]\nx.grad[j] += 2 L.grad r Phi[j]\n"
    "y.grad -= 2 L.grad r" },
  { "P[b,4] y[b]=4", "l[b] = -ln P[b,y[b]]", "", "P.grad[b,y[b]] -= l.grad[b] / P[b,y[b]]" },
  { "e[7,3] w[b,5]=7", "h[b,t,i] = e[w[b,t],i]", "",
    "for b,t,i: e.grad[w[b,t],i] += h.grad[b,t,i]" },
  { "L[b,5,5,2] W[3,3,2,3] C[3]",
    "M[b,x,y,j] = sig( W[DX,DY,I,j] L[b,x+DX,y+DY,I] - C[j] )", "",
    "a[b,x,y,j] = M.grad[b,x,y,j] M[b,x,y,j] (1-M[b,x,y,j])\n"
    "for b,x,y,dx,dy,i,j: W.grad[dx,dy,i,j] += a[b,x,y,j] L[b,x+dx,y+dy,i]\n"
    "for b,x,y,dx,dy,i,j: L.grad[b,x+dx,y+dy,i] += W[dx,dy,i,j] a[b,x,y,j]\n"
    "for b,x,y,j: C.grad[j] -= a[b,x,y,j]" },
  { "L[b,5,5,2] W[3,3,2,3]", "M[b,x,y,j] = W[DX,DY,I,j] L[b,x+DX,y+DY,I]", "",
    "W.grad[dx,dy,i,j] += (1/B) M.grad[B,X,Y,j] L[B,X+dx,Y+dy,i]\n"
    "L.grad[b,x+dx,y+dy,i] += W[dx,dy,i,J] M.grad[b,x,y,J]" },
  { "L[b,6,6,2] W[2,2,2,3]", "M[b,x,y,j] = W[DX,DY,I,j] L[b,2*x+DX,2*y+DY,I]", "",
    "W.grad[dx,dy,i,j] += M.grad[b,x,y,j] L[b,2*x+dx,2*y+dy,i]\n"
    "L.grad[b,2*x+dx,2*y+dy,i] += W[dx,dy,i,j] M.grad[b,x,y,j]" },
  { "L[b,4,4,2]", "Lp[b,x,y,i] = L[b,x-1,y-1,i] | x<6, y<6", "",
    "L.grad[b,x-1,y-1,i] += Lp.grad[b,x,y,i]" },
  { "x[b,6,6,2]", "M[b,x,y,i] = (1/4) sum_{dx,dy} x[b,2*x+dx,2*y+dy,i] | dx<2, dy<2", "",
    "x.grad[b,2*x+dx,2*y+dy,i] += 1/4 M.grad[b,x,y,i]" },
  { "x[b,6,2]", "M[b,x,i] = max_dx x[b,2*x+dx,i] | dx<2", "",
    "x.grad[b,2*x+dx,i] += M.grad[b,x,i] 1[x[b,2*x+dx,i] = M[b,x,i]]" },
  { "x[b,6] h[b,4,3] Whh[3,3] Wxh[3,6] C[3]",
    "g[b,t,j] = sig( Whh[j,I] h[b,t,I] + Wxh[j,K] x[b,K] - C[j] )", "",
    "a[b,t,j] = g.grad[b,t,j] g[b,t,j] (1-g[b,t,j])\n"
    "Whh.grad[j,i] += a[B,T,j] h[B,T,i]\nh.grad[b,t,i] += Whh[J,i] a[b,t,J]\n"
    "Wxh.grad[j,k] += a[B,T,j] x[B,k]\nx.grad[b,k] += Wxh[J,k] a[b,T,J]\n"
    "C.grad[j] -= a[B,T,j]" },
  { "x[b,4,2] Whh[3,3] Wxh[3,2] C[3]",
    "h[b,t,j] = tanh( Whh[j,I] h[b,t-1,I] + Wxh[j,K] x[b,t,K] - C[j] )", "",
    "for b,t,j: a[b,t,j] += h.grad[b,t,j] (1-h[b,t,j]^2)\n"
    "for b,t,i,j: Whh.grad[j,i] += a[b,t,j] h[b,t-1,i]\n"
    "for b,t,i,j: h.grad[b,t-1,i] += Whh[j,i] a[b,t,j]\n"
    "for b,t,j,k: Wxh.grad[j,k] += a[b,t,j] x[b,t,k]\n"
    "for b,t,j,k: x.grad[b,t,k] += Wxh[j,k] a[b,t,j]\nfor b,t,j: C.grad[j] -= a[b,t,j]" },
  { "x[b,4,2] Whh[3,3] Wxh[3,2] C[3]",
    "h[b,t,j] = tanh( Whh[j,I] h[b,t-1,I] + Wxh[j,K] x[b,t,K] - C[j] )", "",
    "a[b,t,j] = h.grad[b,t,j] (1-h[b,t,j]^2)\n"
    "Whh.grad[j,i] += (1/B) a[B,T,j] h[B,T-1,i]\nh.grad[b,t-1,i] += Whh[J,i] a[b,t,J]\n"
    "Wxh.grad[j,k] += (1/B) a[B,T,j] x[B,T,k]\nx.grad[b,t,k] += Wxh[J,k] a[b,t,J]\n"
    "C.grad[j] -= (1/B) a[B,T,j]" },
  { "f[b,4,3] i[b,4,3] u[b,4,3]", "c[b,t,j] = f[b,t,j] c[b,t-1,j] + i[b,t,j] u[b,t,j]", "",
    "f.grad[b,t,j] += c.grad[b,t,j] c[b,t-1,j]\nc.grad[b,t-1,j] += c.grad[b,t,j] f[b,t,j]\n"
    "i.grad[b,t,j] += c.grad[b,t,j] u[b,t,j]\nu.grad[b,t,j] += c.grad[b,t,j] i[b,t,j]" },
  { "o[b,4,3] c[b,4,3]", "h[b,t,j] = o[b,t,j] tanh(c[b,t,j])", "",
    "o.grad[b,t,j] += h.grad[b,t,j] tanh(c[b,t,j])\n"
    "c.grad[b,t,j] += h.grad[b,t,j] o[b,t,j] (1 - tanh(c[b,t,j])^2)" },
  { "g[b,3] h[b,3] r[b,3]", "H[b,j] = (1-g[b,j]) h[b,j] + g[b,j] r[b,j]", "",
    "g.grad[b,j] += H.grad[b,j] (r[b,j] - h[b,j])\nh.grad[b,j] += H.grad[b,j] (1-g[b,j])\n"
    "r.grad[b,j] += H.grad[b,j] g[b,j]" },
  { "Q[2,4,3] K[2,4,3]", "a[k,t,s] = softmax_s (1/sqrt I) Q[k,t,I] K[k,s,I]", "",
    "e[k,t] = -a[k,t,S] a.grad[k,t,S]\n"
    "z[k,t,s] = (1/sqrt(3)) a[k,t,s] (a.grad[k,t,s] + e[k,t])\n"
    "Q.grad[k,t,i] += z[k,t,S] K[k,S,i]\nK.grad[k,s,i] += z[k,T,s] Q[k,T,i]" },
  { "a[2,4,4] V[2,4,3]", "H[k,t,i] = a[k,t,T'] V[k,T',i]", "",
    "a.grad[k,t,s] += H.grad[k,t,I] V[k,s,I]\nV.grad[k,s,i] += a[k,T,s] H.grad[k,T,i]" },
  { "W0[5,2,3] H[2,4,3]", "y[t,j] = W0[j,K,I] H[K,t,I]", "",
    "W0.grad[j,k,i] += y.grad[T,j] H[k,T,i]\nH.grad[k,t,i] += W0[J,k,i] y.grad[t,J]" },
  { "x[b,3]", "mu[j] = (1/B) x[B,j]", "", "for b,j: x.grad[b,j] += (1/B) mu.grad[j]" },
  { "x[b,3] mu[3]", "s[j] = (1/(B-1)) sum_b (x[b,j]-mu[j])^2", "",
    "x.grad[b,j] += (2/(B-1)) s.grad[j] (x[b,j]-mu[j])\n"
    "for b,j: mu.grad[j] -= (2/(B-1)) s.grad[j] (x[b,j]-mu[j])" },
  { "x[b,3]", "mu[j] = (1/B) x[B,j]\ns[j] = (1/(B-1)) sum_b (x[b,j]-mu[j])^2\n"
    "y[b,j] = (x[b,j]-mu[j])/sqrt(s[j])", "",
    "for b,j: x.grad[b,j] += y.grad[b,j] / sqrt(s[j])\n"
    "for b,j: mu.grad[j] -= y.grad[b,j] / sqrt(s[j])\n"
    "for b,j: s.grad[j] -= (1/2) y.grad[b,j] (x[b,j]-mu[j]) s[j]^(-1.5)\n"
    "for b,j: x.grad[b,j] += (2/(B-1)) s.grad[j] (x[b,j]-mu[j])\n"
    "for b,j: x.grad[b,j] += (1/B) mu.grad[j]" },      /* less sum_b (x-mu), which is 0 */
  { "x[b,3] s[3] mu[3]", "y[b,j] = (x[b,j]-mu[j])/sqrt(s[j])", "",
    "x.grad[b,j] += y.grad[b,j] / sqrt(s[j])\nfor b,j: mu.grad[j] -= y.grad[b,j]/sqrt(s[j])\n"
    "s.grad[j] -= (1/2) y.grad[B,j] (x[B,j]-mu[j]) s[j]^(-1.5)" },
  { "L[4,3] A[3] C[3]", "y[t,j] = sig( A[j] L[t,j] + C[j] )", "",
    "for t,j: A.grad[j] += y.grad[t,j] y[t,j] (1-y[t,j]) L[t,j]\n"
    "for t,j: C.grad[j] += y.grad[t,j] y[t,j] (1-y[t,j])\n"
    "for t,j: L.grad[t,j] += y.grad[t,j] y[t,j] (1-y[t,j]) A[j]" },
  { "mu[4] sg[4] eps[4]", "z[i] = mu[i] + sg[i] eps[i]", "",
    "mu.grad[i] += z.grad[i]\nsg.grad[i] += z.grad[i] eps[i]\neps.grad[i] += z.grad[i] sg[i]" },
  { "mu[4] sg[4]", "KL = 1/2 sum_i (mu[i]^2 + sg[i]^2 - 1 - ln sg[i]^2)", "",
    "mu.grad[i] += KL.grad mu[i]\nsg.grad[i] += KL.grad (sg[i] - 1/sg[i])" },
  { "h[4] W[4,4] C[4]", "u[i] = sig( W[i,J] h[J] - C[i] )\nv[i] = h[i] + u[i]", "",
    "h.grad[i] += v.grad[i]\nu.grad[i] += v.grad[i]\n"
    "W.grad[i,j] += u.grad[i] u[i] (1-u[i]) h[j]\nC.grad[i] -= u.grad[i] u[i] (1-u[i])\n"
    "h.grad[j] += W[I,j] u.grad[I] u[I] (1-u[I])" },
  { "x[4,3]", "t[i,j] = x[i,j] x[i,j]", "", "x.grad[i,j] += 2 t.grad[i,j] x[i,j]" }
};
enum { N = sizeof answers / sizeof *answers };

/* ---- What the check prints, and returns. */
static char printed[1 << 16];

static double check(CompNode *y, const char *lines) {
  FILE *file = tmpfile();
  fflush(stdout);
  int keep = dup(1);
  dup2(fileno(file), 1);
  double error = edf_check_backward(y, lines);
  fflush(stdout);
  dup2(keep, 1);
  close(keep);
  rewind(file);
  printed[fread(printed, 1, sizeof printed - 1, file)] = 0;
  fclose(file);
  return error;
}

static CompNode *build(int k) {
  edf_seed((unsigned)k);
  declare(answers[k].tensors, 3);
  CompNode *y = edf_equations("%s", answers[k].text);
  Forward();
  return y;
}

static const double right = sizeof(edf_real) == 8 ? 1e-6 : 2e-3;

static void right_answers(void) {
  int accepted = 0;
  for (int k = 0; k < N; k++) {
    CompNode *y = build(k);
    int nodes = edf.n_inputs + edf.n_parameters + edf.n_compnodes;
    double error = check(y, answers[k].answer);
    CHECK(error <= right, "%g\n%s\n%s\n%s", error, answers[k].text, answers[k].answer, printed);
    CHECK(nodes == edf.n_inputs + edf.n_parameters + edf.n_compnodes, "nodes were made");
    accepted += error <= right;
    edf_clear();
  }
  printf("accepted %d of %d\n", accepted, N);
}

/* ---- Slips: each changes a text at a place that is drawn. */
static unsigned long drawn;
static int draw(int n) {
  drawn = drawn * 6364136223846793005u + 1442695040888963407u;
  return (int)((drawn >> 33) % (unsigned)n);
}

/* Replaces n characters of the text at `at`. */
static void put(char *at, size_t n, const char *by) {
  memmove(at + strlen(by), at + n, strlen(at + n) + 1);
  memcpy(at, by, strlen(by));
}

/* Some tensor with indices behind the line's '=', or, with n = 2, one of two places; its name,
   and what is between its brackets. */
typedef struct { char *name, *open, *close; int places; } read_tensor;
static read_tensor tensor_of(char *line, int places) {
  char *eq = strchr(line, '='), *end = line + strcspn(line, "\n");
  read_tensor all[32], none = { NULL, NULL, NULL, 0 };
  int n = 0;
  for (char *c = eq; c < end && n < 32; c++) {
    if (*c == '[' && c[-1] == '1') break;
    if (*c != '[') continue;
    read_tensor t = { c, c, c, 1 };
    while (t.name > eq && !strchr(" (=/+-", t.name[-1])) t.name--;
    while (*t.close != ']') t.places += *t.close++ == ',';
    int inner = memchr(c + 1, '[', (size_t)(t.close - c - 1)) != NULL;
    if (t.places >= places && !inner) all[n++] = t;
    c = t.close;
  }
  return n ? all[draw(n)] : none;
}

static CompNode *known(const char *name) {
  for (int i = 0; i < edf.n_inputs; i++)
    if (!strcmp(edf.inputs[i]->name, name)) return edf.inputs[i];
  for (int i = 0; i < edf.n_parameters; i++)
    if (!strcmp(edf.parameters[i]->name, name)) return edf.parameters[i];
  for (int i = 0; i < edf.n_compnodes; i++)
    if (!strcmp(edf.compnodes[i]->name, name)) return edf.compnodes[i];
  return NULL;
}
static int same_shape(const CompNode *a, const CompNode *b) {
  return a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim);
}

static int wrong_sign(char *line) {
  char *eq = strchr(line, '=');
  if (!strchr("+-", eq[-1])) return 0;
  eq[-1] = eq[-1] == '+' ? '-' : '+';
  return 1;
}
static int wrong_factor(char *line) {
  char *c = strchr(line, '=') + 1;
  c += strspn(c, " ");
  if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", *c)) return 0;
  put(c, 0, draw(2) ? "2 " : "0.5 ");
  return 1;
}
static int assigned(char *line) {
  char *eq = strchr(line, '=');
  if (eq[-1] != '+') return 0;
  put(eq - 1, 1, "");
  return 1;
}
static int transposed(char *line) {
  read_tensor t = tensor_of(line, 2);
  if (!t.name) return 0;
  char *comma = strchr(t.open, ','), *second = comma + 1 + strcspn(comma + 1, ",]");
  int n = (int)(comma - t.open - 1), m = (int)(second - comma - 1);
  char turned[64];
  if (n == m && !strncmp(t.open + 1, comma + 1, (size_t)n)) return 0;
  snprintf(turned, sizeof turned, "%.*s,%.*s", m, comma + 1, n, t.open + 1);
  memcpy(t.open + 1, turned, strlen(turned));
  return 1;
}
static int unbound(char *line) {       /* an index that nothing else has                    */
  read_tensor t = tensor_of(line, 1);
  if (!t.name) return 0;
  char *c = t.open + 1;
  for (int d = draw(t.places); d > 0; d--) c = strchr(c, ',') + 1;
  if (!strchr(",]", c[1])) return 0;
  *c = 'q';
  return 1;
}
static int not_named(char *line) {     /* the for lacks one                                 */
  if (strncmp(line, "for ", 4)) return 0;
  char *colon = strchr(line, ':');
  while (*colon != ',' && colon > line) colon--;
  if (colon == line) return 0;
  put(colon, strcspn(colon, ":"), "");
  return 1;
}
/* How often an index, a capital, stands on the line alone in a place. */
static int uses(const char *line, char index) {
  int n = 0;
  for (const char *c = line + 1; *c && *c != '\n'; c++)
    n += *c == index && strchr("[,", c[-1]) && strchr(",]", c[1]);
  return n;
}
static int not_summed(char *line) {    /* one of two capitals is a small letter             */
  read_tensor t = tensor_of(line, 1);
  if (!t.name) return 0;
  for (char *c = t.open + 1; c < t.close; c++)
    if (*c >= 'A' && *c <= 'Z' && uses(line, *c) > 1 && strchr("[,", c[-1])
        && strchr(",]", c[1])) {
      *c = (char)(*c + 'a' - 'A');
      return 1;
    }
  return 0;
}
static int other_tensor(char *line) {
  static const char *const names[] = { "W", "x", "y", "h", "Y", "A", "P", "s", "g", "M", "L",
    "r", "mu", "sg", "eps", "f", "i", "u", "o", "c", "a", "p", "z" };
  char name[32], by[40];
  read_tensor t = tensor_of(line, 1);
  if (!t.name) return 0;
  snprintf(name, sizeof name, "%.*s", (int)(t.open - t.name), t.name);
  char *dot = strstr(name, ".grad");
  if (dot) *dot = 0;
  const CompNode *x = known(name), *o = known(names[draw((int)(sizeof names / sizeof *names))]);
  if (!x) return 0;
  if (o && o != x && same_shape(x, o)) snprintf(by, sizeof by, "%s", o->name);
  else if (dot) snprintf(by, sizeof by, "%s", name);
  else return 0;
  put(t.name, (size_t)(t.open - t.name), by);
  return 1;
}
static int no_factor(char *line) {     /* the last tensor, if it is one of several          */
  char *end = line + strcspn(line, "\n"), *c = end;
  if (c[-1] != ']') return 0;
  while (c > line && *c != ' ') c--;
  if (c - 2 < line || strchr("=+-/", c[-1])) return 0;
  put(c, (size_t)(end - c), "");
  return 1;
}
static int no_line(char *line) {
  char name[32];
  char *left = strncmp(line, "for ", 4) ? line : strchr(line, ':') + 2;
  size_t n = strcspn(left, ".");
  snprintf(name, sizeof name, "%.*s", (int)n, left);
  const CompNode *x = known(name);
  if (!x || x->kind != EDF_PARAMETER) return 0;
  put(line, strcspn(line, "\n"), "# no line");
  return 1;
}
static int no_term(char *line) {       /* of several                                        */
  char *c = strstr(strchr(line, '='), ") + ");
  if (!c) c = strstr(strchr(line, '='), "] - ");
  if (!c || c > line + strcspn(line, "\n")) return 0;
  size_t n = strcspn(c + 1, ")\n");
  put(c + 1, n, "");
  return 1;
}

/* What has to be said of it: one of these. */
static const struct { const char *what; int (*slip)(char *); const char *said[3]; } slips[] = {
  { "sign", wrong_sign, { "sign" } }, { "factor", wrong_factor, { "factor" } },
  { "= for +=", assigned, { "'='" } }, { "transposed", transposed, { "transposed" } },
  { "unbound", unbound, { "index" } }, { "not named", not_named, { "names all indices" } },
  { "not summed", not_summed, { "index", "indices" } },
  { "another tensor", other_tensor, { "another tensor" } },
  { "no factor", no_factor, { "factor is missing", "summed" } },
  { "no line", no_line, { "missing" } }, { "no term", no_term, { "missing", "factor" } }
};
enum { SLIPS = sizeof slips / sizeof *slips, WRONG = 88 };

/* A line with .grad on its left, drawn. */
static char *line_of(char *text) {
  char *line = text;
  for (int n = draw(8); n > 0; n--) {
    line += strcspn(line, "\n");
    line = *line ? line + 1 : text;
  }
  char *grad = strstr(line, ".grad"), *eq = strchr(line, '=');
  return grad && eq && grad < eq ? line : NULL;
}

static void wrong_answers(void) {
  const char *seed = getenv("SEED");
  int refused = 0, named = 0;
  drawn = seed ? strtoul(seed, NULL, 10) : 1;
  for (int n = 0; n < WRONG;) {
    char text[2000];
    int k = draw(N), s = n % SLIPS, said = 0;
    CompNode *y = build(k);
    snprintf(text, sizeof text, "%s", answers[k].answer);
    char *line = line_of(text);
    if (line && slips[s].slip(line)) {
      double error = check(y, text);
      for (int i = 0; i < 3 && slips[s].said[i]; i++)
        said |= strstr(printed, slips[s].said[i]) != NULL;
      CHECK(error > right, "%s: %g\n%s\n%s\n%s", slips[s].what, error, answers[k].text, text,
            printed);
      if (!said && getenv("SAY"))
        printf("--- %s\n%s\n%s\n%s\n", slips[s].what, answers[k].text, text, printed);
      refused += error > right;
      named += said;
      n++;
    }
    edf_clear();
  }
  printf("refused %d of %d, named %d\n", refused, WRONG, named);
  CHECK(named * 80 >= 70 * WRONG, "only %d of %d slips are named", named, WRONG);
}

/* ---- Nodes without a line of a text; and what a Backward left stays. */
static void answers_to_nodes(void) {
  declare("x[b,3] k[b]=4 W[3,4] B[4]", 2);
  Node *W = edf_find("W"), *x = edf_find("x"), *B = edf_find("B");
  CompNode *s = edf_einsum("s[b,j] = W[I,j] x[b,I] - B[j]", W, x, B);
  CompNode *g = edf_name(Sigmoid(s), "g"), *P = edf_name(Softmax(g), "P");
  CompNode *l = edf_name(LogLoss(P, edf_find("k")), "l"), *loss = Mean(l);
  Forward();
  Backward(loss);
  edf_real before = W->grad[3];
  CHECK(check(s, "for b,i,j: W.grad[i,j] += s.grad[b,j] x[b,i]\nB.grad[j] -= s.grad[B,j]\n"
                 "x.grad[b,i] += W[i,J] s.grad[b,J]") <= right, "%s", printed);
  CHECK(check(g, "s.grad[b,j] += g.grad[b,j] g[b,j] (1-g[b,j])") <= right, "%s", printed);
  CHECK(check(P, "e[b] = -P[b,J] P.grad[b,J]\ng.grad[b,j] += P[b,j] (P.grad[b,j] + e[b])")
        <= right, "%s", printed);
  CHECK(check(l, "P.grad[b,k[b]] -= l.grad[b] / P[b,k[b]]") <= right, "%s", printed);
  CHECK(check(l, "P.grad[b,k[b]] += l.grad[b] / P[b,k[b]]") > right, "%s", printed);
  CHECK(W->grad[3] == before, "%g was %g", (double)W->grad[3], (double)before);
  Backward(loss);
  CLOSE(W->grad[3], before, 0, 1e-6);
  edf_clear();
}

/* The gradient of an Input may be left out, that of a Parameter may not. */
static void what_may_be_missing(void) {
  static const edf_real data[] = { 1, 2, 3, 4, 5, 6 };
  Input *x = edf_want_grad(edf_input("x[2,3]"));
  CompNode *s = edf_equations("s[b,j] = W[j,I] x[b,I] | j<2");
  edf_feed(x, data, 2);
  Forward();
  CHECK(check(s, "W.grad[j,i] += s.grad[B,j] x[B,i]") <= right, "%s", printed);
  CHECK(check(s, "x.grad[b,i] += W[J,i] s.grad[b,J]") == 1, "%s", printed);
  CHECK(strstr(printed, "FAIL  W.grad: missing"), "%s", printed);
  edf_clear();
}

/* Before any Forward, where y is computed past a node that the answer reads; what is computed
   from y; and numbers that prove nothing. */
static void values_that_are_there(void) {
  static const edf_real x[] = { 1, 2, 3, 4 }, k[] = { 0, 1 };
  Input *in = edf_input("x[b,2]"), *labels = edf_input("k[b]");
  CompNode *loss = edf_equations("s[b,j] = W[j,I] x[b,I] | j<2 \n P[b,j] = softmax_j s[b,j] \n"
                                 "loss[b] = -ln P[b,k[b]]");
  edf_feed(in, x, 2);
  edf_feed(labels, k, 2);
  CHECK(check(loss, "P.grad[b,k[b]] -= loss.grad[b] / P[b,k[b]]") <= right, "%s", printed);
  CHECK(check(edf_find("s"), "W.grad[j,i] += s.grad[B,j] x[B,i] loss.grad[B]") == 1, "%s",
        printed);
  CHECK(strstr(printed, "no tensor is called loss.grad"), "%s", printed);
  CompNode *y = edf_equations("y[i] = a[i] c[i] | i<3");
  memset(edf_find("a")->value, 0, 3 * sizeof(edf_real));
  CHECK(check(y, "c.grad[i] += 7 y.grad[i] a[i] \n a.grad[i] += y.grad[i] c[i]") <= right, "%s",
        printed);
  CHECK(strstr(printed, "c.grad: relative error 0; all of it is 0 here"), "%s", printed);
  edf_clear();
}

static void ten_times(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = 10 * y->in[0]->value[i];
}

static void a_node_in_c(void) {
  declare("W[3,4]", 2);
  CompNode *y = edf_compnode("Ten", ten_times, NULL, edf_find("W"));
  CHECK(check(y, "W.grad[i,j] += 10 Ten0.grad[i,j]") == 1, "%s", printed);
  CHECK(strstr(printed, "FAIL  it has no equation to compare with"), "%s", printed);
  edf_clear();
}

/* ---- Whatever stands there, nothing stops, changes or is left behind. */
static void unreadable_answers(void) {
  static const char signs[] = "[]()+-=,:;|<^/* \n.'#_0aWx\xc3";
  static const char *const texts[] = { NULL, "", "\n\n", "for", "x", "W.grad", "W.grad =", "=",
    "W.grad[i,j] += ", "W.grad[i] += h.grad[b,j]", "W.grad[i,j,k] += h.grad[b,j]", ".grad = 1",
    "W.grad[j,i] += h.grad[B,j] v[B,i]", "v.grad[j,i] += h.grad[B,j]", "h.grad[b,j] = 1 h[b,j]",
    "e[b+1] = h[b,0]\nW.grad[j,i] += e[b]", "W.grad[j,i] += gelu(W[j,i])", "W.grad += 1",
    "e = 1/0\nW.grad[j,i] += e W[j,i]", "input x[b]", "W.grad[j,i] += argmax_b x[b,i]",
    "a[b,j] = a[b,j-1] + 1", "W.grad[j,i] += x[x[0,0],i] + W[9,9] ; 2", "W[j,i] = 3 W[j,i]" };
  for (size_t k = 0; k < 200 + sizeof texts / sizeof *texts; k++) {
    CompNode *y = build(8);
    char text[2000];
    const edf_real before = y->value[3], *W = edf_find("W0")->value;
    edf_real first = W[0];
    snprintf(text, sizeof text, "%s", answers[k % N].answer);
    for (int n = draw(4); n >= 0; n--)
      text[draw((int)strlen(text))] = signs[draw((int)sizeof signs - 1)];
    const char *lines = k < 200 ? text : texts[k - 200];
    static double error;
    TRY(error = check(y, lines));
    CHECK(!panicked, "%s\n%s", caught, lines);
    CHECK(k < 200 || error >= right, "%g: %s", error, lines);
    CHECK(y->value[3] == before && edf_find("W0")->value[0] == first, "it moved");
    Forward();
    Backward(y);
    edf_clear();
    CHECK(memory.live == 0, "%ld blocks are left", memory.live);
    memory.live = 0;
  }
}

int main(void) {
  RUN(right_answers);
  RUN(wrong_answers);
  RUN(answers_to_nodes);
  RUN(what_may_be_missing);
  RUN(values_that_are_there);
  RUN(a_node_in_c);
  RUN(unreadable_answers);
  return harness_report();
}
