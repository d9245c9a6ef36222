"""Complaints 30 to 44: names, shared values, inputs and outputs, models that are mixed already.

Bodies and functions are in complaint_scopes.py.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from judge.rewrite.complaint_case import (
    FLOAT,
    Case,
    array,
    casts_of,
    complaint,
    gives,
    high,
    holds_weight,
    low,
    model,
    no_new_casts,
    only,
    reads_float32,
    unchanged,
    unique_nodes,
)

W = {"w": array(4, 4)}
SQUARE = "float[4,4] x => float[4,4] y"
CHOICE = "float[4,4] x, bool c => float[4,4] y"


# ---- names and order


@complaint("30")
def unnamed_two_consumers():
    body = "a = MatMul(x, w) e = Exp(a) f = Exp(a) b = Add(e, f) y = MatMul(b, w)"
    return Case(model(SQUARE, body, W), [unique_nodes, casts_of("a", 1)])


@complaint("30")
def unnamed_max_min():
    body = "a = MatMul(x, w) b = Max(a, x, w) c = Min(b, x, w) d = Exp(c) y = MatMul(c, d)"
    return Case(model(SQUARE, body, W), [unique_nodes])


@complaint("30")
def name_collision():
    """Gives values, weights and nodes of the model the names that the rewrite would choose."""
    body = (
        "[x_to_float16] x_to_float16 = Exp(x) [a_to_float32] a = MatMul(x, w) [x_to_bfloat16] x_to_bfloat16 = Exp(a) "
        "[w_float16] a_to_float32 = Add(x_to_float16, x_to_bfloat16)\n"
        "              [y_to_float32] y_float16 = Add(a_to_float32, w_float16) "
        "[a_to_bfloat16] y_bfloat16 = Exp(y_float16) [mm] y = MatMul(y_bfloat16, w)"
    )
    return Case(model(SQUARE, body, {**W, "w_float16": array(4, 4, seed=2)}), [unique_nodes, low("mm", "a_to_float32")])


@complaint("30")
def names_twice():
    body = "[n] a = MatMul(x, w) [n] e = Exp(a) [n] y = MatMul(e, w)"
    return Case(model(SQUARE, body, W), [casts_of("a", 1)])


@complaint("31")
def unsorted_nodes():
    made = model(SQUARE, "[mm0] a = MatMul(x, w) [exp] e = Exp(a) [mm1] y = MatMul(e, w)", W)
    nodes = [onnx.NodeProto.FromString(n.SerializeToString()) for n in reversed(made.graph.node)]
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    return Case(made, [low("mm0", "mm1"), high("exp")], is_valid=False)


# ---- sharing


@complaint("32")
def shared_init_max_add():
    body = "[mm0] a = MatMul(x, w) [max] b = Max(a, w) [add] c = Add(a, w) [mm1] y = MatMul(b, c)"
    return Case(
        model(SQUARE, body, W),
        [low("mm0", "add", "mm1"), high("max"), reads_float32("max", 1), holds_weight("w", FLOAT)],
        flags=["--deny", "Max"],
    )


@complaint("33")
def dual_use_output():
    body = "[mm0] y = MatMul(x, w) [relu] r = Relu(y) [exp] e = Exp(y) [mm1] z = MatMul(r, w)"
    return Case(
        model("float[4,4] x => float[4,4] y, float[4,4] z, float[4,4] e", body, W),
        [low("mm0", "relu", "mm1"), high("exp")],
    )


@complaint("33")
def input_is_output():
    return Case(
        model("float[4,4] x => float[4,4] y, float[4,4] x", "[mm0] y = MatMul(x, w)", W),
        [low("mm0")],
        flags=["--keep-io", "all"],
    )


@complaint("33")
def output_twice_through_identity():
    body = "[mm0] y = MatMul(x, w) [same] z = Identity(y)"
    return Case(model("float[4,4] x => float[4,4] y, float[4,4] z", body, W), [low("mm0")])


@complaint("34")
def initializer_as_output():
    return Case(model("float[4,4] x => float[4,4] y, float[4,4] w", "[mm0] y = MatMul(x, w)", W), [low("mm0")])


@complaint("34")
def initializer_is_input():
    """Makes a weight an input as well: from IR version 4 on it is a default that callers may override.

    It stays an input, and is cast as the model runs.
    """
    made = model("float[4,4] x, float[4,4] w => float[4,4] y", "[mm0] y = MatMul(x, w)", W)
    return Case(made, [low("mm0"), only("float16", holds_weight("w", FLOAT))], flags=["--keep-io", "all"])


@complaint("34")
def initializer_is_input_ir3():
    return Case(
        model(SQUARE, "[mm0] a = MatMul(x, w) [relu] b = Relu(a) [mm1] y = MatMul(b, w)", W, opset=8, ir=3),
        [only("float16", low("mm0", "relu", "mm1"))],
    )


@complaint("34")
def sparse_initializer():
    made = model(SQUARE, "[mm0] a = MatMul(x, w) [add] b = Add(a, s) [mm1] y = MatMul(b, w)", W)
    values = numpy_helper.from_array(np.array([1, 2], np.float32), "s")
    made.graph.sparse_initializer.append(
        helper.make_sparse_tensor(values, numpy_helper.from_array(np.array([0, 5]), "s_indices"), [4, 4])
    )
    return Case(made, [low("mm0", "mm1")])


@complaint("35")
def empty_io():
    body = "[mm0] a = MatMul(x, w) [cat] z = Concat<axis = 0>(past, a) [mm1] y = MatMul(z, w)"
    return Case(model("float[4,4] x, float[0,4] past => float[4,4] y, float[4,4] z", body, W), [low("mm0", "mm1")])


@complaint("35")
def optional_input_skipped():
    body = (
        "[mm0] a = MatMul(x, w) [clip] b = Clip(a, , hi) [steps] c = Unsqueeze(a, axis) "
        "[rnn] r, h = LSTM<hidden_size = 2>(c, W, R, , , h0)\n"
        "              [mm1] y = MatMul(b, w)"
    )
    weights = {
        **W,
        "hi": np.float32(3),
        "W": array(1, 8, 4),
        "R": array(1, 8, 2),
        "axis": np.array([1]),
        "h0": np.zeros((1, 1, 2), np.float32),
    }
    return Case(
        model("float[4,4] x => float[4,4] y, float[4,1,1,2] r", body, weights, opset=17),
        [low("mm0", "clip", "mm1"), only("float16", low("rnn"))],
    )


@complaint("36")
def dynamic_dims():
    body = "[mm0] a = MatMul(x, w) [add] b = Add(a, z) [mm1] y = MatMul(b, w)"
    return Case(model("float[n,4] x, float[m,4] z => float[k,4] y", body, W), [low("mm0", "add", "mm1")])


@complaint("36")
def stale_value_info():
    """States float16 and another shape for a value that has neither."""
    made = model(SQUARE, "[mm0] a = MatMul(x, w) [exp] e = Exp(a) [mm1] y = MatMul(e, w)", W)
    made.graph.value_info.append(helper.make_tensor_value_info("a", TensorProto.FLOAT16, [3, 3]))
    made.graph.value_info.append(helper.make_tensor_value_info("gone", FLOAT, [1]))
    return Case(made, [low("mm0", "mm1"), high("exp")], is_valid=False)


@complaint("36")
def wrong_shape_in_value_info():
    made = model(SQUARE, "[mm0] a = MatMul(x, w) [exp] e = Exp(a) [mm1] y = MatMul(e, w)", W)
    made.graph.value_info.append(helper.make_tensor_value_info("a", FLOAT, [4, 5]))
    return Case(made, [low("mm0", "mm1"), high("exp")], is_valid=False)


# ---- models that are mixed already


@complaint("37")
def already_mixed():
    body = (
        "[down] a = Cast<to = 10>(x) [mm0] b = MatMul(a, h) [up] c = Cast<to = 1>(b) [exp] d = Exp(c) "
        "[down2] e = Cast<to = 10>(d) [mm1] f = MatMul(e, h) [up2] y = Cast<to = 1>(f)"
    )
    made = model(SQUARE, body, {"h": array(4, 4).astype(np.float16)})
    return Case(made, [unchanged, no_new_casts, gives("mm0", 0, TensorProto.FLOAT16)])


@complaint("37")
def fp16_initializer_only():
    body = "[up] a = Cast<to = 1>(h) [mm0] b = MatMul(x, a) [exp] y = Exp(b)"
    return Case(model(SQUARE, body, {"h": array(4, 4).astype(np.float16)}), [low("mm0"), high("exp")])


@complaint("37")
def half_mixed():
    """Puts float16 and float32 parts side by side; under bfloat16 the float16 part is the user's."""
    body = (
        "[down] a = Cast<to = 10>(x) [mm0] b = MatMul(a, h) [up] c = Cast<to = 1>(b) [mm1] d = MatMul(c, w) "
        "[exp] y = Exp(d)"
    )
    made = model(SQUARE, body, {"h": array(4, 4).astype(np.float16), **W})
    return Case(made, [gives("mm0", 0, TensorProto.FLOAT16), low("mm1"), high("exp")])


@complaint("38")
def denied_node_feeds_output():
    body = "[mm0] a = MatMul(x, w) [exp] y = Exp(a) [softmax] z = Softmax(x)"
    return Case(
        model("float[4,4] x => float[4,4] y, float[4,4] z", body, W),
        [low("mm0"), gives("exp", 0, FLOAT), gives("softmax", 0, FLOAT)],
    )


@complaint("39")
def everything_denied():
    return Case(
        model(SQUARE, "[mm0] a = MatMul(x, w) [mm1] y = MatMul(a, w)", W), [unchanged], flags=["--deny-node", "*"]
    )


# ---- weights in other files


@complaint("44")
def external_weights():
    return Case(
        model(
            "float[4,64] x => float[4,64] y",
            "[mm0] a = MatMul(x, w) [relu] b = Relu(a) [mm1] y = MatMul(b, w)",
            {"w": array(64, 64)},
        ),
        [low("mm0", "relu", "mm1")],
        external=True,
    )
