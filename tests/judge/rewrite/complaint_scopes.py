"""Complaints 41 to 43, 20 and 49: bodies, functions, sequences.

Other converters leave these alone or break them. Here they are converted, and the checks say so.
"""

import numpy as np
import onnx
from onnx import numpy_helper

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
    only,
    operators,
    sequence_is,
)

W = {"w": array(4, 4)}
SQUARE = "float[4,4] x => float[4,4] y"
CHOICE = "float[4,4] x, bool c => float[4,4] y"
LOCAL = '"local" : 1, '
YES, NO = {"c": np.array(True)}, {"c": np.array(False)}
TENSORFLOW = ["--profile", "tf-1.15"]  # for cases that tell of its lists or rules
THREE_TIMES = {"n": np.int64(3), "go": np.array(True)}


def choice(then, other, before="[mm0] a = MatMul(x, w)", after="[mm1] y = MatMul(b, w)"):
    """Makes a model whose If gives b by one of two branches, written as the nodes that give p and q."""
    branches = f"then_branch = t () => (float[4,4] p) {{ {then} }}, else_branch = e () => (float[4,4] q) {{ {other} }}"
    return model(CHOICE, f"{before} [if] b = If(c)<{branches}> {after}", W)


# ---- bodies


@complaint("41")
def if_captures_inner_value():
    """Shows that the high branch narrows its result itself, so that the If is low."""
    return Case(
        choice("[tm] p = MatMul(a, w)", "[te] q = Exp(a)"),
        [low("mm0", "tm", "mm1"), gives_low("if"), high("te"), casts_of("b", 0)],
        YES,
    )


@complaint("41")
def if_captures_graph_input():
    return Case(
        choice("[tm] p = MatMul(x, w)", "[te] q = Exp(x)", after="[mm1] y = MatMul(a, b)"),
        [low("mm0", "tm", "mm1"), high("te")],
        NO,
    )


@complaint("41")
def if_captures_outer_initializer():
    """Adds two constants in a branch: the sum stays float32, and with it w.

    The sum is on no way between allowed operators.
    """
    return Case(
        choice("[ta] p = Add(w, w)", "[te] q = Exp(w)", after="[mm1] y = MatMul(a, b)"),
        [low("mm0", "mm1"), high("ta", "te"), holds_weight("w", FLOAT)],
        YES,
    )


@complaint("41")
def loop_capture_and_carry():
    body = (
        "[mm0] a = MatMul(x, w) [loop] b, s = Loop(n, go, a)"
        "<body = l (int64 i, bool g, float[4,4] u) => (bool h, float[4,4] v, float[4,4] o) {\n"
        "              h = Identity(g) [lm] m = MatMul(u, a) [lt] v = Tanh(m) [lo] o = Mul(v, w) }> "
        "[mm1] y = MatMul(b, w)"
    )
    return Case(
        model("float[4,4] x, int64 n, bool go => float[4,4] y, float[k,4,4] s", body, W),
        [
            low("mm0", "lm", "lt", "mm1"),
            only("float16", high("lo")),
            only("bfloat16", low("lo")),
            casts_of("a", 0),
            casts_of("b", 0),
        ],
        THREE_TIMES,
        TENSORFLOW,
    )


@complaint("41")
def loop_state_denied_round():
    """Carries what a denied operator gives to the next round: x -> Add -> Exp -> x.

    The nodes that follow it there are denied as well.
    """
    body = (
        "[mm0] a = MatMul(x, w) [loop] b = Loop(n, go, a)<body = l (int64 i, bool g, float[4,4] u) => "
        "(bool h, float[4,4] v) {\n"
        "              h = Identity(g) [la] m = Add(u, w) [le] v = Exp(m) }> [mm1] y = MatMul(b, w)"
    )
    return Case(
        model("float[4,4] x, int64 n, bool go => float[4,4] y", body, {"w": array(4, 4, high=0.2)}),
        [low("mm0", "mm1"), high("la", "le")],
        {**THREE_TIMES, "n": np.int64(1)},
    )


@complaint("41")
def loop_states_change_places():
    """Exchanges two states in every round: after two rounds their types are one, so they form one group."""
    body = (
        "[mm0] a = MatMul(x, w) [loop] b, d = Loop(n, go, a, x)"
        "<body = l (int64 i, bool g, float[4,4] u, float[4,4] t) => (bool h, float[4,4] v, float[4,4] k) {\n"
        "              h = Identity(g) [lm] v = MatMul(t, w) k = Identity(u) }> [mm1] y = MatMul(b, d)"
    )
    return Case(
        model("float[4,4] x, int64 n, bool go => float[4,4] y", body, W),
        [low("mm0", "lm", "mm1"), casts_of("b", 0), casts_of("d", 0)],
        THREE_TIMES,
    )


@complaint("41")
def loop_not_entered():
    """Runs no round of the loop: the state comes out as it went in."""
    body = (
        "[mm0] a = MatMul(x, w) [loop] b, s = Loop(n, go, a)"
        "<body = l (int64 i, bool g, float[4,4] u) => (bool h, float[4,4] v, float[4,4] o) {\n"
        "              h = Identity(g) [lm] v = MatMul(u, w) o = Identity(v) }> [mm1] y = MatMul(b, w)"
    )
    return Case(
        model("float[4,4] x, int64 n, bool go => float[4,4] y, float[k,4,4] s", body, W),
        [low("mm0", "lm", "mm1")],
        {"n": np.int64(0), "go": np.array(True)},
    )


@complaint("41")
def cast_of_capture_outside_loop():
    """Shows that e is narrowed once, and not in every round."""
    body = (
        "[mm0] a = MatMul(x, w) [exp] e = Exp(a) [loop] b = Loop(n, go, a)"
        "<body = l (int64 i, bool g, float[4,4] u) => (bool h, float[4,4] v) {\n"
        "              h = Identity(g) [lm] v = MatMul(u, e) }> [mm1] y = MatMul(b, w)"
    )
    return Case(
        model("float[4,4] x, int64 n, bool go => float[4,4] y", body, {"w": array(4, 4, high=0.2)}),
        [low("mm0", "lm", "mm1"), high("exp"), casts_of("e", 1)],
        THREE_TIMES,
    )


@complaint("41")
def scan_body():
    body = (
        "[mm0] a = MatMul(x, w) [scan] b, s = Scan<num_scan_inputs = 1, body = l (float[4] u, float[4] e) => "
        "(float[4] v, float[4] o)\n"
        "              { [sa] d = Add(u, e) [st] v = Tanh(d) [sm] o = MatMul(v, w) }>(z, a) [mm1] y = MatMul(s, w)"
    )
    return Case(
        model("float[4,4] x, float[4] z => float[4,4] y, float[4] b", body, W),
        [low("mm0", "sa", "st", "sm", "mm1"), casts_of("a", 0), casts_of("s", 0)],
    )


@complaint("41")
def nested_if_in_loop():
    body = (
        "[mm0] a = MatMul(x, w) [loop] b = Loop(n, go, a)<body = l (int64 i, bool g, float[4,4] u) => "
        "(bool h, float[4,4] v) { h = Identity(g) [lm] m = MatMul(u, w)\n"
        "              v = If(g)<then_branch = t () => (float[4,4] p) { [tm] r = MatMul(m, a) [tt] p = Tanh(r) }, "
        "else_branch = e () => (float[4,4] q) { [er] q = Relu(a) }> }>\n"
        "              [mm1] y = MatMul(b, w)"
    )
    return Case(
        model("float[4,4] x, int64 n, bool go => float[4,4] y", body, W),
        [low("mm0", "lm", "tm", "tt", "er", "mm1")],
        THREE_TIMES,
    )


@complaint("41")
def if_branches_differ_in_class():
    return Case(
        choice("[tm] p = MatMul(a, a)", "[es] q = Softmax(a)"), [low("mm0", "tm", "mm1"), high("es")], NO, TENSORFLOW
    )


@complaint("41")
def if_max_inside_branches():
    return Case(
        choice("[tm] p = Max(a, w)", "[em] q = Min(a, w)"), [low("mm0", "tm", "em", "mm1"), gives_low("if")], YES
    )


@complaint("41")
def if_output_is_initializer():
    made = choice("", "[ei] q = Identity(a)")
    made.graph.node[1].attribute[0].g.initializer.append(numpy_helper.from_array(np.eye(4, dtype=np.float32), "p"))
    return Case(made, [low("mm0", "ei", "mm1"), gives_low("if")], YES)


@complaint("41 18")
def implied_constants_in_bodies():
    """Makes constants whose type nothing states, by value_float and an empty ConstantOfShape.

    They have to follow the type of their neighbours.
    """
    made = choice(
        "[tc] k = Constant<value_float = 0.5>() [tm] p = Mul(a, k)",
        "[ec] k2 = ConstantOfShape(shape) [ea] q = Add(a, k2)",
    )
    made.graph.initializer.append(numpy_helper.from_array(np.array([4, 4]), "shape"))
    return Case(made, [low("mm0", "tm", "ea", "mm1"), gives_low("if")], NO)


@complaint("42")
def same_init_name_in_two_branches():
    made = choice("[tm] p = MatMul(a, v)", "[em] q = Mul(a, v)")
    for i, attribute in enumerate(made.graph.node[1].attribute):
        attribute.g.initializer.append(numpy_helper.from_array(array(4, 4, seed=5 + i), "v"))
    return Case(made, [low("mm0", "tm", "em", "mm1")], NO)


@complaint("42")
def branch_gemm_captures_activation():
    made = choice("[gemm] p = Gemm(a, v)", "[te] q = Exp(a)", after="y = Identity(b)")
    made.graph.node[1].attribute[0].g.initializer.append(numpy_helper.from_array(array(4, 4, seed=5), "v"))
    return Case(made, [low("mm0", "gemm"), high("te")], YES)


# ---- functions


def call(
    functions,
    body="[mm0] a = MatMul(x, w) [call] b = local.f(a, w) [mm1] y = MatMul(b, w)",
    imports='"" : 17',
    signature=SQUARE,
):
    """Makes a model with functions, each of them 'name (inputs) => (outputs) { nodes }'."""
    return model(
        signature,
        body,
        W,
        imports=LOCAL,
        functions=" ".join(f'<domain: "local", opset_import: [{imports}]> {f}' for f in functions),
    )


@complaint("43")
def local_function_constant():
    return Case(
        call(["f (a, k) => (b) { c = Constant<value_float = 0.5>() b = Mul(a, c) }"]),
        [low("mm0", "mm1"), operators("Mul", 1, True)],
    )


@complaint("43")
def local_function_nested_matmul():
    functions = [
        "inner (a, k) => (b) { b = MatMul(a, k) }",
        "f (a, k) => (b) { c = local.inner(a, k) d = Exp(c) b = MatMul(d, k) }",
    ]
    return Case(
        call(functions, imports='"" : 17, "local" : 1'), [operators("MatMul", 4, True), operators("Exp", 1, False)]
    )


@complaint("43")
def function_named_like_standard():
    functions = ["Relu (a) => (b) { b = Exp(a) }"]
    return Case(
        call(functions, "[mm0] a = MatMul(x, w) [call] b = local.Relu(a) [mm1] y = MatMul(b, w)"),
        [low("mm0", "mm1"), operators("Exp", 1, False), operators("Relu", 0, True)],
    )


@complaint("43")
def function_attribute_with_default():
    """Calls a function twice: one call takes the attribute's default, the other states a value."""
    body = (
        "[mm0] a = MatMul(x, w) [call0] b = local.f(a, w) [call1] d = local.f<slope = 0.5>(b, w) [mm1] y = MatMul(d, w)"
    )
    return Case(
        call(
            ["f <slope: float = 0.25>(a, k) => (b) { m = MatMul(a, k) b = LeakyRelu<alpha: float = @slope>(m) }"], body
        ),
        [operators("MatMul", 4, True), operators("LeakyRelu", 2, True)],
    )


@complaint("43")
def function_at_two_types():
    """Calls one function on float32 and on double: only the float32 call is converted."""
    body = (
        "[mm0] a = MatMul(x, w) [call0] b = local.f(a, w) [up] u = Cast<to = 11>(x) [call1] d = local.f(u, u) "
        "[down] e = Cast<to = 1>(d) [mm1] y = MatMul(b, e)"
    )

    def only_one_is_low(outcome):
        kinds = sorted(
            types.get(n.input[0], 0) for _, g, types in outcome.flat_graphs for n in g.node if n.op_type == "MatMul"
        )
        return [] if kinds == sorted([outcome.low] * 3 + [onnx.TensorProto.DOUBLE]) else [f"MatMul reads {kinds}"]

    return Case(call(["f (a, k) => (b) { c = MatMul(a, k) b = Relu(c) }"], body), [low("mm0", "mm1"), only_one_is_low])


@complaint("43 41")
def function_with_branches():
    functions = [
        "f (a, k, c) => (b) { m = MatMul(a, k)\n"
        "                    b = If(c)<then_branch = t () => (float[4,4] p) { p = MatMul(m, k) }, "
        "else_branch = e () => (float[4,4] q) { q = Tanh(a) }> }"
    ]
    body = "[mm0] a = MatMul(x, w) [call] b = local.f(a, w, c) [mm1] y = MatMul(b, w)"
    return Case(
        call(functions, body, signature=CHOICE), [operators("MatMul", 4, True), operators("Tanh", 1, True)], YES
    )


# ---- sequences


@complaint("20 49")
def sequence_ops():
    """Makes a sequence, all of whose elements have one type.

    It is float16, or, under bfloat16, float32: no sequence takes bfloat16.
    """
    body = (
        "[mm0] a = MatMul(x, w) [mm1] b = MatMul(a, w) [seq] s = SequenceConstruct(a, b) "
        "[insert] t = SequenceInsert(s, x) [at] c = SequenceAt(t, one)\n"
        "              [mm2] y = MatMul(c, w) [cat] z = ConcatFromSequence<axis = 0>(t)"
    )
    sequences = ("seq", "insert", "at", "cat")
    return Case(
        model("float[4,4] x => float[4,4] y, float[12,4] z", body, {"w": array(4, 4), "one": np.int64(1)}),
        [
            low("mm0", "mm1", "mm2"),
            only("float16", sequence_is(True, *sequences)),
            only("bfloat16", sequence_is(False, *sequences)),
        ],
    )


@complaint("49")
def sequence_with_denied_writer():
    """Makes a sequence of what an allowed node gives, what a denied one gives, and an input."""
    body = (
        "[mm0] a = MatMul(x, w) [exp] e = Exp(a) [seq] s = SequenceConstruct(a, e) [insert] t = SequenceInsert(s, x) "
        "[at] c = SequenceAt(t, one) [add] d = Add(c, w)\n"
        "              [softmax] f = Softmax(d) [mm2] y = MatMul(f, w)"
    )
    return Case(
        model(SQUARE, body, {"w": array(4, 4), "one": np.int64(1)}),
        [low("mm0", "mm2"), high("exp", "softmax"), one_type("seq", "insert", "at")],
    )


@complaint("49")
def sequence_is_output():
    """Makes the sequence an output: callers see the type that it had, so its whole cluster is float32."""
    body = (
        "[mm0] a = MatMul(x, w) [mm1] b = MatMul(a, w) [seq] s = SequenceConstruct(a, b) [at] c = SequenceAt(s, one) "
        "[mm2] y = MatMul(c, w)"
    )
    return Case(
        model("float[4,4] x => float[4,4] y, seq(float[4,4]) s", body, {"w": array(4, 4), "one": np.int64(1)}),
        [low("mm0", "mm1", "mm2"), sequence_is(False, "seq", "at")],
    )


@complaint("49 41")
def sequence_round_a_loop():
    body = (
        "[mm0] a = MatMul(x, w) [seq] s = SequenceConstruct(a) [loop] t = Loop(n, go, s)"
        "<body = l (int64 i, bool g, seq(float[4,4]) u) => (bool h, seq(float[4,4]) v) {\n"
        "              h = Identity(g) [lm] m = MatMul(a, w) [insert] v = SequenceInsert(u, m) }> "
        "[at] c = SequenceAt(t, one) [mm1] y = MatMul(c, w)"
    )
    made = model("float[4,4] x, int64 n, bool go => float[4,4] y", body, {"w": array(4, 4), "one": np.int64(1)})
    return Case(
        made,
        [
            low("mm0", "lm", "mm1"),
            one_type("seq", "loop", "insert", "at"),
            only("float16", sequence_is(True, "seq", "loop", "insert", "at")),
        ],
        THREE_TIMES,
    )


def one_type(*names):
    def check(outcome):
        kinds = {kind for name in names for kind in outcome.kinds_in_sequence(name)}
        return [] if len(kinds) == 1 else [f"sequences of {len(kinds)} types"]

    return check


def gives_low(name):
    """Checks that the node's first output is low."""

    def check(outcome):
        return gives(name, 0, outcome.low)(outcome)

    return check
