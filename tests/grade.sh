#!/bin/sh
# The grader: solutions of all problem sets get 100 points. A wrong submission loses the points
# of its mistake alone, and the report names it. A hostile one ends with the right score, a
# report, and no process or file left behind. If a limit of the sandbox cannot be set, the
# grader refuses. On a system without a sandbox the solutions are graded with --no-sandbox.
#   sh tests/grade.sh [DIRECTORY [SET ...]]   for what is built; ps0 ... ps7, hostiles, sandbox

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/grade}
[ $# = 0 ] || shift
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
top=$PWD assignments=$PWD/notes/assignments
answers=$PWD/notes/answers mistakes=$PWD/tests/assignments
native=$PWD/build/tests/native.o               # compiled once, for the handouts
[ -f $native ] && export HANDOUT_FLOAT=$native
export HANDOUT_DIR="$dir/handout"
bad=0

has() { grep -q -e "$1" "$dir/out"; }
verdict() {                                    # verdict STATUS NAME
  [ "$1" = 0 ] && echo "ok grade-$2" && return
  bad=1
  echo "not ok grade-$2: $why"
  tail -n 30 "$dir/out" | sed 's/^/  /'
}
graded() {                                     # graded SET FILE ID [ARGS]: the report
  make -s -C notes/assignments PS="${1#ps}" FILE="$2" ID="$3" BUILD="$dir/build" \
    ARGS="$no_sandbox $4" grade > "$dir/out" 2>&1
}
handout() {                                    # handout SET FILE: with the numbers of ann
  make -s -C notes/assignments PS="${1#ps}" BUILD="$dir/build" ready &&
    "$dir/build/$1-grade" --handout "$2" --id ann
}

curves() {                                     # Problem set 7 hands in what its program writes.
  [ $1 = ps7 ] || return
  (cd "$dir" && ${CC:-cc} -O2 -I"$assignments" -I"$assignments/ps7" -I"$top" -I"$top/examples" \
    ps7.c -lm -o ps7 && ./ps7)
}

solution() {
  why='it has not all points'
  handout $1 "$answers/$1.c" > "$dir/$1.c"
  curves $1
  graded $1 "$dir/$1.c" ann
  has '^total  *100 of 100 '
  verdict $? $1-solution
  case $1 in ps1)
    why='a question has other parts'
    graded $1 "$dir/$1.c" ann '--part 4'
    [ "$(grep -c '^softmax' "$dir/out")" = 3 ] && has '^total  *25 of 25 '
    verdict $? $1-question ;;
  esac
  why='it has not all points'
  case $1 in ps[0127])                          # the numbers of ann are not those of bob
    graded $1 "$dir/$1.c" bob
    ! has '^total  *100 of 100 ' && has '^total '
    verdict $? $1-another-id ;;
  esac
  case $1 in ps7)
    why='it reads where a link leads'
    mkdir -p "$dir/linked" && cp "$dir/ps7.c" "$dir/linked" &&
      ln -sf "$dir/images.csv" "$dir/linked/images.csv"
    graded $1 "$dir/linked/ps7.c" ann '--part images'
    has '^images  *35 of 50' && has 'images.csv is not handed in'
    verdict $? $1-link ;;
  esac
  why='the handout does not run'
  handout $1 "$PWD/notes/assignments/$1/handout.md" > "$dir/$1.md"
  sh notes/handout.sh "$dir/$1.md" > "$dir/out" 2>&1 && ! grep -q '@[A-Za-z]*@' "$dir/$1.md"
  verdict $? $1-handout
}

wrong() {                                      # all of wrong.txt that belong to a set
  rm -rf "$dir/wrong"
  mkdir "$dir/wrong"
  awk -v set=$1 -v to="$dir/wrong/" '
    /^==/ {
      split(substr($0, 4), f, / *[|] */)
      split(f[1], name, " ")
      on = name[1] == set
      if (on) { file = to name[2]; print f[2] > (file ".parts"); print f[3] > (file ".words") }
      next
    }
    on { print > (file ".sed") }' "$mistakes/wrong.txt"
  [ $1 != ps7 ] || cp "$dir"/*.csv "$dir/wrong"
  for script in "$dir/wrong"/*.sed; do
    name=${script%.sed} why=
    sed -f "$script" "$dir/$1.c" > "$name.c"
    cmp -s "$name.c" "$dir/$1.c" && why='nothing was changed'
    graded $1 "$name.c" ann
    lost=$(awk '/^[a-z].* [0-9.]+ of [0-9.]+$/ && $(NF-2) != $NF {
      sub(/ +[0-9.]+ of [0-9.]+$/, ""); printf "%s%s", comma, $0; comma = ", " }' "$dir/out")
    [ "$lost" = "$(cat "$name.parts")" ] || why="$why, it loses: $lost"
    has "$(cat "$name.words")" || why="$why, it does not say: $(cat "$name.words")"
    [ -z "$why" ]
    verdict $? "$1-wrong-$(basename "$name")"
  done
}

# What students get is complete: the starter compiles alone, runs, and is graded there.
kit() {
  why='the starter does not run in its kit'
  rm -rf "$dir/kit"
  make -s -C notes/assignments kit PS=1 OUT="$dir/kit"
  mkdir -p "$dir/kit/build/grade"
  cp "$dir/build/edf.o" "$dir/kit/build/grade"         # it takes long
  (cd "$dir/kit" && test -s AGENTS.md &&
   ${CC:-cc} -std=c99 -g -Wall -Wextra -Werror ps1.c -lm -o mine &&
    { ./mine; make -s grade ID=ann ARGS=$no_sandbox; }) > "$dir/out" 2>&1
  has 'not implemented' && has '^total  *[0-9] of 100 '
  verdict $? kit
}

# A table of the mistakes of three students
class() {
  why='the table'
  rm -rf "$dir/class" "$dir/class.reports"
  for id in ann bob 'eve'; do mkdir -p "$dir/class/$id"; done
  cp "$dir/ps1.c" "$dir/class/ann"
  "$dir/build/ps1-grade" --handout "$answers/ps1.c" --id bob |
    sed 's/    edf_addgrad(y->in\[0\], i, x.*/    edf_addgrad(y->in[0], i, y->grad[i]);/' > "$dir/class/bob/ps1.c"
  cp notes/assignments/ps1/ps1.c "$dir/class/eve"
  make -s -C notes/assignments class PS=1 DIR="$dir/class" BUILD="$dir/build" ARGS="$no_sandbox" \
    > "$dir/out" 2>&1
  has '^3 submissions, 63.3 points' && has '^relu: backward  *1  *2  *3.3 of 10' &&
    has '    1 x a mask or a case is missing' && has '    1 x not implemented' &&
    has '^softmax: forward  *2  *1 ' && cp "$dir/out" "$dir/class.table" &&
    grep -q 'see page 8 of the notes: On which side' "$dir/class.reports/bob.txt"
  verdict $? class
  why='--class prints another table'
  (cd "$dir" && make -s -C "$assignments" grade PS=1 FROM="$dir" BUILD="$dir/build" \
    ARGS="--class class $no_sandbox") > "$dir/out" 2>&1
  cmp -s "$dir/out" "$dir/class.table"
  verdict $? class-by-grade
}

# The names of mistakes: each program of the page says what stands there, and the table is the
# grader's. A report asks the question.
misconceptions() {
  why='a program says something else'
  sh notes/handout.sh $assignments/misconceptions.md > "$dir/out" 2>&1
  verdict $? misconceptions
  why='the table is not that of mistakes.h'
  printf '%s\n' '#include <stdio.h>' '#include "mistakes.h"' 'int main(void) {' \
    'for (const grade_mistake *m = grade_mistakes; m->says; m++)' \
    'printf("| `%s` | %s | %s\n", m->says, m->question, m->page); }' > "$dir/table.c"
  ${CC:-cc} -I$assignments "$dir/table.c" -o "$dir/table" && "$dir/table" > "$dir/mistakes"
  sed -n '/^| `/s/\[\([^]]*\)\].*/\1/p' $assignments/misconceptions.md | tr -d '"' |
    diff - "$dir/mistakes" > "$dir/out" 2>&1 && [ -s "$dir/mistakes" ]
  verdict $? misconceptions-table
  why='a page is not there'
  cat /dev/null > "$dir/out"
  for page in $(sed -n 's/.*](\(.*[.]md\)).*/\1/p' $assignments/misconceptions.md | sort -u); do
    [ -f "$assignments/$page" ] || echo $page >> "$dir/out"
  done
  [ ! -s "$dir/out" ]
  verdict $? misconceptions-pages
}

# The zip, in an empty folder, as the service runs it.
gradescope() {
  home=$dir/autograder why='no zip'
  command -v python3 > /dev/null || { echo 'skip grade-gradescope: no python3'; return; }
  rm -rf "$home"
  mkdir -p "$home/source" "$home/submission"
  make -s -C notes/assignments gradescope PS=1 OUT="$home/ps1.zip" > "$dir/out" 2>&1 &&
    python3 -m zipfile -e "$home/ps1.zip" "$home/source"
  mkdir -p "$home/source/build/grade"
  cp "$dir/build/edf.o" "$home/source/build/grade"     # it takes long
  printf '%s' '{"id": 7, "assignment": {"title": "PS1"}, "submission_method": "upload", ' \
    '"users": [{"email": "ann@example.edu", "id": 1, "name": "Ann"}, ' \
    '{"email": "bob@example.edu", "id": 2}], "previous_submissions": []}' \
    > "$home/submission_metadata.json"
  cp "$dir/ps1.c" "$home/submission"
  why='its results'
  [ -z "$no_sandbox" ] || sed -i.was "s/args=$/args=$no_sandbox/" "$home/source/run_autograder"
  (cd / && AUTOGRADER=$home sh "$home/source/setup.sh" &&
    AUTOGRADER=$home sh "$home/source/run_autograder") > "$dir/out" 2>&1
  python3 - "$home/results/results.json" >> "$dir/out" 2>&1 <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["score"] == 100 and len(r["tests"]) == 10, r
assert all(t["score"] == t["max_score"] > 0 and t["name"] for t in r["tests"]), r
END
  verdict $? gradescope
  why='another student has the same numbers'
  sed 's/ann@/bob@/' "$home/submission_metadata.json" > "$home/other" &&
    mv "$home/other" "$home/submission_metadata.json"
  AUTOGRADER=$home sh "$home/source/run_autograder" > "$dir/out" 2>&1
  has 'id bob' && ! has '^total  *100 of 100 '
  verdict $? gradescope-another-student
}

# The problem of notes/assignments/README.md, as it stands there, with a solution.
own() {
  why='the problem of README.md has not all points'
  rm -rf "$dir/own"
  mkdir -p "$dir/own/ps9"
  cp notes/assignments/*.[ch] notes/assignments/Makefile "$dir/own"
  awk '/^```/ { inside = $0 == "```c"; next } inside' notes/assignments/README.md \
    > "$dir/own/ps9/parts.c"
  printf '#include "edf/slide.h"\nedf_node *cube(edf_node *x);\n' > "$dir/own/ps9/ps9.h"
  printf '%s\n' '#include "ps9.h"' 'edf_node *cube(edf_node *x) {' \
    '  return edf_equations("y[b,i] = @K@ %s[b,i]^3", x->name);' '}' > "$dir/own/ps9/handout.md"
  at="-C $dir/own PS=9 ID=ann EDF=$PWD BUILD=$dir/build"
  make -s $at handout > "$dir/own/ps9/ps9.c" &&
    make -s $at grade ARGS=$no_sandbox > "$dir/out" 2>&1
  has '^total  *100 of 100 '
  verdict $? own-problem
}

# ---- Each as an ordinary user, in a kit of that user

kit_of_user() {                                # sets kit, and run and user if root runs this
  run= user= kit=$(mktemp -d)
  [ "$(id -u)" = 0 ] && command -v setpriv > /dev/null && user=65534 &&
    run="setpriv --reuid=$user --regid=$user --clear-groups"
  handout ps1 "$answers/ps1.c" > "$dir/ps1.c"
  make -s -C notes/assignments kit PS=1 OUT="$kit"
  mkdir -p "$kit/build/grade"
  cp "$dir/build/edf.o" "$kit/build/grade"
  chmod a+rX "$kit"
  [ -z "$user" ] || chown -R $user "$kit"
  (cd "$kit" && $run make -s ready)
}

submit() {                                     # submit NUMBER NAME: a hostile file
  home=$kit/$2
  mkdir -p "$home/tmp"
  { printf '#define HOSTILE %s\n#define HOSTILE_FOLDER "%s"\n' $1 "$home"
    cat "$mistakes/hostile.h"
    sed 's/^  \*L = /  hostile();\n&/' "$dir/ps1.c"; } > "$home/ps1.c"
  [ -z "$user" ] || chown -R $user "$home"
}

grade_in_kit() {                               # grade_in_kit ARGS COMMAND ...: COMMAND make
  rm -rf "$home/results.json" "$home/outside" "$home/tmp"/grade-*
  args=$1
  shift
  (cd "$kit" && "$@" env TMPDIR="$home/tmp" make -s FILE="$home/ps1.c" ID=ann \
    ARGS="--gradescope $home/results.json --autolab $args" grade) > "$dir/out" 2>&1 < /dev/null
}

left_files() {
  ls -A "$home" "$home/tmp" | grep -v -x -e "$home.*" -e ps1.c -e results.json -e tmp -e secret
}

hostile() {                                    # hostile NUMBER SCORE NAME [COMMAND ...]
  number=$1 score=$2 name=$3 why=
  shift 3
  submit $number $name
  grade_in_kit '' $run "$@"
  [ "$(grep -c '^total ' "$dir/out")" = 1 ] && has "^total  *$score of 100 " || why='the score'
  grep -q "^  \"score\": $score,$" "$home/results.json" || why="$why, the report"
  tail -n 1 "$dir/out" | grep -q '^{"scores": {"by hand": 1*0,' || why="$why, the last line"
  left=$(left_files)
  [ -z "$left" ] && [ -f "$home/ps1.c" ] || why="$why, files: $left"
  left=$(ps -eo args | grep "$home/tmp/grade-[A-Za-z0-9]*/student")
  [ -z "$left" ] || why="$why, processes: $left"
  [ -z "$why" ]
  verdict $? hostile-$name
}

compiler_home() {                              # a folder with a secret
  home=$kit/compiler-$1 why=
  mkdir -p "$home/tmp"
  echo 'only-the-user-reads-this is a secret' > "$home/secret"
}
# The compiler of a submission reads a file, hangs, or uses all memory.
compilers() {
  rows=$dir/compiler.txt
  grep -v '^#' "$mistakes/compiler.txt" > "$rows"
  while read -r line; do
    name=${line%% |*}
    compiler_home "$name"
    { printf '%s\n' "${line#*| }" | sed "s|@HOME@|$home|g; s|@ROOT@|$PWD|g; s/\\\\n/\\
/g"
      cat "$dir/ps1.c"; } > "$home/ps1.c"
    [ -z "$user" ] || chown -R $user "$home"
    refuses_to_compile "$name"
  done < "$rows"
  compiler_home symbolic-link
  ln -s secret "$home/ps1.c"
  [ -z "$user" ] || chown -hR $user "$home"
  refuses_to_compile symbolic-link
}
refuses_to_compile() {
  begin=$(date +%s)
  grade_in_kit '' $run
  [ $(($(date +%s) - begin)) -le 60 ] || why="$why, it takes more than 60 s"
  has '^total  *0 of 100 ' || why="$why, the score"
  cat "$home/results.json" >> "$dir/out"
  ! has 'only-the-user' && ! has 'root:x' && ! has 'void by_hand(double x, double y, double .L.*{' ||
    why="$why, it reads a file"
  left=$(left_files)
  [ -z "$left" ] || why="$why, files: $left"
  left=$(ps -eo args | grep "$home/tmp/grade-[A-Za-z0-9]*")
  case $left in *grep*|'') ;; *) why="$why, processes: $left" ;; esac
  [ -z "$why" ]
  verdict $? "compiler-$1"
}

hostiles() {
  why='a command in the name runs'
  make -C notes/assignments grade ID='x$(shell touch '"$dir"'/ran)' PS=1 > "$dir/out" 2>&1
  [ $? != 0 ] && has 'must not contain' && [ ! -e "$dir/ran" ]
  verdict $? hostile-id
  [ -z "$no_sandbox" ] || { echo 'skip grade-hostiles: no sandbox'; return; }
  kit_of_user
  hostile 1 90 endless-loop
  hostile 2 90 fork
  hostile 3 90 memory
  hostile 4 90 exit-0
  hostile 5 100 forges-the-report
  hostile 6 100 kills-all
  hostile 7 100 deletes
  hostile 8 90 writes-everywhere
  hostile 9 100 writes-outside
  hostile 10 100 limits-the-grader
  hostile 12 90 prints-a-report
  hostile 13 100 kills-the-grader
  compilers
  hostile 12 90 few-descriptors sh -c 'ulimit -n 64; exec "$@"' sh
  library && hostile 11 90 many-descriptors env LD_PRELOAD="$kit/broken.so" BROKEN='open 300 0'
  rm -rf "$kit"
}

# ---- A limit is missing, and the grader refuses. The library broken.c makes calls fail.

library() {
  ${CC:-cc} -shared -fPIC "$mistakes/broken.c" -o "$kit/broken.so" -ldl 2> /dev/null &&
    [ -z "$(LD_PRELOAD="$kit/broken.so" sh -c : 2>&1)" ] && return
  echo 'skip grade-sandbox: LD_PRELOAD of tests/assignments/broken.c'
  return 1
}

refused() {                                    # refused NAME LIMIT COMMAND ...
  name=$1 limit=$2 why=
  shift 2
  grade_in_kit '' "$@" && why='its exit status is 0'
  has '^grade: refused' || why="$why, it does not refuse"
  has "^  limit:  *$limit$" || why="$why, it does not say: limit: $limit"
  ! has '^total ' || why="$why, it prints a score"
  ! has 'SIGNALS ALL' || why="$why, it signals all processes"
  [ ! -e "$home/results.json" ] || why="$why, it writes a report"
  left=$(left_files)
  [ -z "$left" ] || why="$why, files: $left"
  [ -z "$why" ]
  verdict $? sandbox-$name
}

broken() {                                     # broken WHO COMMAND ...: rows of broken.txt
  who=$1
  shift
  grep -v '^#' "$mistakes/broken.txt" | while IFS='|' read -r call limit only; do
    call=${call% } limit=${limit# } limit=${limit% } only=${only# }
    case $who$only in userroot) continue ;; esac
    refused "$who-$(echo $call | tr ' ' -)" "$limit" "$@" env LD_PRELOAD="$kit/broken.so" \
      BROKEN="$call"
    [ $bad = 0 ]
  done || bad=1
}

# The second part cannot start. The report keeps the first, and says that others are missing.
broken_later() {
  why='the report'
  grade_in_kit '' $run env LD_PRELOAD="$kit/broken.so" BROKEN='fork 5 11'
  [ $? != 0 ] && has '^grade: refused' && ! has 'SIGNALS ALL' && ! has '^total ' &&
    grep -q '^  "score": 10,$' "$home/results.json" &&
    grep -q 'not graded: the grader refused.*start' "$home/results.json"
  verdict $? sandbox-second-part
}

# The compiler does not end. It is stopped, and the report says so.
stuck_compiler() {
  why='it is not stopped, or the report does not say so'
  mkdir -p "$kit/bin"
  printf '#!/bin/sh\nsleep 77\n' > "$kit/bin/slow"
  chmod a+rx "$kit/bin" "$kit/bin/slow"
  (cd "$kit" && $run env TMPDIR="$home/tmp" GRADE_COMPILER_SECONDS=2 make -s FILE="$home/ps1.c" \
    CC="$kit/bin/slow" ID=ann grade) > "$dir/out" 2>&1 < /dev/null
  has 'the compiler was stopped: it has 2 seconds' && has '^total  *0 of 100 ' &&
    ! ps -eo args | grep -v grep | grep -q 'sleep 77'
  verdict $? stuck-compiler
}
# A signal ends the grader, and what it has started and written.
interrupted() {
  why='something is left'
  mkdir -p "$kit/bin"
  printf '#!/bin/sh\nsleep 78\n' > "$kit/bin/slow"
  chmod a+rx "$kit/bin" "$kit/bin/slow"
  for signal in INT TERM HUP; do
    (cd "$kit" && $run env TMPDIR="$home/tmp" make -s FILE="$home/ps1.c" CC="$kit/bin/slow" \
      ID=ann grade) > "$dir/out" 2>&1 < /dev/null &
    sleep 1
    pkill -$signal -f "^[^ ]*ps1-grade --id ann"
    wait
    left=$(left_files)
    [ -z "$left" ] && has 'stopped by a signal' &&
      ! ps -eo args | grep -v grep | grep -q 'sleep 78'
    verdict $? "sandbox-signal-$signal"
  done
}

no_random() {
  why='it grades with numbers that a program could guess'
  grade_in_kit '' $run env LD_PRELOAD="$kit/broken.so" BROKEN='fopen 0 2'
  [ $? != 0 ] && has '^grade: refused: no random numbers' && ! has '^total '
  verdict $? sandbox-random-numbers
}

asked() {                                      # asked NAME COMMAND ...: with --no-sandbox
  name=$1 why='it is not graded, or the report does not say how'
  shift
  grade_in_kit --no-sandbox "$@"
  has '^total  *100 of 100 ' && [ "$(grep -c '^graded with --no-sandbox' "$dir/out")" = 2 ] &&
    grep -q '^  "output": "graded with --no-sandbox' "$home/results.json" &&
    tail -n 1 "$dir/out" | grep -q '^{"scores": {"by hand": 10,'
  verdict $? sandbox-asked-$name
}

# As root: the program is nobody's, and root that cannot become nobody does not grade.
root() {
  [ "$(id -u)" = 0 ] || { echo 'skip grade-sandbox-root: not root'; return; }
  why='the program reads files of root'
  chown -R 0 "$home"
  submit 14 reads-a-secret
  echo 'only root reads this' > "$home/secret"
  chmod 600 "$home/secret"
  grade_in_kit ''
  has '^total  *90 of 100 ' && ! has 'only root reads'
  verdict $? hostile-reads-a-secret
  home=$kit/writes-outside
  setpriv --bounding-set=-setuid --inh-caps=-setuid true 2> /dev/null ||
    { echo 'skip grade-sandbox-root: setpriv'; return; }
  refused root-no-setuid user setpriv --bounding-set=-setuid --inh-caps=-setuid
  [ -f "$kit/broken.so" ] && broken root setpriv --groups=4
}

# Root of a user namespace is the user itself outside, and cannot become nobody.
namespace() {                                  # namespace NAME COMMAND ...
  name=$1
  shift
  "$@" unshare -r true 2> /dev/null || { echo "skip grade-sandbox-$name: unshare -r"; return; }
  refused $name 'supplementary groups' "$@" unshare -r
  asked $name "$@" unshare -r
}

sandbox() {
  [ -z "$no_sandbox" ] || { echo 'skip grade-sandbox: no sandbox'; return; }
  kit_of_user
  submit 9 writes-outside
  namespace namespace $run
  asked user $run
  $run mkdir "$kit/other"
  $run cp "$kit/build/grade/edf.o" "$kit/other"
  other="env MAKEFLAGS=e BUILD=$kit/other CC=$kit/cc"
  printf '#!/bin/sh\nexec %s -U__linux__ "$@"\n' "${CC:-cc}" > "$kit/cc"
  chmod a+rx "$kit/cc"
  refused other-system system $run $other
  asked other-system $run $other
  refused few-files 'open files' $run sh -c 'ulimit -n 20; exec "$@"' sh
  refused little-memory memory $run sh -c 'ulimit -v 1000000; exec "$@"' sh
  refused little-time "compiler's time" $run sh -c 'ulimit -t 2; exec "$@"' sh
  stuck_compiler
  interrupted
  library && broken user $run && broken_later && no_random
  root
  rm -rf "$kit"
}

# Does this system have a sandbox?
no_sandbox=
handout ps1 "$answers/ps1.c" > "$dir/ps1.c"
graded ps1 "$dir/ps1.c" ann '--part slope'
has '^grade: refused' && no_sandbox=--no-sandbox

for set in ${*:-ps0 ps1 ps2 ps3 ps4 ps5 ps6 ps7 kit class misconceptions gradescope own hostiles sandbox}; do
  case $set in
    ps*) solution $set; wrong $set ;;
    *) $set ;;
  esac
done
exit $bad
