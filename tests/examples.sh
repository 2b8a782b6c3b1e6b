#!/bin/sh
# Every example compiles without a warning, as a student compiles it (that those that learn do
# it alone too, hygiene sees), runs, and prints what the comment at its top says.
#   sh tests/examples.sh DIRECTORY OBJECT       for what is built; edf.h's implementation
# Numbers may differ a little between compilers; words may not. The comment may leave lines out,
# and the end of a line, with dots.

cd "$(dirname "$0")/.." || exit 1
dir=$1 fast=$PWD/$2
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
  good = w[words] == "..." ? --words < NF : words == NF
  for (i = 1; i <= words && good; i++)
    good = $i == w[i] || (number($i) && number(w[i]) && near($i + 0, w[i] + 0))
  m += good
}
END { if (m < n || !n) { printf "promised, but not printed: %s\n", want[m + 1]; exit 1 } }'

# Those that learn link an optimised implementation; the others have it in themselves.
builds() {                                     # builds NAME
  case $1 in
    03_*|05_*|06_*|07_*|08_*|12_*|13_*)
      $cc $flags -O3 -DEDF_LINKED -I. examples/$1.c "$fast" -o "$dir/$1" -lm ;;
    *)
      $cc $flags -g -I. examples/$1.c -o "$dir/$1" -lm &&
        $cc $flags -O2 -DEDF_LINKED -I. -c examples/$1.c -o "$dir/$1.o" ;;
  esac > "$dir/$1.cc" 2>&1                     # some warnings need -O
}

for source in examples/[0-9]*.c; do
  name=$(basename "$source" .c)
  if ! builds $name; then
    fail "$name" 'it does not compile' "$dir/$name.cc"
    continue
  elif [ -s "$dir/$name.cc" ]; then fail "$name" 'the compiler warns' "$dir/$name.cc"
  fi
  case $name in 03_*|05_*|06_*|07_*|08_*|12_*|13_*) continue ;; esac          # below
  if ! "$dir/$name" > "$dir/$name.out" 2>&1; then
    fail "$name" 'it failed' "$dir/$name.out"
    continue
  fi
  promised "$source" > "$dir/$name.expected"
  if awk "$same" "$dir/$name.expected" "$dir/$name.out" > "$dir/$name.diff"; then pass "$name"
  else fail "$name" 'not what its comment promises' "$dir/$name.diff"; fi
done

# Programs that learn end with a line `WORDS NUMBER ...`; the number must be at most a limit:
# from digits that the program draws, or its own poem, and where there are any, real images. (Of
# so short a poem little carries over to the tenth that is kept apart; a guess would cost 3.8.)
learns() {                                     # learns NAME 'WORDS' LIMIT COMMAND
  name=$1 words=$2 limit=$3; shift 3
  "$@" > "$dir/$name.out" 2>&1 &&
    tail -n 1 "$dir/$name.out" | awk -v words="$words" -v limit="$limit" '
      index($0, words " ") == 1 {
        x = substr($0, length(words) + 2) + 0
        good = x > 0 && x <= limit
      }
      END { exit !good }'
  if [ $? = 0 ]; then pass "$name"; else
    tail -n 12 "$dir/$name.out" > "$dir/$name.tail"
    fail "$name" "the end of $dir/$name.out, which is to say '$words' and $limit at most" \
      "$dir/$name.tail"
  fi
}

top=$PWD
mkdir -p "$dir/empty/build"
cd "$dir/empty" || exit 1                      # no data/mnist here
dir=..
plain='env -u EDF_DATA -u EDF_TEXT'
learns 03_mnist-drawn 'test error' 3 $plain ../03_mnist
learns 05_lenet-drawn 'test error' 1.5 $plain ../05_lenet --epochs 2
learns 06_char_lstm-poem 'test loss' 2.6 $plain ../06_char_lstm --steps 150
learns 07_gpt-poem 'test loss' 3.1 $plain ../07_gpt --steps 150
learns 08_autoencoder-drawn 'test loss' 0.2 $plain ../08_autoencoder --epochs 1
learns 12_slide-drawn 'test error' 3 $plain ../12_slide
learns 13_microgpt-names 'loss' 1.8 $plain ../13_microgpt
for file in lenet_filters.png lenet.safetensors char_lstm.safetensors gpt.safetensors \
            autoencoder.png mnist_mistakes.png; do
  if [ -s build/$file ]; then pass "wrote $file"
  else : > $dir/none; fail "$file" 'not written' $dir/none; fi
done
images=$EDF_DATA
[ "$images" ] || images=data/mnist
case $images in /*) ;; *) images=$top/$images ;; esac
if [ -f "$images/train-images-idx3-ubyte" ]; then
  learns 03_mnist-images 'test error' 3 env EDF_DATA="$images" ../03_mnist
  learns 05_lenet-images 'test error' 2 env EDF_DATA="$images" ../05_lenet --epochs 1
  learns 12_slide-images 'test error' 3 env EDF_DATA="$images" ../12_slide
else echo 'skip 03_mnist-images: no MNIST in EDF_DATA or data/mnist'; fi
exit $bad
