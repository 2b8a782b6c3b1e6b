#!/bin/sh
# make run compiles the header once: a second example compiles its own file alone, and prints
# what it prints where its file has the implementation in itself.
#   sh tests/make.sh [directory for what is built]

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/make}
rm -rf "$dir"
mkdir -p "$dir/tests"
cp -r Makefile edf.h edf_lab.h examples "$dir"
cp tests/blas.sh "$dir/tests"
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

# A reference BLAS, such as Debian's libblas, is found, and left alone.
cat > cblas.h <<END
enum { CblasRowMajor = 101, CblasNoTrans = 111, CblasTrans = 112 };
void cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int,
                 float, float *, int);
END
cat > slow.c <<END
#include "cblas.h"
void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                 int lda, const float *b, int ldb, float beta, float *c, int ldc) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      volatile float sum = 0;
      for (int p = 0; p < k; p++)
        sum += a[i * lda + p] * b[tb == CblasTrans ? j * ldb + p : p * ldb + j];
      c[i * ldc + j] = alpha * sum + beta * c[i * ldc + j];
    }
  (void)order, (void)ta;
}
END
printf '%s\n' '#!/bin/sh' 'case "$*" in *openblas*|*blis*|*-lcblas*) exit 1; esac' \
  "exec ${CC:-cc} -I. -L. \"\$@\"" > slow_cc
chmod +x slow_cc
if ! command -v ar > /dev/null; then
  echo 'skip make-reference-blas: no ar'
  exit $bad
fi
${CC:-cc} -O2 -c slow.c -o slow.o && ar rcs libblas.a slow.o
found() {                                        # found NAME PATTERN [BLAS]
  name=$1 pattern=$2
  if CC=./slow_cc PKG_CONFIG_PATH=. PKG_CONFIG_LIBDIR=. sh tests/blas.sh ${3-} > found 2>&1 &&
     grep -q "$pattern" found; then echo "ok make-$name"
  else bad=1; echo "not ok make-$name: no $pattern"; sed 's/^/  /' found; fi
}
found reference-blas-is-left-alone 'none (blas is slower than a plain loop)'
found reference-blas-by-name 'BLAS_FOUND = blas' blas
exit $bad
