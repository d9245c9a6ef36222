#!/usr/bin/env python3
"""Loads every model at hand into the graph in memory, saves it unedited, and wants the same message.

  lossless.py --program build/tests/load_models

The models lie in $AMP_SHARED or in ../shared next to the repository: models/, conformance/light/ and the node cases of
conformance/node.tar.xz. Without them the exit code is 77.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

from judge.shared_files import shared_folder


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    arguments = parser.parse_args()
    shared = shared_folder()
    if not (shared / "models").is_dir():
        print(f"SKIPPED: no models at {shared}: NOTHING WAS JUDGED")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        shutil.unpack_archive(shared / "conformance" / "node.tar.xz", folder)
        models = [
            *(shared / "models").glob("*.onnx"),
            *(shared / "conformance" / "light").glob("*.onnx"),
            *pathlib.Path(folder).rglob("*.onnx"),
        ]
        result = subprocess.run([arguments.program, *map(str, sorted(models))], capture_output=True, text=True)
    failed = [line for line in result.stdout.splitlines() if "warning:" not in line][:-1]
    print("\n".join(failed[:20]))
    print(f"{len(models) - len(failed)} passed, {len(failed)} failed")
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
