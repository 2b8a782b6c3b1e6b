#!/bin/sh
# Is this edf.h slower than that of another commit? make bench MODELS=against REV=63a8487
#   REV=COMMIT PAIRS=31 TURNS=21 sh bench/against.sh [MODEL ...]
# Both edf.h are built into build/against, each under this bench.c, so that the same steps are
# timed. A pair is two new processes, whose memory lies elsewhere again; they take turns of some
# 10 ms, the first one changing, since a processor's speed drifts within seconds. The ratio of a
# pair, new over old, is the median over its turns; a model's the median over the pairs. Fails
# where one is above 1.02, or their mean above 1.01. REV=HEAD shows how far from 1 it is where
# nothing has changed.

cd "$(dirname "$0")/.." || exit 1
models=${*:-mlp_a mlp_b lenet lstm gpt}
pairs=${PAIRS:-31} turns=${TURNS:-21} dir=build/against
cc=${CC:-cc} LC_ALL=C
export LC_ALL
[ "$REV" ] || { echo 'against: REV=COMMIT says against which edf.h' >&2; exit 2; }

rm -rf $dir
for which in old new; do
  mkdir -p $dir/$which/bench
  cp bench/*.[ch] $dir/$which/bench
  case $which in
    new) cp -r edf.h edf $dir/new ;;
    old) sh bench/tree.sh "$REV" $dir/old || exit 2 ;;
  esac
  $cc -DSTEPS_ALONE -std=c99 ${CFLAGS:--O3 -march=native} $BLAS_CFLAGS -o $dir/$which/run \
    $dir/$which/bench/bench.c $BLAS_LIBS -lm || exit 2
  mkfifo $dir/$which/go $dir/$which/said
done
echo "against $(git log -1 --format='%h, %s' "$REV"): $pairs pairs of processes, $turns turns"

turn() {                                   # turn WHICH: $old or $new is the time of a step
  case $1 in
    old) echo >&3 && read -r old <&4 ;;
    new) echo >&5 && read -r new <&6 ;;
  esac || exit 2
}

# middle FILE COLUMN: quartiles and median of its numbers
middle() {
  sort -n -k "$2,$2" "$1" | awk -v c="$2" '{ x[NR - 1] = $c }
    END { printf "%.4f %.4f %.4f\n", x[int(NR / 4)], x[int(NR / 2)], x[int(3 * NR / 4)] }'
}
median() { middle "$1" "$2" | cut -d ' ' -f 2; }

# Both on one core, each pair on another: cores may have neighbours of other kinds.
cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
on_core() {                                # on_core NUMBER: $pin makes a program run there
  pin="taskset -c $(($1 % cores))"
  $pin true 2>/dev/null || pin=
}

# pair MODEL FIRST SECOND: its ratio, and the times of a step
pair() {
  for which in old new; do
    $pin $dir/$which/run step "$1" < $dir/$which/go > $dir/$which/said &
  done
  exec 3> $dir/old/go 4< $dir/old/said 5> $dir/new/go 6< $dir/new/said
  read -r loss <&4 && read -r new_loss <&6 || exit 2
  if ! echo "$loss $new_loss" | awk '{ exit !(($1 - $2) ^ 2 < 1e-6 * $1 ^ 2) }'; then
    echo "$1: the losses differ, $loss and $new_loss: not the same steps" >&2
    exit 2
  fi
  for each in $(seq "$turns"); do
    if [ $((each % 2)) = 0 ]; then turn "$2"; turn "$3"; else turn "$3"; turn "$2"; fi
    echo "$old $new" | awk '{ print $2 / $1, $1, $2 }'
  done > $dir/turns
  exec 3>&- 4<&- 5>&- 6<&-
  wait
  echo "$(median $dir/turns 1) $(median $dir/turns 2) $(median $dir/turns 3)"
}

: > $dir/medians
for model in $models; do
  for number in $(seq "$pairs"); do
    on_core $((number / 2))
    if [ $((number % 2)) = 0 ]; then pair "$model" old new; else pair "$model" new old; fi
  done > $dir/$model
  middle $dir/$model 1 > $dir/middle
  read -r q1 ratio q3 < $dir/middle
  echo "$ratio" >> $dir/medians
  echo "against $model new/old=$ratio q1=$q1 q3=$q3 old_us=$(median $dir/$model 2)" \
    "new_us=$(median $dir/$model 3)"
done
awk '{ sum += $1; if ($1 > 1.02) { print "more than 1.02"; bad = 1 } }
  END { printf "against mean=%.4f\n", sum / NR
    if (sum / NR > 1.01) { print "more than 1.01"; bad = 1 }
    exit bad }' $dir/medians
