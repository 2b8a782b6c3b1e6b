#!/bin/sh
# The examples on an emulated GPU, tests/cuda/shim: losses of 20 steps agree with the CPU's to
# 1e-5. In seed 1 of 05 rounding decides which of two equal pixels wins: the C loops in another
# order differ as much from themselves. So in float it is seed 2, and seed 1 in double, to 1e-9.
#   sh tests/cuda/losses.sh DIRECTORY FLOAT DOUBLE    for what is built; objects of edf_cuda.cu

cd "$(dirname "$0")/../.." || exit 1
out=$1 float=$2 double=$3
CC=${CC:-cc}
mkdir -p "$out/build"
. tests/cuda/check.sh

if command -v clang++ >/dev/null; then
  check builds_with_clang clang++ -x c++ -std=c++17 -Wall -Wextra -Werror -O0 \
    -Itests/cuda/shim -I. -c edf_cuda.cu -o "$out/clang.o"
else echo 'skip builds_with_clang: no clang++'; fi

same() {                                   # same FILE FILE RELATIVE
  awk -v most="$3" '
       NR == FNR { if ($1 == "loss") expected[++n] = $2; next }
       $1 == "loss" { d = $2 / expected[++k] - 1; if (d < 0) d = -d; if (d > worst) worst = d }
       END { print "worst of", n, "losses:", worst + 0
             exit !(n == 20 && k == 20 && worst < most) }
       ' "$1" "$2"
}
example() {                                # example NAME OBJECT RELATIVE FLAGS [ARGUMENTS]
  program=$1-$(basename "$2" .o)
  $CC -std=c99 -O1 $4 -D_POSIX_C_SOURCE=200809L "-DEXAMPLE=\"examples/$1.c\"" -I. \
    -Iexamples tests/cuda/examples.c -o "$out/$program" "$2" -lstdc++ -lm || return
  (cd "$out" && EDF_DEVICE=cpu ./"$program" $5 > "$program.cpu" &&
   EDF_DEVICE=cuda ./"$program" $5 > "$program.gpu") &&
  same "$out/$program.cpu" "$out/$program.gpu" "$3"
}
check losses_of_03_mnist example 03_mnist $float 1e-5
check losses_of_05_lenet example 05_lenet $float 1e-5 '' '--seed 2'
check losses_of_06_char_lstm example 06_char_lstm $float 1e-5
check losses_of_07_gpt example 07_gpt $float 1e-5
check losses_of_05_lenet_in_double example 05_lenet $double 1e-9 -DEDF_REAL=double

exit ${bad:-0}
