"""Models with more than two sides, and the binaries that answer for their sides."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
from sklearn.svm import SVC

from polytomy.errors import ArgumentError, SchemeError
from polytomy.inputs.rows import group_rows
from polytomy.learners.problems import sides_problem
from polytomy.learners.sides import SidesModel, adopt_model, side_binaries
from polytomy.learners.trained import Output

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(90, 2)) + np.repeat([[0, 0], [3, 0], [0, 3]], 30, axis=0)
Y = np.repeat(["a", "b", "c"], 30)


def test_a_problem_has_the_rows_of_its_sides_in_their_order():
    rows_of_class = group_rows(np.array([2, 0, 3, 1, 0, 2]), 4)
    problem = sides_problem(rows_of_class, [(0,), (3, 2)], name="m")
    assert problem.rows.tolist() == [0, 1, 2, 4, 5]
    assert problem.sides.tolist() == [1, 0, 1, 0, 1]
    kept = problem.keep(problem.sides == 1)
    assert (kept.rows.tolist(), kept.n_sides) == ([0, 2, 5], 2)


def test_a_fitted_model_answers_for_the_sides_its_labels_name():
    model = LogisticRegression().fit(X, Y)
    binaries = adopt_model(model, [("c",), ("a",), ("b",)], name="m")
    expected = model.predict_proba(X)[:, [2, 0, 1]]
    for side, binary in enumerate(binaries):
        assert binary.output is Output.SIDE
        np.testing.assert_allclose(binary.decisions(X), 2 * expected[:, side] - 1)
        assert binary.fitted_estimator is model


def test_a_fitted_model_may_number_the_sides():
    model = LogisticRegression().fit(X, np.repeat([0, 1, 2], 30))
    binaries = adopt_model(model, [("c", "d"), ("a",), ("b",)], name="m")
    np.testing.assert_allclose(binaries[1].decisions(X), 2 * model.predict_proba(X)[:, 1] - 1)
    with pytest.raises(SchemeError, match='"m" has the classes 0 1 2, which are not the 4 sides'):
        adopt_model(model, [("a",), ("b",), ("c",), ("d",)], name="m")


@pytest.mark.parametrize(
    ("sides", "remedy"),
    [
        ("a b c d e", "It does not know d, e: leave out such rows."),
        ("a b d", "Fit it on the numbers of the sides, from 0 to 2."),
    ],
)
def test_a_fitted_model_that_knows_other_classes_is_refused(sides, remedy):
    model = LogisticRegression().fit(X, Y)
    wanted = [(label,) for label in sides.split()]
    with pytest.raises(SchemeError) as caught:
        adopt_model(model, wanted, name="m")
    assert str(caught.value) == (
        f'Model "m" has the classes a b c, which are not the {len(wanted)} sides of its partition. '
        + remedy
    )


def test_rows_must_have_all_classes_of_a_fitted_model():
    labels = np.repeat(["a", "b", "c", "d", "e"], 18)
    model = LogisticRegression().fit(X, labels)
    message = "The partition lacks b, e: y needs all its classes."
    with pytest.raises(SchemeError, match=message):
        adopt_model(model, [("a",), ("c",), ("d",)], name="m")


def test_decision_values_become_probabilities_by_the_softmax():
    model = RidgeClassifier().fit(X, Y)
    binaries = adopt_model(model, [("a",), ("b",), ("c",)], name="m")
    masses = np.exp(model.decision_function(X))
    expected = masses / masses.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(binaries[2].decisions(X), 2 * expected[:, 2] - 1)


class OnlyPredicts:
    classes_ = ("a", "b", "c")

    def predict(self, X):
        return np.array(["b"] * len(X))


def test_predictions_are_certain():
    binaries = adopt_model(OnlyPredicts(), [("a",), ("b",), ("c",)], name="m")
    assert [binary.decisions(X[:1]).item() for binary in binaries] == [-1, 1, -1]


def test_sides_without_samples_have_no_probability():
    model = LogisticRegression().fit(X[:60], [0] * 30 + [1] * 30)
    chances = SidesModel("m", 3, model, (0, 2), (0, 1)).predict_proba(X)
    np.testing.assert_array_equal(chances[:, 1], 0.0)
    np.testing.assert_allclose(chances[:, [0, 2]], model.predict_proba(X))
    alone = SidesModel("m", 3, None, (2,))
    assert alone.predict_proba(X[:1]).tolist() == [[0.0, 0.0, 1.0]]
    np.testing.assert_allclose(SidesModel("m", 3, None, ()).predict_proba(X[:1]), 1 / 3)


def test_a_model_of_two_classes_cannot_answer_for_three_sides():
    model = SidesModel("m", 3, Perceptron().fit(X[:60], Y[:60]), (0, 1, 2), output=Output.MARGIN)
    (binary, *_) = side_binaries(model)
    words = "a partition with 3 sides needs a column for each. .* or @one-vs-one in place of"
    with pytest.raises(ArgumentError, match=words):
        _ = binary.estimator.values(X)


def test_decision_values_of_pairs_are_not_taken_for_those_of_three_sides():
    model = SVC(decision_function_shape="ovo").fit(X, Y)
    sides = [("a",), ("b",), ("c",)]
    with pytest.raises(SchemeError, match=r'set_params\(decision_function_shape="ovr"\); no refit'):
        adopt_model(model, sides, name="m")
    assert len(adopt_model(model.set_params(decision_function_shape="ovr"), sides, name="m")) == 3
