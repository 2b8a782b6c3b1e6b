#!/bin/sh
# Files of other programs.  sh tests/formats.sh [DIRECTORY]      in double
#                           sh tests/formats.sh DIRECTORY rest   in float, and with sanitizers
# formats/check.py has the cases. It needs: build/venv/bin/pip install numpy pandas safetensors
# onnx onnxruntime pillow. Without stb/stb_image.h (libstb-dev) only PGM and PPM are read.

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/formats}
mkdir -p "$dir"
job=formats modules='numpy pandas safetensors.numpy onnx onnxruntime PIL'
. tests/python_with.sh

stb=
echo '#include <stb/stb_image.h>' | ${CC:-cc} -E - > /dev/null 2>&1 && stb=-DWITH_STB
[ "$stb" ] || echo 'skip stb: no stb/stb_image.h'

cases() {  # NAME NUMBERS FLAGS
  ${CC:-cc} -std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -I. -DEDF_IMPLEMENTATION \
    $3 $stb tests/formats/read.c -o "$dir/read-$1" -lm || exit 1
  $python tests/formats/check.py "$dir/read-$1" $2 "$dir/$1" > "$dir/$1.log" 2>&1
  if [ $? = 0 ]; then echo "ok $1: $(cat "$dir/$1.log")"
  else echo "not ok $1"; sed 's/^/  /' "$dir/$1.log"; exit 1; fi
}

if [ "$2" != rest ]; then cases double float64 '-O0 -DEDF_REAL=double'; exit; fi
with=$stb stb=                            # and without stb_image.h
cases float float32 -O1
stb=$with
sanitize='-fsanitize=address,undefined -fno-sanitize-recover=all'
echo 'int main(void) { return 0; }' > "$dir/probe.c"
if ${CC:-cc} $sanitize "$dir/probe.c" -o "$dir/probe" 2> /dev/null && "$dir/probe"; then
  cases sanitized float64 "-O1 -DEDF_REAL=double $sanitize"
else
  echo 'skip sanitized: no sanitizers'
fi
