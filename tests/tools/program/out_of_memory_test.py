"""Makes memory and threads run out, and checks that every program ends well.

    out_of_memory_test.py FOLDER_OF_PROGRAMS FAILING_ALLOCATION.so MAKE_DEMO [--every N]

A program ends with exit code 5 and one line, and with no signal. It leaves nothing behind, and an earlier output stays
as it was. `--every 1` lets every single allocation fail; without it, some out of all of them fail.
"""

import argparse
import os
import pathlib
import resource
import struct
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("programs", type=pathlib.Path)
parser.add_argument("failing")
parser.add_argument("make_demo")
parser.add_argument("--every", type=int, default=997)
parser.add_argument("--timeout", type=int, default=300, help="seconds of one run; --every 1 takes hours")
parser.add_argument("--steps", type=int, default=24, help="of each sweep over `ulimit -v`")
ARGS = parser.parse_args()
REWRITE, RUN, TRAIN = (str((ARGS.programs / name).resolve()) for name in ("amp-rewrite", "amp-run", "amp-train"))
FAILING, MAKE_DEMO = map(os.path.abspath, (ARGS.failing, ARGS.make_demo))
MODELS = {
    "products": """<ir_version: 8, opset_import: ["" : 17]>
g (float[n,4] x) => (float[n,2] y) <float[4,4] w = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7}, \
float[4,2] v = {1,0,2,0,3,0,4,0}> {
  a = MatMul (x, w)
  b = Relu (a)
  c = ReduceMean <axes = [1], keepdims = 1> (b)
  d = Sub (b, c)
  y = MatMul (d, v)
}
""",
    "bodies": """<ir_version: 8, opset_import: ["" : 17]>
g (float[4,4] x, bool c) => (float[4,4] y) {
  y = If (c) <then_branch = t () => (float[4,4] p) { q = MatMul (x, x) p = Softmax (q) },
              else_branch = e () => (float[4,4] p) { q = Exp (x) p = MatMul (q, x) }>
}
""",
    "functions": """<ir_version: 8, opset_import: ["" : 17, "my" : 1]>
g (float[1,2,5,5] x) => (float[1,2,5,5] y) \
<float[2,2,3,3] w = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9}> {
  a = Conv <pads = [1,1,1,1]> (x, w)
  y = my.Block (a)
}
<domain: "my", opset_import: ["" : 17]> Block (a) => (b) { c = Sigmoid (a) b = Mul (a, c) }
""",
}
LARGE = """<ir_version: 8, opset_import: ["" : 17]>
g (float[512,512] x) => (float[512,512] y) { y = MatMul (x, x) }
"""
failures, figures = [], {}


def npy(kind, shape, elements):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    code = {"<f4": "f", "<i8": "q"}[kind]
    return (
        b"\x93NUMPY\x01\x00"
        + struct.pack("<H", len(header))
        + header.encode()
        + struct.pack(f"<{len(elements)}{code}", *elements)
    )


def execute(command, folder, environment=None, limit_kib=None):
    def begin():
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))} if limit_kib is None else os.sched_getaffinity(0))
        if limit_kib is not None:
            resource.setrlimit(resource.RLIMIT_AS, (limit_kib << 10, limit_kib << 10))

    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        preexec_fn=begin,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=ARGS.timeout,
    )


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def judge(what, done, before, folder, outputs, kind, may=(0, 5)):
    """Judges what a run that may have failed has left behind, and undoes it.

    A file that changed gets its earlier content again, and a file that is new is removed.
    """
    after = contents(folder)
    figures.setdefault(kind, {}).setdefault(done.returncode, 0)
    figures[kind][done.returncode] += 1
    said = done.stderr.strip().split("\n")
    errors = [line for line in said if "error" in line]
    if done.returncode not in may:
        failures.append(f"{what}: exit code {done.returncode}: {said[-1]}")
    elif done.returncode != 0 and (len(errors) != 1 or "out of memory" not in errors[0]):
        failures.append(f"{what}: expected one line about memory, found {done.stderr!r}")
    if "libgomp" in done.stderr:
        failures.append(f"{what}: OpenMP has the word: {done.stderr!r}")
    for name in sorted(set(before) | set(after)):
        is_new = before.get(name) != after.get(name)
        if is_new and not (name in outputs and done.returncode == 0):
            failures.append(
                f"{what}: exit code {done.returncode}, and {name} " + ("is there" if name not in before else "changed")
            )
        if is_new and name in before:
            (folder / name).write_bytes(before[name])
        elif is_new:
            (folder / name).unlink()


def count(command, folder, **variables):
    done = execute(command, folder, {"LD_PRELOAD": FAILING, "FAIL_COUNT": "1", **variables})
    lines = [line for line in done.stderr.split("\n") if line.startswith("ALLOCATIONS ")]
    if done.returncode != 0 or not lines:
        sys.exit(f"{command}: exit code {done.returncode}: {done.stderr}")
    return int(lines[0].split()[1])


def fail_in_children(what, command, folder):
    """Lets each allocation fail in a child of its own.

    What is written must not depend on what children did, so nothing is written.
    """
    log = pathlib.Path(tempfile.mkstemp()[1])
    total = count(command, folder)
    for at_once in ("1", "1000000000"):  # that one alone, and all behind it too
        done = execute(
            command,
            folder,
            {"LD_PRELOAD": FAILING, "FAIL_FORK": str(log), "FAIL_EVERY": str(ARGS.every), "FAIL_FOR": at_once},
        )
        if done.returncode != 0:
            failures.append(f"{what}: exit code {done.returncode}: {done.stderr}")
        failures.extend(f"{what}: {line}" for line in log.read_text().splitlines())
        log.write_text("")
    log.unlink()
    kind = figures.setdefault("single allocations, in children", {})
    kind["failed"] = kind.get("failed", 0) + 2 * (total // ARGS.every)


def fail_while_writing(what, command, folder, outputs, last=600):
    """Lets the last allocations fail, which writing is among, each in a run of its own."""
    before = contents(folder)
    total = count(command, folder)
    judge(f"{what}: no failure", execute(command, folder), before, folder, outputs, "whole", may=(0,))
    step = max(ARGS.every // 40, 1)
    for number in range(max(total - last, 1), total + 1, step):
        for at_once in ("1", "1000000000"):
            done = execute(command, folder, {"LD_PRELOAD": FAILING, "FAIL_AT": str(number), "FAIL_FOR": at_once})
            judge(
                f"{what}: allocation {number} of {total}, {at_once} fail",
                done,
                before,
                folder,
                outputs,
                "while writing",
            )


def needed_kib(command, folder):
    """Returns the least `ulimit -v`, to 256 KiB, with which the command succeeds."""
    least, enough = 4 << 10, 8 << 20
    while enough - least > 256:
        middle = (least + enough) // 2
        done = execute(command, folder, limit_kib=middle)
        least, enough = (least, middle) if done.returncode == 0 else (middle, enough)
    return enough


def sweep_addresses(what, command, folder, outputs):
    before = contents(folder)
    enough = needed_kib(command, folder)
    for name in outputs:
        (folder / name).write_bytes(before[name]) if name in before else (folder / name).unlink(missing_ok=True)
    least = needed_kib([command[0], "--version"], folder)
    for step in range(ARGS.steps + 2):
        limit = least + (enough - least) * step // ARGS.steps
        done = execute(command, folder, limit_kib=limit)
        judge(f"{what}: ulimit -v {limit}", done, before, folder, outputs, "ulimit -v")


def refuse_threads(what, command, folder):
    """Lets threads fail to start, and checks how many the program says it found.

    The first threads are made to see how many there are, the others by OpenMP: of four threads, three and three.
    """
    for at, at_once, code, words in (
        (1, "1000000000", 0, "found memory or leave for 1"),
        (3, "1", 0, "found memory or leave for 3"),
        (2, "1000000000", 5, "out of memory or of threads"),
        (5, "1000000000", 5, "out of memory or of threads"),
    ):
        done = execute(
            command, folder, {"LD_PRELOAD": FAILING, "FAIL_THREADS": "1", "FAIL_AT": str(at), "FAIL_FOR": at_once}
        )
        judge(f"{what}: thread {at} fails", done, contents(folder), folder, (), "threads")
        if done.returncode != code or words not in done.stderr:
            failures.append(
                f"{what}: thread {at} fails: expected {code}, {words!r}, found {done.returncode}: {done.stderr!r}"
            )


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    for model, text in {**MODELS, "large": LARGE}.items():
        (folder / f"{model}.txt").write_text(text)
        subprocess.run([MAKE_DEMO, folder / f"{model}.txt", folder / f"{model}.onnx"], check=True)
        (folder / f"{model}.txt").unlink()
    for command in ([TRAIN, "new", "mlp", "4-3-2", "-o", "m.onnx"], [REWRITE, "m.onnx", "-o", "step.onnx", "--train"]):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (folder / "x.npy").write_bytes(npy("<f4", (8, 4), [i % 5 for i in range(32)]))
    (folder / "labels.npy").write_bytes(npy("<i8", (8,), [i % 2 for i in range(8)]))
    train = [TRAIN, "step.onnx", "--data", "x=x.npy", "--data", "labels=labels.npy", "--batch", "4", "--epochs", "2"]
    for model in MODELS:
        fail_in_children(f"rewrite {model}", [REWRITE, f"{model}.onnx", "--dry-run", "--report", "-"], folder)
        fail_in_children(f"run {model}", [RUN, f"{model}.onnx", "--random-inputs", "--threads", "1"], folder)
    fail_in_children("verify", [REWRITE, "products.onnx", "--dry-run", "--explain", "--verify"], folder)
    fail_in_children("make a step", [REWRITE, "m.onnx", "--dry-run", "--train"], folder)
    fail_in_children("train", train + ["--threads", "1"], folder)
    earlier_of_kind = {
        ".onnx": (folder / "m.onnx").read_bytes(),
        ".json": b'{"earlier": true}',
        ".npz": b"PK\5\6" + bytes(18),
    }
    for earlier in ("o.onnx", "r.json", "o.npz", "c.npz", "w.onnx"):  # of the kind that replaces it
        (folder / earlier).write_bytes(earlier_of_kind[pathlib.Path(earlier).suffix])
    rewrite = [REWRITE, "products.onnx", "-o", "o.onnx"]
    fail_while_writing("rewrite", rewrite + ["--report", "r.json"], folder, ("o.onnx", "r.json"))
    fail_while_writing(
        "run", [RUN, "products.onnx", "--random-inputs", "--outputs", "o.npz"], folder, ("o.npz",), last=300
    )
    sweep_addresses("rewrite --verify", rewrite + ["--verify"], folder, ("o.onnx",))
    sweep_addresses(
        "run", [RUN, "functions.onnx", "--random-inputs", "--threads", "2", "--outputs", "o.npz"], folder, ("o.npz",)
    )
    sweep_addresses("train", train + ["--threads", "2"], folder, ())
    refuse_threads("run", [RUN, "large.onnx", "--random-inputs", "--threads", "4"], folder)

for kind, codes in figures.items():
    print(kind, codes)
print("\n".join(failures))
sys.exit(1 if failures else 0)
