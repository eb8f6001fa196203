"""Costs of decisions."""

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from polytomy.errors import ArgumentError
from polytomy.model.decisions import Costs, check_costs, measure_novelty

CLASSES = np.array(["a", "b", "c"])
MATRIX = [[0, 1, 2], [3, 0, 4], [5, 6, 0]]


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_label_is_that_of_the_least_expected_cost(seed, rejects):
    random = np.random.default_rng(seed)
    matrix = random.integers(-2, 9, (3, 3)).astype(float)
    proba = random.dirichlet(np.ones(3), 10)
    reject_cost = float(random.integers(0, 4)) if rejects else None
    costs = check_costs(matrix, CLASSES, reject_cost)
    expected = costs.expected(proba)
    labels = costs.labels(proba, CLASSES)
    for i, row in enumerate(proba):
        by_hand = [
            sum(row[true] * matrix[true, predicted] for true in range(3)) for predicted in range(3)
        ]
        choices = list("abc")
        if rejects:
            by_hand.append(reject_cost)
            choices.append("unknown")
        np.testing.assert_allclose(expected[i], by_hand, atol=1e-12)
        assert labels[i] == choices[int(np.argmin(expected[i]))]


@given(st.integers(0, 2**32 - 1))
def test_errors_that_cost_one_leave_the_likeliest_class(seed):
    proba = np.random.default_rng(seed).dirichlet(np.ones(3), 20)
    np.testing.assert_array_equal(
        check_costs(None, CLASSES).labels(proba, CLASSES), CLASSES[proba.argmax(axis=1)]
    )


def test_no_prediction_is_chows_rule():
    # The likeliest class is taken if the probability of an error is at most the cost.
    proba = np.array([[0.7, 0.2, 0.1], [0.69, 0.21, 0.1], [0.1, 0.2, 0.7]])
    labels = check_costs(None, CLASSES, 0.305).labels(proba, CLASSES)
    assert labels.tolist() == ["a", "unknown", "c"]


def test_ties_go_to_the_first_class_and_never_to_no_prediction():
    proba = np.array([[0.5, 0.5, 0.0]])
    assert check_costs(None, CLASSES, 0.5).labels(proba, CLASSES).tolist() == ["a"]


@pytest.mark.parametrize(
    ("classes", "label", "dtype", "expected"),
    [
        (["a", "bc"], None, "<U7", "unknown"),
        (["a", "bc"], "do not know", "<U11", "do not know"),
        ([1, 2], None, "int64", -1),
        (np.array([1, 2], dtype=np.int8), 99, "int8", 99),
        (np.array([1, 2], dtype=np.uint8), -1, "int64", -1),
        ([1, 2], "?", "object", "?"),
        (["a", "b"], -1, "object", -1),
        ([0.5, 1.5], None, "float64", -1.0),
        (np.array(["a", "b"], dtype=object), "?", "object", "?"),
        ([True, False], "?", "object", "?"),
    ],
)
def test_no_label_changes_beside_the_one_for_no_prediction(classes, label, dtype, expected):
    classes = np.asarray(classes)
    costs = check_costs(None, classes, 0.1, label)
    labels = costs.labels_with_reject(classes)
    assert labels.dtype == np.dtype(dtype)
    assert labels[:-1].tolist() == classes.tolist()
    assert labels[-1] == expected
    assert type(labels.tolist()[-1]) is type(expected)


def test_a_label_that_is_not_a_number_keeps_the_numbers():
    labels = check_costs(None, np.array([1, 2]), 0.1, float("nan")).labels_with_reject(
        np.array([1, 2])
    )
    assert labels.dtype == np.float64
    assert np.isnan(labels[-1])


def test_costs_by_label_are_those_of_the_matrix():
    by_label = {
        "b": {"c": 4, "a": 3},
        "a": {"b": 1, "c": 2, "a": 0},
        "c": {"a": 5, "b": 6},
    }
    np.testing.assert_array_equal(check_costs(by_label, CLASSES).matrix, MATRIX)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(MATRIX, index=list("abc"), columns=list("abc"))
    shuffled = frame.loc[["c", "a", "b"], ["b", "c", "a"]]
    np.testing.assert_array_equal(check_costs(shuffled, CLASSES).matrix, MATRIX)


@pytest.mark.parametrize(
    ("matrix", "options", "words"),
    [
        ([[0, 1], [1, 0]], {}, r"matrix has shape \(2, 2\); 3 classes need \(3, 3\)"),
        ([0, 1, 2], {}, r"matrix has shape \(3,\); 3 classes need \(3, 3\)"),
        (
            [[0, 1, 1], [1, float("nan"), 1], [1, 1, 0]],
            {},
            "matrix has nan for predicting 'b' when 'b' is true. Costs must be finite",
        ),
        ([[0, 1, 1], [1, 0, float("inf")], [1, 1, 0]], {}, "matrix has inf for predicting 'c'"),
        ("high", {}, "matrix cannot be read as an array of numbers"),
        (
            {"a": 1, "b": 1, "c": 1},
            {},
            r"matrix must be \{true: \{predicted: cost\}\} if it is a dict",
        ),
        ({"a": {"b": 1, "c": 1}, "d": {}}, {}, "matrix has unknown labels: 'd'. The classes are"),
        ({"a": {"b": 1}, "b": {}, "c": {}}, {}, "matrix for 'a' is missing 'c'. Give every class"),
        (MATRIX, {"reject_label": "?"}, 'reject_label="\\?" has no effect without reject_cost'),
        (MATRIX, {"reject_cost": float("nan")}, "reject_cost must be a finite number; got nan"),
        (MATRIX, {"reject_cost": "1"}, "reject_cost must be a finite number; got .1"),
        (MATRIX, {"reject_cost": 1, "reject_label": "b"}, "reject_label='b' must not be a class"),
        (MATRIX, {"reject_cost": 1, "reject_label": ["?"]}, "must be text or a number"),
        (MATRIX, {"reject_novelty": 1.5}, "reject_novelty must be a number from 0 to 1"),
        (MATRIX, {"reject_novelty": 0.5, "reject_label": "b"}, "must not be a class"),
    ],
)
def test_wrong_costs_are_refused(matrix, options, words):
    with pytest.raises(ArgumentError, match=words):
        check_costs(matrix, CLASSES, **options)


def test_the_usual_label_for_no_prediction_must_not_be_a_class():
    with pytest.raises(ArgumentError, match=r"reject_label must not be a class, and -1 is one"):
        check_costs(None, np.array([-1, 1]), 0.5)


def test_expected_costs_of_no_prediction_are_the_last_column():
    found = Costs(np.array([[0.0, 1.0], [1.0, 0.0]]), 0.25, "?").expected(np.array([[0.5, 0.5]]))
    np.testing.assert_array_equal(found, [[0.5, 0.5, 0.25]])


@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_novelty_is_the_entropy_relative_to_that_of_even_probabilities(seed, n_classes):
    proba = np.random.default_rng(seed).dirichlet(np.full(n_classes, 0.3), 20)
    expected = scipy.stats.entropy(proba, axis=1, base=n_classes)
    np.testing.assert_allclose(measure_novelty(proba), expected, atol=1e-12)
    assert measure_novelty(np.eye(n_classes)).max() == 0.0


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_there_is_no_prediction_for_samples_that_are_too_new(seed, has_cost):
    proba = np.random.default_rng(seed).dirichlet(np.full(3, 0.5), 20)
    cost = 0.4 if has_cost else None
    costs = check_costs(None, CLASSES, cost, reject_novelty=0.6)
    is_new = scipy.stats.entropy(proba, axis=1, base=3) > 0.6
    otherwise = check_costs(None, CLASSES, cost).labels(proba, CLASSES)
    found = costs.labels(proba, CLASSES)
    np.testing.assert_array_equal(found, np.where(is_new, "unknown", otherwise))
    assert costs.expected(proba).shape[1] == 3 + has_cost
