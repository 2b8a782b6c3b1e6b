"""Compares the working tree with version 3.0: random texts are trained for four steps by both.
Values, gradients and Parameters agree, or both refuse the text. The programs are those of
random/texts.py. random/run.c runs them. In 3.0 a pair that a mask excludes could still make a
NaN, 0 times infinity. Such a text is counted, if the mask has removed the NaN.

  python3 tests/oracle.py [--old DIR] [--new .] [--seed 1] [--count 300] [--real float]

The old headers come from git if DIR is missing. The shortest text that differs is printed."""
import argparse
import itertools
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD, COMMIT = os.environ.get('ORACLE_BUILD', ROOT + '/build/oracle'), '14615eb'
TEXTS = {}                               # TEXTS['cases'] draws whole slides
with open(ROOT + '/tests/random/texts.py') as file:
    exec(file.read(), TEXTS)

def build(tree, name, args):
    """Builds run.c with the headers of a tree and returns its path."""
    path = '%s/%s' % (BUILD, name)
    flags = ['-w', '-O1', '-DEDF_REAL=' + args.real, '-I' + tree]
    subprocess.run(args.cc.split() + flags + [ROOT + '/tests/random/run.c', '-o', path, '-lm'],
                   check=True)
    return path


def old_tree(args):
    """Returns a directory with the old headers, or None."""
    if args.old:
        return args.old
    path = BUILD + '/3.0'
    git = subprocess.run(['sh', ROOT + '/bench/tree.sh', COMMIT, path],
                         stderr=subprocess.DEVNULL)
    return None if git.returncode else path


def same(old, new, tolerance, may_be_nan=False):
    """Returns True if the numbers agree. Any number agrees with an old NaN if may_be_nan."""
    if old.startswith('error') or new.startswith('error'):
        return old[:5] == new[:5]
    a, b = ([float(w) for w in line.split()] for line in (old, new))
    most = tolerance * max([1] + [abs(x) for x in a if abs(x) < 1e30])
    return len(a) == len(b) and all(
        p == q or abs(p - q) <= max(most, tolerance * abs(p)) or
        (p != p and (q != q or may_be_nan)) for p, q in zip(a, b))


def has_mask(text):
    return re.search(r'\|.*[A-Za-z]\w* *<=? *[A-Za-z]', text) is not None


def main():
    parse = argparse.ArgumentParser()
    for name, default in (('old', ''), ('new', ROOT), ('seed', 1), ('count', 300),
                          ('real', 'double'), ('cc', os.environ.get('CC', 'cc'))):
        parse.add_argument('--' + name, default=default, type=type(default))
    args = parse.parse_args()
    os.makedirs(BUILD, exist_ok=True)
    tree = old_tree(args)
    if not tree:
        print('skip oracle: git does not have commit ' + COMMIT)
        return 0
    drawn = [(x.list, text) for x, text, _ in TEXTS['cases'](args.seed, args.count)]
    asked = ''.join('%s---\n%s\nEND\n' % (''.join(d + '\n' for d in x), t) for x, t in drawn)
    said = []
    for headers, name in ((tree, 'old'), (args.new, 'new')):
        run = subprocess.run([build(headers, name, args), 'train'], input=asked, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        said.append(run.stdout.split('\n'))
    tolerance = 1e-9 if args.real == 'double' else 1e-3
    wrong, refused, leaks = [], 0, 0
    for case, old, new in itertools.zip_longest(drawn, *[s[:len(drawn)] for s in said],
                                                fillvalue='error: no answer'):
        refused += old.startswith('error')
        if same(old, new, tolerance):
            continue
        if has_mask(case[1]) and same(old, new, tolerance, True):
            leaks += 1
        else:
            wrong.append((case, old, new))
    for (x, text), old, new in sorted(wrong, key=lambda w: len(w[0][1]))[:1]:
        print('not ok oracle: %d texts differ\n  %s\n  %s\n  old %s\n  new %s' % (
            len(wrong), ' '.join(x), text.replace('\n', '\n  '), old[:400], new[:400]))
    if not wrong and refused < len(drawn) // 4:
        print('ok oracle: %d texts, %d refused by both, %d with a mask were NaN in 3.0' % (
            len(drawn), refused, leaks))
    return int(bool(wrong) or refused >= len(drawn) // 4)


sys.exit(main())
