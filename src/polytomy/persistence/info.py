"""Information about a model file, without building the model."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import ModelFileError
from polytomy.learners.preparation import split_pipeline
from polytomy.learners.svm.machines import KernelMachine
from polytomy.model.scheme_argument import members_of
from polytomy.persistence.detection import FileKind, OpenedModel, find_kind, open_model
from polytomy.persistence.own.archive import Archive
from polytomy.persistence.own.fields import Fields
from polytomy.persistence.own.final_fields import read_final_summary, read_score
from polytomy.persistence.own.loading import open_archive, read_n_features
from polytomy.persistence.own.number_arrays import checked_shape
from polytomy.persistence.own.regression_fields import read_regression_score, read_target_range
from polytomy.persistence.own.saving import scheme_member
from polytomy.persistence.own.values import read_labels, read_value

__all__ = ["ModelInfo", "read_info"]


@dataclass(frozen=True, slots=True, eq=False)
class ModelInfo:
    """What a model file contains.

    Attributes
    ----------
    kind : str
        "model of polytomy", "model of LIBSVM", "control file with models" or "all-in-one model of
        libAGF".
    format_version : int; None for files that polytomy did not write
    versions : dict of the packages that wrote it and their versions
    classes : array of labels
    n_features : int or None
    feature_names : tuple of str, or None
    schemes : tuple of control texts, one, or those of an ensemble
    solver : str
    kinds : dict of the kinds of binaries and their numbers
    n_support_vectors : number of different support vectors
    n_bytes : size of the file
    metadata : dict that was passed to `save`
    final_calibration : dict, or None
        The ``kind`` of the final calibration, "bias", "decoder" or "provided", with its ``scale``
        (the inverse of a temperature) and ``floor``.
    out_of_fold_score : dict, or None
        ``out_of_fold_score_`` of the classifier or regressor.
    has_out_of_fold : bool
        Whether the file has out-of-fold scores, to learn a final calibration again.
    preprocessing : tuple of str
        Types of the transformers that all binaries share; empty if there are none.
    target_range : dict, or None
        For a regressor, whose classes are the numbers of its bins: the ``lower`` and the ``upper``
        end of all bins.
    has_sets : bool
        Whether the model can make prediction sets.
    has_prior, has_costs : bool
        Whether the model has a prior that is not that of training, and costs of decisions.
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
    final_calibration: Mapping[str, Any] | None = None
    out_of_fold_score: Mapping[str, float] | None = None
    has_out_of_fold: bool = False
    preprocessing: tuple[str, ...] = ()
    target_range: Mapping[str, float] | None = None
    has_sets: bool = False
    has_prior: bool = False
    has_costs: bool = False

    @property
    def scheme(self) -> str:
        """The control text, or the first one of an ensemble."""
        return self.schemes[0]


def read_info(path: str | os.PathLike[str]) -> ModelInfo:
    """Return information about a model file; ModelFileError if it cannot be read.

    Only the description of a .polytomy file is read. Other models are loaded completely.

    Parameters
    ----------
    path : any file that `load` can read

    Returns
    -------
    ModelInfo
    """
    kind = find_kind(path)
    if kind is not FileKind.OWN:
        return _loaded_info(open_model(path), Path(path).stat().st_size)
    archive, fields = open_archive(path)
    try:
        versions = fields.fields("versions")
        metadata = read_value(fields.raw("metadata"))
        final = fields.fields("final") if "final" in fields else None
        regression = fields.fields("regression") if "regression" in fields else None
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
            None if final is None else read_final_summary(final),
            _score(final, regression),
            "out_of_fold" in fields,
            tuple(fields.fields("preprocessing").texts("types"))
            if "preprocessing" in fields
            else (),
            None if regression is None else read_target_range(regression),
            "conformity" in fields,
            "prior" in fields,
            "costs" in fields,
        )
    except ModelFileError as error:
        raise archive.locate(error) from error


def _loaded_info(opened: OpenedModel, n_bytes: int) -> ModelInfo:
    """Return information about a model that polytomy did not write."""
    classifier = split_pipeline(opened.make(None))[1]
    machines = [binary.estimator for binary in classifier.binaries_]
    supports: dict[int, list[NDArray[Any]]] = {}
    for machine in machines:
        if isinstance(machine, KernelMachine):
            supports.setdefault(id(machine.pool), []).append(machine.support_)
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
        sum(len(np.unique(np.concatenate(support))) for support in supports.values()),
        n_bytes,
        {},
    )


def _score(final: Fields | None, regression: Fields | None) -> dict[str, float] | None:
    if regression is not None:
        return read_regression_score(regression)
    return None if final is None else read_score(final)


def _schemes(archive: Archive) -> tuple[str, ...]:
    texts = [archive.text(scheme_member(0))]
    while scheme_member(len(texts)) in archive:
        texts.append(archive.text(scheme_member(len(texts))))
    return tuple(texts)


def _kind(binary: Fields) -> str:
    """Return the kind of a binary in a word or two."""
    if "side" in binary:
        return "side of a model"
    if "estimator" not in binary:
        return "constant"
    estimator = binary.fields("estimator")
    prefix = ""
    while "steps" in estimator:
        steps = list(estimator.all_fields("steps"))
        if not steps:
            raise estimator.fault("steps", "a list of steps with different names")
        estimator, prefix = steps[-1].fields("step"), "scaled "
    if "specification" in estimator:
        name, *_ = [*estimator.text("specification").split(), "other"]
        return prefix + name
    return prefix + {"machine": "svc", "borders": "borders"}.get(estimator.text("kind"), "other")


def _n_rows(pool: Fields) -> int:
    shape = pool.items("sparse" if "sparse" in pool else "shape")
    return sum(checked_shape(shape, pool.where)[:1])
