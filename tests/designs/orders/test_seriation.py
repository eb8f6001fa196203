from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.designs.orders import METHODS, seriate
from polytomy.errors import ArgumentError


def path_length(matrix, order):
    return matrix[order[:-1], order[1:]].sum()


def random_distances(seed, n):
    upper = np.triu(np.random.default_rng(seed).random((n, n)), 1)
    return upper + upper.T


@given(st.integers(0, 10**6), st.integers(3, 6))
def test_the_exact_path_is_the_shortest_of_all(seed, n):
    matrix = random_distances(seed, n)
    lengths = [path_length(matrix, np.array(order)) for order in permutations(range(n))]
    assert path_length(matrix, seriate(matrix, "exact")) == pytest.approx(min(lengths))


@pytest.mark.parametrize("method", METHODS)
@given(st.integers(0, 10**6), st.integers(1, 12))
def test_every_method_finds_places_on_a_line(method, seed, n):
    places = np.random.default_rng(seed).permutation(n) * 1.0
    matrix = np.abs(places[:, np.newaxis] - places)
    order = seriate(matrix, method)
    assert sorted(order) == list(range(n))
    along = places[order]
    assert (np.diff(along) > 0).all() or (np.diff(along) < 0).all()
    assert n == 1 or order[0] < order[-1]


@pytest.mark.parametrize("n", [20, 100])
def test_many_classes_are_put_in_order_too(n):
    places = np.random.default_rng(n).permutation(n) * 1.0
    along = places[seriate(np.abs(places[:, np.newaxis] - places))]
    assert abs(np.diff(along)).max() == 1


@given(st.integers(0, 10**6))
def test_no_method_beats_the_exact_one(seed):
    matrix = random_distances(seed, 8)
    shortest = path_length(matrix, seriate(matrix, "exact"))
    for method in ("auto", "optimal-leaf", "spectral"):
        assert shortest <= path_length(matrix, seriate(matrix, method)) + 1e-12


@pytest.mark.parametrize("method", METHODS)
@given(st.integers(0, 10**6))
def test_the_order_does_not_depend_on_how_the_rows_stand(method, seed):
    # Many ties, and rounding that differs.
    random = np.random.default_rng(seed)
    matrix = np.minimum(random_distances(seed, 7), 0.6)
    moved = random.permutation(7)
    one = seriate(matrix, method)
    other = seriate(matrix[np.ix_(moved, moved)] * 3 / 3, method)
    lengths = path_length(matrix, one), path_length(matrix, moved[other])
    assert lengths[0] == pytest.approx(lengths[1])


def test_unknown_or_slow_methods_are_refused():
    with pytest.raises(ArgumentError, match=r'Did you mean "spectral"\?'):
        seriate(np.zeros((3, 3)), "spectrl")
    with pytest.raises(ArgumentError, match='method="quick" is not one of auto, exact'):
        seriate(np.zeros((3, 3)), "quick")
    with pytest.raises(ArgumentError, match='method="exact" takes at most 12 classes; got 13'):
        seriate(np.zeros((13, 13)), "exact")
