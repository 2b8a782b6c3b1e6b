#!/bin/sh
# The doctor on real data, about four minutes: every mistake of tests/doctor.c on MNIST, with 5
# seeds; and no finding in the first 500 steps of examples 03, 05, 06 and 07, with 5 seeds each,
# which print what they print without it. The thresholds were chosen on seeds 1 to 20.
#   EDF_DATA=dir EDF_TEXT=file sh tests/doctor.sh [directory for what is built]

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/doctor}
images=$EDF_DATA
[ "$images" ] || images=data/mnist
case $images in /*) ;; *) images=$PWD/$images ;; esac
if [ ! -f "$images/train-images-idx3-ubyte" ]; then
  echo 'skip doctor: no MNIST in EDF_DATA or data/mnist: mistakes and examples on real data'
  exit 0
fi
[ -f "$EDF_TEXT" ] || echo 'skip doctor-text: no EDF_TEXT: examples 06 and 07 read their poem'
mkdir -p "$dir/build"
bad=0
build() {                                      # build NAME SOURCES
  program=$1
  shift
  ${CC:-cc} -std=c99 -O3 -march=native $BLAS_CFLAGS -I. -Iexamples "$@" -o "$dir/$program" \
    $BLAS_LIBS -lm || exit 1
}

build doctor tests/doctor.c tests/impl.c
(cd "$dir" && EDF_DATA=$images ./doctor long) || bad=1

# The lines of an example that say how it did, without the speed
said() { sed -n 's/  *[0-9]* images\/s//; /loss\|error/p' "$1"; }

run() {                                        # run NAME SEED OPTIONS
  (cd "$dir" && EDF_DATA=$images ./"$@" > "$1.$3.out" 2>&1) || { bad=1; echo "not ok $*"; }
}

for example in '03_mnist --epochs 1' '05_lenet --epochs 1' '06_char_lstm --steps 500' \
               '07_gpt --steps 500'; do
  name=${example%% *} options=${example#* }
  sed '/edf_doctor/d' "examples/$name.c" > "$dir/$name-alone.c"
  sed -e 's/^#include "edf.h"$/#include "edf_lab.h"/' \
      -e 's/^\(  net\.ell *= .*\)$/\1 edf_doctor(net.ell);/' \
      -e 's/^\(  CompNode \*ell = .*\)$/\1 edf_doctor(ell);/' \
      "$dir/$name-alone.c" > "$dir/$name.c"
  [ "$(grep -c edf_doctor "$dir/$name.c")" = 1 ] || { bad=1; echo "not ok $name: no doctor"; }
  build "$name-alone" "$dir/$name-alone.c"
  build "$name" "$dir/$name.c"
  for seed in 21 22 23 24 25; do
    run "$name" --seed $seed $options
    out="$dir/$name.$seed.out"
    if grep -A 8 '^doctor:' "$out"; then bad=1; echo "not ok $name-$seed: a finding"
    else echo "ok $name-$seed: no finding"; fi
  done
  run "$name-alone" --seed 21 $options
  if [ "$(said "$dir/$name.21.out")" = "$(said "$dir/$name-alone.21.out")" ]; then
    echo "ok $name: the same with the doctor and without"
  else bad=1; echo "not ok $name: not the same as without the doctor"; fi
done
exit $bad
