"""Labels next to points."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.text import Text

from polytomy.plots.searches import place_labels

NOTHING = np.empty((0, 2))


def boxes_of(labels):
    return [Text.get_window_extent(label) for label in labels]


@pytest.mark.parametrize("points", [[[0.5, 0.5]], [[0.5, 0.5]] * 6, [[0, 0], [1, 1], [1, 0.99]]])
def test_labels_overlap_neither_each_other_nor_the_points(points):
    axes = plt.subplots()[1]
    axes.scatter(*np.array(points, dtype=float).T)
    names = [f"name {k}" for k in range(len(points))]
    points = np.array(points, dtype=float)
    labels = place_labels(axes, points, names, also_avoid=NOTHING, line=NOTHING)
    assert [label.get_text() for label in labels] == names
    boxes = boxes_of(labels)
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
    places = axes.transData.transform(points)
    assert not any(box.contains(*place) for box in boxes for place in places)


def test_labels_stay_inside_and_off_the_line():
    axes = plt.subplots()[1]
    line = np.array([[0.0, 0.0], [1.0, 1.0]])
    axes.plot(*line.T)
    labels = place_labels(
        axes, line, ["a long name", "another long name"], also_avoid=NOTHING, line=line
    )
    frame = axes.get_window_extent()
    on_line = axes.transData.transform(np.linspace(line[0], line[1], 500))
    for box in boxes_of(labels):
        assert frame.x0 <= box.x0 < box.x1 <= frame.x1
        assert frame.y0 <= box.y0 < box.y1 <= frame.y1
        assert not any(box.contains(*point) for point in on_line)


def test_points_without_labels_are_not_covered():
    axes = plt.subplots()[1]
    others = np.random.default_rng(0).uniform(0.4, 0.6, (300, 2))
    axes.scatter(*others.T)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    (label,) = place_labels(
        axes, np.array([[0.5, 0.5]]), ["the middle"], also_avoid=others, line=NOTHING
    )
    (box,) = boxes_of([label])
    assert not any(box.contains(*place) for place in axes.transData.transform(others))
    assert label.arrow_patch.get_alpha() == 1  # far away, so a line leads to the point


def test_nothing_is_placed_for_no_points():
    axes = plt.subplots()[1]
    assert place_labels(axes, NOTHING, [], also_avoid=NOTHING, line=NOTHING) == []
