#!/usr/bin/env python3
"""Judges the numbers of models whose BatchNormalizations are folded, or written as a Mul and an Add.

  batch_norms.py --tool build/tests/rewrite_batch [--seed S] [--models N]

Random models, every form in turn: Conv (groups, one to three axes), ConvTranspose (groups), Gemm (alpha, beta, turned, all kinds of bias), MatMul, and what
cannot be folded (Relu ahead, a second reader), with and without bias, shared weights, tiny weights, opsets 7 to 22, both low types, between two allowed operators. For each:
  form      the report says that the BatchNormalization went into what is expected, none is left, and float16 leaves the opset as it was
  float32   onnxruntime gives the same before any type changed (--stop-after lift): 1e-5, relative L2
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

FORMS = ("Conv", "ConvTranspose", "Gemm", "MatMul", "Relu", "two readers")
HOW = {"Conv": "folded into", "ConvTranspose": "folded into", "Gemm": "folded into", "MatMul": "folded into 'ahead' and an Add",
       "Relu": "replaced by a Mul and an Add", "two readers": "replaced by a Mul and an Add"}
EXACT = 1e-5
TINY = 1e-9


class Maker:
    """One random model of a form."""

    def __init__(self, form, seed):
        self.form, self.random, self.numbers = form, random.Random(seed), np.random.default_rng(seed)
        self.nodes, self.weights, self.outputs = [], {}, ["y"]
        self.opset = self.random.choice((7, 9, 13, 14, 17, 22))

    def weight(self, name, *shape):
        fan_in = np.prod(shape[1:]) if len(shape) > 1 else 1
        self.weights[name] = (self.numbers.standard_normal(shape) / np.sqrt(fan_in)).astype(np.float32)
        return name

    def node(self, op, inputs, output, name="", **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name or output, **attributes))

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
            attributes.update(self.random.choice(({}, {"alpha": 0.5}, {"beta": 2.0}, {"alpha": 1.5, "beta": -0.5}, {"beta": 0.0})))
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
        statistics = {"s": self.numbers.uniform(0.5, 1.5, channels), "b": self.numbers.standard_normal(channels),
                      "m": self.numbers.standard_normal(channels), "v": self.numbers.uniform(0.2, 2, channels)}
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
        if not is_tiny and self.random.random() < 0.3 and "cb" in self.weights and self.weights["cb"].shape == self.weights["b"].shape:
            self.weights.pop("b")  # one constant for both
            self.nodes[-2].input[2] = "cb"
        graph = helper.make_graph(
            self.nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in self.outputs],
            [numpy_helper.from_array(values, name) for name, values in self.weights.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
        del model.graph.value_info[:]
        return model, {"x": self.numbers.standard_normal(shape).astype(np.float32)}


def operators(model):
    return [node.op_type for node in model.graph.node]


def faults(tool, folder, form, seed, dtype):
    """Sentences."""
    model, feeds = Maker(form, seed).make()
    onnx.checker.check_model(model, full_check=True)
    paths = {name: str(folder / f"{name}.onnx") for name in ("in", "out", "lifted", "back", "again")}
    report = folder / "report.json"
    onnx.save(model, paths["in"])
    runs = ([paths["in"], "-o", paths["out"], "--dtype", dtype, "--report", str(report)],
            [paths["in"], "-o", paths["lifted"], "--dtype", dtype, "--stop-after", "lift"],
            [paths["out"], "-o", paths["back"], "--policy", "float32"], [paths["out"], "-o", paths["again"], "--dtype", dtype])
    for arguments in runs:
        answer = tool.run(arguments)
        if answer.exit:
            yield f"{arguments[2:]}: exit {answer.exit}: {answer.first_error()}"
            return
    out, lifted, back = (onnx.load(paths[name]) for name in ("out", "lifted", "back"))
    for result in (out, lifted, back):
        onnx.checker.check_model(result, full_check=True)
    decided = json.loads(report.read_text())
    how = [node["how"] for node in decided["replaced"]]
    if len(how) != 1 or not how[0].startswith(HOW[form]) or "BatchNormalization" in operators(out):
        yield f"form: {how}, left {operators(out)}"
    if dtype == "float16" and decided["opset"]["before"] != decided["opset"]["after"]:
        yield f"form: opset {decided['opset']}"
    if any(constant.data_type != TensorProto.FLOAT for constant in back.graph.initializer) or "Cast" in operators(back):
        yield "back: not float32"
    if pathlib.Path(paths["out"]).read_bytes() != pathlib.Path(paths["again"]).read_bytes():
        yield "once: rewritten again it is another"
    reference, limit = rounding.run(model, feeds), rounding.bound(out, DTYPES[dtype])
    results = {"float32": (rounding.run(lifted, feeds), EXACT), "rounded": (rounding.run_rounded(out, feeds), limit), "back": (rounding.run(back, feeds), limit)}
    for what, (got, bound) in results.items():
        difference = rounding.compare(reference, got)
        if difference.worst > bound or difference.new_bad or difference.wrong:
            yield f"{what}: {difference.worst:.2g} (bound {bound:.2g}), new NaN or Inf {difference.new_bad}, {difference.wrong}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", type=int, default=180)
    arguments = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder, Tool(arguments.tool) as tool:
        for seed in range(arguments.seed, arguments.seed + arguments.models):
            form, dtype = FORMS[seed % len(FORMS)], list(DTYPES)[seed // len(FORMS) % 2]
            found = list(faults(tool, pathlib.Path(folder), form, seed, dtype))
            passed, failed = passed + (not found), failed + bool(found)
            for fault in found:
                print(f"seed {seed}, {form}, {dtype}: {fault}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
