"""Maps of the final calibration: what they learn from out-of-fold answers, and what they refuse."""

from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from polytomy.calibration import final
from polytomy.calibration import final as softmax_regression
from polytomy.calibration.final import (
    BiasMap,
    DecoderMap,
    OutOfFoldAnswers,
    ProvidedMap,
    check_final_calibration,
    clip_decisions,
    fit_final,
    fit_weights,
)
from polytomy.errors import ArgumentError

NOTHING = np.empty((1, 0))


def drawn(n_samples=6000, n_classes=4, seed=0):
    """True probabilities, and classes drawn from them: perfectly calibrated."""
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(n_classes, 0.7), n_samples)
    classes = (rng.random((n_samples, 1)) > proba.cumsum(axis=1)).sum(axis=1)
    return proba, np.minimum(classes, n_classes - 1)


def answers(proba, classes, decisions=None, weight=None, n_folds=5):
    n_samples = len(classes)
    decisions = np.zeros((n_samples, 1)) if decisions is None else decisions
    weight = np.ones(n_samples) if weight is None else weight
    return OutOfFoldAnswers(proba, decisions, classes, weight, np.arange(n_samples) % n_folds)


def log_loss(proba, classes):
    return -np.log(proba[np.arange(len(classes)), classes]).mean()


def powered(proba, exponent):
    return proba**exponent / (proba**exponent).sum(axis=1, keepdims=True)


@pytest.fixture
def exactly(monkeypatch):
    """Minimise to the last digits, so that results do not depend on the start."""

    def fit_exactly(*arguments, tolerance=0.0):
        return fit_weights(*arguments, tolerance=1e-15)

    monkeypatch.setattr(final, "fit_weights", fit_exactly)
    monkeypatch.setattr(softmax_regression, "_TOLERANCE", 1e-15)
    return monkeypatch


probability_rows = st.integers(0, 2**32 - 1).map(
    lambda seed: np.random.default_rng(seed).dirichlet(np.full(4, 0.1), 20)
)


@given(probability_rows)
def test_a_map_of_scale_one_without_floor_or_bias_changes_nothing(proba):
    identity = BiasMap(1.0, 0.0, np.zeros(4))
    np.testing.assert_allclose(identity.apply(proba, NOTHING), proba, rtol=1e-12, atol=1e-15)


@given(probability_rows, st.floats(0, 5), st.floats(1e-4, 0.2), st.integers(0, 2**32 - 1))
def test_calibrated_rows_sum_to_one_and_no_class_is_excluded(proba, scale, floor, seed):
    rng = np.random.default_rng(seed)
    proba[0] = np.eye(4)[0]
    base = BiasMap(scale, floor, rng.normal(size=4))
    decisions = rng.uniform(-1, 1, (20, 3))
    decisions[0] = [1.0, -1.0, 0.0]
    for map_ in (base, DecoderMap(*astuple(base), rng.normal(size=(3, 4)))):
        before = proba.copy()
        found = map_.apply(proba, decisions)
        np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
        assert (found > 0).all()
        np.testing.assert_array_equal(proba, before)


@given(probability_rows, st.integers(0, 2**32 - 1))
def test_maps_are_what_their_formulas_say(proba, seed):
    rng = np.random.default_rng(seed)
    base = BiasMap(1.7, 0.01, rng.normal(size=4))
    weights, decisions = rng.normal(size=(3, 4)), rng.uniform(-0.9, 0.9, (20, 3))
    logits = 1.7 * np.log(proba + 0.01) + base.bias
    np.testing.assert_allclose(base.apply(proba, decisions), softmax(logits, axis=1), rtol=1e-9)
    log_odds = np.log((1 + decisions) / (1 - decisions))
    np.testing.assert_allclose(
        DecoderMap(*astuple(base), weights).apply(proba, decisions),
        softmax(logits + log_odds @ weights, axis=1),
        rtol=1e-9,
    )


def test_values_just_below_zero_count_as_zero():
    # A user's solver may return them, by rounding.
    map_ = BiasMap(1.0, 1e-9, np.zeros(2))
    found = map_.apply(np.array([[1.0, -1e-7]]), NOTHING)
    np.testing.assert_allclose(found, [[1.0, 1e-9]], rtol=1e-6)


def test_decisions_are_clipped_to_log_odds_of_thirty():
    clipped = clip_decisions(np.array([-1.0, -0.5, 0.0, 0.5, 1.0]))
    log_odds = np.log((1 + clipped) / (1 - clipped))
    # At 30, one minus the decision has three digits.
    np.testing.assert_allclose(log_odds, [-30, -np.log(3), 0, np.log(3), 30], rtol=1e-4)


def test_a_decoder_sees_log_odds_up_to_fifteen():
    map_ = DecoderMap(0.0, 1.0, np.zeros(2), np.array([[0.0, 0.1]]))
    found = map_.apply(np.full((2, 2), 0.5), np.array([[1.0], [-1.0]]))
    odds = np.exp(1.5)
    np.testing.assert_allclose(found[:, 1], [odds / (1 + odds), 1 / (1 + odds)], rtol=1e-9)


def test_biases_that_cost_accuracy_are_left_out(monkeypatch):
    proba, classes = drawn(n_samples=300)
    proba = proba * [4, 1, 1, 1]  # the first class is predicted too often
    proba /= proba.sum(axis=1, keepdims=True)
    answers = OutOfFoldAnswers(proba, np.zeros((300, 0)), classes, np.ones(300), np.arange(300) % 5)
    assert fit_final("bias", answers).map.bias.any()
    monkeypatch.setattr(final, "_costs_accuracy", lambda *_: True)
    fit = fit_final("bias", answers)
    assert not fit.map.bias.any()
    winners = fit.map.apply(proba, answers.decisions).argmax(axis=1)
    np.testing.assert_array_equal(winners, proba.argmax(axis=1))
    np.testing.assert_array_equal(fit.probabilities.argmax(axis=1), proba.argmax(axis=1))


@pytest.mark.parametrize(
    ("n_lost", "n_won", "expected"),
    [(0, 0, False), (0, 5, False), (3, 3, False), (5, 4, False), (9, 1, True), (1, 0, True)],
)
def test_accuracy_is_lost_if_the_loss_is_a_standard_error_or_more(n_lost, n_won, expected):
    # Of 100 samples the solver gets the first n_lost right and the next n_won wrong.
    classes = np.zeros(100, dtype=np.intp)
    solver, calibrated = np.tile([0.8, 0.2], (2, 100, 1))
    calibrated[:n_lost] = solver[n_lost : n_lost + n_won] = [0.2, 0.8]
    answers = OutOfFoldAnswers(solver, np.zeros((100, 0)), classes, np.ones(100), classes)
    assert final._costs_accuracy(calibrated, answers) == expected


# -- bias ------------------------------------------------------------------------------------------


def test_calibrated_probabilities_are_left_as_they_are():
    fit = fit_final("bias", answers(*drawn()))
    assert fit.map.scale == pytest.approx(1.0, abs=0.06)
    np.testing.assert_allclose(fit.map.bias, 0.0, atol=0.1)


@pytest.mark.parametrize("exponent", [0.5, 2.0])
def test_the_scale_undoes_a_wrong_temperature(exponent):
    proba, classes = drawn()
    fit = fit_final("bias", answers(powered(proba, exponent), classes))
    assert fit.map.scale == pytest.approx(1 / exponent, rel=0.1)
    np.testing.assert_allclose(fit.map.apply(powered(proba, exponent), NOTHING), proba, atol=0.06)


def test_the_bias_undoes_wrong_frequencies():
    proba, classes = drawn()
    factors = np.array([1.0, 5.0, 0.5, 1.0])
    skewed = proba * factors / (proba * factors).sum(axis=1, keepdims=True)
    fit = fit_final("bias", answers(skewed, classes))
    expected = -np.log(factors) + np.log(factors).mean()
    np.testing.assert_allclose(fit.map.bias - fit.map.bias.mean(), expected, atol=0.15)


def test_true_classes_that_the_solver_excludes_raise_the_floor():
    proba, classes = drawn(2000)
    sure = np.eye(4)[proba.argmax(axis=1)]
    floor_of_sure = fit_final("bias", answers(sure, classes)).map.floor
    assert floor_of_sure >= fit_final("bias", answers(proba, classes)).map.floor
    found = fit_final("bias", answers(sure, classes)).map.apply(sure, NOTHING)
    # No map of the solver's one answer can say more than how often it is right.
    is_right = sure.argmax(axis=1) == classes
    assert found.max(axis=1).mean() == pytest.approx(is_right.mean(), abs=0.01)


def test_samples_that_are_told_apart_without_an_error_do_not_make_anything_certain():
    classes = np.arange(100) % 2
    fit = fit_final("bias", answers(np.where(np.eye(2)[classes] > 0, 0.98, 0.02), classes))
    found = fit.map.apply(np.array([[0.98, 0.02]]), NOTHING)
    # A hundred samples without an error are no evidence of errors rarer than one in ten thousand.
    assert 1e-4 < found[0, 1] < 0.02


def test_auto_is_bias():
    given_ = answers(*drawn(300))
    one, other = fit_final("auto", given_), fit_final("bias", given_)
    np.testing.assert_array_equal(one.probabilities, other.probabilities)
    assert one.map.scale == other.map.scale


@pytest.mark.parametrize("option", ["bias", "decoder", LogisticRegression(C=1.0)])
def test_weights_count_as_copies(option, exactly):
    proba, classes = drawn(400)
    rng = np.random.default_rng(1)
    decisions = np.tanh(np.eye(4)[classes][:, :2] + rng.normal(size=(400, 2)))
    fold_of, copies = np.arange(400) % 5, rng.integers(1, 4, 400)
    weighted = fit_final(
        option, OutOfFoldAnswers(proba, decisions, classes, copies.astype(float), fold_of)
    )
    repeated = fit_final(
        option,
        OutOfFoldAnswers(
            *(each.repeat(copies, axis=0) for each in (proba, decisions, classes)),
            np.ones(copies.sum()),
            fold_of.repeat(copies),
        ),
    )
    assert type(weighted.map) is type(repeated.map)
    np.testing.assert_allclose(
        weighted.map.apply(proba, decisions), repeated.map.apply(proba, decisions), atol=1e-5
    )
    first_copies = np.cumsum(copies) - copies
    np.testing.assert_allclose(
        weighted.probabilities, repeated.probabilities[first_copies], atol=1e-5
    )


def test_weights_in_tiny_units_leave_a_sane_map():
    proba, classes = drawn(500)
    fit = fit_final("bias", answers(proba, classes, weight=np.full(500, 1e-7)))
    # There is next to no evidence, so the priors decide: a scale of one and no bias.
    assert fit.map.scale == pytest.approx(1.0, abs=1e-3)
    assert fit.map.floor < 0.5


# -- honest probabilities --------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["bias", "decoder", LogisticRegression()])
@pytest.mark.parametrize("n_folds", [2, 3, 5])
def test_a_sample_s_own_class_has_no_say_in_its_out_of_fold_probabilities(option, n_folds, exactly):
    proba, classes = drawn(240)
    rng = np.random.default_rng(2)
    decisions = np.tanh(2 * np.eye(4)[classes] + rng.normal(size=(240, 4)))
    # The floor and the penalty are chosen with all samples.
    exactly.setattr(final, "_FLOORS", (1.0,))
    exactly.setattr(final, "_PENALTIES", (0.01,))
    exactly.setattr(final, "_strongest_penalty", lambda tried, answers: len(tried) - 1)
    before = fit_final(option, answers(proba, classes, decisions, n_folds=n_folds))
    changed = classes.copy()
    changed[7] = (changed[7] + 1) % 4
    after = fit_final(option, answers(proba, changed, decisions, n_folds=n_folds))
    difference = np.abs(after.probabilities - before.probabilities).max(axis=1)
    assert difference[7] < 1e-5
    # Those of other parts do depend on it.
    assert difference.max() > 1e-3


def test_a_whole_fold_is_left_out_together():
    # Folds may be groups of samples that belong together.
    fold_of = np.repeat(np.arange(9), 10)
    parts = final.inner_parts(fold_of)
    assert len(np.unique(parts)) == 3
    for fold in range(9):
        assert len(np.unique(parts[fold_of == fold])) == 1


def test_a_calibrator_is_judged_on_parts_that_it_was_not_fitted_to():
    proba, classes = drawn(300)

    class Memory:
        """Certain of the class of samples that it has seen, and undecided about others."""

        def fit(self, logarithms, y):
            self.known = {tuple(row): k for row, k in zip(logarithms.round(9), y, strict=True)}
            return self

        def predict_proba(self, logarithms):
            found = np.full((len(logarithms), 4), 0.25)
            for i, row in enumerate(logarithms.round(9)):
                if tuple(row) in self.known:
                    found[i] = np.eye(4)[self.known[tuple(row)]]
            return found

    fit = fit_final(Memory(), answers(proba, classes))
    np.testing.assert_array_equal(fit.probabilities, 0.25)


def test_a_part_that_has_all_samples_of_a_class_is_judged_by_the_whole_calibrator():
    proba, classes = drawn(120, n_classes=3)
    classes = np.where(classes == 2, 0, classes)
    classes[5] = 2
    fit = fit_final(LogisticRegression(), answers(proba, classes))
    assert fit.probabilities.shape == (120, 3)
    # Of five folds, the first and the fourth are left out together.
    is_own_part = np.isin(np.arange(120) % 5, [0, 3])
    whole = fit.map.apply(proba, np.empty((120, 0)))
    np.testing.assert_allclose(fit.probabilities[is_own_part], whole[is_own_part])
    assert np.abs(fit.probabilities - whole)[~is_own_part].max() > 1e-3


# -- decoder ---------------------------------------------------------------------------------------


def test_the_decoder_is_the_bias_if_decisions_are_noise():
    proba, classes = drawn(1500)
    noise = np.random.default_rng(3).uniform(-0.9, 0.9, (1500, 6))
    decoder = fit_final("decoder", answers(proba, classes, noise))
    bias = fit_final("bias", answers(proba, classes, noise))
    assert isinstance(decoder.map, BiasMap)
    assert decoder.map.scale == bias.map.scale
    np.testing.assert_array_equal(decoder.map.bias, bias.map.bias)
    np.testing.assert_array_equal(decoder.probabilities, bias.probabilities)


def test_the_decoder_finds_what_the_solver_has_missed():
    rng = np.random.default_rng(4)
    proba, classes = drawn(1500)
    decisions = rng.uniform(-0.5, 0.5, (1500, 3))
    decisions[:, 1] = np.tanh((classes == 2) - 0.5 + 0.3 * rng.normal(size=1500))
    half = np.arange(1500) < 750
    training = answers(proba, classes, decisions).take(half)
    losses = {}
    for option in ("bias", "decoder"):
        fit = fit_final(option, training)
        found = fit.map.apply(proba[~half], decisions[~half])
        losses[option] = log_loss(found, classes[~half])
        # The out-of-fold probabilities foretell the loss on new samples.
        own = log_loss(fit.probabilities, classes[half])
        assert own == pytest.approx(losses[option], abs=0.06)
    assert losses["decoder"] < losses["bias"] - 0.1
    assert isinstance(fit.map, DecoderMap)
    assert np.abs(fit.map.weights[1]).max() > 3 * np.abs(fit.map.weights[[0, 2]]).max()


def test_of_penalties_within_one_standard_error_of_the_best_the_strongest_is_taken():
    classes, weight = np.zeros(4, dtype=int), np.ones(4)
    given_ = OutOfFoldAnswers(np.empty((4, 2)), np.empty((4, 0)), classes, weight, classes)

    best = np.array([1.0, 1.0, 1.0, 1.0])
    # Mean difference 0.5; standard deviation √3/2, standard error √3/4 = 0.43.
    too_far = np.array([3.0, 1.0, 1.0, 1.0])
    # Mean difference 0.25; standard deviation √2.75/2 = 0.83, standard error 0.41.
    near = np.array([2.5, 0.5, 1.0, 1.0])
    assert final._strongest_penalty([too_far, best], given_) == 1
    assert final._strongest_penalty([near, best], given_) == 0
    assert final._strongest_penalty([too_far, near, best], given_) == 1
    # With 100 copies of each sample the standard error of the nearer one is 0.04.
    copies = given_._replace(weight=np.full(4, 100.0))
    assert final._strongest_penalty([too_far, near, best], copies) == 2


# -- calibrators that the user provides ------------------------------------------------------------


def test_a_calibrator_learns_from_logarithms_and_is_never_fitted_itself():
    proba, classes = drawn(600)
    option = LogisticRegression(C=1e6)
    fit = fit_final(option, answers(proba, classes))
    assert not hasattr(option, "coef_")
    logarithms = np.log(proba + 0.3 / 600)
    expected = LogisticRegression(C=1e6).fit(logarithms, classes).predict_proba(logarithms)
    np.testing.assert_allclose(fit.map.apply(proba, NOTHING), expected, rtol=1e-9)


class Plain:
    """A calibrator with a fit of two arguments, and an answer of its own."""

    def __init__(self, answer):
        self.answer = answer

    def fit(self, logarithms, y):
        return self

    def predict_proba(self, logarithms):
        return np.tile(self.answer, (len(logarithms), 1))


def test_an_object_without_weights_is_fitted_without_them_and_its_rows_are_normalised():
    fit = fit_final(Plain([1.0, 2.0, 1.0]), answers(*drawn(30, n_classes=3)))
    np.testing.assert_array_equal(fit.probabilities, np.tile([0.25, 0.5, 0.25], (30, 1)))


def test_an_object_that_cannot_take_weights_is_refused_if_there_are_some():
    proba, classes = drawn(30, n_classes=3)
    with pytest.raises(ArgumentError) as caught:
        fit_final(Plain([1, 1, 1]), answers(proba, classes, weight=np.linspace(1, 2, 30)))
    assert caught.value.parameter == "final_calibration"
    assert str(caught.value).endswith(
        " has a fit without sample_weight, and the samples have weights. Use a calibrator that "
        'takes them, or final_calibration="bias".'
    )


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([0.5, 0.5], "returned probabilities of shape (2, 2); 2 samples and 3 classes need (2, 3)"),
        ([np.nan, 0.5, 0.5], "returned values that are not probabilities"),
        ([-0.5, 1.0, 0.5], "They must be finite and not negative"),
        ([0.0, 0.0, 0.0], "with a positive sum in each row."),
    ],
)
def test_answers_that_are_not_probabilities_are_refused(answer, words):
    with pytest.raises(ArgumentError) as caught:
        ProvidedMap(Plain(answer), 0.01, 3).apply(np.full((2, 3), 1 / 3), NOTHING)
    assert caught.value.parameter == "final_calibration"
    assert words in str(caught.value)


def test_the_seed_reaches_the_calibrator():
    fit = fit_final(LogisticRegression(), answers(*drawn(60)), seed=5)
    assert isinstance(fit.map.calibrator.random_state, int)


@pytest.mark.parametrize("value", ["auto", "bias", "decoder", None, LogisticRegression()])
def test_allowed_values_pass(value):
    check_final_calibration(value)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (
            "biass",
            'final_calibration must be "auto", "bias", "decoder", an object (not a class) with '
            "fit(log_probabilities, y) and predict_proba or None; got 'biass'.",
        ),
        (LogisticRegression, "an object (not a class) with fit(log_probabilities, y) and predict"),
        (3, "fit(log_probabilities, y) and predict_proba or None; got 3."),
    ],
)
def test_other_values_are_refused(value, words):
    with pytest.raises(ArgumentError) as caught:
        check_final_calibration(value)
    assert caught.value.parameter == "final_calibration"
    assert words in str(caught.value)


def test_a_misspelt_name_is_corrected():
    with pytest.raises(ArgumentError, match='Did you mean "decoder"'):
        check_final_calibration("decodr")
