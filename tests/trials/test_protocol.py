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
def test_the_part_held_out_is_that_of_each_class_but_never_all_of_it(counts, test, seed):
    codes = np.repeat(np.arange(len(counts)), counts)
    is_test = split_classes(codes, test, np.random.default_rng(seed))
    for code, count in enumerate(counts):
        n_test = np.sum(is_test & (codes == code))
        assert n_test < count
        assert abs(n_test - test * count) <= 0.5 or n_test == count - 1


def test_a_split_depends_on_seed_name_and_repeat_alone(dataset):
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


def test_features_are_standardised_by_the_training_part(dataset):
    split = protocol().split(dataset, 0)
    np.testing.assert_allclose(split.X_train.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(split.X_train.std(axis=0), 1)
    # Both parts by the same scale: together, feature by feature, they are the data stretched.
    both = np.sort(np.concatenate([split.X_train, split.X_test]), axis=0)
    for scaled, raw in zip(both.T, np.sort(dataset.X, axis=0).T, strict=True):
        slope, intercept = np.polyfit(raw, scaled, 1)
        np.testing.assert_allclose(scaled, slope * raw + intercept, atol=1e-12)


def test_labels_and_codes_stay_with_their_samples(dataset):
    split = protocol().split(dataset, 0)
    assert [dataset.classes[code] for code in split.codes_train] == split.y_train.tolist()
    # 10, 20 and 31 of which 0.3 are held out, to the nearest.
    assert np.bincount(split.codes_test).tolist() == [3, 6, 9]


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
def test_datasets_of_the_experiments_have_their_options(name, text):
    assert describe_estimator(protocol().estimator_for(name)) == text


def test_an_estimator_can_be_given_for_all_or_by_dataset():
    given_for_all = protocol(estimator=GaussianNB()).estimator_for("sat")
    assert isinstance(given_for_all, GaussianNB)
    by_name = protocol(estimator={"iris": "logistic-regression C=2"})
    assert by_name.estimator_for("iris").C == 2
    assert describe_estimator(by_name.estimator_for("sat")) == "svc C=50 gamma=0.1"


def test_estimators_that_differ_only_in_the_end_are_told_apart():
    def chain(last):
        steps = [
            LogisticRegression(C=1 + k, max_iter=1000 + k, tol=0.1 / (k + 1)) for k in range(9)
        ]
        return make_pipeline(StandardScaler(), *steps, GaussianNB(var_smoothing=last))

    assert describe_estimator(chain(0.5)) != describe_estimator(chain(0.25))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"test": 1.0}, "test=1 is no part of a class"),
        ({"test": 0.0}, "test=0 is no part of a class"),
        ({"seed": -1}, "seed=-1 is no whole number"),
        ({"seed": 0.5}, "seed=0.5 is no whole number"),
    ],
)
def test_values_that_mean_nothing_are_refused(options, words):
    with pytest.raises(ArgumentError) as caught:
        protocol(**options)
    assert words in str(caught.value)


def test_too_few_samples_to_hold_out_are_refused():
    dataset = Dataset("few", np.eye(4), [0, 0, 1, 1])
    with pytest.raises(DataError, match=r"no class has samples enough to hold out 0\.1"):
        protocol(test=0.1).split(dataset, 0)
