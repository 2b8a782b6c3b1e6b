#!/bin/sh
# A student's sessions in the debugger: break on the backward of example 04, look at the node,
# read a gradient as a plain array, step a line. (The session of notes/stepping.md: handout.sh.)
#   sh tests/gdb.sh [directory for what is built]

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/gdb}
mkdir -p "$dir"
if ! command -v gdb >/dev/null 2>&1; then echo 'skip gdb: no gdb'; exit; fi
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
echo ---- names\n
printf "op %s, name %s, size %d, rank %d, ", y->op, y->name, (int)y->size, y->rank
printf "dim %d %d\n", y->dim[0], y->dim[1]
echo ---- grad\n
print y->grad[0]
print y->value[0]@3
print y->in[0]->name
echo ---- step\n
next
step
step
echo ---- addgrad\n
info args
finish
delete
echo ---- forward\n
break edf_forward_to
break edf_relu_at
info breakpoints
delete
continue
END

# Not every machine lets gdb call a function: that comes by itself.
cat > "$dir/call" <<'END'
set pagination off
break relu_backward
run
call (void)edf_print(y)
END
timeout 100 gdb -q -nx -batch -x "$dir/commands" "$dir/04" > "$dir/out" 2>&1
status=$?
if grep -q -i -E 'could not trace|ptrace: Operation not permitted' "$dir/out"; then
  echo 'skip gdb: no process may be traced here'
  exit
elif [ $status != 0 ]; then
  echo "not ok gdb: gdb failed"
  tail -n 12 "$dir/out" | sed 's/^/  /'
  exit 1
fi

bad=0
section() { sed -n "/^---- $1\$/,/^---- /p" "$dir/out" | grep -v '^----'; }
shows() {                                      # shows NAME SECTION PATTERN
  if section "$2" | grep -q -E "$3"; then echo "ok gdb-$1"
  else
    bad=1
    echo "not ok gdb-$1: no line matches $3 in"
    section "$2" | head -n 12 | sed 's/^/  /'
  fi
}

shows backtrace-in-the-students-code backtrace \
  '^#0 +relu_backward \(y=0x[0-9a-f]+\) at .*04_custom_node.c:[0-9]+'
shows backtrace-from-backward backtrace '^#[1-9]+ .*edf__?backward'
shows node-kind node 'kind = EDF_COMPNODE, op = 0x[0-9a-f]+ "MyRelu"'
shows node-functions node \
  'forward = 0x[0-9a-f]+ <relu_forward>, backward = 0x[0-9a-f]+ <relu_backward>'
shows node-source node 'file = 0x[0-9a-f]+ ".*04_custom_node.c"'
shows names names '^op MyRelu, name MyRelu0, size 15, rank 2, dim 5 3$'
shows grad grad '^\$[0-9]+ = -?[0-9.e-]*[1-9][0-9.e-]*$'
shows value grad '^\$[0-9]+ = \{[-0-9.e]+, [-0-9.e]+, [-0-9.e]+\}$'
shows input grad '^\$[0-9]+ = 0x[0-9a-f]+ "x"$'
shows step-a-line step 'for \(size_t i = 0; i < y->size; i\+\+\) edf_addgrad'
shows step-into-addgrad addgrad '^x = 0x[0-9a-f]+$'
shows step-out addgrad 'relu_backward \(y=0x'
shows constructors-are-functions forward 'in edf_relu_at at .*edf.h:[0-9]+'
shows runs-to-its-end forward 'exited normally'

timeout 100 gdb -q -nx -batch -x "$dir/call" "$dir/04" > "$dir/called" 2>&1
if grep -q "Couldn't write extended state" "$dir/called"; then
  echo 'skip gdb-calls-edf_print: gdb cannot call functions on this machine'
elif grep -q -E '^MyRelu0 +MyRelu \[b=5, 3\]' "$dir/called"; then echo 'ok gdb-calls-edf_print'
else
  bad=1
  echo 'not ok gdb-calls-edf_print: it printed'
  tail -n 12 "$dir/called" | sed 's/^/  /'
fi

# From an Affine's backward to its multiply-add, in the first Backward, by the definition: few
# frames and few steps, not counting those of the C library. There stand the letters of its
# equation with their numbers, and the three entries; the next time the last letter has grown.
cat > "$dir/affine.c" <<'END'
#define EDF_IMPLEMENTATION
#include "edf.h"
int main(void) {
  edf_real points[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
  edf_node *x = edf_input("x[b,3]");
  edf_affine_package Phi = edf_affine_params(3, 11);
  edf_node *loss = edf_mean(edf_square(edf_affine(Phi, x)));
  edf_feed(x, points, 4);
  for (int i = 0; i < 2; i++) {
    edf_forward();
    edf_backward(loss);
  }
  edf_clear();
  return 0;
}
END
${CC:-cc} -O0 -g -I. "$dir/affine.c" -o "$dir/affine" -lm || exit 1
line=$(awk '/out \+= t->alpha \* a \* b;/ { print FNR }' edf.h)
cat > "$dir/walk" <<END
set pagination off
set width 0
skip -rfu ^_*(mem|str)
break main
run
set var edf.kernel = EDF_REFERENCE
info line edf.h:$line
set \$add = \$_
tbreak edf__einsum_backward
continue
define to_multiply_add
  step
  set \$steps = 1
  while \$pc != \$add && \$steps < 99
    step
    set \$steps = \$steps + 1
  end
end
to_multiply_add
echo ---- frames\\n
backtrace
echo ---- steps\\n
print \$steps
echo ---- locals\\n
info locals
to_multiply_add
echo ---- more\\n
info locals
to_multiply_add
echo ---- product\\n
info locals
to_multiply_add
echo ---- carry\\n
info locals
tbreak edf.h:$line if count[1] == 10
continue
echo ---- ten\\n
info locals
tbreak edf.h:$line if count[0] == 3 && count[1] == 10 && count[2] == 2
continue
echo ---- last\\n
info locals
finish
echo ---- after\\n
print t->letters
set var edf.kernel = EDF_FASTEST
tbreak edf__square_backward
continue
echo ---- zeros\\n
print *edf.parameters[0]->grad@33
print *edf.parameters[1]->grad@11
print *edf.compnodes[0]->grad@44
echo ---- end\\n
END
timeout 100 gdb -q -nx -batch -x "$dir/walk" "$dir/affine" > "$dir/out" 2>&1
shows walk-frames frames '^#[0-4] .*edf__einsum_backward'
shows walk-steps steps '^\$[0-9]+ = ([12][0-9]|30|[1-9])$'
shows walk-letters locals '^at = 0x[0-9a-f]+ "b = 0, j =  0, I = 0"$'
for entry in out a b; do shows "walk-entry-$entry" locals "^$entry = -?[0-9.]+\$"; done
shows walk-last-letter-grows more '^at = 0x[0-9a-f]+ "b = 0, j =  0, I = 1"$'
shows walk-product product '^at = 0x[0-9a-f]+ "b = 0, j =  0, I = 2"$'
shows walk-carries carry '^at = 0x[0-9a-f]+ "b = 0, j =  1, I = 0"$'
shows walk-tenth ten '^at = 0x[0-9a-f]+ "b = 0, j = 10, I = 0"$'
shows walk-last last '^at = 0x[0-9a-f]+ "b = 3, j = 10, I = 2"$'
shows zeros-where-nothing-has-arrived zeros '^\$[0-9]+ = \{0 <repeats 33 times>\}$'
shows zeros-of-a-bias zeros '^\$[0-9]+ = \{0 <repeats 11 times>\}$'
shows zeros-of-a-node zeros '^\$[0-9]+ = \{0 <repeats 44 times>\}$'
shows walk-ends-at-0 after '"b = 0, j =  0, I = 0"$'

# By the fast kernels: where they first write a gradient.
cat > "$dir/fast" <<'END'
set pagination off
set width 0
break edf__einsum_backward
run
watch -l y->in[2]->grad[0]
continue
echo ---- frames\n
backtrace
echo ---- end\n
END
timeout 100 gdb -q -nx -batch -x "$dir/fast" "$dir/affine" > "$dir/out" 2>&1
shows fast-frames frames '^#[1-9] .*edf_backward '
exit $bad
