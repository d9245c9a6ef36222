"""Mixed-precision policies, as Keras has them."""

from __future__ import annotations

import json

from . import _library


class Policy:
    """A policy: the type that is computed in, and the type of weights, in one word.

    A Policy, of this package or of Keras, is accepted wherever a policy is named.

    Args:
        name: "mixed_float16", "mixed_bfloat16", "float16", "bfloat16" or "float32".

    Example:
        >>> import amp_rewrite as amp
        >>> policy = amp.Policy("mixed_float16")
        >>> policy.compute_dtype, policy.variable_dtype
        ('float16', 'float32')
    """

    def __init__(self, name: str) -> None:
        types = json.loads(_library.context().text("amp_policy", _library.text_bytes(name, "name")))
        self.name = name
        self.compute_dtype: str = types["compute_dtype"]
        self.variable_dtype: str = types["variable_dtype"]

    def __repr__(self) -> str:
        return f'<Policy "{self.name}">'

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


def check_compatibility(dtype: str = "auto") -> str:
    """Whether this machine is fast with a type, as Keras' guides print it.

    Args:
        dtype: "float16", "bfloat16", or "auto": the type that this machine is fast with.
    """
    return _library.context().text("amp_check_compatibility", _library.text_bytes(dtype, "dtype")).rstrip("\n")
