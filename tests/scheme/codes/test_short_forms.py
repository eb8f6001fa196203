import numpy as np
import pytest

from polytomy import designs
from polytomy.scheme import CodingMatrix
from polytomy.scheme.codes import SHORT_FORMS, find_short_form

# The number of blocks is only known when they are made, so they are never written as a short form.
COUNTED = [name for name in SHORT_FORMS if name not in ("blocks", "cover")]


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("n_branches", [2, 3, 4, 5, 9, 13, 19])
def test_the_number_of_rows_is_known_before_a_code_is_made(name, n_branches):
    form = SHORT_FORMS[name]
    assert form.count_partitions(n_branches) == form.expand(n_branches).n_partitions


def test_a_code_is_found_by_its_rows_in_their_order():
    code = designs.one_vs_one(5).code
    assert find_short_form(code) == "one-vs-one"
    assert find_short_form(designs.from_matrix(code.matrix[::-1]).code) is None
    assert find_short_form(designs.from_matrix(-code.matrix).code) is None


def test_a_code_too_large_for_its_design_has_no_short_form():
    # The exhaustive code of 21 classes, which the design refuses to make.
    counts = np.arange(1, 2**20)[:, None]
    code = CodingMatrix(1 - 2 * ((counts >> np.arange(21)) & 1).astype(np.int8))
    assert code.n_partitions == SHORT_FORMS["exhaustive"].count_partitions(21)
    assert find_short_form(code) is None


@pytest.mark.parametrize("name", sorted(SHORT_FORMS))
def test_the_partitions_of_thousands_of_branches_can_be_counted(name):
    # A file that is not trusted may name any design, so the count must stay a small number.
    assert float(SHORT_FORMS[name].count_partitions(5000)) < 2.0**104
