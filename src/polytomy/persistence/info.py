"""What a saved model is, without making it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from polytomy.errors import ModelFileError
from polytomy.persistence.archive import Archive
from polytomy.persistence.fields import Fields
from polytomy.persistence.loading import open_archive
from polytomy.persistence.numbers import checked_shape
from polytomy.persistence.saving import scheme_member
from polytomy.persistence.values import read_labels, read_value

__all__ = ["ModelInfo", "read_info"]


@dataclass(frozen=True, slots=True, eq=False)
class ModelInfo:
    """What a .polytomy file says of itself.

    Attributes
    ----------
    format_version : int
    versions : dict of packages and versions that wrote it
    classes : array of labels
    n_features : int or None
    feature_names : tuple of str, or None
    schemes : control texts, one, or those of an ensemble
    solver : str
    kinds : dict of kinds of binaries and their numbers
    n_support_vectors : number of support vectors, each counted once
    n_bytes : size of the file
    metadata : what `save` was given
    """

    format_version: int
    versions: Mapping[str, str]
    classes: NDArray[Any]
    n_features: int | None
    feature_names: tuple[str, ...] | None
    schemes: tuple[str, ...]
    solver: str
    kinds: Mapping[str, int]
    n_support_vectors: int
    n_bytes: int
    metadata: Mapping[str, Any]

    @property
    def scheme(self) -> str:
        """The control text, or the first one of an ensemble."""
        return self.schemes[0]


def read_info(path: str | os.PathLike[str]) -> ModelInfo:
    """Return what a saved model is, without making it; ModelFileError if it cannot be read."""
    archive, fields = open_archive(path)
    try:
        versions = fields.fields("versions")
        metadata = read_value(fields.raw("metadata"))
        return ModelInfo(
            fields.integer("format_version", least=1),
            {name: versions.text(name) for name in versions},
            read_labels(fields.fields("classes")),
            fields.integer("n_features", least=0) if "n_features" in fields else None,
            tuple(fields.texts("feature_names")) if "feature_names" in fields else None,
            _schemes(archive),
            fields.fields("parameters").text("solver"),
            Counter(_kind(binary) for binary in fields.all_fields("binaries")),
            sum(_n_rows(pool) for pool in fields.all_fields("pools")),
            Path(path).stat().st_size,
            metadata if isinstance(metadata, dict) else {},
        )
    except ModelFileError as error:
        raise archive.fault(str(error)) from error


def _schemes(archive: Archive) -> tuple[str, ...]:
    texts = [archive.text(scheme_member(0))]
    while scheme_member(len(texts)) in archive:
        texts.append(archive.text(scheme_member(len(texts))))
    return tuple(texts)


def _kind(binary: Fields) -> str:
    """Return what a binary is, in a word or two."""
    if "estimator" not in binary:
        return "constant"
    estimator = binary.fields("estimator")
    prefix = ""
    while "steps" in estimator:
        steps = list(estimator.all_fields("steps"))
        if not steps:
            raise estimator.fault("steps", "a list of steps")
        estimator, prefix = steps[-1].fields("step"), "scaled "
    if "specification" in estimator:
        return prefix + estimator.text("specification").split()[0]
    return prefix + {"machine": "svc", "borders": "borders"}.get(estimator.text("kind"), "other")


def _n_rows(pool: Fields) -> int:
    shape = pool.items("sparse" if "sparse" in pool else "shape")
    return sum(checked_shape(shape, pool.where)[:1])
