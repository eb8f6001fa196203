"""Drawings are what a terminal can show: one line a branch, of bounded size."""

import pytest
from hypothesis import given

from polytomy import designs
from polytomy.scheme import BinaryName, ClassRef, Node, Scheme, parse
from polytomy.scheme.nodes import TWO_WAY
from strategies import schemes


@given(schemes(max_sides=4))
def test_a_drawing_has_a_line_for_every_node_and_class(scheme):
    lines = scheme.draw().split("\n")
    assert len(lines) == len(scheme.nodes) + len(scheme.classes)
    assert all(line.isprintable() for line in lines)


@given(schemes(max_sides=4))
def test_a_matrix_has_a_line_for_every_class_and_row(scheme):
    lines = scheme.draw(matrix=True).split("\n")
    assert len(lines) == len(scheme.classes) + scheme.n_rows
    assert all(line.isprintable() for line in lines)
    if scheme.nodes:
        signs = [line[-2 * len(scheme.classes) + 1 :] for line in lines[len(scheme.classes) :]]
        values = [[{"-": -1, ".": 0, "+": 1}[sign] for sign in row.split(" ")] for row in signs]
        assert values == scheme.flatten().code.matrix.tolist()


def test_words_are_drawn_as_they_are_written():
    scheme = parse('"svc C=1" {"red soil" m {"7" 7}}')
    assert scheme.draw().split("\n") == [
        '"svc C=1"',
        '├── "red soil"',
        "└── m",
        '    ├── "7"',
        "    └── 7",
    ]


def test_a_partition_of_three_sides_has_three_lines():
    scheme = parse("m 0 / 1 2 / 3; n 1 / 2; {a b c d}")
    assert scheme.draw(matrix=True).split("\n")[4:] == [
        "m/0 + - - -",
        "m/1 - + + -",
        "m/2 - - - +",
        "n   . - + .",
    ]
    assert parse("m {a n {b c d}}").draw().split("\n")[:3] == ["m", "├── a", "└── n"]


def test_control_characters_are_replaced():
    scheme = Scheme(
        ["a\x1b[2J", "b\nc"],
        [Node((BinaryName("\t\x07", True),), TWO_WAY, (ClassRef(0), ClassRef(1)))],
    )
    assert scheme.draw().split("\n") == ['"\\t\ufffd"', '├── "a\ufffd[2J"', '└── "b\\nc"']


@pytest.mark.parametrize("matrix", [False, True])
def test_a_very_long_word_is_drawn_in_part(matrix):
    drawing = parse(f"m {{{'a' * 10_000} b}}").draw(matrix=matrix)
    assert len(drawing) < 300
    assert "aaa…" in drawing


def test_a_long_chain_is_cut_before_its_lines_fill_the_memory():
    nested = "end"
    for level in range(20_000):
        nested = [level, nested]
    drawing = designs.from_tree(nested).draw()
    assert len(drawing) < 2**23
    n_lines = drawing.count("\n")
    assert drawing.endswith(f"\n… cut after {n_lines:,} lines")


def test_a_drawing_of_many_branches_is_cut():
    drawing = designs.adjacent(12_000).draw()
    assert drawing.count("\n") == 10_000
    assert drawing.endswith("\n… cut after 10,000 lines")


def test_a_large_matrix_is_cut_in_both_directions():
    lines = designs.one_vs_one(600).draw(matrix=True).split("\n")
    assert lines[-2:] == ["… cut after 500 classes", "… cut after 10,000 rows"]
    assert len(lines) == 500 + 10_000 + 2
