#!/usr/bin/env python3
"""Writes a model of the executor's benchmark, and inputs for it beside the model.

    executor_models.py NAME OUT.onnx    writes OUT.npz, too

NAME is one of:
  mlp_b1, mlp_b8, mlp_b256   784-4096-4096-10, batches of these sizes
  resnet50_b1, resnet50_b16  224 x 224 pictures
  bert_base_s128             12 layers, 768 wide, one sequence of 128 ids
  decode_gpt2                12 layers, 768 wide: one token behind 128 others, whose keys and values are inputs
  lstm_b1                    2 layers of 1024, one sequence of 32

The graphs are those that PyTorch exports in evaluation mode: BatchNormalizations are folded into their Conv, Reshape
and Transpose split the heads, and GELU is Div, Erf, Add, Mul, Mul. The weights are random with a fixed seed. They are
scaled so that values neither grow nor vanish, and float16 holds all of them.
"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET, IR_VERSION = 17, 8
VOCABULARY = 30522


class Graph:
    """Nodes and weights in order. Methods that add a node give the name of its output."""

    def __init__(self):
        self.nodes, self.weights, self.random = [], [], np.random.default_rng(7)

    def constant(self, name, array):
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def normal(self, name, shape, deviation):
        return self.constant(name, self.random.standard_normal(shape, np.float32) * np.float32(deviation))

    def add_many(self, count, op_type, path, *inputs, **attributes):
        name = f"{path}/{op_type}"
        outputs = [f"{name}_output_{i}" for i in range(count)]
        self.nodes.append(helper.make_node(op_type, list(inputs), outputs, name=name, **attributes))
        return outputs

    def add(self, op_type, path, *inputs, **attributes):
        return self.add_many(1, op_type, path, *inputs, **attributes)[0]

    def model(self, name, inputs, output, output_shape, more_outputs=()):
        """`more_outputs`: names and shapes of values that are outputs as they are."""
        self.nodes[-1].output[0] = output
        infos = [
            helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for key, array in inputs.items()
        ]
        outputs = [
            helper.make_tensor_value_info(key, TensorProto.FLOAT, shape)
            for key, shape in [(output, output_shape), *more_outputs]
        ]
        graph = helper.make_graph(self.nodes, name, infos, outputs, self.weights)
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="bench"
        )


def mlp(batch):
    graph, value, widths = Graph(), "x", (784, 4096, 4096, 10)
    for i, (rows, columns) in enumerate(zip(widths, widths[1:])):
        weight = graph.normal(f"fc{i}.weight", (columns, rows), (2 / rows) ** 0.5)
        value = graph.add("Gemm", f"/fc{i}", value, weight, graph.normal(f"fc{i}.bias", (columns,), 0.01), transB=1)
        if columns != widths[-1]:
            value = graph.add("Relu", f"/relu{i}", value)
    inputs = {"x": graph.random.standard_normal((batch, widths[0]), np.float32)}
    return graph.model("mlp", inputs, "logits", [batch, widths[-1]]), inputs


class ResNet:
    """Residual branches add a tenth of the variance of what they are added to, so that sixteen of them do no harm."""

    BLOCKS, BRANCH_GAIN = (3, 4, 6, 3), 0.1

    def __init__(self):
        self.graph = Graph()

    def convolve(self, path, value, channels_in, channels_out, size, stride=1, gain=2.0):
        weight = self.graph.normal(
            f"{path}.weight", (channels_out, channels_in, size, size), (gain / (channels_in * size * size)) ** 0.5
        )
        bias = self.graph.normal(f"{path}.bias", (channels_out,), 0.01)
        return self.graph.add(
            "Conv",
            path,
            value,
            weight,
            bias,
            dilations=[1, 1],
            group=1,
            kernel_shape=[size, size],
            pads=[size // 2] * 4,
            strides=[stride, stride],
        )

    def block(self, path, value, channels_in, width, stride):
        relu = lambda i, x: self.graph.add("Relu", f"{path}/relu{i}", x)
        y = relu(1, self.convolve(f"{path}/conv1", value, channels_in, width, 1))
        y = relu(2, self.convolve(f"{path}/conv2", y, width, width, 3, stride))
        y = self.convolve(f"{path}/conv3", y, width, 4 * width, 1, gain=self.BRANCH_GAIN)
        if channels_in != 4 * width:
            value = self.convolve(f"{path}/downsample", value, channels_in, 4 * width, 1, stride, gain=1.0)
        return relu(3, self.graph.add("Add", path, y, value))

    def model(self, batch):
        graph = self.graph
        value = graph.add("Relu", "/relu", self.convolve("/conv1", "x", 3, 64, 7, stride=2))
        value = graph.add("MaxPool", "/maxpool", value, ceil_mode=0, kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2])
        channels = 64
        for stage, blocks in enumerate(self.BLOCKS):
            width = 64 << stage
            for i in range(blocks):
                value = self.block(f"/layer{stage + 1}.{i}", value, channels, width, 2 if stage and not i else 1)
                channels = 4 * width
        value = graph.add("Flatten", "/flatten", graph.add("GlobalAveragePool", "/avgpool", value), axis=1)
        graph.add(
            "Gemm",
            "/fc",
            value,
            graph.normal("fc.weight", (1000, channels), channels**-0.5),
            graph.normal("fc.bias", (1000,), 0.01),
            transB=1,
        )
        inputs = {"x": graph.random.standard_normal((batch, 3, 224, 224), np.float32)}
        return graph.model("resnet50", inputs, "logits", [batch, 1000]), inputs


class Transformer:
    LAYERS, WIDTH, HEADS, DEVIATION = 12, 768, 12, 0.02

    def __init__(self, length):
        self.graph, self.length = Graph(), length
        self.split = self.graph.constant("split", np.array([1, length, self.HEADS, self.WIDTH // self.HEADS], np.int64))
        self.joined = self.graph.constant("joined", np.array([1, length, self.WIDTH], np.int64))
        numbers = {"scale": (self.WIDTH // self.HEADS) ** 0.5, "root": 2**0.5, "one": 1, "half": 0.5}
        self.numbers = {name: self.graph.constant(name, np.float32(number)) for name, number in numbers.items()}

    def linear(self, path, value, rows, columns):
        product = self.graph.add(
            "MatMul", path, value, self.graph.normal(f"{path}.weight", (rows, columns), self.DEVIATION)
        )
        return self.graph.add("Add", path, self.graph.normal(f"{path}.bias", (columns,), self.DEVIATION), product)

    def norm(self, path, value):
        scale = self.graph.constant(f"{path}.weight", np.ones(self.WIDTH, np.float32))
        bias = self.graph.constant(f"{path}.bias", np.zeros(self.WIDTH, np.float32))
        return self.graph.add("LayerNormalization", path, value, scale, bias, axis=-1, epsilon=1e-12)

    def split_heads(self, path, value, order):
        return self.graph.add("Transpose", path, self.graph.add("Reshape", path, value, self.split), perm=order)

    def attend(self, path, query, key, value):
        """`key` is transposed."""
        add = self.graph.add
        scores = add("Div", f"{path}/scores", add("MatMul", f"{path}/scores", query, key), self.numbers["scale"])
        context = add("MatMul", f"{path}/context", add("Softmax", path, scores, axis=-1), value)
        context = add("Transpose", f"{path}/context", context, perm=[0, 2, 1, 3])
        return add("Reshape", f"{path}/context", context, self.joined)

    def gelu(self, path, value):
        error = self.graph.add("Erf", path, self.graph.add("Div", path, value, self.numbers["root"]))
        product = self.graph.add("Mul", path, value, self.graph.add("Add", path, error, self.numbers["one"]))
        return self.graph.add("Mul", f"{path}/half", product, self.numbers["half"])


class Bert(Transformer):
    def heads(self, path, value, order):
        return self.split_heads(path, self.linear(path, value, self.WIDTH, self.WIDTH), order)

    def attention(self, path, value):
        query, key = self.heads(f"{path}/query", value, [0, 2, 1, 3]), self.heads(f"{path}/key", value, [0, 2, 3, 1])
        context = self.attend(path, query, key, self.heads(f"{path}/value", value, [0, 2, 1, 3]))
        return self.linear(f"{path}/output", context, self.WIDTH, self.WIDTH)

    def model(self):
        graph, width = self.graph, self.WIDTH
        words = graph.add(
            "Gather",
            "/embeddings/words",
            graph.normal("embeddings.words", (VOCABULARY, width), self.DEVIATION),
            "input_ids",
        )
        value = graph.add(
            "Add", "/embeddings", words, graph.normal("embeddings.positions", (1, self.length, width), self.DEVIATION)
        )
        value = self.norm("/embeddings/norm", value)
        for i in range(self.LAYERS):
            path = f"/layer.{i}"
            value = self.norm(
                f"{path}/attention/norm",
                graph.add("Add", f"{path}/attention", self.attention(f"{path}/attention", value), value),
            )
            wide = self.gelu(f"{path}/gelu", self.linear(f"{path}/intermediate", value, width, 4 * width))
            value = self.norm(
                f"{path}/norm", graph.add("Add", path, self.linear(f"{path}/output", wide, 4 * width, width), value)
            )
        inputs = {"input_ids": graph.random.integers(0, VOCABULARY, (1, self.length), np.int64)}
        return graph.model("bert_base", inputs, "last_hidden_state", [1, self.length, width]), inputs


class Gpt2(Transformer):
    """A step of a decoder: norms ahead, one product for queries, keys and values, caches in and out."""

    PAST, VOCABULARY = 128, 50257

    def attention(self, path, value, caches):
        graph, width = self.graph, self.WIDTH
        sizes = graph.constant(f"{path}.sizes", np.full(3, width, np.int64))
        parts = graph.add_many(3, "Split", path, self.linear(f"{path}/qkv", value, width, 3 * width), sizes, axis=-1)
        query, key, value = (
            self.split_heads(f"{path}/{name}", part, [0, 2, 1, 3])
            for name, part in zip(("query", "key", "value"), parts)
        )
        present = [
            graph.add("Concat", f"{path}/{name}", past, now, axis=2)
            for name, past, now in zip(("keys", "values"), caches, (key, value))
        ]
        transposed = graph.add("Transpose", f"{path}/keys", present[0], perm=[0, 1, 3, 2])
        return self.linear(f"{path}/output", self.attend(path, query, transposed, present[1]), width, width), present

    def model(self):
        graph, width, past = self.graph, self.WIDTH, (1, self.HEADS, self.PAST, self.WIDTH // self.HEADS)
        table = graph.normal("embeddings.words", (self.VOCABULARY, width), self.DEVIATION)
        position = graph.normal("embeddings.position", (1, 1, width), self.DEVIATION)
        value = graph.add("Add", "/embeddings", graph.add("Gather", "/embeddings/words", table, "input_ids"), position)
        inputs, presents = {"input_ids": graph.random.integers(0, self.VOCABULARY, (1, 1), np.int64)}, []
        for i in range(self.LAYERS):
            path, caches = f"/layer.{i}", [f"past_{i}.{name}" for name in ("key", "value")]
            inputs |= {name: graph.random.standard_normal(past, np.float32) for name in caches}
            attended, present = self.attention(f"{path}/attention", self.norm(f"{path}/norm1", value), caches)
            presents += present
            value = graph.add("Add", f"{path}/attention", attended, value)
            wide = self.linear(f"{path}/wide", self.norm(f"{path}/norm2", value), width, 4 * width)
            value = graph.add(
                "Add", path, self.linear(f"{path}/narrow", self.gelu(f"{path}/gelu", wide), 4 * width, width), value
            )
        head = graph.normal("head.weight", (width, self.VOCABULARY), self.DEVIATION)
        graph.add("MatMul", "/head", self.norm("/norm", value), head)
        shape = [past[0], past[1], past[2] + 1, past[3]]
        outputs = [(name, shape) for name in presents]
        return graph.model("decode_gpt2", inputs, "logits", [1, 1, self.VOCABULARY], outputs), inputs


def lstm():
    graph, width, length = Graph(), 1024, 32
    value, axes = "x", graph.constant("axes", np.array([1], np.int64))
    for i in range(2):
        weights = [graph.normal(f"lstm{i}.{name}", (1, 4 * width, width), width**-0.5) for name in ("w", "r")]
        bias = graph.normal(f"lstm{i}.bias", (1, 8 * width), 0.01)
        value = graph.add("LSTM", f"/lstm{i}", value, *weights, bias, hidden_size=width)
        value = graph.add("Squeeze", f"/lstm{i}", value, axes)
    inputs = {"x": graph.random.standard_normal((length, 1, width), np.float32)}
    return graph.model("lstm", inputs, "y", [length, 1, width]), inputs


MAKERS = {
    "mlp_b1": lambda: mlp(1),
    "mlp_b8": lambda: mlp(8),
    "mlp_b256": lambda: mlp(256),
    "resnet50_b1": lambda: ResNet().model(1),
    "resnet50_b16": lambda: ResNet().model(16),
    "bert_base_s128": lambda: Bert(128).model(),
    "decode_gpt2": lambda: Gpt2(1).model(),
    "lstm_b1": lstm,
}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in MAKERS:
        sys.exit(__doc__)
    model, inputs = MAKERS[sys.argv[1]]()
    onnx.checker.check_model(model, full_check=True)
    np.savez(pathlib.Path(sys.argv[2]).with_suffix(".npz"), **inputs)
    onnx.save(model, sys.argv[2])


if __name__ == "__main__":
    main()
