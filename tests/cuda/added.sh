#!/bin/sh
# A kernel is added to edf_cuda.cu in one place: a copy of it without the kernel of Tanh runs
# that node on the host; with one insertion, a struct and its object, the new one runs, to the
# same numbers. On an emulated GPU, tests/cuda/shim.
#   sh tests/cuda/added.sh DIRECTORY         for what is built

cd "$(dirname "$0")/../.." || exit 1
out=$1
CC=${CC:-cc}
[ "$CXX" ] || { command -v clang++ >/dev/null && CXX=clang++; }      # half the time of g++'s
mkdir -p "$out"
. tests/cuda/check.sh

cat > "$out/program.c" <<'END'
#define EDF_IMPLEMENTATION
#include "edf.h"
int main(void) {
  edf_real start[6] = { -2, -1, -(edf_real)0.25, 0, (edf_real)0.5, 3 };
  edf_node *x = edf_parameter("x[6]"), *y = edf_tanh(x), *loss = edf_mean(y);
  for (int i = 0; i < 6; i++) x->value[i] = start[i];
  edf_push(x);
  edf_forward();
  edf_backward(loss);
  for (int i = 0; i < 6; i++)
    printf("%.6f %.6f\n", (double)edf_value(y)[i], (double)edf_grad(x)[i]);
  return 0;
}
END

# built NAME FILE.cu: program NAME, which runs on it
built() {
  ${CXX:-g++} -x c++ -std=c++17 -O0 -Wall -Werror -Itests/cuda/shim -I. -c "$2" \
    -o "$out/$1.o" &&
    ${CXX:-g++} "$out/program.o" "$out/$1.o" -o "$out/$1" -lm &&
    CUDASHIM_STATS=1 EDF_DEVICE=cuda "$out/$1" > "$out/$1.numbers" 2> "$out/$1.kernels"
}
without() {
  sed '/^static const kernel .*"Tanh"/d' edf_cuda.cu > "$out/without.cu"
  built without "$out/without.cu" && grep 'cudashim: kernel' "$out/without.kernels" &&
    ! grep 'kernel map_' "$out/without.kernels"
}
with() {
  sed '/^struct Tanh {/i\
struct Added {\
  __device__ static real f(real x, real) { return 1 - 2 / (exp(2 * x) + 1); }\
  __device__ static real d(real, real y, real dy, real) { return (1 - y * y) * dy; }\
};\
static const kernel added_here("Tanh", element<Added>);\
' "$out/without.cu" > "$out/with.cu"
  built with "$out/with.cu" && grep 'kernel map_kernel<F> 1$' "$out/with.kernels" &&
    grep 'kernel map_back_kernel<F> 1$' "$out/with.kernels"
}
check program $CC -std=c99 -O0 -I. -c "$out/program.c" -o "$out/program.o"
check without_its_kernel_a_node_runs_here without
check with_one_insertion_it_runs_there with
check to_the_same_numbers cmp "$out/without.numbers" "$out/with.numbers"
[ "$(wc -l < "$out/with.numbers")" -eq 6 ] || no six_lines
exit ${bad:-0}
