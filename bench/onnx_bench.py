"""onnx_bench.py - the forward pass of one row in onnxruntime on the CPU: for peers.py.

    OMP_NUM_THREADS=1 python3 bench/onnx_bench.py mlp_a_row|lenet_row

The models have the layers of torch_bench.py, and random parameters. As there, the program first
prints the number of parameters. Each line of input gives the length of a turn in seconds. A turn
begins with untimed passes for a fifth of its length. The program prints the microseconds of a
timed pass. If OMP_NUM_THREADS is 1, time is the CPU time of the process, otherwise the wall
clock."""
import os
import sys
import time

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

THREADS = int(os.environ.get("OMP_NUM_THREADS", os.cpu_count()))
random = np.random.default_rng(1)
parameters, nodes = [], []


def parameter(name, *shape):
    bound = np.prod(shape[1:] or shape) ** -0.5
    numbers = random.uniform(-bound, bound, shape).astype(np.float32)
    parameters.append(numpy_helper.from_array(numbers, name))
    return name


def layer(op, h, *shape, **options):
    """Adds a node. If there is a shape, it has a weight of this shape, and a bias."""
    n = len(nodes)
    weights = [parameter("w%d" % n, *shape), parameter("b%d" % n, shape[0])] if shape else []
    nodes.append(helper.make_node(op, [h, *weights], ["h%d" % n], **options))
    return "h%d" % n


def affine(h, n_in, n_out):
    return layer("Gemm", h, n_out, n_in, transB=1)


def mlp_a(x):
    return affine(layer("Sigmoid", affine(x, 784, 64)), 64, 10)


def lenet(h):
    for n_in, n_out in (1, 16), (16, 32):
        h = layer("Conv", h, n_out, n_in, 5, 5)
        h = layer("Relu", layer("MaxPool", h, kernel_shape=[2, 2], strides=[2, 2]))
    h = layer("Relu", affine(layer("Flatten", h), 512, 128))
    return affine(h, 128, 10)


def session_of(scores, *shape):
    value = helper.make_tensor_value_info
    out = scores("x")
    graph = helper.make_graph(nodes, "row", [value("x", TensorProto.FLOAT, shape)],
                              [value(out, TensorProto.FLOAT, (1, 10))], parameters)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    return onnxruntime.InferenceSession(model.SerializeToString(), options), shape


def microseconds(run, seconds):
    n, start = 0, clock()
    while clock() - start < seconds:
        for _ in range(50):
            run()
        n += 50
    return 1e6 * (clock() - start) / n


clock = time.process_time if THREADS == 1 else time.perf_counter
session, shape = (session_of(mlp_a, 1, 784) if sys.argv[1] == "mlp_a_row"
                  else session_of(lenet, 1, 1, 28, 28))
feed = {"x": random.random(shape, np.float32) - np.float32(0.5)}
print(sum(int(np.prod(p.dims)) for p in parameters), flush=True)
for line in sys.stdin:
    microseconds(lambda: session.run(None, feed), float(line) / 5)
    print("%.2f" % microseconds(lambda: session.run(None, feed), float(line)), flush=True)
