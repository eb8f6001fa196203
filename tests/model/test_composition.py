"""Compositions: answers, ties, and other ways to compose the same binaries."""

import dataclasses
import pickle

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC

from polytomy import PolytomyClassifier, designs, parse, solve
from polytomy.errors import ArgumentError, SchemeError
from polytomy.model.composition import Composition
from polytomy.scheme import SchemeEnsemble

REVERSED_PAIRS = designs.one_vs_one([3, 2, 1, 0])

CONFIGURATIONS = [
    ("one-vs-one", "least-squares"),
    ("one-vs-one", "voting"),
    ("one-vs-one", "hamming"),
    (REVERSED_PAIRS, "hamming"),
    (REVERSED_PAIRS, "least-squares"),
    ("one-vs-rest", "least-squares"),
    ("one-vs-rest", "divergence"),
    ("one-vs-rest", "hamming"),
    ("orthogonal", "loss-based"),
    ("tree", "greedy"),
    ("tree", "least-squares"),
    ("random-trees", "least-squares"),
]


@pytest.fixture(scope="module")
def noise():
    """Samples of four classes that overlap so much that votes are often tied."""
    X, y = make_blobs(240, 2, centers=4, cluster_std=8.0, random_state=3)
    return X, y


def fit(noise, scheme="one-vs-one", solver="least-squares", estimator=None, **parameters):
    estimator = LinearSVC() if estimator is None else estimator
    classifier = PolytomyClassifier(estimator, scheme, solver=solver, random_state=0, **parameters)
    return classifier.fit(*noise)


@pytest.mark.parametrize(("scheme", "solver"), CONFIGURATIONS)
def test_the_largest_decision_value_is_the_predicted_class_on_every_row(scheme, solver, noise):
    X, _ = noise
    classifier = fit(noise, scheme, solver)
    values = classifier.decision_function(X)
    assert values.shape == (len(X), 4)
    assert np.isfinite(values).all()
    np.testing.assert_array_equal(classifier.classes_[values.argmax(axis=1)], classifier.predict(X))


@pytest.mark.parametrize("solver", ["least-squares", "voting", "hamming"])
def test_two_classes_have_one_decision_value_positive_for_the_second(solver, noise):
    X, y = noise[0][noise[1] < 2], noise[1][noise[1] < 2]
    classifier = fit((X, y), solver=solver)
    values = classifier.decision_function(X)
    assert values.shape == (len(X),)
    np.testing.assert_array_equal(classifier.predict(X), (values > 0).astype(int))


def test_decision_values_of_probabilities_are_centred_logarithms(noise):
    X, _ = noise
    classifier = fit(noise, "one-vs-rest", "divergence")
    values, proba = classifier.decision_function(X), classifier.predict_proba(X)
    assert proba.min() > 1e-12
    np.testing.assert_allclose(values.mean(axis=1), 0, atol=1e-12)
    shares = np.exp(values) / np.exp(values).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares, proba, rtol=1e-9)


def test_the_decision_values_of_two_classes_are_log_odds(noise):
    X, y = noise[0][noise[1] < 2], noise[1][noise[1] < 2]
    classifier = fit((X, y))
    proba = classifier.predict_proba(X)
    np.testing.assert_allclose(
        classifier.decision_function(X), np.log(proba[:, 1] / proba[:, 0]), atol=1e-12
    )


class _FixedScores(Composition):
    """A composition whose scores are the samples."""

    def scores(self, X, n_jobs=None):
        return np.asarray(X, dtype=np.float64)


def fixed(classifier):
    values = {
        f.name: getattr(classifier.composition_, f.name) for f in dataclasses.fields(Composition)
    }
    return _FixedScores(**values)


def test_probabilities_that_differ_by_rounding_alone_keep_their_winner(noise):
    above = np.nextafter(0.25, 1)
    rows = np.full((4, 4), 0.25)
    rows[np.arange(4), np.arange(4)] = above
    composition = fixed(fit(noise))
    assert composition.winners(rows).tolist() == [0, 1, 2, 3]
    assert composition.decision_values(rows).argmax(axis=1).tolist() == [0, 1, 2, 3]
    pair = fixed(fit((noise[0][noise[1] < 2], noise[1][noise[1] < 2])))
    half = np.array([[0.5, np.nextafter(0.5, 1)], [0.5, 0.5], [np.nextafter(0.5, 1), 0.5]])
    assert (pair.decision_values(half) > 0).tolist() == [True, False, False]


def test_ties_go_to_the_first_class_or_by_the_tie_order(noise):
    composition = fit(noise, solver="hamming").composition_
    scores = np.array([[1.0, 2.0, 2.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    assert composition.winners(scores).tolist() == [1, 0]
    ordered = dataclasses.replace(composition, tie_order=(3, 2, 1, 0))
    assert ordered.winners(scores).tolist() == [2, 3]
    # Probabilities are never tied by counting, so the order is for votes alone.
    assert ordered.with_solver("least-squares").winners(scores).tolist() == [1, 0]


def test_a_composition_is_frozen_and_survives_pickling(noise):
    X, _ = noise
    composition = fit(noise, estimator=SVC()).composition_
    with pytest.raises(dataclasses.FrozenInstanceError):
        composition.solvers = ("voting",)
    again = pickle.loads(pickle.dumps(composition))
    np.testing.assert_array_equal(again.scores(X), composition.scores(X))


def test_its_answers_are_those_of_the_classifier(noise):
    X, _ = noise
    classifier = fit(noise, estimator=SVC())
    composition = classifier.composition_
    np.testing.assert_array_equal(composition.scores(X), classifier.predict_proba(X))
    np.testing.assert_array_equal(composition.decisions(X), classifier.decisions(X))
    np.testing.assert_array_equal(composition.predict(X), classifier.predict(X))
    plain = fit(noise, estimator=SVC(), final_calibration=None).composition_
    np.testing.assert_array_equal(plain.scores(X), solve(classifier.scheme_, plain.decisions(X)))


def test_blocks_of_rows_change_nothing(noise, monkeypatch):
    X, _ = noise
    composition = fit(noise, estimator=SVC()).composition_
    expected = composition.scores(X)
    monkeypatch.setattr("polytomy.inputs.training_data._BLOCK_BYTES", 8)
    monkeypatch.setattr("polytomy.inputs.training_data._SMALLEST_BLOCK", 7)
    np.testing.assert_allclose(composition.scores(X), expected, rtol=0, atol=1e-12)


def test_with_solver_and_with_scheme_keep_the_binaries(noise):
    composition = fit(noise).composition_
    assert composition.with_solver("voting").bank is composition.bank
    other = composition.with_scheme(REVERSED_PAIRS)
    assert other.bank is composition.bank
    assert other.scheme == REVERSED_PAIRS
    with pytest.raises(ArgumentError, match="one-vs-one code"):
        fit(noise, "one-vs-rest").composition_.with_solver("price")


def test_an_ensemble_averages_its_members(noise):
    X, _ = noise
    trees = [
        parse("a {b {0 1} c {2 3}}"),
        parse("a {b {0 2} c {1 3}}"),
        parse("a {0 b {1 c {2 3}}}"),
    ]
    ensemble = SchemeEnsemble(trees)
    found, *each = (
        fit(noise, scheme, estimator=LogisticRegression(), final_calibration=None).predict_proba(X)
        for scheme in (ensemble, *trees)
    )
    np.testing.assert_allclose(found, np.mean(each, axis=0), atol=1e-12)


POOL = ["one-vs-one", "orthogonal", "empirical-tree"]


def test_the_order_of_the_members_of_a_pool_and_the_number_of_jobs_do_not_matter(noise):
    X, _ = noise
    pool = fit(noise, POOL, "auto")
    assert pool.pool_weights_.shape == (3,)
    assert (pool.pool_weights_ >= 0).all()
    np.testing.assert_array_equal(
        fit(noise, "pool", "auto", n_jobs=2).predict_proba(X), pool.predict_proba(X)
    )
    reverse = fit(noise, POOL[::-1], "auto")
    np.testing.assert_allclose(reverse.pool_weights_[::-1], pool.pool_weights_, atol=1e-3)
    np.testing.assert_allclose(reverse.predict_proba(X), pool.predict_proba(X), atol=1e-4)


def test_another_solver_learns_the_weights_of_a_pool_again(noise):
    X, _ = noise
    pool, fresh = fit(noise, POOL), fit(noise, POOL, "divergence")
    changed = pool.with_solver("divergence")
    assert changed.composition_.solvers == ("divergence",) * 3
    np.testing.assert_allclose(changed.pool_weights_, fresh.pool_weights_, atol=1e-12)
    np.testing.assert_allclose(changed.predict_proba(X), fresh.predict_proba(X), atol=1e-12)
    member = pool.with_scheme("one-vs-one")
    np.testing.assert_allclose(member.predict_proba(X), fit(noise).predict_proba(X), atol=1e-6)
    with pytest.raises(AttributeError, match="pool_weights_: it has one scheme"):
        member.pool_weights_  # noqa: B018


def test_without_a_final_calibration_the_members_of_a_pool_have_equal_weights(noise):
    X, _ = noise
    pool = fit(noise, POOL, final_calibration=None)
    each = [pool.with_scheme(scheme).predict_proba(X) for scheme in pool.scheme_.schemes]
    np.testing.assert_allclose(pool.predict_proba(X), np.mean(each, axis=0), atol=1e-12)
    assert pool.pool_weights_.tolist() == [1 / 3] * 3


def test_a_pool_of_few_samples_has_equal_weights(noise):
    X, y = noise
    assert fit((X[:32], y[:32]), POOL).pool_weights_.tolist() == [1 / 3] * 3


def test_a_pool_of_two_classes_is_its_only_binary_up_to_a_scale(noise):
    X, y = noise[0][noise[1] < 2], noise[1][noise[1] < 2]
    pool, alone = fit((X, y), "pool"), fit((X, y))
    assert len(pool.binaries_) == 1
    scores = pool.decision_function(X), alone.decision_function(X)
    slope = pool.pool_weights_.sum()
    np.testing.assert_allclose(scores[0], slope * scores[1], atol=1e-3)


def test_a_pool_with_other_frequencies_and_costs_keeps_its_laws(noise):
    X, _ = noise
    pool = fit(noise, "pool", "auto")
    plain, prior = pool.predict_proba(X), np.array([0.1, 0.2, 0.3, 0.4])
    expected = plain * prior / pool.prior_
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(pool.with_prior(prior).predict_proba(X), expected, atol=1e-9)
    costs = 1.0 - np.eye(4)
    costs[0] *= 9.0
    cheapest = (plain @ costs).argmin(axis=1)
    np.testing.assert_array_equal(pool.with_cost(costs).predict(X), pool.classes_[cheapest])
    labels, proba = pool.predict_top_k(X, 2)
    np.testing.assert_array_equal(labels[:, 0], pool.predict(X))
    np.testing.assert_allclose(proba, -np.sort(-plain, axis=1)[:, :2])
    for each in pool.explain(X[:5]):
        total = sum(term.adds for term in each.terms) + sum(each.rest.values())
        assert total == pytest.approx(each.difference, abs=1e-9)


def test_a_tie_order_has_each_class_once(noise):
    composition = fit(noise).composition_
    words = r"tie order \(0, 0, 1, 2\) does not have each class once"
    with pytest.raises(SchemeError, match=words):
        dataclasses.replace(composition, tie_order=(0, 0, 1, 2))


def test_partitions_have_their_binaries_in_order_whatever_the_order_of_training(noise):
    composition = fit(noise).composition_
    assert composition.partition_binaries == list(composition.binaries)
    reversed_pairs = composition.with_scheme(REVERSED_PAIRS)
    names = [each.name for each in reversed_pairs.partition_binaries]
    # The pairs 32, 31, 30, 21, 20, 10, among those trained as 01, 02, 03, 12, 13, 23.
    assert names == [composition.binaries[k].name for k in (5, 4, 2, 3, 1, 0)]
    tree = parse("a {0 b {1 c {2 3}}}")
    ensemble = fit(noise, SchemeEnsemble([tree, tree])).composition_
    assert len(ensemble.binaries) == 3
    assert ensemble.partition_binaries == [*ensemble.binaries] * 2


def test_a_precomputed_kernel_has_the_rows_of_each_partition(noise):
    X, y = noise
    classifier = fit((X @ X.T, y), estimator=SVC(kernel="precomputed"))
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    for rows, pair in zip(classifier.pairwise_indices_, pairs, strict=True):
        assert rows.tolist() == np.flatnonzero(np.isin(y, pair)).tolist()
    assert fit(noise).pairwise_indices_ is None


WIDE = "m 0 1 / 2 / 3; n 0 / 1 / 2 / 3; o 0 / 1; {0 1 2 3}"


def test_wide_partitions_have_a_decision_for_each_side(noise):
    classifier = fit(noise, WIDE, estimator=LogisticRegression())
    decisions = classifier.decisions(noise[0])
    assert decisions.shape == (240, 3 + 4 + 1)
    np.testing.assert_allclose((1 + decisions[:, :3]).sum(axis=1), 2.0)
    assert len(classifier.estimators_) == 3
    np.testing.assert_allclose(
        classifier.estimators_[1].predict_proba(noise[0]), (1 + decisions[:, 3:7]) / 2
    )


def test_a_greedy_walk_follows_the_most_probable_side(noise):
    tree = fit(noise, "m {0 n {1 2 3}}", "greedy", LogisticRegression())
    first, second = tree.estimators_
    takes_first = first.predict(noise[0]) == 0
    expected = np.where(takes_first, 0, 1 + second.predict(noise[0]))
    np.testing.assert_array_equal(tree.predict(noise[0]), expected)


def test_one_binary_is_shown_in_the_singular(noise):
    X, y = noise
    composition = PolytomyClassifier(LogisticRegression()).fit(X[y < 2], y[y < 2]).composition_
    assert repr(composition).startswith("<Composition of 1 binary for 2 classes, solved by ")
    assert repr(composition.bank) == "<Bank of 1 binary>"
