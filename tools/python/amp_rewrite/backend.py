"""A backend for ONNX's own tests: onnx.backend.base.Backend.

import amp_rewrite.backend
import onnx.backend.test

cases = onnx.backend.test.BackendTest(amp_rewrite.backend, __name__)
"""

from __future__ import annotations

from typing import Any, Optional, Sequence

import onnx
from onnx import helper, numpy_helper
from onnx.backend.base import Backend, BackendRep, Device, DeviceType, namedtupledict

from . import _session


class AmpBackendRep(BackendRep):
    """A prepared model."""

    def __init__(self, session: _session.Session) -> None:
        self._session = session

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Runs on inputs in the model's order, or by name."""
        names = [info.name for info in self._session.get_inputs()]
        feeds = inputs if isinstance(inputs, dict) else dict(zip(names, inputs))
        outputs = [info.name for info in self._session.get_outputs()]
        return tuple(namedtupledict("Outputs", outputs)(*self._session.run(None, feeds)))


class AmpBackend(Backend):
    """Runs models and nodes in this package's executor."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> AmpBackendRep:
        """Makes a session. `device`: "CPU" or "CUDA:0"."""
        chosen = Device(device)
        name = "cpu" if chosen.type == DeviceType.CPU else f"cuda:{chosen.device_id}"
        return AmpBackendRep(_session.Session(model, device=name, **kwargs))

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        """Prepares and runs."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Optional[Sequence[Any]] = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Runs one node: a model of it alone is made."""
        names = list(dict.fromkeys(name for name in node.input if name))
        given = inputs if isinstance(inputs, dict) else dict(zip([name for name in node.input if name], inputs))
        arrays = [given[name] for name in names]
        values = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in zip(names, arrays)
        ]
        results = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = helper.make_graph([node], "node", values, results)
        opset = kwargs.pop("opset_version", onnx.defs.onnx_opset_version())
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(node.domain, opset)])
        return cls.run_model(onnx.shape_inference.infer_shapes(model), dict(zip(names, arrays)), device, **kwargs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether a session can run there."""
        chosen = Device(device)
        if chosen.type == DeviceType.CPU:
            return True
        try:
            identity = helper.make_node("Identity", ["x"], ["y"])
            cls.run_node(identity, [numpy_helper.to_array(onnx.TensorProto(data_type=1, dims=[0]))], device)
        except Exception:  # whatever the reason, it does not
            return False
        return True


prepare = AmpBackend.prepare
run_model = AmpBackend.run_model
run_node = AmpBackend.run_node
supports_device = AmpBackend.supports_device
