#!/bin/sh
# Finds a CBLAS and prints what the Makefile needs to know of it.
#   sh tests/blas.sh            the first that works
#   sh tests/blas.sh blis       this one, or an error     (openblas, blis, cblas, blas, none)
# A library counts as found when a small program that uses it compiles, links and runs; and if
# nobody has named it, when it is quicker there than a plain loop. A reference BLAS is not: with
# that `make run` was 12 times slower than without. This is a test, so it stands among the
# tests, whose run.sh asks it too.
want=$1
cc=${CC:-cc}
mkdir -p build
probe=build/probe.$$
trap 'rm -f "$probe" "$probe".c' EXIT

try() {                                        # try NAME CFLAGS LIBS
  cat > "$probe.c" <<END
#include <cblas.h>
#include <stdio.h>
#include <time.h>
#ifdef __ELF__
char *openblas_get_corename(void) __attribute__((weak));   /* OpenBLAS under any name */
#endif
enum { N = 192 };
static float x[N * N], y[N * N];
static int quick(int blas) {
  clock_t best = 0;
  for (int turn = 0; turn < 5; turn++) {
    clock_t begin = clock();
    if (blas)
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1, x, N, x, N, 1, y, N);
    else
      for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
          for (int j = 0; j < N; j++) y[i * N + j] += x[i * N + k] * x[k * N + j];
    begin = clock() - begin;
    if (!turn || begin < best) best = begin;
  }
  return (int)best;
}
int main(int n, char **name) {
  float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8}, c[4] = {0};
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, 2, 2, 2, 1, a, 2, b, 2, 0, c, 2);
#ifdef __ELF__
  if (openblas_get_corename) printf("%s", openblas_get_corename());
#endif
  if (c[0] != 17 || c[3] != 53) return 1;
  return n > 1 && name && quick(1) > quick(0) ? 2 : 0;
}
END
  $cc -O2 $2 "$probe.c" -o "$probe" $3 2>/dev/null || return 1
  core=$(OPENBLAS_NUM_THREADS=1 BLIS_NUM_THREADS=1 OMP_NUM_THREADS=1 "$probe" $measured)
  case $? in
    0) found=$1 cflags=$2 libs=$3 slow= ;;
    2) slow=$1; return 1 ;;
    *) return 1 ;;
  esac
}

# pkg-config knows the directories; without it the usual places and names.
search() {
  if pkg-config --exists "$1" 2>/dev/null; then
    try "$1" "$(pkg-config --cflags "$1")" "$(pkg-config --libs "$1")" && return
  fi
  try "$1" "" "-l$1" && return
  case $1 in blis)
    for dir in /usr/include/*/blis-* /usr/include/blis /usr/local/include/blis; do
      [ -f "$dir/cblas.h" ] && try blis "-I$dir" -lblis && return
    done ;;
  esac
  return 1
}

measured= slow=
case $want in
  none) ;;
  '') measured=measured
      for name in openblas blis cblas blas; do search $name && break; done ;;
  *) search "$want" || { echo "blas.sh: no CBLAS named $want compiles and links" >&2
                         echo 'BLAS_FOUND = missing'; exit 1; } ;;
esac

# An OpenBLAS older than the processor falls back to kernels of 2004, five times slower, or on a
# Zen with AVX-512 to those for AVX2, twice slower. It can be told to use those of the newest
# processor that it knows.
env=
if grep -qs avx512vl /proc/cpuinfo; then newest=SkylakeX
elif grep -qs avx2 /proc/cpuinfo; then newest=Haswell
else newest=
fi
case $core$newest in
  Prescott?*|Core2?*|Generic?*|HaswellSkylakeX|ZenSkylakeX) env=OPENBLAS_CORETYPE=$newest ;;
esac

echo "BLAS_NAME = ${found:-none}"
echo "BLAS_ENV = $env"
if [ -z "$found" ]; then
  note=${slow:+ ($slow is slower than a plain loop)}
  echo "BLAS_FOUND = none$note, products use the built-in kernel"
  exit
fi
echo "BLAS_CFLAGS = -DEDF_CBLAS $cflags"
echo "BLAS_LIBS = $libs"
note=${env:+ (it takes this processor for a $core: $env)}
echo "BLAS_FOUND = $found$note"
