"""The parts of a complaint's case: a small model, inputs that show the complaint, and checks of its rewrite.

    @complaint("1")
    def resize11_scales():
        made = model("float[1,4,4,4] x => float[1,4,8,8] y", "[mm] ...", {"w": array}, opset=11)
        return Case(made, expect=[reads_float32("resize", 2)])

The function's name is the case's name. Checks take an Outcome and return sentences; none means that all is well.
`low` and `high` look at the types of a node's ports in the written model, not at what the report claims; `because`
looks at the report.
"""

import collections
import dataclasses
import functools

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from judge import rounding, scope_rules, scopes, structure
from judge.inlining import inlined

FLOAT = TensorProto.FLOAT
CASES = {}  # name -> (numbers in the list of complaints, function)


@dataclasses.dataclass
class Case:
    model: onnx.ModelProto
    expect: list = dataclasses.field(default_factory=list)
    feeds: dict = dataclasses.field(default_factory=dict)  # inputs that are not here get random ones in [0.5, 1.5]
    flags: list = dataclasses.field(default_factory=list)
    exact: tuple = ()  # outputs that have to be the same to the bit
    exit: int = 0
    # The original passes the checker as it is; if not, it does once it is sorted and value_info is dropped.
    is_valid: bool = True
    external: bool = False  # weights in a file beside the model


@dataclasses.dataclass
class Outcome:
    original: onnx.ModelProto
    result: onnx.ModelProto
    dtype: str
    report: dict | None  # None: the program under test writes none
    unchanged: bool

    @property
    def low(self):
        return structure.DTYPES[self.dtype]

    @functools.cached_property
    def graphs(self):
        return scopes.typed_graphs(self.result, strict=False)

    @functools.cached_property
    def flat_graphs(self):
        return scopes.typed_graphs(inlined(self.result), strict=False)

    def find(self, name):
        """Finds the node of this name in any scope. Returns (node, types that it sees), or (None, {})."""
        return next(((n, types) for _, graph, types in self.graphs for n in graph.node if n.name == name), (None, {}))

    def kinds_in_sequence(self, name):
        """Returns the element types of the sequences and optionals that the node reads and gives."""
        known = scopes.inferred(self.result, strict=False)
        for place in scope_rules.places(known.graph):
            for node in place.graph.node:
                if node.name == name:
                    kinds = [place.type(v) for v in [*node.input, *node.output] if v]
                    return {scopes.element_type(k) for k in kinds if k and not k.HasField("tensor_type")}
        return set()

    def weight(self, name):
        return next((t for _, graph, _ in self.graphs for t in graph.initializer if t.name == name), None)


def complaint(numbers):
    def register(function):
        assert function.__name__ not in CASES, function.__name__
        CASES[function.__name__] = numbers, function
        return function

    return register


def model(signature, body, weights=None, opset=17, ir=8, imports="", functions=""):
    """Makes a model from ONNX's text form.

    `signature`: 'float[2,2] x => float[2,2] y'; `weights`: name -> array.
    """
    inputs, outputs = signature.split("=>")
    text = (
        f'<ir_version: {ir}, opset_import: [{imports}"" : {opset}]> g ({inputs.strip()}) => ({outputs.strip()}) {{ '
        f"{body} }} {functions}"
    )
    made = onnx.parser.parse_model(text)
    made.graph.initializer.extend(numpy_helper.from_array(np.asarray(a), name) for name, a in (weights or {}).items())
    if ir < 4:  # there, every initializer is an input too
        made.graph.input.extend(
            onnx.helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in made.graph.initializer
        )
    return made


def array(*shape, seed=1, low=0.1, high=0.5):
    """Returns random numbers, positive by default.

    Sums of positive numbers do not cancel, and bounds on relative errors mean something.
    """
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def fill_feeds(case):
    feeds, constants = dict(case.feeds), {t.name for t in case.model.graph.initializer}
    doubles = {v.name for v in case.model.graph.input if v.type.tensor_type.elem_type == TensorProto.DOUBLE}
    for name, value in rounding.random_feeds(case.model, 1).items():
        if name not in feeds and name not in constants:
            feeds[name] = np.abs(value) + np.float32(0.5) if value.dtype.kind == "f" else value
            feeds[name] = feeds[name].astype(np.float64) if name in doubles else feeds[name]
    return feeds


# ---- checks


def _each(names, judge):
    def check(outcome):
        found = []
        for name in names:
            node, types = outcome.find(name)
            found += judge(outcome, name, node, types) if node else [f"{name} is gone"]
        return found

    return check


def _has_low_port(outcome, node, types):
    return any(types.get(v) == outcome.low for v in [*node.input, *node.output] if v)


def sequence_is(is_low, *names):
    """Checks that the sequences at these nodes are low, or, without `is_low`, that they are float32."""

    def check(outcome):
        found = {name: outcome.kinds_in_sequence(name) for name in names}
        wanted = {outcome.low if is_low else FLOAT}
        return [
            f"{name} has sequences of {sorted(map(structure._type, kinds))}"
            for name, kinds in found.items()
            if kinds != wanted
        ]

    return check


def low(*names):
    return _each(names, lambda o, name, node, types: [] if _has_low_port(o, node, types) else [f"{name} is not low"])


def high(*names):
    return _each(names, lambda o, name, node, types: [f"{name} is low"] if _has_low_port(o, node, types) else [])


def operators(kind, count, is_low):
    """Checks how many nodes of an operator there are, and that all of them are low, or that none is.

    It counts over all scopes and inlined functions, as names change where functions are inlined.
    """

    def check(outcome):
        found = [
            _has_low_port(outcome, n, types)
            for _, graph, types in outcome.flat_graphs
            for n in graph.node
            if n.op_type == kind and n.domain == ""
        ]
        return (
            []
            if found == [is_low] * count
            else [f"{sum(found)} of {len(found)} {kind} are low, not {count * is_low} of {count}"]
        )

    return check


def reads(name, port, kind):
    return _each(
        [name],
        lambda o, _, node, types: (
            []
            if types.get(node.input[port]) == kind
            else [f"{name} reads {structure._type(types.get(node.input[port]))} at {port}"]
        ),
    )


def gives(name, port, kind):
    return _each(
        [name],
        lambda o, _, node, types: (
            []
            if types.get(node.output[port]) == kind
            else [f"{name} gives {structure._type(types.get(node.output[port]))} at {port}"]
        ),
    )


def reads_float32(name, port):
    return reads(name, port, FLOAT)


def user_casts_stay(*names):
    """Checks that these casts of the original are there with the type that they had."""

    def judge(outcome, name, node, types):
        before = next(n for _, g in scopes.all_graphs(outcome.original.graph) for n in g.node if n.name == name)
        return [] if scopes.cast_target(node) == scopes.cast_target(before) else [f"{name} casts to another type"]

    return _each(names, judge)


def casts_of(value, count):
    def check(outcome):
        old = {n.name for n in outcome.original.graph.node if n.name}
        found = [
            n
            for _, g, _ in outcome.graphs
            for n in g.node
            if n.op_type == "Cast" and n.input[0] == value and n.name not in old
        ]
        return [] if len(found) == count else [f"{len(found)} casts of {value}, not {count}"]

    return check


def no_new_casts(outcome):
    count = structure.added_casts(outcome.original, outcome.result)
    return [f"{count} casts were added"] if count else []


def unchanged(outcome):
    return [] if outcome.unchanged else ["the bytes changed"]


def unique_nodes(outcome):
    names = collections.Counter(n.name for _, g, _ in outcome.graphs for n in g.node if n.name)
    return [f"node name {name} occurs {n} times" for name, n in names.items() if n > 1]


def holds_weight(name, kind):
    """Checks that the written model has this initializer with this type."""

    def check(outcome):
        tensor = outcome.weight(name)
        return (
            []
            if tensor is not None and tensor.data_type == kind
            else [f"no initializer {name} of type {structure._type(kind)}"]
        )

    return check


def low_weights(judge, text):
    """Checks the list of all low initializers, as arrays, by `judge`."""

    def check(outcome):
        found = [
            numpy_helper.to_array(t) for _, g, _ in outcome.graphs for t in g.initializer if t.data_type == outcome.low
        ]
        return [] if judge(found) else [f"low weights: {text}"]

    return check


def states(name, shape):
    """Checks that the main graph's value_info gives the value this shape, or, for None, has no entry for it."""

    def check(outcome):
        found = [
            [d.dim_value for d in v.type.tensor_type.shape.dim]
            for v in outcome.result.graph.value_info
            if v.name == name
        ]
        return (
            [] if found == ([] if shape is None else [shape]) else [f"value_info states {found} of {name}, not {shape}"]
        )

    return check


def because(name, text):
    """Checks that the report gives this reason for the node."""

    def check(outcome):
        if outcome.report is None:
            return []
        given = next((n["because"] for n in outcome.report["nodes"] if n["path"] == name), "(not in the report)")
        return [] if text in given else [f"the report says of {name}: {given}"]

    return check


def reported(judge, text):
    def check(outcome):
        return [] if outcome.report is None or judge(outcome.report) else [f"report: {text}"]

    return check


def only(dtype, *checks):
    def check(outcome):
        return [text for c in checks for text in c(outcome)] if outcome.dtype == dtype else []

    return check
