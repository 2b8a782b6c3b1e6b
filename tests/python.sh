#!/bin/sh
# Files that Python writes are read here, and the other way round: safetensors and .npy, with
# the packages safetensors and numpy, of the system or in build/venv:
#   python3 -m venv build/venv && build/venv/bin/pip install numpy safetensors
#   sh tests/python.sh [directory for what is built]

cd "$(dirname "$0")/.." || exit 1
dir=${1:-build/tests/python}
mkdir -p "$dir"
bad=0

python=
for each in python3 build/venv/bin/python; do
  $each -c 'import numpy, safetensors.numpy' 2>/dev/null && python=$each && break
done
if [ -z "$python" ]; then
  echo 'skip python: no python3 with numpy and safetensors'
  exit
fi

cat > "$dir/model.c" <<'END'
#define EDF_IMPLEMENTATION
#include "edf.h"
static edf_node *x, *loss;
static AffineParams Phi;
static void step(void) {
  static const edf_real rows[6] = { 1, 2, 3, -1, 0, 1 };
  edf_feed(x, rows, 2);
  Forward();
  Backward(loss);
  edf_adam((edf_real)0.1, (edf_real)0.9, (edf_real)0.99, (edf_real)1e-8);
}
int main(int argc, char **argv) {
  if (argc < 4) return 1;
  x = edf_input("x[b,3]");
  Phi = edf_affine_params(3, 2);
  loss = Square(Affine(Phi, x));
  if (argv[1][0] == 's') {
    step(); step(); step();
    edf_save(argv[2]);
    edf_save_npy(argv[3], edf_view(Phi.w));
  } else {
    edf_load(argv[2]);
    edf_array a = edf_load_npy(argv[3]);
    printf("%.9g %.9g %ld", (double)Phi.w->value[5], (double)Phi.b->value[1], Phi.w->steps);
    printf(" %.9g %d %d %.9g\n", Phi.w->m ? (double)Phi.w->m[0] : -1, a.dim[0], a.dim[1],
           (double)a.value[a.size - 1]);
    edf_free_array(&a);
  }
  edf_clear();
  return 0;
}
END

check() {                                      # check NAME COMMAND
  name=$1; shift
  if "$@" > "$dir/$name.out" 2>&1; then echo "ok python-$name"
  else bad=1; echo "not ok python-$name:"; tail -n 6 "$dir/$name.out" | sed 's/^/  /'; fi
}

for real in float double; do
  program="$dir/model-$real"
  ${CC:-cc} -O1 -I. -DEDF_REAL=$real "$dir/model.c" -o "$program" -lm || exit 1
  check $real-writes "$program" save "$dir/c.safetensors" "$dir/c.npy"
  cat > "$dir/both.py" <<END
import numpy, struct, subprocess
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
kind = numpy.float32 if "$real" == "float" else numpy.float64
t = load_file("$dir/c.safetensors")
assert sorted(t) == ["b1", "b1.m", "b1.s", "w1", "w1.m", "w1.s"], sorted(t)
assert all(v.dtype == kind for v in t.values())
assert t["w1"].shape == (3, 2) and t["b1"].shape == (2,)
assert (t["w1"] == numpy.load("$dir/c.npy")).all(), "the .npy"
meta = safe_open("$dir/c.safetensors", "np").metadata()
assert meta["w1.steps"] == "3" and meta["b1.steps"] == "3", meta
assert meta["edf.equations"].startswith("input x[b,3]\nparameter w1[3,2]\n"), meta

def run():
    line = subprocess.run(["$program", "load", "$dir/p.safetensors", "$dir/p.npy"], check=True,
                          capture_output=True, text=True).stdout.split()
    return [float(x) for x in line]

def near(a, b): return abs(a - b) <= 1e-6 * abs(b)

# all that it knows, changed by Python
t["w1"][2, 1] = 0.375
save_file(t, "$dir/p.safetensors", metadata=meta)
numpy.save("$dir/p.npy", numpy.arange(12, dtype=numpy.int64).reshape(3, 4))
got = run()
assert got[0] == 0.375 and near(got[1], t["b1"][1]) and got[2] == 3, got
assert near(got[3], t["w1.m"][0, 0]) and got[4:] == [3, 4, 11], got

# the parameters alone, in either precision
for kind in numpy.float32, numpy.float64:
    save_file({"w1": numpy.full((3, 2), 0.1, kind), "b1": numpy.zeros(2, kind)},
              "$dir/p.safetensors")
    numpy.save("$dir/p.npy", numpy.array([[1.5, -2.25]], kind))
    got = run()
    assert near(got[0], 0.1) and got[1:4] == [0, 0, -1] and got[4:] == [1, 2, -2.25], got
END
  check $real-round-trip $python "$dir/both.py"
  # another shape, another type, Fortran order: refused
  cat > "$dir/refused.py" <<END
import numpy, subprocess
from safetensors.numpy import save_file
good = {"w1": numpy.zeros((3, 2), numpy.float32), "b1": numpy.zeros(2, numpy.float32)}
numpy.save("$dir/good.npy", numpy.zeros((2, 2)))
numpy.save("$dir/fortran.npy", numpy.asfortranarray(numpy.zeros((2, 3))))
def refused(tensors, npy, words):
    save_file(tensors, "$dir/bad.safetensors")
    r = subprocess.run(["$program", "load", "$dir/bad.safetensors", npy], capture_output=True,
                       text=True)
    assert r.returncode != 0 and words in r.stderr, r
refused(dict(good, w1=numpy.zeros((2, 3), numpy.float32)), "$dir/good.npy",
        'tensor w1 has the shape [2, 3], but parameter "w1" [3, 2]')
refused(dict(good, w1=numpy.zeros((3, 2), numpy.float16)), "$dir/good.npy",
        "tensor w1 has the type F16")
refused(dict(good, extra=numpy.zeros(1)), "$dir/good.npy", "tensor extra is no parameter")
refused(good, "$dir/fortran.npy", "Fortran order")
END
  check $real-refuses $python "$dir/refused.py"
done
exit $bad
