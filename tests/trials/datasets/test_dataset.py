"""A dataset of trials: classes in their order, fingerprint and checksum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from polytomy.errors import DataError
from polytomy.trials.datasets import Dataset, compute_checksum

LABELS = np.array(["oak", "corn", "pine", "corn", "oak", "pine"])


@given(st.permutations(["oak", "corn", "pine"]))
def test_class_indices_point_into_the_classes(order):
    dataset = Dataset("land", np.eye(6), LABELS, [label.upper() for label in order])
    assert dataset.classes == tuple(order)
    assert [dataset.classes[index] for index in dataset.class_indices] == LABELS.tolist()
    assert dataset.counts == [2, 2, 2]


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (["oak", "pine"], "dataset land: class_order does not have 'corn'."),
        (
            ["oak", "pine", "maize"],
            "class_order does not have 'corn'; it has unknown labels: 'maize'. List each label of "
            "the data exactly once.",
        ),
        ("oak", "class_order must be a list of all labels, from first to last; got 'oak'."),
    ],
)
def test_an_order_of_other_labels_is_an_error(order, words):
    with pytest.raises(DataError) as caught:
        Dataset("land", np.eye(6), LABELS, order)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("labels", "order", "classes", "has_order"),
    [
        (["10", "9", "2"] * 2, None, ("2", "9", "10"), True),
        ([3, 1, 2] * 2, None, (1, 2, 3), True),
        (["b", "a"] * 3, None, ("a", "b"), True),
        (["low", "mid", "high"] * 2, None, ("high", "low", "mid"), False),
        (["low", "mid", "high"] * 2, ["low", "mid", "high"], ("low", "mid", "high"), True),
        ([3, 1, 2] * 2, ["2", "3", "1"], (2, 3, 1), True),
    ],
)
def test_numbers_and_given_orders_are_orders_and_the_alphabet_is_not(
    labels, order, classes, has_order
):
    dataset = Dataset("land", np.eye(6), labels, order)
    assert (dataset.classes, dataset.has_order) == (classes, has_order)
    assert [dataset.classes[index] for index in dataset.class_indices] == labels


def test_the_fingerprint_depends_on_samples_and_labels_only():
    X = np.arange(12.0).reshape(6, 2)
    changed = X.copy()
    changed[3, 1] += 1
    datasets = [
        Dataset("a", X, LABELS),
        Dataset("a", changed, LABELS),
        Dataset("a", X, LABELS[::-1]),
        Dataset("a", csr_array(X), LABELS),
    ]
    assert len({each.fingerprint for each in datasets}) == len(datasets)
    assert Dataset("b", X.copy(), LABELS.copy()).fingerprint == datasets[0].fingerprint


@given(st.permutations(range(5)))
def test_the_checksum_does_not_depend_on_the_order_of_samples(order):
    X = np.random.default_rng(0).normal(size=(5, 3))
    assert compute_checksum(X[list(order)]) == compute_checksum(X)
    assert compute_checksum(X[:, ::-1]) != compute_checksum(X)
