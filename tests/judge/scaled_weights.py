#!/usr/bin/env python3
"""Judges the numbers of models whose weights are tiny, or huge, as a whole, and are multiplied by a power of two for the sake of 16 bits.

  scaled_weights.py --tool build/tests/rewrite_batch [--seed S] [--models N]

Random models in float16, every operator in turn: MatMul (weights right and left), Gemm (alpha, beta, turned, biases ordinary, tiny, absent and computed),
Conv and ConvTranspose (groups, with and without a bias like the product); weights from 1e-10 to 1e-6, or from 1e5 to 1e9; data from 0.01 to 10,000; both of
one sign in every other model, where sums are as large as they can be. What follows brings the result back to ordinary size before the next allowed operator, is
a sum, a norm, or the end. For each:
  form      the report says what the weights are multiplied with, the operator is low, and at most one node more is there
  float32   onnxruntime gives the same before any type changed (--stop-after lift): 1e-6, relative L2
  rounded   within rounding.py's bound with every low tensor rounded where it is produced
  back      taken back with --policy float32 it is float32, and within that bound
  once      rewriting the result changes nothing, byte for byte
"""
import argparse
import json
import pathlib
import random
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import rounding
from structure import DTYPES
from tool import Tool

DTYPE = "float16"  # bfloat16 has the range
FORMS = ("MatMul", "left MatMul", "Gemm", "Conv", "ConvTranspose")
ENDS = ("end", "brought back", "sum", "norm")
EXACT = 1e-6


class Maker:
    """One random model of a form."""

    def __init__(self, form, seed):
        self.form, self.random, self.numbers = form, random.Random(seed), np.random.default_rng(seed)
        self.nodes, self.weights, self.shape = [], {}, None
        is_huge = self.random.random() < 0.25
        self.scale = 10 ** self.random.uniform(*((5, 9) if is_huge else (-10, -6.3)))
        self.data = 10 ** self.random.uniform(-2, 4)
        self.is_positive = self.random.random() < 0.5
        self.end = self.random.choice(ENDS[:-1] if self.is_positive else ENDS)  # a norm cancels what is of one sign, and biases

    def normal(self, shape):
        values = self.numbers.standard_normal(shape)
        return np.abs(values) if self.is_positive else values

    def weight(self, name, *shape, scale=1.0):
        values = self.normal(shape)
        # None far smaller than the others: beside huge ones it would stay what it is, and the operator float32.
        self.weights[name] = (scale * np.copysign(np.abs(values) + (1 if self.scale > 1 else 0.1), values)).astype(np.float32)
        return name

    def node(self, op, inputs, output, name="", **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name or output, **attributes))

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
        kind = self.random.choice(("none", "ordinary", "like the product")) if self.form == "Gemm" and self.end != "norm" else "none"
        if kind == "ordinary" and self.scale < 1 and self.end != "brought back":  # which an ordinary result would exceed 16 bits by
            inputs.append(self.weight("b", channels))
        elif kind == "like the product":
            inputs.append(self.weight("b", *self.random.choice(([channels], [1, channels], [1])), scale=self.scale * max(self.data, 1)))
        self.node(self.form.split()[-1], inputs, "a", "scaled", **attributes)

    def make(self):
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
        graph = helper.make_graph(
            self.nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(np.asarray(values), name) for name, values in self.weights.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.random.choice((11, 13, 17)))], ir_version=10)
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
        del model.graph.value_info[:]
        return model, {"x": (self.data * self.normal(self.shape)).astype(np.float32)}


def operators(model):
    return [node.op_type for node in model.graph.node]


def faults(tool, folder, form, seed):
    """Sentences."""
    model, feeds = Maker(form, seed).make()
    onnx.checker.check_model(model, full_check=True)
    paths = {name: str(folder / f"{name}.onnx") for name in ("in", "out", "lifted", "back", "again")}
    report = folder / "report.json"
    onnx.save(model, paths["in"])
    scaled = ["--scale-weights"]
    runs = ([paths["in"], "-o", paths["out"], "--report", str(report), *scaled], [paths["in"], "-o", paths["lifted"], "--stop-after", "lift", *scaled],
            [paths["out"], "-o", paths["back"], "--policy", "float32"], [paths["out"], "-o", paths["again"], *scaled])
    for arguments in runs:
        answer = tool.run(arguments)
        if answer.exit:
            yield f"{arguments[2:]}: exit {answer.exit}: {answer.first_error()}"
            return
    out, lifted, back = (onnx.load(paths[name]) for name in ("out", "lifted", "back"))
    for result in (out, lifted, back):
        onnx.checker.check_model(result, full_check=True)
    decided = json.loads(report.read_text())
    how = [entry["how"] for entry in decided["replaced"]]
    low = {node["path"]: node["low"] for node in decided["nodes"]}
    if len(how) != 1 or "times 2^" not in how[0] or not low["scaled"]:
        because = next(node["because"] for node in decided["nodes"] if node["path"] == "scaled")
        yield f"form: {how}, scaled is {'low' if low['scaled'] else 'float32'}: {because}"
    if len(lifted.graph.node) - len(model.graph.node) != (0 if how and how[0].endswith("its alpha") else 1):
        yield f"form: {operators(model)} became {operators(lifted)}"
    if any(constant.data_type != TensorProto.FLOAT for constant in back.graph.initializer) or "Cast" in operators(back):
        yield "back: not float32"
    if pathlib.Path(paths["out"]).read_bytes() != pathlib.Path(paths["again"]).read_bytes():
        yield "once: rewritten again it is another"
    reference, limit = rounding.run(model, feeds), rounding.bound(out, DTYPES[DTYPE])
    results = {"float32": (rounding.run(lifted, feeds), EXACT), "rounded": (rounding.run_rounded(out, feeds), limit), "back": (rounding.run(back, feeds), limit)}
    for what, (got, bound) in results.items():
        difference = rounding.compare(reference, got)
        if difference.worst > bound or difference.new_bad or difference.wrong:
            yield f"{what}: {difference.worst:.2g} (bound {bound:.2g}), new NaN or Inf {difference.new_bad}, {difference.wrong}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", type=int, default=200)
    arguments = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder, Tool(arguments.tool) as tool:
        for seed in range(arguments.seed, arguments.seed + arguments.models):
            form = FORMS[seed % len(FORMS)]
            found = list(faults(tool, pathlib.Path(folder), form, seed))
            passed, failed = passed + (not found), failed + bool(found)
            for fault in found:
                print(f"seed {seed}, {form}: {fault}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
