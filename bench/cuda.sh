#!/bin/sh
# What `make bench MODELS=cuda` measures: sh bench/cuda.sh [--quick] [MODEL ...]
#
# Our training steps (cuda.c) and PyTorch's (torch_bench.py), one after the other, for each of
# PRECISIONS; then one table, with the goals. Without a GPU the quick variant runs on the
# stand-in in tests/cuda/shim: no times, but what a step consists of.
#   PRECISIONS='fp32 tf32'     PYTHON=python3     COMPILE_MODE=max-autotune-no-cudagraphs
#   NVCC=/path/to/nvcc         CUDA_ARCH=90       as for make CUDA=1

cd "$(dirname "$0")/.." || exit 1
cc=${CC:-cc} cxx=${CXX:-g++} python=${PYTHON:-python3}
precisions=${PRECISIONS:-fp32 tf32}
dir=build/bench_cuda
mkdir -p $dir
quick='' models='' bad=0
for word; do
  case $word in --quick) quick=$word ;; *) models="$models $word" ;; esac
done

# ---- Building: cuda_floor.cu includes edf_cuda.cu, so there is one object for the GPU.

sources='edf.h edf edf_cuda.cu tests/cuda/shim bench'
up_to_date() { [ -x "$1" ] && [ -z "$(find $sources -newer "$1" -type f)" ]; }

build_for_gpu() {
  "$nvcc" -std=c++17 -O3 $arch -c bench/cuda_floor.cu -o $dir/gpu.o &
  $cc -std=c99 ${CFLAGS:--O3 -march=native} -I. -c bench/cuda.c -o $dir/cuda.o || return
  wait $! || return
  lib=$(dirname "$(readlink -f "$nvcc")")/../lib64
  $cc $dir/cuda.o $dir/gpu.o -L"$lib" -Wl,-rpath,"$lib" -lcublas -lcudart -lstdc++ -lm \
    -o $dir/gpu
}

build_for_shim() {
  up_to_date $dir/shim && return
  rm -f $dir/shim
  $cxx -x c++ -std=c++17 -O1 -Itests/cuda/shim -I. -c bench/cuda_floor.cu \
    -o $dir/shim.o &
  $cc -std=c99 -O1 -I. -c bench/cuda.c -o $dir/cuda.o || return
  wait $! || return
  $cc $dir/cuda.o $dir/shim.o -lstdc++ -lm -o $dir/shim
}

# ---- Is there a GPU?

find_gpu() {                               # sets nvcc and arch; or why not, in `why`
  nvcc=$(command -v "${NVCC:-nvcc}" || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
  arch=$(sh tests/cuda/arch.sh) || exit 1
  if [ "$arch" = -arch=all-major ]; then why='nvidia-smi finds none'
  elif [ -z "$nvcc" ]; then why='there is one, but no nvcc'
  elif ! build_for_gpu; then why="$nvcc: it does not build" bad=1
  elif $dir/gpu mlp_a --quick 2>/dev/null | grep -q '^skip'; then
    why='the program cannot use it'
  else return 0; fi
  return 1
}

# ---- Running

measure() {                                # measure FILE COMMAND: keep and show what it prints
  file=$1
  shift
  "$@" > $dir/$file || { bad=1; echo "bench cuda: failed: $*"; }
  cat $dir/$file
}

on_gpu() {
  for precision in $precisions; do
    export EDF_PRECISION=$precision
    measure ours.$precision $dir/gpu $quick $models
    measure torch.$precision "$python" bench/torch_bench.py $quick \
      --compile-mode "${COMPILE_MODE:-default}" $models
  done
}

on_shim() {                                # one precision: it changes no count
  build_for_shim || exit 1
  export EDF_PRECISION=${precisions%% *}
  if ! $dir/shim --quick $models > $dir/ours.shim 2> $dir/log; then
    bad=1
    cat $dir/log
  fi
  "$python" bench/torch_bench.py --quick $models || echo "skip torch_bench: $python"
}

rm -f $dir/ours.* $dir/torch.*
if find_gpu; then on_gpu
else
  echo "bench cuda: no GPU ($why): the quick variant on tests/cuda/shim, without times"
  quick=--quick
  on_shim
fi
echo
cat $dir/ours.* $dir/torch.* 2>/dev/null | awk -v quick=$quick -f bench/cuda.awk || bad=1
exit $bad
