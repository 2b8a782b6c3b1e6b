#!/bin/sh
# A student's session in the debugger, with example 04: break in a backward of one's own, look
# at the node and its arrays, step. (notes/stepping.md has another session.)
#   sh tests/gdb.sh [DIRECTORY]                for what is built

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/gdb}
mkdir -p "$dir"
command -v gdb > /dev/null || { echo 'skip gdb: no gdb'; exit; }
${CC:-cc} -O0 -g -I. examples/04_custom_node.c -o "$dir/04" -lm || exit 1

cat > "$dir/commands" <<'END'
set pagination off
set confirm off
set width 0
break relu_backward
run
echo ---- backtrace\n
backtrace
echo ---- node\n
print *y
echo ---- arrays\n
print y->grad[0]
echo ---- step\n
next
step
step
finish
echo ---- written\n
watch -l y->in[0]->grad[3]
continue
delete
END
timeout 100 gdb -q -nx -batch -x "$dir/commands" "$dir/04" > "$dir/out" 2>&1
status=$?
if grep -q -i -E 'could not trace|ptrace: Operation not permitted' "$dir/out"; then
  echo 'skip gdb: no process may be traced here'
  exit
elif [ $status != 0 ]; then
  echo 'not ok gdb: gdb failed'
  tail -n 12 "$dir/out" | sed 's/^/  /'
  exit 1
fi

bad=0
section() { sed -n "/^---- $1\$/,/^---- /p" "$dir/out" | grep -v '^----'; }
shows() {                                      # shows NAME SECTION PATTERN
  if section $2 | grep -q -E "$3"; then echo "ok gdb-$1"; return; fi
  bad=1
  echo "not ok gdb-$1: no line matches $3 in"
  section $2 | head -n 12 | sed 's/^/  /'
}
shows own-code-on-top backtrace '^#0 +relu_backward \(y=0x[0-9a-f]+\) at .*04_custom_node.c:'
shows kind-and-op node 'kind = EDF_COMPNODE, op = 0x[0-9a-f]+ "MyRelu"'
shows where-it-was-built node 'file = 0x[0-9a-f]+ ".*04_custom_node.c"'
shows gradient arrays '^\$[0-9]+ = -?[0-9.e-]*[1-9][0-9.e-]*$'
shows next-line step 'for \(size_t i = 0; i < y->size; i\+\+\) edf_addgrad'
shows step-out step 'relu_backward \(y=0x'
if section written | grep -q 'atchpoint.*y->in\[0\]->grad'; then
  shows who-writes-a-gradient written '^Old value = 0|^New value = '
else echo 'skip gdb-who-writes-a-gradient: no watchpoints on this machine'; fi

# Not every machine lets gdb call a function.
timeout 100 gdb -q -nx -batch -ex 'break relu_backward' -ex run -ex 'call (void)edf_print(y)' \
  "$dir/04" > "$dir/called" 2>&1
if grep -q "Couldn't write extended state" "$dir/called"; then
  echo 'skip gdb-calls-edf_print: gdb cannot call functions on this machine'
elif grep -q -E '^MyRelu0 +MyRelu \[b=5, 3\]' "$dir/called"; then echo 'ok gdb-calls-edf_print'
else bad=1; echo 'not ok gdb-calls-edf_print'; tail -n 12 "$dir/called" | sed 's/^/  /'; fi
exit $bad
