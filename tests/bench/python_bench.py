"""Measures what the Python package costs beside the C++ run and ONNX Runtime: calls, threads, importing, rewriting.

PYTHONPATH=tools/python AMP_REWRITE_LIBRARY=build/lib/libamp_c.so python tests/bench/python_bench.py --tools build/tools

Calls are of a model of one Relu over 16 elements, in turns with ONNX Runtime, medians of 15 rounds. Rewriting is in
processor time, the least of five, without verifying. --model: of another model than a made-up one of 20,000 nodes.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings

import amp_rewrite as amp
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper


def relu():
    values = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n"]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", values[:1], values[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def chain(nodes):
    """A model of so many nodes: products, activations and sums in turns."""
    made, last = [], "x"
    for i in range(nodes // 4):
        made += [
            helper.make_node("MatMul", [last, "w"], [f"a{i}"], name=f"m{i}"),
            helper.make_node("Relu", [f"a{i}"], [f"b{i}"], name=f"r{i}"),
            helper.make_node("Add", [f"b{i}", last], [f"c{i}"], name=f"s{i}"),
            helper.make_node("Sigmoid", [f"c{i}"], [f"d{i}"], name=f"t{i}"),
        ]
        last = f"d{i}"
    weight = numpy_helper.from_array(np.eye(8, dtype="float32"), "w")
    values = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", 8]) for name in ("x", last)]
    graph = helper.make_graph(made, "g", values[:1], values[1:], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def us_of(call, count=3000):
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count * 1e6


def calls():
    model, feeds = relu(), {"x": np.zeros(16, "float32")}
    session = amp.Session(model, threads=1)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    other = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    ours, theirs = [], []
    for _ in range(15):
        ours.append(us_of(lambda: session.run(None, feeds)))
        theirs.append(us_of(lambda: other.run(None, feeds)))
    ratio = statistics.median(a / b for a, b in zip(ours, theirs))
    print(
        f"a call: {statistics.median(ours):.1f} us; ONNX Runtime {statistics.median(theirs):.1f} us; ratio {ratio:.2f}"
    )


def threads():
    session = amp.Session(amp.new_model("mlp", [512, 512, 512]), threads=1)
    feeds = {"x": np.zeros((512, 512), "float32")}

    def loop():
        for _ in range(40):
            session.run(None, feeds)

    ratios = []
    for _ in range(5):
        start = time.perf_counter()
        loop()
        one = time.perf_counter() - start
        workers = [threading.Thread(target=loop) for _ in range(2)]
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        ratios.append(2 * one / (time.perf_counter() - start))
    print(f"two threads on one session: {statistics.median(ratios):.2f} times as many runs a second as one")


def importing():
    code = "import time; t = time.perf_counter(); import amp_rewrite; print(1000 * (time.perf_counter() - t))"
    took = [float(subprocess.run([sys.executable, "-c", code], capture_output=True).stdout) for _ in range(11)]
    print(f"import amp_rewrite: {statistics.median(took):.0f} ms")


REWRITE = """
import resource, sys, amp_rewrite as amp
from amp_rewrite import _library
_library.context()
before = resource.getrusage(resource.RUSAGE_SELF)
amp.rewrite_file(sys.argv[1], sys.argv[2], verify=False)
after = resource.getrusage(resource.RUSAGE_SELF)
print(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, after.ru_maxrss)
"""


# A process that was started has its parent's memory as its own peak: so a small one starts both.
STARTER = """
import os, subprocess, sys
started = subprocess.Popen(sys.argv[1:])
_, _, used = os.wait4(started.pid, 0)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
"""


def numbers_of(*arguments):
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
    return tuple(map(float, done.stdout.splitlines()[-1].split()[:3]))


def rewriting(tools, model):
    with tempfile.TemporaryDirectory() as folder:
        out = str(pathlib.Path(folder) / "out.onnx")
        program, package = [], []
        for _ in range(5):
            command = [str(tools / "amp-rewrite"), model, "-o", out, "--verify=off", "--quiet"]
            program.append(numbers_of("-c", STARTER, *command))
            package.append(numbers_of("-c", STARTER, sys.executable, "-c", REWRITE, model, out))
        (of_program, memory), (of_package, whole) = min(p[:2] for p in program), min(p[:2] for p in package)
        _, bare = numbers_of("-c", STARTER, sys.executable, "-c", "pass")
        print(
            f"rewriting {pathlib.Path(model).name}: {of_package:.3f} s of processor time, {whole / 1024:.0f} MB, "
            f"{(whole - bare) / 1024:.0f} MB above a bare Python; the program {of_program:.3f} s, "
            f"{memory / 1024:.0f} MB"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--model")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", amp.AmpWarning)
    calls()
    threads()
    importing()
    with tempfile.TemporaryDirectory() as folder:
        made = str(pathlib.Path(folder) / "chain.onnx")
        onnx.save(chain(20000), made)
        rewriting(arguments.tools, arguments.model or made)


if __name__ == "__main__":
    main()
