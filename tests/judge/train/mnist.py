"""Trains the Dense network of mixed-precision guides on MNIST, to the accuracy of Keras.

    mnist.py AMP_TRAIN AMP_REWRITE

The network is 784-64-64-10, with RMSprop and five epochs. In float32, mixed float16 and mixed bfloat16 it comes to the
accuracy of Keras (3.15; batch 128: 0.9706, 0.9700, 0.9694), and all three come to the same one. The weights that are
saved must give onnxruntime the accuracy that was printed. MNIST is data/mnist of $AMP_SHARED or of ../shared next to
the repository. Without it the exit code is 77.
"""

import gzip
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

from judge.shared_files import shared_folder

AMP_TRAIN, AMP_REWRITE = map(os.path.abspath, sys.argv[1:3])
KERAS = {"float32": 0.9706, "mixed_float16": 0.9700, "mixed_bfloat16": 0.9694}
LAST_SCALE = {"float32": None, "mixed_float16": "65536", "mixed_bfloat16": None}  # it doubles once in 2,345 steps
SKIPPED = 77


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def read(path, header):
    return np.frombuffer(gzip.open(path).read(), np.uint8, offset=header)


def accuracy(model, mnist):
    images = read(mnist / "t10k-images-idx3-ubyte.gz", 16).reshape(-1, 784).astype(np.float32) / 255
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    scores = session.run(None, {session.get_inputs()[0].name: images})[0]
    return np.mean(scores.argmax(axis=1) == read(mnist / "t10k-labels-idx1-ubyte.gz", 8))


def main():
    mnist = shared_folder() / "data" / "mnist"
    if not mnist.is_dir():
        print(f"SKIPPED: no {mnist} (set AMP_SHARED): NOTHING WAS TRAINED")
        return SKIPPED
    files = {"data": "train", "eval-data": "t10k"}
    data = [
        word
        for flag, part in files.items()
        for word in (
            f"--{flag}",
            f"x={mnist}/{part}-images-idx3-ubyte.gz",
            f"--{flag}",
            f"labels={mnist}/{part}-labels-idx1-ubyte.gz",
        )
    ]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        forward, step, trained = (f"{folder}/{name}.onnx" for name in ("m", "step", "trained"))
        run(AMP_TRAIN, "new", "mlp", "784-64-64-10", "-o", forward)
        for policy in KERAS:
            run(
                AMP_REWRITE,
                forward,
                "-o",
                step,
                "--train",
                "--loss",
                "softmax-cross-entropy",
                "--optimizer",
                "rmsprop",
                "--policy",
                policy,
            )
            out = run(
                AMP_TRAIN,
                step,
                *data,
                "--epochs",
                "5",
                "--shuffle",
                "1",
                "--forward",
                forward,
                "--save-weights",
                trained,
            )
            found[policy], judged = float(re.findall(r"test accuracy (\S+)", out)[-1]), accuracy(trained, mnist)
            scale = re.findall(r"loss scale (\S+)", out)[-1] if "loss scale" in out else None
            print(f"{policy}: {found[policy]} (onnxruntime {judged:.4f}), Keras {KERAS[policy]}, loss scale {scale}")
            assert abs(found[policy] - judged) < 2e-4, "the saved weights give another accuracy"  # two images of 10,000
            assert LAST_SCALE[policy] in (None, scale), f"the loss scale ends at {scale}"
    assert all(abs(found[policy] - KERAS[policy]) < 0.01 for policy in KERAS), "more than a point from Keras"
    assert max(found.values()) - min(found.values()) < 0.006, (
        "the three differ"
    )  # of one seed; of the mean of three: 0.003
    return 0


sys.exit(main())
