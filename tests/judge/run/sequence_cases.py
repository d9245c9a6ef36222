"""Small models of sequences, optionals and control flow, for side_by_side.py: (name, model, feeds).

Every model is ONNX text, so that a case shows what it is about. Inputs are tensors; sequences are made inside.
"""

import numpy as np
from onnx import parser

A = np.arange(12, dtype=np.float32).reshape(3, 4)
B = -np.arange(12, dtype=np.float32).reshape(3, 4)
EMPTY = np.zeros((0, 4), np.float32)


def model(body, opset=17):
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]>\n{body}')


def case(name, body, feeds, opset=17):
    return name, model(body, opset), feeds


def splits():
    """Sizes that are given, computed (read from an input) and absent; parts of one size and of several."""
    sizes = {"": "", "scalar 1": "1", "scalar 2": "2", "scalar 3": "3", "scalar 7": "7"}
    for axis in (0, 1, -1, -2):
        for keepdims in (0, 1):
            attributes = f"<axis = {axis}, keepdims = {keepdims}>"
            for name, size in sizes.items():
                operands = "x, s" if size else "x"
                given = f"<int64 s = {{{size}}}>" if size else ""
                yield case(
                    f"split {name} {attributes}",
                    f"g (float[3,4] x) => (seq(float) y) {given} {{ y = SplitToSequence {attributes} ({operands}) }}",
                    {"x": A},
                )
                if size:
                    yield case(
                        f"split computed {name} {attributes}",
                        f"g (float[a,b] x, int64 s) => (seq(float) y) {{ y = SplitToSequence {attributes} (x, s) }}",
                        {"x": A, "s": np.array(int(size))},
                    )
            length = A.shape[axis]
            for vector in ([1] * length, [length], [1, length - 1], [0, length], [length - 1, 1, 0]):
                yield case(
                    f"split {vector} {attributes}",
                    f"g (float[a,b] x, int64[n] s) => (seq(float) y) {{ y = SplitToSequence {attributes} (x, s) }}",
                    {"x": A, "s": np.array(vector)},
                )
    yield case(
        "split int32 scalar 1",
        "g (float[3,4] x) => (seq(float) y) <int32 s = {1}> { y = SplitToSequence <keepdims = 0> (x, s) }",
        {"x": A},
    )
    yield case(
        "split of nothing",
        "g (float[a,4] x) => (seq(float) y, int64 n) { y = SplitToSequence <axis = 0> (x) n = SequenceLength (y) }",
        {"x": EMPTY},
    )
    yield case(
        "split of nothing by 1",
        "g (float[a,4] x) => (int64 n) <int64 s = {1}> { y = SplitToSequence <axis = 0, keepdims = 0> (x, s) "
        "n = SequenceLength (y) }",
        {"x": EMPTY},
    )
    for opset in (11, 24):
        yield case(
            f"split scalar 1 at opset {opset}",
            "g (float[3,4] x) => (seq(float) y) <int64 s = {1}> "
            "{ y = SplitToSequence <keepdims = 0, axis = 1> (x, s) }",
            {"x": A},
            opset,
        )


UNBIND = """g (float[3,4] x, float[4] h) => (float[n,4] y) <int64 one = {1}, int64 trips = {3}, bool go = {1}> {
    s = SplitToSequence <axis = 0, keepdims = 0> (x, one)
    e = SequenceEmpty ()
    last, out = Loop <body = b (int64 i, bool c, float[4] state, seq(float) all) => \
(bool d, float[4] next, seq(float) more) {
        d = Identity (c)
        row = SequenceAt (s, i)
        next = Add (row, state)
        more = SequenceInsert (all, next)
    }> (trips, go, h, e)
    y = ConcatFromSequence <axis = 0, new_axis = 1> (out)
}"""


def positions():
    for position in range(-4, 5):
        feeds = {"a": A, "b": B, "p": np.array(position)}
        head = "(float[3,4] a, float[3,4] b, int64 p)"
        built = "c = Add (a, b) s = SequenceConstruct (a, b, c)"
        yield case(f"at {position}", f"g {head} => (float[3,4] y) {{ {built} y = SequenceAt (s, p) }}", feeds)
        yield case(
            f"insert {position}", f"g {head} => (seq(float) y) {{ {built} y = SequenceInsert (s, b, p) }}", feeds
        )
        yield case(f"erase {position}", f"g {head} => (seq(float) y) {{ {built} y = SequenceErase (s, p) }}", feeds)
        yield case(
            f"insert into nothing at {position}",
            f"g {head} => (seq(float) y) {{ s = SequenceEmpty () y = SequenceInsert (s, b, p) }}",
            feeds,
        )
    head = "(float[3,4] a, float[3,4] b)"
    feeds = {"a": A, "b": B}
    yield case(
        "insert at the end",
        f"g {head} => (seq(float) y) {{ s = SequenceConstruct (a) y = SequenceInsert (s, b) }}",
        feeds,
    )
    yield case(
        "erase the last", f"g {head} => (seq(float) y) {{ s = SequenceConstruct (a, b) y = SequenceErase (s) }}", feeds
    )
    yield case(
        "erase all",
        f"g {head} => (int64 n) {{ s = SequenceConstruct (a) y = SequenceErase (s) n = SequenceLength (y) }}",
        feeds,
    )
    yield case(
        "erase of nothing",
        f"g {head} => (int64 n) {{ s = SequenceEmpty () y = SequenceErase (s) n = SequenceLength (y) }}",
        feeds,
    )
    yield case("length of nothing", f"g {head} => (int64 n) {{ s = SequenceEmpty () n = SequenceLength (s) }}", feeds)
    yield case(
        "elements of several shapes",
        "g (float[3,4] a) => (seq(float) y) { b = Flatten <axis = 0> (a) c = ReduceSum (a) "
        "y = SequenceConstruct (a, b, c) }",
        {"a": A},
    )
    yield case(
        "integers", f"g {head} => (seq(int64) y) {{ m = Shape (a) n = Size (b) y = SequenceConstruct (m, n) }}", feeds
    )
    yield case(
        "int32 position",
        "g (float[3,4] a, float[3,4] b) => (float[3,4] y) <int32 p = {-2}> { s = SequenceConstruct (a, b) "
        "y = SequenceAt (s, p) }",
        feeds,
    )


def joins():
    feeds = {"a": A, "b": B}
    head = "(float[3,4] a, float[3,4] b)"
    for axis in range(-4, 4):
        for new_axis in (0, 1):
            attributes = f"<axis = {axis}, new_axis = {new_axis}>"
            yield case(
                f"concat {attributes}",
                f"g {head} => (float y) {{ s = SequenceConstruct (a, b) y = ConcatFromSequence {attributes} (s) }}",
                feeds,
            )
    yield case(
        "concat of one",
        f"g {head} => (float y) {{ s = SequenceConstruct (a) y = ConcatFromSequence <axis = 1> (s) }}",
        feeds,
    )
    yield case(
        "concat of several lengths",
        "g (float[a,4] a, float[b,4] b) => (float y) { s = SequenceConstruct (a, b, a) "
        "y = ConcatFromSequence <axis = 0> (s) }",
        {"a": A, "b": B[:1]},
    )
    yield case(
        "concat with a part of nothing",
        "g (float[a,4] a, float[b,4] b) => (float y) { s = SequenceConstruct (a, b) "
        "y = ConcatFromSequence <axis = 0> (s) }",
        {"a": A, "b": EMPTY},
    )
    yield case(
        "stack of scalars",
        "g (float a, float b) => (float[n] y) { s = SequenceConstruct (a, b) "
        "y = ConcatFromSequence <axis = 0, new_axis = 1> (s) }",
        {"a": np.array(1, np.float32), "b": np.array(2, np.float32)},
    )
    yield case(
        "stack of nothing in a dimension",
        "g (float[a,4] a) => (float y) { s = SequenceConstruct (a, a) "
        "y = ConcatFromSequence <axis = 0, new_axis = 1> (s) }",
        {"a": EMPTY},
    )
    yield case(
        "concat of nothing",
        f"g {head} => (float y) {{ s = SequenceEmpty () y = ConcatFromSequence <axis = 0> (s) }}",
        feeds,
    )
    yield case(
        "stack of shapes that differ",
        "g (float[3,4] a, float[b,4] b) => (float y) { s = SequenceConstruct (a, b) "
        "y = ConcatFromSequence <axis = 0, new_axis = 1> (s) }",
        {"a": A, "b": B[:1]},
    )


def maps():
    body = "body = m (float[i,j] e) => (float[i,j] f) { f = Neg (e) }"
    yield case(
        "map",
        f"g (float[3,4] a, float[3,4] b) => (seq(float) y) {{ s = SequenceConstruct (a, b) "
        f"y = SequenceMap <{body}> (s) }}",
        {"a": A, "b": B},
    )
    two = "body = m (float[i,j] e, float[i,j] k) => (float[i,j] f, int64[2] n) { f = Mul (e, k) n = Shape (e) }"
    yield case(
        "map with a tensor",
        f"g (float[3,4] a, float[3,4] b) => (seq(float) y, seq(int64) z) {{ s = SequenceConstruct (a, b) "
        f"y, z = SequenceMap <{two}> (s, a) }}",
        {"a": A, "b": B},
    )
    yield case(
        "map with a sequence",
        f"g (float[3,4] a, float[3,4] b) => (seq(float) y, seq(int64) z) {{ s = SequenceConstruct (a, b) "
        f"y, z = SequenceMap <{two}> (s, s) }}",
        {"a": A, "b": B},
    )
    yield case(
        "map of nothing",
        f"g (float[3,4] a) => (int64 n) {{ s = SequenceEmpty () y = SequenceMap <{body}> (s) n = SequenceLength (y) }}",
        {"a": A},
    )


def optionals():
    for opset in (15, 18):
        yield case(
            f"optional of a tensor, {opset}",
            "g (float[3,4] a) => (float[3,4] y, bool h) { o = Optional (a) y = OptionalGetElement (o) "
            "h = OptionalHasElement (o) }",
            {"a": A},
            opset,
        )
        yield case(
            f"optional of a sequence, {opset}",
            "g (float[3,4] a) => (seq(float) y, bool h) { s = SequenceConstruct (a, a) o = Optional (s) "
            "y = OptionalGetElement (o) h = OptionalHasElement (o) }",
            {"a": A},
            opset,
        )
        yield case(
            f"optional of nothing, {opset}",
            "g (float[3,4] a) => (bool h) { o = Optional <type = float[3,4]> () h = OptionalHasElement (o) }",
            {"a": A},
            opset,
        )
        yield case(
            f"element of nothing, {opset}",
            "g (float[3,4] a) => (float[3,4] y) { o = Optional <type = float[3,4]> () y = OptionalGetElement (o) }",
            {"a": A},
            opset,
        )
    yield case(
        "tensor as an optional",
        "g (float[3,4] a) => (float[3,4] y, bool h) { y = OptionalGetElement (a) h = OptionalHasElement (a) }",
        {"a": A},
        18,
    )
    yield case("no input at all", "g (float[3,4] a) => (bool h) { h = OptionalHasElement () }", {"a": A}, 18)
    yield case(
        "sequence of nothing in an optional",
        "g (float[3,4] a) => (bool h, int64 n) { s = SequenceEmpty () o = Optional (s) "
        "h = OptionalHasElement (o) t = OptionalGetElement (o) n = SequenceLength (t) }",
        {"a": A},
        18,
    )


def branches():
    for condition in (False, True):
        feeds = {"c": np.array(condition), "a": A, "b": B}
        yield case(
            f"if {condition}",
            "g (bool c, float[3,4] a, float[3,4] b) => (float y) { "
            "y = If (c) <then_branch = t () => (float p) { p = Add (a, b) }, "
            "else_branch = e () => (float q) { q = Flatten <axis = 0> (a) }> }",
            feeds,
        )
        yield case(
            f"if of sequences {condition}",
            "g (bool c, float[3,4] a, float[3,4] b) => (seq(float) y) { "
            "y = If (c) <then_branch = t () => (seq(float) p) { p = SequenceConstruct (a, b) }, "
            "else_branch = e () => (seq(float) q) { q = SequenceConstruct (b) }> }",
            feeds,
        )
        yield case(
            f"if with a condition [1], {condition}",
            "g (bool[1] c, float[3,4] a) => (float y) { y = If (c) <then_branch = t () => (float p) { p = Neg (a) }, "
            "else_branch = e () => (float q) { q = Abs (a) }> }",
            {"c": np.array([condition]), "a": A},
        )
        yield case(
            f"if that gives what is outside, {condition}",
            "g (bool c, float[3,4] a, float[3,4] b) => (float y) { "
            "y = If (c) <then_branch = t () => (float p) { p = Identity (a) }, "
            "else_branch = e () => (float q) { q = Identity (b) }> }",
            feeds,
        )


def loops():
    def loop(operands, cond="Identity (c)", m="int64 m", k="bool k", c="bool"):
        return (
            f"g ({m}, {k}, float[2] x) => (float[2] y, float[n,2] z) {{ "
            f"y, z = Loop <body = b (int64 i, {c} c, float[2] v) => ({c} d, float[2] w, float[2] o) "
            f"{{ d = {cond} f = Cast <to = 1> (i) w = Add (v, f) o = Identity (w) }}> ({operands}) }}"
        )

    x = np.array([1, 2], np.float32)
    for trips in (-1, 0, 1, 3):
        for go in (False, True):
            for cond in ("Identity (c)", "Not (c)"):
                feeds = {"m": np.array(trips), "k": np.array(go), "x": x}
                for operands in ("m, k, x", "m, , x"):
                    yield case(f"loop ({operands}) {trips} {go} {cond}", loop(operands, cond), feeds)
                if not go or cond.startswith("Not"):
                    yield case(f"loop ( , k, x) {trips} {go} {cond}", loop(" , k, x", cond), feeds)
    yield case("loop ( , , x) with Not", loop(" , , x", "Not (c)"), {"m": np.array(1), "k": np.array(True), "x": x})
    yield case(
        "loop with [1] operands",
        loop("m, k, x", m="int64[1] m", k="bool[1] k", c="bool[1]"),
        {"m": np.array([3]), "k": np.array([True]), "x": x},
    )
    for trips in (0, 2):
        yield case(
            f"loop of a sequence, {trips}",
            "g (int64 m, float[3,4] a) => (seq(float) y) <bool go = {1}> { e = SequenceEmpty () "
            "y = Loop <body = b (int64 i, bool c, seq(float) s) => (bool d, seq(float) t) "
            "{ d = Identity (c) t = SequenceInsert (s, a) }> (m, go, e) }",
            {"m": np.array(trips), "a": A},
        )
        yield case(
            f"loop of scalars, {trips}",
            "g (int64 m) => (int64[n] y) <bool go = {1}> { "
            "y = Loop <body = b (int64 i, bool c) => (bool d, int64 j) "
            "{ d = Identity (c) j = Identity (i) }> (m, go) }",
            {"m": np.array(trips)},
        )
        yield case(
            f"loop whose state grows, {trips}",
            "g (int64 m, float[a,4] a) => (float[n,4] y) <bool go = {1}> { "
            "y = Loop <body = b (int64 i, bool c, float[k,4] s) => (bool d, float[l,4] t) "
            "{ d = Identity (c) t = Concat <axis = 0> (s, a) }> (m, go, a) }",
            {"m": np.array(trips), "a": A},
        )
    yield case("unbind in a scripted loop", UNBIND, {"x": A, "h": np.ones(4, np.float32)})


def scans():
    def scan(
        attributes,
        body="m (float[n] s, float[n] e) => (float[n] t, float[n] o) { t = Add (s, e) o = Mul (t, e) }",
        state="float[n] s0",
        x="float[3,4] x",
        z="float z",
    ):
        return (
            f"g ({state}, {x}) => (float y, {z}) {{ y, z = Scan <num_scan_inputs = 1, {attributes}, "
            f"body = {body}> (s0, x) }}"
        )

    for in_axis in (0, 1, -1, -2):
        state = np.ones(A.shape[1 if in_axis in (0, -2) else 0], np.float32)
        for in_direction in (0, 1):
            for out_axis in (0, 1, -1, -2):
                for out_direction in (0, 1):
                    attributes = (
                        f"scan_input_axes = [{in_axis}], scan_input_directions = [{in_direction}], "
                        f"scan_output_axes = [{out_axis}], scan_output_directions = [{out_direction}]"
                    )
                    yield case(f"scan {attributes}", scan(attributes), {"s0": state, "x": A})
    yield case(
        "scan of nothing",
        scan(
            "scan_input_axes = [0]",
            "m (float[4] s, float[4] e) => (float[4] t, float[4] o) { t = Add (s, e) o = Mul (t, e) }",
            "float[4] s0",
            "float[a,4] x",
        ),
        {"s0": np.ones(4, np.float32), "x": EMPTY},
    )
    yield case(
        "scan without states",
        "g (float[3,4] x) => (float z) { z = Scan <num_scan_inputs = 1, "
        "body = m (float[4] e) => (float[4] o) { o = Neg (e) }> (x) }",
        {"x": A},
    )
    yield case(
        "scan of two, each in its direction",
        "g (float[3,4] x, float[4,3] w) => (float z) { z = Scan <num_scan_inputs = 2, "
        "scan_input_axes = [0, 1], scan_input_directions = [0, 1], "
        "body = m (float[4] e, float[4] f) => (float[4] o) { o = Sub (e, f) }> (x, w) }",
        {"x": A, "w": B.T.copy()},
    )
    yield case(
        "scan of two lengths",
        "g (float[3,4] x, float[a,4] w) => (float z) { z = Scan <num_scan_inputs = 2, "
        "body = m (float[4] e, float[4] f) => (float[4] o) { o = Sub (e, f) }> (x, w) }",
        {"x": A, "w": B[:2]},
    )


DIFFERS = {
    "split *scalar [237] <*, keepdims = 0>": (
        "onnxruntime takes such parts for parts of 1 and fails; ONNX's text has the axis stay"
    ),
    "scan of nothing": "onnxruntime cannot scan a dimension of 0",
}


def cases():
    for family in (splits, positions, joins, maps, optionals, branches, loops, scans):
        yield from family()
