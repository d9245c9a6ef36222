#!/usr/bin/env python3
"""Runs a model in another runtime, as many times as each line of standard input says.

    engine.py onnxruntime|openvino-f32|openvino-bf16 MODEL.onnx INPUTS.npz WARMUP

The script talks as `amp-run --bench=stdin` does. It loads the model, warms it up with WARMUP runs, and prints "ready",
with a note behind it where the runtime computes in another type than the one asked for. Then it reads lines. Each line
is a number of runs; the answer is the mean milliseconds of one run, by the clock and of the process. The runtime has
one thread and all optimisations. Inputs are cast to the types that the model declares. Results stay where the runtime
has them.
"""

import sys
import time

import numpy as np


def load_onnxruntime(path, _):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    numpy_names = {"float": "float32", "double": "float64"}
    types = {value.name: value.type[len("tensor(") : -1] for value in session.get_inputs()}
    types = {name: numpy_names.get(type_name, type_name) for name, type_name in types.items()}
    outputs = [value.name for value in session.get_outputs()]
    convert = onnxruntime.OrtValue.ortvalue_from_numpy
    return convert, (lambda feeds: session.run_with_ort_values(outputs, feeds)), types, ""


def load_openvino(path, precision):
    import openvino

    options = {
        "INFERENCE_NUM_THREADS": 1,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": precision,
    }
    compiled = openvino.Core().compile_model(path, "CPU", options)
    request = compiled.create_infer_request()
    types = {name: numpy_type(value.element_type) for value in compiled.inputs for name in value.get_names()}
    used = compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
    return np.asarray, request.infer, types, "" if used == precision else f"computes in {used}"


def numpy_type(openvino_type):
    import ml_dtypes

    return ml_dtypes.bfloat16 if openvino_type.get_type_name() == "bf16" else openvino_type.to_dtype()


def mean_run_time(run, feeds, count):
    start, cpu_start = time.perf_counter(), time.process_time()
    for _ in range(count):
        run(feeds)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    return wall * 1000 / count, cpu * 1000 / count


def main():
    kind, model, inputs, warmup = sys.argv[1:]
    name, _, precision = kind.partition("-")
    convert, run, types, note = {"onnxruntime": load_onnxruntime, "openvino": load_openvino}[name](model, precision)
    arrays = np.load(inputs)
    feeds = {key: convert(arrays[key].astype(types[key])) for key in arrays.files if key in types}
    mean_run_time(run, feeds, max(1, int(warmup)))
    print("ready", note, flush=True)
    for line in sys.stdin:
        print(*mean_run_time(run, feeds, int(line)), flush=True)


if __name__ == "__main__":
    main()
