"""What a saved model is, without making it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.composition import members_of
from polytomy.errors import ModelFileError
from polytomy.persistence.detection import FileKind, OpenedModel, find_kind, open_model
from polytomy.persistence.own.archive import Archive
from polytomy.persistence.own.fields import Fields
from polytomy.persistence.own.loading import open_archive, read_n_features
from polytomy.persistence.own.number_arrays import checked_shape
from polytomy.persistence.own.saving import scheme_member
from polytomy.persistence.own.values import read_labels, read_value
from polytomy.svm.machines import KernelMachine

__all__ = ["ModelInfo", "read_info"]


@dataclass(frozen=True, slots=True, eq=False)
class ModelInfo:
    """What a model file says of itself.

    Attributes
    ----------
    kind : str
        "model of polytomy", "model of LIBSVM" or "control file with models".
    format_version : int; None for files that are not polytomy's own
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

    kind: str
    format_version: int | None
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
    """Return what the model in a file is; ModelFileError if it cannot be read.

    Polytomy's own files are told without making the model; LIBSVM's, and control files that name
    models, are all that `load` takes.
    """
    kind = find_kind(path)
    if kind is not FileKind.OWN:
        return _info_of(open_model(path), Path(path).stat().st_size)
    archive, fields = open_archive(path)
    try:
        versions = fields.fields("versions")
        metadata = read_value(fields.raw("metadata"))
        return ModelInfo(
            kind,
            fields.integer("format_version", least=1),
            {name: versions.text(name) for name in versions},
            read_labels(fields.fields("classes")),
            read_n_features(fields),
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


def _info_of(opened: OpenedModel, n_bytes: int) -> ModelInfo:
    """Return what a model is that polytomy did not write."""
    classifier = opened.make(None)
    machines = [binary.estimator for binary in classifier.binaries_]
    rows: dict[int, list[NDArray[Any]]] = {}
    for machine in machines:
        if isinstance(machine, KernelMachine):
            rows.setdefault(id(machine.pool), []).append(machine.support_)
    word = "precomputed svc" if opened.is_precomputed else "svc"
    kinds = [word if isinstance(each, KernelMachine) else "borders" for each in machines]
    return ModelInfo(
        opened.kind,
        None,
        {},
        classifier.classes_,
        None if opened.is_precomputed else classifier.n_features_in_,
        None,
        tuple([str(scheme) for scheme in members_of(classifier.scheme_)]),
        classifier.solver,
        Counter(kinds),
        sum(len(np.unique(np.concatenate(of_pool))) for of_pool in rows.values()),
        n_bytes,
        {},
    )


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
