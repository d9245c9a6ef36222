"""Training in mixed precision."""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
from typing import TYPE_CHECKING, Any, Iterator, NamedTuple, Optional

from . import _arrays, _library, _models, _options, _session

if TYPE_CHECKING:
    from typing import Unpack

    from ._option_types import SessionOptions


class TrainStep(NamedTuple):
    """The outcome of one step.

    Attributes:
        loss: The mean of the batch, not scaled.
        finite: False: a gradient had an infinity or NaN, and the step was skipped: nothing else changed.
        loss_scale: For the next step; 1 without one.
        logits: What the labels were compared with; None where the loss is the model's own.
    """

    loss: float
    finite: bool
    loss_scale: float
    logits: Any

    # A step is equal to itself alone: whether arrays are equal has no one answer.
    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __hash__(self) -> int:
        return id(self)


class Trainer:
    """Runs a step graph again and again, and keeps its state in between: weights, the optimizer's slots, counters.

    A trainer is for one thread at a time.

    Args:
        step: A step graph, as training_step gives it: its result, a path, bytes, or a ModelProto.
        **options: As for Session.

    Example:
        >>> import numpy as np
        >>> import amp_rewrite as amp
        >>> forward = amp.new_model("mlp", [8, 16, 4])
        >>> trainer = amp.Trainer(amp.training_step(forward, optimizer="adam", learning_rate=0.01), threads=1)
        >>> x, labels = np.eye(8, dtype=np.float32), np.arange(8) % 4
        >>> losses = [trainer.step({"x": x, "labels": labels}).loss for _ in range(20)]
        >>> losses[-1] < losses[0]
        True
    """

    def __init__(self, step: Any, **options: Unpack[SessionOptions]) -> None:
        words = _options.to_json("session", options, "Trainer")
        given = _models.Given(getattr(step, "model", step), "step")
        self._forward: Optional[_models.Given] = step._given if getattr(step, "_has_own_forward", False) else None
        place = ctypes.c_void_p()
        context = _library.context()
        if given.path is not None:
            context.call("amp_trainer_new_file", _library.path_bytes(given.path), words, ctypes.byref(place))
        else:
            context.call("amp_trainer_new", _library.as_bytes(given.data or b""), words, ctypes.byref(place))
        self._handle = _session._Handle(place.value, "amp_trainer_free")
        described = json.loads(context.text("amp_trainer_describe", self._handle.pointer))
        self._inputs = [_session._value_info(row) for row in described["inputs"]]
        self._names = _session._Names(described["inputs"])
        self._states: list[str] = described["states"]

    def get_inputs(self) -> list[_session.ValueInfo]:
        """Data and labels: the inputs that step needs."""
        return list(self._inputs)

    def step(self, feeds: _session.Feeds) -> TrainStep:
        """Runs one step on a batch: arrays and tensors (__array__, __dlpack__) by the names of the inputs.

        Raises:
            OptionError: Inputs that do not fit. A step that fails leaves the state as it was.
        """
        pointer = self._pointer()
        inputs = _arrays.Inputs(_session._check_feeds(feeds), self._names.rows)
        done = _library.Step()
        context = _library.context()
        try:
            code = context.library.amp_trainer_step(
                context.pointer, pointer, inputs.address, inputs.count, ctypes.byref(done)
            )
        finally:
            inputs.free()
        if code:
            _session._check(context, code, feeds)
        return TrainStep(done.loss, bool(done.finite), done.loss_scale, _arrays.object_of_output(done.logits))

    def _pointer(self) -> Optional[int]:
        _library.check_process(self._handle.made_at, "trainer")
        return self._handle.pointer

    @property
    def num_steps(self) -> int:
        """Steps that were run, skipped ones included."""
        return int(_library.library().amp_trainer_num_steps(self._pointer()))

    @property
    def learning_rate(self) -> float:
        """The rate of the next step. Setting it has no effect where the model has none."""
        return float(_library.library().amp_trainer_learning_rate(self._pointer()))

    @learning_rate.setter
    def learning_rate(self, rate: float) -> None:
        if not (math.isfinite(rate) and rate >= 0):
            raise ValueError(f"learning_rate: expected a finite number of at least 0, found {rate}")
        _library.library().amp_trainer_set_learning_rate(self._pointer(), float(rate))

    def state_names(self) -> list[str]:
        """Weights, slots of the optimizer, running statistics, loss scale and counters."""
        return list(self._states)

    def state(self, name: str) -> Any:
        """A copy of a state, as an array."""
        output = _library.Output()
        _library.context().call(
            "amp_trainer_state", self._pointer(), _library.text_bytes(name, "name"), ctypes.byref(output)
        )
        return _arrays.object_of_output(output)

    def set_state(self, name: str, value: Any) -> None:
        """Sets a state. Raises OptionError for another type or shape."""
        inputs = _arrays.Inputs({name: _arrays.as_array(value, f"state '{name}'")}, {})
        try:
            _library.context().call("amp_trainer_set_state", self._pointer(), inputs.address)
        finally:
            inputs.free()

    def save_weights(self, path: Any, forward: Any = None, *, force: bool = False, allow_nan: bool = False) -> None:
        """Writes a forward model with the trained weights, atomically.

        Args:
            path: Where.
            forward: The model that the step graph was made of, as for rewrite. None: what training_step was given,
                where the trainer has its result; else the step graph's part up to the logits, taken back to float32.
            force: Replaces files of another kind than models, too.
            allow_nan: Writes weights that have NaN or infinities, which is a RefusedError otherwise.
        """
        with self._forward_path(forward) as forward_bytes:
            _library.context().call(
                "amp_trainer_save_weights",
                self._pointer(),
                _library.path_bytes(path),
                forward_bytes,
                int(force) + 2 * int(allow_nan),
            )

    @contextlib.contextmanager
    def _forward_path(self, forward: Any) -> Iterator[Optional[bytes]]:
        """The path of the forward model; a model in memory is in a file meanwhile."""
        given = self._forward if forward is None else _models.Given(forward, "forward")
        if given is None or given.path is not None:
            yield None if given is None else _library.path_bytes(given.path)
            return
        import pathlib
        import tempfile

        with tempfile.TemporaryDirectory(prefix="amp_rewrite_") as folder:
            file = pathlib.Path(folder) / "forward.onnx"
            file.write_bytes(given.data or b"")
            yield _library.path_bytes(file)

    def checkpoint(self, path: Any, *, note: str = "", force: bool = False, allow_nan: bool = False) -> None:
        """Writes all that resume needs to come to the same numbers, bit for bit. `note` is kept with it.

        `force` and `allow_nan` are as for save_weights."""
        _library.context().call(
            "amp_trainer_save_checkpoint",
            self._pointer(),
            _library.path_bytes(path),
            _library.text_bytes(note, "note"),
            int(force) + 2 * int(allow_nan),
        )

    def resume(self, path: Any) -> str:
        """Goes on from a checkpoint of the same step graph. Returns its note."""
        return _library.context().text("amp_trainer_load_checkpoint", self._pointer(), _library.path_bytes(path))

    def forward(self, forward: Any = None) -> _session.Session:
        """The model that save_weights would write, as a session, for evaluation."""
        place = ctypes.c_void_p()
        with self._forward_path(forward) as forward_bytes:
            _library.context().call("amp_trainer_forward", self._pointer(), forward_bytes, ctypes.byref(place))
        return _session.Session._of_pointer(place.value)

    def fit(self, batches: Any) -> list[TrainStep]:
        """Runs step on each of `batches`, mappings of inputs, and returns what they did."""
        return [self.step(batch) for batch in batches]
