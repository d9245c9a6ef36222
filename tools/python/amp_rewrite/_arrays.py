"""Arrays and other values of NumPy, from and to the library's."""

from __future__ import annotations

import ctypes
import struct
import sys
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence

from . import _errors, _library

if TYPE_CHECKING:
    import numpy as np

NOTHING, TENSOR, SEQUENCE, MAP = range(4)
STRING = 8
_SMALL_BYTES = 1 << 16  # outputs up to this size are copied, which is faster than to look after their memory

# ONNX's element types by name; those that NumPy has itself, and those of ml_dtypes.
_NUMPY = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    14: "complex64",
    15: "complex128",
}
_ML_DTYPES = {
    16: "bfloat16",
    17: "float8_e4m3fn",
    18: "float8_e4m3fnuz",
    19: "float8_e5m2",
    20: "float8_e5m2fnuz",
    21: "uint4",
    22: "int4",
    23: "float4_e2m1fn",
    24: "float8_e8m0fnu",
    25: "uint2",
    26: "int2",
    27: "float6_e2m3fn",
    28: "float6_e3m2fn",
}
_SIGN_EXTENDED = (22, 26)  # int4 and int2: ml_dtypes leaves the upper bits of their bytes open
_NUMBERS = {name: number for number, name in {**_NUMPY, **_ML_DTYPES}.items()}
_OF_DTYPE: dict[Any, int] = {}  # by numpy's dtype objects; filled when they come
_DTYPES: dict[int, Any] = {}

INPUT = struct.Struct("=QQQQiiQ")  # AmpInput
OUTPUT = struct.Struct("=QQQQQiiii")  # AmpOutput
KIND_AT, PLACED = 40, b"\4"  # of an AmpOutput, from its value on; AMP_PLACED
ADDRESS = struct.Struct("=Q")
PLACE = struct.Struct("=QQ")  # of an AmpOutput: value and tensor.data


def numpy_dtype(number: int) -> Any:
    """NumPy's dtype of an ONNX element type. Raises ImportError for a type of ml_dtypes, where that is missing."""
    dtype = _DTYPES.get(number)
    if dtype is not None:
        return dtype
    import numpy as np

    if number in _NUMPY:
        dtype = np.dtype(_NUMPY[number])
    else:
        try:
            import ml_dtypes
        except ImportError:
            raise ImportError(
                f"arrays of {_ML_DTYPES[number]} need the package ml_dtypes: pip install ml_dtypes"
            ) from None
        dtype = np.dtype(getattr(ml_dtypes, _ML_DTYPES[number]))
    _DTYPES[number] = dtype
    return dtype


def dtype_number(dtype: Any, what: str) -> int:
    """The ONNX element type of a NumPy dtype."""
    number = _OF_DTYPE.get(dtype)
    if number is not None:
        return number
    number = STRING if dtype.kind in "UT" else _NUMBERS.get(dtype.name)
    if number is None or not (dtype.isnative or number == STRING):
        raise TypeError(f"{what}: expected an element type of ONNX, found {dtype}")
    _OF_DTYPE[dtype] = number
    return number


def as_array(value: Any, what: str, declared: str = "") -> np.ndarray[Any, Any]:
    """An array of anything that has __array__ or __dlpack__, of numbers and lists of them. `declared`: the element type
    that lists and numbers of Python become."""
    import numpy as np

    if type(value) is np.ndarray:
        return value
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        if value.dtype == torch.bfloat16:
            return np.asarray(value.contiguous().view(torch.int16).numpy()).view(numpy_dtype(16))
        return np.asarray(value.numpy())
    if isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__array__"):
        return np.asarray(value)
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    if isinstance(value, (list, tuple, int, float, bool, complex, str)):
        number = _NUMBERS.get(declared)
        return np.asarray(value, None if number is None or isinstance(value, str) else numpy_dtype(number))
    raise TypeError(f"{what}: expected an array, found {type(value).__name__}")


def _strings(array: np.ndarray[Any, Any], what: str) -> list[bytes]:
    texts = []
    for text in array.ravel().tolist():
        if isinstance(text, str):
            texts.append(text.encode("utf-8", "surrogateescape"))
        elif isinstance(text, bytes):
            texts.append(text)
        else:
            raise TypeError(f"{what}: expected an array of numbers or strings, found objects of {type(text).__name__}")
    return texts


class Inputs:
    """AmpInput structs for one call, and all that they point to."""

    def __init__(self, feeds: Mapping[str, Any], kinds: Mapping[str, Mapping[str, Any]]) -> None:
        import numpy as np

        self.count = len(feeds)
        self._keep: list[Any] = []  # memory that the structs point to
        self._values: list[int] = []
        self._buffer = ctypes.create_string_buffer(INPUT.size * self.count)
        self.address = ctypes.addressof(self._buffer)
        try:
            at = 0
            for name, value in feeds.items():
                kind = kinds.get(name)
                if kind is not None and "encoded" in kind:
                    encoded = kind["encoded"]
                else:
                    if not isinstance(name, str):
                        raise TypeError(f"inputs: expected names, found a key of {type(name).__name__}")
                    encoded = ctypes.c_char_p(_library.text_bytes(name, "the name of an input"))
                    self._keep.append(encoded)
                    encoded = ctypes.cast(encoded, ctypes.c_void_p).value
                is_plain = type(value) is np.ndarray and value.dtype.isnative and not value.dtype.hasobject
                if is_plain and value.flags.c_contiguous:
                    self._pack_array(at, encoded, value, f"input '{name}'")
                else:
                    self._pack(at, encoded, value, f"input '{name}'", kind)
                at += INPUT.size
        except BaseException:
            self.free()
            raise

    def _pack_array(self, at: int, name: Any, array: np.ndarray[Any, Any], what: str) -> None:
        number = dtype_number(array.dtype, what)
        if number == STRING:
            self._pack_strings(at, name, array, what)
            return
        if number in _SIGN_EXTENDED:
            array = array.astype("int8")
        shape = array.shape
        rank = len(shape)
        dims = struct.pack(f"={rank}q", *shape)
        self._keep.append(dims)
        self._keep.append(array)
        data = array.__array_interface__["data"][0]
        INPUT.pack_into(self._buffer, at, name, data, _address_of(dims), 0, number, rank, 0)

    def _pack_strings(self, at: int, name: Any, array: np.ndarray[Any, Any], what: str) -> None:
        texts = _strings(array, what)
        views = (_library.Bytes * max(len(texts), 1))()
        for view, text in zip(views, texts):
            view.data = ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p)
            view.size = len(text)
        dims = struct.pack(f"={array.ndim}q", *array.shape)
        self._keep += [texts, views, dims]
        INPUT.pack_into(self._buffer, at, name, ctypes.addressof(views), _address_of(dims), 0, STRING, array.ndim, 0)

    def _pack(self, at: int, name: Any, value: Any, what: str, kind: Any) -> None:
        form = kind["kind"] if kind is not None else "tensor"
        if form in ("sequence", "map") or value is None or isinstance(value, dict):
            made = self._value(value, what)
            INPUT.pack_into(self._buffer, at, name, 0, 0, 0, 0, 0, made)
            return
        array = as_array(value, what, kind["dtype"] if kind is not None else "")
        if array.dtype.hasobject:
            self._pack_strings(at, name, array, what)
            return
        import numpy as np

        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        self._pack_array(at, name, np.ascontiguousarray(array).reshape(array.shape), what)

    def _value(self, value: Any, what: str) -> int:
        """A sequence of a list, a map of a dict, a tensor of anything else, as an AmpValue."""
        context = _library.context()
        place = ctypes.c_void_p()
        if value is None:
            context.call("amp_value_of_nothing", ctypes.byref(place))
        elif isinstance(value, dict):
            import numpy as np

            keys = self._value(np.asarray(list(value.keys())), what)
            values = self._value(np.asarray(list(value.values()), None if value else np.float32), what)
            context.call("amp_value_of_map", keys, values, ctypes.byref(place))
        elif isinstance(value, (list, tuple)):
            elements = [self._value(element, what) for element in value]
            pointers = (ctypes.c_void_p * max(len(elements), 1))(*elements)
            context.call("amp_value_of_sequence", pointers, len(elements), ctypes.byref(place))
        else:
            array = as_array(value, what)
            one = Inputs({"x": array}, {})
            self._keep.append(one)
            tensor = _library.Tensor.from_buffer(one._buffer, _library.Input.tensor.offset)
            context.call("amp_value_of_tensor", ctypes.byref(tensor), ctypes.byref(place))
        assert place.value is not None
        self._values.append(place.value)
        return place.value

    def free(self) -> None:
        """To be called when the call is over."""
        for value in self._values:
            _library.library().amp_value_free(value)
        self._values = []


_addressof = ctypes.addressof
_byte_of: Any = ctypes.c_char.from_buffer


def _address_of(data: bytes) -> int:
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


class _Block:
    """The memory of an output, for NumPy, freed with the last array on it."""

    __slots__ = ("__array_interface__", "_value")

    def __init__(self, data: int, shape: tuple[int, ...], typestr: str, value: int) -> None:
        self.__array_interface__ = {"data": (data, False), "shape": shape, "typestr": typestr, "version": 3}
        self._value = value

    def __del__(self) -> None:
        _library.library().amp_value_free(self._value)


def _tensor_array(data: int, shape_at: int, number: int, rank: int, value: int) -> Any:
    """Takes `value` over, also where this raises."""
    try:
        dtype = None if number == STRING else numpy_dtype(number)
    except ImportError:
        _library.library().amp_value_free(value)
        raise
    import numpy as np

    shape = struct.unpack(f"={rank}q", ctypes.string_at(shape_at, 8 * rank)) if rank else ()
    free = _library.library().amp_value_free
    if number == STRING:
        size = 1
        for dim in shape:
            size *= dim
        texts = np.empty(size, object)
        views = (_library.Bytes * size).from_address(data) if size else ()
        for i, view in enumerate(views):
            texts[i] = ctypes.string_at(view.data, view.size).decode("utf-8", "surrogateescape")
        free(value)
        return texts.reshape(shape)
    assert dtype is not None
    size = dtype.itemsize
    for dim in shape:
        size *= dim
    if number in _SIGN_EXTENDED:
        return np.asarray(_Block(data, shape, "|i1", value)).astype(dtype)
    if size <= _SMALL_BYTES:
        array = np.empty(shape, dtype)
        if size:
            ctypes.memmove(array.__array_interface__["data"][0], data, size)
        free(value)
        return array
    if dtype.isbuiltin == 1:
        return np.asarray(_Block(data, shape, dtype.str, value))
    return np.asarray(_Block(data, shape, f"<u{dtype.itemsize}", value)).view(dtype)


def _value_object(value: int) -> Any:
    """Returns what an AmpValue is in Python, and takes it over."""
    library = _library.library()
    context = _library.context()
    kind = library.amp_value_kind(value)
    if kind == TENSOR:
        tensor = _library.Tensor()
        context.call("amp_value_tensor", value, ctypes.byref(tensor))
        return _tensor_array(tensor.data or 0, tensor.shape or 0, tensor.dtype, tensor.rank, value)
    try:
        size = library.amp_value_size(value) if kind == SEQUENCE else 2 if kind == MAP else 0
        parts = []
        for at in range(size):
            place = ctypes.c_void_p()
            context.call("amp_value_element", value, at, ctypes.byref(place))
            parts.append(_value_object(place.value or 0))
    finally:
        library.amp_value_free(value)
    if kind == SEQUENCE:
        return parts
    return dict(zip(parts[0].tolist(), parts[1].tolist())) if kind == MAP else None


class Outputs:
    """AmpOutput structs for one call."""

    def __init__(self, names: Sequence[int]) -> None:
        """`names`: addresses of texts."""
        self.count = len(names)
        self.names = names
        self._buffer = ctypes.create_string_buffer(OUTPUT.size * self.count)
        self.address = ctypes.addressof(self._buffer)
        for i, name in enumerate(names):
            OUTPUT.pack_into(self._buffer, i * OUTPUT.size, name, 0, 0, 0, 0, 0, 0, 0, 0)

    def objects(self) -> list[Any]:
        """The outputs of a call that did not fail: arrays; lists of them; dicts; None."""
        found: list[Any] = []
        rows = [OUTPUT.unpack_from(self._buffer, at) for at in range(0, self.count * OUTPUT.size, OUTPUT.size)]
        for _, value, data, shape, _, number, rank, kind, _ in rows:
            try:
                made = _tensor_array(data, shape, number, rank, value) if kind == TENSOR else _value_object(value)
            except BaseException:
                for row in rows[len(found) + 1 :]:
                    _library.library().amp_value_free(row[1])
                raise
            found.append(made)
        return found


class RunPlan:
    """A run like the last one of this thread: arrays of these types and shapes, in this order, and results likewise.

    Only addresses change from run to run, so that a run of a small model takes microseconds in Python.
    """

    output_names: Optional[list[str]]
    inputs: list[tuple[str, Any, tuple[int, ...], int]]  # name, dtype, shape, where the address goes
    outputs: list[tuple[Optional[tuple[int, ...]], Any, int]]
    count: int
    holds: bool  # False: results are of other shapes by now
    _keep: list[Any]
    _in: Any
    _out: Any
    _in_address: int
    _out_address: int
    _num_outputs: int
    _context: _library.Context
    _empty: Any
    _array: Any

    @staticmethod
    def make(
        output_names: Optional[list[str]],
        feeds: Mapping[str, Any],
        kinds: Mapping[str, Mapping[str, Any]],
        outputs: Outputs,
        arrays: list[Any],
    ) -> Optional[RunPlan]:
        """Makes a plan of a run that succeeded; None where inputs or outputs are of other kinds."""
        import numpy as np

        plan = RunPlan()
        plan.output_names = output_names
        plan.inputs = []
        plan.count = len(feeds)
        plan.holds = True
        plan._keep = []
        plan._in = ctypes.create_string_buffer(max(INPUT.size * len(feeds), 1))
        plan._out = ctypes.create_string_buffer(max(OUTPUT.size * len(arrays), 1))
        plan.outputs = []
        for i, (name, x) in enumerate(feeds.items()):
            if type(x) is not np.ndarray or x.dtype.isbuiltin != 1 or name not in kinds:
                return None
            dims = plan._hold(struct.pack(f"={x.ndim}q", *x.shape))
            number = _OF_DTYPE.get(x.dtype, STRING)
            if number == STRING:
                return None
            INPUT.pack_into(plan._in, i * INPUT.size, kinds[name]["encoded"], 0, dims, 0, number, x.ndim, 0)
            plan.inputs.append((name, x.dtype, x.shape, i * INPUT.size + 8))
        for i, y in enumerate(arrays):
            if type(y) is not np.ndarray:
                return None
            is_small = y.dtype.isbuiltin == 1 and not y.dtype.hasobject and 0 < y.nbytes <= _SMALL_BYTES
            number = dtype_number(y.dtype, "output") if is_small else 0
            at, encoded = i * OUTPUT.size, outputs.names[i]
            dims = plan._hold(struct.pack(f"={y.ndim}q", *y.shape)) if is_small else 0
            OUTPUT.pack_into(plan._out, at, encoded, 0, 0, dims, 0, number, y.ndim, 0, 0)
            plan.outputs.append((y.shape if is_small else None, y.dtype, at + 8))
        plan._in_address = ctypes.addressof(plan._in)
        plan._out_address = ctypes.addressof(plan._out)
        plan._num_outputs = len(arrays)
        plan._context = _library.context()  # of this thread, whose plan it is
        plan._empty = np.empty
        plan._array = np.ndarray
        return plan

    def _hold(self, dims: bytes) -> int:
        self._keep.append(dims)
        return _address_of(dims)

    def run(self, call: Any, session: Any, feeds: Any) -> Optional[list[Any]]:
        """Runs on feeds that are like those of the plan; None for others, and where the run fails."""
        if type(feeds) is not dict or len(feeds) != self.count:
            return None
        if self._context.watch.gi_running:
            return None  # the handler of a signal runs a session in the middle of another call
        held: list[Any] = []  # inputs stay, whatever others do to `feeds` meanwhile
        array, pack, buffer = self._array, ADDRESS.pack_into, self._in
        address_of, byte_of = _addressof, _byte_of
        for name, dtype, shape, at in self.inputs:
            x: Any = feeds.get(name)
            if type(x) is not array or x.dtype is not dtype or x.shape != shape or not x.flags.c_contiguous:
                return None
            held.append(x)
            try:  # NumPy's own answer takes three times as long
                pack(buffer, at, address_of(byte_of(x)))
            except (TypeError, ValueError):  # not to be written to, or empty
                pack(buffer, at, x.__array_interface__["data"][0])
        empty, buffer, place = self._empty, self._out, PLACE.pack_into
        found: list[Any] = []
        for place_shape, dtype, at in self.outputs:
            if place_shape is None:
                place(buffer, at, 0, 0)
                found.append(None)
                continue
            y = empty(place_shape, dtype)
            place(buffer, at, 0, address_of(byte_of(y)))
            found.append(y)
        code = call(self._context.pointer, session, self._in_address, self.count, self._out_address, self._num_outputs)
        if code:
            self._context.check(code)
        for i, (place_shape, _, at) in enumerate(self.outputs):
            if buffer[at + KIND_AT] != PLACED:
                _, value, data, dims, _, number, rank, kind, _ = OUTPUT.unpack_from(buffer, at - 8)
                found[i] = _tensor_array(data, dims, number, rank, value) if kind == TENSOR else _value_object(value)
                self.holds = self.holds and place_shape is None  # what was written there says another shape now
        return found


def object_of_output(output: _library.Output) -> Any:
    """Returns what one struct holds, in Python."""
    if output.kind != TENSOR:
        return _value_object(output.value or 0)
    tensor = output.tensor
    return _tensor_array(tensor.data or 0, tensor.shape or 0, tensor.dtype, tensor.rank, output.value or 0)


def check_float64(error: _errors.OptionError, feeds: Mapping[str, Any]) -> _errors.OptionError:
    """`error`, with a word about astype where a float64 array may be what it is about."""
    import numpy as np

    for name, value in feeds.items():
        if isinstance(value, np.ndarray) and value.dtype == np.float64 and f"'{name}'" in str(error):
            return type(error)(f"{error}; did you mean {name}.astype('float32')?")
    return error
