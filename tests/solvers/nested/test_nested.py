"""Nested schemes, against explicit multiplication."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.errors import ArgumentError
from polytomy.scheme import BinaryName, ClassRef, CodingMatrix, Node, NodeRef, Scheme, parse
from polytomy.scheme.scheme import flatten_code
from polytomy.solvers import decode, solve
from polytomy.solvers.decoding import score_votes
from polytomy.solvers.nested import join_trees
from solver_strategies import answers, assert_on_simplex, law, pair_matrix
from strategies import schemes

MIXTURE = parse("""
    top 0 / 1; top2 0 / 2; top3 1 / 2; {
        a
        pair {b c}
        inner 0 / 1 2; inner2 1 / 0 2; inner3 2 / 0 1; {d e deep {f g}}
    }
""")


def multiply_down(scheme: Scheme, r: Any, method: str) -> Any:
    """The probabilities of all classes by recursion, each node solved separately."""
    first_row = np.cumsum([0] + [node.code.n_rows for node in scheme.nodes])
    p = np.zeros((len(r), len(scheme.classes)))

    def visit(branch: ClassRef | NodeRef, mass: Any) -> None:
        if isinstance(branch, ClassRef):
            p[:, branch.index] = mass
            return
        node = scheme.nodes[branch.index]
        own = r[:, first_row[branch.index] : first_row[branch.index + 1]]
        shares = solve(node.code, own, method)
        for position, child in enumerate(node.branches):
            visit(child, mass * shares[:, position])

    visit(NodeRef(0) if scheme.nodes else ClassRef(0), np.ones(len(r)))
    return p


def chain(n_classes: int, code: CodingMatrix) -> Scheme:
    """A class beside the rest at every level, as deep as there are classes."""
    nodes = []
    last = n_classes - 2
    for position in range(n_classes - 1):
        below: ClassRef | NodeRef = (
            ClassRef(last + 1) if position == last else NodeRef(position + 1)
        )
        nodes.append(Node((BinaryName("b"),), code, (ClassRef(position), below)))
    return Scheme(range(n_classes), nodes)


@pytest.mark.parametrize("method", ["least-squares", "divergence"])
@law
@given(data=st.data())
def test_each_node_is_solved_and_multiplied_down(method: str, data: st.DataObject) -> None:
    scheme = data.draw(schemes())
    r = data.draw(answers(len(scheme.partitions), hard=True))
    p = solve(scheme, r, method)
    assert_on_simplex(p, len(scheme.classes))
    np.testing.assert_allclose(p, multiply_down(scheme, r, method), atol=1e-9)


def test_a_mixture_by_hand() -> None:
    # The pairs at the top are consistent with (1/2, 1/4, 1/4), inner's with (1/2, 3/8, 1/8).
    top = [-1 / 3, -1 / 3, 0.0]
    inner = [0.0, 0.25, 0.75]
    p = solve(MIXTURE, [[*top, 0.5, *inner, -0.5]])
    expected = [1 / 2, 1 / 16, 3 / 16, 1 / 8, 3 / 32, 3 / 128, 1 / 128]
    np.testing.assert_allclose(p, [expected], atol=1e-12)


@pytest.mark.parametrize("method", ["hastie-tibshirani", "wu-lin-weng-1", "price"])
def test_pairwise_methods_solve_schemes_of_pairs(method: str) -> None:
    scheme = parse("@one-vs-one {a @one-vs-one {b c d} two {e f}}")
    r = np.random.default_rng(0).uniform(-1, 1, (10, 7))
    np.testing.assert_allclose(
        solve(scheme, r, method), multiply_down(scheme, r, method), atol=1e-12
    )


def test_pairwise_methods_refuse_a_node_of_another_kind() -> None:
    with pytest.raises(ArgumentError, match="code; in node 2 of the scheme, partition 0 has three"):
        solve(MIXTURE, np.zeros((1, 8)), "price")


@law
@given(st.data())
def test_a_tree_equals_its_flat_code_even_without_some_answers(data: st.DataObject) -> None:
    scheme = data.draw(schemes().filter(lambda scheme: scheme.is_tree))
    r = data.draw(answers(len(scheme.partitions), hard=True, gaps=True))
    np.testing.assert_allclose(solve(scheme, r), solve(scheme.flatten().code, r), atol=1e-9)


@law
@given(st.data())
def test_scores_are_those_of_the_flat_code(data: st.DataObject) -> None:
    scheme = data.draw(schemes())
    r = data.draw(answers(len(scheme.partitions), hard=True, gaps=True))
    code = scheme.flatten().code
    assert flatten_code(scheme) == code
    for method in ("voting", "hamming", "loss-based", "loss-weighted"):
        np.testing.assert_array_equal(decode(scheme, r, method), decode(code, r, method))


def test_scores_use_partitions_as_the_scheme_lists_them() -> None:
    r = np.random.default_rng(1).uniform(-1, 1, (5, len(MIXTURE.partitions)))
    votes = np.zeros((5, len(MIXTURE.classes)))
    for column, partition in enumerate(MIXTURE.partitions):
        votes[:, list(partition.positive)] += r[:, [column]]
        votes[:, list(partition.negative)] -= r[:, [column]]
    np.testing.assert_allclose(decode(MIXTURE, r, "voting"), votes)


@law
@given(st.data())
def test_greedy_walks_a_scheme_as_its_flat_code(data: st.DataObject) -> None:
    scheme = data.draw(schemes().filter(lambda scheme: scheme.flatten().code.is_tree))
    r = data.draw(answers(len(scheme.partitions), hard=True, gaps=True))
    np.testing.assert_array_equal(
        decode(scheme, r, "greedy"), decode(scheme.flatten().code, r, "greedy")
    )


def test_a_tree_of_tree_codes_is_joined() -> None:
    scheme = parse("left 0 1 / 2; low 0 / 1; {a two {b c} right 0 / 1 2; high 1 / 2; {d e f}}")
    joined, flat = join_trees(scheme), scheme.flatten().code.tree
    assert flat is not None
    np.testing.assert_array_equal(joined.children, flat.children)
    position = {row: place for place, row in enumerate(joined.order.tolist())}
    assert sorted(position) == list(range(5))
    assert all(position[row] < position[k] for row, k in edges(joined.children))


def edges(children: Any) -> list[tuple[int, int]]:
    """Each row with each row below it."""
    pairs = enumerate(children.tolist())
    return [(row, child) for row, pair in pairs for child in pair if child >= 0]


def test_greedy_refuses_a_node_that_is_not_a_tree() -> None:
    with pytest.raises(ArgumentError, match="needs a tree; in node 0 of the scheme, a tree over"):
        decode(MIXTURE, np.zeros((1, 8)), "greedy")


def test_a_turned_two_way_node_gives_its_plus_side_to_the_first_branch() -> None:
    turned = CodingMatrix([[1, -1]])
    p = solve(chain(3, turned), [[0.5, 0.5]])
    np.testing.assert_allclose(p, [[0.75, 0.25 * 0.75, 0.25 * 0.25]])


@pytest.mark.parametrize("n_classes", [1000, 20_000])
def test_depth_has_no_limit(n_classes: int) -> None:
    scheme = chain(n_classes, CodingMatrix([[-1, 1]]))
    r = np.full((2, n_classes - 1), 1 - 1e-4)
    p = solve(scheme, r)
    assert_on_simplex(p, n_classes)
    # Class k is reached by going on k times, each with (1 + r)/2.
    powers = np.cumprod(np.full(n_classes - 1, 1 - 0.5e-4))
    np.testing.assert_allclose(p[0, 1:-1] / p[0, 0], powers[:-1], rtol=1e-9)
    greedy = decode(scheme, r, "greedy")
    assert greedy[0].argmax() == n_classes - 1
    assert greedy[0, -1] == pytest.approx(powers[-1])


def test_depth_has_no_limit_for_wide_nodes_either() -> None:
    depth = 2000
    code = CodingMatrix(pair_matrix(3))
    names = (BinaryName("a"), BinaryName("b"), BinaryName("c"))
    nodes = []
    for position in range(depth):
        rest = ClassRef(2 * depth) if position == depth - 1 else NodeRef(position + 1)
        nodes.append(Node(names, code, (ClassRef(2 * position), ClassRef(2 * position + 1), rest)))
    p = solve(Scheme(range(2 * depth + 1), nodes), np.zeros((1, 3 * depth)))
    np.testing.assert_allclose(p[0, :4], [1 / 3, 1 / 3, 1 / 9, 1 / 9])
    assert_on_simplex(p, 2 * depth + 1)


def test_a_flat_code_that_would_be_too_large_is_refused() -> None:
    scheme = chain(30_000, CodingMatrix([[-1, 1]]))
    with pytest.raises(ArgumentError, match="29,999 rows of 30,000 classes, which is too"):
        decode(scheme, np.zeros((1, 29_999)), "voting")


def test_weights_go_to_the_nodes_they_belong_to() -> None:
    rng = np.random.default_rng(5)
    inner = 2 * np.eye(3, dtype=int) - 1
    scheme = parse("""
        two {
            i 1 2 / 0; j 0 2 / 1; k 0 1 / 2; {a b c}
            i 1 2 / 0; j 0 2 / 1; k 0 1 / 2; {d e f}
        }
    """)
    r = rng.uniform(-1, 1, (6, 7))
    weights = rng.uniform(0.1, 5, 7)
    p = solve(scheme, r, "divergence", weights=weights)
    left = solve(inner, r[:, 1:4], "divergence", weights=weights[1:4])
    right = solve(inner, r[:, 4:], "divergence", weights=weights[4:])
    share = (1 + r[:, [0]]) / 2
    np.testing.assert_allclose(p, np.hstack([(1 - share) * left, share * right]), atol=1e-12)
    weights[0] = 0.0
    p = solve(scheme, r, "divergence", weights=weights)
    np.testing.assert_allclose(p, np.hstack([left, right]) / 2, atol=1e-12)


def test_a_node_without_an_answer_is_shared_out_evenly_above_other_codes() -> None:
    r = np.array([[-1 / 3, -1 / 3, 0.0, np.nan, 0.0, 0.0, 0.0, np.nan]])
    p = solve(MIXTURE, r)
    np.testing.assert_allclose(p[0, 1:3], [1 / 8, 1 / 8], atol=1e-12)
    assert p[0, 5] == pytest.approx(p[0, 6])


def test_one_class_is_certain() -> None:
    scheme = parse("only")
    np.testing.assert_array_equal(solve(scheme, np.empty((2, 0))), [[1.0], [1.0]])
    np.testing.assert_array_equal(decode(scheme, np.empty((2, 0)), "greedy"), [[1.0], [1.0]])
    assert score_votes(flatten_code(scheme), np.empty((2, 0))).shape == (2, 1)


def test_columns_are_counted_over_all_nodes() -> None:
    with pytest.raises(ArgumentError, match=r"shape \(n_samples, 8\); got \(1, 3\)"):
        solve(MIXTURE, np.zeros((1, 3)))


def draw_decisions(scheme: Scheme, seed: int, n_samples: int = 3) -> Any:
    generator = np.random.default_rng(seed)
    columns = [np.empty((n_samples, 0))]
    for partition in scheme.partitions:
        q = generator.dirichlet(np.ones(partition.n_sides), n_samples)
        columns.append(q[:, 1:] - q[:, :1] if partition.n_sides == 2 else 2 * q - 1)
    return np.hstack(columns)


@law
@given(schemes(max_sides=4).filter(lambda scheme: scheme.is_tree), st.integers(0, 2**32 - 1))
def test_a_tree_of_any_width_is_the_product_down_its_paths(scheme: Scheme, seed: int) -> None:
    r = draw_decisions(scheme, seed)
    expected = np.ones((3, len(scheme.classes)))
    column = 0
    for partition in scheme.partitions:
        own = r[:, column : column + partition.n_rows]
        q = np.hstack([1 - own, 1 + own]) / 2 if partition.n_rows == 1 else (1 + own) / 2
        for side, classes in enumerate(partition.sides):
            expected[:, list(classes)] *= q[:, [side]]
        column += partition.n_rows
    for method in ("least-squares", "divergence"):
        np.testing.assert_allclose(solve(scheme, r, method), expected, atol=1e-12)
        np.testing.assert_allclose(solve(scheme.flatten(), r, method), expected, atol=1e-12)


@pytest.mark.parametrize("method", ["least-squares", "divergence"])
@law
@given(scheme=schemes(max_sides=4), seed=st.integers(0, 2**32 - 1))
def test_nodes_with_any_number_of_sides_are_multiplied_down(
    method: str, scheme: Scheme, seed: int
) -> None:
    r = draw_decisions(scheme, seed)
    p = solve(scheme, r, method)
    assert_on_simplex(p, len(scheme.classes))
    np.testing.assert_allclose(p, multiply_down(scheme, r, method), atol=1e-7)


@law
@given(schemes(max_sides=4), st.integers(0, 2**32 - 1))
def test_scores_of_any_number_of_sides_are_those_of_the_flat_code(
    scheme: Scheme, seed: int
) -> None:
    r = draw_decisions(scheme, seed)
    code = scheme.flatten().code
    assert flatten_code(scheme) == code
    for method in ("voting", "hamming", "loss-based", "loss-weighted"):
        np.testing.assert_allclose(decode(scheme, r, method), decode(code, r, method))


def test_a_wide_node_without_an_answer_divides_its_mass_evenly() -> None:
    scheme = parse("m {a n {b c d}}")
    np.testing.assert_allclose(
        solve(scheme, [[0.5, np.nan, np.nan, np.nan], [np.nan] * 4]),
        [[0.25, 0.25, 0.25, 0.25], [0.25, 0.25, 0.25, 0.25]],
    )
