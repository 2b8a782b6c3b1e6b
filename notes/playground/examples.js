// The texts to begin with. `data` is a built-in data set, or empty for a text that only prints.
const examples = [
  { name: 'MLP', data: 'spirals', rate: 0.05, batch: 50, rule: 'adam', text:
`input x[b,2], y[b]
h[b,j] = tanh(W[j,I] x[b,I] - B[j])   | j<24
g[b,k] = tanh(U[k,J] h[b,J] - C[k])   | k<16
P[b,k] = softmax_k V[k,J] g[b,J]      | k<2
loss[b] = -ln P[b,y[b]]
` },
  { name: 'XOR', data: 'xor', rate: 0.5, batch: 4, rule: 'sgd', text:
`input x[b,2], y[b]
h[b,j] = tanh(W[j,I] x[b,I] - B[j])   | j<8
P[b,k] = softmax_k V[k,J] h[b,J]      | k<2
loss[b] = -ln P[b,y[b]]
` },
  { name: 'A curve', data: 'curve', rate: 0.01, batch: 20, rule: 'adam', text:
`input x[b,1], y[b]
h[b,j] = tanh(W[j,I] x[b,I] - B[j])   | j<24
f[b] = V[J] h[b,J]
loss[b] = (f[b] - y[b])^2
` },
  { name: 'Convolution', data: 'digits', rate: 0.01, batch: 32, rule: 'adam', text:
`input x[b,8,8], y[b]
h[b,i,j,c] = relu(W[DI,DJ,c] x[b,i+DI,j+DJ] - B[c])   | DI<3, DJ<3, c<6
m[b,i,j,c] = max_{DI<2,DJ<2} h[b,2*i+DI,2*j+DJ,c]
P[b,k] = softmax_k (V[k,I,J,C] m[b,I,J,C] - A[k])     | k<10
loss[b] = -ln P[b,y[b]]
` },
  { name: 'Batch normalisation', data: 'digits', rate: 0.01, batch: 32, rule: 'adam', text:
`input x[b,64], y[b]
s[b,j] = W[j,I] x[b,I]                          | j<24
m[j] = mean_b s[b,j]
v[j] = variance_b s[b,j]
n[b,j] = (s[b,j] - m[j]) / sqrt(v[j] + 1e-5)
h[b,j] = relu(G[j] n[b,j] + B[j])
P[b,k] = softmax_k (V[k,J] h[b,J] - A[k])       | k<10
loss[b] = -ln P[b,y[b]]
` },
  { name: 'LSTM', data: 'names', rate: 0.01, batch: 16, rule: 'adam', text:
`input x[b,8], y[b,8]
e[b,t,i] = E[x[b,t],i]                                       | x<27, i<12
f[b,t,j] = sigmoid(Wf[j,I] e[b,t,I] + Uf[j,K] h[b,t-1,K] + Bf[j])   | j<24
i[b,t,j] = sigmoid(Wi[j,I] e[b,t,I] + Ui[j,K] h[b,t-1,K] + Bi[j])
o[b,t,j] = sigmoid(Wo[j,I] e[b,t,I] + Uo[j,K] h[b,t-1,K] + Bo[j])
r[b,t,j] = tanh(Wr[j,I] e[b,t,I] + Ur[j,K] h[b,t-1,K] + Br[j])
c[b,t,j] = f[b,t,j] c[b,t-1,j] + i[b,t,j] r[b,t,j]
h[b,t,j] = o[b,t,j] tanh(c[b,t,j])
P[b,t,k] = softmax_k V[k,J] h[b,t,J]                         | k<27
loss[b,t] = -ln P[b,t,y[b,t]]
` },
  { name: 'Attention', data: 'names', rate: 0.01, batch: 16, rule: 'adam', text:
`input x[b,8], y[b,8]
e[b,t,i] = E[x[b,t],i] + A[t,i]                    | x<27, i<16
q[b,t,d] = WQ[d,I] e[b,t,I]                        | d<8
k[b,t,d] = WK[d,I] e[b,t,I]                        | d<8
v[b,t,d] = WV[d,I] e[b,t,I]                        | d<8
p[b,t,s] = softmax_s (q[b,t,D] k[b,s,D] / sqrt(D)) | s<=t
o[b,t,d] = p[b,t,S] v[b,S,d]
P[b,t,k] = softmax_k V[k,D] o[b,t,D]               | k<27
loss[b,t] = -ln P[b,t,y[b,t]]
` },
  { name: 'GPT of one block', data: 'names', rate: 0.005, batch: 16, rule: 'adam', text:
`input x[b,8], y[b,8]
e[b,t,i] = E[x[b,t],i] + A[t,i]                        | x<27, i<16
n[b,t,i] = G[i] normalize_i e[b,t,i] + H[i]
q[b,t,h,d] = WQ[h,d,I] n[b,t,I]                        | h<2, d<8
k[b,t,h,d] = WK[h,d,I] n[b,t,I]                        | h<2, d<8
v[b,t,h,d] = WV[h,d,I] n[b,t,I]                        | h<2, d<8
p[b,h,t,s] = softmax_s (q[b,t,h,D] k[b,s,h,D] / sqrt(D)) | s<=t
o[b,t,h,d] = p[b,h,t,S] v[b,S,h,d]
r[b,t,i] = e[b,t,i] + WO[i,H,D] o[b,t,H,D]
m[b,t,j] = gelu(U[j,I] r[b,t,I] + B[j])                | j<32
z[b,t,i] = r[b,t,i] + D[i,J] m[b,t,J]
P[b,t,k] = softmax_k V[k,I] z[b,t,I]                   | k<27
loss[b,t] = -ln P[b,t,y[b,t]]
` },
  // the ten of the page "What papers write"
  { name: 'Experts, as in Switch', data: 'spirals', rate: 0.02, batch: 50, rule: 'adam', text:
`input x[b,2], y[b]
p[b,e] = softmax_e (G[e,I] x[b,I] - A[e])                | e<4
k[b] = argmax_e p[b,e]
h[b,j] = p[b,k[b]] tanh(W[k[b],j,I] x[b,I] - B[k[b],j])   | k<4, j<8
P[b,c] = softmax_c V[c,J] h[b,J]                          | c<2
loss[b] = -ln P[b,y[b]]
` },
  { name: 'Focal loss', data: 'digits', rate: 0.01, batch: 32, rule: 'adam', text:
`input x[b,64], y[b]
h[b,j] = relu(W[j,I] x[b,I] - B[j])                       | j<24
P[b,k] = softmax_k V[k,J] h[b,J]                          | k<10
loss[b] = -(1 - P[b,y[b]])^softplus(g[y[b]]) ln P[b,y[b]]  | y<10
` },
  { name: 'Names of different lengths', data: 'names', rate: 0.01, batch: 16, rule: 'adam', text:
`input x[b,8], y[b,8]
n[b] = 1 + sum_t 1[y[b,t] > 0]
e[b,t,i] = E[x[b,t],i]                                    | x<27, i<16
h[b,t,j] = tanh(W[j,K] h[b,t-1,K] + U[j,I] e[b,t,I] - B[j]) | j<24
P[b,t,k] = softmax_k V[k,J] h[b,t,J]                      | k<27
loss[b] = mean_t -ln P[b,t,y[b,t]]                        | t<n[b]
` },
  { name: 'Grouped queries and a window', data: 'names', rate: 0.01, batch: 16, rule: 'adam', text:
`input x[b,8], y[b,8]
e[b,t,i] = E[x[b,t],i] + A[t,i]                           | x<27, i<16
q[b,t,h,d] = WQ[h,d,I] e[b,t,I]                           | h<4, d<4
k[b,t,g,d] = WK[g,d,I] e[b,t,I]                           | g<2, d<4
v[b,t,g,d] = WV[g,d,I] e[b,t,I]                           | g<2, d<4
p[b,h,t,s] = softmax_s (q[b,t,h,D] k[b,s,floor(h/2),D] / sqrt(D)) | s<=t, t-4<s
o[b,t,h,d] = p[b,h,t,S] v[b,S,floor(h/2),d]
P[b,t,c] = softmax_c V[c,H,D] o[b,t,H,D]                  | c<27
loss[b,t] = -ln P[b,t,y[b,t]]
` },
  { name: 'Rotary positions', data: 'names', rate: 0.01, batch: 16, rule: 'adam', text:
`input x[b,8], y[b,8]
e[b,t,i] = E[x[b,t],i]                                    | x<27, i<16
q[b,t,d,c] = WQ[d,c,I] e[b,t,I]                           | d<4, c<2
k[b,t,d,c] = WK[d,c,I] e[b,t,I]                           | d<4, c<2
v[b,t,j] = WV[j,I] e[b,t,I]                               | j<8
a[t,s,d] = (t - s) 100^(-d/D)                             | t<8, s<8, d<4
u[b,t,s,d] = (q[b,t,d,0] k[b,s,d,0] + q[b,t,d,1] k[b,s,d,1]) cos(a[t,s,d])
w[b,t,s,d] = (q[b,t,d,0] k[b,s,d,1] - q[b,t,d,1] k[b,s,d,0]) sin(a[t,s,d])
p[b,t,s] = softmax_s sum_d (u[b,t,s,d] + w[b,t,s,d])      | s<=t
o[b,t,j] = p[b,t,S] v[b,S,j]
P[b,t,c] = softmax_c V[c,J] o[b,t,J]                      | c<27
loss[b,t] = -ln P[b,t,y[b,t]]
` },
  { name: 'Mamba', data: 'names', rate: 0.01, batch: 16, rule: 'adam', text:
`input x[b,8], y[b,8]
e[b,t,i] = E[x[b,t],i]                                    | x<27, i<12
d[b,t,i] = softplus(D[i,J] e[b,t,J] + A[i])               | i<12
u[b,t,n] = U[n,I] e[b,t,I]                                | n<4
c[b,t,n] = C[n,I] e[b,t,I]                                | n<4
h[b,t,i,n] = exp(-d[b,t,i] exp(R[i,n])) h[b,t-1,i,n] + d[b,t,i] u[b,t,n] e[b,t,i]
z[b,t,i] = c[b,t,N] h[b,t,i,N] + G[i] e[b,t,i]
P[b,t,k] = softmax_k V[k,I] z[b,t,I]                      | k<27
loss[b,t] = -ln P[b,t,y[b,t]]
` },
  { name: 'SwiGLU and RMSNorm', data: 'spirals', rate: 0.01, batch: 50, rule: 'adam', text:
`input x[b,2], y[b]
h[b,j] = W[j,I] x[b,I] - A[j]                             | j<16
n[b,j] = G[j] h[b,j] / sqrt(mean_k h[b,k]^2 + 1e-5)
m[b,l] = silu(U[l,J] n[b,J]) (V[l,K] n[b,K])              | l<32
r[b,j] = h[b,j] + D[j,L] m[b,L]
P[b,c] = softmax_c Y[c,J] r[b,J]                          | c<2
loss[b] = -ln P[b,y[b]]
` },
  { name: 'SIREN', data: 'curve', rate: 0.005, batch: 20, rule: 'adam', text:
`input x[b,1], y[b]
h[b,j] = sin(3 (W[j,I] x[b,I] - B[j]))                    | j<16
g[b,k] = sin(U[k,J] h[b,J] - C[k])                        | k<16
f[b] = V[K] g[b,K]
loss[b] = (f[b] - y[b])^2
` },
  { name: 'KAN', data: 'curve', rate: 0.02, batch: 20, rule: 'adam', text:
`input x[b,1], y[b]
h[b,j] = sum_g W[j,I,g] exp(-4 (x[b,I] - g/2 + 2)^2)      | j<4, g<9
f[b] = sum_g V[J,g] exp(-4 (h[b,J] - g/2 + 2)^2)          | g<9
loss[b] = (f[b] - y[b])^2
` },
  { name: 'VQ-VAE', data: 'digits', rate: 0.01, batch: 32, rule: 'adam', text:
`input x[b,64], y[b]
z[b,j] = W[j,I] x[b,I] - A[j]                             | j<8
k[b] = argmin_c sum_j (z[b,j] - E[c,j])^2                 | c<16, j<8
q[b,j] = z[b,j] + stop(E[k[b],j] - z[b,j])                | k<16
r[b,i] = V[i,J] q[b,J] - B[i]                             | i<64
c[b] = sum_j ((stop(z[b,j]) - E[k[b],j])^2 + 0.25 (z[b,j] - stop(E[k[b],j]))^2)
loss[b] = mean_i (r[b,i] - x[b,i])^2 + 0.1 c[b]
` },
];
