"""Small fitted models of every kind, for tests of the model report."""

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import polytomy as pt

__all__ = ["KINDS", "make_samples"]


def make_samples(seed=0, n_samples=200, n_classes=4, shift=0.0):
    """Samples of overlapping classes in five dimensions; with a shift, further from training."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_samples)
    centres = 1.6 * np.random.default_rng(99).normal(size=(n_classes, 5))
    return centres[y] + rng.normal(size=(n_samples, 5)) * (1 + shift), y


def _fit(scheme="one-vs-one", estimator=None, **options):
    X, y = make_samples()
    estimator = LogisticRegression() if estimator is None else estimator
    return pt.PolytomyClassifier(estimator, scheme, random_state=0, **options).fit(X, y)


def _plain(classifier):
    X, y = make_samples(1)
    return classifier, X, y


def _two_classes():
    X, y = make_samples(n_classes=2)
    return pt.PolytomyClassifier(LogisticRegression(), random_state=0).fit(X, y), X, y


def _frame():
    X, y = make_samples()
    frame = pd.DataFrame(X, columns=["height", "width", "<b>", "age", "mass"])
    frame.index = [f"plant {k}" for k in range(len(X))]
    labels = np.array(["corn & co", "<script>alert(1)</script>", "oak", "wheat"])[y]
    model = make_pipeline(StandardScaler(), pt.PolytomyClassifier(LogisticRegression()))
    return model.fit(frame, labels), frame, labels


def _sparse():
    X, y = make_samples()
    X = csr_array(np.where(X > 0, X, 0.0))
    return pt.PolytomyClassifier(LogisticRegression(), random_state=0).fit(X, y), X, y


KINDS = {
    "one-vs-one": lambda: _plain(_fit()),
    "tree": lambda: _plain(_fit("a {0 b {1 c {2 3}}}")),
    "hierarchy": lambda: _plain(_fit({"left": [0, 1], "right": [2, 3]})),
    "mixture": lambda: _plain(_fit("@one-vs-one {0 1 k {2 3}}")),
    "pool": lambda: _plain(_fit(["one-vs-one", "one-vs-rest"])),
    "direct": lambda: _plain(_fit("direct", GaussianNB())),
    "n-ary": lambda: _plain(_fit("n-ary")),
    "scores": lambda: _plain(_fit(solver="voting")),
    "uncalibrated": lambda: _plain(_fit(final_calibration=None)),
    "costs": lambda: _plain(_fit().with_cost(5 * (1 - np.eye(4)), reject_cost=1.0)),
    "prior": lambda: _plain(_fit().with_prior([0.7, 0.1, 0.1, 0.1])),
    "two classes": _two_classes,
    "frame": _frame,
    "sparse": _sparse,
}
"""By name, a function that returns a fitted model, samples and labels."""
