"""Random C programs with two edf.h, that of 2.0 and that of the working tree. Compares values,
gradients, Parameters after each step and errors. oracle.h has what the programs share.

  python3 tests/oracle.py [--old DIR] --new . --seed 1 --count 300 [--real float] [--plant]

The old header comes from git if DIR is missing. The shortest program that differs is printed
and written to build/oracle/differs.c. --plant puts six mistakes into copies of the new tree."""
import argparse, collections, concurrent.futures, glob, hashlib, itertools, os, random, re
import subprocess, sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD, COMMIT = os.environ.get('ORACLE_BUILD', ROOT + '/build/oracle'), '72c597f'
TEXTS = {}                               # TEXTS['cases'] draws whole slides
with open(ROOT + '/tests/random/texts.py') as file:
    exec(file.read().rsplit('main()', 1)[0], TEXTS)


class Build:
    """A C function that builds a graph. It runs at each step that has a new graph."""
    def __init__(self, rng):
        self.rng, self.pick, self.chance = rng, rng.choice, lambda p: rng.random() < p
        self.once, self.nodes, self.shapes = [], [], {}
        self.slide, self.fills, self.batch_norm = False, True, False

    def static(self, kind, letter, call):
        name = '%s%d' % (letter, len(self.once))
        self.once.append('static %s %s;' % (kind, name))
        self.once.append('if (first) %s = %s;' % (name, call % {'n': name}))
        return name

    def tensor(self, shape, feeds=None):
        """Declares an Input if the shape has a batch, else a Parameter."""
        places = '[%s]' % ','.join(map(str, shape)) if shape else ''
        call = 'input("%%(n)s%s", %s)' % (places, feeds or 'REALS') if 'b' in shape \
            else 'parameter("%%(n)s%s")' % places
        name = self.static('edf_node *', 'x' if 'b' in shape else 'w', call)
        self.shapes[name] = None if feeds else tuple(shape)
        return name

    def operand(self, shape):
        same = [n for n in self.shapes if self.shapes[n] == tuple(shape)]
        if same and self.chance(.4):
            return self.pick(same)
        name = self.tensor(shape)
        return self.node('edf_tanh(%s)' % name, shape) if self.chance(.25) else name

    def struct(self, kind, call, fields):
        """Declares a struct of Parameters."""
        self.slide |= kind != 'affine'
        name = self.static('edf_%s_package' % kind, 'p', call)
        for f in fields.split():
            see = 'see("%s.%s", %s.%s)' % (name, f, name, f)
            fills = self.fills and f not in ('mean', 'variance')
            self.once.append('if (first) %s;' % ('fill(%s)' % see if fills else see))
        return name

    def node(self, call, shape=None):
        name = 'n%d' % len(self.shapes)
        self.nodes.append('edf_node *%s = see("%s", %s);' % (name, name, call))
        self.shapes[name] = None if shape is None else tuple(shape)
        return name

    def equations(self, text):
        self.slide = True
        y = self.node('edf_equations("%s")' % text.replace('\n', '\\n"\n    "'))
        self.nodes.append('see_parameters();')
        return y


# ---- Kinds. Each returns its last node, the shape or None, and 1 if the batch comes first.
def einsum(b):
    """Products of up to three factors: strides, padding, scatter, diagonals, repetition."""
    r, bounds, alone, made = b.rng, set(), set(), []
    size = dict({c: r.randint(1, 4) for c in 'ijkeMNP'}, b='b', B='b')
    padded = {c for c in 'ijkeMNP' if b.chance(.5)}
    left = sorted(r.sample('bijk', b.pick([0, 1, 1, 2, 2, 3])))
    places = list(left)
    scatter = left and left[-1] != 'b' and b.chance(.25)
    if scatter:
        places[-1] = b.pick(['%s+e', '2*%s+e', '3*%s+2*e', '%s+e+1']) % left[-1]
        left.append('e')

    def factor(letters):
        r.shuffle(letters)
        texts = [c for c in letters if c in 'bB']
        dims, letters = ['b'] * len(texts), [c for c in letters if c not in 'bB']
        while letters:
            inside = [letters.pop()]
            if b.chance(.65):
                alone.update(inside)
                more = inside[0] in padded and b.chance(.3)      # the bound is smaller
                bounds.update(inside * more)
                times = b.pick([1] * 11 + [2])                   # a diagonal
                texts, dims = texts + inside * times, dims + [size[inside[0]] + more] * times
                continue
            inside += [letters.pop()] if letters and b.chance(.7) else []
            steps, begin = [r.randint(1, 3) for _ in inside], r.randint(0, 1)
            reach = sum(s * (size[c] - 1) for s, c in zip(steps, inside)) + 1 + begin
            if set(inside) <= padded:
                begin, reach = r.randint(-2, 1), max(1, reach + r.randint(-2, 1))
                bounds.update(inside)
            texts.append('+'.join(['%d*' % s * (s > 1) + c for s, c in zip(steps, inside)]) +
                         '%+d' % begin * (begin != 0))
            dims.append(reach)
        if b.chance(.1):
            texts, dims = texts + ['1'], dims + [2]
        old = [n for n in made if b.shapes[n] == tuple(dims)]
        made.append(b.pick(old) if old and b.chance(.6) else b.operand(dims))
        return made[-1] + ('[%s]' % ','.join(texts) if texts else '')

    right = ''
    for t in range(b.pick([1, 1, 2, 2, 3])):
        has = left if t == 0 or scatter else [c for c in left if b.chance(.7)]
        has = has + r.sample('MNP', b.pick([0, 0, 1, 1, 2]))
        has += ['B'] if 'b' not in left and b.chance(.2) else []
        inside = [[] for _ in range(b.pick([1, 2, 2, 2, 3]))]
        for c in has:
            for f in r.sample(inside, min(len(inside), b.pick([1, 1, 2, 3]))):
                f.append(c)
        sign = b.pick(['', '', '-']) if t == 0 else b.pick([' + ', ' - '])
        sign += b.pick(['', '', '2 ', '0.5*'])
        right += sign + b.pick([' ', '*']).join(map(factor, inside))
    for c in sorted(set(re.findall(r'\b[a-zA-Z]\b(?!\[)', right)) - alone - {'b', 'B'}):
        bounds.update(c * (c in left or b.chance(.7)))
    bounds = ', '.join('%s<%d' % (c, size[c]) for c in sorted(bounds))
    text = 'y%s = %s%s' % ('[%s]' % ','.join(places) if places else '', right,
                           ' | ' * bool(bounds) + bounds)
    y = b.node('edf_einsum("%s", %s)' % (text, ', '.join(dict.fromkeys(made))))
    return y, None, 'b' in left


def slide(b):
    x, text, _ = next(TEXTS['cases'](b.rng.randrange(10**9), b.pick([1, 2])))
    for name, dims in x.list:
        places = '[%s]' % ','.join(map(str, dims)) if dims else ''
        b.once.append('if (first) parameter("%s%s");' % (name, places))
    return b.equations(text), None, False


FORMS = ['= tanh(W%d[j,I] {0}[b,I] + B%d[j]) | j<4', '= softmax_j {0}[b,j]', '-= 1/2 {0}[b,j]',
         '= sig(V%d[j,I] {0}[b,I]) {1}[b,j]', '= {0}[b,j] {1}[b,j]', '= normalize_j {0}[b,j]',
         '= max({0}[b,j] - {1}[b,j], 0)', '= A%d[j] {0}[b,3-j]', '= max_k {0}[b,k] {1}[b,j]',
         '= U%d[D] {0}[b,j+D-1] | j<4, D<3', '+= V%d[j,i] {0}[b,i] | j<4',
         '= (1/B) sum_a {0}[a,j] {1}[b,j]', '= {0}[b,j] exp({1}[b,0])',
         '= {0}[b,j] / (2 + sum_k {1}[b,k]^2)', '= sum_k {0}[b,k] {1}[b,j] | k<=j',
         '= E%d[k_[b],j] {0}[b,j] | k_<5', '= tanh({0}[b,j] + 0.5 h%d[b,j-1])',
         '= P%d[j,I] {0}[b,I] {1}[b,I] - C%d[j] | j<4', '= max_d {0}[b,j+d-1] | j<4, d<3']


def chain(b):
    """Lines with a batch. Each reads two older ones."""
    b.once.append('if (first) input("h0[b,4]", REALS), input("k_[b]", 5), input("l_[b]", 3);')
    text, n = 'h1[b,j] = R1[j,I] h0[b,I] | j<4', b.rng.randint(2, 6)
    for k in range(2, n + 1):
        old = ['h%d' % b.rng.randrange(k) for _ in 'ab']
        text += '\nh%d[b,j] ' % k + b.pick(FORMS).replace('%d', str(k)).format(*old)
    if b.chance(.3):
        text += '\nP[b,k] = softmax_k Q[k,J] h%d[b,J] | k<3\nl[b] = -ln P[b,l_[b]]' % n
    return b.equations(text), None, True


NODES = ['sigmoid({0})', 'tanh({0})', 'relu({0})', 'square({0})', 'gelu({0})', 'softplus({0})',
         'abs({0})', 'sin({0})', 'cos({0})', 'leaky_relu({0}, 0.1)', 'clamp({0}, -0.5, 0.4)',
         'exp({0})', 'log(edf_sigmoid({0}))', 'sqrt(edf_softplus({0}))', 'softmax({0})',
         'pow(edf_softplus({0}), 1.7)', 'log_softmax({0})'] + [
         'add({0}, {1})', 'sub({0}, {1})', 'mul({0}, {1})', 'min({0}, {1})', 'max({0}, {1})',
         'div({0}, edf_softplus({1}))'] * 2
GATE = ['compnode("Gate", gate_forward, gate_backward, {0}, {1})']
ROWS = 'edf_compnode_shaped("Rows", rows_shape, rows_forward, rows_backward, %s)'


def entries(b, more=()):
    """Nodes of single entries and rows. The smaller operand is repeated."""
    shape = b.pick([(3,), ('b', 4), ('b', 4), ('b', 2, 3), ('b', 3, 2, 2)])
    y = b.operand(shape)
    for _ in range(b.rng.randint(2, 6)):
        form = b.pick(more if more and b.chance(.5) else NODES)
        cut = 0 if 'Gate' in form or b.chance(.5) else b.rng.randint(1, 3)
        other = b.operand(shape[cut:]) if '{1}' in form else ''
        y = b.node('edf_' + form.format(y, other), shape)
    if more and len(shape) > 1:
        y, shape = b.node(ROWS % y, shape[:-1]), shape[:-1]
    return y, shape, 'b' in shape


def custom(b):
    return entries(b, GATE)


# Rank of x (0: any), name, Parameters, their fields, and the length of the last index of y.
LAYERS = [(0, 'layer_norm', 'edf_layer_norm_params({n})', 'gain bias', 'n'),
          (0, 'batch_norm', 'edf_batch_norm_params({n})', 'gain bias mean variance', 'n'),
          (2, 'affine', 'edf_affine_params({n}, {m})', 'w b', 'm'),
          (3, 'attention', 'edf_attention_params({n}, {h})', 'wq wk wv wo', 'n'),
          (3, 'causal_attention', 'edf_attention_params({n}, {h})', 'wq wk wv wo', 'n'),
          (3, 'causal_attention', 'edf_attention_params({n}, 1)', 'wq wk wv wo', 'n'),
          (4, 'residual', 'RESIDUAL_PARAMS(3, {n})', 'first.w first.b second.w second.b', 'n'),
          (4, 'max_pool', '', '', 'n'), (4, 'avg_pool', '', '', 'n')] + [
          (4, 'conv', 'CONV_PARAMS({size}, {n}, {m})', 'w b', 'm')] * 4 + [
          (rank, cell, 'edf_%s_params({n}, {m})' % cell, 'wx wh b', 'm')
          for cell in ('rnn', 'gru', 'lstm') for rank in (2, 3)]


def layers(b):
    """Layers for pictures, for sequences or for rows."""
    r = b.rng
    sides = (r.randint(4, 6), r.randint(4, 6), 3)
    shape = ('b',) + b.pick([sides, sides, (3, 4), (4, 3), (5,)])
    y, b.slide = b.tensor(shape), True
    if len(shape) == 3 and b.chance(.3):
        w, k = b.tensor((5, shape[2])), b.tensor(shape[:2], 5)
        y = b.node('edf_embed(%s, %s)' % (w, k), shape)
    for _ in range(r.randint(1, 4)):
        rank, op, params, fields, last = b.pick([x for x in LAYERS if x[0] in (0, len(shape))])
        size, stride, pad = r.randint(1, 3), r.randint(1, 2), r.randint(0, 1) * (op == 'conv')
        numbers = {'n': shape[-1], 'm': r.randint(3, 5), 'h': 2 - shape[-1] % 2, 'size': size}
        sides = shape[1:-1]
        if rank == 4 and op != 'residual':
            if min(sides) + 2 * pad < size:
                continue
            sides = tuple((d + 2 * pad - size) // stride + 1 for d in sides)
        shape = ('b',) + sides + (numbers[last],)
        if not params:
            y = b.node('edf_%s(%s, %d, %d)' % (op, y, size, stride), shape)
            continue
        kind = {'wx wh b': 'recurrent', 'wq wk wv wo': 'attention'}.get(fields, op)
        p = b.struct(kind, params.format(**numbers), fields)
        b.batch_norm |= op == 'batch_norm'
        if op == 'conv':
            b.once.append('if (first) %s.stride = %d, %s.padding = %d;' % (p, stride, p, pad))
        call = 'edf_%s(%s, %s' % ('unroll' if kind == 'recurrent' and rank == 3 else op, p, y)
        if kind == 'recurrent' and rank == 2:        # two steps of the same row
            b.nodes.append('edf_recurrent_state s%s = { NULL, NULL };' % p)
            b.nodes.append('s%s = %s, s%s);' % (p, call, p))
            call = '(%s, s%s)).h' % (call, p)
        else:
            call += ')'
        y = b.node(call, shape)
        if b.chance(.4):
            y = b.node('edf_' + b.pick(['relu(%s)', 'gelu(%s)', 'dropout(%s, 0.4)']) % y, shape)
    if len(shape) == 4 and b.chance(.6):
        shape = ('b', shape[1] * shape[2] * shape[3])
        y = b.node('edf_reshape(%s, "f[b,%d]")' % (y, shape[1]), shape)
    return y, shape, True


def network(b):
    """Two Affine layers, for the optimisers."""
    y = b.tensor(('b', 3))
    for sizes in ((3, 4), (4, 3)):
        p = b.struct('affine', 'edf_affine_params(%d, %d)' % sizes, 'w b')
        y = b.node('edf_tanh(edf_affine(%s, %s))' % (p, y), ('b', sizes[1]))
    return y, ('b', 3), True


def numbers(b):
    """Random numbers, the values that Parameters begin with, and dropout."""
    b.fills = False
    start = b.pick(['uniform(%s, -1, 2)', 'normal(%s, 0.5, 2)']) % b.tensor((2, 3))
    seed = b.rng.randrange(99)
    b.once.append('if (first) edf_seed(%d), draws(2), edf_init_%s;' % (seed, start))
    y, shape, batch = layers(b)
    return b.node('edf_dropout(%s, 0.3)' % y, shape), shape, batch


WRONG = ['edf_add(x, edf_input("z[b,4]"))', 'edf_einsum("y[b,j] = x[b,i]", x)',
         'edf_einsum("y[b,i] = x[b,i+1] x[b,i]", x)', 'edf_equations("y[b,j] = tanh(x[b,j]")',
         'edf_attention_params(3, 2)', 'edf_reshape(x, "f[b,5]")', 'edf_forward()',
         'edf_affine(edf_affine_params(5, 2), x)', 'edf_backward(x)',
         'edf_softmax_log_loss(x, input("l[b]", 9))']


def wrong(b):
    y, shape, batch = network(b)
    x = b.pick([n for n in b.shapes if n[0] == 'x'])
    b.nodes.append(re.sub(r'\bx\b(?!\[)', x, b.pick(WRONG)) + ';')
    b.slide = True
    return y, shape, batch


def loss(b, y, shape, batch):
    """Some losses have many entries: Backward takes the mean."""
    judged = b.node('edf_mul(%s, judge(%s, %d))' % (y, y, batch), shape)
    forms = ['edf_mean(%s)' % judged, judged, 'edf_sum(%s)' % judged]
    if batch and shape and 1 < len(shape) < 4 and b.chance(.75):
        classes, mask = b.tensor(shape[:-1], shape[-1]), b.tensor(shape, 'MASK')
        forms = ['edf_softmax_log_loss(%s, %s)' % (y, classes),
                 'edf_log_loss(edf_softmax(%s), %s)' % (y, classes),
                 'edf_bce_loss(%s, %s)' % (y, mask), 'edf_mse(%s, %s)' % (y, b.operand(shape)),
                 'edf_masked_mean(%s, %s)' % (judged, mask)]
        forms = ['edf_add(%s, edf_mean(%s))' % (f, judged) for f in forms]
    b.nodes.append('now.loss = %s;' % b.pick(forms))


# ---- Programs. Every 30 have all kinds.
DECK = ([einsum] * 6 + [slide] * 4 + [chain] * 4 + [layers] * 6 + [entries] * 3 +
        [network] * 3 + [custom] * 2 + [numbers, wrong])
# Adam divides by the size of a gradient. With its default 1e-8, noise would be a step where a
# gradient is 0 but for rounding: only `network` has none of these.
STEPS = ['edf_sgd(0.1);', 'edf_sgd(0.1);', 'edf_momentum(0.05, 0.8);',
         'edf_rmsprop(0.02, 0.9, 1e-3);', 'edf_adam(0.02, 0.8, 0.9, 1e-3);',
         'edf_adamw(0.02, 0.8, 0.9, 1e-3, 0.1);', 'edf_adam_slides(0.02, 0.8, 0.9, 1e-3);']
CHANGES = ['edf_l2(0.1);', 'edf_l1(0.05);', 'edf_clip(0.1);', 'edf_backward(now.loss);',
           'edf_zero_grad();', '']
RULE = 'if (edf.n_parameters) edf.parameters[0]->update = %s;'
SETTINGS = [RULE % 'step == 1 ? edf_frozen : NULL', RULE % 'edf_frozen', RULE % 'own_rule',
            'edf.accumulate = step;', '']
PREDICT = ['edf.training = 0;', 'feed(step + 50, 5);', 'edf_forward_to(known("y"));',
           'numbers(\'V\', "y", known("y"), known("y")->value);', 'edf.training = 1;']


def program(seed, n):
    """Program n: number, text, kind, and 1 if it needs edf_slide.h."""
    rng = random.Random('%d %d' % (seed, n))
    kind, pick, chance = DECK[n % len(DECK)], rng.choice, lambda p: rng.random() < p
    mode, text = pick(['plain'] * 5 + ['again', 'eager', 'graphs']), ''
    made = [Build(rng) for _ in range(2 if mode == 'graphs' else 1)]
    for k, b in enumerate(made):
        loss(b, *(pick(DECK[:-1]) if k else kind)(b))
        text += 'static void build_%d_%d(int first) {\n' % (n, k)
        text += ''.join('  %s\n' % line for line in b.once + b.nodes) + '}\n'
    build, rows = 'build_%d_0(%%s);' % n, [3, 7, 3]
    rows += [rng.randint(2, 7) for _ in range(pick([0, 0, 1, 5]))]
    if chance(.3) and not any(b.batch_norm for b in made):
        rows[rng.randrange(3)] = 1
    feed, forward, show = 'feed(step, rows[step]);', 'edf_forward();', "show('%s');"
    step = pick(STEPS + ['edf_adam_default(0.01);'] * (kind is network))
    train = [show % 'V', 'edf_backward(now.loss);', show % 'G', step, show % 'P']
    if kind is not network:              # without a limit, rounding errors would grow
        train.insert(3, 'edf_clip(1);')
    if kind in (network, layers):
        train.insert(2, pick(CHANGES))
        train.insert(0, pick(SETTINGS))
    begin, end = ['static const int rows[] = { %s };' % ', '.join(map(str, rows))], []
    if mode == 'eager':
        begin += [build % 1, 'clear_compnodes();', 'edf.eager = 1;']   # all Inputs are fed first
        loop = [feed, build % 0] + train + ['clear_compnodes();']
    elif mode == 'again':
        loop = [build % '!step', feed, forward] + train + ['clear_compnodes();']
    else:
        begin.append(build % 1)
        y = re.findall(r'see."(n\d+)"', ' '.join(made[0].nodes))[-2]
        predict = [line.replace('"y"', '"%s"' % y) for line in PREDICT]
        loop = [feed, forward] + train + (predict if chance(.3) else [])
    if mode == 'graphs':
        begin += ['other.graph = edf_new_graph();', 'swap();', 'build_%d_1(1);' % n, 'swap();']
        loop += ['swap();', feed, forward, show % 'V', 'edf_backward(now.loss);', show % 'G',
                 'edf_clip(1);', 'edf_sgd(0.1);', show % 'P', 'swap();']
    loop.insert(0, 'edf.kernel = step == %d ? EDF_REFERENCE : EDF_%s;' % (
        rng.randint(0, 2), pick(['FASTEST', 'FASTEST', 'BUILTIN'])))
    begin.append('for (int step = 0; step < %d; step++) {' % len(rows))
    text += 'void program_%d(void) {\n' % n + ''.join('  %s\n' % line for line in begin)
    text += ''.join('    %s\n' % line for line in loop if line) + '  }\n}\n'
    return n, text, kind.__name__, any(b.slide for b in made)


def source(programs, prelude='', header=ROOT + '/tests/oracle.h'):
    names = ''.join('program_%d, ' % p[0] for p in programs)
    return '%s%s#include "%s"\n%s\nvoid (*const oracle_programs[])(void) = { %sNULL };\n' % (
        prelude, '#define ORACLE_SLIDE\n' * programs[0][3], header,
        '\n'.join(p[1] for p in programs), names)


# ---- Building and running
class Tree:
    """A directory of headers, and an object with their code."""
    def __init__(self, path, args):
        self.path = os.path.abspath(path)
        self.command = args.cc.split() + ['-w', '-DEDF_REAL=' + args.real, '-I' + self.path]
        self.command += args.cflags.split()
        files = sorted(glob.glob(self.path + '/edf*.h')) + [ROOT + '/tests/oracle.h']
        text = repr(self.command) + ''.join(open(f, encoding='utf-8').read() for f in files)
        self.sum = hashlib.sha256(text.encode()).hexdigest()[:16]
        self.object = '%s/%s.o' % (BUILD, self.sum)

    def run(self, *words):
        result = subprocess.run(self.command + list(words), capture_output=True, text=True)
        if result.returncode:
            raise RuntimeError('%s:\n%s' % (' '.join(result.args), result.stderr[:2000]))

    def implement(self):
        if not os.path.exists(self.object):
            with open(self.object[:-1] + 'c', 'w') as f:
                f.write('#define ORACLE_IMPLEMENTATION\n#define ORACLE_SLIDE\n#include "%s"\n'
                        % (ROOT + '/tests/oracle.h'))
            self.run('-O1', '-c', self.object[:-1] + 'c', '-o', self.object + '.new')
            os.rename(self.object + '.new', self.object)
        return self

    def answers(self, programs, like=None):
        """Runs programs, compiled with the declarations of `like`, and returns their lines."""
        name = '%s/run-%s-%d' % (BUILD, self.sum, programs[0][0])
        with open(name + '.c', 'w') as f:
            f.write(source(programs))
        (like or self).run('-O0', name + '.c', self.object, '-o', name, '-lm')
        said = subprocess.run([name], stdout=subprocess.PIPE).stdout.decode(errors='replace')
        os.remove(name)
        os.remove(name + '.c')
        said = [a.split('\n') for a in said.split('\1\n')][:len(programs)]
        return said + [['X no answer']] * (len(programs) - len(said))


def chunks(args):
    """All programs, by 50 that need the same headers."""
    drawn = [program(args.seed, n) for n in range(args.count)]
    for slide in (False, True):
        same = [p for p in drawn if p[3] == slide]
        for at in range(0, len(same), 50):
            yield same[at:at + 50]


# ---- Comparing
def near(p, q, tolerance):
    try:
        a, b = float(p), float(q)
    except ValueError:
        return p == q
    return a == b or (a != a and b != b) or abs(a - b) <= tolerance * (1 + abs(b))


def differ(old, new, real):
    """Returns the kind of the first difference and its two lines, or None."""
    kinds = {'V': 'values', 'G': 'gradients', 'P': 'parameters', 'N': 'numbers'}
    tolerance = 1e-9 if real == 'double' else 2e-4
    crashes = [[line for line in lines if line[:1] == 'X'] for lines in (old, new)]
    if any(crashes):
        return ('crashed',) + tuple(' '.join(lines) for lines in crashes)
    for p, q in itertools.zip_longest(old, new, fillvalue=''):
        a, b = p[:1], q[:1]
        if 'E' in (a, b):
            return None if a == b else ('refused by ' + ('old' if a == 'E' else 'new'), p, q)
        words = list(itertools.zip_longest(p.split(), q.split(), fillvalue=''))
        if p != q and not all(near(x, y, tolerance) for x, y in words):
            return kinds.get(a, 'output'), p, q
    return None


def compare(args, pool, old, new):
    found, refused = [], 0
    for tree in [pool.submit(t.implement) for t in (old, new)]:
        tree.result()
    for each, a, b in pool.map(lambda c: (c, old.answers(c), new.answers(c)), chunks(args)):
        what = [differ(x, y, args.real) for x, y in zip(a, b)]
        refused += sum(1 for x, w in zip(a, what) if not w and any(l[:1] == 'E' for l in x))
        found += [(p, w) for p, w in zip(each, what) if w]
    for (kind, what), n in sorted(collections.Counter((p[2], w[0]) for p, w in found).items()):
        print('%s: %d of kind %s' % (what, n, kind))
    if found:
        p, what = min(found, key=lambda f: ('no answer' in f[1][2], len(f[0][1])))
        text = source([p], '#ifndef EDF_REAL\n#define EDF_REAL %s\n#endif\n'
                      '#define ORACLE_IMPLEMENTATION\n' % args.real, '../../tests/oracle.h')
        with open(BUILD + '/differs.c', 'w') as f:
            f.write(text)
        print('\n%s\nbuild/oracle/differs.c, %s:\n  old: %s\n  new: %s' % ((text,) + what))
    print('not ok oracle: %d programs differ' % len(found) if found else 'ok oracle')
    print('%d programs: %d run, %d refused by both, %d the same' % (
        args.count, args.count - refused, refused, args.count - len(found)))
    return bool(found)


# ---- Planted mistakes: the first pattern that a header has is replaced in it.
SWAP = r'(einsum_backward\(edf_node \*\w+\) \{(?:(?!\n\}).)*?)'
FAULTS = {
    'sign': [(r'\(1 - (\w+->value\[\w+\]) \* \1\)', r'(\1 * \1 - 1)'),
             (r'1 - y \* y\b', 'y * y - 1')],
    'swap': [(SWAP + r'\bb->grad\)', r'\1b->grad && a != b)'), (SWAP + r'f = 0;', r'\1f = 1;')],
    'stride': [(r'(\w+->place\[d\]\.factor\[i\]) \* stride', r'(\1 > 2 ? 2 : \1) * stride'),
               (r'\bstride \*= ([^;]+);', r'stride *= \1 + (d == 2);')],
    'batch': [(r'/ \(edf_real\)loss->size\b', '/ (edf_real)(loss->size + (loss->size > 1))')],
    'moment': [(r'(\w+(?:\[\d\])?) \* (\w+->m\[\w+\]) \+ \(1 - \1\)',
                r'\1 * \2 + (1 - \1 * \1)')],
    'mask': [(r'("[^"\n]*\| )s<=t', r'\1s<t')]}


def planted(name, args):
    """Returns a copy of the new tree with a mistake, or None."""
    path, done = '%s/planted-%s' % (BUILD, name), 0
    os.makedirs(path, exist_ok=True)
    for file in sorted(glob.glob(args.new + '/edf*.h')):
        text = open(file, encoding='utf-8').read()
        for old, new in FAULTS[name]:
            if not done:
                text, done = re.subn(old, new, text, flags=re.S)
        with open(path + '/' + os.path.basename(file), 'w', encoding='utf-8') as f:
            f.write(text)
    return Tree(path, args).implement() if done else None


def plant(args, pool, new):
    """Compares the new tree with copies that have a mistake."""
    new.implement()
    found, bad = collections.Counter(), 0
    trees = dict(zip(FAULTS, pool.map(lambda name: planted(name, args), FAULTS)))

    def count(chunk):
        right, n = new.answers(chunk), {}
        for name in filter(trees.get, trees):
            wrong = trees[name].answers(chunk, new)
            n[name] = sum(1 for a, b in zip(right, wrong) if differ(a, b, args.real))
        return n
    for n in pool.map(count, chunks(args)):
        found.update(n)
    for name in FAULTS:
        if not trees[name]:
            print('skip planted-%s: the line is gone' % name)
        elif found[name]:
            print('ok planted-%s: found by %d of %d programs' % (name, found[name], args.count))
        else:
            bad = 1
            print('not ok planted-%s: not found by %d programs' % (name, args.count))
    return bad


def old_tree(args):
    """Returns a directory with the old header, or None."""
    if os.path.exists(args.old + '/edf.h'):
        return args.old
    os.makedirs(BUILD + '/old', exist_ok=True)
    git = subprocess.run('git -C "%s" show %s:edf.h > "%s/old/edf.h"' % (ROOT, COMMIT, BUILD),
                         shell=True, stderr=subprocess.DEVNULL)
    return None if git.returncode else BUILD + '/old'


def main():
    parse = argparse.ArgumentParser()
    for name, default in (('old', ''), ('new', ROOT), ('seed', 1), ('count', 300),
                          ('real', 'double'), ('cc', 'cc'), ('cflags', '')):
        parse.add_argument('--' + name, default=default, type=type(default))
    parse.add_argument('--plant', action='store_true')
    args = parse.parse_args()
    os.makedirs(BUILD, exist_ok=True)
    old, pool = args.plant or old_tree(args), concurrent.futures.ThreadPoolExecutor(2)
    try:
        if args.plant:
            return plant(args, pool, Tree(args.new, args))
        if old:
            return compare(args, pool, Tree(old, args), Tree(args.new, args))
        print('skip oracle: git does not have commit ' + COMMIT)
    except RuntimeError as error:
        print('not ok oracle: %s' % error)
        return 1


if __name__ == '__main__':
    sys.exit(main())
