"""Distances between the classes of data, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from polytomy.distances.class_distances import ClassDistances
from polytomy.errors import Argument, ArgumentError, DataError, PythonOnly
from polytomy.inputs.arguments import as_count, check_choice
from polytomy.inputs.class_samples import ClassSamples, Rows, check_two_classes, group_samples
from polytomy.inputs.seeds import RandomState, as_generator
from polytomy.routines.dispatch import routine
from polytomy.routines.reference.distances import hausdorff_matrix as small_hausdorff_matrix

METRICS = (
    "braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "dice",
    "euclidean", "hamming", "jaccard", "jensenshannon", "mahalanobis", "minkowski",
    "rogerstanimoto", "russellrao", "seuclidean", "sokalsneath", "sqeuclidean", "yule",
)  # fmt: skip

_ON_TRUTH_VALUES = {"dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"}

_BLOCK_BYTES = 2**24
# |x|² + |y|² − 2xy loses digits if it is small compared with |x|² + |y|². Below this fraction, the
# distance is computed from x − y instead.
_CANCELLED = 1e-3
# Pairs of samples times features. Less work than this does not justify loading compiled routines.
_LEAST_WORK = 2 * 10**7


class SampleMetric:
    """A metric between samples, with its parameters estimated from all samples.

    Variances ("seuclidean") and covariances ("mahalanobis") are estimated from all classes, so that
    the distances between different pairs of classes can be compared.
    """

    def __init__(self, metric: str, samples: ClassSamples) -> None:
        self.name = metric
        self._parameters: dict[str, Any] = {}
        self._dtype = np.bool_ if metric in _ON_TRUTH_VALUES else np.float64
        if samples.is_sparse:
            if metric != "euclidean":
                raise ArgumentError(
                    Argument("metric", metric),
                    " needs dense data. Use ",
                    Argument("metric", "euclidean"),
                    PythonOnly(", or X.toarray() if it fits in memory"),
                    ".",
                )
        elif metric == "seuclidean":
            variances = samples.rows.var(axis=0, ddof=1) if len(samples.rows) > 1 else 1.0
            # A constant feature adds nothing to a distance, whatever its scale.
            self._parameters["V"] = np.where(variances > 0, variances, 1.0)
        elif metric == "mahalanobis":
            covariance = np.atleast_2d(np.cov(samples.rows, rowvar=False))
            self._parameters["VI"] = np.linalg.pinv(covariance, hermitian=True)

    def blocks(self, A: Rows, B: Rows) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Yield blocks of rows of A with their distances to all rows of B, in bounded memory."""
        n_rows, n_columns = A.shape[0], B.shape[0]
        step = max(1, _BLOCK_BYTES // (8 * n_columns))
        for start in range(0, n_rows, step):
            block = slice(start, min(n_rows, start + step))
            distances = self._between(A[block], B)
            if not np.isfinite(distances).all():
                raise DataError(
                    Argument("metric", self.name),
                    " is not defined for some of these samples, such as all zeros. Use ",
                    Argument("metric", "euclidean"),
                    ".",
                )
            yield block, distances

    def _between(self, A: Rows, B: Rows) -> NDArray[np.float64]:
        if scipy.sparse.issparse(A):
            return _sparse_euclidean(A, B)
        parts = A.astype(self._dtype, copy=False), B.astype(self._dtype, copy=False)
        distances = scipy.spatial.distance.cdist(*parts, metric=self.name, **self._parameters)  # type: ignore[call-overload]
        return np.asarray(distances)


def _sparse_euclidean(A: Rows, B: Rows) -> NDArray[np.float64]:
    norms = np.add.outer(_squared_norms(A), _squared_norms(B))
    squares = norms - 2 * (A @ B.T).toarray()
    rows, columns = np.nonzero(squares <= _CANCELLED * norms)
    width = max(1, int(A.nnz / max(1, A.shape[0])) + int(B.nnz / max(1, B.shape[0])))
    step = max(1, _BLOCK_BYTES // (16 * width))
    for start in range(0, len(rows), step):
        few = slice(start, start + step)
        squares[rows[few], columns[few]] = _squared_norms(A[rows[few]] - B[columns[few]])
    distances: NDArray[np.float64] = np.sqrt(squares)
    return distances


def _squared_norms(rows: Rows) -> NDArray[np.float64]:
    return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()


def hausdorff(X: Any, y: ArrayLike, *, metric: str = "euclidean") -> ClassDistances:
    """Return the Hausdorff distances between the classes, exact and symmetric.

    This is the largest distance from a sample of either class to the nearest sample of the other:
    max(max_a min_b d(a, b), max_b min_a d(a, b)).

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        Sparse data needs the Euclidean metric.
    y : array of shape (n_samples,), labels of any kind
    metric : name of a metric of scipy.spatial.distance.cdist

    Examples
    --------
    >>> print(hausdorff([[0.0], [1.0], [4.0], [9.0]], ["a", "a", "b", "c"]))
    hausdorff  a  b  c
            a  0  4  9
            b  4  0  5
            c  9  5  0
    """
    check_choice("metric", metric, METRICS)
    samples = check_two_classes(group_samples(X, y))
    if metric == "euclidean" and not samples.is_sparse:
        matrix = _euclidean(samples)
    else:
        matrix = _quantiles(samples, metric, 1.0)
    return ClassDistances(samples.classes, matrix, "hausdorff")


def robust_hausdorff(
    X: Any, y: ArrayLike, *, quantile: float = 0.95, metric: str = "euclidean"
) -> ClassDistances:
    """Return Hausdorff distances with a quantile instead of the outer maximum.

    So the distance is not determined by a few outliers (Huttenlocher, Klanderman and Rucklidge
    1993).
    ``quantile=1`` gives the Hausdorff distance.

    Parameters
    ----------
    X, y, metric : see `hausdorff`
    quantile : quantile of the samples' distances to the other class, above 0 and at most 1

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [90.0], [3.0]]
    >>> robust_hausdorff(X, [0, 0, 0, 0, 1], quantile=0.5)[0, 1]
    2.5
    """
    if not (isinstance(quantile, Real) and 0 < quantile <= 1):
        raise ArgumentError(
            Argument("quantile", quantile),
            " is not above 0 and at most 1. Use ",
            Argument("quantile", 0.95),
            ".",
        )
    check_choice("metric", metric, METRICS)
    samples = check_two_classes(group_samples(X, y))
    return ClassDistances(
        samples.classes, _quantiles(samples, metric, quantile), "robust hausdorff"
    )


def _euclidean(samples: ClassSamples) -> NDArray[np.float64]:
    counts = samples.counts.astype(np.float64)
    pairs = (counts.sum() ** 2 - (counts**2).sum()) / 2
    is_small = pairs * samples.rows.shape[1] < _LEAST_WORK
    compiled = routine("hausdorff_matrix", "distances")
    run = small_hausdorff_matrix if is_small else compiled
    matrix: NDArray[np.float64] = run(np.ascontiguousarray(samples.rows), samples.starts)
    return matrix


def _quantiles(samples: ClassSamples, metric: str, quantile: float) -> NDArray[np.float64]:
    parts = list(samples)
    distance = SampleMetric(metric, samples)
    matrix = np.zeros((len(parts), len(parts)))
    for i, j in combinations(range(len(parts)), 2):
        to_other = _nearest(distance, parts[i], parts[j])
        matrix[i, j] = matrix[j, i] = max(np.quantile(nearest, quantile) for nearest in to_other)
    return matrix


def _nearest(
    distance: SampleMetric, A: Rows, B: Rows
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the distance from each row of A to the nearest row of B, and vice versa."""
    from_a, from_b = np.empty(A.shape[0]), np.full(B.shape[0], np.inf)
    for block, distances in distance.blocks(A, B):
        from_a[block] = distances.min(axis=1)
        np.minimum(from_b, distances.min(axis=0), out=from_b)
    return from_a, from_b


def energy(
    X: Any,
    y: ArrayLike,
    *,
    metric: str = "euclidean",
    max_samples: int | None = 1000,
    random_state: RandomState = 0,
) -> ClassDistances:
    """Return the energy distances between the classes (Székely and Rizzo 2013).

    The energy distance is the square root of ``2 E|a − b| − E|a − a'| − E|b − b'|``, with means
    over all pairs of samples. It compares whole distributions, and is zero only if they are equal.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,), labels of any kind
    metric : name of a metric of scipy.spatial.distance.cdist; a negative sum is replaced by zero
    max_samples : size of the random subsample of each class, or None to use all samples; the work
        grows with its square
    random_state : int, generator or None, for the subsample

    Examples
    --------
    >>> energy([[0.0], [2.0]], ["a", "b"])["a", "b"]
    2.0
    """
    check_choice("metric", metric, METRICS)
    most = None if max_samples is None else as_count("max_samples", max_samples)
    samples = check_two_classes(group_samples(X, y))
    random = as_generator(random_state)
    if most is not None:
        samples = samples.take(np.flatnonzero(samples.draw_ranks(random) < most))
    parts = list(samples)
    distance = SampleMetric(metric, samples)
    means = np.array([[_mean_distance(distance, a, b) if j <= i else 0.0
                       for j, b in enumerate(parts)] for i, a in enumerate(parts)])  # fmt: skip
    means += np.tril(means, -1).T
    own = np.diag(means)
    matrix = np.sqrt(np.maximum(2 * means - own - own[:, np.newaxis], 0))
    return ClassDistances(samples.classes, matrix, "energy")


def _mean_distance(distance: SampleMetric, A: Rows, B: Rows) -> float:
    total = sum(float(distances.sum()) for _, distances in distance.blocks(A, B))
    return float(total / (A.shape[0] * B.shape[0]))


# -- Distances between classes from their means and spreads, or from a model that separates them --


# Relative to the mean variance; added to every variance, so that the covariance can be inverted.
_RIDGE = 1e-2
_DIRECTIONS = 100


def centroid(X: Any, y: ArrayLike) -> ClassDistances:
    """Return the distances between class means, relative to the spreads of the classes.

    This is ``|μ_i − μ_j| / sqrt(σ_i σ_j)`` with ``σ² = Σ|x − μ|² / (n − 1)`` (Mills 2019). A class
    without spread, such as a single sample, gets the pooled spread of all classes. If no class has
    spread, the distances are those between the means.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,), labels of any kind

    Examples
    --------
    >>> round(centroid([[0.0], [2.0], [7.0], [9.0]], ["a", "a", "b", "b"])["a", "b"], 4)  # 7 / √2
    4.9497
    """
    samples = check_two_classes(group_samples(X, y))
    means = samples.means()
    spreads = _spreads(samples, means)
    matrix = scipy.spatial.distance.cdist(means, means) / np.sqrt(np.outer(spreads, spreads))
    return ClassDistances(samples.classes, matrix, "centroid")


def _spreads(samples: ClassSamples, means: NDArray[np.float64]) -> NDArray[np.float64]:
    squares = np.array(
        [_squares_about(part, mean) for part, mean in zip(samples, means, strict=True)]
    )
    degrees = samples.counts - 1
    within = np.sqrt(squares.sum() / max(1, degrees.sum())) or 1.0
    own = np.sqrt(squares / np.maximum(1, degrees))
    return np.where(own > 0, own, within)


def _squares_about(rows: Rows, mean: NDArray[np.float64]) -> float:
    """Return Σ|x − μ|²; exactly zero for equal rows, however their mean is rounded."""
    if not (rows.max(axis=0) != rows.min(axis=0)).sum():
        return 0.0
    if isinstance(rows, np.ndarray):
        return float(((rows - mean) ** 2).sum())
    # Stored entries deviate by x − μ, and entries that are not stored by μ.
    n_stored = np.bincount(rows.indices, minlength=len(mean))
    deviations = rows.data - mean[rows.indices]
    return float((deviations**2).sum() + ((rows.shape[0] - n_stored) * mean**2).sum())


def separability(
    X: Any, y: ArrayLike, *, estimator: Any = None, cv: int = 5, random_state: RandomState = 0
) -> ClassDistances:
    """Return how well each pair of classes can be separated: from 0, not at all, to 1, perfectly.

    This is one minus the doubt of a cross-validated model of all classes between two of them: the
    probability of the wrong class of the two, p_j / (p_i + p_j), averaged over the samples of each
    class and added. A class with a single sample is never held out.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,), labels of any kind
    estimator : classifier, preferably with predict_proba; by default a linear discriminant with
        ridge (Fisher 1936; Friedman 1989), which costs one small matrix inverse per fold, and on
        sparse data uses a projection to 100 random directions (Johnson and Lindenstrauss 1984)
    cv : number of stratified folds
    random_state : int, generator or None, for the folds and the projection

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> print(separability(X, [0, 0, 0, 1, 1, 1], cv=3))
    separability  0  1
               0  0  1
               1  1  0
    """
    n_folds = as_count("cv", cv, at_least=2)
    samples = check_two_classes(group_samples(X, y))
    random = as_generator(random_state)
    if samples.is_sparse and estimator is None:
        samples = _projected(samples, random)
    proba = _held_out_probabilities(samples, estimator, n_folds, random)
    by_class = np.split(proba, samples.starts[1:-1])
    doubt = np.array([_doubt(part, i) for i, part in enumerate(by_class)])
    matrix = np.clip(1 - doubt - doubt.T, 0, 1)
    np.fill_diagonal(matrix, 0)
    return ClassDistances(samples.classes, matrix, "separability")


def _projected(samples: ClassSamples, random: np.random.Generator) -> ClassSamples:
    """Return dense samples projected to random directions, which nearly preserves distances."""
    directions = random.normal(size=(samples.rows.shape[1], _DIRECTIONS)) / np.sqrt(_DIRECTIONS)
    return replace(samples, rows=samples.rows @ directions)


def _doubt(proba: NDArray[np.float64], own: int) -> NDArray[np.float64]:
    """Return the mean of p_j / (p_own + p_j) for each class j, over samples of one class."""
    both = proba + proba[:, [own]]
    share = np.divide(proba, both, out=np.full_like(proba, 0.5), where=both > 0)
    mean: NDArray[np.float64] = share.mean(axis=0)
    return mean


def _held_out_probabilities(
    samples: ClassSamples, estimator: Any, n_folds: int, random: np.random.Generator
) -> NDArray[np.float64]:
    class_indices = samples.class_indices
    fold = samples.draw_ranks(random) % n_folds
    is_alone = (samples.counts == 1)[class_indices]
    proba = np.zeros((len(class_indices), len(samples.classes)))
    for held_out in range(n_folds):
        test = fold == held_out
        if not test.any():
            continue
        train = ~test | is_alone
        fit = _fit_discriminant if estimator is None else _fit_estimator
        proba[test] = fit(samples.rows[train], class_indices[train], samples.rows[test],
                          len(samples.classes), estimator)  # fmt: skip
    return proba


def _fit_discriminant(
    rows: NDArray[np.float64],
    class_indices: NDArray[np.intp],
    test_rows: NDArray[np.float64],
    n_classes: int,
    _: None,
) -> NDArray[np.float64]:
    """Return the probabilities of normal distributions with one shared covariance."""
    counts = np.bincount(class_indices, minlength=n_classes)
    means = np.zeros((n_classes, rows.shape[1]))
    np.add.at(means, class_indices, rows)
    means /= np.maximum(1, counts)[:, np.newaxis]
    residuals = rows - means[class_indices]
    scale = residuals.std(axis=0)
    # A feature that is constant within each class has only rounding errors; do not scale them up.
    firsts, places = np.unique(class_indices, return_index=True, return_inverse=True)[1:]
    is_constant = (rows == rows[firsts[places]]).all(axis=0)
    scale = np.where(is_constant, 1, scale)
    covariance = (residuals / scale).T @ (residuals / scale) / len(rows)
    covariance += _RIDGE * np.eye(len(scale))
    slopes = np.linalg.solve(covariance, (means / scale).T) / scale[:, np.newaxis]
    offsets = -0.5 * np.einsum("cf,fc->c", means, slopes)
    with np.errstate(divide="ignore"):
        scores = test_rows @ slopes + offsets + np.log(counts / counts.sum())
    return np.asarray(scipy.special.softmax(scores, axis=1))


def _fit_estimator(
    rows: Any, class_indices: NDArray[np.intp], test_rows: Any, n_classes: int, estimator: Any
) -> NDArray[np.float64]:
    from sklearn.base import clone  # slow to import

    model = clone(estimator).fit(rows, class_indices)
    proba = np.zeros((test_rows.shape[0], n_classes))
    if hasattr(model, "predict_proba"):
        proba[:, model.classes_] = model.predict_proba(test_rows)
    else:
        proba[np.arange(test_rows.shape[0]), model.predict(test_rows)] = 1.0
    return proba


# -- All distances by name, and the parameter ``distance`` that chooses one of them --


DistanceArgument: TypeAlias = str | ClassDistances | ArrayLike | Callable[[Any, Any], Any]

DISTANCES: dict[str, Callable[..., ClassDistances]] = {
    "hausdorff": hausdorff,
    "robust-hausdorff": robust_hausdorff,
    "centroid": centroid,
    "energy": energy,
    "separability": separability,
}


def compute_distances(distance: DistanceArgument, X: Any, y: ArrayLike) -> ClassDistances:
    """Return the distances between the classes of the data.

    Parameters
    ----------
    distance : one of DISTANCES, ClassDistances, matrix or function
        A matrix has the classes in the order of the sorted labels. A function takes X and y and
        returns any of the others.
    X, y : the data; if ClassDistances are given, only the classes in `y` are kept

    Examples
    --------
    >>> print(compute_distances("hausdorff", [[0.0], [2.0], [7.0], [9.0]], ["a", "a", "b", "b"]))
    hausdorff  a  b
            a  0  7
            b  7  0
    >>> print(compute_distances([[0, 3], [3, 0]], None, ["a", "b", "a"]))
    distance  a  b
           a  0  3
           b  3  0
    """
    if isinstance(distance, str):
        check_choice("distance", distance, DISTANCES)
        return DISTANCES[distance](X, y)
    if callable(distance) and not isinstance(distance, ClassDistances):
        found = distance(X, y)
        if callable(found) and not isinstance(found, ClassDistances):
            raise ArgumentError(
                Argument("distance", distance),
                f" returned {found!r}, not distances between classes.",
            )
        return compute_distances(found, X, y)
    # From here on, only the labels matter.
    labels = np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)
    classes = group_samples(np.zeros((len(labels), 1)), y).classes
    if isinstance(distance, ClassDistances):
        return distance.reordered(classes)
    return ClassDistances(classes, distance)
