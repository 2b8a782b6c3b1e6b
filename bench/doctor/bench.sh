#!/bin/sh
# How often is the doctor right? Programs with a fault, their healthy twins and unusual healthy
# ones are built and run with two seeds each. What the doctor says of them is compared with the
# CAUSE and the SYMPTOMS in their heads, by the words that findings.txt gives to its texts.
#
#   sh bench/doctor/bench.sh                     the open programs; build/doctor has all output
#   sh bench/doctor/bench.sh locked              those of locked.tar.gz
#   sh bench/doctor/bench.sh DIR                 the programs in another folder
#
# recall      what a faulty run hears: its cause 1, a true symptom 0.5, else 0; the mean
# precision   of all findings of faulty runs: those that name the cause; that, or a true symptom
# alarms      healthy programs that heard anything, in either run
# A fault has to hurt here too: half of what its head's MEASURE says, or it is told.
here=bench/doctor
out=build/doctor
CC=${CC:-cc}
CFLAGS=${CFLAGS:--O2 -march=native}
case ${1:-open} in
open) programs=$here/open ;;
locked) programs=$out/locked
  rm -rf $programs && mkdir -p $programs && tar -xzf $here/locked.tar.gz -C $programs ;;
*) programs=$1 ;;
esac
mkdir -p $out
{ echo '#define EDF_IMPLEMENTATION'
  for header in edf.h edf/*.h; do echo "#include \"$header\""; done; } > $out/lab.c
"$CC" -std=c99 $CFLAGS -I. -c $out/lab.c -o $out/lab.o || exit 2
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

# Builds and runs one program: NAME.VARIANT.SEED.txt
try() {
  name=$(basename "$1" .c)
  for variant in healthy faulty; do
    if [ $variant = faulty ] && ! grep -q '^#if.*FAULTY' "$1"; then continue; fi
    define=; [ $variant = faulty ] && define=-DFAULTY
    "$CC" -std=c99 $CFLAGS -DEDF_LINKED $define -I. -Iexamples -o $out/$name.$variant "$1" \
      $out/lab.o -lm || { echo "$name.$variant" >> $out/broken; continue; }
    for seed in 1 2; do
      (cd $out && timeout 120 ./$name.$variant $seed > $name.$variant.$seed.txt 2>&1 ||
        echo "FAILED $?" >> $name.$variant.$seed.txt)
    done
    rm -f $out/$name.$variant
  done
}

rm -f $out/*.txt $out/broken
half=0                                   # two at a time
for program in "$programs"/*.c; do
  try "$program" &
  half=$((1 - half))
  if [ $half = 0 ]; then wait; fi
done
wait
for program in "$programs"/*.c; do
  name=$(basename "$program" .c)
  echo "PROGRAM $name $(sed -n 's/.*CAUSE  *//p;/CAUSE/q' "$program")"
  echo "TRUE $(sed -n 's/.*SYMPTOMS  *//p;/SYMPTOMS/q' "$program")"
  echo "HEAD $(sed -n 's/.*MEASURE.*healthy  *//p;/MEASURE.*healthy/q' "$program" | tr -d ',')"
  for run in $out/$name.*.txt; do
    [ -f "$run" ] || continue
    echo "RUN $(basename $run .txt)"
    grep -a -E '^doctor: |^MEASURE|^FAILED' "$run"
  done
done > $out/runs
awk -f $here/score.awk $here/findings.txt $out/runs
[ ! -f $out/broken ] || { echo "does not compile: $(echo $(sort $out/broken))" >&2; exit 2; }
