"""How trials are run: which samples are held out, what is trained, with which seeds."""

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

from polytomy.binary import estimator_from, specification_of
from polytomy.errors import ArgumentError, DataError
from polytomy.trials.catalogue import CATALOGUE, DEFAULT_ESTIMATOR
from polytomy.trials.pairs import Pair
from polytomy.trials.sources import Dataset

__all__ = ["Protocol", "Split", "describe_estimator", "split_classes", "standardised"]

# As LIBSVM's own probabilities: a sigmoid, from five folds.
CALIBRATION = "auto"
FOLDS = 5
_LARGEST_SEED = 2**31
_NO_END = 10**9


class Split(NamedTuple):
    """A standardised training and test part; codes are positions in the dataset's classes."""

    X_train: Any
    y_train: NDArray[Any]
    codes_train: NDArray[np.intp]
    X_test: Any
    codes_test: NDArray[np.intp]
    seed: int


@dataclass(frozen=True)
class Protocol:
    """What is the same in all trials of a run.

    Parameters
    ----------
    pairs : what is compared
    test : the part of each class that is held out
    seed : every trial's own seed is made from it, the dataset's name and the repeat
    estimator : the binary classifier, or a dict of names of datasets and classifiers
        None is a support vector machine, with the options of Mills's experiments for their
        datasets, and LIBSVM's defaults for others.
    """

    pairs: Sequence[Pair]
    test: float = 0.3
    seed: int = 0
    estimator: Any = None

    def __post_init__(self) -> None:
        if not 0 < self.test < 1:
            raise ArgumentError(
                f"test={self.test:g} is no part of a class; give a number between 0 and 1"
            )
        if not isinstance(self.seed, int) or self.seed < 0:
            raise ArgumentError(f"seed={self.seed!r} is no whole number from zero up")

    def describe(self) -> dict[str, Any]:
        """Return what must be the same for results to be put together, as plain values."""
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
        """Raise DataError if nothing of a dataset can be held out."""
        if not any(_n_held_out(count, self.test) for count in dataset.counts):
            raise DataError(
                f"dataset {dataset.name}: no class has samples enough to hold out {self.test:g} of "
                "them"
            )

    def split(self, dataset: Dataset, repeat: int) -> Split:
        """Return one repeat's training and test part of a dataset."""
        self.check(dataset)
        words = [self.seed, repeat, *dataset.name.encode()]
        random = np.random.default_rng(np.random.SeedSequence(words))
        is_test = split_classes(dataset.codes, self.test, random)
        X_train, X_test = standardised(dataset.X[~is_test], dataset.X[is_test])
        return Split(
            X_train,
            dataset.y[~is_test],
            dataset.codes[~is_test],
            X_test,
            dataset.codes[is_test],
            int(random.integers(_LARGEST_SEED)),
        )


def standardised(training: Any, *others: Any) -> list[Any]:
    """Return samples scaled so that the features of the first ones have mean 0 and variance 1."""
    # Sparse features keep their mean, so that their zeros stay zeros.
    scaler = StandardScaler(with_mean=not issparse(training)).fit(training)
    return [scaler.transform(samples) for samples in (training, *others)]


def split_classes(
    codes: NDArray[np.intp], test: float, random: np.random.Generator
) -> NDArray[np.bool_]:
    """Return which samples are held out: a part of each class, but never all of one.

    Examples
    --------
    >>> codes = np.array([0] * 10 + [1] * 20 + [2])
    >>> is_test = split_classes(codes, 0.3, np.random.default_rng(0))
    >>> np.bincount(codes[is_test], minlength=3)
    array([3, 6, 0])
    """
    is_test = np.zeros(len(codes), dtype=bool)
    for code in range(int(codes.max()) + 1):
        members = np.flatnonzero(codes == code)
        is_test[random.permutation(members)[: _n_held_out(len(members), test)]] = True
    return is_test


def _n_held_out(n_members: int, test: float) -> int:
    return max(min(round(test * n_members), n_members - 1), 0)


def describe_estimator(estimator: Any) -> str:
    """Return a text that tells an estimator from others, by its parameters.

    Examples
    --------
    >>> describe_estimator(SVC(C=50, gamma="auto"))
    'svc C=50 gamma=auto'
    """
    try:
        return specification_of(estimator)
    except ArgumentError:
        # All of it: by default scikit-learn leaves out the middle of what is long.
        whole = isinstance(estimator, BaseEstimator)
        text = estimator.__repr__(N_CHAR_MAX=_NO_END) if whole else repr(estimator)
        return " ".join(text.split())
