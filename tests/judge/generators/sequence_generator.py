"""Sequences and optionals for scope_generator.py, in every scope.

They are made, written, read, mapped, carried round loops, given by branches, fed and given out. All elements of a
sequence have one shape. A sequence's entry in `values` says how many elements it has at least, and positions are drawn
below that number.
"""

import numpy as np
from onnx import TensorProto, helper

from judge.generators.graph_generator import F, I
from judge.generators.scope_generator import OPT, PREPARATIONS, SEQ, Scope, add, control, fill, shape_of_some


def choose(b, kind, least=0):
    """Picks a (name, kind, shape, length) with at least so many elements, which is made when there is none."""
    fits = [v for v in b.values if v[1] == kind and v[3] >= least]
    if not fits or b.chance(0.2):
        fits = [construct(b) if kind == SEQ else wrap(b)]
    chosen = b.random.choice(fits)
    b.read.add(chosen[0])
    return chosen


def construct(b):
    shape = shape_of_some(b)
    names = [
        b.weight(shape) if b.chance(0.2) else b.pick(F, shape=shape, nonempty=False)[0]
        for _ in range(b.random.randint(1, 3))
    ]
    add(b, "SequenceConstruct", names, [(SEQ, shape, len(names))])
    return b.values[-1]


def position(b, length):
    k = b.random.randrange(length)
    return b.constant(np.array(k - length if b.chance(0.3) else k), "k")


@control(11)
def SequenceConstruct(b):
    construct(b)


@control(11)
def SequenceInsert(b):
    name, _, shape, length = choose(b, SEQ)
    element = b.pick(F, shape=shape, nonempty=False)[0]
    inputs = (
        [name, element, b.constant(np.array(b.random.randint(0, length)), "k")] if b.chance(0.4) else [name, element]
    )
    add(b, "SequenceInsert", inputs, [(SEQ, shape, length + 1)])


@control(11)
def SequenceEmpty(b):
    shape = shape_of_some(b)
    add(b, "SequenceEmpty", [], [(SEQ, shape, 0)], **({"dtype": TensorProto.FLOAT} if b.chance(0.5) else {}))
    if b.chance(0.7):
        add(b, "SequenceInsert", [b.values[-1][0], b.pick(F, shape=shape, nonempty=False)[0]], [(SEQ, shape, 1)])


@control(11)
def SequenceErase(b):
    name, _, shape, length = choose(b, SEQ, 1)
    add(b, "SequenceErase", [name, position(b, length)] if b.chance(0.6) else [name], [(SEQ, shape, length - 1)])


@control(11)
def SequenceAt(b):
    name, _, shape, length = choose(b, SEQ, 1)
    b.node("SequenceAt", [name, position(b, length)], [(F, shape)])


@control(11)
def SequenceLength(b):
    b.node("SequenceLength", [choose(b, SEQ)[0]], [(I, [])])


@control(11)
def SplitToSequence(b):
    name, _, shape = b.pick(rank=b.random.choice([2, 3]))
    axis, keep = b.random.randrange(len(shape)), b.random.randint(0, 1)
    if b.chance(0.5):
        inputs, element = [name], [1 if i == axis else d for i, d in enumerate(shape) if keep or i != axis]
    else:
        inputs, element, keep = (
            [name, b.constant(np.array(1), "k")],
            [1 if i == axis else d for i, d in enumerate(shape)],
            1,
        )
    add(b, "SplitToSequence", inputs, [(SEQ, element, shape[axis])], axis=axis, keepdims=keep)


@control(11)
def ConcatFromSequence(b):
    """Where the number of elements is sure only; else one is taken."""
    name, _, shape, length = choose(b, SEQ, 1)
    fresh = b.node(
        "SequenceConstruct",
        [b.node("SequenceAt", [name, position(b, length)], [(F, shape)])[0], b.pick(F, shape=shape, nonempty=False)[0]],
        [(None, [])],
    )[0]
    b.values = [v for v in b.values if v[0] != fresh]
    if shape and b.chance(0.6):
        b.node("ConcatFromSequence", [fresh], [(F, [2 * shape[0], *shape[1:]])], axis=0)
    else:
        b.node("ConcatFromSequence", [fresh], [(F, [2, *shape])], axis=0, new_axis=1)


@control(17)
def SequenceMap(b):
    """Not inside another, and with names of its own: onnxruntime inlines it as a function, and names clash."""
    if b.is_mapped:
        return
    name, _, shape, length = choose(b, SEQ)
    body, extra = Scope(b), []
    b.root.maps += 1
    body.is_mapped, body.count = True, 1000 * b.root.maps
    body.body_input(F, shape)
    for _ in range(b.random.choice([0, 0, 1])):
        other = b.pick(F)
        extra.append(other[0])
        body.body_input(F, other[2])
    fill(body, b.random.choice([1, 2, 3]))
    shapes = [shape_of_some(body) for _ in range(b.random.choice([1, 1, 2]))]
    results = []
    for s in shapes:
        name_made = body.result(F, s)
        made = {o for n in body.nodes for o in n.output} - {r[0] for r in results}
        results.append((name_made if name_made in made else body.node("Identity", [name_made], [(F, s)])[0], F, s))
    add(b, "SequenceMap", [name, *extra], [(SEQ, s, length) for s in shapes], body=body.graph("body", results))


def wrap(b):
    shape = shape_of_some(b)
    add(b, "Optional", [b.pick(F, shape=shape, nonempty=False)[0]], [(OPT, shape, 1)])
    return b.values[-1]


@control(15)
def Optional(b):
    wrap(b)


@control(15)
def OptionalGetElement(b):
    name, _, shape, _ = choose(b, OPT, 1)
    b.node("OptionalGetElement", [name], [(F, shape)])


@control(15)
def OptionalIf(b):
    """Read in one branch only, whether there is an element or not."""
    if b.chance(0.3):
        shape = shape_of_some(b)
        add(b, "Optional", [], [(OPT, shape, 0)], type=helper.make_tensor_type_proto(F, shape))
        name = b.values[-1][0]
    else:
        name, _, shape, _ = choose(b, OPT)
    given = b.node("OptionalHasElement", [name], [(9, [])])[0]
    yes, no = Scope(b), Scope(b)
    taken = yes.node("OptionalGetElement", [name], [(F, shape)])[0]
    if b.chance(0.5):
        taken = yes.node("Relu", [taken], [(F, shape)])[0]
    fill(no, b.random.choice([0, 2]))
    other = no.result(F, shape)
    b.node(
        "If",
        [given],
        [(F, shape)],
        then_branch=yes.graph("then", [(taken, F, shape)]),
        else_branch=no.graph("else", [(other, F, shape)]),
    )


def sequence_inputs(b):
    if b.chance(0.15):
        b.input(SEQ, [2, 3], 2)
    if b.opset >= 15 and b.chance(0.1):
        b.input(OPT, [2, 3], 1)


PREPARATIONS.append(sequence_inputs)
