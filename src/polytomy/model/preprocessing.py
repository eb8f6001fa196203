"""Pre-processing that all binaries share: the first steps of a pipeline, fitted once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, clone
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from polytomy.errors import Argument, ArgumentError
from polytomy.files import write_temporary_rows
from polytomy.inputs.arguments import list_names
from polytomy.inputs.numbers import check_weights
from polytomy.inputs.rows import count_rows, take_rows, unchangeable
from polytomy.inputs.seeds import partition_seeds, seed_all
from polytomy.inputs.sparse import check_sparse
from polytomy.inputs.training_data import blocks_of
from polytomy.learners.problems import Dichotomy
from polytomy.learners.svm.matrix import check_budget
from polytomy.learners.workload import TrainingOptions

# Transformers that can process rows in blocks, and those that can also learn in blocks; the number
# of values from which they do; and the bytes of a block.
_ROW_BY_ROW = (Nystroem, RBFSampler, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler)
_INCREMENTAL = (MaxAbsScaler, MinMaxScaler, StandardScaler)
_MANY_VALUES = 2**22
_BLOCK_BYTES = 2**22


@dataclass(frozen=True, slots=True, eq=False)
class SharedPreprocessing:
    """Fitted transformers, and what is left to train on their output.

    Attributes
    ----------
    dichotomies : list of Dichotomy
        The estimators are the last steps of the pipelines.
    X : the output of the transformers for all training rows
    pipeline : fitted Pipeline of transformers, or None if nothing is shared
    seconds : float, the time that the transformers took
    """

    dichotomies: Sequence[Dichotomy]
    X: Any
    pipeline: Pipeline | None = None
    seconds: float = 0.0


def share_preprocessing(
    dichotomies: Sequence[Dichotomy], X: Any, options: TrainingOptions
) -> SharedPreprocessing:
    """Fit the steps before the last of the dichotomies' pipelines once, on all rows, without y.

    All pipelines must have the same steps before the last. Estimators that are not pipelines are
    trained on the same output. Rows of weight zero do not count. Nothing is shared if there is no
    pipeline.

    Parameters
    ----------
    dichotomies : dichotomies to train
    X : training data of any kind
    options : TrainingOptions
        A `random_state` also seeds the transformers.

    Raises
    ------
    ArgumentError
        If the pipelines differ, a model is fitted already, a transformer needs y, or `fit` has
        further arguments.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MaxAbsScaler
    >>> from sklearn.svm import SVC
    >>> from polytomy.scheme import BinaryName
    >>> machine = make_pipeline(MaxAbsScaler(), SVC())
    >>> dichotomies = [Dichotomy("a-b", (0,), (1,), BinaryName("a-b"), machine)]
    >>> shared = share_preprocessing(dichotomies, np.array([[1.0], [4.0]]), TrainingOptions())
    >>> shared.dichotomies[0].estimator, shared.X.ravel().tolist()
    (SVC(), [0.25, 1.0])
    """
    lead = find_lead(dichotomies)
    if lead is None:
        return SharedPreprocessing(dichotomies, X)
    started = perf_counter()
    check_shareable(lead, dichotomies)
    pipeline = clone(lead.estimator)[:-1]
    _check_arguments(pipeline, options)
    (seed,) = partition_seeds(options.random_state, 1)
    seed_all(pipeline, seed)
    weight = options.arguments_for(lead.model).sample_weight
    output = _fit_transform(pipeline, X, weight, check_budget(options.memory_budget))
    return SharedPreprocessing(
        cut_pipelines(dichotomies), output, pipeline, perf_counter() - started
    )


# -- which steps are shared --------------------------------------------------------------------


def find_lead(dichotomies: Sequence[Dichotomy]) -> Dichotomy | None:
    """Return the first dichotomy to train whose estimator has steps before the last."""
    to_train = [each for each in dichotomies if each.trained is None]
    return next((each for each in to_train if _steps_before(each.estimator)), None)


def _steps_before(estimator: Any) -> list[Any]:
    """Return the steps before the last of a pipeline, without those that do nothing."""
    return _active(estimator.steps[:-1]) if isinstance(estimator, Pipeline) else []


def _active(steps: Sequence[tuple[str, Any]]) -> list[Any]:
    """Return the steps of a pipeline, without those that do nothing."""
    return [step for _, step in steps if not (step is None or step == "passthrough")]


def check_shareable(lead: Dichotomy, dichotomies: Sequence[Dichotomy]) -> None:
    """Raise an ArgumentError if the dichotomies cannot share the first steps of one of them."""
    steps = _steps_before(lead.estimator)
    for each in dichotomies:
        if each.trained is not None:
            raise _refusal(
                f"the model of {each.name} is fitted already, on features without this "
                "pre-processing"
            )
        own = _steps_before(each.estimator)
        if own and each.estimator is not lead.estimator and not _are_same(own, steps):
            raise _refusal(
                f"the pipelines of {lead.name} and {each.name} differ in the steps before the last"
            )


def _refusal(reason: str) -> ArgumentError:
    """Return the error for pre-processing that cannot be shared."""
    option, alone = Argument("shared_preprocessing", True), Argument("shared_preprocessing", False)
    return ArgumentError(option, f", but {reason}. Use ", alone, ".")


def _are_same(one: Any, other: Any) -> bool:
    """Return whether two values are the same; for estimators, whether their parameters are."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, BaseEstimator):
        return _are_same(one.get_params(deep=False), other.get_params(deep=False))
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_are_same(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_are_same, one, other))
    equal = one == other
    return bool(np.all(equal)) and np.shape(one) == np.shape(other)


def _check_arguments(transformers: Pipeline, options: TrainingOptions) -> None:
    """Raise an ArgumentError if steps of the pipelines get arguments of their own.

    Without metadata routing, arguments that name no step are for the last one, which is trained.
    """
    every = [options.arguments, *options.arguments_by_model.values()]
    is_routed = get_config()["enable_metadata_routing"]
    names = {name for each in every for name in each.fit_params if is_routed or "__" in name}
    if is_routed:
        names |= set(transformers.get_metadata_routing().consumes("fit", ["sample_weight"]))
    if names:
        raise _refusal(f"a step of the pipelines gets {list_names(sorted(names))} in fit")


# -- fitting them ------------------------------------------------------------------------------


def _fit_transform(pipeline: Pipeline, X: Any, weight: Any, budget: float) -> Any:
    """Fit transformers to the rows whose weight is not zero, and return the output for all rows."""
    n_rows = count_rows(X)
    rows = np.flatnonzero(check_weights(weight, n_rows) > 0)
    try:
        if len(rows) == n_rows and _works_row_by_row(pipeline, X):
            _fit_row_by_row(pipeline, X)
            output = _transform_blocks(pipeline, X, budget)
        elif len(rows) == n_rows:
            output = pipeline.fit_transform(unchangeable(X))
        else:
            output = pipeline.fit(take_rows(X, rows)).transform(unchangeable(X))
    except (AttributeError, TypeError, ValueError) as error:
        error.add_note(
            "shared_preprocessing=True fits the steps before the last without y. If one of them "
            "needs y, use shared_preprocessing=False."
        )
        raise
    if count_rows(output) != n_rows:
        raise _refusal(f"the steps before the last return {count_rows(output)} rows for {n_rows}")
    return check_sparse(output)


def _works_row_by_row(pipeline: Pipeline, X: Any) -> bool:
    """Return whether many samples can be transformed in blocks, with the same result."""
    is_large = type(X) in (np.ndarray, np.memmap) and X.ndim == 2 and X.size >= _MANY_VALUES
    return is_large and all(type(step) in _ROW_BY_ROW for step in _active(pipeline.steps))


def _fit_row_by_row(pipeline: Pipeline, X: NDArray[Any]) -> None:
    """Fit transformers, avoiding a leading scaler's temporary arrays of twice the size."""
    first, *rest = _active(pipeline.steps)
    if type(first) not in _INCREMENTAL:
        pipeline.fit(unchangeable(X))
        return
    for block in _blocks(X):
        first.partial_fit(unchangeable(X[block]))
    if rest:
        make_pipeline(*rest).fit(_transform_blocks(first, X, np.inf))


def _blocks(X: NDArray[Any]) -> Iterator[slice]:
    return blocks_of(len(X), X.itemsize * X.shape[1], _BLOCK_BYTES)


def _transform_blocks(transformer: Any, X: NDArray[Any], budget: float) -> Any:
    """Return the output of a fitted transformer, without temporary arrays of its size.

    Output that is larger than the budget goes to a temporary file.
    """
    parts = (transformer.transform(unchangeable(X[block])) for block in _blocks(X))
    first = next(parts)
    if not isinstance(first, np.ndarray):  # transformers may be set to return frames
        return transformer.transform(unchangeable(X))
    if first.nbytes / len(first) * len(X) > budget:
        return write_temporary_rows(chain([first], parts))
    output = np.empty((len(X), first.shape[1]), dtype=first.dtype)
    for block, part in zip(_blocks(X), chain([first], parts), strict=True):
        output[block] = part
    return output


# -- what is left for the binaries ---------------------------------------------------------------


def cut_pipelines(dichotomies: Sequence[Dichotomy]) -> list[Dichotomy]:
    """Return the dichotomies with the last steps of their pipelines.

    Dichotomies with the same estimator still share one object.
    """
    return [
        each._replace(estimator=each.estimator.steps[-1][1])
        if _steps_before(each.estimator)
        else each
        for each in dichotomies
    ]
