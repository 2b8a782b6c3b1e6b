#!/bin/sh
# The playground as one HTML page.   sh notes/playground/build.sh OUTPUT
# clang compiles program.c to WebAssembly. Each line <!-- FILE --> of index.html becomes the file.

cd "$(dirname "$0")" || exit 1
case $1 in /*) out=$1 ;; *) out=../../$1 ;; esac
dir=$(dirname "$out")/playground
mkdir -p "$dir"
clang=${CLANG:-clang}
[ -d /usr/include/wasm32-wasi ] && command -v $clang > /dev/null && command -v wasm-ld > /dev/null || {
  echo 'make playground needs apt install clang lld wasi-libc'; exit 3; }
$clang --target=wasm32-wasi -mexec-model=reactor -O2 -msimd128 -DEDF_REAL=double -I../.. \
  -nodefaultlibs -lc -Wl,--strip-all -o "$dir/program.wasm" program.c || exit 1
gzip -9nc "$dir/program.wasm" | base64 > "$dir/program.base64"
awk -v wasm="$dir/program.base64" '
  /^<!-- [a-z]+[.][a-z]+ -->$/ {
    file = $2 == "program.wasm" ? wasm : $2
    while ((getline line < file) > 0) print line
    close(file)
    next
  }
  { print }' index.html > "$out"
