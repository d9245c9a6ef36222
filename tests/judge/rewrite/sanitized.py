#!/usr/bin/env python3
"""Rewrites real models with a program that was built with sanitizers: a report of those ends it, and is a failure.

  sanitized.py --tool build/tests/rewrite_batch_sanitized

All models are rewritten in both types, with the opset as it is and with 21. Each rewrite is taken back, and each
model becomes steps of training. Each rewrite explains itself (--explain, --report). Each model that has
stored inputs is searched on them (--search, --sensitivity) and shown as a page. A refusal is an answer like any other
(exit codes 2 to 5), and so is a search that finds nothing (7). The numbers of the rewrites are judged by
real_models.py, those of the search by search.py.
"""

import argparse
import collections
import os
import pathlib
import sys
import tempfile
import time

from judge.shared_files import shared_folder
from judge.tool import Tool

ANSWERS = {0, 2, 3, 4, 5, 7}
OPTIONS = "allocator_may_return_null=1:halt_on_error=1"


class Runs:
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder
        self.exits, self.failures, self.searched = collections.Counter(), [], 0

    def run(self, what, arguments):
        """Runs the tool. Returns whether a model was written."""
        answer = self.tool.run(arguments)
        self.exits[answer.exit] += 1
        if answer.exit not in ANSWERS:
            self.failures.append(what)
            print(f"FAIL {what}: exit {answer.exit}: {answer.stderr[-1500:]}", flush=True)
        return answer.exit == 0

    def rewrite(self, path, flags):
        out = self.folder / "out.onnx"
        what = f"{path.stem} {' '.join(flags)}"
        explained = ["--explain", "--report", self.folder / "report.json"]
        return self.run(what, [path, "-o", out, *flags, *explained]) and out

    def take_back(self, path, out, flags):
        self.run(
            f"{path.stem} {' '.join(flags)}, taken back", [out, "-o", self.folder / "back.onnx", "--policy", "float32"]
        )

    def search(self, path):
        """Searches on the stored inputs, with every table and page that a search writes."""
        sample = path.parent / "refs" / f"{path.stem}.npz"
        if not sample.is_file():
            return
        tables = ["--calibration", sample, f"--sensitivity={self.folder / 'parts.csv'}", "--measure", "2"]
        choices = [
            "--search",
            "--max-error",
            "0.003",
            "--budget-runs",
            "4",
            "--pareto",
            self.folder / "pareto.csv",
            "--verify=off",
        ]
        pages = ["--search-list", self.folder / "found.list", "--report", self.folder / "page.html", "--force"]
        if self.run(f"{path.stem}, searched", [path, "-o", self.folder / "out.onnx", *tables, *choices, *pages]):
            self.searched += 1


def judge(runs, path, settings):
    for flags in settings:
        out = runs.rewrite(path, flags)
        if out:
            runs.take_back(path, out, flags)
    for policy in ("mixed_float16", "mixed_bfloat16", "float32"):
        runs.rewrite(path, ["--train", "--loss", "mse", "--policy", policy])
    runs.search(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--only", default="", help="models whose name contains this")
    arguments = parser.parse_args()
    shared = shared_folder()
    paths = sorted((shared / "models").glob("*.onnx"), key=lambda path: path.stat().st_size)
    if not paths:
        print(f"SKIPPED: no models in {shared / 'models'} (set AMP_SHARED): NOTHING WAS RUN")
        return 77
    paths += sorted((shared / "conformance" / "light").glob("*.onnx"))
    settings = [["--dtype", dtype, *opset] for dtype in ("float16", "bfloat16") for opset in ([], ["--opset", "21"])]
    os.environ.setdefault("ASAN_OPTIONS", OPTIONS)
    start = time.time()
    with tempfile.TemporaryDirectory() as folder, Tool(arguments.tool, timeout_s=1200) as tool:
        runs = Runs(tool, pathlib.Path(folder))
        for path in paths:
            if arguments.only in path.stem:
                judge(runs, path, settings)
    exits = ", ".join(f"{count} x exit {code}" for code, count in sorted(runs.exits.items()))
    print(
        f"{len(paths)} models, {sum(runs.exits.values())} runs ({exits}) in {time.time() - start:.0f} s, "
        f"{runs.searched} models searched, {len(runs.failures)} failed"
    )
    return 1 if runs.failures else 0


if __name__ == "__main__":
    sys.exit(main())
