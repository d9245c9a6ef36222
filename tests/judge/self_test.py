#!/usr/bin/env python3
"""Shows that each judge says yes to a good rewrite and no to a bad one. Needs no program under test.

structure      is given one original with one correct rewrite, both as text, and then that rewrite with one edit per
               rule; it must name the rule
rounding       has its own `--self-test`
decisions      must see a node and a cast too many or too few
random graphs  must pass the naive rewriter and notice each of its known defects
runtimes       must refuse a model that onnxruntime's optimiser makes invalid, and one that OpenVINO does not import
descriptions   must notice whatever is erased
"""

import sys

import onnx

from judge import descriptions, runtimes, structure
from judge.generators import graph_generator
from judge.naive_rewriter import NaiveTool
from judge.rewrite import random_graphs, scope_cases, tf_decisions

ORIGINAL = """<ir_version: 8, opset_import: ["": 17], producer_name: "judge">
g (float[2,2] x, float[2,2] z) => (float[2,2] y, float[2,2] u)
  <float[2,2] w = {1, 2, 3, 4}, float[2,2] v = {1, 0, 0, 1}, float[2,2] spare = {0, 0, 0, 0}>
{
  [mm] m = MatMul(x, w)
  [relu] r = Relu(m)
  [exp] e = Exp(m)
  [sub] y = Sub(r, e)
  [gemm] u = Gemm<alpha = 0.5>(x, z, v)
  [side] q = Mul(v, z)
  [user_down] n = Cast<to = 10>(z)
  [user_up] k = Cast<to = 1>(n)
}"""

GOOD = """<ir_version: 8, opset_import: ["": 17], producer_name: "judge">
g (float[2,2] x, float[2,2] z) => (float[2,2] y, float[2,2] u)
  <float16[2,2] w_h = {1, 2, 3, 4}, float[2,2] v = {1, 0, 0, 1}, float16[2,2] v_h = {1, 0, 0, 1}, \
float[2,2] spare = {0, 0, 0, 0}>
{
  [cx] x_h = Cast<to = 10>(x)
  [cz] z_h = Cast<to = 10>(z)
  [mm] m = MatMul(x_h, w_h)
  [cm] m_f = Cast<to = 1>(m)
  [relu] r = Relu(m)
  [cr] r_f = Cast<to = 1>(r)
  [exp] e = Exp(m_f)
  [sub] y = Sub(r_f, e)
  [gemm] u_h = Gemm<alpha = 0.5>(x_h, z_h, v_h)
  [cu] u = Cast<to = 1>(u_h)
  [side] q = Mul(v, z)
  [user_down] n = Cast<to = 10>(z)
  [user_up] k = Cast<to = 1>(n)
}"""

DESCRIBED = """<ir_version: 10, opset_import: ["": 17], producer_name: "judge">
g (float[2,2] x, bool c) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}> {
  [const] k = Constant<value = float[2,2] {1, 2, 3, 4}>()
  [mm] m = MatMul(x, w)
  [if] y = If(c) <then_branch = t () => (float[2,2] a) { [add] a = Add(m, k) }, \
else_branch = e () => (float[2,2] b) { [sub] b = Sub(m, k) }>
}"""

# The rule that must be named, the fault, and the edit that makes it.
BAD = [
    ("checker", "an operator's types disagree", [("Sub(r_f, e)", "Sub(r, e)")]),
    (
        "io",
        "an output became low",
        [("float[2,2] u)", "float16[2,2] u)"), ("u_h = Gemm", "u = Gemm"), ("  [cu] u = Cast<to = 1>(u_h)\n", "")],
    ),
    ("io", "inputs changed places", [("(float[2,2] x, float[2,2] z)", "(float[2,2] z, float[2,2] x)")]),
    ("io", "an input was renamed", [("float[2,2] x,", "float[2,2] xx,"), ("10>(x)", "10>(xx)")]),
    ("io", "an output lost its shape", [("float[2,2] y,", "float[2,A] y,")]),
    ("node", "a node is gone", [("  [relu] r = Relu(m)\n", ""), ("(r)", "(m)")]),
    ("node", "a node was renamed", [("[side]", "[side_new]")]),
    ("node", "a node is another operator", [("e = Exp(", "e = Sqrt(")]),
    ("node", "an attribute changed", [("alpha = 0.5", "alpha = 0.25")]),
    ("node", "a new node is no Cast", [("  [sub]", "  [extra] extra = Identity(e)\n  [sub]")]),
    ("tensor", "a tensor was renamed", [("e = Exp", "ee = Exp"), ("r_f, e)", "r_f, ee)")]),
    ("cast", "an identity cast", [("  [sub]", "  [ce] e_f = Cast<to = 1>(e)\n  [sub]"), ("r_f, e)", "r_f, e_f)")]),
    (
        "cast",
        "the same cast twice",
        [("  [exp]", "  [cm2] m_f2 = Cast<to = 1>(m)\n  [exp]"), ("Exp(m_f)", "Exp(m_f2)"), ("Sub(r_f", "Sub(m_f")],
    ),
    (
        "cast",
        "widened and narrowed again",
        [("  [relu] r = Relu(m)", "  [cmm] m_h = Cast<to = 10>(m_f)\n  [relu] r = Relu(m_h)")],
    ),
    ("cast", "a cast nobody reads", [("  [sub]", "  [ce] e_h = Cast<to = 10>(e)\n  [sub]")]),
    ("name", "a new cast has a node's name", [("[cx]", "[exp]")]),
    ("name", "a new cast has no name", [("[cx] ", "")]),
    (
        "order",
        "not sorted",
        [("  [cm] m_f = Cast<to = 1>(m)\n", ""), ("  [sub]", "  [cm] m_f = Cast<to = 1>(m)\n  [sub]")],
    ),
    (
        "order",
        "untouched nodes changed places",
        [("  [side] q = Mul(v, z)\n", ""), ("  [sub]", "  [side] q = Mul(v, z)\n  [sub]")],
    ),
    (
        "order",
        "a cast far from its producer",
        [("  [cu] u = Cast<to = 1>(u_h)\n", ""), ("  [user_down]", "  [cu] u = Cast<to = 1>(u_h)\n  [user_down]")],
    ),
    (
        "weight",
        "the float32 original is left behind",
        [("<float16[2,2] w_h", "<float[2,2] w = {1, 2, 3, 4}, float16[2,2] w_h")],
    ),
    ("weight", "a weight changed under its name", [("float[2,2] v = {1, 0, 0, 1}", "float[2,2] v = {1, 0, 0, 2}")]),
    (
        "node",
        "the user's rounding pair was folded",
        [("  [user_down] n = Cast<to = 10>(z)\n  [user_up] k = Cast<to = 1>(n)\n", "")],
    ),
    ("loads", "no kernel takes these types", [("e = Exp(m_f)", "e = Exp(m_f)  bits = BitwiseNot(q)")]),
]


class Count:
    def __init__(self):
        self.passed = self.failed = 0

    def expect(self, ok, what, detail=""):
        self.passed, self.failed = self.passed + bool(ok), self.failed + (not ok)
        print(f"{'ok  ' if ok else 'FAIL'} {what}" + ("" if ok else f": {detail}"))


def test_structure(count):
    original, good = onnx.parser.parse_model(ORIGINAL), onnx.parser.parse_model(GOOD)
    found = structure.problems(original, good, "float16")
    count.expect(not found, "structure accepts a correct rewrite", found)
    found = structure.problems(original, original, "float16")
    count.expect(not found, "structure accepts an unchanged model", found)
    for rule, what, edits in BAD:
        text = GOOD
        for old, new in edits:
            assert old in text, (what, old)
            text = text.replace(old, new)
        found = structure.problems(original, onnx.parser.parse_model(text), "float16")
        count.expect(
            any(f.startswith(rule + ":") for f in found), f"structure refuses: {what}", f"wanted {rule}, found {found}"
        )
    stale = onnx.parser.parse_model(GOOD)
    stale.graph.value_info.append(onnx.helper.make_tensor_value_info("m", onnx.TensorProto.FLOAT, [2, 2]))
    found = structure.problems(original, stale, "float16")
    count.expect(any(f.startswith("value-info:") for f in found), "structure refuses: stale value_info", found)
    released = onnx.parser.parse_model(
        GOOD.replace("float[2,2] u)", "float16[2,2] u)")
        .replace("u_h = Gemm", "u = Gemm")
        .replace("  [cu] u = Cast<to = 1>(u_h)\n", "")
    )
    found = structure.problems(original, released, "float16", keep_io="none")
    count.expect(not found, "structure accepts a low output that was released", found)
    count.expect(
        structure.low_nodes(original, good, "float16") == {("", 0), ("", 1), ("", 4)},
        "structure counts low nodes",
        structure.low_nodes(original, good, "float16"),
    )


def test_scopes(count):
    for original, right, wrong in (
        (scope_cases.ORIGINAL, scope_cases.RIGHT, scope_cases.WRONG),
        (scope_cases.CALL, scope_cases.INLINED, scope_cases.WRONGLY_INLINED),
    ):
        before = onnx.parser.parse_model(original)
        kind = "functions" if before.functions else "scopes"
        found = structure.problems(before, onnx.parser.parse_model(right), "float16")
        count.expect(not found, f"structure accepts a correct rewrite across {kind}", found)
        found = structure.problems(before, before, "float16")
        count.expect(not found, f"structure accepts an unchanged model with {kind}", found)
        for rules, what, edits in wrong:
            text = right
            for old, new in edits:
                assert old in text, (what, old)
                text = text.replace(old, new)
            found = structure.problems(before, onnx.parser.parse_model(text), "float16")
            count.expect(
                any(f.split(":")[0] in rules for f in found),
                f"structure refuses: {what}",
                f"wanted one of {rules}, found {found}",
            )


def test_descriptions(count):
    """Erases the description of one part at a time, and expects the judge to notice."""
    original = descriptions.decorate(descriptions.state_types(onnx.parser.parse_model(DESCRIBED)))

    def without(edit):
        model = onnx.ModelProto.FromString(original.SerializeToString())
        edit(model)
        return model

    count.expect(
        not descriptions.problems(original, original),
        "descriptions accept an unchanged model",
        descriptions.problems(original, original),
    )
    low = onnx.numpy_helper.from_array(
        onnx.numpy_helper.to_array(original.graph.initializer[0]).astype("float16"), "w_float16"
    )
    found = descriptions.problems(original, without(lambda m: m.graph.initializer.append(low)))
    count.expect(not found, "descriptions accept a low copy that says nothing", found)
    inner = lambda m: m.graph.node[2].attribute[0].g
    for what, edit in [
        ("the model", lambda m: m.ClearField("doc_string")),
        ("metadata of the model", lambda m: m.ClearField("metadata_props")),
        ("a graph", lambda m: m.graph.ClearField("doc_string")),
        ("an input", lambda m: m.graph.input[0].ClearField("doc_string")),
        ("a weight", lambda m: m.graph.initializer[0].ClearField("doc_string")),
        ("metadata of a weight", lambda m: m.graph.initializer[0].ClearField("metadata_props")),
        ("a value", lambda m: m.graph.value_info[0].ClearField("metadata_props")),
        ("all values", lambda m: m.graph.ClearField("value_info")),
        ("a node", lambda m: m.graph.node[0].ClearField("metadata_props")),
        ("an attribute", lambda m: m.graph.node[0].attribute[0].ClearField("doc_string")),
        ("the name of a tensor", lambda m: m.graph.node[0].attribute[0].t.ClearField("name")),
        ("a tensor", lambda m: m.graph.node[0].attribute[0].t.ClearField("doc_string")),
        ("a body", lambda m: inner(m).ClearField("doc_string")),
        ("a node in a body", lambda m: inner(m).node[0].ClearField("doc_string")),
    ]:
        count.expect(descriptions.problems(original, without(edit)), f"descriptions notice: {what} says less")


# A norm written out: one LayerNormalization for onnxruntime, whose input and scale are to have one type.
NORM = """<ir_version: 8, opset_import: ["": 17]> g (float[4,8] x) => (float[4,8] y) \
<float eps = {1}, KIND[8] scale = {1, 1, 1, 1, 1, 1, 1, 1}> {
  a = Cast<to = 10>(x)  b = Cast<to = 1>(a)  m = ReduceMean<axes = [-1]>(b)  d = Sub(b, m)  \
two = Constant<value_float = 2.0>()  p = Pow(d, two)
  v = ReduceMean<axes = [-1]>(p)  e = Add(v, eps)  s = Sqrt(e)  n = Div(d, s)  \
NARROW  t = Mul(q, scale)  u = Add(t, scale)  y = Cast<to = 1>(u)
}"""
BATCH_NORM = """<ir_version: 8, opset_import: ["": 15]> g (float[1,2,2,2] x) => (float[1,2,2,2] y) \
<KIND[2] s = {1, 1}> {
  a = Cast<to = 10>(x)  b = BatchNormalization(a, s, s, s, s)  y = Cast<to = 1>(b)
}"""


def test_runtimes(count):
    high, low = (
        onnx.parser.parse_model(NORM.replace("KIND", kind).replace("NARROW", cast))
        for kind, cast in (("float", "q = Identity(n)"), ("float16", "q = Cast<to = 10>(n)"))
    )
    found = runtimes.problems(low, high, "float16")
    count.expect(found and found[0].startswith("optimised:"), "runtimes refuses: input and scale of two types", found)
    count.expect(
        not runtimes.problems(low, low, "float16"), "runtimes accepts input and scale of one type", runtimes.TOTALS
    )
    count.expect(
        not runtimes.problems(high, high, "float16"),
        "runtimes accepts what is no worse than the original",
        runtimes.TOTALS,
    )
    high, low = (onnx.parser.parse_model(BATCH_NORM.replace("KIND", kind)) for kind in ("float", "float16"))
    found = runtimes.openvino_problems(low, high)
    count.expect(found and found[0].startswith("openvino:"), "runtimes refuses: statistics of another type", found)
    count.expect(
        not runtimes.openvino_problems(low, low), "runtimes accepts statistics of the input's type", runtimes.TOTALS
    )


def test_decisions(count):
    original, good = onnx.parser.parse_model(ORIGINAL), onnx.parser.parse_model(GOOD)
    want = {
        "low": ["mm", "relu", "gemm"],
        "casts_down": ["x", "z"],
        "casts_up": ["m", "r", "u"],
        "const_casts": ["w", "v"],
    }
    count.expect(
        not tf_decisions.disagreement(original, good, "float16", want),
        "decisions agree",
        tf_decisions.disagreement(original, good, "float16", want),
    )
    for field in want:
        for change in (want[field][1:], [*want[field], "other"]):
            got = tf_decisions.disagreement(original, good, "float16", {**want, field: change})
            count.expect(field in got, f"decisions differ in {field}", got)


def test_random_graphs(count):
    for with_scopes in (False, True):
        what = "random graphs with scopes" if with_scopes else "random graphs"
        judge = lambda tool: random_graphs.run(
            tool,
            seed=7,
            graphs=60 if with_scopes else 40,
            values=60 if with_scopes else 20,
            echo=False,
            with_scopes=with_scopes,
            least=(0.03, 0),
        )
        with NaiveTool() as tool:
            failures = judge(tool)
        others = [f for f in failures if f.rule != "description"]
        count.expect(not others, f"{what} accept the naive rewriter", others[:3])
        count.expect(len(others) < len(failures), f"{what} notice that it drops value_info")
        for defect, rule in [
            ("not idempotent", "twice"),
            ("greedy exclusion", "exclusion"),
            ("ignores exclusion", "exclude-all"),
            ("position dependent", "isomorphic"),
            ("wrong wire", "values"),
            ("wrong weight", "values"),
        ]:
            with NaiveTool(defect) as tool:
                failures = judge(tool)
            count.expect(
                any(f.rule == rule for f in failures),
                f"{what} notice: {defect}",
                f"wanted {rule}, found {sorted({f.rule for f in failures})}",
            )


def test_exclusion(count):
    """Compares two rewrites of which one makes a copy of a function and the other does not.

    A node that is low in both is not one that became low.
    """
    function = """<domain: "local", opset_import: ["" : 17]> NAME (p) => (q) { q = Abs (p) }"""
    text = """<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
      g (float[2,2] x) => (float[2,2] y, float[2,2] z) { [k] k = Constant <value = TYPE[2,2] {1, 2, 3, 4}> () \
[f] z = local.NAME (x) MATMUL }"""
    low = "[x_to_float16] v = Cast <to = 10> (x) [mm] w = MatMul (v, k) [y_to_float32] y = Cast <to = 1> (w)"
    make = lambda name, dtype, nodes: onnx.parser.parse_model(
        (text + function).replace("NAME", name).replace("TYPE", dtype).replace("MATMUL", nodes)
    )
    original = make("f", "float", "[mm] y = MatMul (x, k)")
    some, more = structure.low_nodes_of_each(
        original, [make("f_low", "float16", low), make("f", "float16", low)], "float16"
    )
    count.expect(some == more and len(some) == 1, "low nodes are counted in one way", f"{some} and {more}")


def test_absence(count):
    graphs = range(100)
    with_absent = [graph_generator.generate(seed) for seed in graphs]
    chances = graph_generator.ABSENT_INPUT, graph_generator.ABSENT_OUTPUT
    for i, what in enumerate(["inputs", "outputs"]):
        graph_generator.ABSENT_INPUT, graph_generator.ABSENT_OUTPUT = (0, chances[1]) if i == 0 else (chances[0], 0)
        differ = sum(with_absent[seed] != graph_generator.generate(seed) for seed in graphs)
        count.expect(differ >= 15, f"random graphs leave optional {what} out", f"{differ} of {len(graphs)} graphs")
    graph_generator.ABSENT_INPUT, graph_generator.ABSENT_OUTPUT = chances


def main():
    count = Count()
    test_exclusion(count)
    test_absence(count)
    test_structure(count)
    test_scopes(count)
    test_descriptions(count)
    test_runtimes(count)
    test_decisions(count)
    test_random_graphs(count)

    print(f"{count.passed} passed, {count.failed} failed")
    return 1 if count.failed else 0


if __name__ == "__main__":
    sys.exit(main())
