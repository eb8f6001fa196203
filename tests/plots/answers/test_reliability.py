"""Reliability diagrams of whole models."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from plots.axes import check_needs_matplotlib
from polytomy import PolytomyClassifier, metrics
from polytomy.errors import ArgumentError
from polytomy.plots import ReliabilityDisplay
from polytomy.plots.canvas import CURVES

Y = np.array(["a", "b", "b", "c"])
PROBA = [[0.9, 0.1, 0.0], [0.3, 0.6, 0.1], [0.7, 0.2, 0.1], [0.0, 0.3, 0.7]]


def test_points_are_confidence_and_accuracy():
    display = ReliabilityDisplay.from_predictions(Y, PROBA, n_bins=2)
    # All winners have more than one half: three of the four are right.
    np.testing.assert_allclose(display.line_.get_xydata(), [[(0.9 + 0.6 + 0.7 + 0.7) / 4, 3 / 4]])
    assert display.mean_gap == pytest.approx(0.75 - 0.725)
    assert display.ax_.get_ylabel() == "fraction that is right"


def test_classes_can_be_taken_together_or_one_by_one():
    together = ReliabilityDisplay.from_predictions(Y, PROBA, kind="classwise", n_bins=1)
    np.testing.assert_allclose(together.line_.get_xydata(), [[1 / 3, 1 / 3]])
    assert together.ax_.get_xlabel() == "probability of a class"


def test_the_bins_are_those_of_the_table():
    rng = np.random.default_rng(0)
    proba, y = rng.dirichlet(np.ones(3), 100), rng.integers(0, 3, 100)
    table = metrics.reliability_table(y, proba, bins=7)
    display = ReliabilityDisplay.from_predictions(y, proba, kind="classwise", n_bins=7)
    weight = table["weight"].sum(axis=0)
    for name in ("predicted", "observed"):
        sums = np.nansum(table[name] * table["weight"], axis=0)
        expected = sums[weight > 0] / weight[weight > 0]
        np.testing.assert_allclose(getattr(display.bins, name), expected)


def test_any_classifier_with_probabilities_is_drawn():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, "right", "left")
    model = LogisticRegression().fit(X, y)
    display = ReliabilityDisplay.from_estimator(model, X, y)
    assert display.line_.get_label().startswith("LogisticRegression (mean gap 0.")
    named = ReliabilityDisplay.from_estimator(model, X, y, name="mine", intervals=False)
    assert named.line_.get_label() == f"mine (mean gap {named.mean_gap:.3f})"
    assert named.intervals_ is None


def test_models_in_the_same_axes_have_colours_of_their_own_and_one_diagonal():
    axes = plt.subplots()[1]
    displays = [
        ReliabilityDisplay.from_predictions(Y, PROBA, name=str(k), ax=axes) for k in range(3)
    ]
    assert [each.line_.get_color() for each in displays] == list(CURVES[:3])
    assert len({each.line_.get_marker() for each in displays}) == 3
    assert len({id(each.diagonal_) for each in displays}) == 1
    assert len(axes.get_legend().get_texts()) == 4
    assert all(each.ax_ is axes and each.figure_ is axes.figure for each in displays)


def test_a_line_of_another_plot_does_not_take_a_colour():
    axes = plt.subplots()[1]
    axes.plot([0, 1], [0.5, 0.5])
    assert ReliabilityDisplay.from_predictions(Y, PROBA, ax=axes).line_.get_color() == CURVES[0]


def test_names_are_not_read_as_formulas():
    display = ReliabilityDisplay.from_predictions(Y, PROBA, name="$\\frac$")
    display.figure_.canvas.draw()  # an invalid formula would be an error here


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": "confident"}, 'Did you mean "confidence"'),
        ({"strategy": "quantiles"}, 'Did you mean "quantile"'),
        ({"n_bins": 0}, "bins=0 is not a whole number of 1 or more."),
        ({"classes": ["a", "b"]}, "proba has 3 columns, but classes has 2 different labels"),
    ],
)
def test_wrong_arguments_are_refused(options, words):
    with pytest.raises(ArgumentError) as caught:
        ReliabilityDisplay.from_predictions(Y, PROBA, **options)
    assert words in str(caught.value)


def test_a_model_without_probabilities_is_refused():
    X, y = [[0.0], [1.0]], [0, 1]
    with pytest.raises(ArgumentError, match="estimator gives no probabilities"):
        ReliabilityDisplay.from_estimator(SVC().fit(X, y), X, y)


def test_a_model_that_is_not_fitted_is_refused():
    with pytest.raises(ValueError, match="not fitted yet"):
        ReliabilityDisplay.from_estimator(PolytomyClassifier(), [[0.0]], [0])


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    check_needs_matplotlib(monkeypatch, lambda: ReliabilityDisplay.from_predictions(Y, PROBA))
