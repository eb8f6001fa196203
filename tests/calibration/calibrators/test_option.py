import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from polytomy.calibration.calibrators import (
    HeldOut,
    IsotonicCalibrator,
    ProvidedCalibrator,
    SigmoidCalibrator,
    TemperatureCalibrator,
    UncalibratedMap,
    calibrate,
    fit_calibrators,
    make_calibrator,
)
from polytomy.errors import ArgumentError

VALUES = np.array([-2.0, -1.0, -0.5, 0.2, 0.4, 1.5])
SIDES = np.array([False, False, True, False, True, True])


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("auto", SigmoidCalibrator),
        ("sigmoid", SigmoidCalibrator),
        ("isotonic", IsotonicCalibrator),
        ("temperature", TemperatureCalibrator),
        (None, UncalibratedMap),
    ],
)
def test_a_name_gives_a_new_calibrator(name, kind):
    one, other = make_calibrator(name), make_calibrator(name)
    assert type(one) is kind
    assert one is not other


def test_a_calibrator_is_copied():
    given = SigmoidCalibrator()
    made = make_calibrator(given).fit(VALUES, SIDES)
    assert isinstance(made, SigmoidCalibrator)
    assert made is not given
    assert not hasattr(given, "slope_")


def test_an_unknown_name_is_refused():
    with pytest.raises(ArgumentError) as caught:
        make_calibrator("platt")
    assert str(caught.value) == (
        'calibration must be "auto", "sigmoid", "isotonic", "temperature", an object (not a class) '
        "with fit(decision_values, target) and predict or predict_proba or None; got 'platt'."
    )


@pytest.mark.parametrize("wrong", [3, SigmoidCalibrator, object()])
def test_a_value_of_the_wrong_kind_is_refused(wrong):
    with pytest.raises(ArgumentError) as caught:
        make_calibrator(wrong)
    assert str(caught.value).endswith(
        "an object (not a class) with fit(decision_values, target) and predict or predict_proba "
        f"or None; got {wrong!r}."
    )


class TestProvided:
    def test_a_classifier_gets_a_column_and_answers_by_predict_proba(self):
        plain = LogisticRegression().fit(VALUES[:, np.newaxis], SIDES)
        given = LogisticRegression()
        made = make_calibrator(given).fit(VALUES, SIDES)
        np.testing.assert_allclose(
            made.predict(VALUES), plain.predict_proba(VALUES[:, np.newaxis])[:, 1]
        )
        assert not hasattr(given, "coef_")
        assert repr(made) == "ProvidedCalibrator(LogisticRegression())"

    def test_a_regressor_answers_by_predict(self):
        made = make_calibrator(IsotonicRegression(out_of_bounds="clip")).fit(VALUES, SIDES)
        np.testing.assert_allclose(made.predict(VALUES), [0, 0, 0.5, 0.5, 1, 1])

    def test_weights_are_passed_on(self):
        weight = np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0])
        plain = LogisticRegression().fit(VALUES[:, np.newaxis], SIDES, weight)
        made = make_calibrator(LogisticRegression()).fit(VALUES, SIDES, weight)
        np.testing.assert_allclose(
            made.predict(VALUES), plain.predict_proba(VALUES[:, np.newaxis])[:, 1]
        )

    def test_answers_are_kept_within_zero_and_one(self):
        class Line:
            def fit(self, values, target):
                return self

            def predict(self, values):
                return values

        np.testing.assert_array_equal(
            ProvidedCalibrator(Line()).fit(VALUES, SIDES).predict([-2.0, 0.3, 7.0]), [0, 0.3, 1]
        )

    def test_an_answer_of_the_wrong_shape_is_refused(self):
        class Mean:
            def __repr__(self):
                return "Mean()"

            def fit(self, values, target):
                return self

            def predict(self, values):
                return 0.5

        with pytest.raises(ArgumentError) as caught:
            ProvidedCalibrator(Mean()).fit(VALUES, SIDES).predict(VALUES)
        assert str(caught.value) == (
            "calibration=Mean() returned probabilities of shape () for 6 decision values. "
            "It must return one for each."
        )

    def test_nan_is_refused_with_advice(self):
        made = make_calibrator(IsotonicRegression()).fit(VALUES, SIDES)
        with pytest.raises(ArgumentError) as caught:
            made.predict([0.0, 9.0])
        assert str(caught.value) == (
            "calibration=IsotonicRegression() returned NaN for the decision value 9. It must "
            'return a number for every value; IsotonicRegression does if out_of_bounds="clip".'
        )

    def test_the_seed_is_set_on_the_copy_only(self):
        given = LogisticRegression(solver="saga")
        made = make_calibrator(given, seed=5)
        assert made.calibrator.random_state is not None
        assert given.random_state is None


def test_many_calibrators_at_once_answer_as_each_alone():
    kinds = ["sigmoid", "isotonic", None, LogisticRegression(), "temperature", "isotonic"]
    rng = np.random.default_rng(0)
    calibrators = [make_calibrator(kind).fit(VALUES + rng.normal(size=6), SIDES) for kind in kinds]
    values = rng.normal(size=(20, len(kinds)))
    expected = np.column_stack([each.predict(values[:, k]) for k, each in enumerate(calibrators)])
    np.testing.assert_allclose(calibrate(calibrators, values), expected, atol=1e-15)


@pytest.mark.parametrize("name", ["sigmoid", "isotonic", "temperature"])
@pytest.mark.parametrize("weight", [None, np.array([0.0, 1.0, 2.0, 3.0, 1.0, 0.5])])
def test_many_calibrators_are_fitted_as_each_alone(name, weight):
    held_out = [HeldOut(VALUES, SIDES, weight), None, HeldOut(-VALUES / 2, SIDES, weight)]
    first, nothing, last = fit_calibrators(name, held_out, [None] * 3)
    assert nothing is None
    for calibrator, each in ((first, held_out[0]), (last, held_out[2])):
        alone = make_calibrator(name).fit(*each)
        np.testing.assert_array_equal(calibrator.predict(VALUES), alone.predict(VALUES))


def test_values_that_are_not_finite_cannot_be_calibrated_together_either():
    held_out = [HeldOut(VALUES, SIDES), HeldOut(np.where(VALUES > 1, np.inf, VALUES), SIDES)]
    with pytest.raises(ArgumentError, match="1 of 6 decision values are not finite"):
        fit_calibrators("auto", held_out, [None, None])
