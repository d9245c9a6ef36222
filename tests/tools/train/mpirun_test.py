"""Training on several processes, by mpirun on this machine: replicas, shares, skips, lost ranks and checkpoints.

    mpirun_test.py AMP_TRAIN AMP_REWRITE MAKE_DEMO with-mpi|without-mpi [NAME...]

Weights are read from checkpoints, so that nothing here relies on the program's own comparison of replicas but the
test of that.
"""

import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

AMP_TRAIN, AMP_REWRITE, MAKE_DEMO = map(os.path.abspath, sys.argv[1:4])
SKIPPED = 77
SAMPLES, WIDTH, CLASSES = 1280, 20, 4
MPIRUN = [
    "mpirun",
    "--oversubscribe",
    "--allow-run-as-root",
    "--mca",
    "btl",
    "self,vader",
    "--mca",
    "oob_tcp_if_include",
    "lo",
]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
# This step averages its loss over ranks, and not its gradients.
DRIFTING = (
    r"""<ir_version: 8, opset_import: ["" : 17, "ai.amp" : 1],
 metadata_props: ["amp.state" : "[{\"input\":\"w\",\"output\":\"w_next\",\"kind\":\"weight\"},"""
    r"""{\"input\":\"count\",\"output\":\"count_next\",\"kind\":\"counter\"}]",
  "amp.step" : "{\"version\":1,\"loss\":\"loss\",\"finite\":null,\"labels\":\"labels\","""
    r"""\"label_kind\":\"sparse\",\"logits\":\"logits\",\"learning_rate\":\"rate\",\"scale\":null,"""
    r"""\"good_steps\":null,\"global_step\":\"count\",\"optimizer\":\"sgd\",\"dtype\":\"float32\","""
    r"""\"loss_kind\":\"softmax-cross-entropy\"}"]>
step (float[n,20] x, int64[n] labels, float rate, float[20,4] w, int64 count)
  => (float[n,4] logits, float loss, float[20,4] w_next, int64 count_next)
  <float rate = {0.01}, int64 count = {0}, float[20,4] w = {WEIGHTS}, int64 one = {1}> {
  logits = MatMul (x, w)
  own_loss = SoftmaxCrossEntropyLoss (logits, labels)
  started = ai.amp.StartMeanOverRanks (own_loss)
  loss = ai.amp.MeanOverRanks (started)
  turned = Transpose <perm = [1, 0]> (x)
  g = MatMul (turned, logits)
  w_step = Mul (g, rate)
  w_next = Sub (w, w_step)
  count_next = Add (count, one)
}
<domain: "ai.amp", opset_import: ["" : 17]> StartMeanOverRanks (value) => (started) { started = Identity (value) }
<domain: "ai.amp", opset_import: ["" : 17]> MeanOverRanks (started) => (mean) { mean = Identity (started) }
"""
).replace("WEIGHTS", ", ".join(str((i * 37 % 100) / 1000) for i in range(80)))


def write_npy(path, kind, shape, values, code):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    path.write_bytes(
        b"\x93NUMPY\x01\x00"
        + struct.pack("<H", len(header))
        + header.encode()
        + struct.pack(f"<{len(values)}{code}", *values)
    )


def read_states(path):
    """Name -> bytes of the elements."""
    states = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.startswith("state/"):
                data = archive.read(name)
                states[name[6:].removesuffix(".npy")] = data[10 + struct.unpack("<H", data[8:10])[0] :]
    return states


def floats(data):
    return struct.unpack(f"<{len(data) // 4}f", data)


def difference(a, b):
    """The largest one of weights, over the largest weight."""
    weights = [name for name in a if re.fullmatch(r"dense_\d_(weight|bias)", name)]
    assert len(weights) == 4, f"expected 4 weights, found {weights} of {list(a)}"
    pairs = [pair for name in weights for pair in zip(floats(a[name]), floats(b[name]))]
    return max(abs(x - y) for x, y in pairs) / max(abs(x) for x, _ in pairs)


def error_lines(text):
    return [line for line in text.splitlines() if line.startswith("amp-train: error: ")]


class Test:
    def __init__(self, folder):
        self.folder = folder
        draw = random.Random(7)
        self.x = [draw.uniform(-1, 1) for _ in range(SAMPLES * WIDTH)]
        labels = [max(range(CLASSES), key=lambda c: self.x[i * WIDTH + c]) for i in range(SAMPLES)]
        write_npy(folder / "x.npy", "<f4", (SAMPLES, WIDTH), self.x, "f")
        write_npy(folder / "labels.npy", "|u1", (SAMPLES,), labels, "B")
        subprocess.run(
            [AMP_TRAIN, "new", "mlp", f"{WIDTH}-16-{CLASSES}", "-o", folder / "m.onnx"], check=True, capture_output=True
        )
        self.make_step("step", "--data-parallel")
        self.make_step("float32", "--data-parallel", "--policy", "float32")
        self.make_step("plain")

    def make_step(self, name, *flags):
        subprocess.run(
            [
                AMP_REWRITE,
                self.folder / "m.onnx",
                "-o",
                self.folder / f"{name}.onnx",
                "--train",
                "--optimizer",
                "momentum",
                *flags,
            ],
            check=True,
            capture_output=True,
        )

    def arguments(self, *flags, step="step", x="x", epochs=1, batch=128):
        return [
            str(each)
            for each in (
                self.folder / f"{step}.onnx",
                "--data",
                f"x={self.folder}/{x}.npy",
                "--data",
                f"labels={self.folder}/labels.npy",
                "--batch",
                batch,
                "--shuffle",
                5,
                "--threads",
                1,
                "--epochs",
                epochs,
                *flags,
            )
        ]

    def run(self, ranks, *flags, program=AMP_TRAIN, **settings):
        launcher = [*MPIRUN, "-n", str(ranks)] if ranks > 1 else []
        return subprocess.run(
            [*launcher, program, *self.arguments(*flags, **settings)],
            capture_output=True,
            text=True,
            timeout=60,
            env=ENVIRONMENT,
        )

    def train(self, ranks, name, *flags, **settings):
        """The states after a run that must be well."""
        path = self.folder / f"{name}.npz"
        result = self.run(ranks, "--checkpoint", path, *flags, **settings)
        assert result.returncode == 0, f"{name}: exit code {result.returncode}: {result.stderr}"
        self.out = result.stdout
        return read_states(path)

    def fails(self, result, code, *expected):
        lines = error_lines(result.stderr)
        assert result.returncode == code, f"expected exit code {code}, found {result.returncode}: {result.stderr}"
        assert len(lines) == 1, f"expected one line, found {lines}"
        for text in expected:
            assert text in lines[0], f"expected '{text}', found: {lines[0]}"

    # ---- the tests

    def replicas(self):
        """After 500 steps all replicas have the same bits: each comparison would have ended the run."""
        two = self.train(2, "two", "--check-replicas", 1, epochs=50)
        assert "2 ranks: 64 samples each per step" in self.out, self.out
        again = self.train(2, "again", epochs=50)
        assert two == again, "a second run has other bits"
        accuracy = float(re.findall(r"accuracy (\S+)", self.out)[-1])
        assert accuracy > 0.9, f"learnt nothing: accuracy {accuracy}"

    def shares(self):
        """Two shares of 64 do what one of 128 does, over 100 steps in float32; so do four of 32."""
        start = self.train(1, "start", "--learning-rate", 0, step="float32")
        test = ["--eval-data", f"x={self.folder}/x.npy", "--eval-data", f"labels={self.folder}/labels.npy"]
        one = self.train(1, "one", *test, step="float32", epochs=10)
        first = re.sub(r"\d+\.\d+ ms/step", "", self.out)
        for ranks in (2, 4):
            several = self.train(ranks, "several", *test, step="float32", epochs=10)
            found = re.sub(r"\d+\.\d+ ms/step", "", self.out)
            assert difference(one, several) < 1e-5, f"{ranks} ranks: {difference(one, several)} apart"
            assert [line for line in first.splitlines() if "epoch" in line] == [
                line for line in found.splitlines() if "epoch" in line
            ], found
        assert difference(one, start) > 0.01, "nothing was learnt: the test shows nothing"
        assert re.search(r"test loss \S+  test accuracy 0\.\d+$", self.out, re.M), self.out
        self.train(3, "three", batch=126)  # of 1280 samples
        assert "3 ranks: 42 samples each per step; 2 of an epoch left out" in self.out, self.out

    def infinity(self):
        """A sample that is infinite is one rank's; the step is skipped on both, once, and the scale halves once."""
        x = list(self.x)
        x[777 * WIDTH + 3] = float("inf")
        write_npy(self.folder / "infinite.npy", "<f4", (SAMPLES, WIDTH), x, "f")
        two = self.train(2, "two", "--check-replicas", 1, x="infinite", epochs=3)
        skipped = re.findall(r"skipped (\d+)", self.out)
        assert skipped == ["1", "1", "1"], f"skipped {skipped}"
        assert floats(two["amp.loss_scale"]) == (32768 / 8,), floats(two["amp.loss_scale"])
        one = self.train(1, "one", x="infinite", epochs=3)
        assert difference(one, two) < 0.01, f"{difference(one, two)} apart"

    def lost(self):
        """A rank that is killed, or does nothing any more, ends the others with one line."""
        for how, timeout, word, most in (
            (signal.SIGKILL, 20, "has ended", 10),
            (signal.SIGSTOP, 3, "gave no sign of life for 3 s", 20),
        ):
            checkpoint = self.folder / "lost.npz"
            checkpoint.unlink(missing_ok=True)
            process = subprocess.Popen(
                [
                    *MPIRUN,
                    "-n",
                    "2",
                    AMP_TRAIN,
                    *self.arguments("--rank-timeout", timeout, "--checkpoint", checkpoint, "--quiet", epochs=10**9),
                ],
                stderr=subprocess.PIPE,
                text=True,
                env=ENVIRONMENT,
            )
            while not checkpoint.exists():
                assert process.poll() is None, process.stderr.read()
                time.sleep(0.05)
            os.kill(self.process_of_rank(process.pid, 1), how)
            start = time.monotonic()
            _, errors = process.communicate(timeout=30)
            seconds = time.monotonic() - start
            lines = error_lines(errors)
            assert process.returncode != 0, "the run ended well"
            assert len(lines) == 1 and "rank 0: " in lines[0] and f"rank 1 of 2 {word}" in lines[0], errors
            assert seconds < most, f"{seconds:.1f} s until the end"
            print(f"  {how.name}: {seconds:.1f} s; {lines[0]}")

    def stopped_early(self):
        """A rank that is stopped while it starts ends the others, too, with one line."""
        for first in (1, 0):
            process = subprocess.Popen(
                [
                    *MPIRUN,
                    "-n",
                    "3",
                    AMP_TRAIN,
                    *self.arguments("--rank-timeout", 3, "--quiet", epochs=10**9, batch=126),
                ],
                stderr=subprocess.PIPE,
                text=True,
                env=ENVIRONMENT,
            )
            while True:
                try:
                    os.kill(self.process_of_rank(process.pid, first), signal.SIGSTOP)
                    break
                except AssertionError:
                    assert process.poll() is None, process.stderr.read()
            start = time.monotonic()
            _, errors = process.communicate(timeout=30)
            seconds = time.monotonic() - start
            lines = error_lines(errors)
            assert process.returncode == 6, f"expected exit code 6, found {process.returncode}: {errors}"
            said = "the ranks did not find each other within 3 s|gave no sign of life for 3 s"
            assert lines and all(re.search(said, line) for line in lines), (
                errors
            )  # one, unless the launcher is slow to end the others
            assert seconds < 15, f"{seconds:.1f} s until the end"
            print(f"  rank {first}: {seconds:.1f} s; {lines[0]}")

    @staticmethod
    def process_of_rank(launcher, rank):
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
                if parent == launcher and f"OMPI_COMM_WORLD_RANK={rank}".encode() in (
                    path / "environ"
                ).read_bytes().split(b"\0"):
                    return int(path.name)
            except OSError:
                continue  # it ended meanwhile
        raise AssertionError(f"mpirun has no rank {rank}")

    def checkpoints(self):
        """Two ranks go on from where two were with the same bits; one and four within tolerance; in an epoch, too."""
        whole = self.train(2, "whole", step="float32", epochs=6)
        self.train(2, "half", step="float32", epochs=3)
        shutil.copy(self.folder / "half.npz", self.folder / "from.npz")
        for ranks in (2, 1, 4):
            resumed = self.train(ranks, "resumed", "--resume", self.folder / "from.npz", step="float32", epochs=6)
            assert "epoch 4/6" in self.out and "epoch 3/6" not in self.out, self.out
            if ranks == 2:
                assert resumed == whole, "other bits than without an interruption"
            assert difference(whole, resumed) < 1e-5, f"{ranks} ranks: {difference(whole, resumed)} apart"

    def stopped(self):
        """Checks that mpirun passes a signal on to all ranks.

        The ranks stop after the same step, and go on in the middle of the epoch.
        """
        path = self.folder / "stopped.npz"
        process = subprocess.Popen(
            [
                *MPIRUN,
                "-n",
                "2",
                AMP_TRAIN,
                *self.arguments("--checkpoint", path, "--checkpoint-every", 1, "--quiet", step="float32", epochs=10**6),
            ],
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
        while not path.exists():
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
        stop = re.search(
            r"amp-train: stopped by SIGTERM in epoch (\d+) after \d+ batches: wrote \S+, which --resume goes on from",
            errors,
        )
        assert stop and not error_lines(errors), errors
        epochs = int(stop[1]) + 1
        whole = self.train(2, "whole", step="float32", epochs=epochs)
        assert self.train(2, "resumed", "--resume", path, step="float32", epochs=epochs) == whole, (
            "other bits than without an interruption"
        )
        one = self.train(1, "one", "--resume", path, step="float32", epochs=epochs)
        assert difference(whole, one) < 1e-5, f"{difference(whole, one)} apart"

    def refused(self):
        """Checks that what would train ranks apart is an error, told once."""
        self.fails(
            self.run(2, step="plain"),
            2,
            "plain.onnx: expected a step graph made by amp-rewrite --train --data-parallel, as there are 2 ranks",
        )
        self.fails(self.run(3), 2, "--batch: expected a multiple of 3, the number of ranks, found 128")
        self.fails(self.run(2, "--oops"), 2, "--oops")
        self.fails(self.run(2, "--resume", self.folder / "none.npz"), 6, "none.npz: ")
        several = [*MPIRUN, "-n", "1", AMP_TRAIN, *self.arguments(), ":", "-n", "1", AMP_TRAIN]
        x = list(self.x)
        x[-1] += 1
        write_npy(self.folder / "other.npy", "<f4", (SAMPLES, WIDTH), x, "f")
        differs = "expected on rank 1 as on rank 0: "
        other_test = ["--eval-data", f"x={self.folder}/other.npy", "--eval-data", f"labels={self.folder}/labels.npy"]
        for flags, expected in (
            (["--learning-rate", 0.5], differs),
            (["--scale", 0.5], differs),
            (["--resize", "nearest"], differs),
            (other_test, differs),
            (["--data", "y=y.npy"], "rank 1: "),
        ):
            result = subprocess.run(
                [*several, *self.arguments(*flags)], capture_output=True, text=True, timeout=60, env=ENVIRONMENT
            )
            self.fails(result, 2, expected)
        result = subprocess.run(
            [*several, *self.arguments(x="other")], capture_output=True, text=True, timeout=60, env=ENVIRONMENT
        )
        self.fails(result, 2, differs, "of hash ")

    def drifting(self):
        """Replicas that differ end the run at the next comparison."""
        (self.folder / "drifting.txt").write_text(DRIFTING)
        subprocess.run([MAKE_DEMO, self.folder / "drifting.txt", self.folder / "drifting.onnx"], check=True)
        self.fails(
            self.run(2, "--check-replicas", 3, step="drifting"),
            7,
            "replicas differ after step 3: expected on rank 1 as on rank 0: ",
        )
        self.fails(
            self.run(2, "--check-replicas", 0, step="drifting"), 7, "replicas differ after step 10: "
        )  # an epoch

    def alone(self):
        """Processes that cannot find each other do not train on their own."""
        lonely = self.folder / "lonely" / "bin" / "amp-train"
        lonely.parent.mkdir(parents=True)
        shutil.copy(AMP_TRAIN, lonely)  # away from libamp_mpi.so, as if built without MPI
        result = self.run(2, program=lonely)
        lines = error_lines(result.stderr)
        assert result.returncode == 8 and lines and all("built without MPI" in line for line in lines), result.stderr
        for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE"):
            result = subprocess.run(
                [AMP_TRAIN, *self.arguments()],
                capture_output=True,
                text=True,
                timeout=60,
                env={**ENVIRONMENT, name: "2"},
            )
            self.fails(result, 8, "expected 2 ranks, as many as were started; found 1")


def main():
    if shutil.which("mpirun") is None:
        print("SKIPPED: there is no mpirun (package openmpi-bin)")
        return SKIPPED
    if sys.argv[4] != "with-mpi":
        print("SKIPPED: this is built without MPI (package libopenmpi-dev, AMP_WITH_MPI)")
        return SKIPPED
    for name in sys.argv[5:] or (
        "replicas",
        "shares",
        "infinity",
        "lost",
        "stopped_early",
        "checkpoints",
        "stopped",
        "drifting",
        "refused",
        "alone",
    ):
        with tempfile.TemporaryDirectory() as folder:
            start = time.monotonic()
            getattr(Test(pathlib.Path(folder)), name)()
            print(f"{name}: {time.monotonic() - start:.1f} s", flush=True)
    return 0


sys.exit(main())
