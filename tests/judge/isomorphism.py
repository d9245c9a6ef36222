"""Models without their names: whether two of them are the same graph.

  renamed(model, seed)   the same model under other names and in another topological order, in every scope and function
  fingerprint(model)     equal for two models that differ in names and order alone
  skeleton(model, low)   the fingerprint without what a rewrite may change: element types among float32 and `low`, casts
                         between them, and whether a constant is an initializer or a node; so skeleton(original) ==
                         skeleton(rewritten) unless the opset was raised

The digest of a value is made of what computes it, back to the inputs (by position) and the constants (by content). The
digest of a node with bodies includes the digests of the bodies.
"""

import collections
import hashlib
import random

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper

from judge import scopes
from judge.scopes import TYPED_ATTRIBUTES, cast_target, reads, sort


def renamed(model, seed):
    source, result = random.Random(seed), onnx.ModelProto()
    result.CopyFrom(model)
    _rename(result.graph, {"": ""}, source)
    for function in result.functions:
        _rename(function, {"": ""}, source)
    return result


def _rename(graph, outer, source):
    """Renames and reorders a graph or a function.

    `outer` has the names of the scopes around it.
    """
    names, is_function = dict(outer), isinstance(graph, onnx.FunctionProto)

    def new(name):
        if name not in names:
            names[name] = f"{source.choice('abcxyz')}_{source.randrange(10**9)}_{len(names)}"
        return names[name]

    if is_function:
        graph.input[:] = [new(name) for name in graph.input]
        graph.output[:] = [new(name) for name in graph.output]
    else:
        for tensor in [*graph.input, *graph.initializer, *graph.value_info]:
            tensor.name = new(tensor.name)
        for tensor in graph.sparse_initializer:
            tensor.values.name = new(tensor.values.name)
    for node in graph.node:
        node.output[:] = [new(name) for name in node.output]
    if not is_function:
        for info in graph.output:
            info.name = new(info.name)
    for i, node in enumerate(graph.node):
        node.name = f"{source.choice('pqr')}{source.randrange(10**9)}_{i}"
        node.input[:] = [new(name) for name in node.input]
        for _, body in scopes.bodies(node):
            _rename(body, names, source)
    _reorder(graph, source)


def _reorder(graph, source):
    waiting = [onnx.NodeProto.FromString(n.SerializeToString()) for n in graph.node]
    made_somewhere, made, order = {o for n in waiting for o in n.output if o}, set(), []
    needs = {id(n): set(reads(n)) & made_somewhere for n in waiting}
    while waiting:
        node = source.choice([n for n in waiting if needs[id(n)] <= made])
        waiting.remove(node)
        made.update(node.output)
        order.append(node)
    del graph.node[:]
    graph.node.extend(order)
    if not isinstance(graph, onnx.FunctionProto):
        constants = [TensorProto.FromString(t.SerializeToString()) for t in graph.initializer]
        source.shuffle(constants)
        del graph.initializer[:]
        graph.initializer.extend(constants)


def _digest(*parts):
    return hashlib.sha1(repr(parts).encode()).hexdigest()


def fingerprint(model):
    """Returns (outputs, multiset of (operator, digest) over all scopes, functions)."""
    ordered = sort(onnx.ModelProto.FromString(model.SerializeToString()))
    nodes = collections.Counter()
    outputs = _Exact(nodes).graph(ordered.graph, {"": "-"})
    functions = collections.Counter((f.domain, f.name, _Exact(nodes).graph(f, {"": "-"})) for f in ordered.functions)
    return outputs, nodes, functions


def skeleton(model, low, are_constants=False):
    """Returns (outputs, multiset of nodes).

    `are_constants`: initializers that are inputs too count as initializers alone.
    REQUIRES: the model has no functions, and ONNX's inference passes.
    """
    ordered = scopes.inferred(sort(onnx.ModelProto.FromString(model.SerializeToString())), strict=False)
    if are_constants:
        constants = {t.name for t in ordered.graph.initializer}
        inputs = [
            onnx.ValueInfoProto.FromString(v.SerializeToString())
            for v in ordered.graph.input
            if v.name not in constants
        ]
        del ordered.graph.input[:]
        ordered.graph.input.extend(inputs)
    nodes = collections.Counter()
    outputs = _Loose(nodes, low).graph(ordered.graph, {"": "-"})
    return outputs, nodes


class _Exact:
    def __init__(self, nodes):
        self.nodes = nodes  # counted here

    def graph(self, graph, outer):
        """Returns the digest of a graph or a function: its outputs, its nodes and its weights."""
        value, of = dict(outer), isinstance(graph, onnx.FunctionProto)
        constants = [] if of else [(t.name, self.constant(t)) for t in graph.initializer]
        constants += (
            []
            if of
            else [(t.values.name, _digest(t.SerializeToString(deterministic=True))) for t in graph.sparse_initializer]
        )
        value.update(constants)
        inputs = [(name, "") for name in graph.input] if of else [(v.name, self.type(v.type)) for v in graph.input]
        defaults = dict(constants)  # initializers that are inputs too have no place of their own
        value.update((name, _digest("default", given, defaults[name])) for name, given in inputs if name in defaults)
        for i, (name, given) in enumerate(pair for pair in inputs if pair[0] not in defaults):
            value[name] = _digest("input", i, given)
        keys = [self.node(graph, node, value) for node in graph.node]
        outputs = (
            [value[name] for name in graph.output] if of else [(value[v.name], self.type(v.type)) for v in graph.output]
        )
        return _digest(
            outputs,
            sorted(k for k in keys if k),
            self.unordered(constants),
            sorted(graph.attribute) if of else [],
            sorted(a.SerializeToString(deterministic=True) for a in graph.attribute_proto) if of else [],
        )

    def node(self, graph, node, value):
        key = _digest(
            node.domain,
            node.op_type,
            self.attributes(node, value),
            [value[name] for name in node.input],
            [bool(name) for name in node.output],
        )
        self.nodes[node.op_type, key] += 1
        value.update((name, _digest(key, i)) for i, name in enumerate(node.output) if name)
        return key

    def attributes(self, node, value):
        graphs = [(name, self.graph(body, value)) for name, body in scopes.bodies(node)]
        return sorted(graphs), sorted(
            self.attribute(a) for a in self.stated(node) if a.type not in (AttributeProto.GRAPH, AttributeProto.GRAPHS)
        )

    def stated(self, node):
        return node.attribute

    def attribute(self, attribute):
        return attribute.name, attribute.SerializeToString(deterministic=True)

    def constant(self, tensor):
        return _digest("weight", tensor.data_type, list(tensor.dims), numpy_helper.to_array(tensor).tobytes())

    def type(self, type_proto):
        return type_proto.SerializeToString(deterministic=True)

    def unordered(self, constants):
        return sorted(digest for _, digest in constants)


class _Loose(_Exact):
    def __init__(self, nodes, low):
        super().__init__(nodes)
        self.low, self.types = low, {}

    def graph(self, graph, outer):
        around = self.types
        self.types = {
            **around,
            **{v.name: v.type.tensor_type.elem_type for v in [*graph.value_info, *graph.input, *graph.output]},
            **{t.name: t.data_type for t in graph.initializer},
        }
        digest = super().graph(graph, outer)
        self.types = around
        return digest

    def node(self, graph, node, value):
        types = self.types
        if (
            node.op_type == "Cast"
            and cast_target(node) in (TensorProto.FLOAT, self.low)
            and types.get(node.input[0], 0) in (0, TensorProto.FLOAT, self.low)
        ):  # 0: unknown
            value[node.output[0]] = value[node.input[0]]
            return None
        if node.op_type == "Constant" and not any(a.ref_attr_name for a in node.attribute):
            held = {
                "value": lambda a: a.t,
                "value_float": lambda a: numpy_helper.from_array(np.float32(a.f)),
                "value_floats": lambda a: numpy_helper.from_array(np.array(a.floats, np.float32)),
            }
            for a in node.attribute:
                if a.name in held:
                    value[node.output[0]] = self.constant(held[a.name](a))
                    return None
        return super().node(graph, node, value)

    def stated(self, node):
        """Returns the attributes of a node with implied types treated as stated ones.

        The float32 that ConstantOfShape and SequenceEmpty imply is spelled out. The output_dtype of DequantizeLinear is
        left out where it is float32 or `low`, because its scale implies it.
        """
        if node.op_type == "DequantizeLinear":
            return [
                a
                for a in node.attribute
                if a.name != "output_dtype" or a.i not in (TensorProto.UNDEFINED, TensorProto.FLOAT, self.low)
            ]
        implied = {
            "ConstantOfShape": ("value", numpy_helper.from_array(np.zeros(1, np.float32))),
            "SequenceEmpty": ("dtype", TensorProto.FLOAT),
        }
        return (
            [onnx.helper.make_attribute(*implied[node.op_type])]
            if node.op_type in implied and not node.attribute
            else node.attribute
        )

    def attribute(self, attribute):
        if attribute.name in ("value", "value_float", "value_floats") and attribute.type == AttributeProto.TENSOR:
            return attribute.name, self.constant(attribute.t)
        if attribute.type == AttributeProto.TYPE_PROTO:
            return attribute.name, self.type(attribute.tp)
        if attribute.name in TYPED_ATTRIBUTES and attribute.i in (TensorProto.FLOAT, self.low):
            return attribute.name, "float"
        return super().attribute(attribute)

    def constant(self, tensor):
        array = numpy_helper.to_array(tensor)
        if tensor.data_type not in (TensorProto.FLOAT, self.low):
            return super().constant(tensor)
        with np.errstate(all="ignore"):
            return _digest(
                "weight", list(tensor.dims), array.astype(onnx.helper.tensor_dtype_to_np_dtype(self.low)).tobytes()
            )

    def type(self, type_proto):
        return type_proto.WhichOneof("value"), scopes.element_type(type_proto) in (
            TensorProto.FLOAT,
            self.low,
        ) or scopes.element_type(type_proto)

    def unordered(self, constants):
        return []
