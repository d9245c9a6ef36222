"""Runs the commands that the pages show, as they stand there.

    page_commands_test.py FOLDER_OF_PROGRAMS MAKE_DEMO REPOSITORY

Each page gets a folder of its own with the files that its commands name: a classifier and its data. Commands run in the
order of the page, so that one may read what another wrote. Each has to end with exit code 0.
"""

import gzip
import os
import pathlib
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

PAGES = ("README.md", "tools/README.md", "tools/train/README.md")
PROGRAMS = ("amp-rewrite", "amp-run", "amp-train", "mpirun")
SAMPLES = 64
# Commands that do not run here, with the reason.
LEFT_OUT = {
    "amp-rewrite training.onnx -o scaled.onnx --loss-scale dynamic": "another tool's step; judge: runtime_gradients",
}


def commands(text):
    """Returns the commands of a page's code blocks, without comments, continued lines joined."""
    found = []
    lines = iter(text.splitlines())
    for line in lines:
        command = re.sub(r"^(\$ )?", "", line.strip())
        if not line.startswith(("    ", "$ ")) or command.split(" ")[0] not in PROGRAMS:
            continue
        while command.endswith("\\"):
            command = command[:-1] + next(lines).strip()
        found.append(shlex.join(shlex.split(command, comments=True)))
    return found


def npy(shape, values, code):
    """Returns the bytes of an array in NumPy's format. `code`: as in struct."""
    names = {"f": "<f4", "q": "<i8"}
    header = repr({"descr": names[code], "fortran_order": False, "shape": shape})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    begin = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
    return begin + struct.pack(f"<{len(values)}{code}", *values)


def write_npz(path, arrays):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in arrays.items():
            archive.writestr(f"{name}.npy", content)


def make_files(folder, run):
    """Writes what the commands read: pictures of 784 numbers in ten classes, as arrays and in MNIST's own format."""
    pixels = [(i * 37 + i // 784 * 11) % 256 for i in range(SAMPLES * 784)]
    classes = [i % 10 for i in range(SAMPLES)]
    x = npy((SAMPLES, 784), [value / 255 for value in pixels], "f")
    for name in ("x.npy", "images.npy"):
        (folder / name).write_bytes(x)
    (folder / "labels.npy").write_bytes(npy((SAMPLES,), classes, "q"))
    (folder / "samples").mkdir()
    for path in (folder / "sample.npz", folder / "samples" / "0.npz"):
        write_npz(path, {"x": npy((4, 784), [value / 255 for value in pixels[: 4 * 784]], "f")})
    for part in ("train", "t10k"):
        images = struct.pack(">4I", 0x0803, SAMPLES, 28, 28) + bytes(pixels)
        labels = struct.pack(">2I", 0x0801, SAMPLES) + bytes(classes)
        (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(images))
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels))
    run(["amp-train", "new", "mlp", "784-64-64-10", "-o", "model.onnx"])
    run(["amp-train", "new", "mlp", "784-64-64-10", "-o", "m.onnx"])
    run(["amp-rewrite", "model.onnx", "-o", "mixed.onnx"])


def main():
    programs, make_demo, repository = map(os.path.abspath, sys.argv[1:4])
    has_mpirun = shutil.which("mpirun") is not None
    failures, ran = [], 0
    for page in PAGES:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            environment = {
                **os.environ,
                "PATH": f"{programs}:{os.environ['PATH']}",
                "OMPI_ALLOW_RUN_AS_ROOT": "1",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                "OMPI_MCA_rmaps_base_oversubscribe": "1",
            }

            def run(command):
                return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)

            subprocess.run([make_demo, f"{repository}/tools/demo/demo.onnxtxt", folder / "demo.onnx"], check=True)
            make_files(folder, run)
            for command in commands(pathlib.Path(repository, page).read_text()):
                if command in LEFT_OUT or (command.startswith("mpirun") and not has_mpirun):
                    print(f"{page}: left out: {command}")
                    continue
                done = run(shlex.split(command))
                ran += 1
                if done.returncode != 0:
                    failures.append(f"{page}: {command}\n  exit code {done.returncode}: {done.stderr.strip()}")
    print("\n".join(failures))
    print(f"{ran} commands of {len(PAGES)} pages, {len(failures)} failed")
    return 1 if failures or ran == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
