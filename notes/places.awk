# Where a page says that a name stands in a file of the project, `edf_backward` (edf.h:1287), is
# it defined there? Prints what is wrong; with write=1 the page, as it should be.
#   awk -v top=DIR [-v write=1] -f places.awk PAGE

# 2: its body, or its chapter, begins here; 1: its macro.
function defines(line, name) {
  if (substr(name, 1, 2) == ">>") return 2 * (index(line, "/* ==== " name " ") == 1)
  if (line ~ "^#define " name "([^a-zA-Z_0-9]|$)") return 1
  return 2 * (line ~ "^(typedef )?struct " name " [{]" ||
              line ~ "^[a-zA-Z].*[ *(]" name "[)]?[(].*([{,]|[{].*[}])$")
}
function place(name, file,    line, n, k, found, best) {
  while ((getline line < (top "/" file)) > 0) {
    n++
    if (index(line, name) && (k = defines(line, name)) > best) { best = k; found = n }
  }
  close(top "/" file)
  return found
}
{
  done = ""
  rest = $0
  while (match(rest, /`[^`]*` \([a-z_]+[.](h|cu):[0-9]*\)/)) {
    whole = substr(rest, RSTART, RLENGTH)
    name = whole
    sub(/^`/, "", name)
    sub(/`.*/, "", name)
    file = whole
    sub(/.*\(/, "", file)
    number = file
    sub(/[)]$/, "", number)
    sub(/:.*/, "", file)
    sub(/.*:/, "", number)
    line = place(name, file)
    if (!write && line != number + 0)
      print FILENAME ":" FNR ": " name " stands at " file ":" (line ? line : "?") ", not " number
    done = done substr(rest, 1, RSTART - 1) "`" name "` (" file ":" line + 0 ")"
    rest = substr(rest, RSTART + RLENGTH)
  }
  if (write) print done rest
}
