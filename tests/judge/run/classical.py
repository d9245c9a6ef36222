#!/usr/bin/env python3
"""Runs whole classifiers and regressors of ai.onnx.ml in the executor, and compares them with onnxruntime.

  classical.py --run build/tools/amp-run --tool build/tests/rewrite_batch [--only TEXT]

The models are those of classical_models.py, made by hand as scikit-learn's converter writes them. Labels and scores are
compared; of ZipMap's sequences of maps, keys and values are. Labels agree to the bit, floats to 1e-5 of the largest
(float16: 2e-3). amp-rewrite leaves every one of the models as it is, to the byte.
"""

import argparse
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

from judge.run.classical_models import MODELS
from judge.run.executor import Runner
from judge.tool import Tool

TOLERANCE, FLOAT16_TOLERANCE = 1e-5, 2e-3


def flatten(name, value):
    """Returns name -> array as amp-run writes it.

    A sequence becomes its elements, or an array of none. A map becomes its keys and its values.
    """
    if isinstance(value, list):
        if not value:
            return {name: np.zeros(0, np.float32)}
        return {key: array for i, element in enumerate(value) for key, array in flatten(f"{name}/{i}", element).items()}
    if isinstance(value, dict):
        return {f"{name}/keys": np.array(list(value)), f"{name}/values": np.array(list(value.values()), np.float32)}
    return {name: np.asarray(value)}


def run_onnxruntime(model, feeds):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    outputs = zip([o.name for o in session.get_outputs()], session.run(None, feeds), strict=True)
    return {key: array for name, value in outputs for key, array in flatten(name, value).items()}


def in_order_of_keys(outputs):
    """Sorts maps by their keys: onnxruntime has them in that order, the executor in the order of the node."""
    result = dict(outputs)
    for name in outputs:
        if name.endswith("/keys"):
            order = np.argsort(outputs[name])
            values = name.removesuffix("keys") + "values"
            result[name], result[values] = outputs[name][order], outputs[values][order]
    return result


def differences(expected, found):
    """Yields a sentence for each output that differs."""
    if expected.keys() != found.keys():
        yield f"outputs {sorted(found)}, expected {sorted(expected)}"
        return
    for name, want in expected.items():
        got = found[name]
        if want.dtype == object:
            want = want.astype(str)
        if got.shape != want.shape or got.dtype.kind != want.dtype.kind:
            yield f"{name}: {got.dtype}{got.shape}, expected {want.dtype}{want.shape}"
        elif want.dtype.kind != "f":
            if not np.array_equal(got, want):
                yield f"{name}: {got[got != want][:4]}, expected {want[got != want][:4]}"
        elif not np.allclose(
            got,
            want,
            rtol=(tolerance := FLOAT16_TOLERANCE if want.dtype == np.float16 else TOLERANCE),
            atol=tolerance * max(np.abs(want[np.isfinite(want)]).max(initial=0), 1e-3),
            equal_nan=True,
        ):
            yield f"{name}: {got.ravel()[:6]}, expected {want.ravel()[:6]}"


class Judge:
    def __init__(self, runner, tool, folder):
        self.runner, self.tool, self.folder = runner, tool, pathlib.Path(folder)
        self.passed = self.failed = 0

    def expect(self, problems, what):
        self.passed, self.failed = self.passed + (not problems), self.failed + bool(problems)
        if problems:
            print(f"FAIL {what}: {'; '.join(problems)}", flush=True)

    def compare(self, path, expected, feeds, what):
        words = [
            name for name, array in feeds.items() if array.dtype == object
        ]  # amp-run reads them from protobuf files alone
        flags = []
        for i, name in enumerate(words):
            (self.folder / f"{i}.pb").write_bytes(onnx.numpy_helper.from_array(feeds[name], name).SerializeToString())
            flags += ["--input", f"{name}={self.folder / f'{i}.pb'}"]
        outputs, message = self.runner.run(
            path, {name: array for name, array in feeds.items() if name not in words}, *flags
        )
        self.expect([message] if outputs is None else list(differences(expected, in_order_of_keys(outputs))), what)

    def judge(self, name, model, feeds):
        onnx.checker.check_model(model, full_check=True)
        path, rewritten = self.folder / "model.onnx", self.folder / "rewritten.onnx"
        path.write_bytes(model.SerializeToString(deterministic=True))
        expected = in_order_of_keys(run_onnxruntime(model, feeds))
        self.compare(path, expected, feeds, name)
        answer = self.tool.run([path, "-o", rewritten])
        if answer.exit:
            return self.expect([answer.first_error()], f"{name}, rewritten")
        same = rewritten.read_bytes() == path.read_bytes()
        return self.expect(
            [] if same else ["changed, though nothing is there that 16 bits could make faster"], f"{name}, rewritten"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", required=True, help="amp-run")
    parser.add_argument("--tool", required=True, help="rewrite_batch or amp-rewrite")
    parser.add_argument("--only", default="", help="models whose name holds this text")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Tool(arguments.tool) as tool:
        judge = Judge(Runner(arguments.run, folder), tool, folder)
        for name, build in MODELS.items():
            if arguments.only in name:
                judge.judge(name, *build())
    print(f"{judge.passed} passed, {judge.failed} failed")
    return 1 if judge.failed or not judge.passed else 0


if __name__ == "__main__":
    sys.exit(main())
