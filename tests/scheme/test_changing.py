"""Schemes that lose or gain classes: all other partitions stay as they are."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polytomy.designs import design
from polytomy.scheme import parse
from polytomy.scheme.changing import add_class, prune_scheme
from strategies import orders, schemes


def sides_of(scheme):
    return [frozenset(frozenset(side) for side in each.side_classes) for each in scheme.partitions]


def restrict(sides, kept):
    """The sides that are left of a partition, or None if there is only one."""
    left = frozenset(side & kept for side in sides if side & kept)
    return left if len(left) > 1 else None


@st.composite
def schemes_and_classes(draw, max_sides=2):
    scheme = draw(schemes(max_sides=max_sides).filter(lambda each: len(each.classes) > 1))
    n_classes = len(scheme.classes)
    kept = draw(orders(n_classes))[: draw(st.integers(2, n_classes))]
    return scheme, np.isin(np.arange(n_classes), kept)


@given(schemes_and_classes())
def test_every_partition_that_still_separates_classes_is_left_once(case):
    scheme, is_kept = case
    smaller, rows = prune_scheme(scheme, is_kept)
    kept = frozenset(np.array(scheme.classes, dtype=object)[is_kept].tolist())
    before, after = sides_of(scheme), sides_of(smaller)
    assert frozenset(smaller.classes) == kept
    assert after == [restrict(before[row], kept) for row in rows]
    assert {*after} == {restrict(sides, kept) for sides in before} - {None}
    # What equals another partition now, and did not before, is dropped.
    changed = [own for own, row in zip(after, rows, strict=True) if own != before[row]]
    assert all(after.count(own) == 1 for own in changed)


@given(schemes_and_classes())
def test_names_and_sides_of_the_partitions_that_are_left_stay(case):
    scheme, is_kept = case
    smaller, rows = prune_scheme(scheme, is_kept)
    for own, row in zip(smaller.partitions, rows, strict=True):
        before = scheme.partitions[row]
        assert own.binary == before.binary
        assert {*own.negative_classes} <= {*before.negative_classes}
        assert {*own.positive_classes} <= {*before.positive_classes}


@given(schemes_and_classes(max_sides=4))
def test_models_with_several_sides_keep_all_of_them(case):
    scheme, is_kept = case
    smaller, rows = prune_scheme(scheme, is_kept)
    kept = frozenset(np.array(scheme.classes, dtype=object)[is_kept].tolist())
    assert kept <= {*smaller.classes}
    assert smaller.n_rows == len(rows)
    several = [own for own in sides_of(smaller) if len(own) > 2]
    before = {restrict(sides, kept) for sides in sides_of(scheme)}
    assert {restrict(own, kept) for own in several} <= before | {None}


@given(schemes(max_classes=8), st.integers(0, 2**32 - 1))
def test_removing_the_class_that_was_added_returns_the_same_scheme(scheme, seed):
    random = np.random.default_rng(seed)
    places = {label: random.normal(size=2) for label in [*scheme.classes, "new class"]}

    def distance(one, other):
        return np.mean([np.linalg.norm(places[a] - places[b]) for a in one for b in other])

    larger = add_class(scheme, "new class", distance)
    assert {*larger.classes} == {*scheme.classes, "new class"}
    is_kept = np.array([label != "new class" for label in larger.classes])
    assert prune_scheme(larger, is_kept)[0] == scheme


def test_one_vs_one_gets_the_pairs_of_the_new_class():
    larger = add_class(design("one-vs-one", ["a", "b", "c"]), "d", None)
    assert larger.code.is_one_vs_one
    assert sides_of(larger)[3:] == [frozenset({frozenset(x), frozenset("d")}) for x in "abc"]
    names = [each.binary.text for each in larger.partitions]
    assert names == [f"one-vs-one-{k:02d}" for k in range(6)]


def test_names_of_new_pairs_are_not_those_of_others():
    scheme = add_class(design("one-vs-one", range(4)), 4, None)
    without_first = prune_scheme(scheme, np.arange(5) > 0)[0]
    names = [each.binary for each in add_class(without_first, 5, None).partitions]
    assert len({*names}) == len(names) == 10


def by_number(one, other):
    return float(np.mean([abs(a - b) for a in one for b in other]))


def test_a_class_goes_to_its_nearest_classes_in_a_tree():
    tree = parse("m {n {1 3} o {20 p {30 40}}}")
    assert add_class(tree, 39, by_number) == parse("m {n {1 3} o {20 p {30 added-05 {40 39}}}}")
    assert add_class(tree, 2, by_number) == parse("m {n {added-05 {1 2} 3} o {20 p {30 40}}}")
    assert add_class(tree, 18, by_number) == parse("m {n {1 3} o {added-05 {20 18} p {30 40}}}")
    # It is nearer to 1 and 3 than to the others, but further than they are from each other.
    assert add_class(tree, 15, by_number) == parse("m {added-05 {n {1 3} 15} o {20 p {30 40}}}")


def test_a_class_that_is_far_from_all_others_goes_above_them():
    tree = parse("m {n {1 3} o {20 p {30 31}}}")
    larger = add_class(tree, 500, by_number)
    assert sides_of(larger)[0] == frozenset({frozenset({1, 3, 20, 30, 31}), frozenset({500})})
    assert sides_of(larger)[1:] == sides_of(tree)


def test_other_codes_and_models_of_several_classes_stay_below_a_new_partition():
    for scheme in (design("one-vs-rest", range(4)), design("direct", range(4))):
        larger = add_class(scheme, 4, by_number)
        assert sides_of(larger)[0] == frozenset({frozenset(range(4)), frozenset({4})})
        assert sides_of(larger)[1:] == sides_of(scheme)
