"""Random texts for edf_equations, and what they mean by plain loops over all indices: written
from the rules of notes/notation.md alone, so that it is a second opinion. Values and gradients
of each text are compared with those of reference.py.

    python3 texts.py PROGRAM SEED COUNT                 PROGRAM: run.c, built

A third of the cases are single lines of a random tree: sums of products, brackets, functions,
sum_ mean_ max_ min_, powers, index numbers, tests, += and -=, a bound by an index. A third are
slides of a kind with random sizes: softmax, convolution, recurrence, dynamic programs ... A
third are equations for edf_einsum. An error is right if notes/notation.md says so. hard.py
draws texts with masks, infinities and huge numbers."""
import itertools
import math
import random
import os
import random
import re
import sys

sys.path.append(os.path.join(sys.path[0], 'random'))      # oracle.py executes this file
from reference import (FUNCTIONS, Case, Tensors, greatest, ln_sum_exp, log_softmax, mean,
                       product, report, smaller, softmax, sqrt, total)

EXTENT = {'b': 2, 'i': 3, 'j': 2, 'k': 4, 't': 3, 's': 3, 'u': 3}
RIGHT_ERRORS = ('one sum over', 'it is not a plain index on the right', 'nothing gives the size of',
                'unknown name', 'is not an index of this line',
                'at most 32 tensors', 'at most 8 dimensions', 'the line is too long',
                'this line is too long')


# ---- Single lines. An expression is its text, its value in an environment {index: number},
# and the set of indices that it has; `caps` are the indices written as capitals.
class Line:
    TESTS = [('<', lambda x, y: x < y), ('<=', lambda x, y: x <= y), ('=', lambda x, y: x == y),
             ('!=', lambda x, y: x != y), ('>', lambda x, y: x > y)]

    def __init__(self, rng):
        self.rng, self.tensors, self.made, self.bounds = rng, Tensors(), [], []
        self.masks = []                  # as the bounds, with their texts

    def some(self, letters, most=3):
        letters = sorted(letters)
        return self.rng.sample(letters, self.rng.randint(0, min(most, len(letters))))

    def tensor(self, letters, caps):
        same = [t for t in self.made if sorted(t[1]) == sorted(letters)]
        if same and self.rng.random() < .4:
            name, order, entry = self.rng.choice(same)
        else:
            order = list(letters)
            self.rng.shuffle(order)
            name = 'T%d' % len(self.made)
            entry = self.tensors.new(name, *[EXTENT[c] for c in order])
            self.made.append((name, order, entry))
        places = ','.join(c.upper() if c in caps else c for c in order)
        return (name + ('[%s]' % places if order else ''),
                lambda env: entry(*[env[c] for c in order]), set(order))

    def factor(self, known, caps, depth):
        x, small = self.rng.random(), sorted(known - caps)
        if depth > 0 and x < .12:
            text, value, has = self.sum(known, caps, depth - 1, 1)
            return '(%s)' % text, value, has
        if depth > 0 and x < .28:
            text, value, has = self.sum(known, caps, depth - 1, 2)
            name, f = self.rng.choice(list(FUNCTIONS.items()))
            return '%s(%s)' % (name, text), (lambda env: f(value(env))), has
        if depth > 0 and x < .32:
            text, value, has = self.sum(known, caps, depth - 1, 2)
            return 'min(%s,0.3)' % text, (lambda env: smaller(value(env), 0.3)), has
        if x < .38:
            text, value, has = self.tensor(self.some(known), caps)
            return text + '^2', (lambda env: value(env) ** 2), has
        if x < .42 and small:
            c = self.rng.choice(small)
            return '(%s+1)' % c, (lambda env: env[c] + 1), {c}
        if x < .46 and len(small) > 1:
            a, b = self.rng.sample(small, 2)
            sign, f = self.rng.choice(self.TESTS)
            return '1[%s%s%s]' % (a, sign, b), (lambda env: float(f(env[a], env[b]))), {a, b}
        return self.tensor(self.some(known), caps)

    def kept(self, env, over):
        return all(holds(env[a], env[b]) for a, b, holds in self.bounds if {a, b} & over)

    def may_sum(self, known):
        """Letters that are free, and whose partner in a bound is known."""
        return [c for c in EXTENT if c not in self.taken and c not in known
                and all(c not in (a, b) or (a if c == b else b) in known
                        for a, b, _ in self.bounds)]

    def beyond(self, over):
        return {c for a, b, _ in self.bounds if {a, b} & over for c in (a, b)} - over

    def function_over(self, known, caps, depth):
        free = self.may_sum(known)
        if depth <= 0 or not free or self.rng.random() < .75:
            return None
        c, name = self.rng.choice(free), self.rng.choice(['sum', 'mean', 'max', 'min'])
        self.taken.add(c)
        text, value, has = self.tensor([c] + self.some(known, 1), caps)
        if name in ('max', 'min'):
            more, other, also = self.sum(known | {c}, caps, depth - 1, 2)
            first = value
            text, has = '(%s + (%s))' % (text, more), has | also
            value = lambda env: first(env) + other(env)

        def over(env):
            inside = [dict(env, **{c: i}) for i in range(EXTENT[c])]
            v = [value(e) for e in inside if self.kept(e, {c})]
            if not v and name != 'sum':
                raise ZeroDivisionError
            return {'sum': total, 'mean': mean, 'max': greatest,
                    'min': lambda v: greatest(v, -1)}[name](v)
        return '%s_%s %s' % (name, c, text), over, (has - {c}) | self.beyond({c})

    def product(self, known, caps, depth, level):
        """level 0: of the line; 1: in a bracket; 2: in a function."""
        free, sums = self.may_sum(known), []
        if free and self.rng.random() < (.6 if level == 0 else .2):
            sums = [self.rng.choice(free)]
        self.taken |= set(sums)
        inner, capitals, factors = known | set(sums), caps | set(sums), []
        for _ in range((2 if level else 1) if sums else 0):
            factors.append(self.tensor(sums + [c for c in self.some(known, 1)], capitals))
        for _ in range(self.rng.randint(0 if factors else 1, 2)):
            factors.append(self.factor(inner, capitals, depth))
        last = self.function_over(inner, capitals, depth)
        factors += [last] if last else []
        number = self.rng.choice([1, 1, 1, 2, 0.5])
        text = ('' if number == 1 else '%g ' % number) + ' '.join(f[0] for f in factors)
        over = set(sums)

        def value(env):
            terms = []
            for at in itertools.product(*[range(EXTENT[c]) for c in sums]):
                e = dict(env, **dict(zip(sums, at)))
                if self.kept(e, over):
                    terms.append(product([f[1](e) for f in factors]))
            return number * total(terms)
        return text, value, (set().union(*[f[2] for f in factors]) - over) | self.beyond(over)

    def sum(self, known, caps, depth, level):
        text, parts, has = '', [], set()
        for n in range(self.rng.choice([1, 1, 2, 2, 3])):
            more, value, its = self.product(known, caps, depth, level)
            minus = self.rng.random() < .2
            text += (' - ' if minus else ' + ' if n else '') + more
            parts.append((-1 if minus else 1, value))
            has |= its
        return text.strip(), (lambda env: total(sign * value(env) for sign, value in parts)), has

    def draw_masks(self):
        if self.rng.random() < .4:
            sign, holds = self.rng.choice(self.TESTS[:2])
            self.masks = [(*self.rng.sample(['t', 's', 'u'], 2), '%s' + sign + '%s', holds)]
        self.bounds = [(a, b, holds) for a, b, _, holds in self.masks]

    def case(self):
        rng = self.rng
        left, adds = rng.sample(list(EXTENT), rng.randint(0, 3)), rng.choice(['', '', '+', '-'])
        around = [c for c in EXTENT if c not in left]
        around = rng.sample(around, rng.randint(0, 2)) if adds else []
        self.taken = set(left) | set(around)
        self.draw_masks()
        text, value, has = self.sum(self.taken.copy(), set(), 2, 0)
        if not set(left) <= has:
            return None
        bar = ' | '
        for a, b, form, _ in self.masks:       # it names letters as they stand in the line
            words = set(re.findall(r'(?<![A-Za-z0-9])[a-zA-Z](?![A-Za-z0-9(\[])', text))
            words |= set(left) | {w[-1] for w in re.findall(r'_[a-z]', text)}
            a, b = [[w for w in (c, c.upper()) if w in words] for c in (a, b)]
            if len(a) != 1 or len(b) != 1:
                return None
            text += bar + form % (a[0], b[0])
            bar = ', '
        around = sorted(set(around) & has)
        answer = []
        for at in itertools.product(*[range(EXTENT[c]) for c in left]):
            terms = []
            for more in itertools.product(*[range(EXTENT[c]) for c in around]):
                env = dict(zip(left + around, at + more))
                if all(holds(env[a], env[b]) for a, b, holds in self.bounds
                       if a in env and b in env):
                    terms.append(value(env))
            answer.append(-total(terms) if adds == '-' else total(terms))
        name = 'y' + ('[%s]' % ','.join(left) if left else '')
        return self.tensors, '%s %s= %s' % (name, adds, text), answer


# ---- Slides: of a kind, with sizes and forms that are drawn.
def normalized(v):
    m = mean(v)
    spread = sqrt(mean([(y - m) ** 2 for y in v]) + 1e-5)
    return [(x - m) / spread for x in v]


def attention(rng):
    bound, keeps = rng.choice([('', lambda s, t: True), (' | s<=t', lambda s, t: s <= t),
                               (' | s<t', lambda s, t: s < t),
                               (' | t<=s', lambda s, t: t <= s)])
    T, D = rng.randint(1, 4), rng.randint(1, 3)
    S = T if bound else rng.randint(1, 4)
    name, f = rng.choice([('softmax', softmax), ('normalize', normalized),
                          ('logsoftmax', log_softmax)]
                         [:1 if bound else 3])
    scale, number = rng.choice([('', 1), ('(1/sqrt D) ', 1 / math.sqrt(D)), ('0.5 ', 0.5)])
    x = Tensors()
    q, k, v = x.new('q', T, D), x.new('k', S, D), x.new('v', S, 2)
    P = {}
    for t in range(T):
        inside = [s for s in range(S) if keeps(s, t)]
        row = [number * total(q(t, d) * k(s, d) for d in range(D)) for s in inside]
        P.update({(t, s): p for s, p in zip(inside, f(row) if row else [])})
    P_at = lambda t, s: P.get((t, s), 0.0)
    line = '%s_s %sq[t,D] k[s,D]%s' % (name, scale, bound)
    form = rng.randint(0, 2)
    if form == 0:
        return x, 'y[t,s] = ' + line, [P_at(t, s) for t in range(T) for s in range(S)]
    if form == 1:
        return x, 'y[s,t] = ' + line, [P_at(t, s) for s in range(S) for t in range(T)]
    return (x, 'P[t,s] = %s\ny[t,j] = P[t,S] v[S,j]' % line,
            [total(P_at(t, s) * v(s, j) for s in range(S)) for t in range(T) for j in range(2)])


def convolution(rng):
    n, w = rng.randint(3, 7), rng.randint(1, 3)
    step, hole = rng.randint(1, 2), rng.randint(1, 2)
    begin, m, x = rng.randint(-2, 1), rng.randint(1, 6), Tensors()
    a, W = x.new('a', n, 2), x.new('W', w, 2)
    answer = [total(W(e, i) * a(step * t + hole * e + begin, i)
                  for e in range(w) for i in range(2))
              for t in range(m)]
    place = '%dt+%dDT%+d' % (step, hole, begin)
    if rng.random() < .5:
        return x, 'y[t] = W[DT,I] a[%s,I] | t<%d' % (place, m), answer
    return x, 'y[t] += W[e,i] a[%s,i] | t<%d' % (place.replace('DT', 'e'), m), answer


def recurrence(rng):
    n, K, back, given = rng.randint(1, 5), 2, rng.random() < .4, rng.random() < .4
    name, f = rng.choice([('', lambda z: z), ('tanh', FUNCTIONS['tanh']),
                          ('sig', FUNCTIONS['sig'])])
    two, x, h = rng.random() < .4, Tensors(), {}
    a, V, z = x.new('a', n, K), x.new('V', K, K), x.new('z', K)
    if given:
        h[n if back else -1] = [z(i) for i in range(K)]
    for t in range(n - 1, -1, -1) if back else range(n):
        was = h.get(t + 1 if back else t - 1, [0.0] * K)
        g = [was[i] * a(t, i) + 1 if two else was[i] for i in range(K)]
        h[t] = [f(total(V(j, i) * g[i] for i in range(K)) + (0 if two else a(t, j)))
                for j in range(K)]
    before = 't+1' if back else 't-1'
    text = 'h[%d,j] = z[j]\n' % (n if back else -1) if given else ''
    if two:
        text += 'g[t,j] = h[%s,j] a[t,j] + 1\nh[t,j] = %s(V[j,I] g[t,I])\n' % (before, name)
    else:
        text += 'h[t,j] = %s(V[j,I] h[%s,I] + a[t,j])\n' % (name, before)
    if rng.random() < .5:
        return x, text + 'y[j] = h[%d,j]' % (n // 2), h[n // 2]
    return x, text + 'y[t,j] = 2 h[t,j]', [2 * h[t][j] for t in range(n) for j in range(K)]


def dynamic_program(rng):
    m, n, x, F = rng.randint(1, 3), rng.randint(1, 4), Tensors(), {}
    a, b = x.new('a', m, n), x.new('b', m, n)
    p, q = rng.choice([((0, 1), (1, 1)), ((1, 0), (0, 1))])
    for i in range(m):
        for j in range(n):
            F[i, j] = (a(i, j) * F.get((i - p[0], j - p[1]), 0.0)
                       + b(i, j) * F.get((i - q[0], j - q[1]), 0.0))
            F[0, 0] = 1.0
    place = lambda d: 'F[i%s,j%s]' % ('-1' * d[0], '-1' * d[1])
    text = 'F[i,j] = a[i,j] %s + b[i,j] %s' % (place(p), place(q))
    return (x, 'F[0,0] = 1\n%s\ny[i,j] = 1 F[i,j]' % text,
            [F[i, j] for i in range(m) for j in range(n)])


def places(rng):
    """Parts that are joined, groups, values as indices."""
    n, k, m, x, form = rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 3), Tensors(), \
        rng.randint(0, 5)
    if form == 0:
        f, g = x.new('f', n, k), x.new('g', n, m)
        return (x, 'h[t,J+K] = 2 f[t,J] ; g[t,K] f[t,0]\ny[t,i] = h[t,i] + 1',
                [(2 * f(t, i) if i < k else g(t, i - k) * f(t, 0)) + 1
                 for t in range(n) for i in range(k + m)])
    if form == 1:
        a = x.new('a', n, k, m)
        return (x, 'y[b,(i,j)] = a[b,i,j]',
                [a(b, i, j) for b in range(n) for i in range(k) for j in range(m)])
    if form == 2:
        a, W = x.new('a', n, k, m), x.new('W', 2, k * m)
        return (x, 'y[b,c] = W[c,(I,J)] a[b,I,J]',
                [total(W(c, i * m + j) * a(b, i, j) for i in range(k) for j in range(m))
                 for b in range(n) for c in range(2)])
    a, E = x.new('a', n), x.new('E', k, 2)
    at = [math.floor((k - 0.001) * abs(float(a(i)))) for i in range(n)]
    text = 'w[i] = floor(%.3f abs(a[i]))\n' % (k - 0.001)
    if form == 3:
        return x, text + 'y[i,j] = E[w[i],j]', [E(at[i], j) for i in range(n) for j in range(2)]
    if form == 4:
        return (x, text + 'y[j] = E[w[I],j] a[I]',
                [total(E(at[i], j) * a(i) for i in range(n)) for j in range(2)])
    return (x, text + 'y[w[i]] += a[i] | w<%d' % k,
            [total(a(i) for i in range(n) if at[i] == c) for c in range(k)])


def rows(rng):
    n, m, x = rng.randint(1, 3), rng.randint(1, 4), Tensors()
    a = x.new('a', n, m)
    row = [[a(i, j) for j in range(m)] for i in range(n)]
    text, f = rng.choice([
        ('variance_j a[i,j]', lambda v: mean([(z - mean(v)) ** 2 for z in v])),
        ('argmax_j a[i,j]', lambda v: v.index(max(v))),
        ('argmin_j a[i,j]', lambda v: v.index(min(v))),
        ('ln sum_j exp(a[i,j])', ln_sum_exp),
        ('mean_j a[i,j]^2', lambda v: mean([z * z for z in v]))])
    return x, 'y[i] = ' + text, [f(v) for v in row]


# ---- Equations for edf_einsum: the text begins with the names of the operands.
def place(letters=(), steps=(), begin=0):
    text = '+'.join(('%d*' % s if s > 1 else '') + c for s, c in zip(steps, letters))
    text += '%+d' % begin if begin and letters else str(begin) if not letters else ''
    return text, lambda env: sum(s * env[c] for s, c in zip(steps, letters)) + begin


def einsum(rng):
    """Products of up to three factors: strides, padding, sums on the left, diagonals, a batch,
    constants, and tensors that occur several times."""
    chance, x, made, bounded, alone = lambda p: rng.random() < p, Tensors(), [], set(), set()
    free, summed = ['i', 'j', 'to'], ['M', 'N', 'K_1']
    size = {c: rng.randint(1, 4) for c in free + ['e', 'b']}
    size.update({c: rng.randint(1, 3) for c in summed}, B=size['b'])
    padded = {c for c in free + ['e'] + summed if chance(.5)}
    left = rng.sample(['b'] + free, rng.choice([0, 1, 1, 2, 2, 3]))
    places = [place([c], [1]) for c in left]
    scatter = left and left[-1] != 'b' and chance(.25)
    if scatter:
        steps, begin = rng.choice([([1, 1], 0), ([2, 1], 0), ([3, 2], 0), ([1, 1], 1)])
        places[-1] = place([left[-1], 'e'], steps, begin)
        left.append('e')
    if chance(.1):
        places.append(place(begin=rng.randint(0, 2)))

    def factor(letters):
        rng.shuffle(letters)
        batch = [c for c in letters if c in 'bB'][:1]
        its, dims = [place([c], [1]) for c in batch], [size['b'] for _ in batch]
        letters = [c for c in letters if c not in 'bB']
        while letters:
            inside = [letters.pop()]
            if chance(.65):
                alone.update(inside)
                more = inside[0] in padded and chance(.3)         # the bound is smaller
                bounded.update(inside * more)
                times = rng.choice([1] * 11 + [2])                # a diagonal
                its += [place(inside, [1])] * times
                dims += [size[inside[0]] + more] * times
                continue
            inside += [letters.pop()] if letters and chance(.7) else []
            steps, begin = [rng.randint(1, 3) for _ in inside], rng.randint(0, 1)
            reach = sum(s * (size[c] - 1) for s, c in zip(steps, inside)) + 1 + begin
            if set(inside) <= padded:
                begin, reach = rng.randint(-2, 1), max(1, reach + rng.randint(-2, 1))
                if place(inside, steps, begin)[0] == inside[0]:   # no read is outside
                    reach = size[inside[0]]
                bounded.update(inside)
            its.append(place(inside, steps, begin))
            dims.append(reach)
        if chance(.1):
            its, dims = its + [place(begin=1)], dims + [2]
        same = [t for t in made if t[1] == (len(batch), dims)]
        if same and chance(.6):
            name, _, entry = rng.choice(same)
        else:
            name = ('x%d' if batch else 'W%d') % len(made)
            entry = x.new(name, *dims, batch=len(batch) > 0)
            made.append((name, (len(batch), dims), entry))
        text = name + ('[%s]' % ','.join(p[0] for p in its) if its else '')
        return text, lambda env: entry(*[p[1](env) for p in its])

    right, terms, used = '', [], set(left)
    for t in range(rng.choice([1, 1, 2, 2, 3])):
        has = left if t == 0 or scatter else [c for c in left if chance(.7)]
        has = has + rng.sample(summed, rng.choice([0, 0, 1, 1, 2]))
        has += ['B'] if 'b' not in left and chance(.2) else []
        inside = [[] for _ in range(rng.choice([1, 2, 2, 2, 3]))]
        for c in has:
            for f in rng.sample(inside, min(len(inside), rng.choice([1, 1, 2, 3]))):
                f.append(c)
        sign = rng.choice(['', '', '-']) if t == 0 else rng.choice([' + ', ' - '])
        number = rng.choice([1, 1, 2, 0.5])
        factors = [factor(f) for f in inside]
        right += sign + ('' if number == 1 else '%g ' % number)
        right += rng.choice([' ', '*']).join(text for text, _ in factors)
        terms.append((-number if '-' in sign else number, sorted(set(has) | set(left)), factors))
        used |= set(has)
    bounded |= used - alone - {'b', 'B'}
    written, shape = {}, [0] * len(places)
    for number, letters, factors in terms:
        for at in itertools.product(*[range(size[c]) for c in letters]):
            env = dict(zip(letters, at))
            to = tuple(p[1](env) for p in places)
            shape = [max(n, i + 1) for n, i in zip(shape, to)]
            written.setdefault(to, []).append(number * product([f[1](env) for f in factors]))
    text = 'einsum %s: y%s = %s' % (' '.join(t[0] for t in made), '[%s]' % ','.join(
        p[0] for p in places) if places else '', right)
    text += ' | ' * bool(bounded) + ', '.join('%s<%d' % (c, size[c]) for c in sorted(bounded))
    return x, text, [total(written.get(i, [])) for i in itertools.product(*map(range, shape))]


SLIDES = [attention, convolution, recurrence, dynamic_program, places, rows]


def cases(seed, count):
    rng = random.Random(seed)
    while count > 0:
        try:
            kind = count % 3
            case = Line(rng).case() if kind == 0 else rng.choice(SLIDES)(rng) if kind == 1 \
                else einsum(rng)
        except (KeyError, OverflowError, ZeroDivisionError):
            continue                           # a bound's other index, or an empty maximum
        if case:
            count -= 1
            yield case


def main():
    program, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    made = [Case(*case) for case in cases(seed, count)]
    sys.exit(not report('texts-%d' % seed, made, [program], RIGHT_ERRORS, 0.01))


if __name__ == '__main__':
    main()
