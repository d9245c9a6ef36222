#!/usr/bin/env python3
"""Measures amp-run against onnxruntime and OpenVINO, one thread each.

    run_bench.py --run build/tools/amp-run --tool build/tools/amp-rewrite [--real]

The models are those of executor_models.py, as they are and rewritten to both types. Every engine holds its model in a
process of its own. All engines take turns on one core, with one run or a few in each turn (at least 20 ms), so that a
slow minute of the machine touches all alike. Milliseconds are of the processor time of a process unless "wall" stands
there; ratios are of medians. onnxruntime's CPU provider has no bfloat16 kernels, so it runs no such model.

The script also measures one product of large matrices (product.py), the memory that a run's values take, and the time
that an instruction and loading take (overheads.py). With --real it measures every model of $AMP_SHARED/models (else
../shared/models) that onnxruntime runs, on its own inputs, and the geometric mean of the ratios.

The exit code is 1 when a goal is missed or amp-run fails. The script needs the Python packages of the tests. Models are
made once.
"""

import argparse
import fnmatch
import importlib.metadata
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import engines
import executor_models
import host
import made_models
import numpy as np
import overheads
import product
import verdicts
from engines import Engine

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from judge.shared_files import shared_folder  # noqa: E402

LOW_TYPES = ("float16", "bfloat16")
PEERS = {
    "onnxruntime": ("float32", "float16"),
    "openvino-f32": ("float32",),
    "openvino-bf16": ("float32", *LOW_TYPES),
}  # and the files they are given
# Goals: how many times as fast, see the functions that read them.
ONNXRUNTIME_GOALS = {"resnet50_b1": 0.95, "bert_base_s128": 1.10, "mlp_b256": 1.20}
BFLOAT16_GOAL = 0.9
AMX_GOALS = {"resnet50_b1": 4, "resnet50_b16": 3.5, "bert_base_s128": 4, "mlp_b256": 4.5}
OPENVINO_GOALS = {"resnet50_b1": 0.75, "resnet50_b16": 0.9, "bert_base_s128": 1.0, "mlp_b256": 0.8}
REAL_GOAL = 1.0
# The products of these models have one row, so that the bytes of weights are the time. Goals in float32 are against the
# better peer; in 16 bits against the better peer's float32, and against our own.
ONE_ROW_MODELS, ONE_ROW_GOAL, LOW_ONE_ROW_GOAL, LOW_ONE_ROW_GAIN = ("decode_gpt2", "mlp_b1"), 1.25, 2.3, 1.8
# Inputs that are caches have the type of the values that they hold.
REWRITE_FLAGS = {"decode_gpt2": ["--keep-io", "none"]}


def print_circumstances(rounds, core):
    versions = ", ".join(f"{package} {importlib.metadata.version(package)}" for package in ("onnxruntime", "openvino"))
    host.print_cpu()
    print(
        f"{versions}; one thread, all on core {core}; {rounds} rounds in turns; "
        f"load average before {os.getloadavg()[0]:.1f}\n",
        flush=True,
    )
    return host.has_amx()


class Models:
    """Paths of the models in all types, and of their inputs."""

    def __init__(self, folder, tool):
        self.folder, self.tool = folder, tool
        folder.mkdir(parents=True, exist_ok=True)

    def files(self, name):
        files = {"float32": made_models.make_once(self.folder / f"{name}.onnx", "executor_models.py", [name])}
        for dtype in LOW_TYPES:
            files[dtype] = self.folder / f"{name}.{dtype}.onnx"
            flags = ["--dtype", dtype, "--quiet", "--verify=off", *REWRITE_FLAGS.get(name, [])]
            subprocess.run([self.tool, files["float32"], "-o", files[dtype], *flags], check=True)
        return files


def engines_of(files, inputs, program):
    ours = [Engine.ours(program, dtype, file, inputs) for dtype, file in files.items()]
    return ours + [Engine.peer(kind, dtype, files[dtype], inputs) for kind, dtypes in PEERS.items() for dtype in dtypes]


def computed_type(engine):
    """Returns the type that the engine computes in, so that it is compared with ours in that type.

    A hint makes a float32 file run in bfloat16.
    """
    return "bfloat16" if engine.name == "openvino-bf16" and engine.dtype == "float32" else engine.dtype


def find(taken, name, dtype):
    return next((e for e in taken if (e.name, e.dtype) == (name, dtype) and not e.problem), None)


def print_taken(model, taken):
    for engine in taken:
        line = f"{model:15} {engine.name:14} {engine.dtype:9}"
        if engine.problem:
            print(f"{line} does not run: {engine.problem}")
            continue
        against = find(taken, "amp-run", "float32" if engine.name == "amp-run" else computed_type(engine))
        ratio = ""
        if engine.name == "amp-run" and engine.dtype != "float32" and against:
            ratio = f"{engines.speed(engine, against):.3g} x as fast as in float32"
        elif engine.name != "amp-run" and against:
            ratio = f"ours in {against.dtype} is {engines.speed(against, engine):.3g} x as fast"
        print(f"{line} {engine.times()}   {ratio}{f' ({engine.note})' if engine.note else ''}")
    print(flush=True)


def goals(model, taken, has_amx):
    """(what, measured, goal, unit, larger is better)"""
    ours = {dtype: find(taken, "amp-run", dtype) for dtype in ("float32", *LOW_TYPES)}
    if not all(ours.values()):
        return
    speedup = engines.speed(ours["bfloat16"], ours["float32"])
    if model in ONE_ROW_MODELS:
        yield from one_row_goals(model, taken, ours)
        return
    if model not in AMX_GOALS:
        return
    if not has_amx:
        for dtype in ("float32", "float16"):
            peer = find(taken, "onnxruntime", dtype)
            if peer and model in ONNXRUNTIME_GOALS:
                yield (
                    f"{model} {dtype}: against onnxruntime",
                    engines.speed(ours[dtype], peer),
                    ONNXRUNTIME_GOALS[model],
                    "x",
                    True,
                )
        yield f"{model} bfloat16: against our float32", speedup, BFLOAT16_GOAL, "x", True
        return
    yield f"{model} bfloat16: against our float32", speedup, AMX_GOALS[model], "x", True
    peers = [e for e in taken if e.name.startswith("openvino") and not e.problem]
    if peers:
        best = min(peers, key=lambda engine: engine.median)
        yield (
            f"{model} bfloat16: against OpenVINO's best ({best.dtype} file)",
            engines.speed(ours["bfloat16"], best),
            OPENVINO_GOALS[model],
            "x",
            True,
        )


def one_row_goals(model, taken, ours):
    peers = [e for e in taken if e.name in ("onnxruntime", "openvino-f32") and e.dtype == "float32" and not e.problem]
    if not peers:
        return
    best = min(peers, key=lambda engine: engine.median)
    for dtype, engine in ours.items():
        against = f"{model} {dtype}: against {best.name}'s float32"
        yield against, engines.speed(engine, best), ONE_ROW_GOAL if dtype == "float32" else LOW_ONE_ROW_GOAL, "x", True
        if dtype != "float32":
            gain = engines.speed(engine, ours["float32"])
            yield f"{model} {dtype}: against our float32", gain, LOW_ONE_ROW_GAIN, "x", True


def measure_made(args, has_amx):
    models, found, failed = Models(args.folder, args.tool), [], 0
    print(f"{'model':15} {'engine':14} {'file':9} {'median ms':>10} {'smallest':>10} {'wall ms':>10} {'peak MB':>9}")
    for name in executor_models.MAKERS:
        if fnmatch.fnmatch(name, args.only):
            files, inputs = models.files(name), args.folder / f"{name}.npz"
            taken = engines_of(files, inputs, args.run)
            engines.measure(taken, args.rounds)
            print_taken(name, taken)
            found += goals(name, taken, has_amx)
            found += overheads.memory_goals(args.run, name, files, inputs)
            failed += sum(engine.name == "amp-run" and bool(engine.problem) for engine in taken)
    if fnmatch.fnmatch(product.NAME, args.only):
        taken = product.measure(args.run, args.folder, args.rounds)
        print("\n".join(product.line(engine) for engine in taken), end="\n\n", flush=True)
        found += product.goals(taken, has_amx)
        failed += sum(bool(engine.problem) for engine in taken)
    return found + list(overheads.plan_goals(args.run, args.folder, args.rounds)), failed


def real_feeds(subject):
    """Gives the feeds the types that the model declares: what comes from random numbers is float32."""
    import onnx

    declared = {
        i.name: onnx.helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type)
        for i in subject.model.graph.input
        if i.type.HasField("tensor_type")
    }
    return {name: np.asarray(value).astype(declared[name]) for name, value in subject.feeds.items() if name in declared}


def measure_real(args, has_amx):
    from judge.rewrite import real_models

    paths = [
        path for path in sorted((shared_folder() / "models").glob("*.onnx")) if fnmatch.fnmatch(path.stem, args.only)
    ]
    if not paths:
        sys.exit("run_bench: error: no such models in $AMP_SHARED/models, nor in ../shared/models")
    ratios, failed = [], 0
    print(f"{'model':34} {'ours ms':>10} {'theirs ms':>10}   times as fast as onnxruntime")
    with tempfile.TemporaryDirectory() as folder:
        judge = real_models.Judge(None, folder, shared_folder())
        for path in paths:
            subject = judge.subject(path)
            if subject.feeds is None:
                print(f"{path.stem:34} onnxruntime does not run it")
                continue
            inputs = pathlib.Path(folder) / "inputs.npz"
            np.savez(inputs, **real_feeds(subject))
            ours, theirs = taken = [
                Engine.ours(args.run, "float32", path, inputs),
                Engine.peer("onnxruntime", "float32", path, inputs),
            ]
            engines.measure(taken, args.rounds)
            failed += bool(ours.problem)
            for engine in taken:
                if engine.problem:
                    print(f"{path.stem:34} {engine.name} does not run it: {engine.problem}")
            if not ours.problem and not theirs.problem:
                ratios.append(engines.speed(ours, theirs))
                print(
                    f"{path.stem:34} {engines.digits(ours.median):>10} {engines.digits(theirs.median):>10} "
                    f"{ratios[-1]:10.3g} x",
                    flush=True,
                )
    print()
    return [
        (f"{len(ratios)} real models: geometric mean", statistics.geometric_mean(ratios), REAL_GOAL, "x", True)
    ] if ratios and not has_amx else [], failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", required=True, help="the amp-run program")
    parser.add_argument("--tool", required=True, help="the amp-rewrite program")
    parser.add_argument("--real", action="store_true", help="real models instead of the made ones")
    parser.add_argument("--only", default="*", metavar="GLOB", help="models with such a name")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)), help="that everything runs on")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/bench_run"), help="needs 2 GB")
    args = parser.parse_args()
    if args.rounds < 1:
        parser.error("--rounds: expected at least 1")
    os.sched_setaffinity(0, {args.core})  # of the processes that are started, too
    has_amx = print_circumstances(args.rounds, args.core)
    found, failed = (measure_real if args.real else measure_made)(args, has_amx)
    missed = verdicts.print_verdicts(found, f"medians of {args.rounds} rounds")
    host.print_class()
    sys.exit(1 if missed or failed else 0)


if __name__ == "__main__":
    main()
