"""Judges whether a rewrite keeps what a model says beside its data and types.

A model says such things in doc_string, metadata_props and names: of tensors, nodes, attributes, values, graphs and the
model itself.

    decorate(model)                    gives everything something to say
    problems(original, rewritten)      sentences "description: ...", one for each thing that a rewrite lost or changed

Low copies, casts and what an opset lift adds are new and say nothing. A function that was inlined is gone with its
call, so what is said inside it is not compared.
"""

import onnx

from judge import structure
from judge.scopes import all_graphs

OWN = "amp."  # the tool's own metadata of a model


def decorate(model):
    """Gives each part of the model a description, made of names and positions, so that it is the same in every run."""
    _describe(model, "the model")
    for path, graph in all_graphs(model.graph):
        _describe(graph, f"graph {path or 'main'}")
        for kind, infos in (("input", graph.input), ("output", graph.output), ("value", graph.value_info)):
            for info in infos:
                _describe(info, f"{kind} {info.name}")
        for tensor in graph.initializer:
            _describe(tensor, f"weight {tensor.name}")
        for i, node in enumerate(graph.node):
            _describe(node, f"node {i} of {path or 'main'}")
            for attribute in node.attribute:
                attribute.doc_string = f"attribute {attribute.name} of node {i}"
                if attribute.type == attribute.TENSOR:
                    attribute.t.name = f"tensor {i}"
                    _describe(attribute.t, f"tensor of node {i}")
    for function in model.functions:
        _describe(function, f"function {function.name}")
    return model


def state_types(model):
    """Adds value_info for what inference knows of the main graph."""
    listed = {v.name for v in [*model.graph.value_info, *model.graph.output, *model.graph.input]}
    known = onnx.shape_inference.infer_shapes(model).graph.value_info
    model.graph.value_info.extend(v for v in known if v.name not in listed)
    return model


def _describe(message, text):
    message.doc_string = text
    message.metadata_props.add(key="origin", value=text)


def _said(message):
    return message.doc_string, sorted((p.key, p.value) for p in message.metadata_props)


def problems(original, rewritten):
    found = []

    def compare(what, before, after, said=_said):
        if said(before) != said(after):
            found.append(f"description: {what} said {said(before)} and says {said(after)}")

    model_said = lambda m: (
        m.doc_string,
        m.producer_name,
        m.producer_version,
        m.domain,
        m.model_version,
        sorted((p.key, p.value) for p in m.metadata_props if not p.key.startswith(OWN)),
    )
    compare("the model", original, rewritten, model_said)
    is_inlined = len(original.functions) > 0 and list(original.functions) != list(rewritten.functions)
    for (path, _), old, new, home in structure.match(original, rewritten):
        compare(
            f"graph {path}",
            old,
            new,
            lambda g: (g.name, *_said(g), [a.SerializeToString(deterministic=True) for a in g.quantization_annotation]),
        )
        for kind in ("input", "output", "initializer"):
            now = {x.name: x for x in getattr(new, kind)}
            for x in getattr(old, kind):
                if x.name in now:
                    compare(f"{kind} {path}{x.name}", x, now[x.name])
        if is_inlined:
            continue
        made = {name for node in new.node for name in node.output} | {x.name for x in [*new.input, *new.initializer]}
        infos = {v.name: v for v in new.value_info}
        for info in old.value_info:
            if info.name in infos:
                compare(f"value_info {path}{info.name}", info, infos[info.name])
            elif info.name in made and info.type.WhichOneof("value") and any(_said(info)):
                found.append(f"description: value_info {path}{info.name} is gone")
        for i, j in home.items():
            found += _node_problems(path, old.node[i], new.node[j])
    return found


def _node_problems(path, old, new):
    who = f"{path}{old.name or old.op_type}"
    texts = {
        a.s.decode(errors="replace") for a in old.attribute if a.type == a.STRING
    }  # an attribute that nobody declares goes to an empty doc_string
    if _said(old) != _said(new) and not (old.doc_string == "" and new.doc_string in texts):
        yield f"description: node {who} said {_said(old)} and says {_said(new)}"
    after = {a.name: a for a in new.attribute}
    for a in old.attribute:
        b = after.get(
            "value"
            if old.op_type == "Constant" and a.name.startswith("value_float") and a.name not in after
            else a.name
        )
        if b is None:
            continue  # an opset lift made an input of it, or nobody declares it
        if a.doc_string != b.doc_string:
            yield f"description: attribute {a.name} of {who} said {a.doc_string!r} and says {b.doc_string!r}"
        if a.type == b.type == a.TENSOR and (a.t.name, _said(a.t)) != (b.t.name, _said(b.t)):
            yield (
                f"description: tensor {a.name} of {who} said {a.t.name!r} {_said(a.t)} and says {b.t.name!r} "
                f"{_said(b.t)}"
            )
