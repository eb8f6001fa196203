"""Problems for machines that share a kernel matrix."""

import numpy as np

from polytomy.learners.any_estimator import train_binary
from polytomy.learners.options import FitArguments, TrainingOptions
from polytomy.learners.problems import BinaryProblem
from polytomy.learners.svm.matrix import fix_gamma
from polytomy.learners.svm.training import train_on_shared_kernel


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


def training_options(*, sample_weight=None, **options):
    return TrainingOptions(arguments=FitArguments(sample_weight), **options)


def train_alone(estimator, X, problem, *, warn=True, **options):
    """Train one problem, without a shared matrix. Its gamma is that of all rows, as in a fit."""
    (estimator,) = fix_gamma([estimator], X)
    return train_binary(estimator, X, problem, training_options(**options), warn=warn)


def train_shared(svcs, X, problems, *, seeds=None, listener=None, **options):
    """Train problems on a shared matrix, as far as they can be."""
    return train_on_shared_kernel(
        svcs, X, problems, training_options(**options), seeds=seeds, listener=listener
    )


def share(svc, X, problems, **options):
    """Train all problems by clones of an SVC on a shared matrix."""
    svcs = svc if isinstance(svc, list) else [svc] * len(problems)
    training = train_shared(svcs, X, problems, **options)
    assert all(binary is not None for binary in training.binaries), training.notes
    return training.binaries
