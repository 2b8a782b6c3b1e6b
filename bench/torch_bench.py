"""torch_bench.py - the models of cuda.c in PyTorch, measured in the same way: for cuda.sh; and
those of bench.c, for peers.py.

    torch_bench.py [--quick] [--compile-mode MODE] [MODEL ...]        EDF_PRECISION=tf32 ...
    torch_bench.py --cpu --turns eager MODEL

Three ways to run the same step (forward, backward, optimiser):
    eager      as it is written
    compile    forward and loss through torch.compile, and so backward; mode "default", or
               "max-autotune-no-cudagraphs"
    captured   the whole eager step recorded as one CUDA graph and replayed, with batches copied
               to where it reads them
Each has the best that PyTorch offers to anyone: fused optimisers, fused attention with one
product for q, k and v, cuDNN's LSTM, cudnn.benchmark. No data loader: a batch is a slice of
tensors on the GPU ("resident"), or of pinned memory of the host ("fed").

After 10 steps to warm up, the median of 15 repetitions; each has as many steps as take 50 ms,
and one wait at its end, loss.item(). A line a model:

    torch mlp_a precision=fp32 batch=64 parameters=50890 eager_fed_us=... eager_fed_q1=... ...

Without PyTorch or a GPU it prints a line that begins with "skip". --cpu: on the CPU, where
mlp_a has a sigmoid, as in bench.c, nothing is captured and nothing fed. --turns MODE first
prints the number of parameters. Then each line of input gives the length of a turn in seconds.
A turn begins with untimed steps for a fifth of its length. The program prints the microseconds
of a timed step: CPU time with one thread, otherwise the wall clock."""
import argparse
import math
import os
import sys
import time

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError as error:
    print("skip torch_bench: no PyTorch here (%s)" % error)
    sys.exit(0)

PIXELS, CLASSES, LETTERS, HEADS = 784, 10, 65, 4
ROTATE, WARM, REPEATS, ENOUGH, MOST_STEPS = 8, 10, 15, 50e-3, 1 << 20
MODES = ("eager", "compile", "captured")


class Sizes:
    """As in models.h, and as cuda.c shrinks them."""
    times, hidden, wide, layers = 64, 128, 128, 4

    def be_quick(self):
        self.times, self.hidden, self.wide, self.layers = 6, 16, 16, 1


sizes = Sizes()


# ---- Models

def mlp(activation, *widths):
    layers = []
    for n_in, n_out in zip(widths, widths[1:]):
        layers += [nn.Linear(n_in, n_out), activation()]
    return nn.Sequential(*layers[:-1])


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 16, 5), nn.Conv2d(16, 32, 5)
        self.third, self.fourth = nn.Linear(512, 128), nn.Linear(128, CLASSES)

    def forward(self, x):
        h = F.relu(F.max_pool2d(self.first(x.view(-1, 1, 28, 28)), 2))
        h = F.relu(F.max_pool2d(self.second(h), 2))
        return self.fourth(F.relu(self.third(h.flatten(1))))


class LSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.letters = nn.Embedding(LETTERS, sizes.hidden)
        self.cell = nn.LSTM(sizes.hidden, sizes.hidden, batch_first=True)
        self.out = nn.Linear(sizes.hidden, LETTERS)

    def forward(self, x):
        return self.out(self.cell(self.letters(x))[0])


class Layer(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(n), nn.LayerNorm(n)
        self.qkv, self.merge = nn.Linear(n, 3 * n, bias=False), nn.Linear(n, n, bias=False)
        self.up, self.down = nn.Linear(n, 4 * n), nn.Linear(4 * n, n)

    def forward(self, h):
        batch, times, n = h.shape
        qkv = self.qkv(self.norm1(h)).view(batch, times, 3, HEADS, n // HEADS)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        h = h + self.merge(seen.transpose(1, 2).reshape(batch, times, n))
        return h + self.down(F.gelu(self.up(self.norm2(h)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.letters = nn.Embedding(LETTERS, sizes.wide)
        self.places = nn.Parameter(0.02 * torch.randn(sizes.times, sizes.wide))
        self.layers = nn.Sequential(*[Layer(sizes.wide) for _ in range(sizes.layers)])
        self.norm, self.out = nn.LayerNorm(sizes.wide), nn.Linear(sizes.wide, LETTERS)

    def forward(self, x):
        return self.out(self.norm(self.layers(self.letters(x) + self.places)))


# ---- Optimisers. Adam's counter of steps is on the GPU where the step is captured.

def sgd(model, captured, fused):
    return torch.optim.SGD(model.parameters(), lr=0.01, fused=fused)


def momentum(model, captured, fused):
    return torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9, fused=fused)


def adam(model, captured, fused):
    return torch.optim.Adam(model.parameters(), lr=0.001, betas=(0.9, 0.99), eps=1e-8,
                            fused=fused, capturable=captured)


def adamw(model, captured, fused):
    """Thresholds, gains and biases do not shrink."""
    groups = [{"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": 0.1},
              {"params": [p for p in model.parameters() if p.dim() == 1], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=0.0005, betas=(0.9, 0.99), eps=1e-8, fused=fused,
                             capturable=captured)


class Model:
    def __init__(self, batch, small, build, optimiser, text=False, clip=False, row=False,
                 **larger):
        self.batch, self.small, self.build, self.larger = batch, small, build, larger
        self.optimiser, self.text, self.clip, self.row = optimiser, text, clip, row


def mlp_model(batch, small, *widths, on_cpu=nn.ReLU):
    def build():
        hidden = [32 if args.quick else n for n in widths[1:-1]]
        return mlp(on_cpu if args.cpu else nn.ReLU, widths[0], *hidden, widths[-1])
    return Model(batch, small, build, sgd)


MODELS = {
    "mlp_a": mlp_model(64, 4, PIXELS, 64, CLASSES, on_cpu=nn.Sigmoid),
    "mlp_b": mlp_model(128, 4, PIXELS, 512, 512, CLASSES),
    "wide_1024": mlp_model(1024, 4, PIXELS, 4096, 4096, CLASSES),
    "wide_8192": mlp_model(8192, 8, PIXELS, 4096, 4096, CLASSES),
    "lenet": Model(64, 2, LeNet, momentum),
    "lstm": Model(32, 1, LSTM, adam, text=True, clip=True),
    "gpt": Model(16, 1, GPT, adamw, text=True, clip=True),
    "mlp_wide": mlp_model(512, 4, PIXELS, 2048, 2048, CLASSES),
    "gpt_wide": Model(16, 1, GPT, adamw, text=True, clip=True, times=128, wide=256, layers=6),
    "gpt_long": Model(4, 1, GPT, adamw, text=True, clip=True, times=512, wide=256, layers=6),
}

for name in "mlp_a", "lenet":                    # Forward of one row
    MODELS[name + "_row"] = Model(1, 1, MODELS[name].build, None, row=True)
CPU_ONLY = "mlp_wide", "gpt_wide", "gpt_long", "mlp_a_row", "lenet_row"


def parameters(net):
    """nn.LSTM has a second bias, which ours does not: not counted."""
    return sum(p.numel() for name, p in net.named_parameters() if "bias_hh" not in name)


# ---- Data: pairs of tensors, one after another, on the GPU or in pinned memory

def batches(m, batch, resident):
    rows = ROTATE * batch
    if m.text:
        x, y = torch.randint(LETTERS, (2, rows, sizes.times))
    else:
        x, y = torch.rand(rows, PIXELS) - 0.5, torch.randint(CLASSES, (rows,))
    if resident:
        x, y = x.to(device), y.to(device)
    elif device.type == "cuda":
        x, y = x.pin_memory(), y.pin_memory()
    return list(zip(x.split(batch), y.split(batch)))


# ---- The three ways. Each makes a function (x, y) -> loss, whose x and y are in either place.

def step_of(m, net, captured, loss_of):
    optimiser = m.optimiser(net, captured, True)

    def step(x, y):
        optimiser.zero_grad(set_to_none=True)
        loss = loss_of(x, y)
        loss.backward()
        if m.clip:
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        return loss
    return step


def moved(step):
    def run(x, y):
        return step(x.to(device, non_blocking=True), y.to(device, non_blocking=True))
    return run


def captured(step, x, y):
    x, y = x.to(device, copy=True), y.to(device, copy=True)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM):
            step(x, y)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step(x, y)

    def run(new_x, new_y):
        x.copy_(new_x, non_blocking=True)
        y.copy_(new_y, non_blocking=True)
        graph.replay()
        return loss
    return run


def runner(m, mode, x, y):
    torch.manual_seed(1)
    net = m.build().to(device)

    def loss_of(x, y):
        scores = net(x)
        return F.cross_entropy(scores.view(-1, scores.shape[-1]), y.view(-1))
    if mode == "compile":
        torch._dynamo.reset()
        loss_of = torch.compile(loss_of, mode=args.compile_mode)
    step = step_of(m, net, mode == "captured", loss_of)
    run = captured(step, x, y) if mode == "captured" else moved(step)
    return run, parameters(net)


def row_runner(m, mode):
    """Returns a function (x, y) -> a score of one row x, and the number of parameters."""
    torch.manual_seed(1)
    net = m.build().eval()
    scores = torch.compile(net) if mode == "compile" else net

    def run(x, y):
        with torch.inference_mode():
            return scores(x)[0, 0]
    return run, parameters(net)


# ---- Times

clock = time.perf_counter


def seconds(run, data, steps):
    start = clock()
    for i in range(steps):
        loss = run(*data[i % ROTATE])
    if not math.isfinite(loss.item()):
        raise ArithmeticError("the loss is not a number")
    return clock() - start


def steps_of(run, data, enough):
    steps = 1
    while not args.quick and steps < MOST_STEPS:
        took = seconds(run, data, steps)
        if took >= enough / 2:
            return max(1, math.ceil(enough / took * steps))
        steps *= 2
    return steps


def measure(run, data):
    seconds(run, data, 3 if args.quick else WARM)
    steps = steps_of(run, data, ENOUGH)
    repeats = 1 if args.quick else REPEATS
    us = sorted(1e6 * seconds(run, data, steps) / steps for _ in range(repeats))
    return us[repeats // 4], us[repeats // 2], us[3 * repeats // 4]


def times(m, mode, batch):
    """(number of parameters, {data: quartiles or None}); a way that fails is told of."""
    found, count = {"fed": None, "resident": None}, None
    try:
        run, count = runner(m, mode, *batches(m, batch, True)[0])
        for data in found if device.type == "cuda" else ["resident"]:
            found[data] = measure(run, batches(m, batch, data == "resident"))
    except Exception as error:                   # of many kinds: the compiler's, CUDA's ...
        text = (str(error).strip() or repr(error)).splitlines()[0]
        print("torch_bench: %s does not run: %s" % (mode, text), file=sys.stderr)
    return count, found


def bench(name):
    m = MODELS[name]
    batch, line, count = m.small if args.quick else m.batch, "", None
    for mode in MODES:
        if mode == "captured" and device.type == "cpu":
            found = {"fed": None, "resident": None}
        else:
            n, found = times(m, mode, batch)
            count = n or count
        for data, q in found.items():
            shown = ["%.2f" % t for t in q] if q else ["-"] * 3
            what = mode + "_" + data
            line += " %s_us=%s %s_q1=%s %s_q3=%s" % (what, shown[1], what, shown[0], what,
                                                     shown[2])
    print("torch %s precision=%s batch=%d parameters=%s%s"
          % (name, precision, batch, count or "-", line), flush=True)


def microseconds(run, data, enough):
    """Takes steps on the CPU for some seconds. Returns the time of a step."""
    steps, start = 0, clock()
    while clock() - start < enough:
        loss = run(*data[steps % ROTATE])
        steps += 1
    us = 1e6 * (clock() - start) / steps
    if not math.isfinite(loss.item()):
        raise ArithmeticError("the loss is not a number")
    return us


def take_turns(name, mode):
    global clock
    if torch.get_num_threads() == 1:
        clock = time.process_time
    m = MODELS[name]
    for size, n in m.larger.items():
        setattr(sizes, size, n)
    data = batches(m, m.batch, True)
    run, count = row_runner(m, mode) if m.row else runner(m, mode, *data[0])
    seconds(run, data, WARM)
    print(count, flush=True)
    for line in sys.stdin:
        microseconds(run, data, float(line) / 5)
        print("%.2f" % microseconds(run, data, float(line)), flush=True)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--turns", choices=["eager", "compile"], metavar="MODE")
    parser.add_argument("--compile-mode", default="default")
    parser.add_argument("models", nargs="*", metavar="MODEL", help=" ".join(MODELS))
    found = parser.parse_args()
    for name in found.models:
        if name not in MODELS:
            parser.error('no model "%s"; there are %s' % (name, " ".join(MODELS)))
    if found.turns and not (found.cpu and len(found.models) == 1):
        parser.error("--turns is for --cpu and one MODEL")
    return found


args = arguments()
precision = os.environ.get("EDF_PRECISION") or "fp32"
if precision not in ("fp32", "tf32"):
    sys.exit("torch_bench: EDF_PRECISION is %s: expected fp32 or tf32" % precision)
if not args.cpu and not torch.cuda.is_available():
    print("skip torch_bench: PyTorch %s finds no GPU here" % torch.__version__)
    sys.exit(0)
device = torch.device("cpu" if args.cpu else "cuda")
torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
torch.backends.cudnn.allow_tf32 = precision == "tf32"
torch.backends.cudnn.benchmark = True
if args.quick:
    sizes.be_quick()
print("torch_bench: PyTorch %s, %s, compile mode %s"
      % (torch.__version__, "CPU" if args.cpu else torch.cuda.get_device_name(),
         args.compile_mode), file=sys.stderr)
if args.turns:
    take_turns(args.models[0], args.turns)
else:
    for model in args.models or [name for name in MODELS if name not in CPU_ONLY]:
        bench(model)
