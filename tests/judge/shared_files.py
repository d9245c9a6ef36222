"""Where the models and data are that judges and benchmarks need and that are not in this repository."""

import os
import pathlib


def shared_folder():
    """$AMP_SHARED, else ../shared next to the repository. It need not be there: who reads it says so, and skips."""
    stated = os.environ.get("AMP_SHARED")
    return pathlib.Path(stated) if stated else pathlib.Path(__file__).resolve().parents[3] / "shared"
