"""Reading files as a whole and block by block."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from polytomy.datasets import open_blocks, read_data
from polytomy.errors import ArgumentError

_TABLES = npst.arrays(
    np.float64,
    npst.array_shapes(min_dims=2, max_dims=2, max_side=8),
    elements=st.floats(allow_nan=False, allow_infinity=False),
)


@given(_TABLES, st.integers(1, 9))
def test_blocks_put_together_are_the_whole(tmp_path_factory, X, n_rows):
    path = tmp_path_factory.mktemp("d") / "t.csv"
    path.write_text("\n".join(",".join(map(repr, row.tolist())) + ",a" for row in X))
    whole = read_data(path, header=False)
    np.testing.assert_array_equal(whole.X, X)
    blocks = list(open_blocks(path, n_rows=n_rows, header=False))
    assert all(len(block.X) <= n_rows for block in blocks)
    np.testing.assert_array_equal(np.vstack([block.X for block in blocks]), X)
    rows = np.concatenate([block.row_numbers for block in blocks])
    np.testing.assert_array_equal(rows, whole.row_numbers)


def test_a_block_needs_a_row(write_file):
    with pytest.raises(ArgumentError, match=r"^n_rows=0 is too few\. Use 1 or more\.$"):
        open_blocks(write_file("1,2\n"), n_rows=0)
