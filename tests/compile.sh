#!/bin/sh
# The headers compile without a warning as C and as C++, they link, and they leave the names of
# a program alone.
#   sh tests/compile.sh [DIRECTORY]          for what is built

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/compile}
warnings='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror'
mkdir -p "$dir"
bad=0

has() { command -v "$1" > /dev/null 2>&1; }
run() { "$@" > "$dir/out" 2>&1; }
verdict() {                                # verdict STATUS NAME: of what wrote $dir/out
  [ "$1" = 0 ] && echo "ok $2" && return
  bad=1
  echo "not ok $2: it says"
  head -n 12 "$dir/out" | sed 's/^/  /'
}
works() { name=$1; shift; run "$@"; verdict $? "$name"; }
fails() {                                  # fails NAME WORDS COMMAND: and it says the words
  name=$1 words=$2; shift 2
  ! run "$@" && grep -q "$words" "$dir/out"
  verdict $? "$name"
}
empty() { ! [ -s "$dir/out" ]; verdict $? "$1"; }      # nothing was found

cc=${CC:-cc} cxx=
for each in $CXX g++ clang++; do has $each && cxx=$each; done
has clang && quick=clang || quick=$cc      # clang needs half the time of gcc at -O0

# ---- All headers, twice before their code and twice behind; a product and its gradient

all() { for header in edf.h edf/*.h; do echo "#include \"$header\""; done; }
{ all; all; } > "$dir/all.h"
cat > "$dir/use.h" <<'END'
#include "all.h"
#ifdef __cplusplus
extern "C"
#endif
int use_2(void);
static inline int use(int n) {             /* It returns 3 * n if the numbers are right. */
  edf_real three = 3, y;
  edf_node *x = edf_want_grad(edf_input("x[1]")), *p = edf_einsum("y = 1.5 x[J] x[J]", x);
  edf_feed(x, &three, 1);
  edf_forward();
  edf_backward(p);
  y = x->grad[0] == 3 * three && p->value[0] == (edf_real)13.5 ? three : 0;
  edf_clear();
  return (int)y * n;
}
END
printf '%s\n' '#include "all.h"' '#define EDF_IMPLEMENTATION' '#include "use.h"' \
  '#include "all.h"' > "$dir/impl.c"
printf '%s\n' '#include "use.h"' 'int use_2(void) { return use(2); }' > "$dir/two.c"
printf '%s\n' '#include "use.h"' 'int main(void) { return use(1) + use_2() != 9; }' \
  > "$dir/one.c"

syntax() {                                 # syntax COMPILER FLAGS
  compiler=$1; shift
  if ! has $compiler; then echo "skip $compiler: there is none"; return; fi
  works "$compiler $*" $compiler $warnings "$@" -I. -I"$dir" -fsyntax-only "$dir/impl.c"
}
for each in gcc clang; do
  syntax $each -std=c99
  syntax $each -std=c17 -DEDF_REAL=double
  [ -z "$BLAS_CFLAGS" ] || syntax $each $(echo "$BLAS_CFLAGS" | sed 's/-I/-isystem /g')
done
syntax clang -DEDF_DEBUG
for each in g++ clang++; do
  syntax $each -x c++ -std=c++11
  syntax $each -x c++ -std=c++20 -DEDF_REAL=double
done

# ---- Each header alone. A companion uses only public names of edf.h.

for header in edf.h edf/*.h; do
  printf '#define EDF_IMPLEMENTATION\n#include "%s"\n' $header > "$dir/alone.c"
  works "$header alone" $quick $warnings -std=c99 -I. -fsyntax-only "$dir/alone.c"
  [ -z "$cxx" ] || works "$header alone, C++" $cxx $warnings -x c++ -std=c++11 -I. \
    -fsyntax-only "$dir/alone.c"
done
grep -n -w -E 'edf__[a-z_]+|EDF__[A-Z_]+' edf/data.h edf/onnx.h edf/c.h edf/doctor.h edf/lab.h \
  edf_cuda.cu > "$dir/out"
empty public-names

awk 'length > 96 { print FILENAME ":" FNR ": " $0 }' edf.h edf/*.h > "$dir/out"
empty lines-of-96-columns

# ---- One program of two C files and a C++ file, with the implementation in either language

object() {                                 # object NAME COMPILER FLAGS FILE.c: $dir/NAME.o
  object=$dir/$1.o; shift
  "$@" -I. -I"$dir" -c -o "$object" || bad=1
}
link() {                                   # link LINKER OBJECTS
  linker=$1; shift
  for each; do set -- "$@" "$dir/$each.o"; shift; done
  run $linker "$@" -o "$dir/program" -lm
}
links() { name=$1; shift; link "$@" && run "$dir/program"; verdict $? "$name"; }
object impl $quick "$dir/impl.c"
object linked $cc -DEDF_LINKED "$dir/impl.c"     # no code, in spite of its text
object one $cc "$dir/one.c"
object two $cc "$dir/two.c"
object double $cc -DEDF_REAL=double "$dir/two.c"
links link-C $cc one two impl
fails link-nothing edf_forward link $cc one two linked
fails link-two-types edf_real_is_double link $cc one double impl
if [ "$cxx" ]; then
  object impl_cxx $cxx -x c++ "$dir/impl.c"
  object two_cxx $cxx -x c++ "$dir/two.c"
  links link-C-and-C++ $cxx one two_cxx linked impl
  links link-implementation-in-C++ $cxx one two impl_cxx
else echo 'skip link-C-and-C++: no C++ compiler'; fi

# ---- Names

for each in "$dir"/impl*.o; do
  nm -g --defined-only "$each" | awk 'NF { print $NF }' > "$dir/symbols"
  grep -q -x edf_forward "$dir/symbols" || echo 'edf_forward is missing' >> "$dir/symbols"
  grep -v -x -E 'edf|edf_.*' "$dir/symbols" > "$dir/out"
  empty "names of $(basename "$each")"
done

macros() { $cc -I. -dM -E "$@" | awk '{ sub(/\(.*/, "", $2); print $2 }' | sort -u; }
printf '%s\n' '#include <stddef.h>' '#include <stdio.h>' > "$dir/none.c"
macros "$dir/none.c" > "$dir/none"
macros "$dir/all.h" | comm -13 "$dir/none" - > "$dir/with"
macros -DEDF_NO_SHORT_NAMES "$dir/all.h" | comm -13 "$dir/none" - > "$dir/without"
grep -v -E '^(EDF_|edf_)' "$dir/without" > "$dir/out"
empty no-short-macros
comm -23 "$dir/with" "$dir/without" > "$dir/short"
works short-names grep -x Forward "$dir/short"

# ---- Settings

cat > "$dir/no_debug.c" <<'END'
#define EDF_IMPLEMENTATION
#include "all.h"
int main(void) {
  edf_real one = 1;
  edf_node *x = edf_want_grad(edf_input("x[1]")), *y = edf_square(x);
  edf_feed(x, &one, 1);
  edf_doctor(y);
  edf_forward();
  edf_backward(y);
  edf_print_program(stdout);
  return edf_gradcheck(y) != 0 || edf_step_forward() || x->grad[0] != 2;
}
END
run $quick $warnings -DEDF_NO_DEBUG -I. -I"$dir" "$dir/no_debug.c" -o "$dir/no_debug" -lm &&
  run "$dir/no_debug"
verdict $? no_debug
empty no_debug-prints-nothing
nm "$dir/no_debug" | grep -E 'edf_.*(print_program|gradcheck|doctor|step_forward)' > "$dir/out"
empty no_debug-has-no-code

refused() {                                # refused WORDS FLAGS
  words=$1; shift
  fails "refused $1" "error.*$words" $cc "$@" -I. -I"$dir" -fsyntax-only "$dir/impl.c"
}
refused EDF_REAL -DEDF_REAL=int
refused 'order of additions' -ffast-math

# ---- A companion stops at an edf.h of another version. An old companion beside it stops too.

mkdir -p "$dir/versions/edf"
cp edf/*.h "$dir/versions/edf"
sed 's/^#define EDF_VERSION .*/#define EDF_VERSION 399/' edf.h > "$dir/versions/edf.h"
for header in edf/*.h; do
  echo "#include \"$header\"" > "$dir/versions/main.c"
  run $cc -I"$dir/versions" -fsyntax-only "$dir/versions/main.c"
  [ $? != 0 ] && grep -q 'error.*edf/.*h is version 4.0, and edf.h is another' "$dir/out" &&
    [ "$(grep -c 'error:' "$dir/out")" = 2 ]         # the second one makes the compiler stop
  verdict $? "another version: $header"
done
cp edf.h "$dir/versions"
for name in slide data lab; do
  { echo '#include "edf.h"'; echo "#define EDF_$(echo $name | tr a-z A-Z)_H"
  } > "$dir/versions/edf_$name.h"
  printf '#include "edf_%s.h"\n#include "edf/%s.h"\n' $name $name > "$dir/versions/main.c"
  fails "two versions of $name" "error.*include only edf/$name.h" \
    $cc -I"$dir/versions" -fsyntax-only "$dir/versions/main.c"
done

# ---- The first page of edf/slide.h lists the names of edf.h with edf__ and EDF__ that the code of
# the notation uses.

notation='edf/slide.h edf/layers.h edf/judge.h edf/derive.h'
private() { grep -o -w -E '(edf__|EDF__)[A-Za-z0-9_]+' | LC_ALL=C sort -u; }
sed -n '/^ *Private names of edf.h/,/^ *A text becomes nodes/p' edf/slide.h | private > "$dir/listed"
awk 'FNR == 1 { on = 0 }  !on && /\*\// { on = 1; next }  on' $notation |
  sed -E -e 's#/\*([^*]|\*+[^*/])*\*+/##g' -e '/\/\*/,/\*\//d' -e 's/"[^"]*"//g' | private > "$dir/used"
{ diff "$dir/listed" "$dir/used"
  [ -s "$dir/used" ] || echo 'no name was found'; } > "$dir/out"
empty private-names

# ---- Headers such as windows.h and curses.h define macros with these names. Warnings that other
# projects use are silent, too.

{ printf '#define near\n#define far\n#define clear() wclear(stdscr)\n#define EDF_IMPLEMENTATION\n'; all; } > "$dir/macros.h"
for way in "$quick -std=c99 -Wmissing-prototypes -x c" "${cxx:-$quick} -std=c++11 -x c++"; do
  run $way $warnings -Wundef -Wcast-qual -I. -fsyntax-only "$dir/macros.h"
  verdict $? "macros-of-other-headers-by-${way%% *}"
done

# ---- notes/reference.md has each public name, but not the functions that macros call with a place.

echo '#include "all.h"' | $cc -E -dD -DEDF_LINKED -I. -I"$dir" -x c - |
  grep -v '^# [0-9]* "/usr' | grep -o -w -E 'edf_[a-z0-9_]+' | grep -v '__\|_at$\|^edf_real_is_' | LC_ALL=C sort -u > "$dir/public"
for name in $(cat "$dir/public"); do
  grep -q -w "$name" notes/reference.md || echo "$name is not in notes/reference.md"
done | grep -v '_op is not' > "$dir/out"
empty reference

# ---- tests/cleared.c names each public function that gets a node, or nodes after `...`.

echo '#include "all.h"' | $cc -E -P -DEDF_LINKED -I. -I"$dir" -x c - |
  tr '\n' ' ' | tr ';{}' '\n\n\n' | grep -v -w -E 'static|typedef' > "$dir/declared"
{ grep -E '\(.*(edf_node|edf_all|_package|_state)\>|\.\.\.\) *$' "$dir/declared" |
    sed -n -E 's/^[^(]*\<(edf_[a-z0-9_]+) ?\(.*/\1/p'; } | sort -u > "$dir/get_nodes"
while read -r name; do
  grep -q -w "$name" tests/cleared.c || echo "tests/cleared.c lacks $name"
done < "$dir/get_nodes" > "$dir/out"
[ "$(wc -l < "$dir/get_nodes")" -ge 60 ] || echo 'too few functions were found' >> "$dir/out"
empty calls-of-cleared-nodes

# ---- One file of all headers, in a folder of its own

mkdir -p "$dir/one"
make -s one ONE="$dir/one/edf_all.h" > "$dir/out" 2>&1
cp "$dir/use.h" "$dir/one"
echo '#include "edf_all.h"' > "$dir/one/all.h"
printf '%s\n' '#define EDF_IMPLEMENTATION' '#include "use.h"' 'int main(void) {' \
  '  return use(1) != 3 || !Equations("y = 1"); }' > "$dir/one/main.c"
run $quick $warnings -std=c99 "$dir/one/main.c" -o "$dir/one/main" -lm && run "$dir/one/main"
verdict $? edf_all.h

# ---- The program in the first comment of edf.h, as a student compiles it

awk '!on && /^ *#define EDF_IMPLEMENTATION$/ { on = match($0, /#/) }
     on { print substr($0, on) }
     on && match($0, /}/) == on { exit }' edf.h > "$dir/hw1.c"
learns_xor() {                             # learns_xor PROGRAM COMPILER FLAGS
  name=$1; shift
  run "$@" -I"$dir" "$dir/$name.c" -o "$dir/$name" -lm && ! [ -s "$dir/out" ] &&
    run "$dir/$name" &&
    [ "$(awk '/^P\(1\) = / { printf "%d", ($3 > 0.5) }' "$dir/out")" = 0110 ]
  verdict $? "$name learns XOR by $1"
}
learns_xor hw1 $quick -g -I.

# ---- make help, lines and clean build nothing, and need no example

mkdir -p "$dir/make/examples" && rm -rf "$dir/make/build"
cp -r Makefile edf.h edf "$dir/make" && cp examples/*.[ch] "$dir/make/examples"
for goal in help lines clean; do
  { make -C "$dir/make" $goal EXAMPLE=none && [ ! -e "$dir/make/build" ]; } > "$dir/out" 2>&1
  verdict $? "make $goal"
done
make -C "$dir/make" -n run EXAMPLE=none > "$dir/out" 2>&1
[ $? != 0 ] && grep -q 'EXAMPLE=none: expected' "$dir/out"
verdict $? 'make run EXAMPLE=none'
exit $bad
