"""Checks what the benchmarks say of the machine that they run on: host_test.py"""

import host

CPUINFO = "processor\t: 0\nmodel name\t: A Processor 9000\nflags\t\t: fpu {flags} lahf_lm\n"
AVX2 = "avx2 fma f16c"
AVX512 = f"{AVX2} avx512f avx512bw avx512dq avx512vl"


def flags_of(text):
    return host.cpu_facts(CPUINFO.format(flags=text))[1]


def main():
    assert host.cpu_facts(CPUINFO.format(flags=f"sse2 {AVX512}")) == ("A Processor 9000", sorted(AVX512.split()))
    assert host.cpu_facts("") == ("unknown processor", [])
    for flags, expected in (
        ("sse2", "none"),
        (AVX2, "avx2"),
        (AVX512, "avx512"),
        (f"{AVX512} avx512_bf16", "avx512_bf16"),
        (f"{AVX512} avx512_bf16 amx_tile", "avx512_bf16"),
        (f"{AVX512} amx_tile amx_bf16", "amx"),
    ):
        assert host.class_of(flags_of(flags)) == expected, flags
    readme = "fast (ISA class `avx512`; 2026), class `avx2`"
    assert (
        host.class_note(flags_of(AVX512), readme)
        == "instruction sets of class avx512: README.md has a record of that class"
    )
    assert (
        host.class_note(flags_of(AVX2), readme)
        == "instruction sets of class avx2: README.md has no record of that class"
    )
    recorded = host.recorded_classes(host.README.read_text())
    assert recorded and recorded <= {name for name, _ in host.CLASSES}, f"README.md has records of {recorded}"


main()
