#!/usr/bin/env python3
"""Judges the numbers of models whose BatchNormalizations are folded, or written as a Mul and an Add.

  batch_norms.py --tool build/tests/rewrite_batch [--seed S] [--models N]

The models are random. They have every form in turn: Conv (groups, one to three axes), ConvTranspose (groups), Gemm
(alpha, beta, turned, all kinds of bias), MatMul, and two that cannot be folded (a Relu ahead, a second reader). They
come with and without bias, with shared weights and tiny weights, in opsets 7 to 22 and in both low types; the
BatchNormalization lies between two allowed operators. For each, the rules of replacements.py (1e-5) have to hold, and
  form      the report says that the BatchNormalization went into what is expected, none is left, and float16 leaves the
            opset as it was
"""

import functools
import sys

import numpy as np

from judge.rewrite import replacements
from judge.rewrite.replacements import Case, operators
from judge.structure import DTYPES

FORMS = ("Conv", "ConvTranspose", "Gemm", "MatMul", "Relu", "two readers")
HOW = {
    "Conv": "folded into",
    "ConvTranspose": "folded into",
    "Gemm": "folded into",
    "MatMul": "folded into 'ahead' and an Add",
    "Relu": "replaced by a Mul and an Add",
    "two readers": "replaced by a Mul and an Add",
}
EXACT = 1e-5
TINY = 1e-9


class Maker(replacements.Maker):
    """Makes random models in which the node ahead of the BatchNormalization is called "ahead"."""

    def __init__(self, form, seed):
        super().__init__(form, seed)
        self.outputs = ["y"]
        self.opset = self.random.choice((7, 9, 13, 14, 17, 22))

    def weight(self, name, *shape):
        fan_in = np.prod(shape[1:]) if len(shape) > 1 else 1
        self.weights[name] = (self.numbers.standard_normal(shape) / np.sqrt(fan_in)).astype(np.float32)
        return name

    def convolution(self):
        axes, groups = self.random.choice((1, 2, 3)), self.random.choice((1, 2, 4))
        inside, channels = groups * self.random.randint(1, 4), groups * self.random.randint(1, 9)
        kernel = [self.random.choice((1, 2, 3)) for _ in range(axes)]
        turned = self.form == "ConvTranspose"
        dims = (inside, channels // groups) if turned else (channels, inside // groups)
        inputs = ["x", self.weight("w", *dims, *kernel)]
        if self.random.random() < 0.5:
            inputs.append(self.weight("cb", channels))
        self.node("ConvTranspose" if turned else "Conv", inputs, "a", "ahead", group=groups)
        return [1, inside] + [5] * axes, channels

    def product(self):
        inside, channels, rows = (self.random.randint(1, 24) for _ in range(3))
        attributes, dims = {}, (inside, channels)
        inputs = ["x"]
        if self.form == "Gemm":
            if self.random.random() < 0.5:
                attributes["transB"], dims = 1, (channels, inside)
            attributes.update(
                self.random.choice(({}, {"alpha": 0.5}, {"beta": 2.0}, {"alpha": 1.5, "beta": -0.5}, {"beta": 0.0}))
            )
        inputs.append(self.weight("w", *dims))
        if self.form == "Gemm" and (self.opset < 11 or self.random.random() < 0.7):
            inputs.append(self.weight("cb", *self.random.choice(([channels], [1, channels], [1], [1, 1], []))))
        self.node(self.form, inputs, "a", "ahead", **attributes)
        return [rows, inside], channels

    def make(self):
        is_product = self.form in ("Gemm", "MatMul")
        shape, channels = self.product() if is_product else self.convolution()
        data = "a"
        if self.form == "Relu":
            self.node("Relu", ["a"], "r")
            data = "r"
        if self.form == "two readers":
            self.outputs.append("a")
        statistics = {
            "s": self.numbers.uniform(0.5, 1.5, channels),
            "b": self.numbers.standard_normal(channels),
            "m": self.numbers.standard_normal(channels),
            "v": self.numbers.uniform(0.2, 2, channels),
        }
        self.weights.update({name: values.astype(np.float32) for name, values in statistics.items()})
        is_tiny = HOW[self.form].startswith("folded") and self.random.random() < 0.25
        if is_tiny:  # weights that 16 bits cannot hold before they are folded
            for name in ("w", "cb", "m", "v"):
                if name in self.weights:
                    self.weights[name] = self.weights[name] * np.float32(TINY**2 if name == "v" else TINY)
        epsilon = {"epsilon": 1e-20} if is_tiny else self.random.choice(({}, {"epsilon": 1e-3}, {"epsilon": 0.3}))
        self.node("BatchNormalization", [data, *statistics], "n", "norm", **epsilon)
        if is_product:
            self.node("MatMul", ["n", self.weight("u", channels, 3)], "y")
        else:
            self.node("Conv", ["n", self.weight("u", 2, channels, *[1] * (len(shape) - 2))], "y")
        if (
            not is_tiny
            and self.random.random() < 0.3
            and "cb" in self.weights
            and self.weights["cb"].shape == self.weights["b"].shape
        ):
            self.weights.pop("b")  # one constant for both
            self.nodes[-2].input[2] = "cb"
        return self.model(shape, self.outputs, self.opset), {
            "x": self.numbers.standard_normal(shape).astype(np.float32)
        }


def faults(form, dtype, report, results):
    """Yields sentences about the form of the result."""
    how = [node["how"] for node in report["replaced"]]
    if len(how) != 1 or not how[0].startswith(HOW[form]) or "BatchNormalization" in operators(results["out"]):
        yield f"{how}, left {operators(results['out'])}"
    if dtype == "float16" and report["opset"]["before"] != report["opset"]["after"]:
        yield f"opset {report['opset']}"


def make(seed):
    form, dtype = FORMS[seed % len(FORMS)], list(DTYPES)[seed // len(FORMS) % 2]
    model, feeds = Maker(form, seed).make()
    return Case(f"{form}, {dtype}", model, feeds, dtype, EXACT, form=functools.partial(faults, form, dtype))


if __name__ == "__main__":
    sys.exit(replacements.judge(__doc__, 180, make))
