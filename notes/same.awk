# Is the output of a program what a page says?   awk -f same.awk PAGE OUTPUT
# A line "..." stands for any lines, "..." within a line for any text. Blanks count once. An error
# of the gradient check may differ by a factor of 2, since another processor rounds otherwise.

function plain(s) {
  gsub(/[ \t]+/, " ", s)
  sub(/^ /, "", s)
  sub(/ $/, "", s)
  return s
}
function error_of(s) {
  return match(s, /^(ok|FAIL) .* worst relative error [0-9]/) ? substr(s, RLENGTH) + 0 : 0
}
function fits(want, got,    n, part, k, at, x, y) {
  x = error_of(want)
  y = error_of(got)
  if (x > 0 && y >= x / 2 && y <= 2 * x) {
    sub(/ error [^,]*,/, " error,", want)
    sub(/ error [^,]*,/, " error,", got)
  }
  if (!index(want, "...")) return want == got
  n = split(want, part, /[.][.][.]/)
  for (k = 1; k <= n; k++) {
    at = part[k] == "" ? 1 : index(got, part[k])
    if (!at || (k == 1 && at > 1)) return 0
    if (k == n && part[k] != "")
      return substr(got, length(got) - length(part[k]) + 1) == part[k]
    got = substr(got, at + length(part[k]))
  }
  return 1
}
BEGIN {
  while ((getline line < ARGV[1]) > 0) if (plain(line) != "") want[++n] = plain(line)
  while ((getline line < ARGV[2]) > 0) if (plain(line) != "") got[++m] = plain(line)
  for (i = j = 1; i <= n; i++) {
    if (want[i] == "...") { any = 1; continue }
    says = 1
    start = j
    while (any && j <= m && !fits(want[i], got[j])) j++
    if (j > m || !fits(want[i], got[j])) {
      printf "the page says  %s\n", want[i]
      if (start > m) print "the output ends before it"
      else printf "the output is  %s\n", got[start]
      exit 1
    }
    any = 0
    j++
  }
  if (!any && j <= m) { printf "the output goes on  %s\n", got[j]; exit 1 }
  if (!says) print "the page says nothing"
  exit !says
}
