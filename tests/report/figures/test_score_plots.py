"""Score plots, and scores against time."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.report.figures import ScoreRow, TimedScore, draw_scores, draw_scores_against_time
from polytomy.trials import MEASURES, Cell, Published
from report.cases import NAMES
from report.pages import parse_page


def dots_of(drawn, class_):
    """Return the centres of the dots of a class, in document order."""
    found = [each.find("circle")[0].attributes for each in parse_page(drawn).find("g", class_)]
    return [(float(each["cx"]), float(each["cy"])) for each in found]


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=8))
def test_larger_scores_are_further_right(means):
    rows = [
        ScoreRow(name, Cell(mean, 0.1, 3, mean == max(means)), None)
        for name, mean in zip(NAMES, means, strict=False)
    ]
    drawn = draw_scores(rows, MEASURES["accuracy"], "a")
    places = dots_of(drawn, "ours")
    assert [y for _, y in places] == sorted(y for _, y in places)
    across = [x for _, x in sorted(zip(means, (x for x, _ in places), strict=True))]
    assert across == sorted(across)
    assert len(parse_page(drawn).find("circle", "ring")) == means.count(max(means))


def test_error_bars_reach_one_standard_deviation_to_either_side():
    row = ScoreRow(NAMES[0], Cell(0.5, 0.1, 3), Published(0.6, 0.2))
    page = parse_page(draw_scores([row], MEASURES["accuracy"], "a"))

    def ends(class_):
        (group,) = page.find("g", class_)
        start, end = re.match(
            r"M([\d.]+) [\d.]+H([\d.]+)", group.find("path")[0].attributes["d"]
        ).groups()
        return float(start), float(end)

    (low, high), (left, right) = ends("ours"), ends("theirs")
    (dot,) = page.find("circle")
    assert float(dot.attributes["cx"]) == pytest.approx((low + high) / 2, abs=0.11)
    # Ours is 0.4 to 0.6 and theirs 0.4 to 0.8: the same start, twice the length.
    assert low == pytest.approx(left, abs=0.11)
    assert right - left == pytest.approx(2 * (high - low), abs=0.3)


def test_error_bars_of_times_are_cut_off_at_zero():
    rows = [
        ScoreRow(NAMES[0], Cell(1.0, 3.0, 3), None),
        ScoreRow(NAMES[1], Cell(90.0, 1.0, 3), None),
    ]
    drawn = draw_scores(rows, MEASURES["fit_seconds"], "a")
    places = dots_of(drawn, "ours")
    assert places[0][0] < places[1][0]
    assert "nan" not in drawn


def test_a_single_trial_has_a_dot_and_no_bar():
    row = ScoreRow(NAMES[0], Cell(0.5, float("nan"), 1), None)
    drawn = draw_scores([row], MEASURES["accuracy"], "a")
    (group,) = parse_page(drawn).find("g", "ours")
    assert (len(group.find("circle")), group.find("path")) == (1, [])


@given(
    st.lists(st.tuples(st.floats(1e-3, 1e3), st.floats(0.5, 1)), min_size=1, max_size=8),
)
def test_numbers_of_points_are_inside_the_figure_and_do_not_overlap(values):
    points = [
        TimedScore(name, seconds, Cell(score, 0.01, 3))
        for name, (seconds, score) in zip(NAMES, values, strict=False)
    ]
    drawn = parse_page(draw_scores_against_time(points, "a", "Accuracy", "Time"))
    numbers = [each.find("text")[0] for each in drawn.find("g", "point")]
    assert [each.text for each in numbers] == [point.name.number for point in points]
    places = [(float(each.attributes["x"]), float(each.attributes["y"])) for each in numbers]
    assert all(0 <= x <= 340 and 0 <= y <= 250 for x, y in places)
    for k, (x, y) in enumerate(places):
        assert all(abs(x - a) > 10 or abs(y - b) > 9 for a, b in places[:k])
