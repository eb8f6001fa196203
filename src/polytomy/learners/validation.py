"""Validation rows given to ``fit``, such as `eval_set`: each partition gets its own part of them.

An estimator that stops early, or that reports its progress, is scored on these rows while it is
fitted. Their labels are classes. The model of a partition gets the rows of its own classes, and
their sides as labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import ArgumentError
from polytomy.inputs.rows import count_rows, take_rows
from polytomy.learners.preparation import split_pipeline

_PAIRS = "eval_set"
"""A list of pairs (X, y), as for XGBoost, LightGBM and CatBoost."""

_OF_PAIRS = (
    "sample_weight_eval_set",
    "base_margin_eval_set",
    "eval_sample_weight",
    "eval_init_score",
)
"""Lists of values of the rows in `eval_set`."""

_SAMPLES, _LABELS, _WEIGHTS = "X_val", "y_val", "sample_weight_val"
"""One set of rows, as for HistGradientBoostingClassifier."""

_NAMES = frozenset([_PAIRS, *_OF_PAIRS, _SAMPLES, _LABELS, _WEIGHTS])


@dataclass(frozen=True, slots=True, eq=False)
class Validation:
    """Sets of validation rows.

    Attributes
    ----------
    argument : name of the argument that gives the labels: "eval_set" or "y_val"
    X : tuple of the samples of each set
    y : tuple of arrays, the labels of each set
    values : dict of names of arguments to tuples, further values of the rows of each set
    """

    argument: str
    X: tuple[Any, ...]
    y: tuple[NDArray[Any], ...]
    values: Mapping[str, tuple[Any, ...]]

    @property
    def names(self) -> list[str]:
        """The names of its arguments of ``fit``."""
        own = [_PAIRS] if self.argument == _PAIRS else [_SAMPLES, _LABELS]
        return [*own, *self.values]

    def with_labels(self, translate: Callable[[NDArray[Any]], NDArray[Any]]) -> Validation:
        """Return the same rows with other labels."""
        return replace(self, y=tuple(map(translate, self.y)))

    def encoded(self, classes: NDArray[Any]) -> Validation:
        """Return the same rows with class indices as labels; ArgumentError for other labels."""
        numbers = {label: k for k, label in enumerate(classes.tolist())}

        def encode(y: NDArray[Any]) -> NDArray[np.intp]:
            unknown = [label for label in y.tolist() if label not in numbers]
            if unknown:
                raise ArgumentError(
                    f"{self.argument} has the label {unknown[0]!r}, which y does not have. Leave "
                    "out its rows."
                )
            return np.array([numbers[label] for label in y.tolist()], dtype=np.intp)

        return self.with_labels(encode)

    def of_partition(
        self, class_indices: NDArray[np.intp], targets: NDArray[Any], name: str
    ) -> Validation:
        """Return the rows of a partition's classes, with their targets as labels.

        Parameters
        ----------
        class_indices, targets : class index and target of each row that its model is fitted to
        name : name of the partition, for messages
        """
        known, first = np.unique(class_indices, return_index=True)
        rows = [np.flatnonzero(np.isin(y, known)) for y in self.y]
        if not all(map(len, rows)):
            raise ArgumentError(
                f'{self.argument} has no rows of the classes of partition "{name}". Add rows of '
                "all classes."
            )
        return replace(
            self,
            X=tuple(take_rows(*each) for each in zip(self.X, rows, strict=True)),
            y=tuple(
                targets[first[np.searchsorted(known, y[own])]]
                for y, own in zip(self.y, rows, strict=True)
            ),
            values={
                argument: tuple(
                    None if value is None else take_rows(value, own)
                    for value, own in zip(values, rows, strict=True)
                )
                for argument, values in self.values.items()
            },
        )

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of ``fit`` that give these rows."""
        if self.argument == _PAIRS:
            of_sets = {name: list(values) for name, values in self.values.items()}
            return {_PAIRS: list(zip(self.X, self.y, strict=True)), **of_sets}
        values = {name: value for name, (value,) in self.values.items()}
        return {_SAMPLES: self.X[0], _LABELS: self.y[0], **values}


def split_validation(
    fit_params: Mapping[str, Any],
) -> tuple[dict[str, Any], tuple[Validation, ...]]:
    """Return the arguments of ``fit`` without validation rows, and the validation rows.

    Examples
    --------
    >>> others, (found,) = split_validation({"verbose": 0, "eval_set": [([[1.0]], ["corn"])]})
    >>> others, found.y
    ({'verbose': 0}, (array(['corn'], dtype='<U4'),))
    """
    given = {name: value for name, value in fit_params.items() if value is not None}
    for name in given:
        if name.rpartition("__")[2] in _NAMES and name not in _NAMES:
            raise _refuse_pipeline(name)
    found = []
    if _PAIRS in given:
        found.append(_read_pairs(given))
    if _SAMPLES in given or _LABELS in given:
        if _SAMPLES not in given or _LABELS not in given:
            raise ArgumentError(f"{_SAMPLES} and {_LABELS} must be given together.")
        values = {_WEIGHTS: (given[_WEIGHTS],)} if _WEIGHTS in given else {}
        found.append(_make(_LABELS, [(given[_SAMPLES], given[_LABELS])], values))
    taken = {name for each in found for name in each.names}
    return {name: value for name, value in fit_params.items() if name not in taken}, tuple(found)


def check_validation(estimator: Any, validation: Validation) -> None:
    """Raise an ArgumentError if an estimator would be scored on rows of other features.

    A pipeline transforms only the arguments of ``fit`` that are in its `transform_input`.
    """
    before, _ = split_pipeline(estimator)
    name = validation.names[0]
    if before and name not in (getattr(estimator, "transform_input", None) or ()):
        raise _refuse_pipeline(name)


def _refuse_pipeline(name: str) -> ArgumentError:
    return ArgumentError(
        f"{name}: the steps of a pipeline do not transform validation rows. Transform X and the "
        "validation rows first, and use the last step of the pipeline as estimator."
    )


def _read_pairs(given: Mapping[str, Any]) -> Validation:
    pairs = given[_PAIRS]
    if isinstance(pairs, tuple) and len(pairs) == 2 and not isinstance(pairs[0], tuple):
        pairs = [pairs]  # LightGBM and CatBoost take a single pair
    is_list = isinstance(pairs, list | tuple)
    if not is_list or not all(isinstance(each, list | tuple) and len(each) == 2 for each in pairs):
        raise ArgumentError(f"{_PAIRS} must be a list of pairs (X, y).")
    values = {name: tuple(given[name]) for name in _OF_PAIRS if name in given}
    return _make(_PAIRS, pairs, values)


def _make(argument: str, pairs: Any, values: Mapping[str, tuple[Any, ...]]) -> Validation:
    samples, labels = zip(*pairs, strict=True) if pairs else ((), ())
    y = tuple(map(np.asarray, labels))
    for X, own in zip(samples, y, strict=True):
        if own.ndim != 1 or count_rows(X) != len(own):
            raise ArgumentError(
                f"{argument} must have a label for each row; got {count_rows(X)} rows and labels "
                f"of shape {own.shape}."
            )
    return Validation(argument, samples, y, values)
