"""Running models, and comparing them."""

from __future__ import annotations

import ctypes
import json
import threading
import types
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Optional, Sequence, Union

from . import _arrays, _errors, _library, _models, _options

if TYPE_CHECKING:
    from typing import Unpack

    from ._option_types import SessionOptions

Feeds = Mapping[str, Any]

_ONNX_NAMES = {"float32": "float", "float64": "double", "complex64": "complex64", "complex128": "complex128"}


class ValueInfo(NamedTuple):
    """An input or output of a model.

    Attributes:
        name: Its name.
        type: As ONNX Runtime writes it: "tensor(float)", "seq(tensor(float))" as far as it is known.
        shape: Sizes; names of dimensions that are free; None for those without a name. None as a whole: unknown rank.
        dtype: The element type of a tensor: "float32".
        kind: "tensor", "sequence", "map" or "unknown".
    """

    name: str
    type: str
    shape: Optional[list[Union[int, str, None]]]
    dtype: str
    kind: str


def _value_info(row: Mapping[str, Any]) -> ValueInfo:
    element = f"tensor({_ONNX_NAMES.get(row['dtype'], row['dtype'])})"
    kind = row["kind"]
    text = element if kind == "tensor" else f"seq({element})" if kind == "sequence" else kind
    return ValueInfo(row["name"], text, row["shape"], row["dtype"], kind)


class _Handle:
    """A session or trainer of the library."""

    def __init__(self, pointer: Optional[int], free: str) -> None:
        self.pointer = pointer
        self.made_at = _library.forks()
        self._free = getattr(_library.library(), free)

    def __reduce__(self) -> Any:
        raise TypeError("sessions and trainers cannot be copied or pickled; make one of the model in each process")

    def __del__(self) -> None:
        if (
            getattr(self, "pointer", None) and _library.forks() == self.made_at
        ):  # threads that it would wait for are not here otherwise
            self._free(self.pointer)
        self.pointer = None


class _Names:
    """Names of values as C strings that stay where they are."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._keep = []
        self.rows: dict[str, dict[str, Any]] = {}
        for row in rows:
            text = ctypes.create_string_buffer(row["name"].encode("utf-8", "surrogateescape"))
            self._keep.append(text)
            self.rows[row["name"]] = {**row, "encoded": ctypes.addressof(text)}

    def address(self, name: str) -> int:
        return int(self.rows[name]["encoded"])


class Session:
    """A model that is ready to run, with the interface of onnxruntime.InferenceSession.

    A session may run in several threads at once.

    Args:
        model: A path, bytes, an onnx.ModelProto, an onnx_ir.Model or a RewriteResult.
        **options: The flags of amp-run that say how: threads=2, device="cuda", allow_tf32=True, no_fuse=["chain"].

    Raises:
        ModelError: The model is malformed, or has an operator without a kernel.
        OptionError, LimitError, FileError, DeviceError.

    Example:
        >>> import numpy as np
        >>> import amp_rewrite as amp
        >>> session = amp.Session(amp.new_model("mlp", [8, 16, 4]), threads=1)
        >>> [probabilities] = session.run(None, {"x": np.zeros((2, 8), np.float32)})
        >>> probabilities.shape, session.get_inputs()[0].shape
        ((2, 4), ['batch', 8])
    """

    def __init__(self, model: Any, **options: Unpack[SessionOptions]) -> None:
        words = _options.to_json("session", options, "Session")
        model = getattr(model, "model", model)
        given = _models.Given(model)
        place = ctypes.c_void_p()
        context = _library.context()
        if given.path is not None:
            context.call("amp_session_new_file", _library.path_bytes(given.path), words, ctypes.byref(place))
        else:
            context.call("amp_session_new", _library.as_bytes(given.data or b""), words, ctypes.byref(place))
        self._use(_Handle(place.value, "amp_session_free"))

    @classmethod
    def _of_pointer(cls, pointer: Optional[int]) -> Session:
        session = cls.__new__(cls)
        session._use(_Handle(pointer, "amp_session_free"))
        return session

    def _use(self, handle: _Handle) -> None:
        self._handle = handle
        described = json.loads(_library.context().text("amp_session_describe", handle.pointer))
        self._device: str = described["device"]
        self._inputs = [_value_info(row) for row in described["inputs"]]
        self._outputs = [_value_info(row) for row in described["outputs"]]
        self._input_names = _Names(described["inputs"])
        self._output_names = _Names(described["outputs"])
        self._all_outputs = [self._output_names.address(output.name) for output in self._outputs]
        self._run = _library.library().amp_session_run
        self._local = threading.local()

    def get_inputs(self) -> list[ValueInfo]:
        """The inputs that run needs. Initializers that a caller may override are not among them."""
        return list(self._inputs)

    def get_outputs(self) -> list[ValueInfo]:
        """The outputs, in the model's order."""
        return list(self._outputs)

    @property
    def device(self) -> str:
        """Where it runs: "cpu", "cuda:0"."""
        return self._device

    def run(self, output_names: Optional[Sequence[str]], input_feed: Feeds, run_options: None = None) -> list[Any]:
        """Runs the model.

        Args:
            output_names: The outputs that are wanted; None for all.
            input_feed: The inputs by name: arrays, and what has __array__ or __dlpack__; lists for sequences, dicts for
                maps. Arrays in C order are not copied. An input that no node reads may be left out.

        Returns:
            Arrays (of strings: of objects), lists, dicts, and None for an empty optional.

        Raises:
            OptionError: A name that is none, an input that is missing, or of another type or shape.
            ModelError, LimitError, DeviceError. KeyboardInterrupt: Ctrl-C ends the run.
        """
        if run_options is not None:
            raise TypeError("run_options: expected None; there are none here")
        handle = self._handle
        if _library._forks != handle.made_at:
            _library.check_process(handle.made_at, "session")
        if output_names is not None and type(output_names) is not list:
            if isinstance(output_names, str):
                raise TypeError("output_names: expected a list of names, found a text")
            output_names = list(output_names)
        try:
            plan, self._local.plan = self._local.plan, None  # taken: the handler of a signal may run the session, too
        except AttributeError:
            plan = None
        if plan is not None and plan.output_names == output_names:
            found = plan.run(self._run, handle.pointer, input_feed)
            if found is not None:
                self._local.plan = plan if plan.holds else None
                return found  # type: ignore[no-any-return]
        inputs = _arrays.Inputs(_check_feeds(input_feed), self._input_names.rows)
        outputs = _arrays.Outputs(self._all_outputs if output_names is None else self._addresses(output_names))
        context = _library.context()
        try:
            code = self._run(
                context.pointer, handle.pointer, inputs.address, inputs.count, outputs.address, outputs.count
            )
        finally:
            inputs.free()
        if code:
            _check(context, code, input_feed)
        arrays = outputs.objects()
        self._local.plan = _arrays.RunPlan.make(output_names, input_feed, self._input_names.rows, outputs, arrays)
        return arrays

    def _addresses(self, names: Sequence[str]) -> list[int]:
        for name in names:
            if name not in self._output_names.rows:
                known = ", ".join(repr(known) for known in self._output_names.rows)
                raise _errors.OptionError(f"output '{name}': no such output; there are {known}")
        return [self._output_names.address(name) for name in names]

    def random_inputs(self, *, seed: int = 0, dims: Optional[Mapping[str, int]] = None) -> dict[str, Any]:
        """Makes up inputs of the declared types, and of sizes that the model takes.

        Args:
            seed: The same seed makes the same inputs.
            dims: Sizes of free dimensions, by their name, or by input and axis: {"batch": 8, "x:1": 3}.

        Example:
            >>> import amp_rewrite as amp
            >>> session = amp.Session(amp.new_model("mlp", [8, 16, 4]))
            >>> session.random_inputs(dims={"batch": 3})["x"].shape
            (3, 8)
        """
        outputs = _arrays.Outputs([0] * len(self._inputs))
        words = _options.random_inputs_json(seed, dims)
        _library.check_process(self._handle.made_at, "session")
        _library.context().call(
            "amp_session_random_inputs", self._handle.pointer, words, outputs.address, outputs.count
        )
        made = outputs.objects()
        return {info.name: value for info, value in zip(self._inputs, made)}


def _check_feeds(feeds: Any) -> Feeds:
    if isinstance(feeds, Mapping):
        return feeds
    raise TypeError(f"feeds: expected a dict of arrays by the inputs' names, found {type(feeds).__name__}")


def _check(context: _library.Context, code: int, feeds: Feeds) -> None:
    """Raises what a run failed with."""
    try:
        context.check(code)
    except _errors.OptionError as error:
        raise _arrays.check_float64(error, feeds) from None


class OutputDifference(NamedTuple):
    """How far an output of one model is from that of another.

    Attributes:
        name: The output.
        misfit: Why nothing can be compared: other types or shapes; else "".
        relative_error: L2 norm of the difference divided by that of the first model's output.
        largest_error: Of an element.
        cosine: Of the angle between the two.
        new_non_finite: Elements that are not finite in one alone.
        unequal: Of integers, truth values and strings, how many differ.
        elements, compared: How many there are; floats that are finite in both, and all that are no floats.
        ulps: How many elements differ by how many units in the last place of the type "unit".
    """

    name: str
    elements: int
    compared: int
    misfit: str = ""
    relative_error: float = 0.0
    largest_error: float = 0.0
    cosine: float = 1.0
    new_non_finite: int = 0
    unequal: int = 0
    ulps: Mapping[str, Any] = types.MappingProxyType({})


class Comparison(NamedTuple):
    """How far apart the outputs of two models are.

    Attributes:
        agree: Whether every output is within the tolerance, and nothing is newly not finite.
        tolerance: The relative error that was allowed.
        difference: What differs by more; "" where nothing does.
        outputs: By output.
        first_not_finite, others_first_not_finite: The first values of both models that are not finite; "": none.
    """

    agree: bool
    tolerance: float
    difference: str
    outputs: list[OutputDifference]
    first_not_finite: str = ""
    others_first_not_finite: str = ""


def _session_of(model: Any, options: Mapping[str, Any]) -> Session:
    return model if isinstance(model, Session) else Session(model, **options)


def compare(
    model: Any,
    other: Any,
    feeds: Optional[Feeds] = None,
    *,
    tolerance: Optional[float] = None,
    **options: Unpack[SessionOptions],
) -> Comparison:
    """Runs two models on the same inputs, and says how far apart their outputs are, as `amp-run --compare` does.

    Args:
        model, other: As for Session, or sessions.
        feeds: The inputs; None: made up. Floats are given to `other` in the width that it declares.
        tolerance: The relative L2 error that is allowed: 0.02, or 0.1 where a value of either model is bfloat16.
        **options: As for Session.

    Example:
        >>> import amp_rewrite as amp
        >>> model = amp.new_model("mlp", [8, 16, 4])
        >>> amp.compare(model, amp.rewrite(model).model).agree
        True
    """
    first, second = _session_of(model, options), _session_of(other, options)
    for session in (first, second):
        _library.check_process(session._handle.made_at, "session")
    given = first.random_inputs() if feeds is None else _check_feeds(feeds)
    inputs = _arrays.Inputs(given, first._input_names.rows)
    context = _library.context()
    place = ctypes.c_char_p()
    try:
        code = context.library.amp_compare(
            context.pointer,
            first._handle.pointer,
            second._handle.pointer,
            inputs.address,
            inputs.count,
            _options.tolerance_json(tolerance),
            ctypes.byref(place),
        )
        if code:
            _check(context, code, given)
        found = json.loads((place.value or b"{}").decode("utf-8", "replace"))
    finally:
        inputs.free()
        context.library.amp_context_clear(context.pointer)
    return Comparison(
        agree=found["agree"],
        tolerance=found["tolerance"],
        difference=found["difference"],
        outputs=[OutputDifference(**output) for output in found["outputs"]],
        first_not_finite=found.get("first_not_finite", ""),
        others_first_not_finite=found.get("others_first_not_finite", ""),
    )


def verify(
    model: Any,
    mixed: Any,
    feeds: Optional[Feeds] = None,
    *,
    tolerance: Optional[float] = None,
    **options: Unpack[SessionOptions],
) -> Comparison:
    """Compares a mixed model with its original, every 16-bit rounding applied, and raises where they differ too much.

    Args:
        model, mixed: As for Session.
        feeds, tolerance, **options: As for compare.

    Raises:
        VerificationError: An output differs by more than the tolerance, or is newly not finite.
    """
    exact: Any = {**options, "no_fuse": ["all"]}
    found = compare(model, mixed, feeds, tolerance=tolerance, **exact)
    if not found.agree:
        raise _errors.VerificationError(found.difference)
    return found
