#!/bin/sh
# The grader: solutions of all problem sets get all points; a wrong submission loses the points
# of its mistake alone, and its message names it; a hostile one ends with the right score, a
# report, and no process or file left behind.
#   sh tests/grade.sh [directory for what is built] [set ...]

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/grade}
[ $# = 0 ] || shift
sets=${*:-ps1 ps2 ps3 ps4 ps5 ps6 hostile}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
bad=0
say() {
  [ "$1" = 0 ] && echo "ok grade-$2" && return
  bad=1
  echo "not ok grade-$2"
  return 1
}
graded() {                                 # graded PS FILE ID ...: its output to $dir/out
  ps=$1 file=$2 id=$3
  shift 3
  make -s -C notes/assignments PS="$ps" FILE="$file" ID="$id" BUILD="$dir/build" \
    ARGS="$*" grade > "$dir/out" 2>&1
}
handout() {                                # handout PS FILE ID: with the numbers of an id
  make -s -C notes/assignments PS="$1" BUILD="$dir/build" ready && \
    "$dir/build/ps$1-grade" --handout "$2" --id "$3"
}

clean() {                                  # clean PS: no warning, on either side
  for side in -DJUDGE -DGRADE_DESK; do
    for source in notes/assignments/[gj]*.c notes/assignments/ps$1/parts.c; do
      ${CC:-cc} -std=gnu99 -Wall -Wextra -Wpedantic -Wshadow -Werror $side -DEDF_LINKED \
        -DEDF_REAL=double -I. -Iexamples -Inotes/assignments -Inotes/assignments/ps$1 \
        -fsyntax-only "$source" || return
    done
  done > "$dir/out" 2>&1
}

solution() {                               # all points; its numbers are not another id's
  handout "$1" "$PWD/tests/assignments/ps$1.c" ann > "$dir/ps$1.c"
  handout "$1" "$PWD/notes/assignments/ps$1/handout.md" ann > "$dir/ps$1.md"
  sh notes/handout.sh "$dir/ps$1.md" > "$dir/out" 2>&1 && ! grep -q '@[A-Za-z]*@' "$dir/ps$1.md"
  say $? "ps$1-handout" || cat "$dir/out"
  graded "$1" "$dir/ps$1.c" ann
  grep -q '^total  *100 of 100 ' "$dir/out"
  say $? "ps$1-solution"
  grep -q '^total  *100 of 100 ' "$dir/out" || sed 's/^/  /' "$dir/out"
  graded "$1" "$dir/ps$1.c" bob
  ! grep -q '^total  *100 of 100 ' "$dir/out"
  say $? "ps$1-another-id"
  clean "$1"
  say $? "ps$1-clean" || sed 's/^/  /' "$dir/out"
  graded "$1" nothing.c ann
  grep -q 'nothing.c cannot be read' "$dir/out" && grep -q '^total  *0 of 100 ' "$dir/out"
  say $? "ps$1-no-file"
  kit "$1"
}

# What students get is complete: the starter compiles alone, runs, and is graded there.
kit() {
  rm -rf "$dir/kit"
  make -s -C notes/assignments kit PS="$1" OUT="$dir/kit"
  (cd "$dir/kit" && ${CC:-cc} -std=c99 -g -Wall -Wextra -Werror "ps$1.c" -lm -o mine &&
    { ./mine; make -s grade ID=ann; }) > "$dir/out" 2>&1
  grep -q '^total .* of 100 ' "$dir/out" && ! grep -q '^total  *[1-9][0-9]' "$dir/out" &&
    grep -q 'not implemented' "$dir/out"
  say $? "ps$1-kit" || sed 's/^/  /' "$dir/out"
}

# The formats as they are described: gradescope-autograders.readthedocs.io/en/latest/specs,
# docs.autolabproject.com/lab (Output of Autograders).
formats() {
  command -v python3 > /dev/null || { echo 'skip grade-formats: no python3'; return; }
  graded 1 "$dir/ps1.c" bob --autolab --gradescope "$dir/results.json" --json "$dir/all.json"
  python3 - "$dir/results.json" "$dir/all.json" "$dir/out" << 'END'
import json, sys
results, ours = (json.load(open(f)) for f in sys.argv[1:3])
known = {"score", "execution_time", "output", "visibility", "tests", "extra_data"}
assert set(results) <= known, set(results) - known
assert isinstance(results["score"], (int, float)) and len(results["tests"]) == 10
for t in results["tests"]:
    assert {"name", "score", "max_score", "status", "output"} == set(t), t
    assert t["status"] in ("passed", "failed") and isinstance(t["output"], str)
    assert 0 <= t["score"] <= t["max_score"]
    assert (t["status"] == "passed") == (t["score"] == t["max_score"])
assert results["score"] == sum(t["score"] for t in results["tests"]) < 100
assert ours["id"] == "bob" and ours["tests"] == results["tests"] and ours["max_score"] == 100
last = json.loads(open(sys.argv[3]).read().splitlines()[-1])
assert last == {"scores": {t["name"]: t["score"] for t in results["tests"]}}, last
END
  say $? formats
}

# Blocks of wrong.txt:   == NAME | parts that lose their points, by comma | words of a message
# and below it a sed script that makes the mistake in the solution.
wrong() {
  rm -rf "$dir/wrong$1"
  mkdir -p "$dir/wrong$1"
  awk -v to="$dir/wrong$1" '/^== / { split(substr($0, 4), f, / *[|] */); name = f[1]
    print f[2] > (to "/" name ".parts"); print f[3] > (to "/" name ".words"); next }
    name { print > (to "/" name ".sed") }' "tests/assignments/ps$1.wrong"
  for script in "$dir/wrong$1"/*.sed; do
    name=${script%.sed}
    sed -f "$script" "$dir/ps$1.c" > "$name.c"
    graded "$1" "$name.c" ann
    lost=$(awk '/^[a-z].* [0-9.]+ of [0-9.]+$/ && $(NF-2) != $NF {
      sub(/ +[0-9.]+ of [0-9.]+$/, ""); printf "%s%s", with, $0; with = ", " }' "$dir/out")
    why=
    cmp -s "$name.c" "$dir/ps$1.c" && why='nothing was changed'
    [ "$lost" = "$(cat "$name.parts")" ] || why="it loses: $lost"
    grep -q -e "$(cat "$name.words")" "$dir/out" ||
      why="$why; it does not say: $(cat "$name.words")"
    [ -z "$why" ]
    say $? "ps$1-wrong-$(basename "$name")"
    [ -z "$why" ] || { echo "  $why"; sed 's/^/  /' "$dir/out"; }
  done
}

# Each as an ordinary user, in a kit that is that user's: the score, a report, nothing left.
hostile() {
  n=$1 score=$2 name=$3 home=$kit/$3
  mkdir -p "$home/tmp"
  { printf '#define HOSTILE %s\n#define HOSTILE_REPORT "%s/results.json"\n' "$n" "$home"
    printf '#define HOSTILE_FOLDER "%s"\n' "$home"
    cat tests/assignments/hostile.h
    sed 's/^  \*L = sqrt/  hostile();\n&/' "$dir/ps1.c"; } > "$home/ps1.c"
  [ -z "$user" ] || chown -R "$user" "$home"
  (cd "$kit" && $run env TMPDIR="$home/tmp" make -s FILE="$home/ps1.c" ID=ann \
    ARGS="--gradescope $home/results.json --autolab" grade) > "$dir/out" 2>&1
  why=
  grep -q "^total  *$score of 100 " "$dir/out" || why='the score'
  grep -q "^  \"score\": $score,$" "$home/results.json" || why="$why, the report"
  tail -n 1 "$dir/out" | grep -q '^{"scores": {"by hand": 1*0,' || why="$why, the last line"
  [ "$(ls "$home" | tr '\n' ' ')" = 'ps1.c results.json tmp ' ] ||
    why="$why, files: $(ls "$home")"
  [ -z "$(ls -A "$home/tmp")" ] || why="$why, left in tmp: $(ls -A "$home/tmp")"
  left=$(ps -eo args | grep '/grade-[A-Za-z0-9]*/student\|sleep 6[0]')
  [ -z "$left" ] || why="$why, processes: $left"
  [ -z "$why" ]
  say $? "hostile-$name"
  [ -z "$why" ] || { echo "  $why"; sed 's/^/  /' "$dir/out"; }
}

# The problem of README.md, as it stands there, with a starter and a solution.
own() {
  rm -rf "$dir/own"
  mkdir -p "$dir/own/ps7"
  cp notes/assignments/*.[ch] notes/assignments/Makefile "$dir/own"
  awk '/^```/ { inside = $0 == "```c"; next } inside' notes/assignments/README.md \
    > "$dir/own/ps7/parts.c"
  printf '#include "edf.h"\nedf_node *cube(edf_node *x);\n' > "$dir/own/ps7/ps7.h"
  printf 'Your K is @K@.\n' > "$dir/own/ps7/handout.md"
  make -s -C "$dir/own" handout PS=7 ID=ann EDF="$PWD" > "$dir/out"
  K=$(sed 's/[^0-9]//g' "$dir/out")
  printf '%s\n' '#include "ps7.h"' 'edf_node *cube(edf_node *x) {' \
    "  return edf_equations(\"y[b,i] = $K %s[b,i]^3\", x->name);" '}' > "$dir/own/ps7/ps7.c"
  make -s -C "$dir/own" grade PS=7 ID=ann EDF="$PWD" > "$dir/out" 2>&1
  grep -q '^total  *100 of 100 ' "$dir/out"
  say $? own-problem || sed 's/^/  /' "$dir/out"
}

run= user=
if [ "$(id -u)" = 0 ] && command -v setpriv > /dev/null; then
  user=65534
  run="setpriv --reuid=$user --regid=$user --clear-groups"
fi
hostiles() {
  rm -f "$dir/ran"
  for at in . notes/assignments; do
    make -C $at grade ID='x$(shell touch '"$dir"'/ran)' PS=1 > "$dir/out" 2>&1
    [ $? != 0 ] && grep -q 'neither a' "$dir/out" && [ ! -e "$dir/ran" ]
    say $? "hostile-id-$(basename $at)" || sed 's/^/  /' "$dir/out"
  done
  kit=$(mktemp -d)
  make -s -C notes/assignments kit PS=1 OUT="$kit"
  [ -s "$dir/ps1.c" ] || handout 1 "$PWD/tests/assignments/ps1.c" ann > "$dir/ps1.c"
  chmod a+rX "$kit"
  [ -z "$user" ] || chown -R "$user" "$kit"
  (cd "$kit" && $run make -s ready)
  hostile 1 90 endless-loop
  hostile 2 90 fork
  hostile 3 90 memory
  hostile 4 90 flood
  hostile 5 90 exit-0
  hostile 6 100 report
  hostile 7 100 daemon
  hostile 8 100 kill-parent
  hostile 9 100 kill-all
  hostile 10 100 proc-mem
  hostile 11 100 deletes
  hostile 12 100 prints-a-score
  hostile 13 90 writes-everywhere
  hostile 14 100 macro
  hostile 15 90 atexit
  hostile 16 90 longjmp
  hostile 17 90 sleeps
  hostile 18 90 closes
  hostile 19 100 limits
  hostile 20 90 endless-answer
  hostile 21 100 makes-files
  hostile 22 90 exec
  if [ "$user" ]; then
    run=
    hostile 10 100 proc-mem-by-root
  fi
  rm -rf "$kit"
}

for set in $sets; do
  case $set in
    ps1) solution 1; wrong 1; formats; own ;;
    ps*) solution "${set#ps}"; wrong "${set#ps}" ;;
    hostile) hostiles ;;
  esac
done
exit $bad
