#!/bin/sh
# numpy, safetensors and zlib read what we write, and we read what they write.
#   python3 -m venv build/venv && build/venv/bin/pip install numpy safetensors
#   sh tests/python.sh [DIRECTORY]

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/python}
mkdir -p "$dir"
job=python modules='numpy safetensors.numpy'
. tests/python_with.sh

cat > "$dir/model.c" <<'END_OF_C'
#define EDF_IMPLEMENTATION
#include "edf.h"
#include "edf/data.h"
int main(int argc, char **argv) {
  static edf_real rows[1800] = { 1, 2, 3, -1, 0, 1 };
  Input *x = edf_input("x[b,3]");
  AffineParams Phi = edf_affine_params(3, 2);
  CompNode *loss = edf_square(edf_affine(Phi, x));
  for (int i = 0; argc == 4 && i < 3; i++) {
    edf_feed(x, rows, 2);
    edf_forward();
    edf_backward(loss);
    edf_adam_default((edf_real)0.1);
  }
  for (int i = 0; i < 1800; i++) rows[i] = (edf_real)(i % 256) / 255;
  if (argc == 4) {                               /* MODEL NPY PNG: writes them */
    edf_array picture = { 3, { 2, 300, 3 }, 1800, rows };
    edf_save(argv[1]);
    edf_save_npy(argv[2], edf_view(Phi.w));
    edf_save_image(argv[3], picture);
  } else {                                       /* MODEL NPY: prints what is in them */
    edf_load(argv[1]);
    edf_array a = edf_load_npy(argv[2]);
    double m = Phi.w->m ? (double)Phi.w->m[0] : 0, last = (double)a.value[a.size - 1];
    printf("%.9g %.9g %ld %.9g %d %d %.9g\n", (double)Phi.w->value[5], (double)Phi.b->value[1],
           Phi.w->steps, m, a.dim[0], a.dim[1], last);
  }
  return 0;
}
END_OF_C

cat > "$dir/check.py" <<'END_OF_PYTHON'
import subprocess, sys, zlib
import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
program, real, d = sys.argv[1:]
ours, theirs = [f"{d}/{who}.safetensors {d}/{who}.npy".split() for who in ("ours", "theirs")]
def run(*files):
    return subprocess.run([program, *files], capture_output=True, text=True)
def read(tensors, array, metadata=None):
    save_file(tensors, theirs[0], metadata=metadata)
    np.save(theirs[1], array)
    return run(*theirs)
def has(numbers, *what):
    assert np.allclose([float(x) for x in read(*what).stdout.split()], numbers, 1e-6, 0), what

assert run(*ours, f"{d}/ours.png").returncode == 0             # what we write
t, meta = load_file(ours[0]), safe_open(ours[0], "np").metadata()
assert sorted(t) == ["b1", "b1.m", "b1.s", "w1", "w1.m", "w1.s"], sorted(t)
assert {str(x.dtype) for x in t.values()} == {real} and meta["w1.steps"] == "3", meta
assert t["w1"].shape == (3, 2) and (t["w1"] == np.load(ours[1])).all()
lines = zlib.decompress(open(f"{d}/ours.png", "rb").read()[41:-16])
byte = bytes(i % 256 for i in range(1800))
assert lines == b"\0" + byte[:900] + b"\0" + byte[900:]

t["w1"][2, 1] = 0.375                                          # what they write
a = np.arange(12, dtype=np.int64).reshape(3, 4)
has([0.375, t["b1"][1], 3, t["w1.m"][0, 0], 3, 4, 11], t, a, meta)
for kind in np.float32, np.float64:
    good = {"w1": np.full((3, 2), 0.1, kind), "b1": np.zeros(2, kind)}
    has([0.1, 0, 0, 0, 1, 2, -2.25], good, np.array([[1.5, -2.25]], kind))
END_OF_PYTHON

bad=0
for real in float:float32 double:float64; do
  ${CC:-cc} -I. -DEDF_REAL=${real%:*} "$dir/model.c" -o "$dir/model" -lm || exit 1
  $python "$dir/check.py" "$dir/model" ${real#*:} "$dir" > "$dir/out" 2>&1 &&
    echo "ok python-${real%:*}" && continue
  bad=1
  echo "not ok python-${real%:*}: $(tail -n 1 "$dir/out")"
done
exit $bad
