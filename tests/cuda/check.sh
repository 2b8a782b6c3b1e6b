# For cuda.sh and losses.sh, which say where $out is.

no() { echo "not ok $1"; bad=1; }

# check NAME COMMAND: the command's lines `not ok` and the end of its output, where it fails
check() {
  name=$1
  shift
  if "$@" > "$out/$name.log" 2>&1; then echo "ok $name"
  else no "$name: see $out/$name.log"; grep '^not ok' "$out/$name.log" | sed 's/^/  /'
    tail -n 3 "$out/$name.log" | sed 's/^/  /'; fi
}
