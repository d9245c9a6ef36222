"""Walks an ONNX model scope by scope with the element type of every tensor.

Types come from ONNX's own inference after all value_info was dropped. What inference does not know (operators without a
schema) falls back to the file's value_info. `typed_graphs(model)` yields (path, graph, types): `types` maps every
tensor name visible in that graph, captured ones included, to its ONNX element type (0: not a tensor, or unknown).
"""

import onnx
from onnx import AttributeProto, TensorProto

# Attributes that hold an element type or data of it: they may follow the type of their vertex.
TYPED_ATTRIBUTES = {
    "to",
    "dtype",
    "value",
    "value_float",
    "value_floats",
    "output_dtype",
    "softmax_precision",
    "stash_type",
    "type",
}
LOW_TYPES = {TensorProto.FLOAT16, TensorProto.BFLOAT16}


def bodies(node):
    """Yields (attribute name, graph) of every graph that hangs on the node, in attribute order."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.name, attribute.g
        for i, graph in enumerate(attribute.graphs):
            yield f"{attribute.name}[{i}]", graph


def element_type(type_proto):
    """Returns the element type of a tensor, or of a sequence's or an optional's tensors; 0: unknown, or a map."""
    kind = type_proto.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        return getattr(type_proto, kind).elem_type
    return element_type(getattr(type_proto, kind).elem_type) if kind in ("sequence_type", "optional_type") else 0


def all_graphs(graph, path=""):
    """Yields (path, graph): the graph itself first, then all graphs nested in it in node order."""
    yield path, graph
    for i, node in enumerate(graph.node):
        for name, body in bodies(node):
            yield from all_graphs(body, f"{path}{node.name or node.op_type}#{i}/{name}/")


def reads(node):
    """Yields every name that the node or a body of it reads; some of those are the body's own."""
    yield from node.input
    for _, body in bodies(node):
        for inner in body.node:
            yield from reads(inner)
        yield from (v.name for v in body.output)


def cast_target(cast):
    return next(a.i for a in cast.attribute if a.name == "to")


def sort(model):
    """Sorts every graph of the model in a stable topological order.

    What a body captures counts as read by the node that has it.
    """
    for _, graph in all_graphs(model.graph):
        _sort_graph(graph)
    return model


def _sort_graph(graph):
    needs = [set(reads(node)) for node in graph.node]
    left, made = list(range(len(graph.node))), set()
    produced = {o for n in graph.node for o in n.output if o}
    order = []
    while left:
        ready = next(i for i in left if all(name in made or name not in produced for name in needs[i]))
        left.remove(ready)
        made.update(graph.node[ready].output)
        order.append(ready)
    if order != sorted(order):
        nodes = [onnx.NodeProto.FromString(graph.node[i].SerializeToString()) for i in order]
        del graph.node[:]
        graph.node.extend(nodes)


def without_value_info(model):
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    for _, graph in all_graphs(bare.graph):
        del graph.value_info[:]
    return bare


def inferred(model, strict=True):
    """Returns the model with value_info from ONNX's inference alone.

    Raises onnx.shape_inference.InferenceError under `strict`.
    """
    return onnx.shape_inference.infer_shapes(without_value_info(model), check_type=strict, strict_mode=strict)


_RUNTIME_SCHEMAS = {}


def runtime_schema(domain, operator):
    """Returns onnxruntime's own schema of an operator that ONNX does not define (version 1), or None."""
    if not _RUNTIME_SCHEMAS:
        from onnxruntime.capi import onnxruntime_pybind11_state

        _RUNTIME_SCHEMAS.update(
            ((s.domain, s.name), s)
            for s in onnxruntime_pybind11_state.get_all_operator_schema()
            if s.since_version == 1
        )
    return _RUNTIME_SCHEMAS.get((domain, operator))


def port_types(schema, port):
    """Returns the types that onnxruntime's schema allows at a port: {'float', 'float16', ...}."""
    allowed = next(
        (list(c.allowed_type_strs) for c in schema.type_constraints if c.type_param_str == port.typeStr), [port.typeStr]
    )
    return {text.removeprefix("tensor(").removesuffix(")") for text in allowed}


def _runtime_outputs(node, types):
    """Yields (output, element type) of a node that onnxruntime defines.

    The type is a fixed one, or that of an input under the same type variable. Where no input has that variable, it is
    the type of the first input, if the port may have it.
    """
    schema = runtime_schema(node.domain, node.op_type)
    if schema is None or len(node.input) > len(schema.inputs) or len(node.output) > len(schema.outputs):
        return
    bound = {port.typeStr: types[name] for port, name in zip(schema.inputs, node.input) if types.get(name)}
    for port, name in zip(schema.outputs, node.output):
        allowed = port_types(schema, port)
        fixed = dict(TensorProto.DataType.items()).get(min(allowed).upper(), 0) if len(allowed) == 1 else 0
        first = next(iter(bound.values()), 0)
        fits = first and TensorProto.DataType.Name(first).lower() in allowed
        yield name, fixed or bound.get(port.typeStr, 0) or (first if fits else 0)


def with_guesses(model):
    """Returns a copy in which the outputs of operators that ONNX does not know have value_info.

    Their type comes from onnxruntime's schema where it has one. Else it is the type of the node's first tensor input,
    as is the rule for fused and quantised operators. Only what inference and the file leave open is guessed, and only
    in the main graph.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for _ in range(200):
        known = onnx.shape_inference.infer_shapes(copy).graph
        types = {v.name: v.type.tensor_type.elem_type for v in [*known.value_info, *known.input, *known.output]}
        types.update((t.name, t.data_type) for t in known.initializer)
        guesses = {}
        for node in copy.graph.node:
            if onnx.defs.has(node.op_type, node.domain) and _schema_at(node, opset(copy, node.domain)):
                continue
            guesses.update(
                (name, given) for name, given in _runtime_outputs(node, types) if name and given and not types.get(name)
            )
            given = next((types[name] for name in node.input if types.get(name)), 0)
            guesses.update(
                (name, given)
                for name in node.output[:1]
                if name and given and not types.get(name) and name not in guesses
            )
        if not guesses:
            return copy
        stated = {v.name: v for v in copy.graph.value_info}
        for name, given in guesses.items():
            info = stated.get(name) or copy.graph.value_info.add(name=name)
            info.type.tensor_type.elem_type = given
    return copy


def _schema_at(node, version):
    try:
        onnx.defs.get_schema(node.op_type, version, node.domain)
        return True
    except onnx.defs.SchemaError:
        return False


def _typed(graph, stated, outer, path):
    types = dict(outer)
    infos = [*graph.value_info, *graph.input, *graph.output]
    for info in [*(stated.value_info if stated else []), *infos]:
        types[info.name] = (
            info.type.tensor_type.elem_type if info.type.HasField("tensor_type") else types.get(info.name, 0)
        )
    types.update((t.name, t.data_type) for t in graph.initializer)
    types.update((t.values.name, t.values.data_type) for t in graph.sparse_initializer)
    yield path, graph, types
    for i, node in enumerate(graph.node):
        stated_bodies = dict(bodies(stated.node[i])) if stated else {}
        for name, body in bodies(node):
            yield from _typed(body, stated_bodies.get(name), types, f"{path}{node.name or node.op_type}#{i}/{name}/")


def typed_graphs(model, strict=True, guess=False):
    """Yields (path, graph, types); the graphs belong to an inferred copy of the model."""
    known = inferred(model, strict)
    if guess:
        known = model = with_guesses(known)
        known = onnx.shape_inference.infer_shapes(known)
    return list(_typed(known.graph, model.graph, {}, ""))


def opset(model, domain=""):
    versions = [o.version for o in model.opset_import if o.domain == domain or (domain == "" and o.domain == "ai.onnx")]
    return max(versions, default=0)
