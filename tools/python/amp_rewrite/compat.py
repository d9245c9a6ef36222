"""Functions of other converters under their names, with their parameters and defaults.

    from amp_rewrite.compat import convert_float_to_float16      # for: from onnxconverter_common.float16 import ...

    convert_float_to_float16, convert_float_to_float16_model_path, auto_convert_mixed_precision   onnxconverter-common
    convert_to_mixed_precision, convert_to_f16                                                    ModelOpt's AutoCast

`amp_rewrite.compat_onnxruntime` has the function of onnxruntime.transformers.float16, whose parameters differ. All of
them take and give an onnx.ModelProto. Nodes that float16 would spoil stay float32 in any case. A parameter that cannot
mean the same here is an AmpWarning that says why. Where inputs and outputs are not kept, all float32 ones become
16-bit, as there.
"""

from __future__ import annotations

import os
import re
import warnings
from typing import Any, Callable, Iterable, Iterator, Optional

from . import _errors, _rewrite, _session

__all__ = [
    "auto_convert_mixed_precision",
    "convert_float_to_float16",
    "convert_float_to_float16_model_path",
    "convert_to_f16",
    "convert_to_mixed_precision",
]

_LOW_NAMES = {"fp16": "float16", "bf16": "bfloat16"}
_FLOAT, _FLOAT16, _BFLOAT16 = 1, 10, 16  # TensorProto.DataType


def _say(why: str) -> None:
    warnings.warn(why, _errors.AmpWarning, stacklevel=4)


def _graphs(model: Any) -> Iterator[Any]:
    stack = [model.graph]
    while stack:
        graph = stack.pop()
        yield graph
        for node in graph.node:
            for attribute in node.attribute:
                stack += [attribute.g] if attribute.HasField("g") else []
                stack += attribute.graphs


def _nodes(model: Any) -> Iterator[Any]:
    for graph in _graphs(model):
        yield from graph.node
    for function in model.functions:
        yield from function.node


def operators_to_deny(model: Any, types: Iterable[str]) -> list[str]:
    """Names the operators of these types that the model has, as --deny takes them. Others have nothing to say here."""
    wanted = set(types)
    found = {(node.domain, node.op_type) for node in _nodes(model) if node.op_type in wanted}
    return sorted(f"{domain}::{name}" if domain not in ("", "ai.onnx") else name for domain, name in found)


def node_names(model: Any, names: Iterable[str]) -> list[str]:
    """Selects the names of nodes."""
    wanted = set(names)
    return sorted({node.name for node in _nodes(model) if node.name and node.name in wanted})


def _matching_names(model: Any, patterns: Iterable[str]) -> list[str]:
    compiled = [re.compile(pattern) for pattern in patterns]
    return sorted({node.name for node in _nodes(model) if node.name and any(p.match(node.name) for p in compiled)})


def _load(path: Any) -> Any:
    import onnx

    return onnx.load(path)


def _rename(graph: Any, names: dict[str, str]) -> None:
    """Renames values of an outer graph in a body: what the body defines itself hides them."""
    own = {value.name for value in (*graph.input, *graph.initializer)}
    own |= {tensor.values.name for tensor in graph.sparse_initializer}
    own |= {name for node in graph.node for name in node.output}
    seen = {name: new for name, new in names.items() if name not in own}
    if not seen:
        return
    for node in graph.node:
        _rename_uses(node, seen)
    for value in graph.output:
        value.name = seen.get(value.name, value.name)


def _rename_uses(node: Any, names: dict[str, str]) -> None:
    for i, name in enumerate(node.input):
        node.input[i] = names.get(name, name)
    for attribute in node.attribute:
        for body in [attribute.g] if attribute.HasField("g") else attribute.graphs:
            _rename(body, names)


def _all_names(model: Any) -> set[str]:
    names: set[str] = set()
    for graph in _graphs(model):
        names |= {value.name for value in (*graph.input, *graph.output, *graph.initializer, *graph.value_info)}
        names |= {tensor.values.name for tensor in graph.sparse_initializer}
        names |= {name for node in graph.node for name in (*node.input, *node.output)}
    return names


def low_inputs_and_outputs(model: Any, low: int, kept: Iterable[str] = ()) -> Any:
    """The model with every float32 input and output of the type `low`, but for those that are kept: casts are added.

    A rewrite makes those low alone that a low operator reads or gives; other converters make all of them so. An output
    that is an initializer keeps its type, and an input that is an output stays one value."""
    from onnx import helper

    graph, taken = model.graph, _all_names(model)
    constants = {tensor.name for tensor in graph.initializer}
    constants |= {tensor.values.name for tensor in graph.sparse_initializer}
    keep = constants | set(kept)

    def wide(name: str) -> str:
        candidate = f"{name}_amp_float32"
        while candidate in taken:
            candidate += "_"
        taken.add(candidate)
        return candidate

    def wanted(values: Any) -> list[str]:
        return [v.name for v in values if v.type.tensor_type.elem_type == _FLOAT and v.name not in keep]

    inputs = {name: wide(name) for name in dict.fromkeys(wanted(graph.input))}
    outputs = {name: wide(name) for name in dict.fromkeys(wanted(graph.output)) if name not in inputs}
    names = {**inputs, **outputs}
    if not names:
        return model
    for node in graph.node:
        _rename_uses(node, names)
        for i, name in enumerate(node.output):
            node.output[i] = outputs.get(name, name)
    for value in (*graph.input, *graph.output):
        if value.name in names:
            value.type.tensor_type.elem_type = low
    opset = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), None)
    if opset is None:
        opset = 13
        model.opset_import.append(helper.make_opsetid("", opset))
    by_name = {_FLOAT: "FLOAT", _FLOAT16: "FLOAT16", _BFLOAT16: "BFLOAT16"}
    first_with_numbers = 6  # of Cast

    def cast(source: str, target: str, to: int) -> Any:
        return helper.make_node("Cast", [source], [target], to=to if opset >= first_with_numbers else by_name[to])

    before = [cast(name, inputs[name], _FLOAT) for name in inputs]
    after = [cast(outputs[name], name, low) for name in outputs]
    nodes = [*before, *graph.node, *after]
    del graph.node[:]
    graph.node.extend(nodes)
    return model


def rewrite_proto(model: Any, keep_io_types: Any, options: dict[str, Any]) -> Any:
    """A rewrite of a ModelProto, with inputs and outputs as other converters have them.

    keep_io_types: a bool, or a list of names."""
    names = None if isinstance(keep_io_types, bool) or keep_io_types is None else list(keep_io_types)
    kept: Any = "all" if keep_io_types is True else "none" if not names else names
    result = _rewrite._rewrite(model, None, {"keep_io": kept, **options}, "rewrite")
    _rewrite._warn(result, 4)
    if kept == "all":
        return result.model
    low = _BFLOAT16 if options.get("dtype") == "bfloat16" else _FLOAT16
    return low_inputs_and_outputs(result.model, low, names or ())


def has_float16(model: Any) -> bool:
    """Whether an input or output is float16 already."""
    return any(value.type.tensor_type.elem_type == _FLOAT16 for value in (*model.graph.input, *model.graph.output))


def warn_of_values(min_positive_val: float, max_finite_val: float, usual: tuple[float, float]) -> None:
    """Bounds of values mean something else here."""
    if (min_positive_val, max_finite_val) != usual:
        _say(
            "min_positive_val and max_finite_val have no effect: constants are rounded, never clipped, and nodes whose "
            "constants float16 cannot hold stay float32 (guards, max_weight_error)"
        )


def warn_of_inference(disable_shape_infer: bool) -> None:
    if disable_shape_infer:
        _say("disable_shape_infer has no effect: what is low is decided by inferred types and shapes")


def convert_float_to_float16(
    model: Any,
    min_positive_val: float = 1e-7,
    max_finite_val: float = 1e4,
    keep_io_types: bool = False,
    disable_shape_infer: bool = False,
    op_block_list: Optional[list[str]] = None,
    node_block_list: Optional[list[str]] = None,
    check_fp16_ready: bool = True,
) -> Any:
    """onnxconverter_common.float16.convert_float_to_float16: a ModelProto to one in float16.

    Args:
        model: An onnx.ModelProto.
        min_positive_val, max_finite_val, disable_shape_infer: Without effect here, with a warning.
        keep_io_types: Inputs and outputs stay float32.
        op_block_list: Operators that stay float32, besides those that have to.
        node_block_list: Names of nodes that stay float32.
        check_fp16_ready: Raises ValueError for a model that has float16 inputs or outputs already.
    """
    if isinstance(model, (str, os.PathLike)):
        model = _load(model)
    if check_fp16_ready and has_float16(model):
        raise ValueError("the model has float16 inputs or outputs already; check_fp16_ready=False converts it again")
    warn_of_values(min_positive_val, max_finite_val, (1e-7, 1e4))
    warn_of_inference(disable_shape_infer)
    options = {
        "dtype": "float16",
        "deny": operators_to_deny(model, op_block_list or ()),
        "deny_node": node_names(model, node_block_list or ()),
    }
    return rewrite_proto(model, bool(keep_io_types), options)


def convert_float_to_float16_model_path(
    model_path: Any, min_positive_val: float = 1e-7, max_finite_val: float = 1e4, keep_io_types: bool = False
) -> Any:
    """onnxconverter_common.float16.convert_float_to_float16_model_path: the same of a file."""
    return convert_float_to_float16(_load(model_path), min_positive_val, max_finite_val, keep_io_types)


def _float16_feeds(feeds: dict[str, Any]) -> dict[str, Any]:
    import numpy as np

    return {name: x.astype(np.float16) if x.dtype == np.float32 else x for name, x in feeds.items()}


def auto_convert_mixed_precision(
    model: Any,
    feed_dict: dict[str, Any],
    validate_fn: Optional[Callable[[list[Any], list[Any]], bool]] = None,
    rtol: Optional[float] = None,
    atol: Optional[float] = None,
    keep_io_types: bool = False,
) -> Any:
    """onnxconverter_common.auto_mixed_precision.auto_convert_mixed_precision: keeps float32 what the check needs.

    What leaves float16's range on `feed_dict` stays float32 at once; where the check fails even so, nodes are sought by
    halves. Models run in this package's executor, every rounding applied.

    Args:
        model: An onnx.ModelProto.
        feed_dict: Inputs by name, float32.
        validate_fn: Of the outputs of both models, whether they agree.
        rtol, atol: As numpy.allclose has them.
        keep_io_types: Inputs and outputs stay float32.

    Raises:
        ValueError: Neither a function nor a tolerance; or the check fails whatever stays float32.
    """
    import numpy as np

    rtol = 1e-5 if rtol is None and atol is not None else rtol
    atol = 1e-8 if atol is None and rtol is not None else atol
    if rtol is None and validate_fn is None:
        raise ValueError("Argument `validate_fn` and `rtol` cannot both be `None`.")

    def agrees(expected: list[Any], found: list[Any]) -> bool:
        if validate_fn is not None and not validate_fn(expected, found):
            return False
        return rtol is None or all(np.allclose(a, b, rtol, atol or 0.0) for a, b in zip(expected, found))

    expected = _session.Session(model, no_fuse=["all"]).run(None, feed_dict)
    if not agrees(expected, expected):
        raise ValueError("validation failed for original fp32 model")

    def attempt(denied: list[str]) -> tuple[bool, Any]:
        options = {"dtype": "float16", "calibration": [feed_dict], "deny_node": denied, "verify": "off"}
        mixed = rewrite_proto(model, bool(keep_io_types), options)
        feeds = feed_dict if keep_io_types else _float16_feeds(feed_dict)
        return agrees(expected, _session.Session(mixed, no_fuse=["all"]).run(None, feeds)), mixed

    report = _rewrite._rewrite(model, None, {"calibration": [feed_dict], "verify": "off"}, "rewrite").report
    low = [node["path"] for node in report["nodes"] if node["low"]]
    is_right, mixed = attempt([])
    if is_right:
        return mixed
    if not attempt(low)[0]:
        raise ValueError("validation failed for final fp16 model")
    segments, denied = [low], set(low)
    while segments:  # the largest first: low again, if the check then holds
        segments.sort(key=len)
        segment = segments.pop()
        fewer = denied - set(segment)
        if attempt(sorted(fewer))[0]:
            denied = fewer
        elif len(segment) > 1:
            middle = len(segment) // 2
            segments += [segment[:middle], segment[middle:]]
    return attempt(sorted(denied))[1]


def _warn_of_autocast(words: dict[str, tuple[Any, Any, str]]) -> None:
    for name, (value, usual, why) in words.items():
        if value != usual:
            _say(f"{name} has no effect: {why}")


_OF_TENSORRT = "the result is an ONNX model for any runtime; operators of other domains need op_signature"


def convert_to_mixed_precision(
    onnx_path: str,
    low_precision_type: str = "fp16",
    nodes_to_exclude: Optional[list[str]] = None,
    op_types_to_exclude: Optional[list[str]] = None,
    nodes_to_include: Optional[list[str]] = None,
    op_types_to_include: Optional[list[str]] = None,
    data_max: float = 512,
    init_max: float = 65504.0,
    keep_io_types: bool = False,
    calibration_data: Optional[str] = None,
    custom_rule: Any = None,
    init_conversion_max_bytes: Optional[int] = None,
    providers: list[str] = ["cpu"],  # the defaults of the original
    trt_plugins: list[str] = [],
    trt_plugins_precision: list[str] = [],
    max_depth_of_reduction: Optional[int] = None,
    opset: Optional[int] = None,
    use_standalone_type_inference: bool = False,
) -> Any:
    """modelopt.onnx.autocast.convert_to_mixed_precision: the model of a file to one in mixed precision.

    Args:
        onnx_path: Of the model.
        low_precision_type: "fp16" or "bf16".
        nodes_to_exclude, nodes_to_include: Regular expressions of names of nodes that stay float32, or become low.
        op_types_to_exclude, op_types_to_include: Operators that stay float32, or become low.
        keep_io_types: Inputs and outputs stay float32.
        calibration_data: An .npz archive of inputs: what leaves the type's range on it stays float32.
        opset: The result's.
        Others: Without effect here, with a warning that says why.
    """
    if low_precision_type not in _LOW_NAMES:
        raise ValueError(f"low_precision_type: expected 'fp16' or 'bf16', found {low_precision_type!r}")
    model = _load(onnx_path)
    _warn_of_autocast(
        {
            "data_max": (data_max, 512, "values are judged by the type's range and by what readers need (calibration)"),
            "init_max": (float(init_max), 65504.0, "weights are judged by their rounding error (max_weight_error)"),
            "custom_rule": (custom_rule, None, "rules are lists of operators and nodes (deny, deny_node, lists)"),
            "init_conversion_max_bytes": (init_conversion_max_bytes, None, "use weights='cast' to keep all of them"),
            "providers": (list(providers), ["cpu"], "the model runs in this package's executor"),
            "trt_plugins": (list(trt_plugins), [], _OF_TENSORRT),
            "trt_plugins_precision": (list(trt_plugins_precision), [], _OF_TENSORRT),
            "max_depth_of_reduction": (max_depth_of_reduction, None, "products accumulate in float32"),
            "use_standalone_type_inference": (use_standalone_type_inference, False, "types are inferred here"),
        }
    )
    options: dict[str, Any] = {
        "dtype": _LOW_NAMES[low_precision_type],
        "deny_node": _matching_names(model, nodes_to_exclude or ()),
        "deny": operators_to_deny(model, op_types_to_exclude or ()),
        "allow_node": _matching_names(model, nodes_to_include or ()),
        "allow": operators_to_deny(model, op_types_to_include or ()),
        "opset": opset,
    }
    if calibration_data is not None:
        options["calibration"] = [os.fspath(calibration_data)]
    return rewrite_proto(model, bool(keep_io_types), options)


def convert_to_f16(
    model: Any,
    low_precision_type: str = "fp16",
    keep_io_types: bool = True,
    op_block_list: list[str] = [],  # the defaults of the original
    tensor_block_dict: dict[str, dict[str, list[int]]] = {},
    trt_plugins: Optional[list[str]] = [],
    use_standalone_type_inference: bool = False,
    opset: Optional[int] = None,
) -> Any:
    """modelopt.onnx.autocast.convert_to_f16: a ModelProto to one in mixed precision.

    Args:
        model: An onnx.ModelProto.
        low_precision_type: "fp16" or "bf16".
        keep_io_types: Inputs and outputs stay float32.
        op_block_list: Operators that stay float32.
        tensor_block_dict: Operators one of whose inputs or outputs stays float32: the whole operator does, here.
        trt_plugins, use_standalone_type_inference: Without effect here, with a warning.
        opset: The result's.
    """
    if low_precision_type not in _LOW_NAMES:
        raise ValueError(f"low_precision_type: expected 'fp16' or 'bf16', found {low_precision_type!r}")
    if tensor_block_dict:
        _say("tensor_block_dict keeps whole operators float32: an operator has one type here")
    _warn_of_autocast(
        {
            "trt_plugins": (list(trt_plugins or ()), [], _OF_TENSORRT),
            "use_standalone_type_inference": (use_standalone_type_inference, False, "types are inferred here"),
        }
    )
    options = {
        "dtype": _LOW_NAMES[low_precision_type],
        "deny": operators_to_deny(model, [*op_block_list, *tensor_block_dict]),
        "opset": opset,
    }
    return rewrite_proto(model, bool(keep_io_types), options)
