"""Graphs of least squares find the minimum: by its conditions, and compared to the active set."""

import numpy as np
import pytest
from hypothesis import given

from least_squares_cases import assert_minimum, make_answers, make_code, problems
from polytomy.scheme import CodingMatrix
from polytomy.solvers import solve
from polytomy.solvers.least_squares import ALGORITHMS, solve_by

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

export_isotonic = ALGORITHMS["isotonic"].to_onnx
export_pair_coupling = ALGORITHMS["pairwise"].to_onnx
export_projection = ALGORITHMS["projection"].to_onnx


def assert_solved(compute, function, code, decisions):
    found = compute(lambda graph, r: function(graph, r, code), decisions)
    for r, p in zip(decisions, found, strict=True):
        assert_minimum(code, r, p)
    np.testing.assert_allclose(found, solve_by("active-set", code, decisions), atol=1e-9)


@given(problems(("one-vs-rest", "exhaustive")).filter(lambda each: each[0].is_equiangular))
def test_projection_finds_the_minimum(compute, problem):
    assert_solved(compute, export_projection, *problem)


@given(problems(("adjacent",)))
def test_isotonic_regression_finds_the_minimum(compute, problem):
    assert_solved(compute, export_isotonic, *problem)


@given(problems(("one-vs-one",)))
def test_coupling_finds_the_minimum(compute, problem):
    assert_solved(compute, export_pair_coupling, *problem)


@pytest.mark.parametrize("kind", ["noisy", "certain"])
@pytest.mark.parametrize(
    ("function", "structure"),
    [
        (export_projection, "one-vs-rest"),
        (export_isotonic, "adjacent"),
        (export_pair_coupling, "one-vs-one"),
    ],
)
def test_many_classes_are_solved_as_accurately(compute, function, structure, kind):
    code = make_code(structure, 40, seed=3)
    decisions = make_answers(kind, code, n_samples=20, seed=4)
    found = compute(lambda graph, r: function(graph, r, code), decisions)
    np.testing.assert_allclose(found, solve(code, decisions), atol=1e-11)


def test_answers_close_to_certainty_are_solved_accurately(compute):
    code = make_code("one-vs-one", 6, seed=0)
    rng = np.random.default_rng(0)
    decisions = rng.choice([-1, 1], (50, code.n_partitions)) * (
        1 - 10.0 ** rng.uniform(-16, -2, (50, code.n_partitions))
    )
    found = compute(lambda graph, r: export_pair_coupling(graph, r, code), decisions)
    np.testing.assert_allclose(found, solve(code, decisions), atol=1e-11)


def test_small_examples_agree_with_hand_calculation(compute):
    rest = CodingMatrix([[1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    # Aᵀr/4 is (½, 0, −½) without a common part: the last class drops out, the rest is ¾ and ¼.
    found = compute(
        lambda graph, r: export_projection(graph, r, rest), np.array([[1.0, 0.0, -1.0]])
    )
    np.testing.assert_allclose(found, [[0.75, 0.25, 0.0]], atol=1e-15)
    line = CodingMatrix([[-1, 1, 1], [-1, -1, 1]])
    # P(0) = ¾ and P(0 or 1) = ¼ contradict each other; the mean is ½ at both cuts.
    found = compute(lambda graph, r: export_isotonic(graph, r, line), np.array([[-0.5, 0.5]]))
    np.testing.assert_allclose(found, [[0.5, 0.0, 0.5]], atol=1e-15)
    pairs = CodingMatrix([[1, -1, 0], [1, 0, -1], [0, 1, -1]])
    # Of (4, 2, 1)/7 each pair has its share: 2/3, 4/5 and 2/3.
    answers = np.array([[1 / 3, 3 / 5, 1 / 3]])
    found = compute(lambda graph, r: export_pair_coupling(graph, r, pairs), answers)
    np.testing.assert_allclose(found, [[4 / 7, 2 / 7, 1 / 7]], atol=1e-15)
