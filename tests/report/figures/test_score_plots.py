"""Score plots, and scores against time."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.report.figures import TimedScore, draw_scores, draw_scores_against_time
from polytomy.trials import Cell
from report.cases import NAMES
from report.pages import parse_page


def dots_of(drawn, class_):
    """Return the centres of the dots of a class, in document order."""
    found = [each.find("circle")[0].attributes for each in parse_page(drawn).find("g", class_)]
    return [(float(each["cx"]), float(each["cy"])) for each in found]


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=8))
def test_larger_scores_are_further_right(means):
    rows = [
        (name, Cell(mean, 0.1, 3, mean == max(means)))
        for name, mean in zip(NAMES, means, strict=False)
    ]
    drawn = draw_scores(rows, "Accuracy", "a")
    places = dots_of(drawn, "ours")
    assert [y for _, y in places] == sorted(y for _, y in places)
    across = [x for _, x in sorted(zip(means, (x for x, _ in places), strict=True))]
    assert across == sorted(across)
    assert len(parse_page(drawn).find("circle", "ring")) == means.count(max(means))


def test_error_bars_reach_one_standard_deviation_to_either_side():
    cells = [Cell(0.5, 0.1, 3), Cell(0.6, 0.2, 3)]
    rows = list(zip(NAMES, cells, strict=False))
    page = parse_page(draw_scores(rows, "Accuracy", "a"))

    def ends(group):
        path = group.find("path")[0].attributes["d"]
        start, end = re.match(r"M([\d.]+) [\d.]+H([\d.]+)", path).groups()
        return float(start), float(end)

    (low, high), (left, right) = map(ends, page.find("g", "ours"))
    dot = page.find("circle")[0]
    assert float(dot.attributes["cx"]) == pytest.approx((low + high) / 2, abs=0.11)
    # From 0.4 to 0.6 and from 0.4 to 0.8: the same start, twice the length.
    assert low == pytest.approx(left, abs=0.11)
    assert right - left == pytest.approx(2 * (high - low), abs=0.3)


def test_error_bars_of_times_are_cut_off_at_zero():
    rows = [
        (NAMES[0], Cell(1.0, 3.0, 3)),
        (NAMES[1], Cell(90.0, 1.0, 3)),
    ]
    drawn = draw_scores(rows, "Time", "a", is_time=True)
    places = dots_of(drawn, "ours")
    assert places[0][0] < places[1][0]
    assert "nan" not in drawn


def test_a_single_trial_has_a_dot_and_no_bar():
    row = (NAMES[0], Cell(0.5, float("nan"), 1))
    drawn = draw_scores([row], "Accuracy", "a")
    (group,) = parse_page(drawn).find("g", "ours")
    assert (len(group.find("circle")), group.find("path")) == (1, [])


@given(
    st.lists(st.tuples(st.floats(1e-3, 1e3), st.floats(0.5, 1)), min_size=1, max_size=8),
)
def test_every_point_has_its_number_above_it_or_shares_the_label_of_a_near_one(values):
    points = [
        TimedScore(name, seconds, Cell(score, 0.01, 3))
        for name, (seconds, score) in zip(NAMES, values, strict=False)
    ]
    drawn = draw_scores_against_time(points, "a", "Accuracy", "Time")
    groups = parse_page(drawn).find("g", "point")
    texts = [text for group in groups for text in group.find("text")]
    dots = [group.find("circle")[0] for group in groups if group.find("circle")]
    numbers = [number for text in texts for number in text.text.split(", ")]
    assert sorted(numbers) == sorted(point.name.number for point in points)
    for text in texts:
        x, y = float(text.attributes["x"]), float(text.attributes["y"])
        assert 0 <= x <= 340
        assert 0 <= y <= 250
        for number in text.text.split(", "):
            dot = dots[int(number) - 1].attributes
            assert abs(float(dot["cx"]) - x) < 24.1
            assert abs(float(dot["cy"]) - 8 - y) < 12.1
