"""bfloat16 models on AMX: natively where the processor has it, else under the emulator.

    amx_test.py RUN_AMX_MODELS EMULATOR LIBRARY

Every product and convolution must name an AMX kernel, agree with the reference, and under the emulator multiply tiles.
Exit code 77: skipped, with the reason, where the processor or the system cannot do either.
"""

import os
import re
import shutil
import subprocess
import sys

SKIPPED = 77
NATIVE = {"amx_tile", "amx_bf16"}
FOR_EMULATOR = {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16"}


def processor_flags():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        found = re.search(r"^flags\s*:(.*)$", file.read(), re.MULTILINE)
    return set(found.group(1).split()) if found else set()


def libraries_of(file):
    listed = subprocess.run(["ldd", file], capture_output=True, text=True, check=True).stdout
    return re.findall(r"=> (/\S+)", listed)


def cpuid_sites(library):
    """Addresses of the CPUID instructions, as hexadecimal numbers."""
    process = subprocess.Popen(["objdump", "-d", "--no-show-raw-insn", library], stdout=subprocess.PIPE, text=True)
    sites = [line.split(":")[0].strip() for line in process.stdout if line.rstrip().endswith("\tcpuid")]
    if process.wait() != 0 or not sites:
        sys.exit(f"amx_test: no CPUID found in {library}")
    return sites


def why_not_emulated(program, flags):
    missing = FOR_EMULATOR - flags
    if missing:
        return "the processor has neither AMX nor " + ", ".join(sorted(missing))
    if shutil.which("objdump") is None:
        return "the processor has no AMX, and objdump, which the emulator needs, is missing"
    if any("libasan" in library for library in libraries_of(program)):
        return "the processor has no AMX, and the emulator does not work beside the address sanitizer"
    return ""


def main():
    program, emulator, library = sys.argv[1:]
    flags = processor_flags()
    is_native = NATIVE <= flags
    environment = dict(os.environ)
    if not is_native:
        why_not = why_not_emulated(program, flags)
        if why_not:
            print(f"SKIPPED: {why_not}")
            sys.exit(SKIPPED)
        onednn = next((each for each in libraries_of(library) if "libdnnl" in each), None)
        if onednn is None:
            print("SKIPPED: oneDNN is linked statically, which the emulator does not take")
            sys.exit(SKIPPED)
        environment["LD_PRELOAD"] = f"{emulator} {onednn}"
        environment["AMX_EMULATOR_SITES"] = ",".join(cpuid_sites(onednn))
    run = subprocess.run([program], env=environment, capture_output=True, text=True, check=False)
    print(run.stdout + run.stderr, end="")
    if run.returncode != 0:
        sys.exit(f"amx_test: exit code {run.returncode}")
    multiplies = re.search(r"amx emulator: (\d+) tile multiplies", run.stderr)
    if not is_native and (multiplies is None or int(multiplies.group(1)) == 0):
        sys.exit("amx_test: no tile was multiplied")
    print("natively" if is_native else "under the emulator")


main()
