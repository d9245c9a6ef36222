#!/usr/bin/env python3
"""Judges norms between the model's own casts, as autocast exports them, below opset 17.

  own_casts.py --tool build/tests/rewrite_batch

onnxruntime's default session loads the original, and so it has to load the result.
From opset 17 on, onnxruntime fuses such a cast and such a norm to a LayerNormalization of two types, and refuses the
model. A lift therefore replaces the norm. Where a rule keeps the norm as it is, nothing is lifted for another norm,
and a lift that the user asks for comes with a warning.
"""

import argparse
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

from judge.tool import Tool

FEEDS = {"x": np.random.default_rng(3).normal(0, 1, (1, 6, 8)).astype(np.float32)}
LAYER_NORM = "LayerNormalization"


def norm(name, x, y, square="Pow"):
    squared = f"Pow({name}_c, two)" if square == "Pow" else f"Mul({name}_c, {name}_c)"
    return (
        f"[{name}_mean] {name}_m = ReduceMean<axes = [-1]>({x}) [{name}_sub] {name}_c = Sub({x}, {name}_m) "
        f"[{name}_pow] {name}_q = {squared} "
        f"[{name}_var] {name}_v = ReduceMean<axes = [-1]>({name}_q) [{name}_eps] {name}_e = Add({name}_v, eps) "
        f"[{name}_sqrt] {name}_s = Sqrt({name}_e) "
        f"[{name}_div] {name}_n = Div({name}_c, {name}_s) [{name}_gamma] {name}_g = Mul({name}_n, gamma) "
        f"[{name}_beta] {y} = Add({name}_g, beta) "
    )


def model(opset, own, lifting=True):
    """Makes a model with one or two norms.

    `lifting`: there is a norm in front, for which the rewrite lifts. `own`: the last norm lies between the model's own
    casts; otherwise it is in float32.
    """
    random = np.random.default_rng(1)
    first = norm("l0", "p", "q") if lifting else "q = Identity(p) "
    second = (
        "[c0] qh = Cast<to = 10>(q) [fc1] a = MatMul(qh, wh) [up] af = Cast<to = 1>(a) "
        + norm("l1", "af", "nb")
        + "[down] nh = Cast<to = 10>(nb) [fc2] yh = MatMul(nh, wh) [up2] y0 = Cast<to = 1>(yh) "
    )
    plain = "[fc1] af = MatMul(q, w) " + norm("l1", "af", "nb") + "[fc2] y0 = MatMul(nb, w) "
    body = f"[fc0] p = MatMul(x, w) {first}{second if own else plain}[head] y = MatMul(y0, w)"
    made = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : {opset}]> g (float[1,6,8] x) => (float[1,6,8] y) {{ {body} }}'
    )
    weights = {
        "w": random.normal(0, 0.4, (8, 8)).astype(np.float32),
        "two": np.float32(2),
        "eps": np.float32(1e-5),
        "gamma": random.uniform(0.7, 1.2, 8).astype(np.float32),
        "beta": random.uniform(-1, 1, 8).astype(np.float32),
    }
    if own:
        weights["wh"] = random.normal(0, 0.4, (8, 8)).astype(np.float16)
    made.graph.initializer.extend(numpy_helper.from_array(np.asarray(a), name) for name, a in weights.items())
    onnx.checker.check_model(made, full_check=True)
    return made


def run(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return (
        onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        .run(None, FEEDS)[0]
        .astype(np.float64)
    )


# (title, opset, own casts, a norm to lift for, flags, opset of the result, LayerNormalizations in it, words of a
# warning)
CASES = [
    ("both are replaced", 14, True, True, [], 17, 2, ""),
    ("without its own casts nothing else happens than before", 14, False, True, [], 17, 2, ""),
    ("a rule keeps the second: nothing is lifted", 14, True, True, ["--deny-node", "l1_div"], 14, 0, ""),
    ("the user lifts", 14, True, True, ["--opset", "17"], 17, 2, ""),
    ("the user lifts, and there is no other norm", 14, True, False, ["--opset", "17"], 17, 1, ""),
    ("norms stay written out: nothing is lifted", 14, True, True, ["--keep-decomposed"], 14, 0, ""),
    (
        "norms stay written out and the user lifts: a warning",
        14,
        True,
        True,
        ["--keep-decomposed", "--opset", "17"],
        17,
        0,
        "ONNX Runtime",
    ),
    (
        "a rule keeps the second and the user lifts: a warning",
        14,
        True,
        True,
        ["--deny-node", "l1_div", "--opset", "17"],
        17,
        1,
        "ONNX Runtime",
    ),
]


def faults(tool, folder, case, dtype):
    what, opset, own, lifting, flags, wanted_opset, wanted_norms, warning = case
    path, out, again, back = (folder / f"{name}.onnx" for name in ("in", "out", "again", "back"))
    onnx.save(model(opset, own, lifting), path)
    answer = tool.run([path, "-o", out, "--dtype", dtype, "-v", *flags])
    if answer.exit:
        yield f"exit {answer.exit}: {answer.first_error()}"
        return
    result = onnx.load(out)
    onnx.checker.check_model(result, full_check=True)
    norms = [n.op_type for n in result.graph.node].count(LAYER_NORM)
    lifted = result.opset_import[0].version
    if norms != wanted_norms:
        yield f"{norms} {LAYER_NORM}s, expected {wanted_norms}"
    if lifted != wanted_opset:
        yield f"opset {lifted}, expected {wanted_opset}"
    if (warning or "ONNX Runtime's default") not in answer.stdout + answer.stderr and warning:
        yield f"no warning: {answer.stderr}"
    if not warning and "default optimisations fuse" in answer.stdout + answer.stderr:
        yield f"a warning: {answer.stderr}"
    for name, arguments in (
        ("a second run", [out, "-o", again, "--dtype", dtype, *flags]),
        ("taking it back", [out, "-o", back, "--policy", "float32"]),
    ):
        second = tool.run(arguments)
        if second.exit:
            yield f"{name}: exit {second.exit}: {second.first_error()}"
    if again.read_bytes() != out.read_bytes():
        yield "a second run changes the file"
    loads = [back] if warning == "" else []
    if dtype == "float16" and not warning:  # onnxruntime has no bfloat16 kernels on processors
        loads.append(out)
    for made in loads:
        try:
            got, wanted = run(made), run(path).astype(np.float64)
            error = np.linalg.norm(got - wanted) / np.linalg.norm(wanted)
            if error > 0.02:
                yield f"{made.name}: off by {error:.2g}"
        except Exception as error:
            yield f"{made.name}: {str(error).splitlines()[0][:300]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    arguments = parser.parse_args()
    failed = count = 0
    with tempfile.TemporaryDirectory() as folder, Tool(arguments.tool) as tool:
        for case in CASES:
            for dtype in ("float16", "bfloat16"):
                if dtype == "bfloat16" and case[5] == 14:
                    continue  # bfloat16 is lifted for other reasons
                count += 1
                found = list(faults(tool, pathlib.Path(folder), case, dtype))
                failed += bool(found)
                for sentence in found:
                    print(f"FAIL {case[0]} ({dtype}): {sentence}", flush=True)
    print(f"{count - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
