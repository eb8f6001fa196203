"""Heat maps of class distances next to their dendrograms."""

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


@pytest.mark.parametrize(("n_classes", "n_ticks"), [(60, 60), (61, 0)])
def test_too_many_classes_have_no_ticks(n_classes, n_ticks):
    matrix = np.ones((n_classes, n_classes)) - np.eye(n_classes)
    _, right = plots.distances(ClassDistances(range(100, 100 + n_classes), matrix))
    assert len(right.get_xticks()) == len(right.get_yticks()) == n_ticks


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (
            lambda: plots.distances(np.zeros((2, 2))),
            "between must be ClassDistances; got ndarray. Compute them with polytomy.distances.",
        ),
        (
            lambda: plots.distances(LINE, linkage="averge"),
            'linkage="averge" is unknown. Did you mean "average"? Use one of single, complete, '
            "average.",
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
