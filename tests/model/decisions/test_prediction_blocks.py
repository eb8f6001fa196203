"""Blocks of samples to predict."""

from hypothesis import given
from hypothesis import strategies as st

from polytomy.inputs.training_data import blocks_of_rows

LARGEST = 2**27


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_blocks_cover_each_row_once_in_order(n_rows, n_partitions):
    blocks = list(blocks_of_rows(n_rows, n_partitions))
    ends = [0, *(block.stop for block in blocks)]
    assert [block.start for block in blocks] == ends[:-1]
    assert ends[-1] == n_rows


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_decision_values_of_a_block_fit_in_128_mib_or_it_has_256_rows(n_rows, n_partitions):
    for block in blocks_of_rows(n_rows, n_partitions):
        size = block.stop - block.start
        assert size > 0
        assert size <= 256 or 8 * size * n_partitions <= LARGEST
