#!/usr/bin/env python3
"""Rewrites structurally damaged models: an error or a result, never a signal or exit code 70.

  mutants.py --program build/tests/mutate_models [--seed S] [--mutants N] [--seconds T] [--keep DIR]

The program damages the models that it is given. This script gives it the random graphs of both generators, the golden
files' cases, and small models of $AMP_SHARED (or ../shared next to the repository): models/*.onnx and faults/*.onnx.
Without those of $AMP_SHARED it says so and goes on. The exit code is the program's; it is 1 also when a planted abort
goes unseen.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

from judge.generators import (
    function_generator,  # noqa: F401 registers with scope_generator, as the next does
    graph_generator,
    scope_generator,
    sequence_generator,  # noqa: F401
)
from judge.shared_files import shared_folder

LARGEST_MODEL = 500_000  # bytes; larger ones take long and have no other structure
TOO_SLOW = {"nested_functions_18.onnx"}  # half a minute each
GRAPHS = 150  # of either generator
GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "golden"


def shared_models():
    shared = shared_folder()
    found = [
        p
        for folder in ("models", "faults")
        for p in sorted((shared / folder).glob("*.onnx"))
        if p.stat().st_size <= LARGEST_MODEL and p.name not in TOO_SLOW
    ]
    if not found:
        print(f"NOT THERE: {shared}/models and {shared}/faults; mutants of generated graphs and golden files alone")
    return found


def write_sources(folder):
    for seed in range(GRAPHS):
        (folder / f"flat_{seed:03}.onnx").write_bytes(
            graph_generator.generate(seed).SerializeToString(deterministic=True)
        )
        (folder / f"scopes_{seed:03}.onnx").write_bytes(
            scope_generator.generate(seed)[0].SerializeToString(deterministic=True)
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", default="0")
    parser.add_argument("--mutants", default="20000")
    parser.add_argument("--seconds", default="0", help="stop after so many; 0: when all mutants are done")
    parser.add_argument("--keep", default="mutants_that_failed")
    a = parser.parse_args()
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    print(f"seed {a.seed}, mutants from {a.first} on", flush=True)
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        sources = pathlib.Path(folder) / "sources"
        sources.mkdir()
        write_sources(sources)
        paths = [sources, GOLDEN, *shared_models()]
        environment = {**os.environ, "TMPDIR": folder}
        command = [
            a.program,
            "--seed",
            a.seed,
            "--first",
            a.first,
            "--mutants",
            a.mutants,
            "--seconds",
            a.seconds,
            "--keep",
            a.keep,
            *paths,
        ]
        found = subprocess.run(command, env=environment).returncode
        if found not in (0, 1):
            print(f"FAIL: the program itself ended with {found}")
        planted = subprocess.run(
            [a.program, "--mutants", "3", "--plant", "1", "--keep", folder, sources],
            env=environment,
            capture_output=True,
            text=True,
        )
        if (
            planted.returncode != 1
            or "FAIL mutant 1" not in planted.stdout
            or "signal 6" not in planted.stdout
            or "3 mutants" in planted.stdout
        ):
            print(f"FAIL: an abort that was planted was not seen: {planted.stdout}")
            found = 1
    return found


if __name__ == "__main__":
    sys.exit(main())
