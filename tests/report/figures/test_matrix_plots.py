"""Confusion matrices and matrices of class distances."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform

from polytomy.report.figures import draw_confusion, draw_distances
from report.pages import parse_page


def squares_of(drawn, class_):
    """Return the shades of the squares of a class by row and column."""
    found = {}
    for i, row in enumerate(parse_page(drawn).find("tbody")[0].find("tr")):
        for k, cell in enumerate(row.find("td")):
            if class_ in cell.classes:
                found[i, k] = int(cell.classes[1].removeprefix("s"))
    return found


def test_confusion_is_shaded_by_its_share_of_the_row():
    counts = np.array([[8.0, 2.0, 0.0], [90.0, 10.0, 0.0], [0.0, 0.0, 0.0]])
    drawn = draw_confusion(counts, ["a", "b", "c"], "confusion")
    right, wrong = squares_of(drawn, "right"), squares_of(drawn, "wrong")
    assert set(right) == {(0, 0), (1, 1)}
    assert set(wrong) == {(0, 1), (1, 0)}
    assert right[0, 0] > right[1, 1]
    assert wrong[1, 0] > wrong[0, 1]
    cells = parse_page(drawn).find("tbody")[0].find("td")
    assert [cell.text for cell in cells] == ["8", "2", "", "90", "10", "", "", "", ""]


def test_a_matrix_without_samples_has_no_squares():
    drawn = draw_confusion(np.zeros((2, 2)), ["a", "b"], "confusion")
    assert squares_of(drawn, "right") == squares_of(drawn, "wrong") == {}


@given(st.integers(2, 15), st.integers(0, 1000))
def test_closer_classes_have_stronger_shades(n_classes, seed):
    distances = squareform(pdist(np.random.default_rng(seed).normal(size=(n_classes, 3))))
    shades = squares_of(
        draw_distances(distances, [f"class {k}" for k in range(n_classes)], "d"), "near"
    )
    pairs = [(i, k) for i in range(n_classes) for k in range(n_classes) if i != k]
    assert set(shades) == set(pairs)
    in_order = [shades[pair] for pair in sorted(pairs, key=lambda pair: distances[pair])]
    assert in_order == sorted(in_order, reverse=True)
