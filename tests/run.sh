#!/bin/sh
# Builds and runs the tests; `make test` calls it. The last line is `N passed, N failed,
# N skipped`, and the exit status is the verdict.
#   make test TESTS="nests errors"      these alone
#   sh build/tests/NAME.sh              one job again; it printed build/tests/NAME.log
#
# A test is a C program in tests/ that prints ok, not ok and skip lines, or a script that does.
# It is built in float and in double, without and with CBLAS; a line `Built as: double none` in
# its head says less; `sanitized` adds a build with -fsanitize=address,undefined, `valgrind` a
# run in valgrind, `blis` a build with BLIS, `openmp` one with OpenMP, `shim` one with
# edf_cuda.cu on an emulated GPU, where every array is brought back after each kernel;
# `alone` leaves it at these.

cd "$(dirname "$0")/.." || exit 1
CC=${CC:-cc}
out=build/tests
warnings='-std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion'
sanitize='-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all'
rm -rf $out
mkdir -p $out

has() { command -v "$1" >/dev/null 2>&1; }

# ---- The jobs: a small script each, so that every one can be run again by hand

job() { jobs="$jobs $1"; printf '%s\n' "$2" > "$out/$1.sh"; }         # job NAME COMMANDS

program() {                                # program NAME SOURCE FLAGS LIBRARIES [WRAPPER]
  job "$1" "$CC $warnings $3 -I. $2 -o $out/$1 $4 -lm && $5 $out/$1"
}

missing() { job "$1" "echo 'skip $1: $2'"; }

works() {                                  # does the compiler take these flags?
  echo 'int main(void) { return 0; }' > $out/works.c
  $CC "$@" $out/works.c -o $out/works 2>/dev/null && $out/works
}
works -fsanitize=address,undefined && sanitizer=1 || sanitizer=
works -fopenmp && openmp=1 || openmp=

blis=$(CC=$CC sh tests/blas.sh blis 2>/dev/null)
blis_flags=$(echo "$blis" | sed -n 's/^BLAS_CFLAGS = -DEDF_CBLAS//p')
blis_libs=$(echo "$blis" | sed -n 's/^BLAS_LIBS = //p')

# edf_cuda.cu for the emulated GPU, in float and in double, when the first test wants it.
CXX=${CXX:-g++}
has "$CXX" || CXX=clang++
shim() {
  [ -f $out/shim-double.o ] || has "$CXX" || return
  [ -f $out/shim-double.o ] && return
  for shim_real in float double; do
    $CXX -x c++ -std=c++17 -O2 -DEDF_REAL=$shim_real -Itests/cuda/shim -I. -c edf_cuda.cu \
      -o $out/shim-$shim_real.o &
  done
  wait
}

variants() {                               # variants SOURCE
  name=$(basename "$1" .c)
  as=$(sed -n 's/.*Built as: *\([a-z ]*\).*/\1/p' "$1" | head -n 1)
  case $as in *float*|*double*) reals= ;; *) reals='float double' ;; esac
  case $as in *none*|*cblas*) kernels= ;; *) kernels='none cblas' ;; esac
  for word in $as; do
    case $word in
      float|double) reals="$reals $word" ;;
      none|cblas) kernels="$kernels $word" ;;
    esac
  done
  case $as in *sanitized*)
    if [ $sanitizer ]; then program $name-sanitized $1 "-DEDF_REAL=double $sanitize"
    else missing $name-sanitized "$CC has no -fsanitize=address,undefined"; fi ;;
  esac
  case $as in *valgrind*)
    if has valgrind; then                  # it may not know the instructions of -march=native
      program $name-valgrind $1 '-O1 -g' '' \
        'valgrind -q --leak-check=full --show-leak-kinds=all --error-exitcode=9'
    else missing $name-valgrind 'no valgrind'; fi ;;
  esac
  case $as in *openmp*)
    if [ $openmp ]; then
      program $name-openmp $1 "-O2 -fopenmp $BLAS_CFLAGS" "$BLAS_LIBS"
    else missing $name-openmp "$CC has no OpenMP"; fi ;;
  esac
  case $as in *blis*)
    if [ "$blis_libs" ]; then program $name-blis $1 "-O2 -DEDF_CBLAS $blis_flags" "$blis_libs"
    else missing $name-blis 'no BLIS'; fi ;;
  esac
  case $as in *shim*)
    if shim; then
      case $as in *float*) real=float ;; *) real=double ;; esac
      job $name-shim "$CC $warnings -O1 -DQUICK=10 -DEDF_REAL=$real -I. $1 -o $out/$name-shim \
        $out/shim-$real.o -lstdc++ -lm && EDF_SYNC=1 $out/$name-shim"
    else missing $name-shim 'no C++ compiler'; fi ;;
  esac
  case $as in *alone*) reals= ;; esac
  for real in $reals; do for kernel in $kernels; do
    each=$name-$real-$kernel flags="-O2 -DEDF_REAL=$real"
    case $CI$sanitizer-$name-$real-$as in                    # little time: sanitized is double
      true1-nests-*) ;;
      true1-*-double-*sanitized*) continue ;;
    esac
    [ $real = double ] && flags="-O1 -DEDF_REAL=$real"       # compiles in half the time
    if [ $kernel = none ]; then program $each $1 "$flags"
    elif [ -n "$BLAS_CFLAGS" ]; then program $each $1 "$flags $BLAS_CFLAGS" "$BLAS_LIBS"
    else missing $each 'no CBLAS was found'; fi
  done; done
}

wanted() { [ -z "$only" ] && return; case " $only " in *" $1 "*) ;; *) return 1 ;; esac; }

only=$*
# Where CI is set there is little time: the race detector and ASan alone of the GPU's variants,
# and two of the parsers are fuzzed.
few=${CI:+modes calls memory address race nvcc}
for test in hygiene examples doctor gdb latex trace python shim cuda cuda_faults cuda_mutants \
            mpi; do
  parts=; [ $test = cuda_faults ] && parts=$few
  script=tests/$test.sh
  case $test in shim|cuda) script=tests/cuda/$test.sh ;; cuda_*) script=tests/cuda/${test#cuda_}.sh ;; esac
  wanted $test && job $test "CC='$CC' sh $script $out/$test $parts"
done
wanted bench-cuda &&
  job bench-cuda "sh tests/bench/cuda.sh --quick && echo 'ok bench-cuda-quick'"
for source in tests/fuzz/*.c; do
  name=fuzz_$(basename $source .c)
  case ${CI:+$name} in ''|*equation|*safetensors) ;; *) continue ;; esac
  wanted fuzz && job $name "sh tests/fuzz/fuzz.sh ${name#fuzz_}"
done
for source in tests/*.c; do
  wanted "$(basename $source .c)" && variants $source
done

# ---- Run them, two at a time where xargs can, and count

cat > $out/do <<END
limit=; command -v timeout >/dev/null && limit='timeout 600'
[ "\$limit" ] && [ "\$EDF_DATA" ] && limit='timeout 1500'           # real data takes its time
start=\$(date +%s)
\$limit sh $out/\$1.sh > $out/\$1.log 2>&1
echo \$? \$((\$(date +%s) - start)) > $out/\$1.status
END
two=; echo | xargs -P 2 true 2>/dev/null && two='-P 2'
printf '%s\n' $jobs | xargs -n 1 $two sh $out/do

passed=0 failed=0 skipped=0
for name in $jobs; do
  log=$out/$name.log
  read -r status seconds < $out/$name.status
  p=$(grep -c '^ok ' $log) f=$(grep -c '^not ok ' $log) s=$(grep -c '^skip ' $log)
  if [ "$status" != 0 ] && [ "$f" = 0 ]; then
    f=1
    echo "not ok $name: exit status $status, the end of $log:"
    tail -n 15 $log | sed 's/^/  /'
  fi
  [ $((p + f + s)) = 0 ] && f=1 && echo "not ok $name: it tested nothing"
  awk '/^not ok / { n = 6 } n-- > 0 && /^(not ok|  )/' $log
  printf '%-28s %4d ok %3d failed %3d skipped %4d s\n' $name $p $f $s $seconds
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
if [ $skipped -gt 0 ]; then
  echo 'SKIPPED, not tested here:'
  for name in $jobs; do sed -n "s/^skip /  $name: /p" $out/$name.log; done
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] && [ $passed -gt 0 ]
