"""The answers of a classifier: lazy for Dask collections, immediate for data in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import uuid4

import dask.array as da
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

import dask
from dask import delayed
from polytomy.classifier import PolytomyClassifier
from polytomy.dask.grouping import is_collection, is_frame, make_parts
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import available_unless
from polytomy.inputs.rows import count_rows
from polytomy.model.composition import Composition
from polytomy.model.scheme_argument import gives_probabilities
from polytomy.model.trees import check_beam, check_top_k
from polytomy.scheme import Scheme

__all__ = [
    "Answer",
    "LazyAnswersMixin",
    "answer_lazily",
    "index_labels",
    "pack_top_k",
    "take_columns_of",
]


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """The result of a method for some samples.

    Attributes
    ----------
    compute : function of a fitted PolytomyClassifier and samples, returns an array
    dtype : type of that array
    columns : names of its columns; None if it has one dimension
    name : name of a series with these values
    """

    compute: Callable[[Any, Any], NDArray[Any]]
    dtype: Any
    columns: Sequence[Any] | None = None
    name: str = "prediction"

    def for_part(self, X: Any, model: Any) -> NDArray[Any]:
        """Return the answer for one part, which may be empty."""
        if count_rows(X):
            return np.asarray(self.compute(model, X), dtype=self.dtype)
        return self.empty

    def for_frame(self, X: Any, model: Any) -> Any:
        """Return the answer for one part of a frame, with the same index."""
        return self.as_frame(self.for_part(X, model), X.index)

    def as_frame(self, values: NDArray[Any], index: Any) -> Any:
        """Return the answer as a frame, or as a series if it has one dimension."""
        import pandas

        if self.columns is None:
            return pandas.Series(values, index=index, name=self.name, dtype=self.frame_dtype)
        types = dict.fromkeys(range(len(self.columns)), self.frame_dtype)
        frame = pandas.DataFrame(values, index=index).astype(types)
        frame.columns = pandas.Index(self.columns)
        return frame

    @property
    def frame_dtype(self) -> Any:
        """Type of the columns of a frame: labels that are text are objects."""
        return object if np.dtype(self.dtype).kind in "US" else self.dtype

    @property
    def empty(self) -> NDArray[Any]:
        """The answer for no samples."""
        shape = (0,) if self.columns is None else (0, len(self.columns))
        return np.empty(shape, dtype=self.dtype)


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
    if is_frame(X):
        meta = answer.as_frame(answer.empty, X._meta.index[:0])
        return X.map_partitions(answer.for_frame, shared, meta=meta, enforce_metadata=False)
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    function = partial(polytomy, answer)
    options: dict[str, Any] = {"dtype": answer.dtype, "meta": answer.empty}
    if answer.columns is None:
        return X.map_blocks(function, shared, drop_axis=1, chunks=(X.chunks[0],), **options)
    chunks = X.chunks[0], (len(answer.columns),)
    return X.map_blocks(function, shared, chunks=chunks, **options)


def polytomy(answer: Answer, X: Any, model: Any) -> NDArray[Any]:
    """Return the answer for one block. Dask names arrays and tasks after this function.

    `map_blocks` has a keyword for the name, but not the same one in all versions.
    """
    return answer.for_part(X, model)


# -- the most likely classes, labels and probabilities in one array ----------------------------


def pack_top_k(k: int, beam: int | None, model: Any, X: Any) -> NDArray[np.float64]:
    """Return the indices of the k most likely classes of each sample, and their probabilities.

    Both are computed together, in one array of shape (n_samples, 2 k).
    """
    labels, probabilities = model.predict_top_k(X, k, beam=beam)
    return np.hstack([np.searchsorted(model.classes_, labels), probabilities])


def index_labels(classes: NDArray[Any], packed: Any) -> Any:
    """Return the labels of class indices in an array or a frame."""
    if isinstance(packed, np.ndarray):
        return classes[packed.astype(np.intp)]
    labels = classes[packed.to_numpy().astype(np.intp)]
    return Answer(lambda model, X: X, classes.dtype, list(packed.columns)).as_frame(
        labels, packed.index
    )


def take_columns_of(packed: Any, first: int, last: int) -> Any:
    """Return some columns of a dask array, frame or list of delayed arrays."""
    if isinstance(packed, list):
        return [part[:, first:last] for part in packed]
    if isinstance(packed, da.Array):
        return packed[:, first:last]
    return packed[list(packed.columns[first:last])]


# -- The answers of a classifier: lazy for Dask collections, immediate for data in memory --


def _why_no_probabilities(classifier: Any) -> str:
    fitted: Composition | None = getattr(classifier, "composition_", None)
    solver = classifier.solver if fitted is None else fitted.solver
    if gives_probabilities(solver):
        return ""
    return f'solver="{solver}" gives scores, not probabilities. Use decision_function.'


class LazyAnswersMixin:
    """Methods of a fitted classifier that accept Dask collections.

    For a dask array, the result is a dask array; for a dask dataframe, a dask dataframe or series
    with the same index; for a list of delayed parts, a list of delayed arrays. Nothing is computed
    until it is requested, and then one part at a time, so memory is bounded by a part. For samples
    in memory, the result is computed immediately.
    """

    to_local: Callable[[], PolytomyClassifier]
    _fitted: Callable[[], Composition]
    _hierarchy: Callable[[Any], tuple[Scheme, NDArray[np.intp]]]

    def predict(self, X: Any) -> Any:
        """Return the class with the largest probability or score; ties go to the first class."""
        composition = self._fitted()
        # With costs, the label for no prediction may have another type.
        labels = composition.labels(np.empty((0, len(composition.classes))))
        return self._answer(X, "predict", labels.dtype)

    @available_unless(_why_no_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the classes, in the order of ``classes_``."""
        return self._answer(X, "predict_proba", np.float64, self._labels)

    @available_unless(_why_no_probabilities)
    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithms of the probabilities."""
        return self._answer(X, "predict_log_proba", np.float64, self._labels)

    def decision_function(self, X: Any) -> Any:
        """Return a value for each class; the class with the largest is the one `predict` returns.

        For two classes there is one value, positive for the second class.
        """
        columns = self._labels if len(self._labels) != 2 else None
        return self._answer(X, "decision_function", np.float64, columns)

    def decisions(self, X: Any) -> Any:
        """Return the answers of the binaries, P(+1) − P(−1), in the order of the partitions."""
        return self._answer(X, "decisions", np.float64, _names_of_rows(self._fitted()))

    @available_unless(_why_no_probabilities)
    def predict_top_k(self, X: Any, k: int, *, beam: int | None = None) -> tuple[Any, Any]:
        """Return the labels and probabilities of the k most likely classes, most likely first.

        Parameters
        ----------
        X : samples
        k : int, number of classes
        beam : int, optional
            As in `PolytomyClassifier.predict_top_k`.

        Returns
        -------
        labels, probabilities : each of shape (n_samples, k)
        """
        composition = self._fitted()
        if not is_collection(X):
            found: tuple[Any, Any] = self.to_local().predict_top_k(X, k, beam=beam)
            return found
        k, beam = check_top_k(k, len(composition.classes)), check_beam(beam)
        answer = Answer(partial(pack_top_k, k, beam), np.float64, list(range(2 * k)))
        packed = answer_lazily(self._model_for(X), X, answer)
        indices = take_columns_of(packed, 0, k)
        chances = take_columns_of(packed, k, 2 * k)
        turn = partial(index_labels, composition.classes)
        if isinstance(packed, list):
            return [delayed(turn)(part) for part in indices], chances
        if not is_frame(packed):
            empty = np.empty((0, 0), dtype=composition.classes.dtype)
            return indices.map_blocks(turn, dtype=empty.dtype, meta=empty), chances
        labels = indices.map_partitions(turn, meta=turn(indices._meta), enforce_metadata=False)
        return labels, chances.rename(columns=dict(zip(range(k, 2 * k), range(k), strict=True)))

    @available_unless(_why_no_probabilities)
    def node_probabilities(self, X: Any, *, hierarchy: Any = None) -> Any:
        """Return the probability of each node of the scheme: the sum over the classes below it.

        The parameters are those of `PolytomyClassifier.node_probabilities`.
        """
        scheme, _ = self._hierarchy(hierarchy)
        names = [str(name) for name in scheme.node_names]
        options = {} if hierarchy is None else {"hierarchy": scheme}
        return self._answer(X, "node_probabilities", np.float64, names, **options)

    @available_unless(_why_no_probabilities)
    def predict_nodes(
        self,
        X: Any,
        *,
        max_depth: int | None = None,
        min_probability: float = 0.0,
        hierarchy: Any = None,
    ) -> Any:
        """Return a class or node for each sample, as far down the scheme as is certain enough.

        The parameters are those of `PolytomyClassifier.predict_nodes`.
        """
        options: dict[str, Any] = {"max_depth": max_depth, "min_probability": min_probability}
        if hierarchy is not None:
            options["hierarchy"], _ = self._hierarchy(hierarchy)
        return self._answer(X, "predict_nodes", object, **options)

    @available_unless(_why_no_probabilities)
    def predict_set(
        self,
        X: Any,
        confidence_level: Any = 0.9,
        score: str = "lac",
        *,
        per_class: bool = False,
        allow_empty: bool = False,
    ) -> Any:
        """Return which classes each sample may belong to; the true class is rarely missing.

        The parameters are those of `PolytomyClassifier.predict_set`; with Dask collections, there
        can be only one level.
        """
        if is_collection(X) and np.ndim(confidence_level):
            raise ArgumentError(
                Argument("confidence_level"), " must be a single number for Dask collections."
            )
        self._fitted().find_conformity()  # workers have no out-of-fold scores
        options: dict[str, Any] = {
            "confidence_level": confidence_level,
            "score": score,
            "per_class": per_class,
            "allow_empty": allow_empty,
        }
        return self._answer(X, "predict_set", np.bool_, self._labels, **options)

    @available_unless(_why_no_probabilities)
    def predict_cost(self, X: Any) -> Any:
        """Return the expected cost of predicting each class; `predict` chooses the lowest."""
        composition, columns = self._fitted(), self._labels
        if composition.costs is not None and composition.costs.reject_cost is not None:
            columns = composition.costs.labels_with_reject(composition.classes).tolist()
        return self._answer(X, "predict_cost", np.float64, columns)

    @available_unless(_why_no_probabilities)
    def explain(self, X: Any) -> Any:
        """Return why each sample's most likely class beats the second, for samples in memory."""
        _refuse_collection(X, "explain")
        return self._answer(X, "explain", object)

    @available_unless(_why_no_probabilities)
    def estimate_prior(self, X: Any, **options: Any) -> Any:
        """Return how frequent the classes are in data without labels, for samples in memory.

        The parameters are those of `PolytomyClassifier.estimate_prior`.
        """
        _refuse_collection(X, "estimate_prior")
        return self._answer(X, "estimate_prior", np.float64, **options)

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

    # -- parts of the above ---------------------------------------------------------------------

    @property
    def _labels(self) -> list[Any]:
        labels: list[Any] = self._fitted().classes.tolist()
        return labels

    def _answer(
        self, X: Any, method: str, dtype: Any, columns: list[Any] | None = None, **options: Any
    ) -> Any:
        self._fitted()
        if not is_collection(X):
            return getattr(self.to_local(), method)(X, **options)
        answer = Answer(partial(_call, method, options), dtype, columns)
        return answer_lazily(self._model_for(X), X, answer)

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


def _refuse_collection(X: Any, method: str) -> None:
    if is_collection(X):
        raise ArgumentError(
            f"{method} needs samples in memory. Compute some of the rows first, such as "
            "X[:1000].compute()."
        )


def _call(method: str, options: dict[str, Any], model: Any, X: Any) -> Any:
    return getattr(model, method)(X, **options)


def _count_right(model: Any, X: Any, y: Any, weight: Any) -> tuple[float, float]:
    """Return the weight of the samples that are predicted correctly, and that of all."""
    if not len(y):
        return 0.0, 0.0
    is_right = model.predict(X) == np.asarray(y)
    weight = np.ones(len(is_right)) if weight is None else np.asarray(weight)
    return float(weight[is_right].sum()), float(weight.sum())


def _names_of_rows(composition: Composition) -> list[str]:
    """Return the names of the columns of `decisions`."""
    names = [binary.name for binary in composition.binaries]
    if len(composition.arrangements) > 1:
        return names
    return [names[column] for column in composition.arrangements[0].columns.tolist()]
