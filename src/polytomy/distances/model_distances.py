"""Distances between classes from their means and spreads, or from a model that separates them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from polytomy.distances.class_distances import ClassDistances
from polytomy.inputs.arguments import as_count
from polytomy.inputs.class_samples import ClassSamples, Rows, check_two_classes, group_samples
from polytomy.inputs.seeds import RandomState, as_generator

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
