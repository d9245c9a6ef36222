"""Model-local functions for scope_generator.py, called from every scope and from each other.

The functions have:
  - attributes that their nodes refer to, with a default or without; they pass these on to the functions that they call,
    and the bodies inside see them
  - an input that a call may skip, and several outputs
  - bodies with captures
  - other opset imports than the model, where no operator of theirs changed in between
  - names of standard operators
Some functions have no types of their own and are called on float32, double and float16 values.
"""

import dataclasses

import onnx
from onnx import AttributeProto, TensorProto, helper

from judge import scopes
from judge.generators.graph_generator import B, F
from judge.generators.scope_generator import PREPARATIONS, SEQ, Scope, add, control, fill, shape_of_some

DOMAIN = "local"
NAMES = ["Relu", "Softmax", "Identity", "MatMul", "Conv"]  # of the standard's operators; "Add" makes onnxruntime abort
OF_ANY_TYPE = ["Relu", "Neg", "Abs", "Exp", "Add", "Mul", "Sub", "Identity", "Max", "MatMul", "Transpose"]
ATTRIBUTES = {
    "slope": (AttributeProto.FLOAT, [0.25, 0.5, 1.5]),
    "kind": (AttributeProto.INT, [TensorProto.FLOAT, TensorProto.FLOAT16]),
}


@dataclasses.dataclass
class Function:
    proto: onnx.FunctionProto
    inputs: list  # (kind, shape)
    outputs: list
    has_default: dict  # attribute -> whether a call may leave it out
    is_typed: bool  # False: called on any float type
    limit: bool  # whether the last input may be skipped


def refer(b, name, attribute):
    """Makes the attribute of a node that refers to one of the function's."""
    b.function.attributes.setdefault(attribute, b.chance(0.5))
    return AttributeProto(name=name, ref_attr_name=attribute, type=ATTRIBUTES[attribute][0])


def put(b, op, inputs, shape, attribute):
    name = b.node(op, inputs, [(F, shape)])[0]
    b.nodes[-1].attribute.append(attribute)
    return name


@control()
def Attribute(b):
    """Adds a node that refers to an attribute of the function that it lies in."""
    if not b.function:
        return Call(b)
    name, _, shape = b.pick()
    how = b.random.choice(["constant", "slope", "cast"])
    if how == "constant" and b.opset >= 12:
        scalar = put(b, "Constant", [], [], refer(b, "value_float", "slope"))
        b.node("Mul", [name, scalar], [(F, shape)])
    elif how == "cast" and not b.smooth:
        middle = put(b, "Cast", [name], shape, refer(b, "to", "kind"))
        b.values.pop()
        b.node("Cast", [middle], [(F, shape)], to=F)
    else:
        put(b, "LeakyRelu", [name], shape, refer(b, "alpha", "slope"))
    return None


@control()
def Call(b):
    if not b.root.functions or b.is_mapped:
        return
    function = b.random.choice(b.root.functions)
    inputs = []
    for kind, shape in function.inputs:
        value = b.pick(kind, shape=shape, nonempty=False) if kind != SEQ else (b.container(SEQ, shape),)
        inputs.append(value[0])
    if function.limit and b.chance(0.4):
        inputs[-1] = ""
    kind = F if function.is_typed or b.smooth else b.random.choice([F, TensorProto.DOUBLE, TensorProto.FLOAT16])
    if kind != F:
        inputs = [
            b.node("Cast", [name], [(kind, shape)], to=kind)[0] for name, (_, shape) in zip(inputs, function.inputs)
        ]
    outputs = [(kind, *rest) if of == F else (of, *rest) for of, *rest in function.outputs]
    names = add(b, function.proto.name, inputs, outputs, domain=DOMAIN)
    for attribute, may_miss in function.has_default.items():
        if may_miss and b.chance(0.5):
            continue
        if b.function and b.chance(0.5):
            b.nodes[-1].attribute.append(refer(b, attribute, attribute))
        else:
            b.nodes[-1].attribute.append(helper.make_attribute(attribute, b.random.choice(ATTRIBUTES[attribute][1])))
    if kind != F:
        for name, (_, shape) in zip(names, function.outputs):
            b.node("Cast", [name], [(F, shape)], to=F)


def define(main):
    scope = Scope(main, is_function=True)
    scope.attributes = {}
    is_typed, limit = main.chance(0.75), False
    shapes = [shape_of_some(main) for _ in range(main.random.randint(1, 3))]
    inputs = [scope.body_input(F, shape) for shape in shapes]
    if not is_typed:
        inputs = inputs[:1]
        scope.inputs, scope.values = inputs, [inputs[0][:3]]
        for _ in range(main.random.randint(2, 5)):
            _any_type(scope)
    else:
        if main.chance(0.3):
            inputs.append(scope.body_input(B, []))
        if limit := main.chance(0.2):
            inputs.append(scope.body_input(F, []))
            scope.values.pop()
            scope.node("Clip", [inputs[0][0], inputs[-1][0]], [(F, shapes[0])])
        fill(scope, main.random.randint(1, 6))
    results = []
    for shape in [scope.own(F)[-1][2] if scope.own(F) else shapes[0] for _ in range(main.random.choice([1, 1, 2]))]:
        name = scope.result(F, shape) if is_typed else scope.own(F)[-1][0]
        shape = shape if is_typed else scope.own(F)[-1][2]
        if name in [r[0] for r in results] or any(name in v for v in inputs):
            name = scope.node("Identity", [name], [(F, shape)])[0]
        results.append((name, F, shape))
    return Function(
        _proto(scope, main, inputs, results),
        [v[1:3] for v in inputs],
        [r[1:] for r in results],
        dict(scope.attributes),
        is_typed,
        limit,
    )


def _any_type(scope):
    name, _, shape = scope.own(F)[-1] if scope.own(F) and scope.chance(0.8) else scope.values[0]
    op = scope.random.choice(OF_ANY_TYPE)
    if op == "MatMul" and (len(shape) != 2 or shape[0] != shape[1]):
        op = "Relu"
    same = [v[0] for v in scope.values if v[2] == shape]
    inputs = [name, scope.random.choice(same)] if op in ("Add", "Mul", "Sub", "Max", "MatMul") else [name]
    scope.node(op, inputs, [(F, shape[::-1] if op == "Transpose" else shape)])


def _proto(scope, main, inputs, results):
    used = {f.proto.name for f in main.functions}
    name = main.random.choice([n for n in NAMES if n not in used]) if main.chance(0.3) else f"f{len(used)}"
    defaults = {a for a, has in scope.attributes.items() if has}
    inner = helper.make_graph(scope.nodes, "", [], [])
    imports = [helper.make_opsetid("", _opset(inner, main))]
    if any(n.domain == DOMAIN for _, g in scopes.all_graphs(inner) for n in g.node):
        imports.append(helper.make_opsetid(DOMAIN, 1))
    return helper.make_function(
        DOMAIN,
        name,
        [v[0] for v in inputs],
        [r[0] for r in results],
        scope.nodes,
        imports,
        sorted(scope.attributes.keys() - defaults),
        [helper.make_attribute(a, ATTRIBUTES[a][1][0]) for a in sorted(defaults)],
    )


def _opset(graph, main):
    """The model's, or an older one that has the same operators."""
    since = lambda node, version: onnx.defs.get_schema(node.op_type, version).since_version
    version = main.opset
    while version > 11 and main.chance(0.3):
        nodes = [n for _, g in scopes.all_graphs(graph) for n in g.node if n.domain != DOMAIN]
        if any(since(n, main.opset) > version - 1 for n in nodes):
            break
        version -= 1
    return version


def functions(b):
    if b.chance(0.4):
        for _ in range(b.random.randint(1, 3)):
            b.functions.append(define(b))
        Call(b)


PREPARATIONS.append(functions)
