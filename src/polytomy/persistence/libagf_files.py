"""libAGF's models, and control files that name trained models of libAGF or LIBSVM.

=================  ===============================================================================
NAME.brd           border samples of a binary classifier
NAME.bgd           their gradients
NAME.std           normalisation of the samples, which multi_borders and class_borders write with
                   the option -n
a control file     a scheme whose names of binaries are the NAMEs; see `load_control`
any name           a whole classifier as text, which mbh2mbm writes; see `load_all_in_one`
=================  ===============================================================================

The first three are binary: the number of columns as int32 and then rows of float32, little-endian.
A normalisation is a matrix M with a column b appended. A sample x becomes (x − b)·M before it
reaches the models. With -n, M is diagonal: b has the means of the features, and M the reciprocals
of their standard deviations.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from polytomy.calibration.calibrators import TemperatureCalibrator
from polytomy.errors import ArgumentError, ModelFileError, SchemeError
from polytomy.learners.borders import BorderMachine
from polytomy.learners.trained import Output, TrainedBinary, match_sides
from polytomy.persistence.archive import open_model_file, read_text_content, size_of
from polytomy.persistence.libsvm_models import VOTES, LibsvmModel, pool_of, read_model
from polytomy.persistence.models import compose_classifier
from polytomy.scheme import BinaryName, CodingMatrix, Partition, Scheme, read
from polytomy.scheme.codes import SHORT_FORMS
from polytomy.scheme.nodes import DEFAULT_BASE, number_binaries, own_base

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


# -- normalisation ---------------------------------------------------------------------------------


_SUFFIX = ".std"
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
    bases, names = [control, control.with_suffix("")], list[str]()
    if scheme is not None and scheme.nodes:
        bases.append(control.parent / own_base(scheme.nodes[0].binaries, ""))
        names = list(dict.fromkeys(str(each.binary) for each in scheme.partitions))
    common, separate = _existing(bases), _existing(control.parent / name for name in names)
    files = [*common, *separate]
    if not files:
        return None
    tables = [read_rows(file) for file in files]
    different = "Models with different normalisations cannot be combined."
    for file, table in zip(files, tables, strict=True):
        if not np.array_equal(table, tables[0]):
            raise ModelFileError(
                f"{file}: this normalisation is not that of {files[0].name}. {different}"
            )
    if not common and len(separate) < len(names):
        raise ModelFileError(
            f"{files[0]}: only some of the models have a normalisation. {different}"
        )
    return _scaler(tables[0], files[0])


def check_units(machines: Iterable[BorderMachine], source: str) -> None:
    """Raise ModelFileError if border samples cannot be in units of standard deviations."""
    for machine in machines:
        deviations = float(np.median(np.abs(machine.borders), axis=0).max())
        if deviations > _MOST_DEVIATIONS:
            raise ModelFileError(
                f"{source}: there is a normalisation ({_SUFFIX}), but border samples lie "
                f"{deviations:.3g} standard deviations from the mean, so they seem to be in the "
                "units of the data (option -u of libAGF). To load them so, move the normalisation "
                "to another folder."
            )


def _existing(bases: Iterable[Path]) -> list[Path]:
    files = (base.with_name(base.name + _SUFFIX) for base in bases if base.name)
    return [file for file in dict.fromkeys(files) if os.path.lexists(file)]


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
        check_units([machine for _, machine in borders], source)
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


# -- classifiers in one text file ------------------------------------------------------------------


#: How many bytes of a file `is_all_in_one` needs.
HEAD_BYTES = 64
_HEAD = re.compile(rb"(1v1|1vR|ADJ)[ \t\r]*\n[ \t]*[0-9]{1,9}[ \t\r]*\n")
_INTEGER = re.compile(rb"-?[0-9]{1,9}")
_CODES = {
    b"1v1": SHORT_FORMS["one-vs-one"],
    b"1vR": SHORT_FORMS["one-vs-rest"],
    b"ADJ": SHORT_FORMS["adjacent"],
}


def is_all_in_one(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is a classifier in one file."""
    return _HEAD.match(head) is not None


def load_all_in_one(path: str | os.PathLike[str], *, n_features: int | None = None) -> Any:
    """Load a classifier of border samples that mbh2mbm wrote to one text file.

    The first line is the kind of code: 1v1 (one-vs-one), 1vR (one-vs-rest) or ADJ (adjacent). The
    number of classes, their labels, and the signs of the rows of the code follow, each on a line.
    After that come two matrices for each row, the border samples and their gradients: a line with
    the numbers of rows and columns, and the rows.

    Samples are normalised if there is a file NAME.std next to it, as for `load_control`.

    Parameters
    ----------
    path : file
    n_features : int, optional
        Number of features of the samples, which must be that of the border samples.

    Returns
    -------
    fitted PolytomyClassifier, or a pipeline of a scaler and one
    """
    source = os.fspath(path)
    scheme, machines = _AllInOneReader(read_text_content(path), source).read()
    models = {
        partition.binary: NamedModel(source, machine)
        for partition, machine in zip(scheme.partitions, machines, strict=True)
    }
    return compose_models(scheme, models, find_normalisation(Path(path)), n_features, source)


class _AllInOneReader:
    """Reads the lines of a file one after the other."""

    def __init__(self, content: bytes, source: str) -> None:
        self._lines, self._source = content.split(b"\n"), source
        while self._lines and not self._lines[-1].strip():
            self._lines.pop()
        self._next = 0

    def read(self) -> tuple[Scheme, list[BorderMachine]]:
        """Return the scheme and the border samples of its partitions."""
        form = _CODES[self._line().strip()]
        (n_classes,) = self._integers(1, "the number of classes")
        labels = self._integers(n_classes, "a label for each class")
        if n_classes < 2 or len(set(labels)) < n_classes:
            raise self._fault("there must be two different classes or more")
        n_models = form.count_partitions(n_classes)
        signs = self._integers(n_models, "a sign for each partition")
        if set(signs) - {-1, 1}:
            raise self._fault("signs must be 1 or -1")
        # Each model takes four lines or more, so a small file cannot request a large matrix.
        if 4 * n_models > len(self._lines) - self._next:
            raise self._fault(f"the border samples of {n_models} models do not follow")
        try:
            code = CodingMatrix(np.array(signs)[:, None] * form.expand(n_classes).matrix)
        except ArgumentError as error:
            raise ModelFileError(f"{self._source}: {error}") from error
        scheme = Scheme.from_code(code, labels, number_binaries(DEFAULT_BASE, n_models))
        machines = [self._machine() for _ in range(n_models)]
        if self._next < len(self._lines):
            raise self._fault("there is text after the last model")
        return scheme, machines

    def _machine(self) -> BorderMachine:
        borders, gradients = self._matrix(), self._matrix()
        try:
            return BorderMachine(borders, gradients)
        except ArgumentError as error:
            raise self._fault(str(error)) from error

    def _matrix(self) -> NDArray[np.float64]:
        n_rows, n_columns = self._integers(2, "the numbers of rows and columns of a matrix")
        lines = self._lines[self._next : self._next + max(n_rows, 0)]
        if min(n_rows, n_columns) < 1 or len(lines) < n_rows:
            raise self._fault(f"a matrix of {n_rows} rows and {n_columns} columns does not follow")
        try:
            rows = np.array([line.split() for line in lines]).astype(np.float64)
        except ValueError:  # a word is not a number, or lines have different lengths
            rows = np.empty(0)
        if rows.shape != (n_rows, n_columns) or not np.isfinite(rows).all():
            raise self._fault(f"the next {n_rows} lines are not {n_columns} finite numbers each")
        self._next += n_rows
        return rows

    def _integers(self, count: int, what: str) -> list[int]:
        words = self._line().split()
        if len(words) != count or not all(map(_INTEGER.fullmatch, words)):
            raise self._fault(f"the line is not {what}")
        return [int(word) for word in words]

    def _line(self) -> bytes:
        if self._next >= len(self._lines):
            raise self._fault("the file is incomplete")
        self._next += 1
        return self._lines[self._next - 1]

    def _fault(self, problem: str) -> ModelFileError:
        return ModelFileError(f"{self._source}, line {self._next}: {problem}")


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
    if model.is_precomputed:
        raise ModelFileError(
            f"{file}: the kernel is precomputed, so the model needs kernel values with its own "
            "training samples and cannot be combined with other models"
        )
    return NamedModel(str(file), model)
