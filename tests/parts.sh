#!/bin/sh
# Part One of edf.h alone: what stands above its last line is a whole framework, with the same
# bits as the whole header. And the chapters below are apart: each in turn is left out, with
# those that say on their first line that they need it.
#   sh tests/parts.sh [directory for what is built [rest]]     rest: what make test leaves out

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/parts}
rm -rf "$dir"
mkdir -p "$dir/one"
warnings='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror'
bad=0
pass() { echo "ok $1"; }
fail() { bad=1; echo "not ok $1: $2"; head -n 8 "$dir/out" | sed 's/^/  /'; }

sed '/End of Part One/q' edf.h > "$dir/one/edf.h"
if [ "$(grep -c 'End of Part One' edf.h)" = 1 ] && tail -n 1 "$dir/one/edf.h" |
   grep -q '^/\*.*\*/$'; then pass one-line-ends-it
else fail one-line-ends-it 'it is not one line with a comment'; fi

# Examples with the definition as kernel; in the end they print all their numbers.
body='/^static void cube_forward/,$d'
sed -e "$body" -e '/EDF_IMPLEMENTATION/d; /#include "edf.h"/d' tests/parts/program.c \
  > "$dir/print.h"
with_numbers() {                           # with_numbers FILE NAME
  sed -e '/edf_print_program/d' -e 's/^#include "edf.h"/&\n#include "print.h"/' \
    -e 's/^int main(void) {/&\n  edf.kernel = EDF_REFERENCE;/' \
    -e 's/^  edf_clear();/  print_graph();\n&/' "$1" > "$dir/$2.c"
}
with_numbers examples/01_sqrt.c sqrt
with_numbers examples/02_xor.c xor
cp tests/parts/program.c "$dir/program.c"

# prints NAME FLAGS COMPILER HEADERS [OBJECT]: what the program prints, in $dir/out
prints() {
  $3 $warnings $2 -I"$4" "$dir/$1.c" $5 -o "$dir/program" -lm \
    > "$dir/out" 2>&1 && "$dir/program" > "$dir/out" 2>&1
}
# same WHAT REAL NAME FLAGS COMPILER ...: it prints what it does with the whole header
same() {
  what=$1 real=$2; shift 2
  if ! prints "$@"; then fail $what fails
  elif ! grep -q 0x1 "$dir/out"; then fail $what 'it prints no numbers'
  elif cmp -s "$dir/out" "$dir/$1-$real"; then pass $what
  else fail $what 'another number than with the whole header'; fi
}

# With the implementation in an object of its own, compiled once a type.
printf '%s\n' '#define EDF_IMPLEMENTATION' '#include "edf.h"' > "$dir/implementation.c"
cc=${CC:-cc} both=". $dir/one"
[ "$2" = rest ] && both=.                 # the reference alone
for real in float double; do
  flags="-std=c99 -DEDF_REAL=$real" object=$dir/$real.o
  for headers in $both; do
    $cc $warnings $flags -I$headers -c "$dir/implementation.c" -o "$object" > "$dir/out" 2>&1 ||
      fail compiles-$real "with $headers"
    for name in sqrt xor program; do
      if [ $headers != . ]; then
        same one-$name-$real $real $name "$flags -DEDF_LINKED" "$cc" "$headers" "$object"
      elif prints $name "$flags -DEDF_LINKED" "$cc" . "$object"; then
        mv "$dir/out" "$dir/$name-$real"
      else fail whole-$name-$real 'with the whole header'; fi
    done
  done
done

one() {                                    # one COMPILER FLAGS NAME REAL: in one file
  same one-$3-$4-$1 $4 $3 "$2 -DEDF_REAL=$4" "$1" "$dir/one"
}
if [ "$2" != rest ]; then
  command -v g++ > /dev/null && one g++ '-x c++ -std=c++11' program float
  exit $bad
fi
for compiler in gcc clang g++ clang++; do
  case $compiler in *++) flags='-x c++ -std=c++11' ;; *) flags=-std=c99 ;; esac
  command -v $compiler > /dev/null || continue
  for real in float double; do for name in sqrt xor program; do
    case $compiler-$name-$real in g++-program-float) ;; *) one $compiler "$flags" $name $real ;;
    esac
  done; done
done

# ---- Chapters: from a heading to the next one

awk '/^\/\* ==== >>/ { c = $0; sub(/^[^>]*>>/, "", c); sub(/[^a-z].*/, "", c)
    n = $0; if (!sub(/.*needs /, "", n)) n = ""
    gsub(/[^a-z ]/, "", n)
    if (below) print c ":" n }
  /End of Part One/ { below = 1 }' edf.h > "$dir/chapters"
for chapter in $(cut -d : -f 1 "$dir/chapters"); do
  mkdir -p "$dir/without-$chapter"
  awk -v gone=" $chapter " '
    NR == FNR {
      split($0, part, ":")
      n = split(part[2], need, " ")
      for (k = 1; k <= n; k++) if (index(gone, " " need[k] " ")) gone = gone part[1] " "
      next
    }
    /^\/\* (==== >>|########)/ {
      c = $0; sub(/^[^>]*>>/, "", c); sub(/[^a-z].*/, "", c)
      out = !/####/ && index(gone, " " c " ")
    }
    !out' "$dir/chapters" edf.h > "$dir/without-$chapter/edf.h"
  if cmp -s edf.h "$dir/without-$chapter/edf.h"; then
    fail without-$chapter 'nothing was left out'
  fi
  for name in xor program; do
    same without-$chapter-$name float $name '-std=c99 -DEDF_REAL=float' "$cc" \
      "$dir/without-$chapter"
  done
done
exit $bad
