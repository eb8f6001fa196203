"""Tree diagrams of schemes."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from plots.axes import check_needs_matplotlib, texts
from polytomy import PolytomyClassifier, SchemeSearchCV, designs, parse, plots
from polytomy.distances import ClassDistances
from polytomy.errors import ArgumentError
from polytomy.plots.canvas import NEGATIVE, POSITIVE


def test_classes_are_listed_from_top_to_bottom_and_nodes_have_two_lines():
    axes = plots.tree(parse("m {a n {b c}}"), separability=[0.5, 1.0])
    assert texts(axes) == ["0.5", "1", "a", "b", "c"]
    heights = [text.xy[1] for text in axes.texts[2:]]
    assert heights == sorted(heights, reverse=True)
    colours = [line.get_color() for line in axes.lines]
    assert colours == [NEGATIVE, POSITIVE, NEGATIVE, POSITIVE]
    # The second node is halfway between b and c, at the end of the first node's +1 branch.
    end = axes.lines[1].get_xydata()[-1]
    assert end.tolist() == [1, -1.5]
    assert axes.lines[2].get_xydata()[0].tolist() == [1, -1.5]


def test_a_code_in_a_tree_is_drawn_as_its_matrix_next_to_its_classes():
    scheme = parse("@one-vs-one {1 m {2 4} 3}")
    axes = plots.tree(scheme, labels={1: "one"})
    assert texts(axes) == ["one", "2", "4", "3"]
    (image,) = axes.images
    # A row for each class: both classes below m have the signs of its branch.
    columns = scheme.nodes[0].code.matrix.T
    np.testing.assert_array_equal(image.get_array(), columns[[0, 1, 1, 2]])
    _, right, bottom, top = image.get_extent()
    assert (top, bottom) == (0.5, -3.5)
    # A line leaves the matrix at the height of each branch.
    starts = [line.get_xydata()[0].tolist() for line in axes.lines[:3]]
    assert starts == [[right, 0], [right, -1.5], [right, -3]]


def test_matrices_make_room_for_their_rows():
    few, many = (plots.tree(designs.one_vs_one(n)) for n in (3, 9))
    widths = [axes.images[0].get_extent()[1] for axes in (few, many)]
    assert widths[0] < widths[1]
    assert many.figure.get_size_inches()[0] > few.figure.get_size_inches()[0]


def test_a_single_class_is_drawn():
    assert texts(plots.tree(parse("lonely"))) == ["lonely"]


def test_a_node_shows_the_mean_distance_between_classes_in_different_branches():
    far = ClassDistances("abcd", [[0, 1, 4, 6], [1, 0, 8, 2], [4, 8, 0, 3], [6, 2, 3, 0]])
    assert texts(plots.tree(parse("m {n {d c} o {b a}}"), separability=far))[:3] == ["5", "3", "1"]
    # A code over three branches, one of them a node: (4 + 8 + 6 + 2 + 3) / 5.
    axes = plots.tree(parse("@one-vs-one {n {a b} c d}"), separability=far)
    assert texts(axes)[:2] == ["4.6", "1"]


def test_a_tree_of_many_classes_has_a_bounded_size():
    chain = designs.empirical_tree(np.cumsum(1.0 + np.arange(242))[:, np.newaxis], range(242))
    assert chain.depth == 241
    width, height = plots.tree(chain).figure.get_size_inches()
    assert width < 60
    assert 30 < height < 60  # eight points per class


def test_labels_are_not_read_as_formulas():
    labels = ["a$b$", "c$\\frac$", "$"]
    axes = plots.tree(designs.balanced_tree(labels))
    axes.figure.canvas.draw()  # an invalid formula would be an error here
    assert not any(text.get_parse_math() for text in axes.texts if text.get_text() in labels)


def test_given_axes_are_used():
    axes = plt.subplots()[1]
    assert plots.tree(parse("m {a b}"), ax=axes) is axes


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: plots.tree("m {a b}"), "scheme must be a Scheme; got str."),
        (
            lambda: plots.tree(parse("m {a b}"), separability=[1, 2]),
            "separability has 2 numbers for 1 nodes. Pass one per node.",
        ),
        (
            lambda: plots.tree(fitted_on_line(), X=[[0.0]]),
            "Pass both X and y, or neither; with them, leave out separability.",
        ),
        (
            lambda: plots.TreeDisplay.from_predictions(["a"], [[1.0]], "m {a b}"),
            "scheme must be a Scheme; got str.",
        ),
    ],
)
def test_invalid_arguments_are_errors(draw, words):
    with pytest.raises(ArgumentError) as caught:
        draw()
    assert str(caught.value) == words


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    check_needs_matplotlib(monkeypatch, lambda: plots.tree(parse("m {a b}")))


def fitted_on_line():
    """A classifier of three points of a line, which takes b for c."""
    X, y = np.repeat([[0.0], [4.0], [5.0]], 10, axis=0), np.repeat(["a", "b", "c"], 10)
    classifier = PolytomyClassifier("gaussian-nb", "m {a n {b c}}", final_calibration=None)
    noise = np.random.default_rng(0).normal(0, 0.1, X.shape)
    return classifier.fit(X + noise, y)


def test_error_rates_are_written_at_nodes_and_classes():
    classifier = fitted_on_line()
    X, y = [[0.0], [5.0], [4.0], [5.0]], ["a", "b", "b", "c"]
    axes = plots.tree(classifier, X=X, y=y)
    assert texts(axes) == ["0.000", "0.333", "a (0.000)", "b (0.500)", "c (0.000)"]
    assert axes.get_title() == "error rate"
    axes = plots.tree(classifier, X=X[:2], y=y[:2], score="recall", names=True, labels={"a": "one"})
    assert texts(axes) == ["m 1.000", "n 1.000", "one (1.000)", "b (0.000)", "c"]  # there is no c
    assert axes.get_title() == "recall"


def test_a_fitted_classifier_or_pipeline_is_drawn_as_its_scheme():
    classifier = fitted_on_line()
    assert texts(plots.tree(classifier, names=True)) == ["m", "n", "a", "b", "c"]
    doubled = make_pipeline(FunctionTransformer(lambda X: X / 2), classifier)
    X, y = np.array([[0.0], [8.0], [10.0]]), ["a", "b", "b"]
    assert texts(plots.tree(doubled)) == ["a", "b", "c"]
    assert texts(plots.tree(doubled, X=X, y=y))[-2:] == ["b (0.500)", "c"]


def test_labels_without_room_are_left_out():
    axes = plt.subplots(figsize=(4, 3))[1]
    plots.tree(designs.balanced_tree(200), ax=axes)
    assert 5 < len(texts(axes)) < 50
    assert texts(axes)[0] == "0"


def test_predictions_of_any_classifier_are_drawn_on_a_scheme():
    scheme = parse("m {a n {b c}}")
    proba = [[0.9, 0.1, 0.0], [0.0, 0.4, 0.6], [0.0, 0.2, 0.8], [0.6, 0.2, 0.2]]
    display = plots.TreeDisplay.from_predictions(["a", "b", "c", "c"], proba, scheme)
    assert display.node_values == [1 / 4, 2 / 3]  # b and c have the same share of the last sample
    assert texts(display.ax_) == ["0.250", "0.667", "a (0.000)", "b (1.000)", "c (0.500)"]
    weighted = plots.TreeDisplay.from_predictions(
        ["a", "b", "c", "c"], proba, scheme, sample_weight=[1, 1, 2, 0]
    )
    assert weighted.node_values == [0, 1 / 3]


def test_searches_are_drawn_as_what_they_chose():
    X, y = np.repeat([[0.0], [4.0], [5.0]], 10, axis=0), np.repeat(["a", "b", "c"], 10)
    search = SchemeSearchCV("gaussian-nb", ["m {a n {b c}}"], cv=2).fit(X, y)
    assert texts(plots.tree(search, names=True)) == ["m", "n", "a", "b", "c"]
    display = plots.TreeDisplay.from_estimator(search, X, y)
    assert display.node_values == [0, 0]
