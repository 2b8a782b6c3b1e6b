#!/bin/sh
# Fuzzes a parser, or sequences of calls, with libFuzzer for FUZZ_SECONDS, or 20. What it finds
# stays in build/fuzz.
#   sh tests/fuzz/fuzz.sh TARGET OBJECT       tests/fuzz/TARGET.c, the implementation
# -close_fd_mask: what edf.h remarks on stderr goes nowhere; what libFuzzer says does not.

cd "$(dirname "$0")/../.." || exit 1
target=$1 object=$2
dir=build/fuzz
seconds=${FUZZ_SECONDS:-20}
mkdir -p $dir/$target
clang='clang -std=c99 -g -O1 -I. -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all'

seed() { mkdir -p $dir/$1; printf "$3" > $dir/$1/$2; }    # seed TARGET NAME BYTES
seed idx images '\0\0\10\3\0\0\0\2\0\0\0\1\0\0\0\3abcdef'
seed idx labels '\0\0\10\1\0\0\0\3abc'
seed csv plain '1,-2.5\n3e2,4\n'
seed csv heading 'size,"a b"\r\n1,-2.5\r\n3e2,4\r\n\r\n'
seed equation affine 'y[b,j] = W[I,j] x[b,I] - B[j]\nW[3,2]\n?x[b,3]\nB[2]'
seed equation conv 'y[b,i,k] = w[D,C,k] x[b,2*i+D-1,C] | i<4\nw[3,2,2]\n?x[b,8,2]'
seed equation scatter 'y[2*i+D] = 0.5 w[D] x[i] + w[D] w[D] x[i]\nw[3]\nx[4]'
seed equation trace 'y = -2.5*A[I,I] B[I]*C + A[0,1]\nA[3,3]\nB[3]\nC'
seed equation bound 'd[b,j] = x[b,j+1] - x[b,j] | j<3\n?x[b,n=4]'
npy() { echo "{'descr': '$1', 'fortran_order': False, 'shape': ($2), }"; }
seed npy floats "\\223NUMPY\\1\\0\\74\\0$(npy '<f4' '1, 2')\\n12345678"
seed npy bytes "\\223NUMPY\\1\\0\\72\\0$(npy '|u1' '3,')\\n123"
seed image bytes 'P5 2 2 255\nabcd'
seed image text 'P3\n# colours\n2 1 9\n1 2 3 4 5 6\n'
tensor() { printf '"%s":{"dtype":"F32","shape":[%s],"data_offsets":[%s]}' "$1" "$2" "$3"; }
model() {                                      # model NAME HEADER: its length first
  length=$(printf '\\%03o' ${#2})
  seed safetensors $1 "$length\\0\\0\\0\\0\\0\\0\\0${2}123456789012345678901234567890123456"
}
three="$(tensor W 2,3 0,24),$(tensor v 2 24,32),$(tensor s '' 32,36)"
model plain "{$three}"
model steps "{\"__metadata__\":{\"W.steps\":\"3\",\"draws\":\"7\"},$three}"

if ! $clang tests/fuzz/$target.c $object -o $dir/fuzz_$target -lm > $dir/$target.log 2>&1; then
  echo "not ok fuzz_$target: it does not compile"
  head -n 12 $dir/$target.log | sed 's/^/  /'
elif $dir/fuzz_$target -max_total_time=$seconds -max_len=1024 -timeout=20 \
     -rss_limit_mb=2000 -close_fd_mask=2 -artifact_prefix=$dir/found_${target}_ \
     $dir/$target > $dir/$target.log 2>&1; then
  echo "ok fuzz_$target"
  echo "  $(tail -n 1 $dir/$target.log)"
  exit 0
else
  echo "not ok fuzz_$target: see $dir/$target.log"
  grep -E 'ERROR|SUMMARY|Test unit|^    #[0-6]|runtime error' $dir/$target.log | head -n 12 |
    sed 's/^/  /'
fi
exit 1
