#!/bin/sh
# Puts mistakes into edf.h, one at a time: do the tests find them?
#   sh bench/mutants/mutants.sh [SEED [COUNT]]     60 mutants of seed 34, as many of each chapter
#   sh bench/mutants/mutants.sh all CHAPTER...     every mutant of these chapters
# A mutant is one changed line, drawn by mutate.awk. It does not count if it does not compile
# without a warning, compiles to the same code, or stands in equivalent.txt, with the reason why
# no test can find it. The test programs are compiled once and linked with each mutant, the quick
# ones first: in double, float, with the address sanitizer, with OpenMP. Then come `make oracle`
# and the scripts, in a copy of the tree. The first failure ends it. A mutant that has a line in
# build/mutants/result is not run again, if the arguments are the same. VARIANTS=double is a quick
# look: in double alone, without the scripts.

cd "$(dirname "$0")/../.." || exit 1
top=$PWD dir=$PWD/build/mutants equivalent=$PWD/bench/mutants/equivalent.txt
case $1 in
  all) shift; seed=all count=99999 chapters=$* ;;
  *) seed=${1:-34} count=${2:-60} chapters=$seed ;;
esac
CC=${CC:-cc}
warn='-std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -I. -Itests'
sanitize='-g1 -fsanitize=address,undefined -fno-sanitize-recover=all'
variants=${VARIANTS:-double float asan omp}
flags_double='-O0 -DEDF_REAL=double' flags_float=-O0 flags_omp='-O1 -fopenmp' \
  flags_asan="-O0 -DEDF_REAL=double $sanitize"
flags() { eval "echo \$flags_$1"; }

of() {                                         # of VARIANT: its programs
  make -s -f tests/suite.mk names | tr ' ' '\n' | sed -n "s|^$1/||p"
}

if [ "$1" != --one ]; then
  mkdir -p $dir
  [ "$(cat $dir/drawn.by 2> /dev/null)" = "$chapters $count $variants" ] || : > $dir/result
  echo $chapters $count $variants > $dir/drawn.by
  for v in $variants; do
    mkdir -p $dir/$v && : > $dir/$v/times
    $CC $warn $(flags $v) -c tests/impl.c -o $dir/$v/impl.o || exit 1
    for name in $(of $v); do
      own=$dir/$v/$name
      $CC $warn $(flags $v) -c tests/$name.c -o $own.o &&
        $CC $(flags $v) $own.o $dir/$v/impl.o -o $own -lm || exit 1
      began=$(date +%s%N)
      $own > $own.log 2>&1 < /dev/null || { echo "$v/$name fails without a mutant"; exit 1; }
      echo $(($(date +%s%N) - began)) $name >> $dir/$v/times
    done
    sort -n $dir/$v/times | cut -d ' ' -f 2 > $dir/$v/list
  done
  if [ $seed = all ]; then
    for chapter in $chapters; do
      awk -f bench/mutants/mutate.awk ALL=1 edf.h | grep "^$chapter	" ||
        { echo "no chapter is called $chapter" >&2; exit 1; }
    done > $dir/drawn || exit 1
  else
    # Round after round of all chapters, until there are enough that count.
    draws=$((2 + 3 * count / $(grep -c '^/\* ==== >>' edf.h)))
    awk -f bench/mutants/mutate.awk SEED=$seed DRAWS=$draws edf.h |
      awk -F '\t' '{ print ++n[$1] "\t" $0 }' | sort -s -n -k 1,1 | cut -f 2- > $dir/drawn
  fi
  seq $(wc -l < $dir/drawn) | xargs -P 2 -n 1 sh bench/mutants/mutants.sh --one $count
  sort -n $dir/result | awk -F '\t' -v count=$count '
    $2 == "-" { next }
    ++n > count { next }
    $2 == "SURVIVED" { print; next }
    { killed++ }
    END {
      printf "%d of %d mutants killed; build/mutants/result has them all\n", killed,
        (n > count ? count : n)
    }'
  exit
fi

# ---- One mutant: number $3 of the list

count=$2 number=$3 own=$dir/$3
grep -q "^$number	" $dir/result && exit
[ "$(awk -F '\t' '$2 != "-"' $dir/result | wc -l)" -ge $count ] && exit
line=$(sed -n "${number}p" $dir/drawn)
field() { printf '%s\n' "$line" | cut -f $1; }
bare() { field $1 | sed 's/^ *//'; }
said() { printf '%s\t%s\t%s:%s %s\t%s\t->\t%s\n' $number "$1" "$(field 1)" "$(field 3)" \
  "$(field 5)" "$(bare 6)" "$(bare 7)" >> $dir/result; exit; }
grep -q -x -F "$(field 5): $(bare 6) -> $(bare 7)" $equivalent && said -

mkdir -p $own
trap 'rm -rf $own' EXIT
field 7 > $own/line
awk -v at=$(field 3) -v with=$own/line '
  FNR == at { getline < with; print; next } { print }' edf.h > $own/edf.h
cp -r edf $own
for v in $variants; do
  $CC -I$own $warn $(flags $v) -c tests/impl.c -o $own/impl.o 2> $own/log || said -
  [ $v = double ] && cmp -s $own/impl.o $dir/double/impl.o && said -
  while read -r name; do
    $CC $(flags $v) $dir/$v/$name.o $own/impl.o -o $own/$name -lm || exit 1
    (cd $top && ulimit -v unlimited; timeout 60 $own/$name > $own/log 2>&1 < /dev/null) ||
      said "$v/$name: $(grep -m 1 '^not ok' $own/log | cut -c 8-70)"
  done < $dir/$v/list
done
[ -z "$VARIANTS" ] || said SURVIVED
mkdir $own/tree && git ls-files | tar -cf - -T - | tar -xf - -C $own/tree
cp $own/edf.h $own/tree
mkdir $own/tree/build && ln -s $top/build/venv $own/tree/build
cd $own/tree || exit 1
CC=$CC ORACLE_BUILD=$own/oracle python3 $top/tests/oracle.py --new $own --count 300 > $own/log 2>&1 || said oracle
for each in own/stepping_debug random examples cuda readme compile python; do
  make -s test TESTS=$each > $own/log 2>&1 || said "$each"
done
said SURVIVED
