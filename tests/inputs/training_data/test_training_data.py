"""Training data and samples to predict: checked, and converted for the estimators."""

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.multioutput import MultiOutputClassifier
from sklearn.tree import DecisionTreeClassifier

import polytomy as pt
from polytomy.errors import ArgumentError, DataError, PolytomyError
from polytomy.inputs.training_data import (
    check_batch_labels,
    check_features,
    check_regression_data,
    check_training_data,
)

X, Y = np.arange(12.0).reshape(4, 3), np.array([0, 1, 2, 0])


class Owner(BaseEstimator):
    """The estimator whose data is checked."""


def test_arrays_and_lists_become_arrays():
    owner = Owner()
    data, labels = check_training_data(owner, X.tolist(), Y.tolist())
    np.testing.assert_array_equal(data, X)
    np.testing.assert_array_equal(labels, Y)
    assert owner.n_features_in_ == 3


def test_scikit_learn_warns_of_numbers_that_hardly_repeat():
    labels, data = np.arange(30) // 2, np.ones((30, 1))
    check_training_data(Owner(), data, labels)
    labels[:4] = -1, -2, -3, -4
    with pytest.warns(UserWarning, match="number of unique classes is greater than 50%"):
        check_training_data(Owner(), data, labels)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_stays_a_frame_and_its_names_are_kept(frame):
    owner, table = Owner(), frame(dict(zip("abc", X.T, strict=True)))
    assert check_training_data(owner, table, Y)[0] is table
    assert owner.feature_names_in_.tolist() == ["a", "b", "c"]
    assert check_features(owner, table) is table
    with pytest.raises(ValueError, match="feature names should match"):
        check_features(owner, frame(dict(zip("cba", X.T, strict=True))))


@pytest.mark.parametrize(
    "data",
    [
        ["a text", "another", "third", "last"],
        [{"a": 1}, {"a": 2}, {"b": 3}, {}],
        np.array(["a text", "another", "third", "last"]),
        pd.Series(["a text", "another", "third", "last"]),
        pl.Series(["a text", "another", "third", "last"]),
    ],
    ids=["list", "dicts", "array", "pandas", "polars"],
)
def test_texts_and_dicts_are_left_to_the_estimator(data):
    owner = Owner()
    assert check_training_data(owner, data, Y)[0] is data
    assert check_features(owner, data) is data


def test_missing_values_are_left_to_the_estimator():
    data = np.where(X == 4, np.nan, X)
    owner = Owner()
    np.testing.assert_array_equal(check_training_data(owner, data, Y)[0], data)
    np.testing.assert_array_equal(check_features(owner, data), data)
    with pytest.raises(ValueError, match="infinity"):
        check_training_data(owner, np.where(X == 4, np.inf, X), Y)


@pytest.mark.parametrize("wide", [False, True])
def test_sparse_data_has_sorted_short_indices_and_the_original_is_not_changed(wide):
    rng = np.random.default_rng(0)
    data = sp.random_array((6, 40), density=0.3, rng=rng, format="csr")[:, rng.permutation(40)]
    if wide:
        data.indices, data.indptr = data.indices.astype(np.int64), data.indptr.astype(np.int64)
    assert not data.has_sorted_indices
    found, _ = check_training_data(Owner(), data, np.arange(6) % 3)
    assert not data.has_sorted_indices
    assert found.has_sorted_indices
    assert found.indices.dtype == found.indptr.dtype == np.int32
    assert data.indices.dtype == (np.int64 if wide else np.int32)
    np.testing.assert_array_equal(found.toarray(), data.toarray())


@pytest.mark.parametrize("form", [sp.csc_array, sp.coo_matrix, sp.lil_array])
def test_sparse_data_of_any_format_has_rows(form):
    owner = Owner()
    found, _ = check_training_data(owner, form(X), Y)
    assert found.format == "csr"
    np.testing.assert_array_equal(found.toarray(), X)
    np.testing.assert_array_equal(check_features(owner, form(X)).toarray(), X)


@pytest.mark.parametrize(
    ("data", "labels", "words"),
    [
        (X, Y[:3], "inconsistent numbers of samples"),
        (pd.DataFrame(X), Y[:3], "inconsistent numbers of samples"),
        (pd.DataFrame(X[:0]), Y[:0], "X has no rows. Give at least one sample."),
        (X, np.linspace(0, 1, 4), "Unknown label type"),
        (X, [0, 1, np.nan, 2], "NaN"),
        (
            X,
            np.array(["oak", 1, "fir", 1], dtype=object),
            r"^y mixes text and other labels, such as 'fir' and 1\. Convert all to text: ",
        ),
    ],
)
def test_data_that_cannot_be_trained_on_is_refused(data, labels, words):
    with pytest.raises(ValueError, match=words):
        check_training_data(Owner(), data, labels)


def test_the_number_of_features_must_stay_the_same():
    owner = Owner()
    check_training_data(owner, X, Y)
    for check in (
        lambda: check_features(owner, X[:, :2]),
        lambda: check_training_data(owner, X[:, :2], Y, reset=False),
    ):
        with pytest.raises(ValueError, match="X has 2 features, but Owner is expecting 3"):
            check()


labels = st.lists(st.integers(0, 5), min_size=1, max_size=8)


@given(labels, labels)
def test_the_first_batch_has_the_classes_it_names_each_once_and_in_order(classes, more):
    y = np.array(classes[:2])
    assert check_batch_labels(y, classes + more, None).tolist() == sorted({*classes, *more})


@given(labels)
def test_later_batches_have_the_classes_of_the_first(classes):
    known = np.unique(classes)
    assert check_batch_labels(np.array(classes), None, known) is known
    assert check_batch_labels(np.array(classes[:1]), classes[::-1], known) is known


@pytest.mark.parametrize(
    ("y", "classes", "known", "words"),
    [
        ([0], None, None, "classes must list all labels in the first call of partial_fit."),
        ([0], [0, 1], [0, 2], "classes must be those of the first call; got [0, 1]."),
        (
            ["elm"],
            ["ash", "oak"],
            None,
            "y has the label 'elm', which is not among the classes of the first call of "
            "partial_fit.",
        ),
    ],
)
def test_classes_of_a_batch_that_do_not_fit_are_refused(y, classes, known, words):
    with pytest.raises(ArgumentError) as caught:
        check_batch_labels(np.array(y), classes, None if known is None else np.array(known))
    assert str(caught.value) == words
    assert caught.value.parameter == "classes"


def test_names_of_an_earlier_frame_are_forgotten_with_plain_arrays():
    owner, frame = Owner(), pd.DataFrame(X, columns=list("abc"))
    labels = np.array([0, 0, 1, 1])
    check_training_data(owner, frame, labels)
    assert owner.feature_names_in_.tolist() == ["a", "b", "c"]
    assert check_training_data(owner, X, labels)[0] is X
    assert not hasattr(owner, "feature_names_in_")
    assert owner.n_features_in_ == 3


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, np.asarray, sp.csr_array])
def test_targets_of_a_regressor_become_floats(frame):
    owner = Owner()
    data, targets = check_regression_data(owner, frame(X), [1, 2.5, 3, True])
    assert type(data) is type(frame(X))
    assert targets.dtype == np.float64
    np.testing.assert_array_equal(targets, [1, 2.5, 3, 1])
    assert owner.n_features_in_ == 3


@pytest.mark.parametrize("frame", [pd.DataFrame, np.asarray])
def test_targets_of_a_regressor_must_be_finite_numbers(frame):
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="Input y contains"):
            check_regression_data(Owner(), frame(X), [0.0, 1.0, bad, 2.0])
    with pytest.raises(ArgumentError, match="Use PolytomyClassifier for labels"):
        check_regression_data(Owner(), frame(X), list("abcd"))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        check_regression_data(Owner(), frame(X), [0.0, 1.0])


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (
            [0.5, 1.5, 0.5, 1.5],
            r"^Unknown label type: continuous\. y has fractions, such as 0\.5\. If they are "
            r"classes, convert them to text: y\.astype\(str\); to predict numbers, use "
            r"PolytomyRegressor\.$",
        ),
        (np.array(["2024-01-01", "2024-02-01"] * 2, "datetime64[D]"), "such as 2024-01-01. If"),
        (np.array(["2024-01-01", "2024-02-01"] * 2, "datetime64[ns]"), "y has dates or durations"),
        ([date(2024, 1, 1), date(2024, 2, 1)] * 2, "such as 2024-01-01. If they are classes"),
        (
            pd.Series(pd.period_range("2024-01", periods=2, freq="M").repeat(2)),
            r"objects, such as Period\('2024-01', 'M'\)\. Convert it to text, y\.astype\(str\), or",
        ),
        (np.eye(4, 2, dtype=int), "y has 2 columns; .* sklearn.multioutput.MultiOutputClassifier"),
        ([["a", "b"]] * 4, "y has 2 columns; a classifier predicts one label for each sample"),
    ],
)
def test_labels_that_are_no_classes_are_an_error_with_the_way_out(y, words):
    X = np.arange(8.0).reshape(4, 2)
    with pytest.raises(PolytomyError, match=words):
        pt.PolytomyClassifier(scheme="one-vs-rest").fit(X, y)


def test_dates_as_text_and_several_columns_one_by_one_are_learnt():
    classes = np.arange(30) % 3
    X = np.random.default_rng(0).normal(size=(30, 2)) + 9 * classes[:, np.newaxis]
    days = np.array(["2024-01-01", "2024-02-01", "2024-03-01"], "datetime64[D]")[classes]
    classifier = pt.PolytomyClassifier(DecisionTreeClassifier(random_state=0), scheme="one-vs-rest")
    assert classifier.fit(X, days.astype(str)).score(X, days.astype(str)) == 1
    Y = np.column_stack([classes, classes % 2])
    np.testing.assert_array_equal(MultiOutputClassifier(classifier).fit(X, Y).predict(X), Y)


def test_designs_from_data_refuse_dates_as_labels():
    days = np.array(["2024-01-01", "2024-02-01"], "datetime64[ns]")
    with pytest.raises(DataError, match="y has dates or durations"):
        pt.designs.empirical_tree(np.eye(2), days)
