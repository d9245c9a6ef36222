#!/usr/bin/env python3
"""Counts the patterns that recognisers find in real models, against what is known to be in them.

  patterns.py --program build/tests/list_patterns

The numbers are those of the models' authors: a llama of five layers has five attentions, ten rotary embeddings (of
queries and of keys) and eleven RMSNorms. A recogniser that finds less has lost a spelling; one that finds more takes
something else for its own. Where models are absent, a line says so loudly, and the exit code is 77.
"""

import argparse
import collections
import subprocess
import sys

from judge.shared_files import shared_folder

WANTED = {
    "stories260k_llama": {"Attention": 5, "Rotary": 10, "RMSNorm": 11, "Silu": 5},
    "cct_2_opset20": {"Attention": 2},
    "libtashkeel_float": {"Attention": 6},
    "voicevox_sing_consonant_length": {"Attention": 2},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    arguments = parser.parse_args()
    folder = shared_folder() / "models"
    paths = [folder / f"{name}.onnx" for name in WANTED if (folder / f"{name}.onnx").exists()]
    if len(paths) < len(WANTED):
        print(f"SKIPPED: not all models are in {folder} (set AMP_SHARED): {len(WANTED) - len(paths)} WERE NOT JUDGED")
    found = collections.defaultdict(dict)
    output = subprocess.run([arguments.program, *map(str, paths)], capture_output=True, text=True)
    for line in output.stdout.splitlines():
        path, kind, count = line.rsplit(" ", 2)
        found[path][kind] = int(count)
    failures = int(output.returncode != 0)
    for path in paths:
        counts, wanted = found[str(path)], WANTED[path.stem]
        counts = {kind: counts.get(kind, 0) for kind in {*counts, *wanted}}
        is_right = all(
            counts[kind] == wanted.get(kind, counts[kind] if kind not in ("Attention", "Rotary") else 0)
            for kind in counts
        )
        failures += not is_right
        print(f"{'ok' if is_right else 'FAILED'} {path.stem}: {dict(sorted(counts.items()))}, wanted {wanted}")
    if failures:
        print(output.stdout, output.stderr)
        return 1
    return 0 if len(paths) == len(WANTED) else 77


if __name__ == "__main__":
    sys.exit(main())
