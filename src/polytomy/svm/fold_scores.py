"""Scores that fold machines give to rows outside their problem."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polytomy.calibration.shared_folds import SharedFolds
from polytomy.svm.kernel_matrix import Matrix
from polytomy.svm.trained_machines import FoldMachines, MachineData

__all__ = ["score_outside"]


def score_outside(
    trained: Sequence[MachineData],
    matrix: Matrix,
    place: NDArray[np.intp],
    folds: SharedFolds,
) -> list[MachineData]:
    """Return the same machines with the scores of all rows, where the matrix has the values.

    The fold machines are then no longer needed, and are dropped.

    Parameters
    ----------
    trained : machines that were trained on the matrix
    matrix : Matrix
    place : array of shape (n_rows,), the row of the matrix for each row of the data, or −1
    folds : SharedFolds
    """
    rows = place[folds.scored]
    scores = np.array([data.held_out for data in trained], dtype=np.float64).T
    if np.isnan(scores).any():
        if rows.min() < 0:
            return list(trained)
        machines = [data.fold_machines for data in trained if data.fold_machines is not None]
        found = _score(machines, matrix, place, rows, folds.fold_of[folds.scored])
        if found is None:
            return list(trained)
        scores = np.where(np.isnan(scores), found, scores)
    return [
        data._replace(held_out=own, fold_machines=None)
        for data, own in zip(trained, scores.T, strict=True)
    ]


def _score(
    machines: Sequence[FoldMachines],
    matrix: Matrix,
    place: NDArray[np.intp],
    rows: NDArray[np.intp],
    fold_of: NDArray[np.intp],
) -> NDArray[np.float64] | None:
    """Return the scores that the machines of their folds give to rows of the matrix, or None."""
    columns = place[np.concatenate([each.rows for each in machines])]
    numbers = np.repeat(np.arange(len(machines)), [len(each.rows) for each in machines])
    coefficients = np.concatenate([each.coefficients for each in machines], axis=1)
    intercepts = np.array([each.intercepts for each in machines])
    scores = np.empty((len(rows), len(machines)))
    weights = np.zeros((matrix.n_rows, len(machines)))
    for fold, own in enumerate(coefficients):
        weights[columns, numbers] = own
        samples = np.flatnonzero(fold_of == fold)
        sums = matrix.sums(rows[samples], weights)
        if sums is None:
            return None
        scores[samples] = sums + intercepts[:, fold]
    return scores
