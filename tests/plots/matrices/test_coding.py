"""Heat maps of coding matrices."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from plots.axes import check_needs_matplotlib
from polytomy import PolytomyClassifier, designs, parse, plots
from polytomy.errors import ArgumentError


def test_the_image_is_the_coding_matrix():
    scheme = parse("m {a n {b c}}")
    axes = plots.code(scheme)
    np.testing.assert_array_equal(axes.images[0].get_array(), scheme.flatten().code.matrix)
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["a", "b", "c"]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["m", "n"]
    matrix = [[-1, 1, 0], [0, -1, 1]]
    for given in matrix, designs.from_matrix(matrix, 3).code:
        np.testing.assert_array_equal(plots.code(given).images[0].get_array(), matrix)


def test_labels_are_not_read_as_formulas():
    axes = plots.code(designs.balanced_tree(["a$b$", "c$\\frac$", "$"]))
    axes.figure.canvas.draw()  # an invalid formula would be an error here


def test_some_of_many_classes_are_labelled():
    axes = plots.code(designs.one_vs_rest(range(1000, 1300)))
    labels = [tick.get_text() for tick in axes.get_xticklabels()]
    assert 10 < len(labels) < 100
    assert labels == [str(1000 + place) for place in axes.get_xticks().tolist()]


def test_a_fitted_classifier_is_drawn_as_its_scheme():
    X = np.arange(12.0)[:, np.newaxis]
    classifier = PolytomyClassifier("gaussian-nb", "m {a n {b c}}", final_calibration=None)
    axes = plots.code(classifier.fit(X, ["a", "b", "c"] * 4))
    np.testing.assert_array_equal(axes.images[0].get_array(), [[-1, 1, 1], [0, -1, 1]])


def test_the_legend_explains_empty_cells_if_there_are_some():
    def legend(matrix):
        return [text.get_text() for text in plots.code(matrix).get_legend().get_texts()]

    assert legend([[-1, 1]]) == ["−1", "+1"]
    assert legend([[-1, 1, 0], [0, -1, 1]]) == ["−1", "+1", "not used"]


def test_given_axes_are_used():
    axes = plt.subplots()[1]
    assert plots.code([[-1, 1]], ax=axes) is axes


def test_a_single_class_is_an_error():
    with pytest.raises(ArgumentError, match="a single class has no partitions to draw"):
        plots.code(parse("lonely"))


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    check_needs_matplotlib(monkeypatch, lambda: plots.code([[-1, 1]]))


def test_a_wide_partition_has_a_row_for_each_side():
    axes = plots.code(parse("m {a n {b c d}}"))
    names = [tick.get_text() for tick in axes.get_yticklabels()]
    assert names == ["m", "n/0", "n/1", "n/2"]
