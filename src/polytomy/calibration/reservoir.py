"""A reservoir: rows of a stream that are held out of training for calibration.

Each row has a random key. In each class, the rows with the smallest keys are held out: a tenth of
the class, until it has filled its share of the reservoir. From then on, a row with a smaller key
replaces the one with the largest, which is trained on instead. So at any time the reservoir is a
random subset of each class's rows so far, and all other rows have been trained on. This method is
known as bottom-k sampling.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.rows import stack_rows, take_rows
from polytomy.states import LARGEST, State, field_values, stored_as

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]

# The share of a class that is held out until the reservoir is full.
_SHARE = 0.1
# Keys are drawn in chunks, so that they do not depend on how the stream is divided into batches.
_CHUNK = 2**14
_NEVER = 2.0


class StreamedRows(NamedTuple):
    """Rows to train on.

    Attributes
    ----------
    X : array, sparse matrix or frame of shape (n_rows, n_features)
    class_indices : array of shape (n_rows,)
    weight : array of shape (n_rows,), optional
    """

    X: Any
    class_indices: Integers
    weight: Floats | None = None


@stored_as("reservoir")
@dataclass(frozen=True, slots=True, eq=False)
class Reservoir:
    """Held-out rows of a stream, a random subset of each class.

    Attributes
    ----------
    size : int, maximum number of rows; classes share it equally
    seed : int
    n_of_class : array of shape (n_classes,), number of rows of each class so far
    weight_of_class : array of shape (n_classes,), total weight of each class so far
    X : the rows that are held, or None if there are none
    class_indices : array of shape (n_held,)
    weight : array of shape (n_held,)
    keys : array of shape (n_held,)
    positions : array of shape (n_held,), ascending; the position of each row in the stream
    n_rows : int, number of rows of the stream so far
    next_position : int, position of the next row; less than `n_rows` while the stream is repeated
    starts_late : bool
        Whether the binaries were trained on other rows before the stream.

    Examples
    --------
    >>> reservoir = Reservoir.empty(n_classes=2, size=4, seed=0)
    >>> rows, classes = np.arange(200.0).reshape(-1, 1), np.arange(200) % 2
    >>> reservoir, batch, _ = reservoir.take(StreamedRows(rows, classes))
    >>> np.bincount(reservoir.class_indices), len(batch.X)
    (array([2, 2]), 196)
    """

    size: int
    seed: int
    n_of_class: NDArray[np.int64]
    weight_of_class: Floats
    X: Any = None
    class_indices: Integers = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    weight: Floats = field(default_factory=lambda: np.empty(0))
    keys: Floats = field(default_factory=lambda: np.empty(0))
    positions: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    n_rows: int = 0
    next_position: int = 0
    starts_late: bool = False

    @classmethod
    def empty(cls, n_classes: int, size: int, seed: int, *, starts_late: bool = False) -> Reservoir:
        """Return a reservoir before the first batch."""
        counts = np.zeros(n_classes, dtype=np.int64)
        return cls(size, seed, counts, np.zeros(n_classes), starts_late=starts_late)

    def state(self) -> dict[str, Any]:
        """Return all fields; the rows must be floating-point numbers."""
        X = self.X
        is_matrix = scipy.sparse.issparse(X) or (
            isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.ndim == 2
        )
        if X is not None and not is_matrix:
            raise ArgumentError(
                Argument("reservoir", True),
                " needs rows of floating-point numbers; those of the reservoir are "
                f"{type(X).__name__}{f' of {X.dtype}' if isinstance(X, np.ndarray) else ''}. Leave "
                "it out.",
            )
        return field_values(self)

    @classmethod
    def from_state(cls, state: State) -> Reservoir:
        """Return the reservoir of a state."""
        n_rows = state.integer("n_rows")
        X = state.matrix("X") if "X" in state else None
        n_held = 0 if X is None else X.shape[0]
        if X is not None and not n_held:
            raise state.fault("X", "a matrix of one row or more")
        weight_of_class = state.floats("weight_of_class", (None,), least=0.0)
        n_classes = len(weight_of_class)
        smallest = np.finfo(np.float64).tiny
        reservoir = cls(
            state.integer("size", least=1, most=2**40),
            state.integer("seed", most=2**31 - 1),
            state.indices("n_of_class", n_rows + 1, n_classes),
            weight_of_class,
            X,
            state.indices("class_indices", n_classes, n_held),
            state.floats("weight", (n_held,), smallest, LARGEST),
            state.floats("keys", (n_held,), 0.0, 1.0),
            state.indices("positions", max(1, n_rows), n_held),
            n_rows,
            state.integer("next_position", most=n_rows),
            state.boolean("starts_late"),
        )
        if not (np.diff(reservoir.positions) > 0).all():
            raise state.fault("positions", "an array of ascending numbers")
        if (weight_of_class[reservoir.class_indices] <= 0).any():
            raise state.fault("weight_of_class", "positive for the classes of the rows")
        return reservoir

    @property
    def n_held(self) -> int:
        """Number of rows that are held."""
        return len(self.keys)

    @property
    def rows_per_class(self) -> int:
        """Maximum number of rows held for each class."""
        return max(1, self.size // max(1, len(self.n_of_class)))

    def rewind(self) -> Reservoir:
        """Return the reservoir ready for the same rows again, in the same order."""
        return replace(self, next_position=0)

    def take(self, batch: StreamedRows) -> Taken:
        """Return the reservoir after a batch, and the rows to train on.

        The rows to train on are the rows of the batch that are not held out, and rows of earlier
        batches that have lost their place. The first row of each class is trained on and the second
        is held out. Rows of weight zero are neither.
        """
        n_batch = len(batch.class_indices)
        positions = np.arange(self.next_position, self.next_position + n_batch, dtype=np.int64)
        weight = np.ones(n_batch) if batch.weight is None else batch.weight
        is_counted = weight > 0
        # Repeated rows are held out if they were before.
        is_new = is_counted & (positions >= self.n_rows)
        keys = np.full(n_batch, _NEVER)
        keys[is_new] = self._draw_keys(positions[is_new], batch.class_indices[is_new])
        entering = np.flatnonzero(keys < _SHARE)
        is_held, leaving = self._choose(keys[entering], batch.class_indices[entering])
        entered = entering[is_held]
        again = np.flatnonzero(np.isin(positions, self.positions) & is_counted)
        is_trained = is_counted.copy()
        is_trained[entered] = is_trained[again] = False
        kept = np.flatnonzero(is_trained)
        staying = np.setdiff1d(np.arange(self.n_held), leaving)
        training = StreamedRows(
            _join(take_rows(batch.X, kept), self.X, leaving),
            np.concatenate([batch.class_indices[kept], self.class_indices[leaving]]),
            None
            if batch.weight is None and (self.weight[leaving] == 1.0).all()
            else np.concatenate([weight[kept], self.weight[leaving]]),
        )
        n_classes, new = len(self.n_of_class), batch.class_indices[is_new]
        changed = replace(
            self,
            n_of_class=self.n_of_class + np.bincount(new, minlength=n_classes),
            weight_of_class=self.weight_of_class
            + np.bincount(new, weight[is_new], minlength=n_classes),
            X=_join(take_rows(self.X, staying), batch.X, entered)
            if self.n_held
            else (take_rows(batch.X, entered) if len(entered) else None),
            class_indices=np.concatenate(
                [self.class_indices[staying], batch.class_indices[entered]]
            ),
            weight=np.concatenate([self.weight[staying], weight[entered]]),
            keys=np.concatenate([self.keys[staying], keys[entered]]),
            positions=np.concatenate([self.positions[staying], positions[entered]]),
            n_rows=max(self.n_rows, self.next_position + n_batch),
            next_position=self.next_position + n_batch,
        )
        return Taken(changed, training, kept)

    def calibration_weight(self) -> Floats:
        """Return weights that restore each class's share of the stream so far.

        They sum to the number of rows that are held.
        """
        held = np.bincount(self.class_indices, self.weight, len(self.weight_of_class))
        factor = np.divide(self.weight_of_class, held, out=np.zeros_like(held), where=held > 0)
        weight = self.weight * factor[self.class_indices]
        return np.asarray(weight * (self.n_held / weight.sum()))

    def _draw_keys(self, positions: NDArray[np.int64], class_indices: Integers) -> Floats:
        """Return the random keys of new rows."""
        if not len(positions):
            return np.empty(0)
        chunks = range(positions[0] // _CHUNK, positions[-1] // _CHUNK + 1)
        drawn = np.concatenate(
            [np.random.default_rng([self.seed, chunk]).random(_CHUNK) for chunk in chunks]
        )
        keys = drawn[positions - chunks.start * _CHUNK]
        number = self.n_of_class[class_indices] + _count_before(class_indices)
        keys[number == 0] = _NEVER
        keys[number == 1] *= _SHARE
        return np.asarray(keys)

    def _choose(self, keys: Floats, class_indices: Integers) -> tuple[NDArray[np.bool_], Integers]:
        """Return which candidates get a place, and which rows have to leave."""
        every = np.concatenate([self.keys, keys])
        classes = np.concatenate([self.class_indices, class_indices])
        order = np.lexsort((every, classes))
        rank = np.empty(len(order), dtype=np.intp)
        rank[order] = _count_before(classes[order])
        is_held = rank < self.rows_per_class
        return is_held[self.n_held :], np.flatnonzero(~is_held[: self.n_held])


class Taken(NamedTuple):
    """The division of a batch into held-out and training rows.

    Attributes
    ----------
    reservoir : Reservoir, after the batch
    training : StreamedRows, the rows to train on
    kept : array of int
        The rows of the batch that are in `training`, where they come first and in order; the
        other rows come from the reservoir.
    """

    reservoir: Reservoir
    training: StreamedRows
    kept: Integers


def _count_before(class_indices: Integers) -> Integers:
    """Return how many rows of the same class come before each row."""
    order = np.argsort(class_indices, kind="stable")
    ordered = class_indices[order]
    starts = np.searchsorted(ordered, ordered)
    found = np.empty(len(order), dtype=np.intp)
    found[order] = np.arange(len(order)) - starts
    return found


def _join(first: Any, other: Any, rows: Integers) -> Any:
    """Return rows, followed by some rows of another array."""
    return first if not len(rows) else stack_rows([first, take_rows(other, rows)])
