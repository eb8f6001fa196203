"""Control files that name model files: schemes whose binaries are already trained.

libAGF saves its classifiers this way, as a control file with the files of the binaries next to it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from polytomy.errors import ModelFileError, SchemeError
from polytomy.learners.svm.machines import VectorPool
from polytomy.learners.trained import TrainedBinary, match_sides
from polytomy.persistence.libagf_files import (
    BORDERS_SUFFIX,
    border_binary,
    check_units,
    compose_models,
    find_normalisation,
    read_borders,
)
from polytomy.persistence.libsvm_models import VOTES, binary_of_pair, pool_of
from polytomy.persistence.libsvm_text import read_model
from polytomy.scheme import BinaryName, Partition, read

_SUFFIXES = ("", ".model", ".svm")


def load_control(path: str | os.PathLike[str], *, n_features: int | None = None) -> Any:
    """Load a classifier from a control file that names trained models.

    A name is a path relative to the folder of the control file. It names a two-class LIBSVM model
    (the suffix .model or .svm can be left out) or libAGF's border samples, a pair of files with the
    suffixes .brd and .bgd. The labels of a LIBSVM model are −1 and +1, or 0 and 1, for the left and
    right side of the partition, or the labels of the two classes.

    If multi_borders was called with -n, it wrote a normalisation BASE.std next to the models. Then
    samples are normalised before they reach the models, as ``classify_m -a BASE.std`` does.

    Parameters
    ----------
    path : control file
    n_features : int, optional
        Number of features of the samples; by default the largest index of any support vector.

    Returns
    -------
    fitted PolytomyClassifier, or a pipeline of a scaler and one
        The solver is "least-squares", as in libAGF. One-vs-one of LIBSVM models without
        probabilities counts votes.
    """
    scheme = read(path)
    if not scheme.partitions:
        raise ModelFileError(f"{os.fspath(path)}: the text is a single class and names no model")
    if not scheme.is_binary:
        (wide, *_) = [each for each in scheme.partitions if each.n_sides > 2]
        raise ModelFileError(
            f"{os.fspath(path)}: partition {wide.binary} has {wide.n_sides} sides, but model files "
            "have two"
        )
    folder = Path(path).parent
    models: dict[BinaryName, _LibsvmFile | _BordersFile] = {}
    for partition in scheme.partitions:
        if partition.binary not in models:
            models[partition.binary] = _read_binary_model(partition.binary, folder, os.fspath(path))
    scaler = find_normalisation(Path(path), scheme)
    if scaler is not None:
        if n_features not in (None, scaler.n_features_in_):
            raise ModelFileError(
                f"{os.fspath(path)}: the normalisation of the models has {scaler.n_features_in_} "
                f"features instead of {n_features}"
            )
        n_features = scaler.n_features_in_
        borders = [each.machine.borders for each in models.values() if type(each) is _BordersFile]
        check_units(borders, Path(path))
    if n_features is None:
        n_features = max(model.n_features for model in models.values())
    makers = {name: model.with_features(n_features) for name, model in models.items()}
    binaries = [makers[partition.binary](partition) for partition in scheme.partitions]
    are_bare = any(model.is_bare for model in models.values())
    is_one_vs_one = scheme.is_flat and scheme.code.is_one_vs_one
    solver = VOTES if are_bare and is_one_vs_one else "least-squares"
    return compose_models(scheme, binaries, solver, n_features, scaler)


def _read_binary_model(binary: BinaryName, folder: Path, source: str) -> _LibsvmFile | _BordersFile:
    if binary.is_specification:
        raise ModelFileError(
            f"{source}: {binary} describes a model to train, but is not the name of a model file. "
            "Train the scheme first."
        )
    if os.path.basename(binary.text) in ("", ".", ".."):
        raise ModelFileError(f"{source}: {binary} is a folder, but not the name of a model file")
    base = folder / binary.text
    try:
        if base.with_name(base.name + BORDERS_SUFFIX).is_file():
            return _BordersFile(base)
        for suffix in _SUFFIXES:
            file = base.with_name(base.name + suffix)
            if file.is_file():
                return _LibsvmFile(file)
    except OSError as error:  # no permission, or a name that is too long
        raise ModelFileError(f"{source}: {binary} cannot be read: {error.strerror}") from error
    raise ModelFileError(
        f"{source}: there is no model file {base}, with or without .model, .svm or .brd"
    )


class _LibsvmFile:
    """A two-class model of LIBSVM.

    Like `_BordersFile`, it has the number of features that it needs, and whether it gives decision
    values without probabilities. `with_features` returns the function that makes the binary of a
    partition from it.
    """

    def __init__(self, file: Path) -> None:
        self._source = str(file)
        self._model = read_model(file)
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
        self._base, self.machine = base, read_borders(base)
        self.n_features = self.machine.n_features_in_

    def with_features(self, n_features: int) -> Callable[[Partition], TrainedBinary]:
        if n_features != self.n_features:
            raise ModelFileError(
                f"{self._base}: the border samples have {self.n_features} features instead of "
                f"{n_features}"
            )
        return lambda partition: border_binary(str(partition.binary), self.machine)
