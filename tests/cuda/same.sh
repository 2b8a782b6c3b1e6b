#!/bin/sh
# Are the numbers of two runs of small.c the same, model by model?
#   sh tests/cuda/same.sh RIGHT FOUND [1e-5]    a line about each model that differs by more
# RIGHT may have more models than FOUND.
exec awk -v relative="${3:-1e-5}" '
function size(x) { return x < 0 ? -x : x }
function is_close(x, y) {
  most = size(x) > size(y) ? size(x) : size(y)
  return size(x - y) <= relative * (most + 0.1)
}
NR == FNR { right[$1] = $0; next }
{
  n = split(right[$1], r, " ")
  if (n != NF) { print $1 ": " NF " words, expected " n; bad = 1; next }
  for (i = 2; i <= NF; i++) {
    if (r[i] == $i) continue
    if (r[i] ~ /^-?[0-9]/ && $i ~ /^-?[0-9]/ && is_close(r[i], $i)) continue
    print $1 ": word " i " is " $i ", expected " r[i]
    bad = 1
    next
  }
  ran++
}
END { exit bad || !ran }' "$1" "$2"
