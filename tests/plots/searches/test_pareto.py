"""Plots of score against cost."""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.text import Text

from plots.axes import check_needs_matplotlib, texts
from polytomy import plots
from polytomy.errors import ArgumentError
from polytomy.plots.canvas import FAINT, NEGATIVE, POSITIVE

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
    assert sorted(texts(axes)) == ["bad", "cheap", "good"]
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), [[1, 0.5], [4, 0.1]])
    assert axes.get_ylabel() == "log-loss"
    assert axes.get_xlabel() == "fit time (seconds)"
    axes = plots.pareto(RESULTS, x="n_binaries", y="mean_accuracy")
    assert axes.get_xlabel() == "number of binaries"
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), [[1, 0.8], [2, 0.9]])


def many_results(n_candidates):
    """Candidates in three tight groups, with long names."""
    rng = np.random.default_rng(0)
    centres = rng.choice([0.2, 0.5, 0.55], n_candidates)
    return {
        "candidate": np.array([f"candidate {k}, C={k}" for k in range(n_candidates)]),
        "mean_log_loss": centres + rng.normal(0, 0.02, n_candidates),
        "mean_fit_time": centres + rng.normal(0, 0.02, n_candidates),
        "is_chosen": np.arange(n_candidates) == 0,
        "reason": np.array([""] * n_candidates),
    }


def test_names_of_close_candidates_overlap_neither_each_other_nor_points():
    display = plots.ParetoDisplay.from_estimator(many_results(16))
    display.figure_.canvas.draw()
    boxes = [Text.get_window_extent(label) for label in display.labels_]
    assert len(boxes) == 16
    for one, other in combinations(boxes, 2):
        assert not one.overlaps(other)
    points = display.ax_.transData.transform(
        np.column_stack([display.candidates.costs, display.candidates.scores])
    )
    assert not any(box.contains(*point) for box in boxes for point in points)


def test_of_many_candidates_only_those_that_matter_have_names():
    display = plots.ParetoDisplay.from_estimator(many_results(60))
    wanted = {*display.candidates.front, 0}
    assert {label.get_text() for label in display.labels_} == {
        f"candidate {k}, C={k}" for k in wanted
    }


@pytest.mark.filterwarnings("error")
def test_candidates_without_results_are_omitted():
    nothing = RESULTS | {name: np.full(4, np.nan) for name in ("mean_log_loss", "mean_fit_time")}
    assert texts(plots.pareto(nothing)) == []


def test_the_legend_explains_chosen_and_dropped_candidates():
    axes = plots.pareto(RESULTS)
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == ["Pareto front", "chosen", "candidate", "dropped early"]
    chosen, plain, dropped = axes.collections
    assert tuple(chosen.get_facecolors()[0]) == to_rgba(POSITIVE)
    assert tuple(plain.get_facecolors()[0]) == to_rgba(NEGATIVE)
    assert tuple(dropped.get_edgecolors()[0]) == to_rgba(FAINT)
    np.testing.assert_array_equal(chosen.get_offsets(), [[4, 0.1]])
    np.testing.assert_array_equal(plain.get_offsets(), [[1, 0.5]])
    np.testing.assert_array_equal(dropped.get_offsets(), [[5, 0.6]])


@pytest.mark.parametrize(("largest", "scale"), [(20.0, "linear"), (21.0, "log")])
def test_costs_that_differ_by_more_than_a_factor_of_twenty_have_a_logarithmic_axis(largest, scale):
    costs = {"mean_fit_time": np.array([1.0, 4.0, 5.0, largest])}
    assert plots.pareto(RESULTS | costs).get_xscale() == scale


def test_labels_are_not_read_as_formulas():
    names = ["a$b$", "c$\\frac$", "$", "$x$"]
    axes = plots.pareto(RESULTS | {"candidate": np.array(names)})
    axes.figure.canvas.draw()  # an invalid formula would be an error here
    assert sorted(texts(axes)) == sorted(names[:3])
    assert not any(text.get_parse_math() for text in axes.texts)


def test_given_axes_are_used():
    axes = plt.subplots()[1]
    assert plots.pareto(RESULTS, ax=axes) is axes


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: plots.pareto(object()), "search has no results yet. Call fit first."),
        (
            lambda: plots.pareto({"mean_test_score": [1.0]}),
            "search must be a fitted SchemeSearchCV, or its cv_results_; got dict.",
        ),
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
    display = plots.ParetoDisplay.from_estimator(RESULTS | columns)
    np.testing.assert_allclose(display.candidates.scores[:3], [0.5, 0.1, 1.0])
