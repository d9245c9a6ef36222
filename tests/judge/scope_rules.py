"""Judges casts and types across the scopes of a rewritten model.

The rules say where a cast has to sit, which casts are one too many, and which types must agree.
`problems(known, added)` returns sentences as structure.py does. `known` is the rewritten model with inferred types.
`added` says which nodes the rewrite added: {(path of the graph, index)}.

  cast     a value is cast to one type once in what a scope can see; no cast reads what a cast gave, however deep the
           second one lies
  place    a cast of a captured value sits in its producer's scope when a Loop, a Scan or a SequenceMap reads it, and
           inside the branch when only branches of an If read it, so that a loop casts once and a branch that is not
           taken casts nothing
  agree    the outputs of both branches and of their If have one type; so have a state, its initial value, its next and
           its final one; the parts of a scan output or of a mapped sequence have the type of the whole

One invariant is not obvious: names repeat in sibling scopes, so a value is (the path of the graph that defines it, its
name).
"""

import dataclasses

import onnx

from judge import scopes

REPEATED = {"Loop", "Scan", "SequenceMap"}


@dataclasses.dataclass
class Place:
    """One graph of the model, and what is defined where it can see."""

    path: str
    graph: onnx.GraphProto
    owner: str  # operator that has this body; "" for the main graph
    outer: object  # Place or None
    types: dict  # name -> TypeProto, of this scope alone
    makers: dict  # name -> index of its node, or None for inputs and initializers

    def home(self, name):
        """Returns the place that defines a value, or None."""
        return self if name in self.makers else self.outer.home(name) if self.outer else None

    def type(self, name):
        return self.types.get(name) or (self.outer.type(name) if self.outer else None)


def places(graph, owner="", outer=None, path=""):
    """Returns all graphs, outer ones first."""
    types = {v.name: v.type for v in [*graph.value_info, *graph.input, *graph.output]}
    types.update((t.name, onnx.helper.make_tensor_type_proto(t.data_type, list(t.dims))) for t in graph.initializer)
    makers = {v.name: None for v in [*graph.input, *graph.initializer]} | {
        t.values.name: None for t in graph.sparse_initializer
    }
    makers.update((name, i) for i, node in enumerate(graph.node) for name in node.output if name)
    here = Place(path, graph, owner, outer, types, makers)
    found = [here]
    for i, node in enumerate(graph.node):
        for name, body in scopes.bodies(node):
            found += places(body, node.op_type, here, f"{path}{node.name or node.op_type}#{i}/{name}/")
    return found


def problems(known, added):
    found, seen = [], {}
    for place in places(known.graph):
        for i, node in enumerate(place.graph.node):
            if (place.path, i) in added and node.op_type == "Cast":
                found += _cast(place, node, added, seen)
            found += _agree(place, node)
    return found


def _cast(place, node, added, seen):
    source, to = node.input[0], next(a.i for a in node.attribute if a.name == "to")
    home = place.home(source)
    if home is None:
        return [f"place: {place.path}{node.name} casts {source}, which is defined nowhere"]
    found, outer = [], place
    while outer:
        if (outer.path, home.path, source, to) in seen:
            found.append(
                f"cast: {place.path}{node.name} casts {source} as {seen[outer.path, home.path, source, to]} does"
            )
        outer = outer.outer
    seen[place.path, home.path, source, to] = node.name
    maker = home.makers[source]
    if maker is not None and (home.path, maker) in added and home.graph.node[maker].op_type == "Cast":
        found.append(f"cast: {place.path}{node.name} casts what {home.graph.node[maker].name} cast")
    if home is not place and place.owner in REPEATED:
        found.append(
            f"place: {place.path}{node.name} casts {source} in the body of a {place.owner}, "
            "once each time round; it belongs to its producer"
        )
    where = _readers(place.graph, node.output[0])
    if where and all(step == "If" for step in where):
        found.append(f"place: {place.path}{node.name} is read in branches alone and sits outside of them")
    return found


def _readers(graph, name):
    """Lists where the readers of a value lie; the graph defines the value.

    An entry is "" for the graph itself, else the operator whose body the reader lies in.
    """
    steps = ["" for v in graph.output if v.name == name]
    for node in graph.node:
        steps += ["" for port in node.input if port == name]
        steps += [node.op_type for _, body in scopes.bodies(node) for _ in _readers(body, name)]
    return steps


def _kind(type_proto):
    """Returns the element type and the containers, without shapes; None when unknown."""
    kind = type_proto and type_proto.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        element = getattr(type_proto, kind).elem_type
        return (kind, element) if element else None
    return (kind, _kind(getattr(type_proto, kind).elem_type)) if kind in ("sequence_type", "optional_type") else None


def _agree(place, node):
    """Compares the types that have to be one, by position."""
    bodies = dict(scopes.bodies(node))
    outside = lambda name: _kind(place.type(name)) if name else None
    groups = []
    if node.op_type == "If":
        for k, name in enumerate(node.output):
            groups.append((f"output {k}", [outside(name), *(_stated(body.output, k) for body in bodies.values())]))
    elif node.op_type in ("Loop", "Scan") and "body" in bodies:
        body, ports = bodies["body"], list(node.input)
        slices = next((a.i for a in node.attribute if a.name == "num_scan_inputs"), 0)
        first, skip = (2, 1) if node.op_type == "Loop" else (0, 0)  # the trip count and the condition
        states = len(ports) - first - slices
        for k in range(states):
            group = [
                outside(ports[first + k]),
                _stated(body.input, first + k),
                _stated(body.output, skip + k),
                outside(node.output[k]) if k < len(node.output) else None,
            ]
            groups.append((f"state {k}", group))
        for k in range(slices):
            groups.append((f"slice {k}", [outside(ports[states + k]), _stated(body.input, states + k)]))
        for k in range(states, len(node.output)):
            groups.append((f"scan output {k - states}", [_stated(body.output, skip + k), outside(node.output[k])]))
    elif node.op_type == "SequenceMap" and "body" in bodies:
        body, element = bodies["body"], lambda kind: kind[1] if kind and kind[0] == "sequence_type" else kind
        groups += [
            (f"input {k}", [element(outside(name)), _stated(body.input, k)]) for k, name in enumerate(node.input)
        ]
        groups += [
            (f"output {k}", [element(outside(name)), _stated(body.output, k)]) for k, name in enumerate(node.output)
        ]
    found = []
    for what, kinds in groups:
        if len({k for k in kinds if k}) > 1:
            found.append(
                f"agree: {place.path}{node.name or node.op_type}: {what} has the types {[k for k in kinds if k]}"
            )
    return found


def _stated(infos, k):
    return _kind(infos[k].type) if k < len(infos) else None
