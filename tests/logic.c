/* The rows of Tensor Logic's tables (Pedro Domingos, 2025) that are of real numbers, as texts
   against plain loops: networks, a transformer, kernel machines, graphical models. What the
   paper sums because it is not on the left is a capital here; its step is a comparison. */

#include "plain.h"

/* ---- Networks */
static void perceptron(void) {
  SLIDE("W[4]~2 X[4]~2", "Y = 1[W[I] X[I] > 0]")
  IN1(W, 4); IN1(X, 4); OUT0(Y);
  *Y = dot(W, X, 4) > 0;
}
static void mlp(void) {
  SLIDE("Z[3]",
        "X[-1,j] = Z[j]\n"
        "X[i,j] = sig(W[i,j,K] X[i-1,K]) | i<2")
  IN1(Z, 3); IN3(W, 2, 3, 3); OUT2(X, 2, 3);
  FOR(i, 2) FOR(j, 3) X[i][j] = plain_sig(dot(W[i][j], i ? X[i - 1] : Z, 3));
}
static void rnn(void) {
  SLIDE("U[2,5]", "X[i,t+1] = sig(W[i,J] X[J,t] + V[i,K] U[K,t]) | i<3")
  IN2(U, 2, 5); IN2(W, 3, 3); IN2(V, 3, 2); OUT2(X, 3, 6);
  FOR(t, 5) FOR(i, 3) {
    double s = 0;
    FOR(j, 3) s += W[i][j] * X[j][t];
    FOR(k, 2) s += V[i][k] * U[k][t];
    X[i][t + 1] = plain_sig(s);
  }
}
static void cnn(void) {
  SLIDE("Image[5,7,2]",
        "Features[x,y] = relu(Filter[DX,DY,CH] Image[x+DX,y+DY,CH]) | DX<2, DY<2\n"
        "Pooled[x,y] = sum_{dx,dy} Features[2x+dx,2y+dy] | dx<2, dy<2\n"
        "Most[x,y] = max_{dx,dy} Features[2x+dx,2y+dy] | dx<2, dy<2")
  IN3(Image, 5, 7, 2); IN3(Filter, 2, 2, 2); OUT2(Features, 4, 6); OUT2(Pooled, 2, 3);
  FOR(x, 4) FOR(y, 6) {
    double s = 0;
    FOR(dx, 2) FOR(dy, 2) FOR(c, 2) s += Filter[dx][dy][c] * Image[x + dx][y + dy][c];
    Features[x][y] = plain_relu(s);
    Pooled[x / 2][y / 2] += Features[x][y];
  }
}
static void gnn(void) {
  SLIDE("X[5,3] Neig[5,5]=2 WAgg WSelf",
        "Emb[n,0,d] = X[n,d]\n"
        "Z[n,l,d'] = relu(WP[l,d',D] Emb[n,l,D]) | l<2\n"
        "Agg[n,l,d] = Neig[n,N'] Z[N',l,d]\n"
        "Emb[n,l+1,d] = relu(WAgg Agg[n,l,d] + WSelf Emb[n,l,d])\n"
        "Class[n] = sig(WOut[D] Emb[n,2,D])\n"
        "Edge[n,n'] = sig(Emb[n,2,D] Emb[n',2,D])\n"
        "Graph = sig(sum_n WOut[D] Emb[n,2,D])")
  IN2(X, 5, 3); IN2(Neig, 5, 5); IN0(WAgg); IN0(WSelf); IN3(WP, 2, 3, 3); IN1(WOut, 3);
  OUT1(Class, 5); OUT2(Edge, 5, 5); OUT0(Graph);
  double emb[3][5][3], z[5][3], sum = 0;
  memcpy(emb[0], X, sizeof emb[0]);
  FOR(l, 2) {
    FOR(n, 5) FOR(e, 3) z[n][e] = plain_relu(dot(WP[l][e], emb[l][n], 3));
    FOR(n, 5) FOR(d, 3) {
      double agg = 0;
      FOR(k, 5) agg += Neig[n][k] * z[k][d];
      emb[l + 1][n][d] = plain_relu(WAgg * agg + WSelf * emb[l][n][d]);
    }
  }
  FOR(n, 5) {
    sum += dot(WOut, emb[2][n], 3);
    Class[n] = plain_sig(dot(WOut, emb[2][n], 3));
    FOR(k, 5) Edge[n][k] = plain_sig(dot(emb[2][n], emb[2][k], 3));
  }
  *Graph = plain_sig(sum);
}

/* ---- A transformer, row by row */
static void embedding(void) {
  SLIDE("x[5]=6",
        "EmbX[p,d] = Emb[x[p],d] | x<6, d<4\n"
        "Even[d] = 1[d = 2 floor(d/2)] | d<4\n"
        "PosEnc[p,d] = Even[d] sin(p exp(-(d/D) ln 100))"
        " + (1-Even[d]) cos(p exp(-((d-1)/D) ln 100)) | p<5\n"
        "Stream[p,d] = EmbX[p,d] + PosEnc[p,d]")
  IN1(x, 5); IN2(Emb, 6, 4); OUT2(Stream, 5, 4);
  FOR(p, 5) FOR(d, 4) {
    double angle = p / pow(100, (d - d % 2) / 4.0);
    Stream[p][d] = Emb[(int)x[p]][d] + (d % 2 ? cos(angle) : sin(angle));
  }
}
static void transformer(void) {
  SLIDE("X[4,6]",
        "Stream[0,p,d] = X[p,d]\n"
        "Query[l,h,p,e] = WQ[l,h,e,D] Stream[l,p,D] | l<2, h<2, e<3\n"
        "Key[l,h,p,e] = WK[l,h,e,D] Stream[l,p,D] | h<2, e<3\n"
        "Val[l,h,p,e] = WV[l,h,e,D] Stream[l,p,D] | h<2, e<3\n"
        "Comp[l,h,p,q] = softmax_q Query[l,h,p,E] Key[l,h,q,E] / sqrt(E)\n"
        "Attn[l,h,p,e] = Comp[l,h,p,Q] Val[l,h,Q,e]\n"
        "Mid[l,p,d] = normalize_d(WS[l,d,(H,E)] Attn[l,H,p,E] + Stream[l,p,d])\n"
        "MLP[l,p,m] = relu(WP[l,m,D] Mid[l,p,D]) | m<4\n"
        "Stream[l+1,p,d] = normalize_d(WM[l,d,M] MLP[l,p,M] + Mid[l,p,d])\n"
        "Y[p,t] = softmax_t WO[t,D] Stream[2,p,D] | t<5")
  IN2(X, 4, 6); IN2(WO, 5, 6); OUT2(Y, 4, 5);
  IN4(WQ, 2, 2, 3, 6); IN4(WK, 2, 2, 3, 6); IN4(WV, 2, 2, 3, 6); IN3(WS, 2, 6, 6);
  IN3(WP, 2, 4, 6); IN3(WM, 2, 6, 4);
  double s[4][6], q[4][3], k[4][3], v[4][3], c[4], merge[4][6], mlp[4];
  memcpy(s, X, sizeof s);
  FOR(l, 2) {
    FOR(h, 2) {
      FOR(p, 4) FOR(e, 3) {
        q[p][e] = dot(WQ[l][h][e], s[p], 6);
        k[p][e] = dot(WK[l][h][e], s[p], 6);
        v[p][e] = dot(WV[l][h][e], s[p], 6);
      }
      FOR(p, 4) {
        FOR(o, 4) c[o] = dot(q[p], k[o], 3) / sqrt(3);
        plain_softmax(c, 4, 1);
        FOR(e, 3) merge[p][h * 3 + e] = 0;
        FOR(o, 4) FOR(e, 3) merge[p][h * 3 + e] += c[o] * v[o][e];
      }
    }
    FOR(p, 4) {
      FOR(d, 6) s[p][d] += dot(WS[l][d], merge[p], 6);
      plain_normalize(s[p], 6);
      FOR(m, 4) mlp[m] = plain_relu(dot(WP[l][m], s[p], 6));
      FOR(d, 6) s[p][d] += dot(WM[l][d], mlp, 4);
      plain_normalize(s[p], 6);
    }
  }
  FOR(p, 4) {
    FOR(t, 5) Y[p][t] = dot(WO[t], s[p], 6);
    plain_softmax(Y[p], 5, 1);
  }
}

/* ---- Kernel machines */
static void kernels(void) {
  SLIDE("X[5,3] Y[5] A[5] B Var+",
        "P[i,i'] = (X[i,J] X[i',J])^3\n"
        "K[i,i'] = exp(-(sum_j (X[i,j]-X[i',j])^2)/Var)\n"
        "Y'[q] = sig(A[I] Y[I] K[q,I] + B)\n"
        "Y''[q] = sig(A[I] Y[I] P[q,I] + B)")
  IN2(X, 5, 3); IN1(Y, 5); IN1(A, 5); IN0(B); IN0(Var); OUT1(Y_, 5); OUT1(Y__, 5);
  FOR(q, 5) {
    double s = B, p = B;
    FOR(i, 5) {
      double far = 0, dot = 0;
      FOR(j, 3) { far += (X[q][j] - X[i][j]) * (X[q][j] - X[i][j]); dot += X[q][j] * X[i][j]; }
      s += A[i] * Y[i] * exp(-far / Var);
      p += A[i] * Y[i] * dot * dot * dot;
    }
    Y_[q] = plain_sig(s);
    Y__[q] = plain_sig(p);
  }
}

/* ---- Graphical models: factors are tensors, marginals sums of products */
static void bayesian_network(void) {
  SLIDE("A[2]+ B[3,2]+ C[2,2,3]+",
        "J[x,y,z] = A[x] B[y,x] C[z,x,y]\n"
        "M[z] = J[X,Y,z]\n"
        "D[x,z] = A[x] B[Y,x] C[z,x,Y]\n"
        "E[x] = D[x,1] / sum_k D[k,1]\n"
        "F = max_{x,y,z} J[x,y,z]")
  IN1(A, 2); IN2(B, 3, 2); IN3(C, 2, 2, 3); OUT1(M, 2); OUT2(D, 2, 2); OUT1(E, 2); OUT0(F);
  FOR(x, 2) FOR(y, 3) FOR(z, 2) {
    double p = A[x] * B[y][x] * C[z][x][y];
    M[z] += p;
    D[x][z] += p;
    *F = fmax(*F, p);
  }
  FOR(x, 2) E[x] = D[x][1] / (D[0][1] + D[1][1]);
}
static void hidden_markov(void) {
  SLIDE("A[3]+ T[3,3]+ O[3,4]+ o[5]=4",
        "F[t,y] = O[y,o[t]] T[X,y] F[t-1,X]\nF[-1,y] = A[y]\n"
        "G[t,x] = T[x,Y] O[Y,o[t+1]] G[t+1,Y] | t<4\nG[4,x] = 1\n"
        "M[y] = F[2,y] G[2,y] / sum_k F[4,k]")
  IN1(A, 3); IN2(T, 3, 3); IN2(O, 3, 4); IN1(o, 5); OUT2(F, 5, 3); OUT1(M, 3);
  double g[5][3] = { { 0 } }, all = 0;
  FOR(t, 5) FOR(y, 3) FOR(x, 3) F[t][y] += O[y][(int)o[t]] * T[x][y] * (t ? F[t - 1][x] : A[x]);
  FOR(x, 3) g[4][x] = 1;
  for (int t = 3; t >= 0; t--)
    FOR(x, 3) FOR(y, 3) g[t][x] += T[x][y] * O[y][(int)o[t + 1]] * g[t + 1][y];
  FOR(k, 3) all += F[4][k];
  FOR(y, 3) M[y] = F[2][y] * g[2][y] / all;
}
static void belief_propagation(void) {
  SLIDE("A[2]+ B[3]+ C[2]+ E[2,2]+ D[2,3]+",
        "m[x] = E[x,Z] C[Z]\n"
        "n[x] = D[x,Y] B[Y]\n"
        "P[x] = A[x] m[x] n[x] / sum_k A[k] m[k] n[k]")
  IN1(A, 2); IN1(B, 3); IN1(C, 2); IN2(E, 2, 2); IN2(D, 2, 3); OUT1(P, 2);
  double all = 0;
  FOR(x, 2) FOR(y, 3) FOR(z, 2) P[x] += A[x] * E[x][z] * C[z] * D[x][y] * B[y];
  FOR(x, 2) all += P[x];
  FOR(x, 2) P[x] /= all;
}

#define AT(row) { #row, row }
static const struct { const char *name; void (*loops)(void); } rows[] = {
  AT(perceptron), AT(mlp), AT(rnn), AT(cnn), AT(gnn), AT(embedding), AT(transformer),
  AT(kernels), AT(bayesian_network), AT(hidden_markov), AT(belief_propagation)
};

static void (*now)(void);
static void row(void) { run_slide(now); }

int main(void) {
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    now = rows[k].loops;
    harness_run(rows[k].name, row);
  }
  return harness_report();
}
