"""The laws of all distances, and the ways to give one."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from polytomy.distances import (
    DISTANCES,
    ClassDistances,
    compute_distances,
    energy,
    separability,
)
from polytomy.distances import hausdorff as hausdorff_distance
from polytomy.errors import ArgumentError, DataError


def made(seed=0, n_features=3, sizes=(20, 30, 25)):
    random = np.random.default_rng(seed)
    X = np.concatenate([random.normal(2 * i, 1, (n, n_features)) for i, n in enumerate(sizes)])
    return X, np.repeat(np.arange(len(sizes)), sizes)


@pytest.mark.parametrize("name", DISTANCES)
def test_every_distance_is_symmetric_and_zero_on_its_diagonal(name):
    X, y = made()
    found = DISTANCES[name](X, y)
    assert found.classes == (0, 1, 2)
    assert (found.matrix == found.matrix.T).all()
    assert (np.diag(found.matrix) == 0).all()
    assert found[0, 2] > found[0, 1] > 0


@pytest.mark.parametrize("name", DISTANCES)
def test_the_names_of_classes_do_not_matter(name):
    X, y = made(1)
    names = np.array(["q", "p", "r"])
    found = DISTANCES[name](X, names[y]).reordered(names)
    np.testing.assert_allclose(found.matrix, DISTANCES[name](X, y).matrix, rtol=1e-12)


@pytest.mark.parametrize("name", sorted(DISTANCES.keys() - {"separability"}))
def test_the_order_of_samples_does_not_matter(name):
    X, y = made(1)
    order = np.random.default_rng(2).permutation(len(X))
    found = DISTANCES[name](X[order], y[order])
    np.testing.assert_allclose(found.matrix, DISTANCES[name](X, y).matrix, rtol=1e-12)


@pytest.mark.parametrize("name", DISTANCES)
def test_classes_of_one_sample_have_distances(name):
    X, y = made(sizes=(1, 8, 1))
    assert (DISTANCES[name](X, y).matrix[~np.eye(3, dtype=bool)] > 0).all()


@pytest.mark.parametrize("name", DISTANCES)
def test_one_class_has_no_distances(name):
    with pytest.raises(DataError, match="y has only one class, 5; distances need at least two"):
        DISTANCES[name]([[0.0], [1.0]], [5, 5])


@pytest.mark.parametrize("name", ["centroid", "energy"])
def test_sparse_data_has_the_same_distances(name):
    X, y = made()
    X *= np.random.default_rng(0).random(X.shape) < 0.4
    expected = DISTANCES[name](X, y).matrix
    np.testing.assert_allclose(DISTANCES[name](csr_array(X), y).matrix, expected, rtol=1e-9)


@pytest.mark.parametrize("measure", [energy, separability])
def test_random_states_are_generators_too(measure):
    X, y = made(2)
    one, other = (measure(X, y, random_state=np.random.default_rng(5)) for _ in range(2))
    assert (one.matrix == other.matrix).all()
    with pytest.raises(ArgumentError, match='random_state="a" must be a whole number'):
        measure(X, y, random_state="a")


def test_a_distance_can_be_a_name_a_value_a_matrix_or_a_function():
    X, y = made()
    expected = hausdorff_distance(X, y)
    for argument in ("hausdorff", expected, expected.matrix, hausdorff_distance,
                     lambda X, y: "hausdorff"):  # fmt: skip
        found = compute_distances(argument, X, y)
        assert found.classes == (0, 1, 2)
        assert (found.matrix == expected.matrix).all()


def test_distances_of_more_classes_are_reduced_to_those_of_the_data():
    known = ClassDistances("cab", [[0, 1, 2], [1, 0, 3], [2, 3, 0]])
    assert compute_distances(known, None, ["b", "a", "b"]).matrix.tolist() == [[0, 3], [3, 0]]


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("hausdorf", r'distance="hausdorf" is not one of hausdorff, .*Did you mean .hausdorff.\?'),
        ([[0, 1], [1, 0]], r"has shape \(2, 2\); 3 classes need \(3, 3\)"),
        (lambda X, y: len, "returned .*, not distances between classes"),
    ],
)
def test_invalid_distances_are_refused(argument, words):
    with pytest.raises(ArgumentError, match=words):
        compute_distances(argument, *made())
