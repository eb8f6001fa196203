import numpy as np
from sklearn.linear_model import LogisticRegression

from polytomy.learners.bank import Bank
from polytomy.learners.sides import adopt_model

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(60, 2)) + np.repeat([[0, 0], [3, 0], [0, 3]], 20, axis=0)


class Counting(LogisticRegression):
    """Counts how often it is asked."""

    n_calls = 0

    def predict_proba(self, X):
        self.n_calls += 1
        return super().predict_proba(X)


def test_the_model_of_several_sides_is_asked_once():
    models = [Counting().fit(X, np.repeat(["a", "b", "c"], 20)) for _ in range(2)]
    first, second = (adopt_model(each, [("a",), ("c",), ("b",)], name="m") for each in models)
    bank = Bank([first[2], second[0], first[0], first[1], second[2]])
    scores = bank.scores(X)
    assert [model.n_calls for model in models] == [1, 1]
    for column, binary in enumerate(bank.binaries):
        np.testing.assert_array_equal(scores[:, column], binary.scores(X))
    np.testing.assert_allclose(scores[:, [0, 2, 3]].sum(axis=1), -1.0)
