import numpy as np
import pytest
from joblib import parallel_config
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from bank_machines import one_vs_one, own_scores, three_classes
from polytomy.inputs.training_data import Samples
from polytomy.learners.bank import GenericGroup

X, y = three_classes(np.random.default_rng(0), 30, 2)
BINARIES = one_vs_one(GaussianNB(), X, y) + one_vs_one(KNeighborsClassifier(3), X, y)


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_each_binary_gives_its_own_scores(n_jobs):
    group = GenericGroup(np.arange(6), BINARIES)
    with parallel_config("threading"):
        got = group.scores(Samples(X), n_jobs)
    np.testing.assert_array_equal(got, own_scores(BINARIES, X))


def test_the_jobs_of_parallel_config_are_used():
    group = GenericGroup(np.arange(6), BINARIES)
    with parallel_config("threading", n_jobs=2):
        got = group.scores(Samples(X))
    np.testing.assert_array_equal(got, own_scores(BINARIES, X))


def test_samples_are_passed_on_unchanged():
    class Texts:
        classes_ = np.array([-1, 1])

        def predict(self, X):
            assert isinstance(X, list)
            return np.array([1 if text == "yes" else -1 for text in X])

    from polytomy.learners.trained import adopt_fitted

    binary = adopt_fitted(Texts(), ["no"], ["yes"], name="t")
    got = GenericGroup(np.arange(1), [binary]).scores(Samples(["yes", "no", "yes"]))
    np.testing.assert_array_equal(got[:, 0], [1, -1, 1])
