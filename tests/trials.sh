#!/bin/sh
# Every point that trials by users, readers and attackers found stands in a table of
# tests/README.md with the tests that cover it; and these tests exist and run.
#   sh tests/trials.sh DIRECTORY [README]       for what is built: tables with planted mistakes
# A row is `| 1.8 | what | csv.c: headings, pipes; files.c: whole |`: of a program functions
# that it RUNs; of a script words that stand in it. What is left says why: `left: reason`.

cd "$(dirname "$0")/.." || exit 1
dir=$1 table=${2:-tests/README.md}
bad=0
no() { bad=1; echo "not ok trials: $*"; }

# rows: NUMBER FILE TEST, a line for each test named
rows() {
  awk -F '|' '$2 ~ /^ [1-6]\.[0-9]+ $/ {
      number = $2
      n = split($4, file, ";")
      for (i = 1; i <= n; i++) {
        name = tests = file[i]
        sub(/:.*/, "", name)
        sub(/^[^:]*:/, "", tests)
        m = split(tests, test, ",")
        for (k = 1; k <= m; k++) print number, name, test[k]
      }
    }' "$table"
}

points='17 7 4 6 4 6'                            # of section 1 to 6
section=0
for most in $points; do
  section=$((section + 1)) number=0
  while [ $number -lt $most ]; do
    number=$((number + 1))
    rows | grep -q "^ *$section\.$number  *[a-z]" || no "$section.$number has no test"
  done
done

rows | { while read -r number file test; do
  case $file in
    *.c) grep -q "RUN($test)" "tests/$file" 2>/dev/null ||
           no "$number: tests/$file: no RUN($test)" ;;
    *.sh) grep -q -e "$test" "tests/$file" 2>/dev/null || no "$number: tests/$file: no $test" ;;
    left) echo "ok trials-left: $number, see the table"; continue ;;
    *) no "$number: $file is neither a program nor a script" ;;
  esac
  name=$(basename "$file")
  case $file in
    */*|*.c) ;;
    *) grep -q "$name\|${name%.sh}" tests/run.sh || no "$number: run.sh does not run $file" ;;
  esac
done
[ $bad = 0 ]; } || bad=1

[ $bad = 0 ] && echo "ok trials: $(rows | wc -l) tests"
[ "$2" ] && exit $bad

# It sees a row that is gone, and a test that is not there.
mkdir -p "$dir"
for plant in '/^| 2[.]3 /d' '/^| 1[.]1 /s/every_use/every_us/' \
             '/^| 5[.]2 /s/[a-z]*[.]sh/none.sh/'; do
  sed "$plant" $table > "$dir/planted.md"
  if cmp -s $table "$dir/planted.md" || sh tests/trials.sh "$dir" "$dir/planted.md" > /dev/null
  then no "$plant is not seen"
  else echo "ok trials-planted: $plant"; fi
done
exit $bad
