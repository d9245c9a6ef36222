"""The cases of adapters.py for versions before opset 8, which no runtime of today runs.

The values that a case has to give are computed here with numpy, from what ONNX's text of that version says.
"""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from judge.rewrite.adapter_cases import KERNEL, Case, F, f32, graph_model, info, one

SUM = 1e-5  # runtimes sum in another order than numpy


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def consumed_inputs():
    x = f32(2, 3)
    positive = np.abs(x) + 0.5
    unary = {
        "Abs": np.abs,
        "Ceil": np.ceil,
        "Exp": np.exp,
        "Floor": np.floor,
        "Log": np.log,
        "Neg": np.negative,
        "Reciprocal": np.reciprocal,
        "Relu": lambda v: np.maximum(v, 0),
        "Sigmoid": sigmoid,
        "Sqrt": np.sqrt,
        "Tanh": np.tanh,
        "Elu": lambda v: np.where(v < 0, np.exp(v) - 1, v),
        "HardSigmoid": lambda v: np.clip(0.2 * v + 0.5, 0, 1),
        "LeakyRelu": lambda v: np.where(v < 0, np.float32(0.01) * v, v),
        "Clip": lambda v: v,
        "Selu": lambda v: np.where(v > 0, 1.0507 * v, 1.0507 * (1.6732 * np.exp(v) - 1.6732)),
    }
    for op, function in unary.items():
        data = positive if op in ("Log", "Sqrt") else x
        wanted = [function(data.astype(np.float64)).astype(np.float32)]
        for opset in (1, 5):
            yield one("plain", op, opset, [data], wanted=wanted, tolerance=KERNEL)
            yield one("hint", op, opset, [data], wanted=wanted, tolerance=KERNEL, consumed_inputs=[0])
    yield one(
        "attributes",
        "Selu",
        1,
        [x],
        alpha=2.0,
        gamma=3.0,
        consumed_inputs=[1],
        tolerance=KERNEL,
        wanted=[np.where(x > 0, 3 * x, 3 * (2 * np.exp(x) - 2)).astype(np.float32)],
    )
    yield one(
        "attributes",
        "Elu",
        1,
        [x],
        alpha=2.0,
        consumed_inputs=[1],
        tolerance=KERNEL,
        wanted=[np.where(x < 0, 2 * (np.exp(x) - 1), x).astype(np.float32)],
    )
    for bounds in ({"min": -0.5}, {"max": 0.5}, {"min": -0.5, "max": 0.25}):
        yield one(
            f"{bounds}",
            "Clip",
            1,
            [x],
            consumed_inputs=[0],
            **bounds,
            wanted=[np.clip(x, bounds.get("min", -np.inf), bounds.get("max", np.inf)).astype(np.float32)],
        )
    three = [f32(2, 3) for _ in range(3)]
    for op, function in (("Max", np.max), ("Min", np.min), ("Sum", np.sum), ("Mean", np.mean)):
        wanted = [function(np.stack(three), axis=0).astype(np.float32)]
        for hint in ({}, {"consumed_inputs": [1, 0, 0]}):
            yield one(f"three {hint}", op, 1, three, wanted=wanted, tolerance=KERNEL, **hint)
    x4 = f32(2, 3, 4, 5)
    mean, var = x4.mean((2, 3), keepdims=True), x4.var((2, 3), keepdims=True)
    scale, shift = f32(3), f32(3)
    per_channel = (1, 3, 1, 1)
    wanted = [
        ((x4 - mean) / np.sqrt(var + 1e-5) * scale.reshape(per_channel) + shift.reshape(per_channel)).astype(np.float32)
    ]
    yield one(
        "hint", "InstanceNormalization", 1, [x4, scale, shift], wanted=wanted, tolerance=SUM, consumed_inputs=[1, 0, 0]
    )
    for opset in (1, 6):
        hint = {"consumed_inputs": [1]} if opset == 1 else {}
        yield one("test mode", "Dropout", opset, [x4], wanted=[x4], is_test=1, ratio=0.3, **hint)
        yield one("training mode", "Dropout", opset, [x4], wanted=[x4], reach=6, why="training form", **hint)


def normalizations():
    x, scale, shift, mean, var = f32(2, 3, 4, 5), f32(3), f32(3), f32(3), np.abs(f32(3)) + 0.2
    inputs = [x, scale, shift, mean, var]

    def normalized(m, v):
        c = (1, 3, 1, 1)
        return ((x - m.reshape(c)) / np.sqrt(v.reshape(c) + 1e-5) * scale.reshape(c) + shift.reshape(c)).astype(
            np.float32
        )

    batch_mean, batch_var = x.mean((0, 2, 3)), x.var((0, 2, 3))
    trained = [normalized(batch_mean, batch_var)] + [
        (old * 0.9 + new * 0.1).astype(np.float32) for old, new in ((mean, batch_mean), (var, batch_var))
    ]
    for opset in (1, 6):
        hint = {"consumed_inputs": [0, 0, 0, 1, 1]} if opset == 1 else {}
        for constants in ((), (1, 2, 3, 4)):
            yield one(
                "test mode",
                "BatchNormalization",
                opset,
                inputs,
                wanted=[normalized(mean, var)],
                is_test=1,
                constants=constants,
                tolerance=SUM,
                **hint,
            )
        yield one(
            "test mode, unread statistics",
            "BatchNormalization",
            opset,
            inputs,
            wanted=[normalized(mean, var)],
            is_test=1,
            outputs=5,
            unread=(1, 2, 3, 4),
            tolerance=SUM,
            **hint,
        )
        yield one(
            "test mode, statistics",
            "BatchNormalization",
            opset,
            inputs,
            wanted=trained + trained[1:],
            is_test=1,
            outputs=5,
            reach=6,
            why="does not train",
            **hint,
        )
        yield one(
            "training",
            "BatchNormalization",
            opset,
            inputs,
            wanted=trained,
            outputs=5,
            unread=(3, 4),
            tolerance=SUM,
            is_test=0,
            **hint,
        )
        yield one(
            "training or not",
            "BatchNormalization",
            opset,
            inputs,
            wanted=trained[:1],
            reach=6,
            why="two readings",
            **hint,
        )


def along(a, b, axis):
    """Spreads `b` to the shape of `a`: its dimensions are those of `a` from `axis` on."""
    wide = np.empty(a.shape, b.dtype)
    for index in np.ndindex(a.shape):
        wide[index] = b[index[axis : axis + b.ndim]]
    return wide


OPERATORS = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.divide,
    "Pow": np.power,
    "And": np.logical_and,
    "Or": np.logical_or,
    "Xor": np.logical_xor,
    "Equal": np.equal,
    "Greater": np.greater,
    "Less": np.less,
}


SUFFIXES = (), (1,), (1, 1), (2, 3, 4), (3, 4), (4,)
PLACES = (
    ((), 1),
    ((1,), 0),
    ((4,), 2),
    ((2, 3), 0),
    ((3, 4), 1),
    ((2, 3, 4), 0),
    ((4,), -1),
    ((3,), -2),
    ((2,), 0),
    ((3,), 1),
)


def operands(op, *shapes):
    return [np.asarray(v) for v in values(op, shapes)]


def values(op, shapes):
    if op in ("And", "Or", "Xor"):
        return [f32(*s) > 0 for s in shapes]
    if op == "Equal":
        return [(f32(*s) * 2).astype(np.int32) for s in shapes]
    return [np.abs(f32(*s)) + 0.5 for s in shapes]


def broadcasts():
    for op, function in OPERATORS.items():
        for opset in (1, 6):
            a, b = operands(op, (2, 3, 4), (2, 3, 4))
            hint = {"consumed_inputs": [0, 1]} if opset == 1 and op in ("Add", "Sub", "Mul", "Div") else {}
            yield one("equal shapes", op, opset, [a, b], wanted=[function(a, b)], tolerance=KERNEL, **hint)
            yield one(
                "axis that is not used", op, opset, [a, b], wanted=[function(a, b)], tolerance=KERNEL, axis=1, **hint
            )
            for shape in SUFFIXES if op == "Add" else SUFFIXES[-2:]:
                a, b = operands(op, (2, 3, 4), shape)
                yield one(
                    f"suffix {shape}", op, opset, [a, b], wanted=[function(a, b)], tolerance=KERNEL, broadcast=1, **hint
                )
            for shape, axis in PLACES if op == "Add" else PLACES[-2:]:
                a, b = operands(op, (2, 3, 4), shape)
                wanted = [function(a, b if b.size == 1 else along(a, b, axis % 3))]
                for constants in ((), (1,)) if op == "Add" else ((1,),):
                    yield one(
                        f"{shape} from {axis}",
                        op,
                        opset,
                        [a, b],
                        wanted=wanted,
                        tolerance=KERNEL,
                        broadcast=1,
                        axis=axis,
                        constants=constants,
                        **hint,
                    )
            a, b = operands(op, (0, 3, 4), (3,))
            yield one(
                "no elements", op, opset, [a, b], wanted=[function(a, along(a, b, 1))], broadcast=1, axis=1, **hint
            )
            a, b = operands(op, (2, 3, 4), (3,))
            yield one(
                "symbolic",
                op,
                opset,
                [a, b],
                wanted=[function(a, along(a, b, 1))],
                tolerance=KERNEL,
                broadcast=1,
                axis=1,
                shapes="symbolic",
                **hint,
            )
            yield one(
                "axis out of range",
                op,
                opset,
                [a, b],
                wanted=[function(a, b.max())],
                broadcast=1,
                axis=3,
                reach=6,
                why="axis refers to",
                **hint,
            )
    yield from unknown_rank()
    for opset in (1, 6):
        a, b = f32(2, 3), f32(3, 4)
        for shape, broadcast in (((2, 4), 0), ((2, 4), 1), ((4,), 1), ((1, 4), 1), ((1,), 1)):
            c = f32(*shape)
            yield one(
                f"{shape} broadcast {broadcast}",
                "Gemm",
                opset,
                [a, b, c],
                broadcast=broadcast,
                alpha=0.5,
                beta=2.0,
                wanted=[(0.5 * (a @ b) + 2 * c).astype(np.float32)],
                tolerance=SUM,
            )
    x = f32(2, 3, 4, 5)
    for opset in (1, 6):
        for data, slope, wide in (
            (x, f32(3), (1, 3, 1, 1)),
            (x, f32(1), (1, 1, 1, 1)),
            (f32(2, 3), f32(3), (1, 3)),
            (x, f32(2, 3, 4, 5), (2, 3, 4, 5)),
            (f32(2, 3, 3), f32(3), (1, 3, 1)),
        ):
            wanted = [np.where(data < 0, slope.reshape(wide) * data, data)]
            for constants in ((), (1,)):
                hint = {"consumed_inputs": [0, 0]} if opset == 1 else {}
                yield one(
                    f"slope {slope.shape} of {data.shape}",
                    "PRelu",
                    opset,
                    [data, slope],
                    wanted=wanted,
                    constants=constants,
                    **hint,
                )


def unknown_rank():
    """Makes an operand whose rank no inference knows, so that nothing can tell what axis means."""
    nodes = [
        helper.make_node("Reshape", ["a", "shape"], ["u"]),
        helper.make_node("Add", ["u", "b"], ["y"], broadcast=1, axis=1),
        helper.make_node("PRelu", ["u", "b"], ["z"]),
    ]
    for kept, reach, why in ((0, 6, "axis refers to"), (1, 6, "slope is per channel")):
        graph = helper.make_graph(
            [nodes[0], nodes[1 + kept]],
            "g",
            [info("a", F, [6]), info("shape", TensorProto.INT64, ["n"]), info("b", F, [3])],
            [info("yz"[kept], F, ["p", "q"])],
        )
        yield Case(
            f"unknown rank {nodes[1 + kept].op_type}",
            nodes[1 + kept].op_type,
            graph_model(graph, 6),
            {},
            reach=reach,
            why=why,
        )


def forms():
    x = f32(2, 3, 4)
    for name, kind in (("INT32", np.int32), ("FLOAT16", np.float16), ("DOUBLE", np.float64), ("BOOL", np.bool_)):
        yield one(f"to {name}", "Cast", 1, [x], to=name, wanted=[x.astype(kind)])
    yield one("to nothing", "Cast", 1, [x], to="float", wanted=[x], reach=5, why="names no type")
    pair = [f32(2, 3), f32(2, 4)]
    yield one("default axis", "Concat", 1, pair, wanted=[np.concatenate(pair, 1)])
    yield one("axis 0", "Concat", 1, [x, x], axis=0, wanted=[np.concatenate([x, x], 0)])
    for shape in ([0, -1], [2, 12], [4, 0, 2], [-1]):
        new = [x.shape[i] if n == 0 else n for i, n in enumerate(shape)]
        yield one(f"shape {shape}", "Reshape", 1, [x], shape=shape, wanted=[x.reshape(new)], consumed_inputs=[0])
    yield one("no shape", "Reshape", 1, [x], wanted=[x], reach=4, why="no attribute shape")
    for mode, numpy_mode in (("constant", "constant"), ("edge", "edge"), ("reflect", "reflect")):
        extra = {"constant_values": 1.5} if mode == "constant" else {}
        yield one(
            mode,
            "Pad",
            1,
            [x],
            mode=mode,
            paddings=[0, 1, 2, 1, 0, 1],
            value=1.5,
            wanted=[np.pad(x, ((0, 1), (1, 0), (2, 1)), mode=numpy_mode, **extra)],
        )
    yield one("default", "Pad", 1, [x], paddings=[0, 0, 1, 0, 0, 0], wanted=[np.pad(x, ((0, 0), (0, 0), (1, 0)))])
    tiles = np.array([3], np.float32)
    for axis in (0, 2):
        wanted = [np.concatenate([x] * 3, axis)]
        yield one(f"axis {axis}", "Tile", 1, [x, tiles, np.array([axis], np.float32)], constants=(1, 2), wanted=wanted)
    yield one(
        "run-time tiles",
        "Tile",
        1,
        [x, tiles, np.array([0], np.float32)],
        wanted=[np.concatenate([x] * 3)],
        reach=5,
        why="no constants",
    )
    data = f32(3, 6)
    halves = [data[:, :2], data[:, 2:]]
    yield one("attribute", "Split", 1, [data], outputs=2, axis=1, split=[2, 4], wanted=halves)
    yield one(
        "input", "Split", 1, [data, np.array([2, 4], np.float32)], constants=(1,), outputs=2, axis=1, wanted=halves
    )
    yield one("equal parts", "Split", 1, [data], outputs=2, axis=1, wanted=[data[:, :3], data[:, 3:]])
    yield one(
        "run-time lengths",
        "Split",
        1,
        [data, np.array([2, 4], np.float32)],
        outputs=2,
        axis=1,
        wanted=halves,
        reach=1,
        why="no constants",
    )
    yield one("no axis", "Split", 1, [data], outputs=2, split=[2, 4], wanted=halves, reach=1, why="no attribute axis")
    image = np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4)
    yield one(
        "nearest",
        "Upsample",
        1,
        [image],
        height_scale=2.0,
        width_scale=3.0,
        wanted=[image.repeat(2, axis=2).repeat(3, axis=3)],
    )

    def twice(row):  # pixels counted from the corner
        return np.interp(np.arange(2 * len(row)) / 2, np.arange(len(row)), row)

    wide = np.apply_along_axis(twice, 3, np.apply_along_axis(twice, 2, image)).astype(np.float32)
    yield one(
        "bilinear",
        "Upsample",
        1,
        [image],
        height_scale=2.0,
        width_scale=2.0,
        mode="bilinear",
        tolerance=KERNEL,
        wanted=[wide],
    )


def pools():
    x = f32(2, 3, 6, 6)
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 2), axis=(2, 3))
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=np.nan)
    wanted = [
        np.nanmean(np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3)), axis=(4, 5)).astype(
            np.float32
        )
    ]
    yield one(
        "pads are not counted",
        "AveragePool",
        1,
        [x],
        kernel_shape=[3, 3],
        pads=[1, 1, 1, 1],
        wanted=wanted,
        tolerance=SUM,
    )
    for p in (None, 1.0, 2.0, 3.0):
        norm = 2.0 if p is None else p
        extra = {} if p is None else {"p": p}
        powers = np.abs(windows.astype(np.float64)) ** norm
        wanted = [(powers.sum((4, 5)) ** (1 / norm)).astype(np.float32)]
        yield one(f"p {p}", "LpPool", 1, [x], kernel_shape=[2, 2], wanted=wanted, tolerance=SUM, **extra)
        wanted = [((np.abs(x.astype(np.float64)) ** norm).sum((2, 3), keepdims=True) ** (1 / norm)).astype(np.float32)]
        yield one(f"p {p}", "GlobalLpPool", 1, [x], wanted=wanted, tolerance=SUM, **extra)
    for op in ("LpPool", "GlobalLpPool"):
        extra = {"kernel_shape": [2, 2]} if op == "LpPool" else {}
        yield one("broken norm", op, 1, [x], p=1.5, wanted=[x[:, :, :5, :5]], reach=1, why="no whole number", **extra)
    yield one("no window", "LpPool", 1, [x], wanted=[x], reach=1, why="no attribute kernel_shape")


def recurrent():
    """Makes recurrent operators, whose values are computed step by step, as the equations say.

    The gates are in the order of the operator's W.
    """
    steps, batch, width, hidden = 4, 2, 3, 5
    x = f32(steps, batch, width)
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        w, r, b = f32(1, gates * hidden, width), f32(1, gates * hidden, hidden), f32(1, 2 * gates * hidden)
        states = recurrence(op, x, w[0], r[0], b[0], hidden)
        wanted = [np.stack(states)[:, None].astype(np.float32), states[-1][None].astype(np.float32)]
        for opset in (1, 3, 6):
            for sequence in (None, 0, 1):
                extra = {} if sequence is None else {"output_sequence": sequence}
                yield one(
                    f"output_sequence {sequence}",
                    op,
                    opset,
                    [x, w, r, b],
                    constants=(1, 2, 3),
                    outputs=2,
                    wanted=wanted,
                    hidden_size=hidden,
                    tolerance=SUM,
                    **extra,
                )
            yield one(
                "last state only",
                op,
                opset,
                [x, w, r, b],
                constants=(1, 2, 3),
                outputs=["", "h"],
                wanted=wanted[1:],
                hidden_size=hidden,
                tolerance=SUM,
            )
        if op == "GRU":
            for direction in ("foward", "forward"):
                yield one(
                    direction,
                    op,
                    1,
                    [x, w, r, b],
                    constants=(1, 2, 3),
                    outputs=2,
                    wanted=wanted,
                    hidden_size=hidden,
                    direction=direction,
                    tolerance=SUM,
                )


def recurrence(op, x, w, r, b, hidden):
    h, c, states = np.zeros((x.shape[1], hidden)), np.zeros((x.shape[1], hidden)), []
    parts = lambda m: np.split(m, m.shape[0] // hidden)  # noqa: E731
    ws, rs, bs = parts(w), parts(r), parts(b)
    n = len(ws)
    for xt in x.astype(np.float64):
        plain = [xt @ ws[i].T + h @ rs[i].T + bs[i] + bs[n + i] for i in range(n)]
        if op == "RNN":
            h = np.tanh(plain[0])
        elif op == "GRU":
            z, reset = sigmoid(plain[0]), sigmoid(plain[1])
            new = np.tanh(xt @ ws[2].T + (reset * h) @ rs[2].T + bs[2] + bs[5])
            h = (1 - z) * new + z * h
        else:
            i, o, f = (sigmoid(p) for p in plain[:3])
            c = f * c + i * np.tanh(plain[3])
            h = o * np.tanh(c)
        states.append(h)
    return states


def chains():
    """Makes a network of opset 6, as exporters of 2017 wrote it."""
    w, bias, fc, slope = f32(4, 3, 3, 3), f32(4), f32(5, 4), f32(4)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["c", "bias"], ["a"], broadcast=1, axis=1),
        helper.make_node("PRelu", ["a", "slope"], ["p"]),
        helper.make_node("GlobalAveragePool", ["p"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
        helper.make_node("Dropout", ["f"], ["d"], is_test=1),
        helper.make_node("Gemm", ["d", "fc", "row"], ["y"], transB=1, broadcast=1),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [info("x", F, [2, 3, 6, 6])],
        [info("y", F, [2, 5])],
        [
            numpy_helper.from_array(v, n)
            for v, n in (
                (w, "w"),
                (bias, "bias"),
                (fc, "fc"),
                (slope, "slope"),
                (np.arange(5, dtype=np.float32), "row"),
            )
        ],
    )
    x = f32(2, 3, 6, 6)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    a = np.einsum("nchwij,ocij->nohw", np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3)), w)
    a += bias.reshape(1, 4, 1, 1)
    p = np.where(a < 0, a * slope.reshape(1, 4, 1, 1), a)
    wanted = [(p.mean((2, 3)) @ fc.T + np.arange(5)).astype(np.float32)]
    yield Case("network of opset 6", "Add", graph_model(graph, 6), {"x": x}, 1e-4, wanted=wanted)


def all_cases():
    for family in (consumed_inputs, normalizations, broadcasts, forms, pools, recurrent, chains):
        yield from family()
