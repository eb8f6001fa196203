"""Splits, seeds and estimators of trials."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from polytomy.errors import ArgumentError, DataError
from polytomy.trials import Dataset, Protocol, pairs_from
from polytomy.trials.protocol import describe_estimator, split_classes


@pytest.fixture
def dataset():
    random = np.random.default_rng(1)
    y = np.repeat(["a", "b", "c"], [10, 20, 31])
    return Dataset("made", random.normal(3, 5, size=(61, 4)), y)


def protocol(**options):
    return Protocol(pairs_from(), **options)


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=6),
    st.floats(0.01, 0.99),
    st.integers(0, 2**32),
)
def test_the_fraction_is_held_out_of_each_class_but_never_all_of_it(counts, test, seed):
    class_indices = np.repeat(np.arange(len(counts)), counts)
    is_test = split_classes(class_indices, test, np.random.default_rng(seed))
    for index, count in enumerate(counts):
        n_test = np.sum(is_test & (class_indices == index))
        assert n_test < count
        assert abs(n_test - test * count) <= 0.5 or n_test == count - 1


def test_a_split_depends_only_on_seed_name_and_repeat(dataset):
    first = protocol().split(dataset, 0)
    again = Protocol(pairs_from(["tree"])).split(dataset, 0)
    assert (first.X_train == again.X_train).all()
    assert first.seed == again.seed
    renamed = Dataset("other", dataset.X, dataset.y)
    others = [
        protocol().split(dataset, 1),
        protocol(seed=1).split(dataset, 0),
        protocol().split(renamed, 0),
    ]
    for other in others:
        assert not (first.X_train == other.X_train).all()
        assert first.seed != other.seed


def test_features_are_standardised_on_the_training_samples(dataset):
    split = protocol().split(dataset, 0)
    np.testing.assert_allclose(split.X_train.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(split.X_train.std(axis=0), 1)
    # Both parts have the same scale: each feature is an affine function of the data.
    both = np.sort(np.concatenate([split.X_train, split.X_test]), axis=0)
    for scaled, raw in zip(both.T, np.sort(dataset.X, axis=0).T, strict=True):
        slope, intercept = np.polyfit(raw, scaled, 1)
        np.testing.assert_allclose(scaled, slope * raw + intercept, atol=1e-12)


def test_labels_and_class_indices_stay_with_their_samples(dataset):
    split = protocol().split(dataset, 0)
    assert [dataset.classes[index] for index in split.class_indices_train] == split.y_train.tolist()
    # A fraction of 0.3 of 10, 20 and 31, rounded.
    assert np.bincount(split.class_indices_test).tolist() == [3, 6, 9]


def test_sparse_features_stay_sparse(dataset):
    X = np.where(dataset.X > 3, dataset.X, 0)
    split = protocol().split(Dataset("made", csr_array(X), dataset.y), 0)
    assert issparse(split.X_train)
    assert issparse(split.X_test)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sat", "svc C=50 gamma=0.1"),
        ("segment", "svc C=100 gamma=0.1"),
        ("pendigits", "svc C=50 gamma=0.01"),
        ("letter", "svc C=50 gamma=auto"),
        ("humidity", "svc C=50 gamma=auto"),
        ("usps", "svc gamma=auto"),
        ("iris", "svc gamma=auto"),
    ],
)
def test_the_default_estimator_has_the_options_of_the_experiments(name, text):
    assert describe_estimator(protocol().estimator_for(name)) == text


def test_one_estimator_serves_all_datasets_or_a_dict_has_one_for_each():
    given_for_all = protocol(estimator=GaussianNB()).estimator_for("sat")
    assert isinstance(given_for_all, GaussianNB)
    by_name = protocol(estimator={"iris": "logistic-regression C=2"})
    assert by_name.estimator_for("iris").C == 2
    assert describe_estimator(by_name.estimator_for("sat")) == "svc C=50 gamma=0.1"


def test_long_estimators_that_differ_only_at_the_end_have_different_descriptions():
    def chain(last):
        steps = [
            LogisticRegression(C=1 + k, max_iter=1000 + k, tol=0.1 / (k + 1)) for k in range(9)
        ]
        return make_pipeline(StandardScaler(), *steps, GaussianNB(var_smoothing=last))

    assert describe_estimator(chain(0.5)) != describe_estimator(chain(0.25))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"test": 1.0}, "test must be between 0 and 1; got 1."),
        ({"test": 0.0}, "test must be between 0 and 1; got 0."),
        ({"seed": -1}, "seed=-1 is too few. Use 0 or more."),
        ({"seed": 0.5}, "seed=0.5 is not a whole number. Use 0 or more."),
    ],
)
def test_invalid_settings_are_errors(options, words):
    with pytest.raises(ArgumentError) as caught:
        protocol(**options)
    assert str(caught.value) == words
    assert caught.value.parameter == next(iter(options))


def test_too_few_samples_to_hold_out_are_an_error():
    dataset = Dataset("few", np.eye(4), [0, 0, 1, 1])
    with pytest.raises(
        DataError, match=r"no class has enough samples to hold out a fraction of 0\.1"
    ):
        protocol(test=0.1).split(dataset, 0)
