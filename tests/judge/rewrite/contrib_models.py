"""One small model for every operator with a built-in signature: signatures.py rewrites, loads and runs them.

A case lists the operator's inputs by port, None for an absent one:

    x(2, 4)   a float32 graph input      w(4, 3)   a float32 initializer      ints(...)   an initializer of another type
"""

import dataclasses

import numpy as np
from onnx import TensorProto, helper, numpy_helper

# The registry gives these no float32: there is nothing to rewrite.
NO_FLOAT32 = {
    ("com.microsoft", "PagedAttention"): "16 bits alone",
    ("com.microsoft", "GemmaRotaryEmbedding"): "16 bits alone",
}


@dataclasses.dataclass
class Port:
    shape: tuple = ()
    values: object = None  # of an initializer
    is_input: bool = False


def x(*shape):
    return Port(shape, is_input=True)


def w(*shape, low=-1.0):
    seed = sum((i + 1) * d for i, d in enumerate(shape))
    return Port(shape, np.random.default_rng(seed).uniform(low, 1, shape).astype(np.float32))


def ints(values, dtype=np.int32):
    return Port(values=np.array(values, dtype))


@dataclasses.dataclass
class Case:
    operator: str
    inputs: list
    outputs: str = "f"  # by port: f float32, . absent, i int32, l int64, b bool, u uint32
    attributes: dict = dataclasses.field(default_factory=dict)
    domain: str = "com.microsoft"

    @property
    def label(self):
        return f"{self.domain}::{self.operator}" if self.domain else self.operator

    def model(self):
        types = {
            "f": TensorProto.FLOAT,
            "i": TensorProto.INT32,
            "l": TensorProto.INT64,
            "b": TensorProto.BOOL,
            "u": TensorProto.UINT32,
        }
        names = ["" if port is None else f"in{i}" for i, port in enumerate(self.inputs)]
        outs = ["" if kind == "." else f"out{i}" for i, kind in enumerate(self.outputs)]
        node = helper.make_node(self.operator, names, outs, name="node", domain=self.domain, **self.attributes)
        given = [
            helper.make_tensor_value_info(n, TensorProto.FLOAT, p.shape)
            for n, p in zip(names, self.inputs)
            if p and p.is_input
        ]
        constants = [numpy_helper.from_array(p.values, n) for n, p in zip(names, self.inputs) if p and not p.is_input]
        results = [
            helper.make_value_info(n, helper.make_tensor_type_proto(types[kind], None))
            for n, kind in zip(outs, self.outputs)
            if n
        ]
        graph = helper.make_graph([node], "g", given, results, constants)
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8
        )

    def feeds(self):
        random = np.random.default_rng(0)
        return {
            f"in{i}": random.uniform(-1, 1, p.shape).astype(np.float32)
            for i, p in enumerate(self.inputs)
            if p and p.is_input
        }


def _matrix_work():
    yield Case("FusedConv", [x(1, 2, 5, 5), w(3, 2, 3, 3), w(3)], attributes={"activation": "Relu"})
    yield Case("NhwcConv", [x(1, 5, 5, 2), w(3, 3, 3, 2), w(3)])
    yield Case("NhwcFusedConv", [x(1, 5, 5, 2), w(3, 2, 3, 3), w(3)], attributes={"activation": "Relu"})
    yield Case("ConvTransposeWithDynamicPads", [x(1, 2, 4, 4), w(2, 3, 3, 3), ints([0, 0, 0, 0], np.int64), w(3)])
    yield Case("FusedGemm", [x(2, 4), w(4, 3), w(3)], attributes={"activation": "Relu"})
    yield Case("FusedMatMul", [x(2, 4), w(4, 3)], attributes={"alpha": 0.5})
    yield Case("FusedMatMulActivation", [x(2, 4), w(4, 3)], attributes={"activation": "Relu"})
    yield Case("TransposeMatMul", [x(2, 4), w(4, 3)])
    yield Case("GemmFastGelu", [x(1, 2, 4), w(4, 3), w(3)])
    packed = np.random.default_rng(1).integers(0, 255, (3, 1, 16))
    yield Case(
        "MatMulNBits",
        [x(2, 32), ints(packed, np.uint8), w(3)],
        attributes={"K": 32, "N": 3, "bits": 4, "block_size": 32},
    )
    yield Case(
        "MatMulBnb4",
        [x(2, 32), ints(packed.ravel(), np.uint8), w(6)],
        attributes={"K": 32, "N": 3, "block_size": 16, "quant_type": 1},
    )
    yield Case(
        "MoE", [x(2, 8), x(2, 2), w(2, 16, 8), None, w(2, 8, 16), None], attributes={"k": 1, "activation_type": "relu"}
    )


def _attention():
    heads = {"num_heads": 2}
    yield Case("Attention", [x(1, 2, 8), w(8, 24), w(24)], attributes=heads)
    yield Case("MultiHeadAttention", [x(1, 2, 8), x(1, 2, 8), x(1, 2, 8), w(24)], attributes=heads)
    no = ints([False], bool)
    yield Case(
        "DecoderAttention",
        [x(2, 1, 8), x(2, 1, 8), w(8, 8), w(8, 16), w(24), None, None, None, no, no, no, no],
        "fff",
        heads,
    )
    yield Case(
        "DecoderMaskedSelfAttention",
        [x(1, 1, 8), w(8, 24), w(24), None, x(2, 1, 2, 3, 4), None, ints([2])],
        "ff",
        {**heads, "past_present_share_buffer": 1},
    )
    yield Case("DecoderMaskedMultiHeadAttention", [x(1, 1, 8), x(1, 1, 8), x(1, 1, 8)], "f", heads)
    yield Case("PackedAttention", [x(2, 8), w(8, 24), w(24), ints([[0, 1]]), ints([0, 2])], attributes=heads)
    yield Case(
        "PackedMultiHeadAttention", [x(2, 8), x(2, 8), x(2, 8), w(24), ints([[0, 1]]), ints([0, 2])], attributes=heads
    )
    yield Case(
        "GroupQueryAttention",
        [x(1, 1, 32), x(1, 1, 16), x(1, 1, 16), x(1, 1, 3, 16), x(1, 1, 3, 16), ints([3]), ints(4)],
        "fff",
        {"num_heads": 2, "kv_num_heads": 1},
    )
    rows, columns = ints([[0, 1]]), ints([[0]])
    cache = [x(1, 1, 16, 16), x(1, 1, 16, 16)]
    yield Case(
        "SparseAttention",
        [x(1, 16, 16), x(1, 16, 16), x(1, 16, 16), *cache, rows, columns, ints([16]), ints([16])],
        "fff",
        {"num_heads": 1, "kv_num_heads": 1, "sparse_block_size": 16},
    )
    yield Case(
        "LongformerAttention",
        [x(1, 4, 8), w(8, 24), w(24), x(1, 4), w(8, 24), w(24), ints([[0, 0, 0, 0]])],
        attributes={"num_heads": 2, "window": 2},
    )
    linear = {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear"}
    yield Case("LinearAttention", [x(1, 2, 8), x(1, 2, 8), x(1, 2, 8)], "ff", linear)
    yield Case("LinearAttention", [x(1, 2, 8), x(1, 2, 8), x(1, 2, 8), x(1, 2, 4, 4)], "ff", linear)


def _activations():
    yield Case("BiasAdd", [x(1, 4, 320), w(320), x(1, 4, 320)])
    yield Case("BiasGelu", [x(2, 4), w(4)])
    yield Case("FastGelu", [x(2, 4), w(4)])
    yield Case("Gelu", [x(2, 4)])
    yield Case("QuickGelu", [x(2, 4)])
    yield Case("BiasSplitGelu", [x(1, 2, 2560), w(2560)])
    yield Case("BiasDropout", [x(2, 4), w(4), x(2, 4), w(low=0.0)], "fb")
    yield Case("BitmaskDropout", [x(2, 4)], "fu")
    yield Case("BitmaskBiasDropout", [x(2, 4), w(4)], "fu")
    yield Case("GatedAdd", [x(2, 8), x(2, 8), x(2, 1)])
    yield Case("RotaryEmbedding", [x(1, 2, 16), ints([[0, 1]], np.int64), w(4, 8), w(4, 8)])
    yield Case(
        "MRotaryEmbedding",
        [x(1, 2, 16), ints([[[0, 1]], [[0, 1]], [[0, 1]]], np.int64), w(4, 8), w(4, 8)],
        attributes={"mrope_section": [2, 3, 3], "num_heads": 1},
    )
    yield Case("GridSample", [x(1, 1, 4, 4), x(1, 3, 3, 2)])


def _normalisation():
    yield Case("SkipLayerNormalization", [x(1, 2, 8), x(1, 2, 8), w(8), w(8), w(8)], "f..f")
    yield Case("SkipSimplifiedLayerNormalization", [x(1, 2, 8), x(1, 2, 8), w(8), w(8)], "f..f")
    yield Case("SimplifiedLayerNormalization", [x(1, 2, 8), w(8)], attributes={"axis": -1}, domain="")
    yield Case("EmbedLayerNormalization", [ints([[1, 2]]), ints([[0, 1]]), w(5, 8), w(4, 8), w(2, 8), w(8), w(8)], "fi")
    groups = {"groups": 32, "activation": 0, "channels_last": 1}
    yield Case("GroupNorm", [x(1, 4, 4, 320), w(320), w(320)], attributes=groups)
    yield Case("SkipGroupNorm", [x(1, 4, 4, 320), w(320), w(320), x(1, 4, 4, 320), w(320)], "ff", groups)
    yield Case("GatedRMSNorm", [x(2, 8), w(8), x(2, 8)])
    yield Case(
        "RelativePositionBias", [x(4, 2), ints([2], np.int64), ints([2], np.int64)], attributes={"max_distance": 8}
    )
    yield Case(
        "GatedRelativePositionBias",
        [x(1, 2, 16), w(16), x(1, 2, 2, 2), w(8, 8), w(8), w(1, 2, 1, 1)],
        attributes={"num_heads": 2},
    )


def _transforms():
    yield Case("BiasSoftmax", [x(2, 8), x(2, 8)], attributes={"axis": 1, "is_inner_broadcast": 1})
    yield Case("CDist", [x(2, 4), w(3, 4)], attributes={"metric": "euclidean"})
    yield Case("Rfft", [x(1, 8)], attributes={"signal_ndim": 1, "normalized": 0, "onesided": 1})
    yield Case("Irfft", [x(1, 5, 2)], attributes={"signal_ndim": 1, "normalized": 0, "onesided": 1})
    yield Case("Inverse", [x(2, 2)])
    yield Case("ComplexMul", [x(1, 4, 2), x(1, 4, 2)])
    yield Case("ComplexMulConj", [x(1, 4, 2), x(1, 4, 2)])


def _moves():
    yield Case("ExpandDims", [x(2, 3), ints(1)])
    yield Case("Pad", [x(2, 3), ints([0, 1, 1, 0], np.int64)])
    yield Case("Trilu", [x(3, 3)])
    yield Case("GatherND", [x(2, 3), ints([[0], [1]], np.int64)])
    yield Case("Unique", [x(4)], "fll")
    yield Case("UnfoldTensor", [x(2, 6)], attributes={"size": 2, "step": 2, "dim": -1})
    yield Case("TorchEmbedding", [x(5, 4), ints([1, 3], np.int64)])
    yield Case("RemovePadding", [x(1, 2, 8), ints([2])], "fiii")
    yield Case("RestorePadding", [x(2, 8), ints([[0, 1]])])


def cases():
    for family in (_matrix_work, _attention, _activations, _normalisation, _transforms, _moves):
        yield from family()
