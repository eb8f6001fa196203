"""libAGF's files of border samples.

A binary classifier is a pair of files, NAME.brd with border samples and NAME.bgd with their
gradients. Each holds the number of features as int32 and then rows of float32, little-endian.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import ArgumentError, ModelFileError
from polytomy.learners.borders import BorderMachine
from polytomy.persistence.model_files import open_model_file, size_of

__all__ = ["BORDERS_SUFFIX", "GRADIENTS_SUFFIX", "read_borders", "read_rows"]

BORDERS_SUFFIX, GRADIENTS_SUFFIX = ".brd", ".bgd"
_CALIBRATION_SUFFIX = ".clb"
_HEADER_BYTES, _NUMBER_BYTES = 4, 4


def read_borders(base: Path) -> BorderMachine:
    """Return the classifier in a pair of files; ModelFileError if they do not hold one.

    Parameters
    ----------
    base : path of the files without their suffixes
    """
    calibration = base.with_name(base.name + _CALIBRATION_SUFFIX)
    if calibration.exists():
        raise ModelFileError(
            f"{calibration}: calibrated border samples are not supported. To use the samples "
            "without their calibration, move this file to another folder."
        )
    borders, gradients = (
        read_rows(base.with_name(base.name + suffix))
        for suffix in (BORDERS_SUFFIX, GRADIENTS_SUFFIX)
    )
    try:
        return BorderMachine(borders, gradients)
    except ArgumentError as error:
        raise ModelFileError(f"{base}: {error}") from error


def read_rows(file: Path) -> NDArray[np.float64]:
    """Return the matrix in a binary file of libAGF; ModelFileError if it does not hold one."""
    if not file.is_file():
        raise ModelFileError(f"{file}: the file is missing")
    with open_model_file(file) as stream:
        n_bytes = size_of(stream) - _HEADER_BYTES
        n_columns = int.from_bytes(stream.read(_HEADER_BYTES), "little", signed=True)
        if n_columns < 1 or n_bytes < 1 or n_bytes % (_NUMBER_BYTES * n_columns):
            raise ModelFileError(
                f"{file}: the file does not hold a number of features and rows of that many values"
            )
        content = stream.read(n_bytes)
    if len(content) != n_bytes:
        raise ModelFileError(f"{file}: the file was cut short while it was read")
    rows = np.frombuffer(content, "<f4").reshape(-1, n_columns).astype(np.float64)
    if not np.isfinite(rows).all():
        raise ModelFileError(f"{file}: not all values are finite")
    return rows
