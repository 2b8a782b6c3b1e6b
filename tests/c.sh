#!/bin/sh
# What edf_write_c writes compiles without a warning, and computes what edf.h computes: values
# and gradients at first, and after ten steps of SGD. See c/written.h.
#   sh tests/c.sh [DIRECTORY [rest]]    rest: also the course, the puzzles, random texts, float,
#                                       and with clang and tcc if they are installed

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/c} rest=$2 bad=0
mkdir -p "$dir" && dir=$(cd "$dir" && pwd)
warn='-Wall -Wextra'

implementation() {                       # implementation REAL
  printf '%s\n' 'void harness_panic(const char *message);' \
    '#define EDF_PANIC(message) harness_panic(message)' '#define EDF_IMPLEMENTATION' \
    '#include "edf/layers.h"' '#include "edf/judge.h"' '#include "edf/c.h"' > "$dir/impl.c"
  ${CC:-cc} -std=c99 $warn -O1 -DEDF_REAL=$1 -I. -c "$dir/impl.c" -o "$dir/impl-$1.o" || exit 1
}
# Writes the files of a program's models, and runs each with each compiler.
check() {                                # check PROGRAM REAL COMPILER ...
  program=$1 real=$2 at=$dir/$1-$2 right=0
  shift 2
  rm -rf "$at" && mkdir "$at" && cp tests/c/compare.h "$at"
  ${CC:-cc} -std=c99 -O1 -DEDF_REAL=$real -DEDF_LINKED -I. -Itests tests/c/${program%-*}.c \
    "$dir/impl-$real.o" -o "$at/program" -lm || exit 1
  if [ $program = models-random ]; then
    WRITTEN=$at "$at/program" random < "$dir/cases" > "$at/out" 2>&1
  else WRITTEN=$at "$at/program" > "$at/out" 2>&1; fi || { bad=1; grep -v '^ok' "$at/out"; }
  for compiler in "$@"; do
    for file in "$at"/*.check.c; do
      most=                              # The arrays may be larger than the batch.
      grep -q 'any MOST' "$file" && most=-DMOST=9
      (cd "$at" && $compiler -std=c99 $warn -Werror $most "$file" -lm -o run &&
        ./run) > "$at/said" 2>&1 && { right=$((right + 1)); continue; }
      bad=1
      echo "not ok c-$program-$real: $compiler $(basename "$file")"
      head -n 3 "$at/said" | sed 's/^/  /'
    done
  done
  n=$(ls "$at"/*.check.c | wc -l)
  [ $right = $((n * $#)) ] && [ $n -gt 0 ] && echo "ok c-$program-$real: $n files"
}

implementation double
check models double ${CC:-cc}
[ -n "$rest" ] || exit $bad

others=
for compiler in clang tcc; do command -v $compiler > /dev/null && others="$others $compiler"; done
implementation float
check models float ${CC:-cc} $others
check course double ${CC:-cc} $others
check course float ${CC:-cc}
check puzzles double ${CC:-cc}
if command -v python3 > /dev/null; then
  ${CC:-cc} -std=c99 -O1 -I. tests/random/run.c -o "$dir/run" -lm || exit 1
  printf '#!/bin/sh\ntee -a "%s/cases" | "%s/run" "$@"\n' "$dir" "$dir" > "$dir/tee"
  chmod +x "$dir/tee"
  rm -f "$dir/cases"
  python3 tests/random/texts.py "$dir/tee" 3 150 > /dev/null
  python3 tests/random/hard.py "$dir/tee" 3 150 > /dev/null
  python3 tests/random/papers.py "$dir/tee" double > /dev/null
  python3 tests/random/forms.py "$dir/tee" 3 150 > /dev/null
  check models-random double ${CC:-cc}
else echo 'skip c-models-random: no python3'; fi
exit $bad
