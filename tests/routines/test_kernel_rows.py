"""The compiled and the reference kernel rows agree with each other and with exact values."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_row_cases import KERNELS, entries_of, kernel_matrix
from polytomy.routines.compiled import kernel_rows as compiled
from polytomy.routines.reference import kernel_rows as reference
from polytomy.routines.reference.kernel_rows import POLY, RBF, SIGMOID

TWINS = pytest.mark.parametrize("twin", [reference, compiled])


@pytest.mark.parametrize(("form", "parameters"), KERNELS)
def test_twins_agree_to_the_last_bit(form, parameters):
    entries = np.random.default_rng(0).exponential(5, 3000)
    np.testing.assert_array_equal(
        reference.kernel_values(entries, form, *parameters),
        compiled.kernel_values(entries, form, *parameters),
    )


@TWINS
@given(st.lists(st.floats(0, 80), min_size=1, max_size=50))
@settings(deadline=None)
def test_exponentials_are_rounded_as_exact_ones_are(twin, entries):
    values = twin.kernel_values(np.array(entries), RBF, 1.0, 0, 0.0)
    exact = [math.exp(-entry) for entry in entries]
    # A hundred-thousandth more than half a unit in the last place.
    np.testing.assert_allclose(values, exact, rtol=2.0**-24 * (1 + 1e-5), atol=0)


@TWINS
def test_a_point_is_as_near_to_itself_as_can_be_and_far_from_infinity(twin):
    values = twin.kernel_values(np.array([0, 1e30]), RBF, 3.0, 0, 0.0)
    assert values[0] == 1
    assert values[1] < 1e-37


@TWINS
@pytest.mark.parametrize("degree", range(9))
def test_polynomials_and_sigmoids(twin, degree):
    x = np.linspace(-2, 2, 9)
    values = twin.kernel_values(x, POLY, 0.5, degree, 0.25)
    np.testing.assert_allclose(values, (0.5 * x + 0.25) ** degree, rtol=1e-6, atol=1e-9)
    values = twin.kernel_values(x, SIGMOID, 0.5, degree, 0.25)
    np.testing.assert_allclose(values, np.tanh(0.5 * x + 0.25), rtol=1e-6)


@TWINS
def test_a_huge_power_takes_as_many_steps_as_it_has_digits(twin):
    # With a product for each degree, this would take hours.
    values = twin.kernel_values(np.array([-1.0, 1.0, 0.5]), POLY, 1.0, 2**31 - 1, 0.0)
    assert values.tolist() == [-1, 1, 0]


@TWINS
@pytest.mark.parametrize(("form", "parameters"), KERNELS)
@pytest.mark.parametrize("holds_kernel_values", [False, True])
def test_a_matrix_is_stored_block_by_block(twin, form, parameters, holds_kernel_values):
    X = np.random.default_rng(0).normal(size=(70, 4))
    squares = np.sum(X * X, axis=1)
    matrix = np.full((70, 70), np.nan, dtype=np.float32 if holds_kernel_values else np.float64)
    for row in range(0, 70, 40):
        for column in range(row, 70, 40):
            a, b = slice(row, row + 40), slice(column, column + 40)
            twin.store_products(
                X[a] @ X[b].T,
                squares[a],
                squares[b],
                form,
                *parameters,
                holds_kernel_values,
                matrix,
                row,
                column,
            )
    expected = entries_of(X, form)
    if holds_kernel_values:
        expected = kernel_matrix(expected, form, parameters)
    np.testing.assert_allclose(matrix, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(matrix, matrix.T)
    assert matrix.min() >= 0 or form != RBF


def test_a_forced_compiled_side_runs_in_many_threads_at_once():
    program = """
import numpy as np
from concurrent.futures import ThreadPoolExecutor
from polytomy.routines.dispatch import routine
def work(n):
    x = np.arange(n, dtype=np.float64)
    return routine("kernel_values", "kernel_rows")(x, 1, 0.1, 0, 0.0).sum()
sizes = [1000 + k for k in range(50)]
with ThreadPoolExecutor(4) as pool:
    assert list(pool.map(work, sizes)) == [work(n) for n in sizes]
"""
    environment = {**os.environ, "POLYTOMY_ROUTINES": "compiled"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
