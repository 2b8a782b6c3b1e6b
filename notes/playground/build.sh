#!/bin/sh
# The playground as one HTML page.   sh notes/playground/build.sh OUTPUT
# clang compiles program.c to WebAssembly. If clang or wasi-libc is missing, the Python package
# ziglang brings both, in build/venv. Each line <!-- FILE --> of index.html becomes the file.

cd "$(dirname "$0")" || exit 1
top=$(cd ../.. && pwd)
case $1 in /*) out=$1 ;; *) out=$top/$1 ;; esac
dir=$(dirname "$out")/playground venv=$top/build/venv
mkdir -p "$dir/build"

if [ -d /usr/include/wasm32-wasi ] && command -v clang > /dev/null && command -v wasm-ld > /dev/null; then
  wasm='clang --target=wasm32-wasi -mexec-model=reactor -nodefaultlibs -lc'
else
  "$venv/bin/python" -c 'import ziglang' 2> /dev/null || {
    echo 'clang with wasi-libc is missing: installing ziglang in build/venv'
    python3 -m venv "$venv" && "$venv/bin/pip" install -q ziglang || {
      echo 'make playground needs clang, lld and wasi-libc, or python3 with pip and a network'; exit 3; }
  }
  wasm="$venv/bin/python -m ziglang cc --target=wasm32-wasi -mexec-model=reactor"
fi
# edf_try needs clock().
$wasm -O2 -msimd128 -mmutable-globals -DEDF_REAL=double -D_WASI_EMULATED_PROCESS_CLOCKS \
  -I"$top" -Wl,--strip-all -Wl,--export=__stack_pointer -o "$dir/program.wasm" program.c \
  -lwasi-emulated-process-clocks || exit 1
gzip -9nc "$dir/program.wasm" | base64 > "$dir/program.base64"

# A sample: the first step of example 03, on digits that it draws.
${CC:-cc} -O2 -I"$top" -I"$top/examples" "$top/examples/03_mnist.c" -o "$dir/mnist" -lm &&
  (cd "$dir" && env -u EDF_DATA ./mnist --trace --epochs 1 --hidden 16 > mnist.log) || exit 1
gzip -9nc "$dir/build/mnist_trace.js" | base64 > "$dir/sample.base64"

awk -v dir="$dir" '
  /^<!-- [a-z-]+[.][a-z]+ -->$/ {
    file = $2 == "program.wasm" ? dir "/program.base64" : $2 == "sample.js" ? dir "/sample.base64" : $2
    while ((getline line < file) > 0) print line
    close(file)
    next
  }
  { print }' index.html > "$out"
