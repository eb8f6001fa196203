"""The cost of misclassifying each sample of a binary problem."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polytomy.binary.options import TrainingOptions
from polytomy.binary.problems import BinaryProblem
from polytomy.binary.training import weights_of_problem
from polytomy.linear.objectives import LinearObjective
from polytomy.svm.batches import Batch

__all__ = ["sample_costs", "sample_weights"]

Floats = NDArray[np.float64]


def sample_weights(
    problems: Sequence[BinaryProblem], options: TrainingOptions, n_rows: int
) -> Floats | None:
    """Return the sample weights of problems, one after the other; None if all are one."""
    if options.arguments.sample_weight is None and not options.balances_sides:
        return None
    parts = []
    for problem in problems:
        weight = weights_of_problem(problem, options, n_rows)
        assert weight is not None
        parts.append(weight[problem.rows])
    return np.concatenate(parts)


def sample_costs(
    objective: LinearObjective, batch: Batch, is_kept: NDArray[np.bool_], weight: Floats | None
) -> Floats:
    """Return C times the sample weights, for the model of each part of the samples.

    Parameters
    ----------
    objective : LinearObjective
    batch : Batch
    is_kept : bool array of shape (n_parts, n_samples)
        The samples in each part; the others have zero cost. Balanced weights are computed from the
        samples in the part.
    weight : array of shape (n_samples,), optional

    Returns
    -------
    array of shape (n_parts, n_samples)

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> from polytomy.linear.objectives import find_objective
    >>> problem = BinaryProblem("a", np.arange(3), np.array([True, False, False]))
    >>> objective = find_objective(LinearSVC(C=4, class_weight="balanced"))
    >>> is_kept = np.array([[True, True, True], [True, False, True]])
    >>> sample_costs(objective, Batch.of([problem]), is_kept, None)
    array([[6., 3., 3.],
           [4., 0., 4.]])
    """
    costs = np.where(is_kept, 1.0 if weight is None else weight, 0.0)
    if objective.class_weight == "balanced":
        above = _sum_by_problem(costs * batch.is_positive, batch)
        total = _sum_by_problem(costs, batch)
        with np.errstate(divide="ignore", invalid="ignore"):
            factors = total / (2.0 * np.array([total - above, above]))
        factors[~np.isfinite(factors)] = 0.0
        of_sample = factors[..., batch.problem_of]
        costs *= np.where(batch.is_positive, of_sample[1], of_sample[0])
    elif isinstance(objective.class_weight, tuple):
        negative, positive = objective.class_weight
        costs *= np.where(batch.is_positive, positive, negative)
    costs *= objective.C
    return costs


def _sum_by_problem(values: Floats, batch: Batch) -> Floats:
    sums: Floats = np.add.reduceat(values, batch.starts[:-1], axis=-1)
    return sums
