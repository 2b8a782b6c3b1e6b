#!/bin/sh
# Prints the compiler's and linker's flags of a CBLAS, in the form of a Makefile.
#   sh tests/blas.sh NAME        openblas, blis, cblas, blas
# A small program that uses the library must compile, link and run, else the exit status is 1.

name=$1 dir=build/blas LC_ALL=C
export LC_ALL
mkdir -p $dir
cat > $dir/$$.c <<'END'
#include <cblas.h>
#include <stdio.h>
#ifdef __ELF__
char *openblas_get_corename(void) __attribute__((weak));
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
trap 'rm -f $dir/$$ $dir/$$.c' EXIT
try() {                                    # try CFLAGS LIBS
  ${CC:-cc} $1 $dir/$$.c -o $dir/$$ $2 2> /dev/null && core=$($dir/$$) && cflags=$1 libs=$2
}
{ pkg-config --exists "$name" 2> /dev/null &&
  try "$(pkg-config --cflags "$name")" "$(pkg-config --libs "$name")"; } ||
  try "" "-l$name" || try "-I/usr/include/$name" "-l$name" || exit 1

# An OpenBLAS that is older than the processor falls back to slow kernels. It can be told to use
# those of the newest processor that it knows.
env=
case $core$(grep -qs avx512vl /proc/cpuinfo && echo +) in
  Prescott+|Core2+|Generic+|Haswell+|Zen+) env=OPENBLAS_CORETYPE=SkylakeX ;;
esac
echo "BLAS_CFLAGS = -DEDF_CBLAS $cflags"
echo "BLAS_LIBS = $libs"
echo "BLAS_ENV = $env"
