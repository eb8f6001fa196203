import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polytomy.inputs.rows import group_rows


@given(st.lists(st.integers(-1, 4), max_size=30))
def test_each_class_gets_its_rows_in_ascending_order(class_indices):
    groups = group_rows(np.array(class_indices, dtype=np.intp), 5)
    assert len(groups) == 5
    for index, rows in enumerate(groups):
        expected = [row for row, class_index in enumerate(class_indices) if class_index == index]
        assert rows.tolist() == expected
