#!/usr/bin/env python3
"""Judges the rewrite on what users complain about in other converters, with one small model for each complaint.

  complaints.py --tool build/tests/rewrite_batch [--only TEXT] [--keep DIR]

Every case runs in both low types, with inputs and outputs kept and released. Each rule has a failure line of its own:
  exit       the rewrite succeeds, or is refused with the exit code that the case names
  structure  every rule of structure.py holds: checker, strict inference, inputs and outputs, casts, names, order;
             onnxruntime loads the result, with its default optimisations too, and runs it then (float16)
  twice      rewriting the result again gives the same bytes, and so does rewriting the original again
  values     with every low tensor rounded where it is produced, there is no new NaN / Inf, and the error is within
             min(8 D u, 0.02 | 0.1); outputs named as exact, integers among them, have the same bits
  expect     the case's own checks hold: a port stays float32, a cast is not doubled, a guard keeps a node high ...

NOT_YET lists cases whose guard is still to come. Their form is judged like any other's; the rest is printed, and
counted neither as passed nor as failed.
At last the same judge sees a converter that chooses nothing (naive_rewriter.py, `blind`): it has to fail most of the
cases, or the judge does not bite.
"""

import argparse
import collections
import json
import pathlib
import sys
import tempfile

import numpy as np
import onnx

from judge import rounding, runtimes, scopes, structure
from judge.inlining import inlined
from judge.naive_rewriter import NaiveTool
from judge.rewrite import (
    complaint_case,
    complaint_graphs,  # registers its cases, as the next three do
    complaint_scopes,
    complaint_types,
    complaint_values,
)
from judge.rewrite.complaint_case import CASES, Outcome
from judge.structure import DTYPES
from judge.tool import Tool

BOTH = ("float16", "bfloat16")
CONTENT = ("values", "expect")
# Case -> (the low types in which it does not hold, how its known sentences start, the feature that has to come).
NOT_YET = {
    "activation_beyond_range": (("float16",), CONTENT, "observed ranges (calibration)"),
    "fusable_tail": (("float16",), CONTENT, "float16 profiles do not follow: the tail stays high by default"),
}
BLIND_FAILS = 0.5  # at least this share of the cases


class Judge:
    def __init__(self, tool, folder, keep=None, has_report=True):
        self.tool, self.folder, self.keep, self.has_report = tool, pathlib.Path(folder), keep, has_report

    def rewrite(self, source, folder, flags):
        """Rewrites the file. Returns (answer, the file written).

        The file always has the same name, as data beside a model carry the model's name.
        """
        target = self.folder / folder / "m.onnx"
        target.parent.mkdir(exist_ok=True)
        for file in target.parent.iterdir():
            file.unlink()
        return self.tool.run([source, "-o", target, *flags]), target

    def run(self, case, dtype, keep_io):
        """Judges one rewrite of the case. Returns [(rule, sentence)]."""
        self.measured = "not run"
        path = self.folder / "in.onnx"
        if case.external:
            onnx.save(
                onnx.ModelProto.FromString(case.model.SerializeToString()),
                path,
                save_as_external_data=True,
                location="in.data",
                size_threshold=0,
            )
        else:
            path.write_bytes(case.model.SerializeToString(deterministic=True))
        flags = ["--dtype", dtype, *(["--keep-io", keep_io] if "--keep-io" not in case.flags else []), *case.flags]
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        answer, out = self.rewrite(path, "first", [*flags, "--report", report])
        if answer.exit != case.exit:
            return [("exit", f"{answer.exit}: {answer.first_error()}")]
        if case.exit:
            return [("exit", "a file was written all the same")] if out.exists() else []
        found = []
        for name, source in (("again", path), ("twice", out)):
            answer, other = self.rewrite(source, name, flags)
            if answer.exit or not other.exists() or other.read_bytes() != out.read_bytes():
                found.append(
                    (
                        "twice",
                        f"{'the same input' if name == 'again' else 'a second run'} gives {answer.exit}: "
                        f"{answer.first_error() if answer.exit else 'other bytes'}",
                    )
                )
        given = json.loads(report.read_text()) if report.exists() else None
        if given is None and self.has_report:
            found.append(("expect", "no report was written"))
        result = onnx.load(out)
        base = (
            case.model
            if case.is_valid
            else scopes.without_value_info(scopes.sort(onnx.ModelProto.FromString(case.model.SerializeToString())))
        )
        kept = case.flags[case.flags.index("--keep-io") + 1] if "--keep-io" in case.flags else keep_io
        try:
            found += [
                ("structure", text)
                for text in structure.problems(base, result, dtype, kept, feeds=complaint_case.fill_feeds(case))
            ]
        except Exception as error:
            found.append(("structure", f"inference: {structure._short(error)}"))
        found += self._values(case, base, result, dtype)
        outcome = Outcome(case.model, result, dtype, given, out.read_bytes() == path.read_bytes())
        try:
            missed = [text for check in case.expect for text in check(outcome)]
        except Exception as error:
            missed = [f"cannot be judged: {structure._short(error)}"]
        return found + ([("expect", "; ".join(missed))] if missed else [])

    def _values(self, case, base, result, dtype):
        feeds = complaint_case.fill_feeds(case)
        reference = rounding.run_rounded(base, feeds)
        bad = [
            name for name, a in reference.items() if np.asarray(a).dtype.kind == "f" and np.isnan(np.asarray(a)).any()
        ]
        if bad:
            return [("values", f"the case is wrong: the original gives NaN in {bad}")]
        try:
            flat = inlined(result)
            got = rounding.run_rounded(flat, feeds)
        except Exception as error:
            return [("values", f"does not run: {structure._short(error)}")]
        difference, limit = rounding.compare(reference, got), rounding.bound(flat, DTYPES[dtype])
        self.measured = f"relative L2 {difference.worst:.2g} of {limit:.2g}, {difference.new_bad} new NaN / Inf"
        found = []
        if difference.worst > limit or difference.new_bad or difference.wrong:
            found.append(
                (
                    "values",
                    f"relative L2 {difference.worst:.3g} at {difference.where!r}, bound {limit:.3g}, "
                    f"{difference.new_bad} new NaN / Inf {difference.wrong or ''}",
                )
            )
        for name in case.exact:
            if not np.array_equal(reference[name], got[name]):
                a, b = (np.asarray(v, np.float64).ravel() for v in (reference[name], got[name]))
                off = np.abs(a - b).max() if a.shape == b.shape else float("nan")
                found.append(
                    (
                        "values",
                        f"{name} is not the same: {np.mean(a != b) if a.shape == b.shape else 1:.0%} of the elements, "
                        f"off by up to {off:g}",
                    )
                )
        return found


def not_yet(name, dtype, found):
    """Splits what was found into (failures, what only has to come)."""
    if name not in NOT_YET or dtype not in NOT_YET[name][0]:
        return found, []
    is_known = [f"{rule}: {text}".startswith(NOT_YET[name][1]) for rule, text in found]
    return [f for f, known in zip(found, is_known) if not known], [f for f, known in zip(found, is_known) if known]


def judge_tool(tool, only, keep):
    passed = failed = pending = 0
    numbers = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(tool, folder, keep)
        for name, (number, build) in CASES.items():
            if only not in name:
                continue
            numbers.update(number.split())
            case, lines = build(), {}
            for dtype in DTYPES:
                for keep_io in ["all"] if "--keep-io" in case.flags else ["all", "none"]:
                    failures, later = not_yet(name, dtype, judge.run(case, dtype, keep_io))
                    waits = name in NOT_YET and dtype in NOT_YET[name][0]
                    passed, failed, pending = (
                        passed + (not failures and not waits),
                        failed + bool(failures),
                        pending + (waits and not failures),
                    )
                    for rule, text in failures:
                        lines.setdefault(f"FAIL {name} (complaint {number}): {rule}: {text}", []).append(
                            f"{dtype}, io {keep_io}"
                        )
                    for rule, text in later:
                        lines.setdefault(
                            f"not yet ({NOT_YET[name][2]}) {name} (complaint {number}): {rule}: {text}", []
                        ).append(f"{dtype}, io {keep_io}: {judge.measured}")
                    if waits and not failures and not later:
                        lines.setdefault(f"holds now, take it off NOT_YET: {name}", []).append(f"{dtype}, io {keep_io}")
                    if failures and keep:
                        pathlib.Path(keep).mkdir(parents=True, exist_ok=True)
                        onnx.save(case.model, pathlib.Path(keep) / f"{name}.onnx")
            for line, where in lines.items():
                print(f"{line} [{'; '.join(where)}]")
    print(
        f"{sum(only in name for name in CASES)} cases of {len(numbers)} complaints, {passed + failed + pending} runs, "
        f"{pending} of them wait for a guard"
    )
    return passed, failed


def judge_blind():
    """Judges the blind converter. Returns (cases that it fails, cases, how many of them fail by each rule)."""
    failing, rules = 0, collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(NaiveTool("blind"), folder, has_report=False)
        for _, build in CASES.values():
            found = judge.run(build(), "float16", "all")
            # The blind converter has no memory of what it did, which is beside the point.
            found = [f for f in found if f[0] != "twice"]
            failing += bool(found)
            rules.update({rule for rule, _ in found})
    return failing, len(CASES), rules


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    parser.add_argument("--keep", help="save the models that fail here")
    arguments = parser.parse_args()
    unknown = NOT_YET.keys() - CASES.keys()
    if unknown:
        raise SystemExit(f"NOT_YET names no case: {sorted(unknown)}")
    with Tool(arguments.tool) as tool:
        passed, failed = judge_tool(tool, arguments.only, arguments.keep)
    if not arguments.only:
        failing, cases, rules = judge_blind()
        bites = failing >= BLIND_FAILS * cases
        print(f"{'' if bites else 'FAIL '}the blind converter fails {failing} of {cases} cases: {dict(rules)}")
        passed, failed = passed + bites, failed + (not bites)
    print(runtimes.TOTALS)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
