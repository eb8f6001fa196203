"""Linear models of problems with the same rows, in products of matrices.

One-vs-rest and dense codes train all their binaries on all rows. Then the Newton steps of many
problems can be taken together: a product with the Hessian is two matrix products for all of them,
which take a fraction of the time of as many products with vectors. A problem that is solved leaves
the stack. The steps are those of :mod:`polytomy.routines.linear.reference`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from polytomy.inputs.samples import blocks_of
from polytomy.inputs.sparse import is_sparse
from polytomy.routines.linear.reference import (
    LARGEST_FORCING,
    LEAST_DECREASE,
    LEAST_FORCING,
    MOST_HALVINGS,
    ROUNDING,
    SMALLEST_CURVATURE,
    LinearFits,
    LinearForm,
    first_bias,
    limit_folds,
)

__all__ = ["SharedRows", "fit_stacked_models"]

Floats = NDArray[np.float64]

# Bytes of samples that are squared or converted at a time; they stay in the processor's cache.
_BLOCK_BYTES = 2**20

# Elements that are differentiated at a time, so that ten arrays of them stay in the cache.
_BLOCK_ELEMENTS = 2**14

# Fewer entries are not worth a copy in single precision.
_FEWEST_SINGLE = 2**18

# Products of columns outside these limits would lose too much in single precision.
_LARGEST_OFFSET = 100.0  # mean, in standard deviations
_SMALLEST_ENTRY, _LARGEST_ENTRY = 1e-12, 1e12

# Problems that are done leave the stack when they are this part of it: leaving takes copies.
_WORTH_LEAVING = 0.2


class SharedRows:
    """The rows that all problems of a stack have.

    Values and gradients are computed in double precision. Products with the Hessian, which are most
    of the work, are computed in single precision if the rows are given so, or if they are many and
    lose nothing that matters: directions need not be exact.

    Parameters
    ----------
    x : array or CSR matrix of shape (n_samples, n_features)
    """

    def __init__(self, x: Any) -> None:
        self._x = x
        self._transposed = x.T
        self._squares = x.power(2).T if is_sparse(x) else None
        self._is_single = not is_sparse(x) and x.dtype == np.float32

    @cached_property
    def _singles(self) -> NDArray[np.float32] | None:
        """The rows in single precision; None if products need double precision."""
        x = self._x
        if is_sparse(x):
            return None
        if self._is_single:
            return cast("NDArray[np.float32]", x)
        if x.size < _FEWEST_SINGLE or not self._can_be_single():
            return None
        return np.ascontiguousarray(x, dtype=np.float32)

    def _can_be_single(self) -> bool:
        n_rows, n_features = self._x.shape
        sums, squares, largest = (np.zeros(n_features) for _ in range(3))
        with np.errstate(over="ignore", invalid="ignore"):
            for block in self._blocks():
                x = self._x[block]
                sums += x.sum(axis=0)
                squares += np.einsum("ij,ij->j", x, x)
                np.maximum(largest, np.abs(x).max(axis=0), out=largest)
            means = sums / n_rows
            variances = squares / n_rows - means**2
            is_centred = means**2 <= _LARGEST_OFFSET**2 * variances
        has_size = (largest >= _SMALLEST_ENTRY) & (largest <= _LARGEST_ENTRY)
        return bool(((is_centred & has_size) | (largest == 0.0)).all())

    @property
    def product_dtype(self) -> Any:
        """Precision of products with the Hessian."""
        return np.float64 if self._singles is None else np.float32

    @property
    def n_coefficients(self) -> int:
        """Number of coefficients of a model, with that of the constant feature."""
        return int(self._x.shape[1]) + 1

    def times(self, coefficients: Floats, bias: float) -> Floats:
        """Return the values of models, of shape (n_models, n_samples)."""
        weights, last = coefficients[:, :-1], coefficients[:, -1:]
        if is_sparse(self._x):
            values = np.ascontiguousarray((self._x @ np.ascontiguousarray(weights.T)).T)
        elif self._is_single:
            values = np.empty((len(weights), len(self._x)))
            for block in self._blocks():
                values[:, block] = weights @ self._x[block].T.astype(np.float64)
        else:
            values = weights @ self._transposed
        if bias:
            values += bias * last
        return values

    def sums(self, factors: Floats, bias: float) -> Floats:
        """Return sums of rows times factors, of shape (n_models, n_features + 1)."""
        found = np.empty((len(factors), self._x.shape[1] + 1))
        if is_sparse(self._x):
            found[:, :-1] = (self._transposed @ np.ascontiguousarray(factors.T)).T
        elif self._is_single:
            found[:, :-1] = 0.0
            for block in self._blocks():
                found[:, :-1] += factors[:, block] @ self._x[block].astype(np.float64)
        else:
            found[:, :-1] = factors @ self._x
        found[:, -1] = bias * factors.sum(axis=1) if bias else 0.0
        return found

    def sums_of_squares(self, factors: Floats, bias: float) -> Floats:
        """Return sums of squared rows times factors, of shape (n_models, n_features + 1)."""
        found = np.zeros((len(factors), self._x.shape[1] + 1))
        if self._squares is not None:
            found[:, :-1] = (self._squares @ np.ascontiguousarray(factors.T)).T
        else:
            x = self._x if self._singles is None else self._singles
            for block in self._blocks():
                found[:, :-1] += factors[:, block] @ x[block] ** 2
        found[:, -1] = bias**2 * factors.sum(axis=1)
        return found

    def curvature_products(
        self, curvatures: NDArray[Any], directions: Floats, bias: float
    ) -> Floats:
        """Return the sums of rows times curvature times value, for a direction of each model.

        `curvatures` are of type `product_dtype`.
        """
        singles = self._singles
        if singles is None:
            products = self.times(directions, bias)
            products *= curvatures
            return self.sums(products, bias)
        found = np.zeros((len(directions), self._x.shape[1] + 1))
        weights = directions[:, :-1].astype(np.float32)
        constants = (bias * directions[:, -1:]).astype(np.float32)
        for block in self._blocks():
            x = singles[block]
            bent = weights @ x.T
            bent += constants
            bent *= curvatures[:, block]
            found[:, :-1] += bent @ x
            found[:, -1] += bias * bent.sum(axis=1)
        return found

    def _blocks(self) -> Iterator[slice]:
        return blocks_of(len(self._x), 8 * self._x.shape[1], _BLOCK_BYTES)


def fit_stacked_models(
    shared: SharedRows,
    signs: Floats,
    costs: Floats,
    fold_of: NDArray[np.intp],
    is_trained: NDArray[np.bool_],
    form: LinearForm,
    largest: Floats,
    relative: Floats,
) -> LinearFits:
    """Return the linear models of problems with the same rows, and those of their folds.

    It is :func:`polytomy.routines.linear.reference.fit_linear_models` for such problems.

    Parameters
    ----------
    shared : SharedRows, of n_samples rows
    signs : array of shape (n_problems, n_samples), −1 or +1
    costs : array of shape (1 + n_folds, n_problems, n_samples)
    fold_of : array of shape (n_problems, n_samples)
    is_trained, form, largest, relative : as for `fit_linear_models`
    """
    n_problems, n_folds = is_trained.shape
    whole = np.zeros((n_problems, shared.n_coefficients))
    whole[:, -1] = [first_bias(y, cost, form) for y, cost in zip(signs, costs[0], strict=True)]
    values, n_steps, is_converged, small = _minimise(
        shared, signs, costs[0], form, largest, relative, np.zeros(n_problems), whole
    )
    coefficients = np.repeat(whole[:, np.newaxis], 1 + n_folds, axis=1)
    found = values.copy()
    fold_steps, reduction = limit_folds(signs.shape[1], form.most_steps)
    of_folds = form._replace(most_steps=fold_steps)
    for fold in range(n_folds):
        (own,) = is_trained[:, fold].nonzero()
        if not len(own):
            continue
        start = whole[own]
        reductions = np.full(len(own), reduction)
        by_fold, *_ = _minimise(
            shared, signs[own], costs[1 + fold, own], of_folds, largest[own], reductions,
            small[own], start, values[own],
        )  # fmt: skip
        coefficients[own, 1 + fold] = start
        found[own] = np.where(fold_of[own] == fold, by_fold, found[own])
    return LinearFits(coefficients, found.ravel(), n_steps, is_converged)


def _minimise(
    shared: SharedRows,
    signs: Floats,
    costs: Floats,
    form: LinearForm,
    largest: Floats,
    relative: Floats,
    small: Floats,
    coefficients: Floats,
    values: Floats | None = None,
) -> tuple[Floats, NDArray[np.int64], NDArray[np.bool_], Floats]:
    """Minimise f from the given coefficients, whose z are `values` if given, in place.

    Return z, the numbers of steps, which converged, and the norms of the gradient that are small
    enough.
    """
    n_problems = len(signs)
    penalty = np.ones(coefficients.shape[1])
    penalty[-1] = form.bias_penalty
    found = np.empty(signs.shape)
    n_steps = np.full(n_problems, form.most_steps, dtype=np.int64)
    is_converged = np.zeros(n_problems, dtype=np.bool_)
    left = np.arange(n_problems)
    y, cost, w = signs, costs, coefficients.copy()
    z = shared.times(w, form.bias) if values is None else values
    loss, slopes, curvatures = _differentiate(z, y, cost, form.is_logistic)
    first_norms = np.zeros(n_problems)
    is_spent = np.zeros(n_problems, dtype=np.bool_)
    for step_number in range(form.most_steps + 1):
        gradient = penalty * w + shared.sums(slopes, form.bias)
        norms = np.linalg.norm(gradient, axis=1)
        if step_number == 0:
            first_norms = norms
            small = np.maximum(small, relative * first_norms)
        is_done = (np.abs(gradient).max(axis=1) <= largest[left]) | (norms <= small[left])
        is_done |= is_spent
        is_last = step_number == form.most_steps
        if is_done.any() or is_last:
            gone = is_done | is_last
            found[left[gone]], coefficients[left[gone]] = z[gone], w[gone]
            n_steps[left[is_done]], is_converged[left[is_done]] = step_number, True
            kept = ~gone
            left = left[kept]
            if not len(left):
                break
            y, cost, w, z, loss = y[kept], cost[kept], w[kept], z[kept], loss[kept]
            curvatures, gradient, norms = curvatures[kept], gradient[kept], norms[kept]
        forcing = np.minimum(LARGEST_FORCING, np.sqrt(norms / first_norms[left]))
        direction = _find_directions(shared, curvatures, penalty, gradient, forcing, form.bias)
        slope = np.einsum("ij,ij->i", gradient, direction)
        value = loss + 0.5 * (w**2 @ penalty)
        change = shared.times(direction, form.bias)
        step = np.ones(len(left))
        nearer, new_z = w + direction, z + change
        new_loss, slopes, curvatures = _differentiate(new_z, y, cost, form.is_logistic)
        for _ in range(MOST_HALVINGS - 1):
            new_value = new_loss + 0.5 * (nearer**2 @ penalty)
            bound = value + LEAST_DECREASE * step * slope + ROUNDING * np.abs(value)
            (far,) = (~(new_value <= bound)).nonzero()
            if not len(far):
                break
            step[far] /= 2.0
            nearer[far] = w[far] + step[far, np.newaxis] * direction[far]
            new_z[far] = z[far] + step[far, np.newaxis] * change[far]
            new_loss[far], slopes[far], curvatures[far] = _differentiate(
                new_z[far], y[far], cost[far], form.is_logistic
            )
        w, z, loss = nearer, new_z, new_loss
        is_spent = -slope <= ROUNDING * np.abs(value)  # nothing more can be gained
    return found, n_steps, is_converged, small


def _differentiate(
    z: Floats, y: Floats, cost: Floats, is_logistic: bool
) -> tuple[Floats, Floats, Floats]:
    """Return each problem's Σ c ℓ(y z), and its first and second derivatives by each z."""
    loss, slopes, curvatures = np.zeros(len(z)), np.empty_like(z), np.empty_like(z)
    differentiate = _differentiate_logistic if is_logistic else _differentiate_hinge
    for block in blocks_of(z.shape[1], len(z), _BLOCK_ELEMENTS):
        part = (slice(None), block)
        loss += differentiate(z[part], y[part], cost[part], slopes[part], curvatures[part])
    return loss, slopes, curvatures


def _differentiate_logistic(
    z: Floats, y: Floats, cost: Floats, slopes: Floats, curvatures: Floats
) -> Floats:
    """Return the losses of samples, and put their derivatives into the last two arrays."""
    margins = y * z
    small = np.exp(-np.abs(margins))
    total = 1.0 + small
    loss = np.einsum("ij,ij->i", cost, np.log(total) + np.maximum(-margins, 0.0))
    wrong = np.where(margins > 0.0, small, 1.0)
    wrong /= total
    np.multiply(cost, wrong, out=curvatures)
    np.multiply(-y, curvatures, out=slopes)
    np.subtract(1.0, wrong, out=wrong)
    curvatures *= wrong
    return cast("Floats", loss)


def _differentiate_hinge(
    z: Floats, y: Floats, cost: Floats, slopes: Floats, curvatures: Floats
) -> Floats:
    """Return the losses of samples, and put their derivatives into the last two arrays."""
    short = np.maximum(1.0 - y * z, 0.0)
    np.multiply(cost, short, out=slopes)
    loss = np.einsum("ij,ij->i", slopes, short)
    slopes *= -2.0 * y
    np.multiply(2.0 * cost, short > 0.0, out=curvatures)
    return cast("Floats", loss)


def _find_directions(
    shared: SharedRows,
    curvatures: NDArray[Any],
    penalty: Floats,
    gradient: Floats,
    forcing: Floats,
    bias: float,
) -> Floats:
    """Solve H·direction = −gradient of each problem by preconditioned conjugate gradients."""
    diagonal = np.maximum(penalty + shared.sums_of_squares(curvatures, bias), SMALLEST_CURVATURE)
    curvatures = curvatures.astype(shared.product_dtype, copy=False)
    directions = np.zeros_like(gradient)
    left = np.arange(len(gradient))
    direction, residual = directions.copy(), -gradient
    scaled = residual / diagonal
    search = scaled.copy()
    size = np.einsum("ij,ij->i", residual, scaled)
    if shared.product_dtype == np.float32:
        forcing = np.maximum(forcing, LEAST_FORCING)  # products are not more exact
    enough = forcing**2 * size
    is_done = size <= 0.0
    for _ in range(gradient.shape[1]):
        if is_done.mean() >= _WORTH_LEAVING or is_done.all():
            directions[left[is_done]] = direction[is_done]
            kept = ~is_done
            left = left[kept]
            if not len(left):
                return directions
            direction, residual, search = direction[kept], residual[kept], search[kept]
            size, enough, diagonal = size[kept], enough[kept], diagonal[kept]
            curvatures, is_done = curvatures[kept], is_done[kept]
        product = penalty * search + shared.curvature_products(curvatures, search, bias)
        curvature = np.einsum("ij,ij->i", search, product)
        is_done |= curvature <= 0.0
        length = np.divide(size, curvature, out=np.zeros_like(size), where=~is_done)
        direction += length[:, np.newaxis] * search
        residual -= length[:, np.newaxis] * product
        scaled = residual / diagonal
        new_size = np.einsum("ij,ij->i", residual, scaled)
        is_done |= new_size <= enough
        ratio = np.divide(new_size, size, out=np.zeros_like(size), where=size > 0.0)
        search = scaled + ratio[:, np.newaxis] * search
        size = new_size
    directions[left] = direction
    return directions
