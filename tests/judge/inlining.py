"""Puts the bodies of a model's functions in place of their calls: the judges' own way of doing it.

Not onnx.inliner, which loses a body's initializer or input that is the body's output as well (its new name is defined nowhere), and leaves functions of
another opset than the model's. Those are taken as of the model's opset here: the checker has seen that their operators did not change in between.
"""
import onnx
from onnx import helper

from scopes import bodies


def inlined(model):
    if not model.functions:
        return model
    result = onnx.ModelProto.FromString(model.SerializeToString())
    functions, count = {(f.domain, f.name): f for f in model.functions}, [0]
    _expand(result.graph, functions, count)
    del result.functions[:]
    return result


def _expand(graph, functions, count):
    nodes = []
    for node in graph.node:
        for _, body in bodies(node):
            _expand(body, functions, count)
        function = functions.get((node.domain, node.op_type))
        nodes += _body(node, function, functions, count) if function else [onnx.NodeProto.FromString(node.SerializeToString())]
    del graph.node[:]
    graph.node.extend(nodes)


def _body(call, function, functions, count):
    """The nodes that a call stands for."""
    count[0] += 1
    prefix = f"{call.name or call.op_type}_call{count[0]}__"
    actual = [*call.input, *[""] * (len(function.input) - len(call.input))]
    names = {"": "", **dict(zip(function.input, actual))}
    given = [*call.output, *[""] * (len(function.output) - len(call.output))]
    passed = [helper.make_node("Identity", [names[f]], [a]) for f, a in zip(function.output, given) if f in function.input and a]
    names.update((f, a or prefix + f) for f, a in zip(function.output, given) if f not in function.input)
    values = {a.name: a for a in function.attribute_proto} | {a.name: a for a in call.attribute}
    place = onnx.GraphProto()
    for node in function.node:
        copy = onnx.NodeProto.FromString(node.SerializeToString())
        _rename(copy, names, prefix, values)
        place.node.append(copy)
    _expand(place, functions, count)
    return [*place.node, *passed]


def _rename(node, names, prefix, values):
    other = lambda name: names[name] if name in names else prefix + name
    node.name = prefix + node.name if node.name else ""
    node.input[:] = [other(name) for name in node.input]
    node.output[:] = [other(name) for name in node.output]
    for i in reversed(range(len(node.attribute))):
        reference = node.attribute[i].ref_attr_name
        if reference in values:
            name = node.attribute[i].name
            node.attribute[i].CopyFrom(values[reference])
            node.attribute[i].name = name
        elif reference:
            del node.attribute[i]
    for _, body in bodies(node):
        for value in [*body.input, *body.output, *body.initializer, *body.value_info]:
            value.name = other(value.name)
        for inner in body.node:
            _rename(inner, names, prefix, values)
