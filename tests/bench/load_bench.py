#!/usr/bin/env python3
"""Measures how amp-run stands load: load_bench.py --run build/tools/amp-run --tool build/tools/amp-rewrite --train build/tools/amp-train [--busy 2].

Each model is held by processes that differ in their threads alone: the default, all (--threads N), one (--threads 1), and all as libgomp would have them
wait with GOMP_SPINCOUNT=4000 whatever the load. They take turns, --rounds of some --turn-ms each, beside --busy loops that do nothing but compute.
Milliseconds are by the clock: what counts under load. A model's figure is the median over its turns, and the ratio is of the default over the better of all
and one. The last line is the geometric mean of the ratios; exits 1 when that is above --goal (0: none). Models: the light ones of $AMP_SHARED/models and
three training steps.
"""
import argparse
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np

STEPS = {"step mlp 64, batch 128": (["mlp", "784-64-64-10"], 128, [784]), "step mlp 256, batch 64": (["mlp", "784-256-10"], 64, [784]), "step cnn, batch 32": (["cnn"], 32, [1, 28, 28])}
LARGEST_MODEL = 8 << 20
USUAL_SPINS = "4000"


class Held:
    """A process that runs its model as often as it is told to."""

    def __init__(self, program, model, inputs, flags, environment=None):
        command = [program, model, *inputs, "--bench=stdin", "--warmup", "3", *flags]
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})})
        self.turns = []
        self.is_ready = self.process.stdout.readline().startswith("ready")

    def run(self, count):
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline().split()[0])

    def median(self):
        return statistics.median(self.turns)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def save_step(args, folder, name, network, batch, sample):
    model, step, inputs = folder / "m.onnx", folder / f"{name}.onnx", folder / f"{name}.npz"
    subprocess.run([args.train, "new", *network, "-o", model], check=True, stdout=subprocess.DEVNULL)
    flags = ["--train", "--loss", "softmax-cross-entropy", "--optimizer", "adam", "--policy", "float32", "--quiet"]
    subprocess.run([args.tool, model, "-o", step, *flags], check=True)
    numbers = np.random.default_rng(1)
    np.savez(inputs, x=numbers.random([batch, *sample], dtype=np.float32), labels=numbers.integers(0, 10, batch))
    return step, ["--inputs", inputs]


def models(args, folder):
    for name, how in STEPS.items():
        yield name, *save_step(args, folder, name, *how)
    shared = pathlib.Path(os.environ.get("AMP_SHARED", "/work/shared")) / "models"
    if not shared.is_dir():
        print(f"no {shared}: training steps alone", file=sys.stderr)
    for path in sorted(shared.glob("*.onnx")):
        if path.stat().st_size <= LARGEST_MODEL:
            yield path.stem, path, ["--random-inputs"]


def measure(args, model, inputs):
    """The held processes, with their turns; nothing where the model does not run on made-up inputs."""
    threads = str(len(os.sched_getaffinity(0)))
    held = [Held(args.run, model, inputs, flags, environment) for flags, environment in (([], None), (["--threads", threads], None), (["--threads", "1"], None), (["--threads", threads], {"GOMP_SPINCOUNT": USUAL_SPINS}))]
    if all(each.is_ready for each in held):
        count = max(1, min(200, round(args.turn_ms / held[2].run(2))))
        for _ in range(args.rounds):
            for each in held:
                each.turns.append(each.run(count))
    for each in held:
        each.end()
    return held if held[0].turns else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("--run", "--tool", "--train"):
        parser.add_argument(flag, required=True, type=pathlib.Path)
    parser.add_argument("--busy", type=int, default=0, help="busy loops beside the models")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--turn-ms", type=float, default=60)
    parser.add_argument("--goal", type=float, default=0)
    parser.add_argument("--only", default="", help="models whose name has this")
    args = parser.parse_args()
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(args.busy)]
    ratios, before = [], []
    try:
        print(f"{args.busy} busy loops, load {open('/proc/loadavg').read().split()[0]}; milliseconds, medians of {args.rounds} turns")
        print(f"{'':40} {'default':>9} {'all':>9} {'one':>9} {'all, 4000':>9}  default / better of all and one")
        with tempfile.TemporaryDirectory() as folder:
            for name, model, inputs in models(args, pathlib.Path(folder)):
                held = measure(args, model, inputs) if args.only in name else None
                if held is None:
                    continue
                default, every, one, usual = (each.median() for each in held)
                ratios.append(default / min(every, one))
                before.append(usual / min(every, one))
                print(f"{name[:40]:40} {default:9.3f} {every:9.3f} {one:9.3f} {usual:9.3f}  {ratios[-1]:.2f}", flush=True)
    finally:
        for loop in loops:
            loop.kill()
    mean, mean_before = (math.exp(statistics.fmean(map(math.log, all_of))) for all_of in (ratios, before))
    print(f"geometric mean of {len(ratios)}: {mean:.3f}; all threads that spin as on an idle machine: {mean_before:.3f}")
    return 1 if args.goal and mean > args.goal else 0


if __name__ == "__main__":
    sys.exit(main())
