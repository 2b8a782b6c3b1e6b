#!/bin/sh
# edf_cuda.cu on an emulated GPU, tests/cuda/shim: tests/cuda/cuda.c with threads and
# blocks in several orders, with and without recorded passes.
#   sh tests/cuda/cuda.sh DIRECTORY OBJECTS      for what is built; edf_cuda.cu, edf.h

cd "$(dirname "$0")/../.." || exit 1
out=$1
shift
CC=${CC:-cc}
mkdir -p "$out"
. tests/cuda/check.sh

check links $CC -std=c99 -O1 -I. tests/cuda/cuda.c "$@" -o "$out/cuda" -lstdc++ -lm
[ -f "$out/cuda" ] || exit 1

# Those that go on for long run once.
check in_lazy_copies "$out/cuda"
check in_reversed_order env CUDASHIM_ORDER=rev "$out/cuda" models
check in_random_order env CUDASHIM_ORDER=7 "$out/cuda" changing_programs
check without_graphs_eagerly env CUDASHIM_LAZY=0 EDF_GRAPHS=0 "$out/cuda" changing_programs
check every_kernel_checked env EDF_CHECK=1 "$out/cuda" models

exit ${bad:-0}
