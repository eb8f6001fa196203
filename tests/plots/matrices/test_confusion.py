"""Confusion matrices in the order of a tree."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import ConfusionMatrixDisplay as SklearnDisplay
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from plots.axes import check_needs_matplotlib
from polytomy import PolytomyClassifier, designs, parse
from polytomy.errors import ArgumentError, SchemeError
from polytomy.plots import ConfusionMatrixDisplay

LAND = parse("land {forest {oak pine} field {rye corn}}")
TRUE = ["oak", "oak", "pine", "rye", "corn", "corn", "corn"]
FOUND = ["oak", "pine", "pine", "corn", "corn", "oak", "corn"]


def labels_of(axis):
    return [label.get_text() for label in axis]


def test_classes_have_the_order_of_the_hierarchy_and_nodes_have_frames():
    display = ConfusionMatrixDisplay.from_predictions(TRUE, FOUND, hierarchy=LAND)
    assert display.display_labels == ["oak", "pine", "rye", "corn"]
    expected = [[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 2]]
    np.testing.assert_array_equal(display.confusion_matrix, expected)
    assert display.blocks == [(0, 2), (2, 4)]
    frames = [(*patch.get_xy(), patch.get_width()) for patch in display.ax_.patches]
    assert sorted(frames) == [(-0.5, -0.5, 2), (1.5, 1.5, 2)]
    assert labels_of(display.ax_.get_yticklabels()) == display.display_labels
    written = [[text.get_text() for text in row] for row in display.text_]
    assert written == [[str(n) if n else "" for n in row] for row in expected]


def test_without_a_hierarchy_it_is_that_of_scikit_learn():
    display = ConfusionMatrixDisplay.from_predictions(TRUE, FOUND)
    assert isinstance(display, SklearnDisplay)
    assert display.display_labels == sorted(set(TRUE))
    np.testing.assert_array_equal(display.confusion_matrix, confusion_matrix(TRUE, FOUND))
    assert display.blocks == []


@pytest.mark.parametrize("normalize", ["true", "pred", "all"])
def test_shares_are_those_of_scikit_learn_and_the_shades_stay(normalize):
    weight = [1, 2, 1, 3, 1, 1, 2]
    options = {"hierarchy": LAND, "sample_weight": weight}
    display = ConfusionMatrixDisplay.from_predictions(TRUE, FOUND, normalize=normalize, **options)
    expected = confusion_matrix(
        TRUE, FOUND, labels=LAND.classes, sample_weight=weight, normalize=normalize
    )
    np.testing.assert_allclose(display.confusion_matrix, expected)
    counts = ConfusionMatrixDisplay.from_predictions(TRUE, FOUND, **options)
    np.testing.assert_allclose(display.im_.get_array(), counts.im_.get_array())


def test_what_is_right_is_above_zero_and_errors_are_below():
    display = ConfusionMatrixDisplay.from_predictions(TRUE, FOUND, hierarchy=LAND)
    shades = display.im_.get_array()
    np.testing.assert_allclose(np.diag(shades), [1 / 2, 1, 0, 2 / 3])
    # An error rate of 1 has the strongest shade; less than 0.1 % would have the palest.
    assert shades[2, 3] == -1
    assert -1 < shades[3, 0] < 0
    assert shades[0, 2] == 0


def test_a_classifier_has_the_order_of_its_scheme_also_in_a_pipeline():
    X, y = np.repeat(np.arange(4.0), 6)[:, np.newaxis], np.repeat(["a", "b", "c", "d"], 6)
    classifier = PolytomyClassifier("gaussian-nb", "m {d n {b o {c a}}}", final_calibration=None)
    noisy = X + np.random.default_rng(0).normal(0, 0.1, X.shape)
    pipeline = make_pipeline(FunctionTransformer(lambda X: X), classifier).fit(noisy, y)
    display = ConfusionMatrixDisplay.from_estimator(pipeline, X, y)
    assert display.display_labels == ["d", "b", "c", "a"]
    assert display.blocks == [(1, 4), (2, 4)]
    np.testing.assert_array_equal(display.confusion_matrix, np.diag([6] * 4))
    other = ConfusionMatrixDisplay.from_estimator(pipeline, X, y, hierarchy="m {n {a b} o {c d}}")
    assert other.display_labels == ["a", "b", "c", "d"]
    model = LogisticRegression().fit(X, y)
    assert ConfusionMatrixDisplay.from_estimator(model, X, y).display_labels == [*"abcd"]


def test_a_label_for_no_prediction_is_a_column_at_the_end():
    display = ConfusionMatrixDisplay.from_predictions(TRUE, ["?", *FOUND[1:]], hierarchy=LAND)
    assert display.display_labels == ["oak", "pine", "rye", "corn", "?"]
    assert display.confusion_matrix[0].tolist() == [0, 1, 0, 0, 1]


def test_classes_of_the_hierarchy_without_samples_are_left_out():
    display = ConfusionMatrixDisplay.from_predictions(
        ["oak", "corn"], ["oak", "rye"], hierarchy=LAND
    )
    assert display.display_labels == ["oak", "rye", "corn"]
    assert display.blocks == [(1, 3)]


def test_many_classes_have_colours_without_numbers_and_some_labels():
    y = np.arange(150)
    display = ConfusionMatrixDisplay.from_predictions(
        y, (y + 1) % 150, hierarchy=designs.balanced_tree(150)
    )
    assert display.text_ is None
    assert 10 < len(display.ax_.get_xticks()) < 100
    assert len(display.ax_.patches) < 60


def test_two_classes_and_given_axes():
    axes = plt.subplots()[1]
    display = ConfusionMatrixDisplay.from_predictions([0, 1, 1], [0, 1, 0], ax=axes)
    assert display.ax_ is axes
    assert [text.get_text() for text in display.text_.ravel()] == ["1", "", "1", "1"]


@pytest.mark.filterwarnings("error")
def test_a_single_class_is_drawn():
    display = ConfusionMatrixDisplay.from_predictions(["a", "a"], ["a", "a"])
    assert display.confusion_matrix.tolist() == [[2]]


def test_values_and_the_colour_bar_can_be_left_out():
    display = ConfusionMatrixDisplay.from_predictions(
        TRUE, FOUND, colorbar=False, include_values=False
    )
    assert display.text_ is None
    assert len(display.figure_.axes) == 1


@pytest.mark.parametrize(
    ("draw", "error", "words"),
    [
        (
            lambda: ConfusionMatrixDisplay.from_predictions(TRUE, FOUND, normalize="row"),
            ArgumentError,
            'normalize must be "true", "pred", "all" or None',
        ),
        (
            lambda: ConfusionMatrixDisplay.from_predictions(["fir"], ["oak"], hierarchy=LAND),
            SchemeError,
            "the scheme does not name class 'fir'",
        ),
        (
            lambda: ConfusionMatrixDisplay.from_predictions(TRUE, FOUND[1:]),
            ArgumentError,
            "y has 7 labels, but predicted has 6",
        ),
        (
            lambda: ConfusionMatrixDisplay.from_estimator(
                LogisticRegression().fit([[0.0], [1.0]], [0, 1]), [[0.0]], [2]
            ),
            ArgumentError,
            "Label 2 of y is not one of the classes (0, 1).",
        ),
        (
            lambda: ConfusionMatrixDisplay.from_estimator(LinearRegression(), [[0.0]], [2]),
            ArgumentError,
            "estimator must be a classifier; got LinearRegression.",
        ),
    ],
)
def test_wrong_arguments_are_refused(draw, error, words):
    with pytest.raises(error) as caught:
        draw()
    assert words in str(caught.value)


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    check_needs_matplotlib(
        monkeypatch, lambda: ConfusionMatrixDisplay.from_predictions(TRUE, FOUND)
    )
