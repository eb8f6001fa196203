"""Writing classifiers as LIBSVM models."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.svm import NuSVC

from polytomy.calibration.calibrators import LogisticMap, UncalibratedMap
from polytomy.classifier import PolytomyClassifier
from polytomy.errors import Argument, ArgumentError, CalibrationWarning, warn_caller
from polytomy.files import open_atomically
from polytomy.learners.preparation import list_steps, split_pipeline, takes_pairwise_values
from polytomy.learners.svm.kernels import KernelFunction
from polytomy.learners.svm.machines import KernelMachine, pool_by_bytes
from polytomy.learners.trained import TrainedBinary
from polytomy.model.composition import Composition
from polytomy.persistence.libsvm.model_text import LibsvmModel, print_libsvm
from polytomy.persistence.libsvm.range_files import print_range
from polytomy.persistence.own.vector_pools import is_machine

__all__ = ["write_libsvm"]


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
    kernels = {_kernel_of(machine) for machine in machines}
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


def _kernel_of(machine: Any) -> KernelFunction | None:
    if isinstance(machine, KernelMachine):
        return machine.kernel
    return KernelFunction.of(machine) if is_machine(machine) else None


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
