"""A dataset for trials: samples, and classes in their order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from polytomy.designs.orders import has_natural_order, match_class_order, sort_naturally
from polytomy.errors import ArgumentError, DataError
from polytomy.inputs.rows import refuse_masked
from polytomy.inputs.sparse import check_sparse, is_sparse

__all__ = ["Dataset", "compute_checksum"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples and their classes.

    Parameters
    ----------
    name : name of the dataset
    X : array or sparse matrix of shape (n_samples, n_features)
    y : labels of shape (n_samples,)
    order : all labels in the order used by codes over ordered classes, optional
        Matched without regard to case. By default the labels are sorted.

    Attributes
    ----------
    classes : tuple of the distinct labels, in order
    class_indices : array of shape (n_samples,), index of each label in `classes`
    has_order : whether `classes` are in a meaningful order, not just in alphabetical order

    Examples
    --------
    >>> Dataset("land", np.eye(4), ["oak", "corn", "oak", "oak"], order=["Oak", "Corn"]).classes
    ('oak', 'corn')
    """

    name: str
    X: Any
    y: NDArray[Any]
    classes: tuple[Any, ...]
    class_indices: NDArray[np.intp]
    has_order: bool

    def __init__(self, name: str, X: Any, y: ArrayLike, order: Sequence[str] | None = None) -> None:
        refuse_masked(X, "X")
        # Several scikit-learn estimators accept only 32-bit sparse indices.
        X = csr_array(check_sparse(X)) if is_sparse(X) else np.asarray(X)
        labels = np.asarray(y)
        if not name or name.startswith("."):
            raise ArgumentError(
                f"{name!r} cannot name a dataset. Use a name that is not empty and does not start "
                "with a dot."
            )
        if X.ndim != 2 or labels.ndim != 1 or X.shape[0] != len(labels):
            raise DataError(
                f"dataset {name}: X has shape {X.shape} and y has shape {labels.shape}. Pass one "
                "row of features and one label per sample."
            )
        found, indices = np.unique(labels, return_inverse=True)
        if not 2 <= len(found) <= len(labels) // 2:
            raise DataError(
                f"dataset {name}: {len(labels)} samples have {len(found)} distinct labels. There "
                "must be at least two classes, with at least two samples each on average."
            )
        labels_found = found.tolist()
        try:
            classes = _order_labels(labels_found, order)
        except ArgumentError as error:
            raise DataError(f"dataset {name}: ", *error.args) from None
        places = {label: place for place, label in enumerate(labels_found)}
        ordering = np.array([places[label] for label in classes])
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", labels)
        object.__setattr__(self, "classes", tuple(found[ordering].tolist()))
        object.__setattr__(self, "class_indices", np.argsort(ordering)[indices.ravel()])
        has_order = order is not None or has_natural_order(labels_found)
        object.__setattr__(self, "has_order", has_order)

    @property
    def codes(self) -> NDArray[np.intp]:
        """Same as `class_indices`; the name it had in polytomy 0.1."""
        return self.class_indices

    @property
    def counts(self) -> list[int]:
        """Number of samples of each class."""
        return [int(n) for n in np.bincount(self.class_indices, minlength=len(self.classes))]

    @property
    def fingerprint(self) -> str:
        """Checksum of samples and labels, in order."""
        digest = hashlib.sha256(repr((self.X.shape, self.classes)).encode())
        parts: tuple[Any, ...] = (self.X,)
        if is_sparse(self.X):
            parts = (self.X.data, self.X.indices, self.X.indptr)
        for part in (*parts, self.class_indices.astype("<i4")):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        n_samples, n_features = self.X.shape
        return f"<Dataset {self.name}: {n_samples} × {n_features}, {len(self.classes)} classes>"


def _order_labels(labels: list[Any], order: Sequence[Any] | None) -> list[Any]:
    """Return labels in `order`, or sorted; ArgumentError if it is not an order of these labels."""
    if order is None:
        return sort_naturally(labels)
    return match_class_order(_spell_like(labels, order), labels)


def _spell_like(labels: Sequence[Any], order: Sequence[Any]) -> Sequence[Any]:
    """Return an order with the letter case of the labels, if they differ in nothing else."""
    if isinstance(order, str) or not isinstance(order, Iterable):
        return order
    by_text = {str(label).casefold(): label for label in labels}
    wanted = [str(label).casefold() for label in order]
    is_same = sorted(wanted) == sorted(by_text) and len(by_text) == len(labels)
    return [by_text[text] for text in wanted] if is_same else order


def compute_checksum(X: Any) -> str:
    """Return a checksum of the features that does not depend on the order of the samples.

    Features are rounded to single precision, so the checksum survives a round trip through text.

    Examples
    --------
    >>> compute_checksum([[1, 2], [3, 4]]), compute_checksum([[3.0, 4.0], [1.0, 2.0]])
    ('fb5ae94f7e6aec39', 'fb5ae94f7e6aec39')
    """
    # Adding zero turns −0 into 0.
    values = np.ascontiguousarray(np.asarray(X, dtype="<f4") + np.float32(0))
    rows = np.sort(values.view(np.dtype((np.void, 4 * values.shape[1]))).ravel())
    return hashlib.sha256(rows.tobytes()).hexdigest()[:16]
