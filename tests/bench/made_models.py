"""Models of the benchmarks: made by a script once, and kept from then on."""

import pathlib
import shutil
import subprocess
import sys


def make_once(path, script, arguments):
    """`path`, which `script ARGUMENTS... PATH` writes where it is not there yet, files beside it too."""
    if path.exists():
        return path
    print(f"bench: making {path}", file=sys.stderr)
    part = path.parent / "part" / path.name
    shutil.rmtree(part.parent, ignore_errors=True)
    part.parent.mkdir()
    subprocess.run([sys.executable, str(pathlib.Path(__file__).with_name(script)), *arguments, str(part)], check=True)
    for file in sorted(
        part.parent.iterdir(), key=lambda file: file.name == path.name
    ):  # the model last: its presence means complete
        file.rename(path.parent / file.name)
    return path
