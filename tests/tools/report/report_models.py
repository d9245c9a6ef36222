"""Makes models for reports: blocks with scopes in their names, and names that a page must not take for its own text."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH = 4
HOSTILE = [
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "<!--<script>",
    "\"'`${window.hacked = 1}",
    "javascript:window.hacked=1",
    "line\nbreak\rand\ttab",
    "bell\x07 and escape\x1b[31m",
    "\u202eright to left\u202c \u05e9\u05dc\u05d5\u05dd",
    "=cmd|' /C calc'!A0",
    "a/b//c/../d",
    "__proto__",
    "constructor/toString",
    "x" * 100_000,
]


def save(nodes, weights, path):
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", WIDTH])
    graph = helper.make_graph(nodes, "g", [value("x")], [value(nodes[-1].output[0])], weights)
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, path)
    return path


def weight(name, seed=0):
    numbers = np.random.default_rng(seed).standard_normal((WIDTH, WIDTH), np.float32)
    return numpy_helper.from_array(numbers, name)


def blocks(num_nodes, path):
    """A decoder of equal blocks of ten nodes, with a Softmax and a Mul that a guard keeps float32."""
    operators = ["MatMul", "Relu", "MatMul", "Softmax", "MatMul", "Add", "Sigmoid", "Mul", "MatMul", "Relu"]
    nodes, last = [], "x"
    weights = [weight("w"), numpy_helper.from_array(np.full(1, 1e-12, np.float32), "tiny")]
    for i in range(num_nodes):
        block, k = divmod(i, len(operators))
        scope = f"/decoder/layer.{block}/{'attention' if k < 5 else 'mlp'}"
        name = f"{scope}/{operators[k]}_{k}"
        second = {"MatMul": ["w"], "Add": [f"skip_{block}"], "Mul": ["tiny"]}.get(operators[k], [])
        nodes.append(helper.make_node(operators[k], [last, *second], [f"{name}_out"], name=name))
        if k == 0:
            nodes[-1].output[0] = f"skip_{block}"
        last = nodes[-1].output[0]
    return save(nodes, weights, path)


def flat(num_nodes, path):
    """A chain of nodes without scopes in their names."""
    nodes, last = [], "x"
    for i in range(num_nodes):
        operator = ("MatMul", "Relu", "Sigmoid")[i % 3 if i % 7 else 1]
        second = ["w"] if operator == "MatMul" else []
        nodes.append(helper.make_node(operator, [last, *second], [f"y{i}"], name=f"{operator}_{i}"))
        last = f"y{i}"
    return save(nodes, [weight("w")], path)


def loop(path):
    """A loop whose body has two nodes in a row, in which a carried value goes round."""
    value = lambda name, kind, dims: helper.make_tensor_value_info(name, kind, dims)
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go_on"], ["goes_on"], name="goes_on"),
            helper.make_node("MatMul", ["before", "w"], ["product"], name="product"),
            helper.make_node("Tanh", ["product"], ["after"], name="tanh"),
        ],
        "body",
        [
            value("i", TensorProto.INT64, []),
            value("go_on", TensorProto.BOOL, []),
            value("before", TensorProto.FLOAT, ["N", WIDTH]),
        ],
        [value("goes_on", TensorProto.BOOL, []), value("after", TensorProto.FLOAT, ["N", WIDTH])],
    )
    nodes = [helper.make_node("Loop", ["rounds", "", "x"], ["y"], name="rounds_of_tanh", body=body)]
    return save(nodes, [weight("w"), numpy_helper.from_array(np.array(3, np.int64), "rounds")], path)


def constant(path):
    """No node that a graph would draw."""
    nodes = [helper.make_node("Constant", [], ["y"], value=numpy_helper.from_array(np.ones((1, WIDTH), np.float32)))]
    return save(nodes, [], path)


def hostile(path):
    """Every kind of name is hostile: those of nodes, values and weights."""
    nodes, weights, last = [], [], "x"
    for i, name in enumerate(HOSTILE):
        weights.append(weight(f"{name}{i}", i))
        nodes.append(helper.make_node("MatMul", [last, f"{name}{i}"], [f"{name}.{i}"], name=name))
        last = f"{name}.{i}"
    return save(nodes, weights, path)
