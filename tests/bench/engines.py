"""Processes that each hold one loaded model and run it when told to, so that models can be measured in turns."""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

WARMUP_RUNS = 2
SHORTEST_MS = 20  # of one measurement at least: a faster model is run several times over
KIB, MB = 1024, 1e6
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


def digits(number):
    """Writes a number to four digits, or to the unit if it has more, and never as a power of ten."""
    return f"{number:.0f}" if number >= 1000 else f"{number:.4g}"


class Engine:
    """`dtype` is the type of the file. A model that it does not run leaves a line in `problem`."""

    def __init__(self, name, dtype, command):
        self.name, self.dtype, self.command = name, dtype, [str(word) for word in command]
        self.cpu, self.wall = [], []  # milliseconds of a run, one figure a round
        self.peak_bytes, self.note, self.problem, self.process = 0, "", "", None

    @classmethod
    def ours(cls, program, dtype, model, inputs):
        flags = ["--inputs", inputs, "--cast-inputs", "--bench=stdin", "--warmup", WARMUP_RUNS]
        return cls("amp-run", dtype, [program, model, *flags])

    @classmethod
    def peer(cls, kind, dtype, model, inputs):
        script = pathlib.Path(__file__).with_name("engine.py")
        return cls(kind, dtype, [sys.executable, script, kind, model, inputs, WARMUP_RUNS])

    def start(self):
        """Starts the process and says whether it runs the model.

        The model is then loaded and warmed up, and the number of runs in a round is chosen.
        """
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env=os.environ | ONE_THREAD,
        )
        word, _, self.note = self._read().partition(" ")
        if word != "ready" and not self.problem:
            self._give_up(f"expected 'ready', found '{word}'")
        first = self._ask(1)
        self.count = max(1, round(SHORTEST_MS / max(first[0], 1e-3))) if first else 0
        return not self.problem

    def run_round(self):
        if times := self._ask(self.count):
            self.wall.append(times[0])
            self.cpu.append(times[1])

    def read_peak(self):
        if self.process is not None:
            status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
            self.peak_bytes = int(status.split("VmHWM:")[1].split()[0]) * KIB

    def stop(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
            self.process = None

    @property
    def median(self):
        return statistics.median(self.cpu)

    def times(self):
        return (
            f"{digits(self.median):>10} {digits(min(self.cpu)):>10} {digits(statistics.median(self.wall)):>10} "
            f"{digits(self.peak_bytes / MB):>9}"
        )

    def _ask(self, count):
        """Returns the (wall, CPU) milliseconds of a run, or None."""
        if self.process is None:
            return None
        try:
            self.process.stdin.write(f"{count}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # its last words are read below
        answer = self._read()
        return None if self.problem else tuple(float(number) for number in answer.split())

    def _read(self):
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            self.log.seek(0)
            said = self.log.read().decode(errors="replace").strip().splitlines() or ["(no message)"]
            self._give_up(f"exit {code}: {said[-1][:300]}")
        return line.strip()

    def _give_up(self, problem):
        self.problem = problem
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process = None


def measure(engines, rounds):
    """Runs every engine once in each round, in turns."""
    try:
        running = [engine for engine in engines if engine.start()]
        for _ in range(rounds):
            for engine in running:
                engine.run_round()
        for engine in running:
            engine.read_peak()
    finally:
        for engine in engines:
            engine.stop()


def speed(ours, theirs):
    """Says how many times as fast ours is, by the medians."""
    return theirs.median / ours.median
