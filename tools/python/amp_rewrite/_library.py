"""The C interface (amp_c.h) by ctypes: loading the library, contexts, errors."""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from ctypes import POINTER, byref, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t, c_void_p
from typing import Any, Callable, Generator, Optional, Union

from . import _errors

ABI = 1

CancelCall = ctypes.CFUNCTYPE(c_int, c_void_p)


class Bytes(ctypes.Structure):
    """AmpBytes."""

    _fields_ = [("data", c_void_p), ("size", c_size_t)]


class Progress(ctypes.Structure):
    """AmpProgress."""

    _fields_ = [("user", c_void_p), ("step", c_char_p), ("done", c_int64), ("total", c_int64)]


ProgressCall = ctypes.CFUNCTYPE(c_int, POINTER(Progress))


class Decision(ctypes.Structure):
    """AmpDecision."""

    _fields_ = [("user", c_void_p), ("summary", c_char_p), ("report", c_void_p)]


DecisionCall = ctypes.CFUNCTYPE(c_int, POINTER(Decision))


class Metric(ctypes.Structure):
    """AmpMetric."""

    _fields_ = [("user", c_void_p), ("model", c_char_p), ("value", c_double)]


MetricCall = ctypes.CFUNCTYPE(c_int, POINTER(Metric))


class Tensor(ctypes.Structure):
    """AmpTensor."""

    _fields_ = [
        ("data", c_void_p),
        ("shape", c_void_p),
        ("strides", c_void_p),
        ("dtype", c_int32),
        ("rank", c_int32),
    ]


class Input(ctypes.Structure):
    """AmpInput."""

    _fields_ = [("name", c_char_p), ("tensor", Tensor), ("value", c_void_p)]


class Output(ctypes.Structure):
    """AmpOutput."""

    _fields_ = [("name", c_char_p), ("value", c_void_p), ("tensor", Tensor), ("kind", c_int32)]


class Step(ctypes.Structure):
    """AmpStep."""

    _fields_ = [("loss", c_float), ("loss_scale", c_float), ("finite", c_int32), ("logits", Output)]


# Functions that return an AmpCode and take a context first: what they take behind it.
_CODES: dict[str, list[Any]] = {
    "amp_options_schema": [c_char_p, POINTER(c_char_p)],
    "amp_rewrite": [Bytes, c_char_p, POINTER(Bytes), POINTER(c_char_p), POINTER(c_void_p)],
    "amp_rewrite_file": [c_char_p, c_char_p, c_char_p, POINTER(c_char_p), POINTER(c_void_p)],
    "amp_report_json": [c_void_p, POINTER(c_char_p)],
    "amp_report_html": [c_void_p, POINTER(c_char_p)],
    "amp_report_text": [c_void_p, c_int, POINTER(c_char_p)],
    "amp_save_model": [Bytes, c_char_p, c_char_p, c_int],
    "amp_print_lists": [c_char_p, POINTER(c_char_p)],
    "amp_list_profiles": [POINTER(c_char_p)],
    "amp_policy": [c_char_p, POINTER(c_char_p)],
    "amp_check_compatibility": [c_char_p, POINTER(c_char_p)],
    "amp_new_model": [c_char_p, c_char_p, c_char_p, POINTER(Bytes)],
    "amp_value_of_tensor": [POINTER(Tensor), POINTER(c_void_p)],
    "amp_value_of_sequence": [c_void_p, c_size_t, POINTER(c_void_p)],
    "amp_value_of_map": [c_void_p, c_void_p, POINTER(c_void_p)],
    "amp_value_of_nothing": [POINTER(c_void_p)],
    "amp_value_tensor": [c_void_p, POINTER(Tensor)],
    "amp_value_element": [c_void_p, c_size_t, POINTER(c_void_p)],
    "amp_session_new": [Bytes, c_char_p, POINTER(c_void_p)],
    "amp_session_new_file": [c_char_p, c_char_p, POINTER(c_void_p)],
    "amp_session_describe": [c_void_p, POINTER(c_char_p)],
    "amp_session_run": [c_void_p, c_void_p, c_size_t, c_void_p, c_size_t],
    "amp_session_random_inputs": [c_void_p, c_char_p, c_void_p, c_size_t],
    "amp_compare": [c_void_p, c_void_p, c_void_p, c_size_t, c_char_p, POINTER(c_char_p)],
    "amp_trainer_new": [Bytes, c_char_p, POINTER(c_void_p)],
    "amp_trainer_new_file": [c_char_p, c_char_p, POINTER(c_void_p)],
    "amp_trainer_step": [c_void_p, c_void_p, c_size_t, POINTER(Step)],
    "amp_trainer_describe": [c_void_p, POINTER(c_char_p)],
    "amp_trainer_state": [c_void_p, c_char_p, POINTER(Output)],
    "amp_trainer_set_state": [c_void_p, c_void_p],
    "amp_trainer_save_weights": [c_void_p, c_char_p, c_char_p, c_int],
    "amp_trainer_save_checkpoint": [c_void_p, c_char_p, c_char_p, c_int],
    "amp_trainer_load_checkpoint": [c_void_p, c_char_p, POINTER(c_char_p)],
    "amp_trainer_forward": [c_void_p, c_char_p, POINTER(c_void_p)],
}
# All others: their result, and what they take.
_OTHERS: dict[str, tuple[Any, list[Any]]] = {
    "amp_abi": (c_int, []),
    "amp_version": (c_char_p, []),
    "amp_spin_count": (c_char_p, []),
    "amp_end": (None, []),
    "amp_context_new": (c_void_p, []),
    "amp_context_free": (None, [c_void_p]),
    "amp_context_clear": (None, [c_void_p]),
    "amp_error": (c_char_p, [c_void_p]),
    "amp_set_progress": (None, [c_void_p, ProgressCall, c_void_p]),
    "amp_set_cancel": (None, [c_void_p, CancelCall, c_void_p]),
    "amp_set_before_replacing": (None, [c_void_p, DecisionCall, c_void_p]),
    "amp_set_metric": (None, [c_void_p, MetricCall, c_void_p]),
    "amp_value_kind": (c_int, [c_void_p]),
    "amp_value_size": (c_size_t, [c_void_p]),
    "amp_value_free": (None, [c_void_p]),
    "amp_report_free": (None, [c_void_p]),
    "amp_session_free": (None, [c_void_p]),
    "amp_trainer_free": (None, [c_void_p]),
    "amp_trainer_num_steps": (c_int64, [c_void_p]),
    "amp_trainer_learning_rate": (c_float, [c_void_p]),
    "amp_trainer_set_learning_rate": (None, [c_void_p, c_float]),
}


_PACKAGE = os.path.dirname(os.path.realpath(__file__))


def library_path() -> str:
    """Where the library is: in the package, or where AMP_REWRITE_LIBRARY says, for builds of one's own.

    A build of one's own uses the system's protobuf. TensorFlow's symbols replace that one's where it is imported first:
    the two do not live in one process. The package's library has its own inside.
    """
    return os.environ.get("AMP_REWRITE_LIBRARY") or os.path.join(_PACKAGE, "lib", "libamp_c.so")


def _load_openmp(library: ctypes.CDLL) -> None:
    """Loads the wheel's own libgomp so that waiting threads sleep soon: it reads the environment when it is loaded."""
    folder = os.path.join(os.path.dirname(_PACKAGE), "amp_rewrite.libs")
    files = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    own = [file for file in files if file.startswith("libgomp")]
    if not own or "GOMP_SPINCOUNT" in os.environ or "OMP_WAIT_POLICY" in os.environ:
        return
    os.environ["GOMP_SPINCOUNT"] = library.amp_spin_count().decode()
    try:
        ctypes.CDLL(os.path.join(folder, own[0]))
    finally:
        del os.environ["GOMP_SPINCOUNT"]


def _load() -> ctypes.CDLL:
    path = library_path()
    library = ctypes.CDLL(path)
    for name, arguments in _CODES.items():
        function = getattr(library, name)
        function.restype = c_int
        function.argtypes = [c_void_p, *arguments]
    for name, (result, arguments) in _OTHERS.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    found = library.amp_abi()
    if found != ABI:
        raise ImportError(f"{path}: expected version {ABI} of the C interface, found {found}")
    _load_openmp(library)
    return library


_lock = threading.Lock()
_loaded: Optional[ctypes.CDLL] = None
_forks = 0  # how often this process, or one that it descends from, was forked after the import


def _count_fork() -> None:
    global _forks
    if _loaded is not None:
        _forks += 1


os.register_at_fork(after_in_child=_count_fork)


def library() -> ctypes.CDLL:
    """The library, loaded when it is first asked for."""
    global _loaded
    if _loaded is None:
        with _lock:
            if _loaded is None:
                _loaded = _load()
                atexit.register(_end)
    return _loaded


_is_ending = False


def _end() -> None:
    """Ends what runs in other threads: nothing of the library may run when the process takes it down."""
    global _is_ending
    _is_ending = True
    library().amp_end()


def forks() -> int:
    """A number that is another one in a process that was forked. What was made before a fork is of no use behind it."""
    return _forks


def check_process(made_at: int, what: str) -> None:
    """Refuses objects of a process that this one was forked from: the threads that run models are not here."""
    if _forks != made_at:
        raise _errors.OptionError(f"{what}: expected one made in this process, found one made before a fork")


class _Raised:
    """The exception that a callback has raised; it goes on in Context.check()."""

    def __init__(self) -> None:
        self.exception: Optional[BaseException] = None

    def keep(self, exception: BaseException) -> None:
        """Keeps it without the generator's frame: who clears the frames of an exception would end the generator."""
        traceback = exception.__traceback__
        self.exception = exception.with_traceback(traceback.tb_next if traceback is not None else None)


# Callbacks are generators, as their try holds from the first instruction on: Python lets the handlers of signals run
# when a function begins, and an exception of theirs would be lost ahead of a function's own try.
def _watch_signals(raised: _Raised) -> Generator[int, Any, None]:
    """Running Python lets a signal's handler run, on the main thread: Ctrl-C arrives here."""
    answer = 0
    while True:
        try:
            yield answer
            answer = 0
        except GeneratorExit:
            return
        except BaseException as exception:
            raised.keep(exception)
            answer = 1


def _answers(call: Callable[[Any], Any], raised: _Raised) -> Generator[int, Any, None]:
    """Gives `call` the struct that a callback gets, and answers 1 where it returns False or raises."""
    answer = 0
    while True:
        try:
            at = (yield answer).contents
            answer = 1 if call(at) is False else 0
        except GeneratorExit:
            return
        except BaseException as exception:
            raised.keep(exception)
            answer = 1


class Context:
    """An AmpContext, for one thread and one call at a time."""

    def __init__(self) -> None:
        self.library = library()
        self.pointer: int = self.library.amp_context_new()
        if not self.pointer:
            raise MemoryError
        self._raised = _Raised()
        self.watch: Any = _watch_signals(self._raised)
        next(self.watch)
        self._cancel = CancelCall(self.watch.send)
        self.library.amp_set_cancel(self.pointer, self._cancel, None)
        self._callbacks: dict[str, tuple[Any, Any]] = {}  # by setter: generators, and the functions that call them
        self._nested: Optional[Context] = None

    def __del__(self) -> None:
        if getattr(self, "pointer", None):
            self.library.amp_context_free(self.pointer)

    def free_one(self) -> Context:
        """This one, or, in a callback of a call that it is used for, another: callbacks may call the library, too."""
        if not self.watch.gi_running and not any(answers.gi_running for answers, _ in self._callbacks.values()):
            return self
        if self._nested is None:
            self._nested = Context()
        return self._nested.free_one()

    def set_progress(self, call: Optional[Callable[[str, int, int], Any]]) -> None:
        """`call(step, done, total)`, which returns False to cancel; None for none."""
        tell = None if call is None else lambda at: call(at.step.decode(), at.done, at.total)
        self._set_callback("amp_set_progress", ProgressCall, tell)

    def set_before_replacing(self, call: Optional[Callable[[bytes, int], Any]]) -> None:
        """`call(summary, report)`, of a text and an AmpReport, which returns False to cancel; None for none."""
        ask = None if call is None else lambda at: call(at.summary, at.report)
        self._set_callback("amp_set_before_replacing", DecisionCall, ask)

    def set_metric(self, call: Optional[Callable[[str], Any]]) -> None:
        """`call(path)`, which returns a number for a model, the larger the better; None for none."""

        if call is None:
            self._set_callback("amp_set_metric", MetricCall, None)
            return
        ask = call

        def judge(at: Any) -> bool:
            at.value = float(ask(os.fsdecode(at.model)))
            return True

        self._set_callback("amp_set_metric", MetricCall, judge)

    def _set_callback(self, setter: str, kind: Any, call: Optional[Callable[[Any], Any]]) -> None:
        if call is None:
            function = kind()
            self._callbacks.pop(setter, None)
        else:
            answers = _answers(call, self._raised)
            next(answers)
            function = kind(answers.send)
            self._callbacks[setter] = (answers, function)
        getattr(self.library, setter)(self.pointer, function, None)

    def check(self, code: int) -> None:
        """Raises what `code` means; a callback's own exception where one was raised."""
        if code == 0:
            return
        raised, self._raised.exception = self._raised.exception, None
        if raised is not None:
            raise raised
        if _is_ending:
            raise SystemExit  # of a thread that goes on while Python ends
        line = (self.library.amp_error(self.pointer) or b"").decode("utf-8", "replace")
        raise _errors.error_of(code, line)

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function that returns a code, and raises where it fails."""
        self.check(getattr(self.library, name)(self.pointer, *arguments))

    def text(self, name: str, *arguments: Any) -> str:
        """Calls a function whose last argument is a place for a text, and returns the text."""
        place = c_char_p()
        self.call(name, *arguments, byref(place))
        text = (place.value or b"").decode("utf-8", "replace")
        self.library.amp_context_clear(self.pointer)
        return text


_local = threading.local()


def context() -> Context:
    """The context of this thread."""
    try:
        known: Context = _local.context
    except AttributeError:
        known = _local.context = Context()
    return known.free_one()


PathLike = Union[str, "os.PathLike[str]"]


def path_bytes(path: Any, what: str = "path") -> bytes:
    """A path as the library takes it."""
    try:
        if isinstance(path, bytes):
            raise TypeError
        encoded = os.fsencode(path)
    except TypeError:
        raise TypeError(f"{what}: expected a path, found {type(path).__name__}") from None
    if b"\0" in encoded:
        raise ValueError(f"{what}: expected a path, found one with a zero byte in it")
    return encoded


def text_bytes(text: Any, what: str) -> bytes:
    """A text as the library takes it."""
    if not isinstance(text, str):
        raise TypeError(f"{what}: expected a text, found {type(text).__name__}")
    if "\0" in text:
        raise ValueError(f"{what}: expected a text, found one with a zero character in it")
    return text.encode("utf-8", "surrogateescape")


def as_bytes(data: bytes) -> Bytes:
    """A view of `data`, which must be kept as long as it is used."""
    return Bytes(ctypes.cast(ctypes.c_char_p(data), c_void_p), len(data))


def version() -> str:
    """The version of the library."""
    return str(library().amp_version().decode())
