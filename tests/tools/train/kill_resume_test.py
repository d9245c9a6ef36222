"""Training that is killed at any moment and goes on ends with the weights of a run that nobody disturbed, bit for bit.

kill_resume_test.py AMP_TRAIN MAKE_DEMO
"""

import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

AMP_TRAIN, MAKE_DEMO = map(os.path.abspath, sys.argv[1:3])
STEP = (
    r"""<ir_version: 8, opset_import: ["" : 17],
 metadata_props: ["amp.state" : "[{\"input\":\"w\",\"output\":\"w_next\",\"kind\":\"weight\"},"""
    r"""{\"input\":\"count\",\"output\":\"count_next\",\"kind\":\"counter\"}]",
  "amp.step" : "{\"version\":1,\"loss\":\"loss\",\"finite\":null,\"labels\":\"labels\","""
    r"""\"label_kind\":\"sparse\",\"logits\":\"logits\",\"learning_rate\":\"rate\",\"scale\":null,"""
    r"""\"good_steps\":null,\"global_step\":\"count\",\"optimizer\":\"sgd\",\"dtype\":\"float32\","""
    r"""\"loss_kind\":\"softmax-cross-entropy\"}"]>
step (float[n,64] x, int64[n] labels, float rate, float[64,8] w, int64 count)
  => (float[n,8] logits, float loss, float[64,8] w_next, int64 count_next)
  <float rate = {0.01}, int64 count = {0}, float[64,8] w = {WEIGHTS}, int64 one = {1}, int64 depth = {8}, """
    r"""float[2] zero_one = {0, 1}> {
  logits = MatMul (x, w)
  loss = SoftmaxCrossEntropyLoss (logits, labels)
  p = Softmax <axis = -1> (logits)
  wanted = OneHot (labels, depth, zero_one)
  d = Sub (p, wanted)
  turned = Transpose <perm = [1, 0]> (x)
  g = MatMul (turned, d)
  w_step = Mul (g, rate)
  w_next = Sub (w, w_step)
  count_next = Add (count, one)
}
"""
).replace("WEIGHTS", ", ".join(str((i * 37 % 100) / 1000) for i in range(64 * 8)))
SAMPLES = 4096


def write_npy(path, kind, shape, values, code):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    path.write_bytes(
        b"\x93NUMPY\x01\x00"
        + struct.pack("<H", len(header))
        + header.encode()
        + struct.pack(f"<{len(values)}{code}", *values)
    )


def states(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name.startswith("state/")}


def main():
    draw = random.Random(7)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "step.txt").write_text(STEP)
        subprocess.run([MAKE_DEMO, folder / "step.txt", folder / "step.onnx"], check=True)
        write_npy(folder / "x.npy", "<f4", (SAMPLES, 64), [draw.uniform(-1, 1) for _ in range(SAMPLES * 64)], "f")
        write_npy(folder / "labels.npy", "|u1", (SAMPLES,), [draw.randrange(8) for _ in range(SAMPLES)], "B")

        def start(checkpoint, *flags):
            return subprocess.Popen(
                [
                    AMP_TRAIN,
                    folder / "step.onnx",
                    "--data",
                    f"x={folder}/x.npy",
                    "--data",
                    f"labels={folder}/labels.npy",
                    "--batch",
                    "32",
                    "--epochs",
                    "12",
                    "--shuffle",
                    "5",
                    "--checkpoint",
                    folder / checkpoint,
                    "--checkpoint-every",
                    "9",
                    "--quiet",
                    "--threads",
                    "1",
                    *flags,
                ]
            )

        began = time.monotonic()
        assert start("whole.npz").wait() == 0
        whole = time.monotonic() - began
        kills = 0
        while True:
            resumes = ["--resume", folder / "part.npz"] if (folder / "part.npz").exists() else []
            process = start("part.npz", *resumes)
            try:
                process.wait(timeout=draw.uniform(0.1, 0.3) * whole if kills < 4 else None)
                break
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                kills += 1
        assert process.returncode == 0, f"the last run ended with {process.returncode}"
        assert kills > 0, "nothing was killed: the test shows nothing"
        assert states(folder / "whole.npz") == states(folder / "part.npz"), "the weights differ"
        left = [path.name for path in folder.iterdir() if path.name.startswith(".")]
        assert not left, f"files were left: {left}"
        print(f"kill_resume_test: {kills} kills, the same bits")


main()
