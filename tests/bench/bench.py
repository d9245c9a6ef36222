#!/usr/bin/env python3
"""Measures the whole process amp-rewrite against its goals and prints one table: bench.py --tool PATH [--runs N].

CPU seconds are user + system of the process, memory is its largest resident set, both as the kernel accounts them
(wait4). Every figure is the median of runs that go round-robin over all cases, so that a slow minute of the machine
touches all of them alike. Copying the same files with the same care (fsync) is measured in the same rounds.
Exits 1 when a goal is missed. Needs the Python packages of the tests for making the models; they are made once.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import sys
import time

import host
import made_models
import verdicts

GIB, MB = 2**30, 1e6
# This process imports nothing large and reads no model: a child starts with its parent's peak memory on its account.


class Run:
    def __init__(self, command, log):
        start = time.perf_counter()
        with open(log, "wb") as out:
            actions = [(os.POSIX_SPAWN_DUP2, out.fileno(), 1), (os.POSIX_SPAWN_DUP2, out.fileno(), 2)]
            pid = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
            _, status, usage = os.wait4(pid, 0)
        self.wall = time.perf_counter() - start
        self.cpu = usage.ru_utime + usage.ru_stime
        self.peak = usage.ru_maxrss * 1024
        code = os.waitstatus_to_exitcode(status)
        if code != 0:
            sys.exit(f"bench: error: {' '.join(command)} ended with {code}: {pathlib.Path(log).read_text()[-2000:]}")


class Copy:
    """Copies files to the folder of the results with the writes on disk, as a save must have them."""

    def __init__(self, files, folder):
        start, cpu = time.perf_counter(), time.process_time()
        for file in files:
            target = folder / ("copy_of_" + file.name)
            with open(file, "rb") as source, open(target, "wb") as out:
                while chunk := source.read(1 << 20):
                    out.write(chunk)
                out.flush()
                os.fsync(out.fileno())
            target.unlink()
        self.wall, self.cpu, self.peak = time.perf_counter() - start, time.process_time() - cpu, 0


def make_models(folder):
    kinds = {f"graph{n}": ["graph", str(n)] for n in (10_000, 50_000, 100_000)}
    kinds |= {
        "denied": ["denied", "100000"],
        "branches": ["branches", "20000"],
        "hubs": ["hubs", "50000"],
        "casts": ["casts", "100000"],
        "external": ["external"],
        "embedded": ["embedded"],
    }
    return {
        name: made_models.make_once(folder / f"{name}.onnx", "generate_models.py", arguments)
        for name, arguments in kinds.items()
    }


def measure(tool, models, folder, runs):
    results = folder / "results"
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir()

    def rewrite(name):
        policy = ["--policy", "mixed_float16"] if name == "hubs" else []  # which looks for the last Softmax too
        run = Run(
            [tool, str(models[name]), *policy, "--verify=off", "-o", str(results / f"{name}.onnx")], folder / "log.txt"
        )
        for file in results.iterdir():
            file.unlink()
        return run

    low = folder / "casts.low.onnx"
    Run([tool, str(models["casts"]), "--verify=off", "-o", str(low)], folder / "log.txt")

    def take_back():
        return Run([tool, str(low), "--policy", "float32", "-o", str(results / "back.onnx")], folder / "log.txt")

    external = [models["external"], models["external"].with_name("external.onnx.data")]
    cases = {name: lambda name=name: rewrite(name) for name in models}
    cases["copy"] = lambda: Copy(external, results)
    cases["back"] = take_back
    cases["version"] = lambda: Run([tool, "--version"], folder / "log.txt")
    taken = {name: [] for name in cases}
    for _ in range(runs):
        for name, case in cases.items():
            taken[name].append(case())

    def median(name, what):
        return statistics.median(getattr(run, what) for run in taken[name])

    return median


def rows(median, models):
    """(what, measured, goal, unit, larger is better)"""
    cpu = {n: median(f"graph{n}", "cpu") for n in (10_000, 50_000, 100_000)}
    embedded_size = models["embedded"].stat().st_size
    largest_tensor = 2048 * 2048 * 4
    yield "10,000 nodes, CPU", cpu[10_000], 0.2, "s", False
    yield "50,000 nodes, CPU", cpu[50_000], 1.0, "s", False
    yield "100,000 nodes, CPU", cpu[100_000], 2.0, "s", False
    yield "100,000 against 50,000 nodes, CPU", cpu[100_000] / cpu[50_000], 2.3, "x", False
    yield "100,000 denied nodes in one chain, CPU", median("denied", "cpu"), 2.0, "s", False
    yield "20,000 Ifs that read one value, CPU", median("branches", "cpu"), 3.0, "s", False
    yield "50,000 nodes around six hubs, CPU", median("hubs", "cpu"), 1.5, "s", False
    yield "100,000 nodes, 43,000 of them users' casts, CPU", median("casts", "cpu"), 2.5, "s", False
    yield "taking that back, CPU", median("back", "cpu"), 2.5, "s", False
    yield "1 GiB external data, CPU", median("external", "cpu"), 1.5, "s", False
    yield (
        "1 GiB external data, speed against copying",
        median("copy", "wall") / median("external", "wall"),
        0.7,
        "x",
        True,
    )
    yield (
        "1 GiB external data, peak memory",
        median("external", "peak") / MB,
        200 + 2.5 * largest_tensor / MB,
        "MB",
        False,
    )
    yield "1.5 GB embedded, peak memory against its size", median("embedded", "peak") / embedded_size, 2.2, "x", False
    yield "--version, wall", median("version", "wall") * 1000, 30, "ms", False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True, help="the amp-rewrite program")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/bench"), help="needs 5 GB")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    host.print_cpu()
    models = make_models(args.folder)
    median = measure(os.path.abspath(args.tool), models, args.folder, args.runs)
    missed = verdicts.print_verdicts(rows(median, models), f"medians of {args.runs} runs")
    copy = median("copy", "wall")
    print(f"copying the 1 GiB model with fsync: {copy:.2f} s, {GIB / copy / MB:.0f} MB/s")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
