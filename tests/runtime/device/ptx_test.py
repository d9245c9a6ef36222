#!/usr/bin/env python3
"""Compiles the device's kernels to PTX, and looks for the instructions that they claim to be made of.

    tests/runtime/device/ptx_test.py NVCC ROOT [LIBRARY]    ROOT: of the source tree; LIBRARY: libamp_cuda.so

Instructions of their own convert 16-bit floats, both ways. Teams exchange sums within a warp without memory. Division
and root are rounded as IEEE 754 has it. Nothing is added or multiplied in float64, but for quantised numbers, for the
rate of Adam, and for the reduction of large angles, which CUDA's sine does with one multiplication. Compute capability
7.5 has no conversions of bfloat16.

The same PTX is unpacked from the library that is installed, and looked at. Each part of the library holds machine code
for every capability that is promised. Where cuobjdump is at hand, the machine code is looked at as well.
"""

import collections
import ctypes
import ctypes.util
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

INSTRUCTION = re.compile(r"^\s*(?:@!?%p\d+ )?([a-z][a-z0-9_]*(?:\.[a-z0-9_:]+)+)\s", re.M)
# By source: what must be there, and what must not, as patterns of whole instructions.
EXPECTED = {
    "convolution.cu": (["fma\\.rn\\.f32", "cvt\\.f32\\.f16", "cvt\\.rn\\.bf16\\.f32"], [".*\\.f64.*"]),
    "elementwise.cu": (
        ["cvt\\.f32\\.f16", "cvt\\.rn\\.f16\\.f32", "cvt\\.rn\\.bf16\\.f32", "div\\.rn\\.f32", "sqrt\\.rn\\.f32"],
        ["(add|sub|fma|div)\\..*f64", "sqrt\\.approx.*"],
    ),
    "gradients.cu": (
        ["shfl\\.sync\\.bfly\\.b32", "bar\\.sync", "fma\\.rn\\.f32", "cvt\\.f32\\.f16", "sqrt\\.rn\\.f32"],
        [".*\\.f64.*", "div\\.approx.*", "sqrt\\.approx.*", "atom.*"],
    ),
    "move.cu": (
        ["ld\\.global\\.u16", "st\\.global\\.u16", "st\\.global\\.(v2\\.)?u64"],
        [".*\\.f64.*", "cvt\\.rn\\.f.*"],
    ),
    "quantized.cu": (
        ["div\\.rn\\.f32", "div\\.rn\\.f64", "cvt\\.rni\\.f32\\.f32", "cvt\\.rn\\.f32\\.f64"],
        ["div\\.approx.*", "div\\.full.*", "sqrt.*"],
    ),
    "rows.cu": (
        ["shfl\\.sync\\.bfly\\.b32", "bar\\.sync", "cvt\\.rn\\.f16\\.f32", "cvt\\.rn\\.bf16\\.f32"],
        [".*\\.f64.*", "div\\.approx.*", "sqrt\\.approx.*", "atom.*"],
    ),
    "select.cu": (
        ["shfl\\.sync\\.bfly\\.b32", "bar\\.sync", "cvt\\.rn\\.f16\\.f32", "cvt\\.rn\\.bf16\\.f32"],
        [".*\\.f64.*", "div\\.approx.*", "atom.*"],
    ),
    # The rate of Adam is computed in float64, by one thread. The table of an optimizer's tensors is read where it is.
    "training.cu": (
        ["shfl\\.sync\\.bfly\\.b32", "bar\\.sync", "sqrt\\.rn\\.f32", "div\\.rn\\.f32", "cvt\\.f32\\.f16"],
        ["div\\.approx.*", "sqrt\\.approx.*", "atom.*", "(ld|st)\\.local.*"],
    ),
}


# Compiled for, and left out of what is expected then.
CAPABILITIES = {"compute_75": ".*bf16.*", "compute_90": None}
MACHINE_CODE = [{75, 80, 90}, {70, 80, 90}]  # of CUDA 13, 12
MOST_PARAMETERS = 4096  # bytes
PTX, ELF = 1, 2  # as parts of libraries are numbered


def ptx_of(nvcc, root, source, capability):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "kernels.ptx"
        command = [nvcc, "-std=c++20", f"-I{root}", "--ptx", f"-arch={capability}", str(source), "-o", str(out)]
        subprocess.run(command, check=True)
        return out.read_text()


def complaints(text, expected, forbidden):
    found = collections.Counter(INSTRUCTION.findall(text))
    for pattern in expected:
        if not any(re.fullmatch(pattern, name) for name in found):
            yield f"no {pattern}"
    for pattern in forbidden:
        yield from (f"{count} x {name}" for name, count in found.items() if re.fullmatch(pattern, name))


def too_many_parameters(text):
    """Yields complaints about kernels whose parameters are more than every driver takes."""
    for name, parameters in re.findall(r"\.entry (\w+)\((.*?)\)", text, re.S):
        sizes = [
            int(size or width) * (1 if size else 1 / 8)
            for width, size in re.findall(
                r"\.param (?:\.align \d+ )?\.[a-z](\d+) \w+?(?:\[(\d+)\])?,?\n", parameters + "\n"
            )
        ]
        if sum(sizes) > MOST_PARAMETERS:
            yield f"{sum(sizes):.0f} bytes of parameters of {name}"


def kernels_of(text):
    """Names of kernels, but for what is the compilation's own in them."""
    return {re.sub(r"_GLOBAL__N__\w+?_cu_[0-9a-f]+(_\d+)?", "", name) for name in re.findall(r"\.entry (\w+)", text)}


def unpacked(data, size):
    """Unpacks text that Zstandard packed, as CUDA 13 does.

    Returns None where it is packed in another way, or cannot be unpacked.
    """
    name = ctypes.util.find_library("zstd")
    if data[:4] != b"\x28\xb5\x2f\xfd" or name is None:
        return None
    zstd = ctypes.CDLL(name)
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    text = ctypes.create_string_buffer(size)
    found = zstd.ZSTD_decompress(text, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    return text.raw[:found].decode("ascii", "replace") if found <= size else None


def parts_of(library):
    """For each of its fat binaries a list of (PTX or ELF, capability, the text of PTX or None)."""
    data = library.read_bytes()
    for begin in (found.start() for found in re.finditer(b"\x50\xed\x55\xba", data)):
        _, version, header, size = struct.unpack_from("<IHHQ", data, begin)
        at, end, parts = begin + header, begin + header + size, []
        if version != 1 or end > len(data):
            continue
        while at < end:
            kind, _, header, size = struct.unpack_from("<HHIQ", data, at)
            packed, capability, whole = (
                *struct.unpack_from("<I8xI", data, at + 16),
                struct.unpack_from("<Q", data, at + 56)[0],
            )
            body = data[at + header : at + header + size]
            text = (
                None if kind != PTX else unpacked(body[:packed], whole) if packed else body.decode("ascii", "replace")
            )
            parts.append((kind, capability, text))
            at += header + size
        yield parts


def look_into(library, kernels):
    """Yields complaints about the library. `kernels`: by source, the names of its kernels."""
    found = list(parts_of(library))
    if len(found) != len(EXPECTED):
        yield f"{len(found)} parts for {len(EXPECTED)} sources"
    for parts in found:
        machine_code = {capability for kind, capability, _ in parts if kind == ELF}
        if machine_code not in MACHINE_CODE:
            yield f"machine code for {sorted(machine_code)}"
        texts = [text for kind, capability, text in parts if kind == PTX and capability == 90]
        if len(texts) != 1:
            yield f"{len(texts)} x PTX for 90"
        elif texts[0] is None:
            print("SKIPPED: the PTX of the library cannot be unpacked here: it was not looked at")
        else:
            names = kernels_of(texts[0])
            source = next((name for name in kernels if kernels[name] == names), None)
            if source is None:
                yield f"kernels of no source: {sorted(names)[:2]}"
            else:
                wrong = list(complaints(texts[0], *EXPECTED[source]))
                print(f"{library.name}: {source}: {len(names)} kernels, {'; '.join(wrong) or 'as expected'}")
                yield from wrong


def look_at_machine_code(nvcc, library):
    """Yields complaints about the machine code, where there is a tool for it.

    The code must have sums and products of float32, exchanges within a warp, loads of 16 bits, and roots of float32
    that are no approximation, which begin with MUFU.RSQ.
    """
    cuobjdump = shutil.which("cuobjdump") or shutil.which("cuobjdump", path=str(pathlib.Path(nvcc).parent))
    if cuobjdump is None:
        print("SKIPPED: no cuobjdump: the machine code of the library was not looked at")
        return
    for capability in (80, 90):
        command = [cuobjdump, "--dump-sass", "--gpu-architecture", f"sm_{capability}", library]
        code = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        for instruction in ("FFMA", "SHFL.BFLY", "LDG.E.U16", "MUFU.RSQ"):
            if instruction not in code:
                yield f"no {instruction} for sm_{capability}"


def main():
    nvcc, root = sys.argv[1], pathlib.Path(sys.argv[2])
    failures, kernels = 0, {}
    for name, (expected, forbidden) in EXPECTED.items():
        for capability, lacks in CAPABILITIES.items():
            text = ptx_of(nvcc, root, root / "runtime" / "cuda" / name, capability)
            kernels[name] = kernels_of(text)
            there = [pattern for pattern in expected if lacks is None or not re.fullmatch(lacks, pattern)]
            wrong = [*complaints(text, there, forbidden), *too_many_parameters(text)]
            failures += len(wrong)
            print(f"{name}, {capability}: {len(kernels[name])} kernels, {'; '.join(wrong) or 'as expected'}")
    planted = "\tadd.f64 %fd1, %fd2, %fd3;\n"
    if not list(complaints(planted, [], ["add\\..*f64"])):
        failures += 1
        print("a planted instruction is not found")
    if not list(
        too_many_parameters(f".entry k(\n\t.param .u32 k_0,\n\t.param .align 8 .b8 k_1[{MOST_PARAMETERS}]\n)\n")
    ):
        failures += 1
        print("planted parameters are not found")
    if len(sys.argv) > 3:
        library = pathlib.Path(sys.argv[3])
        for complaint in [*look_into(library, kernels), *look_at_machine_code(nvcc, library)]:
            failures += 1
            print(f"{library.name}: {complaint}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
