#!/usr/bin/env python3
"""Runs small models of one operator or a few side by side: in the executor and in onnxruntime.

  side_by_side.py --run build/tools/amp-run --family sequences|attention|clip [--only TEXT] [--verbose]

The executor has to compute what onnxruntime computes: integers and shapes are equal, floats agree to TOLERANCE of the
largest. What onnxruntime refuses, the executor refuses with exit code 3, or computes where DIFFERS says why. A sentence
in DIFFERS that does not hold any more is a failure, too.
"""

import argparse
import fnmatch
import sys
import tempfile

import onnxruntime

from judge.run import attention_cases, clip_cases, sequence_cases
from judge.run.classical import differences, run_onnxruntime
from judge.run.executor import Runner

FAMILIES = {"sequences": sequence_cases, "attention": attention_cases, "clip": clip_cases}


class Judge:
    def __init__(self, runner, family, folder, verbose):
        self.runner, self.family, self.folder, self.verbose = runner, family, folder, verbose
        self.passed, self.failures, self.computed, self.used = 0, [], 0, set()

    def why_it_may_differ(self, name):
        for pattern, reason in self.family.DIFFERS.items():
            if fnmatch.fnmatchcase(name, pattern):
                self.used.add(pattern)
                return reason
        return None

    def problem(self, name, model, feeds):
        """Returns a sentence, or None."""
        path = f"{self.folder}/model.onnx"
        with open(path, "wb") as file:
            file.write(model.SerializeToString(deterministic=True))
        found, message = self.runner.run(path, feeds)
        try:
            expected = run_onnxruntime(model, feeds)
        except Exception as error:
            if found is None:
                return None if message.startswith("exit 3") else f"onnxruntime refuses, here: {message}"
            return (
                f"onnxruntime refuses: {str(error).splitlines()[0][-160:]}; here: "
                f"{ {key: value.shape for key, value in found.items()} }"
            )
        self.computed += 1
        if found is None:
            return f"onnxruntime computes, here: {message}"
        return "; ".join(differences(expected, found)) or None

    def judge(self, name, model, feeds):
        sentence = self.problem(name, model, feeds)
        reason = self.why_it_may_differ(name)
        if reason is not None and sentence is None:
            sentence = f"as in onnxruntime, although DIFFERS says: {reason}"
        elif reason is not None:
            sentence = None
        if sentence is None:
            self.passed += 1
        else:
            self.failures.append(name)
            print(f"FAIL {name}: {sentence}", flush=True)
        if self.verbose:
            print(f"{name}: {sentence or 'ok'}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", required=True, help="amp-run")
    parser.add_argument("--family", required=True, choices=FAMILIES)
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    family = FAMILIES[arguments.family]
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(Runner(arguments.run, folder), family, folder, arguments.verbose)
        for case in family.cases():
            if arguments.only in case[0]:
                judge.judge(*case)
    stale = [] if arguments.only else sorted(family.DIFFERS.keys() - judge.used)
    for pattern in stale:
        print(f"FAIL DIFFERS is stale: {pattern}")
    print(
        f"{judge.passed} passed, of which onnxruntime computes {judge.computed}; "
        f"{len(judge.failures) + len(stale)} failed"
    )
    return 1 if judge.failures or stale or not judge.computed else 0


if __name__ == "__main__":
    sys.exit(main())
