"""Linear problems for the tests of both solvers."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from scipy.optimize import minimize

from polytomy.routines.reference.linear import LinearForm, LinearProblems, LinearSamples

__all__ = ["LinearCase", "evaluate", "linear_cases", "minimise_by_scipy"]


class LinearCase(NamedTuple):
    """Arguments of `fit_linear_models`, for problems over the rows of one matrix."""

    x: np.ndarray
    is_sparse: bool
    rows: np.ndarray
    starts: np.ndarray
    signs: np.ndarray
    costs: np.ndarray
    fold_of: np.ndarray
    is_trained: np.ndarray
    form: LinearForm
    largest: np.ndarray
    relative: np.ndarray

    @property
    def samples(self) -> LinearSamples:
        n_features, norms = self.x.shape[1], np.linalg.norm(self.x, axis=1)
        if not self.is_sparse:
            nothing = np.empty(0), np.empty(0, np.int32), np.empty(0, np.int64)
            return LinearSamples(self.x, *nothing, norms, n_features)
        rows, columns = np.nonzero(self.x)
        starts = np.searchsorted(rows, np.arange(len(self.x) + 1)).astype(np.int64)
        values = self.x[rows, columns]
        return LinearSamples(
            np.empty((0, 0)), values, columns.astype(np.int32), starts, norms, n_features
        )

    @property
    def arguments(self) -> tuple:
        return self.samples, LinearProblems(*self[2:8], *self[9:]), self.form


@st.composite
def linear_cases(draw: st.DrawFn, *, is_stack: bool = False, n_folds: int = 2) -> LinearCase:
    """Problems with both sides, costs of any size, features of different scales, some folds.

    The problems of a stack are logistic regressions with the same rows and folds.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, n_features = draw(st.integers(4, 25)), draw(st.integers(1, 6))
    x = rng.normal(size=(n_rows, n_features)) * 10.0 ** rng.integers(-1, 2, n_features)
    x *= rng.random(x.shape) < draw(st.sampled_from([1.0, 0.5]))
    rows, signs = [], []
    for _ in range(draw(st.integers(1, 4))):
        size = n_rows if is_stack else int(rng.integers(4, n_rows + 1))
        rows.append(np.sort(rng.choice(n_rows, size, replace=False)))
        sides = np.where(rng.random(size) < 0.3, 1.0, -1.0)
        sides[:2], sides[2:4] = 1.0, -1.0
        signs.append(sides[rng.permutation(size)] if is_stack else sides)
    counts = [len(each) for each in rows]
    n_problems = len(rows)
    costs_of_samples = rng.choice([0.5, 1.0, 2.0], sum(counts))
    if is_stack:
        fold_of = np.tile(rng.integers(-1, n_folds, n_rows), n_problems)
        if draw(st.booleans()):
            costs_of_samples = np.tile(costs_of_samples[:n_rows], n_problems)
    else:
        fold_of = np.concatenate([rng.integers(-1, n_folds, count) for count in counts])
    cost = 10.0 ** draw(st.integers(-2, 2)) * costs_of_samples
    kept = fold_of != np.arange(n_folds)[:, np.newaxis]
    costs = np.concatenate([cost[np.newaxis], np.where(kept, cost, 0.0)])
    is_logistic = is_stack or draw(st.booleans())
    bias = draw(st.sampled_from([0.0, 1.0, 3.0]))
    # An intercept without a penalty runs away if a fold has one side only; that is not trained.
    bias_penalty = draw(st.sampled_from([0.0, 1.0])) if is_logistic else 1.0
    starts = np.concatenate([[0], np.cumsum(counts)])
    sides = np.concatenate(signs)
    is_trained = np.array(
        [
            [len(np.unique(sides[a:b][costs[1 + fold, a:b] > 0])) == 2 for fold in range(n_folds)]
            for a, b in itertools.pairwise(starts)
        ]
    ).reshape(n_problems, n_folds)
    return LinearCase(
        x,
        draw(st.booleans()),
        np.concatenate(rows),
        starts,
        sides,
        costs,
        fold_of,
        is_trained,
        LinearForm(is_logistic, bias, bias_penalty, 500),
        np.full(n_problems, 1e-9),
        np.full(n_problems, 1e-11),
    )


def evaluate(
    case: LinearCase, problem: int, coefficients: np.ndarray, part: int = 0
) -> tuple[float, np.ndarray]:
    """Return f of one problem and its gradient, straight from the formula."""
    own = slice(case.starts[problem], case.starts[problem + 1])
    x = np.hstack([case.x[case.rows[own]], np.full((own.stop - own.start, 1), case.form.bias)])
    y, cost = case.signs[own], case.costs[part, own]
    penalty = np.append(np.ones(case.x.shape[1]), case.form.bias_penalty)
    margins = y * (x @ coefficients)
    if case.form.is_logistic:
        losses = np.logaddexp(0.0, -margins)
        slopes = -np.exp(-np.logaddexp(0.0, margins))
    else:
        losses, slopes = np.maximum(1 - margins, 0) ** 2, -2 * np.maximum(1 - margins, 0)
    value = 0.5 * penalty @ coefficients**2 + cost @ losses
    return float(value), penalty * coefficients + (cost * slopes * y) @ x


def minimise_by_scipy(case: LinearCase, problem: int, part: int = 0) -> float:
    """Return the least f that L-BFGS finds."""
    start = np.zeros(case.x.shape[1] + 1)
    found = minimize(
        lambda w: evaluate(case, problem, w, part),
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 5000, "ftol": 1e-14, "gtol": 1e-9},
    )
    return float(found.fun)
