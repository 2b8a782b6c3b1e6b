#!/bin/sh
# How long does this edf.h take to compile? make bench MODELS=compile REV=14615eb
#   REV=COMMIT TURNS=5 sh bench/compile.sh
# An edf.c of two lines, EDF_IMPLEMENTATION and the include, is compiled by gcc with this edf.h
# and that of another commit, in turns; what counts are CPU seconds, the medians of five. Fails
# if the new one takes longer with -g, which a student waits for, or with -O3.

cd "$(dirname "$0")/.." || exit 1
turns=${TURNS:-5} dir=build/compile gcc=${GCC:-gcc} LC_ALL=C
export LC_ALL
[ "$REV" ] || { echo 'compile: REV=COMMIT says against which edf.h' >&2; exit 2; }
command -v "$gcc" > /dev/null || { echo "compile: no $gcc" >&2; exit 2; }

rm -rf $dir
for which in old new; do
  mkdir -p $dir/$which
  case $which in
    new) cp edf.h $dir/new ;;
    old) git show "$REV:edf.h" > $dir/old/edf.h || exit 2 ;;
  esac
  printf '#define EDF_IMPLEMENTATION\n#include "edf.h"\n' > $dir/$which/edf.c
done
echo "against $(git log -1 --format='%h, %s' "$REV"): $turns turns"

# seconds COMMAND: user and system; the last line of times is of the children
seconds() {
  sh -c '"$@" && times' sh "$@" | awk -F '[ms ]+' 'END { print 60 * ($1 + $3) + $2 + $4 }'
}
median() { sort -n "$1" | awk '{ x[NR] = $1 } END { print x[int((NR + 1) / 2)] }'; }

# against LIMIT FLAGS
against() {
  limit=$1
  shift
  rm -f $dir/*.times
  for turn in $(seq "$turns"); do
    for which in old new; do
      seconds "$gcc" "$@" -c $dir/$which/edf.c -o $dir/$which/edf.o >> $dir/$which.times
    done
  done
  old=$(median $dir/old.times) new=$(median $dir/new.times)
  [ -f $dir/old/edf.o ] && [ -f $dir/new/edf.o ] || exit 2
  echo "$old $new" | awk -v flags="$*" -v limit="$limit" '{
    printf "compile %s: new/old=%.3f old_s=%.2f new_s=%.2f\n", flags, $2 / $1, $1, $2
    if ($2 > limit * $1) { printf "more than %.2f\n", limit; exit 1 } }' || bad=1
}

bad=0
against 1.00 -g
against 1.00 -O3 -march=native
exit $bad
