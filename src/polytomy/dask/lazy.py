"""Answers of a fitted classifier, computed part by part when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

import dask.array as da
import numpy as np
from numpy.typing import NDArray

from dask import delayed
from polytomy.dask.parts import is_frame
from polytomy.inputs.rows import count_rows

__all__ = ["Answer", "answer_lazily", "index_labels", "pack_top_k", "take_columns_of"]


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
