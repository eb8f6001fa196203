"""The compiled and the reference routines of banks, against sums written out."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

from kernel_cases import one_kernel_value
from polytomy.routines.compiled import banks as compiled
from polytomy.routines.reference import banks as reference
from polytomy.routines.reference.kernels import KINDS

TWINS = [reference, compiled]
PRECISIONS = {np.float64: 1e-12, np.float32: 2e-4}

kinds = st.sampled_from(list(KINDS))
twins = st.sampled_from(TWINS)
# Around the sizes that the compiled side takes at once: 128 samples, or 16 of the last ones, 8
# vectors and 4 features; of few samples 4, and 128 vectors or 4 neighbours.
sample_counts = st.sampled_from([0, 1, 2, 3, 4, 5, 8, 9, 15, 16, 17, 127, 128, 129, 260])
vector_counts = st.sampled_from([0, 1, 7, 8, 9, 17, 130])
feature_counts = st.sampled_from([1, 3, 4, 5, 8])


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
        if rng.random() < 0.7:
            self.rows.sort()  # runs of neighbours, with gaps, which are compared four at a time
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


@given(st.integers(0, 2**32), kinds, sample_counts, vector_counts, feature_counts, twins)
@settings(max_examples=40, deadline=None)
@pytest.mark.parametrize("by_products", [False, True])
def test_scores_of_parts_are_the_sums(
    by_products, seed, kind, n_samples, n_vectors, n_features, twin
):
    problem = Problem(seed, kind, n_samples, n_vectors, n_features)
    rng = np.random.default_rng(seed)
    starts, machines, coefficients = problem.weights
    part_of = np.sort(rng.integers(3, size=n_vectors))
    is_user = rng.uniform(size=(3, n_samples)) < 0.6
    parts, users = np.nonzero(is_user)
    centre = problem.stored[0] if kind == "rbf" else np.zeros(n_features)
    squares = ((problem.vectors - centre) ** 2).sum(axis=1)
    sums = np.ones((len(users), 5))
    twin.add_parts(
        problem.samples,
        problem.stored,
        problem.rows,
        centre,
        squares if by_products else np.empty(0),
        problem.function,
        (np.searchsorted(part_of, np.arange(4)), starts, machines, coefficients),
        (np.searchsorted(parts, np.arange(4)), users, np.full(3, 5)),
        sums.ravel(),
    )
    coefficients = csr_array((coefficients, machines, starts), shape=(n_vectors, 5)).toarray()
    for part in range(3):
        own, chosen = part_of == part, problem.samples[is_user[part]]
        block = kind, problem.function, chosen, problem.vectors[own], coefficients[own]
        expected = expected_scores(*block, np.ones((len(chosen), 5)))
        np.testing.assert_allclose(sums[parts == part], expected, rtol=1e-12, atol=1e-12)


@given(st.integers(0, 2**32), kinds, st.integers(1, 70), st.sampled_from([1, 5, 40, 300]))
@settings(max_examples=40, deadline=None)
@pytest.mark.parametrize("is_sparse", [False, True])
def test_samples_have_the_same_scores_alone_and_among_many(
    is_sparse, seed, kind, n_samples, n_features
):
    rng = np.random.default_rng(seed)
    samples, vectors = rng.normal(size=(n_samples, n_features)), rng.normal(size=(150, n_features))
    function = KINDS[kind], 1 / n_features, 3, 0.5
    weights, rows = random_weights(rng, 150, n_machines=5)[0], np.arange(150)

    def score(X: np.ndarray) -> np.ndarray:
        scores = np.zeros((len(X), 5))
        if is_sparse:
            csr = [(each.data, each.indices, each.indptr) for each in map(csr_array, (X, vectors))]
            compiled.add_sparse_scores(*csr, rows, n_features, function, weights, scores)
        else:
            more = rows, np.zeros(n_features), np.empty(0), function, weights, scores
            compiled.add_dense_scores(X, vectors, *more)
        return scores

    alone = np.vstack([score(row[np.newaxis]) for row in samples])
    np.testing.assert_allclose(score(samples), alone, rtol=0, atol=4e-12)


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
