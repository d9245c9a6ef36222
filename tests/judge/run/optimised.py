#!/usr/bin/env python3
"""Runs real models as onnxruntime itself writes them: optimised and saved, with its fused operators, and quantised.

  optimised.py --run build/tools/amp-run --tool build/tests/rewrite_batch [--only NAME]

The models and inputs are those of real_models.py.
  optimised   A model is optimised as far as holds for every machine (ORT_ENABLE_EXTENDED). In the executor it is within
              1e-4 of its reference. Rewritten to either type, it is inside the bound of rounding.py; onnxruntime loads
              the result with its default optimisations, and runs it in float16.
  quantised   The models of QUANTISED have 8 bits, by onnxruntime's QLinear operators or by dynamic ones. The executor
              gives what onnxruntime gives without optimisations, and rewriting the model is no error.
Without the folder of models the exit code is 77 (skipped).
"""

import argparse
import logging
import pathlib
import sys
import tempfile

import onnx
import onnxruntime
from onnxruntime.quantization import QuantFormat, QuantType, quantize_dynamic, quantize_static

from judge import rounding, runtimes, structure
from judge.rewrite import real_models
from judge.run.executor import FLOAT32_ERROR, Runner, float_feeds
from judge.shared_files import shared_folder
from judge.tool import Tool

# (model, how). The numbers of these models lie at no border between two steps of 8 bits. At a border a last bit would
# decide, and many a layer later.
QUANTISED = [
    (name, "static")
    for name in (
        "autoencoder1d_op20",
        "basic_pitch_nmp",
        "cct_2_opset20",
        "mnist_mlp_original",
        "mnist_opset8",
        "unet_sed_op18",
    )
]
QUANTISED += [
    (name, "dynamic")
    for name in (
        "autoencoder1d_op20",
        "cct_2_opset20",
        "dtln_model_1",
        "mnist_opset8",
        "silero_vad_16k_op15",
        "unet_sed_op18",
    )
]


class OneSample:
    """The samples from which quantize_static reads its ranges: there is one."""

    def __init__(self, feeds):
        self.samples = [feeds]

    def get_next(self):
        return self.samples.pop() if self.samples else None


def optimise(path, out):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(out)
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def quantise(path, out, feeds, how):
    if how == "dynamic":
        return quantize_dynamic(path, out, weight_type=QuantType.QInt8)
    return quantize_static(path, out, OneSample(feeds), quant_format=QuantFormat.QOperator)


class Judge:
    def __init__(self, tool, runner, folder):
        self.tool, self.runner, self.folder = tool, runner, pathlib.Path(folder)
        self.passed = self.failed = 0

    def expect(self, ok, what):
        self.passed, self.failed = self.passed + bool(ok), self.failed + (not ok)
        if not ok:
            print(f"FAIL {what}", flush=True)

    def compare(self, label, path, feeds, expected, limit):
        """Compares a run with what is expected, and returns the relative L2 error as text."""
        outputs, what = self.runner.run(path, feeds)
        if outputs is None:
            self.expect(False, f"{label}: {what}")
            return "-"
        difference = rounding.compare(expected, outputs)
        inside = difference.worst <= limit and not difference.new_bad and not difference.wrong
        self.expect(
            inside,
            f"{label}: {difference.worst:.3g} at {difference.where!r}, bound {limit:.3g}, "
            f"{difference.new_bad} new NaN / Inf; {'; '.join(difference.wrong)}",
        )
        return f"{difference.worst:.2g}"

    def rewrite(self, label, path, dtype):
        out = self.folder / "rewritten.onnx"
        answer = self.tool.run([path, "-o", out, "--dtype", dtype])
        self.expect(not answer.exit, f"{label}: exit {answer.exit}: {answer.first_error()}")
        return None if answer.exit else out

    def judge_optimised(self, subject):
        path, feeds = self.folder / "optimised.onnx", float_feeds(subject.feeds)
        optimise(subject.path, path)
        is_low = any(t.data_type in rounding.LOW_TYPES for t in subject.model.graph.initializer)
        least = rounding.CAP[onnx.TensorProto.FLOAT16] if is_low else FLOAT32_ERROR
        texts = [f"float32 {self.compare(f'{subject.name} optimised', path, feeds, subject.reference, least)}"]
        original = onnx.load(path)
        fused = sorted({n.op_type for n in original.graph.node if n.domain == "com.microsoft"})
        for dtype, low in structure.DTYPES.items():
            label = f"{subject.name} optimised {dtype}"
            out = self.rewrite(label, path, dtype)
            if out is None:
                continue
            rewritten = onnx.load(out)
            texts.append(
                f"{dtype} "
                f"{self.compare(label, out, feeds, subject.reference, max(least, rounding.bound(rewritten, low)))}"
            )
            refused = runtimes.problems(original, rewritten, dtype, subject.feeds)
            self.expect(not refused, f"{label}: {refused[:1]}")
        print(f"{subject.name:34} optimised  {', '.join(texts)}  {' '.join(fused)}", flush=True)

    def judge_quantised(self, subject, how):
        path, feeds = self.folder / "quantised.onnx", float_feeds(subject.feeds)
        quantise(subject.path, path, feeds, how)
        label = f"{subject.name} quantised, {how}"
        text = self.compare(label, path, feeds, rounding.run(onnx.load(path), feeds), FLOAT32_ERROR)
        for dtype in structure.DTYPES:
            self.rewrite(f"{label}, {dtype}", path, dtype)
        print(f"{subject.name:34} {how:9}  {text}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", required=True, help="amp-run")
    parser.add_argument("--tool", required=True, help="rewrite_batch or amp-rewrite")
    parser.add_argument("--only", default="", help="models whose name contains this")
    arguments = parser.parse_args()
    shared = shared_folder()
    if not (shared / "models").is_dir():
        print(f"SKIPPED: no models in {shared / 'models'} (set AMP_SHARED): NOTHING WAS JUDGED")
        return 77
    logging.disable(logging.WARNING)  # the quantiser's advice, and what onnxruntime says to it
    onnxruntime.set_default_logger_severity(4)
    with tempfile.TemporaryDirectory() as folder, Tool(arguments.tool) as tool:
        judge, subjects = Judge(tool, Runner(arguments.run, folder), folder), real_models.Judge(tool, folder, shared)
        for path in sorted((shared / "models").glob("*.onnx")):
            if arguments.only not in path.stem or path.stem in real_models.BROKEN:
                continue
            subject = subjects.subject(path)
            judge.judge_optimised(subject)
            for name, how in QUANTISED:
                if name == subject.name:
                    judge.judge_quantised(subject, how)
    print(runtimes.TOTALS)
    print(f"{judge.passed} passed, {judge.failed} failed")
    return 1 if judge.failed or not judge.passed else 0


if __name__ == "__main__":
    sys.exit(main())
