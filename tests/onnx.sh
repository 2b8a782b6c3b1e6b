#!/bin/sh
# onnxruntime runs what edf_save_onnx writes, and gets our values: see onnx/check.py.
#   python3 -m venv build/venv && build/venv/bin/pip install onnx onnxruntime
#   sh tests/onnx.sh [DIRECTORY]

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/onnx} native=build/tests/native.o
mkdir -p "$dir"
job=onnx modules='onnx onnxruntime'
. tests/python_with.sh
[ -f $native ] || make -s -f tests/suite.mk $native || exit 1

bad=0
for program in models course puzzles; do
  rm -rf "$dir/$program.d"
  mkdir "$dir/$program.d"
  ${CC:-cc} -std=c99 -I. -Itests tests/onnx/$program.c $native \
    -o "$dir/$program" -lm || exit 1
  EXPORT_TO="$dir/$program.d" "$dir/$program" > "$dir/out" || { bad=1; grep '^not ok' "$dir/out"; }
  $python tests/onnx/check.py $program "$dir/$program.d" || bad=1
done

# A wrong number is noticed.
cp "$dir/models.d/2.5/is.npy" "$dir/models.d/1.5/is.npy"
if $python tests/onnx/check.py planted "$dir/models.d" > "$dir/out"; then
  bad=1; echo 'not ok onnx-planted: a wrong number is not noticed'
else echo 'ok onnx-planted'; fi
exit $bad
