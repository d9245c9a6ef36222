"""Checks files when standard output, a report or a disk fails at the last moment: all files change, or none.

streams_test.py AMP_REWRITE MAKE_DEMO
"""

import os
import pathlib
import subprocess
import sys
import tempfile

TOOL, MAKE_DEMO = map(os.path.abspath, sys.argv[1:3])
# A chain whose report is longer than the model.
NODES = "\n".join(f"  v{i + 1} = MatMul (v{i}, v{i})" for i in range(50))
MODEL = f"""<ir_version: 8, opset_import: ["" : 17]>
g (float[2,2] v0) => (float[2,2] v50) {{
{NODES}
}}
"""
failures = []


class Run:
    """amp-rewrite under a shell, in a folder of its own with in.onnx; `command` has {A} for the program."""

    def __init__(self, command, **files):
        with tempfile.TemporaryDirectory() as folder:
            self.folder = pathlib.Path(folder)
            (self.folder / "in.txt").write_text(MODEL)
            subprocess.run([MAKE_DEMO, self.folder / "in.txt", self.folder / "in.onnx"], check=True)
            for name, text in files.items():
                (self.folder / name.replace("_", ".")).write_text(text)
            before = self.contents()
            done = subprocess.run(
                ["bash", "-c", command.replace("{A}", TOOL)], cwd=folder, capture_output=True, text=True
            )
            self.exit, self.out, self.err = done.returncode, done.stdout, done.stderr
            after = self.contents()
            self.changed = sorted(name for name in before | after if before.get(name) != after.get(name))

    def contents(self):
        return {path.name: path.read_bytes() for path in self.folder.iterdir()}


def check(what, run, **expected):
    for name, value in expected.items():
        found = getattr(run, name)
        if not (value(found) if callable(value) else found == value):
            failures.append(
                f"{what}: {name}: found {found!r}; all: exit {run.exit}, changed {run.changed}, stderr {run.err!r}"
            )


def says(*words):
    return lambda text: all(word in text for word in words) and text.count("error:") == words[0].count("error:")


FULL = "amp-rewrite: error: standard output: cannot write: No space left on device\n"
WROTE = "wrote out.onnx all the same\n"

# A product that cannot be printed: no file changes.
for flags in ("--explain", "--diff", "--print-after paint", "--report -"):
    check(f"{flags} to a full disk", Run("{A} in.onnx -o out.onnx %s >/dev/full" % flags), exit=6, err=FULL, changed=[])
    check(
        f"--in-place {flags} to a full disk",
        Run("{A} in.onnx --in-place %s >/dev/full" % flags),
        exit=6,
        err=FULL,
        changed=[],
    )
    check(f"--dry-run {flags} to a full disk", Run("{A} in.onnx --dry-run %s >/dev/full" % flags), exit=6, changed=[])
# The last line alone cannot: the model is there, and that is said.
check(
    "last line to a full disk",
    Run("{A} in.onnx -o out.onnx >/dev/full"),
    exit=0,
    changed=["out.onnx"],
    err=says("warning: standard output: cannot write: No space left on device; " + WROTE),
)
check(
    "last line to a full disk, in place",
    Run("{A} in.onnx --in-place >/dev/full"),
    exit=0,
    changed=["in.onnx"],
    err=says("wrote in.onnx all the same\n"),
)
check(
    "last line of a dry run to a full disk", Run("{A} in.onnx --dry-run >/dev/full"), exit=6, err=says(FULL), changed=[]
)
check("quiet, to a full disk", Run("{A} in.onnx -o out.onnx -q >/dev/full"), exit=0, err="", changed=["out.onnx"])
# A reader that left is no failure of the rewrite.
for flags in ("", "--explain", "--report -"):
    gone = "set -o pipefail; exec 3>&2; { sleep 1; {A} in.onnx -o out.onnx %s 2>&3; } | true" % flags
    check(
        f"'{flags}' to a reader that left",
        Run(gone),
        exit=0,
        changed=["out.onnx"],
        err=says("nobody reads it; " + WROTE),
    )
    check(
        f"'{flags}' to a closed stream",
        Run("{A} in.onnx -o out.onnx %s >&-" % flags),
        exit=0,
        changed=["out.onnx"],
        err=says("nobody reads it; " + WROTE),
    )
check(
    "to a reader of the first line",
    Run("set -o pipefail; {A} in.onnx -o out.onnx --explain | head -n 1 >/dev/null"),
    exit=0,
    changed=["out.onnx"],
)
# Closed streams: no text may end up in the model.
check("all streams closed", Run("{A} in.onnx -o out.onnx --explain <&- >&- 2>&-"), exit=0, changed=["out.onnx"])
plain = Run("{A} in.onnx -o out.onnx && sha256sum <out.onnx")
check(
    "closed streams, same model",
    Run("{A} in.onnx -o out.onnx --explain <&- >&- 2>&-; sha256sum <out.onnx"),
    out=plain.out.splitlines()[-1] + "\n",
)
# Report and model: both or neither.
check("report and model", Run("{A} in.onnx -o out.onnx --report r.json"), exit=0, changed=["out.onnx", "r.json"])
check(
    "report that is read-only",
    Run("chmod 444 r.json; {A} in.onnx --in-place --report r.json", r_json="{}"),
    exit=4,
    changed=[],
    err=says("amp-rewrite: error: --report: r.json: exists and is read-only"),
)
check(
    "model that is read-only",
    Run("chmod 444 in.onnx; {A} in.onnx --in-place --report r.json", r_json="{}"),
    exit=4,
    changed=[],
    err=says("amp-rewrite: error: in.onnx: exists and is read-only"),
)
check("output that is read-only", Run("chmod 444 out.onnx; {A} in.onnx -o out.onnx", out_onnx=""), exit=4, changed=[])
# The model fits on the disk and the report does not.
sizes = Run("{A} in.onnx -o out.onnx --report r.json -q; stat -c %s in.onnx out.onnx r.json")
before_bytes, model_bytes, report_bytes = map(int, sizes.out.split())
blocks = max(model_bytes, before_bytes) // 1024 + 1
if report_bytes <= blocks * 1024:
    failures.append(f"the report of {report_bytes} bytes fits where the model fits")
check(
    "report on a full disk",
    Run("ulimit -f %d; {A} in.onnx --in-place --report r.json" % blocks, r_json="{}"),
    exit=6,
    changed=[],
    err=says("amp-rewrite: error: --report: r.json: cannot write: File too large\n"),
)
check(
    "model on a full disk",
    Run("ulimit -f 1; {A} in.onnx --in-place --report r.json", r_json="{}"),
    exit=6,
    changed=[],
    err=says("amp-rewrite: error: in.onnx: cannot ", "File too large\n"),
)

for failure in failures:
    print("FAILED", failure)
print("streams_test:", "failed" if failures else "all passed")
sys.exit(1 if failures else 0)
