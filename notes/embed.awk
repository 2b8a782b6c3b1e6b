# Puts notes/trace.html, the page of edf_trace_begin, into a C header between the lines with
# `>>page begin` and `>>page end`, as two lists of strings: what stands before the data, and
# behind it. Comments, indentation, ends of lines and blanks that mean nothing are left out, and
# so is the sample.
#   awk -v prefix=edf_lab__ -f notes/embed.awk notes/trace.html edf_lab.h > new.h

# The line as it is shown: without blanks around it and without a comment that is a line of
# its own or stands behind two blanks.
function bare(s) {
  if (aside || s ~ /^ *(<!--|\/\*)/) { aside = s !~ /(-->|\*\/) *$/; return "" }
  sub(/(^|  ) *\/\/ .*$/, "", s)
  gsub(/^ +| +$/, "", s)
  return s
}

# Without the blanks that CSS and JavaScript do not need; strings and patterns stay as they are.
function squeezed(s,    k, c, next_c, to, quote, last, class) {
  for (k = 1; k <= length(s); k++) {
    c = substr(s, k, 1)
    next_c = substr(s, k + 1, 1)
    if (quote != "") {
      if (c == "\\") { c = c next_c; k++ }
      if (quote == "/") class = c == "[" ? 1 : c == "]" ? 0 : class
      if (c == quote && !class) quote = ""
    } else if (c == " " && last != "" && (index(marks, last) || index(marks, next_c)) &&
               !(last == next_c && last ~ /[-+]/)) continue
    else if (c ~ /['"`]/ || (c == "/" && last ~ /^[(,=:[!&|?{};>]?$/)) quote = c
    to = to c
    last = c
  }
  return to
}

# As characters of a C string.
function escaped(s,    k, c, to) {
  for (k = 1; k <= length(s); k++) {
    c = substr(s, k, 1)
    to = to (c == "\\" || c == "\"" ? "\\" : "") c
  }
  return to
}

function fail(what) {
  print FILENAME ":" FNR ": " what > "/dev/stderr"
  bad = 1
}

# One string a row, as full as escapes allow; a row's end is no end of a line of the page.
function flush() {
  if (row != "") page[part, ++rows[part]] = "  \"" row "\","
  row = ""
}

function add(s,    k, c) {
  if (s == "") return
  marks = in_code == "style" ? "{};:," : "=+-*/?:;,{}()[]<>&|!"
  if (in_code) s = squeezed(s)
  if (!in_code || !index(marks, substr(s, length(s)))) s = s " "
  if (s ~ /\?\?[=\/'()!<>-]/) fail("a trigraph of C")
  for (k = 1; k <= length(s); k++) {
    c = escaped(substr(s, k, 1))
    if (length(row c) > 91) flush()
    row = row c
  }
}

function list(name, which,    k) {
  print "static const char *const " name "[] = {"
  for (k = 1; k <= rows[which]; k++) print page[which, k]
  print "  NULL\n};"
}

BEGIN { part = "head" }
FNR == NR && part == "data" { if (/<\/script>/) { part = "script"; add(bare($0)) } next }
FNR == NR {
  add(bare($0))
  if (/<style>/) in_code = "style"
  if (/<script>/) in_code = "script"
  if (/<\/(style|script)>/) in_code = ""
  if (/id="data"/) { flush(); part = "data" }
  next
}
FNR == 1 { flush(); if (bad || !rows["script"]) { bad = 1; exit } }
/>>page end/ { within = 0; ends++ }
!within { print }
/>>page begin/ {
  within = 1
  list(prefix "page_head", "head")
  list(prefix "page_script", "script")
}
END {
  if (bad || ends != 1) {
    print "embed.awk: no page was embedded" > "/dev/stderr"
    exit 1
  }
}
