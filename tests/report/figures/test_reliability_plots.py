"""Reliability diagrams."""

import numpy as np
import pytest

from polytomy.report.figures import draw_reliability
from report.pages import parse_page


def test_points_are_observed_frequencies_against_mean_probabilities():
    table = np.array([[10.0, 1.0, 2.0], [0.0, 0.0, 0.0], [4.0, 3.0, 4.0]])
    page = parse_page(draw_reliability(table, "reliability", "c0"))
    (curve,) = page.find("g", "curve")
    assert [each.text for each in curve.find("title")] == [
        "10 probabilities, mean 0.100; observed frequency 0.200",
        "4 probabilities, mean 0.750; observed frequency 1.000",
    ]
    places = [
        (float(dot.attributes["cx"]), float(dot.attributes["cy"])) for dot in curve.find("circle")
    ]
    (x, y), (right, top) = places
    # Both axes have the same unit, and y grows downwards.
    assert (y - top) / (right - x) == pytest.approx((1.0 - 0.2) / (0.75 - 0.1), abs=0.01)
    assert len(page.find("rect", "bar")) == 2
