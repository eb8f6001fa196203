"""How well a linear model tells each two classes apart, on samples that it has not seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from polytomy.distances.class_distances import ClassDistances
from polytomy.inputs.class_samples import ClassSamples, check_two_classes, group_samples
from polytomy.inputs.numbers import as_count
from polytomy.inputs.random_states import RandomState, as_generator

__all__ = ["separability"]

# Of the mean variance, added to all of them: a covariance that can be inverted.
_RIDGE = 1e-2
_DIRECTIONS = 100


def separability(
    X: Any, y: ArrayLike, *, estimator: Any = None, cv: int = 5, random_state: RandomState = 0
) -> ClassDistances:
    """Return how well each two classes are told apart: 1 is without doubt, 0 is not at all.

    One minus the doubt that a cross-validated model of all classes leaves between two of them: the
    probability of the wrong one of the two, p_j / (p_i + p_j), averaged over the samples of i and
    over those of j, and the two averages added. A class of a single sample is never held out.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,), labels of any kind
    estimator : classifier with predict_proba, or else predict; a linear discriminant with ridge
        (Fisher 1936; Friedman 1989) if None, which costs one small matrix inverse a fold; of sparse
        data it sees a projection on 100 random directions (Johnson and Lindenstrauss 1984)
    cv : number of folds, stratified
    random_state : seed of the folds and of the projection

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> separability(X, [0, 0, 0, 1, 1, 1], cv=3)[0, 1] > 0.99
    True
    """
    n_folds = as_count("cv", cv, at_least=2)
    samples = check_two_classes(group_samples(X, y))
    random = as_generator(random_state)
    if samples.is_sparse and estimator is None:
        samples = _projected(samples, random)
    proba = _held_out_probabilities(samples, estimator, n_folds, random)
    doubt = np.array([_doubt(part, i) for i, part in enumerate(_by_class(samples, proba))])
    matrix = np.clip(1 - doubt - doubt.T, 0, 1)
    np.fill_diagonal(matrix, 0)
    return ClassDistances(samples.classes, matrix, "separability")


def _projected(samples: ClassSamples, random: np.random.Generator) -> ClassSamples:
    """Return dense samples in a few random directions; distances stay nearly what they are."""
    directions = random.normal(size=(samples.rows.shape[1], _DIRECTIONS)) / np.sqrt(_DIRECTIONS)
    return replace(samples, rows=samples.rows @ directions)


def _by_class(samples: ClassSamples, values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    return np.split(values, samples.starts[1:-1])


def _doubt(proba: NDArray[np.float64], own: int) -> NDArray[np.float64]:
    """Return the mean of p_j / (p_own + p_j) for each class j, over samples of one class."""
    both = proba + proba[:, [own]]
    share = np.divide(proba, both, out=np.full_like(proba, 0.5), where=both > 0)
    mean: NDArray[np.float64] = share.mean(axis=0)
    return mean


def _held_out_probabilities(
    samples: ClassSamples, estimator: Any, n_folds: int, random: np.random.Generator
) -> NDArray[np.float64]:
    codes = samples.class_indices
    fold = samples.drawn_ranks(random) % n_folds
    is_alone = (samples.counts == 1)[codes]
    proba = np.zeros((len(codes), len(samples.classes)))
    for held_out in range(n_folds):
        test = fold == held_out
        if not test.any():
            continue
        train = ~test | is_alone
        fit = _fit_discriminant if estimator is None else _fit_estimator
        proba[test] = fit(samples.rows[train], codes[train], samples.rows[test], estimator,
                          len(samples.classes))  # fmt: skip
    return proba


def _fit_discriminant(
    rows: NDArray[np.float64],
    codes: NDArray[np.intp],
    asked: NDArray[np.float64],
    _: None,
    n_classes: int,
) -> NDArray[np.float64]:
    """Return probabilities of normal distributions with means of their own and one covariance."""
    counts = np.bincount(codes, minlength=n_classes)
    means = np.zeros((n_classes, rows.shape[1]))
    np.add.at(means, codes, rows)
    means /= np.maximum(1, counts)[:, np.newaxis]
    residuals = rows - means[codes]
    scale = residuals.std(axis=0)
    # Of a feature that is constant within the classes only rounding is left: not to be blown up.
    firsts, places = np.unique(codes, return_index=True, return_inverse=True)[1:]
    is_constant = (rows == rows[firsts[places]]).all(axis=0)
    scale = np.where(is_constant, 1, scale)
    covariance = (residuals / scale).T @ (residuals / scale) / len(rows)
    covariance += _RIDGE * np.eye(len(scale))
    slopes = np.linalg.solve(covariance, (means / scale).T) / scale[:, np.newaxis]
    offsets = -0.5 * np.einsum("cf,fc->c", means, slopes)
    with np.errstate(divide="ignore"):
        scores = asked @ slopes + offsets + np.log(counts / counts.sum())
    return np.asarray(softmax(scores, axis=1))


def _fit_estimator(
    rows: Any, codes: NDArray[np.intp], asked: Any, estimator: Any, n_classes: int
) -> NDArray[np.float64]:
    from sklearn.base import clone  # takes longer to import than all the rest

    model = clone(estimator).fit(rows, codes)
    proba = np.zeros((asked.shape[0], n_classes))
    if hasattr(model, "predict_proba"):
        proba[:, model.classes_] = model.predict_proba(asked)
    else:
        proba[np.arange(asked.shape[0]), model.predict(asked)] = 1.0
    return proba
