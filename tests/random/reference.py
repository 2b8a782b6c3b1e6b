"""Numbers of the reference, and the comparison of a program's numbers with them. A number has
its value, a bound of its error, and its derivatives by the numbers from which it was computed.

The error counts roundings: a sum has the sum of the absolute values of what was added, and a
function multiplies the error of its argument by its derivative. It is infinite if the result is
undecided: if it depends on the order of the operations, or on an infinitely small difference."""
import math
import re
import subprocess
import sys

INF, NAN = math.inf, math.nan
TOLERANCE = 1e-11                        # times the error: some thousand roundings
TAPE = []                                # all numbers of a text, in the order of their making


class Number:
    """`parts`: triples of a number, the derivative by it, and the error of the derivative."""
    __slots__ = ('value', 'error', 'parts', 'grad', 'grad_error', 'log', 'movable')

    def __init__(self, value, error=0.0, parts=()):
        if not -INF < value < INF:                   # an infinity or NaN is exact or undecided
            error = 0.0 if error < INF else INF
        elif 0 < abs(value) < 1e-290:
            error += 1e-270
        self.value, self.error, self.parts, self.log = value, error, parts, None
        self.grad, self.grad_error, self.movable = None, 0.0, False
        TAPE.append(self)

    def __add__(self, other):
        return total((self, other))
    __radd__ = __add__

    def __sub__(self, other):
        return total((self, -other))

    def __rsub__(self, other):
        return total((other, -self))

    def __neg__(self):
        return Number(-self.value, self.error, ((self, -1.0, 0.0),))

    def __mul__(self, other):
        return times(self, number(other))
    __rmul__ = __mul__

    def __truediv__(self, other):
        return times(self, power(number(other), -1))

    def __rtruediv__(self, other):
        return times(number(other), power(self, -1))

    def __pow__(self, exponent):
        return power(self, exponent)

    def __lt__(self, other):
        return self.value < float(other)

    def __gt__(self, other):
        return self.value > float(other)

    def __float__(self):
        return self.value

    def is_near(self, other):
        """Returns 1 if rounding may change the order of the two numbers."""
        error = self.error + other.error
        return error > 0 and not abs(self.value - other.value) > TOLERANCE * error


def number(x):
    return x if isinstance(x, Number) else Number(float(x))


def scaled(a, b):
    return abs(a) * abs(b) if a and b else 0.0       # also if the other one is infinite


def carried(error, slope):
    return INF if error == INF else scaled(error, slope)


def slope_at(x, slope):
    """The slope of a function that has no greatest slope. If x is undecided, it is, too: it may
    be infinite."""
    return NAN if x.error == INF else slope


def exponent_error(x, top, e):
    """The error of e = exp(x - top) times a number."""
    return carried(x.error, e) + scaled(abs(x.value - top) + 1, e)


# ---- Arithmetic
def total(terms):
    """The sum. It is undecided if a partial sum may overflow."""
    value = error = size = 0.0
    numbers = [number(t) for t in terms]
    for t in numbers:
        value += t.value
        error += t.error
        if math.isfinite(t.value):
            size += abs(t.value)
    return Number(value, error + size, [(t, 1.0, 0.0) for t in numbers])


def times(a, b):
    value = a.value * b.value
    error = carried(a.error, b.value) + carried(b.error, a.value)
    if value == 0 and a.value and b.value:           # too small for a double
        error += 1e-270
    if math.isfinite(value):
        error += abs(value)
    return Number(value, error, ((a, b.value, b.error), (b, a.value, a.error)))


def product(factors, movable=False):
    """The product. It is undecided if another order overflows. If it is movable, a sum around it
    may be computed in parts, so that an infinity is undecided. So it is in the gradient of
    more than two factors."""
    factors = [number(f) for f in factors]
    result = factors[0]
    for f in factors[1:]:
        result = times(result, f)
        result.movable = movable or len(factors) > 2
    if len(factors) > 2 or movable:
        sizes = [math.log10(abs(f.value)) for f in factors
                 if f.value and math.isfinite(f.value)]
        large, small = sum(x for x in sizes if x > 0), sum(x for x in sizes if x < 0)
        unsure = large > 307 or (small < -290 and large > 10)
        if unsure or movable and not math.isfinite(result.value):
            result.error = INF
    return result


def power(x, p):
    def raised(p):
        try:
            return math.pow(x.value, p)
        except OverflowError:
            return -INF if x.value < 0 and p % 2 == 1 else INF
        except ValueError:
            return NAN if x.value else INF
    value, slope = raised(p), p * raised(p - 1) if p else 0.0
    bend = p * (p - 1) * raised(p - 2) if p not in (0, 1) else 0.0
    error = carried(x.error, slope) + (abs(value) if math.isfinite(value) else 0)
    if p < 0 and (x.value == 0 and x.parts or x.is_near(Number(0.0))):
        error = INF                                  # 1/0 has the sign of the 0
    if p != int(p) and (x.is_near(Number(0.0)) or x.value == -INF):
        error = INF
    slope_error = carried(x.error, bend) + abs(slope)
    if math.isnan(value) or p < 0 and 1e100 < abs(x.value) < INF:
        slope_error = INF
    return Number(value, error, ((x, slope_at(x, slope), slope_error),))


# ---- Functions
def of(x, value, slope, slope_error, rounding=1.0):
    return Number(value, carried(x.error, slope) + rounding,
                  ((x, slope, INF if math.isnan(value) else slope_error),))


def exp_of(x):
    try:
        return math.exp(x)
    except OverflowError:
        return INF


def sigmoid_of(x):
    return 1 / (1 + exp_of(-x))


def exp(x):
    x = number(x)
    value, margin = exp_of(x.value), TOLERANCE * x.error
    y = of(x, value, slope_at(x, value), carried(x.error, value) + value, value)
    if math.isinf(exp_of(x.value + margin)) != math.isinf(exp_of(x.value - margin)):
        y.error = INF
    return y


def ln(x):
    x = number(x)
    if x.log:                                        # x is a softmax
        return x.log
    value = math.log(x.value) if x.value > 0 else NAN if x.value else -INF
    slope = 1 / x.value if x.value else INF
    y = of(x, value, slope_at(x, slope), carried(x.error, slope * slope) + abs(slope),
           abs(value) + 1)
    if x.is_near(Number(0.0)):
        y.error = INF
    return y


def sqrt(x):
    y = power(number(x), 0.5)
    if y.parts[0][0].value == -INF:
        y.value, y.error, y.parts = NAN, 0.0, ((y.parts[0][0], NAN, INF),)
    return y


def tanh(x):
    y = math.tanh(x.value)
    return of(x, y, 1 - y * y, 1 + 2 * x.error)


def sin(x):
    finite = math.isfinite(x.value)
    return of(x, math.sin(x.value) if finite else NAN, math.cos(x.value) if finite else NAN,
              1 + x.error)


def sigmoid(x):
    y = sigmoid_of(x.value)
    return of(x, y, y * (1 - y), 1 + x.error)


def softplus(x):
    value = max(x.value, 0.0) + math.log1p(exp_of(-abs(x.value)))
    return of(x, value if x.value == x.value else NAN, sigmoid_of(x.value), 1 + x.error,
              1 + abs(value))


def bent(x, below, above):
    """A line with another slope on each side of 0. The slope at 0 is 0."""
    slope = above if x.value > 0 else below if x.value < 0 else 0.0
    value = abs(x.value) if below else x.value if x.value > 0 else 0.0
    unsure = x.is_near(Number(0.0)) or x.value != x.value
    return Number(value, INF if x.value != x.value else x.error + abs(value),
                  ((x, slope, INF if unsure else 0.0),))


def absolute(x):
    return bent(x, -1.0, 1.0)


def relu(x):
    return bent(x, 0.0, 1.0)


FUNCTIONS = {'tanh': tanh, 'exp': exp, 'sin': sin, 'sig': sigmoid, 'softplus': softplus}


# ---- Reductions over a list
def greatest(v, sign=1):
    """The maximum, or with the sign -1 the minimum. Its first entry gets the gradient. If all are
    minus infinity, entries that a mask excludes are not smaller."""
    v = [number(x) for x in v]
    at = max(range(len(v)), key=lambda k: sign * v[k].value)
    close = any(k != at and x.is_near(v[at]) for k, x in enumerate(v))
    unsure = any(x.value != x.value for x in v)
    slope_error = INF if close or unsure or v[at].value == -sign * INF else 0.0
    return Number(v[at].value, INF if unsure else max(x.error for x in v) + abs(v[at].value)
                  if math.isfinite(v[at].value) else 0.0,
                  [(x, float(k == at), slope_error) for k, x in enumerate(v)])


def smaller(x, y):
    """min(x,y). At x = y the gradient is undecided."""
    z = greatest([x, y], -1)
    if float(x) == float(y):
        z.parts = [(part, slope, INF) for part, slope, _ in z.parts]
    return z


def mean(v):
    return total(v) * (1 / len(v))


def ln_sum_exp(x, weights=None):
    """ln of the sum of w exp(x). Subtracts the greatest x, so that nothing overflows."""
    x, w = [number(z) for z in x], [number(z) for z in weights or [1.0] * len(x)]
    if not x:
        return Number(-INF)
    if any(z.value != z.value for z in x + w):
        error = INF if any(z.error == INF for z in x + w) else 0.0
        return Number(NAN, error, [(z, NAN, INF) for z in x + w])
    top = max(z.value for z in x)
    if math.isinf(top):
        return Number(top, 0.0 if all(0 < z.value < INF for z in w) else INF,
                      [(z, NAN, INF) for z in x + w])
    e = [math.exp(z.value - top) for z in x]
    s = sum(a * z.value for a, z in zip(e, w))
    value = top + math.log(s) if s > 0 else NAN
    if not s > 0 or math.isinf(s):
        return Number(value, INF, [(z, NAN, INF) for z in x + w])
    p = [a * z.value / s for a, z in zip(e, w)]
    errors = [exponent_error(z, top, a) + scaled(b / s, u.error)
              for a, b, z, u in zip(p, e, x, w)]
    error = sum(errors) + abs(top) + abs(value) + 1  # of exp(x - value), too
    return Number(value, error,
                  [(z, a, r + scaled(a, error)) for z, a, r in zip(x, p, errors)] +
                  [(u, b / s, scaled(b / s, error + z.error + abs(z.value - top) + 1))
                   for u, b, z in zip(w, e, x)])


def log_softmax(x):
    x = [number(z) for z in x]
    whole = ln_sum_exp(x)
    if not math.isfinite(whole.value):               # all are -infinity, one is infinity or NaN
        error = whole.error if math.isnan(whole.value) else INF
        return [Number(NAN, error, [(z, NAN, INF) for z in x]) for _ in x]
    logs = [total((z, -whole)) for z in x]
    top = max(z.value for z in x)
    rest = math.log(sum(math.exp(z.value - top) for z in x))
    for y, z in zip(logs, x):
        y.value = z.value - top - rest               # whole.value has lost the digits of rest
    for y in logs + [whole]:
        y.movable = True
    return logs


def softmax(x):
    """Each entry has its logarithm beside it, which is exact also if the entry is 0."""
    x, logs, result = [number(z) for z in x], log_softmax(x), []
    if any(math.isnan(y.value) for y in logs):
        return [exp(y) for y in logs]
    top = max(z.value for z in x)
    e = [math.exp(z.value - top) for z in x]
    p = [a / sum(e) for a in e]
    errors = [exponent_error(z, top, a) for a, z in zip(p, x)]
    shared = sum(errors)
    errors = [e + carried(shared, a) for a, e in zip(p, errors)]
    for a, r, log in zip(p, errors, logs):
        y = Number(a, r, [(z, a * ((log is l) - b), r + scaled(a, s))
                          for z, b, s, l in zip(x, p, errors, logs)])
        y.log, y.movable = log, True
        result.append(y)
    return result


# ---- Gradients
def backward(answer):
    """Computes the gradients of the mean of the answer by all numbers. None: it has none."""
    for y in answer:
        y.grad = (y.grad or 0.0) + 1 / len(answer)
    for y in reversed(TAPE):
        g, error = y.grad, y.grad_error
        if g is None:
            continue
        for x, slope, slope_error in y.parts:
            c = g * slope
            if -INF < c < INF:
                x.grad_error += scaled(error, slope) + scaled(g, slope_error) + abs(c)
                if c == 0 and g and slope:           # too small for a double
                    x.grad_error += 1e-270
            elif error == INF or slope_error == INF or slope == 0 or g == 0 or y.movable \
                    or math.isfinite(g) and math.isfinite(slope):
                x.grad_error = INF                   # 0 times infinity, or an overflow
            before = x.grad or 0.0
            x.grad = before + c
            if not -INF < x.grad < INF and -INF < before < INF and -INF < c < INF:
                x.grad_error = INF


def compare(found, right, error, is_gradient):
    """Returns 1 if the number agrees, None if it is undecided, else 0. A gradient may be NaN or
    infinite: which of the two depends on the formula, as in p (g - sum p g). A huge one may
    overflow in another order."""
    if not error < INF or is_gradient and abs(right) > 1e280 and not math.isfinite(found):
        return None
    if not math.isfinite(right):
        if found == right or found != found and right != right:
            return 1
        return None if is_gradient and not math.isfinite(found) else 0
    return abs(found - right) <= TOLERANCE * error + 1e-280


# ---- Cases and their judgement
class Tensors:
    """The tensors of a text, in the order of their declaration. Entry i of tensor n is
    sin(1 + 0.7 n + 1.3 i), unless `values` are given. Outside a tensor the entries are 0. A
    tensor with a batch is an Input, and the first of its sizes is the number of rows."""
    def __init__(self):
        self.list, self.entries = [], []
        TAPE.clear()

    def new(self, name, *dims, batch=False, values=None):
        n = len(self.list)
        places = ','.join(['b'] * batch + [str(d) for d in dims[batch:]])
        self.list.append(name + ('[%s]' % places if dims else '')
                         + (' %d' % dims[0] if batch else '')
                         + (' = ' + ' '.join(map(repr, values)) if values else ''))
        values = values or [math.sin(1 + 0.7 * n + 1.3 * i) for i in range(math.prod(dims))]
        numbers = [Number(v) for v in values]
        self.entries.append(numbers)

        def entry(*index):
            at = 0
            for size, i in zip(dims, index):
                if not 0 <= i < size:
                    return Number(0.0)
                at = at * size + i
            return numbers[at]
        return entry


class Case:
    """A text with its right values and gradients, each with its error. `kind` says what is
    special in the text. If it must be an error, it has no answer, and `refused` has words of the
    message. If it has an answer and `refused`, notes/notation.md leaves open which is right."""
    def __init__(self, tensors, text, answer=(), kind='', refused=''):
        self.list, self.text, self.kind, self.refused = tensors.list, text, kind, refused
        self.must_stop = not answer
        answer = [number(y) for y in answer]
        if answer:
            backward(answer)
        self.values = [(y.value, y.error) for y in answer]
        self.grads = [[(x.grad or 0.0, x.grad_error) for x in numbers]
                      for numbers in tensors.entries]

    def declared(self):
        return ''.join(line + '\n' for line in self.list)

    def judge(self, line, limits):
        """Returns 'right', 'refused', 'undecided', or what is wrong. `line` is printed by run.c:
        for each kernel the values, and after each | the gradients of a tensor."""
        if 'error' in line:
            if any(words in line for words in limits) or \
                    self.refused and re.search(self.refused, line):
                return 'refused'
            return 'an error'
        if self.must_stop:
            return 'no error'
        undecided = 0
        passes = line.split(';')
        if len(passes) != 2:
            return 'no numbers'
        for numbers in passes[:1] if passes[0] == passes[1] else passes:
            values, *grads = [[float(w) for w in part.split()] for part in numbers.split('|')]
            sides = [('values', self.values, values)]
            sides += [('gradient %d' % n, right, (grads or [[] for _ in self.grads])[n])
                      for n, right in enumerate(self.grads)]
            for what, right, found in sides:
                if what != 'values' and not found:   # no gradient reaches the tensor
                    found = [0.0] * len(right)
                if len(found) != len(right):
                    return 'number of ' + what
                for at, ((r, error), f) in enumerate(zip(right, found)):
                    same = compare(f, r, error, what != 'values')
                    undecided += same is None
                    if same == 0:
                        return '%s, entry %d is %.12g, right is %.12g' % (what, at, f, r)
        return 'undecided' if undecided else 'right'


def report(name, cases, program, limits, most_undecided):
    """Runs the program on the cases, and prints a line. If texts are wrong, prints for each kind
    how many there are, and the shortest of them. Returns 1 if the program passes."""
    asked = ''.join('%s---\n%s\nEND\n' % (c.declared(), c.text) for c in cases)
    said = subprocess.run(program, input=asked, capture_output=True, text=True)
    lines = said.stdout.split('\n')
    lines += [''] * (len(cases) - len(lines))
    count, wrong = {'right': 0, 'refused': 0, 'undecided': 0}, {}
    for case, line in zip(cases, lines):
        verdict = case.judge(line, limits)
        if verdict in count:
            count[verdict] += 1
        else:
            wrong.setdefault(case.kind, []).append((case, verdict, line))
    for kind, texts in sorted(wrong.items()):
        case, verdict, line = min(texts, key=lambda w: len(w[0].text) + len(w[0].declared()))
        print('not ok %s: %d wrong %s, the shortest: %s\n  %s\n  %s\n  right %s\n  found %s' % (
            name, len(texts), ('of kind ' + case.kind).strip(), verdict,
            case.declared().replace('\n', '\n  ').strip(), case.text.replace('\n', '\n  '),
            'an error' if case.must_stop else ' '.join('%.6g' % v[0] for v in case.values[:8]),
            line.replace('~', '\n  ')[:600]))
    bad = sum(map(len, wrong.values()))
    passes = not bad and count['undecided'] <= most_undecided * len(cases) \
        and count['right'] > len(cases) // 2
    print('%s %s: %d of %d right, %d rightly refused, %d undecided%s' % (
        'ok' if passes else 'not ok', name, count['right'], len(cases), count['refused'],
        count['undecided'], ', %d wrong' % bad if bad else ''))
    sys.stdout.flush()
    return passes
