import numpy as np
import pytest

from polytomy.errors import ArgumentError
from polytomy.inputs.arguments import as_count


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_whole_numbers_of_any_type_become_ints(value):
    count = as_count("n_trees", value)
    assert count == 3
    assert type(count) is int


@pytest.mark.parametrize("value", [2.5, 3.0, "3", None, True, np.bool_(True), [3]])
def test_values_that_are_not_whole_numbers_are_refused(value):
    with pytest.raises(ArgumentError, match=r"^n_trees=.* is not a whole number\. Use 1 or more\."):
        as_count("n_trees", value)


def test_numbers_below_the_least_are_refused():
    assert as_count("cv", 2, at_least=2) == 2
    with pytest.raises(ArgumentError, match=r"^cv=1 is too few\. Use 2 or more\.$") as caught:
        as_count("cv", 1, at_least=2)
    assert caught.value.parameter == "cv"
