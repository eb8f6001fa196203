"""Compressed classifiers: the same interface, and losses that are true."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_classification
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import polytomy as pt
from polytomy import PolytomyClassifier
from polytomy.errors import ArgumentError, DataError
from polytomy.model import compression
from polytomy.persistence import load_control, write_borders

METHODS = ["fourier", "borders"]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[::4], y[::4], X[1::4], y[1::4]


@pytest.fixture(scope="module")
def exact(digits):
    X, y, _, _ = digits
    return PolytomyClassifier(SVC(C=10), random_state=0).fit(X, y)


@pytest.fixture(scope="module", params=METHODS)
def fast(request, digits, exact):
    X, y, _, _ = digits
    return exact.compress(X, y, method=request.param, max_accuracy_loss=1.0)


def test_the_loss_that_is_told_is_that_on_new_samples(digits, exact, fast):
    _, _, X, y = digits
    change = exact.score(X, y) - fast.score(X, y)
    told = fast.compression_
    # Both are means over about 450 samples, so their errors are about equal.
    assert abs(change - told.accuracy_loss) < 4 * np.sqrt(2) * max(told.accuracy_loss_error, 0.004)
    assert told.n_samples == len(digits[0])


def test_probabilities_sum_to_one(digits, fast):
    assert np.allclose(fast.predict_proba(digits[2]).sum(axis=1), 1.0)


def test_decision_values_are_a_ridge_regression(digits, exact):
    X = digits[0]
    fast = compression._build_fourier(exact.composition_, X, 50)
    inputs = fast.preprocess(X)
    targets = exact.composition_.bank.scores(X)
    ridge = Ridge(alpha=1e-5 * len(X)).fit(inputs, targets)
    assert np.allclose(fast.bank.scores(inputs), ridge.predict(inputs), atol=1e-6)


def test_border_samples_are_on_the_border_and_their_gradients_are_those_of_the_answers(digits):
    X, y, _, _ = digits
    rows = y < 2
    exact = PolytomyClassifier(SVC(gamma=0.001), random_state=0).fit(X[rows], y[rows])
    bank = exact.composition_.bank
    fast = compression._build_borders(exact.composition_, X[rows], 5)
    machine = fast.binaries[0].estimator
    assert np.abs(bank.decisions(machine.borders)).max() < 1e-9
    direction = np.random.default_rng(0).normal(size=X.shape[1])
    step = 1e-3 * direction
    change = bank.decisions(machine.borders + step) - bank.decisions(machine.borders - step)
    assert np.allclose(change[:, 0] / 2, machine.gradients @ step, rtol=1e-3, atol=1e-9)


def test_saved_models_give_the_same_answers(digits, fast, tmp_path):
    pt.save(fast, tmp_path / "fast.polytomy")
    loaded = pt.load(tmp_path / "fast.polytomy")
    assert np.array_equal(loaded.predict_proba(digits[2]), fast.predict_proba(digits[2]))
    assert loaded.compression_ == fast.compression_


def test_sets_contain_the_class_as_often_as_promised(digits, fast):
    _, _, X, y = digits
    sets = fast.predict_set(X, 0.95)
    assert sets[np.arange(len(y)), y].mean() > 0.93


def test_priors_costs_solvers_and_explanations_work(digits, fast):
    X = digits[2][:20]
    prior = np.full(10, 0.1)
    assert np.allclose(fast.with_prior(prior).predict_proba(X).sum(axis=1), 1.0)
    assert fast.with_cost(reject_cost=0.01).predict(X).shape == (20,)
    assert fast.with_solver("voting").predict(X).shape == (20,)
    assert fast.explain(X[:1]) is not None


def test_random_features_can_be_exported(digits, exact):
    onnxruntime = pytest.importorskip("onnxruntime")
    X, y, X_new, _ = digits
    fast = exact.compress(X, y, method="fourier", max_accuracy_loss=1.0)
    session = onnxruntime.InferenceSession(pt.to_onnx(fast, dtype="float64").SerializeToString())
    probabilities = session.run(None, {"X": X_new})[1]
    assert np.abs(probabilities - fast.predict_proba(X_new)).max() < 1e-9


@pytest.mark.parametrize("shares", [True, False])
def test_scalers_before_the_machines_are_kept(digits, shares):
    X, y, X_new, y_new = digits
    estimator = make_pipeline(StandardScaler(), SVC())
    exact = PolytomyClassifier(estimator, random_state=0, shared_preprocessing=shares).fit(X, y)
    fast = exact.compress(X, y, method="borders", max_accuracy_loss=1.0)
    assert fast.score(X_new, y_new) > exact.score(X_new, y_new) - 0.05


def test_border_samples_can_be_written_for_libagf_and_read_again(digits, tmp_path):
    X, y, X_new, _ = digits
    exact = PolytomyClassifier(SVC(C=10), random_state=0, final_calibration=None).fit(X, y)
    fast = exact.compress(X, y, method="borders", max_accuracy_loss=1.0)
    write_borders(fast, tmp_path / "digits.control")
    read = load_control(tmp_path / "digits.control")
    assert np.abs(read.predict_proba(X_new) - fast.predict_proba(X_new)).max() < 1e-5


def test_other_samples_need_no_labels(digits, exact):
    fast = exact.compress(digits[2], method="fourier", max_accuracy_loss=1.0)
    assert abs(fast.compression_.accuracy_loss) < 0.05


def test_a_class_with_one_sample_is_always_trained_on():
    X, y = make_classification(200, n_classes=3, n_informative=4, random_state=0)
    y[y == 2] = 1
    y[0] = 2
    exact = PolytomyClassifier(SVC(), random_state=0, final_calibration=None).fit(X, y)
    fast = exact.compress(X, y, method="fourier", max_accuracy_loss=1.0)
    assert fast.compression_.n_samples == 199


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "fourie"}, 'method must be "auto", "fourier" or "borders"; got \'fourie\'.'),
        ({"max_accuracy_loss": -1}, "max_accuracy_loss must be a number from 0 to 1; got -1."),
        ({"y": None}, "y is needed, because X has samples of training"),
    ],
)
def test_wrong_arguments_name_the_way_out(digits, exact, arguments, message):
    X, y, _, _ = digits
    with pytest.raises(ArgumentError) as caught:
        exact.compress(**{"X": X, "y": y} | arguments)
    assert message in str(caught.value)


def test_labels_that_are_not_classes_are_named(digits, exact):
    X, y, _, _ = digits
    with pytest.raises(DataError, match="y has the label 77, which is not a class"):
        exact.compress(X, np.where(y == 0, 77, y))


def test_a_refusal_tells_what_was_tried(digits):
    X, y, _, _ = digits
    one = PolytomyClassifier(SVC(), "one-vs-rest", random_state=0).fit(X, y)
    with pytest.raises(ArgumentError, match=r"max_accuracy_loss=0\.0\. borders 100: .* points"):
        one.compress(X, y, method="borders", max_accuracy_loss=0.0)


def test_a_compressed_classifier_is_not_compressed_again(digits, fast):
    with pytest.raises(ArgumentError, match="compressed already"):
        fast.compress(digits[0], digits[1])


def test_other_learners_are_refused(digits):
    X, y, _, _ = digits
    linear = PolytomyClassifier("linear-svc", random_state=0).fit(X, y)
    with pytest.raises(ArgumentError, match="only support vector machines can be compressed"):
        linear.compress(X, y)


def test_an_exact_classifier_has_no_compression(exact):
    assert not hasattr(exact, "compression_")
