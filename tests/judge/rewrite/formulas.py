#!/usr/bin/env python3
"""Compares what the guards keep float32 with what 16 bits do harm to, on made-up formulas.

  formulas.py --tool build/tests/rewrite_batch [--seed S] [--formulas N] [--list]

A formula is 3 to 8 functions in a row behind a product by the identity: Sigmoid, Softmax, Log, 1 - v, v + 1e-5, a
square, a quotient of two earlier values and so on, with constants of any order of magnitude. Its inputs are exact in
both low types and reach the ends of what saturates. Formulas that float32 itself does not compute are left out, and
so are those that a rounding of their inputs breaks: no graph tells that of data.

Each formula is rewritten to both types twice, with all guards and with those for constants alone, and runs with every
rounding applied (rounding.py).

  broken   beyond the bound of the type, or newly not finite, with the guards for constants alone
  caught   of those, right with all guards
  alarms   formulas that are not broken, in which the guard "demands" keeps a node float32 that is low without it

At least LEAST_CAUGHT of the broken formulas are caught (0.9 is the aim), and at most MOST_ALARMS of the others raise an
alarm. --list prints those that are missed, and the alarms.
"""

import argparse
import collections
import json
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from judge import rounding
from judge.structure import DTYPES
from judge.tool import Tool

ROWS, COLUMNS = 16, 8
LEAST_CAUGHT = {"float16": 0.85, "bfloat16": 0.75}
MOST_ALARMS = 0.05
MOST_FLOAT32_ERROR = 1e-3  # relative to float64: beyond it a formula says nothing of 16 bits
LARGEST = 1e4  # of values on the way: what leaves float16's range by data alone is no question of form
LARGEST_READ = 1e30  # of quotients, which leave it by their form


def exact(array):
    """Returns float32 numbers that both low types have."""
    return array.astype(rounding.ml_dtypes.bfloat16).astype(np.float32)


class Formula:
    """A graph that grows function by function, with the values of one sample in float64.

    It begins with activations of size 1 and with logits, of which no graph tells how large they get: here up to 20.
    """

    def __init__(self, rng):
        self.rng, self.nodes, self.words = rng, [], []
        reach = rng.choice([2, 8, 20], (ROWS, 1))
        self.feeds = {
            "x": exact(rng.standard_normal((ROWS, COLUMNS))),
            "z": exact(rng.uniform(-reach, reach, (ROWS, COLUMNS))),
            "w": np.eye(COLUMNS, dtype=np.float32),
        }
        self.constants = {"eye": np.eye(COLUMNS, dtype=np.float32), "axes": np.array([-1], np.int64)}
        self.values = {"a": self.feeds["x"].astype(np.float64), "l": self.feeds["z"].astype(np.float64)}
        self.nodes.append(helper.make_node("MatMul", ["x", "eye"], ["a"], "activations"))
        self.nodes.append(helper.make_node("MatMul", ["z", "w"], ["l"], "logits"))
        self.last = "a"

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.float32(value)
        return name, np.float64(np.float32(value))

    def add(self, op, inputs, value, word, **attributes):
        """Adds a node if its value is one that a formula may have."""
        most = LARGEST_READ if op in ("Log", "Reciprocal", "Div") else LARGEST
        if not np.isfinite(value).all() or np.abs(value).max() > most or np.ptp(value) == 0:
            return False
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], f"{op.lower()}{len(self.nodes)}", **attributes))
        self.values[name], self.last = value, name
        self.words.append(word)
        return True

    def grow(self, steps):
        """Adds one of the steps; False if none of some tries fits."""
        with np.errstate(all="ignore"):
            return any(self.rng.choice(steps)(self, self.last, self.values[self.last]) for _ in range(20))

    def model(self):
        return helper.make_model(
            helper.make_graph(
                self.nodes,
                "g",
                [helper.make_tensor_value_info(k, TensorProto.FLOAT, v.shape) for k, v in self.feeds.items()],
                [helper.make_tensor_value_info(self.last, TensorProto.FLOAT, self.values[self.last].shape)],
                [numpy_helper.from_array(value, name) for name, value in self.constants.items()],
            ),
            opset_imports=[helper.make_opsetid("", 22)],
            ir_version=10,
        )


def function(op, of, **attributes):
    def step(formula, name, v):
        return formula.add(op, [name], of(v), op, **attributes)

    return step


def softmax(v):
    e = np.exp(v - v.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def magnitude(formula):
    return 10 ** formula.rng.uniform(-6, 2)


def plus(formula, name, v):
    c, value = formula.constant(magnitude(formula))
    return formula.add("Add", [name, c], v + value, f"+ {value:.3g}")


def times(formula, name, v):
    c, value = formula.constant(magnitude(formula))
    return formula.add("Mul", [name, c], v * value, f"* {value:.3g}")


def rest(formula, name, v):
    c, value = formula.constant(formula.rng.choice([1, 1, 1, 1.00001, 2]))
    return formula.add("Sub", [c, name], value - v, f"{value:.6g} - v")


def at_least(formula, name, v):
    c, value = formula.constant(magnitude(formula))
    return formula.add("Max", [name, c], np.maximum(v, value), f"max {value:.3g}")


def square(formula, name, v):
    return formula.add("Mul", [name, name], v * v, "square")


def with_earlier(op, of):
    def step(formula, name, v):
        other = formula.rng.choice(sorted(formula.values))
        return formula.add(op, [name, other], of(v, formula.values[other]), f"{op} {other}")

    return step


def total(formula, name, v):
    return formula.add("ReduceSum", [name, "axes"], v.sum(-1, keepdims=True), "ReduceSum")


def below_maximum(formula, name, v):
    if not formula.add("ReduceMax", [name, "axes"], v.max(-1, keepdims=True), "ReduceMax"):
        return False
    return formula.add("Sub", [name, formula.last], v - v.max(-1, keepdims=True), "v - max")


def of_logits(step):
    """Does the step to the logits."""
    return lambda formula, name, v: step(formula, "l", formula.values["l"])


def only_if(holds, step):
    return lambda formula, name, v: bool(np.all(holds(v))) and step(formula, name, v)


def by_gate(formula, name, v):
    """Divides an earlier value by this one."""
    other = formula.rng.choice(sorted(formula.values))
    return formula.add("Div", [other, name], formula.values[other] / v, f"{other} / v")


def reaches(far, step):
    return only_if(lambda v: np.abs(v).max() > far, step)


SIGMOID = reaches(8, function("Sigmoid", lambda v: 1 / (1 + np.exp(-v))))
TANH = reaches(4, function("Tanh", np.tanh))
SOFTMAX = only_if(lambda v: np.ptp(v) > 8, function("Softmax", softmax, axis=-1))
SOFTPLUS = reaches(8, function("Softplus", lambda v: np.logaddexp(0, v)))
LOG = only_if(lambda v: v > 0, function("Log", np.log))
ROOT = only_if(lambda v: v > 0, function("Sqrt", np.sqrt))
INVERSE = only_if(lambda v: v != 0, function("Reciprocal", np.reciprocal))
QUOTIENT = only_if(lambda v: v != 0, by_gate)
SINE = function("Sin", np.sin)

GATES = (SIGMOID, SIGMOID, TANH, SOFTMAX, SOFTPLUS)
SOURCES = (*map(of_logits, GATES), times, times, plus, square)
BETWEEN = (
    function("Relu", lambda v: np.maximum(v, 0)),
    function("Neg", np.negative),
    function("Exp", np.exp),
    SIGMOID,
    TANH,
    ROOT,
    plus,
    plus,
    times,
    rest,
    rest,
    rest,
    at_least,
    square,
    with_earlier("Sub", np.subtract),
    with_earlier("Mul", np.multiply),
    with_earlier("Mul", np.multiply),
    total,
    below_maximum,
)
READERS = (LOG, LOG, INVERSE, QUOTIENT, SINE, ROOT, SIGMOID)


def make(seed):
    rng = np.random.default_rng(seed)
    formula = Formula(rng)
    formula.grow(SOURCES)
    for _ in range(rng.integers(1, 6)):
        formula.grow(BETWEEN)
    formula.grow(READERS)
    return formula


def is_computed_in_float32(formula, result):
    exact, got = formula.values[formula.last], result.astype(np.float64)
    norm = np.linalg.norm(exact)
    return np.isfinite(got).all() and norm > 1e-6 and np.linalg.norm(got - exact) <= MOST_FLOAT32_ERROR * norm


def bears_rounded_data(formula, model, reference, dtype):
    """Says whether inputs off by a rounding of their size leave the result within a quarter of the type's bound."""
    rng = np.random.default_rng(1)
    unit = rounding.UNIT[DTYPES[dtype]]
    feeds = {"w": formula.feeds["w"]}
    for name in ("x", "z"):
        relative, absolute = rng.choice([-unit, unit], (2, ROWS, COLUMNS))
        feeds[name] = (formula.feeds[name] * (1 + relative) + absolute).astype(np.float32)
    difference = rounding.compare(reference, rounding.run(model, feeds))
    return not difference.new_bad and difference.worst <= rounding.CAP[DTYPES[dtype]] / 4


class Count:
    def __init__(self):
        self.formulas = self.broken = self.caught = self.alarms = 0
        self.missed_by = collections.Counter()


def judge(tool, formula, original, reference, dtype, work, count, listing):
    """Rewrites the formula with all guards and with those for constants; counts what that shows."""
    right, low, kept = {}, {}, []
    for guards in ("constants", "all"):
        out, report = work / "out.onnx", work / "report.json"
        answer = tool.run(
            [original, "-o", out, "--force", "--dtype", dtype, "--guards", guards, "--follow", "on", "--report", report]
        )
        if answer.exit:
            print(f"FAIL {' '.join(formula.words)}: {answer.first_error()}")
            return False
        rewritten = onnx.load(out)
        difference = rounding.compare(reference, rounding.run_rounded(rewritten, formula.feeds))
        right[guards] = not difference.new_bad and difference.worst <= rounding.CAP[DTYPES[dtype]]
        nodes = json.loads(report.read_text())["nodes"]
        low[guards] = {node["path"] for node in nodes if node["low"]}
        kept = [node["path"] for node in nodes if "guard: demands" in node["because"]]
    kept = [path for path in kept if path in low["constants"]]
    text = f"{dtype}: {', '.join(formula.words)}"
    count.formulas += 1
    if not right["constants"]:
        count.broken += 1
        count.caught += right["all"]
        if not right["all"]:
            count.missed_by[formula.words[-1].split()[0]] += 1
            print(f"missed {text}") if listing else None
    elif kept:
        count.alarms += 1
        print(f"alarm  {text}: {', '.join(kept)}") if listing else None
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--formulas", type=int, default=1500)
    parser.add_argument("--list", action="store_true", help="print what is missed, and the alarms")
    arguments = parser.parse_args()
    counts = {dtype: Count() for dtype in DTYPES}
    succeeded = True
    with Tool(arguments.tool) as tool, tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        for i in range(arguments.formulas):
            formula = make([arguments.seed, i])
            model = formula.model()
            reference = rounding.run(model, formula.feeds)
            if not is_computed_in_float32(formula, reference[formula.last]):
                continue
            onnx.save(model, work / "in.onnx")
            for dtype, count in counts.items():
                if not bears_rounded_data(formula, model, reference, dtype):
                    continue
                succeeded &= judge(tool, formula, work / "in.onnx", reference, dtype, work, count, arguments.list)
    for dtype, count in counts.items():
        sound = count.formulas - count.broken
        print(
            f"{dtype}: {count.formulas} formulas; {count.caught} of {count.broken} broken ones are caught; "
            f"{count.alarms} of {sound} sound ones raise an alarm; missed, by their last function: "
            f"{dict(count.missed_by.most_common(6))}"
        )
        succeeded &= count.broken > 0 and count.caught >= LEAST_CAUGHT[dtype] * count.broken
        succeeded &= count.alarms <= MOST_ALARMS * sound
    return 0 if succeeded else 1


if __name__ == "__main__":
    sys.exit(main())
