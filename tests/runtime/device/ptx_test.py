#!/usr/bin/env python3
"""Compiles the device's kernels to PTX, and looks for the instructions that they claim to be made of.

    tests/runtime/device/ptx_test.py NVCC ROOT    ROOT: of the source tree

16-bit floats are converted by instructions of their own, both ways; teams exchange sums within a warp without memory;
division and root are rounded as IEEE 754 has it; nothing is added or multiplied in float64, but for quantised numbers, for
the rate of Adam, and for the reduction of large angles, which CUDA's sine does with one multiplication. Where cuobjdump is at hand, the same library that is
installed holds machine code for every capability that is promised.
"""
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

INSTRUCTION = re.compile(r"^\s+(?:@!?%p\d+ )?([a-z][a-z0-9_]*(?:\.[a-z0-9_:]+)+)\s", re.M)
# By source: what must be there, and what must not, as patterns of whole instructions.
EXPECTED = {
    "convolution.cu": (["fma\\.rn\\.f32", "cvt\\.f32\\.f16", "cvt\\.rn\\.bf16\\.f32"], [".*\\.f64.*"]),
    "elementwise.cu": (["cvt\\.f32\\.f16", "cvt\\.rn\\.f16\\.f32", "cvt\\.rn\\.bf16\\.f32", "div\\.rn\\.f32", "sqrt\\.rn\\.f32"],
                       ["(add|sub|fma|div)\\..*f64", "sqrt\\.approx.*"]),
    "gradients.cu": (["shfl\\.sync\\.bfly\\.b32", "bar\\.sync", "fma\\.rn\\.f32", "cvt\\.f32\\.f16", "sqrt\\.rn\\.f32"],
                     [".*\\.f64.*", "div\\.approx.*", "sqrt\\.approx.*", "atom.*"]),
    "move.cu": (["ld\\.global\\.u16", "st\\.global\\.u16", "st\\.global\\.(v2\\.)?u64"], [".*\\.f64.*", "cvt\\.rn\\.f.*"]),
    "quantized.cu": (["div\\.rn\\.f32", "div\\.rn\\.f64", "cvt\\.rni\\.f32\\.f32", "cvt\\.rn\\.f32\\.f64"],
                     ["div\\.approx.*", "div\\.full.*", "sqrt.*"]),
    "rows.cu": (["shfl\\.sync\\.bfly\\.b32", "bar\\.sync", "cvt\\.rn\\.f16\\.f32", "cvt\\.rn\\.bf16\\.f32"],
                [".*\\.f64.*", "div\\.approx.*", "sqrt\\.approx.*", "atom.*"]),
    "select.cu": (["shfl\\.sync\\.bfly\\.b32", "bar\\.sync", "cvt\\.rn\\.f16\\.f32", "cvt\\.rn\\.bf16\\.f32"],
                  [".*\\.f64.*", "div\\.approx.*", "atom.*"]),
    # The rate of Adam is computed in float64, by one thread.
    "training.cu": (["shfl\\.sync\\.bfly\\.b32", "bar\\.sync", "sqrt\\.rn\\.f32", "div\\.rn\\.f32", "cvt\\.f32\\.f16"],
                    ["div\\.approx.*", "sqrt\\.approx.*", "atom.*"]),
}


def ptx_of(nvcc, root, source):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "kernels.ptx"
        command = [nvcc, "-std=c++20", f"-I{root}", "--ptx", "-arch=compute_90", str(source), "-o", str(out)]
        subprocess.run(command, check=True)
        return out.read_text()


def complaints(text, expected, forbidden):
    found = collections.Counter(INSTRUCTION.findall(text))
    for pattern in expected:
        if not any(re.fullmatch(pattern, name) for name in found):
            yield f"no {pattern}"
    for pattern in forbidden:
        yield from (f"{count} x {name}" for name, count in found.items() if re.fullmatch(pattern, name))


def main():
    nvcc, root = sys.argv[1], pathlib.Path(sys.argv[2])
    failures = 0
    for name, (expected, forbidden) in EXPECTED.items():
        text = ptx_of(nvcc, root, root / "runtime" / "cuda" / name)
        wrong = list(complaints(text, expected, forbidden))
        failures += len(wrong)
        print(f"{name}: {text.count('.entry')} kernels, {'; '.join(wrong) or 'as expected'}")
    planted = "\tadd.f64 %fd1, %fd2, %fd3;\n"
    if not list(complaints(planted, [], ["add\\..*f64"])):
        failures += 1
        print("a planted instruction is not found")
    if len(sys.argv) > 3:
        cuobjdump = shutil.which("cuobjdump") or shutil.which("cuobjdump", path=str(pathlib.Path(nvcc).parent))
        if cuobjdump is None:
            print("SKIPPED: no cuobjdump: the machine code of the library was not looked at")
        else:
            listed = subprocess.run([cuobjdump, "--list-elf", sys.argv[3]], check=True, capture_output=True, text=True).stdout
            for capability in ("sm_80", "sm_90"):
                if capability not in listed:
                    failures += 1
                    print(f"no machine code for {capability}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
