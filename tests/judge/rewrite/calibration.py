#!/usr/bin/env python3
"""Shows that data from a run mend what no static rule can see, and nothing else.

  calibration.py --tool build/tests/rewrite_batch [--only TEXT]

A case is a model with a sample of its inputs. It is rewritten to float16 without and with `--calibration SAMPLE`, and
run with every low tensor rounded where it is produced (rounding.py). Without calibration the result is outside the
bound. With it the result is inside: on the sample, and on another one of the same kind that it was not shown. Some
node is float32 for what was observed, and matrix work is low all the same. Calibrated on tame data of the same shape,
the model is what it is without calibration.
One case is a real model, ppocr_mobile_v1.1_det on its stored input: without $AMP_SHARED or ../shared it is left out,
and the exit code is 77.
"""

import argparse
import dataclasses
import json
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

from judge import rounding, runtimes
from judge.rewrite.complaint_case import model
from judge.shared_files import shared_folder
from judge.tool import Tool

DTYPE = "float16"
CASES = {}  # name -> function
REAL_MODEL = "ppocr_mobile_v1.1_det"


@dataclasses.dataclass
class Case:
    model: onnx.ModelProto
    sample: dict
    other: dict = None  # of the same kind
    tame: dict = None
    flags: list = dataclasses.field(default_factory=list)


def case(function):
    CASES[function.__name__] = function
    return function


def normal(seed, *shape, scale=1.0):
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)


@case
def growth_between_convolutions():
    """Raises pictures from 0 to 255 to 1e6 by two convolutions; a third one brings them back.

    The weights are of ordinary size.
    """
    body = (
        "[grow0] a = Conv(x, w0) [relu0] b = Relu(a) [grow1] c = Conv(b, w1) [relu1] d = Relu(c) "
        "[shrink] e = Conv(d, w2) [norm] f = InstanceNormalization(e, s, o) [head] y = Conv(f, w3)"
    )
    weights = {
        "w0": normal(1, 16, 3, 3, 3, scale=4),
        "w1": normal(2, 16, 16, 3, 3, scale=20),
        "w2": normal(3, 8, 16, 3, 3, scale=0.001),
        "w3": normal(4, 4, 8, 1, 1),
        "s": np.ones(8, np.float32),
        "o": np.zeros(8, np.float32),
    }
    picture = lambda seed: {"x": np.random.default_rng(seed).uniform(0, 255, (1, 3, 16, 16)).astype(np.float32)}
    return Case(
        model("float[1,3,16,16] x => float[1,4,10,10] y", body, weights),
        picture(5),
        picture(6),
        {"x": picture(7)["x"] / 25500},
    )


FRAME, HOP, MELS = 256, 128, 20


def sound(seed, loudest):
    time = np.arange(16 * FRAME) / 16000
    random = np.random.default_rng(seed)
    tones = sum(random.uniform(0.2, 1) * np.sin(2 * np.pi * random.uniform(100, 4000) * time) for _ in range(5))
    return {"x": np.rint(loudest * tones / np.abs(tones).max()).astype(np.float32).reshape(1, 1, -1)}


@case
def power_spectrum_of_16_bit_audio():
    """Takes samples of up to 32767, as a file has them, through a Fourier transform by two convolutions.

    Mel bands of the powers and logarithms follow.
    """
    window = np.hanning(FRAME)
    angle = 2 * np.pi * np.outer(np.arange(FRAME // 2), np.arange(FRAME)) / FRAME
    bands = np.maximum(0, 1 - np.abs(np.linspace(0, MELS + 1, FRAME // 2)[None] - np.arange(1, MELS + 1)[:, None]))
    weights = {
        "cosines": (window * np.cos(angle))[:, None],
        "sines": (window * np.sin(angle))[:, None],
        "bands": bands[None],
        "floor": np.array(1.0),
        "mix": normal(1, 1, 8, MELS),
    }
    body = (
        f"[real] r = Conv<strides = [{HOP}]>(x, cosines) [imaginary] i = Conv<strides = [{HOP}]>(x, sines) "
        "[square0] rr = Mul(r, r) [square1] ii = Mul(i, i) [power] p = Add(rr, ii) "
        "[mel] m = MatMul(bands, p) [above0] f = Add(m, floor) [log] l = Log(f) [head] y = MatMul(mix, l)"
    )
    made = model(
        f"float[1,1,{16 * FRAME}] x => float[1,8,31] y",
        body,
        {name: a.astype(np.float32) for name, a in weights.items()},
    )
    return Case(made, sound(2, 32000), sound(3, 32000), sound(4, 100))


@case
def front_end_among_subnormals():
    """Takes a sensor's 1e-6 and less: a first layer makes subnormal float16 numbers of it, a norm follows."""
    body = (
        "[front] a = Conv(x, w0) [relu] b = Relu(a) [norm] c = InstanceNormalization<epsilon = 1e-20>(b, s, o) "
        "[mid] d = Conv(c, w1) [relu1] e = Relu(d) [head] y = Conv(e, w2)"
    )
    weights = {
        "w0": normal(1, 16, 2, 5, scale=0.3),
        "w1": normal(2, 16, 16, 3, scale=0.1),
        "w2": normal(3, 4, 16, 1),
        "s": np.ones(16, np.float32),
        "o": np.zeros(16, np.float32),
    }
    signal = lambda seed, scale: {"x": normal(seed, 1, 2, 64, scale=scale)}
    return Case(
        model("float[1,2,64] x => float[1,4,58] y", body, weights), signal(4, 1e-7), signal(5, 1e-7), signal(6, 1)
    )


@case
def products_ahead_of_a_logarithm():
    """Multiplies activations down to 1e-5 and takes logarithms of the products, of which float16 makes 0."""
    body = (
        "[mm0] a = MatMul(x, eye) [mm1] b = MatMul(z, eye) [joint] p = Mul(a, b) [log] l = Log(p) "
        "[head] y = MatMul(l, eye)"
    )
    random = lambda seed, least: {
        name: (10 ** np.random.default_rng([seed, i]).uniform(least, 0, (8, 8))).astype(np.float32)
        for i, name in enumerate(("x", "z"))
    }
    return Case(
        model("float[8,8] x, float[8,8] z => float[8,8] y", body, {"eye": np.eye(8, dtype=np.float32)}),
        random(5, -5),
        random(6, -5),
        random(7, -1),
        flags=["--follow", "on"],
    )


@case
def ppocr_mobile_det():
    """Takes a model whose widest convolution reaches 2e5 ahead of a BatchNormalization.

    The default folds the BatchNormalization into the convolution; here it is kept. The scores ahead of the last Sigmoid
    are an output besides: the stored input is noise and no text, so that everything behind them is nearly 0.
    """
    folder = shared_folder() / "models"
    whole = onnx.load(folder / f"{REAL_MODEL}.onnx")
    sigmoid = next(node for node in reversed(whole.graph.node) if node.op_type == "Sigmoid")
    whole.graph.output.append(helper.make_tensor_value_info(sigmoid.input[0], TensorProto.FLOAT, None))
    arrays = np.load(folder / "refs" / f"{REAL_MODEL}.npz")
    return Case(
        whole, {name[4:]: arrays[name] for name in arrays.files if name.startswith("in::")}, flags=["--keep-batch-norm"]
    )


class Judge:
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, pathlib.Path(folder)
        self.passed = self.failed = 0

    def expect(self, ok, what):
        self.passed, self.failed = self.passed + bool(ok), self.failed + (not ok)
        if not ok:
            print(f"FAIL {what}", flush=True)

    def rewrite(self, case, data=None):
        """Rewrites the model, calibrated on `data` if it is given. Returns (rewritten model, report)."""
        source, out, report, sample = (self.folder / n for n in ("in.onnx", "out.onnx", "report.json", "sample.npz"))
        source.write_bytes(case.model.SerializeToString(deterministic=True))
        flags = case.flags
        if data is not None:
            np.savez(sample, **data)
            flags = [*flags, "--calibration", sample]
        answer = self.tool.run([source, "-o", out, "--dtype", DTYPE, "--report", report, *flags])
        if answer.exit:
            raise RuntimeError(f"exit {answer.exit}: {answer.first_error()}")
        return onnx.load(out), json.loads(report.read_text())

    def measure(self, case, rewritten, feeds):
        """Returns (whether the rewritten model is inside the bound, how far off it is as text)."""
        difference = rounding.compare(rounding.run(case.model, feeds), rounding.run_rounded(rewritten, feeds))
        limit = rounding.bound(rewritten, TensorProto.FLOAT16)
        return (
            difference.worst <= limit and not difference.new_bad and not difference.wrong,
            f"{difference.worst:.2g} of {limit:.2g}, {difference.new_bad} new NaN / Inf",
        )

    def judge(self, name, case):
        plain, plain_report = self.rewrite(case)
        calibrated, report = self.rewrite(case, case.sample)
        texts = []
        for what, feeds in (("the sample", case.sample), ("other data", case.other)):
            if feeds is None:
                continue
            (is_right_without, without), (is_right, with_it) = (
                self.measure(case, result, feeds) for result in (plain, calibrated)
            )
            texts.append(f"on {what} with it {with_it}, without {without}")
            self.expect(not is_right_without, f"{name}, on {what}: right without calibration: shows nothing")
            self.expect(is_right, f"{name}, on {what}, calibrated: {with_it}")
        refused = runtimes.problems(case.model, calibrated, DTYPE, case.sample)
        self.expect(not refused, f"{name}, calibrated: {refused[:1]}")
        held = [n["path"] for n in report["nodes"] if n["because"].startswith(("guard: observed:", "guard: demands:"))]
        heavy = sum(n["heavy"] and n["low"] for n in report["nodes"])
        self.expect(held, f"{name}: no node is float32 for what was observed")
        self.expect(heavy, f"{name}: no matrix work is low")
        if case.tame is not None:
            _, tame = self.rewrite(case, case.tame)
            same = [n["path"] for n in tame["nodes"] if n["low"]] == [
                n["path"] for n in plain_report["nodes"] if n["low"]
            ]
            self.expect(
                same,
                f"{name}: calibrated on tame data it is not what it is without: "
                f"{[n['because'] for n in tame['nodes'] if n['because'].startswith('guard:')]}",
            )
        print(f"{name}: {'; '.join(texts)}; float32 for it: {', '.join(held)}; {heavy} heavy nodes low", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True, help="rewrite_batch or amp-rewrite")
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    arguments = parser.parse_args()
    has_model = (shared_folder() / "models" / f"{REAL_MODEL}.onnx").exists()
    with tempfile.TemporaryDirectory() as folder, Tool(arguments.tool) as tool:
        judge = Judge(tool, folder)
        for name, build in CASES.items():
            if arguments.only in name and (has_model or build is not ppocr_mobile_det):
                judge.judge(name, build())
    print(f"{judge.passed} passed, {judge.failed} failed")
    if judge.failed or not judge.passed:
        return 1
    if not has_model:
        print(
            f"SKIPPED: no {REAL_MODEL} in {shared_folder() / 'models'} (set AMP_SHARED): THE REAL MODEL WAS NOT JUDGED"
        )
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
