import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polytomy.scheme.codes import direct
from polytomy.solvers.nested import multiply_down_tree


@given(st.integers(2, 30), st.integers(0, 2**32 - 1))
def test_one_partition_gives_its_own_answers_to_rounding(n_sides, seed):
    generator = np.random.default_rng(seed)
    q = generator.dirichlet(np.full(n_sides, 0.05), 5)
    code = direct(n_sides)
    decisions = 2 * q - 1 if n_sides > 2 else q[:, 1:] - q[:, :1]
    found = multiply_down_tree(code.tree, code.rows_per_partition, decisions)
    np.testing.assert_allclose(found, q, atol=1e-15 * n_sides)


def test_sides_after_the_mass_is_used_up_get_nothing():
    code = direct(4)
    decisions = np.array([[-1.0, 1.0, -1.0, -1.0]])
    found = multiply_down_tree(code.tree, code.rows_per_partition, decisions)
    np.testing.assert_array_equal(found, [[0.0, 1.0, 0.0, 0.0]])
