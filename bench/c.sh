#!/bin/sh
# The digits' network, 784-64-10, as a C file of edf_write_c: the size of its code, and the time
# of one row, beside edf_forward_to and onnxruntime. One thread, medians of 25 runs of 200 rows.
#   sh bench/c.sh          onnxruntime: pip install onnxruntime in build/venv

cd "$(dirname "$0")/.." || exit 1
dir=build/bench-c
mkdir -p $dir
cat > $dir/write.c <<'END'
#define _POSIX_C_SOURCE 200809L
#define EDF_IMPLEMENTATION
#include "edf/c.h"
#include "edf/onnx.h"
#include <stdio.h>
#include <time.h>

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
int main(void) {
  static edf_real row[784];
  static double times[25];
  Input *x = edf_input("x[b,784]");
  CompNode *P = Equations("h[b,j] = sigmoid(W[j,I] x[b,I] - B[j]) | j<64\n"
                          "P[b,k] = softmax_k (V[k,J] h[b,J] - C[k]) | k<10");
  for (int i = 0; i < 784; i++) row[i] = edf_uniform(0, 1);
  edf_feed(x, row, 1);
  edf_forward_to(P);
  edf_write_c("build/bench-c/digits.c", P);
  edf_save_onnx("build/bench-c/digits.onnx", P);
  for (int k = 0; k < 25; k++) {
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < 200; i++) {
      edf_feed(x, row, 1);
      edf_forward_to(P);
    }
    clock_gettime(CLOCK_MONOTONIC, &b);
    times[k] = ((double)(b.tv_sec - a.tv_sec) * 1e6 + (double)(b.tv_nsec - a.tv_nsec) * 1e-3) / 200;
  }
  qsort(times, 25, sizeof *times, by_size);
  printf("edf.h, one row: %.1f us\n", times[12]);
}
END
cat > $dir/time.c <<'END'
#define _POSIX_C_SOURCE 200809L
#define NO_MAIN
#include "digits.c"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
int main(int argc, char **argv) {
  static double times[25];
  volatile float *seen = &x[0][0];       /* so that no run can be left out                    */
  for (int k = 0; k < 25; k++) {
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < 200; i++) {
      seen[i] = P[0][i % 10];
      forward(1);
    }
    clock_gettime(CLOCK_MONOTONIC, &b);
    times[k] = ((double)(b.tv_sec - a.tv_sec) * 1e6 + (double)(b.tv_nsec - a.tv_nsec) * 1e-3) / 200;
  }
  qsort(times, 25, sizeof *times, by_size);
  printf("the file, %s, one row: %.1f us\n", argc > 1 ? argv[1] : "", times[12]);
}
END
${CC:-cc} -O3 -march=native -I. $dir/write.c -o $dir/write -lm && $dir/write || exit 1
for flags in '-Os' '-O3 -march=native -ffast-math'; do
  ${CC:-cc} -std=c99 $flags $dir/time.c -o $dir/time -lm && $dir/time "$flags" || exit 1
done
${CC:-cc} -std=c99 -Os -DMOST=1 -DNO_MAIN -c $dir/digits.c -o $dir/digits.o &&
  size -A $dir/digits.o | awk '
    /^[.]text/ { code += $2 } /^[.]rodata|^[.]data/ { numbers += $2 } /^[.]bss/ { arrays += $2 }
    END { print "with -Os, bytes: code " code ", numbers " numbers ", arrays " arrays }'
for python in build/venv/bin/python python3; do
  $python -c 'import onnxruntime' 2> /dev/null && break
  python=
done
[ "$python" ] || { echo 'skip onnxruntime: it is not installed'; exit; }
$python - <<'END'
import statistics, time
import numpy, onnxruntime
o = onnxruntime.SessionOptions()
o.intra_op_num_threads = o.inter_op_num_threads = 1
s = onnxruntime.InferenceSession("build/bench-c/digits.onnx", o)
row = {"x": numpy.random.rand(1, 784).astype("float32")}
s.run(None, row)
times = []
for _ in range(25):
    a = time.perf_counter()
    for _ in range(200): s.run(None, row)
    times.append((time.perf_counter() - a) / 200 * 1e6)
print("onnxruntime, one row: %.1f us" % statistics.median(times))
END
