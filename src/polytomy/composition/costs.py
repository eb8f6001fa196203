"""Costs of decisions: the class of least expected cost, or no decision if that is cheaper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import Argument, ArgumentError

__all__ = ["Costs", "check_costs"]

Floats = NDArray[np.float64]

_REJECT_NUMBER, _REJECT_TEXT = -1, "unknown"


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """The cost of each prediction for each true class, and the cost of making none.

    Attributes
    ----------
    matrix : array of shape (n_classes, n_classes), rows are true classes, columns predicted ones
    reject_cost : float, optional; the cost of making no prediction
    reject_label : label that stands for no prediction; only used with a `reject_cost`
    """

    matrix: Floats
    reject_cost: float | None = None
    reject_label: Any = None

    def expected(self, probabilities: Floats) -> Floats:
        """Return the expected cost of each prediction.

        Returns
        -------
        array of shape (n_samples, n_classes); with a `reject_cost` there is one more column, for
        making no prediction

        Examples
        --------
        >>> costs = Costs(np.array([[0.0, 1.0], [10.0, 0.0]]), reject_cost=0.5)
        >>> costs.expected(np.array([[0.75, 0.25]]))
        array([[2.5 , 0.75, 0.5 ]])
        """
        expected = probabilities @ self.matrix
        if self.reject_cost is None:
            return expected
        return np.column_stack([expected, np.full(len(expected), self.reject_cost)])

    def labels(self, probabilities: Floats, classes: NDArray[Any]) -> NDArray[Any]:
        """Return the labels of least expected cost.

        Ties go to the first class, and any class wins a tie with making no prediction.
        """
        labels = classes if self.reject_cost is None else self.labels_with_reject(classes)
        chosen: NDArray[Any] = labels[np.argmin(self.expected(probabilities), axis=1)]
        return chosen

    def labels_with_reject(self, classes: NDArray[Any]) -> NDArray[Any]:
        """Return the labels of the classes and, last, the one that stands for no prediction.

        The array has the dtype of the classes if that can hold the label, and dtype object
        otherwise, so that no label changes: 1 does not become "1".
        """
        label = self.reject_label
        is_text = isinstance(label, str)
        if is_text and classes.dtype.kind == "U":
            return np.array([*classes.tolist(), label])
        is_number = isinstance(label, int | float) and not isinstance(label, bool)
        if is_number and classes.dtype.kind in "iuf":
            both = np.array([*classes.tolist(), label])
            if isinstance(label, float) and classes.dtype.kind != "f":
                return both
            same = both.astype(classes.dtype)
            return same if same[-1] == label else both
        both = np.empty(len(classes) + 1, dtype=object)
        both[:-1], both[-1] = classes.tolist(), label
        return both


def check_costs(
    matrix: Any, classes: NDArray[Any], reject_cost: Any = None, reject_label: Any = None
) -> Costs:
    """Return the costs, or raise an ArgumentError.

    Parameters
    ----------
    matrix : array of shape (n_classes, n_classes), in the order of `classes`; a dict of dicts,
        ``{true: {predicted: cost}}``; or a frame with the labels as index and columns. With None,
        every error costs one.
    classes : array of labels
    reject_cost : float, optional
    reject_label : label that is not a class; by default −1 for numbers and "unknown" for text
    """
    labels = classes.tolist()
    values = 1.0 - np.eye(len(labels)) if matrix is None else _read_matrix(matrix, labels)
    if values.shape != (len(labels), len(labels)):
        raise ArgumentError(
            Argument("matrix"),
            f" has shape {values.shape}; {len(labels)} classes need {(len(labels), len(labels))}: "
            "a row for each true class and a column for each predicted one.",
        )
    is_wrong = ~np.isfinite(values)
    if is_wrong.any():
        true, predicted = (int(k[0]) for k in np.nonzero(is_wrong))
        raise ArgumentError(
            Argument("matrix"),
            f" has {values[true, predicted]:g} for predicting {labels[predicted]!r} when "
            f"{labels[true]!r} is true. Costs must be finite numbers; use a large one instead.",
        )
    if reject_cost is None:
        if reject_label is not None:
            raise ArgumentError(
                Argument("reject_label", reject_label),
                " has no effect without ",
                Argument("reject_cost"),
                ". Set both.",
            )
        return Costs(values)
    return Costs(values, _check_reject_cost(reject_cost), _check_reject_label(reject_label, labels))


def _check_reject_cost(reject_cost: Any) -> float:
    is_number = isinstance(reject_cost, int | float | np.number) and not isinstance(
        reject_cost, bool
    )
    if not is_number or not np.isfinite(reject_cost):
        raise ArgumentError(Argument("reject_cost", reject_cost), " must be a finite number.")
    return float(reject_cost)


def _check_reject_label(reject_label: Any, labels: list[Any]) -> Any:
    if isinstance(reject_label, np.generic):
        reject_label = reject_label.item()
    label = reject_label
    if label is None:
        is_text = any(isinstance(each, str) for each in labels)
        label = _REJECT_TEXT if is_text else _REJECT_NUMBER
    if not isinstance(label, str | int | float):
        raise ArgumentError(
            Argument("reject_label", reject_label), " must be text or a number, as labels are."
        )
    if label in labels:
        given = "" if reject_label is None else f"={reject_label!r}"
        raise ArgumentError(
            Argument("reject_label"),
            f"{given} must not be a class, and {label!r} is one. Set another label.",
        )
    return label


def _read_matrix(matrix: Any, labels: list[Any]) -> Floats:
    if isinstance(matrix, Mapping):
        matrix = _from_mapping(matrix, labels)
    elif hasattr(matrix, "index") and hasattr(matrix, "columns"):
        frame = {
            true: dict(zip(matrix.columns.tolist(), row, strict=True))
            for true, row in zip(matrix.index.tolist(), matrix.to_numpy().tolist(), strict=True)
        }
        matrix = _from_mapping(frame, labels)
    try:
        return np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(
            Argument("matrix"),
            " cannot be read as an array of numbers. Pass a row for each true class and a column "
            "for each predicted one.",
        ) from None


def _from_mapping(matrix: Mapping[Any, Any], labels: list[Any]) -> list[list[Any]]:
    """Return the rows of a dict of dicts; correct predictions cost nothing unless given."""
    rows = {_plain(true): row for true, row in matrix.items()}
    known = set(labels)
    found = []
    for row in rows.values():
        if not isinstance(row, Mapping):
            raise ArgumentError(
                Argument("matrix"), " must be {true: {predicted: cost}} if it is a dict."
            )
    used = [*rows, *(_plain(each) for row in rows.values() for each in row)]
    unknown = [each for each in used if each not in known]
    if unknown:
        raise ArgumentError(Argument("matrix"), f" has {unknown[0]!r}, which is not a class.")
    for true in labels:
        row = {_plain(each): cost for each, cost in rows.get(true, {}).items()}
        missing = [each for each in labels if each not in row and each != true]
        if missing:
            raise ArgumentError(
                Argument("matrix"),
                f" has no cost for predicting {missing[0]!r} when {true!r} is true.",
            )
        found.append([row.get(each, 0.0) for each in labels])
    return found


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
