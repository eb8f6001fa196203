"""N-ary codes: all sides in use, all classes separated, no partition twice."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polytomy.errors import ArgumentError
from polytomy.scheme.codes import count_n_ary, n_ary


def count_by_listing(n_classes, n_sides):
    """The number of partitions, by giving each class an old side or a new one."""
    found = [0] * (n_sides + 1)
    found[1] = 1
    for _ in range(n_classes - 1):
        found = [0, *[k * found[k] + found[k - 1] for k in range(1, n_sides + 1)]]
    return found[n_sides]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_codes_are_never_degenerate(data):
    n_classes = data.draw(st.integers(2, 20))
    n_sides = data.draw(st.integers(2, min(6, n_classes)))
    fewest = int(np.ceil(np.log(n_classes) / np.log(n_sides) - 1e-9))
    most = count_by_listing(n_classes, n_sides)
    n_partitions = data.draw(st.integers(fewest, min(most, 12)) if fewest <= 12 else st.none())
    code = n_ary(n_classes, n_sides, n_partitions, random_state=data.draw(st.integers(0, 999)))
    assert code.n_partitions == n_partitions
    assert (code.n_sides == n_sides).all()
    assert code.is_strict
    assert code.minimum_distance >= 1
    partitions = {
        frozenset(frozenset(np.flatnonzero(row == side).tolist()) for side in range(n_sides))
        for row in code.sides
    }
    assert len(partitions) == n_partitions


@pytest.mark.parametrize("n_classes", [2, 3, 5, 10, 40])
def test_the_default_determines_the_probabilities(n_classes):
    assert n_ary(n_classes, random_state=0).is_determined


def test_a_seed_fixes_the_code():
    assert n_ary(9, random_state=3) == n_ary(9, random_state=3) != n_ary(9, random_state=4)


def test_the_best_of_many_draws_is_further_apart_than_a_typical_one():
    generator = np.random.default_rng(0)
    typical = []
    for _ in range(20):
        sides = generator.integers(4, size=(10, 12))
        differ = (sides[:, :, None] != sides[:, None]).sum(axis=0)
        typical.append(differ[np.triu_indices(12, 1)].min())
    assert n_ary(12, 4, 10, random_state=0).minimum_distance > np.median(typical)


def test_one_partition_has_as_many_sides_as_classes():
    assert n_ary(5, sides=5, random_state=0).n_partitions == 1
    assert n_ary(1).n_partitions == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((4, 5), "sides=5 is too many for 4 classes. Use 4 or fewer."),
        ((4, 1), "sides=1"),
        ((17, 4, 2), "rows=2 is too few to separate 17 classes with 4 sides. Use 3 or more"),
        ((4, 3, 7), "rows=7 is too many; 4 classes have only 6 partitions with 3 sides"),
    ],
)
def test_wrong_numbers_are_refused(arguments, words):
    with pytest.raises(ArgumentError) as caught:
        n_ary(*arguments)
    assert words in str(caught.value)


@pytest.mark.parametrize("n_classes", [1, 2, 3, 4, 5, 16, 40])
def test_the_number_of_partitions_is_known_before_a_code_is_drawn(n_classes):
    assert count_n_ary(n_classes) == n_ary(n_classes, random_state=0).n_partitions
