"""Models in the kinds that callers have them in: paths, bytes, ModelProto of onnx, Model of onnx_ir."""

from __future__ import annotations

import os
import sys
from typing import Any, Optional

from . import _errors


class Given:
    """A model as it was given, and how to give one back in the same kind.

    Attributes:
        path: Where it lies; None for a model in memory.
        data: Its bytes; None for a path.
    """

    def __init__(self, model: Any, what: str = "model") -> None:
        self.path: Optional[str] = None
        self.data: Optional[bytes] = None
        self.kind: Any = bytes  # or a class of protobuf, or None for onnx_ir
        if isinstance(model, (str, os.PathLike)):
            self.path = os.fspath(model)
        elif isinstance(model, (bytes, bytearray, memoryview)):
            self.data = bytes(model)
        elif hasattr(model, "SerializeToString") and hasattr(model, "ParseFromString"):
            self.data = _serialize(model)
            self.kind = type(model)
        elif _is_onnx_ir(model):
            self.data = _serialize(_proto_of_onnx_ir(model))
            self.kind = None
        else:
            raise TypeError(
                f"{what}: expected a path, bytes, an onnx.ModelProto or an onnx_ir.Model, found {type(model).__name__}"
            )

    def wrap(self, data: bytes) -> Any:
        """Makes the kind of model that was given, of bytes."""
        if self.kind is bytes:
            return data
        return _onnx_ir_model(data) if self.kind is None else _parse(self.kind, data)


def _proto_of_onnx_ir(model: Any) -> Any:
    """A ModelProto with the weights inside, which onnx_ir leaves in files."""
    import onnx_ir

    proto = onnx_ir.serde.serialize_model(model)
    external = 1  # of TensorProto.DataLocation
    for tensor in proto.graph.initializer:
        if tensor.data_location == external:
            tensor.raw_data = model.graph.initializers[tensor.name].const_value.tobytes()
            tensor.ClearField("data_location")
            tensor.ClearField("external_data")
    return proto


def _serialize(proto: Any) -> bytes:
    try:
        return bytes(proto.SerializeToString())
    except Exception as error:  # protobuf's own EncodeError, ValueError by version
        raise _errors.LimitError(
            "a model in memory has at most 2147483647 bytes, which is protobuf's limit; "
            "write it with external data, and use rewrite_file"
        ) from error


def _parse(kind: Any, data: bytes) -> Any:
    proto = kind()
    proto.ParseFromString(data)
    return proto


def _is_onnx_ir(model: Any) -> bool:
    onnx_ir = sys.modules.get("onnx_ir")
    return onnx_ir is not None and isinstance(model, onnx_ir.Model)


def _onnx_ir_model(data: bytes) -> Any:
    import onnx
    import onnx_ir

    proto = onnx.ModelProto()
    proto.ParseFromString(data)
    return onnx_ir.serde.deserialize_model(proto)
