"""Runs a model by the C interface through ctypes alone, as other languages do: ctypes_test.py LIBRARY."""

import array
import ctypes
import json
import sys
from ctypes import POINTER, byref, c_char_p, c_float, c_int32, c_int64, c_size_t, c_void_p


class Bytes(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("shape", POINTER(c_int64)),
        ("strides", c_void_p),
        ("dtype", c_int32),
        ("rank", c_int32),
    ]


class Input(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("tensor", Tensor), ("value", c_void_p)]


class Output(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_void_p), ("tensor", Tensor), ("kind", c_int32)]


amp = ctypes.CDLL(sys.argv[1])
amp.amp_context_new.restype = c_void_p
amp.amp_error.restype = c_char_p
context = c_void_p(amp.amp_context_new())


def call(name, *arguments):
    code = getattr(amp, name)(context, *arguments)
    if code:
        sys.exit(f"{name}: {amp.amp_error(context).decode()} ({code})")


model, mixed, summary, session = Bytes(), Bytes(), c_char_p(), c_void_p()
call("amp_new_model", b"mlp", b"4-8-2", b'{"seed": 3}', byref(model))
call(
    "amp_rewrite",
    model,
    json.dumps({"dtype": "bfloat16", "verify": "off"}).encode(),
    byref(mixed),
    byref(summary),
    None,
)
assert json.loads(summary.value)["changed"], summary.value
call("amp_session_new", mixed, b'{"threads": 1}', byref(session))
x = array.array("f", [1, 2, 3, 4, 5, 6, 7, 8])
shape = (c_int64 * 2)(2, 4)
place = (c_float * 4)()  # the result goes where the caller says
inputs = (Input * 1)(Input(b"x", Tensor(x.buffer_info()[0], shape, None, 1, 2), None))
outputs = (Output * 1)(
    Output(b"probabilities", None, Tensor(ctypes.addressof(place), (c_int64 * 2)(2, 2), None, 1, 2), 0)
)
call("amp_session_run", session, inputs, c_size_t(1), outputs, c_size_t(1))
assert outputs[0].kind == 4 and not outputs[0].value, outputs[0].kind  # AMP_PLACED
assert abs(sum(place) - 2) < 0.02, list(place)
amp.amp_session_free(session)
amp.amp_context_free(context)
print("rewrote and ran:", list(place))
