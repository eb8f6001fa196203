"""Linear models of problems with the same rows, trained with matrix products.

One-vs-rest and dense codes train all their binaries on all rows. The Newton steps of many problems
can then be taken together: a product with the Hessian is two matrix products for all of them, which
take a fraction of the time of separate matrix-vector products. Solved problems leave the stack. The
steps are those of :mod:`polytomy.routines.reference.linear`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from polytomy.inputs.sparse import is_sparse
from polytomy.inputs.training_data import blocks_of
from polytomy.routines.reference.linear import (
    FOLD_REDUCTION,
    LARGEST_FORCING,
    LEAST_DECREASE,
    LEAST_FORCING,
    MOST_HALVINGS,
    ROUNDING,
    SMALLEST_CURVATURE,
    LinearFits,
    LinearForm,
    first_bias,
)

Floats = NDArray[np.float64]

# Bytes of samples processed at a time; they stay in the processor's cache.
_BLOCK_BYTES = 2**20

# Multiplications per block: rows times features times models. OpenBLAS multiplies matrices with up
# to a million of them without copies, which takes half the time if one side is short.
_BLOCK_PRODUCTS = 2**19
_FEWEST_ROWS = 64

# Elements differentiated at a time, so that their arrays stay in the cache.
_BLOCK_ELEMENTS = 2**14

# With fewer entries, a copy in single precision does not pay off.
_FEWEST_SINGLE = 2**18

# Products of columns outside these limits would lose too much accuracy in single precision.
_LARGEST_OFFSET = 100.0  # mean, in standard deviations
_SMALLEST_ENTRY, _LARGEST_ENTRY = 1e-12, 1e12

# Solved problems leave the stack when they are this fraction of it, because leaving makes copies.
_WORTH_LEAVING = 0.2


class SharedRows:
    """The rows that all problems of a stack share.

    Losses and gradients are computed in double precision. Products with the Hessian, which are most
    of the work, are computed in single precision if the rows are in single precision, or if there
    are many and the loss of accuracy does not matter: directions need not be exact.

    The only values stored for each row are the curvatures. Everything else is recomputed block by
    block and stays in the processor's cache.

    Parameters
    ----------
    x : array or CSR matrix of shape (n_samples, n_features)
    bias : float, the constant feature of the intercept; zero without an intercept
    """

    def __init__(self, x: Any, bias: float) -> None:
        self._x = x
        self._bias = bias
        self._squares = x.power(2) if is_sparse(x) else None
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
            for block in blocks_of(n_rows, 8 * n_features, _BLOCK_BYTES):
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
        """Number of coefficients of a model, including that of the constant feature."""
        return int(self._x.shape[1]) + 1

    def take(self, rows: NDArray[np.intp]) -> SharedRows:
        """Return some of the rows."""
        return SharedRows(self._x[rows], self._bias)

    def times(self, coefficients: Floats) -> Floats:
        """Return the values of models, of shape (n_models, n_samples)."""
        values = np.empty((len(coefficients), self._x.shape[0]))
        for block in self._blocks(len(coefficients)):
            values[:, block] = self._multiply(self._doubles(block), coefficients)
        return values

    def differentiate(
        self, coefficients: Floats, is_positive: NDArray[np.bool_], costs: Floats
    ) -> tuple[Floats, Floats, NDArray[Any]]:
        """Return the losses of models, their gradients, and the curvature of each sample.

        Parameters
        ----------
        coefficients : array of shape (n_models, n_coefficients)
        is_positive : bool array of shape (n_models, n_samples)
        costs : array of shape (n_models or 1, n_samples)

        Returns
        -------
        losses : array of shape (n_models,)
        gradients : array like `coefficients`
        curvatures : array of shape (n_models, n_samples), of type `product_dtype`
        """
        losses, gradients = np.zeros(len(coefficients)), np.zeros(coefficients.shape)
        curvatures = np.empty(is_positive.shape, self.product_dtype)
        for block in self._blocks(len(coefficients)):
            x, cost = self._doubles(block), costs[:, block]
            slopes = self._multiply(x, coefficients)
            losses += _differentiate(slopes, is_positive[:, block], cost, curvatures[:, block])
            self._add_sums(gradients, slopes, x)
        return losses, gradients, curvatures

    def sums_of_squares(self, curvatures: NDArray[Any]) -> Floats:
        """Return sums of squared rows times curvatures, of shape (n_models, n_coefficients)."""
        found = np.zeros((len(curvatures), self.n_coefficients))
        for block in self._blocks(len(curvatures)):
            squares = self._rows[block] ** 2 if self._squares is None else self._squares
            self._add_sums(found, curvatures[:, block], squares)
        found[:, -1] *= self._bias
        return found

    def curvature_products(self, curvatures: NDArray[Any], directions: Floats) -> Floats:
        """Return Hessian-vector products, without the penalty, for one direction per model."""
        found = np.zeros(directions.shape)
        directions = directions.astype(self.product_dtype, copy=False)
        for block in self._blocks(len(directions)):
            x = self._rows[block] if self._squares is None else self._x
            bent = self._multiply(x, directions)
            bent *= curvatures[:, block]
            self._add_sums(found, bent, x)
        return found

    def _multiply(self, x: Any, coefficients: NDArray[Any]) -> NDArray[Any]:
        """Return the values of models for some rows, of shape (n_models, n_samples)."""
        # The product is two to three times as fast in this order, even with the copy.
        values = np.ascontiguousarray((x @ coefficients[:, :-1].T).T)
        if self._bias:
            values += coefficients.dtype.type(self._bias) * coefficients[:, -1:]
        return values

    def _add_sums(self, sums: Floats, factors: NDArray[Any], x: Any) -> None:
        """Add the sums of some rows times factors."""
        sums[:, :-1] += (x.T @ factors.T).T if is_sparse(x) else factors @ x
        if self._bias:
            sums[:, -1] += self._bias * factors.sum(axis=1)

    @property
    def _rows(self) -> NDArray[Any]:
        """The rows, of type `product_dtype`."""
        return cast("NDArray[Any]", self._x if self._singles is None else self._singles)

    def _doubles(self, block: slice) -> Any:
        """Return some rows in double precision."""
        if self._squares is not None:
            return self._x
        return self._x[block].astype(np.float64, copy=False)

    def _blocks(self, n_models: int) -> Iterator[slice]:
        """Yield slices of rows. Sparse rows form one block, because slicing them makes a copy."""
        n_rows, n_features = self._x.shape
        if self._squares is not None:
            return iter([slice(0, n_rows)])
        per_row = n_models * n_features
        return blocks_of(n_rows, max(1, per_row), max(_BLOCK_PRODUCTS, _FEWEST_ROWS * per_row))


def fit_stacked_models(
    shared: SharedRows,
    is_positive: NDArray[np.bool_],
    costs: Floats,
    fold_of: NDArray[np.intp],
    is_trained: NDArray[np.bool_],
    form: LinearForm,
    largest: Floats,
    relative: Floats,
    *,
    needs_values: bool = True,
) -> LinearFits:
    """Return the logistic regressions of problems with the same rows, and those of their folds.

    Does the same as :func:`polytomy.routines.reference.linear.fit_linear_models` for such problems.

    Parameters
    ----------
    shared : SharedRows, of n_samples rows
    is_positive : bool array of shape (n_problems, n_samples), the sides
    costs : array of shape (1 + n_folds, n_problems or 1, n_samples)
    fold_of : array of shape (n_samples,)
    is_trained, form, largest, relative : as for `fit_linear_models`
    needs_values : bool
        Whether to return z of each sample; otherwise `values` is empty.
    """
    n_problems, n_folds = is_trained.shape
    whole = np.zeros((n_problems, shared.n_coefficients))
    for problem, own in enumerate(is_positive):
        cost = np.broadcast_to(costs[0], is_positive.shape)[problem]
        whole[problem, -1] = first_bias(np.where(own, 1.0, -1.0), cost, form)
    n_steps, is_converged, small = _minimise(
        shared, is_positive, costs[0], form, largest, relative, np.zeros(n_problems), 1.0, whole
    )
    coefficients = np.repeat(whole[:, np.newaxis], 1 + n_folds, axis=1)
    found = shared.times(whole) if needs_values else np.empty(0)
    for fold in range(n_folds):
        (own,) = is_trained[:, fold].nonzero()
        if not len(own):
            continue
        start = whole[own]
        sides, cost = _take(own, is_positive, costs[1 + fold])
        tolerances = largest[own], np.zeros(len(own)), small[own]
        _minimise(shared, sides, cost, form, *tolerances, FOLD_REDUCTION, start)
        coefficients[own, 1 + fold] = start
        if needs_values:
            (held_out,) = (fold_of == fold).nonzero()
            found[np.ix_(own, held_out)] = shared.take(held_out).times(start)
    return LinearFits(coefficients, found.ravel(), n_steps, is_converged)


def _minimise(
    shared: SharedRows,
    is_positive: NDArray[np.bool_],
    costs: Floats,
    form: LinearForm,
    largest: Floats,
    relative: Floats,
    small: Floats,
    reduction: float,
    coefficients: Floats,
) -> tuple[NDArray[np.int64], NDArray[np.bool_], Floats]:
    """Minimise f from the given coefficients, in place.

    Gradients must be small, and smaller than at the start by the factor `reduction`. Return the
    numbers of steps, which problems converged, and the gradient norms that are small enough.
    """
    n_problems = len(coefficients)
    penalty = np.ones(coefficients.shape[1])
    penalty[-1] = form.bias_penalty
    n_steps = np.full(n_problems, form.most_steps, dtype=np.int64)
    is_converged = np.zeros(n_problems, dtype=np.bool_)
    left = np.arange(n_problems)
    w = coefficients.copy()
    loss, slopes, curvatures = shared.differentiate(w, is_positive, costs)
    first_norms = np.zeros(n_problems)
    is_spent = np.zeros(n_problems, dtype=np.bool_)
    for step_number in range(form.most_steps + 1):
        gradient = penalty * w + slopes
        norms, highest = np.linalg.norm(gradient, axis=1), np.abs(gradient).max(axis=1)
        if step_number == 0:
            first_norms = norms
            small = np.maximum(small, relative * first_norms)
            small = np.minimum(small, reduction * np.maximum(small, norms))
            largest = np.minimum(largest, reduction * np.maximum(largest, highest))
        is_done = (highest <= largest[left]) | (norms <= small[left])
        is_done |= is_spent
        is_last = step_number == form.most_steps
        if is_done.any() or is_last:
            gone = is_done | is_last
            coefficients[left[gone]] = w[gone]
            n_steps[left[is_done]], is_converged[left[is_done]] = step_number, True
            kept = ~gone
            left = left[kept]
            if not len(left):
                break
            is_positive, costs = _take(kept, is_positive, costs)
            w, loss, curvatures = w[kept], loss[kept], curvatures[kept]
            gradient, norms = gradient[kept], norms[kept]
        forcing = np.minimum(LARGEST_FORCING, np.sqrt(norms / first_norms[left]))
        direction = _find_directions(shared, curvatures, penalty, gradient, forcing)
        slope = np.einsum("ij,ij->i", gradient, direction)
        value = loss + 0.5 * (w**2 @ penalty)
        step = np.ones(len(left))
        nearer = w + direction
        del curvatures  # so that there are never two of them
        new_loss, slopes, curvatures = shared.differentiate(nearer, is_positive, costs)
        for _ in range(MOST_HALVINGS - 1):
            new_value = new_loss + 0.5 * (nearer**2 @ penalty)
            bound = value + LEAST_DECREASE * step * slope + ROUNDING * np.abs(value)
            (far,) = (~(new_value <= bound)).nonzero()
            if not len(far):
                break
            step[far] /= 2.0
            nearer[far] = w[far] + step[far, np.newaxis] * direction[far]
            new_loss[far], slopes[far], curvatures[far] = shared.differentiate(
                nearer[far], *_take(far, is_positive, costs)
            )
        w, loss = nearer, new_loss
        is_spent = -slope <= ROUNDING * np.abs(value)  # nothing more can be gained
    return n_steps, is_converged, small


def _differentiate(
    values: Floats, is_positive: NDArray[np.bool_], costs: Floats, curvatures: NDArray[Any]
) -> Floats:
    """Return the loss of each model, and replace the values by slopes in place.

    Parameters
    ----------
    values : array of shape (n_models, n_samples), z
    is_positive : bool array like `values`
    costs : array of shape (n_models or 1, n_samples)
    curvatures : array like `values`, to which the second derivatives are written
    """
    losses = np.zeros(len(values))
    for block in blocks_of(values.shape[1], len(values), _BLOCK_ELEMENTS):
        z, cost, own = values[:, block], costs[:, block], is_positive[:, block]
        margins = np.where(own, z, -z)
        small = np.exp(-np.abs(margins))
        total = 1.0 + small
        loss = np.log(total)
        loss += np.maximum(-margins, 0.0)
        loss *= cost
        losses += loss.sum(axis=1)
        wrong = np.where(margins > 0.0, small, 1.0)
        wrong /= total
        bent = cost * wrong
        np.negative(bent, where=own, out=z)
        np.copyto(z, bent, where=~own)
        np.subtract(1.0, wrong, out=wrong)
        bent *= wrong
        curvatures[:, block] = bent
    return losses


def _take(
    chosen: NDArray[Any], is_positive: NDArray[np.bool_], costs: Floats
) -> tuple[NDArray[np.bool_], Floats]:
    """Return the sides and costs of some problems; all problems may share one row of costs."""
    return is_positive[chosen], costs if len(costs) == 1 else costs[chosen]


def _find_directions(
    shared: SharedRows,
    curvatures: NDArray[Any],
    penalty: Floats,
    gradient: Floats,
    forcing: Floats,
) -> Floats:
    """Solve H·direction = −gradient of each problem by preconditioned conjugate gradients."""
    diagonal = np.maximum(penalty + shared.sums_of_squares(curvatures), SMALLEST_CURVATURE)
    directions = np.zeros_like(gradient)
    left = np.arange(len(gradient))
    direction, residual = directions.copy(), -gradient
    scaled = residual / diagonal
    search = scaled.copy()
    size = np.einsum("ij,ij->i", residual, scaled)
    if shared.product_dtype == np.float32:
        forcing = np.maximum(forcing, LEAST_FORCING)  # products are no more accurate than this
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
        product = penalty * search + shared.curvature_products(curvatures, search)
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
