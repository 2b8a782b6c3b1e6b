#!/bin/sh
# Says how a job ended, and how all did; run.sh calls it.
#   sh tests/report.sh NAME             a line, and what failed
#   sh tests/report.sh --sum NAME ...   what was skipped, the CPU seconds, and the last line

out=build/tests
count() {                                  # count NAME: status, seconds, p, f, s
  status=127 seconds=0 p=0 f=0 s=0
  [ -f $out/$1.status ] || { f=1; return; }
  read -r status seconds < $out/$1.status
  : "${status:=127}" "${seconds:=0}"       # the file is empty: a full disk, a killed shell
  p=$(grep -c '^ok ' $out/$1.log) f=$(grep -c '^not ok ' $out/$1.log)
  s=$(grep -c '^skip ' $out/$1.log)
  { [ $status != 0 ] && [ $f = 0 ]; } || [ $((p + f + s)) = 0 ] && f=1
}

if [ "$1" != --sum ]; then
  count "$1"
  line=$(printf '%-28s %4d ok %3d failed %3d skipped %4d s' "$1" $p $f $s $seconds)
  [ $f = 0 ] && { echo "$line"; exit; }
  failures='/^not ok / { n = 6 } n-- > 0 && /^(not ok|  )/ { print "  " $0 }'
  [ $status = 124 ] && status='124: it took too long'
  said=$(
    echo "$line   FAILED, exit status $status"
    awk "$failures" $out/$1.log | head -n 60
    echo "  the end of $out/$1.log:"
    tail -n 15 $out/$1.log | sed 's/^/    /'
    echo "  once more: sh $out/$1.sh"
  )
  printf '%s\n' "$said"                   # at once: two jobs that end together do not mix
  exit
fi

shift
passed=0 failed=0 skipped=0
for name in "$@"; do
  count "$name"
  [ -f $out/$name.status ] || echo "not ok $name: it did not run: see $out/jobs.log"
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
if [ $skipped -gt 0 ]; then
  echo 'SKIPPED, not tested here:'
  for name in "$@"; do sed -n "s/^skip /  $name: /p" $out/$name.log 2>/dev/null; done
fi
ran=$(for name in "$@" impl-*; do ls $out/$name.status 2>/dev/null; done)
awk '
  function seconds(t) { split(t, part, /[ms]/); return 60 * part[1] + part[2] }
  FNR == 3 { sum += seconds($1) + seconds($2) }
  END { printf "CPU seconds: %d\n", sum + 0.5 }' /dev/null $ran
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] && [ $passed -gt 0 ]
