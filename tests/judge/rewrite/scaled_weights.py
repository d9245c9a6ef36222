#!/usr/bin/env python3
"""Judges the numbers of models whose weights are multiplied by a power of two for the sake of 16 bits.

  scaled_weights.py --tool build/tests/rewrite_batch [--seed S] [--models N]

The models are random, and rewritten to float16. They have every operator in turn: MatMul (weights right and left),
Gemm (alpha, beta, turned, with an ordinary bias, one like the product, or none), Conv and ConvTranspose (groups, with
and without a bias like the product). Weights are tiny or huge as a whole: from 1e-10 to 1e-6, or from 1e5 to 1e9.
Data are from 0.01 to 10,000. Both are of one sign in every other model, where sums are as large as they can be. The
operator is followed by nodes that bring the result back to ordinary size before the next allowed operator, by a sum,
by a norm, or by nothing.
A third of the models is rewritten with --scale-weights, whatever the data, and so are all with huge weights. The others
are rewritten without it: their data are low anyhow, as another operator computes them, or are bounded by a Clip.
For each, the rules of replacements.py (1e-6) have to hold, and
  form      the report says what the weights are multiplied with, the operator is low, and at most one node more is
            there; taken back, the nodes are those of the model, and the weights are what they were up to their own
            rounding
"""

import functools
import sys

import numpy as np
from onnx import numpy_helper

from judge.naive_rewriter import sort
from judge.rewrite import replacements, undo
from judge.rewrite.replacements import Case, operators

DTYPE = "float16"  # bfloat16 has the range
FORMS = ("MatMul", "left MatMul", "Gemm", "Conv", "ConvTranspose")
ENDS = ("end", "brought back", "sum", "norm")
FRONTS = {"flag": ["--scale-weights"], "low": [], "clipped": []}
EXACT = 1e-6
ROUNDING = 2**-11


class Maker(replacements.Maker):
    """Makes random models in which the operator with the weights is called "scaled"."""

    def __init__(self, form, seed):
        super().__init__(form, seed)
        self.shape = None
        is_huge = self.random.random() < 0.25
        self.scale = 10 ** self.random.uniform(*((5, 9) if is_huge else (-10, -6.3)))
        self.front = "flag" if is_huge else self.random.choice(list(FRONTS))
        self.data = 10 ** self.random.uniform(-2, 4)
        self.is_positive = self.random.random() < 0.5
        # A norm cancels values of one sign, and biases.
        self.end = self.random.choice(ENDS[:-1] if self.is_positive else ENDS)

    def normal(self, shape):
        values = self.numbers.standard_normal(shape)
        return np.abs(values) if self.is_positive else values

    def weight(self, name, *shape, scale=1.0):
        values = self.normal(shape)
        # No weight is far smaller than the others: beside huge ones it would stay as it is, and the operator float32.
        self.weights[name] = (scale * np.copysign(np.abs(values) + (1 if self.scale > 1 else 0.1), values)).astype(
            np.float32
        )
        return name

    def convolution(self):
        axes, groups = self.random.choice((1, 2)), self.random.choice((1, 2, 4))
        inside, channels = groups * self.random.randint(1, 8), groups * self.random.randint(1, 9)
        kernel = [self.random.choice((1, 3, 5)) for _ in range(axes)]
        turned = self.form == "ConvTranspose"
        dims = (inside, channels // groups) if turned else (channels, inside // groups)
        inputs = ["x", self.weight("w", *dims, *kernel, scale=self.scale)]
        if self.end != "norm" and self.random.random() < 0.5:
            inputs.append(self.weight("b", channels, scale=self.scale * max(self.data, 1)))
        self.node(self.form, inputs, "a", "scaled", group=groups)
        self.shape = [1, inside] + [6] * axes

    def product(self):
        inside, channels, rows = self.random.randint(1, 64), self.random.randint(1, 24), self.random.randint(1, 24)
        if self.form == "left MatMul":
            self.weight("w", rows, inside, scale=self.scale)
            self.shape = [inside, channels]
            return self.node("MatMul", ["w", "x"], "a", "scaled")
        attributes, dims, self.shape = {}, (inside, channels), [rows, inside]
        inputs = ["x"]
        if self.form == "Gemm":
            if self.random.random() < 0.5:
                attributes["transB"], dims = 1, (channels, inside)
            attributes.update(self.random.choice(({}, {"alpha": 0.5}, {"beta": 2.0}, {"alpha": 1.5, "beta": -0.5})))
        inputs.append(self.weight("w", *dims, scale=self.scale))
        kind = (
            self.random.choice(("none", "ordinary", "like the product"))
            if self.form == "Gemm" and self.end != "norm"
            else "none"
        )
        # Brought back, an ordinary result would exceed 16 bits.
        if kind == "ordinary" and self.scale < 1 and self.end != "brought back":
            inputs.append(self.weight("b", channels))
        elif kind == "like the product":
            inputs.append(
                self.weight(
                    "b", *self.random.choice(([channels], [1, channels], [1])), scale=self.scale * max(self.data, 1)
                )
            )
        self.node(self.form.split()[-1], inputs, "a", "scaled", **attributes)

    def make(self):
        """Makes the model. Returns (model, inputs)."""
        if self.front == "clipped":
            self.weights.update(lowest=np.float32(-60000), highest=np.float32(60000))
            self.node("Clip", ["x", "lowest", "highest"], "clipped")
        elif self.front == "low":
            self.node("MatMul", ["x", "same"], "low")
        self.product() if self.form.split()[-1] in ("MatMul", "Gemm") else self.convolution()
        if self.end == "end":
            self.nodes[-1].output[0] = "y"
        elif self.end == "brought back":
            self.weights["back"] = np.float32(1 / (self.scale * self.data))
            self.node("Mul", ["a", "back"], "m")
            self.node("Relu", ["m"], "y")
        elif self.end == "sum":
            self.weights["c"] = np.float32(0.25 * self.scale * self.data)
            self.node("Add", ["a", "c"], "y")
        else:
            self.node("ReduceMean", ["a"], "mean", axes=[-1])
            self.node("Sub", ["a", "mean"], "d")
            self.node("Abs", ["d"], "p")
            self.node("ReduceMax", ["p"], "largest", keepdims=0)
            self.weights["floor"] = np.float32(1e-30)
            self.node("Add", ["largest", "floor"], "positive")
            self.node("Div", ["d", "positive"], "y")
        if self.front == "low":
            self.weights["same"] = np.eye(self.shape[-1], dtype=np.float32)
        if self.front != "flag":
            scaled = next(node for node in self.nodes if node.name == "scaled")
            scaled.input[list(scaled.input).index("x")] = self.front
        model = self.model(self.shape, ["y"], self.random.choice((11, 13, 17)))
        return model, {"x": (self.data * self.normal(self.shape)).astype(np.float32)}


def faults(model, report, results):
    """Yields sentences about the form of the result."""
    how = [entry["how"] for entry in report["replaced"]]
    scaled = next(node for node in report["nodes"] if node["path"] == "scaled")
    if len(how) != 1 or "times 2^" not in how[0] or not scaled["low"]:
        yield f"{how}, scaled is {'low' if scaled['low'] else 'float32'}: {scaled['because']}"
    num_more = len(results["lifted"].graph.node) - len(model.graph.node)
    if num_more != (0 if how and how[0].endswith("its alpha") else 1):
        yield f"{operators(model)} became {operators(results['lifted'])}"
    yield from (
        f"taken back: {text}"
        for text in undo.differences(model, sort(results["back"]), [])
        if not text.startswith("weight")
    )
    before, after = ({w.name: numpy_helper.to_array(w) for w in m.graph.initializer} for m in (model, results["back"]))
    for name in {"w", "b"} & before.keys() & after.keys():
        if not np.allclose(after[name], before[name], rtol=ROUNDING, atol=ROUNDING / 10 * np.abs(before[name]).max()):
            yield f"taken back: {name} differs"


def make(seed):
    form = FORMS[seed % len(FORMS)]
    maker = Maker(form, seed)
    model, feeds = maker.make()
    return Case(
        f"{form}, {maker.front}", model, feeds, DTYPE, EXACT, FRONTS[maker.front], functools.partial(faults, model)
    )


if __name__ == "__main__":
    sys.exit(replacements.judge(__doc__, 200, make))
