"""Heat maps of class distances next to their dendrograms."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from plots.axes import check_needs_matplotlib, texts
from polytomy import plots
from polytomy.distances import ClassDistances
from polytomy.errors import ArgumentError

LINE = ClassDistances(["c", "a", "b"], [[0, 1, 9], [1, 0, 4], [9, 4, 0]], "gap")


def test_distances_are_in_the_order_of_their_dendrogram():
    left, right = plots.distances(LINE)
    labels = [tick.get_text() for tick in right.get_yticklabels()]
    # c and a are closest and joined first, so b is first or last.
    assert labels in (["b", "c", "a"], ["b", "a", "c"], ["c", "a", "b"], ["a", "c", "b"])
    shown = right.images[0].get_array()
    for i, one in enumerate(labels):
        for j, other in enumerate(labels):
            assert i == j or shown[i, j] == LINE[one, other]
    joins = sorted(max(line.vertices[:, 0]) for line in left.collections[0].get_paths())
    assert joins == [1, 4]


@pytest.mark.filterwarnings("error")
def test_distances_that_are_all_zero_are_drawn():
    left, right = plots.distances(ClassDistances("ab", np.zeros((2, 2))))
    left.figure.canvas.draw()
    assert texts(right) == ["0", "0"]


def test_labels_are_not_read_as_formulas():
    left, _ = plots.distances(ClassDistances(["a$b$", "c$\\frac$", "$"], LINE.matrix))
    left.figure.canvas.draw()  # an invalid formula would be an error here


def test_some_of_many_classes_are_labelled():
    _, right = plots.distances(ClassDistances(range(200), np.ones((200, 200)) - np.eye(200)))
    assert 10 < len(right.get_xticks()) < 100
    assert 10 < len(right.get_yticks()) < 100


def test_given_axes_are_used():
    axes = plt.subplots(1, 2)[1]
    assert plots.distances(LINE, ax=axes) == (axes[0], axes[1])


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (
            lambda: plots.distances(np.zeros((2, 2))),
            "between must be ClassDistances; got ndarray. Compute them with polytomy.distances.",
        ),
        (
            lambda: plots.distances(LINE, linkage="averge"),
            'linkage must be "single", "complete" or "average"; got \'averge\'. Did you mean '
            '"average"?',
        ),
        (
            lambda: plots.distances(ClassDistances(["a"], [[0]])),
            "A single class has no distances to draw.",
        ),
    ],
)
def test_invalid_arguments_are_errors(draw, words):
    with pytest.raises(ArgumentError) as caught:
        draw()
    assert str(caught.value) == words


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    check_needs_matplotlib(monkeypatch, lambda: plots.distances(LINE))
