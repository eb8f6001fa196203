"""LIBSVM's models as classifiers, and classifiers as LIBSVM's models."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix
from sklearn.svm import SVC, NuSVC

from polytomy.binary import Output, TrainedBinary
from polytomy.binary.banks.pools import pool_by_bytes
from polytomy.binary.calibrators import LogisticMap, UncalibratedMap
from polytomy.binary.kernel_functions import KernelFunction
from polytomy.binary.machines import KernelMachine, VectorPool
from polytomy.classifier import PolytomyClassifier
from polytomy.designs import one_vs_one
from polytomy.errors import ArgumentError, ModelFileError
from polytomy.files import writing_whole
from polytomy.persistence.binaries import logistic_calibrator
from polytomy.persistence.composition import Sides, fitted_classifier
from polytomy.persistence.libsvm_text import LibsvmModel, parse_libsvm, print_libsvm
from polytomy.persistence.pools import is_machine

__all__ = [
    "VOTES",
    "binary_of_pair",
    "classifier_from_libsvm",
    "pool_of",
    "read_libsvm",
    "write_libsvm",
]

# From this share of values that are not zero, vectors are kept dense.
_DENSE_SHARE = 0.25
#: LIBSVM counts for each class the machines that favour it.
VOTES = "hamming"


def read_libsvm(
    path: str | os.PathLike[str], *, n_features: int | None = None
) -> PolytomyClassifier:
    """Return a model that svm-train wrote as a fitted one-vs-one classifier.

    Its machines give svm-predict's decision values; in `scheme_` the first class of a pair is the
    −1 side, so the signs are the opposite. Without probA and probB in the file, the solver counts
    votes, as ``svm-predict`` does; a tie goes to the smallest label, in LIBSVM to the first one of
    the file. With them, it is least squares, the minimum that ``svm-predict -b 1`` approaches (Wu,
    Lin and Weng 2004): LIBSVM stops its iteration once it is within 0.005 / n_classes.

    Parameters
    ----------
    path : model file of a C-SVC or nu-SVC
    n_features : int, optional
        Number of features of the samples; by default the largest index of a support vector. With a
        precomputed kernel, samples are rows of kernel values with all the training samples.
    """
    model = parse_libsvm(Path(path).read_bytes(), os.fspath(path))
    return classifier_from_libsvm(model, os.fspath(path), n_features)


def classifier_from_libsvm(
    model: LibsvmModel, source: str, n_features: int | None = None
) -> PolytomyClassifier:
    """Return a model of LIBSVM as a fitted one-vs-one classifier."""
    pool = pool_of(model, source, n_features)
    scheme = one_vs_one(model.labels)
    classes = np.unique(np.array(model.labels, dtype=np.int64))
    position = {label: i for i, label in enumerate(classes.tolist())}
    pairs = {pair: k for k, pair in enumerate(model.pairs())}
    binaries, sides = [], []
    for partition in scheme.partitions:
        (negative,), (positive,) = partition.negative, partition.positive
        pair = min(negative, positive), max(negative, positive)
        name = str(partition.binary)
        is_first = positive < negative
        binaries.append(binary_of_pair(model, pool, pair, pairs[pair], is_first, name))
        labels = model.labels[negative], model.labels[positive]
        low, high = ((position[label],) for label in labels)
        sides.append(Sides(partition.binary, low, high))
    return fitted_classifier(
        binaries,
        sides,
        classes,
        scheme,
        n_features=pool.n_features,
        estimator=_estimator_of(model),
        solver=VOTES if model.prob_a is None else "least-squares",
    )


def pool_of(model: LibsvmModel, source: str, n_features: int | None) -> VectorPool:
    """Return the support vectors of a model, with so many features, dense where that is small."""
    n_features = model.n_features if n_features is None else n_features
    if n_features < model.n_features:
        raise ModelFileError(
            f"{source}: a support vector has a feature {model.n_features}, but n_features="
            f"{n_features}"
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
    model, pool : the model, and its vectors
    pair : the two classes, by their places in the file
    number : of the pair
    first_is_positive : whether the first class of the pair is the +1 side
    name : of the binary
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
    kind, slope, intercept = "none", 1.0, 0.0
    if model.prob_a is not None and model.prob_b is not None:
        # LIBSVM's map gives the probability of the first class.
        kind, slope = "sigmoid", -float(model.prob_a[number])
        intercept = -sign * float(model.prob_b[number])
    calibrator = logistic_calibrator(kind, slope, intercept)
    return TrainedBinary(name, Output.MARGIN, machine, calibrator)


def _estimator_of(model: LibsvmModel) -> Any:
    kind = SVC if model.svm_type == "c_svc" else NuSVC
    if model.is_precomputed:
        return kind(kernel="precomputed")
    kernel, estimator = model.kernel, kind(kernel=model.kernel.kind)
    if kernel.kind != "linear":
        estimator.gamma = kernel.gamma
    if kernel.kind == "poly":
        estimator.degree = kernel.degree
    if kernel.kind in ("poly", "sigmoid"):
        estimator.coef0 = kernel.coef0
    return estimator


def write_libsvm(classifier: PolytomyClassifier, path: str | os.PathLike[str]) -> None:
    """Write a one-vs-one classifier of support vector machines as a model of LIBSVM.

    svm-predict gives the same decision values with it, and the same probabilities where the
    binaries are calibrated with a sigmoid.

    Parameters
    ----------
    classifier : fitted PolytomyClassifier
        One machine for each pair of classes, all of the same kernel, no scalers, whole numbers as
        labels.
    path : file, which appears whole or not at all
    """
    text = print_libsvm(_libsvm_model(classifier))
    with writing_whole(path) as file:
        file.write(text.encode("ascii"))


def _libsvm_model(classifier: PolytomyClassifier) -> LibsvmModel:
    if not hasattr(classifier, "binaries_"):
        raise ArgumentError("the classifier is not fitted, so there is nothing to write. Fit it.")
    labels = classifier.classes_
    if labels.dtype.kind not in "iu":
        raise ArgumentError(
            f"labels of LIBSVM are whole numbers, not {labels.tolist()[0]!r}. Fit with numbers."
        )
    binaries, is_first_positive = _pairwise(classifier)
    machines = [binary.estimator for binary in binaries]
    kernels = {_kernel_of(machine) for machine in machines}
    kernel = kernels.pop()
    if kernels or kernel is None:
        raise ArgumentError(
            "a model of LIBSVM is made of support vector machines with one kernel and without "
            "scalers. Scale the data first, and give gamma as a number."
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


def _pairwise(classifier: PolytomyClassifier) -> tuple[list[TrainedBinary], list[bool]]:
    """Return the binaries pair by pair, and whether the first class is the +1 side of each."""
    n_classes = len(classifier.classes_)
    found: dict[tuple[int, int], tuple[TrainedBinary, bool]] = {}
    for binary, dichotomy in zip(classifier.binaries_, classifier._dichotomies, strict=True):
        sides = (*dichotomy.negative, *dichotomy.positive)
        if len(dichotomy.negative) == len(dichotomy.positive) == 1:
            found[min(sides), max(sides)] = binary, sides[1] < sides[0]
    wanted = [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]
    if len(classifier.binaries_) != len(wanted) or set(found) != set(wanted):
        raise ArgumentError(
            "a model of LIBSVM has one machine for each pair of classes. Fit with "
            'scheme="one-vs-one".'
        )
    binaries, firsts = zip(*(found[pair] for pair in wanted), strict=True)
    return list(binaries), list(firsts)


def _kernel_of(machine: Any) -> KernelFunction | None:
    if isinstance(machine, KernelMachine):
        return machine.kernel
    return KernelFunction.of(machine) if is_machine(machine) else None


def _common_vectors(
    machines: list[Any], signs: list[float], n_classes: int
) -> tuple[csr_array, tuple[int, ...], NDArray[np.float64]]:
    """Return the vectors class by class, how many each has, and their coefficients."""
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
    """Return LIBSVM's A and B; None where nothing is calibrated."""
    maps = [binary.calibrator for binary in binaries]
    if not all(isinstance(each, LogisticMap) for each in maps):
        raise ArgumentError(
            'a model of LIBSVM has sigmoids for calibrators. Fit with calibration="sigmoid".'
        )
    if all(isinstance(each, UncalibratedMap) for each in maps):
        return None, None
    slopes = np.array([each.slope_ for each in maps])  # type: ignore[union-attr]
    intercepts = np.array([each.intercept_ for each in maps])  # type: ignore[union-attr]
    return -slopes, np.where(is_first_positive, -intercepts, intercepts)
