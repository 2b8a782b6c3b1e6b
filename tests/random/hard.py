"""Random texts at the limits of numbers: masks, brackets, divisors, powers and logarithms, with
infinities, NaN and huge numbers in the tensors, mostly at entries that a mask excludes. The
meaning is written from notes/notation.md alone, as in texts.py: plain loops that never evaluate
an excluded pair, by the numbers of reference.py.

    python3 hard.py PROGRAM SEED COUNT                  PROGRAM: run.c, built

Half of the cases are one or two lines of a random tree. The others are slides of a kind: decays,
logarithms of sums and of softmaxes, attention, lookups at a shifted position, and texts that
must be refused."""
import itertools
import random
import sys
from collections import namedtuple

from reference import (FUNCTIONS, INF, NAN, Case, Number, Tensors, absolute, exp, greatest, ln,
                       ln_sum_exp, log_softmax, mean, number, power, product, relu, report,
                       smaller, softmax, sqrt, total)

LIMITS = ('at most 32 tensors', 'at most 8 dimensions', 'at most 8 factors', 'line is too long')
FUNCTIONS = dict(FUNCTIONS, relu=relu, abs=absolute)
JUNK = [INF, -INF, NAN, 0.0, 1e200, -1e300, 1e308, -1e9]
RARE = [INF, 1e200, -INF, -1e200, -1e9, 0.0, 1e-200]             # the first two are positive

# A piece of a line: its text, its value in an environment {index: number}, and the indices that
# it has. A product sums a capital that two factors have. A power counts as two factors. `weight`
# is 1 for a tensor, and 0.5 for a function, since two functions alone do not sum.
Part = namedtuple('Part', 'text value has weight power', defaults=[0, 0])


def choose(rng, *weighted):
    """Returns one of the pairs (weight, result), by its weight."""
    return rng.choices([w[1] for w in weighted], [w[0] for w in weighted])[0]


def braces(letters):
    return letters[0] if len(letters) == 1 else '{%s}' % ','.join(letters)


class Program:
    """The tensors, the masks and the sizes of a text of one or two lines."""
    def __init__(self, rng):
        self.rng, self.tensors, self.made, self.kinds = rng, Tensors(), [], set()
        self.size = {c: rng.choice([1, 2, 2, 3, 3, 4]) for c in 'bijkrtsu'}
        if rng.random() < .8:
            self.size['s'] = self.size['u'] = self.size['t']
        self.batch = rng.random() < .25
        pairs = rng.sample([('s', 't'), ('s', 'u'), ('u', 't'), ('j', 'i')], 4)
        self.masks = [(*rng.choice([p, p[::-1]]), rng.choice(['<=', '<=', '<']))
                      for p in pairs[:rng.choice([0, 1, 1, 1, 2, 2, 3])]]
        self.junk, self.rare = choose(rng, (3, (0, 0)), (6, (.7, 0)), (1, (.7, .05)))

    def keeps(self, env):
        """Returns 1 if no mask excludes the pairs that are known."""
        return all(env[a] < env[b] or sign == '<=' and env[a] == env[b]
                   for a, b, sign in self.masks if a in env and b in env)

    def inside(self, env, over):
        """Returns the environments in which the indices `over` have all their values."""
        for at in itertools.product(*[range(self.size[c]) for c in over]):
            e = dict(env, **dict(zip(over, at)))
            if self.keeps(e):
                yield e

    def new(self, order, kind):
        """Makes a tensor. Its entries are positive, exponents, or any numbers."""
        rng, values = self.rng, []
        for at in itertools.product(*[range(self.size[c]) for c in order]):
            x = round(rng.uniform(.3, 2), 2)
            if kind == 'any':
                x = round(rng.uniform(-2, 2), 2)
            elif kind == 'exponent':
                x = choose(rng, (6, round(rng.uniform(-3, 3), 2)), (1, -1e9), (1, 900.0),
                           (1, -900.0), (1, -INF), (1, 1e5))
            if not self.keeps(dict(zip(order, at))):
                x = rng.choice(JUNK) if rng.random() < self.junk else x
            elif rng.random() < self.rare:
                x = rng.choice(RARE[:2] if kind == 'positive' else RARE)
            values.append(x)
        name = 'T%d' % len(self.made)
        entry = self.tensors.new(name, *[self.size[c] for c in order],
                                 batch=self.batch and order[:1] == ['b'], values=values)
        self.made.append((name, order, kind, entry))
        return self.made[-1]


class Line:
    """A line of a program. `written` has the indices as they are written, `sized` those that a
    tensor gives a size. `sharp` are the capitals that are summed around a function, a divisor or
    a bracket with a power. A sum of them inside is refused."""
    def __init__(self, program):
        self.p, self.rng = program, program.rng
        self.written, self.sized, self.around = {}, set(), set()
        self.refused, self.unclear = '', ''

    def some(self, letters, most=3):
        letters = sorted(letters)
        return self.rng.sample(letters, self.rng.randint(0, min(most, len(letters))))

    def tensor(self, letters, kind='any'):
        same = [t for t in self.p.made if sorted(t[1]) == sorted(letters) and t[2] == kind]
        reuse = .8 if any(t[0] == 'z' for t in same) else .3
        if same and self.rng.random() < reuse:
            name, order, _, entry = self.rng.choice(same[-1:] if reuse == .8 else same)
        else:
            order = sorted(letters, key=lambda c: (c != 'b', self.rng.random()))
            name, _, _, entry = self.p.new(order, kind)
        self.sized |= set(order)
        places = ','.join(self.written[c] for c in order)
        return Part(name + ('[%s]' % places if order else ''),
                    lambda env: entry(*[env[c] for c in order]), set(order), 1)

    def free(self, known, least=1):
        """Returns indices to sum. The other index of their masks is known or among them."""
        letters = [c for c in self.p.size if c not in self.written]
        if len(letters) < 2:
            return []
        chosen = self.rng.sample(letters, self.rng.choice([1, 1, 1, 2]))
        masked = lambda c: {x for a, b, _ in self.p.masks if c in (a, b) for x in (a, b)}
        good = [c for c in chosen if masked(c) <= known | set(chosen)]
        return good if set(good) == set(chosen) else []

    def bind(self, letters, capital=False):
        self.written.update({c: c.upper() if capital else c for c in letters})

    # ---- Factors
    def positive(self, known, caps, sharp):
        rng, a = self.rng, self.tensor(self.some(known), 'positive')
        form = rng.randint(0, 3)
        if form == 0:
            return a
        others = known - caps if form == 2 else known   # the power of a capital is a sum
        b = self.tensor(self.some(others, 2), ('any', 'positive')[form == 3])
        if form == 1:
            return Part('(%s + exp(%s))' % (a.text, b.text),
                        lambda env: a.value(env) + exp(b.value(env)), a.has | b.has)
        if form == 2:
            return Part('(%s + %s^2)' % (a.text, b.text),
                        lambda env: a.value(env) + power(b.value(env), 2), a.has | b.has)
        return Part('(%s + %s)' % (a.text, b.text),
                    lambda env: a.value(env) + b.value(env), a.has | b.has)

    def powered(self, x, powers):
        text, p = self.rng.choice(powers)
        base = x.text if x.text[0] == '(' or ' ' not in x.text else '(%s)' % x.text
        return Part('%s^%s' % (base, text), lambda env: power(number(x.value(env)), p), x.has,
                    x.weight, 1)

    def function(self, known, caps, sharp, depth):
        x = self.sum(known, caps, sharp | caps, depth - 1, 1)
        name, f = self.rng.choice(list(FUNCTIONS.items()))
        return Part('%s(%s)' % (name, x.text), lambda env: f(number(x.value(env))), x.has, .5)

    def of_positive(self, known, caps, sharp):
        x = self.positive(known, caps, sharp)
        name, f = self.rng.choice([('ln', ln), ('sqrt', sqrt)])
        return Part('%s(%s)' % (name, x.text.strip('()') if x.text.count('(') == 1 else x.text),
                    lambda env: f(x.value(env)), x.has, .5)

    def decay(self, known, caps):
        a, b = self.rng.sample(sorted(known - caps), 2)
        base, k = self.rng.choice([(0.5, 1), (2, 1)])
        for x, y, _ in self.p.masks:
            if {x, y} == {a, b}:                     # it overflows if the mask excludes
                base, k = self.rng.choice([(0.5, 1), (0.5, 700), (1e-100, 2), (1e200, 1)])
                a, b = (y, x) if base < 1 else (x, y)

        def value(env):
            try:
                return base ** float(k * (env[a] - env[b]))
            except OverflowError:
                return INF
        times = '%s-%s' % (a, b) if k == 1 else '%d(%s-%s)' % (k, a, b)
        return Part('%g^(%s)' % (base, times), value, {a, b})

    def test(self, known, caps):
        x = self.tensor(self.some(known, 2))

        def value(env):                              # x gets the gradient 0
            entry = x.value(env)
            return Number(float(entry.value > 0.1), 0.0, ((entry, 0.0, 0.0),))
        return Part('1[%s > 0.1]' % x.text, value, x.has)

    def factor(self, known, caps, sharp, depth):
        rng, small = self.rng, sorted(known - caps)
        form = choose(rng, (30, 'tensor'), (8, 'power'), (5, 'index'), (4, 'test'),
                      (6 if len(small) > 1 else 0, 'decay'), (5, 'root'), (6, 'ln'),
                      (8 * (depth > 0), 'bracket'), (5 * (depth > 0), 'square'),
                      (10 * (depth > 0), 'function'), (3 * (depth > 0), 'min'),
                      (10 * (depth > 0), 'over'))
        if form == 'power':
            return self.powered(self.tensor(self.some(known)), [('2', 2), ('2', 2), ('3', 3)])
        if form == 'index' and small:
            c = rng.choice(small)
            return Part('(%s+1)' % c, lambda env: env[c] + 1, {c})
        if form == 'test':
            return self.test(known, caps)
        if form == 'decay':
            return self.decay(known, caps)
        if form == 'root':
            return self.powered(self.positive(known, caps, sharp | caps), [
                ('0.5', .5), ('(-1/2)', -.5), ('-1', -1), ('-2', -2), ('1.5', 1.5),
                ('(1/3)', 1 / 3)])
        if form == 'ln':
            return self.of_positive(known, caps, sharp)
        if form == 'bracket':
            x = self.sum(known, caps, sharp, depth - 1, 1)
            return Part('(%s)' % x.text, x.value, x.has)
        if form == 'square':
            x = self.sum(known, caps, sharp | caps, depth - 1, 1)
            return self.powered(Part('(%s)' % x.text, x.value, x.has), [('2', 2)])
        if form == 'function':
            return self.function(known, caps, sharp, depth)
        if form == 'min':
            x = self.sum(known, caps, sharp | caps, depth - 1, 1)
            return Part('min(%s,0.3)' % x.text, lambda env: smaller(x.value(env), 0.3), x.has)
        if form == 'over':
            x = self.over(known, caps, sharp, depth)
            if x:
                x = Part('(%s)' % x.text, x.value, x.has)
                return self.powered(x, [('2', 2)]) if rng.random() < .2 else x
        return self.tensor(self.some(known))

    # ---- Functions over indices
    def over(self, known, caps, sharp, depth):
        """Returns a reduction, a softmax or a logarithm, or None if no index is left."""
        name = self.rng.choice(['sum', 'sum', 'mean', 'max', 'min', 'ln sum', 'softmax'])
        if name == 'softmax':
            return self.softmax(known, caps, sharp, depth)
        over = self.free(known)
        if not over:
            return None
        self.bind(over)
        inner = known | set(over)
        if name in ('sum', 'mean'):
            x = self.product(inner, caps, sharp | caps, depth - 1, 1, over)
            f = total if name == 'sum' else lambda v: mean(v) if v else 0.0
        elif name == 'ln sum':
            return self.ln_sum(inner, caps, sharp | caps, depth, over)
        else:
            x, sign = self.tensor(over + self.some(known, 1)), 1 if name == 'max' else -1
            if self.rng.random() < .4:
                y = self.sum(inner, caps, sharp | caps, depth - 1, 1)
                x = self.plus(x, y)
            f = lambda v: greatest(v, sign) if v else -sign * INF
        return Part('%s_%s %s' % (name, braces(over), x.text),
                    lambda env: f([x.value(e) for e in self.p.inside(env, over)]),
                    x.has - set(over))

    @staticmethod
    def plus(x, y):
        sign = ' ' if y.text.startswith('-') else ' + '
        return Part('(%s%s%s)' % (x.text, sign, y.text),
                    lambda env: total((x.value(env), y.value(env))), x.has | y.has)

    def exponent(self, known, letters, caps, sharp, depth):
        x = self.tensor(list(letters) + self.some(known - set(letters), 1), 'exponent')
        if depth > 0 and self.rng.random() < .3:
            y = self.sum(known, caps, sharp, depth - 1, 1)
            x = self.plus(x, y)
        return x

    def ln_sum(self, known, caps, sharp, depth, over):
        """ln sum_{i,j} 2 w[i] exp(x[i,j])"""
        x, weight = self.exponent(known, over, caps, sharp, depth), self.rng.choice([1, 1, 2, .5])
        ws = [self.tensor(self.some(known, 2), 'positive') for _ in range(self.rng.randint(0, 1))]
        text = ('%g ' % weight) * (weight != 1) + ''.join(w.text + ' ' for w in ws)
        text += 'exp' + ('(%s)' % x.text).replace('((', '(').replace('))', ')') \
            if x.text.count('(') == 0 else 'exp' + x.text

        def value(env):
            inside = list(self.p.inside(env, over))
            return ln_sum_exp([number(x.value(e)) for e in inside],
                              [weight * product([number(1.0)] + [w.value(e) for w in ws])
                               for e in inside])
        if any(sum(c in f.has for f in [x] + ws) > 1 for c in sharp):
            self.refused = 'one sum over'
        self.p.kinds.add('ln sum exp')
        form = self.rng.choice(['ln sum_%s %s', 'log sum_%s %s', 'ln(sum_%s %s)'])
        return Part(form % (braces(over), text), value,
                    x.has.union(*[w.has for w in ws]) - set(over))

    def softmax(self, known, caps, sharp, depth):
        """softmax_s or ln softmax_s: the index is bound around it."""
        if not known - caps:
            return None
        c, log = self.rng.choice(sorted(known - caps)), self.rng.random() < .5
        x, rows = self.exponent(known, [c], caps, sharp | caps, depth), {}
        f = log_softmax if log else softmax
        if log:
            self.p.kinds.add('ln softmax')

        def value(env):
            key = tuple(sorted((k, i) for k, i in env.items() if k != c))
            if key not in rows:
                inside = [e for e in self.p.inside(env, [c])]
                rows[key] = dict(zip([e[c] for e in inside], f([x.value(e) for e in inside])))
            return rows[key][env[c]]
        return Part('%ssoftmax_%s %s' % ('ln ' * log, c, x.text), value, x.has | {c})

    # ---- Products and sums
    def product(self, known, caps, sharp, depth, level, over=()):
        """level 0: of the line; 1: inside, where a capital needs two factors. `over`: indices
        of which one factor at least has all."""
        rng, sums = self.rng, []
        if rng.random() < (.5 if level == 0 else .2):
            sums = self.free(known)
            self.bind(sums, True)
        inner, capitals, factors = known | set(sums), caps | set(sums), []
        if over:
            factors.append(self.tensor(list(over) + self.some(known - set(over), 1)))
        for _ in range((2 if level else 1) if sums else 0):
            factors.append(self.tensor(sums + self.some(known, 1)))
        for _ in range(rng.randint(0 if factors else 1, 2)):
            factors.append(self.factor(inner, capitals, sharp, depth))
        divisors, last = [], None
        if rng.random() < .2:
            for _ in range(rng.choice([1, 1, 2])):
                divisors.append(self.divisor(inner, capitals, sharp, depth))
        elif depth > 0 and rng.random() < .2:
            last = self.over(inner, capitals, sharp, depth)
            if last and 'softmax' in last.text.split('_')[0]:
                last = Part('(%s)' % last.text, last.value, last.has)
            factors += [last] if last else []
        scale = rng.choice([1, 1, 1, 2, 0.5])
        text = ('' if scale == 1 else '%g ' % scale) + ' '.join(f.text for f in factors)
        text += ''.join(' / ' + d.text for d in divisors)
        for c in sharp | (caps if level else set()):
            if c in sharp and sum(f.weight * (1 + f.power) for f in factors if c in f.has) > 1:
                self.refused = 'one sum over'
            elif sum(1 + f.power for f in factors + divisors if c in f.has) > 1:
                self.unclear = 'one sum over'

        summed = set(sums) | set(over) | (caps - sharp) | (self.around if level == 0 else set())
        movable = summed and (len(factors + divisors) > 2
                              or any(not f.has >= summed for f in factors + divisors))

        def value(env):
            return scale * total(product([f.value(e) for f in factors] +
                                         [power(number(d.value(e)), -1) for d in divisors],
                                         movable) for e in self.p.inside(env, sums))
        return Part(text, value, set().union(*[f.has for f in factors + divisors]) - set(sums))

    def divisor(self, known, caps, sharp, depth):
        form = choose(self.rng, (3, 'tensor'), (1, 'number'), (3, 'positive'), (1, 'root'),
                      (1, 'function'), (2, 'sum'), (3 * (depth > 0), 'any'))
        if form == 'tensor':
            return self.tensor(self.some(known), 'positive')
        if form == 'number':
            return Part('4', lambda env: 4.0, set())
        if form == 'root':
            return self.powered(self.positive(known, caps, sharp | caps), [('2', 2), ('0.5', .5)])
        if form == 'function':
            x = self.tensor(self.some(known))
            name = self.rng.choice(['exp', 'softplus', 'sig'])
            return Part('%s(%s)' % (name, x.text), lambda env: FUNCTIONS[name](x.value(env)),
                        x.has)
        if form == 'sum':
            over = self.free(known)
            if over:
                self.bind(over)
                x = self.tensor(over + self.some(known, 1), 'positive')
                return Part('(sum_%s %s)' % (braces(over), x.text), lambda env: total(
                    x.value(e) for e in self.p.inside(env, over)), x.has - set(over))
        if form == 'any':
            x = self.sum(known, caps, sharp | caps, depth - 1, 1)
            return Part('(%s)' % x.text, x.value, x.has)
        return self.positive(known, caps, sharp | caps)

    def sum(self, known, caps, sharp, depth, level):
        text, parts = '', []
        for n in range(self.rng.choice([1, 1, 2, 2, 3])):
            x = self.product(known, caps, sharp, depth, level)
            minus = self.rng.random() < .2
            text += (' - ' if minus else ' + ' if n else '') + x.text
            parts.append((-1.0 if minus else 1.0, x))
        return Part(text.strip(), lambda env: total(sign * x.value(env) for sign, x in parts),
                    set().union(*[x.has for _, x in parts]))

    # ---- The line
    def draw(self, name):
        """Returns the text of the line, its left indices, and its values."""
        rng, letters = self.rng, list(self.p.size)
        left = rng.sample(letters, rng.randint(0, 3))
        left.sort(key=lambda c: c != 'b')
        adds = rng.choice(['', '', '', '+', '-'])
        around = [c for c in letters if c not in left]
        around = rng.sample(around, rng.randint(0, 2)) if adds else []
        self.bind(left + around)
        self.around = set(around)
        x = self.sum(set(left + around), set(), set(), rng.choice([1, 2]), 0)
        for c in set(around) - x.has:
            around.remove(c)
            del self.written[c]
        # A mask stays if it acts on something.
        self.p.masks = [m for m in self.p.masks if m[0] in self.written and m[1] in self.written]
        bounds = ['%s%s%s' % (self.written[a], sign, self.written[b])
                  for a, b, sign in self.p.masks]
        bounds += ['%s<%d' % (w, self.p.size[c]) for c, w in self.written.items()
                   if c not in self.sized or rng.random() < .05 and (c != 'b' or not self.p.batch)]
        text = '%s%s %s= %s%s' % (name, '[%s]' % ','.join(left) if left else '', adds, x.text,
                                  ' | ' + ', '.join(bounds) if bounds else '')
        return text, left, around, -1.0 if adds == '-' else 1.0, x


def trees(rng):
    p, texts, unclear = Program(rng), [], ''
    masks = p.masks
    for name in ['z', 'y'] if rng.random() < .3 else ['y']:
        p.masks, line = list(masks), Line(p)
        text, left, around, sign, x = line.draw(name)
        if p.batch and 'b' in line.written and 'b' not in line.sized:
            return None                              # the batch has no bound
        if not set(around) <= line.sized:
            return None                              # an index of += is in a tensor
        texts.append(text)
        if line.refused:
            return p.tensors, '\n'.join(texts), (), 'one sum or two', line.refused
        answer = {}
        for at in itertools.product(*[range(p.size[c]) for c in left]):
            env = dict(zip(left, at))
            answer[at] = sign * total(x.value(e) for e in p.inside(env, around)) \
                if p.keeps(env) else Number(0.0)
        if p.masks:
            p.kinds.add('mask')
        if name == 'z':                              # 0 if the other line leaves it out
            for z in answer.values():
                z.grad = 0.0
            p.made.append(('z', left, 'any', lambda *at, answer=answer: answer[at]))
        unclear = unclear or line.unclear
    if len(p.made) > 16:
        return None
    return p.tensors, '\n'.join(texts), list(answer.values()), ' '.join(sorted(p.kinds)), unclear


# ---- Slides. Each returns the tensors, the text, the answer, the kind and words of an error.
def draw_mask(rng):
    """Returns the text of a mask over s and t, and its condition."""
    return rng.choice([(' | s<=t', lambda s, t: s <= t), (' | s<t', lambda s, t: s < t),
                       (' | t<=s', lambda s, t: t <= s), ('', lambda s, t: True)])


def some_numbers(rng, n, *rare):
    """Returns n numbers, of which a quarter is among the rare ones."""
    return [rng.choice(rare) if rare and rng.random() < .25 else round(rng.uniform(-2, 2), 2)
            for _ in range(n)]


def junk_outside(rng, keeps, T, S, values):
    """Puts junk in the entries [t,s] that the mask excludes."""
    return [x if keeps(n % S, n // S) or rng.random() < .3 else rng.choice(JUNK)
            for n, x in enumerate(values)]


def decay(rng):
    """A sum with weights that overflow outside the mask, in one line or by a matrix."""
    base, T = rng.choice([('0.001', 110), ('0.5', 4), ('1e-90', 5), ('0.9', 6), ('1e-90', 6)])
    if T > 100 and rng.random() < .8:                # it is slow
        T = 4
    strict, x = rng.choice(['<=', '<']), Tensors()
    keeps = lambda s, t: s < t or strict == '<=' and s == t
    v = x.new('v', T, values=some_numbers(rng, T))
    c = x.new('c', T, values=[round(rng.uniform(0, 1) + 300 * t * (T < 100), 2)
                              for t in range(T)])
    form, factor = rng.randint(0, 5), rng.choice([1, 1, 700]) if base == '0.5' else 1
    bound = ' | s%st' % strict
    weight = '%s^(%s)' % (base, 't-s' if factor == 1 else '%d(t-s)' % factor)
    power_of = lambda t, s: float(base) ** (factor * (t - s))
    if form == 1:                                    # the weights are computed from a tensor
        weight, power_of = 'exp(c[s]-c[t])', lambda t, s: exp(c(s) - c(t))
    if form == 2:
        plain, power_of = power_of, lambda t, s: product([plain(t, s), 1 / (1 + c(t))])
    kept = [[s for s in range(T) if keeps(s, t)] for t in range(T)]
    answer = [total(power_of(t, s) * v(s) for s in kept[t]) for t in range(T)]
    text = 'y[t] = sum_s %s v[s]%s%s' % (weight, ' / (1 + c[t])' * (form == 2), bound)
    if form == 3:
        text = 'y[t] += %s v[s]%s' % (weight, bound)
    elif form == 4:
        text = 'A[t,s] = %s%s, s<%d\ny[t] = A[t,S] v[S]' % (weight, bound, T)
    elif form == 5:
        name, f = rng.choice([('mean', lambda z: mean(z) if z else 0.0),
                              ('max', lambda z: greatest(z) if z else -INF),
                              ('min', lambda z: greatest(z, -1) if z else INF)])
        text = 'y[t] = %s_s (%s v[s])%s' % (name, weight, bound)
        answer = [f([power_of(t, s) * v(s) for s in kept[t]]) for t in range(T)]
    if form < 4 and rng.random() < .3:
        text += ', t<%d' % T
    return x, text, answer, 'mask', ''


def scores(rng, x, B, K, keeps):
    """Scores s[b,k], some of them far apart."""
    far = rng.choice([(), (-431.0, 279.0, 427.0), (-1e9, 3.0), (-INF,), (1e5, -1e30), (900.0,)])
    return x.new('s', B, K, values=junk_outside(rng, keeps, B, K, some_numbers(rng, B * K, *far)))


def loss(rng):
    """ln of a softmax in one line and in two, an entropy, and the loss of a class."""
    x, K = Tensors(), rng.randint(1, 4)
    bound, keeps = draw_mask(rng) if rng.random() < .4 else ('', lambda s, t: True)
    bound, form = bound.replace('s<', 'k<').replace('t', 'b').replace('s', 'k'), rng.randint(0, 7)
    B = K if bound else rng.randint(1, 3)
    s = scores(rng, x, B, K, keeps)
    T = x.new('T', B, K, values=junk_outside(rng, keeps, B, K, [
        round(rng.uniform(0.1, 1), 2) for _ in range(B * K)]))
    kept = [[k for k in range(K) if keeps(k, b)] for b in range(B)]
    far = max(map(abs, [0.0] + [s(b, k).value for b in range(B) for k in kept[b]])) > 300
    logs = [dict(zip(kept[b], log_softmax([s(b, k) for k in kept[b]]) if kept[b] else []))
            for b in range(B)]
    soft = [dict(zip(kept[b], softmax([s(b, k) for k in kept[b]]) if kept[b] else []))
            for b in range(B)]
    kind = ('ln softmax' * (far and form not in (4, 5)) + ' mask' * bool(bound)).strip()
    one = 'y[b] = -sum_k T[b,k] ln softmax_k s[b,k]' + bound
    cross = [-total(T(b, k) * logs[b][k] for k in kept[b]) for b in range(B)]
    P = 'P[b,k] = softmax_k s[b,k]%s\n' % bound
    if form == 0:
        return x, one, cross, kind, ''
    if form == 1:
        return x, P + 'y[b] = -sum_k T[b,k] ln P[b,k]' + bound, cross, kind, ''
    entries = [logs[b].get(k, 0.0) for b in range(B) for k in range(K)]
    if form == 2:
        return x, 'y[b,k] = ln softmax_k s[b,k]' + bound, entries, kind, ''
    if form == 3:
        return x, P + 'y[b,k] = ln P[b,k]' + bound, entries, kind, ''
    if form in (4, 5):                               # the entropy of P, and a mean of it
        if any(y.value == 0 for row in soft for y in row.values()):
            return None                              # 0 ln 0
        parts = [[soft[b][k] * logs[b][k] for k in kept[b]] for b in range(B)]
        if form == 4:
            return (x, P + 'y[b] = -sum_k P[b,k] ln P[b,k]' + bound,
                    [-total(row) for row in parts], kind, '')
        return (x, P + 'y[b] = mean_k P[b,k] ln P[b,k]' + bound,
                [mean(row) if row else 0.0 for row in parts], kind, '')
    classes = [rng.choice(kept[b] or [0]) for b in range(B)]
    if not all(kept):
        return None                                  # the class of an empty row
    x.new('c', B, values=[float(k) for k in classes])
    if form == 6:
        return x, P + 'y[b] = -ln P[b,c[b]]', [-logs[b][classes[b]] for b in range(B)], kind, ''
    picked = [logs[b][classes[b]] for b in range(B)]
    return (x, 'Q[b,k] = ln softmax_k s[b,k]%s\ny = (1/%d) sum_b Q[b,c[b]]' % (bound, B),
            [total(picked) * (1 / B)], kind, '')


def ln_of_sum(rng):
    """ln sum exp, with several indices, masks and factors, and numbers that are far apart."""
    x, T, K = Tensors(), rng.randint(1, 4), rng.randint(1, 3)
    bound, keeps = draw_mask(rng)
    far = rng.choice([(), (-1e9, 3.0), (-1e4, 3.3), (-1e30, 3.0), (-INF, 3.0), (INF,), (1e5,)])
    a = x.new('a', T, T, values=junk_outside(rng, keeps, T, T, some_numbers(rng, T * T, *far)))
    v = x.new('v', T, values=some_numbers(rng, T, *far[:1] if rng.random() < .3 else ()))
    w = x.new('w', T, T, values=junk_outside(
        rng, keeps, T, T, [round(rng.uniform(.2, 2), 2) for _ in range(T * T)]))
    u = x.new('u', T, K, values=some_numbers(rng, T * K, *far))
    over, exponent, z = rng.choice([
        ('s', 'a[t,s]', lambda t, s, k: a(t, s)), ('s', 'v[s]', lambda t, s, k: v(s)),
        ('s', 'a[t,s] - v[s]', lambda t, s, k: a(t, s) - v(s)),
        ('{s,k}', 'a[t,s] + u[s,k]', lambda t, s, k: a(t, s) + u(s, k)),
        ('{s,k}', 'u[s,k]', lambda t, s, k: u(s, k)),
        ('s', 'a[t,s]/2 + v[t]', lambda t, s, k: a(t, s) * 0.5 + v(t))])
    weight, f = rng.choice([('', lambda t, s: 1.0)] * 2 + [
        ('2 ', lambda t, s: 2.0), ('w[t,s] ', w), ('0.5 w[t,s] ', lambda t, s: 0.5 * w(t, s))])
    inside = [[(s, k) for s in range(T) for k in range(K if 'k' in over else 1) if keeps(s, t)]
              for t in range(T)]
    if bound and rng.random() < .3 or 't' not in exponent + weight + bound:
        return None
    answer = [ln_sum_exp([z(t, s, k) for s, k in inside[t]], [f(t, s) for s, k in inside[t]])
              for t in range(T)]
    form, g = rng.choice([('ln %s', lambda y, t: y), ('-ln %s', lambda y, t: -y),
                          ('v[t] - 2 ln(%s)', lambda y, t: v(t) - 2 * y),
                          ('(log %s)^2', lambda y, t: y * y)])
    text = 'y[t] = ' + form % ('sum_%s %sexp(%s)' % (over, weight, exponent)) + bound
    kind = 'ln sum exp' + ' mask' * bool(bound)
    return x, text, [g(y, t) for t, y in enumerate(answer)], kind, ''


def attention(rng):
    """Scores with junk outside the mask, and values that some rows do not reach."""
    x, T, D, J = Tensors(), rng.randint(2, 4), rng.randint(1, 3), rng.randint(1, 2)
    bound, keeps = draw_mask(rng)
    reached = [any(keeps(s, t) for t in range(T)) for s in range(T)]
    a = x.new('a', T, T, values=junk_outside(rng, keeps, T, T, some_numbers(rng, T * T)))
    q, k = [x.new(name, T, D, values=some_numbers(rng, T * D)) for name in 'qk']
    strange = rng.choice([(), (), (INF, -INF, NAN, 1e308)])
    v = x.new('v', T, J, values=[
        n if reached[i // J] or not strange else rng.choice(strange) for i, n in enumerate(
            some_numbers(rng, T * J, *strange if bound and rng.random() < .5 else ()))])
    score, z = rng.choice([
        ('a[t,s]', a), ('(1/sqrt D) q[t,D] k[s,D]', lambda t, s: total(
            q(t, d) * k(s, d) for d in range(D)) * (1 / D ** .5)),
        ('(q[t,0] k[s,0] + a[t,s])', lambda t, s: q(t, 0) * k(s, 0) + a(t, s)),
        ('0.5 a[t,s]', lambda t, s: 0.5 * a(t, s))])
    kept = [[s for s in range(T) if keeps(s, t)] for t in range(T)]
    P = [dict(zip(kept[t], softmax([z(t, s) for s in kept[t]]) if kept[t] else []))
         for t in range(T)]
    capital = bound.replace('s', 'S')
    text, masked = rng.choice([
        ('P[t,s] = softmax_s %s%s\ny[t,j] = P[t,S] v[S,j]%s' % (score, bound, capital), 1),
        ('P[t,s] = softmax_s %s%s\ny[t,j] = P[t,S] v[S,j]' % (score, bound), 0),
        ('P[t,s] = softmax_s %s%s\ny[t,j] += P[t,s] v[s,j]%s' % (score, bound, bound), 1),
        ('y[t,j] = sum_s (softmax_s %s) v[s,j]%s' % (score, bound), 1)])
    answer = [total((P[t].get(s, 0.0)) * v(s, j) for s in (kept[t] if masked else range(T)))
              for t in range(T) for j in range(J)]
    return x, text, answer, 'mask' * bool(bound), ''


def lookup(rng):
    """A lookup at a shifted position. Outside the tensor it selects nothing."""
    x, T, K, I = Tensors(), rng.randint(1, 4), rng.randint(1, 4), rng.randint(1, 2)
    shift, at = rng.choice([-2, -1, 1, 2, -1]), [rng.randrange(K) for _ in range(T)]
    x.new('w', T, values=[float(k) for k in at])
    E = x.new('E', K, I, values=some_numbers(rng, K * I))
    v, classes = x.new('v', T, values=some_numbers(rng, T)), 'w[t%+d]' % shift
    row = lambda t, i: E(at[t + shift], i) if 0 <= t + shift < T else 0.0
    text, answer = rng.choice([
        ('y[t,i] = E[%s,i] | t<%d', lambda: [row(t, i) for t in range(T) for i in range(I)]),
        ('y[t,i] = 2 E[%s,i] v[t] + 1 | t<%d', lambda: [
            2 * row(t, i) * v(t) + 1 for t in range(T) for i in range(I)]),
        ('y[i] = sum_t v[t] E[%s,i] | t<%d', lambda: [
            total(v(t) * row(t, i) for t in range(T)) for i in range(I)]),
        ('y[i] += tanh(E[%s,i]) | t<%d', lambda: [
            total(FUNCTIONS['tanh'](number(row(t, i))) for t in range(T)) for i in range(I)])])
    return x, text % (classes, T), answer(), 'lookup', ''


def refused(rng):
    """Texts that must be errors, and texts beside them that are none."""
    x, n, a, b, c = Tensors(), rng.randint(2, 4), *rng.sample('ghpqrvz', 3)
    i, I = rng.choice(['iI', 'jJ', 'kK', 'dD'])
    A, B, C = [x.new(name, n, values=some_numbers(rng, n)) for name in (a, b, c)]
    tensors = dict(a=a, b=b, c=c, i=i, I=I)
    form = rng.randint(0, 4)
    if form == 0:                                    # two = lines for one tensor
        text = rng.choice([
            'y[0] = {a}[0]\ny[{i}+1] = {b}[{i}]', 'y[{i}+1] = {b}[{i}]\ny[0] = {a}[1]',
            'y[{i}] = {a}[{i}]\ny[{i}] = {b}[{i}] {c}[{i}]', 'y = {a}[{I}] {b}[{I}]\ny = 2',
            'y[{i},0] = {a}[{i}]\ny[{i},1] = {b}[{i}]', 'y[0] = 1\ny[1] = {a}[0]',
            'y[{i}] = {a}[{i}]\ny[{i}] += {c}[{i}]\ny[{i}] = {b}[{i}]'])
        if rng.random() < .5:
            text += '\nz0[{i}] = y[{i}] + 1' if 'y[{i}]' in text else ''
        return x, text.format(**tensors), (), 'two = lines', 'y is already|join|;'
    if form == 1:
        return (x, 'y[{i}] = {a}[{i}]\ny[{i}] += {b}[{i}] {c}[{i}]'.format(**tensors),
                [A(k) + B(k) * C(k) for k in range(n)], '', '')
    if form == 2:                                    # a sum that reaches into a bracket
        outer = rng.choice(['{a}[{I}]', '{a}[{I}] {b}[{I}]', '2 {a}[{I}] {b}[{I}]^2'])
        inner = rng.choice(['{a}[{I}] {c}[{I}]', '2 {b}[{I}] {c}[{I}]', '1 + {a}[{I}] {c}[{I}]',
                            '{b}[{I}]^2 + 1', '{c}[{I}] exp({a}[{I}])'])
        text = 'y = ' + outer + rng.choice([' / (%s)', ' (%s)^2', ' / (%s)^2', ' (%s)^-1',
                                            ' / sqrt(%s)', ' / (1 + (%s))']) % inner
        return x, text.format(**tensors), (), 'one sum or two', 'one sum over'
    if form == 3:
        text, f = rng.choice([
            ('{a}[{I}] / ({b}[{I}] + {c}[{I}])', lambda k: A(k) / (B(k) + C(k))),
            ('{a}[{I}] ({b}[{I}] - {c}[{I}])^2', lambda k: A(k) * (B(k) - C(k)) ** 2),
            ('{a}[{I}] {b}[{I}] / {c}[{I}]^2', lambda k: A(k) * B(k) / C(k) ** 2)])
        return (x, 'y = ' + text.format(**tensors), [total(f(k) for k in range(n))], '', '')
    top = lambda f: total(f(k) for k in range(n))
    return (x, 'y = {a}[{I}] {b}[{I}] / ({b}[{J}] {c}[{J}])'.format(J='M', **tensors),
            [top(lambda k: A(k) * B(k)) / top(lambda k: B(k) * C(k))], '', '')


SLIDES = [decay, loss, ln_of_sum, attention, lookup, refused]


def cases(seed, count):
    rng = random.Random(seed)
    while count > 0:
        case = trees(rng) if count % 2 else rng.choice(SLIDES)(rng)
        if case:
            count -= 1
            yield Case(*case)


def main():
    program, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    made = list(cases(seed, count))
    sys.exit(not report('hard-%d' % seed, made, [program], LIMITS, 0.1))


main()
