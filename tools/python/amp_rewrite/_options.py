"""Options as keyword arguments: to the JSON that the library takes."""

from __future__ import annotations

import json
import math
import os
from typing import Any, Mapping, Optional

from . import _errors, _library

# Names of the C++ options whose flags are called otherwise.
ALIASES = {
    "dims": "dim",
    "free_dims": "dim",
    "op_signatures": "op_signature",
    "gradients": "gradient",
    "allow_bfloat16": "allow_bf16_compute",
}
# Options of C++ sessions that --no-fuse switches off.
FUSIONS = {
    "fold_constants": "constants",
    "fold_batch_norms": "batch-norm",
    "fuse_epilogues": "epilogue",
    "fuse_norms": "norm",
    "fuse_attention": "attention",
    "fuse_chains": "chain",
    "fuse_training": "train",
}

_schemas: dict[str, dict[str, dict[str, Any]]] = {}


def schema(of: str) -> dict[str, dict[str, Any]]:
    """The options of "rewrite" or "session" by name; see amp_options_schema in amp_c.h."""
    if of not in _schemas:
        rows = json.loads(_library.context().text("amp_options_schema", of.encode()))
        _schemas[of] = {row["name"]: row for row in rows}
    return _schemas[of]


def _known(of: str) -> set[str]:
    names = set(schema(of))
    names |= {alias for alias, name in ALIASES.items() if name in names}
    names |= {name[len("no_") :] for name in names if name.startswith("no_")}
    names.add("limits")
    return names | (set(FUSIONS) if of == "session" else {"loss_scale_function"})


def check_names(of: str, options: Mapping[str, Any], function: str) -> None:
    """Raises TypeError for a name that is no option, with the one that may be meant."""
    known = _known(of)
    for name in options:
        if name in known:
            continue
        import difflib

        near = difflib.get_close_matches(name, known, 1, 0.75)
        hint = f"; did you mean '{near[0]}'?" if near else _hint_of_library(of, name)
        raise TypeError(f"{function}() got an unexpected keyword argument '{name}'{hint}")


def _hint_of_library(of: str, name: str) -> str:
    """Returns what the programs say of flags of other tools."""
    if of != "rewrite" or not isinstance(name, str):
        return ""
    try:
        _library.context().text("amp_print_lists", json.dumps({name: True}).encode())
    except _errors.OptionError as error:
        line = str(error)
        return line[line.index(";") :] if ";" in line else ""
    return ""


def _plain(name: str, value: Any) -> Any:
    """Returns a value that JSON can hold."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name}: expected a finite number, found {value}")
    if isinstance(value, int) and abs(value) >= 1 << 64:
        raise ValueError(f"{name}: expected a number of 64 bits, found {value}")
    if isinstance(value, str) and not value.isprintable() and not value.isspace():
        _check_text(name, value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(name, item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(name, item) for item in value]
    if hasattr(value, "compute_dtype") and hasattr(value, "name"):  # a Policy, of this package or of Keras
        return value.name
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:  # a scalar of NumPy
        return _plain(name, value.item())
    text = getattr(value, "name", None) or getattr(value, "__name__", None)  # numpy.float16, ml_dtypes.bfloat16
    if isinstance(text, str):
        return text
    raise TypeError(f"{name}: expected a text, a number, or a list or dict of these, found {type(value).__name__}")


def _check_text(name: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name}: expected a text in UTF-8, found {text!r}") from None


def to_json(of: str, options: Mapping[str, Any], function: str) -> bytes:
    """The options as JSON. Raises TypeError for unknown names and values of kinds that no option has."""
    check_names(of, options, function)
    plain: dict[str, Any] = {}
    dims: dict[str, Any] = {}
    no_fuse: list[str] = []
    for name, value in options.items():
        if name in ("dim", "dims", "free_dims"):
            if value is not None and not isinstance(value, Mapping):
                raise TypeError(f"{name}: expected a dict, found {type(value).__name__}")
            dims.update(_plain(name, value or {}))
        elif name in FUSIONS and of == "session":
            if value is False:
                no_fuse.append(FUSIONS[name])
        elif name == "limits":
            if not isinstance(value or {}, Mapping):
                raise TypeError(f"limits: expected a dict, found {type(value).__name__}")
            plain.update({f"max_{limit}": _plain(name, number) for limit, number in (value or {}).items()})
        elif name == "loss_scale_function":
            import base64

            plain[name] = None if value is None else base64.b64encode(_function_bytes(value)).decode()
        elif name == "keep_io" and isinstance(value, bool):
            plain[name] = "all" if value else "none"
        else:
            plain[ALIASES.get(name, name)] = _plain(name, value)
    if dims:
        plain["dim"] = dims
    if no_fuse:
        given = plain.get("no_fuse") or []
        given = ["all"] if given is True else [given] if isinstance(given, str) else given
        plain["no_fuse"] = [*no_fuse, *given]
    return json.dumps(plain, allow_nan=False).encode()


def _function_bytes(function: Any) -> bytes:
    if isinstance(function, bytes):
        return function
    if hasattr(function, "SerializeToString"):
        return bytes(function.SerializeToString())
    raise TypeError(f"loss_scale_function: expected a FunctionProto or bytes, found {type(function).__name__}")


def random_inputs_json(seed: Any, dims: Any) -> bytes:
    """Options of amp_session_random_inputs."""
    if not isinstance(dims or {}, Mapping):
        raise TypeError(f"dims: expected a dict, found {type(dims).__name__}")
    return json.dumps({"seed": _plain("seed", seed), "dims": _plain("dims", dims or {})}).encode()


def tolerance_json(tolerance: Optional[float]) -> bytes:
    return json.dumps({"tolerance": _plain("tolerance", tolerance)}).encode()
