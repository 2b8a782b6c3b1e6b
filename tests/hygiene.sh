#!/bin/sh
# The header compiles without a warning in C and C++, links, and leaves its user's names alone.
#   sh tests/hygiene.sh [directory for what is built [builds]]

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/hygiene}
warnings='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror'
mkdir -p "$dir"
top=$PWD bad=0

has() { command -v "$1" >/dev/null 2>&1; }
pass() { echo "ok $1"; }
fail() { bad=1; echo "not ok $1: $2"; head -n 12 "$dir/out" | sed 's/^/  /'; }
run() { "$@" > "$dir/out" 2>&1; }
works() { name=$1; shift; if run "$@"; then pass "$name"; else fail "$name" "$*"; fi; }

# fails NAME PATTERN COMMAND: it must fail, and say why
fails() {
  name=$1 pattern=$2; shift 2
  if run "$@"; then fail "$name" "this should not compile: $*"
  elif grep -q "$pattern" "$dir/out"; then pass "$name"
  else fail "$name" "its message does not contain '$pattern'"
  fi
}

gcc=; clang=; gxx=; clangxx=
has gcc && gcc=gcc
has clang && clang=clang
has g++ && gxx=g++
has clang++ && clangxx=clang++
[ "$gcc" ] || echo 'skip gcc: no gcc'
[ "$clang" ] || echo 'skip clang: no clang'
[ "$gxx" ] || echo 'skip g++: no g++'
[ "$clangxx" ] || echo 'skip clang++: no clang++'
cc=${CC:-cc} cxx=${gxx:-$clangxx}
blas=$(echo "$BLAS_CFLAGS" | sed 's/-I/-isystem /g')    # not our code to warn of
[ "$blas" ] || echo 'skip hygiene with EDF_CBLAS: no CBLAS was found'

# ---- A program that proves, by its result, that the implementation is there

cat > "$dir/use.h" <<'END'
#include "edf.h"
#ifdef __cplusplus
extern "C" {
#endif
int use_c(void);
int use_cxx(void);
#ifdef __cplusplus
}
#endif
static inline int use(int n) {           /* 3 * n, by a product and its gradient */
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
printf '%s\n' '#define EDF_IMPLEMENTATION' '#include "use.h"' \
  'int main(void) { return use(5) != 15; }' > "$dir/whole.c"

syntax() {                               # syntax NAME COMPILER FLAGS: it compiles
  name=$1
  if run $2 $warnings -Wdouble-promotion -I. $3 -fsyntax-only "$dir/whole.c"; then pass "$name"
  else fail "$name" "$2 $3"; fi
}
compile() {                              # compile NAME COMPILER FLAGS LIBRARIES: build and run
  name=$1
  if run $2 $warnings -I. $3 "$dir/whole.c" -o "$dir/whole" $4 -lm && run "$dir/whole"; then
    pass "$name"
  else fail "$name" "$2 $3"; fi
}

# The oldest standard and the newest; `make test-all` has those between, and double.
every() {                                # every COMPILER LANGUAGE-FLAG OLDEST NEWEST
  syntax "$1-$3-float" $1 "$2 -std=$3"
  [ "$blas" ] && syntax "$1-$3-cblas" $1 "$2 -std=$3 $blas"
  syntax "$1-$4-float" $1 "$2 -std=$4"
  syntax "$1-DEBUG" $1 "$2 -DEDF_DEBUG"
  compile "$1-runs" $1 "$2 -std=$3"
}

# What `make test-all` builds and runs: some warnings need -O.
builds() {                               # builds COMPILER LANGUAGE-FLAG OLDEST BETWEEN NEWEST
  for std in $3 $4; do
    syntax "$1-$std-double" $1 "$2 -std=$std -DEDF_REAL=double"
  done
  syntax "$1-$4-float" $1 "$2 -std=$4"
  [ "$blas" ] && syntax "$1-$4-double-cblas" $1 "$2 -std=$4 -DEDF_REAL=double $blas"
  compile "$1-$5-double-runs" $1 "$2 -std=$5 -DEDF_REAL=double"
  compile "$1-DEBUG-runs" $1 "$2 -DEDF_DEBUG"
  compile "$1-O3" $1 "$2 -O3 -march=native"
  compile "$1-NDEBUG" $1 "$2 -O2 -DNDEBUG -DEDF_REAL=double $blas" "$BLAS_LIBS"
  compile "$1-NO_DEBUG" $1 "$2 -O2 -DEDF_NO_DEBUG"
  [ -z "$blas" ] || compile "$1-cblas" $1 "$2 -O1 $blas" "$BLAS_LIBS"
}

if [ "$2" = builds ]; then
  [ "$gcc" ]     && builds gcc '' c99 c11 c17
  [ "$clang" ]   && builds clang '' c99 c11 c17
  [ "$gxx" ]     && builds g++ '-x c++' c++11 c++17 c++20
  [ "$clangxx" ] && builds clang++ '-x c++' c++11 c++17 c++20
  exit $bad
fi

[ "$gcc" ]     && every gcc '' c99 c17
[ "$clang" ]   && every clang '' c99 c17
[ "$gxx" ]     && every g++ '-x c++' c++11 c++20
[ "$clangxx" ] && every clang++ '-x c++' c++11 c++20

# ---- The declaring half alone, twice, and twice around the implementation; of Part One too

echo '#include "edf.h"' > "$dir/alone.c"
printf '%s\n' '#include "edf.h"' '#include "edf.h"' '#define EDF_IMPLEMENTATION' \
  '#include "edf.h"' '#include "edf.h"' '#include "use.h"' \
  'int main(void) { return use(5) != 15; }' > "$dir/twice.c"
mkdir -p "$dir/one"
sed '/End of Part One/q' edf.h > "$dir/one/edf.h"
for part in '' part-one-; do
  from=.
  [ "$part" ] && from=$dir/one
  for std in c99 c17; do
    works "${part}alone-$std" $cc -std=$std $warnings -I"$from" -c "$dir/alone.c" \
      -o "$dir/alone.o"
  done
  works "${part}twice" $cc -std=c99 $warnings -I"$from" "$dir/twice.c" -o "$dir/twice" -lm
  works "${part}twice-runs" "$dir/twice"
  [ "$cxx" ] || continue
  for std in c++11 c++17 c++20; do
    works "${part}alone-$std" $cxx -x c++ -std=$std $warnings -I"$from" -c "$dir/alone.c" \
      -o "$dir/alone.o"
  done
  works "${part}twice-c++" $cxx -x c++ $warnings -I"$from" "$dir/twice.c" -o "$dir/twice"
  works "${part}twice-c++-runs" "$dir/twice"
done

# ---- EDF_NO_DEBUG: what prints, checks and watches is not there, and calls of it do nothing

cat > "$dir/debug.c" <<'END'
#define EDF_IMPLEMENTATION
#include "edf_lab.h"
int main(void) {
  edf_real one = 1;
  Input *x = edf_want_grad(edf_input("x[1]"));
  CompNode *y = edf_formula(Square(x), "y = x^2", "x.grad += y.grad 2 x");
  edf_feed(x, &one, 1);
  edf_trace_begin("build/no.html");
  edf_doctor(y);
  edf_break("y");
  Forward();
  Backward(y);
  edf_log("y", 1.0);
  edf_print(y);
  edf_print_program(stdout);
  edf_print_node(stdout, y);
  edf_print_latex(stdout);
  edf_where();
  edf_trace_end();
  edf_log_scale("y");
  edf_plot_svg("build/no.svg");
  edf_write_dot("build/no.dot");
  edf_expect_mismatch(y);
  edf_step_forward();
  edf_gradcheck(y);
  return edf_gradcheck(edf_expect_mismatch(y)) != 0 || edf_find_nan() || edf_step_forward() ||
         edf_step_backward() || x->grad[0] != 2;
}
END
works no-debug $cc -std=c99 $warnings -O2 -DEDF_NO_DEBUG -I. "$dir/debug.c" -o "$dir/debug" -lm
works no-debug-runs "$dir/debug"
if "$dir/debug" | grep -q . || [ -e build/no.html ]; then fail no-debug-silent 'it printed'
else pass no-debug-silent; fi
gone='print|gradcheck|trace|told|doctor|step_forward|plot_|write_(program|forward|dot)'
if nm "$dir/debug" | grep -E "edf_(lab__|_*)($gone)"
then fail no-debug-absent 'these symbols are there'; else pass no-debug-absent; fi

# ---- Two C files and a C++ file in one program; the implementation in either language

echo '#include "use.h"
int use_c(void) { return use(2); }' > "$dir/two.c"
echo '#include "use.h"
int use_cxx(void) { return use(4); }' > "$dir/three.cpp"
printf '%s\n' '#define EDF_IMPLEMENTATION' '#include "use.h"' > "$dir/impl.c"
printf '%s\n' '#include "use.h"' \
  'int main(void) { return use(1) + use_c() + use_cxx() != 21; }' > "$dir/one.c"
works link-compile $cc $warnings -I. -c "$dir/impl.c" -o "$dir/impl.o"
for file in one two; do $cc -I. -c "$dir/$file.c" -o "$dir/$file.o"; done
if [ "$cxx" ]; then
  works link-c++ $cxx $warnings -I. "$dir/three.cpp" "$dir/one.o" "$dir/two.o" "$dir/impl.o" \
    -o "$dir/linked" -lm
  works link-c++-runs "$dir/linked"
  works link-compile-c++ $cxx -x c++ $warnings -I. -c "$dir/impl.c" -o "$dir/impl_cxx.o"
  works link-implementation-in-c++ $cxx -I. "$dir/three.cpp" "$dir/one.o" "$dir/two.o" \
    "$dir/impl_cxx.o" -o "$dir/linked" -lm
  works link-implementation-in-c++-runs "$dir/linked"
else echo 'skip link-c++: no C++ compiler'; fi

fails link-implementation-missing 'edf_' $cc "$dir/one.o" "$dir/two.o" -o "$dir/linked" -lm
$cc -I. -DEDF_REAL=double -c "$dir/two.c" -o "$dir/two_double.o"
echo 'int use_cxx(void); int use_cxx(void) { return 12; }' > "$dir/no_cxx.c"
works link-one-type $cc "$dir/one.o" "$dir/two.o" "$dir/impl.o" "$dir/no_cxx.c" \
  -o "$dir/linked" -lm
fails link-two-types 'edf_real_is_double' $cc "$dir/one.o" "$dir/two_double.o" "$dir/impl.o" \
  "$dir/no_cxx.c" -o "$dir/linked" -lm

# ---- Names

works part-one-compiles $cc -I"$dir/one" -c "$dir/impl.c" -o "$dir/part-one.o"
[ -z "$cxx" ] || works part-one-compiles-c++ $cxx -x c++ -I"$dir/one" -c "$dir/impl.c" \
  -o "$dir/part-one-cxx.o"
for object in impl impl_cxx part-one part-one-cxx; do
  [ -f "$dir/$object.o" ] || continue
  if ! has nm; then echo "skip nm-$object: no nm"; continue; fi
  nm -g --defined-only "$dir/$object.o" | awk 'NF { print $NF }' > "$dir/symbols"
  grep -v -E '^(edf|edf_.*)$' "$dir/symbols" > "$dir/out"
  if [ -s "$dir/out" ]; then fail "nm-$object" 'symbols that do not begin with edf_'
  elif grep -q -x edf_forward "$dir/symbols" && grep -q -x edf "$dir/symbols"
  then pass "nm-$object"
  else fail "nm-$object" 'no edf and edf_forward'; fi
  case $object in part-one*)
    if grep edf_adam "$dir/symbols" > "$dir/out"; then fail "nm-$object-is-a-part" 'it has more'
    else pass "nm-$object-is-a-part"; fi ;;
  esac
done

# Every macro of the header, and the short names among them
macros() {
  $cc "$@" -dM -E -I. "$dir/macros.c" | awk '{ sub(/\(.*/, "", $2); print $2 }' | sort -u
}
echo '#include <stddef.h>
#include <stdio.h>' > "$dir/macros.c"
macros > "$dir/macros_before"
echo '#include "edf.h"' >> "$dir/macros.c"
macros | comm -13 "$dir/macros_before" - > "$dir/macros_all"
macros -DEDF_NO_SHORT_NAMES | comm -13 "$dir/macros_before" - > "$dir/macros_long"
comm -23 "$dir/macros_all" "$dir/macros_long" > "$dir/short"
grep -v -E '^(EDF_|edf_)' "$dir/macros_long" > "$dir/out"
if [ -s "$dir/out" ]; then fail no-short-names-macros 'these macros remain'
else pass no-short-names-macros; fi
grep -E '^I$|^[^A-Z]' "$dir/short" > "$dir/out"
if [ -s "$dir/out" ]; then fail short-names-are-capitalised 'these are not, or are I'
elif grep -q -x Forward "$dir/short" && grep -q -x Affine "$dir/short"
then pass short-names-are-capitalised
else fail short-names-are-capitalised 'Forward and Affine are not there'; fi

types='Node Input Parameter CompNode AffineParams'
{ echo '#define EDF_IMPLEMENTATION'
  echo '#include "use.h"'
  echo 'int main(void) {'
  for own in $types $(cat "$dir/short") I; do echo "int $own = 1; (void)$own;"; done
  echo 'return use(5) != 15; }'
} > "$dir/own_names.c"
works no-short-names $cc $warnings $blas -DEDF_NO_SHORT_NAMES -I. "$dir/own_names.c" \
  -o "$dir/own_names" $BLAS_LIBS -lm
works no-short-names-runs "$dir/own_names"
for type in $types; do
  printf '%s\n' '#include "edf.h"' "int f($type *x);" > "$dir/type.c"
  works "short-name-$type" $cc -I. -fsyntax-only "$dir/type.c"
  fails "no-short-name-$type" "$type" $cc -I. -DEDF_NO_SHORT_NAMES -fsyntax-only "$dir/type.c"
done

# ---- Overrides: all or none

m='-DEDF_MALLOC(n)=malloc(n)' r='-DEDF_REALLOC(p,n)=realloc(p,n)' f='-DEDF_FREE(p)=free(p)'
for some in "$m" "$r" "$f" "$m $r" "$m $f" "$r $f"; do
  fails "override $(echo "$some" | sed 's/-D\(EDF_[A-Z]*\)[^ ]*/\1/g') only" \
    'error.*EDF_MALLOC.*EDF_REALLOC.*EDF_FREE' $cc -I. $some -c "$dir/impl.c" -o "$dir/x.o"
done
works 'override EDF_MALLOC EDF_REALLOC EDF_FREE' $cc -I. -include stdlib.h $m $r $f \
  -c "$dir/impl.c" -o "$dir/x.o"

# ---- What cannot work is one #error, and not what it leads to

one_error() {                            # one_error NAME PATTERN COMMAND
  fails "$@"
  errors=$(grep -c 'error: ' "$dir/out")
  if [ "$errors" -le 2 ]; then pass "$1-alone"; else fail "$1-alone" "$errors errors"; fi
}
for compiler in $gcc $clang; do
  for standard in c89 gnu89; do
    one_error "$compiler-$standard" 'error.*C99 and C++11' $compiler -std=$standard -I. \
      -c "$dir/impl.c" -o "$dir/x.o"
  done
  for letter in A B C D E F G H J K L M N O P Q R S T U V W X Y Z; do
    works "$compiler-declarations-with-a-macro-$letter" $compiler -D$letter=3 -I. \
      -fsyntax-only "$dir/alone.c"
    if run $compiler -D$letter=3 -I. -fsyntax-only "$dir/impl.c"; then
      pass "$compiler-code-with-a-macro-$letter"
    else one_error "$compiler-code-with-a-macro-$letter" 'error.*a macro of one letter' \
      $compiler -D$letter=3 -I. -fsyntax-only "$dir/impl.c"
    fi
  done
  for flag in -ffast-math -Ofast -ffinite-math-only; do
    fails "$compiler$flag" 'error.*order of additions' $compiler $flag -I. -c "$dir/impl.c" \
      -o "$dir/x.o"
  done
  # clang has no macro for this one: the first node finds it
  if run $compiler -O1 -funsafe-math-optimizations -I. "$dir/whole.c" -o "$dir/whole" -lm &&
     run "$dir/whole"
  then fail "$compiler-funsafe-math-optimizations" 'exp(1) is 2, and nobody says so'
  elif grep -q 'order of additions' "$dir/out"; then pass "$compiler-funsafe-math-optimizations"
  else fail "$compiler-funsafe-math-optimizations" 'it does not say why'; fi
  # A function of the program's own by a short name: the error shows where to read on
  for own in 'double Mean(double *v, int n)' 'double Square(double x)' \
             'double Max(double *v, int n)' 'float Softmax(float *s, int n)'; do
    printf '%s\n' '#include "edf.h"' "$own { return 0; }" > "$dir/own.c"
    fails "$compiler $own" 'EDF_NO_SHORT_NAMES' $compiler -I. -fsyntax-only "$dir/own.c"
    works "$compiler $own without" $compiler -DEDF_NO_SHORT_NAMES -I. -fsyntax-only "$dir/own.c"
  done
done
[ "$gxx" ] && one_error g++-c++98 'error.*C99 and C++11' $gxx -x c++ -std=c++98 -I. \
  -c "$dir/impl.c" -o "$dir/x.o"

# What is written into an equation has all its digits, wherever a page shows how.
if grep -n 'edf__*fmt("[^"]*%g' edf.h edf_lab.h README.md examples/*.c notes/*.* > "$dir/out"
then fail numbers-with-all-digits 'edf_fmt with %g keeps 6: %.17g'
else pass numbers-with-all-digits; fi

# Backward is the loop that the lecture shows, and no more.
sed -n '/^void (edf_backward)(/,/^}/p' edf.h > "$dir/out"
if [ "$(wc -l < "$dir/out")" -le 8 ] && grep -q 'edf.at >= 0; edf.at--' "$dir/out" &&
   grep -q 'c->backward(c)' "$dir/out"; then pass backward-is-a-loop
else fail backward-is-a-loop 'expected at most six lines with its loop, found'; fi

# Headers of the library that only one build needs take no names from other programs.
printf '%s\n' '#define EDF_IMPLEMENTATION' '#include "edf.h"' \
  'int time, clock;' > "$dir/names.c"
if run $cc -I. -fsyntax-only "$dir/names.c"; then pass program-names-of-its-own
else fail program-names-of-its-own 'a program may call its variables time, clock'; fi
fails 'EDF_REAL=int' 'error.*EDF_REAL' $cc -I. -DEDF_REAL=int -c "$dir/alone.c" -o "$dir/x.o"

# ---- The example in the header's first comment, as a student compiles it

mkdir -p "$dir/student"
cp edf.h "$dir/student"
sed -n '/>>example  A whole program/,/end of the example/p' edf.h | sed '1d;$d' \
  > "$dir/student/x.c"
lines=$(grep -c '[^ ]' "$dir/student/x.c")
if [ "$lines" -gt 15 ] && [ "$lines" -le 25 ]; then pass example-length
else : > "$dir/out"; fail example-length "it has $lines lines, 25 are promised"; fi
cd "$dir/student" || exit 1
dir=.
works example-compiles $cc -g x.c -lm
[ -s out ] && fail example-compiles-silently 'the compiler says'
run ./a.out && [ "$(awk '/^P\(1\) = / { print ($3 > 0.5) }' out | tr '\n' ' ')" = '0 1 1 0 ' ]
if [ $? = 0 ]; then pass example-runs; else fail example-runs 'it does not print XOR'; fi

# ---- The slide on its first page, which Part Two reads

{
  printf '%s\n' '#define EDF_IMPLEMENTATION' '#include "edf.h"' 'int main(void) {' \
    'Input *x = edf_input("x[b,784]"), *y = edf_input("y[b]");'
  awk '/^ *CompNode .loss = Equations/ { on = 1 } on; on && /;$/ { exit }' edf.h
  printf '%s\n' 'edf_print_program(stdout); return !x || !y || loss != edf_find("loss"); }'
} > slide.c
works slide-compiles $cc -g slide.c -lm
run ./a.out && grep -q 'V   Parameter \[10, 64\]' out && grep -q 'W.grad\[j,i\] +=' out
if [ $? = 0 ]; then pass slide-runs; else fail slide-runs 'it does not print its program'; fi
cd "$top" || exit 1
dir=${1:-build/tests/hygiene}

# ---- The other sources are clean too, and no line is too long

for source in tests/*.c tests/*/*.c examples/*.c; do
  [ -f "$source" ] || continue
  case $source in
    examples/mpi_*|tests/mpi/*|tests/cuda/examples.c|tests/assignments/*) continue ;;
  esac
  for compiler in $gcc $clang; do
    openmp=
    if grep -q 'Built as: openmp alone' "$source"; then      # clang has <omp.h> in a package
      openmp=-fopenmp
      run $compiler -fopenmp -include omp.h -fsyntax-only "$source" -I. || continue
    fi
    own=                                   # as it is built: some are in double alone
    grep 'Built as:' "$source" | grep double | grep -q -v float && own=-DEDF_REAL=double
    case $compiler-$source in clang-examples/*) own=-DEDF_LINKED ;; esac   # gcc sees all of it
    works "$compiler $source" $compiler -std=c99 $warnings $openmp $blas $own -I. \
      -fsyntax-only "$source"
  done
done
works lines awk -f tests/lines.awk tests/lines.txt edf.h edf_lab.h
sed 's/^core .*/core 300/' tests/lines.txt > "$dir/lines.txt"
fails lines-above-a-ceiling 'core .*TOO LONG' \
  awk -f tests/lines.awk "$dir/lines.txt" edf.h edf_lab.h

# What `make page` would write is there.
embed() {
  awk -v prefix=edf_lab__ -f notes/embed.awk "$1" edf_lab.h > "$dir/page.h" 2> "$dir/out"
}
page=page-of-notes/trace.html
if embed notes/trace.html && cmp "$dir/page.h" edf_lab.h > "$dir/out"; then pass $page
else fail $page 'edf_lab.h has another page: make page'; fi
sed 's/draw();/drew();/' notes/trace.html > "$dir/trace.html"
if embed "$dir/trace.html" && ! cmp -s "$dir/page.h" edf_lab.h; then pass $page-changed
else fail $page-changed 'a change of the page was not seen'; fi
sed '/id="data"/d' notes/trace.html > "$dir/trace.html"
if embed "$dir/trace.html"; then fail $page-broken 'it was embedded'; else pass $page-broken; fi

works msvc-rules awk -f tests/msvc.awk edf.h edf_lab.h
sed 's/^  for (t = 0; t < threads/  for (int t = 0; t < threads/' edf.h > "$dir/msvc.h"
fails msvc-rules-loop 'declares its variable' awk -f tests/msvc.awk "$dir/msvc.h"
sed 's/^#if.*__GNUC__.*/#if 1/' edf.h > "$dir/msvc.h"
fails msvc-rules-words 'a GNU word' awk -f tests/msvc.awk "$dir/msvc.h"
awk 'length($0) > 96 { print FILENAME ":" FNR ": " length($0) " columns" }' \
  $(ls Makefile edf_cuda.cu tests/*.* tests/*/*.* tests/cuda/shim/* examples/*.* \
       notes/assignments/*.[ch] notes/assignments/ps*/*.[ch] |
    grep -v -e cuda/mutants.sh -e golden/ -e README.md -e tests/notes/ -e '[.]npy' \
      -e safetensors -e '[.]wrong') \
  > "$dir/out" 2>&1
if [ -s "$dir/out" ]; then fail columns 'over 96'; else pass columns; fi
exit $bad
