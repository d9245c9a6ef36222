"""Judges the opset adapters: the lifted model must compute what the original computes, bit for bit.

    adapters.py LIFT_OPSET [--only TEXT]     one small model per operator, version and choice of attributes
    adapters.py LIFT_OPSET --models          real models: those in $AMP_SHARED, or in ../shared next to the repository
    adapters.py LIFT_OPSET --conformance     ONNX's own node tests there: lifted, they give the outputs that ONNX ships

Both forms run in ONNX Runtime without its optimizations, or in ONNX's reference evaluator where ONNX Runtime has no
kernel for the old form. The lifted file must pass ONNX's checker, with full check, and keep its inputs and outputs.
Every row of the table has to be reached by a case. Exit codes: 0 all well, 1 a difference, 77 nothing to judge.
"""

import argparse
import itertools
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, defs, numpy_helper
from onnx.reference import ReferenceEvaluator

from judge import rounding
from judge.rewrite import adapter_cases, adapter_cases_legacy
from judge.shared_files import shared_folder

NEWEST = 25  # the last opset that the pinned ONNX Runtime runs
LEGACY = 8  # ONNX's reference evaluator does not tell the versions before from later ones
SKIPPED = 77
# ONNX Runtime's CPU provider computes float16 nodes in float32 and drops roundings between neighbours that it has to
# widen; the versions of the operators decide which neighbours those are.
FLOAT16_ROUNDING = 1e-3


def run_onnxruntime(model, feeds):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def run_reference(model, feeds):
    return ReferenceEvaluator(model).run(None, feeds)


def same(a, b, tolerance):
    """Compares two arrays. Returns an empty text, or what differs."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{a.dtype}{a.shape} became {b.dtype}{b.shape}"
    if a.tobytes() == b.tobytes() or a.dtype == object and (a == b).all():
        return ""
    if tolerance and a.dtype.kind == "f" and np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True):
        return ""
    with np.errstate(all="ignore"):
        worst = np.nanmax(np.abs(a.astype(np.float64) - b.astype(np.float64))) if a.dtype != object else "strings"
    return f"values differ by {worst}"


class Lifter:
    def __init__(self, binary, folder):
        self.binary, self.folder = str(pathlib.Path(binary).resolve()), pathlib.Path(folder)

    def lift(self, path, target):
        """Lifts the file to the opset `target`. Returns (lifted model or None, text of the refusal)."""
        out = self.folder / "lifted.onnx"
        done = subprocess.run([self.binary, str(path), str(out), str(target)], capture_output=True, text=True)
        if done.returncode == 3:
            return None, done.stdout.strip()
        if done.returncode != 0:
            raise RuntimeError(f"lift_opset failed ({done.returncode}): {done.stderr.strip()}")
        return onnx.load(out), ""

    def lift_model(self, model, target):
        path = self.folder / "original.onnx"
        onnx.save(model, path)
        return self.lift(path, target)

    def rows(self):
        text = subprocess.run([self.binary, "--rows"], capture_output=True, text=True, check=True).stdout
        return {(op, int(a), int(b)) for op, a, b in (line.split() for line in text.splitlines())}


def interface(model):
    return [
        [(v.name, v.type.SerializeToString()) for v in values] for values in (model.graph.input, model.graph.output)
    ]


def onnx_import(model):
    return next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))


def check_lifted(original, lifted, target):
    onnx.checker.check_model(lifted, full_check=True)
    if onnx_import(lifted) != target:
        return "the import was not raised"
    before, after = interface(original), interface(lifted)
    initializers = {t.name for t in original.graph.initializer}
    if original.ir_version < 4:  # there, constants are listed as inputs
        before[0] = [i for i in before[0] if i[0] not in initializers]
    return "" if before == after else "inputs or outputs changed"


def complaint(original, lifted, target):
    try:
        return check_lifted(original, lifted, target)
    except Exception as error:
        return f"checker: {str(error)[:400]}"


def fails_checker(model):
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:
        return str(error)[:200]
    return ""


def judge_wanted(lifted, target, feeds, wanted, tolerance):
    """Compares the lifted model with `wanted`, which comes from the text of an old form that nothing runs.

    Returns (text of the difference, name of the judge).
    """
    for run in (run_onnxruntime,) if target < LEGACY else (run_onnxruntime, run_reference):
        try:
            differences = [
                d for d in (same(x, y, tolerance) for x, y in zip(wanted, run(lifted, feeds), strict=True)) if d
            ]
            return "; ".join(differences), f"text against {run.__name__}"
        except Exception as error:
            failure = f"{run.__name__}: {str(error)[:300]}"
            if run is run_onnxruntime and "NOT_IMPLEMENTED" not in failure:
                return failure, "text"
    return "", "neither: no kernel"


def judge_values(original, lifted, feeds, tolerance):
    """Runs both models and compares. Returns (text of the difference, name of the judge)."""

    def attempt(run, model):
        try:
            return run(model, feeds), ""
        except Exception as error:
            return None, f"{run.__name__}: {str(error)[:300]}"

    a, no_a = attempt(run_onnxruntime, original)
    b, no_b = attempt(run_onnxruntime, lifted)
    judge = "onnxruntime"
    for failure in (no_a, no_b):
        if failure and "NOT_IMPLEMENTED" not in failure:
            return failure, judge
    if no_b:  # no kernel of that version
        b, no_b = attempt(run_reference, lifted)
        judge, tolerance = "onnxruntime against reference", max(tolerance, 1e-5)
        if no_b:
            return "", "neither: no kernel"
    if no_a:
        (a, no_a), (b, no_b) = attempt(run_reference, original), attempt(run_reference, lifted)
        judge = "reference"
        if no_a or no_b:
            return no_a or no_b, judge
    differences = [d for d in (same(x, y, tolerance) for x, y in zip(a, b, strict=True)) if d]
    return "; ".join(differences), judge


def steps_of(op, opset, target):
    """Yields the steps (operator, from, to) that a node passes on its way from `opset` to `target`."""
    becomes = {("Upsample", 10): "Resize", ("Scatter", 11): "ScatterElements"}
    for version in range(opset + 1, target + 1):
        older, newer = (
            defs.get_schema(op, version - 1, "").since_version,
            defs.get_schema(op, version, "").since_version,
        )
        if older != newer:
            yield op, older, newer
        op = becomes.get((op, version), op)


def targets(case, opset):
    """Returns the opsets to lift to: 22, the newest, and every one on the way that changes the operator.

    A model that must not be lifted all the way has 22 alone. An old form that nothing runs has 22 and the changes up to
    LEGACY.
    """
    if case.reach is not None:
        return [22]
    if case.wanted is not None:
        return sorted({22} | {to for _, _, to in steps_of(case.op, opset, LEGACY)})
    versions = {22, NEWEST} | {to for _, _, to in steps_of(case.op, opset, NEWEST)}
    return sorted(version for version in versions if version > opset)


def judge_cases(lifter, only):
    failures, judged, reached, judges = [], 0, set(), {}
    for case in itertools.chain(adapter_cases.all_cases(), adapter_cases_legacy.all_cases()):
        if only and only not in case.name:
            continue
        if case.is_checked:
            onnx.checker.check_model(case.model)
        opset = onnx_import(case.model)
        for target in targets(case, opset):
            judged += 1
            label = f"{case.name}: {opset} -> {target}"
            lifted, refusal = lifter.lift_model(case.model, target)
            if case.reach is not None:
                if lifted is not None or not refusal.startswith(f"REACH {case.reach} ") or case.why not in refusal:
                    failures.append(f"{label}: wanted a stop at {case.reach} ({case.why}), got {refusal or 'a lift'}")
                continue
            if target == case.unsettled:
                if lifted is not None or not refusal.startswith(f"REACH {target - 1} "):
                    failures.append(f"{label}: wanted a refusal of this opset alone, got {refusal or 'a lift'}")
                continue
            if lifted is None:
                failures.append(f"{label}: refused: {refusal}")
                continue
            reached.update(steps_of(case.op, opset, target))
            text = complaint(case.model, lifted, target)
            judge = "checker"
            if not text:
                if case.wanted is None:
                    text, judge = judge_values(case.model, lifted, case.feeds, case.tolerance)
                else:
                    text, judge = judge_wanted(lifted, target, case.feeds, case.wanted, case.tolerance)
            judges[judge] = judges.get(judge, 0) + 1
            if text:
                failures.append(f"{label}: {text}")
    if not only:
        for row in sorted(lifter.rows() - reached):
            if row[2] <= NEWEST:
                failures.append(f"no case reaches the row {row[0]} {row[1]} -> {row[2]}")
    return failures, judged, judges


def feeds_of(model, refs):
    initializers = {t.name for t in model.graph.initializer}
    inputs = [i for i in model.graph.input if i.name not in initializers]
    if refs is not None and refs.exists():
        data = np.load(refs)
        return {i.name: data["in::" + i.name] for i in inputs}
    return rounding.random_feeds(model, seed=1, dim=1)


def has_float16(model):
    return any(t.data_type == TensorProto.FLOAT16 for t in model.graph.initializer)


def judge_models(lifter, folder, target=22):
    failures, judged = [], 0
    for path in sorted((folder / "models").glob("*.onnx")) + sorted((folder / "conformance" / "light").glob("*.onnx")):
        original = onnx.load(path)
        lifted, refusal = lifter.lift(path, target)
        if lifted is None:
            print(f"{path.name}: not lifted: {refusal}")
            continue
        judged += 1
        text = complaint(original, lifted, max(target, onnx_import(original)))
        if text and (first := fails_checker(original)):
            text = ""
            print(f"{path.name}: the original fails the checker too: {first}")
        if not text:
            feeds = feeds_of(original, folder / "models" / "refs" / (path.stem + ".npz"))
            text, _ = judge_values(original, lifted, feeds, FLOAT16_ROUNDING if has_float16(original) else 0)
        print(f"{path.name}: opset {onnx_import(original)} -> {onnx_import(lifted)}: {text or 'equal bits'}")
        if text:
            failures.append(f"{path.name}: {text}")
    return failures, judged


def read_tensors(folder, kind, values):
    """Reads the values of input_0.pb, input_1.pb ... (or output_0.pb ...); sequences and optionals too."""
    arrays = []
    for i, value in enumerate(values):
        data = (folder / f"{kind}_{i}.pb").read_bytes()
        which = value.type.WhichOneof("value")
        if which == "tensor_type":
            arrays.append(numpy_helper.to_array(TensorProto.FromString(data)))
        elif which == "sequence_type":
            arrays.append(numpy_helper.to_list(onnx.SequenceProto.FromString(data)))
        else:
            arrays.append(numpy_helper.to_optional(onnx.OptionalProto.FromString(data)))
    return arrays


def gives(model, feeds, outputs):
    """Finds the runtime in which the model gives these outputs. Returns its name, or an empty text.

    The values may differ by as much as ONNX's own runner allows.
    """

    def close(a, b):
        if a is None or b is None:
            return a is b
        if isinstance(a, list) or isinstance(b, list):
            return len(a) == len(b) and all(map(close, a, b))
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        return (
            bool((a == b).all())
            if a.dtype.kind not in "fcV"
            else np.allclose(a, b, rtol=1e-3, atol=1e-5, equal_nan=True)
        )

    for run in (run_onnxruntime, run_reference):
        try:
            if all(map(close, run(model, feeds), outputs)):
                return run.__name__
        except Exception:  # no kernel for that type or version
            continue
    return ""


def judge_conformance(lifter, archive, only, target=22):
    """Judges the cases whose original gives its outputs here: the lifted model has to give them as well."""
    failures, judged, left = [], 0, {}
    unpacked = lifter.folder / "conformance"
    shutil.unpack_archive(archive, unpacked)
    for path in sorted(unpacked.glob("*/*/model.onnx")):
        name, folder = path.parent.name, path.parent / "test_data_set_0"
        original = onnx.load(path)
        versions = [o.version for o in original.opset_import if o.domain in ("", "ai.onnx")]
        if only not in name or len(versions) != 1 or versions[0] >= target:
            continue
        lifted, refusal = lifter.lift(path, target)
        if lifted is None:
            reason = refusal.split(": ", 1)[-1]
            left.setdefault(reason, []).append(name)
            continue
        feeds = dict(zip([i.name for i in original.graph.input], read_tensors(folder, "input", original.graph.input)))
        outputs = read_tensors(folder, "output", original.graph.output)
        if not gives(original, feeds, outputs):
            left.setdefault("the original does not give its outputs here", []).append(name)
            continue
        judged += 1
        text = "" if fails_checker(original) else complaint(original, lifted, target)
        if not text and not gives(lifted, feeds, outputs):
            text = "the lifted model does not give its outputs"
        if text:
            failures.append(f"{name}: {versions[0]} -> {target}: {text}")
    for reason, names in sorted(left.items()):
        print(f"not judged, {len(names)} ({', '.join(names[:4])}{' ...' if len(names) > 4 else ''}): {reason}")
    return failures, judged


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lift_opset")
    parser.add_argument("--only", default="")
    parser.add_argument("--models", action="store_true")
    parser.add_argument("--conformance", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lifter = Lifter(arguments.lift_opset, folder)
        shared = shared_folder()
        needed = shared / "models" if arguments.models else shared / "conformance" / "node.tar.xz"
        if (arguments.models or arguments.conformance) and not needed.exists():
            print(f"SKIPPED: {needed} is not there (set AMP_SHARED): NOTHING WAS JUDGED")
            return SKIPPED
        if arguments.models:
            failures, judged = judge_models(lifter, shared)
        elif arguments.conformance:
            failures, judged = judge_conformance(lifter, needed, arguments.only)
        else:
            failures, judged, judges = judge_cases(lifter, arguments.only)
            print("judged by", ", ".join(f"{judge}: {count}" for judge, count in sorted(judges.items())))
    for failure in failures:
        print("FAILED", failure)
    print(f"{judged} lifts, {len(failures)} failures")
    return 1 if failures or judged == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
