"""Complaints 1 to 20, 51 and 52: types that are fixed or implied, existing casts, sources that break a rule themselves.

Complaints 1 to 20 are about types that a schema or its version fixes, casts that are there already, and types that
nobody wrote down; 51 and 52 are about the sources.
"""

import numpy as np
import onnx
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
    low,
    low_weights,
    model,
    no_new_casts,
    only,
    reads,
    reads_float32,
    reported,
    states,
    user_casts_stay,
)

IMAGE = "float[1,4,4,4] x"
KERNEL = {"w": array(4, 4, 1, 1)}
SCALES = np.array([1, 1, 2, 2], np.float32)
DOUBLE = TensorProto.DOUBLE


# ---- fixed inputs and versions


@complaint("1")
def resize11_scales():
    body = '[conv0] a = Conv(x, w) [resize] b = Resize<mode = "nearest">(a, roi, scales) [conv1] y = Conv(b, w)'
    weights = {**KERNEL, "roi": np.zeros(0, np.float32), "scales": SCALES}
    return Case(
        model(f"{IMAGE} => float[1,4,8,8] y", body, weights, opset=11, ir=6),
        [low("conv0", "conv1", "resize"), reads_float32("resize", 2), casts_of("scales", 0)],
    )


@complaint("1")
def resize_empty_roi_scales_and_sizes():
    body = '[conv0] a = Conv(x, w) [resize] b = Resize<mode = "nearest">(a, empty, empty, sizes) [conv1] y = Conv(b, w)'
    weights = {**KERNEL, "empty": np.zeros(0, np.float32), "sizes": np.array([1, 4, 8, 8])}
    return Case(
        model(f"{IMAGE} => float[1,4,8,8] y", body, weights, opset=11, ir=6),
        [low("conv0", "conv1"), only("float16", reads_float32("resize", 2)), reads("resize", 3, TensorProto.INT64)],
    )


@complaint("1")
def resize13_skipped_roi_and_scales():
    body = '[conv0] a = Conv(x, w) [resize] b = Resize<mode = "nearest">(a, , , sizes) [conv1] y = Conv(b, w)'
    return Case(
        model(f"{IMAGE} => float[1,4,8,8] y", body, {**KERNEL, "sizes": np.array([1, 4, 8, 8])}, opset=13),
        [low("conv0", "conv1", "resize")],
    )


@complaint("2")
def resize10_scales():
    body = "[conv0] a = Conv(x, w) [resize] b = Resize(a, scales) [conv1] y = Conv(b, w)"
    return Case(
        model(f"{IMAGE} => float[1,4,8,8] y", body, {**KERNEL, "scales": SCALES}, opset=10, ir=5),
        [
            low("conv0", "conv1", "resize"),
            only("float16", reads_float32("resize", 1)),
            only("bfloat16", reads_float32("resize", 2)),
        ],
    )


@complaint("3")
def conv_resize_shared_constant():
    body = (
        '[conv0] a = Conv(x, w, scales) [resize] b = Resize<mode = "nearest">(a, , scales) '
        "[conv1] y = Conv(b, w, scales)"
    )
    return Case(
        model(f"{IMAGE} => float[1,4,8,8] y", body, {**KERNEL, "scales": SCALES}, opset=13),
        [
            low("conv0", "conv1", "resize"),
            reads_float32("resize", 2),
            low_weights(lambda found: sum(a.shape == (4,) for a in found) == 1, "one copy of the bias"),
        ],
    )


@complaint("4")
def custom_domain_op():
    """Calls an operator without a signature: nothing says what it takes."""
    body = "[mm0] a = MatMul(x, w) [custom] b = com.microsoft.ScaledSiLU(a) [mm1] y = MatMul(b, w)"
    made = model("float[4,4] x => float[4,4] y", body, {"w": array(4, 4)}, imports='"com.microsoft" : 1, ')
    made.graph.value_info.add(name="b").type.CopyFrom(made.graph.output[0].type)
    return Case(made, [low("mm0"), high("custom"), reads_float32("custom", 0)])


@complaint("4")
def custom_domain_op_with_signature():
    body = (
        "[mm0] a = MatMul(x, w) [custom] b = com.microsoft.BiasGelu(a, bias) [mm1] y = com.microsoft.FusedMatMul(b, w)"
    )
    made = model(
        "float[4,4] x => float[4,4] y", body, {"w": array(4, 4), "bias": array(4)}, imports='"com.microsoft" : 1, '
    )
    return Case(made, [low("mm0", "custom", "mm1")])


@complaint("4")
def custom_op_with_fixed_port():
    """Outputs a statistic of SkipLayerNormalization, which is float32 whatever the operator's type."""
    body = (
        "[mm0] a = MatMul(x, w) [custom] b, m, v = com.microsoft.SkipLayerNormalization(a, a, gamma) "
        "[mm1] y = MatMul(b, w)"
    )
    made = model(
        "float[4,4] x => float[4,4] y, float[4,1] m",
        body,
        {"w": array(4, 4), "gamma": array(4)},
        imports='"com.microsoft" : 1, ',
    )
    return Case(made, [low("mm0", "custom", "mm1")])


@complaint("4")
def custom_op_named_like_standard():
    body = "[mm0] a = MatMul(x, w) [custom] b = com.microsoft.Gelu(a) [mm1] y = MatMul(b, w)"
    made = model(
        "float[4,4] x => float[4,4] y", body, {"w": array(4, 4)}, opset=20, ir=9, imports='"com.microsoft" : 1, '
    )
    made.graph.value_info.add(name="b").type.CopyFrom(made.graph.output[0].type)
    return Case(made, [low("mm0", "custom", "mm1")])


@complaint("4")
def denied_custom_op():
    """Denies another domain's operator: its version number says nothing about ONNX's operators around it."""
    body = "[mm0] a = MatMul(x, w) [custom] b = com.microsoft.BiasGelu(a, bias) [mm1] y = MatMul(b, w)"
    made = model(
        "float[4,4] x => float[4,4] y", body, {"w": array(4, 4), "bias": array(4)}, imports='"com.microsoft" : 1, '
    )
    made.graph.value_info.add(name="b").type.CopyFrom(made.graph.output[0].type)
    return Case(made, [low("mm0", "mm1"), high("custom"), reads_float32("custom", 1)], flags=["--deny-node", "custom"])


@complaint("5")
def conv_bfloat16_needs_opset_22():
    return Case(
        model(f"{IMAGE} => float[1,4,4,4] y", "[conv] y = Conv(x, w)", KERNEL),
        [low("conv"), only("bfloat16", reported(lambda r: r["opset"]["after"] == 22, "opset 22"))],
    )


@complaint("5")
def conv_bfloat16_opset_kept():
    return Case(
        model(f"{IMAGE} => float[1,4,4,4] y", "[conv] y = Conv(x, w)", KERNEL),
        flags=["--opset", "keep"],
        expect=[only("float16", low("conv")), only("bfloat16", high("conv"), because("conv", "bfloat16 at opset 17"))],
    )


@complaint("6 20")
def qdq_13():
    body = (
        "[mm0] a = MatMul(x, w) [q] b = QuantizeLinear(a, scale, zero) [dq] c = DequantizeLinear(b, scale, zero) "
        "[mm1] y = MatMul(c, w)"
    )
    weights = {"w": array(4, 4), "scale": np.float32(0.02), "zero": np.uint8(3)}
    return Case(
        model("float[4,4] x => float[4,4] y", body, weights, opset=13, ir=7),
        [low("mm0", "mm1"), reads_float32("q", 1), reads_float32("dq", 1), gives("q", 0, TensorProto.UINT8)],
    )


@complaint("6")
def dynamic_quantize():
    body = (
        "[mm0] a = MatMul(x, w) [dynamic] q, s, z = DynamicQuantizeLinear(a) [integer] i = MatMulInteger(q, wq, z) "
        "[back] f = Cast<to = 1>(i) [scale] d = Mul(f, s)\n"
        "              [mm1] y = MatMul(d, w)"
    )
    weights = {"w": array(4, 4), "wq": np.random.default_rng(1).integers(1, 9, (4, 4)).astype(np.uint8)}
    return Case(
        model("float[4,4] x => float[4,4] y", body, weights, opset=13, ir=7),
        [low("mm0", "mm1"), reads_float32("dynamic", 0), gives("dynamic", 1, FLOAT)],
    )


def batch_weights():
    return {**KERNEL, "s": array(4), "b": array(4, seed=2), "mean": array(4, seed=3), "var": array(4, seed=4)}


@complaint("7")
def batchnorm_9():
    body = "[conv0] a = Conv(x, w) [bn] n = BatchNormalization(a, s, b, mean, var) [conv1] y = Conv(n, w)"
    return Case(
        model(f"{IMAGE} => float[1,4,4,4] y", body, batch_weights(), opset=9, ir=4),
        [low("conv0", "conv1")],
        flags=["--keep-batch-norm"],
    )


@complaint("7")
def batchnorm_by_the_mean_9():
    """Computes a statistic: the norm cannot be folded, and stays float32 with its statistics."""
    body = (
        "[conv0] a = Conv(x, w) [mean] d = Abs(mean) [bn] n = BatchNormalization(a, s, b, d, var) "
        "[conv1] y = Conv(n, w)"
    )
    return Case(
        model(f"{IMAGE} => float[1,4,4,4] y", body, batch_weights(), opset=9, ir=4), [low("conv0", "conv1"), high("bn")]
    )


@complaint("7")
def batchnorm_training_15():
    body = (
        "[conv0] a = Conv(x, w) [bn] n, m, v = BatchNormalization<training_mode = 1>(a, s, b, mean, var) "
        "[conv1] y = Conv(n, w)"
    )
    return Case(
        model(f"{IMAGE} => float[1,4,4,4] y, float[4] m, float[4] v", body, batch_weights(), opset=15),
        [
            low("conv0", "conv1"),
            reads_float32("bn", 3),
            reads_float32("bn", 4),
            gives("bn", 1, FLOAT),
            gives("bn", 2, FLOAT),
        ],
    )


@complaint("8")
def range_float():
    body = "[mm0] a = MatMul(x, w) [range] r = Range(start, limit, delta) [add] b = Add(a, r) [mm1] y = MatMul(b, w)"
    weights = {"w": array(4, 4), "start": np.float32(0), "limit": np.float32(4), "delta": np.float32(1)}
    return Case(model("float[4,4] x => float[4,4] y", body, weights), [low("mm0", "mm1"), high("range")])


@complaint("8")
def cumsum_11():
    body = "[mm0] a = MatMul(x, w) [sum] b = CumSum(a, axis) [mm1] y = MatMul(b, w)"
    return Case(
        model("float[4,4] x => float[4,4] y", body, {"w": array(4, 4), "axis": np.int64(1)}, opset=11, ir=6),
        [low("mm0", "mm1"), only("float16", high("sum"))],
        flags=["--clear", "CumSum"],
    )


@complaint("8")
def isinf_before_20():
    body = "[mm0] a = MatMul(x, w) [inf] i = IsInf(a) [pick] b = Where(i, x, a) [mm1] y = MatMul(b, w)"
    return Case(
        model("float[4,4] x => float[4,4] y", body, {"w": array(4, 4)}), [low("mm0"), only("float16", high("inf"))]
    )


@complaint("8")
def layernorm_mean_output():
    body = "[mm0] a = MatMul(x, w) [ln] n, mean, inv = LayerNormalization(a, s) [mm1] y = MatMul(n, w)"
    return Case(
        model(
            "float[4,4] x => float[4,4] y, float[4,1] mean, float[4,1] inv",
            body,
            {"w": array(4, 4, high=5), "s": array(4)},
        ),
        [low("mm0", "ln", "mm1"), gives("ln", 1, FLOAT), gives("ln", 2, FLOAT)],
    )


@complaint("8")
def nonmaxsuppression():
    body = (
        "[mm] a = MatMul(x, w) [boxes] b = Reshape(a, to_boxes) [scores] s = Reshape(a, to_scores) "
        "[nms] i = NonMaxSuppression(b, s, count, threshold, threshold)\n"
        "              [gemm] y = MatMul(a, w)"
    )
    weights = {
        "w": array(4, 4),
        "to_boxes": np.array([1, 4, 4]),
        "to_scores": np.array([1, 4, 4]),
        "count": np.int64(3),
        "threshold": np.float32(0.5),
    }
    return Case(
        model("float[4,4] x => float[4,4] y, int64[n,3] i", body, weights),
        [low("mm", "gemm"), *(reads_float32("nms", port) for port in (0, 1, 3, 4))],
    )


@complaint("8")
def never_bfloat16():
    body = (
        '[mm0] a = MatMul(x, w) [einsum] e = Einsum<equation = "ij,jk->ik">(a, w) [shrink] s = Shrink(e) '
        "[reverse] r = ReverseSequence(s, lengths)\n"
        "              [compress] c = Compress<axis = 0>(r, picks) [mm1] y = MatMul(c, w)"
    )
    weights = {"w": array(4, 4), "lengths": np.full(4, 3), "picks": np.ones(4, bool)}
    return Case(
        model("float[4,4] x => float[n,4] y", body, weights, opset=20, ir=9),
        [
            low("mm0", "mm1"),
            only("float16", low("einsum")),
            only("bfloat16", high("einsum", "shrink", "reverse", "compress")),
        ],
    )


# ---- casts that are there already


@complaint("9")
def cast_int_to_float():
    return Case(
        model("int64[4,4] x => float[4,4] y", "[cast] f = Cast<to = 1>(x) [mm] y = MatMul(f, w)", {"w": array(4, 4)}),
        [low("mm")],
        {"x": np.arange(16).reshape(4, 4)},
    )


@complaint("9")
def cast_to_float_into_denied():
    body = "[cast] f = Cast<to = 1>(x) [exp] e = Exp(f) [mm] m = MatMul(e, w) [add] y = Add(m, f)"
    return Case(
        model("int64[4,4] x => float[4,4] y", body, {"w": array(4, 4)}),
        [low("mm"), high("exp"), user_casts_stay("cast"), gives("cast", 0, FLOAT)],
        {"x": np.arange(16).reshape(4, 4) % 5},
    )


@complaint("10")
def cast_round_trip_semantic():
    """Shows in y what the user's rounding takes away: nothing of it is left if the pair is dropped."""
    body = (
        "[down] d = Cast<to = 10>(x) [up] u = Cast<to = 1>(d) [lost] l = Sub(x, u) [y] y = Mul(l, big) "
        "[bdown] bd = Cast<to = 16>(x) [bup] bu = Cast<to = 1>(bd)\n"
        "              [blost] bl = Sub(x, bu) [z] z = Mul(bl, big) [mm] m = MatMul(u, bu)"
    )
    return Case(
        model("float[4,4] x => float[4,4] y, float[4,4] z, float[4,4] m", body, {"big": np.float32(4096)}),
        [low("mm"), user_casts_stay("down", "up", "bdown", "bup")],
        {"x": 1 + np.arange(1, 17, dtype=np.float32).reshape(4, 4) / 2**15},
        flags=["--keep-io", "x,y,z"],
        exact=("y", "z"),
    )


@complaint("10")
def cast_float_int_float():
    body = "[down] d = Cast<to = 6>(x) [up] u = Cast<to = 1>(d) [mm] m = MatMul(u, w) [lost] y = Sub(x, u)"
    return Case(
        model("float[4,4] x => float[4,4] m, float[4,4] y", body, {"w": array(4, 4)}),
        [low("mm"), user_casts_stay("down")],
        {"x": array(4, 4, high=9)},
        flags=["--keep-io", "x,y"],
        exact=("y",),
    )


@complaint("11")
def no_cast_pair_between_high_nodes():
    """Computes exp(12), beyond float16: a detour through it between Exp and Log gives infinities."""
    body = "[mm0] a = MatMul(x, w) [big] b = Add(a, twelve) [exp] e = Exp(b) [log] l = Log(e) [mm1] y = MatMul(l, w)"
    return Case(
        model("float[4,4] x => float[4,4] y", body, {"w": array(4, 4), "twelve": np.float32(12)}),
        [high("exp"), reads_float32("log", 0), casts_of("e", 0), low("mm1")],
    )


@complaint("12")
def cast_multi_consumer():
    body = (
        "[cast] f = Cast<to = 1>(x) [mm] m = MatMul(f, w) [exp] e = Exp(f) [mm2] n = MatMul(w, f) [add] y = Add(m, e)"
    )
    return Case(
        model("int64[4,4] x => float[4,4] y, float[4,4] n", body, {"w": array(4, 4)}),
        [low("mm", "mm2"), high("exp")],
        {"x": np.arange(16).reshape(4, 4) % 5},
    )


@complaint("12")
def dead_cast():
    return Case(
        model(
            "float[4,4] x => float[4,4] y",
            "[mm] y = MatMul(x, w) [dead] d = Cast<to = 10>(y) [dead2] e = Cast<to = 1>(d)",
            {"w": array(4, 4)},
        ),
        [low("mm")],
    )


@complaint("13")
def cast_input_to_output():
    return Case(
        model(
            "float[4,4] x => float16[4,4] y, float[4,4] z",
            "[cast] y = Cast<to = 10>(x) [mm] z = MatMul(x, w)",
            {"w": array(4, 4)},
        ),
        [low("mm"), gives("cast", 0, TensorProto.FLOAT16)],
    )


@complaint("13")
def cast_chain_to_outputs():
    body = "[mm] a = MatMul(x, w) [down] y = Cast<to = 10>(a) [up] z = Cast<to = 1>(y) [int] i = Cast<to = 7>(z)"
    return Case(
        model("float[4,4] x => float16[4,4] y, float[4,4] z, int64[4,4] i", body, {"w": array(4, 4)}), [low("mm")]
    )


@complaint("14")
def identity_casts():
    body = (
        "[same] a = Cast<to = 1>(x) [mm] m = MatMul(a, w) [half] h = Cast<to = 10>(m) [same_half] i = Cast<to = 10>(h) "
        "[up] y = Cast<to = 1>(i)"
    )
    return Case(model("float[4,4] x => float[4,4] y", body, {"w": array(4, 4)}), [low("mm")])


@complaint("15 46")
def double_island():
    body = (
        "[mm0] a = MatMul(x, w) [in] d = Cast<to = 11>(a) [mmd] e = MatMul(d, wd) [exp] f = Exp(e) "
        "[out] g = Cast<to = 1>(f) [mm1] y = MatMul(g, w)"
    )
    return Case(
        model("float[4,4] x => float[4,4] y", body, {"w": array(4, 4), "wd": array(4, 4).astype(np.float64)}),
        [
            low("mm0", "mm1"),
            reads("mmd", 0, DOUBLE),
            reads("mmd", 1, DOUBLE),
            gives("exp", 0, DOUBLE),
            user_casts_stay("in"),
        ],
    )


@complaint("15")
def einsum_double_vs_float():
    body = (
        '[ef] a = Einsum<equation = "ij,jk->ik">(x, w) [ed] d = Einsum<equation = "ij,jk->ik">(z, wd) '
        "[out] g = Cast<to = 1>(d) [add] s = Add(a, g) [mm] y = MatMul(s, w)"
    )
    return Case(
        model(
            "float[4,4] x, double[4,4] z => float[4,4] y",
            body,
            {"w": array(4, 4), "wd": array(4, 4).astype(np.float64)},
        ),
        [low("mm"), only("float16", low("ef")), high("ed"), reads("ed", 1, DOUBLE)],
        {"z": array(4, 4).astype(np.float64)},
    )


# ---- types that nobody wrote down


@complaint("16")
def random_normal_like():
    body = (
        "[mm0] a = MatMul(x, w) [noise] n = RandomNormalLike<seed = 1.0, scale = 0.01>(a) [add] b = Add(a, n) "
        "[mm1] y = MatMul(b, w)"
    )
    return Case(model("float[4,4] x => float[4,4] y", body, {"w": array(4, 4)}), [low("mm0", "mm1")])


@complaint("16")
def random_uniform_no_dtype():
    body = (
        "[mm0] a = MatMul(x, w) [noise] n = RandomUniform<seed = 1.0, shape = [4, 4]>() [add] b = Add(a, n) "
        "[mm1] y = MatMul(b, w)"
    )
    return Case(model("float[4,4] x => float[4,4] y", body, {"w": array(4, 4)}), [low("mm0", "mm1")])


@complaint("16")
def eyelike_no_dtype():
    body = (
        "[mm0] a = MatMul(x, w) [eye] e = EyeLike(a) [ints] i = Cast<to = 6>(a) [eye_int] f = EyeLike<dtype = 1>(i) "
        "[add] b = Add(a, e) [add2] c = Add(b, f)\n"
        "              [mm1] y = MatMul(c, w)"
    )
    return Case(model("float[4,4] x => float[4,4] y", body, {"w": array(4, 4)}), [low("mm0", "mm1")])


@complaint("17")
def constant_of_shape_no_value():
    body = "[mm0] a = MatMul(x, w) [zeros] z = ConstantOfShape(shape) [add] b = Add(a, z) [mm1] y = MatMul(b, w)"
    return Case(
        model("float[4,4] x => float[4,4] y", body, {"w": array(4, 4), "shape": np.array([4, 4])}),
        [low("mm0", "add", "mm1")],
    )


@complaint("18")
def constant_value_float():
    body = "[mm0] a = MatMul(x, w) [c] c = Constant<value_float = 0.5>() [add] b = Add(a, c) [mm1] y = MatMul(b, w)"
    return Case(model("float[4,4] x => float[4,4] y", body, {"w": array(4, 4)}), [low("mm0", "add", "mm1")])


@complaint("18")
def constant_value_floats():
    body = (
        "[mm0] a = MatMul(x, w) [c] c = Constant<value_floats = [0.5, 1.0, 2.0, 4.0]>() [add] b = Add(a, c) "
        "[mm1] y = MatMul(b, w) [exp] e = Exp(c)"
    )
    return Case(
        model("float[4,4] x => float[4,4] y, float[4] e", body, {"w": array(4, 4)}),
        [low("mm0", "add", "mm1"), reads_float32("exp", 0)],
    )


@complaint("19")
def constant_rank0():
    body = (
        "[mm0] a = MatMul(x, w) [c] c = Constant<value = float {0.5}>() [mul] b = Mul(a, c) "
        "[k] k = Constant<value = int64 {3}>() [kf] kf = Cast<to = 1>(k)\n"
        "              [mul2] d = Mul(b, kf) [mm1] y = MatMul(d, w) [rank] r = Shape(c)"
    )
    made = model("float[4,4] x => float[4,4] y, int64[0] r", body, {"w": array(4, 4)})
    made.graph.value_info.add(name="c").type.tensor_type.elem_type = FLOAT
    made.graph.value_info[0].type.tensor_type.shape.SetInParent()

    def is_scalar(outcome):
        node, types = outcome.find("mul")
        tensor = outcome.weight(node.input[1]) if node else None
        return [f"the constant has rank {len(tensor.dims)}"] if tensor is not None and tensor.dims else []

    return Case(made, [low("mm0", "mul", "mm1"), is_scalar])


@complaint("14")
def nothing_to_convert():
    return Case(
        model("float[4,4] x => float[4,4] y", "[exp] e = Exp(x) [add] y = Add(e, x)"),
        [no_new_casts, high("exp", "add")],
    )


# ---- sources that break a rule of the schema but that runtimes load


NORM = {"w": array(4, 4), "scale": array(4), "bias": array(4)}


def contradicting(case_model, name, shape, output=False):
    """States this shape for a value, or for an output, in place of what the file states. Returns the model."""
    infos = case_model.graph.output if output else case_model.graph.value_info
    info = next((v for v in infos if v.name == name), None) or infos.add(name=name)
    info.type.CopyFrom(onnx.helper.make_tensor_type_proto(FLOAT, shape))
    return case_model


@complaint("51")
def constant_of_int64_before_opset9():
    body = (
        "[mm0] a = MatMul(x, w) [shape] s = Constant<value = int64[2] {8, 2}>() [reshape] b = Reshape(a, s) "
        "[relu] c = Relu(b) [shape2] t = Constant<value = int64[2] {4, 4}>() [back] d = Reshape(c, t) "
        "[mm1] y = MatMul(d, w)"
    )
    return Case(
        model("float[4,4] x => float[4,4] y", body, {"w": array(4, 4)}, opset=8, ir=3),
        [low("mm0", "mm1")],
        is_valid=False,
    )


@complaint("51")
def constant_of_bool_before_opset9():
    body = (
        "[mm0] a = MatMul(x, w) [flags] s = Constant<value = bool[4] {1, 0, 0, 1}>() [not] n = Not(s) "
        "[cast] f = Cast<to = 1>(n) [add] b = Add(a, f) [mm1] y = MatMul(b, w)"
    )
    return Case(
        model("float[4,4] x => float[4,4] y", body, {"w": array(4, 4)}, opset=7, ir=3),
        [low("mm0", "mm1")],
        is_valid=False,
    )


@complaint("51")
def layer_normalization_before_opset17():
    body = "[mm0] a = MatMul(x, w) [norm] b = LayerNormalization(a, scale, bias) [mm1] y = MatMul(b, w)"
    return Case(
        model("float[4,4] x => float[4,4] y", body, NORM, opset=12, ir=7), [low("mm0", "norm", "mm1")], is_valid=False
    )


@complaint("51")
def layer_normalization_is_lifted():
    body = "[mm0] a = MatMul(x, w) [norm] b = LayerNormalization(a, scale, bias) [mm1] y = MatMul(b, w)"
    return Case(
        model("float[4,4] x => float[4,4] y", body, NORM, opset=12, ir=7),
        [low("mm0", "norm", "mm1")],
        flags=["--opset", "17"],
        is_valid=False,
    )


@complaint("52")
def stated_shape_of_a_value_is_wrong():
    """States shapes that contradict inference: the rewrite drops them.

    A cast of the value that stated either shape would be one voice too many for the runtime.
    """
    body = "[mm0] a = MatMul(x, w) [exp] b = Exp(a) [mm1] y = MatMul(b, w)"
    made = contradicting(model("float[4,4] x => float[4,4] y", body, {"w": array(4, 4)}), "a", [4, 5])
    return Case(
        contradicting(made, "b", [4, 4, 1]), [low("mm0", "mm1"), states("a", None), states("b", None)], is_valid=False
    )


@complaint("52")
def stated_shape_of_an_output_is_wrong():
    body = "[mm0] a = MatMul(x, w) [relu] y = Relu(a) [mm1] z = MatMul(y, w)"
    made = contradicting(
        model("float[4,4] x => float[4,4] y, float[4,4] z", body, {"w": array(4, 4)}), "y", [4, 5], output=True
    )
    return Case(made, [low("mm0", "relu", "mm1")], is_valid=False)


@complaint("52")
def stated_shape_is_right():
    """States the right shape, which stays: the near miss."""
    body = "[mm0] a = MatMul(x, w) [exp] b = Exp(a) [mm1] y = MatMul(b, w)"
    return Case(
        contradicting(model("float[4,4] x => float[4,4] y", body, {"w": array(4, 4)}), "a", [4, 4]),
        [low("mm0", "mm1"), states("a", [4, 4])],
    )
