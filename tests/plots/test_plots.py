"""Pictures: what is drawn is what was given."""

import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgba

mpl.use("Agg")

from polytomy import designs, parse, plots
from polytomy.distances import ClassDistances
from polytomy.errors import ArgumentError
from polytomy.plots.canvas import NEGATIVE, POSITIVE

LINE = ClassDistances(["c", "a", "b"], [[0, 1, 9], [1, 0, 4], [9, 4, 0]], "gap")
RESULTS = {
    "candidate": np.array(["cheap", "good", "bad", "unknown"]),
    "n_binaries": np.array([1, 2, 3, 4]),
    "mean_log_loss": np.array([0.5, 0.1, 0.6, np.nan]),
    "mean_accuracy": np.array([0.8, 0.9, 0.7, np.nan]),
    "mean_fit_time": np.array([1.0, 4.0, 5.0, 2.0]),
    "is_chosen": np.array([False, True, False, False]),
    "reason": np.array(["", "", "left behind", "no probabilities"]),
}


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    mpl.pyplot.close("all")


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_a_tree_has_its_classes_from_top_to_bottom_and_two_lines_a_node():
    axes = plots.tree(parse("m {a n {b c}}"), separability=[0.5, 1.0])
    assert texts(axes) == ["0.5", "1", "a", "b", "c"]
    heights = [text.xy[1] for text in axes.texts[2:]]
    assert heights == sorted(heights, reverse=True)
    colours = [line.get_color() for line in axes.lines]
    assert colours == [NEGATIVE, POSITIVE, NEGATIVE, POSITIVE]
    # The second node stands in the middle of b and c, and at the end of the first one's +1 branch.
    end = axes.lines[1].get_xydata()[-1]
    assert end.tolist() == [1, -1.5]
    assert axes.lines[2].get_xydata()[0].tolist() == [1, -1.5]


def test_codes_in_a_tree_are_boxes_and_classes_can_be_renamed():
    axes = plots.tree(parse("@one-vs-one {1 2 3}"), labels={1: "one"})
    assert texts(axes) == ["3 rows", "one", "2", "3"]


def test_a_single_class_is_drawn():
    assert texts(plots.tree(parse("lonely"))) == ["lonely"]


def test_a_node_has_the_mean_distance_of_classes_in_different_branches():
    far = ClassDistances("abcd", [[0, 1, 4, 6], [1, 0, 8, 2], [4, 8, 0, 3], [6, 2, 3, 0]])
    assert texts(plots.tree(parse("m {n {d c} o {b a}}"), separability=far))[:3] == ["5", "3", "1"]
    # A code of three branches, of which one is a node: (4 + 8 + 6 + 2 + 3) / 5.
    axes = plots.tree(parse("@one-vs-one {n {a b} c d}"), separability=far)
    assert texts(axes)[:2] == ["3 rows 4.6", "1"]


def test_a_tree_of_many_classes_fits_on_a_page_that_can_be_drawn():
    chain = designs.empirical_tree(np.cumsum(1.0 + np.arange(242))[:, np.newaxis], range(242))
    assert chain.depth == 241
    width, height = plots.tree(chain).figure.get_size_inches()
    assert width < 60
    assert 30 < height < 60  # eight points a class


def test_labels_are_no_formulas():
    labels = ["a$b$", "c$\\frac$", "$"]
    scheme = designs.balanced_tree(labels)
    drawn = [
        plots.tree(scheme),
        plots.code(scheme),
        *plots.distances(ClassDistances(labels, LINE.matrix)),
        plots.pareto(RESULTS | {"candidate": np.array([*labels, "$x$"])}),
    ]
    for axes in drawn:
        axes.figure.canvas.draw()  # a formula that is none is an error here
    for axes in drawn[0], drawn[4]:
        assert not any(text.get_parse_math() for text in axes.texts if text.get_text() in labels)


@pytest.mark.parametrize("n_classes", [60, 61])
def test_where_names_have_no_room_there_are_no_numbers_in_their_place(n_classes):
    matrix = np.ones((n_classes, n_classes)) - np.eye(n_classes)
    _, right = plots.distances(ClassDistances(range(100, 100 + n_classes), matrix))
    code = plots.code(designs.one_vs_rest(range(100, 100 + n_classes)))
    for axes in right, code:
        assert len(axes.get_xticks()) == len(axes.get_yticks()) == (60 if n_classes == 60 else 0)


@pytest.mark.filterwarnings("error")
def test_distances_that_are_all_zero_are_drawn():
    left, right = plots.distances(ClassDistances("ab", np.zeros((2, 2))))
    left.figure.canvas.draw()
    assert texts(right) == ["0", "0"]


@pytest.mark.parametrize("upper", [0, 1])
def test_the_names_of_two_near_candidates_stand_apart(upper):
    loss = np.array([0.1, 0.1, 0.5, 0.9])
    loss[upper] = 0.102
    near = RESULTS | {"mean_log_loss": loss, "mean_fit_time": np.array([1.0, 1.01, 2.0, 3.0])}
    heights = [text.xyann[1] for text in plots.pareto(near).texts[:2]]
    assert heights[upper] > 0 > heights[1 - upper]


@pytest.mark.filterwarnings("error")
def test_candidates_without_results_are_left_out():
    nothing = RESULTS | {name: np.full(4, np.nan) for name in ("mean_log_loss", "mean_fit_time")}
    assert texts(plots.pareto(nothing)) == []


def test_a_code_is_its_matrix():
    scheme = parse("m {a n {b c}}")
    axes = plots.code(scheme)
    np.testing.assert_array_equal(axes.images[0].get_array(), scheme.flatten().code.matrix)
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["a", "b", "c"]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["m", "n"]
    matrix = [[-1, 1, 0], [0, -1, 1]]
    for given in matrix, designs.from_matrix(matrix, 3).code:
        np.testing.assert_array_equal(plots.code(given).images[0].get_array(), matrix)


def test_distances_are_in_the_order_of_their_dendrogram():
    left, right = plots.distances(LINE)
    labels = [tick.get_text() for tick in right.get_yticklabels()]
    # c and a, the nearest, are joined first, and b, the farthest, is last or first.
    assert labels in (["b", "c", "a"], ["b", "a", "c"], ["c", "a", "b"], ["a", "c", "b"])
    shown = right.images[0].get_array()
    for i, one in enumerate(labels):
        for j, other in enumerate(labels):
            assert i == j or shown[i, j] == LINE[one, other]
    joins = sorted(max(line.vertices[:, 0]) for line in left.collections[0].get_paths())
    assert joins == [1, 4]


def test_candidates_are_drawn_with_their_front():
    axes = plots.pareto(RESULTS)
    assert texts(axes) == ["cheap", "good", "bad"]
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), [[1, 0.5], [4, 0.1]])
    assert axes.get_ylabel() == "log loss"
    assert axes.get_xlabel() == "fit time, seconds"
    assert tuple(axes.collections[0].get_facecolors()[1]) == to_rgba(POSITIVE)
    axes = plots.pareto(RESULTS, x="n_binaries", y="mean_accuracy")
    assert axes.get_xlabel() == "number of binaries"
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), [[1, 0.8], [2, 0.9]])


def test_given_axes_are_used():
    axes = mpl.pyplot.subplots()[1]
    assert plots.tree(parse("m {a b}"), ax=axes) is axes
    assert plots.code([[-1, 1]], ax=axes) is axes
    assert plots.pareto(RESULTS, ax=axes) is axes


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: plots.tree("m {a b}"), "drawn of a Scheme, not of str"),
        (lambda: plots.tree(parse("m {a b}"), separability=[1, 2]), "2 numbers for 1 nodes"),
        (lambda: plots.code(parse("lonely")), "one class has no partitions to draw"),
        (lambda: plots.distances(np.zeros((2, 2))), "make them with polytomy.distances"),
        (lambda: plots.distances(LINE, linkage="ward"), "not one of single, complete, average"),
        (lambda: plots.distances(ClassDistances(["a"], [[0]])), "one class has no distances"),
        (lambda: plots.pareto(object()), "fit it first"),
        (lambda: plots.pareto(RESULTS, x="price"), "no 'price'; there are n_binaries"),
    ],
)
def test_what_cannot_be_drawn(draw, words):
    with pytest.raises(ArgumentError, match=words):
        draw()


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plots.tree(parse("m {a b}")),
        lambda: plots.code([[-1, 1]]),
        lambda: plots.distances(LINE),
        lambda: plots.pareto(RESULTS),
    ],
)
def test_without_matplotlib_the_extra_is_named(monkeypatch, draw):
    for name in ("matplotlib", "matplotlib.pyplot", "matplotlib.colors"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ArgumentError, match=r'pip install "polytomy\[plots\]"'):
        draw()
