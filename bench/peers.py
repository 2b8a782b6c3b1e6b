"""peers.py - our step beside PyTorch's and JAX's on this CPU: make bench MODELS=peers

    TURNS=5 SECONDS=1 PYTHON=python3 python3 bench/peers.py [MODEL ...]

The models are those of bench.c, and the same in torch_bench.py, eager and compiled, and in
jax_bench.py, jitted. The programs take turns of a second, after a fifth of a second that is not
timed: between short turns the threads fall asleep. One thread is measured by CPU time, all
threads by the wall clock. The printed times are medians. The ratio is ours over the best of the
others in the same turn, and the median over the turns. With 5 turns, five models take eight
minutes. If $PYTHON has no torch, build/peers gets torch and jax from PyPI: on Linux 6 GB, with
all that a GPU would need. Without jax the others are compared. torch.compile needs a C++
compiler."""
import os
import shlex
import statistics
import subprocess
import sys

HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(HOME, "build", "peers")
TURNS, SECONDS = int(os.environ.get("TURNS", 5)), os.environ.get("SECONDS", "1")
MODELS = ["mlp_a", "mlp_b", "lenet", "lstm", "gpt"]


def log(name):
    return open(os.path.join(FOLDER, name + ".log"), "w")


def runs(*command):
    with log("setup") as said:
        return subprocess.run(command, cwd=HOME, stdout=said, stderr=said).returncode == 0


def python_with_torch():
    """Returns a Python that has torch, or None."""
    python, own = os.environ.get("PYTHON") or sys.executable, os.path.join(FOLDER, "bin", "python")
    if runs(python, "-c", "import torch"):
        return python
    if not os.path.exists(own) and not runs(python, "-m", "venv", FOLDER):
        return None
    if not runs(own, "-c", "import torch"):
        print("peers: installing PyTorch and JAX in build/peers", file=sys.stderr)
        runs(own, "-m", "pip", "install", "-q", "jax")
        runs(own, "-m", "pip", "install", "-q", "torch")
    return own if runs(own, "-c", "import torch") else None


def build_ours(name, *options):
    flags = [word for key, value in (("CFLAGS", "-O3 -march=native"), ("BLAS_CFLAGS", ""))
             for word in shlex.split(os.environ.get(key) or value)]
    libs = shlex.split(os.environ.get("BLAS_LIBS", "")) + ["-lm"]
    program = os.path.join(FOLDER, name)
    return program if runs(os.environ.get("CC") or "cc", *options, *flags, "-I.",
                           "bench/bench.c", "-o", program, *libs) else None


class Contestant:
    """A program that answers each line, a number of seconds, with the time of a step."""
    def __init__(self, name, threads, *command):
        self.name, self.times = name, []
        env = dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads),
                   TORCHINDUCTOR_CACHE_DIR=os.path.join(FOLDER, "cache"))
        cores = sorted(os.sched_getaffinity(0))[:threads]
        self.program = subprocess.Popen(command, cwd=HOME, env=env, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=log(name),
                                        preexec_fn=lambda: os.sched_setaffinity(0, cores))
        self.answer()                            # a first line: it is ready

    def answer(self):
        line = self.program.stdout.readline()
        if not line:
            sys.exit("peers: %s stopped; see %s/%s.log" % (self.name, FOLDER, self.name))
        return float(line)

    def turn(self):
        print(SECONDS, file=self.program.stdin, flush=True)
        self.times.append(self.answer())


def compare(model, threads, program, kind, python, has_jax):
    bench = os.path.join("bench", "%s_bench.py")
    all_of_them = [Contestant("ours", threads, program, kind, model)]
    for mode in ("eager", "compile"):
        all_of_them.append(Contestant(mode, threads, python, bench % "torch", "--cpu",
                                      "--turns", mode, model))
    if has_jax:
        all_of_them.append(Contestant("jax", threads, python, bench % "jax", model))
    for turn in range(TURNS):
        for k in range(len(all_of_them)):
            all_of_them[(turn + k) % len(all_of_them)].turn()
    for each in all_of_them:
        each.program.stdin.close()
        each.program.wait()
    ratios = [us[0] / min(us[1:]) for us in zip(*(each.times for each in all_of_them))]
    print("peers %s threads=%d %s ratio=%.3f"
          % (model, threads, " ".join("%s_us=%.1f" % (each.name, statistics.median(each.times))
                                      for each in all_of_them), statistics.median(ratios)),
          flush=True)


def main():
    os.makedirs(FOLDER, exist_ok=True)
    python = python_with_torch()
    if not python:
        print("skip peers: PyTorch was not installed; see build/peers/setup.log")
        return
    has_jax = runs(python, "-c", "import jax")
    if not has_jax:
        print("skip JAX: it was not installed")
    cores = len(os.sched_getaffinity(0))
    one = build_ours("bench_one") or sys.exit("peers: no compiler; see build/peers/setup.log")
    more = build_ours("bench_threads", "-fopenmp") if cores > 1 else None
    if cores > 1 and not more:
        print("skip peers with all threads: no OpenMP")
    for model in sys.argv[1:] or MODELS:
        compare(model, 1, one, "step", python, has_jax)
        if more:
            compare(model, cores, more, "wall", python, has_jax)


main()
