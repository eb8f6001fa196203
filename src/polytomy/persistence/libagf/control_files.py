"""Control files that name model files: schemes whose binaries are already trained.

libAGF saves its classifiers this way, as a control file with the files of the binaries beside it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from polytomy.binary import Output, TrainedBinary
from polytomy.binary.answers import match_sides
from polytomy.classifier import PolytomyClassifier
from polytomy.composition import Dichotomy
from polytomy.errors import ModelFileError, SchemeError
from polytomy.persistence.fitted import (
    arrange_in_order,
    compose_trained,
    fitted_classifier,
    order_in_scheme,
)
from polytomy.persistence.libagf.border_files import BORDERS_SUFFIX, read_borders
from polytomy.persistence.libsvm.model_text import parse_libsvm
from polytomy.persistence.libsvm.models import COUPLED, VOTES, binary_of_pair, pool_of
from polytomy.persistence.own.binaries import logistic_calibrator
from polytomy.scheme import BinaryName, Partition, Scheme, read
from polytomy.svm.machines import VectorPool

__all__ = ["load_control"]

_SUFFIXES = ("", ".model", ".svm")


def load_control(
    path: str | os.PathLike[str], *, n_features: int | None = None
) -> PolytomyClassifier:
    """Load a classifier from a control file that names trained models.

    A name is a path relative to the folder of the control file. It leads to a two-class model of
    LIBSVM (the suffix .model or .svm can be left out) or to libAGF's border samples, a pair of
    files with the suffixes .brd and .bgd. The labels of a LIBSVM model are −1 and +1, or 0 and 1,
    for the left and right side of the partition, or the labels of the two classes.

    Parameters
    ----------
    path : control file
    n_features : int, optional
        Number of features of the samples; by default the largest index of any support vector.

    Returns
    -------
    fitted PolytomyClassifier
    """
    scheme = read(path)
    folder = Path(path).parent
    models: dict[BinaryName, _Model] = {}
    for partition in scheme.partitions:
        if partition.binary not in models:
            models[partition.binary] = _read_model(partition.binary, folder, os.fspath(path))
    if n_features is None:
        n_features = max((model.n_features for model in models.values()), default=0)
    makers = {name: model.with_features(n_features) for name, model in models.items()}
    binaries = [makers[partition.binary](partition) for partition in scheme.partitions]
    labels = _labels_of(scheme)
    rank = {position: i for i, position in enumerate(np.argsort(labels).tolist())}
    dichotomies = [
        Dichotomy(
            str(each.binary),
            tuple([rank[c] for c in each.negative]),
            tuple([rank[c] for c in each.positive]),
            each.binary,
            estimator=SVC(),
        )
        for each in scheme.partitions
    ]
    are_bare = any(model.is_bare for model in models.values())
    are_of_libsvm = all(isinstance(model, _LibsvmFile) for model in models.values())
    solver = "least-squares"
    if scheme.is_flat and scheme.code.is_one_vs_one and (are_bare or are_of_libsvm):
        solver = VOTES if are_bare else COUPLED
    classes = np.sort(labels)
    arrangement = arrange_in_order(scheme, classes)
    composition = compose_trained(
        binaries,
        dichotomies,
        classes,
        scheme,
        solver,
        arrangements=[arrangement],
        tie_order=order_in_scheme(arrangement),
    )
    return fitted_classifier(composition, n_features=n_features)


class _Model(Protocol):
    """A model file that has been read."""

    n_features: int  #: number of features that it needs
    is_bare: bool  #: whether it gives decision values without probabilities

    def with_features(self, n_features: int) -> Callable[[Partition], TrainedBinary]:
        """Return the function that makes the binary of a partition from its model."""
        ...


def _read_model(binary: BinaryName, folder: Path, source: str) -> _Model:
    if binary.is_specification:
        raise ModelFileError(
            f"{source}: {binary} describes a model to train, but is not the name of a model file. "
            "Train the scheme first."
        )
    base = folder / binary.text
    if base.with_name(base.name + BORDERS_SUFFIX).is_file():
        return _BordersFile(base)
    for suffix in _SUFFIXES:
        file = base.with_name(base.name + suffix)
        if file.is_file():
            return _LibsvmFile(file)
    raise ModelFileError(
        f"{source}: there is no model file {base}, with or without .model, .svm or .brd"
    )


class _LibsvmFile:
    """A two-class model of LIBSVM."""

    def __init__(self, file: Path) -> None:
        self._source = str(file)
        self._model = parse_libsvm(file.read_bytes(), self._source)
        if self._model.is_precomputed:
            raise ModelFileError(
                f"{self._source}: the kernel is precomputed, so the model needs kernel values with "
                "its own training samples and cannot be combined with other models"
            )
        self.n_features = self._model.n_features
        self.is_bare = self._model.prob_a is None

    def with_features(self, n_features: int) -> Callable[[Partition], TrainedBinary]:
        pool = pool_of(self._model, self._source, n_features)
        return lambda partition: self._binary(partition, pool)

    def _binary(self, partition: Partition, pool: VectorPool) -> TrainedBinary:
        labels, name = sorted(self._model.labels), str(partition.binary)
        sides = partition.negative_classes, partition.positive_classes
        try:
            _, positive_index = match_sides(SimpleNamespace(classes_=labels), *sides, name)
        except SchemeError as error:
            raise ModelFileError(f"{self._source}: {error}") from error
        is_first = self._model.labels[0] == labels[positive_index]
        return binary_of_pair(self._model, pool, (0, 1), 0, is_first, name)


class _BordersFile:
    """Border samples of libAGF."""

    is_bare = False

    def __init__(self, base: Path) -> None:
        self._base, self._machine = base, read_borders(base)
        self.n_features = self._machine.n_features_in_

    def with_features(self, n_features: int) -> Callable[[Partition], TrainedBinary]:
        if n_features != self.n_features:
            raise ModelFileError(
                f"{self._base}: the border samples have {self.n_features} features instead of "
                f"{n_features}"
            )
        # tanh(p) = 2 / (1 + exp(-2p)) - 1
        calibrator = logistic_calibrator("temperature", 2.0, 0.0)
        return lambda partition: TrainedBinary(
            str(partition.binary), Output.MARGIN, self._machine, calibrator
        )


def _labels_of(scheme: Scheme) -> NDArray[Any]:
    """Return the labels as an array of one type: all as text if some are text."""
    is_mixed = len({isinstance(label, str) for label in scheme.classes}) > 1
    return np.array([str(label) if is_mixed else label for label in scheme.classes])
