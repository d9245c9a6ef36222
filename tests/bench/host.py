"""The machine that a benchmark runs on: its processor, and the class of instruction sets that records compare by."""

import pathlib
import re

# The best first: the class, and the flags of /proc/cpuinfo that make it.
CLASSES = (
    ("amx", {"amx_tile", "amx_bf16"}),
    ("avx512_bf16", {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_bf16"}),
    ("avx512", {"avx512f", "avx512bw", "avx512dq", "avx512vl"}),
    ("avx2", {"avx2", "fma", "f16c"}),
)
README = pathlib.Path(__file__).resolve().parent / "README.md"


def read_cpuinfo():
    return pathlib.Path("/proc/cpuinfo").read_text()


def cpu_facts(cpuinfo=None):
    """Returns (name of the processor, flags of its vector and matrix instructions)."""
    lines = (read_cpuinfo() if cpuinfo is None else cpuinfo).splitlines()
    facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    flags = [
        flag
        for flag in facts.get("flags", "").split()
        if flag.startswith(("amx", "avx512")) or flag in ("avx2", "f16c", "fma")
    ]
    return facts.get("model name", "unknown processor"), sorted(flags)


def class_of(flags):
    return next((name for name, needed in CLASSES if needed <= set(flags)), "none")


def has_amx():
    return class_of(cpu_facts()[1]) == "amx"


def print_cpu():
    name, flags = cpu_facts()
    print(f"{name}: {' '.join(flags)}", flush=True)


def recorded_classes(readme):
    """Returns the classes whose figures README.md states, written as "ISA class `avx512`"."""
    return set(re.findall(r"ISA class `(\w+)`", readme))


def class_note(flags, readme):
    name = class_of(flags)
    has_record = name in recorded_classes(readme)
    return f"instruction sets of class {name}: README.md has {'a record' if has_record else 'no record'} of that class"


def print_class():
    print(class_note(cpu_facts()[1], README.read_text()))
