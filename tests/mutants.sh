#!/bin/sh
# Deliberate mistakes in edf.h, drawn by tests/mutate.awk: how many does `make test` notice?
#   sh tests/mutants.sh [SEED [COUNT]]          150 of seed 1; `make mutants SEED=1` calls it
#   sh tests/mutants.sh --survivors [SEED]      those that survived, or did not run, once more
#   sh tests/mutants.sh --twelve                those of tests/mutants.txt, for make test-all
# A mutant is one changed line. One that does not compile, or not without a warning, or to the
# same code, does not count: the next is drawn. A mutant's implementation is compiled alone,
# and linked with test programs that were compiled before; which of them run the changed line,
# gcov has said. They run from the quickest to the slowest, in double, float, sanitized, with a
# CBLAS, with OpenMP; then tests that are scripts, in a copy of the tree. The first that fails
# ends it. A program may take ten times its CPU seconds, and ten more.
#   SCRIPTS=0                  without the scripts
#   CHAPTERS="watch doctor"    of these chapters alone
# tests/mutants.txt lists mutants that change nothing a test could ask for, each with a reason.
# Not run: float-cblas and the sanitized nests.c; their other variants are.

cd "$(dirname "$0")/.." || exit 1
top=$PWD base=$PWD/build/mutants/base
CC=${CC:-cc} known=tests/mutants.txt
warnings='-std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion'
sanitize='-g1 -fsanitize=address,undefined -fno-sanitize-recover=all'
fast=$CC; command -v clang > /dev/null && fast=clang      # a third of gcc's time
headers=$(ls edf.h edf_*.h 2>/dev/null)
slow=' doctor nests steady '
unsteady='test_cost'                       # it takes time, and other programs run

# ---- What each variant is: its compiler and flags, and the programs in it

flags_of() {                               # flags_of VARIANT
  case $1 in
    double) echo "$fast $warnings -O0 -DEDF_REAL=double" ;;
    float)  echo "$fast $warnings -O0" ;;
    double-slow) echo "$fast $warnings -O1 -DEDF_REAL=double" ;;
    float-slow)  echo "$fast $warnings -O1" ;;
    sanitized) echo "$CC $warnings -O0 -DEDF_REAL=double $sanitize" ;;
    cblas)  echo "$fast $warnings -O0 -DEDF_REAL=double $BLAS_CFLAGS" ;;
    openmp) echo "$CC $warnings -O1 -fopenmp $BLAS_CFLAGS" ;;
  esac
}
libraries_of() { case $1 in cblas|openmp) echo "$BLAS_LIBS" ;; esac; }
variants='double float sanitized double-slow float-slow openmp'
[ "$BLAS_CFLAGS" ] && variants="$variants cblas"

built_as() { sed -n 's/.*Built as: *\([a-z ]*\).*/ \1 /p' "$1" | head -n 1; }

# runs_in VARIANT NAME: is there such a job in make test?
runs_in() {
  as=$(built_as "tests/$2.c")
  case $as in *' alone '*) [ "$1" = openmp ]; return ;; esac
  case $1:$slow in *-slow:*" $2 "*|openmp:*" $2 "*) ;; *-slow:*|*:*" $2 "*) return 1 ;; esac
  case $1 in
    double*) case $as in *' double '*) ;; *' float '*) return 1 ;; esac ;;
    float*)  case $as in *' float '*) ;; *' double '*) return 1 ;; esac ;;
    cblas)   case $as in *' cblas '*) ;; *) return 1 ;; esac ;;
    *)       case $as in *" $1 "*) ;; *) return 1 ;; esac ;;
  esac
}
owns() { case $(built_as "tests/$1.c") in *' own '*) ;; *) return 1 ;; esac; }

# ---- One program of a variant: NAME VARIANT IMPLEMENTATION DIRECTORY

# build_program NAME VARIANT IMPLEMENTATION HEADERS PROGRAM
build_program() {
  if owns "$1"; then
    $(flags_of "$2") -w -I"$4" -I. "tests/$1.c" -o "$5" -lm
  else
    $(flags_of "$2") -w "$base/$2/$1.o" "$3" -o "$5" $(libraries_of "$2") -lm
  fi > "$5.cc" 2>&1
}

# limited SECONDS PROGRAM: in a directory of its own, within limits
limited() {
  mkdir -p build/tests build/mutants
  ( ulimit -t "$1"; ulimit -f 400000
    case $2 in *sanitized*) ;; *) ulimit -v 6000000 ;; esac
    exec env -u EDF_DATA -u EDF_TEXT OMP_NUM_THREADS=4 OPENBLAS_NUM_THREADS=1 \
      timeout 900 "$2" < /dev/null ) > "$2.out" 2>&1
}

# fails SECONDS PROGRAM: says which test, or the exit status
fails() {
  limited "$1" "$2"
  status=$?
  first=$(grep -a '^not ok ' "$2.out" | grep -v "^not ok $unsteady:" | head -n 1)
  if [ "$first" ]; then echo "$first" | sed 's/^not ok \([^: ]*\).*/\1/'; return 0; fi
  [ $status = 0 ] && return 1
  grep -a -q "^not ok $unsteady:" "$2.out" && return 1
  case $status in
    124|137|152) echo 'its time' ;;
    *) echo "exit status $status" ;;
  esac
}

# ---- Once: the programs, their times, which lines they run

prepare() {
  key=$(cat $headers tests/impl.c tests/*.h | cksum; echo "$fast")
  [ "$key" = "$(cat "$base/key" 2>/dev/null)" ] || rm -rf "$base"
  mkdir -p "$base/lines" "$base/room/tests"
  cp -R tests/golden tests/files13 "$base/room/tests"
  echo 'int main(void) { return 0; }' > "$base/works.c"
  for variant in $variants; do
    $(flags_of $variant) "$base/works.c" -o "$base/works" $(libraries_of $variant) \
      2> /dev/null || continue
    mkdir -p "$base/$variant"
    for name in $(ls tests/*.c | sed 's/.*\///; s/\.c$//'); do
      [ "$name" != impl ] && runs_in $variant "$name" && echo "$variant $name"
    done
  done > "$base/programs"
  cut -d ' ' -f 1 "$base/programs" | sort -u | sed 's/$/ impl/' | cat - "$base/programs" |
    xargs -n 2 -P 2 sh tests/mutants.sh --compile || exit 1
  echo "$key" > "$base/key"
  xargs -n 2 -P 2 sh tests/mutants.sh --time < "$base/programs" || exit 1
  [ "$mode" = --twelve ] || cover
  sed 's/ /\//' "$base/programs" | while read -r each; do
    echo "${each%/*} $(cat "$base/$each.seconds") ${each#*/}"
  done | sort -s -k 2,2n > "$base/jobs"
}

# The tests are by $CC: compilers differ in the line of a call that is several lines long.
compile() {                                # compile VARIANT NAME
  [ "$base/$1/$2.o" -nt "tests/$2.c" ] && return
  echo "compiles $2, $1" >&2
  rm -f "$base/$1/$2.seconds" "$base/lines/$2"
  level=
  case $(built_as "tests/$2.c") in *' optimised '*) level=-O1 ;; esac
  case $1:$2 in
    *:impl) $(flags_of "$1") -w -I. -c tests/impl.c -o "$base/$1/impl.o"; return ;;
    openmp:*) level="$level -fopenmp" ;;
    sanitized:*) level="$level -DEDF_REAL=double $sanitize" ;;
    double*|cblas*) level="$level -DEDF_REAL=double" ;;
  esac
  $CC -w -std=c99 $level -I. -c "tests/$2.c" -o "$base/$1/$2.o"
}

# The right header passes, in so many seconds of CPU.
time_of() {                                # time_of VARIANT NAME
  at=$base/$1/$2
  [ -f "$at.seconds" ] && return
  build_program "$2" "$1" "$base/$1/impl.o" . "$at" || { cat "$at.cc"; return 1; }
  cd "$base/room" || return 1
  how=$(fails 300 "$at"; status=$?; times > "$at.times"; exit $status) &&
    { echo "$1 $2 fails: $how"; return 255; }
  sed -n 2p "$at.times" | awk '{ split($1, t, /[ms]/); print int(60 * t[1] + t[2] + 1) }' \
    > "$at.seconds"
  rm -f "$at"
}

# lines/NAME: FILE:LINE of each line that it runs; lines/all: of each that could run. Without
# gcov there are none, and every program runs.
cover() {
  command -v gcov > /dev/null || return
  for name in $(cut -d ' ' -f 2 "$base/programs" | sort -u); do
    real=double
    grep -q "^double[-a-z]* $name\$" "$base/programs" || real=float
    owns "$name" || echo "$real $name"
  done > "$base/covered"
  for real in float double; do
    object=$base/lines/$real.o
    [ -f "$object" ] || $CC -w -std=c99 -O1 --coverage -DEDF_REAL=$real -I. -c tests/impl.c \
      -o "$object" || return
  done
  xargs -n 2 -P 2 sh tests/mutants.sh --lines < "$base/covered"
  cut -d ' ' -f 2 "$base/covered" | sed "s|^|$base/lines/|" | xargs cat | sort -u \
    > "$base/reached"
}
lines() {                                  # lines REAL NAME
  at=$base/lines/$2.d
  [ -f "$base/lines/$2" ] && return
  mkdir -p "$at"
  case $slow in *" $2 "*) from=$base/$1-slow ;; *) from=$base/$1 ;; esac
  [ -f "$from/$2.o" ] || from=$base/openmp
  $CC --coverage "$from/$2.o" "$base/lines/$1.o" -o "$at/run" -lm 2> "$at/cc" || return 0
  ( export GCOV_PREFIX="$at" GCOV_PREFIX_STRIP=99
    cd "$base/room" && limited 600 "$at/run" )
  cp "$base/lines/$1.gcno" $headers "$at/"
  ( cd "$at" && gcov -o . "$1.gcda" > /dev/null 2>&1
    for report in edf*.h.gcov; do
      awk -F : -v file="${report%.gcov}" -v all="$base/lines/all.$2" '
        $1 ~ /[0-9#=]/ { print file ":" $2 + 0 > all }
        $1 ~ /[0-9]/ { print file ":" $2 + 0 }' "$report"
    done ) > "$base/lines/$2"
  rm -rf "$at"
}
sees() {                                   # sees NAME FILE:LINE; where nobody knows, yes
  [ -s "$base/lines/$1" ] && [ -f "$base/lines/all.$1" ] || return 0
  grep -q -x "$2" "$base/lines/$1" || ! grep -q -x "$2" "$base/lines/all.$1" ||
    ! grep -q -x "$2" "$base/reached"      # in double by no program: perhaps in float
}

# ---- The draws: of each chapter as many as are wanted that compile to other code

mutate() {                                 # mutate LINE-OF-A-LIST: writes $w/edf.h
  IFS='	' read -r chapter file line kind fn before after <<-END
	$1
	END
  for header in $headers; do cp "$header" "$w/"; done
  after=$(printf '%s\n' "$1" | cut -f 7) line=$line awk '
    FNR == ENVIRON["line"] { print ENVIRON["after"]; next } { print }' "$file" > "$w/$file"
}

implement() {                              # implement VARIANT FLAGS: $w/VARIANT.o
  [ -f "$w/$1.o" ] ||
    $(flags_of "$1") $2 -I"$w" -I. -c tests/impl.c -o "$w/$1.o" > "$w/$1.cc" 2>&1
}
differs() { implement "$1" -w && ! cmp -s "$w/$1.o" "$base/$1/impl.o"; }

draw() {                                   # draw CHAPTER WANTED
  w=$out/draw-$1 n=0
  mkdir -p "$w"
  grep "^$1	" "$out/drawn" | while read -r each; do
    [ $n = "$2" ] && break
    rm -f "$w"/*.o
    mutate "$each"
    implement double -Werror || continue
    differs double || differs float || { [ -f "$base/openmp/impl.o" ] && differs openmp; } ||
      continue
    n=$((n + 1))
    printf '%s\n' "$each"
  done > "$out/list-$1"
  rm -rf "$w"
}

# ---- A mutant's end

describe() { printf '%s %s:%s %s in %s: %s -> %s' "$number" "$file" "$line" "$kind" "$fn" \
  "$(printf '%s' "$before" | sed 's/^ *//')" \
  "$(printf '%s' "$after" | sed 's/^ *//')"; }

# Its reason in tests/mutants.txt: found by function, kind and text, for lines move.
reason() {
  before=$before after=$after awk -v head="$fn $kind" '
    function text(s) { gsub(/^ +| +$/, "", s); return substr(s, 1, 90) }
    BEGIN { before = text(ENVIRON["before"]); after = text(ENVIRON["after"]) }
    /^[A-Za-z_]/ { same = $0 == head }
    /^- / { same = same && text(substr($0, 3)) == before }
    /^\+ / { same = same && text(substr($0, 3)) == after }
    /^= / && same { print substr($0, 3); exit }' $known
}

# The mutants of tests/mutants.txt with such a mark, as a list.
listed() {                                 # listed MARK
  awk -f tests/mutate.awk ALL=1 $headers | awk -F '\t' -v mark="$1" '
    function text(s) { gsub(/^ +| +$/, "", s); return substr(s, 1, 90) }
    NR == FNR && /^[A-Za-z_]/ { head = $0 }
    NR == FNR && /^- / { before = text(substr($0, 3)) }
    NR == FNR && /^\+ / { after = text(substr($0, 3)) }
    NR == FNR { if (index($0, mark) == 1) wanted[head, before, after] = 1; next }
    (($5 " " $4, text($6), text($7)) in wanted) {
      print
      delete wanted[$5 " " $4, text($6), text($7)]
    }' $known -
}

# Those in the first pass see most mutants, and take seconds; the second is for what is left. A
# CBLAS and OpenMP change the loop nests alone; what runs in threads, gcov has not seen.
passes() {                                 # passes NUMBER: its variants
  [ "$1" = 1 ] && { echo double float; return; }
  echo sanitized double-slow float-slow
  { [ "$chapter" = nest ] || sees nests "$file:$line"; } && echo openmp cblas
}

# killer PASS: prints the job that notices the mutant in $w, and which test of it
killer() {
  [ "$1" = 2 ] && same_code && return 2
  for variant in $(passes "$1"); do
    while read -r this seconds name; do
      [ "$this" = "$variant" ] || continue
      [ "$variant" = openmp ] || sees "$name" "$file:$line" || continue
      implement "$variant" -w || { echo "$variant: it does not compile"; return; }
      at=$w/$variant-$name
      build_program "$name" "$variant" "$w/$variant.o" "$w" "$at" ||
        { echo "$name-$variant: it does not link"; return; }
      how=$(exec 2> /dev/null; cd "$room" && fails $((10 + 10 * seconds)) "$at") &&
        { echo "$name-$variant: $how"; return; }
      rm -f "$at"
    done < "$base/jobs"
  done
  [ "$1" = 1 ] || [ "$SCRIPTS" = 0 ] && return 1
  scripts
}

# What survives may be the same program after all: an optimiser says so.
same_code() {
  implement double-slow -w && implement float-slow -w &&
    cmp -s "$w/double-slow.o" "$base/double-slow/impl.o" &&
    cmp -s "$w/float-slow.o" "$base/float-slow/impl.o" &&
    implement openmp -w && cmp -s "$w/openmp.o" "$base/openmp/impl.o"
}

# The scripts that see a chapter, in a copy of the tree with the mutant in it.
scripts() {
  tree=$w/tree
  mkdir -p "$tree/build"
  cp -R Makefile README.md edf_cuda.cu $headers notes tests examples "$tree/"
  for header in $headers; do cp "$w/$header" "$tree/"; done
  which='gdb examples'
  case $chapter in
    print) which='gdb latex examples trace' ;;
    trace|watch) which='gdb trace examples' ;;
    data|models) which='python examples' ;;
    init) which='examples python' ;;
  esac
  for script in $which; do
    ( cd "$tree" || exit
      if [ $script = examples ]; then
        printf '%s\n' '#define EDF_IMPLEMENTATION' '#include "edf_lab.h"' > build/edf.c
        $fast -w -O2 -march=native -I. -c build/edf.c -o build/edf.o
      fi
      ulimit -t 300; ulimit -f 400000
      timeout 900 sh tests/$script.sh build/tests/$script build/edf.o ) > "$w/$script.out" 2>&1
    status=$?
    first=$(grep -a '^not ok ' "$w/$script.out" | head -n 1 | cut -c 8-60)
    [ $status != 0 ] && { echo "$script: ${first:-exit status $status}"; return; }
  done
  return 1
}

one() {                                    # one NUMBER: the line of the list
  [ "$1" ] || return                       # xargs of nothing
  number=$1 w=$out/$1 room=$out/$1/room
  rm -rf "$w"
  mkdir -p "$room/tests"
  cp -R tests/golden tests/files13 "$room/tests"
  each=$(sed -n "$1p" "$out/list")
  mutate "$each"
  after=$(printf '%s\n' "$each" | cut -f 7)
  why=$(reason)
  if [ "$why" ] && [ "$mode" != --twelve ]; then said="equivalent $(describe)   = $why"
  else
    how=$(killer "$pass")
    case $? in
      0) said="killed $(describe)   by $how" ;;
      2) said="equivalent $(describe)   = the same code at -O1" ;;
      *) said="SURVIVED $(describe)" ;;
    esac
  fi
  rm -rf "$w"
  case $pass:$said in 1:SURVIVED*) [ "$mode" = --twelve ] || return ;; esac
  printf '%s\t%s\n' "$chapter" "$said" >> "$out/results"
  [ "$mode" = --twelve ] || printf '%s\n' "$said"
}

summary() {
  awk -F '\t' '
    { split($2, word, " "); n[$1]++; is[$1, word[1]]++; all++; sum[word[1]]++ }
    function line(name, n, k, e, s) {
      printf "%s%d mutants, %d killed, %d equivalent, %d survived", name, n, k, e, s
      if (n > e) printf ": %.1f %% of those that are not equivalent", 100 * k / (n - e)
      print ""
    }
    END {
      for (c in n)
        line(sprintf("%-10s", c), n[c], is[c, "killed"], is[c, "equivalent"], is[c, "SURVIVED"])
      line("", all, sum["killed"], sum["equivalent"], sum["SURVIVED"])
      exit all == 0 || sum["killed"] < 0.9 * (all - sum["equivalent"])
    }' "$out/results"
}

# ---- The command

mode=$1
case $mode in
  --compile) compile "$2" "$3"; exit ;;
  --time)    time_of "$2" "$3"; exit ;;
  --lines)   lines "$2" "$3"; exit ;;
  --draw)    out=$2; draw "$3" "$4"; exit ;;
  --one)     out=$2 mode=$3 pass=$4; one "$5"; exit 0 ;;
esac

mkdir -p "$base"
[ "$mode" = --twelve ] && variants=double
prepare
case $mode in
  --twelve)
    out=$top/build/mutants/twelve
    rm -rf "$out"
    mkdir -p "$out"
    listed '!' > "$out/list"
    awk '{ print NR }' "$out/list" > "$out/again"
    xargs -n 1 -P 2 sh tests/mutants.sh --one "$out" --twelve 1 < "$out/again"
    sed 's/^[a-z]*	killed [0-9]* /ok mutant /; t
      s/^[a-z]*	SURVIVED [0-9]* /not ok mutant: survived: /' "$out/results"
    grep -c killed "$out/results" | awk -v wanted="$(grep -c '^!' $known)" '
      $1 != wanted { print "not ok mutants: " $1 " of " wanted " were killed"; exit 1 }'
    exit
    ;;
  --survivors)
    out=$top/build/mutants/seed-${2:-1}
    [ -f "$out/results" ] || { echo "mutants.sh: no seed ${2:-1} has run"; exit 2; }
    grep -v '	SURVIVED' "$out/results" > "$out/kept"
    mv "$out/kept" "$out/results"
    ;;
  *)
    seed=${1:-1} count=${2:-150} out=$top/build/mutants/seed-${1:-1}
    rm -rf "$out"
    mkdir -p "$out"
    awk -f tests/mutate.awk "SEED=$seed" "DRAWS=$count" $headers > "$out/drawn"
    cut -f 1 "$out/drawn" | awk -v only=" $CHAPTERS " '
      !seen[$0]++ && (only !~ /[a-z]/ || index(only, " " $0 " "))' > "$out/chapters"
    awk -v count="$count" '{ name[NR] = $0 } END {
      for (i = 1; i <= NR; i++) print name[i], int(count / NR) + (i <= count % NR) }
      ' "$out/chapters" | xargs -n 2 -P 2 sh tests/mutants.sh --draw "$out"
    while read -r each; do cat "$out/list-$each"; done < "$out/chapters" > "$out/list"
    : > "$out/results"
    ;;
esac
for pass in 1 2; do
  awk 'FILENAME == ARGV[1] { split($0, word, " "); over[word[3]]; next }
    !(FNR in over) { print FNR }' "$out/results" "$out/list" > "$out/again"
  xargs -n 1 -P 2 sh tests/mutants.sh --one "$out" drawn $pass < "$out/again"
done
summary
