"""LIBSVM's model files, which svm-train writes and svm-predict reads (Chang and Lin 2011).

The file has a header of keys and values, a line ``SV``, and a line for each support vector: its
coefficients in the machines against the other classes, and its features as ``index:value``.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix
from sklearn.datasets import load_svmlight_file
from sklearn.pipeline import make_pipeline
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
from polytomy.learners.scaling import Scaling, peel_scalers
from polytomy.learners.svm.kernels import KERNELS, KernelFunction
from polytomy.learners.svm.machines import KernelMachine, VectorPool, kernel_of, pool_by_bytes
from polytomy.learners.trained import Output, TrainedBinary
from polytomy.model.composition import Composition
from polytomy.persistence.archive import open_model_file, read_text_content
from polytomy.persistence.models import compose_classifier

#: LIBSVM's names of kernels, and scikit-learn's.
_KERNELS = {kernel.libsvm_name: name for name, kernel in KERNELS.items() if kernel.libsvm_name}
_TYPES = ("c_svc", "nu_svc")
_OTHER_TYPES = ("one_class", "epsilon_svr", "nu_svr")
_KEYS = {
    *("svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv", "rho"),
    *("label", "probA", "probB", "prob_density_marks", "nr_sv"),
}
_LONGEST_KEY = max(map(len, _KEYS))
# Samples become rows of this many numbers, so memory must be bounded.
_LARGEST_INDEX = 2**26
_SIGMOIDS = ("probA", "probB")
_INTEGER = re.compile(r"[-+]?[0-9]{1,10}")
_PAIR = re.compile(rb"[0-9]+:[-+.0-9eE]+")


@dataclass(frozen=True, slots=True, eq=False)
class LibsvmModel:
    """A model of LIBSVM: one machine for each pair of classes, with common support vectors.

    Attributes
    ----------
    svm_type : "c_svc" or "nu_svc"
    kernel : KernelFunction
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

    def machine_of(
        self, pair: tuple[int, int], first_is_positive: bool, pool: VectorPool, name: str
    ) -> TrainedBinary:
        """Return the machine of a pair of classes as a trained binary.

        Parameters
        ----------
        pair : positions of the two classes in the file, ascending
        first_is_positive : whether the first class of the pair is the +1 side
        pool : the vectors
        name : name of the binary
        """
        i, j = pair
        number = i * (2 * len(self.labels) - i - 1) // 2 + j - i - 1
        starts = np.concatenate([[0], np.cumsum(self.n_vectors)])
        own = np.arange(starts[i], starts[i + 1]), np.arange(starts[j], starts[j + 1])
        rows = np.concatenate(own)
        coefficients = np.concatenate(
            [self.coefficients[j - 1, own[0]], self.coefficients[i, own[1]]]
        )
        is_used = coefficients != 0
        sign = 1.0 if first_is_positive else -1.0
        machine = KernelMachine(
            self.kernel,
            pool,
            rows[is_used].astype(np.intp),
            sign * coefficients[is_used],
            -sign * float(self.rho[number]),
        )
        calibrator: Calibrator = UncalibratedMap()
        if self.prob_a is not None and self.prob_b is not None:
            # LIBSVM's map gives the probability of the first class.
            slope, intercept = -float(self.prob_a[number]), -sign * float(self.prob_b[number])
            calibrator = SigmoidCalibrator.of(slope, intercept)
        return TrainedBinary(name, Output.MARGIN, machine, calibrator)


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
    header = _Header(content, source)
    svm_type = header.word("svm_type")
    if svm_type not in _TYPES:
        shown = svm_type if svm_type in _OTHER_TYPES else "unknown"
        raise header.fault("svm_type", f"is {shown}; only c_svc and nu_svc are classifiers")
    kernel = _kernel(header)
    labels, n_vectors = header.integers("label"), header.integers("nr_sv")
    n_classes = header.integer("nr_class")
    if len(labels) != n_classes or len(set(labels)) < n_classes or n_classes < 2:
        raise header.fault("label", f"does not list {n_classes} different classes, two or more")
    if len(n_vectors) != n_classes or min(n_vectors) < 0:
        raise header.fault("nr_sv", f"does not list a count for each of {n_classes} classes")
    n_lines = len(header.lines)
    if not sum(n_vectors) == header.integer("total_sv") == n_lines:
        raise header.fault("total_sv", f"and nr_sv do not match the {n_lines} lines after SV")
    n_pairs = n_classes * (n_classes - 1) // 2
    # Before the coefficients: with a number for each pair, the size of the file bounds the memory.
    rho = header.numbers("rho", n_pairs)
    optional = [header.numbers(key, n_pairs) if key in header else None for key in _SIGMOIDS]
    if (optional[0] is None) != (optional[1] is None):
        raise ModelFileError(f"{source}: one of probA and probB is missing")
    coefficients, vectors = _vectors(header, n_classes - 1)
    return LibsvmModel(
        svm_type,
        kernel,
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
    if kernel.about.libsvm_name is None:
        raise ArgumentError(f'LIBSVM has no kernel "{kernel.kind}". Use polytomy.save instead.')
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


class _Header:
    """The header of a model file, whose values are checked when they are read.

    Attributes
    ----------
    source : name of the file
    lines : the lines of the support vectors
    first : line number of the first of them
    """

    def __init__(self, content: bytes, source: str) -> None:
        self.source, self._words = source, dict[str, list[str]]()
        lines = content.split(b"\n")
        for number, line in enumerate(lines, 1):
            key, *words = line.decode("ascii", "replace").split() or [""]
            if key == "SV" and not words:
                self.lines = [each for each in lines[number:] if each.strip()]
                self.first = number + 1
                return
            if key not in _KEYS or key in self._words:
                what = "the first word is unknown" if key else "the line is empty"
                # Only LIBSVM's own words are quoted: the file may be anything.
                what = f"{key} is repeated" if key in self._words else what
                raise self.fault_in(number, f"{what}; this is not a LIBSVM model")
            self._words[key] = words
        raise ModelFileError(f"{source}: the line SV is missing; the file is incomplete")

    def __contains__(self, key: str) -> bool:
        return key in self._words

    def word(self, key: str) -> str:
        words = self._values(key)
        if len(words) != 1:
            raise self.fault(key, "is not one word")
        return words[0]

    def integer(self, key: str) -> int:
        self.word(key)
        return self.integers(key)[0]

    def integers(self, key: str) -> list[int]:
        words = self._values(key)
        if not all(map(_INTEGER.fullmatch, words)):
            raise self.fault(key, "does not consist of integers")
        return list(map(int, words))

    def numbers(self, key: str, count: int = 1) -> NDArray[np.float64]:
        words = self._values(key)
        if len(words) != count:
            raise self.fault(key, f"has {len(words)} numbers instead of {count}")
        try:
            return np.array(list(map(_number, words)))
        except ValueError:
            raise self.fault(key, "does not consist of finite numbers") from None

    def _values(self, key: str) -> list[str]:
        if key not in self._words:
            raise self.fault(key, "is missing")
        return self._words[key]

    def fault(self, key: str, what: str) -> ModelFileError:
        return ModelFileError(f"{self.source}: {key} {what}")

    def fault_in(self, line: int, what: str) -> ModelFileError:
        return ModelFileError(f"{self.source}, line {line}: {what}")


def _kernel(header: _Header) -> KernelFunction:
    name = header.word("kernel_type")
    if name not in _KERNELS:
        names = ", ".join(_KERNELS)
        raise header.fault("kernel_type", f"is not one that can be read, which are {names}")
    used: dict[str, Any] = {
        key: header.integer(key) if key == "degree" else float(header.numbers(key)[0])
        for key in KERNELS[_KERNELS[name]].parameters
    }
    try:
        return KernelFunction(_KERNELS[name], **used)
    except ArgumentError as error:
        raise header.fault("kernel_type", f"has a wrong parameter: {error}") from error


def _vectors(header: _Header, n_coefficients: int) -> tuple[NDArray[np.float64], csr_array]:
    """Return the coefficients and the vectors in the lines after SV."""
    n_lines = len(header.lines)
    coefficients = np.empty((n_coefficients, n_lines))
    pairs = []
    for row, line in enumerate(header.lines):
        words = line.split()
        pairs.append(words[n_coefficients:])
        try:
            numbers = [_number(word.decode("ascii")) for word in words[:n_coefficients]]
            coefficients[:, row] = numbers
            if not all(map(_PAIR.fullmatch, pairs[-1])):
                raise ValueError
        except ValueError:
            raise header.fault_in(
                header.first + row,
                f"a support vector needs {n_coefficients} coefficients and then index:value pairs, "
                "all of them finite numbers",
            ) from None
    text = b"\n".join(b"0 " + b" ".join(rest) for rest in pairs)
    try:
        X: Any = load_svmlight_file(BytesIO(text), zero_based=False)[0]
    except (ValueError, OverflowError) as error:
        raise ModelFileError(
            f"{header.source}: the support vectors cannot be read: {error}"
        ) from error
    if X.shape[0] != n_lines or X.shape[1] > _LARGEST_INDEX or not np.isfinite(X.data).all():
        raise ModelFileError(
            f"{header.source}: the support vectors are not finite, or have an index above "
            f"{_LARGEST_INDEX}"
        )
    return coefficients, csr_array(X)


def _number(word: str) -> float:
    value = float(word)
    if "_" in word or not math.isfinite(value):
        raise ValueError
    return value


# -- LIBSVM models as classifiers, and classifiers as LIBSVM models --


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
        Number of features of the samples; by default the largest index of a support vector.

    Returns
    -------
    fitted PolytomyClassifier
    """
    return classifier_from_libsvm(read_model(path), os.fspath(path), n_features)


def classifier_from_libsvm(
    model: LibsvmModel, source: str, n_features: int | None = None
) -> PolytomyClassifier:
    """Return a LIBSVM model as a fitted one-vs-one classifier."""
    pool = pool_of(model, source, n_features)
    try:
        scheme = one_vs_one(model.labels)
    except ArgumentError as error:
        raise ModelFileError(f"{source}: {error}") from error
    binaries = []
    for partition in scheme.partitions:
        (negative,), (positive,) = partition.negative, partition.positive
        pair = min(negative, positive), max(negative, positive)
        name = str(partition.binary)
        binaries.append(model.machine_of(pair, positive < negative, pool, name))
    solver = VOTES if model.prob_a is None else _COUPLED
    kind = SVC if model.svm_type == "c_svc" else NuSVC
    unfitted = kind(kernel=model.kernel.kind, **model.kernel.parameters)
    return compose_classifier(scheme, binaries, solver, pool.n_features, unfitted)


def pool_of(model: LibsvmModel, source: str, n_features: int | None) -> VectorPool:
    """Return the support vectors of a model, padded to `n_features`, dense or sparse."""
    n_features = model.n_features if n_features is None else n_features
    if n_features < model.n_features:
        raise ModelFileError(
            f"{source}: a support vector has a feature {model.n_features}, but ",
            Argument("n_features", n_features),
        )
    X = model.vectors
    shape = (X.shape[0], max(1, n_features))
    wide: Any = csr_matrix((X.data, X.indices, X.indptr), shape=shape)
    is_dense = X.nnz >= _DENSE_SHARE * shape[0] * shape[1]
    return VectorPool(wide.toarray() if is_dense else wide)


# -- writing ---------------------------------------------------------------------------------------


def print_range(scaling: Scaling) -> str:
    """Return the text of the range file with which svm-scale does the same as scalers.

    ``svm-scale -r FILE`` maps each feature linearly: its smallest value to a lower bound and its
    largest to an upper bound, which are the same for all features. Every scaling of separate
    features can be written this way.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> pipeline = make_pipeline(StandardScaler(), SVC()).fit([[1, 0], [3, 8]], [0, 1])
    >>> scaling, _ = peel_scalers(pipeline)
    >>> print(print_range(scaling), end="")
    x
    -1 1
    1 1.0 3.0
    2 0.0 8.0
    """
    centre, reach = scaling.centre - scaling.offset / scaling.factor, 1 / scaling.factor
    ranges = zip((centre - reach).tolist(), (centre + reach).tolist(), strict=True)
    lines = [f"{index} {low!r} {high!r}" for index, (low, high) in enumerate(ranges, 1)]
    return "\n".join(["x", "-1 1", *lines, ""])


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
    before, core = split_pipeline(classifier)
    if not isinstance(core, PolytomyClassifier):
        raise ArgumentError(
            f"{type(core).__name__} cannot be written as a LIBSVM model. Pass a PolytomyClassifier."
        )
    before += list_steps(getattr(core, "preprocessing_", None))
    peeled = peel_scalers(make_pipeline(*before, core))
    if peeled is None:
        raise ArgumentError(
            f"svm-scale cannot do what {', '.join(map(repr, before))} does. Use StandardScaler, "
            "MaxAbsScaler, or MinMaxScaler without clip."
        )
    scaling = peeled[0]
    if (scaling is None) != (range_file is None):
        raise ArgumentError(
            Argument("range_file"),
            " is for the scaler of a pipeline, but there is no scaler. Leave it out."
            if scaling is None
            else " is missing: the pipeline scales features, which a LIBSVM model cannot do. Name "
            "a file for the scaling, or train on data that is already scaled.",
        )
    text = print_libsvm(_libsvm_model(core))
    composition = core.composition_
    if composition.prior is not None or composition.costs is not None:
        raise ArgumentError(
            "a LIBSVM model can hold neither a prior nor costs. To write it without them, use "
            "with_prior(None).with_cost() of the classifier."
        )
    if scaling is not None and range_file is not None:
        with open_atomically(range_file) as file:
            file.write(print_range(scaling).encode("ascii"))
    with open_atomically(path) as file:
        file.write(text.encode("ascii"))
    if composition.final is not None:
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
    pairs = _pairwise(composition, np.argsort(np.argsort(positions)))
    kernels = {kernel_of(pair.machine) for pair in pairs}
    kernel = kernels.pop()
    if kernels or kernel is None:
        raise ArgumentError(
            "a LIBSVM model needs support vector machines that all have the same kernel and no "
            "scalers. Scale the data before training, and use the same SVC for all partitions."
        )
    return LibsvmModel(
        "nu_svc" if type(pairs[0].machine) is NuSVC else "c_svc",
        kernel,
        tuple(labels.tolist()),
        *_common_vectors(pairs, len(labels)),
        np.array([-pair.sign * float(np.ravel(pair.machine.intercept_)[0]) for pair in pairs]),
        *_sigmoids(pairs),
    )


class _Pair(NamedTuple):
    """The binary of the classes i and j, and whether its +1 side is class i."""

    i: int
    j: int
    binary: TrainedBinary
    first_is_positive: bool

    @property
    def machine(self) -> Any:
        return self.binary.estimator

    @property
    def sign(self) -> float:
        """What the machine's numbers are multiplied with, so that class i is positive."""
        return 1.0 if self.first_is_positive == (self.binary.positive_index == 1) else -1.0


def _pairwise(composition: Composition, rank: NDArray[np.intp]) -> list[_Pair]:
    """Return the binary of each pair of classes in LIBSVM's order, with classes sorted by rank."""
    found: dict[tuple[int, ...], _Pair] = {}
    for binary, dichotomy in zip(composition.binaries, composition.dichotomies, strict=True):
        sides = rank[[*dichotomy.negative, *dichotomy.positive]].tolist()
        if len(sides) == 2:
            i, j = sorted(sides)
            found[i, j] = _Pair(i, j, binary, i == sides[1])
    wanted = list(combinations(range(len(composition.classes)), 2))
    if len(composition.binaries) != len(wanted) or set(found) != set(wanted):
        raise ArgumentError(
            "a LIBSVM model needs one machine for each pair of classes. Fit with ",
            Argument("scheme", "one-vs-one"),
            ".",
        )
    return [found[pair] for pair in wanted]


def _common_vectors(
    pairs: Sequence[_Pair], n_classes: int
) -> tuple[tuple[int, ...], csr_array, NDArray[np.float64]]:
    """Return the number of vectors in each class, the vectors in that order, and coefficients."""
    pool = pool_by_bytes([csr_array(pair.machine.support_vectors_) for pair in pairs])
    entries = []
    for pair, places in zip(pairs, pool.places, strict=True):
        dual = pair.machine.dual_coef_
        dual = pair.sign * np.ravel(dual.toarray() if hasattr(dual, "toarray") else dual)
        # A positive coefficient belongs to a vector of the first class.
        owners = np.where(dual > 0, pair.i, pair.j)
        entries.append((owners, places, np.where(dual > 0, pair.j - 1, pair.i), dual))
    owners, places, rows, values = map(np.concatenate, zip(*entries, strict=True))
    vectors, columns = np.unique(np.stack([owners, places]), axis=1, return_inverse=True)
    coefficients = np.zeros((n_classes - 1, vectors.shape[1]))
    np.add.at(coefficients, (rows, columns.ravel()), values)
    counts = np.bincount(vectors[0], minlength=n_classes)
    return tuple(counts.tolist()), csr_array(pool.vectors[vectors[1]]), coefficients


def _sigmoids(
    pairs: Sequence[_Pair],
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Return LIBSVM's A and B of each pair, or None if no binary is calibrated."""
    maps: list[Any] = [pair.binary.calibrator for pair in pairs]
    if not all(isinstance(each, LogisticMap) for each in maps):
        raise ArgumentError(
            "a LIBSVM model can only be calibrated with sigmoids. Fit with ",
            Argument("calibration", "sigmoid"),
            ".",
        )
    if all(isinstance(each, UncalibratedMap) for each in maps):
        return None, None
    intercepts = np.array([each.intercept_ for each in maps])
    is_first = [pair.first_is_positive for pair in pairs]
    slopes = np.array([each.slope_ for each in maps])
    return -slopes, np.where(is_first, -intercepts, intercepts)
