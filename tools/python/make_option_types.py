"""Prints amp_rewrite/_option_types.py: the types of options, from the flags of the programs.

PYTHONPATH=tools/python AMP_REWRITE_LIBRARY=build/lib/libamp_c.so python tools/python/make_option_types.py
"""

from amp_rewrite import _options

HEAD = '''"""The types of options, for type checkers. Made by make_option_types.py of the flags of the programs."""

from __future__ import annotations

import os
from typing import Any, Callable, Mapping, Sequence, TypedDict, Union

Path = Union[str, "os.PathLike[str]"]
Sample = Union[str, "os.PathLike[str]", Mapping[str, Any]]
'''
# Options that take more than the flag's text.
TYPES = {
    "calibration": "Union[Sample, Sequence[Sample]]",
    "verify": "Union[bool, Sample]",
    "metric": "Union[str, Callable[[str], float]]",
    "dim": "Mapping[str, Union[int, str]]",
    "keep_io": "Union[bool, str, Sequence[str]]",
    "dtype": "Any",
    "policy": "Any",
    "loss_scale": "Union[str, float]",
    "opset": "Union[str, int]",
    "follow": "Union[bool, str]",
    "no_fuse": "Union[bool, str, Sequence[str]]",
}
EXTRA = {
    "rewrite": {"loss_scale_function": "Any", "limits": "Mapping[str, int]"},
    "session": {"limits": "Mapping[str, int]", **dict.fromkeys(_options.FUSIONS, "bool")},
}


def type_of(row):
    """The type of what one option takes."""
    if row["name"] in TYPES:
        return TYPES[row["name"]]
    if row["form"] == "switch":
        return "bool"
    if row["number"]:
        return "int" if row["number"] == "integer" else "float"
    is_path = "FILE" in row["type"] or "OUT" in row["type"]
    text = "Path" if is_path else "str"
    whole = f"Union[{text}, Sequence[{text}]]" if row["repeats"] else text
    return f"Union[bool, {whole}]" if row["form"] == "optional value" else whole


def class_of(name, of):
    rows = _options.schema(of)
    types = {row: type_of(rows[row]) for row in rows}
    types.update({row[len("no_") :]: "bool" for row in rows if row.startswith("no_") and rows[row]["form"] == "switch"})
    types.update({alias: types[flag] for alias, flag in _options.ALIASES.items() if flag in types})
    types.update(EXTRA[of])
    lines = [f"    {option}: {types[option]}" for option in sorted(types)]
    doc = f'    """Options of {of}: the flags of the programs, with _ for -."""'
    return f"\n\nclass {name}(TypedDict, total=False):\n{doc}\n\n" + "\n".join(lines) + "\n"


def main():
    print(HEAD + class_of("RewriteOptions", "rewrite") + class_of("SessionOptions", "session"), end="")


if __name__ == "__main__":
    main()
