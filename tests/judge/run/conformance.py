#!/usr/bin/env python3
"""Runs ONNX's own test cases in the executor: every operator, every type and attribute that its specification shows.

  conformance.py --program build/tests/run_cases --exceptions tests/runtime/conformance_exceptions.txt

The cases are $AMP_SHARED/conformance/node.tar.xz, or ../shared next to the repository; they are unpacked for the run. A
case that fails must be named in the file of exceptions, with the reason, and a case that is named there must fail.
Without the archive the exit code is 77 (skipped).
"""

import argparse
import shutil
import subprocess
import sys
import tempfile

from judge.shared_files import shared_folder


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--exceptions", required=True)
    parser.add_argument("--device", default="cpu", help="double: as the kernels of a device compute; cuda: on a GPU")
    arguments = parser.parse_args()
    archive = shared_folder() / "conformance" / "node.tar.xz"
    if not archive.exists():
        print(f"SKIPPED: no {archive} (set AMP_SHARED): NOTHING WAS RUN")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        shutil.unpack_archive(archive, folder)
        return subprocess.run(
            [
                arguments.program,
                f"{folder}/node",
                "--exceptions",
                arguments.exceptions,
                "--table",
                "--device",
                arguments.device,
            ]
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
