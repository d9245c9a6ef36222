"""Models and folders that the tests of the Python package share.

The environment variable AMP_REWRITE_LIBRARY names a library to test; without it the one in the package is taken.
"""

import os
import pathlib

import amp_rewrite as amp

SHARED = pathlib.Path(os.environ.get("AMP_SHARED", pathlib.Path(__file__).resolve().parents[4] / "shared"))


def mlp(layers=(8, 16, 4)):
    return amp.new_model("mlp", list(layers))


def named(node):
    import onnx

    return onnx.helper.make_model(
        onnx.helper.make_graph(
            [node],
            "g",
            [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n"])],
            [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n"])],
        ),
        opset_imports=[onnx.helper.make_opsetid("", 17)],
        ir_version=8,
    )
