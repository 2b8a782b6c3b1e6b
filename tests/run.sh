#!/bin/sh
# Builds and runs the tests; `make test` and `make test-all` call it. A line a job as it ends;
# the last line is `N passed, N failed, N skipped`, and the exit status is the verdict.
#   sh tests/run.sh quick               what `make test` runs
#   sh tests/run.sh rest                what `make test-all` runs: all that quick leaves out
#   sh tests/run.sh quick nests mpi     the jobs of these; those of rest, where quick has none
#   sh build/tests/NAME.sh              one job again; it printed build/tests/NAME.log
#
# A test is a C program in tests/ that prints ok, not ok and skip lines, or a script that does.
# A program links tests/impl.c, the implementation of edf.h, which is compiled once a variant:
# float and double, with CBLAS and without. A line `Built as: double none` in the program's head
# says less; `sanitized` adds a run with -fsanitize=address,undefined, `valgrind` one in
# valgrind, `blis` one with BLIS, `openmp` one with OpenMP, `shim` one with edf_cuda.cu on an
# emulated GPU, where every array is brought back after each kernel; `alone` leaves it at these.
# `slow`: without a sanitizer it runs in `make test-all` alone.
# `optimised`: the test's own code is compiled with -O1. `own`: it has the implementation in
# itself. All in float run once more with -O3 -march=native, in `make test-all`.

cd "$(dirname "$0")/.." || exit 1
set=$1
shift
only=$*
CC=${CC:-cc} MAKE=${MAKE:-make}
out=build/tests impl=build/impl
warnings='-std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion'
sanitize='-g1 -fsanitize=address,undefined -fno-sanitize-recover=all'
mkdir -p $out $impl

has() { command -v "$1" >/dev/null 2>&1; }
works() {                                  # works COMPILER FLAGS: does a program run?
  echo 'int main(void) { return 0; }' > $out/works.c
  "$@" $out/works.c -o $out/works 2>/dev/null && $out/works
}
works $CC -fsanitize=address,undefined && sanitizer=1 || sanitizer=
works $CC -fopenmp && openmp=1 || openmp=
CXX=${CXX:-g++}
has "$CXX" || CXX=clang++
has "$CXX" || CXX=
fuzzes() {                                 # is there a clang with -fsanitize=fuzzer?
  [ "$fuzzes" ] && return "$fuzzes"
  echo 'int LLVMFuzzerTestOneInput(const char *p, long n);
    int LLVMFuzzerTestOneInput(const char *p, long n) { return !p && n; }' > $out/works.c
  $fuzzer -fsanitize=fuzzer $out/works.c -o $out/works 2>/dev/null
  fuzzes=$?
  return $fuzzes
}
fuzzer='clang -std=c99 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all'
blis=$(CC=$CC sh tests/blas.sh blis 2>/dev/null)
blis_flags=$(echo "$blis" | sed -n 's/^BLAS_CFLAGS = -DEDF_CBLAS//p')
blis_libs=$(echo "$blis" | sed -n 's/^BLAS_LIBS = //p')

# Every job begins with these lines, so that it can be run again by hand.
environment=$(for name in CC CXX EDF_DATA EDF_TEXT BLAS_CFLAGS BLAS_LIBS OMP_NUM_THREADS \
    OPENBLAS_NUM_THREADS BLIS_NUM_THREADS OPENBLAS_CORETYPE FUZZ_SECONDS; do
  eval "is=\${$name-}"
  [ -z "$is" ] || echo "$name='$is' && export $name"
done)

# ---- The implementation's variants, and edf_cuda.cu for the emulated GPU

object() {                                 # object NAME SOURCES COMMAND
  echo "$3 -o $impl/$1.o && echo 'ok compiles'" > $out/new
  cmp -s $out/new $out/impl-$1.sh || mv $out/new $out/impl-$1.sh
  printf '%s:' $impl/$1.o
  printf ' %s' $out/impl-$1.sh $2
  printf '\n\t@sh %s/do impl-%s\n\n' $out $1
}
c_object() {                               # c_object NAME FLAGS
  object "$1" 'edf.h edf_lab.h tests/impl.c tests/inside.h' \
    "$CC $warnings $2 -I. -c tests/impl.c"
}
device_object() {                          # device_object NAME REAL
  object "$1" "edf.h edf_cuda.cu $(echo tests/cuda/shim/*.h)" \
    "$CXX -x c++ -std=c++17 -Wall -Wextra -Werror -O2 -DEDF_REAL=$2 \
     -Itests/cuda/shim -I. -c edf_cuda.cu"
}
write_objects() {
  c_object float-none '-O2'
  c_object double-none '-O1 -DEDF_REAL=double'
  c_object native '-O3 -march=native'
  printf '%s\n' '#define EDF_IMPLEMENTATION' '#include "edf_lab.h"' > $impl/edf.c
  object edf 'edf.h edf_lab.h' "$CC $warnings -O3 -march=native -I. -c $impl/edf.c"
  c_object float-cblas "-O1 $BLAS_CFLAGS"
  c_object double-cblas "-O1 -DEDF_REAL=double $BLAS_CFLAGS"
  c_object sanitized "-O1 -DEDF_REAL=double $sanitize"
  c_object valgrind '-O1 -g'               # for the lines of its reports
  c_object openmp "-O1 -fopenmp $BLAS_CFLAGS"
  c_object blis "-O1 -DEDF_CBLAS $blis_flags"
  device_object shim-float float
  device_object shim-double double
  object fuzz 'edf.h edf_lab.h tests/impl.c tests/inside.h' \
    "$fuzzer -fsanitize=fuzzer-no-link -I. -c tests/impl.c"
}

# ---- The jobs: a small script each

# CPU seconds of those that take long: they start first.
cost() {
  case $1 in
    bare|cuda_faults_race) echo 300 ;;
    cuda_faults*|cuda_mutants*) echo 150 ;;
    hygiene*|examples|cuda|cuda_losses|mpi|mutants_of_edf|platform-*|grade|handout) echo 80 ;;
    trace|doctor*|nests*|fuzz_*|*-valgrind) echo 40 ;;
    notation*|nodes-*|layers-*|shim|python|*-sanitized) echo 10 ;;
    *) echo 1 ;;
  esac
}

jobs=
job() {                                    # job NAME OBJECTS COMMANDS
  jobs="$jobs $1"
  rm -rf ${out:?}/$1 $out/$1.log $out/$1.status
  needs=$(for each in $2; do printf ' %s' $impl/$each.o; done)
  {
    echo "$environment"
    [ -z "$needs" ] || echo "MAKEFLAGS= $MAKE -s -f $out/jobs.mk$needs || exit"
    echo "$3"
  } > $out/$1.sh
  printf '%s %s:%s\n' "$(cost $1)" $1 "$needs" >> $out/rules
}
missing() { job "$1" '' "echo 'skip $1: $2'"; }

# program NAME SOURCE OBJECTS FLAGS LIBRARIES [WRAPPER]
program() {
  files=$(for each in $3; do printf ' %s' $impl/$each.o; done)
  job "$1" "$3" "$CC $warnings $4 -I. $2 -o $out/$1$files $5 -lm && $6 $out/$1"
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
  $set_is_rest && { rest_of_variants $1; return; }
  case $as in *sanitized*)
    if [ $sanitizer ]; then variant sanitized $1 "-DEDF_REAL=double $sanitize"
    else missing $name-sanitized "$CC has no -fsanitize=address,undefined"; fi ;;
  esac
  case $as in *valgrind*)
    if has valgrind; then
      program $name-valgrind $1 valgrind '-O0 -g' '' \
        'valgrind -q --leak-check=full --show-leak-kinds=all --error-exitcode=9'
    else missing $name-valgrind 'no valgrind'; fi ;;
  esac
  case $as in *openmp*)
    if [ $openmp ]; then variant openmp $1 "-fopenmp $BLAS_CFLAGS" "$BLAS_LIBS"
    else missing $name-openmp "$CC has no OpenMP"; fi ;;
  esac
  case $as in *blis*)
    if [ "$blis_libs" ]; then variant blis $1 "-DEDF_CBLAS $blis_flags" "$blis_libs"
    else missing $name-blis 'no BLIS'; fi ;;
  esac
  case $as in *alone*|*slow*) reals= ;; esac
  plain_variants $1
}

plain_variants() {                         # of $reals and $kernels
  for real in $reals; do for kernel in $kernels; do
    if [ $kernel = none ]; then variant $real-none $1 "-DEDF_REAL=$real"
    elif [ -n "$BLAS_CFLAGS" ]; then
      variant $real-cblas $1 "-DEDF_REAL=$real $BLAS_CFLAGS" "$BLAS_LIBS"
    else missing $name-$real-cblas 'no CBLAS was found'; fi
  done; done
}

# A test's own code takes longer to optimise than to run, except where it says so.
variant() {                                # variant NAME SOURCE FLAGS [LIBRARIES]
  level=-O0 linked=$1
  case $as in *own*) linked= ;; *optimised*) level=-O1 ;; esac
  program $name-$1 $2 "$linked" "$level $3" "$4"
}

rest_of_variants() {
  case $as in *shim*)
    case $as in *float*) real=float ;; *) real=double ;; esac
    if [ -z "$CXX" ]; then missing $name-shim 'no C++ compiler'
    else
      linked="$real-none shim-$real"
      case $as in *own*) linked=shim-$real ;; esac
      program $name-shim $1 "$linked" "-O0 -DQUICK=10 -DEDF_REAL=$real" \
        -lstdc++ EDF_SYNC=1
    fi ;;
  esac
  case $as in *slow*) plain_variants $1 ;; esac
  case $as in *own*|*alone*) return ;; esac
  case " $reals " in *' float '*) variant native $1 -DGOLDEN_FUSED ;; esac
}

found=
wanted() {
  [ -z "$only" ] && return
  case " $only " in *" $1 "*) found="$found $1" ;; *) return 1 ;; esac
}

scripts_quick() {
  wanted trace && job trace '' "sh tests/trace.sh $out/trace few"
  for each in hygiene doctor gdb lab latex make one_place parts trials python; do
    wanted $each && job $each '' "sh tests/$each.sh $out/$each"
  done
  if ! wanted sequences; then :
  elif [ $sanitizer ]; then
    program sequences-sanitized tests/fuzz/sequences.c sanitized \
      "-O0 -DSTANDALONE -DEDF_REAL=double $sanitize"
  else missing sequences-sanitized "$CC has no -fsanitize=address,undefined"; fi
  wanted index && job index edf "sh tests/index.sh $out/index $impl/edf.o"
  wanted examples && job examples edf "sh tests/examples.sh $out/examples $impl/edf.o"
  wanted random && job random '' "sh tests/random/random.sh $out/random"
  wanted readme && job readme edf "HANDOUT_FLOAT=$PWD/$impl/edf.o HANDOUT_DIR=$PWD/$out/readme \
    sh notes/handout.sh README.md"
  wanted cuda || return
  if [ -z "$CXX" ]; then missing cuda 'no C++ compiler'
  else job cuda 'shim-float float-none' \
    "sh tests/cuda/cuda.sh $out/cuda $impl/shim-float.o $impl/float-none.o"; fi
}

scripts_rest() {
  for each in 'race calls' 'address clang_address modes' \
    'variants nvcc double clang memory'; do
    parts=cuda_faults_${each%% *}
    wanted cuda_faults && job $parts '' "sh tests/cuda/faults.sh $out/$parts $each"
  done
  for each in 1 2 3 4; do
    wanted cuda_mutants &&
      job cuda_mutants_$each '' "sh tests/cuda/mutants.sh $out/cuda_mutants_$each $each/4"
  done
  wanted mutants_of_edf && job mutants_of_edf '' 'sh tests/mutants.sh --twelve'
  if ! wanted cuda_losses; then :
  elif [ -z "$CXX" ]; then missing cuda_losses 'no C++ compiler'
  else job cuda_losses 'shim-float shim-double' \
    "sh tests/cuda/losses.sh $out/cuda_losses $impl/shim-float.o $impl/shim-double.o"; fi
  if ! wanted cuda_added; then :
  elif [ -z "$CXX" ]; then missing cuda_added 'no C++ compiler'
  else job cuda_added '' "sh tests/cuda/added.sh $out/cuda_added"; fi
  wanted shim && job shim '' "sh tests/cuda/shim.sh $out/shim"
  wanted hygiene && job hygiene_builds '' "sh tests/hygiene.sh $out/hygiene_builds builds"
  wanted parts && job parts_rest '' "sh tests/parts.sh $out/parts_rest rest"
  wanted trace && job trace_rest '' "sh tests/trace.sh $out/trace_rest"
  wanted handout && job handout '' "sh tests/handout.sh $out/handout"
  wanted grade && job grade '' "sh tests/grade.sh $out/grade"
  wanted mpi && job mpi '' "sh tests/mpi.sh $out/mpi"
  wanted bare && job bare '' "sh tests/bare.sh $out/bare"
  wanted bench-cuda &&
    job bench-cuda '' "sh tests/bench/cuda.sh --quick && echo 'ok bench-cuda-quick'"
  for each in windows arm64 musl tcc wasm clang bits32; do
    wanted platforms && job platform-$each '' "sh tests/platforms.sh $each $out/platform-$each"
  done
  for source in tests/fuzz/*.c; do
    wanted fuzz || continue
    each=$(basename $source .c)
    if fuzzes; then job fuzz_$each fuzz "sh tests/fuzz/fuzz.sh $each $impl/fuzz.o"
    else missing fuzz_$each 'no clang with -fsanitize=fuzzer'; fi
  done
}

: > $out/rules
write_jobs() {                             # write_jobs SET
  [ $1 = rest ] && set_is_rest=true || set_is_rest=false
  scripts_$1
  for source in tests/*.c; do
    [ $source = tests/impl.c ] && continue
    wanted "$(basename $source .c)" && variants $source
  done
}
not_found() {
  for each in $only; do
    case " $found " in *" $each "*) ;; *) echo $each ;; esac
  done
}
case $set in
  quick|rest) write_jobs $set ;;
  *) echo "run.sh: expected quick or rest, found '$set'" >&2; exit 2 ;;
esac
only=$(not_found)
if [ "$only" ] && [ $set = quick ]; then
  write_jobs rest
  only=$(not_found)
fi
[ "$only" ] && { echo "run.sh: no test is called $only" >&2; exit 2; }

# ---- Run them, one more at a time than there are cores: a browser and a linker wait, too

cat > $out/do <<END
name=\$1
most=\$((600 + \${FUZZ_SECONDS:-0}))
[ "\$EDF_DATA" ] && most=1500                               # real data takes its time
limit=; command -v timeout >/dev/null && limit="timeout -k 5 \$most"
start=\$(date +%s)
\$limit sh $out/\$name.sh > $out/\$name.log 2>&1
status=\$?
{ echo \$status \$((\$(date +%s) - start)); LC_ALL=C; times; } > $out/\$name.status
sh tests/report.sh \$name
exit \$status
END
{
  echo ".PHONY:$jobs"
  printf 'all:'
  sort -s -n -r $out/rules | sed 's/^[0-9]* \([^:]*\):.*/\1/' | while read -r each; do
    printf ' %s' $each
  done
  printf '\n\n'
  write_objects
  sed 's/^[0-9]* //' $out/rules | while read -r rule; do
    printf '%s\n\t@sh %s/do %s\n\n' "$rule" $out "${rule%%:*}"
  done
} > $out/jobs.mk
cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
rm -f $out/impl-*.status
MAKEFLAGS= $MAKE -s -k -j $((cores + 1)) -f $out/jobs.mk all 2> $out/jobs.log

sh tests/report.sh --sum $jobs
