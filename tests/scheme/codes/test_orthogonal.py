import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polytomy.errors import ArgumentError
from polytomy.scheme.codes import (
    hadamard,
    hadamard_order,
    one_vs_one,
    one_vs_rest,
    orthogonal,
)

# Orders below 130 of which no construction from primes is known to us: 52 and 100 come from the
# prime powers 25 and 49, 92 and 116 from searches.
MISSING = {52, 92, 100, 116}
ORDERS = [1, 2, *(order for order in range(4, 130, 4) if order not in MISSING)]


@pytest.mark.parametrize("n_classes", range(4, 131))
def test_columns_are_orthogonal_and_no_row_is_constant_or_repeated(n_classes):
    code = orthogonal(n_classes)
    matrix = code.matrix.astype(int)
    assert np.array_equal(matrix.T @ matrix, code.n_partitions * np.eye(n_classes))
    assert (abs(matrix.sum(axis=1)) < n_classes).all()
    assert code.repeated_rows == ()
    assert code.n_partitions == next(m for m in [*ORDERS, 132] if m >= n_classes)


def test_two_and_three_classes_get_the_hadamard_matrix_without_its_constant_row():
    assert orthogonal(1) == one_vs_one(1)
    assert orthogonal(2) == one_vs_one(2)
    assert orthogonal(3) == one_vs_rest(3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_codes_of_two_and_three_classes_complete_to_hadamard_matrices(n_classes):
    columns = hadamard(hadamard_order(n_classes))[:, :n_classes].astype(int)
    kept = columns[abs(columns.sum(axis=1)) < n_classes]
    code = orthogonal(n_classes)
    assert code.is_equiangular
    assert code.shape == kept.shape
    normal = {tuple(row * row[0]) for row in kept}
    assert normal == {tuple(row * row[0]) for row in code.matrix.astype(int)}


@settings(deadline=None, max_examples=30)
@given(st.integers(4, 40), st.integers(0, 2**32))
def test_the_same_seed_gives_the_same_code(n_classes, seed):
    code = orthogonal(n_classes, random_state=seed)
    assert code == orthogonal(n_classes, random_state=np.random.default_rng(seed))
    assert code.is_equiangular
    assert code.equiangular.offset == 0


def test_no_seed_is_seed_zero():
    assert orthogonal(9) == orthogonal(9, random_state=0) == orthogonal(9, random_state=None)


def test_other_seeds_give_other_codes():
    assert len({orthogonal(9, random_state=seed) for seed in range(10)}) == 10


@pytest.mark.parametrize("order", ORDERS)
def test_hadamard_matrices_are_orthogonal(order):
    matrix = hadamard(order)
    assert matrix.dtype == np.int8
    assert set(matrix.ravel().tolist()) <= {-1, 1}
    exact = matrix.astype(int)
    assert np.array_equal(exact @ exact.T, order * np.eye(order))


def test_large_orders_of_every_kind():
    # 2¹⁰; 1019 + 1 by Paley's first; 2·(509 + 1) by his second is the same order; 12·20 a product.
    for order in (1024, 1020, 2 * (521 + 1), 240):
        matrix = hadamard(order).astype(np.float64)
        assert np.array_equal(matrix.T @ matrix, order * np.eye(order))


@pytest.mark.parametrize("order", sorted(MISSING))
def test_orders_that_cannot_be_built_are_skipped(order):
    assert hadamard_order(order) == order + 4


def test_orders_are_the_smallest_that_can_be_built():
    for at_least in range(1, 129):
        assert hadamard_order(at_least) == next(order for order in ORDERS if order >= at_least)


def test_arguments_are_checked():
    with pytest.raises(ArgumentError, match="n_classes=0 is too few"):
        orthogonal(0)
    with pytest.raises(ArgumentError, match="an orthogonal code of 30,000 classes"):
        orthogonal(30_000)
    with pytest.raises(ArgumentError, match='random_state="x" must be a whole number'):
        orthogonal(3, random_state="x")
