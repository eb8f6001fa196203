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


def test_the_line_leaves_out_bins_of_fewer_than_five_probabilities():
    table = np.array([[10.0, 1.0, 2.0], [4.0, 1.6, 4.0], [5.0, 3.75, 4.0]])
    (curve,) = parse_page(draw_reliability(table, "reliability", "c0")).find("g", "curve")
    first, lone, last = curve.find("circle")
    (line,) = curve.find("path")
    ends = [f"{float(each.attributes['cx']):.1f}" for each in (first, last)]
    assert [point.split()[0] for point in line.attributes["d"][1:].split("L")] == ends
    assert lone.find("title")[0].text == "4 probabilities, mean 0.400; observed frequency 1.000"


def test_there_is_no_line_if_every_bin_has_few_probabilities():
    table = np.array([[1.0, 0.1, 0.0], [1.0, 0.9, 1.0]])
    (curve,) = parse_page(draw_reliability(table, "reliability", "c0")).find("g", "curve")
    hints = [each.text for each in curve.find("title")]
    assert hints[0] == "1 probability, mean 0.100; observed frequency 0.000"
    assert len(curve.find("circle")) == 2
    assert not curve.find("path")
