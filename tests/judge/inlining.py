"""Replaces calls of model-local functions by the functions' nodes, as ir/functions/inline_functions.h promises.

`inlined(model)` gives values and nodes the promised names. It is written from that promise and ONNX's description of
functions alone, so that it judges the tool's inlining: structure.py compares node by node with it, and functions.py
compares what both compute with what the original computes.

  local.scale <by = 2.0> (x) named `call`, of  scale <by> (a) => (b) { [mul] c = Mul(a, a) b = Relu(c) }
  ->  [call/mul] call/c = Mul(x, x)   [call/Relu#0] y = Relu(call/c)

`stays(function)` says which functions' calls are left. A function of another opset than the model's is taken as of the
model's: the checker has seen that its operators did not change in between. onnx.inliner is not used here, because it
loses a body's initializer or input that is the body's output as well.
"""

import collections

import onnx

from judge.scopes import bodies


def _key(domain, name, overload):
    return "" if domain == "ai.onnx" else domain, name, overload


def _labels(nodes):
    unnamed = collections.Counter()
    for node in nodes:
        if node.name:
            yield node, node.name
        else:
            yield node, f"{node.op_type}#{unnamed[node.op_type]}"
            unnamed[node.op_type] += 1


class _Inliner:
    def __init__(self, model, stays):
        self.functions = {_key(f.domain, f.name, f.overload): f for f in model.functions if not stays(f)}
        self.values, self.nodes, self.calls = set(), set(), 0
        self._take(model.graph)

    def _take(self, graph):
        self.values |= (
            {v.name for v in graph.input}
            | {t.name for t in graph.initializer}
            | {t.values.name for t in graph.sparse_initializer}
        )
        for node in graph.node:
            self.nodes.add(node.name)
            self.values |= set(node.output)
            for _, body in bodies(node):
                self._take(body)

    @staticmethod
    def _fresh(taken, wanted):
        name, number = wanted, 0
        while name in taken:
            number += 1
            name = f"{wanted}_{number}"
        taken.add(name)
        return name

    def graph(self, graph, bind=None):
        """Expands the calls of a graph in place. `bind(node, label)` gives a node of a function its final names."""
        old = list(graph.node)
        made = []
        for node, label in list(_labels(old)):
            made += self.node(node, label, bind)
        del graph.node[:]
        graph.node.extend(made)

    def node(self, node, label, bind):
        scope = None
        if bind:
            label, scope = bind(node, label)
        for _, body in bodies(node):
            self.graph(body, self.within(body, *scope, node.name) if scope else None)
        function = self.functions.get(_key(node.domain, node.op_type, node.overload))
        return self.expand(node, function, label) if function else [node]

    def expand(self, call, function, label):
        self.calls += 1
        given = dict(zip(function.input, call.input))
        names = {name: given.get(name, "") for name in function.input}
        for formal, actual in zip(function.output, call.output):
            if actual:
                names.setdefault(formal, actual)
        for node in function.node:
            for name in node.output:
                if name and name not in names:
                    names[name] = self._fresh(self.values, f"{label}/{name}")
        attributes = {a.name: a for a in [*function.attribute_proto, *call.attribute]}
        bind = self.binder([names], attributes, label)
        made = []
        for node, inner in _labels(function.node):
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            made += self.node(copy, inner, bind)
        for formal, actual in zip(function.output, call.output):
            if actual and names[formal] != actual:
                made.append(
                    onnx.helper.make_node(
                        "Identity", [names[formal]], [actual], self._fresh(self.nodes, f"{label}/Identity_{formal}")
                    )
                )
        return made

    def binder(self, scopes, attributes, label):
        def bind(node, inner):
            node.name = self._fresh(self.nodes, f"{label}/{inner}")
            for names in (node.input, node.output):
                renamed = [next(s[name] for s in scopes if name in s) if name else "" for name in names]
                del names[:]
                names.extend(renamed)
            bound = []
            for attribute in node.attribute:
                if attribute.ref_attr_name:
                    if attribute.ref_attr_name not in attributes:
                        continue
                    value = onnx.AttributeProto()
                    value.CopyFrom(attributes[attribute.ref_attr_name])
                    value.name = attribute.name
                    attribute = value
                bound.append(attribute)
            bound = [onnx.AttributeProto.FromString(a.SerializeToString()) for a in bound]
            del node.attribute[:]
            node.attribute.extend(bound)
            return node.name, (scopes, attributes)

        return bind

    def within(self, body, scopes, attributes, label):
        names = {}

        def declare(thing):
            if thing.name not in names:
                names[thing.name] = self._fresh(self.values, f"{label}/{thing.name}")
            thing.name = names[thing.name]

        for thing in [*body.input, *body.initializer, *(t.values for t in body.sparse_initializer)]:
            declare(thing)
        for node in body.node:
            for name in node.output:
                if name:
                    names[name] = self._fresh(self.values, f"{label}/{name}")
        inner = [names, *scopes]
        for output in body.output:
            output.name = next(s[output.name] for s in inner if output.name in s)
        del body.value_info[:]
        return self.binder(inner, attributes, label)


def inlined(model, stays=lambda function: False):
    if not model.functions:
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    inliner = _Inliner(copy, stays)
    if not inliner.functions:
        return copy
    inliner.graph(copy.graph)
    known = {o.domain for o in copy.opset_import}
    for function in inliner.functions.values():
        for imported in function.opset_import:
            if imported.domain not in known:
                copy.opset_import.append(imported)
                known.add(imported.domain)
    called = {_key(n.domain, n.op_type, n.overload) for n in _all_nodes(copy.graph)}
    kept = [f for f in copy.functions if _key(f.domain, f.name, f.overload) in called]
    for function in kept:  # grows while it is walked
        wanted = {_key(n.domain, n.op_type, n.overload) for n in _nodes_of(function.node)}
        kept += [f for f in copy.functions if _key(f.domain, f.name, f.overload) in wanted and f not in kept]
    kept = [f for f in copy.functions if f in kept]
    rest = [onnx.FunctionProto.FromString(f.SerializeToString()) for f in kept]
    del copy.functions[:]
    copy.functions.extend(rest)
    return copy


def _nodes_of(nodes):
    for node in nodes:
        yield node
        for _, body in bodies(node):
            yield from _nodes_of(body.node)


def _all_nodes(graph):
    return _nodes_of(graph.node)
