"""Tests of the Python package: decoders, token by token.

python -m unittest decoders_test, with the package and the library found, as package_cases.py says. Two decoders with
made-up weights, one as onnxruntime-genai's model builder writes it, one as optimum exports GPT-2, give onnxruntime's
tokens. Outputs of one step are inputs of the next.
"""

import unittest

import amp_rewrite as amp
import numpy as np

LAYERS, HEADS, KEY_HEADS, SIZE, WORDS, TOKENS = 2, 4, 2, 16, 97, 50
WIDTH = HEADS * SIZE
PROMPT = np.array([[5, 17, 3, 88, 41]], "int64")


class Graph:
    """Nodes and weights of a model in the making."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights = [], []

    def weight(self, *shape, scale=None):
        name = f"weight_{len(self.weights)}"
        scale = shape[0] ** -0.5 if scale is None else scale
        return self.constant(name, (self.random.normal(size=shape) * scale).astype("float32"))

    def constant(self, name, array):
        from onnx import numpy_helper

        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def ints(self, *numbers):
        return self.constant(f"ints_{len(self.weights)}", np.array(numbers, "int64"))

    def add(self, operator, inputs, outputs=1, domain="", **attributes):
        from onnx import helper

        names = outputs if isinstance(outputs, list) else [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(
            helper.make_node(operator, inputs, names, f"{operator}_{len(self.nodes)}", domain=domain, **attributes)
        )
        return names[0] if len(names) == 1 else names

    def contrib(self, operator, inputs, outputs=1, **attributes):
        return self.add(operator, inputs, outputs, "com.microsoft", **attributes)

    def linear(self, x, inputs, outputs, bias=False):
        y = self.add("MatMul", [x, self.weight(inputs, outputs)])
        return self.add("Add", [y, self.weight(outputs, scale=0.1)]) if bias else y

    def model(self, given):
        from onnx import TensorProto, helper

        caches = [f"{kind}.{layer}" for layer in range(LAYERS) for kind in ("key", "value")]
        heads = given.pop("heads")
        inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, dims) for name, dims in given.items()]
        inputs += [
            helper.make_tensor_value_info(f"past.{name}", TensorProto.FLOAT, ["b", heads, "past", SIZE])
            for name in caches
        ]
        outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["b", "s", WORDS])]
        outputs += [
            helper.make_tensor_value_info(f"present.{name}", TensorProto.FLOAT, ["b", heads, "total", SIZE])
            for name in caches
        ]
        graph = helper.make_graph(self.nodes, "decoder", inputs, outputs, self.weights)
        imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()


def genai():
    """GroupQueryAttention with rotary embedding inside, norms that add a residual, a gated MLP."""
    g = Graph(1)
    angles = np.arange(64)[:, None] / 100.0 ** (np.arange(SIZE // 2) / (SIZE // 2))
    cosines, sines = (
        g.constant("cos_cache", np.cos(angles, dtype="f4")),
        g.constant("sin_cache", np.sin(angles, dtype="f4")),
    )
    lengths = g.add("ReduceSum", ["attention_mask", g.ints(1)], keepdims=0)
    last = g.add("Cast", [g.add("Sub", [lengths, g.ints(1)])], to=6)
    total = g.add("Gather", [g.add("Shape", ["attention_mask"]), g.constant("one", np.array(1, "int64"))], axis=0)
    total = g.add("Cast", [total], to=6)
    residual = g.add("Gather", [g.weight(WORDS, WIDTH, scale=1.0), "input_ids"])
    x = g.add(
        "SimplifiedLayerNormalization", [residual, g.constant("norm", np.ones(WIDTH, "f4"))], epsilon=1e-5, axis=-1
    )
    for layer in range(LAYERS):
        q = g.linear(x, WIDTH, WIDTH)
        k, v = (g.linear(x, WIDTH, KEY_HEADS * SIZE) for _ in range(2))
        inputs = [q, k, v, f"past.key.{layer}", f"past.value.{layer}", last, total, cosines, sines]
        y = g.contrib(
            "GroupQueryAttention",
            inputs,
            [f"attended_{layer}", f"present.key.{layer}", f"present.value.{layer}"],
            num_heads=HEADS,
            kv_num_heads=KEY_HEADS,
            do_rotary=1,
        )[0]
        x, residual = skip_norm(g, residual, g.linear(y, WIDTH, WIDTH))
        gate, up = g.linear(x, WIDTH, 128), g.linear(x, WIDTH, 128)
        gated = g.add("Mul", [g.add("Mul", [gate, g.add("Sigmoid", [gate])]), up])
        x, residual = skip_norm(g, residual, g.linear(gated, 128, WIDTH))
    g.add("MatMul", [x, g.weight(WIDTH, WORDS, scale=1.0)], ["logits"])
    return g.model({"input_ids": ["b", "s"], "attention_mask": ["b", "total"], "heads": KEY_HEADS})


def skip_norm(g, residual, x):
    y = f"norm_{len(g.nodes)}"
    g.contrib(
        "SkipSimplifiedLayerNormalization",
        [residual, x, g.constant(f"gamma_{y}", np.ones(WIDTH, "f4"))],
        [y, "", "", f"sum_{y}"],
        epsilon=1e-5,
    )
    return y, f"sum_{y}"


def optimum():
    """GPT-2: attention written out, caches that Concat makes, a mask of the positions."""
    g = Graph(2)
    words = g.add("Gather", [g.weight(WORDS, WIDTH, scale=1.0), "input_ids"])
    x = g.add("Add", [words, g.add("Gather", [g.weight(64, WIDTH, scale=0.3), "position_ids"])])
    total = g.add("Shape", ["attention_mask"], start=1, end=2)
    keys = g.add(
        "Range",
        [g.constant("zero", np.array(0, "i8")), g.add("Squeeze", [total]), g.constant("one", np.array(1, "i8"))],
    )
    ahead = g.add(
        "Greater", [g.add("Unsqueeze", [keys, g.ints(0, 1)]), g.add("Unsqueeze", ["position_ids", g.ints(2)])]
    )
    lowest = g.constant("lowest", np.array(np.finfo("f4").min))
    mask = g.add("Where", [g.add("Unsqueeze", [ahead, g.ints(1)]), lowest, g.constant("nothing", np.array(0, "f4"))])
    for layer in range(LAYERS):
        y = norm(g, x)
        parts = g.add("Split", [g.linear(y, WIDTH, 3 * WIDTH, bias=True)], 3, axis=2, num_outputs=3)
        q, k, v = (
            g.add("Transpose", [g.add("Reshape", [part, g.ints(0, 0, HEADS, SIZE)])], perm=[0, 2, 1, 3])
            for part in parts
        )
        k = g.add("Concat", [f"past.key.{layer}", k], [f"present.key.{layer}"], axis=2)
        v = g.add("Concat", [f"past.value.{layer}", v], [f"present.value.{layer}"], axis=2)
        scores = g.add("MatMul", [q, g.add("Transpose", [k], perm=[0, 1, 3, 2])])
        scores = g.add("Mul", [scores, g.constant(f"scale_{layer}", np.array(SIZE**-0.5, "f4"))])
        mixed = g.add("MatMul", [g.add("Softmax", [g.add("Add", [scores, mask])], axis=-1), v])
        joined = g.add("Reshape", [g.add("Transpose", [mixed], perm=[0, 2, 1, 3]), g.ints(0, 0, WIDTH)])
        x = g.add("Add", [x, g.linear(joined, WIDTH, WIDTH, bias=True)])
        y = g.add("Gelu", [g.linear(norm(g, x), WIDTH, 128, bias=True)], approximate="tanh")
        x = g.add("Add", [x, g.linear(y, 128, WIDTH, bias=True)])
    g.add("MatMul", [norm(g, x), g.weight(WIDTH, WORDS, scale=1.0)], ["logits"])
    inputs = {"input_ids": ["b", "s"], "attention_mask": ["b", "total"], "position_ids": ["b", "s"], "heads": HEADS}
    return g.model(inputs)


def norm(g, x):
    return g.add("LayerNormalization", [x, g.weight(WIDTH, scale=1.0), g.weight(WIDTH, scale=0.1)], axis=-1)


def generate(session):
    """Returns the likeliest tokens, and by how much each is likelier than the next."""
    given = {value.name: value for value in session.get_inputs()}
    caches = [name for name in given if name.startswith("past")]
    dtype = "float16" if "float16" in given[caches[0]].type else "float32"
    feeds = {name: np.zeros((1, given[name].shape[1], 0, SIZE), dtype) for name in caches}
    step, count, tokens, margins = PROMPT, 0, [], []
    names = [value.name for value in session.get_outputs()]
    for _ in range(TOKENS):
        feeds["input_ids"] = step
        feeds["attention_mask"] = np.ones((1, count + step.shape[1]), "int64")
        if "position_ids" in given:
            feeds["position_ids"] = np.arange(count, count + step.shape[1], dtype="int64")[None]
        found = dict(zip(names, session.run(None, feeds)))
        count += step.shape[1]
        logits = np.asarray(found["logits"], "float32")[0, -1]
        order = np.argsort(logits)
        tokens.append(int(order[-1]))
        margins.append(logits[order[-1]] - logits[order[-2]])
        feeds = {name: found[name.replace("past", "present")] for name in caches}
        step = np.array([[tokens[-1]]], "int64")
    return tokens, margins


class Decoders(unittest.TestCase):
    def test_tokens_are_those_of_onnxruntime(self):
        import onnxruntime

        for make in (genai, optimum):
            model = make()
            low = amp.rewrite(model, dtype="float16", keep_io="none").model
            for kind, bytes_ in (("float32", model), ("float16", low)):
                with self.subTest(decoder=make.__name__, dtype=kind):
                    peer = onnxruntime.InferenceSession(bytes_, providers=["CPUExecutionProvider"])
                    expected, margins = generate(peer)
                    found, _ = generate(amp.Session(bytes_))
                    self.assertGreater(len(set(expected)), 5)
                    self.assertEqual(found, expected, margins)


if __name__ == "__main__":
    unittest.main()
