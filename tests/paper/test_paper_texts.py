"""Every control text the paper prints, with the classes and matrices the paper gives for it."""

from pathlib import Path

import numpy as np
import pytest

from polytomy import designs
from polytomy.errors import ControlError
from polytomy.scheme import parse, read

PAPER = Path(__file__).parent
TEXTS = sorted(PAPER.glob("*.control"))

EIGHT_CLASS_MATRIX = [
    [-1, -1, -1, -1, 1, 1, 1, 1],
    [-1, -1, 1, 1, 0, 0, 0, 0],
    [-1, 1, 0, 0, 0, 0, 0, 0],
    [0, 0, -1, 1, 0, 0, 0, 0],
    [0, 0, 0, 0, -1, -1, 1, 1],
    [0, 0, 0, 0, -1, 1, 0, 0],
    [0, 0, 0, 0, 0, 0, -1, 1],
]
ONE_VS_ONE_OF_FOUR = [
    [-1, 1, 0, 0],
    [-1, 0, 1, 0],
    [-1, 0, 0, 1],
    [0, -1, 1, 0],
    [0, -1, 0, 1],
    [0, 0, -1, 1],
]
ADJACENT_OF_SEVEN = [
    [-1, 1, 1, 1, 1, 1, 1],
    [-1, -1, 1, 1, 1, 1, 1],
    [-1, -1, -1, 1, 1, 1, 1],
    [-1, -1, -1, -1, 1, 1, 1],
    [-1, -1, -1, -1, -1, 1, 1],
    [-1, -1, -1, -1, -1, -1, 1],
]


def paper(name):
    return read(PAPER / f"{name}.control")


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_printing_then_parsing_returns_the_same_scheme(path):
    scheme = read(path)
    assert parse(str(scheme)) == scheme
    assert parse(scheme.compact()) == scheme


def test_all_texts_of_the_paper_are_here():
    assert len(TEXTS) == 13


def test_the_eight_class_code_has_the_printed_matrix():
    scheme = paper("eight_class_code")
    assert scheme.classes == tuple(range(8))
    assert scheme.code.matrix.tolist() == EIGHT_CLASS_MATRIX


def test_the_eight_class_tree_flattens_to_the_code_and_back():
    tree, code = paper("eight_class_tree"), paper("eight_class_code")
    assert tree.is_tree
    assert not tree.is_flat
    assert tree.flatten() == code
    assert code.to_tree() == tree


def test_one_vs_one_and_one_vs_rest_of_four_have_the_printed_matrices():
    assert paper("one_vs_one_of_four").code.matrix.tolist() == ONE_VS_ONE_OF_FOUR
    rest = paper("one_vs_rest_of_four").code.matrix
    assert rest.tolist() == (2 * np.eye(4, dtype=int) - 1).tolist()


def test_the_surface_tree_has_the_printed_partitions():
    scheme = paper("surface_tree")
    assert [str(p.binary) for p in scheme.partitions] == [
        "TreeVsField",
        "EvergreenVsDeciduous",
        "CornVsWheat",
    ]
    assert [(p.negative, p.positive) for p in scheme.partitions] == [
        ((0, 1), (2, 3)),
        ((0,), (1,)),
        ((2,), (3,)),
    ]


def test_the_nine_class_mixture_is_one_vs_one_of_one_vs_ones():
    scheme = paper("nine_class_mixture")
    assert scheme.classes == tuple(range(1, 10))
    assert [node.code.is_one_vs_one for node in scheme.nodes] == [True] * 4
    flat = scheme.flatten().code.matrix
    assert flat.shape == (12, 9)
    assert flat[:3].tolist() == [
        [-1, -1, -1, 1, 1, 1, 0, 0, 0],
        [-1, -1, -1, 0, 0, 0, 1, 1, 1],
        [0, 0, 0, -1, -1, -1, 1, 1, 1],
    ]
    for block in range(3):
        rows, columns = slice(3 + 3 * block, 6 + 3 * block), slice(3 * block, 3 * block + 3)
        assert flat[rows, columns].tolist() == [[-1, 1, 0], [-1, 0, 1], [0, -1, 1]]
        outside = np.delete(flat[rows], np.r_[columns], axis=1)
        assert not outside.any()


def test_the_balanced_shuttle_tree_is_the_balanced_tree_of_seven():
    assert paper("shuttle_hier") == designs.balanced_tree(7, name="shuttle_hier")


def test_the_empirical_shuttle_tree_is_a_chain_named_by_its_path():
    scheme = paper("shuttle_emp")
    assert scheme.classes == (2, 1, 5, 6, 3, 4, 0)
    chain = [[[[[[2, 1], 5], 6], 3], 4], 0]
    assert scheme == designs.from_tree(chain, name="shuttle_emp")


def test_the_flattened_shuttle_tree_has_the_printed_partitions():
    # The paper's flat text swaps the labels 5 and 6 of the tree it was made from; the partitions,
    # which count branches, are the same.
    tree, printed = paper("shuttle_emp").flatten(), paper("shuttle_emp_flat")
    assert printed.classes == (2, 1, 6, 5, 3, 4, 0)
    assert tree.code == printed.code
    assert tree.nodes[0].binaries == printed.nodes[0].binaries
    assert printed.code.is_tree


def test_the_adjacent_text_has_the_printed_matrix_and_one_name_for_all_partitions():
    scheme = paper("shuttle_adj")
    assert scheme.code.matrix.tolist() == ADJACENT_OF_SEVEN
    assert scheme.code == designs.adjacent(7).code
    assert {str(p.binary) for p in scheme.partitions} == {"shuttle_adj-00"}


def test_the_segment_tree_has_the_printed_order():
    order = ("PATH", "BRICKFACE", "GRASS", "WINDOW", "SKY", "FOLIAGE", "CEMENT")
    scheme = paper("segment_emp")
    assert scheme.classes == order
    assert scheme.depth == 6


def test_the_pendigits_tree_is_a_chain_with_one_fork():
    tree = [[[[[[[[7, 2], 3], 1], [8, 5]], 9], 4], 6], 0]
    assert paper("pendigits_emp") == designs.from_tree(tree, name="pendigits_emp")


def test_the_sat_tree_needs_quotes_around_names_with_spaces():
    scheme = paper("sat_emp")
    assert scheme.classes == (
        "VERY DAMP GREY SOIL",
        "DAMP GREY SOIL",
        "RED SOIL",
        "GREY SOIL",
        "STUBBLE",
        "COTTON CROP",
    )
    bare = (PAPER / "sat_emp.control").read_text().replace('"', "")
    with pytest.raises(ControlError) as caught:
        parse(bare)
    messages = [problem.message for problem in caught.value.problems]
    assert any(m.startswith("class GREY is already used at 7:21") for m in messages)
    assert any(m.startswith("class SOIL is already used") for m in messages)
