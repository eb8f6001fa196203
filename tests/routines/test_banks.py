"""The compiled and the reference routines of banks, against sums written out."""

from __future__ import annotations

import math
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

from polytomy.routines.compiled import banks as compiled
from polytomy.routines.reference import banks as reference
from polytomy.routines.reference.banks import KINDS

TWINS = [reference, compiled]
PRECISIONS = {np.float64: 1e-12, np.float32: 2e-4}

kinds = st.sampled_from(list(KINDS))
twins = st.sampled_from(TWINS)
# Around the sizes that the compiled side takes at once: 128 samples, or 16 of the last ones, 8
# vectors and 4 features.
sample_counts = st.sampled_from([0, 1, 2, 15, 16, 17, 127, 128, 129, 260])
vector_counts = st.sampled_from([0, 1, 7, 8, 9, 17])
feature_counts = st.sampled_from([1, 3, 4, 5, 8])


def one_kernel_value(kind: str, x: np.ndarray, y: np.ndarray, gamma: float, degree: int, c: float):
    product = math.fsum(a * b for a, b in zip(x, y, strict=True))
    if kind == "linear":
        return product
    if kind == "rbf":
        return math.exp(-gamma * math.fsum((a - b) ** 2 for a, b in zip(x, y, strict=True)))
    return math.tanh(gamma * product + c) if kind == "sigmoid" else (gamma * product + c) ** degree


def random_weights(rng: np.random.Generator, n_vectors: int, n_machines: int):
    coefficients = random_array((n_vectors, n_machines), density=0.5, rng=rng, format="csr")
    coefficients.data -= 0.5
    weights = tuple(
        part.astype(dtype)
        for part, dtype in (
            (coefficients.indptr, np.intp),
            (coefficients.indices, np.intp),
            (coefficients.data, np.float64),
        )
    )
    return weights, coefficients.toarray()


def expected_scores(kind, function, samples, vectors, coefficients, before):
    values = [
        [one_kernel_value(kind, x, y, *function[1:]) for y in vectors.tolist()]
        for x in samples.tolist()
    ]
    values = np.array(values).reshape(len(samples), len(vectors))
    return before + values @ coefficients


class Problem:
    """Random samples, vectors and machines, and the scores they should have."""

    def __init__(self, seed: int, kind: str, n_samples: int, n_vectors: int, n_features: int):
        rng = np.random.default_rng(seed)
        self.function = (KINDS[kind], rng.uniform(0.1, 1), int(rng.integers(0, 5)), rng.normal())
        self.samples = rng.normal(size=(n_samples, n_features))
        self.samples[rng.uniform(size=self.samples.shape) < 0.3] = 0
        self.stored = rng.normal(size=(n_vectors + 3, n_features))
        self.stored[rng.uniform(size=self.stored.shape) < 0.3] = 0
        self.rows = rng.permutation(n_vectors + 3)[:n_vectors]
        self.vectors = self.stored[self.rows]
        self.weights, coefficients = random_weights(rng, n_vectors, n_machines=5)
        self.before = rng.normal(size=(n_samples, 5))
        self.expected = expected_scores(
            kind, self.function, self.samples, self.vectors, coefficients, self.before
        )


@given(st.integers(0, 2**32), kinds, sample_counts, vector_counts, feature_counts, twins)
@settings(max_examples=40, deadline=None)
@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("by_products", [False, True])
def test_dense_scores_are_the_sums(
    by_products, dtype, seed, kind, n_samples, n_vectors, n_features, twin
):
    problem = Problem(seed, kind, n_samples, n_vectors, n_features)
    scores = problem.before.copy()
    # Only the rbf kernel does not feel a centre.
    centre = problem.stored[0] if kind == "rbf" else np.zeros(n_features)
    squares = ((problem.vectors - centre) ** 2).sum(axis=1) if by_products else np.empty(0)
    twin.add_dense_scores(
        problem.samples,
        problem.stored,
        problem.rows,
        centre.astype(dtype),
        squares.astype(dtype),
        problem.function,
        problem.weights,
        scores,
    )
    tolerance = PRECISIONS[dtype]
    np.testing.assert_allclose(scores, problem.expected, rtol=tolerance, atol=tolerance)


@given(st.integers(0, 2**32), kinds, sample_counts, vector_counts, feature_counts, twins)
@settings(max_examples=60, deadline=None)
@pytest.mark.parametrize("dtype", PRECISIONS)
def test_sparse_scores_are_the_sums(dtype, seed, kind, n_samples, n_vectors, n_features, twin):
    problem = Problem(seed, kind, n_samples, n_vectors, n_features)
    samples, vectors = (csr_array(X.astype(dtype)) for X in (problem.samples, problem.stored))
    scores = problem.before.copy()
    twin.add_sparse_scores(
        (samples.data, samples.indices, samples.indptr),
        (vectors.data, vectors.indices, vectors.indptr),
        problem.rows,
        n_features,
        problem.function,
        problem.weights,
        scores,
    )
    tolerance = PRECISIONS[dtype]
    np.testing.assert_allclose(scores, problem.expected, rtol=tolerance, atol=tolerance)


@given(st.integers(0, 2**32), kinds, st.sampled_from([1, 3, 511, 512, 513, 1100]), twins)
@settings(max_examples=40, deadline=None)
@pytest.mark.parametrize("dtype", PRECISIONS)
def test_products_become_kernel_values(dtype, seed, kind, n_columns, twin):
    rng = np.random.default_rng(seed)
    function = (KINDS[kind], rng.uniform(0.1, 1), int(rng.integers(0, 5)), rng.normal())
    X, Y = rng.normal(size=(3, 2)).astype(dtype), rng.normal(size=(n_columns, 2)).astype(dtype)
    values = X @ Y.T
    twin.transform_products(values, (X**2).sum(axis=1), (Y**2).sum(axis=1), function)
    expected = [[one_kernel_value(kind, x, y, *function[1:]) for y in Y] for x in X]
    tolerance = PRECISIONS[dtype]
    assert values.dtype == dtype
    np.testing.assert_allclose(values, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("twin", TWINS)
def test_exponentials_are_right_to_the_last_digits_over_their_whole_range(twin: ModuleType):
    exponents = np.concatenate([-np.geomspace(1e-300, 700, 5000), [0.0], -np.arange(1.0, 700.0)])
    # Of a product x·y = -s/2 between vectors of length zero the rbf kernel makes exp(-s).
    values = exponents[np.newaxis] / 2
    none = np.zeros(len(exponents))
    twin.transform_products(values, none[:1], none, (KINDS["rbf"], 1.0, 0, 0.0))
    np.testing.assert_allclose(values[0], np.exp(exponents), rtol=1e-15)


@pytest.mark.parametrize("twin", TWINS)
def test_exponentials_of_huge_distances_vanish(twin: ModuleType):
    values = np.array([[-400.0, -1e10, -1e300]])
    twin.transform_products(values, np.zeros(1), np.zeros(3), (KINDS["rbf"], 1.0, 0, 0.0))
    assert np.all((values >= 0) & (values < 1e-300))


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 511), (70, 513)])
def test_logistic_answers_are_odds_over_their_sum(twin: ModuleType, shape: tuple[int, int]):
    rng = np.random.default_rng(5)
    scores, slopes, intercepts = (rng.normal(size=size) for size in (shape, shape[1], shape[1]))
    odds = np.exp(20 * slopes * scores + intercepts)
    expected = (odds - 1) / (odds + 1)
    twin.answer_logistic(scores, 20 * slopes, intercepts)
    np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("twin", TWINS)
def test_logistic_answers_end_at_certainty(twin: ModuleType):
    scores = np.array([[-np.inf, -1e4, 0.0, 1e4, np.inf]])
    twin.answer_logistic(scores, np.ones(5), np.zeros(5))
    np.testing.assert_array_equal(scores, [[-1, -1, 0, 1, 1]])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), twins)
def test_votes_of_pairs_are_counted(seed: int, twin: ModuleType):
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 7))
    negative, positive = np.triu_indices(n_classes, 1)
    scores = rng.choice([-1.5, -0.5, 0.0, 0.5, 1.5, np.nan], (20, len(negative)))
    slopes, intercepts = (
        rng.choice([-2.0, 1.0], len(negative)),
        rng.choice([0.0, 0.5], len(negative)),
    )
    votes = np.zeros((20, n_classes))
    twin.count_pair_votes(scores, slopes, intercepts, negative, positive, votes)
    expected = np.zeros_like(votes)
    for sample, machine in np.ndindex(scores.shape):
        odds = slopes[machine] * scores[sample, machine] + intercepts[machine]
        winner, loser = (positive, negative) if odds > 0 else (negative, positive)
        if odds != 0 and not np.isnan(odds):
            expected[sample, winner[machine]] += 1
            expected[sample, loser[machine]] -= 1
    np.testing.assert_array_equal(votes, expected)


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("degree", range(21))
def test_powers_are_products_of_the_base(twin, degree):
    x = np.linspace(-3, 3, 601)[np.newaxis]
    values = x.copy()
    twin.transform_products(values, np.zeros(1), np.zeros(601), (KINDS["poly"], 1.0, degree, 0.0))
    exact = [math.prod([base] * degree) for base in x[0].tolist()]
    np.testing.assert_allclose(values[0], exact, rtol=1e-14, atol=0)


@pytest.mark.parametrize("twin", TWINS)
def test_a_huge_power_takes_as_many_steps_as_it_has_digits(twin):
    # With a product for each degree, this would take hours.
    values = np.array([[-1.0, 1.0, 0.5, -2.0, 1 + 2.0**-30]])
    function = KINDS["poly"], 1.0, 2**31 - 1, 0.0
    with np.errstate(over="ignore"):
        twin.transform_products(values, np.zeros(1), np.zeros(5), function)
    np.testing.assert_allclose(values[0], [-1, 1, 0, -np.inf, math.e**2], rtol=1e-6)
