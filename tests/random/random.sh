#!/bin/sh
# Random texts of the notation against plain loops: see texts.py.
#   sh tests/random/random.sh [directory for what is built [SEED [COUNT]]]

cd "$(dirname "$0")/../.." || exit 1
dir=${1:-build/tests/random} seed=${2:-1} count=${3:-1500}
mkdir -p "$dir"
command -v python3 > /dev/null || { echo 'skip random: no python3'; exit; }
${CC:-cc} -std=c99 -O1 -I. tests/random/run.c -o "$dir/run" -lm || exit 1
bad=0
python3 tests/random/texts.py "$dir/run" $seed $count || bad=1
python3 tests/random/texts.py "$dir/run" $((seed + 1)) $((count / 5)) gradients || bad=1

# A wrong number is noticed: what is printed as 0.5... is 0.6....
printf '#!/bin/sh\n"%s" "$@" | sed "s/ 0\\.5/ 0.6/"\n' "$PWD/$dir/run" > "$dir/wrong"
chmod +x "$dir/wrong"
if python3 tests/random/texts.py "$dir/wrong" $seed 400 > "$dir/out"; then
  bad=1; echo 'not ok texts-planted: a wrong number is not noticed'
else echo 'ok texts-planted'; fi
exit $bad
