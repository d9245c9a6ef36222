#!/usr/bin/env python3
"""Rewrites every real model in both types, with and without --keep-io, and judges form and numbers.

  real_models.py --tool build/tests/rewrite_batch [--only NAME] [--dtype float16|bfloat16]

The models lie in $AMP_SHARED or in ../shared next to the repository: models/*.onnx with models/refs/*.npz (arrays
in::NAME and out::NAME), and conformance/light/*.onnx. All weights of the latter are constants that reach 1e31: their
numbers are judged in bfloat16 only. Without the folder the exit code is 77 (skipped).
For each rewrite:
  - the exit code is 0, and every rule of structure.py holds
  - onnxruntime with its default optimisations loads it and runs it (float16), and OpenVINO compiles it
  - a second run changes no byte; --deny-node '*' gives the input's bytes; external weights give the same graph
  - the relative L2 error with every rounding is inside the bound of rounding.py, and there is no new NaN / Inf
At least 90 % of the heavy nodes of the ordinary float32 models must be low under the default flags; those that stay
high are listed with the reason that --report gives.
A reference file that onnxruntime contradicts on the original is listed, and not used. The reference is then onnxruntime
on the original, as it is for models without a file. A model whose float32 run passes 65504 is exempt from numbers in
float16, and listed.
At the end comes a table of the default profile against TensorFlow's (profile_table.py): the default must be no worse in
what is low and in what is moved.
"""

import argparse
import dataclasses
import json
import pathlib
import sys
import tempfile
import time

import numpy as np
import onnx
import onnx.printer
from onnx import TensorProto

from judge import descriptions, rounding, runtimes, scopes, structure
from judge.inlining import inlined
from judge.rewrite import profile_table
from judge.scopes import LOW_TYPES, all_graphs
from judge.shared_files import shared_folder
from judge.tool import Tool

HEAVY = {"MatMul", "Gemm", "Conv", "ConvTranspose", "LSTM", "GRU", "RNN", "Attention"}
# Fused forms of the heavy operators, in the domain com.microsoft.
HEAVY_FUSED = {
    "FusedConv",
    "NhwcConv",
    "NhwcFusedConv",
    "FusedGemm",
    "FusedMatMul",
    "TransposeMatMul",
    "MultiHeadAttention",
    "GroupQueryAttention",
    "MatMulNBits",
}
MIN_HEAVY_SHARE = 0.9
LARGEST_FLOAT16 = 65504.0
# Not ordinary float32 models: 16 bits already, quantised, a training graph.
NOT_ORDINARY = {"squeezenet_fp16", "libtashkeel_int8", "cct2_training_graph"}
# The file itself is invalid (conflicting opset imports, nodes out of order): it must be repaired with a warning, and
# cannot be run as it is.
BROKEN = {"cct2_training_graph"}
INPUTS_OF = {"libtashkeel_int8": "libtashkeel_float"}
# (model, type): why its numbers are outside. Each entry must still be outside, else this list is stale.
OUTSIDE = {}
# These take pictures with values from 0 to 255; on noise around 0 their normalisations divide by next to nothing.
PICTURES = {"fns_mosaic"}


def picture(shape):
    """Makes an image [N, C, H, W] of smooth shapes with a little noise, with values from 0 to 255."""
    random = np.random.default_rng(1)
    y, x = np.mgrid[0 : shape[2], 0 : shape[3]] * (2 * np.pi / shape[3])
    waves = lambda: sum(
        np.sin(random.uniform(0.5, 12) * x + random.uniform(0.5, 12) * y + random.uniform(0, 7)) for _ in range(12)
    )
    image = np.stack([np.stack([waves() for _ in range(shape[1])]) for _ in range(shape[0])])
    image = (image - image.min()) / (image.max() - image.min()) * 255
    return (image + random.normal(0, 2, shape)).astype(np.float32)


def heavy_nodes(model, low):
    """Tells of every heavy node of every scope whether it is low: (path, index among the heavy) -> low.

    The index is among heavy nodes alone, as bodies and casts come and go around them.
    """
    found = {}
    for path, graph, types in scopes.typed_graphs(model, strict=False):
        nodes = [
            n
            for n in graph.node
            if n.op_type in {"": HEAVY, "ai.onnx": HEAVY, "com.microsoft": HEAVY_FUSED}.get(n.domain, ())
        ]
        for i, node in enumerate(nodes):
            found[path, i] = any(types.get(name) == low for name in [*node.input, *node.output] if name)
    return found


@dataclasses.dataclass
class Subject:
    """A model with its inputs and what it gives in float32."""

    name: str
    path: pathlib.Path
    model: onnx.ModelProto
    is_light: bool
    feeds: dict = None
    reference: dict = None
    note: str = ""


class Judge:
    def __init__(self, tool, folder, shared):
        self.tool, self.folder, self.shared = tool, pathlib.Path(folder), shared
        self.passed, self.failures, self.notes = 0, [], []
        self.heavy = {}  # type -> [low, all, the reasons of the others]

    def expect(self, ok, what):
        if ok:
            self.passed += 1
        else:
            self.failures.append(what)
            print(f"FAIL {what}", flush=True)

    def subject(self, path):
        subject = Subject(path.stem, path, onnx.load(path), path.parent.name == "light")
        if subject.name in BROKEN:
            return subject
        archive = self.shared / "models" / "refs" / f"{INPUTS_OF.get(subject.name, subject.name)}.npz"
        expected = {}
        if archive.exists() and not subject.is_light:
            arrays = np.load(archive)
            subject.feeds = {k[4:]: arrays[k] for k in arrays.files if k.startswith("in::")}
            if subject.name not in INPUTS_OF:
                expected = {k[5:]: arrays[k] for k in arrays.files if k.startswith("out::")}
        else:
            subject.feeds = rounding.random_feeds(subject.model, seed=1, dim=1)
            if subject.name in PICTURES:
                subject.feeds = {k: picture(v.shape) for k, v in subject.feeds.items()}
        is_low = any(t.data_type in LOW_TYPES for t in subject.model.graph.initializer)
        subject.reference = (
            rounding.run_rounded(subject.model, subject.feeds) if is_low else rounding.run(subject.model, subject.feeds)
        )
        if expected:
            difference = rounding.compare(expected, subject.reference)
            limit = rounding.CAP[TensorProto.FLOAT16] if is_low else 1e-3
            if difference.worst <= limit and not difference.new_bad and not difference.wrong:
                subject.reference = expected
            else:
                self.notes.append(
                    f"{subject.name}: its reference file is off by {difference.worst:.3g} at {difference.where!r} from "
                    "onnxruntime on the original: not used"
                )
        return subject

    def judge(self, subject, dtype, keep_io):
        label, out, again, report = (
            f"{subject.name} {dtype} keep-io {keep_io}",
            *(self.folder / n for n in ("out.onnx", "again.onnx", "report.json")),
        )
        flags = ["--dtype", dtype, "--keep-io", keep_io]
        for file in (out, again, report):
            file.unlink(missing_ok=True)
        start = time.time()
        answer = self.tool.run([subject.path, "-o", out, *flags, "--report", report])
        seconds = time.time() - start
        if answer.exit or not out.exists():
            return self.expect(False, f"{label}: exit {answer.exit}: {answer.first_error()}")
        rewritten = onnx.load(out)
        subject = self._with_replaced(subject, flags, report, label)
        found = structure.problems(
            subject.model, rewritten, dtype, keep_io, repaired=subject.name in BROKEN, feeds=subject.feeds
        )
        found += descriptions.problems(subject.model, rewritten)
        self.expect(not found, f"{label}: {len(found)} rules broken: {'; '.join(found[:4])}")
        refused = runtimes.openvino_problems(subject.model, rewritten)
        self.expect(not refused, f"{label}: {refused[:1]}")
        second = self.tool.run([out, "-o", again, *flags])
        self.expect(
            not second.exit and again.exists() and again.read_bytes() == out.read_bytes(),
            f"{label}: a second run changes the file ({second.exit}: {second.first_error()})",
        )
        again.unlink(missing_ok=True)
        excluded = self.tool.run([subject.path, "-o", again, *flags, "--deny-node", "*"])
        same = not excluded.exit and again.exists() and again.read_bytes() == subject.path.read_bytes()
        self.expect(
            same,
            f"{label}: with every node excluded the output is not the input ({excluded.exit}: "
            f"{excluded.first_error()})",
        )
        if keep_io == "all":
            self._external(subject, rewritten, flags, label)
        facts = json.loads(report.read_text()) if report.exists() else None
        self.expect(facts is not None, f"{label}: no report was written")
        if subject.name in BROKEN:
            warned = "warning" in answer.stderr.lower() or (facts or {}).get("warnings")
            self.expect(warned, f"{label}: repaired without a warning")
        heavy = self._heavy(subject, rewritten, dtype, keep_io, facts)
        verdict, error, limit = self._numbers(subject, rewritten, dtype, label)
        total = sum(len(g.node) for _, g in all_graphs(subject.model.graph))
        low = facts["totals"]["low"] if facts else -1
        casts = structure.added_casts(subject.model, rewritten)
        bytes_before, bytes_after = subject.path.stat().st_size, out.stat().st_size
        print(
            f"{subject.name:34} {dtype:9} {keep_io:5} {f'{low}/{total}':>10} {heavy:>8} {casts:5} "
            f"{bytes_before / 1e6:7.2f} {bytes_after / 1e6:7.2f} {error:>9} {limit:>8} {seconds:6.2f}  {verdict}",
            flush=True,
        )
        return None

    def _with_replaced(self, subject, flags, report, label):
        """Returns the subject, with another model where BatchNormalizations were replaced.

        That is the model as it was before any type changed. It has to compute the same.
        """
        if not report.exists() or not json.loads(report.read_text())["replaced"]:
            return subject
        before = self.folder / "before.onnx"
        answer = self.tool.run([subject.path, "-o", before, *flags, "--stop-after", "lift"])
        model = onnx.load(before) if not answer.exit else None
        self.expect(
            model is not None and not structure.checker_problems(subject.model, model),
            f"{label}: not valid before types change ({answer.exit}: {answer.first_error()})",
        )
        if model is None:
            return subject
        if subject.reference is not None:
            difference = rounding.compare(subject.reference, rounding.run(model, subject.feeds))
            self.expect(
                difference.worst <= 1e-4 and not difference.new_bad and not difference.wrong,
                f"{label}: replaced BatchNormalizations give {difference.worst:.2g} more in float32",
            )
        return dataclasses.replace(subject, model=model)

    def _external(self, subject, rewritten, flags, label):
        """Checks that the model with its weights in a file beside it gives the same graph."""
        split, out = self.folder / "split.onnx", self.folder / "split_out.onnx"
        for file in (*self.folder.glob("split*"),):
            file.unlink()
        onnx.save(onnx.load(subject.path), split, save_as_external_data=True, location="split.data", size_threshold=0)
        answer = self.tool.run([split, "-o", out, *flags])
        if answer.exit or not out.exists():
            return self.expect(False, f"{label}, external weights: exit {answer.exit}: {answer.first_error()}")
        got = onnx.load(out)
        weights = lambda m: {
            t.name: (t.data_type, list(t.dims), onnx.numpy_helper.to_array(t).tobytes()) for t in m.graph.initializer
        }
        nodes = lambda m: [onnx.printer.to_text(n) for n in m.graph.node]  # typed and raw data print alike
        same = nodes(got) == nodes(rewritten) and weights(got) == weights(rewritten)
        return self.expect(same, f"{label}: with external weights the graph is another one")

    def _heavy(self, subject, rewritten, dtype, keep_io, facts):
        """Returns 'low/all' over every scope; functions count as what their calls hold."""
        if subject.name in BROKEN:
            return "-"
        before, after = (heavy_nodes(inlined(model), structure.DTYPES[dtype]) for model in (subject.model, rewritten))
        self.expect(len(before) == len(after), f"{subject.name} {dtype}: {len(before)} heavy nodes became {len(after)}")
        low = sum(after.values()) - sum(before.values())
        if keep_io == "all" and subject.name not in NOT_ORDINARY and not subject.is_light:
            tally = self.heavy.setdefault(dtype, [0, 0, []])
            tally[0] += low
            tally[1] += len(after)
            reasons = {n["path"]: n["because"] for n in (facts or {}).get("nodes", []) if n["heavy"] and not n["low"]}
            high = [name for name, is_low in after.items() if not is_low]
            self.expect(
                len(reasons) >= len(high) and all(reasons.values()),
                f"{subject.name} {dtype}: the report gives {len(reasons)} reasons for {len(high)} heavy nodes that "
                "stay high",
            )
            tally[2] += [f"{subject.name}: {path}: {why}" for path, why in reasons.items()] if high else []
        return f"{low}/{len(after)}"

    def _numbers(self, subject, rewritten, dtype, label):
        """Judges the numbers. Returns (verdict, error, bound) as text."""
        if subject.reference is None:
            return "form only", "-", "-"
        if subject.is_light and dtype == "float16":
            return "form only (constants reach 1e31)", "-", "-"
        low = structure.DTYPES[dtype]
        try:
            wide = rounding.widen(rewritten)
            if wide.unknown:
                self.notes.append(
                    f"{label}: types unknown to ONNX's inference, not rounded: {len(wide.unknown)} tensors, "
                    f"first {wide.unknown[0]}"
                )
            difference = rounding.compare(subject.reference, rounding.run_rounded(rewritten, subject.feeds))
        except Exception as error:
            self.expect(False, f"{label}: does not run: {structure._short(error)}")
            return "FAIL", "-", "-"
        limit = max(rounding.bound(rewritten, low), 1e-5)
        if difference.worst == 0 or (subject.name == "squeezenet_fp16"):
            limit = max(limit, rounding.bound(rewritten, TensorProto.FLOAT16))
        inside = difference.worst <= limit and not difference.new_bad and not difference.wrong
        integers = "".join(f", {name}: {share:.1%} of integers equal" for name, share in difference.equal.items())
        where = f" at {difference.where!r}" if difference.where and not inside else ""
        texts = f"{difference.worst:.2g}", f"{limit:.2g}"
        if not inside and dtype == "float16":
            largest, tensor = rounding.largest_magnitude(subject.model, subject.feeds)
            if largest > LARGEST_FLOAT16:
                self.notes.append(f"{label}: exempt, its float32 run reaches {largest:.3g} at {tensor!r}")
                return f"exempt: float32 reaches {largest:.3g}", *texts
        listed = OUTSIDE.get((subject.name, dtype))
        if listed:
            self.expect(not inside, f"{label}: listed as outside ({listed}) and is inside: take it off the list")
            return f"listed: {listed}", *texts
        first = None if inside else rounding.first_divergence(subject.model, rewritten, subject.feeds, limit)
        detail = f"; first tensor outside {first[0]!r} ({first[1]:.3g}, {first[2]} bad)" if first else ""
        self.expect(
            inside,
            f"{label}: error {difference.worst:.3g}{where}, bound {limit:.3g}, "
            f"{difference.new_bad} new NaN / Inf{''.join('; ' + w for w in difference.wrong)}{detail}",
        )
        return ("ok" if inside else "FAIL") + integers, *texts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--only", help="models whose name contains this")
    parser.add_argument("--dtype", choices=structure.DTYPES)
    arguments = parser.parse_args()
    shared = shared_folder()
    if not (shared / "models").is_dir():
        print(f"SKIPPED: no models in {shared / 'models'} (set AMP_SHARED): NOTHING WAS JUDGED")
        return 77
    paths = sorted((shared / "models").glob("*.onnx")) + sorted((shared / "conformance" / "light").glob("*.onnx"))
    print(
        f"{'model':34} {'type':9} {'io':5} {'low/nodes':>10} {'heavy':>8} casts   MB in  MB out     "
        "error    bound      s  verdict"
    )
    with tempfile.TemporaryDirectory() as folder, Tool(arguments.tool) as tool:
        judge, table = Judge(tool, folder, shared), profile_table.ProfileTable(tool, pathlib.Path(folder))
        for path in paths:
            if arguments.only and arguments.only not in path.stem:
                continue
            try:
                subject = judge.subject(path)
            except Exception as error:
                judge.expect(False, f"{path.stem}: the original does not run: {structure._short(error)}")
                continue
            for dtype in structure.DTYPES:
                for keep_io in ("all", "none"):
                    if arguments.dtype in (None, dtype):
                        judge.judge(subject, dtype, keep_io)
                if arguments.dtype in (None, dtype) and subject.reference is not None and not subject.is_light:
                    failed = table.add(subject, dtype)
                    judge.expect(not failed, failed)
    for dtype, (low, all_heavy, others) in judge.heavy.items():
        print(
            f"\n{dtype}: {low} of {all_heavy} heavy nodes low ({low / max(all_heavy, 1):.1%}) over the ordinary "
            "float32 models; high:"
        )
        for line in others:
            print(f"  {line}")
        if not arguments.only:
            judge.expect(
                low >= MIN_HEAVY_SHARE * all_heavy and all_heavy,
                f"{dtype}: only {low} of {all_heavy} heavy nodes are low",
            )
    table.show()
    if not arguments.only:
        problems = table.problems()
        judge.expect(not problems, "; ".join(problems))
    for note in judge.notes:
        print(f"note: {note}")
    print(runtimes.TOTALS)
    print(f"{judge.passed} passed, {len(judge.failures)} failed")
    return 1 if judge.failures or not judge.passed else 0


if __name__ == "__main__":
    sys.exit(main())
