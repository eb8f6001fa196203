"""Heat maps of a grid of parameters."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba

from plots.axes import check_needs_matplotlib, texts
from polytomy import plots
from polytomy.errors import ArgumentError
from polytomy.plots.canvas import POSITIVE


def results(params, scores, *, score="accuracy", chosen=0, reasons=None, schemes=None):
    """Results of candidates with these parameters; the first of rank 1."""
    n = len(params)
    scores = np.asarray(scores, dtype=float)
    order = np.argsort(-scores if score == "accuracy" else scores)
    rank = np.empty(n, dtype=int)
    rank[order] = np.arange(1, n + 1)
    found = {
        "candidate": np.array([str(k) for k in range(n)], dtype=object),
        "scheme": np.array(schemes or ["pairs"] * n, dtype=object),
        f"mean_{score}": scores,
        f"difference_{score}": scores - scores[order[0]],
        "rank": rank,
        "is_chosen": np.arange(n) == chosen,
        "reason": np.array(reasons or [""] * n, dtype=object),
    }
    for name in sorted({name for each in params for name in each}):
        values = np.array([each.get(name, 0) for each in params], dtype=object)
        found[f"param_{name}"] = np.ma.MaskedArray(values, [name not in each for each in params])
    return found


SQUARE = [{"C": C, "gamma": g} for C in (10, 0.5) for g in (0.1, 0.01)]


def shown(axes):
    """The values of the cells, row by row from the bottom."""
    return np.ma.filled(axes.images[0].get_array(), np.nan)


def labels(axis):
    return [each.get_text() for each in axis]


def test_c_is_upright_and_gamma_level_with_numbers_in_their_order():
    axes = plots.grid(results(SQUARE, [0.9, 0.8, 0.7, 0.6]))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("gamma", "C")
    assert labels(axes.get_xticklabels()) == ["0.01", "0.1"]
    assert labels(axes.get_yticklabels()) == ["0.5", "10"]
    np.testing.assert_allclose(shown(axes), [[0.6, 0.7], [0.8, 0.9]])
    assert sorted(texts(axes)) == ["0.6", "0.7", "0.8", "0.9"]


def test_the_axes_can_be_chosen():
    axes = plots.grid(results(SQUARE, [0.9, 0.8, 0.7, 0.6]), x="C")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("C", "gamma")
    np.testing.assert_allclose(shown(axes), [[0.6, 0.8], [0.7, 0.9]])
    assert plots.grid(results(SQUARE, [0.9] * 4), y="gamma").get_xlabel() == "C"


@pytest.mark.parametrize(("score", "best"), [("accuracy", 0.9), ("log_loss", 0.2)])
def test_a_cell_has_the_best_of_the_candidates_that_share_it(score, best):
    found = results([{"C": 1}, {"C": 1}, {"C": 5}], [0.9, 0.2, 0.5], score=score)
    axes = plots.grid(found)
    np.testing.assert_allclose(shown(axes), [[best, 0.5]])
    assert axes.get_xlabel() == "C"
    assert axes.get_ylabel() == ""


def test_candidates_without_a_value_or_a_score_have_no_cell():
    params = [{"C": 1, "gamma": 0.1}, {"C": 5, "gamma": 0.2}, {"C": 5}]
    axes = plots.grid(results(params, [0.9, np.nan, 0.7]))
    np.testing.assert_array_equal(np.isnan(shown(axes)), [[False, True], [True, True]])


def test_the_chosen_cell_has_a_frame_and_dropped_ones_are_hatched():
    found = results(SQUARE, [0.9, 0.8, 0.7, 0.6], reasons=["", "", "dropped", ""])
    frames = [each for each in plots.grid(found).patches if not each.get_hatch()]
    assert [each.get_edgecolor() for each in frames] == [to_rgba(POSITIVE)]
    assert frames[0].get_xy() == (0.5, 0.5)
    hatched = [each for each in plots.grid(found).patches if each.get_hatch()]
    assert [each.get_xy() for each in hatched] == [(0.5, -0.5)]


def test_dropped_candidates_are_drawn_by_their_difference_on_common_folds():
    found = results([{"C": 1}, {"C": 5}], [0.9, 0.95], reasons=["", "dropped"])
    found |= {"rank": np.array([1, 2]), "difference_accuracy": np.array([0.0, -0.3])}
    np.testing.assert_allclose(shown(plots.grid(found)), [[0.9, 0.6]])


def test_words_are_values_too():
    params = [{"kernel": "rbf"}, {"kernel": "linear"}, {"kernel": 3}]
    axes = plots.grid(results(params, [0.9, 0.8, 0.7]))
    assert labels(axes.get_xticklabels()) == ["3", "rbf", "linear"]


def test_large_grids_have_colours_without_numbers():
    params = [{"C": C} for C in range(1, 14)]
    assert texts(plots.grid(results(params, np.linspace(0.1, 0.9, 13)))) == []


def test_given_axes_are_used():
    _, axes = plt.subplots()
    assert plots.grid(results(SQUARE, [0.9, 0.8, 0.7, 0.6]), ax=axes) is axes


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: plots.grid(object()), "search has no results yet. Call fit first."),
        (lambda: plots.grid({"candidate": []}), "search has no grid. Search with param_grid"),
        (lambda: plots.grid(results(SQUARE, [1] * 4), x="gama"), 'Did you mean "gamma"?'),
        (lambda: plots.grid(results(SQUARE, [1] * 4), x="C", y="C"), "are the same"),
    ],
)
def test_invalid_arguments_are_errors(draw, words):
    with pytest.raises(ArgumentError) as error:
        draw()
    assert words in str(error.value)


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    check_needs_matplotlib(monkeypatch, lambda: plots.grid(results(SQUARE, [1] * 4)))
