"""The costs of running a model beside its arithmetic: memory of values, time of an instruction, time of loading."""

import json
import subprocess

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SHARE_GOAL, ARENA_GOAL = (
    0.6,
    1.05,
)  # bytes of values in 16 bits over those in float32; planned over what is alive at once
INSTRUCTION_GOAL_US, LOAD_GOAL_MS = 1, 500
NODES, MATRICES, WIDTH = 20_000, 4, 2500  # 100 MB of weights


def bench(program, model, *flags, runs=1):
    command = [program, model, "--bench", "--json", "--threads", "1", "--warmup", "1", "--iterations", runs, *flags]
    return json.loads(
        subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout
    )


def memory_goals(program, name, files, inputs):
    """(what, measured, goal, unit, larger is better) of a model's files by type."""
    taken = {dtype: bench(program, file, "--inputs", inputs, "--cast-inputs") for dtype, file in files.items()}
    for dtype, figures in taken.items():
        if dtype != "float32":
            yield (
                f"{name} {dtype}: bytes of values against float32",
                figures["activation_bytes"] / taken["float32"]["activation_bytes"],
                SHARE_GOAL,
                "x",
                False,
            )
        yield (
            f"{name} {dtype}: planned bytes against the largest live",
            figures["activation_bytes"] / figures["largest_live_bytes"],
            ARENA_GOAL,
            "x",
            False,
        )


def save(path, nodes, shape, weights=()):
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", "y")]
    nodes[-1].output[0] = "y"
    model = helper.make_model(
        helper.make_graph(nodes, "overhead", infos[:1], infos[1:], weights),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    onnx.save(model, path)
    return path


def save_chain(path):
    names = ["x"] + [f"v{i}" for i in range(NODES)]
    return save(path, [helper.make_node("Neg", [source], [target]) for source, target in zip(names, names[1:])], [1])


def save_weights(path):
    random, names = np.random.default_rng(7), ["x"] + [f"v{i}" for i in range(MATRICES)]
    weights = [
        numpy_helper.from_array(random.standard_normal((WIDTH, WIDTH), np.float32), f"w{i}") for i in range(MATRICES)
    ]
    return save(
        path,
        [helper.make_node("MatMul", [names[i], f"w{i}"], [names[i + 1]]) for i in range(MATRICES)],
        [1, WIDTH],
        weights,
    )


def plan_goals(program, folder, rounds):
    """Yields the goals of a chain of nodes and of a model of large weights.

    The nodes compute one element each, and run one by one.
    """
    chain = bench(program, save_chain(folder / "chain.onnx"), "--random-inputs", "--no-fuse", runs=max(rounds, 5))
    yield (
        "an instruction, its one element included",
        chain["median_ms"] / NODES * 1000,
        INSTRUCTION_GOAL_US,
        "us",
        False,
    )
    weights = save_weights(folder / "weights.onnx")
    loads = sorted(bench(program, weights, "--random-inputs")["load_ms"] for _ in range(max(rounds, 5)))
    yield "loading 100 MB of weights", loads[len(loads) // 2], LOAD_GOAL_MS, "ms", False
