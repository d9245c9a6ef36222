"""The common part of the judges of replaced operators, which are batch_norms.py and scaled_weights.py.

It has random models of a few nodes, the rules for each rewrite, and the command line. A judge has a rule `form` of its
own: what the report says, and which nodes are there. The other rules are the same for all:
  float32   before any type changed (--stop-after lift), onnxruntime gives the same, to `exact`, relative L2
  rounded   the result is within rounding.py's bound with every low tensor rounded where it is produced
  back      taken back with --policy float32 it is float32, and within that bound
  once      rewriting the result changes nothing, byte for byte
"""

import argparse
import json
import pathlib
import random
import tempfile
from dataclasses import dataclass, field
from typing import Callable

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from judge import rounding
from judge.structure import DTYPES
from judge.tool import Tool


class Maker:
    """One random model of a form; subclasses choose its nodes and weights."""

    def __init__(self, form, seed):
        self.form, self.random, self.numbers = form, random.Random(seed), np.random.default_rng(seed)
        self.nodes, self.weights = [], {}

    def node(self, op, inputs, output, name="", **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name or output, **attributes))

    def model(self, shape, outputs, opset):
        """Makes a model with one input, x of `shape`, and without value_info, and checks it."""
        graph = helper.make_graph(
            self.nodes,
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
            [numpy_helper.from_array(np.asarray(values), name) for name, values in self.weights.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
        del model.graph.value_info[:]
        onnx.checker.check_model(model, full_check=True)
        return model


def operators(model):
    return [node.op_type for node in model.graph.node]


@dataclass
class Case:
    """A model, how it is rewritten, and what is asked of that rewrite."""

    name: str
    model: onnx.ModelProto
    feeds: dict
    dtype: str
    exact: float
    flags: list = field(default_factory=list)
    form: Callable = None  # (report, models by name: "out", "lifted", "back") -> sentences


def faults(tool, folder, case):
    """Rewrites the case and yields a sentence for everything that is wrong."""
    paths = {name: str(folder / f"{name}.onnx") for name in ("in", "out", "lifted", "back", "again")}
    report = folder / "report.json"
    onnx.save(case.model, paths["in"])
    flags = ["--dtype", case.dtype, *case.flags]
    runs = (
        [paths["in"], "-o", paths["out"], "--report", str(report), *flags],
        [paths["in"], "-o", paths["lifted"], "--stop-after", "lift", *flags],
        [paths["out"], "-o", paths["back"], "--policy", "float32"],
        [paths["out"], "-o", paths["again"], *flags],
    )
    for arguments in runs:
        answer = tool.run(arguments)
        if answer.exit:
            yield f"{arguments[2:]}: exit {answer.exit}: {answer.first_error()}"
            return
    models = {name: onnx.load(paths[name]) for name in ("out", "lifted", "back")}
    for result in models.values():
        onnx.checker.check_model(result, full_check=True)
    yield from (f"form: {fault}" for fault in case.form(json.loads(report.read_text()), models))
    if any(
        constant.data_type != TensorProto.FLOAT for constant in models["back"].graph.initializer
    ) or "Cast" in operators(models["back"]):
        yield "back: not float32"
    if pathlib.Path(paths["out"]).read_bytes() != pathlib.Path(paths["again"]).read_bytes():
        yield "once: rewritten again it is another"
    reference, limit = rounding.run(case.model, case.feeds), rounding.bound(models["out"], DTYPES[case.dtype])
    results = {
        "float32": (rounding.run(models["lifted"], case.feeds), case.exact),
        "rounded": (rounding.run_rounded(models["out"], case.feeds), limit),
        "back": (rounding.run(models["back"], case.feeds), limit),
    }
    for what, (got, bound) in results.items():
        difference = rounding.compare(reference, got)
        if difference.worst > bound or difference.new_bad or difference.wrong:
            yield (
                f"{what}: {difference.worst:.2g} (bound {bound:.2g}), new NaN or Inf {difference.new_bad}, "
                f"{difference.wrong}"
            )


def judge(description, num_models, make):
    """Judges the Cases that make(seed) gives. Returns the exit status."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", type=int, default=num_models)
    arguments = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder, Tool(arguments.tool) as tool:
        for seed in range(arguments.seed, arguments.seed + arguments.models):
            case = make(seed)
            found = list(faults(tool, pathlib.Path(folder), case))
            passed, failed = passed + (not found), failed + bool(found)
            for fault in found:
                print(f"seed {seed}, {case.name}: {fault}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0
