"""Training the binaries of a scheme: jobs, seeds, rare classes, batches."""

import warnings

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from polytomy import PolytomyClassifier
from polytomy.designs import one_vs_one, one_vs_rest
from polytomy.errors import ArgumentError, CalibrationWarning
from polytomy.learners.workload import FitArguments, TrainingListener, TrainingOptions
from polytomy.model.fitting import fit_binaries, plan_training, update_binaries
from polytomy.scheme import parse


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(120, centers=4, cluster_std=2.5, random_state=3)
    return X, np.array(["corn", "oak", "pine", "wheat"])[y]


class Recorder(TrainingListener):
    """Remembers what it hears."""

    def __init__(self):
        self.partitions, self.notes = [], []

    def trained(self, partition):
        self.partitions.append(partition)

    def note(self, text):
        self.notes.append(text)


def pairs_of(y, estimator, models=None):
    return plan_training([one_vs_one(3, name="pair")], np.unique(y), estimator, models).dichotomies


def test_each_binary_is_trained_on_the_samples_of_its_classes(iris):
    X, y = iris
    exact = LogisticRegression(solver="newton-cholesky", tol=1e-12)
    binaries = fit_binaries(pairs_of(y, exact), X, TrainingOptions().of_labels(y)).binaries
    for binary, (negative, positive) in zip(binaries, [(0, 1), (0, 2), (1, 2)], strict=True):
        is_in = np.isin(y, [negative, positive])
        own = clone(exact).fit(X[is_in], y[is_in] == positive)
        np.testing.assert_allclose(binary.decisions(X), 2 * own.predict_proba(X)[:, 1] - 1)
        assert binary.seconds > 0


def test_the_listener_hears_of_each_binary_that_is_trained(iris):
    X, y = iris
    listener = Recorder()
    trained = GaussianNB().fit(X[y < 2], y[y < 2])
    dichotomies = pairs_of(y, GaussianNB(), {"pair-00": trained})
    binaries = fit_binaries(dichotomies, X, TrainingOptions().of_labels(y), listener).binaries
    assert listener.partitions == ["pair-01", "pair-02"]
    assert binaries[0].estimator is trained


def test_arguments_of_a_model_count_for_its_partitions_alone(iris):
    X, y = iris
    weight = np.random.default_rng(0).uniform(0.1, 9.0, len(y))
    options = TrainingOptions(arguments_by_model={"pair-02": FitArguments(weight)})
    dichotomies = pairs_of(y, GaussianNB(), {"pair-02": GaussianNB()})
    binaries = fit_binaries(dichotomies, X, options.of_labels(y)).binaries
    plain = GaussianNB().fit(X[y < 2], y[y < 2])
    weighted = GaussianNB().fit(X[y > 0], y[y > 0], weight[y > 0])
    np.testing.assert_array_equal(binaries[0].estimator.theta_, plain.theta_)
    np.testing.assert_array_equal(binaries[2].estimator.theta_, weighted.theta_)


def test_a_partition_has_the_same_seed_whatever_is_trained_after_it(iris):
    X, y = iris
    dichotomies = pairs_of(y, SGDClassifier(max_iter=5, tol=None))
    options = TrainingOptions(calibration=None, random_state=7)
    every = fit_binaries(dichotomies, X, options.of_labels(y)).binaries
    first = fit_binaries(dichotomies[:1], X, options.of_labels(y)).binaries
    np.testing.assert_array_equal(first[0].decisions(X), every[0].decisions(X))


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_results_do_not_depend_on_jobs_or_backend(backend, blobs):
    X, y = blobs
    alone = PolytomyClassifier(SVC(), random_state=5).fit(X, y)
    with parallel_config(backend=backend):
        together = PolytomyClassifier(SVC(), random_state=5, n_jobs=2).fit(X, y)
        assert (together.decisions(X) == alone.decisions(X)).all()


@pytest.mark.parametrize("smallest", [1, 2, 3])
@pytest.mark.parametrize("calibration", ["auto", "isotonic", "temperature", None])
@pytest.mark.parametrize("final_calibration", ["bias", None])
def test_rare_classes_are_calibrated_without_a_warning(
    smallest, calibration, final_calibration, blobs
):
    X, y = blobs
    rare = np.flatnonzero(y == "oak")[smallest:]
    X, y = np.delete(X, rare, axis=0), np.delete(y, rare)
    classifier = PolytomyClassifier(
        SVC(), calibration=calibration, final_calibration=final_calibration, random_state=0
    )
    with warnings.catch_warnings():
        # Folds that all binaries share hold out a single sample too.
        warnings.simplefilter("error", CalibrationWarning)
        probabilities = classifier.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_many_partitions_that_cannot_be_calibrated_are_one_warning_with_three_reasons():
    X, y = np.arange(12.0)[:, np.newaxis], np.arange(12) % 6
    dichotomies = plan_training([one_vs_rest(6)], np.arange(6), SVC()).dichotomies
    cv = [(np.arange(6), [6])]  # only a sample of the first class is held out
    with pytest.warns(CalibrationWarning) as caught:
        fit_binaries(dichotomies, X, TrainingOptions(cv=cv).of_labels(y))
    (message,) = [str(each.message) for each in caught]
    assert message.count("cannot be calibrated: cv holds out no samples, or only samples") == 3
    assert message.endswith(" 3 more partitions have the same problem.")


def test_batches_train_the_same_binaries_further(iris):
    X, y = iris
    dichotomies = pairs_of(y, GaussianNB())
    options = TrainingOptions()
    binaries = None
    for part in (slice(0, 150, 2), slice(1, 150, 2)):
        binaries = update_binaries(binaries, dichotomies, X[part], options.of_labels(y[part]))
    for binary, whole in zip(
        binaries, fit_binaries(dichotomies, X, options.of_labels(y)).binaries, strict=True
    ):
        np.testing.assert_allclose(binary.decisions(X), whole.decisions(X), atol=1e-9)


def test_batches_do_not_train_models_that_were_fitted_before(iris):
    X, y = iris
    trained = GaussianNB().fit(X[y < 2], y[y < 2])
    dichotomies = pairs_of(y, GaussianNB(), {"pair-00": trained})
    binaries = update_binaries(None, dichotomies, X, TrainingOptions().of_labels(y))
    assert binaries[0] is dichotomies[0].trained


def test_batches_take_no_arguments_but_weights(iris):
    X, y = iris
    options = TrainingOptions(arguments=FitArguments(None, {"groups": y}))
    with pytest.raises(ArgumentError, match="partial_fit does not take groups"):
        update_binaries(None, pairs_of(y, GaussianNB()), X, options.of_labels(y))


def test_given_seeds_take_the_place_of_those_of_the_random_state(iris):
    X, y = iris
    options = TrainingOptions(random_state=0, calibration=None)
    pairs = pairs_of(y, SGDClassifier(loss="log_loss"))
    twice = fit_binaries(
        [*pairs, *pairs], X, options.of_labels(y), seeds=[3, 4, 5, 3, 4, 5]
    ).binaries
    answers = [binary.scores(X) for binary in twice]
    for one, other in zip(answers[:3], answers[3:], strict=True):
        np.testing.assert_array_equal(one, other)
    own = [binary.scores(X) for binary in fit_binaries(pairs, X, options.of_labels(y)).binaries]
    assert not any(np.array_equal(*both) for both in zip(own, answers[:3], strict=True))


@pytest.mark.usefixtures("joblib_processes")
def test_wide_partitions_are_trained_once_whatever_the_number_of_jobs(blobs):
    X, y = blobs
    scheme = parse("m 0 / 1 / 2 3; n 0 / 1 / 2 / 3; {corn oak pine wheat}")
    heard = Recorder()
    plan = plan_training([scheme], np.unique(y), SVC())
    trained = fit_binaries(plan.dichotomies, X, TrainingOptions(random_state=0).of_labels(y), heard)
    assert heard.partitions == ["m", "n"]
    assert len({id(binary.estimator) for binary in trained.binaries}) == 2
    parallel = fit_binaries(
        plan.dichotomies, X, TrainingOptions(random_state=0, n_jobs=2).of_labels(y)
    )
    for first, second in zip(trained.binaries, parallel.binaries, strict=True):
        np.testing.assert_array_equal(first.decisions(X), second.decisions(X))


def test_wide_partitions_are_trained_in_batches(iris):
    X, y = iris
    scheme = parse("m 0 / 1 / 2; {0 1 2}")
    dichotomies = plan_training([scheme], np.arange(3), GaussianNB()).dichotomies
    binaries = None
    for part in np.array_split(np.random.default_rng(0).permutation(len(X)), 4):
        options = TrainingOptions()
        binaries = update_binaries(binaries, dichotomies, X[part], options.of_labels(y[part]))
    expected = 2 * GaussianNB().fit(X, y).predict_proba(X) - 1
    found = np.column_stack([binary.decisions(X) for binary in binaries])
    np.testing.assert_allclose(found, expected, atol=1e-6)
