# Reports on the size of a C file: awk -f tests/lines.awk edf.h
# A line of code is one that is neither blank nor comment. The core stands between two markers.
# Fails over `limit` lines of core (default 150) and on lines over 96 columns.
BEGIN { if (!limit) limit = 150 }
{
  total++
  if (length($0) > 96) { printf "%s:%d: %d columns\n", FILENAME, FNR, length($0); wide++ }
  code = $0
  if (comment) { if (!sub(/^.*\*\//, "", code)) code = ""; else comment = 0 }
  gsub(/"([^"\\]|\\.)*"/, "\"\"", code)
  gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", code)
  if (sub(/\/\*.*$/, "", code)) comment = 1
  sub(/\/\/.*$/, "", code)
  is_code = code ~ /[^ \t\r]/
  lines += is_code
  if ($0 ~ />>core end/) inside = 0
  core += inside && is_code
  if ($0 ~ />>core begin/) { inside = 1; marked = 1 }

  # A function opens at the left margin, and its closing brace stands there too.
  if (is_code && code ~ /^[A-Za-z_]/) { head = FNR; name = "" }
  if (is_code && !name && match(code, /[A-Za-z_0-9]+\(/) && head == FNR)
    name = substr(code, RSTART, RLENGTH - 1)
  if (code ~ /^}/ && name && opened) {
    n = long[++functions] = FNR - head + 1
    if (n > 45) printf "%s:%d: %s has %d lines\n", FILENAME, head, name, n
  }
  if (code ~ /^}/) { name = ""; opened = 0 }
  if (name && code ~ /\{[ \t]*$/) opened = 1
  if (name && code ~ /;[ \t]*$/ && !opened) name = ""
}
END {
  for (i = 2; i <= functions; i++)              # insertion sort: any awk will do
    for (j = i; j > 1 && long[j - 1] > long[j]; j--) {
      t = long[j]; long[j] = long[j - 1]; long[j - 1] = t
    }
  printf "%s: %d lines, %d of them code; ", FILENAME, total, lines
  printf "%d functions over one line", functions
  if (functions) printf ", half under %d, 9 of 10 under %d, longest %d", \
    long[int((functions + 1) / 2)] + 1, long[int((functions * 9 + 9) / 10)] + 1, long[functions]
  print ""
  if (marked) printf "core: %d lines of code, limit %d\n", core, limit
  else print "core: no markers /* >>core begin */ and /* >>core end */"
  exit !marked || core > limit || wide > 0
}
