#!/bin/sh
# The named mistakes of a class, as a table.   make class PS=1 DIR=submissions
# DIR has a folder for each student, with the id as its name and the file psN.c in it. Each is
# graded as make grade does it. The reports stay in DIR.reports, as ID.txt.
set=$1 dir=$2 grade=$3
[ -d "$dir" ] || { echo "class: $dir is no folder" >&2; exit 2; }
mkdir -p "$dir.reports" || exit 2
rm -f "$dir.reports"/*.txt
for folder in "$dir"/*/; do
  id=$(basename "$folder") file=$folder$set.c
  [ -f "$file" ] || { echo "not counted: $id has no $set.c"; continue; }
  "$grade" --id "$id" $ARGS "$file" > "$dir.reports/$id.txt" 2>&1
  grep -q '^total ' "$dir.reports/$id.txt" && continue
  echo "not counted: $id: $(head -n 1 "$dir.reports/$id.txt")"
  rm "$dir.reports/$id.txt"
done
ls "$dir.reports"/*.txt > /dev/null 2>&1 || { echo "class: no file $dir/ID/$set.c" >&2; exit 2; }
awk '
  function count(what) {
    gsub(/^ +/, "", what)
    gsub(/-?[0-9]+([.][0-9]+)?(e[-+]?[0-9]+)?/, "N", what)
    if ((last, what) in seen) return
    seen[last, what] = 1
    if (!mistakes[part, what]++) list[part] = list[part] "\n" what
  }
  FNR == 1 { students++; part = "" }
  /^[a-z].* [0-9.]+ of [0-9.]+$/ {
    part = $0
    sub(/ +[0-9.]+ of [0-9.]+$/, "", part)
    last = FILENAME part
    if (!(part in parts)) { parts[part] = ++n; name[n] = part }
    points[part] += $(NF - 2); most[part] = $NF
    full[part] += $(NF - 2) == $NF
    none[part] += $(NF - 2) == 0
    next
  }
  /^total / { total += $2; part = "" }
  part == "" { next }
  /likely: / { sub(/.*likely: /, ""); count($0); next }
  /^ +(wrong sign|wrong factor|transposed|another|a term|a factor|a contribution)/ { count($0) }
  /overwrites: it must add|expected one node of your own|a line that cannot be run/ { count($0) }
  /it crashed|was stopped|not implemented|does not compile|nothing is graded/ {
    sub(/^.*: not/, "not"); count($0)
  }
  END {
    printf "%d submissions, %.1f points on average\n\n", students, total / students
    printf "%-28s %6s %6s %8s\n", "part", "full", "none", "average"
    for (k = 1; k <= n; k++) {
      p = name[k]
      printf "%-28s %6d %6d %4.1f of %g\n", p, full[p], none[p], points[p] / students, most[p]
      m = split(list[p], each, "\n")
      for (i = 1; i <= m; i++) if (each[i] != "") printf "    %3d x %s\n", mistakes[p, each[i]], each[i]
    }
  }' "$dir.reports"/*.txt
