#!/bin/sh
# Finds a CBLAS and prints what the Makefile needs to know of it.
#   sh tests/blas.sh            the first that works, if it is quicker than the built-in kernel
#   sh tests/blas.sh any        the first that works, for tests
#   sh tests/blas.sh blis       this one, or an error     (openblas, blis, cblas, blas, none)
# A library works when a small program that uses it compiles, links and runs. Quicker it is in
# bench/choose.c, by 5 %, the mean of its two ratios: a reference BLAS, or an OpenBLAS that does
# not know the processor, is several times slower. That is measured once for a compiler, its
# flags, a library and an edf.h. This is a test, so it stands among the tests, whose run.sh asks
# it too.
want=$1
cc=${CC:-cc} flags=${CFLAGS--O3 -march=native} LC_ALL=C
export LC_ALL
own=build/blas/$$ probe=$own/probe
mkdir -p $own
trap 'rm -rf "$own"' EXIT
alone() { OPENBLAS_NUM_THREADS=1 BLIS_NUM_THREADS=1 OMP_NUM_THREADS=1 "$@"; }

cat > $probe.c <<'END'
#include <cblas.h>
#include <stdio.h>
#ifdef __ELF__
char *openblas_get_corename(void) __attribute__((weak));   /* OpenBLAS under any name */
#endif
int main(void) {
  float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8}, c[4] = {0};
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, 2, 2, 2, 1, a, 2, b, 2, 0, c, 2);
#ifdef __ELF__
  if (openblas_get_corename) printf("%s", openblas_get_corename());
#endif
  return c[0] != 17 || c[3] != 53;
}
END
try() {                                        # try NAME CFLAGS LIBS
  $cc -O2 $2 $probe.c -o $probe $3 2>/dev/null || return 1
  core=$(alone $probe) && found=$1 cflags=$2 libs=$3
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

found= core=
case $want in
  none) ;;
  ''|any) for name in openblas blis cblas blas; do search $name && break; done ;;
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

# ---- Is it quicker?

# Whatever another time could come from: of a shared library, its file.
state() {
  echo "$cc $flags, $cflags $libs $core $env"
  $cc --version 2>/dev/null | head -n 1
  cksum edf.h tests/bench/choose.c
  cksum < $probe
  ldd $probe 2>/dev/null | sed -n 's/.*=> \([^ ]*\).*/\1/p' | xargs ls -lL 2>/dev/null
}

# Part One of edf.h, and the chapters with its kernels.
short_edf() {
  awk '/^\/\* (==== >>|########)/ { c = $0; sub(/^[^>]*>>/, "", c); sub(/[^a-z].*/, "", c)
      out = below && c != "seam" && c != "nest" }
    /End of Part One/ { below = 1 }
    !out' edf.h > $own/edf.h
}

# measure: four times, see choose.c, in $times; none where the program does not compile or run
measure() {
  kept=build/blas/times.$(state | cksum | cut -d ' ' -f 1)
  if ! [ -f $kept ]; then
    echo "BLAS: comparing $found with the built-in kernel, once: some seconds" >&2
    short_edf
    $cc $flags $cflags -I$own tests/bench/choose.c -o $own/choose $libs -lm 2> $own/log &&
      alone env $env $own/choose > $own/times 2> $own/log &&
      mv $own/times $kept
  fi
  times=$(cat $kept 2>/dev/null)
  [ "$times" ] || head -n 5 $own/log >&2
}

note=
if [ "$found" ] && [ -z "$want" ]; then
  measure
  note=$(echo "$times" | awk -v blas="$found" 'NF == 4 {
    printf "mlp_a: built-in %s us, %s %s us a step; a convolution: %s, %s", $1, blas, $2, $3, $4
    exit !($2 / $1 + $4 / $3 < 2 * 0.95) }
    NF != 4 { print blas " could not be compared with the built-in kernel"; exit 1 }') || found=
fi
[ "$found" ] && [ "$env" ] &&
  note="$note${note:+; }it takes this processor for a $core: $env"

echo "BLAS_NAME = ${found:-none}"
if [ -z "$found" ]; then
  note=${note:+ ($note)}
  echo "BLAS_FOUND = none${note:-, products use the built-in kernel}"
  exit
fi
echo "BLAS_ENV = $env"
echo "BLAS_CFLAGS = -DEDF_CBLAS $cflags"
echo "BLAS_LIBS = $libs"
echo "BLAS_FOUND = $found${note:+ ($note)}"
