"""The final calibration of a composition: learnt, learnt again, dropped, and judged out of fold."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_classification
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import accuracy_score, log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC, LinearSVC

from polytomy import PolytomyClassifier, designs, metrics, parse, solve
from polytomy.calibration.final import BiasMap, DecoderMap
from polytomy.calibration.folds import make_folds
from polytomy.errors import CalibrationWarning
from polytomy.inputs.seeds import partition_seeds
from polytomy.learners.any_estimator import train_estimator
from polytomy.learners.problems import BinaryProblem
from polytomy.learners.workload import TrainingOptions
from polytomy.scheme import SchemeEnsemble

MACHINE = SVC(C=3, gamma=0.2, tol=1e-8)
TREE = parse("a {b {0 1} c {2 3}}")
OTHER_TREE = parse("a {0 b {1 c {2 3}}}")


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(160, 3, centers=4, cluster_std=4.0, random_state=1)


def fit(data, scheme="one-vs-one", estimator=MACHINE, **parameters):
    parameters = {"random_state": 0, "final_calibration": "bias"} | parameters
    return PolytomyClassifier(estimator, scheme, **parameters).fit(*data)


# -- without it ------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["one-vs-one", "one-vs-rest", "tree"])
def test_without_it_calibrators_learn_from_the_same_folds_and_the_solver_has_the_last_word(
    scheme, blobs
):
    X, y = blobs
    classifier = fit(blobs, scheme, final_calibration=None)
    composition = classifier.composition_
    assert composition.final is None
    assert composition.out_of_fold is None
    np.testing.assert_array_equal(
        classifier.predict_proba(X), solve(classifier.scheme_, classifier.decisions(X))
    )
    folds = make_folds(X, y, 5, partition_seeds(0, 1)[0]).without_scores()
    for each, binary in zip(composition.dichotomies, composition.binaries, strict=True):
        rows = np.flatnonzero(np.isin(y, [*each.negative, *each.positive]))
        problem = BinaryProblem("p", rows, np.isin(y[rows], each.positive))
        alone = train_estimator(MACHINE, X, problem, TrainingOptions(), folds=folds).binary
        np.testing.assert_allclose(binary.decisions(X), alone.decisions(X), atol=1e-6)


def test_the_solver_auto_is_least_squares_without_it(blobs):
    X, _ = blobs
    automatic = fit(blobs, "one-vs-rest", final_calibration=None)
    by_name = fit(blobs, "one-vs-rest", final_calibration=None, solver="least-squares")
    assert automatic.composition_.solver == "least-squares"
    np.testing.assert_array_equal(automatic.predict_proba(X), by_name.predict_proba(X))
    assert fit(blobs, "one-vs-rest").composition_.solver == "divergence"


@pytest.mark.parametrize("name", ["out_of_fold_score_", "out_of_fold_proba_"])
def test_without_it_there_is_no_out_of_fold_score(name, blobs):
    for classifier in (fit(blobs, final_calibration=None), fit(blobs, solver="voting")):
        with pytest.raises(AttributeError, match=f"has no {name}: it has no final calibration"):
            getattr(classifier, name)
    with pytest.raises(AttributeError, match="Fit it with keep_out_of_fold=True"):
        _ = fit(blobs).out_of_fold_proba_


# -- with it ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["auto", "bias", "decoder", LogisticRegression()])
@pytest.mark.parametrize(
    "scheme",
    ["one-vs-one", "one-vs-rest", "tree", "adjacent", SchemeEnsemble([TREE, OTHER_TREE])],
)
def test_probabilities_are_the_map_of_the_solver_s(option, scheme, blobs):
    X, _ = blobs
    classifier = fit(blobs, scheme, final_calibration=option)
    composition = classifier.composition_
    answers = composition.bank.decisions(X)
    map_ = composition.final.map
    if isinstance(scheme, SchemeEnsemble):
        logits = [
            weight * np.log(own.apply(*solved) + map_.floor)
            for weight, own, solved in zip(
                map_.weights, map_.members, composition.solve_members(answers), strict=True
            )
        ]
        expected = softmax(sum(logits), axis=1)
    else:
        expected = map_.apply(replace(composition, final=None).scores(X), answers)
    proba = classifier.predict_proba(X)
    np.testing.assert_allclose(proba, expected, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert (proba > 0).all()
    winners = classifier.classes_[proba.argmax(axis=1)]
    np.testing.assert_array_equal(classifier.predict(X), winners)
    values = classifier.decision_function(X)
    np.testing.assert_array_equal(classifier.classes_[values.argmax(axis=1)], winners)
    shares = np.exp(values) / np.exp(values).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares, proba, rtol=1e-6, atol=1e-12)


def test_the_map_is_what_its_option_says(blobs):
    assert isinstance(fit(blobs).composition_.final.map, BiasMap)
    # Least squares of an adjacent code gives zero to most classes; its binaries know more.
    X, y = make_blobs(600, 2, centers=[[k, 0] for k in range(6)], cluster_std=0.5, random_state=0)
    ordered = fit((X, y), "adjacent", SVC(gamma=1.0), final_calibration="decoder")
    final = ordered.composition_.final
    assert isinstance(final.map, DecoderMap)
    assert final.map.weights.shape == (5, 6)


@pytest.mark.parametrize("kind", ["sparse", "precomputed", "float32", "weights"])
def test_it_works_whatever_the_data(kind, blobs):
    X, y = blobs
    dense = fit(blobs, keep_out_of_fold=True)
    expected, tolerance = dense.out_of_fold_proba_, 1e-4
    if kind == "sparse":
        other = fit((scipy.sparse.csr_array(X), y), keep_out_of_fold=True)
    elif kind == "precomputed":
        estimator = SVC(C=3, kernel="precomputed", tol=1e-8)
        other = fit((rbf_kernel(X, gamma=0.2), y), estimator=estimator, keep_out_of_fold=True)
    elif kind == "float32":
        other = fit(blobs, keep_out_of_fold=True, prediction_dtype="float32")
    else:
        other = clone(dense).fit(X, y, sample_weight=np.ones(len(y)))
        tolerance = 1e-12
    np.testing.assert_allclose(other.out_of_fold_proba_, expected, atol=tolerance)


def test_two_classes_and_one(blobs):
    X, y = blobs
    two = fit((X[y < 2], y[y < 2]))
    assert two.decision_function(X).shape == (len(X),)
    np.testing.assert_array_equal(two.predict(X), (two.decision_function(X) > 0).astype(int))
    assert two.composition_.final is not None
    one = fit((X, np.zeros(len(X), dtype=int)))
    assert one.composition_.final is None
    np.testing.assert_array_equal(one.predict_proba(X), 1.0)


@pytest.mark.parametrize("n_rare", [1, 2])
@pytest.mark.parametrize("scheme", ["one-vs-one", "one-vs-rest", "tree", "orthogonal"])
@pytest.mark.parametrize("estimator", [MACHINE, LinearSVC(), LogisticRegression()])
def test_rare_classes_are_calibrated_without_a_warning(n_rare, scheme, estimator, blobs):
    X, y = blobs
    rows = np.concatenate([np.flatnonzero(y != 3), np.flatnonzero(y == 3)[:n_rare]])
    classifier = fit((X[rows], y[rows]), scheme, estimator)
    proba = classifier.predict_proba(X)
    assert np.isfinite(proba).all()
    assert (proba > 0).all()
    # It is rarely the answer where it has rarely been the truth.
    assert np.mean(classifier.predict(X[y != 3]) == 3) < 0.1


@pytest.mark.parametrize(
    "scheme", ["one-vs-one", "one-vs-rest", "tree", "orthogonal", "adjacent", "ordered"]
)
@pytest.mark.filterwarnings("ignore:Partition:polytomy.CalibrationWarning")
def test_single_samples_of_all_classes_are_told_apart(scheme):
    X, y = np.arange(12.0).reshape(4, 3), np.arange(4)
    with pytest.warns(CalibrationWarning, match="There is no final calibration"):
        classifier = fit((X, y), scheme, SVC(C=100))
    np.testing.assert_array_equal(classifier.predict(X), y)


def test_the_only_sample_of_a_class_is_not_calibrated_on(blobs):
    X, y = blobs
    rows = np.concatenate([np.flatnonzero(y != 3), np.flatnonzero(y == 3)[:1]])
    classifier = fit((X[rows], y[rows]), keep_out_of_fold=True)
    is_unknown = np.isnan(classifier.out_of_fold_proba_).all(axis=1)
    np.testing.assert_array_equal(np.flatnonzero(is_unknown), [len(rows) - 1])


def test_a_class_without_weight_is_unlikely_and_not_an_error(blobs):
    X, y = blobs
    classifier = PolytomyClassifier(MACHINE, random_state=0)
    classifier.fit(X, y, sample_weight=(y != 2).astype(float))
    proba = classifier.predict_proba(X)
    assert np.isfinite(proba).all()
    assert not (proba.argmax(axis=1) == 2).any()


def test_separable_classes_are_not_made_certain():
    X, y = make_blobs(90, 2, centers=3, cluster_std=0.3, random_state=0)
    for estimator in (SVC(C=10), LogisticRegression()):
        proba = fit((X, y), estimator=estimator).predict_proba(X)
        # Ninety samples without an error do not show that errors are as rare as one in a million.
        assert proba.min() > 1e-6
        assert proba.max(axis=1).min() > 0.9


# -- scores ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [None, "random"])
def test_the_score_is_that_of_the_kept_probabilities(weight, blobs):
    X, y = blobs
    if weight is not None:
        weight = np.random.default_rng(0).uniform(0.2, 3, len(y))
    classifier = PolytomyClassifier(MACHINE, keep_out_of_fold=True, random_state=0)
    classifier.fit(X, y, sample_weight=weight)
    proba, score = classifier.out_of_fold_proba_, classifier.out_of_fold_score_
    assert proba.shape == (len(y), 4)
    assert list(score) == ["log_loss", "brier_score", "accuracy", "uncertainty_coefficient"]
    winners = proba.argmax(axis=1)
    squares = ((proba - np.eye(4)[y]) ** 2).sum(axis=1)
    assert score["log_loss"] == pytest.approx(log_loss(y, proba, sample_weight=weight))
    assert score["brier_score"] == pytest.approx(np.average(squares, weights=weight))
    assert score["accuracy"] == pytest.approx(accuracy_score(y, winners, sample_weight=weight))
    assert score["uncertainty_coefficient"] == pytest.approx(
        metrics.uncertainty_coefficient(y, winners, sample_weight=weight)
    )


@pytest.mark.parametrize("option", ["bias", "decoder"])
@pytest.mark.parametrize(
    ("scheme", "estimator"),
    [
        ("one-vs-one", SVC(gamma=0.05)),
        ("one-vs-rest", SVC(gamma=0.05)),
        ("adjacent", SVC(gamma=0.05)),
        ("one-vs-one", LogisticRegression()),
    ],
)
def test_the_out_of_fold_score_foretells_the_score_of_new_samples(scheme, estimator, option):
    X, y = make_classification(
        4000, 8, n_informative=6, n_redundant=0, n_classes=5, n_clusters_per_class=1, random_state=0
    )
    classifier = fit((X[:1000], y[:1000]), scheme, estimator, final_calibration=option)
    proba = classifier.predict_proba(X[1000:])
    losses = -np.log(proba[np.arange(3000), y[1000:]])
    score = classifier.out_of_fold_score_
    # Three standard errors of the mean over as many samples as were held out. Models that are
    # trained on a fifth less are a little worse.
    error = losses.std() / np.sqrt(1000)
    assert losses.mean() - 3 * error < score["log_loss"] < losses.mean() + 4 * error
    accuracy = np.mean(proba.argmax(axis=1) == y[1000:])
    assert score["accuracy"] == pytest.approx(accuracy, abs=0.04)


def test_the_score_is_honest_about_noise():
    # Labels that have nothing to do with the samples: nothing beats the frequencies of the classes.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 20)), rng.integers(0, 4, 300)
    for option in ("bias", "decoder"):
        score = fit((X, y), estimator=SVC(C=10), final_calibration=option).out_of_fold_score_
        assert score["log_loss"] > np.log(4) - 0.02
        assert score["accuracy"] < 0.25 + 3 * np.sqrt(0.25 * 0.75 / 300)


# -- learnt again ----------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["bias", "decoder", LogisticRegression()])
@pytest.mark.parametrize("estimator", [MACHINE, LogisticRegression(), GaussianNB()])
def test_with_solver_is_a_fit_with_that_solver(option, estimator, blobs):
    X, _ = blobs
    keywords = {"estimator": estimator, "final_calibration": option, "keep_out_of_fold": True}
    fresh = fit(blobs, "one-vs-rest", solver="least-squares", **keywords)
    for first in ("auto", "voting", "divergence"):
        changed = fit(blobs, "one-vs-rest", solver=first, **keywords).with_solver("least-squares")
        np.testing.assert_array_equal(changed.predict_proba(X), fresh.predict_proba(X))
        np.testing.assert_array_equal(changed.out_of_fold_proba_, fresh.out_of_fold_proba_)
        assert changed.out_of_fold_score_ == fresh.out_of_fold_score_
    assert fresh.with_solver("voting").composition_.final is None
    again = fresh.with_solver("voting").with_solver("least-squares")
    np.testing.assert_array_equal(again.predict_proba(X), fresh.predict_proba(X))


def test_with_solver_auto_is_the_solver_of_a_fit(blobs):
    X, _ = blobs
    automatic = fit(blobs, "one-vs-rest")
    changed = automatic.with_solver("least-squares").with_solver("auto")
    assert changed.composition_.solver == "divergence"
    np.testing.assert_array_equal(changed.predict_proba(X), automatic.predict_proba(X))


# The weights of a decoder depend on where the minimisation starts, to the third digit.
@pytest.mark.parametrize(("option", "tolerance"), [("bias", 1e-6), ("decoder", 2e-3)])
def test_with_scheme_is_a_fit_with_that_scheme(option, tolerance, blobs):
    X, _ = blobs
    ensemble = fit(blobs, SchemeEnsemble([TREE, OTHER_TREE]), final_calibration=option)
    for tree in (TREE, OTHER_TREE):
        changed, fresh = ensemble.with_scheme(tree), fit(blobs, tree, final_calibration=option)
        np.testing.assert_allclose(changed.predict_proba(X), fresh.predict_proba(X), atol=tolerance)
        assert changed.out_of_fold_score_ == pytest.approx(fresh.out_of_fold_score_, abs=tolerance)
    reordered = designs.one_vs_one([3, 2, 1, 0])
    changed = fit(blobs, final_calibration=option).with_scheme(reordered)
    fresh = fit(blobs, reordered, final_calibration=option)
    np.testing.assert_allclose(changed.predict_proba(X), fresh.predict_proba(X), atol=tolerance)


def test_with_scheme_chooses_the_solver_of_the_new_scheme(blobs):
    from_pairs = SchemeEnsemble([designs.balanced_tree(4), designs.one_vs_rest(4)])
    ensemble = fit(blobs, from_pairs)
    assert ensemble.composition_.solvers == ("least-squares", "divergence")
    single = ensemble.with_scheme(designs.one_vs_rest(4))
    assert single.composition_.solver == "divergence"
    fixed = fit(blobs, from_pairs, solver="least-squares").with_scheme(designs.one_vs_rest(4))
    assert fixed.composition_.solver == "least-squares"


def test_a_model_without_out_of_fold_scores_warns_that_it_loses_the_calibration(blobs):
    composition = replace(fit(blobs).composition_, out_of_fold=None)
    with pytest.warns(CalibrationWarning, match="no longer have a final calibration"):
        other = composition.with_solver("divergence")
    assert other.final is None
    # A solver without probabilities has none in any case.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert composition.with_solver("voting").final is None


# -- copies, batches -------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["bias", "decoder", LogisticRegression()])
def test_it_survives_pickling_and_a_clone_starts_anew(option, blobs):
    X, y = blobs
    classifier = fit(blobs, final_calibration=option, keep_out_of_fold=True)
    again = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    np.testing.assert_array_equal(again.out_of_fold_proba_, classifier.out_of_fold_proba_)
    np.testing.assert_array_equal(
        again.with_solver("divergence").predict_proba(X),
        classifier.with_solver("divergence").predict_proba(X),
    )
    new = clone(classifier)
    assert not hasattr(new, "composition_")
    np.testing.assert_array_equal(new.fit(X, y).predict_proba(X), classifier.predict_proba(X))


@pytest.mark.parametrize("estimator", [SGDClassifier(loss="log_loss"), SGDClassifier()])
def test_a_further_batch_without_a_reservoir_drops_the_calibration_and_says_so(estimator, blobs):
    X, y = blobs
    classifier = fit(blobs, "one-vs-rest", estimator, reservoir_size=0)
    assert classifier.composition_.final is not None
    with pytest.warns(CalibrationWarning, match="no longer calibrated"):
        classifier.partial_fit(X[:10], y[:10])
    assert classifier.composition_.final is None
    assert classifier.composition_.solver == "least-squares"
    assert not hasattr(classifier, "out_of_fold_score_")
    np.testing.assert_array_equal(
        classifier.predict_proba(X), solve(classifier.scheme_, classifier.decisions(X))
    )


def test_scheme_auto_is_calibrated(blobs):
    X, _ = blobs
    classifier = fit(blobs, "auto", LogisticRegression(), cv=3)
    assert classifier.composition_.final is not None
    assert classifier.out_of_fold_score_["log_loss"] < np.log(4)
    np.testing.assert_allclose(classifier.predict_proba(X).sum(axis=1), 1)


def test_a_user_s_solver_is_calibrated_too(blobs):
    def softened(scheme, decisions):
        return np.sqrt(p := solve(scheme, decisions)) / np.sqrt(p).sum(axis=1, keepdims=True)

    classifier = fit(blobs, solver=softened)
    plain = fit(blobs)
    # A larger scale undoes the square root.
    assert classifier.composition_.final.map.scale > plain.composition_.final.map.scale
    assert classifier.out_of_fold_score_["log_loss"] == pytest.approx(
        plain.out_of_fold_score_["log_loss"], abs=0.05
    )
