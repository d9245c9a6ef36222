#!/usr/bin/env python3
"""Trains on MNIST what the guides to mixed precision and transfer learning train, and prints one table.

    mnist_bench.py --tools build/tools [--only dense,wide,cnn,transfer] [--keras PYTHON] [--threads N]

dense     784-64-64-10, RMSprop, five epochs, batches of 8192 and of 128, three seeds, all policies
wide      784-4096-4096-10, batches of 8192: time of a step, peak memory, bytes of activations, all policies
cnn       the network of `amp-train new cnn`, Adam, mixed float16
transfer  a frozen convolutional backbone of $AMP_SHARED/models with a new Dense head, then fine-tuned at a lower rate
keras     with --keras, a Python that has keras and tensorflow: the dense case at batch 128 there and here, in turns
MNIST is $AMP_SHARED/data/mnist (else ../shared). Exits 1 when a goal is missed.
"""

import argparse
import csv
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

import numpy as np
import onnx
import verdicts
from host import cpu_facts
from onnx import helper, numpy_helper
from run_bench import shared_folder

POLICIES = ("float32", "mixed_float16", "mixed_bfloat16")
# Keras 3.15 on TensorFlow 2.21, mean test accuracy of three seeds.
KERAS = {8192: (0.8785, 0.8783, 0.8775), 128: (0.9706, 0.9700, 0.9694)}
SEEDS, EPOCHS = (1, 2, 3), 5
RMSPROP = ("--optimizer", "rmsprop", "--learning-rate", "0.001")


class Ran:
    def __init__(self, command):
        start = time.perf_counter()
        process = subprocess.Popen(
            [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.out, err = process.stdout.read(), process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        self.wall, self.peak = time.perf_counter() - start, usage.ru_maxrss * 1024
        if os.waitstatus_to_exitcode(status) != 0:
            sys.exit(f"mnist_bench: error: {' '.join(map(str, command))}: {err[-2000:]}")


class Bench:
    def __init__(self, args):
        self.tools, self.folder, self.threads = args.tools, args.folder, args.threads
        self.keras = args.keras
        self.shared = shared_folder()
        self.mnist = self.shared / "data" / "mnist"
        if not self.mnist.is_dir():
            sys.exit(f"mnist_bench: error: no {self.mnist} (set AMP_SHARED)")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.rows = []

    def goal(self, what, measured, goal, unit, larger):
        self.rows.append((what, measured, goal, unit, larger))

    def data(self, flag, part, name="x"):
        images, labels = (self.mnist / f"{part}-{kind}-ubyte.gz" for kind in ("images-idx3", "labels-idx1"))
        return [f"--{flag}", f"{name}={images}", f"--{flag}", f"labels={labels}"]

    def new(self, name, *words):
        path = self.folder / f"{name}.onnx"
        Ran([self.tools / "amp-train", "new", *words, "-o", path])
        return path

    def step(self, forward, *flags):
        path = self.folder / "step.onnx"
        Ran([self.tools / "amp-rewrite", forward, "-o", path, "--train", *flags])
        return path

    def train(self, step, *flags, name="x"):
        """(what ran, rows of the table of epochs)"""
        log = self.folder / "log.csv"
        ran = Ran(
            [
                self.tools / "amp-train",
                step,
                *self.data("data", "train", name),
                "--threads",
                self.threads,
                "--log",
                log,
                *flags,
            ]
        )
        with open(log, newline="") as lines:
            return ran, [{key: float(value or "nan") for key, value in row.items()} for row in csv.DictReader(lines)]

    # ---- the parts

    def dense(self):
        times = {policy: [] for policy in POLICIES}
        for batch in KERAS:
            means = {}
            for policy, expected in zip(POLICIES, KERAS[batch]):
                found = []
                for seed in SEEDS:
                    forward = self.new("dense", "mlp", "784-64-64-10", "--seed", seed)
                    step = self.step(forward, "--policy", policy, *RMSPROP)
                    ran, epochs = self.train(
                        step,
                        *self.data("eval-data", "t10k"),
                        "--forward",
                        forward,
                        "--batch",
                        batch,
                        "--epochs",
                        EPOCHS,
                        "--shuffle",
                        seed,
                    )
                    found.append(epochs[-1]["test_accuracy"])
                    if batch == 128:
                        times[policy].append(ran.wall)
                    last = epochs[-1]
                    print(
                        f"dense batch {batch:4} {policy:14} seed {seed}: test accuracy {found[-1]:.4f}, "
                        f"loss scale {last['loss_scale']:g}, skipped {sum(e['skipped'] for e in epochs):g}, "
                        f"{last['ms_per_step']:.3f} ms/step, {ran.wall:.2f} s",
                        flush=True,
                    )
                means[policy] = statistics.mean(found)
                self.goal(
                    f"dense, batch {batch}, {policy}: points from Keras'",
                    100 * abs(means[policy] - expected),
                    1,
                    "",
                    False,
                )
            for policy in POLICIES[1:]:
                self.goal(
                    f"dense, batch {batch}, {policy}: points from float32",
                    100 * abs(means[policy] - means["float32"]),
                    0.3,
                    "",
                    False,
                )

    def against_keras(self):
        """Trains five epochs at batch 128 here and in Keras, in turns, both on all cores.

        The time of fit in Keras is compared with that of the loop over epochs here.
        """
        script = pathlib.Path(__file__).with_name("keras_mnist.py")
        forward, log = self.new("dense", "mlp", "784-64-64-10"), self.folder / "log.csv"
        steps = {
            policy: self.step(forward, "--policy", policy, *RMSPROP).rename(self.folder / f"{policy}.onnx")
            for policy in POLICIES[:2]
        }
        ours, theirs = {policy: [] for policy in steps}, {policy: [] for policy in steps}
        for _ in range(3):
            for policy, step in steps.items():
                Ran(
                    [
                        self.tools / "amp-train",
                        step,
                        *self.data("data", "train"),
                        "--epochs",
                        EPOCHS,
                        "--shuffle",
                        1,
                        "--batch",
                        128,
                        "--log",
                        log,
                    ]
                )
                with open(log, newline="") as lines:
                    ours[policy].append(
                        sum(float(row["ms_per_step"]) * int(row["steps"]) for row in csv.DictReader(lines)) / 1000
                    )
                theirs[policy].append(
                    float(re.search(r"fit (\S+) s", Ran([self.keras, script, self.mnist, policy]).out)[1])
                )
        for policy in steps:
            here, there = statistics.median(ours[policy]), statistics.median(theirs[policy])
            print(f"dense batch 128 {policy}: {EPOCHS} epochs in {here:.2f} s, in Keras {there:.2f} s", flush=True)
            self.goal(f"dense, batch 128, {policy}: {EPOCHS} epochs against Keras", there / here, 3, "x", True)

    def wide(self):
        forward, found = self.new("wide", "mlp", "784-4096-4096-10"), {}
        for policy in POLICIES:
            step = self.step(forward, "--policy", policy, *RMSPROP)
            ran, epochs = self.train(step, "--batch", 8192, "--epochs", 1, "--drop-last")
            bytes_ = self.activation_bytes(step, 8192)
            found[policy] = (epochs[0]["ms_per_step"], ran.peak, bytes_)
            print(
                f"wide {policy:14} {epochs[0]['ms_per_step']:.0f} ms/step, loss {epochs[0]['loss']:.4f}, "
                f"skipped {epochs[0]['skipped']:g}, "
                f"peak memory {ran.peak / 1e6:.0f} MB, activations {bytes_ / 1e6:.0f} MB",
                flush=True,
            )
        for policy in POLICIES[1:]:
            self.goal(
                f"wide, {policy}: activation bytes against float32",
                found[policy][2] / found["float32"][2],
                0.65,
                "x",
                False,
            )

    def activation_bytes(self, step, batch):
        images, labels = self.folder / "x.npy", self.folder / "labels.npy"
        np.save(images, np.random.default_rng(1).random((batch, 784), np.float32))
        np.save(labels, np.arange(batch) % 10)
        timed = Ran(
            [
                self.tools / "amp-run",
                step,
                "--bench",
                "--json",
                "--iterations",
                1,
                "--input",
                f"x={images}",
                "--input",
                f"labels={labels}",
                "--threads",
                self.threads,
            ]
        )
        return json.loads(timed.out)["activation_bytes"]

    def cnn(self):
        forward = self.new("cnn", "cnn")
        step = self.step(forward, "--policy", "mixed_float16", "--optimizer", "adam", "--learning-rate", "0.001")
        ran, epochs = self.train(
            step, *self.data("eval-data", "t10k"), "--forward", forward, "--batch", 128, "--epochs", 3, "--shuffle", 1
        )
        for row in epochs:
            print(
                f"cnn mixed_float16 epoch {row['epoch']:g}: loss {row['loss']:.4f}, "
                f"test accuracy {row['test_accuracy']:.4f}, loss scale {row['loss_scale']:g}, "
                f"skipped {row['skipped']:g}, {row['ms_per_step']:.1f} ms/step",
                flush=True,
            )
        self.goal("cnn, mixed_float16: test accuracy", 100 * epochs[-1]["test_accuracy"], 98.5, "%", True)

    def transfer(self):
        """Features of a face detector (MobileNet 0.25), then all of it."""
        source = self.shared / "models" / "retinaface_mbnet025.onnx"
        if not source.is_file():
            sys.exit(f"mnist_bench: error: no {source} (set AMP_SHARED)")
        backbone, features, trained, fine = (
            self.folder / "backbone.onnx",
            "363",
            self.folder / "head.onnx",
            self.folder / "fine.onnx",
        )
        model = onnx.load(source)
        shape = model.graph.input[0].type.tensor_type.shape
        shape.CopyFrom(
            helper.make_tensor_value_info("", onnx.TensorProto.FLOAT, ["batch", 3, 64, 64]).type.tensor_type.shape
        )
        onnx.save(model, backbone)
        name = model.graph.input[0].name
        test = [
            *self.data("eval-data", "t10k", name),
            "--scale",
            1,
            "--resize",
            "bilinear",
            "--batch",
            128,
            "--shuffle",
            1,
        ]

        step = self.step(
            backbone,
            "--policy",
            "mixed_float16",
            "--head",
            f"{features}:dense=10",
            "--optimizer",
            "adam",
            "--learning-rate",
            "0.01",
        )
        behind = [
            node.name
            for node in onnx.load(step).graph.node
            if node.name.startswith("gradient/") and "/head/" not in node.name and "/loss/" not in node.name
        ]
        _, epochs = self.train(step, *test, "--epochs", 5, "--save-weights", trained, name=name)
        frozen = {i.name: i for i in onnx.load(trained).graph.initializer}
        same = sum(
            i.name in frozen and numpy_helper.to_array(i).tobytes() == numpy_helper.to_array(frozen[i.name]).tobytes()
            for i in model.graph.initializer
        )
        used = len(frozen) - 2  # without the head's
        print(
            f"transfer frozen: test accuracy {epochs[-1]['test_accuracy']:.4f} after {len(epochs)} epochs, "
            f"{epochs[-1]['ms_per_step']:.1f} ms/step; "
            f"{same} of {used} frozen tensors bit-identical; backward nodes in the backbone: {behind or 'none'}",
            flush=True,
        )
        self.goal("transfer, frozen: test accuracy", 100 * epochs[-1]["test_accuracy"], 90, "%", True)
        self.goal("transfer, frozen: weights that changed", used - same, 0, "", False)
        self.goal("transfer, frozen: backward nodes in the backbone", len(behind), 0, "", False)

        step = self.step(trained, "--policy", "mixed_float16", "--optimizer", "adam", "--learning-rate", "0.0001")
        _, tuned = self.train(step, *test, "--epochs", 1, "--save-weights", fine, name=name)
        print(
            f"transfer fine-tuned: test accuracy {tuned[-1]['test_accuracy']:.4f}, "
            f"loss scale {tuned[-1]['loss_scale']:g}, skipped {tuned[-1]['skipped']:g}, "
            f"{tuned[-1]['ms_per_step']:.1f} ms/step",
            flush=True,
        )
        self.goal(
            "transfer, fine-tuned: points gained",
            100 * (tuned[-1]["test_accuracy"] - epochs[-1]["test_accuracy"]),
            0,
            "",
            True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--tools",
        type=lambda text: pathlib.Path(text).absolute(),
        required=True,
        help="folder with amp-train, amp-rewrite and amp-run",
    )
    parser.add_argument("--only", default="dense,wide,cnn,transfer")
    parser.add_argument("--keras", help="a Python that has keras and tensorflow")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/mnist_bench"))
    args = parser.parse_args()
    bench = Bench(args)
    name, flags = cpu_facts()
    print(
        f"{name}: {' '.join(flags)}; {args.threads} thread(s); load average before {os.getloadavg()[0]:.1f}\n",
        flush=True,
    )
    for part in args.only.split(",") + (["against_keras"] if args.keras else []):
        getattr(bench, part)()
    return 1 if verdicts.print_verdicts(bench.rows, f"{args.threads} thread(s)") else 0


if __name__ == "__main__":
    sys.exit(main())
