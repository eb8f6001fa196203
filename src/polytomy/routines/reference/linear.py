"""Linear classifiers in plain NumPy: the oracle of the compiled twin.

Let x be the samples of a problem, y their sides, −1 or +1, and c their costs. Weights w and the
coefficient b of a constant feature σ minimise

    f(w, b) = |w|²/2 + ρ b²/2 + Σ_i c_i ℓ(y_i z_i),     z_i = x_i·w + σ b,

where ℓ(t) is log(1 + exp(−t)) or max(0, 1 − t)². Newton's method with backtracking minimises f; for
the second loss, an exact line search comes first (Keerthi and DeCoste 2005). Directions are
computed by conjugate gradients, preconditioned by the diagonal of the Hessian. The smaller the
gradient is and the fewer samples have a curvature, the more exact they are. (Lin, Weng and Keerthi
2008 solve the same problem with a trust region.) If few samples have a curvature, as in separable
problems, and conjugate gradients are slow, the directions are exact: this takes a system with one
equation for each of these samples.

Fold models leave out some samples. They are warm-started from the solution for all samples, which
was fitted to the samples they leave out. So they must be solved accurately; otherwise their scores
for these samples would be too good.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from polytomy.routines.dispatch import spend

Floats = NDArray[np.float64]

FOLD_REDUCTION = 1e-3
"""The gradient of a fold model must be at most this fraction of its value at the solution for all
samples: if all losses are small, that may already be within the tolerance.
"""

MOST_SOLVED = 512
"""Most equations in the system for an exact direction."""

LARGEST_FORCING, LEAST_FORCING = 0.25, 1e-3
"""Conjugate gradients stop at a fraction of the first residual between these, or earlier."""

LEAST_DECREASE = 1e-4
MOST_HALVINGS = 40

NEAR_ROOT = 1e-3
"""Fraction of the first derivative that may remain after a line search."""

ROUNDING = 1e-14
"""Fraction of f that may be lost to rounding."""

SMALLEST_CURVATURE = 1e-12


class LinearSamples(NamedTuple):
    """Samples, as an array or in compressed sparse rows.

    Attributes
    ----------
    dense : array of shape (n_rows, n_features); without rows if the samples are sparse
    data, indices, indptr : the sparse rows; `indptr` is empty if the samples are dense
    norms : array of shape (n_rows,), the Euclidean norm of each row
    n_features : int
    """

    dense: Floats
    data: Floats
    indices: NDArray[np.int32]
    indptr: NDArray[np.int64]
    norms: Floats
    n_features: int


class LinearForm(NamedTuple):
    """The definition of f.

    Attributes
    ----------
    is_logistic : bool, whether ℓ is the logistic or the squared hinge loss
    bias : float, σ; zero for models without an intercept
    bias_penalty : float, ρ
    most_steps : int, largest number of Newton steps
    """

    is_logistic: bool
    bias: float
    bias_penalty: float
    most_steps: int


class LinearFits(NamedTuple):
    """The result of `fit_linear_models`.

    Attributes
    ----------
    coefficients : array of shape (n_problems, 1 + n_folds, n_features + 1)
        w and b: first for all samples, then for the folds. Folds that are not trained have the same
        coefficients as the first.
    values : array of shape (n_samples,), z of each sample, from the model of its fold
    n_steps : array of shape (n_problems,), number of Newton steps for all samples
    is_converged : bool array of shape (n_problems,)
    """

    coefficients: Floats
    values: Floats
    n_steps: NDArray[np.int64]
    is_converged: NDArray[np.bool_]


class LinearProblems(NamedTuple):
    """Problems to fit together, with their folds.

    Attributes
    ----------
    rows : array of int, the samples of all problems, one problem after the other
    starts : array of shape (n_problems + 1,), where the samples of each problem start
    signs : array like `rows`, y
    costs : array of shape (1 + n_folds, n_samples), c
        First for all samples, then for each fold; zero for samples that the fold leaves out.
    fold_of : array like `rows`, the fold that holds each sample out; −1 if none does
    is_trained : bool array of shape (n_problems, n_folds), which folds have a model
    largest : array of shape (n_problems,)
        A problem is solved if no component of its gradient is larger.
    relative : array of shape (n_problems,)
        It is also solved if its gradient norm is at most this fraction of the initial norm.
    """

    rows: NDArray[np.intp]
    starts: NDArray[np.intp]
    signs: Floats
    costs: Floats
    fold_of: NDArray[np.intp]
    is_trained: NDArray[np.bool_]
    largest: Floats
    relative: Floats


def fit_linear_models(
    samples: LinearSamples, problems: LinearProblems, form: LinearForm
) -> LinearFits:
    """Return the linear models of many problems, and those of their folds."""
    n_problems, n_folds = problems.is_trained.shape
    n_models = n_problems + np.count_nonzero(problems.is_trained)
    spend(2e-3 * n_models + 2e-7 * problems.costs.size * samples.n_features)
    coefficients = np.zeros((n_problems, 1 + n_folds, samples.n_features + 1))
    values = np.zeros(len(problems.rows))
    n_steps = np.zeros(n_problems, dtype=np.int64)
    is_converged = np.zeros(n_problems, dtype=np.bool_)
    for k in range(n_problems):
        own = slice(problems.starts[k], problems.starts[k + 1])
        own_samples = _take(samples, problems.rows[own], form.bias)
        y, held_out, costs = problems.signs[own], problems.fold_of[own], problems.costs[:, own]
        largest, relative = float(problems.largest[k]), float(problems.relative[k])
        whole = coefficients[k, 0]
        whole[-1] = first_bias(y, costs[0], form)
        z, n_steps[k], is_converged[k], small = _minimise(
            own_samples, y, costs[0], form, largest, relative, 0.0, 1.0, whole
        )
        coefficients[k, 1:] = whole
        for fold in range(n_folds):
            by_fold = z
            if problems.is_trained[k, fold]:
                by_fold, _, _, _ = _minimise(
                    own_samples, y, costs[1 + fold], form, largest, 0.0, small,
                    FOLD_REDUCTION, coefficients[k, 1 + fold],
                )  # fmt: skip
            values[own][held_out == fold] = by_fold[held_out == fold]
        values[own][held_out < 0] = z[held_out < 0]
    return LinearFits(coefficients, values, n_steps, is_converged)


def choose_forcing(progress: float, share: float) -> float:
    """Return the fraction of the first residual at which conjugate gradients stop.

    Parameters
    ----------
    progress : gradient norm, as a fraction of the initial one
    share : fraction of samples that have a curvature; if small, exact directions are cheap
    """
    return float(min(LARGEST_FORCING, np.sqrt(progress), max(share, LEAST_FORCING)))


def first_bias(y: Floats, cost: Floats, form: LinearForm) -> float:
    """Return the initial b: the log-odds of the sides if b is not penalised, otherwise zero."""
    if not form.is_logistic or form.bias == 0.0 or form.bias_penalty > 0.0:
        return 0.0
    above, below = cost[y > 0].sum(), cost[y < 0].sum()
    return float(np.log(above / below) / form.bias) if above > 0.0 and below > 0.0 else 0.0


def _take(samples: LinearSamples, rows: NDArray[np.intp], bias: float) -> Any:
    """Return the samples in some rows, with the constant feature."""
    column = np.full((len(rows), 1), bias)
    if not len(samples.indptr):
        return np.hstack([samples.dense[rows], column])
    shape = (len(samples.indptr) - 1, samples.n_features)
    sparse = csr_array((samples.data, samples.indices, samples.indptr), shape=shape)
    return np.hstack([sparse[rows].toarray(), column])


def _minimise(
    x: Floats,
    y: Floats,
    cost: Floats,
    form: LinearForm,
    largest: float,
    relative: float,
    small: float,
    reduction: float,
    coefficients: Floats,
) -> tuple[Floats, int, bool, float]:
    """Minimise f from the given coefficients, in place.

    The gradient must be small, and smaller than at the start by the factor `reduction`.

    Return z, the number of steps, whether it converged, and the gradient norm that is small enough.
    """
    penalty = np.ones(x.shape[1])
    penalty[-1] = form.bias_penalty
    z = x @ coefficients
    loss, slopes, curvatures = _differentiate(z, y, cost, form.is_logistic)
    first_norm = 0.0
    for step_number in range(form.most_steps + 1):
        gradient = penalty * coefficients + slopes @ x
        norm, highest = float(np.linalg.norm(gradient)), float(np.abs(gradient).max())
        if step_number == 0:
            first_norm, small = norm, max(small, relative * norm)
            small = min(small, reduction * max(small, norm))
            largest = min(largest, reduction * max(largest, highest))
        if highest <= largest or norm <= small:
            return z, step_number, True, small
        if step_number == form.most_steps:
            break
        n_curved = np.count_nonzero(curvatures)
        forcing = choose_forcing(norm / first_norm, n_curved / len(z))
        direction = _find_direction(x, curvatures, penalty, gradient, forcing)
        slope = float(gradient @ direction)
        value = loss + 0.5 * float(penalty @ coefficients**2)
        change = x @ direction
        step = 1.0
        if not form.is_logistic:
            parabola = float(penalty @ (coefficients * direction)), float(penalty @ direction**2)
            step = _search_line(z, change, y, cost, parabola, slope)
        for _ in range(MOST_HALVINGS):
            nearer = coefficients + step * direction
            new_z = z + step * change
            new_loss, slopes, curvatures = _differentiate(new_z, y, cost, form.is_logistic)
            new_value = new_loss + 0.5 * float(penalty @ nearer**2)
            if new_value <= value + LEAST_DECREASE * step * slope + ROUNDING * abs(value):
                break
            step /= 2.0
        coefficients[:] = nearer
        z, loss = new_z, new_loss
        if -slope <= ROUNDING * abs(value):
            return z, step_number + 1, True, small  # nothing more can be gained
    return z, form.most_steps, False, small


def _differentiate(
    z: Floats, y: Floats, cost: Floats, is_logistic: bool
) -> tuple[float, Floats, Floats]:
    """Return Σ c ℓ(y z), and its first and second derivatives with respect to each z."""
    if is_logistic:
        t = y * z
        loss = cost @ (np.log1p(np.exp(-np.abs(t))) + np.maximum(-t, 0.0))
        wrong = np.exp(-np.maximum(t, 0.0)) / (1.0 + np.exp(-np.abs(t)))
        return float(loss), -cost * y * wrong, cost * wrong * (1.0 - wrong)
    short = np.maximum(1.0 - y * z, 0.0)
    return float(cost @ short**2), -2.0 * cost * y * short, 2.0 * cost * (short > 0.0)


def _search_line(
    z: Floats,
    change: Floats,
    y: Floats,
    cost: Floats,
    parabola: tuple[float, float],
    slope: float,
) -> float:
    """Return the step of at most one that minimises f along a direction, for squared hinge loss.

    The derivative is piecewise linear, so Newton's method finds its root in a few steps.

    Parameters
    ----------
    z, change : z, and its change for a step of one
    y, cost : y and c
    parabola : first derivative of the penalty at zero, and its second derivative
    slope : derivative of f at zero
    """
    low, high, step = 0.0, 1.0, 1.0
    for _ in range(MOST_HALVINGS):
        _, slopes, curvatures = _differentiate(z + step * change, y, cost, is_logistic=False)
        first = parabola[0] + step * parabola[1] + float(slopes @ change)
        if abs(first) <= NEAR_ROOT * abs(slope) or (step == 1.0 and first < 0.0):
            break
        low, high = (low, step) if first > 0.0 else (step, high)
        step -= first / (parabola[1] + float(curvatures @ change**2))
        if not low < step < high:
            step = (low + high) / 2.0
    return step


def _find_direction(
    x: Floats, curvatures: Floats, penalty: Floats, gradient: Floats, forcing: float
) -> Floats:
    """Solve H·direction = −gradient by preconditioned conjugate gradients; exactly if cheaper."""
    n_curved, n_steps = int(np.count_nonzero(curvatures)), len(gradient)
    can_solve = n_curved <= min(MOST_SOLVED, len(gradient)) and bool((penalty > 0.0).all())
    if can_solve:  # four steps take as long as one equation
        n_steps = n_curved // 4
    diagonal = np.maximum(penalty + curvatures @ x**2, SMALLEST_CURVATURE)
    direction = np.zeros_like(gradient)
    residual = -gradient
    scaled = residual / diagonal
    search = scaled.copy()
    size = first_size = float(residual @ scaled)
    for _ in range(n_steps):
        product = penalty * search + (curvatures * (x @ search)) @ x
        curvature = float(search @ product)
        if curvature <= 0.0:
            return direction
        length = size / curvature
        direction += length * search
        residual -= length * product
        scaled = residual / diagonal
        new_size = float(residual @ scaled)
        if new_size <= forcing**2 * first_size:
            return direction
        search = scaled + new_size / size * search
        size = new_size
    if not can_solve:
        return direction
    hessian = np.diag(penalty) + (curvatures[:, np.newaxis] * x).T @ x
    return cast("Floats", np.linalg.solve(hessian, -gradient))
