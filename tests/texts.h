/* texts.h - whole slides for edf_equations, with the tensors that they read: what several tests
   of them share. Include it after edf.h. */

#ifndef TEXTS_H
#define TEXTS_H

static inline void fill(edf_real *x, size_t n, double from) {
  for (size_t i = 0; i < n; i++) x[i] = (edf_real)(from + 0.5 * sin((double)i * 1.3 + from));
}

/* "x[b,4] W[3,4] k[b]=5": with the batch an Input, of class numbers where they are counted. */
static inline void declare(const char *list, int batch) {
  static edf_real fed[16][512];
  int n = 0;
  while (*list) {
    size_t length = strcspn(list, " ="), classes = 0;
    const char *decl = edf_fmt("%.*s", (int)length, list);
    list += length;
    if (*list == '=') classes = (size_t)strtol(list + 1, (char **)&list, 10);
    list += strspn(list, " ");
    edf_real *x = fed[n++];
    for (size_t i = 0; classes && i < 512; i++) x[i] = (edf_real)(i * 7 % 11 % classes);
    if (!classes) fill(x, 512, 0.6 + 0.1 * n);
    if (strstr(decl, "[b") || classes) {
      Input *in = edf_input("%s", decl);
      if (!classes) edf_want_grad(in);
      edf_feed(in, x, strstr(decl, "[b") ? batch : in->rank ? in->dim[0] : 1);
    } else {
      Parameter *p = edf_parameter("%s", decl);
      memcpy(p->value, x, p->size * sizeof *x);
      edf_push(p);
    }
  }
}

/* ---- What the course writes. */
static const struct { const char *tensors, *text; } slides[] = {
  { "x[5] y[5]", "z = x[I] y[I]" },
  { "W[3,5] x[5]", "y[i] = W[i,J] x[J]" },
  { "B[4,3] C[4,5]", "A[i,j] = B[K,i] C[K,j]" },
  { "x[5] y[4]", "z[i,j] = x[i] y[j]" },
  { "x y", "u = x^2\nv = y^2\nr = u + v\nL = sqrt(r)" },
  { "x[b,5] W[3,5]", "y[b,i] = tanh( W[i,J] x[b,J] )" },
  { "x[b,5]", "h[b,j] = sig( W0[j,I] x[b,I] - C0[j] ) | j<4" },
  { "s[b,4] y[b]=4", "P[b,k] = softmax_k s[b,k]\nloss[b] = -ln P[b,y[b]]\n"
    "L = (1/B) sum_b loss[b]" },
  { "s[b,4]", "Z[b] += exp(s[b,j])\np[b,j] = exp(s[b,j])/Z[b]" },
  { "x[b,2] a", "g[b] = sig(100 (x[b,0] + x[b,1] - 1.5) / 50) a" },
  { "Phi[4] x[4] y", "L = (Phi[J] x[J] - y)^2" },
  { "x[b,6,6,2]", "L'[b,x,y,j] = σ( W[DX,DY,I,j] x[b,x+DX,y+DY,I] − B[j] )"
    " | DX<3, DY<3, j<4" },
  { "L[b,4,4,2]", "Lp[b,x+1,y+1,i] = L[b,x,y,i]" },
  { "L[b,4,4,2]", "Lp[b,x,y,i] = L[b,x-1,y-1,i] | x<6, y<6" },
  { "L[b,6,6,2] W[2,2,2,3]", "M[b,x,y,j] = W[DX,DY,I,j] L[b,2*x+DX,2*y+DY,I]" },
  { "x[b,6,6,2]", "L'[b,x,y,i] = max_{dx,dy} x[b,2*x+dx,2*y+dy,i] | dx<2, dy<2" },
  { "x[b,6,6,2]", "L'[b,x,y,i] = (1/4) sum_{dx,dy} x[b,2*x+dx,2*y+dy,i] | dx<2, dy<2" },
  { "L[b,6,6,2]", "M[b,x,y,dx,dy,i] = L[b,x+dx,y+dy,i] | dx<3, dy<3\n"
    "O[b,x,y,j] = M[b,x,y,DX,DY,I] W[(DX,DY,I),j] | j<4" },
  { "L[b,3,3,2]", "M[b,(x,y,c)] = L[b,x,y,c]" },
  { "L[4,4,3]", "M[x,y,n] = 1/4 (L[2x,2y,n] + L[2x+1,2y,n] + L[2x,2y+1,n] + L[2x+1,2y+1,n])" },
  { "x[3,3,2] W[2,2,4,2]", "L'[2*x+DX,2*y+DY,i] = W[DX,DY,i,J] x[x,y,J]" },
  { "L[4,4,2] G[2,2,3]", "h[x,y,J+K] = L[x,y,J] ; G[floor(x/2),floor(y/2),K]" },
  { "A[b,3] C[b,2]", "L'[b,J+K] = A[b,J] ; C[b,K]" },
  { "A[b,3] C[b,3]", "L'[b,2J] = A[b,J] ; C[b,J]" },
  { "w[b,4]=7", "x[b,t,j] = e[w[b,t],j] | w<7, j<5" },
  { "w[b,6]=7 e[7,3]", "L1[b,t,i] = sig( W[DT,J,i] e[w[b,2t+DT],J] - B[i] ) | DT<2, i<4" },
  { "x[b,4,3]", "h[b,t,j] = σ( Whh[j,I] h[b,t-1,I] + Wxh[j,K] x[b,t,K] - B[j] ) | j<5" },
  { "x[b,4,3] z[b,5]", "h[b,-1,j] = z[b,j]\n"
    "h[b,t,j] = tanh( Whh[j,I] h[b,t-1,I] + Wxh[j,K] x[b,t,K] - B[j] )" },
  { "x[b,4,3]", "h[b,t,j] = tanh( V[j,I] h[b,t+1,I] + W[j,K] x[b,t,K] ) | j<3" },
  { "W[4,3,3] z[3]", "x[0,i] = z[i]\nx[t+1,i] = W[t,i,J] x[t,J] | t<4" },
  { "x[b,4]", "h[l,b,j] = tanh(W[l,j,I] h[l-1,b,I]) | l<3\nh[-1,b,j] = x[b,j]" },
  { "x[3,4]", "h[l,t,j] = tanh(A[l,j,I] h[l-1,t,I] + C[l,j,I] h[l,t-1,I]) | l<2\n"
    "h[-1,t,j] = x[t,j]" },
  { "x[b,3,4]", "G[b,t,j] = σ(Wg[j,I] h[b,t-1,I] + Vg[j,K] x[b,t,K] - Bg[j]) | j<3\n"
    "R[b,t,j] = tanh(Wr[j,I] h[b,t-1,I] + Vr[j,K] x[b,t,K] - Br[j])\n"
    "h[b,t,j] = G[b,t,j] h[b,t-1,j] + (1 - G[b,t,j]) R[b,t,j]" },
  { "e[6,3] h[b,4,3]", "P[b,t,w] = softmax_w e[w,I] h[b,t,I]\n"
    "H = -sum_{b,t,w} P[b,t,w] ln P[b,t,w]" },
  { "P[6,5] y[3]=5", "F[0,0] = 1\nF[n,t] = P[t,0] F[n,t-1] + P[t,y[n]] F[n-1,t-1] | n<3\n"
    "loss = -ln F[2,5]" },
  { "L[b,4,6]", "Q[b,k,t,i] = WQ[k,i,J] L[b,t,J] | k<2, i<3\n"
    "K[b,k,t,i] = WK[k,i,J] L[b,t,J] | k<2, i<3\n"
    "V[b,k,t,i] = WV[k,i,J] L[b,t,J] | k<2, i<3\n"
    "α[b,k,t1,t2] = softmax_t2 (1/sqrt I) Q[b,k,t1,I] K[b,k,t2,I] | t2<=t1\n"
    "H[b,k,t,i] = α[b,k,t,T] V[b,k,T,i]\nL'[b,t,j] = W0[j,(K,I)] H[b,K,t,I] | j<6" },
  { "al[2,3,4,4]", "u = (1/(K T1 (L-1))) sum_{k,t1,l} min(3, sum_t2 al[l,k,t1,t2] (t1-t2)^2)" },
  { "x[b,4]", "mu[j] = (1/B) x[B,j]\ns[j] = (1/(B-1)) sum_b (x[b,j]-mu[j])^2\n"
    "x'[b,j] = (x[b,j]-mu[j])/sqrt(s[j])" },
  { "x[b,4]", "m[b] = mean_i x[b,i]\nv[b] = variance_i x[b,i]\n"
    "y[b,i] = A[i] (x[b,i] - m[b]) / sqrt(v[b] + 1e-5) + B[i]" },
  { "x[b,6]", "y[b,i] = normalize_i(x[b,i], 1e-3)" },
  { "x[b,4] m[4]", "y[b,i] = tanh( W[i,J] m[J] x[b,J] ) | i<3" },
  { "mu[b,4] sg[b,4] eps[b,4]", "z[b,i] = mu[b,i] + sg[b,i] eps[b,i]\n"
    "KL = 1/2 sum_{b,i} (z[b,i]^2 + sg[b,i]^2 - 1 - ln sg[b,i]^2)" },
  { "L[2,2,4] C[6,4]", "k[x,y] = argmin_k sum_i (L[x,y,i] - C[k,i])^2\n"
    "h[x,y,i] = C[k[x,y],i] L[x,y,i]" },
  { "sN[3,4] sE[4,4]", "Z[0,y] = exp(sN[0,y])\n"
    "Z[t,y] = exp(sN[t,y]) sum_c Z[t-1,c] exp(sE[c,y])\nlnZ = ln sum_y Z[2,y]" },
  { "s[b,4]", "L[b] = ln sum_j exp(s[b,j])" },
  { "v[5] a[5]=3", "o[a[i]] += v[i] | a<3\nz = o[I] o[I]" },
  { "x[b,5]", "y[b] = sum_i 1[x[b,i] > 0.5] x[b,i]" },
  { "x[5]", "c[t] = sum_s x[s]^2 | s<=t, t<5" },
  { "x[5]", "c[t] = mean_s x[s] | s<=t, t<5\ny = c[1] + c[4]" },
  { "x[5]", "c[t] = max_s x[s] | s<=t, t<5" },
  { "x[5] y[5]", "A[i,j] = x[i] y[j] | j<=i" },
  { "y[4,5] mu[5]", "z[k,t] = B[k,I] (y[t,I] − mu[I]) | k<3" },
  { "s[b,4] W[4,2]", "y[b,j] += W[i,j] s[b,i]\ny[b,j] -= W[0,j] s[b,0]\nz[b] = y[b,J] y[b,J]" },
  { "s[3,4] W[4,2]", "for b,i,j: y[b,j] += W[i,j] s[b,i]" },
  { "s[b,4]", "y[b,j] = s[b,j] / sum_k s[b,k]^2" },
  { "s[b,4]", "y[b] = (sum_k s[b,k]^2)^(1/2)" },
  { "x[b,6]", "y[b] = min_i x[b,i] + max(x[b,0], 0.5) abs(x[b,1] - 2)" },
  { "x[b,3] z[b,3]", "y[b,i] = exp(x[b,i]) sin x[b,i] + cos(z[b,i]) x[b,i]^3" },
  { "x[b,3]", "y[b,i] = relu(x[b,i] - 0.2) gelu(x[b,i]) softplus(x[b,i])   # a comment\n"
    "z[b,i] = y[b,i]\n  + x[b,i]\n  - 1" },
};

#endif
