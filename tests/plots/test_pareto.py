"""Plots of score against cost."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba

from plots.axes import check_needs_matplotlib, texts
from polytomy import plots
from polytomy.errors import ArgumentError
from polytomy.plots.canvas import FAINT, POSITIVE

RESULTS = {
    "candidate": np.array(["cheap", "good", "bad", "unknown"]),
    "n_binaries": np.array([1, 2, 3, 4]),
    "mean_log_loss": np.array([0.5, 0.1, 0.6, np.nan]),
    "mean_accuracy": np.array([0.8, 0.9, 0.7, np.nan]),
    "mean_fit_time": np.array([1.0, 4.0, 5.0, 2.0]),
    "is_chosen": np.array([False, True, False, False]),
    "reason": np.array(["", "", "dropped", "no probabilities"]),
}


def test_a_line_joins_the_pareto_front():
    axes = plots.pareto(RESULTS)
    assert texts(axes) == ["cheap", "good", "bad"]
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), [[1, 0.5], [4, 0.1]])
    assert axes.get_ylabel() == "log loss"
    assert axes.get_xlabel() == "fit time (seconds)"
    axes = plots.pareto(RESULTS, x="n_binaries", y="mean_accuracy")
    assert axes.get_xlabel() == "number of binaries"
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), [[1, 0.8], [2, 0.9]])


@pytest.mark.parametrize("upper", [0, 1])
def test_names_of_close_candidates_do_not_overlap(upper):
    loss = np.array([0.1, 0.1, 0.5, 0.9])
    loss[upper] = 0.102
    near = RESULTS | {"mean_log_loss": loss, "mean_fit_time": np.array([1.0, 1.01, 2.0, 3.0])}
    heights = [text.xyann[1] for text in plots.pareto(near).texts[:2]]
    assert heights[upper] > 0 > heights[1 - upper]


@pytest.mark.filterwarnings("error")
def test_candidates_without_results_are_omitted():
    nothing = RESULTS | {name: np.full(4, np.nan) for name in ("mean_log_loss", "mean_fit_time")}
    assert texts(plots.pareto(nothing)) == []


def test_the_chosen_candidate_is_orange_and_dropped_ones_are_grey():
    colours = [tuple(each) for each in plots.pareto(RESULTS).collections[0].get_facecolors()]
    assert colours[1] == to_rgba(POSITIVE)
    assert colours[2] == to_rgba(FAINT)
    assert colours[0] not in (to_rgba(POSITIVE), to_rgba(FAINT))


@pytest.mark.parametrize(("largest", "scale"), [(20.0, "linear"), (21.0, "log")])
def test_costs_that_differ_by_more_than_a_factor_of_twenty_have_a_logarithmic_axis(largest, scale):
    costs = {"mean_fit_time": np.array([1.0, 4.0, 5.0, largest])}
    assert plots.pareto(RESULTS | costs).get_xscale() == scale


def test_labels_are_not_read_as_formulas():
    names = ["a$b$", "c$\\frac$", "$", "$x$"]
    axes = plots.pareto(RESULTS | {"candidate": np.array(names)})
    axes.figure.canvas.draw()  # an invalid formula would be an error here
    assert texts(axes) == names[:3]
    assert not any(text.get_parse_math() for text in axes.texts)


def test_given_axes_are_used():
    axes = plt.subplots()[1]
    assert plots.pareto(RESULTS, ax=axes) is axes


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: plots.pareto(object()), "search has no results yet. Call fit first."),
        (
            lambda: plots.pareto(RESULTS, x="price"),
            'x="price" is not in the results. Use one of n_binaries, mean_log_loss, mean_accuracy, '
            "mean_fit_time.",
        ),
    ],
)
def test_invalid_arguments_are_errors(draw, words):
    with pytest.raises(ArgumentError) as caught:
        draw()
    assert str(caught.value) == words


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    check_needs_matplotlib(monkeypatch, lambda: plots.pareto(RESULTS))


def test_dropped_candidates_are_drawn_by_their_difference_on_common_folds():
    columns = {
        "rank": np.array([2, 1, 3, 4]),
        "difference_log_loss": np.array([0.4, 0.0, 0.9, np.nan]),
    }
    heights = plots.pareto(RESULTS | columns).collections[0].get_offsets()[:3, 1]
    np.testing.assert_allclose(heights, [0.5, 0.1, 1.0])
