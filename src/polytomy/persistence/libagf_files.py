"""libAGF's models, and control files that name trained models of libAGF or LIBSVM.

=================  ===============================================================================
NAME.brd           border samples of a binary classifier
NAME.bgd           their gradients
NAME.std           normalisation of the samples, which multi_borders and class_borders write with
                   the option -n
a control file     a scheme whose names of binaries are the NAMEs; see `load_control`
=================  ===============================================================================

The first three are binary: the number of columns as int32 and then rows of float32, little-endian.
A normalisation is a matrix M with a column b appended. A sample x becomes (x − b)·M before it
reaches the models. With -n, M is diagonal: b has the means of the features, and M the reciprocals
of their standard deviations.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from polytomy.calibration.calibrators import TemperatureCalibrator
from polytomy.datasets.arrays import map_vectors, write_vectors
from polytomy.errors import ArgumentError, DataError, ModelFileError, SchemeError
from polytomy.files import open_atomically
from polytomy.learners.borders import BorderMachine
from polytomy.learners.trained import Output, TrainedBinary, match_sides
from polytomy.persistence.libsvm_models import VOTES, LibsvmModel, pool_of, read_model
from polytomy.persistence.models import compose_classifier
from polytomy.scheme import BinaryName, Partition, Scheme, read
from polytomy.scheme.nodes import own_base

BORDERS_SUFFIX, GRADIENTS_SUFFIX = ".brd", ".bgd"
_CALIBRATION_SUFFIX = ".clb"


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
    try:
        rows = map_vectors(file).astype(np.float64)
    except DataError as error:
        raise ModelFileError(*error.args) from error
    if not np.isfinite(rows).all():
        raise ModelFileError(f"{file}: not all values are finite")
    return rows


def write_borders(classifier: Any, control: str | os.PathLike[str]) -> None:
    """Write a classifier of border samples as files that libAGF and `load_control` read.

    Each binary becomes a pair of files next to the control file, NAME.brd and NAME.bgd. They have
    single precision. The final calibration is not written.

    Parameters
    ----------
    classifier : PolytomyClassifier, compressed with ``method="borders"`` or read by `load_control`
    control : path of the control file to write
    """
    composition = classifier.composition_
    models = [binary.estimator for binary in composition.binaries]
    if not all(isinstance(model, BorderMachine) for model in models):
        raise ArgumentError(
            'only classifiers of border samples can be written. Use compress(X, y, method="borders'
            '").'
        )
    if len(composition.arrangements) != 1 or composition.preprocessing is not None:
        raise ArgumentError("ensembles and shared pre-processing cannot be written for libAGF.")
    (arrangement,), path = composition.arrangements, Path(control)
    columns, signs = arrangement.columns.tolist(), arrangement.signs.tolist()
    for partition, column, sign in zip(arrangement.scheme.partitions, columns, signs, strict=True):
        machine, name = models[column], str(partition.binary)
        write_vectors(path.with_name(name + BORDERS_SUFFIX), machine.borders)
        write_vectors(path.with_name(name + GRADIENTS_SUFFIX), sign * machine.gradients)
    with open_atomically(path) as file:
        file.write(f"{arrangement.scheme}\n".encode())


# -- normalisation ---------------------------------------------------------------------------------


_SUFFIX = ".std"


def find_normalisation(control: Path, scheme: Scheme) -> StandardScaler | None:
    """Return the normalisation that belongs to a control file, or None if there is none.

    multi_borders names it after its models: BASE.std for BASE.brd, BASE-00.brd or BASE.00.brd. A
    file named after the control file counts too. Raises ModelFileError for one that cannot be
    applied.

    Parameters
    ----------
    control : path of the control file
    scheme : its scheme
    """
    base = own_base(scheme.nodes[0].binaries, "") if scheme.nodes else ""
    names = [str(each.binary) for each in scheme.partitions]
    common = [control.name, control.stem, base]
    found = [
        name
        for name in dict.fromkeys([*common, *names])
        if name and os.path.lexists(control.parent / f"{name}{_SUFFIX}")
    ]
    if not found:
        return None
    file = control.parent / f"{found[0]}{_SUFFIX}"
    if found[0] not in common:
        raise ModelFileError(
            f"{file}: this is the normalisation of a single model, and only one for all models is "
            f"supported. If all models have the same, save it as {control.stem}{_SUFFIX}."
        )
    return _scaler(read_rows(file), file)


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


# -- classifiers made of models --------------------------------------------------------------------


class NamedModel(NamedTuple):
    """A trained model, and the file that it was read from."""

    source: str
    model: LibsvmModel | BorderMachine

    def make_binary(self, partition: Partition, n_features: int) -> TrainedBinary:
        """Return the binary of a partition."""
        model, name = self.model, str(partition.binary)
        if isinstance(model, BorderMachine):
            # tanh(p) = 2 / (1 + exp(-2p)) - 1
            return TrainedBinary(name, Output.MARGIN, model, TemperatureCalibrator.of(2.0, 0.0))
        labels = sorted(model.labels)
        sides = partition.negative_classes, partition.positive_classes
        try:
            _, positive_index = match_sides(SimpleNamespace(classes_=labels), *sides, name)
        except SchemeError as error:
            raise ModelFileError(f"{self.source}: {error}") from error
        is_first = model.labels[0] == labels[positive_index]
        pool = pool_of(model, self.source, n_features)
        return model.machine_of((0, 1), is_first, pool, name)


def compose_models(
    scheme: Scheme,
    models: Mapping[BinaryName, NamedModel],
    scaler: StandardScaler | None,
    n_features: int | None,
    source: str,
) -> Any:
    """Return the fitted classifier of a scheme and its models, after a scaler if there is one.

    Parameters
    ----------
    scheme : Scheme
    models : the model of each name of a binary
    scaler : normalisation of the samples, if there is one
    n_features : number of features of the samples, if it is known
    source : name of the file, for messages
    """
    borders = [
        (each.source, m) for each in models.values() if type(m := each.model) is BorderMachine
    ]
    known = [(f"{file}: the border samples have", m.n_features_in_) for file, m in borders]
    if scaler is not None:
        own = f"{source}: the normalisation of the models has", scaler.n_features_in_
        known.insert(0, own)
    libsvm = [each.model for each in models.values() if isinstance(each.model, LibsvmModel)]
    if n_features is None:
        n_features = known[0][1] if known else max(model.n_features for model in libsvm)
    for what, count in known:
        if count != n_features:
            raise ModelFileError(f"{what} {count} features instead of {n_features}")
    are_bare = any(model.prob_a is None for model in libsvm)
    is_one_vs_one = scheme.is_flat and scheme.code.is_one_vs_one
    classifier = compose_classifier(
        scheme,
        [models[each.binary].make_binary(each, n_features) for each in scheme.partitions],
        VOTES if are_bare and is_one_vs_one else "least-squares",
        n_features,
    )
    if scaler is None:
        return classifier
    return Pipeline([("scaler", scaler), ("classifier", classifier)])


# -- Control files that name model files: schemes whose binaries are already trained --


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
    source = os.fspath(path)
    scheme = read(path)
    if not scheme.partitions:
        raise ModelFileError(f"{source}: the text is a single class and names no model")
    if not scheme.is_binary:
        (wide, *_) = [each for each in scheme.partitions if each.n_sides > 2]
        raise ModelFileError(
            f"{source}: partition {wide.binary} has {wide.n_sides} sides, but model files have two"
        )
    names = dict.fromkeys(each.binary for each in scheme.partitions)
    models = {name: _read_binary_model(name, Path(path).parent, source) for name in names}
    scaler = find_normalisation(Path(path), scheme)
    return compose_models(scheme, models, scaler, n_features, source)


def _read_binary_model(binary: BinaryName, folder: Path, source: str) -> NamedModel:
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
            return NamedModel(str(base), read_borders(base))
        files = [base.with_name(base.name + suffix) for suffix in _SUFFIXES]
        file = next((file for file in files if file.is_file()), None)
        model = None if file is None else read_model(file)
    except OSError as error:  # no permission, or a name that is too long
        raise ModelFileError(f"{source}: {binary} cannot be read: {error.strerror}") from error
    if model is None:
        raise ModelFileError(
            f"{source}: there is no model file {base}, with or without .model, .svm or .brd"
        )
    return NamedModel(str(file), model)
