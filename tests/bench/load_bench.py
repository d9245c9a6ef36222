#!/usr/bin/env python3
"""Measures how amp-run stands load: tools/dev bench-load [--busy 2], or
load_bench.py --run build/tools/amp-run --tool build/tools/amp-rewrite --train build/tools/amp-train.

Each model is held by processes that differ in their threads alone: the default, all (--threads N), one (--threads 1),
and all that wait as on an idle machine (GOMP_SPINCOUNT=4000). They take turns, --rounds of some --turn-ms each, beside
--busy loops that do nothing but compute. Milliseconds are by the clock, as that is what counts under load. A model's
figure is the median over its turns, and its ratio is that of the default over the better of all and one. The last line
has the geometric mean of the ratios; exits 1 when that is above --goal (0: none). Models: three training steps, and the
light ones of $AMP_SHARED/models.
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

# By step: the network that amp-train new makes, the batch, and the shape of one sample.
STEPS = {
    "step mlp 64, batch 128": (["mlp", "784-64-64-10"], 128, [784]),
    "step mlp 256, batch 64": (["mlp", "784-256-10"], 64, [784]),
    "step cnn, batch 32": (["cnn"], 32, [1, 28, 28]),
}
LARGEST_MODEL = 8 << 20
THREADS = str(len(os.sched_getaffinity(0)))
# Flags and environment of the default, all, one, and all with the spins of an idle machine.
KINDS = (
    ([], {}),
    (["--threads", THREADS], {}),
    (["--threads", "1"], {}),
    (["--threads", THREADS], {"GOMP_SPINCOUNT": "4000"}),
)


class Held:
    """A process that runs its model as often as it is told to."""

    def __init__(self, program, model, inputs, flags, environment):
        command = [str(word) for word in (program, model, *inputs, "--bench=stdin", "--warmup", "3", *flags)]
        pipe = subprocess.PIPE
        variables = {**os.environ, **environment}
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=variables)
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
    x = numbers.random([batch, *sample], dtype=np.float32)
    np.savez(inputs, x=x, labels=numbers.integers(0, 10, batch))
    return step, ["--inputs", inputs]


def models(args, folder):
    """Name, file, and the flags that give its inputs."""
    for name, how in STEPS.items():
        if args.only in name:
            yield name, *save_step(args, folder, name, *how)
    shared = pathlib.Path(os.environ.get("AMP_SHARED", "../shared")) / "models"
    if not shared.is_dir():
        print(f"no {shared}: training steps alone", file=sys.stderr)
    for path in sorted(shared.glob("*.onnx")):
        if args.only in path.stem and path.stat().st_size <= LARGEST_MODEL:
            yield path.stem, path, ["--random-inputs"]


def measure(args, model, inputs):
    """The medians by kind; nothing where the model does not run on made-up inputs."""
    held = [Held(args.run, model, inputs, flags, environment) for flags, environment in KINDS]
    if all(each.is_ready for each in held):
        count = max(1, min(200, round(args.turn_ms / held[2].run(2))))
        for _ in range(args.rounds):
            for each in held:
                each.turns.append(each.run(count))
    for each in held:
        each.end()
    return [each.median() for each in held] if held[0].turns else None


def geometric_mean(numbers):
    return math.exp(statistics.fmean(map(math.log, numbers)))


def measure_all(args, folder):
    print(f"{args.busy} busy loops; milliseconds by the clock, medians of {args.rounds} turns")
    print(f"{'':30} {'default':>9} {'all':>9} {'one':>9} {'all, 4000':>9}  default / better of all and one")
    ratios, of_idle = [], []
    for name, model, inputs in models(args, folder):
        medians = measure(args, model, inputs)
        if medians is None:
            print(f"{name[:30]:30} does not run on made-up inputs")
            continue
        default, every, one, usual = medians
        ratios.append(default / min(every, one))
        of_idle.append(usual / min(every, one))
        figures = " ".join(f"{figure:9.3f}" for figure in medians)
        print(f"{name[:30]:30} {figures}  {ratios[-1]:.2f}", flush=True)
    return ratios, of_idle


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
    try:
        with tempfile.TemporaryDirectory() as folder:
            ratios, of_idle = measure_all(args, pathlib.Path(folder))
    finally:
        for loop in loops:
            loop.kill()
    if not ratios:
        return 1
    mean, mean_of_idle = geometric_mean(ratios), geometric_mean(of_idle)
    print(f"geometric mean of {len(ratios)}: {mean:.3f}; with the spins of an idle machine {mean_of_idle:.3f}")
    return 1 if args.goal and mean > args.goal else 0


if __name__ == "__main__":
    sys.exit(main())
