"""Validation rows, on which an estimator is scored while it is fitted, to stop early.

They are given to ``fit``, as `eval_set` for example, or they are the rows that a fold holds out.
Their labels are classes. The model of a partition gets the rows of its own classes, and their sides
as labels.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.rows import count_rows, take_rows
from polytomy.learners.preparation import name_kind, split_pipeline

_PAIRS = "eval_set"
"""A list of pairs (X, y), as for XGBoost, LightGBM and CatBoost."""

_SAMPLES = {"y_val": "X_val", "eval_y": "eval_X"}
"""Arguments for labels, and for their samples: one set for HistGradientBoostingClassifier; one, or
a tuple of them, for LightGBM."""

_VALUES = {
    "sample_weight_val": ("y_val",),
    "sample_weight_eval_set": (_PAIRS,),
    "eval_sample_weight": (_PAIRS, "eval_y"),
    "base_margin_eval_set": (_PAIRS,),
    "eval_init_score": (_PAIRS, "eval_y"),
}
"""Arguments for further values of the rows, the weights first, and which labels they go with."""

_NAMES = frozenset([_PAIRS, *_SAMPLES, *_SAMPLES.values(), *_VALUES])

_NOT_LABELS = frozenset(
    {
        "base_margin",
        "baseline",
        "feature_weights",
        "group_id",
        "groups",
        "init_score",
        "sample_weight",
    }
)
"""Arguments whose values may repeat and may equal labels by chance."""

_LIMITS = ("max_iter", "iterations", "n_estimators", "num_trees", "num_boost_round")
"""Parameters for the largest number of iterations; the last three are also CatBoost's aliases."""

_COUNTS = (("tree_count_", 0), ("best_iteration_", 0), ("best_iteration", 1), ("n_iter_", 0))
"""Attributes of CatBoost, LightGBM, XGBoost, which counts from 0, and scikit-learn that tell how
many iterations a model predicts with."""


@dataclass(frozen=True, slots=True, eq=False)
class Validation:
    """Sets of validation rows.

    Attributes
    ----------
    argument : name of the argument that gives the labels: "eval_set", "y_val" or "eval_y"
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
        own = [_PAIRS] if self.argument == _PAIRS else [_SAMPLES[self.argument], self.argument]
        return [*own, *self.values]

    @classmethod
    def of_rows(
        cls, estimator: Any, X: Any, class_indices: NDArray[np.intp], weight: Any
    ) -> Validation:
        """Return rows as one set, under the names that the estimator's ``fit`` has for them.

        Weights are left out if it has no argument for them.
        """
        accepted = inspect.signature(estimator.fit).parameters
        labels = next((name for name in (*_SAMPLES, _PAIRS) if name in accepted), None)
        if labels is None:
            steps, _ = split_pipeline(estimator)
            way = Argument("shared_preprocessing", True) if steps else Argument("validation", None)
            raise ArgumentError(
                Argument("validation", "folds"),
                f" needs an estimator whose fit takes validation rows ({_PAIRS}, or X_val and "
                f"y_val); {name_kind(estimator)} does not. Use ",
                way,
                ".",
            )
        weights = [name for name in _VALUES if "weight" in name and name in accepted]
        values = {} if weight is None else dict.fromkeys(weights, (weight,))
        return cls(labels, (X,), (class_indices,), values)

    def with_samples(self, transform: Callable[[Any], Any]) -> Validation:
        """Return the same rows with other features."""
        return replace(self, X=tuple(map(transform, self.X)))

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
        if self.argument == "y_val":
            values = {name: value for name, (value,) in self.values.items()}
            return {"X_val": self.X[0], "y_val": self.y[0], **values}
        lists = {name: list(values) for name, values in self.values.items()}
        if self.argument == _PAIRS:
            return {_PAIRS: list(zip(self.X, self.y, strict=True)), **lists}
        return {_SAMPLES[self.argument]: self.X, self.argument: self.y, **lists}


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
    found = [_read_pairs(given)] if _PAIRS in given else []
    for labels, samples in _SAMPLES.items():
        if samples in given or labels in given:
            if samples not in given or labels not in given:
                raise ArgumentError(f"{samples} and {labels} must be given together.")
            is_tuple = isinstance(given[labels], tuple) and labels == "eval_y"
            sets = [given[name] if is_tuple else (given[name],) for name in (samples, labels)]
            found.append(_make(labels, list(zip(*sets, strict=True)), given))
    taken = {name for each in found for name in each.names}
    return {name: value for name, value in fit_params.items() if name not in taken}, tuple(found)


def refuse_labels(fit_params: Mapping[str, Any], classes: NDArray[Any]) -> None:
    """Raise an ArgumentError if an argument of ``fit`` that is not known looks like labels.

    Each partition has labels of its own, so labels cannot be passed on as they are.

    Examples
    --------
    >>> refuse_labels({"cat_features": [0, 2]}, np.arange(3))
    >>> refuse_labels({"y_test": [0, 2, 2]}, np.arange(3))
    Traceback (most recent call last):
        ...
    polytomy.errors.ArgumentError: y_test looks like labels, which each partition translates to \
its sides, but how y_test is used is not known. Pass validation rows as eval_set, or as X_val and \
y_val. If these are not labels, pass them as floating-point numbers.
    """
    known, kind = set(classes.tolist()), _kind_of(classes)
    for name, value in fit_params.items():
        if name.rpartition("__")[2] in _NOT_LABELS:
            continue
        for part in _list_parts(value):
            values = np.asarray(part)
            found = set(values.tolist()) if _kind_of(values) == kind else set()
            # Columns are not named twice, and labels of rows are.
            if 1 < len(found) < len(values) and found <= known:
                raise ArgumentError(
                    f"{name} looks like labels, which each partition translates to its sides, but "
                    f"how {name} is used is not known. Pass validation rows as {_PAIRS}, or as "
                    "X_val and y_val. If these are not labels, pass them as floating-point numbers."
                )


def _kind_of(values: NDArray[Any]) -> str:
    """Return whether values are integers, text and other objects, or of another kind."""
    return {"u": "i", "U": "O", "T": "O"}.get(values.dtype.kind, values.dtype.kind)


def _list_parts(value: Any) -> Iterator[Any]:
    """Yield the columns of values in an argument: itself, its items, or the items of these."""
    parts = [value]
    for _ in range(3):
        inner = []
        for part in parts:
            is_list = isinstance(part, list | tuple) and len(part) > 0
            if is_list and not np.isscalar(part[0]):
                inner += part
            elif is_list or len(getattr(part, "shape", ())) == 1:
                yield part
        parts = inner


# -- where to stop -------------------------------------------------------------------------------


def fix_iterations(
    estimator: Any, fit_params: Mapping[str, Any], stopped: Iterable[Any]
) -> tuple[Any, dict[str, Any]]:
    """Return an estimator and arguments of its ``fit`` that do not stop early.

    The number of iterations is the mean of those of fitted models, which stopped early.

    Parameters
    ----------
    estimator : prepared estimator
    fit_params : arguments of ``fit``
    stopped : fitted models

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> boosting = HistGradientBoostingClassifier(early_stopping=True)
    >>> X, y = np.eye(2).repeat(50, axis=0), np.repeat([0, 1], 50)
    >>> stopped = clone(boosting).set_params(max_iter=7).fit(X, y)
    >>> fix_iterations(boosting, {}, [stopped])
    (HistGradientBoostingClassifier(early_stopping=False, max_iter=7), {})
    """
    counts = [count for count in map(_count_iterations, stopped) if count]
    known = estimator.get_params()
    changed: dict[str, Any] = {
        name: False if name == "early_stopping" else 0
        for name in known
        if name.startswith("early_stopping") and not hasattr(type(estimator), "tree_count_")
    }  # CatBoost does not stop early without validation rows, and does not accept 0
    if counts:
        limit = next((name for name in _LIMITS if name in known), "iterations")
        changed[limit] = max(1, round(float(np.mean(counts))))
    if known.get("callbacks"):
        changed["callbacks"] = _keep_going(known["callbacks"])
    others = dict(fit_params)
    if others.get("callbacks"):
        others["callbacks"] = _keep_going(others["callbacks"])
    return clone(estimator).set_params(**changed), others


def _count_iterations(model: Any) -> int | None:
    for name, start in _COUNTS:
        value = getattr(model, name, None)
        if isinstance(value, int | np.integer) and value + start > 0:
            return int(value) + start
    return None


def _keep_going(callbacks: Iterable[Any]) -> list[Any]:
    """Return the callbacks of LightGBM or XGBoost without those that stop early."""
    stops = ("stopping_rounds", "rounds")
    return [each for each in callbacks if not any(hasattr(each, name) for name in stops)]


# -- checks --------------------------------------------------------------------------------------


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
        f"{name}: the steps of a pipeline do not transform validation rows. Pass {name} without "
        "the name of a step, and use ",
        Argument("shared_preprocessing", True),
        ", or transform all rows first, and use the last step as estimator.",
    )


def _read_pairs(given: Mapping[str, Any]) -> Validation:
    pairs = given[_PAIRS]
    if isinstance(pairs, tuple) and len(pairs) == 2 and not isinstance(pairs[0], tuple):
        pairs = [pairs]  # LightGBM and CatBoost take a single pair
    is_list = isinstance(pairs, list | tuple)
    if not is_list or not all(isinstance(each, list | tuple) and len(each) == 2 for each in pairs):
        raise ArgumentError(f"{_PAIRS} must be a list of pairs (X, y).")
    return _make(_PAIRS, pairs, given)


def _make(argument: str, pairs: Any, given: Mapping[str, Any]) -> Validation:
    samples, labels = zip(*pairs, strict=True) if pairs else ((), ())
    y = tuple(map(np.asarray, labels))
    for X, own in zip(samples, y, strict=True):
        if own.ndim != 1 or count_rows(X) != len(own):
            raise ArgumentError(
                f"{argument} must have a label for each row; got {count_rows(X)} rows and labels "
                f"of shape {own.shape}."
            )
    values = {}
    for name, goes_with in _VALUES.items():
        if name in given and argument in goes_with:
            of_sets = (given[name],) if argument == "y_val" else tuple(given[name])
            expected = [(len(each),) for each in y]
            sizes = [
                size if value is None else np.shape(value)[:1]
                for value, size in zip(of_sets, expected, strict=False)
            ]
            if len(of_sets) != len(y) or sizes != expected:
                raise ArgumentError(
                    f"{name} must have a value for each row of each set in {argument}."
                )
            values[name] = of_sets
    return Validation(argument, samples, y, values)
