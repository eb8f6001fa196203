"""Axes and sizes shared by the plots."""

import matplotlib.pyplot as plt
import pytest

from polytomy.plots.canvas import axes_or_new, estimate_length


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
