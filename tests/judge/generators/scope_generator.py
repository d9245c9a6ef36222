"""Makes random valid models with If, Loop and Scan, nested, around the operators of graph_generator.py.

`generate(seed, smooth)` returns a model with its inputs. The model has up to some 60 nodes over all its scopes, at one
of the opsets of OPSETS, and it loads and runs in onnxruntime.
  - Bodies capture values and initializers of every scope around them.
  - The same names occur in sibling bodies, but never a name that a scope around defines.
  - Branches give back initializers, Constants and captured values.
  - Loops run by a constant or an input, also not at all, and swap or pass on their state.
  - Scan has axes and directions.
sequence_generator.py adds sequences and optionals; function_generator.py adds the model's own functions.

    Scope            the graph, a body or a function that is being built; it can pick a value that is defined around it
                     like one of its own
    CONTROL          name -> (opset since, function(scope)) of each node with a body; the other generators register here
                     too
    scope.result()   a value of a kind and shape that the scope itself defines, so that it may be an output

One invariant is not obvious: every shape is known while building, except the length of what a loop with an unknown trip
count collects. Such a value (`dynamic`) only goes to a graph output.
"""

import random

import numpy as np
from onnx import helper, numpy_helper

from judge.generators import graph_generator
from judge.generators.graph_generator import COMMON, EXTREMES, HEAVY, OPERATORS, SMOOTH, B, Builder, F, I

SEQ, OPT = "sequence", "optional"  # of float tensors; a value is then (name, kind, shape of its elements, sure length)
OPSETS = [11, 13, 16, 17, 18, 20, 21, 22, 24]
MAX_DEPTH = 3
OFTEN = {"If": 5, "Loop": 6, "Scan": 4, "SequenceMap": 2, "Call": 3}  # times that an entry of CONTROL counts
CONTROL = {}
# Scope.implied() makes these.
REPLACED = {"Constant", "ConstantOfShape"}
# These operators skip inputs or outputs, or are functions. onnxruntime does not inline such a node from the body of a
# SequenceMap, which is a function itself.
NOT_MAPPED = {
    "Clip",
    "FloatToInt",
    "LSTM",
    "GRU",
    "RNN",
    "Resize",
    "LayerNormalization",
    "Mish",
    "Swish",
    "HardSwish",
    "GroupNormalization",
}


def control(since=1):
    def mark(function):
        CONTROL[function.__name__] = since, function
        return function

    return mark


def type_of(value):
    name, kind, shape = value[:3]
    if kind == SEQ:
        return helper.make_value_info(name, helper.make_sequence_type_proto(helper.make_tensor_type_proto(F, shape)))
    if kind == OPT:
        return helper.make_value_info(name, helper.make_optional_type_proto(helper.make_tensor_type_proto(F, shape)))
    return helper.make_tensor_value_info(name, kind, shape)


class Scope(Builder):
    def __init__(self, outer, is_function=False):
        self.outer, self.is_function = None if is_function else outer, is_function
        self.root = outer.root
        self.random, self.smooth, self.opset, self.extreme, self.twins = (
            outer.random,
            outer.smooth,
            outer.opset,
            outer.extreme,
            outer.twins,
        )
        self.absence = outer.absence
        self.depth = 1 if is_function else outer.depth + 1
        self.values = [] if is_function else list(outer.values)
        self.function = self if is_function else outer.function  # the function that this scope lies in
        self.nodes, self.inputs, self.constants, self.count = [], [], [], 0
        self.read = set() if is_function else outer.read
        self.is_mapped = outer.is_mapped  # inside a SequenceMap

    def fresh(self, stem):
        self.count += 1
        return f"{'abcdefgh'[self.depth]}_{stem}{self.count}"

    def chain(self):
        """Returns this scope and those around it whose values it sees."""
        return [self, *(self.outer.chain() if self.outer else [])]

    def body_input(self, kind, shape, length=0):
        value = (self.fresh("in"), kind, list(shape), length)
        self.inputs.append(value)
        self.values.append(value[:3] if kind in (F, I, B) else value)
        return value

    def input(self, dtype, shape):
        """Makes the value that pick() gives when nothing fits.

        The value is a graph input that this scope captures; in a function, a constant.
        """
        if self.function:
            count = int(np.prod(shape))
            data = np.resize(
                np.array([0.5, 1.5, 1.0], np.float32) if dtype == F else np.array([1, 0, 2]), count
            ).reshape(shape)
            value = self.constant(data.astype(graph_generator.NUMPY[dtype])), dtype, list(shape)
        else:
            value = self.root.input(dtype, shape)
        self.values.append(value)
        return value

    def constant(self, array, stem="w"):
        home = self.random.choice(self.chain()) if self.chance(0.3) else self
        if home is not self:
            return home.constant(array, stem) if not home.is_function else home.front_constant(array)
        if self.is_function:
            return self.front_constant(array)
        return super().constant(array, stem)

    def front_constant(self, array):
        """Adds a constant as a node, because a function has no initializers.

        The node is the first of all, so that bodies that are being built may capture it.
        """
        name = self.fresh("k")
        self.nodes.insert(0, helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(array))))
        return name

    def local(self, array, stem="w"):
        """Adds an initializer of this very scope (in a function: a Constant's output)."""
        return self.front_constant(array) if self.is_function else Builder.constant(self, array, stem)

    def node(self, op, inputs, outputs, **attributes):
        names = super().node(op, inputs, outputs, **attributes)
        if self.root.functions and "" in names:  # onnxruntime takes a skipped output for the skipped input of a call
            self.nodes[-1].output[:] = [name or self.fresh("unread") for name in names]
        return names

    def weight(self, shape):
        if self.chance(0.15) and (name := self.implied(shape)):
            return name
        for scope in self.chain()[1:]:
            fits = [
                t.name
                for t in scope.constants
                if t.data_type == F and list(t.dims) == list(shape) and "scale" not in t.name
            ]
            if fits and self.chance(0.3):
                return self.random.choice(fits)
        if self.extreme and self.chance(0.2):
            return self.constant(np.full(shape, self.random.choice(EXTREMES), np.float32), "extreme")
        return super().weight(shape)

    def implied(self, shape):
        """Makes a constant whose type nothing states: value_float, value_floats, ConstantOfShape without a value."""
        if shape == [] and self.opset >= 12:
            return self.node("Constant", [], [(F, [])], value_float=0.75)[0]
        if len(shape) == 1 and shape[0] and self.opset >= 12:
            return self.node("Constant", [], [(F, shape)], value_floats=[0.5 + i % 3 / 4 for i in range(shape[0])])[0]
        return None if self.smooth else self.node("ConstantOfShape", [self.ints(*shape)], [(F, shape)])[0]

    def own(self, kind, shape=None):
        """Returns the values of a kind (and shape) that this scope defines by nodes, the latest last."""
        made = {name for n in self.nodes for name in n.output}
        return [v for v in self.values if v[1] == kind and v[0] in made and (shape is None or v[2] == shape)]

    def result(self, kind, shape, passed=()):
        """Returns the name of a value that this scope defines.

        `passed`: inputs of the body that may be given back as they are.
        """
        passed = [v[0] for v in passed if v[1] == kind and v[2] == shape]
        if passed and self.chance(0.25):
            return self.random.choice(passed)
        made = self.own(kind, shape)
        if made and self.chance(0.7):
            return made[-1][0] if self.chance(0.7) else self.random.choice(made)[0]
        if kind in (SEQ, OPT):
            return self.container(kind, shape)
        if kind == I:  # no Identity: onnxruntime counts in the very tensor that it gives as the iteration number
            return self.node("Add", [self.pick(I, shape=shape)[0], self.local(np.array(1), "k")], [(I, shape)])[0]
        if kind == B:
            return self.node("Identity", [self.pick(B, shape=shape)[0]], [(B, shape)])[0]
        how = self.random.choices(["initializer", "implied", "captured", "computed"], [2, 1, 2, 4])[0]
        if how == "initializer" and not self.is_function:
            return self.local(np.full(shape, 0.5, np.float32))
        if how == "implied" and (name := self.implied(shape)):
            return name
        source = self.pick(F, shape=shape, nonempty=False)[0]
        if how == "captured":
            return self.node("Identity", [source], [(F, shape)])[0]
        op = self.random.choice(
            ["Relu", "Add", "Sqrt", "Max"] if self.smooth else ["Relu", "Add", "Exp", "Sigmoid", "Sub", "Mul", "Max"]
        )
        inputs = (
            [source, self.pick(F, shape=shape, nonempty=False)[0]] if op in ("Add", "Sub", "Mul", "Max") else [source]
        )
        return self.node(op, inputs, [(F, shape)])[0]

    def results(self, kinds, passed=()):
        """Returns one value for each kind; no container twice, for onnxruntime moves them out."""
        found = []
        for kind, shape, *_ in kinds:
            name = self.result(kind, shape, passed)
            if kind in (SEQ, OPT) and name in {f[0] for f in found}:
                name = self.container(kind, shape)
            found.append((name, kind, shape))
        return found

    def once_each(self, outputs):
        """Returns the outputs without repetition, because onnxruntime fills only one of several that are the same."""
        found = []
        for name, kind, shape in outputs:
            if name in {f[0] for f in found}:
                name = self.node("Identity", [name], [(kind, shape)])[0]
            found.append((name, kind, shape))
        return found

    def computed(self, outputs):
        """Returns the outputs, with an Add behind each that an Identity gives or that is an input.

        onnxruntime's Scan would leave these unfilled.
        """
        passed = {v[0] for v in self.inputs} | {
            name for n in self.nodes if n.op_type == "Identity" for name in n.output
        }
        return [
            (
                self.node("Add", [name, self.local(np.ones(shape, graph_generator.NUMPY[kind]))], [(kind, shape)])[0]
                if name in passed
                else name,
                kind,
                shape,
            )
            for name, kind, shape in outputs
        ]

    def container(self, kind, shape):
        """Makes a sequence or an optional that this scope defines."""
        around = [v for v in self.values if v[1:3] == (kind, shape)]
        if around and self.opset >= {SEQ: 14, OPT: 16}[kind] and self.chance(0.5):
            return add(self, "Identity", [self.random.choice(around)[0]], [(kind, shape, 0)])[0]
        source = self.pick(F, shape=shape, nonempty=False)[0]
        return add(self, {SEQ: "SequenceConstruct", OPT: "Optional"}[kind], [source], [(kind, shape, 1)])[0]

    def graph(self, name, outputs):
        infos = [type_of(v) for v in outputs]
        return helper.make_graph(self.nodes, name, [type_of(v) for v in self.inputs], infos, self.constants)


class Main(Scope):
    """The main graph."""

    def __init__(self, seed, smooth):
        self.root, self.outer, self.depth, self.count, self.is_function, self.function = self, None, 0, 0, False, None
        self.random, self.smooth = random.Random(seed), smooth
        self.absence = random.Random(seed + 1_000_003)
        self.opset = self.random.choice(OPSETS)
        self.values, self.nodes, self.inputs, self.constants, self.dynamic, self.functions = [], [], [], [], [], []
        self.twins, self.read, self.extreme = 0, set(), self.random.random() < 0.1 and not smooth
        self.is_mapped, self.maps = False, 0
        self.budget = self.random.randint(2, 7)  # nodes with bodies, over all scopes
        for shape in ([2, 3], [3, 3], *self.random.choices([[2, 3, 4], [3], [1, 2, 4, 4], [], [0, 3]], k=2)):
            self.input(F, [2, 3] if smooth and 0 in shape else shape)

    def input(self, dtype, shape, length=0):
        value = (f"in{len(self.inputs)}", dtype, list(shape), length)
        self.inputs.append(value)
        self.values.append(value[:3] if dtype in (F, I, B) else value)
        return self.values[-1]


def usable(b):
    return [
        op
        for op, (since, _) in OPERATORS.items()
        if since <= b.opset and op not in REPLACED and not (b.is_mapped and op in NOT_MAPPED)
    ]


def usable_controls(b):
    return [f for name, (since, f) in sorted(CONTROL.items()) if since <= b.opset for _ in range(OFTEN.get(name, 1))]


def fill(b, size):
    """Adds random nodes until there are `size`, some of them with bodies of their own."""
    controls = usable_controls(b)
    operators = usable(b)
    tries = 0
    while len(b.nodes) < size and (tries := tries + 1) < 60:
        if b.root.budget > 0 and b.depth < MAX_DEPTH and b.chance(0.3 if b.depth else 0.35):
            b.root.budget -= 1
            b.random.choice(controls)(b)
            continue
        op = b.random.choice(SMOOTH if b.smooth else b.random.choices([HEAVY, COMMON, operators], [3, 4, 4])[0])
        if op in operators:
            OPERATORS[op][1](b)


def condition(b):
    """The name of a boolean scalar."""
    known = [v[0] for v in b.values if v[1] == B and v[2] == []]
    if known and b.chance(0.6):
        return b.random.choice(known)
    if not b.smooth and not b.function and b.chance(0.2):
        number = b.pick(F, shape=[])[0]
        return b.node("Less", [number, b.constant(np.float32(0.25), "limit")], [(B, [])])[0]
    return b.input(B, [])[0]


def shape_of_some(b, nonempty=False):
    """A float shape that exists already, so that results have something to be made of."""
    return list(b.pick(F, nonempty=nonempty or b.chance(0.9))[2])


def kinds_of_outputs(b, most):
    kinds = []
    for _ in range(b.random.randint(1, most)):
        sequences = [v for v in b.values if (v[1] == SEQ and b.opset >= 13) or (v[1] == OPT and b.opset >= 16)]
        if sequences and b.chance(0.3):
            chosen = b.random.choice(sequences)
            kinds.append((chosen[1], chosen[2], 0))
        else:
            kinds.append((F, shape_of_some(b)) if b.chance(0.9) else (I, []))
    return kinds


@control()
def If(b):
    given, kinds = condition(b), kinds_of_outputs(b, 3)
    branches = {}
    for branch in ("then_branch", "else_branch"):
        body = Scope(b)
        fill(body, b.random.choice([0, 1, 3, 5]))
        results = body.once_each(body.results(kinds))
        branches[branch] = body.graph(branch, results)
    add(b, "If", [given], kinds, **branches)


def add(b, op, inputs, kinds, **attributes):
    """A node whose outputs may be sequences; returns the names."""
    names = [b.fresh("v") for _ in kinds]
    b.values += [(name, *kind) for name, kind in zip(names, kinds)]
    b.nodes.append(
        helper.make_node(
            op, inputs, names, name=b.random.choices([f"n{len(b.nodes)}_{op.lower()}", ""], [8, 2])[0], **attributes
        )
    )
    return names


def loop_states(b, body, most, nonempty=False):
    """Returns the initial values (names) and the body's inputs for them."""
    starts, states = [], []
    for _ in range(b.random.randint(0, most)):
        sequences = [v for v in b.values if v[1] == SEQ and b.opset >= 13]
        if sequences and b.chance(0.4):
            old, kind, shape = b.random.choice(sequences)[:3]
            element = b.pick(F, shape=shape, nonempty=False)[0]
            name = add(
                b,
                *b.random.choice([("SequenceConstruct", [element]), ("SequenceInsert", [old, element])]),
                [(SEQ, shape, 1)],
            )[0]
            b.values.pop()  # read by the loop alone: onnxruntime moves a loop's sequences away
        elif b.chance(0.1):
            name, kind, shape = b.pick(I, shape=[])
        else:
            shape = states[-1][2] if states and states[-1][1] == F and b.chance(0.5) else shape_of_some(b, nonempty)
            name, kind = b.weight(shape) if b.chance(0.3) else b.pick(F, shape=shape, nonempty=False)[0], F
        b.read.add(name)
        starts.append(name)
        states.append(body.body_input(kind, shape))
    return starts, states


def next_states(b, body, states):
    """Returns what the body gives back for its states: computed values, the states passed on, or swapped."""
    if len(states) > 1 and b.chance(0.2) and len({str(s[1:3]) for s in states}) == 1:
        return [s[:3] for s in (states[-1], *states[:-1])]
    return body.results([s[1:3] for s in states], states)


def collected(b, body, states, nonempty=False):
    """Returns values of the body, one to two, that are stacked up: (name, shape)."""
    found = []
    for _ in range(b.random.randint(0 if states else 1, 2)):
        made = [v for v in body.own(F) if not (nonempty and 0 in v[2])]
        shape = made[-1][2] if made and b.chance(0.7) else shape_of_some(b, nonempty)
        found.append((body.result(F, shape), shape))
    return found


@control()
def Loop(b):
    trips = b.random.choice([0, 1, 2, 3, None, None])
    how = b.random.choice(["true", "input"] if b.is_mapped else ["", "true", "input", "computed"])
    body = Scope(b)
    number, go = body.body_input(I, []), body.body_input(B, [])
    starts, states = loop_states(b, body, 3)
    fill(body, b.random.choice([1, 2, 4, 6]))
    if how == "computed":
        again = body.node("Less", [number[0], body.constant(np.array(2), "k")], [(B, [])])[0]
    elif how == "true" and b.chance(0.5) and not body.function:
        again = body.local(np.array(True), "k")
    else:
        again = (
            body.result(B, [], [go])
            if how == "input" and b.chance(0.2)
            else go[0]
            if b.chance(0.3)
            else body.node("Identity", [go[0]], [(B, [])])[0]
        )
    results = next_states(b, body, states)
    stacked = collected(b, body, states)
    outputs = body.once_each([(again, B, []), *results, *((name, F, shape) for name, shape in stacked)])
    limit = b.constant(np.array(trips), "k") if trips is not None else b.input(I, [])[0]
    start = (
        {"": "", "computed": "", "true": b.constant(np.array(True), "k")}.get(how) if how != "input" else condition(b)
    )
    known = trips if how in ("", "true") and _keeps(body, again, go[0]) else None
    states_out = [(s[1], s[2], 0)[: 2 if s[1] in (F, I, B) else 3] for s in states]
    _add_loop(b, "Loop", [limit, start, *starts], states_out, stacked, known, body=body.graph("body", outputs))


def _keeps(body, again, go):
    """Whether the condition that the body gives back is surely the one that it was given (or true)."""
    maker = next((n for n in body.nodes if again in n.output), None)
    return maker is None or (maker.op_type == "Identity" and maker.input[0] == go)


def _add_loop(b, op, inputs, states, stacked, length, axes=None, **attributes):
    names = [b.fresh("v") for _ in [*states, *stacked]]
    b.values += [(name, *kind) for name, kind in zip(names, states)]
    for k, (name, (_, shape)) in enumerate(zip(names[len(states) :], stacked)):
        axis = axes[k] if axes else 0
        if length is not None:
            b.values.append((name, F, [*shape[:axis], length, *shape[axis:]]))
        elif b is b.root:
            b.dynamic.append((name, F, [None, *shape]))
    b.nodes.append(
        helper.make_node(
            op, inputs, names, name=b.random.choices([f"n{len(b.nodes)}_{op.lower()}", ""], [8, 2])[0], **attributes
        )
    )


@control()
def Scan(b):
    body = Scope(b)
    starts, states = loop_states(b, body, 2, nonempty=True)  # onnxruntime divides by the size of what it stacks
    kept = [i for i, s in enumerate(states) if s[1] in (F, I)]  # no sequences as its state
    for i in reversed(range(len(states))):
        if i not in kept:
            body.values = [v for v in body.values if v[0] != states[i][0]]
            body.inputs.remove(states[i])
            del starts[i], states[i]
    first = b.pick(F, rank=b.random.choice([2, 3, 1]))
    sources = [first]
    length, axes = None, []
    for k in range(b.random.choice([1, 1, 2])):
        source = first if k == 0 else b.pick(F, rank=len(first[2]), shape=first[2])
        fits = [i for i, d in enumerate(source[2]) if length in (None, d)]
        axis = b.random.choice(fits)
        length = source[2][axis]
        sources, axes = [*sources[:k], source], [*axes, axis]
        body.body_input(F, [d for i, d in enumerate(source[2]) if i != axis])
    fill(body, b.random.choice([1, 2, 4]))
    results = next_states(b, body, states)
    stacked = collected(b, body, states, nonempty=True)
    attributes = {"num_scan_inputs": len(axes)}
    out_axes = [b.random.randint(0, len(shape)) for _, shape in stacked]
    if any(axes) or b.chance(0.3):
        attributes["scan_input_axes"] = [a - len(s[2]) if b.chance(0.3) else a for a, s in zip(axes, sources)]
    if stacked and (any(out_axes) or b.chance(0.3)):
        attributes["scan_output_axes"] = out_axes
    if b.chance(0.4):
        attributes["scan_input_directions"] = [b.random.randint(0, 1) for _ in axes]
    if stacked and b.chance(0.4):
        attributes["scan_output_directions"] = [b.random.randint(0, 1) for _ in stacked]
    outputs = body.computed(body.once_each([*results, *((name, F, shape) for name, shape in stacked)]))
    _add_loop(
        b,
        "Scan",
        [*starts, *(s[0] for s in sources)],
        [s[1:3] for s in states],
        stacked,
        length,
        out_axes,
        body=body.graph("body", outputs),
        **attributes,
    )


def generate(seed, smooth=False):
    """(model, feeds, whether it may have constants that are not exact in the low types)."""
    b = Main(seed, smooth)
    for prepare in sorted(PREPARATIONS, key=lambda f: f.__name__):  # not in the order of imports
        prepare(b)
    fill(b, b.random.randint(5, 14))
    while b.budget > 0 and b.chance(0.8):  # at least some bodies
        b.budget -= 1
        b.random.choice(usable_controls(b))(b)
    return _finish(b)


PREPARATIONS = []  # function(main): run before the graph is filled


def _finish(b):
    made = {name for n in b.nodes for name in n.output}
    kinds = (F, I, B, SEQ, OPT)
    loose = [v for v in b.values if v[0] not in b.read and v[0] in made and v[1] in kinds]
    if len(loose) > 4 and b.chance(0.5):
        loose = b.random.sample(loose, len(loose) - 1)  # a node that nothing reads
    used = [v for v in b.values if v not in loose and v[0] in made and v[1] in kinds and b.chance(0.15)]
    outputs = [*loose, *used[:3], *b.dynamic] or [v for v in b.values if v[0] in made and v[1] in kinds][-1:]
    infos = [type_of(v) for v in outputs]
    inputs = [type_of(v) for v in b.inputs]
    if b.constants and b.chance(0.2):
        inputs += [
            helper.make_tensor_value_info(t.name, t.data_type, list(t.dims)) for t in b.constants if b.chance(0.2)
        ]
    graph = helper.make_graph(b.nodes, "random", inputs, infos, b.constants)
    if b.chance(0.1) and not b.functions:  # where calls are, more than one stable order is right
        graph_generator._shuffle(graph, b.random)
    imports = [helper.make_opsetid("", b.opset), *([helper.make_opsetid("local", 1)] if b.functions else [])]
    ir = max(helper.find_min_ir_version_for([helper.make_opsetid("", b.opset)]), 8 if b.functions else 6)
    model = helper.make_model(
        graph,
        opset_imports=imports,
        ir_version=ir,
        producer_name="scope_generator",
        functions=[f.proto for f in b.functions],
    )
    return model, _feeds(b), b.extreme


def _feeds(b):
    source = np.random.default_rng(b.random.randrange(2**32))

    def one(kind, shape):
        if kind == B:
            return np.asarray(source.integers(0, 2, shape), bool)
        if kind == I:
            return np.asarray(source.integers(0, 4, shape), np.int64)
        array = source.uniform(-1, 1, shape).astype(np.float32)
        return np.abs(array) + np.float32(0.5) if b.smooth else array

    return {
        name: [one(F, shape) for _ in range(length)] if kind == SEQ else one(F if kind == OPT else kind, shape)
        for name, kind, shape, length in b.inputs
    }
