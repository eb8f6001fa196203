"""libAGF's files of border samples.

A binary classifier is a pair of files, NAME.brd with border samples and NAME.bgd with their
gradients. Each holds the number of features as int32 and then rows of float32, little-endian.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polytomy.binary.borders import BorderMachine
from polytomy.errors import ArgumentError, ModelFileError

__all__ = ["BORDERS_SUFFIX", "GRADIENTS_SUFFIX", "read_borders"]

BORDERS_SUFFIX, GRADIENTS_SUFFIX = ".brd", ".bgd"


def read_borders(base: Path) -> BorderMachine:
    """Return the classifier in a pair of files; ModelFileError if they do not hold one.

    Parameters
    ----------
    base : path of the files without their suffixes
    """
    borders, gradients = (
        _read_rows(base.with_name(base.name + suffix))
        for suffix in (BORDERS_SUFFIX, GRADIENTS_SUFFIX)
    )
    try:
        return BorderMachine(borders, gradients)
    except ArgumentError as error:
        raise ModelFileError(f"{base}: {error}") from error


def _read_rows(file: Path) -> NDArray[np.float64]:
    if not file.is_file():
        raise ModelFileError(f"{file}: the file is missing")
    content = file.read_bytes()
    n_features = int.from_bytes(content[:4], "little", signed=True)
    if n_features < 1 or len(content) <= 4 or (len(content) - 4) % (4 * n_features):
        raise ModelFileError(
            f"{file}: the file does not hold a number of features and rows of that many values"
        )
    rows = np.frombuffer(content, "<f4", offset=4).reshape(-1, n_features).astype(np.float64)
    if not np.isfinite(rows).all():
        raise ModelFileError(f"{file}: not all values are finite")
    return rows
