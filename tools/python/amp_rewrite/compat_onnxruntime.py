"""The function of onnxruntime.transformers.float16 under its name, with its parameters and defaults.

from amp_rewrite.compat_onnxruntime import convert_float_to_float16
"""

from __future__ import annotations

import os
from typing import Any, Optional, Union

from . import compat


def convert_float_to_float16(
    model: Any,
    min_positive_val: float = 5.96e-08,
    max_finite_val: float = 65504.0,
    keep_io_types: Union[bool, list[str]] = False,
    disable_shape_infer: bool = False,
    op_block_list: Optional[list[str]] = None,
    node_block_list: Optional[list[str]] = None,
    force_fp16_initializers: bool = False,
    force_fp16_inputs: Optional[dict[str, list[int]]] = None,
    use_bfloat16_as_blocked_nodes_dtype: bool = False,
) -> Any:
    """onnxruntime.transformers.float16.convert_float_to_float16: a model to one in float16.

    Args:
        model: An onnx.ModelProto, or the path of a model.
        keep_io_types: Inputs and outputs stay float32; or the names of those that do.
        op_block_list: Operators that stay float32, besides those that have to.
        node_block_list: Names of nodes that stay float32.
        Others: Without effect here, with a warning that says why.
    """
    if isinstance(model, (str, os.PathLike)):
        model = compat._load(model)
    compat.warn_of_values(min_positive_val, max_finite_val, (5.96e-08, 65504.0))
    compat.warn_of_inference(disable_shape_infer)
    compat._warn_of_autocast(
        {
            "force_fp16_initializers": (
                force_fp16_initializers,
                False,
                "weights are low where their readers are, and the error allows it (max_weight_error)",
            ),
            "force_fp16_inputs": (force_fp16_inputs or {}, {}, "an operator has one type here (allow_node)"),
            "use_bfloat16_as_blocked_nodes_dtype": (
                use_bfloat16_as_blocked_nodes_dtype,
                False,
                "nodes are float16 or float32; dtype='bfloat16' makes the others bfloat16",
            ),
        }
    )
    options = {
        "dtype": "float16",
        "deny": compat.operators_to_deny(model, op_block_list or ()),
        "deny_node": compat.node_names(model, node_block_list or ()),
    }
    return compat.rewrite_proto(model, keep_io_types, options)
