"""Scalers before a model in a pipeline, as one affine map of each feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from polytomy.errors import DataError
from polytomy.inputs.sparse import is_sparse

__all__ = ["Scaling", "check_dense", "peel_scalers"]


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """The map from x to factor·(x − centre) + offset, feature by feature.

    The centre is kept apart from the offset because x may be large beside its spread: the
    difference must be taken first.
    """

    factor: NDArray[np.float64]
    centre: NDArray[np.float64]
    offset: NDArray[np.float64]

    @property
    def moves_zero(self) -> bool:
        """Whether zeros do not stay zeros, so that sparse samples would become dense."""
        return bool(np.any(self.factor * self.centre != self.offset))

    @property
    def key(self) -> bytes:
        """The same for maps that are the same."""
        return b"".join(part.tobytes() for part in (self.factor, self.centre, self.offset))

    def then(self, other: Self) -> Self:
        """Return the map that does this one first and the other one after it."""
        offset = other.factor * (self.offset - other.centre) + other.offset
        return type(self)(other.factor * self.factor, self.centre, offset)

    def apply(self, X: Any) -> Any:
        """Return scaled samples; sparse ones stay sparse, and are refused where they cannot."""
        if self.moves_zero:
            check_dense(X)
        if is_sparse(X):
            return csr_array((X.data * self.factor[X.indices], X.indices, X.indptr), X.shape)
        return (X - self.centre) * self.factor + self.offset


def check_dense(X: Any) -> None:
    """Raise a DataError if samples that a scaler moves are sparse."""
    if is_sparse(X):
        raise DataError(
            "X is sparse, but a scaler of the binaries moves its zeros. Give a dense array, or fit "
            "with MaxAbsScaler() or StandardScaler(with_mean=False)."
        )


def peel_scalers(estimator: Any) -> tuple[Scaling | None, Any] | None:
    """Return the scaling that a pipeline begins with and the model that ends it.

    Returns
    -------
    scaling : Scaling, or None where nothing is scaled
    model : the estimator itself if it is no pipeline
    None in place of both if a step of the pipeline is something else

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
        following = _scaling_of(step)
        if following is None:
            return None
        scaling = _composed(scaling, following)
    inner = peel_scalers(model)
    return None if inner is None else (_composed(scaling, inner[0]), inner[1])


def _composed(first: Scaling | None, second: Scaling | None) -> Scaling | None:
    if first is None or second is None:
        return first or second
    return first.then(second)


def _scaling_of(scaler: Any) -> Scaling | None:
    if type(scaler) not in (StandardScaler, MinMaxScaler, MaxAbsScaler):
        return None
    if getattr(scaler, "clip", False):
        return None  # no affine map
    none, ones = np.zeros(scaler.n_features_in_), np.ones(scaler.n_features_in_)
    if type(scaler) is MinMaxScaler:
        return Scaling(
            scaler.scale_ * ones, scaler.data_min_ * ones, scaler.feature_range[0] * ones
        )
    # A standard scaler that leaves the spread alone has no scale.
    factor = ones if scaler.scale_ is None else ones / scaler.scale_
    is_moving = type(scaler) is StandardScaler and scaler.with_mean
    return Scaling(factor, scaler.mean_ * ones if is_moving else none, none)
