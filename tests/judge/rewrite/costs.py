"""The bytes that a model moves when it runs: its activations, its weights, and casts between float32 and 16 bits.

A cast counts the bytes that it reads and writes. Sizes are those of a real run on the given inputs. Activations and
casts count in the main graph alone, with functions inlined, as nothing tells how often a body runs. `costs(model,
feeds)` takes a float32 model or a rewritten one.
"""

import dataclasses

import numpy as np
from onnx import TensorProto

from judge import rounding, scopes
from judge.inlining import inlined
from judge.scopes import LOW_TYPES

BYTES = {TensorProto.FLOAT: 4, TensorProto.FLOAT16: 2, TensorProto.BFLOAT16: 2}


@dataclasses.dataclass
class Costs:
    casts: int = 0  # between float32 and 16 bits, in all scopes
    cast_bytes: int = 0  # read and written by those of the main graph
    activation_bytes: int = 0  # of all results of the main graph in float32 or 16 bits, those of casts included
    weight_bytes: int = 0  # of initializers and Constant nodes, all scopes


def is_type_cast(node, types):
    kinds = {types.get(node.input[0]), types.get(node.output[0])} if node.op_type == "Cast" and node.input else set()
    return TensorProto.FLOAT in kinds and bool(kinds & LOW_TYPES)


def costs(model, feeds):
    """Runs the model on these inputs and counts.

    REQUIRES: onnxruntime runs the model, or, where it has 16-bit types, its widened form.
    """
    stated, found = inlined(model), Costs()
    graphs = scopes.typed_graphs(stated, strict=False, guess=True)
    for _, graph, types in graphs:
        found.casts += sum(is_type_cast(n, types) for n in graph.node)
        found.weight_bytes += sum(_tensor_bytes(t) for t in graph.initializer)
        found.weight_bytes += sum(
            _tensor_bytes(a.t) for n in graph.node if n.op_type == "Constant" for a in n.attribute if a.name == "value"
        )
    _, graph, types = graphs[0]
    wide = rounding.widen(model, rounding=False).model
    shown, _ = rounding.expose(wide, scopes.typed_graphs(wide, strict=False, guess=True)[0][2])
    elements = {
        name: np.size(array) for name, array in rounding.run(shown, feeds).items() if not isinstance(array, list)
    }
    elements |= {name: np.size(array) for name, array in feeds.items() if not isinstance(array, list)}
    elements |= {t.name: int(np.prod(t.dims)) for t in graph.initializer}
    size = lambda name: elements.get(name, 0) * BYTES.get(types.get(name), 0)
    for node in graph.node:
        if node.op_type != "Constant":
            found.activation_bytes += sum(size(name) for name in node.output)
        if is_type_cast(node, types):
            found.cast_bytes += size(node.input[0]) + size(node.output[0])
    return found


def _tensor_bytes(tensor):
    return int(np.prod(tensor.dims)) * BYTES.get(tensor.data_type, 0)
