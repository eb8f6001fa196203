"""Sides of many classes."""

from __future__ import annotations

import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polytomy.scheme.nodes import ManyClasses, compact_classes, set_key

indices = st.lists(st.integers(0, 10_000), max_size=60)


@given(indices)
def test_many_classes_are_the_sequence_they_were_made_of(numbers: list[int]) -> None:
    many = ManyClasses(np.array(numbers, dtype=np.intp))
    assert list(many) == numbers
    assert len(many) == len(numbers)
    assert many == tuple(numbers)
    assert hash(many) == hash(tuple(numbers))
    assert many[1:3] == tuple(numbers[1:3])
    assert list(pickle.loads(pickle.dumps(many))) == numbers


def test_the_rest_of_many_classes_takes_a_few_numbers() -> None:
    rest = ManyClasses(np.delete(np.arange(10_000), 77))
    assert rest[76:78] == (76, 78)
    assert 77 not in rest
    assert len(pickle.dumps([rest._firsts, rest._starts])) < 500


def test_many_classes_differ_from_others() -> None:
    many = ManyClasses(np.arange(5))
    assert many != (0, 1, 2, 3, 5)
    assert many != (0, 1)
    assert many != [0, 1, 2, 3, 4]


def test_few_classes_are_a_tuple() -> None:
    assert compact_classes(np.array([3, 1])) == (3, 1)
    assert isinstance(compact_classes(np.arange(2000)), ManyClasses)


@given(st.integers(0, 2**32 - 1), st.sampled_from([10, 5000]))
def test_keys_are_equal_for_equal_sets_only(seed: int, n_classes: int) -> None:
    rng = np.random.default_rng(seed)
    classes = rng.permutation(n_classes)
    assert set_key(tuple(classes.tolist())) == set_key(ManyClasses(np.sort(classes)))
    assert set_key(ManyClasses(classes)) != set_key(ManyClasses(classes[1:]))
    assert set_key(ManyClasses(classes[1:])) != set_key(ManyClasses(classes[:-1]))
