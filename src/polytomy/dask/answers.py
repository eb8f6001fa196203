"""Answers of a fitted classifier: lazy for Dask collections, immediate for data in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from inspect import isfunction
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

import dask
from dask import delayed
from polytomy.classifier import PolytomyClassifier
from polytomy.dask.grouping import is_collection, is_frame, make_parts, whole_rows
from polytomy.errors import ArgumentError
from polytomy.inputs.arguments import available_unless
from polytomy.inputs.rows import count_rows
from polytomy.model.answering import AnsweringMixin, why_no_probabilities


class Form(NamedTuple):
    """The form of an answer, which must be known before it is computed.

    Attributes
    ----------
    dtype : type of the array
    columns : names of its columns; None if it has one dimension
    """

    dtype: Any
    columns: Sequence[Any] | None = None

    @property
    def empty(self) -> NDArray[Any]:
        """The answer for no samples."""
        shape = (0,) if self.columns is None else (0, len(self.columns))
        return np.empty(shape, dtype=self.dtype)

    def as_frame(self, values: NDArray[Any], index: Any) -> Any:
        """Return values as a frame, or as a series if they have one dimension."""
        import pandas

        # Labels that are text are objects in a frame.
        dtype = object if np.dtype(self.dtype).kind in "US" else self.dtype
        if self.columns is None:
            return pandas.Series(values, index=index, name="prediction", dtype=dtype)
        frame = pandas.DataFrame(values, index=index)
        frame = frame.astype(dict.fromkeys(range(len(self.columns)), dtype))
        frame.columns = pandas.Index(self.columns)
        return frame


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What to compute for each part of the samples.

    Attributes
    ----------
    method : name of a method of PolytomyClassifier that returns an array
    form : Form of that array
    """

    method: str
    form: Form

    def for_part(self, X: Any, model: Any) -> NDArray[Any]:
        """Return the answer for one part, which may be empty."""
        if count_rows(X):
            return np.asarray(getattr(model, self.method)(X), dtype=self.form.dtype)
        return self.form.empty

    def for_frame(self, X: Any, model: Any) -> Any:
        """Return the answer for one part of a frame, with the same index."""
        return self.form.as_frame(self.for_part(X, model), X.index)


def answer_lazily(model: Any, X: Any, answer: Answer) -> Any:
    """Return the answer for samples, as the same kind of collection.

    A dask array gives a dask array, a dask dataframe a dask dataframe or series with the same
    index, and a list of delayed parts a list of delayed arrays.

    Parameters
    ----------
    model : fitted PolytomyClassifier
    X : dask array or dataframe, or a list of delayed parts
    answer : Answer
    """
    # One task holds the model, and all parts depend on it.
    shared = delayed(model, name=f"polytomy model-{uuid4().hex}", traverse=False)
    if isinstance(X, list | tuple):
        return [delayed(answer.for_part)(part, shared) for part in X]
    form = answer.form
    if is_frame(X):
        meta = form.as_frame(form.empty, X._meta.index[:0])
        return X.map_partitions(answer.for_frame, shared, meta=meta, enforce_metadata=False)
    X = whole_rows(X)
    function = partial(polytomy, answer)
    options: dict[str, Any] = {"dtype": form.dtype, "meta": form.empty}
    if form.columns is None:
        return X.map_blocks(function, shared, drop_axis=1, chunks=(X.chunks[0],), **options)
    return X.map_blocks(function, shared, chunks=(X.chunks[0], (len(form.columns),)), **options)


def polytomy(answer: Answer, X: Any, model: Any) -> NDArray[Any]:
    """Return the answer for one block. Dask names arrays and tasks after this function.

    `map_blocks` has a keyword for the name, but not the same one in all versions.
    """
    return answer.for_part(X, model)


# -- the form of each answer, given a fitted classifier --------------------------------------


def _form_of_labels(classifier: Any) -> Form:
    # With costs, the label for no prediction may have another type.
    composition = classifier._fitted()
    return Form(composition.labels(np.empty((0, len(composition.classes)))).dtype)


def _form_of_probabilities(classifier: Any) -> Form:
    return Form(np.float64, classifier._fitted().classes.tolist())


def _form_of_decision_values(classifier: Any) -> Form:
    labels = classifier._fitted().classes.tolist()
    return Form(np.float64, labels if len(labels) != 2 else None)


def _lazily(name: str, find_form: Callable[..., Form] | None) -> Any:
    """Return a method of `AnsweringMixin` that takes Dask collections as well.

    Parameters
    ----------
    name : name of the method
    find_form : function of the classifier, returns the form of the answer; None for a method that
        needs samples in memory
    """
    method = getattr(AnsweringMixin, name)

    @wraps(method)
    def answer(self: Any, X: Any, *arguments: Any, **options: Any) -> Any:
        if not is_collection(X):
            return method(self, X, *arguments, **options)
        if find_form is None:
            raise ArgumentError(
                f"{name} needs samples in memory. Compute some of the rows first, such as "
                f"X[:1000].compute(), or apply to_local().{name} to each part, for example with "
                "X.map_blocks."
            )
        return answer_lazily(self._model_for(X), X, Answer(name, find_form(self)))

    is_always_there = isfunction(vars(AnsweringMixin)[name])
    return answer if is_always_there else available_unless(why_no_probabilities)(answer)


class LazyAnswersMixin(AnsweringMixin):
    """Labels, probabilities and decision values that accept Dask collections.

    For a dask array, the result is a dask array; for a dask dataframe, a dask dataframe or series
    with the same index; for a list of delayed parts, a list of delayed arrays. Nothing is computed
    until it is requested, and then one part at a time, so memory is bounded by a part. For samples
    in memory, the result is computed immediately.
    """

    to_local: Callable[[], PolytomyClassifier]

    predict = _lazily("predict", _form_of_labels)
    predict_proba = _lazily("predict_proba", _form_of_probabilities)
    predict_log_proba = _lazily("predict_log_proba", _form_of_probabilities)
    decision_function = _lazily("decision_function", _form_of_decision_values)
    decisions = _lazily("decisions", None)
    node_probabilities = _lazily("node_probabilities", None)
    predict_nodes = _lazily("predict_nodes", None)
    predict_set = _lazily("predict_set", None)
    predict_cost = _lazily("predict_cost", None)
    predict_top_k = _lazily("predict_top_k", None)
    explain = _lazily("explain", None)
    estimate_prior = _lazily("estimate_prior", None)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean accuracy on samples and labels, computed part by part.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
        """
        if not is_collection(X):
            accuracy: float = self.to_local().score(X, y, sample_weight)
            return accuracy
        parts = make_parts(X, y, sample_weight)
        model = delayed(self._model_for(X), traverse=False)
        counts = dask.compute(*[delayed(_count_right)(model, *part) for part in parts])
        right, total = np.sum(counts, axis=0).tolist()
        return float(right / total)

    def _model_for(self, X: Any) -> PolytomyClassifier:
        """Return the model to send to the workers, after a first check of the samples.

        It has no out-of-fold scores, which are as large as the training data.
        """
        local = self.to_local()
        if is_frame(X):
            validate_data(local, X._meta, reset=False, skip_check_array=True)
        elif hasattr(X, "ndim"):
            if X.ndim != 2:
                raise ArgumentError(f"X must have two dimensions; it has shape {X.shape}.")
            if X.shape[1] == X.shape[1]:  # it is known
                validate_data(local, np.zeros((1, X.shape[1])), reset=False)
        composition = local.composition_
        final = composition.final
        if final is not None:
            final = replace(final, probabilities=None)
        local.composition_ = replace(composition, out_of_fold=None, final=final)
        local.set_params(verbose=0)
        return local


def _count_right(model: Any, X: Any, y: Any, weight: Any) -> tuple[float, float]:
    """Return the weight of the samples that are predicted correctly, and that of all."""
    if not len(y):
        return 0.0, 0.0
    is_right = model.predict(X) == np.asarray(y)
    weight = np.ones(len(is_right)) if weight is None else np.asarray(weight)
    return float(weight[is_right].sum()), float(weight.sum())
