#!/usr/bin/env python3
"""Runs all real models on a device and on the processor: their outputs must agree, and the runs end in both or neither.

    tests/runtime/device/device_models.py --program build/tests/compare_devices [--device double|cuda]

Without --device by the test double, which computes as the kernels of a device do. The models are looked for in
$AMP_SHARED or beside the repository; absent folder: exit 77 (skipped).
"""
import argparse
import os
import pathlib
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--device", default="double")
    args = parser.parse_args()
    beside = pathlib.Path(__file__).resolve().parents[3].parent / "shared"
    folder = pathlib.Path(os.environ.get("AMP_SHARED", beside)) / "models"
    models = sorted(str(path) for path in folder.glob("*.onnx"))
    if not models:
        print(f"SKIPPED: no models in {folder} (set AMP_SHARED): NOTHING WAS COMPARED")
        sys.exit(77)
    sys.exit(subprocess.run([args.program, "--device", args.device, *models], check=False).returncode)


if __name__ == "__main__":
    main()
