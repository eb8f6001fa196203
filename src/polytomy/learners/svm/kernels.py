"""Kernels of support vector machines: what each kind tells about itself, and their values.

A kind of kernel has a line in `KERNELS`. Its formulas are under the same name in
:mod:`polytomy.routines.reference.kernels` and its compiled twin, or it has `values`.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import did_you_mean
from polytomy.inputs.sparse import is_sparse
from polytomy.inputs.training_data import blocks_of
from polytomy.onnx_graph import Graph, Value
from polytomy.routines.reference.kernels import KERNELS as FORMULAS
from polytomy.routines.reference.kernels import KINDS, blocks_of_samples, entries_of, exact_values

Floats = NDArray[np.float64]

LARGEST_DEGREE = 1000
"""The largest degree of a poly kernel; with larger ones, values only overflow or vanish."""

LARGEST_EXPONENT = 256.0
"""The largest γ|y|² of a vector whose rbf kernel values may be computed from inner products.

By |x|² + |y|² − 2x·y the rounding error of γ|x − y|² is about ε·γ(|x|² + |y|²), here below 1e-13.
Samples have no such limit: a sample far longer than all vectors is far from all of them, so its
kernel values are zero, whatever the error.
"""

# The same for ONNX graphs, which cannot compute differences: errors are up to about 1e-12.
_LARGEST_ONNX_EXPONENT = 1e4

# Size of the blocks of dense rows in which differences are computed.
_DENSE_BYTES = 2**24


@dataclass(frozen=True, slots=True)
class KernelFunction:
    """A kernel function; two are equal if they have the same kind and parameters.

    Parameters that the kind does not use are set to zero.

    Parameters
    ----------
    kind : str, a name in `KERNELS`
    gamma, coef0 : float
    degree : int, from 0 to LARGEST_DEGREE

    Examples
    --------
    >>> KernelFunction("linear", gamma=3)
    KernelFunction(kind='linear', gamma=0.0, degree=0, coef0=0.0)
    >>> KernelFunction("rbf", gamma=1).matrix([[0.0], [1.0]], [[1.0]]).round(4)
    array([[0.3679],
           [1.    ]])
    """

    kind: str
    gamma: float = 0.0
    degree: int = 0
    coef0: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in KERNELS:
            names = ", ".join(f'"{kind}"' for kind in KERNELS)
            raise ArgumentError(
                Argument("kind", self.kind),
                f" is not known.{did_you_mean(self.kind, KERNELS)} Use one of {names}.",
            )
        used = KERNELS[self.kind].parameters
        for name, number in (("gamma", float), ("degree", int), ("coef0", float)):
            object.__setattr__(self, name, number(getattr(self, name) if name in used else 0))
        if not 0 <= self.degree <= LARGEST_DEGREE:
            raise ArgumentError(
                Argument("degree", self.degree),
                f" is not a degree from 0 to {LARGEST_DEGREE}. Degrees from 2 to 5 are usual.",
            )

    @classmethod
    def of(cls, machine: Any) -> Self | None:
        """Return the kernel of a fitted SVC or NuSVC.

        Return None if the kernel is precomputed or a callable, or if its degree is above
        LARGEST_DEGREE.
        """
        return cls._of(machine, lambda: machine._gamma)

    @classmethod
    def from_parameters(cls, machine: Any, X: Any) -> Self | None:
        """Return the kernel that an SVC or NuSVC would have after fitting on X.

        As in scikit-learn, ``gamma="scale"`` is 1 / (n_features · variance of all values of X) and
        ``gamma="auto"`` is 1 / n_features. Return None in the same cases as `of`.
        """

        def find_gamma() -> float:
            variance = variance_of(X) if machine.gamma == "scale" else 0.0
            return effective_gamma(machine.gamma, X.shape[1], variance)

        return cls._of(machine, find_gamma)

    @classmethod
    def _of(cls, machine: Any, find_gamma: Callable[[], float]) -> Self | None:
        kind = find_kernel(machine.kernel)
        if kind is None or ("degree" in kind.parameters and machine.degree > LARGEST_DEGREE):
            return None
        gamma = find_gamma() if "gamma" in kind.parameters else 0.0
        return cls(machine.kernel, gamma, machine.degree, machine.coef0)

    @property
    def about(self) -> Kernel:
        """What the kind of the kernel tells about itself."""
        return KERNELS[self.kind]

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that the kind uses, by name."""
        return {name: getattr(self, name) for name in self.about.parameters}

    @property
    def is_of_distances(self) -> bool:
        """Whether values depend on the distance of two samples, rather than on their product."""
        return self.about.values is None and FORMULAS[self.kind].is_of_distances

    @property
    def code(self) -> tuple[int, float, int, float]:
        """The kernel as a tuple of numbers, for routines."""
        return KINDS[self.kind], self.gamma, self.degree, self.coef0

    def matrix(self, X: Any, Y: Any) -> NDArray[Any]:
        """Return the kernel of each row of X with each row of Y, by one matrix product.

        The rbf kernel needs distances. They are computed as |x|² + |y|² − 2x·y, whose rounding
        error is relative to the squared lengths: data far from the origin, such as temperatures in
        kelvins, would lose the digits that matter. So the mean of Y's rows is subtracted from X
        and Y, which changes no distance, and for rows of Y that are still long, distances are
        computed from differences.

        Parameters
        ----------
        X, Y : arrays or sparse matrices of shape (n, n_features) and (m, n_features)

        Returns
        -------
        array of shape (n, m)
        """
        X, Y = _double(X), _double(Y)
        if self.about.values is not None:
            values = np.empty((X.shape[0], Y.shape[0]))
            self._set_from_rows(X, Y, np.arange(Y.shape[0]), values)
            return values
        if not self.is_of_distances:
            return self.from_products(_products(X, Y))
        moved_x, moved_y = X, Y
        if not (is_sparse(X) or is_sparse(Y)):
            centre = Y.mean(axis=0)
            moved_x, moved_y = X - centre, Y - centre
        squares = squared_lengths(moved_y)
        products = _products(moved_x, moved_y)
        values = self.from_products(products, squared_lengths(moved_x), squares)
        self._set_from_rows(X, Y, np.flatnonzero(self.gamma * squares > LARGEST_EXPONENT), values)
        return values

    def from_products(
        self,
        products: NDArray[Any],
        x_squares: NDArray[Any] | None = None,
        y_squares: NDArray[Any] | None = None,
    ) -> NDArray[Any]:
        """Turn inner products into kernel values, in place, and return them.

        Parameters
        ----------
        products : array of shape (n, m), the inner products x·y
        x_squares, y_squares : arrays of shape (n,) and (m,), |x|² and |y|²
            Used by the rbf kernel only.

        Examples
        --------
        >>> KernelFunction("poly", gamma=1, degree=2, coef0=1).from_products(np.array([[2.0]]))
        array([[9.]])
        """
        for block in blocks_of_samples(*products.shape):
            entries = products[block]
            if x_squares is not None:
                entries = entries_of(entries, KINDS[self.kind], x_squares[block], y_squares)
            products[block] = exact_values(entries, self.code)
        return products

    def _set_from_rows(
        self, X: Any, Y: Any, columns: NDArray[np.intp], values: NDArray[np.float64]
    ) -> None:
        """Set some columns of values from the rows themselves, not from inner products."""
        compute = self.about.values or _rbf_values
        size = max(1, _DENSE_BYTES // (8 * X.shape[1]))
        for first in range(0, X.shape[0] if len(columns) else 0, size):
            rows = slice(first, first + size)
            samples = _dense(X[rows])
            for begin in range(0, len(columns), size):
                part = columns[begin : begin + size]
                values[rows, part] = compute(self, samples, _dense(Y[part]))

    def values_with_itself(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the kernel of each sample with itself, given |x|²."""
        entries = np.zeros_like(squares) if self.is_of_distances else squares
        return exact_values(entries, self.code)

    def to_onnx(self, graph: Graph, X: Value, vectors: NDArray[np.float64]) -> Value:
        """Return the kernel of each sample with each vector as a graph."""
        assert self.about.to_onnx is not None, self.kind  # others are not in a group
        return self.about.to_onnx(self, graph, X, vectors)

    def largest_value(self, largest_square: float) -> float:
        """Return a bound of the absolute values, given that of |x|², which bounds all products."""
        return self.about.largest_value(self, largest_square)


def _rbf_values(function: KernelFunction, X: Floats, Y: Floats) -> Floats:
    return np.asarray(np.exp(-function.gamma * cdist(X, Y, "sqeuclidean")))


def _export_linear(
    function: KernelFunction, graph: Graph, X: Value, vectors: NDArray[np.float64]
) -> Value:
    return X @ vectors.T


def _export_rbf(
    function: KernelFunction, graph: Graph, X: Value, vectors: NDArray[np.float64]
) -> Value:
    # −γ|x − y|² from products, which is accurate for rows around the origin.
    centre = vectors.mean(axis=0)
    vectors = vectors - centre
    squares = function.gamma * squared_lengths(vectors)
    if squares.max() > _LARGEST_ONNX_EXPONENT:
        raise ArgumentError(
            f"gamma·|x|² of the support vectors is {squares.max():.3g}, but must be at most "
            f"{_LARGEST_ONNX_EXPONENT:g} for exact kernel values in ONNX. Scale the features, "
            "or choose a smaller gamma."
        )
    moved = X - centre
    lengths = (moved * moved).sum(axis=1) * function.gamma
    exponents = moved @ (2.0 * function.gamma * vectors.T) - squares - lengths
    return graph.add("Exp", graph.add("Min", exponents, 0.0))


def _export_poly(
    function: KernelFunction, graph: Graph, X: Value, vectors: NDArray[np.float64]
) -> Value:
    products = X @ (function.gamma * vectors.T) + function.coef0
    return graph.add("Pow", products, float(function.degree))


def _export_sigmoid(
    function: KernelFunction, graph: Graph, X: Value, vectors: NDArray[np.float64]
) -> Value:
    return graph.add("Tanh", X @ (function.gamma * vectors.T) + function.coef0)


def _bound_poly(function: KernelFunction, largest_square: float) -> float:
    largest = abs(function.gamma) * largest_square + abs(function.coef0)
    with np.errstate(over="ignore"):
        return float(np.float64(largest) ** function.degree)


class Kernel(NamedTuple):
    """What a kind of kernel tells about itself.

    Attributes
    ----------
    parameters : names of the parameters that it uses, in the order of LIBSVM's model files
    libsvm_name : its name in LIBSVM's model files, if it has one
    libsvm_number : its number in LIBSVM's option ``-t``
    to_onnx : function of a KernelFunction, a graph, samples and vectors, optional
        Returns the kernel of each sample with each vector as a graph.
    largest_value : function of a KernelFunction and the largest |x|², which bounds all products
        Returns a bound of the absolute values.
    is_definite : whether its matrices are positive semi-definite
        An indefinite kernel has several solutions; the starting point decides which is found.
    values : function of a KernelFunction and two arrays of samples, optional
        Returns the kernel of each sample with each other, for a kernel that is not a function of
        inner products or distances and has no compiled formulas.
    """

    parameters: tuple[str, ...]
    libsvm_name: str | None = None
    libsvm_number: int | None = None
    to_onnx: Callable[[KernelFunction, Graph, Value, NDArray[np.float64]], Value] | None = None
    largest_value: Callable[[KernelFunction, float], float] = lambda _, largest: largest
    is_definite: bool = True
    values: Callable[[KernelFunction, Floats, Floats], Floats] | None = None


KERNELS = {
    "linear": Kernel((), "linear", 0, _export_linear),
    "rbf": Kernel(("gamma",), "rbf", 2, _export_rbf),
    "poly": Kernel(("degree", "gamma", "coef0"), "polynomial", 1, _export_poly, _bound_poly),
    "sigmoid": Kernel(("gamma", "coef0"), "sigmoid", 3, _export_sigmoid, is_definite=False),
}
"""The kinds of kernels, by scikit-learn's names."""


def find_kernel(kernel: Any) -> Kernel | None:
    """Return the kind for a parameter `kernel` of an SVC; None if precomputed or a callable."""
    return KERNELS.get(kernel) if isinstance(kernel, str) else None


def has_scaled_C(estimator: Any) -> bool:
    """Return whether an estimator is a linear classifier with C="scale"."""
    C = getattr(estimator, "C", None)
    if not isinstance(C, str) or C != "scale":
        return False
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    return type(estimator) in (LogisticRegression, LinearSVC)


def validate_parameters(estimator: Any) -> None:
    """Raise ValueError if parameters are invalid; our kernels and C="scale" are valid, too."""
    if find_kernel(getattr(estimator, "kernel", None)) is not None:
        estimator = copy(estimator)
        estimator.kernel = "rbf"
    if has_scaled_C(estimator):
        estimator = copy(estimator)
        estimator.C = 1.0
    estimator._validate_params()


def name_kernels() -> str:
    """Return the names of the kinds that can be exported, for a message.

    Examples
    --------
    >>> name_kernels()
    'linear, rbf, poly or sigmoid'
    """
    *first, last = (name for name, kernel in KERNELS.items() if kernel.to_onnx)
    return f"{', '.join(first)} or {last}"


def uses_gamma(machine: Any) -> bool:
    """Return whether the kernel of an SVC or NuSVC has the parameter gamma."""
    kind = find_kernel(machine.kernel)
    return kind is not None and "gamma" in kind.parameters


def effective_gamma(gamma: float | str, n_features: int, variance: float) -> float:
    """Return the number for a parameter `gamma` of an SVC, given the variance of all values."""
    if gamma == "auto":
        return 1.0 / n_features
    if gamma != "scale":
        return float(gamma)
    with np.errstate(over="ignore"):  # the values may be almost equal
        return float(1.0 / (n_features * variance)) if variance else 1.0


def variance_of(X: Any) -> float:
    """Return the variance of all values, dense or sparse."""
    X = _double(X)
    return float(X.multiply(X).mean() - X.mean() ** 2 if is_sparse(X) else X.var())


def squared_lengths(X: Any) -> NDArray[Any]:
    """Return |x|² of each row, dense or sparse.

    Examples
    --------
    >>> squared_lengths(np.array([[3.0, 4.0], [0.0, 2.0]]))
    array([25.,  4.])
    """
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    squares: NDArray[Any] = np.einsum("ij,ij->i", X, X)
    return squares


def spread_of(X: Any) -> float:
    """Return the median squared distance of rows from their mean, dense or sparse.

    It is the mean squared distance if most rows equal their mean.

    Examples
    --------
    >>> spread_of(np.array([[0.0], [1.0], [2.0], [3.0], [9.0]]))
    4.0
    """
    centre = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    lengths = squared_lengths(X)
    if is_sparse(X):
        distances, rounding = lengths - 2.0 * (X @ centre) + centre @ centre, 1e-12
    else:
        blocks = blocks_of(len(X), 8 * len(centre), _DENSE_BYTES)
        distances = np.concatenate([squared_lengths(X[block] - centre) for block in blocks])
        rounding = 1e-28
    distances[distances < rounding * lengths] = 0.0
    return float(np.median(distances) or distances.mean())


def _products(X: Any, Y: Any) -> NDArray[Any]:
    """Return the inner products of rows as a dense array."""
    return np.ascontiguousarray(_dense(X @ Y.T))


def _double(X: Any) -> Any:
    return X.tocsr().astype(np.float64) if is_sparse(X) else np.asarray(X, dtype=np.float64)


def _dense(X: Any) -> NDArray[np.float64]:
    return np.asarray(X.toarray() if is_sparse(X) else X)
