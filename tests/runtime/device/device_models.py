#!/usr/bin/env python3
"""Runs all real models on a device and on the processor, and compares their outputs.

    tests/runtime/device/device_models.py --program build/tests/compare_devices --tool build/tools/amp-rewrite
        [--device cuda]

The models run as they are and rewritten to both 16-bit types. Their outputs must agree within the bounds of
model_bounds.h, and runs end in both places or in neither. Without --device the test double runs them, which computes as
the kernels of a device do. The models are looked for in $AMP_SHARED or beside the repository. Without their folder the
exit code is 77 (skipped).
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile


def rewritten(tool, models, dtype, folder):
    """Yields the models in the low type that can be rewritten; puts their reference inputs beside them."""
    (folder / "refs").symlink_to(models[0].parent / "refs")
    for model in models:
        out = folder / model.name
        done = subprocess.run([tool, model, "-o", out, "--dtype", dtype], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            yield out
        else:
            print(f"{model.name}: not rewritten to {dtype}: {done.stderr.strip()[:200]}")


def run(args, models, dtype, *flags):
    print(f"{' '.join([dtype, *flags])}:", flush=True)
    command = [args.program, "--device", args.device, "--type", dtype, *flags, *models]
    return subprocess.run(command, check=False).returncode


def compare(args, models, dtype):
    worst = run(args, models, dtype)
    if worst != 8:  # 8: there is no such device
        worst = max(worst, run(args, models, dtype, "--fused"))
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--device", default="double")
    args = parser.parse_args()
    beside = pathlib.Path(__file__).resolve().parents[3].parent / "shared"
    folder = pathlib.Path(os.environ.get("AMP_SHARED", beside)) / "models"
    models = sorted(folder.glob("*.onnx"))
    if not models:
        print(f"SKIPPED: no models in {folder} (set AMP_SHARED): NOTHING WAS COMPARED")
        sys.exit(77)
    worst = compare(args, models, "float32")
    for dtype in ("float16", "bfloat16"):
        if worst == 8:
            break
        with tempfile.TemporaryDirectory() as low:
            worst = max(worst, compare(args, list(rewritten(args.tool, models, dtype, pathlib.Path(low))), dtype))
    sys.exit(worst)


if __name__ == "__main__":
    main()
