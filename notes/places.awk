# Where a page says that a name stands in a file of the project, `edf_backward` (edf.h), is it
# defined there? Prints what is wrong; with write=1 the page with line numbers: (edf.h:1287).
#   awk -v top=DIR [-v write=1] -f places.awk PAGE

# 2: its body, or its chapter, begins here; 1: its macro.
function defines(line, name) {
  if (substr(name, 1, 2) == ">>") return 2 * (index(line, "/* ==== " name " ") == 1)
  if (line ~ "^#define " name "([^a-zA-Z_0-9]|$)") return 1
  return 2 * (line ~ "^(typedef )?struct " name " [{]" ||
              line ~ "^[a-zA-Z].*[ *(]" name "[)]?[(].*([{,]|[{].*[}])$")
}
function place(name, file,    line, n, k, found, best, begun) {
  while ((getline line < (top "/" file)) > 0) {
    n++
    if (begun && line ~ /;/) begun = 0               # It was a declaration.
    if (begun && line ~ /[{]/ && best < 2) { best = 2; found = begun }
    if (begun && line ~ /[{;]/) begun = 0
    if (!index(line, name) || !(k = defines(line, name))) continue
    if (line ~ /,$/) begun = n
    else if (k > best) { best = k; found = n }
  }
  close(top "/" file)
  return found
}
{
  done = ""
  rest = $0
  while (match(rest, /`[^`]*` \([a-z_]+[.](h|cu)\)/)) {
    before = substr(rest, 1, RSTART - 1)
    name = whole = substr(rest, RSTART, RLENGTH)
    rest = substr(rest, RSTART + RLENGTH)
    sub(/^`/, "", name)
    sub(/`.*/, "", name)
    file = whole
    sub(/.*\(/, "", file)
    sub(/[)]$/, "", file)
    line = place(name, file)
    if (!line && !write) print FILENAME ":" FNR ": " name " does not stand in " file
    done = done before "`" name "` (" file (line ? ":" line : "") ")"
  }
  if (write) print done rest
}
