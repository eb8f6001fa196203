import re
from itertools import product
from math import ceil, log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polytomy.errors import ArgumentError
from polytomy.scheme import CodingMatrix
from polytomy.scheme.codes import exhaustive, random_strict, random_ternary

DESIGNS = [random_strict, random_ternary]
VALUES = {random_strict: (-1, 1), random_ternary: (-1, 0, 1)}


def count_partitions(design, n_classes):
    """All rows with both sides, counted one by one and each with one of its two signs."""
    rows = product(VALUES[design], repeat=n_classes)
    return sum(1 for row in rows if -1 in row and 1 in row) // 2


def count_columns(design, n_rows):
    return sum(1 for column in product(VALUES[design], repeat=n_rows) if any(column))


@pytest.mark.parametrize("design", DESIGNS)
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_codes_are_sound_at_every_length(design, data):
    n_classes = data.draw(st.integers(2, 7))
    most = count_partitions(design, n_classes)
    fewest = next(rows for rows in range(1, 9) if count_columns(design, rows) >= n_classes)
    # Most lengths are tried near both ends, where a careless draw would fail.
    n_rows = data.draw(
        st.one_of(
            st.integers(fewest, min(most, fewest + 3)),
            st.integers(max(fewest, most - 2), most),
            st.integers(fewest, most),
        )
    )
    code = design(n_classes, n_partitions=n_rows, random_state=data.draw(st.integers(0, 999)))
    assert code.shape == (n_rows, n_classes)
    assert code.repeated_rows == ()
    assert set(code.matrix.ravel().tolist()) <= set(VALUES[design])


@pytest.mark.parametrize(
    ("design", "n_classes", "rows"),
    [
        (random_strict, 8, 3),
        (random_strict, 4, 7),
        (random_strict, 3, 3),
        (random_strict, 4, 2),
        (random_strict, 64, 6),
        (random_strict, 33, 6),
        (random_ternary, 8, 2),
        (random_ternary, 26, 3),
        (random_ternary, 80, 4),
        (random_ternary, 3, 2),
        (random_ternary, 4, 25),
    ],
)
def test_the_tightest_lengths_do_not_fail(design, n_classes, rows):
    for seed in range(5):
        code = design(n_classes, n_partitions=rows, random_state=seed)
        assert code.shape == (rows, n_classes)
        assert code.repeated_rows == ()


@pytest.mark.parametrize(("design", "rows_a_bit"), [(random_strict, 10), (random_ternary, 15)])
def test_the_default_length_is_that_of_the_literature_or_all_partitions(design, rows_a_bit):
    for n_classes in range(2, 20):
        longest = count_partitions(design, n_classes) if n_classes < 9 else 10**9
        expected = min(ceil(rows_a_bit * log2(n_classes)), longest)
        assert design(n_classes, random_state=1).n_partitions == expected
    assert design(64, random_state=1).n_partitions == 6 * rows_a_bit


def test_a_code_of_all_strict_partitions_is_the_exhaustive_one():
    code = random_strict(5, n_partitions=15, random_state=3)
    as_exhaustive = code.matrix * code.matrix[:, -1:]
    assert sorted(as_exhaustive.tolist()) == sorted(exhaustive(5).matrix.tolist())


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("n_classes", [3, 5, 10, 30])
def test_codes_with_enough_rows_are_determined(design, n_classes):
    assert design(n_classes, n_partitions=n_classes - 1, random_state=2).is_determined
    assert design(n_classes, random_state=2).is_determined


@pytest.mark.parametrize("design", DESIGNS)
def test_the_best_of_many_draws_is_better_than_most_single_ones(design):
    code = design(10, n_partitions=30, random_state=8)
    generator = np.random.default_rng(8)
    entries = [-1, 1] if design is random_strict else [-1, 0, 0, 1]
    single = []
    for _ in range(50):
        rows = generator.choice(entries, size=(100, 10))
        rows = rows[(rows == -1).any(axis=1) & (rows == 1).any(axis=1)]
        single.append(CodingMatrix(rows[:30]).minimum_distance)
    assert code.minimum_distance >= np.quantile(single, 0.9)


def test_half_of_the_ternary_entries_are_zero():
    matrix = random_ternary(60, n_partitions=200, random_state=0).matrix
    # 12,000 entries: a standard deviation is 0.0046.
    assert np.mean(matrix == 0) == pytest.approx(0.5, abs=0.025)
    assert np.mean(matrix == 1) == pytest.approx(0.25, abs=0.025)


def test_rows_of_a_strict_code_begin_with_either_sign():
    first = random_strict(10, n_partitions=100, random_state=0).matrix[:, 0]
    assert set(first.tolist()) == {-1, 1}


@pytest.mark.parametrize("design", DESIGNS)
def test_the_same_seed_gives_the_same_code(design):
    assert design(7, random_state=4) == design(7, random_state=4)
    assert design(7, random_state=4) == design(7, random_state=np.random.default_rng(4))
    assert design(7, random_state=4) != design(7, random_state=5)
    legacy = [design(7, random_state=np.random.RandomState(4)) for _ in range(2)]
    assert legacy[0] == legacy[1]


@pytest.mark.parametrize("design", DESIGNS)
def test_no_seed_gives_a_different_code_each_time(design):
    assert design(12, n_partitions=30) != design(12, n_partitions=30)


@pytest.mark.parametrize("design", DESIGNS)
def test_a_generator_is_used_up(design):
    generator = np.random.default_rng(0)
    assert design(8, random_state=generator) != design(8, random_state=generator)


@pytest.mark.parametrize("design", DESIGNS)
def test_a_single_class_gets_no_partition(design):
    assert design(1) == design(1, n_partitions=0) == CodingMatrix(np.empty((0, 1)))
    with pytest.raises(ArgumentError, match="n_partitions=1 is too many; 1 classes have only 0"):
        design(1, n_partitions=1)


@pytest.mark.parametrize(
    ("design", "n_classes", "rows", "words"),
    [
        (
            random_strict,
            4,
            8,
            "n_partitions=8 is too many; 4 classes have only 7 partitions",
        ),
        (random_ternary, 3, 7, "n_partitions=7 is too many; 3 classes have only 6 partitions"),
        (random_strict, 5, 2, "n_partitions=2 is too few to separate 5 classes. Use 3 or more."),
        (random_ternary, 9, 2, "n_partitions=2 is too few to separate 9 classes. Use 3 or more."),
        (random_strict, 2, 0, "n_partitions=0 is too few to separate 2 classes. Use 1 or more."),
        (random_strict, 5, -1, "n_partitions=-1 is too few. Use 0 or more."),
        (random_strict, 5, 4.5, "n_partitions=4.5 is not a whole number"),
        (random_strict, 0, None, "n_classes=0 is too few"),
        (random_ternary, 10**4, 10**5, "a random code of 10,000 classes has 100,000 partitions"),
    ],
)
def test_impossible_lengths_are_refused_with_the_bound(design, n_classes, rows, words):
    with pytest.raises(ArgumentError, match=re.escape(words)):
        design(n_classes, n_partitions=rows, random_state=0)


@pytest.mark.parametrize("design", DESIGNS)
def test_large_codes_are_drawn_too(design):
    code = design(700, random_state=0)
    assert code.n_partitions == ceil((10 if design is random_strict else 15) * log2(700))
    assert code.minimum_distance > code.n_partitions / 5
