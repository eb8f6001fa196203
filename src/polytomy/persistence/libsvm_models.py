"""LIBSVM's model files, which svm-train writes and svm-predict reads (Chang and Lin 2011).

The file has a header of keys and values, a line ``SV``, and a line for each support vector: its
coefficients in the machines against the other classes, and its features as ``index:value``.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import SVC, NuSVC

from polytomy.calibration.calibrators import (
    Calibrator,
    LogisticMap,
    SigmoidCalibrator,
    UncalibratedMap,
)
from polytomy.classifier import PolytomyClassifier
from polytomy.designs import one_vs_one
from polytomy.errors import Argument, ArgumentError, CalibrationWarning, ModelFileError, warn_caller
from polytomy.files import open_atomically
from polytomy.learners.preparation import list_steps, split_pipeline, takes_pairwise_values
from polytomy.learners.svm.kernels import KERNELS, LARGEST_DEGREE, KernelFunction
from polytomy.learners.svm.machines import KernelMachine, VectorPool, kernel_of, pool_by_bytes
from polytomy.learners.trained import Output, TrainedBinary
from polytomy.model.composition import Composition
from polytomy.persistence.archive import open_model_file, read_text_content
from polytomy.persistence.models import compose_classifier

#: LIBSVM's names of kernels, and scikit-learn's.
_KERNELS = {kernel.libsvm_name: name for name, kernel in KERNELS.items()}
_PRECOMPUTED = "precomputed"
_TYPES = ("c_svc", "nu_svc")
_OTHER_TYPES = ("one_class", "epsilon_svr", "nu_svr")
_KEYS = {
    *("svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv", "rho"),
    *("label", "probA", "probB", "prob_density_marks", "nr_sv"),
}
_LONGEST_KEY = max(map(len, _KEYS))
# Samples become rows of this many numbers, so memory must be bounded.
_LARGEST_INDEX = 2**26
_PAIR = re.compile(rb"[0-9]+:[-+.0-9eE]+")


@dataclass(frozen=True, slots=True, eq=False)
class LibsvmModel:
    """A model of LIBSVM: one machine for each pair of classes, with common support vectors.

    Attributes
    ----------
    svm_type : "c_svc" or "nu_svc"
    kernel : KernelFunction
        A precomputed kernel is a linear one whose support vectors select columns of kernel values.
    is_precomputed : bool
    labels : the classes, in the order of the file
    n_vectors : number of support vectors of each class; vectors are sorted by class
    vectors : CSR array of shape (n_support, n_features)
    coefficients : array of shape (n_classes − 1, n_support)
    rho : array of one value for each pair of classes; f(x) = Σ coefficient · K(vector, x) − rho
    prob_a, prob_b : array of one value for each pair, or None
        P(first class) = 1 / (1 + exp(A·f + B))
    """

    svm_type: str
    kernel: KernelFunction
    is_precomputed: bool
    labels: tuple[int, ...]
    n_vectors: tuple[int, ...]
    vectors: csr_array
    coefficients: NDArray[np.float64]
    rho: NDArray[np.float64]
    prob_a: NDArray[np.float64] | None = None
    prob_b: NDArray[np.float64] | None = None

    @property
    def n_features(self) -> int:
        """The largest index of a feature."""
        return int(self.vectors.shape[1])

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield the pairs of classes in the order of `rho`."""
        n_classes = len(self.labels)
        yield from ((i, j) for i in range(n_classes) for j in range(i + 1, n_classes))


def read_model(path: str | os.PathLike[str]) -> LibsvmModel:
    """Return the model in a file; ModelFileError if it is not one.

    Messages do not quote a file that is not a model: a control file can name any file.
    """
    source = os.fspath(path)
    with open_model_file(path) as file:
        head = file.read(_LONGEST_KEY + 1)
        if head.split(b" ")[0].decode("ascii", "replace") not in _KEYS:
            raise ModelFileError(f"{source}: this is not a LIBSVM model")
    return parse_libsvm(read_text_content(path), source)


def parse_libsvm(content: bytes, source: str) -> LibsvmModel:
    """Return the model in a file's content; ModelFileError with the line if it is not one."""
    header, lines, first = _split_header(content, source)
    reader = _Header(header, source)
    svm_type = reader.word("svm_type")
    if svm_type not in _TYPES:
        shown = svm_type if svm_type in _OTHER_TYPES else "unknown"
        raise reader.fault("svm_type", f"is {shown}; only c_svc and nu_svc are classifiers")
    kernel, is_precomputed = _kernel(reader)
    labels = reader.integers("label")
    n_classes = reader.integer("nr_class")
    if len(labels) != n_classes or len(set(labels)) < n_classes or n_classes < 2:
        raise reader.fault("label", f"does not list {n_classes} different classes, two or more")
    n_vectors = reader.integers("nr_sv")
    if len(n_vectors) != n_classes or min(n_vectors) < 0:
        raise reader.fault("nr_sv", f"does not list a count for each of {n_classes} classes")
    if not sum(n_vectors) == reader.integer("total_sv") == len(lines):
        raise reader.fault("total_sv", f"and nr_sv do not match the {len(lines)} lines after SV")
    n_pairs = n_classes * (n_classes - 1) // 2
    # Before the coefficients: with a number for each pair, the size of the file bounds the memory.
    rho = reader.numbers("rho", n_pairs)
    optional = [
        reader.numbers(key, n_pairs) if key in header else None for key in ("probA", "probB")
    ]
    if (optional[0] is None) != (optional[1] is None):
        raise ModelFileError(f"{source}: one of probA and probB is missing")
    coefficients, vectors = _vectors(lines, n_classes - 1, is_precomputed, first, source)
    return LibsvmModel(
        svm_type,
        kernel,
        is_precomputed,
        tuple(labels),
        tuple(n_vectors),
        vectors,
        coefficients,
        rho,
        *optional,
    )


def print_libsvm(model: LibsvmModel) -> str:
    """Return the text of a model file; all numbers read back exactly."""
    kernel = model.kernel
    lines = [f"svm_type {model.svm_type}", f"kernel_type {kernel.about.libsvm_name}"]
    lines += [f"{name} {value!r}" for name, value in kernel.parameters.items()]
    lines += [
        f"nr_class {len(model.labels)}",
        f"total_sv {sum(model.n_vectors)}",
        f"rho {_joined(model.rho.tolist())}",
        f"label {_joined(model.labels)}",
    ]
    if model.prob_a is not None and model.prob_b is not None:
        lines += [f"probA {_joined(model.prob_a.tolist())}"]
        lines += [f"probB {_joined(model.prob_b.tolist())}"]
    lines += [f"nr_sv {_joined(model.n_vectors)}", "SV"]
    vectors = model.vectors
    for row, coefficients in enumerate(model.coefficients.T.tolist()):
        part = slice(vectors.indptr[row], vectors.indptr[row + 1])
        indices, values = (vectors.indices[part] + 1).tolist(), vectors.data[part].tolist()
        pairs = [f"{index}:{value!r}" for index, value in zip(indices, values, strict=True)]
        lines.append(" ".join([*map(repr, coefficients), *pairs, ""]))
    return "\n".join(lines) + "\n"


def _joined(numbers: Sequence[Any]) -> str:
    return " ".join(map(repr, numbers))


def _split_header(content: bytes, source: str) -> tuple[dict[str, list[str]], list[bytes], int]:
    """Return the header, the lines of support vectors, and the line number of the first one."""
    lines = content.split(b"\n")
    header: dict[str, list[str]] = {}
    for number, line in enumerate(lines, 1):
        words = line.decode("ascii", "replace").split()
        if words == ["SV"]:
            return header, [each for each in lines[number:] if each.strip()], number + 1
        if not words or words[0] not in _KEYS or words[0] in header:
            what = "the line is empty"
            if words:
                # Only LIBSVM's own words are quoted: the file may be anything.
                is_known = words[0] in _KEYS
                what = f"{words[0]} is repeated" if is_known else "the first word is unknown"
            raise ModelFileError(f"{source}, line {number}: {what}; this is not a LIBSVM model")
        header[words[0]] = words[1:]
    raise ModelFileError(f"{source}: the line SV is missing; the file is incomplete")


class _Header:
    """The header of a model file; its values are checked when they are read."""

    def __init__(self, header: dict[str, list[str]], source: str) -> None:
        self._header, self._source = header, source

    def word(self, key: str) -> str:
        words = self._words(key)
        if len(words) != 1:
            raise self.fault(key, "is not one word")
        return words[0]

    def integer(self, key: str) -> int:
        return self._integer(key, self.word(key))

    def integers(self, key: str) -> list[int]:
        return [self._integer(key, word) for word in self._words(key)]

    def number(self, key: str) -> float:
        return float(self.numbers(key, 1)[0])

    def numbers(self, key: str, count: int) -> NDArray[np.float64]:
        words = self._words(key)
        if len(words) != count:
            raise self.fault(key, f"has {len(words)} numbers instead of {count}")
        try:
            values = np.array([_number(word) for word in words])
        except ValueError:
            raise self.fault(key, "does not consist of finite numbers") from None
        return values

    def _words(self, key: str) -> list[str]:
        if key not in self._header:
            raise self.fault(key, "is missing")
        return self._header[key]

    def _integer(self, key: str, word: str) -> int:
        if not re.fullmatch(r"[-+]?[0-9]{1,10}", word):
            raise self.fault(key, "does not consist of integers")
        return int(word)

    def fault(self, key: str, what: str) -> ModelFileError:
        return ModelFileError(f"{self._source}: {key} {what}")


def _kernel(reader: _Header) -> tuple[KernelFunction, bool]:
    name = reader.word("kernel_type")
    if name == _PRECOMPUTED:
        return KernelFunction("linear"), True
    if name not in _KERNELS:
        raise reader.fault("kernel_type", "is not a kernel of LIBSVM")
    kind = _KERNELS[name]
    used = KERNELS[kind].parameters
    gamma = reader.number("gamma") if "gamma" in used else 0.0
    degree = reader.integer("degree") if "degree" in used else 0
    if degree < 0:
        raise reader.fault("degree", "is negative")
    if degree > LARGEST_DEGREE:
        raise reader.fault("degree", f"is {degree}; polytomy reads degrees up to {LARGEST_DEGREE}")
    coef0 = reader.number("coef0") if "coef0" in used else 0.0
    try:
        return KernelFunction(kind, gamma, degree, coef0), False
    except ArgumentError as error:
        raise reader.fault("kernel_type", f"has a wrong parameter: {error}") from error


def _vectors(
    lines: list[bytes], n_coefficients: int, is_precomputed: bool, first: int, source: str
) -> tuple[NDArray[np.float64], csr_array]:
    """Return the coefficients and the vectors in the lines after SV."""
    coefficients = np.empty((len(lines), n_coefficients))
    pairs = []
    for row, line in enumerate(lines):
        words = line.split()
        rest = words[n_coefficients:]
        try:
            numbers = [_number(word.decode("ascii")) for word in words[:n_coefficients]]
            coefficients[row] = numbers
            if not all(map(_PAIR.fullmatch, rest)):
                raise ValueError
        except ValueError:
            raise ModelFileError(
                f"{source}, line {first + row}: a support vector needs {n_coefficients} "
                "coefficients and then index:value pairs, all of them finite numbers"
            ) from None
        pairs.append(rest)
    if is_precomputed:
        return coefficients.T.copy(), _picked_columns(pairs, first, source)
    text = b"\n".join(b"0 " + b" ".join(rest) for rest in pairs)
    try:
        X: Any = load_svmlight_file(BytesIO(text), zero_based=False)[0]
    except (ValueError, OverflowError) as error:
        raise ModelFileError(f"{source}: the support vectors cannot be read: {error}") from error
    if X.shape[0] != len(lines) or X.shape[1] > _LARGEST_INDEX or not np.isfinite(X.data).all():
        raise ModelFileError(
            f"{source}: the support vectors are not finite, or have an index above {_LARGEST_INDEX}"
        )
    return coefficients.T.copy(), csr_array(X)


def _picked_columns(pairs: list[list[bytes]], first: int, source: str) -> csr_array:
    """Return vectors that each select one column from rows of kernel values."""
    serials = []
    for row, rest in enumerate(pairs):
        index, _, value = rest[0].partition(b":") if rest else (b"", b"", b"")
        if index != b"0" or not value.isdigit() or not 1 <= int(value) <= _LARGEST_INDEX:
            raise ModelFileError(
                f"{source}, line {first + row}: a support vector of a precomputed kernel must be "
                "0:number"
            )
        serials.append(int(value) - 1)
    n_rows, n_columns = len(serials), max(serials, default=-1) + 1
    parts = np.ones(n_rows), (np.arange(n_rows), np.array(serials, dtype=np.intp))
    return csr_array(parts, shape=(n_rows, n_columns))


def _number(word: str) -> float:
    value = float(word)
    if "_" in word or not math.isfinite(value):
        raise ValueError
    return value


# -- LIBSVM models as classifiers, classifiers as LIBSVM models, and scalers as range files --


# Vectors with at least this fraction of nonzero values are stored dense.
_DENSE_SHARE = 0.25
#: The solver of models without probabilities: LIBSVM counts the votes of the machines.
VOTES = "hamming"
# The solver of models with probabilities: LIBSVM couples those of the machines.
_COUPLED = "libsvm"


def read_libsvm(
    path: str | os.PathLike[str], *, n_features: int | None = None
) -> PolytomyClassifier:
    """Read a model that svm-train wrote, as a fitted one-vs-one classifier.

    Its machines give svm-predict's decision values with the opposite sign, because in `scheme_` the
    first class of a pair is the −1 side. If the file has no probA and probB, the solver counts
    votes, as ``svm-predict`` does. Otherwise it is "libsvm", which gives the probabilities of
    ``svm-predict -b 1``. LIBSVM stops its iteration early, within 0.005 / n_classes of the
    optimality conditions; ``with_solver("least-squares")`` gives the exact minimum.

    Parameters
    ----------
    path : model file of a C-SVC or nu-SVC
    n_features : int, optional
        Number of features of the samples; by default the largest index of a support vector. It is
        required for a precomputed kernel, where samples are rows of kernel values with all training
        samples.

    Returns
    -------
    fitted PolytomyClassifier
    """
    model = read_model(path)
    check_kernel_rows(model.is_precomputed, n_features, os.fspath(path))
    return classifier_from_libsvm(model, os.fspath(path), n_features)


def check_kernel_rows(is_precomputed: bool, n_features: int | None, source: str) -> None:
    """Raise ArgumentError if a precomputed kernel comes without its number of kernel values."""
    if is_precomputed and n_features is None:
        raise ArgumentError(
            f"{source}: the kernel is precomputed, so samples are rows of kernel values with all "
            "training samples instead of features. Give the number of training samples as ",
            Argument("n_features"),
            ".",
        )


def classifier_from_libsvm(
    model: LibsvmModel, source: str, n_features: int | None = None
) -> PolytomyClassifier:
    """Return a LIBSVM model as a fitted one-vs-one classifier."""
    pool = pool_of(model, source, n_features)
    try:
        scheme = one_vs_one(model.labels)
    except ArgumentError as error:
        raise ModelFileError(f"{source}: {error}") from error
    pairs = {pair: k for k, pair in enumerate(model.pairs())}
    binaries = []
    for partition in scheme.partitions:
        (negative,), (positive,) = partition.negative, partition.positive
        pair = min(negative, positive), max(negative, positive)
        name, is_first = str(partition.binary), positive < negative
        binaries.append(binary_of_pair(model, pool, pair, pairs[pair], is_first, name))
    solver = VOTES if model.prob_a is None else _COUPLED
    return compose_classifier(scheme, binaries, solver, pool.n_features, _unfitted_machine(model))


def pool_of(model: LibsvmModel, source: str, n_features: int | None) -> VectorPool:
    """Return the support vectors of a model, padded to `n_features`, dense or sparse."""
    n_features = model.n_features if n_features is None else n_features
    if n_features < model.n_features:
        if model.is_precomputed:
            raise ModelFileError(
                f"{source}: a support vector is training sample {model.n_features}, but rows have "
                f"{n_features} values"
            )
        raise ModelFileError(
            f"{source}: a support vector has a feature {model.n_features}, but ",
            Argument("n_features", n_features),
        )
    X = model.vectors
    shape = (X.shape[0], max(1, n_features))
    wide: Any = csr_matrix((X.data, X.indices, X.indptr), shape=shape)
    is_dense = X.nnz >= _DENSE_SHARE * shape[0] * shape[1]
    return VectorPool(wide.toarray() if is_dense else wide)


def binary_of_pair(
    model: LibsvmModel,
    pool: VectorPool,
    pair: tuple[int, int],
    number: int,
    first_is_positive: bool,
    name: str,
) -> TrainedBinary:
    """Return the machine of a pair of classes as a trained binary.

    Parameters
    ----------
    model, pool : the model and its vectors
    pair : positions of the two classes in the file
    number : position of the pair in the file
    first_is_positive : whether the first class of the pair is the +1 side
    name : name of the binary
    """
    i, j = pair
    starts = np.concatenate([[0], np.cumsum(model.n_vectors)])
    own = np.arange(starts[i], starts[i + 1]), np.arange(starts[j], starts[j + 1])
    rows = np.concatenate(own)
    coefficients = np.concatenate(
        [model.coefficients[j - 1, own[0]], model.coefficients[i, own[1]]]
    )
    is_used = coefficients != 0
    sign = 1.0 if first_is_positive else -1.0
    machine = KernelMachine(
        model.kernel,
        pool,
        rows[is_used].astype(np.intp),
        sign * coefficients[is_used],
        -sign * float(model.rho[number]),
    )
    calibrator: Calibrator = UncalibratedMap()
    if model.prob_a is not None and model.prob_b is not None:
        # LIBSVM's map gives the probability of the first class.
        slope, intercept = -float(model.prob_a[number]), -sign * float(model.prob_b[number])
        calibrator = SigmoidCalibrator.of(slope, intercept)
    return TrainedBinary(name, Output.MARGIN, machine, calibrator)


def _unfitted_machine(model: LibsvmModel) -> Any:
    kind = SVC if model.svm_type == "c_svc" else NuSVC
    if model.is_precomputed:
        return kind(kernel="precomputed")
    return kind(kernel=model.kernel.kind, **model.kernel.parameters)


# -- scalers as range files of svm-scale -----------------------------------------------------------


def print_range(scaler: Any) -> str:
    """Return the text of the range file with which svm-scale does the same as a fitted scaler.

    ``svm-scale -r FILE`` maps each feature linearly: its smallest value to a lower bound and its
    largest to an upper bound, which are the same for all features. Every scaler that shifts and
    scales features separately can be written this way.

    Examples
    --------
    >>> print(print_range(StandardScaler().fit([[1.0, 0.0], [3.0, 8.0]])), end="")
    x
    -1 1
    1 1.0 3.0
    2 0.0 8.0
    """
    shift, scale = _shift_and_scale(scaler)
    lines = ["x", "-1 1"]
    lines += [
        f"{index} {low!r} {high!r}"
        for index, (low, high) in enumerate(
            zip((shift - scale).tolist(), (shift + scale).tolist(), strict=True), 1
        )
    ]
    return "\n".join(lines) + "\n"


def _shift_and_scale(scaler: Any) -> tuple[Any, Any]:
    """Return a and b such that the scaler turns x into (x − a) / b."""
    kind, n_features = type(scaler), getattr(scaler, "n_features_in_", 0)
    zeros, ones = np.zeros(n_features), np.ones(n_features)
    if kind is StandardScaler:
        shift = scaler.mean_ if scaler.with_mean else zeros
        return shift, scaler.scale_ if scaler.with_std else ones
    if kind is MinMaxScaler and not scaler.clip:
        # It computes x · scale_ + min_.
        return -scaler.min_ / scaler.scale_, 1 / scaler.scale_
    if kind is MaxAbsScaler:
        return zeros, scaler.scale_
    raise ArgumentError(
        f"svm-scale cannot do what {scaler!r} does. Use StandardScaler, MaxAbsScaler, or "
        "MinMaxScaler without clip."
    )


# -- writing ---------------------------------------------------------------------------------------


def write_libsvm(
    classifier: Any,
    path: str | os.PathLike[str],
    *,
    range_file: str | os.PathLike[str] | None = None,
) -> None:
    """Write a one-vs-one classifier of support vector machines as a LIBSVM model.

    With this file, svm-predict gives the same decision values, and the same probabilities if the
    binaries are calibrated with a sigmoid and there is no final calibration. A final calibration
    cannot be written, and causes a CalibrationWarning.

    Parameters
    ----------
    classifier : fitted PolytomyClassifier, or a pipeline of a scaler and one
        It needs one machine for each pair of classes, the same kernel for all of them, no scalers
        inside the binaries, and integers as labels.
    path : file, which is written completely or not at all
    range_file : file, optional
        Where to write the scaling of a pipeline, for ``svm-scale -r``.
    """
    scaler, core = _split_scaler(classifier)
    if scaler is not None and range_file is None:
        raise ArgumentError(
            f"the pipeline scales features with {type(scaler).__name__}, which a LIBSVM model "
            "cannot hold. Use ",
            Argument("range_file"),
            " to write the scaling for svm-scale -r, or train on data that is already scaled.",
        )
    if scaler is None and range_file is not None:
        raise ArgumentError(
            Argument("range_file", os.fspath(range_file)),
            " is for the scaler of a pipeline, but there is no scaler. Leave it out.",
        )
    text = print_libsvm(_libsvm_model(core))
    composition = core.composition_
    if composition.prior is not None or composition.costs is not None:
        raise ArgumentError(
            "a LIBSVM model can hold neither a prior nor costs. To write it without them, use "
            "with_prior(None).with_cost() of the classifier."
        )
    if scaler is not None and range_file is not None:
        ranges = print_range(scaler)
        with open_atomically(range_file) as file:
            file.write(ranges.encode("ascii"))
    with open_atomically(path) as file:
        file.write(text.encode("ascii"))
    if core.composition_.final is not None:
        warn_caller(
            CalibrationWarning(
                "a LIBSVM model cannot hold a final calibration, so svm-predict gives the "
                "probabilities that the classifier has without it. To get the same probabilities, "
                "fit with ",
                Argument("final_calibration", None),
                ".",
            ),
            CalibrationWarning,
        )


def _split_scaler(classifier: Any) -> tuple[Any, PolytomyClassifier]:
    """Return the scaler before the classifier, or None, and the classifier."""
    before, core = split_pipeline(classifier)
    if not isinstance(core, PolytomyClassifier):
        raise ArgumentError(
            f"{type(core).__name__} cannot be written as a LIBSVM model. Pass a PolytomyClassifier."
        )
    before += list_steps(getattr(core, "preprocessing_", None))
    if len(before) > 1:
        raise ArgumentError(
            "a LIBSVM model can have one scaler before it, but there are "
            f"{len(before)} steps before the binaries. Use a single scaler."
        )
    return (before[0] if before else None), core


def _libsvm_model(classifier: PolytomyClassifier) -> LibsvmModel:
    if not hasattr(classifier, "composition_"):
        raise ArgumentError("the classifier is not fitted, so there is nothing to write. Fit it.")
    if takes_pairwise_values(classifier):
        raise ArgumentError(
            "the kernel is precomputed, and such models cannot be written for LIBSVM. Save the "
            "classifier in polytomy's own format."
        )
    # In the order of the scheme, because LIBSVM's coupling and ties depend on it.
    composition: Composition = classifier.composition_
    positions = composition.arrangements[0].positions
    labels = composition.classes[np.argsort(positions)]
    if labels.dtype.kind not in "iu":
        raise ArgumentError(
            f"labels of LIBSVM must be integers; got {labels.tolist()[0]!r}. Fit with integers as "
            "labels."
        )
    binaries, is_first_positive = _pairwise(composition, np.argsort(np.argsort(positions)))
    machines = [binary.estimator for binary in binaries]
    kernels = {kernel_of(machine) for machine in machines}
    kernel = kernels.pop()
    if kernels or kernel is None:
        raise ArgumentError(
            "a LIBSVM model needs support vector machines that all have the same kernel and no "
            "scalers. Scale the data before training, and use the same SVC for all partitions."
        )
    signs = [
        (1.0 if first else -1.0) * (1.0 if binary.positive_index == 1 else -1.0)
        for binary, first in zip(binaries, is_first_positive, strict=True)
    ]
    vectors, n_vectors, coefficients = _common_vectors(machines, signs, len(labels))
    rho = [
        -sign * float(np.ravel(m.intercept_)[0]) for m, sign in zip(machines, signs, strict=True)
    ]
    prob_a, prob_b = _sigmoids(binaries, is_first_positive)
    return LibsvmModel(
        "nu_svc" if type(machines[0]) is NuSVC else "c_svc",
        kernel,
        False,
        tuple(labels.tolist()),
        n_vectors,
        vectors,
        coefficients,
        np.array(rho),
        prob_a,
        prob_b,
    )


def _pairwise(
    composition: Composition, rank: NDArray[np.intp]
) -> tuple[list[TrainedBinary], list[bool]]:
    """Return the binary of each pair of classes, and whether its +1 side is the first class.

    Pairs are in LIBSVM's order, with classes sorted by rank.
    """
    n_classes = len(composition.classes)
    found: dict[tuple[int, int], tuple[TrainedBinary, bool]] = {}
    for binary, dichotomy in zip(composition.binaries, composition.dichotomies, strict=True):
        sides = rank[[*dichotomy.negative, *dichotomy.positive]].tolist()
        if len(dichotomy.negative) == len(dichotomy.positive) == 1:
            found[min(sides), max(sides)] = binary, sides[1] < sides[0]
    wanted = [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]
    if len(composition.binaries) != len(wanted) or set(found) != set(wanted):
        raise ArgumentError(
            "a LIBSVM model needs one machine for each pair of classes. Fit with ",
            Argument("scheme", "one-vs-one"),
            ".",
        )
    binaries, firsts = zip(*(found[pair] for pair in wanted), strict=True)
    return list(binaries), list(firsts)


def _common_vectors(
    machines: list[Any], signs: list[float], n_classes: int
) -> tuple[csr_array, tuple[int, ...], NDArray[np.float64]]:
    """Return the vectors sorted by class, their number in each class, and their coefficients."""
    pool = pool_by_bytes([csr_array(machine.support_vectors_) for machine in machines])
    pairs = [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]
    entries: list[dict[int, dict[int, float]]] = [{} for _ in range(n_classes)]
    for (i, j), machine, sign, places in zip(pairs, machines, signs, pool.places, strict=True):
        dual = machine.dual_coef_
        dual = sign * np.ravel(dual.toarray() if hasattr(dual, "toarray") else dual)
        for place, coefficient in zip(places.tolist(), dual.tolist(), strict=True):
            # A positive coefficient belongs to a vector of the first class.
            own, row = (i, j - 1) if coefficient > 0 else (j, i)
            of_vector = entries[own].setdefault(place, {})
            of_vector[row] = of_vector.get(row, 0.0) + coefficient
    rows = [place for of_class in entries for place in of_class]
    coefficients = np.zeros((n_classes - 1, len(rows)))
    every = [of_vector for of_class in entries for of_vector in of_class.values()]
    for column, of_vector in enumerate(every):
        for row, value in of_vector.items():
            coefficients[row, column] = value
    return csr_array(pool.vectors[rows]), tuple(map(len, entries)), coefficients


def _sigmoids(
    binaries: list[TrainedBinary], is_first_positive: list[bool]
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Return LIBSVM's A and B of each pair, or None if no binary is calibrated."""
    maps = [binary.calibrator for binary in binaries]
    if not all(isinstance(each, LogisticMap) for each in maps):
        raise ArgumentError(
            "a LIBSVM model can only be calibrated with sigmoids. Fit with ",
            Argument("calibration", "sigmoid"),
            ".",
        )
    if all(isinstance(each, UncalibratedMap) for each in maps):
        return None, None
    slopes = np.array([each.slope_ for each in maps])  # type: ignore[union-attr]
    intercepts = np.array([each.intercept_ for each in maps])  # type: ignore[union-attr]
    return -slopes, np.where(is_first_positive, -intercepts, intercepts)
