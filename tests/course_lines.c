/* The course's equations as it writes them, by their numbers, each a text for edf_equations:
   value and all gradients against plain loops (plain.h), and what is printed (interpreter.h).

   A text may differ from the course's words by letters that are spelled out, a size in place of
   its letter, a bound, a first value, a function written out as the course's own line defines
   it, a fused index as its letters, and a new line for a `;` between equations.

   Not here: 35 and 37, which say only how images of several sizes meet, 77, of which half are
   updates, and 81 to 89, optimisers. */

#include "interpreter.h"
#include "plain.h"

#define AT(number) LOOPS(at_##number, run_slide)

/* to = sig(start + the sum of the terms) */
#define SIG_SUM(to, start, loops, term) \
  { double s = start; loops s += term; to = plain_sig(s); }

/* n numbers that are `apart`, less their mean and divided by their deviation */
static void standardize(double *to, const double *x, int n, int apart) {
  double mean = 0, s = 0;
  FOR(i, n) mean += x[i * apart] / n;
  FOR(i, n) s += (x[i * apart] - mean) * (x[i * apart] - mean) / (n - 1);
  FOR(i, n) to[i * apart] = (x[i * apart] - mean) / sqrt(s);
}

/* Eq. 22 and its relatives: a step, holes in the kernel, and the bias with a sign */
static void convolve(const char *shape, const char *text, int X, int Y, int step, int hole,
                     int sign) {
  SLIDE(shape, text)
  IN4(K, 3, 2, 3, 2); IN4(L, 3, X, Y, 2); IN1(B, 3); OUT4(L_, 3, 3, 2, 3);
  FOR(b, 3) FOR(x, 3) FOR(y, 2) FOR(n, 3)
    SIG_SUM(L_[b][x][y][n], sign * B[n], FOR(dx, 2) FOR(dy, 3) FOR(i, 2),
            K[n][dx][dy][i] * L[b][step * x + hole * dx][step * y + hole * dy][i])
}

/* ---- Basic tensor products */
AT(1) {
  SLIDE("x[5] y[5]", "z = x[I] y[I]")
  IN1(x, 5); IN1(y, 5); OUT0(z);
  *z = dot(x, y, 5);
}
AT(2) {
  SLIDE("W[3,5] x[5]", "y[i] = W[i,J] x[J]")
  IN2(W, 3, 5); IN1(x, 5); OUT1(y, 3);
  FOR(i, 3) y[i] = dot(W[i], x, 5);
}
AT(3) {
  SLIDE("W[3,5] x[3]", "y[j] = W[I,j] x[I]")
  IN2(W, 3, 5); IN1(x, 3); OUT1(y, 5);
  FOR(i, 3) FOR(j, 5) y[j] += W[i][j] * x[i];
}
AT(4) {
  SLIDE("B[4,3] C[4,5]", "A[i,j] = B[K,i] C[K,j]")
  IN2(B, 4, 3); IN2(C, 4, 5); OUT2(A, 3, 5);
  FOR(i, 3) FOR(j, 5) FOR(k, 4) A[i][j] += B[k][i] * C[k][j];
}
AT(5) {
  SLIDE("A[2,3,4] B[2,5,4]",
        "Y[h,i,j] = A[h,i,K] B[h,j,K]\n\n"
        "for h,i,j,k: Y[h,i,j] += A[h,i,k] B[h,j,k]\n\n"
        "Y[h,i,j] += A[h,i,k] * B[h,j,k]")
  IN3(A, 2, 3, 4); IN3(B, 2, 5, 4); OUT3(Y, 2, 3, 5);
  FOR(h, 2) FOR(i, 3) FOR(j, 5) Y[h][i][j] = dot(A[h][i], B[h][j], 4);
}
AT(6) {
  SLIDE("W[4,3,3] z[3]",
        "x[0,i] = z[i]\n"
        "x[t+1,i] = W[t,i,J] x[t,J]")
  IN3(W, 4, 3, 3); IN1(z, 3); OUT2(x, 5, 3);
  FOR(i, 3) x[0][i] = z[i];
  FOR(t, 4) FOR(i, 3) x[t + 1][i] = dot(W[t][i], x[t], 3);
}
AT(7) {
  SLIDE("x[5] y[4]", "z[i,j] = x[i] y[j]")
  IN1(x, 5); IN1(y, 4); OUT2(z, 5, 4);
  FOR(i, 5) FOR(j, 4) z[i][j] = x[i] * y[j];
}
AT(8) {
  SLIDE("x y",
        "u=x^2\n"
        "v=y^2\n"
        "r=u+v\n"
        "L=sqrt(r)")
  IN0(x); IN0(y); OUT0(u); OUT0(v); OUT0(r); OUT0(L);
  *u = x * x;
  *v = y * y;
  *r = *u + *v;
  *L = sqrt(*r);
}
AT(9) {
  SLIDE("W[4,5] x[b,5]",
        "y[b,i] = sig( W[i,J] x[b,J] )\n\n"
        "y[b,i] = σ(W[i,J] ⊙ x[b,J])\n\n"
        "s[b,i] += W[i,j] x[b,j]\n"
        "y[b,i] = sigmoid(s[b,i])")
  IN2(W, 4, 5); IN2(x, 3, 5); OUT2(y, 3, 4);
  FOR(b, 3) FOR(i, 4) y[b][i] = plain_sig(dot(W[i], x[b], 5));
}

/* ---- MLP, softmax, loss */
AT(10) {
  SLIDE("x[b,5]",
        "h[b,j]  = sig( W0[j,I] x[b,I] - C0[j] ) | j<4\n\n"
        "h[b,j]  = σ( W0[j,I] x[b,I] − C0[j] ) | j<4")
  IN2(W0, 4, 5); IN2(x, 3, 5); IN1(C0, 4); OUT2(h, 3, 4);
  FOR(b, 3) FOR(j, 4) h[b][j] = plain_sig(dot(W0[j], x[b], 5) - C0[j]);
}
AT(11) {
  SLIDE("h[b,5]",
        "s[b,k]  = W1[k,J] h[b,J] - C1[k] | k<4\n"
        "s'[b,k]  = sig( W1[k,J] h[b,J] - C1[k] )")
  IN2(W1, 4, 5); IN2(h, 3, 5); IN1(C1, 4); OUT2(s, 3, 4); OUT2(s_, 3, 4);
  FOR(b, 3) FOR(k, 4) s[b][k] = dot(W1[k], h[b], 5) - C1[k];
  FOR(b, 3) FOR(k, 4) s_[b][k] = plain_sig(s[b][k]);
}
AT(12) {
  SLIDE("s[b,5]", "P[b,k]  = softmax_k s[b,k]")
  IN2(s, 3, 5); OUT2(P, 3, 5);
  FOR(b, 3) {
    FOR(k, 5) P[b][k] = s[b][k];
    plain_softmax(P[b], 5, 1);
  }
}
AT(13) {
  SLIDE("P[b,5]+ y[b]=5",
        "loss[b] = -ln P[b,y[b]]\n"
        "L = (1/B) sum_b loss[b]\n\n"
        "loss[b] = -ln P[b,y[b]]\n"
        "L = (1/B) loss[B]\n\n"
        "loss[b] = -ln P[b,y[b]]\n"
        "L = mean_b loss[b]")
  IN2(P, 3, 5); IN1(y, 3); OUT1(loss, 3); OUT0(L);
  FOR(b, 3) *L += (loss[b] = -log(P[b][(int)y[b]])) / 3;
}
AT(14) {
  SLIDE("x[b,5] W[5,4]",
        "y[b,j] = W[I,j] x[b,I] - B[j]\n"
        "z[b,j] = W[I,j] x[b,I] + B[j]\n\n"
        "y[b,j] += W[i,j] x[b,i]\n"
        "y[b,j] -= B[j]\n"
        "z[b,j] += W[i,j] x[b,i]\n"
        "z[b,j] += B[j]")
  IN2(W, 5, 4); IN2(x, 3, 5); IN1(B, 4); OUT2(y, 3, 4); OUT2(z, 3, 4);
  FOR(b, 3) FOR(j, 4) {
    FOR(i, 5) z[b][j] += W[i][j] * x[b][i];
    y[b][j] = z[b][j] - B[j];
    z[b][j] += B[j];
  }
}
AT(15) {
  SLIDE("y[b,4] yg[b,4] u x yg'",
        "xg[b,i] += yg[b,i] y[b,i] (1-y[b,i])\n"
        "v = 2 sig(2u) - 1\n"
        "xg' += yg' 1[x>0]")
  IN2(y, 3, 4); IN2(yg, 3, 4); IN0(u); IN0(x); IN0(yg_); OUT2(xg, 3, 4); OUT0(v); OUT0(xg_);
  FOR(b, 3) FOR(i, 4) xg[b][i] = yg[b][i] * y[b][i] * (1 - y[b][i]);
  *v = tanh(u);
  *xg_ = x > 0 ? yg_ : 0;
}
AT(16) {
  SLIDE("x[5]", "s[k] = W[k,J] x[J] + b[k] | k<4")
  IN2(W, 4, 5); IN1(x, 5); IN1(b, 4); OUT1(s, 4);
  FOR(k, 4) s[k] = dot(W[k], x, 5) + b[k];
}
AT(17) {
  SLIDE("s[b,5]",
        "Z[b] += exp(s[b,j])\n"
        "p[b,j] = exp(s[b,j])/Z[b]\n\n"
        "Z[b] = 0\n"
        "for b,j: Z[b] += exp(s[b,j])\n"
        "p[b,j] = exp(s[b,j])/Z[b]\n\n"
        "Z[b] = sum_j exp(s[b,j])\n"
        "p[b,j] = (1/Z[b]) exp(s[b,j])")
  IN2(s, 3, 5); OUT1(Z, 3); OUT2(p, 3, 5);
  FOR(b, 3) {
    FOR(j, 5) Z[b] += exp(s[b][j]);
    FOR(j, 5) p[b][j] = exp(s[b][j]) / Z[b];
  }
}
AT(17_backward) {
  SLIDE("s[b,5] pg[b,5] Z[b]+",
        "sg[b,j] += pg[b,j] exp(s[b,j])/Z[b]\n"
        "Zg[b] -= pg[b,J] exp(s[b,J])/Z[b]^2\n"
        "sg[b,j] += Zg[b] exp(s[b,j])")
  IN2(s, 3, 5); IN2(pg, 3, 5); IN1(Z, 3); OUT2(sg, 3, 5); OUT1(Zg, 3);
  FOR(b, 3) {
    FOR(j, 5) Zg[b] -= pg[b][j] * exp(s[b][j]) / (Z[b] * Z[b]);
    FOR(j, 5) sg[b][j] = pg[b][j] * exp(s[b][j]) / Z[b] + Zg[b] * exp(s[b][j]);
  }
}
AT(18) {
  SLIDE("p[b,5] pg[b,5]",
        "e[b] = -p[b,J] pg[b,J]\n"
        "sg[b,j] += p[b,j] (pg[b,j] + e[b])")
  IN2(p, 3, 5); IN2(pg, 3, 5); OUT1(e, 3); OUT2(sg, 3, 5);
  FOR(b, 3) {
    e[b] = -dot(p[b], pg[b], 5);
    FOR(j, 5) sg[b][j] = p[b][j] * (pg[b][j] + e[b]);
  }
}
AT(19) {
  SLIDE("x@.48 y@1.02",
        "And = sig(100 (x+y-1.5))\n"
        "Or = sig(100 (x+y-.5))\n"
        "Not = sig(100(.5-x))")
  IN0(x); IN0(y); OUT0(And); OUT0(Or); OUT0(Not);
  *And = plain_sig(100 * (x + y - 1.5));
  *Or = plain_sig(100 * (x + y - 0.5));
  *Not = plain_sig(100 * (0.5 - x));
}
AT(20) {
  SLIDE("Phi[4] x[4] y yhat[3]",
        "L = (Phi[J] x[J] - y)^2\n"
        "M = sum_l (y - yhat[l])^2")
  IN1(Phi, 4); IN1(x, 4); IN0(y); IN1(yhat, 3); OUT0(L); OUT0(M);
  *L = pow(dot(Phi, x, 4) - y, 2);
  FOR(l, 3) *M += (y - yhat[l]) * (y - yhat[l]);
}
AT(20_robust) {
  SLIDE("P[b,5]+ y[b]=5 Lmax@2", "L[b] = Lmax tanh(-ln P[b,y[b]]/Lmax)")
  IN2(P, 3, 5); IN1(y, 3); IN0(Lmax); OUT1(L, 3);
  FOR(b, 3) L[b] = Lmax * tanh(-log(P[b][(int)y[b]]) / Lmax);
}

/* ---- CNN and pooling */
AT(21) {
  SLIDE("L[b,4,4,2]",
        "L'[b,x,y,j] = sig( W[DX,DY,I,j] L[b,x+DX,y+DY,I] - B[j] ) | DX<2, DY<3, j<3\n\n"
        "L'[b,x,y,j] = σ( W[ΔX,ΔY,I,j] L[b,x+ΔX,y+ΔY,I] − B[j] ) | ΔX<2, ΔY<3, j<3")
  IN4(W, 2, 3, 2, 3); IN4(L, 3, 4, 4, 2); IN1(B, 3); OUT4(L_, 3, 3, 2, 3);
  FOR(b, 3) FOR(x, 3) FOR(y, 2) FOR(j, 3)
    SIG_SUM(L_[b][x][y][j], -B[j], FOR(dx, 2) FOR(dy, 3) FOR(i, 2),
            W[dx][dy][i][j] * L[b][x + dx][y + dy][i])
}
AT(22) {
  convolve("L[b,4,4,2]",
           "L'[b,x,y,n] = sig( K[n,DX,DY,I] L[b,x+DX,y+DY,I] - B[n] ) | DX<2, DY<3, n<3",
           4, 4, 1, 1, -1);
}
AT(23) {
  SLIDE("L[b,4,4,2] Lg'[b,3,2,3] W[2,3,2,3]",
        "Wg[dx,dy,i,j] += (1/B) Lg'[b,x,y,j] L[b,x+dx,y+dy,i]\n"
        "Lg[b,x+dx,y+dy,i] += W[dx,dy,i,j] Lg'[b,x,y,j]")
  IN4(W, 2, 3, 2, 3); IN4(L, 3, 4, 4, 2); IN4(Lg_, 3, 3, 2, 3);
  OUT4(Wg, 2, 3, 2, 3); OUT4(Lg, 3, 4, 4, 2);
  FOR(b, 3) FOR(x, 3) FOR(y, 2) FOR(j, 3) FOR(dx, 2) FOR(dy, 3) FOR(i, 2) {
    Wg[dx][dy][i][j] += Lg_[b][x][y][j] * L[b][x + dx][y + dy][i] / 3;
    Lg[b][x + dx][y + dy][i] += W[dx][dy][i][j] * Lg_[b][x][y][j];
  }
}
AT(24) {
  SLIDE("L[b,4,3,2]",
        "Lp[b,x+1,y+1,i] = L[b,x,y,i]\n"
        "L'[b,x,y,i] = L[b,x-1,y-1,i] | x<6, y<5")       /* zeros behind it, too */
  IN4(L, 3, 4, 3, 2); OUT4(Lp, 3, 5, 4, 2); OUT4(L_, 3, 6, 5, 2);
  FOR(b, 3) FOR(x, 4) FOR(y, 3) FOR(i, 2)
    Lp[b][x + 1][y + 1][i] = L_[b][x + 1][y + 1][i] = L[b][x][y][i];
}
AT(25) {
  convolve("L[b,6,5,2]",
           "L'[b,x,y,n] = sig( K[n,DX,DY,I] L[b,2*x+DX,2*y+DY,I] - B[n] ) | DX<2, DY<3, n<3",
           6, 5, 2, 1, -1);
}
AT(26) {
  convolve("L[b,5,6,2]",
           "L'[b,x,y,n] = sig( K[n,DX,DY,I] L[b,x+2*DX,y+2*DY,I] + B[n] ) | DX<2, DY<3, n<3",
           5, 6, 1, 2, 1);
}
AT(27) {
  SLIDE("L[b,4,4,2]",
        "L'[b,x,y,i] = max_{dx,dy} L[b,2*x+dx,2*y+dy,i] | dx<2, dy<2\n"
        "L''[b,x,y,i] = (1/2^2) sum_{dx,dy} L[b,2*x+dx,2*y+dy,i] | dx<2, dy<2\n"
        "L'''[b,x,y,i] = sum_{dx,dy} L[b,2*x+dx,2*y+dy,i] | dx<2, dy<2\n\n"
        "L'[b,x,y,i] = max_{Δx<2,Δy<2} L[b,2*x+Δx,2*y+Δy,i]\n"
        "L''[b,x,y,i] = mean_{Δx<2,Δy<2} L[b,2*x+Δx,2*y+Δy,i]\n"
        "L'''[b,x,y,i] = L[b,2*x+ΔX,2*y+ΔY,i] | ΔX<2, ΔY<2")
  IN4(L, 3, 4, 4, 2); OUT4(L_, 3, 2, 2, 2); OUT4(L__, 3, 2, 2, 2); OUT4(L___, 3, 2, 2, 2);
  FOR(b, 3) FOR(x, 2) FOR(y, 2) FOR(i, 2) {
    L_[b][x][y][i] = -HUGE_VAL;
    FOR(dx, 2) FOR(dy, 2) {
      double v = L[b][2 * x + dx][2 * y + dy][i];
      L_[b][x][y][i] = fmax(L_[b][x][y][i], v);
      L__[b][x][y][i] += v / 4;
      L___[b][x][y][i] += v;
    }
  }
}
AT(30) {
  SLIDE("L[b,4,4,2]",
        "M[b,x,y,dx,dy,i] = L[b,x+dx,y+dy,i] | dx<2, dy<3\n"
        "L'[b,x,y,j] = M[b,x,y,DX,DY,I] W[(DX,DY,I),j] | j<3")
  IN4(L, 3, 4, 4, 2); IN2(W, 12, 3); OUT6(M, 3, 3, 2, 2, 3, 2); OUT4(L_, 3, 3, 2, 3);
  FOR(b, 3) FOR(x, 3) FOR(y, 2) FOR(dx, 2) FOR(dy, 3) FOR(i, 2) {
    M[b][x][y][dx][dy][i] = L[b][x + dx][y + dy][i];
    FOR(j, 3) L_[b][x][y][j] += L[b][x + dx][y + dy][i] * W[(dx * 3 + dy) * 2 + i][j];
  }
}
AT(31) {
  SLIDE("L[b,2,3,2]", "L'[b,(x,y,c)] = L[b,x,y,c]")
  IN4(L, 3, 2, 3, 2); OUT2(L_, 3, 12);
  FOR(b, 3) FOR(x, 2) FOR(y, 3) FOR(c, 2) L_[b][(x * 3 + y) * 2 + c] = L[b][x][y][c];
}
AT(32) {
  SLIDE("L[b,4,6,2]",
        "L2[b,x,y,n] = 1/4 (L[b,2x,2y,n]+L[b,2x+1,2y,n]+L[b,2x,2y+1,n]+L[b,2x+1,2y+1,n])")
  IN4(L, 3, 4, 6, 2); OUT4(L2, 3, 2, 3, 2);
  FOR(b, 3) FOR(x, 4) FOR(y, 6) FOR(n, 2) L2[b][x / 2][y / 2][n] += L[b][x][y][n] / 4;
}
AT(34) {
  SLIDE("W[3,2,2,4] L[3,2,4]",
        "L'[2*x+dx,2*y+dy,i] += W[dx,dy,i,j] L[x,y,j]\n\n"
        "L'[2*x+DX,2*y+DY,i] = W[DX,DY,i,J] L[x,y,J]\n\n"
        "for x,y,dx,dy,i,j: L'[2x+dx,2y+dy,i] += W[dx,dy,i,j] L[x,y,j]")
  IN4(W, 3, 2, 2, 4); IN3(L, 3, 2, 4); OUT3(L_, 7, 4, 2);
  FOR(x, 3) FOR(y, 2) FOR(dx, 3) FOR(dy, 2) FOR(i, 2) FOR(j, 4)
    L_[2 * x + dx][2 * y + dy][i] += W[dx][dy][i][j] * L[x][y][j];
}
AT(36) {
  SLIDE("w[b,6]=7",
        "L0[b,t,i] = e[w[b,t],i] | w<7, i<2\n"
        "L1[b,t,i] = sig( W[DT,J,i] L0[b,2t+DT,J] - B[i] ) | DT<2, i<4")
  IN2(w, 3, 6); IN2(e, 7, 2); IN3(W, 2, 2, 4); IN1(B, 4); OUT3(L0, 3, 6, 2); OUT3(L1, 3, 3, 4);
  FOR(b, 3) FOR(t, 6) FOR(i, 2) L0[b][t][i] = e[(int)w[b][t]][i];
  FOR(b, 3) FOR(t, 3) FOR(i, 4)
    SIG_SUM(L1[b][t][i], -B[i], FOR(dt, 2) FOR(j, 2), W[dt][j][i] * L0[b][2 * t + dt][j])
}
AT(38) {
  SLIDE("A[b,2,3,4] C[b,2,3,1]", "L'[b,x,y,J1+J2] = A[b,x,y,J1] ; C[b,x,y,J2]")
  IN4(A, 3, 2, 3, 4); IN4(C, 3, 2, 3, 1); OUT4(L_, 3, 2, 3, 5);
  FOR(b, 3) FOR(x, 2) FOR(y, 3) FOR(j, 5)
    L_[b][x][y][j] = j < 4 ? A[b][x][y][j] : C[b][x][y][j - 4];
}

/* ---- ResNet / highway */
AT(40) {
  SLIDE("z[b,4,3,2]",
        "L[0,b,x,y,j] = z[b,x,y,j]\n"
        "L[l+1,b,x,y,j] = L[l,b,x,y,j] + sig( W[l,DX,DY,I,j] L[l,b,x+DX,y+DY,I] - B[l,j] )"
        " | l<2, x<4, y<3, DX<2, DY<2")
  IN4(z, 3, 4, 3, 2); IN5(W, 2, 2, 2, 2, 2); IN2(B, 2, 2);
  OUT5(L, 3, 3, 4, 3, 2);
  FOR(b, 3) FOR(x, 4) FOR(y, 3) FOR(j, 2) L[0][b][x][y][j] = z[b][x][y][j];
  FOR(l, 2) FOR(b, 3) FOR(x, 4) FOR(y, 3) FOR(j, 2) {
    double s = -B[l][j];
    FOR(dx, 2) FOR(dy, 2) FOR(i, 2)
      if (x + dx < 4 && y + dy < 3) s += W[l][dx][dy][i][j] * L[l][b][x + dx][y + dy][i];
    L[l + 1][b][x][y][j] = L[l][b][x][y][j] + plain_sig(s);
  }
}
AT(41) {
  SLIDE("L[b,4,6,2]", "L'[b,x,y,J+K] = L[b,2*x,2*y,J] ; 0 | K<1")
  IN4(L, 3, 4, 6, 2); OUT4(L_, 3, 2, 3, 3);
  FOR(b, 3) FOR(x, 2) FOR(y, 3) FOR(j, 2) L_[b][x][y][j] = L[b][2 * x][2 * y][j];
}
AT(43) {
  SLIDE("L[b,3,3,2]",
        "R[b,x,y,j] = sig( W[DX,DY,I,j] L[b,x+DX,y+DY,I] - B[j] )"
        " | x<3, y<3, DX<2, DY<2, j<3\n"
        "L'[b,x,y,I+J] = L[b,x,y,I] ; R[b,x,y,J]")
  IN4(L, 3, 3, 3, 2); IN4(W, 2, 2, 2, 3); IN1(B, 3); OUT4(L_, 3, 3, 3, 5);
  FOR(b, 3) FOR(x, 3) FOR(y, 3) {
    FOR(i, 2) L_[b][x][y][i] = L[b][x][y][i];
    FOR(j, 3)
      SIG_SUM(L_[b][x][y][2 + j], -B[j], FOR(dx, 2) FOR(dy, 2) FOR(i, 2),
              x + dx < 3 && y + dy < 3 ? W[dx][dy][i][j] * L[b][x + dx][y + dy][i] : 0)
  }
}
AT(44) {
  SLIDE("h[4]",
        "u[i] = sig(W[i,J] h[J] - B[i]) | i<4\n"
        "h'[i] = h[i] + u[i]")
  IN1(h, 4); IN2(W, 4, 4); IN1(B, 4); OUT1(u, 4); OUT1(h_, 4);
  FOR(i, 4) u[i] = plain_sig(dot(W[i], h, 4) - B[i]);
  FOR(i, 4) h_[i] = h[i] + u[i];
}
AT(45) {
  SLIDE("L[b,3,3,2]",
        "M[b,x,y,j] = sig( K1[j,DX,DY,I] L[b,x+DX,y+DY,I] - B1[j] )"
        " | x<3, y<3, DX<2, DY<2, j<3\n"
        "L'[b,x,y,i] = L[b,x,y,i] + sig( K2[i,DX,DY,J] M[b,x+DX,y+DY,J] - B2[i] )"
        " | DX<2, DY<2")
  IN4(L, 3, 3, 3, 2); IN4(K1, 3, 2, 2, 2); IN1(B1, 3); IN4(K2, 2, 2, 2, 3); IN1(B2, 2);
  OUT4(L_, 3, 3, 3, 2); OUT4(M, 3, 3, 3, 3);
  FOR(b, 3) FOR(x, 3) FOR(y, 3) FOR(j, 3)
    SIG_SUM(M[b][x][y][j], -B1[j], FOR(dx, 2) FOR(dy, 2) FOR(i, 2),
            x + dx < 3 && y + dy < 3 ? K1[j][dx][dy][i] * L[b][x + dx][y + dy][i] : 0)
  FOR(b, 3) FOR(x, 3) FOR(y, 3) FOR(i, 2) {
    double s = -B2[i];
    FOR(dx, 2) FOR(dy, 2) FOR(j, 3)
      if (x + dx < 3 && y + dy < 3) s += K2[i][dx][dy][j] * M[b][x + dx][y + dy][j];
    L_[b][x][y][i] = L[b][x][y][i] + plain_sig(s);
  }
}

/* ---- Recurrent */
AT(46) {
  SLIDE("x[b,4,2]", "h[b,t,j] = sig( Whh[j,I] h[b,t-1,I] + Wxh[j,K] x[b,t,K] - B[j] ) | j<3")
  IN3(x, 3, 4, 2); IN2(Whh, 3, 3); IN2(Wxh, 3, 2); IN1(B, 3); OUT3(h, 3, 4, 3);
  FOR(b, 3) FOR(t, 4) FOR(j, 3)
    h[b][t][j] = plain_sig((t ? dot(Whh[j], h[b][t - 1], 3) : 0) + dot(Wxh[j], x[b][t], 2)
                           - B[j]);
}
AT(49) {
  SLIDE("x[b,4,2]",
        "G1[b,t,j] = sig( W1h[j,I] h[b,t-1,I] + W1x[j,K] x[b,t,K] - B1[j] ) | j<3\n"
        "h1[b,t,j] = G1[b,t,j] h[b,t-1,j]\n"
        "G2[b,t,j] = sig( W2h[j,I] h[b,t-1,I] + W2x[j,K] x[b,t,K] - B2[j] )\n"
        "R[b,t,j] = tanh( WRh[j,I] h1[b,t,I] + WRx[j,K] x[b,t,K] - BR[j] )\n"
        "h[b,t,j] = (1-G2[b,t,j]) h[b,t-1,j] + G2[b,t,j] R[b,t,j]")
  IN3(x, 3, 4, 2); IN2(W1h, 3, 3); IN2(W1x, 3, 2); IN1(B1, 3); IN2(W2h, 3, 3); IN2(W2x, 3, 2);
  IN1(B2, 3); IN2(WRh, 3, 3); IN2(WRx, 3, 2); IN1(BR, 3); OUT3(h, 3, 4, 3);
  FOR(b, 3) FOR(t, 4) {
    double h1[3], g2[3], old[3];
    FOR(j, 3) old[j] = t ? h[b][t - 1][j] : 0;
    FOR(j, 3) {
      h1[j] = plain_sig(dot(W1h[j], old, 3) + dot(W1x[j], x[b][t], 2) - B1[j]) * old[j];
      g2[j] = plain_sig(dot(W2h[j], old, 3) + dot(W2x[j], x[b][t], 2) - B2[j]);
    }
    FOR(j, 3) {
      double r = tanh(dot(WRh[j], h1, 3) + dot(WRx[j], x[b][t], 2) - BR[j]);
      h[b][t][j] = (1 - g2[j]) * old[j] + g2[j] * r;
    }
  }
}
AT(51) {
  SLIDE("x[b,4,2]",
        "v[b,t,K+I] = x[b,t,K] ; h[b,t-1,I]\n"
        "f[b,t,j] = sig( Wf[j,I] v[b,t,I] + bf[j] ) | j<3\n"
        "i[b,t,j] = sig( Wi[j,K] v[b,t,K] + bi[j] )\n"
        "o[b,t,j] = sig( Wo[j,K] v[b,t,K] + bo[j] )\n"
        "c'[b,t,j] = tanh( Wc[j,K] v[b,t,K] + bc[j] )\n"
        "c[b,t,j] = f[b,t,j] c[b,t-1,j] + i[b,t,j] c'[b,t,j]\n"
        "h[b,t,j] = o[b,t,j] tanh(c[b,t,j])")
  IN3(x, 3, 4, 2); IN2(Wf, 3, 5); IN2(Wi, 3, 5); IN2(Wo, 3, 5); IN2(Wc, 3, 5);
  IN1(bf, 3); IN1(bi, 3); IN1(bo, 3); IN1(bc, 3); OUT3(c, 3, 4, 3); OUT3(h, 3, 4, 3);
  FOR(b, 3) FOR(t, 4) FOR(j, 3) {
    double v[5];
    FOR(k, 5) v[k] = k < 2 ? x[b][t][k] : t ? h[b][t - 1][k - 2] : 0;
    double f = plain_sig(dot(Wf[j], v, 5) + bf[j]), i = plain_sig(dot(Wi[j], v, 5) + bi[j]);
    c[b][t][j] = f * (t ? c[b][t - 1][j] : 0) + i * tanh(dot(Wc[j], v, 5) + bc[j]);
    h[b][t][j] = plain_sig(dot(Wo[j], v, 5) + bo[j]) * tanh(c[b][t][j]);
  }
}
AT(52) {
  SLIDE("k[b,4]=6 e[6,3]",
        "h[b,t,j] = tanh( V[j,I] h[b,t-1,I] + W[j,J] e[k[b,t],J] ) | j<3\n"
        "P[b,t,w] = softmax_w e[w,I] h[b,t-1,I] | t<4")
  IN2(k, 3, 4); IN2(e, 6, 3); IN2(V, 3, 3); IN2(W, 3, 3); OUT3(h, 3, 4, 3); OUT3(P, 3, 4, 6);
  FOR(b, 3) FOR(t, 4) {
    FOR(j, 3)
      h[b][t][j] = tanh((t ? dot(V[j], h[b][t - 1], 3) : 0) + dot(W[j], e[(int)k[b][t]], 3));
    FOR(w, 6) P[b][t][w] = t ? dot(e[w], h[b][t - 1], 3) : 0;
    plain_softmax(P[b][t], 6, 1);
  }
}
/* Layers of states, and residual ones */
static void stacked(const char *text, int residual) {
  SLIDE("x[4,3]", text)
  IN2(x, 4, 3); IN3(W, 2, 3, 3); IN3(V, 2, 3, 3); IN2(B, 2, 3); OUT3(h, 2, 4, 3);
  FOR(l, 2) FOR(t, 4) FOR(j, 3) {
    const double *below = l ? h[l - 1][t] : x[t];
    double before = t ? dot(V[l][j], h[l][t - 1], 3) : 0;
    h[l][t][j] = residual * below[j] + plain_sig(dot(W[l][j], below, 3) + before - B[l][j]);
  }
}
AT(53) {
  stacked("h[-1,t,j] = x[t,j]\n"
          "h[l,t,j] = sig( W[l,j,I] h[l-1,t,I] + V[l,j,I] h[l,t-1,I] - B[l,j] ) | l<2", 0);
}
AT(53_residual) {
  stacked("h[-1,t,j] = x[t,j]\n"
          "h[l,t,j] = h[l-1,t,j] + sig( W[l,j,I] h[l-1,t,I] + V[l,j,I] h[l,t-1,I] - B[l,j] )"
          " | l<2", 1);
}
AT(53_bidirectional) {
  SLIDE("x[4,2]",
        "hf[t,j] = sig( Wf[j,I] hf[t-1,I] + Vf[j,K] x[t,K] - Bf[j] ) | j<3\n"
        "hb[t,j] = sig( Wb[j,I] hb[t+1,I] + Vb[j,K] x[t,K] - Bb[j] ) | j<3\n"
        "h[t,2J] = hf[t,J];hb[t,J]")
  IN2(x, 4, 2); IN2(Wf, 3, 3); IN2(Vf, 3, 2); IN1(Bf, 3); IN2(Wb, 3, 3); IN2(Vb, 3, 2);
  IN1(Bb, 3); OUT2(h, 4, 6);
  FOR(t, 4) FOR(j, 3) {
    int r = 3 - t;
    double before = t ? dot(Wf[j], h[t - 1], 3) : 0;
    double after = t ? dot(Wb[j], h[r + 1] + 3, 3) : 0;
    h[t][j] = plain_sig(before + dot(Vf[j], x[t], 2) - Bf[j]);
    h[r][3 + j] = plain_sig(after + dot(Vb[j], x[r], 2) - Bb[j]);
  }
}
AT(55) {
  SLIDE("e[5,2] h[6,3] y[3]=5",
        "P[t,z] = softmax_z e[z,I] W[I,J] h[t,J]\n"
        "F[0,0]=1\n"
        "F[n,t] = P[t,4]F[n,t-1] + P[t,y[n]]F[n-1,t-1]\n"
        "loss = -ln F[2,5]")
  IN2(e, 5, 2); IN2(W, 2, 3); IN2(h, 6, 3); IN1(y, 3); OUT2(P, 6, 5); OUT2(F, 3, 6); OUT0(loss);
  FOR(t, 6) {
    FOR(z, 5) FOR(i, 2) FOR(j, 3) P[t][z] += e[z][i] * W[i][j] * h[t][j];
    plain_softmax(P[t], 5, 1);
  }
  F[0][0] = 1;
  for (int t = 1; t < 6; t++) FOR(n, 3)
    F[n][t] = P[t][4] * F[n][t - 1] + (n ? P[t][(int)y[n]] * F[n - 1][t - 1] : 0);
  *loss = -log(F[2][5]);
}

/* ---- Attention and transformer */
AT(56) {
  SLIDE("w[3]=6 e[6,4] h[5,4]",
        "al[to,ti] = softmax_ti ( e[w[to],J] h[ti,J] )\n"
        "h'[to,J] = al[to,T] h[T,J]")
  IN1(w, 3); IN2(e, 6, 4); IN2(h, 5, 4); OUT2(al, 3, 5); OUT2(h_, 3, 4);
  FOR(o, 3) {
    FOR(i, 5) al[o][i] = dot(e[(int)w[o]], h[i], 4);
    plain_softmax(al[o], 5, 1);
    FOR(i, 5) FOR(j, 4) h_[o][j] += al[o][i] * h[i][j];
  }
}
AT(58) {
  SLIDE("e[6,2] h[5,3]", "P[w] = softmax_w e[w,I] Wauto[I,J] h[4-1,J]")
  IN2(e, 6, 2); IN2(Wauto, 2, 3); IN2(h, 5, 3); OUT1(P, 6);
  FOR(w, 6) FOR(i, 2) FOR(j, 3) P[w] += e[w][i] * Wauto[i][j] * h[3][j];
  plain_softmax(P, 6, 1);
}
AT(61) {
  SLIDE("L[4,3]",
        "Q[k,t,i] = WQ[k,i,J] L[t,J] | k<2, i<5\n"
        "Ky[k,t,i] = WK[k,i,J] L[t,J] | k<2, i<5\n"
        "V[k,t,i] = WV[k,i,J] L[t,J] | k<2, i<5")
  IN2(L, 4, 3); IN3(WQ, 2, 5, 3); IN3(WK, 2, 5, 3); IN3(WV, 2, 5, 3);
  OUT3(Q, 2, 4, 5); OUT3(Ky, 2, 4, 5); OUT3(V, 2, 4, 5);
  FOR(k, 2) FOR(t, 4) FOR(i, 5) {
    Q[k][t][i] = dot(WQ[k][i], L[t], 3);
    Ky[k][t][i] = dot(WK[k][i], L[t], 3);
    V[k][t][i] = dot(WV[k][i], L[t], 3);
  }
}
AT(62) {
  SLIDE("Q[2,4,3] Ky[2,5,3]", "al[k,t1,t2] = softmax_t2 (1/sqrt I) Q[k,t1,I] Ky[k,t2,I]")
  IN3(Q, 2, 4, 3); IN3(Ky, 2, 5, 3); OUT3(al, 2, 4, 5);
  FOR(k, 2) FOR(t, 4) {
    FOR(s, 5) al[k][t][s] = dot(Q[k][t], Ky[k][s], 3) / sqrt(3);
    plain_softmax(al[k][t], 5, 1);
  }
}
AT(63) {
  SLIDE("Q[2,4,3] Ky[2,4,3]",
        "al[k,t1,t2] = softmax_t2 (1/sqrt I) Q[k,t1,I] Ky[k,t2,I] | t2<=t1\n\n"
        "al[k,t1,t2] = softmax_t2(Q[k,t1,I] Ky[k,t2,I] / sqrt(I)) | t2 ≤ t1")
  IN3(Q, 2, 4, 3); IN3(Ky, 2, 4, 3); OUT3(al, 2, 4, 4);
  FOR(k, 2) FOR(t, 4) {
    FOR(s, t + 1) al[k][t][s] = dot(Q[k][t], Ky[k][s], 3) / sqrt(3);
    plain_softmax(al[k][t], t + 1, 1);
  }
}
AT(64) {
  SLIDE("al[2,4,5] V[2,5,3]",
        "H[k,t,i] = al[k,t,T] V[k,T,i]\n"
        "L'[t,j] = W0[j,(K,I)] H[K,t,I] | j<6")
  IN3(al, 2, 4, 5); IN3(V, 2, 5, 3); IN2(W0, 6, 6); OUT3(H, 2, 4, 3); OUT2(L_, 4, 6);
  FOR(k, 2) FOR(t, 4) FOR(i, 3) {
    FOR(s, 5) H[k][t][i] += al[k][t][s] * V[k][s][i];
    FOR(j, 6) L_[t][j] += W0[j][k * 3 + i] * H[k][t][i];
  }
}
AT(65) {
  SLIDE("L[4,3]",
        "h[t,i] = relu(W1[i,J] L[t,J] - B1[i]) | i<5\n"
        "L'[t,j] = W2[j,I] h[t,I] - B2[j] | j<3")
  IN2(L, 4, 3); IN2(W1, 5, 3); IN1(B1, 5); IN2(W2, 3, 5); IN1(B2, 3); OUT2(h, 4, 5);
  OUT2(L_, 4, 3);
  FOR(t, 4) FOR(i, 5) h[t][i] = plain_relu(dot(W1[i], L[t], 3) - B1[i]);
  FOR(t, 4) FOR(j, 3) L_[t][j] = dot(W2[j], h[t], 5) - B2[j];
}
AT(68) {
  SLIDE("w[4]=6 eW[6,3] eT[4,2]", "L0[t,I+I'] = eW[w[t],I] ; eT[t,I']")
  IN1(w, 4); IN2(eW, 6, 3); IN2(eT, 4, 2); OUT2(L0, 4, 5);
  FOR(t, 4) FOR(j, 5) L0[t][j] = j < 3 ? eW[(int)w[t]][j] : eT[t][j - 3];
}
AT(69) {
  SLIDE("x[b,4,3]",
        "q[b,t,d]=x[b,t,I]WQ[I,d] | d<2\n"
        "k[b,t,d]=x[b,t,I]WK[I,d] | d<2\n"
        "v[b,t,d]=x[b,t,I]WV[I,d] | d<2\n"
        "al[b,t1,t2]=softmax_t2 q[b,t1,D]k[b,t2,D]\n"
        "o[b,t,d]=al[b,t,T]v[b,T,d]")
  IN3(x, 3, 4, 3); IN2(WQ, 3, 2); IN2(WK, 3, 2); IN2(WV, 3, 2); OUT3(q, 3, 4, 2);
  OUT3(k, 3, 4, 2); OUT3(v, 3, 4, 2); OUT3(al, 3, 4, 4); OUT3(o, 3, 4, 2);
  FOR(b, 3) FOR(t, 4) FOR(d, 2) FOR(i, 3) {
    q[b][t][d] += x[b][t][i] * WQ[i][d];
    k[b][t][d] += x[b][t][i] * WK[i][d];
    v[b][t][d] += x[b][t][i] * WV[i][d];
  }
  FOR(b, 3) FOR(t, 4) {
    FOR(s, 4) al[b][t][s] = dot(q[b][t], k[b][s], 2);
    plain_softmax(al[b][t], 4, 1);
    FOR(s, 4) FOR(d, 2) o[b][t][d] += al[b][t][s] * v[b][s][d];
  }
}
AT(70) {
  SLIDE("al[3,2,4,4]+",
        "H = (1/(K T1 L)) sum_{l,k,t1,t2} al[l,k,t1,t2] (-ln al[l,k,t1,t2])\n"
        "D = (1/(K T1 (L-1))) sum_{k,t1,l} min( 15, sum_t2 al[l,k,t1,t2] (t1-t2)^2 )")
  IN4(al, 3, 2, 4, 4); OUT0(H); OUT0(D);
  FOR(l, 3) FOR(k, 2) FOR(t, 4) {
    double far = 0;
    FOR(s, 4) *H -= al[l][k][t][s] * log(al[l][k][t][s]) / 24;
    FOR(s, 4) far += al[l][k][t][s] * (t - s) * (t - s);
    *D += fmin(15, far) / 16;
  }
}
AT(70_beta) {
  SLIDE("s[b,5] beta@2", "P[b,k] = softmax_k beta s[b,k]")
  IN2(s, 3, 5); IN0(beta); OUT2(P, 3, 5);
  FOR(b, 3) {
    FOR(k, 5) P[b][k] = beta * s[b][k];
    plain_softmax(P[b], 5, 1);
  }
}

/* ---- Normalisation, dropout */
AT(71) {
  SLIDE("x[b,4]",
        "mu[j]=(1/B) x[B,j]\n"
        "s[j]=(1/(B-1)) sum_b (x[b,j]-mu[j])^2\n"
        "x'[b,j]=(x[b,j]-mu[j])/sqrt(s[j])\n\n"
        "mu[j] = mean_b x[b,j]\n"
        "s[j] = sum_b (x[b,j] − mu[j])^2 / (B-1)\n"
        "x'[b,j] = (x[b,j] − mu[j]) s[j]^(-1/2)")
  IN2(x, 3, 4); OUT2(x_, 3, 4);
  FOR(j, 4) standardize(&x_[0][j], &x[0][j], 3, 4);
}
AT(72) {
  SLIDE("L[b,2,3,2]",
        "mu[j]=(1/(B X Y)) L[B,X,Y,j]\n"
        "s[j]=(1/(B X Y-1)) sum_{b,x,y} (L[b,x,y,j]-mu[j])^2\n"
        "L'[b,x,y,j]=(L[b,x,y,j]-mu[j])/sqrt(s[j])\n"
        "mu'[x,y,j]=(1/B) L[B,x,y,j]\n"
        "s'[x,y,j]=(1/(B-1)) sum_b (L[b,x,y,j]-mu'[x,y,j])^2\n"
        "L''[b,x,y,j]=(L[b,x,y,j]-mu'[x,y,j])/sqrt(s'[x,y,j])")
  IN4(L, 3, 2, 3, 2); OUT4(L_, 3, 2, 3, 2); OUT4(L__, 3, 2, 3, 2);
  FOR(j, 2) standardize(&L_[0][0][0][j], &L[0][0][0][j], 18, 2);
  FOR(j, 12) standardize(&L__[0][0][0][0] + j, &L[0][0][0][0] + j, 3, 12);
}
AT(73) {
  SLIDE("L[b,2,3,2]",
        "mu[b,n]=(1/(X Y)) L[b,X,Y,n]\n"
        "s[b,n]=(1/(X Y-1)) sum_{x,y} (L[b,x,y,n]-mu[b,n])^2\n"
        "L'[b,x,y,n]=(L[b,x,y,n]-mu[b,n])/sqrt(s[b,n])")
  IN4(L, 3, 2, 3, 2); OUT4(L_, 3, 2, 3, 2);
  FOR(b, 3) FOR(n, 2) standardize(&L_[b][0][0][n], &L[b][0][0][n], 6, 2);
}
AT(74) {
  SLIDE("L[4,3]",
        "mu = (1/(T J)) L[T,J]\n"
        "s = sqrt( (1/(T J)) sum_{t,j} (L[t,j]-mu)^2 )\n"
        "L'[t,j] = sig( (A[j]/s) (L[t,j]-mu) + B[j] )")
  IN2(L, 4, 3); IN1(A, 3); IN1(B, 3); OUT2(L_, 4, 3);
  double mu = 0, s = 0;
  FOR(t, 4) FOR(j, 3) mu += L[t][j] / 12;
  FOR(t, 4) FOR(j, 3) s += (L[t][j] - mu) * (L[t][j] - mu) / 12;
  FOR(t, 4) FOR(j, 3) L_[t][j] = plain_sig(A[j] / sqrt(s) * (L[t][j] - mu) + B[j]);
}
AT(75) {
  SLIDE("L[b,2,2,3] x[4] a b'",
        "L'[b,x,y,n] = g[n] L[b,x,y,n] + be[n]\n"
        "x'[i] = a*x[i]+b'")
  IN4(L, 3, 2, 2, 3); IN1(g, 3); IN1(be, 3); IN1(x, 4); IN0(a); IN0(b_); OUT4(L_, 3, 2, 2, 3);
  OUT1(x_, 4);
  FOR(b, 3) FOR(i, 2) FOR(j, 2) FOR(n, 3) L_[b][i][j][n] = g[n] * L[b][i][j][n] + be[n];
  FOR(i, 4) x_[i] = a * x[i] + b_;
}
AT(76) {
  SLIDE("m[5]=2 x[5]",
        "y[i] = relu( W[i,J] m[J] x[J] ) | i<4\n"
        "y'[i] = relu( (1-.25) W[i,J] x[J] )\n"
        "y''[i] = relu( (1/(1-.25)) W[i,J] m[J] x[J] )")
  IN1(m, 5); IN1(x, 5); IN2(W, 4, 5); OUT1(y, 4); OUT1(y_, 4); OUT1(y__, 4);
  FOR(i, 4) {
    double s = 0, all = 0;
    FOR(j, 5) { s += W[i][j] * m[j] * x[j]; all += W[i][j] * x[j]; }
    y[i] = plain_relu(s);
    y_[i] = plain_relu(0.75 * all);
    y__[i] = plain_relu(s / 0.75);
  }
}

/* ---- Generative, structured and other */
AT(78) {
  SLIDE("mu[4] sg[4]+ eps[4]",
        "z[i] = mu[i] + sg[i] eps[i]\n"
        "KL = 1/2 sum_i (mu[i]^2 + sg[i]^2 - 1 - ln sg[i]^2)")
  IN1(mu, 4); IN1(sg, 4); IN1(eps, 4); OUT1(z, 4); OUT0(KL);
  FOR(i, 4) {
    z[i] = mu[i] + sg[i] * eps[i];
    *KL += (mu[i] * mu[i] + sg[i] * sg[i] - 1 - log(sg[i] * sg[i])) / 2;
  }
}
AT(79) {
  SLIDE("sN[4,3] sE'[4,4,3,3] sE[3,3,3] Y[4]=3",
        "s = sum_n sN[n,Y[n]] + sum_{n,m} sE'[n,m,Y[n],Y[m]]\n"
        "Z[0,y] = exp(sN[0,y])\n"
        "Z[t+1,y] = exp(sN[t+1,y]) sum_y' Z[t,y'] exp(sE[t,y',y])")
  IN2(sN, 4, 3); IN4(sE_, 4, 4, 3, 3); IN3(sE, 3, 3, 3); IN1(Y, 4); OUT0(s); OUT2(Z, 4, 3);
  FOR(n, 4) *s += sN[n][(int)Y[n]];
  FOR(n, 4) FOR(m, 4) *s += sE_[n][m][(int)Y[n]][(int)Y[m]];
  FOR(t, 4) FOR(y, 3) {
    double from = t ? 0 : 1;
    if (t) FOR(z, 3) from += Z[t - 1][z] * exp(sE[t - 1][z][y]);
    Z[t][y] = exp(sN[t][y]) * from;
  }
}

int main(void) { return harness_main(); }
