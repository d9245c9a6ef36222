"""Cases of com.microsoft's attention and RotaryEmbedding for side_by_side.py: (name, model, feeds).

Attention has cases with and without earlier steps. Every operand is a graph input, so that nothing is folded.
"""

import itertools

import numpy as np
from onnx import TensorProto, helper

TYPES = {
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
}
LOWEST = float(np.finfo(np.float32).min)


class Numbers:
    """Random numbers of a case: the same ones, whatever cases come before it."""

    def __init__(self, name):
        self.random = np.random.default_rng(sum(name.encode()))

    def __call__(self, *shape):
        return self.random.uniform(-1, 1, shape).astype(np.float32)


def case(name, operator, inputs, outputs, domain="com.microsoft", opset=17, dtype=np.float32, **attributes):
    """Makes a case. `inputs`: (name, array or None) by port; `outputs`: names, "" for an absent one."""
    inputs = [
        (port, array.astype(dtype) if array is not None and array.dtype == np.float32 else array)
        for port, array in inputs
    ]
    feeds = {port: array for port, array in inputs if array is not None}
    low = TYPES[np.dtype(dtype).name]
    node = helper.make_node(
        operator, [port if array is not None else "" for port, array in inputs], outputs, domain=domain, **attributes
    )
    given = [helper.make_tensor_value_info(port, TYPES[array.dtype.name], array.shape) for port, array in feeds.items()]
    results = [helper.make_tensor_value_info(port, low, None) for port in outputs if port]
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return (
        name,
        helper.make_model(helper.make_graph([node], "g", given, results), opset_imports=imports, ir_version=10),
        feeds,
    )


def masks(batch, queries, past, keys):
    total = past + keys
    random = np.random.default_rng(total)
    some, by_query = random.integers(0, 2, (batch, total)), random.integers(0, 2, (batch, queries, total))
    some[:, 0] = by_query[:, :, 0] = 1
    yield "no mask", None
    yield "lengths", random.integers(1, total + 1, batch).astype(np.int32)
    yield "keys", some.astype(np.int32)
    yield "queries", by_query.astype(np.int32)
    yield "nothing", np.zeros((batch, total), np.int32)


def filters(kind):
    """Where a mask bars all keys of a query, scores by -10000 lose their digits in float32."""
    return {"mask_filter_value": -10.0} if kind in ("nothing", "ends and beginnings") else {}


def attention():
    batch, heads, size, width = 2, 2, 4, 6
    for queries, past, unidirectional, has_bias in itertools.product((1, 3), (None, 0, 4), (0, 1), (False, True)):
        if past is not None and has_bias:  # onnxruntime refuses the two together
            continue
        kinds = [
            *masks(batch, queries, past or 0, queries),
            ("ends and beginnings", np.array([queries + (past or 0), queries, 0, queries - 1], np.int32)),
        ]
        for kind, mask in kinds:
            name = f"attention {queries} past {past} unidirectional {unidirectional} bias {has_bias} {kind}"
            r = Numbers(name)
            old = None if past is None else r(2, batch, heads, past, size)
            bias = (
                r(1 if past else batch, heads if unidirectional else 1, queries, (past or 0) + queries)
                if has_bias
                else None
            )
            inputs = [
                ("x", r(batch, queries, width)),
                ("w", r(width, 3 * heads * size)),
                ("b", r(3 * heads * size)),
                ("mask", mask),
                ("past", old),
                ("bias", bias),
            ]
            yield case(
                name,
                "Attention",
                inputs,
                ["y"] if past is None and unidirectional else ["y", "present"],
                num_heads=heads,
                unidirectional=unidirectional,
                **filters(kind),
            )
    r = Numbers("attention")
    x, w, b = ("x", r(batch, 3, width)), ("w", r(width, 24)), ("b", r(24))
    yield case("attention scale", "Attention", [x, w, b], ["y"], num_heads=2, scale=0.25)
    yield case(
        "attention widths",
        "Attention",
        [x, ("w", r(width, 22)), ("b", r(22))],
        ["y"],
        num_heads=2,
        qkv_hidden_sizes=[8, 8, 6],
    )
    for value in (LOWEST, -1e30):
        for kind, mask in (
            ("keys", np.array([[0, 1, 1], [1, 0, 0]], np.int32)),
            ("nothing", np.zeros((2, 3), np.int32)),
        ):
            yield case(
                f"attention filter {value} {kind}",
                "Attention",
                [x, w, b, ("mask", mask)],
                ["y"],
                num_heads=2,
                unidirectional=1,
                mask_filter_value=value,
            )
    yield case(
        "attention past of other heads",
        "Attention",
        [x, w, b, ("mask", None), ("past", r(2, 2, 3, 4, 4))],
        ["y", "present"],
        num_heads=2,
    )


def multi_head():
    batch, heads, size = 2, 2, 4
    for (queries, keys), past, unidirectional, has_bias in itertools.product(
        ((1, 1), (3, 3), (3, 5), (4, 2)), (None, 0, 4), (0, 1), (False, True)
    ):
        for kind, mask in masks(batch, queries, past or 0, keys):
            name = f"multi-head {queries} x {keys} past {past} unidirectional {unidirectional} bias {has_bias} {kind}"
            r = Numbers(name)
            old = None if past is None else r(batch, heads, past, size)
            bias = r(1, heads, queries, (past or 0) + keys) if has_bias else None
            inputs = [
                ("q", r(batch, queries, heads * size)),
                ("k", r(batch, keys, heads * size)),
                ("v", r(batch, keys, heads * size)),
                ("b", r(3 * heads * size) if has_bias else None),
                ("mask", mask),
                ("bias", bias),
                ("past_key", old),
                ("past_value", None if old is None else r(batch, heads, past, size)),
            ]
            outputs = ["y"] if past is None and has_bias else ["y", "present_key", "present_value"]
            yield case(
                name,
                "MultiHeadAttention",
                inputs,
                [*outputs, "qk"] if past and unidirectional else outputs,
                num_heads=heads,
                unidirectional=unidirectional,
                **filters(kind),
            )
    r = Numbers("multi-head")
    q, k, v = ("q", r(2, 3, 8)), ("k", r(2, 4, 8)), ("v", r(2, 4, 6))
    kh, vh = ("k", r(2, 2, 4, 4)), ("v", r(2, 2, 4, 4))
    none = [("b", None), ("mask", None), ("bias", None)]
    yield case("multi-head scale", "MultiHeadAttention", [q, k, v], ["y"], num_heads=2, scale=0.25)
    yield case("multi-head wide values, present", "MultiHeadAttention", [q, k, v], ["y", "pk", "pv", "qk"], num_heads=2)
    yield case("multi-head keys with heads", "MultiHeadAttention", [q, kh, vh], ["y"], num_heads=2)
    yield case("multi-head keys with heads, present", "MultiHeadAttention", [q, kh, vh], ["y", "pk", "pv"], num_heads=2)
    yield case("multi-head keys with heads, bias", "MultiHeadAttention", [q, kh, vh, ("b", r(24))], ["y"], num_heads=2)
    yield case(
        "multi-head one past",
        "MultiHeadAttention",
        [q, k, ("v", r(2, 4, 8)), *none, ("pk", r(2, 2, 4, 4))],
        ["y", "a", "b"],
        num_heads=2,
    )
    yield case(
        "multi-head pasts of two lengths",
        "MultiHeadAttention",
        [q, k, ("v", r(2, 4, 8)), *none, ("pk", r(2, 2, 4, 4)), ("pv", r(2, 2, 3, 4))],
        ["y", "a", "c"],
        num_heads=2,
    )
    for value in (LOWEST, -1e30):
        mask = np.array([[0, 1, 1, 1], [0, 0, 0, 0]], np.int32)
        yield case(
            f"multi-head filter {value}",
            "MultiHeadAttention",
            [q, k, v, ("b", None), ("mask", mask)],
            ["y"],
            num_heads=2,
            unidirectional=1,
            mask_filter_value=value,
        )


def group_query():
    """Yields cases of GroupQueryAttention.

    A step is (queries, past rows, tokens so far of each sample). The steps are prompts, prompts of several lengths,
    tokens, prompts that follow others, and some of these with larger buffers.
    """
    steps = {
        "prompt": (4, 0, [4, 4]),
        "prompt of several lengths": (4, 0, [4, 2]),
        "prompt into a buffer": (4, 6, [4, 3]),
        "token": (1, 5, [6, 6]),
        "token of several lengths": (1, 5, [6, 3]),
        "token into a buffer": (1, 9, [6, 4]),
        "first token": (1, 0, [1, 1]),
        "prompt that follows": (3, 5, [8]),
        "prompt that follows, buffer": (3, 9, [7]),
    }
    forms = {
        "plain": {},
        "scale": {"scale": 0.2},
        "softcap": {"softcap": 0.7},
        "window 2": {"local_window_size": 2},
        "window 1": {"local_window_size": 1},
        "window 100": {"local_window_size": 100},
        "window and softcap": {"local_window_size": 3, "softcap": 0.5},
        "smooth": {"smooth_softmax": 1},
        "rotary": {"do_rotary": 1},
        "rotary neighbours": {"do_rotary": 1, "rotary_interleaved": 1},
        "scores": {"qk_output": 1},
        "probabilities": {"qk_output": 2},
        "probabilities of a window": {"qk_output": 2, "local_window_size": 2},
        "both ways": {"causal": 0},
    }
    for (step, (queries, past, so_far)), (form, attributes), (heads, kv_heads), extra in itertools.product(
        steps.items(),
        forms.items(),
        ((4, 2), (3, 1), (2, 2)),
        ("", "packed", "bias", "sink", "positions", "half rotary"),
    ):
        if extra and (heads, kv_heads) != (4, 2) or extra in ("positions", "half rotary") and "rotary" not in form:
            continue
        if (extra or heads != 4) and form not in (
            "plain",
            "softcap",
            "window 2",
            "rotary",
            "smooth",
            "scores",
            "both ways",
        ):
            continue
        if (
            "local_window_size" in attributes and queries > 1 and len(set(so_far)) > 1
        ):  # onnxruntime's two ways differ in queries behind the end
            continue
        if (
            "qk_output" in attributes and len(set(so_far)) > 1
        ):  # behind the end of a shorter one onnxruntime writes nothing
            continue
        for dtype in (np.float32, np.float16) if form in ("plain", "rotary") and not extra else (np.float32,):
            name = (
                f"group-query {step}, {form}, {heads} heads and {kv_heads}, {extra or 'no more'}, "
                f"{np.dtype(dtype).name}"
            )
            r, size, batch, total = Numbers(name), 16, len(so_far), max(so_far)
            half = 8
            if extra == "half rotary":
                size = 32
            q, k, v = (
                r(batch, queries, heads * size),
                r(batch, queries, kv_heads * size),
                r(batch, queries, kv_heads * size),
            )
            if extra == "packed":
                q, k, v = np.concatenate([q, k, v], axis=2), None, None
            old = [r(batch, kv_heads, past, size) if past else None for _ in range(2)]
            angles = np.outer(np.arange(12), 10.0 ** -np.arange(half)).astype(np.float32)
            rotary = "rotary" in form
            first = np.array([[s - queries + i for i in range(queries)] for s in so_far], np.int64)
            positions = np.maximum(first, 0) + (0 if past else 2)
            inputs = [
                ("q", q),
                ("k", k),
                ("v", v),
                ("past_key", old[0]),
                ("past_value", old[1]),
                ("lengths", np.array(so_far, np.int32) - 1),
                ("total", np.array(total, np.int32)),
                ("cosines", np.cos(angles) if rotary else None),
                ("sines", np.sin(angles) if rotary else None),
                ("positions", positions if extra == "positions" else None),
                ("bias", r(1, heads, queries, total) if extra == "bias" else None),
                ("sink", r(heads) if extra == "sink" else None),
            ]
            outputs = ["y", "present_key", "present_value"] + (["qk"] if "qk_output" in attributes else [])
            yield case(
                name,
                "GroupQueryAttention",
                inputs,
                outputs,
                dtype=dtype,
                num_heads=heads,
                kv_num_heads=kv_heads,
                **attributes,
            )


def rotary():
    batch, length, heads, size = 2, 3, 2, 8
    for (kind, one), interleaved, with_heads, partial, scale in itertools.product(
        (("offset", True), ("each", False)), (0, 1), (False, True), (False, True), (None, 2.0)
    ):
        name = f"rotary {kind} neighbours {interleaved} heads {with_heads} partial {partial} scale {scale}"
        r = Numbers(name)
        x = r(batch, heads, length, size) if with_heads else r(batch, length, heads * size)
        half = size // 4 if partial else size // 2
        positions = np.array([2]) if one else np.array([[0, 1, 2], [4, 3, 2]])
        attributes = (
            {"interleaved": interleaved}
            | ({"rotary_embedding_dim": 2 * half, "num_heads": heads} if partial else {})
            | ({"scale": scale} if scale else {})
        )
        yield case(
            name,
            "RotaryEmbedding",
            [("x", x), ("positions", positions), ("cosines", r(6, half)), ("sines", r(6, half))],
            ["y"],
            **attributes,
        )
    for interleaved, with_heads, partial, by_position in itertools.product(
        (0, 1), (False, True), (False, True), (False, True)
    ):
        name = (
            f"rotary of ai.onnx neighbours {interleaved} heads {with_heads} partial {partial} positions {by_position}"
        )
        r = Numbers(name)
        x = r(batch, heads, length, size) if with_heads else r(batch, length, heads * size)
        half = size // 4 if partial else size // 2
        caches = [r(6, half), r(6, half)] if by_position else [r(batch, length, half), r(batch, length, half)]
        attributes = (
            {"interleaved": interleaved}
            | ({"rotary_embedding_dim": 2 * half} if partial else {})
            | ({} if with_heads else {"num_heads": heads})
        )
        positions = [("positions", np.array([[0, 1, 2], [4, 3, 2]]))] if by_position else []
        yield case(
            name,
            "RotaryEmbedding",
            [("x", x), ("cosines", caches[0]), ("sines", caches[1]), *positions],
            ["y"],
            domain="",
            opset=23,
            **attributes,
        )


DIFFERS = {}


def cases():
    for family in (attention, multi_head, group_query, rotary):
        yield from family()
