"""Scalers before a model in a pipeline, as one affine map of each feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from polytomy.errors import DataError
from polytomy.inputs.sparse import is_sparse
from polytomy.onnx_conversion import ConversionError, export_estimator
from polytomy.onnx_graph import Graph, Value


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """The map from x to factor·(x − centre) + offset, feature by feature.

    The centre is separate from the offset because x may be much larger than its spread, so the
    difference must be taken first.
    """

    factor: NDArray[np.float64]
    centre: NDArray[np.float64]
    offset: NDArray[np.float64]

    @property
    def moves_zero(self) -> bool:
        """Whether zeros become other values, so that sparse samples would become dense."""
        return bool(np.any(self.factor * self.centre != self.offset))

    @property
    def key(self) -> bytes:
        """Bytes that are equal for equal maps."""
        return b"".join(part.tobytes() for part in (self.factor, self.centre, self.offset))

    def then(self, other: Self) -> Self:
        """Return the composition: this map, followed by the other."""
        offset = other.factor * (self.offset - other.centre) + other.offset
        return type(self)(other.factor * self.factor, self.centre, offset)

    def apply(self, X: Any) -> Any:
        """Return scaled samples. Sparse samples stay sparse, or raise a DataError."""
        if self.moves_zero:
            check_dense(X)
        if is_sparse(X):
            return csr_array((X.data * self.factor[X.indices], X.indices, X.indptr), X.shape)
        return (X - self.centre) * self.factor + self.offset

    def to_onnx(self, X: Value) -> Value:
        """Return scaled samples as a graph."""
        scaled = (X - self.centre) * self.factor
        return scaled + self.offset if self.offset.any() else scaled


def export_steps(graph: Graph, X: Value, steps: Sequence[Any]) -> Value:
    """Return samples after the fitted steps of a pipeline; ConversionError if one has no graph."""
    for step in steps:
        scaling = scaling_of(step)
        try:
            X = (
                export_estimator(graph, X, step, "transform")
                if scaling is None
                else scaling.to_onnx(X)
            )
        except ConversionError as error:
            raise ConversionError(f"{type(step).__name__} has no graph ({error})") from error
    return X


def check_dense(X: Any) -> None:
    """Raise a DataError if samples are sparse, for a scaler that shifts them."""
    if is_sparse(X):
        raise DataError(
            "X is sparse, but a scaler of the binaries shifts its zeros. Give a dense array, or "
            "fit with MaxAbsScaler() or StandardScaler(with_mean=False)."
        )


def peel_scalers(estimator: Any) -> tuple[Scaling | None, Any] | None:
    """Return the scaling at the start of a pipeline and the model at its end.

    Returns
    -------
    scaling : Scaling, or None if nothing is scaled
    model : the estimator itself if it is not a pipeline
    None instead of both if some step of the pipeline is neither a scaler nor the model

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import LinearSVC
    >>> pipeline = make_pipeline(MaxAbsScaler(), LinearSVC()).fit([[0.0], [4.0]], [-1, 1])
    >>> scaling, model = peel_scalers(pipeline)
    >>> scaling.apply(np.array([[2.0]])), model
    (array([[0.5]]), LinearSVC())
    """
    if type(estimator) is not Pipeline:
        return None, estimator
    scaling: Scaling | None = None
    *steps, (_, model) = estimator.steps
    for _, step in steps:
        if step is None or step == "passthrough":
            continue
        following = scaling_of(step)
        if following is None:
            return None
        scaling = _composed(scaling, following)
    inner = peel_scalers(model)
    return None if inner is None else (_composed(scaling, inner[0]), inner[1])


def _composed(first: Scaling | None, second: Scaling | None) -> Scaling | None:
    if first is None or second is None:
        return first or second
    return first.then(second)


def scaling_of(scaler: Any) -> Scaling | None:
    """Return the map of a fitted scaler; None if it is another transformer."""
    if type(scaler) not in (StandardScaler, MinMaxScaler, MaxAbsScaler):
        return None
    if getattr(scaler, "clip", False):
        return None  # clipping is not affine
    none, ones = np.zeros(scaler.n_features_in_), np.ones(scaler.n_features_in_)
    if type(scaler) is MinMaxScaler:
        return Scaling(
            scaler.scale_ * ones, scaler.data_min_ * ones, scaler.feature_range[0] * ones
        )
    # scale_ is None if with_std is False.
    factor = ones if scaler.scale_ is None else ones / scaler.scale_
    is_moving = type(scaler) is StandardScaler and scaler.with_mean
    return Scaling(factor, scaler.mean_ * ones if is_moving else none, none)
