"""Compressed classifiers: the same interface, and losses that are true."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, make_blobs, make_classification
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import polytomy as pt
from polytomy import PolytomyClassifier
from polytomy.errors import ArgumentError, DataError, ModelFileError
from polytomy.learners.cascade import Cascade
from polytomy.model import compression
from polytomy.model.decisions import PriorShift
from polytomy.persistence import load_control, write_borders
from polytomy.solvers import decode
from polytomy.states import State, field_values

METHODS = ["fourier", "cascade", "borders"]
N_CLASSES = 6


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(n_class=N_CLASSES, return_X_y=True)
    return X[::2], y[::2], X[1::2], y[1::2]


@pytest.fixture(scope="module")
def exact(digits):
    X, y, _, _ = digits
    return PolytomyClassifier(SVC(C=10), random_state=0).fit(X, y)


def teach(classifier, X, y):
    class_indices = np.searchsorted(classifier.classes_, y)
    return compression._Teacher(classifier.composition_, X, class_indices)


@pytest.fixture(scope="module")
def all_fast(digits, exact):
    X, y, _, _ = digits
    n_borders = {"borders": 20}
    return {
        method: exact.compress(
            X, y, method=method, max_accuracy_loss=1.0, n_borders=n_borders.get(method)
        )
        for method in METHODS
    }


@pytest.fixture(scope="module", params=METHODS)
def fast(request, all_fast):
    return all_fast[request.param]


def test_the_loss_that_is_told_is_that_on_new_samples(digits, exact, fast):
    _, _, X, y = digits
    change = exact.score(X, y) - fast.score(X, y)
    told = fast.compression_
    # Both are means over hundreds of samples, so their errors are about equal.
    assert abs(change - told.accuracy_loss) < 4 * np.sqrt(2) * max(told.accuracy_loss_error, 0.004)
    assert told.n_samples == len(digits[0])


def test_probabilities_sum_to_one(digits, fast):
    assert np.allclose(fast.predict_proba(digits[2]).sum(axis=1), 1.0)


def test_decision_values_are_a_ridge_regression(digits, exact):
    X = digits[0]
    fast = compression._build_fourier(teach(exact, *digits[:2]), 50)
    inputs = fast.preprocess(X).astype(np.float64)
    targets = exact.composition_.bank.scores(X)
    ridge = Ridge(alpha=1e-5 * len(X)).fit(inputs, targets)
    assert np.allclose(fast.bank.scores(inputs), ridge.predict(inputs), atol=1e-6)


def test_border_samples_are_on_the_border_and_their_gradients_are_those_of_the_answers(digits):
    X, y, _, _ = digits
    rows = y < 2
    exact = PolytomyClassifier(SVC(gamma=0.001), random_state=0).fit(X[rows], y[rows])
    bank = exact.composition_.bank
    fast = compression._build_borders(teach(exact, X[rows], y[rows]), 5)
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
    prior = np.full(N_CLASSES, 1 / N_CLASSES)
    assert np.allclose(fast.with_prior(prior).predict_proba(X).sum(axis=1), 1.0)
    assert fast.with_cost(reject_cost=0.01).predict(X).shape == (20,)
    assert fast.with_solver("voting").predict(X).shape == (20,)
    assert fast.explain(X[:1]) is not None


def test_random_features_can_be_exported(digits, all_fast):
    onnxruntime = pytest.importorskip("onnxruntime")
    X_new, fast = digits[2], all_fast["fourier"]
    session = onnxruntime.InferenceSession(pt.to_onnx(fast, dtype="float64").SerializeToString())
    probabilities = session.run(None, {"X": X_new})[1]
    # The graph has double precision, the features of the classifier have single precision.
    assert np.abs(probabilities - fast.predict_proba(X_new)).max() < 1e-5


@pytest.mark.parametrize("shares", [True, False])
def test_scalers_before_the_machines_are_kept(digits, shares):
    X, y, X_new, y_new = digits
    X, y, X_new, y_new = X[y < 4], y[y < 4], X_new[y_new < 4], y_new[y_new < 4]
    estimator = make_pipeline(StandardScaler(), SVC())
    exact = PolytomyClassifier(estimator, random_state=0, shared_preprocessing=shares).fit(X, y)
    fast = exact.compress(X, y, method="borders", max_accuracy_loss=1.0, n_borders=50)
    assert fast.score(X_new, y_new) > exact.score(X_new, y_new) - 0.05


def test_border_samples_can_be_written_for_libagf_and_read_again(digits, tmp_path):
    X, y, X_new, _ = digits
    X, y = X[y < 4], y[y < 4]
    exact = PolytomyClassifier(SVC(C=10), random_state=0, final_calibration=None).fit(X, y)
    fast = exact.compress(X, y, method="borders", max_accuracy_loss=1.0, n_borders=10)
    write_borders(fast, tmp_path / "digits.control")
    read = load_control(tmp_path / "digits.control")
    assert np.abs(read.predict_proba(X_new) - fast.predict_proba(X_new)).max() < 1e-5


@pytest.mark.parametrize("method", ["fourier", "cascade"])
def test_other_samples_need_no_labels(digits, exact, method):
    fast = exact.compress(digits[2], method=method, max_accuracy_loss=1.0)
    assert abs(fast.compression_.accuracy_loss) < 0.05


# -- cascades --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cascaded(digits, exact):
    return compression._build_cascade(teach(exact, *digits[:2]), 100)


def test_a_cascade_that_is_never_sure_is_exact(digits, exact, cascaded):
    always = replace(cascaded, cascade=replace(cascaded.cascade, rest=0.0))
    exact_scores = exact.composition_.scores(digits[2])
    assert np.abs(always.scores(digits[2]) - exact_scores).max() < 1e-9


def test_candidates_are_the_smallest_sets_with_the_probability(cascaded):
    generator = np.random.default_rng(0)
    shares = generator.dirichlet(np.full(N_CLASSES, 0.2), size=500)
    cascade = replace(cascaded.cascade, rest=0.1)
    unsure, is_candidate = cascade.find_candidates(shares)
    for row, share in enumerate(shares):
        descending = np.sort(share)[::-1]
        size = 1 + np.flatnonzero(np.cumsum(descending) >= 0.9)[0]
        found = np.ones(1) if row not in unsure else is_candidate[unsure == row].ravel()
        assert found.sum() == size
        if row in unsure:
            assert np.isclose(share[found].sum(), descending[:size].sum())


@pytest.mark.parametrize("scheme", ["one-vs-one", "one-vs-rest", "empirical-tree"])
def test_answers_are_exact_where_both_sides_have_candidates_and_implied_elsewhere(digits, scheme):
    X, y, X_new, _ = digits
    exact = PolytomyClassifier(SVC(C=10), scheme, random_state=0).fit(X, y).composition_
    cascade = replace(Cascade.fit(X, y, N_CLASSES, exact.dichotomies, 50), rest=0.001)
    shares = cascade.smooth(cascade.guess(X_new))
    _, is_candidate = cascade.find_candidates(shares)
    unsure = cascade.find_candidates(shares)[0]
    answers = cascade.answer(exact.bank, X_new[unsure], shares[unsure], is_candidate)
    decisions = exact.bank.decisions(X_new[unsure])
    for column, each in enumerate(exact.dichotomies):
        negative, positive = list(each.negative), list(each.positive)
        is_asked = is_candidate[:, negative].any(axis=1) & is_candidate[:, positive].any(axis=1)
        for_negative, for_positive = (
            shares[unsure][:, side].sum(axis=1) for side in (negative, positive)
        )
        implied = (for_positive - for_negative) / (for_positive + for_negative)
        expected = np.where(is_asked, decisions[:, column], implied)
        assert np.abs(answers[:, column] - expected).max() < 1e-9


def test_pairs_of_candidates_are_solved_like_all_pairs_of_a_classifier_of_these_classes(digits):
    X, y, X_new, _ = digits
    exact = PolytomyClassifier(SVC(C=10, gamma=1e-3), random_state=0, final_calibration=None)
    composition = exact.fit(X, y).composition_
    cascade = Cascade.fit(X, y, N_CLASSES, composition.dichotomies, 20)
    cascaded = replace(composition, cascade=replace(cascade, rest=0.05))
    guessed = cascade.guess(X_new)
    unsure, is_candidate = cascaded.cascade.find_candidates(guessed)
    scores = cascaded.scores(X_new)
    decisions = composition.decisions(X_new)
    assert len(unsure) > 20
    for row, chosen in zip(unsure, is_candidate, strict=True):
        own = [
            column
            for column, each in enumerate(composition.dichotomies)
            if chosen[[*each.negative, *each.positive]].all()
        ]
        code = np.array(
            [
                np.isin(range(N_CLASSES), each.positive) * 1
                - np.isin(range(N_CLASSES), each.negative)
                for each in composition.dichotomies
            ]
        )[own][:, chosen]
        among = decode(code, decisions[row : row + 1, own])[0]
        mass = cascade.smooth(guessed)[row, chosen].sum()
        assert np.abs(scores[row, chosen] - mass * among).max() < 1e-9
        assert np.abs(scores[row].sum() - 1.0) < 1e-12


@pytest.mark.filterwarnings("error")
def test_samples_whose_numbers_overflow_are_answered_exactly(digits, exact, cascaded):
    X = np.full((2, 64), 1e300)
    assert np.abs(cascaded.scores(X) - exact.composition_.scores(X)).max() < 1e-9


def test_classes_that_the_student_has_not_seen_are_unlikely():
    rng = np.random.default_rng(0)
    y = np.array([0, 1] * 24 + [2, 2])  # the last fifth is not for the weights
    X = rng.normal(size=(50, 3)) + y[:, np.newaxis]
    exact = PolytomyClassifier(SVC(), random_state=0).fit(X, y).composition_
    shares = Cascade.fit(X, y, 3, exact.dichotomies, 5).guess(X[:40])
    assert (shares[:, 2] < shares.max(axis=1)).all()


def test_a_cascade_considers_the_classes_that_a_prior_makes_likely(digits, cascaded):
    prior = np.full(N_CLASSES, 1e-9)
    prior[3] = 1.0
    shift = PriorShift(prior / prior.sum(), np.full(N_CLASSES, 1 / N_CLASSES))
    assert (cascaded.with_prior(shift).scores(digits[2]).argmax(axis=1) == 3).mean() > 0.9


def test_a_cascade_of_sparse_samples_gives_the_same_answers(digits, exact, cascaded):
    X = digits[2]
    assert np.abs(cascaded.scores(csr_array(X)) - cascaded.scores(X)).max() < 1e-5


def test_a_cascade_is_not_exported(all_fast):
    pytest.importorskip("onnx")
    with pytest.raises(ArgumentError, match=r"a cascade cannot be exported.*method=\"fourier\""):
        pt.to_onnx(all_fast["cascade"])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "code",
            csr_array(np.ones((N_CLASSES, 15), np.float32)),
            "code is not the side of each class",
        ),
        ("bias", np.ones(N_CLASSES - 1), "bias is not an array of floats"),
        ("offsets", np.ones(N_CLASSES - 1), "offsets is not an array of floats"),
        ("centre", np.ones(9), "centre is not an array of floats"),
        ("rest", 2.0, "rest is not a number from 1e-12 to 1"),
    ],
)
def test_states_of_cascades_are_checked(cascaded, name, value, message):
    values = field_values(cascaded.cascade) | {name: value}
    with pytest.raises(ModelFileError, match=message):
        Cascade.from_state(State(values, "model"))


# -- limits ----------------------------------------------------------------------------------------


def test_automatic_compression_takes_the_fastest_within_the_limit(digits, exact, monkeypatch):
    X, y, _, _ = digits
    speeds = {"fourier 50": 3.0, "cascade 50": 5.0, "cascade 60": 4.0}
    methods = {
        "fourier": ((50,), *compression.METHODS["fourier"][1:]),
        "cascade": ((50, 60), *compression.METHODS["cascade"][1:]),
    }
    queue = iter(speeds.values())
    monkeypatch.setattr(compression, "METHODS", methods)
    monkeypatch.setattr(compression, "_speed_up", lambda *_: next(queue))
    fast = exact.compress(X, y, max_accuracy_loss=1.0).compression_
    assert (fast.method, fast.size, fast.speed_up) == ("cascade", 50, 5.0)


def test_automatic_compression_says_that_a_fast_classifier_is_fast_already(
    digits, exact, monkeypatch
):
    monkeypatch.setattr(compression, "_speed_up", lambda *_: 1.1)
    X, y, _, _ = digits
    with pytest.raises(
        ArgumentError, match=r"fourier 200: 1\.1 times as fast; .*cascade 200: 1\.1"
    ):
        exact.compress(X, y)


def test_fitted_models_need_samples_that_they_have_not_seen(digits):
    X, y, X_new, y_new = digits
    rows = y < 2
    models = {"m": SVC().fit(X[rows], y[rows])}
    exact = PolytomyClassifier(models=models, scheme="m {0 1}").fit(X[rows], y[rows])
    with pytest.raises(ArgumentError, match=r"given fitted.*Pass other samples"):
        exact.compress(X[rows], y[rows])
    new = y_new < 2
    fast = exact.compress(X_new[new], y_new[new], method="cascade", max_accuracy_loss=1.0)
    assert fast.score(X_new[new], y_new[new]) > 0.95


def test_a_part_of_the_training_data_is_recognised(digits, exact):
    with pytest.raises(ArgumentError, match="y is needed, because X has samples of training"):
        exact.compress(digits[0][:100])


@pytest.mark.parametrize(("method", "n_least"), [("auto", 10), ("fourier", 400), ("cascade", 10)])
def test_too_few_samples_are_refused(digits, exact, method, n_least):
    X, y = digits[0][: n_least - 1], digits[1][: n_least - 1]
    message = f'X has {n_least - 1} samples; method="{method}" needs {n_least} or more.'
    with pytest.raises(DataError, match=re.escape(message)):
        exact.compress(X, y, method=method)


@pytest.mark.parametrize(("n_samples", "sizes"), [(399, []), (400, [200]), (449, [200])])
def test_there_are_at_most_half_as_many_features_as_samples(digits, exact, n_samples, sizes):
    X, y = digits[0][:n_samples], digits[1][:n_samples]
    candidates = compression._build_candidates(teach(exact, X, y), X, "fourier", None, print)
    assert [candidate.size for candidate in candidates] == sizes


@pytest.mark.parametrize("method", ["fourier", "cascade"])
def test_two_classes_with_text_labels(method):
    X, y = make_blobs(800, 5, centers=[[0] * 5, [4] * 5], random_state=0)
    names = np.array(["zero", "one"])[y]
    exact = PolytomyClassifier(SVC(), random_state=0).fit(X[:400], names[:400])
    fast = exact.compress(X[:400], names[:400], method=method, max_accuracy_loss=1.0)
    assert fast.score(X[400:], names[400:]) > 0.97


def test_equal_answers_of_few_samples_do_not_prove_that_nothing_is_lost():
    X, y = make_blobs(40, 2, centers=[[0, 0], [90, 90]], random_state=0)
    exact = PolytomyClassifier(SVC(), random_state=0).fit(X, y)
    told = exact.compress(X, y, method="cascade").compression_
    assert told.accuracy_loss == 0.0
    assert told.accuracy_loss_error == 1 / 40
    assert "accuracy +0.00 ± 2.50 points" in str(told)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", ["fourier", "cascade"])
def test_frames_are_compressed(digits, method):
    pandas = pytest.importorskip("pandas")
    X, y = pandas.DataFrame(digits[0][:, 20:30]).add_prefix("pixel "), digits[1]
    exact = PolytomyClassifier(SVC(C=10), random_state=0).fit(X, y)
    fast = exact.compress(X, y, method=method, max_accuracy_loss=1.0)
    assert np.allclose(fast.predict_proba(X).sum(axis=1), 1.0)
    with pytest.raises(ValueError, match="feature names"):
        fast.predict(X[X.columns[::-1]])


def test_pools_are_compressed(digits):
    X, y, X_new, y_new = (each[:150] for each in digits)
    pool = PolytomyClassifier(SVC(C=10), "pool", random_state=0).fit(X, y)
    fast = pool.compress(X, y, method="cascade", max_accuracy_loss=1.0)
    assert fast.score(X_new, y_new) > pool.score(X_new, y_new) - 0.05


def test_a_class_with_one_sample_is_always_trained_on():
    X, y = make_classification(400, n_classes=3, n_informative=4, random_state=0)
    y[y == 2] = 1
    y[0] = 2
    exact = PolytomyClassifier(SVC(), random_state=0, final_calibration=None).fit(X, y)
    fast = exact.compress(X, y, method="fourier", max_accuracy_loss=1.0)
    assert fast.compression_.n_samples == 399


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"method": "fourie"},
            'method must be "auto", "fourier", "cascade" or "borders"; got \'fourie\'.',
        ),
        ({"max_accuracy_loss": -1}, "max_accuracy_loss must be a number from 0 to 1; got -1."),
        ({"n_borders": 0, "method": "borders"}, "n_borders must be a positive integer; got 0."),
        ({"n_borders": 10}, 'n_borders=10 needs method="borders".'),
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
    with pytest.raises(ArgumentError, match=r"max_accuracy_loss=0\.0\. borders 5: .* points"):
        one.compress(X, y, method="borders", max_accuracy_loss=0.0, n_borders=5)


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
