#!/bin/sh
# The handout compiler: runs every block of Markdown pages, and compares what it prints with the
# block behind it. For the notes, the README, and an instructor's own pages.
#   sh notes/handout.sh [--write] FILE.md ...      or   make handout FILE=FILE.md
# --write: pictures are replaced by what was drawn.
#
#   ```c [NAME.c]            a program; blocks without a main belong to the next one that has one
#   ```c of FILE             not run: these lines stand in FILE so, but for blanks before them
#   ```edf [y=10 ...]        lines for edf_equations: its gradients are checked; `input` and
#                            `parameter` lines declare, y=10 feeds class numbers below 10
#   ```gdb [FILE.c]          what stands behind (gdb) is typed, the rest has to be answered; the
#                            program is FILE.c, else the last one above
#   ```ebnf                  a grammar: each rule that it uses is in it, and each is used
#   ```json                  is read by Python
#   ```python                a program, skipped if what it imports is not there
#   ```sh                    a command, in a folder with the programs and the headers, in $TOP
#                            the project; of a `make` it is seen whether there is that target
#   ``` or four blanks       the output of the block before; "..." stands for what is left out
#   ![...](FILE.svg)         a picture that a program above has drawn: the same, but for rounding;
#                            pictures/FILE is from make pictures, and only has to be there
#   `edf_sgd` (edf.h)        a name is defined in this file; the book adds the line number
# A block in a comment, <!-- c ... -->, runs and is not shown. What nothing has made is an error.

top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
out=${HANDOUT_DIR:-$top/build/handout}
cc="${CC:-cc} -std=c99 -g -O1 -DEDF_LINKED -I. -I$top -I$top/examples"
passed=0 failed=0 skipped=0

pass() { passed=$((passed + 1)); echo "ok $file:$line $kind"; }
fail() {                                 # fail WHAT [FILE]
  failed=$((failed + 1))
  echo "not ok $file:$line $kind: $1"
  [ -z "$2" ] || head -n 12 "$2" | sed 's/^/  /'
}
skip() { skipped=$((skipped + 1)); echo "skip $file:$line $kind: $1"; }

# Compiles the implementation of all headers once, in float or double.
implementation() {
  object=$out/edf_$1.o
  if [ "$HANDOUT_FLOAT" ] && [ $1 = float ]; then object=$HANDOUT_FLOAT; return; fi
  if [ ! -f $object ] || [ -n "$(find $top/edf.h $top/edf -newer $object)" ]; then
    { echo '#define EDF_IMPLEMENTATION'
      for h in $top/edf.h $top/edf/*.h; do echo "#include \"${h#$top/}\""; done; } > $out/edf_$1.c
    ${CC:-cc} -std=c99 -g -O1 -ffp-contract=off -DEDF_REAL=$1 -I$top -c $out/edf_$1.c -o $object || exit 1
  fi
}

# Something has run, and the next block does not say what it prints: that it ended is enough.
settle() {
  if [ -z "$printed" ] || [ "$printed" = skipped ]; then :
  elif [ $status = 0 ]; then passed=$((passed + 1)); echo "ok $file:$ran"
  else line=${ran% *} kind=${ran#* }; fail 'it stops' $printed; fi
  printed=
}

run() {                                  # run COMMAND ...: its output waits for the next block
  printed=$dir/$n.out ran="$line $kind"
  (cd "$work" && env -u EDF_DATA timeout 60 \
    sh -c '"$@" > "$0" 2>&1 < /dev/null & wait $!' "$printed" "$@") 2> /dev/null
  status=$?
  [ $status -lt 124 ] || [ $status = 134 ] || {
    [ $status = 124 ] && fail 'it runs for more than a minute' ||
      fail "it was killed, by signal $((status - 128))" $printed
    printed=
  }
}

program() {                              # program SOURCE: build it
  real=float
  ! grep -q 'define EDF_REAL double' "$work/$1" || real=double
  implementation $real
  (cd "$work" && $cc -Wall -Wextra -Wno-unused-variable "$1" -o a.out $object -lm) \
    > $dir/$n.cc 2>&1 && [ ! -s $dir/$n.cc ] && return
  fail 'the compiler says' $dir/$n.cc
  return 1
}

quote_block() {
  sed 's/^ *//' "$top/${words#of }" > $dir/$n.of
  sed 's/^ *//' $dir/$n | awk '
    NR == FNR { want[++n] = $0; next }
    { k = $0 == want[k + 1] ? k + 1 : $0 == want[1]; if (k == n) exit }
    END { exit !n || k < n }' - $dir/$n.of && pass || fail "this does not stand in ${words#of }"
}

c_block() {
  case $words in 'of '*) quote_block; return ;; esac
  name=${words:-$stem.c}
  cat $dir/$n >> $dir/parts
  if ! grep -q 'main *(' $dir/$n; then pass; return; fi
  mv $dir/parts "$work/$name"
  last=$name
  program $name && run ./a.out
}

edf_block() {
  cp $dir/$n "$work/text.edf"
  cp $top/notes/text.c "$work"
  program text.c && run ./a.out $stem.edf text.edf $words &&
    [ $status = 1 ] && { fail 'it does not run' $printed; printed=; }
}

# All blocks of a page are one session: what was typed above is typed again.
gdb_block() {
  session=${words:-${session:-$last}} name=$(basename "${words:-${session:-$last}}")
  command -v gdb > /dev/null 2>&1 || { skip 'no gdb'; return; }
  [ -f "$work/$name" ] || cp "$top/$session" "$work"
  (cd "$work" && ${CC:-cc} -std=c99 -g -O0 -I. -I$top -I$top/examples $name -o gdb.out -lm) \
    > $dir/$n.cc 2>&1 || { fail 'the compiler says' $dir/$n.cc; return; }
  [ -e "$work/notes" ] || ln -s $top/notes "$work/notes"         # for `source notes/edf_gdb.py`
  sed -n 's/^ *(gdb) //p' $dir/$n >> $dir/typed
  grep -v '(gdb)\|^ *\$' $dir/$n | sed 's/^ *//; s/  */ /g' >> $dir/answers
  (cd "$work" && timeout 100 gdb -q -nx -batch -ex 'set pagination off' -ex 'set confirm off' \
    -ex 'set width 0' -x $dir/typed gdb.out) > $dir/$n.out 2>&1
  if grep -q "Couldn't write extended state" $dir/$n.out; then
    skip 'gdb cannot call functions on this machine'
  elif sed 's/  */ /g' $dir/$n.out | awk '
      NR == FNR { line[n++] = $0; next }
      k < n && index($0, line[k + 0]) { k++ }
      END { if (k < n) print "no line, or not there, with: " line[k + 0]; exit k < n }
    ' $dir/answers - > $dir/$n.diff; then pass
  else fail 'gdb does not answer so' $dir/$n.diff; fi
}

sh_block() {
  grep '^ *make' $dir/$n | while read -r command; do
    target=$(echo "$command" | sed 's/  .*//; s/ *#.*//; s/^make *//')
    (cd $top && eval "make -n $target") > /dev/null 2>&1 || echo "make $target"
  done > $dir/$n.make
  grep -v '^ *make' $dir/$n | sed 's/  #.*//' > $dir/$n.sh
  if [ -s $dir/$n.make ]; then fail 'no such target' $dir/$n.make
  elif [ -s $dir/$n.sh ]; then
    TOP=$top run sh -e $dir/$n.sh
    [ -z "$printed" ] || [ $status = 0 ] || { fail 'the command fails' $printed; printed=; }
  else pass; fi
}

# The first rule is the start.
ebnf_block() {
  awk '
    { text = text " " $0 }
    END {
      gsub(/"[^"]*"/, " ", text)
      gsub(/\(\*[^*]*\*\)|[?][^?]*[?]/, " ", text)
      n = split(text, rule, ";")
      for (i = 1; i < n; i++) {
        name = rule[i]
        sub(/=.*/, "", name)
        gsub(/ /, "", name)
        has[name] = 1
        if (i == 1) used[name] = 1
        sub(/^[^=]*=/, "", rule[i])
        k = split(rule[i], word, /[^a-z_]+/)
        while (k) if (word[k--] != "") used[word[k + 1]] = 1
      }
      for (name in used) if (!(name in has)) print "no rule " name
      for (name in has) if (!(name in used)) print "nothing uses " name
    }' $dir/$n > $dir/$n.rules
  [ ! -s $dir/$n.rules ] && pass || fail 'the rules do not fit' $dir/$n.rules
}

python_block() {
  for python in $top/build/venv/bin/python python3 ''; do
    [ "$python" ] || { skip 'no python3 with what it imports'; printed=skipped; return; }
    grep '^import' $dir/$n | $python - 2> /dev/null && break
  done
  run $python $dir/$n
  [ $status = 0 ] || { fail 'it does not run' $printed; printed=; }
}

json_block() {
  command -v python3 > /dev/null || { skip 'no python3'; return; }
  if python3 -m json.tool $dir/$n > $dir/$n.out 2>&1; then pass; else fail 'not JSON' $dir/$n.out; fi
}

text_block() {
  if [ "$printed" = skipped ]; then printed=; skip 'what prints it was skipped'; return; fi
  if [ -z "$printed" ]; then fail 'nothing above has printed this'; return; fi
  if awk -f $top/notes/same.awk $dir/$n $printed > $dir/$n.diff; then pass
  else fail 'not what is printed' $dir/$n.diff; fi
  printed=
}

# Numbers may differ by 2 %, or by 2 units: other compilers round otherwise.
picture_block() {
  case $words in
    *pictures/*)                         # make pictures draws them
      if [ -s "$(dirname "$file")/$words" ]; then pass; else fail "there is no $words: make pictures draws it"; fi
      return ;;
  esac
  drawn=$work/$words shown=$(dirname "$file")/$words
  if [ ! -s "$drawn" ]; then fail "no program above has drawn $words"
  elif [ "$write" ]; then cp "$drawn" "$shown"; pass
  elif [ ! -s "$shown" ]; then fail "there is no $shown: --write makes it"
  elif cmp -s "$drawn" "$shown"; then pass
  else case $words in
    *.svg)
      for each in "$drawn" "$shown"; do
        tr -s ' ,\n"<>=()LMHVZ' '\n' < "$each" > "$dir/$n.$(basename "$(dirname "$each")")"
      done
      paste "$dir/$n.work" "$dir/$n.$(basename "$(dirname "$shown")")" | awk '
        function size(x) { return x < 0 ? -x : x }
        $1 != $2 && size($1 - $2) > 2 + 0.02 * size($2) { print "drawn", $1, "shown", $2; exit 1 }
        $1 != $2 && $1 $2 !~ /^[-+.0-9]*$/ { print "drawn", $1, "shown", $2; exit 1 }
        ' > $dir/$n.diff && pass || fail 'another picture is drawn' $dir/$n.diff ;;
    *) fail 'another picture is drawn' ;;
  esac; fi
}

page() {
  file=$1 stem=$(basename "$1" .md | sed 's/^[0-9]*-//')
  dir=$out/$stem work=$out/$stem/work printed= last= session=
  rm -rf "$dir"
  mkdir -p "$work"
  cp -r $top/edf.h $top/edf "$work"
  awk -v dir="$dir" -f $top/notes/blocks.awk "$1" > $dir/list
  while read -r n line kind words; do
    case $kind in
      text) text_block ;;
      picture) picture_block ;;
      c|edf|ebnf|gdb|json|python|sh) next="$line $kind"; settle; line=${next% *} kind=${next#* }; ${kind}_block ;;
      *) settle; fail 'a block is c, edf, ebnf, gdb, json, python, sh, or has no word' ;;
    esac
  done < $dir/list
  settle
  [ ! -f $dir/parts ] || fail 'no main follows'
  awk -v top=$top -f $top/notes/places.awk "$file" > $dir/places
  [ ! -s $dir/places ] || { kind=places; fail 'a name is not in its file' $dir/places; }
}

write=
[ "$1" != --write ] || { write=1; shift; }
[ $# -gt 0 ] || { echo 'usage: sh notes/handout.sh [--write] FILE.md ...'; exit 2; }
mkdir -p $out
for each; do
  if [ -r "$each" ]; then page "$each"; else echo "not ok $each: no such file"; failed=$((failed + 1)); fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
