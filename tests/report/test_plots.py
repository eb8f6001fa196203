"""Pictures: what is drawn is where the numbers say."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import pdist, squareform

from pages import parse_page
from polytomy.designs import empirical_tree
from polytomy.report.matrix_plots import draw_confusion, draw_distances
from polytomy.report.names import Name
from polytomy.report.rank_plots import draw_ranks
from polytomy.report.reliability_plots import draw_reliability
from polytomy.report.score_plots import (
    ScoreRow,
    TimedScore,
    draw_scores,
    draw_scores_against_time,
)
from polytomy.report.tree_plots import draw_dendrogram
from polytomy.trials import MEASURES, Cell, Published, rank_methods

NAMES = [Name(f"scheme {k}", "m", str(k + 1), f"c{k}") for k in range(8)]


def titles_of(drawn, class_):
    return [each.find("title")[0].text for each in parse_page(drawn).find(class_=class_)]


def dots_of(drawn, class_):
    """Return the middles of the dots of a class, in the order of the picture."""
    found = [each.find("circle")[0].attributes for each in parse_page(drawn).find("g", class_)]
    return [(float(each["cx"]), float(each["cy"])) for each in found]


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=8))
def test_scores_are_in_the_order_of_their_values(means):
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


def test_error_bars_reach_from_mean_less_to_mean_plus_deviation():
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


def test_an_error_bar_of_a_time_that_would_go_below_zero_is_cut_off():
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
def test_numbers_of_points_are_in_the_picture_and_do_not_hide_each_other(values):
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


def test_ranks_are_drawn_best_first_and_bars_join_what_is_not_told_apart():
    random = np.random.default_rng(0)
    values = np.array([1.0, 3.0, 2.0, 9.0]) + 0.01 * random.normal(size=(12, 4))
    ranking = rank_methods(values, largest_is_best=False)
    drawn = draw_ranks(NAMES[:4], ranking, "Log-loss")
    assert titles_of(drawn, "rank") == [
        "scheme 0, m: mean rank 1.00",
        "scheme 2, m: mean rank 2.00",
        "scheme 1, m: mean rank 3.00",
        "scheme 3, m: mean rank 4.00",
    ]
    # Nemenyi's critical difference of four methods on twelve datasets is 2.569 sqrt(20 / 72).
    assert "critical difference 1.35" in drawn
    assert titles_of(drawn, "group") == [
        "not told apart: scheme 0, m, scheme 2, m",
        "not told apart: scheme 2, m, scheme 1, m",
        "not told apart: scheme 1, m, scheme 3, m",
    ]


def squares_of(drawn, class_):
    """Return row and column of each square of a class, with its shade."""
    found = {}
    for path in parse_page(drawn).find("path", class_):
        (shade,) = [name for name in path.classes if re.fullmatch(r"s\d", name)]
        for column, row in re.findall(r"M(\d+) (\d+)", path.attributes["d"]):
            found[int(row), int(column)] = int(shade[1])
    return found


def test_confusion_is_shaded_by_the_share_of_the_row():
    counts = np.array([[8.0, 2.0, 0.0], [90.0, 10.0, 0.0], [0.0, 0.0, 0.0]])
    drawn = draw_confusion(counts, ["a", "b", "c"], "confusion")
    right, wrong = squares_of(drawn, "right"), squares_of(drawn, "wrong")
    assert set(right) == {(0, 0), (1, 1)}
    assert set(wrong) == {(0, 1), (1, 0)}
    assert right[0, 0] > right[1, 1]
    assert wrong[1, 0] > wrong[0, 1]
    numbers = [text.text for text in parse_page(drawn).find("g", "numbers")[0].find("text")]
    assert sorted(numbers) == ["10", "2", "8", "90"]


def test_a_matrix_without_any_sample_is_drawn_empty():
    drawn = draw_confusion(np.zeros((2, 2)), ["a", "b"], "confusion")
    assert squares_of(drawn, "right") == squares_of(drawn, "wrong") == {}


@given(st.integers(2, 15), st.integers(0, 1000))
def test_the_nearest_classes_have_the_strongest_shade(n_classes, seed):
    distances = squareform(pdist(np.random.default_rng(seed).normal(size=(n_classes, 3))))
    shades = squares_of(
        draw_distances(distances, [f"class {k}" for k in range(n_classes)], "d"), "near"
    )
    pairs = [(i, k) for i in range(n_classes) for k in range(n_classes) if i != k]
    assert set(shades) == set(pairs)
    in_order = [shades[pair] for pair in sorted(pairs, key=lambda pair: distances[pair])]
    assert in_order == sorted(in_order, reverse=True)


@given(st.integers(2, 12), st.integers(0, 1000))
def test_nodes_stand_where_single_linkage_joins_their_sides(n_classes, seed):
    random = np.random.default_rng(seed)
    # Classes of one sample: their Hausdorff distances are those of the samples.
    X = random.normal(size=(n_classes, 3))
    tree = empirical_tree(X, np.arange(n_classes))
    order = np.array(tree.classes, dtype=int)
    between = squareform(pdist(X))
    drawn = draw_dendrogram(tree, between[np.ix_(order, order)], [str(k) for k in order], "tree")
    joined = squareform(cophenet(linkage(pdist(X), "single")))
    titles = titles_of(drawn, "branch")
    assert len(titles) == n_classes - 1
    for title in titles:
        distance, sides = title.split(": ")
        left, right = ([int(k) for k in side.split(", ")] for side in sides.split(" / "))
        for one in left:
            for other in right:
                assert float(distance) == pytest.approx(joined[one, other], rel=0.006)


def test_reliability_shows_what_came_true_of_each_bin():
    table = np.array([[10.0, 1.0, 2.0], [0.0, 0.0, 0.0], [4.0, 3.0, 4.0]])
    page = parse_page(draw_reliability(table, "reliability", "c0"))
    (curve,) = page.find("g", "curve")
    assert [each.text for each in curve.find("title")] == [
        "10 probabilities, 0.100 on average: 0.200 came true",
        "4 probabilities, 0.750 on average: 1.000 came true",
    ]
    places = [
        (float(dot.attributes["cx"]), float(dot.attributes["cy"])) for dot in curve.find("circle")
    ]
    (x, y), (right, top) = places
    # Both axes have the same unit, and heights count from above.
    assert (y - top) / (right - x) == pytest.approx((1.0 - 0.2) / (0.75 - 0.1), abs=0.01)
    assert len(page.find("rect", "bar")) == 2
