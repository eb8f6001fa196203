"""Laws of the codes for models that take only a few classes."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polytomy import ArgumentError, parse
from polytomy.scheme.coding_matrix import sides_of_rows
from polytomy.scheme.coverings import blocks, count_cover, cover


def sides_of(code):
    return sides_of_rows(code.matrix, code.rows_per_partition)


@given(n_classes=st.integers(2, 40), sides=st.integers(2, 12), seed=st.integers(0, 5))
@settings(max_examples=30, deadline=None)
def test_every_pair_of_classes_meets_in_some_block(n_classes, sides, seed):
    rows = sides_of(blocks(n_classes, sides, seed))
    met = set()
    for row in rows:
        members = np.flatnonzero(row >= 0)
        assert len(members) <= sides
        assert sorted(row[members]) == list(range(len(members)))  # each has its own side
        met |= set(combinations(members.tolist(), 2))
    assert met == set(combinations(range(n_classes), 2))


@pytest.mark.parametrize("n_classes", range(11, 16))
def test_eleven_to_fifteen_classes_need_three_blocks_of_ten(n_classes):
    assert blocks(n_classes).n_partitions == 3


def test_26_classes_need_eleven_blocks_of_ten():
    assert blocks(26).n_partitions == 11


def test_blocks_do_not_differ_from_call_to_call_without_a_seed():
    assert blocks(19) == blocks(19)


def test_blocks_of_as_many_classes_as_there_are_is_one_model():
    assert blocks(10).n_partitions == cover(10).n_partitions == 1


@given(
    n_classes=st.integers(3, 60),
    sides=st.integers(2, 12),
    more=st.integers(0, 6),
    seed=st.integers(0, 5),
)
@settings(max_examples=40, deadline=None)
def test_a_cover_is_balanced(n_classes, sides, more, seed):
    if n_classes <= sides:
        return
    n_rows = math.ceil(n_classes / (sides - 1)) + more
    rows = sides_of(cover(n_classes, sides, n_rows, seed))
    assert rows.shape == (n_rows, n_classes)
    assert rows.min() == 0  # no class is left out
    own = np.zeros(n_classes, dtype=int)
    for row in rows:
        sizes = np.bincount(row)
        assert len(sizes) <= sides
        own += sizes[row] == 1
    if n_classes > sides:  # the rest has several classes, so it is no side of one class
        assert own.min() >= 1
        assert own.max() - own.min() <= 1


def test_a_cover_has_by_default_as_many_models_as_the_formula_says():
    # max(⌈n/9⌉, 4 ⌈log10 n⌉)
    assert [count_cover(n, 10) for n in (11, 26, 60, 100, 101, 242)] == [8, 8, 8, 12, 12, 27]
    assert cover(60, random_state=0).n_partitions == 8


def test_a_cover_with_too_few_models_says_how_many_it_needs():
    with pytest.raises(ArgumentError, match=r"^rows=2 is too few for 26 classes with 10 sides\."):
        cover(26, rows=2)


def test_control_texts_can_use_blocks():
    classes = " ".join(f"c{number}" for number in range(12))
    scheme = parse(f"@blocks {{{classes}}}")
    assert scheme.n_partitions == 3
    assert all(each.n_sides <= 10 for each in scheme.partitions)
