#!/usr/bin/env python3
"""Runs, rewrites, verifies and calibrates decoders with a cache.

  decoder_caches.py --run build/tools/amp-run --rewrite build/tools/amp-rewrite

The models are those of ../shared/faults3, each with a sample beside it. They are such as ONNX Runtime's optimiser and
genai's builder write. They run as in onnxruntime, with the present cache among the outputs. amp-rewrite verifies and
calibrates them in both types, and converts every node. Without the folder the exit code is 77 (skipped).
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx

from judge.run.classical import differences, run_onnxruntime
from judge.run.executor import Runner
from judge.shared_files import shared_folder

MODELS = ("attention_with_past", "group_query_attention")


class Judge:
    def __init__(self, runner, program, folder):
        self.runner, self.program, self.folder = runner, program, pathlib.Path(folder)
        self.passed = self.failed = 0

    def expect(self, ok, sentence):
        self.passed, self.failed = self.passed + bool(ok), self.failed + (not ok)
        if not ok:
            print(f"FAIL {sentence}", flush=True)

    def rewrite(self, source, *flags):
        """Returns (exit code, what amp-rewrite says)."""
        made = self.folder / "made.onnx"
        done = subprocess.run([self.program, source, "-o", made, *flags], capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout + done.stderr

    def judge(self, name, source, sample):
        feeds = dict(np.load(sample))
        model = onnx.load(source)
        found, message = self.runner.run(source, feeds)
        self.expect(found is not None, f"{name}: {message}")
        if found is not None:
            self.expect(
                not list(differences(run_onnxruntime(model, feeds), found)), f"{name}: other than in onnxruntime"
            )
        for dtype in ("float16", "bfloat16"):
            code, said = self.rewrite(source, "--dtype", dtype, f"--verify={sample}")
            self.expect(
                code == 0 and "verified: largest relative error" in said,
                f"{name} {dtype} --verify: exit {code}: {said.strip()}",
            )
            nodes = len(model.graph.node)
            self.expect(f"Converted {nodes} of {nodes} nodes to {dtype}" in said, f"{name} {dtype}: {said.strip()}")
            code, said = self.rewrite(
                source, "--dtype", dtype, "--calibration", sample, "--ranges", self.folder / "ranges.json"
            )
            self.expect(code == 0, f"{name} {dtype} --calibration: exit {code}: {said.strip()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", required=True, help="amp-run")
    parser.add_argument("--rewrite", required=True, help="amp-rewrite")
    arguments = parser.parse_args()
    models = shared_folder() / "faults3"
    if not models.is_dir():
        print(f"SKIPPED: no models in {models} (set AMP_SHARED)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(Runner(arguments.run, folder), arguments.rewrite, folder)
        for name in MODELS:
            judge.judge(name, models / f"{name}.onnx", models / f"{name}.npz")
    print(f"{judge.passed} passed, {judge.failed} failed")
    return 1 if judge.failed else 0


if __name__ == "__main__":
    sys.exit(main())
