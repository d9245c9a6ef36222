"""The programs, as console scripts."""

from __future__ import annotations

import os
import pathlib
import sys
from typing import NoReturn


def _run(program: str) -> NoReturn:
    path = pathlib.Path(__file__).resolve().parent / "bin" / "amp_programs"
    os.execv(path, [program, *sys.argv[1:]])  # one file, which acts by the name that it is called by


def amp_rewrite() -> None:
    """Runs amp-rewrite."""
    _run("amp-rewrite")


def amp_run() -> None:
    """Runs amp-run."""
    _run("amp-run")


def amp_train() -> None:
    """Runs amp-train."""
    _run("amp-train")
