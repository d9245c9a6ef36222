#!/usr/bin/env python3
"""Shows for every structural guard that the rewrite is right with it and wrong without it, and counts its false alarms.

  guards.py --tool build/tests/rewrite_batch [--only TEXT] [--demonstrations]

A demonstration is one small model, rewritten twice: with all guards, as by default, and with `--guards constants`.
Both results run with every low tensor rounded where it is produced (rounding.py). The first has to be inside the
bound with its exact outputs the same to the bit, and some node has to be high for the guard's reason; the second has
to be outside. Both have to load in onnxruntime with its default optimisations, and to run in float16. The models are
arranged so that only what the guard keeps exact can go wrong: the values before it are exact in 16 bits.
Three guards need another kind of run: "long reductions" and "scatter reductions" are judged as a target that adds up
in the low type would compute them, "state" step after step. "scatter reductions" is shown in bfloat16 alone:
onnxruntime does not run its float16 model.

A guard that keeps a runtime from dying is shown by that: with it onnxruntime's default session loads the model, without
it the process crashes.

False alarms are heavy nodes of the models of real_models.py that a structural guard keeps high. They are counted by
guard, and are at most 1 % in each type. Without the models that part is skipped, and the exit code is 77 unless
something failed.
"""

import argparse
import collections
import json
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from judge import rounding, runtimes, scopes
from judge.rewrite import (
    complaint_graphs,  # registers its cases, as the next does
    complaint_values,
)
from judge.rewrite.complaint_case import CASES, Case, array, fill_feeds, model
from judge.shared_files import shared_folder
from judge.structure import DTYPES
from judge.tool import Tool

GUARDS = (
    "positions",
    "shape math",
    "thresholds",
    "decomposed norms",
    "squares",
    "wide values",
    "long reductions",
    "scatter reductions",
    "log-sum-exp by hand",
    "masks",
    "state",
    "quantised",
    "demands",
)
LOADING_GUARDS = ("transposed batches",)  # these keep a runtime from dying
BOTH = tuple(DTYPES)
MAX_ALARMS = 0.01
DEMONSTRATIONS = []  # (guard, name, low types, function that gives a Case, function that runs a model)
LOADING = []  # (guard, name, function that gives a model)


def demonstrates(guard, dtypes=BOTH, run=rounding.run_rounded):
    def register(function):
        DEMONSTRATIONS.append((guard, function.__name__, dtypes, function, run))
        return function

    return register


def by_complaint(guard, name, dtypes=BOTH):
    DEMONSTRATIONS.append((guard, name, dtypes, CASES[name][1], rounding.run_rounded))


def keeps_loading(guard):
    def register(function):
        LOADING.append((guard, function.__name__, function))
        return function

    return register


by_complaint("positions", "sincos_positions_product")
by_complaint("positions", "range_of_positions_painted")
by_complaint("shape math", "duration_lengths")
by_complaint("shape math", "floor_after_product")
by_complaint("positions", "identifiers_through_float")
by_complaint("decomposed norms", "rmsnorm_by_hand_followed", ("float16",))
by_complaint("decomposed norms", "l2norm_between_products", ("float16",))

EYE = np.eye(4, dtype=np.float32)
LAST = np.array([-1])


@demonstrates("positions")
def ids_picked_by_a_product():
    """Gathers rows by a product with ones and zeros."""
    body = (
        "[hot] h = OneHot(route, depth, values) [ids] f = Cast<to = 1>(id) [pick] p = MatMul(h, f) "
        "[back] n = Cast<to = 7>(p) [mm] y = MatMul(x, w)"
    )
    weights = {"depth": np.int64(4), "values": np.array([0, 1], np.float32), "w": array(4, 4)}
    feeds = {"id": np.array([[2049], [30011], [517], [4097]]), "route": np.array([3, 1, 0, 2])}
    return Case(
        model("float[4,4] x, int64[4,1] id, int64[4] route => float[4,4] y, int64[4,1] n", body, weights),
        feeds=feeds,
        exact=("n",),
    )


@demonstrates("thresholds")
def bucket_border():
    """Compares 99 * 1.0131 with 100.28.

    It is above in float32, and not above once factor, product and border are rounded.
    """
    body = (
        "[mm0] a = MatMul(x, eye) [scale] b = Mul(a, factor) [above] c = Greater(b, border) [minus] m = Neg(a) "
        "[take] d = Where(c, a, m) [mm1] y = MatMul(d, eye)"
    )
    weights = {"eye": EYE, "factor": np.float32(1.0131), "border": np.float32(100.28)}
    return Case(
        model("float[4,4] x => float[4,4] y", body, weights),
        feeds={"x": np.full((4, 4), 99, np.float32)},
        flags=["--follow", "on"],
    )


@demonstrates("decomposed norms", ("bfloat16",))
def layernorm_far_from_zero():
    """Normalises 256 and 258, which are exact in bfloat16; their mean is not.

    The difference from the mean is all that counts.
    """
    body = (
        "[mm0] a = MatMul(x, eye) [mean] m = ReduceMean<axes = [-1]>(a) [center] c = Sub(a, m) "
        "[square] q = Mul(c, c) [var] v = ReduceMean<axes = [-1]>(q)\n"
        "              [eps] e = Add(v, eps) [sqrt] s = Sqrt(e) [div] d = Div(c, s) [mm1] y = MatMul(d, eye)"
    )
    x = np.array([[256, 256, 256, 258], [256, 258, 258, 258], [258, 256, 256, 256], [258, 256, 258, 258]], np.float32)
    return Case(model("float[4,4] x => float[4,4] y", body, {"eye": EYE, "eps": np.float32(1e-5)}), feeds={"x": x})


@demonstrates("decomposed norms", ("bfloat16",))
def layernorm_that_is_spread():
    """Subtracts mean * s from x * s, both of which are 200 times what is left of them."""
    body = (
        "[mm0] a = MatMul(x, eye) [mean] m = ReduceMean<axes = [-1]>(a) [center] c = Sub(a, m) "
        "[square] q = Mul(c, c) [var] v = ReduceMean<axes = [-1]>(q)\n"
        "              [eps] e = Add(v, eps) [sqrt] t = Sqrt(e) [inverse] s = Reciprocal(t) [product] p = Mul(a, s) "
        "[of_mean] o = Mul(m, s) [offset] h = Sub(shift, o)\n"
        "              [sum] d = Add(p, h) [mm1] y = MatMul(d, eye)"
    )
    x = np.array([[256, 256, 256, 258], [256, 258, 258, 258], [258, 256, 256, 256], [258, 256, 258, 258]], np.float32)
    weights = {"eye": EYE, "eps": np.float32(1e-5), "shift": np.array([1, 2, 3, 4], np.float32)}
    return Case(model("float[4,4] x => float[4,4] y", body, weights), feeds={"x": x})


@demonstrates("decomposed norms", ("bfloat16",))
def layernorm_by_a_difference_of_squares():
    """Computes a variance as a difference of squares, with the mean as a sum times a constant, moved to its place.

    The difference from the mean is no part of the variance, and has to be as exact as that.
    """
    body = (
        "[mm0] a = MatMul(x, eye) [sum0] n = ReduceSum<keepdims = 0>(a, last) [mean] k = Mul(n, quarter) "
        "[place] m = Unsqueeze(k, last) [square0] q = Mul(a, a)\n"
        "              [sum1] t = ReduceSum<keepdims = 0>(q, last) [mean1] u = Mul(t, quarter) "
        "[square1] r = Mul(k, k) [variance] v = Sub(u, r) [bound] b = Max(v, zero)\n"
        "              [place1] p = Unsqueeze(b, last) [eps] e = Add(p, eps) [sqrt] s = Sqrt(e) [center] c = Sub(a, m) "
        "[div] d = Div(c, s) [mm1] y = MatMul(d, eye)"
    )
    x = np.array([[256, 256, 256, 258], [256, 258, 258, 258], [258, 256, 256, 256], [258, 256, 258, 258]], np.float32)
    weights = {"eye": EYE, "eps": np.float32(1e-5), "zero": np.float32(0), "quarter": np.float32(0.25), "last": LAST}
    return Case(model("float[4,4] x => float[4,4] y", body, weights), feeds={"x": x})


@demonstrates("squares", ("float16",))
def power_spectrum():
    body = (
        "[re] a = MatMul(x, w) [im] b = MatMul(z, w) [square0] p = Mul(a, a) [square1] q = Mul(b, b) "
        "[power] s = Add(p, q) [mel] m = MatMul(s, bank) [log] l = Log(m)\n"
        "              [mm] y = MatMul(l, eye)"
    )
    weights = {"w": array(8, 8), "bank": array(8, 4, seed=2), "eye": EYE}
    return Case(
        model("float[4,8] x, float[4,8] z => float[4,4] y", body, weights),
        feeds={"x": array(4, 8, low=200, high=900), "z": array(4, 8, low=200, high=900, seed=3)},
    )


@demonstrates("squares", ("bfloat16",))
def difference_of_sums_of_squares():
    body = (
        "[mm0] a = MatMul(x, eye) [square] q = Mul(a, a) [mean0] p = ReduceMean<axes = [-1]>(q) "
        "[mean1] m = ReduceMean<axes = [-1]>(a) [square1] r = Mul(m, m)\n"
        "              [variance] v = Sub(p, r) [mm1] y = MatMul(v, one)"
    )
    x = np.array([[16, 17, 18, 19], [20, 21, 21, 22], [30, 33, 31, 32], [17, 17, 19, 17]], np.float32)
    return Case(
        model("float[4,4] x => float[4,1] y", body, {"eye": EYE, "one": np.ones((1, 1), np.float32)}), feeds={"x": x}
    )


@demonstrates("wide values", ("float16",))
def quiet_power_spectrum():
    """Squares magnitudes of 0.0003: float16 has no such squares, and only their shares of the largest count."""
    body = (
        "[re] a = MatMul(x, eye) [im] b = MatMul(z, eye) [square0] p = Mul(a, a) [square1] q = Mul(b, b) "
        "[power] s = Add(p, q) [mel] m = MatMul(s, bank)\n"
        "              [largest] l = ReduceMax<keepdims = 1>(m) [share] d = Div(m, l) [mm] y = MatMul(d, eye)"
    )
    feeds = {"x": array(4, 4, low=1e-4, high=4e-4), "z": array(4, 4, low=1e-4, high=4e-4, seed=3)}
    return Case(
        model("float[4,4] x, float[4,4] z => float[4,4] y", body, {"eye": EYE, "bank": array(4, 4, seed=2)}),
        feeds=feeds,
    )


@demonstrates("wide values", ("float16",))
def loud_power_spectrum_of_a_network():
    """Multiplies powers above 65504; nothing brings them back.

    Everything from the transform to the sum of squares is denied. Without the guard the product gets a float16 copy of
    the powers.
    """
    body = (
        "[stft] z = STFT(x, step, , length) [square] q = Pow(z, two) [power] s = ReduceSum<keepdims = 0>(q, last) "
        "[mel] m = MatMul(s, bank) [scale] n = Mul(m, tiny)\n"
        "              [mm0] g = MatMul(n, eye) [tanh] t = Tanh(g) [mm1] y = MatMul(t, eye)"
    )
    weights = {
        "step": np.int64(8),
        "length": np.int64(16),
        "two": np.float32(2),
        "last": LAST,
        "bank": array(9, 4, seed=2),
        "tiny": np.float32(1e-3),
        "eye": EYE * np.float32(1e-3),
    }
    return Case(
        model("float[1,64,1] x => float[1,7,4] y", body, weights), feeds={"x": array(1, 64, 1, low=-300, high=300)}
    )


@demonstrates("wide values", ("float16",))
def softmax_divided_behind_the_product():
    """Weighs a mean by exp(14), which is beyond float16; the mean is not."""
    body = (
        "[mm0] a = MatMul(x, eye) [exp] e = Exp(a) [sum] s = ReduceSum(e, last) [weigh] n = MatMul(e, v) "
        "[share] d = Div(n, s) [mm1] y = MatMul(d, eye)"
    )
    return Case(
        model("float[4,4] x => float[4,4] y", body, {"eye": EYE, "last": LAST, "v": array(4, 4)}),
        feeds={"x": np.array([[14, 13, 11, 12], [2, 14, 0, 1], [13, 12, 14, 1], [12, 11, 13, 10]], np.float32)},
    )


@demonstrates("masks")
def rows_that_are_hidden_as_a_whole():
    """Hides by the least float32, which is -inf in 16 bits: a row of these alone has no softmax."""
    body = "[mm0] a = MatMul(x, eye) [hide] s = Add(a, mask) [share] p = Softmax(s) [mm1] y = MatMul(p, eye)"
    mask = np.zeros((4, 4), np.float32)
    mask[0] = mask[2, 1:] = np.finfo(np.float32).min
    made = model("float[4,4] x, float[4,4] mask => float[4,4] y", body, {"eye": EYE})
    return Case(made, feeds={"x": array(4, 4), "mask": mask})


@demonstrates("demands", ("float16",))
def areas_of_boxes():
    """Computes areas of up to 409600 from sides of up to 640 pixels; a share of the picture is left of them."""
    body = (
        "[mm0] a = MatMul(x, eye) [gate] p = Sigmoid(a) [scale] w = Mul(p, side) [area] s = Mul(w, w) "
        "[share] n = Mul(s, part) [mm1] y = MatMul(n, eye)"
    )
    weights = {"eye": EYE, "side": np.float32(640), "part": np.float32(2.0**-18)}
    return Case(model("float[4,4] x => float[4,4] y", body, weights), feeds={"x": array(4, 4, low=1, high=4)})


@demonstrates("demands", ("float16",))
def points_by_a_camera():
    """Projects points: the camera's product reaches 120000 before the division by the distance."""
    body = (
        "[mm0] a = MatMul(x, eye) [clip] p = Clip(a, near, far) [project] q = MatMul(p, camera) "
        "[part] u = Slice(q, zero, two, last) [depth] d = Slice(q, two, three, last)\n"
        "              [divide] n = Div(u, d) [mm1] y = MatMul(n, half)"
    )
    camera = np.array([[1200, 0, 0], [0, 1200, 0], [640, 360, 1]], np.float32)
    weights = {
        "eye": np.eye(3, dtype=np.float32),
        "near": np.float32(-100),
        "far": np.float32(100),
        "camera": camera,
        "zero": np.array([0]),
        "two": np.array([2]),
        "three": np.array([3]),
        "last": LAST,
        "half": np.array([[0.5, 0], [0, 0.5]], np.float32),
    }
    return Case(model("float[4,3] x => float[4,2] y", body, weights), feeds={"x": array(4, 3, low=60, high=98)})


@demonstrates("demands")
def odds_of_what_is_nearly_sure():
    """Computes odds: the largest probability is one in both low types, so that its odds are infinite."""
    body = (
        "[mm0] a = MatMul(x, eye) [gate] g = Sigmoid(a) [clip] p = Clip(g, least, largest) [rest] r = Sub(one, p) "
        "[odds] o = Div(p, r) [log] l = Log(o) [mm1] y = MatMul(l, eye)"
    )
    weights = {"eye": EYE, "least": np.float32(1e-4), "largest": np.float32(1 - 1e-4), "one": np.float32(1)}
    x = np.array([[20, 1, 2, 15], [1, 20, 14, 1], [1, 13, 20, 2], [1, 1, 1, 16]], np.float32)
    return Case(model("float[4,4] x => float[4,4] y", body, weights), feeds={"x": x}, flags=["--follow", "on"])


@demonstrates("demands", ("float16",))
def logarithm_of_probabilities():
    """Takes logarithms of probabilities down to 1e-9, which are 0 in float16."""
    body = "[mm0] a = MatMul(x, eye) [share] p = Softmax(a) [log] l = Log(p) [mm1] y = MatMul(l, eye)"
    x = np.array([[20, 1, 2, 15], [1, 20, 14, 1], [1, 13, 20, 2], [1, 1, 1, 16]], np.float32)
    return Case(model("float[4,4] x => float[4,4] y", body, {"eye": EYE}), feeds={"x": x}, flags=["--follow", "on"])


@demonstrates("demands")
def odds_without_bounds():
    """Divides by what a gate leaves of 1: a rounding of the gate is all of it."""
    body = (
        "[mm0] a = MatMul(x, eye) [gate] g = Sigmoid(a) [rest] r = Sub(one, g) [odds] o = Div(g, r) "
        "[root] s = Sqrt(o) [mm1] y = MatMul(s, eye)"
    )
    x = np.array([[9, 1, 2, 7], [1, 9, 8, 1], [1, 8, 9, 2], [1, 1, 1, 8]], np.float32)
    weights = {"eye": EYE, "one": np.float32(1)}
    return Case(model("float[4,4] x => float[4,4] y", body, weights), feeds={"x": x}, flags=["--follow", "on"])


@demonstrates("demands")
def angles_of_hundreds_of_radians():
    """Takes sines of products by a constant matrix of size 300."""
    body = "[angles] a = MatMul(x, b) [sine] s = Sin(a) [mm1] y = MatMul(s, eye)"
    weights = {"b": 300 * array(4, 4, seed=5), "eye": EYE}
    x = np.array([[1, 2, 3, 4], [2, -1, 1, 3], [4, 1, -2, 2], [3, 3, 1, 1]], np.float32)
    return Case(model("float[4,4] x => float[4,4] y", body, weights), feeds={"x": x}, flags=["--follow", "on"])


@demonstrates("demands")
def a_thousand_rounds():
    """Adds a thousandth of a state to it, a thousand times: in 16 bits hardly any of them counts."""
    body = (
        "[mm0] a = MatMul(x, eye) [loop] h = Loop(rounds, go, a) <body = b (int64 i, bool c, float[4,4] s) => "
        "(bool again, float[4,4] t) { [keep] again = Identity(c) [slope] k = MatMul(s, eye) [scale] d = Mul(k, step) "
        "[add] t = Add(s, d) }> [mm1] y = MatMul(h, eye)"
    )
    weights = {"eye": EYE, "rounds": np.int64(1000), "go": np.bool_(True), "step": np.float32(0.001)}
    x = np.array([[1, 2, 3, 4], [2, 1, 1, 3], [4, 1, 2, 2], [3, 3, 1, 1]], np.float32)
    return Case(model("float[4,4] x => float[4,4] y", body, weights), feeds={"x": x}, flags=["--follow", "on"])


@demonstrates("demands")
def flow_from_coordinates():
    """Finds a step of a fraction of a pixel, at the thousandth."""
    body = (
        "[mm0] a = MatMul(x, eye) [move0] c = Add(a, grid) [mm1] b = MatMul(a, eye) [move1] d = Add(c, b) "
        "[flow] f = Sub(d, grid) [mm2] y = MatMul(f, eye)"
    )
    return Case(
        model("float[4,4] x => float[4,4] y", body, {"eye": EYE, "grid": np.array([1, 500, 1000, 1500], np.float32)})
    )


@demonstrates("log-sum-exp by hand")
def log_softmax_by_the_batch_maximum():
    """Subtracts the maximum of the batch: the second row lies 65 below it.

    16 bits have steps of 1/16 and 1/2 there, and the row's probabilities depend on less.
    """
    body = (
        "[mm0] a = MatMul(x, eye) [max] m = ReduceMax(a) [shift] d = Sub(a, m) [exp] e = Exp(d) "
        "[sum] s = ReduceSum(e, last) [log] l = Log(s) [share] p = Sub(d, l)\n"
        "              [tail] y = Slice(p, one, two)"
    )
    weights = {"eye": EYE, "last": LAST, "one": np.array([1]), "two": np.array([2])}
    x = np.array([[65, 64, 65, 65], [0.28125, 0.90625, 0.40625, 0.71875]], np.float32)
    return Case(model("float[2,4] x => float[1,4] y", body, weights), feeds={"x": x}, flags=["--follow", "on"])


def run_adding_low(made, feeds):
    """Runs the model with low pools over a whole plane as running sums in their own type.

    A target without float32 accumulators computes them so.
    """
    types = scopes.typed_graphs(made)[0][2]
    spelled = onnx.ModelProto.FromString(made.SerializeToString())
    nodes = []
    for node in made.graph.node:
        kind = types.get(node.output[0])
        if node.op_type != "GlobalAveragePool" or kind not in DTYPES.values():
            nodes.append(node)
            continue
        info = lambda name: helper.make_tensor_value_info(name, kind, None)
        step = helper.make_graph(
            [helper.make_node("Add", ["sum_in", "element"], ["sum_out"])],
            "step",
            [info("sum_in"), info("element")],
            [info("sum_out")],
        )
        count = PLANE[0] * PLANE[1]
        constants = {"rows": np.array([1, 4, count]), "shape": np.array([1, 4, 1, 1])}
        spelled.graph.initializer.extend(numpy_helper.from_array(a, name) for name, a in constants.items())
        spelled.graph.initializer.append(helper.make_tensor("zeros", kind, [1, 4], np.zeros(4)))
        spelled.graph.initializer.append(helper.make_tensor("share", kind, [], [1 / count]))
        nodes += [
            helper.make_node("Reshape", [node.input[0], "rows"], ["flat"]),
            helper.make_node("Transpose", ["flat"], ["elements"], perm=[2, 0, 1]),
            helper.make_node("Scan", ["zeros", "elements"], ["total"], num_scan_inputs=1, body=step),
            helper.make_node("Mul", ["total", "share"], ["average"]),
            helper.make_node("Reshape", ["average", "shape"], [node.output[0]]),
        ]
    del spelled.graph.node[:], spelled.graph.value_info[:]
    spelled.graph.node.extend(nodes)
    return rounding.run_rounded(spelled, feeds)


PLANE = 64, 64


@demonstrates("long reductions", ("float16",), run_adding_low)
def pool_of_a_plane():
    body = "[conv0] a = Conv(x, w) [pool] p = GlobalAveragePool(a) [conv1] y = Conv(p, w)"
    return Case(model(f"float[1,4,{PLANE[0]},{PLANE[1]}] x => float[1,4,1,1] y", body, {"w": array(4, 4, 1, 1)}))


def run_scattering_low(made, feeds):
    """Runs the model with low scatters that add one update after the other in their own type."""
    types = scopes.typed_graphs(made)[0][2]
    spelled = onnx.ModelProto.FromString(made.SerializeToString())
    for node in spelled.graph.node:
        kind = types.get(node.output[0])
        if node.op_type != "ScatterND" or kind not in DTYPES.values():
            continue
        info = lambda name, kind=kind: helper.make_tensor_value_info(name, kind, None)
        one = helper.make_node("ScatterND", ["sum_in", "place", "update"], ["sum_out"], reduction="add")
        step = helper.make_graph(
            [one],
            "step",
            [info("sum_in"), helper.make_tensor_value_info("place", TensorProto.INT64, None), info("update")],
            [info("sum_out")],
        )
        node.CopyFrom(helper.make_node("Scan", node.input, node.output, num_scan_inputs=2, body=step))
    del spelled.graph.value_info[:]
    return rounding.run_rounded(spelled, feeds)


UPDATES = 400


@demonstrates("scatter reductions", ("bfloat16",), run_scattering_low)
def many_rows_into_one():
    """Adds rows of ones into one row: a bfloat16 sum of ones stops at 256."""
    body = '[mm0] v = MatMul(u, eye) [scatter] s = ScatterND<reduction = "add">(zeros, at, v) [mm1] y = MatMul(s, eye)'
    weights = {"eye": EYE, "zeros": np.zeros((4, 4), np.float32)}
    feeds = {"u": np.ones((UPDATES, 4), np.float32), "at": np.zeros((UPDATES, 1), np.int64)}
    return Case(model(f"float[{UPDATES},4] u, int64[{UPDATES},1] at => float[4,4] y", body, weights), feeds=feeds)


STEPS = 1000


def run_steps(made, feeds):
    """Runs the model again and again: the output `next` becomes the input `average`."""
    given = dict(feeds)
    wide = rounding.widen(made)
    session = rounding.session(wide.model)
    names = [o.name for o in session.get_outputs()]
    for _ in range(STEPS):
        got = dict(zip(names, session.run(None, given), strict=True))
        given["average"] = got["next"]
    return got


@demonstrates("state", run=run_steps)
def running_average():
    """Keeps 0.998 of an average and takes 0.002 of something constant.

    A step below half a unit in the last place is lost.
    """
    body = "[mm] y = MatMul(x, w) [keep] a = Mul(average, decay) [take] b = Mul(y, rate) [step] next = Add(a, b)"
    weights = {"w": EYE, "decay": np.float32(0.998), "rate": np.float32(0.002)}
    made = model("float[4,4] x, float[4,4] average => float[4,4] y, float[4,4] next", body, weights)
    return Case(
        made,
        feeds={"x": array(4, 4, low=1.5, high=2), "average": np.ones((4, 4), np.float32)},
        flags=["--follow", "on"],
    )


@demonstrates("quantised")
def product_just_below_a_step():
    """Quantises a sum of 2059, which lies below the middle between two steps of 8 bits.

    The low types make 2060 and 2064 of it, which lie above.
    """
    body = (
        "[data] xd = DequantizeLinear(x8, one) [weights] wd = DequantizeLinear(w8, one) [product] p = MatMul(xd, wd) "
        "[narrow] y8 = QuantizeLinear(p, step, zero)\n"
        "              [wide] d = DequantizeLinear(y8, one) [mm] y = MatMul(d, last)"
    )
    weights = {
        "last": np.array([[1]], np.float32),
        "one": np.float32(1),
        "w8": np.array([[64], [1]], np.int8),
        "step": np.float32(4119),
        "zero": np.int8(0),
    }
    return Case(
        model("int8[2,2] x8 => float[2,1] y", body, weights), feeds={"x8": np.array([[32, 11], [96, 0]], np.int8)}
    )


@keeps_loading("transposed batches")
def sequences_first():
    body = "[turn] b = Transpose<perm = [1,0,2]>(x) [mm] y = MatMul(b, w)"
    return model("float[2,3,4] x => float[3,2,4] y", body, {"w": array(4, 4)})


class Judge:
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, pathlib.Path(folder)
        self.passed = self.failed = 0

    def expect(self, ok, what):
        self.passed, self.failed = self.passed + bool(ok), self.failed + (not ok)
        if not ok:
            print(f"FAIL {what}", flush=True)

    def rewrite(self, source, flags):
        """Rewrites the file. Returns (rewritten model, report)."""
        out, report = self.folder / "out.onnx", self.folder / "report.json"
        answer = self.tool.run([source, "-o", out, "--report", report, *flags])
        if answer.exit:
            raise RuntimeError(f"exit {answer.exit}: {answer.first_error()}")
        return onnx.load(out), json.loads(report.read_text())

    def demonstrate(self, guard, name, dtype, case, run):
        source = self.folder / "in.onnx"
        source.write_bytes(case.model.SerializeToString(deterministic=True))
        feeds = fill_feeds(case)
        reference, texts = run(case.model, feeds), []
        for group in ("all", "constants"):
            result, report = self.rewrite(
                source, ["--dtype", dtype, *case.flags, "--guards", group, "--keep-decomposed"]
            )
            difference = rounding.compare(reference, run(result, feeds))
            limit = rounding.bound(result, DTYPES[dtype])
            refused = runtimes.problems(case.model, result, dtype, feeds)
            self.expect(not refused, f"{guard}: {name} {dtype} --guards {group}: {refused[:1]}")
            same = all(difference.equal[output] == 1 for output in case.exact)
            right = difference.worst <= limit and not difference.new_bad and not difference.wrong and same
            integers = "".join(f", {share:.0%} of {output} equal" for output, share in difference.equal.items())
            texts.append(f"{difference.worst:.2g} of {limit:.2g}, {difference.new_bad} new NaN / Inf{integers}")
            label = f"{guard}: {name} {dtype} --guards {group}: {texts[-1]}"
            if group == "constants":
                self.expect(not right, f"{label}: right without the guard: shows nothing")
                continue
            self.expect(right, label)
            held = [n["path"] for n in report["nodes"] if n["because"].startswith(f"guard: {guard}:")]
            self.expect(held, f"{label}: no node is high for this guard")
            self.expect(report["totals"]["low"], f"{label}: nothing is low")
        print(f"{guard:20} {name:34} {dtype:9} with it {texts[0]:48} without {texts[1]}", flush=True)

    def demonstrate_loading(self, guard, name, original):
        source = self.folder / "in.onnx"
        source.write_bytes(original.SerializeToString(deterministic=True))
        answers = {}
        for group in ("all", "constants"):
            result, report = self.rewrite(source, ["--dtype", "float16", "--guards", group])
            answers[group] = runtimes.default_session_error(result)
            self.expect(report["totals"]["low"], f"{guard}: {name} --guards {group}: nothing is low")
        self.expect(answers["all"] is None, f"{guard}: {name}: with the guard: {answers['all']}")
        self.expect(
            "crashed" in (answers["constants"] or ""),
            f"{guard}: {name}: without the guard: {answers['constants']}: shows nothing",
        )
        print(f"{guard:20} {name:34} float16   with it: loaded; without: {answers['constants']}", flush=True)

    def count_alarms(self, paths):
        for dtype in DTYPES:
            heavy, alarms, held = 0, collections.Counter(), collections.Counter()
            for path in paths:
                answer = self.tool.run([path, "--dry-run", "--dtype", dtype, "--report", self.folder / "report.json"])
                if answer.exit:
                    self.expect(False, f"{path.stem} {dtype}: exit {answer.exit}: {answer.first_error()}")
                    continue
                for node in json.loads((self.folder / "report.json").read_text())["nodes"]:
                    guard = next(
                        (g for g in GUARDS + LOADING_GUARDS if node["because"].startswith(f"guard: {g}:")), None
                    )
                    heavy += node["heavy"]
                    held[guard] += 1
                    if guard and node["heavy"]:
                        alarms[guard] += 1
                        print(f"  {dtype} {path.stem}: {node['path']}: {node['because']}")
            for guard in GUARDS + LOADING_GUARDS:
                print(f"{dtype}: {guard}: {alarms[guard]} of {heavy} heavy nodes, {held[guard]} nodes of all kinds")
            count = sum(alarms.values())
            self.expect(
                heavy and count <= MAX_ALARMS * heavy,
                f"{dtype}: structural guards keep {count} of {heavy} heavy nodes high, more than {MAX_ALARMS:.0%}",
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--only", default="", help="demonstrations whose guard or name holds this text")
    parser.add_argument("--demonstrations", action="store_true", help="leave the false alarms out")
    arguments = parser.parse_args()
    models, has_models = shared_folder(), (shared_folder() / "models").is_dir()
    with tempfile.TemporaryDirectory() as folder, Tool(arguments.tool) as tool:
        judge = Judge(tool, folder)
        shown = {guard for guard, *_ in DEMONSTRATIONS}
        judge.expect(shown == set(GUARDS), f"guards without a demonstration: {set(GUARDS) - shown}")
        judge.expect(
            {guard for guard, *_ in LOADING} == set(LOADING_GUARDS),
            "a guard that keeps runtimes from dying without a demonstration",
        )
        for guard, name, dtypes, build, run in DEMONSTRATIONS:
            for dtype in dtypes:
                if arguments.only in guard or arguments.only in name:
                    judge.demonstrate(guard, name, dtype, build(), run)
        for guard, name, build in LOADING:
            if arguments.only in guard or arguments.only in name:
                judge.demonstrate_loading(guard, name, build())
        if has_models and not arguments.only and not arguments.demonstrations:
            judge.count_alarms(
                sorted((models / "models").glob("*.onnx")) + sorted((models / "conformance" / "light").glob("*.onnx"))
            )
    print(runtimes.TOTALS)
    print(f"{judge.passed} passed, {judge.failed} failed")
    if judge.failed or not judge.passed:
        return 1
    if not has_models and not arguments.demonstrations:
        print(f"SKIPPED: no models in {models / 'models'} (set AMP_SHARED): FALSE ALARMS WERE NOT COUNTED")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
