"""Measures what --sensitivity takes beside a run: time of the pass in lock step and of the derivatives, peak memory.

PYTHONPATH=tools/python AMP_REWRITE_LIBRARY=build/lib/libamp_c.so python tests/bench/sensitivity_bench.py build/tools

The model has 1,250 layers of four nodes and 328 MB of weights. Runs are of one thread; peaks are of whole processes.
"""

import pathlib
import statistics
import sys
import tempfile
import time

import amp_rewrite as amp
import numpy as np
import onnx
from onnx import helper, numpy_helper
from python_bench import STARTER, numbers_of

LAYERS, WIDTH, ROWS = 1250, 256, 32


def layers(random):
    weights, nodes, last = [numpy_helper.from_array(np.ones(WIDTH, "float32"), "scale")], [], "x"
    for i in range(LAYERS):
        matrix = random.standard_normal((WIDTH, WIDTH), "float32") / np.float32(WIDTH)
        weights.append(numpy_helper.from_array(matrix, f"w{i}"))
        nodes += [
            helper.make_node("MatMul", [last, f"w{i}"], [f"a{i}"], name=f"product{i}"),
            helper.make_node("Tanh", [f"a{i}"], [f"b{i}"], name=f"tanh{i}"),
            helper.make_node("Add", [f"b{i}", last], [f"c{i}"], name=f"sum{i}"),
            helper.make_node("LayerNormalization", [f"c{i}", "scale"], [f"d{i}"], name=f"norm{i}"),
        ]
        last = f"d{i}"
    values = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [ROWS, WIDTH]) for name in ("x", last)]
    graph = helper.make_graph(nodes, "layers", values[:1], values[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def peak_mb(*command):
    return numbers_of("-c", STARTER, *map(str, command))[1] / 1024


def run_time(path, sample):
    session = amp.Session(str(path), threads=1)
    times = []
    for _ in range(7):
        start = time.perf_counter()
        session.run(None, sample)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def pass_times(path, sample):
    """Seconds of the derivatives, with making their model, and of one pass in lock step."""
    events = []

    def note(step, done, total):
        if step != "write":
            events.append((step, time.perf_counter()))

    amp.sensitivity(str(path), [sample, sample], progress=note)
    first = [step for step, _ in events].index("lock step")
    return events[first][1] - events[first - 1][1], events[first + 1][1] - events[first][1]


def main():
    tools = pathlib.Path(sys.argv[1])
    random = np.random.default_rng(1)
    sample = {"x": random.standard_normal((ROWS, WIDTH), "float32")}
    with tempfile.TemporaryDirectory() as folder:
        path, samples = pathlib.Path(folder) / "layers.onnx", pathlib.Path(folder) / "samples.npz"
        onnx.save(layers(random), path)
        np.savez(samples, **sample)
        run = run_time(path, sample)
        derivatives, in_step = pass_times(path, sample)
        rewrite = [tools / "amp-rewrite", path, "--verify=off", "--calibration", samples]
        peaks = {
            "a run": peak_mb(tools / "amp-run", path, "--inputs", samples),
            "rewriting with a calibration": peak_mb(*rewrite, "--dry-run"),
            "--sensitivity": peak_mb(*rewrite, "--sensitivity"),
        }
    print(f"a run {run:.2f} s; the pass in lock step {in_step / run:.1f} x; derivatives {derivatives / run:.1f} x")
    for what, peak in peaks.items():
        print(f"{what}: {peak:.0f} MB, {peak / peaks['rewriting with a calibration']:.2f} x")


if __name__ == "__main__":
    main()
