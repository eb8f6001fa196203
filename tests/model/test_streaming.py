"""Training on a stream of batches."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB

import polytomy as pt
from polytomy import PolytomyClassifier
from polytomy.errors import ArgumentError, CalibrationWarning

N_CLASSES = 4


@pytest.fixture(scope="module")
def samples():
    generator = np.random.default_rng(0)
    y = generator.choice(N_CLASSES, 3000, p=[0.4, 0.3, 0.2, 0.1])
    return generator.normal(size=(3000, 6)) + 1.3 * np.eye(N_CLASSES, 6)[y], y


def train(samples, estimator=None, n_batches=6, n_rows=2000, **parameters):
    X, y = samples
    estimator = SGDClassifier(average=True, random_state=0) if estimator is None else estimator
    classifier = PolytomyClassifier(
        estimator, **{"scheme": "one-vs-rest", "random_state": 0, **parameters}
    )
    for rows in np.array_split(np.arange(n_rows), n_batches):
        classifier.partial_fit(X[rows], y[rows], classes=range(N_CLASSES))
    return classifier


def log_loss(classifier, samples):
    X, y = samples
    return pt.metrics.log_loss(y[2000:], classifier.predict_proba(X[2000:]), range(N_CLASSES))


@pytest.mark.parametrize("scheme", ["one-vs-rest", "one-vs-one", "tree", "m {0 1 2 3}"])
def test_a_stream_has_calibrated_probabilities(samples, scheme):
    X, y = samples
    classifier = train(samples, scheme=scheme)
    plain = train(samples, scheme=scheme, reservoir_size=0)
    best = log_loss(LogisticRegression().fit(X[:2000], y[:2000]), samples)
    assert log_loss(classifier, samples) < 1.25 * best < log_loss(plain, samples)
    # It knows how good it is, from rows that it was not trained on.
    expected = classifier.out_of_fold_score_["log_loss"]
    assert expected == pytest.approx(log_loss(classifier, samples), rel=0.25)


def test_binaries_are_trained_on_the_rows_that_are_not_held_out(samples):
    X, y = samples
    classifier = train(samples, GaussianNB(), n_batches=3)
    is_held = np.zeros(2000, dtype=bool)
    is_held[classifier.reservoir_.positions] = True
    assert 0 < np.count_nonzero(is_held) < 300
    for label, model in enumerate(classifier.estimators_):
        plain = GaussianNB().fit(X[:2000][~is_held], y[:2000][~is_held] == label)
        np.testing.assert_allclose(
            model.predict_proba(X)[:, 1], plain.predict_proba(X)[:, 1], atol=1e-6
        )


def test_rows_that_leave_the_reservoir_are_trained_on(samples):
    classifier = train(samples, GaussianNB(), n_batches=20, reservoir_size=8)
    assert classifier.reservoir_.n_held == 8
    counts = classifier.estimators_[0].class_count_
    assert counts.sum() == 2000 - 8


def test_a_reservoir_of_size_0_trains_on_all_rows_and_calibrates_nothing(samples):
    classifier = train(samples, GaussianNB(), reservoir_size=0)
    assert classifier.estimators_[0].class_count_.sum() == 2000
    assert classifier.composition_.final is None
    assert not hasattr(classifier, "reservoir_")
    assert not hasattr(classifier, "out_of_fold_score_")


def test_nothing_is_held_out_if_nothing_is_calibrated(samples):
    classifier = train(samples, GaussianNB(), final_calibration=None)
    assert classifier.estimators_[0].class_count_.sum() == 2000
    margins = train(samples, final_calibration=None)
    assert margins.reservoir_.n_held > 0
    assert margins.composition_.final is None
    assert all(each.calibrator.slope_ != 1.0 for each in margins.binaries_)


def test_calibration_is_learnt_when_it_is_asked_for(samples):
    classifier = train(samples)
    assert "composition_" not in vars(classifier)
    again = pickle.loads(pickle.dumps(classifier))
    found = classifier.predict_proba(samples[0])
    assert "composition_" in vars(classifier)
    np.testing.assert_array_equal(again.predict_proba(samples[0]), found)
    assert not hasattr(clone(classifier), "composition_")


def test_asking_between_batches_changes_nothing(samples):
    X, y = samples
    asked = PolytomyClassifier(SGDClassifier(), "one-vs-rest", random_state=0)
    for rows in np.array_split(np.arange(2000), 6):
        asked.partial_fit(X[rows], y[rows], classes=range(N_CLASSES)).predict(X[:5])
    np.testing.assert_array_equal(
        asked.predict_proba(X), train(samples, SGDClassifier()).predict_proba(X)
    )


def test_a_second_pass_holds_out_the_same_rows(samples):
    X, y = samples
    classifier = train(samples, GaussianNB())
    held = classifier.reservoir_.positions
    classifier.begin_pass()
    for rows in np.array_split(np.arange(2000), 9):
        classifier.partial_fit(X[rows], y[rows])
    assert classifier.reservoir_.positions.tolist() == held.tolist()
    assert classifier.estimators_[0].class_count_.sum() == 2 * (2000 - len(held))
    with pytest.raises(ArgumentError, match="there was no pass yet"):
        PolytomyClassifier(GaussianNB()).begin_pass()


def test_weights_count_as_repeated_rows_in_the_calibration(samples):
    X, y = samples
    weight = np.where(y == 3, 5.0, 1.0)
    classifier = PolytomyClassifier(GaussianNB(), "one-vs-rest", random_state=0)
    for rows in np.array_split(np.arange(2000), 4):
        classifier.partial_fit(X[rows], y[rows], range(N_CLASSES), sample_weight=weight[rows])
    share = classifier.predict_proba(X[2000:]).mean(axis=0)
    expected = np.bincount(y[2000:], weight[2000:]) / weight[2000:].sum()
    # Calibrated for the weighted classes, the last of which has more than its share of rows.
    assert share[3] > 1.5 * np.mean(y == 3)
    assert expected[3] > 1.5 * np.mean(y == 3)


def test_class_weights_reach_the_reservoir(samples):
    weighted = train(samples, GaussianNB(), class_weight={3: 5.0})
    is_last = weighted.reservoir_.class_indices == 3
    assert set(weighted.reservoir_.weight[is_last]) == {5.0}
    assert set(weighted.reservoir_.weight[~is_last]) == {1.0}


def test_classes_that_never_come_do_no_harm(samples):
    X, y = samples
    rows = np.flatnonzero(y[:1000] < 2)
    classifier = PolytomyClassifier(SGDClassifier(average=True), "one-vs-one", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier.partial_fit(X[rows], y[rows], classes=range(N_CLASSES))
    P = classifier.predict_proba(X[rows])
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert (P.argmax(axis=1) == y[rows]).mean() > 0.8


def test_one_row_at_a_time_is_a_stream_too(samples):
    X, y = samples
    estimator = SGDClassifier(loss="log_loss")
    classifier = PolytomyClassifier(estimator, "one-vs-rest", random_state=0)
    for row in range(60):
        classifier.partial_fit(X[row : row + 1], y[row : row + 1], classes=range(N_CLASSES))
        assert np.isfinite(classifier.predict_proba(X[:3])).all()
    assert classifier.reservoir_.n_rows == 60


@pytest.mark.parametrize("kind", [csr_array, pd.DataFrame])
def test_rows_of_any_kind_are_held(samples, kind):
    X, y = samples
    names = {"columns": list("abcdef")} if kind is pd.DataFrame else {}
    parts = [kind(X[:700], **names), kind(X[700:1400], **names)]
    classifier = PolytomyClassifier(SGDClassifier(average=True), "one-vs-rest", random_state=0)
    for part, labels in zip(parts, (y[:700], y[700:1400]), strict=True):
        classifier.partial_fit(part, labels, classes=range(N_CLASSES))
    plain = PolytomyClassifier(SGDClassifier(average=True), "one-vs-rest", random_state=0)
    for part, labels in zip((X[:700], X[700:1400]), (y[:700], y[700:1400]), strict=True):
        plain.partial_fit(part, labels, classes=range(N_CLASSES))
    assert classifier.reservoir_.positions.tolist() == plain.reservoir_.positions.tolist()
    assert type(classifier.reservoir_.X) is kind
    expected = plain.predict(X[2000:])
    assert (classifier.predict(kind(X[2000:], **names)) == expected).mean() > 0.95


def test_a_calibration_of_fit_is_kept_until_enough_rows_are_held_out(samples):
    X, y = samples
    classifier = PolytomyClassifier(SGDClassifier(), "one-vs-rest", random_state=0)
    classifier.fit(X[:1000], y[:1000])
    slopes = [each.calibrator.slope_ for each in classifier.binaries_]
    final = classifier.composition_.final
    classifier.partial_fit(X[1000:1100], y[1000:1100])
    assert [each.calibrator.slope_ for each in classifier.binaries_] == slopes
    assert classifier.composition_.final is final
    for rows in np.array_split(np.arange(1100, 3000), 4):
        classifier.partial_fit(X[rows], y[rows])
    assert classifier.reservoir_.n_held >= 100
    assert [each.calibrator.slope_ for each in classifier.binaries_] != slopes
    assert classifier.composition_.final is not final


def test_without_a_reservoir_a_calibration_of_fit_is_lost_with_a_warning(samples):
    X, y = samples
    classifier = PolytomyClassifier(SGDClassifier(), "one-vs-rest", reservoir_size=0)
    classifier.fit(X[:500], y[:500])
    with pytest.warns(CalibrationWarning, match="no longer calibrated. Use a reservoir_size"):
        classifier.partial_fit(X[500:600], y[500:600])
    assert classifier.composition_.final is None


def test_a_new_fit_forgets_the_stream(samples):
    X, y = samples
    classifier = train(samples)
    classifier.fit(X[:500], y[:500])
    assert not hasattr(classifier, "reservoir_")
    expected = PolytomyClassifier(
        SGDClassifier(average=True, random_state=0), "one-vs-rest", random_state=0
    )
    np.testing.assert_array_equal(
        classifier.predict_proba(X), expected.fit(X[:500], y[:500]).predict_proba(X)
    )


def test_a_copy_with_another_solver_goes_on_alone(samples):
    X, y = samples
    classifier = train(samples)
    before = classifier.predict_proba(X)
    other = classifier.with_solver("least-squares")
    other.partial_fit(X[2000:], y[2000:])
    assert other.composition_.solver == "least-squares"
    assert other.reservoir_.n_rows == 3000
    np.testing.assert_array_equal(classifier.predict_proba(X), before)


def test_a_users_calibrators_need_not_take_weights(samples):
    class Steps:
        def fit(self, values, target):
            self.mean_ = float(np.mean(target))
            return self

        def predict(self, values):
            return np.where(values > 0, 0.9, self.mean_ * 0.5)

    classifier = train(samples, calibration=Steps())
    assert classifier.binaries_[0].calibrator.calibrator.mean_ < 0.7
    assert np.isfinite(classifier.predict_proba(samples[0])).all()


def test_a_calibration_that_wide_partitions_cannot_have_is_refused_at_once(samples):
    X, y = samples
    classifier = PolytomyClassifier(SGDClassifier(), "m {0 1 2 3}", calibration="isotonic")
    with pytest.raises(ArgumentError, match='"m" has 4 sides'):
        classifier.partial_fit(X, y, classes=range(N_CLASSES))


def test_a_wrong_size_is_refused(samples):
    with pytest.raises(ArgumentError, match="reservoir_size must be a number of rows, 0 or more"):
        train(samples, reservoir_size=-1)


def test_a_stream_can_be_calibrated_by_scikit_learn_as_well(samples):
    X, y = samples
    calibrated = CalibratedClassifierCV(train(samples), cv=2)
    assert calibrated.fit(X[:500], y[:500]).score(X[2000:], y[2000:]) > 0.6
