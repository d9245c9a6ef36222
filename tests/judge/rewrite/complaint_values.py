"""Complaints 21 to 29 and 45 to 50: values that 16 bits cannot hold, and lists of operators.

The values are constants or computed. The lists say which operators may try.
"""

import numpy as np
from onnx import TensorProto

from judge.rewrite.complaint_case import (
    FLOAT,
    Case,
    array,
    because,
    casts_of,
    complaint,
    gives,
    high,
    holds_weight,
    low,
    low_weights,
    model,
    only,
    reads_float32,
    reported,
)

LOWEST = np.float32(-3.4028235e38)
INT64 = TensorProto.INT64


def causal(value):
    return np.triu(np.full((4, 4), value, np.float32), 1)


# ---- masks


@complaint("21")
def mask_lowest():
    """Masks scores that are negative: any finite 16-bit mask overflows when they are added to it.

    The last row is masked altogether.
    """
    mask = causal(LOWEST)
    mask[3] = LOWEST
    body = "[qk] s = MatMul(x, w) [mask] m = Add(s, mask) [softmax] p = Softmax(m) [pv] y = MatMul(p, w)"
    return Case(
        model("float[4,4] x => float[4,4] y", body, {"w": array(4, 4), "mask": mask}),
        [low("qk", "pv"), high("mask"), reads_float32("mask", 1)],
        {"x": -array(4, 4, high=200)},
    )


@complaint("21")
def mask_mul():
    """Computes the mask (1 - mask) * lowest: once the constant is -inf, the mask's zeros become NaN."""
    body = (
        "[mm] m = MatMul(keep, eye) [inverse] i = Sub(one, m) [scale] b = Mul(i, lowest) [qk] s = MatMul(x, w) "
        "[add] t = Add(s, b) [softmax] p = Softmax(t)\n"
        "              [pv] y = MatMul(p, w)"
    )
    weights = {"w": array(4, 4), "eye": np.eye(4, dtype=np.float32), "one": np.float32(1), "lowest": LOWEST}
    return Case(
        model("float[4,4] x, float[4,4] keep => float[4,4] y", body, weights),
        [low("qk", "pv"), high("scale"), reads_float32("scale", 1)],
        {"keep": np.tril(np.ones((4, 4), np.float32))},
    )


@complaint("21")
def neg_inf_mask():
    """Masks with infinity on purpose: the mask stays infinite, and keeps nothing high."""
    body = (
        "[qk] s = MatMul(x, w) [mask] m = Add(s, mask) [relu] r = Relu(m) [pv] y = MatMul(r, w) "
        "[softmax] p = Softmax(m)"
    )
    made = model("float[4,4] x => float[4,4] y, float[4,4] p", body, {"w": array(4, 4), "mask": causal(-np.inf)})
    return Case(
        made,
        [
            low("qk", "mask", "pv"),
            low_weights(
                lambda found: any(np.isneginf(a.astype(np.float32)).sum() == 6 for a in found),
                "the mask's 6 infinities",
            ),
        ],
    )


@complaint("21")
def neg_inf_where():
    body = (
        "[qk] s = MatMul(x, w) [mask] m = Where(keep, s, inf) [relu] r = Relu(m) [pv] y = MatMul(r, w) "
        "[softmax] p = Softmax(m)"
    )
    weights = {"w": array(4, 4), "keep": np.tril(np.ones((4, 4), bool)), "inf": np.float32(-np.inf)}
    return Case(
        model("float[4,4] x => float[4,4] y, float[4,4] p", body, weights),
        [
            low("qk", "mask", "pv"),
            low_weights(lambda found: any(np.isneginf(a).any() for a in found if a.ndim == 0), "-inf"),
        ],
    )


@complaint("22")
def overflowing_weight():
    body = "[mm0] a = MatMul(x, w) [mm1] y = MatMul(a, big)"
    big = array(4, 4)
    big[0, 0] = 1e5
    return Case(
        model("float[4,4] x => float[4,4] y", body, {"w": array(4, 4), "big": big}),
        [
            low("mm0"),
            only("float16", high("mm1"), holds_weight("big", FLOAT), because("mm1", "1 of 16")),
            only("bfloat16", low("mm1")),
        ],
    )


@complaint("22")
def clip_bound_beyond_range():
    body = "[mm0] a = MatMul(x, w) [clip] b = Clip(a, lo, hi) [mm1] y = MatMul(b, w)"
    said = reported(lambda r: any(w["saturated"] for w in r["weights"]), "the bound was saturated")
    return Case(
        model("float[4,4] x => float[4,4] y", body, {"w": array(4, 4), "lo": np.float32(-1e6), "hi": np.float32(1e6)}),
        [low("mm0", "clip", "mm1"), only("float16", said)],
    )


@complaint("22")
def no_arbitrary_clamp():
    """Shows that weights which fit are not clamped, as 20000, and tiny ones become 0, as 1e-9.

    Another tool clamps at 1e4 and at 1e-7 by default.
    """
    body = "[mm0] a = MatMul(x, w) [mm1] y = MatMul(a, v)"
    v = np.zeros((4, 5), np.float32)
    v[0, 0], v[1, 1], v[2, 2], v[3, 3] = 20000, 1, 65504, 1e-9
    return Case(
        model("float[4,4] x => float[4,5] y", body, {"w": array(4, 4, high=0.2), "v": v}),
        [
            low("mm0", "mm1"),
            only(
                "float16",
                low_weights(
                    lambda found: any(a.max() == 65504 and a[0, 0] == 20000 and a[3, 3] == 0 for a in found),
                    "20000, 65504 and 0",
                ),
            ),
        ],
    )


@complaint("23")
def eps_underflow():
    """Divides by sqrt(x^2 + 1e-12), where the first row is zero.

    0 / sqrt(1e-12) is 0, and 0 / sqrt(0) is not a number.
    """
    body = (
        "[mm0] m = MatMul(x, w) [square] q = Mul(m, m) [eps] e = Add(q, eps) [sqrt] s = Sqrt(e) [div] d = Div(m, s) "
        "[mm1] y = MatMul(d, w)"
    )
    x = array(4, 4)
    x[0] = 0
    return Case(
        model("float[4,4] x => float[4,4] y", body, {"w": array(4, 4), "eps": np.float32(1e-12)}),
        [low("mm0", "mm1"), only("float16", high("eps"), reads_float32("eps", 1), because("eps", "1e-12"))],
        {"x": x},
    )


@complaint("23")
def dead_channel_of_a_bias():
    """Adds a bias in which 1e-28 becomes 0, beside fifteen ordinary elements and the product."""
    bias = array(16, seed=2)
    bias[3] = 1e-28
    return Case(
        model(
            "float[1,3,8,8] x => float[1,16,6,6] y", "[conv] y = Conv(x, w, b)", {"w": array(16, 3, 3, 3), "b": bias}
        ),
        [low("conv")],
    )


@complaint("23")
def tiny_addend_beside_a_product():
    body = "[mm0] a = MatMul(x, w) [add] b = Add(a, tiny) [mm1] y = MatMul(b, w)"
    return Case(
        model("float[4,4] x => float[4,4] y", body, {"w": array(4, 4), "tiny": np.float32(1e-12)}),
        [low("mm0", "add", "mm1")],
    )


@complaint("23")
def epsilon_before_a_logarithm():
    """Takes the logarithm of a first row that is zero: the result is that of the epsilon."""
    body = "[mm0] a = MatMul(x, w) [add] b = Add(a, tiny) [log] y = Log(b)"
    x = array(4, 4)
    x[0] = 0
    return Case(
        model("float[4,4] x => float[4,4] y", body, {"w": array(4, 4), "tiny": np.float32(1e-9)}),
        [low("mm0"), only("float16", high("add"), because("add", "1e-09"))],
        {"x": x},
        ["--follow", "on"],
    )


# ---- sums


@complaint("24")
def reducemean_large():
    """Reduces 300 * 300 elements of about 1: their sum and number are beyond float16, their mean is not."""
    body = (
        "[mm0] a = MatMul(x, w) [mean] m = ReduceMean<axes = [0, 1], keepdims = 1>(a) [sum] s = ReduceSum(a, axes) "
        "[ratio] r = Div(s, n) [add] b = Add(m, r) [mm1] y = MatMul(b, one)"
    )
    weights = {"w": array(4, 300), "axes": np.array([0, 1]), "n": np.float32(90000), "one": np.ones((1, 1), np.float32)}
    return Case(
        model("float[300,4] x => float[1,1] y", body, weights),
        [low("mm0", "mm1"), only("float16", high("mean", "sum"))],
    )


@complaint("24")
def global_average_pool_large():
    body = "[conv0] a = Conv(x, w) [pool] p = GlobalAveragePool(a) [conv1] y = Conv(p, w)"
    return Case(
        model("float[1,4,64,64] x => float[1,4,1,1] y", body, {"w": array(4, 4, 1, 1)}),
        [low("conv0", "conv1"), only("float16", high("pool"))],
    )


# ---- norms written out


LAYERNORM = (
    "[mm0] a = MatMul(x, w) [mean] m = ReduceMean<axes = [-1]>(a) [center] c = Sub(a, m) [pow] q = Pow(c, two) "
    "[var] v = ReduceMean<axes = [-1]>(q)\n"
    "               [eps] e = Add(v, eps) [sqrt] s = Sqrt(e) [div] d = Div(c, s) [scale] t = Mul(d, gamma) "
    "[shift] u = Add(t, beta) [mm1] y = MatMul(u, w)"
)


def layernorm_case(checks, flags):
    weights = {
        "w": array(8, 8),
        "two": np.float32(2),
        "eps": np.float32(1e-5),
        "gamma": array(8, seed=2),
        "beta": array(8, seed=3),
    }
    return Case(model("float[4,8] x => float[4,8] y", LAYERNORM, weights), checks, {"x": spread(4, 8, 2000)}, flags)


@complaint("25")
def layernorm_becomes_one_operator():
    """Shows that the norm becomes one operator, low in and out.

    Its statistics are float32 inside: squares of 2000 are beyond float16.
    """
    return layernorm_case([low("mm0", "shift", "mm1")], [])


@complaint("25")
def spread_layernorm_becomes_one_operator():
    """Writes the norm as Keras does: x * s + (beta - mean * s)."""
    body = (
        LAYERNORM.split("[div]")[0]
        + "[inverse] r = Reciprocal(s) [scale] g = Mul(r, gamma) [product] p = Mul(a, g) [of_mean] o = Mul(m, g) "
        "[shift] h = Sub(beta, o)\n"
        "               [sum] u = Add(p, h) [mm1] y = MatMul(u, w)"
    )
    weights = {
        "w": array(8, 8),
        "two": np.float32(2),
        "eps": np.float32(1e-5),
        "gamma": array(8, seed=2),
        "beta": array(8, seed=3),
    }
    return Case(
        model("float[4,8] x => float[4,8] y", body, weights), [low("mm0", "sum", "mm1")], {"x": spread(4, 8, 2000)}, []
    )


@complaint("25")
def layernorm_by_a_difference_of_squares_becomes_one_operator():
    """Writes the norm by sums, as flax does: the variance is E[x^2] - E[x]^2, and not below 0."""
    body = (
        "[mm0] a = MatMul(x, w) [sum0] n = ReduceSum(a, last) [mean] m = Mul(n, eighth) [square] q = Mul(a, a) "
        "[sum1] t = ReduceSum(q, last) [mean1] v = Mul(t, eighth)\n"
        "              [square1] k = Mul(m, m) [variance] h = Sub(v, k) [bound] b = Max(h, zero) "
        "[eps] e = Add(b, eps) [sqrt] s = Sqrt(e) [inverse] r = Reciprocal(s)\n"
        "              [scale] g = Mul(r, gamma) [center] c = Sub(a, m) [product] p = Mul(c, g) "
        "[shift] u = Add(p, beta) [mm1] y = MatMul(u, w)"
    )
    weights = {
        "w": array(8, 8),
        "last": np.array([-1]),
        "eighth": np.float32(0.125),
        "zero": np.float32(0),
        "eps": np.float32(1e-5),
        "gamma": array(8, seed=2),
        "beta": array(8, seed=3),
    }
    return Case(
        model("float[4,8] x => float[4,8] y", body, weights),
        [low("mm0", "shift", "mm1")],
        {"x": spread(4, 8, 2000)},
        [],
    )


@complaint("25")
def layernorm_by_hand_with_scale():
    """Keeps the small operators, of which onnxruntime makes one LayerNormalization.

    That one has its input, scale and shift in one type.
    """
    return layernorm_case(
        [low("mm0", "scale", "shift", "mm1"), high("mean", "center", "pow", "var", "eps", "sqrt")],
        ["--keep-decomposed"],
    )


@complaint("25")
def layernorm_by_hand():
    body = (
        "[mm0] a = MatMul(x, w) [mean] m = ReduceMean<axes = [-1]>(a) [center] c = Sub(a, m) [pow] q = Pow(c, two) "
        "[var] v = ReduceMean<axes = [-1]>(q)\n"
        "              [eps] e = Add(v, eps) [sqrt] s = Sqrt(e) [div] d = Div(c, s) [mm1] y = MatMul(d, w)"
    )
    weights = {"w": array(8, 8), "two": np.float32(2), "eps": np.float32(1e-5)}
    return Case(
        model("float[4,8] x => float[4,8] y", body, weights),
        [low("mm0", "mm1"), high("mean", "center", "pow", "var", "eps", "sqrt", "div")],
        {"x": spread(4, 8, 2000)},
        ["--keep-decomposed"],
    )


def spread(rows, columns, size):
    """Returns rows of one sign each, with magnitudes up to `size`."""
    return array(rows, columns, low=0.1, high=size) * np.where(np.arange(rows) % 2, -1, 1)[:, None].astype(np.float32)


RMSNORM = (
    "[mm0] a = MatMul(x, w) [square] q = Mul(a, a) [mean] v = ReduceMean<axes = [-1]>(q) [eps] e = Add(v, eps) "
    "[sqrt] s = Sqrt(e) [div] d = Div(a, s)\n"
    "             [mm1] y = MatMul(d, w)"
)
ISLAND = ("square", "mean", "eps", "sqrt", "div")


def rms_case(flags):
    return Case(
        model("float[4,8] x => float[4,8] y", RMSNORM, {"w": array(8, 8), "eps": np.float32(1e-5)}),
        [low("mm0", "mm1"), high(*ISLAND)],
        {"x": spread(4, 8, 500)},
        flags,
    )


@complaint("25")
def rmsnorm_by_hand():
    """Normalises activations of 1000, whose squares are beyond float16.

    Only by the mean is the square on the way to another MatMul.
    """
    return rms_case([])


@complaint("25")
def rmsnorm_by_hand_followed():
    """Lets operators follow an allowed one: the square runs in 16 bits unless the norm is seen as an island."""
    return rms_case(["--profile", "tf-latest", "--follow", "on"])


@complaint("25")
def rmsnorm_with_pow():
    body = RMSNORM.replace("Mul(a, a)", "Pow(a, two)")
    return Case(
        model("float[4,8] x => float[4,8] y", body, {"w": array(8, 8), "eps": np.float32(1e-5), "two": np.float32(2)}),
        [low("mm0", "mm1"), only("float16", high(*ISLAND))],
        {"x": spread(4, 8, 500)},
    )


@complaint("25")
def l2norm_between_products():
    """Divides x by |x|, whose square is a product: everything lies between two allowed operators."""
    body = (
        "[mm0] a = MatMul(x, w) [square] q = Mul(a, a) [sum] t = MatMul(q, ones) [sqrt] s = Sqrt(t) "
        "[div] d = Div(a, s) [mm1] y = MatMul(d, w)"
    )
    return Case(
        model("float[4,8] x => float[4,8] y", body, {"w": array(8, 8), "ones": np.ones((8, 1), np.float32)}),
        [low("mm0", "mm1"), high("square", "sqrt", "div")],
        {"x": spread(4, 8, 500)},
    )


# ---- counts and positions


@complaint("26")
def shape_length_math():
    """Computes the length 4099 in floats, where float16 counts to 2048 and bfloat16 to 256."""
    body = (
        "[shape] s = Shape(x) [pick] i = Gather(s, zero) [cast] f = Cast<to = 1>(i) [half] h = Div(f, two) "
        "[floor] g = Floor(h) [back] n = Cast<to = 7>(g) [end] e = Unsqueeze(n, axis)\n"
        "              [slice] c = Slice(x, start, e) [mm] y = MatMul(c, w)"
    )
    weights = {
        "zero": np.int64(0),
        "two": np.float32(2),
        "start": np.array([0]),
        "axis": np.array([0]),
        "w": array(4, 4),
    }
    return Case(
        model("float[n,4] x => float[k,4] y, int64 n", body, weights),
        [low("mm"), high("cast", "half", "floor", "back")],
        {"x": array(4099, 4)},
        exact=("n",),
    )


@complaint("26")
def duration_lengths():
    """Makes lengths of predicted durations above 2048.

    All that the product of the durations reads is exact in 16 bits; what it gives is not.
    """
    body = (
        "[mm0] a = MatMul(x, eye) [scale] b = Mul(a, one) [mm1] c = MatMul(b, units) [ceil] d = Ceil(c) "
        "[relu] e = Relu(d) [int] n = Cast<to = 7>(e)\n"
        "              [mm2] y = MatMul(x, w)"
    )
    units = np.array([[256, 256, 1, 1], [1, 2, 128, 256], [1, 0, 1, 0], [0, 1, 0, 1]], np.float32)
    weights = {"eye": np.eye(4, dtype=np.float32), "one": np.float32(1), "units": units, "w": array(4, 4)}
    x = np.arange(16, dtype=np.float32).reshape(4, 4) + 9
    return Case(
        model("float[4,4] x => float[4,4] y, int64[4,4] n", body, weights),
        [low("mm0", "mm2"), high("mm1", "ceil", "relu")],
        {"x": x},
        exact=("n",),
    )


@complaint("26")
def identifiers_through_float():
    """Passes ids above 2048 through a float Concat beside 16-bit features, and back to integers."""
    body = (
        "[mm0] a = MatMul(x, w) [ids] f = Cast<to = 1>(id) [cat] c = Concat<axis = 1>(a, f) "
        "[split] p, q = Split<axis = 1>(c, sizes) [back] n = Cast<to = 7>(q)\n"
        "              [mm1] y = MatMul(p, w)"
    )
    weights = {"w": array(4, 4), "sizes": np.array([4, 1])}
    return Case(
        model("float[4,4] x, int64[4,1] id => float[4,4] y, int64[4,1] n", body, weights),
        [low("mm0", "mm1"), high("ids")],
        {"id": np.array([[2049], [30011], [517], [4097]])},
        exact=("n",),
    )


@complaint("26")
def cumulative_positions():
    body = (
        "[floats] f = Cast<to = 1>(mask) [sum] p = CumSum(f, axis) [back] n = Cast<to = 7>(p) "
        "[gather] g = Gather(table, n) [mm] y = MatMul(g, w)"
    )
    weights = {"axis": np.int64(0), "table": array(4100, 4), "w": array(4, 4)}
    return Case(
        model("int64[4096] mask => float[4096,4] y, int64[4096] n", body, weights),
        [high("floats", "sum"), low("mm")],
        {"mask": np.ones(4096, np.int64)},
        exact=("n",),
    )


FREQUENCIES = np.float32(10000.0) ** (-np.arange(8, dtype=np.float32) / 8)


def angles(body, positions, expect, weights=None):
    made = model(
        "int64[64] position, float[64,8] x => float[64,8] y",
        body + " [cos] c = Cos(a) [rotate] r = Mul(x, c) [mm] y = MatMul(r, w)",
        {"w": array(8, 8), **weights},
    )
    return Case(made, [low("mm"), high("cos"), *expect], {"position": positions})


POSITIONS = np.arange(64) * 151 + 7  # to 9520: steps of 8 in float16, of 64 in bfloat16


@complaint("27")
def sincos_positions():
    body = "[ints] p = Cast<to = 1>(position) [column] q = Unsqueeze(p, axis) [angle] a = Mul(q, f)"
    return angles(body, POSITIONS, [high("ints", "angle")], {"f": FREQUENCIES, "axis": np.array([1])})


@complaint("27")
def sincos_positions_product():
    """Computes the angles by an outer product: MatMul is an allowed operator."""
    body = "[ints] p = Cast<to = 1>(position) [column] q = Unsqueeze(p, axis) [angle] a = MatMul(q, f)"
    return angles(body, POSITIONS, [high("ints", "angle")], {"f": FREQUENCIES.reshape(1, 8), "axis": np.array([1])})


@complaint("27")
def floor_after_product():
    """Makes buckets of scores: Floor of a 16-bit score falls to the neighbour.

    The scores are 64 k - 2^-6, computed from numbers that 16 bits hold.
    """
    body = (
        "[mm0] a = MatMul(x, eye) [mm1] b = MatMul(a, shift) [floor] c = Floor(b) [int] n = Cast<to = 7>(c) "
        "[mm2] y = MatMul(x, w)"
    )
    shift = np.eye(4, dtype=np.float32)
    shift[3] -= np.float32(2.0**-6)
    x = np.arange(1, 17, dtype=np.float32).reshape(4, 4) * 64
    x[:, 3] = 1
    weights = {"w": array(4, 4), "eye": np.eye(4, dtype=np.float32), "shift": shift}
    return Case(
        model("float[4,4] x => float[4,4] y, int64[4,4] n", body, weights),
        [low("mm0", "mm2"), high("mm1", "floor")],
        {"x": x},
        exact=("n",),
    )


@complaint("27")
def range_of_positions():
    """Subtracts a float Range beyond 2048 between two allowed operators."""
    return ramp_case([])


@complaint("28")
def range_of_positions_painted():
    """Paints the graph: the Range goes with its reader, unless it is known to count.

    Clear operators go with their readers so in TensorFlow.
    """
    return ramp_case(["--placement", "paint"])


def ramp_case(flags):
    body = (
        "[mm0] a = MatMul(x, w) [range] r = Range(start, limit, delta) [column] c = Unsqueeze(r, axis) "
        "[sub] b = Sub(a, c) [mm1] y = MatMul(b, one) [ids] n = Cast<to = 7>(c)"
    )
    weights = {
        "w": array(4, 1),
        "one": np.ones((1, 1), np.float32),
        "start": np.float32(2048),
        "limit": np.float32(2112),
        "delta": np.float32(1),
        "axis": np.array([1]),
    }
    return Case(
        model("float[64,4] x => float[64,1] y, int64[64,1] n", body, weights),
        [high("range", "column")],
        flags=flags,
        exact=("n",),
    )


@complaint("26")
def masked_scores():
    """Fills masked scores with the lowest float32, ahead of a Softmax.

    They have no share, and where all are masked, all have the same.
    """
    body = (
        "[scores] a = MatMul(x, x) [mask] b = Where(m, a, low) [softmax] c = Softmax<axis = -1>(b) "
        "[mm] y = MatMul(c, x)"
    )
    mask = np.array([[1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 1]], bool)
    return Case(
        model("float[4,4] x, bool[4,4] m => float[4,4] y", body, {"low": np.float32(-3.4028235e38)}),
        [low("scores", "mask", "softmax", "mm")],
        {"m": mask},
    )


@complaint("28")
def activation_beyond_range():
    """Casts an activation of 1e5 down for a MatMul: no constant shows how large it is."""
    body = "[exp] a = Exp(x) [mm] y = MatMul(a, w)"
    return Case(
        model("float[4,4] x => float[4,4] y", body, {"w": array(4, 4)}),
        [only("float16", high("mm"))],
        {"x": np.full((4, 4), 11.6, np.float32)},
    )


# ---- lists


@complaint("45")
def list_misses_a_comma():
    return Case(model("float[4,4] x => float[4,4] y", "[mm] y = MatMul(x, x)"), flags=["--allow", "ReluTanh"], exit=2)


@complaint("46")
def denied_operator_in_another_type():
    body = "[mm] y = MatMul(x, x) [exp] e = Exp(d) [half] f = Exp(h)"
    return Case(
        model("float[4,4] x, double[4] d, float16[4] h => float[4,4] y, double[4] e, float16[4] f", body),
        [low("mm"), gives("exp", 0, TensorProto.DOUBLE), gives("half", 0, TensorProto.FLOAT16)],
    )


@complaint("47")
def denied_operator_with_weight():
    body = "[mm0] a = MatMul(x, w) [prelu] b = PRelu(a, w) [mm1] y = MatMul(b, w)"
    return Case(
        model("float[4,4] x => float[4,4] y", body, {"w": array(4, 4)}),
        [low("mm0", "mm1"), high("prelu"), reads_float32("prelu", 1)],
        flags=["--deny", "PRelu"],
    )


def fusable(flags):
    body = "[mm0] a = MatMul(x, w) [bias] b = Add(a, c) [relu] y = Relu(b)"
    return Case(
        model("float[4,4] x => float[4,4] y", body, {"w": array(4, 4), "c": array(4)}),
        [low("mm0", "bias", "relu"), casts_of("a", 0)],
        flags=flags,
    )


@complaint("48")
def fusable_tail():
    """Ends the model with MatMul, bias and Relu: a cast between them prevents a fusion."""
    return fusable([])


@complaint("48")
def fusable_tail_followed():
    return fusable(["--follow", "on"])


@complaint("50")
def layers_by_name():
    body = "[layer0_mm] a = MatMul(x, w) [layer1_mm] b = MatMul(a, w) [head_mm] y = MatMul(b, w)"
    return Case(
        model("float[4,4] x => float[4,4] y", body, {"w": array(4, 4)}),
        [low("layer0_mm", "head_mm"), high("layer1_mm")],
        flags=["--deny-node", "layer1*"],
    )


@complaint("50")
def operators_forced_low():
    body = "[mm] a = MatMul(x, w) [softmax] b = Softmax(a) [mm1] y = MatMul(b, w)"
    return Case(
        model("float[4,4] x => float[4,4] y", body, {"w": array(4, 4)}),
        [low("mm", "softmax", "mm1")],
        flags=["--allow", "Softmax"],
    )
