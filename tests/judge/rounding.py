#!/usr/bin/env python3
"""Judges a rewritten model's numbers with every 16-bit rounding applied.

ONNX Runtime's CPU provider computes float16 nodes in float32 and drops many roundings, so it hides overflow. It also
has hardly any bfloat16 kernel. Here every float16 / bfloat16 tensor is carried in float32 and rounded to its type where
it is produced. For a float16 node,

    y = MatMul(a, b)

becomes

    y_wide = MatMul(a, b); y_low = Cast<float16>(y_wide); y_kept = Identity(y_low); y = Cast<float>(y_kept)

The Identity keeps the pair of casts from being folded. Graph optimisation is off. Graph inputs of a low type are
rounded as they are fed. The result is what 16-bit storage with float32 arithmetic gives. It runs wherever the float32
model runs, so bfloat16 needs no kernels.

  rounding.py ORIGINAL.onnx REWRITTEN.onnx [--inputs FILE.npz]
  rounding.py --self-test

The arrays of FILE.npz are named after the inputs, plain or as 'in::NAME'. Without --inputs the inputs are random, from
a fixed seed.

The bound on each float output's relative L2 error is min(8 D u, 0.02) for float16 (u = 2^-11) and min(8 D u, 0.1) for
bfloat16 (u = 2^-8), where D is the number of low nodes on the longest path of the rewritten model. The exit code is 0
inside the bound and without new NaN / Inf.
One invariant is not obvious: a tensor whose type is unknown must never be skipped silently; `Widened.unknown` lists
such tensors.
"""

import argparse
import collections
import dataclasses
import functools
import pathlib
import platform
import sys

import ml_dtypes
import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from judge import scopes
from judge.inlining import inlined
from judge.scopes import LOW_TYPES

UNIT = {TensorProto.FLOAT16: 2.0**-11, TensorProto.BFLOAT16: 2.0**-8}
CAP = {TensorProto.FLOAT16: 0.02, TensorProto.BFLOAT16: 0.1}
NUMPY_TYPE = {TensorProto.FLOAT16: np.float16, TensorProto.BFLOAT16: ml_dtypes.bfloat16}
TYPE_ATTRIBUTES = {"to", "dtype", "output_dtype", "stash_type", "softmax_precision"}
# These give their input on unchanged, so what they give is rounded already.
PASS_THROUGH = {"Identity"}


@dataclasses.dataclass
class Widened:
    """A model that computes in float32 what the low model computes, and what is needed to feed it."""

    model: onnx.ModelProto
    low_inputs: dict  # graph input name -> its low type before widening
    roundings: int  # tensors that are rounded where they are produced
    unknown: list  # "path: op output" of tensors whose type nobody knows


def widen(model, rounding=True):
    """Makes a model that holds low tensors in float32 and (under `rounding`) rounds each where it is produced.

    `model` itself is not changed.
    """
    stated = inlined(model)
    typed = _typed_graphs(stated)
    wide = onnx.ModelProto()
    wide.CopyFrom(stated)
    wide_graphs = [graph for _, graph in scopes.all_graphs(wide.graph)]
    names = {name for g in wide_graphs for n in g.node for name in [*n.input, *n.output]}
    names |= {v.name for g in wide_graphs for v in [*g.input, *g.initializer]}
    low_inputs = {
        v.name: scopes.element_type(v.type) for v in wide.graph.input if scopes.element_type(v.type) in LOW_TYPES
    }
    result = Widened(wide, low_inputs, 0, [])

    def unique(name):
        while name in names:
            name += "_"
        names.add(name)
        return name

    # typed_graphs and all_graphs walk in the same order. Inner graphs are done before the node lists of outer ones are
    # replaced.
    for (path, _, types), graph in reversed(list(zip(typed, wide_graphs, strict=True))):
        _widen_graph(graph, types, path, rounding, unique, result)
    return result


def _typed_graphs(model):
    try:
        typed = scopes.typed_graphs(model)
    except Exception:  # The checker judges validity; here the types that can be had are enough, and the rest is listed.
        typed = scopes.typed_graphs(model, strict=False)
    if any(name and name not in types for (_, g, types) in typed for n in g.node for name in n.output):
        typed = scopes.typed_graphs(model, strict=False, guess=True)
    return typed


def _widen_graph(graph, types, path, rounding, unique, result):
    del graph.value_info[:]
    for info in [*graph.input, *graph.output]:
        _widen_type(info.type)
    for tensor in graph.initializer:
        _widen_tensor(tensor)
    for tensor in graph.sparse_initializer:
        _widen_tensor(tensor.values)
    nodes = []
    for node in graph.node:
        for attribute in node.attribute:
            _widen_attribute(attribute)
        nodes.append(node)
        is_identity = node.op_type in PASS_THROUGH
        if node.op_type == "Cast" and all(
            types.get(name) in LOW_TYPES | {TensorProto.FLOAT} for name in [*node.input, *node.output]
        ):
            # An Identity, because onnxruntime drops a cast to the type that a value has, though a body that it inlined
            # still reads it.
            node.op_type = "Identity"
            del node.attribute[:]
        is_outer = any(True for _ in scopes.bodies(node))  # its outputs are its bodies' outputs, rounded in there
        for i, name in enumerate(node.output):
            if not name:
                continue
            if name not in types:
                result.unknown.append(f"{path}{node.name}: {node.domain}::{node.op_type} output {name}")
            if types.get(name) not in LOW_TYPES or is_outer or is_identity or not rounding:
                continue
            result.roundings += 1
            raw, low, kept = unique(name + "_wide"), unique(name + "_low"), unique(name + "_kept")
            node.output[i] = raw
            nodes += [
                helper.make_node("Cast", [raw], [low], to=types[name]),
                helper.make_node("Identity", [low], [kept]),
                helper.make_node("Cast", [kept], [name], to=TensorProto.FLOAT),
            ]
    copies = []
    for node in nodes:
        copies.append(onnx.NodeProto())
        copies[-1].CopyFrom(node)
    del graph.node[:]
    graph.node.extend(copies)


def _widen_type(type_proto):
    kind = type_proto.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        tensor = getattr(type_proto, kind)
        if tensor.elem_type in LOW_TYPES:
            tensor.elem_type = TensorProto.FLOAT
    elif kind == "map_type":
        _widen_type(type_proto.map_type.value_type)
    elif kind:
        _widen_type(getattr(type_proto, kind).elem_type)


def _widen_tensor(tensor):
    if tensor.data_type in LOW_TYPES:
        name = tensor.name
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float32), name))


def _widen_attribute(attribute):
    if attribute.type == AttributeProto.TENSOR:
        _widen_tensor(attribute.t)
    elif attribute.type == AttributeProto.SPARSE_TENSOR:
        _widen_tensor(attribute.sparse_tensor.values)
    elif attribute.type == AttributeProto.TYPE_PROTO:
        _widen_type(attribute.tp)
    elif attribute.type == AttributeProto.INT and attribute.name in TYPE_ATTRIBUTES and attribute.i in LOW_TYPES:
        attribute.i = TensorProto.FLOAT
    for tensor in attribute.tensors:
        _widen_tensor(tensor)


def with_unique_names(model):
    """Returns the model, or a copy without the node names that occur twice.

    ONNX allows such names, onnxruntime does not.
    """
    names = collections.Counter(n.name for n in model.graph.node)
    if any(count > 1 for name, count in names.items() if name):
        model = onnx.ModelProto.FromString(model.SerializeToString())
        for node in model.graph.node:
            if names[node.name] > 1:
                node.name = ""
    return model


PRODUCTS_OF_8_BITS = {
    "MatMulInteger",
    "QLinearMatMul",
    "QLinearConv",
    "ConvInteger",
    "QGemm",
    "DynamicQuantizeMatMul",
    "DynamicQuantizeLSTM",
    "MatMulIntegerToFloat",
    "QAttention",
}


@functools.cache
def saturates():
    """Says whether onnxruntime's products of uint8 and int8 saturate sums of two: they do on x86 without VNNI."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return False
    try:
        return "vnni" not in pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return False


def session(model):
    """Makes an onnxruntime session that optimises nothing.

    Where products of 8 bits would saturate, the session has the optimisations that keep them exact.
    """
    import onnxruntime

    model = with_unique_names(model)
    if saturates() and any(node.op_type in PRODUCTS_OF_8_BITS for node in model.graph.node):
        # An optimisation of this level makes int8 weights uint8. It fails where a weight is shared or activations are
        # int8.
        failures = onnxruntime.capi.onnxruntime_pybind11_state
        try:
            return session_at(model, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED)
        except (failures.NotImplemented, failures.Fail):
            pass
    return session_at(model, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)


def session_at(model, level):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.add_session_config_entry("session.x64quantprecision", "1")
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(model, feeds):
    """Runs the model and returns output name -> array (a list of arrays for a sequence).

    Float feeds take the input's own float type.
    """
    return run_session(session(model), feeds)


def run_session(runner, feeds):
    """Runs the model of a session, as run() runs a model."""
    types = {i.name: i.type for i in runner.get_inputs()}
    given = {}
    for name, value in feeds.items():
        if name in types:
            convert = lambda a, kind=types[name]: np.asarray(a).astype(
                np.float32
                if "tensor(float)" in kind
                else np.float16
                if "tensor(float16)" in kind
                else np.asarray(a).dtype
            )
            given[name] = [convert(a) for a in value] if isinstance(value, list) else convert(value)
    names = [o.name for o in runner.get_outputs()]
    with np.errstate(all="ignore"):
        return dict(zip(names, runner.run(None, given), strict=True))


def run_rounded(model, feeds, rounding=True):
    """Runs `model` with every low tensor rounded where it is produced (without `rounding`: with none rounded)."""
    wide = widen(model, rounding)
    rounded = {}
    with np.errstate(all="ignore"):
        for name, array in feeds.items():
            low = NUMPY_TYPE.get(wide.low_inputs.get(name)) if rounding else None
            narrow = lambda a, low=low: np.asarray(a).astype(low).astype(np.float32)
            rounded[name] = (
                array if not low else [narrow(a) for a in array] if isinstance(array, list) else narrow(array)
            )
    return run(wide.model, rounded)


def low_depth(model):
    """Returns D, the number of low nodes on the longest path.

    A body counts once, however often it runs. Casts and constants are not counted.
    """
    stated = inlined(model)
    typed = _typed_graphs(stated)
    types_of = {path: types for path, _, types in typed}

    def walk(graph, path, outer):
        depth, types = dict(outer), types_of[path]
        for i, node in enumerate(graph.node):
            reach = max((depth.get(name, 0) for name in node.input), default=0)
            inner = reach
            for name, body in scopes.bodies(node):
                seen = {**depth, **{v.name: reach for v in body.input}}
                result = walk(body, f"{path}{node.name or node.op_type}#{i}/{name}/", seen)
                inner = max([inner, *(result.get(v.name, 0) for v in body.output)])
            is_low = any(types.get(name) in LOW_TYPES for name in [*node.input, *node.output] if name)
            counts = (
                is_low
                and node.op_type not in ("Cast", "Constant", *PASS_THROUGH)
                and not any(True for _ in scopes.bodies(node))
            )
            for name in node.output:
                depth[name] = inner + counts
        return depth

    first = typed[0][1]
    return max(walk(first, "", {}).values(), default=0)


def bound(model, dtype, depth=None):
    """Returns the bound of the model's error, for at least one rounding.

    A loop's state that nothing computes is low all the same.
    """
    return min(8 * max(low_depth(model) if depth is None else depth, 1) * UNIT[dtype], CAP[dtype])


@dataclasses.dataclass
class Difference:
    worst: float = 0.0  # largest relative L2 error over the float outputs
    where: str = ""  # the output that has it
    new_bad: int = 0  # elements that became NaN or infinite (or differ in that)
    wrong: list = dataclasses.field(default_factory=list)  # missing outputs, other shapes
    equal: dict = dataclasses.field(default_factory=dict)  # integer / bool output -> share of equal elements


def compare(reference, got):
    difference = Difference()
    for name, a in reference.items():
        if name not in got:
            difference.wrong.append(f"{name}: missing")
            continue
        left, right = (v if isinstance(v, list) else [v] for v in (a, got[name]))
        if len(left) != len(right):
            difference.wrong.append(f"{name}: {len(left)} elements became {len(right)}")
        for x, y in zip(left, right):
            _compare_arrays(name, np.asarray(x), np.asarray(y), difference)
    return difference


def _compare_arrays(name, x, y, difference):
    if x.shape != y.shape:
        difference.wrong.append(f"{name}: shape {x.shape} became {y.shape}")
        return
    if x.dtype.kind not in "fV":
        difference.equal[name] = min(difference.equal.get(name, 1.0), float((x == y).mean()) if x.size else 1.0)
        return
    x, y = x.astype(np.float64), y.astype(np.float64)
    both = np.isfinite(x) & np.isfinite(y)
    same = both | (x == y) | (np.isnan(x) & np.isnan(y))
    difference.new_bad += int((~same).sum())
    error, norm = np.linalg.norm(x[both] - y[both]), np.linalg.norm(x[both])
    floor = 1e-9 * np.sqrt(both.sum())  # an output that is zero by saturation is judged by its error's root mean square
    relative = float(error / max(norm, floor)) if error else 0.0
    if relative > difference.worst or not difference.where:
        difference.worst, difference.where = max(relative, difference.worst), name


def expose(model, types):
    """Returns the model with every float tensor of its main graph as an output, and the names of these in order."""
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    have = {v.name for v in shown.graph.output}
    order = []
    for node in shown.graph.node:
        for name in node.output:
            if name and types.get(name) == TensorProto.FLOAT:
                order.append(name)
                if name not in have:
                    shown.graph.output.append(
                        helper.make_value_info(name, helper.make_tensor_type_proto(TensorProto.FLOAT, None))
                    )
    return shown, order


def first_divergence(original, rewritten, feeds, limit):
    """Finds the first tensor of the main graph, in order, that is further off than `limit`.

    Returns (its name, its error, its new NaN / Inf), or None.
    """
    base = inlined(original)
    wide = widen(rewritten).model
    shown, order = expose(base, scopes.typed_graphs(base, strict=False, guess=True)[0][2])
    wide_shown, _ = expose(wide, scopes.typed_graphs(wide, strict=False, guess=True)[0][2])
    reference, got = run(shown, feeds), run(wide_shown, feeds)
    for name in order:
        if name in got:
            difference = compare({name: reference[name]}, {name: got[name]})
            if difference.worst > limit or difference.new_bad or difference.wrong:
                return name, difference.worst, difference.new_bad
    return None


def largest_magnitude(model, feeds):
    """Returns (largest finite magnitude, its tensor) in the float32 run.

    All float tensors of the main graph count.
    """
    base = inlined(model)
    shown, order = expose(base, scopes.typed_graphs(base, strict=False, guess=True)[0][2])
    got, best = run(shown, feeds), (0.0, "")
    for name in order:
        array = np.abs(np.asarray(got[name], np.float64))
        array = array[np.isfinite(array)]
        if array.size and array.max() > best[0]:
            best = float(array.max()), name
    return best


# Symbolic dimensions whose names say what they count: models of sound pad it by more than one sample.
SIZES = {"samples": 1536}


def random_feeds(model, seed=0, dim=2):
    """Makes seeded inputs for every input that is not an initializer.

    Symbolic dimensions, and those below 0, become `dim` or what SIZES says.
    """
    random = np.random.default_rng(seed)
    constant, feeds = {t.name for t in model.graph.initializer}, {}
    for info in model.graph.input:
        if info.name in constant:
            continue
        tensor = info.type.tensor_type
        shape = [
            d.dim_value if d.HasField("dim_value") and d.dim_value >= 0 else SIZES.get(d.dim_param, dim)
            for d in tensor.shape.dim
        ]
        dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if dtype.kind == "b":
            feeds[info.name] = random.integers(0, 2, shape).astype(bool)
        elif dtype.kind in "iu":
            feeds[info.name] = random.integers(0, 2, shape).astype(dtype)
        else:
            feeds[info.name] = random.uniform(-1, 1, shape).astype(np.float32)
    return feeds


# All models give 1 + 2^-12 in float16 by the sum of x and w, once they are rounded in the place that the name says.
SCOPE_TESTS = {
    "inside a scan": (
        "z = Cast<to=10>(x)  l = Cast<to=10>(w)  e, s = Scan<num_scan_inputs = 1, "
        "body = b (float16[1] p, float16 q) => (float16[1] r, float16 o) { r = Identity(p)  o = Add(q, q)  }>(z, l)  "
        "h = Constant<value=float[1] {0.5}>()  k = Cast<to=1>(s)  y = Mul(k, h)",
        "",
    ),
    "in a sequence": (
        (
            "d = Cast<to=10>(w)  z = Cast<to=10>(x)  a = Add(d, z)  s = SequenceConstruct(z, a)  "
            "i = Constant<value=int64 {1}>()  e = SequenceAt(s, i)  y = Cast<to=1>(e)"
        ),
        "",
    ),
    "inside a mapped body": (
        "z = Cast<to=10>(x)  l = Cast<to=10>(w)  s = SequenceConstruct(z)  "
        "m = SequenceMap<body = b (float16[1] p) => (float16[1] o) { o = Add(p, l) }>(s) "
        "e = ConcatFromSequence<axis=0>(m)  y = Cast<to=1>(e)",
        "",
    ),
    "in an optional": ("d = Cast<to=10>(w)  o = Optional(d)  e = OptionalGetElement(o)  y = Cast<to=1>(e)", ""),
    "split to a sequence": (
        "d = Cast<to=10>(w)  s = SplitToSequence<axis=0>(d)  e = ConcatFromSequence<axis=0>(s)  y = Cast<to=1>(e)",
        "",
    ),
    "in a function": (
        "y = local.f(x, w)",
        (
            '<domain: "local", opset_import: ["": 17]> f (a, b) => (o) { c = Cast<to=10>(a)  d = Cast<to=10>(b)  '
            "e = Add(c, d)  o = Cast<to=1>(e) }"
        ),
    ),
    "in a function's branch": (
        "y = local.f(x, w)",
        """<domain: "local", opset_import: ["": 17]> f (a, b) => (o) { t = Constant<value=bool[1] {1}>()  \
g = Squeeze(t)  d = Cast<to=10>(b)
        e = If(g)<then_branch = th() => (float16[1] p) { c = Cast<to=10>(a)  p = Add(c, d) }, \
else_branch = el() => (float16[1] q) { q = Neg(d) }>  o = Cast<to=1>(e) }""",
    ),
}


def self_test():
    weight = numpy_helper.from_array(np.array([1 + 2.0**-12], np.float32), "w")
    passed = failed = 0

    def expect(what, got, want):
        nonlocal passed, failed
        ok = np.array_equal(got, want)
        passed, failed = passed + ok, failed + (not ok)
        print(f"{'ok  ' if ok else 'FAIL'} {what}: {got}" + ("" if ok else f", expected {want}"))

    text = {
        "1 + 2^-12 in float16": "s = Add(x, w)  l = Cast<to=10>(s)  y = Cast<to=1>(l)",
        "1 + 2^-12 in bfloat16": "s = Add(x, w)  l = Cast<to=16>(s)  y = Cast<to=1>(l)",
        "Constant value_float stays float32, its cast rounds": (
            "c = Constant<value_float=1.000244140625>()  l = Cast<to=10>(c)  k = Cast<to=1>(l)  y = Add(k, x)"
        ),
        "inside If": "t = Constant<value=bool[1] {1}>()  b = Squeeze(t)  l = Cast<to=10>(w)  z = Cast<to=10>(x) "
        "o = If(b)<then_branch = th() => (float16[1] p) { p = Add(l, z) }, "
        "else_branch = el() => (float16[1] q) { q = Sub(l, z) }>  y = Cast<to=1>(o)",
    }
    for what, body in text.items():
        model = onnx.parser.parse_model(
            f'<ir_version: 8, opset_import: ["": 17]> g (float[1] x) => (float[1] y) {{ {body} }}'
        )
        if "w" in body:
            model.graph.initializer.append(weight)
        expect(what, run_rounded(model, {"x": np.zeros(1, np.float32)})["y"], np.ones(1, np.float32))
        plain = run_rounded(model, {"x": np.zeros(1, np.float32)}, rounding=False)["y"]
        expect(what + ", without rounding", plain, np.array([1 + 2.0**-12], np.float32))

    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float16[1] x) => (float16[1] y, float16[1] l) { y = Add(x, l) }'
    )
    model.graph.initializer.append(numpy_helper.from_array(np.zeros(1, np.float16), "l"))
    expect(
        "a low graph input is rounded when fed",
        run_rounded(model, {"x": np.array([1 + 2.0**-12], np.float32)})["y"],
        np.ones(1, np.float32),
    )

    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[1] x, int64 n, bool c) => (float[1] y) { l = Cast<to=10>(x) '
        "o = Loop(n, c, l)<body = b(int64 i, bool ci, float16[1] s) => (bool co, float16[1] t) "
        "{ co = Identity(ci)  m = Mul(s, s)  t = Add(m, s) }>  y = Cast<to=1>(o) }"
    )
    expect("low nodes on the longest path, through a loop body", low_depth(model), 2)
    start = np.array([2.0**-6 + 2.0**-16], np.float32)
    s = start.astype(np.float16)
    for _ in range(3):
        s = (
            (s.astype(np.float32) * s.astype(np.float32)).astype(np.float16).astype(np.float32) + s.astype(np.float32)
        ).astype(np.float16)
    expect(
        "inside a loop",
        run_rounded(model, {"x": start, "n": np.array(3), "c": np.array(True)})["y"],
        s.astype(np.float32),
    )

    for what, (body, functions) in SCOPE_TESTS.items():
        imports = ', "local": 1' if functions else ""
        model = onnx.parser.parse_model(
            f'<ir_version: 8, opset_import: ["": 17{imports}]> g (float[1] x) => (float[1] y) {{ {body} }} {functions}'
        )
        model.graph.initializer.append(weight)
        expect(what, run_rounded(model, {"x": np.zeros(1, np.float32)})["y"].reshape(1), np.ones(1, np.float32))
        plain = run_rounded(model, {"x": np.zeros(1, np.float32)}, rounding=False)["y"].reshape(1)
        expect(what + ", without rounding", plain, np.array([1 + 2.0**-12], np.float32))
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (seq(float16[1]) s) => (seq(float16[1]) y) { y = Identity(s) }'
    )
    expect(
        "the elements of a low sequence are rounded when fed",
        run_rounded(model, {"s": [np.array([1 + 2.0**-12], np.float32)]})["y"][0],
        np.ones(1, np.float32),
    )

    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[1] x) => (float[1] y) '
        "{ l = Cast<to=10>(x)  m = Mul(l, l)  y = Cast<to=1>(m) }"
    )
    whole = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[1] x) => (float[1] y) { l = Identity(x)  y = Mul(l, l) }'
    )
    feeds = {"x": np.array([300.0], np.float32)}
    expect("overflow that a wide run hides", compare(run(whole, feeds), run_rounded(model, feeds)).new_bad, 1)
    expect("and the first tensor that has it", (first_divergence(whole, model, feeds, 0.02) or [None])[0], "y")
    expect("its bound", bound(model, TensorProto.FLOAT16), 8 * 2.0**-11)
    expect("a model that is far off is seen", compare(run(whole, feeds), {"y": np.array([80000.0])}).worst > 0.1, True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("original", nargs="?")
    parser.add_argument("rewritten", nargs="?")
    parser.add_argument("--inputs")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    if not arguments.rewritten:
        parser.error("two models are needed")
    original, rewritten = onnx.load(arguments.original), onnx.load(arguments.rewritten)
    if arguments.inputs:
        archive = np.load(arguments.inputs)
        feeds = {name.removeprefix("in::"): archive[name] for name in archive.files if not name.startswith("out::")}
    else:
        feeds = random_feeds(original)
    wide = widen(rewritten)
    for line in wide.unknown:
        print(f"type unknown, not rounded: {line}")
    reference = (
        run(original, feeds)
        if not any(i.type.tensor_type.elem_type in LOW_TYPES for i in original.graph.input)
        else run_rounded(original, feeds)
    )
    difference = compare(reference, run_rounded(rewritten, feeds))
    used = {t for _, _, types in scopes.typed_graphs(rewritten, strict=False) for t in types.values()} & LOW_TYPES
    limit = bound(rewritten, max(used)) if used else 0.0
    bad = difference.worst > limit or difference.new_bad or difference.wrong
    print(
        f"relative L2 {difference.worst:.3g} at {difference.where!r}, bound {limit:.3g}, "
        f"new NaN / Inf {difference.new_bad}, {wide.roundings} tensors rounded"
    )
    for name, share in difference.equal.items():
        print(f"{name}: {share:.2%} of the integers equal")
    for line in difference.wrong:
        print(line)
    if bad:
        first = first_divergence(original, rewritten, feeds, limit)
        if first:
            print(f"first tensor outside: {first[0]!r}, relative L2 {first[1]:.3g}, new NaN / Inf {first[2]}")
    print(f"{int(not bad)} passed, {int(bool(bad))} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
