#!/bin/sh
# Checks edf_cuda.cu on a real GPU: see gpu.md.
#   sh tests/cuda/gpu.sh build [DIRECTORY]     compiles, and makes the CPU's numbers; no GPU
#   sh tests/cuda/gpu.sh check [DIRECTORY]     prints a line for each check that fails
cd "$(dirname "$0")/../.." || exit 1
dir=${2:-build/gpu}
export DIGITS=17

build() {
  mkdir -p "$dir" || exit 1
  nvcc=$(command -v "${NVCC:-nvcc}" || echo /usr/local/cuda/bin/nvcc)
  for real in float double; do
    "$nvcc" -std=c++17 -O3 -DEDF_REAL=$real $(sh tests/cuda/arch.sh) -Xptxas -v -I. \
      -c edf_cuda.cu -o "$dir/$real.o" 2> "$dir/$real.registers" || exit 1
    libraries='-L/usr/local/cuda/lib64 -Wl,-rpath,/usr/local/cuda/lib64 -lcublas -lcudart'
    link="$dir/$real.o $libraries -lstdc++ -lm"
    cc -std=gnu99 -O1 -DNO_SHIM -DEDF_REAL=$real -I. tests/cuda/small.c $link \
      -o "$dir/small.$real" || exit 1
    EDF_DEVICE=cpu "$dir/small.$real" > "$dir/small.$real.cpu" || exit 1
  done
  for at in examples/03* examples/05* examples/06* examples/07* examples/12* examples/13*; do
    name=$(basename "$at" .c)
    cc -std=gnu99 -O1 -DNO_SHIM -DEXAMPLE="\"../../$at\"" -I. tests/cuda/examples.c \
      "$dir/float.o" $libraries -lstdc++ -lm -o "$dir/$name" || exit 1
    EDF_DEVICE=cpu "$dir/$name" | grep -a '^losses' > "$dir/$name.cpu"
  done
}

same() { sh tests/cuda/same.sh "$1" "$2" "$3" || echo "differs: $4"; }

check() {
  export EDF_DEVICE=cuda
  "$dir/small.double" > "$dir/out" && same "$dir/small.double.cpu" "$dir/out" 1e-9 double
  "$dir/small.float" > "$dir/first" && same "$dir/small.float.cpu" "$dir/first" 1e-5 float
  "$dir/small.float" | cmp - "$dir/first"
  EDF_GRAPHS=0 "$dir/small.float" | cmp - "$dir/first"
  EDF_PRECISION=tf32 "$dir/small.float" gemm_conv > "$dir/out"
  same "$dir/small.float.cpu" "$dir/out" 1e-2 tf32
  for cpu in "$dir"/[01]*.cpu; do
    "${cpu%.cpu}" | grep -a '^losses' > "$dir/out"
    same "$cpu" "$dir/out" 1e-5 "$cpu"
  done
  for tool in memcheck racecheck initcheck synccheck; do
    EDF_GRAPHS=0 timeout 90 compute-sanitizer --tool $tool --error-exitcode 1 \
      "$dir/small.float" small > "$dir/$tool" || tail -n 5 "$dir/$tool"
  done
}

case $1 in
  build|check) $1 ;;
  *) echo 'usage: sh tests/cuda/gpu.sh build|check [DIRECTORY]'; exit 2 ;;
esac
