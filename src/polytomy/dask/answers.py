"""Answers of a fitted classifier: lazy for Dask collections, immediate for data in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from inspect import isfunction, signature
from typing import Any, NamedTuple
from uuid import uuid4

import dask.array as da
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

import dask
from dask import delayed
from polytomy.classifier import PolytomyClassifier
from polytomy.dask.grouping import is_collection, is_frame, make_parts, whole_rows
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import available_unless
from polytomy.inputs.rows import count_rows
from polytomy.model.answering import AnsweringMixin, why_no_probabilities
from polytomy.model.decisions import check_top_k


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
    compute : function of a fitted PolytomyClassifier and samples, returns an array
    form : Form of that array
    """

    compute: Callable[[Any, Any], NDArray[Any]]
    form: Form

    def for_part(self, X: Any, model: Any) -> NDArray[Any]:
        """Return the answer for one part, which may be empty."""
        if count_rows(X):
            return np.asarray(self.compute(model, X), dtype=self.form.dtype)
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


# -- the form of each answer, given a fitted classifier and the options of the method --------------


def _form_of_labels(classifier: Any) -> Form:
    # With costs, the label for no prediction may have another type.
    composition = classifier._fitted()
    return Form(composition.labels(np.empty((0, len(composition.classes)))).dtype)


def _form_of_probabilities(classifier: Any) -> Form:
    return Form(np.float64, classifier._fitted().classes.tolist())


def _form_of_decision_values(classifier: Any) -> Form:
    labels = classifier._fitted().classes.tolist()
    return Form(np.float64, labels if len(labels) != 2 else None)


def _form_of_decisions(classifier: Any) -> Form:
    composition = classifier._fitted()
    names = [binary.name for binary in composition.binaries]
    if len(composition.arrangements) == 1:
        names = [names[column] for column in composition.arrangements[0].columns.tolist()]
    return Form(np.float64, names)


def _form_of_node_probabilities(classifier: Any, hierarchy: Any = None) -> Form:
    scheme, _ = classifier._hierarchy(hierarchy)
    return Form(np.float64, [str(name) for name in scheme.node_names])


def _form_of_nodes(classifier: Any, **options: Any) -> Form:
    return Form(object)


def _form_of_sets(classifier: Any, confidence_level: Any = 0.9, **options: Any) -> Form:
    if np.ndim(confidence_level):
        raise ArgumentError(
            Argument("confidence_level"), " must be a single number for Dask collections."
        )
    # Computed here, because the model that is sent to workers has no out-of-fold scores.
    classifier.composition_ = classifier._fitted().with_conformity()
    return Form(np.bool_, classifier.composition_.classes.tolist())


def _form_of_costs(classifier: Any) -> Form:
    composition = classifier._fitted()
    if composition.costs is None or composition.costs.reject_cost is None:
        return _form_of_probabilities(classifier)
    return Form(np.float64, composition.costs.labels_with_reject(composition.classes).tolist())


def _lazily(name: str, find_form: Callable[..., Form] | None) -> Any:
    """Return a method of `AnsweringMixin` that takes Dask collections as well.

    Parameters
    ----------
    name : name of the method
    find_form : function of the classifier and the options of the method, returns the form of the
        answer; None for a method that needs samples in memory
    """
    method = getattr(AnsweringMixin, name)

    @wraps(method)
    def answer(self: Any, X: Any, *arguments: Any, **options: Any) -> Any:
        if not is_collection(X):
            return method(self, X, *arguments, **options)
        if find_form is None:
            raise ArgumentError(
                f"{name} needs samples in memory. Compute some of the rows first, such as "
                "X[:1000].compute()."
            )
        given = signature(method).bind(self, X, *arguments, **options).arguments
        options = {key: value for key, value in given.items() if key not in ("self", "X")}
        if options.get("hierarchy") is not None:  # it may be a file that workers do not have
            options["hierarchy"], _ = self._hierarchy(options["hierarchy"])
        form = find_form(self, **options)
        return answer_lazily(self._model_for(X), X, Answer(partial(_call, name, options), form))

    is_always_there = isfunction(vars(AnsweringMixin)[name])
    return answer if is_always_there else available_unless(why_no_probabilities)(answer)


def _call(method: str, options: dict[str, Any], model: Any, X: Any) -> Any:
    return getattr(model, method)(X, **options)


class LazyAnswersMixin(AnsweringMixin):
    """Answers of a fitted classifier that accept Dask collections.

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
    decisions = _lazily("decisions", _form_of_decisions)
    node_probabilities = _lazily("node_probabilities", _form_of_node_probabilities)
    predict_nodes = _lazily("predict_nodes", _form_of_nodes)
    predict_set = _lazily("predict_set", _form_of_sets)
    predict_cost = _lazily("predict_cost", _form_of_costs)
    explain = _lazily("explain", None)
    estimate_prior = _lazily("estimate_prior", None)

    @available_unless(why_no_probabilities)
    def predict_top_k(self, X: Any, k: int) -> tuple[Any, Any]:
        """Return the labels and probabilities of the k likeliest classes, the likeliest first.

        Parameters
        ----------
        X : samples
        k : int, number of classes

        Returns
        -------
        labels, probabilities : each of shape (n_samples, k)
        """
        composition = self._fitted()
        if not is_collection(X):
            found: tuple[Any, Any] = AnsweringMixin.predict_top_k(self, X, k)
            return found
        k = check_top_k(k, len(composition.classes))
        answer = Answer(partial(_pack_top_k, k), Form(np.float64, list(range(2 * k))))
        packed = answer_lazily(self._model_for(X), X, answer)
        indices, chances = _take_columns(packed, 0, k), _take_columns(packed, k, 2 * k)
        turn = partial(_index_labels, composition.classes)
        if isinstance(packed, list):
            return [delayed(turn)(part) for part in indices], chances
        if not is_frame(packed):
            empty = np.empty((0, 0), dtype=composition.classes.dtype)
            return indices.map_blocks(turn, dtype=empty.dtype, meta=empty), chances
        labels = indices.map_partitions(turn, meta=turn(indices._meta), enforce_metadata=False)
        return labels, chances.rename(columns=dict(zip(range(k, 2 * k), range(k), strict=True)))

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


def _pack_top_k(k: int, model: Any, X: Any) -> NDArray[np.float64]:
    """Return the indices of the k likeliest classes of each sample, and their probabilities.

    Both are computed together, in one array of shape (n_samples, 2 k).
    """
    labels, probabilities = model.predict_top_k(X, k)
    return np.hstack([np.searchsorted(model.classes_, labels), probabilities])


def _take_columns(packed: Any, first: int, last: int) -> Any:
    """Return some columns of a dask array, frame or list of delayed arrays."""
    if isinstance(packed, list):
        return [part[:, first:last] for part in packed]
    if isinstance(packed, da.Array):
        return packed[:, first:last]
    return packed[list(packed.columns[first:last])]


def _index_labels(classes: NDArray[Any], packed: Any) -> Any:
    """Return the labels of class indices in an array or a frame."""
    if isinstance(packed, np.ndarray):
        return classes[packed.astype(np.intp)]
    labels = classes[packed.to_numpy().astype(np.intp)]
    return Form(classes.dtype, list(packed.columns)).as_frame(labels, packed.index)


def _count_right(model: Any, X: Any, y: Any, weight: Any) -> tuple[float, float]:
    """Return the weight of the samples that are predicted correctly, and that of all."""
    if not len(y):
        return 0.0, 0.0
    is_right = model.predict(X) == np.asarray(y)
    weight = np.ones(len(is_right)) if weight is None else np.asarray(weight)
    return float(weight[is_right].sum()), float(weight.sum())
