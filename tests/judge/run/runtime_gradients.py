#!/usr/bin/env python3
"""Judges ONNX Runtime's operators of training in the executor: the installed onnxruntime has none of them.

  runtime_gradients.py --run build/tools/amp-run --tool build/tests/rewrite_batch [--only TEXT]

Operators (runtime_gradient_cases.py): each gradient is compared, in float64, with central differences of a formula in
NumPy. In float32, float16 and bfloat16 the gradient is the same to what those types hold.
Graphs (training_artifacts.py): five training graphs are laid out as ONNX Runtime's artifacts are. They run. amp-rewrite
gives each a loss scale, and the result runs, too. Its gradients are the same in float32, and near them in both low
types. A step with a gradient that is not finite is told.
"""

import argparse
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto

from judge.run import runtime_gradient_cases, training_artifacts
from judge.run.executor import Runner
from judge.tool import Tool

DOUBLE_ERROR, STEP = 1e-6, 1e-5
# Relative to the largest element of an output.
LOW_ERRORS = {TensorProto.FLOAT: 1e-5, TensorProto.FLOAT16: 4e-3, TensorProto.BFLOAT16: 3e-2}
LOSS_SCALE = 1024.0
TYPE_NAMES = {TensorProto.FLOAT: "float32", TensorProto.FLOAT16: "float16", TensorProto.BFLOAT16: "bfloat16"}


def differences(function, operands, port, weights):
    """Returns the gradient of sum(weights * function(operands)) for operand `port`, by central differences."""
    gradient = np.zeros_like(operands[port])
    for at in np.ndindex(gradient.shape):
        sides = []
        for sign in (1, -1):
            moved = [operand.copy() for operand in operands]
            moved[port][at] += sign * STEP
            sides.append((weights * function(*moved)).sum())
        gradient[at] = (sides[0] - sides[1]) / (2 * STEP)
    return gradient


def distance(found, expected):
    if found.shape != expected.shape:
        return np.inf
    scale = max(np.abs(expected).max(initial=0), 1e-6)
    return np.abs(found.astype(np.float64) - expected).max(initial=0) / scale


class Judge:
    def __init__(self, runner, tool, folder):
        self.runner, self.tool, self.folder = runner, tool, pathlib.Path(folder)
        self.passed, self.failed = 0, 0

    def expect(self, ok, sentence):
        self.passed, self.failed = self.passed + bool(ok), self.failed + (not ok)
        if not ok:
            print(f"FAIL {sentence}", flush=True)
        return ok

    def run(self, model, feeds):
        path = self.folder / "model.onnx"
        path.write_bytes(model.SerializeToString(deterministic=True))
        return self.runner.run(path, feeds)

    def operator(self, case):
        expected = [
            None if port is None else differences(case.function, case.operands, port, case.dy)
            for port in case.gradients
        ]
        found, message = self.run(case.model(TensorProto.DOUBLE), case.feeds())
        if not self.expect(found is not None, f"{case.name}: {message}"):
            return
        for i, gradient in enumerate(expected):
            if gradient is not None:
                off = distance(found[f"d{i}"], gradient)
                self.expect(off < DOUBLE_ERROR, f"{case.name}: gradient {i} is off by {off:.1e} from differences")
        for element, limit in LOW_ERRORS.items():
            low, message = self.run(case.model(element), case.feeds())
            if self.expect(low is not None, f"{case.name} in {TYPE_NAMES[element]}: {message}"):
                worst = max(distance(low[name], value) for name, value in found.items())
                self.expect(worst < limit, f"{case.name} in {TYPE_NAMES[element]}: off by {worst:.1e}")

    def graph(self, artifact):
        source, made = self.folder / "graph.onnx", self.folder / "scaled.onnx"
        onnx.save(artifact.model, source)
        before, message = self.runner.run(source, artifact.feeds)
        if not self.expect(before is not None, f"{artifact.name}: {message}"):
            return
        for name, gradient in artifact.gradients.items():
            off = distance(before[name], gradient)
            self.expect(
                off < LOW_ERRORS[TensorProto.FLOAT], f"{artifact.name}: {name} is off by {off:.1e} from NumPy's"
            )
        if not artifact.has_loss:
            return
        for flags, limit in (
            (["--deny-node", "*"], 1e-6),
            (["--dtype", "float16"], 2e-2),
            (["--dtype", "bfloat16"], 1e-1),
        ):
            answer = self.tool.run(
                [source, "-o", made, "--loss-scale", "dynamic", "--loss-scale-initial", str(LOSS_SCALE), *flags]
            )
            if not self.expect(
                answer.exit == 0, f"{artifact.name} {flags}: exit {answer.exit}: {answer.first_error()}"
            ):
                continue
            after, message = self.runner.run(made, artifact.feeds)
            if not self.expect(after is not None, f"{artifact.name} {flags}: {message}"):
                continue
            worst = max(distance(after[name], before[name]) for name in artifact.gradients)
            self.expect(worst < limit, f"{artifact.name} {flags}: gradients are off by {worst:.1e}")
            self.expect(bool(after["amp.all_finite"]), f"{artifact.name} {flags}: a good step is called bad")
            bad, message = self.runner.run(made, artifact.bad_feeds())
            self.expect(
                bad is not None and not bad["amp.all_finite"],
                f"{artifact.name} {flags}: a bad step is not told ({message})",
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", required=True, help="amp-run")
    parser.add_argument("--tool", required=True, help="rewrite_batch or amp-rewrite")
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Tool(arguments.tool) as tool:
        judge = Judge(Runner(arguments.run, folder), tool, folder)
        for case in runtime_gradient_cases.cases():
            if arguments.only in case.name:
                judge.operator(case)
        for artifact in training_artifacts.artifacts():
            if arguments.only in artifact.name:
                judge.graph(artifact)
    print(f"{judge.passed} passed, {judge.failed} failed")
    return 1 if judge.failed or not judge.passed else 0


if __name__ == "__main__":
    sys.exit(main())
