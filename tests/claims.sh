#!/bin/sh
# Each time, size and count of the texts below stands in notes/results.md, too, which says what
# measured it. A number in an example or in what a program prints is not one of them. Before the
# comparison this script tries itself on numbers that are not there.
#   sh tests/claims.sh [directory for what is written]

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/claims} bad=0
mkdir -p "$dir"

# claims FILE: the numbers before a unit, one a line
claims() {
  case $1 in
    *.md) sed -e '/^```/,/^```/d' -e '/^    [^m]/d' "$1" ;;
    Makefile) grep '@echo' $1 ;;
    *) cat "$1" ;;
  esac |
    grep -oE '[0-9][0-9.]* ?(CPU )?(seconds?|minutes?|min|s|ms|%|times|tests|passed|x)([^A-Za-z0-9=]|$)' |
    sed -e 's/[^A-Za-z0-9%]*$//' | sort -u
}
# stands CLAIM: it is in notes/results.md, and not as the end of a longer number
stands() {
  grep -qE "(^|[^0-9.])$(printf '%s' "$1" | sed 's/[.]/[.]/g')([^A-Za-z]|\$)" notes/results.md
}
for claim in '7 s' '9x' '3 times' '5 seconds' '60 CPU seconds' '6 passed' '5 ms' '12 min'; do
  echo "It has $claim." > "$dir/planted.md"
  [ "$(claims "$dir/planted.md")" = "$claim" ] && ! stands "$claim" ||
    { bad=1; echo "not ok claims: '$claim' is not found as a number that stands nowhere"; }
done
for file in README.md CONTRIBUTING.md tests/README.md .ci/run Makefile; do
  claims $file > "$dir/numbers"
  while read -r claim; do
    stands "$claim" ||
      { bad=1; echo "not ok $file: '$claim' is not in notes/results.md"; }
  done < "$dir/numbers"
  [ $bad = 1 ] || echo "ok $file"
done

# CI takes its limit from there.
limit=$(sed -n 's/^most=/printf %s /p' .ci/run)
[ "$(eval "$limit")" -gt 0 ] 2> /dev/null
case $? in 0) echo 'ok .ci/run: limit' ;; *) bad=1; echo 'not ok .ci/run: no limit' ;; esac
exit $bad
