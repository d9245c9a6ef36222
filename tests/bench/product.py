"""One product of two matrices, 2048 x 2048 each, where only arithmetic counts: GFLOP/s in float32 and bfloat16."""

import engines
import numpy as np
import onnx
from engines import Engine
from onnx import TensorProto, helper, numpy_helper

NAME, SIZE = "product_2048", 2048
AMX_GOAL = 8  # times as fast in bfloat16 as in float32
TYPES = {"float32": TensorProto.FLOAT, "bfloat16": TensorProto.BFLOAT16}


def save(path, dtype):
    """y = x w, of a constant w, all of the type."""
    factors = np.random.default_rng(7).standard_normal((SIZE, SIZE), np.float32)
    if dtype == "float32":
        weight = numpy_helper.from_array(factors, "w")
    else:
        weight = helper.make_tensor(
            "w", TYPES[dtype], [SIZE, SIZE], (factors.view(np.uint32) >> 16).astype(np.uint16).tobytes(), raw=True
        )
    infos = [helper.make_tensor_value_info(name, TYPES[dtype], [SIZE, SIZE]) for name in ("x", "y")]
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "product", infos[:1], infos[1:], [weight]
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def measure(program, folder, rounds):
    taken = []
    for dtype in TYPES:
        model = save(folder / f"{NAME}.{dtype}.onnx", dtype)
        taken.append(
            Engine(
                "amp-run", dtype, [program, model, "--random-inputs", "--bench=stdin", "--warmup", engines.WARMUP_RUNS]
            )
        )
    engines.measure(taken, rounds)
    return taken


def gflops(milliseconds):
    return 2 * SIZE**3 / milliseconds / 1e6


def line(engine):
    head = f"{NAME:15} {engine.name:14} {engine.dtype:9}"
    return (
        f"{head} does not run: {engine.problem}"
        if engine.problem
        else f"{head} {engine.times()}   {gflops(engine.median):.4g} GFLOP/s"
    )


def goals(taken, has_amx):
    """(what, measured, goal, unit, larger is better): without AMX none."""
    if has_amx and not any(engine.problem for engine in taken):
        single, low = taken
        yield f"{NAME} bfloat16: against our float32", engines.speed(low, single), AMX_GOAL, "x", True
