# Lines of each chapter, part and file against its ceiling:
#   awk -f tests/lines.awk tests/lines.txt edf.h edf_lab.h
# A chapter begins at `/* ==== >>name`; what stands before the first is `api`, in edf_lab.h
# `lab`, where `page` is the page's rows. A ceiling counts all lines. Fails above one, for a
# chapter without one, and on lines over 96 columns. What it says of density is a warning: many
# long or full lines would be the same text in fewer lines.
# Of private functions it counts those of at most 8 lines that are called from one place, and
# those that are declared before they are defined: VERBOSE=1 names them. What stands in a table,
# without a bracket behind its name, is not called.
FILENAME == ARGV[1] {
  if (/^[a-z]/) ceiling[$1] = $2
  listing = FNR
  next
}
function begins(name) { chapter = name; order[++chapters] = name }
FNR == 1 { begins(FILENAME ~ /lab/ ? "lab" : "api") }
/>>page begin/ { around = chapter; begins("page") }
/>>page end/ { chapter = around }
/^\/\* ==== >>/ {
  chapter = $0
  sub(/^[^>]*>>/, "", chapter)
  sub(/[^a-z_].*/, "", chapter)
  begins(chapter)
}
{
  file = FILENAME
  sub(/.*\//, "", file)
  if (!total[file]++) files[++n_files] = file
  if (FNR == NR - listing && !past) one++
  if (/End of Part One/) past = 1
  lines[chapter]++
  if (length($0) > 96) { printf "%s:%d: %d columns\n", FILENAME, FNR, length($0); bad++ }
  code = $0
  if (comment) { if (!sub(/^.*\*\//, "", code)) code = ""; else comment = 0 }
  gsub(/"([^"\\]|\\.)*"/, "\"\"", code)
  gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", code)
  if (sub(/\/\*.*$/, "", code)) comment = 1
  sub(/\/\/.*$/, "", code)
  is_code = code ~ /[^ \t\r]/
  n_code += is_code
  if (is_code) {
    full = $0
    sub(/ *\/\*.*$/, "", full)
    columns += length(full)
    statements += gsub(/;/, ";", code) - 2 * gsub(/for \(/, "", code)
  }
  else if (/[^ \t]/) comments++

  # Every private name, with a bracket behind it or not.
  gsub(/EDF__PRINTF\([^)]*\)/, "", code)
  for (rest = code; match(rest, /(edf|EDF)_(lab_)?_[A-Za-z_0-9]+/);) {
    word = substr(rest, RSTART, RLENGTH)
    rest = substr(rest, RSTART + RLENGTH)
    if (rest ~ /^ *\(/) calls[word]++
    else mentions[word]++
  }

  # A function opens at the left margin, and its closing brace stands there too.
  if (is_code && code ~ /^[A-Za-z_]/) { head = FNR; name = "" }
  if (is_code && !name && match(code, /[A-Za-z_0-9]+\(/) && head == FNR)
    name = substr(code, RSTART, RLENGTH - 1)
  if (name && !opened && code ~ /\{.*\}[ \t]*$/) { defined_at(1); name = "" }
  if (code ~ /^}/ && name && opened) {
    n = long[++functions] = FNR - head + 1
    defined_at(n)
    if (n > 45) printf "%s:%d: %s has %d lines\n", FILENAME, head, name, n
  }
  if (code ~ /^}/) { name = ""; opened = 0 }
  if (name && code ~ /\{[ \t]*$/) opened = 1
  if (name && code ~ /;[ \t]*$/ && !opened) {
    calls[name]--                          # a declaration
    if (!(name in size)) early[name] = chapter
    name = ""
  }
}
function defined_at(n) {                   # lines; what is defined twice is one of two variants
  calls[name]--
  size[name] = n
  place[name] = chapter
}
function count_small(    name) {
  for (name in size) {
    if (name !~ /^(edf|EDF)_(lab_)?_/) continue
    if (size[name] <= 8 && calls[name] == 1 && !mentions[name]) {
      once++
      if (ENVIRON["VERBOSE"]) print "called from one place:", place[name], name, size[name]
    }
    if (name in early) {
      before++
      if (ENVIRON["VERBOSE"]) print "declared before it is defined:", place[name], name
    }
  }
}
function sort_lengths(    i, j, t) {             # insertion sort: any awk will do
  for (i = 2; i <= functions; i++)
    for (j = i; j > 1 && long[j - 1] > long[j]; j--) {
      t = long[j]; long[j] = long[j - 1]; long[j - 1] = t
    }
}
function nth(part) { return long[int(functions * part + 0.99)] }
function against(what, n, most,    over) {
  over = most == "" || n > most
  printf "%-12s %6d  %6s%s\n", what, n, most, over ? "   TOO LONG" : ""
  bad += over
}
END {
  print "chapter       lines  at most"
  for (i = 1; i <= chapters; i++) against(order[i], lines[order[i]], ceiling[order[i]])
  against("Part One", one, ceiling["part_one"])
  for (i = 1; i <= n_files; i++) against(files[i], total[files[i]], ceiling[files[i]])
  count_small()
  against("called once", once + 0, ceiling["called_once"])
  against("declared", before + 0, ceiling["declared_before"])
  sort_lengths()
  printf "%d lines of code, %d of comment; ", n_code, comments
  printf "%.1f columns and %.2f statements a line of code\n", \
    columns / n_code, statements / n_code
  printf "%d functions over one line, half under %d, ", functions, nth(1 / 2) + 1
  printf "9 of 10 under %d, longest %d\n", nth(9 / 10) + 1, nth(1)
  exit bad > 0
}
