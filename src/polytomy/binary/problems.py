"""Binary problems: the training samples of a dichotomy, and the side of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["BinaryProblem", "balance_sides", "binary_problem"]


_FEW_ROWS = 200
_FEW_ROWS_EACH = 16


@dataclass(frozen=True, slots=True, eq=False)
class BinaryProblem:
    """One dichotomy of the training data, as row numbers, without a copy of the data.

    Attributes
    ----------
    name : str
        Name of the partition, for messages.
    rows : array of shape (n_samples,)
        Rows of the training data in the problem, ascending.
    is_positive : bool array of shape (n_samples,)
        Whether each row is on the +1 side.
    """

    name: str
    rows: NDArray[np.intp]
    is_positive: NDArray[np.bool_]

    @property
    def targets(self) -> NDArray[np.int64]:
        """−1 or +1 for each row."""
        return self.labelled((-1, 1))

    def labelled(self, sides: tuple[int, int]) -> NDArray[np.int64]:
        """Return the label of each row's side; `sides` has the labels of the −1 and +1 side."""
        return np.where(self.is_positive, sides[1], sides[0])

    @property
    def n_samples(self) -> int:
        """Number of samples in the problem."""
        return len(self.rows)

    @property
    def n_positive(self) -> int:
        """Number of samples on the +1 side."""
        return int(np.count_nonzero(self.is_positive))

    @property
    def n_negative(self) -> int:
        """Number of samples on the −1 side."""
        return self.n_samples - self.n_positive

    @property
    def has_both_sides(self) -> bool:
        """Whether both sides have samples."""
        return 0 < self.n_positive < self.n_samples

    @property
    def smaller_side(self) -> int:
        """Number of samples on the smaller side."""
        return min(self.n_negative, self.n_positive)

    def keep(self, mask: NDArray[np.bool_]) -> BinaryProblem:
        """Return the problem with only the samples where `mask` is true."""
        return BinaryProblem(self.name, self.rows[mask], self.is_positive[mask])


def binary_problem(
    rows_of_class: Sequence[NDArray[np.intp]],
    negative: Sequence[int],
    positive: Sequence[int],
    *,
    name: str,
) -> BinaryProblem:
    """Return the problem of separating the classes on the two sides of a partition.

    The cost depends on the number of samples in the problem, not in the whole training data.

    Parameters
    ----------
    rows_of_class : sequence of arrays
        As :func:`polytomy.inputs.class_indices.group_rows` returns them.
    negative, positive : sequences of int
        Class indices of the −1 and of the +1 side.
    name : str
        Name of the partition.

    Examples
    --------
    >>> from polytomy.inputs.class_indices import group_rows
    >>> rows_of_class = group_rows(np.array([2, 0, 1, 0]), 3)
    >>> problem = binary_problem(rows_of_class, negative=[0], positive=[2], name="a-00")
    >>> problem.rows, problem.targets
    (array([0, 1, 3]), array([ 1, -1, -1]))
    """
    below = [rows_of_class[k] for k in negative]
    above = [rows_of_class[k] for k in positive]
    rows = np.concatenate([*below, *above]) if below or above else np.empty(0, dtype=np.intp)
    n_below = sum(map(len, below))
    # Keep the order of the data, so that the fit is the same as on a masked copy of the data.
    if len(rows) <= _FEW_ROWS or (n_rows := int(rows.max()) + 1) > _FEW_ROWS_EACH * len(rows):
        order = rows.argsort()
        return BinaryProblem(name, rows[order], order >= n_below)
    # Marking rows is several times faster than sorting them, unless there are few.
    sides = np.full(n_rows, -1, dtype=np.int8)
    sides[rows] = np.arange(len(rows)) >= n_below
    ordered = np.flatnonzero(sides >= 0)
    return BinaryProblem(name, ordered, sides[ordered] == 1)


def balance_sides(
    problem: BinaryProblem, sample_weight: NDArray[np.float64] | None, n_rows: int
) -> NDArray[np.float64]:
    """Return weights that give both sides of the problem the same total weight.

    The sum of all weights does not change, as with scikit-learn's ``class_weight="balanced"``. If
    a side is empty, no weight changes.

    Parameters
    ----------
    problem : BinaryProblem
    sample_weight : array of shape (n_rows,), optional
        Weights before balancing, one for each row of the training data.
    n_rows : int
        Number of rows of the training data.

    Returns
    -------
    array of shape (n_rows,)
        Rows outside the problem keep their weights.

    Examples
    --------
    >>> problem = BinaryProblem("a-00", np.array([0, 1, 3]), np.array([True, False, False]))
    >>> balance_sides(problem, None, n_rows=4)
    array([1.5 , 0.75, 1.  , 0.75])
    """
    balanced = np.ones(n_rows) if sample_weight is None else sample_weight.astype(np.float64)
    above, below = problem.rows[problem.is_positive], problem.rows[~problem.is_positive]
    weight_above, weight_below = balanced[above].sum(), balanced[below].sum()
    if weight_above and weight_below:
        half = (weight_above + weight_below) / 2
        balanced[above] *= half / weight_above
        balanced[below] *= half / weight_below
    return balanced
