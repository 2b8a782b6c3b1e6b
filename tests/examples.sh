#!/bin/sh
# Every example compiles without a warning, runs, and prints what the comment at its top says.
#   sh tests/examples.sh [directory for what is built]
# Numbers may differ a little between compilers; words may not. The comment may leave lines out,
# and the end of a line, with dots.

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/examples}
cc=${CC:-cc}
flags='-std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion'
mkdir -p "$dir" build
bad=0

pass() { echo "ok $1"; }
fail() { bad=1; echo "not ok $1: $2"; head -n 12 "$3" | sed 's/^/  /'; }

# What the comment promises: its lines with five blanks before them, except for commands
promised() {
  sed -n '1,/\*\//p' "$1" | sed -n 's/^     //p' | grep -v -E '^(cc|make|build/|EDF_DATA=)'
}

# The promised lines, in their order, word by word: numbers within 2 % or 0.001
same='
function size(x) { return x < 0 ? -x : x }
function near(p, q) { return size(p - q) <= 1e-3 + 0.02 * size(q) }
function number(s) { return s ~ /^[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?[,:;)]?$/ }
NR == FNR { if (NF) want[++n] = $0; next }
m < n && NF {
  words = split(want[m + 1], w, " ")
  good = words == NF || (w[words] == "..." && --words < NF)
  for (i = 1; i <= words && good; i++)
    good = $i == w[i] || (number($i) && number(w[i]) && near($i + 0, w[i] + 0))
  m += good
}
END { if (m < n || !n) { printf "promised, but not printed: %s\n", want[m + 1]; exit 1 } }'

for source in examples/[0-9]*.c; do
  name=$(basename "$source" .c)
  if ! $cc $flags -O2 -I. "$source" -o "$dir/$name" -lm > "$dir/$name.cc" 2>&1; then
    fail "$name" 'it does not compile' "$dir/$name.cc"
    continue
  elif [ -s "$dir/$name.cc" ]; then fail "$name" 'the compiler warns' "$dir/$name.cc"
  fi
  [ "$name" = 03_mnist ] && continue
  if ! "$dir/$name" > "$dir/$name.out" 2>&1; then
    fail "$name" 'it failed' "$dir/$name.out"
    continue
  fi
  promised "$source" > "$dir/$name.expected"
  if awk "$same" "$dir/$name.expected" "$dir/$name.out" > "$dir/$name.diff"; then pass "$name"
  else fail "$name" 'not what its comment promises' "$dir/$name.diff"; fi
done

# The main job ends with `test error N.NN %`, whatever the data; real images and digits that the
# program draws are both learned to 97 %.
learns() {                                     # learns NAME COMMAND
  name=$1; shift
  "$@" > "$dir/$name.out" 2>&1 &&
    tail -n 1 "$dir/$name.out" | awk '/^test error [0-9.]+ %$/ { good = $3 > 0 && $3 <= 3 }
                                      END { exit !good }'
  if [ $? = 0 ]; then pass "$name"; else
    tail -n 12 "$dir/$name.out" > "$dir/$name.tail"
    fail "$name" "the end of $dir/$name.out" "$dir/$name.tail"
  fi
}

$cc -O3 -march=native -std=c99 -I. examples/03_mnist.c -o "$dir/03_mnist" -lm || exit 1
top=$PWD
mkdir -p "$dir/empty/build"
cd "$dir/empty" || exit 1                      # no data/mnist here
dir=..
learns 03_mnist-drawn env -u EDF_DATA ../03_mnist
images=$EDF_DATA
[ "$images" ] || images=data/mnist
case $images in /*) ;; *) images=$top/$images ;; esac
if [ -f "$images/train-images-idx3-ubyte" ]; then
  learns 03_mnist-images env EDF_DATA="$images" ../03_mnist
else echo 'skip 03_mnist-images: no MNIST in EDF_DATA or data/mnist'; fi
exit $bad
