#!/usr/bin/env python3
"""Judges losses and gradients of whole models, in onnxruntime, functions inlined.

  gradient_models.py --program build/tests/differentiate_models [--seed S]

The models are a multi-layer perceptron, a convolutional net with BatchNormalization that trains, a Transformer block
(LayerNormalization, attention, GELU) and a classifier of texts (Gather), in float32. For each:
  slope     central differences of the loss agree with the gradient along the gradient (1 %) and along random directions
            (3 %)
  frozen    with only the last weights trained fewer nodes are added than with all, and none that reads the weights
            before them
Losses, against NumPy in float64:
  value     sparse and one-hot labels, classes along any axis, mean squared error
  labels    outside [0, C): the loss is NaN, and so is some gradient
  masked    logits of -infinity at classes that no label names: loss and gradients are finite
  nothing   a batch of no sample has loss 0 and gradients 0
A Dropout that trains gives gradients to what it kept, whether it had an output of the mask or not.
"""

import argparse
import sys

import numpy as np
import onnx
from onnx import numpy_helper, parser

from judge.train.gradients import Program, check_legal, session


class Net:
    """A model as text, with random weights."""

    def __init__(self, text, weights, inputs, numbers, opset=17):
        self.model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {text}')
        self.weights = {}
        for name, shape in weights.items():
            scale = 1 / np.sqrt(np.prod(shape[1:]) if len(shape) > 1 else 1)
            values = (
                numbers.standard_normal(shape) * scale if len(shape) > 1 else 1 + 0.1 * numbers.standard_normal(shape)
            )
            self.weights[name] = values.astype(np.float32)
            self.model.graph.initializer.append(numpy_helper.from_array(self.weights[name], name))
        self.inputs = inputs


def perceptron(numbers, batch=16):
    text = """g (float[N, 12] x) => (float[N, 5] p) {
      a = Gemm (x, w1, b1)  h = Relu (a)  z = MatMul (h, w2)  l = Add (z, b2)  p = Softmax (l) }"""
    return Net(
        text,
        {"w1": (12, 9), "b1": (9,), "w2": (9, 5), "b2": (5,)},
        {"x": numbers.standard_normal((batch, 12)).astype(np.float32), "labels": numbers.integers(0, 5, batch)},
        numbers,
    )


def convolutional(numbers):
    text = """g (float[N, 3, 8, 8] x) => (float[N, 4] y) {
      a = Conv <pads = [1, 1, 1, 1]> (x, k1, c1)
      b, rm, rv = BatchNormalization <training_mode = 1> (a, s, t, m, v)
      c = Tanh (b)  d = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (c)
      e = Conv <strides = [2, 2], group = 2> (d, k2)  \
e2 = ConvTranspose <strides = [2, 2], group = 3> (e, k3)  f = Sigmoid (e2)  \
g1 = GlobalAveragePool (f)  h = Flatten (g1)  y = Gemm <transB = 1> (h, w, b2) }"""
    weights = {
        "k1": (6, 3, 3, 3),
        "c1": (6,),
        "s": (6,),
        "t": (6,),
        "k2": (6, 3, 2, 2),
        "k3": (6, 2, 3, 2),
        "w": (4, 6),
        "b2": (4,),
    }
    net = Net(
        text,
        weights,
        {"x": numbers.standard_normal((6, 3, 8, 8)).astype(np.float32), "labels": numbers.integers(0, 4, 6)},
        numbers,
    )
    for name, value in (("m", np.zeros(6, np.float32)), ("v", np.ones(6, np.float32))):
        net.model.graph.initializer.append(numpy_helper.from_array(value, name))
    return net


def transformer(numbers):
    text = """g (float[N, 5, 8] x) => (float[N, 5, 7] y) {
      n1 = LayerNormalization (x, s1, t1)
      heads = Constant <value = int64[4] {0, 5, 2, 4}> ()
      q0 = MatMul (n1, wq)  q1 = Reshape (q0, heads)  q = Transpose <perm = [0, 2, 1, 3]> (q1)
      k0 = MatMul (n1, wk)  k1 = Reshape (k0, heads)  k = Transpose <perm = [0, 2, 3, 1]> (k1)
      v0 = MatMul (n1, wv)  v1 = Reshape (v0, heads)  v = Transpose <perm = [0, 2, 1, 3]> (v1)
      scores = MatMul (q, k)  two = Constant <value = float {2.0}> ()  scaled = Div (scores, two)  p = Softmax (scaled)
      o0 = MatMul (p, v)  o1 = Transpose <perm = [0, 2, 1, 3]> (o0)  \
flat = Constant <value = int64[3] {0, 0, -1}> ()  o = Reshape (o1, flat)
      o2 = MatMul (o, wo)  r = Add (x, o2)
      n2 = LayerNormalization (r, s2, t2)  f0 = MatMul (n2, wf)  f1 = Add (f0, bf)
      root = Constant <value = float {1.41421356}> ()  f2 = Div (f1, root)  \
f3 = Erf (f2)  one = Constant <value = float {1.0}> ()  f4 = Add (f3, one)
      f5 = Mul (f1, f4)  half = Constant <value = float {0.5}> ()  f6 = Mul (f5, half)  \
f7 = MatMul (f6, wg)  r2 = Add (r, f7)  y = MatMul (r2, wy) }"""
    weights = {
        "s1": (8,),
        "t1": (8,),
        "wq": (8, 8),
        "wk": (8, 8),
        "wv": (8, 8),
        "wo": (8, 8),
        "s2": (8,),
        "t2": (8,),
        "wf": (8, 16),
        "bf": (16,),
        "wg": (16, 8),
        "wy": (8, 7),
    }
    return Net(
        text,
        weights,
        {"x": numbers.standard_normal((3, 5, 8)).astype(np.float32), "labels": numbers.integers(0, 7, (3, 5))},
        numbers,
    )


def texts(numbers):
    text = """g (int64[N, 6] ids) => (float[N, 3] p) {
      e = Gather (table, ids)  a = Constant <value = int64[1] {1}> ()  m = ReduceMean <axes = [1], keepdims = 0> (e)
      z = Gemm (m, w, b)  p = LogSoftmax (z) }"""
    return Net(
        text,
        {"table": (20, 8), "w": (8, 3), "b": (3,)},
        {"ids": numbers.integers(0, 20, (9, 6)), "labels": numbers.integers(0, 3, 9)},
        numbers,
    )


class Trained:
    """A model as the program differentiated it: a function from weights and inputs to loss and gradients."""

    def __init__(self, program, model, of, attach):
        self.answer, made = program.differentiate(model, attach=attach, of=of, inline=True)
        if "error" in self.answer:
            raise RuntimeError(self.answer["error"])
        check_legal(made)
        self.names, self.made = self.answer["of"], made
        listed = {i.name for i in made.graph.input}
        for tensor in made.graph.initializer:  # weights that can be moved
            if tensor.name in self.names and tensor.name not in listed:
                made.graph.input.append(
                    onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
                )
        self.session = session(made)

    def run(self, inputs, seed=1.0):
        outputs = [self.answer["loss"], *self.answer["gradients"]]
        loss, *gradients = self.session.run(outputs, {**inputs, "seed": np.array(seed, np.float32)})
        return float(loss), dict(zip(self.names, gradients))


def slope_complaints(net, trained, numbers):
    _, gradients = trained.run(net.inputs)
    if set(gradients) != set(net.weights):
        yield f"expected gradients of {sorted(net.weights)}, found those of {sorted(gradients)}"
        return
    for name, gradient in gradients.items():
        length = float(np.linalg.norm(gradient))
        for what, direction, limit in (
            ("along it", gradient / length, 0.01),
            ("at random", numbers.standard_normal(gradient.shape), 0.03),
        ):
            direction = (direction / np.linalg.norm(direction)).astype(np.float32)
            step = 1e-2
            above, _ = trained.run({**net.inputs, name: net.weights[name] + step * direction})
            below, _ = trained.run({**net.inputs, name: net.weights[name] - step * direction})
            expected, found = (above - below) / (2 * step), float(np.sum(gradient * direction))
            if not abs(expected - found) <= limit * max(abs(expected), 0.1 * length, 1e-2):
                yield f"d{name}, {what}: expected {expected:.6f}, found {found:.6f}"


def frozen_complaints(program, net, attach, last):
    everything = Trained(program, net.model, [], attach).answer
    part = Trained(program, net.model, last, attach)
    if not part.answer["nodes"] < everything["nodes"]:
        yield f"frozen: expected fewer nodes than {everything['nodes']}, found {part.answer['nodes']}"


def model_complaints(program, numbers):
    sparse = {"kind": "softmax-cross-entropy", "labels": "sparse"}
    for build, last in ((perceptron, ["b2"]), (convolutional, ["w", "b2"]), (transformer, ["wy"]), (texts, ["w", "b"])):
        net = build(numbers)
        for complaint in slope_complaints(net, Trained(program, net.model, [], sparse), numbers):
            yield f"{build.__name__}: {complaint}"
        for complaint in frozen_complaints(program, net, sparse, last):
            yield f"{build.__name__}: {complaint}"


def log_softmax(z, axis):
    shifted = z - z.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def loss_model(dims, tail="y = Identity (z)"):
    shape = ", ".join(["N", *map(str, dims)])
    return parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17]> g (float[{shape}] x) => (float[{shape}] y) {{ '
        f"z = Mul (x, w) {tail} }}"
    )


def with_weight(model):
    model.graph.initializer.append(numpy_helper.from_array(np.ones(1, np.float32), "w"))
    return model


def close(found, expected, what, tolerance=1e-5):
    if np.shape(found) != np.shape(expected) or not np.allclose(found, expected, rtol=tolerance, atol=tolerance):
        yield f"{what}: expected {np.asarray(expected).ravel()[:4]}, found {np.asarray(found).ravel()[:4]}"


def value_complaints(program, numbers):
    for dims, tail, axis in (
        ((4,), "y = Identity (z)", -1),
        ((4,), "y = Softmax (z)", -1),
        ((4, 3), "y = Softmax <axis = 1> (z)", 1),
        ((3, 4), "y = LogSoftmax (z)", -1),
        ((4,), "p = Softmax (z) y = Cast <to = 1> (p)", -1),
    ):
        x = numbers.standard_normal((6, *dims)).astype(np.float32)
        log_p, p = log_softmax(x.astype(np.float64), axis), np.exp(log_softmax(x.astype(np.float64), axis))
        classes = x.shape[axis]
        label_shape = tuple(np.delete(x.shape, axis if axis > 0 else x.ndim - 1))
        labels = numbers.integers(0, classes, label_shape)
        one_hot = np.moveaxis(np.eye(classes)[labels], -1, axis)
        for kind, target in (("sparse", labels), ("onehot", one_hot.astype(np.float32))):
            trained = Trained(
                program,
                with_weight(loss_model(dims, tail)),
                ["z"],
                {"kind": "softmax-cross-entropy", "labels": kind, "logits": "y"},
            )
            loss, gradients = trained.run({"x": x, "labels": target}, seed=8)
            what = f"{kind} labels, [N, {dims}], {tail}"
            yield from close(loss, -(one_hot * log_p).sum() / labels.size, what)
            yield from close(gradients["z"], 8 * (p - one_hot) / labels.size, what + ", gradient")
    x, t = (numbers.standard_normal((6, 3)).astype(np.float32) for _ in range(2))
    loss, gradients = Trained(program, with_weight(loss_model((3,))), ["z"], {"kind": "mse"}).run(
        {"x": x, "labels": t}, seed=2
    )
    yield from close(loss, np.mean((x - t) ** 2), "mse")
    yield from close(gradients["z"], 2 * 2 * (x - t) / x.size, "mse, gradient")


def hard_label_complaints(program, numbers):
    sparse, one_hot = ({"kind": "softmax-cross-entropy", "labels": kind} for kind in ("sparse", "onehot"))
    x = numbers.standard_normal((3, 4)).astype(np.float32)
    trained = {
        "sparse": Trained(program, with_weight(loss_model((4,))), ["z"], sparse),
        "onehot": Trained(program, with_weight(loss_model((4,))), ["z"], one_hot),
    }
    for label in (-1, 4, 2**40, -(2**63)):
        loss, gradients = trained["sparse"].run({"x": x, "labels": np.array([0, label, 1])})
        if not np.isnan(loss) or np.isfinite(gradients["z"]).all():
            yield f"label {label} of 4 classes: expected NaN, found loss {loss} and gradient {gradients['z']}"
    masked = x.copy()
    masked[:, 2] = -np.inf
    targets = {"sparse": np.array([0, 1, 3]), "onehot": np.eye(4, dtype=np.float32)[[0, 1, 3]]}
    expected = log_softmax(np.delete(masked, 2, axis=1).astype(np.float64), -1)
    for kind, labels in targets.items():
        loss, gradients = trained[kind].run({"x": masked, "labels": labels})
        yield from close(
            loss, -np.mean([expected[0, 0], expected[1, 1], expected[2, 2]]), f"{kind} labels, a masked class"
        )
        if not np.isfinite(gradients["z"]).all() or gradients["z"][:, 2].any():
            yield f"{kind} labels, a masked class: expected a finite gradient, 0 there, found {gradients['z']}"
    loss, _ = trained["sparse"].run({"x": masked, "labels": np.array([0, 2, 3])})
    if np.isfinite(loss):
        yield f"the label is a masked class: expected a loss that is not finite, found {loss}"
    for kind, labels in targets.items():
        loss, gradients = trained[kind].run({"x": x[:0], "labels": labels[:0]})
        if loss != 0 or gradients["z"].size:
            yield f"{kind} labels, no sample: expected loss 0, found {loss}"
    net = perceptron(numbers, batch=0)
    loss, gradients = Trained(program, net.model, [], sparse).run(net.inputs)
    if loss != 0 or any(g.any() or np.isnan(g).any() for g in gradients.values()):
        yield f"no sample: expected loss 0 and gradients 0, found {loss}, {gradients}"


def dropout_complaints(program, numbers):
    """Checks that the result of a Dropout is the operand times what the gradient says.

    The gradient is 0 where the operand was dropped, 1 / (1 - ratio) elsewhere.
    """
    for outputs in ("y", "y, mask"):
        model = parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]> g (float[40, 5] x) => (float loss) {{
          r = Constant <value = float {{0.25}}> ()  t = Constant <value = bool {{1}}> ()
          z = Mul (x, w)  {outputs} = Dropout <seed = 7> (z, r, t)  loss = ReduceSum <keepdims = 0> (y) }}""")
        answer, made = program.differentiate(with_weight(model), loss="loss", of=["z"])
        x = numbers.standard_normal((40, 5)).astype(np.float32)
        loss, gradient = session(made).run(["loss", answer["gradients"][0]], {"x": x, "seed": np.array(1, np.float32)})
        kept = np.isclose(gradient, 4 / 3)
        if not (kept | (gradient == 0)).all() or not 0.6 < kept.mean() < 0.9:
            yield f"{outputs}: expected 0 and 4/3, found {np.unique(gradient)}, {kept.mean()} kept"
        yield from close(loss, np.sum(x * gradient), f"{outputs}: loss", 1e-4)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--program", required=True)
    arguments.add_argument("--seed", type=int, default=1)
    args = arguments.parse_args()
    program, failures = Program(args.program), 0
    for judge in (model_complaints, value_complaints, hard_label_complaints, dropout_complaints):
        for complaint in judge(program, np.random.default_rng(args.seed)):
            failures += 1
            print(f"FAILED {complaint}", flush=True)
        print(f"{judge.__name__}: done")
    print(f"{failures} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
