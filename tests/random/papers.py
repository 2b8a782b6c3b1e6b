"""Equations of papers as texts, against plain loops by the numbers of reference.py: values and all
gradients. Each entry has its source, its tensors, its text, and a function that computes the last
line from the entries of the tensors.

    python3 papers.py PROGRAM double|float              PROGRAM: run.c, built with this EDF_REAL

In double a number must agree to 1e-11 of its error bound, and in float to 3e-4."""
import itertools
import math
import re
import sys

import reference
from reference import (INF, Case, Number, Tensors, absolute, exp, greatest, ln, ln_sum_exp,
                       log_softmax, mean, number, of, power, product, relu, report, sigmoid, sin,
                       smaller, softmax, softplus, sqrt, tanh, total)

CASES = []


def paper(source, tensors, text):
    """Adds an equation. `tensors` is a list "x[2,3], y[2] = 0 1": entries that are not given are
    those of Tensors."""
    def add(right):
        t, entries = Tensors(), []
        each = re.findall(r'(\w+)(?:\[([\d,]+)\])?(?: = ([-\d. e]+))?', tensors)
        for name, sizes, values in each:
            dims = [int(n) for n in sizes.split(',')] if sizes else []
            entry = t.new(name, *dims, values=[float(v) for v in values.split()] or None)
            entries.append(entry if sizes else entry())
        case = Case(t, text, right(*entries), kind=source)
        CASES.append(case)
        return right
    return add


def over(*sizes):
    return itertools.product(*map(range, sizes))


def cos(x):
    return sin(number(x) + math.pi / 2)


def erf(x):
    slope = 2 / math.sqrt(math.pi) * math.exp(-x.value ** 2)
    return of(x, math.erf(x.value), slope, slope * (1 + 2 * abs(x.value) * x.error))


def silu(x):
    return x * sigmoid(x)


def clamp(x, lo, hi):
    return x if lo <= x.value <= hi else number(lo if x.value < lo else hi)


def norm(v):
    return sqrt(total([x * x for x in v]))


def variance(v):
    m = mean(v)
    return mean([(x - m) * (x - m) for x in v])


def std(v):
    return sqrt(variance(v))


def stop(x):
    return number(x.value)


def klass(x):
    return int(x.value)


def dot(a, b):
    return total([x * y for x, y in zip(a, b)])


def best(v, sign=1):
    return max(range(len(v)), key=lambda k: sign * v[k].value)


# ---- Attention
@paper('Vaswani 2017, Attention is all you need, eq. 1', 'q[3,2], k[3,2], v[3,2]',
       'P[t,s] = softmax_s (1/sqrt J) q[t,J] k[s,J] | s<=t\no[t,j] = P[t,S] v[S,j]')
def attention(q, k, v):
    P = [softmax([dot([q(t, 0), q(t, 1)], [k(s, 0), k(s, 1)]) * 2 ** -.5 for s in range(t + 1)])
         for t in range(3)]
    return [total([p * v(s, j) for s, p in enumerate(P[t])]) for t, j in over(3, 2)]


@paper('Su 2021, RoFormer, eq. 34', 'q[3,2,2], k[3,2,2]',
       'a[t,i] = t 100^(-i/I) | t<3, i<2\n'
       'p[t,i,J] = q[t,i,0] cos(a[t,i]) - q[t,i,1] sin(a[t,i]) | J<1\n'
       'r[t,i,J+K] = p[t,i,J] ; q[t,i,0] sin(a[t,i]) + q[t,i,1] cos(a[t,i]) | K<1\n'
       'u[s,i,J+K] = k[s,i,0] cos(a[s,i]) - k[s,i,1] sin(a[s,i]) ; '
       'k[s,i,0] sin(a[s,i]) + k[s,i,1] cos(a[s,i]) | J<1, K<1\n'
       'w[t,s] = r[t,I,C] u[s,I,C]')
def rotary(q, k):
    def turned(x, t, i):
        a = t * 100 ** (-i / 2)
        return [x(t, i, 0) * math.cos(a) - x(t, i, 1) * math.sin(a),
                x(t, i, 0) * math.sin(a) + x(t, i, 1) * math.cos(a)]
    return [total([dot(turned(q, t, i), turned(k, s, i)) for i in range(2)])
            for t, s in over(3, 3)]


@paper('Ainslie 2023, Grouped-query attention, fig. 2', 'q[3,4,2], k[3,2,2], v[3,2,2]',
       'P[t,h,s] = softmax_s q[t,h,J] k[s,floor(h/2),J] | h<4, s<=t\n'
       'o[t,h,j] = P[t,h,S] v[S,floor(h/2),j]')
def grouped(q, k, v):
    result = []
    for t, h, j in over(3, 4, 2):
        p = softmax([dot([q(t, h, i) for i in (0, 1)], [k(s, h // 2, i) for i in (0, 1)])
                     for s in range(t + 1)])
        result.append(total([p[s] * v(s, h // 2, j) for s in range(t + 1)]))
    return result


@paper('Press 2022, ALiBi, sec. 3', 'a[2,3,3], m[2], v[3]',
       'P[h,t,s] = softmax_s (a[h,t,s] - m[h] (t - s)) | s<=t\no[h,t] = P[h,t,S] v[S]')
def alibi(a, m, v):
    return [dot(softmax([a(h, t, s) - m(h) * (t - s) for s in range(t + 1)]),
                [v(s) for s in range(t + 1)]) for h, t in over(2, 3)]


@paper('Beltagy 2020, Longformer, sec. 3.1', 'a[4,4], v[4]',
       'P[t,s] = softmax_s a[t,s] | s<=t, t-2<s\no[t] = P[t,S] v[S]')
def window(a, v):
    inside = [range(max(0, t - 1), t + 1) for t in range(4)]
    return [dot(softmax([a(t, s) for s in inside[t]]), [v(s) for s in inside[t]])
            for t in range(4)]


@paper('Vaswani 2017, padded sequences, sec. 3.1', 'a[2,3,3], v[2,3], n[2] = 2 3',
       'P[b,t,s] = softmax_s a[b,t,s] | s<n[b]\no[b,t] = P[b,t,S] v[b,S] | t<n[b], S<n[b]')
def padded(a, v, n):
    result = []
    for b, t in over(2, 3):
        m = klass(n(b))
        p = softmax([a(b, t, s) for s in range(m)])
        result.append(dot(p, [v(b, s) for s in range(m)]) if t < m else 0.0)
    return result


@paper('Henry 2020, Query-key normalization, eq. 1', 'q[3,2], k[3,2], g',
       'w[t,s] = g q[t,J] k[s,J] / (norm_j(q[t,j]) norm_j(k[s,j]))')
def key_norm(q, k, g):
    return [g * dot([q(t, 0), q(t, 1)], [k(s, 0), k(s, 1)]) /
            (norm([q(t, 0), q(t, 1)]) * norm([k(s, 0), k(s, 1)])) for t, s in over(3, 3)]


@paper('Katharopoulos 2020, Transformers are RNNs, eq. 5 and 7', 'q[3,2], k[3,2], v[3]',
       'f[t,j] = where(q[t,j] > 0, q[t,j] + 1, exp(q[t,j]))\n'
       'g[t,j] = where(k[t,j] > 0, k[t,j] + 1, exp(k[t,j]))\n'
       'Z[t] = sum_s f[t,J] g[s,J] | s<=t\n'
       'o[t] = (sum_s f[t,J] g[s,J] v[s]) / Z[t] | s<=t')
def linear_attention(q, k, v):
    def elu(x):
        return x + 1 if x.value > 0 else exp(x)
    result = []
    for t in range(3):
        w = [dot([elu(q(t, j)) for j in (0, 1)], [elu(k(s, j)) for j in (0, 1)])
             for s in range(t + 1)]
        result.append(dot(w, [v(s) for s in range(t + 1)]) / total(w))
    return result


@paper('Sun 2023, Retentive network, eq. 5', 'q[3,2], k[3,2], v[3]',
       'o[t] = sum_s 0.9^(t-s) q[t,J] k[s,J] v[s] | s<=t')
def retention(q, k, v):
    return [total([dot([q(t, 0), q(t, 1)], [k(s, 0), k(s, 1)]) * v(s) * .9 ** (t - s)
                   for s in range(t + 1)]) for t in range(3)]


@paper('Bahdanau 2015, Neural machine translation, eq. 6', 'W[2,2], U[2,2], s[2], h[3,2], v[2]',
       'e[t] = v[K] tanh(W[K,I] s[I] + U[K,I] h[t,I])\n'
       'a[t] = softmax_t e[t]\nc[i] = a[T] h[T,i]')
def additive(W, U, s, h, v):
    e = [total([v(k) * tanh(total([W(k, i) * s(i) + U(k, i) * h(t, i) for i in (0, 1)]))
                for k in (0, 1)]) for t in range(3)]
    a = softmax(e)
    return [total([a[t] * h(t, i) for t in range(3)]) for i in (0, 1)]


@paper('Ilse 2018, Attention-based deep multiple instance learning, eq. 9',
       'h[2,3,2], V[2,2], U[2,2], w[2], n[2] = 3 2',
       'a[b,k] = softmax_k w[L] tanh(V[L,I] h[b,k,I]) sigmoid(U[L,I] h[b,k,I]) | k<n[b]\n'
       'z[b,i] = a[b,K] h[b,K,i]')
def gated_pool(h, V, U, w, n):
    result = []
    for b, i in over(2, 2):
        m = klass(n(b))
        a = softmax([total([w(l) * tanh(dot([V(l, 0), V(l, 1)], [h(b, k, 0), h(b, k, 1)])) *
                            sigmoid(dot([U(l, 0), U(l, 1)], [h(b, k, 0), h(b, k, 1)]))
                            for l in (0, 1)]) for k in range(m)])
        result.append(dot(a, [h(b, k, i) for k in range(m)]))
    return result


# ---- Layers
@paper('Zhang 2019, Root mean square layer normalization, eq. 4', 'x[2,3], g[3]',
       'y[b,i] = g[i] x[b,i] / sqrt(mean_j x[b,j]^2 + 1e-5)')
def rms_norm(x, g):
    return [g(i) * x(b, i) / sqrt(mean([x(b, j) ** 2 for j in range(3)]) + 1e-5)
            for b, i in over(2, 3)]


@paper('Shazeer 2020, GLU variants, eq. 5', 'x[2,3], W[2,3], V[2,3]',
       'y[b,j] = silu(W[j,I] x[b,I]) (V[j,J] x[b,J])')
def swiglu(x, W, V):
    return [silu(dot([W(j, i) for i in range(3)], [x(b, i) for i in range(3)])) *
            dot([V(j, i) for i in range(3)], [x(b, i) for i in range(3)]) for b, j in over(2, 2)]


@paper('Hendrycks 2016, Gaussian error linear units, sec. 2', 'x[5]',
       'y[i] = 1/2 x[i] (1 + erf(x[i] / sqrt(2)))')
def gelu(x):
    return [x(i) * (1 + erf(x(i) * 2 ** -.5)) * .5 for i in range(5)]


@paper('Hu 2022, LoRA, eq. 3', 'x[3], W[2,3], A[2,3], C[2,2]',
       'h[j] = W[j,I] x[I] + 8/2 C[j,R] (A[R,I] x[I])')
def lora(x, W, A, C):
    v = [x(i) for i in range(3)]
    a = [dot([A(r, i) for i in range(3)], v) for r in (0, 1)]
    return [dot([W(j, i) for i in range(3)], v) + dot([C(j, 0), C(j, 1)], a) * 4 for j in (0, 1)]


@paper('Misra 2020, Mish, eq. 1', 'x[4]', 'y[i] = x[i] tanh(softplus(x[i]))')
def mish(x):
    return [x(i) * tanh(softplus(x(i))) for i in range(4)]


@paper('Hu 2018, Squeeze-and-excitation networks, eq. 2 to 4', 'x[2,2,2], W[2,2], V[2,2]',
       'z[c] = mean_{u,v} x[c,u,v]\ns[c] = sigmoid(V[c,K] relu(W[K,D] z[D]))\n'
       'y[c,u,v] = s[c] x[c,u,v]')
def squeeze(x, W, V):
    z = [mean([x(c, u, v) for u, v in over(2, 2)]) for c in (0, 1)]
    r = [relu(W(k, 0) * z[0] + W(k, 1) * z[1]) for k in (0, 1)]
    s = [sigmoid(V(c, 0) * r[0] + V(c, 1) * r[1]) for c in (0, 1)]
    return [s[c] * x(c, u, v) for c, u, v in over(2, 2, 2)]


@paper('Huang 2017, Arbitrary style transfer, eq. 8', 'x[2,4], y[2,3]',
       'z[c,i] = std_k(y[c,k]) (x[c,i] - mean_j x[c,j]) / std_j(x[c,j]) + mean_k y[c,k]')
def adain(x, y):
    X, Y = [[x(c, i) for i in range(4)] for c in (0, 1)], [[y(c, i) for i in range(3)]
                                                          for c in (0, 1)]
    return [std(Y[c]) * (X[c][i] - mean(X[c])) / std(X[c]) + mean(Y[c]) for c, i in over(2, 4)]


@paper('Sitzmann 2020, SIREN, eq. 5', 'x[2,2], W[3,2], c[3]',
       'y[b,j] = sin(30 (W[j,I] x[b,I] + c[j]))')
def siren(x, W, c):
    return [sin((dot([W(j, 0), W(j, 1)], [x(b, 0), x(b, 1)]) + c(j)) * 30)
            for b, j in over(2, 3)]


@paper('Tancik 2020, Fourier features, sec. 4', 'x[2,2], F[3,2]',
       'a[b,m] = 6.283185307179586 F[m,I] x[b,I]\n'
       'g[b,J+K] = cos(a[b,J]) ; sin(a[b,K])')
def fourier(x, F):
    a = [[dot([F(m, 0), F(m, 1)], [x(b, 0), x(b, 1)]) * 6.283185307179586 for m in range(3)]
         for b in (0, 1)]
    return [f(a[b][m]) for b in (0, 1) for f in (cos, sin) for m in range(3)]


@paper('Liu 2024, KAN with radial functions, sec. 2', 'x[2,3], W[2,3,4], c[4]',
       'y[b,j] = W[j,I,G] exp(-(x[b,I] - c[G])^2)')
def kan(x, W, c):
    return [total([W(j, i, g) * exp(-power(x(b, i) - c(g), 2)) for i, g in over(3, 4)])
            for b, j in over(2, 2)]


@paper('Lin 2013, Network in network: maxout of Goodfellow 2013, eq. 1', 'x[2,3], W[2,2,3]',
       'y[b,j] = max_k W[j,k,I] x[b,I]')
def maxout(x, W):
    return [greatest([dot([W(j, k, i) for i in range(3)], [x(b, i) for i in range(3)])
                      for k in (0, 1)]) for b, j in over(2, 2)]


# ---- Recurrences
@paper('Gu 2023, Mamba, eq. 2 and algorithm 2', 'x[4,2], d[4,2], A[2,2], U[4,2], C[4,2]',
       'h[t,i,n] = exp(softplus(d[t,i]) A[i,n]) h[t-1,i,n] + softplus(d[t,i]) U[t,n] x[t,i]\n'
       'y[t,i] = C[t,N] h[t,i,N]')
def mamba(x, d, A, U, C):
    h, result = [[number(0)] * 2 for _ in (0, 1)], []
    for t in range(4):
        for i, n in over(2, 2):
            step = softplus(d(t, i))
            h[i][n] = exp(step * A(i, n)) * h[i][n] + step * U(t, n) * x(t, i)
        result += [dot([C(t, 0), C(t, 1)], h[i]) for i in (0, 1)]
    return result


@paper('Peng 2023, RWKV, eq. 16', 'k[4,2], v[4,2], w[2], u[2]',
       'p[t,j] = sum_s exp(k[s,j] - (t - 1 - s) w[j]) v[s,j] | s<t\n'
       'q[t,j] = sum_s exp(k[s,j] - (t - 1 - s) w[j]) | s<t\n'
       'y[t,j] = (p[t,j] + exp(u[j] + k[t,j]) v[t,j]) / (q[t,j] + exp(u[j] + k[t,j]))')
def rwkv(k, v, w, u):
    result = []
    for t, j in over(4, 2):
        e = [exp(k(s, j) - (t - 1 - s) * w(j)) for s in range(t)] + [exp(u(j) + k(t, j))]
        result.append(dot(e, [v(s, j) for s in range(t + 1)]) / total(e))
    return result


@paper('Schlag 2021, Linear transformers are fast weight programmers, eq. 24',
       'k[3,2], v[3,2], g[3], q[3,2]',
       'u[t,i] = v[t,i] - S[t-1,i,K] k[t,K]\n'
       'S[t,i,j] = S[t-1,i,j] + sigmoid(g[t]) u[t,i] k[t,j]\ny[t,i] = S[t,i,J] q[t,J]')
def delta(k, v, g, q):
    S, result = [[number(0)] * 2 for _ in (0, 1)], []
    for t in range(3):
        u = [v(t, i) - dot(S[i], [k(t, 0), k(t, 1)]) for i in (0, 1)]
        S = [[S[i][j] + sigmoid(g(t)) * u[i] * k(t, j) for j in (0, 1)] for i in (0, 1)]
        result += [dot(S[i], [q(t, 0), q(t, 1)]) for i in (0, 1)]
    return result


@paper('Beck 2024, xLSTM, eq. 8 to 10', 'i[4,2], f[4,2], z[4,2], o[4,2]',
       'c[t,j] = sigmoid(f[t,j]) c[t-1,j] + exp(i[t,j]) tanh(z[t,j])\n'
       'n[t,j] = sigmoid(f[t,j]) n[t-1,j] + exp(i[t,j])\n'
       'h[t,j] = sigmoid(o[t,j]) c[t,j] / n[t,j]')
def xlstm(i, f, z, o):
    c, n, result = [number(0)] * 2, [number(0)] * 2, []
    for t, j in over(4, 2):
        c[j] = sigmoid(f(t, j)) * c[j] + exp(i(t, j)) * tanh(z(t, j))
        n[j] = sigmoid(f(t, j)) * n[j] + exp(i(t, j))
        result.append(sigmoid(o(t, j)) * c[j] / n[j])
    return result


@paper('Feng 2024, Were RNNs all we needed, minGRU', 'x[4,2], W[2,2], V[2,2]',
       'z[t,j] = sigmoid(W[j,I] x[t,I])\nh[t,j] = (1 - z[t,j]) h[t-1,j] + z[t,j] (V[j,I] x[t,I])')
def min_gru(x, W, V):
    h, result = [number(0)] * 2, []
    for t, j in over(4, 2):
        z = sigmoid(dot([W(j, 0), W(j, 1)], [x(t, 0), x(t, 1)]))
        h[j] = (1 - z) * h[j] + z * dot([V(j, 0), V(j, 1)], [x(t, 0), x(t, 1)])
        result.append(h[j])
    return result


@paper('Sutskever 2014, the last step of padded sequences', 'x[2,3,2], W[2,2], n[2] = 1 3',
       'h[b,t,j] = tanh(W[j,I] h[b,t-1,I] + x[b,t,j])\ny[b,j] = h[b,n[b]-1,j]')
def last_step(x, W, n):
    result = []
    for b in (0, 1):
        h = [number(0)] * 2
        for t in range(klass(n(b))):
            h = [tanh(dot([W(j, 0), W(j, 1)], h) + x(b, t, j)) for j in (0, 1)]
        result += h
    return result


@paper('Chen 2018, Neural ordinary differential equations: Euler steps', 'z[2], W[2,2]',
       'h[-1,j] = z[j]\nh[t,j] = h[t-1,j] + 0.1 tanh(W[j,I] h[t-1,I]) | t<4')
def neural_ode(z, W):
    h, result = [z(0), z(1)], []
    for _ in range(4):
        h = [h[j] + tanh(dot([W(j, 0), W(j, 1)], h)) * .1 for j in (0, 1)]
        result += h
    return result


@paper('Cuturi 2017, Soft-DTW, eq. 2', 'x[3], y[3]',
       'd[i,j] = (x[i] - y[j])^2\nR[-1,-1] = 1\n'
       'R[i,j] = exp(-d[i,j]) (R[i-1,j-1] + R[i-1,j] + R[i,j-1])\nL = -ln R[2,2]')
def soft_dtw(x, y):
    R = {(-1, -1): number(1)}
    for i, j in over(3, 3):
        near = [R[c] for c in ((i - 1, j - 1), (i - 1, j), (i, j - 1)) if c in R]
        R[i, j] = exp(-power(x(i) - y(j), 2)) * total(near)
    return [-ln(R[2, 2])]


@paper('Cuturi 2013, Sinkhorn distances, algorithm 1', 'C[2,3], a[2] = 0.4 0.6, c[3] = 0.2 0.5 0.3',
       'u[-1,i] = 0\n'
       'v[n,j] = ln c[j] - logsumexp_i(u[n-1,i] - 2 C[i,j])\n'
       'u[n,i] = ln a[i] - logsumexp_j(v[n,j] - 2 C[i,j]) | n<3\n'
       'L = sum_{i,j} C[i,j] exp(u[2,i] + v[2,j] - 2 C[i,j])')
def sinkhorn(C, a, c):
    u = [number(0)] * 2
    for _ in range(3):
        v = [ln(c(j)) - ln_sum_exp([u[i] - C(i, j) * 2 for i in range(2)]) for j in range(3)]
        u = [ln(a(i)) - ln_sum_exp([v[j] - C(i, j) * 2 for j in range(3)]) for i in range(2)]
    return [total([C(i, j) * exp(u[i] + v[j] - C(i, j) * 2) for i, j in over(2, 3)])]


# ---- Preferences and policies
@paper('Rafailov 2023, Direct preference optimization, eq. 7', 'w[4], l[4], p[4], q[4]',
       'L = mean_b -ln sigmoid(0.1 (w[b] - p[b]) - 0.1 (l[b] - q[b]))')
def dpo(w, l, p, q):
    return [mean([-ln(sigmoid((w(b) - p(b)) * .1 - (l(b) - q(b)) * .1)) for b in range(4)])]


@paper('Azar 2023, Identity preference optimization, eq. 17', 'w[4], l[4], p[4], q[4]',
       'L = mean_b ((w[b] - p[b]) - (l[b] - q[b]) - 1/0.2)^2')
def ipo(w, l, p, q):
    return [mean([power((w(b) - p(b)) - (l(b) - q(b)) - 5, 2) for b in range(4)])]


@paper('Ethayarajh 2024, KTO, eq. 8', 'r[4], z, d[4] = 1 0 0 1',
       'L = mean_b where(d[b] > 0, 1 - sigmoid(r[b] - z), 1.5 (1 - sigmoid(z - r[b])))')
def kto(r, z, d):
    return [mean([1 - sigmoid(r(b) - z) if d(b).value > 0 else (1 - sigmoid(z - r(b))) * 1.5
                  for b in range(4)])]


@paper('Hong 2024, ORPO, eq. 4 to 6', 'w[3] = -0.2 -1 -0.6, l[3] = -0.5 -0.3 -2',
       'L = mean_b (-w[b] - 0.1 ln sigmoid(w[b] - l[b] - ln(-expm1(w[b])) + ln(-expm1(l[b]))))')
def orpo(w, l):
    return [mean([-w(b) - ln(sigmoid(w(b) - l(b) - ln(1 - exp(w(b))) + ln(1 - exp(l(b))))) * .1
                  for b in range(3)])]


@paper('Meng 2024, SimPO, eq. 6', 'w[2,3], l[2,3], n[2] = 2 3, m[2] = 3 1',
       'r[b] = mean_t w[b,t] | t<n[b]\nq[b] = mean_t l[b,t] | t<m[b]\n'
       'L[b] = -ln sigmoid(2 r[b] - 2 q[b] - 0.5)')
def simpo(w, l, n, m):
    return [-ln(sigmoid(mean([w(b, t) for t in range(klass(n(b)))]) * 2 -
                        mean([l(b, t) for t in range(klass(m(b)))]) * 2 - .5)) for b in (0, 1)]


@paper('Christiano 2017, Deep reinforcement learning from human preferences, eq. 1',
       'r[2,2,3], y[2] = 0 1', 'R[b,k] = sum_t r[b,k,t]\nP[b,k] = softmax_k R[b,k]\n'
       'L[b] = -ln P[b,y[b]]')
def preferences(r, y):
    return [-log_softmax([total([r(b, k, t) for t in range(3)]) for k in (0, 1)])[klass(y(b))]
            for b in (0, 1)]


@paper('Schulman 2017, Proximal policy optimization, eq. 7', 'n[4], o[4], A[4]',
       'r[b] = exp(n[b] - o[b])\nL = mean_b min(r[b] A[b], clamp(r[b], 0.8, 1.2) A[b])')
def ppo(n, o, A):
    r = [exp(n(b) - o(b)) for b in range(4)]
    return [mean([r[b] * A(b) if clamp(r[b], .8, 1.2) is r[b] else
                  smaller(r[b] * A(b), clamp(r[b], .8, 1.2) * A(b)) for b in range(4)])]


@paper('Shao 2024, DeepSeekMath: GRPO, eq. 3', 'r[2,3], l[2,3]',
       'A[q,i] = (r[q,i] - mean_j r[q,j]) / (std_j(r[q,j]) + 1e-4)\n'
       'L = -mean_{q,i} exp(l[q,i] - stop(l[q,i])) A[q,i]')
def grpo(r, l):
    rows = [[r(q, i) for i in range(3)] for q in (0, 1)]
    return [-mean([exp(l(q, i) - stop(l(q, i))) * (rows[q][i] - mean(rows[q])) /
                   (std(rows[q]) + 1e-4) for q, i in over(2, 3)])]


@paper('Schulman 2016, Generalized advantage estimation, eq. 16', 'r[4], V[5]',
       'd[t] = r[t] + 0.9 V[t+1] - V[t] | t<4\nA[t] = d[t] + 0.9 * 0.95 A[t+1]')
def gae(r, V):
    A, result = number(0), []
    for t in reversed(range(4)):
        A = r(t) + V(t + 1) * .9 - V(t) + A * .9 * .95
        result.insert(0, A)
    return result


@paper('Espeholt 2018, IMPALA: V-trace, eq. 1', 'r[3], V[4], p[3]',
       'c[t] = min(1, exp(p[t]))\nd[t] = c[t] (r[t] + 0.9 V[t+1] - V[t]) | t<3\n'
       'a[t] = d[t] + 0.9 c[t] a[t+1]\nv[t] = V[t] + a[t] | t<3')
def vtrace(r, V, p):
    a, result = number(0), []
    for t in reversed(range(3)):
        c = smaller(number(1), exp(p(t)))
        a = c * (r(t) + V(t + 1) * .9 - V(t)) + c * a * .9
        result.insert(0, V(t) + a)
    return result


@paper('van Hasselt 2016, Double Q-learning, eq. 4', 'Q[2,3], T[2,3], r[2], q[2]',
       'a[b] = argmax_k Q[b,k]\nL = mean_b (q[b] - stop(r[b] + 0.9 T[b,a[b]]))^2')
def double_q(Q, T, r, q):
    return [mean([power(q(b) - stop(r(b) + T(b, best([Q(b, k) for k in range(3)])) * .9), 2)
                  for b in (0, 1)])]


@paper('Haarnoja 2018, Soft actor-critic, eq. 21', 'u[2,3], l[2]',
       'L[b] = l[b] - sum_i log1p(-tanh(u[b,i])^2)')
def sac(u, l):
    return [l(b) - total([ln(1 - power(tanh(u(b, i)), 2)) for i in range(3)]) for b in (0, 1)]


@paper('Kumar 2020, Conservative Q-learning, eq. 4', 'Q[2,3], a[2] = 2 0',
       'L = mean_b (logsumexp_k(Q[b,k]) - Q[b,a[b]])')
def cql(Q, a):
    return [mean([ln_sum_exp([Q(b, k) for k in range(3)]) - Q(b, klass(a(b))) for b in (0, 1)])]


@paper('Dabney 2018, Quantile regression, eq. 8', 'y[3], q[3]',
       'd[b] = y[b] - q[b]\nL = sum_b max(0.7 d[b], -0.3 d[b])')
def quantile(y, q):
    d = [y(b) - q(b) for b in range(3)]
    return [total([greatest([x * .7, x * -.3]) for x in d])]


# ---- Contrast
@paper('Radford 2021, CLIP, fig. 3', 'x[3,2], y[3,2], t',
       's[i,j] = exp(t) x[i,K] y[j,K] / (norm_k(x[i,k]) norm_k(y[j,k]))\n'
       'P[i,j] = softmax_j s[i,j]\nQ[i,j] = softmax_i s[i,j]\n'
       'L = -1/2 mean_i (ln P[i,i] + ln Q[i,i])')
def clip(x, y, t):
    s = [[exp(t) * dot([x(i, 0), x(i, 1)], [y(j, 0), y(j, 1)]) /
          (norm([x(i, 0), x(i, 1)]) * norm([y(j, 0), y(j, 1)])) for j in range(3)]
         for i in range(3)]
    return [mean([log_softmax(s[i])[i] + log_softmax([s[j][i] for j in range(3)])[i]
                  for i in range(3)]) * -.5]


@paper('Chen 2020, SimCLR, eq. 1', 's[4,4], p[4] = 1 0 3 2',
       'l[i] = -2 s[i,p[i]] + logsumexp_{j!=i}(2 s[i,j])\nL = mean_i l[i]')
def simclr(s, p):
    return [mean([s(i, klass(p(i))) * -2 + ln_sum_exp([s(i, j) * 2 for j in range(4) if j != i])
                  for i in range(4)])]


@paper('Khosla 2020, Supervised contrastive learning, eq. 2', 's[4,4], y[4] = 0 1 0 0',
       'Z[i] = logsumexp_{j!=i} s[i,j]\n'
       'L[i] = -mean_{p!=i, y[p]=y[i]} (s[i,p] - Z[i])')
def supcon(s, y):
    result = []
    for i in range(4):
        Z = ln_sum_exp([s(i, j) for j in range(4) if j != i])
        same = [s(i, p) - Z for p in range(4) if p != i and y(p).value == y(i).value]
        result.append(-mean(same) if same else number(0))
    return result


@paper('Bardes 2022, VICReg, eq. 1 to 4', 'z[4,3]',
       'm[j] = mean_b z[b,j]\nc[i,j] = 1/3 sum_b (z[b,i] - m[i]) (z[b,j] - m[j])\n'
       'V = mean_j relu(1 - sqrt(c[j,j] + 1e-4))\nC = 1/3 sum_{i,j} c[i,j]^2 | i!=j\nL = V + C')
def vicreg(z):
    m = [mean([z(b, j) for b in range(4)]) for j in range(3)]
    c = [[total([(z(b, i) - m[i]) * (z(b, j) - m[j]) for b in range(4)]) * (1 / 3)
          for j in range(3)] for i in range(3)]
    return [mean([relu(1 - sqrt(c[j][j] + 1e-4)) for j in range(3)]) +
            total([c[i][j] ** 2 for i, j in over(3, 3) if i != j]) * (1 / 3)]


@paper('Zbontar 2021, Barlow twins, eq. 1', 'c[3,3]',
       'L = (sum_i (1 - c[i,i])^2) + 0.005 sum_{i,j} c[i,j]^2 1[i != j]')
def barlow(c):
    return [total([power(1 - c(i, i), 2) for i in range(3)]) +
            total([c(i, j) ** 2 for i, j in over(3, 3) if i != j]) * .005]


@paper('Grill 2020, BYOL, eq. 2', 'q[2,3], z[2,3]',
       'L[b] = 2 - 2 q[b,I] stop(z[b,I]) / (norm_i(q[b,i]) stop(norm_i(z[b,i])))')
def byol(q, z):
    return [2 - dot([q(b, i) for i in range(3)], [stop(z(b, i)) for i in range(3)]) * 2 /
            (norm([q(b, i) for i in range(3)]) * stop(norm([z(b, i) for i in range(3)])))
            for b in (0, 1)]


@paper('Zhai 2023, SigLIP, eq. 2', 's[3,3], t, c',
       'z[i,j] = where(i = j, 1, -1) | i<3, j<3\n'
       'L = -1/3 sum_{i,j} ln sigmoid(z[i,j] (t s[i,j] + c))')
def siglip(s, t, c):
    return [total([ln(sigmoid((t * s(i, j) + c) * (1 if i == j else -1)))
                   for i, j in over(3, 3)]) * (-1 / 3)]


@paper('Caron 2021, DINO, algorithm 1', 't[2,3], s[2,3], c[3]',
       'P[b,k] = softmax_k ((t[b,k] - c[k]) / 0.5)\nQ[b,k] = softmax_k 2 s[b,k]\n'
       'L[b] = -sum_k stop(P[b,k]) ln Q[b,k]')
def dino(t, s, c):
    result = []
    for b in (0, 1):
        P = softmax([(t(b, k) - c(k)) * 2 for k in range(3)])
        Q = log_softmax([s(b, k) * 2 for k in range(3)])
        result.append(-total([stop(P[k]) * Q[k] for k in range(3)]))
    return result


@paper('Schroff 2015, FaceNet, eq. 1', 'a[2,3], p[2,3], n[2,3]',
       'L[b] = relu(norm_i(a[b,i] - p[b,i])^2 - norm_i(a[b,i] - n[b,i])^2 + 0.2)')
def triplet(a, p, n):
    return [relu(total([power(a(b, i) - p(b, i), 2) for i in range(3)]) -
                 total([power(a(b, i) - n(b, i), 2) for i in range(3)]) + .2) for b in (0, 1)]


@paper('Wang 2018, CosFace, eq. 4', 'c[2,3], y[2] = 2 0',
       's[b,k] = where(k = y[b], 4 (c[b,k] - 0.35), 4 c[b,k])\nP[b,k] = softmax_k s[b,k]\n'
       'L[b] = -ln P[b,y[b]]')
def cosface(c, y):
    return [-log_softmax([c(b, k) * 4 - 1.4 * (k == klass(y(b))) for k in range(3)])[klass(y(b))]
            for b in (0, 1)]


# ---- Densities and fields
@paper('Ho 2020, Denoising diffusion, eq. 14',
       'x[2,3], e[2,3], k[2] = 2 0, a[3] = 0.9 0.6 0.3, W[3,3]',
       'z[b,i] = sqrt(a[k[b]]) x[b,i] + sqrt(1 - a[k[b]]) e[b,i]\n'
       'L = mean_{b,i} (e[b,i] - tanh(sum_j W[i,j] z[b,j]))^2')
def ddpm(x, e, k, a, W):
    result = []
    for b in (0, 1):
        A = a(klass(k(b)))
        z = [sqrt(A) * x(b, i) + sqrt(1 - A) * e(b, i) for i in range(3)]
        result += [power(e(b, i) - tanh(dot([W(i, j) for j in range(3)], z)), 2)
                   for i in range(3)]
    return [mean(result)]


@paper('Ho 2022, Classifier-free guidance, eq. 6', 'c[3], u[3], w', 'e[i] = (1 + w) c[i] - w u[i]')
def guidance(c, u, w):
    return [(1 + w) * c(i) - w * u(i) for i in range(3)]


@paper('Lipman 2023, Flow matching, eq. 23', 'x[2,2], z[2,2], t[2], W[2,2]',
       'p[b,i] = (1 - (1 - 0.1) t[b]) z[b,i] + t[b] x[b,i]\n'
       'L = mean_{b,i} (sum_j W[i,j] p[b,j] - (x[b,i] - 0.9 z[b,i]))^2')
def flow(x, z, t, W):
    return [mean([power(total([W(i, j) * ((1 - t(b) * .9) * z(b, j) + t(b) * x(b, j))
                               for j in (0, 1)]) - (x(b, i) - z(b, i) * .9), 2)
                  for b, i in over(2, 2)])]


@paper('Song 2023, Improved techniques for consistency models, eq. 8', 'x[2,3], y[2,3]',
       'L[b] = sqrt(sum_i (x[b,i] - y[b,i])^2 + 0.01) - 0.1')
def pseudo_huber(x, y):
    return [sqrt(total([power(x(b, i) - y(b, i), 2) for i in range(3)]) + .01) - .1
            for b in (0, 1)]


@paper('Mildenhall 2020, NeRF, eq. 3', 's[2,4], d[4] = 0.1 0.2 0.1 0.4, c[2,4,3]',
       'g[r,i] = softplus(s[r,i]) d[i]\nT[r,i] = exp(-sum_{j<i} g[r,j])\n'
       'C[r,k] = sum_i T[r,i] (1 - exp(-g[r,i])) c[r,i,k]')
def nerf(s, d, c):
    g = [[softplus(s(r, i)) * d(i) for i in range(4)] for r in (0, 1)]
    return [total([exp(-total(g[r][:i])) * (1 - exp(-g[r][i])) * c(r, i, k) for i in range(4)])
            for r, k in over(2, 3)]


@paper('Kerbl 2023, Gaussian splatting, eq. 3', 'a[4] = 0.5 0 0.2 0.9, c[4,2]',
       'T[i] = prod_{j<i} (1 - a[j]) | i<4\nC[k] = sum_i T[i] a[i] c[i,k]')
def splatting(a, c):
    T = [product([number(1)] + [1 - a(j) for j in range(i)]) for i in range(4)]
    return [total([T[i] * a(i) * c(i, k) for i in range(4)]) for k in (0, 1)]


@paper('Kingma 2014, Auto-encoding variational Bayes, eq. 10', 'm[2,3], v[2,3]',
       'L[b] = -1/2 sum_i (1 + v[b,i] - m[b,i]^2 - exp(v[b,i]))')
def elbo(m, v):
    return [total([1 + v(b, i) - m(b, i) ** 2 - exp(v(b, i)) for i in range(3)]) * -.5
            for b in (0, 1)]


@paper('Kendall 2017, What uncertainties do we need, eq. 8', 'y[3], f[3], s[3]',
       'L = mean_b (1/2 exp(-s[b]) (y[b] - f[b])^2 + 1/2 s[b])')
def uncertainty(y, f, s):
    return [mean([exp(-s(b)) * power(y(b) - f(b), 2) * .5 + s(b) * .5 for b in range(3)])]


@paper('Jang 2017, Gumbel-softmax, eq. 2', 'p[3] = 0.2 0.5 0.3, g[3], t = 0.7',
       'y[i] = softmax_i ((ln p[i] + g[i]) / t)')
def gumbel(p, g, t):
    return softmax([(ln(p(i)) + g(i)) / t for i in range(3)])


@paper('van den Oord 2017, VQ-VAE, eq. 3', 'z[3,2], e[4,2]',
       'k[b] = argmin_c sum_i (z[b,i] - e[c,i])^2\n'
       'L = sum_{b,i} ((stop(z[b,i]) - e[k[b],i])^2 + 0.25 (z[b,i] - stop(e[k[b],i]))^2)')
def vq(z, e):
    result = []
    for b in range(3):
        k = best([total([power(z(b, i) - e(c, i), 2) for i in (0, 1)]) for c in range(4)], -1)
        result += [power(stop(z(b, i)) - e(k, i), 2) + power(z(b, i) - stop(e(k, i)), 2) * .25
                   for i in (0, 1)]
    return [total(result)]


@paper('Mentzer 2024, Finite scalar quantization, sec. 3.1', 'x[4]',
       'z[i] = 2 tanh(x[i])\nq[i] = z[i] + stop(floor(z[i] + 0.5) - z[i])')
def fsq(x):
    z = [tanh(x(i)) * 2 for i in range(4)]
    return [v + number(math.floor(v.value + .5) - v.value) for v in z]


@paper('Gretton 2012, A kernel two-sample test, eq. 3', 'x[3], y[3]',
       'L = (1/(N (N - 1))) sum_{n,m} (exp(-(x[n] - x[m])^2) + exp(-(y[n] - y[m])^2)'
       ' - 2 exp(-(x[n] - y[m])^2)) | n!=m')
def mmd(x, y):
    def k(a, b):
        return exp(-power(a - b, 2))
    return [total([k(x(n), x(m)) + k(y(n), y(m)) - k(x(n), y(m)) * 2
                   for n, m in over(3, 3) if n != m]) * (1 / 6)]


# ---- Classes
@paper('Lin 2017, Focal loss, eq. 4', 's[3,3], y[3] = 0 2 1, g = 2.5',
       'P[b,k] = softmax_k s[b,k]\nL = -mean_b (1 - P[b,y[b]])^g ln P[b,y[b]]')
def focal(s, y, g):
    result = []
    for b in range(3):
        p = softmax([s(b, k) for k in range(3)])[klass(y(b))]
        result.append(exp(g * ln(1 - p)) * p.log)
    return [-mean(result)]


@paper('Szegedy 2016, Rethinking Inception: label smoothing, eq. 10', 's[2,3], y[2] = 0 2',
       'P[b,k] = softmax_k s[b,k]\nL[b] = -0.9 ln P[b,y[b]] - 0.1/3 sum_k ln P[b,k]')
def smoothing(s, y):
    result = []
    for b in (0, 1):
        p = log_softmax([s(b, k) for k in range(3)])
        result.append(p[klass(y(b))] * -.9 - total(p) * (.1 / 3))
    return result


@paper('Devlin 2019, BERT: masked language model, sec. 3.1', 's[2,3,2], y[2,3] = -1 1 0 -1 -1 1',
       'P[b,t,k] = softmax_k s[b,t,k]\n'
       'L = (sum_{b,t} where(y[b,t] >= 0, -ln P[b,t,y[b,t]], 0)) / sum_{b,t} 1[y[b,t] >= 0]')
def masked_lm(s, y):
    return [mean([-log_softmax([s(b, t, 0), s(b, t, 1)])[klass(y(b, t))]
                  for b, t in over(2, 3) if y(b, t).value >= 0])]


@paper('Huber 1964, Robust estimation, eq. 1.4', 'd[4] = 0.3 -2 4 -0.5',
       'L[i] = where(abs(d[i]) <= 1, 1/2 d[i]^2, abs(d[i]) - 1/2)')
def huber(d):
    return [d(i) ** 2 * .5 if abs(d(i).value) <= 1 else absolute(d(i)) - .5 for i in range(4)]


@paper('Milletari 2016, V-net: Dice loss, sec. 3', 's[4], g[4] = 1 0 1 1',
       'p[i] = sigmoid(s[i])\nL = 1 - 2 p[I] g[I] / (sum_i p[i]^2 + sum_i g[i]^2)')
def dice(s, g):
    p = [sigmoid(s(i)) for i in range(4)]
    return [1 - dot(p, [g(i) for i in range(4)]) * 2 /
            total([x ** 2 for x in p] + [g(i) ** 2 for i in range(4)])]


@paper('Katzman 2018, DeepSurv, eq. 4', 'h[4], t[4] = 2 1 3 2, e[4] = 1 1 0 1',
       'L[i] = e[i] (logsumexp_{j, t[j]>=t[i]} h[j] - h[i])')
def cox(h, t, e):
    return [e(i) * (ln_sum_exp([h(j) for j in range(4) if t(j).value >= t(i).value]) - h(i))
            for i in range(4)]


@paper('Xia 2008, ListMLE, eq. 11', 's[4], y[4] = 2 0 3 1',
       'r[i] = s[y[i]]\nL = sum_i (logsumexp_{j>=i}(r[j]) - r[i])')
def list_mle(s, y):
    r = [s(klass(y(i))) for i in range(4)]
    return [total([ln_sum_exp(r[i:]) - r[i] for i in range(4)])]


# ---- Experts, graphs and sets
@paper('Fedus 2022, Switch transformers, eq. 2 and 4 to 6', 'g[3,2], x[3,2], W[2,2,2]',
       'p[b,e] = softmax_e g[b,e]\nk[b] = argmax_e g[b,e]\n'
       'y[b,j] = p[b,k[b]] W[k[b],j,I] x[b,I]\nf[e] = mean_b 1[k[b] = e] | e<2\n'
       'm[e] = mean_b p[b,e]\nL = (sum_{b,j} y[b,j]^2) + 2 f[E] m[E]')
def switch(g, x, W):
    p = [softmax([g(b, 0), g(b, 1)]) for b in range(3)]
    k = [best([g(b, 0), g(b, 1)]) for b in range(3)]
    y = [p[b][k[b]] * dot([W(k[b], j, 0), W(k[b], j, 1)], [x(b, 0), x(b, 1)])
         for b, j in over(3, 2)]
    f = [sum(c == e for c in k) / 3 for e in (0, 1)]
    return [total([v ** 2 for v in y]) +
            total([mean([p[b][e] for b in range(3)]) * f[e] for e in (0, 1)]) * 2]


@paper('Shazeer 2017, Outrageously large networks: the best two, eq. 3 to 5', 'h[2,4], z[2,4]',
       'a[b] = argmax_e h[b,e]\nc[b] = argmax_e h[b,e] | e!=a[b]\n'
       'G[b,e] = softmax_e where(1[e = a[b]] + 1[e = c[b]] > 0, h[b,e], -100)\n'
       'y[b] = G[b,E] z[b,E]')
def best_two(h, z):
    result = []
    for b in (0, 1):
        v = [h(b, e) for e in range(4)]
        first = best(v)
        second = max((e for e in range(4) if e != first), key=lambda e: v[e].value)
        w = [v[e] if e in (first, second) else number(-100) for e in range(4)]
        result.append(dot(softmax(w), [z(b, e) for e in range(4)]))
    return result


@paper('Kipf 2017, Graph convolutional networks, eq. 2',
       'A[3,3] = 1 1 0 1 1 1 0 1 1, H[3,2], W[2,2]',
       'd[i] = sum_j A[i,j]\n'
       'Y[i,k] = relu(sum_j d[i]^(-1/2) A[i,j] d[j]^(-1/2) (H[j,L] W[L,k]))')
def gcn(A, H, W):
    d = [total([A(i, j) for j in range(3)]) for i in range(3)]
    return [relu(total([A(i, j) * (H(j, 0) * W(0, k) + H(j, 1) * W(1, k)) / sqrt(d[i]) /
                        sqrt(d[j]) for j in range(3)])) for i, k in over(3, 2)]


@paper('Velickovic 2018, Graph attention networks, eq. 3',
       'A[3,3] = 1 1 0 1 1 1 0 1 1, u[3], v[3], h[3]',
       'a[i,j] = softmax_{j, A[i,j]>0} max(u[i] + v[j], 0.2 (u[i] + v[j]))\ny[i] = a[i,J] h[J]')
def gat(A, u, v, h):
    result = []
    for i in range(3):
        near = [j for j in range(3) if A(i, j).value > 0]
        e = [greatest([u(i) + v(j), (u(i) + v(j)) * .2]) for j in near]
        result.append(dot(softmax(e), [h(j) for j in near]))
    return result


@paper('Qi 2017, PointNet, eq. 1', 'x[2,3,2], W[2,2], n[2] = 2 3',
       'y[b,j] = max_k W[j,I] x[b,k,I] | k<n[b]')
def pointnet(x, W, n):
    return [greatest([dot([W(j, 0), W(j, 1)], [x(b, k, 0), x(b, k, 1)])
                      for k in range(klass(n(b)))]) for b, j in over(2, 2)]


@paper('Zaheer 2017, Deep sets, theorem 2', 'x[2,3], W[2], V[2], n[2] = 3 1',
       'y[b] = V[J] tanh(sum_k W[J] x[b,k]) | k<n[b]')
def deep_sets(x, W, V, n):
    return [total([V(j) * tanh(total([W(j) * x(b, k) for k in range(klass(n(b)))]))
                   for j in (0, 1)]) for b in (0, 1)]


@paper('Dai 2019, Transformer-XL: relative positions, eq. 2', 'q[3,2], r[5,2], p[3] = 2 1 0',
       'w[t,s] = q[t,J] r[p[t]+s,J] | s<3')
def relative(q, r, p):
    return [dot([q(t, 0), q(t, 1)], [r(klass(p(t)) + s, 0), r(klass(p(t)) + s, 1)])
            for t, s in over(3, 3)]


@paper('Jaderberg 2015, Spatial transformer networks, eq. 5', 'U[4], x[3] = 0.3 2.6 1.5',
       'k[i] = floor(x[i])\n'
       'y[i] = U[k[i]] (1 - (x[i] - k[i])) + U[k[i]+1] (x[i] - k[i]) | i<3')
def sampler(U, x):
    k = [math.floor(x(i).value) for i in range(3)]
    return [U(k[i]) * (1 - (x(i) - k[i])) + U(k[i] + 1) * (x(i) - k[i]) for i in range(3)]


@paper('Hinton 2002, Products of experts, eq. 1',
       'p[3,4] = 0.2 0.3 0 0.5 0.4 0.1 0.1 0.4 0.6 0.2 0.1 0.1',
       'q[i] = prod_m p[m,i]\ny[i] = q[i] / sum_j q[j]')
def experts(p):
    q = [product([p(m, i) for m in range(3)]) for i in range(4)]
    return [x / total(q) for x in q]


if __name__ == '__main__':
    if sys.argv[2] == 'float':
        reference.TOLERANCE = 3e-4
    sys.exit(not report('papers-' + sys.argv[2], CASES, sys.argv[1], (), 0))
