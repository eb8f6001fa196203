"""Random schemes and control texts for the laws that hold for all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from polytomy.codes import CodingMatrix, direct
from polytomy.scheme import BinaryName, ClassRef, Node, NodeRef, Scheme

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


@st.composite
def sided_codes(draw: st.DrawFn, n_classes: int, max_sides: int = 4) -> CodingMatrix:
    """Codes whose partitions have two sides or more: none is degenerate."""
    cuts = [[0] * cut + [1] * (n_classes - cut) for cut in range(1, n_classes)]
    row = st.lists(st.integers(-1, max_sides - 1), min_size=n_classes, max_size=n_classes)
    drawn = draw(st.lists(row.filter(lambda r: len({*r} - {-1}) > 1), max_size=4))
    partitions = draw(st.permutations(cuts + drawn))
    # The sides of a partition count from 0, in any order.
    numbered = []
    for sides in partitions:
        used = draw(st.permutations(sorted({*sides} - {-1})))
        numbered.append([-1 if side < 0 else used.index(side) for side in sides])
    order = draw(st.permutations(range(n_classes)))
    return CodingMatrix.from_sides(np.array(numbered)[:, list(order)])


@st.composite
def coding_matrices(draw: st.DrawFn, n_classes: int) -> CodingMatrix:
    """Codes of any kind over so many classes: none is degenerate."""
    # The cuts of an order tell all classes apart; what is drawn on top may be anything.
    rows = [[-1] * cut + [1] * (n_classes - cut) for cut in range(1, n_classes)]
    row = st.lists(st.sampled_from([-1, 0, 1]), min_size=n_classes, max_size=n_classes)
    rows += draw(st.lists(row.filter(lambda r: 1 in r and -1 in r), max_size=4))
    order = draw(st.permutations(range(n_classes)))
    shuffled = draw(st.permutations(rows))
    return CodingMatrix(np.array(shuffled, dtype=np.int8)[:, list(order)])


@dataclass
class _Growth:
    classes: int = 0
    nodes: int = 0


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
    classes = draw(
        st.lists(labels, min_size=growth.classes, max_size=growth.classes, unique_by=lambda x: x)
    )
    return Scheme(classes, nodes)


# Pieces of grammar in an order that is often nearly right.
fragments = st.sampled_from(
    ["{", "}", "{", "}", ";", "/", "0", "1", "2", "a", "b", "m", '"', '""', '"."', '"svc C=1"', "@",
     "@one-vs-one", "@adjacent", "#", "\n", " ", "0/1;", "m 0 / 1;", "m 0/1/2;", "K", '"-k 3"',
     "{a b}", "{a b c}", "m {a b}", "\\", "-1"]
)  # fmt: skip
near_texts = st.lists(fragments, max_size=25).map(" ".join)
