import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.errors import ControlError
from polytomy.language import MAX_CHARACTERS, Source, parse_text, print_branch
from polytomy.language.parser import Coded, Designed, Leaf, OneModel
from strategies import near_texts


def parsed(text):
    return parse_text(Source(text, "f"))


def problems(text):
    with pytest.raises(ControlError) as caught:
        parsed(text)
    return [(p.line, p.column, p.message) for p in caught.value.problems]


def labels(branches):
    return [branch.label.text for branch in branches]


def test_a_single_class_is_a_text():
    branch = parsed(" corn ")
    assert isinstance(branch, Leaf)
    assert branch.label.text == "corn"


def test_words_before_a_partition_are_classes_and_its_binary():
    branch = parsed("top {a 3 m 0 1 / 2; n 0/1 2; {x y z}}")
    assert isinstance(branch, OneModel)
    assert labels(branch.branches[:2]) == ["a", "3"]
    coded = branch.branches[2]
    assert isinstance(coded, Coded)
    assert [p.binary.text for p in coded.partitions] == ["m", "n"]
    assert [p.sides for p in coded.partitions] == [((0, 1), (2,)), ((0,), (1, 2))]
    assert labels(coded.branches) == ["x", "y", "z"]


def test_a_partition_may_have_more_than_two_sides():
    coded = parsed("m 0 1/2/3 4; {a b c d e}")
    assert coded.partitions[0].sides == ((0, 1), (2,), (3, 4))


def test_a_code_letter_stands_between_options_and_braces():
    model = parsed('"-k 5" K {a b c}')
    assert (model.binary.text, model.code_letter.text) == ("-k 5", "K")
    outer = parsed('m {"corn" K {a b}}')
    assert labels(outer.branches[:1]) == ["corn"]
    assert (outer.branches[1].binary.text, outer.branches[1].code_letter) == ("K", None)


def test_words_before_a_brace_are_classes_and_its_binary():
    branch = parsed("top {a b {c d}}")
    assert labels(branch.branches[:1]) == ["a"]
    assert branch.branches[1].binary.text == "b"


def test_a_design_may_name_its_binaries():
    branch = parsed('@one-vs-one "svc C=1" {a @adjacent x {b c} d}')
    assert isinstance(branch, Designed)
    assert (branch.design, branch.binary.text, branch.binary.quoted) == (
        "one-vs-one",
        "svc C=1",
        True,
    )
    inner = branch.branches[1]
    assert (inner.design, inner.binary.text) == ("adjacent", "x")
    assert labels(branch.branches[2:]) == ["d"]


def test_a_quoted_number_can_be_a_binary():
    assert parsed('"7" {a b}').binary.text == "7"


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("", 1, 1, "the text is empty; write a class"),
        (" # only a comment\n", 2, 1, "the text is empty"),
        ("a b", 1, 3, "unexpected text after the first branch"),
        ("m {a b} n", 1, 9, "unexpected text after the first branch"),
        ("{a b}", 1, 1, "'{' must follow a binary, partitions or a design"),
        ("m {a b", 1, 3, "'{' is not closed; add '}'"),
        ("m {a n {b c", 1, 3, "2 braces from here on are not closed; add '}' for each"),
        ("m {a b}}", 1, 8, "'}' has no matching '{'"),
        ("m {}", 1, 3, "these braces are empty"),
        ("m {a n {}}", 1, 8, "these braces are empty"),
        ("7 {a b}", 1, 1, "7 cannot name a binary, because it is a number"),
        ("m 0 1; {a b}", 1, 1, "a partition needs '/' between its sides"),
        ("; {a b}", 1, 1, "there is no partition before ';'; remove it"),
        ("m 0 / 1 / ; {a b c}", 1, 11, "side 3 of 3 is empty"),
        ("m 0 // 2; {a b c}", 1, 6, "side 2 of 3 is empty"),
        ("m / 0 / 2; {a b c}", 1, 3, "side 1 of 3 is empty"),
        ("m 0 / 1 / x; {a b c}", 1, 11, "expected the index of a branch, counted from 0; got x"),
        ("0 / 1; {a b}", 1, 1, "a partition starts with the name of its binary"),
        ("/ 1; {a b}", 1, 1, "a partition starts with the name of its binary"),
        ("m / 1; {a b}", 1, 3, "the left side of '/' is empty"),
        ("m 0 /; {a b}", 1, 6, "the right side of '/' is empty"),
        ("m 0 / x; {a b}", 1, 7, "expected the index of a branch, counted from 0; got x"),
        ("m x / 0; {a b}", 1, 3, "expected the index of a branch, counted from 0; got x"),
        ('m 0 / "1"; {a b}', 1, 7, 'expected the index of a branch, counted from 0; got "1"'),
        ("m 0 / 1; a {b c}", 1, 10, "unexpected a between partitions and their branches"),
        ("m 0 / 1; a n 0 / 1; {b c}", 1, 10, "unexpected a between partitions and their branches"),
        ("m 0 / 1;", 1, 9, "partitions must be followed by their branches"),
        ("t {m 0 / 1;}", 1, 12, "partitions must be followed by their branches"),
        ("m {a / b}", 1, 6, "'/' is only allowed in a partition, which ends with ';'"),
        ("m {a / b {c d}}", 1, 6, "'/' is only allowed in a partition, which ends with ';'"),
        ("@ {a b}", 1, 1, "'@' must be followed by the name of a design"),
        ("@one-vs-one", 1, 1, "a design must be followed by its branches in braces"),
        ("m {@one-vs-one}", 1, 4, "a design must be followed by its branches in braces"),
        ("@one-vs-one; {a b}", 1, 12, "followed by its branches in braces, not by ';'"),
        ("@one-vs-one x y {a b}", 1, 15, "unexpected y between a design and its braces"),
        ("@one-vs-one 1 {a b}", 1, 13, "unexpected 1 between a design and its braces"),
    ],
)  # fmt: skip
def test_a_problem_has_its_place_and_words(text, line, column, words):
    found = problems(text)
    assert found[0][:2] == (line, column)
    assert words in found[0][2]


@pytest.mark.parametrize(
    "text",
    ["m 0 / 1 {a b}", "m 0/1; n 1/2 {a b c}", "m {a b};", "m 0/1;; {a b}", "m {a n 0/1 {b c}}"],
)
def test_one_mistake_is_one_problem(text):
    assert len(problems(text)) == 1


def test_problems_are_found_together():
    text = 'top {\n  m 0 1 {a b}\n  x 0 / y;\n  n 0 / ; {c d}\n  "open\n}'
    assert [(line, column) for line, column, _ in problems(text)] == [
        (2, 7),
        (3, 9),
        (4, 9),
        (5, 3),
    ]


def test_the_source_line_is_shown_with_a_caret():
    with pytest.raises(ControlError) as caught:
        parse_text(Source("m {\n\ta b\n\tn {c d}}\n}", "land.control"))
    assert str(caught.value).splitlines() == [
        "land.control:4:1: '}' has no matching '{'",
        "  }",
        "  ^",
    ]


def test_a_text_over_the_limit_is_refused():
    with pytest.raises(ControlError, match=r"the limit is 16,777,216"):
        parsed(" " * (MAX_CHARACTERS + 1))


@pytest.mark.parametrize(
    "text", ["{" * 10**6, "}" * 10**6, "a{" * 10**5, "m 0/1;" * 10**4, '"' * 10**5]
)
def test_hostile_repetition_gives_an_error(text):
    assert problems(text)


def test_nesting_is_limited_by_memory_alone():
    depth = 50_000
    text = "m{a " * depth + "b" + "}" * depth
    printed = print_branch(parsed(text))
    assert printed.count("{") == depth
    assert len(printed) < 3 * 50 * depth


@given(st.one_of(st.text(), near_texts, st.text('{}/;@"m01 #\\\n')))
def test_any_text_gives_a_tree_or_a_control_error(text):
    try:
        branch = parsed(text)
    except ControlError:
        return
    assert print_branch(parsed(print_branch(branch))) == print_branch(branch)
