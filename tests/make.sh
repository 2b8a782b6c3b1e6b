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
printf '%s\n' '#!/bin/sh' 'echo compile >> calls' "exec ${CC:-cc} \"\$@\"" > "$dir/counted_cc"
chmod +x "$dir/counted_cc"
cd "$dir" || exit 1
bad=0

# calls NAME NUMBER EXAMPLE [FLAGS]: make run calls the compiler so often, and prints the same
calls() {
  name=$1 number=$2 example=$3 flags=${4:--O0}
  : > calls
  MAKEFLAGS='' ${MAKE:-make} -s run EXAMPLE="$example" BLAS=none CC=./counted_cc \
    CFLAGS="$flags" > printed 2> errors
  status=$? n=$(grep -c . calls)
  ${CC:-cc} -std=c99 -O0 -I. examples/"$example".c -o alone -lm && ./alone > alone.printed
  if [ $status = 0 ] && [ "$n" = "$number" ] && sed 1d printed | cmp -s - alone.printed
  then echo "ok make-$name"
  else
    bad=1
    echo "not ok make-$name: $n compilations, expected $number; exit status $status"
    head -n 5 errors | sed 's/^/  /'
    sed 1d printed | diff - alone.printed | head -n 5 | sed 's/^/  /'
  fi
}
calls first-example-compiles-the-header 2 02_xor
calls second-example-compiles-its-own-file 1 01_sqrt
calls again-compiles-nothing 0 02_xor
calls in-double-compiles-the-header-again 2 04_custom_node
calls other-flags-compile-all 2 02_xor -O1
exit $bad
