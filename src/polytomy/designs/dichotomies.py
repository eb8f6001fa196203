"""Cross-validated losses of dichotomies, each computed once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from polytomy.inputs.arguments import as_count
from polytomy.inputs.class_samples import ClassSamples
from polytomy.inputs.seeds import RandomState, as_generator
from polytomy.routines.threads import one_blas_thread

Side: TypeAlias = frozenset[int]  # class indices

# More samples make comparing dichotomies slower and hardly better.
_MOST_SAMPLES = 8_000
_LEAST_OF_A_CLASS = 20
_FOURIER_FEATURES = 200
_RIDGE = 0.1


class Dichotomies:
    """Cross-validated answers of binary classifiers, for any two sets of classes.

    The loss of a tree is the sum of the losses of its dichotomies, so a search over trees trains
    only dichotomies that did not occur in an earlier tree.

    Parameters
    ----------
    samples : ClassSamples
    estimator : binary classifier; by default ridge regression on random Fourier features, with
        sums kept for each class and fold, so that a dichotomy costs one small linear system
    cv : number of folds, at least 2
    random_state : int, generator or None, for the folds, the Fourier features and the subsample

    Attributes
    ----------
    n_trained : number of dichotomies trained so far
    weights : array of shape (n_samples,), the number of samples that each sample of the subsample
        represents
    """

    def __init__(
        self,
        samples: ClassSamples,
        estimator: Any = None,
        *,
        cv: int = 3,
        random_state: RandomState = None,
    ) -> None:
        n_folds = as_count("cv", cv, at_least=2)
        random = as_generator(random_state)
        self.samples, class_weights = _subsample(samples, random)
        folds = self.samples.draw_ranks(random) % n_folds
        self.weights: NDArray[np.float64] = class_weights[self.samples.class_indices]
        self._model: _SharedRidge | _FoldModels
        if estimator is None:
            self._model = _SharedRidge(self.samples, folds, n_folds, class_weights, random)
        else:
            self._model = _FoldModels(self.samples, folds, n_folds, estimator)
        self._losses: dict[tuple[Side, Side], float] = {}
        self.n_trained = 0

    def loss(self, negative: Iterable[int], positive: Iterable[int]) -> float:
        """Return the logarithmic loss of a dichotomy, summed over the samples of its classes."""
        sides = frozenset(negative), frozenset(positive)
        known = self._losses.get(sides, self._losses.get(sides[::-1]))
        if known is None:
            known = self._losses[sides] = self._loss(*sides)
        return known

    def answers(self, negative: Side, positive: Side) -> NDArray[np.float64]:
        """Return r = P(+1) − P(−1) for all samples, including those of other classes."""
        every = frozenset(range(len(self.samples.classes)))
        scores, probability = self._calibrated(negative, positive, every)
        r: NDArray[np.float64] = 2 * probability.predict(scores) - 1
        return r

    def scores(self, negative: Side, positive: Side, of_classes: Side) -> NDArray[np.float64]:
        """Return the scores of the samples of some classes, in the order of the classes."""
        self.n_trained += 1
        # Systems this small are slower on several threads, especially on a busy machine.
        with one_blas_thread():
            return self._model.held_out(negative, positive, self._rows(of_classes))

    def _rows(self, classes: Side) -> NDArray[np.intp]:
        starts = self.samples.starts
        return np.concatenate([np.arange(starts[i], starts[i + 1]) for i in sorted(classes)])

    def _calibrated(
        self, negative: Side, positive: Side, of_classes: Side
    ) -> tuple[NDArray[np.float64], Any]:
        from polytomy.calibration.calibrators import SigmoidCalibrator  # imports scikit-learn

        scores, rows = self.scores(negative, positive, of_classes), self._rows(of_classes)
        class_indices, weights = self.samples.class_indices[rows], self.weights[rows]
        is_inside = np.isin(class_indices, sorted(negative | positive))
        is_positive = np.isin(class_indices, sorted(positive))
        calibrator = SigmoidCalibrator().fit(
            scores[is_inside], is_positive[is_inside], weights[is_inside]
        )
        return scores, calibrator

    def _loss(self, negative: Side, positive: Side) -> float:
        both = negative | positive
        scores, probability = self._calibrated(negative, positive, both)
        rows = self._rows(both)
        p = probability.predict(scores)
        is_positive = np.isin(self.samples.class_indices[rows], sorted(positive))
        right = np.maximum(np.where(is_positive, p, 1 - p), np.finfo(np.float64).tiny)
        return float(-(self.weights[rows] * np.log(right)).sum())


def _subsample(
    samples: ClassSamples, random: np.random.Generator
) -> tuple[ClassSamples, NDArray[np.float64]]:
    """Return at most _MOST_SAMPLES samples, and how many each sample of a class represents."""
    counts = samples.counts
    if counts.sum() <= _MOST_SAMPLES:
        return samples, np.ones(len(counts))
    most = max(_LEAST_OF_A_CLASS, _MOST_SAMPLES // len(counts))
    few = samples.take(np.flatnonzero(samples.draw_ranks(random) < most))
    return few, counts / few.counts


class _SharedRidge:
    """Ridge regression to −1 and +1 on random Fourier features (Rahimi and Recht 2007).

    The normal equations of a dichotomy are sums over its classes; the sums of each class and fold
    are computed once.
    """

    def __init__(
        self,
        samples: ClassSamples,
        folds: NDArray[np.intp],
        n_folds: int,
        class_weights: NDArray[np.float64],
        random: np.random.Generator,
    ) -> None:
        scaled = samples.scaled().rows
        n_features = scaled.shape[1]
        # These features approximate an RBF kernel with gamma = 1 / n_features, LIBSVM's default.
        waves = random.normal(0, np.sqrt(2 / n_features), (n_features, _FOURIER_FEATURES))
        phases = random.uniform(0, 2 * np.pi, _FOURIER_FEATURES)
        features = np.cos(scaled @ waves + phases) * np.sqrt(2 / _FOURIER_FEATURES)
        self._features = np.column_stack([features, np.ones(len(features))])
        self._folds = folds
        n_classes, width = len(samples.classes), self._features.shape[1]
        self._squares = np.zeros((n_folds, n_classes, width, width), dtype=np.float32)
        self._sums = np.zeros((n_folds, n_classes, width))
        for i in range(n_classes):
            of_class = slice(samples.starts[i], samples.starts[i + 1])
            for fold in range(n_folds):
                rows = self._features[of_class][folds[of_class] == fold]
                self._squares[fold, i] = class_weights[i] * (rows.T @ rows)
                self._sums[fold, i] = class_weights[i] * rows.sum(axis=0)

    def held_out(
        self, negative: Side, positive: Side, rows: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        below, above = sorted(negative), sorted(positive)
        squares = np.zeros((len(self._squares), *self._squares.shape[2:]))
        for i in below + above:
            squares += self._squares[:, i]
        targets = self._sums[:, above].sum(axis=1) - self._sums[:, below].sum(axis=1)
        whole = squares.sum(axis=0) + _RIDGE * np.eye(squares.shape[1])
        scores = np.empty(len(rows))
        for fold in range(len(squares)):
            right_side = targets.sum(axis=0) - targets[fold]
            # In half the time of `solve`, which also estimates the condition; the ridge bounds it.
            factor = scipy.linalg.cho_factor(whole - squares[fold], overwrite_a=True)
            weights = scipy.linalg.cho_solve(factor, right_side)
            test = self._folds[rows] == fold
            scores[test] = self._features[rows[test]] @ weights
        return scores


class _FoldModels:
    """Clones of any binary classifier, one for each fold."""

    def __init__(
        self, samples: ClassSamples, folds: NDArray[np.intp], n_folds: int, estimator: Any
    ) -> None:
        from polytomy.learners.preparation import check_classifier  # imports scikit-learn

        check_classifier(estimator)
        self._rows, self._folds, self._n_folds = samples.rows, folds, n_folds
        self._estimator = estimator
        self._of_class = np.split(np.arange(len(folds)), samples.starts[1:-1])

    def held_out(
        self, negative: Side, positive: Side, rows: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        from polytomy.learners.any_estimator import train_estimator
        from polytomy.learners.problems import binary_problem
        from polytomy.learners.workload import TrainingOptions

        problem = binary_problem(
            self._of_class, sorted(negative), sorted(positive), name="candidate"
        )
        options = TrainingOptions(calibration=None)
        scores = np.empty(len(rows))
        for fold in range(self._n_folds):
            test = rows[self._folds[rows] == fold]
            if len(test):
                training = problem.keep(self._folds[problem.rows] != fold)
                binary = train_estimator(self._estimator, self._rows, training, options).binary
                scores[self._folds[rows] == fold] = binary.scores(self._rows[test])
        return scores
