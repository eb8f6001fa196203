import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polytomy.designs import ClassOrder, adjacent, detect_order, ordered_adjacent
from polytomy.errors import ArgumentError


def bins_of_a_number(seed, n_classes=8, n=1200, noise=0.1):
    """Classes that are intervals of a number, seen through five features."""
    random = np.random.default_rng(seed)
    value = random.random(n)
    curve = np.column_stack([value, value**2, np.sin(2 * value)])
    X = curve @ random.normal(size=(3, 5)) + noise * random.normal(size=(n, 5))
    return X, (value * n_classes).astype(int)


def corners(seed, n_classes=8, n=800):
    """Classes at random places in five dimensions."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return random.normal(0, 2, (n_classes, 5))[y] + random.normal(size=(n, 5)), y


@pytest.mark.parametrize("distance", ["separability", "centroid", "hausdorff", "energy"])
@pytest.mark.parametrize("method", ["auto", "exact", "optimal-leaf", "spectral"])
def test_the_order_of_bins_is_found_whatever_they_are_called(distance, method):
    X, y = bins_of_a_number(0, n_classes=6, noise=0.02)
    names = np.array(["q", "c", "x", "a", "m", "b"])
    found = ordered_adjacent(X, names[y], distance=distance, method=method)
    assert found in (adjacent(names.tolist()), adjacent(names[::-1].tolist()))


@pytest.mark.parametrize("n_classes", [7, 12, 26, 100])
def test_the_order_of_perfectly_separated_classes_is_found(n_classes):
    random = np.random.default_rng(n_classes)
    places = random.permutation(n_classes)
    y = np.repeat(np.arange(n_classes), 12)
    X = places[y][:, np.newaxis] * [1.0, -2.0] + 0.02 * random.normal(size=(len(y), 2))
    found = detect_order(X, y, n_permutations=19)
    assert found.is_ordered
    assert (np.abs(np.diff(places[list(found.order)])) == 1).all()
    assert found.order == ordered_adjacent(X, y).classes


@pytest.mark.parametrize("seed", range(5))
def test_distant_clusters_without_an_order_are_not_ordered(seed):
    random = np.random.default_rng(seed)
    y = np.repeat(np.arange(8), 12)
    X = random.normal(0, 50, (8, 4))[y] + random.normal(size=(len(y), 4))
    assert not detect_order(X, y).is_ordered


@pytest.mark.parametrize("seed", range(5))
def test_bins_of_a_number_are_ordered(seed):
    found = detect_order(*bins_of_a_number(seed))
    assert found.is_ordered
    assert found.order == tuple(range(8))
    assert str(found).startswith("ordered (strength ")


@pytest.mark.parametrize("seed", range(10))
def test_random_places_are_not_ordered(seed):
    found = detect_order(*corners(seed))
    assert not found.is_ordered
    assert str(found).startswith("not ordered")


@settings(max_examples=5)
@given(st.integers(0, 10**6), st.booleans())
def test_the_names_of_classes_do_not_matter(seed, is_ordered):
    X, y = (bins_of_a_number if is_ordered else corners)(1, n=400)
    names = np.random.default_rng(seed).permutation(list("abcdefgh"))
    one, other = detect_order(X, y), detect_order(X, names[y])
    in_numbers = tuple(names.tolist().index(name) for name in other.order)
    assert in_numbers in (one.order, one.order[::-1])
    assert other.is_ordered == one.is_ordered
    assert other.strength == pytest.approx(one.strength)
    assert other.p_value == one.p_value


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_four_classes_or_fewer_are_never_ordered(n_classes):
    found = detect_order(*bins_of_a_number(0, n_classes=n_classes))
    assert not found.is_ordered
    assert sorted(found.order) == list(range(n_classes))


def test_one_class_has_no_order():
    assert detect_order([[0.0], [1.0]], ["a", "a"]) == ClassOrder(("a",), 0.0, 1.0)
    assert ordered_adjacent([[0.0], [1.0]], ["a", "a"]).n_partitions == 0


def test_equal_distances_are_not_an_order():
    found = detect_order(np.zeros((6, 1)), range(6), distance=np.ones((6, 6)) - np.eye(6))
    assert not found.is_ordered
    assert found.p_value == 1


def test_the_order_of_many_classes_is_found_from_a_sample_of_triples():
    random = np.random.default_rng(0)
    places = random.permutation(100) * 1.0
    X = np.repeat(places, 2)[:, np.newaxis] + random.normal(0, 0.1, (200, 1))
    found = detect_order(X, np.repeat(np.arange(100), 2), distance="hausdorff", n_permutations=19)
    assert found.is_ordered
    assert np.abs(np.diff(places[list(found.order)])).max() == 1


def test_the_same_seed_gives_the_same_answer():
    X, y = corners(3)
    assert detect_order(X, y, random_state=5) == detect_order(X, y, random_state=5)


def test_at_least_one_permutation_is_needed():
    with pytest.raises(ArgumentError, match="n_permutations=0 is too few"):
        detect_order(*corners(0), n_permutations=0)
