"""Exceptions, by kind. Each holds the one line that the programs print, and their exit code."""

from __future__ import annotations

import errno


class AmpError(Exception):
    """The base of all errors of this package.

    Attributes:
        code: The exit code of the programs for this kind of error.
    """

    code: int = 70


class OptionError(AmpError, ValueError):
    """An option, an argument or a list file is wrong, or inputs do not fit the model."""

    code = 2


class ModelError(AmpError, ValueError):
    """The model is malformed, or has something that is not supported."""

    code = 3


class RefusedError(AmpError, OSError):
    """A safety rule refuses: a file that is read would be written to, or one of another kind be replaced."""

    code = 4


class LimitError(AmpError):
    """A limit (max_...) is exceeded, or no memory is left."""

    code = 5


class FileError(AmpError, OSError):
    """Input or output failed: there is no such file, the disk is full."""

    code = 6


class VerificationError(AmpError):
    """The rewritten model computes something else than the original."""

    code = 7


class DeviceError(AmpError, RuntimeError):
    """The device, its driver or a library of it is not there, or failed."""

    code = 8


class InternalError(AmpError, RuntimeError):
    """A defect of the library."""

    code = 70


class CancelledError(AmpError):
    """A progress callback returned False."""

    code = 130


class AmpWarning(UserWarning):
    """Something that the programs print as a warning."""


KINDS: tuple[type[AmpError], ...] = (
    OptionError,
    ModelError,
    RefusedError,
    LimitError,
    FileError,
    VerificationError,
    DeviceError,
    InternalError,
    CancelledError,
)


class _MissingFileError(FileError, FileNotFoundError):
    """There is no such file."""


def error_of(code: int, line: str) -> AmpError:
    """The exception for a code of the library."""
    if code == FileError.code and "No such file or directory" in line:
        missing = _MissingFileError(line)
        missing.errno = errno.ENOENT
        return missing
    return BY_CODE.get(code, InternalError)(line)


BY_CODE: dict[int, type[AmpError]] = {kind.code: kind for kind in KINDS}
