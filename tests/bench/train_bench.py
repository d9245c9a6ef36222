#!/usr/bin/env python3
"""Measures a training step in amp-run against onnxruntime, one thread each.

    train_bench.py --run build/tools/amp-run --tool build/tools/amp-rewrite --train build/tools/amp-train

A step (forward, loss, backward, loss scale, Adam) is one graph. amp-rewrite --train makes it of a new network, in
float32 and in both mixed policies. onnxruntime runs the float32 step with its functions inlined. Every engine holds its
step in a process of its own, and all take turns on one core. Results stay in the memory of the engine. Milliseconds are
of the processor time of a process; ratios are of medians.

The exit code is 1 when the goal is missed or a step does not run. The script needs the Python packages of the tests.
"""

import argparse
import fnmatch
import os
import pathlib
import subprocess
import sys

import engines
import numpy as np
import onnx
import onnx.inliner
import run_bench
import verdicts
from engines import Engine

POLICIES = ("float32", "mixed_float16", "mixed_bfloat16")
GOAL = 1.2  # times as fast as onnxruntime, in float32
# By step: the network that amp-train new makes, the batch, and the shape of one sample.
STEPS = {
    "mlp_64_b128": (["mlp", "784-64-64-10"], 128, [784]),
    "mlp_4096_b512": (["mlp", "784-4096-4096-10"], 512, [784]),
    "cnn_b128": (["cnn"], 128, [1, 28, 28]),
}


class StepFiles:
    """Paths of a network's steps and of their inputs; made anew for every measurement."""

    def __init__(self, args):
        self.args, self.folder = args, args.folder
        self.folder.mkdir(parents=True, exist_ok=True)

    def step(self, name, network, policy):
        model, step = self.folder / f"{name}.onnx", self.folder / f"{name}.{policy}.onnx"
        subprocess.run([self.args.train, "new", *network, "-o", model], check=True, stdout=subprocess.DEVNULL)
        flags = ["--train", "--loss", "softmax-cross-entropy", "--optimizer", "adam", "--policy", policy, "--quiet"]
        subprocess.run([self.args.tool, model, "-o", step, *flags], check=True)
        return step

    def inlined(self, step):
        path = step.with_suffix(".inlined.onnx")
        onnx.save(onnx.inliner.inline_local_functions(onnx.load(step)), path)
        return path

    def inputs(self, name, batch, sample):
        path, numbers = self.folder / f"{name}.npz", np.random.default_rng(1)
        np.savez(path, x=numbers.random([batch, *sample], dtype=np.float32), labels=numbers.integers(0, 10, batch))
        return path

    def engines(self, name):
        network, batch, sample = STEPS[name]
        inputs = self.inputs(name, batch, sample)
        steps = {policy: self.step(name, network, policy) for policy in POLICIES}
        ours = [Engine.ours(self.args.run, policy, step, inputs) for policy, step in steps.items()]
        return [*ours, Engine.peer("onnxruntime", "float32", self.inlined(steps["float32"]), inputs)]


def print_taken(name, taken):
    peer = taken[-1]
    for engine in taken:
        line = f"{name:15} {engine.name:12} {engine.dtype:15}"
        if engine.problem:
            print(f"{line} does not run: {engine.problem}")
            continue
        against = (
            f"{engines.speed(engine, peer):.3g} x as fast as onnxruntime in float32"
            if engine is not peer and not peer.problem
            else ""
        )
        print(f"{line} {engine.times()}   {against}")
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", required=True, help="the amp-run program")
    parser.add_argument("--tool", required=True, help="the amp-rewrite program")
    parser.add_argument("--train", required=True, help="the amp-train program")
    parser.add_argument("--only", default="*", metavar="GLOB", help="steps with such a name")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)), help="that everything runs on")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/bench_train"), help="needs 2 GB")
    args = parser.parse_args()
    if args.rounds < 1:
        parser.error("--rounds: expected at least 1")
    os.sched_setaffinity(0, {args.core})  # of the processes that are started, too
    run_bench.print_circumstances(args.rounds, args.core)
    files, found, failed = StepFiles(args), [], 0
    print(f"{'step':15} {'engine':12} {'policy':15} {'median ms':>10} {'smallest':>10} {'wall ms':>10} {'peak MB':>9}")
    for name in STEPS:
        if not fnmatch.fnmatch(name, args.only):
            continue
        taken = files.engines(name)
        engines.measure(taken, args.rounds)
        print_taken(name, taken)
        failed += sum(bool(engine.problem) for engine in taken)
        if not taken[0].problem and not taken[-1].problem:
            found.append((f"{name} float32: against onnxruntime", engines.speed(taken[0], taken[-1]), GOAL, "x", True))
    missed = verdicts.print_verdicts(found, f"medians of {args.rounds} rounds")
    sys.exit(1 if missed or failed else 0)


if __name__ == "__main__":
    main()
