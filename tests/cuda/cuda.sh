#!/bin/sh
# edf_cuda.cu on an emulated GPU, tests/cuda/shim: its own tests, tests/cuda/cuda.c, with threads and
# blocks in several orders, with and without recorded passes; and the losses of the examples
# against the CPU's.      sh tests/cuda/cuda.sh [directory for what is built]

cd "$(dirname "$0")/../.." || exit 1
out=${1:-build/tests/cuda}
CC=${CC:-cc} CXX=${CXX:-g++}
command -v "$CXX" >/dev/null || CXX=clang++
command -v "$CXX" >/dev/null || { echo 'skip cuda: no C++ compiler'; exit; }
mkdir -p "$out"

no() { echo "not ok $1"; bad=1; }

# check NAME COMMAND: the command's lines `not ok` and the end of its output, where it fails
check() {
  name=$1
  shift
  if "$@" > "$out/$name.log" 2>&1; then echo "ok $name"
  else no "$name: see $out/$name.log"; grep '^not ok' "$out/$name.log" | sed 's/^/  /'
    tail -n 3 "$out/$name.log" | sed 's/^/  /'; fi
}

build() {                                  # build COMPILER FLAGS OBJECT
  "$1" -x c++ -std=c++17 -Wall -Wextra -Werror $2 -Itests/cuda/shim -I. -c edf_cuda.cu -o "$3"
}
check builds build "$CXX" '-O2' "$out/cuda.o"
[ -f "$out/cuda.o" ] || exit 1
if command -v clang++ >/dev/null; then
  check builds_with_clang build clang++ '-O0' "$out/clang.o"
else echo 'skip builds_with_clang: no clang++'; fi

link() { $CC -std=c99 -O1 -I. "$@" "$out/cuda.o" -lstdc++ -lm; }
check links link tests/cuda/cuda.c -o "$out/cuda"

# ---- Its own tests. Those that go on for long run once.
check in_lazy_copies "$out/cuda"
check in_reversed_order env CUDASHIM_ORDER=rev "$out/cuda" models
check in_random_order env CUDASHIM_ORDER=7 "$out/cuda" changing_programs
check without_graphs_eagerly env CUDASHIM_LAZY=0 EDF_GRAPHS=0 "$out/cuda" changing_programs
check every_kernel_checked env EDF_CHECK=1 "$out/cuda" models

# ---- The examples: losses of 20 steps agree with the CPU's to 1e-5. In seed 1 of 05 rounding
# decides which of two equal pixels wins: the C loops in another order differ as much from
# themselves. So in float it is seed 2, and seed 1 in double, to 1e-9.
same() {                                   # same FILE FILE RELATIVE
  awk -v most="$3" '
       NR == FNR { if ($1 == "loss") expected[++n] = $2; next }
       $1 == "loss" { d = $2 / expected[++k] - 1; if (d < 0) d = -d; if (d > worst) worst = d }
       END { print "worst of", n, "losses:", worst + 0
             exit !(n == 20 && k == 20 && worst < most) }
       ' "$1" "$2"
}
example() {                                # example NAME OBJECT RELATIVE FLAGS [ARGUMENTS]
  program=$1-$2
  $CC -std=c99 -O1 $4 -D_POSIX_C_SOURCE=200809L "-DEXAMPLE=\"examples/$1.c\"" -I. \
    -Iexamples tests/cuda/examples.c -o "$out/$program" "$out/$2.o" -lstdc++ -lm || return
  (cd "$out" && EDF_DEVICE=cpu ./"$program" $5 > "$program.cpu" &&
   EDF_DEVICE=cuda ./"$program" $5 > "$program.gpu") &&
  same "$out/$program.cpu" "$out/$program.gpu" "$3"
}
mkdir -p "$out/build"
check losses_of_03_mnist example 03_mnist cuda 1e-5
check losses_of_05_lenet example 05_lenet cuda 1e-5 '' '--seed 2'
check losses_of_06_char_lstm example 06_char_lstm cuda 1e-5
check losses_of_07_gpt example 07_gpt cuda 1e-5
check builds_in_double build "$CXX" '-O2 -DEDF_REAL=double' "$out/double.o"
check losses_of_05_lenet_in_double example 05_lenet double 1e-9 -DEDF_REAL=double

exit ${bad:-0}
