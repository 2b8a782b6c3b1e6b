"""Random texts with the forms of papers: where(), masks of any positions, positions with lookups,
powers that are tensors, prod_ norm_ std_ logsumexp_ silu erf log1p expm1 clamp. They are the lines
of texts.py with further factors, functions and masks, and are compared in the same way.

    python3 forms.py PROGRAM SEED COUNT                 PROGRAM: run.c, built"""
import math
import random
import sys

import texts
from reference import (FUNCTIONS, Case, Number, exp, greatest, ln, ln_sum_exp, mean, number, of,
                       power, product, report, sigmoid, softplus, sqrt, total)
from texts import EXTENT, RIGHT_ERRORS, Line


def erf(x):
    slope = 2 / math.sqrt(math.pi) * math.exp(-x.value ** 2)
    return of(x, math.erf(x.value), slope, slope * (1 + 2 * abs(x.value) * x.error))


def silu(x):
    return x * sigmoid(x)


def log1p(x):
    return ln(1 + x)


def expm1(x):
    return exp(x) - 1


def clamp(x):
    x = number(x)
    if x.is_near(Number(-0.3)) or x.is_near(Number(0.4)):
        return Number(x.value, math.inf, ((x, 1.0, math.inf),))
    return x if -0.3 <= x.value <= 0.4 else number(-0.3 if x.value < 0 else 0.4)


def norm(v):
    return sqrt(total([x * x for x in v])) if v else number(0)


def std(v):
    m = mean(v)
    return sqrt(mean([(x - m) * (x - m) for x in v]))


PLAIN = {'silu': silu, 'erf': erf, 'expm1': expm1}
OVER = {'prod': lambda v: product([number(1)] + v), 'norm': norm, 'logsumexp': ln_sum_exp,
        'std': std}
MASKS = [('%s!=%s', lambda x, y: x != y), ('%s>=%s', lambda x, y: x >= y),
         ('%s-1<%s', lambda x, y: x - 1 < y), ('%s<=%s+1', lambda x, y: x <= y + 1),
         ('%s<2*%s', lambda x, y: x < 2 * y), ('%s=%s', lambda x, y: x == y)]
CLASSES = [1.0, 3.0]                     # the lengths n[j] and the first positions p[j]


class Forms(Line):
    def __init__(self, rng):
        super().__init__(rng)
        self.n = self.table = None

    def lengths(self):
        """The Parameter n[j], whose entries are whole."""
        if not self.n:
            self.n = self.tensors.new('n', EXTENT['j'], values=CLASSES)
        return self.n

    def draw_masks(self):
        rng = self.rng
        for _ in range(rng.choice([0, 1, 1, 2])):
            if rng.random() < .35:
                self.lengths()
                self.masks.append((rng.choice('tsu'), 'j', '%s<n[%s]',
                                   lambda x, y: x < CLASSES[y]))
            else:
                self.masks.append((*rng.sample('tsu', 2), *rng.choice(MASKS)))
        self.bounds = [(a, b, holds) for a, b, _, holds in self.masks]

    def small(self, known, caps):
        """A tensor with a number, as a sum."""
        text, value, has = self.tensor(self.some(known, 2), caps)
        form, number = self.rng.choice([('%s', 0), ('2 %s', 1), ('%s - 0.3', 2), ('-%s', 3)])
        f = [lambda x: x, lambda x: 2 * x, lambda x: x - 0.3, lambda x: -x][number]
        return form % text, lambda env: f(value(env)), has

    def condition(self, known, caps):
        rng, sign, holds = self.rng, *self.rng.choice(self.TESTS)
        a, x, its = self.small(known, caps)
        if rng.random() < .5 and sorted(known - caps):
            c = rng.choice(sorted(known - caps))
            return '%s %s %s' % (c, sign, a), its | {c}, lambda env: holds(env[c], float(x(env)))
        b, y, also = self.small(known, caps)
        if a == b:
            raise KeyError               # rounding would decide
        return '%s %s %s' % (a, sign, b), its | also, \
            lambda env: holds(float(x(env)), float(y(env)))

    def factor(self, known, caps, depth):
        rng, x = self.rng, self.rng.random()
        if depth <= 0 or x > .45:
            return super().factor(known, caps, depth)
        text, value, has = self.sum(known, caps, 0, 2)
        if x < .15:
            test, its, holds = self.condition(known, caps)
            more, other, also = self.small(known, caps)
            return 'where(%s, %s, %s)' % (test, text, more), \
                lambda env: value(env) if holds(env) else other(env), has | its | also
        if x < .25:
            name, f = rng.choice(list(PLAIN.items()))
            return '%s(%s)' % (name, text), lambda env: f(number(value(env))), has
        if x < .29:
            return 'log1p(exp(%s))' % text, lambda env: log1p(exp(value(env))), has
        if x < .33:
            return 'clamp(%s, -0.3, 0.4)' % text, lambda env: clamp(value(env)), has
        if x < .39:
            other, p, its = self.tensor(self.some(known - caps, 2), caps)
            return 'softplus(%s)^%s' % (text, other), \
                lambda env: exp(p(env) * ln(softplus(number(value(env))))), has | its
        small = sorted(known - caps - {'j'})
        if 'j' not in known - caps or not small:
            raise KeyError
        self.lengths()
        self.table = self.table or self.tensors.new('X', 7)
        c, table = rng.choice(small), self.table
        place = rng.choice(['n[j]+%s', '%s+n[j]', 'n[j]-1+%s'])
        minus = 1 if '-' in place else 0
        return 'X[%s]' % (place % c), \
            lambda env: table(int(CLASSES[env['j']]) + env[c] - minus), {'j', c}

    def function_over(self, known, caps, depth):
        free = self.may_sum(known)
        if depth <= 0 or not free or self.rng.random() < .6:
            return super().function_over(known, caps, depth)
        c, name = self.rng.choice(free), self.rng.choice(list(OVER))
        if name == 'std' and self.beyond({c}):
            raise KeyError               # a mask is an error
        self.taken.add(c)
        text, value, has = self.tensor([c] + self.some(known, 1), caps)
        more, other, also = self.sum(known | {c}, caps, 0, 2)
        first, has = value, has | also

        def over(env):
            inside = [dict(env, **{c: i}) for i in range(EXTENT[c])]
            v = [first(e) + other(e) for e in inside if self.kept(e, {c})]
            if not v and name == 'logsumexp':
                raise ZeroDivisionError
            return OVER[name](v)
        return '%s_%s(%s + (%s))' % (name, c, text, more), over, (has - {c}) | self.beyond({c})


def main():
    program, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng, made = random.Random(seed), []
    while len(made) < count:
        try:
            case = Forms(rng).case()
        except (KeyError, OverflowError, ZeroDivisionError, RecursionError):
            continue
        if case:
            made.append(Case(*case))
    sys.exit(not report('forms-%d' % seed, made, [program], RIGHT_ERRORS, 0.02))


main()
