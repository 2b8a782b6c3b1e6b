#!/bin/sh
# make run compiles the header once: a second example compiles its own file alone, and prints
# what it prints where its file has the implementation in itself. And a CBLAS is taken where it
# is quicker than the built-in kernel, alone; a program built by hand is told of a slow one.
#   sh tests/make.sh [directory for what is built]

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/make}
rm -rf "$dir"
mkdir -p "$dir/tests/bench"
cp -r Makefile edf.h edf_lab.h examples "$dir"
cp tests/blas.sh "$dir/tests"
cp tests/bench/choose.c "$dir/tests/bench"
printf '%s\n' '#!/bin/sh' 'echo "$*" >> calls' "exec ${CC:-cc} \"\$@\"" > "$dir/counted_cc"
chmod +x "$dir/counted_cc"
cd "$dir" || exit 1
bad=0

# calls NAME NUMBER EXAMPLE [FLAGS]: make run calls the compiler so often, for the example
# without the implementation, and prints the same
calls() {
  name=$1 number=$2 example=$3 flags=${4:--O0}
  : > calls
  MAKEFLAGS='' ${MAKE:-make} -s run EXAMPLE="$example" BLAS=none CC=./counted_cc \
    CFLAGS="$flags" > printed 2> errors
  status=$? n=$(grep -c . calls)
  ${CC:-cc} -std=c99 -O0 -I. examples/"$example".c -o alone -lm && ./alone > alone.printed
  if [ $status = 0 ] && [ "$n" = "$number" ] && sed 1d printed | cmp -s - alone.printed &&
    ! grep -v -e -DEDF_LINKED calls | grep -q "examples/$example.c"
  then echo "ok make-$name"
  else
    bad=1
    echo "not ok make-$name: $n compilations, expected $number; exit status $status"
    sed 's/^/  /' calls
    head -n 5 errors | sed 's/^/  /'
    sed 1d printed | diff - alone.printed | head -n 5 | sed 's/^/  /'
  fi
}
calls first-example-compiles-the-header 2 02_xor
calls second-example-compiles-its-own-file 1 01_sqrt
calls again-compiles-nothing 0 02_xor
calls in-double-compiles-the-header-again 2 04_custom_node
calls other-flags-compile-all 2 02_xor -O1

# ---- Two BLAS of one text: one that is slower than anything, and one with -O3 where the
# built-in kernel is compiled with -O0. Each stands alone on a machine, as Debian's libblas may.
cat > cblas.h <<END
enum { CblasRowMajor = 101, CblasColMajor, CblasNoTrans = 111, CblasTrans };
void cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int,
                 float, float *, int);
END
cat > gemm.c <<END
#include "cblas.h"
void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                 int lda, const float *b, int ldb, float beta, float *c, int ldc) {
  if (order == CblasColMajor) {                  /* out' = b' a' */
    cblas_sgemm(CblasRowMajor, tb, ta, n, m, k, alpha, b, ldb, a, lda, beta, c, ldc);
    return;
  }
  for (int i = 0; i < m; i++) {
    for (int j = 0; j < n; j++) c[i * ldc + j] *= beta;
    for (int p = 0; p < k; p++) {
      float x = alpha * (ta == CblasTrans ? a[p * lda + i] : a[i * lda + p]);
      for (int j = 0; j < n; j++) {
#ifdef WAIT
        for (volatile int wait = 0; wait < WAIT; wait++) {}
#endif
        c[i * ldc + j] += x * (tb == CblasTrans ? b[j * ldb + p] : b[p * ldb + j]);
      }
    }
  }
}
END
printf '%s\n' '#!/bin/sh' 'echo "$*" >> calls' \
  'case "$*" in *openblas*|*blis*|*-lcblas*) exit 1; esac' \
  "exec ${CC:-cc} -I. -L. \"\$@\"" > blas_cc
chmod +x blas_cc
if ! command -v ar > /dev/null; then
  echo 'skip make-blas: no ar'
  exit $bad
fi
install() {                                      # install FLAGS: the BLAS of this machine
  rm -f libblas.a
  ${CC:-cc} "$@" -c gemm.c -o gemm.o && ar rcs libblas.a gemm.o
}
found() {                                        # found NAME PATTERN CHOICES [BLAS]
  name=$1 pattern=$2 choices=$3
  : > calls
  CC=./blas_cc CFLAGS=-O0 PKG_CONFIG_PATH=. PKG_CONFIG_LIBDIR=. \
    sh tests/blas.sh ${4-} > found 2> errors
  n=$(grep -c choose.c calls)
  if grep -q "$pattern" found && [ "$n" = "$choices" ]; then echo "ok make-$name"
  else
    bad=1
    echo "not ok make-$name: no $pattern; $n comparisons, expected $choices"
    cat found errors | sed 's/^/  /'
  fi
}
cat > by_hand.c <<END
#define EDF_IMPLEMENTATION
#include "edf.h"
int main(void) {
  Parameter *A = edf_parameter("A[120,120]"), *B = edf_parameter("B[120,120]");
  Einsum("C[i,j] = A[i,K] B[K,j]", A, B);
  for (int i = 0; i < 2; i++) Forward();
  edf_clear();
}
END
by_hand() {                                      # by_hand NAME TIMES: it says so, this often
  ${CC:-cc} -O0 -I. -DEDF_CBLAS by_hand.c -o by_hand -L. -lblas -lm && ./by_hand 2> errors
  status=$?
  n=$(grep -c '^edf: the BLAS takes .* us for 120 x 120 x 120, .*without -DEDF_CBLAS$' errors)
  if [ $status = 0 ] && [ "$n" = "$2" ] && [ "$(grep -c . errors)" = "$2" ]; then
    echo "ok make-$1"
  else
    bad=1
    echo "not ok make-$1: exit status $status, said $n times, expected $2"
    sed 's/^/  /' errors
  fi
}
both='mlp_a: built-in [0-9]* us, blas [0-9]* us a step; a convolution: [0-9]*, [0-9]*)$'
install -O0 -DWAIT=20
found slow-blas-is-left-alone "^BLAS_FOUND = none ($both" 1
found slow-blas-is-remembered "^BLAS_FOUND = none ($both" 0
found slow-blas-by-name '^BLAS_FOUND = blas$' 0 blas
found slow-blas-for-tests '^BLAS_FOUND = blas$' 0 any
by_hand slow-blas-by-hand 1
install -O3
found quick-blas-is-taken "^BLAS_FOUND = blas ($both" 1
found quick-blas-links '^BLAS_LIBS = -lblas$' 0
by_hand quick-blas-by-hand 0
echo '/* another */' >> edf.h
found another-header-is-compared "^BLAS_FOUND = blas ($both" 1
echo '#error "no such number"' > tests/bench/choose.c
found no-comparison-no-blas '^BLAS_FOUND = none (blas could not be compared' 1
exit $bad
