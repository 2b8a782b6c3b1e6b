#!/bin/sh
# edf_lab.h is a client of edf.h: it compiles in a file of its own, writes no private name and
# reads no private field, and its memory is the graph's. A program that misses it is told so.
#   sh tests/lab.sh [directory for what is built]

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/lab}
rm -rf "$dir"
mkdir -p "$dir/renamed" "$dir/older"
warnings='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror'
cc=${CC:-cc} bad=0

pass() { echo "ok lab-$1"; }
fail() { bad=1; echo "not ok lab-$1: $2"; head -n 8 "$dir/out" | sed 's/^/  /'; }
works() {                                  # works NAME COMMAND
  name=$1; shift
  if "$@" > "$dir/out" 2>&1; then pass $name; else fail $name "$*"; fi
}
fails() {                                  # fails NAME PATTERN COMMAND: and it says why
  name=$1 pattern=$2; shift 2
  if "$@" > "$dir/out" 2>&1; then fail $name "this should not compile: $*"
  elif grep -q "$pattern" "$dir/out"; then pass $name
  else fail $name "its message does not contain '$pattern'"; fi
}

# ---- Alone, twice, and with the implementation before or behind, in C and C++

echo '#include "edf_lab.h"' > "$dir/alone.c"
printf '%s\n' '#include "edf_lab.h"' '#include "edf.h"' '#include "edf_lab.h"' \
  '#define EDF_LAB_IMPLEMENTATION' '#include "edf_lab.h"' '#include "edf_lab.h"' > "$dir/own.c"
printf '%s\n' '#include "edf_lab.h"' '#define EDF_IMPLEMENTATION' '#include "edf.h"' \
  '#include "edf_lab.h"' 'int main(void) { edf_log("a", 1.0); edf_clear(); return 0; }' \
  > "$dir/both.c"
for compiler in gcc 'g++ -x c++' clang 'clang++ -x c++'; do
  name=${compiler%% *}
  command -v $name > /dev/null || { echo "skip lab-$name: no $name"; continue; }
  case $name in *++) stds='c++11 c++20' ;; *) stds='c99 c17' ;; esac
  for std in $stds; do
    for file in alone own; do
      works $file-$name-$std $compiler -std=$std $warnings -I. -fsyntax-only "$dir/$file.c"
    done
  done
  works both-$name $compiler -std=${stds%% *} $warnings -I. "$dir/both.c" -o "$dir/both" -lm
  works both-$name-runs "$dir/both"
done

# ---- It names nothing private, and no more than 30 names stand in the chapter for tools

if grep -n -E '(edf|EDF)__' edf_lab.h > "$dir/out"; then fail no-private-names 'it has some'
else pass no-private-names; fi
sed -n '/^\/\* ==== >>tools/,/^#ifdef EDF__CODE/p' edf.h | awk '
  { code = $0
    if (aside) { if (!sub(/^.*\*\//, "", code)) next; aside = 0 }
    gsub(/\/\*[^*]*\*\//, "", code)
    if (sub(/\/\*.*/, "", code)) aside = 1
    within += gsub(/\{/, "{", code) - gsub(/\}/, "}", code)
    if (within || code !~ /;/ || code ~ /^(typedef struct [a-z_]+ \{|  )/ && code !~ /^}/) next
    if (match(code, /edf_[a-z_]+(\(| *;)/)) print substr(code, RSTART, RLENGTH)
  }' | tr -d '(; ' | sort -u > "$dir/names"
n=$(grep -c . "$dir/names")
cp "$dir/names" "$dir/out"
if [ "$n" -ge 20 ] && [ "$n" -le 30 ] && grep -q -x edf_is "$dir/names"
then pass at-most-30-names
else fail at-most-30-names "there are $n"; fi

# A copy of the header in which what is the framework's own has other names
awk '/^  \/\* the framework.s own \*\/$/ { own = 1 } /^\}/ { own = 0 }
  own { code = $0; text = ""
        if (i = index(code, "/*")) { text = substr(code, i); code = substr(code, 1, i - 1) }
        gsub(/[a-z_]+[,;]/, "other_&", code)
        gsub(/\(\*[a-z_]+\)/, "&", code)
        $0 = code text }
  { print }' edf.h > "$dir/renamed/edf.h"
cp edf_lab.h "$dir/renamed/edf_lab.h"
works no-private-fields $cc -std=c99 $warnings -I"$dir/renamed" -fsyntax-only "$dir/own.c"
for field in 'x->needs_grad' 'x->fed' 'edf.telling' 'edf.kept' 'x->says'; do
  printf '%s\n' '#include "edf.h"' "int f(edf_node *x);" \
    "int f(edf_node *x) { (void)$field; return x != 0; }" > "$dir/field.c"
  works field-$field-is-there $cc -I. -fsyntax-only "$dir/field.c"
  fails field-$field-is-renamed 'no member' $cc -I"$dir/renamed" -fsyntax-only "$dir/field.c"
done

# ---- It takes its own version of edf.h alone

sed 's/define EDF_VERSION 200/define EDF_VERSION 201/' edf.h > "$dir/older/edf.h"
cp edf_lab.h "$dir/older/edf_lab.h"
fails another-version 'is of version' $cc -I"$dir/older" -fsyntax-only "$dir/alone.c"

# ---- Without it a call says where it is; with it, or with a name of one's own, it compiles

moved() {                                  # moved NAME CALL
  printf '%s\n' 'void f(edf_node *x);' "void f(edf_node *x) { (void)x; $2; }" > "$dir/call"
  { echo '#include "edf.h"'; cat "$dir/call"; } > "$dir/call.c"
  fails $1-is-missed $1_is_in_edf_lab_h $cc -std=c99 -I. -fsyntax-only "$dir/call.c"
  { echo '#include "edf_lab.h"'; cat "$dir/call"; } > "$dir/call.c"
  works $1-is-there $cc -std=c99 $warnings -I. -fsyntax-only "$dir/call.c"
  { echo "#define $1(...) ((void)0)"
    echo '#include "edf.h"'; cat "$dir/call"; } > "$dir/call.c"
  works $1-of-ones-own $cc -std=c99 -I. -fsyntax-only "$dir/call.c"
}
moved edf_doctor 'edf_doctor(x)'
moved edf_trace_begin 'edf_trace_begin("a.html")'
moved edf_trace_end 'edf_trace_end()'
moved edf_log_value 'edf_log("a", 1.0)'
moved edf_log_scale 'edf_log_scale("a")'
moved edf_plot_svg 'edf_plot_svg("a.svg")'
moved edf_print_latex 'edf_print_latex(stdout)'
moved edf_write_dot 'edf_write_dot("a.dot")'
moved edf_contact_sheet '(void)edf_contact_sheet(edf_view(x), 1, 1, 0, 1)'
sed -n '/^\/\* History/,/1\.3 /p' edf.h > "$dir/out"
for name in $(grep -o 'edf_[a-z_]*_is_in_edf_lab_h' edf.h | sed 's/_is_in_edf_lab_h//'); do
  grep -q "${name%_value}" "$dir/out" || fail history-$name 'page one says not where it went'
done
pass history

# ---- In a file of its own, beside an implementation with another malloc

cat > "$dir/edf.c" <<'END'
#include <stdlib.h>
static long live, calls;
long counted_live(void);
long counted_calls(void);
long counted_live(void) { return live; }
long counted_calls(void) { return calls; }
static void *counted_malloc(size_t n) { live++; calls++; return malloc(n); }
static void *counted_realloc(void *p, size_t n) { live += !p; return realloc(p, n); }
static void counted_free(void *p) { live -= p != NULL; free(p); }
#define EDF_MALLOC(n) counted_malloc(n)
#define EDF_REALLOC(p, n) counted_realloc(p, n)
#define EDF_FREE(p) counted_free(p)
#define EDF_IMPLEMENTATION
#include "edf.h"
END
for real in float double; do
  flags="-std=c99 $warnings -g -DEDF_REAL=$real -I."
  works two-files-$real $cc $flags tests/lab/two_graphs.c "$dir/edf.c" -o "$dir/two_graphs" -lm
  rm -f "$dir"/two_graphs.*
  (cd "$dir" && ./two_graphs) > "$dir/out" 2>&1
  if [ $? = 0 ] && grep -q '^0 blocks are left of many' "$dir/out"; then pass nothing-left-$real
  else fail nothing-left-$real 'blocks are left, or it failed'; fi
  if [ "$(grep -c '^doctor: step' "$dir/out")" = 1 ] &&
     grep -q '^doctor: step 20: after 20 Backwards no parameter has ever moved' "$dir/out"
  then pass a-doctor-each-$real
  else fail a-doctor-each-$real 'expected one finding, of the graph that does not move'; fi
  for end in html svg dot; do
    if [ -s "$dir/two_graphs.$end" ]; then pass two-graphs-$end-$real
    else fail two-graphs-$end-$real 'it was not written'; fi
  done
done
exit $bad
