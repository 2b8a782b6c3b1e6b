#!/bin/sh
# Numbers are read and written the same whatever setlocale says. A program runs in the C locale
# and in one with a decimal comma: the same text, bit for bit, and the same files.
#   sh tests/locale.sh [DIRECTORY]       uses the implementation build/tests/native.o

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/locale}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
command -v localedef > /dev/null || { echo 'skip locale: no localedef'; exit; }
localedef -i de_DE -f UTF-8 "$dir/de_DE.UTF-8" > /dev/null 2>&1
[ -d "$dir/de_DE.UTF-8" ] || { echo 'skip locale: localedef does not know de_DE'; exit; }
${CC:-cc} -std=c99 -Wall -Wextra -Wpedantic -Werror -DEDF_LINKED -I. tests/locale.c build/tests/native.o -o "$dir/locale" -lm || exit 1

bad=0
verdict() { if [ "$1" = 0 ]; then echo "ok $2"; else echo "not ok $2"; bad=1; fi; }
for which in C de_DE.UTF-8; do
  mkdir -p "$dir/$which.files"
  rm -f "$dir/$which.files"/*
  (cd "$dir/$which.files" && LOCPATH=$dir LC_ALL=$which timeout 60 ../locale > out.txt 2> errors.txt)
done
grep -q '^comma$' "$dir/de_DE.UTF-8.files/errors.txt"
verdict $? 'the-locale-has-a-comma'
for name in out.txt x.npy model.safetensors gelu.onnx step.js curve.svg; do
  cmp "$dir/C.files/$name" "$dir/de_DE.UTF-8.files/$name" && [ -s "$dir/C.files/$name" ]
  verdict $? "$name"
done
grep -q 'a number has a point: after setlocale' "$dir/de_DE.UTF-8.files/errors.txt"
verdict $? 'the-error-names-setlocale'
exit $bad
