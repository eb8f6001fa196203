"""Linear terms of least squares, and paths in trees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy import designs, parse, solve
from polytomy.model.explanations import TreePaths, find_linear_terms, logarithmic_mean


@given(st.integers(0, 2**32 - 1), st.sampled_from(["one-vs-rest", "orthogonal", "adjacent"]))
def test_terms_of_a_strict_code_sum_to_the_difference_where_nothing_is_at_its_bound(seed, name):
    random = np.random.default_rng(seed)
    code = designs.design(name, 4).code
    # Answers near those of probabilities, so that none of the solution is zero.
    answers = random.dirichlet(np.full(4, 20.0), 5) @ code.matrix.T
    answers = np.clip(answers + random.normal(scale=0.02, size=answers.shape), -1, 1)
    solution = solve(code, answers)
    inner = solution.min(axis=1) > 1e-6
    first, second = random.permutation(4)[:2]
    places = [np.full(5, k) for k in (first, second)]
    terms = find_linear_terms(code, answers, solution, *places)
    difference = solution[:, first] - solution[:, second]
    np.testing.assert_allclose(terms.sum(axis=1)[inner], difference[inner], atol=1e-9)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["one-vs-one", "one-vs-rest", "direct"]))
def test_answers_that_agree_are_explained_completely(seed, name):
    random = np.random.default_rng(seed)
    code = designs.design(name, 5).code
    truth = random.dirichlet(np.ones(5), 3)
    members = np.abs(code.matrix)
    answers = (truth @ code.matrix.T) / (truth @ members.T)
    terms = find_linear_terms(code, answers, truth, np.array([0, 1, 2]), np.array([3, 4, 0]))
    difference = truth[[0, 1, 2], [0, 1, 2]] - truth[[0, 1, 2], [3, 4, 0]]
    np.testing.assert_allclose(terms.sum(axis=1), difference, atol=1e-9)


def test_a_logarithmic_mean_lies_between_its_numbers():
    first, second = np.array([0.2, 1e-300, 0.5]), np.array([0.1, 1.0, 0.5])
    means = logarithmic_mean(first, second)
    assert (means >= np.minimum(first, second)).all()
    assert (means <= np.maximum(first, second)).all()
    np.testing.assert_allclose((first - second) / means, np.log(first) - np.log(second), atol=1e-12)


def test_the_path_to_a_class_has_its_side_of_every_partition():
    scheme = parse("a 0 / 1 / 2; {w b {x y} z}")
    paths = TreePaths(scheme)
    assert [list(paths.to_class(k)) for k in range(4)] == [
        [(0, 0)],
        [(1, 0), (0, 1)],
        [(1, 1), (0, 1)],
        [(0, 2)],
    ]
    assert pytest.approx(1.0) == solve(scheme, [[1.0, -1, -1, 0.0]])[0, 0]
