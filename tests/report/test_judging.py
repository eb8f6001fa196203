"""The numbers of a model report."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.special import softmax
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss

import polytomy as pt
from polytomy.model.decisions import maximise_likelihood
from polytomy.report.judging import JudgedModel, Priors
from polytomy.report.model_parts import Samples, draw_rows
from report.models import KINDS, make_samples


def judge(estimator, X, y=None, most=10_000, names=None):
    return JudgedModel.judge(Samples.draw(estimator, X, most, names), y)


@pytest.fixture(scope="module")
def classifier():
    return KINDS["one-vs-one"]()[0]


@given(st.integers(1, 50), st.integers(1, 50))
def test_drawn_rows_are_ascending_different_and_always_the_same(n_rows, most):
    rows = draw_rows(n_rows, most)
    assert len(rows) == min(n_rows, most)
    assert (np.diff(rows) > 0).all()
    assert rows[0] >= 0
    assert rows[-1] < n_rows
    assert np.array_equal(rows, draw_rows(n_rows, most))


def test_scores_are_those_of_scikit_learn(classifier):
    X, y = make_samples(1)
    lines = judge(classifier, X, y).compare_with_training(y)
    proba = classifier.predict_proba(X)
    assert lines["accuracy"].value == pytest.approx(accuracy_score(y, classifier.predict(X)))
    assert lines["log_loss"].value == pytest.approx(log_loss(y, proba))
    assert list(lines) == ["accuracy", "log_loss", "brier_score"]
    for name, line in lines.items():
        assert line.promised == classifier.out_of_fold_score_[name]


def test_with_another_prior_training_promises_what_it_found_at_those_frequencies(classifier):
    X, y = make_samples(1)
    prior = np.array([0.7, 0.1, 0.1, 0.1])
    rows = classifier.composition_.with_conformity().final.conformity
    proba = np.exp(rows.log_proba.astype(float)) * prior / classifier.prior_
    weight = (prior / np.bincount(rows.class_indices))[rows.class_indices]
    promised = accuracy_score(rows.class_indices, proba.argmax(axis=1), sample_weight=weight)
    loss = log_loss(rows.class_indices, proba / proba.sum(axis=1, keepdims=True),
                    sample_weight=weight)  # fmt: skip
    lines = judge(classifier.with_prior(prior), X, y).compare_with_training(y)
    assert lines["accuracy"].promised == pytest.approx(promised)
    assert lines["log_loss"].promised == pytest.approx(loss)
    # The prior itself raises the accuracy: training alone had promised less.
    assert promised > classifier.out_of_fold_score_["accuracy"]


def test_the_standard_errors_of_an_accuracy_are_those_of_a_share(classifier):
    X, y = make_samples(1, n_samples=90)
    line = judge(classifier, X, y).compare_with_training(y)["accuracy"]
    share, n = line.value, len(y)
    assert line.error == pytest.approx(np.sqrt(share * (1 - share) / (n - 1)))
    # Of all samples together, here and out of fold, the share that is right.
    rows = classifier.composition_.with_conformity().final.conformity
    m = len(rows.class_indices)
    hits = share * n + np.sum(rows.log_proba.argmax(axis=1) == rows.class_indices)
    both = hits / (n + m)
    variance = both * (1 - both) * (n + m) / (n + m - 1)
    assert line.noise == pytest.approx(np.sqrt(variance * (1 / n + 1 / m)))


def test_a_few_samples_without_an_error_are_not_better_than_promised():
    X, y = load_iris(return_X_y=True)
    classifier = pt.PolytomyClassifier(LogisticRegression(), random_state=0).fit(X[::2], y[::2])
    line = judge(classifier, X[1:40], y[1:40]).compare_with_training(y[1:40])["accuracy"]
    assert line.value == 1.0 > line.promised
    assert line.error == 0.0
    assert line.verdict == "within noise"


def test_harder_samples_are_worse_than_promised(classifier):
    X, y = make_samples(2, shift=1.0)
    lines = judge(classifier, X, y).compare_with_training(y)
    assert {line.verdict for line in lines.values()} == {"worse than promised"}


def test_without_a_final_calibration_nothing_was_promised():
    model, X, y = KINDS["uncalibrated"]()
    lines = judge(model, X, y).compare_with_training(y)
    assert {line.verdict for line in lines.values()} == {"unknown"}


def test_without_held_out_rows_training_has_promised_nothing(classifier):
    X, y = make_samples(1)
    model = copy(classifier)
    final = replace(model.composition_.final, score={}, conformity=None)
    model.composition_ = replace(model.composition_, final=final, out_of_fold=None)
    report = pt.ModelReport(model, X, y)
    assert report.summary.endswith("; training made no estimate to compare with.")
    assert "by training" not in pt.ModelReport(model, X).summary


def test_partitions_err_where_their_answers_are_on_the_wrong_side():
    model, X, y = KINDS["tree"]()
    partitions, n_judged = judge(model, X, y).judge_partitions()
    assert n_judged == len(X)
    decisions = model.decisions(X)
    for k, (each, partition) in enumerate(zip(partitions, model.scheme_.partitions, strict=True)):
        side = np.where(np.isin(y, partition.positive_classes), 1, -1)
        side[~np.isin(y, partition.positive_classes + partition.negative_classes)] = 0
        wrong = np.flatnonzero(side * decisions[:, k] < 0)
        assert sorted(each.wrong) == wrong.tolist()
        assert each.n_samples == np.count_nonzero(side)
        assert each.error == pytest.approx(len(wrong) / each.n_samples)
        chances = (1 + np.abs(decisions[each.wrong, k])) / 2
        assert each.chances == pytest.approx(chances)
        assert (np.diff(each.chances) <= 0).all()
        assert each.reliability[:, 0].sum() == each.n_samples


def test_without_labels_samples_count_as_far_as_they_belong_to_a_partition():
    model, X, _ = KINDS["tree"]()
    partitions, _ = judge(model, X).judge_partitions()
    decisions, proba = model.decisions(X), model.predict_proba(X)
    for k, (each, partition) in enumerate(zip(partitions, model.scheme_.partitions, strict=True)):
        weight = proba[:, list(partition.negative + partition.positive)].sum(axis=1)
        errors = (1 - np.abs(decisions[:, k])) / 2
        assert each.error == pytest.approx(np.average(errors, weights=weight), rel=1e-6)
        assert each.n_samples == round(weight.sum())


def test_the_partition_of_a_direct_scheme_errs_where_its_model_does():
    model, X, y = KINDS["direct"]()
    ((partition,), _) = judge(model, X, y).judge_partitions()
    predicted = model.estimators_[0].predict(X)
    assert sorted(partition.wrong) == np.flatnonzero(predicted != y).tolist()


def test_with_many_binaries_partitions_are_judged_on_fewer_samples(monkeypatch, classifier):
    X, y = make_samples(1)
    monkeypatch.setattr("polytomy.report.judging._MOST_ANSWERS", 60)
    partitions, n_judged = judge(classifier, X, y).judge_partitions()
    assert n_judged == 60 // len(partitions)
    assert sum(len(each.wrong) for each in partitions) <= 3 * n_judged


def test_the_estimated_prior_is_that_of_the_classifier():
    for kind in ("one-vs-one", "prior"):
        model, X, _ = KINDS[kind]()
        priors = judge(model, X).compare_priors()
        assert priors.assumed == pytest.approx(model.prior_)
        assert priors.observed is None
        assert priors.estimated == pytest.approx(model.estimate_prior(X), abs=1e-4)


_SIZES = st.integers(50, 5000)


@given(st.integers(0, 2**32 - 1), st.integers(2, 20), _SIZES, st.one_of(_SIZES, st.just(np.inf)))
def test_samples_with_the_assumed_frequencies_seldom_seem_shifted(
    seed, n_classes, n_samples, n_training
):
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.full(n_classes, 1.0))
    n_shifted = 0
    for observed in rng.multinomial(n_samples, true, size=50) / n_samples:
        is_given = n_training == np.inf
        assumed = true if is_given else rng.multinomial(n_training, true) / n_training
        n_shifted += Priors(assumed, observed, None, n_samples, n_training, 0.0).is_shifted
    # One in a hundred is; seven of fifty or more have a probability of 5e-7.
    assert n_shifted <= 6


@given(st.integers(0, 2**32 - 1), st.integers(2, 8), st.floats(0.3, 3.0))
def test_without_labels_calibrated_probabilities_seldom_seem_shifted(seed, n_classes, certainty):
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.full(n_classes, 5.0))
    n_shifted = 0
    for _ in range(20):
        # A sample is its class plus noise; the probabilities are those of Bayes' rule.
        truth = rng.choice(n_classes, size=300, p=prior)
        noisy = np.eye(n_classes)[truth] + rng.normal(size=(300, n_classes)) / certainty
        proba = softmax(noisy * certainty**2 + np.log(prior), axis=1)
        estimated = maximise_likelihood(proba, prior)
        evidence = np.mean(np.log(proba @ (estimated / prior)))
        n_shifted += Priors(prior, None, estimated, 300, np.inf, evidence).is_shifted
    assert n_shifted <= 3


def test_the_evidence_of_a_shift_is_a_likelihood_ratio(classifier):
    X, _ = make_samples(1)
    found = judge(classifier, X).compare_priors()
    ratios = classifier.predict_proba(X) @ (found.estimated / found.assumed)
    assert found.evidence == pytest.approx(np.log(ratios).mean(), rel=1e-6)
    assert found.n_training == 200
    prior = judge(classifier.with_prior([0.7, 0.1, 0.1, 0.1]), X).compare_priors()
    assert prior.n_training == np.inf


def test_other_frequencies_are_a_shift(classifier):
    X, y = make_samples(1, n_samples=400)
    rare = np.flatnonzero((y != 0) | (np.arange(len(y)) % 10 == 0))
    model = judge(classifier, X[rare], y[rare])
    assert model.compare_priors().is_shifted
    assert judge(classifier, X[rare]).compare_priors().is_shifted
    assert not judge(classifier, X, y).compare_priors().is_shifted


def test_samples_to_look_at_are_the_closest_races_and_the_most_certain_errors():
    model, X, y = KINDS["one-vs-one"]()
    chosen = judge(model, X, y).chosen
    proba = np.sort(model.predict_proba(X), axis=1)
    margins = proba[:, -1] - proba[:, -2]
    assert margins[chosen["Least sure"]] == pytest.approx(np.sort(margins)[:10])
    wrong = np.flatnonzero(model.predict(X) != y)
    worst = wrong[np.argsort(-margins[wrong])][:10]
    assert margins[chosen["Wrong, the most certain first"]] == pytest.approx(margins[worst])


def test_errors_because_of_costs_are_not_errors_of_certainty():
    model, X, y = KINDS["costs"]()
    wrong = judge(model, X, y).chosen["Wrong, the most certain first"]
    likeliest = model.classes_[model.predict_proba(X).argmax(axis=1)]
    is_wrong = (likeliest != y) & (model.predict(X) == likeliest)
    assert sorted(wrong) == np.flatnonzero(is_wrong).tolist()


def test_features_are_described_by_name_or_number():
    _, X, _ = KINDS["sparse"]()
    model = KINDS["sparse"]()[0]
    row = int(np.argmax((X != 0).sum(axis=1)))
    columns = X[[row]].indices
    text = Samples.draw(model, X, 1000, None).describe(row)
    assert text.split(", ")[0] == f"feature {columns[0]} = {X[row, columns[0]]:.4g}"
    text = Samples.draw(model, X, 1000, list("abcde")).describe(row)
    assert text.startswith(f"{'abcde'[columns[0]]} = ")
    model, frame, _ = KINDS["frame"]()
    samples = Samples.draw(model, frame, 1000, None)
    assert samples.describe(3).startswith(f"height = {frame.iloc[3, 0]:.4g}, width = ")
    assert samples.names[3] == "plant 3"


def test_each_column_has_one_name(classifier):
    X, _ = make_samples(1)
    words = "feature_names must have a name for each of the 5 columns of X; got 3"
    for samples in (X, X.tolist(), csr_array(X)):
        with pytest.raises(pt.ArgumentError, match=words):
            Samples.draw(classifier, samples, 1000, ["a", "b", "c"])
        assert Samples.draw(classifier, samples, 1000, list("abcde")).feature_names[0] == "a"


def test_labels_that_do_not_fit_are_refused(classifier):
    X, y = make_samples(1)
    with pytest.raises(pt.ArgumentError, match="y has 3 labels for 200 samples of X"):
        judge(classifier, X, y[:3])
    with pytest.raises(pt.ArgumentError, match="y has the label 9, which the classifier was not"):
        judge(classifier, X, y + 9 * (y == 0))
    with pytest.raises(pt.ArgumentError, match=r"y has shape \(200, 1\); it needs one label for"):
        judge(classifier, X, y[:, None])
    with pytest.raises(pt.ArgumentError, match=r"y\[0\] is nan, which is not a label"):
        judge(classifier, X, np.full(200, np.nan))
    with pytest.raises(pt.ArgumentError, match="X has no samples"):
        judge(classifier, X[:0])
    alone = pt.PolytomyClassifier(LogisticRegression()).fit(X, np.zeros(len(X)))
    with pytest.raises(pt.ArgumentError, match="a single class has nothing to report"):
        judge(alone, X)
