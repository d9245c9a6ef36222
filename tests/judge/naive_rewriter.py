"""A second, much simpler rewriter, so that the judges can be judged.

It leaves bodies, functions and what bodies capture alone. It converts a fixed set of operators that are float32 now,
casts what they read down and what they give up, and knows no colouring. `NaiveTool` answers the same calls as the real
tool. `defect` makes it go wrong in one known way; tests/judge/self_test.py shows that the random-graph judge notices
each way:

  not idempotent       a second run changes the file
  greedy exclusion     more exclusion makes more nodes low
  ignores exclusion    excluding every node still rewrites
  position dependent   the decision depends on where a node stands in the file
  wrong wire           a converted node reads its inputs in the other order
  wrong weight         a converted weight has other values
  blind                no choice at all: every float32 tensor is declared low, as the first converters of this kind did
                       it; tests/judge/rewrite/complaints.py shows that users' complaints follow
"""

import argparse
import fnmatch
import shutil

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from judge import scopes
from judge.rounding import NUMPY_TYPE
from judge.scopes import sort
from judge.structure import DTYPES
from judge.tool import Answer

CONVERTED = {"MatMul", "Gemm", "Add", "Mul", "Sub", "Div", "Relu", "Tanh", "Sigmoid", "Neg", "Abs"}


def rewrite(model, dtype, deny=(), defect=""):
    """Returns the rewritten model, or None when there is nothing to convert. REQUIRES: `model` is sorted."""
    types = scopes.typed_graphs(model, strict=False)[0][2]
    if dtype == "bfloat16" and scopes.opset(model) < 13:  # when the converted operators learned it
        return None
    denied = lambda name: any(fnmatch.fnmatchcase(name, glob) for glob in deny) and defect != "ignores exclusion"
    captured = {name for node in model.graph.node for name in scopes.reads(node) if name not in node.input}
    free = lambda node: node.domain == "" and not captured & set(node.output)
    chosen = [
        node.op_type in CONVERTED
        and free(node)
        and all(types.get(n) == TensorProto.FLOAT for n in node.input if n)
        and not denied(node.name)
        for node in model.graph.node
    ]
    if defect == "position dependent":
        chosen = [c and i % 2 == 0 for i, c in enumerate(chosen)]
    if defect == "greedy exclusion" and len(deny) == 2:
        chosen = [False] * len(chosen)
    return _Rewrite(model, DTYPES[dtype], types, chosen, defect).result if any(chosen) else None


class _Rewrite:
    def __init__(self, model, low, types, chosen, defect):
        self.low, self.suffix = low, f"_to_{TensorProto.DataType.Name(low).lower()}"
        self.result = onnx.ModelProto()
        self.result.CopyFrom(model)
        self.graph = self.result.graph
        self.values, self.names = set(types), {n.name for n in model.graph.node}
        inputs = {v.name for v in model.graph.input}
        self.constants = {t.name: t for t in model.graph.initializer if t.name not in inputs}
        self.outputs = {v.name for v in model.graph.output}
        self.own, self.other = {}, {}  # value -> its name in its producer's type, and in the other type
        self.is_low = {name: c for node, c in zip(model.graph.node, chosen) for name in node.output}
        wanted = {(name, c) for node, c in zip(model.graph.node, chosen) for name in node.input if name}
        wanted |= {(name, False) for name in self.outputs}
        self.crossing = {
            name
            for name, c in wanted
            if name not in self.constants and types.get(name) == TensorProto.FLOAT and c != self.is_low.get(name, False)
        }
        nodes = []
        for name in dict.fromkeys([*inputs, *self.is_low]):
            takes_over = name in self.outputs and self.is_low.get(name)
            self.own[name] = self._unique(name + "_low") if takes_over else name
            if name in self.crossing:
                self.other[name] = (
                    name
                    if takes_over
                    else self._unique(name + (self.suffix if not self.is_low.get(name) else "_to_float32"))
                )
        for value in model.graph.input:
            self._cast(value.name, nodes)
        for node, is_low in zip(model.graph.node, chosen):
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            for k, name in enumerate(node.input):
                copy.input[k] = self._read(name, is_low, defect) if name else ""
            for k, name in enumerate(node.output):
                copy.output[k] = self.own.get(name, name)
            if is_low and defect == "wrong wire" and len(node.input) == 2:
                copy.input[0], copy.input[1] = copy.input[1], copy.input[0]
            nodes.append(copy)
            for name in node.output:
                self._cast(name, nodes)
        del self.graph.value_info[:]
        del self.graph.node[:]
        self.graph.node.extend(nodes)
        self._drop_unread(model)

    def _unique(self, name):
        while name in self.values:
            name += "_"
        self.values.add(name)
        return name

    def _cast(self, name, nodes):
        if name in self.crossing:
            label = self.other[name] + "/cast"
            while label in self.names:
                label += "_"
            self.names.add(label)
            to = TensorProto.FLOAT if self.is_low.get(name) else self.low
            nodes.append(helper.make_node("Cast", [self.own[name]], [self.other[name]], name=label, to=to))

    def _read(self, name, is_low, defect):
        if name in self.constants:
            return self._narrowed(name, defect) if is_low else name
        return (
            self.other[name]
            if name in self.crossing and is_low != self.is_low.get(name, False)
            else self.own.get(name, name)
        )

    def _narrowed(self, name, defect):
        if name not in self.other:
            self.other[name] = self._unique(name + self.suffix)
            array = numpy_helper.to_array(self.constants[name])
            array = array + 1 if defect == "wrong weight" else array
            with np.errstate(all="ignore"):
                self.graph.initializer.append(
                    numpy_helper.from_array(np.asarray(array.astype(NUMPY_TYPE[self.low])), self.other[name])
                )
        return self.other[name]

    def _drop_unread(self, model):
        read = (
            {n for node in self.graph.node for n in scopes.reads(node)}
            | self.outputs
            | {v.name for v in model.graph.input}
        )
        read_before = {n for node in model.graph.node for n in scopes.reads(node)}
        kept = [t for t in self.graph.initializer if t.name in read or t.name not in read_before]
        copies = [TensorProto.FromString(t.SerializeToString()) for t in kept]
        del self.graph.initializer[:]
        self.graph.initializer.extend(copies)


def convert_blindly(model, dtype):
    """Makes every float32 weight and constant low, and gives inputs and outputs casts.

    Nobody asks which types the operators in between take.
    """
    low, result = DTYPES[dtype], scopes.without_value_info(model)
    for _, graph in scopes.all_graphs(result.graph):
        tensors = [a.t for n in graph.node if n.op_type == "Constant" for a in n.attribute if a.name == "value"]
        for tensor in [*graph.initializer, *tensors]:
            if tensor.data_type == TensorProto.FLOAT:
                with np.errstate(all="ignore"):
                    tensor.CopyFrom(
                        numpy_helper.from_array(
                            np.asarray(numpy_helper.to_array(tensor).astype(NUMPY_TYPE[low])), tensor.name
                        )
                    )
    graph, nodes = result.graph, [onnx.NodeProto.FromString(n.SerializeToString()) for n in result.graph.node]
    for what, values, to in (("input", graph.input, low), ("output", graph.output, TensorProto.FLOAT)):
        for value in values:
            if value.type.tensor_type.elem_type != TensorProto.FLOAT:
                continue
            inner = f"{value.name}_{what}_cast"
            for node in nodes:
                ports = [node.input] if what == "input" else [node.input, node.output]
                for names in ports:
                    for k, name in enumerate(names):
                        names[k] = inner if name == value.name else name
            ends = [value.name, inner] if what == "input" else [inner, value.name]
            nodes.insert(
                0 if what == "input" else len(nodes),
                helper.make_node("Cast", ends[:1], ends[1:], name=f"{inner}_node", to=to),
            )
    del graph.node[:]
    graph.node.extend(nodes)
    return result


class NaiveTool:
    """Answers `run(arguments)` as tests/judge/tool.py's Tool does."""

    def __init__(self, defect=""):
        self.defect, self.calls = defect, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def run(self, arguments):
        self.calls += 1
        parser = argparse.ArgumentParser()
        parser.add_argument("model")
        parser.add_argument("-o")
        parser.add_argument("--dtype", default="float16")
        parser.add_argument("--deny-node", action="append", default=[])
        known, _ = parser.parse_known_args([str(a) for a in arguments])
        if self.defect == "blind":
            onnx.save(convert_blindly(onnx.load(known.model), known.dtype), known.o)
            return Answer(0, "Converted\n", "")
        model = sort(onnx.load(known.model))
        was_rewritten = model.producer_version == "naive"
        result = None if was_rewritten else rewrite(model, known.dtype, known.deny_node, self.defect)
        if result is not None:
            result.producer_version = "naive"
        elif was_rewritten and self.defect == "not idempotent":
            result = model
            result.doc_string += "."
        if result is None:
            shutil.copyfile(known.model, known.o)
        else:
            onnx.save(result, known.o)
        return Answer(0, "Converted\n", "")
