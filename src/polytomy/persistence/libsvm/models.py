"""Reading LIBSVM models as classifiers."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.svm import SVC, NuSVC

from polytomy.classifier import PolytomyClassifier
from polytomy.designs import one_vs_one
from polytomy.errors import Argument, ArgumentError, ModelFileError
from polytomy.learners.svm.machines import KernelMachine, VectorPool
from polytomy.learners.trained import Output, TrainedBinary
from polytomy.model.dichotomies import Dichotomy
from polytomy.persistence.fitted import (
    arrange_in_order,
    compose_trained,
    fitted_classifier,
    order_in_scheme,
)
from polytomy.persistence.libsvm.model_text import LibsvmModel, read_model
from polytomy.persistence.own.binaries import logistic_calibrator

__all__ = [
    "VOTES",
    "binary_of_pair",
    "check_kernel_rows",
    "classifier_from_libsvm",
    "pool_of",
    "read_libsvm",
]

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
    classes = np.unique(np.array(model.labels, dtype=np.int64))
    position = {label: i for i, label in enumerate(classes.tolist())}
    pairs = {pair: k for k, pair in enumerate(model.pairs())}
    estimator = _unfitted_machine(model)
    binaries, dichotomies = [], []
    for partition in scheme.partitions:
        (negative,), (positive,) = partition.negative, partition.positive
        pair = min(negative, positive), max(negative, positive)
        name = str(partition.binary)
        is_first = positive < negative
        binaries.append(binary_of_pair(model, pool, pair, pairs[pair], is_first, name))
        labels = model.labels[negative], model.labels[positive]
        low, high = ((position[label],) for label in labels)
        dichotomies.append(Dichotomy(name, low, high, partition.binary, estimator))
    arrangement = arrange_in_order(scheme, classes)
    composition = compose_trained(
        binaries,
        dichotomies,
        classes,
        scheme,
        VOTES if model.prob_a is None else _COUPLED,
        arrangements=[arrangement],
        # svm-predict breaks ties by the order of the labels in the file.
        tie_order=order_in_scheme(arrangement),
    )
    return fitted_classifier(composition, n_features=pool.n_features, estimator=estimator)


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
    kind, slope, intercept = "none", 1.0, 0.0
    if model.prob_a is not None and model.prob_b is not None:
        # LIBSVM's map gives the probability of the first class.
        kind, slope = "sigmoid", -float(model.prob_a[number])
        intercept = -sign * float(model.prob_b[number])
    calibrator = logistic_calibrator(kind, slope, intercept)
    return TrainedBinary(name, Output.MARGIN, machine, calibrator)


def _unfitted_machine(model: LibsvmModel) -> Any:
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
