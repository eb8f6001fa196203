"""The look of all plots."""

import matplotlib.pyplot as plt
import pytest

from polytomy.plots.canvas import (
    axes_or_new,
    contrasting_ink,
    estimate_length,
    label_classes,
    style_axes,
)


def test_given_axes_are_returned_and_new_ones_have_the_size():
    axes = plt.subplots()[1]
    assert axes_or_new(axes, 3.0, 2.0) is axes
    made = axes_or_new(None, 3.0, 2.0)
    assert made is not axes
    assert made.figure.get_size_inches().tolist() == [3.0, 2.0]


def test_length_grows_with_the_longest_label_up_to_three_inches():
    assert estimate_length([]) == 0
    assert estimate_length(["ab", "a"]) == pytest.approx(2 * estimate_length(["a"]))
    assert estimate_length(["a" * 1000]) == 3


@pytest.mark.parametrize(
    ("n_labels", "inches", "step"), [(10, 3.0, 1), (100, 20.0, 1), (100, 7.0, 2), (1000, 3.0, 50)]
)
def test_labels_that_have_no_room_are_left_out_evenly(n_labels, inches, step):
    axes = plt.subplots()[1]
    label_classes(axes.yaxis, [f"class {k}" for k in range(n_labels)], inches)
    shown = [label.get_text() for label in axes.get_yticklabels()]
    assert shown == [f"class {k}" for k in range(0, n_labels, step)]
    assert axes.get_yticks().tolist() == [*range(0, n_labels, step)]


@pytest.mark.parametrize(("label", "inches", "rotation"), [("a", 2.0, 0), ("a long one", 2.0, 90)])
def test_long_labels_are_turned_on_the_horizontal_axis_only(label, inches, rotation):
    axes = plt.subplots()[1]
    label_classes(axes.xaxis, [label] * 5, inches)
    label_classes(axes.yaxis, [label] * 5, inches)
    assert {each.get_rotation() for each in axes.get_xticklabels()} == {rotation}
    assert {each.get_rotation() for each in axes.get_yticklabels()} == {0}


def test_text_contrasts_with_its_background():
    assert contrasting_ink((1.0, 1.0, 0.8, 1.0)) == "black"
    assert contrasting_ink((0.1, 0.2, 0.4, 1.0)) == "white"


def test_curves_have_a_grid_and_matrices_have_none():
    curves, matrix = plt.subplots(1, 2)[1]
    style_axes(curves)
    style_axes(matrix, is_matrix=True)
    assert curves.get_xgridlines()[0].get_visible()
    assert not matrix.get_xgridlines()[0].get_visible()
    assert not matrix.spines["left"].get_visible()
