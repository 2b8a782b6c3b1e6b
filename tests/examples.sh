#!/bin/sh
# Every example compiles without a warning, runs, and prints what the comment at its top says.
#   sh tests/examples.sh DIRECTORY [quick|learn]      learn: those that learn for long
# The implementation in float is build/tests/native.o. Numbers may differ a little between
# compilers, words may not. A comment may leave lines out, and the end of a line, with dots.

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/examples} set=${2:-quick}
native=$PWD/build/tests/native.o
cc=${CC:-cc}
warnings='-std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror'
mkdir -p "$dir/build"
dir=$(cd "$dir" && pwd)
bad=0

pass() { echo "ok $1"; }
fail() { bad=1; echo "not ok $1: $2"; tail -n 12 "$3" | sed 's/^/  /'; }

# The lines that the comment promises stand five blanks to the right, as do its commands.
promised() {
  sed -n '1,/\*\//p' "$1" | sed -n 's/^     //p' | grep -v -E '^(cc|make|build/|EDF_DATA=)'
}

# They appear in their order, word by word. A number may be off by 2 % or 0.001.
same='
function size(x) { return x < 0 ? -x : x }
function near(p, q) { return size(p - q) <= 1e-3 + 0.02 * size(q) }
function number(s) { return s ~ /^[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?[,:;)]?$/ }
NR == FNR { if (NF) want[++n] = $0; next }
m < n && NF {
  words = split(want[m + 1], w, " ")
  good = w[words] == "..." ? --words < NF : words == NF
  for (i = 1; i <= words && good; i++)
    good = $i == w[i] || (number($i) && number(w[i]) && near($i + 0, w[i] + 0))
  m += good
}
END { if (m < n || !n) { printf "promised, but not printed: %s\n", want[m + 1]; exit 1 } }'

build() {                                      # build NAME [OBJECT]: alone without an object
  how='-O1 -DEDF_LINKED'; [ "$2" ] || how=-g
  $cc $warnings $how -I. examples/$1.c $2 -o "$dir/$1" -lm > "$dir/$1.log" 2>&1 && return
  fail $1 'it does not compile, or with a warning' "$dir/$1.log"
  return 1
}

prints() {                                     # prints NAME [OBJECT]
  build $1 $2 || return
  promised examples/$1.c > "$dir/$1.expected"
  if ! (cd "$dir" && ./$1 > $1.out 2>&1); then fail $1 'it fails' "$dir/$1.out"
  elif awk "$same" "$dir/$1.expected" "$dir/$1.out" > "$dir/$1.diff"
  then pass "$1 ${2:+linked}"
  else fail $1 'not what its comment promises' "$dir/$1.diff"; fi
}

# A program that learns ends with a line `WORDS NUMBER ...`. The number is at most a limit. If
# the program has the doctor, the doctor has nothing to say.
learns() {                                     # learns NAME 'WORDS' LIMIT [OPTIONS]
  name=$1 words=$2 limit=$3; shift 3
  build $name "$native" || return
  if (cd "$dir" && env -u EDF_TEXT $data ./$name "$@") > "$dir/$name.out" 2>&1 &&
     tail -n 1 "$dir/$name.out" | awk -v words="$words" -v limit="$limit" '
       index($0, words " ") == 1 {
         x = substr($0, length(words) + 2) + 0
         good = x > 0 && x <= limit
       }
       END { exit !good }'
  then
    if grep -q -i '^[a-z_]*doctor' "$dir/$name.out"; then
      fail $name 'the doctor has found something' "$dir/$name.out"
    else pass "$name $*"; fi
  else fail $name "its last line is not '$words' and at most $limit" "$dir/$name.out"; fi
}
wrote() {
  for file; do
    if [ -s "$dir/build/$file" ]; then pass "wrote $file"; else fail $file missing /dev/null; fi
  done
}

data='-u EDF_DATA'                             # the programs draw their own digits
if [ $set = quick ]; then
  fast=$cc                                     # at -O0 clang is the faster compiler
  command -v clang > /dev/null && fast=clang
  { echo '#define EDF_IMPLEMENTATION'
    for h in edf.h edf/*.h; do echo "#include \"$h\""; done; } > "$dir/double.c"
  $fast -O0 -DEDF_REAL=double -I. -c "$dir/double.c" -o "$dir/double.o" || exit 1
  for source in examples/[0-9]*.c; do
    case $source in */03_*|*/05_*|*/06_*|*/07_*|*/08_*|*/12_*|*/13_*|*/18_*|*/2[01]_*) continue ;; esac
    object=$native
    grep -q 'define EDF_REAL double' $source && object=$dir/double.o
    prints "$(basename $source .c)" "$object"
  done
  prints 04_custom_node                        # as a student compiles it
  learns 03_mnist 'test error' 8 --epochs 2
  learns 12_slide 'test error' 8 --epochs 2
  wrote mnist_mistakes.png mnist_curves.svg mlp.png
  if (cd "$dir" && ulimit -v 65536 && ./22_big_file) > "$dir/big.out" 2>&1 && [ ! -e "$dir/build/big.f32" ]
  then pass '22_big_file in 64 MiB'; else fail '22_big_file in 64 MiB' 'it fails' "$dir/big.out"; fi
  exit $bad
fi
learns 05_lenet 'test error' 1.5 --epochs 2
learns 06_char_lstm 'test loss' 1 --steps 150
learns 07_gpt 'test loss' 1.2 --steps 150
learns 08_autoencoder 'test loss' 0.2 --epochs 1
learns 13_microgpt 'loss' 1.8
learns 18_finetune 'steps' 0.34
learns 20_vae 'loss' 230 --epochs 1
learns 21_gan 'generator loss' 1.5 --steps 500
wrote lenet_filters.png lenet.safetensors char_lstm.safetensors gpt.safetensors autoencoder.png
wrote finetune.svg vae.png gan.png
images=${EDF_DATA:-data/mnist}
case $images in /*) ;; *) images=$PWD/$images ;; esac
if [ -f "$images/train-images-idx3-ubyte" ]; then
  data="EDF_DATA=$images"
  learns 03_mnist 'test error' 3
  learns 05_lenet 'test error' 2 --epochs 1
  learns 12_slide 'test error' 3
else echo 'skip MNIST: no images in EDF_DATA or data/mnist'; fi
exit $bad
