"""Checks the line that says what a program is at.

progress_test.py AMP_RUN MAKE_DEMO

The line appears on a terminal alone, and not with --quiet. It is gone before anything else is printed.
"""

import os
import pathlib
import pty
import struct
import subprocess
import sys
import tempfile
import time

AMP_RUN, MAKE_DEMO = map(os.path.abspath, sys.argv[1:3])
MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2,2] x) => (float[2,2] y) {
  y = Relu (x)
}
"""
HEADER = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }".ljust(117) + "\n"
INPUT = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(HEADER)) + HEADER.encode() + struct.pack("<4f", -1, 0, 1, 2)
OUTPUT = "y  float32[2,2]  0 0 1 2; smallest 0, largest 2, mean 0.75\n"
failures = []


def read_all(file):
    """Reads all that a terminal was sent; when all writers have left, reading it is an error."""
    found = b""
    try:
        while chunk := os.read(file, 4096):
            found += chunk
    except OSError:
        pass
    return found.decode().replace("\r\n", "\n")


def printed(seconds, *flags, on_terminal=True):
    """Returns what a run prints that waits for its input so many seconds."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "m.txt").write_text(MODEL)
        subprocess.run([MAKE_DEMO, folder / "m.txt", folder / "m.onnx"], check=True)
        os.mkfifo(folder / "x.npy")
        reader, writer = pty.openpty() if on_terminal else os.pipe()
        process = subprocess.Popen(
            [AMP_RUN, folder / "m.onnx", "--input", f"x={folder}/x.npy", *flags], stdout=writer, stderr=writer
        )
        os.close(writer)
        with open(folder / "x.npy", "wb") as fifo:
            time.sleep(seconds)
            fifo.write(INPUT)
        process.wait()
        found = read_all(reader)
        os.close(reader)
        return found


def shown(text):
    """Returns what is left on the terminal: a line that is rewritten begins with a carriage return."""
    lines = []
    for line in text.split("\n"):
        left = ""
        for part in line.split("\r"):
            left = part + left[len(part) :]
        lines.append(left.rstrip())
    return "\n".join(lines)


def check(what, found, ok):
    if not ok:
        failures.append(f"{what}: found {found!r}")


long = printed(2.6)
check("a long run says what it is at", long, "\ramp-run: loading, 1 s" in long and "\ramp-run: loading, 2 s" in long)
check("nothing of that is left", long, shown(long) == OUTPUT)
for what, found in {
    "a short run": printed(0),
    "a quiet run": printed(2, "--quiet", "--bench", "--json"),
    "a pipe": printed(2, on_terminal=False),
}.items():
    check(f"{what} is told nothing", found, "\r" not in found and "loading" not in found)

print("\n".join(failures) or "progress_test: all passed")
sys.exit(1 if failures else 0)
