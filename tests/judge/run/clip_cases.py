"""Clip with and without bounds on infinities and NaN, for side_by_side.py: (name, model, feeds)."""

import numpy as np
from onnx import TensorProto, helper

TYPES = {
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "float64": TensorProto.DOUBLE,
    "int32": TensorProto.INT32,
    "int8": TensorProto.INT8,
}


def values(dtype):
    if np.dtype(dtype).kind == "i":
        return np.array([np.iinfo(dtype).min, -3, 0, 3, np.iinfo(dtype).max], dtype)
    largest = np.finfo(dtype).max
    return np.array([np.nan, np.inf, -np.inf, largest, -largest, 1, -1, 0, 5, -5], dtype)


def has_kernel(opset, dtype, low, high):
    """In onnxruntime."""
    if opset == 6 and low is not None and high is not None and low > high:
        return False
    return dtype in (np.float32, np.float16) or opset >= 12


def cases():
    for opset in (6, 11, 12, 13):
        for dtype in (np.float32, np.float16, np.float64, np.int32, np.int8):
            for low, high in ((None, None), (-2, None), (None, 2), (-2, 2), (2, -2)):
                if not has_kernel(opset, dtype, low, high):
                    continue
                bounds = {
                    name: np.array(value, dtype) for name, value in (("low", low), ("high", high)) if value is not None
                }
                x, element = values(dtype), TYPES[np.dtype(dtype).name]
                names = ["x", "low" if low is not None else "", "high" if high is not None else ""]
                if opset == 6:
                    attributes = {
                        name: float(value) for name, value in (("min", low), ("max", high)) if value is not None
                    }
                    node, bounds = helper.make_node("Clip", ["x"], ["y"], **attributes), {}
                else:
                    node = helper.make_node("Clip", names, ["y"])
                given = [
                    helper.make_tensor_value_info(name, element, value.shape)
                    for name, value in (("x", x), *bounds.items())
                ]
                graph = helper.make_graph([node], "g", given, [helper.make_tensor_value_info("y", element, x.shape)])
                model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
                yield f"clip {np.dtype(dtype).name} opset {opset} [{low}, {high}]", model, {"x": x, **bounds}


DIFFERS = {}
