"""Problems with more than two sides, and fitted models that decide between them.

A partition with n sides has one model. The rest of the code sees n binaries, one for each side
against the others. They share the model, which a bank evaluates only once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.binary.answers import Output, TrainedBinary
from polytomy.calibration.vector_scaling import VectorScaling
from polytomy.errors import ArgumentError, SchemeError
from polytomy.inputs.pipelines import split_pipeline
from polytomy.inputs.rows import count_rows

__all__ = [
    "SidesModel",
    "SidesProblem",
    "adopt_sides",
    "choose_sides_output",
    "side_binaries",
    "sides_problem",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SidesProblem:
    """The training samples of a partition with several sides, as row numbers.

    Attributes
    ----------
    name : name of the partition, for messages
    rows : array of shape (n_samples,), rows of the training data, ascending
    sides : array of shape (n_samples,), the side of each row
    n_sides : int
    """

    name: str
    rows: NDArray[np.intp]
    sides: NDArray[np.intp]
    n_sides: int

    def keep(self, mask: NDArray[np.bool_]) -> SidesProblem:
        """Return the problem with only the samples where `mask` is true."""
        return replace(self, rows=self.rows[mask], sides=self.sides[mask])


def sides_problem(
    rows_of_class: Sequence[NDArray[np.intp]], sides: Sequence[Sequence[int]], *, name: str
) -> SidesProblem:
    """Return the problem of separating the classes on the sides of a partition.

    Parameters
    ----------
    rows_of_class : as `polytomy.inputs.class_indices.group_rows` returns them
    sides : class indices of each side
    name : name of the partition
    """
    parts = [(side, rows_of_class[k]) for side, classes in enumerate(sides) for k in classes]
    nothing = np.empty(0, dtype=np.intp)
    rows = np.concatenate([nothing, *[rows for _, rows in parts]])
    numbers = np.repeat([side for side, _ in parts], [len(rows) for _, rows in parts])
    # Keep the order of the data, so that the fit is the same as on a masked copy of the data.
    order = np.argsort(rows)
    return SidesProblem(name, rows[order], numbers[order].astype(np.intp), len(sides))


@dataclass(frozen=True, slots=True, eq=False)
class SidesModel:
    """A fitted classifier, and how its output becomes a probability for each side.

    Attributes
    ----------
    name : name of the partition, for messages
    n_sides : int
    estimator : the fitted classifier; None if at most one side has samples
    known_sides : tuple of int
        The sides that the estimator knows, in the order of its classes.
    labels : tuple of the estimator's labels, in its own order
    output : Output.PROBABILITY, MARGIN (decision values) or LABEL
    scaling : VectorScaling, optional
        Turns decision values, or logarithms of probabilities, into probabilities.
    """

    name: str
    n_sides: int
    estimator: Any
    known_sides: tuple[int, ...]
    labels: tuple[Any, ...] = ()
    output: Output = Output.PROBABILITY
    scaling: VectorScaling | None = None

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the sides, of shape (n_samples, n_sides)."""
        if self.estimator is None:
            return self._spread(np.ones((count_rows(X), len(self.known_sides))), fill=0.0)
        if self.scaling is None:
            return self._spread(self._own_probabilities(X), fill=0.0)
        return self.scaling.apply(self.values(X))

    def values(self, X: Any) -> Floats:
        """Return the input of vector scaling: decision values, or −inf for unknown sides."""
        if self.output is Output.MARGIN:
            own = np.asarray(self.estimator.decision_function(X), dtype=np.float64)
            own = np.column_stack([-own, own]) / 2 if self._is_of_two(own) else own
            self._check_shape(own, "decision_function")
        else:
            smallest = np.finfo(np.float64).eps
            own = np.log(np.maximum(self._own_probabilities(X), smallest))
        return self._spread(own, fill=-np.inf)

    def _is_of_two(self, values: Floats) -> bool:
        return values.ndim == 1 and len(self.known_sides) == 2

    def _own_probabilities(self, X: Any) -> Floats:
        if self.output is Output.LABEL:
            predicted = np.asarray(self.estimator.predict(X))
            found = predicted[:, np.newaxis] == np.asarray(self.labels)
            if not found.any(axis=1).all():
                unknown = predicted[~found.any(axis=1)][0]
                raise ArgumentError(f'Model "{self.name}" predicts {unknown}, which is not a side.')
            return np.asarray(found, dtype=np.float64)
        proba = np.array(self.estimator.predict_proba(X), dtype=np.float64)
        self._check_shape(proba, "predict_proba")
        totals = proba.sum(axis=1, keepdims=True)
        # Probabilities in single precision do not quite sum to one.
        proba /= np.where(totals > 0, totals, 1.0)
        return proba

    def _check_shape(self, values: Floats, method: str) -> None:
        if values.ndim != 2 or values.shape[1] != len(self.known_sides):
            raise ArgumentError(
                f'The {method} of model "{self.name}" returned an array of shape {values.shape}; a '
                f"partition with {len(self.known_sides)} sides needs a column for each. Use an "
                "estimator that separates more than two classes, or @one-vs-one in place of the "
                "partition."
            )

    def _spread(self, values: Floats, fill: float) -> Floats:
        """Return the values of all sides, given those of the known sides."""
        if len(self.known_sides) == 0:
            return np.full((len(values), self.n_sides), 1.0 / self.n_sides)
        spread = np.full((len(values), self.n_sides), fill)
        spread[:, list(self.known_sides)] = values
        return spread


def side_binaries(
    model: SidesModel, columns: NDArray[np.intp] | None = None, **details: Any
) -> list[TrainedBinary]:
    """Return the binary of each side, which answers 2 q − 1; only the first has the details."""
    binaries = [
        TrainedBinary(
            f"{model.name}/{side}",
            Output.SIDE,
            model,
            classes=(-1, 1),
            positive_index=side,
            columns=columns,
        )
        for side in range(model.n_sides)
    ]
    return [replace(binaries[0], **details), *binaries[1:]]


def adopt_sides(
    model: Any, side_classes: Sequence[Sequence[Any]], *, name: str
) -> list[TrainedBinary]:
    """Return a model that was fitted elsewhere as the binaries of a partition's sides.

    Its ``classes_`` are the labels of the classes, if each side is a single class, or the numbers
    of the sides from 0. It answers with ``predict_proba``, otherwise with the softmax of its
    decision values, otherwise with ``predict``.
    """
    n_sides = len(side_classes)
    labels = tuple(np.asarray(getattr(model, "classes_", ())).tolist())
    wanted: list[Sequence[Any]] = [range(n_sides)]
    if all(len(classes) == 1 for classes in side_classes):
        wanted.insert(0, [classes[0] for classes in side_classes])
        wanted.insert(1, [str(classes[0]) for classes in side_classes])
    shape = getattr(split_pipeline(model)[1], "decision_function_shape", None)
    if shape == "ovo" and not hasattr(model, "predict_proba"):
        raise SchemeError(
            f'Model "{name}" has a decision value for each pair of classes, not for each side. Use '
            'model.set_params(decision_function_shape="ovr"); no refit is needed.'
        )
    for names in wanted:
        if len(labels) == n_sides and set(labels) == set(names):
            known = tuple(list(names).index(label) for label in labels)
            output, scaling = choose_sides_output(model, None, n_sides)
            return side_binaries(SidesModel(name, n_sides, model, known, labels, output, scaling))
    raise SchemeError(
        f'Model "{name}" has the classes {" ".join(map(str, labels)) or "(none)"}, which are not '
        f"the {n_sides} sides of its partition. Fit it on the numbers of the sides, from 0 to "
        f"{n_sides - 1}."
    )


def choose_sides_output(
    estimator: Any, calibration: Any, n_sides: int
) -> tuple[Output, VectorScaling | None]:
    """Return which output of an estimator to use, and the plain softmax if it needs one."""
    uses_own = calibration is None or (isinstance(calibration, str) and calibration == "auto")
    plain = VectorScaling(np.ones(n_sides), np.zeros(n_sides))
    if uses_own and hasattr(estimator, "predict_proba"):
        return Output.PROBABILITY, None
    if hasattr(estimator, "decision_function"):
        return Output.MARGIN, plain
    if hasattr(estimator, "predict_proba"):
        return Output.PROBABILITY, plain
    if hasattr(estimator, "predict"):
        return Output.LABEL, None
    raise ArgumentError(
        f"{estimator!r} has no predict_proba, decision_function or predict, and needs one of them."
    )
