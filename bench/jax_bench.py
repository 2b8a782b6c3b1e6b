"""jax_bench.py - the training steps of bench.c in JAX on the CPU: for peers.py.

    OMP_NUM_THREADS=1 python3 bench/jax_bench.py MODEL

The models, batch sizes, losses, optimisers and data are those of torch_bench.py --cpu. A step
is one jitted function, and its parameters are donated. Every part is written in the fastest of
the ways that were tried on a CPU:
    maximum      It reshapes and takes the maximum. The gradient of reduce_window is slower.
    LSTM         One product gives the inputs of all times. The rest is a lax.scan that is not
                 unrolled.
    GPT          Rows are [batch * times, width]. The weight gradients are then faster products.

The program first prints the number of parameters. Then each line of input gives the length of a
turn in seconds. A turn begins with untimed steps for a fifth of its length. The program prints
the microseconds of a timed step. If OMP_NUM_THREADS is 1, JAX uses one thread, and time is the
CPU time of the process. Otherwise JAX uses all cores, and time is the wall clock."""
import os
import sys
import time

ONE_THREAD = os.environ.get("OMP_NUM_THREADS") == "1"
if ONE_THREAD:                                   # JAX reads both when it is imported
    os.environ["NPROC"] = "1"                    # the number of XLA's threads
    os.environ["JAX_CPU_ENABLE_ASYNC_DISPATCH"] = "false"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

PIXELS, CLASSES, LETTERS, HEADS = 784, 10, 65, 4
TIMES, HIDDEN, WIDE, LAYERS = {"gpt_wide": (128, 128, 256, 6), "gpt_long": (512, 128, 256, 6)
                               }.get(sys.argv[-1], (64, 128, 128, 4))
ROTATE = 8
random = np.random.default_rng(1)


# ---- Parameters, and the layers that use them

def linear(n_in, n_out, bias=True):
    bound = n_in ** -0.5
    p = {"w": random.uniform(-bound, bound, (n_in, n_out))}
    if bias:
        p["b"] = random.uniform(-bound, bound, n_out)
    return p


def affine(p, x):
    return x @ p["w"] + p["b"]


def norm_params():
    return {"gain": np.ones(WIDE), "bias": np.zeros(WIDE)}


def layer_norm(p, x):
    x = x - x.mean(-1, keepdims=True)
    return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * p["gain"] + p["bias"]


# ---- Models: each has a function that makes its parameters, and one that computes its scores

def mlp_params(*widths):
    return [linear(n_in, n_out) for n_in, n_out in zip(widths, widths[1:])]


def mlp(activation):
    def scores(layers, x):
        for p in layers[:-1]:
            x = activation(affine(p, x))
        return affine(layers[-1], x)
    return scores


def conv_params(n_in, n_out):
    bound = (25 * n_in) ** -0.5
    return {"w": random.uniform(-bound, bound, (5, 5, n_in, n_out)),
            "b": random.uniform(-bound, bound, n_out)}


def conv(p, x):
    s = lax.conv_general_dilated(x, p["w"], (1, 1), "VALID",
                                 dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return s + p["b"]


def pool(x):
    b, h, w, c = x.shape
    return x.reshape(b, h // 2, 2, w // 2, 2, c).max((2, 4))


def lenet_params():
    return [conv_params(1, 16), conv_params(16, 32), linear(512, 128), linear(128, CLASSES)]


def lenet(p, x):
    x = x.reshape(-1, 28, 28, 1)
    h = jax.nn.relu(pool(conv(p[0], x)))
    h = jax.nn.relu(pool(conv(p[1], h)))
    h = jax.nn.relu(affine(p[2], h.reshape(-1, 512)))
    return affine(p[3], h)


def lstm_params():
    return {"letters": random.standard_normal((LETTERS, HIDDEN)),
            "input": linear(HIDDEN, 4 * HIDDEN),
            "hidden": linear(HIDDEN, 4 * HIDDEN, bias=False),
            "out": linear(HIDDEN, LETTERS)}


def lstm(p, x):
    inputs = affine(p["input"], p["letters"][x.T])        # [times, batch, 4 hidden]

    def cell(state, s):
        h, c = state
        i, f, g, o = jnp.split(s + h @ p["hidden"]["w"], 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h
    zero = jnp.zeros((x.shape[0], HIDDEN))
    h = lax.scan(cell, (zero, zero), inputs)[1]
    return affine(p["out"], h.swapaxes(0, 1))


def gpt_params():
    def layer():
        return {"norm1": norm_params(), "norm2": norm_params(),
                "qkv": linear(WIDE, 3 * WIDE, bias=False),
                "merge": linear(WIDE, WIDE, bias=False),
                "up": linear(WIDE, 4 * WIDE), "down": linear(4 * WIDE, WIDE)}
    return {"letters": random.standard_normal((LETTERS, WIDE)),
            "places": 0.02 * random.standard_normal((TIMES, WIDE)),
            "layers": [layer() for _ in range(LAYERS)],
            "norm": norm_params(), "out": linear(WIDE, LETTERS)}


def attention(p, x):
    qkv = (x @ p["qkv"]["w"]).reshape(-1, TIMES, 3, HEADS, WIDE // HEADS)
    q, k, v = qkv.transpose(2, 0, 3, 1, 4)
    scores = (q * (WIDE // HEADS) ** -0.5) @ k.swapaxes(2, 3)
    mask = jnp.tril(jnp.ones((TIMES, TIMES), bool))
    seen = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf)) @ v
    return seen.swapaxes(1, 2).reshape(-1, WIDE) @ p["merge"]["w"]


def gpt(p, x):
    h = (p["letters"][x] + p["places"]).reshape(-1, WIDE)
    for layer in p["layers"]:
        h = h + attention(layer, layer_norm(layer["norm1"], h))
        up = jax.nn.gelu(affine(layer["up"], layer_norm(layer["norm2"], h)))
        h = h + affine(layer["down"], up)
    return affine(p["out"], layer_norm(p["norm"], h))


def cross_entropy(scores, y):
    scores = jax.nn.log_softmax(scores.reshape(-1, scores.shape[-1]))
    return -jnp.take_along_axis(scores, y.reshape(-1, 1), 1).mean()


# ---- Optimisers: (parameters, gradients, state) -> (parameters, state)

def no_state(params):
    return ()


def sgd(params, grads, state):
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, grads), state


def momentum_state(params):
    return jax.tree.map(jnp.zeros_like, params)


def momentum(params, grads, v):
    v = jax.tree.map(lambda v, g: 0.9 * v + g, v, grads)
    return jax.tree.map(lambda p, v: p - 0.005 * v, params, v), v


def adam_state(params):
    zeros = jax.tree.map(jnp.zeros_like, params)
    return zeros, jax.tree.map(jnp.copy, zeros), jnp.zeros(())


def adam(rate, decay=0.0):
    """Clips the norm of the gradients to 1. Only matrices shrink by the decay."""
    def update(params, grads, state):
        m, v, t = state
        norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in jax.tree.leaves(grads)))
        scale, t = jnp.minimum(1.0, 1.0 / (norm + 1e-6)), t + 1
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * (scale * g), m, grads)
        v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * (scale * g) ** 2, v, grads)
        eta, root = rate / (1 - 0.9 ** t), (1 - 0.99 ** t) ** -0.5

        def change(p, m, v):
            kept = 1 - rate * decay if p.ndim > 1 else 1
            return kept * p - eta * m / (jnp.sqrt(v) * root + 1e-8)
        return jax.tree.map(change, params, m, v), (m, v, t)
    return update


# name: batch, is text, parameters, scores, state of the optimiser, its update
MODELS = {
    "mlp_a": (64, False, lambda: mlp_params(PIXELS, 64, CLASSES), mlp(jax.nn.sigmoid),
              no_state, sgd),
    "mlp_b": (128, False, lambda: mlp_params(PIXELS, 512, 512, CLASSES), mlp(jax.nn.relu),
              no_state, sgd),
    "lenet": (64, False, lenet_params, lenet, momentum_state, momentum),
    "lstm": (32, True, lstm_params, lstm, adam_state, adam(0.001)),
    "gpt": (16, True, gpt_params, gpt, adam_state, adam(0.0005, decay=0.1)),
    "mlp_wide": (512, False, lambda: mlp_params(PIXELS, 2048, 2048, CLASSES),
                 mlp(jax.nn.relu), no_state, sgd),
    "gpt_wide": (16, True, gpt_params, gpt, adam_state, adam(0.0005, decay=0.1)),
    "gpt_long": (4, True, gpt_params, gpt, adam_state, adam(0.0005, decay=0.1)),
}


# ---- A step, and the time of many steps

def batches(batch, is_text):
    if is_text:
        shape = (ROTATE, batch, TIMES)
        x, y = random.integers(LETTERS, size=(2, *shape))
    else:
        x = random.random((ROTATE, batch, PIXELS)) - 0.5
        y = random.integers(CLASSES, size=(ROTATE, batch))
    return [(jnp.asarray(a), jnp.asarray(b)) for a, b in zip(x, y)]


class Trainer:
    def __init__(self, name):
        batch, is_text, make_params, scores, make_state, update = MODELS[name]
        self.params = jax.tree.map(jnp.asarray, make_params())
        self.state = make_state(self.params)
        self.data = batches(batch, is_text)

        def step(params, state, x, y):
            def loss_of(params):
                return cross_entropy(scores(params, x), y)
            loss, grads = jax.value_and_grad(loss_of)(params)
            return *update(params, grads, state), loss
        self.step = jax.jit(step, donate_argnums=(0, 1))

    def run(self, x, y):
        self.params, self.state, loss = self.step(self.params, self.state, x, y)
        return loss

    def microseconds(self, seconds):
        """Takes steps for some seconds. Returns the time of a step."""
        n, start = 0, clock()
        while clock() - start < seconds:
            loss = self.run(*self.data[n % ROTATE])
            n += 1
        jax.block_until_ready((self.params, self.state, loss))
        us = 1e6 * (clock() - start) / n
        self.loss = float(loss)
        if not np.isfinite(self.loss):
            raise ArithmeticError("the loss is not a number")
        return us


class Row(Trainer):
    """Forward of one row, in place of a training step."""
    def __init__(self, name):
        _, _, make_params, scores, _, _ = MODELS[name]
        self.params, self.state = jax.tree.map(jnp.asarray, make_params()), ()
        self.data = batches(1, False)
        self.scores = jax.jit(scores)

    def run(self, x, y):
        return self.scores(self.params, x).block_until_ready()[0, 0]


clock = time.process_time if ONE_THREAD else time.perf_counter
if __name__ == "__main__":
    name = sys.argv[1]
    trainer = Row(name[:-4]) if name.endswith("_row") else Trainer(name)
    trainer.microseconds(0.01)
    print(sum(p.size for p in jax.tree.leaves(trainer.params)), flush=True)
    for line in sys.stdin:
        trainer.microseconds(float(line) / 5)
        print("%.2f" % trainer.microseconds(float(line)), flush=True)
