"""Holding out one part of many rows."""

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.svm import LinearSVC

from polytomy import PolytomyClassifier
from polytomy.calibration import folds as hold_out
from polytomy.calibration.folds import (
    HoldOut,
    check_folds,
    choose_folds,
    is_splitter,
    make_folds,
)
from polytomy.errors import ArgumentError


@given(
    counts=st.lists(st.integers(1, 300), min_size=1, max_size=6),
    share=st.floats(0.01, 0.5),
    seed=st.integers(0, 10),
)
def test_every_class_keeps_rows_to_train_on_and_has_its_share_by_weight(counts, share, seed):
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    mask, weight = HoldOut(share).choose(labels, seed)
    weight = np.ones(len(labels)) if weight is None else weight
    for label, count in enumerate(counts):
        own = mask & (labels == label)
        assert np.count_nonzero(own) < count
        if count >= 5:  # a fifth of a rare class, or 20 rows, is held out in any case
            assert np.count_nonzero(own) >= min(20, count // 5)
            assert weight[own].sum() == pytest.approx(share * count, abs=1)


def test_the_same_seed_holds_out_the_same_rows():
    labels = np.arange(300) % 3
    masks = [HoldOut(0.2).choose(labels, seed)[0] for seed in (1, 1, 2)]
    assert (masks[0] == masks[1]).all()
    assert (masks[0] != masks[2]).any()


def test_auto_depends_on_the_number_of_rows_and_all_else_is_left():
    assert choose_folds("auto", hold_out.MANY_ROWS - 1) == 5
    assert choose_folds("auto", hold_out.MANY_ROWS) == HoldOut(0.1)
    assert choose_folds(3, 10**7) == 3
    assert choose_folds(None, 10**7) == 5  # as in scikit-learn
    assert choose_folds(0.3, 10) == HoldOut(0.3)
    splitter = KFold()
    assert choose_folds(splitter, 10) is splitter


def test_a_text_is_not_a_splitter_although_it_has_a_method_split():
    assert is_splitter(KFold())
    assert not is_splitter("auto")


@pytest.mark.parametrize("cv", [0.0, 1.0, -0.5, float("nan"), "all"])
def test_a_fraction_is_between_0_and_1(cv):
    with pytest.raises(ArgumentError, match="a fraction of the rows to hold out"):
        check_folds(cv)


def test_a_held_out_part_is_one_fold_that_is_never_trained_on():
    labels = np.arange(100) % 2
    folds = make_folds(None, labels, HoldOut(0.2), seed=0)
    assert folds.n_folds == 1
    assert folds.is_only_part
    assert (folds.is_trained_on[0] == (folds.fold_of < 0)).all()
    assert len(folds.scored) == np.count_nonzero(folds.fold_of == 0) == 20


class CountedRegression(LogisticRegression):
    n_fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).n_fits += 1
        return super().fit(X, y, sample_weight)


class CountedSVC(LinearSVC):
    n_fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).n_fits += 1
        return super().fit(X, y, sample_weight)


@pytest.fixture
def blobs():
    generator = np.random.default_rng(0)
    y = np.arange(600) % 3
    return generator.normal(size=(600, 4)) + 1.5 * np.eye(3, 4)[y], y


@pytest.mark.parametrize("estimator", [CountedRegression(), CountedSVC()])
@pytest.mark.parametrize("final", ["auto", None])
def test_each_binary_is_trained_once_and_calibrated(blobs, estimator, final):
    X, y = blobs
    kind = type(estimator)
    kind.n_fits = 0
    classifier = PolytomyClassifier(
        estimator, "one-vs-rest", cv=0.2, final_calibration=final, random_state=0
    ).fit(X, y)
    assert kind.n_fits == 3
    if kind is CountedSVC:
        assert all(hasattr(each.calibrator, "slope_") for each in classifier.binaries_)
        assert classifier.binaries_[0].calibrator.slope_ != 1.0
    if final is not None:
        assert classifier.out_of_fold_score_["accuracy"] > 0.6


@pytest.mark.parametrize("scheme", ["one-vs-rest", "one-vs-one"])
def test_the_model_is_that_of_the_rows_that_are_not_held_out(blobs, scheme):
    X, y = blobs
    classifier = PolytomyClassifier(
        LogisticRegression(tol=1e-10, max_iter=1000), scheme, cv=0.2, random_state=0
    ).fit(X, y)
    held_out = np.zeros(len(X), dtype=bool)
    held_out[classifier.composition_.out_of_fold.rows] = True
    assert np.count_nonzero(held_out) == 120
    is_inside = ~held_out & (y < 2 if scheme == "one-vs-one" else True)
    plain = LogisticRegression(tol=1e-10, max_iter=1000)
    plain.fit(X[is_inside], y[is_inside] != 0)
    found = classifier.estimators_[0]
    sign = np.sign(found.coef_[0] @ plain.coef_[0])
    np.testing.assert_allclose(sign * found.coef_, plain.coef_, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_linear_model_of_mapped_rows_needs_no_copy_of_them(tmp_path, dtype):
    generator = np.random.default_rng(0)
    y = np.arange(30_000) % 3
    np.save(tmp_path / "X.npy", generator.normal(size=(30_000, 100)).astype(dtype))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    # This solver takes float32 as it is with every version of scikit-learn.
    estimator = LogisticRegression(solver="sag", max_iter=3)
    classifier = PolytomyClassifier(estimator, "one-vs-rest", cv=0.02)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        classifier.fit(np.array(mapped[:100]), y[:100])
        tracemalloc.start()
        try:
            classifier.fit(mapped, y)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < mapped.nbytes / 2


def test_auto_holds_out_one_part_of_many_rows(blobs, monkeypatch):
    X, y = blobs
    monkeypatch.setattr(hold_out, "MANY_ROWS", 600)
    many = PolytomyClassifier(LinearSVC(), "one-vs-rest", random_state=0).fit(X, y)
    assert many.composition_.out_of_fold.scores.shape == (60, 3)
    few = PolytomyClassifier(LinearSVC(), "one-vs-rest", random_state=0).fit(X[:300], y[:300])
    assert few.composition_.out_of_fold.scores.shape == (300, 3)


def test_a_wide_partition_and_support_vector_machines_take_a_held_out_part(blobs):
    X, y = blobs
    for estimator, scheme in (LinearSVC(), "m {0 1 2}"), (None, "one-vs-one"):
        classifier = PolytomyClassifier(estimator, scheme, cv=0.2, random_state=0).fit(X, y)
        assert classifier.out_of_fold_score_["accuracy"] > 0.6
        assert len(classifier.composition_.out_of_fold.rows) == 120
