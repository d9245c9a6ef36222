#!/usr/bin/env python3
"""Gives the programs small files on which they once went wrong: each must be right now.

  faults.py --programs build/tools [--only TEXT] [--sanitized]

The files lie in faults3 of the shared folder, each with its inputs; its READMEs tell what went wrong. A case below is
one file and what must hold. Work in proportion is judged by the processor time of two sizes of one file in one run, so
that a slow machine changes nothing. With --sanitized, for programs built with sanitizers, times are not judged. Without
the folder the exit code is 77 (skipped).
"""

import argparse
import functools
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import onnx

from judge import rounding, runtimes
from judge.shared_files import shared_folder

DTYPES = ("float16", "bfloat16")
AGREEMENT = 1e-5  # relative L2 error between two runtimes in float32
PROPORTION = 2.9  # times the work for twice the size; square time takes 4
TIMEOUT_S = 30


class Answer:
    def __init__(self, code, stdout, stderr, seconds):
        self.code, self.stdout, self.stderr, self.seconds = code, stdout, stderr, seconds

    def __str__(self):
        return f"exit {self.code}: {(self.stderr.strip().splitlines() or ['(no message)'])[-1][:300]}"


class Programs:
    def __init__(self, folder, files, work, judges_times):
        self.folder, self.files, self.work = pathlib.Path(folder).resolve(), files, pathlib.Path(work)
        self.judges_times = judges_times

    def took_less(self, answer, seconds):
        """Says whether the run took less processor time than that; always so where times are not judged."""
        return answer.seconds < seconds or not self.judges_times

    def run(self, program, *arguments):
        """Runs amp-PROGRAM in the work folder; the seconds are processor time."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            done = subprocess.run(
                [self.folder / f"amp-{program}", *map(str, arguments)],
                cwd=self.work,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=TIMEOUT_S,
            )
        except subprocess.TimeoutExpired:
            return Answer(-9, "", f"no answer within {TIMEOUT_S} s", TIMEOUT_S)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return Answer(
            done.returncode,
            done.stdout,
            done.stderr,
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        )

    def script(self, name):
        """Runs a script of the shared folder with the programs' folder as its argument."""
        return subprocess.run(
            [self.files / name, self.folder],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=120,
            env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
        )


def code_is(answer, code, what):
    return [] if answer.code == code else [f"{what}: {answer}, expected exit {code}"]


def says(answer, pattern, what):
    return [] if re.search(pattern, answer.stderr) else [f"{what}: says {answer}, expected /{pattern}/"]


def runs_as_onnxruntime(p, name):
    """Checks that the file runs on its inputs and gives onnxruntime's numbers.

    A rewrite to either type must pass --verify and --calibration on these inputs.
    """
    model, inputs = p.files / f"{name}.onnx", p.files / f"{name}.npz"
    answer = p.run("run", model, "--inputs", inputs, "--outputs", "y.npz")
    if answer.code:
        return [f"run: {answer}"]
    expected = rounding.run(onnx.load(model), dict(np.load(inputs)))
    difference = rounding.compare(expected, dict(np.load(p.work / "y.npz")))
    problems = list(difference.wrong)
    if difference.worst > AGREEMENT or difference.new_bad:
        problems.append(f"{difference.worst:.3g} off at {difference.where!r}, {difference.new_bad} new NaN or Inf")
    for dtype in DTYPES:
        for flags in ([f"--verify={inputs}"], ["--calibration", inputs]):
            problems += code_is(
                p.run("rewrite", model, "-o", "x.onnx", "--dtype", dtype, *flags), 0, f"{dtype} {flags[0]}"
            )
    return problems


def attention_with_past(p):
    return runs_as_onnxruntime(p, "attention_with_past")


def group_query_attention(p):
    return runs_as_onnxruntime(p, "group_query_attention")


def norm_between_own_casts(p):
    """onnxruntime's default session takes what is written, in both types, also where the user asks for the opset."""
    path = p.files / "norm_between_own_casts_opset14.onnx"
    problems = []
    for dtype in DTYPES:
        for flags in ([], ["--opset", "17"]):
            answer = p.run("rewrite", path, "-o", "norm.onnx", "--dtype", dtype, *flags)
            problems += code_is(answer, 0, f"{dtype} {flags}")
            if not answer.code:
                problems += runtimes.problems(
                    onnx.load(path), onnx.load(p.work / "norm.onnx"), dtype, dict(np.load(path.with_suffix(".npz")))
                )
    return problems


def right_by_default(p, name):
    """A rewrite to either type with default flags passes --verify on the file's inputs."""
    model, inputs = p.files / f"{name}.onnx", p.files / f"{name}.npz"
    problems = []
    for dtype in DTYPES:
        answer = p.run("rewrite", model, "-o", "x.onnx", "--dtype", dtype, f"--verify={inputs}")
        problems += code_is(answer, 0, dtype)
    return problems


RIGHT_BY_DEFAULT = (
    "log_of_softmax",
    "log_prob_of_an_action",
    "inverse_sigmoid_with_eps_1e5",
    "log_of_one_minus_sigmoid",
    "squashed_gaussian_log_prob",
    "warp_by_pixel_coordinates",
    "fourier_features_scale_30",
    "round_by_magic_number",
    "euler_1000_steps",
)


def step_stays_finite(p, name, *flags):
    """One step of training in either type leaves a finite loss and finite weights, and is taken.

    The usual loss scale of 32768 is for small gradients: here they are large.
    """
    problems = []
    for dtype in DTYPES:
        scale = ["--loss-scale-initial", "1024"] if dtype == "float16" else []
        answer = p.run(
            "rewrite",
            p.files / f"{name}.onnx",
            "-o",
            "step.onnx",
            "--train",
            "--loss",
            "graph:loss",
            "--policy",
            f"mixed_{dtype}",
            "--optimizer",
            "sgd",
            *flags,
            *scale,
        )
        problems += code_is(answer, 0, f"{dtype} --train")
        answer = p.run("run", "step.onnx", "--inputs", p.files / f"{name}.npz", "--outputs", "step.npz")
        problems += code_is(answer, 0, f"{dtype} step")
        if answer.code:
            continue
        results = np.load(p.work / "step.npz")
        bad = [key for key in results.files if results[key].dtype.kind == "f" and not np.isfinite(results[key]).all()]
        skipped = "amp.all_finite" in results.files and not results["amp.all_finite"].all()
        problems += [f"{dtype}: not finite: {bad}"] if bad else []
        problems += [f"{dtype}: the step was skipped"] if skipped else []
    return problems


def softmax_log_nll_loss(p):
    return step_stays_finite(p, "softmax_log_nll_loss")


def focal_loss_by_probabilities(p):
    return step_stays_finite(p, "focal_loss_by_probabilities", "--freeze", "one")


def given_and_made_up(p):
    """A given input of another shape is refused before anything is made up."""
    stem = p.files / "adv_given_and_made_up"
    answer = p.run("run", f"{stem}.onnx", "--inputs", f"{stem}.npz", "--random-inputs")
    return code_is(answer, 2, "given and made up") + (
        [] if p.took_less(answer, 5) else [f"took {answer.seconds:.1f} s of the processor"]
    )


def names_before_unpacking(p):
    """An archive with arrays named after no input is refused by their names: nothing is unpacked."""
    stem = p.files / "attention_with_past"
    with zipfile.ZipFile(p.work / "z.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(4):
            with archive.open(f"stray{i}.npy", "w") as member:
                np.lib.format.write_array(member, np.zeros(50_000_000, np.float32))
    answers = {
        "--inputs": p.run("run", f"{stem}.onnx", "--inputs", "z.npz"),
        "--calibration": p.run("rewrite", f"{stem}.onnx", "-o", "x.onnx", "--calibration", "z.npz"),
        "--verify": p.run("rewrite", f"{stem}.onnx", "-o", "x.onnx", "--verify=z.npz"),
    }
    problems = []
    for flag, answer in answers.items():
        problems += code_is(answer, 2, flag) + says(answer, "stray0", flag)
        if not p.took_less(answer, 0.5):
            problems.append(f"{flag}: took {answer.seconds:.1f} s of the processor: unpacked?")
    return problems


def in_proportion(p, half, whole):
    """Twice the size takes less than PROPORTION times the work, the start of the program not counted."""
    onnx.save(
        onnx.helper.make_model(
            onnx.helper.make_graph(
                [onnx.helper.make_node("Relu", ["x"], ["y"])],
                "g",
                [onnx.helper.make_tensor_value_info("x", 1, [1])],
                [onnx.helper.make_tensor_value_info("y", 1, [1])],
            ),
            opset_imports=[onnx.helper.make_opsetid("", 17)],
        ),
        p.work / "least.onnx",
    )
    onnx.save(half, p.work / "half.onnx")
    onnx.save(whole, p.work / "whole.onnx")
    least = {name: [] for name in ("least", "half", "whole")}
    for _ in range(9):  # a busy machine makes single runs longer; square time does not become less by trying again
        for name, seconds in least.items():
            answer = p.run("run", f"{name}.onnx", "--random-inputs", "--threads", "1")
            if answer.code:
                return [f"{name}: {answer}"]
            seconds.append(answer.seconds)
        start, half_s, whole_s = (min(seconds) for seconds in least.values())
        ratio = (whole_s - start) / max(half_s - start, 0.02)  # below 20 ms the clock decides
        if ratio < PROPORTION or not p.judges_times:
            return []
    return [f"{half_s - start:.2f} s, twice the size {whole_s - start:.2f} s ({ratio:.1f} times)"]


def concat_one_value(p):
    """One node reads one value N times."""
    whole = onnx.load(p.files / "adv_concat_one_value_33000.onnx")
    node = next(n for n in whole.graph.node if len(n.input) > 1000)
    count = len(node.input)
    half = onnx.ModelProto.FromString(whole.SerializeToString())
    for model, times in ((half, 1), (whole, 2)):
        reader = next(n for n in model.graph.node if len(n.input) > 1000)
        reader.input.extend(list(node.input[:1]) * (times * count - len(reader.input)))
    return in_proportion(p, half, whole)


def sequence_insert(p):
    """A loop inserts into a sequence N times."""
    half = onnx.load(p.files / "adv_sequence_insert_20000.onnx")
    trips = next(
        (
            t
            for t in half.graph.initializer
            if onnx.numpy_helper.to_array(t).size == 1 and onnx.numpy_helper.to_array(t) == 20000
        ),
        None,
    )
    if trips is None:
        return ["the file has no trip count of 20000"]
    whole = onnx.ModelProto.FromString(half.SerializeToString())
    for tensor in whole.graph.initializer:
        if tensor.name == trips.name:
            tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(trips) * 2, trips.name))
    return in_proportion(p, half, whole)


def rank_stopped_early(p):
    """A rank that is stopped while it starts ends the others within --rank-timeout."""
    done = p.script("adv_mpi_stopped_early.sh")
    return [] if "ended:" in done.stdout else [f"{done.stdout.strip()[-200:]} {done.stderr.strip()[-200:]}"]


def failing_allocations(p):
    """Lets every seventh of the last 2,500 allocations of a rewrite fail, one at a time.

    The exit code must be 0 or 5, and nothing may be left behind.
    """
    done = p.script("adv_failing_allocation.sh")
    return [line for line in done.stdout.splitlines() if line][:5] + (
        [f"the script: {done.stderr[-300:]}"] if done.returncode else []
    )


CASES = {
    case.__name__: case
    for case in (
        attention_with_past,
        group_query_attention,
        norm_between_own_casts,
        softmax_log_nll_loss,
        focal_loss_by_probabilities,
        given_and_made_up,
        names_before_unpacking,
        concat_one_value,
        sequence_insert,
        rank_stopped_early,
        failing_allocations,
    )
}
CASES |= {name: functools.partial(right_by_default, name=name) for name in RIGHT_BY_DEFAULT}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True, help="folder of amp-rewrite, amp-run, amp-train")
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    parser.add_argument("--sanitized", action="store_true", help="the programs have sanitizers: do not judge times")
    arguments = parser.parse_args()
    files = shared_folder() / "faults3"
    if not files.is_dir():
        print(f"SKIPPED: no files in {files} (set AMP_SHARED): NOTHING WAS JUDGED")
        return 77
    failed = passed = 0
    for name, case in CASES.items():
        if arguments.only not in name:
            continue
        with tempfile.TemporaryDirectory() as work:
            problems = case(Programs(arguments.programs, files, work, not arguments.sanitized))
        passed, failed = passed + (not problems), failed + bool(problems)
        for problem in problems:
            print(f"FAIL {name}: {problem}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
