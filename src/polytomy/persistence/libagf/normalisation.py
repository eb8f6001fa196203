"""libAGF's normalisation files, which multi_borders and class_borders write with the option -n.

A file NAME.std holds a matrix M with a column b appended, in the same form as border samples. A
sample x becomes (x − b)·M before it reaches the models. With -n, M is diagonal: b has the means of
the features, and M the reciprocals of their standard deviations.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from polytomy.errors import ModelFileError
from polytomy.persistence.libagf.border_files import read_rows
from polytomy.scheme import Scheme
from polytomy.scheme.layout import own_base

__all__ = ["check_units", "find_normalisation"]

_SUFFIX = ".std"
_TEXT_START = b"dim "
# Border samples lie between training samples, so few are this many standard deviations away.
_MOST_DEVIATIONS = 20.0


def find_normalisation(control: Path, scheme: Scheme | None = None) -> StandardScaler | None:
    """Return the normalisation that belongs to a control file, or None if there is none.

    multi_borders names it after its models: BASE.std for BASE.brd, BASE-00.brd or BASE.00.brd. A
    file named after the control file counts too, and so do files of the single models if they all
    have the same one. Raises ModelFileError for one that cannot be applied.

    Parameters
    ----------
    control : path of the control file, or of a model in one file
    scheme : its scheme, if its models are in files of their own
    """
    common = _existing([control, control.with_suffix("")])
    names: list[str] = []
    if scheme is not None and scheme.nodes:
        base = own_base(scheme.nodes[0].binaries, "")
        common += _existing([control.parent / base] if base else [])
        names = list(dict.fromkeys(str(each.binary) for each in scheme.partitions))
    separate = _existing(control.parent / name for name in names)
    if not common and not separate:
        return None
    files = [*common, *separate]
    tables = [_read_binary_rows(file) for file in files]
    for file, table in zip(files, tables, strict=True):
        if not np.array_equal(table, tables[0]):
            raise ModelFileError(
                f"{file}: this normalisation is not that of {files[0].name}. Models with different "
                "normalisations cannot be combined."
            )
    if not common and len(separate) < len(names):
        raise ModelFileError(
            f"{separate[0]}: only some of the models have a normalisation. Models with different "
            "normalisations cannot be combined."
        )
    return _scaler(tables[0], files[0])


def check_units(borders: Sequence[NDArray[np.float64]], control: Path) -> None:
    """Raise ModelFileError if border samples cannot be in units of standard deviations."""
    for samples in borders:
        deviations = float(np.median(np.abs(samples), axis=0).max())
        if deviations > _MOST_DEVIATIONS:
            raise ModelFileError(
                f"{control}: there is a normalisation ({_SUFFIX}), but border samples lie "
                f"{deviations:.3g} standard deviations from the mean, so they seem to be in the "
                "units of the data (option -u of libAGF). To load them so, move the normalisation "
                "to another folder."
            )


def _existing(bases: Iterable[Path]) -> list[Path]:
    files = (base.with_name(base.name + _SUFFIX) for base in bases if base.name)
    return [file for file in dict.fromkeys(files) if os.path.lexists(file)]


def _read_binary_rows(file: Path) -> NDArray[np.float64]:
    if file.is_file():
        with file.open("rb") as stream:
            if stream.read(len(_TEXT_START)) == _TEXT_START:
                raise ModelFileError(
                    f"{file}: normalisations in the old text form are not supported. Normalise "
                    "the samples yourself, and move this file to another folder."
                )
    return read_rows(file)


def _scaler(table: NDArray[np.float64], file: Path) -> StandardScaler:
    shift, matrix = table[:, -1], table[:, :-1]
    n_rows, n_columns = matrix.shape
    factors = np.diagonal(matrix)
    is_diagonal = n_rows == n_columns and np.count_nonzero(matrix) == np.count_nonzero(factors)
    if not is_diagonal or not np.all(factors > 0):
        raise ModelFileError(
            f"{file}: this transformation of {n_rows} features to {n_columns} does more than shift "
            "and scale each feature (option -S of libAGF, or features that are constant). "
            "Transform the samples yourself, and move this file to another folder."
        )
    scaler = StandardScaler()
    scaler.mean_, scaler.scale_ = shift, 1 / factors
    scaler.var_ = scaler.scale_**2
    scaler.n_features_in_, scaler.n_samples_seen_ = n_rows, 1
    return scaler
