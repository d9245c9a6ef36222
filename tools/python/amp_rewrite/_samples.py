"""Samples for calibration and verifying: arrays in memory become the archives that the library reads."""

from __future__ import annotations

import os
from typing import Any, Iterable, Mapping, Union

from . import _arrays, _errors

Sample = Union[str, "os.PathLike[str]", Mapping[str, Any]]


class SampleFiles:
    """Paths of samples; those that were arrays are in a temporary folder, as long as this is open."""

    def __init__(self) -> None:
        self._folder: Any = None  # a TemporaryDirectory
        self._names: dict[str, str] = {}  # of samples that were arrays, by path

    def __enter__(self) -> SampleFiles:
        return self

    def __exit__(self, _: object, error: object, __: object) -> None:
        if isinstance(error, _errors.AmpError):
            error.args = tuple(self.named(part) for part in error.args)
        if self._folder is not None:
            self._folder.cleanup()

    def named(self, text: Any) -> Any:
        """A message, with the caller's names of samples instead of paths that the caller never saw."""
        for path, name in self._names.items():
            text = text.replace(path, name) if isinstance(text, str) else text
        return text

    def path(self, sample: Sample, what: str) -> str:
        """The path of one sample: a path, or a dict of arrays by the inputs' names."""
        if isinstance(sample, (str, os.PathLike)):
            return os.fspath(sample)
        if not isinstance(sample, Mapping):
            raise TypeError(f"{what}: expected a path or a dict of arrays, found {type(sample).__name__}")
        import pathlib
        import tempfile
        import zipfile

        import numpy as np

        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="amp_rewrite_")
        path = pathlib.Path(self._folder.name) / f"sample_{len(self._names)}.npz"
        self._names[str(path)] = what
        arrays: dict[str, Any] = {}
        for name, value in sample.items():
            self._add(arrays, name, value, f"{what}: '{name}'")
        with zipfile.ZipFile(
            path, "w"
        ) as archive:  # numpy.savez has arguments of its own, which an input may be called
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, array, allow_pickle=False)
        return str(path)

    def paths(self, samples: Any, what: str) -> list[str]:
        """Paths of one sample, or of several."""
        if samples is None:
            return []
        if isinstance(samples, (str, os.PathLike, Mapping)):
            return [self.path(samples, what)]
        if not isinstance(samples, Iterable):
            raise TypeError(f"{what}: expected samples, found {type(samples).__name__}")
        return [self.path(sample, f"{what}[{i}]") for i, sample in enumerate(samples)]

    def _add(self, arrays: dict[str, Any], name: str, value: Any, what: str) -> None:
        """A sequence y is y/0, y/1; a map is y/keys and y/values."""
        import numpy as np

        if isinstance(value, Mapping):
            arrays[f"{name}/keys"] = _arrays.as_array(list(value.keys()), what)
            arrays[f"{name}/values"] = _arrays.as_array(list(value.values()), what)
        elif isinstance(value, (list, tuple)) and value and not isinstance(value[0], (int, float, str, list, tuple)):
            for i, element in enumerate(value):
                self._add(arrays, f"{name}/{i}", element, what)
        else:
            array = _arrays.as_array(value, what)
            if isinstance(value, (list, tuple, float)) and array.dtype == np.float64:
                array = array.astype("float32")  # numbers of Python have no width of their own
            if array.dtype.hasobject:
                array = array.astype(str)
            if not array.dtype.isbuiltin and array.dtype.kind not in "US":  # a type of ml_dtypes
                array = array.astype("float32")
            arrays[name] = array
