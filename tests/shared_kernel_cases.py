"""Problems for machines that share a kernel matrix."""

from typing import NamedTuple

import numpy as np

from polytomy.calibration.folds import Folds, make_folds
from polytomy.inputs.rows import count_rows
from polytomy.learners.any_estimator import train_estimator
from polytomy.learners.problems import BinaryProblem, Dichotomy
from polytomy.learners.svm.suitability import (
    fix_gamma,
)
from polytomy.learners.svm.training import train_svms
from polytomy.learners.workload import (
    FitArguments,
    Trained,
    TrainingListener,
    TrainingOptions,
    Workload,
)


def clouds(n=90, n_classes=3, n_features=4, spread=1.0, seed=0):
    """Samples of some classes in random order, and their class numbers."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(n) % n_classes)
    centres = 2 * rng.normal(size=(n_classes, n_features))
    return centres[codes] + spread * rng.normal(size=(n, n_features)), codes


def pair(codes, negative, positive):
    rows = np.flatnonzero((codes == negative) | (codes == positive))
    return BinaryProblem(f"{negative}-{positive}", rows, codes[rows] == positive)


def rest(codes, positive):
    return BinaryProblem(f"{positive}", np.arange(len(codes)), codes == positive)


def all_problems(codes):
    return [pair(codes, 0, 1), pair(codes, 0, 2), pair(codes, 1, 2), rest(codes, 2)]


class Training(NamedTuple):
    """What a learner has trained; None for what it has left to others."""

    binaries: list
    scores: list
    notes: list


class Problems(list):
    """Problems of any rows, in place of a ProblemList."""

    def take(self, numbers):
        return [self[k] for k in numbers]

    part = take


class Notes(TrainingListener):
    def __init__(self, listener=None):
        self.notes = []
        self.trained = TrainingListener().trained if listener is None else listener.trained

    def note(self, text):
        self.notes.append(text)


def folds_of(X, cv=5, *, is_scored=False):
    """The same folds for all problems of some data."""
    n_rows = count_rows(X)
    numbers = np.random.default_rng(0).permutation(n_rows) % cv if isinstance(cv, int) else None
    folds = make_folds(X, np.zeros(n_rows, int), cv, 0) if numbers is None else None
    folds = Folds.from_numbers(numbers) if folds is None else folds
    return folds if is_scored else folds.without_scores()


def training_options(*, sample_weight=None, **options):
    return TrainingOptions(arguments=FitArguments(sample_weight, {}, sample_weight), **options)


def run_learner(learner, estimators, X, problems, options, folds, seeds=None, listener=None):
    """What a learner makes of some problems."""
    names = [problems[k].name for k in range(len(problems))]
    dichotomies = [
        Dichotomy(name, (), (), None, estimator)
        for name, estimator in zip(names, estimators, strict=True)
    ]
    seeds = [None] * len(estimators) if seeds is None else seeds
    notes = Notes(listener)
    work = Workload(X, dichotomies, problems, options, folds, seeds, notes)
    trained = [Trained(None) if each is None else each for each in learner(work)]
    return Training(
        [each.binary for each in trained], [each.scores for each in trained], notes.notes
    )


def train_alone(estimator, X, problem, *, cv=5, folds=None, seed=None, **options):
    """Train one problem, without a shared matrix. Its gamma is that of all rows, as in a fit."""
    (estimator,) = fix_gamma([estimator], X)
    if folds is None and options.get("calibration", "auto") is not None:
        folds = folds_of(X, cv)
    options = training_options(**options)
    return train_estimator(estimator, X, problem, options, folds=folds, seed=seed).binary


def train_shared(svcs, X, problems, *, seeds=None, listener=None, cv=5, folds=None, **options):
    """Train problems on a shared matrix, as far as they can be."""
    if folds is None and options.get("calibration", "auto") is not None:
        folds = folds_of(X, cv)
    options = training_options(**options)
    return run_learner(train_svms, svcs, X, Problems(problems), options, folds, seeds, listener)


def share(svc, X, problems, **options):
    """Train all problems by clones of an SVC on a shared matrix."""
    svcs = svc if isinstance(svc, list) else [svc] * len(problems)
    training = train_shared(svcs, X, problems, **options)
    assert all(binary is not None for binary in training.binaries), training.notes
    return training.binaries
