"""Samples that occur twice, and an estimator that notices if it scores what it was trained on."""

import numpy as np
from sklearn.svm import LinearSVC


class Watcher(LinearSVC):
    """Remembers which of the samples that it scores it was trained on."""

    was_seen = ()

    def fit(self, X, y, sample_weight=None):
        self.seen_ = set(X[:, 0])
        return super().fit(X, y, sample_weight)

    def decision_function(self, X):
        Watcher.was_seen = (*Watcher.was_seen, *(x in self.seen_ for x in X[:, 0]))
        return super().decision_function(X)


def twins():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
    return np.concatenate([X, X]), np.concatenate([y, y]), np.tile(np.arange(60), 2)
