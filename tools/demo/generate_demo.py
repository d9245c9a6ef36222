#!/usr/bin/env python3
"""Writes demo.onnxtxt beside this script: the demo model with seeded weights. Needs NumPy.

The model is a small image classifier of the usual parts: a convolutional stem, patches, one transformer block whose
patches see only earlier patches, and a classifier. The attention mask is made as exporters make it, (1 - keep) * lowest
float32. In float16 that constant is -Inf, 0 * -Inf is NaN, and so is everything after it unless a converter leaves
those nodes alone.
"""

import pathlib

import numpy as np

CHANNELS, TOKENS, WIDTH, HEADS, HIDDEN, CLASSES = 16, 16, 32, 2, 64, 10
rng = np.random.default_rng(17)


def normal(*shape, scale):
    return rng.normal(0, scale, shape)


def dense(rows, columns):
    return normal(rows, columns, scale=rows**-0.5)


def tensor_text(name, values, kind="float"):
    values = np.asarray(values)
    dims = f"[{','.join(map(str, values.shape))}]" if values.ndim else ""
    digits = ",".join(f"{v:.3f}".rstrip("0").rstrip(".") if kind == "float" else str(v) for v in values.ravel())
    return f"{kind}{dims} {name} = {{{digits}}}".replace("{-0,", "{0,").replace(",-0,", ",0,")


def norm(name):
    return {f"{name}_scale": 1 + normal(WIDTH, scale=0.1), f"{name}_bias": normal(WIDTH, scale=0.1)}


weights = {
    "stem_weight": normal(CHANNELS, 3, 3, 3, scale=0.2),
    "bn_scale": 1 + normal(CHANNELS, scale=0.1),
    "bn_bias": normal(CHANNELS, scale=0.1),
    "bn_mean": normal(CHANNELS, scale=0.1),
    "bn_var": 1 + np.abs(normal(CHANNELS, scale=0.2)),
    "patch_weight": normal(WIDTH, CHANNELS, 2, 2, scale=0.12),
    "patch_bias": normal(WIDTH, scale=0.1),
    "positions": normal(TOKENS, WIDTH, scale=0.3),
    **norm("ln1"),
    "query_weight": dense(WIDTH, WIDTH),
    "key_weight": dense(WIDTH, WIDTH),
    "value_weight": dense(WIDTH, WIDTH),
    "attention_weight": dense(WIDTH, WIDTH),
    "attention_bias": normal(WIDTH, scale=0.1),
    **norm("ln2"),
    "up_weight": dense(WIDTH, HIDDEN),
    "up_bias": normal(HIDDEN, scale=0.1),
    "down_weight": dense(HIDDEN, WIDTH),
    "down_bias": normal(WIDTH, scale=0.1),
    **norm("ln3"),
    "head_weight": dense(WIDTH, CLASSES),
    "head_bias": normal(CLASSES, scale=0.1),
    "keep": np.tril(np.ones((1, 1, TOKENS, TOKENS))),
    "one": 1.0,
    "half": 0.5,
    "scale": (WIDTH // HEADS) ** -0.5,
}
integers = {
    "sequence_shape": [0, WIDTH, TOKENS],
    "heads_shape": [0, TOKENS, HEADS, WIDTH // HEADS],
    "merged_shape": [0, TOKENS, WIDTH],
}
initializers = [tensor_text(n, v) for n, v in weights.items()]
initializers += [tensor_text(n, v, "int64") for n, v in integers.items()]
initializers += ["float lowest = {-3.4028235e38}", "float root_two = {1.4142135}"]

NODES = """
   ["/stem/Conv"] stem = Conv <pads = [1,1,1,1], strides = [2,2]> (image, stem_weight)
   ["/stem/BatchNormalization"] stem_bn = BatchNormalization <epsilon = 1e-5> (stem, bn_scale, bn_bias, bn_mean, bn_var)
   ["/stem/Relu"] stem_relu = Relu (stem_bn)
   ["/stem/MaxPool"] stem_pool = MaxPool <kernel_shape = [2,2], strides = [2,2]> (stem_relu)
   ["/patches/Conv"] patches = Conv <strides = [2,2]> (stem_pool, patch_weight, patch_bias)
   ["/patches/Reshape"] patches_flat = Reshape (patches, sequence_shape)
   ["/patches/Transpose"] sequence = Transpose <perm = [0,2,1]> (patches_flat)
   ["/patches/Add"] tokens = Add (sequence, positions)

   ["/block/norm1"] norm1 = LayerNormalization (tokens, ln1_scale, ln1_bias)
   ["/block/query/MatMul"] query = MatMul (norm1, query_weight)
   ["/block/query/Reshape"] query_split = Reshape (query, heads_shape)
   ["/block/query/Transpose"] query_heads = Transpose <perm = [0,2,1,3]> (query_split)
   ["/block/key/MatMul"] key = MatMul (norm1, key_weight)
   ["/block/key/Reshape"] key_split = Reshape (key, heads_shape)
   ["/block/key/Transpose"] key_heads = Transpose <perm = [0,2,3,1]> (key_split)
   ["/block/value/MatMul"] value = MatMul (norm1, value_weight)
   ["/block/value/Reshape"] value_split = Reshape (value, heads_shape)
   ["/block/value/Transpose"] value_heads = Transpose <perm = [0,2,1,3]> (value_split)
   ["/block/scores/MatMul"] scores = MatMul (query_heads, key_heads)
   ["/block/scores/Mul"] scaled = Mul (scores, scale)
   ["/block/mask/Sub"] hidden_places = Sub (one, keep)
   ["/block/mask/Mul"] mask = Mul (hidden_places, lowest)
   ["/block/mask/Add"] masked = Add (scaled, mask)
   ["/block/Softmax"] attention = Softmax <axis = -1> (masked)
   ["/block/context/MatMul"] context = MatMul (attention, value_heads)
   ["/block/context/Transpose"] context_split = Transpose <perm = [0,2,1,3]> (context)
   ["/block/context/Reshape"] context_flat = Reshape (context_split, merged_shape)
   ["/block/out/MatMul"] attended = MatMul (context_flat, attention_weight)
   ["/block/out/Add"] attended_bias = Add (attended, attention_bias)
   ["/block/residual1"] residual1 = Add (tokens, attended_bias)

   ["/mlp/norm2"] norm2 = LayerNormalization (residual1, ln2_scale, ln2_bias)
   ["/mlp/up/MatMul"] up = MatMul (norm2, up_weight)
   ["/mlp/up/Add"] up_bias_added = Add (up, up_bias)
   ["/mlp/gelu/Div"] gelu_in = Div (up_bias_added, root_two)
   ["/mlp/gelu/Erf"] gelu_erf = Erf (gelu_in)
   ["/mlp/gelu/Add"] gelu_gate = Add (gelu_erf, one)
   ["/mlp/gelu/Mul"] gelu_product = Mul (up_bias_added, gelu_gate)
   ["/mlp/gelu/Mul_1"] gelu = Mul (gelu_product, half)
   ["/mlp/down/MatMul"] down = MatMul (gelu, down_weight)
   ["/mlp/down/Add"] down_bias_added = Add (down, down_bias)
   ["/mlp/residual2"] residual2 = Add (residual1, down_bias_added)

   ["/head/norm3"] norm3 = LayerNormalization (residual2, ln3_scale, ln3_bias)
   ["/head/ReduceMean"] pooled = ReduceMean <axes = [1], keepdims = 0> (norm3)
   ["/head/Gemm"] logits = Gemm (pooled, head_weight, head_bias)
   ["/head/Softmax"] probabilities = Softmax <axis = -1> (logits)
"""

text = f"""# Written by generate_demo.py; weights are seeded noise.
<
   ir_version: 8,
   opset_import: ["" : 17],
   producer_name: "amp-rewrite demo"
>
demo (float[batch,3,32,32] image) => (float[batch,{CLASSES}] probabilities)
<
   {("," + chr(10) + "   ").join(initializers)}
>
{{{NODES}}}
"""
pathlib.Path(__file__).with_name("demo.onnxtxt").write_text(text)
