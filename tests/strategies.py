"""Random schemes and control texts for the laws that hold for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from polytomy.scheme import BinaryName, ClassRef, CodingMatrix, Node, NodeRef, Scheme
from polytomy.scheme.codes import direct

NAME_CHARACTERS = "abcXYZ_.-+019/é漢@\\"

names = st.text(NAME_CHARACTERS, min_size=1, max_size=6).filter(
    lambda text: not text.startswith("@") and any(c not in "0123456789+-/" for c in text)
)
specifications = st.text(max_size=12).filter(lambda text: text != ".")
binaries = st.one_of(
    names.map(BinaryName), specifications.map(lambda text: BinaryName(text, is_specification=True))
)
labels = st.one_of(
    st.integers(-(2**63), 2**64 - 1),
    st.integers(0, 9),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.text(max_size=8),
    st.sampled_from(
        ["0", "1.5", "True", "a b", "a/b", "0/1", '"', "\\", "#", "@x", "", "\n", "1e5"]
    ),
)


# Hypothesis checks a strategy when it is first used, which takes longer than to draw from it.
@cache
def orders(n: int) -> st.SearchStrategy[list[int]]:
    """The numbers 0, 1, … in any order."""
    return st.permutations(range(n))


@cache
def _more_sides(n_classes: int, max_sides: int) -> st.SearchStrategy[list[list[int]]]:
    row = st.lists(st.integers(-1, max_sides - 1), min_size=n_classes, max_size=n_classes)
    return st.lists(row.filter(lambda r: len({*r} - {-1}) > 1), max_size=4)


@cache
def _more_rows(n_classes: int) -> st.SearchStrategy[list[list[int]]]:
    row = st.lists(st.sampled_from([-1, 0, 1]), min_size=n_classes, max_size=n_classes)
    return st.lists(row.filter(lambda r: 1 in r and -1 in r), max_size=4)


@cache
@st.composite
def sided_codes(draw: st.DrawFn, n_classes: int, max_sides: int = 4) -> CodingMatrix:
    """Codes whose partitions have two sides or more: none is degenerate."""
    cuts = [[0] * cut + [1] * (n_classes - cut) for cut in range(1, n_classes)]
    partitions = cuts + draw(_more_sides(n_classes, max_sides))
    # The sides of a partition count from 0, in any order.
    numbered = []
    for sides in partitions:
        used = sorted({*sides} - {-1})
        number_of = dict(zip(used, draw(orders(len(used))), strict=True))
        numbered.append([number_of.get(side, -1) for side in sides])
    order = draw(orders(len(partitions)))
    return CodingMatrix.from_sides(np.array(numbered)[order][:, draw(orders(n_classes))])


@cache
@st.composite
def coding_matrices(draw: st.DrawFn, n_classes: int) -> CodingMatrix:
    """Codes of any kind over so many classes: none is degenerate."""
    # The cuts of an order tell all classes apart; what is drawn on top may be anything.
    rows = [[-1] * cut + [1] * (n_classes - cut) for cut in range(1, n_classes)]
    rows += draw(_more_rows(n_classes))
    matrix = np.array(rows, dtype=np.int8)[draw(orders(len(rows)))]
    return CodingMatrix(matrix[:, draw(orders(n_classes))])


@dataclass
class _Growth:
    classes: int = 0
    nodes: int = 0


@cache
def _classes(n_classes: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(labels, min_size=n_classes, max_size=n_classes, unique_by=lambda x: x)


@st.composite
def schemes(draw: st.DrawFn, max_classes: int = 12, max_sides: int = 2) -> Scheme:
    """Schemes of every shape: single classes, trees, codes and mixtures."""
    growth = _Growth()
    nodes: list[Node] = []

    def grow(depth: int) -> ClassRef | NodeRef:
        if growth.classes + depth > max_classes or (depth > 0 and draw(st.booleans())):
            growth.classes += 1
            return ClassRef(growth.classes - 1)
        position = growth.nodes
        growth.nodes += 1
        n_branches = draw(st.integers(2, 4))
        if n_branches == 2 and draw(st.booleans()):
            code = CodingMatrix([[-1, 1]])
        elif max_sides > 2 and draw(st.booleans()):
            is_one_model = draw(st.booleans())
            code = direct(n_branches) if is_one_model else draw(sided_codes(n_branches, max_sides))
        else:
            code = draw(coding_matrices(n_branches))
        nodes.append(Node((), code, ()))
        named = tuple([draw(binaries) for _ in range(code.n_partitions)])
        branches = tuple([grow(depth + 1) for _ in range(n_branches)])
        nodes[position] = Node(named, code, branches)
        return NodeRef(position)

    grow(draw(st.integers(0, 1)))
    return Scheme(draw(_classes(growth.classes)), nodes)


# Pieces of grammar in an order that is often nearly right.
fragments = st.sampled_from(
    ["{", "}", "{", "}", ";", "/", "0", "1", "2", "a", "b", "m", '"', '""', '"."', '"svc C=1"', "@",
     "@one-vs-one", "@adjacent", "#", "\n", " ", "0/1;", "m 0 / 1;", "m 0/1/2;", "K", '"-k 3"',
     "{a b}", "{a b c}", "m {a b}", "\\", "-1"]
)  # fmt: skip
near_texts = st.lists(fragments, max_size=25).map(" ".join)
