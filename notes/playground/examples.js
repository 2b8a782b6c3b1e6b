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
];
