#!/bin/sh
# Measures what `make bench MODELS="..."` asks for. README.md lists what there is.
#   sh bench/run.sh [MODEL ...]        the models of bench.c, threads, memory; or one of
#   sh bench/run.sh against|compile|peers|cuda [MODEL ...]

cd "$(dirname "$0")/.." || exit 1
case $1 in
  against|compile|cuda) script=$1; shift; exec sh bench/$script.sh "$@" ;;
  peers) shift; exec "${PYTHON:-python3}" bench/peers.py "$@" ;;
esac
cc=${CC:-cc}
flags="${CFLAGS:--O3 -march=native} $BLAS_CFLAGS -I."
bad=0

wanted() { [ -z "$models" ] && return; case " $models " in *" $1 "*) ;; *) return 1 ;; esac; }
models=$*
others=$(echo " $models " | sed 's/ threads / /; s/ memory / /; s/^ *//; s/ *$//')

[ -z "$models" ] || [ "$others" ] && { build/bench $others || bad=1; }

if wanted threads; then
  if $cc -fopenmp $flags bench/bench.c -o build/bench_threads $BLAS_LIBS -lm 2>/dev/null
  then env -u OMP_NUM_THREADS build/bench_threads threads || bad=1
  else echo "bench threads: $cc has no OpenMP"; fi
fi

if wanted memory; then
  for source in examples/[0-9]*.c; do
    name=$(basename $source .c) real=float takes=-DTAKES_ARGUMENTS arguments=
    grep -q 'define EDF_REAL double' $source && real=double
    grep -q 'int main(void)' $source && takes=
    case $name in
      03_*|05_*|08_*|12_*) arguments='--epochs 1' ;;
      06_*|07_*) arguments='--steps 20' ;;
    esac
    $cc -w $flags -DEDF_REAL=$real $takes -DEXAMPLE="\"../$source\"" -DNAME="\"$name\"" \
      bench/memory.c -o build/memory $BLAS_LIBS -lm || exit 1
    build/memory $arguments > /dev/null || { bad=1; echo "  more than is allowed"; }
  done
fi
exit $bad
