"""peers.py - compares our training step with PyTorch's and JAX's on this CPU.

    make bench MODELS="peers [MODEL ...]"             or, after make build/bench:
    TURNS=5 TURN=1 python3 bench/peers.py [MODEL ...]

Three more models are larger: mlp_wide, 784-2048-2048-10 with batch 512; gpt_wide, a GPT of 6
layers of 256, with 128 letters and batch 16; and after it gpt_long, the same with 512 letters
and batch 4, where PyTorch's fused attention keeps no matrix of scores. mlp_a_row and lenet_row
are a forward pass of one row, with onnxruntime as one more contestant.

The models are those of bench.c, torch_bench.py and jax_bench.py. There are four contestants:
our program, PyTorch eager, PyTorch compiled, and JAX with jit. Each is a process of its own,
and they take turns. A turn first runs untimed steps for a fifth of a second, so that sleeping
threads wake up. Then it times steps for one second (TURN). Each turn begins with the next
contestant. There are 5 turns (TURNS). The five models take about 8 minutes. The first run takes
longer, because torch.compile fills its cache in build/peers.

With one thread, all contestants run on the same core, and time is the CPU time of the process.
With all threads, time is the wall clock, so the machine should do nothing else. A printed time
is the median over the turns. The ratio of a turn is our time over the best other time. The
printed ratio is the median over the turns.

If this Python has no torch or no jax, build/peers gets the missing package from PyPI. PyTorch
takes 5 GB there on Linux, because it comes with everything for a GPU. PIP_INDEX_URL can name an
index with a smaller PyTorch. If a package cannot be installed, the comparison continues without
it. torch.compile needs a C++ compiler."""
import contextlib
import os
import statistics
import subprocess
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
DIR = "build/peers"
TURNS = int(os.environ.get("TURNS", 5))
TURN = os.environ.get("TURN", "1")
CAN_PIN = hasattr(os, "sched_setaffinity")                  # Linux
os.makedirs(DIR, exist_ok=True)
os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.abspath(DIR + "/cache")


def succeeds(*command, **options):
    with open(DIR + "/log", "w") as log:
        return subprocess.run(command, stdout=log, stderr=log, **options).returncode == 0


def python_with(*packages):
    """Returns a Python that can import the packages, or None."""
    own, test = DIR + "/bin/python", "import " + ", ".join(packages)
    for python in (sys.executable, own):
        if os.path.exists(python) and succeeds(python, "-c", test):
            return python
    names = " ".join(packages)
    print("peers: installing %s in %s" % (names, DIR), file=sys.stderr)
    if (succeeds(sys.executable, "-m", "venv", DIR)
            and succeeds(own, "-m", "pip", "install", "-q", *packages)
            and succeeds(own, "-c", test)):
        return own
    print("peers: %s cannot be installed: see %s/log" % (names, DIR))
    return None


def build_with_threads():
    """Returns True if our program was built with OpenMP."""
    return succeeds("${CC:-cc} -fopenmp ${CFLAGS:--O3 -march=native} $BLAS_CFLAGS -I. "
                    "bench/bench.c -o %s/bench_threads $BLAS_LIBS -lm" % DIR, shell=True)


class Contestant:
    """A program that prints a line when it is ready, and a time for every line of input."""

    def __init__(self, name, *command):
        self.name, self.times = name, []
        with open("%s/%s.log" % (DIR, name), "w") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=log, text=True)

    def answer(self):
        line = self.process.stdout.readline().strip()
        if not line:
            sys.exit("peers: %s stopped: see %s/%s.log" % (self.name, DIR, self.name))
        return line

    def turn(self):
        with contextlib.suppress(BrokenPipeError):
            print(TURN, file=self.process.stdin, flush=True)
        self.times.append(float(self.answer()))


def compare(model, threads):
    os.environ["OMP_NUM_THREADS"] = str(threads)
    program = ("build/bench", "step") if threads == 1 else (DIR + "/bench_threads", "wall")
    contestants = [Contestant("ours", *program, model)]
    if torch:
        for how in "eager", "compile":
            contestants.append(Contestant(how, torch, "bench/torch_bench.py", "--cpu",
                                          "--turns", how, model))
    if jax:
        contestants.append(Contestant("jax", jax, "bench/jax_bench.py", model))
    if onnx and model.endswith("_row"):
        contestants.append(Contestant("onnx", onnx, "bench/onnx_bench.py", model))
    ours, *others = contestants
    ours.answer()                                           # the loss, for against.sh
    if len({c.answer() for c in others}) != 1:
        sys.exit("peers: %s: the numbers of parameters differ" % model)
    for first in range(TURNS):
        for i in range(len(contestants)):
            contestants[(first + i) % len(contestants)].turn()
    for c in contestants:
        c.process.communicate()
    us = {c.name: "%.2f" % statistics.median(c.times) for c in contestants}
    best = [min(turn) for turn in zip(*(c.times for c in others))]
    ratio = statistics.median(t / b for t, b in zip(ours.times, best))
    row = " onnx_us=%s" % us.get("onnx", "-") if model.endswith("_row") else ""
    print("peers %s threads=%d ours_us=%s eager_us=%s compiled_us=%s jax_us=%s%s ratio=%.3f"
          % (model, threads, us["ours"], us.get("eager", "-"), us.get("compile", "-"),
             us.get("jax", "-"), row, ratio), flush=True)


torch, jax = python_with("torch"), python_with("jax")
models = sys.argv[1:] or ["mlp_a", "mlp_b", "lenet", "lstm", "gpt"]
rows = any(model.endswith("_row") for model in models)
onnx = python_with("onnx", "onnxruntime") if rows else None
if not torch and not jax:
    print("skip peers: there is nobody to compare with")
    sys.exit(0)
cores = sorted(os.sched_getaffinity(0)) if CAN_PIN else list(range(os.cpu_count()))
kinds = [1]
if len(cores) > 1:
    if build_with_threads():
        kinds.append(len(cores))
    else:
        print("skip peers with all threads: no OpenMP")
if "gpt_wide" in models and "gpt_long" not in models:       # of the same size
    models.insert(models.index("gpt_wide") + 1, "gpt_long")
for model in models:
    for threads in kinds:
        if CAN_PIN:
            os.sched_setaffinity(0, cores[-threads:])
        compare(model, threads)
