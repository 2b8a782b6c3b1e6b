#!/bin/sh
# Page one of edf.h says what to read in which sitting, and where each public name is declared.
#   sh tests/index.sh [directory for what is built [edf.o]]   compares it with the declarations,
#                        and these with what the compiler knows and with the object's symbols
#   sh tests/index.sh --write     writes it into edf.h, at the end of its first comment; and the
#                        lines where names stand into the notes
#   sh tests/index.sh --print     prints it

cd "$(dirname "$0")/.." || exit 1
case $1 in --*) dir=build/tests/index mode=$1 ;; *) dir=${1:-build/tests/index} mode= ;; esac
mkdir -p "$dir"
lab=
[ -f edf_lab.h ] && lab=edf_lab.h

# declarations EDF.H: what index.awk finds, of both headers
declarations() {
  awk -f tests/index.awk "$1"
  [ "$lab" ] || return
  echo 'chapter lab 1 Lab The laboratory'
  awk -f tests/index.awk $lab | sed 's/^name title/name lab/
    s/^\(chapter [a-z]* [0-9]* \)[A-Z][a-z]*/\1Lab/'
  echo "part Lab $(awk 'END { print NR }' $lab)"
}

# page EDF.H: the lines of its first comment
page() {
  declarations "$1" | awk '
    function wrapped(out, list,    n, word, k) {
      n = split(list, word, " ")
      for (k = 1; k <= n; k++) {
        if (length(out) + 1 + length(word[k]) > 96) {
          print out
          out = "    "
        }
        out = out " " word[k]
      }
      print out
    }
    # The names of a chapter, each behind the one that it goes on from: forward _to
    function in_families(list,    n, word, k, j, of, out) {
      n = split(list, word, " ")
      for (k = 1; k <= n; k++) {
        of[k] = k
        for (j = n; j > 0; j--) if (index(word[of[k]], word[j] "_") == 1) of[k] = j
      }
      for (k = 1; k <= n; k++) {
        if (of[k] != k) continue
        out = out " " word[k]
        for (j = 1; j <= n; j++)
          if (j != k && of[j] == k) out = out " " substr(word[j], length(word[k]) + 1)
      }
      return out
    }
    function flush_pair() {                # two chapters that are short stand on a line
      if (waiting != "") print waiting
      waiting = ""
    }
    function entry(k,    head, list) {
      head = sprintf("   >>%s %d %s", chapter[k], end[k] - begin[k] + 1, title[k])
      list = in_families(names[chapter[k]])
      if (list != "") head = head ":"
      if (waiting != "" && length(head list) < 50) {
        printf "%-50s%s\n", waiting, substr(head list, 4)
        waiting = ""
      } else {
        flush_pair()
        if (length(head list) < 50) waiting = head list
        else wrapped(head, list)
      }
    }
    function entries(of, text,    k) {
      if (!parts[of]) return
      print "   " text
      for (k = 1; k <= chapters; k++) if (part[k] == of) entry(k)
      flush_pair()
    }
    $1 == "chapter" {
      if (chapters && !end[chapters]) end[chapters] = $3 - 1
      chapter[++chapters] = $2
      begin[chapters] = $3
      part[chapters] = $4
      parts[$4]++
      title[chapters] = $0
      sub(/^[^ ]+ [^ ]+ [^ ]+ [^ ]+ /, "", title[chapters])
      if ($2 == "contraction") first = $3 - 1
    }
    $1 == "part" { end[chapters] = $3; if ($2 == "One") second = $3 }
    $1 == "name" { s = $3; sub(/^(edf|EDF)_/, "", s); names[$2] = names[$2] " " s }
    END {
      printf "   Contents: an anchor to search for, its lines, and the public names "
      print "declared there,"
      printf "   without edf_ and EDF_: forward _to means forward, forward_to. "
      print "Constants: see their enum."
      printf "   First sitting:  lines 1 to %d (%d), to the end of >>nodes: ", first, first
      print "no notation yet"
      printf "   Second sitting: lines %d to %d (%d): ", first + 1, second, second - first
      print "then you have read the framework"
      entries("One", "Part One, a whole framework")
      entries("Two", "Part Two, faster and more; each chapter begins with its declarations")
      entries("Three", "Part Three, to see, check and keep")
      entries("Lab", "edf_lab.h, the laboratory, optional")
    }'
}

# with_page EDF.H: it, with the page that it should have, whose own lines count too.
with_page() {
  cp "$1" "$dir/turn.h"
  for turn in 1 2 3; do
    page "$dir/turn.h" > "$dir/page"
    awk -v page="$dir/page" '
      !ended && /^   Contents/ { out = 1 }
      !ended && /\*\/$/ {
        if (!out) print ""
        while ((getline line < page) > 0) print line
        ended = 1
        out = 0
      }
      !out' "$dir/turn.h" > "$dir/next.h"
    mv "$dir/next.h" "$dir/turn.h"
  done
  cat "$dir/turn.h"
}

case $mode in
  --print) page edf.h; exit ;;
  --write)
    with_page edf.h > "$dir/edf.h"
    cmp -s "$dir/edf.h" edf.h || cat "$dir/edf.h" > edf.h
    for page in notes/*.md; do
      awk -v top=. -v write=1 -f notes/places.awk $page > "$dir/page.md"
      cmp -s "$dir/page.md" $page || cat "$dir/page.md" > $page
    done
    exit ;;
  --*) echo 'index.sh: expected --write or --print' >&2; exit 2 ;;
esac

bad=0
pass() { echo "ok $1"; }
fail() { bad=1; echo "not ok $1: $2"; head -n 12 "$dir/out" | sed 's/^/  /'; }

# right EDF.H: its page is the one it should have; says where not
right() {
  declarations "$1" | sed -n 's/^name //p' | sort > "$dir/declared"
  awk '/\*\/$/ { exit }
    /^   Contents/ { on = 1 }
    on && !/^     / { listing = 0 }
    on {
      for (k = 1; k <= NF; k++)
        if ($k ~ /^>>/) { chapter = substr($k, 3); listing = 0 }
        else if (!listing) listing = $k ~ /:$/ && /^   >>/
        else {
          if ($k !~ /^_/) word = ($k == "edf" ? "" : $k ~ /^[A-Z]/ ? "EDF_" : "edf_") $k
          print chapter, ($k ~ /^_/ ? word : "") ($k ~ /^_/ ? $k : word)
        }
    }' "$1" | sort > "$dir/listed"
  comm -23 "$dir/declared" "$dir/listed" | sed 's/^/declared and not in the index: /'
  comm -13 "$dir/declared" "$dir/listed" | sed 's/^/in the index and not declared: /'
  with_page "$1" > "$dir/right.h"
  diff "$1" "$dir/right.h" && cmp -s "$dir/declared" "$dir/listed"
}
if right edf.h > "$dir/out"; then pass index
else fail index 'edf.h has another page: sh tests/index.sh --write'; fi

for page in notes/*.md; do awk -v top=. -f notes/places.awk $page; done > "$dir/out"
if [ -s "$dir/out" ]; then fail index-notes 'pages say another line: sh tests/index.sh --write'
else
  echo 'SGD is `edf_sgd` (edf.h:1).' > "$dir/wrong.md"
  awk -v top=. -f notes/places.awk "$dir/wrong.md" > "$dir/out"
  if grep -q 'edf_sgd stands at edf.h:' "$dir/out"; then pass index-notes
  else fail index-notes 'a wrong line is not found'; fi
fi

# mistake NAME PATTERN SED-SCRIPT: it is found, and said
mistake() {
  sed "$3" edf.h > "$dir/mistaken.h"
  if cmp -s edf.h "$dir/mistaken.h"; then : > "$dir/out"; fail "$1" 'nothing was changed'
  elif right "$dir/mistaken.h" > "$dir/out" || ! grep -q "$2" "$dir/out"
  then fail "$1" "not said: $2"
  else pass "$1"; fi
}
if [ $bad = 0 ]; then
  mistake index-missing 'not in the index: over edf_dropout' \
    '/^ /s/ dropout$//; /^ /s/ dropout / /'
  mistake index-superfluous 'not declared: over edf_drop' \
    '/^ /s/ dropout$/& drop/; /^ /s/ dropout / & drop /'
  mistake index-new-function 'not in the index: optim edf_new' \
    's/^void edf_momentum(/void edf_new(void);\n&/'
  mistake index-new-macro 'not in the index: more edf_new' \
    's/^#define edf_gelu(x)/#define edf_new\n&/'
  mistake index-misplaced 'not declared: over edf_clip' \
    's/^\( .*\) clip /\1 /; s/>>over .*: dropout/& clip/'
  [ -z "$lab" ] || mistake index-missing-in-lab 'not in the index: lab edf_contact_sheet' \
    's/ contact_sheet$//'
  mistake index-sitting '^<.*First .*lines 1 to' 's/^   First sitting: *lines 1 to /&1/'
  mistake index-longer-chapter '^>.*Second' 's/^.* ==== >>nodes.*/&\n/'
fi

# What the compiler and the linker see is found: no macro and no symbol is left out.
{
  declarations edf.h | awk '$1 == "name" || $1 == "setting" { print $NF }'
} | sort -u > "$dir/names"
{ echo '#include "edf.h"'; [ -z "$lab" ] || echo "#include \"$lab\""; } > "$dir/all.c"
${CC:-cc} -DEDF_NO_SHORT_NAMES -dM -E -I. "$dir/all.c" |
  awk '{ sub(/\(.*/, "", $2); print $2 }' |
  grep -E '^(edf|EDF)(_[A-Za-z0-9]+)*$' | grep -v -E '_H$' | sort -u > "$dir/macros"
comm -13 "$dir/names" "$dir/macros" > "$dir/out"
if [ -s "$dir/out" ]; then fail index-macros 'macros that are not found'
elif grep -q edf_conv "$dir/macros"; then pass index-macros
else fail index-macros 'the compiler shows none'; fi
if [ -z "$2" ] || ! command -v nm > /dev/null; then
  echo 'skip index-symbols: no object, or no nm'
else
  nm -g --defined-only "$2" | awk 'NF { print $NF }' | grep -v -E '_at$|^edf_real_is_|__' |
    sort -u > "$dir/symbols"
  comm -13 "$dir/names" "$dir/symbols" > "$dir/out"
  if [ -s "$dir/out" ]; then fail index-symbols 'symbols that are not found'
  elif grep -q -x edf_conv_params "$dir/symbols" || grep -q -x edf_forward "$dir/symbols"
  then pass index-symbols
  else fail index-symbols 'the object has none'; fi
fi
exit $bad
