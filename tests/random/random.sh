#!/bin/sh
# Random texts of the notation against plain loops: see texts.py, and hard.py for texts with
# masks, infinities and huge numbers. COUNT is the number of the latter.
#   sh tests/random/random.sh [directory for what is built [SEED [COUNT]]]

cd "$(dirname "$0")/../.." || exit 1
dir=${1:-build/tests/random} seed=${2:-1} count=${3:-1500}
mkdir -p "$dir"
command -v python3 > /dev/null || { echo 'skip random: no python3'; exit; }
${CC:-cc} -std=c99 -O1 -I. tests/random/run.c -o "$dir/run" -lm || exit 1
bad=0
python3 tests/random/texts.py "$dir/run" $seed $((count / 2)) || bad=1
python3 tests/random/hard.py "$dir/run" $seed $count || bad=1

# Wrong numbers are noticed: the first digit of a value, and of a gradient, is another one.
planted() {
  printf '#!/bin/sh\n"%s" "$@" | sed "%s"\n' "$PWD/$dir/run" "$2" > "$dir/wrong"
  chmod +x "$dir/wrong"
  if python3 tests/random/texts.py "$dir/wrong" $seed 60 > "$dir/out"; then
    bad=1; echo "not ok texts-planted: a wrong $1 is not noticed"
  else echo "ok texts-planted: a wrong $1"; fi
}
planted value 's/^ 0\.5/ 0.6/'
planted gradient 's/| 0\.1/| 0.2/'
exit $bad
