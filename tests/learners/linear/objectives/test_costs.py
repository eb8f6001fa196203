"""Costs of samples in linear problems."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import LinearSVC
from sklearn.utils.class_weight import compute_class_weight

from polytomy.learners.linear.objectives import find_objective, sample_costs
from polytomy.learners.problems import Batch, BinaryProblem


@pytest.mark.parametrize("has_weights", [False, True])
def test_balanced_costs_are_scikit_learns_in_every_part(has_weights: bool) -> None:
    rng = np.random.default_rng(0)
    problems = [
        BinaryProblem(name, np.arange(20), np.arange(20) % size == 0)
        for name, size in (("a", 2), ("b", 5))
    ]
    batch = Batch.of(problems)
    weight = rng.choice([0.5, 2.0], 40) if has_weights else None
    is_kept = np.array([np.ones(40, dtype=bool), rng.random(40) < 0.7])
    objective = find_objective(LinearSVC(C=3.0, class_weight="balanced"))
    costs = sample_costs(objective, batch, is_kept, weight)
    for part, mask in zip(costs, is_kept, strict=True):
        for number, problem in enumerate(problems):
            own = slice(20 * number, 20 * (number + 1))
            kept, sides = mask[own], problem.is_positive.astype(int)
            given = np.ones(20) if weight is None else weight[own]
            # Weights of a half and two, as samples that occur once and four times.
            repeated = np.repeat(sides[kept], (2 * given[kept]).astype(int))
            factors = compute_class_weight("balanced", classes=np.array([0, 1]), y=repeated)
            expected = np.where(kept, 3.0 * given * factors[sides], 0.0)
            np.testing.assert_allclose(part[own], expected)
