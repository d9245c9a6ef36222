#!/usr/bin/env python3
"""Judges the form of a rewritten model against its original: nothing is executed.

  structure.py ORIGINAL.onnx REWRITTEN.onnx --dtype float16 [--keep-io all|none]

`problems(original, rewritten, dtype, ...)` returns sentences, each starting with the name of the rule that it breaks:

  checker     ONNX's checker with full check passes whenever it passes on the original
  inference   strict type inference passes after all value_info is dropped
  value-info  no stated type differs from the inferred one
  io          inputs and outputs keep name, order, type and shape (a released one may become low)
  node        every node survives, under its operator, with its attributes (types apart); only a user's Cast between the
              low type and float32 may go, and only where it reads a low value now; only Casts are new, and low copies
              of Constant nodes
  tensor      node outputs keep their names, unless a Cast took over a graph output's name, or a low value took over the
              name of the graph output into which the user narrowed it
  cast        no identity cast, no widening and narrowing again, one per (value, type, scope), none unread
  name        value names are unique over all scopes, new nodes have unique names
  order       nodes are topologically sorted, untouched nodes keep their order, a cast sits right after its producer
  place       a cast of a captured value sits in the right scope (scope_rules.py)
  agree       types that go together are one (scope_rules.py)
  weight      no initializer is left behind unread, none is changed under its old name and type
  loads       onnxruntime loads it where it loads the original (float16)
  optimised   onnxruntime does so with its default optimisations, in both types, and runs it where there are inputs
              (runtimes.py)

Where functions of the model were inlined, `node` and `tensor` are judged by what is left without names and types
(isomorphism.skeleton), and a Cast is the tool's if its name says so.
Cast nodes of the original are the user's. They may round, repeat and do nothing; the rules hold for what the tool
added.
"""

import argparse
import base64
import collections
import json
import re
import sys

import numpy as np
import onnx
from onnx import TensorProto

from judge import isomorphism, runtimes, scope_rules, scopes
from judge.inlining import inlined
from judge.scopes import TYPED_ATTRIBUTES

DTYPES = {"float16": TensorProto.FLOAT16, "bfloat16": TensorProto.BFLOAT16}


def problems(original, rewritten, dtype, keep_io="all", frozen=False, runtime=True, repaired=False, feeds=None):
    """Returns every broken rule as one sentence.

    dtype     'float16' or 'bfloat16'
    frozen    the rewrite ran under --freeze-initializers
    runtime   `loads` and `optimised` are judged too, and that the result runs on `feeds`
    repaired  the result has to pass the plain checker although the original does not; its shapes may contradict each
              other as the original's do
    """
    found = []
    if message := _checker(rewritten, full=not repaired):
        found += message if _passes_checker(original) or repaired else []
    try:
        known = scopes.inferred(rewritten)
    except Exception as error:
        if _infers(original) and not repaired:
            found.append(f"inference: {_short(error)}")
        known = scopes.inferred(rewritten, strict=False)
    typed = list(scopes._typed(known.graph, rewritten.graph, {}, ""))
    found += _value_info(rewritten, known)
    found += _io(original, rewritten, DTYPES[dtype], keep_io, frozen)
    upgraded = scopes.opset(original) != scopes.opset(rewritten)
    if original.functions and list(original.functions) != list(rewritten.functions):
        added = _named_casts(known)
        found += [] if upgraded else _same_skeleton(original, rewritten, DTYPES[dtype], frozen)
    else:
        texts, added = _nodes(original, rewritten, typed, upgraded, DTYPES[dtype])
        found += texts
    found += scope_rules.problems(known, added)
    found += _names(original, rewritten)
    found += _weights(inlined(original), rewritten)
    if runtime and dtype == "float16":
        found += _loads(original, rewritten)
    if runtime:
        found += runtimes.problems(original, rewritten, dtype, feeds)
    return found


def _short(error):
    return " ".join(str(error).split())[:300]


def _checker(model, full=True):
    try:
        onnx.checker.check_model(model, full_check=full)
    except Exception as error:
        return [f"checker: {_short(error)}"]
    return []


def checker_problems(original, rewritten):
    """Returns what the checker says of the rewritten model where it says nothing of the original."""
    return _checker(rewritten) if _passes_checker(original) else []


def _passes_checker(model):
    return not _checker(model)


def _infers(model):
    try:
        scopes.inferred(model)
        return True
    except Exception:
        return False


def _value_info(rewritten, known):
    found = []
    for (path, stated), (_, inferred) in zip(scopes.all_graphs(rewritten.graph), scopes.all_graphs(known.graph)):
        types = {v.name: v.type for v in inferred.value_info}
        for info in stated.value_info:
            a, b = info.type.tensor_type.elem_type, types[info.name].tensor_type.elem_type if info.name in types else 0
            if a and b and a != b:
                found.append(f"value-info: {path}{info.name} is stated as {_type(a)}, inferred as {_type(b)}")
    return found


def _type(number):
    return TensorProto.DataType.Name(number).lower() if number else "unknown"


def _shape(info):
    tensor = info.type.tensor_type
    return (
        [d.dim_value if d.HasField("dim_value") else d.dim_param for d in tensor.shape.dim]
        if tensor.HasField("shape")
        else None
    )


def _io(original, rewritten, low, keep_io, frozen):
    found = []
    released = lambda name: keep_io != "all" and (keep_io == "none" or name not in keep_io.split(","))
    constants = {t.name for t in original.graph.initializer}
    constants_now = {t.name for t in rewritten.graph.initializer}
    drops_constants = original.ir_version < 4 or frozen
    kept_in = [v for v in original.graph.input if not (drops_constants and v.name in constants)]
    kept_now = [
        v for v in rewritten.graph.input if not (drops_constants and (v.name in constants or v.name in constants_now))
    ]
    for what, before, after in (
        ("input", kept_in, kept_now),
        ("output", original.graph.output, rewritten.graph.output),
    ):
        if [v.name for v in before] != [v.name for v in after]:
            found.append(f"io: {what}s {[v.name for v in before]} became {[v.name for v in after]}")
            continue
        for a, b in zip(before, after):
            x, y = a.type.tensor_type.elem_type, b.type.tensor_type.elem_type
            may = released(a.name) and x == TensorProto.FLOAT and y == low
            if x != y and not may:
                found.append(f"io: {what} {a.name} changed from {_type(x)} to {_type(y)}")
            if a.type.WhichOneof("value") != b.type.WhichOneof("value") or _shape(a) != _shape(b):
                found.append(f"io: {what} {a.name} changed shape from {_shape(a)} to {_shape(b)}")
            if not a.type.HasField("tensor_type") and a.type != b.type:
                found.append(f"io: {what} {a.name} changed its type")
    return found


def match(before, after):
    """Pairs the original's nodes with the rewritten model's, scope by scope.

    Returns [((path before, path after), graph before, graph after, {index before: index after})].

    A node is found by its name where that is unique in both. Else it is found by its first output. Where a Cast took
    over that output's name, the node is the producer of what that Cast reads.
    """
    pairs = []

    def walk(old_path, path, old, new):
        home = {}
        names_old, names_new = (collections.Counter(n.name for n in g.node if n.name) for g in (old, new))
        by_name = {n.name: j for j, n in enumerate(new.node) if n.name}
        by_output = {o: j for j, n in enumerate(new.node) for o in n.output if o}
        taken = set()
        outputs = {v.name for v in old.output}
        for i, node in enumerate(old.node):
            j = None
            if node.name and names_old[node.name] == 1 and names_new[node.name] == 1:
                j = by_name[node.name]
            else:
                first = next((o for o in node.output if o), None)
                j = by_output.get(first)
                if j is not None and first in outputs:
                    k = new.node[j]
                    took_over = k.op_type == "Cast" and (
                        node.op_type != "Cast" or (k.name != node.name and k.input[0] != node.input[0])
                    )
                    if took_over and k.input[0] in by_output:
                        j = by_output[k.input[0]]
                if j is not None and new.node[j].name != node.name:
                    j = None
            if j is not None and j not in taken:
                taken.add(j)
                home[i] = j
        pairs.append(((old_path, path), old, new, home))
        for i, j in home.items():
            old_bodies, new_bodies = dict(scopes.bodies(old.node[i])), dict(scopes.bodies(new.node[j]))
            for name in old_bodies.keys() & new_bodies.keys():
                old_inner = f"{old_path}{old.node[i].name or old.node[i].op_type}#{i}/{name}/"
                walk(
                    old_inner,
                    f"{path}{new.node[j].name or new.node[j].op_type}#{j}/{name}/",
                    old_bodies[name],
                    new_bodies[name],
                )

    walk("", "", before.graph, after.graph)
    return pairs


def _attributes(node, upgraded):
    return {
        a.name: a.SerializeToString(deterministic=True)
        for a in node.attribute
        if a.name not in TYPED_ATTRIBUTES and a.type not in (a.GRAPH, a.GRAPHS)
    }


def _named_casts(model):
    """Returns {(path, index)} of the casts whose node name is one that the tool gives."""
    name = re.compile(r".*_to_(float16|bfloat16|float32)(_\d+)?$")
    return {
        (path, i)
        for path, graph in scopes.all_graphs(model.graph)
        for i, n in enumerate(graph.node)
        if n.op_type == "Cast" and name.match(n.name)
    }


def _same_skeleton(original, rewritten, low, frozen):
    left, right = (isomorphism.skeleton(inlined(model), low, frozen) for model in (original, rewritten))
    if left == right:
        return []
    gone, new = left[1] - right[1], right[1] - left[1]
    return [
        (
            f"node: apart from names, types and casts, {sum(gone.values())} of {sum(left[1].values())} nodes "
            f"differ: {dict(collections.Counter(k[0] for k in (gone + new).elements()))}"
        )
    ]


UNITS = {"LayerNormalization", "RMSNormalization", "GroupNormalization"}


def _units(model):
    """Returns what stands for the norms that were written out, by the record of the rewrite.

    The result is (first outputs of the nodes that went, {output of the last node before: output now}).
    """
    gone, units = set(), {}
    for entry in model.metadata_props:
        for unit in json.loads(entry.value).get("units", []) if entry.key == "amp.rewrite" else ():
            nodes = [onnx.NodeProto.FromString(base64.b64decode(node)) for node in unit["nodes"]]
            gone.update(node.output[0] for node in nodes[:-1])
            units[nodes[-1].output[0]] = unit["node"] if isinstance(unit["node"], str) else unit["node"][0]
    return gone, units


def _nodes(base, rewritten, typed, upgraded, low):
    """Returns (sentences, {(path, index)} of the nodes that are new)."""
    found, added, widened_at = [], set(), {}
    old_types_at = {path: types for path, _, types in scopes.typed_graphs(base, strict=False)}
    types_at = {path: types for path, _, types in typed}
    gone, units = _units(rewritten)
    for (old_path, path), old, new, home in match(base, rewritten):
        outputs, old_types = {v.name for v in old.output}, old_types_at[old_path]
        giver = {o: j for j, n in enumerate(new.node) for o in n.output if o}
        home.update(
            {
                i: giver[units[n.output[0]]]
                for i, n in enumerate(old.node)
                if n.output and units.get(n.output[0]) in giver
            }
        )
        gone_casts = {n.output[0]: n.input[0] for i, n in enumerate(old.node) if i not in home and n.op_type == "Cast"}
        widened = {
            n.output[0]: n.input[0]
            for j, n in enumerate(new.node)
            if j not in set(home.values()) and n.op_type == "Cast" and scopes.cast_target(n) == TensorProto.FLOAT
        }
        for around in (
            w for p, w in widened_at.items() if path.startswith(p)
        ):  # what the scopes around it widened is captured
            widened = {**around, **widened}
        widened_at[path] = widened
        renamed = {
            a: b
            for i, j in home.items()
            for a, b in zip(old.node[i].output, new.node[j].output)
            if b in outputs and gone_casts.get(b) == a
        }
        for i, node in enumerate(old.node):
            who = f"{path}{node.name or f'{node.op_type}#{i}'}"
            if i not in home and node.output and node.output[0] in gone:
                continue
            if i not in home:
                source = node.input[0] if node.op_type == "Cast" else ""
                while source in gone_casts:
                    source = gone_casts[source]
                source = renamed.get(source, source)
                source = widened.get(source, source)
                if types_at[path].get(source) == low and {scopes.cast_target(node), old_types.get(node.input[0])} <= {
                    low,
                    TensorProto.FLOAT,
                }:
                    # low -> float32 -> low is exact, and so is float32 -> float32 of what is low now: its value, or its
                    # readers, are low.
                    continue
                if not upgraded:
                    found.append(f"node: {who} is gone")
                elif node.name:
                    found.append(f"node: {who} is gone (opset changed)")
                continue
            now = new.node[home[i]]
            if node.output and node.output[0] in units:
                if (
                    now.op_type not in UNITS
                    or next((a.i for a in now.attribute if a.name == "stash_type"), 0) != TensorProto.FLOAT
                ):
                    found.append(
                        f"node: {who} stands for a norm and is {now.op_type}, or has other statistics than float32 ones"
                    )
                continue
            if upgraded:
                continue
            if (node.op_type, node.domain) != (now.op_type, now.domain):
                found.append(f"node: {who} was {node.op_type} and is {now.op_type}")
            if _attributes(node, upgraded) != _attributes(now, upgraded):
                found.append(f"node: {who} has other attributes")
            if (node.doc_string, list(node.metadata_props)) != (now.doc_string, list(now.metadata_props)):
                found.append(f"node: {who} lost its description or metadata")
            if len(node.output) != len(now.output) or len(node.input) != len(now.input):
                found.append(f"node: {who} has another number of inputs or outputs")
            for a, b in zip(node.output, now.output):
                if a != b and a not in outputs and renamed.get(a) != b:
                    found.append(f"tensor: {path}{a} is now called {b}")
        added |= {(path, j) for j in range(len(new.node)) if j not in set(home.values())}
        found += _casts(path, old, new, home, types_at[path], upgraded)
    return found, added


def _is_low_copy(node, old):
    """Says whether the new node is a Constant with the values of one of the graph's own, rounded."""
    value = lambda n: next((onnx.numpy_helper.to_array(a.t) for a in n.attribute if a.name == "value"), None)
    if node.op_type != "Constant" or (low := value(node)) is None:
        return False
    for other in old.node:
        for a in other.attribute if other.op_type == "Constant" else ():
            high = {
                "value": lambda: onnx.numpy_helper.to_array(a.t),
                "value_float": lambda: np.float32(a.f),
                "value_floats": lambda: np.array(a.floats, np.float32),
            }.get(a.name)
            high = high and np.asarray(high())
            if (
                high is not None
                and high.dtype == np.float32
                and high.shape == low.shape
                and high.astype(low.dtype).tobytes() == low.tobytes()
            ):
                return True
    return False


def _casts(path, old, new, home, types, upgraded):
    found = []
    old_places = set(home.values())
    added = [j for j in range(len(new.node)) if j not in old_places]
    readers = collections.Counter(name for _, g in scopes.all_graphs(new) for n in g.node for name in n.input)
    for _, g in scopes.all_graphs(new):
        readers.update(v.name for v in g.output)
    by_output = {o: j for j, n in enumerate(new.node) for o in n.output if o}
    seen, names = {}, collections.Counter(n.name for _, g in scopes.all_graphs(new) for n in g.node)
    for j in added:
        node = new.node[j]
        if node.op_type != "Cast":
            if not upgraded and not _is_low_copy(node, old):
                found.append(f"node: {path}{node.name or node.op_type} is new and no Cast")
            continue
        to, source = scopes.cast_target(node), node.input[0]
        if not node.name or names[node.name] > 1:
            found.append(f"name: new cast of {path}{source} is called {node.name!r}")
        if types.get(source) == to:
            found.append(f"cast: {path}{node.name} casts {source} to the type that it has")
        if (source, to) in seen:
            found.append(f"cast: {path}{source} is cast to {_type(to)} twice, {seen[source, to]} and {node.name}")
        seen[source, to] = node.name
        if not readers[node.output[0]]:
            found.append(f"cast: {path}{node.name} has no reader")
        maker = by_output.get(source)
        if maker is not None and maker in added and new.node[maker].op_type == "Cast":
            found.append(f"cast: {path}{node.name} casts what {new.node[maker].name} cast")
        between = range((-1 if maker is None else maker) + 1, j)
        if not upgraded and any(k in old_places for k in between):
            captured = maker is None and source not in {v.name for v in [*new.input, *new.initializer]}
            if not captured:
                found.append(f"order: {path}{node.name} does not sit right after the producer of {source}")
    # Sorted, and untouched nodes in their order where they were sorted before.
    order = [home[i] for i in range(len(old.node)) if i in home]
    if not upgraded and _is_sorted(old) and order != sorted(order):
        found.append(f"order: {path or 'graph'}: untouched nodes changed their order")
    if not _is_sorted(new):
        found.append(f"order: {path or 'graph'} is not topologically sorted")
    return found


def _is_sorted(graph):
    made_here = {o for n in graph.node for o in n.output if o}
    made = set()
    for node in graph.node:
        if any(name in made_here and name not in made for name in scopes.reads(node)):
            return False
        made.update(node.output)
    return True


def _value_names(model):
    for _, graph in scopes.all_graphs(model.graph):
        yield from (
            {v.name for v in graph.input}
            | {t.name for t in graph.initializer}
            | {t.values.name for t in graph.sparse_initializer}
        )
        for node in graph.node:
            yield from (name for name in node.output if name)


def _names(original, rewritten):
    before, after = collections.Counter(_value_names(original)), collections.Counter(_value_names(rewritten))
    inlined = bool(original.functions)
    return [
        f"name: {name} is defined {n} times"
        for name, n in after.items()
        if n > 1 and before[name] < n and not (inlined and before[name])
    ]


def _weights(original, rewritten):
    found = []
    unread_before, unread = _unread(original), _unread(rewritten)
    if len(unread) > len(unread_before):  # by their number, for names change where a function is inlined
        found.append(f"weight: {sorted(set(unread) - set(unread_before))[:3]} are left behind unread")
    for (_, path), old_graph, graph, _ in match(original, rewritten):
        before = {t.name: t for t in old_graph.initializer}
        for tensor in graph.initializer:
            old = before.get(tensor.name)
            if (
                old is not None
                and old.data_type == tensor.data_type
                and old.SerializeToString(deterministic=True) != tensor.SerializeToString(deterministic=True)
            ):
                if (
                    list(old.dims) != list(tensor.dims)
                    or onnx.numpy_helper.to_array(old).tobytes() != onnx.numpy_helper.to_array(tensor).tobytes()
                ):
                    found.append(f"weight: {path}{tensor.name} has other data under its old name and type")
    return found


def _unread(model):
    """Returns the initializers that nothing in their own graph or its bodies reads."""
    found = []
    for _, graph in scopes.all_graphs(model.graph):
        read = {v.name for v in graph.output} | {name for node in graph.node for name in scopes.reads(node)}
        read |= {
            p.value for annotation in graph.quantization_annotation for p in annotation.quant_parameter_tensor_names
        }
        found += [t.name for t in graph.initializer if t.name not in read]
    return found


def load_error(model):
    """Returns None if onnxruntime's CPU provider loads the model, else its message."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        return _short(error)
    return None


def _loads(original, rewritten):
    message = load_error(rewritten)
    # An operator that has no float16 kernel but is a function is inlined into the body of a SequenceMap, which is a
    # function too. onnxruntime cannot do both.
    if message and "_inlfunc_SequenceMap" not in message and load_error(original) is None:
        return [f"loads: onnxruntime loads the original, not the rewritten model: {message}"]
    return []


def low_nodes(original, rewritten, dtype):
    """Returns the original's nodes that are low in the rewritten model and were not before.

    Such a node reads or writes a low tensor. An entry is (path of the original's graph, index).
    """
    if list(original.functions) != list(rewritten.functions):
        return _low_inlined(rewritten, dtype)
    types = lambda model: {path: found for path, _, found in scopes.typed_graphs(model, strict=False)}
    old_types, new_types, lows = types(original), types(rewritten), set()
    for (old_path, path), old, new, home in match(original, rewritten):
        for i, j in home.items():
            ports = [*zip(old.node[i].input, new.node[j].input), *zip(old.node[i].output, new.node[j].output)]
            if any(
                a and old_types[old_path].get(a) == TensorProto.FLOAT and new_types[path].get(b) == DTYPES[dtype]
                for a, b in ports
            ):
                lows.add((old_path, i))
    return lows


def low_nodes_of_each(original, rewrites, dtype):
    """Returns low_nodes of several rewrites of one model, all counted in one way.

    Functions may be gone, or others, in some of the rewrites alone.
    """
    if any(list(original.functions) != list(rewritten.functions) for rewritten in rewrites):
        return [_low_inlined(rewritten, dtype) for rewritten in rewrites]
    return [low_nodes(original, rewritten, dtype) for rewritten in rewrites]


def _low_inlined(rewritten, dtype):
    """Returns the low nodes of a model whose functions are gone.

    A node is known by its place among those that are neither casts nor constants, so that two such rewrites can be
    compared.
    """
    lows = set()
    for path, graph, types in scopes.typed_graphs(rewritten, strict=False):
        nodes = [n for n in graph.node if n.op_type not in ("Cast", "Constant")]
        lows |= {
            (re.sub(r"#\d+", "", path), i)
            for i, n in enumerate(nodes)
            if any(types.get(name) == DTYPES[dtype] for name in [*n.input, *n.output] if name)
        }
    return lows


def added_casts(original, rewritten):
    return sum(
        1
        for _, _, new, home in match(original, rewritten)
        for j, n in enumerate(new.node)
        if n.op_type == "Cast" and j not in set(home.values())
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("original")
    parser.add_argument("rewritten")
    parser.add_argument("--dtype", choices=DTYPES, default="float16")
    parser.add_argument("--keep-io", default="all")
    parser.add_argument("--frozen", action="store_true", help="the rewrite ran under --freeze-initializers")
    arguments = parser.parse_args()
    found = problems(
        onnx.load(arguments.original),
        onnx.load(arguments.rewritten),
        arguments.dtype,
        arguments.keep_io,
        arguments.frozen,
    )
    for line in found:
        print(line)
    print(f"{int(not found)} passed, {int(bool(found))} failed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
