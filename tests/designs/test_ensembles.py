import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.designs import one_vs_one, random_tree, tree_ensemble
from polytomy.errors import ArgumentError, SchemeError
from polytomy.scheme import parse
from polytomy.scheme.ensemble import SchemeEnsemble
from polytomy.solvers import solve


@given(st.integers(0, 10**6), st.integers(2, 7), st.integers(1, 8))
def test_the_union_has_every_dichotomy_once(seed, n_classes, n_trees):
    ensemble = tree_ensemble(n_classes, n_trees, random_state=seed)
    known = [
        frozenset([frozenset(p.negative_classes), frozenset(p.positive_classes)])
        for p in ensemble.partitions
    ]
    asked = {
        frozenset([frozenset(p.negative_classes), frozenset(p.positive_classes)])
        for tree in ensemble.schemes
        for p in tree.partitions
    }
    assert len(set(known)) == len(known) == ensemble.n_partitions
    assert set(known) == asked


@given(st.integers(0, 10**6), st.integers(2, 6))
def test_members_find_their_binaries_and_sides_in_the_union(seed, n_classes):
    ensemble = tree_ensemble(n_classes, 4, random_state=seed)
    for scheme, columns, signs, positions in ensemble.members:
        assert tuple(scheme.classes[i] for i in positions) == ensemble.classes
        for partition, column, sign in zip(scheme.partitions, columns, signs, strict=True):
            there = ensemble.partitions[column]
            both = (there.negative_classes, there.positive_classes)
            negative, positive = both if sign > 0 else both[::-1]
            assert set(partition.negative_classes) == set(negative)
            assert set(partition.positive_classes) == set(positive)


@given(st.integers(0, 10**6))
def test_the_true_probabilities_come_back(seed):
    # Answers that follow from one distribution are solved to it by every member.
    random = np.random.default_rng(seed)
    ensemble = tree_ensemble(list("abcde"), 3, random_state=seed)
    p = random.dirichlet(np.ones(5), size=4)
    A = ensemble.union.code.matrix
    decisions = (p @ A.T) / (p @ np.abs(A).T)
    np.testing.assert_allclose(ensemble.average(decisions, solve), p, atol=1e-9)


def test_probabilities_are_the_mean_of_the_members():
    one, other = parse("m {a n {b c}}"), parse("m {n {c a} b}")
    ensemble = SchemeEnsemble([one, other])
    decisions = np.random.default_rng(0).uniform(-1, 1, (5, ensemble.n_partitions))
    assert ensemble.n_partitions == 4
    first = solve(one, decisions[:, :2])
    # The root of the second is c a / b, whose first class on the left is a: as it stands, a c / b.
    second = solve(other, decisions[:, 2:] * [1, -1])[:, [1, 2, 0]]
    np.testing.assert_allclose(ensemble.average(decisions, solve), (first + second) / 2)


def test_members_may_be_of_any_kind():
    mixed = SchemeEnsemble([one_vs_one("abc"[i] for i in range(3)), parse("m {a n {b c}}")])
    assert mixed.n_partitions == 4
    assert mixed.nodes == mixed.union.nodes
    assert len(mixed) == 2


def test_one_class_needs_no_binaries():
    ensemble = tree_ensemble(["a"], 3)
    assert ensemble.n_partitions == 0
    assert ensemble.partitions == ()
    assert ensemble.average(np.zeros((2, 0)), solve).tolist() == [[1.0], [1.0]]


def test_it_is_a_value_that_cannot_be_changed():
    ensemble = tree_ensemble(4, 3, random_state=0)
    for other in (copy.deepcopy(ensemble), pickle.loads(pickle.dumps(ensemble))):
        assert other == ensemble
        assert hash(other) == hash(ensemble)
    assert ensemble != tree_ensemble(4, 3, random_state=1)
    assert ensemble != 3
    with pytest.raises(AttributeError, match="an ensemble cannot be changed: name"):
        ensemble.name = "other"
    with pytest.raises(AttributeError, match="an ensemble cannot be changed: name"):
        del ensemble.name


def test_trees_come_from_any_function():
    calls = []

    def make(classes, random_state):
        calls.append(classes)
        return random_tree(classes, random_state=random_state)

    tree_ensemble(["a", "b", "c"], 3, make=make, random_state=0)
    assert calls == [("a", "b", "c")] * 3


@pytest.mark.parametrize(
    ("schemes", "words"),
    [
        ([], "an ensemble needs a scheme or more"),
        (["tree"], "member 0 of the ensemble is 'tree', not a scheme"),
        ([parse("m {a b}"), parse("m {a c}")], "member 1 .* has other classes .*: 'b', 'c'"),
        ([parse('"svc C=1" {a b}')], "member 0 .* has the specification .*Write a name"),
    ],
)
def test_what_is_no_ensemble_is_refused(schemes, words):
    with pytest.raises(SchemeError, match=words):
        SchemeEnsemble(schemes)


def test_trees_are_needed():
    with pytest.raises(ArgumentError, match="n_trees=0 is too few"):
        tree_ensemble(3, 0)
