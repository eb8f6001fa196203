"""The compiled and the reference Hausdorff distances, against SciPy and the definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist, directed_hausdorff

from polytomy.routines.compiled import distances as compiled
from polytomy.routines.reference import distances as reference

TWINS = [reference, compiled]


def by_scipy(parts):
    directed = np.array([[directed_hausdorff(a, b)[0] for b in parts] for a in parts])
    return np.maximum(directed, directed.T)


def clouds(seed, n_features, offset=0.0):
    """Four sets of up to 39 points with different centres and spreads."""
    rng = np.random.default_rng(seed)
    return [
        offset
        + rng.normal(
            rng.normal(size=n_features), 1 + rng.random(), (rng.integers(1, 40), n_features)
        )
        for _ in range(4)
    ]


def joined(parts):
    """All points, and the set of each."""
    return np.concatenate(parts), np.repeat(np.arange(len(parts)), [len(part) for part in parts])


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("n_features", [1, 2, 3, 4, 5, 16, 33])
@pytest.mark.parametrize("seed", range(3))
def test_distances_are_those_of_scipy(twin, n_features, seed):
    parts = clouds(seed, n_features)
    X, y = joined(parts)
    starts = np.searchsorted(y, np.arange(len(parts) + 1))
    np.testing.assert_allclose(twin.hausdorff_matrix(X, starts), by_scipy(parts), rtol=1e-14)


@pytest.mark.parametrize("twin", TWINS)
def test_distances_are_exact_far_from_the_origin(twin):
    # With |x|² + |y|² − 2xy all but three digits would be lost.
    parts = clouds(7, n_features=5, offset=1e6)
    X, y = joined(parts)
    starts = np.searchsorted(y, np.arange(len(parts) + 1))
    np.testing.assert_allclose(twin.hausdorff_matrix(X, starts), by_scipy(parts), rtol=1e-14)


@pytest.mark.parametrize("twin", TWINS)
@given(
    arrays(np.float64, st.tuples(st.integers(2, 30), st.integers(1, 4)), elements=st.floats(-5, 5)),
    st.data(),
)
def test_twins_are_equal_to_the_definition(twin, X, data):
    cut = data.draw(st.integers(1, len(X) - 1))
    far = cdist(X[:cut], X[cut:])
    expected = max(far.min(axis=1).max(), far.min(axis=0).max())
    found = twin.hausdorff_matrix(X, np.array([0, cut, len(X)]))
    np.testing.assert_allclose(found, [[0, expected], [expected, 0]], rtol=1e-13, atol=1e-150)


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("n_features", [1, 3, 8])
def test_sets_of_every_size_around_a_block_have_the_distances_of_scipy(twin, n_features):
    random = np.random.default_rng(n_features)
    parts = [random.normal(size=(size, n_features)) for size in (*range(1, 18), 65)]
    X, y = joined(parts)
    starts = np.searchsorted(y, np.arange(len(parts) + 1))
    np.testing.assert_allclose(twin.hausdorff_matrix(X, starts), by_scipy(parts), rtol=1e-14)


@pytest.mark.parametrize("twin", TWINS)
def test_points_in_a_row_of_clusters_have_the_distances_of_scipy(twin):
    # The points that ended searches are of use for one cluster only, and then for another.
    random = np.random.default_rng(3)
    parts = [
        (np.arange(300) // 30 * gap)[:, np.newaxis] + random.random((300, 2)) for gap in (5, 7, 9)
    ]
    X, y = joined([random.permutation(part) for part in parts])
    np.testing.assert_allclose(
        twin.hausdorff_matrix(X, np.array([0, 300, 600, 900])),
        by_scipy([X[y == i] for i in range(3)]),
        rtol=1e-14,
    )
