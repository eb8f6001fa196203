"""Graphs of schemes: nodes solved and multiplied down, or votes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

import polytomy as pt
from polytomy.errors import ArgumentError
from polytomy.model.arrangement import Arrangement
from polytomy.onnx_graph import Graph
from polytomy.solvers.least_squares import algorithms_for
from strategies import schemes

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

# Two-way nodes, a three-way node, a one-vs-one node, a one-vs-rest node and a line of classes.
MIXTURE = """
top {
  left {a b three {j k l}}
  right 0/1; right2 0/2; right3 1/2; {
    c
    n1 0/1 2; n2 1/0 2; n3 2/0 1; {d e f}
    k1 0/1 2; k2 0 1/2; {g h i}
  }
}
"""


def whole(scheme):
    """Return the arrangement of a scheme with one binary for each partition."""
    n = scheme.n_rows
    return Arrangement(scheme, np.arange(len(scheme.classes)), np.arange(n), np.ones(n))


def draw_answers(scheme, seed, n_samples=6):
    """Return answers of all rows; the sides of a partition with more than two have 2 q − 1."""
    random = np.random.default_rng(seed)
    answers = [np.empty((n_samples, 0))]
    for partition in scheme.partitions:
        chances = random.dirichlet(np.ones(partition.n_sides), n_samples)
        answers.append(2 * chances[:, -partition.n_rows :] - 1)
    return np.hstack(answers)


def score(compute, arrangement, answers, solver="least-squares"):
    return compute(lambda graph, r: arrangement.to_onnx(graph, r, solver), answers)


@given(schemes(max_classes=10, max_sides=4), st.integers(0, 2**32 - 1))
def test_every_scheme_is_solved_or_refused(compute, scheme, seed):
    answers = draw_answers(scheme, seed)
    codes = [node.code for node in scheme.nodes if algorithms_for(node.code)[0] == "active-set"]
    if not all(code.is_strict and code.is_determined for code in codes):
        with pytest.raises(ArgumentError, match="leave out classes, or hardly determine"):
            score(compute, whole(scheme), answers)
    else:
        found = score(compute, whole(scheme), answers)
        tolerance = 1e-10 if codes else 1e-12  # a search ends when the error is small
        np.testing.assert_allclose(found, pt.solve(scheme, answers), atol=tolerance)


@given(st.integers(4, 9), st.integers(3, 4), st.integers(0, 2**32 - 1))
def test_least_squares_of_codes_with_several_sides_are_searched(compute, n_classes, sides, seed):
    scheme = pt.designs.n_ary_code(n_classes, sides=sides, random_state=seed)
    answers = draw_answers(scheme, seed)
    found = score(compute, whole(scheme), answers)
    np.testing.assert_allclose(found, pt.solve(scheme, answers), atol=1e-10)


@given(
    schemes(max_classes=10, max_sides=4),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["voting", "hamming"]),
)
def test_votes_of_every_scheme_are_counted(compute, scheme, seed, solver):
    answers = draw_answers(scheme, seed)
    if scheme.n_partitions and scheme.partitions[0].n_rows == 1:
        answers[0, 0] = 0.0  # takes no side
    elif scheme.n_partitions:
        count = scheme.partitions[0].n_rows
        answers[0, :count] = 2 / count - 1  # all sides are equally probable
    found = score(compute, whole(scheme), answers, solver)
    # A single class has no votes; its score is what the classifier gives it, one.
    expected = pt.decode(scheme, answers, solver) if scheme.n_partitions else np.ones((6, 1))
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_probabilities_are_multiplied_down_through_nodes_of_all_kinds(compute):
    scheme = pt.parse(MIXTURE)
    answers = draw_answers(scheme, 0, n_samples=50)
    found = score(compute, whole(scheme), answers)
    np.testing.assert_allclose(found, pt.solve(scheme, answers), atol=1e-13)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-13)


def test_the_graph_of_a_deep_tree_is_small(compute):
    n_classes = 300
    text = "".join(f"m{k} {{c{k} " for k in range(n_classes - 2)) + "last {y z}" + "}" * 298
    scheme = pt.parse(text)
    assert scheme.depth == n_classes - 1
    answers = draw_answers(scheme, 1)
    found = score(compute, whole(scheme), answers)
    np.testing.assert_allclose(found, pt.solve(scheme, answers), rtol=1e-10, atol=0)
    graph = Graph()
    whole(scheme).to_onnx(graph, graph.input("r", np.float64, ["n", 299]), "least-squares")
    graph.output("p", graph.constant(0.0), np.float64, [])
    assert len(graph.to_model("deep", {}).graph.node) < 40


def test_answers_are_taken_from_any_binary_with_any_sign(compute):
    scheme = pt.designs.one_vs_one(["a", "b", "c"])
    answers = np.random.default_rng(0).uniform(-1, 1, (5, 4))
    arrangement = Arrangement(
        scheme, np.array([2, 0, 1]), np.array([3, 0, 2]), np.array([1.0, -1.0, 1.0])
    )
    expected = pt.solve(scheme, answers[:, [3, 0, 2]] * [1, -1, 1])[:, [2, 0, 1]]
    np.testing.assert_allclose(score(compute, arrangement, answers), expected, atol=1e-13)


def test_probability_of_classes_without_data_is_shared_by_the_others(compute):
    scheme = pt.parse("top {low {a b} c}")
    arrangement = whole(scheme)._replace(positions=np.array([0, 1]))
    # Certain of class c, which has no data: nothing is left, and the others are alike.
    answers = np.array([[0.0, 0.5], [1.0, 0.5]])
    found = score(compute, arrangement, answers)
    np.testing.assert_allclose(found, [[0.25, 0.75], [0.5, 0.5]], atol=1e-15)


@pytest.mark.parametrize(
    "solver", ["divergence", "greedy", lambda scheme, r: np.full((len(r), 3), 1 / 3)]
)
def test_a_solver_without_a_closed_form_is_refused_by_name(solver):
    X, y = load_iris(return_X_y=True)
    fitted = pt.PolytomyClassifier(scheme="tree", solver=solver, random_state=0).fit(X, y)
    with pytest.raises(ArgumentError) as caught:
        pt.to_onnx(fitted)
    shown = f'"{solver}"' if isinstance(solver, str) else repr(solver)
    assert str(caught.value).startswith(f"solver={shown} cannot be exported; ")
    assert '"least-squares", "voting", "hamming" can' in str(caught.value)
    assert "classifier.with_solver" in str(caught.value)
