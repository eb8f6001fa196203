"""The compiled and the reference kernels agree with each other and with exact values."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_cases import KERNELS, POLY, RBF, SIGMOID, entries_of, kernel_matrix
from polytomy.routines.compiled import banks as compiled_banks
from polytomy.routines.compiled import kernels as compiled
from polytomy.routines.reference import banks as reference_banks
from polytomy.routines.reference import kernels as reference
from polytomy.routines.reference.kernels import KINDS

TWINS = pytest.mark.parametrize("twin", [reference, compiled])


def rounded_values(twin, entries, kind, *parameters):
    """Kernel values of entries, as a row of a matrix has them."""
    matrix = np.zeros((1 + len(entries), 1 + len(entries)), dtype=np.float32)
    # Of a product x·y = -s/2 between vectors of length zero, s is the squared distance.
    products = -entries / 2 if kind == RBF else entries.copy()
    squares, function = np.zeros(len(entries)), (kind, *parameters)
    twin.store_products(products[np.newaxis], squares[:1], squares, function, matrix, 0, 1)
    return matrix[0, 1:]


@pytest.mark.parametrize(("form", "parameters"), KERNELS)
def test_twins_agree_to_the_last_bit(form, parameters):
    entries = np.random.default_rng(0).exponential(5, 1500)
    np.testing.assert_array_equal(
        rounded_values(reference, entries, form, *parameters),
        rounded_values(compiled, entries, form, *parameters),
    )


@TWINS
@given(st.lists(st.floats(0, 80), min_size=1, max_size=50))
@settings(deadline=None)
def test_exponentials_are_rounded_as_exact_ones_are(twin, entries):
    values = rounded_values(twin, np.array(entries), RBF, 1.0, 0, 0.0)
    exact = [math.exp(-entry) for entry in entries]
    # A hundred-thousandth more than half a unit in the last place.
    np.testing.assert_allclose(values, exact, rtol=2.0**-24 * (1 + 1e-5), atol=0)


@TWINS
def test_a_point_is_as_near_to_itself_as_can_be_and_far_from_infinity(twin):
    values = rounded_values(twin, np.array([0, 1e30]), RBF, 3.0, 0, 0.0)
    assert values[0] == 1
    assert values[1] < 1e-37


@TWINS
@pytest.mark.parametrize("degree", range(9))
def test_polynomials_and_sigmoids(twin, degree):
    x = np.linspace(-2, 2, 9)
    values = rounded_values(twin, x, POLY, 0.5, degree, 0.25)
    np.testing.assert_allclose(values, (0.5 * x + 0.25) ** degree, rtol=1e-6, atol=1e-9)
    values = rounded_values(twin, x, SIGMOID, 0.5, degree, 0.25)
    np.testing.assert_allclose(values, np.tanh(0.5 * x + 0.25), rtol=1e-6)


@TWINS
def test_a_huge_power_takes_as_many_steps_as_it_has_digits(twin):
    # With a product for each degree, this would take hours.
    values = rounded_values(twin, np.array([-1.0, 1.0, 0.5]), POLY, 1.0, 2**31 - 1, 0.0)
    assert values.tolist() == [-1, 1, 0]


@TWINS
@pytest.mark.parametrize(("form", "parameters"), KERNELS)
def test_a_matrix_is_stored_block_by_block(twin, form, parameters):
    X = np.random.default_rng(0).normal(size=(70, 4))
    squares = np.sum(X * X, axis=1)
    matrix = np.full((70, 70), np.nan, dtype=np.float32)
    for row in range(0, 70, 40):
        for column in range(row, 70, 40):
            a, b = slice(row, row + 40), slice(column, column + 40)
            twin.store_products(
                X[a] @ X[b].T,
                squares[a],
                squares[b],
                (form, *parameters),
                matrix,
                row,
                column,
            )
    expected = kernel_matrix(entries_of(X, form), form, parameters)
    np.testing.assert_allclose(matrix, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(matrix, matrix.T)
    assert matrix.min() >= 0 or form != RBF


def exact_values(twin, x, kind, *parameters):
    """Kernel values of numbers with one, or of numbers with zero if distances count."""
    scores, zero = np.zeros((len(x), 1)), np.zeros(1)
    vector = np.zeros((1, 1)) if kind == "rbf" else np.ones((1, 1))
    weights = np.array([0, 1]), np.array([0]), np.ones(1)
    rows = np.zeros(1, dtype=np.intp)
    function = KINDS[kind], *parameters
    samples = x[:, np.newaxis]
    twin.add_dense_scores(samples, vector, rows, zero, np.empty(0), function, weights, scores)
    return scores[:, 0]


BANKS = pytest.mark.parametrize("twin", [reference_banks, compiled_banks])


def test_a_forced_compiled_side_runs_in_many_threads_at_once():
    program = """
import numpy as np
from concurrent.futures import ThreadPoolExecutor
from polytomy.routines.dispatch import routine
def work(n):
    x = np.arange(n, dtype=np.float64)[np.newaxis]
    routine("answer_logistic", "banks")(x, np.ones(n), np.zeros(n))
    return x.sum()
sizes = [1000 + k for k in range(50)]
with ThreadPoolExecutor(4) as pool:
    assert list(pool.map(work, sizes)) == [work(n) for n in sizes]
"""
    environment = {**os.environ, "POLYTOMY_ROUTINES": "compiled"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


@BANKS
def test_exponentials_are_right_to_the_last_digits_over_their_whole_range(twin):
    roots = np.concatenate([np.geomspace(1e-150, 26, 5000), [0.0], np.sqrt(np.arange(1.0, 700.0))])
    values = exact_values(twin, roots, "rbf", 1.0, 0, 0.0)
    np.testing.assert_allclose(values, np.exp(-roots * roots), rtol=1e-15)


@BANKS
def test_exponentials_of_huge_distances_vanish(twin):
    values = exact_values(twin, np.array([30.0, 1e5, 1e150]), "rbf", 1.0, 0, 0.0)
    assert np.all((values >= 0) & (values < 1e-300))


@BANKS
@pytest.mark.parametrize("degree", range(21))
def test_powers_are_products_of_the_base(twin, degree):
    x = np.linspace(-3, 3, 601)
    exact = [math.prod([base] * degree) for base in x.tolist()]
    values = exact_values(twin, x, "poly", 1.0, degree, 0.0)
    np.testing.assert_allclose(values, exact, rtol=1e-14, atol=0)


@BANKS
def test_a_huge_power_takes_as_many_steps_as_it_has_digits_in_double_precision(twin):
    # With a product for each degree, this would take hours.
    x = np.array([-1.0, 1.0, 0.5, -2.0, 1 + 2.0**-30])
    with np.errstate(over="ignore"):
        values = exact_values(twin, x, "poly", 1.0, 2**31 - 1, 0.0)
    np.testing.assert_allclose(values, [-1, 1, 0, -np.inf, math.e**2], rtol=1e-6)


@BANKS
def test_hyperbolic_tangents_keep_their_digits_near_zero(twin):
    x = np.concatenate([np.geomspace(1e-300, 30, 4000), -np.geomspace(1e-300, 30, 4000)])
    values = exact_values(twin, x, "sigmoid", 1.0, 0, 0.0)
    np.testing.assert_allclose(values, np.tanh(x), rtol=1e-13)
