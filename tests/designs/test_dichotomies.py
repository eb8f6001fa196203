import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from polytomy.designs import random_tree
from polytomy.designs.dichotomies import Dichotomies
from polytomy.errors import ArgumentError
from polytomy.inputs.class_samples import group_samples


def corners(seed=0, n_classes=4, each=40, spread=0.5):
    random = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), each)
    return group_samples(random.normal(0, 2, (n_classes, 3))[y]
                         + spread * random.normal(size=(len(y), 3)), y)  # fmt: skip


@pytest.mark.parametrize("estimator", [None, LogisticRegression(), LinearSVC()])
def test_easy_dichotomies_lose_little_and_impossible_ones_one_bit(estimator):
    random = np.random.default_rng(1)
    X, y = random.normal(size=(400, 3)), np.arange(400) % 2
    hard = Dichotomies(group_samples(X, y), estimator, random_state=0).loss([0], [1]) / 400
    X[y == 1] += 4
    easy = Dichotomies(group_samples(X, y), estimator, random_state=0).loss([0], [1]) / 400
    assert easy < 0.05
    assert hard == pytest.approx(np.log(2), abs=0.05)


@pytest.mark.parametrize("estimator", [None, LogisticRegression()])
def test_the_sides_can_be_exchanged_and_are_trained_once(estimator):
    dichotomies = Dichotomies(corners(), estimator, random_state=0)
    loss = dichotomies.loss([0, 1], [2])
    assert dichotomies.loss([2], [1, 0]) == loss
    assert dichotomies.n_trained == 1


def test_the_loss_of_a_tree_is_that_of_its_probabilities():
    dichotomies = Dichotomies(corners(spread=2), random_state=0)
    codes = dichotomies.samples.class_indices
    for seed in range(3):
        tree = random_tree(4, random_state=seed)
        right, loss = np.ones(len(codes)), 0.0
        for partition in tree.partitions:
            negative, positive = (
                frozenset(side) for side in (partition.negative_classes, partition.positive_classes)
            )
            loss += dichotomies.loss(negative, positive)
            r = dichotomies.answers(negative, positive)
            right *= np.where(np.isin(codes, list(negative)), (1 - r) / 2, 1)
            right *= np.where(np.isin(codes, list(positive)), (1 + r) / 2, 1)
        assert loss == pytest.approx(-np.log(right).sum())


def test_the_shared_sums_give_the_regression_on_the_rows_themselves():
    samples = corners(spread=2)
    dichotomies = Dichotomies(samples, random_state=0)
    scores = dichotomies.scores(frozenset([0]), frozenset([2, 3]), frozenset(range(4)))
    model = dichotomies._model
    features, folds, codes = model._features, model._folds, samples.class_indices
    for fold in range(3):
        train = (folds != fold) & (codes != 1)
        A, target = features[train], np.where(codes[train] == 0, -1, 1)
        weights = np.linalg.solve(A.T @ A + 0.1 * np.eye(A.shape[1]), A.T @ target)
        np.testing.assert_allclose(scores[folds == fold], features[folds == fold] @ weights,
                                   rtol=1e-3, atol=1e-4)  # fmt: skip


def test_thinned_samples_stand_for_all_of_them(monkeypatch):
    samples = corners(each=300, spread=2)
    whole = Dichotomies(samples, random_state=0).loss([0, 1], [2, 3])
    monkeypatch.setattr("polytomy.designs.dichotomies._MOST_SAMPLES", 400)
    thin = Dichotomies(samples, random_state=0)
    assert thin.samples.counts.tolist() == [100] * 4
    assert thin.weights.sum() == pytest.approx(1200)
    assert thin.loss([0, 1], [2, 3]) == pytest.approx(whole, rel=0.3)


def test_sparse_data_and_classes_of_one_sample_are_accepted():
    random = np.random.default_rng(0)
    X = random.random((30, 6)) * (random.random((30, 6)) < 0.5)
    y = np.r_[0, 1, np.arange(28) % 2 + 2]
    for data in (X, csr_array(X)):
        for estimator in (None, LogisticRegression()):
            dichotomies = Dichotomies(group_samples(data, y), estimator, random_state=0)
            for sides in (([0], [1]), ([0], [2, 3]), ([0, 2], [1, 3])):
                assert np.isfinite(dichotomies.loss(*sides))


def test_two_folds_are_needed():
    with pytest.raises(ArgumentError, match="cv=1 is too few"):
        Dichotomies(corners(), cv=1)
