#!/bin/sh
# Runs one job of the test suite and reports it. suite.mk calls this script.
#   sh tests/job.sh NAME COMMAND ...    runs the command and prints one line. If the job fails,
#                                       it also prints what failed and the command.
#   sh tests/job.sh --sum NAME ...      prints the skipped tests, the CPU seconds and the sum
# A job prints lines `ok NAME`, `not ok NAME: why` and `skip NAME: why`. Its output is
# build/tests/NAME.log. The file build/tests/NAME.ok exists if the job passed.

out=build/tests
count() {                                  # sets p, f and s: tests passed, failed, skipped
  status=127 p=0 f=1 s=0
  [ -f $out/$1.status ] || return
  read -r status seconds < $out/$1.status
  p=$(grep -c '^ok ' $out/$1.log) f=$(grep -c '^not ok ' $out/$1.log)
  s=$(grep -c '^skip ' $out/$1.log)
  { [ "$status" != 0 ] && [ $f = 0 ]; } || [ $((p + f + s)) = 0 ] && f=1
}

if [ "$1" = --sum ]; then
  shift
  passed=0 failed=0 skipped=0
  for name in "$@"; do
    count $name
    [ -f $out/$name.status ] || echo "not ok $name: it did not run"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  done
  if [ $skipped -gt 0 ]; then
    echo 'SKIPPED:'
    for name in "$@"; do sed -n "s|^skip |  $name: |p" $out/$name.log 2>/dev/null; done
  fi
  awk '
    function seconds(t) { split(t, part, /[ms]/); return 60 * part[1] + part[2] }
    { cpu += seconds($1) + seconds($2); jobs++ }
    END { printf "CPU seconds: %d for the %d jobs that were not up to date\n", cpu + 0.5, jobs }
    ' $out/times
  echo "$passed passed, $failed failed, $skipped skipped"
  [ $failed = 0 ] && [ $((passed + skipped)) -gt 0 ]
  exit
fi

name=$1
shift
mkdir -p "$(dirname $out/$name)"
rm -f $out/$name.ok
limit=; command -v timeout > /dev/null && limit="timeout -k 5 ${LIMIT:-600}"
start=$(date +%s)
$limit "$@" > $out/$name.log 2>&1 < /dev/null
status=$?
echo $status $(($(date +%s) - start)) > $out/$name.status
LC_ALL=C; export LC_ALL
times > $out/$name.times             # the second line is that of the children
tail -n 1 $out/$name.times >> $out/times
count $name
line=$(printf '%-24s %4d ok %3d failed %3d skipped %4d s' $name $p $f $s $seconds)
if [ $f = 0 ]; then
  echo "$line"
  touch $out/$name.ok
else
  [ $status = 124 ] && status='124 (it took too long)'
  said=$(                                  # printed at once, so that two jobs do not mix
    echo "$line   FAILED, exit status $status"
    awk '/^not ok / { n = 8 } n-- > 0 { print "  " $0 }' $out/$name.log | head -n 60
    echo "  The end of $out/$name.log:"
    tail -n 10 $out/$name.log | sed 's/^/    /'
    echo "  Run it again: $*"
  )
  printf '%s\n' "$said"
fi
exit 0                                     # the verdict is that of --sum
