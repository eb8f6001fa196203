"""How trials are run: splits, seeds and binary classifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from polytomy.errors import Argument, ArgumentError, DataError
from polytomy.learners.specification import estimator_from, specification_of
from polytomy.trials.catalogue import CATALOGUE, DEFAULT_ESTIMATOR
from polytomy.trials.dataset import Dataset
from polytomy.trials.pairs import Pair

__all__ = ["Protocol", "Split", "describe_estimator", "split_classes", "standardise"]

# As in LIBSVM's probabilities: a sigmoid from five folds.
CALIBRATION = "auto"
FOLDS = 5
_LARGEST_SEED = 2**31
_NO_LIMIT = 10**9


class Split(NamedTuple):
    """Standardised training and test samples, with indices into the dataset's classes."""

    X_train: Any
    y_train: NDArray[Any]
    class_indices_train: NDArray[np.intp]
    X_test: Any
    class_indices_test: NDArray[np.intp]
    seed: int


@dataclass(frozen=True)
class Protocol:
    """Settings shared by all trials of a run.

    Parameters
    ----------
    pairs : pairs of a scheme and a solver to compare
    test : fraction of each class to hold out
    seed : seed of the run; each trial derives its own from it, the dataset's name and the repeat
    estimator : binary classifier, or a dict from dataset names to classifiers
        By default a support vector machine, with the options of Mills's experiments for their
        datasets and LIBSVM's defaults for others.
    """

    pairs: Sequence[Pair]
    test: float = 0.3
    seed: int = 0
    estimator: Any = None

    def __post_init__(self) -> None:
        if not 0 < self.test < 1:
            raise ArgumentError(Argument("test"), f" must be between 0 and 1; got {self.test:g}.")
        if not isinstance(self.seed, int) or self.seed < 0:
            raise ArgumentError(
                Argument("seed"), f" must be a non-negative integer; got {self.seed!r}."
            )

    def describe(self) -> dict[str, Any]:
        """Return the settings that all trials in a folder must share, as plain values."""
        return {
            "pairs": [pair.describe() for pair in self.pairs],
            "test": self.test,
            "seed": self.seed,
            "calibration": CALIBRATION,
            "folds": FOLDS,
        }

    def estimator_for(self, name: str) -> Any:
        """Return the unfitted binary classifier for a dataset."""
        given = self.estimator
        if isinstance(given, Mapping):
            given = given.get(name)
        if given is None:
            known = CATALOGUE.get(name)
            given = DEFAULT_ESTIMATOR if known is None else known.estimator
        return estimator_from(given, SVC()) if isinstance(given, str) else clone(given)

    def check(self, dataset: Dataset) -> None:
        """Raise DataError if no sample of a dataset can be held out."""
        if not any(_n_held_out(count, self.test) for count in dataset.counts):
            raise DataError(
                f"dataset {dataset.name}: no class has enough samples to hold out a fraction of "
                f"{self.test:g}."
            )

    def split(self, dataset: Dataset, repeat: int) -> Split:
        """Split a dataset into training and test samples for one repeat."""
        self.check(dataset)
        words = [self.seed, repeat, *dataset.name.encode()]
        random = np.random.default_rng(np.random.SeedSequence(words))
        is_test = split_classes(dataset.class_indices, self.test, random)
        X_train, X_test = standardise(dataset.X[~is_test], dataset.X[is_test])
        return Split(
            X_train,
            dataset.y[~is_test],
            dataset.class_indices[~is_test],
            X_test,
            dataset.class_indices[is_test],
            int(random.integers(_LARGEST_SEED)),
        )


def standardise(training: Any, *others: Any) -> list[Any]:
    """Scale samples so that the features of the training samples have mean 0 and variance 1."""
    # Sparse features are not centred, so zeros stay zeros.
    scaler = StandardScaler(with_mean=not issparse(training)).fit(training)
    return [scaler.transform(samples) for samples in (training, *others)]


def split_classes(
    class_indices: NDArray[np.intp], test: float, random: np.random.Generator
) -> NDArray[np.bool_]:
    """Return a mask of the samples to hold out: a fraction of each class, but never all of it.

    Examples
    --------
    >>> class_indices = np.array([0] * 10 + [1] * 20 + [2])
    >>> is_test = split_classes(class_indices, 0.3, np.random.default_rng(0))
    >>> np.bincount(class_indices[is_test], minlength=3)
    array([3, 6, 0])
    """
    is_test = np.zeros(len(class_indices), dtype=bool)
    for index in range(int(class_indices.max()) + 1):
        members = np.flatnonzero(class_indices == index)
        is_test[random.permutation(members)[: _n_held_out(len(members), test)]] = True
    return is_test


def _n_held_out(n_members: int, test: float) -> int:
    return max(min(round(test * n_members), n_members - 1), 0)


def describe_estimator(estimator: Any) -> str:
    """Return text that identifies an estimator by its parameters.

    Examples
    --------
    >>> describe_estimator(SVC(C=50, gamma="auto"))
    'svc C=50 gamma=auto'
    """
    try:
        return specification_of(estimator)
    except ArgumentError:
        # By default scikit-learn abbreviates a long repr; two estimators must not look alike.
        whole = isinstance(estimator, BaseEstimator)
        text = estimator.__repr__(N_CHAR_MAX=_NO_LIMIT) if whole else repr(estimator)
        return " ".join(text.split())
